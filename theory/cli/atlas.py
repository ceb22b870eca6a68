"""`theory atlas`: how every rule can fail, on one page."""

import math
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from theory import failure, frontier, synthetic
from theory.cli import inputs, outputs
from theory.cli.console import new_console, number_text

EXAMPLES = """
theory atlas
theory atlas --verifier lenience:0.4 --verifier cactus:1/10 --plot two.png
theory atlas --synthetic zipf:1000,strength=1.5 --plot atlas.png --csv atlas.csv
"""

ROWS = "zipf:1000,strength=1.5"
"""Synthetic rows on which the atlas compares rules of one TV."""

_MARKS = {"attained": "", "approached": "→ ", "bound": "≤ ", "searched": "≥ "}


def run(
    trace: inputs.Trace = None,
    verifier: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="A verifier to show; may be repeated. Default: one of each rule.", show_default=False),
    ] = None,
    synthetic_rows: Annotated[
        str, typer.Option("--synthetic", metavar="NAME:ARGS", help="The synthetic rows drawn beside it.")
    ] = ROWS,
    tail_tokens: inputs.TailTokens = None,
    csv: Annotated[Path | None, typer.Option(help="Write the worst pairs and suprema to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the page to this file (.png, .pdf, .svg).")] = None,
) -> None:
    """Show how every rule can fail: its suprema over all pairs and vocabularies, and a page of the pairs and of what TV hides."""
    csv, plot = outputs.table_path(csv), outputs.figure_path(plot)
    rows = synthetic.parse(synthetic_rows)
    recorded = inputs.read_trace(trace, tail_tokens)
    console = new_console()
    pairs = failure.worst_pairs(verifier or frontier.EXAMPLES)
    grid = Table(title="The worst of all pairs over all vocabularies", title_justify="left")
    for heading in ("verifier", "TV", "KL (nats)", "max π/p", "mass off the support"):
        grid.add_column(heading, justify="left" if heading == "verifier" else "right")
    for name, first in pairs.groupby("verifier", sort=False).first().iterrows():
        grid.add_row(str(name), *(_text(first[key], first[f"{key}_status"]) for key in failure.QUANTITIES))
    console.print(grid)
    searched = any(str(first).startswith("searched") for first in pairs["total_variation_status"])
    least = " ≥ searched: the largest value met; ↑ a larger search finds more." if searched else ""
    console.print(f"→ approached: no pair has it, but pairs come as near as one likes. ≤ a bound.{least}")
    if csv is not None:
        outputs.save_table(pairs, csv, console)
    if plot is not None:
        sources = {synthetic_rows: rows, f"{recorded.target}, {len(recorded.p)} positions": (recorded.p, recorded.q)}
        lines = {title: failure.same_tv(*map(np.asarray, pair)) for title, pair in sources.items()}
        outputs.save_figure(failure.plot_atlas(pairs, lines), plot, console)


def _text(value: float, status: str) -> str:
    kind, _, trend = status.partition(", ")
    return f"{_MARKS[kind]}{number_text(value)}" + (" ↑" if trend and math.isfinite(value) else "")
