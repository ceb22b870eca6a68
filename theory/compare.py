"""Many verifiers on many rows: one tidy table, averaged over positions, with bootstrap intervals."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.progress import track

from theory import exact, parameters, probs, sources
from theory.blocks.speed import block_efficiency
from theory.probs import Array, RowsLike
from theory.sources import Brought, RowSource
from theory.verifiers import TokenVerifier, resolve_all

if TYPE_CHECKING:
    import pandas as pd

LONG = 1 << 26
"""Entries of p times verifiers from which on the comparison shows its progress."""

MEANS = (
    "acceptance_rate",
    "total_variation",
    "total_variation_to_baseline",
    "kl_divergence",
    "max_overshoot",
    "overshoot_mass",
    "pareto_gap",
    "block_efficiency_per_position",
)
"""Columns that are means over positions; see `compare`."""


def compare(
    verifiers: TokenVerifier | str | Iterable[TokenVerifier | str],
    p: Brought,
    q: RowsLike | RowSource | None = None,
    gamma: int = 10,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> "pd.DataFrame":
    """Compare verifiers on rows: what each really samples, and what that buys.

    Fractions are taken to float64.

    Parameters
    ----------
    verifiers : TokenVerifier or str, or iterable of them
        The rules or their names (see `theory.parse`), one row of the table each, in this order.
    p : array_like or rows of a Trace, shape (positions, V) or (V,); or a Trace, the path of one, or a list of these
        Rows of the target; a trace has the draft's rows as well.
    q : array_like or rows of a Trace, shape (positions, V) or (V,), optional
        Rows of the draft; not given beside a trace.
    gamma : int
        Drafted tokens in a block, for the predicted block efficiencies.
    confidence : float
        Of the bootstrap intervals, in (0, 1).
    resamples : int
        Bootstrap samples.
    seed : int
        Of the bootstrap. The same resampled positions serve all verifiers.

    Returns
    -------
    pandas.DataFrame
        One row a verifier. Columns ``verifier`` (short name), ``family``, then the means over positions:

        ============================= ===============================================================================
        acceptance_rate               α, probability that a drafted token is kept (of the *first* draft, if redrafting)
        total_variation               TV(π, p)
        total_variation_to_baseline   TV(π, true baseline), NaN where the rule has none but p
        kl_divergence                 KL(π || p), nats
        max_overshoot                 max π/p
        overshoot_mass                π-mass on tokens with π > 2 p
        pareto_gap                    TV(π, p) + R - TV(p, q), 0 on the best trade-off line
        block_efficiency_mean_rate    tokens per target call if acceptance were i.i.d. at the *mean* rate
        block_efficiency_per_position tokens per target call if each position's *own* rate held through its whole block,
                                      averaged over positions
        ============================= ===============================================================================

        and for each of them ``..._low`` and ``..._high``, the bootstrap interval.

    Raises
    ------
    ValueError
        Where ``p`` or ``q`` are not rows or do not have one length, or an option is out of range.

    Notes
    -----
    The two block efficiencies bracket what a decoder does when positions of one text differ: the first lets acceptance vary
    freely within a block, the second not at all; by convexity the second is never smaller. The bootstrap resamples positions
    as if they were independent (Poisson weights, so that rows can stream); positions of one text are not quite, so the
    intervals are somewhat narrow. Memory stays below the input and 64 MiB, however many positions there are.

    Examples
    --------
    >>> from theory.verifiers import Lenience
    >>> table = compare(["strict", Lenience(0.5)], [0.4, 0.3, 0.2, 0.1], [0.2, 0.25, 0.25, 0.3], gamma=4)
    >>> table[["verifier", "acceptance_rate", "total_variation"]].round(4)
           verifier  acceptance_rate  total_variation
    0        strict             0.75             0.00
    1  lenience:0.5             0.90             0.15
    """
    import pandas as pd

    rules = resolve_all(verifiers)
    parameters.check_count("gamma", gamma)
    parameters.check_count("resamples", resamples, 2)
    parameters.check("confidence", confidence, "(0, 1)")
    parameters.check_count("seed", seed, 0)
    target, draft = sources.rows(p, q)
    means = _Bootstrap((len(rules), len(MEANS)), resamples, seed)
    width = int(target.shape[-1])
    # A position's own rows count, and so do its quantities under all rules, held twice.
    parts = list(probs.chunks(len(target), max(width, 2 * len(rules) * len(MEANS))))
    quiet = len(target) * width * len(rules) < LONG
    for part in track(parts, "comparing", console=Console(stderr=True), transient=True, disable=quiet):
        rows = probs.check_pair(target[part], draft[part], part.start)
        means.add(np.stack([_quantities(rule, *rows, gamma, part.start) for rule in rules], axis=1))
    return pd.DataFrame(
        [
            {"verifier": str(rule), "family": rule.family, **_columns(*means.of(i), gamma, confidence)}
            for i, rule in enumerate(rules)
        ]
    )


def _quantities(rule: TokenVerifier, p: Array, q: Array, gamma: int, start: int) -> Array:
    """Give the columns of `MEANS` for each position, shape (positions, columns)."""
    values = exact.summarise(rule, p, q, MEANS[:-1], start)
    values[MEANS[-1]] = block_efficiency(_rate(values["acceptance_rate"]), gamma)
    return np.stack([np.asarray(values[name], dtype=np.float64) for name in MEANS], axis=-1)


def _rate(values: Any) -> Array:
    """Give acceptance rates as what `block_efficiency` takes: a row within its tolerance may be accepted at 1.00005."""
    return np.minimum(np.asarray(values, dtype=np.float64), 1)


def _columns(mean: Array, resampled: Array, gamma: int, confidence: float) -> dict[str, float]:
    """Give the columns of one verifier from its means and their resampled values."""
    rate = MEANS.index("acceptance_rate")
    pairs = {name: (mean[i], resampled[:, i]) for i, name in enumerate(MEANS)}
    pairs["block_efficiency_mean_rate"] = (
        block_efficiency(_rate(mean[rate]), gamma),
        block_efficiency(_rate(resampled[:, rate]), gamma),
    )
    order = (*MEANS[:-1], "block_efficiency_mean_rate", MEANS[-1])
    tails = [(1 - confidence) / 2, (1 + confidence) / 2]
    columns: dict[str, float] = {}
    for name in order:
        value, values = pairs[name]
        low, high = np.quantile(values, tails, method="lower")  # no interpolation: it would make inf - inf
        columns |= {name: float(value), f"{name}_low": float(low), f"{name}_high": float(high)}
    return columns


class _Bootstrap:
    """Means over a stream of positions, and the same means under Poisson(1) resampling of the positions."""

    BLOCK = 512  # positions at a time, so that the weights of a thousand resamples take 4 MB

    def __init__(self, shape: tuple[int, ...], resamples: int, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        self._sums = np.zeros((resamples + 1, *shape))
        self._infinite = np.zeros((resamples + 1, *shape), dtype=bool)
        self._weights = np.zeros(resamples + 1)

    def add(self, values: Array) -> None:
        """Add positions, shape (positions, *shape). The first 'resample' has weight 1 everywhere: the plain mean."""
        for start in range(0, len(values), self.BLOCK):
            block = values[start : start + self.BLOCK]
            weights = self._rng.poisson(1, (len(self._weights), len(block))).astype(np.float64)
            weights[0] = 1
            infinite = np.isinf(block)
            self._sums += np.tensordot(weights, np.where(infinite, 0, block), 1)
            self._infinite |= np.tensordot(weights, infinite.astype(np.float64), 1) > 0
            self._weights += weights.sum(axis=1)

    def of(self, index: int) -> tuple[Array, Array]:
        """Give the means of one verifier, shape (columns,), and their resampled values, (resamples, columns)."""
        sums = np.where(self._infinite[:, index], np.inf, self._sums[:, index])
        some = self._weights > 0  # of one position, a resample may hold none
        means = sums[some] / self._weights[some, None]
        return means[0], means[1:] if len(means) > 1 else means
