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

import dataclasses
from collections.abc import Sequence
from dataclasses import replace
from itertools import cycle
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from theory import parameters, sequences, verifiers
from theory import truncation as truncations
from theory.paper import accuracy, knobs, style, tables
from theory.paper.agreement import SOURCES as SOURCES_OF
from theory.paper.agreement import Claim
from theory.paper.knobs import Cut, Rules, Values
from theory.paper.tables import GAMMA
from theory.probs import Array
from theory.reasoning import ReasoningChain
from theory.sequences import Plain, Source
from theory.truncation import MinP, Truncation
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

RULES = (SpecCascade(BASE, "target"), SpecCascade(BASE, "redraft"))
"""As coded, whose gaps are drawn, and as written."""

NAMES = dict(zip(RULES, (CODED, WRITTEN), strict=True))

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
    # a product of matrices of floats may exceed 1 by its rounding
    return np.array([sequences.pass_at_k(min(chance, 1), k) for chance in chances])


def _along(chain: ReasoningChain, source: Source, most: int) -> Array:
    """Pass@1 at the whole difficulties 0..most."""
    return np.array([chain_at.pass_1(source) for chain_at in (replace(chain, difficulty=n) for n in range(most + 1))])


def chances(chain: ReasoningChain, most: int = MOST, sources: "Sequence[Source] | None" = None) -> Chances:
    """Give Pass@1 of the two baselines and of SpecCascade as coded, or of three other sources, at the difficulties 0..most.

    Exact on Fractions.

    Examples
    --------
    >>> true, wrong = chances(ReasoningChain(1), most=2).gaps()
    >>> [round(float(gap), 4) for gap in true], [round(float(gap), 4) for gap in wrong]
    ([0.0001, 0.0068, 0.0207], [-0.0158, -0.0173, -0.0099])
    """
    three = [SOURCES[name] for name in (TRUE, WRONG, CODED)] if sources is None else sources
    return Chances(*(_along(chain, source, most) for source in three))


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


