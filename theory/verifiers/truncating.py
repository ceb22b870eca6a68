"""Truncation-based verification: keep a drafted token iff it lies in an allowed set of the target.

One rule, six answers to the question that papers and codes answer differently: what replaces a rejected token? The
answer is the *fallback*, and it decides the induced law.

========== ======================== ==============================  ==============================================
fallback   replacement r            induced law                     who
========== ======================== ==============================  ==============================================
redraft    q 1_A / q(A)             q 1_A / q(A)                    the paper's Eq. 13: draft again until accepted
target     p                        q 1_A + (1 - q(A)) p            the paper's code; TokenV3 of speculative cascades
truncated  p 1_A / p(A)             q 1_A + (1 - q(A)) p_A          a natural variant; no code known
argmax     the most probable token  q 1_A + (1 - q(A)) δ            Medusa and vLLM
residual   norm((p - q)+)           q 1_A + (1 - q(A)) r            strict verification's residual; jumps at p = q
optimal    norm((p - q 1_A)+)       q 1_A + (1 - q(A)) r            least TV for this acceptance (Yin et al., Thm 4)
========== ======================== ==============================  ==============================================

None is lossless. `TruncationSampling` is what they are measured against: strict verification of the truncated target.
"""

import abc
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from theory import parameters, probs
from theory.parameters import Number
from theory.probs import Array, RowsLike
from theory.truncation import Eta, MinP, Truncation
from theory.verifiers import base
from theory.verifiers.strict import Toward, verify_toward

REDRAFT_ROUNDS = 3
"""Literal redrafts before the rest are drawn from the law that redrafting has."""


def _redraft(p: Array, q: Array, allowed: Array) -> Array:
    # Where the draft has nothing on A (one-hot drafts do that), redrafting would never end: p on A.
    return probs.share_out(q * allowed, lambda: _truncated(p, q, allowed))


def _target(p: Array, q: Array, allowed: Array) -> Array:
    return probs.spread(p, q)


def _truncated(p: Array, q: Array, allowed: Array) -> Array:
    return probs.spread(probs.share_out(p * allowed, p), q)


def _argmax(p: Array, q: Array, allowed: Array) -> Array:
    return probs.spread(probs.most_probable(p), q)


def _residual(p: Array, q: Array, allowed: Array) -> Array:
    return probs.share_out(probs.excess(p, q), p)


def _optimal(p: Array, q: Array, allowed: Array) -> Array:
    return probs.share_out(probs.excess(p, q * allowed), p)


FALLBACKS: dict[str, Callable[[Array, Array, Array], Array]] = {
    "redraft": _redraft,
    "target": _target,
    "truncated": _truncated,
    "argmax": _argmax,
    "residual": _residual,
    "optimal": _optimal,
}
"""Fallback name to replacement law r(p, q, 1_A)."""


class Gate(base.TokenVerifier):
    """What all truncation-based rules share: accept iff x is in A, else fall back. Subclasses name A and the fallback."""

    family: ClassVar[str] = "truncation"
    claim: ClassVar[str] = "never; measured against the truncated target"
    fallback: str

    @abc.abstractmethod
    def gate(self) -> Truncation:
        """Give the truncation whose allowed set is A."""

    def acceptance(self, p: RowsLike, q: RowsLike) -> Array:
        """Give 1_A(x)."""
        p, q = probs.check_pair(p, q)
        return probs.if_drafted(self._kept(p), q)

    def residual(self, p: RowsLike, q: RowsLike) -> Array:
        """Give the fallback's law."""
        p, q = probs.check_pair(p, q)
        return FALLBACKS[self.fallback](p, q, self._kept(p))

    def replaced(self, p: Array, q: Array, accepted: Array, rejected: Array) -> Array:
        """Give R r(x); what is redrafted until it is accepted has the law of what is accepted."""
        if self.fallback != "redraft":
            return super().replaced(p, q, accepted, rejected)
        return probs.share_out(accepted.copy(), lambda: self.baseline(p), rejected)

    def _kept(self, p: Array) -> Array:
        return probs.indicator(self.gate().allowed(p), p)

    def baseline(self, p: RowsLike) -> Array:
        """Give the truncated target p 1_A / p(A), the paper's true baseline."""
        return self.gate().truncate(p)

    def procedure(self, p: Array, q: Array, drafted: Array, rng: np.random.Generator) -> base.Verified:
        """Look each token up in A; redraft until accepted, or draw from the fallback."""
        mask = self.gate().allowed(p)
        accepted = mask[drafted]
        match self.fallback:
            case "redraft" if (q[mask] > 0).any():
                return base.Verified(accepted, _redraft_until_allowed(drafted, mask, q, rng))
            case "argmax":
                return base.Verified(accepted, np.where(accepted, drafted, p.argmax()))
            case "target":
                weights = p
            case "residual":
                weights = np.maximum(p - q, 0)
            case "optimal":
                weights = np.maximum(p - np.where(mask, q, 0), 0)
            case _:  # "truncated", and "redraft" where the draft has nothing on A
                weights = np.where(mask, p, 0)
        return base.replace(drafted, accepted, weights, p, rng)


