"""Figure 3: accuracy against block efficiency as lenience and CoS are turned up.

Lines and points are those of `theory.paper.tradeoff`. Lenience rows were fitted in block efficiency (left out in turn, they are
predicted about as well), one CoS row of each benchmark in accuracy.

On the real pair nothing is solved or failed. One panel has 1 - TV(induced, target) per token. It cannot tell the two rules
apart: both stand on the line TV(induced, target) + rejection rate = TV(p, q), below which there is nothing (Yin et al., Thm 5),
so that for as many accepted tokens they are as far from the target. They differ in where the distance lies. So the last panel has
the share of tokens that are not overshot, 1 - induced mass on tokens more than 5 times as likely as under the target. As 5 is
the ceiling at ℓ = 0.2, lenience has all of it by construction; CoS shows what that is worth. Both with 95% bands over prompts.
"""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from theory import divergences, parameters, verifiers
from theory.paper import accuracy, knobs, real, style, tables, tradeoff
from theory.paper.agreement import SIDES, Claim, beside, span, worst
from theory.paper.intervals import over_prompts
from theory.paper.knobs import Rules
from theory.paper.tables import BENCHMARKS, GAMMA
from theory.verifiers import Strict, TokenVerifier

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TITLE = "Figure 3: what collaborative verification pays for block efficiency"
CLAIM = (
    "CoS trades accuracy for block efficiency, steeply; lenience keeps the accuracy of lossless verification at a slightly "
    "higher block efficiency."
)
COLUMNS = tradeoff.COLUMNS | {
    "source": "paper (Table 4), theory or trace (a real pair)",
    "benchmark": "the paper's benchmark; SmolLM2 for the trace",
    "measure": "what quality is: accuracy, likeness or no overshoot",
    "parameter": "ℓ of lenience, draft weight of CoS; NaN for strict",
    "block_efficiency_low": "of the paper, one standard deviation below; of theory, the least of three models; of the trace, the "
    "lower end of the 95% band over prompts",
    "quality": "percent: accuracy or Pass@1; likeness, 1 - TV(induced, target) per token; no overshoot, 1 - induced mass on "
    "tokens more than 5 times as likely as under the target",
    "quality_low": "of the paper, one standard deviation below; of theory, the lower end of the 95% band of 3 runs; of the "
    "trace, of the 95% band over prompts",
}

METHODS = ("lenience", "cos_draft_weight")
"""Beside strict verification."""

OVERSHOOT = 5
"""What induced/target is above where a token is overshot: the ceiling of the paper's most lenient setting."""

LIKENESS, NO_OVERSHOOT = "likeness", "no overshoot"
"""Measures on the trace: 1 - TV, and 1 - induced mass on overshot tokens."""


def traced(rules: Iterable[TokenVerifier], gamma: int, texts: real.Texts, overshoot: float) -> list[dict[str, Any]]:
    """Give the rows of the trace for some rules, each measure after the other."""
    found: dict[str, list[dict[str, Any]]] = {LIKENESS: [], NO_OVERSHOOT: []}
    for rule in rules:
        method, parameter = tables.setting_of(rule)
        x, induced = real.block_efficiency(texts.acceptance(rule), gamma), rule.induced(texts.p, texts.q)
        lacks = {
            LIKENESS: divergences.total_variation(induced, texts.p),
            NO_OVERSHOOT: divergences.overshoot_mass(induced, texts.p, overshoot),
        }
        for measure, lack in lacks.items():
            y = over_prompts(100 * (1 - texts.means(lack)))
            about = {"source": "trace", "benchmark": texts.name, "measure": measure, "method": method, "parameter": parameter}
            found[measure].append(
                about | x.named("block_efficiency") | y.named("quality") | dict.fromkeys(tradeoff.FITTED, False)
            )
    return [row for rows in found.values() for row in rows]


def sweep(method: str, quick: bool = False) -> list[TokenVerifier]:
    """Give the rules of a line in the order of the sweep, from strict on; the paper's are among them."""
    step = 0.2 if quick else 0.05
    ends = (1.0, 0.2) if method == "lenience" else (0.0, 0.8)
    values = np.linspace(*ends, round(0.8 / step) + 1)
    return [tables.verifier(method, round(float(value), 6)) for value in values]


