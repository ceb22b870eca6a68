"""An atlas of failure modes: each rule's worst pair of rows, and what tells apart the rules that total variation cannot.

`worst_pairs` has, for one verifier of each rule or for any of your own, a pair on which its TV is largest, the law it induces
there, and its suprema over all vocabularies. `same_tv` runs rules of the line TV(π, p) + R = TV(p, q): at one acceptance rate all
have one TV, whatever they do; what they differ in is how far a token may be overrated. That is the paper's "overshoot ceiling" as
a theorem, in three parts, each of which is tested:

1. A ceiling bounds everything. If π <= c p, then TV(π, p) <= 1 - 1/c, KL(π || p) <= ln c, and an event of probability ε under
   the target has at most c ε; over T tokens c^T takes the place of c.
2. Without one nothing but TV is bounded: CoS and static ensembles put up to 1 - λ of mass where p is 0, so that KL and overshoot
   have no bound for any λ < 1.
3. Among all single-draft rules with π <= c p, lenience at l = 1/c accepts the most, Σ min(q, c p): see `theory.frontier`.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from theory import exact, frontier, probs
from theory.failure import growth
from theory.failure.suprema import APPROACHED, ATTAINED, BOUND, QUANTITIES, SEARCHED, Supremum
from theory.failure.worst import worst
from theory.probs import RowsLike
from theory.sources import Brought
from theory.verifiers import TokenVerifier, parse, resolve_all

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SWEEPS = {
    "lenience": [f"lenience:{x}" for x in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1)],
    "mentored": [f"mentored:alpha={x}" for x in (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1)],
    "cos": [f"cos:{x}" for x in (0, 0.2, 0.4, 0.6, 0.7, 0.8, 0.9, 0.95, 1)],
    "cactus": [f"cactus:{x}" for x in (0, 1e-6, 1e-5, 1e-4, 0.001, 0.01, 0.1, 1, 5)],
}
"""Rules on the line, each over its parameter."""

MEASURES = {
    "total_variation": "TV(induced, target) (probability)",
    "kl_divergence": "KL(induced ‖ target) (nats)",
    "log_overshoot": "ln max induced/target (nats)",
}
"""What `same_tv` measures, with its axis label; the last is the Rényi divergence of order infinity."""


def worst_pairs(
    verifiers: TokenVerifier | str | Iterable[TokenVerifier | str] = frontier.EXAMPLES, vocabulary: int = 4
) -> "pd.DataFrame":
    """Give the pair on which each rule's TV is largest, token by token, and the rule's suprema over all vocabularies.

    Parameters
    ----------
    verifiers : TokenVerifier or str, or iterable of them
        The rules or their names; any will do, one of your own too.
    vocabulary : int
        Tokens of the pair.

    Returns
    -------
    pandas.DataFrame
        One row a verifier and token: ``verifier``, ``family``, ``token``; ``p``, ``q`` and ``induced``, probabilities; then for
        each of `theory.failure.QUANTITIES` its supremum over all vocabularies, and in ``..._status`` whether it is attained,
        approached, or only a bound; or searched, and then what a larger search would find, as ``"searched, rising"``.

    Raises
    ------
    ValueError
        For a rule that does not exist or is none, and a vocabulary below 1.

    Examples
    --------
    >>> table = worst_pairs(["lenience:0.25"], vocabulary=3)
    >>> table[["p", "q", "induced", "total_variation"]].values.tolist()
    [[0.25, 1.0, 1.0, 0.75], [0.375, 0.0, 0.0, 0.75], [0.375, 0.0, 0.0, 0.75]]
    """
    import pandas as pd

    parts = []
    for rule in resolve_all(verifiers):
        p, q = (probs.as_float(rows) for rows in worst(rule, vocabulary).witness("total_variation"))
        everywhere = worst(rule)
        suprema = {name: float(everywhere[name].value) for name in QUANTITIES}
        statuses = {f"{name}_status": _status(everywhere[name]) for name in QUANTITIES}
        part = pd.DataFrame({"p": p, "q": q, "induced": probs.as_float(rule.induced(p, q))})
        part.insert(0, "token", np.arange(p.size))
        part.insert(0, "family", rule.family)
        part.insert(0, "verifier", str(rule))
        parts.append(part.assign(**suprema, **statuses))
    return pd.concat(parts, ignore_index=True)


def _status(one: Supremum) -> str:
    return one.status if one.trend in ("", growth.SETTLED) else f"{one.status}, {one.trend}"


def same_tv(p: Brought, q: RowsLike | None = None) -> "pd.DataFrame":
    """Run the rules on the line over their parameters, averaged over positions.

    Parameters
    ----------
    p : array_like, shape (V,) or (positions, V), or a Trace, the path of one, or a list of these
        Rows of the target; a trace has the draft's rows as well.
    q : array_like, shape (V,) or (positions, V), optional
        Rows of the draft; not given beside a trace.

    Returns
    -------
    pandas.DataFrame
        One row a verifier: ``rule``, ``verifier``, ``acceptance_rate`` and the columns of `MEASURES`.

    Examples
    --------
    >>> table = same_tv([0.5, 0.4, 0.1], [0.2, 0.3, 0.5])
    >>> line = table["total_variation"] + 1 - table["acceptance_rate"]
    >>> bool(abs(line - 0.4).max() < 1e-12)  # TV + rejection = TV(p, q), for all of them
    True
    """
    import pandas as pd

    quantities = ("acceptance_rate", "total_variation", "kl_divergence", "max_overshoot")
    rows = []
    for rule, names in SWEEPS.items():
        for name in names:
            found = exact.summarise(parse(name), p, q, quantities)
            found["log_overshoot"] = np.log(found.pop("max_overshoot"))
            rows.append({"rule": rule, "verifier": name} | {key: float(np.mean(value)) for key, value in found.items()})
    return pd.DataFrame(rows)


def plot(pairs: "pd.DataFrame", lines: "dict[str, pd.DataFrame]", figure: "Figure | None" = None) -> "Figure":
    """Draw the atlas on one page: the worst pairs above, and below them rules of one TV, a row of panels for each set of rows.

    Parameters
    ----------
    pairs : pandas.DataFrame
        From `worst_pairs`.
    lines : dict of str to pandas.DataFrame
        What the rows are called, to the table from `same_tv`.
    figure : matplotlib Figure, optional
        Cleared and drawn on; a new one where it is not given.

    Returns
    -------
    matplotlib Figure
        One panel for each verifier of ``pairs``, and one for each set of rows and measure.
    """
    import matplotlib.pyplot as plt

    columns = 7
    groups = list(pairs.groupby("verifier", sort=False))
    count = -(-len(groups) // columns)
    if figure is None:
        figure = plt.figure(figsize=(15, 2.1 * count + 3.2 * len(lines)), layout="constrained")
    else:
        figure.clear()
    above, below = figure.subfigures(2, 1, squeeze=False, height_ratios=[2.1 * count, 3.2 * len(lines)])[:, 0]
    panels = above.subplots(count, columns, sharey=True).ravel()
    for axes, (name, rows) in zip(panels, groups, strict=False):
        _draw_pair(axes, str(name), rows)
    for axes in panels[len(groups) :]:
        axes.axis("off")
    above.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    above.suptitle("The pair of rows on which each rule's TV is largest (V = 4), and its suprema over all vocabularies")
    for row, (title, table) in zip(below.subplots(len(lines), len(MEASURES), squeeze=False), lines.items(), strict=True):
        for axes, measure in zip(row, MEASURES, strict=True):
            _draw_line(axes, table, measure)
            axes.set_title(title)
    below.legend(*row[0].get_legend_handles_labels(), loc="outside lower center", ncols=len(SWEEPS), frameon=False)
    below.suptitle("Rules on the line TV + rejection = TV(p, q): TV cannot tell them apart, KL and overshoot can")
    return figure


SIGNS = {ATTAINED: "=", APPROACHED: "→", BOUND: "≤", SEARCHED: "≥"}
"""What stands before a supremum."""


def supremum_text(value: float, status: str) -> str:
    """Write a supremum of `worst_pairs` with its sign; one that a larger search finds higher has an arrow behind it.

    Examples
    --------
    >>> supremum_text(0.6, "attained"), supremum_text(4000.0, "searched, unbounded")
    ('= 0.6', '≥ 4e+03 ↑')
    """
    kind, _, trend = status.partition(", ")
    return f"{SIGNS[kind]} {_number(value)}" + (" ↑" if trend and np.isfinite(value) else "")


SHORT = {"total_variation": "TV", "kl_divergence": "KL", "max_overshoot": "π/p", "mass_off_support": "off"}


def _draw_pair(axes: "Axes", name: str, rows: "pd.DataFrame") -> None:
    from theory import plotting  # matplotlib, which nothing but drawing needs

    places = rows["token"].to_numpy()
    axes.bar(places - 0.2, rows["p"], width=0.4, color=plotting.ROW_COLOURS["target"], alpha=0.7, label="target p")
    axes.bar(places + 0.2, rows["q"], width=0.4, color=plotting.ROW_COLOURS["draft"], alpha=0.7, label="draft q")
    edges = np.arange(len(rows) + 1) - 0.5
    axes.stairs(rows["induced"], edges, color=plotting.ROW_COLOURS["induced"], linewidth=1.6, label="induced π")
    first = rows.iloc[0]
    said = [f"{SHORT[key]} {supremum_text(first[key], first[f'{key}_status'])}" for key in SHORT]
    axes.text(0.98, 0.97, "\n".join(said), transform=axes.transAxes, ha="right", va="top", fontsize=7.5)
    axes.set_title(name, fontsize=8.5, color=plotting.COLOURS.get(first["family"], plotting.COLOURS["user"]))
    axes.set(ylim=(0, 1.08), xticks=places)
    axes.spines[["top", "right"]].set_visible(False)


def _number(value: float) -> str:
    return "∞" if np.isinf(value) else f"{value:.3g}"


def _draw_line(axes: "Axes", table: "pd.DataFrame", measure: str) -> None:
    from theory import plotting

    for number, (rule, rows) in enumerate(table.groupby("rule", sort=False)):
        shown = rows[np.isfinite(rows[measure])].sort_values("acceptance_rate")
        looks: dict[str, Any] = {"marker": "osD^"[number], "markersize": 8 - 1.5 * number, "linewidth": 1.2}
        axes.plot(shown["acceptance_rate"], shown[measure], color=plotting.CYCLE[number + 1], label=str(rule), **looks)
    axes.set(xlabel="acceptance rate (probability)", ylabel=MEASURES[measure])
    axes.spines[["top", "right"]].set_visible(False)
