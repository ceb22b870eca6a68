"""Other gammas: what is exact, the models by other routes, the ranges by linear programs, and their intervals."""

from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.logged import steps
from tests.oracles import least_over_survival
from theory import counts, exact
from theory.blocks import BLOCK_RULES, BlockVerifier, Outcome, Tokenwise
from theory.counts import Counts, MeanLength, Totals, prediction
from theory.models import iid, markov
from theory.verifiers import Lenience, SpecCascade, Strict

HISTOGRAM = Counts.from_histogram([40, 30, 20, 30])
FALLING = st.lists(st.fractions(0, 1, max_denominator=9), min_size=1, max_size=5).map(lambda s: sorted(s, reverse=True))


def of(table, model, gamma):
    return table[(table["model"] == model) & (table["gamma"] == gamma)].iloc[0]


# --- ranges -----------------------------------------------------------------------------------------------------------


@given(st.integers(1, 5), st.integers(1, 7), st.fractions(0, 1, max_denominator=9))
def test_the_range_from_a_mean_is_that_of_a_linear_program(drafted, gamma, share):
    mean = share * drafted
    size = max(drafted, gamma)
    objective = (np.arange(size) < gamma).astype(float)
    known = [(np.arange(size) < drafted).astype(float)]
    low, high = prediction.possible_from_mean(mean, drafted, gamma)
    assert float(low) == pytest.approx(least_over_survival(objective, known, [mean]), abs=1e-9)
    assert float(high) == pytest.approx(-least_over_survival(-objective, known, [mean]), abs=1e-9)
    for model in ("constant", "least_variance", "greatest_variance"):
        found = prediction.from_mean(model, mean, drafted, gamma)
        assert low - F(1, 10**9) <= found <= high + F(1, 10**9)
    ends = {prediction.from_mean(model, mean, drafted, gamma) for model in ("least_variance", "greatest_variance")}
    assert ends == {low, high}


@given(FALLING, st.integers(1, 8))
def test_the_range_from_all_rates_is_that_of_a_linear_program(survival, gamma):
    size = max(len(survival), gamma)
    objective = (np.arange(size) < gamma).astype(float)
    known = np.eye(size)[: len(survival)]
    low, high = prediction.possible_from_survival(survival, gamma)
    assert float(low) == pytest.approx(least_over_survival(objective, known, survival), abs=1e-8)
    assert float(high) == pytest.approx(-least_over_survival(-objective, known, survival), abs=1e-8)
    for model in prediction.models_from(len(survival), gamma)[:2]:
        assert low <= prediction.from_survival(model, np.array(survival, dtype=object), gamma) <= high
    wider = prediction.possible_from_mean(sum(survival), len(survival), gamma)
    assert wider[0] <= low <= high <= wider[1]


# --- models -----------------------------------------------------------------------------------------------------------


def test_the_models_of_lengths_written_out():
    table = counts.predict(HISTOGRAM, [1, 3, 5])
    s = [F(2, 3), F(5, 12), F(1, 4)]
    assert counts.unconditional_rates(HISTOGRAM) == tuple(s)
    assert of(table, "observed", 1)["mean_accepted"] == s[0]
    assert of(table, "observed", 3)["mean_accepted"] == sum(s) == counts.mean_accepted(HISTOGRAM)
    last, pooled = s[2] / s[1], counts.conditional_acceptance_rate(HISTOGRAM)
    for model, rate in (("last_rate", last), ("pooled_rate", pooled)):
        assert of(table, model, 5)["mean_accepted"] == sum(s) + s[2] * rate + s[2] * rate**2
    p = counts.constant_rate(HISTOGRAM)
    assert of(table, "constant", 5)["mean_accepted"] == pytest.approx(sum(p**i for i in range(1, 6)), abs=1e-12)
    assert (table["block_efficiency"] == table["mean_accepted"] + 1).all()
    assert set(table["model"]) <= set(counts.MODELS)


