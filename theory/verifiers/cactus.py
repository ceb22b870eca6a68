"""Cactus: acceptance raised as far as a bound on the divergence of one constructed law allows."""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar, final

import numpy as np

from theory import parameters, probs
from theory.parameters import Number
from theory.probs import Array, RowsLike
from theory.verifiers import base

FEW = 3
"""Rejected tokens of a row up to which their replacement laws are added up one by one."""


@final
@dataclass(frozen=True)
class Cactus(base.TokenVerifier):
    """Accept n with min(1, γ(n)/q(n)), γ(n) = min(p(n) + √(2 δ p(n) (1 - p(n))), 1); replace from norm((h - q)+), h made for n.

    Parameters
    ----------
    delta : float or Fraction
        δ >= 0, in nats; 0 is strict.

    Raises
    ------
    ValueError
        On Fractions, where a γ that matters is irrational. The law is exact where each token has q <= γ, or γ = 1, or a rational
        root.

    Notes
    -----
    Cactus (arXiv 2604.04987), Thm 2 and Cor. 5. For the drafted n, the law h with h(n) = γ(n), and p(x) (1 - γ(n))/(1 - p(n))
    on other tokens x, has the largest h(n) of all laws with KL(h || p) <= δ, to second order; KL(h || p) <= δ holds where
    γ(n) <= ½ (Cor. 6). That bounds h, **not the induced law**: p = (½, ½), q = (1, 0), δ = 0.02 induces (0.6, 0.4), of divergence
    0.0201. The replacement depends on the rejected token. Averaged and times the rejection rate it is at most (p - q)+, so that
    the rule lies on the best trade-off. The average over K rejected tokens costs O(V log K): their h differ in scale only.

    Examples
    --------
    >>> Cactus(0.02).induced([0.5, 0.5], [1.0, 0.0]).round(12)
    array([0.6, 0.4])
    >>> Cactus(0.02).residual_given([0.5, 0.25, 0.25], [0.8, 0.1, 0.1], 0)
    array([0. , 0.5, 0.5])
    """

    delta: Number
    name: ClassVar[str] = "cactus"
    family: ClassVar[str] = "collaborative"
    formula: ClassVar[str] = "a = min(1, γ/q), γ = min(1, p + √(2 δ p (1-p))); r(·|n) = norm((h - q)+), h = γ on n, ∝ p off n"
    claim: ClassVar[str] = "iff delta = 0"
    source: ClassVar[str] = "Cactus 2026, Thm 2, Cor. 5"

    def __post_init__(self) -> None:
        parameters.check("delta", self.delta, "[0, inf)")

    @property
    def residual_depends_on_draft(self) -> bool:
        """Where δ > 0; at 0 every h is p."""
        return self.delta > 0

    @property
    def lossless(self) -> bool:
        """Where δ is 0."""
        return self.delta == 0

    def acceptance(self, p: RowsLike, q: RowsLike) -> Array:
        """Give min(1, γ/q)."""
        p, q = probs.check_pair(p, q)
        return probs.acceptance_ratio(self._yielded(p, q), q)

    def residual(self, p: RowsLike, q: RowsLike) -> Array:
        """Give the average of `residual_given` over the rejected tokens."""
        p, q = probs.check_pair(p, q)
        return probs.share_out(self._replacements(p, q, self.accepted(p, q)), p)

    def residual_given(self, p: RowsLike, q: RowsLike, drafted: RowsLike) -> Array:
        """Give norm((h - q)+) for the h of the drafted token; p where h is q."""
        p, q = probs.check_pair(p, q)
        tokens = base.check_drafted(drafted, p, q)[..., None]
        rows_p, rows_q = (np.broadcast_to(rows, (*tokens.shape[:-1], rows.shape[-1])) for rows in (p, q))
        target = np.take_along_axis(rows_p, tokens, axis=-1)
        top = self._top(target)
        here = np.arange(p.shape[-1]) == tokens
        return probs.share_out(probs.excess(np.where(here, top, rows_p * _scale(target, top)), rows_q), p)

    def accepted(self, p: Array, q: Array) -> Array:
        """Give min(q, γ)."""
        return np.asarray(np.minimum(self._yielded(p, q), q))

    def replaced(self, p: Array, q: Array, accepted: Array, rejected: Array) -> Array:
        """Give R times the average of `residual_given`."""
        return probs.share_out(self._replacements(p, q, accepted), p, rejected)

    def procedure(self, p: Array, q: Array, drafted: Array, rng: np.random.Generator) -> base.Verified:
        """Toss u against γ(n)/q(n); on a rejection build h for that token and draw from (h - q)+."""
        target = np.minimum(p[drafted].astype(np.float64), 1)
        top = np.minimum(target + math.sqrt(2) * math.sqrt(float(self.delta)) * np.sqrt(target * (1 - target)), 1)
        accepted = rng.random(drafted.shape) * q[drafted] < top
        token = drafted.copy()
        for n in np.unique(drafted[~accepted]):
            places = (drafted == n) & ~accepted
            limit = float(top[places][0])
            h = p * ((1 - limit) / (1 - float(p[n])))
            h[n] = limit
            weights = np.maximum(h - q, 0)
            token[places] = probs.InverseCDF(weights if weights.any() else p).draw(rng, int(places.sum()))
        return base.Verified(np.asarray(accepted), token)

    def _yielded(self, p: Array, q: Array) -> Array:
        """Give γ, or on Fractions min(q, γ), for which fewer roots must be rational."""
        if not probs.is_exact(p, q):
            return self._top(p)
        delta = parameters.carry(self.delta, p)
        keeps = (q <= p) | ((q - p) ** 2 <= 2 * delta * p * (1 - p))
        p, q, keeps = np.broadcast_arrays(p, q, keeps.astype(bool))
        yielded = q.copy()
        yielded[~keeps] = self._top(p[~keeps])
        return yielded

    def _top(self, p: Array) -> Array:
        """Give γ of probabilities p."""
        if p.dtype == object:
            delta = Fraction(parameters.carry(self.delta, p))
            return np.array([_exact_top(x, delta) for x in p.reshape(-1)], dtype=object).reshape(p.shape)
        scale = min(math.sqrt(2) * math.sqrt(float(self.delta)), float(np.finfo(p.dtype).max))
        p = np.minimum(p, 1)  # a row within tolerance may hold 1.00001
        top: Array = np.sqrt(p * (1 - p))
        top *= scale
        top += p
        return np.asarray(np.minimum(top, 1, out=top))

    def _replacements(self, p: Array, q: Array, accepted: Array) -> Array:
        """Give Σ_n R_n norm((h_n - q)+) for R = q - accepted, row by row; a new array."""
        p, q = np.broadcast_arrays(p, q)
        out = np.zeros(p.shape, dtype=np.result_type(p, q))
        rejected = q - accepted
        for where in np.argwhere((rejected > 0).any(axis=-1)):
            place = tuple(where)
            row, tokens = p[place], np.flatnonzero(rejected[place] > 0)
            # Where n is rejected, γ(n) is accepted[n].
            scale = _scale(row[tokens], accepted[place][tokens])
            out[place] = _mean_excess(row, q[place], rejected[place][tokens], scale)
        return out


