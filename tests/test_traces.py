"""Traces: the file gives back what was written, damage is named in one line, slices touch their own rows only."""

import json
import pickle
import struct
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

from theory import divergences, probs, traces
from theory.traces import Trace, TraceError
from theory.truncation import Eta, MinP
from theory.verifiers import Strict

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


# --- round trip -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_reading_gives_back_what_was_written(layout, tmp_path):
    trace = make(layout)
    again = traces.read(saved(trace, tmp_path))
    assert again == trace
    assert dict(again.provenance) == dict(trace.provenance)
    assert (again.temperature, again.target, again.draft, again.vocabulary) == (0.7, "large", "small", 40)
    for name in ("tokens", "prompt_id", "position", "prompt_tokens", "prompt_offsets"):
        np.testing.assert_array_equal(getattr(again, name), getattr(trace, name))
    for name in ("p", "q", "ids"):
        np.testing.assert_array_equal(np.asarray(getattr(again, name)), np.asarray(getattr(trace, name)))
    first = load_file(tmp_path / "trace.safetensors")
    traces.write(again, tmp_path / "again.safetensors")
    second = load_file(tmp_path / "again.safetensors")
    assert first.keys() == second.keys()
    assert all(first[name].dtype == second[name].dtype and (first[name] == second[name]).all() for name in first)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again.safetensors", "trace.safetensors"]


@given(data=st.data())
@quick
def test_truncated_rows_come_back_from_any_lengths(data, tmp_path_factory):
    vocabulary = data.draw(st.integers(2, 30))
    lengths = data.draw(st.lists(st.integers(1, vocabulary), min_size=1, max_size=8))
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    p, q = (probs.normalise(rng.dirichlet(np.ones(vocabulary), len(lengths)) + 1e-6) for _ in range(2))
    trace = truncate(p, q, lengths, dtype=np.float64)
    again = traces.read(saved(trace, tmp_path_factory.mktemp("traces")))
    assert again == trace
    for row, length in enumerate(lengths):
        ids = again.ids[row]
        assert again.p[row].shape == again.q[row].shape == ids.shape == (length + 1,)
        np.testing.assert_allclose(again.p[row][:-1], p[row][ids[:-1]], rtol=1e-9)
        np.testing.assert_allclose(again.q[row][:-1], q[row][ids[:-1]], rtol=1e-9)
        np.testing.assert_allclose(again.p[row][-1], np.delete(p[row], ids[:-1]).sum(), atol=1e-12)
    start, stop = sorted((data.draw(st.integers(0, len(lengths))), data.draw(st.integers(0, len(lengths)))))
    part, ids = again.p[start:stop], again.ids[start:stop]
    width = max(lengths[start:stop], default=0)
    assert part.shape == again.q[start:stop].shape == ids.shape == (stop - start, width + 1)
    for row in range(start, stop):
        np.testing.assert_array_equal(part[row - start, : lengths[row]], again.p[row][:-1])
        assert not part[row - start, lengths[row] : -1].any()
        assert (ids[row - start, lengths[row] :] == -1).all()


@given(
    p=st.lists(st.lists(st.integers(0, 50), min_size=3, max_size=3).filter(any), min_size=1, max_size=6),
    temperature=st.none() | st.floats(0, 1e6),
    names=st.tuples(st.text(st.characters(exclude_categories=["Cs"])), st.text(st.characters(exclude_categories=["Cs"]))),
)
@quick
def test_dense_rows_and_names_come_back(p, temperature, names, tmp_path_factory):
    rows = probs.normalise(p)
    trace = Trace.from_rows(rows, rows[::-1], temperature=temperature, target=names[0], draft=names[1])
    again = traces.read(saved(trace, tmp_path_factory.mktemp("traces")))
    assert again == trace
    assert (again.temperature, again.target, again.draft) == (temperature, *names)
    np.testing.assert_array_equal(again.p[:], rows)
    np.testing.assert_array_equal(again.q[:], rows[::-1])


@pytest.mark.parametrize(
    "change",
    [
        {"target": "other"},
        {"temperature": 0.8},
        {"tokens": None},
        {"provenance": {}},
        {"exact": {}},
        {"prompt_id": None},
    ],
)
def test_traces_that_differ_are_not_equal(change):
    trace = make("truncated")
    about = {
        name: getattr(trace, name)
        for name in ("tokens", "temperature", "target", "draft", "exact", "provenance", "prompt_id", "position")
    }
    rows = np.full((12, 40), 1 / 40)
    about["exact"] = {"overlap": np.ones(12)}
    assert Trace.from_rows(rows, rows, **about) == Trace.from_rows(rows, rows, **about)
    assert Trace.from_rows(rows, rows, **about) != Trace.from_rows(rows, rows, **{**about, **change})


