"""The assertions: each a search for the smallest case on which a rule is not what it claims to be."""

import functools
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NoReturn

import numpy as np
from hypothesis import strategies as st

from theory import blocks, models, parameters, probs, verifiers
from theory.blocks import BlockVerifier, Tokenwise
from theory.decode import enumeration
from theory.models import Pair
from theory.probs import Array, RowsLike
from theory.testing import arithmetic, paths, procedures, report, strategies, tokens
from theory.testing.arithmetic import Arithmetic
from theory.testing.search import Falsified, look, smallest
from theory.verifiers import TokenVerifier

Law = Callable[[Array, Array], RowsLike]

SUBTLE = (2, models.iid([Fraction(3, 10), Fraction(3, 10), Fraction(2, 5)], [Fraction(1, 10), Fraction(1, 5), Fraction(7, 10)]))
"""Block verification that replaces from the token-wise residual is wrong here, though first tokens are right."""

LONGEST = 3
"""Drafted tokens in a block, at most, in a search."""

HINT = "; rows are Fractions here, and dtype=float is for rules that cannot take them"


def assert_law(
    verifier: TokenVerifier | str,
    law: Law,
    max_size: int = 6,
    examples: int = 300,
    *,
    dtype: Any = Fraction,
    tolerance: float | None = None,
    pair: tuple[RowsLike, RowsLike] | None = None,
) -> None:
    """Assert that a verifier induces ``law(p, q)`` on every pair of rows, exactly or within a tolerance.

    Parameters
    ----------
    verifier : TokenVerifier or str
        The rule, or its name.
    law : callable
        Maps rows (p, q), arrays of shape (V,), to the law that the rule should induce.
    max_size : int
        Tokens, at most.
    examples : int
        Pairs to try; the same ones at each run.
    dtype : type
        Of the rows: ``Fraction``, compared with ``==``; ``float`` (float64) or ``numpy.float32``, for rules that compute so.
    tolerance : float, optional
        For floats, how far a probability may be off: max |induced - wanted| <= tolerance. 1e-9 for float64, 1e-5 for float32:
        many times what rounding does to a law over a few tokens, and far less than what is wrong with a wrong one.
    pair : tuple of array_like, shapes (V,), optional
        Look at this pair (p, q) only, in the type of its rows: how a printed test repeats what was found.

    Raises
    ------
    AssertionError
        With a falsifying pair, the smallest that can be found: fewest tokens, then simplest numbers; and a test that can be
        pasted into a file. Also where an acceptance is outside [0, 1], a replacement law is none, or contradicts
        `residual_given`, or depends on rows stacked beside it, or where the rule raises an error.
    ValueError
        For an argument that is none, or a name that nothing has.

    Notes
    -----
    A search, not a proof: what differs only beyond ``max_size`` tokens is not seen.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from theory import CoS
    >>> assert_law(CoS(Fraction(1, 3)), lambda p, q: (p + 2 * q) / 3, examples=50)
    >>> assert_law("cos:0.25", lambda p, q: 0.25 * p + 0.75 * q, examples=50, dtype=float)
    """
    rule = verifiers.resolve(verifier)
    if not callable(law):
        raise ValueError(f"law = {law!r}: must be a function of p and q that gives a law")
    _search_pairs(rule, "assert_law", "the law", law, max_size, examples, dtype, tolerance, pair)


