"""`theory compare` prints the numbers of `theory.compare`."""

import numpy as np
import pytest

import theory
from tests.commands import cells, run
from theory import synthetic, traces
from theory.cli import compare


def test_compare_runs_the_papers_set_on_the_bundled_trace_by_default(capsys):
    code, out, _ = run(capsys, "compare")
    assert code == 0
    for name in compare.PAPER_SET:
        assert name in out
    assert "512 positions" in out
    assert "0.6139" in out


def test_compare_prints_the_numbers_of_the_library(capsys, trace_file):
    code, out, _ = run(capsys, "compare", trace_file, "--verifier", "lenience:0.5", "--gamma", "2")
    assert code == 0
    trace = traces.read(trace_file)
    row = theory.compare([theory.Lenience(0.5)], trace.p, trace.q, gamma=2).iloc[0]
    printed = cells(out, "lenience:0.5")
    assert printed[:2] == [f"{row['acceptance_rate']:.4f}", f"{row['total_variation']:.4f}"]
    assert printed[2] == "-"
    assert printed[-2:] == [f"{row['block_efficiency_mean_rate']:.2f}", f"{row['block_efficiency_per_position']:.2f}"]


def test_every_printed_number_of_compare_is_the_librarys_however_small(capsys):
    names = ("cos:0.9", "cos:0.999", "lenience:0.99", "lenience:0.2", "contrastive-cos:0.01", "spec-cascade:0.9", "strict")
    rows = "dirichlet:30,0.2,count=8,seed=1"
    code, out, _ = run(capsys, "compare", "--synthetic", rows, *(word for name in names for word in ("--verifier", name)))
    assert code == 0
    table = theory.compare([theory.parse(name) for name in names], *synthetic.parse(rows)).set_index("verifier")
    small = 0
    for name in names:
        for text, column in zip(cells(out, name), compare.COLUMNS, strict=True):
            value = table.loc[name, column]
            if np.isnan(value):
                assert text == "-"
                continue
            error = 5.1e-3 * value if column == "max_overshoot" else 5.1e-3 if "efficiency" in column else 5.1e-5
            assert abs(float(text) - value) <= error, (name, column)
            small += 1e-4 < value < 0.05 and float(text) > 0
    assert small >= 8


@pytest.mark.parametrize("value", [0.0, 1e-4, 3e-4, 0.0123, 0.0499, 0.05, 0.5, 1.0])
def test_a_cell_is_the_number_rounded_and_never_minus_0(value):
    assert float(compare._cell(value, "{:.4f}")) == round(value, 4)
    assert compare._cell(-1e-17, "{:.4f}") == "0.0000"
    assert compare._cell(np.nan, "{:.4f}") == "-"
    assert compare._cell(-2e-4, "{:.4f}") == "-0.0002"
