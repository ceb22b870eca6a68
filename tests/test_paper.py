"""The frame of the paper's figures: data that is the paper's or refused, items that keep their contract, files that repeat."""

import hashlib
import importlib
import json
import os
import re
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from tests.commands import run
from theory import paper
from theory.paper import real, style, tables, write
from theory.verifiers import CoS, Lenience, SpecCascade, Strict

ROOT = Path(__file__).parents[1]
FIGURES = ROOT / "figures"


@cache
def quick_table(name):
    """The quick table of an item, once for all test files; nobody may change it."""
    return paper.item(name).compute(quick=True)


# --- the paper's numbers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", tables.CHECKSUMS)
def test_a_table_that_is_altered_or_missing_is_refused(name, tmp_path, monkeypatch):
    """Every table read as it is; then with one digit changed; then not there."""
    true = tables.read(name)
    assert len(true) > 2
    content = (ROOT / "theory" / "paper" / "data" / name).read_bytes()
    assert hashlib.sha256(content).hexdigest() == tables.CHECKSUMS[name]
    (tmp_path / "data").mkdir()
    monkeypatch.setattr(tables.resources, "files", lambda package: tmp_path)
    (tmp_path / "data" / name).write_bytes(re.sub(rb"(\d)(?=\D*$)", lambda found: b"%d" % ((int(found[1]) + 1) % 10), content))
    with pytest.raises(ValueError, match=rf"^theory/paper/data/{re.escape(name)}: altered"):
        tables.read(name)
    (tmp_path / "data" / name).unlink()
    with pytest.raises(ValueError, match=rf"^theory/paper/data/{re.escape(name)}: the paper's numbers cannot be read"):
        tables.read(name)


def test_every_file_of_data_is_a_table_or_its_source():
    found = {path.name for path in (ROOT / "theory" / "paper" / "data").iterdir()}
    assert found == {*tables.CHECKSUMS, "README.md"}
    source = (ROOT / "theory" / "paper" / "data" / "README.md").read_text()
    assert all(f"`{name}`" in source for name in tables.CHECKSUMS)


def test_table_4_is_whole():
    table = tables.table_4()
    assert table.groupby("benchmark").size().to_dict() == dict.fromkeys(sorted(tables.BENCHMARKS), 29)
    assert set(table["method"]) == set(tables.FAMILIES)
    assert table.drop(columns="parameter").notna().all(axis=None)


def test_the_sweep_is_the_tables_own():
    for method in ("lenience", "cos_draft_weight"):
        assert tables.settings_of(method) == list(tables.SWEEP)
    assert sorted(set(tables.table_1()["lambda"])) == list(tables.SWEEP)


def test_each_row_of_table_4_has_its_verifier():
    for method, parameter in tables.table_4()[["method", "parameter"]].drop_duplicates().itertuples(index=False):
        rule = tables.verifier(method, None if parameter != parameter else parameter)
        assert rule.family == tables.FAMILIES[method]
    assert tables.verifier("strict") == Strict()
    assert tables.verifier("lenience", 0.4) == Lenience(0.4)
    assert tables.verifier("cos_draft_weight", 0.8) == CoS(0.2)
    assert tables.verifier("spec_cascade", 0.5) == SpecCascade(0.5, "target")


@pytest.mark.parametrize(("method", "parameter"), [("medusa", 0.1), ("lenience", None), ("", 1.0)])
def test_a_method_that_is_not_in_the_table_is_refused(method, parameter):
    with pytest.raises(ValueError, match="method = "):
        tables.verifier(method, parameter)


# --- the trace ------------------------------------------------------------------------------------------------------


def test_block_efficiency_along_the_text_by_hand():
    rates = real.acceptance(Strict())
    assert rates.shape == (8, 64)
    by_hand = [
        1 + sum(np.prod(prompt[start : start + length]) for length in (1, 2, 3)) for prompt in rates for start in range(64 - 2)
    ]
    assert real.block_efficiency(rates, 3).value == pytest.approx(np.mean(by_hand), rel=1e-12)


