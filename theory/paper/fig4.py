"""Figure 4: how far truncating the target changes the acceptance of a drafted token (Lemma 1).

The paper calls the change ΔBE; it is one of acceptance, a probability, not of block efficiency. Its lines are "ratios of
matching, partially overlapping, and unrelated candidate tokens", drawn by a generator that neither the paper nor its code gives.
Ours: targets of 100 tokens with standard normal logits z, and drafts with logits (√ρ z + √(1-ρ) u)/T, where u is like z and
independent of it. **Matching** is ρ = 1, **partial** ρ = 1/2, **unrelated** ρ = 0. A line mixes positions of the three kinds in
its shares. (A draft with no token of the target's would have Δ = 0; an independent one meets its tail by chance.)

The temperature T decides whether there is anything to gain. At T = 1 a matching draft is the target itself, and Lemma 1 then has
no gain, only the loss of the tail: Δ = -(1 - p(A)). Gains as large as the paper's need drafts far sharper than the target here;
we take T = 1/4, and draw T = 1 below it. The last row has the real pair, whose draft is flatter than its target. There Δ is also
shown with the draft truncated by its own set, which Lemma 1 does not treat but the authors' configuration of min-p sampling says
("truncation sampling on the draft"), beside what Table 4's block efficiencies imply for one token if acceptance is i.i.d.

The trace records no tail. Spread as `real` spreads it, the tail overstates the loss, by at most 0.024 in the mean: no sign of
the mean Δ under Lemma 1 depends on it.

Bands hold the mean with 95% confidence: normal over simulated pairs, Student's t over the 8 prompts of the trace.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from theory import exact, parameters, probs
from theory.paper import calibration, knobs, real, style, tables
from theory.paper.agreement import Claim, span
from theory.paper.intervals import Interval, normal, over_prompts
from theory.probs import Array, RowsLike
from theory.truncation import Eta, MinP, Truncation
from theory.verifiers import Strict, TruncationSampling

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Figure 4: what truncating the target does to acceptance"
AXIS_TOP = {"min-p": 0.4, "eta": 2e-3}
"""Where the vertical axes of the paper's two panels end; its curves are not published as numbers."""

CLAIM = (
    "Under min-p the gain dominates at smaller p_base and narrows towards 0.9; under η the net change is positive for every mix "
    f"of drafts and grows with ε. (Its axes end at {AXIS_TOP['min-p']:g} for min-p and at {AXIS_TOP['eta']:g} for η.)"
)
COLUMNS = {
    "source": "simulated, trace (a real pair), or paper",
    "truncation": "min-p or eta",
    "parameter": "p_base of min-p, ε of η (δ = √ε)",
    "temperature": "T of the simulated drafts; NaN elsewhere",
    "series": "shares of matching/partial/unrelated drafts; of the trace, target or target and draft truncated; of the paper, "
    "the benchmark of Table 4, or the top of its Figure 4's axis",
    "change": "Δ, change of the acceptance of one drafted token, probability",
    "change_low": "lower end of the 95% band; of the paper, from the block efficiency less a standard deviation",
    "change_high": "upper end, likewise",
    "gain": "Lemma 1's gain on the allowed set, probability; NaN where it does not apply",
    "loss": "Lemma 1's loss on the tail, probability; likewise",
    "positive": "share of pairs or positions where Δ > 0; NaN for the paper",
    "error": "largest |Δ - (gain - loss)| of any pair or position, probability; likewise",
}

SHARES = ("8/1/1", "4/3/3", "3/1/6", "1/1/8", "3/3/4")
"""Of matching, partial and unrelated drafts, in tenths; the paper's, in its order."""

KINDS = (1.0, 0.5, 0.0)
"""ρ of matching, partial and unrelated drafts: the share of their logits' variance that is the target's."""

