"""Sensitivity: where each rule goes as the draft improves, as T -> 0, and as the vocabulary grows; each with a control."""

from fractions import Fraction as F

import matplotlib.pyplot as plt
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import theory
from tests import cases
from theory import exact, failure, plotting, testing, traces
from theory.failure.sensitivity import SIZES
from theory.verifiers.cascades import PositionCascade, TokenCascade
from theory.verifiers.matching import OffDrafted
from theory.verifiers.truncating import Gate

P, Q = cases.GOLDEN_P, cases.GOLDEN_Q
NEAR = 1 - F(1, 10**12)
"""A value of the paths so near 1 that no threshold lies between; tests keep ties with thresholds apart."""

tv = theory.total_variation


# --- the draft improves: what the limit is, apart from the rules' own code ----------------------------------------------

MIXED = (
    theory.Strict,
    theory.Lenience,
    theory.CoS,
    theory.OvershootCeiling,
    theory.AdaptiveInterpolation,
    theory.HybridCeiling,
    theory.Cactus,
    theory.StaticEnsemble,
    theory.GeometricEnsemble,
    theory.Mentored,
    theory.Optimal,
    theory.FuzzyAcceptance,
    PositionCascade,
)


def limit(rule, p, q):
    """Give law and acceptance as q -> p along the mixture, and a factor: at TV(p, q_t) = e the law is at most factor * e away."""
    one = np.array([F(1)] * len(p))
    if isinstance(rule, MIXED):
        return p, 0 if barred(rule, p, q) else 1, 1
    if isinstance(rule, theory.ContrastiveCoS) and rule.mu == 0:
        return p, 1, 1
    if isinstance(rule, theory.ContrastiveCoS):
        law = (p > 0) * one / sum(p > 0)
        return law, sum(np.minimum(law, p)), 4 / min(p[p > 0])
    if isinstance(rule, theory.ExactMatch):
        return p, sum(p * p), 0
    if isinstance(rule, theory.GreedyMatch):
        first = one * (np.arange(len(p)) == list(p).index(max(p)))
        return first, max(p), 0
    if isinstance(rule, OffDrafted):
        bar = rule.lenience if isinstance(rule, theory.EagleAcceptance) else rule.threshold_acc
        a = [min(F(1), x / bar) for x in p]
        if isinstance(rule, theory.ThresholdAcceptance):
            a = [F(1) if x >= rule.threshold_single else y for x, y in zip(p, a, strict=True)]
        w = [x * (1 - y) / (1 - x) if x < 1 else F(0) for x, y in zip(p, a, strict=True)]
        law = [x * (y + sum(w) - z) for x, y, z in zip(p, a, w, strict=True)]
        return np.array(law), sum(x * y for x, y in zip(p, a, strict=True)), 1
    if isinstance(rule, theory.TruncationSampling):
        kept = p * rule.truncation.allowed(p)
        return kept / sum(kept), sum(kept), 0
    if isinstance(rule, TokenCascade):
        kept = p * rule.kept(p, p)
        off = 1 - sum(kept)
        return kept + off * p, sum(kept) + off * off, 1
    assert isinstance(rule, Gate)
    kept = p * rule.gate().allowed(p)
    off = 1 - sum(kept)
    on_one = one * (np.arange(len(p)) == list(p).index(max(p)))
    law, factor = {
        "redraft": (kept / sum(kept), 1 / sum(kept)),
        "truncated": (kept / sum(kept), 1),
        "target": (kept + off * p, 1),
        "argmax": (kept + off * on_one, 1),
        "optimal": (p, 1),
        "residual": (kept + off * theory.Strict().residual(p, q), 1),
    }[rule.fallback]
    return law, sum(kept), factor


def barred(rule, p, q):
    """Say whether fuzzy acceptance keeps nothing, however near a draft other than the target is."""
    return isinstance(rule, theory.FuzzyAcceptance) and rule.on_failure == "target" and rule.threshold == 0 and any(p != q)


def tied(rule, p):
    """Say whether a token of the target is exactly at the threshold with which a rule compares the draft."""
    return isinstance(rule, theory.TokenCascadeV1) and any(p == max(p) - rule.alpha)


