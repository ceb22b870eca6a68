"""Uncertain numbers: a value, between what it is thought to be, and how that was found.

Three ways to get one, each with what it assumes: `binomial` (trials that are Bernoulli, exact), `bounded_mean` (nothing but the
range of what was averaged, rigorous at any n), and `bootstrap` (the units themselves, resampled; right as their number grows).
"""

from collections.abc import Callable
from math import expm1, log, sqrt
from typing import Any, NamedTuple

import numpy as np

from theory import parameters
from theory.probs import Array

LEVEL = 0.95
"""Confidence where nothing else is asked for."""

RESAMPLES = 2000
"""Bootstrap samples where nothing else is asked for: the ends of an interval are then off by some 3% of its half-width."""

_AT_A_TIME = 1 << 22  # weights of bootstrap samples held at once

_FEW_ALIKE = 16  # units of a kind below which drawing units is faster than drawing how many there are of each kind


class Interval(NamedTuple):
    """A number, or an array of them, and between what it is thought to be."""

    value: Any
    """The estimate."""
    low: Any
    """Lower end."""
    high: Any
    """Upper end."""
    how: str
    """What the ends are: the method, what it takes as independent, and the confidence."""

    def named(self, name: str, place: int | None = None) -> dict[str, Any]:
        """Give the columns of one of its values, under a name: ``name``, ``name_low`` and ``name_high``.

        Examples
        --------
        >>> Interval(2.0, 1.0, 4.0, "guessed").named("rate")
        {'rate': 2.0, 'rate_low': 1.0, 'rate_high': 4.0}
        """
        ends = (self.value, self.low, self.high)
        values = ends if place is None else tuple(end[place] for end in ends)
        return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))


def percent(confidence: float) -> str:
    """Write a confidence as every ``how`` does.

    Examples
    --------
    >>> percent(0.95), percent(0.999)
    ('95%', '99.9%')
    """
    return f"{100 * confidence:.10g}%"


def binomial(successes: int, trials: int, confidence: float = LEVEL) -> tuple[float, float]:
    """Give the ends of the exact binomial interval of Clopper and Pearson.

    Parameters
    ----------
    successes, trials : int
        0 <= successes <= trials.
    confidence : float
        In (0, 1).

    Returns
    -------
    low, high : float
        In [0, 1]. Without trials 0 and 1.

    Raises
    ------
    ValueError
        For counts that are none, or a confidence out of range.

    Notes
    -----
    All p at which so many successes are neither too few nor too many, each at (1 - confidence) / 2. It covers with at least
    ``confidence``, for every p and number of trials, if each trial succeeds with the same p given the ones before it. It is
    conservative, by little where p (1 - p) trials is above 5.

    Examples
    --------
    >>> [round(end, 4) for end in binomial(8, 10)]
    [0.4439, 0.9748]
    """
    from scipy.stats import beta

    parameters.check("confidence", confidence, "(0, 1)")
    parameters.check_count("trials", trials, 0)
    parameters.check_count("successes", successes, 0)
    if successes > trials:
        raise ValueError(f"successes = {successes}: must be at most {trials}, the trials")
    tail = (1 - confidence) / 2
    low = float(beta.ppf(tail, successes, trials - successes + 1)) if successes else 0.0
    high = float(beta.isf(tail, successes + 1, trials - successes)) if successes < trials else 1.0
    return low, high


def bounded_mean(mean: float, n: int, confidence: float = LEVEL) -> tuple[float, float]:
    """Give the ends of an interval for the mean of n independent numbers in [0, 1] of which nothing else is known.

    Parameters
    ----------
    mean : float
        Of the n numbers, in [0, 1].
    n : int
        At least 1.
    confidence : float
        In (0, 1).

    Returns
    -------
    low, high : float
        In [0, 1]: the μ with n kl(mean, μ) <= ln(2 / (1 - confidence)), kl the relative entropy of two coins.

    Raises
    ------
    ValueError
        For an argument out of range.

    Notes
    -----
    Chernoff's bound in Hoeffding's form: P(mean >= x) <= exp(-n kl(x, μ)) for x >= μ, and likewise below, where μ is the average
    of the expected values, alike or not (Hoeffding 1963, Theorem 1). So it covers with at least ``confidence`` at every n. It is
    wide, since it must hold for numbers that are all 0 or 1, but never wider than Hoeffding's, whose half-width is
    sqrt(ln(2 / (1 - confidence)) / 2n).

    Examples
    --------
    >>> [round(end, 3) for end in bounded_mean(0.627, 120)]
    [0.504, 0.74]
    """
    parameters.check("mean", mean, "[0, 1]")
    parameters.check_count("n", n)
    parameters.check("confidence", confidence, "(0, 1)")
    allowed = log(2 / (1 - confidence)) / n
    x = float(mean)
    return 1 - _highest(1 - x, allowed), _highest(x, allowed)


