"""Figure 8: the two things that lenience does, interpolate and cap.

(a) Δ of Eq. 11, the weight on the target where the draft underestimates it, against TV(p, q). Δ is R/TV(p, q), the share of
strict verification's rejections that lenience keeps: 1 is strict, and 0 means that every draft is accepted and the law is q. The
paper (Appendix D) reads Δ ≈ 0 as "almost no relaxation", which is the reverse. Its drafts q1 to q5 are not published; ours are
`theory.synthetic.dirichlet` pairs of 50 tokens at set distances, 200 at each, on segments that leave p in random directions.
TV does not fix Δ: any pair has 1 - (1 - TV)(1 - ℓ)/(ℓ TV) <= Δ <= 1, and all of that occurs (`theory.synthetic.overconfident`).

(b) The law of one token x as its draft probability grows, the rest of the draft keeping its proportions: CoS with λ = ℓ
against lenience. Lenience interpolates up to p, follows q up to the ceiling p/ℓ, and stays there; the mixture λp + (1 - λ)q goes
on. They meet where q = p (1 + ℓ)/ℓ: between p/ℓ and there the capped law is still the *larger* one.

(c) Δ at each position of the real pair. The trace records no tail; spread as `real` spreads it, it lowers Δ a little.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from theory import divergences, exact, parameters, probs, synthetic
from theory.paper import knobs, real, style
from theory.paper.agreement import Claim
from theory.paper.tables import SWEEP
from theory.parameters import Number
from theory.probs import Array, RowsLike
from theory.verifiers import CoS, Lenience, Strict

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TITLE = "Figure 8: lenience as interpolation, and its ceiling"
CLAIM = (
    "Δ is near 0 where the draft agrees with the target and grows, concave, with TV(p, q); unlike the mixture ℓp + (1 - ℓ)q, "
    "lenience caps what overshoots at p/ℓ."
)
COLUMNS = {
    "panel": "a, b (the paper's) or c (the real pair)",
    "series": "a: mean, bound, or one of the five drafts q1 to q5; b: target, ceiling, mixture, lenience or accepted part; "
    "c: position, mean or bound",
    "lenience": "ℓ; of the mixture, λ",
    "total_variation": "TV(p, q), probability",
    "draft_probability": "q(x) of the one token x of panel b, probability; NaN elsewhere",
    "value": "a, c: Δ, share of the rejections of strict verification; b: induced probability of x",
    "low": "5% quantile over pairs (a) or positions of the bin (c); NaN elsewhere",
    "high": "95% quantile, likewise",
}

SHOWN = 0.4
"""ℓ of the five drafts, of panel b, and of the positions of panel c."""

SIZE, PAIRS, SEED = 50, 200, 8
DRAFTS = {"q1": 0.9, "q2": 0.7, "q3": 0.5, "q4": 0.3, "q5": 0.1}
"""Name to TV(p, q); as in the paper, q1 is the farthest from the target."""

TARGET, REST = (0.2, 0.6, 0.2), (0.2, 0.8)
"""Panel b: the target, whose first token is x, and how the draft shares what x leaves: its last token overshoots too."""

BINS = 8
"""Of the positions of panel c, equally many in each, in rising order of TV."""


def delta(lenience: Number, p: RowsLike, q: RowsLike) -> Any:
    """Give Δ, the rejection rate of lenience over that of strict verification, for each pair of rows; 1 where p = q.

    Parameters
    ----------
    lenience : float or Fraction
        ℓ in (0, 1].
    p, q : array_like, shape (..., V)
        Rows of the target and of the draft; they broadcast.

    Returns
    -------
    float, Fraction or ndarray, shape (...)
        A share, in [0, 1]; exact on Fractions.

    Examples
    --------
    >>> round(float(delta(0.5, [0.4, 0.3, 0.2, 0.1], [0.2, 0.25, 0.25, 0.3])), 12)
    0.4
    """
    rules = (Lenience(lenience), Strict())
    kept, strict = (np.asarray(exact.summarise(rule, p, q, ["rejection_rate"])["rejection_rate"]) for rule in rules)
    some = strict > 0
    return np.where(some, kept / np.where(some, strict, 1), 1)[()]


def least(lenience: float, distance: Array) -> Array:
    """Give the least Δ of any pair at a total variation, max(0, 1 - (1 - TV)(1 - ℓ)/(ℓ TV)).

    Examples
    --------
    >>> least(0.5, np.array([0.25, 0.5, 0.75, 1.0])).round(6)
    array([0.      , 0.      , 0.666667, 1.      ])
    """
    return np.maximum(0, 1 - (1 - distance) * (1 - lenience) / (lenience * distance))


def rows(draft_probability: Array, target: Sequence[float] = TARGET, rest: Sequence[float] = REST) -> tuple[Array, Array]:
    """Give the target and the drafts of panel b, (V,) and (..., V), one draft a probability of x, the first token."""
    others = np.multiply.outer(1 - draft_probability, rest)
    return probs.check_pair(np.array(target), np.concatenate([draft_probability[..., None], others], axis=-1))


class Panels(NamedTuple):
    """The inputs, checked."""

    leniences: list[float]
    shown: float
    tokens: int
    number: int
    seed: int
    distances: list[float]
    drafts: list[float]
    target: list[float]
    rest: list[float]
    draft_probabilities: list[float]
    bins: int


def _synthetic(asked: Panels) -> list[dict[str, Any]]:
    def drawn(distance: float) -> tuple[Array, Array]:
        return synthetic.dirichlet(asked.tokens, distance, count=asked.number, rng=np.random.default_rng(asked.seed))

    records = []
    for distance in asked.distances:
        p, q = drawn(distance)
        for lenience in asked.leniences:
            values = delta(lenience, p, q)
            low, high = np.quantile(values, (0.05, 0.95))
            common = {"panel": "a", "lenience": lenience, "total_variation": distance}
            records.append(common | {"series": "mean", "value": values.mean(), "low": low, "high": high})
            if lenience == asked.shown:
                records.append(common | {"series": "bound", "value": least(lenience, np.array(distance))[()]})
    for name, distance in zip(_names(len(asked.drafts)), asked.drafts, strict=True):
        p, q = drawn(distance)
        common = {"panel": "a", "lenience": asked.shown, "total_variation": distance}
        records.append(common | {"series": name, "value": delta(asked.shown, p[0], q[0])})  # drafts of one target
    return records


def _names(count: int) -> list[str]:
    return [f"q{place + 1}" for place in range(count)]


def _one_token(asked: Panels) -> list[dict[str, Any]]:
    probability, first = np.array(asked.draft_probabilities), asked.target[0]
    p, q = rows(probability, asked.target, asked.rest)
    distance = divergences.total_variation(p, q)
    lenience = Lenience(asked.shown)
    series = {
        "target": np.full(probability.size, first),
        "ceiling": np.full(probability.size, first * lenience.ceiling),
        "mixture": CoS(asked.shown).induced(p, q)[:, 0],
        "lenience": lenience.induced(p, q)[:, 0],
        "accepted part": lenience.accepted(p, q)[:, 0],
    }
    return [
        {
            "panel": "b",
            "series": name,
            "lenience": asked.shown,
            "total_variation": distance[place],
            "draft_probability": probability[place],
            "value": values[place],
        }
        for name, values in series.items()
        for place in range(probability.size)
    ]


def _traced(asked: Panels, texts: real.Texts) -> list[dict[str, Any]]:
    p, q = texts.p, texts.q
    distance = divergences.total_variation(p, q)
    order = np.argsort(distance, kind="stable")
    records = []
    for lenience in asked.leniences:
        values = delta(lenience, p, q)
        common = {"panel": "c", "lenience": lenience}
        for part in np.array_split(order, min(asked.bins, len(order))):
            low, high = np.quantile(values[part], (0.05, 0.95))
            found = {"total_variation": distance[part].mean(), "value": values[part].mean(), "low": low, "high": high}
            records.append(common | {"series": "mean"} | found)
        if lenience == asked.shown:
            records += [
                common | {"series": "position", "total_variation": x, "value": y} for x, y in zip(distance, values, strict=True)
            ]
            grid = np.linspace(0.02, 1, 50)
            records += [
                common | {"series": "bound", "total_variation": x, "value": y}
                for x, y in zip(grid, least(lenience, grid), strict=True)
            ]
    return records


@knobs.recorded
def compute(
    quick: bool = False,
    *,
    leniences: Sequence[float] = SWEEP,
    shown: float = SHOWN,
    tokens: int = SIZE,
    count: int = PAIRS,
    seed: int = SEED,
    distances: Sequence[float] | None = None,
    drafts: Sequence[float] = tuple(DRAFTS.values()),
    target: Sequence[float] = TARGET,
    rest: Sequence[float] = REST,
    draft_probabilities: Sequence[float] | None = None,
    trace: real.Rows | None = None,
    bins: int = BINS,
) -> "pd.DataFrame":
    """Compute Δ on synthetic pairs and on the real one, and the law of one token.

    Parameters
    ----------
    quick : bool
        Whether to take fewer points of the lines, where they are not given.
    leniences : sequence of float
        ℓ of the lines, in (0, 1].
    shown : float
        ℓ of the five drafts, of the one token, and of the positions, in (0, 1]; one of ``leniences``.
    tokens : int
        Vocabulary of synthetic pairs, at least 2.
    count : int
        Synthetic pairs at each distance, at least 1.
    seed : int
        Of synthetic pairs, at least 0.
    distances : sequence of float
        TV(p, q) of synthetic pairs, in (0, 1 - 1/tokens]. Default: 49 from 0.02 to 0.98, those that the vocabulary allows.
    drafts : sequence of float
        TV(p, q) of the named drafts of one target, in (0, 1 - 1/tokens].
    target : sequence of float
        Row of the target in the panel of one token x, which stands first.
    rest : sequence of float
        How the draft shares what x leaves among the other tokens: a row, one token shorter than ``target``.
    draft_probabilities : sequence of float
        q(x), in [0, 1]. Default: 101 from 0 to 1.
    trace : trace, path, list of them, or rows (p, q)
        The real pair. Default: the bundled one.
    bins : int
        Groups of equally many positions of the real pair, at least 1.

    Returns
    -------
    pandas.DataFrame
        With `COLUMNS`.
    """
    import pandas as pd

    for name, value, smallest in (("tokens", tokens, 2), ("count", count, 1), ("seed", seed, 0), ("bins", bins, 1)):
        parameters.check_count(name, value, smallest)
    parameters.check("shown", shown, "(0, 1]")
    lines = sorted(knobs.numbers("leniences", leniences, "(0, 1]"))
    knobs.choice("shown", shown, lines)
    most = 1 - 1 / tokens
    grid = [float(value) for value in np.linspace(0.02, 0.98, 13 if quick else 49) if value <= most]
    points = np.linspace(0, 1, 21 if quick else 101).tolist()
    first, others = (probs.check_rows(row, name) for row, name in ((target, "target"), (rest, "rest")))
    if first.shape != (others.size + 1,) or others.ndim != 1:
        raise ValueError(f"rest has {others.size} tokens and target {first.size}: it must have one less")
    asked = Panels(
        lines,
        float(shown),
        tokens,
        count,
        seed,
        grid if distances is None else sorted(knobs.numbers("distances", distances, f"(0, {most}]")),
        knobs.numbers("drafts", drafts, f"(0, {most}]"),
        first.tolist(),
        others.tolist(),
        points if draft_probabilities is None else sorted(knobs.numbers("draft_probabilities", draft_probabilities, "[0, 1]")),
        bins,
    )
    return pd.DataFrame(_synthetic(asked) + _one_token(asked) + _traced(asked, real.texts(trace)), columns=list(COLUMNS))


# --- drawing --------------------------------------------------------------------------------------------------------


def plot(table: "pd.DataFrame", ax: "style.Place | None" = None) -> "Figure":
    """Draw the paper's two panels, and beside them the real pair."""
    figure, axes = style.panels(ax, 1, 3, 11.5, 4.2)
    drawn = (_draw_delta, _draw_one_token, _draw_positions)
    titles = ("Δ and distance, synthetic", "mixture and ceiling", "Δ and distance, real pair")
    for one, letter, draw, title in zip(axes[0], "abc", drawn, titles, strict=True):
        draw(one, table[table["panel"] == letter], _shown(table))
        one.set_title(f"({letter}) {title}")
    style.legend_below(figure, *axes[0], columns=4)
    return figure


