"""Explanations: gains and losses are the total variation, exactly; regions, tokens and baselines are what they are called."""

from dataclasses import dataclass
from fractions import Fraction as F

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theory
from tests import cases
from theory import exact, failure, plotting, testing
from theory.truncation import MinP, TopK
from theory.verifiers import RULES

P, Q = cases.GOLDEN_P, cases.GOLDEN_Q
LENIENT = theory.Lenience(F(1, 2))


def moved(table):
    return sum(table["gained"]), sum(table["lost"])


def test_every_rule_of_the_table_is_explained():
    assert {type(rule) for rule in cases.FLOATS} == set(RULES.values())


ZEROS = [F(1, 2), F(1, 4), F(1, 4), F(0), F(0)], [F(1, 4), F(0), F(1, 4), F(1, 2), F(0)]


@pytest.mark.parametrize("pair", [(P, Q), ZEROS], ids=["golden", "zeros"])
def test_every_rule_on_two_pairs(pair):
    for verifier in cases.RATIONAL:
        check(verifier, *map(np.array, pair), F(9, 10))


@pytest.mark.parametrize("pair", [([1], [1]), ([F(1, 3), F(2, 3)], [F(1, 3), F(2, 3)]), ([1, 0], [0, 1])], ids=str)
def test_degenerate_pairs_have_answers(pair):
    for verifier in (
        theory.Strict(),
        theory.CoS(0),
        theory.SpecCascade(1),
        theory.GreedyMatch(),
        theory.EagleAcceptance(F(1, 2)),
    ):
        check(verifier, *(np.array([F(x) for x in row]) for row in pair), 1)


@settings(max_examples=40)
@given(verifier=st.sampled_from(cases.RATIONAL), pair=testing.pairs(), share=st.sampled_from([F(1, 2), F(9, 10), 1]))
def test_gains_and_losses_are_the_total_variation_exactly(verifier, pair, share):
    check(verifier, *pair, share)


def check(verifier, p, q, share):
    found = failure.explain(verifier, p, q, share=share)
    law = verifier.induced(p, q)
    distance = theory.total_variation(law, p)
    assert moved(found.regions) == (distance, distance)
    assert found.total_variation == distance
    assert found.acceptance_rate == verifier.acceptance_rate(p, q)
    for name, rows in (
        ("p", p),
        ("q", q),
        ("induced", law),
        ("baseline", p if verifier.baseline(p) is None else verifier.baseline(p)),
    ):
        assert sum(found.regions[name]) == sum(rows) == 1
    assert found.regions["tokens"].sum() == sum((p > 0) | (q > 0))
    # tokens: no fewer would do, and each is where its region says
    weights = sorted((abs(x - y) / 2 for x, y in zip(law, p, strict=True)), reverse=True)
    few = len(found.tokens)
    assert sum(weights[:few]) >= share * distance
    assert few == 0 or sum(weights[: few - 1]) < share * distance
    assert list(found.tokens["contribution"]) == weights[:few]
    for _, row in found.tokens.iterrows():
        x = row["token"]
        assert (row["p"], row["q"], row["induced"], row["change"]) == (p[x], q[x], law[x], law[x] - p[x])
        assert row["region"] == region(p[x], q[x], found.ceiling)
    assert found.lost == (sum((p > 0) & (law == 0)), sum(p[law == 0]))
    assert found.invented == (sum((p == 0) & (law > 0)), sum(law[p == 0]))
    assert str(found).startswith(f"{verifier}: accepts ")


def region(p, q, ceiling):
    return "underestimated" if q <= p else "moderate" if q <= ceiling * p else "severe"


