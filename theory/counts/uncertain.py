"""Every statistic with a confidence interval, and what that interval takes as independent."""

from collections.abc import Callable
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np

from theory import intervals, parameters
from theory.counts import positions, rates, tally
from theory.counts.steps import Counts
from theory.counts.tally import Logged, Unit
from theory.counts.totals import MeanLength, NotKnownError, Totals
from theory.intervals import LEVEL, RESAMPLES, Interval, percent
from theory.probs import Array

if TYPE_CHECKING:
    import pandas as pd

Average: TypeAlias = Literal["pooled", "per_request"]
"""Over steps, or over requests; see `per_request_mean`."""


class _Ratio(NamedTuple):
    """A statistic as a sum over a sum, and the most that the first can be for each one of the second."""

    numerator: Callable[[Counts], Array]
    denominator: Callable[[Counts], Array]
    most: Callable[[int], int]


_RATIOS: dict[str, _Ratio] = {
    "acceptance_rate": _Ratio(lambda c: c.accepted, lambda c: c.drafted, lambda gamma: 1),
    "conditional_acceptance_rate": _Ratio(lambda c: c.accepted, lambda c: c.accepted + tally.seen_to_reject(c), lambda gamma: 1),
    "mean_accepted": _Ratio(lambda c: c.accepted, lambda c: np.ones_like(c.accepted), lambda gamma: gamma),
    "block_efficiency": _Ratio(lambda c: c.emitted, lambda c: np.ones_like(c.emitted), lambda gamma: gamma + 1),
}

_STATISTICS: dict[str, Callable[[Logged], Fraction]] = {
    "acceptance_rate": rates.acceptance_rate,
    "conditional_acceptance_rate": rates.conditional_acceptance_rate,
    "mean_accepted": rates.mean_accepted,
    "block_efficiency": rates.block_efficiency,
}


