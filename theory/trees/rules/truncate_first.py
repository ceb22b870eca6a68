"""The true baseline of the truncation-based rules: any rule, run on the truncated target."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from theory.probs import Array, RowsLike
from theory.trees.base import CandidateRule, Chosen, NodeLaw, check_row
from theory.trees.rules.zero_and_renormalise import LOSSLESS
from theory.truncation import Truncation


@final
@dataclass(frozen=True)
class TruncateFirst(CandidateRule):
    """The true baseline: any rule with the truncated target p_Θ = p 1_A / p(A) in the place of p (the paper's Eq. 26).

    Parameters
    ----------
    truncation : Truncation
        Gives A.
    rule : CandidateRule
        What then verifies. With the lossless default the induced law is p_Θ and the acceptance p_Θ(C).

    Notes
    -----
    EAGLE's ``logits_processor`` composes so: it warps the row before ``evaluate_posterior`` sees it. Eq. 26 has h = p_Θ(x), since
    the draft is a point mass; the bonus at a leaf comes from p_Θ too.

    Examples
    --------
    >>> from theory.truncation import MinP
    >>> TruncateFirst(MinP(0.5)).induced([0.5, 0.25, 0.125, 0.125], [2, 1])
    array([0.66666667, 0.33333333, 0.        , 0.        ])
    >>> round(float(TruncateFirst(MinP(0.5)).acceptance_rate([0.5, 0.25, 0.125, 0.125], [2, 1])), 6)
    0.333333
    """

    truncation: Truncation
    rule: CandidateRule = LOSSLESS
    name: ClassVar[str] = "truncate-first"
    formula: ClassVar[str] = "p_Θ = p 1_A / p(A) for p"
    claim: ClassVar[str] = "toward the truncated target, where the rule is lossless"
    source: ClassVar[str] = "the paper, Eq. 26"

    def __post_init__(self) -> None:
        if not isinstance(self.truncation, Truncation):
            raise ValueError(f"truncation = {self.truncation!r}: must be a Truncation, such as MinP(0.1)")
        if not isinstance(self.rule, CandidateRule):
            raise ValueError(f"rule = {self.rule!r}: must be a CandidateRule, such as ZeroAndRenormalise()")

    def baseline(self, p: RowsLike) -> Array | None:
        """Give the truncated target."""
        return self.truncation.truncate(check_row(p))

    def law_at(self, p: Array, tokens: Array) -> NodeLaw:
        """Truncate, then give the law of the rule."""
        return self.rule.law_at(self.truncation.truncate(p), tokens)

    def coins(self, p: Array, tokens: Array, rng: np.random.Generator, size: int) -> Chosen:
        """Truncate, then run the rule."""
        kept = np.where(self.truncation.allowed(p), p, 0)
        return self.rule.coins(kept / kept.sum(), tokens, rng, size)
