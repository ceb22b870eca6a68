"""Searches say whether they would find more: nearer the edge, against the derived suprema of all rules, and with more tokens."""

import itertools
import math
import os
from dataclasses import dataclass
from fractions import Fraction as F

import numpy as np
import pytest

import theory
from tests import cases
from tests.test_failure_worst import EVERY
from theory import failure, probs
from theory.failure import QUANTITIES, growth
from theory.failure.suprema import MOST
from theory.verifiers import RuleError
from theory.verifiers.base import ExcessResidual

THOROUGH = bool(os.environ.get("CI"))
EDGES = np.array([1e-3, 1e-5, 1e-7, 1e-9])


# --- reading a few numbers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("power", [0.05, 0.5, 1, 3])
@pytest.mark.parametrize("factor", [1e-6, 1, 1e6])
def test_a_power_is_found_with_its_exponent(power, factor):
    found = growth.towards_edge(EDGES, factor * EDGES**-power)
    assert (found.trend, found.law) == ("unbounded", "edge^-k")
    assert found.rate == pytest.approx(power)


@pytest.mark.parametrize("rate", [0.01, 1, 30])
@pytest.mark.parametrize("offset", [-0.02, 0, 2])
def test_a_logarithm_is_found_with_its_factor(rate, offset):
    found = growth.towards_edge(EDGES, offset - rate * np.log(EDGES))
    assert (found.trend, found.law) == ("unbounded", "c ln 1/edge")
    assert found.rate == pytest.approx(rate)


@pytest.mark.parametrize(
    "bounded",
    [
        lambda e: 0 * e,
        lambda e: 2 + 0 * e,
        lambda e: 2 - e,
        lambda e: 2 - e**0.2,
        lambda e: 1 + 1 / np.log(e),
        lambda e: 1 - 1 / np.sqrt(-np.log(e)),
        lambda e: np.minimum(1 / e, 1e6),
        lambda e: np.where(e < 1e-8, 100, 1.0),
        lambda e: e * np.log(1 / e),
    ],
)
def test_what_is_bounded_settles(bounded):
    assert growth.towards_edge(EDGES, bounded(EDGES)) == ("settled", 0, "")


def test_what_cannot_exceed_a_number_rises_and_is_not_unbounded():
    assert growth.towards_edge(EDGES, -0.01 * np.log(EDGES), most=1).trend == "rising"
    assert growth.towards_edge(EDGES, [1, 2, 3, math.inf]).trend == "infinite"
    assert growth.towards_edge(EDGES, [0, 0, 1, 2])[1:] == (pytest.approx(1 / math.log(100)), "c ln 1/edge")
    assert growth.towards_edge(EDGES, [math.inf, math.inf, math.inf, 2]).trend == "settled"


@pytest.mark.parametrize("sizes", [(2, 3, 4), (3, 6, 12), (4, 6, 12)])
@pytest.mark.parametrize("order", [0.5, 1, 2])
def test_a_limit_is_extrapolated_from_three_sizes(sizes, order):
    found = growth.with_size(sizes, [0.3 - 0.2 * size**-order for size in sizes])
    assert found.trend == "rising"
    assert found.limit == pytest.approx(0.3)
    assert growth.with_size(sizes, [0.3 - 0.2 * size**-order for size in sizes], most=0.29).limit == 0.29


def test_with_size_some_values_have_no_limit_and_some_have_settled():
    assert growth.with_size((3, 6, 12), [1.0, 2.0, 3.0]) == ("unbounded", math.inf)
    assert growth.with_size((3, 6, 12), [3.0, 6.0, 12.0]) == ("unbounded", math.inf)
    assert growth.with_size((3, 6, 12), [0.0, 0.0, 1.0], most=1) == ("rising", 1)
    assert growth.with_size((3, 6, 12), [1.0, 2.0, 2.0]) == ("settled", 2)
    assert growth.with_size((3, 6, 12), [1.0, 2.0, math.inf]) == ("infinite", math.inf)


# --- towards the edge, over all rules -----------------------------------------------------------------------------------------


RESIDUAL = [case for case in EVERY if getattr(case, "fallback", "") == "residual"]


