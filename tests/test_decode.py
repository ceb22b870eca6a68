"""Whole decodes: enumeration, closed forms and linear algebra are three routes to the same numbers."""

from dataclasses import dataclass
from fractions import Fraction as F

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

import theory
from tests import cases
from tests.test_blocks import DEPENDENT, GOLDEN, JOINT, LOSSLESS, LOSSY, TOY
from theory import exact, linear, monte_carlo, testing
from theory.blocks import BlockVerification, BlockVerifier, GreedyBlock, Outcome, Tokenwise
from theory.decode import chain, enumeration, iid, markov
from theory.models import IID, Markov, Pair, Random, random
from theory.models import iid as iid_pair
from theory.models import markov as markov_pair

RULES = [*LOSSLESS, *LOSSY]


def as_floats(pair):
    return iid_pair(*(row.astype(float) for row in pair.rows(())))


# --- i.i.d. pairs -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES, ids=str)
@given(pair=testing.pairs(max_size=3), gamma=st.integers(1, 3))
def test_iid_length_laws_equal_enumeration(rule, pair, gamma):
    assert list(iid.length_pmf(rule, *pair, gamma)) == list(enumeration.length_pmf(rule, iid_pair(*pair), gamma))


@pytest.mark.parametrize("gamma", [1, 4, 10])
def test_merged_weights_in_floats_equal_those_in_fractions(gamma):
    p, q = GOLDEN.rows(())
    exact_law = iid.length_pmf(BlockVerification(), p, q, gamma)
    np.testing.assert_allclose(
        iid.length_pmf(BlockVerification(), p.astype(float), q.astype(float), gamma), exact_law.astype(float), atol=1e-12
    )


@given(testing.pairs(max_size=5, rows=testing.float_rows), st.integers(1, 6))
def test_bounds_hold_the_exact_accepted_length(pair, gamma):
    exactly = (iid.length_pmf(BlockVerification(), *pair, gamma) * np.arange(gamma + 1)).sum()
    for cells in (5, 300):
        low, high = iid.accepted_length_bounds(*pair, gamma, cells)
        assert low - 1e-9 <= exactly <= high + 1e-9
    assert high - low < 0.01 * gamma


def test_the_bracket_shrinks_like_the_square_of_the_cells():
    p, q = (row.astype(float) for row in GOLDEN.rows(()))
    widths = [np.diff(iid.accepted_length_bounds(p, q, 5, cells))[0] for cells in (50, 200, 800)]
    assert widths[0] > 8 * widths[1] > 64 * widths[2]
    assert widths[2] < 1e-5


def test_bounds_at_a_large_vocabulary_hold_the_monte_carlo_estimate():
    rng = np.random.default_rng(40)
    p = rng.dirichlet(np.full(5000, 0.1))
    q = 0.6 * p + 0.4 * rng.dirichlet(np.full(5000, 0.1))
    low, high = iid.accepted_length_bounds(p, q, 5)
    estimate = monte_carlo.accepted_length(BlockVerification(), iid_pair(p, q), 5, 100_000, rng)
    slack = scipy.stats.norm.isf(1e-12) * estimate.stderr
    assert low - slack < estimate.value < high + slack
    assert high - low < 1e-4
    token = theory.block_efficiency(theory.Strict().acceptance_rate(p, q), 5) - 1
    assert token < low, "block verification accepts more"


def test_too_many_weights_name_the_bounds():
    rng = np.random.default_rng(41)
    with pytest.raises(ValueError, match=r"distinct weights \(V = 1000\): accepted_length_bounds bounds"):
        iid.length_pmf(BlockVerification(), rng.dirichlet(np.ones(1000)), rng.dirichlet(np.ones(1000)), 5)


def test_exact_block_verification_at_gamma_10_needs_few_weights():
    p, q = GOLDEN.rows(())
    law = iid.length_pmf(BlockVerification(), p, q, 10)
    assert sum(law) == 1
    assert all(isinstance(x, F) for x in law)