@given(st.fractions(0, 1, max_denominator=9), st.integers(1, 4), st.integers(1, 8))
def test_every_model_but_the_extremes_is_right_for_iid_acceptance(rate, drafted, gamma):
    survival = np.array([rate**i for i in range(1, drafted + 1)], dtype=object)
    true = sum(rate**i for i in range(1, gamma + 1))
    for model in prediction.models_from(drafted, gamma):
        found = prediction.from_survival(model, survival, gamma)
        assert found == (pytest.approx(float(true), abs=1e-10) if model == "constant" else true)
    assert prediction.from_mean("constant", survival.sum(), drafted, gamma) == pytest.approx(float(true), abs=1e-10)


@given(steps(same_gamma=True, censored=False), st.integers(1, 5))
def test_shorter_drafts_are_the_counts_cut_short(counted, gamma):
    if gamma > counted.drafted[0]:
        return
    cut = np.minimum(counted.accepted, gamma)
    found = counts.predict(counted, gamma, over="steps", resamples=2)
    assert found["mean_accepted"].tolist() == [counts.mean_accepted(Counts.of(cut, drafted=gamma))]
    assert found["possible_low"].tolist() == found["possible_high"].tolist() == found["mean_accepted"].tolist()


class AllOrNothing(BlockVerifier):
    """Keeps the whole block with the probability that all of it passes token by token, else nothing."""

    def outcomes(self, draft):
        gamma = len(draft.tokens)
        passed = sum(outcome.probability for outcome in Tokenwise(Strict()).outcomes(draft) if outcome.kept == gamma)
        return Outcome(1 - passed, 0, draft.p[0]), Outcome(passed, gamma, draft.p[gamma])


@pytest.mark.parametrize(
    ("rule", "same"),
    [
        *((Tokenwise(rule), True) for rule in (Strict(), Lenience(F(1, 2)), SpecCascade(F(1, 2)))),
        *((make(), True) for name, make in BLOCK_RULES.items() if make is not Tokenwise),
        (AllOrNothing(), False),
    ],
    ids=str,
)
@pytest.mark.parametrize(
    "pair",
    [
        iid([F(1, 2), F(1, 3), F(1, 6)], [F(1, 6), F(1, 6), F(2, 3)]),
        markov(
            p=[[F(6, 10), F(4, 10)], [F(1, 10), F(9, 10)]],
            q=[[F(3, 10), F(7, 10)], [F(1, 2), F(1, 2)]],
        ),
    ],
    ids=["iid", "markov"],
)
def test_the_prefix_property(pair, rule, same):
    """Exactly: E[τ] at 1 and 2 from the law at 3. The last rule is the negative control."""
    survival = np.array([sum(exact.length_pmf(rule, pair, gamma=3)[i:]) for i in range(1, 4)], dtype=object)
    for gamma in (1, 2):
        true = sum(k * mass for k, mass in enumerate(exact.length_pmf(rule, pair, gamma=gamma)))
        assert (prediction.from_survival("observed", survival, gamma) == true) == same


def test_censored_steps_and_drafts_of_different_lengths_count_as_in_the_rates():
    counted = Counts.of([0, 1, 2, 1], drafted=[2, 2, 3, 1], censored=[False, True, True, False])
    assert counts.conditional_rates(counted) == (F(3, 4), F(1), None)
    table = counts.predict(counted, [2, 3], resamples=20)
    assert of(table, "observed", 2)["mean_accepted"] == F(3, 2)
    assert of(table, "last_rate", 3)["mean_accepted"] == F(9, 4)
    certain = counts.predict(Counts.from_histogram([3, 1, 0, 0]), [3, 9], resamples=20)  # no step came to position 3
    assert certain["mean_accepted"].tolist()[:3] == [F(1, 4)] * 3
    assert certain["possible_high"].tolist() == [F(1, 4)] * 4


# --- intervals --------------------------------------------------------------------------------------------------------


