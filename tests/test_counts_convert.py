"""Conditional and unconditional rates, and tokens per call from either."""

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theory
from theory import counts
from theory.counts import Counts

CONDITIONAL = [F("0.8"), F("0.6"), F("0.3")]


def test_conditional_and_unconditional_rates_give_other_tokens_per_call():
    assert counts.tokens_per_call_from_conditional(CONDITIONAL) == F("2.424")
    assert counts.tokens_per_call_from_unconditional(CONDITIONAL) == F("2.7")
    products = counts.unconditional_from_conditional(CONDITIONAL)
    assert products == (F("0.8"), F("0.48"), F("0.144"))
    assert counts.tokens_per_call_from_unconditional(products) == F("2.424")
    assert counts.conditional_from_unconditional(products) == tuple(CONDITIONAL)
    assert counts.tokens_per_call_from_conditional(np.array([0.8, 0.6, 0.3])) == pytest.approx(2.424, rel=1e-15)


def test_contexts_that_differ_emit_more_than_their_mean_rate_says():
    rates = [F(1), F("0.3")]
    assert counts.tokens_per_call_over_contexts(rates, 5) == F("3.713765")
    at_mean = counts.tokens_per_call_over_contexts([sum(rates) / 2], 5)
    assert at_mean == sum(F("0.65") ** k for k in range(6))
    assert round(float(at_mean), 5) == 2.64166
    assert F("3.713765") == theory.block_efficiency(np.array(rates, dtype=object), 5).sum() / 2
    assert at_mean == theory.block_efficiency(np.array(F("0.65"), dtype=object), 5)


def test_counts_of_such_contexts_show_it_too():
    rejected_at = [70000, 21000, 6300, 1890, 567, 243]  # of 100 000 steps at 0.3, in exact proportion
    counted = Counts.of(np.repeat([*range(6), 5], [*rejected_at, 100000]), drafted=5)
    assert counts.block_efficiency(counted) == F("3.713765")
    assert counts.tokens_per_call_from_conditional(counts.conditional_rates(counted)) == F("3.713765")
    rates = counts.conditional_rates(counted)
    assert rates[0] == F("0.65")
    assert list(rates) == sorted(rates)  # the contexts that survive are the easy ones
    pooled = counts.conditional_acceptance_rate(counted)  # one rate for all positions does not give it back
    assert counts.tokens_per_call_over_contexts([pooled], 5) != F("3.713765")


@given(st.lists(st.fractions(0, 1, max_denominator=9), min_size=1, max_size=6))
def test_the_conversions_are_inverse(conditional):
    products = counts.unconditional_from_conditional(conditional)
    assert counts.unconditional_from_conditional(counts.conditional_from_unconditional(products)) == products
    if 0 not in conditional[:-1]:
        assert counts.conditional_from_unconditional(products) == tuple(conditional)
    assert 1 <= counts.tokens_per_call_from_conditional(conditional) <= len(conditional) + 1


@given(st.lists(st.fractions(0, 1, max_denominator=9), min_size=1, max_size=4), st.integers(1, 5))
def test_a_mean_rate_never_says_more_than_the_contexts(rates, gamma):
    mean = sum(rates) / len(rates)
    assert counts.tokens_per_call_over_contexts([mean], gamma) <= counts.tokens_per_call_over_contexts(rates, gamma)
    constant = counts.tokens_per_call_from_conditional([mean] * gamma)
    assert constant == counts.tokens_per_call_over_contexts([mean], gamma)


FROM_RATES = {
    "conditional": (counts.unconditional_from_conditional, counts.tokens_per_call_from_conditional),
    "unconditional": (counts.conditional_from_unconditional, counts.tokens_per_call_from_unconditional),
    "acceptance_rates": (lambda rates: counts.tokens_per_call_over_contexts(rates, 2),),
}


@pytest.mark.parametrize(("name", "function"), [(name, f) for name, functions in FROM_RATES.items() for f in functions])
@pytest.mark.parametrize(
    ("rates", "message"),
    [
        ([], " has 0 entries"),
        (0.5, " = 0.5: must be a sequence"),
        ("0.5", " = '0.5': must be a sequence"),
        (np.array(0.5), " = array.*: must be a sequence"),
        ([0.5, 1.5], r"\[1\] = 1.5: must be a number in \[0, 1\]"),
        ([-0.5], r"\[0\] = -0.5: must be"),
        ([float("nan")], r"\[0\] = nan: must be"),
        ([True], r"\[0\] = True: must be"),
        (["a"], r"\[0\] = 'a': must be"),
        ([0.5, None], r"\[1\] = None: (must be|a position that is reached)"),
    ],
)
def test_bad_rates(name, function, rates, message):
    with pytest.raises(ValueError, match=f"^{name}{message}"):
        function(rates)


def test_rates_that_rise_and_gamma():
    for function in FROM_RATES["unconditional"]:
        with pytest.raises(ValueError, match=r"^unconditional\[1\] = 0.8: must be at most 0.6, .* conditional"):
            function([0.6, 0.8])
    for gamma in (0, 1.0, True, -1):
        with pytest.raises(ValueError, match=r"^gamma = "):
            counts.tokens_per_call_over_contexts([0.5], gamma)
