"""The contract of block verification: given one drafted path, how many tokens are kept, and what is drawn next."""

import abc
import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Rational, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np

from theory import loading, probs, shortnames
from theory.probs import Array, RowsLike
from theory.verifiers import checks


@dataclass(frozen=True, eq=False)
class Draft:
    """Drafted tokens and the rows along them; one path, or many paths over shared rows.

    Parameters
    ----------
    p : array_like, shape (gamma + 1, V), or (contexts, V) where ``at`` is given
        Rows of the target before each drafted token, and after the last one.
    q : array_like, shape (gamma, V) or (gamma + 1, V), or (contexts, V) where ``at`` is given
        Rows of the draft before each drafted token. The row after the last one is needed by a relaxed bonus only.
    tokens : array_like of int, shape (gamma,), or (paths, gamma)
        The drafted tokens.
    at : array_like of int, shape (paths, gamma + 1), optional
        Which row each position of each path has, where paths do not all have row i at position i. With it, many paths
        through few contexts cost memory for the contexts only.

    Raises
    ------
    ValueError
        Where rows, tokens or ``at`` do not fit each other.

    Examples
    --------
    >>> draft = Draft(p=[[0.5, 0.5], [0.5, 0.5]], q=[[0.25, 0.75]], tokens=[1])
    >>> draft.gamma, draft.size
    (1, 2)
    """

    p: RowsLike
    q: RowsLike
    tokens: Any
    at: Any = None

    def __post_init__(self) -> None:
        p, q = probs.check_rows(self.p, "p"), probs.check_rows(self.q, "q")
        tokens = np.asarray(self.tokens)
        if tokens.dtype.kind not in "iu" or tokens.ndim not in (1, 2) or tokens.shape[-1] == 0:
            raise ValueError(
                f"tokens has shape {tokens.shape} and dtype {tokens.dtype}: whole numbers, (gamma,) or (paths, gamma)"
            )
        gamma, size = tokens.shape[-1], p.shape[-1]
        if p.ndim != 2 or q.ndim != 2 or q.shape[-1] != size or probs.is_exact(p) != probs.is_exact(q):
            raise ValueError(f"p has shape {p.shape} and q {q.shape}: both are rows over one vocabulary, in one arithmetic")
        if tokens.size and not 0 <= tokens.min() <= tokens.max() < size:
            raise ValueError(f"tokens reach from {tokens.min()} to {tokens.max()}: they are in 0..{size - 1}")
        if self.at is None:
            if len(p) != gamma + 1 or len(q) not in (gamma, gamma + 1):
                raise ValueError(f"p has {len(p)} rows and q {len(q)}: {gamma} drafted tokens need {gamma + 1} and {gamma}")
            at = np.broadcast_to(np.arange(gamma + 1), (*tokens.shape[:-1], gamma + 1))
        else:
            at = np.asarray(self.at)
            if at.shape != (*tokens.shape[:-1], gamma + 1) or len(p) != len(q):
                raise ValueError(f"at has shape {at.shape}: {tokens.shape} tokens need {(*tokens.shape[:-1], gamma + 1)}")
            if at.size and not 0 <= at.min() <= at.max() < len(p):
                raise ValueError(f"at reaches from {at.min()} to {at.max()}: there are {len(p)} rows")
        for name, value in (("p", p), ("q", q), ("tokens", tokens.astype(np.intp)), ("at", at.astype(np.intp))):
            object.__setattr__(self, name, value)

    @property
    def gamma(self) -> int:
        """Drafted tokens in a path."""
        return int(self.tokens.shape[-1])

    @property
    def size(self) -> int:
        """Tokens in the vocabulary."""
        return int(np.shape(self.p)[-1])

    def path(self) -> tuple[list[Array], list[Array], list[int]]:
        """Give target rows, draft rows and tokens of a single path, position by position."""
        if self.tokens.ndim != 1:
            raise ValueError(f"tokens has shape {self.tokens.shape}: the law is given for one path at a time")
        p, q = np.asarray(self.p), np.asarray(self.q)
        rows = [probs.trust(p[i]) for i in self.at]
        drafts = [probs.trust(q[i]) for i in self.at if i < len(q)]
        return rows, drafts, [int(token) for token in self.tokens]


class Outcome(NamedTuple):
    """One branch of what verification may do with a drafted path."""

    probability: Any
    """Of this branch, given the path."""
    kept: int
    """Drafted tokens kept, 0..gamma."""
    next_probs: Array | None
    """Law of the token drawn after them; None where the block ends without one."""


class BlockVerified(NamedTuple):
    """What verification did with drafted paths."""

    kept: Array
    """Drafted tokens kept of each path."""
    token: Array
    """The token drawn after them; -1 where there is none."""


