"""Figure 3: accuracy against block efficiency as lenience and CoS are turned up.

Two models make our lines, one for each axis. Block efficiency: the held-out model of `calibration`, in which lenience rows were
fitted (left out in turn, they are predicted about as well) and CoS rows were not. Accuracy: the reasoning chain of `accuracy`,
fitted on the strict row and one CoS row of each benchmark.

Bands and bars: up and down, 95% of what 3 runs over so many problems leave open; left and right, the range of the three models
of `calibration` in which a draft has a profile. The paper's bars are its standard deviations of 3 runs.

On the real pair nothing is solved or failed. One panel has 1 - TV(induced, target) per token. It cannot tell the two rules
apart: both stand on the line TV(induced, target) + rejection rate = TV(p, q), below which there is nothing (Yin et al., Thm 5),
so that for as many accepted tokens they are as far from the target. They differ in where the distance lies. So the last panel has
the share of tokens that are not overshot, 1 - induced mass on tokens more than 5 times as likely as under the target. As 5 is
the ceiling at ℓ = 0.2, lenience has all of it by construction; CoS shows what that is worth. Both with 95% bands over prompts.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from theory import divergences
from theory.paper import accuracy, calibration, real, style, tables
from theory.paper.tables import BENCHMARKS, GAMMA
from theory.probs import Array
from theory.verifiers import TokenVerifier

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Figure 3: what collaborative verification pays for block efficiency"
CLAIM = (
    "CoS trades accuracy for block efficiency, steeply; lenience keeps the accuracy of lossless verification at a slightly "
    "higher block efficiency."
)
COLUMNS = {
    "source": "paper (Table 4), theory or trace (a real pair)",
    "benchmark": "the paper's benchmark; SmolLM2 for the trace",
    "measure": "what quality is: accuracy, likeness or no overshoot",
    "method": "method of Table 4",
    "parameter": "ℓ of lenience, draft weight of CoS; NaN for strict",
    "block_efficiency": "tokens per target call, γ = 10, the extra one included",
    "block_efficiency_low": "of the paper, one standard deviation below; of theory, the least of three models; of the trace, the "
    "lower end of the 95% band over prompts",
    "block_efficiency_high": "upper end, likewise",
    "quality": "percent: accuracy or Pass@1; likeness, 1 - TV(induced, target) per token; no overshoot, 1 - induced mass on "
    "tokens more than 5 times as likely as under the target",
    "quality_low": "of the paper, one standard deviation below; of theory, the lower end of the 95% band of 3 runs; of the "
    "trace, of the 95% band over prompts",
    "quality_high": "upper end, likewise",
    "efficiency_fitted": "of theory, whether the paper's block efficiency at this row was fitted",
    "quality_fitted": "of theory, whether the paper's accuracy at this row was fitted",
}

FITTED = ("efficiency_fitted", "quality_fitted")
SIDES = ("paper", "ours")
TOKENS_OFF, POINTS_OFF = "block_efficiency_error", "quality_error"

METHODS = ("lenience", "cos_draft_weight")
"""Beside strict verification."""

MODEL = "off-track"
"""Of `calibration.MODELS`: its lines are drawn. The others that have a profile make the range."""

PAIR = "SmolLM2"
"""What stands for a benchmark on the trace."""

Setting = tuple[str, float | None]
"""A method of Table 4 and its parameter."""


def settings_of(method: str) -> list[float]:
    """Give the parameters of a method in Table 4."""
    table = tables.table_4()
    return sorted(float(value) for value in table.loc[table["method"] == method, "parameter"].unique())


# --- two models, two axes -------------------------------------------------------------------------------------------


class Interval(NamedTuple):
    """A value, or an array of them, and between what it is thought to be."""

    value: Any
    low: Any
    high: Any

    def named(self, name: str, place: int | None = None) -> dict[str, Any]:
        """Give the columns of one of its values, under a name."""
        values = self if place is None else Interval(*(part[place] for part in self))
        return dict(zip((name, f"{name}_low", f"{name}_high"), values, strict=True))


def efficiencies(benchmark: str, verifiers: Iterable[TokenVerifier]) -> Interval:
    """Predict block efficiencies on a benchmark.

    Parameters
    ----------
    benchmark : str
        Of the paper's.
    verifiers : iterable of TokenVerifier
        n rules.

    Returns
    -------
    Interval of ndarray, shape (n,)
        Tokens per target call, by `MODEL`; the range is over it, the same with texts that never leave the track, and the same
        with all rows seen.
    """
    rules = tuple(verifiers)
    values = {model: calibration.profile(benchmark, model).block_efficiencies(rules) for model in calibration.MODELS[1:]}
    every = np.stack(list(values.values()))
    return Interval(values[MODEL], every.min(axis=0), every.max(axis=0))


def qualities(benchmark: str, verifiers: Iterable[TokenVerifier]) -> Interval:
    """Predict accuracies on a benchmark, percent, with the 95% band of a mean of 3 runs; arrays of shape (n,)."""
    from scipy.stats import norm

    exam = accuracy.calibrate(benchmark)
    values = np.array([exam.percent(rule) for rule in verifiers])
    half = norm.ppf(0.975) * np.array([accuracy.sampling_points(benchmark, value) for value in values])
    return Interval(values, values - half, values + half)


@cache
def seen() -> tuple[frozenset[tuple[str, Setting]], frozenset[tuple[str, Setting]]]:
    """Give which (benchmark, setting) of Table 4 were fitted, for block efficiency and for accuracy."""
    efficiency = calibration.predictions().query("model == @MODEL and fitted")
    quality = accuracy.predictions().query("used_for_fit")
    first, second = (
        frozenset(
            (str(benchmark), (str(method), None if parameter != parameter else float(parameter)))
            for benchmark, method, parameter in rows[["benchmark", "method", "parameter"]].itertuples(index=False)
        )
        for rows in (efficiency, quality)
    )
    return first, second


def predicted(benchmark: str, settings: Sequence[Setting]) -> list[dict[str, Any]]:
    """Give the rows of theory for some settings on a benchmark."""
    rules = [tables.verifier(*setting) for setting in settings]
    x, y = efficiencies(benchmark, rules), qualities(benchmark, rules)
    first, second = seen()
    return [
        {
            "source": "theory",
            "benchmark": benchmark,
            "measure": "accuracy",
            "method": setting[0],
            "parameter": setting[1],
            **x.named("block_efficiency", place),
            **y.named("quality", place),
            "efficiency_fitted": (benchmark, setting) in first,
            "quality_fitted": (benchmark, setting) in second,
        }
        for place, setting in enumerate(settings)
    ]


def reported(methods: Iterable[str]) -> list[dict[str, Any]]:
    """Give the paper's rows of some methods, a standard deviation each way."""
    table = tables.table_4()
    rows = []
    for row in table[table["method"].isin(list(methods))].to_dict("records"):
        x, y = (
            Interval(row[name], row[name] - row[spread], row[name] + row[spread])
            for name, spread in (("block_efficiency", "block_efficiency_std"), ("accuracy_percent", "accuracy_std"))
        )
        about = {"source": "paper", "measure": "accuracy"} | {name: row[name] for name in ("benchmark", "method", "parameter")}
        rows.append(about | x.named("block_efficiency") | y.named("quality") | dict.fromkeys(FITTED, False))
    return rows


