"""Claims that hold for every verifier, exactly; each with a control that must fail."""

import importlib
import os
import pkgutil
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import theory
import theory.verifiers
from tests import cases, oracles
from theory import testing
from theory.truncation import MinP
from theory.verifiers import FALLBACKS, RULES
from theory.verifiers.truncating import Gate

rational_pairs = testing.pairs()
everywhere = pytest.mark.parametrize("verifier", cases.RATIONAL, ids=str)


def exact_array(values):
    return np.array(values, dtype=object)


# --- the table of rules ---------------------------------------------------------------------------------------------


def test_every_rule_of_the_package_is_in_the_table_and_in_the_tests():
    found = set()
    for module in pkgutil.iter_modules(theory.verifiers.__path__):
        for thing in vars(importlib.import_module(f"theory.verifiers.{module.name}")).values():
            if isinstance(thing, type) and issubclass(thing, theory.TokenVerifier) and not thing.__abstractmethods__:
                found.add(thing)
    assert found == set(RULES.values()) == {type(case) for case in cases.RATIONAL}


@pytest.mark.parametrize("rule", RULES.values(), ids=str)
def test_each_rule_states_its_claims_and_its_own_procedure(rule):
    for claim in ("name", "family", "formula", "claim", "source"):
        assert getattr(rule, claim), f"{rule.__name__}.{claim} is empty"
    assert rule.procedure is not theory.TokenVerifier.procedure
    assert getattr(theory, rule.__name__) is rule


@pytest.mark.parametrize("verifier", cases.FLOATS, ids=str)
def test_the_short_name_gives_the_rule_back(verifier):
    assert theory.parse(str(verifier)) == verifier


# --- laws -----------------------------------------------------------------------------------------------------------


@everywhere
@given(rational_pairs)
@example((exact_array([F(1)]), exact_array([F(1)])))
@example((exact_array([F(1), F(0)]), exact_array([F(0), F(1)])))
def test_law_is_a_law_and_equals_its_enumeration(verifier, pair):
    p, q = pair
    acceptance, residual, law = verifier.acceptance(p, q), verifier.residual(p, q), verifier.law(p, q)
    assert all(0 <= a <= 1 for a in acceptance)
    assert all(a == 1 for a, drafted in zip(acceptance, q, strict=True) if drafted == 0)
    assert all(r >= 0 for r in residual)
    assert sum(residual) == 1
    assert sum(law.induced) == 1
    assert law.acceptance_rate == verifier.acceptance_rate(p, q) == 1 - law.rejection_rate
    assert list(law.induced) == list(verifier.induced(p, q)) == oracles.enumerate_induced(verifier, p, q)


def law_by_acceptance_and_residual(verifier, p, q):
    """The general route, which the hooks `accepted` and `replaced`, and `law` itself, may shorten for a family."""
    accepted = q * verifier.acceptance(p, q)
    rejected = (q - accepted).sum(axis=-1, keepdims=True)
    return accepted.sum(axis=-1), rejected[..., 0][()], accepted + rejected * verifier.residual(p, q)


@everywhere
@given(rational_pairs)
@example((exact_array([F(1), F(0)]), exact_array([F(0), F(1)])))
@example((exact_array([F(1, 2), F(1, 2), F(0)]), exact_array([F(1, 2), F(1, 2), F(0)])))
def test_law_equals_the_general_route(verifier, pair):
    acceptance_rate, rejection_rate, induced = law_by_acceptance_and_residual(verifier, *pair)
    law = verifier.law(*pair)
    assert (law.acceptance_rate, law.rejection_rate, list(law.induced)) == (acceptance_rate, rejection_rate, list(induced))


@everywhere
@given(rational_pairs)
def test_residual_is_the_average_of_residual_given(verifier, pair):
    p, q = pair
    branches = oracles.enumerate_branches(verifier, p, q)
    rejected = 1 - verifier.acceptance_rate(p, q)
    averaged = [branches[False, token] for token in range(len(p))]
    assert averaged == [rejected * r for r in verifier.residual(p, q)]


