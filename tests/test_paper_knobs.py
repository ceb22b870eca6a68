"""The knobs of the figures: each varied, the table following it by another route, and drawn; bad values refused in a line.

`CHECKS` has one entry for each argument of each ``compute``; a knob that is added needs one, or a test here fails.
"""

import inspect
import math
import re
from collections.abc import Sequence

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import theory
from tests.cases import RATIONAL
from theory import divergences, paper, sequences, synthetic, traces
from theory.blocks import Tokenwise
from theory.paper import accuracy, calibration, fig2, fig6, knobs, real, style, table2_3_7, tables, trees
from theory.sequences import Decoder
from theory.truncation import Eta, MinP

P, Q = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.2, 0.25, 0.25, 0.3])
PAIR = np.tile(P, (12, 1)), np.tile(Q, (12, 1))
"""Twelve positions with the golden rows: everything along the text is a power of one rate."""
ALPHA = float(np.minimum(P, Q).sum())
TV = 1 - ALPHA

SMALL = {
    "fig1": {"k": (1,), "difficulties": (1, 2), "excesses": (0.0, 0.02)},
    "fig2": {},
    "fig3": {"rules": ("strict", "lenience:0.4"), "benchmarks": ("MATH",), "trace": PAIR},
    "fig4": {
        "shares": ("8/1/1",),
        "temperatures": (0.5,),
        "p_bases": (0.5,),
        "epsilons": (0.01,),
        "trace_epsilons": (0.1,),
        "tokens": 12,
        "count": 5,
        "trace": PAIR,
    },
    "fig5": {"p_bases": (0.5,), "epsilons": (0.1,), "benchmarks": ("MATH",), "trace": PAIR},
    "fig6": {"methods": ("strict", "spec_cascade"), "p_bases": (0.3,), "benchmarks": ("MATH",), "count": 12, "trace": PAIR},
    "fig7": {"rules": ("strict", "spec-cascade:0.5,fallback=target"), "benchmarks": ("MATH",)},
    "fig8": {
        "leniences": (0.4, 0.5),
        "tokens": 10,
        "count": 6,
        "distances": (0.3, 0.6),
        "drafts": (0.5,),
        "draft_probabilities": (0, 0.3, 1),
        "trace": PAIR,
        "bins": 2,
    },
    "table1": {"rules": ("strict", "lenience:0.4")},
    "table2_3_7": {"closeness": (0, 0.5, 1), "count": 12, "trace": PAIR},
    "table6": {"leniences": (0.4,), "trace": PAIR},
    "predicted": {"benchmarks": ("MATH",), "models": ("one number",), "draws": 3},
}
"""Inputs of each figure that take little time."""


def computed(name, **changes):
    return paper.item(name).compute(quick=True, **SMALL[name] | changes)


def blocks(rate, gamma):
    """1 + α + ... + α^γ."""
    return sum(rate**place for place in range(gamma + 1))


def delta(lenience, p, q):
    """Eq. 11 as the share of the rejections of strict verification that lenience keeps."""
    return np.maximum(q - p / lenience, 0).sum(axis=-1) / np.maximum(q - p, 0).sum(axis=-1)


# --- what each knob does ----------------------------------------------------------------------------------------------
# One function a knob: it computes a small table with the knob varied, and compares by another route.


def settings(table, source="theory"):
    own = table[table["source"] == source]
    return {(method, None if x != x else x) for method, x in own[["method", "parameter"]].itertuples(index=False)}


def fig1_truncation():
    table = computed("fig1", truncation="min-p:1e-9")  # cuts nothing
    gaps = table[(table["panel"] == "gap") & (table["source"] == "theory")].pivot_table("value", "difficulty", "series")
    np.testing.assert_allclose(gaps["true baseline"], gaps["wrong baseline"], atol=1e-9)
    return table


def fig1_rules():
    table = computed("fig1", rules=["strict", "cos:0.5"])
    solved = table[(table["panel"] == "solved") & (table["benchmark"] == "")].pivot_table("value", "difficulty", "series")
    assert set(solved) == {"true baseline", "wrong baseline", "strict", "cos:0.5"}
    np.testing.assert_allclose(solved["strict"], solved["wrong baseline"], atol=1e-9)
    assert (solved["cos:0.5"] < solved["strict"] - 0.1).all()
    return table


def fig1_gamma():
    table = computed("fig1", gamma=1, rules=["cos:0.5"])
    chain = accuracy.reference().chain
    decoder = Decoder(Tokenwise(theory.CoS(0.5)), 1)
    walked = float(sequences.reach_probability(decoder, chain.pair, chain.solved, chain.longest))
    own = table.query("panel == 'solved' and benchmark == '' and series == 'cos:0.5'").set_index("difficulty")["value"]
    assert own[chain.difficulty] == pytest.approx(100 * walked, abs=1e-8)
    return table


def fig1_k():
    table = computed("fig1", k=[1, 3])
    own = table[(table["panel"] == "solved") & (table["benchmark"] == "")]
    once, thrice = (own[own["metric"] == f"pass@{k}"]["value"].to_numpy() / 100 for k in (1, 3))
    np.testing.assert_allclose(thrice, 1 - (1 - once) ** 3, atol=1e-12)
    return table


def fig1_difficulties():
    table = computed("fig1", difficulties=[0.5, 3])
    assert set(table.loc[table["benchmark"] == "", "difficulty"]) == {0.5, 3}
    return table


