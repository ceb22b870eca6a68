"""Figure 2: one pair of rows under four verifiers, and the law that each induces.

The paper does not list its rows or parameters, so that shapes compare here, not bars. Ours are 15 tokens with a Zipf target and a
draft that is the target with normal noise on its logarithms, from the first seed under which tokens of all three kinds of Eq. 10
are frequent; CoS and lenience at 1/2, the min-p set of five tokens. The law comes from each rule's acceptance and replacement;
beside it stands the closed form that the paper prints.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from theory import exact, parameters, plotting, probs, verifiers
from theory.paper import knobs, real, style
from theory.paper.agreement import Claim
from theory.paper.knobs import Rules
from theory.probs import Array
from theory.truncation import MinP
from theory.verifiers import CoS, Lenience, SpecCascade, TokenVerifier, TruncationSampling

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

TITLE = "Figure 2: the laws that four verifiers induce on one pair of rows"
CLAIM = (
    "CoS mixes draft and target everywhere; lenience interpolates, follows the draft, and stops at a ceiling p/ℓ; "
    "truncation-based verification returns the draft renormalised on the allowed set, where truncation sampling, "
    "its true baseline, returns the target renormalised on it."
)
COLUMNS = {
    "panel": "of the paper's figure, a to d",
    "rule": "verifier, by its short name",
    "token": "rank of the token in falling order of p, from 1",
    "p": "target, probability",
    "q": "draft, probability",
    "overlap": "min(p, q), probability",
    "induced": "π, from the rule's acceptance and replacement, probability",
    "printed": "π by the paper's closed form (Eq. 8, 10, 13, 4), probability",
    "ceiling": "1/ℓ, what bounds π/p under lenience; NaN under rules without a ceiling",
    "region": "of Eq. 10 at this ℓ: underestimated (q <= p), moderate (p < q <= p/ℓ) or severe (q > p/ℓ)",
    "kept": "whether the token is in the allowed set; all are under rules without one",
    "total_variation": "TV(π, p), probability; one value a panel",
    "total_variation_to_baseline": "TV(π, truncated target), probability; one value a panel, NaN under rules without a set",
    "max_overshoot": "max π/p; one value a panel",
}

ROWS = "zipf:15,corruption=noise,strength=1,seed=5"
"""The first seed under which at least three tokens are of each kind, and severe ones lie both in the allowed set and off it."""

LENIENCE = 0.5

RULES: dict[str, TokenVerifier] = {
    "CoS": CoS(0.5),
    "lenience": Lenience(LENIENCE),
    "truncation verification": SpecCascade(0.2),
    "truncation sampling": TruncationSampling(MinP(0.2)),
}
"""Panel to rule, in the paper's order."""

DRAWN = tuple(RULES.values())

LAWS = ("π = λp + (1 - λ)q", "π ≤ p/ℓ", "π = q on A, renormalised", "π = p on A, renormalised")
"""What each panel shows, in a few signs."""

COLOURS = plotting.ROW_COLOURS | {"target": "#56B4E9", "draft": "#CC79A7", "overlap": "#E69F00", "induced": "#5B2A86"}
"""The paper's: target blue, draft pink, overlap orange, law purple."""


def rows(given: real.Rows = ROWS, position: int = 0) -> tuple[Array, Array]:
    """Give the target and the draft of all panels, (V,) each, in falling order of p.

    Raises
    ------
    ValueError
        For a position that is not there.
    """
    texts = real.texts(given, "rows")
    parameters.check_count("position", position, 0)
    if position >= len(texts.p):
        raise ValueError(f"position = {position}: must be a whole number in [0, {len(texts.p) - 1}], the positions of the rows")
    p, q = texts.p[position], texts.q[position]
    order = np.argsort(-p, kind="stable")
    return p[order], q[order]