@knobs.recorded
def compute(
    quick: bool = False,
    *,
    rules: Rules | None = None,
    gamma: int = GAMMA,
    benchmarks: Sequence[str] = BENCHMARKS,
    trace: real.Rows | None = None,
    overshoot: float = OVERSHOOT,
    runs: int = accuracy.RUNS,
) -> "pd.DataFrame":
    """Compute both axes for some rules on the paper's benchmarks and on a real pair.

    Parameters
    ----------
    quick : bool
        Whether to leave out what lies between the paper's settings, where ``rules`` is not given.
    rules : verifiers, or names of verifiers
        Any. Default: strict, lenience with l from 1 to 0.2, and CoS with a draft weight from 0 to 0.8, in steps of 0.05.
    gamma : int
        Drafted tokens in a block, at least 1. The models are fitted at 10, and the paper's rows are shown at 10 only.
    benchmarks : sequence of str
        Of the paper's, a panel each.
    trace : trace, path, list of them, or rows (p, q)
        Whose rows the last panels have. Default: the bundled one.
    overshoot : float
        c in (0, inf): a token is overshot where it is more than c times as likely as under the target.
    runs : int
        Runs over a benchmark's problems, at least 1, for the bands of our accuracies.

    Returns
    -------
    pandas.DataFrame
        With `COLUMNS`.
    """
    import pandas as pd

    default = [Strict(), *(rule for method in METHODS for rule in sweep(method, quick))]
    chosen = default if rules is None else knobs.listed("rules", verifiers.resolve_all(rules, "rules"))
    parameters.check_count("gamma", gamma)
    parameters.check_count("runs", runs)
    parameters.check("overshoot", overshoot, "(0, inf)")
    places = knobs.choices("benchmarks", benchmarks, BENCHMARKS)
    rows = tradeoff.both_sides(chosen, places, gamma, runs) + traced(chosen, gamma, real.texts(trace), overshoot)
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"parameter": float})


QUALITY = {
    "accuracy": tradeoff.ACCURACY_LABEL,
    LIKENESS: "1 - TV(induced, target) (%)",
    NO_OVERSHOOT: "1 - mass above {} × target (%)",
}
"""Measure to its axis."""


def plot(table: "pd.DataFrame", ax: "style.Place | None" = None) -> "Figure":
    """Draw a panel for each benchmark, and the real pair by two measures."""
    panels = list(table.groupby(["benchmark", "measure"], sort=False))
    rows, columns = style.grid(len(panels), 3)
    figure, axes = style.panels(ax, rows, columns, 11 * columns / 3, 3.6 * rows)
    methods = tradeoff.methods_of(table)
    shared, above = [], knobs.varied(table).get("overshoot", OVERSHOOT)
    for (letter, one), ((name, measure), part) in zip(style.lettered(axes, len(panels)), panels, strict=True):
        tradeoff.draw(one, part, methods)
        one.set_title(f"({letter}) {name}" + (f", a real pair: {measure}" if measure != "accuracy" else ""))
        one.set(xlabel=tradeoff.EFFICIENCY_LABEL, ylabel=QUALITY[str(measure)].format(above))
        shared.append((measure == "accuracy", one))
    for accuracies in (True, False):  # the paper's panels share their vertical axis, and so do the trace's
        group = [one for paper, one in shared if paper is accuracies]
        low, high = zip(*(one.get_ylim() for one in group), strict=True)
        for one in group:
            one.set_ylim(min(low), max(high))
    style.legend_below(figure, *figure.axes, columns=3, methods=methods.values())
    return figure


# --- agreement ------------------------------------------------------------------------------------------------------


def gains(both: "pd.DataFrame", method: str, parameter: float) -> "pd.DataFrame":
    """Give what a setting changes against strict, one row a benchmark: tokens and points, by the paper and by us."""
    columns = [f"{name}_{side}" for name in tradeoff.COMPARED for side in SIDES]
    own, strict = (
        both[(both["method"] == name) & both["parameter"].isin([value])].set_index("benchmark")[columns]
        for name, value in ((method, parameter), ("strict", np.nan))
    )
    return own - strict


