"""Matching: the target picks its own token, and the draft is kept where it guessed that token.

`EagleAcceptance` and `ThresholdAcceptance` start from there: rules for fixed candidates, which know no q, relaxed by a lenience
or by thresholds. Here their one candidate is drafted from q; for fixed candidates on a tree, see `theory.trees`.
"""

import abc
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from theory import parameters, probs
from theory.parameters import Number
from theory.probs import Array, RowsLike
from theory.verifiers import base


@final
@dataclass(frozen=True)
class ExactMatch(base.TokenVerifier):
    """Draw y ~ p and keep the draft iff x = y: induced law p for every draft, acceptance Σ p q.

    Notes
    -----
    "Naive sampling" of SpecInfer (arXiv 2305.09781), see Sequoia (arXiv 2402.12374), Section 2.2. Given that x was rejected the
    replacement is p off x, renormalised: the residual depends on the drafted token. Averaged over rejected tokens it is
    norm(p (1 - q)). Lossless, with less acceptance than strict verification unless the draft is one-hot.

    Examples
    --------
    >>> ExactMatch().acceptance_rate([0.6, 0.4], [0.6, 0.4])
    np.float64(0.52)
    >>> ExactMatch().residual_given([0.5, 0.25, 0.25], [1.0, 0.0, 0.0], 0)
    array([0. , 0.5, 0.5])
    """

    name: ClassVar[str] = "exact-match"
    family: ClassVar[str] = "matching"
    formula: ClassVar[str] = "a = p(x); r(·|x) = p off x, renormalised"
    claim: ClassVar[str] = "always"
    source: ClassVar[str] = "Miao et al. 2024 (SpecInfer); Chen et al. 2024 (Sequoia), Sec. 2.2"

    @property
    def residual_depends_on_draft(self) -> bool:
        """Always."""
        return True

    @property
    def lossless(self) -> bool:
        """Always."""
        return True

    def acceptance(self, p: RowsLike, q: RowsLike) -> Array:
        """Give p(x)."""
        p, q = probs.check_pair(p, q)
        return probs.if_drafted(np.minimum(p, 1), q)  # a row within tolerance may hold 1.00001

    def residual(self, p: RowsLike, q: RowsLike) -> Array:
        """Give norm(p (1 - q)), the average of `residual_given` over the rejected tokens."""
        p, q = probs.check_pair(p, q)
        return probs.share_out(p * (1 - np.minimum(q, 1)), p)

    def residual_given(self, p: RowsLike, q: RowsLike, drafted: RowsLike) -> Array:
        """Give p off the drafted token, renormalised; p where p is that token alone and nothing is rejected."""
        return off_drafted(p, q, drafted)

    def procedure(self, p: Array, q: Array, drafted: Array, rng: np.random.Generator) -> base.Verified:
        """Draw the target's token; the draft is accepted where it is the same."""
        token = probs.InverseCDF(p).draw(rng, drafted.shape)
        return base.Verified(token == drafted, token)


