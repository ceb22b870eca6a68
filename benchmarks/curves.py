"""Cost of whole trade-off curves, as ratios within one run.

    python benchmarks/curves.py

One pair of rows of float64 at V = 32 000 and 128 000. The unit is one value of the parameter by the per-value route,
`exact.summarise` of the quantities that the curve has, which checks nothing twice; beside it one value by the curve, and a
thousand.
"""

import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

import theory
from theory import curves, exact, probs

SIZES, VALUES = (32_000, 128_000), 1_000
GATES = ("spec-cascade", "typical-acceptance")
CURVES = [
    ("lenience", "redraft"),
    ("overshoot-ceiling", "redraft"),
    ("cos", "redraft"),
    ("mentored", "redraft"),
    ("spec-cascade", "redraft"),
    ("spec-cascade", "target"),
    ("spec-cascade", "optimal"),
    ("typical-acceptance", "redraft"),
]


def rows(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Make a target with a few likely tokens and a long tail, as models have it, and a draft that is a noisy copy."""
    rng = np.random.default_rng(0)
    logits = 3 * rng.standard_normal(size)
    return theory.normalise(np.exp(logits)), theory.normalise(np.exp(logits + 0.5 * rng.standard_normal(size)))


def seconds(*runs: Callable[[], object], repeats: int = 9) -> list[float]:
    """Best of a few rounds over all runs, so that a busy moment does not hit one of them alone."""
    best = [np.inf] * len(runs)
    for _ in range(repeats):
        for place, run in enumerate(runs):
            start = time.perf_counter()
            run()
            best[place] = min(best[place], time.perf_counter() - start)
    return best


def main() -> None:
    """Print the table."""
    console = Console(width=120)
    table = Table(
        "curve", "V", "law ms", "1 value ms", "1 000 ms", "1 000 / 1", "1 000 / law", title="One pair", title_justify="left"
    )
    for rule, fallback in CURVES:
        for size in SIZES:
            p, q = probs.check_pair(*rows(size))
            values = list(np.linspace(0.001, 1, VALUES))
            gate = f",fallback={fallback}" if rule in GATES else ""
            verifier = theory.parse(f"{rule}:0.4{gate}")
            names = list(curves.evaluate(rule, p, q, [0.4], fallback))
            law, one, thousand = seconds(
                lambda verifier=verifier, p=p, q=q, names=names: exact.summarise(verifier, p, q, names),
                lambda rule=rule, p=p, q=q, fallback=fallback: curves.evaluate(rule, p, q, [0.4], fallback),
                lambda rule=rule, p=p, q=q, values=values, fallback=fallback: curves.evaluate(rule, p, q, values, fallback),
            )
            numbers = (f"{1e3 * t:.2f}" for t in (law, one, thousand))
            table.add_row(f"{rule}{gate}", f"{size:,}", *numbers, f"{thousand / one:.2f}", f"{thousand / law:.1f}")
    console.print(table)


if __name__ == "__main__":
    main()
