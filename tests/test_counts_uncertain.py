"""Statistics with intervals: each kind by another route, how often they hold the truth, and what they refuse."""

from fractions import Fraction as F
from functools import cache
from math import prod, sqrt

import numpy as np
import pytest
import scipy.stats
from hypothesis import given

from tests.logged import REQUESTS, steps
from theory import counts, intervals
from theory.counts import Counts, MeanLength, Totals

HISTOGRAM = Counts.from_histogram([40, 30, 20, 30])
STATISTICS = (counts.acceptance_rate, counts.conditional_acceptance_rate, counts.mean_accepted, counts.block_efficiency)


# --- over steps -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("statistic", STATISTICS)
def test_the_bootstrap_over_steps_by_hand(statistic):
    """The same quantiles from steps resampled one by one; each end within a third of the half-width."""
    counted = Counts.of([0, 1, 2, 3, 4, 1, 0] * 20, drafted=[4, 2, 3, 4, 4, 3, 1] * 20, emitted=[1, 2, 3, 4, 2, 2, 1] * 20)
    found = counts.interval(statistic, counted)
    rng = np.random.default_rng(3)
    again = [float(statistic(counted.select(rng.integers(0, 140, 140)))) for _ in range(500)]
    low, high = np.quantile(again, [0.025, 0.975])
    assert found.value == statistic(counted)
    assert isinstance(found.value, F)
    assert (found.low, found.high) == pytest.approx((low, high), abs=(high - low) / 6)
    assert found.how == "bootstrap over 140 steps as if independent, 95%"


@given(steps(same_gamma=True, censored=False))
def test_statistics_that_are_multiples_have_intervals_that_are(counted):
    gamma = int(counted.drafted[0])
    mean = counts.interval(counts.mean_accepted, counted, over="steps")
    rate = counts.interval(counts.acceptance_rate, counted, over="steps")
    assert (gamma * rate.low, gamma * rate.high) == pytest.approx((mean.low, mean.high), abs=1e-12)


def test_steps_that_are_all_alike_have_an_interval_from_the_range():
    alike = Counts.of([4] * 10, drafted=4)
    for statistic, most in ((counts.acceptance_rate, 1), (counts.mean_accepted, 4)):
        found = counts.interval(statistic, alike)
        assert found.value == found.high == most
        assert found.low == pytest.approx(most * (1 - sqrt(np.log(40) / 20)))
        assert found.how == f"no spread seen, so from the range 0..{most} alone (Hoeffding), 10 steps as if independent, 95%"
    assert counts.interval(counts.block_efficiency, alike).high == 5
    few = counts.interval(counts.conditional_acceptance_rate, Counts.of([0], drafted=1))
    assert (few.low, few.high) == (0, 1)


# --- totals and means -------------------------------------------------------------------------------------------------


def test_totals_by_the_range_alone():
    totals = Totals(120, 480, 301, gamma=4)
    low, high = intervals.bounded_mean(301 / 480, 120)
    assert counts.interval(counts.acceptance_rate, totals)[1:3] == (low, high)
    assert counts.interval(counts.mean_accepted, totals)[1:3] == (4 * low, 4 * high)
    assert counts.interval(counts.block_efficiency, totals)[1:3] == (1 + 4 * low, 1 + 4 * high)
    cut = counts.interval(counts.block_efficiency, Totals(120, 480, 301, emitted=400, gamma=4))
    assert cut[1:3] == tuple(5 * end for end in intervals.bounded_mean(400 / 600, 120))
    assert cut.how == "from the range 0..5 of emitted tokens alone (Chernoff), 120 steps as if independent, 95%"
    supposed = counts.interval(counts.mean_accepted, Totals(120, 480, 301))
    assert supposed.how.endswith("0..4 of accepted tokens alone (Chernoff), 120 steps as if independent, if each drafted 4, 95%")
    mean = counts.interval(counts.mean_accepted, MeanLength(F(301, 120), 4, steps=120))
    assert mean == counts.interval(counts.mean_accepted, totals)


