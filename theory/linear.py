"""Linear systems, exact on Fractions: absorption and stationary laws of small chains."""

from typing import Any

import numpy as np

from theory.probs import Array


def solve(matrix: Array, right: Array) -> Array:
    """Solve A x = b, by elimination in the arithmetic of ``matrix``.

    Parameters
    ----------
    matrix : ndarray, shape (n, n)
        A, of floats or Fractions, regular.
    right : ndarray, shape (n,) or (n, m)
        b.

    Raises
    ------
    ValueError
        For a singular matrix.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> solve(np.array([[F(2), F(1)], [F(0), F(3)]]), np.array([F(1), F(1)]))
    array([Fraction(1, 3), Fraction(1, 3)], dtype=object)
    """
    if matrix.dtype != object:
        try:
            return np.linalg.solve(matrix, right)
        except np.linalg.LinAlgError:
            raise ValueError("matrix: singular, so that the system has no single solution") from None
    a, b = matrix.copy(), right.copy()
    for column in range(len(a)):
        pivots = np.flatnonzero(a[column:, column] != 0)
        if not pivots.size:
            raise ValueError("matrix: singular, so that the system has no single solution")
        pivot = column + pivots[0]
        a[[column, pivot]], b[[column, pivot]] = a[[pivot, column]], b[[pivot, column]]
        b[column] = b[column] / a[column, column]
        a[column] = a[column] / a[column, column]
        for row in range(len(a)):
            if row != column and a[row, column] != 0:
                b[row] = b[row] - a[row, column] * b[column]
                a[row] = a[row] - a[row, column] * a[column]
    return b


def stationary(transition: Array, start: int = 0) -> Array:
    """Long-run share of time in each state of a chain that begins in ``start``.

    Parameters
    ----------
    transition : ndarray, shape (n, n)
        Rows of probabilities.
    start : int
        The first state.

    Returns
    -------
    ndarray, shape (n,)
        The stationary law of the one recurrent class that ``start`` leads to; 0 elsewhere.

    Raises
    ------
    ValueError
        Where ``start`` leads to several recurrent classes, so that the long run depends on chance.

    Examples
    --------
    >>> stationary(np.array([[0.5, 0.5], [1.0, 0.0]])).round(6)
    array([0.666667, 0.333333])
    """
    from scipy.sparse.csgraph import connected_components  # here, so that importing the package stays fast

    positive = np.asarray(transition > 0, dtype=bool)
    reached = {start}
    frontier = [start]
    while frontier:
        fresh = set(np.flatnonzero(positive[frontier.pop()]).tolist()) - reached
        reached |= fresh
        frontier += fresh
    states = np.array(sorted(reached))
    inside = positive[np.ix_(states, states)]
    count, label = connected_components(inside, connection="strong")
    closed = [k for k in range(count) if not inside[label == k][:, label != k].any()]
    if len(closed) > 1:
        raise ValueError(f"the chain ends in one of {len(closed)} recurrent classes: its long run depends on chance")
    members = states[label == closed[0]]
    chain = transition[np.ix_(members, members)]
    system = chain.T - np.eye(len(members), dtype=int)  # π (T - 1) = 0, one equation of which gives way to Σ π = 1
    system[-1] = chain[0].sum() ** 0
    right: Any = np.zeros_like(chain[0]) if chain.dtype != object else 0 * chain[0]
    right[-1] = chain[0].sum() ** 0
    law = np.zeros_like(transition[0]) if chain.dtype != object else 0 * transition[0]
    law[members] = solve(system, right)
    return np.asarray(law)
