"""A search for bad pairs of rows that knows nothing of the rule: differential evolution from structured starts, then a simplex.

Suprema tend to sit on the border: at zeros of p and q, at ties, at a draft that is sure of one token, on the edge of an
allowed set. So an entry of the search space, in [0, 1], stands for a weight that is 0 for the lowest part of the range, and
small for much of the rest; the starts hold the corners; and what is not continuous is found by evolution before the simplex
polishes.
"""

from typing import Any, NamedTuple

import numpy as np

from theory import parameters, probs
from theory.failure.suprema import QUANTITIES, check_quantity
from theory.probs import Array, RowsLike
from theory.verifiers import TokenVerifier, resolve

ZERO = 0.15
"""Below this an entry stands for the weight 0."""

POWER = 4
"""How much of the range stands for small weights."""

LEAST = 1e-9
"""Weights below this, relative to the largest, are 0: rules leave room for rounding, in which a search would find a home."""

HUGE = 1e100
"""What inf counts for."""


class Found(NamedTuple):
    """The worst pair of rows that a search has met."""

    value: float
    p: Array
    q: Array


def search(
    verifier: TokenVerifier | str,
    quantity: str = "total_variation",
    vocabulary: int = 3,
    seed: int = 0,
    target: RowsLike | None = None,
    generations: int = 100,
    population: int = 64,
) -> Found:
    """Look for the pair of rows with the largest value of a quantity; any rule will do, one of your own too.

    Parameters
    ----------
    verifier : TokenVerifier
        The rule.
    quantity : str
        A key of `QUANTITIES`.
    vocabulary : int
        V, at least 1.
    seed : int
        The same seed finds the same pair.
    target : array_like, shape (V,), optional
        A row p to keep, with the search over q alone; in the place of ``vocabulary``.
    generations, population : int
        Of the evolution. Their product is about the number of pairs tried.

    Returns
    -------
    Found
        ``value``, ``p`` and ``q``: float64 rows, on which the rule's own law has that value.

    Raises
    ------
    ValueError
        For a quantity that does not exist, counts below 1 (5 for the population), or a target that is not one row.

    Notes
    -----
    A search, not a proof: it gives a lower bound of the supremum. An infinite value ends it.

    Examples
    --------
    >>> from theory.verifiers import Lenience
    >>> round(search(Lenience(0.4)).value, 3)
    0.6
    """
    check_quantity(quantity)
    for name, count, least in (("vocabulary", vocabulary, 1), ("generations", generations, 1), ("population", population, 5)):
        parameters.check_count(name, count, least)
    fixed = None if target is None else probs.as_float(probs.check_rows(target, "target")).astype(np.float64)
    if fixed is not None and fixed.ndim != 1:
        raise ValueError(f"target has shape {fixed.shape}: one row is wanted, of shape (V,)")
    size = vocabulary if fixed is None else fixed.size
    hunt = _Hunt(resolve(verifier), quantity, size, fixed)
    rng = np.random.default_rng(seed)
    starts = _starts(size, fixed is None)
    room = max(population - len(starts), population // 2)
    starts = np.concatenate([starts, rng.random((room, starts.shape[1]))])
    hunt(starts.T)
    hunt.evolve(starts[np.argsort(-hunt.last, kind="stable")[:population]], generations, rng)
    hunt.polish()
    return hunt.best


class _Hunt:
    """The objective, which remembers the worst pair it has been shown."""

    def __init__(self, verifier: TokenVerifier, quantity: str, size: int, target: Array | None) -> None:
        self._verifier, self._measure, self._size, self._target = verifier, QUANTITIES[quantity], size, target
        self.best = Found(-np.inf, np.zeros(0), np.zeros(0))
        self.last = np.zeros(0)
        self._where = np.zeros(0)

    def __call__(self, entries: Array) -> Any:
        """Give minus the quantity for entries of shape (dimensions, pairs) or (dimensions,)."""
        points = np.atleast_2d(entries.T)
        q = _rows(points[:, -self._size :])
        p = _rows(points[:, : self._size]) if self._target is None else np.broadcast_to(self._target, q.shape)
        values = np.asarray(self._measure(self._verifier.induced(p, q), p), dtype=np.float64)
        self.last = np.minimum(values, HUGE)
        at = int(np.argmax(self.last))
        if values[at] > self.best.value:
            self.best, self._where = Found(float(values[at]), p[at].copy(), q[at].copy()), points[at]
        return -self.last if entries.ndim == 2 else -self.last[0]

    @property
    def _done(self) -> bool:
        return self._size == 1 or not np.isfinite(self.best.value)

    def evolve(self, starts: Array, generations: int, rng: np.random.Generator) -> None:
        """Run differential evolution on whole populations at once."""
        from scipy.optimize import Bounds, differential_evolution

        if self._done:
            return

        def stop(intermediate_result: Any) -> None:
            if self._done:
                raise StopIteration

        differential_evolution(
            self,
            Bounds(np.zeros(starts.shape[1]), np.ones(starts.shape[1])),
            init=starts,
            maxiter=generations,
            mutation=(0.3, 0.9),
            recombination=0.8,
            tol=0,
            seed=rng,
            callback=stop,
            polish=False,
            updating="deferred",
            vectorized=True,
        )

    def polish(self) -> None:
        """Walk a simplex from the worst pair."""
        from scipy.optimize import minimize

        if not self._done:
            minimize(
                self,
                self._where,
                method="Nelder-Mead",
                bounds=[(0.0, 1.0)] * self._where.size,
                options={"maxfev": 25 * self._size},
            )


def _rows(entries: Array) -> Array:
    """Give the rows that entries stand for; the first token where all weights are 0."""
    weights = (np.maximum(entries - ZERO, 0) / (1 - ZERO)) ** POWER
    weights[weights < LEAST * weights.max(axis=-1, keepdims=True)] = 0
    weights[~weights.any(axis=-1), 0] = 1
    return probs.normalise(weights)


def _entries(rows: Array) -> Array:
    """Give entries that stand for rows."""
    weights = rows / rows.max(axis=-1, keepdims=True)
    return np.where(weights > 0, ZERO + (1 - ZERO) * weights ** (1 / POWER), 0)


def _starts(size: int, both: bool) -> Array:
    """Give entries of sure drafts, flat ones, and flat ones that lack a token; beside targets flat but for one token.

    And of drafts that are the target but for the mass of one token, moved to another: some residuals jump where p = q.
    """
    flat = np.full((1, size), 1 / size)
    if size == 1:
        return _entries(np.concatenate([flat, flat], axis=-1) if both else flat)
    sure = np.eye(size)
    lacking = probs.normalise(1 - sure)
    if not both:
        return _entries(np.concatenate([sure, lacking, flat]))
    heads = np.array([0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 0.9, 0.97, 0.99, 0.997, 0.999])[:, None]
    targets = np.concatenate([heads * sure[0] + (1 - heads) * lacking[0], flat])
    drafts = np.concatenate([sure[:2], lacking[:2], flat])
    pairs = [np.concatenate([p, q]) for p in _entries(targets) for q in _entries(drafts)]
    for masses in ((1e-8, 0.05), (1e-8, 0.2)) if size > 2 else ():
        p = np.array([*masses, *[(1 - sum(masses)) / (size - 2)] * (size - 2)])
        q = np.array([0, sum(masses), *p[2:]])
        pairs.append(np.concatenate([_entries(p), _entries(q)]))
    return np.array(pairs)
