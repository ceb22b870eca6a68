"""Extremes of allowed sets: the least probable token that a truncation can allow, and the least mass that it can keep.

What a gate lets through, and what truncation sampling cuts off, comes down to these two numbers. V is the size of the
vocabulary, at least 2, or ``math.inf``. A new truncation registers one function with each of `least_allowed` and
`least_kept`.
"""

import math
from collections.abc import Callable
from functools import singledispatch
from typing import Any, NamedTuple

from theory import probs
from theory.failure.suprema import APPROACHED, ATTAINED, BOUND, UnderivedError, number, padded, row
from theory.parameters import Number
from theory.probs import Array
from theory.truncation import Epsilon, Eta, MinP, TopK, TopP, Truncation, Typical


class Extreme(NamedTuple):
    """The infimum of a probability over all targets on V tokens."""

    value: Number
    status: str
    """``"attained"``, ``"approached"``, or ``"bound"`` where it is only known not to be less."""
    row: Callable[[Number], Array]
    """Closeness to a target that has it, or nearly; for `least_allowed` at token 0."""


def _refuse(truncation: Any, size: float) -> Extreme:
    raise UnderivedError(
        f"{truncation}: no extremes of its allowed sets have been derived; register them with theory.failure.truncations, "
        "or look for bad pairs with theory.failure.search"
    )


@singledispatch
def least_allowed(truncation: Truncation, size: float) -> Extreme:
    """Give the least p(x) of an allowed token x, over all targets p on V tokens."""
    return _refuse(truncation, size)


@singledispatch
def least_kept(truncation: Truncation, size: float) -> Extreme:
    """Give the least mass p(A) of an allowed set, over all targets p on V tokens."""
    return _refuse(truncation, size)


def never_cuts(truncation: Truncation, size: float) -> bool:
    """Whether the allowed set is the whole support, whatever the target."""
    return least_kept(truncation, size).value == 1


def _uniform(size: float, value: Number | None = None) -> Extreme:
    return Extreme(
        1 / number(size) if value is None else value, APPROACHED if math.isinf(size) else ATTAINED, lambda c: row(size)
    )


def _anything(size: float) -> Extreme:
    """Give the extreme of a set that may be the whole support: a token of it may have next to nothing."""
    return Extreme(0, APPROACHED, lambda c: row(size, number(c) / int(size)))


def _all(size: float) -> Extreme:
    return Extreme(1, ATTAINED, lambda c: row(size))


# --- min-p ----------------------------------------------------------------------------------------------------------------


@least_allowed.register
def _(truncation: MinP, size: float) -> Extreme:
    """b/(V - 1 + b): p(x) >= b max p >= b (1 - p(x))/(V - 1), with equality where the other tokens are equal."""
    base = number(truncation.p_base)
    if base == 0:
        return _anything(size)
    least = base / (size - 1 + base)
    return Extreme(least, ATTAINED, lambda c: row(size, least))


@least_kept.register
def _(truncation: MinP, size: float) -> Extreme:
    """1/(1 + (V-1) b), approached: the most probable token m is allowed, the others have less than b m each."""
    base = number(truncation.p_base)
    if base == 0:
        return _all(size)
    return Extreme(1 / (1 + (size - 1) * base), APPROACHED, lambda c: row(size, 1 / (1 + (size - 1) * base * (1 - number(c)))))


# --- epsilon --------------------------------------------------------------------------------------------------------------


@least_allowed.register
def _(truncation: Epsilon, size: float) -> Extreme:
    """min(ε, 1/V): a token at ε; or, where no token reaches ε, the most probable one, which has at least 1/V."""
    epsilon = number(truncation.epsilon)
    if epsilon > 1 / number(size):
        return _uniform(size)
    return Extreme(epsilon, ATTAINED, lambda c: row(size, epsilon))


@least_kept.register
def _(truncation: Epsilon, size: float) -> Extreme:
    """1 - (V-1) ε, approached, while that is at least 1/V: all but one token just below ε. Else 1/V, all tokens below ε."""
    epsilon = number(truncation.epsilon)
    if epsilon > 1 / number(size):
        return _uniform(size)
    return Extreme(1 - (size - 1) * epsilon, APPROACHED, lambda c: row(size, 1 - (size - 1) * epsilon * (1 - number(c))))