TEMPERATURES = (0.25, 1.0)
TOKENS, PAIRS, SEED = 100, 200, 4
TRUNCATIONS: dict[str, type[MinP | Eta]] = {"min-p": MinP, "eta": Eta}

SIMULATED = {"min-p": np.linspace(0.1, 0.9, 17), "eta": np.linspace(0.005, 0.025, 9)}
TRACED = {"min-p": np.linspace(0.1, 0.9, 17), "eta": np.geomspace(0.005, 0.25, 13)}
"""Parameters; on the trace, ε runs on to those of Table 4."""

METHODS = {"min-p": "min_p_sampling", "eta": "eta_sampling"}
TARGET, BOTH = "target truncated", "target and draft truncated"
TOP = "top of the axis"


def lemma_1(truncation: Truncation, p: RowsLike, q: RowsLike) -> tuple[Any, Any]:
    """Give the two terms of Lemma 1 for each pair of rows, exactly on Fractions.

    Parameters
    ----------
    truncation : Truncation
        Gives the allowed set A, and z = p(A).
    p, q : array_like, shape (..., V)
        Rows of the target and of the draft.

    Returns
    -------
    gain, loss : float, Fraction or ndarray, shape (...)
        Σ_A min{(q - p)+, (1/z - 1) p} and Σ_(not A) min(p, q), probabilities. Gain - loss is the change of acceptance.

    Notes
    -----
    The paper's Eq. 14. The gain is 0 where q = p, and the loss then 1 - z.

    Examples
    --------
    >>> gain, loss = lemma_1(MinP(0.6), [0.5, 0.25, 0.25], [0.75, 0.25, 0.0])
    >>> gain, loss
    (np.float64(0.25), np.float64(0.25))
    """
    p, q = probs.check_pair(p, q)
    kept = probs.indicator(truncation.allowed(p), p)
    gain = kept * np.minimum(probs.excess(q, p), truncation.truncate(p) - kept * p)
    return probs.total(gain), probs.total((1 - kept) * np.minimum(p, q))


class Changes(NamedTuple):
    """What a truncation does at each position, arrays of one shape."""

    change: Array
    gain: Array
    loss: Array


def changes(truncation: Truncation, p: Array, q: Array) -> Changes:
    """Give the change of acceptance, by the verifiers, and beside it the two terms of Lemma 1."""
    change = exact.acceptance_rate(TruncationSampling(truncation), p, q) - exact.acceptance_rate(Strict(), p, q)
    return Changes(change, *lemma_1(truncation, p, q))


def pairs(share: float, temperature: float, count: int, rng: np.random.Generator, tokens: int = TOKENS) -> tuple[Array, Array]:
    """Draw simulated pairs of one kind.

    Parameters
    ----------
    share : float
        ρ in [0, 1].
    temperature : float
        T of the draft, positive.
    count : int
        Of pairs.
    rng : numpy.random.Generator
        The source of randomness.
    tokens : int
        Vocabulary size.

    Returns
    -------
    p, q : ndarray, shape (count, tokens)
        Rows of the target and of the draft.
    """
    own, other = rng.standard_normal((2, count, tokens))
    mixed = (np.sqrt(share) * own + np.sqrt(1 - share) * other) / temperature
    p, q = (probs.normalise(np.exp(logits - logits.max(axis=-1, keepdims=True))) for logits in (own, mixed))
    return probs.check_pair(p, q)


class Simulation(NamedTuple):
    """What is drawn and counted."""

    shares: list[str]
    likeness: list[float]
    temperatures: list[float]
    tokens: int
    number: int
    seed: int


