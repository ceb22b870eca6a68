"""Statistics that people argue about: acceptance and tokens per call from observed counts, each under one convention.

A *step* is one target call: ``drafted`` tokens were proposed, the first ``accepted`` of them kept, and ``emitted`` tokens
came out.

The conventions, decided here once
----------------------------------
* **Accepted** is a prefix: flags (1, 0, 1) count 1, since a token after a rejection is thrown away whatever its flag says.
* **The bonus or replacement token** of a step was not proposed. It counts in ``emitted``, never in ``accepted``.
* **Proposed** is all that was drafted, also what lies behind a rejection and was never judged.
* **A stop** (end token, length limit) inside a block truncates ``emitted``. The verifier's ``accepted`` stays as it was.
* **Censored** is a step that ended because the text did, with the verdict at position ``accepted + 1`` unseen. That is not a
  rejection: the step leaves the denominator of the conditional rate there. A step that kept all its drafts has no next verdict,
  so that the flag changes no rate.
* **Pooled** weighs steps equally, hence long requests more; `per_request_mean` weighs requests equally.

All results are ratios of whole numbers, so they come as `fractions.Fraction`, exact; ``float(...)`` rounds, and
``table.astype({"conditional": float})`` a column.
"""

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from numbers import Rational
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from theory import parameters
from theory.parameters import Number
from theory.probs import Array

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "Counts",
    "acceptance_rate",
    "block_efficiency",
    "conditional_acceptance_rate",
    "conditional_from_unconditional",
    "conditional_rates",
    "mean_accepted",
    "per_request_mean",
    "position_rates",
    "summary",
    "tokens_per_call_from_conditional",
    "tokens_per_call_from_unconditional",
    "tokens_per_call_over_contexts",
    "unconditional_from_conditional",
    "unconditional_rates",
]

Rates: TypeAlias = Iterable[Number | None]
"""Rates of positions 1, 2, ...; a conditional rate is None where no verdict was observed."""

_MOST = 2**31 - 1  # a count; sums over steps then stay far inside int64


