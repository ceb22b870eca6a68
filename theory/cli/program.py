"""The program `theory`, its commands and its errors."""

import dataclasses
import itertools
import math
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.measure import Measurement
from rich.progress import Progress
from rich.table import Table

from theory import __version__, blocks, exact, failure, paper, parameters, probs, synthetic, traces, truncation, verifiers
from theory.compare import compare as compare_rows
from theory.compare_blocks import efficiencies, length_laws
from theory.probs import Array

if TYPE_CHECKING:
    import pandas as pd

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

app = typer.Typer(
    help="Which law does a speculative decoder really sample from, and what does it pay for speed?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)

GOLDEN = ("4/10,3/10,2/10,1/10", "4/20,5/20,5/20,6/20")
"""The pair of rows shown where none is given: tokens below, between and above the ceiling 2 p."""

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

BLOCK_COLUMNS = {
    "accepted_length": "E[τ]",
    "block_efficiency": "block\nefficiency",
    "speedup": "speed-up",
    "best": "best γ",
    "how": "how",
}
"""Column of the table of blocks to its heading; the law of the accepted length stands before them."""

PIPE_WIDTH = 140
"""Columns of output that goes into a pipe or file, which has no width of its own; COLUMNS overrides it."""

NAME_WIDTH = 12
"""Columns below which the name of a verifier is not folded; numbers are left out instead."""

TAIL_TOKENS = 1024
"""Tokens over which the mass outside truncated rows is spread, where the vocabulary has as many."""

ATLAS_ROWS = "zipf:1000,strength=1.5"
"""Synthetic rows on which the atlas compares rules of one TV."""

IMAGES = (".png", ".pdf", ".svg", ".eps", ".jpg", ".jpeg", ".tif", ".tiff", ".webp")
"""Suffixes of --plot; the first where none is given."""

SEARCHED = 12
"""Tokens up to which theory worst also searches; it takes seconds there, and minutes at a hundred."""

MOST_TOKENS = 10_000
"""Tokens of the pairs that theory worst makes, at most."""

WIDE = 120
"""Columns from which theory worst has the pairs of rows in its table, and not below it."""

WORST_TOKENS = 3
"""Tokens of the worst pairs where nothing else is asked for: enough for most to be as bad as they get."""

SEARCH_GENERATIONS = 30
"""Of the search beside them."""

_STATUSES = {"attained": "attained", "approached": "approached", "bound": "at most"}

EXAMPLES = {
    "compare": """
        theory compare
        theory compare my-trace.safetensors --verifier strict --verifier lenience:0.4 --gamma 5
        theory compare --synthetic zipf:1000,strength=0.7 --csv table.csv --plot tradeoff.png
        theory compare --synthetic paper:C --verifier spec-cascade:0.5,fallback=target
    """,
    "show": """
        theory show lenience:1/2
        theory show cos:0.5 --p 0.5,0.3,0.2 --q 0.2,0.2,0.6
        theory show spec-cascade:3/5,fallback=argmax --p 4/10,3/10,2/10,1/10 --q 1/5,1/4,1/4,3/10 --plot induced.png
    """,
    "explain": """
        theory explain lenience:0.4
        theory explain spec-cascade:0.5 --trace my-trace.safetensors --position 0
        theory explain typical-acceptance:0.25 --worst 5 --by kl_divergence --plot worst.png --csv worst.csv
        theory explain lenience:1/2 --p 4/10,3/10,2/10,1/10 --q 1/5,1/4,1/4,3/10
    """,
    "worst": """
        theory worst lenience:0.4
        theory worst cactus:1/10 --vocabulary 10
        theory worst spec-cascade:1/2,fallback=residual --p 6/10,2/10,1/10,1/10
    """,
    "atlas": """
        theory atlas
        theory atlas --synthetic zipf:1000,strength=1.5 --plot atlas.png --csv atlas.csv
    """,
    "blocks": """
        theory blocks
        theory blocks --verifier strict --verifier block --gamma 5 --cost 0.05
        theory blocks --synthetic paper:C --verifier lenience:0.4 --verifier block --plot blocks.png --csv blocks.csv
    """,
    "figures": """
        theory figures --list
        theory figures fig2 fig8 --quick --out my-figures
    """,
    "list": """
        theory list
    """,
}


def _epilog(command: str) -> str:
    return "Examples:\n\n" + "\n\n".join(line.strip() for line in EXAMPLES[command].strip().splitlines())


def _console() -> Console:
    # Names of files, models and rules are the user's: nothing in them is markup.
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and int(columns) else PIPE_WIDTH
    return Console(width=None if sys.stdout.isatty() else width, markup=False, emoji=False, highlight=False)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"theory {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


Tail = Annotated[
    int | None,
    typer.Option(
        help="Equal tokens over which a truncated trace spreads the mass that it did not record. "
        f"Default: {TAIL_TOKENS}, or as many as the vocabulary leaves.",
        show_default=False,
    ),
]


@app.command("compare", epilog=_epilog("compare"))
def compare(
    trace: Annotated[Path | None, typer.Argument(help="A recorded trace; the bundled one where none is given.")] = None,
    synthetic_rows: Annotated[
        str | None, typer.Option("--synthetic", metavar="NAME:ARGS", help="Synthetic rows instead of a trace.")
    ] = None,
    verifier: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME:ARGS", help="A verifier, such as lenience:0.4; may be repeated. Default: the paper's."),
    ] = None,
    gamma: Annotated[int, typer.Option(help="Drafted tokens in a block.")] = 10,
    tail_tokens: Tail = None,
    csv: Annotated[Path | None, typer.Option(help="Write the table, with bootstrap intervals, to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw acceptance against TV to this file (.png, .pdf, .svg).")] = None,
) -> None:
    """Show what each verifier really samples from, and what that buys, averaged over the positions of a trace."""
    rules = [verifiers.parse(name) for name in verifier or PAPER_SET]
    parameters.check_count("gamma", gamma)
    csv, plot = _csv(csv), _image(plot)
    console = _console()
    p, q = _input(trace, synthetic_rows, tail_tokens, console)
    table = compare_rows(rules, p, q, gamma=gamma)
    _print_comparison(table, gamma, console)
    if csv is not None:
        table.to_csv(csv, index=False)
        _say_wrote(csv, console)
    if plot is not None:
        from theory.plotting import plot_tradeoff

        _save(plot_tradeoff(table), plot, console)


