"""Explanations of positions of a trace: the worst first, ties in order, and what the trace knows of each."""

from fractions import Fraction as F

import numpy as np
import pytest

import theory
from theory import failure, traces

LENIENT = theory.Lenience(F(1, 2))


def four_positions():
    p = [[0.5, 0.5], [0.5, 0.5], [0.2, 0.8], [0.9, 0.1]]
    q = [[0.5, 0.5], [0.9, 0.1], [0.6, 0.4], [0.6, 0.4]]
    return traces.Trace.from_rows(p, q, tokens=[0, 1, -1, 0], prompt_id=[0, 0, 1, 1], position=[0, 1, 0, 1])


@pytest.fixture
def trace():
    return four_positions()


def test_the_worst_positions_come_first_and_ties_in_order(trace):
    rule = theory.CoS(0.5)
    found = failure.explain_positions(rule, trace, worst=4)
    assert [one.position for one in found] == [1, 2, 3, 0]  # 1 and 2 are equal, though 0.8 - 0.4 is not 0.9 - 0.5 in floats
    for one in found:
        assert one.total_variation == pytest.approx(
            theory.exact.total_variation(rule, trace.p[one.position], trace.q[one.position])
        )
    assert [one.position for one in failure.explain_positions(rule, trace, worst=2, by="kl_divergence")] == [2, 3]
    assert [one.position for one in failure.explain_positions(theory.Strict(), trace, worst=2)] == [0, 1]


def test_streaming_does_not_change_the_answer(monkeypatch):
    rng = np.random.default_rng(0)
    p, q = rng.dirichlet(np.ones(5), size=(2, 40)).round(1) + 0.05
    trace = traces.Trace.from_rows(theory.normalise(p), theory.normalise(q))
    rule = theory.Lenience(0.5)
    whole = [one.position for one in failure.explain_positions(rule, trace, worst=7)]
    monkeypatch.setattr("theory.probs.CHUNK", 15)
    assert [one.position for one in failure.explain_positions(rule, trace, worst=7)] == whole
    values = theory.exact.total_variation(rule, trace.p, trace.q).round(12)
    assert whole == list(np.argsort(-values, kind="stable")[:7])


def test_what_the_trace_knows_of_a_position(trace):
    texts = {1: " yes"}
    assert (
        failure.explain_position(theory.Strict(), trace, 1, texts=texts).context
        == "prompt 0, after 1 token, the text has 1 ' yes'"
    )
    assert failure.explain_position(theory.Strict(), trace, 2).context == "prompt 1, after 0 tokens"
    assert "at position 1 (prompt 0" in str(failure.explain_position(theory.Strict(), trace, 1))


def test_the_bundled_trace():
    trace = traces.example()
    for rule in (theory.Lenience(0.4), theory.SpecCascade(0.3)):
        (one,) = failure.explain_positions(rule, trace, worst=1)
        (spread,) = failure.explain_positions(rule, trace.with_tail_tokens(64), worst=1)
        for found in (one, spread):
            gained, lost = (sum(found.regions[side]) for side in ("gained", "lost"))
            assert gained == pytest.approx(lost, abs=1e-9) == pytest.approx(found.total_variation, abs=1e-9)
            assert (found.tokens["token"] == -1).sum() <= 1
        values = theory.exact.total_variation(rule, np.asarray(trace.p), np.asarray(trace.q))
        assert one.position == values.argmax()
        assert set(one.tokens["token"]) <= {-1, *trace.ids[one.position]}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda t: failure.explain_position(LENIENT, t, 4), r"position = 4: trace has the positions 0\.\.3"),
        (lambda t: failure.explain_position(LENIENT, t, -1), "position = -1: must be a whole number of at least 0"),
        (lambda t: failure.explain_position(LENIENT, t.p, 0), "trace is a ndarray: must be a theory.Trace"),
        (lambda t: failure.explain_position(LENIENT, t, 0, share=2), "share = 2"),
        (lambda t: failure.explain_positions(LENIENT, t, worst=5), "worst = 5: trace has 4 positions"),
        (lambda t: failure.explain_positions(LENIENT, t, worst=0), "worst = 0"),
        (lambda t: failure.explain_positions(LENIENT, t, by="speed"), "by = 'speed': must be one of acceptance_rate"),
        (lambda t: failure.explain_positions(3, t), "must be a TokenVerifier"),
        (
            lambda t: failure.explain_positions(LENIENT, t, by="total_variation_to_baseline"),
            "lenience:1/2 has no true baseline but the target",
        ),
    ],
)
def test_errors_of_positions(call, message, trace):
    with pytest.raises(ValueError, match=message):
        call(trace)