def _simulated(drawing: Simulation, grids: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    count = drawing.number
    weights = {series: _weights(series, len(drawing.likeness)) for series in drawing.shares}
    records = []
    for temperature in drawing.temperatures:
        rng = np.random.default_rng(drawing.seed)
        drawn = [pairs(share, temperature, count, rng, drawing.tokens) for share in drawing.likeness]
        for name, rule in TRUNCATIONS.items():
            for parameter in grids[name]:
                kinds = [changes(rule(parameter), *pair) for pair in drawn]
                change, gain, loss, positive = (
                    np.array([value.mean() for value in values])
                    for values in (*zip(*kinds, strict=True), [kind.change > 0 for kind in kinds])
                )
                variance = np.array([kind.change.var(ddof=1) / count for kind in kinds])
                error = max(_error(kind) for kind in kinds)
                for series, weight in weights.items():
                    mean = normal(weight @ change, np.sqrt(weight**2 @ variance))
                    records.append(
                        {
                            "source": "simulated",
                            "truncation": name,
                            "parameter": parameter,
                            "temperature": temperature,
                            "series": series,
                            **mean.named("change"),
                            "gain": weight @ gain,
                            "loss": weight @ loss,
                            "positive": weight @ positive,
                            "error": error,
                        }
                    )
    return records


def _weights(series: str, kinds: int) -> Array:
    """Read the shares of the kinds, such as 8/1/1."""
    parts = series.split("/") if isinstance(series, str) else []
    if len(parts) != kinds or not all(part.isdecimal() for part in parts) or not sum(map(int, parts)):
        raise ValueError(f"shares: {series!r} must be {kinds} whole numbers, as in {'/'.join(['1'] * kinds)}, not all of them 0")
    whole = np.array([int(part) for part in parts])
    return np.asarray(whole / whole.sum())


def _error(found: Changes) -> float:
    return float(np.abs(found.change - (found.gain - found.loss)).max())


def _traced(texts: real.Texts, grids: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    p, q = texts.p, texts.q
    strict = exact.acceptance_rate(Strict(), p, q)
    records = []
    for name, rule in TRUNCATIONS.items():
        for parameter in grids[name]:
            truncation = rule(parameter)
            found = changes(truncation, p, q)
            both = exact.acceptance_rate(Strict(), truncation.truncate(p), truncation.truncate(q)) - strict
            common = {"source": "trace", "truncation": name, "parameter": parameter}
            terms = {"gain": found.gain.mean(), "loss": found.loss.mean(), "error": _error(found)}
            records.append(common | {"series": TARGET} | _mean(texts, found.change) | terms)
            records.append(common | {"series": BOTH} | _mean(texts, both))
    return records


def _mean(texts: real.Texts, change: Array) -> dict[str, float]:
    """Give the mean over texts, its band over them, and how often the change is positive."""
    return over_prompts(texts.means(change)).named("change") | {"positive": float((change > 0).mean())}


def _reported() -> list[dict[str, Any]]:
    table = tables.table_4()
    records = []
    for name, method in METHODS.items():
        common = {"source": "paper", "truncation": name}
        records += [
            common | {"parameter": parameter, "series": TOP, "change": AXIS_TOP[name]} for parameter in SIMULATED[name][[0, -1]]
        ]
        for benchmark in tables.BENCHMARKS:
            own = table[table["benchmark"] == benchmark]
            strict = calibration.rate(own.loc[own["method"] == "strict", "block_efficiency"].item())
            rows = own[own["method"] == method]
            for parameter, mean, spread in rows[["parameter", "block_efficiency", "block_efficiency_std"]].to_numpy():
                low, middle, high = (calibration.rate(value) - strict for value in (mean - spread, mean, mean + spread))
                found = Interval(middle, low, high, "the paper's standard deviation each way").named("change")
                records.append(common | {"parameter": parameter, "series": benchmark} | found)
    return records


@knobs.recorded
def compute(
    quick: bool = False,
    *,
    shares: Sequence[str] = SHARES,
    likeness: Sequence[float] = KINDS,
    temperatures: Sequence[float] = TEMPERATURES,
    p_bases: Sequence[float] | None = None,
    epsilons: Sequence[float] | None = None,
    trace_epsilons: Sequence[float] | None = None,
    tokens: int = TOKENS,
    count: int = PAIRS,
    seed: int = SEED,
    trace: real.Rows | None = None,
) -> "pd.DataFrame":
    """Compute the change of acceptance on simulated pairs and on the real one.

    Parameters
    ----------
    quick : bool
        Whether to take every fourth parameter, where they are not given.
    shares : sequence of str
        Whole numbers with strokes between them, how many drafts of each kind a line mixes.
    likeness : sequence of float
        ρ of each kind of draft in [0, 1]: the share of its logits' variance that is the target's.
    temperatures : sequence of float
        T of the simulated drafts, in (0, inf), a row of panels each; the target's is 1.
    p_bases : sequence of float
        Of min-p, in (0, 1]. Default: 17 from 0.1 to 0.9.
    epsilons : sequence of float
        Of η on simulated pairs, in (0, 1]. Default: 9 from 0.005 to 0.025.
    trace_epsilons : sequence of float
        Of η on the real pair, in (0, 1]. Default: 13 from 0.005 to 0.25, in equal ratios.
    tokens : int
        Vocabulary of simulated pairs, at least 1.
    count : int
        Simulated pairs of each kind, at least 2.
    seed : int
        Of the simulation, at least 0.
    trace : trace, path, list of them, or rows (p, q)
        The real pair. Default: the bundled one.

    Returns
    -------
    pandas.DataFrame
        With `COLUMNS`.
    """
    import pandas as pd

    def among(name: str, given: Sequence[float] | None, papers: Array) -> list[float]:
        return papers[:: 4 if quick else 1].tolist() if given is None else sorted(knobs.numbers(name, given, "(0, 1]"))

    for name, value, least in (("tokens", tokens, 1), ("count", count, 2), ("seed", seed, 0)):
        parameters.check_count(name, value, least)
    drawing = Simulation(
        knobs.listed("shares", shares),
        knobs.numbers("likeness", likeness, "[0, 1]"),
        knobs.numbers("temperatures", temperatures, "(0, inf)"),
        tokens,
        count,
        seed,
    )
    min_p = among("p_bases", p_bases, SIMULATED["min-p"])
    simulated = {"min-p": min_p, "eta": among("epsilons", epsilons, SIMULATED["eta"])}
    recorded = {"min-p": min_p, "eta": among("trace_epsilons", trace_epsilons, TRACED["eta"])}
    rows = _simulated(drawing, simulated) + _traced(real.texts(trace), recorded) + _reported()
    return pd.DataFrame(rows, columns=list(COLUMNS))


# --- drawing --------------------------------------------------------------------------------------------------------


class Words(NamedTuple):
    """How a truncation is written on the axes."""

    sampling: str
    label: str
    ticks: tuple[float, ...]


WORDS = {
    "min-p": Words("min-p", "p_base (relative to max p)", (0.1, 0.3, 0.5, 0.7, 0.9)),
    "eta": Words("η", "ε (probability)", (0.005, 0.01, 0.015, 0.02, 0.025)),
}
"""The ticks are the paper's."""


def plot(table: "pd.DataFrame", ax: "style.Place | None" = None) -> "Figure":
    """Draw the paper's two panels, below them the same with drafts as sharp as the target, and the real pair."""
    temperatures = list(table["temperature"].dropna().unique())
    figure, axes = style.panels(ax, len(temperatures) + 1, 2, 8, 3 * (len(temperatures) + 1))
    rows = [*((_sharpness(temperature), temperature) for temperature in temperatures), ("real pair", None)]
    letters = iter(style.letters(2 * len(rows)))
    for line, (name, temperature) in zip(axes, rows, strict=True):
        for one, truncation in zip(line, TRUNCATIONS, strict=True):
            part = table[table["truncation"] == truncation]
            sampling, label, ticks = WORDS[truncation]
            if temperature is None:
                _draw_real(one, part, truncation)
            else:
                _draw_simulated(one, part, temperature, top=temperature == temperatures[0])
                _tick(one, ticks, part.loc[part["source"] == "simulated", "parameter"])
                if truncation == "eta":
                    one.ticklabel_format(axis="y", scilimits=(-3, -3), useMathText=True)
            one.axhline(0, color="#000000", linewidth=0.8, zorder=1)
            one.set(title=f"({next(letters)}) {sampling}, {name}", xlabel=label, ylabel="Δ acceptance (probability)")
    style.legend_below(figure, *axes.flat, columns=2)
    return figure


def _sharpness(temperature: float) -> str:
    than = "sharper" if temperature < 1 else "as sharp" if temperature == 1 else "flatter"
    return f"drafts {than} (T = {temperature:g})"


def _tick(ax: "Axes", ticks: Sequence[float], drawn: "pd.Series[float]") -> None:
    """Set the paper's ticks, where its range is drawn."""
    if drawn.min() <= ticks[0] and ticks[-1] <= drawn.max():
        ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])


