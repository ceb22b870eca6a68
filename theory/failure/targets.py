"""The suprema of each rule over all drafts for a given target, each with its derivation. To add a rule, register one function.

Most rules reach, given p, nothing worse than a sure draft on the least probable token that they keep; the value is then what
the rule's own law has there. Rules with a ceiling reach all laws under a top, π <= t: a polytope, of which a convex quantity
is largest at a corner, where all tokens but one are at 0 or at their top. Which corner is a problem of subset sums; targets
with more than `FEW` tokens get a bound.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import singledispatch
from typing import Any

import numpy as np

from theory import parameters, probs, truncation, verifiers
from theory.clipping import DIVERGENCES
from theory.failure import balls, derivations
from theory.failure.suprema import (
    ATTAINED,
    BOUND,
    QUANTITIES,
    Approach,
    Pair,
    Suprema,
    Supremum,
    UnderivedError,
    hot,
    moved,
    suprema,
    together,
)
from theory.probs import Array
from theory.verifiers.collaborative import ceiling

FEW = 10
"""Tokens of a target's support up to which every corner under a top is visited."""


@singledispatch
def derive_for(verifier: verifiers.TokenVerifier, p: Array) -> Suprema:
    """Give the proven suprema over all drafts for a target, of a rule that is not lossless; register a function for each class.

    As with `theory.failure.derive`, what is registered counts for that very class.

    Parameters
    ----------
    verifier : TokenVerifier
        The rule.
    p : ndarray, shape (V,)
        The target, a checked row of at least two tokens. Fractions are kept where values are rational.

    Returns
    -------
    dict of str to Supremum
        One for each of `theory.failure.QUANTITIES`, in their order.

    Raises
    ------
    UnderivedError
        A ValueError, for a rule that has no derivation.

    Examples
    --------
    >>> from theory import probs
    >>> found = derive_for(verifiers.CoS(0.5), probs.check_rows([0.75, 0.25]))
    >>> found["total_variation"].value.item(), found["total_variation"].status
    (0.375, 'attained')
    """
    raise UnderivedError(
        f"{verifier}: no worst draft has been derived for {type(verifier).__name__}; register one with "
        "theory.failure.derive_for.register, or look for bad drafts with theory.failure.search"
    )


@derive_for.register
def _(verifier: str, p: Array) -> Suprema:
    """Find the rule by its name."""
    return derive_for(verifiers.parse(verifier), p)


# --- a sure draft -----------------------------------------------------------------------------------------------------------


def at(verifier: verifiers.TokenVerifier, p: Array, *drafts: Array) -> Suprema:
    """Give as suprema what the rule's law has at one draft, or at one for each quantity."""
    pairs = [together(p, q) for q in drafts]
    laws = [(verifier.induced(*pair), pair) for pair in pairs]
    each = laws * len(QUANTITIES) if len(laws) == 1 else laws
    return suprema(*(_measured(*found, measure) for found, measure in zip(each, QUANTITIES.values(), strict=True)))


def _measured(law: Array, pair: Pair, measure: Callable[[Array, Array], Any]) -> tuple[Any, str, Approach]:
    return measure(law, pair[0]), ATTAINED, lambda _: pair


def _sure(p: Array, kept: Array | bool = True) -> Array:
    """Give the draft that is sure of the least probable of some tokens; p itself if there are none."""
    mask = np.broadcast_to(kept, p.shape)
    return hot(p.size, int(np.where(mask, p, 2).argmin())) if mask.any() else p


@derive_for.register(verifiers.Strict)
@derive_for.register(verifiers.ExactMatch)
@derive_for.register(verifiers.GreedyMatch)
@derive_for.register(verifiers.TruncationSampling)
def _(verifier: verifiers.TokenVerifier, p: Array) -> Suprema:
    """Take any draft: the law is the same for all."""
    return at(verifier, p, p)


@derive_for.register(verifiers.CoS)
@derive_for.register(verifiers.StaticEnsemble)
@derive_for.register(verifiers.AdaptiveInterpolation)
@derive_for.register(verifiers.ChowCascade)
@derive_for.register(verifiers.DiffCascade)
@derive_for.register(verifiers.TokenCascadeV1)
def _(verifier: verifiers.TokenVerifier, p: Array) -> Suprema:
    """Take a sure draft on the least probable token.

    Mixtures are linear in q, and all four quantities rise as the token's p falls. Chow, difference and V1: whether a sure
    draft stands depends on p alone; if it does the law is sure of that token, which no law is worse than; if not, no draft
    stands at all.
    """
    return at(verifier, p, _sure(p))