def test_traces_with_other_rows_or_tokens_are_not_equal():
    trace = make("truncated")
    assert trace != make("truncated", seed=1)
    assert trace != make("logarithms")
    assert trace != trace.with_tail_tokens(2)
    assert trace != "trace"


def test_a_trace_can_be_written_over_its_own_file(tmp_path):
    trace = make("truncated")
    path = saved(trace, tmp_path)
    opened = traces.read(path)
    opened.write(path)
    assert traces.read(path) == opened == trace


def test_a_written_file_is_as_readable_as_any(tmp_path):
    (tmp_path / "any").touch()
    assert saved(make("truncated"), tmp_path).stat().st_mode == (tmp_path / "any").stat().st_mode


def test_writing_where_nothing_can_be_written_says_so(tmp_path):
    with pytest.raises(TraceError, match=r"no/such/place: cannot be written \(.*\)$"):
        make("truncated").write(tmp_path / "no/such/place")


def test_float16_rows_that_rounding_moves_most_are_read(tmp_path):
    p = np.full((2, 50_000), np.log(1 / 50_000)).astype(np.float16)  # all rounded the same way, by 0.3 %
    trace = traces.read(saved(Trace.from_logs(p, p), tmp_path))
    np.testing.assert_allclose(trace.p[:], 1 / 50_000, rtol=1e-12)


# --- what rows are --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("layout", LAYOUTS)
def test_slices_agree_with_the_whole(layout, tmp_path):
    trace = traces.read(saved(make(layout), tmp_path))
    for rows in (trace.p, trace.q):
        whole = np.asarray(rows)
        assert whole.shape == rows.shape
        assert len(rows) == len(trace) == 12
        np.testing.assert_allclose(whole.sum(-1), 1, rtol=0, atol=1e-8 if layout != "float32" else 1e-4)
        for start, stop in ((0, 12), (3, 7), (11, 12), (5, 5), (-2, None)):
            part = rows[start:stop]
            assert len(part) == len(whole[start:stop])
            tail = trace.tail_tokens
            kept = part.shape[1] - tail
            np.testing.assert_array_equal(part[:, :kept], whole[start:stop, :kept])
            assert not whole[start:stop, kept : whole.shape[1] - tail].any()
            if tail:
                np.testing.assert_array_equal(part[:, -tail:], whole[start:stop, -tail:])
        assert rows[-1].sum() == pytest.approx(1, abs=1e-4)
        assert [row.shape[0] for row in rows] == [rows[i].shape[0] for i in range(12)]


def test_rows_refuse_what_they_cannot_give():
    rows = make("truncated").p
    with pytest.raises(IndexError, match=r"logp\[12\]: there are 12 rows"):
        rows[12]
    with pytest.raises(ValueError, match="step 1"):
        rows[::2]
    with pytest.raises(ValueError, match="makes a copy"):
        np.array(rows, copy=False)


@pytest.mark.parametrize("index", [1.0, 1.9, np.float64(1), "1", None, [0, 1], (0, 1), np.array([0, 1]), True, ..., [True] * 12])
@pytest.mark.parametrize("layout", ["logarithms", "truncated"])
def test_rows_are_taken_by_a_whole_number_or_a_slice(layout, index):
    trace = make(layout)
    for rows in [trace.p, trace.q, trace.ids] if layout == "truncated" else [trace.p, trace.q]:
        with pytest.raises(TypeError, match=rf"^{rows.name}\[.*\]: rows are taken by a whole number or by a slice i:j$"):
            rows[index]
        with pytest.raises(TypeError):
            rows[0:1.5]
        for whole in (3, np.int32(3), np.uint8(3), np.array(3)):
            np.testing.assert_array_equal(rows[whole], rows[3])


def test_rows_of_a_slice_are_checked_rows(tmp_path):
    for layout in LAYOUTS:
        part = traces.read(saved(make(layout), tmp_path)).p[2:5]
        assert probs.check_rows(part) is part


def test_ids_of_dense_rows_are_the_columns():
    trace = make("probabilities")
    np.testing.assert_array_equal(trace.ids[3:5], [np.arange(40)] * 2)
    assert trace.tail_tokens == 0
    assert not trace.truncated
    assert not trace.tail_mass.any()
    assert trace.with_tail_tokens(5) is trace


# --- damaged files --------------------------------------------------------------------------------------------------


def test_there_must_be_a_regular_file(tmp_path):
    assert refusal(tmp_path / "missing") == "No such file or directory"
    assert refusal(tmp_path) == "is a directory; a trace is one file"
    assert refusal(Path("/dev/null")) == "is not a regular file"


