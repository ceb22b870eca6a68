"""A search for bad pairs of rows that knows nothing of the rule: differential evolution from structured starts, then a simplex.

Suprema tend to sit on the border: at zeros of p and q, at ties, at a draft that is sure of one token, on the edge of an
allowed set. So an entry of the search space, in [0, 1], stands for a weight that is 0 for the lowest part of the range, and
small for much of the rest; the starts hold the corners; and what is not continuous is found by evolution before the simplex
polishes.

What it finds is then followed in the two directions in which a search can grow, which `theory.failure.growth` reads: towards the
edge, with single weights of the starts and of the pair found at smaller and smaller values; and to twice and four times as many
tokens, on which all but two are alike, so that this costs no more than three tokens do.
"""

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, final

import numpy as np

from theory import parameters, probs
from theory.failure import growth
from theory.failure.suprema import MOST, QUANTITIES, check_quantity
from theory.probs import Array, RowsLike
from theory.verifiers import TokenVerifier, resolve

if TYPE_CHECKING:
    import pandas as pd

ZERO = 0.15
"""Below this an entry stands for the weight 0."""

POWER = 4
"""How much of the range stands for small weights."""

LEAST = 1e-9
"""Weights below this, relative to the largest, are 0: rules leave room for rounding, in which a search would find a home."""

HUGE = 1e100
"""What inf counts for."""

EDGES = (1e-3, 1e-5, 1e-7, LEAST)
"""Least weights at which values are compared."""

DEEP_EDGES = (1e-9, 1e-30, 1e-60, 1e-100)
"""The same for KL, in which rounding weighs nothing, and where what grows may be small beside what does not."""

SMALL = 1e-3
"""Weights of a pair below this, relative to the largest, go to the edge together."""

ALIKE = 8
"""Tokens from which `search_sizes` searches only pairs on which all but two tokens are alike."""

GROUPS = 3
"""Of tokens that are alike, in such a search: two of one token each, and the rest."""

FEW_PAIRS, FEW_GENERATIONS = 32, 25
"""Of the evolution of such a search."""

FEW = 6
"""Tokens up to which each of them is followed to the edge; beyond, the first two and the last."""

MANY = 64
"""Tokens up to which the starts are followed to the edge as well as the pair found, and each token of a target has its drafts."""

DOMINANT = 1.1
"""How far what grows deep at the edge must be above the value itself."""

SIZES = (2, 3, 4, 6, 8, 16, 32, 64)
"""Numbers of tokens of `search_sizes`, if nothing else is said."""