def _shown(table: "pd.DataFrame") -> float:
    """Give the ℓ of the one token."""
    return float(table.loc[table["panel"] == "b", "lenience"].iloc[0])


def colours(leniences: Sequence[float]) -> dict[float, Any]:
    """Give the colour of each ℓ, from dark to light; those of the paper keep theirs."""
    own = dict(zip(SWEEP, (style.SERIES[place] for place in (0, 1, 2, 4)), strict=True))
    if set(leniences) <= set(own):
        return {value: own[value] for value in leniences}
    return dict(zip(leniences, style.gradient(len(leniences)), strict=True))


def _draw_means(ax: "Axes", part: "pd.DataFrame", **looks: Any) -> None:
    means = part[part["series"] == "mean"]
    for lenience, color in colours(list(dict.fromkeys(means["lenience"]))).items():
        rows = means[means["lenience"] == lenience]
        ax.plot(rows["total_variation"], rows["value"], color=color, label=f"ℓ = {lenience:g}, mean", **looks)
    ax.set(xlabel="TV(p, q) (probability)", ylabel="Δ (share of strict rejections)", xlim=(0, 1), ylim=(-0.02, 1.05))


def _draw_delta(ax: "Axes", part: "pd.DataFrame", lenience: float) -> None:
    _draw_means(ax, part)
    colour = colours(list(dict.fromkeys(part["lenience"])))[lenience]
    shown = part[(part["series"] == "mean") & (part["lenience"] == lenience)]
    band: dict[str, Any] = {"color": colour, "alpha": 0.15, "linewidth": 0, "label": f"ℓ = {lenience:g}, 90% of pairs"}
    ax.fill_between(shown["total_variation"], shown["low"], shown["high"], **band)
    _draw_bound(ax, part)
    drafts = part[part["series"].str.fullmatch(r"q\d+")]
    ax.plot(drafts["total_variation"], drafts["value"], "D", color=colour, label=f"{_number(len(drafts))} of one target")
    for name, x, y in drafts[["series", "total_variation", "value"]].itertuples(index=False):
        ax.annotate(name, (x, y), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=8)


