"""The house: what importing the package may load, what it may not mention, and the page that shows its floors."""

import re
import subprocess
import sys
from pathlib import Path

import theory
from tests import house

PACKAGE = Path(theory.__file__).parent
HEAVY = ("hypothesis", "torch", "transformers", "pandas", "matplotlib", "scipy", "typer", "IPython")


def test_importing_theory_loads_neither_extras_nor_what_only_some_functions_need():
    code = "import sys, theory; print([name for name in sys.argv[1:] if name in sys.modules])"
    loaded = subprocess.run([sys.executable, "-c", code, *HEAVY], capture_output=True, text=True, check=True).stdout
    assert loaded.strip() == "[]"


def test_every_public_name_exists_and_is_documented():
    for name in theory.__all__:
        assert getattr(theory, name).__doc__, name


def test_nothing_touches_global_random_state_or_pickles():
    for path in PACKAGE.rglob("*.py"):
        source = path.read_text()
        assert not re.search(r"np\.random\.(seed|rand|randn|choice|shuffle|random)\(", source), path
        assert not re.search(r"^\s*(import pickle|from pickle)|allow_pickle=True", source, re.MULTILINE), path


def test_every_module_stands_on_a_floor():
    stand = [module for modules, _ in house.floors() for module in modules]
    paths = [path for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()]
    assert sorted(stand) == sorted({path.stem for path in paths} - {"__init__", "__main__"})


def test_the_page_shows_the_floors_of_the_import_contract():
    page = house.PAGE.read_text()
    assert house.picture() in page, "draw it again: python -m tests.house"
    assert house.drawn(page) == page
    assert house.drawn(page.replace("│ cli", "│ attic")) == page  # the control: a picture of yesterday is replaced


def test_every_file_that_the_page_names_is_there():
    named = re.findall(r"`((?:theory|tests|notebooks)/[^`]*)`", house.PAGE.read_text())
    assert len(named) > 20
    assert [path for path in named if not (house.ROOT / path).exists()] == []