@final
@dataclass(frozen=True, eq=False)
class Found:
    """The worst pair of rows that a search has met, and whether a larger search would find a worse one.

    Attributes
    ----------
    value : float
        Of the quantity; a lower bound of its supremum.
    p, q : ndarray, shape (V,)
        The pair.
    trend : str
        Towards the edge: ``"settled"``, ``"rising"``, ``"unbounded"`` or ``"infinite"`` (inf was met), as far as searched.
    rate : float
        How it grows: k where value ~ edge^-k, c where value ~ c ln 1/edge; 0 where it settles, NaN where inf was met.
    law : str
        Which of the two: ``"edge^-k"`` or ``"c ln 1/edge"``; empty elsewhere.
    by_edge : mapping of float to float
        The value at each least weight, on the pairs by which ``trend`` was judged; empty for a fixed target.
    by_size : mapping of int to float
        The value on V, 2 V and 4 V tokens; empty for a fixed target, and where it has no bound at V already.
    size_trend : str
        With the number of tokens, as for ``trend``; empty where ``by_size`` is.
    limit : float
        What the values of ``by_size`` go to, an extrapolation: inf where none is seen, NaN where ``by_size`` is empty.
    """

    value: float
    p: Array
    q: Array
    trend: str = growth.SETTLED
    rate: float = 0.0
    law: str = ""
    by_edge: Mapping[float, float] = field(default_factory=dict)
    by_size: Mapping[int, float] = field(default_factory=dict)
    size_trend: str = ""
    limit: float = math.nan

    @property
    def unbounded(self) -> bool:
        """Whether the value has no bound on V tokens, as far as searched."""
        return self.trend in (growth.UNBOUNDED, growth.INFINITE)

    def __str__(self) -> str:
        return f"{self.value:.6g} on {self.p.size} token{'s' * (self.p.size != 1)}: {self.said}"

    @property
    def said(self) -> str:
        """What the search says of the supremum, in words."""
        if self.trend == growth.INFINITE:
            return "infinite"
        if self.trend != growth.SETTLED:
            law = self.law.replace("^-k", f"^-{self.rate:.3g}").replace("c ln", f"{self.rate:.3g} ln")
            grows = "unbounded, as far as searched" if self.unbounded else "still rising towards the edge"
            return f"{grows}: value ~ {law}"
        settled = "settled, as far as searched"
        values = list(self.by_size.values())
        if not values or values[-1] - values[0] <= growth.FLAT * max(values[0], 1e-9):
            return settled
        shown = ", ".join(f"{value:.4g} on {size}" for size, value in self.by_size.items())
        ends = {
            growth.SETTLED: settled,
            growth.RISING: f"extrapolated to {self.limit:.4g}",
            growth.UNBOUNDED: "unbounded, as far as searched",
            growth.INFINITE: "infinite",
        }
        return f"rises with the number of tokens, {shown}: {ends[self.size_trend]}"


def search(
    verifier: TokenVerifier | str,
    quantity: str = "total_variation",
    vocabulary: int = 3,
    seed: int = 0,
    target: RowsLike | None = None,
    generations: int = 100,
    population: int = 64,
) -> Found:
    """Look for the pair of rows with the largest value of a quantity; any rule will do, one of your own too.

    Parameters
    ----------
    verifier : TokenVerifier or str
        The rule or its name.
    quantity : str
        A key of `QUANTITIES`.
    vocabulary : int
        V, at least 1.
    seed : int
        The same seed finds the same pair.
    target : array_like, shape (V,), optional
        A row p to keep, with the search over q alone; in the place of ``vocabulary``. Of more than `MANY` tokens only structured
        drafts and a few random ones are tried.
    generations, population : int
        Of the evolution. Their product is about the number of pairs tried.

    Returns
    -------
    Found
        ``value``, ``p`` and ``q``: float64 rows, on which the rule's own law has that value; and whether it still grows, nearer
        the edge and with more tokens. ``str`` says it in words.

    Raises
    ------
    ValueError
        For a quantity that does not exist, counts below 1 (5 for the population), a target that is not one row, and for a rule
        that is none, as `theory.verifiers.RuleError`.

    Notes
    -----
    A search, not a proof: it gives a lower bound of the supremum. An infinite value ends it.

    Examples
    --------
    >>> from theory.verifiers import Cactus, GreedyMatch, Lenience
    >>> print(search(Lenience(0.4)))
    0.6 on 3 tokens: settled, as far as searched
    >>> found = search(Cactus(0.02), "max_overshoot")
    >>> found.trend, found.law, round(found.rate, 2)
    ('unbounded', 'edge^-k', 0.5)
    >>> search(GreedyMatch()).size_trend
    'rising'
    """
    check_quantity(quantity)
    for name, count, least in (("vocabulary", vocabulary, 1), ("generations", generations, 1), ("population", population, 5)):
        parameters.check_count(name, count, least)
    parameters.check_count("seed", seed, 0)
    fixed = None if target is None else probs.as_float(probs.check_rows(target, "target")).astype(np.float64)
    if fixed is not None and fixed.ndim != 1:
        raise ValueError(f"target has shape {fixed.shape}: one row is wanted, of shape (V,)")
    rule = resolve(verifier)
    if fixed is not None:  # no value but inf grows without bound: π/p is at most 1 over the least p
        found = _search(rule, quantity, fixed.size, seed, generations if fixed.size <= MANY else 0, population, fixed)
        return found if found.value < math.inf else replace(found, trend=growth.INFINITE, rate=math.nan)
    found = _towards_edge(rule, quantity, _search(rule, quantity, vocabulary, seed, generations, population))
    if vocabulary == 1 or found.trend != growth.SETTLED:
        return found
    return _with_size(rule, quantity, found, seed)


