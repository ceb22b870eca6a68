"""Figure 2: one pair of rows under four verifiers, and the law that each induces.

The paper does not list its rows or parameters, so that shapes compare here, not bars. Ours are 15 tokens with a Zipf target and a
draft that is the target with normal noise on its logarithms, from the first seed under which tokens of all three kinds of Eq. 10
are frequent; CoS and lenience at 1/2, the min-p set of five tokens. The law comes from each rule's acceptance and replacement;
beside it stands the closed form that the paper prints.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from theory import exact, parameters, plotting, probs, synthetic
from theory.paper import style
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

TOKENS = 15
SEED = 5
"""The first under which at least three tokens are of each kind, and severe ones lie both in the allowed set and off it."""

LENIENCE = 0.5

RULES: dict[str, TokenVerifier] = {
    "CoS": CoS(0.5),
    "lenience": Lenience(LENIENCE),
    "truncation verification": SpecCascade(0.2),
    "truncation sampling": TruncationSampling(MinP(0.2)),
}
"""Panel to rule, in the paper's order."""

LAWS = ("π = λp + (1 - λ)q", "π ≤ p/ℓ", "π = q on A, renormalised", "π = p on A, renormalised")
"""What each panel shows, in a few signs."""

COLOURS = plotting.ROW_COLOURS | {"target": "#56B4E9", "draft": "#CC79A7", "overlap": "#E69F00", "induced": "#5B2A86"}
"""The paper's: target blue, draft pink, overlap orange, law purple."""


def rows(seed: int = SEED) -> tuple[Array, Array]:
    """Give the target and the draft of all panels, (15,) each, in falling order of p."""
    return synthetic.zipf(TOKENS, exponent=1, corruption="noise", strength=1, rng=np.random.default_rng(seed))


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


def regions(p: Array, q: Array) -> Array:
    """Name the piece of Eq. 10 in which each token lies."""
    return np.where(q <= p, "underestimated", np.where(q <= p / LENIENCE, "moderate", "severe"))


def compute(quick: bool = False) -> "pd.DataFrame":
    """Compute every panel's law, by the verifier and by the paper's closed form; there is nothing to coarsen."""
    import pandas as pd

    p, q = rows()
    parts = []
    for letter, rule in zip("abcd", RULES.values(), strict=True):
        baseline = rule.baseline(p)
        numbers = exact.summarise(rule, p, q, ["total_variation", "total_variation_to_baseline", "max_overshoot"])
        part = {
            "panel": letter,
            "rule": str(rule),
            "token": np.arange(1, TOKENS + 1),
            "p": p,
            "q": q,
            "overlap": np.minimum(p, q),
            "induced": rule.induced(p, q),
            "printed": printed(rule, p, q),
            "ceiling": np.nan if rule.ceiling is None else float(rule.ceiling),
            "region": regions(p, q),
            "kept": np.full(TOKENS, True) if baseline is None else baseline > 0,
            **numbers,
        }
        parts.append(pd.DataFrame(part)[list(COLUMNS)])
    return pd.concat(parts, ignore_index=True)


def plot(table: "pd.DataFrame", figure: "Figure | None" = None) -> "Figure":
    """Draw the four panels side by side, as the paper does."""
    figure, axes = style.panels(figure, 1, 4, 11, 3.6, sharey=True)
    top = 1.1 * max(table[["p", "q", "induced"]].to_numpy().max(), (table["ceiling"] * table["p"]).max())
    for ax, (letter, part), name, law in zip(axes[0], table.groupby("panel"), RULES, LAWS, strict=True):
        p, q, induced = (part[column].to_numpy() for column in ("p", "q", "induced"))
        ceiling = None if part["ceiling"].isna().any() else part["ceiling"].iloc[0]
        options: dict[str, Any] = {"colours": COLOURS, "legend": False, "ax": ax}
        plotting.plot_induced(p, q, induced, ceiling, len(part), f"({letter}) {name}\n{law}", **options)
        shown = part["token"].isin((1, 5, 10, 15))
        ax.set_xticks(part["token"][shown] - 1, part["token"][shown])
        ax.set(xlabel="token, in falling order of p", ylim=(0, top))
        ax.grid(axis="x", visible=False)
        cut = part["kept"].sum() - 0.5
        if not part["kept"].all():
            ax.axvline(cut, color=COLOURS["ceiling"], linewidth=0.8)
            words: dict[str, Any] = {"color": COLOURS["ceiling"], "fontsize": 8, "va": "top"}
            ax.text(cut - 0.2, 0.99 * top, "kept", ha="right", **words)
            ax.text(cut + 0.2, 0.99 * top, "discarded", ha="left", **words)
        first = part.iloc[0]
        rule, apart, most = first[["rule", "total_variation", "max_overshoot"]]
        summary = f"{rule.removeprefix('truncation-sampling:')}\nTV(π, p) = {apart:.2f}\nmax π/p = {most:.2f}"
        ax.text(0.98, 0.88, summary, transform=ax.transAxes, ha="right", va="top", fontsize=8)
    for ax in axes[0, 1:]:
        ax.set_ylabel("")
    style.legend_below(figure, *axes[0])
    return figure


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
