"""Fuzzy speculative decoding: each divergence by its definition, both answers to a failure, ties, and what T = 0 means."""

import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theory
from tests import cases, oracles
from theory import testing
from theory.verifiers.fuzzy import DIVERGENCES

P, Q = oracles.as_floats(cases.GOLDEN_P), oracles.as_floats(cases.GOLDEN_Q)


def kl(a, b):
    return sum(math.inf if y == 0 else x * math.log(x / y) for x, y in zip(a, b, strict=True) if x > 0)


def by_definition(name, p, q):
    p, q = [float(x) for x in p], [float(x) for x in q]
    middle = [(x + y) / 2 for x, y in zip(p, q, strict=True)]
    return {
        "js": (kl(p, middle) + kl(q, middle)) / 2,
        "coded-js": (kl(middle, p) + kl(middle, q)) / 2,
        "kl": kl(q, p),
        "reverse-kl": kl(p, q),
        "tv": oracles.tv(p, q),
    }[name]


@pytest.mark.parametrize("name", DIVERGENCES)
@given(testing.pairs(), st.sampled_from([0.01, 0.1, 0.3, math.inf]))
def test_the_law_is_that_of_the_draft_within_the_threshold(name, pair, threshold):
    p, q = pair
    distance = by_definition(name, p, q)
    if abs(distance - threshold) < 1e-9:
        return
    near = distance <= threshold
    for failure, rate in (("target", 0), ("strict", 1 - oracles.tv(p, q))):
        law = theory.FuzzyAcceptance(threshold, name, failure).law(p, q)
        assert list(law.induced) == list(q if near else p)
        assert law.acceptance_rate == (1 if near else rate)


def test_the_golden_pair():
    for threshold, wanted in ((0.05, Q), (0.04, P)):
        assert list(theory.FuzzyAcceptance(threshold).induced(P, Q)) == list(wanted)
    assert theory.FuzzyAcceptance(0.04).acceptance_rate(*pair()) == 0
    assert theory.FuzzyAcceptance(0.04, on_failure="strict").acceptance_rate(*pair()) == F(3, 4)


def pair():
    return cases.GOLDEN_P, cases.GOLDEN_Q


def test_directions_of_kl():
    assert theory.FuzzyAcceptance(0.19, "reverse-kl").acceptance_rate(P, Q) == 1, "KL(p || q) = 0.177"
    assert theory.FuzzyAcceptance(0.19, "kl").acceptance_rate(P, Q) == 0, "KL(q || p) = 0.201"


@given(testing.pairs(rows=testing.float_rows))
def test_what_the_code_calls_js_is_larger(drawn):
    p, q = drawn
    assert DIVERGENCES["coded-js"](p, q) >= DIVERGENCES["js"](p, q) - 1e-12


def test_what_the_code_calls_js_is_infinite_on_different_supports():
    p, q = [0.5, 0.5, 0.0], [0.5, 0.25, 0.25]
    assert theory.FuzzyAcceptance(math.log(2)).acceptance_rate(p, q) == 1
    assert theory.FuzzyAcceptance(1e9, "coded-js").acceptance_rate(p, q) == 0
    assert theory.FuzzyAcceptance(math.inf, "coded-js").acceptance_rate(p, q) == 1


@pytest.mark.parametrize("dtype", [object, np.float64, np.float32])
def test_a_total_variation_at_the_threshold_is_within_it(dtype):
    for n in range(1, 40):
        p, q = ([F(a, 40), F(40 - a, 40)] for a in (n, 40 - n))
        threshold = oracles.tv(p, q)
        rows = [np.array(row, dtype=dtype) for row in (p, q)]
        for limit in (threshold, float(threshold)) if dtype is not object else (threshold,):
            assert theory.FuzzyAcceptance(limit, "tv").acceptance_rate(*rows) == pytest.approx(1)
        if threshold > 0:
            assert theory.FuzzyAcceptance(threshold * F(999, 1000), "tv").acceptance_rate(*rows) == 0


@pytest.mark.parametrize("name", DIVERGENCES)
@pytest.mark.parametrize("failure", ["target", "strict"])
def test_a_threshold_of_zero_is_lossless_where_the_divergence_rounds_to_zero(name, failure):
    verifier = theory.FuzzyAcceptance(0, name, failure)
    p, q = [F(1, 2), F(1, 2)], [F(1, 2) + F(1, 10**12), F(1, 2) - F(1, 10**12)]
    assert verifier.lossless
    assert list(verifier.induced(p, q)) == p
    assert list(verifier.induced(p, p)) == p
    assert verifier.acceptance_rate(p, p) == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-0.1,), r"threshold = -0\.1: must be a number in \[0, inf\]"),
        ((0.1, "hellinger"), "divergence = 'hellinger': must be one of js, coded-js, kl, reverse-kl, tv"),
        ((0.1, "js", "draft"), "on_failure = 'draft': must be one of target, strict"),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises(ValueError, match=message):
        theory.FuzzyAcceptance(*arguments)
