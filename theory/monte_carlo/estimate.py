"""What a Monte Carlo run gives, and how it shows that it is under way."""

from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import Progress


class Estimate(NamedTuple):
    """A Monte Carlo estimate; array-valued where the quantity is."""

    value: Any
    """The estimate."""
    stderr: Any
    """Its standard error, estimated from the same draws."""
    n: int
    """Draws for each pair of rows, or blocks, or texts."""


def binomial(counts: Any, n: int) -> tuple[Any, Any]:
    """Give shares of n draws and their standard errors."""
    share = counts / n
    return share, np.sqrt(share * (1 - share) / n)


def progress(hidden: bool) -> Progress:
    """Make a progress bar on standard error, which leaves nothing behind."""
    return Progress(console=Console(stderr=True), transient=True, disable=hidden)
