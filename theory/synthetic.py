"""Synthetic pairs of rows: seeded families with a known shape or a known distance, and the paper's simulation pairs.

Each family gives a target p and a draft q, checked and read-only, of dtype ``float64`` and shape ``(size,)``, or
``(count, size)`` where ``count`` is given. Randomness comes from ``rng`` alone, the last argument: the same generator
state gives the same rows. `parse` reads a family from a short name, in which ``seed`` stands for ``rng``.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from theory import parameters, probs, shortnames
from theory.parameters import Number
from theory.probs import Array

__all__ = [
    "CORRUPTIONS",
    "FAMILIES",
    "PAPER_PAIRS",
    "dirichlet",
    "overconfident",
    "paper",
    "parse",
    "peaked",
    "zipf",
]


Family = Callable[..., tuple[Array, Array]]

CORRUPTIONS = {
    "temperature": "(0, inf)",
    "noise": "[0, 1e300]",  # normal deviates times more than that overflow
    "swap": "[0, 1]",
}
"""What `zipf` does to the target to make a draft: name to the range of its ``strength``."""

PAPER_PAIRS: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "A": ((0.24, 0.25, 0.26, 0.25), (0.26, 0.25, 0.24, 0.25)),
    "B": ((1 / 4, 1 / 4, 1 / 4, 1 / 4), (1 / 6, 1 / 3, 1 / 3, 1 / 6)),
    "C": ((0.05, 0.15, 0.25, 0.55), (0.55, 0.25, 0.15, 0.05)),
}
"""The paper's simulation pairs, (p, q); TV(p, q) is 0.02, 1/6 and 0.6."""


# --- families -------------------------------------------------------------------------------------------------------


def zipf(
    size: int,
    exponent: Number = 1.0,
    corruption: str = "temperature",
    strength: Number = 0.5,
    count: int | None = None,
    *,
    rng: np.random.Generator | None = None,
) -> tuple[Array, Array]:
    """Zipf target p(x) ∝ (x + 1)^-exponent, and a draft that is a corruption of it.

    Parameters
    ----------
    size : int
        Vocabulary size V, at least 1. Token 0 has rank 1.
    exponent : float or Fraction
        In [0, inf); 0 gives the uniform law.
    corruption : {"temperature", "noise", "swap"}
        The draft: q ∝ p^(1/strength), q ∝ p exp(strength · normal), or p with the ranks of the nearest whole number to
        strength · V of the tokens, drawn at random, permuted among themselves.
    strength : float or Fraction
        A temperature in (0, inf), below 1 for a sharper draft; a standard deviation in [0, 1e300], in nats; or a share
        in [0, 1].
    count : int, optional
        Number of pairs. The targets are all the same.
    rng : numpy.random.Generator, optional
        The source of randomness. Needed by noise and swap; temperature is deterministic and leaves it alone.

    Returns
    -------
    p, q : ndarray, shape (size,) or (count, size)
        Rows of the target and of the draft.

    Raises
    ------
    ValueError
        For an argument out of its range, an unknown corruption, or a random corruption without ``rng``.

    Examples
    --------
    >>> p, q = zipf(2, exponent=1, strength=0.5)
    >>> p.round(3), q.round(3)
    (array([0.667, 0.333]), array([0.8, 0.2]))
    >>> p, q = zipf(4, corruption="swap", strength=1, count=3, rng=np.random.default_rng(0))
    >>> bool((np.sort(p) == np.sort(q)).all())
    True
    """
    shape = _shape(size, count)
    parameters.check("exponent", exponent, "[0, inf)")
    parameters.check_choice("corruption", corruption, CORRUPTIONS)
    parameters.check("strength", strength, CORRUPTIONS[corruption])
    with np.errstate(over="ignore"):  # a weight that overflows to exp(-inf) is 0, as it should be
        logs = -float(exponent) * np.log(np.arange(1, size + 1))
        cooled = logs / float(strength) if corruption == "temperature" else logs
    p = np.broadcast_to(_softmax(logs), shape)
    if corruption == "temperature":
        return probs.check_pair(p, np.broadcast_to(_softmax(cooled), shape))
    source = _generator(rng)
    if corruption == "noise":
        return probs.check_pair(p, _softmax(logs + float(strength) * source.standard_normal(shape)))
    moved = _permutations(shape, source)[..., : round(strength * size)]
    q = p.copy()
    np.put_along_axis(q, moved, np.take_along_axis(p, np.sort(moved, axis=-1), axis=-1), axis=-1)
    return probs.check_pair(p, q)


