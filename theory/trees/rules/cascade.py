"""SpecCascade on a tree, as the paper prints it and as its code runs it."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from theory import parameters, probs
from theory.parameters import Number
from theory.probs import Array, RowsLike
from theory.trees.base import CandidateRule, Chosen, NodeLaw, check_flag, check_row, finish, one, without
from theory.trees.rules.zero_and_renormalise import zero_and_renormalise
from theory.truncation import MinP


@final
@dataclass(frozen=True)
class TreeCascade(CandidateRule):
    """SpecCascade on a tree: accept the first candidate in A = {p >= p_base max p} (the paper's Eq. 27).

    Parameters
    ----------
    p_base : float or Fraction
        In [0, 1].
    coded : bool
        False, as printed: the last token comes from p_Θ = p 1_A / p(A), at a leaf as after rejections. True, as the paper's
        ``evaluate_posterior``: indicator on p̃ with A taken from p̃, last token from p̃, which reaches outside A.

    Notes
    -----
    The two accept alike: the most probable token is never rejected, so p_base max p̃ scales as p̃ does. Both accept with
    1[C meets A] >= p_Θ(C), which is what lossless verification of p_Θ accepts (the paper's Lemma 3). As in
    `theory.truncation`, a token at the threshold is in A and one outside the support is not, not even for p_base = 0.

    Examples
    --------
    >>> TreeCascade(0.5).induced([0.5, 0.25, 0.125, 0.125], [2, 1])
    array([0., 1., 0., 0.])
    >>> TreeCascade(1).induced([0.5, 0.25, 0.125, 0.125], [1])
    array([1., 0., 0., 0.])
    >>> TreeCascade(1, coded=True).induced([0.5, 0.25, 0.125, 0.125], [2, 3])
    array([0.66666667, 0.33333333, 0.        , 0.        ])
    """

    p_base: Number
    coded: bool = False
    name: ClassVar[str] = "tree-cascade"
    formula: ClassVar[str] = "a = 1 on {p >= p_base max p}, 0 off it; r = p_Θ (coded: p̃)"
    claim: ClassVar[str] = "never; measured against the truncated target"
    source: ClassVar[str] = "the paper, Eq. 27; its code, evaluate_posterior with min_p"

    def __post_init__(self) -> None:
        parameters.check("p_base", self.p_base, "[0, 1]")
        check_flag("coded", self.coded)

    def gate(self) -> MinP:
        """Give min-p, whose allowed set is A."""
        return MinP(self.p_base)

    def baseline(self, p: RowsLike) -> Array | None:
        """Give the truncated target."""
        return self.gate().truncate(check_row(p))

    def law_at(self, p: Array, tokens: Array) -> NodeLaw:
        """Accept the first candidate in A."""
        kept = np.flatnonzero(self.gate().allowed(p)[tokens])
        acceptance, rejected = 0 * p[tokens], one(p)
        if kept.size:
            acceptance[kept[0]], rejected = rejected, 0 * rejected
        if not self.coded:
            return NodeLaw(acceptance, self.gate().truncate(p), rejected)
        return NodeLaw(acceptance, p if kept.size else probs.share_out(without(p, tokens), p), rejected)

    def coins(self, p: Array, tokens: Array, rng: np.random.Generator, size: int) -> Chosen:
        """Look the candidates up one by one."""
        if self.coded:
            return zero_and_renormalise(p, tokens, lambda residual, c: self.gate().allowed(residual)[c], rng, size)
        mask = self.gate().allowed(p)
        for c in tokens:
            if mask[c]:
                return Chosen(np.ones(size, dtype=bool), np.full(size, c, dtype=np.intp))
        return finish(np.zeros(size, dtype=bool), np.empty(size, dtype=np.intp), np.where(mask, p, 0), rng)
