"""What one mean accepted length says about the rates behind it: one rate for all positions, and the range of what is possible.

Throughout, S_i = P(τ >= i) is the unconditional rate of position i, i = 1..K: 1 >= S_1 >= ... >= S_K >= 0, and their sum is
E[τ] = m, which is all that is known.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from theory.counts import rates
from theory.counts.convert import conditional_from_unconditional
from theory.counts.tally import Logged
from theory.counts.totals import MeanLength, Totals
from theory.probs import Array

if TYPE_CHECKING:
    import pandas as pd


def mean_and_gamma(counts: Logged) -> tuple[Fraction, int]:
    """Give E[τ] and the one number of drafted tokens that it belongs to.

    Raises
    ------
    ValueError
        Where steps drafted differently, or nothing.
    """
    mean = rates.mean_accepted(counts)
    if isinstance(counts, MeanLength):
        return mean, counts.gamma
    if isinstance(counts, Totals):
        gamma = counts.each
        if gamma is None:
            raise ValueError(
                f"drafted = {counts.drafted}: is no multiple of drafts = {counts.drafts}, and a mean length belongs to one gamma"
            )
        return mean, gamma
    gamma = int(counts.drafted[0])
    if not gamma or (counts.drafted != gamma).any():
        raise ValueError(
            f"drafted = {counts.drafted.min()}..{counts.drafted.max()}: a mean length belongs to steps that all draft the same, "
            "at least 1; Counts.select takes those that do"
        )
    return mean, gamma


def constant_rate(counts: Logged) -> float:
    """Give the conditional rate p, the same at all positions, that explains a mean length: p + p² + ... + p^K = E[τ].

    Parameters
    ----------
    counts : Counts, Totals or MeanLength
        All steps with K drafted tokens.

    Returns
    -------
    float
        In [0, 1], to rounding; the left side rises in p from 0 to K, so there is one.

    Raises
    ------
    ValueError
        Where steps drafted differently.

    Notes
    -----
    If acceptance is i.i.d. at α, this estimates α as `conditional_acceptance_rate` does, from less. If contexts differ it lies
    between their rates, and is no rate of any position.

    Examples
    --------
    >>> from theory.counts import Counts
    >>> round(constant_rate(Counts.from_mean_length(tokens_per_call=2.6, drafted=3)), 7)
    0.7170778
    """
    mean, gamma = mean_and_gamma(counts)
    return float(solve(np.array(float(mean)), gamma))


def solve(means: Array, gamma: int) -> Array:
    """Solve p + ... + p^γ = mean for p in [0, 1], for an array of means in [0, γ], by bisection to the last bit."""
    low, high = np.zeros_like(means), np.ones_like(means)
    for _ in range(60):
        middle = (low + high) / 2
        below = geometric(middle, gamma) < means
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    root: Array = np.where(means >= gamma, 1.0, np.where(means <= 0, 0.0, (low + high) / 2))
    return np.where(np.isnan(means), np.nan, root)


def geometric(rate: Any, gamma: int) -> Any:
    """Give rate + rate² + ... + rate^γ, by Horner's rule."""
    total = 0 * rate
    for _ in range(gamma):
        total = rate * (1 + total)
    return total


def least_variance(mean: Fraction, gamma: int) -> tuple[Fraction, ...]:
    """Give the S of least variance: τ is one of the two whole numbers beside its mean."""
    return tuple(min(Fraction(1), max(Fraction(0), mean - i)) for i in range(gamma))


def greatest_variance(mean: Fraction, gamma: int) -> tuple[Fraction, ...]:
    """Give the S of greatest variance: τ is 0 or γ."""
    return (mean / gamma,) * gamma


def possible_rates(counts: Logged) -> "pd.DataFrame":
    """Give the rates by position that one mean length allows: under three models, and between what they must be.

    Parameters
    ----------
    counts : Counts, Totals or MeanLength
        All steps with K drafted tokens; only E[τ] is used.

    Returns
    -------
    pandas.DataFrame
        One row a position. Columns:

        =================================== ========================================================================
        position                            1..K
        constant                            conditional rate if it is the same everywhere, a float; `constant_rate`
        least_variance                      conditional rate if τ is one of the two whole numbers beside its mean
        greatest_variance                   conditional rate if τ is 0 or K
        conditional_low, conditional_high   between what the conditional rate of this position must be
        unconditional_low, .._high          between what the unconditional rate of this position must be
        =================================== ========================================================================

        All but ``constant`` are Fractions, exact. A conditional rate is None where the position is not reached. Both ends of
        each range are attained, but not all at once.

    Raises
    ------
    ValueError
        Where steps drafted differently.

    Notes
    -----
    With m = E[τ]. *Unconditional.* i S_i <= S_1 + ... + S_i <= m, and S_i <= 1: so S_i <= min(1, m / i). Attained: if m <= i by
    S_1 = ... = S_i = m / i and 0 behind, else by `least_variance`. And m <= (i - 1) + (K - i + 1) S_i, so that
    S_i >= max(0, (m - i + 1) / (K - i + 1)). Attained: if m >= i - 1 by S_1 = ... = S_(i-1) = 1 and the rest equal, else by
    `least_variance`, which is 0 there.

    *Conditional.* Position 1 is unconditional. For i > 1 and m > 0: all S equal give S_i / S_(i-1) = 1. With s = S_(i-1) > 0,
    m <= (i - 2) + s + (K - i + 1) S_i, so that S_i / s >= (m - i + 2 - s) / (s (K - i + 1)). If m >= i - 1 this falls in s, and
    at s = 1 is the lower end of S_i, attained as above. If m < i - 1 the lower end is 0, by S_1 = ... = S_(i-1) = m / (i - 1).

    Examples
    --------
    >>> from theory.counts import Counts
    >>> table = possible_rates(Counts.from_mean_length(mean_accepted=Fraction("1.6"), drafted=3))
    >>> table[["position", "constant", "least_variance", "greatest_variance"]].round(4)
       position  constant least_variance greatest_variance
    0         1    0.7171              1              8/15
    1         2    0.7171            3/5                 1
    2         3    0.7171              0                 1
    >>> table[["conditional_low", "conditional_high", "unconditional_low", "unconditional_high"]]
      conditional_low conditional_high unconditional_low unconditional_high
    0            8/15                1              8/15                  1
    1            3/10                1              3/10                4/5
    2               0                1                 0               8/15
    """
    import pandas as pd

    mean, gamma = mean_and_gamma(counts)
    lowest = [max(Fraction(0), (mean - i) / (gamma - i)) for i in range(gamma)]
    highest = [min(Fraction(1), mean / (i + 1)) for i in range(gamma)]
    columns: dict[str, Sequence[Any]] = {
        "least_variance": conditional_from_unconditional(least_variance(mean, gamma)),
        "greatest_variance": conditional_from_unconditional(greatest_variance(mean, gamma)),
        "conditional_low": [lowest[0], *(low if mean else None for low in lowest[1:])],
        "conditional_high": [highest[0], *([Fraction(1) if mean else None] * (gamma - 1))],
        "unconditional_low": lowest,
        "unconditional_high": highest,
    }
    exact = {name: pd.Series(list(values), dtype=object) for name, values in columns.items()}
    return pd.DataFrame({"position": range(1, gamma + 1), "constant": constant_rate(counts)} | exact)
