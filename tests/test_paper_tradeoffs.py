"""Figures 3, 5 and 7 and Table 6: both axes by a second route, the real pair by hand, and what the headlines say of the paper."""

import re
from fractions import Fraction as F

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from tests.test_paper import quick_table
from theory import divergences, exact, traces
from theory.paper import (
    accuracy,
    agreement,
    calibration,
    fig3,
    fig5,
    fig7,
    intervals,
    item,
    real,
    style,
    table6,
    tables,
    tradeoff,
)
from theory.testing import assert_law, pairs
from theory.truncation import Eta, MinP
from theory.verifiers import CoS, HybridCeiling, Lenience, OvershootCeiling, SpecCascade, Strict, TruncationSampling

ITEMS = {"fig3": fig3, "fig5": fig5, "fig7": fig7, "table6": table6}
TRADEOFFS = ("fig3", "fig7")
KEYS = ["benchmark", "method", "parameter"]


@pytest.fixture(scope="module")
def quick():
    return {name: quick_table(name) for name in ITEMS}


@pytest.fixture(scope="module")
def drawn(quick):
    with style.applied():
        figures = {name: module.plot(quick[name]) for name, module in ITEMS.items()}
    yield figures
    for figure in figures.values():
        plt.close(figure)


def ours(table, source="theory"):
    return table[table["source"] == source]


def ends(values):
    return f"{min(values):+.2f} to {max(values):+.2f}"


# --- what all four promise ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ITEMS)
def test_table_has_the_columns_it_documents(name, quick):
    assert item(name) is ITEMS[name]
    assert list(quick[name].columns) == list(ITEMS[name].COLUMNS)
    assert set(quick[name]["source"]) >= {"paper", "theory"}


def test_quick_leaves_out_what_lies_between_the_papers_settings_and_nothing_else():
    for method in fig3.METHODS:
        paper = {tables.verifier(method, value) for value in tables.settings_of(method)}
        assert paper < set(fig3.sweep(method, quick=True)) < set(fig3.sweep(method))
    for method in fig7.METHODS:
        assert {tables.verifier(method, value) for value in tables.settings_of(method)} == set(fig7.sweep(method, quick=True))
        assert set(fig7.sweep(method, quick=True)) < set(fig7.sweep(method))
    for truncation, methods in fig5.METHODS.items():
        for method in methods:
            assert fig5.parameters_of(truncation, quick=True) == tables.settings_of(method)
        assert set(fig5.parameters_of(truncation, quick=True)) < set(fig5.parameters_of(truncation, quick=False))


@pytest.mark.parametrize("name", ["fig3", "fig5", "fig7"])
def test_the_paper_is_shown_whole_and_as_printed(name, quick):
    paper = ours(quick[name], "paper")
    printed = tables.table_4().merge(paper, on=KEYS, suffixes=("", "_shown"), validate="one_to_many")
    assert len(printed) == len(paper)
    rows = tables.table_4()["method"].isin(set(paper["method"]))
    assert len(printed.drop_duplicates(KEYS)) == rows.sum()
    assert (printed["block_efficiency"] == printed["block_efficiency_shown"]).all()
    for side, sign in (("low", -1), ("high", 1)):
        bar = printed["block_efficiency"] + sign * printed["block_efficiency_std"]
        assert printed[f"block_efficiency_{side}"].to_numpy() == pytest.approx(bar.to_numpy())
        if "quality" in paper:
            bar = printed["accuracy_percent"] + sign * printed["accuracy_std"]
            assert printed[f"quality_{side}"].to_numpy() == pytest.approx(bar.to_numpy())


