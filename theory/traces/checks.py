"""What must hold for a trace before any of its rows is read: shapes, offsets, tails, and one number a position in its range."""

import math
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import parameters
from theory.probs import Array
from theory.traces.format import RESERVED
from theory.traces.rows import DenseRows, RaggedIds, RaggedRows, Rows, Stored, TraceError

ROUNDING = 1e-4  # of a float32 sum over a vocabulary, in the scalars stored at record time


def dense(arrays: Mapping[str, Stored], vocabulary: Any, where: str) -> tuple[Array | Rows, Array | Rows, Array, int]:
    """Give p, q, ids and the vocabulary of dense rows."""
    names = ("p", "q") if "p" in arrays else ("logp", "logq")
    first, second = (arrays[name] for name in names)
    if first.ndim != 2 or 0 in first.shape:
        raise TraceError(where, f"{names[0]} has shape {first.shape}: (positions, V), of one or more, must stand here")
    if first.shape != second.shape:
        raise TraceError(where, f"{names[0]} has shape {first.shape} and {names[1]} {second.shape}: they must be the same")
    if vocabulary is not None and vocabulary != first.shape[1]:
        raise TraceError(where, f"vocabulary = {vocabulary} and rows of {first.shape[1]} tokens: they must be the same")
    p, q = (
        array if isinstance(array, np.ndarray) and name in ("p", "q") else DenseRows(array, name, where)
        for name, array in zip(names, (first, second), strict=True)
    )
    return p, q, np.broadcast_to(np.arange(first.shape[1]), first.shape), first.shape[1]


def ragged(arrays: Mapping[str, Stored], vocabulary: Any, where: str) -> tuple[Rows, Rows, RaggedIds, int]:
    """Give p, q, ids and the vocabulary of truncated rows."""
    if vocabulary is None:
        raise TraceError(where, "vocabulary is not given: truncated rows need it")
    try:
        parameters.check_count("vocabulary", vocabulary)
    except ValueError as damage:
        raise TraceError(where, str(damage)) from None
    ids, logp, logq = arrays["ids"], arrays["logp"], arrays["logq"]
    if ids.ndim != 1 or not ids.shape == logp.shape == logq.shape:
        shapes = f"ids has shape {ids.shape}, logp {logp.shape} and logq {logq.shape}"
        raise TraceError(where, f"{shapes}: one length must hold for all three")
    offsets = check_offsets(where, "offsets", whole(arrays["offsets"]), ids.shape[0], int(vocabulary))
    tail = whole(arrays["tail_mass"])
    if tail.shape != (len(offsets) - 1, 2):
        raise TraceError(where, f"tail_mass has shape {tail.shape}: {(len(offsets) - 1, 2)} must stand here, as in offsets")
    bad = ~((tail >= 0) & (tail <= 1))
    if bad.any():
        row, column = (int(i) for i in np.argwhere(bad)[0])
        raise TraceError(where, f"tail_mass[{row}, {column}] = {tail[row, column]}: a number in [0, 1] must stand here")
    return (
        RaggedRows(logp, "logp", where, offsets, tail[:, 0]),
        RaggedRows(logq, "logq", where, offsets, tail[:, 1]),
        RaggedIds(ids, "ids", where, offsets, int(vocabulary)),
        int(vocabulary),
    )


def check_offsets(where: str, name: str, offsets: Array, entries: int, most: int | None = None) -> npt.NDArray[np.int64]:
    """Check where rows begin and end in an array of ``entries``, and that none has more than ``most``."""
    if offsets.ndim != 1 or len(offsets) < 2:
        raise TraceError(where, f"{name} has shape {offsets.shape}: (rows + 1,), of one row or more, must stand here")
    offsets = offsets.astype(np.int64)
    lengths = np.diff(offsets)
    if offsets[0] != 0:
        raise TraceError(where, f"{name}[0] = {offsets[0]}: rows begin at 0")
    bad = (lengths < 0) | (lengths > (entries if most is None else most))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        limit = "" if most is None else f" of at most {most} tokens"
        raise TraceError(where, f"{name}[{row + 1}] = {offsets[row + 1]} after {offsets[row]}: a row{limit} must stand here")
    if offsets[-1] != entries:
        raise TraceError(where, f"{name}[{len(offsets) - 1}] = {offsets[-1]}: rows end at {entries}, as their entries do")
    offsets.flags.writeable = False
    return offsets


def check_vector(where: str, name: str, vector: Array, positions: int, vocabulary: int) -> None:
    """Check one number a position: its shape and its range."""
    if name == "prompt_offsets":
        return  # `check_prompts` does
    if vector.ndim != 1 or (name != "prompt_tokens" and len(vector) != positions):
        raise TraceError(where, f"{name} has shape {vector.shape}: ({positions},), one for each row, must stand here")
    low, high = _range(name, vocabulary)
    slack = ROUNDING if name.startswith("exact_") else 0
    bad = ~((vector >= low - slack) & (vector <= high + slack))
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise TraceError(where, f"{name}[{row}] = {vector[row]}: a number in [{low:g}, {high:g}] must stand here")


def _range(name: str, vocabulary: int) -> tuple[float, float]:
    """Give the least and the greatest value that a vector may hold."""
    if not name.startswith("exact_"):
        return (-1 if name == "tokens" else 0), (vocabulary - 1 if name.endswith("tokens") else math.inf)
    if name == "exact_overlap":
        return 0, 1
    return 0, (math.log(vocabulary) if "entropy" in name else math.inf)


def check_prompts(where: str, vectors: Mapping[str, Array]) -> None:
    """Check that prompts are whole, and that each row belongs to one of them."""
    offsets = vectors.get("prompt_offsets")
    if (offsets is None) != ("prompt_tokens" not in vectors):
        raise TraceError(where, "has one of prompt_tokens and prompt_offsets: they come together")
    if offsets is None:
        return
    prompts = len(check_offsets(where, "prompt_offsets", offsets, len(vectors["prompt_tokens"]))) - 1
    bad = vectors.get("prompt_id", np.empty(0)) >= prompts
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise TraceError(where, f"prompt_id[{row}] = {vectors['prompt_id'][row]}: there are {prompts} prompts")


def check_known(known: Mapping[str, Any], where: str) -> tuple[dict[str, str], float | None, Mapping[str, str]]:
    """Check what is said about all rows, and give it: names of the models, temperature, provenance."""
    names = {role: known.get(role) or "" for role in ("target", "draft")}
    for role, text in names.items():
        if not isinstance(text, str):
            raise TraceError(where, f"{role} = {text!r}: a name must stand here")
    temperature = known.get("temperature")
    if temperature is not None:
        try:
            parameters.check("temperature", temperature, "[0, inf)")
        except ValueError as damage:
            raise TraceError(where, str(damage)) from None
    provenance = {} if known.get("provenance") is None else known["provenance"]
    if not isinstance(provenance, Mapping):
        raise TraceError(where, f"provenance = {provenance!r}: a mapping of names to text must stand here")
    for key, value in provenance.items():
        if not isinstance(key, str) or not isinstance(value, str) or key in RESERVED:
            raise TraceError(where, f"provenance {key!r}: {value!r}: text under a name of its own must stand here")
    return names, None if temperature is None else float(temperature), MappingProxyType(dict(provenance))


def whole(array: Stored) -> Array:
    """Read the whole array; a read-only view."""
    view = (array if isinstance(array, np.ndarray) else array[:] if array.ndim else np.empty(())).view()
    view.flags.writeable = False
    return view
