"""The command line as its users run it: every example of its help, every kind of bad input."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import theory
from tests.test_traces import make, poke, rewrite, saved
from theory import compare_blocks, synthetic, traces
from theory.cli import program as cli


def run(capsys, *arguments):
    """Run the command in this process; give its exit code, output and error output."""
    with pytest.raises(SystemExit) as left:
        cli.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return left.value.code, out, err


def cells(out, name):
    """Give the numbers that a table prints beside a name."""
    (line,) = (line for line in out.splitlines() if re.match(rf"[│ ]*{re.escape(name)} +│", line))
    return re.sub(r"^[│ ]*\S+", "", line).replace("│", " ").split()


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
    printed = cells(out, "lenience:0.5")
    assert printed[:2] == [f"{row['acceptance_rate']:.4f}", f"{row['total_variation']:.4f}"]
    assert printed[2] == "-"
    assert printed[-2:] == [f"{row['block_efficiency_mean_rate']:.2f}", f"{row['block_efficiency_per_position']:.2f}"]


def test_every_printed_number_of_compare_is_the_librarys_however_small(capsys):
    names = ("cos:0.9", "cos:0.999", "lenience:0.99", "lenience:0.2", "contrastive-cos:0.01", "spec-cascade:0.9", "strict")
    rows = "dirichlet:30,0.2,count=8,seed=1"
    code, out, _ = run(capsys, "compare", "--synthetic", rows, *(word for name in names for word in ("--verifier", name)))
    assert code == 0
    table = theory.compare([theory.parse(name) for name in names], *synthetic.parse(rows)).set_index("verifier")
    small = 0
    for name in names:
        for text, column in zip(cells(out, name), cli.COLUMNS, strict=True):
            value = table.loc[name, column]
            if np.isnan(value):
                assert text == "-"
                continue
            error = 5.1e-3 * value if column == "max_overshoot" else 5.1e-3 if "efficiency" in column else 5.1e-5
            assert abs(float(text) - value) <= error, (name, column)
            small += 1e-4 < value < 0.05 and float(text) > 0
    assert small >= 8


@pytest.mark.parametrize("value", [0.0, 1e-4, 3e-4, 0.0123, 0.0499, 0.05, 0.5, 1.0])
def test_a_cell_is_the_number_rounded_and_never_minus_0(value):
    assert float(cli._cell(value, "{:.4f}")) == round(value, 4)
    assert cli._cell(-1e-17, "{:.4f}") == "0.0000"
    assert cli._cell(np.nan, "{:.4f}") == "-"
    assert cli._cell(-2e-4, "{:.4f}") == "-0.0002"


def test_every_printed_number_of_blocks_is_the_librarys(capsys):
    names = ("block", "strict", "cos:0.5")
    options = [word for name in names for word in ("--verifier", name)]
    _, out, _ = run(capsys, "blocks", "--synthetic", "dirichlet:5,0.6", "--gamma", "3", "--cost", "0.1", *options)
    rules, pair = [theory.blocks.parse(name) for name in names], synthetic.parse("dirichlet:5,0.6")
    laws = compare_blocks.length_laws(rules, *pair, 3)
    gains = compare_blocks.efficiencies(rules, *pair, range(1, 11), 0.1)
    for name, rule in zip(names, rules, strict=True):
        printed = cells(out, name)
        law = laws.loc[laws["rule"] == str(rule), "probability"]
        np.testing.assert_allclose([float(text) for text in printed[:4]], law, rtol=0, atol=5.1e-4)
        own = gains[gains["rule"] == str(rule)].set_index("gamma")
        np.testing.assert_allclose(float(printed[4]), own.loc[3, "accepted_length"], rtol=0, atol=5.1e-5)
        np.testing.assert_allclose(float(printed[5]), own.loc[3, "block_efficiency"], rtol=0, atol=5.1e-5)
        np.testing.assert_allclose(float(printed[6]), own.loc[3, "speedup"], rtol=0, atol=5.1e-4)
        assert int(printed[7]) == own["speedup"].idxmax()


# --- what the console is: its width, and no markup ------------------------------------------------------------------


def headings(out):
    """Give the words of a table's heading."""
    lines = out.splitlines()
    (end,) = (number for number, line in enumerate(lines) if re.match("[┡━╇┩]+$", line))
    start = max(number for number, line in enumerate(lines[:end]) if "┃" not in line) + 1
    return " ".join(lines[start:end]).replace("┃", " ").split()


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
        for name in cli.PAPER_SET:
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


