"""Rules of a user's own, in a file of theirs: what README's section "Your own verifier" shows, and a block rule."""

from dataclasses import dataclass

import theory
from theory.blocks import BlockVerifier, Outcome


@dataclass(frozen=True)
class Mine(theory.TokenVerifier):
    """Lenience above a threshold of the target's own probability, strict verification below it."""

    lenience: float = 1
    least: float = 0

    def acceptance(self, p, q):
        strict = theory.Strict().acceptance(p, q)
        return (p >= self.least) * theory.Lenience(self.lenience).acceptance(p, q) + (p < self.least) * strict

    def residual(self, p, q):
        return theory.Strict().residual(p, q)


@dataclass(frozen=True)
class FirstOnly(BlockVerifier):
    """Judge the first drafted token strictly, and throw the others away."""

    def outcomes(self, draft):
        rows, drafts, tokens = draft.path()
        accepted = theory.Strict().acceptance(rows[0], drafts[0])[tokens[0]]
        return (
            Outcome(1 - accepted, 0, theory.Strict().residual(rows[0], drafts[0])),
            Outcome(accepted, 1, rows[1]),
        )