# --- the real pair --------------------------------------------------------------------------------------------------


def over_prompts(values: Array) -> Interval:
    """Give the mean over the prompts of a trace, with the 95% band of Student's t over them.

    Parameters
    ----------
    values : ndarray, shape (prompts,)
        One number each: positions of one text depend on each other, texts do not.

    Examples
    --------
    >>> Interval(*(round(float(x), 3) for x in over_prompts(np.array([1.0, 2.0, 3.0]))))
    Interval(value=2.0, low=-0.484, high=4.484)
    """
    from scipy.stats import t

    mean = float(values.mean())
    half = float(t.ppf(0.975, values.size - 1) * values.std(ddof=1) / np.sqrt(values.size))
    return Interval(mean, mean - half, mean + half)


def along_the_texts(rates: Array, gamma: int = GAMMA) -> Interval:
    """Give the block efficiency along recorded texts, as `real.block_efficiency`, with its band over them.

    Parameters
    ----------
    rates : ndarray, shape (prompts, positions)
        Acceptance rates, as `real.acceptance` gives them.
    gamma : int
        Drafted tokens.

    Returns
    -------
    Interval of float
        Tokens per target call.

    Examples
    --------
    >>> along_the_texts(np.array([[0.5, 0.5, 0.5], [0.0, 0.0, 0.0]]), gamma=2).value
    1.375
    """
    windows = np.lib.stride_tricks.sliding_window_view(rates, gamma, axis=1)
    return over_prompts(1 + np.cumprod(windows, axis=-1).sum(axis=-1).mean(axis=-1))