def _band(ax: "Axes", rows: "pd.DataFrame", color: str, label: str, **looks: Any) -> None:
    ax.plot(rows["parameter"], rows["change"], color=color, label=label, **looks)
    ax.fill_between(rows["parameter"], rows["change_low"], rows["change_high"], color=color, alpha=0.15, linewidth=0)


def _draw_simulated(ax: "Axes", part: "pd.DataFrame", temperature: float, top: bool) -> None:
    own = part[part["temperature"] == temperature]
    shares = list(dict.fromkeys(own["series"]))
    # darker where more drafts match, then where more are partial
    order = sorted(shares, key=lambda series: [int(share) for share in series.split("/")], reverse=True)
    colours = dict(zip(order, style.gradient(len(order)), strict=True))
    for series in shares:
        _band(ax, own[own["series"] == series], colours[series], series)
    end = part[part["series"] == TOP]
    if top and len(end):
        ax.plot(end["parameter"], end["change"], color="#777777", linestyle=":", label="top of the paper's axis")


def _draw_real(ax: "Axes", part: "pd.DataFrame", truncation: str) -> None:
    _band(ax, part[part["series"] == TARGET], "#000000", f"real pair, {TARGET}")
    _band(ax, part[part["series"] == BOTH], "#777777", f"real pair, {BOTH}", linestyle="--")
    points = part[part["series"].isin(tables.BENCHMARKS)]
    sampling = WORDS[truncation].sampling
    style.paper_points(
        ax, points["parameter"], points["change"], METHODS[truncation], f"implied by the paper's Table 4, {sampling}"
    )
    ticks = np.unique(points["parameter"])
    if truncation == "eta":
        ax.set_xscale("log")
        ticks = np.concatenate([WORDS[truncation].ticks[::2], ticks[[0, 1, -1]]])
        ax.minorticks_off()
    ax.set_xticks(ticks, [f"{tick:g}" for tick in ticks])