@pytest.mark.parametrize("verifier", cases.CONTROLS, ids=repr)
def test_verifiers_of_ones_own_are_explained(verifier):
    found = failure.explain(verifier, P, Q)
    assert moved(found.regions) == (found.total_variation,) * 2
    assert found.total_variation > 0
    assert (found.ceiling, found.ceiling_from, found.baseline) == (2, "default", "the target")


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@settings(max_examples=30)
@given(verifier=st.sampled_from(cases.FLOATS), data=st.data())
def test_floats_say_the_same_up_to_rounding(dtype, verifier, data):
    p, q = data.draw(testing.pairs(rows=lambda size: testing.float_rows(size, dtype)))
    found = failure.explain(verifier, p, q)
    distance = found.total_variation
    # rows may sum to 1 within their tolerance only, and then gains and losses differ by as much
    room = 64 * float(np.finfo(dtype).eps) + 2 * abs(float(p.sum(dtype=np.float64) - found.induced.sum(dtype=np.float64)))
    assert all(abs(side - distance) <= room for side in moved(found.regions))
    assert (found.regions["tokens"] >= 0).all()
    if len(found.tokens):
        assert 0.9 <= found.tokens["cumulative"].iloc[-1] <= 1
        assert found.tokens["contribution"].is_monotonic_decreasing


def test_the_golden_pair_by_hand():
    found = failure.explain(LENIENT, P, Q)
    wanted = [
        ("underestimated", 2, F(7, 10), F(9, 20), F(11, 20), 0, F(3, 20)),
        ("moderate", 1, F(1, 5), F(1, 4), F(1, 4), F(1, 20), 0),
    ]
    wanted.append(("severe", 1, F(1, 10), F(3, 10), F(1, 5), F(1, 10), 0))
    assert list(found.regions.drop(columns=["set", "baseline"]).itertuples(index=False, name=None)) == wanted
    assert list(found.tokens["cumulative"]) == [F(2, 5), F(11, 15), F(9, 10)]
    # a share of 9/10 is reached exactly; a little more takes the last token too
    assert len(failure.explain(LENIENT, P, Q, share=F(91, 100)).tokens) == 4


def test_the_ceiling_is_the_rules_own_or_two_or_what_is_given():
    def severe(verifier, **options):
        found = failure.explain(verifier, P, Q, **options)
        return found.ceiling, found.ceiling_from, found.regions.groupby("region")["tokens"].sum()["severe"]

    assert severe(theory.Lenience(F(1, 3))) == (3, "rule", 0)  # 3/10 is at the ceiling, and under it
    assert severe(theory.Lenience(F(2, 5))) == (F(5, 2), "rule", 1)
    assert severe(theory.CoS(F(1, 2))) == (2, "default", 1)
    assert severe(theory.CoS(F(1, 2)), ceiling=F(6, 5)) == (F(6, 5), "argument", 2)
    assert severe(theory.Lenience(F(1, 3)), ceiling=1) == (1, "argument", 2)
    assert severe(theory.CoS(F(1, 2)), ceiling=np.inf) == (np.inf, "argument", 0)


@pytest.mark.parametrize("dtype", [object, np.float64, np.float32])
@pytest.mark.parametrize("ceiling", [None, 1, 2, 1e308, np.inf])
def test_off_the_support_every_draft_is_severe(dtype, ceiling):
    p, q = (np.array([F(x) for x in rows]).astype(dtype) for rows in ([1, 0], [0, 1]))
    for verifier in (theory.CoS(F(1, 2)), theory.Lenience(1e-320)):
        found = failure.explain(verifier, p, q, ceiling=ceiling)
        assert found.regions.set_index("region")["tokens"].to_dict() == {"underestimated": 1, "moderate": 0, "severe": 1}
    assert failure.explain(theory.CoS(F(1, 2)), p, q).invented == (1, F(1, 2))
    assert "Support invented" not in str(failure.explain(theory.Strict(), p, q))
    assert "Support invented: 1 token with p = 0" in str(failure.explain(theory.CoS(F(1, 2)), p, q))