# --- counts -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Counts:
    """What was counted, one entry a step (a target call); checked once, here.

    Parameters
    ----------
    drafted : array_like of int, shape (steps,)
        Proposed tokens, at least 0 (a drafter may find nothing to propose).
    accepted : array_like of int, shape (steps,)
        Proposed tokens that the verifier kept, in 0..drafted.
    emitted : array_like of int, shape (steps,)
        Tokens that came out, in 0..accepted + 1: less than accepted + 1 where a stop cut the block short.
    censored : array_like of bool, shape (steps,)
        True where the text ended before the verdict at position accepted + 1 was seen.
    request : array_like of int or str, shape (steps,)
        The request that a step belongs to, any labels in any order.

    Raises
    ------
    ValueError
        Naming the argument, the value, its place and what is allowed.

    Notes
    -----
    The fields become read-only copies: int64, bool for ``censored``, the labels' own type for ``request``.
    `Counts.of` fills in what is usual, `Counts.from_flags` counts flags.

    Examples
    --------
    >>> Counts([4, 4], [3, 4], [4, 2], [False, False], [0, 0]).accepted  # a stop token at position 2 of the second step
    array([3, 4])
    >>> Counts([4], [5], [6], [False], [0])
    Traceback (most recent call last):
    ValueError: accepted[0] = 5: must be in 0..4, the tokens drafted in that step
    """

    drafted: Array
    accepted: Array
    emitted: Array
    censored: Array
    request: Array

    def __post_init__(self) -> None:
        fields = {
            "drafted": _whole(self.drafted, "drafted"),
            "accepted": _whole(self.accepted, "accepted"),
            "emitted": _whole(self.emitted, "emitted"),
            "censored": _bools(self.censored, "censored"),
            "request": _labels(self.request, "request"),
        }
        for name, array in fields.items():
            _check_lengths(name, len(array), "drafted", len(fields["drafted"]))
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        _check_at_most("accepted", self.accepted, self.drafted, "the tokens drafted in that step")
        _check_at_most("emitted", self.emitted, self.accepted + 1, "the accepted tokens and one of the target's")

    def __len__(self) -> int:
        return len(self.drafted)

    @classmethod
    def of(
        cls,
        accepted: npt.ArrayLike,
        *,
        drafted: npt.ArrayLike,
        emitted: npt.ArrayLike | None = None,
        censored: npt.ArrayLike | None = None,
        request: npt.ArrayLike | None = None,
    ) -> "Counts":
        """Take accepted lengths, and what is usual for the rest.

        Parameters
        ----------
        accepted : array_like of int, shape (steps,)
            Proposed tokens that were kept.
        drafted : int or array_like of int, shape (steps,)
            Proposed tokens; one number γ >= 1 where all steps draft alike.
        emitted : array_like of int, shape (steps,), optional
            accepted + 1 if omitted, and accepted in a censored step: the text ended, so that no token of the target's
            own followed.
        censored : array_like of bool, shape (steps,), optional
            Nowhere, if omitted.
        request : array_like of int or str, shape (steps,), optional
            All steps are of one request, if omitted.

        Raises
        ------
        ValueError
            As `Counts` does, and for a single ``drafted`` below 1.

        Examples
        --------
        >>> Counts.of([0, 1, 2], drafted=2).emitted
        array([1, 2, 3])
        """
        kept = _whole(accepted, "accepted")
        proposed = _drafted(drafted, len(kept), "accepted")
        unseen = np.zeros(len(kept), dtype=bool) if censored is None else _bools(censored, "censored")
        _check_lengths("censored", len(unseen), "accepted", len(kept))
        came_out = kept + ~unseen if emitted is None else _whole(emitted, "emitted")
        labels = np.zeros(len(kept), dtype=np.int64) if request is None else _labels(request, "request")
        return cls(proposed, kept, came_out, unseen, labels)

    @classmethod
    def from_flags(
        cls,
        flags: Iterable[Iterable[Any]],
        *,
        drafted: npt.ArrayLike | None = None,
        emitted: npt.ArrayLike | None = None,
        censored: npt.ArrayLike | None = None,
        request: npt.ArrayLike | None = None,
    ) -> "Counts":
        """Count acceptance flags, one row a step: only the ones before the first 0 are accepted.

        Parameters
        ----------
        flags : iterable of rows of 0 and 1
            A flag for each position that was judged; rows may differ in length.
        drafted : int or array_like of int, shape (steps,), optional
            Proposed tokens, if more than have a flag. The length of each row, if omitted.
        emitted, request : array_like, shape (steps,), optional
            As in `Counts.of`.
        censored : array_like of bool, shape (steps,), optional
            If omitted, True where a row holds no 0 and fewer flags than drafted tokens: no rejection was seen.

        Raises
        ------
        ValueError
            As `Counts.of` does; for a flag other than 0 and 1, a row longer than its ``drafted``, and where ``censored``
            contradicts the flags.

        Notes
        -----
        Some verifiers judge all positions in parallel and log all flags. Counting ones there, 2 in (1, 0, 1), overstates what
        a decoder keeps: a token is of use only if everything before it was accepted.

        Examples
        --------
        >>> Counts.from_flags([(1, 0, 1), (1, 1)]).accepted
        array([1, 2])
        >>> Counts.from_flags([(1, 1, 1, 1)], drafted=8).censored  # the text ended after 4 of 4 matches
        array([ True])
        """
        kept, judged = _prefixes(flags)
        proposed = judged if drafted is None else _drafted(drafted, len(kept), "flags")
        _check_at_most("the number of flags", judged, proposed, "the tokens drafted in that step")
        unseen = (kept == judged) & (judged < proposed)
        if censored is not None:
            given = _bools(censored, "censored")
            _check_lengths("censored", len(given), "flags", len(kept))
            for i in np.flatnonzero((given & (kept < judged)) | (~given & unseen))[:1]:
                why = "a 0, a rejection that was seen" if given[i] else f"no 0, and {judged[i]} flags for {proposed[i]} drafted"
                raise ValueError(f"censored[{i}] = {given[i]}: must be {not given[i]}, since flags[{i}] holds {why}")
            unseen = given
        return cls.of(kept, drafted=proposed, emitted=emitted, censored=unseen, request=request)

    def select(self, steps: npt.ArrayLike) -> "Counts":
        """Give the counts of some steps, by a mask or by indices.

        Raises
        ------
        ValueError
            Where ``steps`` is neither, or points beyond the steps.

        Examples
        --------
        >>> counts = Counts.of([0, 1, 2], drafted=2)
        >>> len(counts.select(counts.accepted > 0))
        2
        """
        at = np.asarray(steps)
        if not at.size and at.dtype.kind == "f":  # an empty list
            at = at.astype(np.intp)
        if at.ndim != 1 or at.dtype.kind not in "biu":
            raise ValueError(f"steps has shape {at.shape} and dtype {at.dtype}: must be a mask or indices, flat")
        if at.dtype.kind == "b":
            _check_lengths("steps", len(at), "counts", len(self))
        elif at.size and (at.min() < 0 or at.max() >= len(self)):
            raise ValueError(f"steps = {at.min()}..{at.max()}: must be indices in 0..{len(self) - 1}")
        return Counts(self.drafted[at], self.accepted[at], self.emitted[at], self.censored[at], self.request[at])

    def by_request(self) -> "dict[Hashable, Counts]":
        """Give the counts of each request under its label, the labels in ascending order.

        Examples
        --------
        >>> {name: len(steps) for name, steps in Counts.of([3, 0, 3], drafted=4, request=["b", "a", "b"]).by_request().items()}
        {'a': 1, 'b': 2}
        """
        labels, code = np.unique(self.request, return_inverse=True)
        order = np.argsort(code, kind="stable")
        ends = np.cumsum(np.bincount(code, minlength=len(labels)))[:-1]
        parts = np.split(order, ends) if len(labels) else []
        return {label: self.select(part) for label, part in zip(labels.tolist(), parts, strict=True)}


