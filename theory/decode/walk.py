"""Many texts walked at once through the states of a pair: rows, samplers and next states, each found once and kept."""

import numpy as np

from theory import probs
from theory.blocks import Draft
from theory.blocks.tokenwise import groups
from theory.models import Context, Pair
from theory.probs import Array


class Walk:
    """The states of a pair that texts have reached so far, numbered; works for any pair, cheapest where states are few.

    Parameters
    ----------
    pair : Pair
        Target and draft model; Fractions are converted.
    context : tuple of int
        Where all texts begin, state 0.

    Examples
    --------
    >>> from theory.models import markov
    >>> walk = Walk(markov([[0.5, 0.5], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]]))
    >>> walk.step(np.array([0, 0, 0]), np.array([1, 0, 1])).tolist()
    [1, 0, 1]
    """

    def __init__(self, pair: Pair, context: Context = ()) -> None:
        self._pair = pair
        self._number = {pair.state(context): 0}
        self._contexts = [context]
        self._after: list[Array] = []
        self._rows: tuple[Array, Array] | None = None
        self._samplers: list[probs.InverseCDF] = []

    def rows(self) -> tuple[Array, Array]:
        """Give target and draft rows of all states reached, each of shape (states, V)."""
        if self._rows is None or len(self._rows[0]) < len(self._contexts):
            pairs = [self._pair.rows(context) for context in self._contexts]
            p, q = (probs.trust(np.stack([probs.as_float(rows[i]) for rows in pairs])) for i in (0, 1))
            self._rows = p, q
        return self._rows

    def step(self, state: Array, token: Array) -> Array:
        """Give the states after one more token."""
        while len(self._after) < len(self._contexts):
            self._after.append(np.full(self._pair.size, -1, dtype=np.intp))
        then = np.empty_like(state)
        for current, here in groups(state):
            row = self._after[current]
            for fresh in np.unique(token[here][row[token[here]] < 0]).tolist():
                row[fresh] = self._find((*self._contexts[current], fresh))
            then[here] = row[token[here]]
        return then

    def _find(self, context: Context) -> int:
        state = self._pair.state(context)
        if state not in self._number:
            self._number[state] = len(self._contexts)
            self._contexts.append(context)
        return self._number[state]

    def draft(self, state: Array, gamma: int, rng: np.random.Generator) -> Draft:
        """Draft a path of gamma tokens from each of many states."""
        at = np.empty((len(state), gamma + 1), dtype=np.intp)
        tokens = np.empty((len(state), gamma), dtype=np.intp)
        at[:, 0] = state
        for position in range(gamma):
            q = self.rows()[1]
            while len(self._samplers) < len(q):
                self._samplers.append(probs.InverseCDF(q[len(self._samplers)]))
            for current, here in groups(at[:, position]):
                tokens[here, position] = self._samplers[current].draw(rng, here.size)
            at[:, position + 1] = self.step(at[:, position], tokens[:, position])
        return Draft(*self.rows(), tokens, at)
