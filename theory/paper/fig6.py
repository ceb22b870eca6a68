"""Figure 6: accuracy against accepted length on EAGLE-3, the paper's points beside lengths predicted from one or two of them.

Lengths come from the tree model of `theory.paper.trees`, calibrated on strict verification and lenience: it has seen no row of a
method that truncates. Accuracies are the paper's, since nothing here can tell how many answers a Llama gets right. What is
predicted instead is the distortion at a node, given its candidates: total variation from the rule's *true baseline* (the
truncated target, or the target for lenience). The KL of the paper's Lemma 2 would be infinite for the rules as coded, whose last
token leaves the allowed set; ``kl_to_target`` is to the full target.

The paper's horizontal axis is called block efficiency; it is the accepted length, without the extra token (its Appendix H.1).
Lenience is in its Table 5, not in its Figure 6. Typical acceptance is run as coded, with the chance min(1, p/τ); its ``printed``
rows are Eq. 28, which reads p off the truncated target and is all but an indicator.

What the model misses is truncation sampling: in it a truncated target is met about as often as the whole one. Its sharpness is
certain to one digit at most.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from theory import parameters
from theory.paper import knobs, real, style, tables, trees
from theory.paper.agreement import Claim, beside, rank_correlation, span

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Figure 6: accuracy against accepted length on EAGLE-3 trees"

CLAIM = (
    "On EAGLE-3, truncation-based verification buys a little accepted length with accuracy: SpecCascade and above all typical "
    "acceptance fall below the truncation sampling that they are sold as, which stays at or above the default baseline."
)

COLUMNS = {
    "source": "paper (Table 5), one number or two numbers (the tree model, by what it was calibrated on), or trace",
    "benchmark": "the paper's benchmark; SmolLM2 for the trace",
    "method": "method of Table 5; strict is its EAGLE-3 row",
    "parameter": "ℓ of lenience, p_base of min-p sampling and SpecCascade, ε of eta sampling and typical acceptance",
    "reading": "coded or printed, where the paper's code and its equations differ; else empty",
    "accepted_length": "tokens per target call, without the extra one",
    "accuracy_percent": "the paper's accuracy or Pass@1, percent; of the paper's rows only",
    "total_variation": "TV at a node between the emitted law, given the candidates, and the rule's true baseline; a probability",
    "kl_to_target": "KL at a node from the emitted law, given the candidates, to the full target, nats",
    "sharpness": "β of the model, the target's inverse temperature in units of the logits' standard deviation",
    "draft_error": "σ of the model, noise of the draft's logits in the same units",
}

METHODS = ("strict", "min_p_sampling", "spec_cascade", "eta_sampling", "typical_acceptance", "lenience")
"""In the paper's order; it has no lenience here."""

FITTED = ("strict", "lenience")
"""Methods whose rows the models are calibrated on."""

LOSSY = ("spec_cascade", "typical_acceptance")
"""Truncation-based verification."""

SETTINGS = {"p_bases": (0.1, 0.3, 0.5, 0.7, 0.9), "epsilons": (0.05, 0.1, 0.15, 0.2, 0.25), "leniences": tables.SWEEP}
"""Parameters of Table 5."""

SWEPT = {"min_p_sampling": "p_bases", "spec_cascade": "p_bases", "eta_sampling": "epsilons", "typical_acceptance": "epsilons"}
SWEPT |= {"lenience": "leniences"}
"""Method to the knob that has its parameters."""


