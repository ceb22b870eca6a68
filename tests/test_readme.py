"""The README runs as written, and says what the package says."""

import contextlib
import io
import re
from pathlib import Path

from tests import commands
from theory.cli.program import COMMANDS
from theory.verifiers import RULES

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def run(block):
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "README.md", "exec"), {"__name__": "readme"})
    return printed.getvalue()


def test_the_example_prints_what_its_comments_say():
    printed = run(BLOCKS[0])
    for said in re.findall(r"print\(.*\)\s+# (.*)", BLOCKS[0]):
        assert said in printed
    assert "spec-cascade:0.5" in printed


def test_a_verifier_of_ones_own_goes_everywhere(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    place = next(place for place, block in enumerate(BLOCKS) if "class Mine" in block)
    Path("mine.py").write_text(BLOCKS[place])
    for line in re.findall(r"^theory (.*mine.py.*)$", README, re.MULTILINE):
        code, out, err = commands.run(capsys, *line.split())
        assert (code, err) == (0, ""), line
        assert "mine.py:Mine" in out
    printed = run(BLOCKS[place] + BLOCKS[place + 1])
    assert "one by one" in printed, "the curve"
    assert "searched" in printed, "the worst case"
    assert "does not induce the target" in printed
    assert "def test_" in printed, "a test to paste"


def test_every_command_exists():
    for command in re.findall(r"`theory (\w+)", README):
        assert command in COMMANDS
    commands = re.findall(r"```sh\n(.*?)\n```", README, re.DOTALL)
    assert commands[0].endswith("theory compare")
    assert commands[1].endswith("pytest")


def test_the_table_has_every_rule_in_the_row_of_its_family():
    rows = dict(re.findall(r"^\| ([a-z ]+) \|.*\| (`.*`) \|$", README, re.MULTILINE))
    named = [(family, name) for family, rules in rows.items() for name in re.findall(r"`([^`]+)`", rules)]
    assert sorted(named) == sorted((rule.family, name) for name, rule in RULES.items())


def test_it_is_short():
    assert len(README.splitlines()) <= 150


def test_its_files_exist():
    for path in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / path).exists(), path