@pytest.mark.parametrize("name", ["fig3", "fig5", "fig7"])
def test_ours_are_what_the_models_predict(name, quick):
    efficiency = calibration.predictions().query("model == 'off-track'")
    both = ours(quick[name]).merge(efficiency, on=KEYS, how="inner")
    assert len(both) >= 4 * 9
    assert both["block_efficiency"].to_numpy() == pytest.approx(both["predicted"].to_numpy(), abs=1e-12)
    assert (both["block_efficiency_low"] <= both["block_efficiency"]).all()
    assert (both["block_efficiency"] <= both["block_efficiency_high"]).all()
    for model in ("profile", "off-track, own rows seen"):  # the range holds the other two models
        other = calibration.predictions()
        other = other[other["model"] == model]
        beside = ours(quick[name]).merge(other, on=KEYS)
        assert beside["predicted"].between(beside["block_efficiency_low"] - 1e-12, beside["block_efficiency_high"] + 1e-12).all()
    if name in TRADEOFFS:
        both = ours(quick[name]).merge(accuracy.predictions(), on=KEYS)
        assert both["quality"].to_numpy() == pytest.approx(both["predicted_percent"].to_numpy(), abs=1e-9)
        half = stats.norm.ppf(0.975) * both["sampling_points"]
        assert (both["quality_high"] - both["quality"]).to_numpy() == pytest.approx(half.to_numpy())
        assert (both["quality"] - both["quality_low"]).to_numpy() == pytest.approx(half.to_numpy())
        assert (both["quality_fitted"] == both["used_for_fit"]).all()


@pytest.mark.parametrize("name", ["fig3", "fig5", "fig7"])
def test_errors_are_those_of_the_models_own_agreement(name, quick):
    columns = ["block_efficiency", "quality"] if name in TRADEOFFS else ["block_efficiency"]
    table = quick[name].drop_duplicates(["source", *KEYS])  # strict stands in both rows of Figure 5
    both = agreement.beside(table, columns)
    own_agreement = calibration.agreement().query("model == 'off-track'").set_index(["benchmark", "method"])
    for key, rows in both.groupby(["benchmark", "method"]):
        assert rows["block_efficiency_error"].abs().mean() == pytest.approx(own_agreement.loc[key, "mean_absolute_error"])
        assert rows["block_efficiency_error"].mean() == pytest.approx(own_agreement.loc[key, "bias"])
    if name in TRADEOFFS:
        free = both[~both["quality_fitted"]]
        own_agreement = accuracy.agreement().query("benchmark == 'all'").set_index("method")["mean_absolute_error"]
        for method, rows in free.groupby("method"):
            assert rows["quality_error"].abs().mean() == pytest.approx(own_agreement[method])


@pytest.mark.parametrize("name", ITEMS)
def test_plot_puts_the_numbers_on_labelled_axes(name, quick, drawn):
    figure = drawn[name]
    points = {
        (round(float(x), 9), round(float(y), 9))
        for ax in figure.axes
        for line in ax.get_lines()
        for x, y in zip(np.ravel(line.get_xdata()), np.ravel(line.get_ydata()), strict=True)
    }
    shown = quick[name].dropna(subset=["parameter"]) if name != "table6" else quick[name][quick[name]["quantity"] != "chance"]
    if name == "table6":
        drawn_values = {x for x, _ in points}
        hidden = (shown["source"] == "theory") & (shown["quantity"] == "acceptance_rate")
        assert {round(float(value), 9) for value in shown.loc[~hidden, "value"]} <= drawn_values
    else:
        x, y = ("block_efficiency", "quality") if name in TRADEOFFS else ("parameter", "block_efficiency")
        wanted = {(round(float(a), 9), round(float(b), 9)) for a, b in shown[[x, y]].itertuples(index=False)}
        assert wanted <= points
    for ax in figure.axes:
        label = ax.get_xlabel()
        assert re.search(r"\(tokens per target call\)|\(%\)|\(probability\)|\(relative to max p\)|^max induced/target$", label), (
            label
        )
        assert ax.get_title().startswith("(") or name == "fig5"
    assert any(ax.get_ylabel() for ax in figure.axes)
    assert len(figure.legends) == 1


def test_every_label_names_the_side_it_is_on(drawn):
    for name in ("fig3", "fig5", "fig7"):
        labels = [text.get_text() for text in drawn[name].legends[0].get_texts()]
        assert {label.rsplit(", ", 1)[1] for label in labels if ", " in label} <= {"ours", "the paper", "draft whole"}
        assert labels[:2] == ["strict, ours", "strict, the paper"]


