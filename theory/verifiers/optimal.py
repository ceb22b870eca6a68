"""Optimal verification: the greatest acceptance that any single-draft rule can have at a given divergence from the target.

Both rules verify strictly toward a law clip(q, b p, p/a), the draft between a floor and a ceiling that are multiples of the
target. `theory.frontier` says why these laws, and no others, are best for every divergence at once.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from theory import clipping, parameters, probs
from theory.parameters import Number
from theory.probs import Array
from theory.verifiers import base
from theory.verifiers.collaborative import ceiling
from theory.verifiers.strict import Toward


@final
@dataclass(frozen=True)
class Mentored(Toward):
    """Mentored decoding: induced law max(min(q, p/α), p/β), the greatest acceptance for its KL(p || π).

    Parameters
    ----------
    alpha : float or Fraction, optional
        α in (0, 1]; 1 is strict. Exact on Fractions.
    budget : float or Fraction, optional
        D in [0, inf]: KL(p || π) <= D, nats; 0 is strict. Exactly one of the two is given.

    Notes
    -----
    Tran-Thien, "An optimal lossy variant of speculative decoding" (2023). a = min(1, p/(α q)), r = norm((p/β - q)+), where
    β >= 1 makes Σ (p/β - q)+ = Σ (q - p/α)+ = R. The published code finds α and β by binary search to a tolerance of 0.2 of D;
    here one sort by q/p and cumulative sums give β, and α for a budget, to the last digit.

    By budget, draft on tokens that the target lacks costs nothing directly, since they do not enter KL(p || π): once nothing else
    is rejected, a share of it is accepted (α = 0). The published formula, written for full supports, has no α for that.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> p, q = [F(4, 10), F(3, 10), F(2, 10), F(1, 10)], [F(4, 20), F(5, 20), F(5, 20), F(6, 20)]
    >>> [str(x) for x in Mentored(F(3, 4)).induced(p, q)]
    ['37/105', '37/140', '1/4', '2/15']
    >>> Mentored(budget=0.05).acceptance_rate([0.4, 0.3, 0.2, 0.1], [0.2, 0.25, 0.25, 0.3]).round(6)
    np.float64(0.892793)
    """

    alpha: Number | None = None
    budget: Number | None = None
    name: ClassVar[str] = "mentored"
    family: ClassVar[str] = "optimal"
    formula: ClassVar[str] = "a = min(1, p/(α q)); r = norm((p/β - q)+), β by balance, α given or by KL(p || π) <= D"
    claim: ClassVar[str] = "iff alpha = 1 or budget = 0"
    source: ClassVar[str] = "Tran-Thien 2023 (mentored decoding)"

    def __post_init__(self) -> None:
        if (self.alpha is None) == (self.budget is None):
            raise ValueError(f"alpha = {self.alpha!r}, budget = {self.budget!r}: give one of the two, and not both")
        if self.alpha is not None:
            parameters.check("alpha", self.alpha, "(0, 1]")
        else:
            parameters.check("budget", self.budget, clipping.budgets("reverse_kl"))

    @property
    def lossless(self) -> bool:
        """Where α is 1, or the budget 0."""
        return self.alpha == 1 or self.budget == 0

    @property
    def ceiling(self) -> Number | None:
        """1/α: no token above p/α. A budget puts a ceiling on each pair, but none on all."""
        return None if self.alpha is None else parameters.inverse(self.alpha)

    def toward(self, p: Array, q: Array) -> Array:
        """Give max(min(q, p/α), p/β)."""
        if self.alpha is None:
            return best_law(p, q, self.budget, "reverse_kl")
        if self.alpha == 1:
            return probs.spread(p, q)
        rows, draft = _wide(p), _wide(q)
        top = np.minimum(draft, ceiling(rows, self.alpha))
        floor = np.asarray(clipping.SortedPair(rows, draft).floor(probs.total(draft - top)))
        return np.asarray(np.maximum(top, floor[..., None] * rows).astype(np.result_type(p, q), copy=False))

    def procedure(self, p: Array, q: Array, drafted: Array, rng: np.random.Generator) -> base.Verified:
        """Search for α by the budget and for β by balance, as published but to the last digit; toss for a, replace from r."""
        top = _searched_top(p, q, float(self.budget or 0)) if self.alpha is None else np.minimum(q, ceiling(p, self.alpha))
        accepted = rng.random(drafted.shape) * q[drafted] < top[drafted]
        return base.replace(drafted, accepted, np.maximum(_balanced(p, q, top) * p - q, 0), p, rng)


@final
@dataclass(frozen=True)
class Optimal(Toward):
    """The greatest acceptance that a single-draft rule can have within a divergence budget: law clip(q, b p, p/a).

    Parameters
    ----------
    budget : float or Fraction
        In [0, inf], in the units of the divergence; in [1, inf] for ``"max_overshoot"``. The least budget is strict.
    divergence : str
        A key of `theory.clipping.DIVERGENCES`: ``"kl_divergence"`` (π || p), ``"reverse_kl"`` (p || π), ``"chi_square"``,
        ``"hellinger"``, ``"jensen_shannon"``, ``"total_variation"`` or ``"max_overshoot"``. With the last two, exact on
        Fractions.

    Notes
    -----
    Derived in `theory.frontier`. The budget holds on each pair of rows. For ``"reverse_kl"`` this is mentored decoding by
    budget. For ``"max_overshoot"`` lenience with l = 1/budget has the same acceptance, and for ``"total_variation"`` so has
    every rule on the line TV + R = TV(p, q) (Yin et al., arXiv 2411.00841, Thm 5) that spends the budget.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> p, q = [F(4, 10), F(3, 10), F(2, 10), F(1, 10)], [F(4, 20), F(5, 20), F(5, 20), F(6, 20)]
    >>> Optimal(F(1, 10), "total_variation").acceptance_rate(p, q)
    Fraction(17, 20)
    """

    budget: Number
    divergence: str = "kl_divergence"
    name: ClassVar[str] = "optimal"
    family: ClassVar[str] = "optimal"
    formula: ClassVar[str] = "m = clip(q, b p, p/a), a and b by D(m, p) <= budget; a = min(1, m/q); r = norm((m - q)+)"
    claim: ClassVar[str] = "iff budget = 0 (1 for max_overshoot)"
    source: ClassVar[str] = "theory.frontier; for TV, Yin et al. 2024, Thm 5"

    def __post_init__(self) -> None:
        parameters.check("budget", self.budget, clipping.budgets(self.divergence))

    @property
    def lossless(self) -> bool:
        """Where the budget is the least."""
        return self.budget == clipping.DIVERGENCES[self.divergence].least

    @property
    def ceiling(self) -> Number | None:
        """The budget itself, if it is a finite one of overshoot."""
        return self.budget if self.divergence == "max_overshoot" and self.budget < np.inf else None

    def toward(self, p: Array, q: Array) -> Array:
        """Give clip(q, b p, p/a)."""
        return best_law(p, q, self.budget, self.divergence)


def best_law(p: Array, q: Array, budget: Any, divergence: str) -> Array:
    """Give the law of least rejection within a budget, for checked rows, in their arithmetic."""
    known = clipping.DIVERGENCES[divergence]
    if budget == known.least:
        return probs.spread(p, q)
    if probs.is_exact(p, q) and not known.rational:
        raise ValueError(
            f"budget = {budget!r}: on Fractions the best law within {divergence} is not rational, but for {known.least}"
        )
    rows, draft = _wide(p), _wide(q)
    law = clipping.best_clip(clipping.SortedPair(rows, draft), budget, divergence).law(rows, draft)
    return law.astype(np.result_type(p, q), copy=False)


def _wide(rows: Array) -> Array:
    """Give checked rows in float64, but for Fractions."""
    return rows if probs.is_exact(rows) else probs.trust(rows.astype(np.float64, copy=False))


def _root(function: Callable[[float], float], low: float, high: float) -> float:
    """Give where a function that rises through 0 crosses it, or the end of the range that is nearest."""
    from scipy.optimize import brentq

    if function(low) >= 0:
        return low
    return high if function(high) <= 0 else float(brentq(function, low, high, xtol=1e-300, rtol=1e-14, maxiter=5000))


def _balanced(p: Array, q: Array, top: Array) -> float:
    """Search for 1/β: the floor needs the mass that the ceiling cuts off."""
    rejected = (q - top).sum()
    return _root(lambda b: float(np.maximum(b * p - q, 0).sum() - rejected), 0, 1)


def _searched_top(p: Array, q: Array, budget: float) -> Array:
    """Search for the accepted mass min(q, p/α) with KL(p || π) = budget, or for the share that passes off the support."""
    some, both = p > 0, (p > 0) & (q > 0)

    def spent(top: Array) -> float:
        law = np.maximum(top, _balanced(p, q, top) * p)[some]
        return float((p[some] * np.log(p[some] / law)).sum()) if law.all() else np.inf

    def under(alpha: float) -> Array:
        return np.minimum(q, ceiling(p, alpha))

    def sharing(rejected: float) -> Array:
        return np.where(some, q, rejected * q)

    least = min(float((p[both] / q[both]).min(initial=1)), 1.0)
    if spent(under(least)) > budget:
        return under(_root(lambda alpha: budget - spent(under(alpha)), least, 1))
    return sharing(1 - _root(lambda rejected: budget - spent(sharing(1 - rejected)), 0, 1))
