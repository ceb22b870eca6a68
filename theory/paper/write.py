"""Write figures and tables to files: each as .png, .pdf and .csv, and the page that shows them all."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theory.paper import Item, agreement, item, style

if TYPE_CHECKING:
    import pandas as pd

DIGITS = "%.6g"
"""Of the numbers in a .csv: the same numbers give the same file, byte for byte."""

MARKS = ("<!-- written by theory figures: begin -->", "<!-- written by theory figures: end -->")
"""What stands between them in README.md is written by `write_page`."""


def folder(path: Path) -> Path:
    """Make the folder where it does not exist, and refuse one that may not be written, before any work is done.

    Raises
    ------
    ValueError
        With the reason.
    """
    try:
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".theory-writes-here"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise ValueError(f"--out {path}: cannot be written ({error.strerror})") from None
    return path


def write(name: str, out: Path, quick: bool = False, inputs: Mapping[str, Any] | None = None) -> "pd.DataFrame":
    """Compute one figure or table and write ``name.png``, ``name.pdf`` and ``name.csv`` to ``out``; give the table.

    Parameters
    ----------
    name : str
        Of `theory.paper.ITEMS`.
    out : Path
        A folder that exists.
    quick : bool
        As ``compute`` takes it.
    inputs : mapping of str to object, optional
        Knobs to other values than the paper's.
    """
    import matplotlib.pyplot as plt

    one = item(name)
    table = one.compute(quick, **(inputs or {}))
    table.to_csv(out / f"{name}.csv", index=False, float_format=DIGITS, lineterminator="\n")
    with style.applied():
        figure = one.plot(table)
        figure.savefig(out / f"{name}.png", dpi=160)
        figure.savefig(out / f"{name}.pdf", metadata={"CreationDate": None})  # no dates inside: the same numbers, the same file
        plt.close(figure)
    return table


def page(tables: "Mapping[str, pd.DataFrame]") -> str:
    """Give the page that shows every figure with the paper's claim, and ours against it, in Markdown."""
    lines = []
    for name, table in tables.items():
        one = item(name)
        columns = "\n".join(f"- `{column}`: {meaning}" for column, meaning in one.COLUMNS.items())
        lines += [
            f"### {one.TITLE}",
            f"![{one.TITLE}]({name}.png)",
            f"**The paper:** {one.CLAIM}",
            _claims(one, table),
            f"**Here:** {one.headline(table)}",
            f"`theory figures {name}` · [notebook](../notebooks/{name}.ipynb) · [PDF]({name}.pdf) · [numbers]({name}.csv)",
            f"<details><summary>Columns of the numbers</summary>\n\n{columns}\n\n</details>",
        ]
    return "\n\n".join(lines) + "\n"


def _claims(one: Item, table: "pd.DataFrame") -> str:
    """Write what the paper claims, its number, ours and whether it holds, as a table in Markdown."""
    rows = [["the paper says", "its number", "here", "verdict", "why"], ["---"] * 5]
    rows += agreement.weigh(one.CLAIMS, table).to_numpy().tolist()
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)


def write_page(tables: "Mapping[str, pd.DataFrame]", out: Path) -> Path | None:
    """Write `page` between the marks of ``out/README.md``, or to a new file; leave a file without marks alone, and give None."""
    begin, end = MARKS
    file = out / "README.md"
    text = file.read_text(encoding="utf-8") if file.exists() else f"{begin}\n{end}\n"
    if text.count(begin) != 1 or text.count(end) != 1:
        return None
    before, _, rest = text.partition(begin)
    file.write_text(f"{before}{begin}\n{page(tables)}{end}{rest.partition(end)[2]}", encoding="utf-8")
    return file