def _number(count: int) -> str:
    return {1: "one draft", 5: "five drafts"}.get(count, f"{count} drafts")


def _draw_bound(ax: "Axes", part: "pd.DataFrame") -> None:
    bounds = part[part["series"] == "bound"]
    for lenience, colour in colours(list(dict.fromkeys(part["lenience"]))).items():
        bound = bounds[bounds["lenience"] == lenience]
        if bound.empty:
            continue
        label = f"ℓ = {lenience:g}, least of any pair"
        ax.plot(bound["total_variation"], bound["value"], color=colour, linestyle=":", label=label)


def _draw_one_token(ax: "Axes", part: "pd.DataFrame", lenience: float) -> None:
    lines = part.pivot_table(index="draft_probability", columns="series", values="value")
    looks: dict[str, dict[str, Any]] = {
        "ceiling": {"color": "#777777", "linestyle": "--", "label": "ceiling p/ℓ"},
        "target": {"color": "#777777", "linestyle": ":", "label": "target p"},
        "mixture": {"color": style.METHODS["cos_draft_weight"][1], "label": "mixture ℓp + (1 - ℓ)q (CoS)"},
        "lenience": {"color": style.METHODS["lenience"][1], "label": "lenience"},
        "accepted part": {
            "color": style.METHODS["lenience"][1],
            "linestyle": "--",
            "linewidth": 1,
            "label": "its accepted part, min(q, p/ℓ)",
        },
    }
    for name, look in looks.items():
        ax.plot(lines.index, lines[name], **look)
    capped = lines[lines["mixture"] >= lines["ceiling"]]
    shade: dict[str, Any] = {
        "color": "#D55E00",
        "alpha": 0.2,
        "linewidth": 0,
        "label": "clipped by lenience, kept by the mixture",
    }
    ax.fill_between(capped.index, capped["lenience"], capped["mixture"], **shade)
    ax.set(xlabel="draft q(x) (probability)", ylabel="induced π(x) (probability)", xlim=(0, 1), ylim=(0, None))


