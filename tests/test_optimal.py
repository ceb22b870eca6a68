"""Mentored decoding and the optimal rules: their laws, how the levels are found, and what they cost and keep."""

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import theory
from tests import cases
from theory import clipping, testing
from theory.clipping import DIVERGENCES, SortedPair
from theory.verifiers import optimal

rational_pairs = testing.pairs()
alphas = st.fractions(F(1, 20), 1, max_denominator=20)
SMOOTH = [name for name, known in DIVERGENCES.items() if known.generator]


def exact_array(values):
    return np.array([F(x) for x in values], dtype=object)


def random_pairs(count, seed, size=5, zeros=0.0):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        weights = rng.dirichlet(np.full(size, 0.7), 2) * (rng.random((2, size)) >= zeros) + 0.1 * np.eye(2, size)
        yield theory.normalise(weights)


def floor_by_trial(p, q, rejected):
    """The b of Σ (b p - q)+ = R, by trying every set of tokens that it may lift."""
    if rejected == 0:
        return min([y / x for x, y in zip(p, q, strict=True) if x > 0] + [F(1)])
    order = sorted((y / x, x, y) for x, y in zip(p, q, strict=True) if x > 0)
    for count in range(1, len(order) + 1):
        b = (rejected + sum(y for _, _, y in order[:count])) / sum(x for _, x, _ in order[:count])
        if order[count - 1][0] <= b and (count == len(order) or b <= order[count][0]):
            return b
    raise AssertionError("no floor")


# --- mentored decoding ------------------------------------------------------------------------------------------------------


@given(rational_pairs, alphas)
@example((exact_array([1, 0]), exact_array([0, 1])), F(1, 2))
@example((exact_array([1]), exact_array([1])), F(1, 2))
def test_mentored_is_the_draft_between_a_floor_and_a_ceiling(pair, alpha):
    p, q = pair
    law = theory.Mentored(alpha).law(p, q)
    rejected = sum(max(y - x / alpha, F(0)) for x, y in zip(p, q, strict=True))
    b = floor_by_trial(p, q, rejected)
    assert list(law.induced) == [max(min(y, x / alpha), b * x) for x, y in zip(p, q, strict=True)]
    assert law.rejection_rate == rejected == theory.Lenience(alpha).law(p, q).rejection_rate
    assert b <= 1
    assert sum(max(b * x - y, F(0)) for x, y in zip(p, q, strict=True)) == rejected


def test_beta_of_the_golden_rows():
    p, q = exact_array(cases.GOLDEN_P), exact_array(cases.GOLDEN_Q)
    for alpha, beta in ((F(3, 4), F(42, 37)), (F(1, 2), F(4, 3))):
        rejected = theory.Lenience(alpha).law(p, q).rejection_rate
        assert SortedPair(p, q).floor(rejected) == 1 / beta
        clip = SortedPair(p, q).rejecting(rejected)
        assert (clip.a, clip.b, clip.share) == (alpha, 1 / beta, 0)


def test_at_the_same_alpha_mentored_is_nearer_in_kl_than_lenience():
    for p, q in random_pairs(50, 1):
        for alpha in (0.2, 0.5, 0.9):
            mentored, lenient = theory.Mentored(alpha).law(p, q), theory.Lenience(alpha).law(p, q)
            assert mentored.acceptance_rate == pytest.approx(lenient.acceptance_rate, abs=1e-14)
            assert theory.kl_divergence(p, mentored.induced) <= theory.kl_divergence(p, lenient.induced) + 1e-15
            assert theory.max_overshoot(mentored.induced, p) <= (1 + 1e-14) / alpha


@pytest.mark.parametrize("zeros", [0, 0.4])
def test_the_budget_of_mentored_is_spent_to_the_last_digit(zeros):
    for p, q in random_pairs(12, 2, zeros=zeros):
        for budget in (1e-9, 1e-3, 0.1, 0.3, *(() if zeros else (1, 5)), np.inf):
            law = theory.Mentored(budget=budget).law(p, q)
            most = theory.kl_divergence(p, q)
            assert theory.kl_divergence(p, law.induced) == pytest.approx(min(budget, most), rel=1e-6, abs=1e-14)
            assert (law.rejection_rate < 1e-14) == (budget >= most)
            np.testing.assert_allclose(law.induced, theory.Optimal(budget, "reverse_kl").induced(p, q), rtol=0, atol=0)


