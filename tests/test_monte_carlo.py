"""Procedures against exact laws by chi-square, at a failure probability of 1e-9 for the whole file, with controls.

Seeds are fixed, so that a failure repeats. `ALPHA` is that probability shared out over all the tests made here.
"""

from dataclasses import dataclass
from fractions import Fraction as F

import numpy as np
import pytest
import scipy.stats

import theory
from tests import cases, oracles
from theory import exact, monte_carlo
from theory.truncation import MinP
from theory.verifiers.truncating import REDRAFT_ROUNDS

N = 200_000
ALPHA = 1e-9 / 2000  # fewer than two thousand statistics are looked at

PAIRS = {
    "golden": (cases.GOLDEN_P, cases.GOLDEN_Q),
    "zeros": ([F(1, 2), F(0), F(1, 4), F(1, 4), F(0)], [F(1, 8), F(1, 4), F(0), F(5, 8), F(0)]),
    "disjoint": ([F(1, 3), F(2, 3), F(0), F(0)], [F(0), F(0), F(1, 2), F(1, 2)]),
    "equal": ([F(3, 5), F(1, 5), F(1, 5)], [F(3, 5), F(1, 5), F(1, 5)]),
    "one token": ([F(1)], [F(1)]),
    "one-hot draft": ([F(1, 2), F(1, 4), F(1, 4)], [F(0), F(0), F(1)]),
    "overconfident": ([F(1, 10), F(2, 10), F(7, 10)], [F(8, 10), F(1, 10), F(1, 10)]),
}


def rows(pair):
    return tuple(np.array([float(x) for x in row]) for row in pair)


def branch_counts(verifier, p, q, drafted, rng):
    """Counts of (accepted, token), in the order of `oracles.enumerate_branches`."""
    accepted, token = verifier.verify(p, q, drafted, rng)
    return np.bincount(np.where(accepted, 0, p.size) + token, minlength=2 * p.size)


def p_value(counts, law):
    """Chi-square against a law; a count where the law has nothing is impossible, and so has p-value 0."""
    expected = np.asarray(law, dtype=float)
    if counts[expected == 0].any():
        return 0.0
    counts, expected = counts[expected > 0], expected[expected > 0] * counts.sum()
    assert expected.min() > 20 or expected.size == 1, "cells too small for chi-square"
    return scipy.stats.chisquare(counts, expected * counts.sum() / expected.sum()).pvalue if expected.size > 1 else 1.0


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("verifier", cases.RATIONAL, ids=str)
def test_procedure_follows_the_law_jointly_in_coin_and_token(verifier, name):
    pair = [np.array(row, dtype=object) for row in PAIRS[name]]
    p, q = rows(pair)
    rng = np.random.default_rng([1, *map(ord, str(verifier) + name)])
    counts = branch_counts(verifier, p, q, theory.sample(q, rng, N), rng)
    law = list(oracles.enumerate_branches(verifier, *pair).values())
    assert p_value(counts, law) > ALPHA


@pytest.mark.parametrize("verifier", cases.FLOATS, ids=str)
def test_procedure_on_long_float32_rows_with_a_tail(verifier):
    rng = np.random.default_rng(18)
    p = theory.normalise((rng.dirichlet(np.full(300, 0.05)) + 1e-7).astype(np.float32))
    q = theory.normalise((0.5 * p + 0.5 * rng.dirichlet(np.full(300, 0.05))).astype(np.float32))
    counts = np.bincount(verifier.verify(p, q, theory.sample(q, rng, N), rng).token, minlength=300)
    expected = verifier.induced(p, q).astype(np.float64)
    assert not counts[expected == 0].any()
    expected *= N / expected.sum()
    rare = expected < 20
    counts, expected = np.append(counts[~rare], counts[rare].sum()), np.append(expected[~rare], expected[rare].sum())
    held = expected > 1e-9
    if held.sum() > 1:
        assert scipy.stats.chisquare(counts[held], expected[held] * counts[held].sum() / expected[held].sum()).pvalue > ALPHA


@pytest.mark.parametrize("mu", [0.1, 0.5])
def test_procedure_of_irrational_rules(mu):
    p, q = rows(PAIRS["golden"])
    verifier = theory.ContrastiveCoS(mu)
    rng = np.random.default_rng(2)
    counts = branch_counts(verifier, p, q, theory.sample(q, rng, N), rng)
    assert p_value(counts, list(oracles.enumerate_branches(verifier, p, q).values())) > ALPHA


