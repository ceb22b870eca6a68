"""Cactus: its averaged residual against one law a rejected token, the published numbers, and what its bound does not bound."""

import math
import tracemalloc
from fractions import Fraction as F
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theory
from tests import cases
from theory import testing
from theory.verifiers import cactus

# Rows of which p (1 - p) is a square, for which √(2 δ p (1 - p)) is rational at δ = 2 r².
SQUARE = [
    [F(1, 2), F(1, 2)],
    [F(1, 5), F(4, 5)],
    [F(0), F(9, 10), F(1, 10)],
    [F(1, 10), F(4, 5), F(1, 10)],
    [F(1, 5), F(1, 5), F(1, 10), F(1, 2)],
    [F(1, 10), F(0), F(1, 10), F(1, 10), F(1, 5), F(1, 2)],
]
float_pairs = testing.pairs(rows=testing.float_rows)


def made_for(n, p, q, delta, root=math.sqrt):
    """The law h of one drafted token, and the token's rejected mass, one entry at a time."""
    top = min(p[n] + root(2 * delta * p[n] * (1 - p[n])), 1)
    h = [top if x == n else (p[x] * (1 - top) / (1 - p[n]) if p[n] < 1 else 0 * p[x]) for x in range(len(p))]
    return h, max(q[n] - top, 0 * top)


def enumerated(p, q, delta, root=math.sqrt):
    """The induced law by one residual for each rejected token, O(V²)."""
    law = [0 * x for x in p]
    for n in range(len(p)):
        h, rejected = made_for(n, p, q, delta, root)
        law[n] += q[n] - rejected
        weights = [max(a - b, 0 * a) for a, b in zip(h, q, strict=True)]
        if rejected > 0:
            weights = weights if any(weights) else p  # by rounding alone
            law = [y + rejected * w / sum(weights) for y, w in zip(law, weights, strict=True)]
    return law


def rational_root(value):
    root = F(math.isqrt(value.numerator), math.isqrt(value.denominator))
    assert root * root == value
    return root


@pytest.mark.parametrize("few", [0, cactus.FEW])
@given(st.sampled_from(SQUARE), st.sampled_from([F(0), F(1, 10), F(1, 3), F(1, 2), F(2)]), st.data())
def test_exact_where_the_roots_are_rational(few, p, r, data):
    q, delta = list(data.draw(testing.rational_rows(len(p)))), 2 * r * r
    with mock.patch.object(cactus, "FEW", few):
        law = theory.Cactus(delta).law(p, q)
    assert list(law.induced) == enumerated(p, q, delta, rational_root)
    assert law.rejection_rate == sum(made_for(n, p, q, delta, rational_root)[1] for n in range(len(p)))
    for n in range(len(p)):
        h, rejected = made_for(n, p, q, delta, rational_root)
        if rejected > 0:
            excess = [max(a - b, F(0)) for a, b in zip(h, q, strict=True)]
            assert list(theory.Cactus(delta).residual_given(p, q, n)) == [e / sum(excess) for e in excess]


DELTAS = st.sampled_from([0.0, 1e-12, 0.01, 0.3, 1.0, 50.0])


@pytest.mark.parametrize("few", [0, cactus.FEW])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(data=st.data(), delta=DELTAS)
def test_floats_against_one_law_a_rejected_token(dtype, few, data, delta):
    p, q = data.draw(testing.pairs(max_size=9, rows=lambda size: testing.float_rows(size, dtype)))
    wide_p, wide_q = (theory.normalise(row.astype(np.float64)) for row in (p, q))
    wanted = enumerated(np.minimum(wide_p, 1), wide_q, delta)
    with mock.patch.object(cactus, "FEW", few):
        induced = theory.Cactus(delta).induced(p, q)
    np.testing.assert_allclose(induced, wanted, rtol=0, atol=64 * np.finfo(dtype).eps)


@pytest.mark.parametrize("delta", [1e-6, 0.02, 0.75])
def test_long_rows_with_many_rejected_tokens(delta):
    rng = np.random.default_rng(1)
    p, q = rng.dirichlet(np.full(300, 0.3), (2, 3))
    q[2] = p[2, rng.permutation(300)]
    laws = theory.Cactus(delta).induced(p, q)
    for i in range(3):
        np.testing.assert_allclose(laws[i], enumerated(p[i], q[i], delta), rtol=1e-9, atol=1e-15)


@given(float_pairs, DELTAS)
def test_the_averaged_residual_is_at_most_the_excess_and_the_draft_is_no_nearer(pair, delta):
    p, q = pair
    law = theory.Cactus(delta).law(p, q)
    replaced = law.induced - np.minimum(law.induced, q)
    assert (replaced <= np.maximum(p - q, 0) + 1e-13).all()
    assert theory.kl_divergence(law.induced, p) <= theory.kl_divergence(q, p) + 1e-12