def check_limit(rule, p, q, path):
    law, acceptance, factor = limit(rule, p, q)
    _, draft = failure.along(path, p, q, NEAR)
    off = (1 - NEAR) * tv(p, q)
    assert tv(p, draft) == off
    near = rule.law(p, draft)
    assert tv(near.induced, law) <= factor * off
    assert abs(near.acceptance_rate - acceptance) <= (factor + 1) * off
    end = failure.along(path, p, q, 1)
    assert all(end[1] == p)


@pytest.mark.parametrize("path", ["mixture", "worst-first"])
@settings(max_examples=40)
@given(rule=st.sampled_from(cases.RATIONAL), pair=testing.pairs())
def test_each_rule_has_its_limit_as_the_draft_improves(path, rule, pair):
    p, q = pair
    depends = isinstance(rule, theory.ContrastiveCoS) or getattr(rule, "fallback", "") == "residual"
    if not tied(rule, p) and (path == "mixture" or not depends):
        check_limit(rule, p, q, path)


@pytest.mark.parametrize("rule", cases.RATIONAL, ids=str)
def test_the_limit_on_the_golden_pair_and_where_supports_differ(rule):
    for p, q in ((P, Q), (Q, P), ([F(1, 2), F(1, 2), F(0)], [F(0), F(1, 4), F(3, 4)])):
        p, q = np.array(p), np.array(q)
        if tied(rule, p):
            assert rule == theory.TokenCascadeV1(F(3, 20))
            continue
        check_limit(rule, p, q, "mixture")
        # at q = p itself the law is the limit, but for the fallback that keeps the direction
        law, acceptance, _ = limit(rule, p, q)
        same = rule.law(p, p)
        if getattr(rule, "fallback", "") == "residual":
            kept = p * rule.gate().allowed(p)
            law = kept + (1 - sum(kept)) * p
        assert all(same.induced == law)
        assert same.acceptance_rate == (1 if barred(rule, p, q) else acceptance)


LOSSY_AT_THE_TARGET = {
    "contrastive-cos:1",
    "eagle-acceptance:2/5",
    "threshold-acceptance:1/2,threshold_single=3/10",
    "greedy-match",
    "token-cascade-v1:3/20",
    "token-cascade-v2:3/20",
    "token-cascade-v2:0",
    "token-cascade-v3:2/5",
    "token-cascade-v3:0",
    "spec-cascade:1",
    *(f"spec-cascade:1/2{x}" for x in ("", ",fallback=target", ",fallback=truncated", ",fallback=argmax", ",fallback=residual")),
    *(
        f"typical-acceptance:1/4{x}"
        for x in ("", ",fallback=target", ",fallback=truncated", ",fallback=argmax", ",fallback=residual")
    ),
    "truncation:top-p:4/5,fallback=argmax",
    "truncation:typical:1/2",
    "truncation:epsilon:3/20,fallback=truncated",
    "truncation-sampling:min-p:1/2",
    "truncation-sampling:eta:1/4",
    "truncation-sampling:top-k:1",
}


def test_with_a_perfect_draft_these_rules_are_lossy_and_no_others():
    table = failure.sensitivity(cases.RATIONAL, *(np.array(rows, dtype=float) for rows in (P, Q)), values=[1])
    exactly = {str(rule) for rule in cases.RATIONAL if tv(rule.induced(P, P), P) != 0}
    assert exactly == LOSSY_AT_THE_TARGET
    assert set(table.loc[table["total_variation"] > 1e-12, "verifier"]) == exactly
    # measured against their true baseline, redraft and truncated lose nothing, and the other fallbacks do
    zero = table["total_variation_to_baseline"] < 1e-12
    fallbacks = {
        rule.fallback
        for rule in cases.RATIONAL
        if isinstance(rule, theory.SpecCascade) and str(rule) in set(table.loc[zero, "verifier"])
    }
    assert fallbacks == {"redraft", "truncated"}


def test_rules_between_draft_and_target_are_never_farther_than_the_draft():
    """TV(π, p) <= TV(p, q), from TV + R = TV(p, q) for most; contrastive CoS is the control."""
    p, q = np.array(P), np.array(Q)
    for rule in cases.RATIONAL:
        if isinstance(rule, MIXED):
            assert tv(rule.induced(p, q), p) <= tv(p, q)
    _, near = failure.along("mixture", p, q, NEAR)
    assert tv(theory.ContrastiveCoS(1).induced(p, near), p) > tv(p, near)