BASELINES = [
    (LENIENT, "the target", None),
    (theory.TokenCascadeV3(F(2, 5)), "the target", None),
    (theory.SpecCascade(F(3, 5)), "the target truncated to min-p:3/5", [0, 1]),
    (theory.TypicalAcceptance(F(1, 4), fallback="argmax"), "the target truncated to eta:1/4", [0, 1, 2]),
    (theory.TruncationVerifier(TopK(1)), "the target truncated to top-k:1", [0]),
    (theory.TruncationSampling(MinP(F(3, 5))), "the target truncated to min-p:3/5", [0, 1]),
    (theory.GreedyMatch(), "the target's most probable token", [0]),
]


@pytest.mark.parametrize(("verifier", "name", "kept"), BASELINES, ids=lambda value: str(value))
def test_the_true_baseline_and_what_it_keeps(verifier, name, kept):
    found = failure.explain(verifier, P, Q, share=1)
    assert found.baseline == name
    table = found.baselines.set_index("law")
    assert table["true_baseline"].sum() == 1
    assert table.loc["the target", "total_variation"] == found.total_variation
    assert table.loc["the target", "kl_divergence"] == pytest.approx(float(theory.kl_divergence(found.induced, P)))
    if kept is None:
        assert set(found.regions["set"]) == {"all"}
        assert list(table.index) == ["the target"]
        return
    assert len(found.regions) == 6
    assert found.regions[found.regions["set"] == "kept"]["tokens"].sum() == len(kept)
    assert found.regions[found.regions["set"] == "kept"]["baseline"].sum() == 1
    assert (
        table.loc[name, "total_variation"]
        == exact.summarise(verifier, P, Q, ["total_variation_to_baseline"])["total_variation_to_baseline"]
    )
    for _, row in found.tokens.iterrows():
        assert row["set"] == ("kept" if row["token"] in kept else "discarded")


def test_what_is_distorted_only_against_the_wrong_baseline():
    found = failure.explain(theory.TruncationSampling(MinP(F(3, 5))), P, Q)
    assert list(found.baselines["total_variation"]) == [F(3, 10), 0]
    assert found.lost == (2, F(3, 10))
    assert failure.explain(theory.Strict(), P, Q).lost == (0, 0)  # the control


@dataclass(frozen=True)
class Mine(theory.TokenVerifier):
    excess: float = 0.0

    def baseline(self, p):
        return MinP(0.5).truncate(p)

    def acceptance(self, p, q):
        return theory.Strict().acceptance(p, q) + self.excess

    def residual(self, p, q):
        return theory.Strict().residual(p, q)


def test_a_baseline_of_ones_own():
    found = failure.explain(Mine(), [0.5, 0.5], [0.25, 0.75])
    assert found.baseline == "the baseline of Mine"
    with pytest.raises(ValueError, match=r"acceptance\[0\] = 1\.5: must be a probability"):
        failure.explain(Mine(0.5), [0.5, 0.5], [0.25, 0.75])


def test_where_no_mass_moves():
    found = failure.explain(LENIENT, Q, Q)
    assert (found.total_variation, len(found.tokens)) == (0, 0)
    assert "No mass moved." in str(found)
    assert "No mass moved." not in str(failure.explain(LENIENT, P, Q))


