"""Ours beside the paper's rows, row by row, and how far they agree; what the paper claims, and whether it holds here.

Each figure's ``CLAIMS`` is a tuple of `Claim`: a function gives the numbers that it is about, from the figure's table, and a
criterion says of each part of it whether it holds of ours. `weigh` puts them in a table, and the page in figures/ shows it.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, final

from theory.paper import knobs

if TYPE_CHECKING:
    import pandas as pd

SIDES = ("paper", "ours")
"""Endings of the columns that `beside` compares."""

SOURCES = {"paper": "paper", "ours": "theory"}
"""Side to the rows of a table."""

KEYS = ("benchmark", "method", "parameter")
"""What says which row of Table 4 or 5 a row is."""


def beside(table: "pd.DataFrame", columns: Sequence[str], source: str = "theory", keys: Sequence[str] = KEYS) -> "pd.DataFrame":
    """Give each of the paper's rows beside ours.

    Parameters
    ----------
    table : pandas.DataFrame
        With ``source``, and one row of ours at most for each of ``source`` paper.
    columns : sequence of str
        What is compared.
    source : str
        Whose rows are ours.
    keys : sequence of str
        Columns that tell rows apart.

    Returns
    -------
    pandas.DataFrame
        Our rows, with each of ``columns`` three times: ending in ``_paper``, in ``_ours``, and in ``_error``, ours - the
        paper's, in its unit.
    """
    paper, ours = (table[table["source"] == name] for name in ("paper", source))
    both = paper[[*keys, *columns]].merge(ours, on=list(keys), suffixes=(f"_{SIDES[0]}", f"_{SIDES[1]}"), validate="one_to_one")
    return both.assign(**{f"{name}_error": both[f"{name}_ours"] - both[f"{name}_paper"] for name in columns})


def rank_correlation(a: "pd.Series[float]", b: "pd.Series[float]") -> float:
    """Give Spearman's correlation, with what differs by rounding taken as equal; NaN where either side is constant.

    Examples
    --------
    >>> import pandas as pd
    >>> rank_correlation(pd.Series([1.0, 2.0, 3.0]), pd.Series([1.0, 4.0, 9.0]))
    1.0
    >>> rank_correlation(pd.Series([1.0, 2.0, 3.0]), pd.Series([1.0, 1.0, 1.0]))
    nan
    """
    first, second = (values.round(9).rank() for values in (a, b))
    if first.nunique() < 2 or second.nunique() < 2:
        return float("nan")
    return float(first.corr(second))


def worst(rows: "pd.DataFrame", name: str) -> "pd.Series[Any]":
    """Give the row whose error of that name is the largest."""
    return rows.iloc[int(rows[name].abs().to_numpy().argmax())]


def span(values: "pd.Series[float]", digits: int = 2) -> str:
    """Write the range of some changes, with their signs.

    Examples
    --------
    >>> import pandas as pd
    >>> span(pd.Series([0.5, -0.25, 1]))
    '-0.25 to +1.00'
    """
    low, high = (round(float(end), digits) + 0.0 for end in (values.min(), values.max()))  # + 0.0: no "-0.00"
    return f"{low:+.{digits}f} to {high:+.{digits}f}"


# --- claims -----------------------------------------------------------------------------------------------------------

HOLDS, IN_PART, FAILS, NOT_WEIGHED = "holds", "holds in part", "does not hold", "not weighed"
"""Verdicts; the last where the inputs are not the paper's."""


@final
@dataclass(frozen=True)
class Claim:
    """Something that the paper says with a figure, and what makes it hold here.

    Parameters
    ----------
    text : str
        What the paper says.
    numbers : callable
        Takes a figure's table and one of `SIDES`, and gives the numbers that it is about.
    form : str
        How these are written, as `str.format` takes it.
    criterion : str
        What is asked of our numbers, in words.
    parts : callable
        The same as a function: takes our numbers, and says of each part of the claim whether it holds.
    why : str
        Why it is so.
    printed : str
        What stands for the paper's numbers where it prints none.

    Examples
    --------
    >>> claim = Claim("It grows.", lambda table, side: (1.0, 2.0), "{:g} to {:g}", "rising", lambda x: [x[0] < x[1]], "It does.")
    >>> claim.said(None, "ours"), verdict(claim.parts((1.0, 2.0)))
    ('1 to 2', 'holds')
    """

    text: str
    numbers: "Callable[[pd.DataFrame, str], Sequence[float]]"
    form: str
    criterion: str
    parts: Callable[[Sequence[float]], Sequence[bool]]
    why: str
    printed: str = ""

    def said(self, table: "pd.DataFrame", side: str) -> str:
        """Write the numbers of a side."""
        if side == SIDES[0] and self.printed:
            return self.printed
        written = self.form.format(*(float(number) for number in self.numbers(table, side)))
        return re.sub(r"-(0(\.0+)?(?![\d.e]))", r"\1", written)  # no "-0.00"


def verdict(parts: Iterable[Any]) -> str:
    """Say whether a claim holds: where all parts do, in part where some do.

    Examples
    --------
    >>> verdict([True, True]), verdict([True, False]), verdict([False])
    ('holds', 'holds in part', 'does not hold')
    """
    found = [bool(part) for part in parts]
    return HOLDS if all(found) else IN_PART if any(found) else FAILS


def weigh(claims: Iterable[Claim], table: "pd.DataFrame") -> "pd.DataFrame":
    """Weigh the claims of a figure against its table.

    Parameters
    ----------
    claims : iterable of Claim
        The figure's ``CLAIMS``.
    table : pandas.DataFrame
        From its ``compute``.

    Returns
    -------
    pandas.DataFrame
        A row a claim: ``claim``, ``paper`` and ``ours`` (numbers, as text), ``verdict``, ``why`` (criterion, reason). Where the
        inputs are not the paper's, verdicts are `NOT_WEIGHED` and numbers empty.
    """
    import pandas as pd

    papers = not knobs.varied(table)
    rows = [
        {
            "claim": claim.text,
            "paper": claim.said(table, "paper") if papers else "",
            "ours": claim.said(table, "ours") if papers else "",
            "verdict": verdict(claim.parts(claim.numbers(table, "ours"))) if papers else NOT_WEIGHED,
            "why": f"Asked: {claim.criterion}. {claim.why}",
        }
        for claim in claims
    ]
    return pd.DataFrame(rows, columns=["claim", "paper", "ours", "verdict", "why"])


def of_side(table: "pd.DataFrame", side: str) -> "pd.DataFrame":
    """Give the rows of a side, where the column ``source`` tells them."""
    return table[table["source"] == SOURCES[side]]
