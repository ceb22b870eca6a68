"""SGLang's rule: one coin for all siblings, against the sum of their probabilities."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from theory import parameters, probs
from theory.parameters import Number
from theory.probs import Array
from theory.trees.base import CandidateRule, Chosen, NodeLaw, finish, one, without


@final
@dataclass(frozen=True)
class SummedThreshold(CandidateRule):
    """SGLang's rule: one coin u for all siblings; accept the first c_j with u < Σ_{i<=j} p(c_i)/τ_acc or p(c_j) >= τ_single.

    Parameters
    ----------
    threshold_acc : float or Fraction
        τ_acc in (0, 1].
    threshold_single : float or Fraction
        τ_single in [0, 1]; at 1 only a token that is certain passes by it.

    Notes
    -----
    ``TreeSpeculativeSamplingTargetOnly`` of SGLang (sgl-kernel, speculative_sampling.cuh), with the options
    ``--speculative-accept-threshold-acc`` and ``-single``. With S_j the sum, π(c_j) = min(1, S_j/τ_acc) - min(1, S_{j-1}/τ_acc),
    up to the first c_j that reaches τ_single, which takes all that is left; the rest is p off C, renormalised. Lossless where
    both thresholds are 1, and then the same law as `ZeroAndRenormalise`. With τ_single = 1, π <= p/τ_acc. Cost O(K + V).

    Examples
    --------
    >>> SummedThreshold().induced([0.5, 0.25, 0.25], [1, 2])
    array([0.5 , 0.25, 0.25])
    >>> SummedThreshold(0.5).induced([0.5, 0.25, 0.25], [1])
    array([0.33333333, 0.5       , 0.16666667])
    >>> SummedThreshold(1, 0.25).induced([0.5, 0.25, 0.25], [1, 2])
    array([0., 1., 0.])
    """

    threshold_acc: Number = 1
    threshold_single: Number = 1
    name: ClassVar[str] = "summed-threshold"
    formula: ClassVar[str] = "accept c_j iff u < Σ_{i<=j} p(c_i)/τ_acc or p(c_j) >= τ_single, one u a node; r = norm(p off C)"
    claim: ClassVar[str] = "iff both thresholds are 1"
    source: ClassVar[str] = "SGLang, TreeSpeculativeSamplingTargetOnly"

    def __post_init__(self) -> None:
        parameters.check("threshold_acc", self.threshold_acc, "(0, 1]")
        parameters.check("threshold_single", self.threshold_single, "[0, 1]")

    @property
    def lossless(self) -> bool:
        """Where both thresholds are 1."""
        return self.threshold_acc == self.threshold_single == 1

    def law_at(self, p: Array, tokens: Array) -> NodeLaw:
        """Give the differences of min(1, S_j/τ_acc)."""
        if not tokens.size:
            return NodeLaw(0 * p[tokens], p, one(p))
        bar: Any = parameters.carry(self.threshold_acc, p)
        through = np.minimum(np.cumsum(p[tokens]), bar) / bar  # never above 1, nor an overflow
        sure = np.flatnonzero(p[tokens] >= parameters.carry(self.threshold_single, p))
        if sure.size:
            through[sure[0] :] = one(p)
        acceptance = through.copy()
        acceptance[1:] -= through[:-1]
        rejected = 1 - through[-1]
        return NodeLaw(acceptance, probs.share_out(without(p, tokens), p) if rejected else p, rejected)

    def coins(self, p: Array, tokens: Array, rng: np.random.Generator, size: int) -> Chosen:
        """Run the kernel's loop over siblings."""
        accepted, token = np.zeros(size, dtype=bool), np.empty(size, dtype=np.intp)
        coin, so_far, rejected = rng.random(size), 0.0, np.zeros_like(p)
        for c in tokens:
            so_far += float(p[c])
            accepts = ~accepted & ((coin < so_far / float(self.threshold_acc)) | (p[c] >= float(self.threshold_single)))
            token[accepts] = c
            accepted |= accepts
            rejected[c] = p[c]
        left = np.maximum(p - rejected, 0)
        return finish(accepted, token, left if left.any() else p, rng)