@pytest.mark.parametrize(
    ("content", "damage"),
    [
        (b"", "is empty"),
        (b"abc", "is not a safetensors file, or is truncated: 3 bytes"),
        (b"p,q\n0.5,0.5\n" * 9, "is not a safetensors file"),
        (pickle.dumps({"p": [0.5, 0.5]}), "is a pickle"),
        (pickle.dumps({"p": [0.5, 0.5]}, protocol=2), "is a pickle"),
        (pickle.dumps({"p": [0.5, 0.5]}, protocol=0), "is not a safetensors file"),
        (b"\x93NUMPY\x01\x00" + bytes(100), "is not a safetensors file"),
        (struct.pack("<Q", 4) + b"{]{]", "is damaged or truncated"),
        (struct.pack("<Q", 2) + b"{}", "has the arrays of no rows"),
    ],
)
def test_other_content_is_named(content, damage, tmp_path):
    path = tmp_path / "trace.safetensors"
    path.write_bytes(content)
    assert refusal(path).startswith(damage)


def test_a_zip_archive_is_named(tmp_path):
    path = tmp_path / "trace.safetensors"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("p.npy", b"")
    assert refusal(path).startswith("is a zip archive")


def test_a_file_cut_anywhere_is_refused(tmp_path):
    path = saved(make("truncated", positions=3, vocabulary=8), tmp_path)
    content = path.read_bytes()
    messages = set()
    for size in range(len(content)):
        path.write_bytes(content[:size])
        messages.add(refusal(path, check=False).split(":")[0])
    assert messages == {"is empty", "is not a safetensors file, or is truncated", "is damaged or truncated"}
    path.write_bytes(content + b"\0")
    assert refusal(path).startswith("is damaged or truncated")


@pytest.mark.parametrize(
    ("layout", "name", "index", "value", "damage"),
    [
        ("probabilities", "p", 3 * 40 + 7, np.nan, "p[3, 7] = nan: a number of at least 0 must stand here"),
        ("probabilities", "q", 11 * 40, -0.25, "q[11, 0] = -0.25: a number of at least 0 must stand here"),
        ("probabilities", "p", 5 * 40, 2.0, "p[5] sums to "),
        ("float32", "q", 5 * 40, np.inf, "q[5] sums to inf"),
        ("logarithms", "logp", 3 * 40 + 7, np.nan, "logp[3, 7] = nan: a logarithm of a probability"),
        ("logarithms", "logq", 11 * 40, 0.5, "logq[11, 0] = 0.5: a logarithm of a probability"),
        ("logarithms", "logq", 2 * 40, np.log(0.9), "logq[2] has mass "),
        ("truncated", "tail_mass", 2 * 5 + 1, np.nan, "tail_mass[5, 1] = nan: a number in [0, 1] must stand here"),
        ("truncated", "tail_mass", 0, -0.125, "tail_mass[0, 0] = -0.125: a number in [0, 1] must stand here"),
        ("truncated", "tail_mass", 6, 1.0, "logp[3] has mass "),
        ("truncated", "offsets", 0, 1, "offsets[0] = 1: rows begin at 0"),
        ("truncated", "offsets", 4, 10_000, "offsets[4] = 10000 after "),
        ("truncated", "offsets", 4, -1, "offsets[4] = -1 after "),
        ("truncated", "offsets", 4, 0, "offsets[4] = 0 after "),
        ("truncated", "ids", 0, 40, "ids[0][0] = 40: a token is in 0..39"),
        ("truncated", "ids", 0, -1, "ids[0][0] = -1: a token is in 0..39"),
        ("probabilities", "tokens", 4, 40, "tokens[4] = 40: a number in [-1, 39] must stand here"),
        ("truncated", "prompt_id", 4, 2, "prompt_id[4] = 2: there are 2 prompts"),
        ("truncated", "position", 4, -7, "position[4] = -7: a number in [0, inf] must stand here"),
        ("truncated", "prompt_tokens", 4, 40, "prompt_tokens[4] = 40: a number in [0, 39] must stand here"),
        ("truncated", "prompt_offsets", 1, 9, "prompt_offsets[1] = 9 after 0: a row must stand here"),
        ("truncated", "exact_overlap", 4, np.nan, "exact_overlap[4] = nan: a number in [0, 1] must stand here"),
        ("truncated", "exact_overlap", 4, 1.5, "exact_overlap[4] = 1.5: a number in [0, 1] must stand here"),
        ("truncated", "exact_overlap", 4, 1.0, "exact_overlap[4] = 1.0: the rows leave ["),
        ("probabilities", "exact_overlap", 4, 0.0, "exact_overlap[4] = 0.0: the rows leave ["),
        ("truncated", "exact_entropy_p", 4, 9.0, "exact_entropy_p[4] = 9.0: a number in [0, 3.68888] must stand here"),
    ],
)
def test_one_bad_number_is_named(layout, name, index, value, damage, tmp_path):
    path = saved(make(layout), tmp_path)
    assert traces.read(path) == make(layout)
    poke(path, name, index, value)
    assert refusal(path).startswith(damage)


