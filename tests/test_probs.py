"""Rows: what is refused, what is kept, and sampling that never returns an impossible token."""

from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import theory
from theory import probs, testing


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([0.5, 0.4], "p sums to 0.9: a float64 row must sum to 1 within 1e-08"),
        ([[0.5, 0.5], [0.5, 0.6]], r"p\[1\] sums to 1\.1"),
        ([0.5, np.nan], r"p\[1\] = nan: a number of at least 0"),
        ([1.5, -0.5], r"p\[1\] = -0\.5: a number of at least 0"),
        ([np.inf, 0.0], "p sums to inf"),
        ([], r"p has shape \(0,\): the last axis is the vocabulary"),
        (0.5, r"p has shape \(\)"),
        (np.zeros((3, 0)), r"p has shape \(3, 0\)"),
        (["a", "b"], "p has dtype <U1"),
        (np.ma.array([0.5, 0.5, 0.5], mask=[0, 0, 1]), "p is a masked array"),
        ([True, False], "p has dtype bool"),
        ([0.5 + 0j, 0.5], "p has dtype complex128"),
        ([[0.5, 0.5], [1.0]], "p: the rows do not have one length"),
        ([F(1, 2), F(1, 3)], "p sums to 5/6: a Fraction row must sum to 1;"),
        ([F(1, 2), 0.5], r"p\[1\] = 0\.5: a row of objects holds Fractions or integers only"),
        ([F(3, 2), F(-1, 2)], r"p\[1\] = -1/2"),
        ([F(1), None], r"p\[1\] = None"),
        (np.array([0.5, 0.499], dtype=np.float32), "a float32 row must sum to 1 within 0.0001"),
    ],
    ids=str,
)
def test_bad_rows_are_refused_with_name_value_and_place(rows, message):
    with pytest.raises(ValueError, match=message) as caught:
        probs.check_rows(rows)
    assert "\n" not in str(caught.value)


def test_places_count_from_where_the_rows_begin():
    with pytest.raises(ValueError, match=r"p\[101, 1\] = -1\.0"):
        probs.check_rows([[0.5, 0.5], [2.0, -1.0]], start=100)


def test_types_are_kept_or_widened():
    kept = {np.float64: np.float64, np.float32: np.float32, np.int64: np.float64, ">f4": np.float32, ">f8": np.float64}
    for given_type, wanted in kept.items():
        assert probs.check_rows(np.array([1, 0], dtype=given_type)).dtype == wanted
    assert list(probs.check_rows([F(1, 2), F(1, 2), 0])) == [F(1, 2), F(1, 2), F(0)]


def test_a_float32_softmax_over_128_000_tokens_passes_and_is_not_rescaled():
    logits = np.random.default_rng(0).standard_normal(128_000).astype(np.float32) * 4
    row = theory.normalise(np.exp(logits)) * np.float32(1 + 1.6e-5)  # the error that a plain float32 softmax makes
    assert abs(row.sum(dtype=np.float64) - 1) == pytest.approx(1.6e-5, rel=0.05)
    assert probs.check_rows(row).tobytes() == row.tobytes()
    with pytest.raises(ValueError, match=r"theory\.normalise"):
        probs.check_rows(row.astype(np.float64))
    assert probs.check_rows(theory.normalise(row.astype(np.float64))).dtype == np.float64


def test_a_row_changed_after_its_check_is_checked_again():
    row = np.array([0.5, 0.5])
    probs.check_rows(row)
    row[0] = 0.6
    with pytest.raises(ValueError, match=r"p sums to 1\.1"):
        probs.check_rows(row)


def test_checked_rows_are_read_only_and_checked_once():
    rows = probs.check_rows(np.array([0.5, 0.5]))
    assert probs.check_rows(rows) is rows
    with pytest.raises(ValueError, match="read-only"):
        rows[0] = 1


