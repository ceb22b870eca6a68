"""The laws clip(q, b p, p/a) of a pair of rows, all of them from one sort by q/p and cumulative sums.

`theory.frontier` derives that these laws, and no others, are where the trade-off between acceptance and divergence is best.
They form one line between the target and the draft. Its parameter is the rejection rate R in [0, TV(p, q)], to which both
levels are tied, because the mass that the ceiling p/a cuts off the draft is the mass that the floor b p needs:

    U(a) = Σ (q - p/a)+ = R = Σ (b p - q)+ = L(b).

U and L are piecewise linear, with a breakpoint at each ratio q/p: sorted once, they are inverted by cumulative sums, and what
a divergence comes to along the line is a third cumulative sum. On Fractions all of it is exact.

Draft on tokens that the target lacks, of mass z = q(p = 0), lies above every ceiling. All of it is cut off while R >= z. Only
when nothing else is cut off, R < z, does the *share* (z - R)/z of it pass: then a = 0 and there is no ceiling.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from theory import divergences, parameters, probs
from theory.probs import Array, RowsLike

__all__ = ["DIVERGENCES", "Clip", "Divergence", "SortedPair", "best_clip", "check_budget"]


Level = Callable[[Array], Array]
"""Of the rejection rate R, shape (..., 1)."""


class Clip(NamedTuple):
    """One law of the family for each pair of rows: clip(q, b p, p/a) on the target's support, ``share`` · q off it."""

    rejection_rate: Any
    """R = Σ (q - π)+; shape (...)."""
    a: Any
    """In [0, 1]: no token of the target's support above p/a; 0 is no ceiling."""
    b: Any
    """In [0, 1]: no token below b p."""
    share: Any
    """In [0, 1]: how much of the draft passes where the target has nothing; 0 where a > 0."""

    def law(self, p: Array, q: Array) -> Array:
        """Give π(x) for checked rows, shape (..., V)."""
        a, b, share = (np.asarray(level)[..., None] for level in (self.a, self.b, self.share))
        with np.errstate(over="ignore"):  # a ceiling above the largest float is none
            top = np.where(a > 0, np.minimum(q, p / np.where(a > 0, a, 1)), q)
        floor = b * p
        if not probs.is_exact(p):  # a floor above 0 stays above it, however small it is
            floor = np.where((b > 0) & (p > 0), np.maximum(floor, np.finfo(np.float64).smallest_subnormal), floor)
        clipped = np.maximum(top, floor)
        return np.where(p > 0, clipped, share * q)


