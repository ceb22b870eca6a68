"""The one contract of single-token verification: a rule is its acceptance probability and its replacement law.

To add a rule, write a frozen dataclass with `TokenVerifier.acceptance` and `TokenVerifier.residual`; everything else follows.
The rules of this package also write `TokenVerifier.procedure`, the published algorithm coin by coin, from which Monte Carlo
samples: a second route to each number, not derived from the first.
"""

import abc
import dataclasses
from typing import Any, ClassVar, NamedTuple

import numpy as np

from theory import parameters, probs, shortnames
from theory.parameters import Number
from theory.probs import Array, RowsLike


class Verified(NamedTuple):
    """What verification did with drafted tokens."""

    accepted: Array
    """Whether each drafted token was kept."""
    token: Array
    """The token emitted: the drafted one, or its replacement."""


class Law(NamedTuple):
    """What one drafted and verified token comes to, exactly; one entry a pair of rows."""

    acceptance_rate: Any
    """Σ q a, the probability that the drafted token is kept; shape (...)."""
    rejection_rate: Any
    """Σ q (1 - a), summed token by token as q - q a and not as 1 - Σ q a; shape (...)."""
    induced: Array
    """π(x) = q(x) a(x) + Σ q (1 - a) · r(x), the law of the emitted token; shape (..., V)."""


