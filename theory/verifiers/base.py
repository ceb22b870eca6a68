"""The one contract of single-token verification: a rule is its acceptance probability and its replacement law.

To add a rule, write a frozen dataclass with `TokenVerifier.acceptance` and `TokenVerifier.residual`; everything else follows.
The rules of this package also write `TokenVerifier.procedure`, the published algorithm coin by coin, from which Monte Carlo
samples: a second route to each number, not derived from the first.
"""

import abc
import dataclasses
from typing import Any, ClassVar, NamedTuple

import numpy as np

from theory import loading, parameters, probs, shortnames
from theory.parameters import Number
from theory.probs import Array, RowsLike
from theory.verifiers import checks


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
        return np.broadcast_to(self.checked_residual(p, q), (*tokens.shape, p.shape[-1]))

    def procedure(self, p: Array, q: Array, drafted: Array, rng: np.random.Generator) -> Verified:
        """Run the rule coin by coin on drafts from one pair of checked rows; `verify` is the public form.

        This default flips a coin with the rule's acceptance and replaces from its residual. The rules of this
        package override it with their published algorithm.
        """
        accepted = rng.random(drafted.shape) < probs.as_float(self.checked_acceptance(p, q))[drafted]
        if not self.residual_depends_on_draft:
            return replace(drafted, accepted, self.checked_residual(p, q), p, rng)
        token = drafted.copy()
        for rejected in np.unique(drafted[~accepted]):
            places = (drafted == rejected) & ~accepted
            law = self.checked_residual_given(p, q, rejected)
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
        return np.asarray(q * self.checked_acceptance(p, q))

    def replaced(self, p: Array, q: Array, accepted: Array, rejected: Array) -> Array:
        """Give R r(x) for checked rows, what `accepted` gave, and the rejected masses R of shape (..., 1); a new array."""
        return np.asarray(rejected * self.checked_residual(p, q))

    def law(self, p: RowsLike, q: RowsLike) -> Law:
        """Give the rates and the induced law together, for the cost of the law alone."""
        p, q = probs.check_pair(p, q)
        accepted, rejected, induced = self.parts(p, q)
        induced += accepted
        return Law(probs.total(accepted), rejected[..., 0][()], induced)

    # --- what a rule says, looked at before it is believed; everything that needs a rule's law asks here -------------

    def checked_acceptance(self, p: RowsLike, q: RowsLike) -> Array:
        """Give `acceptance`, after a look at it (see `theory.verifiers.checks`).

        Raises
        ------
        RuleError
            A ValueError, for a rule that gives no probabilities there.
        """
        p, q = probs.check_pair(p, q)
        said = self.acceptance(p, q)
        return np.asarray(said) if checks.is_believed(self) else checks.acceptance(self, said, p, q)

    def checked_residual(self, p: RowsLike, q: RowsLike) -> Array:
        """Give `residual`, after a look at it: rows of at least 0 that sum to 1; raises as `checked_acceptance` does."""
        p, q = probs.check_pair(p, q)
        said = self.residual(p, q)
        return np.asarray(said) if checks.is_believed(self) else checks.residual(self, said, p, q)

    def checked_residual_given(self, p: RowsLike, q: RowsLike, drafted: RowsLike) -> Array:
        """Give `residual_given`, after a look at it: laws, one a drafted token; raises as `checked_acceptance` does."""
        p, q = probs.check_pair(p, q)
        tokens = check_drafted(drafted, p, q)
        said = self.residual_given(p, q, tokens)
        if checks.is_believed(self):
            return np.asarray(said)
        lead = tokens.shape[: tokens.ndim - len(np.broadcast_shapes(p.shape, q.shape)[:-1])]
        return checks.residual(self, said, p, q, "residual_given", lead)

    def checked_law(self, p: RowsLike, q: RowsLike, start: int = 0) -> Law:
        """Give `law`, after a look at it; ``start`` is where the rows begin in what the caller was given."""
        p, q = probs.check_pair(p, q, start)
        try:
            law = self.law(p, q)
            if self._writes("law"):
                checks.law(self, law[:2], law.induced, p, q)
        except checks.RuleError as error:
            raise error.further(start) from None
        return law

    def parts(self, p: RowsLike, q: RowsLike) -> tuple[Array, Array, Array]:
        """Give q a, the rejected mass R and R r, of which π = q a + R r is made, each looked at.

        Returns
        -------
        accepted, rejected, replaced : ndarray, shapes (..., V), (..., 1) and (..., V)
            New arrays.
        """
        p, q = probs.check_pair(p, q)
        accepted = self.accepted(p, q)
        if self._writes("accepted"):
            accepted = checks.accepted(self, accepted, p, q)
        rejected = np.asarray(probs.total(q - accepted, keepdims=True))
        replaced = self.replaced(p, q, accepted, probs.in_dtype(rejected, q))
        if self._writes("replaced"):
            replaced = checks.replaced(self, replaced, p, q, rejected)
        return accepted, rejected, replaced

    def _writes(self, name: str) -> bool:
        """Whether a rule that is not believed has a method of its own where `TokenVerifier` has one made of checked parts."""
        return not checks.is_believed(self) and getattr(type(self), name) is not getattr(TokenVerifier, name)

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
        accepted = self.accepted(p, q)
        return probs.total(checks.accepted(self, accepted, p, q) if self._writes("accepted") else accepted)

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
        return self.checked_law(p, q).induced

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
            return self.checked_procedure(p, q, tokens, rng)
        rows_p, rows_q = (np.broadcast_to(rows, shape) for rows in (p, q))
        accepted, emitted = np.empty(tokens.shape, dtype=bool), np.empty(tokens.shape, dtype=np.intp)
        for where in np.ndindex(shape[:-1]):
            place = (..., *where)
            accepted[place], emitted[place] = self.checked_procedure(rows_p[where], rows_q[where], tokens[place], rng)
        return Verified(accepted, emitted)

    def checked_procedure(self, p: Array, q: Array, drafted: Array, rng: np.random.Generator) -> Verified:
        """Run `procedure` on one pair of checked rows, and look at what it did."""
        done = self.procedure(p, q, drafted, rng)
        if checks.is_believed(self):
            return done
        accepted, token = checks.verified(self, *done, drafted.shape, p.shape[-1])
        checks.unchanged(self, accepted, token, drafted)
        return Verified(accepted, token)

    def __str__(self) -> str:
        name = self.name or loading.spelled(type(self))
        if dataclasses.is_dataclass(self):
            return shortnames.write(self, name)
        return name if type(self).__repr__ is object.__repr__ else repr(self)


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
