"""Anything that is not a row gives a ValueError that names it, everywhere in the public API; hypothesis looks for gaps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theory
from tests import cases
from theory import divergences, exact, monte_carlo

RNG = np.random.default_rng(0)
TRUNCATIONS = [theory.MinP(0.1), theory.Eta(0.1), theory.Epsilon(0.1), theory.TopK(2), theory.TopP(0.5), theory.Typical(0.5)]
GOOD = np.array([0.5, 0.25, 0.25])

TAKES_A_PAIR = {
    **{name: getattr(divergences, name) for name in divergences.__all__ if name not in ("entropy", "renyi_divergence")},
    "renyi_divergence": lambda p, q: divergences.renyi_divergence(p, q, 2),
    "summarise": lambda p, q: exact.summarise(theory.Strict(), p, q),
    "exact.total_variation": lambda p, q: exact.total_variation(theory.Strict(), p, q),
    "monte_carlo.induced": lambda p, q: monte_carlo.induced(theory.Strict(), p, q, 2, RNG),
    "compare": lambda p, q: theory.compare([theory.Strict()], p, q, resamples=2),
    **{f"{verifier}.{method}": getattr(verifier, method) for verifier in cases.FLOATS for method in ("acceptance", "residual")},
    # These are the base class's own, the same for all rules.
    **{f"strict.{method}": getattr(theory.Strict(), method) for method in ("acceptance_rate", "induced", "law")},
    **{f"{verifier}.verify": lambda p, q, v=verifier: v.verify(p, q, [0], RNG) for verifier in cases.FLOATS},
    **{f"{verifier}.residual_given": lambda p, q, v=verifier: v.residual_given(p, q, [0]) for verifier in cases.FLOATS},
}
TAKES_A_ROW = {
    "entropy": theory.entropy,
    "sample": lambda p: theory.sample(p, RNG),
    **{f"{rule}": rule.allowed for rule in TRUNCATIONS},
    **{f"{rule} truncate": rule.truncate for rule in TRUNCATIONS},
    **{f"{verifier}.baseline": verifier.baseline for verifier in cases.FLOATS},
}


def spoiled():
    """Rows with one thing wrong, of a few tokens."""
    spoil = st.sampled_from([np.nan, -0.25, np.inf, -np.inf, 0.1, 7.0, -5e-324])
    entries = st.tuples(st.integers(0, 2), spoil).map(lambda at: np.where(np.arange(3) == at[0], at[1], GOOD))
    shapes = st.sampled_from([0.5, [], [[]], np.zeros((0, 0)), "row", None, [None] * 3, [[0.5, 0.5], [1.0]], {}, [True] * 3])
    return st.one_of(
        entries, entries.map(lambda row: row.astype(np.float32)), entries.map(lambda row: np.stack([GOOD, row])), shapes
    )


@pytest.mark.parametrize("name", TAKES_A_PAIR)
@given(bad=spoiled(), first=st.booleans())
def test_a_bad_row_in_a_pair(name, bad, first):
    pair = (bad, GOOD) if first else (GOOD, bad)
    with pytest.raises(ValueError, match=r"^(p|q|induced|target)\b") as caught:
        TAKES_A_PAIR[name](*pair)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", TAKES_A_PAIR)
@given(sizes=st.sampled_from([((3,), (4,)), ((2, 3), (3, 3)), ((1,), (3,))]))
def test_shapes_that_do_not_fit(name, sizes):
    p, q = (np.full(shape, 1 / shape[-1]) for shape in sizes)
    with pytest.raises(ValueError, match=r"^(p|induced) has"):
        TAKES_A_PAIR[name](p, q)


@pytest.mark.parametrize("name", TAKES_A_ROW)
@given(bad=spoiled())
def test_a_bad_row_alone(name, bad):
    with pytest.raises(ValueError, match=r"^(p|rows)\b"):
        TAKES_A_ROW[name](bad)