@everywhere
def test_residual_given_depends_on_the_draft_iff_it_says_so(verifier):
    laws = verifier.residual_given(cases.GOLDEN_P, cases.GOLDEN_Q, [0, 1, 2, 3])
    assert laws.shape == (4, 4)
    assert any(list(law) != list(laws[0]) for law in laws) == verifier.residual_depends_on_draft


FALSIFYING = [
    tuple(map(exact_array, pair))
    for pair in (
        (cases.GOLDEN_P, cases.GOLDEN_Q),
        ([F(1, 2), F(1, 2)], [F(1), F(0)]),
        ([F(1, 3), F(1, 3), F(1, 3)], [F(1), F(0), F(0)]),
        ([F(1, 2), F(1, 2)], [F(3, 5), F(2, 5)]),
        ([F(9, 10), F(1, 10)], [F(1, 2), F(1, 2)]),
        ([F(999, 1000), F(1, 1000)], [F(0), F(1)]),
        ([F(1), F(0)], [F(0), F(1)]),
    )
]
"""Pairs on some of which every rule that is not lossless shows it."""


@everywhere
def test_lossless_claim(verifier):
    if verifier.lossless:
        testing.assert_lossless(verifier, examples=100 if os.environ.get("CI") else 50)
    else:
        assert any(list(verifier.induced(p, q)) != list(p) for p, q in FALSIFYING), "a rule that claims less than it keeps"


@pytest.mark.parametrize("verifier", cases.CONTROLS, ids=lambda control: type(control).__name__)
def test_negative_controls_fail_losslessness(verifier):
    with pytest.raises(AssertionError, match="does not induce the target"):
        testing.assert_lossless(verifier)


@everywhere
@given(rational_pairs)
def test_baseline_is_reached_by_the_rules_that_claim_it(verifier, pair):
    p, q = pair
    baseline = verifier.baseline(p)
    if verifier.family == "truncation sampling" or isinstance(verifier, theory.GreedyMatch):
        assert list(verifier.induced(p, q)) == list(baseline)
    elif isinstance(verifier, Gate):
        mask = verifier.gate().allowed(p)
        assert list(baseline) == oracles.renormalised([x if a else 0 for x, a in zip(p, mask, strict=True)])
    else:
        assert baseline is None


@pytest.mark.parametrize("verifier", [case for case in cases.RATIONAL if isinstance(case, Gate)], ids=str)
def test_gates_miss_the_baseline_that_they_are_sold_as(verifier):
    pairs = [
        (exact_array(cases.GOLDEN_P), exact_array(cases.GOLDEN_Q)),
        (exact_array([F(1, 2), F(1, 4), F(1, 4)]), exact_array([F(1, 4), F(1, 2), F(1, 4)])),
        (exact_array([F(1, 2), F(1, 2)]), exact_array([F(1, 4), F(3, 4)])),
    ]
    assert any(list(verifier.induced(p, q)) != list(verifier.baseline(p)) for p, q in pairs)


# --- the trade-off line ---------------------------------------------------------------------------------------------


@everywhere
@given(rational_pairs)
def test_no_rule_beats_the_trade_off_line_and_some_lie_on_it(verifier, pair):
    p, q = pair
    law = verifier.law(p, q)
    gap = oracles.tv(law.induced, p) + law.rejection_rate - oracles.tv(p, q)
    assert gap >= 0
    if cases.on_the_line(verifier):
        assert gap == 0


@everywhere
def test_rules_off_the_line_are_off_it_somewhere(verifier):
    if cases.on_the_line(verifier) or verifier == theory.SpecCascade(0):
        return  # p_base = 0 with a full support always accepts, which is on the line
    pairs = [
        (exact_array(cases.GOLDEN_P), exact_array(cases.GOLDEN_Q)),
        (exact_array([F(3, 4), F(1, 4), F(0)]), exact_array([F(1, 4), F(1, 2), F(1, 4)])),
    ]
    laws = [(verifier.law(p, q), p, q) for p, q in pairs]
    assert any(oracles.tv(law.induced, p) + law.rejection_rate > oracles.tv(p, q) for law, p, q in laws)


# --- published laws, piece by piece ---------------------------------------------------------------------------------


