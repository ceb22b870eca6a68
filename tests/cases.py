"""The verifiers on which every claim is tested: each rule of the table, at its limits and in between, rational throughout."""

from dataclasses import dataclass
from fractions import Fraction as F

import theory
from theory import probs
from theory.truncation import Epsilon, Eta, MinP, TopK, TopP, Typical
from theory.verifiers import FALLBACKS

RATIONAL = [
    theory.Strict(),
    theory.Lenience(F(2, 5)),
    theory.Lenience(F(1, 100)),
    theory.Lenience(1),
    theory.CoS(F(1, 4)),
    theory.CoS(0),
    theory.CoS(1),
    theory.ContrastiveCoS(1),
    theory.ContrastiveCoS(0),
    theory.OvershootCeiling(F(2, 5)),
    theory.OvershootCeiling(F(3, 4)),
    theory.OvershootCeiling(1),
    theory.AdaptiveInterpolation(F(1, 2)),
    theory.AdaptiveInterpolation(1),
    theory.HybridCeiling(F(1, 2), F(2, 5)),
    theory.HybridCeiling(1, 1),
    *(theory.SpecCascade(F(1, 2), fallback) for fallback in FALLBACKS),
    theory.SpecCascade(0),
    theory.SpecCascade(1),
    *(theory.TypicalAcceptance(F(1, 4), fallback=fallback) for fallback in FALLBACKS),
    theory.TypicalAcceptance(F(1, 10), F(3, 2)),
    theory.TruncationVerifier(TopK(2), "optimal"),
    theory.TruncationVerifier(TopP(F(4, 5)), "argmax"),
    theory.TruncationVerifier(Typical(F(1, 2))),
    theory.TruncationVerifier(Epsilon(F(3, 20)), "truncated"),
    theory.TruncationSampling(MinP(F(1, 2))),
    theory.TruncationSampling(Eta(F(1, 4))),
    theory.TruncationSampling(TopK(1)),
    theory.ExactMatch(),
    theory.GreedyMatch(),
]

FLOATS = [*RATIONAL, theory.ContrastiveCoS(0.1), theory.ContrastiveCoS(0.5), theory.TypicalAcceptance(0.09, 0.3)]
"""Those whose formulas are irrational join here."""

ON_THE_LINE = (
    theory.Strict,
    theory.Lenience,
    theory.CoS,
    theory.OvershootCeiling,
    theory.AdaptiveInterpolation,
    theory.HybridCeiling,
)
"""Rules with TV + R = TV(p, q) on every pair."""

GOLDEN_P = [F(4, 10), F(3, 10), F(2, 10), F(1, 10)]
GOLDEN_Q = [F(4, 20), F(5, 20), F(5, 20), F(6, 20)]


# --- rules that claim to be lossless and are not: the negative controls -------------------------------------------------


@dataclass(frozen=True)
class WrongResidual(theory.TokenVerifier):
    """Strict acceptance, but p itself as the replacement's law: the commonest mistake."""

    def acceptance(self, p, q):
        return theory.Strict().acceptance(p, q)

    def residual(self, p, q):
        return p


@dataclass(frozen=True)
class TwiceLenient(theory.TokenVerifier):
    """Accepts with min(1, 2 p/q)."""

    def acceptance(self, p, q):
        return theory.Lenience(F(1, 2)).acceptance(p, q)

    def residual(self, p, q):
        return theory.Strict().residual(p, q)


@dataclass(frozen=True)
class AnotherDraft(theory.TokenVerifier):
    """Verifies strictly against a draft that is not the one tokens are drawn from: q moved half-way to uniform."""

    def _believed(self, p, q):
        size = q.shape[-1]
        return probs.check_rows((q * size + 1) / (2 * size))

    def acceptance(self, p, q):
        return theory.Strict().acceptance(p, self._believed(p, q))

    def residual(self, p, q):
        return theory.Strict().residual(p, self._believed(p, q))


CONTROLS = [WrongResidual(), TwiceLenient(), AnotherDraft()]
