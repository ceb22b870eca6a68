"""How the paper's figures carry their bars and bands: each an `Interval`."""

from typing import Any

import numpy as np

from theory.intervals import LEVEL, Interval, percent
from theory.probs import Array

__all__ = ["LEVEL", "Interval", "around", "normal", "over_prompts"]


def around(value: Any, half: Any, how: str) -> Interval:
    """Give the interval that reaches as far up as down."""
    return Interval(value, value - half, value + half, how)


def normal(value: Any, deviation: Any) -> Interval:
    """Give the 95% band of a normal estimate with a known standard deviation.

    Examples
    --------
    >>> [round(float(x), 2) for x in normal(0.0, 1.0)[:3]]
    [0.0, -1.96, 1.96]
    """
    from scipy.stats import norm

    return around(value, norm.ppf((1 + LEVEL) / 2) * deviation, f"normal, {percent(LEVEL)}")


def over_prompts(values: Array) -> Interval:
    """Give the mean over the prompts of a trace, with the 95% band of Student's t over them.

    Parameters
    ----------
    values : ndarray, shape (prompts,)
        One number each: positions of one text depend on each other, texts do not. A single prompt has no band, and its ends are
        NaN.

    Examples
    --------
    >>> [round(float(x), 3) for x in over_prompts(np.array([1.0, 2.0, 3.0]))[:3]]
    [2.0, -0.484, 4.484]
    """
    from scipy.stats import t

    if values.size == 1:
        return around(float(values[0]), float("nan"), "one prompt: no spread is seen")
    half = t.ppf((1 + LEVEL) / 2, values.size - 1) * values.std(ddof=1) / np.sqrt(values.size)
    return around(float(values.mean()), float(half), f"Student's t over {values.size} prompts, {percent(LEVEL)}")