@pytest.mark.parametrize(("value", "damage"), [(np.nan, "= nan: a logarithm"), (0.5, "= 0.5: a log")])
def test_a_bad_entry_of_a_truncated_row_is_named_by_row_and_place(value, damage, tmp_path):
    trace = make("truncated")
    path = saved(trace, tmp_path)
    row = 7
    assert trace.p[row].shape[0] > 3  # three entries and the tail
    poke(path, "logq", int(trace.p.offsets[row]) + 2, value)
    assert refusal(path).startswith(f"logq[{row}][2] {damage}")


def test_a_token_twice_in_a_row_is_named(tmp_path):
    trace = make("truncated")
    path = saved(trace, tmp_path)
    row, first = 7, int(trace.ids[7][0])
    poke(path, "ids", int(trace.p.offsets[row]) + 2, first)
    assert refusal(path) == f"ids[7][2] = {first}: this token is in the row twice"


@pytest.mark.parametrize(
    ("layout", "name", "array", "damage"),
    [
        (
            "probabilities",
            "p",
            np.full((12, 40), 1 / 40, np.float16),
            "p has dtype float16: allowed are float32, float64",
        ),
        ("probabilities", "q", np.ones((12, 40), np.int64), "q has dtype int64: allowed are float32, float64"),
        ("probabilities", "q", np.ones((12, 40), np.bool_), "q has dtype BOOL: allowed are float32, float64"),
        ("truncated", "ids", np.ones(9, np.float32), "ids has dtype float32: allowed are uint16, uint32, int32, int64"),
        ("truncated", "tokens", np.ones(12), "tokens has dtype float64"),
        ("truncated", "offsets", np.ones(13), "offsets has dtype float64"),
        ("probabilities", "q", np.full((11, 40), 1 / 40), "p has shape (12, 40) and q (11, 40): they must be the same"),
        ("probabilities", "q", np.full((12, 39), 1 / 39), "p has shape (12, 40) and q (12, 39): they must be the same"),
        (
            "probabilities",
            "p",
            np.full(40, 1 / 40),
            "p has shape (40,): (positions, V), of one or more, must stand here",
        ),
        (
            "probabilities",
            "p",
            np.empty((0, 40)),
            "p has shape (0, 40): (positions, V), of one or more, must stand here",
        ),
        ("probabilities", "p", np.array(1.0), "p has shape (): (positions, V), of one or more, must stand here"),
        ("probabilities", "tokens", np.ones(13, np.int64), "tokens has shape (13,): (12,), one for each row,"),
        ("truncated", "exact_overlap", np.ones((12, 1)), "exact_overlap has shape (12, 1): (12,), one for each row,"),
        ("truncated", "exact_overlap", np.array(1.0), "exact_overlap has shape (): (12,), one for each row,"),
        ("truncated", "ids", np.ones(3, np.int32), "ids has shape (3,), logp ("),
        ("truncated", "tail_mass", np.ones((11, 2)), "tail_mass has shape (11, 2): (12, 2) must stand here"),
        ("truncated", "offsets", np.zeros(1, np.int32), "offsets has shape (1,): (rows + 1,), of one row or more,"),
        ("truncated", "offsets", np.arange(13), "offsets[12] = 12: rows end at "),
        ("truncated", "tail_mass", None, "has the arrays ids, logp, logq, offsets: rows are p, q; or logp, logq; or "),
        (
            "truncated",
            "p",
            np.full((12, 40), 1 / 40),
            "has the arrays ids, logp, logq, offsets, p, tail_mass: rows are",
        ),
        ("truncated", "prompt_offsets", None, "has one of prompt_tokens and prompt_offsets: they come together"),
        ("truncated", "exact_overlp", np.ones(12), "array 'exact_overlp': a trace holds p, q, "),
        ("truncated", "two\nlines", np.ones(12), "array 'two\\nlines': a trace holds p, q, "),
    ],
)
def test_a_wrong_dtype_shape_or_name_is_named_before_rows_are_read(layout, name, array, damage, tmp_path):
    path = saved(make(layout), tmp_path)
    rewrite(path, **{name: array})
    assert refusal(path, check=False).startswith(damage)