class OffDrafted(base.TokenVerifier):
    """A rule that replaces a rejected token from p off that token, renormalised; write `chance` only.

    Averaged over the rejected tokens c, the replacement is p (Σ w - w), renormalised, with w(c) = q(c) (1 - a(c))/(1 - p(c)).
    """

    family: ClassVar[str] = "matching"

    @property
    def residual_depends_on_draft(self) -> bool:
        """Always."""
        return True

    @abc.abstractmethod
    def chance(self, p: Array) -> Array:
        """Give a for probabilities p, at least p and at most 1; q plays no part."""

    def acceptance(self, p: RowsLike, q: RowsLike) -> Array:
        """Give a."""
        p, q = probs.check_pair(p, q)
        return probs.if_drafted(self.chance(p), q)

    def residual(self, p: RowsLike, q: RowsLike) -> Array:
        """Give norm(p (Σ w - w)), the average of `residual_given` over the rejected tokens."""
        p, q = probs.check_pair(p, q)
        return probs.share_out(_from_others(p, q - self.accepted(p, q)), p)

    def replaced(self, p: Array, q: Array, accepted: Array, rejected: Array) -> Array:
        """Give R norm(p (Σ w - w))."""
        return probs.share_out(_from_others(p, q - accepted), p, rejected)

    def residual_given(self, p: RowsLike, q: RowsLike, drafted: RowsLike) -> Array:
        """Give p off the drafted token, renormalised; p where p is that token alone and nothing is rejected."""
        return off_drafted(p, q, drafted)

    def procedure(self, p: Array, q: Array, drafted: Array, rng: np.random.Generator) -> base.Verified:
        """Toss a coin for the one candidate; if it is rejected, set its probability to 0, renormalise, and draw."""
        accepted = self.kept(p, drafted, rng.random(drafted.shape))
        flat = drafted.reshape(-1)
        token, waiting = flat.copy(), np.flatnonzero(~accepted)
        # Draws from p that are not the rejected token have the law of p off it; only for the last few is that row made.
        sampler = probs.InverseCDF(p)
        for _ in range(3):
            token[waiting] = sampler.draw(rng, waiting.size)
            waiting = waiting[token[waiting] == flat[waiting]]
        for c in np.unique(flat[waiting]):
            places = waiting[flat[waiting] == c]
            rest = np.where(np.arange(p.size) == c, 0, p)
            if rest.any():
                token[places] = probs.InverseCDF(rest).draw(rng, places.size)
        return base.Verified(accepted, token.reshape(drafted.shape))

    @abc.abstractmethod
    def kept(self, p: Array, drafted: Array, coin: Array) -> Array:
        """Say which drafted tokens the published procedure keeps under these uniforms."""


@final
@dataclass(frozen=True)
class EagleAcceptance(OffDrafted):
    """EAGLE's rule for one candidate: accept c with min(1, p(c)/l), else draw from p off c, renormalised.

    Parameters
    ----------
    lenience : float or Fraction
        l in (0, 1]; 1 is lossless, and the law of `ExactMatch`.

    Notes
    -----
    ``evaluate_posterior`` of EAGLE (Li et al., arXiv 2401.15077), with the lenience of the paper's code; for one fixed candidate
    it is `theory.trees.ZeroAndRenormalise`. The draft's probability plays no part in it, so that strict verification
    accepts more than l = 1 does unless q is one-hot. π <= p/l, the bound of single-draft lenience.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> print(*EagleAcceptance(F(1, 2)).induced([F(1, 2), F(3, 10), F(1, 5)], [F(0), F(1), F(0)]))
    2/7 3/5 4/35
    """

    lenience: Number
    name: ClassVar[str] = "eagle-acceptance"
    formula: ClassVar[str] = "a = min(1, p(c)/l); r(·|c) = p off c, renormalised"
    claim: ClassVar[str] = "iff lenience = 1"
    source: ClassVar[str] = "Li et al. 2024 (EAGLE), evaluate_posterior; the paper, App. H.1"

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

    def chance(self, p: Array) -> Array:
        """Give min(1, p/l)."""
        return _share(p, self.lenience)

    def kept(self, p: Array, drafted: Array, coin: Array) -> Array:
        """Compare u with p(c)/l."""
        return np.asarray(coin * float(self.lenience) < p[drafted])


