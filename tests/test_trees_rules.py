"""Rules of deterministic candidate trees at one node: published numbers, laws against coins flipped by hand, losslessness.

Random tests against procedures are chi-square tests with fixed seeds, at a failure probability of 1e-9 for the whole file.
"""

import dataclasses
import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theory
from tests import cases, oracles
from tests.oracles_trees import ALL, TYPICAL, branches, entropy, everywhere, exact, exactly, flipped, nodes, nonzero, truncated
from tests.test_monte_carlo import p_value
from theory import testing
from theory.trees import SummedThreshold, TreeCascade, TreeTypical, TruncateFirst, ZeroAndRenormalise
from theory.truncation import MinP

N = 200_000
ALPHA = 1e-9 / 1000  # fewer than a thousand statistics are looked at


# --- published numbers --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "p", "candidates", "induced"),
    [
        (ZeroAndRenormalise(F(1, 2)), exact("1/2", "3/10", "1/5"), [1], ["2/7", "3/5", "4/35"]),
        (ZeroAndRenormalise(F(1, 2)), exact("1/2", "3/10", "1/5"), [1, 2], ["6/35", "3/5", "8/35"]),
        (SummedThreshold(F(1, 2)), exact("1/2", "3/10", "1/5"), [1, 2], ["0", "3/5", "2/5"]),
        (SummedThreshold(1, F(3, 10)), exact("1/2", "3/10", "1/5"), [1, 2], ["0", "1", "0"]),
        (SummedThreshold(F(1, 2), F(3, 10)), exact("1/2", "3/10", "1/5"), [1, 2], ["0", "1", "0"]),
        (ZeroAndRenormalise(F(1, 2)), exact(*cases.GOLDEN_P), [3, 1], ["8/45", "8/15", "4/45", "1/5"]),
        (SummedThreshold(F(1, 2)), exact(*cases.GOLDEN_P), [3, 1], ["2/15", "3/5", "1/15", "1/5"]),
        (TreeCascade(F(1, 2)), exact(*cases.GOLDEN_P), [3, 1], ["0", "1", "0", "0"]),
        (TreeCascade(F(1, 2)), exact(*cases.GOLDEN_P), [3], ["4/9", "1/3", "2/9", "0"]),
        (TreeCascade(F(1, 2), coded=True), exact(*cases.GOLDEN_P), [3], ["4/9", "1/3", "2/9", "0"]),
        (TreeCascade(F(9, 10), coded=True), exact(*cases.GOLDEN_P), [1], ["4/7", "0", "2/7", "1/7"]),
        (TreeTypical(F(1, 4)), exact(*cases.GOLDEN_P), [3, 1], ["0", "1", "0", "0"]),
    ],
)
def test_known_answers(rule, p, candidates, induced):
    assert list(rule.induced(p, candidates)) == list(exact(*induced))
    floats = rule.induced(oracles.as_floats(p), candidates)
    np.testing.assert_allclose(floats, oracles.as_floats(exact(*induced)), rtol=0, atol=1e-15)


def test_lossless_acceptance_of_known_small_case():
    assert ZeroAndRenormalise().acceptance_rate(exact(*cases.GOLDEN_P), [3, 1]) == F(2, 5)
    assert ZeroAndRenormalise().acceptance_rate(exact(1, 0), [0, 1]) == 1


# --- one node -------------------------------------------------------------------------------------------------------------


@exactly
@given(nodes())
def test_law_is_a_law_and_equals_its_coins(rule, node):
    p, candidates = node
    law = rule.outcomes(p, candidates)
    assert law.acceptance.shape == (len(candidates),)
    assert all(0 <= a <= 1 for a in law.acceptance)
    assert law.rejected == 1 - sum(law.acceptance)
    assert all(r >= 0 for r in law.replacement)
    assert sum(law.replacement) == 1
    assert nonzero(branches(rule, p, candidates)) == nonzero(flipped(rule, list(p), candidates))
    induced = rule.induced(p, candidates)
    for token, mass in enumerate(induced):
        assert mass == branches(rule, p, candidates).get((True, token), 0) + law.rejected * law.replacement[token]
    assert sum(induced) == 1
    assert rule.acceptance_rate(p, candidates) == sum(law.acceptance)