class TokenVerifier(abc.ABC):
    """A single-draft verification rule. Subclasses are frozen dataclasses whose fields are the hyper-parameters.

    A draft x ~ q is accepted with probability ``acceptance(p, q)[x]``; otherwise it is replaced by a draw from
    ``residual(p, q)``. The emitted token then has the law π = q a + (1 - Σ q a) r, which `induced` gives.
    """

    name: ClassVar[str] = ""
    """The short name, for the command line."""
    family: ClassVar[str] = "user"
    """``strict``, ``collaborative``, ``optimal``, ``cascade``, ``truncation``, ``truncation sampling`` or ``matching``."""
    formula: ClassVar[str] = ""
    """Acceptance and replacement in a line."""
    claim: ClassVar[str] = ""
    """For which parameters the rule is lossless, or what it reproduces instead."""
    source: ClassVar[str] = ""
    """Paper and equation."""

    # --- what a rule writes ---------------------------------------------------------------------------------------

    @abc.abstractmethod
    def acceptance(self, p: RowsLike, q: RowsLike) -> Array:
        """Give a(x), the probability that token x, once drafted, is accepted.

        Parameters
        ----------
        p, q : array_like, shape (..., V)
            Rows of the target and of the draft; they broadcast.

        Returns
        -------
        ndarray, shape (..., V)
            Probabilities; 1 where q(x) = 0, by convention.
        """

    @abc.abstractmethod
    def residual(self, p: RowsLike, q: RowsLike) -> Array:
        """Give r(x), the law of the replacement given a rejection, averaged over the rejected tokens.

        Parameters
        ----------
        p, q : array_like, shape (..., V)
            Rows of the target and of the draft; they broadcast.

        Returns
        -------
        ndarray, shape (..., V)
            Rows of probabilities; p where nothing is ever rejected, by convention.
        """

    def residual_given(self, p: RowsLike, q: RowsLike, drafted: RowsLike) -> Array:
        """Give r(· | x), the law of the replacement given which token x was rejected.

        Parameters
        ----------
        p, q : array_like, shape (..., V)
            Rows of the target and of the draft; they broadcast to a leading shape L.
        drafted : array_like of int, shape (..., *L)
            Rejected tokens.

        Returns
        -------
        ndarray, shape (..., *L, V)
            `residual` for each drafted token; a rule whose replacement depends on it says so and overrides this.
        """
        p, q = probs.check_pair(p, q)
        tokens = check_drafted(drafted, p, q)
        return np.broadcast_to(self.residual(p, q), (*tokens.shape, p.shape[-1]))

    def procedure(self, p: Array, q: Array, drafted: Array, rng: np.random.Generator) -> Verified:
        """Run the rule coin by coin on drafts from one pair of checked rows; `verify` is the public form.

        This default flips a coin with the rule's acceptance and replaces from its residual. The rules of this
        package override it with their published algorithm.
        """
        accepted = rng.random(drafted.shape) < probs.as_float(self.acceptance(p, q))[drafted]
        if not self.residual_depends_on_draft:
            return replace(drafted, accepted, self.residual(p, q), p, rng)
        token = drafted.copy()
        for rejected in np.unique(drafted[~accepted]):
            places = (drafted == rejected) & ~accepted
            law = self.residual_given(p, q, rejected)
            token[places] = probs.InverseCDF(law).draw(rng, int(places.sum()))
        return Verified(accepted, token)

    @property
    def residual_depends_on_draft(self) -> bool:
        """Whether `residual_given` depends on the rejected token."""
        return False

    @property
    def lossless(self) -> bool:
        """Whether these parameters make `induced` equal to p for every p and q."""
        return False

    @property
    def ceiling(self) -> Number | None:
        """The factor c of the ceiling that the rule puts on its law, π <= c p for every pair; None where it puts none."""
        return None

    def baseline(self, p: RowsLike) -> Array | None:
        """Give the true baseline: what the rule is meant to sample where that is not p, else None.

        For a truncation-based rule this is the truncated target, for greedy matching the target's most probable token.
        """
        probs.check_rows(p)
        return None

    # --- what a family may write, where a formula gives it in fewer passes over the rows ---------------------------

    def accepted(self, p: Array, q: Array) -> Array:
        """Give q(x) a(x) for checked rows, the law of the draft and its being accepted; a new array."""
        return np.asarray(q * self.acceptance(p, q))

    def replaced(self, p: Array, q: Array, accepted: Array, rejected: Array) -> Array:
        """Give R r(x) for checked rows, what `accepted` gave, and the rejected masses R of shape (..., 1); a new array."""
        return np.asarray(rejected * self.residual(p, q))

    # --- what follows ---------------------------------------------------------------------------------------------

    def acceptance_rate(self, p: RowsLike, q: RowsLike) -> Any:
        """Give α = Σ q(x) a(x), the probability that a drafted token is accepted.

        Parameters
        ----------
        p, q : array_like, shape (..., V)
            Rows of the target and of the draft; they broadcast.

        Returns
        -------
        float, Fraction or ndarray, shape (...)
            Probabilities.
        """
        p, q = probs.check_pair(p, q)
        return probs.total(self.accepted(p, q))

    def induced(self, p: RowsLike, q: RowsLike) -> Array:
        """Give π(x) = q(x) a(x) + (1 - Σ q a) r(x), the law of the emitted token.

        Parameters
        ----------
        p, q : array_like, shape (..., V)
            Rows of the target and of the draft; they broadcast.

        Returns
        -------
        ndarray, shape (..., V)
            Rows of probabilities.
        """
        return self.law(p, q).induced

    def law(self, p: RowsLike, q: RowsLike) -> Law:
        """Give the rates and the induced law together, for the cost of the law alone."""
        p, q = probs.check_pair(p, q)
        accepted = self.accepted(p, q)
        rejected = np.asarray(probs.total(q - accepted, keepdims=True))
        induced = self.replaced(p, q, accepted, probs.in_dtype(rejected, q))
        induced += accepted
        return Law(probs.total(accepted), rejected[..., 0][()], induced)

    def verify(self, p: RowsLike, q: RowsLike, drafted: RowsLike, rng: np.random.Generator) -> Verified:
        """Verify drafted tokens, coin by coin.

        Parameters
        ----------
        p, q : array_like, shape (..., V)
            Rows of the target and of the draft; they broadcast to a leading shape L.
        drafted : array_like of int, shape (..., *L)
            Tokens drawn from ``q``; any number of draws for each pair of rows.
        rng : numpy.random.Generator
            The source of randomness.

        Returns
        -------
        Verified
            ``accepted`` (bool) and ``token`` (int), both of the shape of ``drafted``.

        Raises
        ------
        ValueError
            Where ``p`` or ``q`` are not rows, or ``drafted`` does not fit them.
        """
        p, q = (probs.as_float(rows) for rows in probs.check_pair(p, q))
        tokens = check_drafted(drafted, p, q)
        parameters.check_generator("rng", rng)
        shape = np.broadcast_shapes(p.shape, q.shape)
        if len(shape) == 1:
            return self.procedure(p, q, tokens, rng)
        rows_p, rows_q = (np.broadcast_to(rows, shape) for rows in (p, q))
        accepted, emitted = np.empty(tokens.shape, dtype=bool), np.empty(tokens.shape, dtype=np.intp)
        for where in np.ndindex(shape[:-1]):
            place = (..., *where)
            accepted[place], emitted[place] = self.procedure(rows_p[where], rows_q[where], tokens[place], rng)
        return Verified(accepted, emitted)

    def __str__(self) -> str:
        return shortnames.write(self, self.name) if self.name and dataclasses.is_dataclass(self) else repr(self)