@final
@dataclass(frozen=True)
class ThresholdAcceptance(OffDrafted):
    """SGLang's rule for one candidate: accept c if p(c) >= τ_single, else with min(1, p(c)/τ_acc); or draw from p off c.

    Parameters
    ----------
    threshold_acc : float or Fraction
        τ_acc in (0, 1].
    threshold_single : float or Fraction
        τ_single in [0, 1]; at 1 only a token that is certain passes by it.

    Notes
    -----
    ``TreeSpeculativeSamplingTargetOnly`` of SGLang, options ``--speculative-accept-threshold-acc`` and ``-single``; for one fixed
    candidate it is `theory.trees.SummedThreshold`. With τ_single = 1 it is ``EagleAcceptance(τ_acc)``, and π <= p/τ_acc.

    Examples
    --------
    >>> ThresholdAcceptance(1, 0.25).induced([0.5, 0.25, 0.25], [0.0, 1.0, 0.0])
    array([0., 1., 0.])
    """

    threshold_acc: Number
    threshold_single: Number = 1
    name: ClassVar[str] = "threshold-acceptance"
    formula: ClassVar[str] = "a = 1 if p(c) >= τ_single else min(1, p(c)/τ_acc); r(·|c) = p off c, renormalised"
    claim: ClassVar[str] = "iff both thresholds are 1"
    source: ClassVar[str] = "Zheng et al. 2024 (SGLang), TreeSpeculativeSamplingTargetOnly"

    def __post_init__(self) -> None:
        parameters.check("threshold_acc", self.threshold_acc, "(0, 1]")
        parameters.check("threshold_single", self.threshold_single, "[0, 1]")

    @property
    def lossless(self) -> bool:
        """Where both thresholds are 1."""
        return self.threshold_acc == self.threshold_single == 1

    @property
    def ceiling(self) -> Number | None:
        """1/τ_acc where τ_single is 1: no token above p/τ_acc."""
        return parameters.inverse(self.threshold_acc) if self.threshold_single == 1 else None

    def chance(self, p: Array) -> Array:
        """Give 1 where p >= τ_single, elsewhere min(1, p/τ_acc)."""
        sure = p >= parameters.carry(self.threshold_single, p)
        return np.maximum(probs.indicator(sure, p), _share(p, self.threshold_acc))

    def kept(self, p: Array, drafted: Array, coin: Array) -> Array:
        """Compare p(c) with τ_single, and u with p(c)/τ_acc."""
        target = p[drafted]
        return np.asarray((coin * float(self.threshold_acc) < target) | (target >= float(self.threshold_single)))


@final
@dataclass(frozen=True)
class GreedyMatch(base.TokenVerifier):
    """Keep the draft iff it is the target's most probable token: induced law the point mass on that token.

    Notes
    -----
    Verification at temperature 0, as every inference engine has it. Lossless with respect to greedy decoding, not to p. Of
    equally probable tokens the first counts.

    Examples
    --------
    >>> GreedyMatch().induced([0.4, 0.6], [0.7, 0.3])
    array([0., 1.])
    """

    name: ClassVar[str] = "greedy-match"
    family: ClassVar[str] = "matching"
    formula: ClassVar[str] = "a = 1 on argmax p, 0 off it; r = argmax p"
    claim: ClassVar[str] = "toward greedy decoding, always"
    source: ClassVar[str] = "Leviathan et al. 2023, Sec. 2.2 at temperature 0"

    def baseline(self, p: RowsLike) -> Array | None:
        """Give the point mass on the target's most probable token."""
        return probs.most_probable(probs.check_rows(p))

    def acceptance(self, p: RowsLike, q: RowsLike) -> Array:
        """Give 1 on the most probable token, 0 off it."""
        p, q = probs.check_pair(p, q)
        return probs.if_drafted(probs.most_probable(p), q)

    def residual(self, p: RowsLike, q: RowsLike) -> Array:
        """Give the point mass on the most probable token."""
        p, q = probs.check_pair(p, q)
        return probs.spread(probs.most_probable(p), q)

    def procedure(self, p: Array, q: Array, drafted: Array, rng: np.random.Generator) -> base.Verified:
        """Emit the most probable token; the draft is accepted where it is that token."""
        token = np.full(drafted.shape, p.argmax())
        return base.Verified(token == drafted, token)


def off_drafted(p: RowsLike, q: RowsLike, drafted: RowsLike) -> Array:
    """Give p off each drafted token, renormalised; p where p is that token alone."""
    p, q = probs.check_pair(p, q)
    tokens = base.check_drafted(drafted, p, q)
    others = np.arange(p.shape[-1]) != tokens[..., None]
    return probs.share_out(p * probs.indicator(others, p), p)


def _from_others(p: Array, mass: Array) -> Array:
    """Give p(x) Σ_{c != x} w(c) with w = mass/(1 - p), for the mass rejected of each token, which is 0 where p = 1."""
    left = 1 - p
    if not probs.smallest(left) > 0:
        left = np.where(left > 0, left, 1)
    weight = mass / left
    others = probs.in_dtype(np.asarray(probs.total(weight, keepdims=True)), weight) - weight
    return np.asarray(p * np.maximum(others, 0))


def _share(p: Array, bar: Number) -> Array:
    """Give min(1, p/bar), without an overflow."""
    limit: Any = parameters.carry(bar, p)
    if not probs.is_exact(p):
        limit = max(limit, float(np.finfo(p.dtype).tiny))
    return np.asarray(np.minimum(p, limit) / limit)
