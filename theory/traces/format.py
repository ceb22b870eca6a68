"""The one file format of traces: which arrays stand in it, under which names, of which types.

The file is safetensors: memory-mapped, no code in it, arrays by name and strings as metadata. Rows come in one of three
layouts:

=============  =====================================  ===========================================================
rows           arrays                                 dtype and meaning
=============  =====================================  ===========================================================
probabilities  ``p``, ``q`` (positions, V)            float32, float64; sums of 1 as in `theory.probs`
logarithms     ``logp``, ``logq`` (positions, V)      float16, float32, float64; natural; rescaled when read
truncated      ``offsets`` (positions + 1)            int32, int64; row i is ``offsets[i]:offsets[i + 1]`` of
..             ``ids`` (entries)                      uint16, uint32, int32, int64; tokens, no two equal in a row
..             ``logp``, ``logq`` (entries)           float16, float32, float64
..             ``tail_mass`` (positions, 2)           float32, float64; mass of p and q on all other tokens
=============  =====================================  ===========================================================

With any of them, where known: ``tokens``, ``prompt_id``, ``position`` (positions), ``prompt_tokens`` (all prompts, one
after the other) and ``prompt_offsets`` (prompts + 1), of integers; ``exact_<name>`` (positions), of float32 or float64,
for the names in `EXACT`. Metadata: ``schema``, ``vocabulary`` (needed by truncated rows), ``temperature``, ``target``,
``draft``, ``tail_tokens``; every other key is provenance. A file holds nothing else, and is written whole: record long
runs in several files.
"""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn

import numpy as np

from theory.traces.rows import TraceError

SCHEMA = "theory-trace/1"
"""What the metadata of a trace file says under ``schema``."""

EXACT = MappingProxyType(
    {
        "overlap": "Σ_x min(p, q) = 1 - TV(p, q), the acceptance rate of strict verification; in [0, 1]",
        "entropy_p": "H(p) = -Σ p ln p, in nats",
        "entropy_q": "H(q), in nats",
        "kl_pq": "KL(p || q) = Σ p ln(p / q), in nats; may be infinite",
        "log_max_q_over_p": "ln max_x q(x) / p(x), in nats, the Rényi divergence of order infinity; may be infinite",
    }
)
"""What may be stored exactly, from the full vocabulary, at record time: name to meaning. See `Trace.exact`."""

CODES = {
    np.dtype(name): code
    for name, code in {
        "float16": "F16",
        "float32": "F32",
        "float64": "F64",
        "uint16": "U16",
        "uint32": "U32",
        "int32": "I32",
        "int64": "I64",
    }.items()
}
"""Type of an array to what safetensors calls it."""

DTYPES = {code: dtype for dtype, code in CODES.items()}
"""The same the other way round."""

_PROBABILITIES = ("F32", "F64")
_LOGARITHMS = ("F16", "F32", "F64")
_INTEGERS = ("U16", "U32", "I32", "I64")

RAGGED = ("offsets", "ids", "logp", "logq", "tail_mass")
LAYOUTS = (("p", "q"), ("logp", "logq"), RAGGED)
"""The arrays of each layout of rows: probabilities, logarithms, truncated."""

ALLOWED = {
    "p": _PROBABILITIES,
    "q": _PROBABILITIES,
    "logp": _LOGARITHMS,
    "logq": _LOGARITHMS,
    "tail_mass": _PROBABILITIES,
    "offsets": ("I32", "I64"),
    **dict.fromkeys(("ids", "tokens", "prompt_id", "position", "prompt_tokens", "prompt_offsets"), _INTEGERS),
    **dict.fromkeys((f"exact_{name}" for name in EXACT), _PROBABILITIES),
}
"""Every array that a file may hold, to the types that it may have."""

RESERVED = ("schema", "vocabulary", "temperature", "target", "draft", "tail_tokens")
"""Keys of the metadata that are no provenance."""


def check_names(names: Iterable[str], where: str) -> None:
    """Raise unless a trace may hold arrays of all these names."""
    for name in names:
        if name not in ALLOWED:
            raise TraceError(where, f"array {name!r}: a trace holds {', '.join(ALLOWED)}")


def layout_of(arrays: Mapping[str, Any], where: str) -> tuple[str, ...]:
    """Find which of the three layouts the rows have."""
    rows = {name for layout in LAYOUTS for name in layout} & set(arrays)
    for layout in LAYOUTS:
        if rows == set(layout):
            return layout
    choices = "; or ".join(", ".join(layout) for layout in LAYOUTS)
    raise TraceError(where, f"has the arrays {', '.join(sorted(rows)) or 'of no rows'}: rows are {choices}")


def wrong_dtype(where: str, name: str, found: Any) -> NoReturn:
    """Refuse the type of an array, and name those that it may have."""
    allowed = ", ".join(str(DTYPES[code]) for code in ALLOWED[name])
    raise TraceError(where, f"{name} has dtype {found}: allowed are {allowed}")
