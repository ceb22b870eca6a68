"""Ours beside the paper's rows, row by row, and how far they agree."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

SIDES = ("paper", "ours")
"""Endings of the columns that `beside` compares."""

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
