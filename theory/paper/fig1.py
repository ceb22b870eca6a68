"""Figure 1: what SpecCascade loses, against what it claims to sample and against the full target, as problems get harder.

The paper has three benchmarks. Here difficulty is a number, the decisive steps of a `theory.ReasoningChain`, and everything along
it is exact: the target truncated by min-p (the true baseline), the full target (the wrong one), and SpecCascade at p_base = 1/2,
as coded and as written. The chain is `theory.paper.accuracy.reference`, whose three free numbers are those of the paper's MATH
row; GSM8K and AIME stand where the true baseline solves what the paper reports, and their gaps are predictions. (One thing set by
hand, `accuracy.OPENING`, was chosen so that GSM8K's gap to the wrong baseline has its sign.)

Between two whole difficulties lies a mix of problems of both, as in `theory.paper.accuracy.Exam`.

(a) Solved, Pass@1 and Pass@8. (b) The two gaps. (c) What becomes of the claim, for Pass@1: over the difficulty and over what the
draft adds to the wrong wording at a decisive step.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from theory import sequences
from theory.paper import accuracy, style, tables
from theory.probs import Array
from theory.reasoning import ReasoningChain
from theory.sequences import Plain, Source
from theory.truncation import MinP
from theory.verifiers import SpecCascade

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Figure 1: the loss of SpecCascade grows with difficulty, measured against the true baseline"
CLAIM = (
    "Against the target truncated by min-p, which it claims to sample, SpecCascade (p_base 0.5) loses accuracy, and more on "
    "harder benchmarks; against the full target the loss looks smaller, on GSM8K even like a gain."
)
COLUMNS = {
    "panel": "solved, gap or map",
    "source": "paper or theory",
    "metric": "pass@1 or pass@8",
    "benchmark": "GSM8K, MATH or AIME where the row stands at one, else empty",
    "series": "solved: the source of text; gap: to which baseline; map: true baseline",
    "difficulty": "decisive steps in the mean",
    "excess": "what the draft adds to the wrong wording at a decisive step, probability",
    "value": "solved: percent; gap, map: baseline minus SpecCascade as coded, points",
    "verdict": "map: what becomes of the claim there, a key of VERDICTS; else empty",
}

BASE = 0.5
"""p_base of both, in the paper."""

TRUE, WRONG, CODED, WRITTEN = "true baseline", "wrong baseline", "SpecCascade as coded", "SpecCascade redrafting"
SOURCES: dict[str, Source] = {
    TRUE: Plain(truncation=MinP(BASE)),
    WRONG: Plain(),
    CODED: accuracy.as_run(SpecCascade(BASE, "target")),
    WRITTEN: accuracy.as_run(SpecCascade(BASE, "redraft")),
}
"""What writes the text; the paper's numbers are the first three."""

REPORTED = {TRUE: "true_baseline_min_p", WRONG: "wrong_baseline_full_target", CODED: "spec_cascade"}
"""Columns of the paper's table."""

LEAST, MOST = 0.25, 32
"""Difficulties drawn, on a logarithmic axis."""

FITTED = "MATH"
"""Benchmark of the paper's whose row `theory.paper.accuracy.reference` is fitted on."""

AIME_PROBLEMS = 30
"""Its 26.67, 23.33 and 20.00 % are 8, 7 and 6 of so many."""

VERDICTS = {
    "modest": "the draft is no bolder than the target: no loss that would grow",
    "hidden": "too easy: it grows, but the wrong baseline shows none",
    "holds": "it is positive, grows, and the wrong baseline shows less",
    "falls": "too hard: it is positive, but falls with difficulty",
}
"""What becomes of the loss."""

EXCESS = (-0.02, 0.04)
"""Range of the map."""


class Chances(NamedTuple):
    """Pass@1 of each source at the whole difficulties 0, 1, 2, ..."""

    true: Array
    wrong: Array
    coded: Array

    def gaps(self, k: int = 1) -> tuple[Array, Array]:
        """Give the gaps of Pass@k to the true and to the wrong baseline."""
        true, wrong, coded = (_pass_at(chances, k) for chances in self)
        return true - coded, wrong - coded


def _pass_at(chances: Array, k: int) -> Array:
    return np.array([sequences.pass_at_k(chance, k) for chance in chances])


