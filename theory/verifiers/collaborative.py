"""Collaborative verification: rules that let target and draft share in the induced law.

All but `ContrastiveCoS` replace from norm((p - q)+), the residual of strict verification. They differ in how much of the
draft's excess over the target they let through: all of a share (CoS), all below a ceiling (lenience), or both.
"""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from theory import parameters, probs
from theory.parameters import Number
from theory.probs import Array, RowsLike
from theory.truncation import MinP
from theory.verifiers import base
from theory.verifiers.strict import Toward


@final
@dataclass(frozen=True)
class Lenience(base.Yielding):
    """Accept with min(1, p/(l q)), replace from norm((p - q)+): the draft up to a ceiling of p/l.

    Parameters
    ----------
    lenience : float or Fraction
        l in (0, 1]; 1 is strict, towards 0 everything is accepted.

    Notes
    -----
    Leviathan et al. (arXiv 2211.17192), App. A.5; the paper's Eq. 9. The induced law is its Eq. 10: with Δ = R / TV(p, q),
    Δ p + (1 - Δ) q where q <= p; q where p < q <= p/l; p/l beyond. Hence TV <= 1 - l and max π/p <= 1/l.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> p, q = [F(4, 10), F(3, 10), F(2, 10), F(1, 10)], [F(4, 20), F(5, 20), F(5, 20), F(6, 20)]
    >>> [str(x) for x in Lenience(F(1, 2)).induced(p, q)]
    ['7/25', '27/100', '1/4', '1/5']
    """

    lenience: Number
    name: ClassVar[str] = "lenience"
    family: ClassVar[str] = "collaborative"
    formula: ClassVar[str] = "a = min(1, p/(l q)); r = norm((p - q)+)"
    claim: ClassVar[str] = "iff lenience = 1"
    source: ClassVar[str] = "Leviathan et al. 2023, App. A.5; the paper, Eq. 9-10"

    def __post_init__(self) -> None:
        parameters.check("lenience", self.lenience, "(0, 1]")

    @property
    def lossless(self) -> bool:
        """Where lenience is 1."""
        return self.lenience == 1

    @property
    def ceiling(self) -> Number:
        """1/l: no token above p/l."""
        return parameters.inverse(self.lenience)

    def yielded(self, p: Array, q: Array) -> Array:
        """Give p/l."""
        return ceiling(p, self.lenience)

    def procedure(self, p: Array, q: Array, drafted: Array, rng: np.random.Generator) -> base.Verified:
        """Run strict verification with l q in the place of q in the comparison."""
        accepted = rng.random(drafted.shape) * q[drafted] * float(self.lenience) < p[drafted]
        return base.replace(drafted, accepted, np.maximum(p - q, 0), p, rng)


@final
@dataclass(frozen=True)
class CoS(base.Yielding):
    """Collaborative decoding via speculation, weighted ensemble: induced law λ p + (1 - λ) q.

    Parameters
    ----------
    lam : float or Fraction
        λ in [0, 1], the weight on the *target*, as in the paper's Eq. 7; 1 is strict.
        **The opposite convention is common**: Fu et al., their code, and Table 4 of the paper weigh the *draft* by λ, so that
        their λ = 0.2 is ``CoS(0.8)``.

    Notes
    -----
    Fu et al. (arXiv 2502.01662); the paper's Eq. 2, 7 and 8. Exact verification of the mixture: the residual norm((m - q)+) is
    norm((p - q)+) for every λ > 0. Rejection rate λ TV(p, q); max π/p is unbounded.

    Examples
    --------
    >>> CoS(0.5).induced([0.4, 0.6], [0.8, 0.2])
    array([0.6, 0.4])
    """

    lam: Number
    name: ClassVar[str] = "cos"
    family: ClassVar[str] = "collaborative"
    formula: ClassVar[str] = "a = min(1, (λ p + (1-λ) q)/q), λ on the target; r = norm((p - q)+)"
    claim: ClassVar[str] = "iff lam = 1"
    source: ClassVar[str] = "Fu et al. 2025; the paper, Eq. 7-8"

    def __post_init__(self) -> None:
        parameters.check("lam", self.lam, "[0, 1]")

    @property
    def lossless(self) -> bool:
        """Where all the weight is on the target."""
        return self.lam == 1

    def yielded(self, p: Array, q: Array) -> Array:
        """Give m = λ p + (1 - λ) q."""
        return mix(p, q, self.lam)

    def replaced(self, p: Array, q: Array, accepted: Array, rejected: Array) -> Array:
        """Give λ (p - q)+, which is R norm((p - q)+) since R = λ TV(p, q)."""
        replaced = probs.excess(p, q)
        replaced *= parameters.carry(self.lam, p)
        return replaced

    def procedure(self, p: Array, q: Array, drafted: Array, rng: np.random.Generator) -> base.Verified:
        """Verify strictly against the mixture."""
        mixture = mix(p, q, self.lam)
        accepted = rng.random(drafted.shape) * q[drafted] < mixture[drafted]
        return base.replace(drafted, accepted, np.maximum(mixture - q, 0), p, rng)