# --- one number for all steps -----------------------------------------------------------------------------------------


def acceptance_rate(counts: Counts) -> Fraction:
    """Share of the proposed tokens that is accepted: sum accepted / sum drafted, the bonus or replacement token in neither.

    Parameters
    ----------
    counts : Counts
        Steps, pooled; see `per_request_mean` for the other average.

    Returns
    -------
    Fraction
        In [0, 1].

    Raises
    ------
    ValueError
        Where nothing was drafted.

    Notes
    -----
    The disagreements: with emitted tokens in the numerator a drafter that is always wrong scores 1/γ, not 0. And this share is
    *not* the α of the theory, a probability given that the token is judged, because what lies behind a rejection is proposed,
    too: i.i.d. acceptance at α gives (α + ... + α^γ) / γ here. `conditional_acceptance_rate` estimates α. What a censored step
    left unjudged counts as proposed, so the share is then a lower bound.

    Examples
    --------
    >>> acceptance_rate(Counts.of([0, 1, 2], drafted=2))
    Fraction(1, 2)
    """
    proposed = int(counts.drafted.sum())
    if not proposed:
        raise ValueError(f"counts has {len(counts)} steps that drafted 0 tokens: an acceptance rate needs a proposed token")
    return Fraction(int(counts.accepted.sum()), proposed)


def conditional_acceptance_rate(counts: Counts) -> Fraction:
    """Share of the *judged* tokens that is accepted: sum accepted / (sum accepted + rejections seen), an estimate of α.

    Parameters
    ----------
    counts : Counts
        Steps, pooled.

    Returns
    -------
    Fraction
        In [0, 1], never below `acceptance_rate`.

    Raises
    ------
    ValueError
        Where no verdict was seen.

    Notes
    -----
    A step has at most one rejection: its first. What lies behind it is not judged, and neither is the next position of a
    censored step. If acceptance is i.i.d. at α, this is the maximum-likelihood estimate of α, censored or not. If positions
    differ it is a mean over verdicts, in which early positions count most; see `conditional_rates`.

    Examples
    --------
    >>> conditional_acceptance_rate(Counts.of([0, 1, 2], drafted=2))  # 3 accepted, 2 rejected, 1 never judged
    Fraction(3, 5)
    """
    accepted = int(counts.accepted.sum())
    verdicts = accepted + int(_rejected(counts).sum())
    if not verdicts:
        raise ValueError(f"counts has {len(counts)} steps in which no verdict was seen: a conditional rate needs one")
    return Fraction(accepted, verdicts)


def mean_accepted(counts: Counts) -> Fraction:
    """Mean accepted length E[τ] = sum accepted / steps, in drafted tokens per target call.

    Parameters
    ----------
    counts : Counts
        Steps, pooled.

    Returns
    -------
    Fraction
        In [0, max drafted].

    Raises
    ------
    ValueError
        Where there are no steps.

    Notes
    -----
    Some papers and engines call E[τ] + 1 the "mean acceptance length". Here the target's own token is never accepted; that
    number is the `block_efficiency` if no text ends. A stop does not lower E[τ]; censored steps do, making it a lower bound.

    Examples
    --------
    >>> mean_accepted(Counts.of([0, 1, 2], drafted=2))
    Fraction(1, 1)
    """
    return Fraction(int(counts.accepted.sum()), _steps(counts))