class SortedPair:
    """A pair of rows, or a stack of them, sorted by q/p.

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Rows of the target and of the draft; they broadcast. float32 is taken to float64.

    Notes
    -----
    O(V log V) once for each pair. A quotient q/p above the largest float counts as infinite, as if the target lacked the token;
    and within a budget so do those whose divergence exceeds it, from 1e154 on for chi-square and 1e305 for KL(π || p).
    """

    def __init__(self, p: RowsLike, q: RowsLike) -> None:
        p, q = np.broadcast_arrays(*probs.check_pair(p, q))
        if not probs.is_exact(p):
            p, q = p.astype(np.float64), q.astype(np.float64)
        ratio = likelihood_ratio(p, q)
        order = np.argsort(ratio, axis=-1)
        self.p, self.q, self.ratio = (np.take_along_axis(rows, order, axis=-1) for rows in (p, q, ratio))
        self.lower = np.asarray(self.ratio < 1, dtype=bool)
        below, above = [[_prefix(rows) for rows in (x, y)] for x, y in ((self.p, self.q), (self.p[..., ::-1], self.q[..., ::-1]))]
        self.below_p, self.below_q = below
        self.above_p, self.above_q = above
        infinite = np.asarray(self.ratio == np.inf, dtype=bool)
        self.off_support = _take(self.above_q, infinite.sum(axis=-1, keepdims=True))  # z, shape (..., 1)
        self.distance = np.asarray(probs.total(probs.excess(self.q, self.p)))  # TV(p, q), shape (...)
        # A rejection rate may be above that by its rounding, and by what sums of rows within their tolerance are off by.
        self._room = 0 if probs.is_exact(p) else 1e-12 + abs(probs.total(self.p) - probs.total(self.q))
        self.levels = self._levels(infinite)

    def _levels(self, infinite: Array) -> Array:
        """Give, for each token, the rejection rate at which a level of the line passes its ratio; 0 for the outermost tokens."""
        finite = np.where(infinite, 0, self.ratio)
        low = finite * self.below_p[..., :-1] - self.below_q[..., :-1]
        beyond_p, beyond_q = (sums[..., ::-1][..., 1:] for sums in (self.above_p, self.above_q))
        high = np.where(infinite, self.off_support, beyond_q - finite * beyond_p)
        low, high = np.where(self.lower, low, 0), np.where(self.lower, 0, high)
        high = np.maximum.accumulate(high[..., ::-1], axis=-1)[..., ::-1]  # monotone but for rounding
        return np.asarray(np.where(self.lower, np.maximum.accumulate(low, axis=-1), high) + 0)  # no -0.0

    # --- the two levels -------------------------------------------------------------------------------------------------

    def _reached(self, rejected: Array) -> tuple[Array, Array]:
        """Count the tokens under the floor and over the ceiling at R of shape (..., 1)."""
        reached = np.asarray(self.levels <= rejected, dtype=bool)
        low, high = ((reached & side).sum(axis=-1, keepdims=True) for side in (self.lower, ~self.lower))
        return low, high

    def _floor(self, count: Array) -> tuple[Array, "_Bounded"]:
        """Give the target's mass on the ``count`` tokens under the floor, and b as a function of R."""
        mass, drafted = _take(self.below_p, count), _take(self.below_q, count)
        last, one = _take(self.ratio, np.maximum(count - 1, 0)), 1 + 0 * mass
        return mass, _Bounded(drafted, np.where(mass > 0, mass, 1), np.where(mass > 0, last, one), one)

    def _ceiling(self, count: Array) -> tuple[Array, "_Bounded"]:
        """Give the target's mass on the ``count`` tokens over the ceiling, and 1/a as a function of R; 1 where it is 0."""
        mass, drafted = _take(self.above_p, count), _take(self.above_q, count)
        last, one = _take(self.ratio, np.minimum(self.ratio.shape[-1] - count, self.ratio.shape[-1] - 1)), 1 + 0 * mass
        return mass, _Bounded(-drafted, -np.where(mass > 0, mass, 1), one, np.where(mass > 0, last, one))

    # --- three ways to name a law of the line -----------------------------------------------------------------------------

    def rejecting(self, rejection_rate: Any) -> Clip:
        """Give the law whose rejection rate is R in [0, TV(p, q)], of shape (...); ValueError where there is none."""
        rejected = np.asarray(rejection_rate)[..., None]
        most = np.asarray(self.distance + self._room)[..., None]
        with np.errstate(invalid="ignore"):
            bad = ~np.asarray((rejected >= 0) & (rejected <= most), dtype=bool)
        if bad.any():
            value, distance = (np.broadcast_to(of, bad.shape)[bad][0] for of in (rejected, self.distance[..., None]))
            raise ValueError(f"rejection_rate = {value}: must be a number in [0, {distance}], up to TV(p, q)")
        low, high = self._reached(rejected)
        beyond = rejected < self.off_support
        a = np.where(beyond, 0, 1 / self._ceiling(high)[1](rejected))
        share = np.where(beyond, 1 - rejected / np.where(beyond, self.off_support, 1), 0)
        return Clip(*(level[..., 0][()] for level in (rejected + 0 * self.off_support, a, self._floor(low)[1](rejected), share)))

    def under(self, ceiling: Any) -> Clip:
        """Give the law under the ceiling p/a, for 1/a in [1, inf) of shape (...); ValueError for another."""
        top = np.asarray(ceiling)[..., None]
        for value in top[~np.asarray((top >= 1) & (top < np.inf), dtype=bool)]:
            raise ValueError(f"ceiling = {value}: must be a number in [1, inf)")
        with np.errstate(over="ignore"):
            rejected = np.asarray(probs.total(probs.excess(self.q, top * self.p), keepdims=True))
        floor = self._floor(self._reached(rejected)[0])[1](rejected)
        a = np.broadcast_to(np.asarray(1 / top), rejected.shape)
        return Clip(*(level[..., 0][()] for level in (rejected, a, floor, 0 * rejected)))

    def ceiling_level(self, rejection_rate: Array, count: Array) -> Array:
        """Give a for one pair at R >= z of shape (n,), where the ceiling is below ``count`` tokens."""
        return np.asarray(1 / self._ceiling(count[:, None])[1](rejection_rate[:, None])[:, 0])

    def floor(self, rejection_rate: Any) -> Any:
        """Give b alone at R in [0, TV(p, q)], of shape (...)."""
        rejected = np.asarray(rejection_rate)[..., None]
        return self._floor(self._reached(rejected)[0])[1](rejected)[..., 0][()]

    def within(self, budget: Any, generator: "Generator") -> Clip:
        """Give the law of least rejection rate among those with Σ p f(π/p) <= budget, of shape (...); floats only.

        The divergence at every breakpoint comes from cumulative sums; within the one segment that holds the answer, where no
        token passes a level, R is the least float that keeps the budget.
        """
        limit = np.asarray(budget, dtype=np.float64)[..., None]
        along = _Along(self, generator)
        order = np.argsort(self.levels, axis=-1, kind="stable")  # two runs, which it merges
        levels, lower = (np.take_along_axis(values, order, axis=-1) for values in (self.levels, self.lower))
        low, high = (_continued(side.cumsum(axis=-1)) for side in (lower, ~lower))
        levels = _continued(levels)
        levels[..., -1] = np.maximum(levels[..., -1], self.distance)
        keeps = along(low, high)(levels) <= limit
        keeps[..., -1] = True  # the target itself, whose divergence may have been rounded off 0
        place = keeps.argmax(axis=-1)[..., None]
        before = np.maximum(place - 1, 0)
        levels, low, high = (np.broadcast_to(values, keeps.shape) for values in (levels, low, high))
        low, high = _take(low, before), _take(high, before)
        spent = along(low, high)
        least = _least(lambda rejected: spent(rejected) <= limit, _take(levels, before), _take(levels, place))
        return self.rejecting(least[..., 0])