@final
@dataclass(frozen=True)
class ContrastiveCoS(Toward):
    """Collaborative decoding via speculation, contrastive form: induced law m ∝ p / q^μ.

    Parameters
    ----------
    mu : float or Fraction
        μ in [0, 1]; 0 is strict. On Fractions only 0 and 1, where the power is rational.

    Notes
    -----
    Fu et al. (arXiv 2502.01662); the paper's Eq. 3. Exact verification of m, so its own rejection rate TV(q, m) may exceed
    TV(p, q). Without the plausibility mask of contrastive decoding, as in the paper's code. Where the draft gives nothing
    to tokens that the target supports, their weight is infinite: m is then p restricted to them, the limit as
    that q goes to 0.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> p, q = [F(4, 10), F(3, 10), F(2, 10), F(1, 10)], [F(4, 20), F(5, 20), F(5, 20), F(6, 20)]
    >>> [str(x) for x in ContrastiveCoS(1).induced(p, q)]
    ['6/13', '18/65', '12/65', '1/13']
    """

    mu: Number
    name: ClassVar[str] = "contrastive-cos"
    family: ClassVar[str] = "collaborative"
    formula: ClassVar[str] = "m ∝ p/q^μ; a = min(1, m/q); r = norm((m - q)+)"
    claim: ClassVar[str] = "iff mu = 0"
    source: ClassVar[str] = "Fu et al. 2025; the paper, Eq. 3"

    def __post_init__(self) -> None:
        parameters.check("mu", self.mu, "[0, 1]")

    @property
    def lossless(self) -> bool:
        """Where the draft is not held against a token."""
        return self.mu == 0

    def toward(self, p: Array, q: Array) -> Array:
        """Give m ∝ p / q^μ."""
        if self.mu == 0:
            return probs.spread(p, q)
        unseen = (q == 0) & (p > 0)
        if probs.is_exact(p, q):
            if self.mu != 1:
                raise ValueError(f"mu = {self.mu!r}: on Fractions p / q^mu is rational for mu = 0 and mu = 1 only")
            weights = np.where(q > 0, p / np.where(q > 0, q, 1), 0)
        else:
            weights = powers(p, q, 1, -float(self.mu))
        return probs.share_out(np.where(unseen.any(axis=-1, keepdims=True), p * probs.indicator(unseen, p), weights), p)


