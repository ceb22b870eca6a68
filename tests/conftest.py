"""Hypothesis profiles: quick by default, thorough in CI; both repeat the same examples at each run."""

import os

import hypothesis
import matplotlib as mpl
import pytest

mpl.use("Agg")
hypothesis.settings.register_profile("quick", max_examples=5, deadline=None, derandomize=True, database=None)
hypothesis.settings.register_profile("thorough", max_examples=50, deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("thorough" if os.environ.get("CI") else "quick")


@pytest.fixture(autouse=True)
def no_width(monkeypatch):
    """Let no terminal, nor a worker of pytest, decide how wide a printed table is."""
    monkeypatch.delenv("COLUMNS", raising=False)
