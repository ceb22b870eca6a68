"""`theory figures`: other inputs from the command line, what is refused, and which files are left alone."""

import re
from textwrap import dedent

import pandas as pd
import pytest

from tests.commands import run
from theory import paper
from theory.cli import figures
from theory.paper import fig2, fig7, knobs, write
from theory.verifiers import Strict

MINE = dedent(
    """
    from dataclasses import dataclass

    import theory


    @dataclass(frozen=True)
    class Mine(theory.TokenVerifier):
        share: float = 0.5

        def acceptance(self, p, q):
            return theory.CoS(self.share).acceptance(p, q)

        def residual(self, p, q):
            return theory.CoS(self.share).residual(p, q)
    """
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


def test_a_figure_with_other_inputs(capsys, folder):
    arguments = ("--set", "gamma=5", "--set", "rules=strict,lenience:0.4,mine.py:Mine:0.3", "--set", "benchmarks=MATH")
    code, out, err = run(capsys, "figures", "fig3", *arguments, "--out", "own")
    assert (code, err) == (0, "")
    assert "gamma = 5" in out
    table = pd.read_csv(folder / "own" / "fig3.csv")
    assert set(table["method"]) == {"strict", "lenience", "mine.py:Mine:share"}
    assert set(table["benchmark"]) == {"MATH", "SmolLM2"}
    assert sorted(path.name for path in (folder / "own").iterdir()) == ["fig3.csv", "fig3.pdf", "fig3.png"]


def test_the_command_and_the_function_give_one_table(capsys, folder):
    assert run(capsys, "figures", "fig2", "--set", "rules=cos:0.5", "--set", "rules=strict", "--out", "own")[0] == 0
    written = pd.read_csv(folder / "own" / "fig2.csv")
    computed = fig2.compute(rules=["cos:0.5", Strict()])
    pd.testing.assert_frame_equal(written, computed, check_dtype=False, rtol=1e-5, atol=1e-9)


def test_a_knob_goes_to_the_figures_that_have_it(capsys, folder, monkeypatch):
    given = {}
    monkeypatch.setattr(write, "write", lambda name, out, quick, inputs: given.setdefault(name, inputs) and None)
    monkeypatch.setattr(fig2, "headline", lambda table: "")
    monkeypatch.setattr(fig7, "headline", lambda table: "")
    code, _, err = run(capsys, "figures", "fig2", "fig7", "--set", "gamma=4", "--set", "rules=strict", "--out", "own")
    assert (code, err) == (0, "")
    assert given == {"fig2": {"rules": [Strict()]}, "fig7": {"gamma": 4, "rules": [Strict()]}}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "gama=5", "--out", "own"], r"--set gama: no figure named here has that knob; fig2 has rows \(zipf:15,.*\), "),
        (["--set", "gamma=5", "--out", "own"], r"--set gamma: .*; fig2 has rows .*, position \(0\), rules \(cos:0\.5, .*\)"),
        (["--set", "position", "--out", "own"], r"--set position: write KNOB=VALUE, such as gamma=5$"),
        (["--set", "=5", "--out", "own"], r"--set =5: write KNOB=VALUE"),
        (["--set", "position=x", "--out", "own"], r"--set position=x: position takes a whole number$"),
        (["--set", "position=0", "--set", "position=1", "--out", "own"], r"--set position: is set 2 times"),
        (["--set", "rules=lenient:0.4", "--out", "own"], r"--set rules=lenient:0\.4: no verifier is called 'lenient'; there are"),
        (["--set", "lenience=4", "--out", "own"], r"lenience = 4\.0: must be a number in \(0, 1\]$"),
        (["--set", "position=1", "--out", "own"], r"position = 1: must be a whole number in \[0, 0\]"),
        (["--set", "lenience=0.4"], r"--set: give --out a folder; figures has the figures with the paper's inputs$"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_what_is_refused_is_one_line_and_writes_nothing(arguments, message, capsys, folder):
    code, out, err = run(capsys, "figures", "fig2", *arguments)
    assert (code, out.strip()) == (2, "")
    assert re.match(rf"theory: {message}", err.removesuffix("\n")), err
    assert err.count("\n") == 1
    assert not list(folder.glob("**/*.csv"))


def test_other_inputs_need_a_folder_and_the_page_is_left_alone(capsys, folder, monkeypatch):
    """Even where the folder of the stored figures is named, and all figures are made."""
    monkeypatch.setattr(paper, "ITEMS", ("fig2",))
    monkeypatch.setattr(write, "page", lambda tables: "written\n")
    stored = folder / figures.FOLDER
    stored.mkdir()
    (stored / "README.md").write_text("as it was\n")
    assert run(capsys, "figures", "--set", "lenience=0.4")[0] == 2
    assert [path.name for path in stored.iterdir()] == ["README.md"]
    assert run(capsys, "figures", "--set", "lenience=0.4", "--out", figures.FOLDER)[0] == 0
    assert (stored / "README.md").read_text() == "as it was\n"
    assert (stored / "fig2.png").exists()
    (stored / "README.md").unlink()
    assert run(capsys, "figures", "--set", "lenience=0.4", "--out", figures.FOLDER)[0] == 0
    assert not (stored / "README.md").exists()
    assert run(capsys, "figures")[0] == 0  # the negative control: with the paper's inputs the page is written
    assert "written" in (stored / "README.md").read_text()


def test_the_list_shows_every_knob_with_its_default(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "400")
    code, out, err = run(capsys, "figures", "--list")
    assert (code, err) == (0, "")
    for name in paper.ITEMS:
        section = out.partition("Knobs, for --set")[2]
        for knob in knobs.of(paper.item(name).compute).values():
            assert re.search(
                rf"│ {knob.name} +│ {re.escape(knobs.write(knob.default)) if knob.default is not None else ''} *│", section
            )
            assert knob.about in section
