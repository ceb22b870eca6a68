"""What a reader of the text knows, and KL and TV by walking over it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from theory import divergences, probs
from theory.decode.chain import HiddenChain
from theory.probs import Array
from theory.sequences.hidden import branches, start

BUDGET = 4096
"""Beliefs (and likelihood ratios) that are told apart at most; beyond it there are bounds."""

DIGITS = 12
"""Decimals to which beliefs and logarithms of likelihood ratios in floats must agree to be merged."""

_WIDEST = 2.0**10  # wider than any logarithm of a float's ratio


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
    law = start(chain)
    return _Table(np.zeros(1, dtype=np.intp), law[:1], law[0, :1], law[0, :1])


def _next_law(chain: HiddenChain, table: _Table) -> Array:
    """Law of the next token given the text, Σ_j b(j) law_{s,j}, for each kind of text."""
    return np.asarray((table.belief[:, :, None] * chain.tokens[table.state]).sum(axis=1))


def _read(chain: HiddenChain, table: _Table, rows: Array | None) -> _Table:
    """Read one more token; the likelihood ratio is followed where the reference's ``rows`` are given."""
    ended, kept = branches(chain, table.state, table.belief)
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


def kl_of_texts(chain: HiddenChain, rows: Array, length: int, budget: int) -> Iterator[tuple[float, float, float]]:
    """Give KL, and its lower and its upper bound, for each number of tokens."""
    tables = [_first(chain)]
    low = high = 0.0
    for time in range(length):
        terms = []
        for table in tables:
            gaps = divergences.kl_divergence(probs.trust(_next_law(chain, table)), probs.trust(rows[table.state]))
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


def tv_of_texts(chain: HiddenChain, rows: Array, length: int, budget: int) -> Iterator[tuple[Any, Any]]:
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