# --- Leviathan et al. -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rate", "gamma", "operations", "speed"),
    [
        (0.6, 2, 1.53, 1.96),
        (0.7, 3, 1.58, 2.53),
        (0.8, 2, 1.23, 2.44),
        (0.8, 5, 1.63, 3.69),
        (0.9, 2, 1.11, 2.71),
        (0.9, 10, 1.60, 6.86),
    ],
)
def test_leviathan_table_1(rate, gamma, operations, speed):
    tokens = theory.block_efficiency(rate, gamma)
    assert round(float(theory.operations(tokens, gamma, 0)), 2) == operations
    assert round(float(theory.speedup(tokens, gamma, 0)), 2) == speed


@given(st.floats(0.01, 0.99), st.floats(0, 1))
def test_corollary_3_9_some_gamma_helps_iff_the_rate_exceeds_the_cost(rate, cost):
    best = max(float(theory.speedup(theory.block_efficiency(rate, gamma), gamma, cost)) for gamma in range(1, 30))
    if rate > cost:
        assert best >= (1 + rate) / (1 + cost) - 1e-12
    else:
        assert best <= 1 + 1e-12


@pytest.mark.parametrize("call", [theory.speedup, theory.operations])
def test_bad_costs(call):
    with pytest.raises(ValueError, match=r"cost = -1: must be a number in \[0, inf\)"):
        call(2.0, 3, -1)


# --- enumeration ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["length_pmf", "block_efficiency", "accepted_length", "induced_sequence"])
def test_an_enumeration_past_its_budget_names_its_monte_carlo_twin(name):
    pair = random(100, seed=0)
    with pytest.raises(ValueError, match=rf"use theory\.monte_carlo\.{name}"):
        getattr(exact, name)(BlockVerification(), pair, 5)
    assert hasattr(monte_carlo, name)


@pytest.mark.parametrize("rule", ["lenience:2/5", "block", "hierarchical", "greedy-block", "strict,bonus=relaxed"])
@given(pair=testing.pairs(max_size=3), gamma=st.integers(1, 3))
def test_exact_lengths_by_closed_form_are_those_of_the_walk(rule, pair, gamma):
    both = iid_pair(*pair)
    for name in ("length_pmf", "accepted_length", "block_efficiency"):
        assert np.all(getattr(exact, name)(rule, both, gamma) == getattr(enumeration, name)(rule, both, gamma))


def test_an_iid_pair_has_exact_lengths_at_any_gamma():
    pair = iid_pair([F(1, 3), F(2, 3)], [F(2, 3), F(1, 3)])
    rate, gamma = F(2, 3), 200
    assert exact.accepted_length("strict", pair, gamma) == rate * (1 - rate**gamma) / (1 - rate)
    assert exact.length_pmf("strict", pair, gamma)[-1] == rate**gamma
    assert exact.block_efficiency("block", pair, gamma) > exact.block_efficiency("strict", pair, gamma)


@dataclass(frozen=True)
class OftenIdle(BlockVerifier):
    """Emits nothing at all every other time, else what strict verification emits."""

    def outcomes(self, draft):
        whole = Tokenwise(theory.Strict()).outcomes(draft)
        return (Outcome(F(1, 2), 0, None), *(Outcome(one.probability / 2, one.kept, one.next_probs) for one in whole))


@given(pair=testing.model_pairs(), length=st.integers(1, 3))
def test_a_block_that_emits_nothing_is_tried_again(pair, length):
    target = enumeration.target_sequence(pair, length)
    law = enumeration.induced_sequence(OftenIdle(), pair, 2, length, continue_with="decoder")
    assert (law == target).all(), "of half the blocks nothing comes, so that the others count twice"
    assert (enumeration.induced_sequence(OftenIdle(), pair, 2, length) == target).all()


@pytest.mark.parametrize("rule", [Tokenwise(theory.Strict()), BlockVerification()], ids=str)
@given(pair=testing.model_pairs(), context=st.lists(st.integers(0, 1), max_size=3))
def test_lossless_decoders_stay_on_the_target_from_any_context(rule, pair, context):
    law = enumeration.induced_sequence(rule, pair, 2, 3, tuple(context), continue_with="decoder")
    assert (law == enumeration.target_sequence(pair, 3, tuple(context))).all()