# --- the real pair --------------------------------------------------------------------------------------------------


@given(st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=2, max_size=4), st.integers(1, 3))
def test_block_efficiency_along_texts_by_counting_accepted_tokens(rates, gamma):
    """By the law of the accepted length, window by window, instead of by powers."""
    means = []
    for text in rates:
        lengths = []
        for start in range(len(text) - gamma + 1):
            window = text[start : start + gamma]
            law = [np.prod(window[:kept]) * (1 - window[kept] if kept < gamma else 1) for kept in range(gamma + 1)]
            lengths.append(1 + sum(kept * chance for kept, chance in enumerate(law)))
        means.append(np.mean(lengths))
    assert (1 + real.accepted_length(np.array(rates), gamma)).mean() == pytest.approx(np.mean(means))


def test_block_efficiency_along_texts_is_what_verification_does():
    """Literal blocks at every place; means lie in [1, 4], so that Hoeffding bounds their mean, at 1e-9."""
    rng = np.random.default_rng(3)
    rule, gamma, draws = Lenience(0.4), 3, 1000
    p, q = real.rows()
    kept = np.stack(
        [
            rule.verify(*rows, rng.choice(rows[1].size, size=draws, p=rows[1] / rows[1].sum()), rng).accepted
            for rows in zip(p, q, strict=True)
        ]
    ).reshape(8, 64, draws)
    windows = np.lib.stride_tricks.sliding_window_view(kept, gamma, axis=1)
    lengths = 1 + np.cumprod(windows, axis=-1).sum(axis=-1).mean(axis=(0, 1))  # one number for each independent draw of all coins
    bound = gamma * np.sqrt(np.log(2 / 1e-9) / (2 * draws))
    assert abs(lengths.mean() - real.block_efficiency(real.acceptance(rule), gamma).value) < bound
    assert abs(lengths.mean() - real.block_efficiency(real.acceptance(Strict()), gamma).value) > bound


def test_bands_over_prompts_are_students():
    values = real.acceptance(Strict()).mean(axis=1)
    band = intervals.over_prompts(values)
    exact_band = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    assert (band.low, band.high) == pytest.approx((exact_band.low, exact_band.high))
    assert band.high - band.value > stats.norm.ppf(0.975) * stats.sem(values)  # which would be too narrow for 8 prompts


def test_lenience_and_cos_stand_on_one_line_and_a_gate_does_not():
    """TV(π, p) + R = TV(p, q): what the docstring of Figure 3 says, on every row of the trace."""
    p, q = real.rows()
    distance = divergences.total_variation(p, q)
    for rule in (Lenience(0.2), Lenience(0.6), CoS(0.6)):
        found = exact.summarise(rule, p, q, ["total_variation", "rejection_rate"])
        assert found["total_variation"] + found["rejection_rate"] == pytest.approx(distance, abs=1e-9)
    found = exact.summarise(SpecCascade(0.5, "target"), p, q, ["total_variation", "rejection_rate"])
    assert (found["total_variation"] + found["rejection_rate"]).mean() > distance.mean() + 0.1


def test_the_overshoot_that_is_counted_begins_at_the_ceiling_of_the_most_lenient_setting():
    least = min(tables.settings_of("lenience"))
    assert Lenience(least).ceiling == fig3.OVERSHOOT
    p, q = real.rows()
    induced = Lenience(least).induced(p, q)
    assert divergences.overshoot_mass(induced, p, fig3.OVERSHOOT).max() == 0
    assert divergences.overshoot_mass(induced, p, fig3.OVERSHOOT - 1).mean() > 0.05