@knobs.recorded
def compute(
    quick: bool = False,
    *,
    methods: Sequence[str] = METHODS,
    p_bases: Sequence[float] = SETTINGS["p_bases"],
    epsilons: Sequence[float] = SETTINGS["epsilons"],
    leniences: Sequence[float] = SETTINGS["leniences"],
    benchmarks: Sequence[str] = tables.BENCHMARKS,
    depth: int = trees.DEPTH,
    children: int = trees.CHILDREN,
    tokens: int = trees.TOKENS,
    count: int | None = None,
    seed: int = trees.SEED,
    trace: real.Rows | None = None,
) -> "pd.DataFrame":
    """Compute lengths and distortions for methods of Table 5 by each calibration, and on the trace.

    Parameters
    ----------
    quick : bool
        Whether to take fewer nodes of the model, where ``count`` is not given, and the first two texts of the trace.
    methods : sequence of str
        Of `METHODS`.
    p_bases : sequence of float
        Of min-p sampling and SpecCascade, in (0, 1].
    epsilons : sequence of float
        Of eta sampling and typical acceptance, in (0, 1].
    leniences : sequence of float
        ℓ of lenience, in (0, 1].
    benchmarks : sequence of str
        Of the paper's, a column each.
    depth : int
        Levels of the tree, at least 1. The models are calibrated at 6, and the paper's rows are shown at 6 only.
    children : int
        Tokens tried at a node, in [1, tokens].
    tokens : int
        Vocabulary of the model's nodes, at least 2.
    count : int
        Nodes of the model, at least 1. Default: 200.
    seed : int
        Of the model's nodes, at least 0.
    trace : trace, path, list of them, or rows (p, q)
        The real pair, of texts with at least ``depth`` positions. Default: the bundled one.

    Returns
    -------
    pandas.DataFrame
        With `COLUMNS`, by method in the order of `METHODS`.
    """
    import pandas as pd

    shown = knobs.choices("methods", methods, METHODS)
    places = knobs.choices("benchmarks", benchmarks, tables.BENCHMARKS)
    grids = {"p_bases": p_bases, "epsilons": epsilons, "leniences": leniences}
    values = {name: knobs.numbers(name, own, "(0, 1]") for name, own in grids.items()}
    settings = [(method, x) for method in shown for x in (values[SWEPT[method]] if method in SWEPT else [None])]
    parameters.check_count("depth", depth)
    texts = real.texts(trace)
    size, shape = (trees.QUICK_COUNT if quick else trees.COUNT) if count is None else count, trees.Shape(tokens, children, seed)
    printed = tables.table_5().replace({"method": {"eagle3": "strict"}})
    printed = printed[printed["method"].isin(shown) & printed["benchmark"].isin(places) & (depth == trees.DEPTH)]
    rows: list[dict[str, Any]] = [
        {"source": "paper", "reading": ""} | {str(name): row[name] for name in COLUMNS if name in row}
        for row in printed.to_dict("records")
    ]
    for source in trees.CALIBRATIONS:
        for benchmark in places:
            model = trees.calibrated(source, benchmark, size, shape)
            place = {"source": source, "benchmark": benchmark, "sharpness": model.sharpness, "draft_error": model.error}
            for method, x, reading in _readings(settings, both=source == "two numbers"):
                found = trees.predict(source, benchmark, method, x, reading != "printed", size, shape, depth)
                rows.append(place | _row(method, x, reading, *found))
    nodes, number = trees.recorded(2 if quick else None, texts, children), 2 if quick else None
    for method, x, reading in _readings(settings, both=False):
        rates, *away = trees.measure(nodes, method, x)
        ends = np.cumsum(texts.lengths[:number])[:-1]
        length = float(real.accepted_length(np.split(rates, ends), depth).mean())
        rows.append({"source": "trace", "benchmark": texts.name} | _row(method, x, reading, length, *away))
    table = pd.DataFrame(rows, columns=list(COLUMNS))
    order = {method: place for place, method in enumerate(METHODS)}
    return table.sort_values("method", key=lambda names: names.map(order), kind="stable", ignore_index=True)


def _readings(settings: "Iterable[tuple[str, float | None]]", both: bool) -> Iterator[tuple[str, float | None, str]]:
    """Give each method, parameter and reading; both readings of typical acceptance if so asked."""
    for method, x in settings:
        readings = [""] if method not in LOSSY else ["coded"]
        if both and method == "typical_acceptance":
            readings.append("printed")
        for reading in readings:
            yield method, x, reading


def _row(method: str, x: float | None, reading: str, length: float, away: float, kl: float) -> dict[str, Any]:
    return {
        "method": method,
        "parameter": x,
        "reading": reading,
        "accepted_length": length,
        "total_variation": away,
        "kl_to_target": kl,
    }


# --- agreement ------------------------------------------------------------------------------------------------------


def paired(table: "pd.DataFrame", source: str, reading: str = "coded") -> "pd.DataFrame":
    """Give the rows of one calibration beside the paper's.

    Parameters
    ----------
    table : pandas.DataFrame
        From `compute`.
    source : str
        Of `theory.paper.trees.CALIBRATIONS`.
    reading : str
        Of typical acceptance.

    Returns
    -------
    pandas.DataFrame
        As `theory.paper.agreement.beside` gives it; accuracies are the paper's only.
    """
    other = (table["source"] == source) & (table["method"] == "typical_acceptance") & (table["reading"] != reading)
    return beside(table[~other], ["accepted_length", "accuracy_percent"], source)


