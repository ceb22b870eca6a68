"""Distances and divergences between rows: how far an induced law is from its target.

All take rows of shape ``(..., V)`` that broadcast, check them, and give one number a row. The rational ones
(`total_variation`, `chi_square`, `max_overshoot`, `overshoot_mass`) are exact on Fractions; the others convert to float64.
Divergences are in nats. Ranges are those of rows that sum to 1; rows that are off, within their tolerance, move a number by
that much.
"""

import math
from typing import Any

import numpy as np

from theory import parameters, probs
from theory.probs import Array, RowsLike, entropy

__all__ = [
    "chi_square",
    "entropy",
    "hellinger",
    "jensen_shannon",
    "kl_divergence",
    "max_overshoot",
    "overshoot_mass",
    "renyi_divergence",
    "total_variation",
]


_SPARSE = 64
"""Rows with less than one positive entry in so many are summed over these entries alone."""


def total_variation(p: RowsLike, q: RowsLike) -> Any:
    """Total variation distance TV(p, q) = ½ Σ |p(x) - q(x)|.

    Fractions are kept.

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Rows; they broadcast.

    Returns
    -------
    float, Fraction or ndarray, shape (...)
        A probability, in [0, 1].

    Raises
    ------
    ValueError
        Where ``p`` or ``q`` are not rows, or do not broadcast.

    Examples
    --------
    >>> total_variation([0.5, 0.5], [0.25, 0.75])
    np.float64(0.25)
    """
    a, b = probs.check_pair(p, q)
    difference = a - b
    return probs.total(np.abs(difference, out=difference)) / 2


