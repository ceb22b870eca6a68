"""The excess (w p - q)+ of a scaled row, for many scales w at once: by it, joint verification accepts and resamples."""

import numpy as np

from theory.probs import Array


class ScaledExcess:
    """Masses and samples of (w p - q)+ for one pair of rows and any scales w in [0, 1].

    Tokens sorted by q/p are positive in a prefix, whose length grows with w. Prefix sums then give the mass S(w) = Σ (w p - q)+
    and, by bisection, a draw from (w p - q)+ / S(w), in O(log V) for each scale after O(V log V) once.

    Parameters
    ----------
    p, q : ndarray, shape (V,)
        Float rows.

    Examples
    --------
    >>> excess = ScaledExcess(np.array([0.75, 0.25]), np.array([0.5, 0.5]))
    >>> excess.mass(np.array([1.0, 0.8, 0.5])).round(12).tolist()
    [0.25, 0.1, 0.0]
    """

    def __init__(self, p: Array, q: Array) -> None:
        ratio = np.divide(q, p, out=np.full(len(p), np.inf), where=p > 0)
        self._tokens = np.argsort(ratio, kind="stable")
        self._ratio = ratio[self._tokens]
        self._p = np.concatenate([[0.0], np.cumsum(p[self._tokens], dtype=np.float64)])
        self._q = np.concatenate([[0.0], np.cumsum(q[self._tokens], dtype=np.float64)])

    def mass(self, scale: Array) -> Array:
        """Give S(w) for each scale."""
        return np.asarray(self._prefix(scale, np.searchsorted(self._ratio, scale)))

    def draw(self, scale: Array, rng: np.random.Generator) -> Array:
        """Draw one token from (w p - q)+ / S(w) for each scale; every S(w) must be positive."""
        positive = np.searchsorted(self._ratio, scale)
        goal = rng.random(scale.shape) * self._prefix(scale, positive)
        low, high = np.zeros_like(positive), positive - 1  # the first prefix that exceeds the goal, less one, is in low..high
        while (low < high).any():
            middle = (low + high) // 2
            enough = self._prefix(scale, middle + 1) > goal
            low, high = np.where(enough, low, middle + 1), np.where(enough, middle, high)
        return np.asarray(self._tokens[low])

    def _prefix(self, scale: Array, length: Array) -> Array:
        return np.asarray(np.maximum(scale * self._p[length] - self._q[length], 0))
