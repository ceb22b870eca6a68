"""The golden pair: every row of its table, the rational ones with ==."""

import json
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest

import theory
from theory import divergences
from theory.truncation import MinP

TABLE = json.loads((Path(__file__).parent / "data" / "golden_pair.json").read_text())

MAKE = {
    "strict": lambda: theory.Strict(),
    "lenience": theory.Lenience,
    "exact match": theory.ExactMatch,
    "greedy match": theory.GreedyMatch,
    "CoS weighted ensemble": lambda weight_on_target: theory.CoS(weight_on_target),
    "CoS contrastive": lambda mu: theory.ContrastiveCoS(mu),
    "overshoot ceiling, accept form": lambda **parameters: theory.OvershootCeiling(parameters["lambda"]),
    "adaptive interpolation, accept form": lambda **parameters: theory.AdaptiveInterpolation(parameters["lambda"]),
    "min-p gate": theory.SpecCascade,
    "truncation sampling (true baseline)": lambda p_base: theory.TruncationSampling(MinP(p_base)),
    "cascade TokenV1": theory.TokenCascadeV1,
    "cascade TokenV2": theory.TokenCascadeV2,
    "cascade TokenV3": theory.TokenCascadeV3,
    "cascade TokenV3, exact speculative decoding toward its law": lambda p_base: theory.TokenCascadeV3(1 - p_base),
    "cactus": theory.Cactus,
    "mentored": lambda alpha, beta: theory.Mentored(alpha),
}


IRRATIONAL = {("CoS contrastive", "1/2"), ("CoS contrastive", "1/10"), ("cactus", "0.01"), ("cactus", "0.1")}


def number(text):
    return F(text) if "." not in text else float(text)


def parameters_of(row):
    return {key: value if key == "fallback" else F(value) for key, value in row["parameters"].items()}


def test_no_row_is_left_out():
    assert {row["verifier"] for row in TABLE["rows"]} == set(MAKE)
    assert len(TABLE["rows"]) == 37


@pytest.mark.parametrize("row", TABLE["rows"], ids=lambda row: f"{row['verifier']} {row['parameters']}")
def test_golden_row(row):
    verifier = MAKE[row["verifier"]](**parameters_of(row))
    p, q = ([F(x) for x in TABLE[name]] for name in "pq")
    if (row["verifier"], *row["parameters"].values()) in IRRATIONAL:
        p, q = (np.array(x, dtype=float) for x in (p, q))
    law = verifier.law(p, q)
    bias = divergences.total_variation(law.induced, p)
    measured = {
        "acceptance_rate": law.acceptance_rate,
        "induced": list(law.induced),
        "total_variation": bias,
        "kl_p_induced": divergences.kl_divergence(p, law.induced),
        "kl_induced_p": divergences.kl_divergence(law.induced, p),
        "max_overshoot": divergences.max_overshoot(law.induced, p),
        "total_variation_plus_rejection": bias + law.rejection_rate,
    }
    assert set(measured) == set(row) - {"verifier", "parameters"}
    for name, value in measured.items():
        for ours, golden in zip(value, row[name], strict=True) if name == "induced" else [(value, row[name])]:
            if "/" in golden or golden.isdigit():
                assert ours == F(golden), name
            elif golden == "inf":
                assert ours == np.inf, name
            else:
                assert round(float(ours), 6) == float(golden), name


def test_contrastive_cos_at_one_is_exactly_rational():
    p, q = ([F(x) for x in TABLE[name]] for name in "pq")
    assert list(theory.ContrastiveCoS(1).induced(p, q)) == [F(6, 13), F(18, 65), F(12, 65), F(1, 13)]


def test_distances_of_the_pair_itself():
    p, q = ([F(x) for x in TABLE[name]] for name in "pq")
    assert theory.total_variation(p, q) == F(1, 4)
    rounded = {
        0.201160: theory.kl_divergence(q, p),
        0.177465: theory.kl_divergence(p, q),
        0.045682: theory.jensen_shannon(p, q),
        1.279854: theory.entropy(p),
        1.376227: theory.entropy(q),
        0.278078: np.exp(-theory.entropy(p)),
    }
    for wanted, value in rounded.items():
        assert round(float(value), 6) == wanted
    assert list(theory.Strict().residual(p, q)) == [F(4, 5), F(1, 5), 0, 0]
