"""Short names: what they mean, and errors that list what exists."""

from fractions import Fraction as F

import pytest

import theory
from theory.truncation import Eta, MinP


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("strict", theory.Strict()),
        (" lenience:0.4 ", theory.Lenience(0.4)),
        ("lenience:2/5", theory.Lenience(F(2, 5))),
        ("lenience:lenience=1", theory.Lenience(1)),
        ("hybrid-ceiling:0.5,0.4", theory.HybridCeiling(0.5, 0.4)),
        ("spec-cascade:0.5,fallback=target", theory.SpecCascade(0.5, "target")),
        ("typical-acceptance:0.09,0.3", theory.TypicalAcceptance(0.09, 0.3)),
        ("truncation:eta:0.25:1/2,argmax", theory.TruncationVerifier(Eta(0.25, F(1, 2)), "argmax")),
        ("truncation-sampling:min-p:0.1", theory.TruncationSampling(MinP(0.1))),
    ],
)
def test_names(text, rule):
    assert theory.parse(text) == rule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lenient:0.4", "no verifier is called 'lenient'; there are: adaptive-interpolation, contrastive-cos, cos,"),
        ("", "no verifier is called ''"),
        ("lenience", "'lenience': lenience takes the arguments lenience"),
        ("lenience:0.4,0.5", "cannot place '0.5'; the arguments are lenience"),
        ("lenience:lam=0.4", "cannot place 'lam=0.4'; the arguments are lenience"),
        ("lenience:0.4,lenience=0.4", "cannot place 'lenience=0.4'"),
        ("strict:1", r"cannot place '1'; the arguments are \(none\)"),
        ("lenience:much", r"lenience = 'much': must be a number in \(0, 1\]"),
        ("lenience:1/0", "lenience = '1/0'"),
        ("truncation-sampling:min-q:0.1", "no truncation is called 'min-q'"),
        ("truncation:0.1", "no truncation is called '0.1'"),
    ],
)
def test_errors(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        theory.parse(text)
    assert "\n" not in str(caught.value)
