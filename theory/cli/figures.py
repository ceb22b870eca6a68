"""`theory figures`: the paper's figures and tables, made again."""

from pathlib import Path
from typing import Annotated

import typer
from rich.progress import Progress
from rich.table import Table

from theory import paper
from theory.cli.console import new_console

EXAMPLES = """
theory figures --list
theory figures fig2 fig8 --quick --out my-figures
"""


def run(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Such as fig3 or table1. Default: all.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the files; made where it does not exist.")] = Path("figures"),
    quick: Annotated[bool, typer.Option("--quick", help="Coarser and sooner, for a look.")] = False,
    list_names: Annotated[bool, typer.Option("--list", help="List the names, and write nothing.")] = False,
) -> None:
    """Compute the paper's figures and tables beside the paper's own numbers: a .png, a .pdf and a .csv each.

    All of them together, not quick, also make the page README.md in that folder: the paper's claims, and how far they hold here.
    """
    console = new_console()
    items = {name: paper.item(name) for name in names or paper.ITEMS}
    if list_names:
        grid = Table(title="Figures and tables of the paper", title_justify="left", show_lines=True)
        for heading in ("name", "what it shows", "what the paper says with it"):
            grid.add_column(heading, overflow="fold")
        for name, one in items.items():
            grid.add_row(name, one.TITLE, one.CLAIM)
        console.print(grid)
        return
    from theory.paper import write

    write.folder(out)
    tables = {}
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("", total=len(items))
        for name, one in items.items():
            progress.update(task, description=name)
            tables[name] = write.write(name, out, quick)
            progress.advance(task)
            console.print(f"{name}: {one.headline(tables[name])}", soft_wrap=True)
            console.print(f"wrote {out / name}.png, .pdf and .csv", soft_wrap=True)
    if tuple(tables) == paper.ITEMS and not quick:
        page = write.write_page(tables, out)
        console.print(f"wrote {page}" if page else f"left {out / 'README.md'} alone: it has no marks to write between")
