"""Speculative cascades: each law and acceptance from its published formula, in plain Python; when each is lossless; ties."""

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import theory
from tests import cases, oracles
from theory import testing

BY_POSITION = {
    theory.ChowCascade: lambda alpha, p, q: max(q) >= 1 - alpha,
    theory.DiffCascade: lambda alpha, p, q: max(q) >= max(p) - alpha,
    theory.OptCascade: lambda alpha, p, q: max(q) >= max(p) - alpha * oracles.tv(p, q),
}
BY_TOKEN = {
    theory.TokenCascadeV1: lambda alpha, p, q: [y >= max(p) - alpha for y in q],
    theory.TokenCascadeV2: lambda alpha, p, q: [x >= max(p) - alpha for x in p],
    theory.TokenCascadeV3: lambda alpha, p, q: [x >= (1 - alpha) * max(p) for x in p],
}
G = cases.GOLDEN_P, cases.GOLDEN_Q
ALPHAS = st.sampled_from([F(-1), F(0), F(1)]) | st.fractions(-1, 1, max_denominator=20)


def exact(*values):
    return np.array([F(value) for value in values], dtype=object)


@pytest.mark.parametrize("rule", BY_POSITION)
@given(testing.pairs(), ALPHAS, st.sampled_from([1, 3]))
def test_by_position_the_law_is_that_of_the_draft_or_of_the_target(rule, pair, alpha, times):
    p, q = pair
    alpha = alpha * times if rule is theory.OptCascade else alpha
    stands, law = BY_POSITION[rule](alpha, p, q), rule(alpha).law(p, q)
    assert list(law.induced) == list(q if stands else p)
    assert law.rejection_rate == (0 if stands else oracles.tv(p, q))


@pytest.mark.parametrize("rule", BY_TOKEN)
@given(testing.pairs(), ALPHAS)
def test_by_token_the_law_and_its_acceptance(rule, pair, alpha):
    p, q = pair
    alpha = abs(alpha) if rule is theory.TokenCascadeV3 else alpha
    kept, law = BY_TOKEN[rule](alpha, p, q), rule(alpha).law(p, q)
    defers = [0 if keep else 1 for keep in kept]
    share = sum(r * y for r, y in zip(defers, q, strict=True))
    assert list(law.induced) == [y * (1 - r) + x * share for x, y, r in zip(p, q, defers, strict=True)]
    accepted = [y if keep else min(y, x * share) for x, y, keep in zip(p, q, kept, strict=True)]
    assert law.acceptance_rate == sum(accepted) >= 1 - share
    if share == 1:
        assert list(law.induced) == list(p)
        return
    draft = [y / (1 - share) if keep else 0 for y, keep in zip(q, kept, strict=True)]
    assert oracles.tv(law.induced, p) == (1 - share) * oracles.tv(draft, p)
    bound = float(1 - share) * theory.kl_divergence([F(x) for x in draft], p)
    assert theory.kl_divergence(law.induced, p) <= bound + 1e-12


@given(testing.pairs(), st.fractions(F(1, 20), 1, max_denominator=20))
def test_v3_is_the_gate_that_falls_back_to_the_target_with_a_higher_acceptance(pair, p_base):
    p, q = pair
    cascade, gate = theory.TokenCascadeV3(1 - p_base).law(p, q), theory.SpecCascade(p_base, "target").law(p, q)
    assert list(cascade.induced) == list(gate.induced)
    assert cascade.acceptance_rate >= gate.acceptance_rate


def test_v3_at_one_is_the_draft_where_the_gate_at_zero_keeps_to_the_support():
    p, q = exact(1, 0), exact("1/2", "1/2")
    assert list(theory.TokenCascadeV3(1).induced(p, q)) == list(q)
    assert list(theory.SpecCascade(0, "target").induced(p, q)) == list(p)


def test_v3_accepts_more_than_its_gate_on_the_golden_pair():
    for p_base, rate in ((F(3, 5), F(123, 200)), (F(1, 2), F(73, 100))):
        assert theory.TokenCascadeV3(1 - p_base).acceptance_rate(*G) == rate
        assert theory.SpecCascade(p_base, "target").acceptance_rate(*G) < rate


# --- when the draft stands; ties ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "least"), [(theory.ChowCascade, F(7, 10)), (theory.DiffCascade, F(1, 10)), (theory.OptCascade, F(2, 5))]
)
@pytest.mark.parametrize("dtype", [object, np.float64, np.float32])
def test_from_which_alpha_the_draft_stands_on_the_golden_pair(rule, least, dtype):
    p, q = (np.array(row, dtype=dtype) for row in G)
    for alpha, wanted in ((least, q), (least - F(1, 1000), p)):
        given_alpha = alpha if dtype is object else float(alpha)
        induced = oracles.as_floats(rule(given_alpha).induced(p, q))
        np.testing.assert_allclose(induced, oracles.as_floats(wanted), rtol=1e-6)


