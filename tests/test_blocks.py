"""Block rules: published numbers with ==, losslessness as a joint law, faults that must fail, and procedures against laws."""

import itertools
from dataclasses import dataclass
from fractions import Fraction as F

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import theory
from tests import cases, faults
from theory import testing
from theory.blocks import BLOCK_RULES, BlockVerification, BlockVerifier, Draft, GreedyBlock, HierarchicalVerification, Tokenwise
from theory.blocks.excess import ScaledExcess
from theory.decode import enumeration
from theory.models import Markov, Pair, iid, markov, random
from theory.verifiers import FALLBACKS

JOINT = [BlockVerification(), HierarchicalVerification()]
LOSSLESS = [*JOINT, Tokenwise(theory.Strict()), Tokenwise(theory.ExactMatch()), Tokenwise(theory.Strict(), "relaxed")]
LOSSY = [
    Tokenwise(theory.Lenience(F(1, 2))),
    Tokenwise(theory.CoS(F(1, 2)), "relaxed"),
    Tokenwise(theory.OvershootCeiling(F(2, 5))),
    *(Tokenwise(theory.SpecCascade(F(1, 2), fallback)) for fallback in FALLBACKS),
    Tokenwise(theory.GreedyMatch()),
    GreedyBlock(),
]
TOY = iid([F(1, 3), F(2, 3)], [F(2, 3), F(1, 3)])
GOLDEN = iid(cases.GOLDEN_P, cases.GOLDEN_Q)
HALVES = [F(1, 2), F(1, 2)]
DEPENDENT = Pair(
    theory.models.Table({(): HALVES, (0,): [F(1, 4), F(3, 4)], (1,): [F(3, 4), F(1, 4)]}, HALVES),
    theory.models.Table({(): [F(3, 4), F(1, 4)]}, HALVES),
)
OPTIONS = {
    "A": ([F(24, 100), F(25, 100), F(26, 100), F(25, 100)], [F(26, 100), F(25, 100), F(24, 100), F(25, 100)]),
    "B": ([F(1, 4)] * 4, [F(1, 6), F(1, 3), F(1, 3), F(1, 6)]),
    "C": ([F(5, 100), F(15, 100), F(25, 100), F(55, 100)], [F(55, 100), F(25, 100), F(15, 100), F(5, 100)]),
}


def ideal(pair, gamma):
    """The full-information ideal Σ_t Σ_X min(P, Q), which naive hierarchical decoding reaches with further target calls."""
    total = F(0)
    for length in range(1, gamma + 1):
        for path in itertools.product(range(pair.size), repeat=length):
            joint = [F(1), F(1)]
            for i, token in enumerate(path):
                for side, row in enumerate(pair.rows(path[:i])):
                    joint[side] *= row[token]
            total += min(joint)
    return total


def lengths(block, pair, gamma):
    return list(enumeration.length_pmf(block, pair, gamma))


def distance(block, pair, gamma):
    return np.abs(enumeration.induced_sequence(block, pair, gamma) - enumeration.target_sequence(pair, gamma + 1)).sum() / 2


# --- numbers that must come out ---------------------------------------------------------------------------------------

ACCEPTED = [
    (TOY, 1, F(2, 3), F(2, 3), F(2, 3)),
    (TOY, 2, F(10, 9), F(11, 9), F(4, 3)),
    (TOY, 3, F(38, 27), F(5, 3), F(50, 27)),
    (TOY, 4, F(130, 81), F(166, 81), F(64, 27)),
    (GOLDEN, 2, F(21, 16), F(543, 400), F(561, 400)),
    (GOLDEN, 3, F(111, 64), F(1867, 1000), F(993, 500)),
    (DEPENDENT, 2, F(21, 16), F(23, 16), F(3, 2)),
    (iid(*OPTIONS["A"]), 2, F(4851, 2500), F(4863, 2500), F(39, 20)),
    (iid(*OPTIONS["A"]), 3, F(360199, 125000), F(14491, 5000), F(364063, 125000)),
    (iid(*OPTIONS["B"]), 2, F(55, 36), F(19, 12), F(59, 36)),
    (iid(*OPTIONS["B"]), 3, F(455, 216), F(245, 108), F(259, 108)),
    (iid(*OPTIONS["C"]), 2, F(14, 25), F(61, 100), F(33, 50)),
    (iid(*OPTIONS["C"]), 3, F(78, 125), F(1447, 2000), F(13, 16)),
    (iid([F(1, 4), F(3, 4)], [F(3, 4), F(1, 4)]), 2, F(3, 4), F(7, 8), F(1)),
]


