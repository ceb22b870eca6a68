"""One number for all steps: acceptance rates, mean accepted length, block efficiency; pooled, or as a mean over requests."""

from collections.abc import Callable, Hashable
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

from theory.counts import tally
from theory.counts.steps import Counts
from theory.counts.tally import Logged

if TYPE_CHECKING:
    import pandas as pd


def acceptance_rate(counts: Logged) -> Fraction:
    """Share of the proposed tokens that is accepted: sum accepted / sum drafted, the bonus or replacement token in neither.

    Parameters
    ----------
    counts : Counts, Totals or MeanLength
        Steps, pooled; see `per_request_mean` for the other average.

    Returns
    -------
    Fraction
        In [0, 1], exact.

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
    sums = tally.sums(counts)
    if not sums.drafted:
        raise ValueError(f"counts has {sums.steps} steps that drafted 0 tokens: an acceptance rate needs a proposed token")
    return Fraction(sums.accepted) / sums.drafted


def conditional_acceptance_rate(counts: Logged) -> Fraction:
    """Share of the *judged* tokens that is accepted: sum accepted / (sum accepted + rejections seen), an estimate of α.

    Parameters
    ----------
    counts : Counts
        Steps, pooled.

    Returns
    -------
    Fraction
        In [0, 1], never below `acceptance_rate`; exact.

    Raises
    ------
    ValueError
        Where no verdict was seen; for totals and a mean length, which do not say how many rejections there were.

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
    known = tally.steps_of(counts, "the conditional rate is")
    accepted = int(known.accepted.sum())
    verdicts = accepted + int(tally.seen_to_reject(known).sum())
    if not verdicts:
        raise ValueError(f"counts has {len(known)} steps in which no verdict was seen: a conditional rate needs one")
    return Fraction(accepted, verdicts)


def mean_accepted(counts: Logged) -> Fraction:
    """Mean accepted length E[τ] = sum accepted / steps, in drafted tokens per target call.

    Parameters
    ----------
    counts : Counts, Totals or MeanLength
        Steps, pooled.

    Returns
    -------
    Fraction
        In [0, max drafted], exact.

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
    sums = tally.sums(counts)
    return Fraction(sums.accepted) / sums.steps


def block_efficiency(counts: Logged) -> Fraction:
    """Tokens per target call: sum emitted / steps. E[τ] + 1 if nothing is cut short.

    Parameters
    ----------
    counts : Counts, Totals or MeanLength
        Steps, pooled.

    Returns
    -------
    Fraction
        In [0, max drafted + 1], exact.

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
    sums = tally.sums(counts)
    return Fraction(sums.emitted) / sums.steps


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
    if not callable(statistic):
        raise ValueError(f"statistic = {statistic!r}: must be a function of Counts, such as block_efficiency")
    return _mean_over(statistic, tally.steps_of(counts, "means over requests are").by_request())


def _mean_over(statistic: Callable[[Counts], Fraction], requests: dict[Hashable, Counts]) -> Fraction:
    values = []
    for label, steps in requests.items():
        try:
            values.append(statistic(steps))
        except ValueError as error:
            raise ValueError(f"request {label!r}: {error}") from error
        except TypeError as error:
            raise ValueError(
                f"statistic = {statistic!r}: must be a function of Counts, such as block_efficiency ({error})"
            ) from error
    return sum(values, Fraction(0)) / len(values)


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
        requests                    how many there are, in both rows; None where it is not known which request a step was of
        steps                       target calls, in both rows
        acceptance_rate             accepted / proposed, a probability
        conditional_acceptance_rate accepted / judged, a probability
        mean_accepted               accepted drafts per target call
        block_efficiency            emitted tokens per target call
        truncated                   share of the steps that emitted less than accepted + 1
        censored                    share of the steps whose next verdict was not seen
        =========================== ============================================================================

        The statistics are Fractions; None where one is undefined (a rate, if nothing was drafted or judged in all steps, or in
        all those of some request) or needs the requests, which are not known. ``block_efficiency`` is ``mean_accepted`` + 1
        where ``truncated`` is 0.

    Raises
    ------
    ValueError
        Where there are no steps, and for totals and a mean length, of which `estimates` gives what is known.

    Examples
    --------
    >>> counts = Counts.of([3] * 100 + [0] * 10, drafted=4, request=[0] * 100 + [1] * 10)
    >>> summary(counts)[["average", "requests", "steps", "acceptance_rate", "mean_accepted", "block_efficiency"]]
           average  requests  steps acceptance_rate mean_accepted block_efficiency
    0       pooled         2    110           15/22         30/11            41/11
    1  per_request         2    110             3/8           3/2              5/2
    """
    import pandas as pd

    tally.steps_of(counts, "the summary is")
    requests = None if counts.request is None else counts.by_request()
    table: dict[str, Any] = {"average": ["pooled", "per_request"]}
    table |= {"requests": None if requests is None else len(requests), "steps": len(counts)}
    for name, statistic in _SUMMARISED.items():
        values = [_where_defined(statistic, counts)]
        values.append(None if requests is None else _where_defined(partial(_mean_over, statistic), requests))
        table[name] = pd.Series(values, dtype=object)
    return pd.DataFrame(table)


def _truncated(counts: Counts) -> Fraction:
    return Fraction(int((counts.emitted <= counts.accepted).sum()), tally.number_of_steps(counts))


def _censored(counts: Counts) -> Fraction:
    return Fraction(int(counts.censored.sum()), tally.number_of_steps(counts))


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