def block_efficiency(counts: Counts) -> Fraction:
    """Tokens per target call: sum emitted / steps. E[τ] + 1 if nothing is cut short.

    Parameters
    ----------
    counts : Counts
        Steps, pooled.

    Returns
    -------
    Fraction
        In [0, max drafted + 1].

    Raises
    ------
    ValueError
        Where there are no steps.

    Notes
    -----
    Counted in tokens that left the decoder: a stop inside a block takes away what was accepted behind it, so that the last step
    of each text lowers this number, and short texts have less of it than long ones with the same acceptance. E[τ] + 1 is
    the same number with these ends ignored. Neither is the speed-up, which also pays for the drafts.

    Examples
    --------
    >>> block_efficiency(Counts.of([0, 1, 2], drafted=2))
    Fraction(2, 1)
    >>> stopped = Counts.of([0, 4], drafted=4, emitted=[1, 2])
    >>> block_efficiency(stopped), mean_accepted(stopped) + 1
    (Fraction(3, 2), Fraction(3, 1))
    """
    return Fraction(int(counts.emitted.sum()), _steps(counts))


def per_request_mean(statistic: Callable[[Counts], Fraction], counts: Counts) -> Fraction:
    """Mean over requests of a statistic of each: (1/R) sum_r statistic(steps of request r).

    Parameters
    ----------
    statistic : callable
        `block_efficiency`, `acceptance_rate`, or any other function of `Counts`.
    counts : Counts
        Steps of all requests.

    Returns
    -------
    Fraction
        In the statistic's own unit.

    Raises
    ------
    ValueError
        Where there are no steps, or a request has no such statistic: the message names the request. `Counts.select` leaves
        steps out on purpose.

    Notes
    -----
    Pooling asks what the hardware sees: tokens over calls, so that long requests count more, and those that need many calls
    most. The mean over requests asks what a user sees. A pooled mean per step is the mean over requests weighted by their
    steps; a pooled rate is the one weighted by its denominators.

    Examples
    --------
    >>> counts = Counts.of([3] * 100 + [0] * 10, drafted=4, request=[0] * 100 + [1] * 10)
    >>> block_efficiency(counts), per_request_mean(block_efficiency, counts)
    (Fraction(41, 11), Fraction(5, 2))
    """
    _steps(counts)
    return _mean_over(statistic, counts.by_request())


def _mean_over(statistic: Callable[[Counts], Fraction], requests: dict[Hashable, Counts]) -> Fraction:
    values = []
    for label, steps in requests.items():
        try:
            values.append(statistic(steps))
        except ValueError as error:
            raise ValueError(f"request {label!r}: {error}") from error
    return sum(values, Fraction(0)) / len(values)


# --- position by position ---------------------------------------------------------------------------------------------


def conditional_rates(counts: Counts) -> tuple[Fraction | None, ...]:
    """P(position i accepted | i proposed and judged, all before it accepted), for i = 1..max drafted.

    Parameters
    ----------
    counts : Counts
        Steps, pooled.

    Returns
    -------
    tuple of Fraction or None
        In [0, 1]; None where no verdict was seen.

    Raises
    ------
    ValueError
        Where nothing was drafted.

    Notes
    -----
    Numerator: steps with accepted >= i. Denominator: these and the steps rejected at i. This is the hazard estimate of
    Kaplan and Meier, in which short drafts and ended texts are both censored: consistent if what ended the step does not depend
    on the verdict that it hid. Counting censored steps as rejections is biased downwards.

    Examples
    --------
    >>> conditional_rates(Counts.of([0, 1, 2], drafted=2))
    (Fraction(2, 3), Fraction(1, 2))
    >>> conditional_rates(Counts.of([0, 1, 2], drafted=2, censored=[False, True, False]))
    (Fraction(2, 3), Fraction(1, 1))
    """
    _, observed, accepted = _positions(counts)
    return tuple(Fraction(kept, seen) if seen else None for kept, seen in zip(accepted, observed, strict=True))


