"""The frontier: its verifiers attain it, nothing is above it, by certificates in exact arithmetic and by independent solvers."""

import itertools
from dataclasses import dataclass
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.optimize import linprog, minimize

import theory
from tests import cases, oracles
from tests.test_optimal import exact_array, random_pairs
from theory import frontier, testing
from theory.clipping import DIVERGENCES, SortedPair
from theory.verifiers import RULES

rational_pairs = testing.pairs()
parts = st.fractions(0, 1, max_denominator=12)
SMOOTH = [name for name, known in DIVERGENCES.items() if known.generator]
RATIO = {
    "kl_divergence": lambda t: t * np.log(t),
    "reverse_kl": lambda t: -np.log(t),
    "chi_square": lambda t: (t - 1) ** 2,
    "hellinger": lambda t: (np.sqrt(t) - 1) ** 2 / 2,
    "jensen_shannon": lambda t: (t * np.log(2 * t / (1 + t)) + np.log(2 / (1 + t))) / 2,
}
SLOPE = {
    "kl_divergence": lambda t: np.log(t) + 1,
    "reverse_kl": lambda t: -1 / t,
    "chi_square": lambda t: 2 * (t - 1),
    "hellinger": lambda t: (1 - 1 / np.sqrt(t)) / 2,
    "jensen_shannon": lambda t: np.log(2 * t / (1 + t)) / 2,
}
"""f and f' with D = Σ p f(π/p), written again: the solver shares nothing with the package."""
OFF = {"reverse_kl": 0.0, "hellinger": 0.5, "jensen_shannon": np.log(2) / 2}
"""f'(∞), where it is finite."""


# --- attained -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("divergence", DIVERGENCES)
@pytest.mark.parametrize("zeros", [0, 0.3])
def test_the_best_law_keeps_the_budget_and_its_verifier_attains_the_rate(divergence, zeros):
    known = DIVERGENCES[divergence]
    p, q = np.stack(list(random_pairs(20, 1, zeros=zeros))).swapaxes(0, 1)
    for budget in known.least + np.array([0, 1e-3, 0.05, 0.3, 2, np.inf]):
        found = frontier.best(p, q, budget, divergence)
        law = found.verifier.law(p, q)
        np.testing.assert_allclose(law.induced, found.law, atol=1e-14)
        np.testing.assert_allclose(law.acceptance_rate, found.acceptance_rate, atol=1e-14)
        np.testing.assert_allclose(frontier.acceptance_rate(p, q, budget, divergence), found.acceptance_rate, atol=1e-14)
        room = 1e-7 if divergence == "hellinger" else 1e-14  # a root, which has half the digits near 0
        assert (found.divergence <= budget * (1 + 1e-9) + room).all()
        most = known.measure(q, p)
        spent = (found.acceptance_rate < 1 - 1e-12) & np.isfinite(most)
        np.testing.assert_allclose(found.divergence[spent], np.full(p.shape[0], budget)[spent], rtol=1e-6, atol=room)
        np.testing.assert_allclose(found.acceptance_rate[budget >= most], 1, atol=1e-14)
    np.testing.assert_array_equal(frontier.best(p, q, known.least, divergence).law, p)


@pytest.mark.parametrize("divergence", SMOOTH)
def test_the_frontier_rises_and_is_concave_in_the_budget(divergence):
    power = 2 if divergence == "hellinger" else 1  # concave in H², which is the f-divergence
    p, q = next(random_pairs(1, 2, size=8))
    budgets = np.linspace(0, 1.1 * DIVERGENCES[divergence].measure(q, p) ** power, 400)
    rate = frontier.acceptance_rate(p, q, budgets ** (1 / power), divergence)
    assert rate[0] == pytest.approx(1 - theory.total_variation(p, q))
    assert rate[-1] == 1
    assert (np.diff(rate) >= 0).all()
    assert (np.diff(rate, 2) <= 1e-12).all()


def test_defined_answers_for_equal_disjoint_and_single_tokens():
    row, hot = np.array([0.5, 0.3, 0.2]), np.array([[1.0, 0.0], [0.0, 1.0]])
    disjoint = {
        "kl_divergence": 0,
        "reverse_kl": 1 - np.exp(-0.3),  # -ln R
        "chi_square": 0,
        "hellinger": 1 - (1 - 0.3**2) ** 2,  # 1 - √R
        "total_variation": 0.3,
        "max_overshoot": 0,
    }
    for divergence, known in DIVERGENCES.items():
        budget = known.least + 0.3
        assert frontier.best(row, row, budget, divergence).acceptance_rate == 1
        assert frontier.best([1.0], [1.0], budget, divergence).law.tolist() == [1]
        found = frontier.best(hot[0], hot[1], budget, divergence)
        if divergence in disjoint:
            assert found.acceptance_rate == pytest.approx(disjoint[divergence], abs=1e-14)
        assert found.law == pytest.approx([1 - found.acceptance_rate, found.acceptance_rate])
        assert frontier.best(hot[0], hot[1], np.inf, divergence).acceptance_rate == 1


