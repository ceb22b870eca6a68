"""The suprema of each rule over all pairs of rows on V tokens, each with its derivation. To add a rule, register one function.

The rules of the package and anybody else's are registered in one way, by `derive.register`, as the module that has the class is
imported. What is registered counts for that very class: a subclass may do anything, and is searched. `theory.failure.worst` takes
derivations of the package at their word, since its tests hold them against searches, and does so itself with anybody else's.

Three facts carry most of them.

* A law under a ceiling, π <= p/m, has TV <= 1 - m, KL <= ln 1/m and max π/p <= 1/m. All three are met at once by a draft that
  is sure of a token of target probability m, if the rule keeps it.
* TV, KL, overshoot and mass off the support are convex in π. Where π is linear in q, and wherever the laws reached lie between
  such corners, the worst draft is sure of one token.
* Vocabularies only add: a token that neither model has changes no law here, so that the suprema do not fall with V.

With one token all laws are equal. Of what is only approached, no pair has the value.
"""

import math
from functools import singledispatch
from typing import Any

import numpy as np

from theory import verifiers
from theory.clipping import DIVERGENCES
from theory.failure import balls, truncations
from theory.failure.suprema import (
    APPROACHED,
    ATTAINED,
    Pair,
    Suprema,
    Supremum,
    UnderivedError,
    hot,
    moved,
    nothing,
    number,
    one_hot_draft,
    reduced,
    rounded,
    row,
    suprema,
    together,
)
from theory.parameters import Number
from theory.truncation import MinP

BUDGETS = {
    "kl_divergence": "kl",
    "reverse_kl": "reverse-kl",
    "chi_square": "chi-square",
    "hellinger": "hellinger",
    "jensen_shannon": "js",
    "total_variation": "tv",
    "max_overshoot": "overshoot",
}
"""Key of `theory.clipping.DIVERGENCES` to key of `theory.failure.balls.BALLS`."""

assert BUDGETS.keys() == DIVERGENCES.keys()


@singledispatch
def derive(verifier: verifiers.TokenVerifier, size: float) -> Suprema:
    """Give the proven suprema over all pairs on V >= 2 tokens of a rule that is not lossless; register a function for each class.

    Parameters
    ----------
    verifier : TokenVerifier
        The rule.
    size : float
        V, at least 2; ``math.inf`` for the suprema over all vocabularies.

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
    In the file of the rule:

    >>> from dataclasses import dataclass
    >>> from theory.failure import worst
    >>> from theory.failure.suprema import hot, moved
    >>> @dataclass(frozen=True)
    ... class KeepAll(verifiers.TokenVerifier):
    ...     name = "keep-all"
    ...     def acceptance(self, p, q):
    ...         return 1 + 0 * (p + q)
    ...     def residual(self, p, q):
    ...         return p
    >>> @derive.register
    ... def _(verifier: KeepAll, size):
    ...     return moved(1, lambda closeness: (hot(size, 0), hot(size, 1)))
    >>> worst(KeepAll())["total_variation"].value
    1
    """
    raise UnderivedError(
        f"{verifier}: no worst case has been derived for {type(verifier).__name__}; register one with "
        "theory.failure.derive.register, or look for bad pairs with theory.failure.search"
    )


@derive.register
def _(verifier: str, size: float) -> Suprema:
    """Find the rule by its name."""
    return derive(verifiers.parse(verifier), size)


def _nothing(size: float) -> Suprema:
    """Give the suprema of a rule that is lossless on V tokens."""
    return nothing(lambda c: (row(size), row(size)))


def _anywhere(size: float) -> Suprema:
    """Give the suprema of a rule that may keep a draft on a token that the target lacks, where the target is sure of another."""
    return moved(1, lambda c: (hot(size), hot(size, 1)))


def _where_missing(size: float) -> Suprema:
    """Give the same, for a rule that does so where the target is as flat as it can be without token 0."""
    return moved(1, lambda c: (row(size, 0), hot(size)))


