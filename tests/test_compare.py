"""The comparison: each column against its definition, intervals, streaming within 64 MiB, and clear errors."""

import importlib
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import theory
from tests import cases
from theory import exact
from theory.cli.compare import PAPER_SET

comparison = importlib.import_module("theory.compare")  # the name theory.compare is the function

RNG = np.random.default_rng(20)
P = RNG.dirichlet(np.full(30, 0.3), 200)
Q = RNG.dirichlet(np.full(30, 0.3), 200) * 0.5 + P * 0.5


@pytest.fixture(scope="module")
def table():
    return theory.compare(cases.FLOATS, P, Q, gamma=4)


def test_one_row_a_verifier_in_order(table):
    assert list(table["verifier"]) == [str(verifier) for verifier in cases.FLOATS]
    assert list(table["family"]) == [verifier.family for verifier in cases.FLOATS]


def test_each_mean_by_its_definition(table):
    for verifier, row in zip(cases.FLOATS, table.to_dict("records"), strict=True):
        induced, rate = verifier.induced(P, Q), verifier.acceptance_rate(P, Q)
        bias = np.abs(induced - P).sum(-1) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            kl = np.nansum(induced * np.log(induced / P), axis=-1)
        wanted = {
            "acceptance_rate": rate,
            "total_variation": bias,
            "kl_divergence": kl,
            "max_overshoot": (induced / P).max(-1),
            "overshoot_mass": np.where(induced > 2 * P * (1 + 1e-14), induced, 0).sum(-1),
            "pareto_gap": bias + 1 - rate - np.abs(P - Q).sum(-1) / 2,
            "block_efficiency_per_position": sum(rate**k for k in range(5)),
        }
        for name, values in wanted.items():
            assert row[name] == pytest.approx(values.mean(), rel=1e-9, abs=1e-12), (str(verifier), name)
        assert row["block_efficiency_mean_rate"] == pytest.approx(sum(rate.mean() ** k for k in range(5)))
        assert row["block_efficiency_mean_rate"] <= row["block_efficiency_per_position"] + 1e-12
        baseline = verifier.baseline(P)
        if baseline is None:
            assert np.isnan(row["total_variation_to_baseline"])
        else:
            wanted_bias = (np.abs(induced - baseline).sum(-1) / 2).mean()
            assert row["total_variation_to_baseline"] == pytest.approx(wanted_bias, abs=1e-12)


def test_intervals_hold_their_mean_and_match_the_normal_ones(table):
    for name in [*comparison.MEANS, "block_efficiency_mean_rate"]:
        known = table[table[name].notna()]
        assert (known[f"{name}_low"] <= known[name] + 1e-12).all()
        assert (known[name] <= known[f"{name}_high"] + 1e-12).all()
    rates = theory.Strict().acceptance_rate(P, Q)
    half = scipy.stats.norm.isf(0.025) * rates.std(ddof=1) / np.sqrt(rates.size)
    row = table.iloc[0]
    assert row["acceptance_rate_high"] - row["acceptance_rate_low"] == pytest.approx(2 * half, rel=0.15)


def test_chunks_do_not_change_the_result(monkeypatch):
    whole = theory.compare(cases.ONE_EACH, P, Q, gamma=4)
    monkeypatch.setattr(comparison.probs, "CHUNK", 30 * 67)
    again = theory.compare(cases.ONE_EACH, P, Q, gamma=4)
    means = ["acceptance_rate", "total_variation", "kl_divergence", "pareto_gap"]
    pd.testing.assert_frame_equal(again[means], whole[means], rtol=1e-12, atol=1e-14)


def test_half_the_contexts_at_one_and_half_at_three_tenths():
    p = np.array([[1.0, 0.0], [0.3, 0.7]])
    q = np.array([[1.0, 0.0], [1.0, 0.0]])
    row = theory.compare([theory.Strict()], p, q, gamma=5).iloc[0]
    assert row["block_efficiency_per_position"] == pytest.approx(3.713765, abs=1e-6)
    assert row["block_efficiency_mean_rate"] == pytest.approx(2.64166, abs=1e-5)


def test_confidence_widens_the_interval():
    widths = []
    for confidence in (0.5, 0.9, 0.99):
        row = theory.compare(theory.Strict(), P, Q, confidence=confidence).iloc[0]
        widths.append(row["acceptance_rate_high"] - row["acceptance_rate_low"])
    ratio = [scipy.stats.norm.isf((1 - c) / 2) for c in (0.5, 0.9, 0.99)]
    assert widths[1] / widths[0] == pytest.approx(ratio[1] / ratio[0], rel=0.15)
    assert widths[2] / widths[0] == pytest.approx(ratio[2] / ratio[0], rel=0.2)


def test_a_rule_of_ones_own_that_gives_no_law_is_named():
    class Own(theory.TokenVerifier):
        def __init__(self, acceptance, residual):
            self._rows = acceptance, residual

        def acceptance(self, p, q):
            return self._rows[0](p, q)

        def residual(self, p, q):
            return self._rows[1](p, q)

    def excess(p, q):
        return np.maximum(p - q, 0)

    good = theory.Strict()
    for rule, message in (
        (Own(lambda p, q: p / q, good.residual), r"acceptance\[0, \d\] = .*: must be a probability"),
        (Own(good.acceptance, lambda p, q: p - q), r"residual\[0, \d\] = -.*: must be a probability, at least 0"),
        (Own(good.acceptance, lambda p, q: excess(p, q) / excess(p, q).sum()), r"residual\[0\] sums to"),
    ):
        with pytest.raises(ValueError, match=message):
            theory.compare(rule, P[:2], Q[:2])
    row = theory.compare(Own(good.acceptance, good.residual), P[:2], Q[:2]).iloc[0]
    assert row["total_variation"] < 1e-12


