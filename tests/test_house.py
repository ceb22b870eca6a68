"""The house: what importing the package may load, and what it may not mention."""

import re
import subprocess
import sys
from pathlib import Path

import theory

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
