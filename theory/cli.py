"""The command line: arguments in, tables and files out."""

import dataclasses
import math
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer
from rich.console import Console
from rich.table import Table

from theory import blocks, exact, parameters, probs, synthetic, traces, truncation, verifiers
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
    "blocks": """
        theory blocks
        theory blocks --verifier strict --verifier block --gamma 5 --cost 0.05
        theory blocks --synthetic paper:C --verifier lenience:0.4 --verifier block --plot blocks.png --csv blocks.csv
    """,
    "list": """
        theory list
    """,
}


def _epilog(command: str) -> str:
    return "Examples:\n\n" + "\n\n".join(line.strip() for line in EXAMPLES[command].strip().splitlines())


def _console() -> Console:
    # Piped output has no width of its own; the tables need this much.
    return Console() if sys.stdout.isatty() else Console(width=140)


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
    tail_tokens: Annotated[
        int, typer.Option(help="Equal tokens over which a truncated trace spreads the mass that it did not record.")
    ] = 1024,
    csv: Annotated[Path | None, typer.Option(help="Write the table, with bootstrap intervals, to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw acceptance against TV to this file (.png, .pdf, .svg).")] = None,
) -> None:
    """Show what each verifier really samples from, and what that buys, averaged over the positions of a trace."""
    rules = [verifiers.parse(name) for name in verifier or PAPER_SET]
    console = _console()
    p, q = _input(trace, synthetic_rows, tail_tokens, console)
    table = compare_rows(rules, p, q, gamma=gamma)
    console.print(_comparison(table, gamma))
    console.print(
        "TV, KL, max π/p and mass π > 2p compare the induced law π with the target p; baseline: strict verification of the "
        "truncated target.\ngap: TV + rejection rate - TV(p, q), 0 on the best trade-off line. BE: tokens per target call, "
        "if acceptance were i.i.d. at the mean rate,\nor if each position's own rate held through its whole block."
    )
    if csv is not None:
        table.to_csv(csv, index=False)
        console.print(f"wrote {csv}")
    if plot is not None:
        from theory.plotting import plot_tradeoff

        _save(plot_tradeoff(table), plot)
        console.print(f"wrote {plot}")


def _input(trace: Path | None, synthetic_rows: str | None, tail_tokens: int, console: Console) -> tuple[Any, Any]:
    """Give the rows that a command works on, and say what they are."""
    if trace is not None and synthetic_rows is not None:
        raise ValueError("give a trace or --synthetic, not both")
    if synthetic_rows is not None:
        p, q = synthetic.parse(synthetic_rows)
        console.print(f"{synthetic_rows}: {np.atleast_2d(p).shape[0]} pairs of rows over {p.shape[-1]} tokens")
        return p, q
    recorded = traces.example() if trace is None else traces.read(trace)
    recorded = recorded.with_tail_tokens(tail_tokens) if recorded.truncated else recorded
    console.print(recorded.describe())
    if "overlap" in recorded.exact:
        console.print(
            f"Over the full vocabulary strict verification accepts {recorded.exact['overlap'].mean():.4f}, stored exactly "
            "at record time; the table below is computed from the recorded rows."
        )
    return recorded.p, recorded.q


