"""The bundled trace of a real pair, for the versions of the figures that are computed from it.

512 positions of SmolLM2-135M-Instruct and an early-exit draft of it: 64 consecutive ones after each of 8 prompts, in a text
sampled from the target. The draft is far worse than the paper's: strict verification accepts .61 of its tokens. So axes differ,
and shapes may be compared.

Neighbouring positions are taken as they stand, not as independent. The texts are the target's own, so that for a lossy rule a
block here is its first after a text of the target's, not its long run.
"""

from functools import cache
from typing import Any

import numpy as np

from theory import exact, parameters, traces
from theory.paper.intervals import Interval, over_prompts
from theory.probs import Array
from theory.verifiers import TokenVerifier

PAIR = "SmolLM2"
"""What stands for a benchmark on the trace."""

TAIL_TOKENS = 1024
"""Equal tokens over which the unrecorded mass is spread, so that no gate takes the tail for a token."""


@cache
def rows() -> tuple[Any, Any]:
    """Give the rows of target and draft, (512, width) each, with the tail spread."""
    trace = traces.example().with_tail_tokens(TAIL_TOKENS)
    return np.asarray(trace.p), np.asarray(trace.q)


def by_prompt(values: Array) -> Array:
    """Give values at all positions prompt by prompt: shape (512, ...) to (8 prompts, 64 positions, ...)."""
    prompts = np.unique(np.asarray(traces.example().prompt_id)).size
    values = np.asarray(values)
    return values.reshape(prompts, -1, *values.shape[1:])


@cache
def acceptance(verifier: TokenVerifier) -> Array:
    """Give the acceptance rate at each position, shape (8 prompts, 64 positions); a probability."""
    return by_prompt(np.asarray(exact.acceptance_rate(verifier, *rows()), dtype=float))


def accepted_length(rates: Array, gamma: int) -> Array:
    """Drafted tokens kept along each text, Σ_i E[a_t ... a_(t+i-1)], the mean over all places t where γ of them fit.

    Parameters
    ----------
    rates : ndarray, shape (prompts, positions)
        Acceptance rates, as `acceptance` gives them.
    gamma : int
        Drafted tokens, or levels of a tree.

    Returns
    -------
    ndarray, shape (prompts,)
        Tokens, without the extra one.

    Raises
    ------
    ValueError
        Where gamma is not a whole number that fits into a text.

    Examples
    --------
    >>> accepted_length(np.array([[1.0, 0.5, 0.5]]), gamma=2)
    array([1.125])
    """
    parameters.check_count("gamma", gamma)
    parameters.check("gamma", gamma, f"[1, {rates.shape[1]}]")
    windows = np.lib.stride_tricks.sliding_window_view(rates, gamma, axis=1)
    return np.asarray(np.cumprod(windows, axis=-1).sum(axis=-1).mean(axis=-1))


def block_efficiency(rates: Array, gamma: int) -> Interval:
    """Block efficiency along the texts, `accepted_length` plus 1: tokens per target call, the mean over texts with its band.

    Examples
    --------
    >>> from theory.verifiers import Strict
    >>> round(block_efficiency(acceptance(Strict()), gamma=10).value, 2)
    2.81
    """
    return over_prompts(1 + accepted_length(rates, gamma))