def test_what_is_remembered_cannot_be_changed_by_those_who_are_given_it():
    rows = probs.check_rows(np.array([[0.5, 0.25, 0.25]]))
    entropy = theory.entropy(rows)
    entropy /= np.log(2)
    assert theory.entropy(rows) == theory.entropy(np.array(rows))
    mask = theory.MinP(0.9).allowed(rows)
    with pytest.raises(ValueError, match="read-only"):
        mask[:] = True


def test_kept_rows_do_not_follow_the_array_they_came_from():
    row = np.array([0.5, 0.5])
    model = theory.models.IID(row)
    assert theory.entropy(model.row(())) == pytest.approx(np.log(2))
    row[:] = [0.9, 0.1]
    assert list(model.row(())) == [0.5, 0.5]


def test_a_mutable_truncation_is_not_remembered():
    class Cut(theory.Truncation):
        name, level = "cut", 0.3

        def keep(self, p):
            return p >= self.level

    rule, rows = Cut(), probs.check_rows(np.array([0.6, 0.4]))
    assert rule.allowed(rows).tolist() == [True, True]
    rule.level = 0.5
    assert rule.allowed(rows).tolist() == [True, False]


def test_facts_of_checked_rows_go_with_them():
    before = len(probs._known)
    rows = probs.check_rows(np.array([0.5, 0.5]))
    theory.entropy(rows)
    assert len(probs._known) == before + 1
    del rows
    assert len(probs._known) == before


@pytest.mark.parametrize(
    ("p", "q", "message"),
    [
        ([0.5, 0.5], [0.2, 0.3, 0.5], "p has 2 tokens and q has 3"),
        ([[1.0]] * 2, [[1.0]] * 3, r"p has shape \(2, 1\) and q \(3, 1\): they do not broadcast"),
        ([F(1)], [1.0], "p holds Fractions and q holds floats"),
        ([1.0], [F(1)], "q holds Fractions and p holds floats"),
        ([1.0], [0.9], r"q sums to 0\.9"),
    ],
)
def test_bad_pairs_are_refused(p, q, message):
    with pytest.raises(ValueError, match=message):
        probs.check_pair(p, q)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([0, 0], "weights sums to 0"),
        ([[1, 1], [0, 0]], r"weights\[1\] sums to 0"),
        ([1, -1], r"weights\[1\] = -1"),
        ([1, np.nan], r"weights\[1\] = nan"),
        ([1, np.inf], "weights sums to inf"),
        ([], "the last axis is the vocabulary"),
    ],
)
def test_normalise_refuses_what_has_no_law(weights, message):
    with pytest.raises(ValueError, match=message):
        theory.normalise(weights)


@given(st.lists(st.integers(0, 9), min_size=1, max_size=8).filter(any))
def test_normalise_is_exact_on_fractions_and_close_in_floats(weights):
    exact = theory.normalise([F(w) for w in weights])
    assert sum(exact) == 1
    np.testing.assert_allclose(theory.normalise(weights), exact.astype(float), rtol=1e-15)


@pytest.mark.parametrize("size", [1, 2, 63, 4095, 4096, 4097, 128_000])
def test_float32_sums_accumulate_in_float64(size):
    rows = np.random.default_rng(1).random((3, size), dtype=np.float32)
    wanted = rows.astype(np.float64).sum(axis=-1)
    np.testing.assert_allclose(probs.total(rows), wanted, rtol=2e-7)
    np.testing.assert_allclose(probs.total(rows, keepdims=True), wanted[:, None], rtol=2e-7)
    assert np.asarray(probs.total(rows)).dtype == np.float64


@pytest.mark.parametrize("size", [1, 63, 4095, 4096, 4097, 128_000])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_inner_products_accumulate_in_float64(size, dtype):
    rng = np.random.default_rng(2)
    rows, other = rng.random((3, size), dtype=dtype), rng.random((3, size), dtype=dtype)
    wanted = (rows.astype(np.float64) * other).sum(axis=-1)
    np.testing.assert_allclose(probs.inner(rows, other), wanted, rtol=2e-7)
    np.testing.assert_allclose(probs.inner(rows[0], other), (rows[0].astype(np.float64) * other).sum(axis=-1), rtol=2e-7)
    assert np.asarray(probs.inner(rows, other)).dtype == np.float64


