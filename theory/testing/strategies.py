"""Hypothesis strategies for rows, pairs of rows and pairs of models: the widest valid domain, which shrinks to small cases."""

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import strategies as st

from theory import probs
from theory.models import Context, Pair, Table, iid, markov
from theory.probs import Array


def rational_rows(size: int, max_weight: int = 12) -> st.SearchStrategy[Array]:
    """Draw rows of Fractions with zeros and ties: small whole weights, normalised.

    Parameters
    ----------
    size : int
        Tokens.
    max_weight : int
        Of a token; small numbers make ties frequent.

    Returns
    -------
    SearchStrategy
        Of arrays of `Fraction`, shape (size,). Shrinks towards the point mass on the first token.
    """
    weights = st.lists(st.integers(0, max_weight), min_size=size, max_size=size)
    return weights.map(lambda w: probs.normalise([Fraction(x) for x in (w if any(w) else [1, *w[1:]])]))


def float_rows(size: int, dtype: type[np.floating[Any]] = np.float64) -> st.SearchStrategy[Array]:
    """Draw float rows with zeros, ties, and masses from huge to subnormal.

    Parameters
    ----------
    size : int
        Tokens.
    dtype : type
        ``numpy.float64`` or ``numpy.float32``.

    Returns
    -------
    SearchStrategy
        Of arrays of shape (size,) whose sum is 1 within the tolerance of their dtype.
    """
    info = np.finfo(dtype)
    weight = st.one_of(
        st.sampled_from([0.0, 1.0, 1.0, 0.5]),
        st.floats(0, 1, width=32 if dtype == np.float32 else 64),
        st.integers(int(np.log2(info.smallest_subnormal)), 0).map(lambda k: 2.0**k),
    )
    weights = st.lists(weight, min_size=size, max_size=size)
    return weights.map(lambda w: probs.normalise(np.array(w if sum(w) > 2**-20 else [1.0, *w[1:]], dtype=dtype)))


def pairs(
    min_size: int = 1, max_size: int = 6, rows: Callable[[int], st.SearchStrategy[Array]] = rational_rows
) -> st.SearchStrategy[tuple[Array, Array]]:
    """Draw pairs (p, q) over one vocabulary: unrelated, equal, with disjoint supports, permuted, or one-hot.

    Parameters
    ----------
    min_size, max_size : int
        Tokens; one token is a vocabulary too.
    rows : callable
        Size to strategy: `rational_rows` or `float_rows`.

    Returns
    -------
    SearchStrategy
        Of pairs of arrays, each of shape (size,).
    """
    return st.integers(min_size, max_size).flatmap(lambda size: _pairs_of(size, rows))


def _pairs_of(size: int, rows: Callable[[int], st.SearchStrategy[Array]]) -> st.SearchStrategy[tuple[Array, Array]]:
    one = rows(size)
    permuted = st.tuples(one, st.permutations(range(size))).map(lambda drawn: (drawn[0], drawn[0][list(drawn[1])]))
    hot = st.tuples(one, st.integers(0, size - 1)).map(lambda drawn: (drawn[0], _one_hot(drawn[0], drawn[1])))
    kinds = [st.tuples(one, one), one.map(lambda p: (p, p)), permuted, hot, hot.map(lambda pair: pair[::-1])]
    if size > 1:
        kinds.append(st.integers(1, size - 1).flatmap(lambda cut: _disjoint(cut, size, rows)))
    return st.one_of(kinds)


def _one_hot(row: Array, token: int) -> Array:
    return probs.indicator(np.arange(row.size) == token, row)


def _disjoint(cut: int, size: int, rows: Callable[[int], st.SearchStrategy[Array]]) -> st.SearchStrategy[Any]:
    def pad(drawn: tuple[Array, Array]) -> tuple[Array, Array]:
        left, right = drawn
        return np.concatenate([left, 0 * right]), np.concatenate([0 * left, right])

    return st.tuples(rows(cut), rows(size - cut)).map(pad)


def model_pairs(
    min_size: int = 2, max_size: int = 3, rows: Callable[[int], st.SearchStrategy[Array]] = rational_rows
) -> st.SearchStrategy[Pair]:
    """Draw pairs of models: i.i.d., Markov, or with rows of their own for contexts of up to two tokens.

    Parameters
    ----------
    min_size, max_size : int
        Tokens.
    rows : callable
        Size to strategy: `rational_rows` or `float_rows`.

    Returns
    -------
    SearchStrategy
        Of `theory.models.Pair`, whose rows are drawn as those of `pairs` are.
    """
    return st.integers(min_size, max_size).flatmap(lambda size: _models_of(size, rows))


def _models_of(size: int, rows: Callable[[int], st.SearchStrategy[Array]]) -> st.SearchStrategy[Pair]:
    one = _pairs_of(size, rows)
    contexts: list[Context] = [(), *((x,) for x in range(size))]

    def table(drawn: list[tuple[Array, Array]]) -> Pair:
        (p, q), *others = drawn
        known = list(zip(contexts, others, strict=True))
        return Pair(*(Table({c: pair[i] for c, pair in known}, (p, q)[i]) for i in (0, 1)))

    several = st.lists(one, min_size=size, max_size=size)
    chains = several.map(lambda drawn: markov(np.stack([p for p, _ in drawn]), np.stack([q for _, q in drawn])))
    tables = st.lists(one, min_size=len(contexts) + 1, max_size=len(contexts) + 1).map(table)
    return st.one_of(one.map(lambda pair: iid(*pair)), chains, tables)