# --- eta ------------------------------------------------------------------------------------------------------------------


def _eta(truncation: Eta) -> tuple[Number, float]:
    return number(truncation.epsilon), float(truncation.epsilon) ** 0.5 if truncation.delta is None else float(truncation.delta)


@least_allowed.register
def _(truncation: Eta, size: float) -> Extreme:
    """min(ε, t), t the root of (1-t) ln(t (V-1)/(1-t)) = ln δ in (0, 1/V]; for δ > 1, where none is, min(ε, 1/V).

    The entropy is largest where the other tokens are equal; then δ exp(-H) = t is that equation, whose left side rises up to
    1/V, where it is 0. For δ > 1 and ε > 1/V a uniform target reaches its threshold nowhere, and its first token is kept.
    """
    epsilon, delta = _eta(truncation)
    if math.isinf(size):
        return Extreme(0, APPROACHED, lambda c: row(size))
    if delta > 1:
        return least_allowed(Epsilon(epsilon), size)
    from scipy.optimize import brentq

    others = size - 1
    goal = math.log(delta)
    root = 1 / size
    if delta < 1:
        root = float(
            brentq(
                lambda t: (1 - t) * math.log(t * others / (1 - t)) - goal, delta / (2 * size), 1 / size, xtol=1e-300, rtol=1e-15
            )
        )
    return Extreme(min(epsilon, root), ATTAINED, lambda c: row(size, min(epsilon, root)))


@least_kept.register
def _(truncation: Eta, size: float) -> Extreme:
    """max(1 - (V-1) ε, a), approached, a the root of a ln(a (V-1)/(1-a)) = -ln δ in [1/V, 1).

    Tokens outside A have at most u < min(ε, δ exp(-H)) and mass 1 - s, so that u >= (1-s)/(V-1), and since -ln p >= -ln u for
    them, H + ln u >= s ln(u/s): the condition is easiest where one token has s and the others are equal. For δ > 1 any s will
    do, and where all tokens are below ε as well, the first of equals is kept: 1/V.
    """
    epsilon, delta = _eta(truncation)
    if math.isinf(size):
        return Extreme(0, APPROACHED, lambda c: row(size))
    if delta > 1 and epsilon > 1 / number(size):
        return _uniform(size)
    from scipy.optimize import brentq

    others = size - 1
    root = 1 / number(size)
    if delta < 1:
        goal, last = -math.log(delta), 1 - 2**-53

        def short(a: float) -> float:
            return a * math.log(a * others / (1 - a)) - goal

        root = last if short(last) < 0 else float(brentq(short, 1 / size, last, xtol=1e-300, rtol=1e-15))
    least = max(1 - others * epsilon, root)
    return Extreme(least, APPROACHED, lambda c: row(size, least + (1 - least) * number(c) / 2))


# --- top-k ----------------------------------------------------------------------------------------------------------------


@least_allowed.register
def _(truncation: TopK, size: float) -> Extreme:
    """0 for k > 1, approached by a second token of next to nothing; for k = 1, 1/V, where all tokens tie."""
    return _uniform(size) if truncation.k == 1 else Extreme(0, APPROACHED, lambda c: _second(size, number(c) / 2))


def _second(size: float, mass: Number) -> Array:
    return padded(size, mass, 1 - mass)


@least_kept.register
def _(truncation: TopK, size: float) -> Extreme:
    """k/V, approached by k tokens a little above the others, since ties are kept; 1 where k >= V."""
    k = int(truncation.k)
    if k >= size:
        return _all(size)
    if math.isinf(size):
        return Extreme(0, APPROACHED, lambda c: row(size))

    def target(closeness: Number) -> Array:
        others = (1 - number(closeness)) / number(size)
        return row(size, *[(1 - (int(size) - k) * others) / k] * k)

    return Extreme(k / number(size), APPROACHED, target)


# --- top-p ----------------------------------------------------------------------------------------------------------------