def test_a_budget_gives_the_alpha_back_that_spends_it():
    for p, q in random_pairs(10, 3):
        wanted = theory.Mentored(0.6).law(p, q)
        found = theory.Mentored(budget=float(theory.kl_divergence(p, wanted.induced))).law(p, q)
        np.testing.assert_allclose(found.induced, wanted.induced, atol=1e-7)  # near the target, R is the root of KL's digits


@pytest.mark.parametrize("budget", [0.01, 0.3, 3.0])
@pytest.mark.parametrize("zeros", [0, 0.4])
def test_the_published_search_and_the_sort_find_the_same_law(budget, zeros):
    for p, q in random_pairs(3, 4, zeros=zeros):
        law = theory.Mentored(budget=budget).induced(p, q)
        top = optimal._searched_top(p, q, budget)
        np.testing.assert_allclose(top, np.minimum(q, law), atol=1e-9)
        np.testing.assert_allclose(np.maximum(top, optimal._balanced(p, q, top) * p), law, atol=1e-9)


def test_draft_off_the_support_passes_last_and_costs_nothing_in_itself():
    p, q = np.array([0.5, 0.5, 0, 0]), np.array([0.6, 0.1, 0.2, 0.1])
    least = theory.kl_divergence(p, [0.6, 0.4, 0, 0])  # R = 0.3: all off the support is cut, and nothing else
    for budget in (0.9 * least, least, 1.5 * least, 3 * least):
        law = theory.Mentored(budget=budget).law(p, q)
        assert (law.induced[2] > 1e-9) == (budget > 1.1 * least)
        assert law.induced[2] == pytest.approx(2 * law.induced[3])
    disjoint = theory.Mentored(budget=2.0).law([1.0, 0.0], [0.0, 1.0])
    assert disjoint.acceptance_rate == pytest.approx(1 - np.exp(-2))


# --- the levels ---------------------------------------------------------------------------------------------------------------


@given(rational_pairs, st.fractions(0, 1, max_denominator=12))
@example((exact_array([1, 0]), exact_array([0, 1])), F(1, 3))
def test_every_rejection_rate_has_its_law(pair, part):
    p, q = pair
    rejected = part * theory.total_variation(p, q)
    clip = SortedPair(p, q).rejecting(rejected)
    law = clip.law(p, q)
    assert sum(law) == 1
    assert theory.total_variation(law, q) == clip.rejection_rate == rejected
    assert 0 <= clip.b <= 1 >= clip.a >= 0 <= clip.share <= 1
    assert clip.a == 0 or clip.share == 0
    assert all(min(x, y) <= v <= max(x, y) for x, y, v in zip(p, q, law, strict=True))


@given(testing.pairs(rows=testing.float_rows), st.sampled_from(sorted(DIVERGENCES)), st.floats(0, 5))
def test_float_levels_give_laws_within_the_budget_on_any_rows(pair, divergence, budget):
    p, q = pair
    known = DIVERGENCES[divergence]
    clip = clipping.best_clip(SortedPair(p, q), budget + known.least, divergence)
    law = clip.law(p, q)
    assert abs(law.sum() - 1) < 1e-13
    spent = known.measure(theory.normalise(law), p)
    if divergence == "hellinger":  # a root, which has half the digits
        spent, budget = spent**2, budget**2
    assert spent <= (budget + known.least) * (1 + 1e-6) + 1e-12


