"""Whole trade-off curves equal the per-value route: exactly on Fractions, at every breakpoint, and to rounding on floats."""

import itertools
from dataclasses import dataclass
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import theory
from tests import cases
from tests.test_optimal import exact_array
from theory import curves, exact, plotting, probs, testing
from theory.curves.sums import rising_order
from theory.verifiers import FALLBACKS, RULES, RuleError
from theory.verifiers.base import ExcessResidual

CURVES = [
    *((rule, "redraft") for rule in ("lenience", "mentored", "overshoot-ceiling", "cos")),
    *((rule, fallback) for rule in ("spec-cascade", "typical-acceptance") for fallback in FALLBACKS),
]
GATES = ("spec-cascade", "typical-acceptance")
everywhere = pytest.mark.parametrize(("rule", "fallback"), CURVES)
BASE = {"acceptance_rate", "total_variation", "max_overshoot"}


def verifier(rule, value, fallback):
    return RULES[rule](value, fallback=fallback) if rule in GATES else RULES[rule](value)


def by_value(rule, p, q, values, fallback, names):
    """The per-value route: each verifier's own law, and the divergences of that."""
    rows = [exact.summarise(verifier(rule, value, fallback), p, q, names) for value in values]
    return {name: [row[name] for row in rows] for name in names}


