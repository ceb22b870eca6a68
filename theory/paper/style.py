"""How the paper's figures look here: one size of type, one palette, hollow markers for the paper's points."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from theory.probs import Array

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure

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


class Look(NamedTuple):
    """How a method is drawn."""

    name: str
    colour: str
    marker: str


METHODS = {
    "strict": Look("strict", "#000000", "*"),
    "lenience": Look("lenience", "#0072B2", "o"),
    "cos_draft_weight": Look("CoS", "#56B4E9", "s"),
    "spec_cascade": Look("SpecCascade", "#D55E00", "o"),
    "typical_acceptance": Look("typical acceptance", "#E69F00", "s"),
    "min_p_sampling": Look("min-p sampling", "#009E73", "o"),
    "eta_sampling": Look("eta sampling", "#CC79A7", "s"),
}
"""Method of the paper's tables to its look: methods of a family meet in one panel, so none share a colour."""

Method: TypeAlias = str | Look
"""A key of `METHODS`, or how another method is drawn."""

INTERPOLATION, CEILING, HYBRID = "#882255", "#999933", "#332288"
"""Colours of the rules that only Tables 1 and 6 have: adaptive interpolation, the overshoot ceiling, and rule 5 of Table 6."""

OTHERS = ("#882255", "#999933", "#332288", "#AA4499", "#117733", "#999999")
"""Colours of rules that the paper's tables do not have."""

SERIES = ("#440154", "#3B528B", "#21918C", "#5EC962", "#B8A000")
"""Colours of up to five values of one number, from dark to light: viridis, with an end that is not too light for paper."""


def gradient(count: int) -> list[Any]:
    """Give colours of so many values of one number, from dark to light; up to five are `SERIES`.

    Examples
    --------
    >>> gradient(2), len(gradient(9))
    (['#440154', '#3B528B'], 9)
    """
    import matplotlib as mpl

    if count <= len(SERIES):
        return list(SERIES[:count])
    return [mpl.colors.to_hex(colour) for colour in mpl.colormaps["viridis"](np.linspace(0, 0.88, count))]


@contextmanager
def applied() -> Iterator[None]:
    """Draw in this style."""
    import matplotlib as mpl

    with mpl.rc_context(RC):
        yield


Place: TypeAlias = "Figure | SubFigure | Axes"
"""Where a figure is drawn."""


def panels(place: "Place | None", rows: int, columns: int, width: float, height: float, **options: Any) -> "tuple[Figure, Any]":
    """Give a figure and its axes, shape (rows, columns).

    Parameters
    ----------
    place : matplotlib Figure, SubFigure or Axes, optional
        A figure is cleared and drawn on. Axes make room for a SubFigure, so that figures may stand side by side; they must be
        made by ``subplots``, and where their figure has no layout engine, it gets the constrained one. A new figure where it is
        not given.
    rows, columns : int
        Of panels.
    width, height : float
        Inches of a new figure.
    options
        Passed to ``Figure.subplots``.

    Raises
    ------
    ValueError
        For axes that stand in no grid.
    """
    import matplotlib.pyplot as plt
    from matplotlib.axes import Axes

    figure: Any
    if place is None:
        figure = plt.figure(figsize=(width, height), layout="constrained")
    elif isinstance(place, Axes):
        spot, whole = place.get_subplotspec(), place.get_figure(root=True)
        if spot is None or whole is None:
            raise ValueError("ax: these axes stand in no grid; make them with subplots, or give a figure")
        if whole.get_layout_engine() is None:
            whole.set_layout_engine("constrained")
        figure = place.figure.add_subfigure(spot)
        place.remove()
    else:
        figure = place
        figure.clear()
    return cast("Figure", figure), figure.subplots(rows, columns, squeeze=False, **options)


def grid(count: int, most: int) -> tuple[int, int]:
    """Give rows and columns for so many panels, at most so many beside each other.

    Examples
    --------
    >>> grid(5, 3), grid(2, 4)
    ((2, 3), (1, 2))
    """
    columns = max(1, min(count, most))
    return -(-count // columns), columns


def letters(count: int) -> list[str]:
    """Give the letters of so many panels: a to z, then aa, ab, ...

    Examples
    --------
    >>> letters(3), letters(28)[-1]
    (['a', 'b', 'c'], 'ab')
    """
    return list(islice((first + last for first in ("", *ascii_lowercase) for last in ascii_lowercase), count))


def lettered(axes: Any, count: int) -> "list[tuple[str, Axes]]":
    """Give the first so many axes with a letter each, and remove the others."""
    flat = list(axes.flat)
    for spare in flat[count:]:
        spare.remove()
    return list(zip(letters(count), flat[:count], strict=True))


def looks(methods: Iterable[str]) -> dict[str, Look]:
    """Give the look of each method: those of `METHODS`, and for others a colour and a marker of their own in their order.

    Examples
    --------
    >>> looks(["lenience", "mine.py:Mine"])["mine.py:Mine"]
    Look(name='mine.py:Mine', colour='#882255', marker='v')
    """
    methods = list(dict.fromkeys(methods))
    others = [method for method in methods if method not in METHODS]
    own = {method: Look(method, OTHERS[place % len(OTHERS)], "vDP^<>X"[place % 7]) for place, method in enumerate(others)}
    return {method: METHODS[method] if method in METHODS else own[method] for method in methods}


def look(method: Method) -> Look:
    """Give the look of a method of `METHODS`; a look as it is."""
    return method if isinstance(method, Look) else METHODS[method]


def paper_points(axes: "Axes", x: Any, y: Any, method: Method, label: str | None = None, **errors: Any) -> None:
    """Draw the paper's points: hollow markers, with its standard deviations where given as ``xerr`` and ``yerr``."""
    _, colour, marker = look(method)
    size = 12 if marker == "*" else 6
    looks: dict[str, Any] = {"linestyle": "none", "marker": marker, "markersize": size, "markerfacecolor": "none"}
    axes.errorbar(x, y, color=colour, markeredgewidth=1.2, elinewidth=0.8, label=label, zorder=3, **looks, **errors)


def our_line(axes: "Axes", x: Any, y: Any, method: Method, label: str | None = None, low: Any = None, high: Any = None) -> None:
    """Draw ours: a line, with a band between ``low`` and ``high`` where given; a single point as a filled marker."""
    _, colour, marker = look(method)
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


def ours(method: Method) -> str:
    """Name our side of a method in a legend."""
    return f"{look(method).name}, ours"


def the_papers(method: Method) -> str:
    """Name the paper's side of a method in a legend."""
    return f"{look(method).name}, the paper"


def legend_below(figure: "Figure", *axes: "Axes", columns: int = 6, methods: Iterable[Method] = ()) -> None:
    """Put one legend under all panels, with each label once: first, for each of ``methods``, ours above the paper's."""
    entries: dict[str, Any] = {}
    for one in axes:
        entries |= {label: handle for handle, label in zip(*one.get_legend_handles_labels(), strict=True) if label not in entries}
    order = [name for method in methods for name in (ours(method), the_papers(method)) if name in entries]
    order += [label for label in entries if label not in order]
    figure.legend([entries[label] for label in order], order, loc="outside lower center", ncols=columns)
