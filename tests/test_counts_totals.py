"""Logs that say less than steps do: totals and one mean length, what they determine, and what they refuse to say."""

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given

from tests.logged import steps
from theory import counts
from theory.counts import Counts, MeanLength, Totals

DETERMINED = (counts.acceptance_rate, counts.mean_accepted, counts.block_efficiency)
UNKNOWN = (
    counts.conditional_acceptance_rate,
    counts.conditional_rates,
    counts.unconditional_rates,
    counts.position_rates,
    counts.position_intervals,
    counts.summary,
    lambda data: counts.per_request_mean(counts.mean_accepted, data),
)
TOTALS = Counts.from_totals(drafts=120, drafted=480, accepted=301, gamma=4)


@given(steps())
def test_totals_give_what_the_steps_give(counted):
    if not counted.drafted.sum():
        return
    totals = Counts.from_totals(
        drafts=len(counted),
        drafted=int(counted.drafted.sum()),
        accepted=int(counted.accepted.sum()),
        emitted=int(counted.emitted.sum()),
    )
    for statistic in DETERMINED:
        assert statistic(totals) == statistic(counted)


@given(steps(same_gamma=True, censored=False, stopped=False))
def test_a_mean_length_gives_what_the_steps_give(counted):
    gamma = int(counted.drafted[0])
    for mean in (
        Counts.from_mean_length(drafted=gamma, mean_accepted=counts.mean_accepted(counted)),
        Counts.from_mean_length(drafted=gamma, tokens_per_call=counts.block_efficiency(counted), steps=len(counted)),
    ):
        for statistic in DETERMINED:
            assert statistic(mean) == statistic(counted)


def test_the_numbers_of_the_example():
    assert counts.acceptance_rate(TOTALS) == F(301, 480)
    assert counts.mean_accepted(TOTALS) == F(301, 120)
    assert counts.block_efficiency(TOTALS) == 1 + F(301, 120)
    assert TOTALS.each == 4
    assert Totals(120, 470, 301).each is None
    assert Totals(3, 0, 0).each is None


def test_a_float_stands_for_the_binary_number_that_it_is():
    assert Counts.from_mean_length(tokens_per_call=2.6, drafted=3).mean_accepted == F(2.6) - 1 != F("1.6")
    assert Counts.from_mean_length(tokens_per_call=np.float64(2.5), drafted=3) == MeanLength(F(3, 2), 3)
    assert Counts.from_mean_length(mean_accepted=2, drafted=np.int64(3)).mean_accepted == 2


@pytest.mark.parametrize("data", [TOTALS, MeanLength(F(8, 5), 3)])
@pytest.mark.parametrize("statistic", UNKNOWN)
def test_what_is_not_known_is_named(statistic, data):
    with pytest.raises(
        ValueError, match=r"not known: (the totals of 120 steps do|a mean length at 3 drafted tokens does) not say"
    ):
        statistic(data)


@pytest.mark.parametrize("statistic", DETERMINED)
def test_what_is_no_log(statistic):
    with pytest.raises(ValueError, match=r"^counts = \[1, 2\]: must be Counts, Totals or a MeanLength"):
        statistic([1, 2])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Totals(0, 4, 1), r"^drafts = 0: must be a whole number of at least 1"),
        (lambda: Totals(1.0, 4, 1), r"^drafts = 1.0"),
        (lambda: Totals(1, -4, 1), r"^drafted = -4"),
        (lambda: Totals(1, 4, True), r"^accepted = True"),
        (
            lambda: Totals(120, 301, 480),
            r"^accepted = 480: must be at most 301, the drafted tokens; a bonus",
        ),
        (lambda: Totals(120, 480, 301, 422), r"^emitted = 422: must be at most 421"),
        (lambda: Totals(120, 480, 301, -1), r"^emitted = -1"),
        (lambda: Totals(120, 480, 301, gamma=0), r"^gamma = 0"),
        (lambda: Totals(120, 470, 301, gamma=4), r"^drafted = 470: must be 480, drafts = 120 times gamma = 4; leave gamma out"),
        (lambda: MeanLength(3.5, 3), r"^mean_accepted = 3.5: must be a number in \[0, 3\]"),
        (lambda: MeanLength(float("nan"), 3), r"^mean_accepted = nan"),
        (lambda: MeanLength("1.6", 3), r"^mean_accepted = '1.6'"),
        (lambda: MeanLength(1.6, 0), r"^gamma = 0"),
        (lambda: MeanLength(1.6, 3, 0), r"^steps = 0"),
        (lambda: Counts.from_mean_length(drafted=3), r"^give one of tokens_per_call"),
        (lambda: Counts.from_mean_length(drafted=3, tokens_per_call=2, mean_accepted=1), r"^give one of tokens_per_call"),
        (
            lambda: Counts.from_mean_length(drafted=3, tokens_per_call=0.8),
            r"^tokens_per_call = 0.8: must be a number in \[1, 4\], 1 to drafted \+ 1: .* mean_accepted does not",
        ),
        (lambda: Counts.from_mean_length(drafted=3, tokens_per_call=4.1), r"^tokens_per_call = 4.1"),
        (lambda: Counts.from_mean_length(drafted=2.5, tokens_per_call=2), r"^drafted = 2.5"),
    ],
)
def test_bad_totals(make, message):
    with pytest.raises(ValueError, match=message):
        make()
