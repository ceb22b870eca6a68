"""Typical acceptance on a tree, as the paper prints it and as its code runs it."""

from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from theory import parameters, probs
from theory.parameters import Number
from theory.probs import Array, RowsLike
from theory.trees.base import CandidateRule, Chosen, NodeLaw, check_flag, check_row, finish, one, without
from theory.trees.rules.zero_and_renormalise import zero_and_renormalise
from theory.truncation import Eta


@final
@dataclass(frozen=True)
class TreeTypical(CandidateRule):
    """Typical acceptance on a tree: accept c with min(1, p_Θ(c)/τ), τ = min(ε, δ exp(-H(p_Θ))) (the paper's Eq. 28).

    Parameters
    ----------
    epsilon : float or Fraction
        ε in (0, 1].
    delta : float or Fraction, optional
        δ > 0; √ε where it is not given.
    coded : bool
        False, as printed: p_Θ is p on the eta set A = {p >= min(ε, δ exp(-H(p)))}, the chances are read from p_Θ once, and the
        last token comes from p_Θ, candidates rejected by their coins included. True, as the paper's ``evaluate_posterior``:
        min(1, p̃(c)/τ(p̃)), τ computed again on each p̃, last token from p̃.

    Raises
    ------
    ValueError
        On Fractions, for a chance p(c)/τ with an irrational τ. Chances of 0 and 1, and those with τ = ε, are exact; which of them
        holds is decided in float64.

    Notes
    -----
    The paper calls Eq. 28 equal to the indicator 1_A. It is not: p_Θ has the lower entropy, hence τ(p_Θ) can exceed τ(p), and
    p_Θ(c) can lie below it for c in A. This takes a token with δ exp(-H(p)) <= p(c) < p(A) τ(p_Θ), that is, a flat tail outside
    A. Where every p_Θ(c) on A reaches τ(p_Θ), and nowhere else, it is the indicator. The coded form is not one even there, unless
    p is truncated first. EAGLE's code guards H by clamping p at 1e-10 and takes a chance of 1 where τ <= 1e-9; here 0 ln 0 = 0.

    Examples
    --------
    A row on whose allowed set {0, 1} Eq. 28 is not an indicator:

    >>> row = [0.5, 0.14, 0.09, 0.09, 0.09, 0.09]
    >>> TreeTypical(0.25).gate().allowed(row)
    array([ True,  True, False, False, False, False])
    >>> round(float(TreeTypical(0.25).acceptance_rate(row, [1])), 9)
    0.875
    """

    epsilon: Number
    delta: Number | None = None
    coded: bool = False
    name: ClassVar[str] = "tree-typical"
    formula: ClassVar[str] = "a = min(1, p_Θ/τ(p_Θ)), r = p_Θ (coded: p̃ for p_Θ); τ = min(ε, δ exp(-H))"
    claim: ClassVar[str] = "never; measured against the truncated target"
    source: ClassVar[str] = "the paper, Eq. 28; its code, evaluate_posterior with eta"

    def __post_init__(self) -> None:
        self.gate()  # checks epsilon and delta
        check_flag("coded", self.coded)

    def gate(self) -> Eta:
        """Give eta, whose allowed set is A."""
        return Eta(self.epsilon, self.delta)

    def baseline(self, p: RowsLike) -> Array | None:
        """Give the truncated target."""
        return self.gate().truncate(check_row(p))

    def law_at(self, p: Array, tokens: Array) -> NodeLaw:
        """Give Π_{i<j} (1 - a_i) a_j."""
        row = p if self.coded else self.gate().truncate(p)
        acceptance, rejected = 0 * p[tokens], one(p)
        for j, c in enumerate(tokens):
            chance = self._chance(row, int(c))
            acceptance[j] = rejected * chance
            rejected = rejected * (1 - chance)
            if rejected == 0:
                return NodeLaw(acceptance, p if self.coded else row, rejected)
            if self.coded:
                row = probs.share_out(without(p, tokens[: j + 1]), p)
        return NodeLaw(acceptance, row, rejected)

    def _chance(self, row: Array, token: int) -> Any:
        """Give min(1, row(c)/τ(row)), 1 for a token that reaches τ up to rounding."""
        if self.gate().keep(row)[token]:
            return one(row)
        cap, moving = float(self.epsilon), self._delta() * float(np.exp(-probs.entropy(row)))
        if not probs.is_exact(row):
            return row[token] / min(cap, moving)
        if row[token] == 0:
            return 0 * row[token]
        if cap <= moving:
            return row[token] / parameters.carry(self.epsilon, row)
        raise ValueError(
            f"candidate {token} has p = {row[token]} below τ = δ exp(-H) = {moving:.6g}, an irrational threshold: "
            "its acceptance is not a Fraction, so p must hold floats"
        )

    def _delta(self) -> float:
        return float(self.epsilon) ** 0.5 if self.delta is None else float(self.delta)

    def coins(self, p: Array, tokens: Array, rng: np.random.Generator, size: int) -> Chosen:
        """Flip a coin for each candidate in turn."""

        def chance(row: Array, c: int) -> float:
            support = row[row > 0].astype(np.float64)
            threshold = min(float(self.epsilon), self._delta() * float(np.exp((support * np.log(support)).sum())))
            return min(1.0, float(row[c]) / threshold)

        if self.coded:
            return zero_and_renormalise(p, tokens, chance, rng, size)
        kept = np.where(self.gate().allowed(p), p, 0)
        truncated = kept / kept.sum()
        accepted, token = np.zeros(size, dtype=bool), np.empty(size, dtype=np.intp)
        for c in tokens:
            accepts = ~accepted & (rng.random(size) < chance(truncated, c))
            token[accepts] = c
            accepted |= accepts
        return finish(accepted, token, truncated, rng)
