"""Table 6: five rules on MBPP+, from the target's law to the draft under a ceiling.

The paper prints laws. As rules: accept with min(1, Y/q), where Y is what the law yields of the draft, and replace from
norm((p - Y)+). Rows 3 and 4 are then one rule: the draft is kept below the ceiling p/ℓ, and cut to it above.
`DraftOrCeiling` is row 4 as printed; that its law is lenience's, a test shows in Fractions. Row 2 has the numbers of SpecCascade
at p_base 0.5 in Table 4, whose other runs of the same rules are drawn too: they show what a second run comes to.

Ours, at each ℓ, and then averaged as the paper does: block efficiency by the held-out model of `calibration`, which was fitted on
Table 4's rows of rule 1 (strict) and rule 3 (lenience), so that only rules 2 and 5 are predictions; Pass@1 by the reasoning chain
of `accuracy`; acceptance, total variation and overshoot at a position of that model on track. On the real pair the same, all but
Pass@1, along its texts. Bars are the range over ℓ, which the mean hides.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, final

import numpy as np

from theory import exact, parameters, probs, verifiers
from theory.paper import accuracy, calibration, knobs, real, style, tables
from theory.paper.agreement import Claim, of_side, rank_correlation
from theory.paper.knobs import Rules
from theory.paper.tables import GAMMA, SWEEP
from theory.paper.tradeoff import MODEL, qualities
from theory.parameters import Number
from theory.probs import Array, RowsLike
from theory.verifiers import HybridCeiling, Lenience, SpecCascade, Strict, TokenVerifier
from theory.verifiers.collaborative import ceiling, under

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Table 6: five rules on MBPP+"
CLAIM = (
    "Without its interpolation, lenience keeps most of its benefit, so that the ceiling is what counts; the draft on the min-p "
    "set and under the ceiling off it is the fastest of the five rules, at the Pass@1 of the target."
)
COLUMNS = {
    "source": "paper (Table 6), table 4 (its rows of the same rule), theory (calibrated on MBPP+) or trace (a real pair)",
    "rule": "of Table 6",
    "quantity": "block_efficiency, pass_at_1, chance (what 3 runs leave open around the target's Pass@1), acceptance_rate, "
    "total_variation or max_overshoot (the last three per token, mean over positions)",
    "value": "mean over ℓ = 0.2, 0.4, 0.6, 0.8: tokens per target call, percent (Pass@1, chance), probability, or induced/target",
    "low": "the least over ℓ; of chance, the lower end of the 95% band; NaN for the paper",
    "high": "the largest over ℓ, or the upper end; likewise",
}

BENCHMARK = "MBPP+"
P_BASE = 0.5


@final
@dataclass(frozen=True)
class DraftOrCeiling(TokenVerifier):
    """Row 4 as printed: yield Y = q where q <= p/ℓ, else p/ℓ; replace from norm((p - Y)+).

    Parameters
    ----------
    lenience : float or Fraction
        ℓ in (0, 1].

    Notes
    -----
    Y = min(q, p/ℓ) is what lenience accepts, and where Y < q it is above p, so that norm((p - Y)+) = norm((p - q)+): its law is
    that of `theory.Lenience`, for every pair of rows.

    Examples
    --------
    >>> p, q = [0.4, 0.3, 0.2, 0.1], [0.2, 0.25, 0.25, 0.3]
    >>> bool(np.allclose(DraftOrCeiling(0.5).induced(p, q), Lenience(0.5).induced(p, q)))
    True
    """

    lenience: Number
    name: ClassVar[str] = "draft-or-ceiling"
    family: ClassVar[str] = "collaborative"
    source: ClassVar[str] = "the paper, Table 6"

    def __post_init__(self) -> None:
        parameters.check("lenience", self.lenience, "(0, 1]")

    def yielded(self, p: Array, q: Array) -> Array:
        """Give Y for checked rows."""
        top = ceiling(p, self.lenience)
        return np.where(under(q, top), q, top)

    def acceptance(self, p: RowsLike, q: RowsLike) -> Array:
        """Give Y/q."""
        p, q = probs.check_pair(p, q)
        return probs.acceptance_ratio(self.yielded(p, q), q)

    def residual(self, p: RowsLike, q: RowsLike) -> Array:
        """Give norm((p - Y)+)."""
        p, q = probs.check_pair(p, q)
        return probs.share_out(probs.excess(p, self.yielded(p, q)), p)


SEEN = ("target", "lenience", "draft_below_ceiling_else_ceiling")
"""Rules whose rows in Table 4 the model was fitted on; the third has the second's law."""

