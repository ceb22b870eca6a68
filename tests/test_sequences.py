"""Texts: joint laws by two routes, KL and TV against enumeration, every bound and its negative control, reaching a goal."""

import itertools
import math
import warnings
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theory
from tests import cases
from theory import divergences, sequences
from theory.blocks import BlockVerification, GreedyBlock, HierarchicalVerification, Tokenwise
from theory.decode import enumeration
from theory.decode import markov as long_texts
from theory.models import Table, iid, markov, random
from theory.sequences import Decoder, Plain, distortion, distortions, reach_probability, sequence_law, state_drift, state_laws
from theory.testing import rational_rows
from theory.truncation import MinP

HALF = F(1, 2)
GOLDEN = iid(cases.GOLDEN_P, cases.GOLDEN_Q)
LOSSY = [theory.Lenience(F(2, 5)), theory.CoS(F(1, 4)), theory.SpecCascade(HALF), theory.SpecCascade(HALF, "target")]
UPPER = ["tv_high", "tv_sum", "tv_product", "tv_coupling", "tv_ceiling", "tv_pinsker", "tv_bretagnolle_huber"]
LOWER = ["tv_low", "tv_states"]
ROUNDING = 1e-9


@st.composite
def markov_pairs(draw, size=2):
    """Draw Markov pairs of Fractions, zeros and ties among them."""
    rows = rational_rows(size, 6)
    return markov(*(np.stack([draw(rows) for _ in range(size)]) for _ in range(2)))


def decoders(rules, gammas=(1, 2)):
    return st.builds(
        lambda rule, bonus, gamma: Decoder(Tokenwise(rule, bonus), gamma),
        st.sampled_from(rules),
        st.sampled_from(["target", "relaxed"]),
        st.sampled_from(gammas),
    )


def random_floats(seed, size=3):
    rng = np.random.default_rng(seed)
    return markov(rng.dirichlet(np.ones(size), size), rng.dirichlet(np.ones(size), size))


def total_variation(law, other):
    return abs(law - other).sum() / 2


# --- joint laws -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("bonus", ["target", "relaxed"])
@pytest.mark.parametrize("rule", cases.ONE_EACH, ids=str)
def test_hidden_recursion_is_block_after_block(rule, bonus):
    pair = random(2, seed=3, exact=True)
    block = Tokenwise(rule, bonus)
    for gamma, length in itertools.product((1, 2), (1, 2, 4)):
        law = sequence_law(Decoder(block, gamma), pair, length)
        walked = enumeration.induced_sequence(block, pair, gamma, length, continue_with="decoder")
        assert (law == walked).all()
        assert law.sum() == 1


@given(markov_pairs(3), decoders(LOSSY))
def test_hidden_recursion_on_markov_pairs(pair, decoder):
    walked = enumeration.induced_sequence(decoder.block, pair, decoder.gamma, 3, (1,), "decoder")
    assert (sequence_law(decoder, pair, 3, context=(1,)) == walked).all()


def test_a_bonus_from_the_target_is_not_a_relaxed_one():
    laws = [sequence_law(Decoder(Tokenwise(theory.Lenience(HALF), bonus), 1), GOLDEN, 2) for bonus in ("target", "relaxed")]
    assert (laws[0] != laws[1]).any()
    independent = np.multiply.outer(theory.Lenience(HALF).induced(cases.GOLDEN_P, cases.GOLDEN_Q), cases.GOLDEN_P)
    assert (laws[0] != independent).any()  # nor does the second token follow p: only a bonus does


def test_plain_sampling():
    pair = random(3, seed=5, exact=True)
    assert (sequence_law(Plain(), pair, 3) == enumeration.target_sequence(pair, 3)).all()
    truncated = sequence_law(Plain(truncation=MinP(HALF)), GOLDEN, 2)
    row = MinP(HALF).truncate(cases.GOLDEN_P)
    assert (truncated == np.multiply.outer(row, row)).all()
    assert (sequence_law(Plain("draft"), GOLDEN, 1) == cases.GOLDEN_Q).all()


# --- KL and TV --------------------------------------------------------------------------------------------------------


