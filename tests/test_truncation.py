"""Allowed sets: golden ones, ties in floating point, relations that hold on every row, and other people's samplers."""

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theory
from theory import testing, truncation
from theory.truncation import Epsilon, Eta, MinP, TopK, TopP, Typical

G = [0.4, 0.3, 0.2, 0.1]
RULES = [MinP(F(1, 10)), MinP(F(1, 2)), MinP(0), MinP(1), Eta(F(1, 4)), Eta(F(1, 10), 2), Epsilon(F(3, 20)), Epsilon(1)]
RULES += [TopK(1), TopK(3), TopK(99), TopP(F(4, 5)), TopP(1), Typical(F(2, 5)), Typical(1)]


@pytest.mark.parametrize(
    ("rule", "members"),
    [
        (MinP(0.6), {0, 1}),
        (MinP(0.5), {0, 1, 2}),
        (Epsilon(0.15), {0, 1, 2}),
        (Eta(0.05), {0, 1, 2, 3}),
        (Eta(0.09), {0, 1, 2, 3}),
        (Eta(0.25), {0, 1, 2}),
        (TopK(2), {0, 1}),
        (TopP(0.8), {0, 1, 2}),
        (Typical(0.4), {1, 2}),
        (Typical(0.6), {0, 1, 2}),
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", [np.float64, np.float32, object])
def test_golden_sets(rule, members, dtype):
    row = [F(4, 10), F(3, 10), F(2, 10), F(1, 10)] if dtype is object else np.array(G, dtype)
    assert set(np.flatnonzero(rule.allowed(row))) == members


def test_golden_thresholds():
    entropy = theory.entropy(G)
    for epsilon, threshold in ((0.05, 0.05), (0.09, 0.083423), (0.25, 0.139039)):
        assert round(min(epsilon, epsilon**0.5 * np.exp(-entropy)), 6) == threshold
    scores = np.abs(-np.log(G) - entropy)
    assert list(np.round(scores, 6)) == [0.363563, 0.075881, 0.329584, 1.022731]


# --- ties -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_uniform_row_keeps_all_its_tokens_under_eta(dtype):
    for size in range(2, 200):
        row = np.full(size, 1 / size, dtype)
        assert Eta(1, 1).allowed(row).all(), size
        assert not Eta(1, 1.001).allowed(row)[1:].any(), "a threshold truly above the row keeps the first token only"


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_token_at_the_min_p_threshold_stays(dtype):
    for n in range(2, 61):
        for k in range(1, n):
            row = np.array([n / (n + k), k / (n + k)], dtype)
            assert MinP(k / n).allowed(row).all(), (n, k)
            assert not MinP(k / n * 1.0001).allowed(row)[1], (n, k)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_ties_of_the_other_rules(dtype):
    for size in range(2, 200):
        row = np.full(size, 1 / size, dtype)
        assert Epsilon(1 / size).allowed(row).all()
        assert TopK(1).allowed(row).all(), "all tie with the k-th"
        for k in (1, size // 2, size - 1, size):
            if k:
                assert TopP(k / size).allowed(row).sum() == k, "a mass met exactly ends the set"
                assert Typical(k / size).allowed(row).sum() == k
    tenths = np.full(10, 0.1, dtype)
    assert TopP(0.3).allowed(tenths).tolist() == [True] * 3 + [False] * 7, "the lower index first"


# --- every rule on every row ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", RULES, ids=str)
@given(row=st.integers(1, 7).flatmap(testing.rational_rows))
def test_allowed_sets_and_truncated_targets(rule, row):
    mask = rule.allowed(row)
    assert mask.any()
    assert not mask[np.asarray(row == 0, dtype=bool)].any()
    truncated = rule.truncate(row)
    kept = sum(x for x, a in zip(row, mask, strict=True) if a)
    assert list(truncated) == [x / kept if a else 0 for x, a in zip(row, mask, strict=True)]
    if isinstance(rule, MinP | Eta | Epsilon | TopK | TopP):
        assert mask[max(range(len(row)), key=lambda token: (row[token], -token))], "the most probable token is in"


@given(st.integers(1, 7).flatmap(testing.rational_rows), st.sampled_from([F(1, 10), F(1, 4), F(1, 2), F(1)]))
def test_rational_sets_by_definition(row, level):
    weights = list(row)
    assert list(MinP(level).allowed(row)) == [x > 0 and x >= level * max(weights) for x in weights]
    above = [x >= level for x in weights]
    assert list(Epsilon(level).allowed(row)) == above or not any(above)
    falling = sorted(range(len(weights)), key=lambda token: (-weights[token], token))
    mass, prefix = F(0), set()
    for token in falling:
        if mass >= level:
            break
        mass += weights[token]
        prefix.add(token)
    assert set(np.flatnonzero(TopP(level).allowed(row))) == {token for token in prefix if weights[token] > 0}
    for k in (1, 2, 5):
        cut = sorted(weights, reverse=True)[min(k, len(weights)) - 1]
        assert list(TopK(k).allowed(row)) == [x > 0 and x >= cut for x in weights]


@pytest.mark.parametrize("rule", RULES, ids=str)
@given(row=st.integers(1, 7).flatmap(testing.rational_rows))
def test_floats_allow_what_fractions_allow(rule, row):
    for dtype in (np.float64, np.float32):
        assert list(rule.allowed(row.astype(float).astype(dtype))) == list(rule.allowed(row))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_rows_are_treated_one_by_one(rule):
    rows = np.random.default_rng(0).dirichlet(np.full(9, 0.3), (3, 2))
    masks = rule.allowed(rows)
    assert all((masks[i, j] == rule.allowed(rows[i, j])).all() for i in range(3) for j in range(2))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_short_names_round_trip(rule):
    assert truncation.parse(str(rule)) == rule


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MinP(1.5), r"p_base = 1\.5: must be a number in \[0, 1\]"),
        (lambda: MinP("a"), "p_base = 'a'"),
        (lambda: MinP(float("nan")), "p_base = nan"),
        (lambda: Eta(0), r"epsilon = 0: must be a number in \(0, 1\]"),
        (lambda: Eta(0.1, 0), r"delta = 0: must be a number in \(0, inf\)"),
        (lambda: Epsilon(True), "epsilon = True"),
        (lambda: TopK(0), "k = 0: must be a whole number of at least 1"),
        (lambda: TopK(1.5), r"k = 1\.5"),
        (lambda: TopP(0), r"mass = 0: must be a number in \(0, 1\]"),
        (lambda: Typical(1.01), r"mass = 1\.01"),
        (lambda: truncation.parse("top-q:1"), "no truncation is called 'top-q'; there are: epsilon, eta, min-p"),
    ],
)
def test_bad_parameters(make, message):
    with pytest.raises(ValueError, match=message):
        make()