def test_draft_off_the_support_is_out_of_reach_or_has_a_finite_price():
    p, q = np.array([0.6, 0.4, 0.0]), np.array([0.3, 0.5, 0.2])
    budgets = np.array([1.0, 10.0, 1e6])
    for divergence in ("kl_divergence", "chi_square", "max_overshoot"):
        assert frontier.acceptance_rate(p, q, budgets + 1, divergence) == pytest.approx([0.8, 0.8, 0.8])
    for divergence in ("reverse_kl", "hellinger", "jensen_shannon", "total_variation"):
        assert frontier.acceptance_rate(p, q, budgets, divergence).tolist() == [1, 1, 1]
        found = frontier.best(p, q, 0.95 * DIVERGENCES[divergence].measure(q, p), divergence)
        assert found.a == 0
        assert 0 < found.share < 1
        assert 0.8 < found.acceptance_rate < 1


def test_what_the_draft_lacks_keeps_kl_from_acceptance_1():
    p, q = np.array([0.6, 0.4]), np.array([0.0, 1.0])
    rate = frontier.acceptance_rate(p, q, np.array([1.0, 10.0, 100.0, np.inf]), "reverse_kl")
    assert 0.4 < rate[0] < rate[1] < 1 - 1e-8
    assert rate[3] == 1


# --- nothing is above: certificates in exact arithmetic -------------------------------------------------------------


@given(rational_pairs, parts)
@example((exact_array([1, 0]), exact_array([0, 1])), F(1, 2))
def test_total_variation_has_a_dual_certificate(pair, budget):
    """Of: most Σ m with m <= q (price y), m <= π (z), π - p <= u (w), Σ u <= budget (λ), Σ π = 1 (ν); π, u >= 0."""
    p, q = pair
    found = frontier.best(p, q, budget, "total_variation")
    assert found.acceptance_rate == min(1, 1 - theory.total_variation(p, q) + budget)
    assert found.divergence <= budget
    if budget >= theory.total_variation(p, q):
        assert found.acceptance_rate == 1, "the acceptance of a rule that keeps everything"
        return
    over = [y > x for x, y in zip(p, q, strict=True)]
    y, z, w, rate, nu = [int(not o) for o in over], [int(o) for o in over], [int(o) for o in over], 1, 0
    assert all(a + b >= 1 for a, b in zip(y, z, strict=True))
    assert all(nu + c - b >= 0 for b, c in zip(z, w, strict=True))
    assert all(c <= rate for c in w)
    assert sum(a * x for a, x in zip(y, q, strict=True)) + sum(c * x for c, x in zip(w, p, strict=True)) + nu + rate * budget == (
        found.acceptance_rate
    )


@given(rational_pairs, st.fractions(1, 20, max_denominator=12))
def test_overshoot_has_a_dual_certificate_and_lenience_attains_it(pair, ceiling):
    """Of: most Σ m with m <= q (price 1 - z), m <= π (z), π <= c p (z): Σ (1 - z) q + z c p, least for z = 1 where q > c p."""
    p, q = pair
    found = frontier.best(p, q, ceiling, "max_overshoot")
    assert found.acceptance_rate == sum(min(y, ceiling * x) for x, y in zip(p, q, strict=True))
    assert found.divergence <= ceiling
    lenient = theory.Lenience(1 / ceiling)
    assert lenient.acceptance_rate(p, q) == found.acceptance_rate
    assert theory.max_overshoot(lenient.induced(p, q), p) <= ceiling


@given(rational_pairs, parts, st.integers(0, 2**32))
def test_the_clip_has_the_least_excess_and_deficit_at_every_level_of_all_laws_that_overlap_as_much(pair, part, seed):
    p, q = pair
    rejected = part * theory.total_variation(p, q)
    clip = SortedPair(p, q).rejecting(rejected).law(p, q)
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 6, (4, p.size)) + (np.arange(p.size) == 0)
    for law in [theory.normalise([F(int(x)) for x in row]) for row in weights]:
        distance = theory.total_variation(law, q)
        if distance > rejected:  # move it towards the draft until it overlaps as much
            law = q + rejected / distance * (law - q)
        for level in {F(1), F(1, 2), F(3), *(v / x for rows in (clip, law, q) for v, x in zip(rows, p, strict=True) if x > 0)}:
            excess = [sum(max(v - level * x, F(0)) for v, x in zip(rows, p, strict=True)) for rows in (clip, law, q, p)]
            assert excess[0] <= excess[1]
            if level >= 1:
                assert excess[0] == max(excess[2] - rejected, 0)
            else:
                deficit = [sum(max(level * x - v, F(0)) for v, x in zip(rows, p, strict=True)) for rows in (clip, law, q)]
                assert deficit[1] >= deficit[0] == max(deficit[2] - rejected, 0)