@dataclass(frozen=True, slots=True)
class _Bounded:
    """A level (R + Q) / P of the line, between the last ratio that it has passed and 1."""

    drafted: Array
    mass: Array
    least: Array
    most: Array

    def __call__(self, rejected: Array) -> Array:
        return np.asarray(np.minimum(np.maximum((rejected + self.drafted) / self.mass, self.least), self.most))


class _Along:
    """A divergence Σ p f(π/p) along the line of a sorted pair, from cumulative sums of terms that are all positive."""

    def __init__(self, pair: SortedPair, generator: "Generator") -> None:
        self._pair, self._generator = pair, generator
        some = (pair.p > 0) & (pair.ratio < np.inf)
        excess = np.divide(pair.q - pair.p, pair.p, out=np.zeros_like(pair.p), where=some)
        with np.errstate(divide="ignore", over="ignore"):
            terms = np.where(some, pair.p, 0) * generator.f(np.where(some, pair.ratio, 1), excess)
        # Summed from the middle outwards, so that the outermost terms, which may be huge, do not swallow the others.
        self._below = _prefix(np.where(pair.lower, terms, 0)[..., ::-1])[..., ::-1]
        self._above = _prefix(np.where(pair.lower, 0, terms))[..., ::-1]

    def __call__(self, low: Array, high: Array) -> Level:
        """Give the divergence as a function of R where the floor is above ``low`` tokens and the ceiling below ``high``."""
        pair, slope, f = self._pair, self._generator.slope, self._generator.f
        middle = _take(self._below, low) + _take(self._above, high)
        (under, floor), (over, ceiling) = pair._floor(low), pair._ceiling(high)
        mass = np.stack([under, over])
        levels = _Bounded(*(np.stack([getattr(side, name) for side in (floor, ceiling)]) for name in _Bounded.__slots__))
        beyond = pair.off_support if pair.off_support.any() else None

        def spent(rejected: Array) -> Array:
            ratio = levels(rejected)
            with np.errstate(divide="ignore", over="ignore"):
                value = middle + (mass * f(ratio, ratio - 1)).sum(axis=0)
            if beyond is None:
                return np.asarray(value)
            off = np.maximum(beyond - rejected, 0)
            return np.asarray(value + np.where(off > 0, slope * np.where(off > 0, off, 1), 0))

        return spent


def likelihood_ratio(p: Array, q: Array) -> Array:
    """Give q(x)/p(x): inf where p(x) = 0 < q(x), and 1 where neither has the token, which is then never clipped."""
    some = np.asarray(p > 0, dtype=bool)
    with np.errstate(over="ignore"):
        if some.all():
            return np.asarray(q / p)
        ratio = q / np.where(some, p, 1)
    return np.where(some, ratio, np.where(q > 0, np.inf, ratio + 1))


