"""Plots: what is drawn is what was given, on the Axes that were given."""

from dataclasses import dataclass
from fractions import Fraction as F

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import theory
from theory import compare_blocks, counts, plotting
from theory.truncation import Eta
from theory.verifiers import FALLBACKS, RULES

P, Q = [0.4, 0.3, 0.2, 0.1], [0.2, 0.25, 0.25, 0.3]


@pytest.fixture
def axes():
    figure, axes = plt.subplots()
    yield axes
    plt.close(figure)


def test_induced_draws_the_rows_in_falling_order_of_p(axes):
    shuffled = [2, 0, 3, 1]
    p, q = np.array(P)[shuffled], np.array(Q)[shuffled]
    law = theory.Lenience(0.5).induced(p, q)
    assert plotting.plot_induced(p, q, law, ceiling=2, title="lenience", ax=axes) is axes
    bars = [patch.get_height() for container in axes.containers for patch in container]
    np.testing.assert_allclose(bars, [*P, *Q, *np.minimum(P, Q)])
    ceiling, induced = (patch.get_data()[0] for patch in axes.patches if hasattr(patch, "get_data"))
    np.testing.assert_allclose(ceiling, 2 * np.array(P))
    np.testing.assert_allclose(induced, theory.Lenience(0.5).induced(P, Q))
    assert [label.get_text() for label in axes.get_xticklabels()] == ["1", "3", "0", "2"]
    assert axes.get_ylabel() == "probability"
    assert axes.get_title() == "lenience"


def test_induced_says_how_many_tokens_it_leaves_out(axes):
    p = np.full(20, 0.05)
    plotting.plot_induced(p, p, p, tokens=15, ax=axes)
    assert axes.get_xlabel().endswith("(first 15 of 20)")


def test_tradeoff_draws_one_line_a_rule(axes):
    rules = [theory.parse(name) for name in ("strict", "lenience:0.2", "lenience:0.6", "truncation-sampling:min-p:0.5")]
    table = theory.compare(rules, [P, Q], [Q, P])
    assert plotting.plot_tradeoff(table, ax=axes) is axes
    lines = {line.get_label(): line for line in of_rules(axes)}
    assert list(lines) == ["strict", "lenience", "truncation-sampling:min-p"]
    drawn = table[table["verifier"].str.startswith("lenience")].sort_values("total_variation")
    np.testing.assert_array_equal(lines["lenience"].get_xdata(), drawn["total_variation"])
    np.testing.assert_array_equal(lines["lenience"].get_ydata(), drawn["acceptance_rate"])
    assert axes.get_xlabel() == "TV(induced, target)"


def of_rules(axes):
    return [line for line in axes.get_lines() if line.get_label() != plotting.BOUND]


def bound_of(axes):
    (line,) = [line for line in axes.get_lines() if line.get_label() == plotting.BOUND]
    return np.array(line.get_data())


def looks(line):
    return line.get_color(), line.get_marker(), str(line.get_linestyle()), line.get_fillstyle()


def test_rules_that_differ_in_a_keyword_are_different_lines(axes):
    names = [f"spec-cascade:{x},fallback={fallback}" for fallback in FALLBACKS for x in (0.3, 0.5)]
    table = theory.compare([theory.parse(name) for name in names], [P, Q], [Q, P])
    plotting.plot_tradeoff(table, ax=axes)
    lines = of_rules(axes)
    expected = ["spec-cascade" if fallback == "redraft" else f"spec-cascade,fallback={fallback}" for fallback in FALLBACKS]
    assert [line.get_label() for line in lines] == expected
    legend = [text.get_text() for text in axes.get_legend().get_texts()]
    assert legend == [plotting.BEYOND, plotting.BOUND, *expected]
    assert len({looks(line)[2:] for line in lines}) == len(FALLBACKS) <= len(plotting.VARIANTS)
    for line, fallback in zip(lines, FALLBACKS, strict=True):
        rules = [theory.SpecCascade(x, fallback) for x in (0.3, 0.5)]
        np.testing.assert_array_equal(
            np.sort(line.get_ydata()), np.sort(theory.compare(rules, [P, Q], [Q, P])["acceptance_rate"])
        )