def _redraft_until_allowed(drafted: Array, mask: Array, q: Array, rng: np.random.Generator) -> Array:
    """Draw from q again and again; a q(A) near 0 would take forever, so the last are drawn from q on A at once."""
    token = drafted.copy()
    sampler = probs.InverseCDF(q)
    for _ in range(REDRAFT_ROUNDS):
        waiting = ~mask[token]
        if not waiting.any():
            return token
        token[waiting] = sampler.draw(rng, int(waiting.sum()))
    waiting = ~mask[token]
    token[waiting] = probs.InverseCDF(np.where(mask, q, 0)).draw(rng, int(waiting.sum()))
    return token


def _check_fallback(fallback: str) -> None:
    parameters.check_choice("fallback", fallback, FALLBACKS)


def _check_truncation(truncation: Truncation) -> None:
    if not isinstance(truncation, Truncation):
        raise ValueError(f"truncation = {truncation!r}: must be a Truncation, such as MinP(0.1)")


@final
@dataclass(frozen=True)
class TruncationVerifier(Gate):
    """Accept iff x is in the allowed set of any truncation; else fall back (the paper's Eq. 12-13).

    Parameters
    ----------
    truncation : Truncation
        Gives A.
    fallback : str
        A key of `FALLBACKS`; see the table at the top of this module.

    Notes
    -----
    With ``"redraft"`` the acceptance is that of the first draft, q(A), and the residual is the law on which redrafting
    ends, q 1_A / q(A). Where q(A) = 0 redrafting would never end; the replacement is then p truncated to A.

    Examples
    --------
    >>> TruncationVerifier(MinP(0.5)).induced([0.5, 0.25, 0.25], [0.25, 0.25, 0.5])
    array([0.25, 0.25, 0.5 ])
    >>> TruncationVerifier(MinP(0.6)).induced([0.5, 0.25, 0.25], [0.25, 0.25, 0.5])
    array([1., 0., 0.])
    """

    truncation: Truncation
    fallback: str = "redraft"
    name: ClassVar[str] = "truncation"
    formula: ClassVar[str] = "a = 1 on A, 0 off A; r by fallback"
    source: ClassVar[str] = "the paper, Eq. 12-13"

    def __post_init__(self) -> None:
        _check_truncation(self.truncation)
        _check_fallback(self.fallback)

    def gate(self) -> Truncation:
        """Give the truncation itself."""
        return self.truncation


@final
@dataclass(frozen=True)
class SpecCascade(Gate):
    """Speculative cascade with a min-p set: accept iff p(x) >= p_base · max p.

    Parameters
    ----------
    p_base : float or Fraction
        In [0, 1].
    fallback : str
        A key of `FALLBACKS`. ``"target"`` gives the law of Narasimhan et al.'s TokenV3 at α = 1 - p_base, and what the
        paper's own code samples; the paper's equations say ``"redraft"``.

    Notes
    -----
    Narasimhan et al. (arXiv 2405.19261), token-specific rule V3; the paper's Eq. 5, 12 and 13.

    Examples
    --------
    >>> SpecCascade(0.5).acceptance_rate([0.4, 0.3, 0.2, 0.1], [0.2, 0.25, 0.25, 0.3])
    np.float64(0.7)
    """

    p_base: Number
    fallback: str = "redraft"
    name: ClassVar[str] = "spec-cascade"
    formula: ClassVar[str] = "a = 1 on {p >= p_base max p}, 0 off it; r by fallback"
    source: ClassVar[str] = "Narasimhan et al. 2025; the paper, Eq. 5, 12-13"

    def __post_init__(self) -> None:
        parameters.check("p_base", self.p_base, "[0, 1]")
        _check_fallback(self.fallback)

    def gate(self) -> Truncation:
        """Give min-p."""
        return MinP(self.p_base)


