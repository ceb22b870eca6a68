"""Single tokens by running `TokenVerifier.verify`.

Setting up a pair of rows costs O(V) once; each draw then costs the same for every vocabulary.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from theory import parameters, probs, sources
from theory.monte_carlo.estimate import Estimate, binomial, progress
from theory.probs import Array, RowsLike
from theory.sources import Brought
from theory.verifiers import TokenVerifier, Verified, resolve

BATCH = 1 << 19
"""Draws verified at a time: memory stays at a few arrays of this length."""

LONG = 1 << 24
"""Draws from which on a run shows its progress."""


def acceptance_rate(verifier: TokenVerifier | str, p: Brought, q: RowsLike | None, n: int, rng: np.random.Generator) -> Estimate:
    """Estimate α, the share of accepted drafts.

    Fractions are taken to float64.

    Parameters
    ----------
    verifier : TokenVerifier or str
        The rule or its name; its `verify` is run.
    p : array_like, shape (..., V), or a Trace, the path of one, or a list of these
        Rows of the target; a trace has the draft's rows as well.
    q : array_like, shape (..., V), or None
        Rows of the draft; they broadcast. None beside a trace.
    n : int
        Draws for each pair of rows.
    rng : numpy.random.Generator
        The source of randomness.

    Returns
    -------
    Estimate
        Probabilities, shape (...); the error is binomial.

    Raises
    ------
    ValueError
        Where ``p`` or ``q`` are not rows, or ``n`` is not a positive whole number.

    Examples
    --------
    >>> from theory.verifiers import Strict
    >>> estimate = acceptance_rate(Strict(), [0.4, 0.6], [0.7, 0.3], 100_000, np.random.default_rng(0))
    >>> bool(abs(estimate.value - 0.7) < 6 * estimate.stderr)
    True
    """
    return _per_pair(verifier, p, q, n, rng, _accepted)


def induced(verifier: TokenVerifier | str, p: Brought, q: RowsLike | None, n: int, rng: np.random.Generator) -> Estimate:
    """Estimate the induced law π, the shares of the emitted tokens.

    Fractions are taken to float64.

    Parameters
    ----------
    verifier, p, q, n, rng
        As for `acceptance_rate`.

    Returns
    -------
    Estimate
        Rows of probabilities, shape (..., V); the error of each entry is binomial.

    Examples
    --------
    >>> from theory.verifiers import GreedyMatch
    >>> induced(GreedyMatch(), [0.4, 0.6], [0.7, 0.3], 1000, np.random.default_rng(0))
    Estimate(value=array([0., 1.]), stderr=array([0., 0.]), n=1000)
    """
    return _per_pair(verifier, p, q, n, rng, _shares)


def total_variation(verifier: TokenVerifier | str, p: Brought, q: RowsLike | None, n: int, rng: np.random.Generator) -> Estimate:
    """Estimate TV(π, p) without the upward bias of plugging in observed shares.

    Fractions are taken to float64.

    TV is the largest π(S) - p(S) over sets of tokens S. Each half of the draws chooses the set S in which its shares exceed
    p; the other half estimates π(S) - p(S) for it. Given S that estimate is unbiased, and S is at best optimal, so the mean of
    the two never exceeds TV in expectation, and approaches it as n grows.

    Parameters
    ----------
    verifier, p, q, n, rng
        As for `acceptance_rate`; n at least 2.

    Returns
    -------
    Estimate
        Shape (...); may fall below 0 by its error where TV is 0. The error adds those of the halves as if they were fully
        correlated, and so is on the safe side.

    Examples
    --------
    >>> from theory.verifiers import CoS
    >>> estimate = total_variation(CoS(0.5), [0.5, 0.5], [0.25, 0.75], 100_000, np.random.default_rng(0))
    >>> bool(abs(estimate.value - 0.125) < 6 * estimate.stderr)
    True
    """
    parameters.check_count("n", n, 2)
    return _per_pair(verifier, p, q, n, rng, _cross_fitted_tv)


# --- one pair of rows -----------------------------------------------------------------------------------------------


def _batches(verifier: TokenVerifier, p: Array, q: Array, n: int, rng: np.random.Generator, advance: Any) -> Iterator[Verified]:
    draft = probs.InverseCDF(q)
    for start in range(0, n, BATCH):
        drafted = draft.draw(rng, min(BATCH, n - start))
        yield verifier.verify(p, q, drafted, rng)
        advance(drafted.size)


def _accepted(verifier: TokenVerifier, p: Array, q: Array, n: int, rng: np.random.Generator, advance: Any) -> tuple[Any, Any]:
    count = sum(int(batch.accepted.sum()) for batch in _batches(verifier, p, q, n, rng, advance))
    return binomial(np.float64(count), n)


def _counts(verifier: TokenVerifier, p: Array, q: Array, n: int, rng: np.random.Generator, advance: Any) -> Array:
    counts = np.zeros(p.shape[-1], dtype=np.int64)
    for batch in _batches(verifier, p, q, n, rng, advance):
        counts += np.bincount(batch.token, minlength=counts.size)
    return counts


def _shares(verifier: TokenVerifier, p: Array, q: Array, n: int, rng: np.random.Generator, advance: Any) -> tuple[Any, Any]:
    return binomial(_counts(verifier, p, q, n, rng, advance), n)


def _cross_fitted_tv(
    verifier: TokenVerifier, p: Array, q: Array, n: int, rng: np.random.Generator, advance: Any
) -> tuple[Any, Any]:
    sizes = (n // 2, n - n // 2)
    halves = [_counts(verifier, p, q, size, rng, advance) / size for size in sizes]
    values, errors = [], []
    for chooser, judge, size in ((0, 1, sizes[1]), (1, 0, sizes[0])):
        chosen = halves[chooser] > p
        share = halves[judge][chosen].sum()
        values.append(share - p[chosen].sum(dtype=np.float64))
        errors.append(binomial(share * size, size)[1])
    return np.mean(values), np.mean(errors)


# --- many pairs of rows ---------------------------------------------------------------------------------------------


def _per_pair(
    verifier: TokenVerifier | str, p: Brought, q: RowsLike | None, n: int, rng: np.random.Generator, estimate: Any
) -> Estimate:
    """Run ``estimate`` on each pair of rows and stack its results."""
    parameters.check_count("n", n)
    rule = resolve(verifier)
    p, q = (probs.as_float(rows) for rows in sources.arrays(p, q))
    shape = np.broadcast_shapes(p.shape, q.shape)
    p, q = np.broadcast_to(p, shape), np.broadcast_to(q, shape)
    parameters.check_generator("rng", rng)
    pairs = list(np.ndindex(shape[:-1]))
    if not pairs:
        raise ValueError(f"p and q have shapes {p.shape} and {q.shape}: there is no pair of rows to draw from")
    with progress(hidden=n * len(pairs) < LONG) as bar:
        task = bar.add_task(f"{rule}: {n:,} draws for each of {len(pairs):,} pairs", total=n * len(pairs))
        results = [estimate(rule, p[pair], q[pair], n, rng, lambda done: bar.advance(task, done)) for pair in pairs]
    value, stderr = (np.array(column).reshape(shape[:-1] + np.shape(column[0]))[()] for column in zip(*results, strict=True))
    return Estimate(value, stderr, n)
