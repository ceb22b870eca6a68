"""Statistics of accept counts: the numbers of the arguments, the identities between them, censoring, and clear errors."""

from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import theory
from theory.blocks import statistics
from theory.blocks.statistics import Counts

CONDITIONAL = [F("0.8"), F("0.6"), F("0.3")]
ONE_NUMBER = [
    statistics.acceptance_rate,
    statistics.conditional_acceptance_rate,
    statistics.mean_accepted,
    statistics.block_efficiency,
]
REQUESTS = Counts.of([3] * 100 + [0] * 10, drafted=4, request=["long"] * 100 + ["short"] * 10)


@st.composite
def counts(draw, *, same_gamma=False, censored=True, stopped=True, least=1):
    """Draw a few steps of a few requests, censored and stopped where that is allowed."""
    gamma = draw(st.integers(1, 5))
    rows = []
    for _ in range(draw(st.integers(least, 12))):
        drafted = gamma if same_gamma else draw(st.integers(0, gamma))
        accepted = draw(st.integers(0, drafted))
        unseen = censored and draw(st.booleans())
        emitted = draw(st.integers(0, accepted + 1)) if stopped else accepted + 1
        rows.append((drafted, accepted, emitted, unseen, draw(st.integers(-1, 2))))
    return Counts(*(np.array(column) for column in zip(*rows, strict=True)))


def padded(flags, gamma):
    """The indicators [accepted >= i], by the definition in plain Python."""
    kept = []
    for flag in flags:
        if not flag:
            break
        kept.append(1)
    return kept + [0] * (gamma - len(kept))


# --- the numbers people argue about -----------------------------------------------------------------------------------


def test_only_the_prefix_before_the_first_0_is_accepted():
    assert Counts.from_flags([(1, 0, 1)]).accepted.tolist() == [1]
    assert Counts.from_flags([(1, 0, 1)]).accepted.tolist() != [sum((1, 0, 1))]


def test_gamma_2_with_0_1_2_accepted():
    counted = Counts.of([0, 1, 2], drafted=2)
    assert statistics.mean_accepted(counted) == 1
    assert statistics.block_efficiency(counted) == 2
    assert statistics.acceptance_rate(counted) == F(1, 2)
    assert statistics.conditional_acceptance_rate(counted) == F(3, 5)
    assert statistics.unconditional_rates(counted) == (F(2, 3), F(1, 3))
    assert statistics.conditional_rates(counted) == (F(2, 3), F(1, 2))


def test_a_stop_truncates_what_is_emitted_and_not_what_is_accepted():
    whole = Counts.of([3, 4], drafted=4)
    stopped = Counts.of([3, 4], drafted=4, emitted=[4, 2])
    for statistic in (statistics.acceptance_rate, statistics.mean_accepted, statistics.conditional_acceptance_rate):
        assert statistic(stopped) == statistic(whole)
    assert statistics.conditional_rates(stopped) == statistics.conditional_rates(whole)
    assert statistics.block_efficiency(whole) == F(9, 2)
    assert statistics.block_efficiency(stopped) == 3
    assert statistics.mean_accepted(stopped) == F(7, 2)


def test_a_text_that_ends_after_4_of_4_matches_is_no_rejection():
    ended = Counts.of([4], drafted=8, censored=[True])
    assert statistics.conditional_rates(ended) == (1, 1, 1, 1, None, None, None, None)
    assert statistics.conditional_acceptance_rate(ended) == 1
    rejected = Counts.of([4], drafted=8)
    assert statistics.conditional_rates(rejected) == (1, 1, 1, 1, 0, None, None, None)
    assert statistics.conditional_acceptance_rate(rejected) == F(4, 5)
    for all_drafted in (Counts.of([4], drafted=4, censored=[True]), Counts.of([4], drafted=4)):
        assert statistics.conditional_rates(all_drafted) == (1, 1, 1, 1)
    assert ended.emitted.tolist() == [4]  # the text ended: no token of the target's own
    assert rejected.emitted.tolist() == [5]