@pytest.mark.parametrize(
    ("key", "text", "damage"),
    [
        ("schema", "other/2", "metadata has schema 'other/2': 'theory-trace/1' is what can be read"),
        ("vocabulary", "many", "metadata has vocabulary 'many': a number must stand here"),
        ("vocabulary", "0", "vocabulary = 0: must be a whole number of at least 1"),
        ("vocabulary", "41", "vocabulary = 41 and rows of 40 tokens: they must be the same"),
        ("temperature", "hot", "metadata has temperature 'hot': a number must stand here"),
        ("temperature", "nan", "temperature = nan: must be a number in [0, inf)"),
        ("tail_tokens", "0", "tail_tokens = 0: must be a whole number of at least 1"),
    ],
)
def test_wrong_metadata_is_named(key, text, damage, tmp_path):
    path = saved(make("probabilities" if text == "41" else "truncated"), tmp_path)
    rewrite(path, {key: text})
    assert refusal(path) == damage


def test_truncated_rows_need_a_vocabulary(tmp_path):
    path = saved(make("truncated"), tmp_path)
    save_file(load_file(path), path)
    assert refusal(path) == "vocabulary is not given: truncated rows need it"


def test_dense_arrays_without_metadata_are_a_trace(tmp_path):
    rows = np.array([[0.5, 0.25, 0.25]])
    save_file({"p": rows, "q": rows[:, ::-1].copy()}, tmp_path / "plain.safetensors")
    trace = traces.read(tmp_path / "plain.safetensors")
    assert (trace.vocabulary, trace.temperature, trace.target, dict(trace.provenance)) == (3, None, "", {})
    np.testing.assert_array_equal(trace.q[0], [0.25, 0.25, 0.5])


@given(data=st.data())
@settings(max_examples=300, deadline=None, derandomize=True, database=None)
def test_any_damaged_byte_is_refused_in_one_line_or_harmless(data, tmp_path_factory):
    path = saved(make("truncated", positions=3, vocabulary=8), tmp_path_factory.mktemp("traces"))
    content = bytearray(path.read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    found = None
    try:
        trace = traces.read(path)
    except TraceError as refused:
        found = str(refused)
    if found is not None:
        assert found.startswith(f"{path}: ")
        assert len(found.splitlines()) == 1
    else:
        np.testing.assert_allclose(np.asarray(trace.p).sum(-1), 1, rtol=0, atol=1e-8)
        np.testing.assert_allclose(np.asarray(trace.q).sum(-1), 1, rtol=0, atol=1e-8)


# --- laziness -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("layout", "name"), [("probabilities", "p"), ("logarithms", "logp"), ("truncated", "logp")])
def test_a_slice_touches_its_own_rows_only(layout, name, tmp_path):
    trace = make(layout)
    path = saved(trace, tmp_path)
    last = int(trace.p.offsets[9]) if layout == "truncated" else 9 * 40
    poke(path, name, last, np.nan)
    lazy = traces.read(path, check=False)
    np.testing.assert_array_equal(lazy.p[0:9], trace.p[0:9])
    np.testing.assert_array_equal(lazy.p[10:12], trace.p[10:12])
    np.testing.assert_array_equal(lazy.q[0:12], trace.q[0:12])
    for broken in (lambda: lazy.p[8:10], lambda: lazy.p[9], lambda: np.asarray(lazy.p), lazy.check):
        with pytest.raises(TraceError, match=rf"{name}\[9") as caught:
            broken()
        assert str(caught.value).startswith(f"{path}: {name}[9")


def test_rows_are_read_from_the_file_when_they_are_sliced(tmp_path):
    path = saved(make("probabilities"), tmp_path)
    lazy = traces.read(path)
    with path.open("r+b") as file:  # in place: the mapped pages change
        file.seek(8)
        length = struct.unpack("<Q", path.read_bytes()[:8])[0]
        start = json.loads(path.read_bytes()[8 : 8 + length])["p"]["data_offsets"][0]
        file.seek(8 + length + start)
        file.write(np.eye(40)[0].tobytes())
    np.testing.assert_array_equal(lazy.p[0], np.eye(40)[0])


# --- making one -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given_", "damage"),
    [
        ({"p": [[0.5, 0.4]]}, "p[0] sums to 0.9: a float64 row must sum to 1 within 1e-08"),
        ({"p": [[0.5, 0.5], [np.nan, 1]]}, "p[1, 0] = nan"),
        ({"p": [0.5, 0.5]}, "p has shape (2,)"),
        ({"p": [[1.0]]}, "p has shape (1, 1) and q (1, 2)"),
        ({"tokens": [2]}, "tokens[0] = 2: a number in [-1, 1] must stand here"),
        ({"tokens": [[1], [0, 1]]}, "tokens: its rows do not have one length"),
        ({"temperature": -1.0}, "temperature = -1.0: must be a number in [0, inf)"),
        ({"target": 7}, "target = 7: a name must stand here"),
        ({"provenance": {"draft": "x"}}, "provenance 'draft': 'x': text under a name of its own must stand here"),
        ({"provenance": {"seed": 1}}, "provenance 'seed': 1: text under a name of its own must stand here"),
        ({"exact": {"overlap": [0.2]}}, "exact_overlap[0] = 0.2: the rows leave [1, 1]"),
        ({"exact": {"speed": [0.2]}}, "array 'exact_speed': a trace holds"),
        ({"exact": 3}, "exact = 3: a mapping of names to arrays must stand here"),
        ({"exact": 0}, "exact = 0: a mapping"),
        ({"exact": [("overlap", [1.0])]}, "exact = [('overlap', [1.0])]: a mapping"),
        ({"provenance": "x"}, "provenance = 'x': a mapping of names to text must stand here"),
        ({"provenance": ""}, "provenance = '': a mapping"),
        ({"provenance": [("a", "b")]}, "provenance = [('a', 'b')]: a mapping"),
    ],
)
def test_making_a_trace_names_what_is_wrong(given_, damage):
    with pytest.raises(TraceError) as caught:
        Trace.from_rows(**{"p": [[0.5, 0.5]], "q": [[0.5, 0.5]], **given_})
    assert str(caught.value).startswith(f"trace: {damage}")
    assert len(str(caught.value).splitlines()) == 1