@pytest.mark.parametrize(
    "tied", [theory.TokenCascadeV1(F(3, 20)), theory.TokenCascadeV2(F(1, 5)), theory.TokenCascadeV3(F(1, 2))], ids=str
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tokens_at_the_threshold_are_kept_in_floats_as_in_fractions(tied, dtype):
    p, q = (np.array(row, dtype=dtype) for row in G)
    wanted = oracles.as_floats(tied.induced(*G))
    for rule in (tied, type(tied)(float(tied.alpha))):
        np.testing.assert_allclose(rule.induced(p, q), wanted, rtol=0, atol=4 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_extreme_parameters_in_floats(dtype):
    p, q = np.array([0.5, 0.5, 0], dtype), np.array([0.25, 0.25, 0.5], dtype)
    for rule in (theory.ChowCascade(-1e-300), theory.TokenCascadeV2(-1e-300), theory.OptCascade(-1e300)):
        assert rule.lossless
        for draft in (q, np.array([0, 0, 1], dtype)):
            np.testing.assert_allclose(rule.induced(p, draft), p, rtol=1e-6)
    assert list(theory.OptCascade(1e300).induced(p, q)) == list(q)


# --- lossless, or not ---------------------------------------------------------------------------------------------------

FLAT = exact(*["1/40"] * 40), exact(1, *[0] * 39)
LOSSY = [
    (theory.ChowCascade(0), exact("1/2", "1/2"), exact(1, 0)),
    (theory.DiffCascade(F(-39, 40)), *FLAT),
    (theory.OptCascade(-1), exact("1/2", "1/2"), exact(1, 0)),
    (theory.TokenCascadeV1(F(-39, 40)), *FLAT),
    (theory.TokenCascadeV2(0), exact("1/2", "1/2"), exact(1, 0)),
    (theory.TokenCascadeV3(0), exact("1/2", "1/2"), exact(1, 0)),
]


@pytest.mark.parametrize(
    ("rule", "p", "q"), LOSSY, ids=lambda value: str(value) if isinstance(value, theory.TokenVerifier) else ""
)
def test_the_least_lossy_parameters_are_lossy_on_an_extreme_pair(rule, p, q):
    assert not rule.lossless
    assert list(rule.induced(p, q)) != list(p)


@given(testing.pairs(), st.sampled_from([*BY_POSITION, *BY_TOKEN]), ALPHAS)
def test_what_claims_to_be_lossless_is(pair, rule, alpha):
    p, q = pair
    assume(rule is not theory.TokenCascadeV3)
    verifier = rule(alpha * 2 if rule is theory.OptCascade else alpha)
    if verifier.lossless:
        assert list(verifier.induced(p, q)) == list(p)


@given(testing.pairs())
def test_confidence_differs_by_at_most_the_total_variation(pair):
    """Hence OPT below -1 is lossless."""
    p, q = pair
    assert max(q) - max(p) <= oracles.tv(p, q)


@given(testing.pairs(), st.sampled_from([F(0), F(1, 3), F(1)]))
def test_v3_always_keeps_the_most_probable_token(pair, alpha):
    p, q = pair
    top = int(np.argmax(p))
    assert theory.TokenCascadeV3(alpha).induced(p, q)[top] >= q[top]


def test_v3_at_zero_on_the_golden_pair():
    p, q = G
    wanted = [q[0] + p[0] * (1 - q[0]), *(x * (1 - q[0]) for x in p[1:])]
    assert list(theory.TokenCascadeV3(0).induced(p, q)) == wanted == [F(13, 25), F(6, 25), F(4, 25), F(2, 25)]


@pytest.mark.parametrize(
    ("rule", "alpha", "message"),
    [
        (theory.ChowCascade, 1.5, r"alpha = 1\.5: must be a number in \[-1, 1\]"),
        (theory.DiffCascade, -2, r"alpha = -2: must be a number in \[-1, 1\]"),
        (theory.OptCascade, float("inf"), r"alpha = inf: must be a number in \(-inf, inf\)"),
        (theory.OptCascade, float("nan"), "alpha = nan"),
        (theory.TokenCascadeV3, -0.1, r"alpha = -0\.1: must be a number in \[0, 1\]"),
    ],
)
def test_bad_parameters(rule, alpha, message):
    with pytest.raises(ValueError, match=message):
        rule(alpha)
