"""Block rules on rows taken as i.i.d. positions: against enumeration, Monte Carlo, and each other."""

import numpy as np
import pytest
import scipy.stats

import theory
from tests import cases
from tests.test_blocks import OPTIONS, TOY
from theory import blocks, compare_blocks, exact, monte_carlo
from theory.blocks import BlockVerification, GreedyBlock, HierarchicalVerification, Tokenwise
from theory.models import iid

RULES = [Tokenwise(theory.Strict()), BlockVerification(), HierarchicalVerification(), GreedyBlock(), Tokenwise(theory.CoS(0.5))]


@pytest.mark.parametrize("name", OPTIONS)
def test_one_pair_of_rows_has_the_enumerated_law(name):
    p, q = OPTIONS[name]
    table = compare_blocks.length_laws(RULES, p, q, 3)
    for rule in RULES:
        wanted = exact.length_pmf(rule, iid(p, q), 3).astype(float)
        np.testing.assert_allclose(table.loc[table["rule"] == str(rule), "probability"], wanted, atol=1e-12)


def test_positions_that_draw_their_rows_anew(monkeypatch):
    """Against a Monte Carlo run in which each position of each path has a row at random."""
    rng = np.random.default_rng(50)
    p, q = rng.dirichlet(np.ones(6), 5), rng.dirichlet(np.ones(6), 5)
    n, gamma = 100_000, 4
    at = rng.integers(0, 5, (n, gamma + 1))
    tokens = np.empty((n, gamma), dtype=int)
    for row in range(5):
        here = at[:, :-1] == row
        tokens[here] = theory.sample(q[row], rng, int(here.sum()))
    table = compare_blocks.length_laws(RULES, p, q, gamma)
    for rule in RULES:
        kept = rule.verify(blocks.Draft(p, q, tokens, at), rng).kept
        law = table.loc[table["rule"] == str(rule), "probability"].to_numpy()
        assert scipy.stats.chisquare(np.bincount(kept, minlength=gamma + 1), law * n / law.sum()).pvalue > 1e-9 / 5


def test_large_stacks_are_bracketed_and_hold_the_small_exact_case():
    rng = np.random.default_rng(51)
    p = rng.dirichlet(np.full(400, 0.2), 60)
    q = 0.5 * p + 0.5 * rng.dirichlet(np.full(400, 0.2), 60)
    law = compare_blocks.length_laws([BlockVerification()], p, q, 5)
    assert set(law["route"]) == {"bounds"}
    assert 0 < law["error"].iloc[0] < 1e-4
    assert law["probability"].sum() == pytest.approx(1)
    pair = iid((p / 60).ravel(), (q / 60).ravel())
    estimate = monte_carlo.accepted_length(BlockVerification(), pair, 5, 1000, rng)
    assert estimate.value > 0
    token = compare_blocks.efficiencies([Tokenwise(theory.Strict())], p, q, [5])["accepted_length"].iloc[0]
    assert (law["accepted"] * law["probability"]).sum() > token


def test_efficiencies_are_means_of_the_laws_and_speedups_are_leviathans():
    table = compare_blocks.efficiencies(RULES, cases.GOLDEN_P, cases.GOLDEN_Q, [1, 2, 5], cost=0.1)
    assert list(table["gamma"]) == [1, 2, 5] * len(RULES)
    for row in table.to_dict("records"):
        rule = next(rule for rule in RULES if str(rule) == row["rule"])
        law = compare_blocks.length_laws([rule], cases.GOLDEN_P, cases.GOLDEN_Q, row["gamma"])
        assert row["accepted_length"] == pytest.approx((law["accepted"] * law["probability"]).sum())
        assert row["speedup"] == pytest.approx((row["accepted_length"] + 1) / (0.1 * row["gamma"] + 1))


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("block", BlockVerification()),
        ("hierarchical", HierarchicalVerification()),
        ("greedy-block", GreedyBlock()),
        ("strict", Tokenwise(theory.Strict())),
        ("tokenwise:lenience:0.4", Tokenwise(theory.Lenience(0.4))),
        ("spec-cascade:0.5,fallback=target,bonus=relaxed", Tokenwise(theory.SpecCascade(0.5, "target"), "relaxed")),
    ],
)
def test_short_names(text, rule):
    assert blocks.parse(text) == rule
    assert blocks.parse(str(rule)) == rule


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: blocks.parse("blok"),
            "no block verifier or token verifier is called 'blok'; there are: adaptive-interpolation, block",
        ),
        (lambda: blocks.parse("block:3"), r"cannot place '3'; the arguments are \(none\)"),
        (lambda: blocks.parse("strict,bonus=draft"), "bonus = 'draft': must be one of target, relaxed"),
        (lambda: compare_blocks.length_laws([3], *TOY.rows(()), 2), r"rules\[0\] = 3: must be a BlockVerifier"),
        (lambda: compare_blocks.efficiencies(RULES, *TOY.rows(()), [0]), "gammas = 0"),
        (lambda: compare_blocks.efficiencies(RULES, *TOY.rows(()), [1], cost=-1), "cost = -1"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