def test_a_better_draft_may_make_a_rule_more_lossy():
    rising = ["eagle-acceptance:0.4", "contrastive-cos:0.5", "token-cascade-v2:0", "threshold-acceptance:0.5"]
    falling = ["lenience:0.4", "cos:0.5", "optimal:0.1", "spec-cascade:0.5"]
    table = failure.sensitivity([theory.parse(name) for name in (*rising, *falling)], *(np.array(x, dtype=float) for x in (P, Q)))
    for name, rows in table.groupby("verifier"):
        change = np.diff(rows["total_variation"])
        assert (change[-1] > 0) == (name in rising), name
        assert (rows["total_variation"].iloc[-1] > rows["total_variation"].iloc[0]) == (name in rising), name


def test_the_fallback_that_keeps_the_direction_jumps_and_target_does_not():
    p = np.array(P)
    drafts = [failure.along("mixture", p, np.array(q), NEAR)[1] for q in (Q, [F(1), F(0), F(0), F(0)])]
    for fallback, far in (("residual", True), ("target", False)):
        rule = theory.SpecCascade(F(1, 2), fallback)
        laws = [rule.induced(p, draft) for draft in (*drafts, p)]
        assert (tv(laws[0], laws[1]) > F(1, 100)) == far
        assert (tv(laws[0], laws[2]) > F(1, 100)) == far


def test_fuzzy_acceptance_jumps_where_its_divergence_is_infinite():
    p, q = [0.5, 0.5, 0.0], [0.5, 0.25, 0.25]
    for divergence, jumps in (("kl", True), ("coded-js", True), ("js", False), ("tv", False), ("reverse-kl", False)):
        rule = theory.FuzzyAcceptance(0.3, divergence)
        near, there = (rule.law(*failure.along("mixture", p, q, t)) for t in (1 - 1e-6, 1))
        assert there.acceptance_rate == 1
        assert near.acceptance_rate == pytest.approx(0 if jumps else 1)
        np.testing.assert_allclose(near.induced, p, atol=1e-6)


def test_the_set_of_token_cascade_v1_jumps_at_a_tie():
    p, q, rule = np.array([F(1, 2), F(1, 4), F(1, 4)]), np.array([F(1, 2), F(1, 2), F(0)]), theory.TokenCascadeV1(F(1, 4))
    assert tied(rule, p)
    near = rule.induced(p, failure.along("mixture", p, q, NEAR)[1])
    assert tv(near, rule.induced(p, p)) > F(1, 10)
    assert not tied(theory.TokenCascadeV1(F(1, 5)), p)  # the control: no tie, no jump
    other = theory.TokenCascadeV1(F(1, 5))
    assert tv(other.induced(p, failure.along("mixture", p, q, NEAR)[1]), other.induced(p, p)) < F(1, 10**6)


def test_the_geometric_path_does_not_reach_a_target_with_tokens_that_the_draft_lacks():
    p, q = [0.5, 0.25, 0.25], [0.5, 0.5, 0.0]
    _, near = failure.along("geometric", p, q, 1 - 1e-9)
    np.testing.assert_allclose(near, [2 / 3, 1 / 3, 0], atol=1e-8)
    rules = [theory.Strict(), theory.Lenience(0.2)]
    table = failure.sensitivity(rules, p, q, "geometric", [1 - 1e-9, 1])
    np.testing.assert_allclose(table["acceptance_rate"], [0.75, 1, 1, 1])
    np.testing.assert_allclose(table["total_variation"], [0, 0.25, 0, 0], atol=1e-8)  # lenience accepts, and loses the token
    _, near = failure.along("geometric", p, [0.4, 0.4, 0.2], 1 - 1e-9)  # the control: full support
    np.testing.assert_allclose(near, p, atol=1e-8)


# --- paths ------------------------------------------------------------------------------------------------------------


@settings(max_examples=20)
@given(pair=testing.pairs(), t=st.sampled_from([F(0), F(1, 3), F(1, 2), F(9, 10), F(1)]))
def test_mixture_and_worst_first_remove_the_share_exactly(pair, t):
    p, q = pair
    for path in ("mixture", "worst-first"):
        target, draft = failure.along(path, p, q, t)
        assert all(target == p)
        assert sum(draft) == 1
        assert min(draft) >= 0
        assert tv(p, draft) == (1 - t) * tv(p, q)
        assert all(np.minimum(p, q) <= draft)
        assert all(draft <= np.maximum(p, q))
    # worst first: no rule that moves as much mass leaves a smaller ratio anywhere on the support
    ratios = [max(row[p > 0] / p[p > 0]) for row in (draft, failure.along("mixture", p, q, t)[1])]
    assert ratios[0] <= ratios[1]