@derive_for.register(verifiers.TokenCascadeV2)
@derive_for.register(verifiers.TokenCascadeV3)
def _(verifier: verifiers.TokenCascadeV2 | verifiers.TokenCascadeV3, p: Array) -> Suprema:
    """Take a sure draft on the least probable token of A, since π is linear in q, and p for a sure draft off A."""
    return at(verifier, p, _sure(p, verifier.kept(p, p)))


@derive_for.register
def _(verifier: verifiers.ContrastiveCoS, p: Array) -> Suprema:
    """Take a draft that lacks only the least probable token of the support: the law, on the support, is sure of that token."""
    x = int(np.where(p > 0, p, 2).argmin())
    others = np.arange(p.size) != x
    rows = probs.as_float(p)
    return at(verifier, rows, rows if p[x] == 1 else others / (p.size - 1))


@derive_for.register
def _(verifier: verifiers.GeometricEnsemble, p: Array) -> Suprema:
    """Take a sure draft on the least probable token, for w < 1 of the support, where the law then is; at w = 1 it is q."""
    if verifier.draft_weight == 1:
        return at(verifier, p, _sure(p))
    return at(verifier, probs.as_float(p), probs.as_float(_sure(p, p > 0)))


@derive_for.register(verifiers.EagleAcceptance)
@derive_for.register(verifiers.ThresholdAcceptance)
def _(verifier: verifiers.EagleAcceptance | verifiers.ThresholdAcceptance, p: Array) -> Suprema:
    """π is linear in q. A sure draft on c gives TV a - p(c), KL that of (a, 1 - a) from (p(c), 1 - p(c)), overshoot a/p(c)."""
    chance = np.asarray(verifier.chance(p))
    gain = chance - p
    a, x = probs.as_float(chance).astype(np.float64), probs.as_float(p).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(x > 0, a / np.where(x > 0, x, 1), np.where(a > 0, np.inf, 0))
        log = np.where(a > 0, a * np.log(ratio), 0) + np.where(a < 1, (1 - a) * np.log((1 - a) / (1 - x)), 0)
    tokens = (gain.argmax(), log.argmax(), ratio.argmax(), np.where(p > 0, 0 * a, a).argmax())
    return at(verifier, p, *(hot(p.size, int(token)) for token in tokens))


@derive_for.register(verifiers.SpecCascade)
@derive_for.register(verifiers.TypicalAcceptance)
@derive_for.register(verifiers.TruncationVerifier)
def _(verifier: verifiers.SpecCascade | verifiers.TypicalAcceptance | verifiers.TruncationVerifier, p: Array) -> Suprema:
    """Take a sure draft on the least probable allowed token; see `theory.failure.derivations` for why, fallback by fallback.

    *residual*: the overshoot may be p(off A)/p(x), approached, for the least probable x of the support off A, if A leaves out
    another token too: q is p but for next to all of p(x), which goes there. The KL is then bounded by its logarithm.
    """
    allowed = verifier.gate().allowed(p)
    found = at(verifier, p, _sure(p, allowed))
    off = ~allowed & (p > 0)
    if verifier.fallback != "residual" or not off.any() or (~allowed).sum() < 2:
        return found
    x = int(np.where(off, p, 2).argmin())
    y = int(next(token for token in np.flatnonzero(~allowed) if token != x))
    ratio = p[~allowed].sum() / p[x]
    if ratio <= found["max_overshoot"].value:
        return found

    def pair(_: parameters.Number) -> Pair:
        q = p.copy()
        q[x], q[y] = 0 * p[x], p[y] + p[x]
        return p, q

    return found | {
        "kl_divergence": Supremum(math.log(ratio), BOUND, pair),
        "max_overshoot": Supremum(ratio, ATTAINED, pair),
    }


# --- laws under a top -------------------------------------------------------------------------------------------------------


@derive_for.register
def _(verifier: verifiers.Lenience, p: Array) -> Suprema:
    """Reach the laws under p/l."""
    return under(verifier, p, ceiling(p, verifier.lenience))


