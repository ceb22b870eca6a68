"""Short names: what they mean, and errors that list what exists."""

from dataclasses import dataclass
from fractions import Fraction as F

import pytest

import theory
from tests import cases
from theory import shortnames, truncation
from theory.truncation import Eta, MinP, TopK


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
        ("lenient:0.4", "no verifier is called 'lenient'; there are: adaptive-interpolation, cactus, chow-cascade,"),
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
        ("hybrid-ceiling:,,0.5,,0.4", "'hybrid-ceiling:,,0.5,,0.4': an argument is empty; the arguments are p_base, lenience"),
        ("hybrid-ceiling:0.5,0.4,", "an argument is empty"),
        ("hybrid-ceiling:0.5, ,0.4", "an argument is empty"),
        ("lenience:", "'lenience:': an argument is empty; the arguments are lenience"),
        ("strict:", r"an argument is empty; the arguments are \(none\)"),
        ("truncation:eta::0.25", "'eta::0.25': an argument is empty; the arguments are epsilon, delta"),
        ("truncation:eta:0.25:", "'eta:0.25:': an argument is empty"),
        ("truncation:eta:", "'eta:': an argument is empty"),
        ("truncation-sampling:eta:0.25:0.5:1", "'eta:0.25:0.5:1': cannot place '1'"),
    ],
)
def test_errors(text, message):
    with pytest.raises(ValueError, match=message) as caught:
        theory.parse(text)
    assert "\n" not in str(caught.value)


NESTED = [
    *(
        rule(cut)
        for rule in (theory.TruncationVerifier, theory.TruncationSampling)
        for cut in (Eta(0.25, 0.5), Eta(F(1, 4), F(1, 2)))
    ),
    theory.TruncationVerifier(Eta(0.25), "argmax"),
    theory.TruncationVerifier(Eta(0.25, 0.5), "argmax"),
    theory.TruncationVerifier(Eta(1e-05, 2.5e-07), "target"),
    theory.TruncationVerifier(TopK(2), "optimal"),
]


@pytest.mark.parametrize("rule", [*cases.FLOATS, *NESTED], ids=str)
def test_a_written_name_is_read_back(rule):
    assert theory.parse(str(rule)) == rule
    assert str(theory.parse(str(rule))) == str(rule)
    assert theory.blocks.parse(f"tokenwise:{rule}") == theory.Tokenwise(rule)


@pytest.mark.parametrize("cut", [Eta(0.25), Eta(0.25, 0.5), Eta(F(1, 4), F(1, 2)), MinP(0.1), TopK(3)], ids=str)
def test_a_truncation_alone_is_read_back(cut):
    assert truncation.parse(str(cut)) == cut


def test_nested_names_have_no_keywords():
    assert str(theory.TruncationVerifier(Eta(0.25, 0.5))) == "truncation:eta:0.25:0.5"
    assert str(theory.TruncationVerifier(Eta(0.25, 0.5), "argmax")) == "truncation:eta:0.25:0.5,fallback=argmax"


@pytest.mark.parametrize("fields", [(1,), (1, 5), (1, 2, 6), (1, 5, 6), (1, 5, 6, 7), (1, 2, 3, 7)])
def test_nested_names_reach_to_the_last_field_that_is_not_at_its_default(fields):
    @dataclass
    class Cut:
        a: int
        b: int = 2
        c: int = 3
        d: int = 4

    name = shortnames.write(Cut(*fields), "cut", ":")
    assert name == ":".join(["cut", *map(str, fields)])
    assert shortnames.build_nested(name, {"cut": Cut}, "cut") == Cut(*fields)
    assert shortnames.build(shortnames.write(Cut(*fields), "cut"), {"cut": Cut}, "cut") == Cut(*fields)