def assert_lossless(
    verifier: TokenVerifier | BlockVerifier | str,
    max_size: int | None = None,
    examples: int | None = None,
    *,
    dtype: Any = Fraction,
    tolerance: float | None = None,
    pair: tuple[RowsLike, RowsLike] | Pair | None = None,
    gamma: int | None = None,
) -> None:
    """Assert that a token or block verifier follows the target on all that is tried, exactly or within a tolerance.

    Parameters
    ----------
    verifier : TokenVerifier, BlockVerifier or str
        The rule, or its name. A token rule must induce p on every pair of rows. A block rule, its output completed by the target,
        must have the target's joint law over gamma + 1 tokens, for every pair of models and gamma up to 3: a test of first tokens
        alone would pass rules that are wrong from the second token on.
    max_size : int, optional
        Tokens, at most: 6 for token rules, 3 for block rules.
    examples : int, optional
        How many to try, the same ones at each run: 300 for token rules, 100 for block rules.
    dtype, tolerance
        As for `assert_law`.
    pair : tuple of array_like, or Pair, optional
        Look at this pair only: rows (p, q) for a token rule, models for a block rule.
    gamma : int, optional
        For a block rule, drafted tokens in a block; 1, 2 and 3 where it is not given.

    Raises
    ------
    AssertionError
        With the smallest falsifying pair that can be found, and a test that can be pasted into a file.
    ValueError
        For an argument that is none, or a name that nothing has.

    Examples
    --------
    >>> from theory import BlockVerification, ExactMatch
    >>> assert_lossless(ExactMatch(), examples=50)
    >>> assert_lossless("strict", examples=50, dtype=float)
    >>> assert_lossless(BlockVerification(), examples=20)
    """
    rule = _resolve(verifier)
    if isinstance(rule, TokenVerifier):
        _refuse_gamma(rule, gamma)
        size, count = _or(max_size, 6), _or(examples, 300)
        _search_pairs(rule, "assert_lossless", "the target", lambda p, _q: p, size, count, dtype, tolerance, pair)
    else:
        numbers = _arithmetic(pair, dtype, tolerance)
        check = functools.partial(paths.check_lossless, rule, numbers)
        size, count = _or(max_size, 3), _or(examples, 100)
        _search_models(rule, "assert_lossless", check, numbers, size, count, pair, gamma, _options(tolerance=tolerance))


def assert_consistent(
    verifier: TokenVerifier | BlockVerifier | str,
    max_size: int | None = None,
    examples: int | None = None,
    *,
    dtype: Any = Fraction,
    tolerance: float | None = None,
    draws: int = 20_000,
    error: float = 1e-9,
    pair: tuple[RowsLike, RowsLike] | Pair | None = None,
    gamma: int | None = None,
) -> None:
    """Assert that a rule agrees with itself: that all its answers, and its procedure, have one law.

    Parameters
    ----------
    verifier : TokenVerifier, BlockVerifier or str
        The rule, or its name.
    max_size : int, optional
        Tokens, at most: 6 for token rules, 3 for block rules.
    examples : int, optional
        How many pairs to try, the same ones at each run: 100 for token rules, 50 for block rules.
    dtype, tolerance
        As for `assert_law`, for the answers. The procedure runs in floats in any case.
    draws : int
        Drafted tokens, or paths, that the procedure verifies for each pair.
    error : float
        The probability with which a procedure that is right may fail, over the whole call.
    pair, gamma
        As for `assert_lossless`.

    Raises
    ------
    AssertionError
        With the smallest pair on which the rule contradicts itself, and a test that can be pasted into a file.
    ValueError
        For an argument that is none, or a name that nothing has.

    Notes
    -----
    Of a token rule, on every pair: its acceptance is in [0, 1]; its residual is a law, and so is `residual_given` for each
    drafted token, whose average over the rejected ones, with weights q (1 - a), is the residual; where
    ``residual_depends_on_draft`` is False they are one law. `accepted`, `replaced` and `law` equal what acceptance and residual
    give. Rows in a stack, and a row against a stack, are answered as each pair is alone. No row is written into. Then `verify`
    is run on drafts from q, in floats, and compared with acceptance and `residual_given` of the same floats.
    Of a block rule: `outcomes` are a law on each drafted path, and `verify`, run on all paths mixed, keeps and draws as they say.

    Whether a procedure has its law is judged cell by cell (drafted and accepted, drafted and replaced by y; for a path, kept
    length and next token) by exact binomial tails, at a level of ``error`` divided by the number of pairs, cells and tails. By
    the union bound ``error`` is at least the probability, over the random numbers, that any tail of a right rule is too small.
    Rounding is allowed for: the chance of a cell may be off by ``tolerance``, or by 1e-12 where that is more. The random numbers
    are a function of the pair. Further pairs are tried only once one has failed, to find a smaller one, so that they accuse no
    other rule. What a procedure does too rarely to show in so many draws is not seen.

    Examples
    --------
    >>> from theory import BlockVerification, ExactMatch
    >>> assert_consistent(ExactMatch(), examples=20)
    >>> assert_consistent(BlockVerification(), examples=5)
    """
    rule = _resolve(verifier)
    parameters.check_count("draws", draws)
    parameters.check("error", error, "(0, 1)")
    numbers = _arithmetic(pair, dtype, tolerance)
    trial = functools.partial(procedures.Trial, draws, slack=numbers.tolerance)
    options = _options(tolerance=tolerance, draws=None if draws == 20_000 else draws, error=None if error == 1e-9 else error)
    if isinstance(rule, TokenVerifier):
        _refuse_gamma(rule, gamma)
        count = _or(examples, 100)

        def check(case: tuple[Array, Array]) -> None:
            tokens.check_agreement(rule, numbers, case)
            procedures.check_procedure(rule, trial(error / (1 if pair is not None else count)), case)

        _search_rows(rule, "assert_consistent", check, numbers, _or(max_size, 6), count, pair, {}, options)
    else:
        count = _or(examples, 50)
        cases = (1 if gamma else LONGEST) if pair is not None else count + 1

        def check_block(case: paths.Case) -> None:
            for _ in paths.outcomes(rule, numbers, case):
                pass
            paths.check_procedure(rule, trial(error / cases), case)

        _search_models(rule, "assert_consistent", check_block, numbers, _or(max_size, 3), count, pair, gamma, options)


