"""What counts, flags, labels and rates may be; each entry that is not is refused by name, place and value."""

from collections.abc import Callable, Iterable
from fractions import Fraction
from numbers import Rational
from typing import Any

import numpy as np

from theory import parameters
from theory.parameters import Number
from theory.probs import Array

MOST = 2**31 - 1
"""Greatest count; sums over steps then stay far inside int64."""


def flat(values: Any, name: str) -> Array:
    """Make ``values`` a flat array of its own."""
    try:
        array = np.array(values)
    except ValueError as error:  # ragged
        raise ValueError(f"{name} holds rows of unequal lengths: must be flat, one entry a step") from error
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}: must be flat, one entry a step")
    return array


def whole(values: Any, name: str) -> Array:
    """Make ``values`` a flat int64 array of counts."""
    array = flat(values, name)
    integers = array.dtype.kind in "iu" or (array.dtype.kind == "O" and all(type(value) is int for value in array.tolist()))
    if array.size and not integers:
        hint = "; Counts.from_flags takes flags" if array.dtype.kind == "b" else ""
        _refuse(array, name, lambda value: type(value) is int, f"must be a whole number{hint}")
    if array.size and (array.min() < 0 or array.max() > MOST):
        _refuse(array, name, lambda value: 0 <= value <= MOST, f"must be in 0..{MOST}")
    return array.astype(np.int64)


def booleans(values: Any, name: str) -> Array:
    """Make ``values`` a flat bool array; 0 and 1 will do."""
    array = flat(values, name)
    if array.size and not (array.dtype.kind in "biu" and np.isin(array, (0, 1)).all()):
        _refuse(array, name, lambda value: isinstance(value, int) and value in (0, 1), "must be True or False")
    return array.astype(bool)


def labels(values: Any, name: str) -> Array:
    """Make ``values`` a flat array of int or str."""
    array = flat(values, name)
    if array.dtype.kind == "O" and all(isinstance(value, str) for value in array.tolist()):
        array = array.astype(str)  # a column of strings
    if array.size and array.dtype.kind not in "iuU":
        _refuse(array, name, lambda value: type(value) in (int, str), "labels must be whole numbers, or all strings")
    return array


def _refuse(array: Array, name: str, allowed: Callable[[Any], bool], what: str) -> None:
    """Raise for the first entry that is not ``allowed``, or the first one if only their mixture is at fault."""
    entries = array.tolist()
    at = next((i for i, value in enumerate(entries) if not allowed(value)), 0)
    raise ValueError(f"{name}[{at}] = {entries[at]!r}: {what}")


def same_length(name: str, length: int, other: str, steps: int) -> None:
    """Raise unless two columns have as many entries."""
    if length != steps:
        raise ValueError(f"{name} has {length} entries and {other} has {steps}: each must have one a step")


def at_most(name: str, values: Array, most: Array, what: str) -> None:
    """Raise unless each value is at most the other that stands beside it."""
    over = np.flatnonzero(values > most)
    if over.size:
        i = over[0]
        raise ValueError(f"{name}[{i}] = {values[i]}: must be in 0..{most[i]}, {what}")


def listed(values: Any, name: str, least: int = 1) -> list[Any]:
    """Make a list of ``values``, with at least ``least`` entries."""
    if isinstance(values, str) or not isinstance(values, Iterable) or (isinstance(values, np.ndarray) and not values.ndim):
        raise ValueError(f"{name} = {values!r}: must be a sequence")
    entries = list(values)
    if len(entries) < least:
        raise ValueError(f"{name} has {len(entries)} entries: must have at least {least}")
    return entries


def rate(name: str, value: Any) -> Number:
    """Give a rate in [0, 1] as the number to compute with."""
    parameters.check(name, value, "[0, 1]")
    return Fraction(int(value.numerator), int(value.denominator)) if isinstance(value, Rational) else float(value)