def _draw_positions(ax: "Axes", part: "pd.DataFrame", lenience: float) -> None:
    points, colour = part[part["series"] == "position"], colours(list(dict.fromkeys(part["lenience"])))[lenience]
    label = f"ℓ = {lenience:g}, one position"
    ax.plot(points["total_variation"], points["value"], ".", color=colour, alpha=0.3, label=label)
    _draw_means(ax, part, marker="o", markersize=4)
    _draw_bound(ax, part)


@knobs.weighed
def headline(table: "pd.DataFrame") -> str:
    """Say where Δ does and does not grow with TV, and where the ceiling bites."""
    shown = table[(table["lenience"] == SHOWN) & (table["series"] == "mean")]
    ours, pair = (shown[shown["panel"] == panel] for panel in "ac")
    distance, value = (ours[column].to_numpy() for column in ("total_variation", "value"))
    slope = np.diff(value) / np.diff(distance)
    bend = distance[1 + int(np.append(np.diff(slope) > 0, True).argmax())]  # the slope falls until there
    near, lowest, far = pair["value"].iloc[0], pair["value"].min(), pair["value"].iloc[-1]
    lines = table[table["panel"] == "b"].pivot_table(index="draft_probability", columns="series", values="value")
    mixture, capped, ceiling = (lines[name] for name in ("mixture", "lenience", "ceiling"))
    meets = lines.index[mixture > ceiling - 1e-12][0]  # where they meet they may differ by rounding
    return (
        f"At ℓ = {SHOWN:g} the mean Δ of synthetic pairs grows from {value[0]:.2f} at TV = {distance[0]:.2f} to {value[-1]:.2f} "
        f"at {distance[-1]:.2f}, concave up to TV = {bend:.2f}. On the real pair, where the paper has Δ near 0 for models that "
        f"agree, it is {near:.2f} in the eighth of positions with the least TV, {lowest:.2f} in the lowest and {far:.2f} in the "
        f"last. The ceiling holds π(x) at {capped.max():.2f} where the mixture goes on to {mixture.max():.2f}, though the "
        f"mixture is the smaller one up to q(x) = {meets:.2f}, past the {ceiling.iloc[0]:.2f} at which the ceiling sets in."
    )