def kl_divergence(p: RowsLike, q: RowsLike) -> Any:
    """Kullback-Leibler divergence KL(p || q) = Σ p(x) ln(p(x)/q(x)), inf where q lacks a token that p has.

    Fractions are taken to float64.

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Rows; they broadcast. The expectation is under ``p``.

    Returns
    -------
    float or ndarray, shape (...)
        Nats, in [0, inf].

    Raises
    ------
    ValueError
        Where ``p`` or ``q`` are not rows, or do not broadcast.

    Examples
    --------
    >>> round(float(kl_divergence([0.5, 0.5], [0.25, 0.75])), 6)
    0.143841
    >>> kl_divergence([0.5, 0.5], [1.0, 0.0]), kl_divergence([1.0, 0.0], [0.5, 0.5])
    (np.float64(inf), np.float64(0.6931471805599453))
    """
    a, b = map(probs.as_float, probs.check_pair(p, q))
    full = probs.smallest(a) > 0
    if not full and a.shape == b.shape:
        support = np.flatnonzero(a > 0)
        if support.size * _SPARSE < a.size:  # truncated laws: a few tokens have all the mass
            some, other = a.reshape(-1)[support], b.reshape(-1)[support]
            sums = np.bincount(support // a.shape[-1], some * _log_ratio(some, other), a.size // a.shape[-1])
            return _non_negative(sums.reshape(a.shape[:-1]), a, b)
    if probs.smallest(b) < np.finfo(b.dtype).tiny:  # a quotient would be x/0, or overflow
        return _non_negative(probs.total(a * _log_ratio(a, b)), a, b)
    ratio = a / b
    if not full:
        np.clip(ratio, np.finfo(ratio.dtype).tiny, np.inf, out=ratio)  # for ln 0, where a factor 0 multiplies it
    return _non_negative(probs.inner(np.log(ratio, out=ratio), a), a, b)


def _log_ratio(a: Array, b: Array) -> Array:
    """Give ln(a/b) without forming the quotient; 0 where a = 0, inf where b = 0 < a."""
    a, b = a.astype(np.float64), b.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(a > 0, np.log(np.where(a > 0, a, 1)) - np.log(b), 0)


def _non_negative(values: Any, a: Array, b: Array) -> Any:
    # Rounding can leave a divergence at -1e-17; what is more than rounding is a defect of the input and must show.
    rounding = 16 * float(np.finfo(np.result_type(a, b)).eps)
    return np.where((values < 0) & (values > -rounding), 0.0, values)[()]


def renyi_divergence(p: RowsLike, q: RowsLike, order: float) -> Any:
    """Renyi divergence D_a(p || q) = ln(Σ p^a q^(1-a)) / (a - 1); KL at order 1, ln max p/q at order inf.

    Fractions are taken to float64.

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Rows; they broadcast.
    order : float
        In [0, inf]. Order 0 gives -ln q(p > 0).

    Returns
    -------
    float or ndarray, shape (...)
        Nats, in [0, inf], non-decreasing in the order.

    Raises
    ------
    ValueError
        For an order outside [0, inf], and where ``p`` or ``q`` are not rows.

    Notes
    -----
    van Erven and Harremoes, 2014. The sum is taken in logarithms, so that tiny masses do not overflow.

    Examples
    --------
    >>> round(float(renyi_divergence([0.5, 0.5], [0.25, 0.75], 2)), 6)
    0.287682
    >>> round(float(renyi_divergence([0.5, 0.5], [0.25, 0.75], float("inf"))), 6)
    0.693147
    """
    parameters.check("order", order, "[0, inf]")
    order = float(order)
    if order == 1:
        return kl_divergence(p, q)
    a, b = (probs.as_float(rows).astype(np.float64) for rows in probs.check_pair(p, q))
    some = a > 0
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        log_ratio = _log_ratio(a, b)
        if math.isinf(order):
            return _non_negative(np.where(some, log_ratio, -np.inf).max(axis=-1), a, b)
        if order == 0:
            return _non_negative(-np.log(probs.total(np.where(some, b, 0))), a, b)
        # ln Σ p exp(x), x = (α - 1) ln p/q: around its largest term; or, where all x are near 0, by expm1, which keeps digits.
        power = (order - 1) * log_ratio
        terms = np.where(some, np.log(np.where(some, a, 1)) + power, -np.inf)
        largest = terms.max(axis=-1, keepdims=True)
        shift = np.where(np.isfinite(largest), largest, 0)
        far = np.log(np.exp(terms - shift).sum(axis=-1) / probs.total(a)) + shift[..., 0]
        near = np.log1p(probs.total(a * np.expm1(np.clip(power, -1, 1))) / probs.total(a))
        logarithm = np.where(np.abs(power).max(axis=-1) < 0.5, near, far)
        return _non_negative(logarithm / (order - 1), a, b)


def chi_square(p: RowsLike, q: RowsLike) -> Any:
    """Pearson's chi-square divergence Σ (p(x) - q(x))² / q(x), inf where q lacks a token that p has.

    Fractions are kept.

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Rows; they broadcast.

    Returns
    -------
    float, Fraction or ndarray, shape (...)
        In [0, inf].

    Raises
    ------
    ValueError
        Where ``p`` or ``q`` are not rows, or do not broadcast.

    Examples
    --------
    >>> round(float(chi_square([0.5, 0.5], [0.25, 0.75])), 6)
    0.333333
    """
    a, b = probs.check_pair(p, q)
    difference = a - b
    some = b > 0
    if probs.is_exact(a, b):
        terms = difference * difference / np.where(some, b, 1)
    else:
        with np.errstate(over="ignore"):  # a divergence above the largest float is reported as inf
            terms = difference * (difference / np.where(some, b, 1))
    return probs.total(np.where(some, terms, np.where(a > 0, np.inf, 0 * a)))


def hellinger(p: RowsLike, q: RowsLike) -> Any:
    """Hellinger distance sqrt(½ Σ (√p(x) - √q(x))²).

    Fractions are taken to float64.

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Rows; they broadcast.

    Returns
    -------
    float or ndarray, shape (...)
        In [0, 1]; its square is at most TV, and TV is at most √2 of it.

    Raises
    ------
    ValueError
        Where ``p`` or ``q`` are not rows, or do not broadcast.

    Examples
    --------
    >>> hellinger([1.0, 0.0], [0.0, 1.0])
    np.float64(1.0)
    """
    a, b = map(probs.as_float, probs.check_pair(p, q))
    return np.sqrt(probs.total((np.sqrt(a) - np.sqrt(b)) ** 2) / 2)


def jensen_shannon(p: RowsLike, q: RowsLike) -> Any:
    """Jensen-Shannon divergence ½ KL(p || m) + ½ KL(q || m) with m = ½ (p + q).

    Fractions are taken to float64.

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Rows; they broadcast.

    Returns
    -------
    float or ndarray, shape (...)
        Nats, in [0, ln 2]. (Its square root is a metric, which some libraries return under this name.)

    Raises
    ------
    ValueError
        Where ``p`` or ``q`` are not rows, or do not broadcast.

    Examples
    --------
    >>> round(float(jensen_shannon([0.4, 0.3, 0.2, 0.1], [0.2, 0.25, 0.25, 0.3])), 6)
    0.045682
    """
    a, b = map(probs.as_float, probs.check_pair(p, q))
    # Halves are taken after the logarithm: p/2 would lose half of a subnormal mass.
    with np.errstate(divide="ignore", invalid="ignore"):
        log_mixture = np.log(a + b) - math.log(2)
        terms = [np.where(c > 0, c * (np.log(np.where(c > 0, c, 1)) - log_mixture), 0) for c in (a, b)]
    return _non_negative(probs.total(terms[0] + terms[1]) / 2, a, b)


def max_overshoot(induced: RowsLike, target: RowsLike) -> Any:
    """Largest overshoot max_x induced(x)/target(x); its logarithm is the Renyi divergence of order inf.

    Parameters
    ----------
    induced, target : array_like, shape (..., V)
        Rows; they broadcast.

    Returns
    -------
    float, Fraction or ndarray, shape (...)
        In [1, inf]; inf where the induced law has mass off the target's support (or the ratio exceeds the largest float).

    Raises
    ------
    ValueError
        Where the arguments are not rows, or do not broadcast.

    Notes
    -----
    On rows of real models the maximum sits in the far tail, where both laws are tiny, and says little;
    `overshoot_mass` stands beside it.

    Examples
    --------
    >>> max_overshoot([0.5, 0.5], [0.8, 0.2])
    np.float64(2.5)
    """
    a, b = probs.check_two(induced, target, "induced", "target")
    if not probs.is_exact(a, b):
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            return np.fmax.reduce(a / b, axis=-1)  # fmax passes over the NaN of 0/0
    some = b > 0
    return np.where(some, a / np.where(some, b, 1), np.where(a > 0, np.inf, 0 * a)).max(axis=-1)


def overshoot_mass(induced: RowsLike, target: RowsLike, factor: parameters.Number = 2) -> Any:
    """Induced mass on the tokens with induced(x) > factor · target(x).

    Parameters
    ----------
    induced, target : array_like, shape (..., V)
        Rows; they broadcast.
    factor : float or Fraction
        At least 1. A token that stands exactly at the factor, as all those under a ceiling do, does not count,
        with room for its rounding.

    Returns
    -------
    float, Fraction or ndarray, shape (...)
        A probability.

    Raises
    ------
    ValueError
        For a factor below 1, and where the arguments are not rows.

    Examples
    --------
    >>> overshoot_mass([0.5, 0.25, 0.25], [0.8, 0.1, 0.1])
    np.float64(0.5)
    """
    parameters.check("factor", factor, "[1, inf)")
    a, b = probs.check_two(induced, target, "induced", "target")
    with np.errstate(over="ignore", invalid="ignore"):  # a bound above the largest float is above every probability
        bound = parameters.carry(factor, b) * b
        if not probs.is_exact(a, b):
            bound = bound * (1 + 8 * float(np.finfo(np.result_type(a, b)).eps))
    return probs.total(a * probs.indicator(a > bound, a))
