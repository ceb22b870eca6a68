"""Counts: what was drafted, accepted and emitted, one entry a step; checked once, here."""

from collections.abc import Hashable, Iterable
from dataclasses import InitVar, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import parameters
from theory.counts import checks
from theory.counts.totals import MeanLength, Totals
from theory.parameters import Number
from theory.probs import Array

LONGEST = 256
"""Drafted tokens in a step beyond which a number is taken for a total over steps, unless it is said to be none."""

_NO_LIMIT = 1 << 16

MOST_STEPS = 1 << 25
"""Steps that a histogram may stand for; they are written out one by one, 33 bytes each."""


@dataclass(frozen=True, eq=False)
class Counts:
    """What was counted, one entry a step (a target call); checked once, here.

    Parameters
    ----------
    drafted : array_like of int, shape (steps,)
        Proposed tokens, at least 0 (a drafter may find nothing to propose).
    accepted : array_like of int, shape (steps,)
        Proposed tokens that the verifier kept, in 0..drafted.
    emitted : array_like of int, shape (steps,)
        Tokens that came out, in 0..accepted + 1: less than accepted + 1 where a stop cut the block short.
    censored : array_like of bool, shape (steps,)
        True where the text ended before the verdict at position accepted + 1 was seen.
    request : array_like of int or str, shape (steps,), or None
        The request that a step belongs to, any labels in any order; None where it is not known.
    longest : int
        Drafted tokens that a step can have, in 1..65536: more is refused as a total over steps.

    Raises
    ------
    ValueError
        Naming the argument, the value, its place and what is allowed.

    Notes
    -----
    The fields become read-only copies: int64, bool for ``censored``, the labels' own type for ``request``.
    `Counts.of` fills in what is usual, `Counts.from_flags` counts flags, and other logs have their own ``from_...``.

    Examples
    --------
    >>> Counts([4, 4], [3, 4], [4, 2], [False, False], [0, 0]).accepted  # a stop token at position 2 of the second step
    array([3, 4])
    >>> Counts([4], [5], [6], [False], [0])
    Traceback (most recent call last):
    ValueError: accepted[0] = 5: must be in 0..4, the tokens drafted in that step
    """

    drafted: Array
    accepted: Array
    emitted: Array
    censored: Array
    request: Array | None
    longest: InitVar[int] = LONGEST

    def __post_init__(self, longest: int) -> None:
        parameters.check_count("longest", longest)
        parameters.check("longest", longest, f"[1, {_NO_LIMIT}]")
        fields = {
            "drafted": checks.whole(self.drafted, "drafted"),
            "accepted": checks.whole(self.accepted, "accepted"),
            "emitted": checks.whole(self.emitted, "emitted"),
            "censored": checks.booleans(self.censored, "censored"),
        }
        if self.request is not None:
            fields["request"] = checks.labels(self.request, "request")
        for name, array in fields.items():
            checks.same_length(name, len(array), "drafted", len(fields["drafted"]))
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        for i in np.flatnonzero(self.drafted > longest)[:1]:
            raise ValueError(
                f"drafted[{i}] = {self.drafted[i]}: must be in 0..{longest}, the tokens that one step proposed; a total over "
                f"steps is for Counts.from_totals, and longest={self.drafted[i]} says that this is none"
            )
        checks.at_most("accepted", self.accepted, self.drafted, "the tokens drafted in that step")
        checks.at_most("emitted", self.emitted, self.accepted + 1, "the accepted tokens and one of the target's")

    def __len__(self) -> int:
        return len(self.drafted)

    @classmethod
    def of(
        cls,
        accepted: npt.ArrayLike,
        *,
        drafted: npt.ArrayLike,
        emitted: npt.ArrayLike | None = None,
        censored: npt.ArrayLike | None = None,
        request: npt.ArrayLike | None = None,
        longest: int = LONGEST,
    ) -> "Counts":
        """Take accepted lengths, and what is usual for the rest.

        Parameters
        ----------
        accepted : array_like of int, shape (steps,)
            Proposed tokens that were kept.
        drafted : int or array_like of int, shape (steps,)
            Proposed tokens; one number γ >= 1 where all steps draft alike.
        emitted : array_like of int, shape (steps,), optional
            accepted + 1 if omitted, and accepted in a censored step: the text ended, so that no token of the target's
            own followed.
        censored : array_like of bool, shape (steps,), optional
            Nowhere, if omitted.
        request : array_like of int or str, shape (steps,), optional
            All steps are of one request, if omitted.
        longest : int
            Drafted tokens that a step can have; more is refused as a total over steps.

        Raises
        ------
        ValueError
            As `Counts` does, and for a single ``drafted`` below 1.

        Examples
        --------
        >>> Counts.of([0, 1, 2], drafted=2).emitted
        array([1, 2, 3])
        """
        kept = checks.whole(accepted, "accepted")
        proposed = _drafted(drafted, len(kept), "accepted")
        unseen = np.zeros(len(kept), dtype=bool) if censored is None else checks.booleans(censored, "censored")
        checks.same_length("censored", len(unseen), "accepted", len(kept))
        came_out = kept + ~unseen if emitted is None else checks.whole(emitted, "emitted")
        labels = np.zeros(len(kept), dtype=np.int64) if request is None else checks.labels(request, "request")
        return cls(proposed, kept, came_out, unseen, labels, longest)

    @classmethod
    def from_flags(
        cls,
        flags: Iterable[Iterable[Any]],
        *,
        drafted: npt.ArrayLike | None = None,
        emitted: npt.ArrayLike | None = None,
        censored: npt.ArrayLike | None = None,
        request: npt.ArrayLike | None = None,
    ) -> "Counts":
        """Count acceptance flags, one row a step: only the ones before the first 0 are accepted.

        Parameters
        ----------
        flags : iterable of rows of 0 and 1
            A flag for each position that was judged; rows may differ in length.
        drafted : int or array_like of int, shape (steps,), optional
            Proposed tokens, if more than have a flag. The length of each row, if omitted.
        emitted, request : array_like, shape (steps,), optional
            As in `Counts.of`.
        censored : array_like of bool, shape (steps,), optional
            If omitted, True where a row holds no 0 and fewer flags than drafted tokens: no rejection was seen.

        Raises
        ------
        ValueError
            As `Counts.of` does; for a flag other than 0 and 1, a row longer than its ``drafted``, and where ``censored``
            contradicts the flags.

        Notes
        -----
        Some verifiers judge all positions in parallel and log all flags. Counting ones there, 2 in (1, 0, 1), overstates what
        a decoder keeps: a token is of use only if everything before it was accepted.

        Examples
        --------
        >>> Counts.from_flags([(1, 0, 1), (1, 1)]).accepted
        array([1, 2])
        >>> Counts.from_flags([(1, 1, 1, 1)], drafted=8).censored  # the text ended after 4 of 4 matches
        array([ True])
        """
        kept, judged = _prefixes(flags)
        proposed = judged if drafted is None else _drafted(drafted, len(kept), "flags")
        checks.at_most("the number of flags", judged, proposed, "the tokens drafted in that step")
        unseen = (kept == judged) & (judged < proposed)
        if censored is not None:
            given = checks.booleans(censored, "censored")
            checks.same_length("censored", len(given), "flags", len(kept))
            for i in np.flatnonzero((given & (kept < judged)) | (~given & unseen))[:1]:
                why = "a 0, a rejection that was seen" if given[i] else f"no 0, and {judged[i]} flags for {proposed[i]} drafted"
                raise ValueError(f"censored[{i}] = {given[i]}: must be {not given[i]}, since flags[{i}] holds {why}")
            unseen = given
        longest = max(LONGEST, int(judged.max(initial=0)))
        return cls.of(kept, drafted=proposed, emitted=emitted, censored=unseen, request=request, longest=longest)

    @classmethod
    def from_histogram(cls, steps: npt.ArrayLike) -> "Counts":
        """Count steps by the tokens that they kept: one more entry than each step drafted.

        Parameters
        ----------
        steps : array_like of int, shape (γ + 1,)
            ``steps[k]``, how many steps kept k of their γ drafted tokens, k = 0..γ. The unit is steps: a share is refused.

        Returns
        -------
        Counts
            One entry a step, in the order of k; which request a step was of is not known.

        Raises
        ------
        ValueError
            For fewer than 2 entries, one that is no whole number, no step at all, or more than `MOST_STEPS` of them.

        Notes
        -----
        γ is the length of the histogram less 1, so a γ that no step filled needs its 0. Nothing is censored, as far as it says.

        Examples
        --------
        >>> Counts.from_histogram([1, 0, 2]).accepted
        array([0, 2, 2])
        """
        times = checks.whole(steps, "steps")
        if len(times) < 2:
            raise ValueError(f"steps has {len(times)} entries: must have γ + 1, the steps that kept 0, 1, ..., γ tokens")
        total = int(times.sum())
        if not 1 <= total <= MOST_STEPS:
            raise ValueError(f"steps adds up to {total}: must be in 1..{MOST_STEPS} steps")
        gamma = len(times) - 1
        kept = np.repeat(np.arange(gamma + 1), times)
        none = np.zeros(total, dtype=bool)
        return cls(np.full(total, gamma), kept, kept + 1, none, None, max(LONGEST, gamma))

    @classmethod
    def from_positions(cls, accepted: npt.ArrayLike, *, drafts: int, drafted: int | None = None) -> "Counts":
        """Count steps from totals per position, as vLLM's ``num_accepted_tokens_per_pos`` beside its ``num_drafts``.

        Parameters
        ----------
        accepted : array_like of int, shape (γ,)
            How many steps accepted position i, i = 1..γ; it cannot rise, since what is accepted is a prefix.
        drafts : int
            Steps, at least ``accepted[0]``. Each drafted γ tokens.
        drafted : int, optional
            Proposed tokens over all steps, if known: must be drafts × γ.

        Returns
        -------
        Counts
            One entry a step; which request a step was of is not known.

        Raises
        ------
        ValueError
            For entries that rise or exceed ``drafts``, ``drafted`` tokens that are not γ a step, and as `from_histogram` does.

        Notes
        -----
        ``accepted[k - 1] - accepted[k]`` steps kept exactly k tokens. Where steps drafted differently this is not so:
        ``drafted`` finds that out.

        Examples
        --------
        >>> Counts.from_positions([2, 1], drafts=3).accepted
        array([0, 1, 2])
        """
        kept = checks.whole(accepted, "accepted")
        parameters.check_count("drafts", drafts)
        if not len(kept):
            raise ValueError("accepted has 0 entries: must have one a position, 1..γ")
        before = np.concatenate(([drafts], kept[:-1]))
        for i in np.flatnonzero(kept > before)[:1]:
            whose = "the drafts" if i == 0 else "the steps that accepted the position before it; rates that rise are conditional"
            raise ValueError(f"accepted[{i}] = {kept[i]}: must be in 0..{before[i]}, {whose}")
        if drafted is not None:
            Totals(drafts, drafted, int(kept.sum()), gamma=len(kept))
        return cls.from_histogram(np.append(before - kept, kept[-1]))

    @classmethod
    def from_totals(
        cls, *, drafts: int, drafted: int, accepted: int, emitted: int | None = None, gamma: int | None = None
    ) -> Totals:
        """Take totals over steps; they are `Totals`, which have fewer statistics than steps have.

        Parameters
        ----------
        drafts, drafted, accepted : int
            Steps, proposed tokens and accepted tokens, each over all steps.
        emitted, gamma : int, optional
            Tokens that came out, and the drafted tokens of each step if all drafted alike.

        Raises
        ------
        ValueError
            As `Totals` does.

        Examples
        --------
        >>> Counts.from_totals(drafts=120, drafted=480, accepted=301, gamma=4)
        Totals(drafts=120, drafted=480, accepted=301, emitted=None, gamma=4)
        """
        return Totals(drafts, drafted, accepted, emitted, gamma)

    @classmethod
    def from_mean_length(
        cls,
        *,
        drafted: int,
        tokens_per_call: Number | None = None,
        mean_accepted: Number | None = None,
        steps: int | None = None,
    ) -> MeanLength:
        """Take one published mean, under the name that says what it is the mean of; it is a `MeanLength`.

        Parameters
        ----------
        drafted : int
            Drafted tokens of each step, γ.
        tokens_per_call : float or Fraction
            Tokens a step with the target's own token, in [1, γ + 1]: what many papers call mean accepted length.
        mean_accepted : float or Fraction
            E[τ], accepted drafts a step, in [0, γ]; the other of the two is not given.
        steps : int, optional
            Steps that it is the mean of, if known.

        Raises
        ------
        ValueError
            Where both means or none are given, or one is out of range.

        Examples
        --------
        >>> from fractions import Fraction
        >>> Counts.from_mean_length(tokens_per_call=Fraction("2.6"), drafted=3)
        MeanLength(mean_accepted=Fraction(8, 5), gamma=3, steps=None)
        """
        return MeanLength.of(drafted=drafted, tokens_per_call=tokens_per_call, mean_accepted=mean_accepted, steps=steps)

    def select(self, steps: npt.ArrayLike) -> "Counts":
        """Give the counts of some steps, by a mask or by indices.

        Raises
        ------
        ValueError
            Where ``steps`` is neither, or points beyond the steps.

        Examples
        --------
        >>> counts = Counts.of([0, 1, 2], drafted=2)
        >>> len(counts.select(counts.accepted > 0))
        2
        """
        at = np.asarray(steps)
        if not at.size and at.dtype.kind == "f":  # an empty list
            at = at.astype(np.intp)
        if at.ndim != 1 or at.dtype.kind not in "biu":
            raise ValueError(f"steps has shape {at.shape} and dtype {at.dtype}: must be a mask or indices, flat")
        if at.dtype.kind == "b":
            checks.same_length("steps", len(at), "counts", len(self))
        elif at.size and (at.min() < 0 or at.max() >= len(self)):
            raise ValueError(f"steps = {at.min()}..{at.max()}: must be indices in 0..{len(self) - 1}")
        request = None if self.request is None else self.request[at]
        return Counts(self.drafted[at], self.accepted[at], self.emitted[at], self.censored[at], request, _NO_LIMIT)

    def by_request(self) -> "dict[Hashable, Counts]":
        """Give the counts of each request under its label, the labels in ascending order.

        Raises
        ------
        ValueError
            Where the requests are not known.

        Examples
        --------
        >>> {name: len(steps) for name, steps in Counts.of([3, 0, 3], drafted=4, request=["b", "a", "b"]).by_request().items()}
        {'a': 1, 'b': 2}
        """
        if self.request is None:
            raise ValueError("request = None: which request a step was of is not known")
        labels, code = np.unique(self.request, return_inverse=True)
        order = np.argsort(code, kind="stable")
        ends = np.cumsum(np.bincount(code, minlength=len(labels)))[:-1]
        parts = np.split(order, ends) if len(labels) else []
        return {label: self.select(part) for label, part in zip(labels.tolist(), parts, strict=True)}


