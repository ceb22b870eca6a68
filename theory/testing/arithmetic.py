"""In which numbers an assertion computes, and when two of them are the same."""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
from hypothesis import strategies as st

from theory import parameters
from theory.probs import Array
from theory.testing import strategies
from theory.testing.search import Falsified

TOLERANCE = {"float64": 1e-9, "float32": 1e-5}
"""How far two equal numbers may be apart by default. A probability of a law over a few tokens is a handful of sums and products
of numbers in [0, 1], each off by a unit of rounding (1.1e-16, 6e-8). A hundred units of float32 and millions of float64 leave
room for code that takes logarithms or solves equations by iteration; shrinking makes a wrong law wrong by far more."""


@dataclass(frozen=True)
class Arithmetic:
    """The type of the rows, and a tolerance.

    Parameters
    ----------
    dtype : numpy.dtype
        ``object`` for Fractions, ``float64`` or ``float32``.
    tolerance : float
        0 for Fractions.
    """

    dtype: np.dtype[Any]
    tolerance: float

    @property
    def exact(self) -> bool:
        """Whether numbers are Fractions."""
        return self.dtype.kind == "O"

    @property
    def rows(self) -> Callable[[int], st.SearchStrategy[Array]]:
        """The strategy for rows of this type, by size."""
        if self.exact:
            return strategies.rational_rows
        return functools.partial(strategies.float_rows, dtype=self.dtype.type)

    def differ(self, found: Any, wanted: Any) -> bool:
        """Whether two arrays are not the same: of another shape, or apart by more than the tolerance somewhere."""
        found, wanted = np.asarray(found), np.asarray(wanted)
        if found.shape != wanted.shape:
            return True
        if self.exact:
            return bool(np.any(found != wanted))
        apart = np.abs(found.astype(np.float64) - wanted.astype(np.float64))
        return not apart.max(initial=0) <= self.tolerance  # NaN fails this too

    def fits(self, said: Any, what: str) -> None:
        """Raise where an answer to Fractions is in floats, which no exact comparison can be made of."""
        values = np.asarray(said)
        floats = values.dtype.kind == "f" or (values.dtype == object and any(isinstance(value, float) for value in values.flat))
        if self.exact and floats:
            raise Falsified(
                f"answers rows of Fractions with floats, in {what}: with dtype=float it is compared within a tolerance"
            )


def choose(dtype: Any, tolerance: float | None) -> Arithmetic:
    """Read the arguments ``dtype`` and ``tolerance`` of an assertion.

    Raises
    ------
    ValueError
        For a type that rows do not have, and for a tolerance where there is none, or that is negative.

    Examples
    --------
    >>> choose(float, None)
    Arithmetic(dtype=dtype('float64'), tolerance=1e-09)
    """
    if dtype is Fraction:
        return _of(np.dtype(object), tolerance)
    if dtype not in (float, np.float64, np.float32):
        raise ValueError(f"dtype = {dtype!r}: must be Fraction, float (float64) or numpy.float32")
    return _of(np.dtype(dtype), tolerance)


def of_rows(rows: npt.NDArray[Any], tolerance: float | None) -> Arithmetic:
    """Give the arithmetic of rows that are there."""
    return _of(rows.dtype, tolerance)


def _of(dtype: np.dtype[Any], tolerance: float | None) -> Arithmetic:
    if dtype.kind == "O":
        if tolerance:
            raise ValueError(f"tolerance = {tolerance!r}: Fractions are compared exactly; a tolerance goes with dtype=float")
        return Arithmetic(dtype, 0.0)
    if tolerance is not None:
        parameters.check("tolerance", tolerance, "[0, 1)")
    return Arithmetic(dtype, TOLERANCE[dtype.name] if tolerance is None else float(tolerance))