@pytest.mark.parametrize("verifier", cases.CONTROLS, ids=lambda control: type(control).__name__)
def test_lossy_controls_are_told_from_the_target(verifier):
    p, q = rows(PAIRS["overconfident"])
    rng = np.random.default_rng(3)
    tokens = verifier.verify(p, q, theory.sample(q, rng, N), rng).token
    assert p_value(np.bincount(tokens, minlength=p.size), p) < ALPHA


def test_strict_verification_of_drafts_from_another_law_is_told_from_the_target():
    p, q = rows(PAIRS["golden"])
    rng = np.random.default_rng(4)
    uniform = rng.integers(0, p.size, N)
    tokens = theory.Strict().verify(p, q, uniform, rng).token
    assert p_value(np.bincount(tokens, minlength=p.size), p) < ALPHA
    tokens = theory.Strict().verify(p, q, theory.sample(q, rng, N), rng).token
    assert p_value(np.bincount(tokens, minlength=p.size), p) > ALPHA


@dataclass(frozen=True)
class OnlyALaw(theory.TokenVerifier):
    """A user's rule of two methods, whose procedure is the default; its residual depends on the draft."""

    residual_depends_on_draft = True

    def acceptance(self, p, q):
        return theory.ExactMatch().acceptance(p, q)

    def residual(self, p, q):
        return theory.ExactMatch().residual(p, q)

    def residual_given(self, p, q, drafted):
        return theory.ExactMatch().residual_given(p, q, drafted)


@pytest.mark.parametrize("verifier", [OnlyALaw(), cases.TwiceLenient()], ids=lambda rule: type(rule).__name__)
def test_default_procedure_follows_the_law(verifier):
    p, q = rows(PAIRS["zeros"])
    rng = np.random.default_rng(5)
    counts = branch_counts(verifier, p, q, theory.sample(q, rng, N), rng)
    assert p_value(counts, list(oracles.enumerate_branches(verifier, p, q).values())) > ALPHA


def test_redrafting_beyond_the_literal_rounds_keeps_its_law():
    p, q = np.array([0.5, 0.4, 0.1]), np.array([0.002, 0.001, 0.997])
    verifier = theory.SpecCascade(0.5)
    assert (1 - 0.003) ** REDRAFT_ROUNDS > 0.9, "most draws go beyond them"
    tokens = verifier.verify(p, q, theory.sample(q, np.random.default_rng(6), N), np.random.default_rng(7)).token
    assert p_value(np.bincount(tokens, minlength=3), [2 / 3, 1 / 3, 0]) > ALPHA


# --- estimates ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verifier", cases.FLOATS, ids=str)
def test_the_same_names_as_exact_and_within_their_error(verifier):
    p, q = rows(PAIRS["golden"])
    rng = np.random.default_rng([8, *map(ord, str(verifier))])
    bound = scipy.stats.norm.isf(ALPHA)
    for name in ("acceptance_rate", "induced"):
        value, stderr, n = getattr(monte_carlo, name)(verifier, p, q, N, rng)
        assert n == N
        # stderr is estimated from the same draws, so it may be 0 where a share is 0 or 1: those must be exact
        np.testing.assert_array_less(np.abs(value - getattr(exact, name)(verifier, p, q)), bound * stderr + 1e-12)
    estimate, true = monte_carlo.total_variation(verifier, p, q, N, rng), exact.total_variation(verifier, p, q)
    assert abs(estimate.value - true) < bound * estimate.stderr + 10 / N


def test_total_variation_has_no_upward_bias_on_a_lossless_rule_with_many_tokens():
    p = np.random.default_rng(9).dirichlet(np.ones(2000))
    q = np.random.default_rng(10).dirichlet(np.ones(2000))
    estimate = monte_carlo.total_variation(theory.Strict(), p, q, 20_000, np.random.default_rng(11))
    shares = monte_carlo.induced(theory.Strict(), p, q, 20_000, np.random.default_rng(11)).value
    assert theory.total_variation(shares, p) > 0.1, "the plug-in estimate is off by that"
    assert abs(estimate.value) < scipy.stats.norm.isf(ALPHA) * estimate.stderr


def test_many_pairs_and_reproducible_runs():
    rng = np.random.default_rng(12)
    p, q = rng.dirichlet(np.ones(4), (2, 1)), rng.dirichlet(np.ones(4), 3)
    for name, shape in (("acceptance_rate", (2, 3)), ("induced", (2, 3, 4)), ("total_variation", (2, 3))):
        run = getattr(monte_carlo, name)
        first = run(theory.Lenience(0.5), p, q, 1000, np.random.default_rng(13))
        again = run(theory.Lenience(0.5), p, q, 1000, np.random.default_rng(13))
        assert first.value.shape == first.stderr.shape == shape
        assert (first.value == again.value).all()


