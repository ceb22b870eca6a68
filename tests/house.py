"""The floors of the house as a picture, drawn from the import contract in pyproject.toml and the first line of each module.

``python -m tests.house`` draws it again into ARCHITECTURE.md; a test compares the two.
"""

import ast
import re
import textwrap
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "ARCHITECTURE.md"
WIDTH = 110
"""Of what a module says of itself; with its name beside it a line is as long as lines are here."""


def floors():
    """The floors of the contract, the highest first: the modules of each, and whether they may import each other."""
    (contract,) = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    assert contract["type"] == "layers"
    return [(re.split(r"\s*[|:]\s*", floor.replace("theory.", "")), "|" not in floor) for floor in contract["layers"]]


def about(module):
    """The first line of what a module says of itself, without the markup."""
    path = ROOT / "theory" / module
    said = ast.get_docstring(ast.parse((path / "__init__.py" if path.is_dir() else path.with_suffix(".py")).read_text()))
    return said.splitlines()[0].replace("`", "")


def picture():
    """The floors, one below the other."""
    found = floors()
    column = max(len(module) for modules, _ in found for module in modules)
    lines = [f"┌{'─' * (column + 2)}┐"]
    for modules, neighbours in found:
        if len(lines) > 1:
            lines.append(f"├{'─' * (column + 2)}┤")
        for place, module in enumerate(modules):
            if place and not neighbours:
                lines.append(f"├{'╌' * (column + 2)}┤")
            first, *more = textwrap.wrap(about(module), WIDTH)
            lines += [f"│ {module:{column}} │ {first}", *(f"│ {'':{column}} │ {line}" for line in more)]
    return "\n".join([*lines, f"└{'─' * (column + 2)}┘"])


def drawn(page):
    """The page with the picture of today in the place of the one that it has."""
    before, _, rest = page.partition("```text\n")
    return f"{before}```text\n{picture()}\n```{rest.partition('```')[2]}"


if __name__ == "__main__":
    PAGE.write_text(drawn(PAGE.read_text()))
