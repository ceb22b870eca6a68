"""The contract of a rule for the fixed children of one node: its law, its published procedure, and what all of them share."""

import abc
from typing import Any, ClassVar, NamedTuple

import numpy as np

from theory import parameters, probs
from theory.probs import Array, RowsLike
from theory.verifiers import checks


class NodeLaw(NamedTuple):
    """What a rule does at one node, exactly."""

    acceptance: Array
    """P(child j is the one accepted); shape (K,), their sum at most 1."""
    replacement: Array
    """The law of the token emitted given that no child is accepted; shape (V,)."""
    rejected: Any
    """P(no child is accepted): a product of rejections, not 1 - Σ acceptance, so that it keeps its relative precision."""


class Chosen(NamedTuple):
    """What the literal procedure did at one node, draw by draw."""

    accepted: Array
    """Whether a child was accepted; bool, shape (size,)."""
    token: Array
    """The token emitted: the accepted child, or the replacement; int, shape (size,)."""


class CandidateRule(abc.ABC):
    """A verification rule for fixed candidates at one node.

    Subclasses are frozen dataclasses whose fields are the hyper-parameters. They write `law_at` and `coins`; what takes unchecked
    input follows.
    """

    name: ClassVar[str]
    """A short name."""
    formula: ClassVar[str]
    """Acceptance and replacement in a line."""
    claim: ClassVar[str]
    """For which parameters the rule is lossless, or what it reproduces instead."""
    source: ClassVar[str]
    """Paper and equation, or code."""

    @abc.abstractmethod
    def law_at(self, p: Array, tokens: Array) -> NodeLaw:
        """Give the law for a checked row and checked candidates; `outcomes` is the public form."""

    @abc.abstractmethod
    def coins(self, p: Array, tokens: Array, rng: np.random.Generator, size: int) -> Chosen:
        """Run the published procedure for a checked row of floats; `procedure` is the public form."""

    # --- what a rule says, looked at before it is believed; everything that needs its law or verdict asks here ----------

    def checked_law_at(self, p: Array, tokens: Array) -> NodeLaw:
        """Give `law_at`, after a look at it (see `theory.verifiers.checks`).

        Raises
        ------
        RuleError
            A ValueError, where acceptances and the rejection are no probabilities that add up to 1, or the replacement is no law.
        """
        law = self.law_at(p, tokens)
        if checks.is_believed(self):
            return law
        if not isinstance(law, tuple) or len(law) != 3:
            raise checks.RuleError(self, "law_at", (), f"gave {law!r}: must be a NodeLaw(acceptance, replacement, rejected)")
        chances = np.asarray([*law[0], law[2]], dtype=p.dtype)
        if len(chances) != len(tokens) + 1:
            raise checks.RuleError(
                self, "acceptance", (), f"has {len(chances) - 1} entries: must have one a child, {len(tokens)}"
            )
        checks.residual(self, chances, chances, chances, "acceptance, with the rejection")
        return NodeLaw(law[0], checks.residual(self, law[1], p, p, "replacement"), law[2])

    def checked_coins(self, p: Array, tokens: Array, rng: np.random.Generator, size: int) -> Chosen:
        """Give what `coins` did, after a look at it; raises as `checked_law_at` does."""
        done = self.coins(p, tokens, rng, size)
        if checks.is_believed(self):
            return done
        accepted, token = checks.verified(self, *done, (size,), p.size)
        strange = accepted & ~np.isin(token, tokens)
        if strange.any():
            place = int(np.flatnonzero(strange)[0])
            raise checks.RuleError(self, "token", (place,), f"= {token[place]}: must be a child, since it was accepted")
        return Chosen(accepted, token)

    @property
    def lossless(self) -> bool:
        """Whether these parameters make `induced` equal to p for every p and all candidates."""
        return False

    def baseline(self, p: RowsLike) -> Array | None:
        """Give the true baseline: what the rule is meant to sample where that is not p, else None."""
        check_row(p)
        return None

    def outcomes(self, p: RowsLike, candidates: RowsLike) -> NodeLaw:
        """Give the law of what happens at one node.

        Parameters
        ----------
        p : array_like, shape (V,)
            The target's row.
        candidates : array_like of int, shape (K,)
            The children, distinct, in the order in which they are tried. None (K = 0) at a leaf.

        Returns
        -------
        NodeLaw
            Acceptance of each child, replacement law, and the probability that no child is accepted. Where that is 0 the
            replacement is never used; it is then p by convention, or p_Θ for the rules that replace from it.

        Raises
        ------
        ValueError
            Where ``p`` is not one row, or the candidates are not distinct tokens of its vocabulary.
        """
        row = check_row(p)
        return self.checked_law_at(row, check_candidates(candidates, row.size))

    def induced(self, p: RowsLike, candidates: RowsLike) -> Array:
        """Give π(x) = P(child x accepted) + P(none) r(x), the law of the one token emitted here.

        Parameters
        ----------
        p, candidates
            As for `outcomes`.

        Returns
        -------
        ndarray, shape (V,)
            Probabilities that sum to 1.
        """
        row = check_row(p)
        tokens = check_candidates(candidates, row.size)
        law = self.checked_law_at(row, tokens)
        replaced: Array = (law.rejected * law.replacement).astype(row.dtype, copy=False)
        replaced[tokens] += law.acceptance
        return replaced

    def acceptance_rate(self, p: RowsLike, candidates: RowsLike) -> Any:
        """Give the probability that some child is accepted.

        Parameters
        ----------
        p, candidates
            As for `outcomes`.

        Returns
        -------
        float or Fraction
            A probability.
        """
        return probs.total(self.outcomes(p, candidates).acceptance)

    def procedure(self, p: RowsLike, candidates: RowsLike, rng: np.random.Generator, size: int) -> Chosen:
        """Run the published procedure at one node, coin by coin: a second route, not derived from `outcomes`.

        Parameters
        ----------
        p, candidates
            As for `outcomes`; Fractions are converted to float64.
        rng : numpy.random.Generator
            The source of randomness.
        size : int
            Independent runs.

        Returns
        -------
        Chosen
            ``accepted`` and ``token``, each of shape (size,).
        """
        row = probs.as_float(check_row(p))
        parameters.check_count("size", size)
        return self.checked_coins(row, check_candidates(candidates, row.size), rng, size)


