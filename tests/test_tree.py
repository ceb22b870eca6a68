"""Deterministic candidate trees: published numbers, laws against coins flipped by hand, losslessness, the paper's lemmas.

Random tests against procedures are chi-square tests with fixed seeds, at a failure probability of 1e-9 for the whole file.
"""

import dataclasses
import itertools
import math
import random
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theory
from tests import cases, oracles
from tests.test_monte_carlo import p_value
from theory import testing
from theory.blocks import tree as trees
from theory.blocks.tree import SummedThreshold, Tree, TreeCascade, TreeTypical, TruncateFirst, ZeroAndRenormalise
from theory.truncation import Eta, MinP, TopK

N = 200_000
ALPHA = 1e-9 / 1000  # fewer than a thousand statistics are looked at

RATIONAL = [
    ZeroAndRenormalise(),
    ZeroAndRenormalise(F(1, 2)),
    ZeroAndRenormalise(F(1, 100)),
    TreeCascade(F(1, 2)),
    TreeCascade(F(1, 2), coded=True),
    TreeCascade(F(9, 10), coded=True),
    TreeCascade(1),
    TreeCascade(0),
    SummedThreshold(),
    SummedThreshold(F(1, 2)),
    SummedThreshold(F(3, 4), F(3, 10)),
    SummedThreshold(1, F(1, 5)),
    SummedThreshold(1, 0),
    TruncateFirst(MinP(F(1, 2))),
    TruncateFirst(TopK(2), ZeroAndRenormalise(F(3, 5))),
    TruncateFirst(Eta(F(1, 4)), SummedThreshold()),
]
"""Rational on every row."""

TYPICAL = [
    TreeTypical(F(1, 4)),
    TreeTypical(F(1, 4), coded=True),
    TreeTypical(F(9, 10), 1),
    TreeTypical(F(9, 10), 1, coded=True),
    TreeTypical(F(1, 2), F(3, 2)),
    TreeTypical(F(1, 2), F(3, 2), coded=True),
    TruncateFirst(Eta(F(1, 4)), TreeTypical(F(1, 4), coded=True)),
]
"""Rational on some."""

ALL = [*RATIONAL, *TYPICAL]
exactly = pytest.mark.parametrize("rule", RATIONAL, ids=repr)
everywhere = pytest.mark.parametrize("rule", ALL, ids=repr)


def nodes(max_size=5, rows=testing.rational_rows):
    """A row and distinct candidates, from none to the whole vocabulary, in any order."""
    return st.integers(1, max_size).flatmap(
        lambda size: st.tuples(
            rows(size),
            st.tuples(st.permutations(range(size)), st.integers(0, size)).map(lambda drawn: list(drawn[0][: drawn[1]])),
        )
    )


def exact(*values):
    return np.array([F(value) for value in values], dtype=object)


# --- oracles: coins flipped by hand, on lists -------------------------------------------------------------------------


def entropy(row):
    return -sum(float(x) * math.log(x) for x in row if x > 0)


def truncated(row, truncation):
    return oracles.renormalised([x if a else 0 * x for x, a in zip(row, truncation.allowed(row), strict=True)])


def typical_chance(rule):
    delta = math.sqrt(rule.epsilon) if rule.delta is None else float(rule.delta)

    def chance(row, c):
        threshold = min(float(rule.epsilon), delta * math.exp(-entropy(row)))
        return min(1.0, float(row[c]) / threshold) if float(row[c]) < threshold * (1 - 1e-12) else 1

    return chance


def min_p_chance(rule):
    return lambda row, c: int(row[c] > 0 and row[c] >= rule.p_base * max(row))


def coins(row, candidates, chance, zero, last):
    """EAGLE's loop, both sides of each coin: law of (accepted, token)."""
    row, alive, law = list(row), 1, {}
    for c in candidates:
        accept = chance(row, c)
        law[True, c] = alive * accept
        alive *= 1 - accept
        if alive == 0:
            return law
        if zero:
            row[c] = 0
            row = oracles.renormalised(row)
    for token, mass in enumerate(row if last is None else last):
        law[False, token] = alive * mass
    return law


