"""Whole trade-off curves: what a rule does as a function of its parameter, from one sort and cumulative sums for each pair.

Between two neighbouring ratios q/p a ceiling p/l clips the same tokens, and between two neighbouring p the same tokens pass a
gate. So one sort gives a rule at *every* value of its parameter: after it, a thousand values cost a thousand look-ups.

================== =========== ========== ===== ============================================================================
rule               parameter   sorted by  KL    how
================== =========== ========== ===== ============================================================================
lenience           l           q/p              R = Q - P/l over the tokens with q/p > 1/l
mentored           alpha       q/p        yes   the same R; KL(π || p) by the sums of `theory.clipping`
overshoot-ceiling  lam         q/p              the same over the ceiling, λ (q - p) below it
cos                lam         nothing          R = λ TV(p, q)
spec-cascade       p_base      p          some  A is a prefix; see below
typical-acceptance epsilon     p          some  A is a prefix; δ = √ε
================== =========== ========== ===== ============================================================================

The first four lie on the line TV(π, p) = TV(p, q) - R. A gate that keeps the n most probable tokens, of mass s under the draft
and z under the target, has TV(π, p) = Σ_A (q - τ p)+ / σ with τ = σ = s for ``redraft``, τ = s and σ = 1 for ``target``,
τ = 1 - (1 - s)/z and σ = 1 for ``truncated``. Since τ rises with n, each token counts from where it enters A until τ passes its
q/p: an interval of n. All n together are then one cumulative sum over where tokens come and go. ``residual`` is the same from the
other side, and ``argmax`` and ``optimal`` are sums of (q - p)+ over A. The KL divergence has such a form for mentored decoding,
``redraft`` and ``argmax`` only: elsewhere the law changes at every token with the parameter, inside the logarithm.

On Fractions all is exact but KL. On floats the sums of V terms in float64 are off by at most V units of rounding (2^-52) of
their sum of absolute values, at most 2 here, as those of numpy's pairwise sums are by log V; so are probabilities. Overshoots
are relative to that.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from theory import clipping, parameters, probs, truncation
from theory.probs import Array, RowsLike
from theory.sources import RowSource, row_source
from theory.verifiers import FALLBACKS, RULES

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PARAMETERS", "breakpoints", "curve", "evaluate"]

PARAMETERS = {
    "lenience": "(0, 1]",
    "mentored": "(0, 1]",
    "overshoot-ceiling": "(0, 1]",
    "cos": "[0, 1]",
    "spec-cascade": "[0, 1]",
    "typical-acceptance": "(0, 1]",
}
"""Rules that have a curve, by short name, and the range of their parameter."""

Quantities = dict[str, Any]
Evaluate = Callable[[Array], Quantities]


def curve(
    rule: str, p: RowsLike | RowSource, q: RowsLike | RowSource, values: Iterable[Any], fallback: str = "redraft"
) -> "pd.DataFrame":
    """Give what a rule does at each value of its parameter, averaged over positions.

    Parameters
    ----------
    rule : str
        A key of `PARAMETERS`.
    p, q : array_like or rows of a Trace, shape (positions, V) or (V,)
        Rows of the target and of the draft. They are read a few at a time.
    values : iterable of float or Fraction
        Of the parameter, in any order.
    fallback : str
        A key of `theory.verifiers.FALLBACKS`, for the rules that have one.

    Returns
    -------
    pandas.DataFrame
        One row a value. Columns ``verifier`` (short name), ``family`` and ``parameter``, then the means over positions of what
        `theory.exact.QUANTITIES` calls ``acceptance_rate``, ``total_variation``, ``max_overshoot`` and, where the table above
        has it, ``kl_divergence``. `theory.plotting.plot_tradeoff` draws it.

    Raises
    ------
    ValueError
        For a rule or fallback that does not exist, a value out of range, no values or rows, and where ``p`` or ``q`` are not
        rows or do not have one length.

    Examples
    --------
    >>> table = curve("lenience", [0.4, 0.3, 0.2, 0.1], [0.2, 0.25, 0.25, 0.3], [1, 0.5])
    >>> table[["verifier", "acceptance_rate", "total_variation"]]
           verifier  acceptance_rate  total_variation
    0    lenience:1             0.75             0.00
    1  lenience:0.5             0.90             0.15
    """
    import pandas as pd

    given = list(values)
    checked = _check(rule, given, fallback)
    target, draft = row_source(p, "p"), row_source(q, "q")
    if len(target) != len(draft):
        raise ValueError(f"p has {len(target)} rows and q has {len(draft)}: they must have the same")
    if not len(target):
        raise ValueError("p has 0 rows: there is nothing to average over")
    sums: Quantities = {}
    for part in probs.chunks(len(target), int(target[0:1].shape[-1])):
        rows = probs.check_pair(target[part], draft[part], part.start)
        for pair in zip(*rows, strict=True):
            found = _row(rule, *pair, fallback)[1](_carried(checked, pair[0]))
            sums = {name: sums.get(name, 0) + value for name, value in found.items()}
    gated = f",fallback={fallback}" if rule in GATES and fallback != "redraft" else ""
    keyword = "alpha=" if rule == "mentored" else ""
    return pd.DataFrame(
        {
            "verifier": [f"{rule}:{keyword}{value}{gated}" for value in given],
            "family": RULES[rule].family,
            "parameter": given,
            **{name: value / len(target) for name, value in sums.items()},
        }
    )


def evaluate(rule: str, p: RowsLike, q: RowsLike, values: Iterable[Any], fallback: str = "redraft") -> Quantities:
    """Give what a rule does on one pair of rows at each value of its parameter.

    Parameters
    ----------
    rule : str
        A key of `PARAMETERS`.
    p, q : array_like, shape (V,)
        Rows of the target and of the draft.
    values : iterable of float or Fraction
        Of the parameter, in any order.
    fallback : str
        A key of `theory.verifiers.FALLBACKS`, for the rules that have one.

    Returns
    -------
    dict of str to ndarray, shape (values,)
        The quantities of `curve`; Fractions on Fractions, but for KL.

    Raises
    ------
    ValueError
        As for `curve`.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> p, q = [F(4, 10), F(3, 10), F(2, 10), F(1, 10)], [F(4, 20), F(5, 20), F(5, 20), F(6, 20)]
    >>> [str(x) for x in evaluate("lenience", p, q, [1, F(1, 2), F(2, 5)])["acceptance_rate"]]
    ['3/4', '9/10', '19/20']
    """
    given = _check(rule, list(values), fallback)
    target, draft = _one_pair(p, q)
    return _row(rule, target, draft, fallback)[1](_carried(given, target))


def breakpoints(rule: str, p: RowsLike, q: RowsLike, fallback: str = "redraft") -> Array:
    """Give the values of the parameter at which a curve has a kink or jumps, in rising order, for one pair of rows.

    Parameters
    ----------
    rule : str
        A key of `PARAMETERS`.
    p, q : array_like, shape (V,)
        Rows of the target and of the draft.
    fallback : str
        A key of `theory.verifiers.FALLBACKS`; the breakpoints do not depend on it.

    Returns
    -------
    ndarray
        For lenience, mentored decoding and the overshoot ceiling the ratios p/q below 1, and for the KL divergence of mentored
        decoding those α at which the floor passes a token; p / max p for ``"spec-cascade"``; the ε whose threshold is a p for
        ``"typical-acceptance"``, rounded; none for CoS, which is a straight line.

    Examples
    --------
    >>> breakpoints("lenience", [0.5, 0.25, 0.25], [0.25, 0.25, 0.5])
    array([0.5])
    """
    _check(rule, [1], fallback)
    return np.asarray(_row(rule, *_one_pair(p, q), fallback)[0]())


def _check(rule: str, values: list[Any], fallback: str) -> list[Any] | Array:
    """Raise unless the rule takes these values; give them back, as an array if all are floats."""
    if rule not in PARAMETERS:
        raise ValueError(f"rule = {rule!r}: there are curves of {', '.join(PARAMETERS)}")
    if fallback not in FALLBACKS:
        raise ValueError(f"fallback = {fallback!r}: must be one of {', '.join(FALLBACKS)}")
    if not values:
        raise ValueError("values is empty: a curve needs a value of the parameter")
    if set(map(type, values)) <= {float, np.float64}:  # a thousand of them are checked at once
        array = np.array(values)
        bad = array[~np.isfinite(array)]
        for value in (bad[:1] if bad.size else np.array([array.min(), array.max()])).tolist():
            parameters.check("values", value, PARAMETERS[rule])
        return array
    for value in values:
        parameters.check("values", value, PARAMETERS[rule])
    return values


def _carried(values: list[Any] | Array, rows: Array) -> Array:
    if not probs.is_exact(rows):
        return np.asarray(values, dtype=np.float64)
    return np.array([parameters.carry(value, rows) for value in values], dtype=object)


def _one_pair(p: RowsLike, q: RowsLike) -> tuple[Array, Array]:
    target, draft = probs.check_pair(p, q)
    if target.ndim != 1 or draft.ndim != 1:
        raise ValueError(f"p and q have shapes {target.shape} and {draft.shape}: one pair of rows is evaluated at a time")
    return target, draft


def _row(rule: str, p: Array, q: Array, fallback: str) -> tuple[Callable[[], Array], Evaluate]:
    """Give the breakpoints and the curve of one pair of checked rows."""
    if rule in GATES:
        return lambda: _gate_breakpoints(rule, p), lambda values: _gated(rule, p, q, values, fallback)
    if rule == "cos":
        return lambda: 0 * p[:0], lambda values: _cos(*_wide(p, q), values)
    ceilings = _Ceilings(*_wide(p, q))
    breakpoints = ceilings.floor_breakpoints if rule == "mentored" else ceilings.breakpoints
    return breakpoints, getattr(ceilings, rule.replace("-", "_"))


def _wide(p: Array, q: Array) -> tuple[Array, Array]:
    if probs.is_exact(p, q):
        return p, q
    return p.astype(np.float64, copy=False), q.astype(np.float64, copy=False)


def _prefix(values: Array) -> Array:
    """Give the sums of the first 0, 1, ..., n entries."""
    sums = np.zeros(values.size + 1, dtype=values.dtype)
    sums[:1] = 0 * values[:1] if values.size else 0  # on Fractions, a Fraction
    np.cumsum(values, out=sums[1:])
    return sums


def _order(values: Array) -> Array:
    """Give the order in which values of at least 0 rise, faster than `argsort` does.

    On floats: as 32-bit numbers by their lower and then their upper 16 bits, whose stable sort is a radix sort; that leaves a few
    neighbours to exchange, which a stable sort of the values themselves does in about one pass.
    """
    if values.dtype == object:
        return np.argsort(values)
    with np.errstate(over="ignore", under="ignore"):
        bits = values.astype(np.float32).view(np.uint32)
    order = np.argsort(bits.astype(np.uint16), kind="stable")
    order = order[np.argsort((bits >> 16).astype(np.uint16)[order], kind="stable")]
    return np.asarray(order[np.argsort(values[order], kind="stable")])


# --- ceilings -----------------------------------------------------------------------------------------------------------------


class _Ceilings:
    """One pair of rows in float64 or Fractions, its tokens with q > p sorted by falling q/p."""

    def __init__(self, p: Array, q: Array) -> None:
        self._p, self._q = p, q
        over = np.flatnonzero(q > p)
        target, draft = p[over], q[over]
        ratio = clipping.likelihood_ratio(target, draft)
        rising = _order(ratio)
        order = rising[::-1]
        self._rising = ratio[rising]
        self._target, self._draft = _prefix(target[order]), _prefix(draft[order])
        self._infinite = int((ratio == np.inf).sum())
        self._drafted = probs.total(q)
        self._distance = self._draft[-1] - self._target[-1]

    def breakpoints(self) -> Array:
        """Give the ratios p/q below 1, in rising order."""
        finite = self._rising[: self._rising.size - self._infinite]
        return np.unique(1 / finite) if finite.size else finite

    def floor_breakpoints(self) -> Array:
        """Give these, and the α at which the floor p/β passes a token, in rising order."""
        pair = clipping.SortedPair(probs.trust(self._p), probs.trust(self._q))
        rejected = pair.levels[pair.lower]
        rejected = rejected[rejected > pair.off_support]
        count = np.searchsorted(pair.levels[~pair.lower][::-1], rejected, side="right")
        alphas = pair.ceiling_level(rejected, count)
        return np.unique(np.concatenate([self.breakpoints(), alphas[alphas < 1]]))

    def _over(self, tops: Array) -> Array:
        """Count the tokens with q/p > c."""
        return self._rising.size - np.searchsorted(self._rising, tops, side="right")

    def _tops(self, values: Array) -> Array:
        if values.dtype == object:
            return np.asarray(1 / values)
        return np.asarray(1 / np.maximum(values, np.finfo(np.float64).tiny))  # as the rules have it, so that it is finite

    def _clipped(self, values: Array, room: float = 0) -> tuple[Array, Array, Array]:
        """Give the ceilings c, how many tokens are above, and the mass cut off there."""
        tops = self._tops(values)
        count = self._over(tops * (1 + room) if room else tops)
        return tops, count, self._draft[count] - tops * self._target[count]

    def _on_the_line(self, rejected: Array, overshoot: Array) -> Quantities:
        left = self._distance - rejected
        if left.dtype != object:
            left = np.maximum(left, 0)
        return {"acceptance_rate": self._drafted - rejected, "total_variation": left, "max_overshoot": overshoot}

    def _largest(self) -> Any:
        """Give the largest finite q/p of the target's support, at least 1."""
        finite = self._rising.size - self._infinite
        return self._rising[finite - 1] if finite else 1 + 0 * self._drafted

    def lenience(self, values: Array) -> Quantities:
        """Evaluate lenience."""
        tops, _, rejected = self._clipped(values)
        return self._on_the_line(rejected, np.minimum(tops, self._largest()))

    def mentored(self, values: Array) -> Quantities:
        """Evaluate mentored decoding: as lenience, but for KL."""
        pair = clipping.SortedPair(*(probs.trust(probs.as_float(row)) for row in (self._p, self._q)))
        rejected = np.maximum(self._clipped(values)[2].astype(np.float64), pair.off_support)
        return self.lenience(values) | {"kl_divergence": clipping.along(pair, rejected, "kl_divergence")}

    def overshoot_ceiling(self, values: Array) -> Quantities:
        """Evaluate the overshoot ceiling in accept form."""
        exact = values.dtype == object
        tops, count, rejected = self._clipped(values, 0 if exact else 4 * float(np.finfo(np.float64).eps))
        rejected = rejected + values * (self._distance - (self._draft[count] - self._target[count]))
        finite = self._rising.size - self._infinite
        below = np.minimum(self._rising.size - count, finite) - 1  # the largest ratio under the ceiling
        some = self._rising[np.maximum(below, 0)] if finite else tops
        mixed = np.where(below >= 0, values + (1 - values) * np.where(below >= 0, some, 1), 1)
        return self._on_the_line(rejected, np.where(count > self._infinite, tops, mixed))