def unconditional_rates(counts: Counts) -> tuple[Fraction, ...]:
    """P(position i accepted | i proposed), for i = 1..max drafted: steps with accepted >= i over steps with drafted >= i.

    Parameters
    ----------
    counts : Counts
        Steps, pooled.

    Returns
    -------
    tuple of Fraction
        In [0, 1], one a position.

    Raises
    ------
    ValueError
        Where nothing was drafted.

    Notes
    -----
    A plot of "acceptance by position" may show these, which fall by construction, or `conditional_rates`, which often rise: the
    contexts that survive are the easy ones. If all steps draft γ tokens, these add up to `mean_accepted`. Censored steps
    stay in the denominator, which makes each a lower bound; the products of conditional rates are the remedy,
    ``unconditional_from_conditional(conditional_rates(counts))``.

    Examples
    --------
    >>> unconditional_rates(Counts.of([0, 1, 2], drafted=2))
    (Fraction(2, 3), Fraction(1, 3))
    """
    proposed, _, accepted = _positions(counts)
    return tuple(Fraction(kept, tried) for kept, tried in zip(accepted, proposed, strict=True))


def position_rates(counts: Counts) -> "pd.DataFrame":
    """Give the counts and both rates of each position as a table.

    Parameters
    ----------
    counts : Counts
        Steps, pooled.

    Returns
    -------
    pandas.DataFrame
        One row a position. Columns:

        ============= ====================================================================================
        position      1..max drafted
        proposed      steps with drafted >= position
        observed      steps in which the verdict at this position was seen
        accepted      steps with accepted >= position
        conditional   accepted / observed, a Fraction; None where observed = 0. See `conditional_rates`
        unconditional accepted / proposed, a Fraction. See `unconditional_rates`
        ============= ====================================================================================

    Raises
    ------
    ValueError
        Where nothing was drafted.

    Notes
    -----
    proposed - observed are the steps that never came to this position: rejected before it, or censored.

    Examples
    --------
    >>> position_rates(Counts.of([0, 1, 2], drafted=2, censored=[False, True, False]))
       position  proposed  observed  accepted conditional unconditional
    0         1         3         3         2         2/3           2/3
    1         2         3         1         1           1           1/3
    """
    import pandas as pd

    proposed, observed, accepted = _positions(counts)
    return pd.DataFrame(
        {
            "position": range(1, len(proposed) + 1),
            "proposed": proposed,
            "observed": observed,
            "accepted": accepted,
            "conditional": pd.Series(conditional_rates(counts), dtype=object),
            "unconditional": pd.Series(unconditional_rates(counts), dtype=object),
        }
    )


# --- from rates to tokens ---------------------------------------------------------------------------------------------


def unconditional_from_conditional(conditional: Rates) -> tuple[Number, ...]:
    """Products of conditional rates: u_i = c_1 c_2 ... c_i, the probability that the first i drafts are all accepted.

    Parameters
    ----------
    conditional : iterable of float or Fraction
        c_1, ..., c_γ in [0, 1]. None, a rate never observed, is allowed behind a 0 only.

    Returns
    -------
    tuple of float or Fraction
        u_1, ..., u_γ in [0, 1], not increasing; exact for Fractions and whole numbers.

    Raises
    ------
    ValueError
        For no rates, a rate outside [0, 1], or a None that can be reached.

    Notes
    -----
    Equal to `unconditional_rates` of the same counts if none is censored and all draft γ tokens; if not, these products are the
    Kaplan-Meier estimate.

    Examples
    --------
    >>> unconditional_from_conditional([Fraction(4, 5), Fraction(3, 5), Fraction(3, 10)])
    (Fraction(4, 5), Fraction(12, 25), Fraction(18, 125))
    """
    product: Number = Fraction(1)
    products = []
    for i, value in enumerate(_listed(conditional, "conditional")):
        if value is not None:
            product = product * _rate(f"conditional[{i}]", value)
        elif product != 0:
            raise ValueError(f"conditional[{i}] = None: a position that is reached with probability {product} must have a rate")
        products.append(product)
    return tuple(products)


def conditional_from_unconditional(unconditional: Rates) -> tuple[Number | None, ...]:
    """Ratios of unconditional rates: c_i = u_i / u_(i-1), with u_0 = 1.

    Parameters
    ----------
    unconditional : iterable of float or Fraction
        u_1, ..., u_γ in [0, 1], not increasing.

    Returns
    -------
    tuple of float, Fraction or None
        c_1, ..., c_γ in [0, 1]; None where u_(i-1) = 0, a position that is never reached.

    Raises
    ------
    ValueError
        For no rates, a rate outside [0, 1], or one that exceeds the rate before it.

    Notes
    -----
    A prefix cannot be accepted more often than a shorter one. Where rates rise, they are conditional, or they come from
    drafts of unequal lengths, where each u_i is over other steps and the ratio means nothing: count `conditional_rates`.

    Examples
    --------
    >>> conditional_from_unconditional([Fraction(4, 5), Fraction(12, 25), Fraction(18, 125)])
    (Fraction(4, 5), Fraction(3, 5), Fraction(3, 10))
    """
    rates = _falling(unconditional)
    return tuple(rate / before if before else None for before, rate in zip((Fraction(1), *rates), rates, strict=False))