def _prefix(rows: Array) -> Array:
    """Give the sums of the first 0, 1, ..., V entries; shape (..., V + 1)."""
    return np.concatenate([0 * rows[..., :1], np.cumsum(rows, axis=-1)], axis=-1)


def _continued(rows: Array) -> Array:
    """Repeat the last entry."""
    return np.concatenate([rows, rows[..., -1:]], axis=-1)


def _take(values: Array, index: Array) -> Array:
    lead = np.broadcast_shapes(values.shape[:-1], index.shape[:-1])
    full, places = (np.broadcast_to(array, (*lead, array.shape[-1])) for array in (values, index))
    return np.take_along_axis(full, places, axis=-1)


def _least(holds: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Give the least float in (low, high] where ``holds`` is true, by halving the range of *floats*: at most 64 steps."""
    below, above = np.array(low).view(np.int64), np.array(high).view(np.int64)  # as integers, floats >= 0 keep their order
    while (above - below > 1).any():
        middle = below + (above - below) // 2
        good = np.asarray(holds(middle.view(np.float64)), dtype=bool)
        below, above = np.where(good, below, middle), np.where(good, middle, above)
    return above.view(np.float64)


# --- divergences --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Generator:
    """A convex f >= 0 with f(1) = f'(1) = 0, of the divergence Σ p f(π/p)."""

    f: Callable[[Array, Array], Array]
    """Of the ratio t and of t - 1, which near t = 1 has digits that t has lost."""
    slope: float
    """f'(∞), what a unit of mass costs where p is 0."""


NEAR = 0.004
"""Distance of π/p from 1 within which generators are summed as series, which there are good to 1e-15."""


def _log_excess(x: Array) -> Array:
    """Give ln(1 + x) - x, with all its digits near 0."""
    near = np.abs(x) < NEAR
    y = np.where(near, x, 0)
    series = y * y * (-1 / 2 + y * (1 / 3 + y * (-1 / 4 + y * (1 / 5 + y * (-1 / 6 + y / 7)))))
    return np.asarray(np.where(near, series, np.log1p(x) - x))


def _kl(t: Array, x: Array) -> Array:
    near = np.abs(x) < NEAR
    some = np.where(t > 0, t, 1)
    return np.where(near, (1 + x) * _log_excess(np.where(near, x, 0)) + np.where(near, x, 0) ** 2, some * np.log(some) - x)


def _reverse_kl(t: Array, x: Array) -> Array:
    return np.where(np.abs(x) < NEAR, -_log_excess(x), x - np.log(t))


def _chi_square(t: Array, x: Array) -> Array:
    return np.asarray(x * x)


def _hellinger(t: Array, x: Array) -> Array:
    return np.asarray((x / (np.sqrt(t) + 1)) ** 2 / 2)


def _jensen_shannon(t: Array, x: Array) -> Array:
    near = np.abs(x) < NEAR
    y = np.where(near, x, 0)
    series = (1 + y) * _log_excess(y) - (2 + y) * _log_excess(y / 2) + y * y / 2
    some = np.where(t > 0, t, 1)
    return np.where(near, series, np.where(t > 0, some * np.log(2 / (1 + 1 / some)), 0) - np.log1p(x / 2)) / 2


@dataclass(frozen=True)
class Divergence:
    """What a budget may be in, and how the law within a budget is found."""

    measure: Callable[[RowsLike, RowsLike], Any]
    """Of the induced law and the target."""
    best: Callable[[SortedPair, Any], Clip]
    generator: Generator | None = None
    """The convex function, where the law within a budget is found through it."""
    least: int = 0
    """The budget that only the target itself keeps."""
    rational: bool = False
    """Whether the best law is a rational function of rows and budget, and exact on Fractions."""


def _smooth(
    measure: Callable[[RowsLike, RowsLike], Any], f: Callable[[Array, Array], Array], slope: float, power: int = 1
) -> Divergence:
    """Make a divergence that is a root of Σ p f(π/p)."""
    generator = Generator(f, slope)

    def within(pair: SortedPair, budget: Any) -> Clip:
        with np.errstate(over="ignore"):  # a budget above the largest float is none
            return pair.within(np.asarray(budget, dtype=np.float64) ** power, generator)

    return Divergence(measure, within, generator)


def _by_total_variation(pair: SortedPair, budget: Any) -> Clip:
    return pair.rejecting(np.where(budget >= pair.distance, 0 * pair.distance, pair.distance - budget))


def _by_max_overshoot(pair: SortedPair, budget: Any) -> Clip:
    without = np.asarray(np.asarray(budget) == np.inf)
    capped, free = pair.under(np.where(without, 1, budget)), pair.rejecting(0 * pair.off_support[..., 0])
    return Clip(*(np.where(without, one, other)[()] for one, other in zip(free, capped, strict=True)))


DIVERGENCES: dict[str, Divergence] = {
    "kl_divergence": _smooth(divergences.kl_divergence, _kl, np.inf),
    "reverse_kl": _smooth(lambda induced, p: divergences.kl_divergence(p, induced), _reverse_kl, 1),
    "chi_square": _smooth(divergences.chi_square, _chi_square, np.inf),
    "hellinger": _smooth(divergences.hellinger, _hellinger, 0.5, power=2),
    "jensen_shannon": _smooth(divergences.jensen_shannon, _jensen_shannon, np.log(2) / 2),
    "total_variation": Divergence(divergences.total_variation, _by_total_variation, rational=True),
    "max_overshoot": Divergence(divergences.max_overshoot, _by_max_overshoot, least=1, rational=True),
}
"""Name to divergence of an induced law π from the target p, in the units of `theory.divergences`.

=============== ==================================== ==================== ================
kl_divergence   KL(π || p), nats                      budget in [0, inf]   f'(∞) = inf
reverse_kl      KL(p || π), nats                      budget in [0, inf]   f'(∞) = 0
chi_square      Σ (π - p)²/p                          budget in [0, inf]   f'(∞) = inf
hellinger       sqrt(½ Σ (√π - √p)²)                  budget in [0, inf]   f'(∞) = ½
jensen_shannon  ½ KL(π || m) + ½ KL(p || m), nats     budget in [0, inf]   f'(∞) = ½ ln 2
total_variation ½ Σ |π - p|                           budget in [0, inf]   f'(∞) = ½
max_overshoot   max π/p                               budget in [1, inf]   a ceiling
=============== ==================================== ==================== ================
"""


LARGEST = float(np.finfo(np.float64).max)
"""What a finite budget above it counts for on floats."""


def check_budget(budget: Any, divergence: str) -> None:
    """Raise unless the divergence exists and each budget is a number that it can be.

    Examples
    --------
    >>> check_budget(0.5, "max_overshoot")
    Traceback (most recent call last):
    ValueError: budget = 0.5: must be a number in [1, inf]
    """
    interval = budgets(divergence)
    for value in np.asarray(budget, dtype=object).ravel():
        parameters.check("budget", value, interval)


def budgets(divergence: str) -> str:
    """Give the interval that a budget of a divergence may be in.

    Examples
    --------
    >>> budgets("max_overshoot")
    '[1, inf]'
    """
    parameters.check_choice("divergence", divergence, DIVERGENCES)
    return f"[{DIVERGENCES[divergence].least}, inf]"


def best_clip(pair: SortedPair, budget: Any, divergence: str) -> Clip:
    """Give the law of least rejection rate within a checked budget, of shape (...)."""
    known = DIVERGENCES[divergence]
    if probs.is_exact(pair.p):
        values = _each(lambda value: value if value == np.inf else parameters.carry(value, pair.p), budget, object)
    else:
        values = _each(lambda value: value if value == np.inf else float(min(value, LARGEST)), budget, np.float64)
    clip = known.best(pair, values)
    strict = np.broadcast_to(np.asarray(values == known.least, dtype=bool), np.shape(clip.rejection_rate))
    if not strict.any():
        return clip
    a, b = (np.where(strict, 1, level)[()] for level in (clip.a, clip.b))
    return clip._replace(a=a, b=b, share=np.where(strict, 0, clip.share)[()])


def _each(function: Callable[[Any], Any], values: Any, dtype: Any) -> Array:
    if isinstance(values, np.ndarray) and values.dtype == dtype == np.float64:
        return values
    return np.asarray(np.vectorize(function, otypes=[dtype])(np.asarray(values, dtype=object)))


def along(pair: SortedPair, rejection_rate: Array, divergence: str) -> Array:
    """Give D(π, p) at rejection rates R of shape (n,) for one pair of rows of floats, by its ranks and cumulative sums."""
    low, high = pair.levels[pair.lower], pair.levels[~pair.lower][::-1]
    counts = [np.searchsorted(side, rejection_rate, side="right")[:, None] for side in (low, high)]
    generator = DIVERGENCES[divergence].generator
    assert generator is not None, divergence
    return _Along(pair, generator)(*counts)(rejection_rate[:, None])[:, 0]