def check_row(p: RowsLike, name: str = "p") -> Array:
    """Check one row, of shape (V,)."""
    row = probs.check_rows(p, name)
    if row.ndim != 1:
        raise ValueError(f"{name} has shape {row.shape}: one node has one row, of shape (V,)")
    return row


def check_candidates(candidates: RowsLike, size: int, name: str = "candidates") -> Array:
    """Check the children of a node: distinct tokens below ``size``, in a list that may be empty."""
    tokens = np.asarray(candidates)
    if tokens.shape == (0,):
        return np.empty(0, dtype=np.intp)
    if tokens.dtype.kind not in "iu" or tokens.ndim != 1:
        raise ValueError(
            f"{name} has dtype {tokens.dtype} and shape {tokens.shape}: must be a list of whole numbers in 0..{size - 1}"
        )
    for place, token in enumerate(tokens):
        if not 0 <= token < size:
            raise ValueError(f"{name}[{place}] = {token}: tokens are in 0..{size - 1}")
        if token in tokens[:place]:
            raise ValueError(f"{name}[{place}] = {token} stands there twice: the children of a node are distinct tokens")
    return tokens.astype(np.intp, copy=False)


def check_flag(name: str, value: Any) -> None:
    """Raise unless ``value`` is True or False."""
    if not isinstance(value, bool):
        raise ValueError(f"{name} = {value!r}: must be True or False")


def without(p: Array, tokens: Array) -> Array:
    """Give p(x) off the tokens, 0 on them; not normalised."""
    rest = p.copy()
    rest[tokens] = 0 * p[:1]
    return rest


def one(p: Array) -> Any:
    """Give 1 in the arithmetic of the row."""
    return 1 + 0 * p[0]


def finish(accepted: Array, token: Array, law: Array, rng: np.random.Generator) -> Chosen:
    """Draw a token from ``law`` for each run that has accepted none."""
    left = ~accepted
    if left.any():
        token[left] = probs.InverseCDF(law).draw(rng, int(left.sum()))
    return Chosen(accepted, token)