def tokens_per_call_from_conditional(conditional: Rates) -> Number:
    """Tokens per target call from conditional rates: 1 + c_1 + c_1 c_2 + ... + c_1 ... c_γ.

    Parameters
    ----------
    conditional : iterable of float or Fraction
        c_1, ..., c_γ in [0, 1]. None, a rate never observed, is allowed behind a 0 only.

    Returns
    -------
    float or Fraction
        In [1, γ + 1], if all steps draft γ tokens and no text ends.

    Raises
    ------
    ValueError
        For no rates, a rate outside [0, 1], or a None that can be reached.

    Notes
    -----
    The same table read as unconditional rates gives more, (0.8, 0.6, 0.3) 2.7 instead of 2.424, which is why a table of rates by
    position must say what it holds.

    Examples
    --------
    >>> float(tokens_per_call_from_conditional([Fraction("0.8"), Fraction("0.6"), Fraction("0.3")]))
    2.424
    """
    return 1 + sum(unconditional_from_conditional(conditional), Fraction(0))


def tokens_per_call_from_unconditional(unconditional: Rates) -> Number:
    """Tokens per target call from unconditional rates: 1 + u_1 + u_2 + ... + u_γ.

    Parameters
    ----------
    unconditional : iterable of float or Fraction
        u_1, ..., u_γ in [0, 1], not increasing.

    Returns
    -------
    float or Fraction
        In [1, γ + 1], if all steps draft γ tokens and no text ends.

    Raises
    ------
    ValueError
        For no rates, a rate outside [0, 1], or one that exceeds the rate before it.

    Notes
    -----
    E[τ] = sum_i P(τ >= i), for any dependence between positions. See `conditional_from_unconditional` on rates that rise.

    Examples
    --------
    >>> float(tokens_per_call_from_unconditional([Fraction("0.8"), Fraction("0.6"), Fraction("0.3")]))
    2.7
    """
    return 1 + sum(_falling(unconditional), Fraction(0))


def tokens_per_call_over_contexts(acceptance_rates: Iterable[Number], gamma: int) -> Number:
    """Tokens per target call over contexts that differ: the mean over contexts of 1 + α + ... + α^γ.

    Parameters
    ----------
    acceptance_rates : iterable of float or Fraction
        α of each context, in [0, 1], constant through its block; contexts weigh equally.
    gamma : int
        Drafted tokens in a block, at least 1.

    Returns
    -------
    float or Fraction
        In [1, γ + 1], exact for Fractions and whole numbers.

    Raises
    ------
    ValueError
        For no contexts, a rate outside [0, 1], or a ``gamma`` below 1.

    Notes
    -----
    The sum is convex in α, so this is never less than the sum at the mean α (Jensen), and a mean rate understates what a decoder
    gets from contexts that differ. The mean is over contexts at which blocks *start*; over tokens, easy contexts count more.

    Examples
    --------
    >>> contexts = [Fraction(1), Fraction("0.3")]
    >>> float(tokens_per_call_over_contexts(contexts, 5))
    3.713765
    >>> round(float(tokens_per_call_over_contexts([sum(contexts) / 2], 5)), 5)
    2.64166
    """
    parameters.check_count("gamma", gamma)
    rates = [_rate(f"acceptance_rates[{i}]", value) for i, value in enumerate(_listed(acceptance_rates, "acceptance_rates"))]
    return sum((rate**k for rate in rates for k in range(gamma + 1)), Fraction(0)) / len(rates)


# --- all together -----------------------------------------------------------------------------------------------------