@pytest.mark.parametrize(
    ("rules", "lines"),
    [
        ([theory.HybridCeiling(0.5, 0.4), theory.HybridCeiling(F(1, 2), F(3, 5))], ["hybrid-ceiling"]),
        (
            [theory.EagleAcceptance(0.2), theory.EagleAcceptance(0.5), *map(theory.ThresholdAcceptance, (0.2, 0.5))],
            ["eagle-acceptance", "threshold-acceptance"],
        ),
        (
            [theory.FuzzyAcceptance(x, "tv", failure) for failure in ("target", "strict") for x in (0.2, 0.3)],
            ["fuzzy-acceptance,divergence=tv", "fuzzy-acceptance,divergence=tv,on_failure=strict"],
        ),
        (
            [theory.TypicalAcceptance(0.1), theory.TypicalAcceptance(0.2, 0.3)],
            ["typical-acceptance", "typical-acceptance,delta=0.3"],
        ),
        (
            [theory.TruncationSampling(cut) for cut in (Eta(0.1), Eta(0.2), Eta(0.1, 0.5), Eta(0.2, 0.5), Eta(0.1, 0.6))],
            ["truncation-sampling:eta", "truncation-sampling:eta:*:0.5", "truncation-sampling:eta:*:0.6"],
        ),
        (
            [
                theory.TruncationVerifier(Eta(F(1, 9), F(1, 2)), "argmax"),
                theory.TruncationVerifier(Eta(1e-05, F(1, 2)), "argmax"),
            ],
            ["truncation:eta:*:1/2,fallback=argmax"],
        ),
    ],
)
def test_a_line_is_named_by_what_does_not_vary_along_it(rules, lines, axes):
    plotting.plot_tradeoff(theory.compare(rules, P, Q), ax=axes)
    assert [line.get_label() for line in of_rules(axes)] == lines
    assert len({looks(line) for line in of_rules(axes)}) == len(lines)


@dataclass(frozen=True)
class Mine(theory.TokenVerifier):
    share: float = 0.5
    other: int = 1
    family = "of my own"

    def acceptance(self, p, q):
        return theory.CoS(self.share).acceptance(p, q)

    def residual(self, p, q):
        return theory.CoS(self.share).residual(p, q)


def test_an_unknown_family_has_the_colour_of_users(axes):
    plotting.plot_tradeoff(theory.compare([Mine(), theory.Strict()], P, Q), ax=axes)
    mine, strict = of_rules(axes)
    assert (mine.get_label(), mine.get_color()) == ("Mine", plotting.COLOURS["user"])
    assert strict.get_color() == plotting.COLOURS["strict"]


@dataclass(frozen=True)
class Other(Mine):
    mode: str = "plain"


def test_rules_of_users_have_a_colour_and_a_line_each_whatever_their_numbers(axes):
    rules = [Mine(0.2), Mine(0.5), Mine(0.8, other=2), Other(0.3), Other(0.4), Other(0.4, mode="odd"), theory.CoS(0.5)]
    plotting.plot_tradeoff(theory.compare(rules, P, Q), ax=axes)
    lines = {line.get_label(): line for line in of_rules(axes)}
    assert list(lines) == ["Mine", "Other", "Other:mode=odd", "cos"]
    assert [line.get_xdata().size for line in lines.values()] == [3, 2, 1, 1]
    assert lines["Mine"].get_color() == plotting.COLOURS["user"] == plotting.USERS[0]
    assert lines["Other"].get_color() == lines["Other:mode=odd"].get_color() == plotting.USERS[1]
    assert lines["Other"].get_linestyle() != lines["Other:mode=odd"].get_linestyle()
    assert len({*plotting.USERS[1:]} & {*plotting.COLOURS.values()}) == 0


