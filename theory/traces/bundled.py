"""The trace that comes with the package."""

from pathlib import Path

from theory.traces.reading import read
from theory.traces.trace import Trace

_DATA = Path(__file__).parent / "data"


def example() -> Trace:
    """Give the bundled trace: 512 positions of SmolLM2-135M-Instruct and an early-exit draft of it, top 256 of each.

    Eight prompts, the first 64 tokens that the target sampled at temperature 1. ``provenance`` and data/README.md tell
    how text and draft were made, and what was selected.

    Examples
    --------
    >>> print(example().describe())  # doctest: +NORMALIZE_WHITESPACE
    512 positions of target SmolLM2-135M-Instruct and draft SmolLM2-135M-Instruct exit 25/30,
    temperature 1, vocabulary of 49152 tokens. Rows are truncated, 359.55 tokens in the mean and 455 at most, float16
    logarithms; the mass outside them, 0.0296 of p and 0.0586 of q in the mean, is one token. Stored exactly at record
    time: overlap, entropy_p, entropy_q, kl_pq, log_max_q_over_p. Mean overlap Σ min(p, q): 0.6139.
    """
    return read(_DATA / "smollm2_early_exit_top256.safetensors", check=False)
