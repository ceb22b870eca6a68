"""Blocks of an i.i.d. pair of rows without enumeration of paths: closed forms, merged weights, and rigorous bounds."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from theory import parameters, probs
from theory.blocks import BlockVerification, BlockVerifier, GreedyBlock, HierarchicalVerification, Tokenwise, resolve
from theory.probs import Array, RowsLike
from theory.verifiers import TokenVerifier

WEIGHTS = 100_000
"""Distinct joint weights that the merged algorithm may carry."""

MERGE = 1e-13
"""Float weights nearer than this, relatively, are merged; E[τ] moves by at most gamma times that."""


Coarsen = Callable[[Array, Array, Array], tuple[Array, Array]]


class Bracket(NamedTuple):
    """Two-sided bounds that hold with certainty, up to rounding."""

    low: float
    high: float


class TooManyWeightsError(ValueError):
    """Joint verification meets more distinct weights than can be carried."""


def has_law(block: BlockVerifier) -> bool:
    """Whether `length_pmf` knows the law of a rule's accepted length: token-wise, greedy and joint verification."""
    return isinstance(block, Tokenwise | GreedyBlock | BlockVerification | HierarchicalVerification)


def length_pmf(block: BlockVerifier | TokenVerifier | str, p: RowsLike, q: RowsLike, gamma: int) -> Array:
    """Law of the accepted length of a block whose positions all have the rows p and q.

    Fractions are kept.

    Parameters
    ----------
    block : BlockVerifier, TokenVerifier or str
        A rule for which `has_law`, a token rule, or the name of either.
    p, q : array_like, shape (V,)
        Rows of the target and of the draft.
    gamma : int
        Drafted tokens.

    Returns
    -------
    ndarray, shape (gamma + 1,)
        P(τ = 0), ..., P(τ = gamma); exact on Fractions.

    Raises
    ------
    ValueError
        For a rule without such a law here, and for joint rules where more than `WEIGHTS` distinct weights arise:
        `accepted_length_bounds` then bounds E[τ].

    Notes
    -----
    Token-wise: α^k (1 - α), and α^γ at the end, for any V. Block verification (and hierarchical, the same law):
    P(τ >= i) = E[w_i], with the weight w_i = min(1, w_{i-1} p(x)/q(x)) a chain of its own. It is carried forward as a table from
    weight to probability; equal weights are merged, and since a weight depends on *how often* each ratio was met since it was
    last 1, and not on the order, the table grows like γ^V and not like V^γ.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> p, q = [F(1, 3), F(2, 3)], [F(2, 3), F(1, 3)]
    >>> [str(x) for x in length_pmf(BlockVerification(), p, q, 2)]
    ['1/3', '1/9', '5/9']
    """
    parameters.check_count("gamma", gamma)
    target, draft = _pair(p, q)
    rule = resolve(block)
    if isinstance(rule, Tokenwise):
        rate = rule.verifier.acceptance_rate(target, draft)
        survival = [rate**i for i in range(gamma + 1)]
    elif isinstance(rule, GreedyBlock):
        rate = draft[target.argmax()]
        survival = [rate**i for i in range(gamma + 1)]
    elif isinstance(rule, BlockVerification | HierarchicalVerification):
        survival = _expected_weights(target, draft, gamma)
    else:
        raise ValueError(f"block = {rule}: no law without enumeration; use theory.exact.length_pmf")
    pmf = [left - right for left, right in zip(survival, [*survival[1:], 0 * survival[0]], strict=True)]
    return np.array(pmf, dtype=target.dtype)


def _pair(p: RowsLike, q: RowsLike) -> tuple[Array, Array]:
    target, draft = probs.check_pair(p, q)
    if target.ndim != 1 or draft.ndim != 1:
        raise ValueError(f"p has shape {target.shape} and q {draft.shape}: one row each")
    return target, draft


def _expected_weights(p: Array, q: Array, gamma: int) -> list[Any]:
    """Give E[w_0], ..., E[w_gamma] by carrying the law of w."""
    drafted = q > 0
    ratio, share = _merged(p[drafted] / q[drafted], q[drafted])
    weight, mass = p[:1] ** 0, p[:1] ** 0
    expected = [mass[0]]
    for _ in range(gamma):
        if weight.size * ratio.size > 4 * WEIGHTS:
            raise TooManyWeightsError(
                f"more than {WEIGHTS:,} distinct weights (V = {p.size}): accepted_length_bounds bounds E[τ]"
            )
        product = np.minimum(np.multiply.outer(weight, ratio), weight[0] ** 0).ravel()
        weight, mass = _merged(product, np.multiply.outer(mass, share).ravel())
        expected.append((weight * mass).sum())
    return expected


def _merged(values: Array, mass: Array) -> tuple[Array, Array]:
    """Add up the mass of equal values; of floats, of those that differ by rounding only."""
    order = np.argsort(values, kind="stable")
    values, mass = values[order], mass[order]
    new = np.ones(values.size, dtype=bool)
    gap = 0 * values[1:] if values.dtype == object else MERGE * values[1:]
    new[1:] = np.asarray(values[1:] - values[:-1] > gap, dtype=bool)
    starts = np.flatnonzero(new)
    return values[starts], np.add.reduceat(mass, starts)


