"""The README runs as written, and says what the package says."""

import contextlib
import io
import re
from pathlib import Path

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


def test_the_verifier_of_ones_own_is_falsified():
    (block,) = (block for block in BLOCKS if "class Mine" in block)
    assert "Mine() does not induce the target." in run(block)


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
