"""Walks over candidate trees: laws against trees walked by hand, losslessness in joint laws, the procedure, ways to write a tree.

Random tests against procedures are chi-square tests with fixed seeds, at a failure probability of 1e-9 for the whole file.
"""

from dataclasses import dataclass
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import cases
from tests.oracles_trees import (
    ALL,
    RATIONAL,
    cases_of_seeds,
    completed,
    everywhere,
    exact,
    exactly,
    nonzero,
    outputs,
    random_case,
)
from tests.test_monte_carlo import p_value
from theory import trees
from theory.trees import Tree, TreeCascade, TruncateFirst, ZeroAndRenormalise, laws
from theory.truncation import Eta, MinP, TopK

N = 200_000
ALPHA = 1e-9 / 1000  # fewer than a thousand statistics are looked at


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


def test_ways_to_write_a_tree():
    tree = Tree.from_nested({2: {0: {}, 1: {1: {}}}, 0: {}})
    assert tree == Tree.from_paths([[2, 0], [0], [2, 1, 1]]) == Tree((-1, -1, 0, 0, 3), np.array([2, 0, 0, 1, 1]))
    assert [tree.path(node) for node in range(-1, len(tree))] == [(), (2,), (0,), (2, 0), (2, 1), (2, 1, 1)]
    assert (tree.children(), tree.children(0), tree.children(4)) == ((0, 1), (2, 3), ())
    assert (tree.depth, len(tree), len({tree, tree})) == (3, 5, 1)


# --- bad input ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Tree([-1, 1], [0, 1]), r"parents\[1\] = 1: must be -1, for the context, or an earlier node, in -1\.\.0"),
        (lambda: Tree([-2], [0]), r"parents\[0\] = -2"),
        (lambda: Tree([-1], [-1]), r"tokens\[0\] = -1: tokens are whole numbers of at least 0"),
        (lambda: Tree([-1, -1], [3, 3]), r"tokens\[1\] = 3, as tokens\[0\] below the same parent: siblings must be distinct"),
        (lambda: Tree([-1], [0.5]), r"tokens\[0\] = 0\.5: must be a whole number"),
        (lambda: Tree([-1, 0], [1]), "parents has 2 nodes and tokens 1"),
        (lambda: Tree.from_nested({0: [1]}), r"the children of node 0 are \[1\]: must be a dict"),
    ],
)
def test_bad_trees(make, message):
    with pytest.raises(ValueError, match=message):
        make()


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
    monkeypatch.setattr(laws, "BUDGET", 10)
    with pytest.raises(ValueError, match=r"n = 9: more than 10 sequences of 4 tokens; .*verify draws them"):
        trees.emitted_law(ZeroAndRenormalise(), Tree([], []), lambda path: [0.5, 0.5], 9)


@pytest.mark.parametrize("count", [0, 1.5, True])
def test_bad_counts(count):
    rng, row_of = np.random.default_rng(0), lambda path: [1.0]
    with pytest.raises(ValueError, match="size = "):
        trees.verify(ZeroAndRenormalise(), Tree([], []), row_of, rng, count)
    with pytest.raises(ValueError, match="n = "):
        trees.emitted_law(ZeroAndRenormalise(), Tree([], []), row_of, count)


# --- rules of one's own that are none ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Wrong(trees.CandidateRule):
    """Zero and renormalise with one thing wrong."""

    how: str

    def law_at(self, p, tokens):
        law = trees.ZeroAndRenormalise().law_at(p, tokens)
        match self.how:
            case "acceptance":
                return law._replace(acceptance=law.acceptance * 2)
            case "replacement":
                return law._replace(replacement=law.replacement / 2)
            case "children":
                return law._replace(acceptance=law.acceptance[:0])
        return law

    def coins(self, p, tokens, rng, size):
        accepted, token = trees.ZeroAndRenormalise().coins(p, tokens, rng, size)
        match self.how:
            case "token":
                return trees.Chosen(accepted, token + p.size)
            case "stranger":
                return trees.Chosen(np.ones(size, dtype=bool), np.full(size, p.size - 1))
            case "verdicts":
                return trees.Chosen(accepted[:1], token)
        return trees.Chosen(accepted, token)


@pytest.mark.parametrize("how", ["acceptance", "replacement", "children"])
def test_a_candidate_rule_that_gives_no_law_is_refused(how):
    tree = trees.Tree.from_nested({0: {0: {}}, 1: {}})
    for call in (trees.length_law, trees.block_efficiency, lambda *given: trees.emitted_law(*given, 2)):
        with pytest.raises(ValueError, match=r"Wrong.*: (acceptance|replacement)"):
            call(Wrong(how), tree, lambda path: np.array([0.5, 0.25, 0.25]))
    with pytest.raises(ValueError, match="Wrong"):
        Wrong(how).induced([0.5, 0.25, 0.25], [0, 1])


@pytest.mark.parametrize("how", ["token", "stranger", "verdicts"])
def test_a_candidate_rule_whose_procedure_is_none_is_refused(how):
    tree = trees.Tree.from_nested({0: {0: {}}, 1: {}})
    with pytest.raises(ValueError, match="Wrong"):
        trees.verify(Wrong(how), tree, lambda path: np.array([0.5, 0.25, 0.25]), np.random.default_rng(0), 10)
    law = trees.length_law(Wrong(how), tree, lambda path: np.array([0.5, 0.25, 0.25]))
    assert law.sum() == 1, "the law itself is right"
