"""Rates by position: their identities, and censoring."""

from fractions import Fraction as F

import numpy as np
import pandas as pd
import scipy.stats
from hypothesis import given

from tests.logged import steps
from theory import counts
from theory.counts import Counts


def test_position_table():
    counted = Counts.of([0, 1, 2, 0], drafted=[2, 3, 2, 0], censored=[False, True, False, False])
    table = counts.position_rates(counted)
    assert table.to_dict("list") == {
        "position": [1, 2, 3],
        "proposed": [3, 3, 1],
        "observed": [3, 1, 0],
        "accepted": [2, 1, 0],
        "conditional": [F(2, 3), F(1), None],
        "unconditional": [F(2, 3), F(1, 3), F(0)],
    }
    assert table["conditional"].astype(float).isna().tolist() == [False, False, True]
    assert table[["position", "proposed", "observed", "accepted"]].dtypes.eq("int64").all()


@given(steps(same_gamma=True))
def test_unconditional_rates_add_up_to_the_mean_accepted_length(counted):
    gamma = int(counted.drafted[0])
    assert sum(counts.unconditional_rates(counted)) == counts.mean_accepted(counted)
    assert counts.tokens_per_call_from_unconditional(counts.unconditional_rates(counted)) == (counts.mean_accepted(counted) + 1)
    assert counts.acceptance_rate(counted) == counts.mean_accepted(counted) / gamma


def test_they_do_not_where_drafts_differ_in_length():
    counted = Counts.of([0, 2], drafted=[1, 2])
    assert sum(counts.unconditional_rates(counted)) == F(3, 2)
    assert counts.mean_accepted(counted) == 1


@given(steps(same_gamma=True, censored=False))
def test_products_of_conditional_rates_are_the_unconditional_ones(counted):
    conditional, unconditional = counts.conditional_rates(counted), counts.unconditional_rates(counted)
    assert counts.unconditional_from_conditional(conditional) == unconditional
    assert counts.conditional_from_unconditional(unconditional) == conditional
    assert counts.tokens_per_call_from_conditional(conditional) == counts.mean_accepted(counted) + 1


def test_they_are_not_where_something_is_censored():
    counted = Counts.of([0, 1, 2], drafted=2, censored=[False, True, False])
    assert counts.unconditional_from_conditional(counts.conditional_rates(counted)) == (F(2, 3), F(2, 3))
    assert counts.unconditional_rates(counted) == (F(2, 3), F(1, 3))


@given(steps(same_gamma=True))
def test_censoring_every_last_verdict_leaves_no_rejection(counted):
    hidden = Counts(counted.drafted, counted.accepted, counted.emitted, np.full(len(counted), True), counted.request)
    before, after = counts.position_rates(counted), counts.position_rates(hidden)
    assert (after["observed"] == after["accepted"]).all()
    assert set(after["conditional"]) <= {F(1), None}
    seen = (counted.accepted < counted.drafted) & ~counted.censored
    removed = [int((seen & (counted.accepted == i)).sum()) for i in range(len(before))]
    assert (before["observed"] - after["observed"]).tolist() == removed
    same = ["position", "proposed", "accepted", "unconditional"]
    pd.testing.assert_frame_equal(before[same], after[same])


# --- simulated steps, censored at random ------------------------------------------------------------------------------


ALPHA, SEEN, GAMMA, STEPS = 0.7, 0.85, 6, 40000


def simulated():
    """Steps accepted at rate ALPHA a position, whose text goes on to the next position with probability SEEN."""
    rng = np.random.default_rng(7)
    matches = rng.geometric(1 - ALPHA, STEPS) - 1
    verdicts = rng.geometric(1 - SEEN, STEPS)  # verdicts seen before the text ends
    accepted = np.minimum(np.minimum(matches, verdicts), GAMMA)
    censored = (verdicts <= matches) & (verdicts < GAMMA)
    return Counts.of(accepted, drafted=GAMMA, censored=censored)


def test_conditional_rates_are_consistent_under_censoring():
    """Given how many verdicts were seen at a position, the accepted ones are binomial at ALPHA. Fails in 1e-9 of the seeds."""
    table = counts.position_rates(simulated())
    for row in table.to_dict("records"):
        test = scipy.stats.binomtest(row["accepted"], row["observed"], ALPHA)
        assert test.pvalue > 1e-9 / (GAMMA + 1), row
    verdicts = int(table["observed"].sum())
    test = scipy.stats.binomtest(int(table["accepted"].sum()), verdicts, ALPHA)
    assert counts.conditional_acceptance_rate(simulated()) == F(int(table["accepted"].sum()), verdicts)
    assert test.pvalue > 1e-9 / (GAMMA + 1)


def test_censored_steps_counted_as_rejections_are_biased():
    """The negative control: the same test on the naive rate must fail, at each position at which a text can end."""
    counted = simulated()
    naive = counts.position_rates(Counts.of(counted.accepted, drafted=counted.drafted))
    assert naive["observed"][0] == STEPS
    for row in naive.to_dict("records")[1:]:
        assert scipy.stats.binomtest(row["accepted"], row["observed"], ALPHA, alternative="less").pvalue < 1e-9, row
    survived = counts.tokens_per_call_from_conditional(counts.conditional_rates(counted))
    biased = counts.tokens_per_call_from_conditional(naive["conditional"])
    assert biased < survived
    assert biased == counts.mean_accepted(counted) + 1  # a lower bound, as documented