def _along(chain: ReasoningChain, source: Source, most: int) -> Array:
    """Pass@1 at the whole difficulties 0..most."""
    return np.array([chain_at.pass_1(source) for chain_at in (replace(chain, difficulty=n) for n in range(most + 1))])


def chances(chain: ReasoningChain, most: int = MOST) -> Chances:
    """Give Pass@1 of the two baselines and of SpecCascade as coded, at the difficulties 0..most; exact on Fractions.

    Examples
    --------
    >>> true, wrong = chances(ReasoningChain(1), most=2).gaps()
    >>> [round(float(gap), 4) for gap in true], [round(float(gap), 4) for gap in wrong]
    ([0.0001, 0.0068, 0.0207], [-0.0158, -0.0173, -0.0099])
    """
    return Chances(*(_along(chain, SOURCES[name], most) for name in (TRUE, WRONG, CODED)))


def verdicts(found: Chances, difficulties: Array) -> list[str]:
    """Say what becomes of the claim for Pass@1 at some difficulties, by the keys of `VERDICTS`."""
    true, wrong = found.gaps()
    whole = np.arange(len(true))
    said = []
    for difficulty in difficulties:
        step = min(int(difficulty), len(true) - 2)
        if true.max() == true[0]:
            said.append("modest")
        elif true[step + 1] <= true[step]:
            said.append("falls")
        else:
            said.append("holds" if np.interp(difficulty, whole, wrong) > 0 else "hidden")
    return said


def compute(quick: bool = False) -> "pd.DataFrame":
    """Compute the curves, the paper's points beside ours at their difficulties, and the map; see `COLUMNS`."""
    import pandas as pd

    exam = accuracy.reference()
    chain = exam.chain
    excess = float(chain.overconfidence - chain.temptation)
    between = np.geomspace(LEAST, MOST, 1 + (8 if quick else 16) * round(np.log2(MOST / LEAST)))
    grid = np.union1d(between.round(9), np.arange(1, MOST + 1))
    along = {name: _along(chain, source, MOST) for name, source in SOURCES.items()}
    rows: list[dict[str, Any]] = []

    def add(panel: str, source: str, k: int, benchmark: str, values: dict[str, Any], difficulty: Any) -> None:
        common = {"source": source, "metric": f"pass@{k}", "benchmark": benchmark, "excess": excess, "verdict": ""}
        for series, value in values.items():
            for at, each in zip(np.atleast_1d(difficulty), np.atleast_1d(value), strict=True):
                rows.append({"panel": panel, "series": series, "difficulty": float(at), "value": float(each), **common})

    for k in (1, 8):
        solved = {name: 100 * np.interp(grid, np.arange(MOST + 1), _pass_at(own, k)) for name, own in along.items()}
        add("solved", "theory", k, "", solved, grid)
        add("gap", "theory", k, "", _gaps(solved), grid)
    for record in tables.figure_1().to_dict("records"):
        name, k = str(record["benchmark"]), int(str(record["metric"]).removeprefix("pass@"))
        reported = {series: float(record[column]) for series, column in REPORTED.items()}
        there = accuracy.Exam.of(chain, reported[TRUE] / 100, SOURCES[TRUE], k)
        ours = {series: 100 * float(there.pass_at_k(source, k)) for series, source in SOURCES.items()}
        for source, values in (("paper", reported), ("theory", ours)):
            add("solved", source, k, name, values, there.difficulty)
            add("gap", source, k, name, _gaps(values), there.difficulty)
    table = pd.DataFrame(rows)
    return pd.concat([table, pd.DataFrame(_map(chain, grid, 13 if quick else 41))], ignore_index=True)[[*COLUMNS]]


def _gaps(solved: dict[str, Any]) -> dict[str, Any]:
    return {baseline: solved[baseline] - solved[CODED] for baseline in (TRUE, WRONG)}


def _map(chain: ReasoningChain, grid: Array, levels: int) -> "Iterator[dict[str, Any]]":
    """Give the rows of the map: baselines do not see the draft, so that only SpecCascade is run anew."""
    true, wrong = (_along(chain, SOURCES[name], MOST) for name in (TRUE, WRONG))
    for excess in np.linspace(*EXCESS, levels):
        bolder = replace(chain, overconfidence=float(chain.temptation) + float(excess))
        found = Chances(true, wrong, _along(bolder, SOURCES[CODED], MOST))
        points = 100 * np.interp(grid, np.arange(MOST + 1), found.gaps()[0])
        for difficulty, value, verdict in zip(grid, points, verdicts(found, grid), strict=True):
            yield {
                "panel": "map",
                "source": "theory",
                "metric": "pass@1",
                "benchmark": "",
                "series": TRUE,
                "difficulty": float(difficulty),
                "excess": float(excess),
                "value": float(value),
                "verdict": verdict,
            }


