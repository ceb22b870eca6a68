"""Numbers, tokens and regions, as an explanation says them."""

from fractions import Fraction
from typing import Any

from theory.failure.explaining.texts import TAIL


def number(value: Any) -> str:
    """Write a number: a fraction in full where it is short, else four digits."""
    if isinstance(value, Fraction | int) and Fraction(value).denominator < 10**6:
        return str(value)
    return f"{float(value):.4g}"


def count(tokens: int) -> str:
    """Write a number of tokens."""
    return f"{tokens} token" if tokens == 1 else f"{tokens} tokens"


def quoted(token: Any, text: str) -> str:
    """Write a token with what it says."""
    if token < 0:
        return f"the {TAIL[1:-1]}"
    return f"{token} {text!r}" if text else str(token)


def place(row: Any) -> str:
    """Write the region, and the set in it, that a row of the table of regions stands for."""
    return str(row["region"]) if row["set"] == "all" else f"{row['region']} ({row['set']})"
