"""Where commands print: how wide it is, tables that fit, and how their numbers are written."""

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

PIPE_WIDTH = 140
"""Columns of output that goes into a pipe or file, which has no width of its own; COLUMNS overrides it."""

NAME_WIDTH = 12
"""Columns below which the name of a verifier is not folded; numbers are left out instead."""


def new_console() -> Console:
    """Give a console as wide as the terminal, else as COLUMNS says, else as `PIPE_WIDTH`; it prints text literally."""
    # Names of files, models and rules are the user's: nothing in them is markup.
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and int(columns) else PIPE_WIDTH
    return Console(width=None if sys.stdout.isatty() else width, markup=False, emoji=False, highlight=False)


def whole_width(grid: Table, console: Console) -> int:
    """Give the width at which the table is whole."""
    return Measurement.get(console, console.options.update(max_width=10_000), grid).maximum


def fit_columns(
    make: Callable[[Sequence[str]], Table], names: Sequence[str], rows: Iterable[str], console: Console
) -> tuple[Table, Sequence[str]]:
    """Make a table of as many of the columns as the console holds, at least one, and say which they are."""
    foldable = max(0, max(map(len, rows)) - NAME_WIDTH)
    while whole_width(make(names), console) - foldable > console.width and len(names) > 1:
        names = names[:-1]
    return make(names), names


def new_grid(title: str, first: str, full: bool) -> Table:
    """Make a table of numbers beside names; without outer edges where every column of the console counts."""
    grid = Table(title=title, title_justify="left", show_edge=full, pad_edge=full)
    grid.add_column(first, overflow="fold")
    return grid


def number_text(value: Any) -> str:
    """Write a number: a fraction as it is, unless it is long, and a float in six digits.

    Examples
    --------
    >>> number_text(Fraction(3, 8)), number_text(0.375), number_text(Fraction(1, 3 * 10**6))
    ('3/8', '0.375', '3.33333e-07')
    """
    if isinstance(value, Fraction | int) and Fraction(value).denominator < 10**6:
        return str(value)
    return f"{float(value):.6g}"