def test_series_are_rows_too():
    row = theory.compare(theory.Strict(), pd.Series(P[0]), pd.Series(Q[0])).iloc[0]
    assert row["acceptance_rate"] == pytest.approx(1 - theory.total_variation(P[0], Q[0]))


def test_infinite_divergences_stay_infinite():
    row = theory.compare([theory.CoS(0.5)], [[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]).iloc[0]
    assert row["kl_divergence"] == row["max_overshoot"] == np.inf
    assert row["total_variation"] == 0.125


def test_fractions_and_single_rows_are_taken():
    row = theory.compare([theory.Lenience(cases.F(1, 2))], cases.GOLDEN_P, cases.GOLDEN_Q).iloc[0]
    assert (row["acceptance_rate"], row["total_variation"]) == (0.9, 0.15)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([theory.Strict()], P, Q[:5]), "p has 200 rows and q has 5"),
        (([theory.Strict()], P[:0], Q[:0]), "p has 0 rows"),
        (([], P, Q), "verifiers is empty"),
        (([theory.Strict()], P[None], Q[None]), r"p has shape \(1, 200, 30\)"),
        (([3], P, Q), r"verifiers\[0\] = 3: must be a TokenVerifier, such as Lenience\(0.4\), or the name of one"),
        (([theory.Strict()], P, Q, 0), "gamma = 0"),
        (([theory.Strict()], P, Q, 10, 1.0), r"confidence = 1\.0"),
        (([theory.Strict()], P, Q, 10, 0.9, 0), "resamples = 0"),
    ],
)
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        theory.compare(*arguments)


def test_a_bad_row_far_in_is_named_by_its_own_place(monkeypatch):
    monkeypatch.setattr(comparison.probs, "CHUNK", 30 * 7)
    bad = P.copy()
    bad[150, 3] = np.nan
    with pytest.raises(ValueError, match=r"p\[150, 3\] = nan"):
        theory.compare([theory.Strict()], bad, Q)


def test_progress_is_shown_on_long_runs(monkeypatch, capsys):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setattr(comparison, "LONG", 1)
    theory.compare([theory.Strict()], P, Q)
    assert "comparing" in capsys.readouterr().err


MEASURE = """
import json, resource, sys
import numpy as np, pandas as pd
import theory
rng = np.random.default_rng(0)
size, count = map(int, sys.argv[1:3])
p = rng.random((count, size), dtype=np.float32); p /= p.sum(-1, keepdims=True)
q = rng.random((count, size), dtype=np.float32); q /= q.sum(-1, keepdims=True)
rules = [theory.parse(name) for name in sys.argv[3:]]
theory.compare(rules, p[:2], q[:2])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
theory.compare(rules, p, q)
print(json.dumps((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024))
"""


@pytest.mark.parametrize(
    ("size", "count", "many"), [(1, 30_000, True), (4, 60_000, False), (4096, 4000, False), (128_000, 40, False)]
)
def test_memory_stays_within_the_input_and_64_mib(size, count, many):
    rules = list(PAPER_SET) if many else ["strict", "lenience:0.4", "spec-cascade:0.1", "truncation-sampling:eta:0.1"]
    command = [sys.executable, "-c", MEASURE, str(size), str(count), *rules]
    grown = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    assert grown < 64, f"{grown} MiB over the input"


# --- exact.summarise, on which it stands ----------------------------------------------------------------------------


def test_summarise_streams_and_names_what_exists(monkeypatch):
    whole = exact.summarise(theory.Lenience(0.3), P, Q, exact.QUANTITIES)
    monkeypatch.setattr(exact.probs, "CHUNK", 100)
    parts = exact.summarise(theory.Lenience(0.3), P, Q, exact.QUANTITIES)
    for name in exact.QUANTITIES:
        np.testing.assert_allclose(parts[name], whole[name], rtol=1e-12, atol=1e-15)
    with pytest.raises(ValueError, match=r"quantities = 'speed': must be one of acceptance_rate"):
        exact.summarise(theory.Strict(), P, Q, ["speed"])


def test_one_row_against_many_streams_too(monkeypatch):
    monkeypatch.setattr(exact.probs, "CHUNK", 100)
    parts = exact.summarise(theory.Lenience(0.3), P[:1], Q)
    np.testing.assert_allclose(
        parts["total_variation"], exact.total_variation(theory.Lenience(0.3), np.repeat(P[:1], len(Q), 0), Q)
    )


def test_no_rows_have_no_values():
    assert exact.summarise(theory.Strict(), P[:0], Q[:0])["acceptance_rate"].shape == (0,)


def test_exact_functions_are_the_formulas():
    verifier = theory.OvershootCeiling(0.4)
    np.testing.assert_array_equal(exact.induced(verifier, P, Q), verifier.induced(P, Q))
    np.testing.assert_allclose(exact.acceptance_rate(verifier, P, Q), verifier.acceptance_rate(P, Q))
    wanted = theory.total_variation(verifier.induced(P, Q), P)
    np.testing.assert_allclose(exact.total_variation(verifier, P, Q), wanted, atol=1e-15)
