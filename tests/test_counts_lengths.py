"""From one mean length to rates: the published example, the models, and what is possible, against linear programs."""

from fractions import Fraction as F

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given
from hypothesis import strategies as st

from tests.oracles import least_over_survival
from theory import counts
from theory.counts import Counts, MeanLength, Totals, lengths

EXAMPLE = Counts.from_mean_length(tokens_per_call=F("2.6"), drafted=3)


@st.composite
def means(draw):
    """Draw K and a mean of 0..K accepted tokens, the whole numbers among them."""
    gamma = draw(st.integers(1, 6))
    return MeanLength(draw(st.one_of(st.fractions(0, gamma, max_denominator=7), st.integers(0, gamma))), gamma)


def conditional_extreme(i, gamma, mean, sign):
    """The least of sign · S_i / S_(i-1) by the program of Charnes and Cooper: y = t S, t >= 0, y_(i-1) = 1."""
    objective = np.zeros(gamma + 1)
    objective[i] = sign
    falls = np.hstack([np.diff(np.eye(gamma), axis=0), np.zeros((gamma - 1, 1))])
    at_most_t = np.eye(1, gamma + 1) - np.eye(1, gamma + 1, gamma)
    adds_up = np.append(np.ones(gamma), -float(mean))
    normal = np.eye(1, gamma + 1, i - 1)[0]
    found = scipy.optimize.linprog(
        objective, A_ub=np.vstack([falls, at_most_t]), b_ub=np.zeros(gamma), A_eq=[adds_up, normal], b_eq=[0, 1], bounds=(0, None)
    )
    return sign * found.fun


# --- one rate ---------------------------------------------------------------------------------------------------------


def test_the_published_example():
    assert round(counts.constant_rate(EXAMPLE), 7) == 0.7170778
    table = counts.possible_rates(EXAMPLE)
    assert table["least_variance"].tolist() == [1, F("0.6"), 0]
    assert table["greatest_variance"].tolist() == [F("1.6") / 3, 1, 1]


@given(means())
def test_the_constant_rate_solves_its_equation(mean):
    p = counts.constant_rate(mean)
    assert 0 <= p <= 1
    assert sum(p**i for i in range(1, mean.gamma + 1)) == pytest.approx(float(mean.mean_accepted), abs=1e-12)
    other = np.roots([1] * mean.gamma + [-float(mean.mean_accepted)])
    assert min(abs(other - p)) < 1e-6


@given(st.fractions(0, 1, max_denominator=30), st.integers(1, 8))
def test_the_constant_rate_of_constant_rates(rate, gamma):
    mean = counts.tokens_per_call_from_conditional([rate] * gamma) - 1
    assert counts.constant_rate(MeanLength(mean, gamma)) == pytest.approx(float(rate), abs=1e-13)
    assert counts.constant_rate(MeanLength(gamma, gamma)) == 1
    assert counts.constant_rate(MeanLength(0, gamma)) == 0


def test_it_lies_between_the_rates_of_contexts_that_differ():
    mean = counts.tokens_per_call_over_contexts([F(1), F("0.3")], 5) - 1
    assert 0.65 < counts.constant_rate(MeanLength(mean, 5)) < 1


def test_all_kinds_of_logs_have_it():
    histogram = Counts.from_histogram([40, 30, 20, 30])
    totals = Totals(120, 360, 160)
    mean = MeanLength(F(4, 3), 3)
    assert counts.constant_rate(histogram) == counts.constant_rate(totals) == counts.constant_rate(mean)


# --- models and ranges ------------------------------------------------------------------------------------------------


@given(means())
def test_the_two_models_have_the_mean_and_the_least_and_greatest_variance(mean):
    m, gamma = mean.mean_accepted, mean.gamma

    def second_moment(survival):
        assert sum(survival) == m
        assert list(survival) == sorted(survival, reverse=True)
        assert all(0 <= s <= 1 for s in survival)
        return sum((2 * i + 1) * s for i, s in enumerate(survival))  # E τ² = Σ (2i - 1) S_i

    weights = np.arange(gamma) * 2.0 + 1
    least, greatest = lengths.least_variance(m, gamma), lengths.greatest_variance(m, gamma)
    assert float(second_moment(least)) == pytest.approx(least_over_survival(weights, [np.ones(gamma)], [m]), abs=1e-9)
    assert float(second_moment(greatest)) == pytest.approx(-least_over_survival(-weights, [np.ones(gamma)], [m]), abs=1e-9)
    assert second_moment(least) - m**2 == (m % 1) * (1 - m % 1)
    assert second_moment(greatest) - m**2 == m * (gamma - m)


@given(means())
def test_the_ranges_are_those_of_linear_programs(mean):
    m, gamma = mean.mean_accepted, mean.gamma
    for i, row in counts.possible_rates(mean).iterrows():
        unit = np.eye(gamma)[i]
        assert float(row["unconditional_low"]) == pytest.approx(least_over_survival(unit, [np.ones(gamma)], [m]), abs=1e-9)
        assert float(row["unconditional_high"]) == pytest.approx(-least_over_survival(-unit, [np.ones(gamma)], [m]), abs=1e-9)
        if i == 0:
            assert row["conditional_low"] == row["unconditional_low"]
            assert row["conditional_high"] == row["unconditional_high"]
        elif m == 0:
            assert row["conditional_low"] is row["conditional_high"] is None
        else:
            assert float(row["conditional_low"]) == pytest.approx(conditional_extreme(i, gamma, m, 1), abs=1e-9)
            assert float(row["conditional_high"]) == pytest.approx(conditional_extreme(i, gamma, m, -1), abs=1e-9)


@given(means())
def test_the_models_are_within_the_ranges(mean):
    table = counts.possible_rates(mean)
    for model in ("constant", "least_variance", "greatest_variance"):
        for low, rate, high in zip(table["conditional_low"], table[model], table["conditional_high"], strict=True):
            if None not in (low, rate):
                assert low - F(1, 10**12) <= rate <= high + F(1, 10**12)


def test_what_no_mean_length_belongs_to():
    uneven = Counts.of([1, 2], drafted=[1, 2])
    for function in (counts.constant_rate, counts.possible_rates):
        with pytest.raises(ValueError, match=r"^drafted = 1\.\.2: a mean length belongs to steps that all draft the same"):
            function(uneven)
        with pytest.raises(ValueError, match=r"^drafted = 0\.\.0: a mean length"):
            function(Counts.of([0], drafted=[0]))
        with pytest.raises(ValueError, match=r"^drafted = 470: is no multiple of drafts = 120"):
            function(Totals(120, 470, 301))
        with pytest.raises(ValueError, match=r"^counts has 0 steps"):
            function(Counts.of([], drafted=3))
