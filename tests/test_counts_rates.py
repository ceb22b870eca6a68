"""Statistics of accept counts: the numbers of the arguments, the identities between them, and clear errors."""

from fractions import Fraction as F

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.logged import REQUESTS, steps
from theory import counts
from theory.counts import Counts

ONE_NUMBER = [
    counts.acceptance_rate,
    counts.conditional_acceptance_rate,
    counts.mean_accepted,
    counts.block_efficiency,
]


def test_gamma_2_with_0_1_2_accepted():
    counted = Counts.of([0, 1, 2], drafted=2)
    assert counts.mean_accepted(counted) == 1
    assert counts.block_efficiency(counted) == 2
    assert counts.acceptance_rate(counted) == F(1, 2)
    assert counts.conditional_acceptance_rate(counted) == F(3, 5)
    assert counts.unconditional_rates(counted) == (F(2, 3), F(1, 3))
    assert counts.conditional_rates(counted) == (F(2, 3), F(1, 2))


def test_a_stop_truncates_what_is_emitted_and_not_what_is_accepted():
    whole = Counts.of([3, 4], drafted=4)
    stopped = Counts.of([3, 4], drafted=4, emitted=[4, 2])
    for statistic in (counts.acceptance_rate, counts.mean_accepted, counts.conditional_acceptance_rate):
        assert statistic(stopped) == statistic(whole)
    assert counts.conditional_rates(stopped) == counts.conditional_rates(whole)
    assert counts.block_efficiency(whole) == F(9, 2)
    assert counts.block_efficiency(stopped) == 3
    assert counts.mean_accepted(stopped) == F(7, 2)


def test_a_text_that_ends_after_4_of_4_matches_is_no_rejection():
    ended = Counts.of([4], drafted=8, censored=[True])
    assert counts.conditional_rates(ended) == (1, 1, 1, 1, None, None, None, None)
    assert counts.conditional_acceptance_rate(ended) == 1
    rejected = Counts.of([4], drafted=8)
    assert counts.conditional_rates(rejected) == (1, 1, 1, 1, 0, None, None, None)
    assert counts.conditional_acceptance_rate(rejected) == F(4, 5)
    for all_drafted in (Counts.of([4], drafted=4, censored=[True]), Counts.of([4], drafted=4)):
        assert counts.conditional_rates(all_drafted) == (1, 1, 1, 1)
    assert ended.emitted.tolist() == [4]  # the text ended: no token of the target's own
    assert rejected.emitted.tolist() == [5]


def test_pooled_and_per_request():
    assert counts.block_efficiency(REQUESTS) == F(41, 11)
    assert counts.per_request_mean(counts.block_efficiency, REQUESTS) == F(5, 2)


def test_summary():
    table = counts.summary(REQUESTS)
    assert table.to_dict("records") == [
        {
            "average": "pooled",
            "requests": 2,
            "steps": 110,
            "acceptance_rate": F(300, 440),
            "conditional_acceptance_rate": F(300, 410),
            "mean_accepted": F(30, 11),
            "block_efficiency": F(41, 11),
            "truncated": 0,
            "censored": 0,
        },
        {
            "average": "per_request",
            "requests": 2,
            "steps": 110,
            "acceptance_rate": F(3, 8),
            "conditional_acceptance_rate": F(3, 8),
            "mean_accepted": F(3, 2),
            "block_efficiency": F(5, 2),
            "truncated": 0,
            "censored": 0,
        },
    ]
    assert table.astype({"block_efficiency": float})["block_efficiency"].tolist() == [41 / 11, 2.5]


def test_summary_has_none_where_a_request_has_no_rate():
    table = counts.summary(Counts.of([1, 0], drafted=[2, 0], request=[0, 1]))
    assert table["acceptance_rate"].tolist() == [F(1, 2), None]
    assert table["mean_accepted"].tolist() == [F(1, 2), F(1, 2)]
    table = counts.summary(Counts.of([2, 0], drafted=2, censored=[False, True], request=[0, 1]))
    assert table["conditional_acceptance_rate"].tolist() == [1, None]
    assert table["censored"].tolist() == table["truncated"].tolist() == [F(1, 2), F(1, 2)]


@given(steps(censored=False, stopped=False))
def test_block_efficiency_is_mean_accepted_plus_1_if_nothing_is_cut_short(counted):
    assert counts.block_efficiency(counted) == counts.mean_accepted(counted) + 1


@given(steps())
def test_block_efficiency_is_never_more_than_that(counted):
    missing = F(int((counted.accepted + 1 - counted.emitted).sum()), len(counted))
    assert counts.block_efficiency(counted) == counts.mean_accepted(counted) + 1 - missing
    assert counts.block_efficiency(counted) <= counts.mean_accepted(counted) + 1


@given(steps())
def test_pooled_means_are_the_step_weighted_means_over_requests(counted):
    requests = counted.by_request()
    assert sum(len(steps) for steps in requests.values()) == len(counted)
    for statistic in (counts.mean_accepted, counts.block_efficiency):
        weighted = sum(len(steps) * statistic(steps) for steps in requests.values()) / len(counted)
        assert weighted == statistic(counted)
        assert counts.per_request_mean(statistic, counted) == sum(map(statistic, requests.values())) / len(requests)


@given(steps(same_gamma=True))
def test_a_pooled_rate_is_weighted_by_what_was_proposed(counted):
    requests = counted.by_request().values()
    weighted = sum(int(part.drafted.sum()) * counts.acceptance_rate(part) for part in requests)
    assert weighted / int(counted.drafted.sum()) == counts.acceptance_rate(counted)
    for label, of_request in counted.by_request().items():
        assert set(of_request.request.tolist()) == {label}


@given(steps(least=2), st.randoms())
def test_the_order_of_steps_does_not_matter(counted, random):
    order = list(range(len(counted)))
    random.shuffle(order)
    shuffled = counted.select(order)
    pd.testing.assert_frame_equal(counts.summary(shuffled), counts.summary(counted))


@pytest.mark.parametrize("statistic", [*ONE_NUMBER, counts.conditional_rates, counts.unconditional_rates])
def test_nothing_to_average(statistic):
    with pytest.raises(ValueError, match=r"^counts has 0 steps"):
        statistic(Counts.of([], drafted=2))


def test_nothing_to_average_in_tables_and_requests():
    empty = Counts.of([], drafted=2)
    for make in (counts.summary, counts.position_rates, lambda c: counts.per_request_mean(len, c)):
        with pytest.raises(ValueError, match=r"^counts has 0 steps"):
            make(empty)


@pytest.mark.parametrize(
    "statistic",
    [counts.acceptance_rate, counts.conditional_rates, counts.unconditional_rates, counts.position_rates],
)
def test_nothing_drafted(statistic):
    with pytest.raises(ValueError, match=r"^counts has 2 steps that drafted 0 tokens"):
        statistic(Counts.of([0, 0], drafted=[0, 0]))


def test_no_verdict_and_the_request_that_has_none():
    with pytest.raises(ValueError, match=r"^counts has 1 steps in which no verdict was seen"):
        counts.conditional_acceptance_rate(Counts.of([0], drafted=2, censored=[True]))
    counted = Counts.of([1, 0], drafted=[2, 0], request=["a", "b"])
    with pytest.raises(ValueError, match=r"^request 'b': counts has 1 steps that drafted 0 tokens"):
        counts.per_request_mean(counts.acceptance_rate, counted)
    assert counts.per_request_mean(counts.acceptance_rate, counted.select(counted.drafted > 0)) == F(1, 2)