def arguments_of(layout: str) -> tuple[object, dict[str, np.ndarray], dict[str, object]]:
    """Give a maker of traces, arrays for it that can be written to, and what else it takes."""
    trace = make(layout)
    arrays = {name: np.array(getattr(trace, name)) for name in ("tokens", "prompt_id", "position", "prompt_offsets")}
    arrays |= {"prompt_tokens": np.array(trace.prompt_tokens), "exact_overlap": np.array(trace.exact["overlap"])}
    if layout in ("probabilities", "float32"):
        return Trace.from_rows, arrays | {"p": np.array(trace.p), "q": np.array(trace.q)}, {}
    arrays |= {"logp": np.array(trace.p.stored), "logq": np.array(trace.q.stored)}
    if layout == "logarithms":
        return Trace.from_logs, arrays, {}
    arrays |= {"offsets": np.array(trace.p.offsets), "ids": np.array(trace.ids.stored), "tail_mass": np.array(trace.tail_mass)}
    return Trace.from_logs, arrays, {"vocabulary": 40}


def made(make_trace, arrays, about) -> Trace:
    named = {name: array for name, array in arrays.items() if name != "exact_overlap"}
    return make_trace(**named, exact={"overlap": arrays["exact_overlap"]}, **about)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "view", [lambda a: a, lambda a: a[:], lambda a: np.broadcast_to(a, a.shape)], ids=["own", "view", "read-only"]
)
def test_a_trace_does_not_change_when_the_arrays_that_it_was_made_of_do(layout, view):
    make_trace, arrays, about = arguments_of(layout)
    trace = made(make_trace, {name: view(array) for name, array in arrays.items()}, about)
    before = made(make_trace, {name: array.copy() for name, array in arrays.items()}, about)
    known = [probs.entropy(trace.p[:]), Strict().acceptance_rate(trace.p[:], trace.q[:])]
    for array in arrays.values():
        array[...] = 0
    assert trace == before
    for kept, again in zip(known, [probs.entropy(trace.p[:]), Strict().acceptance_rate(trace.p[:], trace.q[:])], strict=True):
        np.testing.assert_array_equal(kept, again)


@pytest.mark.parametrize("mode", ["r", "r+", "c"])
def test_a_read_only_memory_map_is_not_copied_and_a_writable_one_is(mode, tmp_path):
    for name in ("p", "logp"):
        rows = probs.normalise(np.random.default_rng(0).random((4, 6)))
        np.save(tmp_path / "rows.npy", rows if name == "p" else np.log(rows))
        mapped = np.load(tmp_path / "rows.npy", mmap_mode=mode)
        trace = Trace.from_rows(mapped, mapped) if name == "p" else Trace.from_logs(mapped, mapped)
        held = trace.p if name == "p" else trace.p.stored
        assert np.shares_memory(held, mapped) == (mode == "r")


