"""The bundled trace of a real pair, for the versions of the figures that are computed from it.

512 positions of SmolLM2-135M-Instruct and an early-exit draft of it: 64 consecutive ones after each of 8 prompts, in a text
sampled from the target. The draft is far worse than the paper's: strict verification accepts .61 of its tokens. So axes differ,
and shapes may be compared.
"""

from functools import cache
from typing import Any

import numpy as np

from theory import exact, parameters, traces
from theory.probs import Array
from theory.verifiers import TokenVerifier

TAIL_TOKENS = 1024
"""Equal tokens over which the unrecorded mass is spread, so that no gate takes the tail for a token."""


@cache
def rows() -> tuple[Any, Any]:
    """Give the rows of target and draft, (512, width) each, with the tail spread."""
    trace = traces.example().with_tail_tokens(TAIL_TOKENS)
    return np.asarray(trace.p), np.asarray(trace.q)


@cache
def acceptance(verifier: TokenVerifier) -> Array:
    """Give the acceptance rate at each position, shape (8 prompts, 64 positions); a probability."""
    prompts = np.unique(np.asarray(traces.example().prompt_id)).size
    return np.asarray(exact.acceptance_rate(verifier, *rows()), dtype=float).reshape(prompts, -1)


def block_efficiency(verifier: TokenVerifier, gamma: int) -> float:
    """Block efficiency along the recorded texts, 1 + Σ_i E[a_t ... a_(t+i-1)], the mean over all places t where a block fits.

    Parameters
    ----------
    verifier : TokenVerifier
        The rule, run token by token.
    gamma : int
        Drafted tokens.

    Returns
    -------
    float
        Tokens per target call.

    Raises
    ------
    ValueError
        Where gamma is not a whole number that fits into a text.

    Notes
    -----
    Neighbouring positions are taken as they stand, not as independent. The texts are the target's own, so that for a lossy
    rule this is its first block after a text of the target's, not its long run.

    Examples
    --------
    >>> from theory.verifiers import Strict
    >>> round(block_efficiency(Strict(), gamma=10), 2)
    2.81
    """
    rates = acceptance(verifier)
    parameters.check_count("gamma", gamma)
    parameters.check("gamma", gamma, f"[1, {rates.shape[1]}]")
    windows = np.lib.stride_tricks.sliding_window_view(rates, gamma, axis=1)
    return float(1 + np.cumprod(windows, axis=-1).sum(axis=-1).mean())
