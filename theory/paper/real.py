"""Texts of a real pair, for the versions of the figures that are computed from them: the bundled trace, or one of your own.

The bundled one has 512 positions of SmolLM2-135M-Instruct and an early-exit draft of it: 64 consecutive ones after each of 8
prompts, in a text sampled from the target. The draft is far worse than the paper's: strict verification accepts .61 of its
tokens. So axes differ, and shapes may be compared.

Neighbouring positions are taken as they stand, not as independent. The texts are the target's own, so that for a lossy rule a
block here is its first after a text of the target's, not its long run.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, TypeAlias, cast, final

import numpy as np

from theory import exact, parameters, probs, sources, synthetic, traces
from theory.paper.intervals import Interval, over_prompts
from theory.probs import Array, RowsLike
from theory.sources import TraceLike
from theory.verifiers import TokenVerifier

PAIR = "SmolLM2"
"""What stands for a benchmark on the bundled trace."""

TAIL_TOKENS = 1024
"""Equal tokens over which the unrecorded mass is spread, so that no gate takes the tail for a token."""

Rows: TypeAlias = tuple[RowsLike, RowsLike] | TraceLike | Sequence[TraceLike]
"""What a figure takes for rows: (p, q), the short name of synthetic ones, a trace, the path of one, or a list of traces."""


@final
@dataclass(frozen=True, eq=False)
class Texts:
    """Rows along texts, one text after the other.

    Parameters
    ----------
    p, q : ndarray, shape (positions, V)
        Rows of the target and of the draft.
    lengths : tuple of int
        Positions of each text.
    name : str
        What stands for a benchmark.
    """

    p: Array
    q: Array
    lengths: tuple[int, ...]
    name: str

    def each(self, values: Any) -> list[Array]:
        """Give values at all positions, shape (positions, ...), text by text."""
        values, ends = np.asarray(values), accumulate(self.lengths, initial=0)
        return [values[start:end] for start, end in pairwise(ends)]

    def means(self, values: Any) -> Array:
        """Give the mean of values, shape (positions,), over each text; shape (texts,)."""
        return np.array([own.mean() for own in self.each(values)])

    def acceptance(self, verifier: TokenVerifier) -> list[Array]:
        """Give the acceptance rates along each text, probabilities."""
        return self.each(np.asarray(exact.acceptance_rate(verifier, self.p, self.q), dtype=float))


@cache
def bundled() -> Texts:
    """Give the texts of the bundled trace, with the tail spread."""
    return _of_traces([traces.example()], PAIR)


def texts(given: Rows | None = None, name: str = "trace") -> Texts:
    """Give the texts of a trace, of several, or of rows.

    Parameters
    ----------
    given : (p, q) of shape (positions, V); short name of `theory.synthetic.parse`; Trace, path of one, or list of these; optional
        The bundled trace where it is not given. Rows that belong to no prompt are one text. A truncated trace spreads the mass
        that it did not record over `TAIL_TOKENS` equal tokens, or as many as its vocabulary leaves.
    name : str
        What error messages call it.

    Raises
    ------
    ValueError
        As `theory.sources.rows`, `theory.traces.read` and `theory.synthetic.parse` do.

    Examples
    --------
    >>> texts().name, len(texts().lengths)
    ('SmolLM2', 8)
    >>> texts("zipf:30,corruption=noise,count=5,seed=1").lengths
    (5,)
    """
    if given is None:
        return bundled()
    if isinstance(given, str) and given.partition(":")[0] in synthetic.FAMILIES:
        return _of_rows(*synthetic.parse(given), given)
    if not sources.is_trace(given):
        if not (isinstance(given, tuple) and len(given) == 2):
            raise ValueError(
                f"{name} = {_shown(given)}: must be rows (p, q), synthetic ones by name, a Trace, or the path of one"
            )
        p, q = cast("tuple[RowsLike, RowsLike]", given)
        return _of_rows(p, q, "rows")
    listed = list(given) if isinstance(given, list | tuple) else [given]
    opened = [one if isinstance(one, traces.Trace) else traces.read(Path(one)) for one in listed]  # type: ignore[arg-type]
    return _of_traces(opened, Path(opened[0].where).stem if len(opened) == 1 else f"{len(opened)} traces")


def _shown(given: Any) -> str:
    return type(given).__name__ if isinstance(given, np.ndarray | list | tuple) else repr(given)


def _of_rows(p: RowsLike, q: RowsLike, name: str) -> Texts:
    target, draft = sources.rows(p, q)
    length = len(target)
    p, q = (probs.as_float(own) for own in sources.arrays(target[0:length], draft[0:length]))
    return Texts(p, q, (length,), name)


def _of_traces(opened: list[traces.Trace], name: str) -> Texts:
    whole = [_spread(one) for one in opened]
    target, draft = sources.rows(whole)
    lengths = tuple(length for one in whole for length in _lengths(one))
    return Texts(np.asarray(target[0 : len(target)]), np.asarray(draft[0 : len(draft)]), lengths, name)


def _spread(trace: traces.Trace) -> traces.Trace:
    if not isinstance(trace.p, traces.RaggedRows):
        return trace
    return trace.with_tail_tokens(min(TAIL_TOKENS, max(1, trace.vocabulary - trace.p.longest)))


def _lengths(trace: traces.Trace) -> list[int]:
    """Give the positions of each text: the runs of one prompt."""
    if trace.prompt_id is None:
        return [len(trace)]
    starts = np.flatnonzero(np.diff(np.asarray(trace.prompt_id))) + 1
    return [int(length) for length in np.diff([0, *starts, len(trace)])]


def rows() -> tuple[Array, Array]:
    """Give the rows of the bundled pair, (512, width) each, with the tail spread."""
    return bundled().p, bundled().q


@cache
def acceptance(verifier: TokenVerifier) -> Array:
    """Give the acceptance rate at each position of the bundled pair, shape (8 prompts, 64 positions); a probability."""
    return np.array(bundled().acceptance(verifier))


def accepted_length(rates: Iterable[Array], gamma: int) -> Array:
    """Drafted tokens kept along each text, Σ_i E[a_t ... a_(t+i-1)], the mean over all places t where γ of them fit.

    Parameters
    ----------
    rates : iterable of ndarray, shape (positions,)
        Acceptance rates, text by text.
    gamma : int
        Drafted tokens, or levels of a tree.

    Returns
    -------
    ndarray, shape (texts,)
        Tokens, without the extra one.

    Raises
    ------
    ValueError
        Where gamma is not a whole number that fits into each text.

    Examples
    --------
    >>> accepted_length([np.array([1.0, 0.5, 0.5])], gamma=2)
    array([1.125])
    """
    rates = list(rates)
    parameters.check_count("gamma", gamma)
    shortest = min(len(own) for own in rates)
    if gamma > shortest:
        raise ValueError(f"gamma = {gamma}: must be a whole number in [1, {shortest}], the positions of the shortest text")
    windows = (np.lib.stride_tricks.sliding_window_view(own, gamma) for own in rates)
    return np.array([np.cumprod(window, axis=-1).sum(axis=-1).mean() for window in windows])


def block_efficiency(rates: Iterable[Array], gamma: int) -> Interval:
    """Block efficiency along the texts, `accepted_length` plus 1: tokens per target call, the mean over texts with its band.

    Examples
    --------
    >>> from theory.verifiers import Strict
    >>> round(block_efficiency(acceptance(Strict()), gamma=10).value, 2)
    2.81
    """
    return over_prompts(1 + accepted_length(rates, gamma))