RULES: dict[str, Callable[[float, float], TokenVerifier]] = {
    "target": lambda lenience, p_base: Strict(),
    "draft_on_allowed_set_else_zero": lambda lenience, p_base: SpecCascade(p_base, "optimal"),
    "lenience": lambda lenience, p_base: Lenience(lenience),
    "draft_below_ceiling_else_ceiling": lambda lenience, p_base: DraftOrCeiling(lenience),
    "draft_on_allowed_set_else_min_draft_ceiling": lambda lenience, p_base: HybridCeiling(p_base, lenience),
}
"""Row of the paper's table to its rule at an ℓ and a p_base, in its order."""

PER_TOKEN = ("acceptance_rate", "total_variation", "max_overshoot")
"""Quantities of `theory.exact` at one position."""


def per_token(rule: TokenVerifier, p: Array, q: Array) -> dict[str, float]:
    """Give the quantities of `PER_TOKEN`, the mean over rows, without the rounding that a lossless rule leaves."""
    found = exact.summarise(rule, p, q, PER_TOKEN)
    return {name: round(float(found[name].mean()), 12) for name in PER_TOKEN}


def calibrated(rule: TokenVerifier, benchmark: str = BENCHMARK, gamma: int = GAMMA) -> dict[str, float]:
    """Give block efficiency and Pass@1 on a benchmark, and the quantities of `PER_TOKEN` at a position of the model on track."""
    profile = calibration.profile(benchmark, MODEL)
    kinds = [per_token(rule, p, q) for p, q in calibration.rows(profile.noise)]
    shares = profile.shares()
    means = {name: float(np.dot(shares, [kind[name] for kind in kinds])) for name in PER_TOKEN}
    percent = accuracy.calibrate(benchmark).percent(rule, gamma)
    return {"block_efficiency": profile.block_efficiency(rule, gamma), "pass_at_1": percent} | means


def traced(rule: TokenVerifier, texts: real.Texts | None = None, gamma: int = GAMMA) -> dict[str, float]:
    """Give block efficiency and the quantities of `PER_TOKEN` on the real pair."""
    texts = real.bundled() if texts is None else texts
    efficiency = real.block_efficiency(texts.acceptance(rule), gamma).value
    return {"block_efficiency": efficiency} | per_token(rule, texts.p, texts.q)


def _ours(rows: Mapping[str, Sequence[TokenVerifier]], benchmark: str, gamma: int, texts: real.Texts) -> Iterator[dict[str, Any]]:
    def theory(rule: TokenVerifier) -> dict[str, float]:
        return calibrated(rule, benchmark, gamma)

    def trace(rule: TokenVerifier) -> dict[str, float]:
        return traced(rule, texts, gamma)

    for name, rules in rows.items():
        for source, numbers in (("theory", theory), ("trace", trace)):
            found = [numbers(rule) for rule in rules]
            for quantity in found[0]:
                values = np.array([one[quantity] for one in found])
                about = {"source": source, "rule": name, "quantity": quantity}
                yield about | {"value": values.mean(), "low": values.min(), "high": values.max()}
    chance = qualities(benchmark, [Strict()], gamma)
    value, low, high = (float(part[0]) for part in (chance.value, chance.low, chance.high))
    yield {"source": "theory", "rule": "target", "quantity": "chance", "value": value, "low": low, "high": high}


