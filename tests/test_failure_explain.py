"""Explanations: gains and losses are the total variation, exactly; regions, tokens and baselines are what they are called."""

import itertools
import json
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
from tests.commands import run
from theory import exact, failure, plotting, synthetic, testing, traces
from theory.failure.explain import _decoded
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
        (("strict", P, Q), {}, "verifier = 'strict': must be a TokenVerifier"),
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


# --- positions of a trace ---------------------------------------------------------------------------------------------


@pytest.fixture
def trace():
    p = [[0.5, 0.5], [0.5, 0.5], [0.2, 0.8], [0.9, 0.1]]
    q = [[0.5, 0.5], [0.9, 0.1], [0.6, 0.4], [0.6, 0.4]]
    return traces.Trace.from_rows(p, q, tokens=[0, 1, -1, 0], prompt_id=[0, 0, 1, 1], position=[0, 1, 0, 1])


def test_the_worst_positions_come_first_and_ties_in_order(trace):
    rule = theory.CoS(0.5)
    found = failure.explain_positions(rule, trace, worst=4)
    assert [one.position for one in found] == [1, 2, 3, 0]  # 1 and 2 are equal, though 0.8 - 0.4 is not 0.9 - 0.5 in floats
    for one in found:
        assert one.total_variation == pytest.approx(
            theory.exact.total_variation(rule, trace.p[one.position], trace.q[one.position])
        )
    assert [one.position for one in failure.explain_positions(rule, trace, worst=2, by="kl_divergence")] == [2, 3]
    assert [one.position for one in failure.explain_positions(theory.Strict(), trace, worst=2)] == [0, 1]


def test_streaming_does_not_change_the_answer(monkeypatch):
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(5), size=(2, 40)).round(1) + 0.05
    trace = traces.Trace.from_rows(theory.normalise(p), theory.normalise(q))
    rule = theory.Lenience(0.5)
    whole = [one.position for one in failure.explain_positions(rule, trace, worst=7)]
    monkeypatch.setattr("theory.probs.CHUNK", 15)
    assert [one.position for one in failure.explain_positions(rule, trace, worst=7)] == whole
    values = theory.exact.total_variation(rule, trace.p, trace.q).round(12)
    assert whole == list(np.argsort(-values, kind="stable")[:7])


def test_what_the_trace_knows_of_a_position(trace):
    texts = {1: " yes"}
    assert (
        failure.explain_position(theory.Strict(), trace, 1, texts=texts).context
        == "prompt 0, after 1 token, the text has 1 ' yes'"
    )
    assert failure.explain_position(theory.Strict(), trace, 2).context == "prompt 1, after 0 tokens"
    assert "at position 1 (prompt 0" in str(failure.explain_position(theory.Strict(), trace, 1))


def test_the_bundled_trace():
    trace = traces.example()
    for rule in (theory.Lenience(0.4), theory.SpecCascade(0.3)):
        (one,) = failure.explain_positions(rule, trace, worst=1)
        (spread,) = failure.explain_positions(rule, trace.with_tail_tokens(64), worst=1)
        for found in (one, spread):
            gained, lost = moved(found.regions)
            assert gained == pytest.approx(lost, abs=1e-9) == pytest.approx(found.total_variation, abs=1e-9)
            assert (found.tokens["token"] == -1).sum() <= 1
        values = theory.exact.total_variation(rule, np.asarray(trace.p), np.asarray(trace.q))
        assert one.position == values.argmax()
        assert set(one.tokens["token"]) <= {-1, *trace.ids[one.position]}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: failure.explain_position(LENIENT, t, 4), r"position = 4: trace has the positions 0\.\.3"),
        (lambda t: failure.explain_position(LENIENT, t, -1), "position = -1: must be a whole number of at least 0"),
        (lambda t: failure.explain_position(LENIENT, t.p, 0), "trace is a ndarray: must be a theory.Trace"),
        (lambda t: failure.explain_position(LENIENT, t, 0, share=2), "share = 2"),
        (lambda t: failure.explain_positions(LENIENT, t, worst=5), "worst = 5: trace has 4 positions"),
        (lambda t: failure.explain_positions(LENIENT, t, worst=0), "worst = 0"),
        (lambda t: failure.explain_positions(LENIENT, t, by="speed"), "by = 'speed': must be one of acceptance_rate"),
        (lambda t: failure.explain_positions("strict", t), "must be a TokenVerifier"),
        (
            lambda t: failure.explain_positions(LENIENT, t, by="total_variation_to_baseline"),
            "lenience:1/2 has no true baseline but the target",
        ),
    ],
)
def test_errors_of_positions(call, message, trace):
    with pytest.raises(ValueError, match=message):
        call(trace)


# --- what tokens say --------------------------------------------------------------------------------------------------


def tokenizer(tmp_path, content):
    path = tmp_path / "tokenizer.json"
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def test_texts_of_tokenizers(tmp_path):
    byte_level = {"model": {"vocab": {"Ġthe": 0, "Ċ": 1, "â": 2, "Ã©": 3, "가": 5}}, "decoder": {"type": "ByteLevel"}}
    byte_level["added_tokens"] = [{"id": 4, "content": "<|im_start|>"}]
    assert failure.read_texts(tokenizer(tmp_path, byte_level)) == {
        0: " the",
        1: "\n",
        2: "\\xe2",
        3: "é",
        4: "<|im_start|>",
        5: "가",
    }
    unigram = {"model": {"vocab": [["<unk>", 0.0], ["▁the", -1.5]]}, "added_tokens": None}
    assert failure.read_texts(tokenizer(tmp_path, unigram)) == {0: "<unk>", 1: " the"}
    assert failure.read_texts(tokenizer(tmp_path, {"the": 3})) == {3: "the"}