OVERSHOOT = 5
"""What induced/target is above where a token is overshot: the ceiling of the paper's most lenient setting."""

LACKS: dict[str, Callable[[Array, Array], Any]] = {
    "likeness": divergences.total_variation,
    "no overshoot": lambda induced, target: divergences.overshoot_mass(induced, target, OVERSHOOT),
}
"""Measure on the trace to what it is 1 minus."""


def traced(settings: Iterable[Setting]) -> list[dict[str, Any]]:
    """Give the rows of the trace for some settings, each measure after the other."""
    rows = []
    for method, parameter in settings:
        rule = tables.verifier(method, parameter)
        rates, (target, draft) = real.acceptance(rule), real.rows()
        x, induced = along_the_texts(rates), rule.induced(target, draft)
        for measure, lack in LACKS.items():
            y = over_prompts(100 * (1 - lack(induced, target).reshape(rates.shape).mean(axis=-1)))
            about = {"source": "trace", "benchmark": PAIR, "measure": measure, "method": method, "parameter": parameter}
            rows.append(about | x.named("block_efficiency") | y.named("quality") | dict.fromkeys(FITTED, False))
    return sorted(rows, key=lambda row: list(LACKS).index(row["measure"]))


# --- the figure -----------------------------------------------------------------------------------------------------


def grid(method: str, quick: bool) -> list[Setting]:
    """Give the settings of a line in the order of the sweep, from strict on; the paper's are among them."""
    step = 0.2 if quick else 0.05
    ends = (1.0, 0.2) if method == "lenience" else (0.0, 0.8)
    values = np.linspace(*ends, round(0.8 / step) + 1)
    return [(method, round(float(value), 6)) for value in values]


def compute(quick: bool = False) -> "pd.DataFrame":
    """Compute both axes for the paper's settings and between them; ``quick`` leaves out what lies between."""
    import pandas as pd

    settings: list[Setting] = [("strict", None), *(setting for method in METHODS for setting in grid(method, quick))]
    rows = reported(("strict", *METHODS))
    for benchmark in BENCHMARKS:
        rows += predicted(benchmark, settings)
    return pd.DataFrame(rows + traced(settings), columns=list(COLUMNS)).astype({"parameter": float})


