"""What counts as accepted, and what is refused as counts."""

from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.logged import REQUESTS, steps
from theory import counts
from theory.counts import Counts


def padded(flags, gamma):
    """The indicators [accepted >= i], by the definition in plain Python."""
    kept = []
    for flag in flags:
        if not flag:
            break
        kept.append(1)
    return kept + [0] * (gamma - len(kept))


def test_only_the_prefix_before_the_first_0_is_accepted():
    assert Counts.from_flags([(1, 0, 1)]).accepted.tolist() == [1]
    assert Counts.from_flags([(1, 0, 1)]).accepted.tolist() != [sum((1, 0, 1))]


@given(st.lists(st.lists(st.booleans(), max_size=6), min_size=1, max_size=8).filter(any))
def test_flags_by_the_definition(flags):
    counted = Counts.from_flags(flags)
    gamma = max(map(len, flags))
    kept = [padded(row, gamma) for row in flags]
    assert counted.accepted.tolist() == [sum(row) for row in kept]
    assert counted.drafted.tolist() == [len(row) for row in flags]
    assert not counted.censored.any()
    for i, row in enumerate(counts.position_rates(counted).to_dict("records")):
        proposed = [k for k, row_flags in enumerate(flags) if len(row_flags) > i]
        reached = [k for k in proposed if all(flags[k][:i])]
        assert row["unconditional"] == F(sum(kept[k][i] for k in proposed), len(proposed))
        assert row["conditional"] == (F(sum(flags[k][i] for k in reached), len(reached)) if reached else None)
    judged = sum(min(sum(kept[k]) + 1, len(row)) for k, row in enumerate(flags))
    assert counts.conditional_acceptance_rate(counted) == F(sum(map(sum, kept)), judged)
    assert counts.conditional_acceptance_rate(counted) >= counts.acceptance_rate(counted)


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
    assert counts.unconditional_from_conditional([0, None]) == (0, 0)


# --- histograms and totals by position --------------------------------------------------------------------------------


@given(steps(same_gamma=True, censored=False, stopped=False))
def test_a_histogram_and_totals_by_position_hold_the_same_steps(counted):
    gamma = int(counted.drafted[0])
    lengths = counted.accepted.tolist()
    histogram = [lengths.count(k) for k in range(gamma + 1)]
    by_position = [sum(length >= i for length in lengths) for i in range(1, gamma + 1)]
    for same in (
        Counts.from_histogram(histogram),
        Counts.from_positions(by_position, drafts=len(lengths)),
        Counts.from_positions(by_position, drafts=len(lengths), drafted=gamma * len(lengths)),
    ):
        assert same.accepted.tolist() == sorted(lengths)
        assert set(same.drafted.tolist()) == {gamma}
        assert (same.emitted == same.accepted + 1).all()
        assert same.request is None
        assert not same.censored.any()
        pd.testing.assert_frame_equal(counts.position_rates(same), counts.position_rates(counted))
        whole, part = (counts.summary(c).iloc[0].drop("requests") for c in (counted, same))
        assert whole.to_dict() == part.to_dict()


def test_unknown_requests():
    unknown = Counts.from_histogram([1, 2, 3])
    assert counts.summary(unknown)["requests"].tolist() == [None, None]
    assert counts.summary(unknown)["mean_accepted"].tolist() == [F(4, 3), None]
    assert unknown.select([0, 5]).request is None
    for needs in (unknown.by_request, lambda: counts.per_request_mean(counts.mean_accepted, unknown)):
        with pytest.raises(ValueError, match=r"^request = None: which request a step was of is not known"):
            needs()


def test_a_longer_draft_is_taken_where_it_is_said_to_be_one():
    long = Counts.of([180, 200], drafted=[289, 300], longest=300, request=[0, 1])
    assert long.drafted.tolist() == [289, 300]
    assert long.select([1]).accepted.tolist() == [200]
    assert long.by_request()[0].drafted.tolist() == [289]
    assert Counts.from_flags([[1] * 300]).accepted.tolist() == [300]
    assert Counts.of([256], drafted=256).drafted.tolist() == [256]
    assert counts.mean_accepted(Counts.from_histogram([0] * 300 + [1])) == 300


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Counts.of([180], drafted=[289]),
            r"^drafted\[0\] = 289: must be in 0\.\.256, .* Counts\.from_totals, and longest=289 says",
        ),
        (lambda: Counts.of([180], drafted=289), r"^drafted\[0\] = 289: .* Counts\.from_totals"),
        (lambda: Counts([4, 289], [1, 180], [2, 181], [0, 0], [0, 0]), r"^drafted\[1\] = 289"),
        (lambda: Counts.of([3], drafted=4, longest=0), r"^longest = 0"),
        (lambda: Counts.of([3], drafted=4, longest=65537), r"^longest = 65537: must be a number in \[1, 65536\]"),
        (lambda: Counts.from_histogram([3]), r"^steps has 1 entries: must have γ \+ 1"),
        (lambda: Counts.from_histogram([0, 0]), r"^steps adds up to 0: must be in 1\.\."),
        (lambda: Counts.from_histogram([2**25, 1]), r"^steps adds up to 33554433"),
        (lambda: Counts.from_histogram([0.5, 0.5]), r"^steps\[0\] = 0.5: must be a whole number"),
        (lambda: Counts.from_histogram([1, -1]), r"^steps\[1\] = -1"),
        (lambda: Counts.from_positions([80, 90], drafts=120), r"^accepted\[1\] = 90: must be in 0\.\.80, .* conditional"),
        (lambda: Counts.from_positions([130, 90], drafts=120), r"^accepted\[0\] = 130: must be in 0\.\.120, the drafts"),
        (lambda: Counts.from_positions([], drafts=120), r"^accepted has 0 entries: must have one a position"),
        (lambda: Counts.from_positions([0.7], drafts=120), r"^accepted\[0\] = 0.7: must be a whole number"),
        (lambda: Counts.from_positions([80], drafts=0), r"^drafts = 0"),
        (lambda: Counts.from_positions([80, 60], drafts=120, drafted=230), r"^drafted = 230: must be 240, drafts = 120 times"),
    ],
)
def test_logs_that_are_mixed_up(make, message):
    with pytest.raises(ValueError, match=message):
        make()


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