def test_they_are_wider_than_those_of_the_steps():
    counted = Counts.from_histogram([20, 20, 30, 29, 21])
    totals = Totals(len(counted), int(counted.drafted.sum()), int(counted.accepted.sum()), gamma=4)
    for statistic in (counts.acceptance_rate, counts.mean_accepted, counts.block_efficiency):
        known, unknown = counts.interval(statistic, counted), counts.interval(statistic, totals)
        assert known.value == unknown.value
        assert unknown.low < known.low < known.high < unknown.high


# --- requests that differ ---------------------------------------------------------------------------------------------

A, B, GAMMA, PER_REQUEST, LOGS = 3, 2, 4, 50, 200
TRUTH = sum(prod((A + j) / (A + B + j) for j in range(i)) for i in range(1, GAMMA + 1))
"""E[τ] where a request's acceptance rate is Beta(3, 2): the moments of that law, summed."""


def log_of(requests, rng):
    """Steps of requests, each with an acceptance rate of its own."""
    rates = rng.beta(A, B, requests)[:, None]
    accepted = np.minimum(rng.geometric(1 - rates, (requests, PER_REQUEST)) - 1, GAMMA)
    return Counts.of(accepted.ravel(), drafted=GAMMA, request=np.repeat(np.arange(requests), PER_REQUEST))


@cache
def held(requests, over):
    """In how many of `LOGS` logs the 95% interval held E[τ]."""
    rng = np.random.default_rng(11)
    found = [counts.interval(counts.mean_accepted, log_of(requests, rng), over=over, resamples=400) for _ in range(LOGS)]
    return sum(one.low <= TRUTH <= one.high for one in found)


def test_intervals_over_requests_hold_the_truth():
    """If they hold it in at least 90% of the logs, fewer than this are held in 1e-9 of the seeds."""
    assert held(40, "requests") >= scipy.stats.binom(LOGS, 0.9).ppf(1e-9)


def test_intervals_over_steps_do_not():
    """The negative control: at a coverage of 70% or more so few would be held in less than 1e-9 of the seeds."""
    assert scipy.stats.binom(LOGS, 0.7).cdf(held(40, "steps")) < 1e-9


def test_they_do_where_requests_are_alike():
    """Both hold the truth in at least 90% of the logs if every request has the same rate; each fails in 1e-9 of the seeds."""
    rng = np.random.default_rng(12)
    truth = sum(0.6**i for i in range(1, GAMMA + 1))
    found = {"steps": 0, "requests": 0}
    for _ in range(LOGS):
        accepted = np.minimum(rng.geometric(0.4, 40 * 20) - 1, GAMMA)
        counted = Counts.of(accepted, drafted=GAMMA, request=np.repeat(np.arange(40), 20))
        for over in found:
            one = counts.interval(counts.mean_accepted, counted, over=over, resamples=400)
            found[over] += one.low <= truth <= one.high
    assert min(found.values()) >= scipy.stats.binom(LOGS, 0.9).ppf(1e-9)


def test_the_units_are_requests_where_there_are_several():
    auto, asked = (counts.interval(counts.mean_accepted, REQUESTS, over=over) for over in (None, "requests"))
    assert auto == asked
    assert auto.how == "bootstrap over 2 requests, 95%"
    assert (auto.low, auto.high) == (0, 3)
    of_steps = counts.interval(counts.mean_accepted, REQUESTS, over="steps")
    assert of_steps.how == "bootstrap over 110 steps as if independent, 95%"
    one = Counts.of([1, 2], drafted=2)
    assert counts.interval(counts.mean_accepted, one).how == "bootstrap over 2 steps as if independent, 95%"


