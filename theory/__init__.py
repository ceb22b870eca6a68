"""The mathematics of speculative-decoding verification: which law is really sampled, and what that buys.

Glossary
--------
target, ``p``
    Next-token distribution of the large model: a row over the vocabulary.
draft, ``q``
    Next-token distribution of the small model.
acceptance(p, q)
    a(x), the probability that token x, once drafted, is accepted.
residual(p, q)
    r(x), the law of the replacement after a rejection.
induced(p, q)
    π(x) = q(x) a(x) + (1 - Σ q a) r(x), what is really sampled.
acceptance_rate
    α = Σ q a, a probability.
gamma
    Drafted tokens in a block.
block_efficiency
    E[tokens emitted per target call]: the accepted length, between 0 and gamma, plus 1.
overshoot
    π(x)/p(x) > 1. ``max_overshoot`` is its maximum; ``overshoot_mass`` the induced mass on tokens above twice p.
lossless
    Induced law equal to p, for every p and q.
true baseline
    Strict verification of the truncated target: what a truncation-based verifier claims to be.

Exact numbers come from `theory.exact`, estimates under the same names from `theory.monte_carlo`, tables of many
verifiers from `theory.compare`. Arrays of `fractions.Fraction` give exact rationals.
"""

from theory import (
    blocks,
    counts,
    curves,
    divergences,
    exact,
    failure,
    frontier,
    models,
    monte_carlo,
    sequences,
    synthetic,
    traces,
    trees,
    truncation,
    verifiers,
)
from theory.blocks import BlockVerification, BlockVerifier, GreedyBlock, HierarchicalVerification, Tokenwise
from theory.blocks.speed import block_efficiency, operations, speedup
from theory.compare import compare
from theory.divergences import (
    chi_square,
    entropy,
    hellinger,
    jensen_shannon,
    kl_divergence,
    max_overshoot,
    overshoot_mass,
    renyi_divergence,
    total_variation,
)
from theory.monte_carlo import Estimate
from theory.probs import normalise, sample
from theory.reasoning import ReasoningChain
from theory.traces import Trace
from theory.truncation import Epsilon, Eta, MinP, TopK, TopP, Truncation, Typical
from theory.verifiers import (
    AdaptiveInterpolation,
    Cactus,
    ChowCascade,
    ContrastiveCoS,
    CoS,
    DiffCascade,
    EagleAcceptance,
    ExactMatch,
    FuzzyAcceptance,
    GeometricEnsemble,
    GreedyMatch,
    HybridCeiling,
    Lenience,
    Mentored,
    OptCascade,
    Optimal,
    OvershootCeiling,
    SpecCascade,
    StaticEnsemble,
    Strict,
    ThresholdAcceptance,
    TokenCascadeV1,
    TokenCascadeV2,
    TokenCascadeV3,
    TokenVerifier,
    TruncationSampling,
    TruncationVerifier,
    TypicalAcceptance,
    parse,
)

__version__ = "0.1.0"

__all__ = [
    "AdaptiveInterpolation",
    "BlockVerification",
    "BlockVerifier",
    "Cactus",
    "ChowCascade",
    "CoS",
    "ContrastiveCoS",
    "DiffCascade",
    "EagleAcceptance",
    "Epsilon",
    "Estimate",
    "Eta",
    "ExactMatch",
    "FuzzyAcceptance",
    "GeometricEnsemble",
    "GreedyBlock",
    "GreedyMatch",
    "HierarchicalVerification",
    "HybridCeiling",
    "Lenience",
    "Mentored",
    "MinP",
    "OptCascade",
    "Optimal",
    "OvershootCeiling",
    "ReasoningChain",
    "SpecCascade",
    "StaticEnsemble",
    "Strict",
    "ThresholdAcceptance",
    "TokenCascadeV1",
    "TokenCascadeV2",
    "TokenCascadeV3",
    "TokenVerifier",
    "Tokenwise",
    "TopK",
    "TopP",
    "Trace",
    "Truncation",
    "TruncationSampling",
    "TruncationVerifier",
    "Typical",
    "TypicalAcceptance",
    "block_efficiency",
    "blocks",
    "chi_square",
    "compare",
    "counts",
    "curves",
    "divergences",
    "entropy",
    "exact",
    "failure",
    "frontier",
    "hellinger",
    "jensen_shannon",
    "kl_divergence",
    "max_overshoot",
    "models",
    "monte_carlo",
    "normalise",
    "operations",
    "overshoot_mass",
    "parse",
    "renyi_divergence",
    "sample",
    "sequences",
    "speedup",
    "synthetic",
    "total_variation",
    "traces",
    "trees",
    "truncation",
    "verifiers",
]