def _reported(benchmark: str, p_base: float, leniences: Sequence[float]) -> Iterator[dict[str, Any]]:
    """Give the paper's rows: of Table 6 for its own inputs only, of Table 4 where it has the parameters."""
    if (benchmark, p_base, tuple(leniences)) == (BENCHMARK, P_BASE, SWEEP):
        for row in tables.table_6().to_dict("records"):
            for quantity, column in (("block_efficiency", "block_efficiency"), ("pass_at_1", "pass_at_1_percent")):
                yield {"source": "paper", "rule": row["rule"], "quantity": quantity, "value": row[column]}
    again = tables.table_4().query("benchmark == @benchmark")
    for rule, method, values in (
        ("target", "strict", None),
        ("draft_on_allowed_set_else_zero", "spec_cascade", (p_base,)),
        ("lenience", "lenience", leniences),
    ):
        rows = again[(again["method"] == method) & (values is None or again["parameter"].isin(values))]
        for quantity, column in (("block_efficiency", "block_efficiency"), ("pass_at_1", "accuracy_percent")):
            found = rows[column]
            if values is None or len(found) == len(values):
                about = {"source": "table 4", "rule": rule, "quantity": quantity}
                yield about | {"value": found.mean(), "low": found.min(), "high": found.max()}


@knobs.recorded
def compute(
    quick: bool = False,
    *,
    benchmark: str = BENCHMARK,
    p_base: float = P_BASE,
    leniences: Sequence[float] = SWEEP,
    rules: Rules = (),
    gamma: int = GAMMA,
    trace: real.Rows | None = None,
) -> "pd.DataFrame":
    """Compute every rule's numbers by the calibrated models and on the real pair.

    Parameters
    ----------
    quick : bool
        There is nothing to coarsen.
    benchmark : str
        Of the paper's; its Table 6 has MBPP+ only.
    p_base : float
        Of the set A, in (0, 1].
    leniences : sequence of float
        ℓ over which the five rules are averaged, in (0, 1].
    rules : verifiers, or names of verifiers
        Any, a row each below the five. Default: none.
    gamma : int
        Drafted tokens in a block, at least 1. The models are fitted at 10, and the paper's rows are shown at 10 only.
    trace : trace, path, list of them, or rows (p, q)
        The real pair. Default: the bundled one.

    Returns
    -------
    pandas.DataFrame
        With `COLUMNS`.
    """
    import pandas as pd

    knobs.choice("benchmark", benchmark, tables.BENCHMARKS)
    parameters.check("p_base", p_base, "(0, 1]")
    parameters.check_count("gamma", gamma)
    values = knobs.numbers("leniences", leniences, "(0, 1]")
    further = list(rules) if isinstance(rules, list | tuple) and not rules else verifiers.resolve_all(rules, "rules")
    rows: dict[str, list[TokenVerifier]] = {name: [make(value, p_base) for value in values] for name, make in RULES.items()}
    rows |= {str(rule): [rule] for rule in further}
    paper = _reported(benchmark, float(p_base), values) if gamma == GAMMA else ()
    return pd.DataFrame([*paper, *_ours(rows, benchmark, gamma, real.texts(trace))], columns=list(COLUMNS))


# --- drawing --------------------------------------------------------------------------------------------------------

LAWS = {
    "target": ("p", style.METHODS["strict"][1]),
    "draft_on_allowed_set_else_zero": ("q on A, else 0", style.METHODS["spec_cascade"][1]),
    "lenience": ("lenience", style.METHODS["lenience"][1]),
    "draft_below_ceiling_else_ceiling": ("q if q ≤ p/ℓ, else p/ℓ", style.METHODS["lenience"][1]),
    "draft_on_allowed_set_else_min_draft_ceiling": ("q on A, else min(q, p/ℓ)", style.HYBRID),
}
"""Rule to what is written beside it, and its colour: rows 3 and 4 share theirs, as they share their law."""

PANELS = (
    ("theory", "block_efficiency", "block efficiency\n(tokens per target call)"),
    ("theory", "pass_at_1", "Pass@1 (%)"),
    ("theory", "total_variation", "TV(induced, target)\n(probability)"),
    ("theory", "max_overshoot", "max induced/target"),
    ("trace", "block_efficiency", "block efficiency\n(tokens per target call)"),
    ("trace", "acceptance_rate", "acceptance rate\n(probability)"),
    ("trace", "total_variation", "TV(induced, target)\n(probability)"),
    ("trace", "max_overshoot", "max induced/target"),
)
"""Source, quantity and label of each panel."""