class Points(NamedTuple):
    """Both gaps at the paper's benchmarks in its order, points."""

    true: Array
    wrong: Array

    @property
    def hold(self) -> bool:
        """Whether the gap to the true baseline is positive and grows, and the other is smaller everywhere."""
        return bool((self.true > 0).all() and (np.diff(self.true) > 0).all() and (self.wrong < self.true).all())


def points(table: "pd.DataFrame", source: str) -> Points:
    """Give the gaps of the paper, or ours, at GSM8K, MATH and AIME."""
    own = table[(table["panel"] == "gap") & (table["source"] == source) & (table["benchmark"] != "")]
    return Points(*(own.loc[own["series"] == baseline, "value"].to_numpy() for baseline in (TRUE, WRONG)))


def peak(table: "pd.DataFrame", metric: str) -> tuple[float, float]:
    """Give the difficulty beyond which the gap to the true baseline falls, and what that baseline solves there, percent."""
    own = table[(table["source"] == "theory") & (table["benchmark"] == "") & (table["metric"] == metric)]
    gaps = own[(own["panel"] == "gap") & (own["series"] == TRUE)].set_index("difficulty")["value"]
    solved = own[(own["panel"] == "solved") & (own["series"] == TRUE)].set_index("difficulty")["value"]
    hardest = float(gaps.index[int(gaps.to_numpy().argmax())])
    return hardest, float(solved[hardest])


# --- drawing --------------------------------------------------------------------------------------------------------

STYLES = {TRUE: "min_p_sampling", WRONG: "strict", CODED: "spec_cascade"}
"""Whose colour and marker each series of the paper has."""

LINES = {"pass@1": "-", "pass@8": "--"}

AREAS = {"modest": "#E8E8E8", "hidden": "#D3E5F3", "holds": "#F9D8C2", "falls": "#FFFFFF"}
"""Colours of the map."""

NOTES = {
    "modest": (2.8, -0.01, "no loss: the draft is\nno bolder than the target"),
    "hidden": (0.28, 0.0045, "too easy:\nhidden by the\nwrong baseline"),
    "holds": (1.6, 0.032, "holds"),
    "falls": (13, 0.032, "too hard:\nthe gap falls"),
}
"""Where the map says so: difficulty, excess, words."""

PLATE: dict[str, Any] = {"facecolor": "#FFFFFF", "alpha": 0.6, "linewidth": 0, "boxstyle": "round,pad=0.15"}
"""Behind words on the map, so that no contour crosses them."""


def plot(table: "pd.DataFrame", figure: "Figure | None" = None) -> "Figure":
    """Draw the curves, the gaps and the map."""
    figure, axes = style.panels(figure, 1, 3, 13, 4.4)
    solved, gap, where = axes[0]
    _curves(solved, table[table["panel"] == "solved"])
    _curves(gap, table[table["panel"] == "gap"])
    redrafting = table[(table["series"] == WRITTEN) & (table["benchmark"] == "")]
    for _, one in redrafting.groupby("metric"):
        solved.plot(one["difficulty"], one["value"], ":", color="#000000", linewidth=1, label=WRITTEN)
    gap.axhline(0, color="#888888", linewidth=0.8)
    solved.set(title="(a) Solved", ylabel="problems solved (%)", ylim=(0, 103))
    gap.set(title="(b) Baseline minus SpecCascade", ylabel="gap (percentage points)")
    _name(gap, table)
    for metric, line in LINES.items():
        solved.plot([], [], line, color="#888888", label=metric.replace("p", "P", 1))
    style.paper_points(solved, [], [], STYLES[CODED], "hollow: the paper")
    _draw_map(where, table)
    style.legend_below(figure, solved, columns=7)
    return figure