@pytest.mark.parametrize("path", failure.PATHS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@given(data=st.data())
def test_paths_give_rows_in_their_arithmetic(path, dtype, data):
    p, q = data.draw(testing.pairs(rows=lambda size: testing.float_rows(size, dtype)))
    ends = (0, 1) if failure.PATHS[path].interval == "[0, 1]" else (0, 1, np.inf)
    for value in (*failure.PATHS[path].usual, *ends, 1e-300, F(1, 3)):
        for rows in failure.along(path, p, q, value):
            assert rows.dtype == dtype
            theory.probs.check_rows(rows.copy())
    start = failure.along(path, p, q, 1 if "temperature" in path else 0)
    np.testing.assert_array_equal(start, (p, q))


def test_paths_stack():
    p, q = np.array([P, Q], dtype=float), np.array([Q, P], dtype=float)
    for path, about in failure.PATHS.items():
        for value in about.usual:
            whole = failure.along(path, p, q, value)
            for row in range(2):
                for stacked, alone in zip(whole, failure.along(path, p[row], q[row], value), strict=True):
                    np.testing.assert_allclose(stacked[row], alone, rtol=1e-14)


def test_temperature_is_exact_where_it_is_rational():
    p, q = np.array(P), np.array(Q)
    cold = failure.along("temperature", p, q, F(1, 2))
    assert list(cold[0]) == [F(16, 30), F(9, 30), F(4, 30), F(1, 30)]
    np.testing.assert_allclose(
        failure.along("temperature", *(rows.astype(float) for rows in (p, q)), 0.5), np.array(cold, dtype=float)
    )
    assert list(failure.along("draft-temperature", p, q, 0)[1]) == [0, 0, 0, 1]
    assert list(failure.along("temperature", [F(1, 2), F(1, 2), F(0)], p[:3] / sum(p[:3]), 0)[0]) == [F(1, 2), F(1, 2), 0]
    assert list(failure.along("temperature", [F(1, 4), F(3, 4), F(0)], p[:3] / sum(p[:3]), np.inf)[0]) == [F(1, 2), F(1, 2), 0]


# --- temperature ------------------------------------------------------------------------------------------------------

SAME_MODE = np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.1, 0.3])
OTHER_MODE = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.7, 0.1])
COLD = 0.01  # (3/5)^100 is 6e-23


@pytest.mark.parametrize("rule", cases.FLOATS, ids=str)
def test_where_the_modes_agree_every_rule_becomes_greedy(rule):
    p, q = failure.along("temperature", *SAME_MODE, COLD)
    law = rule.law(p, q)
    contrastive = isinstance(rule, theory.ContrastiveCoS)
    weights = SAME_MODE[0] / SAME_MODE[1] ** (float(rule.mu) if contrastive else 0)
    np.testing.assert_allclose(law.induced, np.arange(3) == weights.argmax(), atol=1e-9)
    fuzzy = isinstance(rule, theory.FuzzyAcceptance) and rule.on_failure == "target" and rule.threshold == 0
    assert law.acceptance_rate == pytest.approx(0 if fuzzy or weights.argmax() != 0 else 1, abs=1e-9)
    # at T = 0 itself both are the same point mass
    there = rule.law(*failure.along("temperature", *SAME_MODE, 0))
    np.testing.assert_allclose(there.induced, [1, 0, 0], atol=1e-12)
    assert there.acceptance_rate == pytest.approx(1)


def test_contrastive_cos_is_the_rule_that_does_not():
    """The control: its law goes to argmax p / q^μ, here token 1, and strict verification's to token 0."""
    p, q = failure.along("temperature", *SAME_MODE, COLD)
    np.testing.assert_allclose(theory.ContrastiveCoS(1).induced(p, q), [0, 1, 0], atol=1e-9)
    np.testing.assert_allclose(theory.Strict().induced(p, q), [1, 0, 0], atol=1e-9)


