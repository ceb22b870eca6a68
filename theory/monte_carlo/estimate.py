"""What a Monte Carlo run gives, and how it shows that it is under way."""

from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.progress import Progress

from theory import parameters
from theory.intervals import LEVEL, Interval, percent


class Estimate(NamedTuple):
    """A Monte Carlo estimate; array-valued where the quantity is."""

    value: Any
    """The estimate."""
    stderr: Any
    """Its standard error, estimated from the same draws."""
    n: int
    """Draws for each pair of rows, or blocks, or texts."""

    def interval(self, confidence: float = LEVEL) -> Interval:
        """Give it as an `Interval`: the value and so many standard errors each way, as if it were normal.

        Parameters
        ----------
        confidence : float
            In (0, 1).

        Raises
        ------
        ValueError
            For a confidence out of range.

        Examples
        --------
        >>> found = Estimate(0.5, 0.01, 2500).interval()
        >>> round(found.low, 4), round(found.high, 4), found.how
        (0.4804, 0.5196, 'normal, from 2500 draws, 95%')
        """
        from scipy.stats import norm

        parameters.check("confidence", confidence, "(0, 1)")
        half = float(norm.ppf((1 + confidence) / 2)) * self.stderr
        return Interval(self.value, self.value - half, self.value + half, f"normal, from {self.n} draws, {percent(confidence)}")


def binomial(counts: Any, n: int) -> tuple[Any, Any]:
    """Give shares of n draws and their standard errors."""
    share = counts / n
    return share, np.sqrt(share * (1 - share) / n)


def progress(hidden: bool) -> Progress:
    """Make a progress bar on standard error, which leaves nothing behind."""
    return Progress(console=Console(stderr=True), transient=True, disable=hidden)
