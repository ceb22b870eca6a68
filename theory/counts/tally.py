"""How many steps did what: the numerators and denominators of the rates."""

import numpy as np

from theory.counts.steps import Counts
from theory.probs import Array


def number_of_steps(counts: Counts) -> int:
    """Give the number of steps, which a mean needs."""
    if not len(counts):
        raise ValueError("counts has 0 steps: there is nothing to average over")
    return len(counts)


def seen_to_reject(counts: Counts) -> Array:
    """Tell in which steps a rejection was seen (at position accepted + 1)."""
    seen: Array = (counts.accepted < counts.drafted) & ~counts.censored
    return seen


def by_position(counts: Counts) -> tuple[list[int], list[int], list[int]]:
    """Give how many steps proposed, judged and accepted each of the positions 1..max drafted."""
    gamma = int(counts.drafted.max(initial=0))
    if not gamma:
        raise ValueError(f"counts has {len(counts)} steps that drafted 0 tokens: rates by position need a proposed token")
    proposed = _at_least(counts.drafted, gamma)
    accepted = _at_least(counts.accepted, gamma)
    rejected = np.bincount(counts.accepted[seen_to_reject(counts)], minlength=gamma)
    return proposed.tolist(), (accepted + rejected).tolist(), accepted.tolist()


def _at_least(values: Array, gamma: int) -> Array:
    """Count the values >= i, for i = 1..gamma."""
    found: Array = np.bincount(values, minlength=gamma + 1)[::-1].cumsum()[::-1][1:]
    return found
