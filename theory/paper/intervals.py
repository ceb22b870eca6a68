"""A number and between what it is thought to be: how the paper's figures carry their bars and bands."""

from typing import Any, NamedTuple

import numpy as np

from theory.probs import Array

LEVEL = 0.95
"""Confidence of every band."""


class Interval(NamedTuple):
    """A value, or an array of them, and between what it is thought to be."""

    value: Any
    low: Any
    high: Any

    def named(self, name: str, place: int | None = None) -> dict[str, Any]:
        """Give the columns of one of its values, under a name: ``name``, ``name_low`` and ``name_high``."""
        values = self if place is None else Interval(*(part[place] for part in self))
        return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))


def around(value: Any, half: Any) -> Interval:
    """Give the interval that reaches as far up as down."""
    return Interval(value, value - half, value + half)


def normal(value: Any, deviation: Any) -> Interval:
    """Give the 95% band of a normal estimate with a known standard deviation.

    Examples
    --------
    >>> [round(float(x), 2) for x in normal(0.0, 1.0)]
    [0.0, -1.96, 1.96]
    """
    from scipy.stats import norm

    return around(value, norm.ppf((1 + LEVEL) / 2) * deviation)


def over_prompts(values: Array) -> Interval:
    """Give the mean over the prompts of a trace, with the 95% band of Student's t over them.

    Parameters
    ----------
    values : ndarray, shape (prompts,)
        One number each: positions of one text depend on each other, texts do not. A single prompt has no band, and its ends are
        NaN.

    Examples
    --------
    >>> Interval(*(round(float(x), 3) for x in over_prompts(np.array([1.0, 2.0, 3.0]))))
    Interval(value=2.0, low=-0.484, high=4.484)
    """
    from scipy.stats import t

    if values.size == 1:
        return around(float(values[0]), float("nan"))
    half = t.ppf((1 + LEVEL) / 2, values.size - 1) * values.std(ddof=1) / np.sqrt(values.size)
    return around(float(values.mean()), float(half))
