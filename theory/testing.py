"""For tests, other people's and our own: hypothesis strategies for rows, pairs and models, and assertions exact in rationals.

Needs the extra ``test`` (hypothesis); nothing else in the package imports this module.

Examples
--------
>>> import theory
>>> assert_lossless(theory.Strict())
>>> assert_lossless(theory.Lenience(0.5))  # doctest: +IGNORE_EXCEPTION_DETAIL +ELLIPSIS
Traceback (most recent call last):
AssertionError: Lenience(lenience=0.5) does not induce the target.
...
"""

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from hypothesis import Phase, example, given, seed, settings
from hypothesis import strategies as st

from theory import probs
from theory.blocks import BlockVerifier
from theory.decode import enumeration
from theory.models import Context, Pair, Table, iid, markov
from theory.probs import Array, RowsLike
from theory.verifiers import TokenVerifier

__all__ = ["assert_law", "assert_lossless", "float_rows", "model_pairs", "pairs", "rational_rows"]

Law = Callable[[Array, Array], RowsLike]

SUBTLE = iid([Fraction(3, 10), Fraction(3, 10), Fraction(2, 5)], [Fraction(1, 10), Fraction(1, 5), Fraction(7, 10)])
"""With gamma = 2, block verification that replaces from the token-wise residual is wrong here, though first tokens are right."""


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


def assert_law(verifier: TokenVerifier, law: Law, max_size: int = 6, examples: int = 300) -> None:
    """Assert, in exact rational arithmetic, that a verifier induces ``law(p, q)`` on every pair of rows.

    Parameters
    ----------
    verifier : TokenVerifier
        The rule; its formulas must be rational. (Where they are not, compare floats on `float_rows` instead.)
    law : callable
        Maps arrays of Fractions (p, q), each of shape (V,), to the law that the rule should induce.
    max_size : int
        Tokens, at most.
    examples : int
        Pairs to try; the same ones at each run.

    Raises
    ------
    AssertionError
        With a falsifying pair, the smallest that can be found: fewest tokens, then simplest fractions. Also where an acceptance
        is outside [0, 1], a replacement law is none, or contradicts `residual_given`, or depends on rows stacked beside it.

    Notes
    -----
    A search, not a proof: what differs only beyond ``max_size`` tokens is not seen.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from theory import CoS
    >>> assert_law(CoS(Fraction(1, 3)), lambda p, q: (p + 2 * q) / 3)
    """
    _assert_law(verifier, law, "the law", max_size, examples)


def assert_lossless(verifier: TokenVerifier | BlockVerifier, max_size: int | None = None, examples: int | None = None) -> None:
    """Assert, in exact rational arithmetic, that a token or block verifier follows the target on all that is tried.

    Parameters
    ----------
    verifier : TokenVerifier or BlockVerifier
        A token rule must induce p on every pair of rows. A block rule, its output completed by the target, must have the target's
        joint law over gamma + 1 tokens, for every pair of models and gamma up to 3: a test of first tokens alone would pass
        rules that are wrong from the second token on.
    max_size : int, optional
        Tokens, at most: 6 for token rules, 3 for block rules.
    examples : int, optional
        How many to try, the same ones at each run: 300 for token rules, 100 for block rules.

    Raises
    ------
    AssertionError
        With the smallest falsifying pair that can be found.

    Examples
    --------
    >>> from theory import BlockVerification, ExactMatch
    >>> assert_lossless(ExactMatch())
    >>> assert_lossless(BlockVerification(), examples=20)
    """
    if isinstance(verifier, BlockVerifier):
        _assert_block_lossless(verifier, max_size or 3, examples or 100)
    else:
        _assert_law(verifier, lambda p, _q: p, "the target", max_size or 6, examples or 300)


def _assert_block_lossless(block: BlockVerifier, max_size: int, examples: int) -> None:
    @seed(0)
    @settings(max_examples=examples, deadline=None, database=None, phases=[Phase.explicit, Phase.generate, Phase.shrink])
    @given(st.integers(1, 3), model_pairs(max_size=max_size))
    @example(2, SUBTLE)
    def hold(gamma: int, pair: Pair) -> None:
        for probability, draft in enumeration.paths(pair, gamma):
            total = sum(outcome.probability for outcome in block.outcomes(draft))
            assert total == 1, (
                f"{block!r} has outcomes of {draft.tokens.tolist()} (drafted with {probability}) that sum to {total}."
            )
        induced, wanted = enumeration.induced_sequence(block, pair, gamma), enumeration.target_sequence(pair, gamma + 1)
        worst = next((tuple(int(i) for i in at) for at in np.argwhere(induced != wanted)), None)
        assert worst is None, (
            f"{block!r} is not lossless at gamma = {gamma}: it emits the tokens {worst} with probability {induced[worst]}, "
            f"the target with {wanted[worst]}.\n  after (): p, q = {[list(map(str, row)) for row in pair.rows(())]}"
        )

    hold()


def _assert_law(verifier: TokenVerifier, law: Law, name: str, max_size: int, examples: int) -> None:
    @seed(0)
    @settings(max_examples=examples, deadline=None, database=None, phases=[Phase.generate, Phase.shrink])
    @given(pairs(max_size=max_size))
    def hold(pair: tuple[Array, Array]) -> None:
        p, q = pair
        acceptance, residual = verifier.acceptance(p, q), verifier.residual(p, q)
        for token, a in enumerate(acceptance):
            assert 0 <= a <= 1, _report(verifier, p, q, f"has acceptance[{token}] = {a}, outside [0, 1].")
        assert min(residual) >= 0, _report(verifier, p, q, f"has a residual with the entry {min(residual)}, below 0.")
        assert sum(residual) == 1, _report(verifier, p, q, f"has a residual that sums to {sum(residual)}.")
        given_draft = verifier.residual_given(p, q, np.arange(len(p)))
        rejected = q * (1 - acceptance)
        averaged, mass = [sum(rejected * column) for column in given_draft.T], sum(rejected)
        agree = averaged == [mass * r for r in residual]
        assert agree, _report(verifier, p, q, "has a residual that is not the average of residual_given.")
        induced, wanted = verifier.induced(p, q), np.asarray(law(p, q))
        stacked = verifier.induced(np.stack([p, p]), np.stack([q, q]))[0]
        assert list(stacked) == list(induced), _report(verifier, p, q, "induces another law on stacked rows.", stacked=stacked)
        equal = all(x == y for x, y in itertools.zip_longest(induced, wanted))
        assert equal, _report(verifier, p, q, f"does not induce {name}.", induced=induced, wanted=wanted)

    hold()


def _report(verifier: TokenVerifier, p: Array, q: Array, complaint: str, **laws: Array) -> str:
    rows = {"p": p, "q": q, **laws}
    lines = [f"{name} = [{', '.join(map(str, row))}]" for name, row in rows.items()]
    return "\n  ".join([f"{verifier!r} {complaint}", *lines])