def fig1_excesses():
    table = computed("fig1", excesses=[-0.1, 0.1])
    said = table[table["panel"] == "map"].groupby("excess")["verdict"].agg(set)
    assert said[-0.1] == {"modest"}
    assert "modest" not in said[0.1]
    return table


def fig1_chain():
    table = computed("fig1", chain={"recovery": 1.0})
    assert table.loc[table["panel"] == "solved", "value"].to_numpy() == pytest.approx(100)  # every slip is noticed
    return table


def fig2_rows():
    table = computed("fig2", rows=(Q, P))
    order = np.argsort(-Q, kind="stable")
    own = table[table["rule"] == "cos:0.5"]
    np.testing.assert_allclose(own["induced"], (P / 2 + Q / 2)[order])
    return table


def fig2_position():
    table = computed("fig2", rows=([P, Q], [Q, P]), position=1)
    np.testing.assert_array_equal(table[table["panel"] == "a"]["p"], np.sort(Q)[::-1])
    return table


def fig2_rules():
    rules = ["lenience:0.5", theory.Strict(), "lenience:0.25", "cos:0.25", "fuzzy-acceptance:0.2"]
    table = computed("fig2", rules=rules)
    assert list(dict.fromkeys(table["rule"])) == [str(rule) for rule in rules]
    own = table.set_index("rule")
    np.testing.assert_allclose(own.loc["strict", "induced"], own.loc["strict", "p"], atol=1e-15)
    np.testing.assert_allclose(own.loc["cos:0.25", "induced"], own.loc["cos:0.25", ["p", "q"]] @ [0.25, 0.75])
    assert own.loc["fuzzy-acceptance:0.2", "printed"].isna().all()
    return table


def fig2_lenience():
    table = computed("fig2", lenience=0.25)
    severe = table["q"] > 4 * table["p"]
    assert ((table["region"] == "severe") == severe).all()
    assert severe.sum() < (computed("fig2")["region"] == "severe").sum()
    return table


def fig3_rules():
    table = computed("fig3", rules=["strict", "cos:0.25", theory.HybridCeiling(0.5, 0.4), "spec-cascade:0.3"])
    wanted = {("strict", None), ("cos_draft_weight", 0.75), ("hybrid-ceiling:*,0.4", 0.5), ("spec-cascade", 0.3)}
    assert settings(table) == settings(table, "trace") == wanted
    own = table[(table["source"] == "trace") & (table["measure"] == "likeness")].set_index("method")["quality"]
    assert own["cos_draft_weight"] == pytest.approx(100 * (1 - 0.75 * TV))
    return table


def fig3_gamma():
    table = computed("fig3", gamma=4)
    own = table[(table["source"] == "trace") & (table["method"] == "strict")]["block_efficiency"]
    assert own.to_numpy() == pytest.approx(blocks(ALPHA, 4))
    model = calibration.profile("MATH")
    ours = table[(table["source"] == "theory") & (table["method"] == "strict")]["block_efficiency"].item()
    assert ours == pytest.approx(blocks(model.acceptance_rate(theory.Strict()), 4), abs=0.02)  # hardly leaves the track
    assert "paper" not in set(table["source"])  # which has 10
    return table


def fig3_benchmarks():
    table = computed("fig3", benchmarks=["BFCL", "MATH"])
    assert list(dict.fromkeys(table["benchmark"])) == ["MATH", "BFCL", "rows"]
    return table


def fig3_trace():
    p, q = synthetic.zipf(6, corruption="noise", count=11, rng=np.random.default_rng(0))
    table = computed("fig3", trace=(p, q))
    own = table[(table["source"] == "trace") & (table["method"] == "strict")]
    rates = np.minimum(p, q).sum(axis=-1)
    starts = [1 + sum(np.prod(rates[start : start + length]) for length in range(1, 11)) for start in range(2)]
    assert own["block_efficiency"].to_numpy() == pytest.approx(np.mean(starts))
    assert own["quality"].to_numpy() == pytest.approx(100)
    return table


def fig3_overshoot():
    table = computed("fig3", overshoot=1.2)
    own = table[(table["measure"] == "no overshoot") & (table["method"] == "lenience")]["quality"].item()
    law = theory.Lenience(0.4).induced(P, Q)
    assert own == pytest.approx(100 * (1 - law[law > 1.2 * P].sum()))
    assert own < 90
    return table


def fig3_runs():
    return runs_widen("fig3")


def runs_widen(name):
    widths = []
    for runs in (3, 12):
        table = computed(name, runs=runs)
        own = table[table["source"] == "theory"]
        widths.append((own["quality_high"] - own["quality_low"]).to_numpy())
    np.testing.assert_allclose(widths[0], 2 * widths[1])
    return table


def simulated(share, temperature, truncation, tokens=12, count=5, seed=4):
    """The change of acceptance of one kind of drafts, pair by pair."""
    rng = np.random.default_rng(seed)
    own, other = rng.standard_normal((2, count, tokens))
    mixed = (math.sqrt(share) * own + math.sqrt(1 - share) * other) / temperature
    changes = []
    for target, draft in zip(own, mixed, strict=True):
        p, q = (np.exp(row) / np.exp(row).sum() for row in (target, draft))
        kept = truncation.allowed(p)
        changes.append(np.minimum(np.where(kept, p, 0) / p[kept].sum(), q).sum() - np.minimum(p, q).sum())
    return np.mean(changes)


def of_simulation(table, truncation="min-p"):
    return table[(table["source"] == "simulated") & (table["truncation"] == truncation)]


