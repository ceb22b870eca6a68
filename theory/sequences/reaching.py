"""How often a text reaches a state that is wanted."""

from collections.abc import Callable
from typing import Any

import numpy as np

from theory import linear, parameters
from theory.decode.chain import HiddenChain
from theory.models import Context, Pair
from theory.probs import Array
from theory.sequences.hidden import clip, start, step
from theory.sequences.sources import Source, check_source

PairState = tuple[Context, Context]
"""What the target and what the draft depend on, as `Pair.state` gives it."""

Goal = Callable[[PairState], bool]
"""Which states of a pair are wanted."""


def reach_probability(source: Source, pair: Pair, goal: Goal, length: int | None = None, context: Context = ()) -> Any:
    """Probability that a text ever leads to a state that is wanted, or does so within ``length`` tokens.

    Fractions are kept.

    Parameters
    ----------
    source : Plain or Decoder
        What writes the text; a `Decoder` is token-wise.
    pair : Pair
        Target and draft model; of finitely many states where ``length`` is not given.
    goal : callable
        Maps a state of the pair, as `Pair.state` gives it, to whether it is wanted.
    length : int, optional
        Tokens, at least 0.
    context : tuple of int
        Tokens so far; if their state is wanted the answer is 1.

    Returns
    -------
    float or Fraction
        A probability; exact on Fractions.

    Notes
    -----
    Within T tokens: the hidden law is carried T times, and what arrives is taken out, O(T S γ V). Ever: h = A h + a over the
    hidden states from which the goal can be reached (elsewhere h is 0), A the chain among them and a its step to the goal.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> from theory.models import markov
    >>> from theory.sequences import Plain
    >>> ruin = [[F(1), F(0), F(0)], [F(1, 2), F(1, 4), F(1, 4)], [F(0), F(0), F(1)]]
    >>> pair = markov(ruin, ruin, start=(1,))
    >>> reach_probability(Plain(), pair, lambda state: state[0] == (2,)).limit_denominator()
    Fraction(1, 3)
    >>> reach_probability(Plain(), pair, lambda state: state[0] == (2,), length=2)
    Fraction(5, 16)
    """
    if length is not None:
        parameters.check_count("length", length, 0)
    if not callable(goal):
        raise ValueError(f"goal = {goal!r}: must be a function of a state of the pair, true where it is wanted")
    context = check_source(source, pair, context)
    clipped = pair if length is None else clip(pair, length, context)
    chain = source.chain(clipped, context)
    inside = [length is None or len(current) <= len(context) + length for current in chain.states.contexts]
    contexts = zip(chain.states.contexts, inside, strict=True)
    wanted = np.array([here and bool(goal(pair.state(current))) for current, here in contexts])
    law = start(chain)
    if wanted[0]:
        return law[0, 0]
    if length is None:
        return _ever(chain, wanted)
    reached = 0 * law[0, 0]
    for _ in range(length):
        law = step(chain, law)
        reached = reached + law[wanted].sum()
        law[wanted] = 0 * reached
    return reached


def _ever(chain: HiddenChain, wanted: Array) -> Any:
    matrix = chain.transition()
    arrived = np.repeat(wanted, chain.gamma + 1)
    leads = np.asarray(matrix > 0, dtype=bool)
    able, before = arrived.copy(), 0
    while able.sum() > before:
        before = able.sum()
        able |= leads[:, able].any(axis=1)
    open_ = np.flatnonzero(able & ~arrived)
    if 0 not in open_:
        return 0 * matrix[0].sum()
    among = matrix[np.ix_(open_, open_)]
    onto = matrix[np.ix_(open_, np.flatnonzero(arrived))].sum(axis=1)
    return linear.solve(np.eye(len(open_), dtype=int) - among, onto)[0]


def pass_at_k(pass_1: Any, k: int) -> Any:
    """Chance that one of k independent texts solves a problem, 1 - (1 - c)^k, averaged over problems.

    Parameters
    ----------
    pass_1 : float, Fraction or array_like
        Each problem's Pass@1, c in [0, 1].
    k : int
        At least 1.

    Returns
    -------
    float or Fraction
        A probability; exact on Fractions.

    Raises
    ------
    ValueError
        For a value outside [0, 1], with its place.

    Notes
    -----
    The mean over problems is taken last: 1 - (1 - mean c)^k is at least as large, and is not Pass@k.

    Examples
    --------
    >>> from fractions import Fraction
    >>> pass_at_k(0.5, 2), pass_at_k([Fraction(1), Fraction(0)], 2)
    (np.float64(0.75), Fraction(1, 2))
    """
    parameters.check_count("k", k)
    chances = np.atleast_1d(np.asarray(pass_1))
    if not chances.size:
        raise ValueError("pass_1 is empty: at least one problem's probability must be given")
    for where, chance in np.ndenumerate(chances):
        name = "pass_1" if np.ndim(pass_1) == 0 else f"pass_1[{', '.join(map(str, where))}]"
        parameters.check(name, chance, "[0, 1]")
    return (1 - (1 - chances) ** int(k)).mean()