@pytest.mark.parametrize(("pair", "gamma", "token", "block", "best"), ACCEPTED)
def test_accepted_lengths(pair, gamma, token, block, best):
    assert enumeration.accepted_length(Tokenwise(theory.Strict()), pair, gamma) == token
    for rule in JOINT:
        assert enumeration.accepted_length(rule, pair, gamma) == block
        assert enumeration.block_efficiency(rule, pair, gamma) == block + 1
    assert ideal(pair, gamma) == best


def test_length_laws():
    strict = Tokenwise(theory.Strict())
    assert lengths(strict, TOY, 2) == [F(1, 3), F(2, 9), F(4, 9)]
    for rule in JOINT:
        assert lengths(rule, TOY, 2) == [F(1, 3), F(1, 9), F(5, 9)]
        assert lengths(rule, GOLDEN, 2) == [F(1, 4), F(57, 400), F(243, 400)]
        assert lengths(rule, GOLDEN, 3) == [F(1, 4), F(57, 400), F(49, 500), F(1019, 2000)]
        assert lengths(rule, DEPENDENT, 2) == [F(1, 4), F(1, 16), F(11, 16)]


@pytest.mark.parametrize("rule", JOINT, ids=str)
def test_outcomes_path_by_path_on_the_toy(rule):
    wanted = {
        (0, 0): {0: F(3, 4), 2: F(1, 4)},
        (0, 1): {2: F(1)},
        (1, 0): {1: F(1, 2), 2: F(1, 2)},
        (1, 1): {2: F(1)},
    }
    for _, draft in enumeration.paths(TOY, 2):
        outcomes = rule.outcomes(draft)
        assert {outcome.kept: outcome.probability for outcome in outcomes} == wanted[tuple(draft.tokens)]
        assert all(list(outcome.next_probs) == [0, 1] for outcome in outcomes if outcome.kept < 2), "token 0 is over-drafted"


def test_another_pair_of_three_tokens():
    pair = iid([F(3, 10), F(3, 10), F(2, 5)], [F(1, 10), F(1, 5), F(7, 10)])
    assert enumeration.accepted_length(Tokenwise(theory.Strict()), pair, 2) == F(119, 100)
    assert enumeration.accepted_length(BlockVerification(), pair, 2) == F(63, 50)
    law = enumeration.induced_sequence(faults.TokenwiseResidual(), pair, 2)
    assert list(law.sum(axis=(1, 2))) == list(pair.rows(())[0]), "every first-token test passes"
    assert distance(faults.TokenwiseResidual(), pair, 2) == F(1, 60)
    assert enumeration.accepted_length(faults.LongestPrefix(), pair, 2) == F(141, 100)
    assert distance(faults.LongestPrefix(), pair, 2) == F(3, 20)