def _highest(x: float, allowed: float) -> float:
    """Give the greatest μ with kl(x, μ) <= allowed."""
    from scipy.optimize import bisect
    from scipy.special import rel_entr

    if x == 1:
        return 1.0
    if x == 0:
        return -expm1(-allowed)
    return float(bisect(lambda mu: rel_entr(x, mu) + rel_entr(1 - x, 1 - mu) - allowed, x, 1.0, xtol=1e-15))


def weighted_mean(weights: Array, confidence: float = LEVEL) -> float:
    """Give the half-width of an interval for the weighted mean of independent numbers in [0, 1], whatever they are.

    Parameters
    ----------
    weights : array_like, shape (n,)
        Not negative, not all 0.
    confidence : float
        In (0, 1).

    Returns
    -------
    float
        sqrt(ln(2 / (1 - confidence)) Σw² / 2) / Σw.

    Notes
    -----
    Hoeffding 1963, Theorem 2, with the weights taken as given.

    Examples
    --------
    >>> round(weighted_mean(np.ones(200)), 3)
    0.096
    """
    w = np.asarray(weights, dtype=np.float64)
    return float(sqrt(log(2 / (1 - confidence)) * (w @ w) / 2) / w.sum())


def bootstrap(
    units: Array,
    times: Array,
    statistic: Callable[[Array], Array],
    confidence: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> tuple[Array, Array]:
    """Give the ends of the percentile bootstrap for a function of sums over units, drawn again with replacement.

    Parameters
    ----------
    units : ndarray of int, shape (kinds, k)
        k numbers of each kind of unit.
    times : ndarray of int, shape (kinds,)
        How many units of the kind there are.
    statistic : callable
        Takes sums over units, shape (samples, k), and gives values, shape (samples, ...), NaN where there is none.
    confidence : float
        In (0, 1).
    resamples : int
        At least 2.
    seed : int
        Of the resampling.

    Returns
    -------
    low, high : ndarray, shape (...)
        Quantiles of the values over the samples that have one; NaN where none has.

    Raises
    ------
    ValueError
        For an option out of range.

    Notes
    -----
    Units must be independent of each other; what is within one may depend in any way. Right as the number of units grows: it is
    too narrow for a few, and for units that are all alike it has no width at all.

    Examples
    --------
    >>> low, high = bootstrap(np.array([[0, 1], [1, 1]]), np.array([40, 60]), lambda sums: sums[:, 0] / sums[:, 1])
    >>> float(low), float(high)
    (0.5, 0.7)
    """
    parameters.check("confidence", confidence, "(0, 1)")
    parameters.check_count("resamples", resamples, 2)
    parameters.check_count("seed", seed, 0)
    rng = np.random.default_rng(seed)
    n = int(times.sum())
    chunk = max(1, _AT_A_TIME // len(times))
    kinds = np.repeat(np.arange(len(times)), times) if n <= _FEW_ALIKE * len(times) else None
    summands = np.asarray(units, dtype=np.float64)
    values = []
    for start in range(0, resamples, chunk):
        size = min(chunk, resamples - start)
        if kinds is None:
            drawn = rng.multinomial(n, times / n, size=size).astype(np.float64)
        else:
            drawn = np.array([np.bincount(kinds[rng.integers(0, n, n)], minlength=len(times)) for _ in range(size)], np.float64)
        values.append(statistic(drawn @ summands))
    every = np.concatenate(values)
    some = ~np.isnan(every)
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    if some.all():
        low, high = np.quantile(every, tails, axis=0)
        return low, high
    flat, seen = every.reshape(len(every), -1), some.reshape(len(every), -1)
    ends = [np.quantile(flat[seen[:, i], i], tails) if seen[:, i].any() else (np.nan, np.nan) for i in range(flat.shape[1])]
    low, high = np.array(ends).T.reshape(2, *every.shape[1:])
    return low, high