def test_conditional_and_unconditional_rates_give_other_tokens_per_call():
    assert statistics.tokens_per_call_from_conditional(CONDITIONAL) == F("2.424")
    assert statistics.tokens_per_call_from_unconditional(CONDITIONAL) == F("2.7")
    products = statistics.unconditional_from_conditional(CONDITIONAL)
    assert products == (F("0.8"), F("0.48"), F("0.144"))
    assert statistics.tokens_per_call_from_unconditional(products) == F("2.424")
    assert statistics.conditional_from_unconditional(products) == tuple(CONDITIONAL)
    assert statistics.tokens_per_call_from_conditional(np.array([0.8, 0.6, 0.3])) == pytest.approx(2.424, rel=1e-15)


def test_contexts_that_differ_emit_more_than_their_mean_rate_says():
    rates = [F(1), F("0.3")]
    assert statistics.tokens_per_call_over_contexts(rates, 5) == F("3.713765")
    at_mean = statistics.tokens_per_call_over_contexts([sum(rates) / 2], 5)
    assert at_mean == sum(F("0.65") ** k for k in range(6))
    assert round(float(at_mean), 5) == 2.64166
    assert F("3.713765") == theory.block_efficiency(np.array(rates, dtype=object), 5).sum() / 2
    assert at_mean == theory.block_efficiency(np.array(F("0.65"), dtype=object), 5)


def test_counts_of_such_contexts_show_it_too():
    rejected_at = [70000, 21000, 6300, 1890, 567, 243]  # of 100 000 steps at 0.3, in exact proportion
    counted = Counts.of(np.repeat([*range(6), 5], [*rejected_at, 100000]), drafted=5)
    assert statistics.block_efficiency(counted) == F("3.713765")
    assert statistics.tokens_per_call_from_conditional(statistics.conditional_rates(counted)) == F("3.713765")
    rates = statistics.conditional_rates(counted)
    assert rates[0] == F("0.65")
    assert list(rates) == sorted(rates)  # the contexts that survive are the easy ones
    pooled = statistics.conditional_acceptance_rate(counted)  # one rate for all positions does not give it back
    assert statistics.tokens_per_call_over_contexts([pooled], 5) != F("3.713765")


def test_pooled_and_per_request():
    assert statistics.block_efficiency(REQUESTS) == F(41, 11)
    assert statistics.per_request_mean(statistics.block_efficiency, REQUESTS) == F(5, 2)


def test_summary():
    table = statistics.summary(REQUESTS)
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
    table = statistics.summary(Counts.of([1, 0], drafted=[2, 0], request=[0, 1]))
    assert table["acceptance_rate"].tolist() == [F(1, 2), None]
    assert table["mean_accepted"].tolist() == [F(1, 2), F(1, 2)]
    table = statistics.summary(Counts.of([2, 0], drafted=2, censored=[False, True], request=[0, 1]))
    assert table["conditional_acceptance_rate"].tolist() == [1, None]
    assert table["censored"].tolist() == table["truncated"].tolist() == [F(1, 2), F(1, 2)]


def test_position_table():
    counted = Counts.of([0, 1, 2, 0], drafted=[2, 3, 2, 0], censored=[False, True, False, False])
    table = statistics.position_rates(counted)
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


# --- identities -------------------------------------------------------------------------------------------------------


@given(counts(censored=False, stopped=False))
def test_block_efficiency_is_mean_accepted_plus_1_if_nothing_is_cut_short(counted):
    assert statistics.block_efficiency(counted) == statistics.mean_accepted(counted) + 1


@given(counts())
def test_block_efficiency_is_never_more_than_that(counted):
    missing = F(int((counted.accepted + 1 - counted.emitted).sum()), len(counted))
    assert statistics.block_efficiency(counted) == statistics.mean_accepted(counted) + 1 - missing
    assert statistics.block_efficiency(counted) <= statistics.mean_accepted(counted) + 1


