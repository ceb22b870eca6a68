"""The pictures of a rule's page: its law on one pair, and its curve on the bundled trace."""

import re
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np

import theory
from theory import exact, plotting, verifiers
from theory.cli.show import GOLDEN

TENTHS = tuple(round(x / 10, 1) for x in range(11))
RATIOS = (0.05, *TENTHS[1:])

SWEEPS: dict[str, tuple[str, Iterable[Any]]] = {
    "lenience": ("lenience:{}", RATIOS),
    "cos": ("cos:{}", TENTHS),
    "contrastive-cos": ("contrastive-cos:{}", TENTHS),
    "overshoot-ceiling": ("overshoot-ceiling:{}", RATIOS),
    "adaptive-interpolation": ("adaptive-interpolation:{}", RATIOS),
    "hybrid-ceiling": ("hybrid-ceiling:0.5,{}", RATIOS),
    "static-ensemble": ("static-ensemble:{}", TENTHS),
    "geometric-ensemble": ("geometric-ensemble:{}", TENTHS),
    "cactus": ("cactus:{}", (0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)),
    "mentored": ("mentored:alpha={}", RATIOS),
    "optimal": ("optimal:{}", (0, 0.01, 0.03, 0.1, 0.2, 0.4, 0.8)),
    "chow-cascade": ("chow-cascade:{}", TENTHS),
    "diff-cascade": ("diff-cascade:{}", (-1.0, -0.5, -0.25, -0.1, 0, 0.1, 0.25, 0.5, 1.0)),
    "opt-cascade": ("opt-cascade:{}", (-2, -1, -0.5, 0, 0.5, 1, 2)),
    "token-cascade-v1": ("token-cascade-v1:{}", (-1.0, -0.5, 0, 0.1, 0.25, 0.5, 0.75, 1.0)),
    "token-cascade-v2": ("token-cascade-v2:{}", (-0.1, 0, 0.1, 0.25, 0.5, 0.75, 1.0)),
    "token-cascade-v3": ("token-cascade-v3:{}", TENTHS),
    "fuzzy-acceptance": ("fuzzy-acceptance:{}", (0, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7)),
    "spec-cascade": ("spec-cascade:{}", TENTHS),
    "typical-acceptance": ("typical-acceptance:{}", (0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.0)),
    "truncation": ("truncation:top-k:{}", (1, 2, 5, 10, 50, 200)),
    "truncation-sampling": ("truncation-sampling:min-p:{}", TENTHS),
    "eagle-acceptance": ("eagle-acceptance:{}", RATIOS),
    "threshold-acceptance": ("threshold-acceptance:{}", RATIOS),
}
"""Rule to a name with a gap, and what to put there for its curve; rules without parameters are not here."""


def rational(name: str) -> theory.TokenVerifier:
    """Make the rule of a short name with its decimals as fractions."""
    return theory.parse(re.sub(r"\d+\.\d+", lambda found: str(Fraction(found[0])), name))


def golden() -> tuple[np.ndarray, np.ndarray]:
    """Give the golden pair, p = (4, 3, 2, 1)/10 and q = (4, 5, 5, 6)/20."""
    p, q = (np.array([Fraction(entry) for entry in row.split(",")]) for row in GOLDEN)
    return p, q


def law_on(rule: theory.TokenVerifier) -> tuple[np.ndarray, np.ndarray, verifiers.Law]:
    """Give the golden pair and the rule's law there, in floats where it is irrational."""
    p, q = golden()
    try:
        return p, q, rule.law(p, q)
    except ValueError:
        p, q = p.astype(float), q.astype(float)
        return p, q, rule.law(p, q)


def draw_law(rule: theory.TokenVerifier, path: Path) -> None:
    """Draw the golden pair and what the rule makes of it."""
    p, q, law = law_on(rule)
    figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
    plotting.plot_induced(p, q, law.induced, ceiling=rule.ceiling, title=str(rule), ax=axes, legend=False)
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)
    save(figure, path)


def draw_curve(name: str, trace: tuple[np.ndarray, np.ndarray], path: Path) -> None:
    """Draw acceptance against TV on the trace, at each value of the parameter."""
    p, q = trace
    pattern, values = SWEEPS.get(name, (name, ()))
    rules = [theory.parse(pattern.format(value)) for value in values] or [theory.parse(name)]
    found = [exact.summarise(rule, p, q, ["acceptance_rate", "total_variation"]) for rule in rules]
    x, y = (np.array([one[key].mean() for one in found]) for key in ("total_variation", "acceptance_rate"))
    distance = float(theory.total_variation(p, q).mean())
    figure, axes = plt.subplots(figsize=(6, 3.8), layout="constrained")
    axes.plot(
        [0, distance], [1 - distance, 1], color="0.5", linestyle="--", linewidth=1, label="TV + R = TV(p, q): no rule is above"
    )
    axes.plot(
        x,
        y,
        marker="o",
        markersize=4,
        color=plotting.COLOURS.get(verifiers.RULES[name].family, plotting.COLOURS["user"]),
        label=name,
    )
    for place, value in [(0, next(iter(values), "")), (-1, list(values)[-1] if values else "")]:
        axes.annotate(f"{value}", (x[place], y[place]), xytext=(5, -11), textcoords="offset points", fontsize=8)
    axes.set(xlabel="TV(π, p), mean over positions", ylabel="acceptance rate", xlim=(-0.02, max(x.max(), distance) * 1.08 + 0.02))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8, loc="best")
    save(figure, path)


def save(figure: Any, path: Path) -> None:
    """Write a picture, and let go of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)
