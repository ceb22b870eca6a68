"""Hyper-parameters: every range, every rule."""

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theory
from theory import parameters
from theory.truncation import MinP


@pytest.mark.parametrize(
    ("interval", "inside", "outside"),
    [
        ("(0, 1]", [1, 0.5, F(1, 3), np.float32(0.5), 5e-324], [0, 1.5, -1, float("nan"), "1", None, True, 1j, [0.5]]),
        ("[0, 1)", [0, 0.5], [1, float("inf")]),
        ("[0, inf]", [0, float("inf")], [-1e-9]),
    ],
)
def test_intervals(interval, inside, outside):
    for value in inside:
        parameters.check("x", value, interval)
    for value in outside:
        with pytest.raises(ValueError, match=r"^x = "):
            parameters.check("x", value, interval)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: theory.Lenience(0), r"lenience = 0: must be a number in \(0, 1\]"),
        (lambda: theory.Lenience(1.1), r"lenience = 1\.1"),
        (lambda: theory.CoS(-0.1), r"lam = -0\.1: must be a number in \[0, 1\]"),
        (lambda: theory.ContrastiveCoS(2), r"mu = 2: must be a number in \[0, 1\]"),
        (lambda: theory.OvershootCeiling(0), "lam = 0"),
        (lambda: theory.AdaptiveInterpolation("half"), "lam = 'half'"),
        (lambda: theory.HybridCeiling(2, 0.5), "p_base = 2"),
        (lambda: theory.HybridCeiling(0.5, 0), "lenience = 0"),
        (lambda: theory.SpecCascade(1.01), r"p_base = 1\.01"),
        (
            lambda: theory.SpecCascade(0.5, "none"),
            "fallback = 'none': must be one of redraft, target, truncated, argmax",
        ),
        (lambda: theory.TypicalAcceptance(0), "epsilon = 0"),
        (lambda: theory.TypicalAcceptance(0.1, -1), "delta = -1"),
        (lambda: theory.TypicalAcceptance(0.1, fallback="p"), "fallback = 'p'"),
        (lambda: theory.TruncationVerifier("min-p"), "truncation = 'min-p': must be a Truncation, such as MinP"),
        (lambda: theory.TruncationVerifier(MinP(0.1), "q"), "fallback = 'q'"),
        (lambda: theory.TruncationSampling(None), "truncation = None"),
        (lambda: theory.block_efficiency(0.5, 0), "gamma = 0: must be a whole number of at least 1"),
        (lambda: theory.block_efficiency(1.5, 2), r"acceptance_rate = 1\.5: must be in \[0, 1\]"),
        (lambda: theory.block_efficiency([0.5, np.nan], 2), "acceptance_rate = nan"),
    ],
)
def test_rules_refuse_what_is_out_of_range(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@given(st.fractions(0, 1, max_denominator=50), st.integers(1, 6))
def test_block_efficiency_is_the_geometric_sum(rate, gamma):
    value = theory.block_efficiency(rate, gamma)
    assert value == sum(rate**k for k in range(gamma + 1))
    if rate != 1:
        assert value == (1 - rate ** (gamma + 1)) / (1 - rate)


def test_carry():
    exact = np.array([F(1)])
    assert parameters.carry(0.5, exact) == F(1, 2)
    assert parameters.carry(np.float32(0.5), exact) == F(1, 2)
    assert parameters.carry(0.1, exact) == F(0.1), "a float is the binary number that it is"
    assert isinstance(parameters.carry(F(1, 2), np.ones(1)), float)