def printed(rule: TokenVerifier, p: Array, q: Array) -> Array:
    """Give the paper's closed form of the law: Eq. 8, 10 with 11, 13 or 4; exact on Fractions.

    Raises
    ------
    ValueError
        For a rule of another panel.

    Examples
    --------
    >>> printed(CoS(0.5), np.array([0.5, 0.5]), np.array([0.25, 0.75]))
    array([0.375, 0.625])
    """
    match rule:
        case CoS():
            lam = parameters.carry(rule.lam, p)
            return np.asarray(lam * p + (1 - lam) * q)
        case Lenience():
            ratio = parameters.carry(rule.lenience, p)
            distance = np.abs(q - p).sum() / 2
            above = np.abs(q - p / ratio).sum() / 2 + (1 - 1 / ratio) / 2
            delta = above / distance if distance else 1  # p = q: its factor p - q is 0
            return np.where(q <= p, delta * p + (1 - delta) * q, np.where(q <= p / ratio, q, p / ratio))
        case SpecCascade():
            kept = q * probs.indicator(rule.gate().allowed(p), q)
        case TruncationSampling():
            kept = p * probs.indicator(rule.truncation.allowed(p), p)
        case _:
            raise ValueError(f"rule = {rule}: Figure 2 shows {', '.join(map(str, RULES.values()))}")
    return np.asarray(kept / kept.sum())


def regions(p: Array, q: Array, lenience: float = LENIENCE) -> Array:
    """Name the piece of Eq. 10 in which each token lies."""
    return np.where(q <= p, "underestimated", np.where(q <= p / lenience, "moderate", "severe"))


def _printed(rule: TokenVerifier, p: Array, q: Array) -> Array:
    """Give the closed form where the paper has one, else NaN."""
    has_one = isinstance(rule, CoS | Lenience | TruncationSampling) or (
        isinstance(rule, SpecCascade) and rule.fallback == "redraft"
    )
    return printed(rule, p, q) if has_one else np.full(p.shape, np.nan)


@knobs.recorded
def compute(
    quick: bool = False,
    *,
    rows: real.Rows = ROWS,
    position: int = 0,
    rules: Rules = DRAWN,
    lenience: float = LENIENCE,
) -> "pd.DataFrame":
    """Compute the law of each rule on one pair of rows, by the verifier and by the paper's closed form where it has one.

    Parameters
    ----------
    quick : bool
        There is nothing to coarsen.
    rows : (p, q), short name of synthetic rows, trace, path, or list of traces
        Where the pair of rows stands; rows of the target and of the draft over the same tokens.
    position : int
        Which of the rows, from 0.
    rules : verifiers, or names of verifiers
        Any, a panel each.
    lenience : float
        ℓ in (0, 1] of the regions that tokens are sorted into.

    Returns
    -------
    pandas.DataFrame
        With `COLUMNS`.
    """
    import pandas as pd

    p, q = _rows(rows, position)
    chosen = knobs.listed("rules", verifiers.resolve_all(rules, "rules"))
    parameters.check("lenience", lenience, "(0, 1]")
    parts = []
    for letter, rule in zip(style.letters(len(chosen)), chosen, strict=True):
        baseline = rule.baseline(p)
        numbers = exact.summarise(rule, p, q, ["total_variation", "total_variation_to_baseline", "max_overshoot"])
        part = {
            "panel": letter,
            "rule": str(rule),
            "token": np.arange(1, p.size + 1),
            "p": p,
            "q": q,
            "overlap": np.minimum(p, q),
            "induced": rule.induced(p, q),
            "printed": _printed(rule, p, q),
            "ceiling": np.nan if rule.ceiling is None else float(rule.ceiling),
            "region": regions(p, q, lenience),
            "kept": np.full(p.size, True) if baseline is None else baseline > 0,
            **numbers,
        }
        parts.append(pd.DataFrame(part)[list(COLUMNS)])
    return pd.concat(parts, ignore_index=True)


_rows = rows  # `compute` has a knob of that name


