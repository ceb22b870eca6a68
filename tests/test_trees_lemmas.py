"""What the paper proves of candidate trees: Lemmas 2 and 3, Corollary 1, Propositions 1 and 2, and where the last one fails."""

import itertools
import math
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theory
from tests import cases, oracles
from tests.oracles_trees import cases_of_seeds, exact, nodes, random_case
from theory import testing, trees
from theory.trees import Tree, TreeCascade, TruncateFirst
from theory.truncation import Eta, MinP, TopK


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