def test_the_hsd_vector_to_its_printed_digits():
    p = [0.7156, 1, 1, 1, 0, 0, 0, 1, 0, 0.4968]
    q = [0.8771, 0.7900, 0.6514, 0.2592, 0.6773, 0.1490, 0.5775, 1, 0.4611, 0.3630]
    # On two tokens the rows follow from these numbers; the fifth row had more: TV .0991 / Π q = .847 there.
    rows = [[[x, 1 - x, 0] for x in side] for side in (p, q)]
    rows[1][4] = [0.6773, 0.1529, 0.1698]
    ratio = np.array(p) / np.array(q)
    np.testing.assert_allclose(ratio.cumprod()[:5], [0.8159, 1.0327, 1.5855, 6.1171, 0], atol=1e-3)
    weight = HierarchicalVerification().weights(ratio)
    np.testing.assert_allclose(weight[1:6], [0.8159, 1, 1, 1, 0], atol=5e-5)
    drafted = np.cumprod([1.0, *q])
    target, draft = np.array(rows[0]), np.array(rows[1])
    gain = [drafted[t] * np.maximum(weight[t] * target[t] - draft[t], 0).sum() for t in range(1, 10)]
    loss = [drafted[t] * np.maximum(draft[t] - weight[t] * target[t], 0).sum() for t in range(1, 10)]
    np.testing.assert_allclose(gain[:6], [0.0227, 0.2416, 0.3343, 0.0991, 0, 0], atol=1.2e-4)
    # The paper prints ..., .0792, .0991, ...: the fourth and fifth entries are transposed.
    np.testing.assert_allclose(loss[:6], [0.1842, 0.2416, 0.3343, 0.0991, 0.0792, 0.0118], atol=1.2e-4)
    np.testing.assert_allclose(np.divide(gain, loss)[:5], [0.1231, 1, 1, 1, 0], atol=1.2e-4)
    coins = HierarchicalVerification().coin(weight[1:10], np.array(gain) / drafted[1:10], np.array(loss) / drafted[1:10])
    block = BlockVerification().coin(weight[1:10], np.array(gain) / drafted[1:10], None)
    np.testing.assert_allclose(coins, block, atol=1e-12)
    np.testing.assert_allclose(np.minimum(ratio, 1), [0.8159, 1, 1, 1, 0, 0, 0, 1, 0, 1], atol=5e-5)


# --- losslessness, in exact joint laws --------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", LOSSLESS, ids=str)
def test_lossless_rules(rule):
    assert rule.lossless
    testing.assert_lossless(rule)


@pytest.mark.parametrize("rule", [*LOSSY, *faults.FAULTS], ids=lambda rule: str(rule))
def test_lossy_rules_and_faults_are_caught(rule):
    assert not rule.lossless
    with pytest.raises(AssertionError, match="is not lossless at gamma ="):
        testing.assert_lossless(rule)


@pytest.mark.parametrize(
    ("fault", "gamma", "distances"),
    [
        (faults.UncappedLast(), 2, F(1, 9)),
        (faults.OwnRatioCap(), 2, 0),
        (faults.OwnRatioCap(), 3, F(1, 9)),
        (faults.CapOnlyWhenExceeded(), 2, F(1, 3)),
    ],
)
def test_published_faults_miss_by_what_is_known(fault, gamma, distances):
    assert distance(fault, TOY, gamma) == distances
    if isinstance(fault, faults.UncappedLast):
        assert enumeration.accepted_length(fault, TOY, gamma) == F(4, 3)


def test_capped_hierarchical_verification_is_block_verification_outcome_by_outcome():
    seen = 0
    for number in range(200):
        pair = random(3, number, exact=True)
        for _, draft in enumeration.paths(pair, 3):
            ours, theirs = ([(o.probability, o.kept, list(o.next_probs)) for o in rule.outcomes(draft)] for rule in JOINT)
            assert ours == theirs
            seen += 1
        if seen >= 1000:
            return
    pytest.fail(f"only {seen} paths were seen")


@given(testing.model_pairs(), st.integers(1, 3))
def test_block_verification_never_accepts_less_than_tokenwise_nor_more_than_the_ideal(pair, gamma):
    token = enumeration.accepted_length(Tokenwise(theory.Strict()), pair, gamma)
    assert token <= enumeration.accepted_length(BlockVerification(), pair, gamma) <= ideal(pair, gamma)


@given(testing.model_pairs())
def test_the_weight_is_the_chance_that_a_prefix_survives(pair):
    for _, draft in enumeration.paths(pair, 3):
        ratios = np.array([p[x] / q[x] for p, q, x in zip(*draft.path(), strict=False)])
        weight = BlockVerification().weights(ratios)
        last = [o.probability for o in BlockVerification().outcomes(draft) if o.kept == 3]
        assert sum(last) == weight[3], "P(τ >= γ | path) = w_γ"