def agreement(table: "pd.DataFrame", source: str, reading: str = "coded") -> "pd.DataFrame":
    """Say how far predicted lengths are from the paper's, for each method and benchmark.

    Parameters
    ----------
    table, source, reading
        As for `paired`.

    Returns
    -------
    pandas.DataFrame
        ``method``, ``benchmark``, ``mean_absolute_error`` (tokens), and ``spearman``, the rank correlation over the method's
        parameters; NaN where either side is constant.
    """
    import pandas as pd

    both = paired(table, source, reading)
    rows = [
        (
            method,
            benchmark,
            group["accepted_length_error"].abs().mean(),
            rank_correlation(group["accepted_length_ours"], group["accepted_length_paper"]),
        )
        for (method, benchmark), group in both[both["method"] != "strict"].groupby(["method", "benchmark"], sort=False)
    ]
    return pd.DataFrame(rows, columns=["method", "benchmark", "mean_absolute_error", "spearman"])


def ranks(table: "pd.DataFrame") -> "pd.DataFrame":
    """Compare the paper's accuracies with our distortions, over the rows of truncation-based verification.

    Parameters
    ----------
    table : pandas.DataFrame
        From `compute`.

    Returns
    -------
    pandas.DataFrame
        ``benchmark`` and ``spearman``, the rank correlation of total variation (two numbers) with accuracy: -1 where more
        distortion is always less accuracy.
    """
    import pandas as pd

    both = paired(table, "two numbers")
    groups = both[both["method"].isin(LOSSY)].groupby("benchmark", sort=False)
    rows = [
        (benchmark, rank_correlation(group["total_variation"], group["accuracy_percent_paper"])) for benchmark, group in groups
    ]
    return pd.DataFrame(rows, columns=["benchmark", "spearman"])


@knobs.weighed
def headline(table: "pd.DataFrame") -> str:
    """Say how far predicted lengths are from the paper's, with one number a benchmark and with two, and what lossy rules pay."""
    sides = {source: paired(table, source) for source in trees.CALIBRATIONS}
    free = {source: rows[~rows["method"].isin(FITTED)] for source, rows in sides.items()}
    off = {source: rows["accepted_length_error"].abs() for source, rows in free.items()}
    one, two = trees.CALIBRATIONS
    by_benchmark = off[one].groupby(free[one]["benchmark"]).mean()
    by_method = off[two].groupby(free[two]["method"]).mean()
    named = ", ".join(f"{style.METHODS[method][0]} {by_method[method]:.2f}" for method in METHODS if method in by_method)
    printed = agreement(table, two, "printed").set_index("method")["mean_absolute_error"]["typical_acceptance"].mean()
    order = ranks(table)["spearman"]
    strict, eta = (sides[two][sides[two]["method"] == name].set_index("benchmark") for name in ("strict", "eta_sampling"))
    mildest = eta[eta["parameter"] == eta["parameter"].min()]
    paper, ours = (mildest[name] - strict[name] for name in ("accepted_length_paper", "accepted_length_ours"))
    return (
        f"From each benchmark's strict length and one sharpness for all, the lengths of {len(off[one])} rows not fitted come out "
        f"{off[one].mean():.2f} tokens off in the mean, most on {by_benchmark.idxmax()} ({by_benchmark.max():.2f}); with "
        f"lenience 0.2 as a second number for each benchmark {off[two].mean():.2f} ({named}; with Eq. 28 as printed "
        f"{printed:.2f}). Over the rows of SpecCascade and typical acceptance the paper's accuracy has rank correlation "
        f"{order.min():.2f} to {order.max():.2f} with the predicted distortion. The mildest eta sampling "
        f"({mildest['parameter'].iloc[0]:g}) moves the paper's length from strict by {span(paper)}, the model's by {span(ours)}."
    )


# --- drawing --------------------------------------------------------------------------------------------------------


