"""The verifiers on which every claim is tested: each rule of the table, at its limits and in between, rational throughout."""

import os
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
    theory.StaticEnsemble(F(1, 4)),
    theory.StaticEnsemble(0),
    theory.GeometricEnsemble(0),
    theory.GeometricEnsemble(1),
    theory.Cactus(0),
    theory.Cactus(100),
    theory.Mentored(F(2, 5)),
    theory.Mentored(F(1, 100)),
    theory.Mentored(1),
    theory.Mentored(budget=0),
    theory.Optimal(F(1, 10), "total_variation"),
    theory.Optimal(F(5, 2), "max_overshoot"),
    theory.Optimal(1, "max_overshoot"),
    theory.Optimal(0),
    theory.ChowCascade(F(2, 5)),
    theory.ChowCascade(0),
    theory.ChowCascade(F(-1, 10)),
    theory.DiffCascade(F(1, 10)),
    theory.DiffCascade(-1),
    theory.OptCascade(F(1, 2)),
    theory.OptCascade(-1),
    theory.OptCascade(F(-11, 10)),
    theory.TokenCascadeV1(F(3, 20)),
    theory.TokenCascadeV1(-1),
    theory.TokenCascadeV2(F(3, 20)),
    theory.TokenCascadeV2(0),
    theory.TokenCascadeV2(F(-1, 1000)),
    theory.TokenCascadeV3(F(2, 5)),
    theory.TokenCascadeV3(0),
    theory.TokenCascadeV3(1),
    theory.FuzzyAcceptance(F(1, 5), "tv"),
    theory.FuzzyAcceptance(F(1, 5), "tv", "strict"),
    theory.FuzzyAcceptance(F(1, 20)),
    theory.FuzzyAcceptance(0),
    theory.FuzzyAcceptance(0, "kl", "strict"),
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
    theory.EagleAcceptance(F(2, 5)),
    theory.EagleAcceptance(1),
    theory.ThresholdAcceptance(F(1, 2), F(3, 10)),
    theory.ThresholdAcceptance(1),
    theory.GreedyMatch(),
]

ONE_EACH = RATIONAL if os.environ.get("CI") else list({type(case): case for case in reversed(RATIONAL)}.values())
"""The first case of each rule, where every parameter takes long and none should matter; in CI, all of them."""

FLOATS = [
    *RATIONAL,
    theory.ContrastiveCoS(0.1),
    theory.ContrastiveCoS(0.5),
    theory.GeometricEnsemble(0.5),
    theory.Mentored(budget=0.1),
    theory.Mentored(budget=2.0),
    *(theory.Optimal(0.1, name) for name in ("kl_divergence", "chi_square", "hellinger", "jensen_shannon")),
    theory.Cactus(0.02),
    theory.Cactus(1.0),
    theory.FuzzyAcceptance(0.4, "coded-js"),
    theory.FuzzyAcceptance(0.3, "reverse-kl", "strict"),
    theory.TypicalAcceptance(0.09, 0.3),
]
"""Those whose formulas are irrational join here."""

ON_THE_LINE = (
    theory.Strict,
    theory.Lenience,
    theory.CoS,
    theory.OvershootCeiling,
    theory.AdaptiveInterpolation,
    theory.HybridCeiling,
    theory.StaticEnsemble,
    theory.Cactus,
    theory.Mentored,
    theory.Optimal,
    theory.ChowCascade,
    theory.DiffCascade,
    theory.OptCascade,
)
"""Rules with TV + R = TV(p, q) on every pair."""

ALSO_ON_THE_LINE = (
    theory.ContrastiveCoS(0),
    theory.GeometricEnsemble(0),
    theory.GeometricEnsemble(1),
    theory.TokenCascadeV1(-1),
    theory.TokenCascadeV2(F(-1, 1000)),
    theory.TokenCascadeV3(1),
    theory.FuzzyAcceptance(F(1, 5), "tv", "strict"),
    theory.FuzzyAcceptance(0, "kl", "strict"),
)
"""Cases that are on it through their parameters: they induce p or q at each position, with the rejection rate that it takes."""


def on_the_line(verifier):
    return isinstance(verifier, ON_THE_LINE) or verifier in ALSO_ON_THE_LINE


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