def fig4_shares():
    table = computed("fig4", shares=["1/0/0", "2/1/0"])
    own = of_simulation(table).set_index("series")
    assert list(own.index) == ["1/0/0", "2/1/0"]
    assert own.loc["1/0/0", "change"] == pytest.approx(simulated(1.0, 0.5, MinP(0.5)))
    return table


def fig4_likeness():
    table = computed("fig4", likeness=[0.25, 1.0], shares=["1/0"])
    assert of_simulation(table)["change"].item() == pytest.approx(simulated(0.25, 0.5, MinP(0.5)))
    return table


def fig4_temperatures():
    table = computed("fig4", temperatures=[1.0, 2.0, 0.1], shares=["1/0/0"])
    own = of_simulation(table).set_index("temperature")
    assert list(own.index) == [1.0, 2.0, 0.1]
    assert own.loc[1.0, "gain"] == pytest.approx(0, abs=1e-15)  # the draft is the target
    assert own.loc[2.0, "change"] == pytest.approx(simulated(1.0, 2.0, MinP(0.5)))
    return table


def fig4_p_bases():
    table = computed("fig4", p_bases=[1e-12, 0.7], shares=["1/0/0"])
    own = of_simulation(table).set_index("parameter")["change"]
    assert own[1e-12] == pytest.approx(0, abs=1e-15)  # nothing is cut
    assert own[0.7] == pytest.approx(simulated(1.0, 0.5, MinP(0.7)))
    trace = table[(table["source"] == "trace") & (table["truncation"] == "min-p")]
    assert set(trace["parameter"]) == {1e-12, 0.7}
    return table


def fig4_epsilons():
    table = computed("fig4", epsilons=[0.2, 0.3], shares=["1/0/0"])
    own = of_simulation(table, "eta").set_index("parameter")["change"]
    assert own.to_dict() == pytest.approx({x: simulated(1.0, 0.5, Eta(x)) for x in (0.2, 0.3)})
    return table


def fig4_trace_epsilons():
    table = computed("fig4", trace_epsilons=[0.15, 0.9])
    own = table[(table["source"] == "trace") & (table["truncation"] == "eta")]
    assert set(own["parameter"]) == {0.15, 0.9}
    return table


def fig4_tokens():
    table = computed("fig4", tokens=3, shares=["1/0/0"])
    assert of_simulation(table)["change"].item() == pytest.approx(simulated(1.0, 0.5, MinP(0.5), tokens=3))
    return table


def fig4_count():
    table = computed("fig4", count=7, shares=["1/0/0"])
    assert of_simulation(table)["change"].item() == pytest.approx(simulated(1.0, 0.5, MinP(0.5), count=7))
    return table


def fig4_seed():
    table = computed("fig4", seed=11, shares=["1/0/0"])
    assert of_simulation(table)["change"].item() == pytest.approx(simulated(1.0, 0.5, MinP(0.5), seed=11))
    return table


def fig4_trace():
    table = computed("fig4", trace=PAIR)
    own = table[(table["source"] == "trace") & (table["truncation"] == "min-p")].set_index("series")
    kept = 0.5 * P.max() <= P
    cut = np.where(kept, P, 0) / P[kept].sum()
    assert own.loc["target truncated", "change"] == pytest.approx(np.minimum(cut, Q).sum() - ALPHA)
    assert own[["change_low", "change_high"]].isna().all(axis=None)  # one text has no band
    return table


def along_trace(table, method, draft="whole"):
    own = table[(table["source"] == "trace") & (table["method"] == method) & (table["draft"] == draft)]
    return own.set_index("parameter")["block_efficiency"]


def fig5_p_bases():
    table = computed("fig5", p_bases=[0.2, 0.6])
    own = along_trace(table, "spec_cascade")  # accepts what is in the set
    assert own.to_dict() == pytest.approx({x: blocks(Q[x * 0.4 <= P].sum(), 10) for x in (0.2, 0.6)})
    assert set(table.loc[(table["source"] == "theory") & (table["truncation"] == "min-p"), "parameter"].dropna()) == {0.2, 0.6}
    return table


def fig5_epsilons():
    table = computed("fig5", epsilons=[0.05, 0.9])
    own = along_trace(table, "eta_sampling")
    for x, found in own.items():
        kept = Eta(x).allowed(P)
        assert found == pytest.approx(blocks(np.minimum(np.where(kept, P, 0) / P[kept].sum(), Q).sum(), 10))
    assert set(own.index) == {0.05, 0.9}
    return table


def fig5_fallback():
    table = computed("fig5", fallback="redraft")
    own = table[(table["source"] == "theory") & (table["method"] == "spec_cascade")]["block_efficiency"].item()
    model = calibration.profile("MATH", "off-track")
    assert own == pytest.approx(model.block_efficiency(theory.SpecCascade(0.5, "redraft")))
    assert own != pytest.approx(model.block_efficiency(theory.SpecCascade(0.5, "target")), rel=1e-6)
    return table


def fig5_gamma():
    table = computed("fig5", gamma=3)
    assert along_trace(table, "strict").to_numpy() == pytest.approx(blocks(ALPHA, 3))
    assert "paper" not in set(table["source"])
    return table


def fig5_benchmarks():
    table = computed("fig5", benchmarks=["INCLUDE", "MBPP+"])
    assert set(table["benchmark"]) == {"INCLUDE", "MBPP+", "rows"}
    return table


def fig5_trace():
    table = computed("fig5", trace="zipf:4,strength=0.5,count=11")
    p = np.array([1, 1 / 2, 1 / 3, 1 / 4]) / (25 / 12)
    q = p**2 / (p**2).sum()
    assert along_trace(table, "strict").to_numpy() == pytest.approx(blocks(np.minimum(p, q).sum(), 10))
    return table


