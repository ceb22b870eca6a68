"""Reading a trace file: memory-mapped, checked, and its damage named."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from theory.traces.format import DTYPES, RESERVED, SCHEMA, check_names, wrong_dtype
from theory.traces.rows import FileArray, TraceError
from theory.traces.trace import Trace, assemble


def read(path: str | os.PathLike[str], check: bool = True) -> Trace:
    """Open a trace file, memory-mapped.

    Parameters
    ----------
    path : path-like
        A safetensors file that holds a trace; see `theory.traces.format`.
    check : bool
        Walk through all rows at once (`Trace.check`), as fast as the disk. Otherwise rows are checked when they are
        sliced; header, names, dtypes, shapes, offsets and all vectors of one number a position are checked in any case.

    Returns
    -------
    Trace
        Its rows stay in the file until they are sliced. Do not shorten the file meanwhile; replacing it is harmless.

    Raises
    ------
    TraceError
        In one line, with file, row and value, for all that is wrong with the file, or if there is none.

    Examples
    --------
    >>> read("no/such/trace")
    Traceback (most recent call last):
    theory.traces.rows.TraceError: no/such/trace: No such file or directory
    """
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"path = {path!r}: must be the path of a file")
    where = os.fspath(path)
    handle, metadata = _open(where)
    names = list(handle.keys())
    check_names(names, where)
    arrays = {name: _file_array(handle.get_slice(name), name, where) for name in names}
    trace = assemble(arrays, _known_metadata(metadata, where), where)
    if check:
        trace.check()
    return trace


def _open(where: str) -> tuple[Any, dict[str, str]]:
    try:
        if Path(where).is_dir():
            raise TraceError(where, "is a directory; a trace is one file")
        if Path(where).exists() and not Path(where).is_file():
            raise TraceError(where, "is not a regular file")
        handle: Any = safe_open(where, framework="numpy")
        return handle, handle.metadata() or {}
    except OSError as damage:
        raise TraceError(where, damage.strerror or str(damage).partition(":")[0]) from None
    except SafetensorError as damage:
        raise TraceError(where, _diagnose(Path(where), str(damage))) from None


def _file_array(view: Any, name: str, where: str) -> FileArray:
    code = view.get_dtype()
    if code not in DTYPES:
        wrong_dtype(where, name, code)
    return FileArray(view, DTYPES[code])


def _diagnose(path: Path, message: str) -> str:
    """Name the damage of a file that safetensors cannot open."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(8)
    message = message.removeprefix("Error while deserializing header: ")
    if size == 0:
        return "is empty"
    if head[:1] == b"\x80" and head[1:2] <= b"\x05" and (head[2:3] == b"\x95" or head[4:] != bytes(4)):
        return "is a pickle, which is code and is never loaded; a trace is a safetensors file"
    if head[:4] == b"PK\x03\x04":
        return "is a zip archive, as torch.save and numpy.savez make; a trace is a safetensors file"
    header = int.from_bytes(head, "little") + 8
    if len(head) < 8 or header > size:
        return f"is not a safetensors file, or is truncated: {size} bytes ({message})"
    return f"is damaged or truncated: {size} bytes, header of {header} ({message})"


def _known_metadata(metadata: Mapping[str, str], where: str) -> dict[str, Any]:
    schema = metadata.get("schema", SCHEMA)
    if schema != SCHEMA:
        raise TraceError(where, f"metadata has schema {schema!r}: {SCHEMA!r} is what can be read")
    known: dict[str, Any] = {name: metadata.get(name) for name in ("target", "draft")}
    for name, kind in (("vocabulary", int), ("temperature", float), ("tail_tokens", int)):
        text = metadata.get(name)
        try:
            known[name] = None if text is None else kind(text)
        except ValueError:
            raise TraceError(where, f"metadata has {name} {text!r}: a number must stand here") from None
    known["provenance"] = {key: value for key, value in metadata.items() if key not in RESERVED}
    return known