def _csv(path: Path | None) -> Path | None:
    """Refuse a table's path that cannot be written, before any work is done."""
    if path is None:
        return None
    if path.suffix.lower() in IMAGES:
        raise ValueError(f"--csv {path}: {path.suffix} is the suffix of an image")
    _check_place("--csv", path)
    return path


def _image(path: Path | None) -> Path | None:
    """Refuse an image's path that cannot be written, before any work is done; give it a suffix where it has none."""
    if path is None:
        return None
    _check_place("--plot", path)
    if not path.suffix:
        path = path.with_name(f"{path.name.rstrip('.')}{IMAGES[0]}")
        _check_place("--plot", path)
    if path.suffix.lower() not in IMAGES:
        raise ValueError(f"--plot {path}: no image has the suffix {path.suffix}; there are: {', '.join(IMAGES)}")
    return path


def _check_place(option: str, path: Path) -> None:
    if path.is_dir():
        raise ValueError(f"{option} {path}: is a directory")
    if not path.parent.is_dir():
        raise ValueError(f"{option} {path}: there is no folder {path.parent}")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise ValueError(f"{option} {path}: may not be written")


def _input(trace: Path | None, synthetic_rows: str | None, tail_tokens: int | None, console: Console) -> tuple[Any, Any]:
    """Give the rows that a command works on, and say what they are."""
    if trace is not None and synthetic_rows is not None:
        raise ValueError("give a trace or --synthetic, not both")
    if tail_tokens is not None:
        parameters.check_count("--tail-tokens", tail_tokens)
    if synthetic_rows is not None:
        if tail_tokens is not None:
            raise ValueError(f"--tail-tokens {tail_tokens}: synthetic rows are whole, and have no tail to spread")
        p, q = synthetic.parse(synthetic_rows)
        count = np.atleast_2d(p).shape[0]
        pairs = "1 pair" if count == 1 else f"{count} pairs"
        console.print(f"{synthetic_rows}: {pairs} of rows over {p.shape[-1]} tokens", soft_wrap=True)
        return p, q
    recorded = _recorded(trace, tail_tokens)
    console.print(recorded.describe())
    if "overlap" in recorded.exact:
        console.print(
            f"Over the full vocabulary strict verification accepts {recorded.exact['overlap'].mean():.4f}, stored exactly "
            "at record time; the table below is computed from the recorded rows."
        )
    return recorded.p, recorded.q