def lengths(table, source, method="strict"):
    return table[(table["source"] == source) & (table["method"] == method)]


def powers(rate, depth):
    return sum(rate**level for level in range(1, depth + 1))


def met(table, shape=trees.SHAPE, count=12):
    """The nodes that the table names have the strict rate of the paper's length, to within one node."""
    row = lengths(table, "two numbers").iloc[0]
    nodes = trees.synthetic(row["sharpness"], row["draft_error"], count, shape)
    held = [p[children].sum() for p, children in zip(nodes.p, nodes.candidates, strict=True)]
    assert nodes.p.shape == (count, shape.tokens)
    assert nodes.candidates.shape == (count, shape.children)
    assert abs(np.mean(held) - trees.strict_rate(3.76)) <= 1 / count
    assert row["accepted_length"] == pytest.approx(3.76, abs=1e-9)
    return table


def fig6_methods():
    table = computed("fig6", methods=["eta_sampling", "strict"])
    assert set(table["method"]) == {"strict", "eta_sampling"}
    return table


def fig6_p_bases():
    table = computed("fig6", p_bases=[0.2, 0.9, 1.0])
    assert set(lengths(table, "one number", "spec_cascade")["parameter"]) == {0.2, 0.9, 1.0}
    one = lengths(table, "trace", "spec_cascade").set_index("parameter").loc[1.0]
    assert one["total_variation"] == 0  # one token is allowed
    return table


def fig6_epsilons():
    table = computed("fig6", methods=["strict", "eta_sampling"], epsilons=[0.3])
    assert set(lengths(table, "one number", "eta_sampling")["parameter"]) == {0.3}
    assert (lengths(table, "trace", "eta_sampling")["total_variation"] == 0).all()
    return table


def fig6_leniences():
    table = computed("fig6", methods=["strict", "lenience"], leniences=[0.5, 1.0])
    own = lengths(table, "trace", "lenience").set_index("parameter")["accepted_length"]
    assert own[1.0] == pytest.approx(lengths(table, "trace")["accepted_length"].item())
    assert own[0.5] >= own[1.0]
    return table


def fig6_benchmarks():
    table = computed("fig6", benchmarks=["BFCL"])
    assert set(table["benchmark"]) == {"BFCL", "rows"}
    return table


def fig6_depth():
    table = computed("fig6", depth=2)
    assert lengths(table, "two numbers")["accepted_length"].item() == pytest.approx(powers(trees.strict_rate(3.76), 2))
    assert "paper" not in set(table["source"])
    return table


def fig6_children():
    p, q = synthetic.zipf(8, corruption="noise", rng=np.random.default_rng(0))
    table = computed("fig6", children=5, trace=(np.tile(p, (6, 1)), np.tile(q, (6, 1))))
    held = p[np.argsort(-q)[:5]].sum()
    assert lengths(table, "trace")["accepted_length"].item() == pytest.approx(powers(held, 6))
    return met(table, trees.Shape(children=5))


def fig6_tokens():
    return met(computed("fig6", tokens=50), trees.Shape(tokens=50))


def fig6_count():
    return met(computed("fig6", count=9), count=9)


def fig6_seed():
    return met(computed("fig6", seed=3), trees.Shape(seed=3))


def fig6_trace():
    rows = np.full((7, 20), 0.05), np.tile(np.arange(1, 21) / 210, (7, 1))
    table = computed("fig6", trace=rows)
    assert lengths(table, "trace")["accepted_length"].item() == pytest.approx(powers(0.5, 6))  # 10 of 20 equal tokens
    return table


def fig7_rules():
    table = computed("fig7", rules=["strict", "lenience:0.3"])
    assert settings(table) == {("strict", None), ("lenience", 0.3)}
    return table


def fig7_gamma():
    table = computed("fig7", gamma=2, rules=["strict"])
    rate = calibration.profile("MATH").acceptance_rate(theory.Strict())
    assert table["block_efficiency"].item() == pytest.approx(blocks(rate, 2), abs=0.01)
    return table


def fig7_benchmarks():
    table = computed("fig7", benchmarks=["MBPP+"])
    assert set(table["benchmark"]) == {"MBPP+"}
    return table


def fig7_runs():
    return runs_widen("fig7")


def means(table, panel="a"):
    return table[(table["panel"] == panel) & (table["series"] == "mean")].set_index(["lenience", "total_variation"])["value"]


def drawn(distance, tokens=10, count=6, seed=8):
    return synthetic.dirichlet(tokens, distance, count=count, rng=np.random.default_rng(seed))


def fig8_leniences():
    table = computed("fig8", leniences=[0.4, 0.9, 0.7])
    own = means(table)
    assert set(own.index.get_level_values(0)) == {0.4, 0.7, 0.9}
    assert own[0.9, 0.6] == pytest.approx(delta(0.9, *drawn(0.6)).mean())
    return table


def fig8_shown():
    table = computed("fig8", shown=0.5)
    ceiling = table[(table["panel"] == "b") & (table["series"] == "ceiling")]["value"]
    assert ceiling.to_numpy() == pytest.approx(0.2 / 0.5)
    return table


def fig8_tokens():
    table = computed("fig8", tokens=4)
    assert means(table)[0.4, 0.6] == pytest.approx(delta(0.4, *drawn(0.6, tokens=4)).mean())
    return table


def fig8_count():
    table = computed("fig8", count=3)
    assert means(table)[0.4, 0.6] == pytest.approx(delta(0.4, *drawn(0.6, count=3)).mean())
    return table