def test_the_trace_has_both_measures(quick):
    trace = ours(quick["fig3"], "trace")
    p, q = real.rows()
    for method, parameter, measure, quality in trace[["method", "parameter", "measure", "quality"]].itertuples(index=False):
        induced = tables.verifier(method, None if parameter != parameter else parameter).induced(p, q)
        if measure == "likeness":
            shared = np.minimum(induced, p).sum(axis=1)
            assert quality == pytest.approx(100 * shared.mean(), abs=1e-6)
        else:
            assert quality == pytest.approx(
                100 * np.where(induced > p * 5 * (1 + 1e-12), 0, induced).sum(axis=1).mean(), abs=1e-6
            )


@pytest.mark.parametrize("truncation", [MinP(0.5), Eta(0.1)], ids=str)
def test_the_draft_is_truncated_by_its_own_set(truncation):
    p, q = real.rows()
    rule = TruncationSampling(truncation)
    cut = np.concatenate(fig5.rates(rule, fig5.TRUNCATED))
    for row in range(0, 512, 37):
        target, draft = (np.where(truncation.allowed(side[row]), side[row], 0) for side in (p, q))
        assert cut[row] == pytest.approx(np.minimum(target / target.sum(), draft / draft.sum()).sum())
    assert cut.mean() > np.mean(fig5.rates(rule, fig5.WHOLE)) + 0.05
    with pytest.raises(ValueError, match="rule = spec-cascade"):
        fig5.rates(SpecCascade(0.5), fig5.TRUNCATED)


def test_followers_by_hand():
    trace = traces.example()
    ids, tokens = np.asarray(trace.ids), np.asarray(trace.tokens)
    p, strict = real.rows()[0], real.acceptance(Strict()).ravel()
    sides = {True: [], False: []}
    for row in range(1, 512):
        if row % 64:
            place = int(np.flatnonzero(ids[row - 1] == tokens[row - 1])[0])
            sides[bool(p[row - 1][place] >= 0.9 * p[row - 1].max())].append(strict[row])
    found = fig5.followers(0.9)
    assert (found.kept, found.cut) == pytest.approx((np.mean(sides[True]), np.mean(sides[False])))
    assert found.difference.low < 0 < found.difference.value  # a hint, as the docstring says, and no more


# --- what is said of the paper --------------------------------------------------------------------------------------


def reported(benchmark, method, column="block_efficiency"):
    own = tables.table_4().query("benchmark == @benchmark and method == @method").sort_values("parameter")
    return own[column].to_numpy()


def test_figure_3_shows_a_steep_price_and_none_to_speak_of(quick):
    table = ours(quick["fig3"])
    for benchmark, part in table.groupby("benchmark"):
        strict = part.loc[part["method"] == "strict", "quality"].iloc[0]
        lenience, cos = (part[part["method"] == method].sort_values("block_efficiency")["quality"] for method in fig3.METHODS)
        assert lenience.min() > strict - 1.1
        assert (np.diff(cos) < 0).all()
        assert cos.min() < reported(benchmark, "strict", "accuracy_percent")[0] - 20
        assert reported(benchmark, "lenience", "accuracy_percent").min() > strict - 2.01


def test_lenience_left_out_is_predicted_about_as_well_as_fitted(quick):
    both = agreement.beside(quick["fig3"], tradeoff.COMPARED).query("method == 'lenience' and parameter < 1")
    left_out = calibration.cross_validated()
    assert len(both) == len(left_out) == 16
    assert (left_out["predicted"] - left_out["reported"]).abs().mean() < 1.6 * both["block_efficiency_error"].abs().mean()


def test_headline_of_figure_3(quick):
    text = fig3.headline(quick["fig3"])
    gains = [reported(benchmark, "cos_draft_weight")[-1] - reported(benchmark, "strict")[0] for benchmark in tables.BENCHMARKS]
    losses = [
        reported(benchmark, "cos_draft_weight", "accuracy_percent")[-1] - reported(benchmark, "strict", "accuracy_percent")[0]
        for benchmark in tables.BENCHMARKS
    ]
    assert f"CoS at 0.8 has {ends(gains)} at {ends(losses)} points in the paper" in text
    errors = calibration.agreement().query("model == 'off-track'").set_index("method")["mean_absolute_error"]
    for method, said in (
        ("lenience", "lenience {} tokens per call (fitted)"),
        ("cos_draft_weight", "CoS {} tokens per call (not"),
    ):
        assert said.format(f"{errors[method].mean():.2f}") in text


