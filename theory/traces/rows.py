"""Rows of a trace: probabilities or logarithms, whole or truncated; read, checked and decoded when they are sliced."""

import abc
import operator
from collections.abc import Iterator
from types import MappingProxyType
from typing import Any, NoReturn, final

import numpy as np
import numpy.typing as npt

from theory import probs
from theory.probs import Array

MASS_ERROR = MappingProxyType({"float16": 5e-3, "float32": 1e-4, "float64": 1e-8})
"""How far the mass of a row of logarithms (and of its tail) may be from 1 before reading refuses it, by dtype.

A float16 logarithm above -16 is off by at most 2^-8, so that the mass of a row is off by at most 0.4 %.
"""


class TraceError(ValueError):
    """A trace, or a file that should hold one, is not what it must be; one line with file, row and value."""

    def __init__(self, where: str, damage: str) -> None:
        super().__init__(" ".join(f"{where}: {damage}".splitlines()))


class FileArray:
    """One array of a memory-mapped file; a slice of it reads those bytes and no others."""

    def __init__(self, view: Any, dtype: np.dtype[Any]) -> None:
        self._view = view
        self.dtype = dtype
        self.shape: tuple[int, ...] = tuple(view.get_shape())

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    def __getitem__(self, index: slice) -> Array:
        start, stop, _ = index.indices(self.shape[0])
        if start >= stop:
            return np.empty((0, *self.shape[1:]), dtype=self.dtype)
        return np.asarray(self._view[start:stop])


Stored = Array | FileArray
"""An array in memory or in a file."""


class Rows(abc.ABC):
    """Rows that are read, checked and decoded when they are sliced: ``len(rows)``, ``rows[i:j]``, ``np.asarray(rows)``.

    ``rows[i:j]`` is an array of shape (j - i, width), ``rows[i]`` one row, ``rows.shape`` that of ``np.asarray(rows)``.
    """

    ndim = 2

    def __init__(self, stored: Stored, name: str, where: str, shape: tuple[int, int]) -> None:
        self.stored = stored
        self.name = name
        self.where = where
        self.shape = shape

    @abc.abstractmethod
    def load(self, start: int, stop: int) -> Array:
        """Read, check and decode rows start..stop-1."""

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: int | slice) -> Array:
        if isinstance(index, slice):
            start, stop, step = index.indices(len(self))
            if step != 1:
                raise ValueError(f"{self.name}[::{step}]: rows are sliced with step 1")
            return self.load(start, max(start, stop))
        row = self._whole_number(index)
        if not -len(self) <= row < len(self):
            raise IndexError(f"{self.name}[{row}]: there are {len(self)} rows")
        row %= len(self)
        return np.asarray(self.load(row, row + 1)[0])

    def _whole_number(self, index: Any) -> int:
        try:
            if not isinstance(index, bool):
                return operator.index(index)
        except TypeError:
            pass
        raise TypeError(f"{self.name}[{index!r}]: rows are taken by a whole number or by a slice i:j")

    def __iter__(self) -> Iterator[Array]:
        return (self[row] for row in range(len(self)))

    def __array__(self, dtype: npt.DTypeLike | None = None, copy: bool | None = None) -> Array:
        if copy is False:
            raise ValueError(f"{self.name}: rows are decoded from their file, which makes a copy")
        rows = self.load(0, len(self))
        return rows if dtype is None else rows.astype(dtype, copy=False)


@final
class DenseRows(Rows):
    """Rows over the whole vocabulary: probabilities as they stand, or logarithms, exponentiated and rescaled to sum to 1.

    A row of logarithms that needs more rescaling than `MASS_ERROR` is an error.
    """

    def __init__(self, stored: Stored, name: str, where: str) -> None:
        super().__init__(stored, name, where, (stored.shape[0], stored.shape[1]))

    def load(self, start: int, stop: int) -> Array:
        """Read, check and decode rows start..stop-1."""
        block = self.stored[start:stop]
        if not self.name.startswith("log"):
            try:
                return probs.check_rows(block, f"{self.where}: {self.name}", start)
            except ValueError as damage:
                raise TraceError(self.where, str(damage).removeprefix(f"{self.where}: ")) from None
        bound = _mass_bound(block.dtype)
        bad = ~(block <= bound)
        if bad.any():
            row, token = (int(i) for i in np.argwhere(bad)[0])
            _bad_logarithm(self.where, f"{self.name}[{row + start}, {token}]", block[row, token])
        rows = np.exp(block.astype(np.float64))
        rows *= _correction(rows.sum(axis=-1), np.zeros(len(rows)), bound, self, start)[:, None]
        return probs.trust(rows)


class _Ragged(Rows):
    """Rows of different lengths, one after the other in one array, with ``tail_tokens`` columns at the end of each."""

    def __init__(self, stored: Stored, name: str, where: str, offsets: npt.NDArray[np.int64], tail_tokens: int = 1) -> None:
        self.offsets = offsets
        self.tail_tokens = tail_tokens
        self.longest = int(np.diff(offsets).max())
        super().__init__(stored, name, where, (len(offsets) - 1, self.longest + tail_tokens))

    def _open(self, start: int, stop: int) -> tuple[Array, npt.NDArray[np.int64], Array]:
        """Give the entries of the rows, their lengths, and the mask of an array (rows, width) that they fill."""
        offsets = self.offsets[start : stop + 1]
        lengths = np.diff(offsets)
        inside = np.arange(lengths.max(initial=0)) < lengths[:, None]
        return self.stored[int(offsets[0]) : int(offsets[-1])], lengths, inside

    def _entry(self, start: int, entry: int) -> str:
        """Say where the entry, counted from the first one of row ``start``, is."""
        entry += int(self.offsets[start])
        row = int(np.searchsorted(self.offsets, entry, side="right")) - 1
        return f"{self.name}[{row}][{entry - int(self.offsets[row])}]"


