"""EAGLE's rule: a rejected child's probability becomes 0, and the row is renormalised; lossless without lenience."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from theory import parameters, probs
from theory.parameters import Number
from theory.probs import Array
from theory.trees.base import CandidateRule, Chosen, NodeLaw, finish, one


@final
@dataclass(frozen=True)
class ZeroAndRenormalise(CandidateRule):
    """EAGLE's rule: accept c with min(1, p̃(c)/ℓ), else p̃(c) <- 0 and renormalise; if none is accepted, draw from p̃.

    Parameters
    ----------
    lenience : float or Fraction
        ℓ in (0, 1]. At 1 the rule is lossless, with acceptance p(C).

    Notes
    -----
    ``evaluate_posterior`` of EAGLE (Li et al., arXiv 2401.15077), with the lenience of the paper's code (there ``qx``). The law
    is written with p(c) over the mass left, the procedure with p̃. For one candidate, π(c) = min(1, p(c)/ℓ) and
    π(y) = (1 - π(c)) p(y)/(1 - p(c)) elsewhere. For any number of them π <= p/ℓ, the bound of single-draft lenience. Cost O(K V).

    Examples
    --------
    >>> ZeroAndRenormalise().induced([0.5, 0.25, 0.25], [1, 2])
    array([0.5 , 0.25, 0.25])
    >>> from fractions import Fraction
    >>> golden = [Fraction(5, 10), Fraction(3, 10), Fraction(2, 10)]
    >>> print(*ZeroAndRenormalise(Fraction(1, 2)).induced(golden, [1]))
    2/7 3/5 4/35
    """

    lenience: Number = 1
    name: ClassVar[str] = "zero-and-renormalise"
    formula: ClassVar[str] = "a = min(1, p̃/ℓ), p̃ <- norm(p̃ off c); r = p̃"
    claim: ClassVar[str] = "iff lenience = 1"
    source: ClassVar[str] = "EAGLE, evaluate_posterior; the paper, App. H.1"

    def __post_init__(self) -> None:
        parameters.check("lenience", self.lenience, "(0, 1]")

    @property
    def lossless(self) -> bool:
        """Where ℓ = 1."""
        return self.lenience == 1

    def law_at(self, p: Array, tokens: Array) -> NodeLaw:
        """Give Π_{i<j} (1 - a_i) a_j with a_j = min(1, p(c_j)/(ℓ p(off c_1..c_{j-1})))."""
        lenience = parameters.carry(self.lenience, p)
        acceptance, rejected, rest = 0 * p[tokens], one(p), p.copy()
        for j, c in enumerate(tokens):
            bar = lenience * probs.total(rest)
            if rest[c] >= bar:
                acceptance[j] = rejected
                return NodeLaw(acceptance, p, 0 * rejected)
            chance = rest[c] / bar
            acceptance[j] = rejected * chance
            rejected = rejected * (1 - chance)
            rest[c] = 0 * rest[c]
        return NodeLaw(acceptance, probs.share_out(rest, p), rejected)

    def coins(self, p: Array, tokens: Array, rng: np.random.Generator, size: int) -> Chosen:
        """Run the loop of ``evaluate_posterior``."""
        lenience = float(self.lenience)
        return zero_and_renormalise(p, tokens, lambda residual, c: min(1.0, residual[c] / lenience), rng, size)


LOSSLESS = ZeroAndRenormalise()
"""The rule without lenience."""


def zero_and_renormalise(
    p: Array, tokens: Array, chance: Callable[[Array, int], Any], rng: np.random.Generator, size: int
) -> Chosen:
    """Run EAGLE's loop: accept c with ``chance(p̃, c)``, else set p̃(c) to 0 and renormalise; draw from p̃ at the end."""
    accepted, token = np.zeros(size, dtype=bool), np.empty(size, dtype=np.intp)
    residual = p / p.sum(dtype=np.float64)
    for c in tokens:
        accepts = ~accepted & (rng.random(size) < chance(residual, c))
        token[accepts] = c
        accepted |= accepts
        if accepted.all():
            break
        residual[c] = 0
        residual /= residual.sum()
    return finish(accepted, token, residual, rng)