def test_means_over_requests():
    rng = np.random.default_rng(2)
    counted = log_of(60, rng)
    found = counts.interval(counts.mean_accepted, counted, average="per_request")
    values = [float(counts.mean_accepted(steps)) for steps in counted.by_request().values()]
    half = 1.96 * np.std(values) / sqrt(60)
    assert found.value == counts.per_request_mean(counts.mean_accepted, counted)
    assert (found.low, found.high) == pytest.approx((np.mean(values) - half, np.mean(values) + half), abs=half / 3)
    alike = counts.interval(counts.mean_accepted, Counts.of([1, 1, 1], drafted=2, request=[0, 1, 1]), average="per_request")
    assert alike.how.startswith("no spread seen, so from the range 0..2 alone (Hoeffding), 2 requests")


# --- tables -----------------------------------------------------------------------------------------------------------


def test_estimates_of_counts():
    table = counts.estimates(REQUESTS)
    assert table["average"].tolist() == ["pooled"] * 4 + ["per_request"] * 4
    for row in table.to_dict("records"):
        statistic = getattr(counts, row["statistic"])
        one = counts.interval(statistic, REQUESTS, average=row["average"])
        assert (row["value"], row["low"], row["high"], row["how"]) == one
    assert counts.estimates(REQUESTS, over="steps")["average"].tolist() == ["pooled"] * 4


def test_estimates_of_totals_and_means_say_what_is_not_known():
    table = counts.estimates(Totals(120, 480, 301, gamma=4)).set_index("statistic")
    assert table.loc["conditional_acceptance_rate", "value"] is None
    assert table.loc["conditional_acceptance_rate", "how"].startswith("the conditional rate is not known: the totals")
    assert table.loc["acceptance_rate", "value"] == F(301, 480)
    uneven = counts.estimates(Totals(120, 470, 301)).set_index("statistic")
    assert uneven.loc["mean_accepted", "value"] == F(301, 120)
    assert np.isnan(uneven.loc["mean_accepted", "low"])
    assert "drafted = 470 is no multiple of drafts = 120" in uneven.loc["mean_accepted", "how"]
    mean = counts.estimates(MeanLength(F("1.6"), 3)).set_index("statistic")
    assert mean.loc["block_efficiency", "value"] == F("2.6")
    assert "does not say over how many steps" in mean.loc["block_efficiency", "how"]
    one_of_none = counts.estimates(Counts.of([1, 0], drafted=[2, 0], request=[0, 1])).set_index(["average", "statistic"])
    assert one_of_none.loc[("per_request", "acceptance_rate"), "value"] is None


def test_positions_over_steps_are_clopper_and_pearsons():
    counted = Counts.of([0, 1, 2, 0] * 9, drafted=[2, 3, 2, 0] * 9, censored=[False, True, False, False] * 9)
    table = counts.position_intervals(counted, confidence=0.9)
    plain = counts.position_rates(counted)
    assert (table[list(plain)] == plain).all().drop("conditional").all()
    for row in table.to_dict("records"):
        for name, trials in (("conditional", row["observed"]), ("unconditional", row["proposed"])):
            if not trials:
                assert (row[name], row[f"{name}_low"], row[f"{name}_high"]) == (None, 0, 1)
                continue
            other = scipy.stats.binomtest(row["accepted"], trials).proportion_ci(0.9, method="exact")
            assert (row[f"{name}_low"], row[f"{name}_high"]) == pytest.approx((other.low, other.high))
    assert set(table["how"]) == {"exact binomial, 36 steps as if independent, 90%"}