def _sure(size: float, least: Number) -> Suprema:
    """Give the suprema of a rule of which a sure draft on a token with p(x) = *least*, the others equal, is the worst case."""
    return reduced(least, one_hot_draft(lambda c: row(size, least)))


# --- lossless -------------------------------------------------------------------------------------------------------------


@derive.register(verifiers.Strict)
@derive.register(verifiers.ExactMatch)
def _(verifier: verifiers.TokenVerifier, size: float) -> Suprema:
    """TV 0, KL 0, overshoot 1, no mass off the support: the law is p, for every draft."""
    return _nothing(size)


# --- ceilings -------------------------------------------------------------------------------------------------------------


@derive.register(verifiers.Lenience)
@derive.register(verifiers.EagleAcceptance)
def _(verifier: verifiers.Lenience | verifiers.EagleAcceptance, size: float) -> Suprema:
    """TV 1 - l, KL ln 1/l, overshoot 1/l, at p(x) = l and a draft sure of x, which is kept. π <= p/l, so that nothing is worse.

    Eagle: given the candidate c, π(c) = min(1, p(c)/l), and other tokens do not gain. Averages over c keep the ceiling.
    """
    return _sure(size, number(verifier.lenience))


@derive.register
def _(verifier: verifiers.OvershootCeiling, size: float) -> Suprema:
    """TV 1 - λ and KL ln 1/λ, approached; overshoot 1/λ, attained by a draft sure of a token with p(x) < λ.

    p(x) just below λ, with a draft sure of x: π(x) = p(x)/λ. A token gains (1-λ) (q - p) up to q = p/λ and (1-λ) p/λ < (1-λ)
    q beyond, so that TV < 1 - λ. KL = ln 1/λ would need π = p/λ wherever π > 0, with q > p/λ there: a draft of mass above 1.
    """
    lam = number(verifier.lam)
    pair = one_hot_draft(lambda c: row(size, lam * (1 - number(c) / 2)))
    found = reduced(lam, pair, APPROACHED)
    return found | {"max_overshoot": Supremum(found["max_overshoot"].value, ATTAINED, pair)}


@derive.register
def _(verifier: verifiers.HybridCeiling, size: float) -> Suprema:
    """As lenience with m = min(l, p_base/(V - 1 + p_base)): the draft is kept whole on the min-p set, up to p/l off it.

    A token with p(x) = l < p_base/(V - 1 + p_base) is in no min-p set. No mass where p is 0: such a token is in no set either.
    """
    allowed, lenience = truncations.least_allowed(MinP(verifier.p_base), size), number(verifier.lenience)
    return _sure(size, lenience) if lenience < allowed.value else reduced(allowed.value, one_hot_draft(allowed.row))


# --- shares ---------------------------------------------------------------------------------------------------------------


def _share(size: float, weight: Number) -> Suprema:
    """Give the suprema of p (1 - w) + w q: TV = w TV(p, q), and mass w q(p = 0), both most at disjoint supports."""
    return moved(weight, lambda c: (hot(size), hot(size, 1)))


@derive.register(verifiers.CoS)
@derive.register(verifiers.AdaptiveInterpolation)
def _(verifier: verifiers.CoS | verifiers.AdaptiveInterpolation, size: float) -> Suprema:
    """TV 1 - λ, and as much mass where p is 0, at disjoint supports; KL and overshoot inf there. π = λ p + (1 - λ) q."""
    return _share(size, 1 - number(verifier.lam))


@derive.register
def _(verifier: verifiers.StaticEnsemble, size: float) -> Suprema:
    """TV w, and as much mass where p is 0, as CoS with λ = 1 - w."""
    return _share(size, number(verifier.draft_weight))