def fig8_seed():
    table = computed("fig8", seed=1)
    assert means(table)[0.4, 0.6] == pytest.approx(delta(0.4, *drawn(0.6, seed=1)).mean())
    return table


def fig8_distances():
    table = computed("fig8", distances=[0.1, 0.2, 0.85])
    assert set(means(table).index.get_level_values(1)) == {0.1, 0.2, 0.85}
    return table


def fig8_drafts():
    table = computed("fig8", drafts=[0.7, 0.2])
    own = table[table["series"].isin(["q1", "q2", "q3"])].set_index("series")
    assert own["total_variation"].to_dict() == {"q1": 0.7, "q2": 0.2}
    p, q = drawn(0.7)
    assert own.loc["q1", "value"] == pytest.approx(delta(0.4, p[0], q[0]))
    return table


def fig8_target():
    table = computed("fig8", target=[0.1, 0.7, 0.2])
    ceiling = table[(table["panel"] == "b") & (table["series"] == "ceiling")]["value"]
    assert ceiling.to_numpy() == pytest.approx(0.1 / 0.4)
    return table


def fig8_rest():
    table = computed("fig8", rest=[0.5, 0.5])
    own = table[table["series"] == "lenience"].set_index("draft_probability")
    assert own.loc[0.3, "total_variation"] == pytest.approx(np.abs(np.array([0.2, 0.6, 0.2]) - [0.3, 0.35, 0.35]).sum() / 2)
    return table


def fig8_draft_probabilities():
    table = computed("fig8", draft_probabilities=[0.25, 0.75])
    own = table[table["series"] == "mixture"].set_index("draft_probability")["value"]
    assert own.to_dict() == pytest.approx({x: 0.4 * 0.2 + 0.6 * x for x in (0.25, 0.75)})
    return table


def fig8_trace():
    table = computed("fig8", trace=(P, Q), bins=1)
    own = table[(table["panel"] == "c") & (table["series"] == "position")]
    assert own["value"].item() == pytest.approx(delta(0.4, P, Q))
    return table


def fig8_bins():
    p, q = synthetic.zipf(6, corruption="noise", count=12, rng=np.random.default_rng(0))
    table = computed("fig8", bins=3, trace=(p, q))
    order = np.argsort(np.abs(p - q).sum(axis=-1))
    groups = [delta(0.5, p[part], q[part]).mean() for part in np.split(order, 3)]
    assert means(table, "c").loc[0.5].to_numpy() == pytest.approx(groups)
    return table


def table1_benchmark():
    table = computed("table1", benchmark="BFCL")
    strict = table[table["rule"] == "strict"].set_index("source")["pass_at_1"]
    assert strict["paper"] == pytest.approx(strict["theory"]) == calibration.reported("BFCL")["strict", None][2]
    return table


def table1_rules():
    table = computed("table1", rules=["cos:0.3", "hybrid-ceiling:0.5,0.4"])
    own = table[table["source"] == "theory"]
    assert set(own[["rule", "lambda"]].itertuples(index=False, name=None)) == {("CoS", 0.3), ("hybrid-ceiling:*,0.4", 0.5)}
    assert own["shown"].all()
    return table


def table1_gamma():
    table = computed("table1", gamma=2, rules=["strict"])
    rate = calibration.rate(calibration.reported("MBPP+")["strict", None][0])
    assert 0 <= table["block_efficiency"].item() - blocks(rate, 2) < 0.05  # but for a few steps that both are sure of
    return table


def divergence(table, source, method="spec_cascade", framework="eagle3"):
    own = table[(table["part"] == "divergence") & (table["source"] == source)]
    return own[(own["method"] == method) & (own["framework"] == framework)].set_index("closeness")


def by_hand(gate, t=0.5):
    """KL(q_A || p_A) of the mixture on the allowed set."""
    kept, mixed = gate.allowed(P), (1 - t) * Q + t * P
    p, q = P[kept] / P[kept].sum(), mixed[kept] / mixed[kept].sum()
    return float((q * np.log(q / p)).sum())


def table2_3_7_p_base():
    table = computed("table2_3_7", p_base=0.7)
    assert divergence(table, "trace", framework="standard").loc[0.5, "value"] == pytest.approx(by_hand(MinP(0.7)))
    return table


def table2_3_7_epsilon():
    table = computed("table2_3_7", epsilon=0.5)
    own = divergence(table, "trace", "typical_acceptance", "standard")
    assert own.loc[0.5, "value"] == pytest.approx(by_hand(Eta(0.5)))
    return table


def table2_3_7_closeness():
    table = computed("table2_3_7", closeness=[0.25, 1])
    own = divergence(table, "trace", framework="standard")
    assert list(own.index) == [0.25, 1]
    assert own.loc[0.25, "total_variation"] == pytest.approx(0.75 * TV)
    assert own.loc[0.25, "value"] == pytest.approx(by_hand(MinP(0.5), 0.25))
    return table


def distance(table, benchmark="MATH", count=12, shape=trees.SHAPE):
    nodes = trees.calibrated("one number", benchmark, count, shape).nodes
    expected = np.abs(nodes.p - nodes.q).sum(axis=-1).mean() / 2
    assert divergence(table, "theory").loc[0, "total_variation"] == pytest.approx(expected)
    assert nodes.p.shape == (count, shape.tokens)
    return table


def table2_3_7_benchmark():
    return distance(computed("table2_3_7", benchmark="BFCL"), "BFCL")


