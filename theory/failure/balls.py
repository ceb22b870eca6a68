"""Suprema over a ball: how far a law may be from p in one divergence when another is at most T.

Rules that keep a draft iff D(q, p) <= T, and rules that are the best within a budget, reach every law of the ball and no other.
By the data-processing inequality, two tokens are enough for total variation and for mass off the support, in any vocabulary
of at least two: merging tokens into {π > p} and the rest, or into the support and the rest, leaves the quantity and lowers D.

============== ===================================== ============================================ =======================
D(π, p) <= T   largest TV                            largest KL(π || p)                           most mass where p = 0
============== ===================================== ============================================ =======================
tv             min(T, 1)                             inf                                          min(T, 1)
kl             Vajda's curve                         T                                            0
reverse-kl     Vajda's curve                         inf                                          1 - exp(-T)
js             t: ((1+t)ln(1+t) + (1-t)ln(1-t))/2    inf                                          z: JS((1, 0), (1-z, z))
               = T; 1 for T >= ln 2                                                               = T; 1 for T >= ln 2
coded-js       sqrt(1 - exp(-2T))                    <= 4.612 T                                   0
hellinger      T sqrt(2 - T²); 1 for T >= 1          inf                                          1 - (1 - T²)²
chi-square     sqrt(T)/2; T/(1+T) for T >= 1         ln(1 + T)                                    0
overshoot      1 - 1/T                               ln T                                         0
============== ===================================== ============================================ =======================

The largest overshoot is inf: attained where mass may move off the support; elsewhere approached by a token of next to no
mass; but T under a budget of overshoot itself. Vajda's curve is the greatest t that has a two-token pair with TV = t and KL
<= T; no closed form is known, and t is found as a root of the least KL at TV = t.
"""

import math
import sys
from collections.abc import Callable
from functools import cache

from theory import divergences
from theory.failure.suprema import (
    APPROACHED,
    ATTAINED,
    BOUND,
    Approach,
    Pair,
    Suprema,
    hot,
    moved,
    number,
    one_hot_draft,
    padded,
    reduced,
    row,
    suprema,
    together,
)
from theory.parameters import Number
from theory.probs import Array
from theory.verifiers import fuzzy

LARGEST = sys.float_info.max
"""What a finite limit above it counts for."""

LEAST = 1e-300
"""The least mass that a pair gives a token where the supremum needs less than floats hold: 1/m and ln(1/m)/m are floats too."""

INSIDE = 1 - 1e-12
"""What irrational pairs are shrunk by, so that rounding does not put them outside."""


def ball(divergence: str, limit: Number, size: float) -> Suprema:
    """Give the suprema over all pairs with D(π, p) <= T, V tokens, at least 2.

    Parameters
    ----------
    divergence : str
        A key of `BALLS`.
    limit : float or Fraction
        T above the divergence's least value; inf allows every law.
    size : float
        V, or inf.

    Returns
    -------
    dict of str to Supremum

    Examples
    --------
    >>> [str(supremum.value) for supremum in ball("overshoot", 4, 2).values()]
    ['3/4', '1.3862943611198906', '4', '0']
    """
    if limit == math.inf:
        return moved(1, lambda c: (hot(size), hot(size, 1)))
    return BALLS[divergence](number(min(limit, LARGEST)), size)


def _off(size: float, mass: Number) -> Approach:
    """Give p sure of token 0 and a law that has this mass on token 1."""

    def pair(_: Number) -> Pair:
        return together(hot(size), padded(size, 1 - mass, mass))

    return pair


def _two(size: float, a: float, b: float) -> Approach:
    """Give the pair with p = a and π = b on token 0, and the rest on token 1."""

    def pair(_: Number) -> Pair:
        return padded(size, float(a), 1 - float(a)), padded(size, float(b), 1 - float(b))

    return pair


def _opposed(size: float, distance: float) -> Approach:
    """Give the pair with TV = t that mirrors p and π: ((1-t)/2, (1+t)/2) and the other way round."""
    return _two(size, (1 - distance * INSIDE) / 2, (1 + distance * INSIDE) / 2)


def _ratio(size: float, within: Callable[[Array, Array], bool]) -> Approach:
    """Give pairs within the ball whose law is 1/c times p on token 0: the divergence goes to 0 with p there."""

    def pair(closeness: Number) -> Pair:
        factor = 1 + 1 / float(closeness)
        p = 1 / (2 * factor)
        while not within(*_two(size, p, factor * p)(1)):
            p /= 2
        return _two(size, p, factor * p)(1)

    return pair


def _total_variation(limit: Number, size: float) -> Suprema:
    mass = min(limit, number(1))
    return moved(mass, _off(size, mass))


def _kl(limit: Number, size: float) -> Suprema:
    distance, tight = _vajda(float(limit))
    near = _two(size, tight, tight + distance * INSIDE)
    sure = one_hot_draft(lambda c: row(size, max(math.exp(-float(limit) * INSIDE), LEAST)))
    ratio = _ratio(size, lambda p, law: bool(divergences.kl_divergence(law, p) <= limit))
    return suprema((distance, ATTAINED, near), (float(limit), ATTAINED, sure), (math.inf, APPROACHED, ratio), (0, ATTAINED, sure))


def _reverse_kl(limit: Number, size: float) -> Suprema:
    distance, tight = _vajda(float(limit))
    mass = -math.expm1(-float(limit))
    return moved(mass, _off(size, mass * INSIDE)) | _only(
        "total_variation", distance, _two(size, tight + distance * INSIDE, tight)
    )