def one_coin(row, candidates, rule):
    """SGLang's loop: run it for one coin out of each interval on which nothing changes."""
    sums = list(itertools.accumulate((row[c] for c in candidates), initial=0 * row[0]))
    cuts = sorted({0, 1, *(min(1, s / rule.threshold_acc) for s in sums)})
    law = {}
    for low, high in itertools.pairwise(cuts):
        coin, accepted = (low + high) / 2, None
        for c, s in zip(candidates, sums[1:], strict=True):
            if coin < s / rule.threshold_acc or row[c] >= rule.threshold_single:
                accepted = c
                break
        if accepted is not None:
            law[True, accepted] = law.get((True, accepted), 0) + high - low
            continue
        for token, mass in enumerate(oracles.renormalised([0 if t in candidates else x for t, x in enumerate(row)])):
            law[False, token] = law.get((False, token), 0) + (high - low) * mass
    return law


def flipped(rule, row, candidates):
    """Law of (accepted, token) at one node, by hand."""
    match rule:
        case TruncateFirst():
            return flipped(rule.rule, truncated(row, rule.truncation), candidates)
        case ZeroAndRenormalise():
            return coins(row, candidates, lambda rest, c: min(1, rest[c] / rule.lenience), True, None)
        case SummedThreshold():
            return one_coin(row, candidates, rule)
        case TreeCascade(coded=True):
            return coins(row, candidates, min_p_chance(rule), True, None)
        case TreeCascade():
            return coins(row, candidates, min_p_chance(rule), False, truncated(row, rule.gate()))
        case TreeTypical(coded=True):
            return coins(row, candidates, typical_chance(rule), True, None)
        case TreeTypical():
            return coins(truncated(row, rule.gate()), candidates, typical_chance(rule), False, None)


def branches(rule, row, candidates):
    """The same from the rule."""
    law = rule.outcomes(row, candidates)
    taken = {(True, c): a for c, a in zip(candidates, law.acceptance, strict=True)}
    return taken | {(False, token): law.rejected * r for token, r in enumerate(law.replacement)}


def nonzero(law):
    return {key: mass for key, mass in law.items() if mass}


def outputs(rule, nested, row_of, path=()):
    """Law of what one verification of a nested tree emits, by hand."""
    law = {}
    for (accepted, token), mass in nonzero(flipped(rule, row_of(path), list(nested))).items():
        if not accepted:
            law[*path, token] = mass
            continue
        for output, below in outputs(rule, nested[token], row_of, (*path, token)).items():
            law[output] = mass * below
    return law


def completed(law, row_of, n):
    """The first n tokens of outputs, short ones completed by the target."""
    result = {}
    for output, mass in law.items():
        for rest in itertools.product(range(len(row_of(()))), repeat=max(0, n - len(output))):
            sequence, chance = output, mass
            for token in rest:
                chance *= row_of(sequence)[token]
                sequence = (*sequence, token)
            result[sequence[:n]] = result.get(sequence[:n], 0) + chance
    return nonzero(result)


def random_case(seed):
    """A nested tree of depth at most 2 and rows with zeros and ties for each path, two or three tokens; all from the seed."""
    dice = random.Random(seed)
    size = dice.choice([2, 3])

    def grow(depth):
        return {c: grow(depth - 1) for c in dice.sample(range(size), dice.randint(0, size))} if depth else {}

    def row_of(path):
        weights = random.Random(repr((seed, path))).choices([0, 1, 1, 2, 3], k=size)
        return theory.normalise(exact(*(weights if any(weights) else [1] * size)))

    return grow(2), row_of


cases_of_seeds = st.integers(0, 10**6).map(random_case)


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


# --- trees ------------------------------------------------------------------------------------------------------------------