@knobs.recorded
def compute(
    quick: bool = False,
    *,
    truncation: Cut = MinP(BASE),  # noqa: B008  # frozen
    rules: Rules = RULES,
    gamma: int = GAMMA,
    k: Sequence[int] = (1, 8),
    difficulties: Sequence[float] | None = None,
    excesses: Sequence[float] | None = None,
    chain: Values | None = None,
) -> "pd.DataFrame":
    """Compute the curves, the paper's points beside ours at their difficulties, and the map.

    Parameters
    ----------
    quick : bool
        Whether to take fewer difficulties and excesses, where they are not given.
    truncation : Truncation, or the name of one
        The true baseline is the target truncated by it.
    rules : verifiers, or names of verifiers
        What is compared with the baselines; gaps and map are of the first.
    gamma : int
        Drafted tokens in a block, at least 1.
    k : sequence of int
        Of Pass@k, each at least 1.
    difficulties : sequence of float
        Decisive steps in the mean, in (0, 100]. Default: 113 from 0.25 to 32, in equal ratios, and the whole numbers between.
    excesses : sequence of float
        What the draft adds to the wrong wording at a decisive step, of the map's rows; a probability in [-1/3, 2/3]. Default: 41
        from -0.02 to 0.04.
    chain : mapping of str to float
        Numbers of `theory.ReasoningChain` in the place of the fitted ones, such as ``noise``. Default: all as fitted.

    Returns
    -------
    pandas.DataFrame
        With `COLUMNS`. The paper's points stand at the difficulty where the true baseline solves what it reports; those whose k
        is not asked for, and those that no difficulty brings, are left out.
    """
    import pandas as pd

    cut = truncations.parse(truncation) if isinstance(truncation, str) else truncation
    if not isinstance(cut, Truncation):
        raise ValueError(f"truncation = {truncation!r}: must be a Truncation, such as MinP(0.5), or the name of one")
    chosen = knobs.listed("rules", verifiers.resolve_all(rules, "rules"))
    parameters.check_count("gamma", gamma)
    own = _chain(chain or {})
    grid = (
        _difficulties(quick)
        if difficulties is None
        else np.array(sorted(knobs.numbers("difficulties", difficulties, "(0, 100]")))
    )
    levels = np.linspace(*EXCESS, 13 if quick else 41).tolist()
    levels = levels if excesses is None else sorted(knobs.numbers("excesses", excesses, f"[{-1 / 3}, {2 / 3}]"))
    names = [NAMES.get(rule, str(rule)) for rule in chosen]
    written: dict[str, Source] = {TRUE: Plain(truncation=cut), WRONG: Plain()}
    written |= {name: accuracy.as_run(rule, gamma) for name, rule in zip(names, chosen, strict=True)}
    most = max(2, int(np.ceil(grid.max())))
    excess = float(own.overconfidence - own.temptation)
    along = {name: _along(own, source, most) for name, source in written.items()}
    rows: list[dict[str, Any]] = []

    def add(panel: str, source: str, k: int, benchmark: str, values: dict[str, Any], difficulty: Any) -> None:
        common = {"source": source, "metric": f"pass@{k}", "benchmark": benchmark, "excess": excess, "verdict": ""}
        for series, value in values.items():
            for at, each in zip(np.atleast_1d(difficulty), np.atleast_1d(value), strict=True):
                rows.append({"panel": panel, "series": series, "difficulty": float(at), "value": float(each), **common})

    asked = knobs.counts("k", k)
    for number in asked:
        solved = {name: 100 * np.interp(grid, np.arange(most + 1), _pass_at(own, number)) for name, own in along.items()}
        add("solved", "theory", number, "", solved, grid)
        add("gap", "theory", number, "", _gaps(solved, names[0]), grid)
    for record in tables.figure_1().to_dict("records"):
        name, number = str(record["benchmark"]), int(str(record["metric"]).removeprefix("pass@"))
        reported = {series: float(record[column]) for series, column in REPORTED.items()}
        there = _placed(own, reported[TRUE] / 100, written[TRUE], number) if number in asked else None
        if there is None:
            continue
        ours = {series: 100 * float(there.pass_at_k(source, number)) for series, source in written.items()}
        for source, values, verified in (("paper", reported, CODED), ("theory", ours, names[0])):
            add("solved", source, number, name, values, there.difficulty)
            add("gap", source, number, name, _gaps(values, verified), there.difficulty)
    table = pd.DataFrame(rows)
    three = [written[name] for name in (TRUE, WRONG, names[0])]
    return pd.concat([table, pd.DataFrame(_map(own, grid, levels, three, most))], ignore_index=True)[[*COLUMNS]]


def _chain(numbers: Values) -> ReasoningChain:
    """Give the fitted chain with some numbers replaced."""
    fitted = accuracy.reference().chain
    fields = [field.name for field in dataclasses.fields(fitted) if field.name not in ("difficulty", "exact")]
    for name in numbers:
        knobs.choice("chain", name, fields)
    whole = {
        name: int(value) if float(value).is_integer() and name in ("opening", "routine") else value
        for name, value in numbers.items()
    }
    return replace(fitted, **whole)  # type: ignore[arg-type]  # each is checked by the chain


def _difficulties(quick: bool) -> Array:
    between = np.geomspace(LEAST, MOST, 1 + (8 if quick else 16) * round(np.log2(MOST / LEAST)))
    return np.union1d(between.round(9), np.arange(1, MOST + 1))


def _placed(chain: ReasoningChain, goal: float, source: Source, k: int) -> accuracy.Exam | None:
    """Find the exam at which the true baseline solves what the paper reports; None where none does."""
    try:
        return accuracy.Exam.of(chain, goal, source, k)
    except ValueError:
        return None


def _gaps(solved: dict[str, Any], verified: str) -> dict[str, Any]:
    return {baseline: solved[baseline] - solved[verified] for baseline in (TRUE, WRONG)}