def test_figure_5_ranks_are_the_models_own(quick):
    both = agreement.beside(quick["fig5"].query("method != 'strict'"), ["block_efficiency"])
    own_agreement = calibration.agreement().query("model == 'off-track'").set_index(["method", "benchmark"])["spearman"]
    for method, places in fig5.ranks(both).items():
        for benchmark, value in places.items():
            assert value == pytest.approx(own_agreement[method, benchmark])


def test_min_p_sampling_rises_in_the_paper_and_hardly_in_the_model(quick):
    both = agreement.beside(quick["fig5"].query("method != 'strict'"), ["block_efficiency"])
    found = fig5.rises(both, "min_p_sampling")
    paper = [reported(benchmark, "min_p_sampling") for benchmark in tables.BENCHMARKS]
    assert sorted(found["paper"]) == pytest.approx(sorted(values[-1] - values[0] for values in paper))
    assert found["paper"].min() > 0.12
    assert found["ours"].max() < 0.05
    assert all(values[-1] == values.max() for values in paper)  # no decline after a peak, against the paper's text
    text = fig5.headline(quick["fig5"])
    assert f"min-p sampling {ends(found['paper'])} (model {ends(found['ours'])})" in text
    assert "highest at the last setting on 4 of 4 benchmarks" in text


def test_min_p_sampling_peaks_on_the_real_pair_only_with_the_draft_truncated_too(quick):
    trace = ours(quick["fig5"], "trace")
    own = trace[trace["method"] == "min_p_sampling"].set_index(["draft", "parameter"])["block_efficiency"]
    strict = trace.loc[trace["method"] == "strict", "block_efficiency"].iloc[0]
    cut, whole = own[fig5.TRUNCATED], own[fig5.WHOLE]
    assert cut.max() > max(cut.iloc[0], cut.iloc[-1], strict)
    assert (np.diff(whole) < 0).all()
    assert whole.max() < strict


def test_gaps_and_dominance_of_figure_7_by_hand(quick):
    both = agreement.beside(quick["fig7"], tradeoff.COMPARED)
    gap = fig7.gaps(both)
    assert len(gap) == 40
    counts = dict.fromkeys(fig7.MATCHED, 0)
    for method, matched in fig7.MATCHED.items():
        for benchmark in tables.BENCHMARKS:
            for column, name in (("block_efficiency", "block_efficiency"), ("accuracy_percent", "quality")):
                own = gap.query("method == @method and benchmark == @benchmark").sort_values("parameter")[f"{name}_paper"]
                change = reported(benchmark, method, column) - reported(benchmark, matched, column)
                assert own.to_numpy() == pytest.approx(change)
            pairs_ = [
                (round(a - c, 6), round(b - d, 6))
                for a, b, c, d in zip(
                    reported(benchmark, method),
                    reported(benchmark, method, "accuracy_percent"),
                    reported(benchmark, matched),
                    reported(benchmark, matched, "accuracy_percent"),
                    strict=True,
                )
            ]
            counts[method] += sum(min(pair) >= 0 and max(pair) > 0 for pair in pairs_)
    found = fig7.dominating(gap).groupby(gap["method"]).sum()
    assert counts == found.to_dict() == {"spec_cascade": 4, "typical_acceptance": 8}
    text = fig7.headline(quick["fig7"])
    assert "4 of 20 (SpecCascade) and 8 of 20 (typical acceptance)" in text


def test_nothing_dominates_itself():
    gap = pd.DataFrame({"block_efficiency_paper": [0.0, 1.0, 1.0, 0.0], "quality_paper": [0.0, -1.0, 0.0, 1e-12]})
    assert fig7.dominating(gap).tolist() == [False, False, True, False]