@given(rational_pairs, parts)
def test_chi_square_has_a_certificate_by_its_tangent(pair, part):
    """min(q, π) <= (1 - s) q + s π for s in [0, 1]; an s that rises with the slope of chi-square bounds Σ s π by the budget."""
    p, q = pair
    off = sum(y for x, y in zip(p, q, strict=True) if x == 0)
    distance = theory.total_variation(p, q)
    clip = SortedPair(p, q).rejecting(off + part * (distance - off))  # below, chi-square is infinite
    law = clip.law(p, q)
    if 1 / clip.a == clip.b:
        assert list(law) == list(p)
        return
    for x, y, v in zip(p, q, law, strict=True):
        s = (v / x - clip.b) / (1 / clip.a - clip.b) if x > 0 else F(1)
        assert 0 <= s <= 1
        assert (1 - s) * y + s * v == min(y, v)


# --- nothing is above: independent solvers --------------------------------------------------------------------------


def solve(p, q, budget, divergence):
    """Most Σ m with m <= q, m <= π, Σ π = 1 and D_f(π, p) <= budget, by SLSQP from p; off the support at the price f'(∞)."""
    size, some = len(p), p > 0
    f, slope, price = RATIO[divergence], SLOPE[divergence], OFF.get(divergence)

    def left(v):
        law = v[:size]
        return budget - (p[some] * f(law[some] / p[some])).sum() - (price or 0) * law[~some].sum()

    def gradient(v):
        by_law = np.full(size, -(price or 0.0))
        by_law[some] = -slope(v[:size][some] / p[some])
        return np.concatenate([by_law, np.zeros(size)])

    identity = np.eye(size)
    most = np.where(some | (price is not None), 1.0, 0.0)
    found = minimize(
        lambda v: -v[size:].sum(),
        np.concatenate([p, np.minimum(p, q)]),
        jac=lambda v: np.concatenate([np.zeros(size), -np.ones(size)]),
        bounds=[(1e-9 if x else 0, m) for x, m in zip(some, most, strict=True)] + [(0, y) for y in q],
        constraints=[
            {"type": "eq", "fun": lambda v: v[:size].sum() - 1, "jac": lambda v: np.repeat([1.0, 0.0], size)},
            {"type": "ineq", "fun": lambda v: v[:size] - v[size:], "jac": lambda v: np.hstack([identity, -identity])},
            {"type": "ineq", "fun": left, "jac": gradient},
        ],
        method="SLSQP",
        options={"maxiter": 500, "ftol": 1e-12},
    )
    return -found.fun


@pytest.mark.parametrize("divergence", SMOOTH)
@pytest.mark.parametrize("zeros", [0, 0.4])
def test_an_independent_convex_solver_finds_the_same_optimum(divergence, zeros):
    for (p, q), share in zip(random_pairs(6, 3, size=4, zeros=zeros), [0.02, 0.1, 0.3, 0.5, 0.7, 0.9], strict=True):
        most = min(DIVERGENCES[divergence].measure(q, p), 1.0)
        budget = share * most
        ours = frontier.acceptance_rate(p, q, budget, divergence)
        theirs = solve(p, q, budget**2 if divergence == "hellinger" else budget, divergence)
        assert ours == pytest.approx(theirs, abs=2e-6)


def test_yins_theorem_5_by_linear_programming_over_acceptance_and_residual():
    """Variables A = q a, B = R r and u >= |A + B - p|: the most Σ A with Σ u <= 2 budget."""
    for (p, q), budget in itertools.product(random_pairs(5, 4, size=4, zeros=0.2), (0, 0.05, 0.3)):
        one, zero, identity = np.ones(4), np.zeros(4), np.eye(4)
        program = linprog(
            np.concatenate([-one, zero, zero]),
            A_ub=np.vstack(
                [
                    np.hstack([identity, identity, -identity]),
                    np.hstack([-identity, -identity, -identity]),
                    np.concatenate([zero, zero, one]),
                ]
            ),
            b_ub=np.concatenate([p, -p, [2 * budget]]),
            A_eq=[np.concatenate([one, one, zero])],
            b_eq=[1],
            bounds=[(0, y) for y in q] + [(0, 1)] * 8,
        )
        assert frontier.acceptance_rate(p, q, budget, "total_variation") == pytest.approx(-program.fun, abs=1e-9)