def test_ends_of_a_mean_go_to_ends():
    totals = Totals(120, 360, 192, gamma=3)
    ends = counts.interval(counts.mean_accepted, totals)
    table = counts.predict(totals, [2, 5])
    for row in table.to_dict("records"):
        for end in ("low", "high"):
            shifted = prediction.from_mean(row["model"], getattr(ends, end), 3, row["gamma"])
            assert row[f"mean_accepted_{end}"] == pytest.approx(shifted, abs=1e-12)
        assert row["how"] == ends.how
        assert row["mean_accepted_low"] <= row["mean_accepted"] <= row["mean_accepted_high"]


def test_a_mean_of_unknown_size_has_no_interval():
    table = counts.predict(MeanLength(F("1.6"), 3), 2)
    assert table["mean_accepted_low"].isna().all()
    assert table["mean_accepted_high"].isna().all()
    assert set(table["how"]) == {"an interval is not known: a mean length at 3 drafted tokens does not say over how many steps"}
    assert table["mean_accepted"].tolist()[1:] == [F("1.6"), F(16, 15)]


def test_the_bootstrap_of_a_prediction_is_that_of_what_it_predicts():
    """At γ = 2 the prediction is a mean of min(τ, 2), whose normal interval differs little from the bootstrap's at 1200 steps."""
    counted = Counts.from_histogram([400, 300, 200, 300])
    row = counts.predict(counted, 2).iloc[0]
    cut = np.minimum(counted.accepted, 2)
    half = 1.96 * cut.std() / np.sqrt(len(cut))
    assert row["mean_accepted_low"] == pytest.approx(cut.mean() - half, abs=half / 5)
    assert row["mean_accepted_high"] == pytest.approx(cut.mean() + half, abs=half / 5)
    assert row["how"] == "bootstrap over 1200 steps as if independent, 95%"


def test_requests_are_the_units_where_they_are_known():
    counted = Counts.of([3] * 50 + [0] * 50, drafted=3, request=np.repeat([0, 1], 50))
    by_request, by_step = (counts.predict(counted, 2, over=over).iloc[0] for over in (None, "steps"))
    assert (by_request["mean_accepted_low"], by_request["mean_accepted_high"]) == (0, 2)
    assert by_step["mean_accepted_high"] - by_step["mean_accepted_low"] < 0.5
    assert by_request["how"] == "bootstrap over 2 requests, 95%"


def test_one_gamma_or_several():
    pd.testing.assert_frame_equal(counts.predict(HISTOGRAM, np.int64(2)), counts.predict(HISTOGRAM, (2,)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: counts.predict(HISTOGRAM, 0), r"^gammas\[0\] = 0: must be a whole number"),
        (lambda: counts.predict(HISTOGRAM, [2, 2.5]), r"^gammas\[1\] = 2.5"),
        (lambda: counts.predict(HISTOGRAM, []), r"^gammas is empty"),
        (lambda: counts.predict(HISTOGRAM, 2, confidence=95), r"^confidence = 95"),
        (lambda: counts.predict(MeanLength(1, 2), 2, confidence=95), r"^confidence = 95"),
        (lambda: counts.predict(HISTOGRAM, 2, over="tokens"), r"^over = 'tokens': must be one of steps, requests"),
        (lambda: counts.predict(HISTOGRAM, 2, over="requests"), r"^over = 'requests': which request a step was of is not known"),
        (lambda: counts.predict(Totals(120, 480, 301), 2, over="requests"), r"^over = 'requests': which request"),
        (lambda: counts.predict(Totals(120, 470, 301), 2), r"^drafted = 470: is no multiple"),
        (lambda: counts.predict(Counts.of([0], drafted=2, censored=[True]), 2), r"^counts has no verdict at position 1"),
        (lambda: counts.predict(Counts.of([], drafted=2), 2), r"^counts has 0 steps"),
        (lambda: counts.predict([1, 2], 2), r"^counts = \[1, 2\]: must be Counts"),
        (lambda: prediction.from_mean("observed", 1.0, 2, 2), r"^model = 'observed': must be 'constant'"),
        (lambda: prediction.from_survival("observed", np.array([0.5]), 2), r"^gamma = 2: must be at most 1"),
        (lambda: prediction.from_survival("least_variance", np.array([0.5]), 2), r"^model = 'least_variance'"),
    ],
)
def test_bad_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()
