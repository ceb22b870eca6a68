"""Divergences: published values, relations between them that hold on every pair, and both directions to infinity."""

import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest
import scipy.special
import scipy.stats
from hypothesis import example, given
from hypothesis import strategies as st

import theory
from theory import testing

float_pairs = testing.pairs(rows=testing.float_rows)
EPS = 1e-12


@given(testing.pairs())
@example((np.array([F(0), F(1, 4), F(3, 4)]), np.array([F(0), F(3, 4), F(1, 4)])))
def test_rational_divergences_are_exact(pair):
    p, q = pair
    distance = theory.total_variation(p, q)
    for value in (distance, theory.chi_square(p, q), theory.max_overshoot(p, q), theory.overshoot_mass(p, q)):
        assert isinstance(value, F) or value == math.inf
    assert distance == 1 - sum(min(x, y) for x, y in zip(p, q, strict=True))
    if all(y or not x for x, y in zip(p, q, strict=True)):
        assert theory.chi_square(p, q) == sum(x * x / y for x, y in zip(p, q, strict=True) if y) - 1
        assert theory.max_overshoot(p, q) == max(x / y for x, y in zip(p, q, strict=True) if y)
    else:
        assert theory.chi_square(p, q) == theory.max_overshoot(p, q) == math.inf
    above = [x for x, y in zip(p, q, strict=True) if x > 2 * y]
    assert theory.overshoot_mass(p, q) == sum(above)


@given(float_pairs)
def test_kl_equals_scipy_in_both_directions(pair):
    for p, q in (pair, pair[::-1]):
        wanted = scipy.special.rel_entr(p, q).sum()
        assert theory.kl_divergence(p, q) == pytest.approx(wanted, rel=1e-9, abs=1e-14)


def test_kl_reaches_infinity_in_one_direction_only():
    p, q = [0.5, 0.5], [1.0, 0.0]
    assert theory.kl_divergence(p, q) == math.inf
    assert theory.kl_divergence(q, p) == pytest.approx(math.log(2))
    assert theory.kl_divergence([0.0, 1.0], [1.0, 0.0]) == theory.kl_divergence([1.0, 0.0], [0.0, 1.0]) == math.inf


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("support", [1, 3, 60, 66, 4000, 5000])
def test_kl_of_long_rows_by_the_size_of_their_support(dtype, support):
    rng = np.random.default_rng(support)
    weights = rng.random((2, 5000))
    weights[:, rng.permutation(5000)[support:]] = 0
    p, q = theory.normalise(weights).astype(dtype), theory.normalise(rng.random((2, 5000)) + 0.1).astype(dtype)
    wanted = scipy.special.rel_entr(p.astype(np.float64), q.astype(np.float64)).sum(axis=-1)
    np.testing.assert_allclose(theory.kl_divergence(p, q), wanted, rtol=1e-12 if dtype == np.float64 else 1e-5)
    assert theory.kl_divergence(p[0], q[0]).shape == ()
    assert theory.kl_divergence(p[0], q).shape == (2,)
    q[1, p[1].argmax()] = 0
    assert np.isinf(theory.kl_divergence(p, theory.normalise(q))).tolist() == [False, True]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_kl_of_a_quotient_that_overflows_is_finite(dtype):
    tiny = np.finfo(dtype).smallest_subnormal
    p, q = np.array([0.5, 0.5], dtype), np.array([tiny, 1], dtype)
    assert theory.kl_divergence(p, q) == pytest.approx(0.5 * (math.log(0.5) - math.log(float(tiny))) + 0.5 * math.log(0.5))


@given(float_pairs)
def test_relations_between_divergences(pair):
    p, q = pair
    tv, kl, h = theory.total_variation(p, q), theory.kl_divergence(p, q), theory.hellinger(p, q)
    chi, js, over = theory.chi_square(p, q), theory.jensen_shannon(p, q), theory.max_overshoot(p, q)
    assert 0 <= tv <= 1 + EPS
    assert tv <= math.sqrt(kl / 2) + 1e-7, "Pinsker"
    assert h**2 <= tv + EPS
    assert tv <= math.sqrt(2) * h + EPS
    assert kl <= math.log1p(chi) + EPS or math.isinf(chi)
    assert kl <= math.log(over) + EPS
    assert 0 <= js <= math.log(2) + EPS
    assert js <= math.log(2) * tv + EPS
    assert js == pytest.approx(theory.jensen_shannon(q, p), abs=EPS)
    assert 0 <= theory.entropy(p) <= math.log(p.size) + EPS
    mass = theory.overshoot_mass(p, q)
    assert mass / 2 <= tv + EPS, "tokens above twice the target give at least half their mass to TV"
    assert (mass > 0) == (over > 2 * (1 + 1e-14)) or over == pytest.approx(2)


ORDERS = [0, 0.25, 0.5, 0.9, 1, 1.5, 2, 10, math.inf]