@knobs.weighed
def headline(table: "pd.DataFrame") -> str:
    """Compare sizes and signs with the paper's, and Lemma 1 with the verifiers."""
    sharp, level = (table[table["temperature"] == temperature] for temperature in TEMPERATURES)
    min_p, eta = (sharp[sharp["truncation"] == name] for name in TRUNCATIONS)
    best = min_p.sort_values("change").iloc[-1]
    last = min_p[min_p["series"] == best["series"]].iloc[-1]
    always = (eta["change"] > 0).groupby(eta["series"], sort=False).all()
    positive = ", ".join(str(series) for series in always.index[always])
    trace = table[(table["source"] == "trace") & (table["truncation"] == "min-p")]
    alone, both = (trace.loc[trace["series"] == series, "change"] for series in (TARGET, BOTH))
    paper = table[table["series"].isin(tables.BENCHMARKS)]["change"]
    return (
        f"With drafts at T = {TEMPERATURES[0]:g} the change under min-p is at most {best['change']:.2f} ({best['series']}, "
        f"p_base {best['parameter']:.2f}; the paper's axis ends at {AXIS_TOP['min-p']:g}) and {last['change']:.2f} at "
        f"{last['parameter']:g}; under η at most {eta['change'].max():.1e} (axis: {AXIS_TOP['eta']:.0e}), positive at every ε "
        f"for {always.sum()} of {always.size} mixes ({positive}), where the paper says for every mix. With drafts as sharp as "
        f"the target {(level['change'] < 0).sum()} of {len(level)} changes are negative; on the real pair min-p changes "
        f"acceptance by {span(alone)}, with the draft truncated too by {span(both, 3)}, where Table 4 implies {span(paper, 3)}. "
        f"Lemma 1 and the verifiers' acceptance rates differ by at most {table['error'].max():.0e}."
    )


