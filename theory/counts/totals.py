"""What is known of a log that does not say how long each accepted prefix was: totals, or one published mean length."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from theory import parameters
from theory.parameters import Number


class NotKnownError(ValueError):
    """What a log does not say."""


@final
@dataclass(frozen=True)
class Totals:
    """Totals over steps: as vLLM's ``num_drafts``, ``num_draft_tokens`` and ``num_accepted_tokens``.

    Parameters
    ----------
    drafts : int
        Steps (target calls that verified a draft), at least 1. In vLLM a call for a batch counts once a request.
    drafted : int
        Proposed tokens, over all steps.
    accepted : int
        Proposed tokens that were kept, in 0..drafted; the bonus or replacement token of a step is not among them.
    emitted : int, optional
        Tokens that came out, in 0..accepted + drafts; accepted + drafts if omitted: nothing was cut short.
    gamma : int, optional
        Drafted tokens of each step, if all drafted alike: then ``drafted`` must be drafts × gamma. If omitted nothing is claimed.

    Raises
    ------
    ValueError
        Naming the argument, the value and what is allowed.

    Notes
    -----
    They determine `acceptance_rate`, `mean_accepted` and `block_efficiency`. They do not say at which position a step stopped, so
    there are no rates by position and no conditional rate, nor how much steps differ, so that an interval has to hold for any
    spread. `Counts.from_totals` is the same.

    Examples
    --------
    >>> Totals(120, 480, 301).each
    4
    >>> Totals(120, 470, 301, gamma=4)
    Traceback (most recent call last):
    ValueError: drafted = 470: must be 480, drafts = 120 times gamma = 4; leave gamma out where steps draft differently
    """

    drafts: int
    drafted: int
    accepted: int
    emitted: int | None = None
    gamma: int | None = None

    def __post_init__(self) -> None:
        parameters.check_count("drafts", self.drafts)
        for name in ("drafted", "accepted"):
            parameters.check_count(name, getattr(self, name), 0)
        if self.accepted > self.drafted:
            raise ValueError(
                f"accepted = {self.accepted}: must be at most {self.drafted}, the drafted tokens; a bonus token is not accepted"
            )
        if self.emitted is not None:
            parameters.check_count("emitted", self.emitted, 0)
            if self.emitted > self.accepted + self.drafts:
                raise ValueError(
                    f"emitted = {self.emitted}: must be at most {self.accepted + self.drafts}, the accepted tokens and one a step"
                )
        if self.gamma is not None:
            parameters.check_count("gamma", self.gamma)
            if self.drafted != self.drafts * self.gamma:
                raise ValueError(
                    f"drafted = {self.drafted}: must be {self.drafts * self.gamma}, drafts = {self.drafts} times gamma = "
                    f"{self.gamma}; leave gamma out where steps draft differently"
                )

    @property
    def each(self) -> int | None:
        """Drafted tokens of each step, if the totals are those of equal drafts; None if they cannot be."""
        whole, rest = divmod(self.drafted, self.drafts)
        return whole if whole and not rest else None

    def __str__(self) -> str:
        return f"the totals of {self.drafts} steps"


@final
@dataclass(frozen=True)
class MeanLength:
    """One published mean accepted length.

    Parameters
    ----------
    mean_accepted : float or Fraction
        E[τ], accepted drafts per step, in [0, gamma]: *without* the bonus or replacement token.
    gamma : int
        Drafted tokens of each step, at least 1.
    steps : int, optional
        Steps that it is the mean of, if known: an interval needs them.

    Raises
    ------
    ValueError
        Naming the argument, the value and what is allowed.

    Notes
    -----
    ``mean_accepted`` is kept as a Fraction; a float stands for the binary number that it is, so write Fraction("1.6") for 8/5.
    `Counts.from_mean_length` takes tokens per step as well, the bonus included.

    Examples
    --------
    >>> MeanLength(Fraction("1.6"), 3).mean_accepted
    Fraction(8, 5)
    """

    mean_accepted: Fraction
    gamma: int
    steps: int | None = None

    def __init__(self, mean_accepted: Number, gamma: int, steps: int | None = None) -> None:
        parameters.check_count("gamma", gamma)
        parameters.check("mean_accepted", mean_accepted, f"[0, {gamma}]")
        if steps is not None:
            parameters.check_count("steps", steps)
        object.__setattr__(self, "mean_accepted", Fraction(_plain(mean_accepted)))
        object.__setattr__(self, "gamma", gamma)
        object.__setattr__(self, "steps", steps)

    @classmethod
    def of(
        cls, *, drafted: int, tokens_per_call: Number | None = None, mean_accepted: Number | None = None, steps: int | None = None
    ) -> "MeanLength":
        """Take a mean under the name that says whether the bonus is in it; `Counts.from_mean_length` documents it."""
        parameters.check_count("drafted", drafted)
        if (tokens_per_call is None) == (mean_accepted is None):
            raise ValueError(
                "give one of tokens_per_call, which counts the target's own token of each step, and mean_accepted, which does not"
            )
        if mean_accepted is not None:
            return cls(mean_accepted, drafted, steps)
        try:
            parameters.check("tokens_per_call", tokens_per_call, f"[1, {drafted + 1}]")
        except ValueError as error:
            raise ValueError(f"{error}, 1 to drafted + 1: it counts the target's own token; mean_accepted does not") from None
        return cls(Fraction(_plain(tokens_per_call)) - 1, drafted, steps)

    def __str__(self) -> str:
        return f"a mean length at {self.gamma} drafted tokens"


def _plain(value: Any) -> Any:
    """Give a number as Fraction takes it: numpy's own as Python's."""
    return value.item() if hasattr(value, "item") else value
