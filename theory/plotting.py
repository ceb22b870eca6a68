"""Drawing: a DataFrame or rows and an Axes in, the Axes out. Nothing is computed here but positions on paper."""

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import matplotlib.pyplot as plt
import numpy as np

from theory import parameters, probs
from theory.probs import RowsLike

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

COLOURS = {
    "strict": "#000000",
    "collaborative": "#0072B2",
    "optimal": "#666666",
    "cascade": "#56B4E9",
    "truncation": "#D55E00",
    "truncation sampling": "#009E73",
    "matching": "#CC79A7",
    "user": "#E69F00",
}
"""One colour a family everywhere (Okabe and Ito's palette, safe for colour-blind readers, and a grey)."""

USERS = (COLOURS["user"], "#882255", "#999933", "#332288", "#117733", "#AA4499")
"""Colours of users' rules, one each in the order in which they appear."""

CYCLE = ("#000000", "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
"""For things without a family: the same palette in order."""

MARKERS = {
    "strict": "*",
    "lenience": "o",
    "cos": "s",
    "contrastive-cos": "D",
    "overshoot-ceiling": "^",
    "adaptive-interpolation": "v",
    "hybrid-ceiling": "P",
    "static-ensemble": "<",
    "geometric-ensemble": ">",
    "cactus": "X",
    "mentored": "o",
    "optimal": "s",
    "chow-cascade": "o",
    "diff-cascade": "s",
    "opt-cascade": "D",
    "token-cascade-v1": "^",
    "token-cascade-v2": "v",
    "token-cascade-v3": "P",
    "fuzzy-acceptance": "X",
    "spec-cascade": "o",
    "typical-acceptance": "s",
    "truncation": "D",
    "truncation-sampling:min-p": "o",
    "truncation-sampling:eta": "s",
    "truncation-sampling": "D",
    "exact-match": "X",
    "eagle-acceptance": "o",
    "threshold-acceptance": "s",
    "greedy-match": "d",
}
"""One marker a verifier within its family."""

VARIANTS = (
    ("-", "full"),
    ("--", "none"),
    (":", "left"),
    ("-.", "top"),
    ((0, (6, 2, 1, 2, 1, 2)), "right"),
    ((0, (1, 4)), "bottom"),
)
"""Line and marker filling that tell apart the lines of one verifier under several keywords, such as fallbacks."""

ROW_COLOURS = {"target": "#56B4E9", "draft": "#E69F00", "overlap": "#999999", "induced": "#000000", "ceiling": "#777777"}
"""What `plot_induced` draws to its colour."""

LABELS = {
    "acceptance_rate": "acceptance rate (probability)",
    "total_variation": "TV(induced, target)",
    "total_variation_to_baseline": "TV(induced, true baseline)",
    "kl_divergence": "KL(induced ‖ target) (nats)",
    "max_overshoot": "max induced/target",
    "overshoot_mass": "induced mass above 2 × target",
    "pareto_gap": "gap to the best trade-off (probability)",
    "block_efficiency_mean_rate": "block efficiency at the mean rate (tokens per target call)",
    "block_efficiency_per_position": "block efficiency per position (tokens per target call)",
}
"""Axis label, with unit, of each column of `theory.compare`."""


def plot_induced(
    p: RowsLike,
    q: RowsLike,
    induced: RowsLike,
    ceiling: float | Fraction | None = None,
    tokens: int = 15,
    title: str = "",
    ax: "Axes | None" = None,
    *,
    colours: Mapping[str, str] = ROW_COLOURS,
    legend: bool = True,
) -> "Axes":
    """Draw target, draft, their overlap and an induced law over the most probable tokens, as in the paper's Figure 2.

    Parameters
    ----------
    p, q, induced : array_like, shape (V,)
        Rows of the target, of the draft, and what a verifier induces.
    ceiling : float or Fraction, optional
        The factor c of a ceiling c p to draw, such as 1/l for lenience.
    tokens : int
        How many tokens to show, in falling order of p, at least 1.
    title : str
        Above the axes.
    ax : matplotlib Axes, optional
        Drawn on; a new one is made where it is not given.
    colours : mapping of str to str
        As in `ROW_COLOURS`.
    legend : bool
        Whether to draw the legend, which panels side by side may want to share.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        Where ``p``, ``q`` or ``induced`` is not one row, or an option is out of range.
    """
    parameters.check_count("tokens", tokens)
    if ceiling is not None:
        parameters.check("ceiling", ceiling, "(0, inf]")
    target, draft = (probs.as_float(rows) for rows in probs.check_pair(p, q))
    law = probs.as_float(probs.check_rows(induced, "induced"))
    if target.ndim != 1 or draft.ndim != 1 or law.shape != target.shape:
        raise ValueError(f"p, q and induced have shapes {target.shape}, {draft.shape}, {law.shape}: one row each, of one length")
    axes = plt.subplots(layout="constrained")[1] if ax is None else ax
    order = np.argsort(-target, kind="stable")[:tokens]
    places = np.arange(order.size)
    bars: dict[str, Any] = {"width": 0.9, "linewidth": 0}
    axes.bar(places, target[order], color=colours["target"], alpha=0.45, label="target p", **bars)
    axes.bar(places, draft[order], color=colours["draft"], alpha=0.45, label="draft q", **bars)
    shared = np.minimum(target, draft)[order]
    axes.bar(places, shared, color=colours["overlap"], alpha=0.9, label="overlap min(p, q)", **bars)
    edges = np.arange(order.size + 1) - 0.5
    if ceiling is not None:
        factor = float(ceiling)
        axes.stairs(factor * target[order], edges, color=colours["ceiling"], linestyle="--", label=f"ceiling {factor:g} p")
    axes.stairs(law[order], edges, color=colours["induced"], linewidth=1.8, label="induced π")
    top = max(target[order].max(), draft[order].max(), law[order].max())
    shown = order.size < target.size
    axes.set(
        xlabel="token, in falling order of p" + (f" (first {order.size} of {target.size})" if shown else ""),
        ylabel="probability",
        ylim=(0, 1.08 * top),
        xlim=(edges[0], edges[-1]),
        title=title,
    )
    axes.set_xticks(places, [str(token) for token in order])
    _clean(axes)
    if legend:
        axes.legend(frameon=False)
    return axes


def plot_tradeoff(
    table: "pd.DataFrame",
    x: str = "total_variation",
    y: str = "acceptance_rate",
    intervals: bool = True,
    ax: "Axes | None" = None,
) -> "Axes":
    """Draw what each verifier buys (``y``) against what it distorts (``x``): one line a rule over its hyper-parameter.

    Rules that differ in a keyword, such as the fallback, are different lines; a rule of a user's own is one line at all its
    numbers. Where acceptance is drawn against TV(π, p), the line TV(π, p) + R = TV(p, q) is drawn as well, R the rejection rate
    and all three means over positions: no single-draft rule can reach what lies above it.

    Parameters
    ----------
    table : pandas.DataFrame
        From `theory.compare`, or any with its columns ``verifier`` and ``family``; ``pareto_gap`` tells where the line is.
    x, y : str
        Columns of numbers.
    intervals : bool
        Whether to draw the bootstrap intervals of ``y``, where the table has them.
    ax : matplotlib Axes, optional
        Drawn on; a new one is made where it is not given.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        For a column that the table does not have, or that does not hold numbers.
    """
    import pandas as pd

    for column in ("verifier", "family", x, y):
        if column not in table:
            raise ValueError(f"no column {column!r}; there are: {', '.join(map(str, table.columns))}")
        if column in (x, y) and not pd.api.types.is_numeric_dtype(table[column]):
            raise ValueError(f"column {column!r} has dtype {table[column].dtype}: numbers must stand there to be drawn")
    has_intervals = intervals and f"{y}_low" in table and f"{y}_high" in table
    axes = plt.subplots(figsize=(8, 5), layout="constrained")[1] if ax is None else ax
    if (x, y) == ("total_variation", "acceptance_rate") and "pareto_gap" in table:
        _draw_bound(axes, table)
    colours = _colours(table)
    variants: dict[str, int] = {}
    for line, rows in _lines(table):
        rows = rows[np.isfinite(rows[x]) & np.isfinite(rows[y])].sort_values(x)
        if rows.empty:
            continue
        rule = _rule(rows["verifier"].iloc[0], rows["family"].iloc[0])
        style, filling = VARIANTS[variants.setdefault(rule, 0) % len(VARIANTS)]
        variants[rule] += 1
        marker = MARKERS.get(rule, MARKERS.get(rule.partition(":")[0], "o"))
        looks: dict[str, Any] = {
            "color": colours[rule],
            "linestyle": style,
            "marker": marker,
            "fillstyle": filling,
            "markersize": 13 if marker == "*" else 6,
            "linewidth": 1,
        }
        axes.plot(rows[x], rows[y], label=line, **looks)
        if has_intervals:
            axes.vlines(rows[x], rows[f"{y}_low"], rows[f"{y}_high"], color=looks["color"], linewidth=0.8, alpha=0.5)
    axes.set(xlabel=LABELS.get(x, x), ylabel=LABELS.get(y, y))
    _clean(axes)
    axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.01, 0.5))
    return axes