@final
@dataclass(frozen=True)
class OvershootCeiling(base.ExcessResidual):
    """The ceiling of lenience alone: CoS below p/λ, the ceiling p/λ above (the paper's Section 4, accept form).

    Parameters
    ----------
    lam : float or Fraction
        λ in (0, 1]; 1 is strict.

    Notes
    -----
    The paper writes the law P = λ p + (1 - λ) q where q <= p/λ, else p/λ, whose mass is not 1. In *accept form* it is a rule:
    accept with min(1, P/q), replace from norm((p - q)+). Then max π/p <= 1/λ. Which realisation made the paper's
    Table 1 is not known.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> p, q = [F(4, 10), F(3, 10), F(2, 10), F(1, 10)], [F(4, 20), F(5, 20), F(5, 20), F(6, 20)]
    >>> [str(x) for x in OvershootCeiling(F(2, 5)).induced(p, q)]
    ['32/125', '33/125', '23/100', '1/4']
    """

    lam: Number
    name: ClassVar[str] = "overshoot-ceiling"
    family: ClassVar[str] = "collaborative"
    formula: ClassVar[str] = "a = min(1, P/q), P = λ p + (1-λ) q if q <= p/λ else p/λ; r = norm((p - q)+)"
    claim: ClassVar[str] = "iff lam = 1"
    source: ClassVar[str] = "the paper, Section 4 (accept form)"

    def __post_init__(self) -> None:
        parameters.check("lam", self.lam, "(0, 1]")

    @property
    def lossless(self) -> bool:
        """Where λ is 1."""
        return self.lam == 1

    @property
    def ceiling(self) -> Number:
        """1/λ: no token above p/λ."""
        return parameters.inverse(self.lam)

    def acceptance(self, p: RowsLike, q: RowsLike) -> Array:
        """Give min(1, P/q)."""
        p, q = probs.check_pair(p, q)
        top = ceiling(p, self.lam)
        mixture = mix(probs.acceptance_ratio(p, q), 1, self.lam)
        return np.where(under(q, top), mixture, probs.acceptance_ratio(top, q))

    def procedure(self, p: Array, q: Array, drafted: Array, rng: np.random.Generator) -> base.Verified:
        """Compare u q with P at the drafted token."""
        target, draft, lam = p[drafted], q[drafted], float(self.lam)
        top = ceiling(target, lam)
        yielded = np.where(under(draft, top), mix(target, draft, lam), top)
        return base.replace(drafted, rng.random(drafted.shape) * draft < yielded, np.maximum(p - q, 0), p, rng)


@final
@dataclass(frozen=True)
class AdaptiveInterpolation(base.ExcessResidual):
    """The interpolation of lenience without its ceiling (the paper's Section 4, accept form).

    Parameters
    ----------
    lam : float or Fraction
        λ in (0, 1]; 1 is strict.

    Notes
    -----
    The paper writes the law P = q + Δ (p - q) where q <= p, else λ p + (1 - λ) q, with Δ of Eq. 11 at l = λ; its mass is
    not 1. In accept form, min(1, P/q) with the residual norm((p - q)+), the first piece always accepts, whatever Δ is, and
    the induced law is exactly that of ``CoS(lam)``: the paper's remark that this variant behaves like CoS is an identity.

    Examples
    --------
    >>> AdaptiveInterpolation(0.5).induced([0.4, 0.6], [0.8, 0.2])
    array([0.6, 0.4])
    """

    lam: Number
    name: ClassVar[str] = "adaptive-interpolation"
    family: ClassVar[str] = "collaborative"
    formula: ClassVar[str] = "a = min(1, P/q), P = q + Δ(p - q) if q <= p else λ p + (1-λ) q; r = norm((p - q)+)"
    claim: ClassVar[str] = "iff lam = 1"
    source: ClassVar[str] = "the paper, Section 4 (accept form)"

    def __post_init__(self) -> None:
        parameters.check("lam", self.lam, "(0, 1]")

    @property
    def lossless(self) -> bool:
        """Where λ is 1."""
        return self.lam == 1

    def acceptance(self, p: RowsLike, q: RowsLike) -> Array:
        """Give min(1, P/q): 1 where q <= p, since Δ >= 0, and the mixture's ratio elsewhere."""
        p, q = probs.check_pair(p, q)
        return mix(probs.acceptance_ratio(p, q), 1, self.lam)

    def procedure(self, p: Array, q: Array, drafted: Array, rng: np.random.Generator) -> base.Verified:
        """Compare u q with P at the drafted token, Δ = Σ (q - p/λ)+ / TV(p, q), which the paper's Eq. 11 comes to."""
        distance = np.abs(p - q).sum() / 2
        delta = np.maximum(q - ceiling(p, self.lam), 0).sum() / distance if distance > 0 else 0.0
        target, draft = p[drafted], q[drafted]
        yielded = np.where(draft <= target, draft + delta * (target - draft), mix(target, draft, self.lam))
        return base.replace(drafted, rng.random(drafted.shape) * draft < yielded, np.maximum(p - q, 0), p, rng)