def _recorded(trace: Path | None, tail_tokens: int | None) -> traces.Trace:
    """Give a trace, the bundled one where none is named, with its tail spread over tokens."""
    recorded = traces.example() if trace is None else traces.read(trace)
    if isinstance(recorded.p, traces.RaggedRows):
        most = max(1, recorded.vocabulary - recorded.p.longest)
        return recorded.with_tail_tokens(min(TAIL_TOKENS, most) if tail_tokens is None else tail_tokens)
    if tail_tokens is not None:
        raise ValueError(f"--tail-tokens {tail_tokens}: the rows of {recorded.where} are whole, and have no tail to spread")
    return recorded


def _print_comparison(table: "pd.DataFrame", gamma: int, console: Console) -> None:
    """Print the table with as many columns as the console holds, say what is left out, and explain the columns."""
    names: Sequence[str] = tuple(COLUMNS)
    full = _comparison(table, gamma, names)
    grid, needed = full, _width(full, console)
    if needed > console.width:
        grid, names = _fitting(lambda names: _comparison(table, gamma, names), FEWER_COLUMNS, table["verifier"], console)
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


def _width(grid: Table, console: Console) -> int:
    """Give the width at which the table is whole."""
    return Measurement.get(console, console.options.update(max_width=10_000), grid).maximum


def _fitting(
    make: Callable[[Sequence[str]], Table], names: Sequence[str], rows: Iterable[str], console: Console
) -> tuple[Table, Sequence[str]]:
    """Make a table of as many of the columns as the console holds, at least one, and say which they are."""
    foldable = max(0, max(map(len, rows)) - NAME_WIDTH)
    while _width(make(names), console) - foldable > console.width and len(names) > 1:
        names = names[:-1]
    return make(names), names


def _grid(title: str, first: str, full: bool) -> Table:
    """Make a table of numbers beside names; without outer edges where every column of the console counts."""
    grid = Table(title=title, title_justify="left", show_edge=full, pad_edge=full)
    grid.add_column(first, overflow="fold")
    return grid


def _comparison(table: "pd.DataFrame", gamma: int, names: Sequence[str]) -> Table:
    title = f"What each verifier induces, and what that buys (γ = {gamma})"
    grid = _grid(title, "verifier", full=len(names) == len(COLUMNS))
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


