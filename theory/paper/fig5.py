"""Figure 5: block efficiency along the sweeps of the truncation methods.

Our lines are the held-out model of `calibration`, which has seen none of these rows; bands are the range of its three models that
have a profile. (Their steps are those of its 24 odds.) The paper's bars are a standard deviation of 3 runs each way.

Truncation sampling verifies without loss against the truncated target. In the model the draft is truncated by its own set too, as
the authors' configuration says ("truncation sampling on the draft"); on the real pair both are shown. Bands there hold the mean
with 95% confidence, Student's t over its 8 prompts.

What truncation does to the *text* is beyond these rows, and the model all but leaves it out: a text without improbable tokens may
be easier to draft. On the real pair there is a hint of it. Strict verification accepts more of the positions that follow a token
in the min-p set at 0.9 than of the others, though by no more than the error of the difference (`followers`).
"""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from theory import exact, traces
from theory.paper import real, style, tables, tradeoff
from theory.paper.agreement import SIDES, beside, rank_correlation, span
from theory.paper.intervals import Interval, over_prompts
from theory.paper.tables import BENCHMARKS, GAMMA, Setting
from theory.probs import Array
from theory.truncation import MinP
from theory.verifiers import Strict, TokenVerifier, TruncationSampling

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Figure 5: block efficiency along the sweeps of the truncation methods"
CLAIM = (
    "Min-p sampling rises to a peak and then declines, eta sampling rises more steadily; SpecCascade and typical acceptance fall "
    "from well above the lossless baseline as their sets shrink."
)
COLUMNS = {
    "source": "paper (Table 4), theory or trace (a real pair)",
    "benchmark": "the paper's benchmark; SmolLM2 for the trace",
    "truncation": "row of the figure: min-p or eta; strict stands in both",
    "method": "method of Table 4",
    "parameter": "p_base of min-p, ε of eta; NaN for strict",
    "draft": "whole, or truncated as the target is",
    "block_efficiency": "tokens per target call, γ = 10, the extra one included",
    "block_efficiency_low": "of the paper, one standard deviation below; of theory, the least of three models; of the trace, the "
    "lower end of the 95% band over prompts",
    "block_efficiency_high": "upper end, likewise",
}

METHODS = {"min-p": ("min_p_sampling", "spec_cascade"), "eta": ("eta_sampling", "typical_acceptance")}
"""Row of the figure to its truncation sampling and its truncation-based verification."""

ENDS = {"min-p": (0.1, 0.9), "eta": (0.05, 0.25)}
LABELS = {"min-p": "p_base (relative to max p)", "eta": "ε (probability)"}
EFFICIENCY = ("block_efficiency", "block_efficiency_low", "block_efficiency_high")
WHOLE, TRUNCATED = "whole", "truncated"


def parameters_of(truncation: str, quick: bool) -> list[float]:
    """Give the parameters of a line; the paper's five are among them."""
    return [round(float(value), 6) for value in np.linspace(*ENDS[truncation], 5 if quick else 33)]


def drafts(method: str, source: str) -> tuple[str, ...]:
    """Give which drafts a method is shown with: truncation sampling with a truncated one, on the trace also with a whole one."""
    if not method.endswith("_sampling"):
        return (WHOLE,)
    return (TRUNCATED, WHOLE) if source == "trace" else (TRUNCATED,)


def rates(rule: TokenVerifier, draft: str) -> Array:
    """Give the acceptance rates along the real texts, shape (prompts, positions), with a draft whole or cut by its own set.

    Raises
    ------
    ValueError
        For a truncated draft under a rule that is not truncation sampling.
    """
    if draft == WHOLE:
        return real.acceptance(rule)
    if not isinstance(rule, TruncationSampling):
        raise ValueError(f"rule = {rule}: only truncation sampling has a set by which to truncate the draft")
    p, q = real.rows()
    return real.by_prompt(np.asarray(exact.acceptance_rate(rule, p, rule.truncation.truncate(q)), dtype=float))


class Followers(NamedTuple):
    """Strict verification right after two kinds of tokens of the real texts."""

    kept: float
    """Acceptance rate after a token of the min-p set."""
    cut: float
    """After a token off it."""
    difference: Interval
    """Kept - cut, the mean over prompts with its 95% band."""