@pytest.mark.parametrize("verifier", cases.ONE_EACH, ids=str)
def test_every_token_rule_works_token_by_token(verifier):
    p, q = (np.array(row, dtype=object) for row in (cases.GOLDEN_P, cases.GOLDEN_Q))
    rate, law = verifier.acceptance_rate(p, q), verifier.induced(p, q)
    assert lengths(Tokenwise(verifier), GOLDEN, 2) == [1 - rate, rate * (1 - rate), rate**2]
    first = enumeration.induced_sequence(Tokenwise(verifier), GOLDEN, 2).sum(axis=(1, 2))
    assert list(first) == list(law)
    relaxed = enumeration.induced_sequence(Tokenwise(verifier, "relaxed"), GOLDEN, 2, 2, continue_with="decoder")
    assert (relaxed == np.multiply.outer(law, law)).all(), "with a relaxed bonus there is one law a position"


def test_redrafting_in_a_block_emits_the_redrafted_token():
    rule = Tokenwise(theory.SpecCascade(F(3, 5), "redraft"))
    outcomes = rule.outcomes(Draft([cases.GOLDEN_P] * 2, [cases.GOLDEN_Q], [3]))
    assert [(o.probability, o.kept, list(o.next_probs)) for o in outcomes] == [(1, 0, [F(4, 9), F(5, 9), 0, 0])]


# --- procedures against laws --------------------------------------------------------------------------------------------

ALPHA = 1e-9 / 100  # a hundred statistics at most
N = 100_000
PAIRS = {
    "golden": iid(np.array(cases.GOLDEN_P, float), np.array(cases.GOLDEN_Q, float)),
    "markov": markov([[0.6, 0.4], [0.1, 0.9]], [[0.3, 0.7], [0.5, 0.5]], start=(1,)),
    "zeros": markov([[1.0, 0.0, 0.0], [0.2, 0.0, 0.8], [0.3, 0.3, 0.4]], [[0.5, 0.5, 0.0], [0.0, 0.4, 0.6], [0.3, 0.3, 0.4]]),
}


def g_test(counts, law):
    """G-test p-value; an impossible count has p-value 0. Cells of fewer than ten expected counts are pooled."""
    counts, law = np.ravel(counts), np.ravel(law).astype(float)
    if counts[law == 0].any():
        return 0.0
    counts, expected = counts[law > 0], law[law > 0] * counts.sum()
    small = expected < 10
    if small.any():
        counts, expected = np.append(counts[~small], counts[small].sum()), np.append(expected[~small], expected[small].sum())
    return scipy.stats.power_divergence(counts, expected * counts.sum() / expected.sum(), lambda_="log-likelihood").pvalue


def sample_block(rule, pair, gamma, rng):
    """Counts of (kept, the gamma + 1 tokens with -1 after the end) by the literal procedure, and their exact law."""
    draft = theory.decode.walk.Walk(pair).draft(np.zeros(N, dtype=int), gamma, rng)
    kept, token = rule.verify(draft, rng)
    size = pair.size
    code = kept * size ** (gamma + 1)
    for position in range(gamma):
        code = code + np.where(position < kept, draft.tokens[:, position], 0) * size ** (position + 1)
    return np.bincount(code + token, minlength=(gamma + 1) * size ** (gamma + 1)), joint_law(rule, pair, gamma)


def joint_law(rule, pair, gamma):
    size = pair.size
    law = np.zeros((gamma + 1) * size ** (gamma + 1))
    for probability, tokens, outcome in enumeration.branches(rule, pair, gamma):
        start = outcome.kept * size ** (gamma + 1) + sum(x * size ** (i + 1) for i, x in enumerate(tokens[: outcome.kept]))
        law[start : start + size] += float(probability) * np.asarray(outcome.next_probs, float)
    return law


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("rule", [*LOSSLESS, *LOSSY], ids=str)
def test_procedure_follows_the_joint_law_of_length_and_tokens(rule, name):
    rng = np.random.default_rng([30, *map(ord, str(rule) + name)])
    assert g_test(*sample_block(rule, PAIRS[name], 3, rng)) > ALPHA


def test_the_g_test_tells_a_fault_that_first_tokens_hide():
    rng = np.random.default_rng(31)
    pair = iid([0.3, 0.3, 0.4], [0.1, 0.2, 0.7])
    counts, _ = sample_block(BlockVerification(), pair, 2, rng)
    assert g_test(counts, joint_law(faults.TokenwiseResidual(), pair, 2)) < ALPHA