def test_version(capsys):
    assert run(capsys, "--version") == (0, f"theory {theory.__version__}\n", "")


# --- traces ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", ["compare", "blocks"])
def test_the_tail_is_spread_over_as_many_tokens_as_there_are(command, capsys, tmp_path):
    trace = make("truncated")
    path, most = saved(trace, tmp_path), 40 - trace.p.longest
    assert 1 < most < cli.TAIL_TOKENS
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


# --- figures --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["out", "out.", "v1.0/out", "out.PNG", "out.svg"])
@pytest.mark.parametrize(
    "command",
    [[name, "--synthetic", "paper:A", "--verifier", "strict"] for name in ("compare", "blocks")] + [["show", "strict"]],
    ids=lambda command: command[0],
)
def test_the_name_of_the_figure_is_that_of_the_file(command, name, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "v1.0").mkdir()
    code, out, _ = run(capsys, *command, "--plot", name)
    assert code == 0
    (written,) = (path for path in tmp_path.rglob("*") if path.is_file())
    said = str(written.relative_to(tmp_path))
    assert said == {"out": "out.png", "out.": "out.png", "v1.0/out": "v1.0/out.png"}.get(name, name)
    assert out.splitlines()[-1] == f"wrote {said}"


def test_figures_do_not_depend_on_the_day(capsys, tmp_path, monkeypatch):
    for day in ("0", "1000000000"):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", day)
        assert run(capsys, "show", "strict", "--plot", tmp_path / f"{day}.pdf")[0] == 0
    assert (tmp_path / "0.pdf").read_bytes() == (tmp_path / "1000000000.pdf").read_bytes()


FIGURES = Path(__file__).parents[1] / "figures"


def test_every_figure_has_a_sentence_and_a_command():
    commands = re.findall(r"`(theory [^`]+)`", (FIGURES / "README.md").read_text())
    made_by_them = [Path(word).name for command in commands for word in command.split() if word.startswith("figures/")]
    items = [command.split()[2] for command in commands if re.fullmatch(r"theory figures \w+", command)]
    made_by_them += [f"{name}.{suffix}" for name in items for suffix in ("png", "pdf", "csv")]
    assert sorted(made_by_them) == sorted(path.name for path in FIGURES.iterdir() if path.name != "README.md")