# --- the searches -------------------------------------------------------------------------------------------------------------


def _search_pairs(
    rule: TokenVerifier,
    assertion: str,
    name: str,
    law: Law,
    max_size: int,
    examples: int,
    dtype: Any,
    tolerance: float | None,
    pair: Any,
) -> None:
    """Search for a pair of rows on which a rule does not induce ``law(p, q)``."""
    numbers = _arithmetic(pair, dtype, tolerance)
    wanted: dict[str, Callable[[Array, Array], Any]] = {"wanted": law} if assertion == "assert_law" else {}
    check = functools.partial(tokens.check_law, rule, law, name, numbers)
    _search_rows(rule, assertion, check, numbers, max_size, examples, pair, wanted, _options(tolerance=tolerance))


def _search_rows(
    rule: TokenVerifier,
    assertion: str,
    check: Callable[[tuple[Array, Array]], None],
    numbers: Arithmetic,
    max_size: int,
    examples: int,
    pair: Any,
    wanted: dict[str, Callable[[Array, Array], Any]],
    options: str,
) -> None:
    parameters.check_count("max_size", max_size)
    parameters.check_count("examples", examples)
    guarded = functools.partial(look, check, hint=HINT if numbers.exact else "")
    if pair is not None:
        found = _at((_check_rows(pair),), guarded)
    else:
        found = smallest(strategies.pairs(max_size=max_size, rows=numbers.rows), guarded, examples)
    if found is not None:
        (p, q), wrong = found
        setup = {"p": p, "q": q, **{key: np.asarray(law(p, q)) for key, law in wanted.items()}}
        call = "".join(f"lambda p, q: {key}, " for key in wanted) + "pair=(p, q)" + options
        _raise(rule, wrong, {"p": p, "q": q}, assertion, setup, call)