@pytest.mark.parametrize("verifier", EVERY if THOROUGH else [*cases.ONE_EACH, *RESIDUAL, theory.Cactus(0.02)], ids=str)
@pytest.mark.parametrize("vocabulary", [2, 3] if THOROUGH else [3])
def test_a_search_says_unbounded_where_the_derived_supremum_is_inf_and_nowhere_else(verifier, vocabulary):
    derived = failure.worst(verifier, vocabulary)
    for name in QUANTITIES if THOROUGH else ("kl_divergence", "max_overshoot"):
        found = failure.search(verifier, name, vocabulary, generations=30 if THOROUGH else 8, population=64 if THOROUGH else 24)
        assert found.unbounded == (derived[name].value == math.inf), (name, str(found))
        assert found.trend != "rising"
        assert found.unbounded == ("unbounded" in found.said.partition(",")[0] or found.said == "infinite")
        assert (found.law != "") == (found.trend == "unbounded")


def test_the_rate_of_growth_is_that_of_the_rule():
    """Cactus: γ/p = 1 + sqrt(2 δ (1-p)/p). A gate's sure draft on any token: 1/p, ln 1/p. Residual fallback: p(off A)/p(x)."""
    rates = [
        (theory.Cactus(1.0), "max_overshoot", "edge^-k", 0.5),
        (theory.SpecCascade(0), "max_overshoot", "edge^-k", 1),
        (theory.SpecCascade(0), "kl_divergence", "c ln 1/edge", 1),
        (theory.SpecCascade(F(1, 2), "residual"), "max_overshoot", "edge^-k", 1),
        (theory.SpecCascade(F(1, 2), "residual"), "kl_divergence", "c ln 1/edge", 1 / 3),
        (theory.Optimal(0.5, "chi_square"), "max_overshoot", "edge^-k", 0.5),
    ]
    for rule, quantity, law, rate in rates:
        found = failure.search(rule, quantity)
        assert found.law == law
        assert found.rate == pytest.approx(rate, rel=0.1), (rule, quantity)
        edges, values = list(found.by_edge), list(found.by_edge.values())
        assert edges == sorted(edges, reverse=True)
        assert values == sorted(values)


def test_what_grows_under_what_does_not_is_found_deep_at_the_edge():
    """At min-p 1/10 a sure draft has KL ln 21 = 3.04, and what the fallback adds, 1/11 ln 1/edge, passes it at 1e-15 only."""
    found = failure.search(theory.SpecCascade(F(1, 10), "residual"), "kl_divergence", 3)
    assert found.value == pytest.approx(math.log(21), rel=1e-3)
    assert (found.trend, found.law) == ("unbounded", "c ln 1/edge")


def test_words():
    assert str(failure.search("cos:0.5", "kl_divergence")) == "inf on 3 tokens: infinite"
    said = failure.search(theory.Cactus(1.0), "max_overshoot").said
    assert said == "unbounded, as far as searched: value ~ edge^-0.5"
    assert failure.search("strict", "kl_divergence").said == "settled, as far as searched"
    assert failure.search("strict", vocabulary=1).said == "settled, as far as searched"
    assert failure.search("greedy-match", "max_overshoot").said.endswith(
        "3 on 3, 6 on 6, 12 on 12: unbounded, as far as searched"
    )
    said = failure.search("greedy-match").said
    assert said == "rises with the number of tokens, 0.6667 on 3, 0.8333 on 6, 0.9167 on 12: extrapolated to 1"


def test_a_target_that_is_kept_has_no_edge_and_no_more_tokens():
    found = failure.search("cos:0.5", "kl_divergence", target=[0.5, 0.5, 0.0])
    assert (found.trend, found.by_edge, found.by_size, found.size_trend) == ("infinite", {}, {}, "")
    assert failure.search("cos:0.5", "max_overshoot", target=[0.5, 0.5]).trend == "settled"
    many = np.arange(1, 1001) / 500500
    assert failure.search("cos:0.5", target=many).value == pytest.approx(0.5 * (1 - many[0]))


