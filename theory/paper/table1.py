"""Table 1: the two halves of lenience, each alone, on MBPP+.

The rules run on the exam of `theory.paper.accuracy.calibrate`, which was fitted on two accuracies of Table 4 (strict, and CoS at
one weight) and on two of its block efficiencies; nothing of Table 1 went in. λ weighs the *target* here, as in Section 4.

What to know before comparing. The paper prints the two rules as laws whose mass is not 1; ours are their accept forms,
`theory.AdaptiveInterpolation` and `theory.OvershootCeiling`. In that form adaptive interpolation *is* CoS: here the two coincide,
and in the paper they differ by what runs differ by, or by another realisation; which one made its Table 1 is not known.

Any of these rules is as fast as one likes, at a price, so that rules compare where they are equally fast: `matched_pass_at_1`
is what CoS keeps at a rule's own block efficiency, by the λ at which it has that; in the paper's numbers, what adaptive
interpolation keeps there, on straight lines between its rows and strict verification.

(a) Pass@1 against block efficiency. (b) The same near strict verification, where the ceiling's rules are.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from theory import exact, parameters, verifiers
from theory.paper import accuracy, knobs, style, tables
from theory.paper.accuracy import Exam
from theory.paper.agreement import Claim, of_side
from theory.paper.knobs import Rules
from theory.paper.tables import GAMMA, SWEEP
from theory.verifiers import AdaptiveInterpolation, CoS, Lenience, OvershootCeiling, Strict, TokenVerifier

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Table 1: the overshoot ceiling alone, and adaptive interpolation alone"
CLAIM = (
    "On MBPP+ the overshoot ceiling alone keeps Pass@1 at the lossless level, about 75 %, while block efficiency still rises; "
    "adaptive interpolation alone behaves like CoS and loses it: overshoot control, not interpolation, is the principle."
)
COLUMNS = {
    "source": "paper (Table 1; strict, lenience and CoS from Table 4) or theory",
    "rule": "strict, overshoot ceiling, lenience, adaptive interpolation or CoS",
    "lambda": "weight on the target; of lenience, l; 1 is strict",
    "shown": "whether λ is one of the paper's; the other rows are for our lines",
    "block_efficiency": "tokens per target call",
    "pass_at_1": "percent",
    "tv_per_token": "TV(induced, target), the mean over the steps of a text, probability; NaN for the paper",
    "max_overshoot": "largest induced/target at any step; inf where the target never says what is emitted; NaN for the paper",
    "matched_pass_at_1": "percent that CoS keeps at that block efficiency, or in the paper adaptive interpolation; of ceilings",
}

BENCHMARK = "MBPP+"

RULES: dict[str, Any] = {
    "overshoot ceiling": OvershootCeiling,
    "lenience": Lenience,
    "adaptive interpolation": AdaptiveInterpolation,
    "CoS": CoS,
}
"""Rule to its class, whose one parameter is λ."""

CEILINGS = ("overshoot ceiling", "lenience")
"""Rules that put a ceiling on the law, max induced/target <= 1/λ."""


def tv_per_token(exam: Exam, verifier: TokenVerifier) -> float:
    """TV(π, p), a probability, the mean over the steps of the exam's texts."""
    routine, decisive = exam.mean(lambda chain: np.array([chain.opening + chain.difficulty * chain.routine, chain.difficulty]))
    at = exact.total_variation(verifier, *_rows(exam))
    return float((routine * at[0] + decisive * at[1]) / (routine + decisive))


def max_overshoot(exam: Exam, verifier: TokenVerifier) -> float:
    """Give the largest π(x)/p(x) of any token at any step."""
    return float(exact.summarise(verifier, *_rows(exam), ["max_overshoot"])["max_overshoot"].max())


def _rows(exam: Exam) -> tuple[Any, Any]:
    """Give target and draft at a routine and at a decisive step, (2, V) each."""
    harder = replace(exam.chain, difficulty=exam.chain.difficulty + 1)  # the easier problems may have no decisive step
    steps = [(), (0,) * (harder.opening + harder.routine)]
    assert [harder.plan[len(text)] for text in steps] == [False, True]
    target, draft = (np.stack(rows) for rows in zip(*(harder.pair.rows(text) for text in steps), strict=True))
    return target, draft