def plot(table: "pd.DataFrame", ax: "style.Place | None" = None) -> "Figure":
    """Draw a column for each benchmark, the paper's accuracy above what each rule distorts; below, how far lengths agree.

    Where the table has no rows of the paper's, only what is distorted is drawn.
    """
    two, ours = paired(table, "two numbers"), table[(table["source"] == "two numbers") & (table["reading"] != "printed")]
    places, trace = list(dict.fromkeys(ours["benchmark"])), table[table["source"] == "trace"]
    if two.empty:
        return _plot_ours(ours, places, trace, ax)
    columns = max(4, len(places))
    figure, axes = style.panels(ax, 3, columns, 13 * columns / 4, 10.2)
    for place, benchmark in enumerate(places):
        _draw_accuracy(axes[0, place], two[two["benchmark"] == benchmark])
        _draw_distortion(axes[1, place], ours[ours["benchmark"] == benchmark])
        axes[0, place].set_title(f"({'abcd'[place]}) {benchmark}")
        low, high = zip(*(axis.get_xlim() for axis in axes[:2, place]), strict=True)
        for axis in axes[:2, place]:
            axis.set_xlim(min(low), max(high))
    for spare in axes[:2, len(places) :].flat:
        spare.remove()
    axes[0, 0].set_ylabel("accuracy or Pass@1 (%)")
    axes[1, 0].set_ylabel("ours: TV from the true baseline\n(probability)")
    _draw_parity(axes[2, 0], table)
    for axis, source, letter in zip(axes[2, 1:3], trees.CALIBRATIONS, "fg", strict=True):
        found = agreement(table, source)
        if len(found):
            _draw_agreement(axis, found)
            axis.set_title(f"({letter}) off by, tokens, and rank ρ:\n{source} a benchmark")
        else:
            axis.remove()
    if axes[2, 2].figure is not None:
        axes[2, 2].set_yticklabels([])  # as beside it
    _draw_distortion(axes[2, 3], trace)
    axes[2, 3].set(title=f"(h) {trace['benchmark'].iloc[0]}, a real pair", ylabel="TV from the true baseline\n(probability)")
    _legend(figure)
    return figure


def _plot_ours(ours: "pd.DataFrame", places: list[str], trace: "pd.DataFrame", ax: "style.Place | None") -> "Figure":
    figure, axes = style.panels(ax, 1, len(places) + 1, 3.25 * (len(places) + 1), 3.6)
    for (letter, axis), place in zip(style.lettered(axes, len(places) + 1), [*places, ""], strict=True):
        _draw_distortion(axis, ours[ours["benchmark"] == place] if place else trace)
        axis.set_title(f"({letter}) {place or trace['benchmark'].iloc[0] + ', a real pair'}")
    axes[0, 0].set_ylabel("TV from the true baseline\n(probability)")
    _legend(figure)
    return figure


def _draw_accuracy(axes: "Axes", rows: "pd.DataFrame") -> None:
    for name, group in rows.groupby("method", sort=False):
        method = str(name)
        colour = style.METHODS[method][1]
        paper, ours, percent = (group[of] for of in ("accepted_length_paper", "accepted_length_ours", "accuracy_percent_paper"))
        axes.hlines(percent, paper, ours, color=colour, linewidth=0.7, alpha=0.6)
        style.paper_points(axes, paper, percent, method)
        _dots(axes, ours, percent, method)
    axes.set_xlabel("accepted length (tokens)")


def _draw_distortion(axes: "Axes", rows: "pd.DataFrame") -> None:
    for name, group in rows.groupby("method", sort=False):
        method = str(name)
        if len(group) > 1:
            style.our_line(axes, group["accepted_length"], group["total_variation"], method)
        _dots(axes, group["accepted_length"], group["total_variation"], method)
    axes.set_xlabel("accepted length (tokens)")


def _dots(axes: "Axes", x: Any, y: Any, method: str) -> None:
    _, colour, marker = style.METHODS[method]
    axes.plot(x, y, linestyle="none", marker=marker, color=colour, markersize=9 if marker == "*" else 3.5, zorder=4)


def _draw_parity(axes: "Axes", table: "pd.DataFrame") -> None:
    for source, marker, size in zip(trees.CALIBRATIONS, "xo", (4, 3.5), strict=True):
        for method, group in paired(table, source).groupby("method", sort=False):
            colour = style.METHODS[str(method)][1]
            x, y = group["accepted_length_paper"], group["accepted_length_ours"]
            axes.plot(x, y, linestyle="none", color=colour, marker=marker, markersize=size)
    axes.axline((0, 0), slope=1, color="#999999", linewidth=0.8, zorder=0)
    axes.set(xlabel="the paper's accepted length (tokens)", ylabel="predicted (tokens)", title="(e) all rows of Table 5")


