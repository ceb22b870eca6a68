"""Rules of fixed candidates at one position: against the rules of candidate trees, for one candidate, and drafted from q."""

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theory
from tests import oracles
from theory import testing
from theory.trees import SummedThreshold, ZeroAndRenormalise

EXAMPLE = [F(1, 2), F(3, 10), F(1, 5)]
LENIENCES = st.fractions(F(1, 20), 1, max_denominator=20)
TWINS = st.one_of(
    LENIENCES.map(lambda bar: (theory.EagleAcceptance(bar), ZeroAndRenormalise(bar))),
    st.tuples(LENIENCES, st.fractions(0, 1, max_denominator=10)).map(
        lambda bars: (theory.ThresholdAcceptance(*bars), SummedThreshold(*bars))
    ),
)


def one_hot(token, size):
    return [F(int(x == token)) for x in range(size)]


@given(testing.rational_rows(4), TWINS)
def test_one_fixed_candidate_is_a_node_with_one_child(p, twins):
    rule, tree = twins
    for c in range(4):
        law = rule.law(p, one_hot(c, 4))
        assert list(law.induced) == list(tree.induced(p, [c]))
        assert law.acceptance_rate == tree.acceptance_rate(p, [c])
        if law.rejection_rate > 0:
            assert list(rule.residual_given(p, one_hot(c, 4), c)) == list(tree.outcomes(p, [c]).replacement)


@given(testing.pairs(), TWINS)
def test_a_drafted_candidate_averages_over_fixed_ones(pair, twins):
    p, q = pair
    rule, tree = twins
    averaged = sum(y * tree.induced(p, [c]) for c, y in enumerate(q))
    assert list(rule.induced(p, q)) == list(averaged)


@given(testing.pairs(), LENIENCES)
def test_the_marginal_of_a_drafted_candidate(pair, lenience):
    p, q = pair
    chance = [min(F(1), x / lenience) for x in p]
    passed = [y * (1 - a) / (1 - x) if a < 1 else 0 for x, y, a in zip(p, q, chance, strict=True)]
    wanted = [y * a + x * (sum(passed) - w) for x, y, a, w in zip(p, q, chance, passed, strict=True)]
    induced = theory.EagleAcceptance(lenience).induced(p, q)
    assert list(induced) == wanted
    assert all(pi <= x / lenience for pi, x in zip(induced, p, strict=True))


@given(testing.pairs(), LENIENCES)
def test_relations_between_the_rules(pair, bar):
    p, q = pair
    eagle, matching = theory.EagleAcceptance(1).law(p, q), theory.ExactMatch().law(p, q)
    assert list(eagle.induced) == list(matching.induced) == list(p)
    assert eagle.acceptance_rate == matching.acceptance_rate <= theory.Strict().acceptance_rate(p, q)
    threshold, lenient = theory.ThresholdAcceptance(bar).law(p, q), theory.EagleAcceptance(bar).law(p, q)
    assert list(threshold.induced) == list(lenient.induced)


def test_published_numbers():
    candidate = one_hot(1, 3)
    assert list(theory.EagleAcceptance(F(1, 2)).induced(EXAMPLE, candidate)) == [F(2, 7), F(3, 5), F(4, 35)]
    assert list(theory.ThresholdAcceptance(F(1, 2), F(3, 10)).induced(EXAMPLE, candidate)) == [0, 1, 0]


@pytest.mark.parametrize(
    "rule", [theory.EagleAcceptance(F(19, 20)), theory.ThresholdAcceptance(F(19, 20)), theory.ThresholdAcceptance(1, F(19, 20))]
)
def test_just_below_the_lossless_parameters_they_are_lossy(rule):
    assert not rule.lossless
    p = [F(19, 20), F(1, 20)]
    assert any(list(rule.induced(p, one_hot(c, 2))) != p for c in range(2))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tiny_parameters_and_certain_tokens(dtype):
    rng = np.random.default_rng(0)
    p, q = np.array([1, 0, 0], dtype), np.array([0.5, 0.25, 0.25], dtype)
    for rule in (theory.EagleAcceptance(1e-310), theory.ThresholdAcceptance(1e-310), theory.EagleAcceptance(1)):
        assert list(rule.induced(p, q)) == [1, 0, 0]
        assert not rule.verify(p, q, [[0, 1], [2, 2]], rng).token.any()


def test_a_nearly_certain_row_within_its_tolerance_emits_its_token():
    p = np.array([1 - 5e-9, 0.0])
    tokens = theory.EagleAcceptance(1).verify(p, p / p.sum(), np.zeros(1000, int), np.random.default_rng(0)).token
    assert not tokens.any()
    assert oracles.tv(theory.EagleAcceptance(1).induced(p, p), [1, 0]) < 1e-8