def matched(exam: Exam, efficiency: float, gamma: int = GAMMA) -> float:
    """Give Pass@1 in percent of CoS at the λ at which it reaches a block efficiency.

    Examples
    --------
    >>> exam = accuracy.calibrate("MBPP+")
    >>> at = float(exam.block_efficiency(accuracy.as_run(CoS(0.6))))
    >>> round(matched(exam, at) - exam.percent(CoS(0.6)), 9)
    0.0
    """
    from scipy.optimize import brentq

    def apart(lam: float) -> float:
        return float(exam.block_efficiency(accuracy.as_run(CoS(lam), gamma))) - efficiency

    return exam.percent(CoS(float(brentq(apart, 0.0, 1.0, xtol=1e-12))), gamma)


def sweep(name: str, quick: bool = False) -> list[TokenVerifier]:
    """Give the rules of a line, by rising λ; those that are no ceilings also between the paper's."""
    between = np.linspace(min(SWEEP), 1, 9 if quick else 33).round(6).tolist()
    return [RULES[name](lam) for lam in sorted({*SWEEP, 1.0, *(between if name not in CEILINGS else [])})]


@knobs.recorded
def compute(
    quick: bool = False,
    *,
    benchmark: str = BENCHMARK,
    rules: Rules | None = None,
    gamma: int = GAMMA,
) -> "pd.DataFrame":
    """Compute rules on the exam of a benchmark, beside the paper's rows.

    Parameters
    ----------
    quick : bool
        Whether to take fewer weights between the paper's, where ``rules`` is not given.
    benchmark : str
        Of the paper's; its Table 1 has MBPP+ only.
    rules : verifiers, or names of verifiers
        Any. Default: strict, and the overshoot ceiling, lenience, adaptive interpolation and CoS along λ.
    gamma : int
        Drafted tokens in a block, at least 1. The exam is fitted at 10, and the paper's rows are shown at 10 only.

    Returns
    -------
    pandas.DataFrame
        With `COLUMNS`.
    """
    import pandas as pd

    knobs.choice("benchmark", benchmark, tables.BENCHMARKS)
    parameters.check_count("gamma", gamma)
    default = [Strict(), *(rule for name in RULES for rule in sweep(name, quick))]
    chosen = default if rules is None else knobs.listed("rules", verifiers.resolve_all(rules, "rules"))
    exam = accuracy.calibrate(benchmark)
    rows = [*(_paper(benchmark) if gamma == GAMMA else ()), *(_ours(exam, rule, gamma, rules is not None) for rule in chosen)]
    return pd.DataFrame(rows)[[*COLUMNS]]


def named(rule: TokenVerifier) -> tuple[str, float]:
    """Give the name of a rule in the table, and its λ; of a rule that is not in `RULES` as `tables.setting_of` does.

    Examples
    --------
    >>> named(CoS(0.4)), named(Strict())
    (('CoS', 0.4), ('strict', 1.0))
    """
    if isinstance(rule, Strict):
        return "strict", 1.0
    for name, make in RULES.items():
        if type(rule) is make:
            return name, float(next(iter(vars(rule).values())))
    method, parameter = tables.setting_of(rule)
    return method, np.nan if parameter is None else parameter


def _ours(exam: Exam, verifier: TokenVerifier, gamma: int, chosen: bool) -> dict[str, Any]:
    name, lam = named(verifier)
    efficiency = float(exam.block_efficiency(accuracy.as_run(verifier, gamma)))
    shown = chosen or lam in SWEEP or name == "strict"
    return {
        "source": "theory",
        "rule": name,
        "lambda": lam,
        "shown": shown,
        "block_efficiency": efficiency,
        "pass_at_1": exam.percent(verifier, gamma),
        "tv_per_token": tv_per_token(exam, verifier),
        "max_overshoot": max_overshoot(exam, verifier),
        "matched_pass_at_1": matched(exam, efficiency, gamma) if shown and name in CEILINGS else np.nan,
    }