def plot(table: "pd.DataFrame", ax: "style.Place | None" = None, tokens: int = 15) -> "Figure":
    """Draw the panels side by side, as the paper does; of many tokens the most probable ones."""
    parameters.check_count("tokens", tokens)
    panels = list(table.groupby("panel", sort=False))
    lines, columns = style.grid(len(panels), 4)
    figure, axes = style.panels(ax, lines, columns, 2.75 * columns, 3.6 * lines, sharey=True)
    seen = table[table["token"] <= tokens]
    top = 1.1 * np.nanmax([*seen[["p", "q", "induced"]].to_numpy().ravel(), *(seen["ceiling"] * seen["p"])])
    papers = {str(rule): f"{name}\n{law}" for (name, rule), law in zip(RULES.items(), LAWS, strict=True)}
    for (letter, one), (_, part) in zip(style.lettered(axes, len(panels)), panels, strict=True):
        p, q, induced = (part[column].to_numpy() for column in ("p", "q", "induced"))
        first, shown = part.iloc[0], min(tokens, len(part))
        rule, apart, most = first[["rule", "total_variation", "max_overshoot"]]
        ceiling = None if part["ceiling"].isna().any() else first["ceiling"]
        options: dict[str, Any] = {"colours": COLOURS, "legend": False, "ax": one}
        plotting.plot_induced(p, q, induced, ceiling, shown, f"({letter}) {papers.get(rule, rule)}", **options)
        ticks = [1, *range(5, shown + 1, 5 * max(1, shown // 30))]
        one.set_xticks([tick - 1 for tick in ticks], ticks)
        one.set(xlabel="token, in falling order of p" + (f"\n(first {shown} of {len(part)})" if shown < len(part) else ""))
        one.set(ylim=(0, top))
        one.grid(axis="x", visible=False)
        cut = part["kept"].sum() - 0.5
        if cut < shown - 1:
            one.axvline(cut, color=COLOURS["ceiling"], linewidth=0.8)
            words: dict[str, Any] = {"color": COLOURS["ceiling"], "fontsize": 8, "va": "top"}
            one.text(cut - 0.2, 0.99 * top, "kept", ha="right", **words)
            one.text(cut + 0.2, 0.99 * top, "discarded", ha="left", **words)
        summary = f"{rule.removeprefix('truncation-sampling:')}\nTV(π, p) = {apart:.2f}\nmax π/p = {most:.2f}"
        one.text(0.98, 0.88, summary, transform=one.transAxes, ha="right", va="top", fontsize=8)
    for one in axes[:, 1:].flat:
        one.set_ylabel("")
    style.legend_below(figure, *figure.axes)
    return figure


@knobs.weighed
def headline(table: "pd.DataFrame") -> str:
    """Compare the four laws, and each with its closed form."""
    first = table.groupby("panel").first()
    most, apart = first["max_overshoot"], first["total_variation"]
    gap = first["total_variation_to_baseline"]["c"]
    error = (table["induced"] - table["printed"]).abs().max()
    return (
        f"On these rows max π/p is {most['b']:.2f} under lenience (ceiling 1/ℓ = {first['ceiling']['b']:g}), {most['a']:.2f} "
        f"under CoS and {most['c']:.2f} under truncation-based verification, at TV(π, p) of {apart['b']:.3f}, {apart['a']:.3f} "
        f"and {apart['c']:.3f}; the last stands at TV = {gap:.3f} from truncation sampling, its true baseline. Each law and the "
        f"paper's closed form of it (Eq. 8, 10, 13, 4) differ by at most {error:.0e}."
    )


# --- claims ------------------------------------------------------------------------------------------------------------


def _first(table: "pd.DataFrame", column: str) -> Sequence[float]:
    return [float(value) for value in table.groupby("panel")[column].first()]


def _errors(table: "pd.DataFrame", side: str) -> Sequence[float]:
    return [float(error) for error in (table["induced"] - table["printed"]).abs().groupby(table["panel"]).max()]


CLAIMS = (
    Claim(
        "The four rules induce the laws of Eq. 8, 10, 13 and 4.",
        _errors,
        "off by at most {:.0e}, {:.0e}, {:.0e}, {:.0e} at any token",
        "each at most 1e-12",
        lambda errors: [error <= 1e-12 for error in errors],
        "Law from acceptance and replacement, and the closed form; equal in Fractions for all rows, a test says.",
        printed="closed forms",
    ),
    Claim(
        "Lenience stops at a ceiling p/ℓ; CoS and truncation-based verification have none.",
        lambda table, side: [*_first(table, "max_overshoot")[:3], _first(table, "ceiling")[1]],
        "max π/p is {1:.2f} under lenience, {0:.2f} under CoS, {2:.2f} under the gate; 1/ℓ = {3:g}",
        "lenience at most 1/ℓ, both others above it",
        lambda most: [most[1] <= most[3] * (1 + 1e-12), most[0] > most[3], most[2] > most[3]],
        "CoS keeps a share of whatever the draft says; a gate keeps all of it on its set.",
        printed="rows not published",
    ),
    Claim(
        "Truncation-based verification returns the draft on the allowed set, its true baseline the target on it.",
        lambda table, side: _first(table, "total_variation_to_baseline")[2:],
        "TV to the true baseline is {0:.3f} for the gate and {1:.0e} for truncation sampling",
        "apart for the gate, nothing for truncation sampling",
        lambda away: [away[0] > 0.01, away[1] < 1e-12],
        "Which tokens are allowed is the target's choice, how often each comes is the draft's.",
        printed="rows not published",
    ),
)