@given(markov_pairs(2), decoders(LOSSY))
def test_chain_rule_is_the_divergence_of_joint_laws(pair, decoder):
    table = distortions(decoder, pair, 4)
    for length in range(1, 5):
        law, target = sequence_law(decoder, pair, length).ravel(), enumeration.target_sequence(pair, length).ravel()
        row = table.iloc[length - 1]
        assert row["kl"] == pytest.approx(float(divergences.kl_divergence(law, target)), abs=ROUNDING)
        assert row["tv"] == row["tv_low"] == row["tv_high"] == total_variation(law, target)  # Fractions
        assert row["tokens"] == length


@pytest.mark.parametrize("seed", range(5))
def test_the_same_in_floats_and_against_a_truncated_target(seed):
    pair = random_floats(seed)
    baseline = Plain(truncation=MinP(0.3))
    for decoder in (Decoder(Tokenwise(theory.Lenience(0.4)), 2), Decoder(Tokenwise(theory.SpecCascade(0.3), "relaxed"), 2)):
        for reference in (Plain(), baseline):
            found = distortion(decoder, pair, 5, reference)
            law, other = (sequence_law(source, pair, 5).ravel() for source in (decoder, reference))
            kl = float(divergences.kl_divergence(law, other))
            assert found.kl == pytest.approx(kl, rel=1e-9) or found.kl == kl == np.inf
            assert found.tv == pytest.approx(total_variation(law, other), abs=ROUNDING)


def test_a_bonus_from_the_target_leaves_the_truncated_target():
    baseline, rule = Plain(truncation=MinP(HALF)), theory.SpecCascade(HALF)
    assert distortion(Decoder(Tokenwise(rule), 1), GOLDEN, 1, baseline).kl < np.inf
    assert distortion(Decoder(Tokenwise(rule), 1), GOLDEN, 2, baseline).kl == np.inf
    assert distortion(Decoder(Tokenwise(rule, "relaxed"), 1), GOLDEN, 50, baseline, budget=64).kl < np.inf


def test_models_that_are_not_markov():
    pair, decoder = random(2, seed=1, exact=True), Decoder(Tokenwise(theory.Lenience(HALF)), 2)
    found = distortion(decoder, pair, 6)
    law, target = sequence_law(decoder, pair, 6).ravel(), enumeration.target_sequence(pair, 6).ravel()
    assert found.tv == total_variation(law, target)
    assert found.kl == pytest.approx(float(divergences.kl_divergence(law, target)))


@pytest.mark.parametrize("block", [BlockVerification(), HierarchicalVerification(), GreedyBlock()], ids=str)
def test_other_blocks_by_enumeration(block):
    table = distortions(Decoder(block, 2), iid([F(1, 3), F(2, 3)], [F(2, 3), F(1, 3)]), 4)
    law = enumeration.induced_sequence(block, iid([F(1, 3), F(2, 3)], [F(2, 3), F(1, 3)]), 2, 4, continue_with="decoder")
    target = enumeration.target_sequence(iid([F(1, 3), F(2, 3)], [F(2, 3), F(1, 3)]), 4)
    assert table["tv"].iloc[-1] == total_variation(law, target)
    assert not block.lossless or (table["tv"] == 0).all()
    assert not block.lossless or (table["kl"] == 0).all()


@given(markov_pairs(3), st.sampled_from(["target", "relaxed"]))
def test_lossless_rules_are_nowhere_off(pair, bonus):
    for rule in (theory.Strict(), theory.Lenience(1), theory.CoS(1), theory.ExactMatch()):
        table = distortions(Decoder(Tokenwise(rule, bonus), 2), pair, 10)
        names = [name for name in table.columns if name != "tokens"]
        assert (table[names].to_numpy() == 0).all()


@pytest.mark.parametrize("control", cases.CONTROLS, ids=lambda rule: type(rule).__name__)
def test_rules_that_only_claim_it_are_found_out(control):
    found = distortion(Decoder(Tokenwise(control), 2), GOLDEN, 4)
    assert found.tv > 0
    assert found.kl > 0


