"""Synthetic families: rows, exact distances and shares, seeds, refusals, short names."""

import re
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import example, given, settings
from hypothesis import strategies as st

from theory import probs, synthetic

ROUNDING = 1e-14

sizes = st.integers(1, 60)
counts = st.none() | st.integers(1, 4)
seeds = st.integers(0, 2**32 - 1)
unit = st.floats(0, 1)
concentrations = st.sampled_from([1e-300, 0.001, 0.01, 0.1, 1.0, 100.0, 1e300])

CALLS = {
    "zipf": ("zipf:7,corruption=noise", lambda count, rng: synthetic.zipf(7, corruption="noise", count=count, rng=rng)),
    "dirichlet": ("dirichlet:7,0.3", lambda count, rng: synthetic.dirichlet(7, 0.3, count=count, rng=rng)),
    "peaked": ("peaked:7,0.6", lambda count, rng: synthetic.peaked(7, 0.6, count=count)),
    "overconfident": (
        "overconfident:7,0.3,0.5",
        lambda count, rng: synthetic.overconfident(7, 0.3, 0.5, count=count, rng=rng),
    ),
}
RANDOM = sorted(set(CALLS) - {"peaked"})


def generator(seed=0):
    return np.random.default_rng(seed)


def total_variation(p, q):
    return np.abs(p - q).sum(axis=-1) / 2


def overshoot(p, q, lenience):
    return np.maximum(q - p / lenience, 0).sum(axis=-1)


def assert_rows(pair, size, count):
    for rows in pair:
        assert rows.shape == ((size,) if count is None else (count, size))
        assert rows.dtype == np.float64
        assert rows.min() >= 0
        np.testing.assert_allclose(rows.sum(axis=-1), 1, rtol=0, atol=ROUNDING)
    probs.check_pair(*map(np.array, pair))


def feasible_share(distance, lenience):
    """Least share of any pair, in exact arithmetic: the rounding is the module's own."""
    distance, lenience = Fraction(distance), Fraction(lenience)
    return max(Fraction(0), 1 - (1 - distance) * (1 - lenience) / (lenience * distance)) if distance else Fraction(0)


# --- what each family promises --------------------------------------------------------------------------------------


@settings(deadline=None)
@given(sizes, st.floats(0, 5), st.floats(0.05, 20), counts)
@example(1000, 400.0, 10.0, None)  # p underflows where q does not
@example(5, 1e308, 5e-324, None)
def test_zipf_temperature_is_a_power_of_the_target(size, exponent, temperature, count):
    p, q = synthetic.zipf(size, exponent, "temperature", temperature, count)
    assert_rows((p, q), size, count)
    with np.errstate(over="ignore"):
        weights = np.exp(-np.float64(exponent) * np.log(np.arange(1, size + 1)))
        tempered = np.exp(-np.float64(exponent) * np.log(np.arange(1, size + 1)) / np.float64(temperature))
    np.testing.assert_allclose(p, np.broadcast_to(weights / weights.sum(), p.shape), rtol=1e-12)
    np.testing.assert_allclose(q, np.broadcast_to(tempered / tempered.sum(), q.shape), rtol=1e-12)


@settings(deadline=None)
@given(sizes, st.floats(0, 5), st.floats(0, 5), counts, seeds)
@example(5, 1.0, 1e300, 2, 0)
def test_zipf_noise_leaves_the_target_alone(size, exponent, deviation, count, seed):
    p, q = synthetic.zipf(size, exponent, "noise", deviation, count, rng=generator(seed))
    assert_rows((p, q), size, count)
    plain, _ = synthetic.zipf(size, exponent)
    np.testing.assert_array_equal(p, np.broadcast_to(plain, p.shape))
    if deviation == 0 or size == 1:
        np.testing.assert_allclose(q, p, rtol=1e-14)


def test_zipf_noise_has_the_stated_deviation():
    p, q = synthetic.zipf(400, 1.2, "noise", 0.7, 200, rng=generator())
    logs = np.log(q / p)  # normal but for one shift a row: the squares about the row's mean are chi-square, here at 1e-9
    squares = ((logs - logs.mean(axis=-1, keepdims=True)) ** 2).sum() / 0.7**2
    low, high = scipy.stats.chi2.ppf([5e-10, 1 - 5e-10], 200 * 399)
    assert low < squares < high


@settings(deadline=None)
@given(sizes, st.floats(0, 5), unit, counts, seeds)
def test_zipf_swap_permutes_the_share_of_the_tokens(size, exponent, share, count, seed):
    p, q = synthetic.zipf(size, exponent, "swap", share, count, rng=generator(seed))
    assert_rows((p, q), size, count)
    np.testing.assert_array_equal(np.sort(q, axis=-1), np.sort(p, axis=-1))
    assert ((p != q).sum(axis=-1) <= round(share * size)).all()