def _scale(target: Array, top: Array) -> Array:
    """Give (1 - γ)/(1 - p), the factor of h off the drafted token; 1 where p is 1."""
    left = 1 - target
    some = left > 0
    return np.asarray(np.where(some, (1 - top) / np.where(some, left, 1), 1))


def _mean_excess(p: Array, q: Array, mass: Array, scale: Array) -> Array:
    """Give Σ_n m_n norm((s_n p - q)+) for one pair of rows, without forming the terms where they are many.

    With the scales sorted, a token x is in the terms of the scales above q(x)/p(x), a run from its *bin* on. Sums of p and q over
    bins give each Σ (s p - q)+; sums of the weights over the runs give the answer.
    """
    if len(scale) <= FEW:
        return np.asarray(sum(probs.share_out(probs.excess(s * p, q), p, m) for s, m in zip(scale, mass, strict=True)))
    order = np.argsort(scale, kind="stable")
    mass, scale = mass[order], scale[order]
    if p.dtype != object:
        p, q, mass, scale = (values.astype(np.float64) for values in (p, q, mass, scale))
    count = len(scale)
    candidates = np.flatnonzero(q < scale[-1] * p)
    p, q, out = p[candidates], q[candidates], 0 * p
    bins = np.searchsorted(scale, q / p, side="right")
    bins = np.minimum(bins, count - 1)  # where rounding puts the ratio at the largest scale
    sums = np.zeros((2, count), dtype=p.dtype)
    np.add.at(sums[0], bins, p)
    np.add.at(sums[1], bins, q)
    through = np.cumsum(sums, axis=-1)
    # In exact arithmetic Σ (s p - q)+ is at least the rejected mass of its token: a divisor that rounding cannot spoil.
    weight = mass / np.maximum(scale * through[0] - through[1], mass)
    above = np.cumsum(np.stack([weight * scale, weight])[:, ::-1], axis=-1)[:, ::-1]
    out[candidates] = np.maximum(p * above[0][bins] - q * above[1][bins], 0)
    return np.asarray(out)


def _exact_top(p: Fraction, delta: Fraction) -> Fraction:
    if p >= 1 or (p > 0 and 2 * delta * p >= 1 - p):
        return Fraction(1)
    square = 2 * delta * p * (1 - p)
    root = Fraction(math.isqrt(square.numerator), math.isqrt(square.denominator))
    if root * root != square:
        raise ValueError(f"p = {p}, delta = {delta}: √(2 δ p (1-p)) = √({square}) is irrational, so p and q must hold floats")
    return p + root