BOUND, BEYOND = "TV(π, p) + R = TV(p, q)", "no single-draft rule is there"
"""What the line of `plot_tradeoff`, and what lies above it, are called."""


def _draw_bound(axes: "Axes", table: "pd.DataFrame") -> None:
    """Draw the best trade-off line of any single-draft rule, from strict verification to the draft itself."""
    lengths = table["total_variation"] + 1 - table["acceptance_rate"] - table["pareto_gap"]  # TV(p, q), once a row
    lengths = lengths[np.isfinite(lengths)]
    if lengths.empty or lengths.max() - lengths.min() > 1e-6:  # of several pairs there is no one line
        return
    distance = float(lengths.mean())
    ends, line = [0.0, distance], [1 - distance, 1.0]
    axes.fill_between(ends, line, 1, color="#999999", alpha=0.18, linewidth=0, label=BEYOND, zorder=0)
    axes.plot(ends, line, color="#999999", linewidth=1, label=BOUND, zorder=1)


def plot_lengths(table: "pd.DataFrame", ax: "Axes | None" = None) -> "Axes":
    """Draw the law of the accepted length of each rule.

    Parameters
    ----------
    table : pandas.DataFrame
        From `theory.compare_blocks.length_laws`.
    ax : matplotlib Axes, optional
        Drawn on; a new one is made where it is not given.

    Returns
    -------
    matplotlib Axes
    """
    axes = plt.subplots(layout="constrained")[1] if ax is None else ax
    groups = list(table.groupby("rule", sort=False))
    width = 0.8 / len(groups)
    for number, (rule, rows) in enumerate(groups):
        shift = (number - (len(groups) - 1) / 2) * width
        axes.bar(rows["accepted"] + shift, rows["probability"], width=width, color=CYCLE[number % len(CYCLE)], label=str(rule))
    axes.set(xlabel="accepted length τ (tokens)", ylabel="probability", xticks=sorted(table["accepted"].unique()))
    _clean(axes)
    axes.legend(frameon=False, fontsize="small")
    return axes