def _comparison(table: "pd.DataFrame", gamma: int) -> Table:
    grid = Table(title=f"What each verifier induces, and what that buys (γ = {gamma})", title_justify="left")
    grid.add_column("verifier", no_wrap=True)
    for heading, _ in COLUMNS.values():
        grid.add_column(heading, justify="right", no_wrap=True)
    family = None
    for _, row in table.iterrows():
        if family not in (None, row["family"]):
            grid.add_section()
        family = row["family"]
        cells = [_cell(row[name], form) for name, (_, form) in COLUMNS.items()]
        grid.add_row(row["verifier"], *cells)
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
    tail_tokens: Annotated[
        int, typer.Option(help="Equal tokens over which a truncated trace spreads the mass that it did not record.")
    ] = 1024,
    csv: Annotated[Path | None, typer.Option(help="Write block efficiency and speed-up by gamma to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the length law, and block efficiency by gamma, to this file.")] = None,
) -> None:
    """Show accepted lengths, block efficiency and predicted speed-up of block rules, positions taken as i.i.d."""
    rules = [blocks.parse(name) for name in verifier or ("strict", "block", "lenience:0.4", "cos:0.5", "spec-cascade:0.3")]
    parameters.check_count("gamma", gamma)
    console = _console()
    p, q = _input(trace, synthetic_rows, tail_tokens, console)
    laws = length_laws(rules, p, q, gamma)
    gains = efficiencies(rules, p, q, range(1, max(gamma, 10) + 1), cost)
    grid = Table(title=f"Blocks of γ = {gamma} drafted tokens at cost {cost:g}, positions i.i.d.", title_justify="left")
    grid.add_column("rule", no_wrap=True)
    lengths = [f"P({k})" for k in range(gamma + 1)] if gamma <= 10 else []
    for heading in (*lengths, "E[τ]", "block\nefficiency", "speed-up", "best γ"):
        grid.add_column(heading, justify="right", no_wrap=True)
    grid.add_column("how", no_wrap=True)
    for name, rows in laws.groupby("rule", sort=False):
        by_gamma = gains[gains["rule"] == name].set_index("gamma")
        own = by_gamma.loc[gamma]
        cells = [f"{probability:.3f}" for probability in rows["probability"]] if lengths else []
        how = f"± {rows['error'].iloc[0]:.0e}" if own["route"] == "bounds" else "exact"
        numbers = [f"{own['accepted_length']:.4f}", f"{own['block_efficiency']:.4f}", f"{own['speedup']:.3f}"]
        grid.add_row(str(name).removeprefix("tokenwise:"), *cells, *numbers, str(by_gamma["speedup"].idxmax()), how)
    console.print(grid)
    console.print(
        "P(k): probability that k drafted tokens are kept. Block efficiency: tokens per target call, E[τ] + 1. Speed-up over "
        f"plain decoding: block efficiency / (γ c + 1); best γ among 1..{max(gamma, 10)}."
    )
    if csv is not None:
        gains.to_csv(csv, index=False)
        console.print(f"wrote {csv}")
    if plot is not None:
        import matplotlib.pyplot as plt

        from theory.plotting import plot_block_efficiency, plot_lengths

        _, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
        plot_lengths(laws, left)
        _save(plot_block_efficiency(gains, ax=right), plot)
        console.print(f"wrote {plot}")


@app.command("show", epilog=_epilog("show"))
def show(
    verifier: Annotated[str, typer.Argument(metavar="VERIFIER", help="A verifier, such as lenience:1/2.")],
    p: Annotated[str, typer.Option(help="The target's row, comma-separated; fractions keep everything exact.")] = GOLDEN[0],
    q: Annotated[str, typer.Option(help="The draft's row.")] = GOLDEN[1],
    plot: Annotated[Path | None, typer.Option(help="Draw the rows to this file (.png, .pdf, .svg).")] = None,
) -> None:
    """Show one pair of rows under one verifier, token by token."""
    rule = verifiers.parse(verifier)
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
        grid.add_column(heading, justify="right")
    for token, row in enumerate(zip(*columns.values(), strict=True)):
        grid.add_row(str(token), *map(_number, row))
    console = _console()
    console.print(grid)
    for name, value in exact.summarise(rule, target, draft, exact.QUANTITIES).items():
        if value == value:  # NaN: no baseline
            console.print(f"{name.replace('_', ' ')}: {_number(value)}")
    if plot is not None:
        from theory.plotting import plot_induced

        _save(plot_induced(target, draft, law.induced, title=f"{rule}"), plot)
        console.print(f"wrote {plot}")


def _rows(p: str, q: str) -> tuple[Array, Array]:
    """Read two rows: exact if all entries are fractions or whole numbers and one is a fraction, else floats."""
    texts = {name: [entry.strip() for entry in text.split(",")] for name, text in (("p", p), ("q", q))}
    fractions = any("/" in entry for entries in texts.values() for entry in entries)
    rows = []
    for name, entries in texts.items():
        try:
            values = [Fraction(entry) for entry in entries]
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"--{name} {','.join(entries)}: a row is numbers separated by commas, as 1/2,1/4,0.25") from None
        rows.append(np.array(values if fractions else [float(value) for value in values], dtype=object if fractions else None))
    return probs.check_pair(rows[0], rows[1])


def _number(value: Any) -> str:
    if isinstance(value, Fraction | int) and Fraction(value).denominator < 10**6:
        return str(value)
    return f"{float(value):.6g}"


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


def _signature(name: str, rule: type, separator: str = ",") -> str:
    fields = [
        field.name if field.default is dataclasses.MISSING else f"{field.name}={field.default}"
        for field in dataclasses.fields(rule)
    ]
    return f"{name}:{separator.join(fields)}" if fields else name


def _save(axes: Any, path: Path) -> None:
    axes.figure.savefig(path, dpi=160)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input ends in one line on standard error and exit code 2."""
    try:
        app(args=arguments, prog_name="theory")
    except (ValueError, OSError) as error:
        typer.echo(f"theory: {error}", err=True)
        sys.exit(2)
