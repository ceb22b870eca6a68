"""Speed of single-token verification, as ratios within one run.

    python benchmarks/token_verifiers.py

(a) exact summaries (acceptance, TV, KL) on 256 rows of 128 000 float32 tokens, in passes of ``numpy.add(p, q, out=o)`` over the
    same rows, beside the same formulas typed out row by row in plain numpy, without a check; (b) Monte Carlo verifications
    (draft a token, decide, replace) per second by vocabulary; (c) the time that ``import theory`` takes; (d) the cost of the look
    at what a rule says that is not believed, in the same passes.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from rich.console import Console
from rich.table import Table

import theory
from theory import exact, monte_carlo
from theory.verifiers import believe

RULES = [
    "strict",
    "lenience:0.4",
    "cos:0.5",
    "spec-cascade:0.1",
    "typical-acceptance:0.1",
    "truncation-sampling:min-p:0.1",
    "truncation-sampling:eta:0.1",
]
ROWS, TOKENS, DRAWS = 256, 128_000, 1 << 21


def seconds(run: Callable[[], object], repeats: int = 3) -> float:
    """Best of a few runs."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def softmax_rows(count: int, size: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Make a target with a few likely tokens and a long tail, as models have it, and a draft that is a noisy copy."""
    logits = 3 * rng.standard_normal((count, size), dtype=np.float32)
    target = theory.normalise(np.exp(logits))
    draft = theory.normalise(np.exp(logits + 0.5 * rng.standard_normal((count, size), dtype=np.float32)))
    return target, draft


def plain_strict(p: np.ndarray, q: np.ndarray) -> list[tuple[float, float, float]]:
    """Do what one would type: strict verification, a row at a time, float32 sums, nothing checked."""
    results = []
    for target, draft in zip(p, q, strict=True):
        accepted = draft * np.minimum(target / draft, 1)
        rate = accepted.sum()
        residual = np.maximum(target - draft, 0)
        induced = accepted + (1 - rate) * residual / residual.sum()
        bias = np.abs(induced - target).sum() / 2
        results.append((rate, bias, (induced * np.log(induced / target)).sum()))
    return results


def summaries(console: Console) -> None:
    p, q = softmax_rows(ROWS, TOKENS, np.random.default_rng(0))
    out = np.empty_like(p)
    table = Table(
        "verifier", "passes", "ms", title=f"(a) acceptance, TV and KL, {ROWS} x {TOKENS:,} float32", title_justify="left"
    )
    for name in RULES:
        rule = theory.parse(name)
        one = seconds(lambda: np.add(p, q, out=out))
        taken = seconds(lambda rule=rule: exact.summarise(rule, p, q))
        table.add_row(name, f"{taken / one:.1f}", f"{1e3 * taken:.0f}")
    one, taken = seconds(lambda: np.add(p, q, out=out)), seconds(lambda: plain_strict(p, q))
    table.add_row("strict, plain numpy, unchecked", f"{taken / one:.1f}", f"{1e3 * taken:.0f}")
    table.add_row("one pass of numpy.add", "1.0", f"{1e3 * one:.0f}")
    console.print(table)


def verifications(console: Console) -> None:
    sizes = (4, 1_000, 32_000, 128_000)
    table = Table(
        "verifier", *(f"V = {size:,}" for size in sizes), title="(b) million verifications a second", title_justify="left"
    )
    rates = {name: [] for name in [*RULES, "exact-match"]}
    for size in sizes:
        p, q = (rows[0].astype(np.float64) for rows in softmax_rows(1, size, np.random.default_rng(1)))
        p, q = theory.normalise(p), theory.normalise(q)
        for name, row in rates.items():
            rule, rng = theory.parse(name), np.random.default_rng(2)
            taken = seconds(lambda rule=rule, p=p, q=q, rng=rng: monte_carlo.acceptance_rate(rule, p, q, DRAWS, rng))
            row.append(DRAWS / taken / 1e6)
    for name, row in rates.items():
        table.add_row(name, *(f"{rate:.1f}" for rate in row))
    console.print(table)


def import_time(console: Console) -> None:
    def run(code: str) -> float:
        return seconds(lambda: subprocess.run([sys.executable, "-c", code], check=True), 5)

    bare, numpy, whole = run("pass"), run("import numpy"), run("import theory")
    console.print(f"(c) import theory: {whole - bare:.2f} s, of which numpy {numpy - bare:.2f} s")


@dataclass(frozen=True)
class Own(theory.TokenVerifier):
    """A rule of a user's, its law put together from acceptance and residual."""

    lenience: float

    def acceptance(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Give that of lenience."""
        return theory.Lenience(self.lenience).acceptance(p, q)

    def residual(self, p: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Give that of strict verification."""
        return theory.Strict().residual(p, q)


@dataclass(frozen=True)
class Believed(Own):
    """The same, believed."""


def looks(console: Console) -> None:
    p, q = softmax_rows(ROWS, TOKENS, np.random.default_rng(0))
    out = np.empty_like(p)
    believe(Believed)
    one = seconds(lambda: np.add(p, q, out=out))
    looked, spared = (seconds(lambda rule=rule: exact.summarise(rule, p, q), 5) / one for rule in (Own(0.4), Believed(0.4)))
    console.print(f"(d) a rule of one's own: {looked:.1f} passes, believed {spared:.1f}; the look costs {looked - spared:.1f}")


def main() -> None:
    console = Console(width=110)
    for part in (summaries, verifications, import_time, looks):
        part(console)


if __name__ == "__main__":
    main()
