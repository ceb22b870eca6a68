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

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from theory import exact, parameters, traces
from theory.paper import knobs, real, style, tables, tradeoff
from theory.paper.agreement import SIDES, Claim, beside, of_side, rank_correlation, span
from theory.paper.intervals import Interval, over_prompts
from theory.paper.tables import BENCHMARKS, GAMMA, Setting
from theory.probs import Array
from theory.truncation import MinP
from theory.verifiers import FALLBACKS, SpecCascade, Strict, TokenVerifier, TruncationSampling, TypicalAcceptance

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


def parameters_of(truncation: str, quick: bool = False) -> list[float]:
    """Give the parameters of a line; the paper's five are among them."""
    return [round(float(value), 6) for value in np.linspace(*ENDS[truncation], 5 if quick else 33)]


def rules_of(truncation: str, values: Sequence[float], fallback: str) -> dict[str, list[TokenVerifier]]:
    """Give the rules of a row of the figure at some parameters, by method."""
    if truncation == "min-p":
        lossy: list[TokenVerifier] = [SpecCascade(value, fallback) for value in values]
    else:
        lossy = [TypicalAcceptance(value, fallback=fallback) for value in values]
    sampling, verification = METHODS[truncation]
    return {sampling: [tables.verifier(sampling, value) for value in values], verification: lossy}


def drafts(method: str, source: str) -> tuple[str, ...]:
    """Give which drafts a method is shown with: truncation sampling with a truncated one, on the trace also with a whole one."""
    if not method.endswith("_sampling"):
        return (WHOLE,)
    return (TRUNCATED, WHOLE) if source == "trace" else (TRUNCATED,)


def rates(rule: TokenVerifier, draft: str, texts: real.Texts | None = None) -> list[Array]:
    """Give the acceptance rates along each text, the bundled ones by default, with a draft whole or cut by its own set.

    Raises
    ------
    ValueError
        For a truncated draft under a rule that is not truncation sampling.
    """
    texts = real.bundled() if texts is None else texts
    if draft == WHOLE:
        return texts.acceptance(rule)
    if not isinstance(rule, TruncationSampling):
        raise ValueError(f"rule = {rule}: only truncation sampling has a set by which to truncate the draft")
    return texts.each(np.asarray(exact.acceptance_rate(rule, texts.p, rule.truncation.truncate(texts.q)), dtype=float))


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
    texts = real.bundled()
    trace = traces.example().with_tail_tokens(real.TAIL_TOKENS)
    places = np.asarray(trace.ids) == np.asarray(trace.tokens)[:, None]
    within = texts.each((places & MinP(p_base).allowed(texts.p)).any(axis=-1))
    before = np.array([own[:-1] for own in within])
    after = np.array([own[1:] for own in texts.acceptance(Strict())])
    kept, cut = (np.array([row[own == side].mean() for row, own in zip(after, before, strict=True)]) for side in (True, False))
    return Followers(float(after[before].mean()), float(after[~before].mean()), over_prompts(kept - cut))


def _ours(
    grids: Mapping[str, Sequence[float]], fallback: str, gamma: int, benchmarks: Sequence[str], texts: real.Texts
) -> Iterator[dict[str, Any]]:
    for benchmark in (*benchmarks, texts.name):
        source = "trace" if benchmark == texts.name else "theory"
        for truncation, values in grids.items():
            found = rules_of(truncation, values, fallback)
            settings: list[Setting] = [("strict", None)]
            settings += [(method, value) for method in found for value in values]
            rules: list[TokenVerifier] = [Strict(), *(rule for own in found.values() for rule in own)]
            predicted = tradeoff.efficiencies(benchmark, rules, gamma) if source == "theory" else None
            for place, (rule, (method, parameter)) in enumerate(zip(rules, settings, strict=True)):
                for draft in drafts(method, source):
                    value = (
                        predicted.named("block_efficiency", place)
                        if predicted
                        else real.block_efficiency(rates(rule, draft, texts), gamma).named("block_efficiency")
                    )
                    about = {"source": source, "benchmark": benchmark, "truncation": truncation, "method": method}
                    yield about | {"parameter": parameter, "draft": draft} | value


def _reported(benchmarks: Sequence[str]) -> Iterator[dict[str, Any]]:
    for truncation, methods in METHODS.items():
        for row in tradeoff.reported(("strict", *methods)):
            if row["benchmark"] in benchmarks:
                yield row | {"truncation": truncation, "draft": drafts(row["method"], "paper")[0]}


@knobs.recorded
def compute(
    quick: bool = False,
    *,
    p_bases: Sequence[float] | None = None,
    epsilons: Sequence[float] | None = None,
    fallback: str = "target",
    gamma: int = GAMMA,
    benchmarks: Sequence[str] = BENCHMARKS,
    trace: real.Rows | None = None,
) -> "pd.DataFrame":
    """Compute the lines on the paper's benchmarks and the real pair.

    Parameters
    ----------
    quick : bool
        Whether to take the paper's five parameters of each kind only, where they are not given.
    p_bases : sequence of float
        Of min-p sampling and SpecCascade, in (0, 1]. Default: 33 from 0.1 to 0.9.
    epsilons : sequence of float
        Of eta sampling and typical acceptance, in (0, 1]. Default: 33 from 0.05 to 0.25.
    fallback : str
        What SpecCascade and typical acceptance draw a replacement from, of `theory.verifiers.FALLBACKS`.
    gamma : int
        Drafted tokens in a block, at least 1. The models are fitted at 10, and the paper's rows are shown at 10 only.
    benchmarks : sequence of str
        Of the paper's, a column each.
    trace : trace, path, list of them, or rows (p, q)
        Whose rows the last column has. Default: the bundled one.

    Returns
    -------
    pandas.DataFrame
        With `COLUMNS`.
    """
    import pandas as pd

    grids = {
        "min-p": parameters_of("min-p", quick) if p_bases is None else knobs.numbers("p_bases", p_bases, "(0, 1]"),
        "eta": parameters_of("eta", quick) if epsilons is None else knobs.numbers("epsilons", epsilons, "(0, 1]"),
    }
    knobs.choice("fallback", fallback, FALLBACKS)
    parameters.check_count("gamma", gamma)
    places = knobs.choices("benchmarks", benchmarks, BENCHMARKS)
    paper = _reported(places) if gamma == GAMMA else ()
    rows = [*paper, *_ours(grids, fallback, gamma, places, real.texts(trace))]
    return pd.DataFrame(rows, columns=list(COLUMNS)).astype({"parameter": float})