def _prefixes(flags: Iterable[Iterable[Any]]) -> tuple[Array, Array]:
    """Give for each row of flags the ones before its first 0, and its length."""
    kept, judged = [], []
    for i, row in enumerate(checks.listed(flags, "flags", least=0)):
        if isinstance(row, str) or not isinstance(row, Iterable):
            raise ValueError(f"flags[{i}] = {row!r}: must be a row of flags, one row a step; [[1, 0, 1]] is one step")
        values = list(row)
        for j, value in enumerate(values):
            if not isinstance(value, bool | int | np.bool_ | np.integer) or value not in (0, 1):
                raise ValueError(f"flags[{i}][{j}] = {value!r}: must be 0 or 1")
        kept.append(values.index(0) if 0 in values else len(values))
        judged.append(len(values))
    return np.array(kept, dtype=np.int64), np.array(judged, dtype=np.int64)


def _drafted(drafted: Any, steps: int, beside: str) -> Array:
    """Give the drafted tokens of each step, from one number for all or from one a step."""
    if isinstance(drafted, int | float | np.number):
        parameters.check_count("drafted", drafted)
        return checks.whole([drafted] * steps, "drafted")
    proposed = checks.whole(drafted, "drafted")
    checks.same_length("drafted", len(proposed), beside, steps)
    return proposed
