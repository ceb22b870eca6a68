"""Models: what row stands where, and what is refused."""

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theory
from theory import testing
from theory.models import IID, Disagreeing, Markov, Pair, Random, Table, iid, markov, random

ROWS = np.random.default_rng(0).dirichlet(np.ones(3), (3, 3))


def test_markov_of_order_two_reads_the_last_two_tokens_and_pads_with_its_start():
    model = Markov(ROWS, start=(2, 1))
    assert model.order == 2
    for context, state in {(): (2, 1), (0,): (1, 0), (0, 2): (0, 2), (1, 0, 2, 2): (2, 2)}.items():
        assert model.state(context) == state
        np.testing.assert_array_equal(model.row(context), ROWS[state])


def test_table_has_explicit_contexts_and_a_default():
    model = Table({(0, 1): [F(1), F(0)]}, [F(1, 2), F(1, 2)])
    assert list(model.row((0, 1))) == [1, 0]
    assert list(model.row((1, 0))) == [F(1, 2), F(1, 2)]


@pytest.mark.parametrize("exact", [True, False])
def test_random_rows_are_kept_and_belong_to_seed_and_context(exact):
    model = Random(4, 5, exact)
    assert model.row((1, 2)) is model.row((1, 2))
    assert list(model.row((1, 2))) == list(Random(4, 5, exact).row((1, 2)))
    others = [Random(4, 6, exact).row((1, 2)), model.row((2, 1)), model.row((1, 2, 0)), model.row(())]
    assert all(list(other) != list(model.row((1, 2))) for other in others)
    assert model.row(()).dtype == (object if exact else float)


@given(st.integers(2, 5), st.integers(0, 1000), st.fractions(0, F(1, 10), max_denominator=50))
def test_disagreement_is_exactly_what_is_asked(size, seed, wanted):
    pair = random(size, seed, wanted, exact=True)
    for context in [(), (0,), (1, 0)]:
        p, other = pair.target.row(context), pair.draft.other.row(context)
        if wanted > theory.total_variation(p, other):
            with pytest.raises(ValueError, match="the other model is only"):
                pair.rows(context)
        else:
            assert theory.total_variation(*pair.rows(context)) == wanted


@given(testing.model_pairs())
def test_drawn_pairs_have_rows_everywhere(pair):
    for context in [(), (0,), (1, 1), (0, 1, 0)]:
        p, q = pair.rows(context)
        assert p.shape == q.shape == (pair.size,)
        assert list(pair.rows(pair_context(pair, context))[0]) == list(p)


def pair_context(pair, context):
    """Another context in the same state, where there is one."""
    longer = (1, 1, 0, *context)
    return longer if pair.state(longer) == pair.state(context) else context


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: IID([[0.5, 0.5]]), r"probabilities has shape \(1, 2\)"),
        (lambda: IID([0.5, 0.4]), r"probabilities sums to 0\.9"),
        (lambda: Markov([0.5, 0.5]), r"rows has shape \(2,\)"),
        (lambda: Markov([[0.5, 0.5]] * 2, start=(2,)), r"start = \(2,\): must be 1 tokens in 0\.\.1"),
        (lambda: Markov([[0.5, 0.5]] * 2, start=()), r"start = \(\)"),
        (lambda: Table({(): [1.0]}, [0.5, 0.5]), r"rows\[\(\)\] has shape \(1,\)"),
        (lambda: Table({(3,): [0.5, 0.6]}, [0.5, 0.5]), r"rows\[\(3,\)\] sums to 1\.1"),
        (lambda: Random(0, 1), "vocabulary = 0"),
        (lambda: Random(2, -1), "seed = -1"),
        (lambda: Random(2, 1, concentration=0), r"concentration = 0: must be a number in \(0, inf\)"),
        (lambda: Disagreeing(IID([1.0]), IID([0.5, 0.5]), 0.1), "target has 1 tokens and other 2"),
        (lambda: Disagreeing(IID([1.0]), IID([1.0]), 2), "total_variation = 2"),
        (lambda: Disagreeing(IID([0.5, 0.5]), IID([0.4, 0.6]), 0.2).row(()), "the other model is only"),
        (lambda: Pair(IID([1.0]), IID([0.5, 0.5])), "target has 1 tokens and draft 2"),
        (lambda: Pair(IID([1.0]), [1.0]), r"draft = \[1\.0\]: must be a Model"),
        (lambda: iid([F(1)], [1.0]).rows(()), "p holds Fractions and q holds floats"),
        (lambda: markov([[1.0]], [[0.5, 0.5]] * 2), "target has 1 tokens and draft 2"),
    ],
)
def test_errors(make, message):
    with pytest.raises(ValueError, match=message):
        make()