def interval(
    statistic: Callable[[Logged], Fraction],
    counts: Logged,
    *,
    over: Unit | None = None,
    average: Average = "pooled",
    confidence: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """Give a statistic with a confidence interval.

    Parameters
    ----------
    statistic : callable
        `acceptance_rate`, `conditional_acceptance_rate`, `mean_accepted` or `block_efficiency`.
    counts : Counts, Totals or MeanLength
        What was logged.
    over : {"steps", "requests"}, optional
        What is taken as independent. If omitted, requests where there are two or more, else steps.
    average : {"pooled", "per_request"}
        Over steps, or over requests as in `per_request_mean`, which takes requests as independent.
    confidence : float
        In (0, 1).
    resamples, seed : int
        Of the bootstrap.

    Returns
    -------
    Interval
        ``value`` is the statistic, an exact Fraction; ``low`` and ``high`` are floats; ``how`` says what they are.

    Raises
    ------
    NotKnownError
        A ValueError. Where the log does not say the statistic, the requests, or what bounds the interval: a mean length without
        its steps, totals without the drafted tokens of a step.
    ValueError
        Where the statistic is not defined, there are no requests to resample, or an option is out of range.

    Notes
    -----
    **Steps of one request are not independent**: a request that is easy to draft is so at each of its steps. An interval over
    steps is then too narrow, the more so the longer requests are. One over requests is right for many requests, and still too
    narrow for few. In 400 simulated logs with 50 steps a request, acceptance rates of requests from Beta(3, 2) and γ = 4, the 95%
    interval of E[τ] held the truth in 84% of the logs over 5 requests, 91% over 10, 94% to 96% over 20 to 80; over steps in 35%
    to 42%.

    Counts: the percentile bootstrap. Where the resampled values are all one, since all units are alike, no spread was seen
    and the interval is Hoeffding's, from the range alone with the denominators as given.

    Totals and mean lengths do not tell the spread, so `intervals.bounded_mean` gives the ends that hold for any: rigorous for
    independent steps, and wide. Where the drafted tokens of a step are not given but the totals divide, ``how`` says what it
    supposes.

    Examples
    --------
    >>> interval(rates.mean_accepted, Counts.from_histogram([40, 30, 20, 30]))
    Interval(value=Fraction(4, 3), low=1.125, high=1.5583333333333333, how='bootstrap over 120 steps as if independent, 95%')
    >>> found = interval(rates.mean_accepted, Totals(120, 480, 301, gamma=4))
    >>> round(found.low, 3), round(found.high, 3), found.how
    (2.015, 2.96, 'from the range 0..4 of accepted tokens alone (Chernoff), 120 steps as if independent, 95%')
    """
    name = next((name for name, known in _STATISTICS.items() if known is statistic), None)
    if name is None:
        raise ValueError(f"statistic = {getattr(statistic, '__name__', statistic)!s}: must be one of {', '.join(_STATISTICS)}")
    parameters.check("confidence", confidence, "(0, 1)")
    parameters.check_choice("average", average, ("pooled", "per_request"))
    tally.sums(counts)
    if average == "per_request" and not isinstance(counts, Counts):
        raise NotKnownError(f"average = {average!r}: which request a step was of is not known from {counts}")
    unit = unit_of(counts, "requests" if average == "per_request" and over is None else over)
    if isinstance(counts, Totals | MeanLength):
        return _bounded(name, counts, confidence)
    if average == "per_request" and unit == "steps":
        raise ValueError("over = 'steps': a mean over requests takes requests as independent")
    ratio = _RATIOS[name]
    steps, of, times = tally.units(counts, unit)
    numerator: Array = np.bincount(of, ratio.numerator(steps), len(times))
    denominator: Array = np.bincount(of, ratio.denominator(steps), len(times))
    if average == "pooled" or not denominator.all():  # a request without the statistic: the error names it
        value = statistic(counts) if average == "pooled" else rates.per_request_mean(statistic, counts)
    else:
        value = _mean_of_ratios(numerator, denominator)
        numerator, denominator = numerator / denominator, np.ones(len(times))
    low, high = intervals.bootstrap(np.stack([numerator, denominator], axis=-1), times, _quotient, confidence, resamples, seed)
    of_what = independent(int(times.sum()), unit)
    if not np.isclose(low, high, rtol=1e-12, atol=0):
        return Interval(value, float(low), float(high), f"bootstrap over {of_what}, {percent(confidence)}")
    most = ratio.most(int(counts.drafted.max()))
    half = most * intervals.weighted_mean(np.repeat(denominator, times), confidence)
    how = f"no spread seen, so from the range 0..{most} alone (Hoeffding), {of_what}, {percent(confidence)}"
    return Interval(value, max(0.0, float(value) - half), min(float(most), float(value) + half), how)


def _mean_of_ratios(numerator: Array, denominator: Array) -> Fraction:
    """Give the exact mean of ratios of whole numbers, few of which have denominators of their own."""
    sums = np.bincount(denominator.astype(np.int64), numerator)
    return sum((Fraction(int(total), d) for d, total in enumerate(sums) if total), Fraction(0)) / len(numerator)


def _quotient(sums: Array) -> Array:
    with np.errstate(invalid="ignore"):
        ratio: Array = sums[:, 0] / sums[:, 1]
    return ratio


def unit_of(counts: Logged, over: Unit | None) -> Unit:
    """Give what is taken as independent: what is asked for, if the log has it.

    Raises
    ------
    ValueError
        For anything but "steps" and "requests", and for requests that are not known.
    """
    if over is not None:
        parameters.check_choice("over", over, ("steps", "requests"))
    if not isinstance(counts, Counts):
        if over == "requests":
            raise NotKnownError(f"over = 'requests': which request a step was of is not known from {counts}")
        return "steps"
    several = counts.request is not None and len(counts) > 0 and bool((counts.request != counts.request[0]).any())
    if over == "requests" and not several:
        which = "which request a step was of is not known" if counts.request is None else "all steps are of one request"
        raise ValueError(f"over = 'requests': {which}, and one cannot be resampled")
    return over or ("requests" if several else "steps")


def independent(units: int, unit: Unit) -> str:
    """Say what is taken as independent.

    Examples
    --------
    >>> independent(12, "requests"), independent(120, "steps")
    ('12 requests', '120 steps as if independent')
    """
    return f"{units} steps as if independent" if unit == "steps" else f"{units} requests"


def _bounded(name: str, counts: Totals | MeanLength, confidence: float) -> Interval:
    """Give a statistic of totals with the interval that holds for any spread."""
    value = _STATISTICS[name](counts)
    supposed = ""
    if isinstance(counts, MeanLength):
        if counts.steps is None:
            raise NotKnownError(f"an interval is not known: {counts} does not say over how many steps")
        n, gamma = counts.steps, counts.gamma
    else:
        if counts.each is None:
            raise NotKnownError(
                f"an interval is not known: drafted = {counts.drafted} is no multiple of drafts = {counts.drafts}, so that steps "
                "drafted differently, and the most that one can accept is not said"
            )
        n, gamma = counts.drafts, counts.each
        supposed = "" if counts.gamma else f", if each drafted {gamma}"
    emitted = name == "block_efficiency" and isinstance(counts, Totals) and counts.emitted is not None
    what, most = ("emitted", gamma + 1) if emitted else ("accepted", gamma)
    # Emitted tokens that were not counted are the accepted ones and 1.
    offset = int(name == "block_efficiency" and not emitted)
    scale = 1 if name == "acceptance_rate" else most
    low, high = intervals.bounded_mean(float((value - offset) / scale), n, confidence)
    whence = f"from the range 0..{most} of {what} tokens alone (Chernoff)"
    how = f"{whence}, {independent(n, 'steps')}{supposed}, {percent(confidence)}"
    return Interval(value, offset + scale * low, offset + scale * high, how)


def estimates(
    counts: Logged,
    *,
    over: Unit | None = None,
    confidence: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> "pd.DataFrame":
    """Give all one-number statistics of a log, each with its interval.

    Parameters
    ----------
    counts : Counts, Totals or MeanLength
        What was logged.
    over, confidence, resamples, seed
        As in `interval`.

    Returns
    -------
    pandas.DataFrame
        Columns:

        ========= ===========================================================================================
        statistic acceptance_rate and conditional_acceptance_rate (probabilities), mean_accepted (accepted drafts per target
                  call), block_efficiency (emitted tokens per target call)
        average   "pooled"; and "per_request", where there are two or more requests
        value     a Fraction, exact; None where the statistic is not defined or not known
        low, high ends of the interval, floats; NaN where there is none
        how       what the ends are, or why there is none
        ========= ===========================================================================================

    Raises
    ------
    ValueError
        Where there are no steps, and as `interval` does for its options.

    Examples
    --------
    >>> estimates(Totals(120, 480, 301, gamma=4)).drop(columns="how").round(3)
                         statistic average    value    low  high
    0              acceptance_rate  pooled  301/480  0.504  0.74
    1  conditional_acceptance_rate  pooled     None    NaN   NaN
    2                mean_accepted  pooled  301/120  2.015  2.96
    3             block_efficiency  pooled  421/120  3.015  3.96
    """
    import pandas as pd

    tally.sums(counts)
    parameters.check("confidence", confidence, "(0, 1)")
    parameters.check_count("resamples", resamples, 2)
    parameters.check_count("seed", seed, 0)
    averages: list[Average] = ["pooled", "per_request"] if unit_of(counts, over) == "requests" else ["pooled"]
    options: dict[str, Any] = {"over": over, "confidence": confidence, "resamples": resamples, "seed": seed}
    records: list[dict[str, Any]] = []
    for average in averages:
        for name, statistic in _STATISTICS.items():
            about = {"statistic": name, "average": average}
            try:
                found = interval(statistic, counts, average=average, **options)
            except ValueError as error:
                known = None if isinstance(counts, Counts) else _or_none(statistic, counts)
                found = Interval(known, np.nan, np.nan, str(error))
            records.append(about | found._asdict())
    return pd.DataFrame(records).astype({"value": object})


def _or_none(statistic: Callable[[Logged], Fraction], counts: Totals | MeanLength) -> Fraction | None:
    try:
        return statistic(counts)
    except ValueError:
        return None


def position_intervals(
    counts: Counts,
    *,
    over: Unit | None = None,
    confidence: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> "pd.DataFrame":
    """Give the counts and both rates of each position, each rate with its interval.

    Parameters
    ----------
    counts : Counts
        Steps.
    over, confidence, resamples, seed
        As in `interval`.

    Returns
    -------
    pandas.DataFrame
        The columns of `position_rates`, exact; behind ``conditional`` and ``unconditional`` the floats ``..._low`` and
        ``..._high``, 0 and 1 where no verdict was seen; and ``how``.

    Raises
    ------
    ValueError
        Where nothing was drafted; for totals and a mean length, which have no positions; for requests that are not known.

    Notes
    -----
    Over steps: the exact binomial interval of Clopper and Pearson. A trial of the conditional rate is a step that came to this
    position, of the unconditional rate one that proposed it; exact if each succeeds with the same probability whatever
    the other steps did. Each interval stands for itself: that all hold at once is less probable.

    Over requests: the percentile bootstrap, or the end of the binomial interval where that is further out, since few requests
    that are alike would show no width at all.

    The interval of an unconditional rate is around what `unconditional_rates` estimates, a lower bound if steps are censored.

    Examples
    --------
    >>> table = position_intervals(Counts.from_positions([80, 60], drafts=120))
    >>> table[["position", "conditional", "conditional_low", "conditional_high"]].round(3)
       position conditional  conditional_low  conditional_high
    0         1         2/3            0.575              0.75
    1         2         3/4            0.641              0.84
    """
    import pandas as pd

    parameters.check("confidence", confidence, "(0, 1)")
    table = positions.position_rates(counts)
    unit = unit_of(counts, over)
    ends = {
        name: np.array([intervals.binomial(a, n, confidence) for a, n in zip(table["accepted"], table[trials], strict=True)])
        for name, trials in (("conditional", "observed"), ("unconditional", "proposed"))
    }
    how = f"exact binomial, {independent(len(counts), 'steps')}, {percent(confidence)}"
    if unit == "requests":
        steps, of, times = tally.units(counts, unit)
        proposed, observed, accepted = tally.by_unit(steps, of, len(times))
        width = len(table)

        def both(sums: Array) -> Array:
            with np.errstate(invalid="ignore"):
                ratios: Array = sums[:, 2 * width :].reshape(-1, 1, width) / sums[:, : 2 * width].reshape(-1, 2, width)
            return ratios

        low, high = intervals.bootstrap(
            np.concatenate([observed, proposed, accepted], axis=1), times, both, confidence, resamples, seed
        )
        for place, name in enumerate(ends):
            outer = np.fmin(ends[name][:, 0], low[place]), np.fmax(ends[name][:, 1], high[place])
            ends[name] = np.stack(outer, axis=-1)
        how = f"bootstrap over {independent(len(times), unit)}, or exact binomial where that is wider, {percent(confidence)}"
    columns: dict[str, Any] = {name: table[name] for name in ("position", "proposed", "observed", "accepted")}
    for name, pair in ends.items():
        columns |= {name: table[name], f"{name}_low": pair[:, 0], f"{name}_high": pair[:, 1]}
    return pd.DataFrame(columns | {"how": how})
