"""What the console is: its width, and no markup."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios

import pytest

from tests.commands import headings, run
from theory import traces
from theory.cli import compare


@pytest.mark.parametrize("width", [30, 50, 80, 100, 122, 140, None])
@pytest.mark.parametrize("command", ["compare", "blocks"])
def test_tables_fit_their_console_and_say_what_they_leave_out(command, width, capsys, monkeypatch):
    if width:
        monkeypatch.setenv("COLUMNS", str(width))
    code, out, err = run(capsys, command)
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= (width or 140)
    assert "…" not in out
    flat = " ".join(out.split())
    whole = width in (None, 122, 140)
    assert ("columns fit here" in flat) != whole
    if command == "blocks":
        assert ("P(0)" in headings(out)) == whole
        assert "E[τ]" in headings(out)
        assert width in (30, 50) or {"E[τ]", "speed-up", "best", "how"} <= set(headings(out))
        return
    assert {"gap", "mass", "position"} <= set(headings(out)) if whole else not {"gap", "mass"} & set(headings(out))
    assert "accept" in headings(out)
    if width in (80, 100):
        assert headings(out).count("TV") == 2
        assert {"verifier", "accept", "baseline", "KL", "mean"} <= set(headings(out))
        assert "5 of 9 columns fit here; a terminal 122 columns wide, or --csv, shows the rest." in flat
    if whole or width >= 80:
        for name in compare.PAPER_SET:
            assert name in out


@pytest.mark.parametrize("columns", ["0", "wide", "", "-5"])
def test_a_width_that_is_none_is_not_honoured(columns, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", columns)
    _, out, _ = run(capsys, "compare", "--synthetic", "paper:A")
    assert "gap" in headings(out)


@pytest.mark.parametrize("width", [80, 130])
def test_a_terminal_has_its_own_width(width):
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    command = [sys.executable, "-m", "theory", "compare", "--synthetic", "paper:A", "--verifier", "strict"]
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "LINES")}
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, env={**environment, "TERM": "vt100"}) as process:
        os.close(slave)
        out = b""
        try:
            while part := os.read(master, 1 << 16):
                out += part
        except OSError:  # the other end is closed
            pass
        assert process.wait() == 0
    os.close(master)
    text = re.sub(r"\x1b\[[\d;]*m", "", out.decode())
    assert ("columns fit here" in text) == (width == 80)
    assert max(len(line.rstrip("\r")) for line in text.split("\n")) <= width


MARKUP = ("org/model [/inst]", "[bold]x[/bold]", ":a: :smile:", "[link=x]", "model[0]", "\\[x]")


@pytest.mark.parametrize("text", MARKUP)
def test_names_of_models_print_literally(text, capsys, tmp_path):
    path = tmp_path / "my trace.safetensors"
    traces.write(traces.Trace.from_rows([[0.5, 0.5]], [[0.25, 0.75]], target=text, draft=text), path)
    for command in ("compare", "blocks"):
        code, out, err = run(capsys, command, path, "--verifier", "strict")
        assert (code, err) == (0, "")
        assert f"target {text} and draft {text}" in out


@pytest.mark.parametrize("text", [text.replace("/", "-") for text in MARKUP])
def test_names_of_files_print_literally_and_in_one_line(text, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "10")
    few = ["--synthetic", "paper:A", "--verifier", "strict"]
    for command in (["compare", *few], ["blocks", *few], ["show", "strict"]):
        _, out, _ = run(capsys, *command, "--plot", f"{text}.png")
        assert f"wrote {text}.png" in out.splitlines()
    _, out, _ = run(capsys, "compare", *few, "--csv", f"{text}.csv")
    assert f"wrote {text}.csv" in out.splitlines()
    code, _, err = run(capsys, "compare", text)
    assert (code, err) == (2, f"theory: {text}: No such file or directory\n")


def test_names_of_synthetic_rows_print_literally(capsys):
    for name in ("paper:A", "paper:B", "paper:C", "zipf:5"):
        _, out, _ = run(capsys, "compare", "--synthetic", name, "--verifier", "strict")
        assert out.startswith(f"{name}: 1 pair of rows over ")
    _, out, _ = run(capsys, "compare", "--synthetic", "zipf:5,count=3", "--verifier", "strict")
    assert out.startswith("zipf:5,count=3: 3 pairs of rows over 5 tokens")
