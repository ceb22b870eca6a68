"""Laws of one block and of a text, by walking every drafted path: any block rule, any pair of models, exact on Fractions."""

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from theory import models, parameters, probs
from theory.blocks import BlockVerifier, Draft, Outcome, resolve
from theory.models import Context, Pair
from theory.probs import Array
from theory.verifiers import TokenVerifier

BUDGET = 200_000
"""Branches (drafted paths times tokens of the text) that an enumeration may walk; beyond it there is Monte Carlo."""

AnyBlock = BlockVerifier | TokenVerifier | str
"""A block rule, a token rule, which runs token by token, or the name of either."""

CONTINUE = ("target", "decoder")
"""Who completes a text that one block leaves short."""


def check_budget(pair: Pair, gamma: int, name: str, length: int = 0) -> None:
    """Raise where walking all drafted paths and texts would exceed `BUDGET`."""
    parameters.check_count("gamma", gamma)
    models.check(pair, ())
    branches = pair.size**gamma + pair.size**length
    if branches > BUDGET:
        raise ValueError(
            f"{name} would walk {branches:,} branches ({pair.size} tokens, gamma = {gamma}), more than {BUDGET:,}: "
            f"use theory.monte_carlo.{name}"
        )


def paths(pair: Pair, gamma: int, context: Context = ()) -> Iterator[tuple[Any, Draft]]:
    """Walk the drafted paths of positive probability after ``context``, each with its probability."""
    for tokens in itertools.product(range(pair.size), repeat=gamma):
        probability, rows = 1, []
        for position in range(gamma + 1):
            rows.append(pair.rows((*context, *tokens[:position])))
            if position < gamma:
                probability = probability * rows[-1][1][tokens[position]]
            if probability == 0:
                break
        else:
            p, q = (probs.trust(np.stack([row[side] for row in rows])) for side in (0, 1))
            yield probability, Draft(p, q, list(tokens))


def branches(block: AnyBlock, pair: Pair, gamma: int, context: Context = ()) -> Iterator[tuple[Any, tuple[int, ...], Outcome]]:
    """Walk what one block may do: probability, drafted tokens, outcome."""
    rule = resolve(block)
    for probability, draft in paths(pair, gamma, models.check(pair, context)):
        for outcome in rule.checked_outcomes(draft):
            yield probability * outcome.probability, tuple(draft.tokens.tolist()), outcome


def length_pmf(block: AnyBlock, pair: Pair, gamma: int, context: Context = ()) -> Array:
    """Law of the accepted length τ of one block after ``context``.

    Parameters
    ----------
    block : BlockVerifier, TokenVerifier or str
        The rule or its name (see `theory.blocks.parse`).
    pair : Pair
        Target and draft model.
    gamma : int
        Drafted tokens.
    context : tuple of int
        Tokens so far.

    Returns
    -------
    ndarray, shape (gamma + 1,)
        P(τ = 0), ..., P(τ = gamma).

    Raises
    ------
    ValueError
        Where the enumeration exceeds `BUDGET`; the message names the Monte Carlo twin.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> from theory.blocks import BlockVerification
    >>> from theory.models import iid
    >>> pair = iid([F(1, 3), F(2, 3)], [F(2, 3), F(1, 3)])
    >>> [str(x) for x in length_pmf(BlockVerification(), pair, 2)]
    ['1/3', '1/9', '5/9']
    """
    check_budget(pair, gamma, "length_pmf")
    pmf: list[Any] = [0] * (gamma + 1)
    for probability, _, outcome in branches(block, pair, gamma, context):
        pmf[outcome.kept] = pmf[outcome.kept] + probability
    return _array(pmf, pair.rows(context)[0])


def accepted_length(block: AnyBlock, pair: Pair, gamma: int, context: Context = ()) -> Any:
    """Compute the expected accepted length E[τ] of one block after ``context``, in tokens.

    Examples
    --------
    >>> from theory.blocks import Tokenwise
    >>> from theory.models import iid
    >>> from theory.verifiers import Strict
    >>> round(float(accepted_length(Tokenwise(Strict()), iid([1 / 3, 2 / 3], [2 / 3, 1 / 3]), 2)), 6)
    1.111111
    """
    check_budget(pair, gamma, "accepted_length")
    return sum(probability * outcome.kept for probability, _, outcome in branches(block, pair, gamma, context))


def block_efficiency(block: AnyBlock, pair: Pair, gamma: int, context: Context = ()) -> Any:
    """Compute the expected tokens that one target call emits after ``context``: E[τ] + 1 for rules that always draw one more.

    Examples
    --------
    >>> from theory.blocks import Tokenwise
    >>> from theory.models import iid
    >>> from theory.verifiers import Strict
    >>> round(float(block_efficiency(Tokenwise(Strict()), iid([1 / 3, 2 / 3], [2 / 3, 1 / 3]), 2)), 6)
    2.111111
    """
    check_budget(pair, gamma, "block_efficiency")
    return sum(probability * emitted(outcome) for probability, _, outcome in branches(block, pair, gamma, context))