@derive_for.register
def _(verifier: verifiers.HybridCeiling, p: Array) -> Suprema:
    """Reach the laws under 1 on the min-p set and p/l off it."""
    allowed = truncation.MinP(verifier.p_base).allowed(p)
    return under(verifier, p, np.where(allowed, 1 + 0 * p, ceiling(p, verifier.lenience)))


@derive_for.register
def _(verifier: verifiers.Cactus, p: Array) -> Suprema:
    """Reach the laws under γ = p + sqrt(2 δ p (1 - p))."""
    p = probs.as_float(p).astype(np.float64)
    return under(verifier, p, p + np.sqrt(2 * min(float(verifier.delta), 1e300) * p * np.maximum(1 - p, 0)))


def under(verifier: verifiers.TokenVerifier, p: Array, top: Array) -> Suprema:
    """Give the suprema over all laws π <= t, each of which is the law of the draft q = π."""
    top = np.minimum(top, 1)
    some = np.flatnonzero(p > 0)
    with np.errstate(over="ignore"):
        most = some[(top[some] / p[some]).argmax()]
    draft = top[most] * hot(p.size, int(most)) + (1 - top[most]) * hot(p.size, int(most == 0)) if p.size > 1 else p
    overshoot = at(verifier, p, np.asarray(draft if probs.is_exact(p) else draft.astype(np.float64)))
    if len(some) > FEW:
        return _bounded(p, top, overshoot)
    corners = _corners(p, top, some)
    tv, kl = (corners[int(np.argmax(QUANTITIES[name](corners, p)))] for name in ("total_variation", "kl_divergence"))
    return at(verifier, p, tv, kl, tv, tv) | {"max_overshoot": overshoot["max_overshoot"]}


def _corners(p: Array, top: Array, some: Array) -> Array:
    """Give the corners of {π <= t}: a set of tokens at their top, and one more with what is left."""
    size = len(some)
    full = probs.indicator((np.arange(1 << size)[:, None] >> np.arange(size)) & 1 == 1, p) * top[some]
    left = 1 - full.sum(axis=-1)
    rounding = 0 if probs.is_exact(p) else 1e-12
    room = (left[:, None] <= top[some] - full + rounding) & (left >= -rounding)[:, None]
    sets, last = np.nonzero(room.astype(bool))
    law = full[sets]
    law[np.arange(len(sets)), last] += np.maximum(left[sets], 0 * left[sets])
    corners = np.zeros((len(sets), p.size), dtype=p.dtype) + 0 * p
    corners[:, some] = law
    return corners if probs.is_exact(p) else probs.normalise(corners)


def _bounded(p: Array, top: Array, overshoot: Suprema) -> Suprema:
    """Give bounds: TV by taking tokens in parts, those that gain most for their p first; KL by the logarithm of the overshoot."""
    gain = top - p
    order = np.argsort(-probs.as_float(gain / np.where(p > 0, p, 1)), kind="stable")
    mass, gained = np.cumsum(p[order]), np.cumsum(gain[order])
    last = int(np.argmax(np.append((gained >= 1 - mass)[:-1], True)))
    before, sofar = (mass[last] - p[order[last]], gained[last] - gain[order[last]])
    step = p[order[last]] + gain[order[last]]
    share = min((1 - before - sofar) / step, 1) if step > 0 else 0
    ratio = overshoot["max_overshoot"].value
    values = {"total_variation": 1 - before - share * p[order[last]], "kl_divergence": math.log(ratio)}
    return overshoot | {name: replace(overshoot[name], value=value, status=BOUND) for name, value in values.items()}


@derive_for.register
def _(verifier: verifiers.OvershootCeiling, p: Array) -> Suprema:
    """Overshoot 1/λ where some p(x) < λ, else λ + (1 - λ)/p(x) for the least. TV and KL: bounds, those of laws under p/λ."""
    found, bound = at(verifier, p, _sure(p, p > 0)), under(verifiers.Lenience(verifier.lam), p, ceiling(p, verifier.lam))
    return found | {
        name: replace(found[name], value=bound[name].value, status=BOUND) for name in ("total_variation", "kl_divergence")
    }


# --- rules by the distance of q -------------------------------------------------------------------------------------------


@derive_for.register
def _(verifier: verifiers.Mentored, p: Array) -> Suprema:
    """By α the laws under p/α; by budget those within it."""
    return _within(verifier, p) if verifier.alpha is None else under(verifier, p, ceiling(p, verifier.alpha))


