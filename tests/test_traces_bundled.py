"""The bundled trace: whole, and as far from the truth as its docstring says."""

from pathlib import Path

import numpy as np
import pytest

from theory import divergences, probs, traces
from theory.truncation import Eta, MinP


@pytest.fixture(scope="module")
def bundled():
    return traces.example()


def test_the_example_is_whole(bundled):
    bundled.check()
    assert len(bundled) == 512
    assert (bundled.vocabulary, bundled.temperature) == (49152, 1.0)
    assert bundled.truncated
    assert bundled.tail_tokens == 1
    assert set(bundled.exact) == set(traces.EXACT)
    assert bundled.exact["overlap"].mean(dtype=float) == pytest.approx(0.6139, abs=5e-5)
    lengths = np.array([len(row) - 1 for row in bundled.p])
    assert lengths.mean() == pytest.approx(359.55, abs=5e-3)
    assert lengths.max() == 455
    assert bundled.p.shape == bundled.q.shape == (512, 456)
    assert "Apache-2.0" in bundled.provenance["licence"]
    assert "no end of text" in bundled.provenance["selection"]
    assert np.unique(bundled.prompt_id).tolist() == list(range(8))
    assert len(bundled.prompt_offsets) == 9


def test_the_example_is_small_and_has_its_licence_beside_it():
    (path,) = (Path(traces.__file__).parent / "data").glob("*.safetensors")
    assert path.stat().st_size < 2_000_000
    notes = path.with_name("README.md").read_text()
    assert path.name in notes
    assert "Apache-2.0" in notes


def test_rows_of_the_example_sum_to_1_and_hold_the_text(bundled):
    p, q, ids = (np.asarray(rows) for rows in (bundled.p, bundled.q, bundled.ids))
    for rows in (p, q):
        np.testing.assert_allclose(rows.sum(-1), 1, rtol=0, atol=1e-8)
    np.testing.assert_allclose(np.stack([p[:, -1], q[:, -1]], -1), bundled.tail_mass, rtol=1e-12)
    here = ids == bundled.tokens[:, None]
    assert (here.sum(-1) == 1).all()
    assert -np.log(p[here]).mean() == pytest.approx(1.976, abs=1e-3)


def test_total_variation_of_the_example_is_within_the_tail_of_the_exact_one(bundled):
    found = divergences.total_variation(np.asarray(bundled.p), np.asarray(bundled.q))
    exact = 1 - bundled.exact["overlap"].astype(float)
    rounding = 4.4e-4
    assert (found <= exact + rounding).all()
    assert (exact <= found + bundled.tail_mass.min(axis=-1) + rounding).all()
    assert (exact - found).mean() == pytest.approx(0.0067, abs=5e-5)
    assert (exact - found).max() == pytest.approx(0.13, abs=5e-3)
    assert bundled.tail_mass.min(axis=-1).mean() == pytest.approx(0.0235, abs=5e-5)


def test_entropies_and_divergences_of_the_example_are_off_as_its_docstring_says(bundled):
    p, q = np.asarray(bundled.p), np.asarray(bundled.q)
    for rows, name, mean, most in ((p, "entropy_p", 0.23, 2.6), (q, "entropy_q", 0.48, 3.8)):
        error = bundled.exact[name] - probs.entropy(rows)
        assert (error.mean(), error.max()) == (pytest.approx(mean, abs=5e-3), pytest.approx(most, abs=5e-2))
    error = bundled.exact["kl_pq"] - divergences.kl_divergence(p, q)
    assert (error.mean(), error.max()) == (pytest.approx(0.023, abs=5e-4), pytest.approx(0.19, abs=5e-3))
    with np.errstate(divide="ignore", invalid="ignore"):
        error = bundled.exact["log_max_q_over_p"] - np.nanmax(np.log(q / p), axis=-1)
    assert (error.mean(), error.max()) == (pytest.approx(3.9, abs=5e-2), pytest.approx(9.8, abs=5e-2))
    fine = bundled.with_tail_tokens(1024)
    for rows, name, mean, most in ((fine.p, "entropy_p", 0.030, 0.40), (fine.q, "entropy_q", 0.074, 0.86)):
        error = np.abs(bundled.exact[name] - probs.entropy(np.asarray(rows)))
        assert (error.mean(), error.max()) == (pytest.approx(mean, abs=5e-4), pytest.approx(most, abs=5e-3))


@pytest.mark.parametrize(
    ("rule", "passes", "mass", "spread"),
    [(MinP(0.1), 0.264, 0.034, 0.0), (MinP(0.05), 0.336, 0.039, 0.0), (Eta(6e-4), 0.748, 0.055, 0.055)],
)
def test_the_tail_of_the_example_passes_for_a_token_until_it_is_spread(rule, passes, mass, spread, bundled):
    tail_passes = rule.allowed(np.asarray(bundled.p))[:, -1]
    assert tail_passes.mean() == pytest.approx(passes, abs=5e-4)
    assert (tail_passes * bundled.tail_mass[:, 1]).mean() == pytest.approx(mass, abs=5e-4)
    assert rule.allowed(np.asarray(bundled.with_tail_tokens(1024).p))[:, -1].mean() == pytest.approx(spread, abs=5e-4)


def test_a_spread_tail_makes_every_min_p_set_of_the_example_right(bundled):
    fine = bundled.with_tail_tokens(1024)
    listed = np.asarray(fine.p)[:, :-1024]
    right = listed >= 0.05 * listed.max(axis=-1, keepdims=True)
    allowed = MinP(0.05).allowed(np.asarray(fine.p))
    np.testing.assert_array_equal(allowed[:, :-1024], right)
    assert not allowed[:, -1024:].any()
    listed, coarse, q = (np.asarray(rows) for rows in (bundled.p[:][:, :-1], bundled.p, bundled.q))
    lost = (listed >= 0.1 * listed.max(axis=-1, keepdims=True)) & ~MinP(0.1).allowed(coarse)[:, :-1]
    lost_mass = (q[:, :-1] * lost).sum(axis=-1)
    assert (lost_mass.mean(), lost_mass.max()) == (pytest.approx(0.014, abs=5e-4), pytest.approx(0.55, abs=5e-3))
    assert (coarse.argmax(axis=-1) == coarse.shape[1] - 1).mean() == pytest.approx(0.074, abs=5e-4)
