"""Traces that commands read: their tails, and every kind of damage."""

import numpy as np
import pytest

from tests.commands import run
from tests.traces_made import make, poke, rewrite, saved
from theory import traces
from theory.cli import inputs


@pytest.mark.parametrize("command", ["compare", "blocks"])
def test_the_tail_is_spread_over_as_many_tokens_as_there_are(command, capsys, tmp_path):
    trace = make("truncated")
    path, most = saved(trace, tmp_path), 40 - trace.p.longest
    assert 1 < most < inputs.TAIL_TOKENS
    code, out, _ = run(capsys, command, path, "--verifier", "strict")
    assert code == 0
    assert f"is {most} equal tokens" in " ".join(out.split())
    _, out, _ = run(capsys, command, path, "--verifier", "strict", "--tail-tokens", "2")
    assert "is 2 equal tokens" in " ".join(out.split())
    code, _, err = run(capsys, command, path, "--verifier", "strict", "--tail-tokens", most + 1)
    assert (code, err.count("\n")) == (2, 1)
    assert f"tail_tokens = {most + 1}: the longest row leaves out {most} tokens" in err


def test_rows_that_leave_nothing_out_have_a_tail_of_one_token(capsys, tmp_path):
    path = tmp_path / "trace.safetensors"
    about = {"offsets": [0, 2], "ids": [0, 1], "tail_mass": [[0.0, 0.0]], "vocabulary": 2}
    traces.write(traces.Trace.from_logs(np.log([0.5, 0.5]), np.log([0.25, 0.75]), **about), path)
    code, out, _ = run(capsys, "compare", path, "--verifier", "strict")
    assert code == 0
    assert "is one token" in " ".join(out.split())


def test_the_bundled_trace_has_a_tail_of_1024_tokens(capsys):
    _, out, _ = run(capsys, "compare", "--verifier", "strict")
    assert "is 1024 equal tokens" in " ".join(out.split())


@pytest.mark.parametrize("command", ["compare", "blocks"])
def test_rows_without_a_tail_refuse_tail_tokens(command, capsys, trace_file):
    for rows, said in (([trace_file], "are whole, and have no tail"), (["--synthetic", "paper:A"], "synthetic rows are whole")):
        code, _, err = run(capsys, command, *rows, "--tail-tokens", "1")
        assert (code, err.count("\n")) == (2, 1)
        assert err.startswith("theory: --tail-tokens 1: ")
        assert said in err


def cut(path):
    path.write_bytes(path.read_bytes()[:-9])


BAD_TRACES = {
    "NaN": ("probabilities", lambda path: poke(path, "p", 3 * 40 + 7, np.nan), "p[3, 7] = nan"),
    "negative": ("float32", lambda path: poke(path, "q", 11 * 40, -0.25), "q[11, 0] = -0.25"),
    "infinite": ("probabilities", lambda path: poke(path, "p", 0, np.inf), "p[0] sums to inf"),
    "sum": ("probabilities", lambda path: poke(path, "p", 5 * 40, 2.0), "p[5] sums to "),
    "NaN logarithm": ("logarithms", lambda path: poke(path, "logp", 3 * 40 + 7, np.nan), "logp[3, 7] = nan"),
    "positive logarithm": ("truncated", lambda path: poke(path, "logq", 0, 0.5), "logq[0][0] = 0.5"),
    "mass of logarithms": ("logarithms", lambda path: poke(path, "logq", 80, np.log(0.9)), "logq[2] has mass "),
    "tail": ("truncated", lambda path: poke(path, "tail_mass", 0, -0.125), "tail_mass[0, 0] = -0.125"),
    "token": ("truncated", lambda path: poke(path, "ids", 0, 40), "ids[0][0] = 40"),
    "offsets": ("truncated", lambda path: poke(path, "offsets", 4, -1), "offsets[4] = -1"),
    "dtype": ("probabilities", lambda path: rewrite(path, q=np.ones((12, 40), np.int64)), "q has dtype int64"),
    "shapes": ("probabilities", lambda path: rewrite(path, q=np.full((12, 39), 1 / 39)), "p has shape (12, 40) and q (12, 39)"),
    "axes": ("probabilities", lambda path: rewrite(path, p=np.full(40, 1 / 40)), "p has shape (40,)"),
    "missing array": ("truncated", lambda path: rewrite(path, tail_mass=None), "has the arrays ids, logp, logq, offsets"),
    "unknown array": ("truncated", lambda path: rewrite(path, speed=np.ones(12)), "array 'speed'"),
    "lines in a name": ("truncated", lambda path: rewrite(path, **{"two\nlines": np.ones(12)}), "array 'two\\nlines'"),
    "metadata": ("truncated", lambda path: rewrite(path, {"vocabulary": "many"}), "metadata has vocabulary 'many'"),
    "truncated file": ("truncated", cut, "is damaged or truncated"),
    "header only": ("truncated", lambda path: path.write_bytes(path.read_bytes()[:20]), "is not a safetensors file, or is"),
    "text": ("truncated", lambda path: path.write_text("p,q\n0.5,0.5\n"), "is not a safetensors file"),
    "empty": ("truncated", lambda path: path.write_bytes(b""), "is empty"),
}


@pytest.mark.parametrize("command", ["compare", "blocks"])
@pytest.mark.parametrize("kind", BAD_TRACES)
def test_a_bad_trace_is_one_line_and_exit_code_2(kind, command, capsys, tmp_path):
    layout, spoil, damage = BAD_TRACES[kind]
    path = saved(make(layout), tmp_path)
    spoil(path)
    code, out, err = run(capsys, command, path)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert err.startswith(f"theory: {path}: {damage}")
