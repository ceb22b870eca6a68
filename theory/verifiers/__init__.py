"""Every verifier, one family a file: strict, collaborative, ensembles, Cactus, optimal, cascades, fuzzy, truncating, matching.

``RULES`` is the one table of them: `theory.parse`, ``theory list`` and the tests that hold for all rules read it.
"""

from theory import shortnames, truncation
from theory.verifiers.base import Law, TokenVerifier, Verified
from theory.verifiers.cactus import Cactus
from theory.verifiers.cascades import ChowCascade, DiffCascade, OptCascade, TokenCascadeV1, TokenCascadeV2, TokenCascadeV3
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
    "Verified",
    "parse",
]

RULES: dict[str, type[TokenVerifier]] = {
    rule.name: rule
    for rule in (
        Strict,
        Lenience,
        CoS,
        ContrastiveCoS,
        OvershootCeiling,
        AdaptiveInterpolation,
        HybridCeiling,
        StaticEnsemble,
        GeometricEnsemble,
        Cactus,
        Mentored,
        Optimal,
        ChowCascade,
        DiffCascade,
        OptCascade,
        TokenCascadeV1,
        TokenCascadeV2,
        TokenCascadeV3,
        FuzzyAcceptance,
        SpecCascade,
        TypicalAcceptance,
        TruncationVerifier,
        TruncationSampling,
        ExactMatch,
        EagleAcceptance,
        ThresholdAcceptance,
        GreedyMatch,
    )
}
"""Short name to rule, in the order in which they are listed."""


def parse(text: str) -> TokenVerifier:
    """Make a verifier from its short name; ``str(verifier)`` gives the name back.

    Parameters
    ----------
    text : str
        ``name:argument,...,keyword=value``, such as ``lenience:0.4``, ``cos:1/2``, ``spec-cascade:0.5,fallback=target`` or
        ``truncation-sampling:min-p:0.1``. Fractions stay exact.

    Raises
    ------
    ValueError
        For a name that does not exist (the message lists those that do), or arguments that the rule refuses.

    Examples
    --------
    >>> parse("lenience:0.4")
    Lenience(lenience=0.4)
    >>> str(parse("truncation:eta:0.25,fallback=argmax"))
    'truncation:eta:0.25,fallback=argmax'
    """
    rule = shortnames.build(text, RULES, "verifier", {"truncation": truncation.parse})
    assert isinstance(rule, TokenVerifier)
    return rule
