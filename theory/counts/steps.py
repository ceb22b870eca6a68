"""Counts: what was drafted, accepted and emitted, one entry a step; checked once, here."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from theory import parameters
from theory.counts import checks
from theory.probs import Array


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
    request : array_like of int or str, shape (steps,)
        The request that a step belongs to, any labels in any order.

    Raises
    ------
    ValueError
        Naming the argument, the value, its place and what is allowed.

    Notes
    -----
    The fields become read-only copies: int64, bool for ``censored``, the labels' own type for ``request``.
    `Counts.of` fills in what is usual, `Counts.from_flags` counts flags.

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
    request: Array

    def __post_init__(self) -> None:
        fields = {
            "drafted": checks.whole(self.drafted, "drafted"),
            "accepted": checks.whole(self.accepted, "accepted"),
            "emitted": checks.whole(self.emitted, "emitted"),
            "censored": checks.booleans(self.censored, "censored"),
            "request": checks.labels(self.request, "request"),
        }
        for name, array in fields.items():
            checks.same_length(name, len(array), "drafted", len(fields["drafted"]))
            array.flags.writeable = False
            object.__setattr__(self, name, array)
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
        return cls(proposed, kept, came_out, unseen, labels)

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
        return cls.of(kept, drafted=proposed, emitted=emitted, censored=unseen, request=request)

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
        return Counts(self.drafted[at], self.accepted[at], self.emitted[at], self.censored[at], self.request[at])

    def by_request(self) -> "dict[Hashable, Counts]":
        """Give the counts of each request under its label, the labels in ascending order.

        Examples
        --------
        >>> {name: len(steps) for name, steps in Counts.of([3, 0, 3], drafted=4, request=["b", "a", "b"]).by_request().items()}
        {'a': 1, 'b': 2}
        """
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