def survival_bounds(p: RowsLike, q: RowsLike, gamma: int, cells: int = 2000) -> tuple[Array, Array]:
    """Bounds on P(τ >= i), i = 0..gamma, of block verification of an i.i.d. pair, for any vocabulary.

    Parameters
    ----------
    p, q : array_like, shape (V,)
        Rows of the target and of the draft; Fractions are converted.
    gamma : int
        Drafted tokens.
    cells : int
        Of the grid on which ratios and weights are held; the width of the bracket falls like 1 / cells².

    Returns
    -------
    low, high : ndarray, shape (gamma + 1,)
        Two-sided bounds, certain up to rounding.

    Notes
    -----
    P(τ >= i) = E[w_i], and E[w_i | w_k = w] is concave in w and in each ratio. So replacing the weights (or ratios) in a cell
    by their mean can only raise the result, and moving each to the ends of its cell, at the same mean, can only lower it
    (Jensen, both ways). Both are done at each step, on cells of equal width in sqrt(w). Cost O(V log V + γ cells²).

    Examples
    --------
    >>> low, high = survival_bounds([1 / 3, 2 / 3], [2 / 3, 1 / 3], 2)
    >>> [round(float(x), 3) for x in (low[2], 5 / 9, high[2])]
    [0.556, 0.556, 0.556]
    """
    parameters.check_count("gamma", gamma)
    parameters.check_count("cells", cells, 2)
    target, draft = (probs.as_float(rows).astype(np.float64) for rows in _pair(p, q))
    drafted = draft > 0
    with np.errstate(over="ignore"):
        ratio, share = np.minimum(target[drafted] / draft[drafted], np.finfo(float).max), draft[drafted]
    edges = np.linspace(0, 1, cells + 1) ** 2
    low, high = (_coarse_survival(ratio, share, gamma, edges, coarsen) for coarsen in (_to_ends, _to_means))
    return low, high


def _coarse_survival(ratio: Array, share: Array, gamma: int, edges: Array, coarsen: Coarsen) -> Array:
    # A ratio r > 1 caps any weight above 1/r; on 1/r in [0, 1] the grid is as fine as below 1.
    up = ratio > 1
    low, high = coarsen(ratio[~up], share[~up], edges), coarsen(ratio[up], share[up], _above(edges, ratio))
    ratios, shares = np.concatenate([low[0], high[0]]), np.concatenate([low[1], high[1]])
    weight, mass, survival = np.ones(1), np.ones(1), [1.0]
    for _ in range(gamma):
        product = np.minimum(np.multiply.outer(weight, ratios), 1).ravel()
        weight, mass = coarsen(product, np.multiply.outer(mass, shares).ravel(), edges)
        survival.append(float((weight * mass).sum()))
    return np.array(survival)


def accepted_length_bounds(p: RowsLike, q: RowsLike, gamma: int, cells: int = 2000) -> Bracket:
    """Bounds on E[τ] of block verification of an i.i.d. pair, the sums of `survival_bounds`; parameters as there.

    Fractions are taken to float64.

    Examples
    --------
    >>> bounds = accepted_length_bounds([1 / 3, 2 / 3], [2 / 3, 1 / 3], 4)
    >>> bool(bounds.low - 1e-12 < 166 / 81 < bounds.high + 1e-12 and bounds.high - bounds.low < 1e-3)
    True
    """
    low, high = survival_bounds(p, q, gamma, cells)
    return Bracket(float(low[1:].sum()), float(high[1:].sum()))


def _above(edges: Array, ratio: Array) -> Array:
    """Edges above 1, equally spaced in the inverse, the last one beyond every ratio."""
    inner = 1 / edges[:0:-1]
    return np.append(inner[inner < ratio.max(initial=1)], max(ratio.max(initial=1), 1) * (1 + 1e-12) + 1e-12)


def _cells(values: Array, edges: Array) -> Array:
    return np.clip(np.searchsorted(edges, values, side="right") - 1, 0, len(edges) - 2)


def _to_means(values: Array, mass: Array, edges: Array) -> tuple[Array, Array]:
    """Put the mass of each cell at its mean."""
    cell = _cells(values, edges)
    total = np.bincount(cell, mass, len(edges) - 1)
    held = total > 0
    return np.bincount(cell, mass * values, len(edges) - 1)[held] / total[held], total[held]


def _to_ends(values: Array, mass: Array, edges: Array) -> tuple[Array, Array]:
    """Split the mass of each value between the ends of its cell, at the same mean."""
    cell = _cells(values, edges)
    right = (values - edges[cell]) / (edges[cell + 1] - edges[cell])
    total = np.bincount(cell, mass * (1 - right), len(edges)) + np.bincount(cell + 1, mass * right, len(edges))
    held = total > 0
    return edges[held], total[held]
