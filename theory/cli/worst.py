"""`theory worst`: how bad a verifier can get, and the pairs at which it does."""

import itertools
from fractions import Fraction
from typing import Annotated, Any

import typer
from rich.table import Table

from theory import failure, parameters, verifiers
from theory.cli import inputs
from theory.cli.console import new_console, number_text
from theory.probs import Array

EXAMPLES = """
theory worst lenience:0.4
theory worst cactus:1/10 --vocabulary 10
theory worst spec-cascade:1/2,fallback=residual --p 6/10,2/10,1/10,1/10
"""

SEARCHED = 12
"""Tokens up to which it also searches; it takes seconds there, and minutes at a hundred."""

MOST_TOKENS = 10_000
"""Tokens of the pairs that are made, at most."""

WIDE = 120
"""Columns from which the pairs of rows are in the table, and not below it."""

WORST_TOKENS = 3
"""Tokens of the worst pairs where nothing else is asked for: enough for most to be as bad as they get."""

SEARCH_GENERATIONS = 30
"""Of the search beside them."""

_STATUSES = {"attained": "attained", "approached": "approached", "bound": "at most", "searched": "at least"}


def run(
    verifier: inputs.Verifier,
    vocabulary: Annotated[
        int | None, typer.Option(help="Tokens of the pairs that are shown and searched. Default: 3.", show_default=False)
    ] = None,
    p: Annotated[
        str | None, typer.Option(help="A target's row, comma-separated: then the worst draft for it.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the search.")] = 0,
) -> None:
    """Show how bad a verifier can get: the largest TV, KL, overshoot and mass off the support, derived and as searched.

    A rule of your own, file.py:Class, is searched where you have registered no derivation with theory.failure.derive.
    """
    rule = verifiers.parse(verifier)
    if p is not None and vocabulary is not None:
        raise ValueError(f"--vocabulary {vocabulary}: --p has its own tokens; give one of the two")
    target = None if p is None else inputs.read_pair(p, p)[0]
    size = len(target) if target is not None else WORST_TOKENS if vocabulary is None else vocabulary
    parameters.check_count("--seed", seed, 0)
    if size > MOST_TOKENS:
        raise ValueError(f"--vocabulary {size}: must be at most {MOST_TOKENS}; the column any V has the suprema over all of them")
    found = failure.worst(rule, size) if target is None else failure.worst_for(rule, target)
    anywhere = failure.worst(rule) if target is None else None
    over = f"all pairs on {size} token{'s' * (size > 1)}" if target is None else f"all drafts for p = {_runs(target)}"
    console = new_console()
    wide = console.width >= WIDE
    grid = Table(title=f"{rule}, the worst of {over}", title_justify="left", show_edge=wide, pad_edge=wide)
    numbers = ["supremum", "", *(["any V"] if anywhere else []), *(["search"] if size <= SEARCHED else []), "at the pair"]
    for heading in ("quantity", *numbers):
        grid.add_column(heading, no_wrap=True)
    for heading in ("p", "q") if wide else ():
        grid.add_column(heading, overflow="fold")
    rows, said = {}, {}
    for name, one in found.suprema.items():
        pair = found.witness(name)
        cells = [name.replace("_", " "), number_text(one.value), _STATUSES[one.status]]
        if anywhere:
            most = anywhere[name].value  # searched on few tokens only, where it is
            cells.append(number_text(max(most, one.value) if one.status == "searched" else most))
        if size <= SEARCHED:
            looked = failure.search(rule, name, size, seed, target, SEARCH_GENERATIONS)
            cells.append(f"{looked.value + 0.0:.6g}")
            said[cells[0]] = looked.said
        elif one.said:
            said[cells[0]] = anywhere[name].said if anywhere else one.said
        rows[cells[0]] = [_runs(row) for row in pair]
        here = failure.QUANTITIES[name](rule.induced(*pair), pair[0])
        grid.add_row(*cells, number_text(here), *(rows[cells[0]] if wide else []))
    console.print(grid)
    for name, (target_row, draft_row) in {} if wide else rows.items():
        console.print(f"{name} at p = {target_row}; q = {draft_row}")
    for name, words in said.items():
        if not words.startswith("settled"):
            console.print(f"search for {name}: {words}")
    derived = all(one.status != "searched" for one in found.suprema.values())
    searched = "The search is numerical, and independent of the derivations."
    if not derived:
        searched = "At least: nothing is derived, and the worst pair that a numerical search met has it; no proof."
    elif size > SEARCHED:
        searched = f"Not searched numerically beyond {SEARCHED} tokens."
    console.print(
        "TV, probability; KL(π || p), nats; max π/p; π-mass where p is 0. Approached: no pair has it, but pairs come as near as "
        f"one likes. At most: a bound; the pair is the worst known. {searched}"
    )


def _runs(row: Array) -> str:
    """Write a row, runs of one value as value ×count."""
    runs = [(value, len(list(run))) for value, run in itertools.groupby(row.tolist())]
    return ", ".join(_mass(value) + (f" ×{count}" if count > 1 else "") for value, count in runs)


def _mass(value: Any) -> str:
    return str(value) if isinstance(value, Fraction) and value.denominator < 1000 else f"{float(value):.4g}"