@pytest.mark.parametrize("rule", LOSSY[:4], ids=str)
def test_the_decoders_text_is_made_of_blocks(rule):
    """First block by the rule, the rest by recursion: checked against blocks strung together by hand."""
    pair = random(2, 7, exact=True)

    def strung(context, left):
        law = {}
        for probability, tokens, outcome in enumeration.branches(rule, pair, 2, context):
            for token, share in enumerate(outcome.next_probs):
                text = (*tokens[: outcome.kept], token)[:left]
                weight = probability * share
                rest = strung((*context, *text), left - len(text)) if weight and len(text) < left else {(): F(1)}
                for more, further in rest.items():
                    law[(*text, *more)] = law.get((*text, *more), F(0)) + weight * further
        return law

    law = enumeration.induced_sequence(rule, pair, 2, 4, continue_with="decoder")
    assert {index: value for index, value in np.ndenumerate(law) if value} == {k: v for k, v in strung((), 4).items() if v}


def test_bad_continuations():
    with pytest.raises(ValueError, match="continue_with = 'draft': must be one of target, decoder"):
        exact.induced_sequence(BlockVerification(), TOY, 1, continue_with="draft")
    with pytest.raises(ValueError, match="length = 0"):
        exact.induced_sequence(BlockVerification(), TOY, 1, 0)
    with pytest.raises(ValueError, match="gamma = 0"):
        exact.length_pmf(BlockVerification(), TOY, 0)


# --- long runs --------------------------------------------------------------------------------------------------------


def test_the_bonus_breaks_one_law_a_position():
    law = exact.long_run(Tokenwise(theory.Lenience(F(1, 2))), GOLDEN, 2).token_law
    assert list(law) == [F(428, 1355), F(378, 1355), F(637, 2710), F(461, 2710)]
    p, induced, rate = cases.GOLDEN_P, theory.Lenience(F(1, 2)).induced(*GOLDEN.rows(())), F(9, 10)
    bonus = rate**2 * (1 - rate) / (1 - rate**3)
    assert bonus == F(81, 271)
    assert list(law) == [(1 - bonus) * x + bonus * y for x, y in zip(induced, p, strict=True)]
    relaxed = exact.long_run(Tokenwise(theory.Lenience(F(1, 2)), "relaxed"), GOLDEN, 2)
    assert list(relaxed.token_law) == list(induced)


PAIR = markov_pair(
    [[F(1, 2), F(1, 2), F(0)], [F(1, 4), F(1, 4), F(1, 2)], [F(1, 5), F(2, 5), F(2, 5)]],
    [[F(1, 4), F(1, 2), F(1, 4)], [F(1, 3), F(1, 3), F(1, 3)], [F(3, 5), F(1, 5), F(1, 5)]],
)


@pytest.mark.parametrize("rule", [rule for rule in RULES if isinstance(rule, Tokenwise)], ids=str)
@pytest.mark.parametrize("gamma", [1, 2])
def test_the_hidden_chain_and_the_chain_of_block_starts_agree(rule, gamma):
    first, second = markov.long_run(rule, PAIR, gamma), markov.long_run_by_blocks(rule, PAIR, gamma)
    assert first.tokens_per_call == second.tokens_per_call
    assert list(first.token_law) == list(second.token_law)
    assert list(first.start_law) == list(second.start_law)


def test_lossless_long_runs_have_the_targets_law_and_start_where_blocks_end():
    target = linear.stationary(np.array(PAIR.target.rows))
    for rule in [*LOSSLESS, *JOINT]:
        run = exact.long_run(rule, PAIR, 2)
        assert list(run.token_law) == list(target)
    run = exact.long_run(Tokenwise(theory.Strict()), PAIR, 2)
    by_start = [enumeration.block_efficiency(Tokenwise(theory.Strict()), PAIR, 2, c) for c in run.states.contexts]
    assert run.tokens_per_call == sum(w * e for w, e in zip(run.start_law, by_start, strict=True))
    naive = sum(w * e for w, e in zip(target, by_start, strict=True))
    assert naive != run.tokens_per_call, "blocks do not start at the stationary law of the text"