@least_allowed.register
def _(truncation: TopP, size: float) -> Extreme:
    """(1 - P)/(V - 1), approached, for P > 1/V; else 1/V.

    A token x has mass S < P before it, and at most V - 2 tokens after it, none larger: p(x) >= (1 - S)/(V - 1), with equality
    where one token has S and the others are equal. If P <= 1/V, the most probable token alone reaches P.
    """
    mass = number(truncation.mass)
    if mass <= 1 / number(size):
        return _uniform(size)

    def target(closeness: Number) -> Array:
        before = mass - number(closeness) * (mass - 1 / number(size)) / 2
        least = (1 - before) / (int(size) - 1)
        ahead = number(closeness) * min(before - least, least) / 2  # of the others, so that no rounding puts it behind them
        return row(size, least + ahead if size > 2 else least, before)

    return Extreme((1 - mass) / number(size - 1), APPROACHED, target)


@least_kept.register
def _(truncation: TopP, size: float) -> Extreme:
    """max(P, 1/V): one token of that mass, and the others equal."""
    mass = number(truncation.mass)
    return _uniform(size) if mass < 1 / number(size) else Extreme(mass, ATTAINED, lambda c: row(size, mass))


# --- locally typical ------------------------------------------------------------------------------------------------------


@least_allowed.register
def _(truncation: Typical, size: float) -> Extreme:
    """At V = 2, 1 - τ, approached, or ½ for τ <= ½. Beyond, a bound: min((1 - τ)/V, 1/V²). At τ = 1, 0, the whole support.

    Let an allowed x with p(x) = t < exp(-H) be left with the set C after it in the order; p(C) > 1 - τ - t. If all of C has
    at most t, V t > 1 - τ. Otherwise some y in C is at least as far from H on the other side, ln p(y) + H >= -ln t - H, so
    that t >= exp(-2 H) >= 1/V². The pair given with the bound has p(x) = 1/(2 (V-1)): half of the mass on one token.
    """
    mass = number(truncation.mass)
    if mass == 1:
        return _anything(size)
    if math.isinf(size):
        return Extreme(0, APPROACHED, lambda c: row(size))
    if size == 2:
        half = 1 / number(2)
        return (
            _uniform(size)
            if mass <= half
            else Extreme(1 - mass, APPROACHED, lambda c: row(2, 1 - mass + number(c) * (mass - half)))
        )

    def target(closeness: Number) -> Array:
        return row(size, 1 / number(2))[::-1]

    return Extreme(min((1 - mass) / number(size), 1 / number(size * size)), BOUND, target)


@least_kept.register
def _(truncation: Typical, size: float) -> Extreme:
    """τ for τ >= ½: one token of that mass, nearest to H. Below, τ where V τ is whole, by a uniform target, and else a bound.

    Over all V it is approached for every τ, since uniform targets keep ceil(V τ)/V. At V = 2 and τ < ½ it is ½.
    """
    mass = number(truncation.mass)
    half = 1 / number(2)
    if size == 2 or mass >= half:
        least = max(mass, half)
        return Extreme(least, ATTAINED, lambda c: row(size, least))
    if math.isinf(size):
        return Extreme(mass, APPROACHED, lambda c: row(size))
    status = ATTAINED if number(mass * int(size)) == round(mass * int(size)) else BOUND
    return Extreme(mass, status, lambda c: row(size))


# --- what the residual fallback needs --------------------------------------------------------------------------------------


def beside(truncation: Truncation, size: int) -> Callable[[Number], Array] | None:
    """Give targets of which two tokens are not allowed: token 0, with next to nothing, and token 1, with some mass that stays.

    None where no such target is. All but k + 2 tokens are 0, where k = 1 but for top-k.
    """
    heads = int(truncation.k) if isinstance(truncation, TopK) else 1
    if size < heads + 2 or never_cuts(truncation, size):
        return None
    mass = number(1) / 4
    while not _cuts_two(truncation, _target(size, heads, mass, mass / 2)):
        mass /= 2
    return lambda closeness: _target(size, heads, mass, mass * number(closeness) / 2)


def _target(size: int, heads: int, mass: Number, tiny: Number) -> Array:
    return padded(size, tiny, mass, *[(1 - mass - tiny) / heads] * heads)


def _cuts_two(truncation: Truncation, p: Array) -> bool:
    allowed = truncation.allowed(probs.as_float(p))
    return bool(not allowed[0] and not allowed[1] and allowed[2])
