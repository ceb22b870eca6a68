"""Rules that are named by where they are written: files, modules, entry points; and what they say when they are wrong."""

import importlib
import shutil
import sys
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest

import theory
from tests.commands import cells, run
from theory import blocks, exact, loading, monte_carlo, verifiers
from theory.blocks import Tokenwise

MINE = Path(__file__).parent / "data/mine.py"
P, Q = [0.5, 0.3, 0.2], [0.2, 0.2, 0.6]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder with a user's file."""
    shutil.copy(MINE, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder, text, name="own.py"):
    (folder / name).write_text(text)


# --- by file and by module ----------------------------------------------------------------------------------------------


def test_a_rule_of_a_file_is_that_class(folder):
    rule = theory.parse("mine.py:Mine:2/5,least=0.1")
    assert (rule.lenience, rule.least, str(rule)) == (F(2, 5), 0.1, "mine.py:Mine:lenience=2/5,least=0.1")
    assert theory.parse(str(rule)) == rule
    assert theory.parse(f"{folder}/mine.py:Mine") == theory.parse("mine.py:Mine")
    np.testing.assert_allclose(rule.induced(P, Q), type(rule)(0.4, 0.1).induced(P, Q))
    assert theory.Lenience(0.4).induced(P, Q).tolist() == exact.induced("mine.py:Mine:0.4", P, Q).tolist()


def test_a_rule_of_a_module_and_a_block_rule_of_a_file(folder):
    assert theory.parse("theory.verifiers.collaborative:Lenience:0.4") == theory.Lenience(0.4)
    assert theory.parse("tests.data.mine:Mine:0.4").lenience == 0.4
    first = blocks.parse("mine.py:FirstOnly")
    assert isinstance(first, blocks.BlockVerifier)
    assert str(first) == "mine.py:FirstOnly"
    tokenwise = blocks.parse("mine.py:Mine:0.4,bonus=relaxed")
    assert isinstance(tokenwise, Tokenwise)
    assert (tokenwise.bonus, tokenwise.verifier.lenience) == ("relaxed", 0.4)


def test_a_changed_file_is_read_again(folder):
    assert theory.parse("mine.py:Mine").lenience == 1
    text = (folder / "mine.py").read_text().replace("lenience: float = 1", "lenience: float = 0.25")
    write(folder, text, "mine.py")
    assert theory.parse("mine.py:Mine").lenience == 0.25


def test_a_file_hides_no_module(folder):
    write(folder, "from __future__ import annotations\n" + MINE.read_text(), "math.py")
    before = sys.modules["math"]
    assert theory.parse("math.py:Mine:0.4").lenience == 0.4
    assert sys.modules["math"] is before


def test_rules_of_a_file_travel_to_processes(folder):
    rule = theory.parse("mine.py:Mine:0.4")
    pair = theory.models.iid(P, Q)
    one, two = (
        monte_carlo.accepted_length(rule, pair, 2, 1 << 17, np.random.default_rng(0), workers=workers) for workers in (1, 2)
    )
    assert one == two