class Series(NamedTuple):
    """What is drawn of a source."""

    source: str
    label: str
    marker: str
    shift: float
    """Above the middle of a rule's line, in its heights, where there are several."""


PAPER = (
    Series("paper", "the paper, Table 6", "o", 0.0),
    Series("table 4", "the paper, Table 4's rows of the same rule", "d", -0.27),
)
OURS = "ours, with the range over ℓ"
CHANCE: dict[str, Any] = {"color": "#000000", "alpha": 0.07, "linewidth": 0, "zorder": 0}


def plot(table: "pd.DataFrame", ax: "style.Place | None" = None) -> "Figure":
    """Draw the rules from top to bottom: above a benchmark beside the paper's numbers, below the real pair."""
    laws = {name: LAWS[name] for name in LAWS if (table["rule"] == name).any()}
    others = style.looks(name for name in dict.fromkeys(table["rule"]) if name not in laws)
    laws |= {name: (look.name, look.colour) for name, look in others.items()}
    figure, axes = style.panels(ax, 2, 4, 12, 5.6 + 0.5 * len(others), sharey=True)
    benchmark = knobs.varied(table).get("benchmark", BENCHMARK)
    for (letter, one), (source, quantity, label) in zip(style.lettered(axes, len(PANELS)), PANELS, strict=True):
        own = table[table["quantity"] == quantity]
        paper = [series for series in PAPER if source == "theory" and (own["source"] == series.source).any()]
        for series in (*paper, Series(source, OURS, "o", 0.27 if paper else 0.0)):
            _draw(one, own[own["source"] == series.source], series, laws)
        if quantity == "pass_at_1":
            chance = table[table["quantity"] == "chance"].iloc[0]
            one.axvspan(chance["low"], chance["high"], **CHANCE)
        one.set(xlabel=label, title=f"({letter}) {benchmark if source == 'theory' else knobs.pair(table)}")
        one.grid(axis="y", visible=False)
    axes[0, 0].set_yticks(range(len(laws)), [name for name, _ in laws.values()])
    for one in axes[:, 0]:
        one.set_ylabel("law as printed" if not others else "law or rule")
    axes[0, 0].set_ylim(len(laws) - 0.5, -0.5)
    _legend(figure)
    return figure


def _draw(ax: "Axes", rows: "pd.DataFrame", series: Series, laws: Mapping[str, tuple[str, str]]) -> None:
    for place, (rule, (_, color)) in enumerate(laws.items()):
        own = rows[rows["rule"] == rule]
        hollow: dict[str, Any] = {"markerfacecolor": "none", "markeredgewidth": 1.2} if series in PAPER else {}
        ax.plot(own["value"], [place - series.shift] * len(own), series.marker, color=color, markersize=6, **hollow)
        if series not in PAPER:
            ax.hlines(place - series.shift, own["low"], own["high"], color=color, linewidth=1)


def _legend(figure: "Figure") -> None:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    grey: dict[str, Any] = {"color": "#555555", "markersize": 6}
    hollow: dict[str, Any] = grey | {"linestyle": "none", "markerfacecolor": "none", "markeredgewidth": 1.2}
    entries: list[Any] = [Line2D([], [], marker=series.marker, label=series.label, **hollow) for series in PAPER]
    entries.append(Line2D([], [], marker="o", linewidth=1, label=OURS, **grey))
    entries.append(Patch(label="chance: 95% of 3 runs", **CHANCE))
    figure.legend(handles=entries, loc="outside lower center", ncols=len(entries))


# --- agreement ------------------------------------------------------------------------------------------------------