# --- claims ------------------------------------------------------------------------------------------------------------


def _near(table: "pd.DataFrame", side: str) -> Sequence[float]:
    shown = table[(table["lenience"] == SHOWN) & (table["series"] == "mean")]
    synthetic_pairs, pair = (shown[shown["panel"] == panel] for panel in "ac")
    first = synthetic_pairs.iloc[0]
    return [first["value"], first["total_variation"], pair["value"].iloc[0], pair["total_variation"].iloc[0]]


def _growth(table: "pd.DataFrame", side: str) -> Sequence[float]:
    """Give the rise of the mean, where it stops being concave, and on the real pair how often it falls from bin to bin."""
    shown = table[(table["lenience"] == SHOWN) & (table["series"] == "mean")]
    ours, pair = (shown[shown["panel"] == panel]["value"].to_numpy() for panel in "ac")
    distance = shown[shown["panel"] == "a"]["total_variation"].to_numpy()
    slope = np.diff(ours) / np.diff(distance)
    bend = distance[1 + int(np.append(np.diff(slope) > 0, True).argmax())]
    return [slope.min(), bend, distance[-1], (np.diff(pair) < 0).sum()]


def _capped(table: "pd.DataFrame", side: str) -> Sequence[float]:
    lines = table[table["panel"] == "b"].pivot_table(index="draft_probability", columns="series", values="value")
    return [lines["lenience"].max(), lines["ceiling"].iloc[0], lines["mixture"].max()]


CLAIMS = (
    Claim(
        "Δ is near 0 where the draft agrees with the target.",
        _near,
        "{:.2f} at TV {:.2f} on synthetic pairs, {:.2f} at TV {:.2f} on the real one",
        "at most 0.1 on either",
        lambda found: [found[0] <= 0.1, found[2] <= 0.1],
        "TV does not fix Δ: a real draft that nearly agrees may still be far off on the few tokens where it does not.",
        printed="a curve from 0",
    ),
    Claim(
        "Δ grows with TV(p, q), and is concave.",
        _growth,
        "grows on synthetic pairs, concave up to TV {1:.2f} of {2:.2f}; on the real pair it falls from bin to bin {3:.0f} times",
        "grows on synthetic pairs, is concave to the end, and never falls on the real pair",
        lambda found: [found[0] > 0, found[1] >= found[2], found[3] == 0],
        "The mean of these pairs turns up again towards TV = 1, where every pair has Δ = 1; on the real pair more than TV "
        "differs from bin to bin.",
        printed="a concave curve",
    ),
    Claim(
        "Lenience caps what overshoots at p/ℓ, where the mixture ℓp + (1 - ℓ)q goes on.",
        _capped,
        "π(x) at most {:.2f}, the ceiling {:.2f}, the mixture {:.2f}",
        "lenience at most its ceiling, the mixture above it",
        lambda found: [found[0] <= found[1] + 1e-12, found[2] > found[1]],
        "Though between p/ℓ and p (1 + ℓ)/ℓ the capped law is still the larger one.",
        printed="p/ℓ",
    ),
)
