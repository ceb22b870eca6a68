"""The paper's claims: each figure has some, verdicts follow from the numbers, and the page shows them."""

import os
import re

import numpy as np
import pandas as pd
import pytest

from tests.test_paper import FIGURES, quick_table
from theory import paper
from theory.paper import agreement, fig2, fig7, table2_3_7, tables
from theory.paper.agreement import FAILS, HOLDS, IN_PART, NOT_WEIGHED, Claim

CLAIMS = [(name, place) for name in paper.ITEMS for place in range(len(paper.item(name).CLAIMS))]
VERDICTS = {
    "fig1": [HOLDS, HOLDS, IN_PART],
    "fig2": [HOLDS, HOLDS, HOLDS],
    "fig3": [HOLDS, HOLDS],
    "fig4": [IN_PART, FAILS, FAILS],
    "fig5": [FAILS, IN_PART, HOLDS],
    "fig6": [HOLDS, HOLDS, HOLDS],
    "fig7": [HOLDS, HOLDS, IN_PART],
    "fig8": [IN_PART, IN_PART, HOLDS],
    "table1": [HOLDS, HOLDS, IN_PART],
    "table2_3_7": [IN_PART, HOLDS, HOLDS],
    "table6": [IN_PART, HOLDS, HOLDS],
    "predicted": [FAILS, IN_PART],
}
"""What is said of each claim: a change here is news, and belongs in the reasons beside it."""


def of(name, place):
    return paper.item(name).CLAIMS[place], quick_table(name)


def test_every_figure_has_claims_and_each_its_verdict():
    assert list(VERDICTS) == list(paper.ITEMS)
    for name, verdicts in VERDICTS.items():
        assert agreement.weigh(paper.item(name).CLAIMS, quick_table(name))["verdict"].tolist() == verdicts, name


@pytest.mark.parametrize(("name", "place"), CLAIMS)
def test_a_claim_is_whole(name, place):
    claim, table = of(name, place)
    for words in (claim.text, claim.why):
        assert words[0].isupper() or words.startswith("(")
        assert words.endswith(".")
    assert not claim.criterion.endswith(".")
    said = claim.said(table, "ours")
    assert re.search(r"\d", said)
    for text in (said, claim.said(table, "paper")):
        assert text
        assert not re.search(r"\b(nan|inf)\b|\||\n|[{}]|-0\.0+(?!\d)", text)


@pytest.mark.parametrize(("name", "place"), CLAIMS)
def test_the_verdict_follows_from_numbers_and_criterion(name, place):
    """Where the numbers are others, so that it must, the verdict is another: no criterion is met by everything."""
    claim, table = of(name, place)
    numbers = [float(number) for number in claim.numbers(table, "ours")]
    verdict = agreement.verdict(claim.parts(numbers))
    row = agreement.weigh([claim], table).iloc[0]
    assert (row["verdict"], row["ours"]) == (verdict, claim.said(table, "ours"))
    others = [
        [sign * scale * number + shift for number in turned]
        for turned in (numbers, numbers[::-1])
        for sign in (-1, 1)
        for scale in (0, 1e-15, 1, 1e3)
        for shift in (-100, 0, 100)
    ]
    assert {agreement.verdict(claim.parts(moved)) for moved in others} - {verdict}


@pytest.mark.parametrize(
    ("name", "place"), [(name, place) for name, place in CLAIMS if not paper.item(name).CLAIMS[place].printed]
)
def test_the_papers_numbers_are_taken_from_the_papers_rows(name, place):
    """Move what is ours: what is said of the paper stays, but for claims about its own rows alone."""
    claim, table = of(name, place)
    columns = [column for column in ("value", "block_efficiency", "quality", "accepted_length", "pass_at_1") if column in table]
    moved = table.copy()
    rows = moved["source"].isin(["theory", *agreement_sources(name)])
    moved.loc[rows, columns] = moved.loc[rows, columns].mul(np.linspace(1, 1.5, rows.sum()), axis=0)
    assert claim.said(moved, "paper") == claim.said(table, "paper")
    own = (name, place) in {("fig6", 2), ("table2_3_7", 1)}
    assert (claim.said(moved, "ours") == claim.said(table, "ours")) == own