@app.command("blocks", epilog=_epilog("blocks"))
def blocks_(
    trace: Annotated[Path | None, typer.Argument(help="A recorded trace; the bundled one where none is given.")] = None,
    synthetic_rows: Annotated[
        str | None, typer.Option("--synthetic", metavar="NAME:ARGS", help="Synthetic rows instead of a trace.")
    ] = None,
    verifier: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME:ARGS", help="block, hierarchical, greedy-block, or a token verifier; may be repeated."),
    ] = None,
    gamma: Annotated[int, typer.Option(help="Drafted tokens in a block.")] = 5,
    cost: Annotated[float, typer.Option(help="Time of a draft step, in target calls.")] = 0.05,
    tail_tokens: Tail = None,
    csv: Annotated[Path | None, typer.Option(help="Write block efficiency and speed-up by gamma to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the length law, and block efficiency by gamma, to this file.")] = None,
) -> None:
    """Show accepted lengths, block efficiency and predicted speed-up of block rules, positions taken as i.i.d."""
    rules = [blocks.parse(name) for name in verifier or ("strict", "block", "lenience:0.4", "cos:0.5", "spec-cascade:0.3")]
    parameters.check_count("gamma", gamma)
    parameters.check("cost", cost, "[0, inf)")
    csv, plot = _csv(csv), _image(plot)
    console = _console()
    p, q = _input(trace, synthetic_rows, tail_tokens, console)
    laws = length_laws(rules, p, q, gamma)
    gains = efficiencies(rules, p, q, range(1, max(gamma, 10) + 1), cost)
    title = f"Blocks of γ = {gamma} drafted tokens at cost {cost:g}, positions i.i.d."
    lengths = tuple(f"P({k})" for k in range(gamma + 1)) if gamma <= 10 else ()
    full = _blocks(title, laws, gains, gamma, (*lengths, *BLOCK_COLUMNS))
    needed = _width(full, console)
    grid = full
    names: Sequence[str] = tuple(BLOCK_COLUMNS)
    if needed > console.width or not lengths:
        names_of_rules = [str(rule).removeprefix("tokenwise:") for rule in rules]
        grid, names = _fitting(lambda names: _blocks(title, laws, gains, gamma, names), names, names_of_rules, console)
    console.print(grid)
    if grid is full:
        console.print("P(k): probability that k drafted tokens are kept.")
    elif needed > console.width:
        console.print(
            f"{len(names)} of {len(lengths) + len(BLOCK_COLUMNS)} columns fit here; a terminal {needed} columns wide shows the "
            "rest. --csv writes all but P(k), the probability that k drafted tokens are kept, at every γ; --plot draws P(k)."
        )
    console.print(
        "Block efficiency: tokens per target call, E[τ] + 1. Speed-up over plain decoding: block efficiency / (γ c + 1); "
        f"best γ among 1..{max(gamma, 10)}."
    )
    if csv is not None:
        gains.to_csv(csv, index=False)
        _say_wrote(csv, console)
    if plot is not None:
        import matplotlib.pyplot as plt

        from theory.plotting import plot_block_efficiency, plot_lengths

        _, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
        plot_lengths(laws, left)
        _save(plot_block_efficiency(gains, ax=right), plot, console)


def _blocks(title: str, laws: "pd.DataFrame", gains: "pd.DataFrame", gamma: int, names: Sequence[str]) -> Table:
    grid = _grid(title, "rule", full=len(names) > len(BLOCK_COLUMNS))
    for name in names:
        grid.add_column(BLOCK_COLUMNS.get(name, name), justify="left" if name == "how" else "right", no_wrap=True)
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


@app.command("show", epilog=_epilog("show"))
def show(
    verifier: Annotated[str, typer.Argument(metavar="VERIFIER", help="A verifier, such as lenience:1/2.")],
    p: Annotated[str, typer.Option(help="The target's row, comma-separated; fractions keep everything exact.")] = GOLDEN[0],
    q: Annotated[str, typer.Option(help="The draft's row.")] = GOLDEN[1],
    plot: Annotated[Path | None, typer.Option(help="Draw the rows to this file (.png, .pdf, .svg).")] = None,
) -> None:
    """Show one pair of rows under one verifier, token by token."""
    rule = verifiers.parse(verifier)
    plot = _image(plot)
    target, draft = _rows(p, q)
    law = rule.law(target, draft)
    columns = {
        "p": target,
        "q": draft,
        "acceptance": rule.acceptance(target, draft),
        "residual": rule.residual(target, draft),
        "induced": law.induced,
    }
    baseline = rule.baseline(target)
    if baseline is not None:
        columns["baseline"] = baseline
    grid = Table(title=f"{rule}: {rule.formula}", title_justify="left")
    for heading in ("token", *columns):
        grid.add_column(heading, justify="right", overflow="fold")
    for token, row in enumerate(zip(*columns.values(), strict=True)):
        grid.add_row(str(token), *map(_number, row))
    console = _console()
    console.print(grid)
    for name, value in exact.summarise(rule, target, draft, exact.QUANTITIES).items():
        if value == value:  # NaN: no baseline
            console.print(f"{name.replace('_', ' ')}: {_number(value)}")
    if plot is not None:
        from theory.plotting import plot_induced

        _save(plot_induced(target, draft, law.induced, ceiling=rule.ceiling, title=f"{rule}"), plot, console)


