"""`theory counts`: rates, accepted length and block efficiency of logged counts, with intervals, and at another gamma."""

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from theory import counts
from theory.cli import counts_tables, outputs
from theory.cli.console import new_console
from theory.counts import Counts, MeanLength
from theory.counts.tally import Logged

EXAMPLES = """
theory counts --totals 120,480,301 --gamma 6
theory counts --positions 120:95,70,48,39 --gamma 2 --gamma 8
theory counts --histogram 25,25,22,9,39 --plot positions.png --csv counts.csv
theory counts --length 2.6 --drafted 3 --gamma 5
theory counts --backtest strict --backtest lenience:0.4 --drafted 3 --gamma 5 --gamma 10
"""

SOURCES = "a FILE, --totals, --positions, --histogram, --length, --accepted-length or --backtest"

FITTED, BACKTESTED = 3, (5, 10)
"""Drafted tokens of --backtest where --drafted and --gamma do not say other ones."""


def run(
    file: Annotated[
        Path | None,
        typer.Argument(
            help="A log of steps, .csv or JSON lines (.jsonl), a step a line. Columns: accepted (or flags, as 101 or [1, 0, 1]), "
            "drafted, and where known emitted, censored, request; no others.",
            show_default=False,
        ),
    ] = None,
    totals: Annotated[str | None, typer.Option(metavar="DRAFTS,DRAFTED,ACCEPTED", help="Totals over all steps.")] = None,
    positions: Annotated[
        str | None, typer.Option(metavar="DRAFTS:A1,A2,...", help="Steps, and how many of them accepted position 1, 2, ...")
    ] = None,
    histogram: Annotated[str | None, typer.Option(metavar="N0,N1,...", help="How many steps kept 0, 1, ..., γ tokens.")] = None,
    length: Annotated[
        str | None, typer.Option(metavar="L", help="Mean tokens a step, the target's own (bonus) token included; with --drafted.")
    ] = None,
    accepted_length: Annotated[
        str | None, typer.Option(metavar="E[τ]", help="Mean accepted tokens a step, without the bonus; with --drafted.")
    ] = None,
    backtest: Annotated[
        list[str] | None,
        typer.Option(metavar="VERIFIER", help="A rule on the bundled trace: fit at --drafted, predict --gamma. Repeatable."),
    ] = None,
    drafted: Annotated[
        int | None, typer.Option(help="Drafted tokens of each step, where the log does not say.", show_default=False)
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Steps that a mean length is the mean of.", show_default=False)] = None,
    gamma: Annotated[list[int] | None, typer.Option(help="Drafted tokens to predict for. Repeatable.")] = None,
    over: Annotated[
        str | None,
        typer.Option(help="What is independent: requests or steps. Default: requests where there are some.", show_default=False),
    ] = None,
    confidence: Annotated[float, typer.Option(help="Of the intervals.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Of the bootstrap.")] = 0,
    csv: Annotated[Path | None, typer.Option(help="Write all numbers to this file, one a line.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the rates by position to this file.")] = None,
) -> None:
    """Show what logged counts say: rates, accepted length, block efficiency, each with its interval, and at another gamma."""
    given = [source for source in (file, totals, positions, histogram, length, accepted_length, backtest) if source is not None]
    if len(given) != 1:
        raise ValueError(f"give one of {SOURCES}; {len(given)} are given")
    csv, plot = outputs.table_path(csv), outputs.figure_path(plot)
    if backtest is not None:
        for name, value in (("--steps", steps), ("--over", over), ("--plot", plot)):
            if value is not None:
                raise ValueError(f"{name} {value}: is not for --backtest")
        fitted = FITTED if drafted is None else drafted
        table = counts.backtest(backtest, fitted=fitted, gammas=gamma or BACKTESTED)
        console = new_console()
        counts_tables.show_backtest(table, fitted, console)
        if csv is not None:
            outputs.save_table(table, csv, console)
        return
    if steps is not None and length is None and accepted_length is None:
        raise ValueError(f"--steps {steps}: belongs to --length and --accepted-length")
    logged = _logged(file, totals, positions, histogram, length, accepted_length, drafted, steps)
    if plot is not None and not isinstance(logged, Counts):
        raise ValueError(f"--plot {plot}: rates by position cannot be drawn of {logged}")
    options: dict[str, Any] = {"over": over, "confidence": confidence, "seed": seed}
    parts = {"statistics": counts.estimates(logged, **options)}
    if isinstance(logged, Counts) and logged.drafted.any():
        parts["rates by position"] = counts.position_intervals(logged, **options)
    if gamma:
        parts["predictions"] = counts.predict(logged, gamma, **options)
    console = new_console()
    counts_tables.show(logged, parts, console)
    if csv is not None:
        outputs.save_table(counts_tables.one_a_line(parts), csv, console)
    if plot is not None:
        from theory.plotting import plot_position_rates

        outputs.save_figure(plot_position_rates(parts["rates by position"]), plot, console)


def _logged(
    file: Path | None,
    totals: str | None,
    positions: str | None,
    histogram: str | None,
    length: str | None,
    accepted_length: str | None,
    drafted: int | None,
    steps: int | None,
) -> Logged:
    """Read the one log that is given."""
    if file is not None:
        return counts.read(file, drafted=drafted)
    if totals is not None:
        calls, proposed, accepted = _numbers("--totals", totals, 3)
        return Counts.from_totals(drafts=calls, drafted=proposed, accepted=accepted, gamma=drafted)
    if length is not None or accepted_length is not None:
        return _mean(length, accepted_length, drafted, steps)
    if drafted is not None:
        raise ValueError(f"--drafted {drafted}: --positions and --histogram say it themselves")
    if histogram is not None:
        return Counts.from_histogram(_numbers("--histogram", histogram))
    before, colon, behind = str(positions).partition(":")
    if not colon:
        raise ValueError(f"--positions {positions}: must be steps, a colon, and how many accepted each position, as 120:95,70")
    (calls,) = _numbers("--positions", before, 1)
    return Counts.from_positions(_numbers("--positions", behind), drafts=calls)


def _mean(length: str | None, accepted_length: str | None, drafted: int | None, steps: int | None) -> MeanLength:
    option, text = ("--length", length) if length is not None else ("--accepted-length", accepted_length)
    if drafted is None:
        raise ValueError(f"{option} {text}: needs --drafted, the drafted tokens of each step")
    try:
        mean = Fraction(str(text))
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{option} {text}: must be a number, as 2.6 or 13/5") from None
    name = "tokens_per_call" if length is not None else "mean_accepted"
    return Counts.from_mean_length(drafted=drafted, steps=steps, **{name: mean})


def _numbers(option: str, text: str, count: int | None = None) -> list[int]:
    """Read whole numbers between commas."""
    entries = [entry.strip() for entry in text.split(",")]
    for entry in entries:
        if not (entry.isascii() and entry.isdigit()):
            raise ValueError(f"{option} {text}: {entry!r} must be a whole number of at least 0; commas stand between numbers")
    if count is not None and len(entries) != count:
        raise ValueError(f"{option} {text}: must be {count} whole number{'s' * (count > 1)}, there are {len(entries)}")
    return [int(entry) for entry in entries]