@pytest.mark.parametrize("dtype", [object, np.float64])
def test_a_law_that_is_not_on_the_line_is_refused(dtype):
    pair = SortedPair(np.array([F(1, 2), F(1, 2), F(0)], dtype), np.array([F(1, 5), F(3, 10), F(1, 2)], dtype))
    most = pair.distance[()]
    assert list(pair.rejecting(most).law(*(np.array(row, dtype) for row in ([0.5, 0.5, 0], [0.2, 0.3, 0.5])))) == [0.5, 0.5, 0]
    for rate in (most + F(1, 1000) if dtype is object else most + 1e-3, -most / 1000, np.array([most, 2 * most]), np.nan):
        with pytest.raises(ValueError, match=r"rejection_rate = .*: must be a number in \[0, .*\], up to TV"):
            pair.rejecting(rate)
    for ceiling in (F(999, 1000), -1, np.array([2, 0]), np.inf, np.nan):
        with pytest.raises(ValueError, match=r"ceiling = .*: must be a number in \[1, inf\)"):
            pair.under(ceiling)


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("budget", [1e300, 10**400, F(10**400, 3)], ids=["1e300", "10**400", "10**400/3"])
def test_a_huge_budget_is_a_finite_one(divergence, budget):
    p, q = np.array([0.5, 0.5, 0]), np.array([0.25, 0.25, 0.5])
    reach = 0.5 if divergence in ("kl_divergence", "chi_square", "max_overshoot") else 1  # off the support at no finite price
    assert theory.Optimal(budget, divergence).acceptance_rate(p, q) == reach
    assert theory.frontier.acceptance_rate(p, q, [budget, np.inf], divergence).tolist() == [reach, 1]


def test_rows_may_be_off_their_sums_by_their_tolerance():
    for p, q in random_pairs(10, 6, zeros=0.2):
        for scale in (1 - 5e-5, 1 + 5e-5):
            rows = (p * scale).astype(np.float32), q.astype(np.float32)
            for divergence, known in DIVERGENCES.items():
                for budget in (1e-9, 0.01, 0.4, np.inf):
                    law = theory.Optimal(known.least + budget, divergence).law(*rows)
                    assert law.acceptance_rate + law.rejection_rate == pytest.approx(1, abs=1e-6)


def test_rows_may_be_far_from_each_other_and_tiny():
    p, q = np.array([1e-300, 1 - 1e-10, 1e-10]), np.array([0.5, 1e-300, 0.5])
    for divergence in DIVERGENCES:
        rate = theory.frontier.acceptance_rate(p, q, np.array([1.0, 2.0, 100.0]), divergence)
        assert (np.diff(rate) >= 0).all()
        assert ((rate >= 1e-11) & (rate <= 1)).all()


# --- the optimal rules ----------------------------------------------------------------------------------------------------------


@given(rational_pairs, st.fractions(0, 1, max_denominator=10))
def test_optimal_for_total_variation_is_yins_theorem_5(pair, budget):
    p, q = pair
    law = theory.Optimal(budget, "total_variation").law(p, q)
    distance = theory.total_variation(p, q)
    assert law.rejection_rate == max(0, distance - budget)
    assert theory.total_variation(law.induced, p) == min(budget, distance)


@given(rational_pairs, alphas)
def test_optimal_for_overshoot_has_the_acceptance_of_lenience_and_the_law_of_mentored(pair, alpha):
    p, q = pair
    law = theory.Optimal(1 / alpha, "max_overshoot").law(p, q)
    assert law.rejection_rate == theory.Lenience(alpha).law(p, q).rejection_rate
    assert list(law.induced) == list(theory.Mentored(alpha).induced(p, q))


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_float32_rows_and_stacks(divergence, dtype):
    pairs = np.stack([pair.astype(dtype) for pair in random_pairs(6, 5, size=7, zeros=0.2)])
    p, q = pairs[:, 0], pairs[:, 1]
    rule = theory.Optimal(0.05 + DIVERGENCES[divergence].least, divergence)
    law = rule.induced(p, q)
    assert law.dtype == dtype
    for row, x, y in zip(law, p, q, strict=True):
        np.testing.assert_allclose(row, rule.induced(x, y), rtol=1e-6)
        wide = rule.induced(theory.normalise(x.astype(np.float64)), theory.normalise(y.astype(np.float64)))
        np.testing.assert_allclose(row, wide, atol=2e-4 if dtype == np.float32 else 1e-14)


