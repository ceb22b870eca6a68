"""Figure 7: accuracy against block efficiency for the truncation methods with one draft (Figure 6 has trees).

Lines and points are those of `theory.paper.tradeoff`, neither of whose models has seen a row of these methods in Table 4. In the
chain, truncating the target changes nothing, by construction, so that truncation sampling keeps the strict accuracy, and that
prediction is the guess that nothing is lost. Every setting of SpecCascade and typical acceptance keeps the wrong token that
tempts, so that all have one accuracy, below it by what the draft's overconfidence costs. That was fitted on Figure 1, whose row
for MATH is another run of SpecCascade at 0.5, a setting of Table 4.

The grey band is 95% of what 3 runs over so many problems leave open around the strict accuracy. That is generous between
settings, which share their problems. Differences of one row from another are within it nearly everywhere, so that dominance is
counted as printed, with no allowance for noise. The paper's caption speaks of three benchmarks; Table 4, which has its points,
of four.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from theory import parameters, verifiers
from theory.paper import accuracy, knobs, style, tables, tradeoff
from theory.paper.agreement import SIDES, Claim, beside
from theory.paper.knobs import Rules
from theory.paper.tables import BENCHMARKS, GAMMA, MATCHED
from theory.verifiers import Strict, TokenVerifier

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TITLE = "Figure 7: what truncation methods pay for block efficiency, with one draft"
CLAIM = (
    "Truncation sampling clusters at or above the lossless baseline; truncation-based verification reaches similar block "
    "efficiency with more scattered accuracy, and no setting of it Pareto-dominates its matched truncation sampling."
)
COLUMNS = tradeoff.COLUMNS | {
    "parameter": "p_base of min-p sampling and SpecCascade, ε of eta sampling and typical acceptance; NaN for strict",
}

METHODS = ("min_p_sampling", "spec_cascade", "eta_sampling", "typical_acceptance")
"""In the paper's order, beside strict verification."""


def sweep(method: str, quick: bool = False) -> list[TokenVerifier]:
    """Give the rules of a line, the paper's among them."""
    paper = tables.settings_of(method)
    values = paper if quick else np.linspace(paper[0], paper[-1], 17)
    return [tables.verifier(method, round(float(value), 6)) for value in values]


@knobs.recorded
def compute(
    quick: bool = False,
    *,
    rules: Rules | None = None,
    gamma: int = GAMMA,
    benchmarks: Sequence[str] = BENCHMARKS,
    runs: int = accuracy.RUNS,
) -> "pd.DataFrame":
    """Compute both axes for some rules on the paper's benchmarks.

    Parameters
    ----------
    quick : bool
        Whether to leave out what lies between the paper's settings, where ``rules`` is not given.
    rules : verifiers, or names of verifiers
        Any. Default: strict, and 17 settings each of min-p sampling, SpecCascade, eta sampling and typical acceptance, in the
        ranges of Table 4.
    gamma : int
        Drafted tokens in a block, at least 1. The models are fitted at 10, and the paper's rows are shown at 10 only.
    benchmarks : sequence of str
        Of the paper's, a panel each.
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
    places = knobs.choices("benchmarks", benchmarks, BENCHMARKS)
    rows = tradeoff.both_sides(chosen, places, gamma, runs)
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"parameter": float})


def plot(table: "pd.DataFrame", ax: "style.Place | None" = None) -> "Figure":
    """Draw one panel a benchmark."""
    panels = list(table.groupby("benchmark", sort=False))
    rows, columns = style.grid(len(panels), 2)
    figure, axes = style.panels(ax, rows, columns, 6 * columns, 3.7 * rows)
    methods = tradeoff.methods_of(table)
    for (letter, one), (name, part) in zip(style.lettered(axes, len(panels)), panels, strict=True):
        tradeoff.draw(one, part, methods, bands=False)
        for _, strict in part[(part["method"] == "strict") & (part["source"] == "theory")].iterrows():
            grey: dict[str, Any] = {"color": "#000000", "alpha": 0.07, "linewidth": 0, "zorder": 0}
            label = f"chance: 95% of {knobs.varied(table).get('runs', accuracy.RUNS)} runs"
            one.axhspan(strict["quality_low"], strict["quality_high"], label=label, **grey)
        one.set(title=f"({letter}) {name}", xlabel=tradeoff.EFFICIENCY_LABEL, ylabel=tradeoff.ACCURACY_LABEL)
    style.legend_below(figure, *figure.axes, methods=methods.values())
    return figure


# --- agreement ------------------------------------------------------------------------------------------------------


def gaps(both: "pd.DataFrame") -> "pd.DataFrame":
    """Give what each setting of truncation-based verification gains over its matched truncation sampling.

    Parameters
    ----------
    both : pandas.DataFrame
        From `theory.paper.agreement.beside`.

    Returns
    -------
    pandas.DataFrame
        ``method``, ``benchmark``, ``parameter``, and of both sides (``_paper``, ``_ours``) ``block_efficiency``, tokens per
        target call, and ``quality``, points.
    """
    import pandas as pd

    keys = ["benchmark", "parameter"]
    columns = [f"{name}_{side}" for name in tradeoff.COMPARED for side in SIDES]
    parts = {}
    for method, matched in MATCHED.items():
        own, base = (both[both["method"] == name].set_index(keys)[columns] for name in (method, matched))
        parts[method] = own - base
    return pd.concat(parts, names=["method"]).reset_index()


def dominating(gap: "pd.DataFrame") -> "pd.Series[bool]":
    """Say which settings are in the paper as good as their matched truncation sampling in both numbers, and better in one."""
    numbers = gap[["block_efficiency_paper", "quality_paper"]].round(9)  # of differences of two decimals
    return (numbers >= 0).all(axis=1) & (numbers > 0).any(axis=1)


@knobs.weighed
def headline(table: "pd.DataFrame") -> str:
    """Compare accuracies and gaps with the paper's, and with what chance leaves open."""
    both = beside(table, tradeoff.COMPARED)
    strict = both[both["method"] == "strict"].set_index("benchmark")
    free = both[both["method"] != "strict"]
    no_loss = (free["benchmark"].map(strict["quality_paper"]) - free["quality_paper"]).abs()
    off, idle = (values.groupby(free["method"]).mean() for values in (free["quality_error"].abs(), no_loss))
    gap = gaps(both)
    better = dominating(gap)
    errors, means, counts = [], [], []
    for method, rows in gap.groupby("method", sort=False):
        name = style.METHODS[str(method)][0]
        errors.append(f"{off[method]:.1f} points on {name} (the guess that nothing is lost: {idle[method]:.1f})")
        mean = rows.mean(numeric_only=True)
        paper, ours = (
            f"{mean[f'block_efficiency_{side}']:+.2f} tokens and {mean[f'quality_{side}']:+.2f} points" for side in SIDES
        )
        means.append(f"{name} has {paper} in the paper, {ours} here")
        counts.append(f"{better[gap['method'] == method].sum()} of {len(rows)} ({name})")
    low, high = (free["benchmark"].map(strict[name]) for name in ("quality_low", "quality_high"))
    inside = free["quality_paper"].between(low, high).sum()
    return (
        f"Accuracy is off by {' and '.join(errors)}; {inside} of the paper's {len(free)} accuracies are within what 3 runs leave "
        f"open around the strict one. Over its matched sampling {'; '.join(means)}. Of Table 4's settings {' and '.join(counts)} "
        "are at least as good as their matched sampling in both numbers and better in one, where the paper says none is."
    )


