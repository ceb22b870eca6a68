"""The command line as its users run it: every example of its help, every kind of bad input."""

import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import theory
from theory import cli, traces


def run(capsys, *arguments):
    """Run the command in this process; give its exit code, output and error output."""
    with pytest.raises(SystemExit) as left:
        cli.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return left.value.code, out, err


@pytest.fixture
def trace_file(tmp_path):
    p = np.array([[0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25]])
    q = np.array([[0.2, 0.25, 0.25, 0.3], [0.25, 0.25, 0.25, 0.25]])
    path = tmp_path / "my-trace.safetensors"
    traces.write(traces.Trace.from_rows(p, q, target="large", draft="small"), path)
    return path


@pytest.mark.parametrize("command", cli.EXAMPLES)
def test_every_example_of_the_help_runs(command, capsys, trace_file, monkeypatch):
    monkeypatch.chdir(trace_file.parent)
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    for line in cli.EXAMPLES[command].strip().splitlines():
        words = line.split()
        assert words[:2] == ["theory", command]
        assert " ".join(words[-2:]) in " ".join(re.sub(r"[│\n]", " ", out).split())
        code, printed, err = run(capsys, *words[1:])
        assert (code, err) == (0, "")
        assert printed
    if command == "compare":
        assert len(pd.read_csv("table.csv")) == len(cli.PAPER_SET)
        assert (trace_file.parent / "tradeoff.png").stat().st_size > 10_000


def test_compare_runs_the_papers_set_on_the_bundled_trace_by_default(capsys):
    code, out, _ = run(capsys, "compare")
    assert code == 0
    for name in cli.PAPER_SET:
        assert name in out
    assert "512 positions" in out
    assert "0.6139" in out


def test_compare_prints_the_numbers_of_the_library(capsys, trace_file):
    code, out, _ = run(capsys, "compare", trace_file, "--verifier", "lenience:0.5", "--gamma", "2")
    assert code == 0
    trace = traces.read(trace_file)
    row = theory.compare([theory.Lenience(0.5)], trace.p, trace.q, gamma=2).iloc[0]
    cells = re.search(r"lenience:0\.5 (.*)", out).group(1).replace("│", " ").split()
    assert cells[:2] == [f"{row['acceptance_rate']:.4f}", f"{row['total_variation']:.4f}"]
    assert cells[2] == "-"
    assert cells[-2:] == [f"{row['block_efficiency_mean_rate']:.2f}", f"{row['block_efficiency_per_position']:.2f}"]


def test_show_is_exact_on_fractions_and_decimal_otherwise(capsys):
    _, out, _ = run(capsys, "show", "lenience:2/5")
    assert "13/50" in out
    assert "acceptance rate: 19/20" in out
    _, out, _ = run(capsys, "show", "cos:0.5", "--p", "0.5,0.5", "--q", "0.25,0.75")
    assert "0.375" in out
    assert "total variation: 0.125" in out


def test_list_names_every_rule(capsys):
    code, out, _ = run(capsys, "list")
    flat = re.sub(r"[│\s]", "", out)
    assert code == 0
    for rule in theory.verifiers.RULES.values():
        assert rule.name in flat
        assert re.sub(r"\s", "", rule.source)[:10] in flat
    for name in theory.truncation.TRUNCATIONS:
        assert name in flat


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare", "--verifier", "lenient:0.4"], "no verifier is called 'lenient'; there are:"),
        (["compare", "--verifier", "lenience:4"], "lenience = 4: must be a number in (0, 1]"),
        (["compare", "--gamma", "0"], "gamma = 0"),
        (["compare", "--tail-tokens", "0"], "must be"),
        (["compare", "missing.safetensors"], "missing.safetensors"),
        (["compare", "."], "directory"),
        (["compare", "empty"], "empty"),
        (["compare", "pickled"], "pickled"),
        (["compare", "--synthetic", "zipff:10"], "zipff"),
        (["compare", "x", "--synthetic", "paper:A"], "give a trace or --synthetic, not both"),
        (["compare", "--synthetic", "paper:A", "--csv", "no/such/folder.csv"], "no/such"),
        (["compare", "--synthetic", "paper:A", "--plot", "picture.docx"], "docx"),
        (["show", "strict", "--p", "0.5,0.6", "--q", "0.5,0.5"], "p sums to 1.1"),
        (["show", "strict", "--p", "0.5;0.5"], "--p 0.5;0.5: a row is numbers separated by commas"),
        (["show", "strict", "--p", "1", "--q", "0.5,0.5"], "p has 1 tokens and q has 2"),
        (["show", "contrastive-cos:0.5"], "on Fractions"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_bad_input_is_one_line_and_exit_code_2(arguments, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").touch()
    (tmp_path / "pickled").write_bytes(b"\x80\x04\x95\x0b\x00\x00\x00\x00\x00\x00\x00")
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert err.startswith("theory: ")
    assert err.count("\n") == 1
    assert message in err


def test_the_console_script_is_installed():
    printed = subprocess.run([sys.executable, "-m", "theory", "list"], capture_output=True, text=True, check=True).stdout
    assert "lenience" in printed