@derive.register
def _(verifier: verifiers.ContrastiveCoS, size: float) -> Suprema:
    """TV 1, KL and overshoot inf, approached: a draft that lacks only a token with p(x) near 0 makes the law sure of x.

    The law is on the support of p, and TV = 1 would need a law on none of it.
    """
    return reduced(0, rounded(lambda c: (row(size, number(c) / 2), row(size, 0))))


@derive.register
def _(verifier: verifiers.GeometricEnsemble, size: float) -> Suprema:
    """TV 1, KL and overshoot inf, approached: a draft sure of a token with p(x) near 0. At w = 1 the law is q: p may lack x.

    For w < 1 the law is on the supports of both, and p where they do not meet.
    """
    if verifier.draft_weight == 1:
        return _anywhere(size)
    return reduced(0, rounded(one_hot_draft(lambda c: row(size, number(c) / size))))


# --- Cactus ---------------------------------------------------------------------------------------------------------------


@derive.register
def _(verifier: verifiers.Cactus, size: float) -> Suprema:
    """With n = V - 1, TV 1 - s and KL ln 1/s, s = 1/(1 + δn + sqrt((1 + δn)² - 1 - 2δ)); at V = 2, TV sqrt(δ/2) where δ < ½.

    The laws reached are those with π <= γ. Let n tokens of p = s/n be over-drafted, up to γ = p + sqrt(2 δ p (1-p)) each;
    this is concave in p, so that equal tokens gain most, sqrt(2 δ s (n-s)) together, or what is left, 1 - s. The two cross at
    that s. (At n = 1 the root has its top at s = ½, before they cross if δ < ½.) There π is q, uniform on the n tokens, and
    KL is ln 1/s. No pair has more: KL <= ln(1 + χ²), and χ² = Σ (π - p)²/p is at most 2 δ (n - s) + sqrt(2 δ s (n-s)) for an
    s below the crossing, which rises in s, and 2 δ (n - s) + 1 - s above it, which falls. At the crossing both are 1/s - 1.
    At n = 1, χ² <= 2 δ, which s = 1/(1 + 2 δ) meets.

    As V grows TV goes to 1 and KL to inf, however small δ is. Overshoot: γ/p has no bound as p goes to 0. Where p is 0, so is
    γ.
    """
    delta = float(verifier.delta)
    if math.isinf(size):
        return reduced(0, lambda c: (row(size), row(size)))
    n = int(size) - 1
    s = 1 / (1 + delta * n + math.sqrt(delta) * math.hypot(math.sqrt(2 * n - 2), n * math.sqrt(delta)))

    def spread(_: Number) -> Pair:
        return np.array([*[s / n] * n, 1 - s]), np.array([*[1 / n] * n, 0.0])

    small = rounded(one_hot_draft(lambda c: row(size, number(c) / size)))
    half = rounded(one_hot_draft(lambda c: row(2, 1 / number(2))))
    most = (math.sqrt(delta / 2), ATTAINED, half) if n == 1 and delta < 0.5 else (1 - s, ATTAINED, spread)
    return suprema(most, (-math.log(s), ATTAINED, spread), (math.inf, APPROACHED, small), (0, ATTAINED, small))


# --- cascades -------------------------------------------------------------------------------------------------------------


@derive.register
def _(verifier: verifiers.ChowCascade, size: float) -> Suprema:
    """TV 1, all mass where p is 0: a sure draft always stands, for α >= 0."""
    return _anywhere(size)


@derive.register(verifiers.DiffCascade)
@derive.register(verifiers.TokenCascadeV1)
def _(verifier: verifiers.DiffCascade | verifiers.TokenCascadeV1, size: float) -> Suprema:
    """With c = 1 + α: TV 1, all mass where p is 0, for c >= 1/(V-1); TV (V-1) c for 1/V <= c < 1/(V-1); 0 for c < 1/V.

    A sure draft stands iff max p <= c, and where no sure draft stands none does. Then p may lack the drafted token if the
    others can share p at no more than c each; if not, that token has at least 1 - (V-1) c. Over all V, c > 0 is enough.
    """
    flat, others = 1 + number(verifier.alpha), size - 1
    if flat * others >= 1:
        return _where_missing(size)
    return _nothing(size) if flat * size < 1 else _sure(size, 1 - others * flat)