def plot_block_efficiency(table: "pd.DataFrame", y: str = "block_efficiency", ax: "Axes | None" = None) -> "Axes":
    """Draw block efficiency, or speed-up, of each rule against gamma.

    Parameters
    ----------
    table : pandas.DataFrame
        From `theory.compare_blocks.efficiencies`.
    y : str
        ``"block_efficiency"`` or ``"speedup"``.
    ax : matplotlib Axes, optional
        Drawn on; a new one is made where it is not given.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        For a column that the table does not have.
    """
    if y not in table:
        raise ValueError(f"no column {y!r}; there are: {', '.join(table.columns)}")
    axes = plt.subplots(layout="constrained")[1] if ax is None else ax
    for number, (rule, rows) in enumerate(table.groupby("rule", sort=False)):
        colour, marker = CYCLE[number % len(CYCLE)], "osD^vP*Xd"[number % 9]
        axes.plot(rows["gamma"], rows[y], color=colour, marker=marker, markersize=5, linewidth=1, label=str(rule))
    label = "block efficiency (tokens per target call)" if y == "block_efficiency" else "predicted speed-up (ratio)"
    axes.set(xlabel="drafted tokens γ", ylabel=label)
    _clean(axes)
    axes.legend(frameon=False, fontsize="small")
    return axes


def plot_position_rates(table: "pd.DataFrame", ax: "Axes | None" = None) -> "Axes":
    """Draw the conditional and the unconditional acceptance rate of each position, with their intervals.

    Parameters
    ----------
    table : pandas.DataFrame
        From `theory.counts.position_intervals`.
    ax : matplotlib Axes, optional
        Drawn on; a new one is made where it is not given.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        For a table without the columns of intervals.
    """
    for column in (f"{name}{end}" for name in ("conditional", "unconditional") for end in ("", "_low", "_high")):
        if column not in table:
            raise ValueError(f"no column {column!r}; there are: {', '.join(map(str, table.columns))}")
    axes = plt.subplots(layout="constrained")[1] if ax is None else ax
    looks = {"conditional": (CYCLE[1], "o", -0.06), "unconditional": (CYCLE[2], "s", 0.06)}
    for name, (colour, marker, shift) in looks.items():
        rows = table[table[name].notna()]
        rate, low, high = (rows[f"{name}{end}"].to_numpy(dtype=np.float64) for end in ("", "_low", "_high"))
        places = rows["position"] + shift
        axes.plot(places, rate, color=colour, linewidth=0.8, alpha=0.6)
        axes.errorbar(places, rate, [rate - low, high - rate], color=colour, fmt=marker, markersize=5, capsize=3, label=name)
    axes.set(xlabel="position in the draft", ylabel="acceptance rate (probability)", xticks=table["position"], ylim=(0, 1.02))
    _clean(axes)
    axes.set_title(table["how"].iloc[0], fontsize="small", loc="left")
    axes.legend(frameon=False, fontsize="small")
    return axes