def test_ties_go_to_the_first_token():
    found = failure.explain(theory.CoS(F(1, 2)), [F(1, 4)] * 4, [F(1, 2), 0, F(1, 2), 0])
    assert list(found.tokens["token"]) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((LENIENT, [P, P], [Q, Q]), {}, r"shapes \(2, 4\) and \(2, 4\): explain takes one row each"),
        ((LENIENT, [0.5, 0.6], [0.5, 0.5]), {}, "p sums to 1.1"),
        ((LENIENT, P, [F(1), F(0)]), {}, "p has 4 tokens and q has 2"),
        ((3, P, Q), {}, "verifier = 3: must be a TokenVerifier"),
        ((LENIENT, P, Q), {"ceiling": 0.5}, r"ceiling = 0\.5: must be a number in \[1, inf\]"),
        ((LENIENT, P, Q), {"ceiling": np.nan}, r"ceiling = nan"),
        ((LENIENT, P, Q), {"share": 0}, r"share = 0: must be a number in \(0, 1\]"),
        ((LENIENT, P, Q), {"ids": [1, 2]}, r"ids has dtype int64 and shape \(2,\): one whole number a column, \(4,\)"),
        ((LENIENT, P, Q), {"ids": [1.0, 2, 3, 4]}, "ids has dtype float64"),
        ((LENIENT, P, Q), {"ids": [1, -2, 3, 4]}, r"ids\[1\] = -2"),
        ((theory.ContrastiveCoS(0.5), P, Q), {}, "on Fractions"),
    ],
)
def test_errors(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        failure.explain(*arguments, **options)


# --- texts and tails --------------------------------------------------------------------------------------------------


def test_the_tail_is_one_entry_however_many_tokens_it_has():
    p, q = [F(4, 10), F(3, 10), F(3, 10)], [F(2, 10), F(2, 10), F(6, 10)]
    pieces = [*p[:2], *[p[2] / 3] * 3], [*q[:2], *[q[2] / 3] * 3]
    one = failure.explain(LENIENT, p, q, ids=[7, 3, -1], texts={7: "a"}, share=1)
    three = failure.explain(LENIENT, *pieces, ids=[7, 3, -1, -1, -1], texts={7: "a"}, share=1)
    pd.testing.assert_frame_equal(one.tokens, three.tokens)
    assert list(one.tokens["token"]) == [-1, 7, 3]
    assert list(one.tokens["text"]) == ["(tail)", "a", ""]
    assert three.regions["tokens"].sum() == 5
    assert "the tail, 7 'a', 3" in str(one)


def test_columns_that_fill_up_a_row_do_not_count():
    found = failure.explain(LENIENT, [*P, F(0)], [*Q, F(0)], ids=[5, 6, 7, 8, -1])
    assert found.regions["tokens"].sum() == 4
    assert list(found.tokens["token"]) == [5, 8, 7]


def test_texts_may_be_a_sequence():
    assert list(failure.explain(LENIENT, P, Q, texts=["a", "b"]).tokens["text"]) == ["a", "", ""]


# --- the picture ------------------------------------------------------------------------------------------------------


def test_the_picture_shows_the_tables():
    found = failure.explain(
        theory.SpecCascade(0.6), [0.4, 0.3, 0.2, 0.1], [0.2, 0.25, 0.25, 0.3], texts=["$a$", "나", "c", "d"], share=1
    )
    figure, axes = plt.subplots()
    assert plotting.plot_explained(found, tokens=3, ax=axes) is axes
    regions = found.regions[found.regions["tokens"] > 0]
    for column, container in zip(("p", "q", "induced"), axes.containers, strict=True):
        lengths = [bar.get_width() for bar in container]
        np.testing.assert_allclose(lengths, [*regions[column], *found.tokens[column][:3]])
    labels = [text.get_text() for text in axes.get_yticklabels()]
    assert labels[:3] == ["q ≤ p, kept (2)", "p < q ≤ 2 p, discarded (1)", "q > 2 p, discarded (1)"]
    assert labels[3] == r"1 '\ub098'"
    assert axes.get_ylabel() == "region (tokens in it), and\nthe 3 tokens that move most\n(1 more in the table)"
    assert axes.get_xlabel() == "probability"
    assert axes.yaxis_inverted()
    assert axes.get_title() == "spec-cascade:0.6: TV(induced, target) = 0.3"
    figure.canvas.draw()  # no label is taken for a formula
    plt.close(figure)
    axes = plotting.plot_explained(failure.explain(theory.Strict(), P, Q), title="")
    assert (axes.get_ylabel(), axes.get_title()) == ("region (tokens in it)", "")
    plt.close(axes.figure)
    with pytest.raises(ValueError, match="tokens = 0"):
        plotting.plot_explained(found, tokens=0)
