"""Whether what a procedure does, draw by draw, follows the law that its rule states: exact binomial tails, cell by cell.

A cell is something that may become of a drafted token or path. Given how often that was drafted, the count of a cell is binomial,
and its chance is what the law says, but for the rounding of floats: a count is too improbable if it is so for every chance within
that reach. With m cells and the two tails of each, a correct procedure is accused with a probability of at most ``error`` if each
tail is allowed error / 2m (the union bound: cells need not be independent, and none is approximated).
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from theory import probs
from theory.probs import Array
from theory.testing.search import Falsified
from theory.verifiers import TokenVerifier, checks

ROUNDING = 1e-12
"""How far a chance may be from its law where a procedure computes in float64 from rows that were Fractions."""


@dataclass(frozen=True)
class Trial:
    """How a procedure is tried on one case.

    Parameters
    ----------
    draws : int
        Tokens, or paths, to verify.
    error : float
        The probability with which a correct procedure may fail on one case.
    slack : float
        How far the chance of a drafted token and of what becomes of it may be from the law.
    """

    draws: int
    error: float
    slack: float

    def most_improbable(self, counts: Array, drafted: Array, law: Array, chances: Array) -> tuple[tuple[int, ...], float] | None:
        """Find the cell of the least probable count; None unless it is too improbable.

        Parameters
        ----------
        counts : ndarray of int, shape (..., cells)
            What was seen.
        drafted : ndarray of int, shape (...)
            How often it could have been.
        law : ndarray, shape (..., cells)
            The chance of each cell, given what was drafted.
        chances : ndarray, shape (...)
            With which that is drafted: `slack` is that of both together.

        Returns
        -------
        tuple of (tuple of int, float), or None
            The place of the cell, and the probability that its count is so far off, on that side of its law.
        """
        reach = (max(self.slack, ROUNDING) / chances.astype(np.float64))[..., None]
        of = drafted[..., None]
        below = stats.binom.cdf(counts, of, np.clip(law - reach, 0, 1))
        above = stats.binom.sf(counts - 1, of, np.clip(law + reach, 0, 1))
        tails = np.minimum(below, above)
        where = np.unravel_index(tails.argmin(), tails.shape)
        if not tails[where] < self.error / (2 * tails.size):
            return None
        return tuple(int(i) for i in where), float(tails[where])


def stream(*rows: Array) -> np.random.Generator:
    """Give the random numbers of a case: the same for the same rows, so that what fails on them fails again."""
    return np.random.default_rng(np.frombuffer(b"".join(row.tobytes() for row in rows), dtype=np.uint32))


def check_procedure(rule: TokenVerifier, trial: Trial, pair: tuple[Array, Array]) -> None:
    """Raise unless `verify` accepts and replaces as acceptance and residual_given say, on the floats that it is given."""
    p, q = (probs.as_float(rows) for rows in probs.check_pair(*pair))
    rng = stream(p, q)
    drafted = probs.InverseCDF(q).draw(rng, trial.draws)
    drafted.flags.writeable = False
    accepted, token = checks.verified(rule, *rule.verify(p, q, drafted, rng), drafted.shape, p.size)
    checks.unchanged(rule, accepted, token, drafted)
    counts = np.zeros((p.size, p.size + 1), dtype=np.int64)
    np.add.at(counts, (drafted, np.where(accepted, p.size, token)), 1)
    acceptance = checks.acceptance(rule, rule.acceptance(p, q), p, q)[:, None]
    tokens = np.arange(p.size)
    replacement = checks.residual(rule, rule.residual_given(p, q, tokens), p, q, "residual_given", tokens.shape)
    law = np.concatenate([(1 - acceptance) * replacement, acceptance], axis=-1, dtype=np.float64)
    often = q > 0  # never drafted, never counted
    found = trial.most_improbable(counts[often], counts[often].sum(axis=-1), law[often], q[often])
    if found is None:
        return
    (row, column), tail = found
    x = int(np.flatnonzero(often)[row])
    done = "accepted" if column == p.size else f"replaced by {column}"
    seen, expected = counts[x, column], counts[x].sum() * law[x, column]
    raise Falsified(
        f"contradicts itself: its procedure has not the law of acceptance and residual: of {counts[x].sum()} drafted tokens {x} "
        f"it {done} {seen}, where {expected:.1f} are expected; so far off has probability {tail:.1g}"
    )