@app.command("worst", epilog=_epilog("worst"))
def worst_(
    verifier: Annotated[str, typer.Argument(metavar="VERIFIER", help="A verifier, such as lenience:0.4.")],
    vocabulary: Annotated[
        int | None, typer.Option(help="Tokens of the pairs that are shown and searched. Default: 3.", show_default=False)
    ] = None,
    p: Annotated[
        str | None, typer.Option(help="A target's row, comma-separated: then the worst draft for it.", show_default=False)
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the search.")] = 0,
) -> None:
    """Show how bad a verifier can get: the largest TV, KL, overshoot and mass off the support, derived and as searched."""
    rule = verifiers.parse(verifier)
    if p is not None and vocabulary is not None:
        raise ValueError(f"--vocabulary {vocabulary}: --p has its own tokens; give one of the two")
    target = None if p is None else _rows(p, p)[0]
    size = len(target) if target is not None else WORST_TOKENS if vocabulary is None else vocabulary
    parameters.check_count("--seed", seed, 0)
    if size > MOST_TOKENS:
        raise ValueError(f"--vocabulary {size}: must be at most {MOST_TOKENS}; the column any V has the suprema over all of them")
    found = failure.worst(rule, size) if target is None else failure.worst_for(rule, target)
    anywhere = failure.worst(rule) if target is None else None
    over = f"all pairs on {size} token{'s' * (size > 1)}" if target is None else f"all drafts for p = {_runs(target)}"
    console = _console()
    wide = console.width >= WIDE
    grid = Table(title=f"{rule}, the worst of {over}", title_justify="left", show_edge=wide, pad_edge=wide)
    numbers = ["supremum", "", *(["any V"] if anywhere else []), *(["search"] if size <= SEARCHED else []), "at the pair"]
    for heading in ("quantity", *numbers):
        grid.add_column(heading, no_wrap=True)
    for heading in ("p", "q") if wide else ():
        grid.add_column(heading, overflow="fold")
    rows = {}
    for name, one in found.suprema.items():
        pair = found.witness(name)
        cells = [name.replace("_", " "), _number(one.value), _STATUSES[one.status]]
        if anywhere:
            cells.append(_number(anywhere[name].value))
        if size <= SEARCHED:
            cells.append(f"{failure.search(rule, name, size, seed, target, SEARCH_GENERATIONS).value + 0.0:.6g}")
        rows[cells[0]] = [_runs(row) for row in pair]
        here = failure.QUANTITIES[name](rule.induced(*pair), pair[0])
        grid.add_row(*cells, _number(here), *(rows[cells[0]] if wide else []))
    console.print(grid)
    for name, (target_row, draft_row) in {} if wide else rows.items():
        console.print(f"{name} at p = {target_row}; q = {draft_row}")
    searched = (
        "The search is numerical, and independent of the derivations."
        if size <= SEARCHED
        else f"Not searched numerically beyond {SEARCHED} tokens."
    )
    console.print(
        "TV, probability; KL(π || p), nats; max π/p; π-mass where p is 0. Approached: no pair has it, but pairs come as near as "
        f"one likes. At most: a bound; the pair is the worst known. {searched}"
    )


@app.command("atlas", epilog=_epilog("atlas"))
def atlas(
    trace: Annotated[Path | None, typer.Argument(help="A recorded trace; the bundled one where none is given.")] = None,
    synthetic_rows: Annotated[
        str, typer.Option("--synthetic", metavar="NAME:ARGS", help="The synthetic rows drawn beside it.")
    ] = ATLAS_ROWS,
    tail_tokens: Tail = None,
    csv: Annotated[Path | None, typer.Option(help="Write the worst pairs and suprema to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the page to this file (.png, .pdf, .svg).")] = None,
) -> None:
    """Show how every rule can fail: its suprema over all pairs and vocabularies, and a page of the pairs and of what TV hides."""
    csv, plot = _csv(csv), _image(plot)
    rows = synthetic.parse(synthetic_rows)
    recorded = _recorded(trace, tail_tokens)
    console = _console()
    pairs = failure.worst_pairs()
    grid = Table(title="The worst of all pairs over all vocabularies", title_justify="left")
    for heading in ("verifier", "TV", "KL (nats)", "max π/p", "mass off the support"):
        grid.add_column(heading, justify="left" if heading == "verifier" else "right")
    for name, first in pairs.groupby("verifier", sort=False).first().iterrows():
        grid.add_row(str(name), *(f"{_ROOM[first[f'{key}_status']]}{_number(first[key])}" for key in failure.QUANTITIES))
    console.print(grid)
    console.print("→ approached: no pair has it, but pairs come as near as one likes. ≤ a bound.")
    if csv is not None:
        pairs.to_csv(csv, index=False)
        _say_wrote(csv, console)
    if plot is not None:
        sources = {synthetic_rows: rows, f"{recorded.target}, {len(recorded.p)} positions": (recorded.p, recorded.q)}
        lines = {title: failure.same_tv(*map(np.asarray, pair)) for title, pair in sources.items()}
        _save(failure.plot_atlas(pairs, lines), plot, console)


_ROOM = {"attained": "", "approached": "→ ", "bound": "≤ "}


def _runs(row: Array) -> str:
    """Write a row, runs of one value as value ×count."""
    runs = [(value, len(list(run))) for value, run in itertools.groupby(row.tolist())]
    return ", ".join(_mass(value) + (f" ×{count}" if count > 1 else "") for value, count in runs)


def _mass(value: Any) -> str:
    return str(value) if isinstance(value, Fraction) and value.denominator < 1000 else f"{float(value):.4g}"


def _rows(p: str, q: str) -> tuple[Array, Array]:
    """Read two rows: exact if all entries are fractions or whole numbers and one is a fraction, else floats."""
    texts = {name: [entry.strip() for entry in text.split(",")] for name, text in (("p", p), ("q", q))}
    fractions = any("/" in entry for entries in texts.values() for entry in entries)
    rows = []
    for name, entries in texts.items():
        try:
            values = [Fraction(entry) if fractions else float(entry) for entry in entries]
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"--{name} {','.join(entries)}: a row is numbers separated by commas, as 1/2,1/4,0.25") from None
        rows.append(np.array(values, dtype=object if fractions else np.float64))
    return probs.check_pair(rows[0], rows[1])


