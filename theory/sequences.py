"""Whole texts: how far a decode of T tokens is from the target's, and how often it reaches what it should.

A *source* writes text: `Plain` samples from one model of a pair, possibly truncated; `Decoder` runs a block rule. A token-wise
decoder is a hidden chain on (state of the pair, tokens accepted so far in the block), since its bonus token comes from p and not
from the rule's law. Everything here is linear algebra on that chain, or a walk over what a reader of the text knows of it:

* KL by the chain rule, Σ_t E KL(π_t(· | text) || p_t), where π_t mixes over the *belief* on the accepted tokens given the text;
* TV from the law of (state, belief, P/Π), where that stays small;
* beyond a budget, bounds that hold with certainty, up to rounding: see `distortions`.

Where the law of the next token depends on the state alone (a lossless rule, a relaxed bonus, plain sampling) there is nothing to
believe, and KL is exact at any length. On Fractions TV, state laws and reach probabilities are exact; KL is a float.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from theory import divergences, linear, parameters, probs
from theory.blocks import BlockVerifier, Tokenwise
from theory.decode import enumeration
from theory.decode.chain import HiddenChain, hidden_chain, states
from theory.models import Context, Model, Pair
from theory.parameters import Number
from theory.probs import Array
from theory.truncation import Truncation

if TYPE_CHECKING:
    import pandas as pd

BUDGET = 4096
"""Beliefs (and likelihood ratios) that are told apart at most; beyond it there are bounds."""

DIGITS = 12
"""Decimals to which beliefs and logarithms of likelihood ratios in floats must agree to be merged."""

SAME = 1e-12
"""Float laws that differ by no more than this are one law."""

_WIDEST = 2.0**10  # wider than any logarithm of a float's ratio

PairState = tuple[Context, Context]
"""What the target and what the draft depend on, as `Pair.state` gives it."""

Goal = Callable[[PairState], bool]
"""Which states of a pair are wanted."""


# --- sources of text ------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class Plain:
    """Sample every token from one model of the pair.

    Parameters
    ----------
    model : str
        ``"target"`` or ``"draft"``.
    truncation : Truncation, optional
        Truncates each row first: with the target this is the true baseline of a truncation-based rule.

    Examples
    --------
    >>> from theory.models import iid
    >>> Plain("draft").chain(iid([0.5, 0.5], [0.25, 0.75])).tokens.tolist()
    [[[0.25, 0.75]]]
    """

    model: str = "target"
    truncation: Truncation | None = None

    def __post_init__(self) -> None:
        if self.model not in ("target", "draft"):
            raise ValueError(f"model = {self.model!r}: must be one of target, draft")
        if self.truncation is not None and not isinstance(self.truncation, Truncation):
            raise ValueError(f"truncation = {self.truncation!r}: must be a Truncation, such as MinP(0.1), or None")

    def chain(self, pair: Pair, context: Context = ()) -> HiddenChain:
        """Give the chain on the states of the pair, as a hidden chain without accepted tokens."""
        found = states(pair, context)
        rows = np.stack([pair.rows(current)[self.model == "draft"] for current in found.contexts])
        if self.truncation is not None:
            rows = self.truncation.truncate(rows)
        return HiddenChain(found, 0, 0 * rows[:, None], rows[:, None])


@final
@dataclass(frozen=True)
class Decoder:
    """Run a block rule, block after block.

    Parameters
    ----------
    block : BlockVerifier
        The rule. `Tokenwise` is a hidden chain; others are enumerated, so that texts must be short.
    gamma : int
        Drafted tokens in a block.

    Examples
    --------
    >>> from theory.models import iid
    >>> from theory.verifiers import Lenience
    >>> Decoder(Tokenwise(Lenience(0.5)), 2).chain(iid([0.5, 0.5], [0.25, 0.75])).gamma
    2
    >>> Decoder(Tokenwise(Lenience(0.5), bonus="relaxed"), 2).chain(iid([0.5, 0.5], [0.25, 0.75])).gamma
    0
    """

    block: BlockVerifier
    gamma: int

    def __post_init__(self) -> None:
        if not isinstance(self.block, BlockVerifier):
            raise ValueError(f"block = {self.block!r}: must be a BlockVerifier, such as Tokenwise(Strict())")
        parameters.check_count("gamma", self.gamma)

    def chain(self, pair: Pair, context: Context = ()) -> HiddenChain:
        """Give the hidden chain, without accepted tokens (γ = 0) where the law of the next token depends on the state alone."""
        chain = hidden_chain(self.block, pair, self.gamma, context)  # type: ignore[arg-type]  # refuses other rules itself
        laws = chain.tokens
        last = laws[:, -1:]
        if not np.all(np.abs(laws - last) <= (0 if probs.is_exact(laws) else SAME)):
            return chain
        return HiddenChain(chain.states, 0, 0 * last, last)


Source = Plain | Decoder
"""What writes text."""


@final
@dataclass(frozen=True, eq=False)
class _Clipped(Model):
    """A model that is not followed beyond ``depth`` tokens of context, so that any model has finitely many states."""

    model: Model
    depth: int

    @property
    def size(self) -> int:
        return self.model.size

    def row(self, context: Context) -> Array:
        return self.model.row(context)

    def state(self, context: Context) -> Context:
        return self.model.state(context) if len(context) <= self.depth else (-1,)


def _clip(pair: Pair, length: int, context: Context) -> Pair:
    """Give the pair up to ``length`` tokens after ``context``: a state is found at its least depth, so that no text changes."""
    if not isinstance(pair, Pair):
        raise ValueError(f"pair = {pair!r}: must be a Pair of models, such as iid(p, q)")
    depth = len(context) + length
    return Pair(_Clipped(pair.target, depth), _Clipped(pair.draft, depth))


def _start(chain: HiddenChain) -> Array:
    """Give the hidden law before the first token: the first state, nothing accepted."""
    law: Array = 0 * chain.ended[:, :, 0]
    law[0, 0] = chain.ended[0, -1].sum() ** 0
    return law


def _step(chain: HiddenChain, law: Array) -> Array:
    """Carry a hidden law, shape (states, gamma + 1), over one token."""
    then: Array = 0 * law
    np.add.at(then[:, 0], chain.states.after, (law[:, :, None] * chain.ended).sum(axis=1))
    for so_far in range(chain.gamma):
        np.add.at(then[:, so_far + 1], chain.states.after, law[:, so_far, None] * chain.accepted[:, so_far])
    return then


# --- laws of texts and of states ------------------------------------------------------------------------------------


def sequence_law(source: Source, pair: Pair, length: int, context: Context = ()) -> Array:
    """Law of the first ``length`` tokens of a source, Π(x_1, ..., x_T), by a forward recursion over all texts.

    Parameters
    ----------
    source : Plain or Decoder
        What writes the text.
    pair : Pair
        Target and draft model.
    length : int
        Tokens, T.
    context : tuple of int
        Tokens so far.

    Returns
    -------
    ndarray, shape (V,) * length
        A joint law, exact on Fractions.

    Raises
    ------
    ValueError
        Where there are more texts than `theory.decode.enumeration.BUDGET`; `distortions` needs no texts.

    Notes
    -----
    A text carries its vector of weights over the accepted tokens so far, Π(text, j); cost O(V^T γ). Rules that are not
    token-wise go through `theory.decode.enumeration.induced_sequence`.

    Examples
    --------
    >>> from theory.models import iid
    >>> from theory.verifiers import Lenience
    >>> decoder = Decoder(Tokenwise(Lenience(0.5)), gamma=1)
    >>> sequence_law(decoder, iid([0.5, 0.5], [0.0, 1.0]), 2).tolist()
    [[0.0, 0.0], [0.5, 0.5]]
    """
    parameters.check_count("length", length)
    if pair.size**length > enumeration.BUDGET:
        raise ValueError(
            f"length = {length}: {pair.size}^{length} texts, at most {enumeration.BUDGET:,} are walked; "
            "distortions gives exact values and bounds without them"
        )
    if isinstance(source, Decoder) and not isinstance(source.block, Tokenwise):
        return enumeration.induced_sequence(source.block, pair, source.gamma, length, context, continue_with="decoder")
    chain = source.chain(_clip(pair, length, context), context)
    at, weights = np.zeros(1, dtype=np.intp), _start(chain)[:1]
    for _ in range(length):
        ended, kept = _branches(chain, at, weights)
        weights = np.concatenate([ended[:, None], kept], axis=1).swapaxes(1, 2).reshape(-1, chain.gamma + 1)
        at = chain.states.after[at].ravel()
    return np.asarray(weights.sum(axis=1).reshape((pair.size,) * length))


def _branches(chain: HiddenChain, at: Array, weights: Array) -> tuple[Array, Array]:
    """Share weights over the accepted tokens, (n, gamma + 1), among next tokens: block ended, (n, V), and not, (n, gamma, V)."""
    ended = (weights[:, :, None] * chain.ended[at]).sum(axis=1)
    return ended, weights[:, :-1, None] * chain.accepted[at, :-1]


def state_laws(source: Source, pair: Pair, length: int, context: Context = ()) -> "pd.DataFrame":
    """Law of the state of the pair after 0, 1, ..., ``length`` tokens.

    Parameters
    ----------
    source, pair, length, context
        As for `sequence_law`; a `Decoder` is token-wise. The length may be large.

    Returns
    -------
    DataFrame, index ``tokens`` 0..length
        A column for each state of the pair, each row a law.

    Examples
    --------
    >>> from theory.models import markov
    >>> pair = markov([[0.5, 0.5], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]])
    >>> state_laws(Plain(), pair, 2).to_numpy().tolist()
    [[1.0, 0.0], [0.5, 0.5], [0.25, 0.75]]
    """
    import pandas as pd

    parameters.check_count("length", length)
    clipped = _clip(pair, length, context)
    chain = source.chain(clipped, context)
    laws, law = [], _start(chain)
    for time in range(length + 1):
        law = _step(chain, law) if time else law
        laws.append(law.sum(axis=1))
    columns = [clipped.state(current) for current in chain.states.contexts]
    kept = [place for place, current in enumerate(chain.states.contexts) if len(current) <= len(context) + length]
    index = pd.RangeIndex(length + 1, name="tokens")
    return pd.DataFrame(
        np.stack(laws)[:, kept], index=index, columns=pd.Index([columns[place] for place in kept], tupleize_cols=False)
    )


def state_drift(source: Source, pair: Pair, length: int, reference: Source | None = None, context: Context = ()) -> Array:
    """Distance between the states that two sources visit: TV between their laws after 0, 1, ..., ``length`` tokens.

    Parameters
    ----------
    source, pair, length, context
        As for `state_laws`.
    reference : Plain or Decoder, optional
        The source compared with; plain sampling from the target where it is not given.

    Returns
    -------
    ndarray, shape (length + 1,)
        Probabilities. Each is a lower bound on the TV between texts at least that long.

    Examples
    --------
    >>> from theory.models import markov
    >>> pair = markov([[0.5, 0.5], [0.0, 1.0]], [[0.5, 0.5], [0.5, 0.5]])
    >>> state_drift(Plain("draft"), pair, 3).tolist()
    [0.0, 0.0, 0.25, 0.375]
    """
    laws = state_laws(source, pair, length, context).to_numpy()
    others = state_laws(Plain() if reference is None else reference, pair, length, context).to_numpy()
    return np.asarray(np.abs(laws - others).sum(axis=1) / 2)


# --- distance from the target ---------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class Distortion:
    """How far the law of a text is from the reference's, exactly where known, and between bounds.

    Attributes
    ----------
    tokens : int
        Length of the text, T.
    kl, kl_low, kl_high : float
        KL(Π || P) in nats: exact, or NaN beyond the budget; bounds.
    tv, tv_low, tv_high : float or Fraction
        TV(Π, P), a probability: exact, or NaN beyond the budget; bounds.
    """

    tokens: int
    kl: float
    kl_low: float
    kl_high: float
    tv: Any
    tv_low: Any
    tv_high: Any


def distortion(
    source: Source, pair: Pair, length: int, reference: Plain | None = None, context: Context = (), budget: int = BUDGET
) -> Distortion:
    """KL and TV between the first ``length`` tokens of a source and of the reference; the last row of `distortions`.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> from theory.models import iid
    >>> from theory.verifiers import Lenience
    >>> golden = iid([F(4, 10), F(3, 10), F(2, 10), F(1, 10)], [F(4, 20), F(5, 20), F(5, 20), F(6, 20)])
    >>> found = distortion(Decoder(Tokenwise(Lenience(F(1, 2))), gamma=2), golden, length=3)
    >>> found.tv, round(found.kl, 6)
    (Fraction(419, 2000), 0.13644)
    """
    last = distortions(source, pair, length, reference, context, budget).iloc[-1]
    kl, kl_low, kl_high = (float(last[name]) for name in ("kl", "kl_low", "kl_high"))
    return Distortion(int(length), kl, kl_low, kl_high, last["tv"], last["tv_low"], last["tv_high"])


def distortions(
    source: Source, pair: Pair, length: int, reference: Plain | None = None, context: Context = (), budget: int = BUDGET
) -> "pd.DataFrame":
    """KL and TV between the first t tokens of a source and of the reference, t = 1..T, with their bounds.

    Parameters
    ----------
    source : Plain or Decoder
        Writes with the law Π.
    pair : Pair
        Target and draft model.
    length : int
        T.
    reference : Plain, optional
        Writes with the law P; the target where it is not given. ``Plain(truncation=...)`` is the true baseline.
    context : tuple of int
        Tokens so far.
    budget : int
        Beliefs, and likelihood ratios, that are told apart at most.

    Returns
    -------
    DataFrame, one row for each t
        ``tokens``; ``kl``, ``kl_low``, ``kl_high`` in nats; ``tv``, ``tv_low``, ``tv_high``, probabilities; ``kl`` and ``tv`` are
        NaN where the budget was exceeded, and equal to their bounds where it was not. Then what the bounds are made of:
        ``tv_states`` (lower), ``tv_sum``, ``tv_product``, ``tv_coupling``, ``tv_ceiling``, ``tv_pinsker``,
        ``tv_bretagnolle_huber`` and ``kl_ceiling`` (upper). For rules that are not token-wise these are NaN, and all is exact,
        by enumeration.

    Notes
    -----
    With law_{s,j} the law of the next token in the hidden state (s, j), p_s the reference's, and μ_t the hidden law at t:

    * KL is Σ_t E KL(π_t || p_t), π_t = Σ_j b(j) law_{s,j} for the belief b given the text; equal (s, b) are merged. Over
      budget, the reader is made to forget (all beliefs in a state averaged) or is told j: by convexity of KL, conditioning on
      less of the past gives a lower bound and on more of it an upper one. Both go on from there, so they keep close.
    * TV is E_Π (1 - P/Π)+ over (s, b, P/Π). Over budget, ratios that are near are merged: the TV between laws of a function of
      the text, a lower bound. So is ``tv_states``, the greatest `state_drift` from the reference so far.
    * ``tv_sum``: Σ_t E TV(law_{s,j}, p_s). ``tv_product``: 1 - Π_t (1 - δ_t), δ_t the largest TV(law_{s,j}, p_s) that can occur
      at t: both texts are coupled token by token. ``tv_coupling``: 1 - P(that coupling holds for t tokens), where a token x
      counts with min(law_{s,j}, p_s)(x); at most the two before. Beyond the budget ``tv_high`` also takes the last exact TV
      plus the terms of ``tv_sum`` since then.
    * ``tv_ceiling``: 1 - 1/C and ``kl_ceiling`` ln C, C = Π_t c_t, where law_{s,j} <= c_t p_s; see `lenience_guarantee`.
    * ``tv_pinsker``: √(KL/2); ``tv_bretagnolle_huber``: √(1 - exp(-KL)), both of the upper bound on KL. The latter also gives
      KL >= -ln(1 - TV²) from the lower bound on TV.

    Cost: O(T budget γ V). Rounded beliefs are merged to `DIGITS` decimals.

    Examples
    --------
    >>> from theory.models import iid
    >>> from theory.verifiers import Lenience
    >>> decoder = Decoder(Tokenwise(Lenience(0.5)), gamma=2)
    >>> table = distortions(decoder, iid([0.4, 0.3, 0.2, 0.1], [0.2, 0.25, 0.25, 0.3]), length=30, budget=64)
    >>> table[["kl", "kl_low", "kl_high"]].iloc[[1, 29]].round(4).to_numpy().tolist()
    [[0.1322, 0.1322, 0.1322], [nan, 1.104, 1.3579]]
    """
    import pandas as pd

    parameters.check_count("length", length)
    parameters.check_count("budget", budget)
    reference = Plain() if reference is None else reference
    if not isinstance(reference, Plain):
        raise ValueError(f"reference = {reference!r}: must be Plain, since its next token must depend on the state alone")
    if isinstance(source, Decoder) and not isinstance(source.block, Tokenwise):
        return _by_enumeration(source, pair, length, reference, context)
    clipped = _clip(pair, length, context)
    chain = source.chain(clipped, context)
    rows = reference.chain(clipped, context).ended[:, 0]
    table = pd.DataFrame(_bounds(chain, rows, length), columns=[*_BOUNDS], index=range(length))
    table["kl"], table["kl_low"], table["kl_high"] = np.array([*_kl(chain, rows, length, budget)]).T
    tv, tv_low = zip(*_tv(chain, rows, length, budget), strict=True)
    low = [now if now == now else max(few) for now, *few in zip(tv, tv_low, table["tv_states"], strict=True)]
    with np.errstate(divide="ignore"):
        least = -np.log1p(-np.minimum(np.array(low, dtype=float) ** 2, 1))
    unknown = table["kl"].isna()
    table["kl_high"] = np.where(unknown, np.minimum(table["kl_high"], table["kl_ceiling"]), table["kl"])
    table["kl_low"] = np.where(unknown, np.maximum(table["kl_low"], least), table["kl"])
    table["tv_pinsker"] = np.sqrt(table["kl_high"] / 2)
    table["tv_bretagnolle_huber"] = np.sqrt(-np.expm1(-table["kl_high"]))
    table["tv"], table["tv_low"], table["tv_high"] = pd.Series(tv), pd.Series(low), pd.Series(_highest(tv, table))
    table["tokens"] = range(1, length + 1)
    return table[[*_COLUMNS]]


_BOUNDS = ("tv_states", "tv_sum", "tv_product", "tv_coupling", "tv_ceiling", "kl_ceiling")
_COLUMNS = (*(field.name for field in fields(Distortion)), *_BOUNDS[:5], "tv_pinsker", "tv_bretagnolle_huber", "kl_ceiling")


def _highest(tv: tuple[Any, ...], table: "pd.DataFrame") -> Iterator[Any]:
    """Give the exact TV while it is known; then the least upper bound, one of which adds to the last exact value."""
    last, behind = 0, 0
    names = ("tv_coupling", "tv_ceiling", "tv_pinsker", "tv_bretagnolle_huber")
    for place, exact in enumerate(tv):
        if exact == exact:  # not NaN
            last, behind = exact, table["tv_sum"].iloc[place]
            yield exact
        else:
            onward = last + (table["tv_sum"].iloc[place] - behind)
            yield min(onward, *(table[name].iloc[place] for name in names))


def _bounds(chain: HiddenChain, rows: Array, length: int) -> Iterator[tuple[Any, ...]]:
    """Give the columns `_BOUNDS` for each number of tokens."""
    laws = chain.tokens
    beside = np.broadcast_to(rows[:, None], laws.shape)
    apart = np.abs(laws - beside).sum(axis=-1) / 2
    over = _ratio(laws, beside, np.inf).max(axis=-1)
    shared = _ratio(np.minimum(laws, beside), laws, 0)
    coupled = replace(chain, accepted=chain.accepted * shared, ended=chain.ended * shared)
    target = HiddenChain(chain.states, 0, 0 * rows[:, None], rows[:, None])
    law, together, other = _start(chain), _start(chain), _start(target)
    one = law[0, 0]
    drift, added, kept, under, ceiling = 0 * one, 0 * one, one, one, 0.0
    for _ in range(length):
        some = law > 0
        added = added + (law * apart).sum()
        kept = kept * (1 - apart[some].max())
        most = max(over[some].max(), one)
        under, ceiling = (0 * one if most == np.inf else under / most), ceiling + _log(most)
        law, together, other = _step(chain, law), _step(coupled, together), _step(target, other)
        drift = max(drift, np.abs(law.sum(axis=1) - other[:, 0]).sum() / 2)
        yield drift, added, 1 - kept, 1 - together.sum(), 1 - under, ceiling


def _log(value: Any) -> float:
    """Natural logarithm, of a Fraction also where it or its parts are beyond the range of floats."""
    if isinstance(value, Fraction):
        return math.log(value.numerator) - math.log(value.denominator)
    return float(np.log(value))


def _ratio(above: Array, below: Array, otherwise: Any) -> Array:
    """Give above/below; 0/0 is 0, and what is above 0 without anything below it is ``otherwise``."""
    some = below > 0
    with np.errstate(over="ignore"):
        return np.asarray(np.where(some, above / np.where(some, below, 1), np.where(above > 0, otherwise, 0 * above)))


# --- what a reader of the text knows ---------------------------------------------------------------------------------


class _Table(NamedTuple):
    """Kinds of texts: all that have one state, one belief and one likelihood ratio."""

    state: Array
    """Of the pair, shape (n,)."""
    belief: Array
    """P(accepted so far | text), shape (n, gamma + 1)."""
    weight: Array
    """Π(such a text), shape (n,), positive."""
    ratio: Array
    """P/Π, shape (n,); 1 where it is not followed."""

    def merge(self, *keys: Array) -> "_Table":
        """Merge the rows that agree in state and keys, each (n, m), into their mean: the law of a function of the text."""
        at = _labels([self.state[:, None], *keys])
        count = int(at.max()) + 1
        if count == len(at):
            return self
        first = np.empty(count, dtype=np.intp)
        first[at[::-1]] = np.arange(len(at))[::-1]
        weight = _gather(at, count, self.weight)
        belief = _gather(at, count, self.weight[:, None] * self.belief) / weight[:, None]
        return _Table(self.state[first], belief, weight, _gather(at, count, self.weight * self.ratio) / weight)

    def merge_equal(self) -> "_Table":
        """Merge what has one future."""
        belief, ratio = self.belief[:, 1:], self.ratio[:, None]
        if not probs.is_exact(self.weight):
            belief, ratio = np.round(belief, DIGITS), np.round(self._log_ratio(), DIGITS)[:, None]
        return self.merge(belief) if (ratio == ratio[0]).all() else self.merge(belief, ratio)

    def forget(self) -> "_Table":
        """Keep the state only."""
        return self.merge()

    def tell(self) -> "_Table":
        """Split each belief into certainties."""
        count, width = self.belief.shape
        sure = np.tile(np.eye(width, dtype=int) * self.weight[0] ** 0, (count, 1))
        weight = (self.weight[:, None] * self.belief).ravel()
        some = weight > 0
        told = _Table(np.repeat(self.state, width), sure, weight, np.repeat(self.ratio, width))
        return _Table(*(column[some] for column in told)).merge_equal()

    def coarsen(self, budget: int, width: float) -> tuple["_Table", float]:
        """Merge ratios that are near, in cells of a width that leaves at most half the budget, if the states allow that."""
        logs, table = self._log_ratio(), self
        while True:
            table = self.merge(np.round(logs / width)[:, None])
            if len(table.weight) <= budget // 2 or width > _WIDEST:
                return table, width
            width *= 2

    def _log_ratio(self) -> Array:
        return np.log(np.maximum(probs.as_float(self.ratio), np.finfo(float).tiny))


def _labels(keys: list[Array]) -> Array:
    """Give each row of some columns, taken side by side, the number of what stands in it."""
    if any(probs.is_exact(key) for key in keys):
        index: dict[Any, int] = {}
        return np.array([index.setdefault(row, len(index)) for row in zip(*(map(tuple, key) for key in keys), strict=True)])
    columns = [column for key in keys for column in key.T]
    order = np.lexsort(columns)
    fresh = np.zeros(len(order), dtype=bool)
    for column in columns:
        ordered = column[order]
        fresh[1:] |= ordered[1:] != ordered[:-1]
    labels = np.empty(len(order), dtype=np.intp)
    labels[order] = np.cumsum(fresh)
    return labels


def _gather(at: Array, count: int, values: Array) -> Array:
    sums = np.zeros((count, *values.shape[1:]), dtype=values.dtype)
    np.add.at(sums, at, values)
    return sums


def _first(chain: HiddenChain) -> _Table:
    start = _start(chain)
    return _Table(np.zeros(1, dtype=np.intp), start[:1], start[0, :1], start[0, :1])


def _next_law(chain: HiddenChain, table: _Table) -> Array:
    """Law of the next token given the text, Σ_j b(j) law_{s,j}, for each kind of text."""
    return np.asarray((table.belief[:, :, None] * chain.tokens[table.state]).sum(axis=1))


def _read(chain: HiddenChain, table: _Table, rows: Array | None) -> _Table:
    """Read one more token; the likelihood ratio is followed where the reference's ``rows`` are given."""
    ended, kept = _branches(chain, table.state, table.belief)
    law = ended + kept.sum(axis=1)
    weight = table.weight[:, None] * law
    some = weight > 0
    chance = law[some]
    belief = np.concatenate([ended[:, None], kept], axis=1).swapaxes(1, 2)[some] / chance[:, None]
    source = np.nonzero(some)[0]
    ratio = table.ratio[source]
    if rows is not None:
        with np.errstate(over="ignore"):
            ratio = ratio * (rows[table.state][some] / chance)
    return _Table(chain.states.after[table.state][some], belief, weight[some], ratio).merge_equal()