@given(rational_pairs, st.fractions(F(1, 20), 1, max_denominator=20))
def test_lenience_is_eq_10_under_its_ceiling(pair, lenience):
    p, q = pair
    verifier = theory.Lenience(lenience)
    induced = verifier.induced(p, q)
    assert list(induced) == oracles.eq_10(p, q, lenience)
    assert all(pi <= x / lenience for pi, x in zip(induced, p, strict=True))
    assert oracles.tv(induced, p) <= 1 - lenience


@given(rational_pairs, st.fractions(0, 1, max_denominator=20))
def test_cos_is_the_mixture(pair, lam):
    p, q = pair
    assert list(theory.CoS(lam).induced(p, q)) == list(lam * p + (1 - lam) * q)


@given(rational_pairs, st.fractions(F(1, 20), 1, max_denominator=20))
def test_adaptive_interpolation_in_accept_form_is_cos(pair, lam):
    p, q = pair
    assert list(theory.AdaptiveInterpolation(lam).induced(p, q)) == list(theory.CoS(lam).induced(p, q))


@given(rational_pairs, st.fractions(F(1, 20), 1, max_denominator=20))
def test_overshoot_ceiling_in_accept_form(pair, lam):
    p, q = pair
    induced = theory.OvershootCeiling(lam).induced(p, q)
    assert list(induced) == oracles.ceiling_law(p, q, lam)
    assert all(pi <= x / lam for pi, x in zip(induced, p, strict=True))


@given(rational_pairs)
def test_contrastive_cos_is_its_own_target(pair):
    p, q = pair
    unseen = [x if y == 0 else 0 for x, y in zip(p, q, strict=True)]
    weights = unseen if any(unseen) else [x / y if y else 0 for x, y in zip(p, q, strict=True)]
    assert list(theory.ContrastiveCoS(1).induced(p, q)) == oracles.renormalised(weights)


@given(rational_pairs, st.sampled_from(sorted(FALLBACKS)), st.sampled_from([F(0), F(1, 2), F(3, 5), F(1)]))
def test_truncation_verification_by_fallback(pair, fallback, p_base):
    p, q = pair
    allowed = [x > 0 and x >= p_base * max(p) for x in p]
    verifier = theory.SpecCascade(p_base, fallback)
    assert list(verifier.induced(p, q)) == oracles.gate_law(p, q, allowed, fallback)
    assert list(verifier.induced(p, q)) == list(theory.TruncationVerifier(MinP(p_base), fallback).induced(p, q))


@given(rational_pairs, st.sampled_from(sorted(FALLBACKS)))
def test_the_optimal_fallback_has_the_least_distance(pair, fallback):
    p, q = pair
    best = theory.SpecCascade(F(1, 2), "optimal").induced(p, q)
    assert oracles.tv(best, p) <= oracles.tv(theory.SpecCascade(F(1, 2), fallback).induced(p, q), p)


@given(rational_pairs)
def test_hybrid_ceiling_yields_the_draft_on_the_set_and_the_ceiling_off_it(pair):
    p, q = pair
    p_base, lenience = F(1, 2), F(2, 5)
    kept = [y if x > 0 and x >= p_base * max(p) else min(y, x / lenience) for x, y in zip(p, q, strict=True)]
    weights = [max(x - k, F(0)) for x, k in zip(p, kept, strict=True)]
    replacement = oracles.renormalised(weights) if sum(weights) else list(p)
    wanted = [k + (1 - sum(kept)) * r for k, r in zip(kept, replacement, strict=True)]
    assert list(theory.HybridCeiling(p_base, lenience).induced(p, q)) == wanted


@given(rational_pairs)
def test_lemma_1_truncating_the_target_moves_acceptance_by_gain_less_loss(pair):
    p, q = pair
    allowed = MinP(F(3, 5)).allowed(p)
    z = sum(x for x, a in zip(p, allowed, strict=True) if a)
    gain = sum(min(max(y - x, F(0)), (1 / z - 1) * x) for x, y, a in zip(p, q, allowed, strict=True) if a)
    loss = sum(min(x, y) for x, y, a in zip(p, q, allowed, strict=True) if not a)
    truncated = theory.TruncationSampling(MinP(F(3, 5))).acceptance_rate(p, q)
    assert truncated - theory.Strict().acceptance_rate(p, q) == gain - loss