def test_headline_of_figure_7_has_the_guess_that_nothing_is_lost(quick):
    text = fig7.headline(quick["fig7"])
    own_agreement = accuracy.agreement().query("benchmark == 'all'").set_index("method")
    own, guess = own_agreement["mean_absolute_error"], own_agreement["error_of_no_loss"]
    first, second = fig7.MATCHED
    assert f"off by {own[first]:.1f} points on SpecCascade (the guess that nothing is lost: {guess[first]:.1f})" in text
    assert f"{own[second]:.1f} points on typical acceptance (the guess that nothing is lost: {guess[second]:.1f})" in text


# --- Table 6 --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lenience", [F(1, 5), F(2, 5), F(1), F(1, 97)])
def test_row_4_as_printed_is_lenience(lenience):
    """In Fractions, law and acceptance; a search over pairs with zeros, ties and disjoint supports."""
    assert_law(table6.DraftOrCeiling(lenience), Lenience(lenience).induced, examples=30)


@given(pairs())
def test_row_4_accepts_what_lenience_accepts(pair):
    p, q = pair
    for lenience in (F(1, 5), F(3, 4)):
        assert (table6.DraftOrCeiling(lenience).acceptance(p, q) == Lenience(lenience).acceptance(p, q)).all()


@pytest.mark.parametrize(
    "rule", [HybridCeiling(F(1, 2), F(2, 5)), OvershootCeiling(F(2, 5)), SpecCascade(F(1, 2), "optimal")], ids=str
)
def test_other_rules_are_not_lenience(rule):
    p, q = (np.array([F(weight, 20) for weight in weights]) for weights in ((8, 6, 4, 1, 1), (0, 16, 0, 2, 2)))
    assert (table6.DraftOrCeiling(F(2, 5)).induced(p, q) == Lenience(F(2, 5)).induced(p, q)).all()
    assert (rule.induced(p, q) != Lenience(F(2, 5)).induced(p, q)).any()


def test_row_4_is_run_as_its_law_says():
    """Chi-square over literal runs, at 1e-9."""
    rng = np.random.default_rng(6)
    p, q = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.2, 0.25, 0.25, 0.3])
    rule, number = table6.DraftOrCeiling(0.75), 20_000
    token = rule.verify(p, q, rng.choice(4, size=number, p=q), rng).token
    assert stats.chisquare(np.bincount(token, minlength=4), number * rule.induced(p, q)).pvalue > 1e-9


@pytest.mark.parametrize("lenience", [0, 1.1, float("nan")])
def test_row_4_refuses_a_lenience_out_of_range(lenience):
    with pytest.raises(ValueError, match="lenience = "):
        table6.DraftOrCeiling(lenience)


def wide(table, source):
    return ours(table, source).pivot_table("value", "rule", "quantity").loc[list(table6.RULES)]


@pytest.mark.parametrize("source", ["theory", "trace"])
def test_rules_3_to_5_are_on_the_line_and_the_gate_is_off_it(source, quick):
    """TV(π, p) = α - α_strict, a second route to each total variation; row 2 loses more."""
    found = wide(quick["table6"], source)
    bought = found["acceptance_rate"] - found.loc["target", "acceptance_rate"]
    on_line = ["target", "lenience", "draft_below_ceiling_else_ceiling", "draft_on_allowed_set_else_min_draft_ceiling"]
    assert found.loc[on_line, "total_variation"].to_numpy() == pytest.approx(bought[on_line].to_numpy(), abs=1e-6)
    gate = "draft_on_allowed_set_else_zero"
    assert found.loc[gate, "total_variation"] > bought[gate] + 1e-3


