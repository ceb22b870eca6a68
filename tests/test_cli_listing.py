"""`theory list` leaves no name out."""

import re

import theory
from tests.commands import run


def test_list_names_every_rule(capsys):
    code, out, _ = run(capsys, "list")
    flat = re.sub(r"[│\s]", "", out)
    assert code == 0
    for rule in theory.verifiers.RULES.values():
        assert rule.name in flat
        assert re.sub(r"\s", "", rule.source)[:10] in flat
    for name in theory.truncation.TRUNCATIONS:
        assert name in flat