@everywhere
@given(nodes(rows=testing.rational_rows))
def test_float_law_equals_its_coins(rule, node):
    p, candidates = node
    row = oracles.as_floats(p)
    law, wanted = branches(rule, row, candidates), flipped(rule, list(p), candidates)
    for key in {*law, *wanted}:
        assert float(law.get(key, 0)) == pytest.approx(float(wanted.get(key, 0)), rel=0, abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@everywhere
@given(data=st.data())
def test_float_laws_are_laws_in_their_own_type(rule, dtype, data):
    p, candidates = data.draw(nodes(rows=lambda size: testing.float_rows(size, dtype)))
    law, induced = rule.outcomes(p, candidates), rule.induced(p, candidates)
    slack = 64 * np.finfo(dtype).eps
    for values in (law.acceptance, law.replacement, induced):
        assert values.dtype == dtype
        assert np.isfinite(values).all()
        assert (values >= 0).all()
    assert 0 <= law.rejected <= 1
    assert abs(law.acceptance.sum(dtype=np.float64) + float(law.rejected) - 1) < slack
    assert abs(law.replacement.sum(dtype=np.float64) - 1) < slack
    assert abs(induced.sum(dtype=np.float64) - 1) < slack
    token = rule.procedure(p, candidates, np.random.default_rng(0), 50).token
    assert ((token >= 0) & (token < p.size)).all()


@everywhere
def test_each_rule_states_its_claims(rule):
    for claim in ("name", "formula", "claim", "source"):
        assert getattr(rule, claim)
    assert hash(dataclasses.replace(rule)) == hash(rule)


@exactly
@given(data=st.data())
def test_lossless_claim_at_one_node_and_its_negative_controls(rule, data):
    if rule.lossless:
        p, candidates = data.draw(nodes())
        assert list(rule.induced(p, candidates)) == list(p)
        assert rule.acceptance_rate(p, candidates) == sum(p[candidates])
    else:
        p = exact(*cases.GOLDEN_P)
        assert any(list(rule.induced(p, list(c))) != list(p) for k in (1, 2) for c in itertools.permutations(range(4), k))


def test_which_rules_claim_to_be_lossless():
    assert [rule for rule in ALL if rule.lossless] == [ZeroAndRenormalise(), SummedThreshold()]


@given(nodes())
def test_the_two_lossless_rules_have_one_law(node):
    assert nonzero(branches(ZeroAndRenormalise(), *node)) == nonzero(branches(SummedThreshold(), *node))


@given(nodes(), st.fractions(F(1, 20), 1, max_denominator=20))
def test_lenience_and_summed_threshold_stay_below_their_ceiling_and_accept_more(node, bar):
    p, candidates = node
    for rule in (ZeroAndRenormalise(bar), SummedThreshold(bar)):
        assert all(pi <= x / bar for pi, x in zip(rule.induced(p, candidates), p, strict=True))
        assert rule.acceptance_rate(p, candidates) >= sum(p[candidates])


@given(nodes(), st.fractions(F(1, 20), 1, max_denominator=20))
def test_summed_threshold_closed_form(node, bar):
    p, candidates = node
    induced, so_far = SummedThreshold(bar).induced(p, candidates), F(0)
    for c in candidates:
        assert induced[c] == min(1, (so_far + p[c]) / bar) - min(1, so_far / bar)
        so_far += p[c]


@given(testing.pairs(), st.fractions(F(1, 20), 1, max_denominator=20))
def test_marginal_over_one_candidate_drawn_from_the_draft(pair, lenience):
    p, q = pair
    rule = ZeroAndRenormalise(lenience)
    averaged = sum(q[c] * rule.induced(p, [c]) for c in range(p.size))
    a = [min(1, x / lenience) for x in p]
    for x in range(p.size):
        others = sum(q[c] * (1 - a[c]) / (1 - p[c]) for c in range(p.size) if c != x and a[c] < 1)
        assert averaged[x] == q[x] * a[x] + p[x] * others


@given(nodes(), st.sampled_from([F(0), F(1, 2), F(3, 5), F(1)]))
def test_printed_and_coded_cascade_accept_alike_and_replace_otherwise(node, p_base):
    printed, coded = (TreeCascade(p_base, coded).outcomes(*node) for coded in (False, True))
    assert list(printed.acceptance) == list(coded.acceptance)
    assert list(printed.replacement) == truncated(list(node[0]), MinP(p_base))
    p = exact("1/2", "1/4", "1/4")
    assert list(TreeCascade(1).induced(p, [1])) == [1, 0, 0]
    assert list(TreeCascade(1, coded=True).induced(p, [1])) == [F(2, 3), 0, F(1, 3)]


# --- typical acceptance -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", TYPICAL, ids=repr)
@given(nodes())
def test_typical_on_fractions_is_exact_or_says_why_not(rule, node):
    p, candidates = node
    try:
        law = branches(rule, p, candidates)
    except ValueError as error:
        assert "irrational threshold" in str(error)  # noqa: PT017  both outcomes are right, by the row
        return
    assert sum(law.values()) == 1
    for key, mass in branches(rule, oracles.as_floats(p), candidates).items():
        assert float(mass) == pytest.approx(float(law.get(key, 0)), rel=0, abs=1e-12)


def test_typical_below_epsilon_is_rational_and_below_an_entropy_threshold_is_not():
    p = exact("7/10", "1/5", "1/10")
    assert TreeTypical(F(1, 4), 1, coded=True).outcomes(p, [1]).acceptance[0] == F(4, 5)
    with pytest.raises(ValueError, match=r"candidate 1 has p = 1/5 below τ = δ exp\(-H\) = 0\.44.*must hold floats"):
        TreeTypical(F(1, 2), 1, coded=True).outcomes(p, [1])


def test_eq_28_is_called_an_indicator_and_is_not():
    row = [0.5, 0.14, 0.09, 0.09, 0.09, 0.09]
    rule = TreeTypical(0.25)
    assert rule.gate().allowed(row).tolist() == [True, True, False, False, False, False]
    assert rule.acceptance_rate(row, [1]) == pytest.approx(0.14 / 0.64 / 0.25)
    assert rule.acceptance_rate(row, [1]) < 1, "1 is in A"
    assert rule.acceptance_rate(row, [0]) == 1
    assert rule.acceptance_rate(row, [2]) == 0


@given(nodes(rows=testing.rational_rows), st.sampled_from([0.05, 0.25, 0.9]))
def test_eq_28_is_the_indicator_iff_the_truncated_target_reaches_its_own_threshold(node, epsilon):
    p, candidates = oracles.as_floats(node[0]), node[1]
    rule = TreeTypical(epsilon)
    allowed, on_set = rule.gate().allowed(p), rule.baseline(p)
    reaches = rule.gate().keep(np.asarray(on_set))
    for c in candidates:
        chance = rule.acceptance_rate(p, [c])
        assert (chance == 0) == (not allowed[c])
        assert (chance == 1) == bool(reaches[c])


def test_the_coded_form_is_no_indicator_either_and_tau_moves_with_the_residual():
    p = np.array([0.5, 0.3, 0.15, 0.05])
    rule = TreeTypical(0.25, coded=True)
    assert not rule.gate().allowed(p)[3]
    law = rule.outcomes(p, [3, 2])
    first = 0.05 / (0.5 * math.exp(-entropy(p)))
    assert 0 < first < 1
    rest = [0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95]
    second = min(1, rest[2] / min(0.25, 0.5 * math.exp(-entropy(rest))))
    np.testing.assert_allclose(law.acceptance, [first, (1 - first) * second], rtol=1e-12)


# --- procedures -------------------------------------------------------------------------------------------------------------

NODES = {
    "golden": (cases.GOLDEN_P, [3, 1]),
    "one candidate": ([F(1, 2), F(3, 10), F(1, 5)], [1]),
    "all candidates": ([F(1, 2), F(3, 10), F(1, 5)], [2, 1, 0]),
    "zeros": ([F(0), F(1, 4), F(3, 4), F(0)], [0, 1]),
    "flat tail": ([F(50, 100), F(14, 100), *[F(9, 100)] * 4], [1, 2, 3]),
    "certain": ([F(0), F(1)], [0, 1]),
    "leaf": ([F(1, 2), F(1, 4), F(1, 4)], []),
}


def counts_of(chosen, size):
    return np.bincount(np.where(chosen.accepted, 0, size) + chosen.token, minlength=2 * size)


@pytest.mark.parametrize("name", NODES)
@everywhere
def test_procedure_follows_the_law_jointly_in_coin_and_token(rule, name):
    p, candidates = NODES[name]
    rng = np.random.default_rng([1, *map(ord, repr(rule) + name)])
    counts = counts_of(rule.procedure(oracles.as_floats(p), candidates, rng, N), len(p))
    law = flipped(rule, p, candidates)
    wanted = [float(law.get((accepted, token), 0)) for accepted in (True, False) for token in range(len(p))]
    assert p_value(counts, wanted) > ALPHA


def test_lossy_procedures_are_told_from_the_target_and_lossless_ones_are_not():
    p, candidates = np.array([0.5, 0.3, 0.15, 0.05]), [2, 1]
    for rule in ALL:
        token = rule.procedure(p, candidates, np.random.default_rng([2, *map(ord, repr(rule))]), N).token
        told = p_value(np.bincount(token, minlength=4), p) < ALPHA
        assert told == (not rule.lossless), rule


def test_procedures_repeat_and_take_fractions():
    for rule in ALL:
        first, again = (rule.procedure(cases.GOLDEN_P, [3, 1], np.random.default_rng(3), 100) for _ in range(2))
        assert (first.token == again.token).all()
        assert (first.accepted == again.accepted).all()
        assert set(first.token[first.accepted]) <= {1, 3}


# --- bad input ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ZeroAndRenormalise(0), r"lenience = 0: must be a number in \(0, 1\]"),
        (lambda: ZeroAndRenormalise(1.5), r"lenience = 1\.5: must be a number in \(0, 1\]"),
        (lambda: TreeCascade(-0.5), r"p_base = -0\.5: must be a number in \[0, 1\]"),
        (lambda: TreeCascade(0.5, coded="yes"), "coded = 'yes': must be True or False"),
        (lambda: TreeTypical(0), r"epsilon = 0: must be a number in \(0, 1\]"),
        (lambda: TreeTypical(0.5, -1), r"delta = -1: must be a number in \(0, inf\)"),
        (lambda: TreeTypical(0.5, coded=1), "coded = 1: must be True or False"),
        (lambda: SummedThreshold(0), r"threshold_acc = 0: must be a number in \(0, 1\]"),
        (lambda: SummedThreshold(1, 2), r"threshold_single = 2: must be a number in \[0, 1\]"),
        (lambda: TruncateFirst(0.5), r"truncation = 0\.5: must be a Truncation"),
        (lambda: TruncateFirst(MinP(0.5), theory.Strict()), r"rule = Strict\(\): must be a CandidateRule"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize(
    ("candidates", "message"),
    [
        ([0, 3], r"candidates\[1\] = 3: tokens are in 0\.\.2"),
        ([-1], r"candidates\[0\] = -1: tokens are in 0\.\.2"),
        ([1, 0, 1], r"candidates\[2\] = 1 stands there twice"),
        ([0.5], r"candidates has dtype float64 and shape \(1,\): must be a list of whole numbers in 0\.\.2"),
        ([[0]], r"candidates has dtype int64 and shape \(1, 1\)"),
        (1, r"candidates has dtype int64 and shape \(\)"),
    ],
)
@everywhere
def test_bad_candidates(rule, candidates, message):
    row = [0.5, 0.25, 0.25]
    for use in (rule.outcomes, rule.induced, rule.acceptance_rate):
        with pytest.raises(ValueError, match=message):
            use(row, candidates)
    with pytest.raises(ValueError, match=message):
        rule.procedure(row, candidates, np.random.default_rng(0), 1)


@everywhere
def test_bad_rows(rule):
    for bad, message in (
        ([0.5, 0.4], r"p sums to 0\.9"),
        ([[0.5, 0.5]], r"p has shape \(1, 2\): one node has one row"),
        ([], "p "),
    ):
        for use in (
            rule.baseline,
            lambda p: rule.outcomes(p, [0]),
            lambda p: rule.procedure(p, [0], np.random.default_rng(0), 1),
        ):
            with pytest.raises(ValueError, match=message):
                use(bad)


@pytest.mark.parametrize("count", [0, 1.5, True])
def test_bad_counts(count):
    with pytest.raises(ValueError, match="size = "):
        ZeroAndRenormalise().procedure([1.0], [0], np.random.default_rng(0), count)