def test_lossless_over_1000_tokens_of_floats():
    table = distortions(Decoder(Tokenwise(theory.Strict()), 4), random_floats(0), 1000)
    assert table["kl"].iloc[-1] == 0
    assert table["tv"].iloc[-1] == 0


# --- long texts -------------------------------------------------------------------------------------------------------


def test_kl_over_1000_tokens_where_the_law_depends_on_the_state_alone():
    pair, rule = random_floats(2), theory.Lenience(0.5)
    table = distortions(Decoder(Tokenwise(rule, "relaxed"), 4), pair, 1000, budget=1)
    law, expected = np.array([1.0, 0, 0]), []
    for _ in range(1000):
        rows = [pair.rows((state,)) for state in range(3)]
        laws = np.array([rule.induced(p, q) for p, q in rows])
        expected.append(sum(w * float(divergences.kl_divergence(a, p)) for w, a, (p, _) in zip(law, laws, rows, strict=True)))
        law = law @ laws
    assert table["kl"].to_numpy() == pytest.approx(np.cumsum(expected), rel=1e-12)
    assert table["kl_low"].equals(table["kl"])
    assert table["kl_high"].equals(table["kl"])


def test_tv_of_many_independent_tokens_is_a_sum_over_their_counts():
    p, q, length = F(1, 3), F(3, 5), 40
    found = distortion(Plain("draft"), iid([p, 1 - p], [q, 1 - q]), length)
    terms = (
        math.comb(length, k) * abs(p**k * (1 - p) ** (length - k) - q**k * (1 - q) ** (length - k)) for k in range(length + 1)
    )
    assert found.tv == sum(terms) / 2


def test_tv_of_many_floats_too():
    pair = iid([F(1, 3), F(2, 3)], [F(3, 5), F(2, 5)])
    exact, rounded = (distortion(Plain("draft"), each, 40) for each in (pair, iid([1 / 3, 2 / 3], [0.6, 0.4])))
    assert rounded.tv == pytest.approx(float(exact.tv), abs=1e-10)


# --- bounds -----------------------------------------------------------------------------------------------------------


def bounds_and_truth(pair, decoder, length=5, budget=1):
    return distortions(decoder, pair, length, budget=budget), distortions(decoder, pair, length, budget=10**6)


@given(markov_pairs(2), decoders(LOSSY), st.sampled_from([1, 2, 5]))
def test_every_bound_holds(pair, decoder, budget):
    bounds, truth = bounds_and_truth(pair, decoder, budget=budget)
    assert not truth[["kl", "tv"]].isna().any(axis=None)
    for name in UPPER:
        assert (bounds[name] >= truth["tv"] - ROUNDING).all(), name
    for name in LOWER:
        assert (bounds[name] <= truth["tv"] + ROUNDING).all(), name
    assert (bounds["kl_low"] <= truth["kl"] + ROUNDING).all()
    for name in ("kl_high", "kl_ceiling"):
        assert (bounds[name] >= truth["kl"] - ROUNDING).all(), name
    assert (bounds["tv_coupling"] <= bounds["tv_product"]).all()  # exact
    assert (bounds["tv_coupling"] <= bounds["tv_sum"]).all()


@pytest.mark.parametrize("seed", range(4))
def test_every_bound_holds_on_floats_of_three_tokens(seed):
    for rule in (theory.Lenience(0.3), theory.CoS(0.5), theory.SpecCascade(0.5, "target")):
        decoder = Decoder(Tokenwise(rule), 3)
        bounds, truth = bounds_and_truth(random_floats(seed), decoder, length=7, budget=5)
        assert bounds["tv"].isna().any()
        known = bounds["kl"].notna()
        assert bounds["kl"][known].to_numpy() == pytest.approx(truth["kl"][known].to_numpy(), abs=ROUNDING)
        for name in UPPER:
            assert (bounds[name] >= truth["tv"] - ROUNDING).all(), name
        for name in LOWER:
            assert (bounds[name] <= truth["tv"] + ROUNDING).all(), name
        assert (bounds["kl_low"] <= truth["kl"] + ROUNDING).all()
        assert (bounds["kl_high"] >= truth["kl"] - ROUNDING).all()
        law = sequence_law(decoder, random_floats(seed), 7).ravel()
        assert truth["tv"].iloc[-1] == pytest.approx(
            total_variation(law, sequence_law(Plain(), random_floats(seed), 7).ravel()), abs=ROUNDING
        )