def draw(ax: "Axes", table: "pd.DataFrame", methods: Iterable[str], bands: bool = True) -> None:
    """Draw one panel: our lines with filled points at the paper's settings, the paper's hollow ones, and two lines at strict."""
    for method in ("strict", *methods):
        own = table[table["method"] == method]
        paper, ours = own[own["source"] == "paper"], own[own["source"] != "paper"]
        name, colour, marker = style.METHODS[method]
        if method != "strict":
            x, y, low, high = (ours[column] for column in ("block_efficiency", "quality", "quality_low", "quality_high"))
            style.our_line(ax, x, y, method, f"{name}, ours", *((low, high) if bands else ()))
            ours = ours[ours["parameter"].isin(settings_of(method))]
        looks: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": "none", "elinewidth": 0.8, "zorder": 4}
        looks |= {"markersize": 7, "label": f"{name}, ours"} if method == "strict" else {"markersize": 3.5}
        ax.errorbar(ours["block_efficiency"], ours["quality"], xerr=bars(ours, "block_efficiency"), **looks)
        if len(paper):
            errors = {"xerr": bars(paper, "block_efficiency"), "yerr": bars(paper, "quality")}
            style.paper_points(ax, paper["block_efficiency"], paper["quality"], method, f"{name}, the paper", **errors)
    strict = table[table["method"] == "strict"].iloc[0]
    for line, column in ((ax.axvline, "block_efficiency"), (ax.axhline, "quality")):
        line(strict[column], color="#000000", linestyle="--", linewidth=0.7, zorder=0)


def legend(figure: "Figure", axes: Iterable["Axes"], methods: Iterable[str], columns: int) -> None:
    """Put one legend below: for each method ours above the paper's, and then what else the panels name."""
    entries: dict[str, Any] = {}
    for ax in axes:
        entries |= {label: handle for handle, label in zip(*ax.get_legend_handles_labels(), strict=True) if label not in entries}
    order = [f"{style.METHODS[method][0]}, {whose}" for method in methods for whose in ("ours", "the paper")]
    order += [label for label in entries if label not in order]
    figure.legend([entries[label] for label in order], order, loc="outside lower center", ncols=columns)


def bars(rows: "pd.DataFrame", name: str) -> Array:
    """Give how far the ends of a column are from it, as ``errorbar`` takes them; shape (2, rows)."""
    middle, low, high = (rows[column].to_numpy(dtype=float) for column in (name, f"{name}_low", f"{name}_high"))
    return np.stack([middle - low, high - middle])


QUALITY = {
    "accuracy": "accuracy or Pass@1 (%)",
    "likeness": "1 - TV(induced, target) (%)",
    "no overshoot": f"1 - mass above {OVERSHOOT} × target (%)",
}
"""Measure to its axis."""


def plot(table: "pd.DataFrame", figure: "Figure | None" = None) -> "Figure":
    """Draw the paper's four panels, and the real pair by two measures."""
    figure, axes = style.panels(figure, 2, 3, 11, 7.2)
    panels = table.groupby(["benchmark", "measure"], sort=False)
    for ax, letter, ((name, measure), part) in zip(axes.flat, "abcdef", panels, strict=True):
        draw(ax, part, METHODS)
        ax.set_title(f"({letter}) {name}" + (f", a real pair: {measure}" if name == PAIR else ""))
        ax.set(xlabel="block efficiency (tokens per target call)", ylabel=QUALITY[str(measure)])
    for group in (axes.flat[:4], axes.flat[4:]):  # the paper's panels share their vertical axis
        low, high = zip(*(ax.get_ylim() for ax in group), strict=True)
        for ax in group:
            ax.set_ylim(min(low), max(high))
    legend(figure, [axes[0, 0]], ["strict", *METHODS], columns=3)
    return figure


# --- agreement ------------------------------------------------------------------------------------------------------


def beside(table: "pd.DataFrame", columns: Sequence[str] = ("block_efficiency", "quality")) -> "pd.DataFrame":
    """Give each of the paper's rows beside ours.

    Parameters
    ----------
    table : pandas.DataFrame
        With a row of ``source`` theory for each of ``source`` paper, by benchmark, method and parameter.
    columns : sequence of str
        What is compared.

    Returns
    -------
    pandas.DataFrame
        Its columns with suffixes ``_paper`` and ``_ours``, and for each of ``columns`` one that ends in ``_error``, ours - the
        paper's, in its unit.
    """
    keys = ["benchmark", "method", "parameter"]
    paper, ours = (table[table["source"] == source] for source in ("paper", "theory"))
    both = paper[[*keys, *columns]].merge(ours, on=keys, suffixes=("_paper", "_ours"), validate="one_to_one")
    return both.assign(**{f"{name}_error": both[f"{name}_ours"] - both[f"{name}_paper"] for name in columns})