@exactly
@given(cases_of_seeds)
def test_laws_over_a_tree_equal_a_walk_by_hand(rule, case):
    nested, row_of = case
    tree = Tree.from_nested(nested)
    by_hand = outputs(rule, nested, row_of)
    lengths = [sum(mass for output, mass in by_hand.items() if len(output) == k + 1) for k in range(tree.depth + 1)]
    assert list(trees.length_law(rule, tree, row_of)) == lengths
    assert sum(lengths) == 1
    assert trees.block_efficiency(rule, tree, row_of) == sum(len(output) * mass for output, mass in by_hand.items())
    for n in (1, tree.depth + 1, tree.depth + 2):
        law = trees.emitted_law(rule, tree, row_of, n)
        assert law == completed(by_hand, row_of, n)
        assert list(law) == sorted(law)


@pytest.mark.parametrize("rule", [rule for rule in RATIONAL if rule.lossless], ids=repr)
@given(cases_of_seeds)
def test_lossless_in_the_exact_joint_law(rule, case):
    nested, row_of = case
    tree = Tree.from_nested(nested)
    for n in range(1, tree.depth + 3):
        assert trees.emitted_law(rule, tree, row_of, n) == completed({(): F(1)}, row_of, n)


@pytest.mark.parametrize("rule", [rule for rule in ALL if not rule.lossless], ids=repr)
def test_lossy_rules_fail_the_exact_joint_law(rule):
    failures = 0
    for seed in range(60):
        nested, row_of = random_case(seed)
        try:
            law = trees.emitted_law(rule, Tree.from_nested(nested), row_of, 3)
        except ValueError:  # an irrational threshold
            continue
        failures += law != completed({(): F(1)}, row_of, 3)
    assert failures > 0


@given(cases_of_seeds, st.sampled_from([MinP(F(1, 2)), TopK(1), Eta(F(1, 4))]))
def test_truncating_first_is_lossless_toward_the_truncated_target(case, truncation):
    nested, row_of = case
    tree = Tree.from_nested(nested)

    def on_set(path):
        return truncation.truncate(row_of(path))

    rule = TruncateFirst(truncation)
    assert list(trees.length_law(rule, tree, row_of)) == list(trees.length_law(ZeroAndRenormalise(), tree, on_set))
    assert list(rule.induced(row_of(()), list(nested))) == list(rule.baseline(row_of(()))) == list(on_set(()))
    assert trees.emitted_law(ZeroAndRenormalise(), tree, on_set, 3) == completed({(): F(1)}, on_set, 3)


NESTED = {2: {0: {}, 1: {1: {}}}, 0: {2: {}}}


@everywhere
def test_walks_follow_the_law(rule):
    rows = {(): [0.5, 0.25, 0.25], (2,): [0.25, 0.375, 0.375], (0,): [0.125, 0.5, 0.375]}
    asked = []

    def row_of(path):
        asked.append(path)
        return rows.get(path, [0.4, 0.35, 0.25])

    tree = Tree.from_nested(NESTED)
    walks = trees.verify(rule, tree, row_of, np.random.default_rng([4, *map(ord, repr(rule))]), N)
    assert len(asked) == len(set(asked))
    emitted = (walks.tokens >= 0).sum(axis=1)
    assert (walks.length == emitted - 1).all()
    law = outputs(rule, NESTED, row_of)
    padded = {(*output, *[-1] * (tree.depth + 1 - len(output))): mass for output, mass in law.items()}
    found, counts = np.unique(walks.tokens, axis=0, return_counts=True)
    observed = dict(zip(map(tuple, found.tolist()), counts, strict=True))
    keys = sorted({*padded, *observed})
    observed, wanted = (np.array([float(table.get(key, 0)) for key in keys]) for table in (observed, padded))
    assert p_value(observed, wanted) > ALPHA


