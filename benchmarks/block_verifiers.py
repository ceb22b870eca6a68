"""Speed of block verification by Monte Carlo, against one block at a time in Python, in one run.

    python benchmarks/block_verifiers.py

Each block is drafted and verified. The peer is the published procedure typed out for one path: γ coins, one residual over the
vocabulary. The last line is the exact law of block verification of an i.i.d. pair at γ = 10, V = 4.
"""

import time
from collections.abc import Callable

import numpy as np
from rich.console import Console
from rich.table import Table

import theory
from theory import monte_carlo
from theory.decode import iid
from theory.models import iid as iid_pair

SIZES = [(4, 10), (1_000, 5), (32_000, 5), (128_000, 5)]
PATHS = 1 << 18


def rows(size: int) -> tuple[np.ndarray, np.ndarray]:
    """Make a target with a long tail and a noisy copy of it."""
    rng = np.random.default_rng(0)
    logits = 3 * rng.standard_normal(size)
    return theory.normalise(np.exp(logits)), theory.normalise(np.exp(logits + 0.5 * rng.standard_normal(size)))


def literal_tokenwise(p: np.ndarray, q: np.ndarray, gamma: int, rng: np.random.Generator) -> tuple[int, int]:
    """Verify one path token by token, as the paper's Algorithm 1 is usually typed."""
    tokens = rng.choice(len(q), size=gamma, p=q)
    for kept, token in enumerate(tokens):
        if rng.random() > p[token] / q[token]:
            residual = np.maximum(p - q, 0)
            return kept, int(rng.choice(len(p), p=residual / residual.sum()))
    return gamma, int(rng.choice(len(p), p=p))


def literal_block(p: np.ndarray, q: np.ndarray, gamma: int, rng: np.random.Generator) -> tuple[int, int]:
    """Verify one path as a block, as its paper's Algorithm 2 is usually typed."""
    tokens = rng.choice(len(q), size=gamma, p=q)
    kept, weight, best = 0, 1.0, 1.0
    for i, token in enumerate(tokens, 1):
        weight = min(1.0, weight * p[token] / q[token])
        excess = np.maximum(weight * p - q, 0).sum()
        h = weight if i == gamma else (excess / (excess + 1 - weight) if excess + 1 - weight > 0 else 1.0)
        if rng.random() <= h:
            kept, best = i, weight
    law = p if kept == gamma else np.maximum(best * p - q, 0)
    return kept, int(rng.choice(len(p), p=law / law.sum()))


def rate(run: Callable[[int], object], count: int) -> float:
    """Give blocks per second, best of three."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        run(count)
        times.append(time.perf_counter() - start)
    return count / min(times)


def main() -> None:
    """Print the table."""
    console, rng = Console(width=110), np.random.default_rng(1)
    table = Table("rule", "V", "γ", "blocks a second", "one at a time", "ratio", title="Monte Carlo blocks", title_justify="left")
    rules = [(theory.Tokenwise(theory.Strict()), literal_tokenwise), (theory.BlockVerification(), literal_block)]
    for rule, literal in rules:
        for size, gamma in SIZES:
            p, q = rows(size)
            pair = iid_pair(p, q)
            ours = rate(lambda n, rule=rule, pair=pair, gamma=gamma: monte_carlo.length_pmf(rule, pair, gamma, n, rng), PATHS)

            def peer(n: int, literal: Callable[..., object] = literal, p=p, q=q, gamma: int = gamma) -> None:
                for _ in range(n):
                    literal(p, q, gamma, rng)

            theirs = rate(peer, max(20, 2_000_000 // (size + 2_000)))
            table.add_row(str(rule), f"{size:,}", str(gamma), f"{ours:,.0f}", f"{theirs:,.0f}", f"{ours / theirs:,.0f}")
    console.print(table)
    p, q = rows(4)
    start = time.perf_counter()
    iid.length_pmf(theory.BlockVerification(), p, q, 10)
    console.print(f"Exact length law of block verification, γ = 10, V = 4, i.i.d.: {time.perf_counter() - start:.4f} s")


if __name__ == "__main__":
    main()
