"""Strict verification: speculative sampling, which emits exactly the target's law, or exactly another law that a rule aims at."""

import abc
from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from theory import probs
from theory.probs import Array, RowsLike
from theory.verifiers import base


@final
@dataclass(frozen=True)
class Strict(base.Yielding):
    """Accept with min(1, p/q), replace from norm((p - q)+): induced law p (Leviathan et al., arXiv 2211.17192, Alg. 1).

    Notes
    -----
    The paper's Eq. 1. Acceptance rate Σ min(p, q) = 1 - TV(p, q), the most that an unbiased rule can have
    (Yin et al., arXiv 2411.00841, Theorem 2).

    Examples
    --------
    >>> Strict().acceptance_rate([0.4, 0.6], [0.7, 0.3])
    np.float64(0.7)
    >>> Strict().induced([0.4, 0.6], [0.7, 0.3])
    array([0.4, 0.6])
    """

    name: ClassVar[str] = "strict"
    family: ClassVar[str] = "strict"
    formula: ClassVar[str] = "a = min(1, p/q); r = norm((p - q)+)"
    claim: ClassVar[str] = "always"
    source: ClassVar[str] = "Leviathan et al. 2023, Alg. 1; Chen et al. 2023"

    @property
    def lossless(self) -> bool:
        """Always."""
        return True

    def yielded(self, p: Array, q: Array) -> Array:
        """Give p."""
        return p

    def replaced(self, p: Array, q: Array, accepted: Array, rejected: Array) -> Array:
        """Give R norm((p - q)+): what the target has above the accepted min(p, q)."""
        return probs.share_out(p - accepted, p, rejected)

    def procedure(self, p: Array, q: Array, drafted: Array, rng: np.random.Generator) -> base.Verified:
        """Run Algorithm 1: reject where u > p/q; resample from norm(max(0, p - q))."""
        accepted = rng.random(drafted.shape) * q[drafted] < p[drafted]
        return base.replace(drafted, accepted, np.maximum(p - q, 0), p, rng)


STRICT = Strict()


class Toward(base.TokenVerifier):
    """A rule that verifies strictly toward a law m in the place of the target: a = min(1, m/q), r = norm((m - q)+).

    Its induced law is m, with rejection rate TV(m, q). Write `toward` only. Where nothing is ever rejected, m = q, the
    residual is m by convention.
    """

    @abc.abstractmethod
    def toward(self, p: Array, q: Array) -> Array:
        """Give m for checked rows: rows of the shape of p, or of the shape that p and q broadcast to."""

    def acceptance(self, p: RowsLike, q: RowsLike) -> Array:
        """Give min(1, m/q)."""
        p, q = probs.check_pair(p, q)
        return STRICT.acceptance(self._law(p, q), q)

    def residual(self, p: RowsLike, q: RowsLike) -> Array:
        """Give norm((m - q)+)."""
        p, q = probs.check_pair(p, q)
        return STRICT.residual(self._law(p, q), q)

    def law(self, p: RowsLike, q: RowsLike) -> base.Law:
        """Make m once, then give the law of strict verification."""
        p, q = probs.check_pair(p, q)
        return STRICT.law(self._law(p, q), q)

    def accepted(self, p: Array, q: Array) -> Array:
        """Give min(m, q)."""
        return np.asarray(np.minimum(self.toward(p, q), q))

    def procedure(self, p: Array, q: Array, drafted: Array, rng: np.random.Generator) -> base.Verified:
        """Make m, then verify strictly against it."""
        return verify_toward(self.toward(p, q), q, drafted, rng)

    def _law(self, p: Array, q: Array) -> Array:
        return probs.trust(self.toward(p, q))


def verify_toward(law: Array, q: Array, drafted: Array, rng: np.random.Generator) -> base.Verified:
    """Run Algorithm 1 with a law in the place of the target."""
    accepted = rng.random(drafted.shape) * q[drafted] < law[drafted]
    return base.replace(drafted, accepted, np.maximum(law - q, 0), law, rng)