def _kl(chain: HiddenChain, rows: Array, length: int, budget: int) -> Iterator[tuple[float, float, float]]:
    """Give KL, and its lower and its upper bound, for each number of tokens."""
    tables = [_first(chain)]
    low = high = 0.0
    for time in range(length):
        terms = []
        for table in tables:
            gaps = divergences.kl_divergence(_next_law(chain, table), rows[table.state])
            terms.append(float((probs.as_float(table.weight) * gaps).sum()))
        low, high = low + terms[0], high + terms[-1]
        yield (low if len(tables) == 1 else np.nan), low, high
        if time == length - 1:
            return
        tables = [_read(chain, table, None) for table in tables]
        if chain.gamma and max(len(table.weight) for table in tables) > budget:
            first, last = tables[0], tables[-1]
            tables = [
                first.forget() if len(first.weight) > budget else first,
                last.tell() if len(last.weight) > budget else last,
            ]


def _tv(chain: HiddenChain, rows: Array, length: int, budget: int) -> Iterator[tuple[Any, Any]]:
    """Give TV (NaN once ratios are merged) and its lower bound for each number of tokens; it does not fall with t."""
    table, exact, width = _first(chain), True, 2.0**-12
    low = 0 * table.weight[0]
    for _ in range(length):
        table = _read(chain, table, rows)
        now = (table.weight * np.maximum(1 - table.ratio, 0)).sum()
        low = max(low, now)
        yield (now if exact else np.nan), low
        if len(table.weight) > budget:
            (table, width), exact = table.coarsen(budget, width), False