def test_lemma_1_on_the_golden_pair():
    change = [
        theory.TruncationSampling(MinP(p_base)).acceptance_rate(cases.GOLDEN_P, cases.GOLDEN_Q) - F(3, 4)
        for p_base in (F(1, 2), F(3, 5))
    ]
    assert change == [F(-7, 90), F(-3, 10)]


def test_redrafting_with_nothing_to_draft_on_the_set_falls_back_to_the_truncated_target():
    p, q = [F(1, 2), F(1, 4), F(1, 4)], [F(0), F(0), F(1)]
    verifier = theory.SpecCascade(F(1, 2), "redraft")
    assert list(verifier.induced([F(3, 5), F(3, 10), F(1, 10)], q)) == [F(2, 3), F(1, 3), 0]
    assert list(verifier.induced(p, q)) == [0, 0, 1]


def test_paper_section_4_values():
    p, q = cases.GOLDEN_P, cases.GOLDEN_Q
    assert list(theory.OvershootCeiling(F(2, 5)).induced(p, q)) == [F(32, 125), F(33, 125), F(23, 100), F(1, 4)]
    law = theory.OvershootCeiling(F(3, 4)).law(p, q)
    assert list(law.induced) == [F(109, 300), F(349, 1200), F(17, 80), F(2, 15)]
    assert law.rejection_rate == F(49, 240)
    p, q = [F(1, 2), F(3, 10), F(3, 20), F(1, 20)], [F(1, 5), F(3, 10), F(1, 10), F(2, 5)]
    law = theory.OvershootCeiling(F(1, 2)).law(p, q)
    assert law.rejection_rate == F(3, 10)
    assert list(law.induced) == [F(16, 35), F(3, 10), F(1, 7), F(1, 10)]
    assert list(law.induced) == list(theory.Lenience(F(1, 2)).induced(p, q))
    optimal = theory.SpecCascade(F(1, 2), "optimal").law(cases.GOLDEN_P, cases.GOLDEN_Q)
    assert list(optimal.induced) == [F(13, 35), F(41, 140), F(1, 4), F(3, 35)]
    assert (oracles.tv(optimal.induced, cases.GOLDEN_P), optimal.rejection_rate) == (F(1, 20), F(3, 10))


# --- floats ---------------------------------------------------------------------------------------------------------