def _number(value: Any) -> str:
    if isinstance(value, Fraction | int) and Fraction(value).denominator < 10**6:
        return str(value)
    return f"{float(value):.6g}"


@app.command("explain", epilog=_epilog("explain"))
def explain(
    verifier: Annotated[str, typer.Argument(metavar="VERIFIER", help="A verifier, such as lenience:0.4.")],
    trace: Annotated[Path | None, typer.Option(help="A recorded trace; the bundled one where none is given.")] = None,
    position: Annotated[int | None, typer.Option(help="The position of the trace to explain, from 0.")] = None,
    worst: Annotated[
        int | None,
        typer.Option(help="Explain so many positions, where the verifier distorts most. Default: 1.", show_default=False),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="What makes a position bad. Default: total_variation.", show_default=False)
    ] = None,
    p: Annotated[str | None, typer.Option(help="A row of the target instead of a trace, as for show.")] = None,
    q: Annotated[str | None, typer.Option(help="The draft's row.")] = None,
    ceiling: Annotated[
        float | None,
        typer.Option(help="Factor of p above which overshoot is severe. Default: the rule's own, or 2.", show_default=False),
    ] = None,
    share: Annotated[float, typer.Option(help="Of the total variation that the tokens shown carry.")] = 0.9,
    tokens: Annotated[int, typer.Option(help="Tokens shown, at most; --csv writes all that carry the share.")] = 10,
    tokenizer: Annotated[
        Path | None, typer.Option(help="A tokenizer.json, or a vocab.json of token to id, to show what tokens say.")
    ] = None,
    tail_tokens: Tail = None,
    csv: Annotated[Path | None, typer.Option(help="Write the tokens that carry the share to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the regions and the tokens to this file (.png, .pdf, .svg).")] = None,
) -> None:
    """Show where a verifier moves mass: by region, by token, and away from which baseline; on a trace or one pair of rows."""
    rule = verifiers.parse(verifier)
    if ceiling is not None:
        parameters.check("--ceiling", ceiling, "[1, inf]")
    parameters.check("--share", share, "(0, 1]")
    parameters.check_count("--tokens", tokens)
    csv, plot = _csv(csv), _image(plot)
    given = {"--trace": trace, "--position": position, "--worst": worst, "--by": by, "--tail-tokens": tail_tokens}
    named = [name for name, value in given.items() if value is not None]
    texts = None if tokenizer is None else failure.read_texts(tokenizer)
    options: dict[str, Any] = {"ceiling": ceiling, "share": Fraction(str(share)), "texts": texts}
    console = _console()
    if p is not None or q is not None:
        if p is None or q is None or named:
            raise ValueError("give --p and --q, both and without a trace" + (f" ({', '.join(named)})" if named else ""))
        found = [failure.explain(rule, *_rows(p, q), **options)]
    else:
        if position is not None and (worst is not None or by is not None):
            raise ValueError("give --position, or --worst and --by, not both")
        if position is not None:
            parameters.check_count("--position", position, least=0)
        worst = 1 if worst is None else worst
        parameters.check_count("--worst", worst)
        by = "total_variation" if by is None else by
        failure.check_quantity(by)
        if tail_tokens is not None:
            parameters.check_count("--tail-tokens", tail_tokens)
        recorded = _recorded(trace, tail_tokens)
        console.print(recorded.describe())
        if position is not None:
            found = [failure.explain_position(rule, recorded, position, **options)]
        else:
            found = failure.explain_positions(rule, recorded, worst, by, **options)
    for explanation in found:
        _print_explanation(explanation, tokens, console)
    if csv is not None:
        import pandas as pd

        tables = [one.tokens.assign(position=one.position) for one in found]
        table = pd.concat(tables) if len(tables) > 1 else tables[0]
        table[["position", *(name for name in table if name != "position")]].to_csv(csv, index=False)
        _say_wrote(csv, console)
    if plot is not None:
        import matplotlib.pyplot as plt

        from theory.plotting import plot_explained

        _, axes = plt.subplots(len(found), 1, figsize=(10, 4 * len(found)), layout="constrained", squeeze=False)
        for explanation, ax in zip(found, axes[:, 0], strict=True):
            plot_explained(explanation, ax=ax)
            if explanation.position is not None:
                ax.set_title(f"position {explanation.position}: {ax.get_title()}")
        _save(axes[0, 0], plot, console)


