"""Exact quantities, by formula and by enumeration. `theory.monte_carlo` estimates the same names by running the rule.

Single tokens on rows are computed here; whole blocks and decodes of small models come from `theory.decode`.

Large inputs stream in chunks of rows, so that temporaries stay in the processor's cache and memory stays flat.
"""

import contextlib
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from theory import divergences, parameters, probs, sources
from theory.decode.enumeration import induced_sequence, target_sequence
from theory.decode.iid import accepted_length_bounds
from theory.decode.iid import length_pmf as iid_length_pmf
from theory.decode.lengths import accepted_length, block_efficiency, length_pmf
from theory.decode.markov import LongRun, long_run
from theory.probs import Array, RowsLike
from theory.sources import Brought
from theory.verifiers import Law, TokenVerifier, resolve

__all__ = [
    "QUANTITIES",
    "LongRun",
    "acceptance_rate",
    "accepted_length",
    "accepted_length_bounds",
    "block_efficiency",
    "iid_length_pmf",
    "induced",
    "induced_sequence",
    "length_pmf",
    "long_run",
    "summarise",
    "target_sequence",
    "total_variation",
]

Quantity = Callable[[TokenVerifier, Array, Array, Law], Any]


def _baseline_tv(verifier: TokenVerifier, p: Array, q: Array, law: Law) -> Any:
    baseline = verifier.baseline(p)
    if baseline is None:
        return np.full(law.induced.shape[:-1], np.nan)
    return divergences.total_variation(law.induced, baseline)


def _pareto_gap(verifier: TokenVerifier, p: Array, q: Array, law: Law) -> Any:
    bias = divergences.total_variation(law.induced, p)
    return bias + law.rejection_rate - divergences.total_variation(p, q)


QUANTITIES: dict[str, Quantity] = {
    "acceptance_rate": lambda _verifier, _p, _q, law: law.acceptance_rate,
    "rejection_rate": lambda _verifier, _p, _q, law: law.rejection_rate,
    "total_variation": lambda _verifier, p, _q, law: divergences.total_variation(law.induced, p),
    "total_variation_to_baseline": _baseline_tv,
    "kl_divergence": lambda _verifier, p, _q, law: divergences.kl_divergence(law.induced, p),
    "max_overshoot": lambda _verifier, p, _q, law: divergences.max_overshoot(law.induced, p),
    "overshoot_mass": lambda _verifier, p, _q, law: divergences.overshoot_mass(law.induced, p),
    "pareto_gap": _pareto_gap,
}
"""Name to what it is, for each pair of rows.

=========================== ==========================================================================================
acceptance_rate             α = Σ q a, probability
rejection_rate              Σ q (1 - a), probability
total_variation             TV(π, p), probability
total_variation_to_baseline TV(π, true baseline), probability; NaN where the rule has none but p
kl_divergence               KL(π || p), nats
max_overshoot               max π/p
overshoot_mass              π-mass on tokens with π > 2 p, probability
pareto_gap                  TV(π, p) + Σ q (1 - a) - TV(p, q) >= 0, how far from the best trade-off (Yin et al., Thm 5)
=========================== ==========================================================================================
"""


def summarise(
    verifier: TokenVerifier | str,
    p: Brought,
    q: RowsLike | None = None,
    quantities: Iterable[str] = ("acceptance_rate", "total_variation", "kl_divergence"),
    start: int = 0,
) -> dict[str, Any]:
    """Compute several quantities for each pair of rows in one stream over them.

    Fractions are kept.

    Parameters
    ----------
    verifier : TokenVerifier or str
        The rule or its name.
    p : array_like, shape (..., V), or a Trace, the path of one, or a list of these
        Rows of the target; a trace has the draft's rows as well, and is read a few rows at a time.
    q : array_like, shape (..., V), optional
        Rows of the draft; they broadcast. Not given beside a trace.
    quantities : iterable of str
        Keys of `QUANTITIES`.
    start : int
        Where the rows begin in what the caller was given, for the place in error messages.

    Returns
    -------
    dict of str to float, Fraction or ndarray, shape (...)
        One entry a quantity, one value a pair of rows.

    Raises
    ------
    ValueError
        Where ``p`` or ``q`` are not rows, or a quantity does not exist.

    Examples
    --------
    >>> from theory.verifiers import Lenience
    >>> summarise(Lenience(0.5), [0.5, 0.5], [0.25, 0.75], ["acceptance_rate", "pareto_gap"])
    {'acceptance_rate': np.float64(1.0), 'pareto_gap': np.float64(0.0)}
    """
    rule = resolve(verifier)
    names = parameters.listed("quantities", quantities)
    for name in names:
        parameters.check_choice("quantities", name, QUANTITIES)

    def chunk(a: RowsLike, b: RowsLike, begin: int) -> dict[str, Any]:
        rows = probs.check_pair(a, b, begin)
        law = rule.checked_law(*rows, begin)
        law = law._replace(induced=probs.trust(law.induced))
        return {name: QUANTITIES[name](rule, *rows, law) for name in names}

    def stream(a: sources.RowSource, b: sources.RowSource) -> dict[str, Any]:
        parts = [chunk(a[part], b[part], start + part.start) for part in probs.chunks(len(a), a.shape[-1])]
        return {name: np.concatenate([part[name] for part in parts]) for name in names}

    if q is None or sources.is_trace(p):
        return stream(*sources.rows(p, q))
    if isinstance(p, np.ndarray) and isinstance(q, np.ndarray) and max(p.ndim, q.ndim) == 2 and p.shape[-1:] == q.shape[-1:]:
        with contextlib.suppress(ValueError):  # shapes that do not broadcast are refused below, by name
            p, q = np.broadcast_arrays(p, q)
        if p.shape == q.shape and p.size > probs.CHUNK:
            return stream(p, q)
    return chunk(p, q, start)  # type: ignore[arg-type]  # no trace is left


def acceptance_rate(verifier: TokenVerifier | str, p: Brought, q: RowsLike | None = None) -> Any:
    """Give α = Σ q(x) a(x) for each pair of rows, a probability.

    Fractions are kept.

    Examples
    --------
    >>> from theory.verifiers import Strict
    >>> acceptance_rate(Strict(), [0.4, 0.6], [0.7, 0.3])
    np.float64(0.7)
    """
    return summarise(verifier, p, q, ["acceptance_rate"])["acceptance_rate"]


def induced(verifier: TokenVerifier | str, p: Brought, q: RowsLike | None = None) -> Array:
    """Give the induced law π for each pair of rows, shape (..., V).

    Fractions are kept.

    Examples
    --------
    >>> from theory.verifiers import Strict
    >>> induced(Strict(), [0.4, 0.6], [0.7, 0.3])
    array([0.4, 0.6])
    """
    return resolve(verifier).induced(*sources.arrays(p, q))


def total_variation(verifier: TokenVerifier | str, p: Brought, q: RowsLike | None = None) -> Any:
    """Give TV(π, p) between the induced law and the target for each pair of rows, a probability.

    Fractions are kept.

    Examples
    --------
    >>> from theory.verifiers import CoS
    >>> total_variation(CoS(0.5), [0.5, 0.5], [0.25, 0.75])
    np.float64(0.125)
    """
    return summarise(verifier, p, q, ["total_variation"])["total_variation"]