def _paper(benchmark: str) -> list[dict[str, Any]]:
    """Give the paper's rows: strict, lenience and CoS from Table 4, the two halves from Table 1."""
    found = []
    names = {"strict": "strict", "lenience": "lenience", "cos_draft_weight": "CoS"}
    four = tables.table_4().query("benchmark == @benchmark and method in @names")
    for row in four.to_dict("records"):
        name, parameter = names[str(row["method"])], float(row["parameter"])
        lam = {"strict": 1.0, "CoS": round(1 - parameter, 12)}.get(name, parameter)
        found.append((name, lam, float(row["block_efficiency"]), float(row["accuracy_percent"])))
    for row in tables.table_1().to_dict("records") if benchmark == BENCHMARK else ():
        name = str(row["variant"]).replace("_", " ")
        found.append((name, float(row["lambda"]), float(row["block_efficiency"]), float(row["pass_at_1_percent"])))
    line = sorted((speed, kept) for name, _, speed, kept in found if name in ("strict", "adaptive interpolation"))
    speeds, levels = (np.array(values) for values in zip(*line, strict=True))
    return [
        {
            "source": "paper",
            "rule": name,
            "lambda": lam,
            "shown": True,
            "block_efficiency": speed,
            "pass_at_1": kept,
            "tv_per_token": np.nan,
            "max_overshoot": np.nan,
            "matched_pass_at_1": float(np.interp(speed, speeds, levels)) if name in CEILINGS and len(line) > 1 else np.nan,
        }
        for name, lam, speed, kept in found
    ]


# --- drawing --------------------------------------------------------------------------------------------------------

LOOKS: dict[str, tuple[str, str, str]] = {
    "CoS": (style.METHODS["cos_draft_weight"][1], "s", "-"),
    "adaptive interpolation": (style.INTERPOLATION, "v", "--"),
    "lenience": (style.METHODS["lenience"][1], "o", "-"),
    "overshoot ceiling": (style.CEILING, "^", "-"),
}
"""Colour, marker and line of each rule: lenience and CoS as everywhere, their halves in colours of their own."""


def plot(table: "pd.DataFrame", ax: "style.Place | None" = None) -> "Figure":
    """Draw Pass@1 against block efficiency, as a whole and near strict verification."""
    figure, axes = style.panels(ax, 1, 2, 10, 4.4)
    whole, near = axes[0]
    for one in (whole, near):
        _draw(one, table)
        one.set(xlabel="block efficiency (tokens per target call)", ylabel="Pass@1 (%)")
    strict = table[table["rule"] == "strict"]
    ours = strict.loc[strict["source"] == "theory", "pass_at_1"]
    if len(ours):
        level, slow = ours.iloc[0], strict["block_efficiency"].min()
        near.axhspan(level - 1, level + 1, color="#EEEEEE", zorder=0, label="within a point of strict")
        near.set(xlim=(slow - 0.05, slow + 0.7), ylim=(level - 10, level + 2))
    near.set(title="(b) Near strict verification")
    inputs, lambdas = knobs.varied(table), table.loc[table["source"] == "theory", "lambda"]
    span = f", λ from {lambdas.max():g} to {lambdas.min():g}" if "rules" not in inputs else ""
    whole.set(title=f"(a) {inputs.get('benchmark', BENCHMARK)}{span}")
    half = table[(table["rule"] == "adaptive interpolation") & (table["source"] == "paper")]
    for lam, speed, kept in half[["lambda", "block_efficiency", "pass_at_1"]].itertuples(index=False):
        whole.annotate(f"λ = {lam:g}", (speed, kept), (-6, -3), textcoords="offset points", ha="right", va="top", fontsize=7)
    style.paper_points(whole, [], [], "strict", "hollow: the paper")
    style.legend_below(figure, near, whole, columns=3)
    return figure


def _draw(axes: "Axes", table: "pd.DataFrame") -> None:
    ours = table[table["source"] == "theory"]
    others = style.looks(name for name in dict.fromkeys(ours["rule"]) if name not in LOOKS and name != "strict")
    looks_of = LOOKS | {name: (look.colour, look.marker, "-") for name, look in others.items()}
    for name, (colour, marker, line) in looks_of.items():
        own = ours[ours["rule"] == name]
        at = own["shown"].to_numpy().nonzero()[0].tolist()
        looks: dict[str, Any] = {"color": colour, "marker": marker}
        if len(own):
            axes.plot(own["block_efficiency"], own["pass_at_1"], line, markevery=at, markersize=4, label=name, **looks)
        paper = table[(table["rule"] == name) & (table["source"] == "paper")]
        looks |= {"markerfacecolor": "none", "linestyle": "none"}
        if len(paper):
            axes.plot(paper["block_efficiency"], paper["pass_at_1"], markersize=7, markeredgewidth=1.2, **looks)
    for source, draw in (("paper", style.paper_points), ("theory", style.our_line)):
        strict = table[(table["rule"] == "strict") & (table["source"] == source)]
        if len(strict):
            draw(axes, strict["block_efficiency"], strict["pass_at_1"], "strict")