def test_what_is_stated_of_ceilings_and_losslessness():
    assert theory.Mentored(F(2, 5)).ceiling == F(5, 2)
    assert theory.Mentored(budget=1).ceiling is None
    assert theory.Optimal(3, "max_overshoot").ceiling == 3
    assert theory.Optimal(np.inf, "max_overshoot").ceiling is None
    assert theory.Optimal(3).ceiling is None
    for rule in (theory.Mentored(1), theory.Mentored(budget=0), theory.Optimal(0), theory.Optimal(1, "max_overshoot")):
        assert rule.lossless
        np.testing.assert_array_equal(rule.induced([1e-20, 1.0], [0.5, 0.5]), [1e-20, 1.0])
    assert not theory.Optimal(1).lossless
    assert theory.parse("mentored:0.4") == theory.Mentored(0.4)
    assert theory.parse("optimal:1/10,divergence=total_variation") == theory.Optimal(F(1, 10), "total_variation")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: theory.Mentored(), "alpha = None, budget = None: give one of the two"),
        (lambda: theory.Mentored(0.5, 0.1), r"alpha = 0\.5, budget = 0\.1: give one of the two"),
        (lambda: theory.Mentored(0), r"alpha = 0: must be a number in \(0, 1\]"),
        (lambda: theory.Mentored(budget=-1), r"budget = -1: must be a number in \[0, inf\]"),
        (lambda: theory.Mentored(budget=float("nan")), "budget = nan"),
        (lambda: theory.Optimal(0.5, "max_overshoot"), r"budget = 0\.5: must be a number in \[1, inf\]"),
        (lambda: theory.Optimal(0.5, "kl"), "divergence = 'kl': must be one of kl_divergence, reverse_kl"),
        (lambda: theory.Optimal([0.1, 0.2]), r"budget = \[0\.1, 0\.2\]: must be a number in \[0, inf\]"),
        (lambda: theory.Optimal([]), r"budget = \[\]: must be a number"),
        (lambda: theory.Mentored(budget=[0.1]), r"budget = \[0\.1\]: must be a number in \[0, inf\]"),
        (lambda: theory.Optimal(0.5).law(cases.GOLDEN_P, cases.GOLDEN_Q), r"budget = 0\.5: on Fractions"),
        (lambda: theory.Mentored(budget=0.5).law(cases.GOLDEN_P, cases.GOLDEN_Q), r"budget = 0\.5: on Fractions"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("divergence", SMOOTH)
def test_generators_keep_their_digits_near_1(divergence):
    generator = DIVERGENCES[divergence].generator
    assert generator.f(np.array([1.0]), np.array([0.0])).tolist() == [0]
    ratio = np.concatenate([np.linspace(0.9, 1.1, 401), np.geomspace(1e-3, 1e3, 401)])
    plain = {
        "kl_divergence": ratio * np.log(ratio) - ratio + 1,
        "reverse_kl": ratio - 1 - np.log(ratio),
        "chi_square": (ratio - 1) ** 2,
        "hellinger": (np.sqrt(ratio) - 1) ** 2 / 2,
        "jensen_shannon": (ratio * np.log(2 * ratio / (1 + ratio)) + np.log(2 / (1 + ratio))) / 2,
    }[divergence]
    np.testing.assert_allclose(generator.f(ratio, ratio - 1), plain, rtol=1e-9, atol=1e-15)
    excess = 1e-9  # f(1 + x) = f''(1) x²/2, to all digits
    curvature = {"chi_square": 2, "hellinger": 0.25, "jensen_shannon": 0.25}.get(divergence, 1)
    assert generator.f(np.array([1 + excess]), np.array([excess]))[0] == pytest.approx(curvature * excess**2 / 2, rel=1e-6)
    large = np.array([1e12])
    slope = generator.f(large, large - 1)[0] / large[0]
    assert slope > 20 if np.isinf(generator.slope) else slope == pytest.approx(generator.slope, rel=1e-5)
