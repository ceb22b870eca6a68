"""Speculative cascades: where a deferral rule trusts the draft its law stands, elsewhere the target's; both verified strictly.

Narasimhan et al. (arXiv 2405.19261) turn a deferral rule into a law π and run speculative decoding toward π, so that the induced
law is π exactly. By position, π is q or p as a whole; by token, π = q 1_A + q(off A) p, where A holds the tokens that the draft
may emit.

================== ========================================= ==============================================
rule               the draft's law stands                    lossless
================== ========================================= ==============================================
`ChowCascade`      where max q >= 1 - α                      α < 0 (at 0 a one-hot draft still stands)
`DiffCascade`      where max q >= max p - α                  α = -1
`OptCascade`       where max q >= max p - α TV(p, q)         α < -1, since max q - max p <= TV(p, q)
`TokenCascadeV1`   on A = {q(v) >= max p - α}                α = -1
`TokenCascadeV2`   on A = {p(v) >= max p - α}                α < 0
`TokenCascadeV3`   on A = {p(v) >= (1 - α) max p}            never: A holds the most probable token even at α = 0
================== ========================================= ==============================================

By position, a rule lies on the best trade-off, TV(π, p) + R = TV(p, q); by token, in general not. As in `theory.truncation`, what
equals its threshold in exact arithmetic reaches it, and floats get the room of their rounding. The thresholds are taken
literally: where one is 0 or less, tokens of probability 0 reach it too.
"""

import abc
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from theory import divergences, parameters, probs
from theory.parameters import Number
from theory.probs import Array
from theory.truncation import MinP
from theory.verifiers import base
from theory.verifiers.strict import Toward, verify_toward


class Cascade(Toward):
    """A cascade: a law between those of the draft and of the target, with one parameter, α."""

    family: ClassVar[str] = "cascade"
    interval: ClassVar[str] = "[-1, 1]"
    """Where α must be."""
    alpha: Number

    def __post_init__(self) -> None:
        parameters.check("alpha", self.alpha, self.interval)


class PositionCascade(Cascade):
    """A cascade by position: π = q where the draft stands, else p. Write `stands` only."""

    @abc.abstractmethod
    def stands(self, p: Array, q: Array) -> Array:
        """Say for checked rows whether the draft's law stands; bool, shape (..., 1)."""

    def toward(self, p: Array, q: Array) -> Array:
        """Give q where the draft stands, else p."""
        return np.where(self.stands(p, q), q, p)


class TokenCascade(Cascade):
    """A cascade by token: π = q 1_A + q(off A) p. Write `kept` only.

    The acceptance rate is q(A) + Σ_{off A} min(q, q(off A) p), above the q(A) of a gate. TV(π, p) = q(A) TV(q_A, p) and
    KL(π || p) <= q(A) KL(q_A || p), where q_A is q on A, renormalised.
    """

    @abc.abstractmethod
    def kept(self, p: Array, q: Array) -> Array:
        """Give A as a mask for checked rows; bool, of a shape that broadcasts with the rows."""

    def toward(self, p: Array, q: Array) -> Array:
        """Give q 1_A + q(off A) p."""
        law = q * probs.indicator(self.kept(p, q), q)
        deferred = probs.in_dtype(np.asarray(probs.total(q - law, keepdims=True)), q)
        return np.asarray(law + deferred * p)

    def procedure(self, p: Array, q: Array, drafted: Array, rng: np.random.Generator) -> base.Verified:
        """Make π(v) = q(v) (1 - r(v)) + p(v) η with r = 1 off A and η = Σ r q (their Eq. 11), then verify strictly."""
        defers = np.where(self.kept(p, q), 0.0, 1.0)
        share = float((defers * q).sum())
        return verify_toward(q * (1 - defers) + p * share, q, drafted, rng)


@final
@dataclass(frozen=True)
class ChowCascade(PositionCascade):
    """Chow's rule: π = q where max q >= 1 - α, the draft is sure enough, else p.

    Parameters
    ----------
    alpha : float or Fraction
        α in [-1, 1], the cost of asking the target; 1 always keeps the draft, below 0 never does.

    Notes
    -----
    Narasimhan et al. (arXiv 2405.19261), Eq. 2, α in [0, 1] there.

    Examples
    --------
    >>> ChowCascade(0.3).induced([[0.4, 0.6], [0.4, 0.6]], [[0.7, 0.3], [0.5, 0.5]])
    array([[0.7, 0.3],
           [0.4, 0.6]])
    """

    alpha: Number
    name: ClassVar[str] = "chow-cascade"
    formula: ClassVar[str] = "π = q if max q >= 1 - α else p; a = min(1, π/q); r = norm((π - q)+)"
    claim: ClassVar[str] = "iff alpha < 0"
    source: ClassVar[str] = "Narasimhan et al. 2025, Eq. 2"

    @property
    def lossless(self) -> bool:
        """Where no draft is sure enough, not even a one-hot one."""
        return self.alpha < 0

    def stands(self, p: Array, q: Array) -> Array:
        """Compare max q with 1 - α; above 1 nothing reaches it, however little above."""
        alpha, most = parameters.carry(self.alpha, q), q.max(axis=-1, keepdims=True)
        return _reaches(most, np.ones_like(most), alpha, alpha) & (alpha >= 0)