def test_a_larger_budget_gives_nearer_bounds():
    decoder = Decoder(Tokenwise(theory.Lenience(0.3)), 3)
    wide, narrow = (distortion(decoder, random_floats(0), 30, budget=budget) for budget in (1, 1000))
    assert np.isnan([wide.kl, narrow.kl, wide.tv, narrow.tv]).all()
    assert narrow.kl_high - narrow.kl_low < (wide.kl_high - wide.kl_low) / 2
    assert narrow.tv_low > wide.tv_low
    assert narrow.tv_high <= wide.tv_high


WRONG = {
    "half the sum": lambda row: row["tv_sum"] / 2,
    "the product of half the tokens": lambda row: 1 - math.sqrt(1 - row["tv_product"]),
    "half the coupling": lambda row: row["tv_coupling"] / 2,
    "the ceiling of half the tokens": lambda row: 1 - math.sqrt(1 - row["tv_ceiling"]),
    "Pinsker with 1/8": lambda row: row["tv_pinsker"] / 2,
    "Bretagnolle and Huber with KL/4": lambda row: math.sqrt(1 - math.exp(-row["kl"] / 4)),
}
FROM_P = iid([HALF, HALF], [F(1), F(0)])


@pytest.mark.parametrize("name", WRONG)
def test_a_bound_with_a_wrong_constant_is_violated(name):
    tight = [
        (FROM_P, Decoder(Tokenwise(theory.Lenience(HALF), "relaxed"), 1)),
        (iid([HALF, HALF], [F(51, 100), F(49, 100)]), Plain("draft")),
        (iid([F(1, 1000), F(999, 1000)], [F(1), F(0)]), Plain("draft")),
    ]
    found = [distortions(source, pair, length=length).iloc[-1] for pair, source in tight for length in (1, 2, 3)]
    assert any(float(row["tv"]) > WRONG[name](row) + ROUNDING for row in found)


def test_the_belief_matters():
    pair, decoder = GOLDEN, Decoder(Tokenwise(theory.Lenience(HALF)), 2)
    known, forgotten = (distortion(decoder, pair, 4, budget=budget) for budget in (10**6, 1))
    assert forgotten.kl_low < known.kl - 1e-4  # so that averaging over the accepted tokens is not the chain rule
    assert forgotten.kl_high > known.kl + 1e-4


# --- lenience's guarantee ---------------------------------------------------------------------------------------------


@given(markov_pairs(2), st.sampled_from([F(1, 5), HALF, F(9, 10)]), st.sampled_from(["target", "relaxed"]))
def test_lenience_is_below_its_ceiling_pointwise(pair, lenience, bonus):
    decoder = Decoder(Tokenwise(theory.Lenience(lenience), bonus), 2)
    for length in (1, 3, 4):
        law, target = sequence_law(decoder, pair, length), enumeration.target_sequence(pair, length)
        assert (law * lenience**length <= target).all()
        found, promised = distortion(decoder, pair, length), sequences.lenience_guarantee(lenience, length)
        assert found.tv <= promised.tv
        assert found.kl <= promised.kl + ROUNDING


def test_the_guarantee_is_met_and_no_smaller_one_holds():
    for length in (1, 2, 7):
        found = distortion(Decoder(Tokenwise(theory.Lenience(HALF), "relaxed"), 2), FROM_P, length)
        assert found.tv == sequences.lenience_guarantee(HALF, length).tv == 1 - HALF**length
        assert found.kl == pytest.approx(length * math.log(2))
        assert found.tv > 1 - F(51, 100) ** length


def test_no_other_rule_has_that_guarantee():
    found = distortion(Decoder(Tokenwise(theory.CoS(HALF)), 2), iid([F(1, 100), F(99, 100)], [F(1), F(0)]), 3)
    assert found.tv > sequences.lenience_guarantee(F(3, 4), 3).tv
    law = theory.CoS(HALF).induced([F(1, 100), F(99, 100)], [F(1), F(0)])
    assert law[0] > F(1, 100) / HALF


