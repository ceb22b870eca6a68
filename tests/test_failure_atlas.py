"""The atlas: its pairs are the worst ones, TV hides what KL and overshoot show, and what a ceiling bounds."""

import itertools
import math
from fractions import Fraction as F

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given

import theory
from tests import cases, public
from tests.commands import run
from theory import divergences, failure, testing
from theory.failure import atlas
from theory.verifiers import RULES

GOLDEN = [float(x) for x in cases.GOLDEN_P], [float(x) for x in cases.GOLDEN_Q]


@pytest.fixture(scope="module")
def pairs():
    return failure.worst_pairs()


def test_there_is_a_pair_for_each_rule_and_it_has_the_largest_tv_of_its_size(pairs):
    assert {type(theory.parse(name)) for name in pairs["verifier"].unique()} == set(RULES.values())
    for name, rows in pairs.groupby("verifier", sort=False):
        rule = theory.parse(name)
        assert rows["induced"].to_numpy() == pytest.approx(theory.exact.induced(rule, rows["p"], rows["q"]))
        here = divergences.total_variation(rows["induced"], rows["p"])
        most = failure.worst(rule, 4)["total_variation"]
        assert here <= float(most.value) + 1e-12
        assert here == pytest.approx(float(most.value), abs=1e-9 if most.status == "attained" else 5e-3)
        assert here <= rows["total_variation"].iloc[0] + 1e-12


def test_suprema_grow_with_the_vocabulary(pairs):
    for name, first in pairs.groupby("verifier", sort=False).first().iterrows():
        for quantity in failure.QUANTITIES:
            assert float(failure.worst(theory.parse(name), 4)[quantity].value) <= first[quantity] * (1 + 1e-12)


@given(testing.pairs())
def test_a_ceiling_bounds_everything(pair):
    """π <= c p gives TV <= 1 - 1/c, KL <= ln c, and π(S) <= c p(S) for every event S; of all rules that put a ceiling."""
    p, q = pair
    for rule in cases.RATIONAL:
        if rule.ceiling is None:
            continue
        law, c = rule.induced(p, q), F(rule.ceiling)
        assert divergences.total_variation(law, p) <= 1 - 1 / c
        assert divergences.kl_divergence(law, p) <= math.log(c) + 1e-12
        for event in itertools.islice(itertools.product([False, True], repeat=len(p)), 64):
            assert sum(law[list(event)]) <= c * sum(p[list(event)])


def test_without_a_ceiling_no_event_is_safe():
    """The control: for every c there are rows on which CoS exceeds it, however little the draft weighs."""
    for c in (2, 1000, 10**9):
        p = np.array([1 - F(1, 10**12), F(1, 10**12)], dtype=object)
        q = np.array([F(0), F(1)], dtype=object)
        law = theory.CoS(F(99, 100)).induced(p, q)
        assert law[1] > c * p[1]
    assert theory.CoS(F(99, 100)).ceiling is None


@pytest.mark.parametrize("rows", [GOLDEN, theory.synthetic.parse("zipf:50,strength=1.5")])
def test_tv_cannot_rank_rules_on_the_line(rows):
    table = failure.same_tv(*rows)
    line = table["total_variation"] + 1 - table["acceptance_rate"]
    assert line.to_numpy() == pytest.approx(np.full(len(table), divergences.total_variation(*rows)), abs=1e-12)


def test_tv_would_rank_a_rule_off_the_line():
    off = theory.exact.summarise(theory.SpecCascade(0.5), *GOLDEN, ["total_variation", "rejection_rate"])
    assert off["total_variation"] + off["rejection_rate"] > divergences.total_variation(*GOLDEN) + 0.01


def test_kl_and_overshoot_rank_them_on_the_real_trace():
    """At one acceptance rate mentored has the least KL and lenience no more overshoot; CoS has the most of both."""
    trace = theory.traces.example().with_tail_tokens(1024)
    table = failure.same_tv(np.asarray(trace.p), np.asarray(trace.q))
    at = {}
    for rule, rows in table.groupby("rule"):
        rows = rows.sort_values("acceptance_rate")
        at[rule] = {name: np.interp(0.8, rows["acceptance_rate"], rows[name]) for name in atlas.MEASURES}
    tv = [found["total_variation"] for found in at.values()]
    assert max(tv) - min(tv) < 1e-6
    kl = {rule: found["kl_divergence"] for rule, found in at.items()}
    assert kl["mentored"] < kl["lenience"] < kl["cactus"] < kl["cos"]
    assert kl["cos"] > 2 * kl["lenience"]
    over = {rule: found["log_overshoot"] for rule, found in at.items()}
    assert over["lenience"] == pytest.approx(over["mentored"], abs=0.02)
    assert over["lenience"] + 3 < over["cactus"] < over["cos"]


def test_the_page_has_a_panel_for_each_rule_and_measure(pairs):
    figure = failure.plot_atlas(pairs, {"golden": failure.same_tv(*GOLDEN)})
    panels = [axes for axes in figure.axes if axes.axison]
    assert len(panels) == pairs["verifier"].nunique() + len(atlas.MEASURES)
    assert all(axes.has_data() and axes.get_title() for axes in panels)
    assert [axes.get_ylabel() for axes in panels[-3:]] == list(atlas.MEASURES.values())
    again = failure.plot_atlas(pairs, {"golden": failure.same_tv(*GOLDEN)}, plt.figure(figsize=(15, 12)))
    assert len(again.axes) == len(figure.axes)
    plt.close(figure)
    plt.close(again)


def test_rules_without_a_derivation_are_shown_with_what_a_search_says_of_them(capsys, tmp_path):
    rule = f"{public.MINE}:Mine:0.5"
    table = failure.worst_pairs([rule, "cos:0.5"], vocabulary=3)
    assert table["verifier"].unique().tolist() == [str(theory.parse(rule)), "cos:0.5"]
    first = table.iloc[0]
    assert first["total_variation_status"].startswith("searched")
    assert first["total_variation"] >= divergences.total_variation(table["induced"][:3], table["p"][:3]) - 1e-12
    assert failure.worst_pairs(rule, 3).equals(table[:3])
    figure = failure.plot_atlas(table, {"golden": failure.same_tv(*GOLDEN)})
    assert "≥" in figure.axes[0].texts[0].get_text()
    plt.close(figure)
    code, out, err = run(capsys, "atlas", "--verifier", rule, "--verifier", "cos:0.5", "--csv", tmp_path / "atlas.csv")
    assert (code, err) == (0, "")
    assert "≥" in out
    assert "lenience" not in out.replace(str(theory.parse(rule)), "")
    assert (tmp_path / "atlas.csv").read_text().count("cos:0.5") == 4
    assert run(capsys, "atlas", "--verifier", "strictly")[0] == 2


def test_same_tv_takes_a_trace_and_fractions():
    trace = theory.traces.example()
    part = failure.same_tv(trace)
    assert part.equals(failure.same_tv(trace.p[0 : len(trace.p)], trace.q[0 : len(trace.q)]))
    exact = failure.same_tv(cases.GOLDEN_P, cases.GOLDEN_Q)
    assert exact["total_variation"].to_numpy() == pytest.approx(failure.same_tv(*GOLDEN)["total_variation"].to_numpy())
