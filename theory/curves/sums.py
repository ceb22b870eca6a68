"""What all curves are made of: rows in wide numbers, their order, and sums of the first entries."""

import numpy as np

from theory import probs
from theory.probs import Array


def wide(p: Array, q: Array) -> tuple[Array, Array]:
    """Give rows in float64, or as they are if they are exact."""
    if probs.is_exact(p, q):
        return p, q
    return p.astype(np.float64, copy=False), q.astype(np.float64, copy=False)


def prefix(values: Array) -> Array:
    """Give the sums of the first 0, 1, ..., n entries."""
    sums = np.zeros(values.size + 1, dtype=values.dtype)
    sums[:1] = 0 * values[:1] if values.size else 0  # on Fractions, a Fraction
    np.cumsum(values, out=sums[1:])
    return sums


def rising_order(values: Array) -> Array:
    """Give the order in which values of at least 0 rise, faster than `argsort` does.

    On floats: as 32-bit numbers by their lower and then their upper 16 bits, whose stable sort is a radix sort; that leaves a few
    neighbours to exchange, which a stable sort of the values themselves does in about one pass.
    """
    if values.dtype == object:
        return np.argsort(values)
    with np.errstate(over="ignore", under="ignore"):
        bits = values.astype(np.float32).view(np.uint32)
    first = np.argsort(bits.astype(np.uint16), kind="stable")
    second = first[np.argsort((bits >> 16).astype(np.uint16)[first], kind="stable")]
    return np.asarray(second[np.argsort(values[second], kind="stable")])


def at_least_0(values: Array) -> Array:
    """Take what rounding leaves below 0 for 0."""
    return np.asarray(np.maximum(values, 0 * values))
