"""Traces to test with, in every layout, and ways to damage their files."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from safetensors.numpy import load_file, save_file

from theory import probs, traces
from theory.traces import Trace, TraceError

LAYOUTS = ("probabilities", "float32", "logarithms", "truncated")
quick = settings(max_examples=40, deadline=None, derandomize=True, database=None)


def make(layout: str, positions: int = 12, vocabulary: int = 40, seed: int = 0) -> Trace:
    rng = np.random.default_rng(seed)
    p, q = rng.dirichlet(np.full(vocabulary, 0.3), (2, positions)) + 1e-6
    p, q = probs.normalise(p), probs.normalise(q)
    about = {
        "tokens": probs.sample(p, rng),
        "temperature": 0.7,
        "target": "large",
        "draft": "small",
        "exact": {"overlap": np.minimum(p, q).sum(-1), "entropy_p": probs.entropy(p).astype(np.float32)},
        "prompt_id": np.arange(positions) % 2,
        "position": (np.arange(positions) // 2).astype(np.int32),
        "prompt_tokens": np.array([1, 2, 3, 4, 5], dtype=np.uint16),
        "prompt_offsets": [0, 2, 5],
        "provenance": {"made": "by hand,\nwith ünïcode", "licence": "none"},
    }
    if layout == "probabilities":
        return Trace.from_rows(p, q, **about)
    if layout == "float32":
        return Trace.from_rows(p.astype(np.float32), q.astype(np.float32), **about)
    if layout == "logarithms":
        return Trace.from_logs(np.log(p).astype(np.float16), np.log(q).astype(np.float16), **about)
    return truncate(p, q, rng.integers(3, vocabulary // 2, positions), **about)


def truncate(p, q, lengths, dtype=np.float16, **about) -> Trace:
    ids = [np.argsort(-row, kind="stable")[:length] for row, length in zip(p, lengths, strict=True)]
    kept = [(row[i], other[i]) for row, other, i in zip(p, q, ids, strict=True)]
    tail = np.array([[1 - a.sum(), 1 - b.sum()] for a, b in kept]).clip(0, 1)
    logp, logq = (np.log(np.concatenate(part)).astype(dtype) for part in zip(*kept, strict=True))
    return Trace.from_logs(
        logp,
        logq,
        offsets=np.concatenate([[0], np.cumsum(lengths)]),
        ids=np.concatenate(ids).astype(np.int32),
        tail_mass=tail,
        vocabulary=p.shape[1],
        **about,
    )


def saved(trace: Trace, folder: Path) -> Path:
    path = folder / "trace.safetensors"
    trace.write(path)
    return path


def poke(path: Path, name: str, index: int, value: float) -> None:
    """Overwrite one number of one array in place."""
    data = bytearray(path.read_bytes())
    (length,) = struct.unpack("<Q", data[:8])
    entry = json.loads(data[8 : 8 + length])[name]
    dtype = np.dtype({"F16": "<f2", "F32": "<f4", "F64": "<f8", "U16": "<u2", "I32": "<i4", "I64": "<i8"}[entry["dtype"]])
    place = 8 + length + entry["data_offsets"][0] + index * dtype.itemsize
    data[place : place + dtype.itemsize] = np.array(value, dtype).tobytes()
    path.write_bytes(data)


def rewrite(path: Path, metadata: dict[str, str] | None = None, **arrays: np.ndarray | None) -> None:
    """Write the file anew with some arrays replaced, or left out where they are None."""
    held = {**load_file(path), **arrays}
    with path.open("rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        known = json.loads(file.read(length)).get("__metadata__", {})
    kept = {name: np.asarray(array, order="C") for name, array in held.items() if array is not None}
    save_file(kept, path, metadata={**known, **(metadata or {})})


def refusal(path: Path, check: bool = True) -> str:
    with pytest.raises(ValueError, match=r".") as caught:
        traces.read(path, check=check)
    message = str(caught.value)
    assert isinstance(caught.value, TraceError)
    assert message.startswith(f"{path}: ")
    assert len(message.splitlines()) == 1
    return message.removeprefix(f"{path}: ")
