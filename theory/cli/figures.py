"""`theory figures`: the paper's figures and tables, made again, or with other inputs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from theory import paper
from theory.cli.console import new_console

EXAMPLES = """
theory figures --list
theory figures fig2 fig8 --quick --out my-figures
theory figures fig2 --set rules=strict,lenience:0.4 --set rows=zipf:30,strength=0.7 --out my-figures
"""

FOLDER = Path("figures")
"""Where the files go, with the paper's inputs."""


def run(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Such as fig3 or table1. Default: all.")] = None,
    out: Annotated[
        Path | None, typer.Option(help=f"Folder for the files; made where it does not exist. Default: {FOLDER}, without --set.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Coarser and sooner, for a look.")] = False,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KNOB=VALUE", help="Another input than the paper's, see --list; may be repeated."),
    ] = None,
    list_names: Annotated[bool, typer.Option("--list", help="List the names and their knobs, and write nothing.")] = False,
) -> None:
    """Compute the paper's figures and tables beside the paper's own numbers: a .png, a .pdf and a .csv each.

    All of them together, not quick, also make the page README.md in that folder: the paper's claims, and how far they hold here.

    --set gives other inputs to those of the figures that have the knob. Lists are separated by commas, or set piece by piece;
    0.1:0.9:5 stands for 5 numbers from 0.1 to 0.9. In a list of rules a comma begins a new one where a rule's name stands behind
    it, or a word with a colon, such as mine.py:Mine:0.3; an argument that is a rule's name needs its keyword.
    """
    console = new_console()
    items = {name: paper.item(name) for name in names or paper.ITEMS}
    if list_names:
        _print_list(items, console)
        return
    from theory.paper import write

    inputs = _inputs(items, settings or [])
    if settings and out is None:
        raise ValueError(f"--set: give --out a folder; {FOLDER} has the figures with the paper's inputs")
    folder = write.folder(FOLDER if out is None else out)
    tables = {}
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("", total=len(items))
        for name, one in items.items():
            progress.update(task, description=name)
            tables[name] = write.write(name, folder, quick, inputs[name])
            progress.advance(task)
            console.print(f"{name}: {one.headline(tables[name])}", soft_wrap=True)
            console.print(f"wrote {folder / name}.png, .pdf and .csv", soft_wrap=True)
    if tuple(tables) == paper.ITEMS and not quick and not settings:
        page = write.write_page(tables, folder)
        console.print(f"wrote {page}" if page else f"left {folder / 'README.md'} alone: it has no marks to write between")


def _inputs(items: "Mapping[str, paper.Item]", settings: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Read the settings: for each figure, the values of those of its knobs that are set.

    Raises
    ------
    ValueError
        For a setting without an equals sign, a knob that no figure has (the message lists those that they have), and a value that
        is not of the knob's kind.
    """
    from theory.paper import knobs

    texts: dict[str, list[str]] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name.strip():
            raise ValueError(f"--set {setting}: write KNOB=VALUE, such as gamma=5")
        texts.setdefault(name.strip(), []).append(value)
    own = {name: knobs.of(one.compute) for name, one in items.items()}
    for name in texts:
        if not any(name in there for there in own.values()):
            listed = "; ".join(f"{item} has {', '.join(map(str, there.values()))}" for item, there in own.items())
            raise ValueError(f"--set {name}: no figure named here has that knob; {listed}")
    return {
        item: {name: knobs.read(there[name], given) for name, given in texts.items() if name in there}
        for item, there in own.items()
    }


def _print_list(items: "Mapping[str, paper.Item]", console: Console) -> None:
    from theory.paper import knobs

    grid = Table(title="Figures and tables of the paper", title_justify="left", show_lines=True)
    for heading in ("name", "what it shows", "what the paper says with it"):
        grid.add_column(heading, overflow="fold")
    for name, one in items.items():
        grid.add_row(name, one.TITLE, one.CLAIM)
    console.print(grid)
    knob_grid = Table(title="Knobs, for --set KNOB=VALUE", title_justify="left", show_lines=False)
    for heading in ("name", "knob", "default", "what it is"):
        knob_grid.add_column(heading, overflow="fold")
    for name, one in items.items():
        for place, knob in enumerate(knobs.of(one.compute).values()):
            default = "" if knob.default is None else knobs.write(knob.default)
            knob_grid.add_row("" if place else name, knob.name, default, knob.about)
        knob_grid.add_section()
    console.print(knob_grid)