def emitted(outcome: Outcome) -> int:
    """Tokens that a branch emits."""
    return outcome.kept + (outcome.next_probs is not None)


def target_sequence(pair: Pair, length: int, context: Context = ()) -> Array:
    """Law of the next ``length`` tokens of the target itself, shape (V,) * length.

    Fractions are kept.
    """
    parameters.check_count("length", length, 0)
    start = models.check(pair, context)
    row = pair.rows(start)[0]
    if length == 0:
        return _array(row.sum() ** 0, row)
    if length == 1:
        return row
    return np.stack([row[x] * target_sequence(pair, length - 1, (*context, x)) for x in range(pair.size)])


def induced_sequence(
    block: AnyBlock,
    pair: Pair,
    gamma: int,
    length: int | None = None,
    context: Context = (),
    continue_with: str = "target",
) -> Array:
    """Law of the first ``length`` tokens that a decoder emits after ``context``.

    Fractions are kept.

    Parameters
    ----------
    block : BlockVerifier, TokenVerifier or str
        The rule or its name (see `theory.blocks.parse`).
    pair : Pair
        Target and draft model.
    gamma : int
        Drafted tokens in each block.
    length : int, optional
        Tokens of the text; gamma + 1, all that one block can emit, where it is not given.
    context : tuple of int
        Tokens so far.
    continue_with : str
        ``"target"``: one block, a shorter output completed by the target, so that laws compare: the rule is lossless
        iff this is `target_sequence` for every pair. ``"decoder"``: block after block, what is really emitted.

    Returns
    -------
    ndarray, shape (V,) * length
        A joint law.

    Raises
    ------
    ValueError
        Where the enumeration exceeds `BUDGET`; the message names the Monte Carlo twin. Also where blocks never emit anything.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> from theory.blocks import BlockVerification
    >>> from theory.models import iid
    >>> pair = iid([F(1, 3), F(2, 3)], [F(2, 3), F(1, 3)])
    >>> law = induced_sequence(BlockVerification(), pair, gamma=2)
    >>> bool((law == target_sequence(pair, 3)).all())
    True
    """
    parameters.check_count("gamma", gamma)
    length = gamma + 1 if length is None else length
    parameters.check_count("length", length)
    parameters.check_choice("continue_with", continue_with, CONTINUE)
    check_budget(pair, gamma, "induced_sequence", length)
    rule, start = resolve(block), models.check(pair, context)
    known: dict[Any, Array] = {}

    def text(after: Context, left: int) -> Array:
        """Give the law of ``left`` tokens of the decoder's text."""
        key = (pair.state(after), left)
        if key not in known:
            known[key] = _one_block(rule, pair, gamma, left, after, text, retry=True)
        return known[key]

    def completion(after: Context, left: int) -> Array:
        return target_sequence(pair, left, after)

    if continue_with == "decoder":
        return text(start, length)
    return _one_block(rule, pair, gamma, length, start, completion, retry=False)


def _one_block(
    block: AnyBlock,
    pair: Pair,
    gamma: int,
    length: int,
    context: Context,
    rest: Callable[[Context, int], Array],
    retry: bool,
) -> Array:
    """Give the law of ``length`` tokens of which this block emits the first and ``rest`` gives those after them.

    A block that emits nothing at all is tried again in the same context (``retry``), or leaves everything to ``rest``.
    """
    row = pair.rows(context)[0]
    law = np.zeros((pair.size,) * length, dtype=row.dtype)
    law[...] = 0 * row[0]
    idle: Any = 0 * row[0]
    for probability, tokens, outcome in branches(block, pair, gamma, context):
        kept = tokens[: min(outcome.kept, length)]
        left = length - len(kept)
        if left == 0:
            law[kept] += probability
        elif outcome.next_probs is not None:
            for token in np.flatnonzero(outcome.next_probs != 0):
                prefix = (*kept, int(token))
                law[prefix] += probability * outcome.next_probs[token] * rest((*context, *prefix), left - 1)
        elif kept:
            law[kept] += probability * rest((*context, *kept), left)
        else:
            idle = idle + probability
    if idle == 0:
        return law
    if not retry:
        return np.asarray(law + idle * rest(context, length))
    if idle == 1:
        raise ValueError(f"after {context} no block ever emits a token")
    return np.asarray(law / (1 - idle))


def _array(values: Any, like: Array) -> Array:
    return np.array(values, dtype=like.dtype)