def agreement_sources(name):
    return ("one number", "two numbers") if name == "fig6" else ()


@pytest.mark.parametrize(("parts", "verdict"), [([True], HOLDS), ([False], FAILS), ([True, False], IN_PART), ([1, 1.0], HOLDS)])
def test_verdicts(parts, verdict):
    assert agreement.verdict(parts) == verdict
    assert agreement.verdict(np.array(parts)) == verdict


def test_claims_are_not_weighed_on_other_inputs():
    found = agreement.weigh(fig2.CLAIMS, fig2.compute(rules=["strict"]))
    assert set(found["verdict"]) == {NOT_WEIGHED}
    assert (found[["paper", "ours"]] == "").all(axis=None)
    assert found["claim"].tolist() == [claim.text for claim in fig2.CLAIMS]


def test_no_number_is_less_than_nothing():
    claim = Claim(
        "It.", lambda table, side: [-1e-9, -0.001, -0.4, -3e-20], "{:+.2f} {:.1f} {:+.1f} {:.0e}", "", lambda x: [1], ""
    )
    assert claim.said(pd.DataFrame(), "ours") == "0.00 0.0 -0.4 -3e-20"


# --- some numbers by another route ------------------------------------------------------------------------------------


def test_who_dominates_by_the_papers_rows_and_by_ours():
    counts = fig7.CLAIMS[2].numbers(quick_table("fig7"), "ours")
    table = tables.table_4().set_index(["method", "benchmark", "parameter"])[["block_efficiency", "accuracy_percent"]]
    by_rows = []
    for lossy, matched in tables.MATCHED.items():
        gap = (table.loc[lossy] - table.loc[matched]).round(6)
        by_rows.append(int(((gap >= 0).all(axis=1) & (gap > 0).any(axis=1)).sum()))
    assert list(counts) == [*by_rows, 0, 0, 20] == [4, 8, 0, 0, 20]


def test_how_many_times_as_much_on_trees():
    ratios = table2_3_7.CLAIMS[1].numbers(quick_table("table2_3_7"), "ours")
    gaps = {}
    for framework, rows in (("standard", tables.table_4()), ("eagle3", tables.table_5())):
        mean = rows.groupby("method")["accuracy_percent"].mean()
        gaps[framework] = [mean[lossy] - mean[matched] for lossy, matched in tables.MATCHED.items()]
    for place, (single, tree) in enumerate(zip(*gaps.values(), strict=True)):
        assert ratios[3 * place : 3 * place + 3] == pytest.approx([single, tree, tree / single])


# --- the page ---------------------------------------------------------------------------------------------------------

NUMBER = r"\d+(?:\.\d+)?(?:e-?\d+)?"


def shown(name):
    """Give the claims of a figure on the page, a tuple of cells each."""
    section = (FIGURES / "README.md").read_text().partition(f"### {paper.item(name).TITLE}\n")[2].partition("\n### ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")]
    assert rows[0] == ["the paper says", "its number", "here", "verdict", "why"]
    return [tuple(row) for row in rows[2:]]


@pytest.mark.parametrize("name", paper.ITEMS)
def test_the_page_shows_each_claim_beside_its_picture(name):
    """Cell by cell in CI, but for the last digit of a number; elsewhere what does not need the whole table."""
    one = paper.item(name)
    table = one.compute() if os.environ.get("CI") else quick_table(name)
    found = agreement.weigh(one.CLAIMS, table)
    written = pd.DataFrame(shown(name), columns=list(found.columns))
    pd.testing.assert_frame_equal(written[["claim", "verdict", "why"]], found[["claim", "verdict", "why"]])
    for side in ("paper", "ours"):
        for now, then in zip(found[side], written[side], strict=True):
            assert re.sub(NUMBER, "#", now).replace("-#", "+#") == re.sub(NUMBER, "#", then).replace("-#", "+#")
            if os.environ.get("CI"):
                for one_now, one_then in zip(re.findall(NUMBER, now), re.findall(NUMBER, then), strict=True):
                    step = max(1.01 * 10.0 ** -len(one_then.partition(".")[2].partition("e")[0]), 1e-15)
                    assert abs(float(one_now) - float(one_then)) <= step