@given(float_pairs)
def test_renyi_orders_meet_their_neighbours_and_never_fall(pair):
    p, q = pair
    values = [float(theory.renyi_divergence(p, q, order)) for order in ORDERS]
    for low, high in itertools.pairwise(values):
        assert low <= high + 1e-9
    by_order = dict(zip(ORDERS, values, strict=True))
    assert by_order[1] == theory.kl_divergence(p, q)
    over = theory.max_overshoot(p, q)
    overflowed = math.isinf(over) and not (q[p > 0] == 0).any()
    assert by_order[math.inf] == pytest.approx(math.log(over), abs=EPS) or (overflowed and by_order[math.inf] > 709)
    h = float(theory.hellinger(p, q))
    if h < 1 - 1e-9:
        assert by_order[0.5] == pytest.approx(-2 * math.log(1 - h**2), rel=1e-6, abs=EPS)
    chi = float(theory.chi_square(p, q))
    if math.isfinite(chi):
        assert by_order[2] == pytest.approx(math.log1p(chi), rel=1e-9, abs=1e-9)
    support = float(q[p > 0].sum())
    assert by_order[0] == pytest.approx(-math.log(support) if support else math.inf, abs=EPS)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", [1 - 1e-15, 1 + 4e-16, 1 - 1e-13, 1 + 1e-9, 1.0001, 0.999999])
def test_renyi_is_continuous_at_order_one(order, dtype):
    p, q = (theory.normalise(np.array(row, dtype)) for row in ([4, 3, 2, 1], [1, 2, 3, 4]))
    assert theory.renyi_divergence(p, q, order) == pytest.approx(theory.kl_divergence(p, q), rel=1e-3)
    assert theory.renyi_divergence(p, p, order) == 0
    off = np.array([0.5, 0.5 + 1e-9])
    assert abs(theory.renyi_divergence(off, off, order)) < 1e-12


def test_renyi_takes_huge_orders_and_fractions():
    p, q = [0.5, 0.5], [0.25, 0.75]
    assert theory.renyi_divergence(p, q, 1e300) == pytest.approx(math.log(2))
    assert theory.renyi_divergence(p, q, 1e308) == pytest.approx(math.log(2))
    assert theory.renyi_divergence(p, q, F(1, 2)) == theory.renyi_divergence(p, q, 0.5)


@given(st.integers(1, 30), st.integers(0, 2**32))
def test_entropy_equals_scipy(size, seed):
    row = np.random.default_rng(seed).dirichlet(np.full(size, 0.3))
    assert theory.entropy(row) == pytest.approx(scipy.stats.entropy(row), rel=1e-12, abs=1e-14)


@given(testing.pairs(rows=lambda size: testing.float_rows(size, np.float32)))
def test_float32_rows_give_what_their_float64_copies_give(pair):
    wide = [theory.normalise(row.astype(np.float64)) for row in pair]
    for measure in (theory.total_variation, theory.kl_divergence, theory.hellinger, theory.jensen_shannon):
        wanted = measure(*wide)
        assert measure(*pair) == pytest.approx(wanted, rel=1e-4, abs=1e-5) or (math.isinf(wanted) and math.isinf(measure(*pair)))


def test_a_ceiling_met_exactly_is_not_overshoot_in_floats():
    p = theory.normalise(np.random.default_rng(0).random(1000))
    q = theory.normalise(np.random.default_rng(1).random(1000) ** 4)
    for dtype in (np.float64, np.float32):
        law = theory.Lenience(0.5).induced(p.astype(dtype), q.astype(dtype))
        assert theory.overshoot_mass(law, p.astype(dtype)) == 0
        assert theory.overshoot_mass(theory.Lenience(0.49).induced(p.astype(dtype), q.astype(dtype)), p.astype(dtype)) > 0.01


def test_the_room_for_rounding_at_the_factor_is_no_more_than_that():
    target = np.array([0.25, 0.75])
    for above, wanted in ((1e-15, 0), (1e-9, 0.5)):
        induced = np.array([0.5 * (1 + above), 1 - 0.5 * (1 + above)])
        assert theory.overshoot_mass(induced, target) == pytest.approx(wanted)


@pytest.mark.parametrize("measure", [theory.total_variation, theory.kl_divergence, theory.chi_square, theory.hellinger])
def test_rows_broadcast(measure):
    rng = np.random.default_rng(3)
    p, q = rng.dirichlet(np.ones(4), (2, 1)), rng.dirichlet(np.ones(4), 3)
    values = measure(p, q)
    assert values.shape == (2, 3)
    assert values[1, 2] == pytest.approx(measure(p[1, 0], q[2]))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.renyi_divergence([1.0], [1.0], -1), r"order = -1: must be a number in \[0, inf\]"),
        (lambda: theory.renyi_divergence([1.0], [1.0], math.nan), "order = nan"),
        (lambda: theory.overshoot_mass([1.0], [1.0], 0.5), r"factor = 0\.5: must be a number in \[1, inf\)"),
        (lambda: theory.max_overshoot([0.5], [1.0]), r"induced sums to 0\.5"),
        (lambda: theory.max_overshoot([1.0], [0.5]), r"target sums to 0\.5"),
    ],
)
def test_bad_arguments(call, message):
    with pytest.raises(ValueError, match=message):
        call()