@pytest.mark.parametrize("rule", [Tokenwise(theory.Lenience(0.3)), BlockVerification()], ids=str)
def test_long_runs_against_an_end_to_end_decode(rule):
    pair = markov_pair(*(np.array(m.rows, float) for m in (PAIR.target, PAIR.draft)))
    run = exact.long_run(rule, pair, 3)
    decoded = monte_carlo.decode(rule, pair, 3, 400, 500, np.random.default_rng(42))
    counts = decoded.counts
    # 500 independent texts: a normal interval over texts at 1e-9 in all, and 400 tokens make the start's effect small
    per_text = np.array([[c.emitted.sum(), len(c)] for c in counts.by_request().values()], float)
    ratio = per_text[:, 0].sum() / per_text[:, 1].sum()
    spread = (per_text[:, 0] - ratio * per_text[:, 1]).std() / per_text[:, 1].mean() / np.sqrt(500)
    assert abs(ratio - float(run.tokens_per_call)) < 6.5 * spread + 4 / 400
    shares = np.array([(decoded.tokens == token).mean(axis=1) for token in range(3)])
    error = shares.std(axis=1) / np.sqrt(500)
    assert (np.abs(shares.mean(axis=1) - run.token_law) < 6.5 * error + 2 / 400).all()


def test_iid_long_runs_are_the_closed_forms():
    for gamma in (1, 5):
        for rule in (Tokenwise(theory.Strict()), Tokenwise(theory.Lenience(F(1, 3)))):
            run = exact.long_run(rule, GOLDEN, gamma)
            assert run.tokens_per_call == theory.block_efficiency(rule.verifier.acceptance_rate(*GOLDEN.rows(())), gamma)


def test_hidden_chain_rows_are_laws():
    hidden = chain.hidden_chain(Tokenwise(theory.SpecCascade(F(1, 2))), PAIR, 2)
    assert (hidden.tokens.sum(axis=-1) == 1).all()
    assert (hidden.transition().sum(axis=-1) == 1).all()
    assert hidden.transition().shape == (9, 9)


def test_a_long_run_that_depends_on_chance_or_never_ends_its_states_is_refused():
    stuck = markov_pair([[F(1), F(0)], [F(0), F(1)]], [[F(1), F(0)], [F(0), F(1)]])
    assert list(exact.long_run(Tokenwise(theory.Strict()), stuck, 1).token_law) == [1, 0], "one class is reached from the start"
    three = markov_pair([[F(0), F(1, 2), F(1, 2)], [F(0), F(1), F(0)], [F(0), F(0), F(1)]], [[F(1, 3)] * 3] * 3)
    with pytest.raises(ValueError, match="2 recurrent classes"):
        exact.long_run(Tokenwise(theory.Strict()), three, 1)
    with pytest.raises(ValueError, match="more than 4096 states"):
        exact.long_run(Tokenwise(theory.Strict()), random(3, 1), 1)
    with pytest.raises(ValueError, match="only a Tokenwise decoder"):
        chain.hidden_chain(BlockVerification(), PAIR, 1)


# --- Monte Carlo ------------------------------------------------------------------------------------------------------

ALPHA = 1e-9 / 200


@pytest.mark.parametrize("pair", [TOY, GOLDEN, DEPENDENT, PAIR], ids=["toy", "golden", "dependent", "markov"])
@pytest.mark.parametrize("rule", [*JOINT, Tokenwise(theory.Lenience(F(1, 2))), GreedyBlock()], ids=str)
def test_estimates_have_the_names_and_values_of_exact(rule, pair):
    rng = np.random.default_rng([43, *map(ord, str(rule))])
    bound = scipy.stats.norm.isf(ALPHA)
    for name in ("length_pmf", "accepted_length", "block_efficiency"):
        value, stderr, n = getattr(monte_carlo, name)(rule, pair, 2, 50_000, rng)
        assert n == 50_000
        wanted = np.asarray(getattr(exact, name)(rule, pair, 2), dtype=float)
        np.testing.assert_array_less(np.abs(value - wanted), bound * stderr + 1e-12)
    for ending in ("target", "decoder"):
        value, stderr, _ = monte_carlo.induced_sequence(rule, pair, 2, 50_000, rng, 3, continue_with=ending)
        wanted = exact.induced_sequence(rule, pair, 2, 3, continue_with=ending).astype(float)
        assert (value[wanted == 0] == 0).all()
        counts, expected = value[wanted > 0] * 50_000, wanted[wanted > 0] * 50_000
        rare = expected < 10
        counts, expected = np.append(counts[~rare], counts[rare].sum()), np.append(expected[~rare], expected[rare].sum())
        held = expected > 0
        if held.sum() > 1:
            assert scipy.stats.chisquare(counts[held], expected[held] * counts.sum() / expected.sum()).pvalue > ALPHA