def test_rules_of_one_file_are_told_apart(axes):
    families = ["user"] * 5 + ["collaborative"]
    names = ["my/rules.py:A:0.1", "my/rules.py:A:0.2", "my/rules.py:B:0.1,2", "pack.mod:A:share=0.5", "Bare:0.5", "lenience:0.5"]
    rows = [
        {"path": "mixture", "value": x, "verifier": name, "family": family, "total_variation": x}
        for name, family in zip(names, families, strict=True)
        for x in (0.0, 1.0)
    ]
    plotting.plot_sensitivity(pd.DataFrame(rows), ax=axes)
    colours = {line.get_label(): line.get_color() for line in axes.get_lines()}
    assert list(colours) == names
    assert colours["my/rules.py:A:0.1"] == colours["my/rules.py:A:0.2"] == plotting.USERS[0]
    assert [colours[name] for name in names[2:5]] == list(plotting.USERS[1:4])
    styles = [line.get_linestyle() for line in axes.get_lines()[:2]]
    assert styles[0] != styles[1]


def test_the_line_is_the_best_trade_off_and_rules_on_it_lie_on_it(axes):
    rng = np.random.default_rng(0)
    p, q = theory.synthetic.zipf(30, corruption="noise", count=20, rng=rng)
    rules = ["strict", "lenience:0.3", "cos:0.4", "spec-cascade:0.3", "truncation-sampling:min-p:0.2"]
    table = theory.compare(rules, p, q)
    plotting.plot_tradeoff(table, ax=axes)
    distance = (np.abs(p - q).sum(axis=-1) / 2).mean()
    np.testing.assert_allclose(bound_of(axes), [[0, distance], [1 - distance, 1]])
    above = table["acceptance_rate"] - (1 - distance + table["total_variation"])
    assert above[:3].to_numpy() == pytest.approx(0, abs=1e-12)
    assert (above[3:] < -1e-3).all()
    (shaded,) = [one for one in axes.collections if one.get_label() == plotting.BEYOND]
    corners = shaded.get_paths()[0].vertices
    assert np.allclose(corners.min(axis=0), [0, 1 - distance])
    assert np.allclose(corners.max(axis=0), [distance, 1])


def test_no_line_where_there_is_none(axes):
    table = theory.compare(["strict", "cos:0.5"], P, Q)
    for other in (table.drop(columns="pareto_gap"), pd.concat([table, theory.compare(["strict"], P, P)])):
        axes.clear()
        plotting.plot_tradeoff(other, ax=axes)
        assert len(of_rules(axes)) == len(axes.get_lines())
    axes.clear()
    plotting.plot_tradeoff(table, y="kl_divergence", ax=axes)
    assert len(of_rules(axes)) == len(axes.get_lines())


def test_a_column_without_intervals_is_drawn_without_them(axes):
    table = theory.compare([theory.Lenience(0.2), theory.Lenience(0.6)], [P, Q], [Q, P])
    table = table.drop(columns="pareto_gap")  # no line to draw
    plotting.plot_tradeoff(table, ax=axes)
    assert len(axes.collections) == 1
    axes.clear()
    for column in ("acceptance_rate_low", "excess"):
        plotting.plot_tradeoff(table.assign(excess=[1, 2]), y=column, ax=axes)
        plotting.plot_tradeoff(table, x=column if column in table else "pareto_gap_high", y="acceptance_rate_low", ax=axes)
    plotting.plot_tradeoff(table.drop(columns="acceptance_rate_high"), ax=axes)
    assert not axes.collections


def test_a_ceiling_may_be_a_fraction(axes):
    plotting.plot_induced(P, Q, P, ceiling=F(5, 2), ax=axes)
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert "ceiling 2.5 p" in labels