smooth = [case for case in cases.FLOATS if not isinstance(case, Gate) and "truncation" not in case.family]


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("verifier", cases.FLOATS, ids=str)
@given(data=st.data())
def test_float_laws_are_laws_in_their_own_type(verifier, dtype, data):
    p, q = data.draw(testing.pairs(rows=lambda size: testing.float_rows(size, dtype)))
    law = verifier.law(p, q)
    assert law.induced.dtype == dtype
    assert np.isfinite(law.induced).all()
    assert (law.induced >= 0).all()
    slack = 64 * np.finfo(dtype).eps
    assert abs(law.induced.sum(dtype=np.float64) - 1) < slack
    assert abs(law.acceptance_rate + law.rejection_rate - 1) < slack
    if cases.on_the_line(verifier):
        gap = theory.total_variation(law.induced, p) + law.rejection_rate - theory.total_variation(p, q)
        assert abs(gap) < slack


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(
    "verifier",
    [case for case in cases.RATIONAL if type(case) in (theory.Strict, theory.Lenience, theory.CoS, theory.ExactMatch)],
    ids=str,
)
@given(data=st.data())
def test_float_laws_agree_with_exact_ones(verifier, dtype, data):
    p, q = data.draw(testing.pairs(rows=lambda size: testing.float_rows(size, dtype)))
    exact = [theory.normalise([F(float(x)) for x in row]) for row in (p, q)]
    wanted = oracles.as_floats(verifier.induced(*exact))
    np.testing.assert_allclose(verifier.induced(p, q), wanted, rtol=0, atol=64 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("verifier", cases.FLOATS, ids=str)
@pytest.mark.parametrize("holes", [0, 0.5])
def test_long_float_laws_equal_the_general_route(verifier, dtype, holes):
    rng = np.random.default_rng(11)
    p, q = (
        theory.normalise(rng.dirichlet(np.full(4200, 0.05), 3).astype(dtype) * (rng.random((3, 4200)) >= holes)).astype(dtype)
        for _ in "pq"
    )
    p[2], slack = q[2], 64 * np.finfo(dtype).eps
    acceptance_rate, rejection_rate, induced = law_by_acceptance_and_residual(verifier, p, q)
    law = verifier.law(p, q)
    np.testing.assert_allclose(law.acceptance_rate, acceptance_rate, rtol=slack, atol=slack / 64)
    np.testing.assert_allclose(law.rejection_rate, rejection_rate, rtol=slack, atol=slack / 64)
    np.testing.assert_allclose(law.induced, induced, rtol=slack, atol=slack / 64)


@pytest.mark.parametrize(
    "verifier", [theory.Strict(), theory.CoS(1), theory.AdaptiveInterpolation(1), theory.Lenience(1)], ids=str
)
def test_lossless_parameters_keep_tiny_masses(verifier):
    for p, q in (([1e-20, 1.0], [0.5, 0.5]), (np.array([1e-9, 1], np.float32), np.array([0.5, 0.5], np.float32))):
        np.testing.assert_allclose(verifier.induced(p, q), np.asarray(p), rtol=1e-6)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_tiny_parameters_give_laws_without_warnings(dtype):
    p, q = np.array([0.5, 0.5, 0], dtype), np.array([0.25, 0.25, 0.5], dtype)
    rng = np.random.default_rng(0)
    for tiny in (1e-50, 1e-310):
        for verifier in (
            theory.Lenience(tiny),
            theory.OvershootCeiling(tiny),
            theory.HybridCeiling(1, tiny),
            theory.AdaptiveInterpolation(tiny),
        ):
            law = verifier.induced(p, q)
            assert law.dtype == dtype
            assert law.sum() == pytest.approx(1)
            assert verifier.verify(p, q, [0, 1, 2, 2], rng).token.max() < 3
    assert theory.overshoot_mass(p, p, 1e39) == 0


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_draft_exactly_at_the_ceiling_is_under_it(dtype):
    for n in range(1, 40):
        for k in range(1, 10):
            lam = k / 10
            p, q = np.array([n * lam, 100 - n * lam], dtype) / dtype(100), np.array([n, 100 - n], dtype) / dtype(100)
            wanted = lam * p[0] + (1 - lam) * q[0]
            assert theory.OvershootCeiling(lam).law(p, q).induced[0] == pytest.approx(wanted, rel=1e-5), (n, k)


def test_ceilings_are_what_the_rules_state():
    for verifier in cases.RATIONAL:
        if verifier.ceiling is not None:
            for p, q in ((cases.GOLDEN_P, cases.GOLDEN_Q), ([F(1, 100), F(99, 100)], [F(1), F(0)])):
                assert all(pi <= verifier.ceiling * x for pi, x in zip(verifier.induced(p, q), p, strict=True))
    assert theory.Lenience(F(2, 5)).ceiling == F(5, 2)
    assert theory.CoS(F(1, 2)).ceiling is None


def test_rows_broadcast_one_pair_a_trace_and_a_grid():
    rng = np.random.default_rng(7)
    p, q = rng.dirichlet(np.ones(5), (3, 1)), rng.dirichlet(np.ones(5), (1, 4))
    for verifier in cases.FLOATS:
        law = verifier.law(p, q)
        assert law.induced.shape == (3, 4, 5)
        assert law.acceptance_rate.shape == law.rejection_rate.shape == (3, 4)
        for i in range(3):
            for j in range(4):
                np.testing.assert_allclose(law.induced[i, j], verifier.induced(p[i, 0], q[0, j]), rtol=0, atol=1e-15)


def test_contrastive_cos_on_fractions_refuses_an_irrational_power():
    with pytest.raises(ValueError, match=r"mu = 0\.5: on Fractions"):
        theory.ContrastiveCoS(0.5).induced(cases.GOLDEN_P, cases.GOLDEN_Q)


def test_contrastive_cos_survives_tiny_masses():
    p, q = np.array([1e-300, 1 - 1e-16, 1e-16]), np.array([5e-324, 0.5, 0.5])
    assert theory.ContrastiveCoS(1.0).induced(p, q).sum() == pytest.approx(1)