@knobs.weighed
def headline(table: "pd.DataFrame") -> str:
    """Say what each half keeps, ours and the paper's, at its own speed and at equal speed."""
    shown = table[table["shown"]].sort_values("lambda")
    names = ("pass_at_1", "block_efficiency", "matched_pass_at_1")
    found = {key: {name: own[name].to_numpy() for name in names} for key, own in shown.groupby(["source", "rule"])}
    level = {source: float(found[source, "strict"]["pass_at_1"][0]) for source in ("theory", "paper")}

    def changed(source: str, rule: str, name: str = "pass_at_1") -> str:
        gaps = found[source, rule][name] - level[source]
        return f"{gaps.min():+.1f} to {gaps.max():+.1f}"

    def off(rule: str, name: str) -> float:
        return float(np.abs(found["theory", rule][name] - found["paper", rule][name]).mean())

    ceiling, half = "overshoot ceiling", "adaptive interpolation"
    matched_too = {source: changed(source, ceiling, "matched_pass_at_1") for source in level}
    error = accuracy.sampling_points(BENCHMARK, level["paper"])
    return (
        f"Against strict the ceiling alone changes Pass@1 by {changed('theory', ceiling)} points (the paper "
        f"{changed('paper', ceiling)}), interpolation alone by {changed('theory', half)} ({changed('paper', half)}): ours is off "
        f"by {off(ceiling, 'pass_at_1'):.1f} points and {off(ceiling, 'block_efficiency'):.2f} tokens per call for the ceiling, "
        f"by {off(half, 'pass_at_1'):.1f} and {off(half, 'block_efficiency'):.2f} for interpolation. At the ceiling's own block "
        f"efficiencies interpolation changes it by {matched_too['theory']} (the paper, between its rows, "
        f"{matched_too['paper']}); the sampling error of 3 runs is {error:.1f} points."
    )


# --- claims ------------------------------------------------------------------------------------------------------------


def _kept(table: "pd.DataFrame", rule: str, side: str) -> Sequence[float]:
    """Give what a rule changes against strict over the paper's λ: least and largest, points and tokens; then at equal speed."""
    own = of_side(table[table["shown"]], side)
    strict, rows = own[own["rule"] == "strict"].iloc[0], own[own["rule"] == rule]
    names = ("pass_at_1", "block_efficiency", "matched_pass_at_1")
    level = {"matched_pass_at_1": strict["pass_at_1"]} | {name: strict[name] for name in names[:2]}
    return [float((rows[name] - level[name]).agg(end)) for name in names for end in ("min", "max")]


def _at_equal_speed(table: "pd.DataFrame", side: str) -> Sequence[float]:
    """Give by how much interpolation keeps less than the ceiling at the ceiling's speed, points; and one deviation."""
    own = of_side(table[table["shown"] & (table["rule"] == "overshoot ceiling")], side)
    less = own["pass_at_1"] - own["matched_pass_at_1"]
    level = of_side(table[table["rule"] == "strict"], side)["pass_at_1"].iloc[0]
    return [less.min(), less.max(), accuracy.sampling_points(BENCHMARK, level)]


CLAIMS = (
    Claim(
        "The overshoot ceiling alone keeps Pass@1 at the lossless level while block efficiency still rises.",
        lambda table, side: _kept(table, "overshoot ceiling", side)[:4],
        "{:+.1f} to {:+.1f} points, {:+.2f} to {:+.2f} tokens per call",
        "within a point of strict at every λ, and faster at each",
        lambda change: [change[0] >= -1, change[2] > 0],
        "It lets through what the draft gets mildly wrong, and of the rest at most 1/λ times the target's word.",
    ),
    Claim(
        "Adaptive interpolation alone behaves like CoS and loses it.",
        lambda table, side: _kept(table, "adaptive interpolation", side)[:4],
        "{:+.1f} to {:+.1f} points, {:+.2f} to {:+.2f} tokens per call",
        "at least 5 points below strict at every λ",
        lambda change: [change[1] <= -5],
        "In accept form it is CoS.",
    ),
    Claim(
        "Overshoot control, not interpolation, is the principle.",
        _at_equal_speed,
        "at equal block efficiency interpolation keeps {:.1f} to {:.1f} points less; one standard deviation is {:.1f}",
        "less at every λ, and by more than two standard deviations",
        lambda less: [less[0] > 0, less[0] > 2 * less[2]],
        "Most of the difference is that the ceiling stays near strict verification: as little of CoS costs nearly as little.",
    ),
)