@pytest.mark.parametrize("divergence", DIVERGENCES)
def test_no_verifier_of_the_package_is_above_the_frontier(divergence):
    known = DIVERGENCES[divergence]
    p, q = np.stack(list(random_pairs(10, 5, zeros=0.2))).swapaxes(0, 1)
    laws = [rule.law(p, q) for rule in cases.FLOATS]
    distances = np.array([known.measure(law.induced, p) for law in laws])
    room = 1e-14 if divergence in ("total_variation", "max_overshoot") else 3e-8  # D of 1e-16 at p is worth its root
    limits = frontier.acceptance_rate(p, q, np.maximum(distances * (1 + 1e-13), known.least), divergence)
    for rule, law, limit in zip(cases.FLOATS, laws, limits, strict=True):
        assert (law.acceptance_rate <= limit + room).all(), rule


def test_a_rate_that_no_rule_has_would_be_seen_above_the_frontier():
    p, q = np.array(cases.GOLDEN_P, dtype=float), np.array(cases.GOLDEN_Q, dtype=float)
    law = theory.Lenience(0.5).law(p, q)
    for divergence, known in DIVERGENCES.items():
        assert frontier.acceptance_rate(p, q, known.measure(law.induced, p), divergence) < law.acceptance_rate + 0.01


# --- who falls short ------------------------------------------------------------------------------------------------


def test_shortfall_is_what_single_pairs_say():
    pairs = np.stack(list(random_pairs(7, 6, size=6)))
    p, q = pairs[:, 0], pairs[:, 1]
    rules = [theory.Lenience(0.4), theory.Cactus(0.1), theory.Mentored(0.4)]
    table = frontier.shortfall(rules, p, q)
    for row, rule in zip(table.itertuples(), rules, strict=True):
        law = rule.law(p, q)
        distance = theory.kl_divergence(law.induced, p)
        best = [frontier.best(x, y, d).acceptance_rate for x, y, d in zip(p, q, distance, strict=True)]
        assert row.verifier == str(rule)
        assert row.divergence == pytest.approx(distance.mean())
        assert row.acceptance_rate == pytest.approx(law.acceptance_rate.mean())
        assert row.best_acceptance_rate == pytest.approx(np.mean(best))
        assert row.shortfall == pytest.approx(np.mean(best) - law.acceptance_rate.mean(), abs=1e-12)
        assert row.largest_shortfall == pytest.approx((best - law.acceptance_rate).max(), abs=1e-12)
    assert table["shortfall"][0] > 1e-4
    assert table["shortfall"][1] > 1e-4
    assert table["shortfall"][2] == pytest.approx(0, abs=1e-9)


def test_shortfall_on_the_trace():
    trace = theory.traces.example().with_tail_tokens(1024)
    rules = [
        theory.Lenience(0.4),
        theory.Lenience(0.8),
        theory.CoS(0.5),
        theory.Cactus(0.1),
        theory.Cactus(1.0),
        theory.Mentored(0.4),
    ]
    by_kl = frontier.shortfall(rules, trace.p, trace.q)["shortfall"]
    assert by_kl.to_list() == pytest.approx([0.0020, 0.0010, 0.0394, 0.0118, 0.0034, 0], abs=6e-5)
    by_overshoot = frontier.shortfall(rules, trace.p, trace.q, "max_overshoot")["shortfall"]
    assert by_overshoot.to_list() == pytest.approx([0, 0, 0.1874, 0.1140, 0.0510, 0], abs=6e-5)
    by_tv = frontier.shortfall(rules, trace.p, trace.q, "total_variation")["shortfall"]
    assert by_tv.to_list() == pytest.approx([0] * len(rules), abs=1e-12)


# --- the line -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Arbitrary(theory.TokenVerifier):
    """Any acceptance and any residual."""

    chances: tuple
    replacement: tuple

    def acceptance(self, p, q):
        return np.where(q > 0, np.array(self.chances, dtype=object), F(1))

    def residual(self, p, q):
        return np.array(self.replacement, dtype=object)


def assert_criterion(verifier, p, q):
    gap, enough, within = frontier.line(verifier, p, q)
    assert gap == oracles.tv(verifier.induced(p, q), p) + verifier.law(p, q).rejection_rate - oracles.tv(p, q)
    assert gap >= 0
    assert (gap == 0) == (enough and within), verifier
    return gap == 0


