"""Files of traces: they give back what was written, damage is named in one line, slices touch their own rows only."""

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

from tests.traces_made import LAYOUTS, make, poke, quick, refusal, rewrite, saved, truncate
from theory import probs, traces
from theory.traces import Trace, TraceError

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
