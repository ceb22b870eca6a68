"""Accuracy against block efficiency: where Table 4 and our models put a setting, and how a panel of both is drawn.

Two models, one for each axis. Block efficiency: the held-out model of `calibration`, fitted on strict and lenience rows; of the
CoS rows of its own benchmark it has seen one *accuracy* and no block efficiency, and no row of a method that truncates. Accuracy:
the reasoning chain of `accuracy`, fitted on the strict row and one CoS row of each benchmark, and on Figure 1's row for MATH.

Bands and bars: up and down, 95% of what 3 runs over so many problems leave open; left and right, the range of the three models
of `calibration` in which a draft has a profile. The paper's bars are its standard deviations of 3 runs.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from theory.paper import accuracy, calibration, style, tables
from theory.paper.intervals import Interval, around, normal
from theory.paper.tables import BENCHMARKS, GAMMA
from theory.verifiers import TokenVerifier

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

COLUMNS = {
    "source": "paper (Table 4) or theory",
    "benchmark": "the paper's",
    "measure": "accuracy, which is Pass@1 on MBPP+",
    "method": "method of Table 4",
    "parameter": "of the method in Table 4; NaN for strict",
    "block_efficiency": "tokens per target call, γ = 10, the extra one included",
    "block_efficiency_low": "of the paper, one standard deviation below; of theory, the least of three models",
    "block_efficiency_high": "upper end, likewise",
    "quality": "accuracy or Pass@1, percent",
    "quality_low": "of the paper, one standard deviation below; of theory, the lower end of the 95% band of 3 runs",
    "quality_high": "upper end, likewise",
    "efficiency_fitted": "of theory, whether the paper's block efficiency at this row was fitted",
    "quality_fitted": "of theory, whether the paper's accuracy at this row was fitted",
}

FITTED = ("efficiency_fitted", "quality_fitted")

COMPARED = ("block_efficiency", "quality")
"""What is compared with the paper's."""

SPREAD = "a standard deviation of 3 runs each way"
"""What the paper's bars are."""

MODEL = "off-track"
"""Of `calibration.MODELS`: its lines are drawn. The others that have a profile make the range."""

ORDER = ("strict", "lenience", "cos_draft_weight", "min_p_sampling", "spec_cascade", "eta_sampling", "typical_acceptance")
"""Methods of Table 4 in the order of legends."""

EFFICIENCY_LABEL = "block efficiency (tokens per target call)"
ACCURACY_LABEL = "accuracy or Pass@1 (%)"


def efficiencies(benchmark: str, verifiers: Iterable[TokenVerifier], gamma: int = GAMMA) -> Interval:
    """Predict block efficiencies on a benchmark.

    Parameters
    ----------
    benchmark : str
        Of the paper's.
    verifiers : iterable of TokenVerifier
        n rules.
    gamma : int
        Drafted tokens in a block; the models were fitted at `GAMMA`.

    Returns
    -------
    Interval of ndarray, shape (n,)
        Tokens per target call, by `MODEL`; the range is over it, the same with texts that never leave the track, and the same
        with all rows seen.
    """
    rules = tuple(verifiers)
    values = {model: calibration.profile(benchmark, model).block_efficiencies(rules, gamma) for model in calibration.MODELS[1:]}
    every = np.stack(list(values.values()))
    return Interval(values[MODEL], every.min(axis=0), every.max(axis=0), "the range over the calibrations")


def qualities(benchmark: str, verifiers: Iterable[TokenVerifier], gamma: int = GAMMA, runs: int = accuracy.RUNS) -> Interval:
    """Predict accuracies on a benchmark, percent, with the 95% band of a mean of some runs; arrays of shape (n,)."""
    exam = accuracy.calibrate(benchmark)
    values = np.array([exam.percent(rule, gamma) for rule in verifiers])
    return normal(values, np.array([accuracy.sampling_points(benchmark, value, runs) for value in values]))


