"""The curves of gates, whose allowed set is a prefix of the tokens by falling p: sums over where tokens come and go."""

from typing import Any

import numpy as np

from theory import clipping, probs, truncation
from theory.curves.offers import Fast, Quantities, offer
from theory.curves.sums import at_least_0, prefix, wide
from theory.probs import Array
from theory.verifiers import SpecCascade, TypicalAcceptance


@offer(SpecCascade, "p_base", "[0, 1]")
def _(p: Array, q: Array, fallback: str = "redraft") -> Fast:
    return Fast(lambda values: _gated("spec-cascade", p, q, values, fallback), lambda: _gate_breakpoints("spec-cascade", p))


@offer(TypicalAcceptance, "epsilon", "(0, 1]")
def _(p: Array, q: Array, delta: Any = None, fallback: str = "redraft") -> Fast | None:
    if delta is not None:
        return None
    return Fast(
        lambda values: _gated("typical-acceptance", p, q, values, fallback), lambda: _gate_breakpoints("typical-acceptance", p)
    )


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
        self._p, self._q = wide(p[order], q[order])
        self._ratio = clipping.likelihood_ratio(self._p, self._q)
        self._drafted = probs.total(q)
        self._distance = probs.total(probs.excess(*wide(p, q)))
        self.draft, self.target = prefix(self._q), prefix(self._p)

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
        return at_least_0(sums[0] - rising * sums[1])

    def _gained(self) -> Array:
        """Give Σ_A (q - p)+ for n = 0..V."""
        return prefix(probs.excess(self._q, self._p))

    def _largest(self, kept: Array) -> Array:
        """Give the largest q/p on A."""
        return np.asarray(np.maximum.accumulate(self._ratio)[kept - 1])

    def _rejected(self, kept: Array) -> Array:
        return at_least_0(self._drafted - self.draft[kept])

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
        bias = gained[kept] - gained[1] + at_least_0(mass - first)
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
        beyond = at_least_0((kappa - 1) * sums[0] - kappa * sums[1])
        lacking = prefix(probs.excess(self._p, self._q))[kept]
        bias = self._gained()[kept] + at_least_0(kappa - 1) * lacking + beyond
        least = np.minimum.accumulate(self._ratio)[kept - 1]
        after = np.concatenate([np.minimum.accumulate(self._ratio[::-1])[::-1], [one]])[kept]  # the least ratio off A
        inside = np.where((kappa > 1) & (least < 1), kappa + (1 - kappa) * least, one)
        return bias, np.maximum(np.maximum(self._largest(kept), one), np.maximum(inside, kappa * (1 - after)))

    def _kl(self, kept: Array, fallback: str) -> Array:
        p, q = (probs.as_float(values).astype(np.float64) for values in (self._p, self._q))
        with np.errstate(divide="ignore"):
            terms = np.where(q > 0, q * (np.log(np.where(q > 0, q, 1)) - np.log(p)), 0)
        sums, drafted, mass = prefix(terms)[kept], self.draft[kept].astype(np.float64), self.target[kept].astype(np.float64)
        if fallback == "redraft":
            some = drafted > 0
            share = np.where(some, drafted, 1)
            return np.asarray(np.maximum(np.where(some, sums / share - np.log(share), -np.log(mass)), 0))
        first = q[0] + self._rejected(kept).astype(np.float64)  # what the most probable token has in the end
        mode = first * np.log(np.where(first > 0, first, 1) / p[0])
        return np.asarray(np.maximum(sums - terms[0] + mode, 0))