@pytest.mark.parametrize("command", ["compare", "blocks", "atlas"])
def test_the_tables_of_the_figures_are_what_their_command_writes_now(command, capsys, tmp_path):
    name = {"compare": "tradeoff.csv"}.get(command, f"{command}.csv")
    assert run(capsys, command, "--csv", tmp_path / name)[0] == 0
    now, kept = (pd.read_csv(folder / name) for folder in (tmp_path, FIGURES))
    columns = [column for column in now if not column.endswith(("_low", "_high"))]
    pd.testing.assert_frame_equal(now[columns], kept[columns], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "factor"), [("lenience:0.4", 2.5), ("lenience:2/5", 2.5), ("overshoot-ceiling:1/2", 2), ("cos:0.5", None)]
)
def test_show_draws_the_ceiling(name, factor, capsys, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(cli, "_save", lambda axes, path, console: drawn.append(axes))
    assert run(capsys, "show", name, "--plot", tmp_path / "out.png")[0] == 0
    (axes,) = drawn
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert [label for label in labels if "ceiling" in label] == ([] if factor is None else [f"ceiling {factor:g} p"])
    if factor is not None:
        ceiling = next(patch for patch in axes.patches if patch.get_label().startswith("ceiling"))
        np.testing.assert_allclose(ceiling.get_data().values, factor * np.array([0.4, 0.3, 0.2, 0.1]))
    plt.close(axes.figure)


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


@pytest.mark.parametrize("command", ["compare", "blocks"])
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gamma", "0"], "gamma = 0"),
        (["--verifier", "lenience:4"], "lenience = 4"),
        (["--verifier", "lenient:0.4"], "'lenient'"),
        (["--tail-tokens", "0"], "--tail-tokens = 0: must be a whole number of at least 1"),
        (["--csv", "."], "--csv .: is a directory"),
        (["--csv", "no/such/table.csv"], "--csv no/such/table.csv: there is no folder no/such"),
        (["--csv", "table.png"], "--csv table.png: .png is the suffix of an image"),
        (["--plot", "folder"], "--plot folder: is a directory"),
        (["--plot", "figure"], "--plot figure.png: is a directory"),
        (["--plot", "no/such/figure.png"], "--plot no/such/figure.png: there is no folder no/such"),
        (["--plot", "figure.docx"], "--plot figure.docx: no image has the suffix .docx; there are: .png"),
        (["--plot", "table.csv"], "--plot table.csv: no image has the suffix .csv"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_wrong_options_are_refused_before_the_trace_is_read(options, message, command, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "figure.png").mkdir()
    monkeypatch.setattr(traces, "read", lambda path: pytest.fail("the trace was read"))
    monkeypatch.setattr(traces, "example", lambda: pytest.fail("the trace was read"))
    for rows in ([], ["my.safetensors"]):
        code, out, err = run(capsys, command, *rows, *options)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert message in err
    assert sorted(path.name for path in tmp_path.iterdir()) == ["figure.png", "folder"]


def test_a_wrong_cost_is_refused_before_the_trace_is_read(capsys, monkeypatch):
    monkeypatch.setattr(traces, "example", lambda: pytest.fail("the trace was read"))
    code, _, err = run(capsys, "blocks", "--cost", "-1")
    assert (code, err) == (2, "theory: cost = -1.0: must be a number in [0, inf)\n")


def test_show_refuses_a_wrong_figure_before_it_works(capsys):
    code, out, err = run(capsys, "show", "strict", "--plot", "figure.docx")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "no image has the suffix .docx" in err


def test_the_console_script_is_installed():
    printed = subprocess.run([sys.executable, "-m", "theory", "list"], capture_output=True, text=True, check=True).stdout
    assert "lenience" in printed


@pytest.mark.parametrize("width", [80, 119, 120, 140])
def test_worst_has_whole_words_and_numbers_at_any_width(width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, _ = run(capsys, "worst", "fuzzy-acceptance:0.1", "--vocabulary", "4")
    assert code == 0
    lines = out.splitlines()
    assert max(map(len, lines)) <= width
    for words in ("total variation", "mass off support", "0.439589", "0.260332", "attained"):
        assert any(words in line for line in lines), words
    assert any(re.search(r"0\.7198.*0\.2802, 0", line) for line in lines)


def test_worst_of_many_tokens_is_derived_and_not_searched(capsys):
    code, out, _ = run(capsys, "worst", "cactus:1/10", "--vocabulary", "5000")
    assert code == 0
    assert "Not searched numerically beyond 12 tokens." in " ".join(out.split())
    assert "0.999002" in out
    for options, message in (
        (["--vocabulary", "10001"], "--vocabulary 10001: must be at most 10000"),
        (["--seed", "-1"], "--seed = -1"),
    ):
        code, _, err = run(capsys, "worst", "cos:0.5", *options)
        assert code == 2
        assert err.startswith(f"theory: {message}")
        assert err.count("\n") == 1