# --- states -----------------------------------------------------------------------------------------------------------


@given(markov_pairs(3), decoders(LOSSY))
def test_state_laws_are_margins_of_the_text(pair, decoder):
    laws = state_laws(decoder, pair, 3)
    text = sequence_law(decoder, pair, 3)
    for token in range(3):
        state = ((token,), (token,))
        margin = text[:, :, token].sum()
        assert margin == (laws[state].iloc[3] if state in laws.columns else 0)
    assert (laws.sum(axis=1) == 1).all()


def test_drift_of_a_lossless_rule_is_0_and_of_another_a_lower_bound():
    pair = random_floats(4)
    assert state_drift(Decoder(Tokenwise(theory.Strict()), 2), pair, 20).max() < 1e-15
    decoder = Decoder(Tokenwise(theory.SpecCascade(0.5)), 2)
    drift = state_drift(decoder, pair, 8)
    assert drift[0] == 0
    assert drift[1] > 0.01
    assert (np.maximum.accumulate(drift[1:]) <= distortions(decoder, pair, 8)["tv_low"].to_numpy() + ROUNDING).all()
    assert state_drift(decoder, pair, 8, reference=decoder).max() == 0


def test_drift_of_1000_tokens_converges_to_that_of_the_long_run():
    pair, decoder = random_floats(4), Decoder(Tokenwise(theory.Lenience(0.3)), 3)
    shares = [long_texts.long_run(block, pair, 3).token_law for block in (decoder.block, Tokenwise(theory.Strict()))]
    assert state_drift(decoder, pair, 1000)[-1] == pytest.approx(total_variation(*shares), abs=1e-10)


# --- reaching a goal --------------------------------------------------------------------------------------------------


@given(markov_pairs(2), decoders(LOSSY))
def test_reach_within_is_a_sum_over_texts(pair, decoder):
    def goal(state):
        return state[0] == (1,)

    for source in (decoder, Plain(), Plain("draft"), Plain(truncation=MinP(HALF))):
        for length in (0, 1, 4):
            law = sequence_law(source, pair, length) if length else np.array(F(1))
            expected = sum(law[text] for text in itertools.product(range(2), repeat=length) if 1 in text)
            assert reach_probability(source, pair, goal, length) == expected


def test_reach_needs_no_markov_pair():
    pair, decoder = random(2, seed=8, exact=True), Decoder(Tokenwise(theory.Lenience(HALF)), 2)

    def goal(state):
        return state[0][-2:] == (1, 0)

    law = sequence_law(decoder, pair, 5)
    expected = sum(law[t] for t in np.ndindex(law.shape) if any(t[i : i + 2] == (1, 0) for i in range(4)))
    assert reach_probability(decoder, pair, goal, 5) == expected


def ruin(up, size=5):
    """A gambler's ruin on 0..size-1: up with probability ``up``."""
    rows = np.full((size, size), F(0))
    rows[0, 0] = rows[-1, -1] = F(1)
    for money in range(1, size - 1):
        rows[money, money + 1], rows[money, money - 1] = up, 1 - up
    return rows


def test_ever_reaching_is_the_gamblers_ruin():
    def rich(state):
        return state[0] == (4,)

    for money in range(5):
        pair = markov(ruin(F(2, 5)), ruin(F(1, 4)), start=(money,))
        for source, up in ((Plain(), F(2, 5)), (Plain("draft"), F(1, 4)), (Decoder(Tokenwise(theory.Strict()), 3), F(2, 5))):
            odds = (1 - up) / up
            assert reach_probability(source, pair, rich) == (1 - odds**money) / (1 - odds**4)