@final
@dataclass(frozen=True)
class DiffCascade(PositionCascade):
    """The rule of confidence differences: π = q where max q >= max p - α, else p.

    Parameters
    ----------
    alpha : float or Fraction
        α in [-1, 1]; 1 always keeps the draft, -1 never does.

    Notes
    -----
    Narasimhan et al. (arXiv 2405.19261), Eq. 5.

    Examples
    --------
    >>> DiffCascade(0.1).induced([[0.4, 0.6], [0.2, 0.8]], [[0.5, 0.5], [0.5, 0.5]])
    array([[0.5, 0.5],
           [0.2, 0.8]])
    """

    alpha: Number
    name: ClassVar[str] = "diff-cascade"
    formula: ClassVar[str] = "π = q if max q >= max p - α else p; a = min(1, π/q); r = norm((π - q)+)"
    claim: ClassVar[str] = "iff alpha = -1"
    source: ClassVar[str] = "Narasimhan et al. 2025, Eq. 5"

    @property
    def lossless(self) -> bool:
        """Where α = -1: above that, a one-hot draft stands beside a flat enough target."""
        return self.alpha == -1

    def stands(self, p: Array, q: Array) -> Array:
        """Compare max q with max p - α."""
        alpha = parameters.carry(self.alpha, p)
        return _reaches(q.max(axis=-1, keepdims=True), p.max(axis=-1, keepdims=True), alpha, alpha)


@final
@dataclass(frozen=True)
class OptCascade(PositionCascade):
    """The plug-in of the optimal rule: π = q where max q >= max p - α TV(p, q), else p.

    Parameters
    ----------
    alpha : float or Fraction
        α, any number: the cost of a rejection, whose rate is TV(p, q) where the draft does not stand.

    Notes
    -----
    Narasimhan et al. (arXiv 2405.19261), Eq. 10, the plug-in of the optimal rule, Eq. 9. Some reproductions take α below 0.
    Since max q - max p <= TV(p, q), an α below -1 lets the draft stand only where it is the target; at -1 a one-hot draft still
    stands beside a flat target.

    Examples
    --------
    >>> OptCascade(0.5).induced([[0.6, 0.4], [0.8, 0.2]], [[0.4, 0.6], [0.6, 0.4]])
    array([[0.4, 0.6],
           [0.8, 0.2]])
    """

    alpha: Number
    name: ClassVar[str] = "opt-cascade"
    formula: ClassVar[str] = "π = q if max q >= max p - α TV(p, q) else p; a = min(1, π/q); r = norm((π - q)+)"
    claim: ClassVar[str] = "iff alpha < -1"
    source: ClassVar[str] = "Narasimhan et al. 2025, Eq. 10"
    interval: ClassVar[str] = "(-inf, inf)"

    @property
    def lossless(self) -> bool:
        """Where α < -1."""
        return self.alpha < -1

    def stands(self, p: Array, q: Array) -> Array:
        """Compare max q with max p - α TV."""
        alpha = parameters.carry(self.alpha, p)
        cost = alpha * np.asarray(divergences.total_variation(p, q))[..., None]
        return _reaches(q.max(axis=-1, keepdims=True), p.max(axis=-1, keepdims=True), cost, alpha)


@final
@dataclass(frozen=True)
class TokenCascadeV1(TokenCascade):
    """Token-specific rule V1: the draft may emit A = {q(v) >= max p - α}.

    Parameters
    ----------
    alpha : float or Fraction
        α in [-1, 1]; 1 always keeps the draft, -1 never does.

    Notes
    -----
    Narasimhan et al. (arXiv 2405.19261), Eq. 11 and 13. A holds what the *draft* finds probable, be it improbable to the target.

    Examples
    --------
    >>> TokenCascadeV1(0.25).induced([0.5, 0.25, 0.25], [0.125, 0.5, 0.375])
    array([0.0625 , 0.53125, 0.40625])
    """

    alpha: Number
    name: ClassVar[str] = "token-cascade-v1"
    formula: ClassVar[str] = "π = q 1_A + q(off A) p, A = {q >= max p - α}; a = min(1, π/q); r = norm((π - q)+)"
    claim: ClassVar[str] = "iff alpha = -1"
    source: ClassVar[str] = "Narasimhan et al. 2025, Eq. 11, 13"

    @property
    def lossless(self) -> bool:
        """Where α = -1: above that, A holds the token of a one-hot draft beside a flat enough target."""
        return self.alpha == -1

    def kept(self, p: Array, q: Array) -> Array:
        """Compare q with max p - α."""
        alpha = parameters.carry(self.alpha, p)
        return _reaches(q, p.max(axis=-1, keepdims=True), alpha, alpha)


