"""Ensembles: the static one is CoS under the other convention; the geometric one by its formula, its limits and its minimum."""

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theory
from tests import cases, oracles
from theory import testing

P, Q = oracles.as_floats(cases.GOLDEN_P), oracles.as_floats(cases.GOLDEN_Q)


@given(testing.pairs(), st.fractions(0, 1, max_denominator=20))
def test_the_static_ensemble_is_cos_with_the_weight_on_the_draft(pair, weight):
    p, q = pair
    law, cos = theory.StaticEnsemble(weight).law(p, q), theory.CoS(1 - weight).law(p, q)
    assert list(law.induced) == list(weight * q + (1 - weight) * p) == list(cos.induced)
    assert law.acceptance_rate == cos.acceptance_rate


def test_the_geometric_ensemble_on_the_golden_pair():
    law = theory.GeometricEnsemble(0.5).law(P, Q)
    np.testing.assert_allclose(law.induced, [0.296631, 0.287212, 0.234508, 0.181649], atol=5e-7)
    assert round(float(law.acceptance_rate), 6) == 0.866157
    assert theory.total_variation(law.induced, P) + law.rejection_rate == pytest.approx(0.25)


@given(testing.pairs(rows=testing.float_rows), st.sampled_from([0.01, 0.3, 0.5, 0.99]))
def test_the_geometric_ensemble_by_its_formula(pair, weight):
    p, q = pair
    induced = theory.GeometricEnsemble(weight).induced(p, q)
    both = (p > 0) & (q > 0)
    if not both.any():
        assert list(induced) == list(p)
        return
    logs = np.where(both, weight * np.log(np.where(both, q, 1)) + (1 - weight) * np.log(np.where(both, p, 1)), -np.inf)
    weights = np.exp(logs - logs.max())
    np.testing.assert_allclose(induced, weights / weights.sum(), rtol=1e-12, atol=1e-15)


def test_it_minimises_the_weighted_divergences():
    rng = np.random.default_rng(3)
    p, q = rng.dirichlet(np.ones(5), 2)
    law = theory.GeometricEnsemble(0.3).induced(p, q)
    others = theory.normalise(law * np.exp([[1e-3], [0.1], [1]] * rng.standard_normal((1000, 3, 5))))  # near and far

    def cost(v):
        return 0.3 * theory.kl_divergence(v, q) + 0.7 * theory.kl_divergence(v, p)

    assert (cost(others) > cost(law)).all()
    assert cost(theory.GeometricEnsemble(0.31).induced(p, q)) > cost(law)


def test_it_is_off_the_best_trade_off_in_general():
    rng = np.random.default_rng(4)
    p, q = rng.dirichlet(np.full(6, 0.5), (2, 200))
    law = theory.GeometricEnsemble(0.5).law(p, q)
    gap = theory.total_variation(law.induced, p) + law.rejection_rate - theory.total_variation(p, q)
    assert (gap > -1e-12).all()
    assert (gap > 1e-3).mean() > 0.25


def test_a_token_that_one_model_excludes_is_lost_at_any_weight():
    for weight in (1e-9, 1 - 1e-9):
        assert theory.GeometricEnsemble(weight).induced([0.5, 0.5, 0.0], [0.0, 0.5, 0.5])[1] == 1


def test_on_fractions_only_the_ends_are_rational():
    with pytest.raises(ValueError, match=r"draft_weight = Fraction\(1, 2\): on Fractions"):
        theory.GeometricEnsemble(F(1, 2)).induced(cases.GOLDEN_P, cases.GOLDEN_Q)
    assert list(theory.GeometricEnsemble(1).induced(cases.GOLDEN_P, cases.GOLDEN_Q)) == cases.GOLDEN_Q


@pytest.mark.parametrize("rule", [theory.StaticEnsemble, theory.GeometricEnsemble])
def test_bad_parameters(rule):
    with pytest.raises(ValueError, match=r"draft_weight = 2: must be a number in \[0, 1\]"):
        rule(2)