@final
@dataclass(frozen=True)
class TypicalAcceptance(Gate):
    """Medusa's typical acceptance: accept iff p(x) >= min(ε, δ exp(-H(p))).

    Parameters
    ----------
    epsilon : float or Fraction
        ε in (0, 1].
    delta : float or Fraction, optional
        δ > 0; √ε where it is not given.
    fallback : str
        A key of `FALLBACKS`. ``"argmax"`` is what Medusa and vLLM do; the paper's equations say ``"redraft"``.

    Notes
    -----
    Cai et al. (arXiv 2401.10774), defaults ε = 0.09 and δ = 0.3; the paper's Eq. 6, 12 and 13. The set is that of eta sampling,
    not of locally typical sampling. Medusa compares with ``>``; here a token at the threshold is in.

    Examples
    --------
    >>> TypicalAcceptance(0.25, fallback="argmax").induced([0.4, 0.3, 0.2, 0.1], [0.2, 0.25, 0.25, 0.3])
    array([0.5 , 0.25, 0.25, 0.  ])
    """

    epsilon: Number
    delta: Number | None = None
    fallback: str = "redraft"
    name: ClassVar[str] = "typical-acceptance"
    formula: ClassVar[str] = "a = 1 on {p >= min(ε, δ exp(-H(p)))}, 0 off it; r by fallback"
    source: ClassVar[str] = "Cai et al. 2024 (Medusa); the paper, Eq. 6, 12-13"

    def __post_init__(self) -> None:
        _check_fallback(self.fallback)
        self.gate()  # checks epsilon and delta

    def gate(self) -> Truncation:
        """Give eta."""
        return Eta(self.epsilon, self.delta)


@final
@dataclass(frozen=True)
class TruncationSampling(Toward):
    """The true baseline: strict verification of the truncated target p_Θ = p 1_A / p(A), with induced law p_Θ.

    Parameters
    ----------
    truncation : Truncation
        Gives A.

    Notes
    -----
    The paper's Eq. 4. Acceptance Σ min(p_Θ, q); its difference to that of strict verification is the paper's Lemma 1.

    Examples
    --------
    >>> TruncationSampling(MinP(0.75)).induced([0.4, 0.4, 0.2], [0.1, 0.2, 0.7])
    array([0.5, 0.5, 0. ])
    """

    truncation: Truncation
    name: ClassVar[str] = "truncation-sampling"
    family: ClassVar[str] = "truncation sampling"
    formula: ClassVar[str] = "p_Θ = p 1_A / p(A); a = min(1, p_Θ/q); r = norm((p_Θ - q)+)"
    claim: ClassVar[str] = "toward the truncated target, always"
    source: ClassVar[str] = "the paper, Eq. 4"

    @property
    def lossless(self) -> bool:
        """Where nothing is ever cut off: min-p at 0."""
        return self.truncation == MinP(0)

    def __post_init__(self) -> None:
        _check_truncation(self.truncation)

    def baseline(self, p: RowsLike) -> Array | None:
        """Give the truncated target."""
        return self.truncation.truncate(p)

    def toward(self, p: Array, q: Array) -> Array:
        """Give the truncated target."""
        return self.truncation.truncate(p)

    def procedure(self, p: Array, q: Array, drafted: Array, rng: np.random.Generator) -> base.Verified:
        """Truncate, then verify strictly."""
        kept = np.where(self.truncation.allowed(p), p, 0)
        return verify_toward(kept / kept.sum(), q, drafted, rng)