def search_sizes(
    verifier: TokenVerifier | str,
    quantity: str = "total_variation",
    sizes: Iterable[int] = SIZES,
    seed: int = 0,
    generations: int = 100,
    population: int = 64,
) -> "pd.DataFrame":
    """Search one number of tokens after the other: what a supremum is that is reached only as they become more.

    Parameters
    ----------
    verifier : TokenVerifier or str
        The rule or its name.
    quantity : str
        A key of `QUANTITIES`.
    sizes : iterable of int
        Numbers of tokens, rising.
    seed, generations, population : int
        Of each search, as for `search`.

    Returns
    -------
    pandas.DataFrame
        One row a size:

        ================== ===========================================================================================
        vocabulary         V
        value              the largest that a search on V tokens met
        trend, rate, law   whether that still grows towards the edge, as in `Found`
        increment          by how much ``value`` rose from the size before; NaN for the first
        size_trend         what the values of this and the two sizes before do: ``"settled"``, ``"rising"``, ``"unbounded"``
                           (no limit is seen, or there is no bound at this size already) or ``"infinite"``; empty where
                           there are no two sizes before
        extrapolated_limit the L of the L - c V^-k through these three: an extrapolation, not a value met; inf where no
                           limit is seen; NaN where ``size_trend`` is empty
        ================== ===========================================================================================

    Raises
    ------
    ValueError
        As for `search`, and for sizes that are none or do not rise.

    Notes
    -----
    From `ALIKE` tokens on, only pairs on which all tokens but two are alike are searched, and structured ones.

    Examples
    --------
    >>> from theory.verifiers import GreedyMatch
    >>> table = search_sizes(GreedyMatch(), sizes=(4, 8, 16))
    >>> table[["vocabulary", "value", "size_trend", "extrapolated_limit"]].round(4)
       vocabulary   value size_trend  extrapolated_limit
    0           4  0.7500                            NaN
    1           8  0.8750                            NaN
    2          16  0.9375     rising                 1.0
    """
    import pandas as pd

    rule = resolve(verifier)
    check_quantity(quantity)
    for name, count, least in (("seed", seed, 0), ("generations", generations, 1), ("population", population, 5)):
        parameters.check_count(name, count, least)
    given = list(sizes) if isinstance(sizes, Iterable) else [sizes]
    for size in given:
        parameters.check_count("sizes", size)
    if not given or any(more <= less for less, more in itertools.pairwise(given)):
        raise ValueError(f"sizes = {given}: must be numbers of tokens that rise")
    rows: list[dict[str, Any]] = []
    for place, size in enumerate(given):
        found = search_at(rule, quantity, size, seed, generations, population)
        row = {"vocabulary": size, "value": found.value, "trend": found.trend, "rate": found.rate, "law": found.law}
        with np.errstate(invalid="ignore"):
            row["increment"] = np.float64(found.value) - rows[-1]["value"] if rows else math.nan
        last = [*rows[-2:], row]
        said = growth.Sizes("", math.nan)
        if found.unbounded:
            said = growth.Sizes(found.trend, math.inf)
        elif place >= 2:
            said = growth.with_size([one["vocabulary"] for one in last], [one["value"] for one in last], MOST[quantity])
        rows.append(row | {"size_trend": said.trend, "extrapolated_limit": said.limit})
    return pd.DataFrame(rows)