def _map(
    chain: ReasoningChain, grid: Array, levels: "Sequence[float]", sources: "Sequence[Source]", most: int
) -> "Iterator[dict[str, Any]]":
    """Give the rows of the map: baselines do not see the draft, so that only the rule is run anew."""
    true, wrong = (_along(chain, source, most) for source in sources[:2])
    for excess in levels:
        bolder = replace(chain, overconfidence=float(chain.temptation) + float(excess))
        found = Chances(true, wrong, _along(bolder, sources[2], most))
        points = 100 * np.interp(grid, np.arange(most + 1), found.gaps()[0])
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

LINES = ("-", "--", ":", "-.")
"""Of Pass@k, in the order of k."""

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


def plot(table: "pd.DataFrame", ax: "style.Place | None" = None) -> "Figure":
    """Draw the curves, the gaps and the map."""
    figure, axes = style.panels(ax, 1, 3, 13, 4.4)
    solved, gap, where = axes[0]
    curves = table[(table["source"] == "theory") & (table["benchmark"] == "") & (table["panel"] == "solved")]
    rules = [name for name in dict.fromkeys(curves["series"]) if name not in (TRUE, WRONG)]
    looks = {series: style.METHODS[method] for series, method in STYLES.items()}
    looks |= {name: style.Look(name, looks[CODED].colour, looks[CODED].marker) for name in rules[:1]}
    lines = dict(zip(dict.fromkeys(curves["metric"]), cycle(LINES)))  # a cycle has no end
    _curves(solved, table[table["panel"] == "solved"], looks, lines)
    _curves(gap, table[table["panel"] == "gap"], looks, lines)
    others = style.looks(name for name in rules[1:] if name != WRITTEN) | {WRITTEN: style.Look(WRITTEN, "#000000", "")}
    for name in rules[1:]:
        for metric, line in lines.items():
            own = curves[(curves["series"] == name) & (curves["metric"] == metric)]
            look: dict[str, Any] = {"linestyle": ":" if name == WRITTEN else line, "color": others[name].colour, "label": name}
            solved.plot(own["difficulty"], own["value"], linewidth=1, **look)
    gap.axhline(0, color="#888888", linewidth=0.8)
    verified = "SpecCascade" if rules[0] == CODED else rules[0]
    solved.set(title="(a) Solved", ylabel="problems solved (%)", ylim=(0, 103))
    gap.set(title=f"(b) Baseline minus {verified}", ylabel="gap (percentage points)")
    _name(gap, table)
    for metric, line in lines.items():
        solved.plot([], [], line, color="#888888", label=metric.replace("p", "P", 1))
    style.paper_points(solved, [], [], STYLES[CODED], "hollow: the paper")
    _draw_map(where, table)
    style.legend_below(figure, solved, columns=7)
    return figure


def _curves(axes: "Axes", table: "pd.DataFrame", looks: dict[str, style.Look], lines: dict[str, str]) -> None:
    """Draw ours as lines and the paper's as hollow markers."""
    for series, look in looks.items():
        own = table[table["series"] == series]
        for place, (metric, line) in enumerate(lines.items()):
            ours = own[(own["metric"] == metric) & (own["source"] == "theory") & (own["benchmark"] == "")]
            if len(ours):
                label = series if not place else None
                axes.plot(ours["difficulty"], ours["value"], line, color=look.colour, label=label)
        paper = own[own["source"] == "paper"]
        if len(paper):
            style.paper_points(axes, paper["difficulty"], paper["value"], look)
    _axis(axes, table)