# --- more tokens ----------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ears(ExcessResidual):
    """EARS: a = min(1, p/q + α (1 - max p)). Off the support it accepts α (1 - 1/n) of a sure draft, n target tokens."""

    alpha: float = 0.3

    def acceptance(self, p, q):
        p, q = probs.check_pair(p, q)
        return np.minimum(1, probs.acceptance_ratio(p, q) + self.alpha * (1 - p.max(axis=-1, keepdims=True)))


def test_a_supremum_that_is_reached_only_as_tokens_become_more_is_shown_as_a_sequence():
    found = failure.search(Ears(), "mass_off_support", 3)
    assert found.value == pytest.approx(0.15)
    assert list(found.by_size) == [3, 6, 12]
    assert list(found.by_size.values()) == pytest.approx([0.3 * (1 - 1 / n) for n in (2, 5, 11)])
    assert found.size_trend == "rising"
    assert found.limit == pytest.approx(0.3, rel=0.05)
    table = failure.search_sizes(Ears(), "mass_off_support", (2, 3, 4, 6, 8, 16, 32, 64), generations=20)
    n = table["vocabulary"] - 1
    assert table["value"].to_numpy() == pytest.approx((0.3 * (1 - 1 / n)).to_numpy())
    assert table["increment"].to_numpy()[1:] == pytest.approx(np.diff(table["value"]))
    assert np.isnan(table["increment"].iloc[0])
    assert set(table["trend"]) == {"settled"}
    assert list(table["size_trend"]) == ["", "", *["rising"] * 6]
    assert table["extrapolated_limit"].iloc[:2].isna().all()
    error = abs(table["extrapolated_limit"].iloc[-1] - 0.3)
    assert error < 0.002 < 0.3 - table["value"].iloc[-1]


@dataclass(frozen=True)
class Half(ExcessResidual):
    """The control: half of what strict verification rejects is kept, whatever V is."""

    def acceptance(self, p, q):
        return (1 + theory.Strict().acceptance(p, q)) / 2


def test_a_supremum_that_has_nothing_to_do_with_the_number_of_tokens_settles():
    table = failure.search_sizes(Half(), "mass_off_support", (3, 6, 12), generations=10)
    assert table["value"].to_numpy() == pytest.approx([0.5] * 3)
    assert list(table["size_trend"]) == ["", "", "settled"]
    assert table["extrapolated_limit"].iloc[-1] == pytest.approx(0.5)
    assert failure.search(Half(), "mass_off_support").size_trend == "settled"


def test_sizes_on_which_there_is_no_bound_are_told():
    table = failure.search_sizes("spec-cascade:1/2,fallback=residual", "max_overshoot", (2, 3, 4), generations=10)
    assert list(table["trend"]) == ["settled", "unbounded", "unbounded"]
    assert list(table["size_trend"]) == ["", "unbounded", "unbounded"]
    assert list(table["law"]) == ["", "edge^-k", "edge^-k"]
    table = failure.search_sizes("cos:0.5", "kl_divergence", (1, 2, 3), generations=5)
    assert list(table["value"]) == [0, math.inf, math.inf]
    assert list(table["size_trend"]) == ["", "infinite", "infinite"]
    found = failure.search("spec-cascade:1/2,fallback=residual", "max_overshoot", 2)
    assert (found.trend, found.size_trend, found.limit) == ("settled", "unbounded", math.inf)


@pytest.mark.parametrize("name", ["total_variation", "mass_off_support"])
@pytest.mark.parametrize("verifier", EVERY if THOROUGH else cases.ONE_EACH, ids=str)
def test_with_more_tokens_a_search_says_of_every_rule_what_its_derivation_does(verifier, name):
    sizes = (3, 6, 12)
    derived = [failure.worst(verifier, size)[name] for size in sizes]
    wanted = growth.with_size(sizes, [float(one.value) for one in derived], MOST[name])
    found = failure.search(verifier, name, 3, generations=30 if THOROUGH else 15, population=32)
    if all(one.exact for one in derived):
        assert found.size_trend == wanted.trend
        for value, one in zip(found.by_size.values(), derived, strict=True):
            assert value == pytest.approx(float(one.value), rel=0.02, abs=1e-6)
        if wanted.trend == "rising":
            assert found.limit == pytest.approx(wanted.limit, rel=0.1)


# --- suprema of rules without a derivation ----------------------------------------------------------------------------------