@given(float_pairs, DELTAS)
def test_corollary_6_bounds_the_constructed_law_up_to_one_half(pair, delta):
    p, q = pair
    p = theory.normalise(np.minimum(p, 1))
    for n in range(len(p)):
        h, _ = made_for(n, p, q, delta)
        if h[n] <= 0.5:
            assert theory.kl_divergence(theory.normalise(h), p) <= delta + 1e-12


def test_its_bound_is_not_one_on_the_induced_law():
    p, q, delta = [0.5, 0.5], [1.0, 0.0], 0.02
    law = theory.Cactus(delta).induced(p, q)
    np.testing.assert_allclose(law, [0.6, 0.4], rtol=1e-15)
    assert round(float(theory.kl_divergence(law, p)), 6) == 0.020136
    assert theory.kl_divergence(law, p) > delta
    exact = theory.Cactus(F(1, 50)).induced([F(1, 2), F(1, 2)], [F(1), F(0)])
    assert list(exact) == [F(3, 5), F(2, 5)]
    law = theory.Cactus(F(1, 2)).law([F(1, 2), F(1, 2)], [F(1), F(0)])
    assert (list(law.induced), law.rejection_rate) == ([1, 0], 0)
    assert float(theory.kl_divergence([1.0, 0.0], p)) == pytest.approx(math.log(2))


def test_replacing_from_the_target_leaves_the_best_trade_off():
    """What a port did that raised the acceptance and forgot the replacement."""
    p, q = oracle_floats(cases.GOLDEN_P), oracle_floats(cases.GOLDEN_Q)
    law = theory.Cactus(0.02).law(p, q)
    forgotten = q * theory.Cactus(0.02).acceptance(p, q) + law.rejection_rate * p
    assert theory.total_variation(forgotten, p) > theory.total_variation(law.induced, p) + 0.01


def test_the_published_example():
    p, q, delta = [0.30, 0.35, 0.35], [0.05, 0.80, 0.15], 0.2112
    assert theory.Strict().acceptance(p, q)[1] == pytest.approx(0.4375)
    verifier = theory.Cactus(delta)
    assert verifier.acceptance(p, q)[1] == pytest.approx(0.825, abs=5e-5)
    law = verifier.induced(p, q)
    np.testing.assert_allclose(law, [0.1569, 0.66, 0.1831], atol=5e-5)
    np.testing.assert_allclose(law, made_for(1, p, q, delta)[0], rtol=1e-12)
    assert float(theory.kl_divergence(law, p)) == pytest.approx(0.198, abs=5e-4)


def test_the_golden_tops():
    acceptance = theory.Cactus(0.02).acceptance(oracle_floats(cases.GOLDEN_P), oracle_floats(cases.GOLDEN_Q))
    np.testing.assert_allclose(acceptance, [1, 1, 1, 0.16 / 0.3], rtol=1e-12)
    tops = theory.Cactus(0.02).acceptance(np.diag([1.0] * 4) * 0 + oracle_floats(cases.GOLDEN_P), np.eye(4)).diagonal()
    np.testing.assert_allclose(tops, [0.497980, 0.391652, 0.28, 0.16], atol=5e-7)


def oracle_floats(row):
    return np.array([float(x) for x in row])


def test_irrational_roots_are_refused_on_fractions_only_where_they_matter():
    p, q = [F(1, 3), F(2, 3)], [F(1), F(0)]
    with pytest.raises(ValueError, match=r"p = 1/3, delta = 1/10: .* = √\(2/45\) is irrational, so p and q must hold floats"):
        theory.Cactus(F(1, 10)).induced(p, q)
    assert list(theory.Cactus(F(1, 10)).induced(p, p)) == p
    assert list(theory.Cactus(F(1, 10)).induced(p, [F(2, 5), F(3, 5)])) == [F(2, 5), F(3, 5)]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_huge_and_tiny_parameters(dtype):
    p, q = np.array([0.5, 0.5 - 1e-30, 0, 1e-30], dtype), np.array([0.25, 0.25, 0.25, 0.25], dtype)
    rng = np.random.default_rng(0)
    for delta in (1e308, 1e-308, 5e-324):
        law = theory.Cactus(delta).induced(p, q)
        assert law.dtype == dtype
        assert law.sum() == pytest.approx(1)
        assert law[2] == 0, "what the target lacks is never accepted, whatever δ"
        assert theory.Cactus(delta).verify(p, q, [0, 1, 2, 3], rng).token[2] != 2


def test_a_large_row_takes_no_square_array():
    rng = np.random.default_rng(2)
    p, q = (theory.normalise(rng.exponential(size=50_000).astype(np.float32) ** 4) for _ in "pq")
    tracemalloc.start()
    try:
        law = theory.Cactus(1e-9).law(p, q)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert law.rejection_rate > 0.1
    assert peak < 64 * p.nbytes


@pytest.mark.parametrize("delta", [-1, float("inf"), float("nan")])
def test_bad_parameters(delta):
    with pytest.raises(ValueError, match=rf"delta = {delta}: must be a number in \[0, inf\)"):
        theory.Cactus(delta)
