"""Long decodes of pairs with finitely many states, by linear algebra: no enumeration over texts.

A decoder's text is a hidden Markov chain. A token-wise decoder is followed token by token, any other block rule from block
start to block start.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from theory import linear
from theory.blocks import BlockVerifier, Tokenwise, resolve
from theory.decode import enumeration
from theory.decode.chain import HiddenChain, States, hidden_chain, states
from theory.models import Context, Pair
from theory.probs import Array


@dataclass(frozen=True, eq=False)
class LongRun:
    """Averages over an endless decode.

    Attributes
    ----------
    tokens_per_call : float or Fraction
        Long-run block efficiency, tokens emitted per target call.
    token_law : ndarray, shape (V,)
        Share of each token in the text.
    start_law : ndarray, shape (states,)
        Law of the pair's state in which a block starts.
    states : States
        Which states these are.
    """

    tokens_per_call: Any
    token_law: Array
    start_law: Array
    states: States


def long_run(block: enumeration.AnyBlock, pair: Pair, gamma: int, context: Context = ()) -> LongRun:
    """Average an endless decode: block efficiency, token law, and the states in which blocks start.

    Fractions are kept.

    Parameters
    ----------
    block : BlockVerifier, TokenVerifier or str
        The rule or its name. `Tokenwise` needs no enumeration at all; others are enumerated within one block from each state.
    pair : Pair
        With finitely many states: i.i.d. or Markov models.
    gamma : int
        Drafted tokens in a block.
    context : tuple of int
        Where the decode begins; it matters only where the chain is not irreducible.

    Raises
    ------
    ValueError
        Where the pair has too many states, or the long run depends on chance.

    Notes
    -----
    The state in which a block starts depends on what was emitted before, so blocks started at the stationary law of the
    *text* give another, wrong, average: the chain of block starts has its own stationary law. With a lossy rule and a bonus
    from the target the text's token law is a mixture of the rule's law and p.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> from theory.models import iid
    >>> from theory.verifiers import Lenience
    >>> golden = iid([F(4, 10), F(3, 10), F(2, 10), F(1, 10)], [F(4, 20), F(5, 20), F(5, 20), F(6, 20)])
    >>> [str(x) for x in long_run(Tokenwise(Lenience(F(1, 2))), golden, gamma=2).token_law]
    ['428/1355', '378/1355', '637/2710', '461/2710']
    """
    rule = resolve(block)
    if isinstance(rule, Tokenwise):
        return _long_run_tokenwise(hidden_chain(rule, pair, gamma, context))
    return long_run_by_blocks(rule, pair, gamma, context)


def _long_run_tokenwise(chain: HiddenChain) -> LongRun:
    count = len(chain.states.contexts)
    time = linear.stationary(chain.transition()).reshape(count, chain.gamma + 1)
    starts = time[:, 0]  # each visit to "nothing accepted yet" is one target call, each step one token
    calls = starts.sum()
    tokens = (time[..., None] * chain.tokens).sum(axis=(0, 1))
    return LongRun(1 / calls, tokens, starts / calls, chain.states)


def long_run_by_blocks(block: BlockVerifier, pair: Pair, gamma: int, context: Context = ()) -> LongRun:
    """Average an endless decode of any block rule, from block start to block start; see `long_run`."""
    enumeration.check_budget(pair, gamma, "decode")
    found = states(pair, context)
    count, row = len(found.contexts), pair.rows(context)[0]
    matrix = np.full((count, count), 0 * row[0], dtype=row.dtype)
    emitted = np.full((count, pair.size), 0 * row[0], dtype=row.dtype)
    for state, current in enumerate(found.contexts):
        for probability, tokens, outcome in enumeration.branches(block, pair, gamma, current):
            then = state
            for token in tokens[: outcome.kept]:
                emitted[state, token] += probability
                then = int(found.after[then, token])
            if outcome.next_probs is None:
                matrix[state, then] += probability
                continue
            emitted[state] += probability * outcome.next_probs
            for token, share in enumerate(outcome.next_probs):
                matrix[state, found.after[then, token]] += probability * share
    starts = linear.stationary(matrix)
    tokens_law = (starts[:, None] * emitted).sum(axis=0)
    per_call = tokens_law.sum()
    return LongRun(per_call, tokens_law / per_call, starts, found)