# --- claims ------------------------------------------------------------------------------------------------------------


def _simulated_changes(table: "pd.DataFrame", truncation: str, temperature: float) -> "pd.DataFrame":
    own = table[(table["truncation"] == truncation) & (table["temperature"] == temperature)]
    return own.pivot_table("change", "parameter", "series")


def _of_min_p(table: "pd.DataFrame", side: str) -> Sequence[float]:
    wide = _simulated_changes(table, "min-p", TEMPERATURES[0])
    narrows = wide.iloc[-1] < wide.max() / 1.25
    return [(wide.iloc[0] > 0).sum(), narrows.sum(), wide.shape[1], wide.to_numpy().max(), wide.iloc[-1].max()]


def _of_eta(table: "pd.DataFrame", side: str) -> Sequence[float]:
    wide = _simulated_changes(table, "eta", TEMPERATURES[0])
    return [(wide > 0).all().sum(), (wide.iloc[-1] > wide.iloc[0]).sum(), wide.shape[1], wide.to_numpy().max()]


def _level(table: "pd.DataFrame", side: str) -> Sequence[float]:
    level = table[table["temperature"] == TEMPERATURES[1]]["change"]
    trace = table[(table["source"] == "trace") & (table["series"] == TARGET)]["change"]
    return [(level > 0).sum(), level.size, (trace > 0).sum(), trace.size]


CLAIMS = (
    Claim(
        "Under min-p the gain dominates at smaller p_base and narrows towards 0.9.",
        _of_min_p,
        "{0:.0f} of {2:.0f} mixes gain at 0.1, {1:.0f} narrow by a fifth or more; at most {3:.2f}, {4:.2f} at 0.9",
        "every mix gains at p_base 0.1, and has at 0.9 less than 4/5 of its most",
        lambda found: [found[0] == found[2], found[1] == found[2]],
        "Drafts at a quarter of the target's temperature. Where nearly all drafts are unrelated there is only the tail to lose.",
        printed="a curve below 0.4",
    ),
    Claim(
        "Under η the change is positive for every mix of drafts, and grows with ε.",
        _of_eta,
        "{0:.0f} of {2:.0f} mixes gain at every ε, {1:.0f} gain more at the last than at the first; at most {3:.1e}",
        "every mix gains at every ε, and more at the last than at the first",
        lambda found: [found[0] == found[2], found[1] == found[2]],
        "As above: a mix of mostly unrelated drafts loses the tail and wins nothing.",
        printed="a curve below 2e-03",
    ),
    Claim(
        "All its curves begin as gains: truncating the target raises acceptance.",
        _level,
        "{:.0f} of {:.0f} changes are positive with drafts as sharp as the target, {:.0f} of {:.0f} on the real pair",
        "most changes positive with drafts as sharp as the target, and on the real pair",
        lambda found: [found[0] > found[1] / 2, found[2] > found[3] / 2],
        "A draft that is the target itself has nothing to gain from a truncated one: Lemma 1's gain needs a sharper draft.",
        printed="only such drafts as gain",
    ),
)