@final
@dataclass(frozen=True)
class HybridCeiling(base.ExcessResidual):
    """The draft on the min-p set, the draft under a ceiling of p/l off it (last row of the paper's Table 6).

    Parameters
    ----------
    p_base : float or Fraction
        Of the min-p set A, in [0, 1].
    lenience : float or Fraction
        l in (0, 1].

    Notes
    -----
    Yield Y = q on A, min(q, p/l) off A; accept with Y/q, replace from norm((p - Y)+), which is norm((p - q)+).
    The ceiling max π/p <= 1/l holds off A only.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> p, q = [F(4, 10), F(3, 10), F(2, 10), F(1, 10)], [F(4, 20), F(5, 20), F(5, 20), F(6, 20)]
    >>> [str(x) for x in HybridCeiling(F(3, 5), F(1, 2)).induced(p, q)]
    ['7/25', '27/100', '1/4', '1/5']
    """

    p_base: Number
    lenience: Number
    name: ClassVar[str] = "hybrid-ceiling"
    family: ClassVar[str] = "collaborative"
    formula: ClassVar[str] = "a = 1 on A, min(1, p/(l q)) off A; r = norm((p - q)+)"
    claim: ClassVar[str] = "never"
    source: ClassVar[str] = "the paper, Table 6"

    def __post_init__(self) -> None:
        parameters.check("p_base", self.p_base, "[0, 1]")
        parameters.check("lenience", self.lenience, "(0, 1]")

    def acceptance(self, p: RowsLike, q: RowsLike) -> Array:
        """Give 1 on A, min(1, p/(l q)) off A."""
        p, q = probs.check_pair(p, q)
        lenient = probs.acceptance_ratio(ceiling(p, self.lenience), q)
        return np.maximum(lenient, probs.indicator(MinP(self.p_base).allowed(p), p))

    def procedure(self, p: Array, q: Array, drafted: Array, rng: np.random.Generator) -> base.Verified:
        """Keep what A allows; toss the lenient coin for the rest; replace from norm((p - Y)+)."""
        allowed = MinP(self.p_base).allowed(p)
        yielded = np.where(allowed, q, np.minimum(q, ceiling(p, self.lenience)))
        accepted = rng.random(drafted.shape) * q[drafted] < yielded[drafted]
        return base.replace(drafted, accepted, np.maximum(p - yielded, 0), p, rng)


def ceiling(p: Array, lenience: Number) -> Array:
    """Give p/l; where the quotient overflows it is above every draft, and 0/l is 0 however small l is."""
    divisor = parameters.carry(lenience, p)
    if not probs.is_exact(p):
        divisor = max(divisor, float(np.finfo(p.dtype).tiny))
    with np.errstate(over="ignore"):
        return np.asarray(p / divisor)


def under(q: Array, top: Array) -> Array:
    """Compare q <= p/l; a draft exactly at the ceiling is under it, with room for the rounding of the quotient."""
    if top.dtype == object:
        return np.asarray(q <= top, dtype=bool)
    return np.asarray(q <= top * (1 + 4 * float(np.finfo(top.dtype).eps)))


def mix(p: Array, q: Array | int, weight: Number) -> Array:
    """Give λ p + (1 - λ) q, which is p to the last digit where λ is 1."""
    lam = parameters.carry(weight, p)
    return np.asarray(lam * p + (1 - lam) * q)


def powers(p: Array, q: Array, a: float, b: float) -> Array:
    """Give p^a q^b, 0 where p or q is, scaled so that the largest is 1; all 0 where the supports do not meet."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.where((p > 0) & (q > 0), a * np.log(p) + b * np.log(q), -np.inf)
    largest = scores.max(axis=-1, keepdims=True)
    return np.asarray(np.exp(scores - np.where(np.isfinite(largest), largest, 0)))
