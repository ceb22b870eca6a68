"""The command ``theory explain``: what it prints, draws, writes and refuses."""

import numpy as np
import pandas as pd
import pytest

import theory
from tests.commands import run
from tests.test_failure_positions import four_positions
from tests.test_failure_texts import tokenizer
from theory import failure, traces


@pytest.fixture
def trace_file(tmp_path, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    path = tmp_path / "my.safetensors"
    four_positions().write(path)
    return path


def test_the_command_prints_draws_and_writes_the_explanation(capsys, trace_file, tmp_path):
    vocabulary = tokenizer(tmp_path, {"no": 0, "yes": 1})
    files = tmp_path / "out.csv", tmp_path / "out.png"
    options = ["--trace", trace_file, "--tokenizer", vocabulary, "--share", 1, "--csv", files[0], "--plot", files[1]]
    code, out, err = run(capsys, "explain", "cos:0.5", *options, "--worst", 2)
    assert (code, err) == (0, "")
    found = failure.explain_positions(theory.CoS(0.5), traces.read(trace_file), worst=2, share=1, texts=["no", "yes"])
    for one in found:
        assert str(one).split("\n")[1] in out
    assert out.count("'yes'") >= 4
    written = pd.read_csv(files[0])
    assert list(written["position"]) == [1, 1, 2, 2]
    np.testing.assert_allclose(written["change"], pd.concat([one.tokens for one in found])["change"])
    assert files[1].stat().st_size > 10_000
    assert out.splitlines()[-2:] == [f"wrote {files[0]}", f"wrote {files[1]}"]
    code, out, _ = run(capsys, "explain", "cos:0.5", "--trace", trace_file, "--position", 3)
    assert code == 0
    assert "cos:0.5 at position 3 (prompt 1, after 1 token, the text has 0)" in out


def test_the_command_is_exact_on_fractions_and_shows_the_tail(capsys):
    _, out, _ = run(capsys, "explain", "lenience:1/2", "--p", "4/10,3/10,2/10,1/10", "--q", "1/5,1/4,1/4,3/10")
    assert "accepts 9/10, TV to the target 3/20" in out
    assert "11/15" in out
    code, out, _ = run(capsys, "explain", "spec-cascade:0.3", "--position", "332")
    assert code == 0
    assert "(tail)" in out


@pytest.mark.parametrize("width", [40, 60, 80, 100, 140])
def test_the_tables_fit_the_console(width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, _ = run(capsys, "explain", "spec-cascade:0.3")
    assert code == 0
    assert max(map(len, out.splitlines())) <= width
    assert ("Not shown in so narrow a console" in " ".join(out.split())) == (width < 100)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--p", "1"], "give --p and --q, both and without a trace"),
        (["--p", "1", "--q", "1", "--worst", "2"], "without a trace (--worst)"),
        (["--position", "1", "--worst", "2"], "give --position, or --worst and --by, not both"),
        (["--position", "-1"], "--position = -1"),
        (["--worst", "0"], "--worst = 0"),
        (["--by", "speed"], "by = 'speed': must be one of"),
        (["--share", "0"], "--share = 0.0: must be a number in (0, 1]"),
        (["--ceiling", "0.5"], "--ceiling = 0.5: must be a number in [1, inf]"),
        (["--tokens", "0"], "--tokens = 0"),
        (["--tail-tokens", "0"], "--tail-tokens = 0"),
        (["--csv", "."], "--csv .: is a directory"),
        (["--plot", "picture.docx"], "no image has the suffix .docx"),
        (["--tokenizer", "missing.json"], "missing.json: No such file"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_options_are_refused_before_the_trace_is_read(options, message, capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(traces, "example", lambda: pytest.fail("the trace was read"))
    code, out, err = run(capsys, "explain", "strict", *options)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err


def test_infeasible_positions_are_one_line(capsys, trace_file):
    for option, said in (
        (("--position", 4), "position = 4: "),
        (("--worst", 5), "worst = 5: "),
        (("--tail-tokens", 3), "are whole"),
    ):
        code, _, err = run(capsys, "explain", "strict", "--trace", trace_file, *option)
        assert (code, err.count("\n")) == (2, 1)
        assert said in err