@given(rational_pairs)
@example((exact_array(cases.GOLDEN_P), exact_array(cases.GOLDEN_Q)))
def test_on_the_line_iff_it_accepts_enough_and_replaces_within(pair):
    for verifier in (*cases.RATIONAL, *cases.CONTROLS):
        on = assert_criterion(verifier, *pair)
        assert on or not cases.on_the_line(verifier), verifier


@given(st.data())
def test_the_criterion_holds_for_any_acceptance_and_residual(data):
    p, q = data.draw(testing.pairs(max_size=4))
    chances = data.draw(st.lists(st.fractions(0, 1, max_denominator=6), min_size=p.size, max_size=p.size))
    replacement = data.draw(testing.rational_rows(p.size))
    assert_criterion(Arbitrary(tuple(chances), tuple(replacement)), p, q)


def test_the_criterion_has_both_sides_and_each_condition_can_fail_alone():
    p, q = exact_array(cases.GOLDEN_P), exact_array(cases.GOLDEN_Q)
    strict = theory.Strict()
    acceptance, residual = strict.acceptance(p, q), strict.residual(p, q)
    assert frontier.line(strict, p, q) == (0, True, True)
    assert frontier.line(cases.WrongResidual(), p, q) == (F(1, 10), True, False)
    grudging = Arbitrary((F(1), F(1), acceptance[2], F(0)), tuple(residual))
    assert frontier.line(grudging, p, q) == (F(2, 10), False, False)
    timid = Arbitrary((acceptance[0], acceptance[1], acceptance[2], F(0)), (F(2, 7), F(1, 7), F(0), F(4, 7)))
    assert not frontier.line(timid, p, q).accepts_enough
    assert frontier.line(timid, p, q).gap > 0
    everything = Arbitrary((F(1),) * 4, tuple(p))
    assert frontier.line(everything, p, q) == (0, True, True), "a residual that is never used does not count"


def test_the_table_of_who_is_on_the_line():
    table = frontier.on_the_line().set_index("verifier")
    assert {type(theory.parse(name)) for name in table.index} == set(RULES.values())
    for name, row in table.iterrows():
        assert row["on_the_line"] == cases.on_the_line(theory.parse(name)), name
        assert row["on_the_line"] == (row["accepts_enough"] and row["replaces_within"]) == (row["largest_gap"] < 1e-12)
        assert row["on_the_line"] == (row["pairs_off"] == 0)
    assert list(table.index) == list(frontier.EXAMPLES)


def test_the_table_takes_pairs_in_any_arithmetic():
    rules = [theory.Lenience(F(1, 2)), theory.ExactMatch()]
    table = frontier.on_the_line(rules, cases.GOLDEN_P, cases.GOLDEN_Q)
    assert table["on_the_line"].tolist() == [True, False]
    assert table["largest_gap"][1] == 153 / 200 - 1 / 4
    p = np.array([cases.GOLDEN_P] * 2, dtype=np.float32)
    assert frontier.on_the_line(rules, p, p[:, ::-1])["on_the_line"].tolist() == [True, False]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: frontier.best([1.0], [1.0], -0.1), r"budget = -0\.1: must be a number in \[0, inf\]"),
        (lambda: frontier.best([1.0], [1.0], float("nan")), "budget = nan"),
        (lambda: frontier.best([1.0], [1.0], 0.5, "max_overshoot"), r"budget = 0\.5: must be a number in \[1, inf\]"),
        (lambda: frontier.best([1.0], [1.0], 1, "renyi"), "divergence = 'renyi': must be one of kl_divergence"),
        (lambda: frontier.best([0.5], [1.0], 1), r"p sums to 0\.5"),
        (lambda: frontier.acceptance_rate([1.0], [1.0], [0.1, -1]), "budget = -1"),
        (lambda: frontier.shortfall([], [1.0], [1.0]), "verifiers is empty"),
        (lambda: frontier.shortfall(theory.Strict(), [1.0], [1.0], "tv"), "divergence = 'tv'"),
        (lambda: frontier.shortfall(theory.Strict(), [[1.0]], [[1.0], [1.0]]), "p has 1 rows and q has 2"),
        (lambda: frontier.on_the_line(theory.Strict(), [1.0]), "p and q: give both"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_shortfall_takes_a_trace():
    trace = theory.traces.example()
    assert frontier.shortfall("cos:0.5", trace).equals(frontier.shortfall(theory.CoS(0.5), trace.p, trace.q))
