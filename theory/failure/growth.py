"""How to tell whether what a search finds still grows with the search: towards the edge, and with the number of tokens.

A search bounds a supremum from below, and its last value says nothing about whether there is one. So values are compared at
several sizes of the search. Towards the edge, where the least weights are *edge*, a value either settles, or rises by equal parts
for equal parts of ln 1/edge (c ln 1/edge, as a KL divergence does), or by equal factors (edge^-k, as an overshoot does). With the
number V of tokens it settles, rises to a limit as L - c V^-k does, or rises without one.

All of this is a reading of a few numbers and no proof. What rises only beyond the last of them looks settled.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from theory.probs import Array

SETTLED, RISING, UNBOUNDED, INFINITE = TRENDS = ("settled", "rising", "unbounded", "infinite")
"""What a value does as the search grows: rise no more; rise to a limit; rise steadily, with no limit seen; or be inf."""

STEADY = 0.75
"""A value that settles as edge^k or as 1/ln(1/edge) rises by less than this share of its last rise; one without bound by more."""

NOISE = 1e-3
"""A rise by less than this share of the value is none."""

FLAT = 0.005
"""With the number of tokens, values come from searches, and a rise by less than this share may be theirs."""

LEAST_ORDER = 0.25
"""An order k in L - c V^-k below which no limit is seen: ln V looks like a small one."""


class Towards(NamedTuple):
    """What a value does towards the edge."""

    trend: str
    """One of `TRENDS`."""
    rate: float
    """k of edge^-k, or c of c ln 1/edge; 0 where the value settles, NaN where inf was met."""
    law: str
    """``"edge^-k"``, ``"c ln 1/edge"``, or empty."""


def towards_edge(edges: Sequence[float], values: Array, most: float = math.inf) -> Towards:
    """Say what a value does as the least weights of the rows go to 0, from its values at three edges or more.

    Parameters
    ----------
    edges : sequence of float
        Least weights, falling.
    values : array_like of float
        The value at each.
    most : float
        What the quantity can be at most; a value that has a bound is called rising and not unbounded.

    Examples
    --------
    >>> edges = np.array([1e-3, 1e-5, 1e-7])
    >>> towards_edge(edges, edges**-0.5)
    Towards(trend='unbounded', rate=0.5, law='edge^-k')
    >>> towards_edge(edges, 1 - edges)
    Towards(trend='settled', rate=0.0, law='')
    """
    last = np.asarray(values, dtype=np.float64)[-3:]
    if last[-1] == np.inf:
        return Towards(INFINITE, math.nan, "")
    depth = -np.log(np.asarray(edges, dtype=np.float64)[-3:])
    with np.errstate(invalid="ignore", divide="ignore"):  # of values that were inf, or 0
        slopes = np.diff(last) / np.diff(depth)
        powers = np.diff(np.log(np.maximum(last, 0))) / np.diff(depth)
        rises = np.diff(last) > NOISE * np.maximum(abs(last[1:]), 1e-9)
        if not (rises.all() and slopes[1] >= STEADY * slopes[0]):
            return Towards(SETTLED, 0.0, "")
        straight = abs(np.log(powers[1] / powers[0])) < abs(np.log(slopes[1] / slopes[0]))  # on one scale or the other
    return Towards(
        UNBOUNDED if most == math.inf else RISING,
        float(round(powers[1] if straight else slopes[1], 12)),
        "edge^-k" if straight else "c ln 1/edge",
    )


class Sizes(NamedTuple):
    """What a value does with the number of tokens."""

    trend: str
    """One of `TRENDS`."""
    limit: float
    """Where it goes, extrapolated; the last value where it has settled, inf where no limit is seen."""


def with_size(sizes: Sequence[int], values: Sequence[float], most: float = math.inf) -> Sizes:
    """Say what a value does as the tokens become more, from its values at three sizes.

    Parameters
    ----------
    sizes : sequence of int
        Three numbers of tokens, rising.
    values : sequence of float
        The value at each.
    most : float
        What the quantity can be at most, and then the limit.

    Notes
    -----
    The limit is L of the L - c V^-k through the three points, which is Aitken's limit where the sizes have one ratio.

    Examples
    --------
    >>> with_size((4, 8, 16), [1 - 1 / 4, 1 - 1 / 8, 1 - 1 / 16])
    Sizes(trend='rising', limit=1.0)
    >>> with_size((4, 8, 16), [2.0, 3.0, 4.0])
    Sizes(trend='unbounded', limit=inf)
    """
    first, middle, last = (float(value) for value in values)
    if last == math.inf:
        return Sizes(INFINITE, math.inf)
    if not last - middle > FLAT * max(abs(last), 1e-9):
        return Sizes(SETTLED, last)
    order = _order(sizes, (last - middle) / (middle - first)) if middle > first else 0.0
    if order < LEAST_ORDER:
        return Sizes(UNBOUNDED, math.inf) if most == math.inf else Sizes(RISING, most)
    share = (sizes[1] ** -order - sizes[2] ** -order) / sizes[2] ** -order
    return Sizes(RISING, min(round(last + (last - middle) / share, 12), most))


def _order(sizes: Sequence[int], ratio: float) -> float:
    """Give the k for which V^-k falls in this ratio from one size to the next; 0 for any k below `LEAST_ORDER`."""
    from scipy.optimize import brentq

    def off(order: float) -> float:
        first, middle, last = (math.pow(size, -order) for size in sizes)
        return (middle - last) / (first - middle) - ratio

    low, high = LEAST_ORDER, 50.0
    return 0.0 if off(low) <= 0 else high if off(high) >= 0 else float(brentq(off, low, high))