def _draw_agreement(axes: "Axes", rows: "pd.DataFrame") -> None:
    methods = [method for method in METHODS if (rows["method"] == method).any()]
    benchmarks = [benchmark for benchmark in tables.BENCHMARKS if (rows["benchmark"] == benchmark).any()]
    cells = {(row["method"], row["benchmark"]): (row["mean_absolute_error"], row["spearman"]) for row in rows.to_dict("records")}
    axes.imshow(
        [[cells[method, one][0] for one in benchmarks] for method in methods], cmap="Blues", vmin=0, vmax=0.6, aspect="auto"
    )
    for (method, benchmark), (error, correlation) in cells.items():
        text = f"{error:.2f}\nρ " + ("–" if np.isnan(correlation) else f"{correlation:.2f}")
        place = benchmarks.index(benchmark), methods.index(method)
        axes.text(*place, text, ha="center", va="center", fontsize=7, color="white" if error > 0.36 else "black")
    axes.set_xticks(range(len(benchmarks)), benchmarks)
    axes.set_yticks(range(len(methods)), [style.METHODS[method][0].replace(" ", "\n") for method in methods])
    axes.grid(False)
    axes.tick_params(length=0)


def _legend(figure: "Figure") -> None:
    from matplotlib.lines import Line2D

    def entry(label: str, marker: str, size: float, colour: str = "#555555", fill: str | None = None) -> Line2D:
        return Line2D(
            [], [], linestyle="none", marker=marker, markersize=size, color=colour, markerfacecolor=fill or colour, label=label
        )

    entries = [
        entry(name, marker, 10 if marker == "*" else 6, colour)
        for name, colour, marker in (style.METHODS[method] for method in METHODS)
    ]
    entries += [
        entry("hollow: the paper (Table 5)", "o", 6, fill="none"),
        entry("filled: ours, two numbers a benchmark; accuracy is the paper's", "o", 3.5),
        entry("cross in (e): ours, one number a benchmark", "x", 4),
    ]
    figure.legend(handles=entries, loc="outside lower center", ncols=5)


# --- claims ------------------------------------------------------------------------------------------------------------


def _over_matched(table: "pd.DataFrame", side: str) -> Sequence[float]:
    """Give what each lossy method gains in length over its matched sampling, the mean over benchmarks and parameters."""
    both = paired(table, "two numbers")
    mean = both.groupby("method")[f"accepted_length_{side}"].mean()
    return [mean[lossy] - mean[tables.MATCHED[lossy]] for lossy in LOSSY]


def _accuracies(table: "pd.DataFrame", side: str) -> Sequence[float]:
    mean = paired(table, "two numbers").groupby("method")["accuracy_percent_paper"].mean()
    return [mean[method] - mean["strict"] for method in (*LOSSY, *tables.MATCHED.values())]


def _distortions(table: "pd.DataFrame", side: str) -> Sequence[float]:
    order = ranks(table)["spearman"]
    mean = table[table["source"] == "two numbers"].groupby("method")["total_variation"].mean()
    return [mean["spec_cascade"], mean["typical_acceptance"], order.min(), order.max()]


CLAIMS = (
    Claim(
        "On trees truncation-based verification buys a little accepted length.",
        _over_matched,
        "{:+.2f} tokens over its matched sampling (SpecCascade), {:+.2f} (typical acceptance)",
        "each between 0 and 1 token",
        lambda gain: [0 < one < 1 for one in gain],
        "What is allowed is accepted surely, where truncation sampling weighs it; the model has seen no row of either.",
    ),
    Claim(
        "SpecCascade and above all typical acceptance fall below the truncation sampling that they are sold as.",
        _distortions,
        "TV from the true baseline {:.3f} and {:.3f}; rank correlation of the paper's accuracy with it {:.2f} to {:.2f}",
        "both distort, typical acceptance more, and on every benchmark accuracy falls with distortion",
        lambda found: [0 < found[0] < found[1], found[3] < 0],
        "Accuracy on these tasks cannot be had here; the distortion can, and it orders the paper's accuracies.",
        printed="accuracies only",
    ),
    Claim(
        "Truncation sampling stays at or above the default baseline.",
        lambda table, side: _accuracies(table, side)[2:],
        "mean accuracy {:+.2f} points from strict (min-p), {:+.2f} (eta), by the paper's rows",
        "neither below strict in the mean",
        lambda change: [one >= 0 for one in change],
        "By Table 5's rows; in our model truncation sampling distorts nothing against its baseline, by definition.",
    ),
)