def _curves(axes: "Axes", table: "pd.DataFrame") -> None:
    """Draw ours as lines and the paper's as hollow markers."""
    for series, method in STYLES.items():
        own = table[table["series"] == series]
        for metric, line in LINES.items():
            ours = own[(own["metric"] == metric) & (own["source"] == "theory") & (own["benchmark"] == "")]
            label = series if metric == "pass@1" else None
            axes.plot(ours["difficulty"], ours["value"], line, color=style.METHODS[method][1], label=label)
        paper = own[own["source"] == "paper"]
        style.paper_points(axes, paper["difficulty"], paper["value"], method)
    _axis(axes)


def _axis(axes: "Axes") -> None:
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set(xlabel="difficulty (decisive steps)", xlim=(LEAST, MOST))


def _name(axes: "Axes", table: "pd.DataFrame") -> None:
    """Write the paper's benchmarks above its points."""
    paper = table[(table["panel"] == "gap") & (table["source"] == "paper") & (table["series"] == TRUE)]
    for name, at, gap, metric in paper[["benchmark", "difficulty", "value", "metric"]].itertuples(index=False):
        axes.annotate(f"{name}\n{metric}", (at, gap), (0, 8), textcoords="offset points", ha="center", fontsize=7)
    axes.margins(y=0.12)


def _draw_map(axes: "Axes", table: "pd.DataFrame") -> None:
    """Draw the verdicts as areas, the gap as contours, and where the paper's benchmarks stand."""
    from matplotlib.colors import ListedColormap

    own = table[table["panel"] == "map"]
    gaps, said = (own.pivot_table(value, "excess", "difficulty", aggfunc="first") for value in ("value", "verdict"))
    number = said.map([*AREAS].index).to_numpy()
    colours = ListedColormap([*AREAS.values()])
    axes.pcolormesh(said.columns, said.index, number, cmap=colours, vmin=-0.5, vmax=len(AREAS) - 0.5, rasterized=True)
    lines = axes.contour(gaps.columns, gaps.index, gaps, levels=[0.5, 1, 2, 3], colors="#777777", linewidths=0.7)
    axes.clabel(lines, fmt="%g", fontsize=7)
    for at, excess, words in NOTES.values():
        axes.text(at, excess, words, ha="left" if at < 1 else "center", va="center", fontsize=7, bbox=PLATE)
    paper = table[(table["panel"] == "gap") & (table["source"] == "paper") & (table["series"] == TRUE)]
    style.paper_points(axes, paper["difficulty"], paper["excess"], STYLES[CODED])
    for name, at, excess in paper[["benchmark", "difficulty", "excess"]].itertuples(index=False):
        axes.annotate(name, (at, excess), (0, 7), textcoords="offset points", ha="center", fontsize=7, bbox=PLATE)
    _axis(axes)
    axes.set(
        title="(c) Where the loss grows (Pass@1, points)\ncircles: the paper's benchmarks, as placed here",
        ylabel="draft's excess on the wrong wording (probability)",
    )
    axes.grid(visible=False)


def headline(table: "pd.DataFrame") -> str:
    """Say both gaps, ours and the paper's, and where the growth ends."""

    def listed(values: Array) -> str:
        return ", ".join(f"{value:+.2f}" for value in values)

    ours, paper = points(table, "theory"), points(table, "paper")
    free = [place for place, name in enumerate(tables.figure_1()["benchmark"]) if name != FITTED]
    same = [np.sign(own[free]) == np.sign(other[free]) for own, other in zip(ours, paper, strict=True)]
    (hardest, solved), (hardest_8, solved_8) = peak(table, "pass@1"), peak(table, "pass@8")
    apart = (paper.true[-1] - ours.true[-1]) * AIME_PROBLEMS / 100
    return (
        f"Gap to the true baseline at GSM8K, MATH, AIME: {listed(ours.true)} points (the paper {listed(paper.true)}); to the "
        f"wrong one {listed(ours.wrong)} ({listed(paper.wrong)}). {FITTED} is fitted; of the other signs {np.sum(same)} of "
        f"{np.size(same)} agree, and AIME is off by {abs(apart):.1f} of {AIME_PROBLEMS} problems. From one "
        f"point to the next the claim {'holds' if ours.hold else 'fails'}; along one metric the gap grows up to {hardest:.0f} "
        f"decisive steps for Pass@1, where the true baseline solves {solved:.0f}%, and up to {hardest_8:.0f} for Pass@8 "
        f"({solved_8:.0f}%)."
    )