def check_rule(verifier: TokenVerifier, p: Array, q: Array) -> None:
    """Raise where a rule, which may be somebody's own, gives no probabilities or no law on these checked rows."""
    acceptance = np.asarray(verifier.acceptance(p, q))
    outside = ~((acceptance >= 0) & (acceptance <= 1 + 1e-4))
    if outside.any():
        raise ValueError(f"{verifier}: acceptance = {acceptance[outside][0]}: must be a probability for every token")
    probs.check_rows(verifier.residual(p, q), f"the residual of {verifier}")


class ExcessResidual(TokenVerifier):
    """A rule that replaces from norm((p - q)+), as strict verification does; write `acceptance` only."""

    def residual(self, p: RowsLike, q: RowsLike) -> Array:
        """Give norm((p - q)+)."""
        p, q = probs.check_pair(p, q)
        return probs.share_out(probs.excess(p, q), p)

    def replaced(self, p: Array, q: Array, accepted: Array, rejected: Array) -> Array:
        """Give R norm((p - q)+)."""
        return probs.share_out(probs.excess(p, q), p, rejected)


class Yielding(ExcessResidual):
    """A rule that takes min(q, Y) of the draft for a Y(x), its yield: a = min(1, Y/q); write `yielded` only."""

    @abc.abstractmethod
    def yielded(self, p: Array, q: Array) -> Array:
        """Give Y(x) for checked rows."""

    def acceptance(self, p: RowsLike, q: RowsLike) -> Array:
        """Give min(1, Y/q)."""
        p, q = probs.check_pair(p, q)
        return probs.acceptance_ratio(self.yielded(p, q), q)

    def accepted(self, p: Array, q: Array) -> Array:
        """Give min(q, Y)."""
        return np.asarray(np.minimum(self.yielded(p, q), q))


def check_drafted(drafted: RowsLike, p: Array, q: Array) -> Array:
    """Check drafted tokens against the rows: whole numbers in 0..V-1, last axes those of the rows."""
    tokens = np.asarray(drafted)
    size, lead = p.shape[-1], np.broadcast_shapes(p.shape, q.shape)[:-1]
    if tokens.dtype.kind not in "iu":
        raise ValueError(f"drafted has dtype {tokens.dtype}: tokens are whole numbers in 0..{size - 1}")
    if lead and tokens.shape[-len(lead) :] != lead:
        raise ValueError(f"drafted has shape {tokens.shape}: its last axes must be those of the rows, {lead}")
    if tokens.size and not 0 <= tokens.min() <= tokens.max() < size:
        where = tuple(int(i) for i in np.argwhere((tokens < 0) | (tokens >= size))[0])
        raise ValueError(f"drafted[{', '.join(map(str, where))}] = {tokens[where]}: tokens are in 0..{size - 1}")
    return tokens.astype(np.intp, copy=False)


def replace(drafted: Array, accepted: Array, weights: Array, otherwise: Array, rng: np.random.Generator) -> Verified:
    """Keep the accepted tokens and draw the others from ``weights``, or from ``otherwise`` if these are all 0."""
    token = drafted.copy()
    rejected = ~np.asarray(accepted)
    if rejected.any():
        law = weights if weights.any() else otherwise
        token[rejected] = probs.InverseCDF(law).draw(rng, int(rejected.sum()))
    return Verified(np.asarray(accepted), token)