def test_verify_takes_any_number_of_drafts_for_each_pair():
    rng = np.random.default_rng(14)
    p, q = rng.dirichlet(np.ones(6), 5), rng.dirichlet(np.ones(6), 5)
    drafted = theory.sample(q, rng, (3, 2))
    for verifier in cases.FLOATS:
        accepted, token = verifier.verify(p, q, drafted, rng)
        assert accepted.shape == token.shape == (3, 2, 5)
        assert (token[accepted] == drafted[accepted]).all()
    assert np.ndim(theory.Strict().verify(p[0], q[0], 2, rng).token) == 0


@pytest.mark.parametrize(
    ("drafted", "message"),
    [
        ([0, 4], r"drafted\[1\] = 4: tokens are in 0\.\.3"),
        ([-1], r"drafted\[0\] = -1"),
        ([0.5], "drafted has dtype float64"),
    ],
)
def test_bad_drafts(drafted, message):
    p, q = rows(PAIRS["golden"])
    with pytest.raises(ValueError, match=message):
        theory.Strict().verify(p, q, drafted, np.random.default_rng(0))


def test_drafts_that_do_not_fit_the_rows():
    p = np.full((3, 2), 0.5)
    with pytest.raises(ValueError, match=r"drafted has shape \(2,\): its last axes must be those of the rows, \(3,\)"):
        theory.Strict().verify(p, p, [0, 1], np.random.default_rng(0))


@pytest.mark.parametrize(("name", "n"), [("acceptance_rate", 0), ("induced", 1.5), ("total_variation", 1)])
def test_bad_numbers_of_draws(name, n):
    with pytest.raises(ValueError, match="n = "):
        getattr(monte_carlo, name)(theory.Strict(), [1.0], [1.0], n, np.random.default_rng(0))


def test_truncation_sampling_runs_on_its_own_target():
    p, q = rows(PAIRS["golden"])
    tokens = theory.TruncationSampling(MinP(0.5)).verify(p, q, np.zeros(N, int), np.random.default_rng(15)).token
    assert set(np.unique(tokens)) == {0}, "token 0 is under-drafted, so it is always kept"


def test_many_batches_make_one_estimate(monkeypatch):
    p, q = rows(PAIRS["golden"])
    monkeypatch.setattr("theory.monte_carlo.tokens.BATCH", 1000)
    value, _, n = monte_carlo.induced(theory.Lenience(0.5), p, q, 50_500, np.random.default_rng(16))
    assert n == 50_500
    counts = value * n
    assert counts.sum() == pytest.approx(n)
    assert p_value(np.round(counts).astype(int), theory.Lenience(0.5).induced(p, q)) > ALPHA


@pytest.mark.parametrize("name", ["acceptance_rate", "total_variation"])
def test_standard_errors_are_neither_too_small_nor_too_large(name):
    """Squared deviations in units of stderr² average 1 over 400 runs: chi-square bounds at 1e-9; TV's error is an upper one."""
    p, q = rows(PAIRS["golden"])
    run, true = getattr(monte_carlo, name), getattr(exact, name)(theory.CoS(0.5), p, q)
    runs = [run(theory.CoS(0.5), p, q, 2000, np.random.default_rng([17, seed])) for seed in range(400)]
    ratio = sum(((value - true) / stderr) ** 2 for value, stderr, _ in runs) / 400
    low, high = scipy.stats.chi2.ppf([1e-9, 1 - 1e-9], 400) / 400
    assert (low if name == "acceptance_rate" else low / 2.2) < ratio < high


@pytest.mark.parametrize("name", ["acceptance_rate", "induced", "total_variation"])
def test_bad_generators_and_no_rows(name):
    with pytest.raises(ValueError, match=r"rng = 0: must be a numpy\.random\.Generator"):
        getattr(monte_carlo, name)(theory.Strict(), [1.0], [1.0], 10, 0)
    with pytest.raises(ValueError, match="no pair of rows"):
        getattr(monte_carlo, name)(theory.Strict(), np.zeros((0, 2)), np.zeros((0, 2)), 10, np.random.default_rng(0))


def test_progress_is_shown_on_long_runs_on_standard_error(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    for long, shown in ((11, False), (1, True)):
        monkeypatch.setattr("theory.monte_carlo.tokens.LONG", long)
        monte_carlo.acceptance_rate(theory.Strict(), [1.0], [1.0], 10, np.random.default_rng(0))
        out, err = capsys.readouterr()
        assert ("strict" in err, out) == (shown, "")
