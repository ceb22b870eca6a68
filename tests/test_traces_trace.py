"""Making a trace of rows that one has, what its rows are, and its tail."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.traces_made import LAYOUTS, make, quick, saved
from theory import divergences, probs, traces
from theory.traces import Trace, TraceError
from theory.verifiers import Strict


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