def plot_explained(explained: Any, tokens: int = 8, title: str | None = None, ax: "Axes | None" = None) -> "Axes":
    """Draw target, draft and induced mass of each region, and of the tokens that carry most of the total variation.

    A line each, so that long names have room: regions above, tokens below.

    Parameters
    ----------
    explained : Explanation
        From `theory.failure.explain`.
    tokens : int
        How many of the tokens of its table to show, at least 1.
    title : str, optional
        Above the axes; the verifier, and its total variation from the target, where it is not given.
    ax : matplotlib Axes, optional
        Drawn on; a new one is made where it is not given.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        Where ``tokens`` is out of range.
    """
    parameters.check_count("tokens", tokens)
    regions = explained.regions[explained.regions["tokens"] > 0]
    top = explained.tokens.head(tokens)
    count = len(regions) + len(top)
    axes = plt.subplots(figsize=(9, 1.4 + 0.3 * count), layout="constrained")[1] if ax is None else ax
    top_p = f"{float(explained.ceiling):.3g} p"
    ticks = {"underestimated": "q ≤ p", "moderate": f"p < q ≤ {top_p}", "severe": f"q > {top_p}"}
    labels = [
        ticks[row["region"]] + ("" if row["set"] == "all" else f", {row['set']}") + f" ({row['tokens']})"
        for _, row in regions.iterrows()
    ]
    labels += [_token_label(row["token"], row["text"]) for _, row in top.iterrows()]
    places = np.arange(count) + np.where(np.arange(count) < len(regions), 0, 0.6)
    for number, (column, colour, label) in enumerate(
        (("p", "#56B4E9", "target p"), ("q", "#E69F00", "draft q"), ("induced", "#000000", "induced π"))
    ):
        lengths = [float(value) for value in (*regions[column], *top[column])]
        axes.barh(places + 0.27 * (number - 1), lengths, height=0.27, color=colour, linewidth=0, label=label)
    axes.set_yticks(places, labels, fontsize="small")
    axes.invert_yaxis()
    if len(top):
        axes.axhline(len(regions) - 0.2, color="#999999", linewidth=0.8, linestyle=":")
    hidden = len(explained.tokens) - len(top)
    shown = f"the {len(top)} tokens that move most" + (f"\n({hidden} more in the table)" if hidden else "")
    axes.set(
        xlabel="probability",
        ylabel=f"region (tokens in it){f', and{chr(10)}{shown}' if len(top) else ''}",
        title=f"{explained.verifier}: TV(induced, target) = {float(explained.total_variation):.4g}" if title is None else title,
    )
    _clean(axes)
    axes.legend(frameon=False)
    return axes


LONGEST = 28
"""Characters of a token's text that `plot_explained` writes."""


def _token_label(token: Any, text: str) -> str:
    """Write a token so that every font has it, and no dollar sign begins a formula; a long text by its beginning."""
    quoted = text if token < 0 else ascii(text)
    if len(quoted) > LONGEST:
        quoted = f"{quoted[: LONGEST - 3]}..."
    if token < 0:
        return quoted
    escaped = quoted.replace("$", r"\$")
    return f"{token} {escaped}" if text else str(token)


PATH_LABELS = {
    "mixture": "t, where the draft is (1-t) q + t p",
    "geometric": "t, where the draft is ∝ q^(1-t) p^t",
    "worst-first": "share t of TV(p, q) removed from the draft, worst tokens first",
    "temperature": "temperature of both rows, relative to theirs",
    "draft-temperature": "temperature of the draft, relative to its own",
    "vocabulary": "vocabulary (tokens)",
}
"""Axis label of each path of `theory.failure.sensitivity`."""