@given(counts(same_gamma=True))
def test_unconditional_rates_add_up_to_the_mean_accepted_length(counted):
    gamma = int(counted.drafted[0])
    assert sum(statistics.unconditional_rates(counted)) == statistics.mean_accepted(counted)
    assert statistics.tokens_per_call_from_unconditional(statistics.unconditional_rates(counted)) == (
        statistics.mean_accepted(counted) + 1
    )
    assert statistics.acceptance_rate(counted) == statistics.mean_accepted(counted) / gamma


def test_they_do_not_where_drafts_differ_in_length():
    counted = Counts.of([0, 2], drafted=[1, 2])
    assert sum(statistics.unconditional_rates(counted)) == F(3, 2)
    assert statistics.mean_accepted(counted) == 1


@given(counts(same_gamma=True, censored=False))
def test_products_of_conditional_rates_are_the_unconditional_ones(counted):
    conditional, unconditional = statistics.conditional_rates(counted), statistics.unconditional_rates(counted)
    assert statistics.unconditional_from_conditional(conditional) == unconditional
    assert statistics.conditional_from_unconditional(unconditional) == conditional
    assert statistics.tokens_per_call_from_conditional(conditional) == statistics.mean_accepted(counted) + 1


def test_they_are_not_where_something_is_censored():
    counted = Counts.of([0, 1, 2], drafted=2, censored=[False, True, False])
    assert statistics.unconditional_from_conditional(statistics.conditional_rates(counted)) == (F(2, 3), F(2, 3))
    assert statistics.unconditional_rates(counted) == (F(2, 3), F(1, 3))


@given(st.lists(st.fractions(0, 1, max_denominator=9), min_size=1, max_size=6))
def test_the_conversions_are_inverse(conditional):
    products = statistics.unconditional_from_conditional(conditional)
    assert statistics.unconditional_from_conditional(statistics.conditional_from_unconditional(products)) == products
    if 0 not in conditional[:-1]:
        assert statistics.conditional_from_unconditional(products) == tuple(conditional)
    assert 1 <= statistics.tokens_per_call_from_conditional(conditional) <= len(conditional) + 1


@given(counts())
def test_pooled_means_are_the_step_weighted_means_over_requests(counted):
    requests = counted.by_request()
    assert sum(len(steps) for steps in requests.values()) == len(counted)
    for statistic in (statistics.mean_accepted, statistics.block_efficiency):
        weighted = sum(len(steps) * statistic(steps) for steps in requests.values()) / len(counted)
        assert weighted == statistic(counted)
        assert statistics.per_request_mean(statistic, counted) == sum(map(statistic, requests.values())) / len(requests)


@given(counts(same_gamma=True))
def test_a_pooled_rate_is_weighted_by_what_was_proposed(counted):
    requests = counted.by_request().values()
    weighted = sum(int(steps.drafted.sum()) * statistics.acceptance_rate(steps) for steps in requests)
    assert weighted / int(counted.drafted.sum()) == statistics.acceptance_rate(counted)
    for label, steps in counted.by_request().items():
        assert set(steps.request.tolist()) == {label}


@given(counts(same_gamma=True))
def test_censoring_every_last_verdict_leaves_no_rejection(counted):
    hidden = Counts(counted.drafted, counted.accepted, counted.emitted, np.full(len(counted), True), counted.request)
    before, after = statistics.position_rates(counted), statistics.position_rates(hidden)
    assert (after["observed"] == after["accepted"]).all()
    assert set(after["conditional"]) <= {F(1), None}
    seen = (counted.accepted < counted.drafted) & ~counted.censored
    removed = [int((seen & (counted.accepted == i)).sum()) for i in range(len(before))]
    assert (before["observed"] - after["observed"]).tolist() == removed
    same = ["position", "proposed", "accepted", "unconditional"]
    pd.testing.assert_frame_equal(before[same], after[same])