def test_leaf_bonus_is_the_target_or_the_truncated_target_as_the_rule_says():
    empty = Tree([], [])
    p = exact(*cases.GOLDEN_P)
    assert empty.depth == 0
    for rule in RATIONAL:
        assert list(trees.length_law(rule, empty, lambda path: p)) == [1]
        bonus = trees.emitted_law(rule, empty, lambda path: p, 1)
        replaces_from_set = isinstance(rule, TruncateFirst) or (isinstance(rule, TreeCascade) and not rule.coded)
        wanted = rule.baseline(p) if replaces_from_set else p
        assert bonus == nonzero({(token,): mass for token, mass in enumerate(wanted)})


def test_rows_of_impossible_paths_are_not_asked_for():
    def row_of(path):
        assert path in ((), (1,)), path
        return exact(0, 1, 0)

    tree = Tree.from_nested({0: {1: {}}, 1: {2: {}}, 2: {}})
    assert list(trees.length_law(ZeroAndRenormalise(), tree, row_of)) == [0, 1, 0]


def test_deep_chains_do_not_recurse():
    tree = Tree.from_paths([[0] * 3000])
    law = trees.length_law(ZeroAndRenormalise(), tree, lambda path: [0.9, 0.1])
    assert tree.depth == 3000
    assert law[:3] == pytest.approx([0.1, 0.09, 0.081])


# --- the paper's lemmas -------------------------------------------------------------------------------------------------------


def test_lemma_2_on_the_golden_pair():
    p, q = oracles.as_floats(cases.GOLDEN_P), oracles.as_floats(cases.GOLDEN_Q)
    assert trees.kl_single_draft(p, q, MinP(0.6)) == pytest.approx(0.032478, abs=5e-7)
    assert trees.kl_single_draft(p, q, MinP(0.5)) == pytest.approx(0.067852, abs=5e-7)
    wanted = 4 / 9 * math.log(7 / 4) + 5 / 9 * math.log(7 / 3)
    assert trees.kl_deterministic(p, q, MinP(0.6)) == pytest.approx(wanted, rel=1e-12)
    assert trees.kl_deterministic(cases.GOLDEN_P, cases.GOLDEN_Q, MinP(F(3, 5))) == pytest.approx(wanted, rel=1e-12)


@given(testing.pairs(), st.sampled_from([MinP(F(1, 2)), MinP(0), Eta(F(1, 4)), TopK(2)]))
def test_lemma_2_is_the_kl_of_what_the_verifiers_sample(pair, truncation):
    p, q = pair
    target = truncation.truncate(p)
    drafted = theory.TruncationVerifier(truncation, "redraft").induced(p, q)
    single, fixed = (kl(p, q, truncation) for kl in (trees.kl_single_draft, trees.kl_deterministic))
    assert single == pytest.approx(theory.kl_divergence(drafted, target), abs=1e-12)
    points = np.eye(p.size)
    on_tree = [theory.kl_divergence(points[x], oracles.as_floats(target)) for x in range(p.size) if drafted[x] > 0]
    assert fixed == pytest.approx(sum(float(y) * kl for y, kl in zip(drafted[drafted > 0], on_tree, strict=True)), abs=1e-12)
    assert fixed - single == pytest.approx(theory.entropy(drafted), abs=1e-12)


def test_lemma_2_broadcasts():
    p = np.random.default_rng(5).dirichlet(np.ones(4), (3, 1))
    q = np.random.default_rng(6).dirichlet(np.ones(4), (1, 2))
    for kl in (trees.kl_single_draft, trees.kl_deterministic):
        values = kl(p, q, MinP(0.3))
        assert values.shape == (3, 2)
        assert values[2, 1] == pytest.approx(kl(p[2, 0], q[0, 1], MinP(0.3)), abs=1e-15)


