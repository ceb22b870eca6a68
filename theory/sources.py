"""Rows in every way that users bring them: arrays, a trace, the path of one, or several of them one after the other."""

import os
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np

from theory import probs, traces
from theory.probs import Array, RowsLike

__all__ = [
    "Brought",
    "RowSource",
    "TraceLike",
    "arrays",
    "is_trace",
    "rows",
]


TraceLike: TypeAlias = traces.Trace | str | os.PathLike[str]
"""A trace, or the path of its file."""


@runtime_checkable
class RowSource(Protocol):
    """Rows that can be counted and sliced: an array, or the rows of a trace on disk."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Positions and tokens."""
        ...

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> Any: ...


Brought: TypeAlias = RowsLike | RowSource | TraceLike | Sequence[TraceLike]
"""What functions take for ``p``: rows, with those of the draft as ``q``, or traces, which have both."""


def is_trace(rows: Any) -> bool:
    """Whether this is a trace, a path, or a list of these, and not rows.

    Examples
    --------
    >>> is_trace("trace.safetensors"), is_trace([0.5, 0.5])
    (True, False)
    """
    one = (traces.Trace, str, os.PathLike)
    return isinstance(rows, one) or (isinstance(rows, list | tuple) and len(rows) > 0 and isinstance(rows[0], one))


def rows(p: Brought, q: RowsLike | RowSource | None = None) -> tuple[RowSource, RowSource]:
    """Give target and draft rows, one row a position, that can be counted and sliced; those on disk are not read yet.

    Fractions are kept.

    Parameters
    ----------
    p : array_like or rows of a Trace, shape (positions, V) or (V,); or a Trace, the path of one, or a list of these
        Rows of the target. A trace has the draft's rows as well. Traces in a list are taken one after the other; the truncated
        rows of one may be wider than those of another, and what is missing is filled with tokens of p = q = 0.
    q : array_like or rows of a Trace, shape (positions, V) or (V,), optional
        Rows of the draft; not given beside a trace.

    Returns
    -------
    p, q : RowSource
        Of one length, at least 1.

    Raises
    ------
    ValueError
        Where ``q`` is missing or too many, the two do not have one length, there is no row, or traces differ in their vocabulary.

    Examples
    --------
    >>> p, q = rows(traces.example())
    >>> len(p) == len(q)
    True
    >>> rows([0.5, 0.5])
    Traceback (most recent call last):
    ValueError: q is missing: give the draft's rows beside the target's, or a Trace, which has both
    """
    if is_trace(p):
        if q is not None:
            raise ValueError("q: a trace has the draft's rows; give the trace alone, or rows p and q")
        return _joined(list(p) if isinstance(p, list | tuple) else [p])
    if q is None:
        raise ValueError("q is missing: give the draft's rows beside the target's, or a Trace, which has both")
    target, draft = row_source(p, "p"), row_source(q, "q")
    if len(target) != len(draft):
        raise ValueError(f"p has {len(target)} rows and q has {len(draft)}: they must have the same")
    if not len(target):
        raise ValueError("p has 0 rows: there is nothing to work on")
    return target, draft


def arrays(p: Brought, q: RowsLike | RowSource | None = None) -> tuple[Array, Array]:
    """Give checked rows of any leading shape as they are, and those of traces read whole; see `rows`.

    Fractions are kept.

    Examples
    --------
    >>> p, q = arrays([[[0.5, 0.5]]], [[[0.25, 0.75]]])
    >>> p.shape
    (1, 1, 2)
    """
    if is_trace(p) or q is None:
        target, draft = rows(p, q)
        return probs.check_pair(target[0 : len(target)], draft[0 : len(draft)])
    return probs.check_pair(p, q)  # type: ignore[arg-type]


def row_source(given: Any, name: str) -> RowSource:
    """Give rows that can be sliced, without reading those on disk."""
    source = given if hasattr(given, "shape") and hasattr(given, "__getitem__") else probs.check_rows(given, name)
    if len(source.shape) not in (1, 2):
        raise ValueError(f"{name} has shape {tuple(source.shape)}: one row, or one row a position, is wanted")
    only: RowSource = source if len(source.shape) == 2 else np.asarray(source)[None]
    return only


def is_truncated(source: RowSource) -> bool:
    """Whether some of the rows are those of a truncated trace, whose tail stands for tokens that it does not have.

    Examples
    --------
    >>> is_truncated(rows(traces.example())[0]), is_truncated(row_source([0.5, 0.5], "p"))
    (True, False)
    """
    return source.is_truncated if isinstance(source, _Joined) else isinstance(source, traces.RaggedRows)


def _joined(given: list[Any]) -> tuple[RowSource, RowSource]:
    opened = [one if isinstance(one, traces.Trace) else _read(one, place) for place, one in enumerate(given)]
    first = opened[0]
    for place, trace in enumerate(opened):
        if trace.vocabulary != first.vocabulary:
            raise ValueError(
                f"trace {place} ({trace.where}) has a vocabulary of {trace.vocabulary} tokens and trace 0 ({first.where}) one of "
                f"{first.vocabulary}: rows of one vocabulary are wanted"
            )
    if len(opened) == 1:
        return first.p, first.q
    return _Joined([trace.p for trace in opened]), _Joined([trace.q for trace in opened])


def _read(given: Any, place: int) -> traces.Trace:
    if not isinstance(given, str | os.PathLike):
        raise ValueError(f"p[{place}] = {given!r}: a list of traces holds traces and paths only")
    return traces.read(Path(given))


class _Joined:
    """The rows of several traces, one after the other, as one source."""

    def __init__(self, parts: list[Any]) -> None:
        self._parts = parts
        self._starts = list(accumulate((len(part) for part in parts), initial=0))

    @property
    def shape(self) -> tuple[int, ...]:
        return len(self), max(part.shape[1] for part in self._parts)

    @property
    def is_truncated(self) -> bool:
        return any(is_truncated(part) for part in self._parts)

    def __len__(self) -> int:
        return self._starts[-1]

    def __getitem__(self, index: slice) -> Array:
        start, stop, _ = index.indices(len(self))
        blocks = []
        place = bisect_right(self._starts, start) - 1
        while start < stop:
            end = min(stop, self._starts[place + 1])
            blocks.append(self._parts[place][start - self._starts[place] : end - self._starts[place]])
            start, place = end, place + 1
        if not blocks:
            return np.empty((0, self.shape[1]))
        width = max(block.shape[1] for block in blocks)
        if len(blocks) == 1:
            return np.asarray(blocks[0])
        return np.concatenate([np.pad(block, ((0, 0), (0, width - block.shape[1]))) for block in blocks])