def dirichlet(
    size: int,
    total_variation: Number,
    concentration: Number = 1.0,
    count: int | None = None,
    *,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Dirichlet target, and a random draft at the distance TV(p, q) = total_variation, to rounding.

    Parameters
    ----------
    size : int
        Vocabulary size V, at least 1.
    total_variation : float or Fraction
        In [0, 1 - min p]. All of [0, 1 - 1/V] is feasible whatever p is drawn; p does not depend on this argument.
    concentration : float or Fraction
        Of the symmetric Dirichlet law, in (0, inf). Small values give rows of few tokens, with exact zeros below
        about 0.01.
    count : int, optional
        Number of pairs.
    rng : numpy.random.Generator
        The source of randomness.

    Returns
    -------
    p, q : ndarray, shape (size,) or (count, size)
        Rows of the target and of the draft.

    Raises
    ------
    ValueError
        For an argument out of its range. Where ``total_variation`` is too large for a target that was drawn, the
        message gives the row and its range.

    Notes
    -----
    q = p + s (e - p) with s = total_variation / TV(p, e), as TV(p, ·) is linear on a segment that starts at p. The end
    e is a second Dirichlet row where that is far enough from p. Elsewhere e has all its mass on a set S of tokens and
    e >= p there, so that TV(p, e) = 1 - p(S): S takes, of the tokens to which the second row gives more than p does,
    as many as leave 1 - p(S) >= total_variation, the least probable first; or argmin p alone where not even one does.

    Examples
    --------
    >>> p, q = dirichlet(50, 0.9, concentration=0.01, count=3, rng=np.random.default_rng(0))
    >>> (abs(p - q).sum(axis=-1) / 2).round(12)
    array([0.9, 0.9, 0.9])
    """
    shape = _shape(size, count)
    parameters.check("total_variation", total_variation, "[0, 1]")
    parameters.check("concentration", concentration, "(0, inf)")
    source, distance = _generator(rng), float(total_variation)
    p, other = (_dirichlet_rows(shape, float(concentration), source) for _ in "pq")
    farthest = 1 - p.min(axis=-1)
    for where in np.argwhere(distance > farthest)[:1]:
        place = "p" if count is None else f"p[{where[0]}]"
        raise ValueError(
            f"total_variation = {total_variation!r}: must be a number in [0, {farthest[tuple(where)]}], "
            f"at most 1 - min {place} of the target drawn"
        )
    return probs.check_pair(p, _at_distance(p, other, distance))


def peaked(
    size: int, peak: Number | None = None, draft_peak: Number | None = None, count: int | None = None
) -> tuple[Array, Array]:
    """Peaked target against a flat draft, or the reverse: p(0) = peak, q(0) = draft_peak, the rest spread evenly.

    Parameters
    ----------
    size : int
        Vocabulary size V, at least 1.
    peak, draft_peak : float or Fraction, optional
        Mass of token 0 in the target and in the draft, in [0, 1]; a row is flat where its peak is not given. With one
        token, 1 is the only choice.
    count : int, optional
        Number of pairs, all the same.

    Returns
    -------
    p, q : ndarray, shape (size,) or (count, size)
        Rows of the target and of the draft. TV(p, q) = |peak - draft_peak|.

    Raises
    ------
    ValueError
        For an argument out of its range.

    Examples
    --------
    >>> peaked(4, 0.7)
    (array([0.7, 0.1, 0.1, 0.1]), array([0.25, 0.25, 0.25, 0.25]))
    >>> peaked(2, draft_peak=0.75)
    (array([0.5, 0.5]), array([0.75, 0.25]))
    """
    shape = _shape(size, count)
    rows = []
    for name, mass in (("peak", peak), ("draft_peak", draft_peak)):
        row = np.full(size, 1 / size)
        if mass is not None:
            parameters.check(name, mass, "[0, 1]" if size > 1 else "[1, 1]")
            row[0] = float(mass)
            row[1:] = (1 - float(mass)) / max(1, size - 1)
        rows.append(np.broadcast_to(row, shape))
    return probs.check_pair(rows[0], rows[1])


def overconfident(
    size: int,
    total_variation: Number,
    share: Number,
    lenience: Number = 0.5,
    count: int | None = None,
    *,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """Overconfident draft with a set share of severe overshoot: Σ (q - p/ℓ)+ = share · TV(p, q), to rounding.

    Parameters
    ----------
    size : int
        Vocabulary size V, at least 1.
    total_variation : float or Fraction
        TV(p, q), in [0, 1]; 0 for a vocabulary of one token.
    share : float or Fraction
        In [max(0, 1 - (1 - TV)(1 - ℓ)/(ℓ TV)), 1], which is all that any pair of rows can have: 0 needs TV <= 1 - ℓ.
        At 1, p = 0 on the tokens that overshoot.
    lenience : float or Fraction
        ℓ, in (0, 1). At 1 the share of every pair is 1.
    count : int, optional
        Number of pairs.
    rng : numpy.random.Generator
        The source of randomness: which tokens overshoot (1 to V - 1 of them), and how their mass is shared.

    Returns
    -------
    p, q : ndarray, shape (size,) or (count, size)
        Rows of the target and of the draft.

    Raises
    ------
    ValueError
        For an argument out of its range; for ``share``, the message gives the range at this TV and ℓ.

    Notes
    -----
    The share is Δ of the paper's Eq. 11, the rejection rate of lenience over that of strict verification.
    With random laws u and v on the overshooting tokens O and c = (1 - share) TV / (1 - ℓ), the rows are
    p = ℓ c u and q = c u + share TV v on O, so that q exceeds p by (1 - share) TV below the ceiling p/ℓ and by share TV
    above it; off O, p and q are proportional. That p(O) + TV <= 1 is the condition on the share. It is necessary: over
    the tokens with q > p, Σ (q - p/ℓ) = TV - p(O)(1/ℓ - 1), and p(O) <= 1 - TV since q(O) = p(O) + TV.

    Examples
    --------
    >>> p, q = overconfident(20, 0.4, 0.25, lenience=0.5, count=3, rng=np.random.default_rng(0))
    >>> (abs(p - q).sum(axis=-1) / 2).round(12), np.maximum(q - p / 0.5, 0).sum(axis=-1).round(12)
    (array([0.4, 0.4, 0.4]), array([0.1, 0.1, 0.1]))
    """
    shape = _shape(size, count)
    parameters.check("total_variation", total_variation, "[0, 1]" if size > 1 else "[0, 0]")
    parameters.check("share", share, "[0, 1]")
    parameters.check("lenience", lenience, "(0, 1)")
    source = _generator(rng)
    distance, severe, ratio = float(total_variation), float(share), float(lenience)
    least = max(0.0, 1 - (1 - distance) * (1 - ratio) / ratio / distance) if distance else 0.0
    if (least - severe) * distance > 4 * np.finfo(np.float64).eps:  # room for rounding: TV = 0.1, ℓ = 0.9 is feasible
        raise ValueError(
            f"share = {share!r}: must be a number in [{least}, 1] "
            f"for total_variation = {total_variation!r} and lenience = {lenience!r}"
        )
    ceiling = min((1 - severe) * distance / (1 - ratio), (1 - distance) / ratio)
    over = _permutations(shape, source) < source.integers(min(1, size - 1), size, (*shape[:-1], 1))
    none = np.zeros(size)
    weights = source.standard_exponential(shape)
    below = ceiling * probs.share_out(weights * over, none)
    above = severe * distance * probs.share_out(source.standard_exponential(shape) * over, none)
    rest = probs.share_out(weights * ~over, none)
    p = ratio * below + (1 - ratio * ceiling) * rest
    q = below + above + max(0.0, 1 - ratio * ceiling - distance) * rest
    return probs.check_pair(p, q)


def paper(name: str) -> tuple[Array, Array]:
    """Give the paper's simulation pair A (close), B (apart) or C (nearly opposite), on four tokens.

    Parameters
    ----------
    name : {"A", "B", "C"}
        TV(p, q) is 0.02, 1/6 or 0.6.

    Returns
    -------
    p, q : ndarray, shape (4,)
        Rows of the target and of the draft. The authors' ``simulation.py`` lists the draft first.

    Raises
    ------
    ValueError
        For another name.

    Examples
    --------
    >>> paper("A")
    (array([0.24, 0.25, 0.26, 0.25]), array([0.26, 0.25, 0.24, 0.25]))
    """
    if not isinstance(name, str) or name not in PAPER_PAIRS:
        raise ValueError(f"name = {name!r}: no pair of the paper is called so; there are: {', '.join(PAPER_PAIRS)}")
    p, q = PAPER_PAIRS[name]
    return probs.check_pair(p, q)


# --- short names ----------------------------------------------------------------------------------------------------


FAMILIES: dict[str, Family] = {make.__name__: make for make in (zipf, dirichlet, peaked, overconfident, paper)}
"""Short name to family."""


@dataclass(frozen=True)
class _Seeded:
    """A family that takes ``seed`` in the place of ``rng``; `shortnames.build` reads the signature."""

    make: Family

    @property
    def __signature__(self) -> inspect.Signature:
        signature = inspect.signature(self.make)
        seed = inspect.Parameter("seed", inspect.Parameter.KEYWORD_ONLY, default=0)
        return signature.replace(parameters=[seed if p.name == "rng" else p for p in signature.parameters.values()])

    def __call__(self, seed: int = 0, **arguments: Any) -> tuple[Array, Array]:
        if "rng" not in inspect.signature(self.make).parameters:
            return self.make(**arguments)
        parameters.check_count("seed", seed, least=0)
        return self.make(**arguments, rng=np.random.default_rng(seed))


def parse(text: str) -> tuple[Array, Array]:
    """Make the rows that a short name stands for.

    Parameters
    ----------
    text : str
        ``family:argument,...,keyword=value``, such as ``paper:A``, ``dirichlet:50,total_variation=0.3`` or
        ``zipf:1000,exponent=1.2,corruption=noise,count=64,seed=1``. In the place of ``rng`` stands ``seed``, a whole
        number, 0 where it is not given.

    Returns
    -------
    p, q : ndarray, shape (V,) or (count, V)
        Rows of the target and of the draft.

    Raises
    ------
    ValueError
        For a family that does not exist (the message lists those that do), or arguments that it refuses.

    Examples
    --------
    >>> parse("peaked:2,3/4")
    (array([0.75, 0.25]), array([0.5, 0.5]))
    >>> parse("dirichlet:50")
    Traceback (most recent call last):
    ValueError: 'dirichlet:50': dirichlet takes the arguments size, total_variation, concentration, count, seed; missing ...
    """
    p, q = shortnames.build(text, {name: _Seeded(make) for name, make in FAMILIES.items()}, "synthetic family")
    return p, q


# --- helpers --------------------------------------------------------------------------------------------------------


def _shape(size: int, count: int | None) -> tuple[int, ...]:
    parameters.check_count("size", size)
    if count is None:
        return (size,)
    parameters.check_count("count", count)
    return (count, size)


def _generator(rng: Any) -> np.random.Generator:
    if not isinstance(rng, np.random.Generator):
        raise ValueError(f"rng = {rng!r}: must be a numpy.random.Generator, such as numpy.random.default_rng(0)")
    return rng


def _softmax(logs: Array) -> Array:
    return probs.normalise(np.exp(logs - logs.max(axis=-1, keepdims=True)))


def _permutations(shape: tuple[int, ...], rng: np.random.Generator) -> Array:
    return rng.permuted(np.broadcast_to(np.arange(shape[-1]), shape), axis=-1)


def _dirichlet_rows(shape: tuple[int, ...], concentration: float, rng: np.random.Generator) -> Array:
    # Gamma(c) has the law of Gamma(c + 1) exp(-E/c), E exponential. In logarithms, with the least E of the row taken
    # off, the largest weight never underflows.
    waits = rng.standard_exponential(shape)
    waits -= waits.min(axis=-1, keepdims=True)
    with np.errstate(over="ignore"):
        return _softmax(np.log(rng.standard_gamma(concentration + 1, shape)) - waits / concentration)


def _at_distance(p: Array, other: Array, distance: float) -> Array:
    """Give q with TV(p, q) = distance on a segment that starts at p, towards ``other`` where that is far enough."""
    gain = probs.excess(other, p)
    end = np.where(probs.total(gain, keepdims=True) >= distance, other, _beyond(p, gain, distance))
    span = probs.total(np.abs(end - p), keepdims=True) / 2
    step = np.divide(distance, span, out=np.zeros_like(span), where=span > 0)
    return np.asarray(p + np.minimum(step, 1) * (end - p))  # a step above 1 is rounding


def _beyond(p: Array, gain: Array, distance: float) -> Array:
    """Give the row e of `dirichlet` with its mass on a set S, e >= p on S and 1 - p(S) >= distance."""
    order = np.argsort(np.where(gain > 0, p, 2), axis=-1)  # 2 is above every probability: those that do not gain, last
    through = np.cumsum(np.take_along_axis(p, order, axis=-1), axis=-1)
    gains = np.empty(p.shape, dtype=bool)
    np.put_along_axis(gains, order, 1 - through >= distance, axis=-1)
    gains &= gain > 0
    least = np.arange(p.shape[-1]) == p.argmin(axis=-1, keepdims=True)
    gains = np.where(gains.any(axis=-1, keepdims=True), gains, least)
    lost = probs.total(np.where(gains, 0, p), keepdims=True)
    return np.asarray(np.where(gains, p, 0) + lost * probs.share_out(gain * gains, least.astype(np.float64)))
