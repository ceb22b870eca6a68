"""What a block buys when each draft is accepted independently at one rate: tokens per call, speed-up, operations."""

from typing import Any

import numpy as np

from theory import parameters
from theory.parameters import Number
from theory.probs import RowsLike


def block_efficiency(acceptance_rate: RowsLike | Number, gamma: int) -> Any:
    """Tokens emitted per target call when each draft is accepted independently: (1 - α^(γ+1)) / (1 - α).

    Parameters
    ----------
    acceptance_rate : array_like
        α in [0, 1].
    gamma : int
        Drafted tokens in a block, at least 1.

    Returns
    -------
    float or ndarray
        E[accepted length] + 1, in [1, γ + 1], tokens per target call.

    Raises
    ------
    ValueError
        For a rate outside [0, 1] or a ``gamma`` below 1.

    Notes
    -----
    Leviathan et al. (arXiv 2211.17192), Eq. 1, the sum 1 + α + ... + α^γ; exact on Fractions.

    Examples
    --------
    >>> float(block_efficiency(0.5, 2)), float(block_efficiency(1.0, 10))
    (1.75, 11.0)
    """
    parameters.check_count("gamma", gamma)
    rate = np.asarray(acceptance_rate)
    if rate.dtype.kind not in "iufO":
        raise ValueError(f"acceptance_rate = {acceptance_rate!r}: must be numbers in [0, 1]")
    try:
        outside = np.asarray(~np.asarray((rate >= 0) & (rate <= 1), dtype=bool))
    except TypeError:
        raise ValueError(f"acceptance_rate = {acceptance_rate!r}: must be numbers in [0, 1]") from None
    if outside.any():
        raise ValueError(f"acceptance_rate = {rate[outside][0]}: must be in [0, 1]")
    if rate.dtype == object:
        return sum(rate**k for k in range(gamma + 1))
    rate = rate.astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        series = -np.expm1((gamma + 1) * np.log(rate)) / (1 - rate)
    return np.where(rate < 1, series, gamma + 1)[()]


def speedup(tokens_per_call: Any, gamma: int, cost: Number) -> Any:
    """Walltime improvement over plain decoding: tokens per call / (γ c + 1).

    Parameters
    ----------
    tokens_per_call : float, Fraction or ndarray
        Block efficiency.
    gamma : int
        Drafted tokens in a block.
    cost : float or Fraction
        c >= 0, the time of a draft step in target calls.

    Returns
    -------
    float, Fraction or ndarray
        A ratio; above 1 the decoder is faster.

    Notes
    -----
    Leviathan et al. (arXiv 2211.17192), Theorem 3.8. Some γ helps iff α > c (Corollary 3.9).

    Examples
    --------
    >>> round(float(speedup(block_efficiency(0.8, 5), 5, 0)), 2)
    3.69
    """
    parameters.check_count("gamma", gamma)
    parameters.check("cost", cost, "[0, inf)")
    _check_tokens(tokens_per_call)
    return tokens_per_call / (gamma * cost + 1)


def operations(tokens_per_call: Any, gamma: int, cost: Number) -> Any:
    """Arithmetic operations per token, in those of plain decoding: (γ ĉ + γ + 1) / tokens per call.

    Parameters
    ----------
    tokens_per_call : float, Fraction or ndarray
        Block efficiency.
    gamma : int
        Drafted tokens in a block.
    cost : float or Fraction
        ĉ >= 0, operations of a draft step in those of the target for one token.

    Notes
    -----
    Leviathan et al. (arXiv 2211.17192), Theorem 3.11.

    Examples
    --------
    >>> round(float(operations(block_efficiency(0.8, 5), 5, 0)), 2)
    1.63
    """
    parameters.check_count("gamma", gamma)
    parameters.check("cost", cost, "[0, inf)")
    _check_tokens(tokens_per_call)
    return (gamma * cost + gamma + 1) / tokens_per_call


def _check_tokens(tokens_per_call: Any) -> None:
    if isinstance(tokens_per_call, list | tuple):
        raise ValueError(f"tokens_per_call = {tokens_per_call!r}: must be a number or an array")
    for value in np.asarray(tokens_per_call, dtype=object).ravel():
        parameters.check("tokens_per_call", value, "[0, inf)")