def test_every_family_has_a_colour_and_every_rule_a_marker_of_its_own():
    assert {rule.family for rule in RULES.values()} < set(plotting.COLOURS)
    assert set(RULES) <= set(plotting.MARKERS)
    for family in plotting.COLOURS:
        markers = [plotting.MARKERS[name] for name, rule in RULES.items() if rule.family == family]
        assert len(set(markers)) == len(markers)


def test_errors(axes):
    table = theory.compare([theory.Strict()], P, Q)
    with pytest.raises(ValueError, match="no column 'speed'; there are: verifier, family"):
        plotting.plot_tradeoff(table, y="speed", ax=axes)
    with pytest.raises(ValueError, match="one row each, of one length"):
        plotting.plot_induced([P, P], [Q, Q], [P, P], ax=axes)
    for column in ("verifier", "family"):
        for choice in ("x", "y"):
            with pytest.raises(ValueError, match=f"column '{column}' has dtype .*: numbers must stand there"):
                plotting.plot_tradeoff(table, **{choice: column}, ax=axes)
        with pytest.raises(ValueError, match=f"no column '{column}'"):
            plotting.plot_tradeoff(table.drop(columns=column), ax=axes)
    for tokens in (0, -1, 2.5):
        with pytest.raises(ValueError, match=f"tokens = {tokens}: must be a whole number of at least 1"):
            plotting.plot_induced(P, Q, P, tokens=tokens, ax=axes)
    with pytest.raises(ValueError, match="ceiling = 0: must be a number in"):
        plotting.plot_induced(P, Q, P, ceiling=0, ax=axes)


def test_a_new_axes_is_made_where_none_is_given_and_nothing_is_shown(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: pytest.fail("a plot was shown"))
    axes = plotting.plot_induced(P, Q, P)
    plt.close(axes.figure)
    axes = plotting.plot_tradeoff(theory.compare([theory.Strict()], P, Q))
    plt.close(axes.figure)


def test_rates_by_position_are_drawn_with_their_intervals(axes):
    logged = counts.Counts.of([0, 1, 2, 2], drafted=[3, 3, 2, 3], censored=[False, False, False, True])
    table = counts.position_intervals(logged)
    assert table["conditional"].tolist()[2] is None
    assert plotting.plot_position_rates(table, axes) is axes
    for container, name in zip(axes.containers, ("conditional", "unconditional"), strict=True):
        points, _, (bars,) = container.lines
        seen = table[table[name].notna()]
        assert container.get_label() == name
        np.testing.assert_allclose(points.get_ydata(), seen[name].astype(float))
        ends = np.array([segment[:, 1] for segment in bars.get_segments()])
        np.testing.assert_allclose(ends, seen[[f"{name}_low", f"{name}_high"]], atol=1e-12)
    assert axes.get_title(loc="left") == "exact binomial, 4 steps as if independent, 95%"
    with pytest.raises(ValueError, match="no column 'conditional_low'"):
        plotting.plot_position_rates(counts.position_rates(logged), axes)


def test_block_plots_draw_the_tables(axes):
    rules = [theory.Tokenwise(theory.Strict()), theory.BlockVerification()]
    laws = compare_blocks.length_laws(rules, P, Q, 3)
    assert plotting.plot_lengths(laws, axes) is axes
    bars = [patch.get_height() for container in axes.containers for patch in container]
    np.testing.assert_allclose(bars, laws["probability"])
    axes.clear()
    gains = compare_blocks.efficiencies(rules, P, Q, range(1, 5), cost=0.1)
    plotting.plot_block_efficiency(gains, "speedup", axes)
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert list(lines) == ["tokenwise:strict", "block"]
    np.testing.assert_array_equal(lines["block"].get_ydata(), gains.loc[gains["rule"] == "block", "speedup"])
    with pytest.raises(ValueError, match="no column 'cost'"):
        plotting.plot_block_efficiency(gains, "cost", axes)