@derive_for.register
def _(verifier: verifiers.Optimal, p: Array) -> Suprema:
    """Reach the laws within the budget; of overshoot, those under c p."""
    if verifier.divergence == "max_overshoot" and verifier.budget < math.inf:
        return under(verifier, p, ceiling(p, parameters.inverse(verifier.budget)))
    return _within(verifier, p)


@derive_for.register
def _(verifier: verifiers.OptCascade, p: Array) -> Suprema:
    """As rules by a distance; for α < 0 a draft that stands has TV <= (max q - max p)/|α| <= (1 - max p)/|α|."""
    found = _within(verifier, p)
    if verifier.alpha >= 0 or found["total_variation"].exact:
        return found
    most = (1 - p.max()) / -parameters.carry(verifier.alpha, p)
    if most == 0:
        return at(verifier, p, p)
    limits = {name: min(found[name].value, most) for name in ("total_variation", "mass_off_support")}
    return found | {name: replace(found[name], value=value) for name, value in limits.items()}


@derive_for.register
def _(verifier: verifiers.FuzzyAcceptance, p: Array) -> Suprema:
    """Reach the laws within the threshold."""
    return _within(verifier, p)


def _within(verifier: verifiers.TokenVerifier, p: Array) -> Suprema:
    """Take a sure draft on the least probable token x, if it induces its own law: no law is worse. If not, bounds.

    They are the suprema over all targets on as many tokens, and what a law that is sure of x has. But where p lacks x, the
    most mass off the support is that over all targets, and KL and overshoot are inf. Within a total variation T < 1 - p(x)
    all but the KL is known: T of the mass moves to x.
    """
    if isinstance(verifier, verifiers.Mentored) or (
        isinstance(verifier, verifiers.Optimal) and not DIVERGENCES[verifier.divergence].rational
    ):
        p = probs.as_float(p)
    rows, draft = together(p, _sure(p))
    found = at(verifier, rows, draft)
    if np.array_equal(verifier.induced(rows, draft), draft):
        return found
    sure = suprema(*((measure(draft, rows), BOUND, found[name].pair) for name, measure in QUANTITIES.items()))
    everywhere = derivations.derive(verifier, p.size)
    bounds = {name: _least(sure[name], everywhere[name]) for name in QUANTITIES}
    if _distance(verifier) in ("tv", "total_variation"):
        return _moving(verifier, p, bounds)
    mass = everywhere["mass_off_support"].value
    if isinstance(verifier, verifiers.OptCascade) or mass == 0 or p.min() > 0:
        return bounds
    # To scale all of p down alike, and give the rest to a token that p lacks, is as near as two tokens are.
    share = parameters.carry(mass * balls.INSIDE, rows)
    pair = together(rows, np.asarray((1 - share) * rows + share * draft))
    return moved(mass, lambda _: pair) | {"total_variation": bounds["total_variation"]}


def _least(one: Supremum, other: Supremum) -> Supremum:
    """Give the smaller bound; one of 0 is no bound but attained."""
    value = min(one.value, other.value)
    return replace(one, value=value, status=ATTAINED if value == 0 else BOUND)


def _distance(verifier: verifiers.TokenVerifier) -> str:
    return getattr(verifier, "divergence", "")


def _moving(verifier: Any, p: Array, bounds: Suprema) -> Suprema:
    """Give what moving T < 1 - p(x) of the mass to the least probable token x attains: TV T, overshoot 1 + T/p(x)."""
    limit = parameters.carry(getattr(verifier, "threshold", None) or verifier.budget, p)
    least, sure = p.min(), _sure(p)
    share = limit / (1 - least)
    draft = (1 - share) * p + share * together(sure, p)[0]
    pair = together(p, np.asarray(draft))
    if least == 0:
        return moved(limit, lambda _: pair)
    exact = suprema(
        (limit, ATTAINED, lambda _: pair),
        (0, BOUND, lambda _: pair),
        (1 + limit / least, ATTAINED, lambda _: pair),
        (0, ATTAINED, lambda _: pair),
    )
    kl = replace(bounds["kl_divergence"], value=min(bounds["kl_divergence"].value, math.log(1 + limit / least)))
    return exact | {"kl_divergence": kl}