def _cos(p: Array, q: Array, values: Array) -> Quantities:
    """Evaluate CoS, which needs no sort."""
    distance, largest = probs.total(probs.excess(q, p)), clipping.likelihood_ratio(p, q).max()
    overshoot = np.where(values < 1, values + np.where(values < 1, 1 - values, 1) * largest, 1)
    rejected = values * distance
    return {"acceptance_rate": probs.total(q) - rejected, "total_variation": distance - rejected, "max_overshoot": overshoot}


# --- gates --------------------------------------------------------------------------------------------------------------------

GATES = ("spec-cascade", "typical-acceptance")


def _gate_breakpoints(rule: str, p: Array) -> Array:
    """Give the parameters at which a token enters, in rising order."""
    support = p[p > 0]
    if rule == "spec-cascade":
        return np.unique(support / support.max())
    rows, peak = probs.as_float(support).astype(np.float64), np.exp(-probs.nats(p))
    values = np.where(rows <= peak * peak, rows, (rows / peak) ** 2)
    return np.unique(values[values <= 1])


def _gated(rule: str, p: Array, q: Array, values: Array, fallback: str) -> Quantities:
    """Evaluate a gate, from the tokens that pass it at some value."""
    rows = p
    if rule == "spec-cascade":
        limits = truncation.limit(values * p.max(), rows)
    else:
        rows = probs.as_float(p)
        threshold, room = truncation.eta_threshold(values.astype(np.float64), None, probs.nats(p))
        limits = truncation.limit(threshold, rows, room)
    if fallback == "residual" and not probs.total(probs.excess(p, q)) > 0:
        fallback = "target"  # nothing to replace from but p
    every = fallback == "residual"  # which may exceed p off the allowed set
    gated = _Gated(p, q, (rows > 0) if every else (rows >= np.minimum(limits.min(), rows.max())) & (rows > 0))
    passed = np.searchsorted(probs.as_float(gated.rising) if rule != "spec-cascade" else gated.rising, limits, side="left")
    return gated.at(np.maximum(gated.rising.size - passed, 1), fallback)