def plot_sensitivity(
    table: "pd.DataFrame", y: str = "total_variation", path: str | None = None, ax: "Axes | None" = None
) -> "Axes":
    """Draw one quantity of each verifier along a path.

    Parameters
    ----------
    table : pandas.DataFrame
        From `theory.failure.sensitivity`.
    y : str
        A column of numbers.
    path : str, optional
        Which of the paths in the table; the only one where it is not given.
    ax : matplotlib Axes, optional
        Drawn on; a new one is made where it is not given.

    Returns
    -------
    matplotlib Axes

    Raises
    ------
    ValueError
        For a column or path that the table does not have, and where the table has several paths and none is named.
    """
    if y not in table:
        raise ValueError(f"no column {y!r}; there are: {', '.join(map(str, table.columns))}")
    there = list(dict.fromkeys(table["path"]))
    if path is None and len(there) != 1:
        raise ValueError(f"path: must be one of {', '.join(there)}")
    name = there[0] if path is None else path
    if name not in there:
        raise ValueError(f"path = {name!r}: the table has {', '.join(there)}")
    axes = plt.subplots(figsize=(8, 4.5), layout="constrained")[1] if ax is None else ax
    seen: dict[str, int] = {}
    colours = _colours(table)
    for verifier, rows in table[table["path"] == name].groupby("verifier", sort=False):
        rows = rows[np.isfinite(rows[y])]
        if rows.empty:
            continue
        rule = _rule(str(verifier), rows["family"].iloc[0])
        style, filling = VARIANTS[seen.setdefault(rule, 0) % len(VARIANTS)]
        seen[rule] += 1
        looks: dict[str, Any] = {"linestyle": style, "fillstyle": filling, "markersize": 5, "linewidth": 1}
        marker = MARKERS.get(rule, MARKERS.get(rule.partition(":")[0], "o"))
        axes.plot(rows["value"], rows[y], color=colours[rule], marker=marker, label=str(verifier), **looks)
    if name == "vocabulary":
        axes.set_xscale("log")
    axes.set(xlabel=PATH_LABELS.get(name, name), ylabel=LABELS.get(y, y.replace("_", " ")))
    _clean(axes)
    axes.legend(frameon=False, fontsize="small", loc="center left", bbox_to_anchor=(1.01, 0.5))
    return axes


def _is_users(family: str) -> bool:
    return family == "user" or family not in COLOURS


def _rule(verifier: str, family: str) -> str:
    """Name the rule of a verifier, with a name inside it; a user's by its class, and by where that is written."""
    if not _is_users(family):
        return _line(verifier).partition(",")[0].partition(":*")[0]
    first, *words = verifier.partition(",")[0].split(":")
    return f"{first}:{words[0]}" if words and words[0].isidentifier() else first


def _colours(table: "pd.DataFrame") -> dict[str, str]:
    """Give the colour of each rule: its family's, and one of its own for each rule of a user's."""
    named = {_rule(str(verifier), family): family for verifier, family in zip(table["verifier"], table["family"], strict=True)}
    users = [rule for rule, family in named.items() if _is_users(family)]
    own = {rule: USERS[place % len(USERS)] for place, rule in enumerate(users)}
    return {rule: own[rule] if rule in own else COLOURS[family] for rule, family in named.items()}


def _lines(table: "pd.DataFrame") -> Iterator[tuple[str, Any]]:
    """Group the rows of one rule at its several parameter values."""
    rows = zip(table["verifier"], table["family"], strict=True)
    names = [_users_line(verifier) if _is_users(family) else _line(verifier) for verifier, family in rows]
    yield from ((str(name), rows) for name, rows in table.groupby(np.array(names, dtype=object), sort=False))


def _users_line(verifier: str) -> str:
    """Name the line of a user's rule: without its numbers, which vary along it, be they written with their keywords or not."""
    rule = _rule(verifier, "user")
    arguments = [text for text in verifier[len(rule) + 1 :].split(",") if text]
    words = [text for text in arguments if not _is_number(text.rpartition("=")[2])]
    return f"{rule}:{','.join(words)}" if words else rule


def _line(verifier: str) -> str:
    """Name the line of a verifier: its short name without the values that vary along a line, which are those without keyword.

    Of a name inside a name only the first number varies; behind it stand fields that are not at their default.
    """
    head, *arguments = str(verifier).split(",")
    words = head.split(":")
    first = next((place for place, word in enumerate(words) if place and _is_number(word)), len(words))
    fixed = ["*", *words[first + 1 :]] if words[first + 1 :] else []
    return ",".join([":".join([*words[:first], *fixed]), *(text for text in arguments if not _is_number(text))])


def _is_number(text: str) -> bool:
    try:
        return bool([float(part) for part in text.split("/")])
    except ValueError:
        return False


def _clean(axes: "Axes") -> None:
    axes.spines[["top", "right"]].set_visible(False)
