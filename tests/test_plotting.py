"""Plots: what is drawn is what was given, on the Axes that were given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

import theory
from theory import compare_blocks, plotting
from theory.verifiers import RULES

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
    ceiling, induced = (patch.get_data().values for patch in axes.patches if hasattr(patch, "get_data"))
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
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert list(lines) == ["strict", "lenience", "truncation-sampling:min-p"]
    drawn = table[table["verifier"].str.startswith("lenience")].sort_values("total_variation")
    np.testing.assert_array_equal(lines["lenience"].get_xdata(), drawn["total_variation"])
    np.testing.assert_array_equal(lines["lenience"].get_ydata(), drawn["acceptance_rate"])
    assert axes.get_xlabel() == "TV(induced, target)"


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


def test_a_new_axes_is_made_where_none_is_given_and_nothing_is_shown(monkeypatch):
    monkeypatch.setattr(plt, "show", lambda: pytest.fail("a plot was shown"))
    axes = plotting.plot_induced(P, Q, P)
    plt.close(axes.figure)
    axes = plotting.plot_tradeoff(theory.compare([theory.Strict()], P, Q))
    plt.close(axes.figure)


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
