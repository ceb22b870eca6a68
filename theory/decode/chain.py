"""A decoder as a chain: the states of a pair of models, and for token-wise blocks the tokens accepted so far."""

from dataclasses import dataclass

import numpy as np

from theory import models, parameters
from theory.blocks import Tokenwise
from theory.models import Context, Pair
from theory.probs import Array

STATES = 4096
"""States of a pair that are followed at most."""


@dataclass(frozen=True, eq=False)
class States:
    """The states of a pair that can be reached, and where each token leads.

    Attributes
    ----------
    contexts : list of tuple of int
        A context in each state; the first is the one asked for.
    after : ndarray of int, shape (states, V)
        The state that each token leads to.
    """

    contexts: list[Context]
    after: Array


def states(pair: Pair, context: Context = ()) -> States:
    """Find the states that a pair can reach from ``context``.

    Raises
    ------
    ValueError
        Where there are more than `STATES`: the pair is not Markov, or of too high an order.

    Examples
    --------
    >>> from theory.models import markov
    >>> states(markov([[0.5, 0.5], [0.25, 0.75]], [[0.5, 0.5], [0.5, 0.5]])).after.tolist()
    [[0, 1], [0, 1]]
    """
    start = models.check(pair, context)
    found, contexts, after = {pair.state(start): 0}, [start], []
    for current in contexts:  # grows while it is walked
        row = []
        for token in range(pair.size):
            longer = (*current, token)
            state = pair.state(longer)
            if state not in found:
                if len(found) == STATES:
                    raise ValueError(f"pair: more than {STATES} states; long-run laws need a pair of i.i.d. or Markov models")
                found[state] = len(found)
                contexts.append(longer)
            row.append(found[state])
        after.append(row)
    return States(contexts, np.array(after, dtype=np.intp))


@dataclass(frozen=True, eq=False)
class HiddenChain:
    """A token-wise decoder as a chain on (state of the pair, tokens accepted so far in the block), one token a step.

    Attributes
    ----------
    states : States
        Of the pair.
    gamma : int
        Drafted tokens in a block.
    accepted : ndarray, shape (states, gamma + 1, V)
        P(the next token is x, accepted): it leads to one more accepted. 0 at gamma, where the bonus ends the block.
    ended : ndarray, shape (states, gamma + 1, V)
        P(the next token is x, a replacement or the bonus): the block ends, and the next begins at 0.
    """

    states: States
    gamma: int
    accepted: Array
    ended: Array

    @property
    def tokens(self) -> Array:
        """Law of the next token in each hidden state, shape (states, gamma + 1, V)."""
        return np.asarray(self.accepted + self.ended)

    def transition(self) -> Array:
        """Give the chain's matrix, hidden states in the order (state, accepted so far), shape (n, n)."""
        count, width = len(self.states.contexts), self.gamma + 1
        matrix = np.zeros((count, width, count, width), dtype=self.accepted.dtype)
        matrix[...] = 0 * self.accepted[0, 0, 0]
        for state, row in enumerate(self.states.after):
            for token, then in enumerate(row):
                for so_far in range(width):
                    if so_far < self.gamma:
                        matrix[state, so_far, then, so_far + 1] += self.accepted[state, so_far, token]
                    matrix[state, so_far, then, 0] += self.ended[state, so_far, token]
        return matrix.reshape(count * width, count * width)


def hidden_chain(block: Tokenwise, pair: Pair, gamma: int, context: Context = ()) -> HiddenChain:
    """Make the hidden chain of a token-wise decoder that starts a block after ``context``.

    Examples
    --------
    >>> from theory.models import iid
    >>> from theory.verifiers import Strict
    >>> chain = hidden_chain(Tokenwise(Strict()), iid([0.5, 0.5], [0.25, 0.75]), gamma=1)
    >>> chain.transition().round(6).tolist()
    [[0.25, 0.75], [1.0, 0.0]]
    """
    parameters.check_count("gamma", gamma)
    if not isinstance(block, Tokenwise):
        raise ValueError(f"block = {block!r}: only a Tokenwise decoder is a chain on accepted tokens")
    found = states(pair, context)
    accepted, ended = [], []
    for current in found.contexts:
        p, q = pair.rows(current)
        kept, _, replaced = block.verifier.parts(p, q)
        bonus = p if block.bonus == "target" else block.verifier.induced(p, q)
        accepted.append(np.stack([kept] * gamma + [0 * kept]))
        ended.append(np.stack([replaced] * gamma + [bonus]))
    return HiddenChain(found, gamma, np.stack(accepted), np.stack(ended))