def test_the_seed_alone_decides_whatever_the_number_of_workers(monkeypatch):
    monkeypatch.setattr("theory.monte_carlo.blocks.PATHS", 500)
    runs = [
        monte_carlo.decode(BlockVerification(), random(3, 1), 2, 6, 1700, np.random.default_rng(44), workers=workers)
        for workers in (1, 2)
    ]
    assert (runs[0].tokens == runs[1].tokens).all()
    assert (runs[0].counts.accepted == runs[1].counts.accepted).all()
    other = monte_carlo.decode(BlockVerification(), random(3, 1), 2, 6, 1700, np.random.default_rng(45))
    assert (runs[0].tokens != other.tokens).any()
    first, last = runs[0].tokens[:500], runs[0].tokens[500:1000]
    assert (first != last).any(), "tasks do not share a stream"


def test_decoded_counts_add_up():
    decoded = monte_carlo.decode(Tokenwise(theory.Strict()), as_floats(GOLDEN), 3, 11, 40, np.random.default_rng(46))
    by_text = decoded.counts.by_request()
    assert decoded.tokens.shape == (40, 11)
    assert len(by_text) == 40
    assert all(counts.emitted.sum() == 11 for counts in by_text.values())
    assert (decoded.counts.drafted == 3).all()
    assert ((decoded.tokens >= 0) & (decoded.tokens < 4)).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: monte_carlo.length_pmf(BlockVerification(), TOY, 0, 10, np.random.default_rng(0)), "gamma = 0"),
        (lambda: monte_carlo.length_pmf(BlockVerification(), TOY, 1, 0, np.random.default_rng(0)), "n = 0"),
        (lambda: monte_carlo.length_pmf(BlockVerification(), TOY, 1, 5, np.random.default_rng(0), workers=0), "workers = 0"),
        (lambda: monte_carlo.decode(BlockVerification(), TOY, 1, 0, 5, np.random.default_rng(0)), "length = 0"),
        (
            lambda: monte_carlo.induced_sequence(BlockVerification(), TOY, 1, 5, np.random.default_rng(0), 30),
            r"a law over 2\^30 texts does not fit; use theory\.monte_carlo\.decode",
        ),
    ],
)
def test_bad_runs(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# --- linear systems ---------------------------------------------------------------------------------------------------


@given(st.integers(1, 5), st.integers(0, 2**32))
def test_solutions_solve_and_laws_are_stationary_in_both_arithmetics(size, seed):
    rng = np.random.default_rng(seed)
    rows = theory.normalise([[F(int(x)) for x in row] for row in rng.integers(1, 9, (size, size))])
    law = linear.stationary(rows)
    assert list(law @ rows) == list(law)
    assert sum(law) == 1
    np.testing.assert_allclose(linear.stationary(rows.astype(float)), law.astype(float), atol=1e-12)
    matrix, right = np.array([[F(int(x)) for x in row] for row in rng.integers(-5, 6, (size, size))]), np.array([F(1)] * size)
    if round(np.linalg.det(matrix.astype(float))) != 0:
        assert list(matrix @ linear.solve(matrix, right)) == list(right)


@pytest.mark.parametrize("kind", [float, object])
def test_singular_systems_are_refused(kind):
    with pytest.raises(ValueError, match="singular"):
        linear.solve(np.array([[1, 1], [1, 1]], dtype=kind) * (F(1) if kind is object else 1.0), np.array([1, 2], dtype=kind))


def test_pairs_of_mixed_orders_have_the_states_of_the_longer():
    pair = Pair(IID([0.5, 0.5]), Markov(np.full((2, 2, 2), 0.5)))
    assert len(chain.states(pair).contexts) == 4
    assert Random(2, 0).state((1, 0)) == (1, 0)
