"""Every verifier, one family a file: strict, collaborative, ensembles, Cactus, optimal, cascades, fuzzy, truncating, matching.

`theory.verifiers.catalogue` has the table of them, and says how rules are named.
"""

from theory.verifiers.base import Law, TokenVerifier, Verified
from theory.verifiers.cactus import Cactus
from theory.verifiers.cascades import ChowCascade, DiffCascade, OptCascade, TokenCascadeV1, TokenCascadeV2, TokenCascadeV3
from theory.verifiers.catalogue import (
    GROUP,
    OWN,
    RULES,
    UnknownNameError,
    find,
    known_names,
    parse,
    registered,
    resolve,
    resolve_all,
)
from theory.verifiers.checks import RuleError, believe
from theory.verifiers.collaborative import (
    AdaptiveInterpolation,
    ContrastiveCoS,
    CoS,
    HybridCeiling,
    Lenience,
    OvershootCeiling,
)
from theory.verifiers.ensembles import GeometricEnsemble, StaticEnsemble
from theory.verifiers.fuzzy import FuzzyAcceptance
from theory.verifiers.matching import EagleAcceptance, ExactMatch, GreedyMatch, ThresholdAcceptance
from theory.verifiers.optimal import Mentored, Optimal
from theory.verifiers.strict import Strict
from theory.verifiers.truncating import (
    FALLBACKS,
    SpecCascade,
    TruncationSampling,
    TruncationVerifier,
    TypicalAcceptance,
)

__all__ = [
    "FALLBACKS",
    "GROUP",
    "OWN",
    "RULES",
    "AdaptiveInterpolation",
    "Cactus",
    "ChowCascade",
    "CoS",
    "ContrastiveCoS",
    "DiffCascade",
    "EagleAcceptance",
    "ExactMatch",
    "FuzzyAcceptance",
    "GeometricEnsemble",
    "GreedyMatch",
    "HybridCeiling",
    "Law",
    "Lenience",
    "Mentored",
    "OptCascade",
    "Optimal",
    "OvershootCeiling",
    "RuleError",
    "SpecCascade",
    "StaticEnsemble",
    "Strict",
    "ThresholdAcceptance",
    "TokenCascadeV1",
    "TokenCascadeV2",
    "TokenCascadeV3",
    "TokenVerifier",
    "TruncationSampling",
    "TruncationVerifier",
    "TypicalAcceptance",
    "UnknownNameError",
    "Verified",
    "believe",
    "find",
    "known_names",
    "parse",
    "registered",
    "resolve",
    "resolve_all",
]