@derive.register
def _(verifier: verifiers.OptCascade, size: float) -> Suprema:
    """TV 1, all mass where p is 0, for α >= -(V-2)/(V-1). Else, with β = -α, TV T = (V-1)/(1 + β (V-1)).

    α >= 0: a sure draft stands beside a sure target. α < 0: it stands beside p iff 1 - max p >= β TV(p, q), beside a p that
    lacks its token iff max p <= 1 - β, which takes 1 - β >= 1/(V-1). If not, let x be the draft's favourite: TV <= Σ p off x
    <= (V-1) max p, so that 1 >= q(x) >= max p + β TV >= TV (1/(V-1) + β). Equality: a sure draft, p(x) = 1 - T, the others
    equal.

    Mass where p is 0 then costs β each, and q(x) must pay: (1-β) (V-2)/(V-1) of it at most, with p uniform on V - 1 tokens
    and the rest of q on one of them; so KL and overshoot are inf, unless V = 2 or β = 1, where only one token can gain, to
    the sure draft.
    """
    beta, others = -number(verifier.alpha), size - 1
    if beta <= 0:
        return _anywhere(size)
    if beta == 1:
        return _sure(size, 1 / number(size))
    if (1 - beta) * others >= 1:
        return _where_missing(size)
    least = 1 - 1 / (beta + 1 / number(others))
    if size == 2:
        return _sure(size, least)
    off = (1 - beta) * number(size - 2) / number(others)

    def pair(_: Number) -> Pair:
        head = hot(size), hot(size, 1)
        return together(row(size, 0), np.asarray(off * head[0] + (1 - off) * head[1]))

    return moved(off, pair) | {"total_variation": _sure(size, least)["total_variation"]}


@derive.register
def _(verifier: verifiers.TokenCascadeV2, size: float) -> Suprema:
    """TV 1, all mass where p is 0, for α >= 1/(V-1). Else TV 1 - m, m = (1 - (V-1) α)/V.

    Tokens with p = 0 are in A iff max p <= α. Else a token of A has p(x) >= max p - α >= (1 - p(x))/(V-1) - α.
    """
    alpha, others = number(verifier.alpha), size - 1
    if alpha > 0 and alpha * others >= 1:
        return _where_missing(size)
    return _sure(size, (1 - others * alpha) / number(size) if alpha > 0 else 1 / number(size))


@derive.register
def _(verifier: verifiers.TokenCascadeV3, size: float) -> Suprema:
    """As the gate with a min-p set of p_base = 1 - α; at α = 1, where A holds all tokens, TV 1 and all mass where p is 0."""
    if verifier.alpha == 1:
        return _anywhere(size)
    allowed = truncations.least_allowed(MinP(1 - verifier.alpha), size)
    return reduced(allowed.value, one_hot_draft(allowed.row), allowed.status)


# --- rules that end in q within a distance --------------------------------------------------------------------------------


@derive.register
def _(verifier: verifiers.FuzzyAcceptance, size: float) -> Suprema:
    """See the table of `theory.failure.balls`: π is q where D(p, q) <= T, else p."""
    return balls.ball(verifier.divergence, verifier.threshold, size)


@derive.register
def _(verifier: verifiers.Optimal, size: float) -> Suprema:
    """See the table of `theory.failure.balls`: the law keeps the budget, and is q itself where q does."""
    found = balls.ball(BUDGETS[verifier.divergence], verifier.budget, size)
    return found if DIVERGENCES[verifier.divergence].rational else _all_rounded(found)


@derive.register
def _(verifier: verifiers.Mentored, size: float) -> Suprema:
    """By α as lenience: π <= p/α, and π is q where q <= p/α. By budget as `Optimal` within KL(p || π)."""
    if verifier.alpha is not None:
        return _sure(size, number(verifier.alpha))
    return _all_rounded(balls.ball("reverse-kl", verifier.budget or 0, size))


