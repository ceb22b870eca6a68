"""Hyper-parameters: the range of each, checked once, and carried into the arithmetic of the rows."""

from collections.abc import Iterable
from fractions import Fraction
from numbers import Rational, Real
from typing import Any

import numpy as np
import numpy.typing as npt

Number = float | Fraction
"""What a hyper-parameter may be: a float, or a `Fraction` where results are to be exact."""


def check(name: str, value: Any, interval: str) -> None:
    """Raise unless ``value`` is a real number inside ``interval``, written as in ``"(0, 1]"``.

    Parameters
    ----------
    name : str
        What the message calls it.
    value : object
        The hyper-parameter.
    interval : str
        Two bounds between brackets; a round bracket excludes its bound, a square one includes it.

    Raises
    ------
    ValueError
        With name, value and interval.

    Examples
    --------
    >>> check("lenience", 0.4, "(0, 1]")
    >>> check("lenience", 1.5, "(0, 1]")
    Traceback (most recent call last):
    ValueError: lenience = 1.5: must be a number in (0, 1]
    """
    low, high = (float(bound) for bound in interval[1:-1].split(","))
    inside = isinstance(value, Real) and not isinstance(value, bool)
    inside = inside and (value > low if interval[0] == "(" else value >= low)
    inside = inside and (value < high if interval[-1] == ")" else value <= high)
    if not inside:
        raise ValueError(f"{name} = {value!r}: must be a number in {interval}")


def check_count(name: str, value: Any, least: int = 1) -> None:
    """Raise unless ``value`` is a whole number of at least ``least``.

    Examples
    --------
    >>> check_count("k", 0)
    Traceback (most recent call last):
    ValueError: k = 0: must be a whole number of at least 1
    """
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise ValueError(f"{name} = {value!r}: must be a whole number of at least {least}")


def check_choice(name: str, value: Any, choices: Iterable[str]) -> None:
    """Raise unless ``value`` is one of some words.

    Examples
    --------
    >>> check_choice("bonus", "draft", ("target", "relaxed"))
    Traceback (most recent call last):
    ValueError: bonus = 'draft': must be one of target, relaxed
    """
    known = list(choices)
    if not isinstance(value, str) or value not in known:
        raise ValueError(f"{name} = {value!r}: must be one of {', '.join(known)}")


def check_kind(name: str, value: Any, kind: type, such_as: str) -> None:
    """Raise unless ``value`` is an object of a class; ``such_as`` shows one.

    Examples
    --------
    >>> check_kind("rate", "fast", float, "0.5")
    Traceback (most recent call last):
    ValueError: rate = 'fast': must be a float, such as 0.5
    """
    if not isinstance(value, kind):
        raise ValueError(f"{name} = {value!r}: must be a {kind.__name__}, such as {such_as}")


def listed(name: str, values: Any) -> list[Any]:
    """Give what can be gone through as a list, of at least one; a word cannot.

    Examples
    --------
    >>> listed("gammas", range(1, 3))
    [1, 2]
    >>> listed("gammas", 3)
    Traceback (most recent call last):
    ValueError: gammas = 3: must be a list, or something else to go through
    """
    if isinstance(values, str) or not isinstance(values, Iterable) or getattr(values, "ndim", 1) == 0:
        raise ValueError(f"{name} = {values!r}: must be a list, or something else to go through")
    found = list(values)
    if not found:
        raise ValueError(f"{name} is empty: at least one is wanted")
    return found


def check_generator(name: str, value: Any) -> None:
    """Raise unless ``value`` is a generator of random numbers.

    Examples
    --------
    >>> check_generator("rng", 0)
    Traceback (most recent call last):
    ValueError: rng = 0: must be a numpy.random.Generator, such as numpy.random.default_rng(0)
    """
    if not isinstance(value, np.random.Generator):
        raise ValueError(f"{name} = {value!r}: must be a numpy.random.Generator, such as numpy.random.default_rng(0)")


def inverse(value: Number) -> Number:
    """Give 1 / value, exactly for Fractions and whole numbers.

    Examples
    --------
    >>> inverse(Fraction(2, 5)), inverse(0.5)
    (Fraction(5, 2), 2.0)
    """
    return 1 / (Fraction(value) if isinstance(value, Rational) else float(value))


def carry(value: Number, rows: npt.NDArray[Any]) -> Number:
    """Give ``value`` in the arithmetic of ``rows``: a `Fraction` for exact rows, a float otherwise.

    A float beside exact rows stands for the binary number that it is, not for its decimal digits:
    write ``Fraction(2, 5)``, not ``0.4``, where that matters.

    Examples
    --------
    >>> carry(Fraction(1, 4), np.array([0.5, 0.5]))
    0.25
    >>> carry(0.25, np.array([Fraction(1)]))
    Fraction(1, 4)
    """
    if rows.dtype == object:
        return Fraction(value) if isinstance(value, Rational) else Fraction(float(value))
    return float(value)