@given(st.lists(st.lists(st.booleans(), max_size=6), min_size=1, max_size=8).filter(any))
def test_flags_by_the_definition(flags):
    counted = Counts.from_flags(flags)
    gamma = max(map(len, flags))
    kept = [padded(row, gamma) for row in flags]
    assert counted.accepted.tolist() == [sum(row) for row in kept]
    assert counted.drafted.tolist() == [len(row) for row in flags]
    assert not counted.censored.any()
    for i, row in enumerate(statistics.position_rates(counted).to_dict("records")):
        proposed = [k for k, row_flags in enumerate(flags) if len(row_flags) > i]
        reached = [k for k in proposed if all(flags[k][:i])]
        assert row["unconditional"] == F(sum(kept[k][i] for k in proposed), len(proposed))
        assert row["conditional"] == (F(sum(flags[k][i] for k in reached), len(reached)) if reached else None)
    judged = sum(min(sum(kept[k]) + 1, len(row)) for k, row in enumerate(flags))
    assert statistics.conditional_acceptance_rate(counted) == F(sum(map(sum, kept)), judged)
    assert statistics.conditional_acceptance_rate(counted) >= statistics.acceptance_rate(counted)


@given(counts(least=2), st.randoms())
def test_the_order_of_steps_does_not_matter(counted, random):
    order = list(range(len(counted)))
    random.shuffle(order)
    shuffled = counted.select(order)
    pd.testing.assert_frame_equal(statistics.summary(shuffled), statistics.summary(counted))


@given(st.lists(st.fractions(0, 1, max_denominator=9), min_size=1, max_size=4), st.integers(1, 5))
def test_a_mean_rate_never_says_more_than_the_contexts(rates, gamma):
    mean = sum(rates) / len(rates)
    assert statistics.tokens_per_call_over_contexts([mean], gamma) <= statistics.tokens_per_call_over_contexts(rates, gamma)
    constant = statistics.tokens_per_call_from_conditional([mean] * gamma)
    assert constant == statistics.tokens_per_call_over_contexts([mean], gamma)


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
    table = statistics.position_rates(simulated())
    for row in table.to_dict("records"):
        test = scipy.stats.binomtest(row["accepted"], row["observed"], ALPHA)
        assert test.pvalue > 1e-9 / (GAMMA + 1), row
    verdicts = int(table["observed"].sum())
    test = scipy.stats.binomtest(int(table["accepted"].sum()), verdicts, ALPHA)
    assert statistics.conditional_acceptance_rate(simulated()) == F(int(table["accepted"].sum()), verdicts)
    assert test.pvalue > 1e-9 / (GAMMA + 1)


def test_censored_steps_counted_as_rejections_are_biased():
    """The negative control: the same test on the naive rate must fail, at each position at which a text can end."""
    counted = simulated()
    naive = statistics.position_rates(Counts.of(counted.accepted, drafted=counted.drafted))
    assert naive["observed"][0] == STEPS
    for row in naive.to_dict("records")[1:]:
        assert scipy.stats.binomtest(row["accepted"], row["observed"], ALPHA, alternative="less").pvalue < 1e-9, row
    survived = statistics.tokens_per_call_from_conditional(statistics.conditional_rates(counted))
    biased = statistics.tokens_per_call_from_conditional(naive["conditional"])
    assert biased < survived
    assert biased == statistics.mean_accepted(counted) + 1  # a lower bound, as documented


# --- construction and errors ------------------------------------------------------------------------------------------


def test_fields_are_read_only_copies():
    accepted = np.array([1, 2], dtype=np.uint8)
    counted = Counts.of(accepted, drafted=[2, 2])
    accepted[:] = 0
    assert counted.accepted.tolist() == [1, 2]
    assert {counted.accepted.dtype, counted.drafted.dtype, counted.emitted.dtype} == {np.dtype(np.int64)}
    with pytest.raises(ValueError, match="read-only"):
        counted.accepted[0] = 0
    with pytest.raises(AttributeError):
        counted.accepted = accepted


