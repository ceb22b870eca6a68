"""Block rules on rows taken as i.i.d. positions: accepted lengths, block efficiency and predicted speed-up, as tables."""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np

from theory import exact, models, parameters, probs, sources
from theory.blocks import BlockVerification, BlockVerifier, Draft, GreedyBlock, HierarchicalVerification, Tokenwise, resolve_all
from theory.blocks.speed import speedup
from theory.blocks.tokenwise import groups
from theory.decode import enumeration, iid
from theory.probs import Array, RowsLike
from theory.sources import Brought, RowSource
from theory.verifiers import TokenVerifier
from theory.verifiers.checks import is_believed

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "efficiencies",
    "length_laws",
]


CELLS = 500
"""Of the grid that brackets block verification; the bracket is then about 1e-6 wide."""

WALKED = 2000
"""Drafted paths that are walked for somebody's own block rule; a longer walk in Python would outlast the drawing."""

PATHS = 20_000
"""Drafted paths by which the lengths of somebody's own block rule are estimated where they cannot be enumerated."""

SEED = 0
"""Of these paths."""

RISK = 1e-9
"""Probability with which such an estimate may be off by more than its error (Hoeffding)."""

BlockRules: TypeAlias = BlockVerifier | TokenVerifier | str | Iterable[BlockVerifier | TokenVerifier | str]
"""What functions of many block rules take."""


def length_laws(rules: BlockRules, p: Brought, q: RowsLike | None = None, gamma: int = 5) -> "pd.DataFrame":
    """Give the law of the accepted length of each rule, where each position has the rows of a random one of those given.

    Fractions are taken to float64.

    Parameters
    ----------
    rules : BlockVerifier, TokenVerifier or str, or iterable of them
        Block rules, token rules, which run token by token, or names (see `theory.blocks.parse`).
    p : array_like or rows of a Trace, shape (V,) or (positions, V); or a Trace, the path of one, or a list of these
        Rows of the target; a trace has the draft's rows as well.
    q : array_like or rows of a Trace, shape (V,) or (positions, V), optional
        Rows of the draft; not given beside a trace.
    gamma : int
        Drafted tokens.

    Returns
    -------
    pandas.DataFrame
        One row a rule and length: ``rule``, ``accepted`` (0..gamma), ``probability``, ``route`` (``closed form``,
        ``merged weights`` and ``enumeration`` are exact, ``bounds`` are rigorous ones whose middle is given, ``Monte Carlo`` is
        an estimate), ``error``, a bound on how far P(accepted length >= i) may be off (of an estimate, but for a probability of
        1e-9), and ``gamma``.

    Raises
    ------
    ValueError
        Where ``p`` or ``q`` are not rows, and for a rule that is none.

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

    parameters.check_count("gamma", gamma)
    blocks = resolve_all(rules)
    target, draft = _rows(p, q)
    parts = []
    for rule in blocks:
        law = _law(rule, target, draft, gamma)
        columns = {"rule": str(rule), "accepted": np.arange(gamma + 1)}
        columns["probability"] = law.survival - np.append(law.survival[1:], 0)
        parts.append(pd.DataFrame(columns | {"route": law.route, "error": law.error, "gamma": gamma}))
    return pd.concat(parts, ignore_index=True)


def efficiencies(
    rules: BlockRules, p: Brought, q: RowsLike | None = None, gammas: Iterable[int] = range(1, 11), cost: float = 0.0
) -> "pd.DataFrame":
    """Give block efficiency and predicted speed-up of each rule at each gamma, positions i.i.d. as in `length_laws`.

    Fractions are taken to float64.

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
    blocks = resolve_all(rules)
    sizes = parameters.listed("gammas", gammas)
    for gamma in sizes:
        parameters.check_count("gammas", gamma)
    target, draft = _rows(p, q)
    table = []
    for rule in blocks:
        # P(τ >= i) does not depend on gamma for the package's rules, so that one law serves all shorter blocks.
        one = _law(rule, target, draft, max(sizes)) if is_believed(rule) else None
        for gamma in sizes:
            law = _law(rule, target, draft, gamma) if one is None else one
            accepted = float(law.survival[1 : gamma + 1].sum())
            table.append(
                {
                    "rule": str(rule),
                    "gamma": gamma,
                    "accepted_length": accepted,
                    "block_efficiency": accepted + law.extra,
                    "speedup": speedup(accepted + law.extra, gamma, cost),
                    "route": law.route,
                    "error": law.error * len(law.survival) * gamma,
                }
            )
    return pd.DataFrame(table)