@knobs.weighed
def headline(table: "pd.DataFrame") -> str:
    """Compare block efficiencies, their order and Pass@1 with the paper's, rows 3 and 4, and the order on the real pair."""
    wide = table.pivot_table("value", "rule", ["source", "quantity"]).loc[list(RULES)]
    paper, ours, trace, again = (wide[source] for source in ("paper", "theory", "trace", "table 4"))
    column = "block_efficiency"
    found, printed, real_pair = (", ".join(f"{value:.2f}" for value in side[column]) for side in (ours, paper, trace))
    off = (ours[column] - paper[column]).abs()
    free = off.drop(list(SEEN))
    row_3, row_4 = "lenience", "draft_below_ceiling_else_ceiling"
    same = max((side.loc[row_3] - side.loc[row_4]).abs().max() for side in (ours, trace))
    apart = paper[column][row_4] - paper[column][row_3]
    chance = table[table["quantity"] == "chance"].iloc[0]
    inside = paper["pass_at_1"].between(chance["low"], chance["high"]).sum()
    slower = trace[column] < trace[column]["target"]
    names = ", ".join(f"“{LAWS[rule][0]}”" for rule in RULES if slower[rule]) or "none"
    return (
        f"Block efficiency, from the target's law to the last rule, is {found}, in the paper {printed}: rank correlation "
        f"{rank_correlation(ours[column], paper[column]):.2f}, off by {off.mean():.2f} tokens per call in the mean and by "
        f"{free.mean():.2f} on the {len(free)} rules that were not fitted. Our numbers of rules 3 and 4 "
        f"{'are equal' if same < 1e-9 else f'differ by at most {same:.0e}'}, the paper's block efficiencies differ by "
        f"{apart:.2f}, Table 4's rows of rule 3 are at {again[column][row_3]:.2f}; {inside} of the paper's {len(paper)} Pass@1 "
        f"({paper['pass_at_1'].min():.1f} to {paper['pass_at_1'].max():.1f}%) are within what 3 runs leave open around "
        f"{ours['pass_at_1']['target']:.1f}%. On the real pair block efficiency is {real_pair}; slower than lossless "
        f"verification: {names}."
    )


# --- claims ------------------------------------------------------------------------------------------------------------


def _efficiencies(table: "pd.DataFrame", side: str) -> "dict[str, float]":
    own = of_side(table[table["quantity"] == "block_efficiency"], side).set_index("rule")["value"]
    return {rule: float(own[rule]) for rule in RULES}


def _benefits(table: "pd.DataFrame", side: str) -> Sequence[float]:
    """Give what lenience and its form without interpolation gain over the target's law, tokens per call."""
    own = _efficiencies(table, side)
    return [own[rule] - own["target"] for rule in ("lenience", "draft_below_ceiling_else_ceiling")]


def _fastest(table: "pd.DataFrame", side: str) -> Sequence[float]:
    *others, last = _efficiencies(table, side).values()
    return [last, max(others)]


def _solved(table: "pd.DataFrame", side: str) -> Sequence[float]:
    own = of_side(table[table["quantity"] == "pass_at_1"], side).set_index("rule")["value"]
    chance = table[table["quantity"] == "chance"].iloc[0]
    return [own[[*RULES][-1]], own["target"], chance["low"], chance["high"]]


CLAIMS = (
    Claim(
        "Without its interpolation, lenience keeps most of its benefit, so that the ceiling is what counts.",
        _benefits,
        "{:+.2f} tokens over the target's law with it, {:+.2f} without",
        "without it at least half the benefit, and another one than with it, so that there is something to tell apart",
        lambda gain: [gain[1] >= gain[0] / 2, abs(gain[0] - gain[1]) > 1e-6],
        "As an acceptance rule with the standard residual, “q if q ≤ p/ℓ, else p/ℓ” is lenience, for all rows: the paper's "
        "difference is one of two runs.",
    ),
    Claim(
        "The draft on the min-p set and under the ceiling off it is the fastest of the five rules.",
        _fastest,
        "{:.2f} tokens per call, the next {:.2f}",
        "faster than the four others",
        lambda speed: [speed[0] > speed[1]],
        "It accepts all that lenience does, and more on the set. This row was not fitted.",
    ),
    Claim(
        "It has the Pass@1 of the target.",
        _solved,
        "{:.1f}%, the target {:.1f}%",
        "within what 3 runs leave open around the target's",
        lambda found: [found[2] <= found[0] <= found[3]],
        "What it lets through beyond lenience the target finds at least half as likely as its favourite.",
    ),
)
