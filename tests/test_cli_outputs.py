"""Files that commands write: their names, that days do not matter, and paths refused before any work."""

import pytest

from tests.commands import run
from theory import traces


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


def test_show_refuses_a_wrong_figure_before_it_works(capsys):
    code, out, err = run(capsys, "show", "strict", "--plot", "figure.docx")
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "no image has the suffix .docx" in err
