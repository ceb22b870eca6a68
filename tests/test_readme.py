"""The README runs as written, and says what the package says."""

import contextlib
import io
import re
from pathlib import Path

import theory
from tests import commands
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


def test_the_counts_print_what_their_comment_says():
    printed = run(BLOCKS[2])
    (said,) = re.findall(r"print\(.*\)\s+# (.*)", BLOCKS[2])
    assert said in printed
    assert "last_rate" in printed


def test_the_verifier_of_ones_own_is_falsified():
    printed = run(BLOCKS[3])
    assert "Mine() does not induce the target." in printed
    assert len(BLOCKS) == 4


def test_every_command_exists():
    for command in re.findall(r"`theory (\w+)", README):
        assert command in COMMANDS
    blocks = re.findall(r"```sh\n(.*?)\n```", README, re.DOTALL)
    assert len(blocks) == 3
    assert blocks[0].endswith("theory compare")
    assert blocks[1].endswith("pytest")


def test_the_commands_on_counts_run(capsys, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("steps.csv").write_text("accepted,drafted,request\n3,4,a\n0,4,a\n4,4,b\n1,4,b\n")
    for line in re.findall(r"^theory (counts .*?)  #", README, re.MULTILINE):
        code, out, err = commands.run(capsys, *line.split())
        assert (code, err) == (0, ""), line
        assert "E[τ]" in out


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