@pytest.mark.parametrize("layout", LAYOUTS)
def test_other_byte_orders_are_converted(layout, tmp_path):
    make_trace, arrays, about = arguments_of(layout)
    native = made(make_trace, arrays, about)
    swapped = {name: array.astype(array.dtype.newbyteorder(">")) for name, array in arrays.items()}
    for locked in (False, True):
        for array in swapped.values():
            array.flags.writeable = not locked
        trace = made(make_trace, swapped, about)
        assert trace == native
        assert traces.read(saved(trace, tmp_path)) == native
        kept, expected = (rows if isinstance(rows, np.ndarray) else rows.stored for rows in (trace.p, native.p))
        assert kept.dtype == expected.dtype
        assert kept.dtype.isnative


def test_an_unknown_argument_is_an_error():
    with pytest.raises(TypeError, match="temprature"):
        Trace.from_rows([[1.0]], [[1.0]], temprature=1.0)


def test_describe_says_how_rows_are_stored():
    assert "dense, float64 probabilities" in make("probabilities").describe()
    assert "dense, float16 logarithms" in make("logarithms").describe()
    assert "is 3 equal tokens" in make("truncated").with_tail_tokens(3).describe()
    assert repr(make("truncated")) == "<Trace: 12 x 40, truncated rows, large / small>"


# --- the tail -------------------------------------------------------------------------------------------------------


