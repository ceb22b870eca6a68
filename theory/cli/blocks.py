"""`theory blocks`: how many drafted tokens block rules keep, and what that speeds up."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from theory import blocks, parameters
from theory.cli import inputs, outputs
from theory.cli.console import fit_columns, new_console, new_grid, whole_width
from theory.compare_blocks import efficiencies, length_laws

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """
theory blocks
theory blocks --verifier strict --verifier block --gamma 5 --cost 0.05
theory blocks --verifier mine.py:Mine:0.4 --verifier mine.py:FirstOnly --synthetic paper:C
theory blocks --synthetic paper:C --verifier lenience:0.4 --verifier block --plot blocks.png --csv blocks.csv
"""

COLUMNS = {
    "accepted_length": "E[τ]",
    "block_efficiency": "block\nefficiency",
    "speedup": "speed-up",
    "best": "best γ",
    "how": "how",
}
"""Column of the table to its heading; the law of the accepted length stands before them."""


def run(
    trace: inputs.Trace = None,
    synthetic_rows: inputs.SyntheticRows = None,
    verifier: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME:ARGS", help="block, hierarchical, greedy-block, or a token verifier; may be repeated."),
    ] = None,
    gamma: Annotated[int, typer.Option(help="Drafted tokens in a block.")] = 5,
    cost: Annotated[float, typer.Option(help="Time of a draft step, in target calls.")] = 0.05,
    tail_tokens: inputs.TailTokens = None,
    csv: Annotated[Path | None, typer.Option(help="Write block efficiency and speed-up by gamma to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the length law, and block efficiency by gamma, to this file.")] = None,
) -> None:
    """Show accepted lengths, block efficiency and predicted speed-up of block rules, positions taken as i.i.d."""
    rules = [blocks.parse(name) for name in verifier or ("strict", "block", "lenience:0.4", "cos:0.5", "spec-cascade:0.3")]
    parameters.check_count("gamma", gamma)
    parameters.check("cost", cost, "[0, inf)")
    csv, plot = outputs.table_path(csv), outputs.figure_path(plot)
    console = new_console()
    p, q = inputs.read_rows(trace, synthetic_rows, tail_tokens, console)
    laws = length_laws(rules, p, q, gamma)
    gains = efficiencies(rules, p, q, range(1, max(gamma, 10) + 1), cost)
    title = f"Blocks of γ = {gamma} drafted tokens at cost {cost:g}, positions i.i.d."
    lengths = tuple(f"P({k})" for k in range(gamma + 1)) if gamma <= 10 else ()
    full = _table(title, laws, gains, gamma, (*lengths, *COLUMNS))
    needed = whole_width(full, console)
    grid = full
    names: Sequence[str] = tuple(COLUMNS)
    if needed > console.width or not lengths:
        names_of_rules = [str(rule).removeprefix("tokenwise:") for rule in rules]
        grid, names = fit_columns(lambda names: _table(title, laws, gains, gamma, names), names, names_of_rules, console)
    console.print(grid)
    if grid is full:
        console.print("P(k): probability that k drafted tokens are kept.")
    elif needed > console.width:
        console.print(
            f"{len(names)} of {len(lengths) + len(COLUMNS)} columns fit here; a terminal {needed} columns wide shows the "
            "rest. --csv writes all but P(k), the probability that k drafted tokens are kept, at every γ; --plot draws P(k)."
        )
    console.print(
        "Block efficiency: tokens per target call, E[τ] + 1. Speed-up over plain decoding: block efficiency / (γ c + 1); "
        f"best γ among 1..{max(gamma, 10)}."
    )
    if csv is not None:
        outputs.save_table(gains, csv, console)
    if plot is not None:
        import matplotlib.pyplot as plt

        from theory.plotting import plot_block_efficiency, plot_lengths

        _, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
        plot_lengths(laws, left)
        outputs.save_figure(plot_block_efficiency(gains, ax=right), plot, console)


def _table(title: str, laws: "pd.DataFrame", gains: "pd.DataFrame", gamma: int, names: Sequence[str]) -> Table:
    grid = new_grid(title, "rule", full=len(names) > len(COLUMNS))
    for name in names:
        grid.add_column(COLUMNS.get(name, name), justify="left" if name == "how" else "right", no_wrap=True)
    for rule, rows in laws.groupby("rule", sort=False):
        by_gamma = gains[gains["rule"] == rule].set_index("gamma")
        own = by_gamma.loc[gamma]
        cells = {f"P({k})": f"{probability:.3f}" for k, probability in enumerate(rows["probability"])}
        cells |= {
            "accepted_length": f"{own['accepted_length']:.4f}",
            "block_efficiency": f"{own['block_efficiency']:.4f}",
            "speedup": f"{own['speedup']:.3f}",
            "best": str(by_gamma["speedup"].idxmax()),
            "how": f"± {rows['error'].iloc[0]:.0e}" if own["route"] == "bounds" else "exact",
        }
        grid.add_row(str(rule).removeprefix("tokenwise:"), *(cells[name] for name in names))
    return grid
