"""The folder figures/: each file has a sentence and a command, and its table is what that command writes now."""

import re
from pathlib import Path

import pandas as pd
import pytest

from tests.commands import run

FIGURES = Path(__file__).parents[1] / "figures"


def test_every_figure_has_a_sentence_and_a_command():
    commands = re.findall(r"`(theory [^`]+)`", (FIGURES / "README.md").read_text())
    made_by_them = [Path(word).name for command in commands for word in command.split() if word.startswith("figures/")]
    items = [command.split()[2] for command in commands if re.fullmatch(r"theory figures \w+", command)]
    made_by_them += [f"{name}.{suffix}" for name in items for suffix in ("png", "pdf", "csv")]
    assert sorted(made_by_them) == sorted(path.name for path in FIGURES.iterdir() if path.name != "README.md")


@pytest.mark.parametrize("command", ["compare", "blocks", "atlas"])
def test_the_tables_of_the_figures_are_what_their_command_writes_now(command, capsys, tmp_path):
    name = {"compare": "tradeoff.csv"}.get(command, f"{command}.csv")
    assert run(capsys, command, "--csv", tmp_path / name)[0] == 0
    now, kept = (pd.read_csv(folder / name) for folder in (tmp_path, FIGURES))
    columns = [column for column in now if not column.endswith(("_low", "_high"))]
    pd.testing.assert_frame_equal(now[columns], kept[columns], rtol=1e-6, atol=1e-9)