@pytest.mark.parametrize("rule", LOSSY, ids=str)
def test_ever_is_the_limit_of_within(rule):
    pair, decoder = markov(ruin(F(2, 5)), ruin(F(1, 4)), start=(2,)), Decoder(Tokenwise(rule), 2)

    def rich(state):
        return state[0] == (4,)

    ever = reach_probability(decoder, pair, rich)
    within = [reach_probability(decoder, pair, rich, length) for length in (2, 10, 60)]
    assert isinstance(ever, F)
    assert within == sorted(within)
    assert within[1] < ever
    assert 0 <= ever - within[2] < F(1, 10**4)
    rounded = markov(ruin(F(2, 5)).astype(float), ruin(F(1, 4)).astype(float), start=(2,))
    assert reach_probability(decoder, rounded, rich) == pytest.approx(float(ever))


def test_goals_at_the_start_and_out_of_reach():
    pair = markov(ruin(F(2, 5)), ruin(F(1, 4)), start=(0,))
    assert reach_probability(Plain(), pair, lambda state: state[0] == (0,)) == 1
    assert reach_probability(Plain(), pair, lambda state: state[0] == (4,)) == 0
    assert reach_probability(Plain(), pair, lambda state: False, 10) == 0


def test_pass_at_k():
    assert sequences.pass_at_k(F(1, 4), 2) == F(7, 16)
    assert sequences.pass_at_k([F(1, 4), F(0), F(1)], 2) == (F(7, 16) + 1) / 3
    problems = np.array([0.1, 0.9])
    assert sequences.pass_at_k(problems, 8) == pytest.approx(1 - (0.9**8 + 0.1**8) / 2)
    assert sequences.pass_at_k(problems.mean(), 8) > sequences.pass_at_k(problems, 8)
    assert sequences.pass_at_k(problems, 1) == problems.mean()


# --- errors -----------------------------------------------------------------------------------------------------------

STRICT = Decoder(Tokenwise(theory.Strict()), 1)
ERRORS = [
    (lambda: Plain("p"), "model = 'p': must be one of target, draft"),
    (lambda: Plain(truncation=0.5), "truncation = 0.5: must be a Truncation"),
    (lambda: Decoder(3, 1), "block = 3: must be a BlockVerifier"),
    (lambda: Decoder(Tokenwise(theory.Strict()), 0), "gamma = 0: must be a whole number of at least 1"),
    (lambda: sequence_law(STRICT, GOLDEN, 0), "length = 0: must be a whole number of at least 1"),
    (lambda: sequence_law(STRICT, GOLDEN, 30), r"length = 30: 4\^30 texts, at most 200,000 are walked; distortions"),
    (lambda: distortions(STRICT, "pair", 3), "pair = 'pair': must be a Pair of models"),
    (lambda: distortions(STRICT, GOLDEN, 3, budget=0), "budget = 0: must be a whole number of at least 1"),
    (lambda: distortions(STRICT, GOLDEN, 3, reference=STRICT), "reference = Decoder.*: must be Plain"),
    (lambda: state_laws(Decoder(BlockVerification(), 1), GOLDEN, 3), "block = BlockVerification.*: only a Tokenwise decoder"),
    (lambda: reach_probability(STRICT, GOLDEN, lambda state: False, -1), "length = -1: must be a whole number of at least 0"),
    (lambda: sequences.lenience_guarantee(0, 3), r"lenience = 0: must be a number in \(0, 1\]"),
    (lambda: sequences.pass_at_k([0.5, 1.5], 2), r"pass_1\[1\] = .*1.5.*: must be a number in \[0, 1\]"),
    (lambda: sequences.pass_at_k(-0.5, 2), r"pass_1 = .*-0.5.*: must be a number in \[0, 1\]"),
    (lambda: sequences.pass_at_k([], 2), "pass_1 is empty"),
    (lambda: sequences.pass_at_k(0.5, 0), "k = 0: must be a whole number of at least 1"),
]


@pytest.mark.parametrize(("call", "message"), ERRORS)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_pair_of_too_many_states():
    with pytest.raises(ValueError, match="more than 4096 states"):
        reach_probability(Plain(), random(2, seed=0), lambda state: False)


def test_zeros_and_subnormal_numbers_pass_without_a_warning():
    tiny = 5e-324
    pair = Table({}, [1.0, tiny, 0.0]), Table({}, [tiny, 0.5, 0.5])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = distortion(Plain("draft"), theory.models.Pair(*pair), 4)
    assert found.kl == np.inf
    assert found.tv == 1
