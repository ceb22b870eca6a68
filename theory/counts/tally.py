"""How many steps did what: the numerators and denominators of the rates."""

from fractions import Fraction
from typing import Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np

from theory.counts.steps import Counts
from theory.counts.totals import MeanLength, NotKnownError, Totals
from theory.probs import Array

Logged: TypeAlias = Counts | Totals | MeanLength
"""What a log can be read as."""

Unit: TypeAlias = Literal["steps", "requests"]
"""What is taken as independent of each other."""


class Sums(NamedTuple):
    """Sums over steps; of a mean length, its averages as if over one step."""

    steps: int
    drafted: int
    accepted: int | Fraction
    emitted: int | Fraction


def sums(data: Logged) -> Sums:
    """Give the sums that every kind of log determines.

    Raises
    ------
    ValueError
        Where there are no steps, or ``data`` is no log.
    """
    if isinstance(data, Counts):
        return Sums(number_of_steps(data), int(data.drafted.sum()), int(data.accepted.sum()), int(data.emitted.sum()))
    if isinstance(data, Totals):
        emitted = data.accepted + data.drafts if data.emitted is None else data.emitted
        return Sums(data.drafts, data.drafted, data.accepted, emitted)
    if isinstance(data, MeanLength):
        return Sums(1, data.gamma, data.mean_accepted, data.mean_accepted + 1)
    raise ValueError(f"counts = {data!r}: must be Counts, Totals or a MeanLength; see theory.counts for what takes which log")


def steps_of(data: Logged, wanted: str) -> Counts:
    """Give the counts by step, which ``wanted`` needs.

    Raises
    ------
    NotKnownError
        For totals and mean lengths, saying what they do not hold.
    ValueError
        For what is no log, or has no steps.
    """
    if isinstance(data, Totals | MeanLength):
        _unknown(data, wanted)
    sums(data)
    return data


def _unknown(data: Totals | MeanLength, wanted: str) -> NoReturn:
    raise NotKnownError(
        f"{wanted} not known: {data} do{'es' * isinstance(data, MeanLength)} not say how many steps kept 0, 1, 2, ... tokens; "
        "a log of steps, totals by position and a histogram do"
    )


def number_of_steps(counts: Counts) -> int:
    """Give the number of steps, which a mean needs.

    Raises
    ------
    ValueError
        Where there are none.
    """
    if not len(counts):
        raise ValueError("counts has 0 steps: there is nothing to average over")
    return len(counts)


def seen_to_reject(counts: Counts) -> Array:
    """Tell in which steps a rejection was seen (at position accepted + 1)."""
    seen: Array = (counts.accepted < counts.drafted) & ~counts.censored
    return seen


def by_position(counts: Logged) -> tuple[list[int], list[int], list[int]]:
    """Give how many steps proposed, judged and accepted each of the positions 1..max drafted.

    Raises
    ------
    ValueError
        Where nothing was drafted, and for totals and mean lengths.
    """
    known = steps_of(counts, "rates by position are")
    if not known.drafted.max(initial=0):
        raise ValueError(f"counts has {len(known)} steps that drafted 0 tokens: rates by position need a proposed token")
    proposed, observed, accepted = by_unit(known, np.zeros(len(known), dtype=np.int64), 1)
    return proposed[0].tolist(), observed[0].tolist(), accepted[0].tolist()


def by_unit(counts: Counts, unit: Array, units: int) -> tuple[Array, Array, Array]:
    """Give how many steps of each unit proposed, judged and accepted each position, each of shape (units, max drafted).

    ``unit`` holds the unit in 0..units - 1 of each step.
    """
    gamma = int(counts.drafted.max())
    proposed = _at_least(counts.drafted, gamma, unit, units)
    accepted = _at_least(counts.accepted, gamma, unit, units)
    seen = seen_to_reject(counts)
    return proposed, accepted + _exactly(counts.accepted[seen], gamma, unit[seen], units)[:, :-1], accepted


def units(counts: Counts, over: Unit) -> tuple[Counts, Array, Array]:
    """Give steps, the unit of each, and how many units of the kind there are: requests, or kinds of steps that are all alike."""
    if over == "requests":
        labels, code = np.unique(np.asarray(counts.request), return_inverse=True)
        return counts, code, np.ones(len(labels), dtype=np.int64)
    widest = int(counts.drafted.max()) + 2
    kind = ((counts.drafted * widest + counts.accepted) * widest + counts.emitted) * 2 + counts.censored
    _, first, times = np.unique(kind, return_index=True, return_counts=True)
    return counts.select(first), np.arange(len(first)), times


def _exactly(values: Array, gamma: int, unit: Array, units: int) -> Array:
    """Count the values that are 0..gamma, shape (units, gamma + 1)."""
    found: Array = np.bincount(unit * (gamma + 1) + values, minlength=units * (gamma + 1)).reshape(units, gamma + 1)
    return found


def _at_least(values: Array, gamma: int, unit: Array, units: int) -> Array:
    """Count the values >= i, for i = 1..gamma, shape (units, gamma)."""
    found: Array = _exactly(values, gamma, unit, units)[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
    return found