def test_every_byte_has_its_character():
    characters = [chr(code) for code in range(0x200)]
    decoded = {_decoded(character + "a")[:-1] for character in characters if _decoded(character) != character}
    assert len(failure.explain.__globals__["_BYTES"]) == 256
    assert "\\x80" in decoded


@pytest.mark.parametrize(
    "content", ["{", "[1, 2]", "3", '{"a": "b"}', '{"model": {}}', '{"model": {"vocab": [1]}}', '{"a": true}']
)
def test_what_is_no_tokenizer_is_refused(content, tmp_path):
    with pytest.raises(ValueError, match=r"tokenizer\.json: is (no JSON text|neither a tokenizer)"):
        failure.read_texts(tokenizer(tmp_path, content))


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


@pytest.mark.parametrize("size", [None, (10, 4)])
def test_no_labels_overlap_with_six_regions_and_ten_long_tokens(size):
    """The most that there is to write, on axes of its own and on those of `theory explain`."""
    p, q = synthetic.zipf(60, corruption="noise", strength=1.2, rng=np.random.default_rng(0))
    texts = [f"a very long text of a token, number {place}" for place in range(60)]
    found = failure.explain(theory.SpecCascade(0.08), p, q, ceiling=1.2, texts=texts)
    assert (found.regions["tokens"] > 0).sum() == 6
    axes = plt.subplots(figsize=size, layout="constrained")[1] if size else None
    axes = plotting.plot_explained(found, tokens=10, ax=axes)
    axes.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in axes.get_yticklabels()]
    assert len(boxes) == 16
    assert all(above.y0 >= below.y1 - 1 for above, below in itertools.pairwise(boxes))
    named = axes.yaxis.label.get_window_extent()
    assert all(named.x1 <= box.x0 for box in boxes)
    assert axes.get_window_extent().width > 0.5 * axes.figure.get_window_extent().width
    assert axes.get_yticklabels()[6].get_text().endswith("...")
    plt.close(axes.figure)


# --- the command ------------------------------------------------------------------------------------------------------


@pytest.fixture
def trace_file(trace, tmp_path, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    path = tmp_path / "my.safetensors"
    trace.write(path)
    return path


def test_the_command_prints_draws_and_writes_the_explanation(capsys, trace_file, tmp_path):
    vocabulary = tokenizer(tmp_path, {"no": 0, "yes": 1})
    files = tmp_path / "out.csv", tmp_path / "out.png"
    options = ["--trace", trace_file, "--tokenizer", vocabulary, "--share", 1, "--csv", files[0], "--plot", files[1]]
    code, out, err = run(capsys, "explain", "cos:0.5", *options, "--worst", 2)
    assert (code, err) == (0, "")
    found = failure.explain_positions(theory.CoS(0.5), traces.read(trace_file), worst=2, share=1, texts=["no", "yes"])
    for one in found:
        assert str(one).split("\n")[1] in out
    assert out.count("'yes'") >= 4
    written = pd.read_csv(files[0])
    assert list(written["position"]) == [1, 1, 2, 2]
    np.testing.assert_allclose(written["change"], pd.concat([one.tokens for one in found])["change"])
    assert files[1].stat().st_size > 10_000
    assert out.splitlines()[-2:] == [f"wrote {files[0]}", f"wrote {files[1]}"]
    code, out, _ = run(capsys, "explain", "cos:0.5", "--trace", trace_file, "--position", 3)
    assert code == 0
    assert "cos:0.5 at position 3 (prompt 1, after 1 token, the text has 0)" in out


def test_the_command_is_exact_on_fractions_and_shows_the_tail(capsys):
    _, out, _ = run(capsys, "explain", "lenience:1/2", "--p", "4/10,3/10,2/10,1/10", "--q", "1/5,1/4,1/4,3/10")
    assert "accepts 9/10, TV to the target 3/20" in out
    assert "11/15" in out
    code, out, _ = run(capsys, "explain", "spec-cascade:0.3", "--position", "332")
    assert code == 0
    assert "(tail)" in out


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_the_tables_fit_the_console(width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, _ = run(capsys, "explain", "spec-cascade:0.3")
    assert code == 0
    assert max(map(len, out.splitlines())) <= width
    assert ("Not shown in so narrow a console" in " ".join(out.split())) == (width < 100)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--p", "1"], "give --p and --q, both and without a trace"),
        (["--p", "1", "--q", "1", "--worst", "2"], "without a trace (--worst)"),
        (["--position", "1", "--worst", "2"], "give --position, or --worst and --by, not both"),
        (["--position", "-1"], "--position = -1"),
        (["--worst", "0"], "--worst = 0"),
        (["--by", "speed"], "by = 'speed': must be one of"),
        (["--share", "0"], "--share = 0.0: must be a number in (0, 1]"),
        (["--ceiling", "0.5"], "--ceiling = 0.5: must be a number in [1, inf]"),
        (["--tokens", "0"], "--tokens = 0"),
        (["--tail-tokens", "0"], "--tail-tokens = 0"),
        (["--csv", "."], "--csv .: is a directory"),
        (["--plot", "picture.docx"], "no image has the suffix .docx"),
        (["--tokenizer", "missing.json"], "missing.json: No such file"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_options_are_refused_before_the_trace_is_read(options, message, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(traces, "example", lambda: pytest.fail("the trace was read"))
    code, out, err = run(capsys, "explain", "strict", *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_infeasible_positions_are_one_line(capsys, trace_file):
    for option, said in (
        (("--position", 4), "position = 4: "),
        (("--worst", 5), "worst = 5: "),
        (("--tail-tokens", 3), "are whole"),
    ):
        code, _, err = run(capsys, "explain", "strict", "--trace", trace_file, *option)
        assert (code, err.count("\n")) == (2, 1)
        assert said in err