class _Gated:
    """One pair of rows, some of its tokens sorted by falling p; prefix n is the allowed set of n tokens."""

    def __init__(self, p: Array, q: Array, some: Array) -> None:
        support = np.flatnonzero(some)
        order = np.argsort(-p[support])
        first = np.flatnonzero(order == p[support].argmax())[0]  # of equals the first, which `argmax` falls back to
        order[[0, first]] = order[[first, 0]]
        order = support[order]
        self.rising = p[order][::-1]
        self._p, self._q = _wide(p[order], q[order])
        self._ratio = clipping.likelihood_ratio(self._p, self._q)
        self._drafted = probs.total(q)
        self._distance = probs.total(probs.excess(*_wide(p, q)))
        self.draft, self.target = _prefix(self._q), _prefix(self._p)

    def at(self, kept: Array, fallback: str) -> Quantities:
        """Evaluate a gate at several sizes of its allowed set."""
        kept, places = np.unique(kept, return_inverse=True)
        bias, overshoot = getattr(self, f"_{fallback}")(kept)
        found = {"acceptance_rate": self.draft[kept], "total_variation": bias, "max_overshoot": overshoot}
        if fallback in ("redraft", "argmax"):
            found["kl_divergence"] = self._kl(kept, fallback)
        return {name: values[places] for name, values in found.items()}

    # --- sums over where tokens come and go -------------------------------------------------------------------------------------

    def _entered(self, kept: Array) -> Array:
        """Give, for the tokens of the largest allowed set, the place in ``kept``, which rises, at which they enter."""
        return np.repeat(np.arange(kept.size), np.diff(kept, prepend=0))

    def _sums(self, start: Array, stop: Array, weights: Array, count: int) -> Array:
        """Give, at places 0..count-1, the sum of the weights of the tokens with start <= place < stop."""
        if weights.dtype == object:
            changes = np.zeros(count + 1, dtype=object)
            np.add.at(changes, start, weights)
            np.subtract.at(changes, stop, weights)
        else:
            changes = np.bincount(start, weights, count + 1) - np.bincount(stop, weights, count + 1)
        return np.asarray(np.cumsum(changes)[:count])

    def _above(self, threshold: Array, kept: Array) -> Array:
        """Give Σ_A (q - τ p)+ at each of ``kept``, which rises, and with it τ."""
        rising = np.maximum.accumulate(threshold)
        enter = self._entered(kept)
        some = np.flatnonzero(self._ratio[: enter.size] > rising[enter])  # the others are below τ when they enter
        enter, leave = enter[some], np.searchsorted(rising, self._ratio[some], side="left")
        sums = [self._sums(enter, leave, weights[some], kept.size) for weights in (self._q, self._p)]
        return _at_least_0(sums[0] - rising * sums[1])

    def _gained(self) -> Array:
        """Give Σ_A (q - p)+ for n = 0..V."""
        return _prefix(probs.excess(self._q, self._p))

    def _largest(self, kept: Array) -> Array:
        """Give the largest q/p on A."""
        return np.asarray(np.maximum.accumulate(self._ratio)[kept - 1])

    def _rejected(self, kept: Array) -> Array:
        return _at_least_0(self._drafted - self.draft[kept])

    # --- the fallbacks: TV(π, p) and max π/p -----------------------------------------------------------------------------------

    def _target(self, kept: Array) -> tuple[Array, Array]:
        return self._above(self.draft[kept], kept), self._largest(kept) + self._rejected(kept)

    def _redraft(self, kept: Array) -> tuple[Array, Array]:
        drafted, mass = self.draft[kept], self.target[kept]
        some = drafted > 0
        share = np.where(some, drafted, 1)
        bias = np.where(some, self._above(drafted, kept) / share, 1 - mass)
        with np.errstate(over="ignore"):  # above the largest float
            return bias, np.where(some, self._largest(kept) / share, 1 / mass)

    def _truncated(self, kept: Array) -> tuple[Array, Array]:
        share = self._rejected(kept) / self.target[kept]
        return self._above(1 - share, kept), self._largest(kept) + share

    def _argmax(self, kept: Array) -> tuple[Array, Array]:
        first, mass = self._p[0], self._q[0] + self._rejected(kept)
        gained = self._gained()
        bias = gained[kept] - gained[1] + _at_least_0(mass - first)
        return bias, np.maximum(self._largest(kept), mass / first)

    def _optimal(self, kept: Array) -> tuple[Array, Array]:
        return self._gained()[kept], np.maximum(self._largest(kept), 1 + 0 * self._drafted)

    def _residual(self, kept: Array) -> tuple[Array, Array]:
        """Replace from (p - q)+ / TV(p, q): on A this adds to what the draft lacks, off A it may exceed p where q/p < 1 - 1/κ."""
        one = 1 + 0 * self._drafted
        kappa = self._rejected(kept) / self._distance  # falls with n
        some = kappa > 1
        falling = np.minimum.accumulate(np.where(some, 1 - 1 / np.where(some, kappa, one), 0 * one))
        enter = np.concatenate([self._entered(kept), np.full(self._ratio.size - kept[-1], kept.size)])
        below = np.flatnonzero(self._ratio < falling[0])
        leave = np.minimum(np.searchsorted(-falling, -self._ratio[below], side="left"), enter[below])
        sums = [self._sums(0 * leave, leave, weights[below], kept.size) for weights in (self._p, self._q)]
        beyond = _at_least_0((kappa - 1) * sums[0] - kappa * sums[1])
        lacking = _prefix(probs.excess(self._p, self._q))[kept]
        bias = self._gained()[kept] + _at_least_0(kappa - 1) * lacking + beyond
        least = np.minimum.accumulate(self._ratio)[kept - 1]
        after = np.concatenate([np.minimum.accumulate(self._ratio[::-1])[::-1], [one]])[kept]  # the least ratio off A
        inside = np.where((kappa > 1) & (least < 1), kappa + (1 - kappa) * least, one)
        return bias, np.maximum(np.maximum(self._largest(kept), one), np.maximum(inside, kappa * (1 - after)))

    def _kl(self, kept: Array, fallback: str) -> Array:
        p, q = (probs.as_float(values).astype(np.float64) for values in (self._p, self._q))
        with np.errstate(divide="ignore"):
            terms = np.where(q > 0, q * (np.log(np.where(q > 0, q, 1)) - np.log(p)), 0)
        sums, drafted, mass = _prefix(terms)[kept], self.draft[kept].astype(np.float64), self.target[kept].astype(np.float64)
        if fallback == "redraft":
            some = drafted > 0
            share = np.where(some, drafted, 1)
            return np.asarray(np.maximum(np.where(some, sums / share - np.log(share), -np.log(mass)), 0))
        first = q[0] + self._rejected(kept).astype(np.float64)  # what the most probable token has in the end
        mode = first * np.log(np.where(first > 0, first, 1) / p[0])
        return np.asarray(np.maximum(sums - terms[0] + mode, 0))


def _at_least_0(values: Array) -> Array:
    """Take what rounding leaves below 0 for 0."""
    return np.asarray(np.maximum(values, 0 * values))