def _all_rounded(found: Suprema) -> Suprema:
    return {name: Supremum(one.value, one.status, rounded(one.pair)) for name, one in found.items()}


# --- truncation -----------------------------------------------------------------------------------------------------------


@derive.register(verifiers.SpecCascade)
@derive.register(verifiers.TypicalAcceptance)
@derive.register(verifiers.TruncationVerifier)
def _(verifier: verifiers.SpecCascade | verifiers.TypicalAcceptance | verifiers.TruncationVerifier, size: float) -> Suprema:
    """TV 1 - m, KL ln 1/m, overshoot 1/m, m the least p(x) of an allowed token: a draft sure of it is kept.

    Given p, let m be the least p(x) on A. *redraft*: π is a law on A, so that π <= p/m. *target*, *truncated*, *argmax*: π is
    linear in q, and a sure draft off A gives r, with no more than 1/m of p. (That argmax may be off A; then it has more than
    m.) *optimal*: R r <= (p - q 1_A)+, so that π <= max(q 1_A, p). All have π <= p/m. Nothing goes off the support, which
    holds A.

    *residual* has the same TV. If q >= p somewhere on A then Σ min(π, p) >= m; if not, Σ (q - p)+ lies off A and is at most
    q(off A), so that tokens of A get at least p - q back, and Σ min(π, p) >= p(A). But KL and overshoot are inf, approached:
    where q differs from p in that token x off A lends its p(x) to token y off A, all that is rejected, p(off A), goes to x
    alone, however small p(x) is. This takes two tokens off A.
    """
    truncation = verifier.gate()
    allowed = truncations.least_allowed(truncation, size)
    found = reduced(allowed.value, one_hot_draft(allowed.row), allowed.status)
    if verifier.fallback != "residual":
        return found
    target = truncations.beside(truncation, _some(truncation, size))
    if target is None:
        return found

    def pair(closeness: Number) -> Pair:
        p = target(closeness)
        swapped = p.copy()
        swapped[0], swapped[1] = 0 * p[0], p[0] + p[1]
        return p, swapped

    return found | {name: Supremum(math.inf, APPROACHED, pair) for name in ("kl_divergence", "max_overshoot")}


def _some(truncation: Any, size: float) -> int:
    """Give V, or a V that is large enough for what some V allows."""
    return int(size) if math.isfinite(size) else getattr(truncation, "k", 1) + 2


@derive.register
def _(verifier: verifiers.TruncationSampling, size: float) -> Suprema:
    """TV 1 - m, KL ln 1/m, overshoot 1/m, m the least mass p(A) of an allowed set: the law is p on A, renormalised."""
    kept = truncations.least_kept(verifier.truncation, size)

    def pair(closeness: Number) -> Pair:
        p = kept.row(closeness)
        return p, p

    return _nothing(size) if kept.value == 1 else reduced(kept.value, pair, kept.status)


# --- matching -------------------------------------------------------------------------------------------------------------


@derive.register
def _(verifier: verifiers.ThresholdAcceptance, size: float) -> Suprema:
    """As lenience with m = min(τ_single, τ_acc); for τ_single = 0, TV 1 and all mass where p is 0.

    Given the candidate c: a = 1 where p(c) >= m, so π <= p/m for it; below, a = p(c)/τ_acc <= p(c)/m.
    """
    least = min(number(verifier.threshold_single), number(verifier.threshold_acc))
    return _anywhere(size) if least == 0 else _sure(size, least)


@derive.register
def _(verifier: verifiers.GreedyMatch, size: float) -> Suprema:
    """TV 1 - 1/V, KL ln V, overshoot V: the law is sure of the most probable token, which has at least 1/V."""
    return reduced(1 / number(size), one_hot_draft(lambda c: row(size)))