def signed(values: "pd.Series[float]") -> str:
    """Write the range of some changes."""
    return f"{values.min():+.2f} to {values.max():+.2f}"


def _gains(both: "pd.DataFrame", method: str, parameter: float) -> "pd.DataFrame":
    """Give what a setting changes against strict, one row a benchmark: the four columns of numbers, by the paper and by us."""
    columns = [f"{name}_{side}" for name in ("block_efficiency", "quality") for side in SIDES]
    own, strict = (
        both[(both["method"] == name) & both["parameter"].isin([value])].set_index("benchmark")[columns]
        for name, value in ((method, parameter), ("strict", np.nan))
    )
    return own - strict


def worst(rows: "pd.DataFrame", name: str) -> "pd.Series[Any]":
    """Give the row whose error of that name is the largest."""
    return rows.iloc[int(rows[name].abs().to_numpy().argmax())]


def headline(table: "pd.DataFrame") -> str:
    """Compare both axes with the paper's, and say what the real pair shows."""
    both = beside(table)
    lenience, cos = (both[both["method"] == method] for method in METHODS)
    free = cos[~cos["quality_fitted"]]
    off = ", ".join(f"{part[TOKENS_OFF].abs().mean():.2f} ({name})" for name, part in cos.groupby("benchmark", sort=False))
    points, free_points = (rows[POINTS_OFF].abs().mean() for rows in (lenience, free))
    least, most = lenience["parameter"].min(), cos["parameter"].max()
    changes = []
    for method, parameter in (("lenience", least), ("cos_draft_weight", most)):
        gain = _gains(both, method, parameter)
        paper, ours = (f"{signed(gain[f'block_efficiency_{side}'])} at {signed(gain[f'quality_{side}'])}" for side in SIDES)
        changes.append(f"{paper} points, ours {ours}")
    slow, wrong = worst(cos, TOKENS_OFF), worst(free, POINTS_OFF)
    tokens = f"{slow['block_efficiency_ours']:.2f} tokens, paper {slow['block_efficiency_paper']:.2f}"
    percent = f"{wrong['quality_ours']:.1f}%, paper {wrong['quality_paper']:.1f}%"
    trace = table[table["source"] == "trace"]
    end = trace[(trace["method"] == "lenience") & (trace["parameter"] == least)].set_index("measure")
    reached = end["block_efficiency"].iloc[0]
    mixtures = trace[trace["method"] == "cos_draft_weight"]
    apart = (mixtures["block_efficiency"] - reached).abs()
    level = mixtures[apart == apart.min()].set_index("measure")["quality"]
    return (
        f"Block efficiency is off by {lenience[TOKENS_OFF].abs().mean():.2f} tokens per call on the lenience rows, which were "
        f"fitted, and by {off} on the CoS rows, which were not; accuracy by {points:.1f} points on the {len(lenience)} lenience "
        f"rows and by {free_points:.1f} on the {len(free)} CoS rows that were not fitted. From strict to ℓ = {least:g} the "
        f"paper gains {changes[0]}; to draft weight {most:g}, {changes[1]}. Farthest off: {slow['benchmark']} at draft weight "
        f"{slow['parameter']:g} ({tokens}), {wrong['benchmark']} at {wrong['parameter']:g} ({percent}). On the real pair total "
        f"variation does not tell the rules apart (at {reached:.1f} tokens per call lenience is "
        f"{end['quality']['likeness']:.0f}% like the target, CoS {level['likeness']:.0f}%), but "
        f"{100 - level['no overshoot']:.0f}% of what CoS emits there is more than {OVERSHOOT} times as likely as under the "
        "target, which lenience rules out."
    )