@given(testing.pairs(min_size=2), st.sampled_from([MinP(F(1, 2)), MinP(F(1, 5)), TopK(2)]))
def test_proposition_1_as_the_draft_becomes_the_target(pair, truncation):
    p, q = pair
    allowed = truncation.allowed(p)
    steps = [F(1), F(1, 2), F(1, 4), F(1, 16), F(1, 2**10), F(0)]
    single, fixed = (
        [float(kl(p, p + t * (q - p), truncation)) for t in steps] for kl in (trees.kl_single_draft, trees.kl_deterministic)
    )
    assert all(later <= earlier + 1e-12 for earlier, later in itertools.pairwise(single))
    # q_A(t) mixes p_A and q_A with weight s, and KL is convex: KL(q_A(t) || p_A) <= s KL(q_A || p_A)
    in_p, in_q = sum(p[allowed]), sum(q[allowed])
    for t, value in zip(steps, single, strict=True):
        s = t * in_q / ((1 - t) * in_p + t * in_q) if t * in_q or t < 1 else 0
        assert value <= float(s) * single[0] + 1e-12
    assert single[-1] == pytest.approx(0, abs=1e-14)
    assert fixed[-1] == pytest.approx(theory.entropy(truncation.truncate(p)), abs=1e-12)
    if allowed.sum() > 1:
        assert fixed[-1] > 0.05
    else:
        assert fixed[-1] == 0


@given(nodes(), st.sampled_from([F(0), F(1, 2), F(3, 5), F(1)]))
def test_lemma_3_acceptance_at_one_position(node, p_base):
    p, candidates = node
    gate = MinP(p_base)
    lossless = TruncateFirst(gate).acceptance_rate(p, candidates)
    assert lossless == sum(gate.truncate(p)[candidates])
    for coded in (False, True):
        lossy = TreeCascade(p_base, coded).acceptance_rate(p, candidates)
        assert lossy == int(gate.allowed(p)[candidates].any())
        assert lossy >= lossless


@given(cases_of_seeds, st.sampled_from([F(0), F(1, 2), F(1)]))
def test_corollary_1_expected_length_sums_the_truncated_target_over_the_nodes(case, p_base):
    nested, row_of = case
    tree, gate = Tree.from_nested(nested), MinP(p_base)
    total = F(0)
    for node in range(len(tree)):
        path = tree.path(node)
        total += math.prod(gate.truncate(row_of(path[:k]))[path[k]] for k in range(len(path)))
    assert trees.block_efficiency(TruncateFirst(gate), tree, row_of) == 1 + total


def tails(law):
    return list(np.cumsum(law[::-1])[::-1])


@given(st.integers(0, 10**6), st.lists(st.integers(0, 1), min_size=1, max_size=5), st.sampled_from([F(1, 5), F(1, 2), F(1)]))
def test_proposition_2_along_chains(seed, chain, p_base):
    _, row_of = random_case(seed)
    tree = Tree.from_paths([chain])
    lossless = trees.length_law(TruncateFirst(MinP(p_base)), tree, row_of)
    for coded in (False, True):
        lossy = trees.length_law(TreeCascade(p_base, coded), tree, row_of)
        assert all(a >= b for a, b in zip(tails(lossy), tails(lossless), strict=True))
        kept = [MinP(p_base).allowed(row_of(tuple(chain[:k])))[token] for k, token in enumerate(chain)]
        assert lossy[list(itertools.accumulate(kept, min)).count(True)] == 1


@given(st.lists(nodes(3), min_size=1, max_size=3), st.sampled_from([F(1, 5), F(1, 2), F(1)]))
def test_proposition_2_where_rows_and_candidates_depend_on_the_depth_only(levels, p_base):
    levels = [(np.concatenate([p, [F(0)] * (3 - p.size)]), candidates) for p, candidates in levels]

    def row_of(path):
        return levels[min(len(path), len(levels) - 1)][0]

    tree = Tree.from_paths(itertools.product(*(candidates for _, candidates in itertools.takewhile(lambda x: x[1], levels))))
    lossless = trees.length_law(TruncateFirst(MinP(p_base)), tree, row_of)
    lossy = trees.length_law(TreeCascade(p_base), tree, row_of)
    assert all(a >= b for a, b in zip(tails(lossy), tails(lossless), strict=True))