COLD_LAWS = [  # modes 0 of the target, 1 of the draft: law on tokens 0 and 1, acceptance
    ("strict", 1, 0),
    ("lenience:0.1", 1, 0),
    ("overshoot-ceiling:0.1", 1, 0),
    ("mentored:0.1", 1, 0),
    ("optimal:10,divergence=max_overshoot", 1, 0),
    ("cos:0.25", 0.25, 0.75),
    ("adaptive-interpolation:0.25", 0.25, 0.75),
    ("optimal:0.25,divergence=total_variation", 0.75, 0.25),
    ("geometric-ensemble:0.75", 0, 1),
    ("chow-cascade:0.1", 0, 1),
    ("hybrid-ceiling:0.1,0.1", 1, 0),
    ("spec-cascade:0.01", 1, 0),
    ("spec-cascade:0", 0, 1),
    ("typical-acceptance:0.25,fallback=argmax", 1, 0),
    ("truncation:top-k:2", 0, 1),
    ("truncation-sampling:top-k:2", 1, 0),
    ("exact-match", 1, 0),
    ("eagle-acceptance:0.1", 1, 0),
    ("greedy-match", 1, 0),
]


@pytest.mark.parametrize(("name", "kept", "acceptance"), COLD_LAWS)
def test_where_the_modes_differ(name, kept, acceptance):
    law = theory.parse(name).law(*failure.along("temperature", *OTHER_MODE, COLD))
    np.testing.assert_allclose(law.induced, [kept, 1 - kept, 0], atol=1e-9)
    assert law.acceptance_rate == pytest.approx(acceptance, abs=1e-9)


def test_hot_rows_are_uniform_and_all_rules_that_end_at_the_target_accept_all():
    p, q = failure.along("temperature", *OTHER_MODE, np.inf)
    np.testing.assert_array_equal(p, q)
    assert theory.Strict().acceptance_rate(p, q) == pytest.approx(1)
    assert theory.ExactMatch().acceptance_rate(p, q) == pytest.approx(1 / 3)  # the control


# --- vocabulary -------------------------------------------------------------------------------------------------------

PEAKED = {  # p = (0.7, 0.3/(V-1), ...), q = 1/V: acceptance at V
    "strict": lambda size: 0.3 + 1 / size,
    "lenience:0.5": lambda size: 0.6 + 1 / size,
    "lenience:0.25": lambda size: 1.0,
    "cos:0.4": lambda size: 1 - 0.4 * (0.7 - 1 / size),
    "exact-match": lambda size: 1 / size,
    "greedy-match": lambda size: 1 / size,
    "spec-cascade:0.5": lambda size: 1 / size,
    "truncation-sampling:min-p:0.5": lambda size: 1 / size,
}


def test_acceptance_at_a_peaked_target_and_a_flat_draft():
    rules = [theory.parse(name) for name in PEAKED]
    table = failure.sensitivity(rules, paths="vocabulary", synthetic_rows="peaked:{size},0.7")
    assert list(table["value"].unique()) == list(SIZES)
    np.testing.assert_allclose(table["draft_total_variation"], 0.7 - 1 / table["value"])
    for _, row in table.iterrows():
        assert row["acceptance_rate"] == pytest.approx(PEAKED[row["verifier"]](row["value"]), rel=1e-9)
    at_most = table[table["value"] == 100_000].set_index("verifier")["acceptance_rate"]
    vanish = set(at_most.index[at_most < 1e-4])
    assert vanish == {"exact-match", "greedy-match", "spec-cascade:0.5", "truncation-sampling:min-p:0.5"}  # and the others do not


def test_acceptance_between_zipf_laws_vanishes_like_a_double_logarithm_over_a_logarithm():
    """p ∝ 1/x, q ∝ 1/x²: p <= q up to x = H/S, so that Σ min(p, q) = H_k/H + (S - S_k)/S, about ln ln V / ln V."""
    sizes = (10, 100, 1000, 10_000, 100_000)
    table = failure.sensitivity(theory.Strict(), paths="vocabulary", values=sizes, synthetic_rows="zipf:{size},strength=0.5")
    rates = []
    for size in sizes:
        x = np.arange(1, size + 1, dtype=float)
        first, second = 1 / x, 1 / x**2
        k = int(first.sum() / second.sum())
        rates.append(first[:k].sum() / first.sum() + second[k:].sum() / second.sum())
    np.testing.assert_allclose(table["acceptance_rate"], rates, rtol=1e-9)
    assert (np.diff(rates) < 0).all()
    # the control: at strength 1 the draft is the target, whatever V
    same = failure.sensitivity(theory.Strict(), paths="vocabulary", values=sizes, synthetic_rows="zipf:{size},strength=1")
    np.testing.assert_allclose(same["acceptance_rate"], 1)


