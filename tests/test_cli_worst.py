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