@pytest.mark.parametrize(
    ("tree", "below_first"),
    [
        (Tree.from_nested({0: {}, 1: {1: {}}}), ["1/2", "1/2"]),
        (Tree.from_nested({0: {1: {}}, 1: {1: {}}}), ["1", "0"]),  # every leaf at one depth
    ],
)
def test_proposition_2_fails_on_trees_in_general(tree, below_first):
    rows = {(): exact("1/2", "1/2"), (0,): exact(*below_first), (1,): exact(0, 1), (1, 1): exact(0, 1)}
    assert trees.block_efficiency(TreeCascade(F(1, 2)), tree, rows.__getitem__) == 2
    assert trees.block_efficiency(TruncateFirst(MinP(F(1, 2))), tree, rows.__getitem__) == F(5, 2)


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
        (lambda: Tree([-1, 1], [0, 1]), r"parents\[1\] = 1: must be -1, for the context, or an earlier node, in -1\.\.0"),
        (lambda: Tree([-2], [0]), r"parents\[0\] = -2"),
        (lambda: Tree([-1], [-1]), r"tokens\[0\] = -1: tokens are whole numbers of at least 0"),
        (lambda: Tree([-1, -1], [3, 3]), r"tokens\[1\] = 3, as tokens\[0\] below the same parent: siblings must be distinct"),
        (lambda: Tree([-1], [0.5]), r"tokens\[0\] = 0\.5: must be a whole number"),
        (lambda: Tree([-1, 0], [1]), "parents has 2 nodes and tokens 1"),
        (lambda: Tree.from_nested({0: [1]}), r"the children of node 0 are \[1\]: must be a dict"),
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


def test_bad_rows_and_tokens_on_a_tree(monkeypatch):
    tree, rng = Tree.from_nested({0: {5: {}}}), np.random.default_rng(0)
    walks = [
        lambda row_of: trees.length_law(ZeroAndRenormalise(), tree, row_of),
        lambda row_of: trees.emitted_law(ZeroAndRenormalise(), tree, row_of, 2),
        lambda row_of: trees.verify(ZeroAndRenormalise(), tree, row_of, rng, 10),
    ]
    for walk in walks:
        with pytest.raises(ValueError, match=r"^the children of \(0,\)\[0\] = 5: tokens are in 0\.\.1"):
            walk(lambda path: [1.0, 0.0])
        with pytest.raises(ValueError, match=r"^row_of\(\(0,\)\) sums to 0\.75"):
            walk(lambda path: [0.75, 0.0] if path else [1.0, 0.0])
    monkeypatch.setattr(trees, "BUDGET", 10)
    with pytest.raises(ValueError, match=r"n = 9: more than 10 sequences of 4 tokens; .*verify draws them"):
        trees.emitted_law(ZeroAndRenormalise(), Tree([], []), lambda path: [0.5, 0.5], 9)


@pytest.mark.parametrize("count", [0, 1.5, True])
def test_bad_counts(count):
    rng, row_of = np.random.default_rng(0), lambda path: [1.0]
    with pytest.raises(ValueError, match="size = "):
        ZeroAndRenormalise().procedure([1.0], [0], rng, count)
    with pytest.raises(ValueError, match="size = "):
        trees.verify(ZeroAndRenormalise(), Tree([], []), row_of, rng, count)
    with pytest.raises(ValueError, match="n = "):
        trees.emitted_law(ZeroAndRenormalise(), Tree([], []), row_of, count)


def test_ways_to_write_a_tree():
    tree = Tree.from_nested({2: {0: {}, 1: {1: {}}}, 0: {}})
    assert tree == Tree.from_paths([[2, 0], [0], [2, 1, 1]]) == Tree((-1, -1, 0, 0, 3), np.array([2, 0, 0, 1, 1]))
    assert [tree.path(node) for node in range(-1, len(tree))] == [(), (2,), (0,), (2, 0), (2, 1), (2, 1, 1)]
    assert (tree.children(), tree.children(0), tree.children(4)) == ((0, 1), (2, 3), ())
    assert (tree.depth, len(tree), len({tree, tree})) == (3, 5, 1)
