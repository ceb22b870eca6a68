"""Accepted lengths at another gamma: what is known of them, what models say, and the range of what is possible."""

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from theory import intervals, parameters
from theory.counts import positions, rates, tally, uncertain
from theory.counts.convert import unconditional_from_conditional
from theory.counts.lengths import geometric, mean_and_gamma, solve
from theory.counts.steps import Counts
from theory.counts.tally import Logged, Unit
from theory.counts.totals import MeanLength, NotKnownError, Totals
from theory.intervals import LEVEL, RESAMPLES, Interval, percent
from theory.parameters import Number
from theory.probs import Array

if TYPE_CHECKING:
    import pandas as pd

MODELS = {
    "observed": "the first positions are those of a shorter draft: no model, exact under the prefix property",
    "last_rate": "beyond K the conditional rate stays what it was at K",
    "pooled_rate": "beyond K the conditional rate is the mean over verdicts, accepted / judged",
    "constant": "one conditional rate at all positions, from the mean length alone",
    "least_variance": "τ is one of the two whole numbers beside its mean; no position behind them is ever accepted",
    "greatest_variance": "τ is 0 or all: what passes the first position passes every one",
}
"""Model to what it supposes."""


def predict(
    counts: Logged,
    gammas: Iterable[int] | int,
    *,
    over: Unit | None = None,
    confidence: float = LEVEL,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> "pd.DataFrame":
    """Predict the accepted length at other numbers of drafted tokens.

    Parameters
    ----------
    counts : Counts, Totals or MeanLength
        What was logged at K drafted tokens; of `Counts`, K is the last position with a verdict.
    gammas : int or iterable of int
        Drafted tokens to predict for, each at least 1.
    over, confidence, resamples, seed
        As in `interval`.

    Returns
    -------
    pandas.DataFrame
        One row a gamma and model. Columns:

        ================================ ===========================================================================
        gamma                            drafted tokens
        model                            of `MODELS`: "observed", "last_rate" and "pooled_rate" need `Counts`
        mean_accepted                    E[τ] as predicted: a Fraction, exact; a float under "constant"
        mean_accepted_low, .._high       its confidence interval *if the model is true*, floats; NaN where there is none
        block_efficiency                 E[τ] + 1, tokens per target call if nothing is cut short
        possible_low, possible_high      between what E[τ] must be, whatever the model, if what was logged is taken as exact
        how                              what the confidence interval is, or why there is none
        ================================ ===========================================================================

    Raises
    ------
    ValueError
        For a gamma below 1, steps that drafted differently where only their mean is known, and a log without verdicts.

    Notes
    -----
    All of it supposes the *prefix property*: S_i = P(τ >= i) does not depend on how many tokens are drafted behind position i.
    Token-wise rules have it by construction, and the block rules of the package have it in law, though their verdict looks ahead;
    one that keeps all or nothing does not, nor a drafter that stops where it is unsure. And it supposes that blocks *start* in
    contexts that are alike: at another gamma a decoder stops elsewhere, so they are not quite; `backtest` measures it.

    The range, with m = E[τ] at K and M = E[τ] at K'. *Only m known.* K' < K: of numbers that do not rise the first K' have a mean
    at least that of all, so M >= m K' / K, attained if all S are equal; M <= m and M <= K', attained by "least_variance".
    K' > K: M is m plus the S behind K, each in 0..S_K, where S_K <= m / K; so m <= M <= m K' / K, attained by S that end at K
    and by equal ones. Either way M lies between m K' / K and min(K', m). *All S known.* K' <= K: M = S_1 + ... + S_K'. K' > K:
    likewise m <= M <= m + (K' - K) S_K, attained.

    The S are products of conditional rates, so that censored steps and drafts of different lengths count as in
    `conditional_rates`. A bootstrap sample in which a position is reached and has no verdict is left out.

    Examples
    --------
    >>> from theory.counts import Counts
    >>> logged = Counts.from_histogram([40, 30, 20, 30])
    >>> table = predict(logged, [2, 5])
    >>> table[["gamma", "model", "mean_accepted", "possible_low", "possible_high"]]
       gamma        model mean_accepted possible_low possible_high
    0      2     observed         13/12        13/12         13/12
    1      5    last_rate        118/75          4/3          11/6
    2      5  pooled_rate     2992/1875          4/3          11/6
    3      5     constant      1.620226          4/3          11/6
    """
    wanted = [gammas] if isinstance(gammas, int | np.integer) else parameters.listed("gammas", gammas)
    for i, gamma in enumerate(wanted):
        parameters.check_count(f"gammas[{i}]", gamma)
    parameters.check("confidence", confidence, "(0, 1)")
    if isinstance(counts, Totals | MeanLength):
        records = _from_mean(counts, wanted, over, confidence)
    else:
        records = _from_lengths(counts, wanted, over, confidence, resamples, seed)
    import pandas as pd

    table = pd.DataFrame(records)
    return table.astype(dict.fromkeys(("mean_accepted", "block_efficiency", "possible_low", "possible_high"), object))


def _record(gamma: int, model: str, found: Interval, possible: tuple[Any, Any]) -> dict[str, Any]:
    about = {"gamma": gamma, "model": model, **found.named("mean_accepted"), "block_efficiency": found.value + 1}
    return about | {"possible_low": possible[0], "possible_high": possible[1], "how": found.how}


# --- from a mean ------------------------------------------------------------------------------------------------------


def _from_mean(counts: Totals | MeanLength, gammas: Sequence[int], over: Unit | None, confidence: float) -> list[dict[str, Any]]:
    mean, drafted = mean_and_gamma(counts)
    uncertain.unit_of(counts, over)
    try:
        ends = uncertain.interval(rates.mean_accepted, counts, confidence=confidence)
    except NotKnownError as error:
        ends = Interval(mean, np.nan, np.nan, str(error))
    records = []
    for gamma in gammas:
        possible = possible_from_mean(mean, drafted, gamma)
        for model in ("constant", "least_variance", "greatest_variance"):
            # Each is monotone in the mean, so that ends go to ends.
            low, high = (float(from_mean(model, end, drafted, gamma)) for end in (ends.low, ends.high))
            found = Interval(from_mean(model, mean, drafted, gamma), low, high, ends.how)
            records.append(_record(gamma, model, found, possible))
    return records


def from_mean(model: str, mean: Number, drafted: int, gamma: int) -> Number:
    """Give E[τ] at ``gamma`` under a model of a mean at ``drafted``.

    Parameters
    ----------
    model : {"constant", "least_variance", "greatest_variance"}
        Of `MODELS`.
    mean : float or Fraction
        E[τ] at ``drafted``.
    drafted, gamma : int
        Drafted tokens of the mean, and of the prediction.

    Returns
    -------
    float or Fraction
        In [0, gamma]; a float under "constant".

    Raises
    ------
    ValueError
        For another model.

    Examples
    --------
    >>> [round(float(from_mean(model, 1.6, 3, 2)), 4) for model in ("constant", "least_variance", "greatest_variance")]
    [1.2313, 1.6, 1.0667]
    """
    if model == "constant":
        return float(geometric(solve(np.array(float(mean)), drafted), gamma))
    if model == "least_variance":
        return min(mean, gamma) if gamma < drafted else mean
    if model == "greatest_variance":
        return mean * gamma / drafted
    raise ValueError(f"model = {model!r}: must be 'constant', 'least_variance' or 'greatest_variance'")


def possible_from_mean(mean: Fraction, drafted: int, gamma: int) -> tuple[Fraction, Fraction]:
    """Give the range of E[τ] at ``gamma`` if only the mean at ``drafted`` is known; `predict` has the proof.

    Examples
    --------
    >>> possible_from_mean(Fraction(8, 5), 3, 2), possible_from_mean(Fraction(8, 5), 3, 6)
    ((Fraction(16, 15), Fraction(8, 5)), (Fraction(8, 5), Fraction(16, 5)))
    """
    even, steep = mean * gamma / drafted, min(Fraction(gamma), mean)
    return min(even, steep), max(even, steep)


# --- from the law of the accepted length ------------------------------------------------------------------------------


def _from_lengths(
    counts: Counts, gammas: Sequence[int], over: Unit | None, confidence: float, resamples: int, seed: int
) -> list[dict[str, Any]]:
    conditional = positions.conditional_rates(counts)
    survival = _known_survival(conditional)
    known = len(survival)
    unit = uncertain.unit_of(counts, over)
    steps, of, times = tally.units(counts, unit)
    _, observed, accepted = (part[:, :known] for part in tally.by_unit(steps, of, len(times)))
    pairs = [(gamma, model) for gamma in gammas for model in models_from(known, gamma)]
    exact = np.array(survival, dtype=object)

    def resampled(sums: Array) -> Array:
        again = _survival(sums[:, :known], sums[:, known:])
        return np.stack([from_survival(model, again, gamma) for gamma, model in pairs], axis=-1)

    ends = intervals.bootstrap(np.concatenate([observed, accepted], axis=1), times, resampled, confidence, resamples, seed)
    how = f"bootstrap over {uncertain.independent(int(times.sum()), unit)}, {percent(confidence)}"
    records = []
    for (gamma, model), low, high in zip(pairs, *ends, strict=True):
        found = Interval(_number(from_survival(model, exact, gamma)), float(low), float(high), how)
        records.append(_record(gamma, model, found, possible_from_survival(survival, gamma)))
    return records


def _known_survival(conditional: Sequence[Fraction | None]) -> tuple[Number, ...]:
    """Give S up to the last position that is known: one behind a certain rejection is."""
    for i, rate in enumerate(conditional):
        if rate is None and 0 not in conditional[:i]:
            if not i:
                raise ValueError("counts has no verdict at position 1: there is nothing to predict from")
            return unconditional_from_conditional(conditional[:i])
    return unconditional_from_conditional(conditional)


def _survival(observed: Array, accepted: Array) -> Array:
    """Give S from counts, shape (samples, K); NaN where a position that is reached has no verdict."""
    survival = np.empty(observed.shape)
    before = np.ones(len(observed))
    with np.errstate(invalid="ignore"):
        for i in range(observed.shape[1]):
            before = np.where(before == 0, 0.0, before * (accepted[:, i] / observed[:, i]))
            survival[:, i] = before
    return survival


def models_from(known: int, gamma: int) -> tuple[str, ...]:
    """Give the models that predict ``gamma`` from the S of ``known`` positions."""
    return ("observed",) if gamma <= known else ("last_rate", "pooled_rate", "constant")


def from_survival(model: str, survival: Array, gamma: int) -> Any:
    """Give E[τ] at ``gamma`` under a model of the unconditional rates.

    Parameters
    ----------
    model : {"observed", "last_rate", "pooled_rate", "constant"}
        Of `MODELS`.
    survival : ndarray, shape (..., K)
        S_1, ..., S_K, floats or Fractions.
    gamma : int
        At most K for "observed".

    Returns
    -------
    ndarray, shape (...)
        In [0, gamma]; floats under "constant".

    Raises
    ------
    ValueError
        For another model, or a ``gamma`` that was not observed.

    Examples
    --------
    >>> from_survival("last_rate", np.array([Fraction(2, 3), Fraction(1, 3)]), 4)
    Fraction(5, 4)
    """
    known = survival.shape[-1]
    total = survival.sum(axis=-1)
    if model == "observed":
        if gamma > known:
            raise ValueError(f"gamma = {gamma}: must be at most {known}, the positions that were observed")
        return survival[..., :gamma].sum(axis=-1)
    if model == "constant":
        means = np.asarray(total, dtype=np.float64)
        return geometric(solve(means, known), gamma)
    last = survival[..., -1]
    if model == "last_rate":
        before = survival[..., -2] if known > 1 else last * 0 + 1
        rate = last / np.where(before == 0, 1, before)
    elif model == "pooled_rate":
        rate = total / (1 + total - last)
    else:
        raise ValueError(f"model = {model!r}: must be 'observed', 'last_rate', 'pooled_rate' or 'constant'")
    return total + last * geometric(rate, gamma - known)


def possible_from_survival(survival: Sequence[Number], gamma: int) -> tuple[Number, Number]:
    """Give the range of E[τ] at ``gamma`` if S_1, ..., S_K are known; `predict` has the proof.

    Examples
    --------
    >>> possible_from_survival([Fraction(2, 3), Fraction(1, 3)], 4)
    (Fraction(1, 1), Fraction(5, 3))
    """
    low = sum(survival[:gamma], Fraction(0))
    return low, low + max(0, gamma - len(survival)) * survival[-1]


def _number(value: Any) -> Number:
    return value if isinstance(value, Fraction) else float(value)