# --- drawing --------------------------------------------------------------------------------------------------------


def plot(table: "pd.DataFrame", ax: "style.Place | None" = None) -> "Figure":
    """Draw the two rows of the paper's figure, a column for each benchmark, and the real pair in the last column."""
    places = list(table["benchmark"].unique())
    pairs = set(table.loc[table["source"] == "trace", "benchmark"])
    # a benchmark's two panels share an axis, as in the paper
    figure, axes = style.panels(ax, 2, len(places), 2.6 * len(places), 6, sharex="row", sharey="col")
    for line, truncation in zip(axes, METHODS, strict=True):
        own = table[table["truncation"] == truncation]
        for one, (_, part) in zip(line, own.groupby("benchmark", sort=False), strict=True):
            _draw(one, part, METHODS[truncation])
            one.set_xlabel(LABELS[truncation])
        low, high = own["parameter"].min(), own["parameter"].max()
        ticks = [tick for tick in tables.settings_of(METHODS[truncation][0]) if low <= tick <= high]
        for one in line if len(ticks) > 1 else ():
            one.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
        line[0].set_ylabel("block efficiency\n(tokens per target call)")
    for (letter, one), place in zip(style.lettered(axes[0], len(places)), places, strict=True):
        one.set_title(f"({letter}) {place}" + (", a real pair" if place in pairs else ""))
    methods = [style.METHODS[method] for pair in METHODS.values() for method in pair]
    style.legend_below(figure, *axes[:, [0, -1]].ravel(), methods=(style.METHODS["strict"], *methods))
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


@knobs.weighed
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


# --- claims ------------------------------------------------------------------------------------------------------------


def _sweeps(table: "pd.DataFrame", method: str, side: str) -> "pd.DataFrame":
    """Give block efficiency along a sweep, a row a parameter of the paper's and a column a benchmark."""
    both = beside(table[table["method"] == method], ["block_efficiency"])
    return both.pivot_table(f"block_efficiency_{side}", "parameter", "benchmark")


def _strict(table: "pd.DataFrame", side: str) -> "pd.Series[float]":
    own = of_side(table[(table["method"] == "strict") & (table["truncation"] == "eta")], side)
    return own.set_index("benchmark")["block_efficiency"]


def _rising(table: "pd.DataFrame", method: str, side: str) -> Sequence[float]:
    wide = _sweeps(table, method, side)
    rise = wide.max() - wide.iloc[0]
    fall = wide.max() - wide.iloc[-1]
    return [rise.min(), rise.max(), (fall > TIE).sum(), wide.shape[1]]


def _falling(table: "pd.DataFrame", side: str) -> Sequence[float]:
    found = []
    for method in ("spec_cascade", "typical_acceptance"):
        wide = _sweeps(table, method, side)
        start = wide.iloc[0] - _strict(table, side)
        found += [start.min(), start.max(), (wide.iloc[0] - wide.iloc[-1] > TIE).sum(), wide.shape[1]]
    return found


TIE = 0.005
"""Tokens per call: half a digit of Table 4."""

CLAIMS = (
    Claim(
        "Min-p sampling rises to a peak and then declines.",
        lambda table, side: _rising(table, "min_p_sampling", side),
        "rises by {:.2f} to {:.2f} tokens; declines after a peak on {:.0f} of {:.0f} benchmarks",
        "rises on every benchmark by more than half a digit, and declines after its peak on every one",
        lambda found: [found[0] > TIE, found[2] == found[3]],
        "Not by the paper's own rows, which are highest at the last setting. Our model leaves out that a truncated text may be "
        "easier to draft.",
    ),
    Claim(
        "Eta sampling rises more steadily.",
        lambda table, side: _rising(table, "eta_sampling", side),
        "rises by {:.2f} to {:.2f} tokens; declines after a peak on {:.0f} of {:.0f} benchmarks",
        "rises on every benchmark by more than half a digit, and declines on none",
        lambda found: [found[0] > TIE, found[2] == 0],
        "In the model the set at these ε hardly cuts anything that the draft would say.",
    ),
    Claim(
        "SpecCascade and typical acceptance fall from well above the lossless baseline as their sets shrink.",
        _falling,
        "begin {:+.2f} to {:+.2f} tokens from strict and fall on {:.0f} of {:.0f} benchmarks; {:+.2f} to {:+.2f} and "
        "{:.0f} of {:.0f}",
        "begin above strict, and fall, on every benchmark: either method is a part",
        lambda found: [found[0] > 0 and found[2] == found[3], found[4] > 0 and found[6] == found[7]],
        "A gate accepts whatever is in its set, so that acceptance is the draft's mass on it. None of these rows was fitted.",
    ),
)