@dataclass(frozen=True)
class Literal(BlockVerifier):
    """A user's block rule that gives its law only: the default procedure draws from it. It may end without a token."""

    def outcomes(self, draft):
        rows, _, _ = draft.path()
        one = rows[0].sum() ** 0
        return theory.blocks.Outcome(one / 2, 1, None), theory.blocks.Outcome(one / 2, 0, rows[0])


def test_default_procedure_and_blocks_that_end_without_a_token():
    draft = Draft([[0.25, 0.75]] * 2, [[0.5, 0.5]], np.ones((4000, 1), dtype=int))
    kept, token = Literal().verify(draft, np.random.default_rng(33))
    assert set(zip(kept.tolist(), token.tolist(), strict=True)) == {(1, -1), (0, 0), (0, 1)}
    pair = iid([F(1, 4), F(3, 4)], HALVES)
    law = enumeration.induced_sequence(Literal(), pair, 1, 2, continue_with="decoder")
    assert list(law.sum(axis=1)) == [F(3, 8), F(5, 8)], "half from the draft, half from the target"
    assert enumeration.block_efficiency(Literal(), pair, 1) == 1


def test_many_paths_and_one_path_have_one_law():
    rng = np.random.default_rng(34)
    for rule in [*LOSSLESS, *LOSSY]:
        kept, token = rule.verify(Draft([[0.25, 0.75]] * 3, [[0.5, 0.5]] * 3, [1, 0]), rng)
        assert np.shape(kept) == np.shape(token) == ()
        assert 0 <= kept <= 2
        assert token in (0, 1)


@given(st.data(), st.floats(0, 1))
def test_scaled_excess_is_the_excess(data, scale):
    p, q = data.draw(testing.pairs(rows=testing.float_rows))
    wanted = np.maximum(scale * p - q, 0)
    excess = ScaledExcess(p, q)
    assert excess.mass(np.array([scale]))[0] == pytest.approx(wanted.sum(), abs=1e-12)
    if wanted.sum() > 1e-9:
        tokens = excess.draw(np.full(50, scale), np.random.default_rng(0))
        assert (wanted[tokens] > 0).all()


# --- the contract ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", BLOCK_RULES.values(), ids=lambda rule: rule.name)
def test_claims_are_stated(rule):
    for claim in ("name", "formula", "claim", "source"):
        assert getattr(rule, claim)
    assert rule.verify is not BlockVerifier.verify


ROW = [0.5, 0.5]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Draft([ROW], [ROW], [0]), "p has 1 rows and q 1: 1 drafted tokens need 2 and 1"),
        (lambda: Draft([ROW] * 2, [ROW] * 3, [0]), "p has 2 rows and q 3"),
        (lambda: Draft([ROW] * 2, [ROW], [2]), r"tokens reach from 2 to 2: they are in 0\.\.1"),
        (lambda: Draft([ROW] * 2, [ROW], [0.5]), "whole numbers"),
        (lambda: Draft([ROW] * 2, [ROW], []), "whole numbers"),
        (lambda: Draft([ROW] * 2, [[1.0]], [0]), "both are rows over one vocabulary"),
        (lambda: Draft([ROW] * 2, [[F(1), F(0)]], [0]), "in one arithmetic"),
        (lambda: Draft([ROW, [0.5, 0.6]], [ROW], [0]), r"p\[1\] sums to 1\.1"),
        (lambda: Draft([ROW], [ROW], [[0]], at=[[0, 1]]), "at reaches from 0 to 1: there are 1 rows"),
        (lambda: Draft([ROW], [ROW], [[0]], at=[0, 0]), r"at has shape \(2,\)"),
        (lambda: Tokenwise(3), "verifier = 3: must be a TokenVerifier"),
        (lambda: Tokenwise(theory.Strict(), "draft"), "bonus = 'draft': must be one of target, relaxed"),
        (
            lambda: Tokenwise(theory.Strict(), "relaxed").outcomes(Draft([ROW] * 2, [ROW], [0])),
            "a relaxed bonus needs the draft's row after the last token",
        ),
        (lambda: BlockVerification().outcomes(Draft([ROW] * 2, [ROW], [[0], [1]])), "one path at a time"),
        (lambda: Markov([[0.5, 0.5]]), r"rows has shape \(1, 2\)"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()