def _print_explanation(found: failure.Explanation, tokens: int, console: Console) -> None:
    console.print(f"\n{found}")
    kept, baseline = (["set"], ["baseline"]) if (found.regions["set"] != "all").any() else ([], [])
    names = ["region", *kept, "p", "q", "induced", "gained", "lost", "tokens", *baseline]
    _print_fitting(found.regions, names, "Mass by region", console)
    if len(found.tokens):
        shown = found.tokens.head(tokens)
        carried = f"{len(found.tokens)} carry {float(found.tokens['cumulative'].iloc[-1]):.1%} of the total variation"
        fewer = "" if len(shown) == len(found.tokens) else f"; {len(shown)} shown"
        known = (~shown["text"].isin(["", failure.TAIL])).any()
        names = ["token", *(["text"] if known else []), "region", *kept, "p", "q", "induced", "change", "cumulative"]
        _print_fitting(shown, names, f"Tokens that move most ({carried}{fewer})", console)


def _print_fitting(table: "pd.DataFrame", names: Sequence[str], title: str, console: Console) -> None:
    """Print the columns of a table that the console holds, from the first."""

    def make(names: Sequence[str]) -> Table:
        grid = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
        for name in names:
            grid.add_column(name, justify="left" if name in ("region", "set", "text") else "right", overflow="fold")
        for _, row in table.iterrows():
            grid.add_row(*(_entry(name, row[name]) for name in names))
        return grid

    grid, fitting = _fitting(make, names, [""], console)
    console.print(grid)
    if len(fitting) < len(names):
        console.print(f"Not shown in so narrow a console: {', '.join(names[len(fitting) :])}.")


