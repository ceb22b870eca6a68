"""How the paper's figures look here: one size of type, one palette, hollow markers for the paper's points."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from theory.probs import Array

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RC: dict[Any, Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.6,
    "lines.markersize": 5,
    "pdf.fonttype": 42,
}
"""Settings of matplotlib for every figure."""

METHODS = {
    "strict": ("strict", "#000000", "*"),
    "lenience": ("lenience", "#0072B2", "o"),
    "cos_draft_weight": ("CoS", "#56B4E9", "s"),
    "spec_cascade": ("SpecCascade", "#D55E00", "o"),
    "typical_acceptance": ("typical acceptance", "#E69F00", "s"),
    "min_p_sampling": ("min-p sampling", "#009E73", "o"),
    "eta_sampling": ("eta sampling", "#CC79A7", "s"),
}
"""Method of the paper's tables to its name, colour and marker: methods of a family meet in one panel, so none share a colour."""

INTERPOLATION, CEILING, HYBRID = "#882255", "#999933", "#332288"
"""Colours of the rules that only Tables 1 and 6 have: adaptive interpolation, the overshoot ceiling, and rule 5 of Table 6."""

SERIES = ("#440154", "#3B528B", "#21918C", "#5EC962", "#B8A000")
"""Colours of up to five values of one number, from dark to light: viridis, with an end that is not too light for paper."""


@contextmanager
def applied() -> Iterator[None]:
    """Draw in this style."""
    import matplotlib as mpl

    with mpl.rc_context(RC):
        yield


def panels(figure: "Figure | None", rows: int, columns: int, width: float, height: float, **options: Any) -> "tuple[Figure, Any]":
    """Give a figure of ``width`` by ``height`` inches and its axes, shape (rows, columns).

    Parameters
    ----------
    figure : matplotlib Figure, optional
        Cleared and drawn on; a new one where it is not given.
    rows, columns : int
        Of panels.
    width, height : float
        Inches of a new figure.
    options
        Passed to ``Figure.subplots``.
    """
    import matplotlib.pyplot as plt

    if figure is None:
        figure = plt.figure(figsize=(width, height), layout="constrained")
    else:
        figure.clear()
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def paper_points(axes: "Axes", x: Any, y: Any, method: str, label: str | None = None, **errors: Any) -> None:
    """Draw the paper's points: hollow markers, with its standard deviations where given as ``xerr`` and ``yerr``."""
    _, colour, marker = METHODS[method]
    size = 12 if marker == "*" else 6
    looks: dict[str, Any] = {"linestyle": "none", "marker": marker, "markersize": size, "markerfacecolor": "none"}
    axes.errorbar(x, y, color=colour, markeredgewidth=1.2, elinewidth=0.8, label=label, zorder=3, **looks, **errors)


def our_line(axes: "Axes", x: Any, y: Any, method: str, label: str | None = None, low: Any = None, high: Any = None) -> None:
    """Draw ours: a line, with a band between ``low`` and ``high`` where given; a single point as a filled marker."""
    _, colour, marker = METHODS[method]
    if np.size(x) == 1:
        axes.plot(x, y, color=colour, marker=marker, markersize=12 if marker == "*" else 6, linestyle="none", label=label)
        return
    axes.plot(x, y, color=colour, label=label)
    if low is not None and high is not None:
        axes.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0)


def bars(rows: "pd.DataFrame", name: str) -> Array:
    """Give how far ``name_low`` and ``name_high`` are from the column ``name``, as ``errorbar`` takes them; shape (2, rows)."""
    middle, low, high = (rows[column].to_numpy(dtype=float) for column in (name, f"{name}_low", f"{name}_high"))
    return np.stack([middle - low, high - middle])


def ours(method: str) -> str:
    """Name our side of a method in a legend."""
    return f"{METHODS[method][0]}, ours"


def the_papers(method: str) -> str:
    """Name the paper's side of a method in a legend."""
    return f"{METHODS[method][0]}, the paper"


def legend_below(figure: "Figure", *axes: "Axes", columns: int = 6, methods: Iterable[str] = ()) -> None:
    """Put one legend under all panels, with each label once: first, for each of ``methods``, ours above the paper's."""
    entries: dict[str, Any] = {}
    for one in axes:
        entries |= {label: handle for handle, label in zip(*one.get_legend_handles_labels(), strict=True) if label not in entries}
    order = [side(method) for method in methods for side in (ours, the_papers)]
    order += [label for label in entries if label not in order]
    figure.legend([entries[label] for label in order], order, loc="outside lower center", ncols=columns)
