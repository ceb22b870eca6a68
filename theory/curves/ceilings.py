"""The curves of rules with a ceiling on the law, from one sort by q/p, and of CoS, from none."""

from typing import Any

import numpy as np

from theory import clipping, probs
from theory.curves.offers import Fast, Quantities, offer
from theory.curves.sums import prefix, rising_order, wide
from theory.probs import Array
from theory.verifiers import CoS, Lenience, Mentored, OvershootCeiling


@offer(Lenience, "lenience", "(0, 1]")
def _(p: Array, q: Array) -> Fast:
    ceilings = Ceilings(*wide(p, q))
    return Fast(ceilings.lenience, ceilings.breakpoints)


@offer(OvershootCeiling, "lam", "(0, 1]")
def _(p: Array, q: Array) -> Fast:
    ceilings = Ceilings(*wide(p, q))
    return Fast(ceilings.overshoot_ceiling, ceilings.breakpoints)


@offer(Mentored, "alpha", "(0, 1]")
def _(p: Array, q: Array, budget: Any = None) -> Fast | None:
    if budget is not None:
        return None
    ceilings = Ceilings(*wide(p, q))
    return Fast(ceilings.mentored, ceilings.floor_breakpoints)


@offer(CoS, "lam", "[0, 1]")
def _(p: Array, q: Array) -> Fast:
    return Fast(lambda values: _cos(*wide(p, q), values), lambda: 0 * p[:0])


class Ceilings:
    """One pair of rows in float64 or Fractions, its tokens with q > p sorted by falling q/p."""

    def __init__(self, p: Array, q: Array) -> None:
        self._p, self._q = p, q
        over = np.flatnonzero(q > p)
        target, draft = p[over], q[over]
        ratio = clipping.likelihood_ratio(target, draft)
        rising = rising_order(ratio)
        order = rising[::-1]
        self._rising = ratio[rising]
        self._target, self._draft = prefix(target[order]), prefix(draft[order])
        self._infinite = int((ratio == np.inf).sum())
        self._drafted = probs.total(q)
        self._distance = self._draft[-1] - self._target[-1]

    def breakpoints(self) -> Array:
        """Give the ratios p/q below 1, in rising order."""
        finite = self._rising[: self._rising.size - self._infinite]
        return np.unique(1 / finite) if finite.size else finite

    def floor_breakpoints(self) -> Array:
        """Give these, and the α at which the floor p/β passes a token, in rising order."""
        pair = clipping.SortedPair(probs.trust(self._p), probs.trust(self._q))
        rejected = pair.levels[pair.lower]
        rejected = rejected[rejected > pair.off_support]
        count = np.searchsorted(pair.levels[~pair.lower][::-1], rejected, side="right")
        alphas = pair.ceiling_level(rejected, count)
        return np.unique(np.concatenate([self.breakpoints(), alphas[alphas < 1]]))

    def _over(self, tops: Array) -> Array:
        """Count the tokens with q/p > c."""
        return self._rising.size - np.searchsorted(self._rising, tops, side="right")

    def _tops(self, values: Array) -> Array:
        if values.dtype == object:
            return np.asarray(1 / values)
        return np.asarray(1 / np.maximum(values, np.finfo(np.float64).tiny))  # as the rules have it, so that it is finite

    def _clipped(self, values: Array, room: float = 0) -> tuple[Array, Array, Array]:
        """Give the ceilings c, how many tokens are above, and the mass cut off there."""
        tops = self._tops(values)
        count = self._over(tops * (1 + room) if room else tops)
        return tops, count, self._draft[count] - tops * self._target[count]

    def _on_the_line(self, rejected: Array, overshoot: Array) -> Quantities:
        left = self._distance - rejected
        if left.dtype != object:
            left = np.maximum(left, 0)
        return {"acceptance_rate": self._drafted - rejected, "total_variation": left, "max_overshoot": overshoot}

    def _largest(self) -> Any:
        """Give the largest finite q/p of the target's support, at least 1."""
        finite = self._rising.size - self._infinite
        return self._rising[finite - 1] if finite else 1 + 0 * self._drafted

    def lenience(self, values: Array) -> Quantities:
        """Evaluate lenience."""
        tops, _, rejected = self._clipped(values)
        return self._on_the_line(rejected, np.minimum(tops, self._largest()))

    def mentored(self, values: Array) -> Quantities:
        """Evaluate mentored decoding: as lenience, but for KL."""
        pair = clipping.SortedPair(*(probs.trust(probs.as_float(row)) for row in (self._p, self._q)))
        rejected = np.maximum(self._clipped(values)[2].astype(np.float64), pair.off_support)
        return self.lenience(values) | {"kl_divergence": clipping.along(pair, rejected, "kl_divergence")}

    def overshoot_ceiling(self, values: Array) -> Quantities:
        """Evaluate the overshoot ceiling in accept form."""
        exact = values.dtype == object
        tops, count, rejected = self._clipped(values, 0 if exact else 4 * float(np.finfo(np.float64).eps))
        rejected = rejected + values * (self._distance - (self._draft[count] - self._target[count]))
        finite = self._rising.size - self._infinite
        below = np.minimum(self._rising.size - count, finite) - 1  # the largest ratio under the ceiling
        some = self._rising[np.maximum(below, 0)] if finite else tops
        mixed = np.where(below >= 0, values + (1 - values) * np.where(below >= 0, some, 1), 1)
        return self._on_the_line(rejected, np.where(count > self._infinite, tops, mixed))


def _cos(p: Array, q: Array, values: Array) -> Quantities:
    """Evaluate CoS, which needs no sort."""
    distance, largest = probs.total(probs.excess(q, p)), clipping.likelihood_ratio(p, q).max()
    overshoot = np.where(values < 1, values + np.where(values < 1, 1 - values, 1) * largest, 1)
    rejected = values * distance
    return {"acceptance_rate": probs.total(q) - rejected, "total_variation": distance - rejected, "max_overshoot": overshoot}
