"""The README runs as written, and says what the package says."""

import contextlib
import io
import re
from pathlib import Path

import theory
from theory.cli.program import COMMANDS
from theory.verifiers import FALLBACKS, RULES

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


def test_the_blocks_print_what_their_comments_say():
    printed = run(BLOCKS[1])
    assert re.search(r"tokenwise:strict 10/9\nblock 11/9\nTrue\n\d\.\d+", printed)


def test_the_verifier_of_ones_own_is_falsified():
    printed = run(BLOCKS[2])
    assert "Mine() does not induce the target." in printed
    assert len(BLOCKS) == 3


def test_every_command_exists():
    for command in re.findall(r"`theory (\w+)", README):
        assert command in COMMANDS
    commands = re.findall(r"```sh\n(.*?)\n```", README, re.DOTALL)
    assert len(commands) == 2
    assert commands[0].endswith("theory compare")
    assert commands[1].endswith("pytest")


def test_the_table_has_every_rule_with_a_short_name_that_works():
    rows = re.findall(r"^\| `(\w+)[^`]*` \| `([^`]+)` \|", README, re.MULTILINE)
    assert [name for name, _ in rows] == [rule.__name__ for rule in RULES.values()]
    for name, short in rows:
        assert type(theory.parse(short)).__name__ == name
    for fallback in FALLBACKS:
        assert f"`{fallback}`" in README


def test_its_files_exist():
    for path in re.findall(r"\]\(([^)]+)\)", README):
        assert (ROOT / path).exists(), path