# --- the table --------------------------------------------------------------------------------------------------------


def test_the_table_is_tidy_and_in_order():
    rules = [theory.Strict(), theory.GreedyMatch()]
    p, q = (np.array(rows, dtype=float) for rows in (P, Q))
    table = failure.sensitivity(
        rules, p, q, ("mixture", "vocabulary", "temperature"), {"mixture": [0, F(1, 2)], "vocabulary": [2]}
    )
    assert list(table.columns) == ["path", "value", "verifier", "family", "draft_total_variation", *exact.QUANTITIES]
    assert list(table["path"]) == ["mixture"] * 4 + ["vocabulary"] * 2 + ["temperature"] * 12
    assert list(table["value"][:6]) == [0, 0, 0.5, 0.5, 2, 2]
    assert list(table["verifier"][:2]) == ["strict", "greedy-match"]
    assert np.isnan(table["total_variation_to_baseline"][0])
    assert table["total_variation_to_baseline"][1] == 0


def test_values_are_the_means_of_exact_over_positions(monkeypatch):
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(5), size=(2, 20))
    rules = [theory.Lenience(0.4), theory.SpecCascade(0.5, "target")]
    paths = {path: about.usual[2] for path, about in failure.PATHS.items()}
    whole = failure.sensitivity(rules, p, q, paths, {path: [value] for path, value in paths.items()})
    for _, row in whole.iterrows():
        rows = failure.along(row["path"], p, q, paths[row["path"]])
        values = exact.summarise(theory.parse(row["verifier"]), *rows, exact.QUANTITIES)
        for name, value in values.items():
            np.testing.assert_allclose(row[name], np.mean(value), rtol=1e-12, atol=1e-15)
        assert row["draft_total_variation"] == pytest.approx(tv(*rows).mean())
    monkeypatch.setattr("theory.probs.CHUNK", 15)
    parts = failure.sensitivity(rules, p, q, paths, {path: [value] for path, value in paths.items()})
    np.testing.assert_allclose(parts[list(exact.QUANTITIES)], whole[list(exact.QUANTITIES)], rtol=1e-12, atol=1e-15)


def test_traces_stream_and_their_tail_has_no_temperature():
    trace = traces.example()
    table = failure.sensitivity(theory.Strict(), trace.p, trace.q, ("mixture", "worst-first"), [0.5])
    distance = tv(np.asarray(trace.p), np.asarray(trace.q)).mean()
    np.testing.assert_allclose(table["acceptance_rate"], 1 - distance / 2)
    for path in ("temperature", "draft-temperature"):
        with pytest.raises(ValueError, match="truncated rows have no exact law at another temperature"):
            failure.sensitivity(theory.Strict(), trace.p, trace.q, path)
    assert len(failure.sensitivity(theory.Strict(), np.asarray(trace.p[:2]), np.asarray(trace.q[:2]), "temperature")) == 6


@pytest.mark.parametrize(
    "pair", [([[1.0]], [[1.0]]), ([[0.5, 0.5], [1.0, 0.0]], [[0.5, 0.5], [0.0, 1.0]])], ids=["one token", "two"]
)
def test_degenerate_pairs_have_answers(pair):
    p, q = map(np.array, pair)  # equal rows, and disjoint ones
    rules = [
        theory.parse(name)
        for name in ("strict", "cos:0.5", "contrastive-cos:0.5", "spec-cascade:0.5", "optimal:0.1", "cactus:0.1")
    ]
    table = failure.sensitivity(rules, p, q, tuple(failure.PATHS), [0, 0.5, 1])
    assert not table.drop(columns="total_variation_to_baseline").isna().any().any()
    assert (table["acceptance_rate"] <= 1 + 1e-12).all()