def softmax_rows(size, seed, dtype=np.float64, holes=0.0):
    rng = np.random.default_rng(seed)
    logits = 2 * rng.standard_normal(size)
    weights = np.exp([logits, logits + rng.standard_normal(size)]) * (rng.random((2, size)) >= holes) + 1e-3 * np.eye(2, size)
    weights[:, : size // 4] = np.round(weights[:, : size // 4], 1)  # ties, in p and in q/p
    return theory.normalise(theory.normalise(weights).astype(dtype))


@everywhere
@given(testing.pairs(), st.lists(st.fractions(F(1, 20), 1, max_denominator=20), min_size=1, max_size=4))
@example((exact_array([1, 0]), exact_array([0, 1])), [F(1, 2)])
@example((exact_array([1]), exact_array([1])), [F(1, 2)])
@example((exact_array(cases.GOLDEN_P), exact_array(cases.GOLDEN_Q)), [F(2, 5), F(1)])
def test_curves_are_the_laws_exactly_at_any_value_and_at_every_breakpoint(rule, fallback, pair, values):
    p, q = pair
    values = [*values, *(value for value in curves.breakpoints(rule, p, q, fallback) if value > 0)]
    found = curves.evaluate(rule, p, q, values, fallback)
    wanted = by_value(rule, p, q, values, fallback, found)
    for name in found:
        if name == "kl_divergence":
            np.testing.assert_allclose(found[name].astype(float), np.array(wanted[name], dtype=float), rtol=1e-12, atol=1e-14)
        else:
            assert list(found[name]) == wanted[name], name


@everywhere
@pytest.mark.parametrize("holes", [0, 0.3])
def test_curves_are_the_laws_on_floats_within_the_rounding_of_their_sums(rule, fallback, holes):
    size = 700
    p, q = softmax_rows(size, 1, holes=holes)
    points = curves.breakpoints(rule, p, q, fallback)
    values = [0.001, 0.3, 0.999, 1.0, *(float(value) for value in points[::40] if value > 0)]
    found = curves.evaluate(rule, p, q, values, fallback)
    room = 4 * size * np.finfo(np.float64).eps
    for name, wanted in by_value(rule, p, q, values, fallback, found).items():
        relative = 0 if name in ("acceptance_rate", "total_variation") else room
        np.testing.assert_allclose(found[name], wanted, rtol=relative, atol=room, err_msg=name)


@everywhere
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(data=st.data())
def test_rates_on_any_rows(rule, fallback, dtype, data):
    p, q = data.draw(testing.pairs(max_size=10, rows=lambda size: testing.float_rows(size, dtype)))
    values = data.draw(st.lists(st.floats(1e-3, 1), min_size=1, max_size=3))
    found = curves.evaluate(rule, p, q, values, fallback)
    names = ("acceptance_rate", "total_variation")
    distance = theory.total_variation(p, q)
    room = 64 * np.finfo(dtype).eps / (min(1, distance) if fallback == "residual" and distance > 0 else 1)  # R / TV(p, q)
    for name, wanted in by_value(rule, p, q, values, fallback, names).items():
        np.testing.assert_allclose(found[name], wanted, rtol=0, atol=room, err_msg=name)
    assert (found["max_overshoot"] >= 1 - room).all()


@pytest.mark.parametrize("dtype", [np.float64, object])
def test_the_order_of_ratios_is_that_of_a_sort(dtype):
    rng = np.random.default_rng(0)
    near = 1 + 1e-9 * rng.random(3000)  # equal as 32-bit numbers
    spread = 10.0 ** rng.uniform(-320, 308, 3000)  # beyond the range of 32-bit numbers at both ends
    ties = rng.integers(0, 5, 3000).astype(float)
    for values in (near, spread, ties, np.concatenate([near, spread, ties, [np.inf, 0, np.inf]]), near[:1], near[:0]):
        mixed = rng.permutation(values).astype(dtype)
        order = rising_order(mixed)
        assert sorted(order.tolist()) == list(range(values.size))
        assert list(mixed[order]) == sorted(mixed)


def test_which_curves_have_kl():
    p, q = cases.GOLDEN_P, cases.GOLDEN_Q
    for rule, fallback in CURVES:
        with_kl = rule == "mentored" or (rule in GATES and fallback in ("redraft", "argmax"))
        assert set(curves.evaluate(rule, p, q, [1], fallback)) == BASE | ({"kl_divergence"} if with_kl else set())


def test_breakpoints_are_where_the_curves_turn():
    p, q = exact_array(cases.GOLDEN_P), exact_array(cases.GOLDEN_Q)
    assert list(curves.breakpoints("lenience", p, q)) == [F(1, 3), F(4, 5)]
    assert list(curves.breakpoints("overshoot-ceiling", p, q)) == [F(1, 3), F(4, 5)]
    assert list(curves.breakpoints("spec-cascade", p, q)) == [F(1, 4), F(1, 2), F(3, 4), 1]
    assert list(curves.breakpoints("cos", p, q)) == []
    floors = sorted({*curves.breakpoints("mentored", p, q)} - {F(1, 3), F(4, 5)})
    assert len(floors) == 1, "the floor passes token 1 of q/p = 5/6; token 0 is never passed"
    rate = theory.Mentored(floors[0]).law(p, q).rejection_rate
    assert sum(max(F(5, 6) * x - y, F(0)) for x, y in zip(p, q, strict=True)) == rate
    points = curves.breakpoints("lenience", p, q)
    middle = [F(1, 100), *((a + b) / 2 for a, b in itertools.pairwise(points)), F(9, 10)]
    for low, value, high in [(a - F(1, 1000), a, a + F(1, 1000)) for a in (*middle, *points)]:  # straight in 1/l but at them
        a, b, c = curves.evaluate("lenience", p, q, [low, value, high])["acceptance_rate"]
        straight = (b - a) * (1 / high - 1 / value) == (c - b) * (1 / value - 1 / low)
        assert straight == (value not in points)


def test_eta_breakpoints_let_one_more_token_in():
    p, q = softmax_rows(50, 2)
    points = curves.breakpoints("typical-acceptance", p, q)
    at, above = (
        curves.evaluate("typical-acceptance", p, q, v)["acceptance_rate"] for v in (points, np.minimum(points * 1.0001, 1))
    )
    assert (at[:-1] > above[:-1]).all()


@everywhere
def test_a_curve_of_a_stack_is_the_mean_over_its_positions(rule, fallback):
    pairs = np.stack([softmax_rows(40, seed, holes=0.2) for seed in range(5)])
    p, q = pairs[:, 0], pairs[:, 1]
    values = [1.0, 0.05, 0.4]
    table = curves.curve(rule, p, q, values, fallback)
    assert table["parameter"].tolist() == values
    assert [theory.parse(name) for name in table["verifier"]] == [verifier(rule, value, fallback) for value in values]
    assert set(table["family"]) == {RULES[rule].family}
    for name, wanted in by_value(rule, p, q, values, fallback, list(table.columns[4:])).items():
        np.testing.assert_allclose(table[name], np.mean(wanted, axis=1), rtol=1e-12, atol=1e-13, err_msg=name)


def test_curves_of_fractions_stay_fractions_and_stream_a_trace():
    table = curves.curve("lenience", [cases.GOLDEN_P] * 2, [cases.GOLDEN_Q] * 2, [F(1, 2), 1])
    assert table["acceptance_rate"].tolist() == [F(9, 10), F(3, 4)]
    trace = theory.traces.example().with_tail_tokens(1024)
    table = curves.curve("lenience", trace.p, trace.q, [0.4, 0.8])
    law = theory.compare([theory.Lenience(0.4), theory.Lenience(0.8)], trace.p, trace.q)
    for name in ("acceptance_rate", "total_variation"):
        np.testing.assert_allclose(table[name], law[name], atol=1e-12)
    axes = plotting.plot_tradeoff(table)
    assert len(axes.get_lines()) == 1


def test_lenience_and_mentored_share_all_but_kl():
    p, q = softmax_rows(100, 3)
    lenient, mentored = (curves.evaluate(rule, p, q, np.linspace(0.01, 1, 30)) for rule in ("lenience", "mentored"))
    for name in BASE:
        np.testing.assert_array_equal(lenient[name], mentored[name])


# --- rules without an offer, and rules of one's own ------------------------------------------------------------------------


ROWS = [float(x) for x in cases.GOLDEN_P], [float(x) for x in cases.GOLDEN_Q]


@pytest.mark.parametrize("name", RULES)
def test_every_rule_with_a_number_has_a_curve(name):
    rule = next(case for case in cases.FLOATS if case.name == name)
    numbers = [key for key in getattr(rule, "__dataclass_fields__", {}) if isinstance(getattr(rule, key), F | int | float)]
    for parameter in numbers:
        value = getattr(rule, parameter)
        table = curves.curve(rule, *ROWS, [value, 1], parameter=parameter)
        assert table["verifier"].iloc[0] == str(rule)
        assert set(table["route"]) == {"closed form" if name in curves.PARAMETERS else "one by one"}
        law = exact.summarise(rule, *ROWS, table.columns[4:])
        for column in table.columns[4:]:
            assert table[column].iloc[0] == pytest.approx(law[column], rel=1e-12, abs=1e-12), column


def test_names_classes_and_rules_are_taken_alike():
    ways = ["spec-cascade", theory.SpecCascade, theory.SpecCascade(0.1), "spec-cascade:0.7"]
    tables = [curves.curve(way, *ROWS, [0.2, 0.8]) for way in ways]
    assert all(table.equals(tables[0]) for table in tables)
    kept = curves.curve("spec-cascade:0.7,fallback=target", *ROWS, [0.2])
    assert kept["verifier"].tolist() == ["spec-cascade:0.2,fallback=target"]
    assert kept.equals(curves.curve("spec-cascade", *ROWS, [0.2], fallback="target"))
    assert list(curves.breakpoints(theory.Lenience(0.1), *ROWS)) == list(curves.breakpoints("lenience", *ROWS))
    budget = curves.curve("mentored:budget=1", *ROWS, [0.01, 0.1], parameter="budget")
    assert set(budget["route"]) == {"one by one"}
    assert set(curves.curve(theory.TypicalAcceptance(0.1, 0.5), *ROWS, [0.2])["route"]) == {"one by one"}


def test_one_by_one_streams_traces_and_keeps_fractions():
    trace = theory.traces.example().with_tail_tokens(64)
    table = curves.curve("cactus", trace, values=[0.1, 1.0])
    law = theory.compare(["cactus:0.1", "cactus:1.0"], trace, resamples=2)
    for name in ("acceptance_rate", "total_variation", "kl_divergence"):
        np.testing.assert_allclose(table[name], law[name], rtol=1e-9)
    table = curves.curve("static-ensemble", [cases.GOLDEN_P] * 2, [cases.GOLDEN_Q] * 2, [F(1, 2)])
    assert table["total_variation"].tolist() == [F(1, 2) * theory.total_variation(cases.GOLDEN_P, cases.GOLDEN_Q)]
    found = curves.evaluate("static-ensemble", exact_array(cases.GOLDEN_P), exact_array(cases.GOLDEN_Q), [F(1, 2), 0])
    assert found["total_variation"].tolist() == [*table["total_variation"], 0]


@dataclass(frozen=True)
class Some(ExcessResidual):
    """Keep a share of what strict verification rejects."""

    share: float = 0.5
    factor: float = 1

    def acceptance(self, p, q):
        p, q = probs.check_pair(p, q)
        return self.factor * self.share + (1 - self.factor * self.share) * probs.acceptance_ratio(p, q)


@dataclass(frozen=True)
class Offering(Some):
    """The same, which offers a curve that is right at factor 1 only."""


@curves.offer(Offering, "share", "[0, 1]")
def _(p, q, factor=1):
    if factor == 0:
        return None
    distance = probs.total(probs.excess(q, p))
    return curves.Fast(lambda share: {"total_variation": share * distance}, lambda: np.array([0.25]))


def test_a_rule_of_ones_own_has_a_curve_and_can_offer_its_own():
    plain, offered = (curves.curve(rule, *ROWS, [0, 0.5, 1]) for rule in (Some, Offering))
    assert set(plain["route"]) == {"one by one"}
    assert set(offered["route"]) == {"closed form"}
    assert list(offered.columns) == ["verifier", "family", "parameter", "route", "total_variation"]
    np.testing.assert_allclose(offered["total_variation"], plain["total_variation"], atol=1e-15)
    np.testing.assert_allclose(curves.evaluate(Offering(0.1), *ROWS, [0.5])["total_variation"], plain["total_variation"][1])
    assert list(curves.breakpoints(Offering, *ROWS)) == [0.25]
    assert set(curves.curve(Offering(factor=0), *ROWS, [0.5])["route"]) == {"one by one"}
    assert set(curves.curve(Offering(), *ROWS, [0.5], parameter="factor")["route"]) == {"one by one"}


def test_a_subclass_offers_nothing_that_its_parent_did():
    class Other(Offering):
        pass

    assert set(curves.curve(Other, *ROWS, [0.5])["route"]) == {"one by one"}


def test_an_offer_that_is_not_the_law_is_refused():
    for call in (curves.curve, curves.evaluate):
        with pytest.raises(ValueError, match=r"total_variation is 0\.12\d* by its law and 0\.25 by the curve that it offers"):
            call(Offering(factor=0.5), *ROWS, [0, 1])
        with pytest.raises(ValueError, match=r"values = 2: must be a number in \[0, 1\]"):
            call(Offering, *ROWS, [0, 2])
        with pytest.raises(RuleError, match=r"acceptance\[.*= 3\.0: must be a probability"):
            call(Offering(factor=3), *ROWS, [0, 1])
        with pytest.raises(RuleError, match="must be a probability"):
            call(Some, *ROWS, [3])


@pytest.mark.parametrize(
    ("column", "message"),
    [({"tv": 1}, "offers a curve of 'tv'; there are: acceptance_rate"), ({"total_variation": 1}, r"has shape \(\), of \(1,\)")],
)
def test_an_offer_that_is_no_curve_is_refused(column, message):
    @dataclass(frozen=True)
    class Bad(Some):
        pass

    curves.offer(Bad, "share", "[0, 1]")(lambda p, q, factor=1: curves.Fast(lambda values: column))
    with pytest.raises(ValueError, match=message):
        curves.evaluate(Bad, *ROWS, [1])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: curves.evaluate("strict", [1.0], [1.0], [1]), "strict: has no parameter that could vary"),
        (lambda: curves.evaluate("lenience", [1.0], [1.0], [0.5, 0.0]), r"values = 0\.0: must be a number in \(0, 1\]"),
        (lambda: curves.evaluate("cos", [1.0], [1.0], [0.5, float("nan")]), "values = nan"),
        (lambda: curves.evaluate("cos", [1.0], [1.0], [F(3, 2)]), r"values = Fraction\(3, 2\)"),
        (lambda: curves.evaluate("cos", [1.0], [1.0], ["1"]), "values = '1'"),
        (lambda: curves.evaluate("cos", [1.0], [1.0], []), "values is empty"),
        (lambda: curves.evaluate("spec-cascade", [1.0], [1.0], [1], "none"), "fallback = 'none': must be one of redraft"),
        (lambda: curves.evaluate("cos", [[1.0]], [1.0], [1]), r"shapes \(1, 1\) and \(1,\): one pair"),
        (lambda: curves.evaluate("cos", [0.5], [1.0], [1]), r"p sums to 0\.5"),
        (lambda: curves.curve("cos", [[1.0]], [[1.0], [1.0]], [1]), "p has 1 rows and q has 2"),
        (lambda: curves.curve("cos", np.empty((0, 2)), np.empty((0, 2)), [1]), "p has 0 rows"),
        (lambda: curves.breakpoints("cosine", [1.0], [1.0]), "no verifier is called 'cosine'; there are: adaptive"),
        (lambda: curves.breakpoints("cactus", [1.0], [1.0]), r"cactus: offers no breakpoints over delta; theory\.curves\.offer"),
        (lambda: curves.evaluate("cactus", [1.0], [1.0], [-1]), "delta = -1: must be a number in"),
        (lambda: curves.evaluate("cactus", [1.0], [1.0], [None]), "values = None: must be a number"),
        (lambda: curves.evaluate("cactus", [1.0], [1.0], 1), "values = 1: must be several numbers"),
        (lambda: curves.evaluate("cactus", [1.0], [1.0], [1], parameter="alpha"), "parameter = 'alpha': cactus has delta"),
        (lambda: curves.evaluate("hybrid-ceiling", [1.0], [1.0], [1]), "hybrid-ceiling: .*lenience.*; give a rule, whose other"),
        (lambda: curves.evaluate("truncation:top-k:2", [1.0], [1.0], [1]), r"its truncation is no number; say with parameter="),
        (lambda: curves.evaluate(3, [1.0], [1.0], [1]), "rule = 3: must be a TokenVerifier or a class of them"),
        (lambda: curves.evaluate("mentored:budget=1", [1.0], [1.0], [1]), "alpha = 1, budget = 1: give one of the two"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
