"""`theory blocks` prints the numbers of `theory.compare_blocks`."""

import numpy as np
import pytest

import theory
from tests.commands import cells, run
from theory import compare_blocks, synthetic, traces


def test_every_printed_number_of_blocks_is_the_librarys(capsys):
    names = ("block", "strict", "cos:0.5")
    options = [word for name in names for word in ("--verifier", name)]
    _, out, _ = run(capsys, "blocks", "--synthetic", "dirichlet:5,0.6", "--gamma", "3", "--cost", "0.1", *options)
    rules, pair = [theory.blocks.parse(name) for name in names], synthetic.parse("dirichlet:5,0.6")
    laws = compare_blocks.length_laws(rules, *pair, 3)
    gains = compare_blocks.efficiencies(rules, *pair, range(1, 11), 0.1)
    for name, rule in zip(names, rules, strict=True):
        printed = cells(out, name)
        law = laws.loc[laws["rule"] == str(rule), "probability"]
        np.testing.assert_allclose([float(text) for text in printed[:4]], law, rtol=0, atol=5.1e-4)
        own = gains[gains["rule"] == str(rule)].set_index("gamma")
        np.testing.assert_allclose(float(printed[4]), own.loc[3, "accepted_length"], rtol=0, atol=5.1e-5)
        np.testing.assert_allclose(float(printed[5]), own.loc[3, "block_efficiency"], rtol=0, atol=5.1e-5)
        np.testing.assert_allclose(float(printed[6]), own.loc[3, "speedup"], rtol=0, atol=5.1e-4)
        assert int(printed[7]) == own["speedup"].idxmax()


def test_a_wrong_cost_is_refused_before_the_trace_is_read(capsys, monkeypatch):
    monkeypatch.setattr(traces, "example", lambda: pytest.fail("the trace was read"))
    code, _, err = run(capsys, "blocks", "--cost", "-1")
    assert (code, err) == (2, "theory: cost = -1.0: must be a number in [0, inf)\n")