def table2_3_7_depth():
    table = computed("table2_3_7", depth=1)
    gaps = table[(table["part"] == "gap") & (table["source"] == "theory")]
    mean = dict.fromkeys(("spec_cascade", "min_p_sampling"), 0.0)
    for method in mean:
        nodes = trees.calibrated("two numbers", "MATH", 12).nodes
        mean[method] = np.mean([nodes.laws(trees.rule(method, x))[0].mean() for x in fig6.SETTINGS["p_bases"]])
    own = gaps[(gaps["method"] == "spec_cascade") & (gaps["benchmark"] == "MATH")]["value"].item()
    assert own == pytest.approx(mean["spec_cascade"] - mean["min_p_sampling"])  # of one level, the rate is the length
    return table


def table2_3_7_children():
    return distance(computed("table2_3_7", children=5), shape=trees.Shape(children=5))


def table2_3_7_tokens():
    return distance(computed("table2_3_7", tokens=50), shape=trees.Shape(tokens=50))


def table2_3_7_count():
    return distance(computed("table2_3_7", count=9), count=9)


def table2_3_7_seed():
    return distance(computed("table2_3_7", seed=3), shape=trees.Shape(seed=3))


def table2_3_7_trace():
    table = computed("table2_3_7", trace=PAIR)
    assert divergence(table, "trace").loc[0, "total_variation"] == pytest.approx(TV)
    return table


def of_rule(table, rule, quantity, source="trace"):
    return table[(table["source"] == source) & (table["rule"] == rule) & (table["quantity"] == quantity)]["value"].item()


def table6_benchmark():
    table = computed("table6", benchmark="MATH")
    assert of_rule(table, "target", "pass_at_1", "theory") == pytest.approx(calibration.reported("MATH")["strict", None][2])
    assert "paper" not in set(table["source"])
    return table


def table6_p_base():
    table = computed("table6", p_base=1.0)
    induced = theory.SpecCascade(1.0, "optimal").induced(P, Q)
    found = of_rule(table, "draft_on_allowed_set_else_zero", "total_variation")
    assert found == pytest.approx(np.abs(induced - P).sum() / 2)
    return table


def table6_leniences():
    table = computed("table6", leniences=[0.3, 0.9])
    expected = np.mean([np.minimum(Q, P / x).sum() for x in (0.3, 0.9)])
    assert of_rule(table, "lenience", "acceptance_rate") == pytest.approx(expected)
    return table


def table6_rules():
    table = computed("table6", rules=["cos:0.25", "strict"])
    assert of_rule(table, "cos:0.25", "total_variation") == pytest.approx(0.75 * TV)
    assert of_rule(table, "strict", "block_efficiency") == of_rule(table, "target", "block_efficiency")
    return table


def table6_gamma():
    table = computed("table6", gamma=3)
    assert of_rule(table, "target", "block_efficiency") == pytest.approx(blocks(ALPHA, 3))
    return table


def table6_trace():
    table = computed("table6", trace=(np.tile(Q, (11, 1)), np.tile(P, (11, 1))))
    assert of_rule(table, "lenience", "acceptance_rate") == pytest.approx(np.minimum(P, Q / 0.4).sum())
    return table


def predicted_benchmarks():
    table = computed("predicted", benchmarks=["BFCL", "INCLUDE"])
    assert list(dict.fromkeys(table["benchmark"])) == ["INCLUDE", "BFCL"]
    return table


def predicted_models():
    table = computed("predicted", models=["profile"])
    own = table[table["method"] == "strict"]["predicted"].item()
    assert own == pytest.approx(blocks(calibration.profile("MATH", "profile").acceptance_rate(theory.Strict()), 10))
    return table


def predicted_probe():
    table = computed("predicted", models=["off-track"], probe=0.6)
    errors = table[table["method"] == "cos_draft_weight"].eval("predicted - reported").abs().mean()
    by_probe = calibration.by_probe([0.6]).set_index("benchmark")["mean_absolute_error"]
    assert errors == pytest.approx(by_probe["MATH"])
    return table


def predicted_draws():
    return replicated(draws=2)


def predicted_seed():
    return replicated(seed=5)


def replicated(draws=3, seed=1):
    table = computed("predicted", models=["off-track"], draws=draws, seed=seed)
    own = calibration.reported("MATH").values()
    mean, spread = (np.array([row[place] for row in own]) for place in (0, 1))
    rng, ranks = np.random.default_rng(seed), pd.Series(mean).rank()
    again = [pd.Series(rng.normal(mean, spread / math.sqrt(3))).rank().corr(ranks) for _ in range(draws)]
    assert table["replicate_spearman"].iloc[0] == pytest.approx(np.mean(again))
    return table


CHECKS = {(name, knob): globals().get(f"{name}_{knob}") for name in paper.ITEMS for knob in knobs.of(paper.item(name).compute)}
"""Figure and knob to what varies and checks it."""


@pytest.fixture(scope="module", params=CHECKS, ids="-".join)
def varied(request):
    """Each knob of each figure with a table in which it is varied, and which follows it."""
    check = CHECKS[request.param]
    assert check is not None, f"the knob {request.param[1]} of {request.param[0]} is varied by no function here"
    return (*request.param, check())


@pytest.mark.slow
def test_the_table_follows_and_has_its_columns(varied):
    name, _, table = varied
    assert list(table.columns) == list(paper.item(name).COLUMNS)
    assert len(table)


@pytest.mark.slow
def test_the_table_knows_that_the_input_is_not_the_papers(varied):
    name, knob, table = varied
    assert knob in knobs.varied(table)
    said = paper.item(name).headline(table)
    assert said.startswith("Not the paper's inputs")
    assert f"{knob} = " in said
    assert "\n" not in said