def search_at(
    rule: TokenVerifier, quantity: str, size: int, seed: int = 0, generations: int = 100, population: int = 64
) -> Found:
    """Search on so many tokens and towards the edge, as `search` does, and not on more of them; see `ALIKE`."""
    found = _search(rule, quantity, size, seed, generations if size < ALIKE else 0, population)
    if found.value < math.inf and size > GROUPS:
        found = max(found, _alike(rule, quantity, size, seed), key=lambda one: one.value)
    return _towards_edge(rule, quantity, found)


def _search(
    rule: TokenVerifier,
    quantity: str,
    size: int,
    seed: int,
    generations: int,
    population: int,
    target: Array | None = None,
) -> Found:
    """Search among all pairs of rows of a size; with no generations, among the starts."""
    hunt = _Hunt(rule, quantity, size, target)
    rng = np.random.default_rng(seed)
    starts = _starts(size) if target is None else _starts_for(target)
    room = max(population - len(starts), population // 2)
    starts = np.concatenate([starts, rng.random((room, starts.shape[1]))])
    hunt(starts.T)
    if generations:
        hunt.evolve(starts[np.argsort(-hunt.last, kind="stable")[:population]], generations, rng)
        hunt.polish()
    return hunt.best


# --- towards the edge and to more tokens ------------------------------------------------------------------------------------


def _towards_edge(rule: TokenVerifier, quantity: str, found: Found) -> Found:
    """Say what the value does as weights go to the edge, from the starts and the pair found."""
    if found.value == math.inf:
        return replace(found, trend=growth.INFINITE, rate=math.nan)
    if found.p.size == 1:
        return found
    found = _followed(rule, quantity, found, EDGES)
    if quantity == "kl_divergence" and found.trend == growth.SETTLED:
        deeper = _followed(rule, quantity, found, DEEP_EDGES)
        if deeper.trend != growth.SETTLED:
            return replace(found, trend=deeper.trend, rate=deeper.rate, law=deeper.law, by_edge=deeper.by_edge)
    return found


def _followed(rule: TokenVerifier, quantity: str, found: Found, edges: tuple[float, ...]) -> Found:
    """Say what the value does on pairs at these edges; where one of them is worse, it takes the place of the pair found."""
    size = found.p.size
    starts = _starts(size) if size <= MANY else np.empty((0, 2 * size))
    p = np.concatenate([found.p[None], _rows(starts[:, :size])])
    q = np.concatenate([found.q[None], _rows(starts[:, size:])])
    paths = np.stack([_at_edge(p, q, edge) for edge in edges])
    p, q = probs.normalise(paths[..., 0, :]), probs.normalise(paths[..., 1, :])
    values = np.asarray(QUANTITIES[quantity](rule.induced(p, q), p), dtype=np.float64)
    path = int(values[-1].argmax())
    if edges[-1] < LEAST:
        path = path if values[-1, path] > DOMINANT * found.value else 0
    elif values.max() > found.value:
        best = np.unravel_index(int(values.argmax()), values.shape)
        found = replace(found, value=float(values[best]), p=p[best].copy(), q=q[best].copy())
    trend, rate, law = growth.towards_edge(edges, values[:, path], MOST[quantity])
    return replace(found, trend=trend, rate=rate, law=law, by_edge=dict(zip(edges, values[:, path].tolist(), strict=True)))


def _at_edge(p: Array, q: Array, edge: float) -> Array:
    """Give the weights of pairs with some of them at the edge, shape (paths, 2, V).

    First those below it, so that at the last edge the first pair is as it was; then all that are small; then those of one token
    in p, in p and q, or in p beside a draft that lacks the token and is p elsewhere.
    """
    size = p.shape[-1]
    p, q = (rows / rows.max(axis=-1, keepdims=True) for rows in (p, q))
    paths = [np.stack([np.where((rows > 0) & (rows < limit), edge, rows) for rows in (p, q)], axis=-2) for limit in (edge, SMALL)]
    for token in range(size) if size <= FEW else (0, 1, size - 1):
        lower, beside, swapped = p.copy(), q.copy(), p.copy()
        lower[:, token] = beside[:, token] = edge
        swapped[:, token] = 0
        paths += [np.stack(pair, axis=-2) for pair in ((lower, q), (lower, beside), (lower, swapped))]
    return np.concatenate([rows[(rows > 0).any(axis=-1).all(axis=-1)] for rows in paths])


def _with_size(rule: TokenVerifier, quantity: str, found: Found, seed: int) -> Found:
    """Say what the value does on twice and four times as many tokens."""
    size = found.p.size
    sizes = (size, 2 * size, 4 * size)
    ours = found if size <= GROUPS else max(found, _alike(rule, quantity, size, seed), key=lambda one: one.value)
    more = [ours]
    for larger in sizes[1:]:
        more.append(_towards_edge(rule, quantity, _alike(rule, quantity, larger, seed, more[-1])))
    values = np.maximum.accumulate([one.value for one in more]).tolist()
    trend, limit = growth.with_size(sizes, values, MOST[quantity])
    if trend != growth.INFINITE and any(one.trend == growth.UNBOUNDED for one in more):
        trend, limit = growth.UNBOUNDED, math.inf
    by_size = dict(zip(sizes, values, strict=True))
    return replace(found, value=ours.value, p=ours.p, q=ours.q, by_size=by_size, size_trend=trend, limit=limit)


def _extended(found: Found, count: int, size: int) -> Array:
    """Give the entries of pairs like one on fewer tokens: the last kind of them as heavy each, or as heavy together."""
    kinds = []
    for rows in (found.p, found.q):
        heads = np.resize(rows, count) if rows.size < count else np.append(rows[: count - 1], rows[-1])
        lighter = heads.copy()
        lighter[-1] *= found.p.size / size
        kinds.append([heads, lighter])
    pairs = [np.concatenate([_entries(p), _entries(q)]) for p, q in itertools.product(*kinds) if p.any() and q.any()]
    return np.array(pairs).reshape(len(pairs), 2 * count)


def _alike(rule: TokenVerifier, quantity: str, size: int, seed: int, near: Found | None = None) -> Found:
    """Search among pairs of rows on which all tokens but two are alike; also near a pair on fewer tokens."""
    groups = np.minimum(np.arange(size), GROUPS - 1)
    hunt = _Hunt(rule, quantity, size, None, groups)
    count = int(groups[-1]) + 1
    columns = [*range(count - 1), size - 1]
    starts = _starts(size)[:, [*columns, *(size + column for column in columns)]]
    rng = np.random.default_rng(seed)
    starts = np.concatenate([starts, rng.random((FEW_PAIRS, starts.shape[1]))])
    if near is not None:
        starts = np.concatenate([starts, _extended(near, count, size)])
    hunt(starts.T)
    hunt.evolve(starts[np.argsort(-hunt.last, kind="stable")[:FEW_PAIRS]], FEW_GENERATIONS, rng)
    hunt.polish()
    return hunt.best


class _Hunt:
    """The objective, which remembers the worst pair it has been shown."""

    def __init__(
        self, verifier: TokenVerifier, quantity: str, size: int, target: Array | None, groups: Array | None = None
    ) -> None:
        self._verifier, self._measure, self._target = verifier, QUANTITIES[quantity], target
        self._groups = np.arange(size) if groups is None else groups
        self._size = int(self._groups[-1]) + 1
        self.best = Found(-np.inf, np.zeros(0), np.zeros(0))
        self.last = np.zeros(0)
        self._where = np.zeros(0)

    def __call__(self, entries: Array) -> Any:
        """Give minus the quantity for entries of shape (dimensions, pairs) or (dimensions,)."""
        points = np.atleast_2d(entries.T)
        q = _rows(points[:, -self._size :][:, self._groups])
        p = _rows(points[:, : self._size][:, self._groups]) if self._target is None else np.broadcast_to(self._target, q.shape)
        values = np.asarray(self._measure(self._verifier.induced(p, q), p), dtype=np.float64)
        self.last = np.minimum(values, HUGE)
        at = int(np.argmax(self.last))
        if values[at] > self.best.value:
            self.best, self._where = Found(float(values[at]), p[at].copy(), q[at].copy()), points[at]
        return -self.last if entries.ndim == 2 else -self.last[0]

    @property
    def _done(self) -> bool:
        return self._size == 1 or not np.isfinite(self.best.value)

    def evolve(self, starts: Array, generations: int, rng: np.random.Generator) -> None:
        """Run differential evolution on whole populations at once."""
        from scipy.optimize import Bounds, differential_evolution

        if self._done:
            return

        def stop(intermediate_result: Any) -> None:
            if self._done:
                raise StopIteration

        differential_evolution(
            self,
            Bounds(np.zeros(starts.shape[1]), np.ones(starts.shape[1])),
            init=starts,
            maxiter=generations,
            mutation=(0.3, 0.9),
            recombination=0.8,
            tol=0,
            seed=rng,
            callback=stop,
            polish=False,
            updating="deferred",
            vectorized=True,
        )

    def polish(self) -> None:
        """Walk a simplex from the worst pair."""
        from scipy.optimize import minimize

        if not self._done:
            minimize(
                self,
                self._where,
                method="Nelder-Mead",
                bounds=[(0.0, 1.0)] * self._where.size,
                options={"maxfev": 25 * self._size},
            )


def _rows(entries: Array) -> Array:
    """Give the rows that entries stand for; the first token where all weights are 0."""
    weights = (np.maximum(entries - ZERO, 0) / (1 - ZERO)) ** POWER
    weights[weights < LEAST * weights.max(axis=-1, keepdims=True)] = 0
    weights[~weights.any(axis=-1), 0] = 1
    return probs.normalise(weights)


def _entries(rows: Array) -> Array:
    """Give entries that stand for rows."""
    weights = rows / rows.max(axis=-1, keepdims=True)
    return np.where(weights > 0, ZERO + (1 - ZERO) * weights ** (1 / POWER), 0)


def _starts(size: int) -> Array:
    """Give entries of sure drafts, flat ones, and flat ones that lack a token; beside targets flat but for one token.

    And of drafts that are the target but for the mass of one token, moved to another: some residuals jump where p = q.
    """
    flat = np.full((1, size), 1 / size)
    if size == 1:
        return _entries(np.concatenate([flat, flat], axis=-1))
    sure = np.eye(2, size)
    lacking = probs.normalise(1 - sure)
    heads = np.array([0, 0.001, 0.01, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 0.9, 0.97, 0.99, 0.997, 0.999])[:, None]
    targets = np.concatenate([heads * sure[0] + (1 - heads) * lacking[0], flat])
    drafts = np.concatenate([sure, lacking, flat])
    pairs = [np.concatenate([p, q]) for p in _entries(targets) for q in _entries(drafts)]
    for masses in ((1e-8, 0.05), (1e-8, 0.2)) if size > 2 else ():
        p = np.array([*masses, *[(1 - sum(masses)) / (size - 2)] * (size - 2)])
        q = np.array([0, sum(masses), *p[2:]])
        pairs.append(np.concatenate([_entries(p), _entries(q)]))
    return np.array(pairs)


def _starts_for(target: Array) -> Array:
    """Give entries of drafts that are sure of a token, flat but for one, and flat; of many tokens only those of extreme p."""
    size = target.size
    flat = np.full((1, size), 1 / size)
    if size == 1:
        return _entries(flat)
    order = np.argsort(target, kind="stable")
    some = np.arange(size) if size <= MANY else np.concatenate([order[: MANY // 2], order[-MANY // 2 :]])
    sure = (np.arange(size) == some[:, None]).astype(np.float64)
    return _entries(np.concatenate([sure, probs.normalise(1 - sure), flat]))
