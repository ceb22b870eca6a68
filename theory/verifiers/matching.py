"""Matching: the target picks its own token, and the draft is kept where it guessed that token."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from theory import probs
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
    residual_depends_on_draft: ClassVar[bool] = True

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
        p, q = probs.check_pair(p, q)
        tokens = base.check_drafted(drafted, p, q)
        others = np.arange(p.shape[-1]) != tokens[..., None]
        return probs.share_out(p * probs.indicator(others, p), p)

    def procedure(self, p: Array, q: Array, drafted: Array, rng: np.random.Generator) -> base.Verified:
        """Draw the target's token; the draft is accepted where it is the same."""
        token = probs.InverseCDF(p).draw(rng, drafted.shape)
        return base.Verified(token == drafted, token)


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