def test_a_block_longer_than_the_text_is_refused():
    with pytest.raises(ValueError, match="gamma = 65"):
        real.block_efficiency(real.acceptance(Strict()), 65)


# --- items ----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=paper.ITEMS)
def computed(request):
    """Each item with its quick table."""
    return request.param, quick_table(request.param)


def test_an_item_keeps_its_contract(computed):
    name, table = computed
    one = paper.item(name)
    assert list(table.columns) == list(one.COLUMNS)
    assert len(table) > 0
    assert not table.isna().all(axis=None)
    assert one.CLAIM.rstrip(")").endswith(".")
    said = one.headline(table)
    assert said.endswith(".")
    assert said[0].isupper()
    assert len(re.findall(r"\.(?: [A-Z]|$)", said)) <= 4
    assert re.search(r"\d", said)
    assert not re.search(r"\b(nan|inf)\b", said)


def test_an_item_draws_on_a_figure_and_labels_every_panel(computed):
    name, table = computed
    before = table.copy()
    with style.applied():
        figure = Figure(figsize=(12, 8), layout="constrained")
        assert paper.item(name).plot(table, figure) is figure
    for axes in figure.axes:
        assert axes.has_data(), name
    assert any(axes.get_xlabel() for axes in figure.axes)
    assert any(axes.get_ylabel() for axes in figure.axes)
    pd.testing.assert_frame_equal(table, before)


def test_a_second_run_is_the_first_byte_for_byte(computed):
    name, table = computed
    assert paper.item(name).compute(quick=True).to_csv() == table.to_csv()


MEASURED = {
    "fig2": "max_overshoot",
    "fig4": "change",
    "fig6": "accepted_length",
    "fig7": "quality",
    "table1": "pass_at_1",
    "predicted": "mean_absolute_error",
} | dict.fromkeys(("fig3", "fig5"), "block_efficiency")
"""Column of an item that its sentence is about; ``value`` elsewhere."""


def test_headlines_are_made_from_the_table(computed):
    """Move what is ours by a fifth, then what is the paper's: the sentence changes both times."""
    name, table = computed
    column, said = MEASURED.get(name, "value"), paper.item(name).headline(table)
    printed = table["source"] == "paper" if "source" in table else np.zeros(len(table), dtype=bool)
    for side in (~printed, printed):
        if side.any():
            moved = table.assign(**{column: table[column].where(~side, table[column] * 1.2)})
            assert paper.item(name).headline(moved) != said


def test_an_unknown_name_is_one_line_with_the_names_that_exist(capsys):
    code, out, err = run(capsys, "figures", "fig9")
    assert (code, out) == (2, "")
    assert err == f"theory: no figure or table 'fig9'; there are: {', '.join(paper.ITEMS)}\n"


def test_a_folder_that_cannot_be_written_is_one_line(capsys, tmp_path):
    (tmp_path / "file").touch()
    code, out, err = run(capsys, "figures", "fig8", "--quick", "--out", tmp_path / "file" / "below")
    assert (code, out) == (2, "")
    assert re.fullmatch(r"theory: --out .*: cannot be written \(Not a directory\)\n", err)