def followers(p_base: float) -> Followers:
    """Say how well the target's text is drafted after a token that min-p keeps, and after one that it cuts.

    Parameters
    ----------
    p_base : float
        Of the min-p set.

    Examples
    --------
    >>> found = followers(0.9)
    >>> round(found.kept, 2), round(found.cut, 2), round(found.difference.value, 2)
    (0.63, 0.6, 0.03)
    """
    strict = real.acceptance(Strict())
    trace = traces.example().with_tail_tokens(real.TAIL_TOKENS)
    places = np.asarray(trace.ids) == np.asarray(trace.tokens)[:, None]
    before = real.by_prompt((places & MinP(p_base).allowed(real.rows()[0])).any(axis=-1))[:, :-1]
    after = strict[:, 1:]
    kept, cut = (np.array([row[own == side].mean() for row, own in zip(after, before, strict=True)]) for side in (True, False))
    return Followers(float(after[before].mean()), float(after[~before].mean()), over_prompts(kept - cut))


def _ours(quick: bool) -> Iterator[dict[str, Any]]:
    for benchmark in (*BENCHMARKS, real.PAIR):
        source = "trace" if benchmark == real.PAIR else "theory"
        for truncation, methods in METHODS.items():
            settings: list[Setting] = [("strict", None)]
            settings += [(method, value) for method in methods for value in parameters_of(truncation, quick)]
            rules = [tables.verifier(*setting) for setting in settings]
            found = tradeoff.efficiencies(benchmark, rules) if source == "theory" else None
            for place, (rule, (method, parameter)) in enumerate(zip(rules, settings, strict=True)):
                for draft in drafts(method, source):
                    value = (
                        found.named("block_efficiency", place)
                        if found
                        else real.block_efficiency(rates(rule, draft), GAMMA).named("block_efficiency")
                    )
                    about = {"source": source, "benchmark": benchmark, "truncation": truncation, "method": method}
                    yield about | {"parameter": parameter, "draft": draft} | value


def _reported() -> Iterator[dict[str, Any]]:
    for truncation, methods in METHODS.items():
        for row in tradeoff.reported(("strict", *methods)):
            yield row | {"truncation": truncation, "draft": drafts(row["method"], "paper")[0]}


def compute(quick: bool = False) -> "pd.DataFrame":
    """Compute the lines on the four benchmarks and the real pair; ``quick`` takes the paper's parameters only."""
    import pandas as pd

    return pd.DataFrame([*_reported(), *_ours(quick)], columns=list(COLUMNS)).astype({"parameter": float})


# --- drawing --------------------------------------------------------------------------------------------------------


def plot(table: "pd.DataFrame", figure: "Figure | None" = None) -> "Figure":
    """Draw the paper's two rows of four panels, and the real pair in a fifth column."""
    figure, axes = style.panels(figure, 2, 5, 13, 6, sharex="row", sharey="col")  # a benchmark's two panels as in the paper
    for line, truncation in zip(axes, METHODS, strict=True):
        own = table[table["truncation"] == truncation]
        ticks = tables.settings_of(METHODS[truncation][0])
        for ax, (_, part) in zip(line, own.groupby("benchmark", sort=False), strict=True):
            _draw(ax, part, METHODS[truncation])
            ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            ax.set_xlabel(LABELS[truncation])
        line[0].set_ylabel("block efficiency\n(tokens per target call)")
    for ax, letter, benchmark in zip(axes[0], "abcde", table["benchmark"].unique(), strict=True):
        ax.set_title(f"({letter}) {benchmark}" + (", a real pair" if benchmark == real.PAIR else ""))
    methods = [method for pair in METHODS.values() for method in pair]
    style.legend_below(figure, *axes[:, [0, 4]].ravel(), methods=("strict", *methods))
    return figure