def _entry(name: str, value: Any) -> str:
    if name in ("region", "set"):
        return str(value)
    if name == "text":  # with what cannot be seen, such as spaces
        return repr(value) if value not in ("", failure.TAIL) else ""
    if name in ("token", "tokens"):
        return failure.TAIL if value < 0 else str(value)
    return _number(value) if isinstance(value, Fraction) else f"{float(value):.4g}"


@app.command("list", epilog=_epilog("list"))
def list_() -> None:
    """List every verifier with formula, family, when it is lossless, and source; truncations and synthetic rows too."""
    grid = Table(title="Verifiers", title_justify="left", show_lines=True)
    for heading in ("name:arguments", "family", "rule", "lossless", "source"):
        grid.add_column(heading, overflow="fold")
    for rule in verifiers.RULES.values():
        grid.add_row(_signature(rule.name, rule), rule.family, rule.formula, rule.claim, rule.source)
    console = _console()
    console.print(grid)
    grid = Table(title="Truncations, for truncation: and truncation-sampling:", title_justify="left")
    grid.add_column("name:arguments")
    grid.add_column("allowed set A")
    for cut in truncation.TRUNCATIONS.values():
        grid.add_row(_signature(cut.name, cut, ":"), cut.formula)
    console.print(grid)
    grid = Table(title="Block verifiers; a token verifier's name stands for it token by token", title_justify="left")
    for heading in ("name", "rule", "lossless", "source"):
        grid.add_column(heading, overflow="fold")
    for block in blocks.BLOCK_RULES.values():
        grid.add_row(block.name, block.formula, block.claim, block.source)
    console.print(grid)
    console.print(f"Synthetic rows: {', '.join(synthetic.FAMILIES)}. Fallbacks: {', '.join(verifiers.FALLBACKS)}.")


@app.command("figures", epilog=_epilog("figures"))
def figures(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Such as fig3 or table1. Default: all.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the files; made where it does not exist.")] = Path("figures"),
    quick: Annotated[bool, typer.Option("--quick", help="Coarser and sooner, for a look.")] = False,
    list_names: Annotated[bool, typer.Option("--list", help="List the names, and write nothing.")] = False,
) -> None:
    """Compute the paper's figures and tables beside the paper's own numbers: a .png, a .pdf and a .csv each.

    All of them together, not quick, also make the page README.md in that folder: the paper's claims, and how far they hold here.
    """
    console = _console()
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


def _signature(name: str, rule: type, separator: str = ",") -> str:
    fields = [
        field.name if field.default is dataclasses.MISSING else f"{field.name}={field.default}"
        for field in dataclasses.fields(rule)
    ]
    return f"{name}:{separator.join(fields)}" if fields else name


def _save(axes: Any, path: Path, console: Console) -> None:
    # No dates inside: the same command writes the same file.
    import matplotlib.pyplot as plt

    undated = {".pdf": {"CreationDate": None}, ".svg": {"Date": None}}
    axes.figure.savefig(path, dpi=160, metadata=undated.get(path.suffix.lower()))
    plt.close(axes.figure)
    _say_wrote(path, console)


def _say_wrote(path: Path, console: Console) -> None:
    console.print(f"wrote {path}", soft_wrap=True)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input, or more of it than fits, ends in one line on standard error and exit code 2."""
    try:
        app(args=arguments, prog_name="theory")
    except (ValueError, OSError, MemoryError, OverflowError) as error:
        said = " ".join(str(error).splitlines()) or "out of memory"
        typer.echo(f"theory: {said}", err=True)
        sys.exit(2)