# --- transformers (extra "models") ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "warper", "arguments"),
    [
        (MinP(0.1), "MinPLogitsWarper", {"min_p": 0.1}),
        (MinP(0.5), "MinPLogitsWarper", {"min_p": 0.5}),
        (Eta(0.05), "EtaLogitsWarper", {"epsilon": 0.05}),
        (Eta(0.002), "EtaLogitsWarper", {"epsilon": 0.002}),
        (Epsilon(0.01), "EpsilonLogitsWarper", {"epsilon": 0.01}),
        (TopK(5), "TopKLogitsWarper", {"top_k": 5}),
        (TopP(0.8), "TopPLogitsWarper", {"top_p": 0.8}),
        (Typical(0.4), "TypicalLogitsWarper", {"mass": 0.4}),
        (Typical(0.9), "TypicalLogitsWarper", {"mass": 0.9}),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("default")  # of other people's import machinery
def test_the_logits_warper_of_the_same_name_keeps_the_same_tokens(rule, warper, arguments):
    torch = pytest.importorskip("torch", reason="extra 'models' is not installed")
    process = pytest.importorskip("transformers.generation.logits_process", reason="extra 'models' is not installed")
    logits = np.random.default_rng(11).standard_normal((500, 40)) * np.random.default_rng(12).uniform(0.1, 4, (500, 1))
    rows = np.exp(logits - np.logaddexp.reduce(logits, axis=-1, keepdims=True))
    scores = getattr(process, warper)(**arguments)(None, torch.tensor(np.log(rows)))
    theirs = torch.isfinite(scores).numpy()
    assert (rule.allowed(rows) == theirs).all()
    assert not theirs.all()