@given(st.integers(1, 20), st.integers(0, 1000))
@quick
def test_spreading_the_tail_leaves_ratios_alone(count, seed):
    coarse = make("truncated", seed=seed)
    fine = coarse.with_tail_tokens(count)
    p, q, ids = (np.asarray(rows) for rows in (fine.p, fine.q, fine.ids))
    assert fine.tail_tokens == count
    assert p.shape == (12, coarse.p.shape[1] + count - 1)
    assert (ids[:, -count:] == -1).all()
    np.testing.assert_allclose(p[:, -count:], np.repeat(coarse.tail_mass[:, :1] / count, count, axis=1), rtol=1e-12)
    np.testing.assert_allclose(p.sum(-1), 1, rtol=0, atol=1e-12)
    before, after = (np.asarray(coarse.p), np.asarray(coarse.q)), (p, q)
    for same in (divergences.total_variation, divergences.kl_divergence, Strict().acceptance_rate):
        np.testing.assert_allclose(same(*after), same(*before), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(
        probs.entropy(p), probs.entropy(before[0]) + coarse.tail_mass[:, 0] * np.log(count), rtol=1e-9, atol=1e-12
    )


def test_the_number_of_tail_tokens_is_kept_in_the_file(tmp_path):
    fine = make("truncated").with_tail_tokens(3)
    again = traces.read(saved(fine, tmp_path))
    assert again.tail_tokens == 3
    assert again == fine
    assert again.with_tail_tokens(1) == make("truncated")


@pytest.mark.parametrize("count", [0, -1, 2.0, True, 40])
def test_a_tail_is_spread_over_tokens_that_exist(count):
    with pytest.raises(TraceError, match=r"^trace: tail_tokens = "):
        make("truncated").with_tail_tokens(count)


# --- the bundled trace ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bundled():
    return traces.example()


def test_the_example_is_whole(bundled):
    bundled.check()
    assert len(bundled) == 512
    assert (bundled.vocabulary, bundled.temperature) == (49152, 1.0)
    assert bundled.truncated
    assert bundled.tail_tokens == 1
    assert set(bundled.exact) == set(traces.EXACT)
    assert bundled.exact["overlap"].mean(dtype=float) == pytest.approx(0.6139, abs=5e-5)
    lengths = np.array([len(row) - 1 for row in bundled.p])
    assert lengths.mean() == pytest.approx(359.55, abs=5e-3)
    assert lengths.max() == 455
    assert bundled.p.shape == bundled.q.shape == (512, 456)
    assert "Apache-2.0" in bundled.provenance["licence"]
    assert "no end of text" in bundled.provenance["selection"]
    assert np.unique(bundled.prompt_id).tolist() == list(range(8))
    assert len(bundled.prompt_offsets) == 9


def test_the_example_is_small_and_has_its_licence_beside_it():
    (path,) = (Path(traces.__file__).parent / "data").glob("*.safetensors")
    assert path.stat().st_size < 2_000_000
    notes = path.with_name("README.md").read_text()
    assert path.name in notes
    assert "Apache-2.0" in notes


def test_rows_of_the_example_sum_to_1_and_hold_the_text(bundled):
    p, q, ids = (np.asarray(rows) for rows in (bundled.p, bundled.q, bundled.ids))
    for rows in (p, q):
        np.testing.assert_allclose(rows.sum(-1), 1, rtol=0, atol=1e-8)
    np.testing.assert_allclose(np.stack([p[:, -1], q[:, -1]], -1), bundled.tail_mass, rtol=1e-12)
    here = ids == bundled.tokens[:, None]
    assert (here.sum(-1) == 1).all()
    assert -np.log(p[here]).mean() == pytest.approx(1.976, abs=1e-3)


def test_total_variation_of_the_example_is_within_the_tail_of_the_exact_one(bundled):
    found = divergences.total_variation(np.asarray(bundled.p), np.asarray(bundled.q))
    exact = 1 - bundled.exact["overlap"].astype(float)
    rounding = 4.4e-4
    assert (found <= exact + rounding).all()
    assert (exact <= found + bundled.tail_mass.min(axis=-1) + rounding).all()
    assert (exact - found).mean() == pytest.approx(0.0067, abs=5e-5)
    assert (exact - found).max() == pytest.approx(0.13, abs=5e-3)
    assert bundled.tail_mass.min(axis=-1).mean() == pytest.approx(0.0235, abs=5e-5)


def test_entropies_and_divergences_of_the_example_are_off_as_its_docstring_says(bundled):
    p, q = np.asarray(bundled.p), np.asarray(bundled.q)
    for rows, name, mean, most in ((p, "entropy_p", 0.23, 2.6), (q, "entropy_q", 0.48, 3.8)):
        error = bundled.exact[name] - probs.entropy(rows)
        assert (error.mean(), error.max()) == (pytest.approx(mean, abs=5e-3), pytest.approx(most, abs=5e-2))
    error = bundled.exact["kl_pq"] - divergences.kl_divergence(p, q)
    assert (error.mean(), error.max()) == (pytest.approx(0.023, abs=5e-4), pytest.approx(0.19, abs=5e-3))
    with np.errstate(divide="ignore", invalid="ignore"):
        error = bundled.exact["log_max_q_over_p"] - np.nanmax(np.log(q / p), axis=-1)
    assert (error.mean(), error.max()) == (pytest.approx(3.9, abs=5e-2), pytest.approx(9.8, abs=5e-2))
    fine = bundled.with_tail_tokens(1024)
    for rows, name, mean, most in ((fine.p, "entropy_p", 0.030, 0.40), (fine.q, "entropy_q", 0.074, 0.86)):
        error = np.abs(bundled.exact[name] - probs.entropy(np.asarray(rows)))
        assert (error.mean(), error.max()) == (pytest.approx(mean, abs=5e-4), pytest.approx(most, abs=5e-3))


@pytest.mark.parametrize(
    ("rule", "passes", "mass", "spread"),
    [(MinP(0.1), 0.264, 0.034, 0.0), (MinP(0.05), 0.336, 0.039, 0.0), (Eta(6e-4), 0.748, 0.055, 0.055)],
)
def test_the_tail_of_the_example_passes_for_a_token_until_it_is_spread(rule, passes, mass, spread, bundled):
    tail_passes = rule.allowed(np.asarray(bundled.p))[:, -1]
    assert tail_passes.mean() == pytest.approx(passes, abs=5e-4)
    assert (tail_passes * bundled.tail_mass[:, 1]).mean() == pytest.approx(mass, abs=5e-4)
    assert rule.allowed(np.asarray(bundled.with_tail_tokens(1024).p))[:, -1].mean() == pytest.approx(spread, abs=5e-4)


def test_a_spread_tail_makes_every_min_p_set_of_the_example_right(bundled):
    fine = bundled.with_tail_tokens(1024)
    listed = np.asarray(fine.p)[:, :-1024]
    right = listed >= 0.05 * listed.max(axis=-1, keepdims=True)
    allowed = MinP(0.05).allowed(np.asarray(fine.p))
    np.testing.assert_array_equal(allowed[:, :-1024], right)
    assert not allowed[:, -1024:].any()
    listed, coarse, q = (np.asarray(rows) for rows in (bundled.p[:][:, :-1], bundled.p, bundled.q))
    lost = (listed >= 0.1 * listed.max(axis=-1, keepdims=True)) & ~MinP(0.1).allowed(coarse)[:, :-1]
    lost_mass = (q[:, :-1] * lost).sum(axis=-1)
    assert (lost_mass.mean(), lost_mass.max()) == (pytest.approx(0.014, abs=5e-4), pytest.approx(0.55, abs=5e-3))
    assert (coarse.argmax(axis=-1) == coarse.shape[1] - 1).mean() == pytest.approx(0.074, abs=5e-4)