def _search_models(
    rule: BlockVerifier,
    assertion: str,
    check: Callable[[paths.Case], None],
    numbers: Arithmetic,
    max_size: int,
    examples: int,
    pair: Any,
    gamma: int | None,
    options: str,
) -> None:
    parameters.check_count("max_size", max_size, 2)
    parameters.check_count("examples", examples)
    if gamma is not None:
        parameters.check_count("gamma", gamma)
    if pair is not None and not isinstance(pair, Pair):
        raise ValueError(f"pair = {pair!r}: must be a Pair of models, since {rule} is a block rule")
    size, longest = max_size if pair is None else pair.size, gamma or LONGEST
    if size ** (longest + 1) > enumeration.BUDGET:
        raise ValueError(f"{size} tokens and gamma = {longest} make {size ** (longest + 1):,} texts: more than can be walked")
    guarded = functools.partial(look, check, hint=HINT if numbers.exact else "")
    if pair is not None:
        found = _at([(length, pair) for length in ([gamma] if gamma else range(1, LONGEST + 1))], guarded)
    else:
        lengths = st.just(gamma) if gamma else st.integers(1, LONGEST)
        drawn = st.tuples(lengths, strategies.model_pairs(max_size=max_size, rows=numbers.rows))
        found = smallest(drawn, guarded, examples)
        if found is None and numbers.exact and gamma in (None, SUBTLE[0]):
            found = _at([SUBTLE], guarded)
    if found is not None:
        (length, drawn_pair), wrong = found
        _raise(rule, wrong, report.first_rows(drawn_pair), assertion, {"pair": drawn_pair}, f"pair=pair, gamma={length}{options}")


def _at(cases: Any, check: Callable[[Any], Falsified | None]) -> tuple[Any, Falsified] | None:
    """Look at given cases, one after the other; give the first that fails."""
    return next(((case, wrong) for case in cases if (wrong := check(case)) is not None), None)


def _raise(rule: Any, wrong: Falsified, rows: dict[str, Any], assertion: str, setup: dict[str, Any], call: str) -> NoReturn:
    raise AssertionError(report.message(rule, wrong, rows, assertion, setup, call)) from wrong.__cause__


# --- arguments ----------------------------------------------------------------------------------------------------------------


def _resolve(verifier: Any) -> TokenVerifier | BlockVerifier:
    """Give the rule that is meant: a name is a token rule's unless it says otherwise."""
    if isinstance(verifier, str):
        block = blocks.parse(verifier)
        as_block = verifier.strip().startswith(f"{Tokenwise.name}:") or ",bonus=" in verifier
        return block.verifier if isinstance(block, Tokenwise) and not as_block else block
    if isinstance(verifier, BlockVerifier) or (isinstance(verifier, type) and issubclass(verifier, BlockVerifier)):
        return blocks.resolve(verifier, "verifier")  # type: ignore[arg-type]
    return verifiers.resolve(verifier)


def _refuse_gamma(rule: TokenVerifier, gamma: int | None) -> None:
    if gamma is not None:
        raise ValueError(f"gamma = {gamma!r}: {rule} is a token rule, which has no blocks; Tokenwise(rule) makes one")


def _arithmetic(pair: Any, dtype: Any, tolerance: float | None) -> Arithmetic:
    """Read the type of the rows: that of the pair that is given, else ``dtype``."""
    if pair is None:
        return arithmetic.choose(dtype, tolerance)
    rows = pair.rows(())[0] if isinstance(pair, Pair) else _check_rows(pair)[0]
    return arithmetic.of_rows(rows, tolerance)


def _check_rows(pair: Any) -> tuple[Array, Array]:
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise ValueError(f"pair = {pair!r}: must be rows (p, q), of a token rule")
    p, q = probs.check_pair(*pair)
    if p.ndim != 1 or q.ndim != 1:
        raise ValueError(f"pair has rows of shapes {p.shape} and {q.shape}: must be one row each, (V,)")
    return p, q


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _options(**given: Any) -> str:
    """Write the arguments that a printed test must repeat."""
    return "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)
