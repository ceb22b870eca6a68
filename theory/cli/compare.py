"""`theory compare`: every verifier on the rows of a trace, averaged over its positions."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from theory import parameters, verifiers
from theory.cli import inputs, outputs
from theory.cli.console import fit_columns, new_console, new_grid, whole_width
from theory.compare import compare

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """
theory compare
theory compare my-trace.safetensors --verifier strict --verifier lenience:0.4 --gamma 5
theory compare --synthetic zipf:1000,strength=0.7 --csv table.csv --plot tradeoff.png
theory compare --verifier strict --verifier mine.py:Mine:0.4 --verifier mine.py:Mine:0.2
theory compare --synthetic paper:C --verifier spec-cascade:0.5,fallback=target
"""

PAPER_SET = (
    "strict",
    *(f"lenience:{x}" for x in (0.2, 0.4, 0.6, 0.8)),
    *(f"cos:{x}" for x in (0.2, 0.4, 0.6, 0.8)),
    *(f"spec-cascade:{x}" for x in (0.1, 0.3, 0.5, 0.7, 0.9)),
    *(f"truncation-sampling:min-p:{x}" for x in (0.1, 0.3, 0.5, 0.7, 0.9)),
    *(f"typical-acceptance:{x}" for x in (0.05, 0.1, 0.15, 0.2, 0.25)),
    *(f"truncation-sampling:eta:{x}" for x in (0.05, 0.1, 0.15, 0.2, 0.25)),
)
"""The paper's verifiers at the values of its sweeps (Table 4). CoS is symmetric in λ there, whichever model λ weighs."""

COLUMNS = {
    "acceptance_rate": ("accept", "{:.4f}"),
    "total_variation": ("TV", "{:.4f}"),
    "total_variation_to_baseline": ("TV to\nbaseline", "{:.4f}"),
    "kl_divergence": ("KL\n(nats)", "{:.4f}"),
    "max_overshoot": ("max\nπ/p", "{:.3g}"),
    "overshoot_mass": ("mass\nπ > 2p", "{:.4f}"),
    "pareto_gap": ("gap", "{:.4f}"),
    "block_efficiency_mean_rate": ("BE, mean\nrate", "{:.2f}"),
    "block_efficiency_per_position": ("BE, per\nposition", "{:.2f}"),
}
"""Column of the comparison to its heading and format."""

FEWER_COLUMNS = (
    "acceptance_rate",
    "total_variation",
    "total_variation_to_baseline",
    "kl_divergence",
    "block_efficiency_mean_rate",
)
"""Those of `COLUMNS` that a console too narrow for all of them shows."""


def run(
    trace: inputs.Trace = None,
    synthetic_rows: inputs.SyntheticRows = None,
    verifier: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME:ARGS", help="A verifier, such as lenience:0.4; may be repeated. Default: the paper's."),
    ] = None,
    gamma: Annotated[int, typer.Option(help="Drafted tokens in a block.")] = 10,
    tail_tokens: inputs.TailTokens = None,
    csv: Annotated[Path | None, typer.Option(help="Write the table, with bootstrap intervals, to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw acceptance against TV to this file (.png, .pdf, .svg).")] = None,
) -> None:
    """Show what each verifier really samples from, and what that buys, averaged over the positions of a trace."""
    rules = [verifiers.parse(name) for name in verifier or PAPER_SET]
    parameters.check_count("gamma", gamma)
    csv, plot = outputs.table_path(csv), outputs.figure_path(plot)
    console = new_console()
    p, q = inputs.read_rows(trace, synthetic_rows, tail_tokens, console)
    table = compare(rules, p, q, gamma=gamma)
    _print(table, gamma, console)
    if csv is not None:
        outputs.save_table(table, csv, console)
    if plot is not None:
        from theory.plotting import plot_tradeoff

        outputs.save_figure(plot_tradeoff(table), plot, console)


def _print(table: "pd.DataFrame", gamma: int, console: Console) -> None:
    """Print the table with as many columns as the console holds, say what is left out, and explain the columns."""
    names: Sequence[str] = tuple(COLUMNS)
    full = _table(table, gamma, names)
    grid, needed = full, whole_width(full, console)
    if needed > console.width:
        grid, names = fit_columns(lambda names: _table(table, gamma, names), FEWER_COLUMNS, table["verifier"], console)
    console.print(grid)
    if grid is not full:
        console.print(
            f"{len(names)} of {len(COLUMNS)} columns fit here; a terminal {needed} columns wide, or --csv, shows the rest."
        )
    compared = "TV, KL, max π/p and mass π > 2p compare" if grid is full else "TV and KL compare"
    gap = " gap: TV + rejection rate - TV(p, q), 0 on the best trade-off line." if grid is full else ""
    bound = ", or if each position's own rate held through its whole block" if grid is full else ""
    largest = "; that of max π/p can hang on a single one" if grid is full else ""
    console.print(
        f"{compared} the induced law π with the target p; baseline: strict verification of the truncated target.{gap} "
        f"BE: tokens per target call, if acceptance were i.i.d. at the mean rate{bound}. All are means over positions{largest}."
    )


def _table(table: "pd.DataFrame", gamma: int, names: Sequence[str]) -> Table:
    title = f"What each verifier induces, and what that buys (γ = {gamma})"
    grid = new_grid(title, "verifier", full=len(names) == len(COLUMNS))
    for name in names:
        grid.add_column(COLUMNS[name][0], justify="right", no_wrap=True)
    family = None
    for _, row in table.iterrows():
        if family not in (None, row["family"]):
            grid.add_section()
        family = row["family"]
        grid.add_row(row["verifier"], *(_cell(row[name], COLUMNS[name][1]) for name in names))
    return grid


def _cell(value: float, form: str) -> str:
    if math.isnan(value):
        return "-"
    return form.format(abs(value) if abs(value) < 5e-7 else value)  # no "-0.0000"