@pytest.mark.slow
def test_any_table_is_drawn_on_labelled_axes(varied):
    name, _, table = varied
    before = table.copy()
    with style.applied():
        figure = paper.item(name).plot(table, Figure(figsize=(12, 8), layout="constrained"))
        figure.canvas.draw()
    for axes in figure.axes:
        assert axes.has_data()
        shared = axes.get_shared_x_axes().get_siblings(axes), axes.get_shared_y_axes().get_siblings(axes)
        words = [label.get_text() for label in axes.get_xticklabels() if re.search("[a-zA-Z]", label.get_text())]
        assert any(one.get_xlabel() for one in shared[0]) or words
        assert any(one.get_ylabel() for one in figure.axes)
    pd.testing.assert_frame_equal(table, before)


# --- what is refused --------------------------------------------------------------------------------------------------

NUMBERS = [[], [math.nan], ["x"], [-1.0], "word", 3, [0.5, 0.5]]
BAD = {
    int: [-1, 1.5, "x", None, True],
    float: [math.nan, "x", None],
    str: ["nonsense", 3],
    Sequence[int]: [[], [0], [1.5], ["x"], 3, [2, 2]],
    Sequence[float]: NUMBERS,
    Sequence[float] | None: NUMBERS,
    Sequence[str]: [[], ["nonsense"], "word", 3],
    knobs.Rules: [["nonsense:1"], [3], 3, theory.Strict],
    knobs.Rules | None: [["nonsense:1"], [3], 3, [], ["strict", "strict"]],
    knobs.Cut: ["nonsense:1", 3],
    real.Rows: [3, [0.5], (P, Q[:3] / Q[:3].sum()), "zipf:4,nonsense=1"],
    real.Rows | None: [3, [0.5], (P, Q[:3] / Q[:3].sum()), "zipf:4,nonsense=1"],
    knobs.Values | None: [{"nonsense": 1.0}, {"noise": -1.0}],
}
"""Annotation to values that no knob of its kind takes."""
OPTIONAL = {("fig6", "count"), ("table2_3_7", "count")}


def refused():
    for name in paper.ITEMS:
        for knob in knobs.of(paper.item(name).compute).values():
            kind = int if (name, knob.name) in OPTIONAL else knob.annotation
            for value in BAD[kind]:
                fine = (
                    value is None if (name, knob.name) in OPTIONAL else (name, knob.name, value) == ("fig8", "rest", [0.5, 0.5])
                )
                if not fine:
                    yield pytest.param(name, knob.name, value, id=f"{name}-{knob.name}-{value!r:.20}")


@pytest.mark.parametrize(("name", "knob", "value"), list(refused()))
def test_bad_values_are_refused_in_a_line(name, knob, value):
    with pytest.raises(ValueError, match=r"\A[^\n]+\Z") as caught:
        paper.item(name).compute(quick=True, **SMALL[name] | {knob: value})
    said = str(caught.value)
    named = "p has 4 tokens and q has 3" if isinstance(value, tuple) else knob
    named = value[0] if isinstance(value, list) and value == ["nonsense:1"] else named
    assert named in said or "nonsense" in said or "noise" in said, said
    assert len(said) > len(knob) + 10


def test_a_knob_is_read_from_its_signature_and_its_docstring():
    for name in paper.ITEMS:
        compute = paper.item(name).compute
        for knob in knobs.of(compute).values():
            assert len(knob.about) > 5, (name, knob.name)
            assert "\n" not in knob.about
            assert knob.annotation in knobs.READERS
            if knob.default is None:
                assert "Default: " in knob.about, (name, knob.name)
        parameters = list(inspect.signature(compute).parameters.values())
        assert parameters[0].name == "quick"
        assert all(one.kind is one.KEYWORD_ONLY for one in parameters[1:])


def test_defaults_are_not_recorded_as_varied():
    assert knobs.varied(paper.item("fig2").compute(lenience=0.5, rules=list(fig2.DRAWN), position=0)) == {}
    table = computed("predicted")
    assert set(knobs.varied(table)) == {"benchmarks", "models", "draws"}
    assert knobs.varied(table)["benchmarks"] == "MATH"


# --- text -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "rules"),
    [
        ("strict", ["strict"]),
        ("strict,lenience:0.4", ["strict", "lenience:0.4"]),
        ("spec-cascade:0.5,fallback=target,strict", ["spec-cascade:0.5,fallback=target", "strict"]),
        ("hybrid-ceiling:0.5,0.4,hybrid-ceiling:0.5,2/5", ["hybrid-ceiling:0.5,0.4", "hybrid-ceiling:0.5,2/5"]),
        ("fuzzy-acceptance:0.3,tv,on_failure=strict,cos:1/2", ["fuzzy-acceptance:0.3,tv,on_failure=strict", "cos:1/2"]),
        ("truncation:eta:0.25:1/2,fallback=argmax,strict", ["truncation:eta:0.25:1/2,fallback=argmax", "strict"]),
        ("a/b.py:Mine:0.3,2,mine.module:Other", ["a/b.py:Mine:0.3,2", "mine.module:Other"]),
    ],
)
def test_rules_are_split_where_a_name_begins(text, rules):
    assert knobs.split_rules(text) == rules


def test_every_rule_of_the_catalogue_survives_a_list():
    rules = [rule for rule in RATIONAL if type(rule) in theory.verifiers.RULES.values()]
    assert len(rules) > 25
    knob = knobs.Knob("rules", knobs.Rules, (), "")
    assert knobs.read(knob, [",".join(map(str, rules))]) == rules


