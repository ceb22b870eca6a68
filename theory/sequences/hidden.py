"""Carrying the law of the hidden chain (state of the pair, tokens accepted so far in the block) over tokens."""

from dataclasses import dataclass
from typing import final

import numpy as np

from theory.decode.chain import HiddenChain
from theory.models import Context, Model, Pair
from theory.probs import Array


@final
@dataclass(frozen=True, eq=False)
class _Clipped(Model):
    """A model that is not followed beyond ``depth`` tokens of context, so that any model has finitely many states."""

    model: Model
    depth: int

    @property
    def size(self) -> int:
        return self.model.size

    def row(self, context: Context) -> Array:
        return self.model.row(context)

    def state(self, context: Context) -> Context:
        return self.model.state(context) if len(context) <= self.depth else (-1,)


def clip(pair: Pair, length: int, context: Context) -> Pair:
    """Give the pair up to ``length`` tokens after ``context``: a state is found at its least depth, so that no text changes."""
    if not isinstance(pair, Pair):
        raise ValueError(f"pair = {pair!r}: must be a Pair of models, such as iid(p, q)")
    depth = len(context) + length
    return Pair(_Clipped(pair.target, depth), _Clipped(pair.draft, depth))


def start(chain: HiddenChain) -> Array:
    """Give the hidden law before the first token: the first state, nothing accepted."""
    law: Array = 0 * chain.ended[:, :, 0]
    law[0, 0] = chain.ended[0, -1].sum() ** 0
    return law


def step(chain: HiddenChain, law: Array) -> Array:
    """Carry a hidden law, shape (states, gamma + 1), over one token."""
    then: Array = 0 * law
    np.add.at(then[:, 0], chain.states.after, (law[:, :, None] * chain.ended).sum(axis=1))
    for so_far in range(chain.gamma):
        np.add.at(then[:, so_far + 1], chain.states.after, law[:, so_far, None] * chain.accepted[:, so_far])
    return then


def branches(chain: HiddenChain, at: Array, weights: Array) -> tuple[Array, Array]:
    """Share weights over the accepted tokens, (n, gamma + 1), among next tokens: block ended, (n, V), and not, (n, gamma, V)."""
    ended = (weights[:, :, None] * chain.ended[at]).sum(axis=1)
    return ended, weights[:, :-1, None] * chain.accepted[at, :-1]
