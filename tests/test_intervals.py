"""Uncertain numbers: the three kinds of ends against other routes, how often they cover, and clear errors."""

from fractions import Fraction as F
from math import comb, log, sqrt

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from theory import intervals
from theory.intervals import Interval
from theory.monte_carlo import Estimate


def test_named_columns():
    found = Interval(np.array([1, 2]), np.array([0, 1]), np.array([2, 3]), "guessed")
    assert found.named("x", 1) == {"x": 2, "x_low": 1, "x_high": 3}
    assert Interval(F(1, 2), 0.1, 0.9, "guessed").named("y") == {"y": F(1, 2), "y_low": 0.1, "y_high": 0.9}


# --- exact binomial ---------------------------------------------------------------------------------------------------


@given(st.integers(0, 60), st.integers(0, 60), st.sampled_from([0.5, 0.95, 0.999]))
def test_binomial_is_the_one_of_scipy(successes, failures, confidence):
    trials = successes + failures
    if not trials:
        assert intervals.binomial(0, 0) == (0, 1)
        return
    other = scipy.stats.binomtest(successes, trials).proportion_ci(confidence, method="exact")
    assert intervals.binomial(successes, trials, confidence) == pytest.approx((other.low, other.high), abs=1e-12)


def covered(ends, trials, p):
    """The exact probability that ends(successes) hold p, over the binomial law."""
    return sum(
        comb(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(trials + 1) if ends(k)[0] <= p <= ends(k)[1]
    )  # fmt: skip


@pytest.mark.parametrize("trials", [1, 5, 23])
@pytest.mark.parametrize("p", [0.0, 0.01, 0.3, 0.5, 0.9, 1.0])
def test_binomial_and_bounded_mean_cover_by_enumeration(trials, p):
    assert covered(lambda k: intervals.binomial(k, trials), trials, p) >= 0.95
    assert covered(lambda k: intervals.bounded_mean(k / trials, trials), trials, p) >= 0.95


def test_the_normal_interval_does_not():
    def wald(k):
        half = 1.96 * sqrt(k / 23 * (1 - k / 23) / 23)
        return k / 23 - half, k / 23 + half

    assert covered(wald, 23, 0.01) < 0.3


# --- from the range alone ---------------------------------------------------------------------------------------------


@given(st.floats(0, 1), st.integers(1, 10**6), st.sampled_from([0.5, 0.95, 0.999]))
def test_bounded_mean_is_where_the_relative_entropy_is_spent_and_no_wider_than_hoeffding(mean, n, confidence):
    low, high = intervals.bounded_mean(mean, n, confidence)
    assert 0 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1
    half = sqrt(log(2 / (1 - confidence)) / (2 * n))
    assert mean - half - 1e-9 <= low
    assert high <= mean + half + 1e-9
    assert half == pytest.approx(intervals.weighted_mean(np.full(n % 1000 + 1, 3.0), confidence) * sqrt((n % 1000 + 1) / n))
    for end in (low, high):
        if 1e-6 < mean < 1 - 1e-6 and 1e-6 < end < 1 - 1e-6:
            spent = mean * log(mean / end) + (1 - mean) * log((1 - mean) / (1 - end))
            assert n * spent == pytest.approx(log(2 / (1 - confidence)), rel=1e-5)


def test_bounded_mean_of_zeros_and_ones_only():
    low, high = intervals.bounded_mean(0.0, 40)
    assert low == 0
    assert (1 - high) ** 40 == pytest.approx(0.025)
    assert intervals.bounded_mean(1.0, 40) == pytest.approx((1 - high, 1))


def test_unequal_weights_are_wider():
    assert intervals.weighted_mean(np.array([1, 1, 1, 97])) > intervals.weighted_mean(np.array([25, 25, 25, 25]))


# --- bootstrap --------------------------------------------------------------------------------------------------------


def test_bootstrap_of_a_share_is_binomial():
    """The ends are quantiles of Binomial(100, 0.6) / 100, known but for the resampling.

    With 20 000 resamples the share of them below a number of successes is within 0.0255 of its probability in all but 1e-9 of the
    seeds (Dvoretzky, Kiefer, Wolfowitz, Massart: 2 exp(-2 n e²) = 1e-11).
    """
    low, high = intervals.bootstrap(
        np.array([[0, 1], [1, 1]]), np.array([40, 60]), lambda sums: sums[:, 0] / sums[:, 1], 0.9, 20000
    )
    law = scipy.stats.binom(100, 0.6)
    assert law.ppf(0.05 - 0.0255) <= round(100 * low) <= law.ppf(0.05 + 0.0255)
    assert law.ppf(0.95 - 0.0255) <= round(100 * high) <= law.ppf(0.95 + 0.0255)


def test_kinds_and_times_are_units_written_out_and_a_seed_decides():
    units, times = np.array([[0, 2], [1, 3]]), np.array([3, 4])

    def ends(seed):
        return [float(x) for x in intervals.bootstrap(units, times, lambda sums: sums[:, 0] / sums[:, 1], seed=seed)]

    assert ends(0) == ends(0) != ends(1)
    ratio = 4 / 18
    assert ends(0)[0] < ratio < ends(0)[1]


def test_samples_without_a_value_are_left_out_column_by_column():
    def statistic(sums):
        with np.errstate(invalid="ignore"):
            return np.stack([sums[:, 0] / sums[:, 0], sums[:, 1] / sums[:, 1], 0 * sums[:, 0] / 0], axis=-1)

    low, high = intervals.bootstrap(np.array([[0, 1], [1, 1]]), np.array([2, 1]), statistic)
    assert low[:2].tolist() == high[:2].tolist() == [1, 1]
    assert np.isnan([low[2], high[2]]).all()


def test_many_kinds_are_drawn_in_parts():
    units = np.arange(6000)[:, None]
    low, high = intervals.bootstrap(units, np.ones(6000, dtype=int), lambda sums: sums[:, 0] / 6000)
    half = 1.96 * units.std() / sqrt(6000)
    assert (low, high) == pytest.approx((units.mean() - half, units.mean() + half), abs=half / 3)


# --- Monte Carlo estimates --------------------------------------------------------------------------------------------


def test_an_estimate_becomes_an_interval():
    found = Estimate(np.array([0.2, 0.5]), np.array([0.01, 0.02]), 100).interval(0.99)
    z = 2.5758293035489004
    assert found.low == pytest.approx([0.2 - z * 0.01, 0.5 - z * 0.02])
    assert found.high == pytest.approx([0.2 + z * 0.01, 0.5 + z * 0.02])
    assert found.how == "normal, from 100 draws, 99%"


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: intervals.binomial(3, 2), r"^successes = 3: must be at most 2, the trials"),
        (lambda: intervals.binomial(-1, 2), r"^successes = -1"),
        (lambda: intervals.binomial(1, 2.0), r"^trials = 2.0"),
        (lambda: intervals.binomial(1, 2, 1), r"^confidence = 1: must be a number in \(0, 1\)"),
        (lambda: intervals.bounded_mean(1.5, 2), r"^mean = 1.5"),
        (lambda: intervals.bounded_mean(0.5, 0), r"^n = 0"),
        (lambda: intervals.bounded_mean(0.5, 2, 0), r"^confidence = 0"),
        (lambda: intervals.bootstrap(np.eye(2), np.ones(2, int), np.sum, 2), r"^confidence = 2"),
        (lambda: intervals.bootstrap(np.eye(2), np.ones(2, int), np.sum, resamples=1), r"^resamples = 1: .* at least 2"),
        (lambda: intervals.bootstrap(np.eye(2), np.ones(2, int), np.sum, seed=-1), r"^seed = -1"),
        (lambda: Estimate(0.5, 0.1, 10).interval(1.0), r"^confidence = 1.0"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