@knobs.weighed
def headline(table: "pd.DataFrame") -> str:
    """Compare both axes with the paper's, and say what the real pair shows."""
    both = beside(table, tradeoff.COMPARED)
    free = both[~both["quality_fitted"]]
    parts, changes = [], []
    for method, end in zip(METHODS, ("min", "max"), strict=True):
        own, name = both[both["method"] == method], style.METHODS[method][0]
        fitted = "fitted" if own["efficiency_fitted"].all() else "not fitted"
        parts.append(f"{name} {own['block_efficiency_error'].abs().mean():.2f} tokens per call ({fitted})")
        parameter = float(own["parameter"].agg(end))
        gain = gains(both, method, parameter)
        paper, ours = (f"{span(gain[f'block_efficiency_{side}'])} at {span(gain[f'quality_{side}'])}" for side in SIDES)
        changes.append(f"{name} at {parameter:g} has {paper} points in the paper, {ours} here")
    points = [free.loc[free["method"] == method, "quality_error"].abs().mean() for method in METHODS]
    slow, wrong = worst(both, "block_efficiency_error"), worst(free, "quality_error")
    trace = table[table["source"] == "trace"]
    end = trace[(trace["method"] == METHODS[0]) & (trace["parameter"] == both["parameter"].min())].set_index("measure")
    reached = end["block_efficiency"].iloc[0]
    mixtures = trace[trace["method"] == METHODS[1]]
    apart = (mixtures["block_efficiency"] - reached).abs()
    level = mixtures[apart == apart.min()].set_index("measure")["quality"]
    return (
        f"Off by, in the mean: {' and '.join(parts)}, most {abs(slow['block_efficiency_error']):.2f} on {slow['benchmark']}; in "
        f"accuracy, on rows not fitted, {points[0]:.1f} and {points[1]:.1f} points, most {abs(wrong['quality_error']):.1f} on "
        f"{wrong['benchmark']}. Against strict, {'; '.join(changes)}. On the real pair, at {reached:.1f} tokens per call, "
        f"lenience is {end['quality']['likeness']:.0f}% like the target and CoS {level['likeness']:.0f}%; of what they emit, "
        f"{100 - end['quality']['no overshoot']:.0f}% and {100 - level['no overshoot']:.0f}% is more than {OVERSHOOT} times as "
        "likely as under the target."
    )


# --- claims ------------------------------------------------------------------------------------------------------------


def _gained(table: "pd.DataFrame", method: str, parameter: float, side: str) -> Sequence[float]:
    """Give the least and the largest change against strict over benchmarks: tokens per call, then points."""
    found = gains(beside(table, tradeoff.COMPARED), method, parameter)
    return [found[f"{column}_{side}"].agg(end) for column in tradeoff.COMPARED for end in ("min", "max")]


def _inside(table: "pd.DataFrame", side: str) -> float:
    """Count the settings of lenience within the 95% band of 3 runs around the strict accuracy."""
    both = beside(table, tradeoff.COMPARED)
    own, strict = both[both["method"] == "lenience"], both[both["method"] == "strict"].set_index("benchmark")
    low, high = (own["benchmark"].map(strict[name]) for name in ("quality_low", "quality_high"))
    return float(own[f"quality_{side}"].between(low, high).sum() / len(own))


CLAIMS = (
    Claim(
        "CoS trades accuracy for block efficiency, steeply.",
        lambda table, side: _gained(table, "cos_draft_weight", 0.8, side),
        "draft weight 0.8: {:+.2f} to {:+.2f} tokens, {:+.1f} to {:+.1f} points",
        "faster on every benchmark, and at least 10 points less accurate on each",
        lambda change: [change[0] > 0, change[3] <= -10],
        "A mixture lets every kind of slip of the draft through, in proportion to its weight; one row a benchmark is fitted in "
        "accuracy, none in block efficiency.",
    ),
    Claim(
        "Lenience keeps the accuracy of lossless verification, at a slightly higher block efficiency.",
        lambda table, side: [*_gained(table, "lenience", 0.2, side), 100 * _inside(table, side)],
        "ℓ = 0.2: {:+.2f} to {:+.2f} tokens, {:+.1f} to {:+.1f} points; {:.0f}% of settings within chance of strict",
        "faster on every benchmark, and all settings within what 3 runs leave open around the strict accuracy",
        lambda change: [change[0] > 0, change[4] >= 100],
        "It accepts what the draft gets mildly wrong, which hardly matters, and no more than 1/ℓ times the target's word; block "
        "efficiency is fitted.",
    ),
)
