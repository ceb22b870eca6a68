"""Hypothesis profiles: quick by default, thorough in CI; both repeat the same examples at each run."""

import os

import hypothesis
import matplotlib as mpl
import numpy as np
import pytest

from theory import traces

mpl.use("Agg")
hypothesis.settings.register_profile("quick", max_examples=5, deadline=None, derandomize=True, database=None)
hypothesis.settings.register_profile("thorough", max_examples=50, deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("thorough" if os.environ.get("CI") else "quick")


def pytest_collection_modifyitems(config, items):
    """Leave out what takes long, unless this is CI."""
    if not os.environ.get("CI"):
        slow = [item for item in items if item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in slow]


@pytest.fixture(autouse=True)
def no_width(monkeypatch):
    """Let no terminal, nor a worker of pytest, decide how wide a printed table is."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture
def trace_file(tmp_path):
    """Write a trace of two positions over four tokens, and give its path."""
    p = np.array([[0.4, 0.3, 0.2, 0.1], [0.25, 0.25, 0.25, 0.25]])
    q = np.array([[0.2, 0.25, 0.25, 0.3], [0.25, 0.25, 0.25, 0.25]])
    path = tmp_path / "my-trace.safetensors"
    traces.write(traces.Trace.from_rows(p, q, target="large", draft="small"), path)
    return path