def _jensen_shannon(limit: Number, size: float) -> Suprema:
    if limit >= math.log(2):
        return moved(1, _off(size, number(1)))
    goal = float(limit)
    distance = _root(lambda t: (_excess(t) + _excess(-t)) / 2 - goal)
    mass = _root(lambda z: _js_off(z) - goal)
    return moved(mass, _off(size, mass * INSIDE)) | _only("total_variation", distance, _opposed(size, distance))


def _js_off(mass: float) -> float:
    """Give the Jensen-Shannon divergence of (1, 0) and (1-z, z)."""
    middle = math.log1p(-mass / 2)
    return (-middle + (1 - mass) * (math.log1p(-mass) - middle) + mass * math.log(2)) / 2


def _coded_jensen_shannon(limit: Number, size: float) -> Suprema:
    distance = math.sqrt(-math.expm1(-2 * float(limit)))
    near = _opposed(size, distance)
    ratio = _ratio(size, lambda p, law: bool(fuzzy.DIVERGENCES["coded-js"](p, law) <= limit))
    bound = _most_kl_for_coded() * float(limit)
    return suprema((distance, ATTAINED, near), (bound, BOUND, near), (math.inf, APPROACHED, ratio), (0, ATTAINED, near))


@cache
def _most_kl_for_coded() -> float:
    """Give the least C with KL(π || p) <= C D, D the coded divergence: the supremum over r = π/p of a ratio of generators.

    f(r) = r ln r - r + 1 and g(r) = (1+r)/4 ln((1+r)²/(4r)). A token at the best r, of ever less mass, approaches C as T goes
    to 0.
    """
    from scipy.optimize import minimize_scalar

    def negative(log_ratio: float) -> float:
        ratio = math.exp(log_ratio)
        return -(ratio * log_ratio - ratio + 1) / ((1 + ratio) / 4 * (2 * math.log1p(ratio) - math.log(4) - log_ratio))

    return float(-minimize_scalar(negative, bounds=(0.5, 50), method="bounded", options={"xatol": 1e-10}).fun) * (1 + 1e-12)


def _hellinger(limit: Number, size: float) -> Suprema:
    if limit >= 1:
        return moved(1, _off(size, number(1)))
    square = float(limit) ** 2
    mass = square * (2 - square)
    return moved(mass, _off(size, mass * INSIDE)) | _only("total_variation", math.sqrt(mass), _opposed(size, math.sqrt(mass)))


def _chi_square(limit: Number, size: float) -> Suprema:
    """χ² = t²/(a (1-a)) for two tokens, p = a and π = a + t: least at a = ½, or, for t > ½, at a = 1 - t. KL <= ln(1 + χ²)."""
    sure = one_hot_draft(lambda c: row(size, 1 / (1 + float(limit) * INSIDE)))
    found = reduced(1 / (1 + float(limit)), sure) | _only(
        "max_overshoot", math.inf, _ratio(size, lambda p, law: bool(divergences.chi_square(law, p) <= limit)), APPROACHED
    )
    if limit >= 1:
        return found
    distance = math.sqrt(float(limit)) / 2
    return found | _only("total_variation", distance, _two(size, 0.5, 0.5 + distance * INSIDE))


def _overshoot(limit: Number, size: float) -> Suprema:
    return reduced(1 / limit, one_hot_draft(lambda c: row(size, 1 / limit)))


def _only(quantity: str, value: float, pair: Approach, status: str = ATTAINED) -> Suprema:
    return {quantity: suprema(*[(value, status, pair)] * 4)[quantity]}


BALLS: dict[str, Callable[[Number, float], Suprema]] = {
    "tv": _total_variation,
    "kl": _kl,
    "reverse-kl": _reverse_kl,
    "js": _jensen_shannon,
    "coded-js": _coded_jensen_shannon,
    "hellinger": _hellinger,
    "chi-square": _chi_square,
    "overshoot": _overshoot,
}
"""Name of a divergence, as in the table of this module, to the suprema within T, finite and above its least."""


# --- roots ----------------------------------------------------------------------------------------------------------------


def _root(function: Callable[[float], float]) -> float:
    """Give where a function that rises through 0 on (0, 1) does so."""
    from scipy.optimize import brentq

    last = math.nextafter(1, 0)
    return last if function(last) <= 0 else float(brentq(function, 0, last, xtol=1e-300, rtol=1e-14, maxiter=5000))


def _excess(x: float) -> float:
    """Give (1 + x) ln(1 + x) - x for x >= -1, with all its digits near 0."""
    if abs(x) < 0.01:
        return sum((-x) ** k / (k * (k - 1)) for k in range(2, 10))
    return (1 + x) * math.log1p(x) - x if x > -1 else 1.0


def _binary_kl(a: float, distance: float) -> float:
    """Give KL((a + t, 1 - a - t) || (a, 1 - a)) for 0 < a < 1."""
    return a * _excess(distance / a) + (1 - a) * _excess(max(-distance / (1 - a), -1.0))


def _least_kl(distance: float) -> tuple[float, float]:
    """Give the least KL of a pair with TV = t, and the a that has it: π = (a + t, 1 - a - t), p = (a, 1 - a)."""
    from scipy.optimize import minimize_scalar

    best = minimize_scalar(
        lambda a: _binary_kl(a, distance), bounds=(0, 1 - distance), method="bounded", options={"xatol": 1e-13}
    )
    ends = (1 - distance, -math.log1p(-distance))
    return (ends[1], ends[0]) if ends[1] < best.fun else (float(best.fun), float(best.x))


@cache
def _vajda(limit: float) -> tuple[float, float]:
    """Give the greatest t that has KL <= T, and the a of a pair that has both."""
    distance = _root(lambda t: (_least_kl(t)[0] if t > 0 else 0.0) - limit)
    return distance, _least_kl(distance)[1]