def test_names_are_listed_and_nothing_is_written(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = run(capsys, "figures", "--list")
    assert (code, err) == (0, "")
    assert all(re.search(rf"│ {name} +│", out) for name in paper.ITEMS)
    assert not list(tmp_path.iterdir())


# --- files ----------------------------------------------------------------------------------------------------------


def test_files_are_the_same_twice(tmp_path):
    for run_ in ("a", "b"):
        write.write("fig2", write.folder(tmp_path / run_), quick=True)
    names = sorted(path.name for path in (tmp_path / "a").iterdir())
    assert names == ["fig2.csv", "fig2.pdf", "fig2.png"]
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_the_page_is_written_between_its_marks_only(tmp_path):
    tables_ = {"fig8": quick_table("fig8")}
    assert write.write_page(tables_, tmp_path) == tmp_path / "README.md"
    fresh = (tmp_path / "README.md").read_text()
    assert paper.item("fig8").CLAIM in fresh
    (tmp_path / "README.md").write_text(f"before\n{fresh}after\n")
    write.write_page(tables_, tmp_path)
    assert (tmp_path / "README.md").read_text() == f"before\n{fresh}after\n"
    (tmp_path / "README.md").write_text("somebody's own\n")
    assert write.write_page(tables_, tmp_path) is None
    assert (tmp_path / "README.md").read_text() == "somebody's own\n"


def test_the_page_of_the_repository_shows_every_item_and_its_files_exist():
    text = (FIGURES / "README.md").read_text()
    for name in paper.ITEMS:
        assert f"({name}.png)" in text
        assert paper.item(name).CLAIM in text
    for path in re.findall(r"\]\(([^)]+)\)", text):
        assert (FIGURES / path).resolve().exists(), path


def test_the_tables_of_the_repository_are_what_is_computed_now(computed):
    """Number by number and sentence by sentence in CI; elsewhere, since that takes a minute, of quick rows that stand in both.

    Numbers of sentences may differ by one in their last digit.
    """
    name, table = computed
    if os.environ.get("CI"):
        table = paper.item(name).compute()
        said, written = _parts(paper.item(name).headline(table)), _parts(_written(name))
        assert said[0] == written[0]
        for now, then in zip(said[1], written[1], strict=True):
            assert abs(float(now) - float(then)) <= max(1.01 * 10.0 ** -len(then.partition(".")[2].partition("e")[0]), 1e-15)
    stored = pd.read_csv(FIGURES / f"{name}.csv", keep_default_na=False, na_values={column: [""] for column in _numbers(table)})
    assert list(stored.columns) == list(table.columns)
    if os.environ.get("CI"):
        pd.testing.assert_frame_equal(stored, table, check_dtype=False, rtol=1e-4, atol=1e-6)
    else:
        texts = [column for column in table if column not in _numbers(table)]
        assert set(map(tuple, table[texts].astype(str).values)) <= set(map(tuple, stored[texts].astype(str).values))


NUMBER = r"\d+(?:\.\d+)?(?:e-?\d+)?"


def _parts(sentence):
    return re.sub(NUMBER, "#", sentence), re.findall(NUMBER, sentence)


def _written(name):
    """Give the sentence of an item on the page."""
    page = (FIGURES / "README.md").read_text().partition(f"### {paper.item(name).TITLE}\n")[2]
    return re.search(r"\*\*Here:\*\* (.*)\n", page)[1]


def _numbers(table):
    return [column for column in table if pd.api.types.is_numeric_dtype(table[column])]


def test_every_item_is_a_module_and_every_module_of_its_kind_an_item():
    modules = {path.stem for path in (ROOT / "theory" / "paper").glob("*.py") if re.match(r"(fig|table)\d", path.stem)}
    assert modules | {"predicted"} == set(paper.ITEMS)
    for name in paper.ITEMS:
        module = importlib.import_module(f"theory.paper.{name}")
        assert module.__doc__


# --- notebooks ------------------------------------------------------------------------------------------------------


def test_every_item_has_its_notebook_and_none_holds_output():
    notebooks = {path.stem: json.loads(path.read_text()) for path in (ROOT / "notebooks").glob("*.ipynb")}
    assert {*paper.ITEMS, "00-tour"} <= set(notebooks)
    for name, notebook in notebooks.items():
        code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
        assert all(cell["outputs"] == [] and cell["execution_count"] is None for cell in code), name
        assert "assert " in "".join(code[-1]["source"]), name
        if name in paper.ITEMS:
            assert paper.item(name).CLAIM in "".join(notebook["cells"][0]["source"])


def test_the_tour_has_ten_cells():
    assert len(json.loads((ROOT / "notebooks" / "00-tour.ipynb").read_text())["cells"]) == 10