@final
class RaggedRows(_Ragged):
    """Truncated rows: some tokens of each row, and the mass of all others as ``tail_tokens`` more, of equal share.

    ``rows[i:j]`` is a float64 array of shape (j - i, width + tail_tokens), where width is the length of the longest row
    in the slice. The last ``tail_tokens`` columns hold the tail. Shorter rows are filled with zeros before it: tokens
    of p = q = 0, never drafted, never a replacement, harmless to every quantity. ``rows[i]`` is one row, not filled.
    The same slice of p, of q and of the ids has the same width, and the same token in each column.

    Recorded tokens are rescaled to carry exactly 1 - tail mass, which undoes what the rounding of the logarithms did to
    the mass of the row; a row that needs more of it than `MASS_ERROR` is an error. Dense rows of logarithms are rescaled to 1
    in the same way and within the same bound. Rows of probabilities never are.
    """

    def __init__(
        self,
        stored: Stored,
        name: str,
        where: str,
        offsets: npt.NDArray[np.int64],
        tail: Array,
        tail_tokens: int = 1,
    ) -> None:
        super().__init__(stored, name, where, offsets, tail_tokens)
        self.tail = tail

    def load(self, start: int, stop: int) -> Array:
        """Read, check and decode rows start..stop-1."""
        entries, lengths, inside = self._open(start, stop)
        bound = _mass_bound(self.stored.dtype, self.tail.dtype)
        bad = ~(entries <= bound)  # NaN is bad too
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            _bad_logarithm(self.where, self._entry(start, first), entries[first])
        listed = np.exp(entries.astype(np.float64))
        mass = np.zeros(stop - start)
        some = lengths > 0
        if some.any():  # summed row by row, so that a row does not depend on the slice that it is read with
            mass[some] = np.add.reduceat(listed, (self.offsets[start:stop] - self.offsets[start])[some])
        tail = self.tail[start:stop].astype(np.float64)
        listed *= np.repeat(_correction(mass, tail, bound, self, start), lengths)
        width = inside.shape[1]
        rows = np.zeros((stop - start, width + self.tail_tokens))
        rows[:, :width][inside] = listed
        rows[:, width:] = (tail / self.tail_tokens)[:, None]
        return probs.trust(rows)

    def with_tail_tokens(self, count: int) -> "RaggedRows":
        """Give the same rows with the tail spread evenly over ``count`` columns."""
        return RaggedRows(self.stored, self.name, self.where, self.offsets, self.tail, count)


@final
class RaggedIds(_Ragged):
    """Token ids beside `RaggedRows`, column by column; -1 for the tail and for the zeros that fill up short rows."""

    def __init__(
        self,
        stored: Stored,
        name: str,
        where: str,
        offsets: npt.NDArray[np.int64],
        vocabulary: int,
        tail_tokens: int = 1,
    ) -> None:
        super().__init__(stored, name, where, offsets, tail_tokens)
        self.vocabulary = vocabulary

    def load(self, start: int, stop: int) -> Array:
        """Read and check the ids of rows start..stop-1: in the vocabulary, and no token twice in a row."""
        entries, lengths, inside = self._open(start, stop)
        entries = entries.astype(np.int64)
        bad = (entries < 0) | (entries >= self.vocabulary)
        if bad.any():
            first = int(np.flatnonzero(bad)[0])
            where = self._entry(start, first)
            raise TraceError(self.where, f"{where} = {entries[first]}: a token is in 0..{self.vocabulary - 1}")
        ids = np.full((stop - start, inside.shape[1] + self.tail_tokens), -1, dtype=np.int64)
        ids[:, : inside.shape[1]][inside] = entries
        rows = np.repeat(np.arange(start, stop), lengths)
        order = np.lexsort((entries, rows))
        twice = (np.diff(entries[order]) == 0) & (np.diff(rows[order]) == 0)
        if twice.any():
            first = int(order[1:][twice][0])
            raise TraceError(self.where, f"{self._entry(start, first)} = {entries[first]}: this token is in the row twice")
        ids.flags.writeable = False
        return ids

    def with_tail_tokens(self, count: int) -> "RaggedIds":
        """Give the same ids beside a tail of ``count`` columns."""
        return RaggedIds(self.stored, self.name, self.where, self.offsets, self.vocabulary, count)


def _mass_bound(*dtypes: Any) -> float:
    return max(MASS_ERROR[str(dtype)] for dtype in dtypes)


def _bad_logarithm(where: str, place: str, value: Any) -> NoReturn:
    raise TraceError(where, f"{place} = {value}: a logarithm of a probability, at most 0, must stand here")


def _correction(mass: Array, tail: Array, bound: float, rows: Rows, start: int) -> Array:
    """Give the factors that bring the listed mass to 1 - tail; refuse a row that needs more than rounding explains."""
    bad = (np.abs(mass + tail - 1) > bound) | ((mass == 0) & (tail < 1))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        rest = f" and its tail {tail[row]:.6g}" if isinstance(rows, RaggedRows) else ""
        raise TraceError(
            rows.where,
            f"{rows.name}[{row + start}] has mass {mass[row]:.6g}{rest}: the sum must be 1 within {bound:g} "
            f"for {rows.stored.dtype} logarithms",
        )
    return np.asarray((1 - tail) / np.where(mass > 0, mass, 1))