def summary(counts: Counts) -> "pd.DataFrame":
    """Give all one-number statistics, pooled over steps and as means over requests.

    Parameters
    ----------
    counts : Counts
        Steps of all requests.

    Returns
    -------
    pandas.DataFrame
        Two rows. Columns:

        =========================== ============================================================================
        average                     "pooled" (over steps) or "per_request" (mean over requests)
        requests                    how many there are, in both rows
        steps                       target calls, in both rows
        acceptance_rate             accepted / proposed, a probability
        conditional_acceptance_rate accepted / judged, a probability
        mean_accepted               accepted drafts per target call
        block_efficiency            emitted tokens per target call
        truncated                   share of the steps that emitted less than accepted + 1
        censored                    share of the steps whose next verdict was not seen
        =========================== ============================================================================

        The statistics are Fractions; None where one is undefined (a rate, if nothing was drafted or judged in all steps, or in
        all those of some request). ``block_efficiency`` is ``mean_accepted`` + 1 where ``truncated`` is 0.

    Raises
    ------
    ValueError
        Where there are no steps.

    Examples
    --------
    >>> counts = Counts.of([3] * 100 + [0] * 10, drafted=4, request=[0] * 100 + [1] * 10)
    >>> summary(counts)[["average", "requests", "steps", "acceptance_rate", "mean_accepted", "block_efficiency"]]
           average  requests  steps acceptance_rate mean_accepted block_efficiency
    0       pooled         2    110           15/22         30/11            41/11
    1  per_request         2    110             3/8           3/2              5/2
    """
    import pandas as pd

    _steps(counts)
    requests = counts.by_request()
    table: dict[str, Any] = {"average": ["pooled", "per_request"], "requests": len(requests), "steps": len(counts)}
    for name, statistic in _SUMMARISED.items():
        values = [_where_defined(statistic, counts), _where_defined(partial(_mean_over, statistic), requests)]
        table[name] = pd.Series(values, dtype=object)
    return pd.DataFrame(table)


def _truncated(counts: Counts) -> Fraction:
    return Fraction(int((counts.emitted <= counts.accepted).sum()), _steps(counts))


def _censored(counts: Counts) -> Fraction:
    return Fraction(int(counts.censored.sum()), _steps(counts))


_SUMMARISED: dict[str, Callable[[Counts], Fraction]] = {
    "acceptance_rate": acceptance_rate,
    "conditional_acceptance_rate": conditional_acceptance_rate,
    "mean_accepted": mean_accepted,
    "block_efficiency": block_efficiency,
    "truncated": _truncated,
    "censored": _censored,
}


def _where_defined(statistic: Callable[[Any], Fraction], data: Any) -> Fraction | None:
    try:
        return statistic(data)
    except ValueError:  # the counts are checked and there are steps: a denominator is 0
        return None


# --- counting ---------------------------------------------------------------------------------------------------------


def _steps(counts: Counts) -> int:
    """Give the number of steps, which a mean needs."""
    if not len(counts):
        raise ValueError("counts has 0 steps: there is nothing to average over")
    return len(counts)


def _rejected(counts: Counts) -> Array:
    """Tell in which steps a rejection was seen (at position accepted + 1)."""
    rejected: Array = (counts.accepted < counts.drafted) & ~counts.censored
    return rejected


def _positions(counts: Counts) -> tuple[list[int], list[int], list[int]]:
    """Give how many steps proposed, judged and accepted each of the positions 1..max drafted."""
    gamma = int(counts.drafted.max(initial=0))
    if not gamma:
        raise ValueError(f"counts has {len(counts)} steps that drafted 0 tokens: rates by position need a proposed token")
    proposed = _at_least(counts.drafted, gamma)
    accepted = _at_least(counts.accepted, gamma)
    rejected = np.bincount(counts.accepted[_rejected(counts)], minlength=gamma)
    return proposed.tolist(), (accepted + rejected).tolist(), accepted.tolist()


def _at_least(values: Array, gamma: int) -> Array:
    """Count the values >= i, for i = 1..gamma."""
    found: Array = np.bincount(values, minlength=gamma + 1)[::-1].cumsum()[::-1][1:]
    return found


def _prefixes(flags: Iterable[Iterable[Any]]) -> tuple[Array, Array]:
    """Give for each row of flags the ones before its first 0, and its length."""
    kept, judged = [], []
    for i, row in enumerate(_listed(flags, "flags", least=0)):
        if isinstance(row, str) or not isinstance(row, Iterable):
            raise ValueError(f"flags[{i}] = {row!r}: must be a row of flags, one row a step; [[1, 0, 1]] is one step")
        values = list(row)
        for j, value in enumerate(values):
            if not isinstance(value, bool | int | np.bool_ | np.integer) or value not in (0, 1):
                raise ValueError(f"flags[{i}][{j}] = {value!r}: must be 0 or 1")
        kept.append(values.index(0) if 0 in values else len(values))
        judged.append(len(values))
    return np.array(kept, dtype=np.int64), np.array(judged, dtype=np.int64)