def test_table_6_by_the_closed_form_of_each_law(quick):
    """TV and overshoot at hesitant positions from the laws as printed, token by token; the other kinds distort nothing."""
    profile = calibration.profile("MBPP+", tradeoff.MODEL)
    p, q = (rows[:, :2] for rows in calibration.rows(profile.noise).hesitant)
    inside = p >= 0.5 * p.max(axis=1, keepdims=True)
    found = wide(quick["table6"], "theory")
    for name, yields in {
        "draft_on_allowed_set_else_zero": [np.where(inside, q, 0)] * 4,
        "lenience": [np.minimum(q, p / lenience) for lenience in tables.SWEEP],
        "draft_on_allowed_set_else_min_draft_ceiling": [
            np.where(inside, q, np.minimum(q, p / lenience)) for lenience in tables.SWEEP
        ],
    }.items():
        distances, overshoots = [], []
        for kept in yields:
            lacking = 1 - kept.sum(axis=1, keepdims=True)
            rest = np.maximum(p - kept, 0)
            law = kept + lacking * rest / np.maximum(rest.sum(axis=1, keepdims=True), 1e-300)
            distances.append(profile.hesitant * np.abs(law - p).sum(axis=1).mean() / 2)
            overshoots.append(1 + profile.hesitant * ((law / p).max(axis=1).mean() - 1))
        assert found.loc[name, "total_variation"] == pytest.approx(np.mean(distances), abs=1e-9)
        assert found.loc[name, "max_overshoot"] == pytest.approx(np.mean(overshoots), abs=1e-9)


def test_means_are_over_the_four_settings(quick):
    own = quick["table6"].query("source == 'theory' and rule == 'lenience' and quantity == 'block_efficiency'").iloc[0]
    values = calibration.predictions().query("model == 'off-track' and benchmark == 'MBPP+' and method == 'lenience'")[
        "predicted"
    ]
    assert own[["value", "low", "high"]].tolist() == pytest.approx([values.mean(), values.min(), values.max()])
    again = quick["table6"].query("source == 'table 4' and rule == 'lenience' and quantity == 'pass_at_1'")["value"].iloc[0]
    assert again == pytest.approx(reported("MBPP+", "lenience", "accuracy_percent").mean())


def test_row_2_of_the_paper_is_a_row_of_its_table_4(quick):
    table = quick["table6"].query("rule == 'draft_on_allowed_set_else_zero'").set_index(["source", "quantity"])["value"]
    for quantity in ("block_efficiency", "pass_at_1"):
        assert table["paper", quantity] == table["table 4", quantity]


def test_order_of_table_6(quick):
    found, paper = (wide(quick["table6"], source)["block_efficiency"].to_numpy() for source in ("theory", "paper"))
    assert (np.diff(paper) > 0).all()
    assert (np.diff(found) > -1e-12).all()
    assert found[2] == pytest.approx(found[3], abs=1e-12)
    assert np.abs(found - paper).max() < 0.05
    trace = wide(quick["table6"], "trace")["block_efficiency"].to_numpy()
    assert trace[1] < trace[0] < trace[2] < trace[4]  # a poor draft: the gate alone is slower than strict
    text = table6.headline(quick["table6"])
    assert ", ".join(f"{value:.2f}" for value in found) in text
    assert ", ".join(f"{value:.2f}" for value in paper) in text
    free = [place for place, rule in enumerate(table6.RULES) if rule not in table6.SEEN]  # rules 2 and 5
    assert free == [1, 4]
    assert f"by {np.abs(found - paper)[free].mean():.2f} on the 2 rules that were not fitted" in text


# --- errors ---------------------------------------------------------------------------------------------------------


def test_unknown_benchmarks_and_methods_are_refused():
    with pytest.raises(ValueError, match="benchmark = 'GSM8K'"):
        tradeoff.predicted("GSM8K", [Strict()])
    with pytest.raises(ValueError, match="method = 'medusa'"):
        tables.verifier("medusa", 0.1)


def test_a_row_without_ours_beside_it_is_not_compared(quick):
    table = quick["fig3"]
    fewer = table[(table["source"] != "theory") | (table["method"] != "strict")]
    assert len(agreement.beside(fewer, tradeoff.COMPARED)) == len(agreement.beside(table, tradeoff.COMPARED)) - 4
    with pytest.raises(pd.errors.MergeError):
        agreement.beside(pd.concat([table, ours(table)]), tradeoff.COMPARED)