class BlockVerifier(abc.ABC):
    """A rule for a whole drafted path. Subclasses are frozen dataclasses whose fields are the hyper-parameters."""

    name: ClassVar[str] = ""
    formula: ClassVar[str] = ""
    claim: ClassVar[str] = ""
    source: ClassVar[str] = ""

    @abc.abstractmethod
    def outcomes(self, draft: Draft) -> tuple[Outcome, ...]:
        """Give the law of what happens to one drafted path; the probabilities sum to 1."""

    # --- what a rule says, looked at before it is believed; everything that needs a block's law or verdict asks here ---

    def checked_outcomes(self, draft: Draft) -> tuple[Outcome, ...]:
        """Give `outcomes`, after a look at them.

        Raises
        ------
        RuleError
            A ValueError, where there is no branch, a probability is outside [0, 1] or they do not sum to 1, a branch keeps more
            than was drafted, or a law of what is drawn next is none.
        """
        said = self.outcomes(draft)
        return said if checks.is_believed(self) else tuple(look_at_outcomes(self, said, draft))

    def checked_verify(self, draft: Draft, rng: np.random.Generator) -> BlockVerified:
        """Give what `verify` did, after a look at it.

        Raises
        ------
        RuleError
            A ValueError, where ``kept`` or ``token`` do not have one whole number a path, more is kept than was drafted, or a
            token is not of the vocabulary.
        """
        done = self.verify(draft, rng)
        return done if checks.is_believed(self) else look_at_verified(self, done, draft)

    # --- what a rule may write ------------------------------------------------------------------------------------------

    def verify(self, draft: Draft, rng: np.random.Generator) -> BlockVerified:
        """Verify drafted paths coin by coin.

        This default draws from `outcomes`, path by path; the rules of this package run their published procedure
        on all paths at once.

        Parameters
        ----------
        draft : Draft
            One path or many.
        rng : numpy.random.Generator
            The source of randomness.

        Returns
        -------
        BlockVerified
            ``kept`` and ``token``, of shape () or (paths,).
        """
        paths = draft.tokens.reshape(-1, draft.gamma)
        rows = draft.at.reshape(-1, draft.gamma + 1)
        kept, token = np.empty(len(paths), dtype=np.intp), np.empty(len(paths), dtype=np.intp)
        for i, (tokens, at) in enumerate(zip(paths, rows, strict=True)):
            branches = self.checked_outcomes(
                Draft(np.asarray(draft.p)[at], np.asarray(draft.q)[at[at < len(np.asarray(draft.q))]], tokens)
            )
            weights = np.array([float(branch.probability) for branch in branches])
            branch = branches[int(probs.InverseCDF(weights).draw(rng))]
            kept[i] = branch.kept
            token[i] = -1 if branch.next_probs is None else probs.InverseCDF(branch.next_probs).draw(rng)
        return BlockVerified(kept.reshape(draft.tokens.shape[:-1]), token.reshape(draft.tokens.shape[:-1]))

    @property
    def lossless(self) -> bool:
        """Whether these parameters make the emitted text follow the target's law, for every pair."""
        return False

    def __str__(self) -> str:
        name = self.name or loading.spelled(type(self))
        if dataclasses.is_dataclass(self):
            return shortnames.write(self, name)
        return name if type(self).__repr__ is object.__repr__ else repr(self)


def look_at_outcomes(rule: BlockVerifier, said: Any, draft: Draft) -> Iterator[Outcome]:
    """Walk the branches that a rule gives for one path; raise where one is none, or they have no probability of 1 together."""
    rows, size = np.asarray(draft.p), draft.size
    exact, tolerance = probs.is_exact(rows), probs.tolerance(rows)
    sum_: Any = 0
    if not isinstance(said, Sequence) or not said:
        raise checks.RuleError(rule, "outcomes", (), f"= {said!r}: must be a tuple of Outcome, of one branch at least")
    for place, branch in enumerate(said):
        if not isinstance(branch, tuple) or len(branch) != 3:
            raise checks.RuleError(rule, "outcomes", (place,), f"= {branch!r}: must be an Outcome(probability, kept, next_probs)")
        probability, kept, law = branch
        what = f"outcomes[{place}]"
        if not isinstance(probability, Rational if exact else Real) or not 0 <= float(probability) <= 1 + tolerance:
            kind = " and a Fraction or whole number, as the rows are" if exact else ""
            raise checks.RuleError(rule, f"{what}.probability", (), f"= {probability!r}: must be in [0, 1]{kind}")
        _look_at_kept(rule, f"{what}.kept", (), kept, draft)
        if law is not None:
            if np.shape(law) != (size,):
                raise checks.RuleError(rule, f"{what}.next_probs", (), f"has shape {np.shape(law)}: must be a row, ({size},)")
            law = checks.residual(rule, law, rows[0], rows[0], f"{what}.next_probs")
        sum_ = sum_ + probability
        yield Outcome(probability, int(kept), law)
    if not abs(sum_ - 1) <= tolerance:
        path = draft.tokens.tolist()
        raise checks.RuleError(rule, "outcomes", (), f"of {path} have probabilities that sum to {sum_}: must sum to 1")


def _look_at_kept(rule: BlockVerifier, what: str, where: tuple[int, ...], kept: Any, draft: Draft) -> None:
    if isinstance(kept, bool) or not isinstance(kept, int | np.integer) or not 0 <= kept <= draft.gamma:
        raise checks.RuleError(rule, what, where, f"= {kept!r}: must be in 0..{draft.gamma}, the tokens drafted")


def look_at_verified(rule: BlockVerifier, done: Any, draft: Draft) -> BlockVerified:
    """Give what a procedure did with drafted paths back; raise where it is not a kept length and a token for each."""
    if not isinstance(done, tuple) or len(done) != 2:
        raise checks.RuleError(rule, "verify", (), f"gave {done!r}: must be a BlockVerified(kept, token)")
    kept, token = (np.asarray(values) for values in done)
    for what, values, low, high in (("kept", kept, 0, draft.gamma), ("token", token, -1, draft.size - 1)):
        if values.shape != draft.tokens.shape[:-1] or values.dtype.kind not in "iu":
            paths = draft.tokens.shape[:-1]
            raise checks.RuleError(
                rule, what, (), f"has shape {values.shape} and dtype {values.dtype}: must be whole numbers, {paths}"
            )
        bad = (values < low) | (values > high)
        if bad.any():
            where = tuple(int(i) for i in np.argwhere(bad)[0])
            raise checks.RuleError(rule, what, where, f"= {values[where]}: must be in {low}..{high}")
    return BlockVerified(kept, token)


def possible(outcomes: list[Outcome]) -> tuple[Outcome, ...]:
    """Give the branches of positive probability."""
    return tuple(outcome for outcome in outcomes if outcome.probability != 0)