def _by_enumeration(source: Decoder, pair: Pair, length: int, reference: Plain, context: Context) -> "pd.DataFrame":
    """Compare the joint laws; shorter texts are their margins."""
    import pandas as pd

    laws = [sequence_law(who, pair, length, context) for who in (source, reference)]
    found = []
    for tokens in range(1, length + 1):
        law, other = (each.reshape(pair.size**tokens, -1).sum(axis=1) for each in laws)
        kl, tv = float(divergences.kl_divergence(law, other)), np.abs(law - other).sum() / 2
        found.append(Distortion(tokens, kl, kl, kl, tv, tv, tv))
    return pd.DataFrame(found).reindex(columns=[*_COLUMNS])


# --- guarantees -----------------------------------------------------------------------------------------------------


class Guarantee(NamedTuple):
    """Upper bounds that hold for every pair of models."""

    kl: float
    """On KL(Π || P), nats."""
    tv: Any
    """On TV(Π, P), a probability."""


def lenience_guarantee(lenience: Number, length: int) -> Guarantee:
    """Bound what lenience l does to T tokens of any pair: Π <= P / l^T, so TV <= 1 - l^T and KL <= T ln(1/l).

    Parameters
    ----------
    lenience : float or Fraction
        l in (0, 1].
    length : int
        T, at least 0.

    Returns
    -------
    Guarantee
        ``kl`` in nats; ``tv`` a probability, exact on a Fraction.

    Notes
    -----
    Proof. The rule's law is min(q, p/l) + R (p - q)+ / TV(p, q), with R = Σ (q - p/l)+ <= Σ (q - p)+ = TV(p, q). Where q > p the
    second part is 0 and the first at most p/l; where q <= p the sum is at most q + (p - q) = p. A bonus from p is at most p/l
    too, and a relaxed one has the rule's law. So in every hidden state the law is at most p_s/l; then so is its mean over the
    hidden states given any text, π_t <= p_t/l, and Π = Π_t π_t <= P/l^T. Hence TV = E_Π (1 - P/Π)+ <= 1 - l^T, and
    KL = E_Π ln(Π/P) <= T ln(1/l).

    Examples
    --------
    >>> lenience_guarantee(Fraction(1, 2), 3).tv
    Fraction(7, 8)
    >>> round(lenience_guarantee(0.5, 3).kl, 6)
    2.079442
    """
    parameters.check("lenience", lenience, "(0, 1]")
    parameters.check_count("length", length, 0)
    return Guarantee(abs(length * float(np.log(float(lenience)))), 1 - lenience ** int(length))