# --- checking ---------------------------------------------------------------------------------------------------------


def _flat(values: Any, name: str) -> Array:
    """Make ``values`` a flat array of its own."""
    try:
        array = np.array(values)
    except ValueError as error:  # ragged
        raise ValueError(f"{name} holds rows of unequal lengths: must be flat, one entry a step") from error
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}: must be flat, one entry a step")
    return array


def _whole(values: Any, name: str) -> Array:
    """Make ``values`` a flat int64 array of counts."""
    array = _flat(values, name)
    whole = array.dtype.kind in "iu" or (array.dtype.kind == "O" and all(type(value) is int for value in array.tolist()))
    if array.size and not whole:
        hint = "; Counts.from_flags takes flags" if array.dtype.kind == "b" else ""
        _refuse(array, name, lambda value: type(value) is int, f"must be a whole number{hint}")
    if array.size and (array.min() < 0 or array.max() > _MOST):
        _refuse(array, name, lambda value: 0 <= value <= _MOST, f"must be in 0..{_MOST}")
    return array.astype(np.int64)


def _bools(values: Any, name: str) -> Array:
    """Make ``values`` a flat bool array; 0 and 1 will do."""
    array = _flat(values, name)
    if array.size and not (array.dtype.kind in "biu" and np.isin(array, (0, 1)).all()):
        _refuse(array, name, lambda value: isinstance(value, int) and value in (0, 1), "must be True or False")
    return array.astype(bool)


def _labels(values: Any, name: str) -> Array:
    """Make ``values`` a flat array of int or str."""
    array = _flat(values, name)
    if array.dtype.kind == "O" and all(isinstance(value, str) for value in array.tolist()):
        array = array.astype(str)  # a column of strings
    if array.size and array.dtype.kind not in "iuU":
        _refuse(array, name, lambda value: type(value) in (int, str), "labels must be whole numbers, or all strings")
    return array


def _refuse(array: Array, name: str, allowed: Callable[[Any], bool], what: str) -> None:
    """Raise for the first entry that is not ``allowed``, or the first one if only their mixture is at fault."""
    entries = array.tolist()
    at = next((i for i, value in enumerate(entries) if not allowed(value)), 0)
    raise ValueError(f"{name}[{at}] = {entries[at]!r}: {what}")


def _drafted(drafted: Any, steps: int, beside: str) -> Array:
    """Give the drafted tokens of each step, from one number for all or from one a step."""
    if isinstance(drafted, int | float | np.number):
        parameters.check_count("drafted", drafted)
        return _whole([drafted] * steps, "drafted")
    proposed = _whole(drafted, "drafted")
    _check_lengths("drafted", len(proposed), beside, steps)
    return proposed


def _check_lengths(name: str, length: int, other: str, steps: int) -> None:
    if length != steps:
        raise ValueError(f"{name} has {length} entries and {other} has {steps}: each must have one a step")


def _check_at_most(name: str, values: Array, most: Array, what: str) -> None:
    over = np.flatnonzero(values > most)
    if over.size:
        i = over[0]
        raise ValueError(f"{name}[{i}] = {values[i]}: must be in 0..{most[i]}, {what}")


def _listed(values: Any, name: str, least: int = 1) -> list[Any]:
    """Make a list of ``values``, with at least ``least`` entries."""
    if isinstance(values, str) or not isinstance(values, Iterable) or (isinstance(values, np.ndarray) and not values.ndim):
        raise ValueError(f"{name} = {values!r}: must be a sequence")
    entries = list(values)
    if len(entries) < least:
        raise ValueError(f"{name} has {len(entries)} entries: must have at least {least}")
    return entries


def _rate(name: str, value: Any) -> Number:
    """Give a rate in [0, 1] as the number to compute with."""
    parameters.check(name, value, "[0, 1]")
    return Fraction(int(value.numerator), int(value.denominator)) if isinstance(value, Rational) else float(value)


def _falling(unconditional: Rates) -> list[Number]:
    """Check unconditional rates: each in [0, 1] and none above the one before it."""
    rates = [_rate(f"unconditional[{i}]", value) for i, value in enumerate(_listed(unconditional, "unconditional"))]
    for i in range(1, len(rates)):
        if rates[i] > rates[i - 1]:
            raise ValueError(
                f"unconditional[{i}] = {rates[i]}: must be at most {rates[i - 1]}, the rate of the position before it; "
                "rates that rise are conditional, or come from drafts of unequal lengths"
            )
    return rates