RULE = theory.Strict()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: failure.along("linear", P, Q, 0), "path = 'linear': must be one of mixture, geometric"),
        (lambda: failure.along("mixture", P, Q, 1.5), r"value = 1\.5: must be a number in \[0, 1\]"),
        (lambda: failure.along("mixture", P, Q, np.nan), "value = nan"),
        (lambda: failure.along("temperature", P, Q, -1), r"value = -1: must be a number in \[0, inf\]"),
        (lambda: failure.along("temperature", P, Q, 2), r"p\^\(1/T\) is rational for T = 1/n only"),
        (lambda: failure.along("geometric", P, Q, F(1, 2)), "rational for t = 0 and t = 1 only"),
        (lambda: failure.along("mixture", P, [F(1)], 0), "p has 4 tokens and q has 1"),
        (lambda: failure.sensitivity([], P, Q), "verifiers is empty"),
        (lambda: failure.sensitivity(["strictly"], P, Q), "no verifier is called 'strictly'"),
        (lambda: failure.sensitivity([1], P, Q), r"verifiers\[0\] = 1: must be a TokenVerifier"),
        (lambda: failure.sensitivity(RULE), "p and q: the path 'mixture' needs both"),
        (lambda: failure.sensitivity(RULE, P), "p and q: the path 'mixture' needs both"),
        (lambda: failure.sensitivity(RULE, P, Q, ()), "paths is empty"),
        (lambda: failure.sensitivity(RULE, P, Q, "slide"), "path = 'slide'"),
        (lambda: failure.sensitivity(RULE, P, Q, values=[]), "values of 'mixture' are empty"),
        (lambda: failure.sensitivity(RULE, P, Q, values=[2]), "value = 2"),
        (lambda: failure.sensitivity(RULE, P, Q, values={"temperature": [1]}), "'temperature' is none of the paths mixture"),
        (lambda: failure.sensitivity(RULE, P, Q, quantities=["speed"]), "quantities: no 'speed'"),
        (lambda: failure.sensitivity(RULE, [P, P], [Q]), "p has 2 rows and q has 1"),
        (lambda: failure.sensitivity(RULE, np.empty((0, 2)), np.empty((0, 2))), "p has 0 rows"),
        (lambda: failure.sensitivity(RULE, paths="vocabulary", values=[0]), "value = 0: must be a whole number of at least 1"),
        (lambda: failure.sensitivity(RULE, paths="vocabulary", synthetic_rows="zipf:10"), "must have {size}"),
        (lambda: failure.sensitivity(RULE, paths="vocabulary", synthetic_rows="zopf:{size}"), "zopf"),
    ],
)
def test_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# --- the picture ------------------------------------------------------------------------------------------------------


def test_the_picture_draws_one_line_a_verifier():
    rules = [theory.parse(name) for name in ("strict", "lenience:0.4", "lenience:0.8", "greedy-match")]
    p, q = (np.array(rows, dtype=float) for rows in (P, Q))
    table = failure.sensitivity(rules, p, q, ("mixture", "vocabulary"), {"vocabulary": [10, 100]})
    _, axes = plt.subplots()
    assert plotting.plot_sensitivity(table, "acceptance_rate", "mixture", axes) is axes
    lines = axes.get_lines()
    assert [line.get_label() for line in lines] == [str(rule) for rule in rules]
    for line in lines:
        own = table[(table["path"] == "mixture") & (table["verifier"] == line.get_label())]
        np.testing.assert_array_equal(line.get_xydata(), own[["value", "acceptance_rate"]])
    assert len({(line.get_color(), line.get_marker(), line.get_linestyle()) for line in lines}) == 4
    assert axes.get_xlabel() == "t, where the draft is (1-t) q + t p"
    plt.close(axes.figure)
    axes = plotting.plot_sensitivity(table, "total_variation_to_baseline", "vocabulary")
    assert [line.get_label() for line in axes.get_lines()] == ["greedy-match"]  # the others have no baseline but p
    assert axes.get_xscale() == "log"
    plt.close(axes.figure)
    for arguments, said in (
        ({}, "path: must be one of mixture, vocabulary"),
        ({"path": "x"}, "path = 'x'"),
        ({"y": "speed"}, "no column 'speed'"),
    ):
        with pytest.raises(ValueError, match=said):
            plotting.plot_sensitivity(table, **arguments)


def test_every_path_has_a_label():
    assert set(plotting.PATH_LABELS) == {*failure.PATHS, "vocabulary"}