# --- reaching states ------------------------------------------------------------------------------------------------


def reach_probability(source: Source, pair: Pair, goal: Goal, length: int | None = None, context: Context = ()) -> Any:
    """Probability that a text ever leads to a state that is wanted, or does so within ``length`` tokens.

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
    >>> ruin = [[F(1), F(0), F(0)], [F(1, 2), F(1, 4), F(1, 4)], [F(0), F(0), F(1)]]
    >>> pair = markov(ruin, ruin, start=(1,))
    >>> reach_probability(Plain(), pair, lambda state: state[0] == (2,)).limit_denominator()
    Fraction(1, 3)
    >>> reach_probability(Plain(), pair, lambda state: state[0] == (2,), length=2)
    Fraction(5, 16)
    """
    if length is not None:
        parameters.check_count("length", length, 0)
    clipped = pair if length is None else _clip(pair, length, context)
    chain = source.chain(clipped, context)
    inside = [length is None or len(current) <= len(context) + length for current in chain.states.contexts]
    contexts = zip(chain.states.contexts, inside, strict=True)
    wanted = np.array([here and bool(goal(pair.state(current))) for current, here in contexts])
    law = _start(chain)
    if wanted[0]:
        return law[0, 0]
    if length is None:
        return _ever(chain, wanted)
    reached = 0 * law[0, 0]
    for _ in range(length):
        law = _step(chain, law)
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
