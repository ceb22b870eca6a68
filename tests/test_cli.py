"""The command line as its users run it: every example of its help, every kind of bad input."""

import importlib
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

import theory
from tests.commands import run
from theory import cli, synthetic
from theory.cli.compare import PAPER_SET
from theory.cli.program import COMMANDS

MINE = Path(__file__).parent / "data/mine.py"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_example_of_the_help_runs(command, capsys, trace_file, monkeypatch):
    monkeypatch.chdir(trace_file.parent)
    shutil.copy(MINE, trace_file.parent)
    code, out, _ = run(capsys, command, "--help")
    assert code == 0
    for line in COMMANDS[command].EXAMPLES.strip().splitlines():
        words = line.split()
        assert words[:2] == ["theory", command]
        assert " ".join(words[-2:]) in " ".join(re.sub(r"[│\n]", " ", out).split())
        code, printed, err = run(capsys, *words[1:])
        assert (code, err) == (0, "")
        assert printed
    if command == "compare":
        assert len(pd.read_csv("table.csv")) == len(PAPER_SET)
        assert (trace_file.parent / "tradeoff.png").stat().st_size > 10_000


def test_every_file_of_a_command_is_in_the_help():
    files = [importlib.import_module(f"theory.cli.{one.name}") for one in pkgutil.iter_modules(cli.__path__)]
    assert {file for file in files if hasattr(file, "run")} == set(COMMANDS.values())


def test_version(capsys):
    assert run(capsys, "--version") == (0, f"theory {theory.__version__}\n", "")


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
        (["show", "contrastive-cos:0.5", "--p", "1/2,1/2", "--q", "1/4,3/4"], "on Fractions"),
        (["show", "strict", "--p", "1e999,0", "--q", "1,0"], "p sums to inf"),
        (["show", "strict", "--p", "nan,0", "--q", "1,0"], "p[0] = nan"),
        (["show", "hybrid-ceiling:,,0.5,,0.4"], "an argument is empty"),
        (["compare", "--synthetic", f"zipf:{10**17}"], "Unable to allocate"),
        (["blocks", "--synthetic", f"zipf:{10**17}"], "Unable to allocate"),
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


@pytest.mark.parametrize(
    "error", [MemoryError(), MemoryError("too\nlarge"), OverflowError("too large"), ValueError("two\nlines")]
)
def test_what_does_not_fit_is_one_line_and_exit_code_2(error, capsys, monkeypatch):
    def fail(name):
        raise error

    monkeypatch.setattr(synthetic, "parse", fail)
    code, _, err = run(capsys, "compare", "--synthetic", "paper:A")
    assert (code, err) == (2, f"theory: {' '.join(str(error).split()) or 'out of memory'}\n")


def test_the_console_script_is_installed():
    printed = subprocess.run([sys.executable, "-m", "theory", "list"], capture_output=True, text=True, check=True).stdout
    assert "lenience" in printed