def test_a_given_amount_is_shared_out_or_left_to_the_other_rows():
    mass, otherwise = [[F(1), F(3)], [F(0), F(0)], [F(1), F(1)]], np.array([F(1, 2), F(1, 2)])
    amount = np.array([[F(1, 2)], [F(1, 4)], [F(0)]])
    wanted = [[F(1, 8), F(3, 8)], [F(1, 8), F(1, 8)], [F(0), F(0)]]
    assert probs.share_out(np.array(mass), otherwise, amount).tolist() == wanted
    assert probs.share_out(np.array(mass), lambda: otherwise, amount).tolist() == wanted
    tiny = np.array([np.finfo(np.float64).smallest_subnormal])
    np.testing.assert_allclose(probs.share_out(np.array([1.0, 1.0]), np.array([1.0, 0.0]), tiny), 0, atol=1e-300)


# --- sampling -------------------------------------------------------------------------------------------------------

ENDS = np.array([0.0, np.nextafter(0, 1), 0.55, np.nextafter(1, 0)])


def test_a_cdf_that_ends_below_one_does_not_run_past_the_end():
    row = np.full(10, 0.1)
    assert np.cumsum(row)[-1] == 0.9999999999999999
    assert list(probs.InverseCDF(row).invert(ENDS)) == [0, 0, 5, 9]


def test_a_uniform_of_zero_does_not_pick_a_token_of_probability_zero():
    sampler = probs.InverseCDF([0.0, 0.25, 0.0, 0.75, 0.0])
    assert list(sampler.invert(ENDS)) == [1, 1, 3, 3]
    assert list(sampler.invert(np.array([0.25]))) == [3]


class Zeros(np.random.Generator):
    """A generator whose uniforms are all exactly 0."""

    def random(self, size=None, dtype=np.float64, out=None):
        return np.zeros(size if size is not None else (), dtype)


def test_sample_never_returns_an_impossible_token_even_on_a_uniform_of_zero():
    tokens = theory.sample([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0]], Zeros(np.random.PCG64(0)), 5)
    assert tokens.tolist() == [[1, 2]] * 5


@given(st.data(), st.integers(0, 2**32))
def test_inversion_with_and_without_the_table_agree_and_stay_on_the_support(data, seed):
    row = data.draw(st.integers(1, 40).flatmap(testing.float_rows))
    uniforms = np.concatenate([ENDS, np.random.default_rng(seed).random(200)])
    tabled, plain = probs.InverseCDF(row), probs.InverseCDF(row)
    tokens = tabled.invert(uniforms)
    assert list(tokens) == [int(plain.invert(np.array([u]))[0]) if row.size > 1 else 0 for u in uniforms]
    assert (row[tokens] > 0).all()
    support = np.flatnonzero(row)
    cumulative = np.cumsum(row[support])
    by_hand = [support[np.flatnonzero(cumulative / cumulative[-1] > u)[0]] for u in uniforms]
    assert list(tokens) == by_hand


@pytest.mark.parametrize("weights", [[], [0.0, 0.0], [-1.0, 2.0], [np.nan, 1.0], [[1.0]], [np.inf, 1.0]])
def test_a_sampler_needs_a_row_of_weights(weights):
    with pytest.raises(ValueError, match="weights: a sampler needs"):
        probs.InverseCDF(weights)


def test_sample_shapes_and_determinism():
    rows = np.random.default_rng(2).dirichlet(np.ones(4), (2, 3))
    tokens = theory.sample(rows, np.random.default_rng(5), (7,))
    assert tokens.shape == (7, 2, 3)
    assert (tokens == theory.sample(rows, np.random.default_rng(5), 7)).all()
    assert theory.sample([0.0, 1.0], np.random.default_rng(0)).shape == ()


def test_chunks_cover_all_rows_once():
    for count, size in ((0, 5), (1, 1), (10, 10**9), (1000, 1000)):
        parts = list(probs.chunks(count, size))
        assert [i for part in parts for i in range(part.start, part.stop)] == list(range(count))