def predicted(
    benchmark: str, rules: Sequence[TokenVerifier], gamma: int = GAMMA, runs: int = accuracy.RUNS
) -> list[dict[str, Any]]:
    """Give the rows of theory for some rules on a benchmark."""
    x, y = efficiencies(benchmark, rules, gamma), qualities(benchmark, rules, gamma, runs)
    return [
        {
            "source": "theory",
            "benchmark": benchmark,
            "measure": "accuracy",
            "method": setting[0],
            "parameter": setting[1],
            **x.named("block_efficiency", place),
            **y.named("quality", place),
            "efficiency_fitted": gamma == GAMMA and setting in calibration.FITTED,
            "quality_fitted": gamma == GAMMA and setting in accuracy.FITTED,
        }
        for place, setting in enumerate(map(tables.setting_of, rules))
    ]


def reported(methods: Iterable[str]) -> list[dict[str, Any]]:
    """Give the paper's rows of some methods, a standard deviation each way."""
    table = tables.table_4()
    rows = []
    for row in table[table["method"].isin(list(methods))].to_dict("records"):
        about = {"source": "paper", "measure": "accuracy"} | {name: row[name] for name in ("benchmark", "method", "parameter")}
        x = around(row["block_efficiency"], row["block_efficiency_std"], SPREAD)
        y = around(row["accuracy_percent"], row["accuracy_std"], SPREAD)
        rows.append(about | x.named("block_efficiency") | y.named("quality") | dict.fromkeys(FITTED, False))
    return rows


def both_sides(
    rules: Sequence[TokenVerifier], benchmarks: Sequence[str] = BENCHMARKS, gamma: int = GAMMA, runs: int = accuracy.RUNS
) -> list[dict[str, Any]]:
    """Give the paper's rows of the methods of some rules, at its γ only, and ours of these rules on each benchmark."""
    methods = {tables.setting_of(rule)[0] for rule in rules}
    paper = [row for row in reported(methods) if row["benchmark"] in benchmarks] if gamma == GAMMA else []
    return paper + [row for benchmark in benchmarks for row in predicted(benchmark, rules, gamma, runs)]


# --- drawing --------------------------------------------------------------------------------------------------------


def methods_of(table: "pd.DataFrame") -> dict[str, style.Look]:
    """Give the methods of a table and how they are drawn: strict verification first, then those of Table 4 in its order."""
    there = list(dict.fromkeys(table["method"]))
    return style.looks(sorted(there, key=lambda name: ORDER.index(name) if name in ORDER else len(ORDER)))


def draw(ax: "Axes", table: "pd.DataFrame", methods: Mapping[str, style.Look], bands: bool = True) -> None:
    """Draw one panel: our lines with filled points at the paper's settings, the paper's hollow ones, and two lines at strict."""
    for name, look in methods.items():
        own = table[table["method"] == name]
        paper, ours = own[own["source"] == "paper"], own[own["source"] != "paper"]
        _, colour, marker = look
        if ours.empty:
            continue
        if name != "strict":
            x, y, low, high = (ours[column] for column in ("block_efficiency", "quality", "quality_low", "quality_high"))
            style.our_line(ax, x, y, look, style.ours(look), *((low, high) if bands else ()))
            printed = ours["parameter"].isin(tables.settings_of(name) if name in ORDER else [])
            ours = ours[printed] if printed.any() else ours
        looks: dict[str, Any] = {"color": colour, "marker": marker, "linestyle": "none", "elinewidth": 0.8, "zorder": 4}
        looks |= {"markersize": 7, "label": style.ours(look)} if name == "strict" else {"markersize": 3.5}
        ax.errorbar(ours["block_efficiency"], ours["quality"], xerr=style.bars(ours, "block_efficiency"), **looks)
        if len(paper):
            errors = {"xerr": style.bars(paper, "block_efficiency"), "yerr": style.bars(paper, "quality")}
            style.paper_points(ax, paper["block_efficiency"], paper["quality"], look, style.the_papers(look), **errors)
    for _, strict in table[table["method"] == "strict"].head(1).iterrows():
        for line, column in ((ax.axvline, "block_efficiency"), (ax.axhline, "quality")):
            line(strict[column], color="#000000", linestyle="--", linewidth=0.7, zorder=0)