RULE = """
import theory
class Own(theory.TokenVerifier):
    def acceptance(self, p, q):
        return {acceptance}
    def residual(self, p, q):
        return p
class NoRule:
    pass
"""


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("", "none.py:Own", "there is no file none.py"),
        ("x = 1\nimport nowhere_to_be_found\n", "own.py:Own", "own.py:2: ModuleNotFoundError: No module named"),
        ("x = 1\n\ndef f(:\n", "own.py:Own", "own.py:3: SyntaxError: invalid syntax"),
        ("raise RuntimeError('two\\nlines')\n", "own.py:Own", "own.py:1: RuntimeError: two lines"),
        (RULE, "own.py:Other", r"own.py has no class 'Other' that is a TokenVerifier; its classes that are are Own"),
        (RULE, "own.py:NoRule", "NoRule in own.py is not a TokenVerifier"),
        (RULE, "own.py", "own.py has no class ''"),
        (RULE, "own.py:Own:3", r"cannot place '3'; the arguments are \(none\)"),
        ("x = 1", "own.py:Own", "own.py has no class 'Own' that is a TokenVerifier; it has none"),
        ("", "theory.verifiers:Nobody", "theory.verifiers has no class 'Nobody'"),
        ("", "nowhere:Mine", "no verifier is called 'nowhere'; .* a rule of your own is file.py:Class or package.module:Class"),
        ("", "mine.py:Mine:least=0.1,0.2,0.3", "cannot place '0.3'"),
    ],
)
def test_errors_name_file_and_line(folder, text, name, message):
    write(folder, text)
    with pytest.raises(ValueError, match=message) as caught:
        theory.parse(name)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("acceptance", "message"),
    [
        ("undefined", "own.py:5: NameError: name 'undefined' is not defined"),
        ("p / 0 / [1, 2]", "own.py:5: "),
        ("2 * p ** 0", "own.py:Own: acceptance[0] = 2.0: must be a probability, in [0, 1]"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_the_errors_of_a_running_rule_are_one_line_of_the_command(folder, capsys, acceptance, message):
    write(folder, RULE.format(acceptance=acceptance))
    code, _, err = run(capsys, "show", "own.py:Own")
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_an_error_of_our_own_is_no_user_s():
    assert loading.told(ValueError("ours")) is None


# --- by entry point -------------------------------------------------------------------------------------------------------


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Install a package that registers rules, by what an installer would leave on the path."""
    site = tmp_path / "site"
    info = site / "own_rules-1.0.dist-info"
    info.mkdir(parents=True)
    shutil.copy(MINE, site / "own_rules.py")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: own-rules\nVersion: 1.0\n")
    own = "[theory.verifiers]\nmine = own_rules:Mine\nstrict = own_rules:Mine\n"
    entries = own + "\n[theory.blocks]\nfirst-only = own_rules:FirstOnly\n"
    (info / "entry_points.txt").write_text(entries)
    monkeypatch.syspath_prepend(site)
    importlib.invalidate_caches()
    yield info / "entry_points.txt"
    sys.modules.pop("own_rules", None)


def test_packages_register_rules(package, capsys):
    assert str(theory.parse("mine:0.4")) == "mine:lenience=0.4"
    assert theory.parse("strict") == theory.Strict(), "no package takes the name of a rule of ours"
    assert verifiers.registered().keys() == {"mine"}
    assert str(blocks.parse("first-only")) == "first-only"
    assert isinstance(blocks.parse("mine:0.4"), Tokenwise)
    code, out, _ = run(capsys, "list")
    assert code == 0
    assert [line for line in out.splitlines() if "own-rules" in line and "mine:lenience=1,least=0" in line]
    assert float(cells(run(capsys, "compare", "--verifier", "mine:1", "--synthetic", "paper:A")[1], "mine")[1]) == 0


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ("mine = own_rules:Nobody", "'mine', registered by own-rules as own_rules:Nobody: AttributeError: "),
        ("mine = nowhere_at_all:Mine", "'mine', registered by own-rules as nowhere_at_all:Mine: ModuleNotFoundError: "),
        ("mine = own_rules:FirstOnly", "'mine', registered by own-rules as own_rules:FirstOnly: is not a TokenVerifier"),
    ],
)
def test_a_package_that_registers_what_is_no_rule(package, entry, message):
    package.write_text(f"[theory.verifiers]\n{entry}\n")
    for call in (lambda: theory.parse("mine:0.4"), verifiers.registered):
        with pytest.raises(ValueError, match=message):
            call()
    assert theory.parse("cos:0.5") == theory.CoS(0.5), "others are not disturbed"


# --- one way to name a rule -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("resolve", [verifiers.resolve, blocks.resolve])
def test_what_is_no_rule_is_refused_by_name(resolve):
    for wrong, message in (
        (3, "= 3: must be a"),
        (None, "= None: must be a"),
        (theory.CoS, r"= CoS: is a class; give a rule of it"),
    ):
        with pytest.raises(ValueError, match=message):
            resolve(wrong)


def test_several_rules_are_named_by_place():
    assert verifiers.resolve_all("strict") == [theory.Strict()]
    with pytest.raises(ValueError, match=r"verifiers\[1\] = 3: must be a TokenVerifier"):
        verifiers.resolve_all(["strict", 3])
    with pytest.raises(ValueError, match="rules is empty"):
        blocks.resolve_all([])
    assert [str(rule) for rule in blocks.resolve_all([theory.CoS(0.5), "block"])] == ["tokenwise:cos:0.5", "block"]