def _draw(ax: "Axes", part: "pd.DataFrame", methods: Sequence[str]) -> None:
    strict = part[part["method"] == "strict"].set_index("source")["block_efficiency"]
    for source, value in strict.items():
        line, label = ("--", style.the_papers("strict")) if source == "paper" else ("-", style.ours("strict"))
        ax.axhline(value, color="#000000", linewidth=1, zorder=1, linestyle=line, label=label)
    for method in methods:
        own = part[part["method"] == method]
        name, colour, _ = style.METHODS[method]
        for draft, ours in own[own["source"] != "paper"].groupby("draft", sort=False):
            x, y, low, high = (ours[column] for column in ("parameter", *EFFICIENCY))
            if method.endswith("_sampling") and draft == WHOLE:
                ax.plot(x, y, color=colour, linestyle=":", label=f"{name}, draft whole")
            else:
                style.our_line(ax, x, y, method, style.ours(method), low, high)
        paper = own[own["source"] == "paper"]
        if len(paper):
            errors = {"yerr": style.bars(paper, "block_efficiency")}
            style.paper_points(ax, paper["parameter"], paper["block_efficiency"], method, style.the_papers(method), **errors)


# --- agreement ------------------------------------------------------------------------------------------------------


def ranks(both: "pd.DataFrame") -> dict[str, dict[str, float]]:
    """Give the rank correlation (Spearman) of ours with the paper's along each sweep, by method and benchmark."""
    paper, ours = (f"block_efficiency_{side}" for side in SIDES)
    found: dict[str, dict[str, float]] = {}
    for (method, benchmark), rows in both.groupby(["method", "benchmark"], sort=False):
        found.setdefault(str(method), {})[str(benchmark)] = rank_correlation(rows[paper], rows[ours])
    return found


def rises(both: "pd.DataFrame", method: str) -> "pd.DataFrame":
    """Give by how much block efficiency rises from the first to the last setting, a row a benchmark: ``paper`` and ``ours``."""
    sweep = both[both["method"] == method].sort_values("parameter").groupby("benchmark", sort=False)
    ends = [sweep[[f"block_efficiency_{side}" for side in SIDES]].nth(place).to_numpy() for place in (0, -1)]
    return type(both)(ends[1] - ends[0], columns=list(SIDES))


def headline(table: "pd.DataFrame") -> str:
    """Say how far each method is off and whether its direction is right, and what the real pair does."""
    methods = {method: style.METHODS[method][0] for pair in METHODS.values() for method in reversed(pair)}
    both = beside(table[table["method"].isin(list(methods))], ["block_efficiency"])
    rank = ranks(both)
    off = both["block_efficiency_error"].abs().groupby(both["method"]).mean()
    parts = [
        f"{name} {off[key]:.2f} ({', '.join(f'{value:.2f}' for value in rank[key].values())})" for key, name in methods.items()
    ]
    paper = table[(table["source"] == "paper") & table["method"].isin(list(methods))]
    spread = (paper["block_efficiency_high"] - paper["block_efficiency_low"]).mean() / 2
    changes = [
        f"{name} {span(found['paper'])} (model {span(found['ours'])})"
        for name, found in ((name, rises(both, method)) for method, name in methods.items())
    ]
    sweep = both[both["method"] == "min_p_sampling"].sort_values("parameter").groupby("benchmark")["block_efficiency_paper"]
    still = sweep.last() >= sweep.max()
    pair = table[(table["source"] == "trace") & (table["truncation"] == "min-p")]
    own = pair[pair["method"] == "min_p_sampling"].set_index("parameter")
    gain = own["block_efficiency"] - pair.loc[pair["method"] == "strict", "block_efficiency"].iloc[0]
    cut, whole = (gain[own["draft"] == draft] for draft in (TRUNCATED, WHOLE))
    return (
        f"Off by, in tokens per call, on {len(both)} rows of which none was fitted (in brackets the rank correlation along the "
        f"sweep on {', '.join(rank['spec_cascade'])}): {', '.join(parts)}; the paper's standard deviations are {spread:.2f} in "
        f"the mean. From end to end the paper's rows change by: {'; '.join(changes)}; its min-p sampling is highest at the last "
        f"setting on {still.sum()} of {len(still)} benchmarks, where its text says that it declines after a peak. On the real "
        f"pair, its draft truncated too, min-p sampling is highest at p_base {cut.idxmax():g} ({cut.max():+.2f} over strict, at "
        f"the end {cut.iloc[-1]:+.2f}); with only the target truncated it changes by {span(whole)}."
    )
