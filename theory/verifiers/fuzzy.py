"""Fuzzy speculative decoding: keep whatever is drafted at a position where draft and target are close enough."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from theory import divergences, parameters, probs
from theory.parameters import Number
from theory.probs import Array, RowsLike
from theory.verifiers import base
from theory.verifiers.strict import STRICT


def _coded_jensen_shannon(p: Array, q: Array) -> Any:
    p, q = probs.as_float(p), probs.as_float(q)
    middle = p / 2 + q / 2
    return (divergences.kl_divergence(middle, p) + divergences.kl_divergence(middle, q)) / 2


DIVERGENCES: dict[str, Callable[[Array, Array], Any]] = {
    "js": divergences.jensen_shannon,
    "coded-js": _coded_jensen_shannon,
    "kl": lambda p, q: divergences.kl_divergence(q, p),
    "reverse-kl": divergences.kl_divergence,
    "tv": divergences.total_variation,
}
"""Name to D(p, q). Nats, but for ``tv``, a probability."""

FAILURES = ("target", "strict")


@final
@dataclass(frozen=True)
class FuzzyAcceptance(base.TokenVerifier):
    """Accept every token where D(p, q) <= T; elsewhere replace from p, or verify strictly: induced law q or p by position.

    Parameters
    ----------
    threshold : float or Fraction
        T in [0, inf]; 0 is lossless.
    divergence : str
        D. ``"js"`` is the Jensen-Shannon divergence ½ KL(p || m) + ½ KL(q || m), m = ½ (p + q); ``"kl"`` is KL(q || p), as the
        authors' code has it; ``"reverse-kl"`` is KL(p || q); ``"tv"`` the total variation. ``"coded-js"`` is what their code
        computes under the name of js, ½ KL(m || p) + ½ KL(m || q): larger, and infinite where the supports differ.
    on_failure : str
        ``"target"``, the original: where D > T nothing is accepted, and the token is drawn from p. ``"strict"``: such a position
        is verified strictly, with the same law and the acceptance 1 - TV(p, q) (Xia et al., arXiv 2607.08690, ``r_fuzzy``).

    Notes
    -----
    Holsman et al. (arXiv 2502.20704). The induced law is within T of p at every position. On Fractions the laws are exact; which
    of them holds is decided exactly for ``"tv"`` and for T = 0, and in float64 for the other divergences, which are irrational.
    In floats, a total variation equal to T up to rounding is within T. With ``"strict"`` the rule lies on the best trade-off.

    Examples
    --------
    >>> p, q = [0.4, 0.3, 0.2, 0.1], [0.2, 0.25, 0.25, 0.3]
    >>> FuzzyAcceptance(0.05).induced(p, q)
    array([0.2 , 0.25, 0.25, 0.3 ])
    >>> FuzzyAcceptance(0.04).acceptance_rate(p, q), FuzzyAcceptance(0.04, on_failure="strict").acceptance_rate(p, q)
    (np.float64(0.0), np.float64(0.75))
    """

    threshold: Number
    divergence: str = "js"
    on_failure: str = "target"
    name: ClassVar[str] = "fuzzy-acceptance"
    family: ClassVar[str] = "cascade"
    formula: ClassVar[str] = "a = 1 where D(p, q) <= T; elsewhere a = 0 and r = p (strict: a = min(1, p/q), r = norm((p - q)+))"
    claim: ClassVar[str] = "iff threshold = 0"
    source: ClassVar[str] = "Holsman et al. 2025 (FSD); Xia et al. 2026"

    def __post_init__(self) -> None:
        parameters.check("threshold", self.threshold, "[0, inf]")
        parameters.check_choice("divergence", self.divergence, DIVERGENCES)
        parameters.check_choice("on_failure", self.on_failure, FAILURES)

    @property
    def lossless(self) -> bool:
        """Where T is 0: only a draft equal to the target is then kept whole."""
        return self.threshold == 0

    def near(self, p: Array, q: Array) -> Array:
        """Say for checked rows where D(p, q) <= T; bool, shape (..., 1)."""
        if self.threshold == 0:  # a divergence of nearly equal rows may round to 0
            return np.asarray(np.all(p == q, axis=-1, keepdims=True))
        distance = np.asarray(DIVERGENCES[self.divergence](p, q))[..., None]
        limit: Number = self.threshold
        if distance.dtype != object:
            limit = float(limit) + (4 * float(np.finfo(np.result_type(p, q)).eps) if self.divergence == "tv" else 0)
        elif limit != np.inf:
            limit = parameters.carry(limit, distance)
        return np.asarray(distance <= limit, dtype=bool)

    def acceptance(self, p: RowsLike, q: RowsLike) -> Array:
        """Give 1 where p and q are near, elsewhere 0 or min(1, p/q)."""
        p, q = probs.check_pair(p, q)
        near = self.near(p, q)
        if self.on_failure == "target":
            return probs.if_drafted(probs.spread(probs.indicator(near, q), p), q)
        return np.where(near, probs.indicator(near, q), probs.acceptance_ratio(p, q))

    def residual(self, p: RowsLike, q: RowsLike) -> Array:
        """Give p, or norm((p - q)+) where p and q are verified strictly."""
        p, q = probs.check_pair(p, q)
        if self.on_failure == "target":
            return probs.spread(p, q)
        return np.where(self.near(p, q), p, probs.share_out(probs.excess(p, q), p))

    def law(self, p: RowsLike, q: RowsLike) -> base.Law:
        """Measure once."""
        p, q = probs.check_pair(p, q)
        near = self.near(p, q)
        induced = np.where(near, q, p)
        if self.on_failure == "strict":
            return STRICT.law(probs.trust(induced), q)
        kept = q * probs.indicator(near, q)
        return base.Law(probs.total(kept), probs.total(q - kept), induced)

    def procedure(self, p: Array, q: Array, drafted: Array, rng: np.random.Generator) -> base.Verified:
        """Measure once, then keep all drafts, or none of them, or those that strict verification keeps."""
        if self.near(p, q).all():
            return base.Verified(np.ones(drafted.shape, dtype=bool), drafted.copy())
        if self.on_failure == "target":
            return base.replace(drafted, np.zeros(drafted.shape, dtype=bool), p, p, rng)
        accepted = rng.random(drafted.shape) * q[drafted] < p[drafted]
        return base.replace(drafted, accepted, np.maximum(p - q, 0), p, rng)