class _Law(NamedTuple):
    """P(τ >= i) for i = 0..gamma, the tokens emitted beyond those kept, how this was found, and how far each may be off."""

    survival: Array
    extra: float
    route: str
    error: float


def _rows(p: Brought, q: RowsLike | RowSource | None) -> tuple[Array, Array]:
    return sources.arrays(*sources.rows(p, q))


def _law(rule: BlockVerifier, p: Array, q: Array, gamma: int) -> _Law:
    powers = np.arange(gamma + 1)
    if isinstance(rule, Tokenwise):
        rate = float(np.mean(np.asarray(exact.acceptance_rate(rule.verifier, p, q), dtype=float)))
        return _Law(min(rate, 1) ** powers, 1, "closed form", 0.0)
    if isinstance(rule, GreedyBlock):
        rate = float(np.mean(np.take_along_axis(q, p.argmax(axis=-1)[:, None], axis=-1).astype(float)))
        return _Law(rate**powers, 1, "closed form", 0.0)
    if isinstance(rule, BlockVerification | HierarchicalVerification):
        flat_p, flat_q = (_normal((rows / len(p)).ravel()) for rows in (p, q))
        try:
            pmf = iid.length_pmf(rule, flat_p, flat_q, gamma)
            return _Law(pmf[::-1].cumsum()[::-1].astype(float), 1, "merged weights", 0.0)
        except iid.TooManyWeightsError:  # too many distinct weights
            low, high = iid.survival_bounds(flat_p, flat_q, gamma, CELLS)
            return _Law((low + high) / 2, 1, "bounds", float((high - low).max()))
    return _by_any_route(rule, p, q, gamma)


def _by_any_route(rule: BlockVerifier, p: Array, q: Array, gamma: int) -> _Law:
    """Give the law of somebody's own rule: by walking all drafted paths over one small pair of rows, else by drawing paths."""
    if len(p) == 1 and p.shape[-1] ** gamma <= WALKED:
        pair = models.iid(p[0], q[0])
        pmf = enumeration.length_pmf(rule, pair, gamma).astype(float)
        accepted = float(enumeration.accepted_length(rule, pair, gamma))
        emitted = float(enumeration.block_efficiency(rule, pair, gamma))
        return _Law(pmf[::-1].cumsum()[::-1], emitted - accepted, "enumeration", 0.0)
    rng = np.random.default_rng(SEED)
    at = rng.integers(len(p), size=(PATHS, gamma + 1))
    tokens = np.empty((PATHS, gamma), dtype=np.intp)
    for context, here in groups(at[:, :gamma].ravel()):
        tokens.reshape(-1)[here] = probs.InverseCDF(q[context]).draw(rng, here.size)
    kept, token = rule.checked_verify(Draft(p, q, tokens, at), rng)
    survival = np.bincount(kept, minlength=gamma + 1)[::-1].cumsum()[::-1] / PATHS
    return _Law(survival, float((token >= 0).mean()), "Monte Carlo", math.sqrt(math.log(2 / RISK) / (2 * PATHS)))


def _normal(row: Array) -> Array:
    # Dividing by the number of rows leaves sums at 1 but for rounding, which the check of one long row would refuse in float32.
    return row if probs.is_exact(row) else probs.normalise(row.astype(np.float64))
