"""Block rules on rows taken as i.i.d. positions: accepted lengths, block efficiency and predicted speed-up, as tables."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from theory import exact, parameters, probs
from theory.blocks import BlockVerification, BlockVerifier, GreedyBlock, HierarchicalVerification, Tokenwise
from theory.blocks.speed import speedup
from theory.decode import iid
from theory.probs import Array

if TYPE_CHECKING:
    import pandas as pd

CELLS = 500
"""Of the grid that brackets block verification; the bracket is then about 1e-6 wide."""


def length_laws(rules: Iterable[BlockVerifier], p: Any, q: Any, gamma: int) -> "pd.DataFrame":
    """Give the law of the accepted length of each rule, where each position has the rows of a random one of those given.

    Parameters
    ----------
    rules : iterable of BlockVerifier
        Rules of this package.
    p, q : array_like or rows of a Trace, shape (V,) or (positions, V)
        Rows of the target and of the draft.
    gamma : int
        Drafted tokens.

    Returns
    -------
    pandas.DataFrame
        One row a rule and length: ``rule``, ``gamma``, ``accepted`` (0..gamma), ``probability``, ``route`` (``closed form`` and
        ``merged weights`` are exact, ``bounds`` are rigorous ones whose middle is given) and ``error``, a bound on how far the
        probability may be off.

    Raises
    ------
    ValueError
        Where ``p`` or ``q`` are not rows, or a rule is not of this package.

    Notes
    -----
    "i.i.d. positions" means that each position of a block draws its pair of rows anew: what a decoder would do if neighbouring
    positions of a text had nothing in common. Stacks of n rows are then one pair of rows over n V tokens, p(x)/n and q(x)/n.

    Examples
    --------
    >>> table = length_laws([BlockVerification()], [1 / 3, 2 / 3], [2 / 3, 1 / 3], gamma=2)
    >>> table["probability"].round(6).tolist()
    [0.333333, 0.111111, 0.555556]
    """
    import pandas as pd

    target, draft = probs.check_pair(np.atleast_2d(np.asarray(p)), np.atleast_2d(np.asarray(q)))
    parts = [_law(rule, target, draft, gamma) for rule in rules]
    return pd.concat([part.assign(gamma=gamma) for part in parts], ignore_index=True)


def efficiencies(rules: Iterable[BlockVerifier], p: Any, q: Any, gammas: Iterable[int], cost: float = 0.0) -> "pd.DataFrame":
    """Give block efficiency and predicted speed-up of each rule at each gamma, positions i.i.d. as in `length_laws`.

    Parameters
    ----------
    rules, p, q
        As for `length_laws`.
    gammas : iterable of int
        Drafted tokens.
    cost : float
        Time of a draft step in target calls, at least 0.

    Returns
    -------
    pandas.DataFrame
        One row a rule and gamma: ``rule``, ``gamma``, ``accepted_length`` (tokens), ``block_efficiency`` (tokens per target
        call), ``speedup`` (a ratio, Leviathan et al., Theorem 3.8), ``route`` and ``error`` (of the lengths, in tokens).

    Examples
    --------
    >>> from theory.verifiers import Strict
    >>> table = efficiencies([Tokenwise(Strict())], [0.5, 0.5], [0.25, 0.75], [1, 2], cost=0.5)
    >>> table[["gamma", "block_efficiency", "speedup"]].values.tolist()
    [[1.0, 1.75, 1.1666666666666667], [2.0, 2.3125, 1.15625]]
    """
    import pandas as pd

    parameters.check("cost", cost, "[0, inf)")
    rows = []
    gammas = list(gammas)
    for rule in list(rules):
        law = length_laws([rule], p, q, max(gammas))
        # P(τ >= i) does not depend on gamma for any of these rules, so one law serves all shorter blocks.
        survival = law["probability"].to_numpy()[::-1].cumsum()[::-1]
        for gamma in gammas:
            accepted = float(survival[1 : gamma + 1].sum())
            rows.append(
                {
                    "rule": str(rule),
                    "gamma": gamma,
                    "accepted_length": accepted,
                    "block_efficiency": accepted + 1,
                    "speedup": speedup(accepted + 1, gamma, cost),
                    "route": law["route"].iloc[0],
                    "error": float(law["error"].sum()) * gamma,
                }
            )
    return pd.DataFrame(rows)


def _law(rule: BlockVerifier, p: Array, q: Array, gamma: int) -> "pd.DataFrame":
    import pandas as pd

    route, error = "closed form", 0.0
    if isinstance(rule, Tokenwise):
        rate = float(np.mean(np.asarray(exact.acceptance_rate(rule.verifier, p, q), dtype=float)))
        survival = min(rate, 1) ** np.arange(gamma + 1)
    elif isinstance(rule, GreedyBlock):
        rate = float(np.mean(np.take_along_axis(q, p.argmax(axis=-1)[:, None], axis=-1).astype(float)))
        survival = rate ** np.arange(gamma + 1)
    elif isinstance(rule, BlockVerification | HierarchicalVerification):
        flat_p, flat_q = (_normal((rows / len(p)).ravel()) for rows in (p, q))
        try:
            survival = iid.length_pmf(rule, flat_p, flat_q, gamma)[::-1].cumsum()[::-1].astype(float)
            route = "merged weights"
        except ValueError:  # too many distinct weights
            low, high = iid.survival_bounds(flat_p, flat_q, gamma, CELLS)
            survival, route, error = (low + high) / 2, "bounds", float((high - low).max())
    else:
        raise ValueError(f"rule = {rule!r}: must be a rule of theory.blocks")
    probability = survival - np.append(survival[1:], 0)
    return pd.DataFrame(
        {
            "rule": str(rule),
            "accepted": np.arange(gamma + 1),
            "probability": probability,
            "route": route,
            "error": error,
        }
    )


def _normal(row: Array) -> Array:
    # Dividing by the number of rows leaves sums at 1 but for rounding, which the check of one long row would refuse in float32.
    return row if probs.is_exact(row) else probs.normalise(row.astype(np.float64))