@pytest.mark.parametrize(
    ("annotation", "text", "value"),
    [
        (int, "5", 5),
        (float, "1/4", 0.25),
        (Sequence[float], "0.1:0.9:5,1", [0.1, 0.3, 0.5, 0.7, 0.9, 1]),
        (Sequence[int], "1,8", [1, 8]),
        (Sequence[str], "MATH, BFCL", ["MATH", "BFCL"]),
        (knobs.Cut, "min-p:0.5", MinP(0.5)),
        (real.Rows | None, "a.safetensors,b.safetensors", ["a.safetensors", "b.safetensors"]),
        (real.Rows, "zipf:30,strength=0.7", "zipf:30,strength=0.7"),
        (knobs.Values | None, "noise=0.01,recovery=1/2", {"noise": 0.01, "recovery": 0.5}),
    ],
)
def test_text_is_read_by_the_annotation(annotation, text, value):
    assert knobs.read(knobs.Knob("it", annotation, None, ""), [text]) == value


def test_lists_come_in_pieces_and_single_values_do_not():
    several = knobs.Knob("rules", knobs.Rules, (), "")
    assert several.several
    assert knobs.read(several, ["strict", "cos:0.5,lenience:0.4"]) == [theory.Strict(), theory.CoS(0.5), theory.Lenience(0.4)]
    with pytest.raises(ValueError, match="--set gamma: is set 2 times, and takes one value: a whole number"):
        knobs.read(knobs.Knob("gamma", int, 10, ""), ["1", "2"])


@pytest.mark.parametrize(
    ("annotation", "text", "message"),
    [
        (int, "x", "takes a whole number"),
        (float, "1/0", "takes a number"),
        (Sequence[float], "0.1,,", "takes numbers separated by commas"),
        (Sequence[int], "1.5", "takes whole numbers"),
        (knobs.Values, "noise", "takes name=number"),
        (knobs.Rules, "nonsense", "no verifier is called 'nonsense'"),
        (knobs.Cut, "nonsense", "no truncation is called 'nonsense'"),
    ],
)
def test_text_of_another_kind_is_refused(annotation, text, message):
    with pytest.raises(ValueError, match=rf"\A--set it={re.escape(text)}: .*{message}"):
        knobs.read(knobs.Knob("it", annotation, None, ""), [text])


# --- rows of one's own ------------------------------------------------------------------------------------------------


def test_the_bundled_trace_by_its_path_is_the_default(tmp_path):
    path = tmp_path / "mine.safetensors"
    traces.example().write(path)
    for given in (traces.example(), path, str(path), [path]):
        texts = real.texts(given)
        assert texts.lengths == real.bundled().lengths == (64,) * 8
        np.testing.assert_array_equal(texts.p, real.bundled().p)
    assert real.texts(path).name == "mine"
    both = real.texts([path, path])
    assert both.lengths == (64,) * 16
    assert both.name == "2 traces"
    np.testing.assert_array_equal(both.q[512:], real.bundled().q)


def test_texts_of_other_lengths():
    texts = real.Texts(*PAIR, (5, 7), "mine")
    np.testing.assert_allclose(real.accepted_length(texts.acceptance(theory.Strict()), 3), [ALPHA + ALPHA**2 + ALPHA**3] * 2)
    with pytest.raises(ValueError, match=r"gamma = 6: must be a whole number in \[1, 5\], the positions of the shortest text"):
        real.accepted_length(texts.acceptance(theory.Strict()), 6)


def test_rows_are_whole_rows_or_a_trace():
    np.testing.assert_array_equal(real.texts((P, Q)).p, [P])
    with pytest.raises(ValueError, match="trace = ndarray: must be rows"):
        real.texts(P)
    with pytest.raises(ValueError, match=r"missing\.safetensors"):
        real.texts("missing.safetensors")


# --- side by side -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["fig2", "fig7", "table1"])
def test_figures_stand_side_by_side_in_axes(name):
    table = computed(name)
    with style.applied():
        whole, (left, right) = plt.subplots(1, 2, figsize=(20, 6))
        parts = [paper.item(name).plot(table, place) for place in (left, right)]
        whole.canvas.draw()
    assert [part.figure for part in parts] == [whole, whole]
    assert whole.subfigs == parts
    assert all(axes.has_data() for part in parts for axes in part.axes)
    plt.close(whole)


def test_axes_without_a_grid_are_refused():
    figure = Figure()
    with pytest.raises(ValueError, match="ax: these axes stand in no grid"):
        fig2.plot(computed("fig2"), figure.add_axes((0, 0, 1, 1)))


def test_the_law_of_a_table_is_the_law_of_the_rule():
    """A negative control of the first test: a table of other rules is told apart."""
    table = computed("fig2", rules=["lenience:0.5"])
    p, q = fig2.rows()
    assert divergences.total_variation(table["induced"].to_numpy(), theory.Lenience(0.5).induced(p, q)) < 1e-15
    assert divergences.total_variation(table["induced"].to_numpy(), theory.Lenience(0.6).induced(p, q)) > 0.01
    assert set(fig6.SETTINGS["p_bases"]) == set(tables.settings_of("spec_cascade"))
    assert {*fig6.SETTINGS["epsilons"]} == set(tables.settings_of("eta_sampling"))
    assert {"spec_cascade": MinP(0.5), "typical_acceptance": Eta(0.15)} == table2_3_7.GATES