def test_what_is_taken():
    table = pd.DataFrame({"a": [1, 0], "d": [2, 2], "e": [2, 1], "c": [False, True], "r": ["x", "y"]})
    counted = Counts(table["d"], table["a"], table["e"], table["c"], table["r"])
    assert list(counted.by_request()) == ["x", "y"]
    assert Counts.of(pd.Series([1, 0], dtype=object), drafted=2, censored=[0, 1]).censored.tolist() == [False, True]
    assert Counts.from_flags(np.eye(3, dtype=int)).accepted.tolist() == [1, 0, 0]
    assert Counts.from_flags(iter([np.array([True, True]), []])).drafted.tolist() == [2, 0]
    short = Counts.from_flags([(1, 0), (1, 1), (1,)], drafted=[4, 2, 4], censored=[False, True, True])
    assert short.emitted.tolist() == [2, 2, 1]
    assert Counts.from_flags([(1, 0), (1, 1)], drafted=4).censored.tolist() == [False, True]
    assert len(Counts.of([], drafted=2)) == len(Counts.from_flags([])) == len(REQUESTS.select([])) == 0
    assert Counts.of([], drafted=2).by_request() == {}
    assert statistics.unconditional_from_conditional([0, None]) == (0, 0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Counts.of([0, 3], drafted=2), r"^accepted\[1\] = 3: must be in 0\.\.2"),
        (lambda: Counts.of([0, -1], drafted=2), r"^accepted\[1\] = -1: must be in 0\.\."),
        (lambda: Counts.of([0, 1.5], drafted=2), r"^accepted\[0\] = 0\.0: must be a whole number"),
        (lambda: Counts.of([True], drafted=2), r"^accepted\[0\] = True: must be a whole number; Counts\.from_flags"),
        (lambda: Counts.of([1, None], drafted=2), r"^accepted\[1\] = None: must be a whole number"),
        (lambda: Counts.of([2**80], drafted=2), r"^accepted\[0\] = 1208925819614629174706176: must be in 0"),
        (lambda: Counts.of([[0, 1]], drafted=2), r"^accepted has shape \(1, 2\)"),
        (lambda: Counts.of([[0], [0, 1]], drafted=2), r"^accepted holds rows of unequal lengths"),
        (lambda: Counts.of(3, drafted=4), r"^accepted has shape \(\)"),
        (lambda: Counts.of(["a"], drafted=4), r"^accepted\[0\] = 'a'"),
        (lambda: Counts.of([1], drafted=0), r"^drafted = 0: must be a whole number of at least 1"),
        (lambda: Counts.of([1], drafted=2.0), r"^drafted = 2\.0: must be a whole number"),
        (lambda: Counts.of([1], drafted=True), r"^drafted = True: must be a whole number"),
        (lambda: Counts.of([1], drafted=None), r"^drafted has shape \(\)"),
        (lambda: Counts.of([1], drafted=[2, 2]), r"^drafted has 2 entries and accepted has 1"),
        (lambda: Counts.of([1], drafted=[-2]), r"^drafted\[0\] = -2: must be in 0"),
        (lambda: Counts.of([1, 1], drafted=2, emitted=[2, 3]), r"^emitted\[1\] = 3: must be in 0\.\.2"),
        (lambda: Counts.of([1], drafted=2, emitted=[2, 2]), r"^emitted has 2 entries and drafted has 1"),
        (lambda: Counts.of([1], drafted=2, emitted=[-1]), r"^emitted\[0\] = -1"),
        (lambda: Counts.of([1], drafted=2, censored=[True, False]), r"^censored has 2 entries and accepted has 1"),
        (lambda: Counts.of([1, 1], drafted=2, censored=[1, 2]), r"^censored\[1\] = 2: must be True or False"),
        (lambda: Counts.of([1], drafted=2, censored=[None]), r"^censored\[0\] = None: must be True or False"),
        (lambda: Counts.of([1], drafted=2, censored=True), r"^censored has shape \(\)"),
        (lambda: Counts.of([1], drafted=2, request=[0, 1]), r"^request has 2 entries and drafted has 1"),
        (lambda: Counts.of([1], drafted=2, request=[0.5]), r"^request\[0\] = 0\.5: labels must be"),
        (lambda: Counts.of([1, 1], drafted=2, request=["a", None]), r"^request\[1\] = None: labels must be"),
        (lambda: Counts([2], [1, 1], [2], [False], [0]), r"^accepted has 2 entries and drafted has 1"),
        (lambda: Counts.from_flags([(1, 0), (1, 2)]), r"^flags\[1\]\[1\] = 2: must be 0 or 1"),
        (lambda: Counts.from_flags([(1, 0.0)]), r"^flags\[0\]\[1\] = 0\.0: must be 0 or 1"),
        (lambda: Counts.from_flags([(1, None)]), r"^flags\[0\]\[1\] = None: must be 0 or 1"),
        (lambda: Counts.from_flags((1, 0, 1)), r"^flags\[0\] = 1: must be a row of flags"),
        (lambda: Counts.from_flags(["101"]), r"^flags\[0\] = '101': must be a row of flags"),
        (lambda: Counts.from_flags(1), r"^flags = 1: must be a sequence"),
        (lambda: Counts.from_flags([(1, 1)], drafted=1), r"^the number of flags\[0\] = 2: must be in 0\.\.1"),
        (lambda: Counts.from_flags([(1, 1)], drafted=[2, 2]), r"^drafted has 2 entries and flags has 1"),
        (lambda: Counts.from_flags([(1, 0)], drafted=0), r"^drafted = 0"),
        (lambda: Counts.from_flags([(1, 1)], censored=[False, False]), r"^censored has 2 entries and flags has 1"),
        (lambda: Counts.from_flags([(1,), (1, 0)], censored=[0, 1]), r"^censored\[1\] = True: must be False, since flags\[1\]"),
        (lambda: Counts.from_flags([(1,)], drafted=2, censored=[False]), r"^censored\[0\] = False: must be True, since flags"),
        (lambda: REQUESTS.select([110]), r"^steps = 110\.\.110: must be indices in 0\.\.109"),
        (lambda: REQUESTS.select([-1]), r"^steps = -1\.\.-1"),
        (lambda: REQUESTS.select([True]), r"^steps has 1 entries and counts has 110"),
        (lambda: REQUESTS.select([0.5]), r"^steps has shape \(1,\) and dtype float64"),
        (lambda: REQUESTS.select(0), r"^steps has shape \(\)"),
    ],
)
def test_bad_counts(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("statistic", [*ONE_NUMBER, statistics.conditional_rates, statistics.unconditional_rates])
def test_nothing_to_average(statistic):
    with pytest.raises(ValueError, match=r"^counts has 0 steps"):
        statistic(Counts.of([], drafted=2))


def test_nothing_to_average_in_tables_and_requests():
    empty = Counts.of([], drafted=2)
    for make in (statistics.summary, statistics.position_rates, lambda c: statistics.per_request_mean(len, c)):
        with pytest.raises(ValueError, match=r"^counts has 0 steps"):
            make(empty)


@pytest.mark.parametrize(
    "statistic",
    [statistics.acceptance_rate, statistics.conditional_rates, statistics.unconditional_rates, statistics.position_rates],
)
def test_nothing_drafted(statistic):
    with pytest.raises(ValueError, match=r"^counts has 2 steps that drafted 0 tokens"):
        statistic(Counts.of([0, 0], drafted=[0, 0]))


def test_no_verdict_and_the_request_that_has_none():
    with pytest.raises(ValueError, match=r"^counts has 1 steps in which no verdict was seen"):
        statistics.conditional_acceptance_rate(Counts.of([0], drafted=2, censored=[True]))
    counted = Counts.of([1, 0], drafted=[2, 0], request=["a", "b"])
    with pytest.raises(ValueError, match=r"^request 'b': counts has 1 steps that drafted 0 tokens"):
        statistics.per_request_mean(statistics.acceptance_rate, counted)
    assert statistics.per_request_mean(statistics.acceptance_rate, counted.select(counted.drafted > 0)) == F(1, 2)


FROM_RATES = {
    "conditional": (statistics.unconditional_from_conditional, statistics.tokens_per_call_from_conditional),
    "unconditional": (statistics.conditional_from_unconditional, statistics.tokens_per_call_from_unconditional),
    "acceptance_rates": (lambda rates: statistics.tokens_per_call_over_contexts(rates, 2),),
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
            statistics.tokens_per_call_over_contexts([0.5], gamma)