# --- claims ------------------------------------------------------------------------------------------------------------


def _dominating(table: "pd.DataFrame", side: str) -> Sequence[float]:
    """Count the settings that dominate their matched sampling: by Table 4's rows for each method, then by ours."""
    gap = gaps(beside(table, tradeoff.COMPARED))
    ours = gap.assign(**{f"{name}_paper": gap[f"{name}_ours"] for name in tradeoff.COMPARED})
    counts = [dominating(one)[gap["method"] == method].sum() for one in (gap, ours) for method in MATCHED]
    return [*counts, len(gap) / len(MATCHED)]


def _against_strict(table: "pd.DataFrame", side: str) -> Sequence[float]:
    """Say how far accuracies of truncation sampling are below strict at most, and how many are below what chance leaves open."""
    both = beside(table, tradeoff.COMPARED)
    strict = both[both["method"] == "strict"].set_index("benchmark")
    own = both[both["method"].isin([*MATCHED.values()])]
    quality = own[f"quality_{side}"]
    below = quality < own["benchmark"].map(strict["quality_low"])
    return [(quality - own["benchmark"].map(strict[f"quality_{side}"])).mean(), below.sum(), len(own)]


def _faster(table: "pd.DataFrame", side: str) -> Sequence[float]:
    gap = gaps(beside(table, tradeoff.COMPARED)).groupby("method", sort=False)[f"block_efficiency_{side}"].mean()
    return [gap[method] for method in MATCHED]


CLAIMS = (
    Claim(
        "Truncation sampling clusters at or above the lossless baseline.",
        _against_strict,
        "{:+.2f} points from strict in the mean; {:.0f} of {:.0f} settings are below what chance leaves open",
        "no setting below the 95% band of 3 runs around the strict accuracy",
        lambda found: [found[1] == 0],
        "By construction here: where the target is torn all wordings are equally likely, so that a cut changes no answer.",
    ),
    Claim(
        "Truncation-based verification reaches similar block efficiency.",
        _faster,
        "{:+.2f} tokens over its matched sampling (SpecCascade), {:+.2f} (typical acceptance)",
        "each within half a token",
        lambda gain: [abs(one) < 0.5 for one in gain],
        "No row of either was fitted.",
    ),
    Claim(
        "No setting of it Pareto-dominates its matched truncation sampling.",
        _dominating,
        "by Table 4's rows {0:.0f} of {4:.0f} (SpecCascade) and {1:.0f} (typical acceptance) do, by ours {2:.0f} and {3:.0f}",
        "none for either method, by the paper's rows and by ours",
        lambda found: [count == 0 for count in found[:4]],
        "Counted as printed, with no allowance for noise, which is as large as most differences.",
        printed="none",
    ),
)