def _axis(axes: "Axes", table: "pd.DataFrame") -> None:
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    drawn = table.loc[(table["source"] == "theory") & (table["benchmark"] == ""), "difficulty"]
    axes.set_xlabel("difficulty (decisive steps)")
    if drawn.min() < drawn.max():
        axes.set_xlim(drawn.min(), drawn.max())


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
    x, y, points = said.columns.to_numpy(), said.index.to_numpy(), gaps.to_numpy(dtype=float)
    if min(said.shape) > 1:
        number = said.map([*AREAS].index).to_numpy()
        colours = ListedColormap([*AREAS.values()])
        axes.pcolormesh(x, y, number, cmap=colours, vmin=-0.5, vmax=len(AREAS) - 0.5, rasterized=True)
        levels = [level for level in (0.5, 1, 2, 3) if points.min() < level < points.max()]
        if levels:
            lines = axes.contour(x, y, points, levels=levels, colors="#777777", linewidths=0.7)
            axes.clabel(lines, fmt="%g", fontsize=7)
    else:  # a line has no area
        axes.scatter(own["difficulty"], own["excess"], c=[AREAS[verdict] for verdict in own["verdict"]], edgecolors="#777777")
    for verdict, (at, excess, words) in NOTES.items():
        inside = x[0] <= at <= x[-1] and y[0] <= excess <= y[-1]
        if inside and said.to_numpy()[np.abs(y - excess).argmin(), np.abs(x - at).argmin()] == verdict:
            axes.text(at, excess, words, ha="left" if at < 1 else "center", va="center", fontsize=7, bbox=PLATE)
    paper = table[(table["panel"] == "gap") & (table["source"] == "paper") & (table["series"] == TRUE)]
    style.paper_points(axes, paper["difficulty"], paper["excess"], STYLES[CODED])
    for name, at, excess in paper[["benchmark", "difficulty", "excess"]].itertuples(index=False):
        axes.annotate(name, (at, excess), (0, 7), textcoords="offset points", ha="center", fontsize=7, bbox=PLATE)
    _axis(axes, table)
    axes.set(
        title="(c) Where the loss grows (Pass@1, points)\ncircles: the paper's benchmarks, as placed here",
        ylabel="draft's excess on the wrong wording (probability)",
    )
    axes.grid(visible=False)


@knobs.weighed
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


# --- claims ------------------------------------------------------------------------------------------------------------


def _gaps_at(table: "pd.DataFrame", side: str) -> Sequence[float]:
    return [*(found := points(table, SOURCES_OF[side])).true, *found.wrong]


def _peaks(table: "pd.DataFrame", side: str) -> Sequence[float]:
    (first, solved), (eighth, _) = (peak(table, metric) for metric in ("pass@1", "pass@8"))
    hardest = table.loc[(table["panel"] == "gap") & (table["benchmark"] == ""), "difficulty"].max()
    return [first, eighth, hardest, solved]


CLAIMS = (
    Claim(
        "Against its true baseline SpecCascade loses accuracy, and more on harder benchmarks.",
        lambda table, side: _gaps_at(table, side)[:3],
        "GSM8K {:+.2f}, MATH {:+.2f}, AIME {:+.2f} points",
        "each gap positive, and larger than the one before",
        lambda gap: [min(gap) > 0, gap[0] < gap[1], gap[1] < gap[2]],
        "The draft is bolder than the target where it matters, so that each decisive step costs a little. MATH is fitted; on "
        "AIME a problem is 3.33 points.",
    ),
    Claim(
        "Against the full target the loss looks smaller, on GSM8K even like a gain.",
        lambda table, side: [*_gaps_at(table, side)[3:], *_gaps_at(table, side)[:3]],
        "GSM8K {:+.2f}, MATH {:+.2f}, AIME {:+.2f} points",
        "each smaller than the gap to the true baseline, the first negative",
        lambda gap: [all(wrong < true for wrong, true in zip(gap[:3], gap[3:], strict=True)), gap[0] < 0],
        "Min-p saves the target's own slips, SpecCascade too, and the full target has them. The length of the opening was chosen "
        "for the sign on GSM8K.",
    ),
    Claim(
        "The loss grows with task difficulty.",
        _peaks,
        "up to {:.0f} decisive steps for Pass@1 and {:.0f} for Pass@8, of {:.0f}",
        "the gap grows at first, and up to the hardest problems",
        lambda found: [min(found[:2]) > 1, min(found[:2]) >= found[2]],
        "Beyond that the true baseline fails as well, and there is less and less to lose; the paper's three points, two of them "
        "Pass@1 and the hardest Pass@8, all stand before it.",
        printed="three points, no curve",
    ),
)
