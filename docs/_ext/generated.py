"""Writing pages that are made from the package, so that Sphinx reads again only those that changed."""

from pathlib import Path

NOTE = "made from the package when the site is built; edits are lost"


def write(path: Path, text: str) -> None:
    """Write a page where it is not what it should be."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")


def keep_only(folder: Path, names: set[str]) -> None:
    """Delete what an earlier build made in a folder and this one does not."""
    for path in folder.iterdir() if folder.is_dir() else ():
        if path.is_file() and path.name not in names:
            path.unlink()


def cell(text: object) -> str:
    """Write a text as one cell of a Markdown table."""
    return " ".join(str(text).split()).replace("|", "\\|")


def table(headings: list[str], rows: list[list[object]]) -> str:
    """Write a Markdown table; cells are Markdown."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(str(value) for value in line)} |\n" for line in lines)


def facts(rows: list[list[object]]) -> str:
    """Write names and what is said of each, as a table without a heading."""
    lines = [f"* - {name}\n  - {said}" for name, said in rows]
    return "```{list-table}\n:class: facts\n:widths: 30 70\n\n" + "\n".join(lines) + "\n```\n"
