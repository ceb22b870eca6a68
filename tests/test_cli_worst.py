"""`theory worst`: readable at any width, and what it refuses."""

import re

import pytest

from tests.commands import run


@pytest.mark.parametrize("width", [80, 119, 120, 140])
def test_worst_has_whole_words_and_numbers_at_any_width(width, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    code, out, _ = run(capsys, "worst", "fuzzy-acceptance:0.1", "--vocabulary", "4")
    assert code == 0
    lines = out.splitlines()
    assert max(map(len, lines)) <= width
    for words in ("total variation", "mass off support", "0.439589", "0.260332", "attained"):
        assert any(words in line for line in lines), words
    assert any(re.search(r"0\.7198.*0\.2802, 0", line) for line in lines)


def test_worst_of_many_tokens_is_derived_and_not_searched(capsys):
    code, out, _ = run(capsys, "worst", "cactus:1/10", "--vocabulary", "5000")
    assert code == 0
    assert "Not searched numerically beyond 12 tokens." in " ".join(out.split())
    assert "0.999002" in out
    for options, message in (
        (["--vocabulary", "10001"], "--vocabulary 10001: must be at most 10000"),
        (["--seed", "-1"], "--seed = -1"),
    ):
        code, _, err = run(capsys, "worst", "cos:0.5", *options)
        assert code == 2
        assert err.startswith(f"theory: {message}")
        assert err.count("\n") == 1


OWN = """
from dataclasses import dataclass

import numpy as np

from theory import probs
from theory.verifiers.base import ExcessResidual


@dataclass(frozen=True)
class Ears(ExcessResidual):
    alpha: float = 0.3

    def acceptance(self, p, q):
        p, q = probs.check_pair(p, q)
        return np.minimum(1, probs.acceptance_ratio(p, q) + self.alpha * (1 - p.max(axis=-1, keepdims=True)))


class Broken(Ears):
    def acceptance(self, p, q):
        return 1.5 + 0 * (p + q)
"""


@pytest.mark.parametrize("size", [3, 20])
def test_worst_searches_a_rule_of_ones_own_and_says_so(size, capsys, tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    code, out, err = run(capsys, "worst", f"{tmp_path}/mine.py:Ears:0.5", "--vocabulary", size)
    assert (code, err) == (0, "")
    (line,) = (line for line in out.splitlines() if "mass off support" in line and "│" in line)
    assert f"{0.5 * (1 - 1 / (size - 1)):.6g}" in line
    assert "at least" in line
    said = " ".join(out.split())
    assert "search for mass off support: rises with the number of tokens, 0.25 on 3, 0.4 on 6, 0.4545 on 12: extrap" in said
    assert "search for kl divergence: infinite" in said
    assert "no proof" in said
    code, out, _ = run(capsys, "worst", f"{tmp_path}/mine.py:Ears:0.5", "--p", "1/2,1/2,0")
    assert code == 0
    assert "0.25" in out


def test_worst_refuses_a_rule_that_is_none_in_one_line(capsys, tmp_path):
    (tmp_path / "mine.py").write_text(OWN)
    code, _, err = run(capsys, "worst", f"{tmp_path}/mine.py:Broken")
    assert code == 2
    assert "= 1.5: must be a probability" in err
    assert len(err.splitlines()) == 1


def test_worst_says_where_the_search_has_no_bound(capsys):
    _, out, _ = run(capsys, "worst", "spec-cascade:1/2,fallback=residual")
    said = " ".join(out.split())
    assert "search for max overshoot: unbounded, as far as searched: value ~ edge^-1" in said
    assert "search for mass off support" not in said
    assert "search for" not in run(capsys, "worst", "lenience:0.4")[1]
