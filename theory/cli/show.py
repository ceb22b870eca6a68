"""`theory show`: one pair of rows under one verifier, token by token."""

from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from theory import exact, probs, verifiers
from theory.cli import inputs, outputs
from theory.cli.console import new_console, number_text
from theory.probs import Array

EXAMPLES = """
theory show lenience:1/2
theory show mine.py:Mine:1/2
theory show cos:0.5 --p 0.5,0.3,0.2 --q 0.2,0.2,0.6
theory show spec-cascade:3/5,fallback=argmax --p 4/10,3/10,2/10,1/10 --q 1/5,1/4,1/4,3/10 --plot induced.png
"""

GOLDEN = ("4/10,3/10,2/10,1/10", "4/20,5/20,5/20,6/20")
"""The pair of rows shown where none is given: tokens below, between and above the ceiling 2 p."""


def run(
    verifier: Annotated[
        str, typer.Argument(metavar="VERIFIER", help="A verifier, such as lenience:1/2, or one of your own, file.py:Class:1/2.")
    ],
    p: Annotated[str, typer.Option(help="The target's row, comma-separated; fractions keep everything exact.")] = GOLDEN[0],
    q: Annotated[str, typer.Option(help="The draft's row.")] = GOLDEN[1],
    plot: Annotated[Path | None, typer.Option(help="Draw the rows to this file (.png, .pdf, .svg).")] = None,
) -> None:
    """Show one pair of rows under one verifier, token by token."""
    rule = verifiers.parse(verifier)
    plot = outputs.figure_path(plot)
    target, draft = inputs.read_pair(p, q)
    if (p, q) == GOLDEN:
        target, draft = _in_its_arithmetic(rule, target, draft)
    law = rule.checked_law(target, draft)
    columns = {
        "p": target,
        "q": draft,
        "acceptance": rule.checked_acceptance(target, draft),
        "residual": rule.checked_residual(target, draft),
        "induced": law.induced,
    }
    baseline = rule.baseline(target)
    if baseline is not None:
        columns["baseline"] = baseline
    grid = Table(title=f"{rule}: {rule.formula}", title_justify="left")
    for heading in ("token", *columns):
        grid.add_column(heading, justify="right", overflow="fold")
    for token, row in enumerate(zip(*columns.values(), strict=True)):
        grid.add_row(str(token), *map(number_text, row))
    console = new_console()
    console.print(grid)
    for name, value in exact.summarise(rule, target, draft, exact.QUANTITIES).items():
        if value == value:  # NaN: no baseline
            console.print(f"{name.replace('_', ' ')}: {number_text(value)}")
    if plot is not None:
        from theory.plotting import plot_induced

        outputs.save_figure(plot_induced(target, draft, law.induced, ceiling=rule.ceiling, title=f"{rule}"), plot, console)


def _in_its_arithmetic(rule: verifiers.TokenVerifier, p: Array, q: Array) -> tuple[Array, Array]:
    """Give rows of Fractions as they are where the rule has an exact law on them, else as floats."""
    try:
        rule.checked_law(p, q)
    except ValueError:
        return probs.as_float(p), probs.as_float(q)
    return p, q
