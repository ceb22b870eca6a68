"""Positions of a trace: one that is asked for, or those where a verifier distorts most."""

from typing import Any

import numpy as np

from theory import exact, parameters, probs
from theory.failure.explaining.explanation import Explanation
from theory.failure.explaining.pair import SHARE, check, explain_checked
from theory.failure.explaining.texts import Texts, text_of
from theory.failure.explaining.words import count, quoted
from theory.parameters import Number
from theory.traces import Trace
from theory.verifiers import TokenVerifier

DECIMALS = 12
"""Of a quantity by which positions are ranked; what differs beyond them is rounding, and a tie."""


def explain_position(
    verifier: TokenVerifier | str,
    trace: Trace,
    position: int,
    *,
    ceiling: Number | None = None,
    share: Number = SHARE,
    texts: Texts | None = None,
) -> Explanation:
    """Explain what a verifier does at one position of a trace.

    Parameters
    ----------
    verifier : TokenVerifier or str
        The rule or its name.
    trace : Trace
        Of a truncated one, the tail is one entry, in as many tokens as `Trace.with_tail_tokens` was told.
    position : int
        Row of the trace, from 0.
    ceiling, share, texts
        As for `explain`. A trace holds ids and no texts.

    Returns
    -------
    Explanation
        With ``position`` and ``context``.

    Raises
    ------
    ValueError
        For a position that the trace does not have, and as for `explain`.

    Examples
    --------
    >>> from theory.traces import Trace
    >>> from theory.verifiers import GreedyMatch
    >>> trace = Trace.from_rows([[0.5, 0.5], [0.25, 0.75]], [[0.5, 0.5], [0.5, 0.5]], tokens=[0, 1])
    >>> print(explain_position(GreedyMatch(), trace, 1, texts=["no", "yes"]))
    greedy-match at position 1 (the text has 1 'yes'): accepts 0.5, TV to the target 0.25.
    Gained: 0.25 in underestimated (kept). Lost: 0.25 in moderate (discarded). Ceiling 2 p (the default; the rule has none).
    2 tokens carry 1 of that: 0 'no', 1 'yes'.
    Support lost: 1 token with p > 0, mass 0.25 of p.
    Compare it with the target's most probable token: TV 0.
    """
    rule = check(verifier, ceiling, share, texts)
    _check_trace(trace)
    parameters.check_count("position", position, least=0)
    if position >= len(trace):
        raise ValueError(f"position = {position}: {trace.where} has the positions 0..{len(trace) - 1}")
    p, q = probs.check_pair(trace.p[position], trace.q[position])
    ids = np.asarray(trace.ids[position])
    return explain_checked(rule, p, q, ceiling, share, ids, texts, int(position), _context(trace, position, texts))


def explain_positions(
    verifier: TokenVerifier | str,
    trace: Trace,
    worst: int = 3,
    by: str = "total_variation",
    *,
    ceiling: Number | None = None,
    share: Number = SHARE,
    texts: Texts | None = None,
) -> list[Explanation]:
    """Explain the positions of a trace where a verifier distorts most.

    Parameters
    ----------
    verifier : TokenVerifier or str
        The rule or its name.
    trace : Trace
        As for `explain_position`.
    worst : int
        How many positions, at least 1 and at most those of the trace.
    by : str
        A key of `theory.exact.QUANTITIES`; the largest are the worst.
    ceiling, share, texts
        As for `explain`.

    Returns
    -------
    list of Explanation
        The worst position first; of those that are equal to `DECIMALS`, the first in the trace.

    Raises
    ------
    ValueError
        For a quantity that does not exist, or that the rule does not have, more positions than there are, and as for `explain`.

    Notes
    -----
    Streams over the positions.

    Examples
    --------
    >>> from theory.traces import Trace
    >>> from theory.verifiers import CoS
    >>> trace = Trace.from_rows([[0.5, 0.5], [0.5, 0.5], [0.2, 0.8]], [[0.5, 0.5], [0.9, 0.1], [0.6, 0.4]])
    >>> explain_positions(CoS(0.5), trace, worst=2)
    [<Explanation: cos:0.5 at position 1, TV 0.2>, <Explanation: cos:0.5 at position 2, TV 0.2>]
    """
    rule = check(verifier, ceiling, share, texts)
    _check_trace(trace)
    parameters.check_count("worst", worst)
    check_quantity(by)
    if worst > len(trace):
        raise ValueError(f"worst = {worst}: {trace.where} has {len(trace)} positions")
    values, places = np.empty(0), np.empty(0, dtype=np.intp)
    for part in probs.chunks(len(trace), trace.p.shape[1]):
        own = exact.summarise(rule, trace.p[part], trace.q[part], [by], part.start)[by]
        values = np.append(values, np.round(np.asarray(own, dtype=np.float64), DECIMALS))
        places = np.append(places, np.arange(part.start, part.stop))
        if np.isnan(values).any():
            raise ValueError(f"by = {by!r}: {rule} has no true baseline but the target")
        order = np.argsort(-values, kind="stable")[:worst]  # earlier positions stand first, so that they win a tie
        values, places = values[order], places[order]
    return [explain_position(rule, trace, int(place), ceiling=ceiling, share=share, texts=texts) for place in places]


def check_quantity(by: str) -> None:
    """Raise unless there is such a quantity.

    Examples
    --------
    >>> check_quantity("speed")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ValueError: by = 'speed': must be one of acceptance_rate, rejection_rate, ...
    """
    parameters.check_choice("by", by, exact.QUANTITIES)


def _check_trace(trace: Any) -> None:
    if not isinstance(trace, Trace):
        raise ValueError(f"trace is a {type(trace).__name__}: must be a theory.Trace")


def _context(trace: Trace, position: int, texts: Texts | None) -> str:
    parts = []
    if trace.prompt_id is not None:
        parts.append(f"prompt {trace.prompt_id[position]}")
    if trace.position is not None:
        parts.append(f"after {count(int(trace.position[position]))}")
    if trace.tokens is not None and trace.tokens[position] >= 0:
        token = int(trace.tokens[position])
        parts.append(f"the text has {quoted(token, text_of(token, texts))}")
    return ", ".join(parts)