def test_positions_over_requests():
    counted = log_of(60, np.random.default_rng(5))
    table, over_steps = counts.position_intervals(counted), counts.position_intervals(counted, over="steps")
    assert set(table["how"]) == {"bootstrap over 60 requests, or exact binomial where that is wider, 95%"}
    requests = list(counted.by_request().values())
    first = np.array([float(counts.unconditional_rates(steps)[0]) for steps in requests])
    half = 1.96 * first.std() / sqrt(60)
    assert table["unconditional_low"][0] == pytest.approx(first.mean() - half, abs=half / 3)
    assert table["unconditional_high"][0] == pytest.approx(first.mean() + half, abs=half / 3)
    for name in ("conditional", "unconditional"):
        assert (table[f"{name}_low"] <= over_steps[f"{name}_low"]).all()
        assert (table[f"{name}_high"] >= over_steps[f"{name}_high"]).all()
    wider = (table["unconditional_high"] - table["unconditional_low"]) / (
        over_steps["unconditional_high"] - over_steps["unconditional_low"]
    )
    assert wider.min() > 1.5
    alike = counts.position_intervals(Counts.of([1] * 8, drafted=1, request=[0, 1] * 4))
    assert alike["conditional_low"][0] == pytest.approx(0.025 ** (1 / 8))


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: counts.interval(len, HISTOGRAM), r"^statistic = len: must be one of acceptance_rate, "),
        (lambda: counts.interval("mean", HISTOGRAM), r"^statistic = mean: must be one of"),
        (lambda: counts.interval(counts.mean_accepted, HISTOGRAM, confidence=95), r"^confidence = 95"),
        (lambda: counts.interval(counts.mean_accepted, HISTOGRAM, average="mean"), r"^average = 'mean': must be one of pooled"),
        (lambda: counts.interval(counts.mean_accepted, HISTOGRAM, over="tokens"), r"^over = 'tokens': must be one of steps"),
        (lambda: counts.interval(counts.mean_accepted, HISTOGRAM, over="requests"), r"^over = 'requests': which request"),
        (lambda: counts.interval(counts.mean_accepted, HISTOGRAM, average="per_request"), r"^over = 'requests': which request"),
        (
            lambda: counts.interval(counts.mean_accepted, Counts.of([1], drafted=2), over="requests"),
            r"^over = 'requests': all steps are of one request",
        ),
        (
            lambda: counts.interval(counts.mean_accepted, REQUESTS, average="per_request", over="steps"),
            r"^over = 'steps': a mean over requests takes requests",
        ),
        (
            lambda: counts.interval(counts.mean_accepted, Totals(1, 2, 1), over="requests"),
            r"^over = 'requests': which request a step was of is not known from the totals",
        ),
        (
            lambda: counts.interval(counts.mean_accepted, MeanLength(1, 2, 3), average="per_request"),
            r"^average = 'per_request': which request a step was of is not known from a mean length",
        ),
        (lambda: counts.interval(counts.mean_accepted, MeanLength(1, 2)), r"^an interval is not known: a mean length"),
        (lambda: counts.interval(counts.mean_accepted, Totals(2, 3, 1)), r"^an interval is not known: drafted = 3"),
        (lambda: counts.interval(counts.mean_accepted, Counts.of([], drafted=2)), r"^counts has 0 steps"),
        (lambda: counts.interval(counts.mean_accepted, HISTOGRAM, seed=-1), r"^seed = -1"),
        (lambda: counts.estimates(HISTOGRAM, confidence=0), r"^confidence = 0"),
        (lambda: counts.estimates(HISTOGRAM, over="requests"), r"^over = 'requests'"),
        (lambda: counts.estimates(Totals(1, 2, 1), over="requests"), r"^over = 'requests': which request"),
        (lambda: counts.estimates(Totals(1, 2, 1), over="tokens"), r"^over = 'tokens'"),
        (lambda: counts.estimates(HISTOGRAM, seed=-1), r"^seed = -1"),
        (lambda: counts.estimates(HISTOGRAM, resamples=1), r"^resamples = 1"),
        (lambda: counts.estimates([1]), r"^counts = \[1\]: must be Counts"),
        (lambda: counts.position_intervals(HISTOGRAM, confidence=1.5), r"^confidence = 1.5"),
        (lambda: counts.position_intervals(HISTOGRAM, over="requests"), r"^over = 'requests'"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