@final
@dataclass(frozen=True)
class TokenCascadeV2(TokenCascade):
    """Token-specific rule V2: the draft may emit A = {p(v) >= max p - α}.

    Parameters
    ----------
    alpha : float or Fraction
        α in [-1, 1]; 1 always keeps the draft, below 0 never does.

    Notes
    -----
    Narasimhan et al. (arXiv 2405.19261), Eq. 11 and 14. For α >= 0 the most probable token is in A, and the rule is lossy.

    Examples
    --------
    >>> TokenCascadeV2(0.25).induced([0.5, 0.25, 0.25], [0.125, 0.5, 0.375])
    array([0.125, 0.5  , 0.375])
    >>> TokenCascadeV2(0.0).induced([0.5, 0.25, 0.25], [0.125, 0.5, 0.375])
    array([0.5625 , 0.21875, 0.21875])
    """

    alpha: Number
    name: ClassVar[str] = "token-cascade-v2"
    formula: ClassVar[str] = "π = q 1_A + q(off A) p, A = {p >= max p - α}; a = min(1, π/q); r = norm((π - q)+)"
    claim: ClassVar[str] = "iff alpha < 0"
    source: ClassVar[str] = "Narasimhan et al. 2025, Eq. 11, 14"

    @property
    def lossless(self) -> bool:
        """Where α < 0: the threshold is then above max p."""
        return self.alpha < 0

    def kept(self, p: Array, q: Array) -> Array:
        """Compare p with max p - α; above max p nothing reaches it, however little above."""
        alpha = parameters.carry(self.alpha, p)
        return _reaches(p, p.max(axis=-1, keepdims=True), alpha, alpha) & (alpha >= 0)


@final
@dataclass(frozen=True)
class TokenCascadeV3(TokenCascade):
    """Token-specific rule V3: the draft may emit the min-p set A = {p(v) >= (1 - α) max p}.

    Parameters
    ----------
    alpha : float or Fraction
        α in [0, 1]; 1 always keeps the draft. 0 is not strict: π(y) = q(y) + p(y) (1 - q(y)) for the most probable token y.

    Notes
    -----
    Narasimhan et al. (arXiv 2405.19261), Eq. 11 and 15. ``SpecCascade(1 - alpha, "target")`` is the bare gate: the same law with
    the lower acceptance q(A). (At α = 1, where p_base is 0, the gate leaves out the tokens that p does not have, and this rule
    does not: π = q.)

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> p, q = [F(4, 10), F(3, 10), F(2, 10), F(1, 10)], [F(4, 20), F(5, 20), F(5, 20), F(6, 20)]
    >>> rule = TokenCascadeV3(F(2, 5))
    >>> print(rule.acceptance_rate(p, q), *rule.induced(p, q))
    123/200 21/50 83/200 11/100 11/200
    """

    alpha: Number
    name: ClassVar[str] = "token-cascade-v3"
    formula: ClassVar[str] = "π = q 1_A + q(off A) p, A = {p >= (1-α) max p}; a = min(1, π/q); r = norm((π - q)+)"
    claim: ClassVar[str] = "never"
    source: ClassVar[str] = "Narasimhan et al. 2025, Eq. 11, 15"
    interval: ClassVar[str] = "[0, 1]"

    def kept(self, p: Array, q: Array) -> Array:
        """Compare p with (1 - α) max p."""
        return MinP(1 - self.alpha).keep(p)


def _reaches(value: Array, top: Array, less: Any, alpha: Number) -> Array:
    """Compare value >= top - less, where less is α or a multiple of it, with room for the rounding of the three."""
    if probs.is_exact(value, top):
        return np.asarray(value >= top - less, dtype=bool)
    eps = max(float(np.finfo(rows.dtype).eps) for rows in (value, top))
    top = top.astype(np.float64)
    limit = top - less - 4 * eps * (top + abs(float(alpha)))
    return np.asarray(value >= probs.in_dtype(np.clip(limit, -1, 2), value))  # beyond that it makes no difference