def test_zipf_swap_moves_nearly_all_that_it_may():
    p, q = synthetic.zipf(1000, 1.0, "swap", 0.3, 50, rng=generator())
    assert 297 < (p != q).sum(axis=-1).mean() < 300  # a random permutation has one fixed point on average


@settings(deadline=None)
@given(sizes, unit, concentrations, counts, seeds)
def test_dirichlet_distance_is_exact_up_to_the_farthest(size, part, concentration, count, seed):
    p, q = synthetic.dirichlet(size, 0, concentration, count, rng=generator(seed))
    np.testing.assert_array_equal(p, q)
    farthest = float((1 - p.min(axis=-1)).min())
    for wanted in (part * farthest, farthest):
        same, q = synthetic.dirichlet(size, wanted, concentration, count, rng=generator(seed))
        np.testing.assert_array_equal(same, p)
        assert_rows((p, q), size, count)
        np.testing.assert_allclose(total_variation(p, q), wanted, rtol=0, atol=ROUNDING)


@settings(deadline=None)
@given(sizes, concentrations, seeds)
def test_dirichlet_reaches_what_is_feasible_for_every_target(size, concentration, seed):
    wanted = Fraction(size - 1, size) * (1 - Fraction(1, 10**9))
    p, q = synthetic.dirichlet(size, wanted, concentration, 3, rng=generator(seed))
    np.testing.assert_allclose(total_variation(p, q), float(wanted), rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("wanted", [0.001, 0.4, 0.9, 0.9999])
@pytest.mark.parametrize("concentration", [0.01, 1.0])
def test_dirichlet_distance_is_exact_on_a_large_vocabulary(wanted, concentration):
    p, q = synthetic.dirichlet(50_000, wanted, concentration, 2, rng=generator())
    assert_rows((p, q), 50_000, 2)
    np.testing.assert_allclose(total_variation(p, q), wanted, rtol=0, atol=ROUNDING)


@settings(deadline=None)
@given(sizes, concentrations, counts, seeds)
def test_dirichlet_refuses_what_is_too_far_and_says_how_far(size, concentration, count, seed):
    p, _ = synthetic.dirichlet(size, 0, concentration, count, rng=generator(seed))
    farthest = 1 - np.atleast_1d(p.min(axis=-1))
    beyond = np.nextafter(farthest.min(), 2)
    match = re.escape(f"total_variation = {float(beyond)!r}: must be a number in [0, ")
    with pytest.raises(ValueError, match=match) as refusal:
        synthetic.dirichlet(size, float(beyond), concentration, count, rng=generator(seed))
    if beyond <= 1:
        first = int(np.argmax(beyond > farthest))
        place = "p" if count is None else f"p[{first}]"
        assert f"[0, {farthest[first]}], at most 1 - min {place} " in str(refusal.value)


@pytest.mark.parametrize(("concentration", "size"), [(0.5, 3), (2.0, 8)])
def test_dirichlet_target_has_the_marginals_of_its_law(concentration, size):
    p, _ = synthetic.dirichlet(size, 0, concentration, 40_000, rng=generator())
    law = scipy.stats.beta(concentration, (size - 1) * concentration)
    for column in p.T:  # Kolmogorov-Smirnov, at 1e-9 in all
        assert scipy.stats.kstest(column, law.cdf).pvalue > 1e-9 / size


def test_dirichlet_of_tiny_concentration_puts_all_on_a_random_token():
    p, _ = synthetic.dirichlet(4, 0, 1e-300, 4_000, rng=generator())
    np.testing.assert_array_equal(p.max(axis=-1), 1)
    assert scipy.stats.chisquare(p.sum(axis=0)).pvalue > 1e-9


@settings(deadline=None)
@given(st.integers(2, 60), st.none() | unit, st.none() | unit, counts)
def test_peaked_masses(size, peak, draft_peak, count):
    p, q = synthetic.peaked(size, peak, draft_peak, count)
    assert_rows((p, q), size, count)
    for rows, mass in ((p, peak), (q, draft_peak)):
        np.testing.assert_array_equal(rows[..., 0], 1 / size if mass is None else mass)
        np.testing.assert_array_equal(rows[..., 1:], rows[..., 1:2] + np.zeros(size - 1))
    gap = (1 / size if peak is None else peak) - (1 / size if draft_peak is None else draft_peak)
    np.testing.assert_allclose(total_variation(p, q), abs(gap), rtol=0, atol=ROUNDING)


def test_peaked_with_one_token():
    assert_rows(synthetic.peaked(1), 1, None)
    assert_rows(synthetic.peaked(1, 1, 1.0), 1, None)


@settings(deadline=None)
@given(st.integers(2, 60), unit, st.floats(0.001, 0.999), unit, counts, seeds)
@example(2, 1.0, 0.5, 0.0, None, 0)
@example(7, 0.1, 0.9, 0.0, None, 0)  # 1 - 0.9 < 0.1 in floating point
@example(7, 0.6, 1 - 1e-12, 0.0, 2, 0)
@example(7, 0.6, 1e-12, 0.0, 2, 0)
def test_overconfident_distance_and_share_are_exact(size, distance, lenience, part, count, seed):
    least = float(feasible_share(distance, lenience))
    for share in (least, least + part * (1 - least), 1.0):
        p, q = synthetic.overconfident(size, distance, share, lenience, count, rng=generator(seed))
        assert_rows((p, q), size, count)
        np.testing.assert_allclose(total_variation(p, q), distance, rtol=0, atol=ROUNDING)
        np.testing.assert_allclose(overshoot(p, q, lenience), share * distance, rtol=0, atol=ROUNDING)


@settings(deadline=None)
@given(st.integers(2, 60), st.floats(0.01, 1), st.floats(0.01, 0.99), st.floats(1e-6, 1), seeds)
@example(5, 0.6, 0.5, 1.0, 0)
def test_overconfident_refuses_shares_that_no_pair_has(size, distance, lenience, part, seed):
    least = feasible_share(distance, lenience)
    if least < 0.001:
        distance = 1 - lenience * 0.5
        least = feasible_share(distance, lenience)
    share = float(least) * (1 - part)
    with pytest.raises(ValueError, match=re.escape(f"share = {share!r}: must be a number in [")) as refusal:
        synthetic.overconfident(size, distance, share, lenience, rng=generator(seed))
    stated = float(re.search(r"in \[(.*), 1\] for", str(refusal.value))[1])
    assert stated == pytest.approx(float(least), abs=1e-12)


@settings(deadline=None)
@given(st.integers(2, 12), st.floats(0.01, 0.99), seeds)
def test_no_pair_of_rows_has_a_share_below_the_stated_one(size, lenience, seed):
    p, q = generator(seed).dirichlet(np.full(size, 0.5), (2, 50))
    distances = total_variation(p, q)
    shares = overshoot(p, q, lenience) / distances
    least = [float(feasible_share(distance, lenience)) for distance in distances]
    assert (shares >= np.array(least) - 1e-9).all()


def test_overconfident_draws_the_number_of_its_tokens():
    p, q = synthetic.overconfident(4, 0.2, 0.5, count=300, rng=generator())
    assert set((q > p).sum(axis=-1)) == {1, 2, 3}


def test_overconfident_with_one_token():
    assert_rows(synthetic.overconfident(1, 0, 0.5, count=2, rng=generator()), 1, 2)


@pytest.mark.parametrize(("name", "distance"), [("A", 0.02), ("B", 1 / 6), ("C", 0.6)])
def test_paper_pairs(name, distance):
    p, q = synthetic.paper(name)
    assert_rows((p, q), 4, None)
    np.testing.assert_allclose(total_variation(p, q), distance, rtol=1e-14)


def test_paper_pairs_are_target_then_draft():
    np.testing.assert_array_equal(synthetic.paper("B")[0], [0.25] * 4)
    np.testing.assert_array_equal(synthetic.paper("C")[1], [0.55, 0.25, 0.15, 0.05])


# --- what all families promise --------------------------------------------------------------------------------------


@pytest.mark.parametrize("count", [None, 1, 5])
@pytest.mark.parametrize("family", CALLS)
def test_count_is_the_leading_axis(family, count):
    assert_rows(CALLS[family][1](count, generator()), 7, count)


@pytest.mark.parametrize("family", RANDOM)
def test_the_seed_decides_and_the_global_state_does_not(family):
    make = CALLS[family][1]
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    pairs = [make(3, generator(seed)) for seed in (1, 1, 2)]
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002
    for first, again in zip(pairs[0], pairs[1], strict=True):
        np.testing.assert_array_equal(first, again)
    assert (pairs[0][1] != pairs[2][1]).any()


@pytest.mark.parametrize("family", RANDOM)
def test_pairs_of_one_call_differ(family):
    _, q = CALLS[family][1](3, generator())
    assert (q[0] != q[1]).any()


def test_temperature_leaves_the_generator_alone():
    rng = generator()
    synthetic.zipf(5, rng=rng)
    assert rng.random() == generator().random()


ZIPF = {"size": 5, "corruption": "noise", "rng": generator()}
DIRICHLET = {"size": 5, "total_variation": 0.2, "rng": generator()}
OVERCONFIDENT = {"size": 5, "total_variation": 0.2, "share": 0.5, "rng": generator()}
REFUSALS = [
    *[(synthetic.zipf, ZIPF, name, bad) for name, bad in [("size", 0), ("count", 0), ("exponent", -1)]],
    *[(synthetic.zipf, ZIPF, name, bad) for name, bad in [("exponent", np.inf), ("corruption", "rot"), ("rng", None)]],
    *[(synthetic.zipf, {**ZIPF, "corruption": c}, "strength", s) for c, s in [("temperature", 0), ("swap", 1.1)]],
    (synthetic.zipf, ZIPF, "strength", -0.1),
    (synthetic.zipf, {**ZIPF, "corruption": "swap"}, "rng", 3),
    *[(synthetic.dirichlet, DIRICHLET, name, bad) for name, bad in [("size", 2.0), ("count", -1), ("rng", 0)]],
    *[(synthetic.dirichlet, DIRICHLET, "total_variation", bad) for bad in (-0.1, 1.1, np.nan, "far")],
    *[(synthetic.dirichlet, DIRICHLET, "concentration", bad) for bad in (0, np.inf)],
    *[(synthetic.peaked, {"size": 5}, name, bad) for name, bad in [("size", True), ("count", 0.5), ("peak", 2)]],
    (synthetic.peaked, {"size": 5}, "draft_peak", -1),
    (synthetic.peaked, {"size": 1}, "peak", 0.5),
    *[(synthetic.overconfident, OVERCONFIDENT, name, bad) for name, bad in [("size", 0), ("count", 0), ("rng", None)]],
    *[(synthetic.overconfident, OVERCONFIDENT, "lenience", bad) for bad in (0, 1, 2)],
    *[(synthetic.overconfident, OVERCONFIDENT, "share", bad) for bad in (-0.1, 1.1)],
    (synthetic.overconfident, OVERCONFIDENT, "total_variation", 1.1),
    (synthetic.overconfident, {**OVERCONFIDENT, "size": 1}, "total_variation", 0.2),
    (synthetic.paper, {}, "name", "D"),
]


@pytest.mark.parametrize(("make", "good", "name", "bad"), REFUSALS)
def test_a_bad_argument_is_named_with_its_value(make, good, name, bad):
    with pytest.raises(ValueError, match=re.escape(f"{name} = {bad!r}: ")):
        make(**{**good, name: bad})


# --- short names ----------------------------------------------------------------------------------------------------


def test_every_family_is_tried():
    assert set(synthetic.FAMILIES) == {*CALLS, "paper"}


def same(first, second):
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("family", CALLS)
def test_short_names_reach_every_family(family):
    text, make = CALLS[family]
    assert same(synthetic.parse(text), make(None, generator(0)))
    assert same(synthetic.parse(f"{text},count=3"), make(3, generator(0)))


@pytest.mark.parametrize("family", RANDOM)
def test_short_names_take_a_seed(family):
    text, make = CALLS[family]
    assert same(synthetic.parse(f"{text},seed=5,count=3"), make(3, generator(5)))
    assert not same(synthetic.parse(f"{text},seed=5"), synthetic.parse(text))


def test_short_names_of_many_kinds():
    assert same(synthetic.parse("paper:A"), synthetic.paper("A"))
    wanted = synthetic.zipf(1000, exponent=1.2, corruption="noise", strength=0.5, count=64, rng=generator(0))
    assert same(synthetic.parse("zipf:1000,exponent=1.2,corruption=noise,strength=0.5,count=64,seed=0"), wanted)
    half = synthetic.dirichlet(9, 0.5, rng=generator())
    assert same(synthetic.parse("dirichlet:9,total_variation=1/2"), half)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "uniform:3",
            "no synthetic family is called 'uniform'; there are: dirichlet, overconfident, paper, peaked, zipf",
        ),
        ("zipf", "zipf takes the arguments size, exponent, corruption, strength, count, seed"),
        ("zipf:5,rng=1", "cannot place 'rng=1'; the arguments are size, exponent, corruption, strength, count, seed"),
        ("peaked:5,0.5,seed=1", "cannot place 'seed=1'; the arguments are size, peak, draft_peak, count"),
        ("zipf:5,seed=-1", "seed = -1: must be a whole number of at least 0"),
        ("zipf:many", "size = 'many': must be a whole number of at least 1"),
        ("zipf:5,seed=1,seed=2", "cannot place 'seed=2'"),
        ("dirichlet:2,1", "total_variation = 1: must be a number in [0, "),
        ("paper:Z", "name = 'Z': no pair of the paper is called so; there are: A, B, C"),
    ],
)
def test_short_names_refuse_with_what_there_is(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        synthetic.parse(text)
