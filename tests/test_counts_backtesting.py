"""Predictions against the truth along texts: the truth by all decodes and by hand, what is exact, and how far models are off."""

import itertools
from fractions import Fraction as F
from math import prod

import numpy as np
import pytest

from theory import counts, traces, verifiers
from theory.counts import backtesting, prediction

RULES = ("strict", "lenience:0.4", "cos:0.5", "spec-cascade:0.3", "exact-match")
TEXTS = [np.array([0.9, 0.2, 0.8, 0.5, 1.0, 0.7, 0.3]), np.array([0.6, 0.6, 0.1]), np.array([0.4])]


def decoded(rates, gamma, verdicts):
    """Accepted and drafted tokens of each step of a literal decode, in which position t passes if ``verdicts[t]``."""
    start = 0
    while start < len(rates):
        block = verdicts[start : start + gamma]
        kept = [*block, False].index(False)
        yield kept, len(block)
        start += kept + 1


@pytest.mark.parametrize("gamma", [1, 3, 7])
def test_the_decoded_law_is_that_of_all_decodes(gamma):
    """Every decode of every text, with its probability; the conditional rates of all their steps."""
    observed, accepted = [F(0)] * gamma, [F(0)] * gamma
    for rates in TEXTS:
        for verdicts in itertools.product((True, False), repeat=len(rates)):
            weight = prod(F(rate) if passed else 1 - F(rate) for rate, passed in zip(rates, verdicts, strict=True))
            for kept, drafted in decoded(rates, gamma, verdicts):
                for i in range(min(kept + 1, drafted)):
                    observed[i] += weight
                    accepted[i] += weight * (kept > i)
    conditional = [kept / seen for kept, seen in zip(accepted, observed, strict=True)]
    found = backtesting.survival(TEXTS, gamma, "decoded", gamma)
    assert found == pytest.approx([float(s) for s in counts.unconditional_from_conditional(conditional)], rel=1e-12)


def test_every_start_by_hand():
    found = backtesting.survival(TEXTS, 2, "every", 3)
    blocks = [rates[start : start + 2] for rates in TEXTS for start in range(len(rates) - 2)]
    assert len(blocks) == 6
    assert found == pytest.approx([np.mean([a for a, _ in blocks]), np.mean([a * b for a, b in blocks])])


def test_constant_rates_are_predicted_without_error_at_any_starts():
    rate = 0.7
    texts = [np.full(30, rate), np.full(12, rate)]
    for starts in ("decoded", "every"):
        assert backtesting.survival(texts, 5, starts, 10) == pytest.approx(rate ** np.arange(1, 6))


def test_a_position_behind_a_certain_rejection():
    assert backtesting.survival([np.array([0.5, 0.0, 0.5, 0.5])], 3, "every", 3).tolist() == [0.25, 0, 0]
    assert backtesting.survival([np.zeros(4)], 3, "decoded", 3).tolist() == [0, 0, 0]


def test_the_truth_and_the_predictions_of_the_table():
    trace = traces.example().with_tail_tokens(1024)
    table = counts.backtest("strict", gammas=(2, 10), starts="every")
    rates = np.asarray(verifiers.Strict().acceptance_rate(trace.p, trace.q)).reshape(8, 64)
    windows = np.lib.stride_tricks.sliding_window_view(rates, 10, axis=1).reshape(-1, 10)
    survival = np.cumprod(windows, axis=1).mean(axis=0)
    for row in table.to_dict("records"):
        assert row["true"] == pytest.approx(survival[: row["gamma"]].sum())
        assert row["error"] == row["predicted"] - row["true"]
        if row["model"] in backtesting.FROM_MEAN:
            other = prediction.from_mean(row["model"], survival[:3].sum(), 3, row["gamma"])
        else:
            other = prediction.from_survival(row["model"], survival[:3], row["gamma"])
        assert row["predicted"] == pytest.approx(other)


def test_on_the_same_starts_shorter_drafts_are_exact_and_the_truth_is_within_the_range():
    table = counts.backtest(RULES, gammas=(1, 2, 3, 5, 10), starts="every")
    assert table["verifier"].unique().tolist() == list(RULES)
    assert (table[table["model"] == "observed"]["error"].abs() < 1e-12).all()
    assert ((table["possible_low"] - 1e-12 <= table["true"]) & (table["true"] <= table["possible_high"] + 1e-12)).all()


def test_where_positions_differ_and_starts_do_not_the_constant_rate_says_too_little_beyond_and_too_much_before():
    table = counts.backtest(RULES, gammas=(2, 5, 10), starts="every")
    errors = table[table["model"] == "constant"].set_index(["verifier", "gamma"])["error"].unstack()
    assert (errors[2] > 0).all()
    assert (errors[[5, 10]] < 0).all().all()


def test_the_errors_of_the_bundled_trace():
    """What the documents say: decoded at 3, predicted at 5 and 10; errors in tokens per call, the worst of five rules."""
    table = counts.backtest(RULES)
    worst = table.assign(error=table["error"].abs()).groupby(["model", "gamma"])["error"].max().unstack()
    assert worst.loc["pooled_rate"].round(2).tolist() == [0.04, 0.03]
    assert worst.loc["constant"].round(2).tolist() == [0.01, 0.08]
    assert worst.loc["last_rate"].round(2).tolist() == [0.08, 0.18]
    assert worst.loc["least_variance"].min() > 0.5
    assert worst.loc["greatest_variance"].min() > 0.5


def test_a_trace_without_prompts_is_one_text():
    rows = np.full((12, 2), 0.5)
    drafts = np.tile([0.8, 0.2], (12, 1))
    table = counts.backtest("strict", traces.Trace.from_rows(rows, drafts), fitted=2, gammas=[12], starts="every")
    assert table["true"].tolist() == pytest.approx([sum(0.7**i for i in range(1, 13))] * len(table))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: counts.backtest("nothing"), r"nothing"),
        (lambda: counts.backtest([]), r"^rules is empty"),
        (lambda: counts.backtest("strict", fitted=0), r"^fitted = 0"),
        (lambda: counts.backtest("strict", gammas=[5, 0]), r"^gammas\[1\] = 0"),
        (lambda: counts.backtest("strict", gammas=5), r"^gammas = 5: must be a list"),
        (lambda: counts.backtest("strict", gammas=[65]), r"^gamma = 65: must be at most 64, the positions of the longest text"),
        (lambda: counts.backtest("strict", starts="all"), r"^starts = 'all': must be one of decoded, every"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
