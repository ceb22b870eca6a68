"""Writing a trace to its file, value for value."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from safetensors import SafetensorError
from safetensors.numpy import save_file

from theory import parameters
from theory.probs import Array
from theory.traces.checks import whole
from theory.traces.format import SCHEMA
from theory.traces.rows import RaggedRows, Rows, TraceError

if TYPE_CHECKING:
    from theory.traces.trace import Trace


def write(trace: "Trace", path: str | os.PathLike[str]) -> None:
    """Write a trace to a file, from which `read` gives it back value for value.

    Parameters
    ----------
    trace : Trace
        Arrays are written as they are stored: logarithms are not taken, and nothing is rounded.
    path : path-like
        Replaced at once when all is written, so that a crash leaves what was there, and a trace can be written over the
        file that it reads from.

    Raises
    ------
    TraceError
        If the file cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from theory.traces import Trace, read
    >>> rows = [[0.5, 0.25, 0.25]]
    >>> trace = Trace.from_rows(rows, rows, provenance={"made": "by hand"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     trace.write(pathlib.Path(folder) / "mine.safetensors")
    ...     read(pathlib.Path(folder) / "mine.safetensors") == trace
    True
    """
    from theory.traces.trace import Trace  # which writes itself by this function

    parameters.check_kind("trace", trace, Trace, "traces.example()")
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"path = {path!r}: must be the path of a file")
    target = Path(path)
    partial = target.with_name(f"{target.name}.{os.getpid()}.partial")
    arrays = {name: np.ascontiguousarray(array) for name, array in _arrays(trace).items()}
    try:
        partial.touch()
        mode = partial.stat().st_mode  # what the umask gives; safetensors writes files that only their owner can read
        save_file(arrays, partial, metadata=_metadata(trace))
        partial.chmod(mode)
        partial.replace(target)
    except (OSError, SafetensorError) as damage:
        raise TraceError(str(target), f"cannot be written ({damage})") from None
    finally:
        partial.unlink(missing_ok=True)


def _arrays(trace: "Trace") -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    for name, rows in (("p", trace.p), ("q", trace.q), ("ids", trace.ids)):
        if isinstance(rows, Rows):
            arrays[rows.name] = whole(rows.stored)
        elif name != "ids":  # those of dense rows are the columns
            arrays[name] = np.asarray(rows)
    if isinstance(trace.p, RaggedRows):
        arrays |= {"offsets": trace.p.offsets, "tail_mass": trace.tail_mass}
    arrays |= {f"exact_{name}": values for name, values in trace.exact.items()}
    for name in ("tokens", "prompt_id", "position", "prompt_tokens", "prompt_offsets"):
        if getattr(trace, name) is not None:
            arrays[name] = getattr(trace, name)
    return arrays


def _metadata(trace: "Trace") -> dict[str, str]:
    metadata = {"schema": SCHEMA, "vocabulary": str(trace.vocabulary), **trace.provenance}
    if trace.temperature is not None:
        metadata["temperature"] = repr(trace.temperature)
    if trace.tail_tokens > 1:
        metadata["tail_tokens"] = str(trace.tail_tokens)
    return metadata | {"target": trace.target, "draft": trace.draft}
