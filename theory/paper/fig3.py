"""Figure 3: accuracy against block efficiency as lenience and CoS are turned up.

Lines and points are those of `theory.paper.tradeoff`. Lenience rows were fitted in block efficiency (left out in turn, they are
predicted about as well), one CoS row of each benchmark in accuracy.

On the real pair nothing is solved or failed. One panel has 1 - TV(induced, target) per token. It cannot tell the two rules
apart: both stand on the line TV(induced, target) + rejection rate = TV(p, q), below which there is nothing (Yin et al., Thm 5),
so that for as many accepted tokens they are as far from the target. They differ in where the distance lies. So the last panel has
the share of tokens that are not overshot, 1 - induced mass on tokens more than 5 times as likely as under the target. As 5 is
the ceiling at ℓ = 0.2, lenience has all of it by construction; CoS shows what that is worth. Both with 95% bands over prompts.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from theory import divergences
from theory.paper import real, style, tables, tradeoff
from theory.paper.agreement import SIDES, beside, span, worst
from theory.paper.intervals import over_prompts
from theory.paper.tables import GAMMA, Setting
from theory.probs import Array

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
        x, induced = real.block_efficiency(rates, GAMMA), rule.induced(target, draft)
        for measure, lack in LACKS.items():
            y = over_prompts(100 * (1 - lack(induced, target).reshape(rates.shape).mean(axis=-1)))
            about = {"source": "trace", "benchmark": real.PAIR, "measure": measure, "method": method, "parameter": parameter}
            rows.append(about | x.named("block_efficiency") | y.named("quality") | dict.fromkeys(tradeoff.FITTED, False))
    return sorted(rows, key=lambda row: list(LACKS).index(row["measure"]))


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
    rows = tradeoff.both_sides(settings) + traced(settings)
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"parameter": float})


QUALITY = {
    "accuracy": tradeoff.ACCURACY_LABEL,
    "likeness": "1 - TV(induced, target) (%)",
    "no overshoot": f"1 - mass above {OVERSHOOT} × target (%)",
}
"""Measure to its axis."""


def plot(table: "pd.DataFrame", figure: "Figure | None" = None) -> "Figure":
    """Draw the paper's four panels, and the real pair by two measures."""
    figure, axes = style.panels(figure, 2, 3, 11, 7.2)
    panels = table.groupby(["benchmark", "measure"], sort=False)
    for ax, letter, ((name, measure), part) in zip(axes.flat, "abcdef", panels, strict=True):
        tradeoff.draw(ax, part, METHODS)
        ax.set_title(f"({letter}) {name}" + (f", a real pair: {measure}" if name == real.PAIR else ""))
        ax.set(xlabel=tradeoff.EFFICIENCY_LABEL, ylabel=QUALITY[str(measure)])
    for group in (axes.flat[:4], axes.flat[4:]):  # the paper's panels share their vertical axis
        low, high = zip(*(ax.get_ylim() for ax in group), strict=True)
        for ax in group:
            ax.set_ylim(min(low), max(high))
    style.legend_below(figure, axes[0, 0], columns=3, methods=("strict", *METHODS))
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
