"""`theory show`: exact where its rows are, and the ceiling drawn where a rule has one."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from tests.commands import run
from theory.cli import outputs


@pytest.mark.parametrize(
    ("name", "factor"), [("lenience:0.4", 2.5), ("lenience:2/5", 2.5), ("overshoot-ceiling:1/2", 2), ("cos:0.5", None)]
)
def test_show_draws_the_ceiling(name, factor, capsys, tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(outputs, "save_figure", lambda axes, path, console: drawn.append(axes))
    assert run(capsys, "show", name, "--plot", tmp_path / "out.png")[0] == 0
    (axes,) = drawn
    labels = [text.get_text() for text in axes.get_legend().get_texts()]
    assert [label for label in labels if "ceiling" in label] == ([] if factor is None else [f"ceiling {factor:g} p"])
    if factor is not None:
        ceiling = next(patch for patch in axes.patches if patch.get_label().startswith("ceiling"))
        np.testing.assert_allclose(ceiling.get_data().values, factor * np.array([0.4, 0.3, 0.2, 0.1]))
    plt.close(axes.figure)


def test_show_is_exact_on_fractions_and_decimal_otherwise(capsys):
    _, out, _ = run(capsys, "show", "lenience:2/5")
    assert "13/50" in out
    assert "acceptance rate: 19/20" in out
    _, out, _ = run(capsys, "show", "cos:0.5", "--p", "0.5,0.5", "--q", "0.25,0.75")
    assert "0.375" in out
    assert "total variation: 0.125" in out