def test_a_rule_without_a_derivation_is_searched_and_that_is_what_its_suprema_say():
    found = failure.worst(Half())
    assert list(found) == list(QUANTITIES)
    assert {one.status for one in found.suprema.values()} == {"searched"}
    assert [one.exact for one in found.suprema.values()] == [False] * 4
    assert [one.trend for one in found.suprema.values()] == ["settled", "infinite", "infinite", "settled"]
    assert found["total_variation"].value == pytest.approx(0.5)
    for vocabulary in (1, 2, 20):
        there = failure.worst(Half(), vocabulary)
        for name in QUANTITIES:
            p, q = there.witness(name)
            assert p.size == vocabulary
            assert QUANTITIES[name](Half().induced(p, q), p) == pytest.approx(there[name].value, abs=1e-12)
    assert failure.worst(Half(), 20)["total_variation"].value == pytest.approx(0.5)
    kept = failure.worst_for(Half(), [F(3, 4), F(1, 4)])
    assert kept["total_variation"].value == pytest.approx(3 / 8)
    assert kept["total_variation"].status == "searched"


def test_over_all_vocabularies_a_searched_supremum_has_its_trend_and_no_extrapolation():
    one = failure.worst(Ears())["mass_off_support"]
    assert (one.status, one.trend) == ("searched", "rising")
    assert one.value == pytest.approx(0.3 * 10 / 11)
    assert "extrapolated to" in one.said


@dataclass(frozen=True)
class LessLenient(ExcessResidual):
    """A rule that is registered below with what it does, and with less."""

    lenience: float = 0.5

    def acceptance(self, p, q):
        return theory.Lenience(self.lenience).acceptance(p, q)


def test_a_derivation_of_ones_own_is_believed_until_a_search_beats_it():
    failure.derive.register(LessLenient, lambda rule, size: failure.derive(theory.Lenience(F(1, 2)), size))
    failure.derive_for.register(LessLenient, lambda rule, p: failure.derive_for(theory.Lenience(F(1, 2)), p))
    assert failure.worst(LessLenient(0.5))["max_overshoot"].status == "attained"
    assert failure.worst_for(LessLenient(0.5), [0.5, 0.5])["total_variation"].value == 0.5
    with pytest.raises(ValueError, match=r"LessLenient:lenience=0.4: total_variation = 0.6 at p = \[.*says at most 0\.5"):
        failure.worst(LessLenient(0.4))
    with pytest.raises(ValueError, match=r"total_variation = 0.6.* at p = \[0.4, 0.6\], q = \[1.0, 0.0\].*says at most"):
        failure.worst_for(LessLenient(0.4), [0.4, 0.6])


def test_a_subclass_does_not_inherit_what_was_proven_of_its_parent():
    @dataclass(frozen=True)
    class KeepsAll(LessLenient):
        def acceptance(self, p, q):
            return 1 + 0 * (np.asarray(p) + q)

    one = failure.worst(KeepsAll(), 2)["total_variation"]
    assert (one.value, one.status) == (1, "searched")


@pytest.mark.parametrize("acceptance", [1.5, -0.5, math.nan])
def test_a_rule_that_is_none_is_refused_everywhere(acceptance):
    @dataclass(frozen=True)
    class Broken(ExcessResidual):
        def acceptance(self, p, q):
            return acceptance + 0 * (np.asarray(p) + q)

    calls = [
        lambda: failure.search(Broken()),
        lambda: failure.search(Broken(), target=[0.5, 0.5]),
        lambda: failure.search_sizes(Broken(), sizes=[2]),
        lambda: failure.worst(Broken()),
        lambda: failure.worst(Broken(), 1),
        lambda: failure.worst_for(Broken(), [0.5, 0.5]),
        lambda: failure.worst_pairs([Broken()]),
        lambda: failure.sensitivity(Broken(), [0.5, 0.5], [0.25, 0.75]),
    ]
    for call in calls:
        with pytest.raises(RuleError, match="must be a probability"):
            call()


def test_edges_and_sizes_are_those_that_are_documented():
    found = failure.search("lenience:0.4", generations=5)
    assert all(a > b for a, b in itertools.pairwise(found.by_edge))
    assert list(found.by_size) == [3, 6, 12]
