"""Worst cases: how far from the target a rule can take the law, over all pairs of rows, or over all drafts for one target.

Four quantities of the induced law π: TV(π, p), KL(π || p), the largest overshoot max π/p, and the mass that it has where p is
0. For each rule their suprema are derived, in `theory.failure.derivations` over all pairs and in `theory.failure.targets` for
a target, with the pair that attains or approaches each. Where only a bound is known, that is what the status says.
`theory.failure.search` looks for bad pairs without knowing any of it. It also takes the place of what nobody has derived: a rule
of your own has suprema at once, with the status *searched*, and proven ones if you register them with `theory.failure.derive`.

Over all pairs on V >= 2 tokens, and what comes of it as V grows:

=========================== ========================= =========== =========== ===============================================
rule                        TV                        off support any V       worst pair
=========================== ========================= =========== =========== ===============================================
strict, exact match         0                         0           0           any
lenience, EAGLE             1 - l                     0           the same    a draft sure of a token with p(x) = l
mentored by α               1 - α                     0           the same    as lenience
SGLang                      1 - min(τ_single, τ_acc)  0           the same    as lenience; off the support at τ_single = 0
overshoot ceiling           1 - λ, approached         0           the same    as lenience, p(x) just below λ
hybrid ceiling              1 - min(l, m)             0           1           as lenience, or as a gate
CoS, adaptive interpolation 1 - λ                     1 - λ       the same    disjoint supports
static ensemble             w                         w           the same    disjoint supports
contrastive CoS             1, approached             0           the same    a draft that lacks only a token with p(x) near 0
geometric ensemble          1, approached             0           the same    a draft sure of a token with p(x) near 0
Cactus                      1 - s, s by δ and V       0           1           V - 1 tokens over-drafted alike
Chow                        1                         1           the same    disjoint supports
difference, optimal, V1     1 if α >= -(V-2)/(V-1)    1           1, 1        p as flat as can be without x, a draft sure of x
V2                          1 if α >= 1/(V-1)         1           1, 1        the same
V3                          as min-p with 1 - α       0           1, 0        as that gate; off the support at α = 1
gates                       1 - m                     0           1, 0        a draft sure of the least probable allowed token
truncation sampling         1 - the least p(A)        0           1           a target cut as much as can be; top-p: 1 - P
fuzzy, optimal              see `balls`               see `balls` the same    two tokens
greedy match                1 - 1/V                   0           1           p uniform
=========================== ========================= =========== =========== ===============================================

In all rows with no mass off the support and no special pair, KL is ln 1/m and the overshoot 1/m where TV is 1 - m; with mass
off the support both are inf. Exceptions: the overshoot of Cactus is unbounded at every V, and so are KL and overshoot of
gates with the fallback *residual*, from V = 3 on. m of a gate, for min-p: p_base/(V - 1 + p_base).
"""

import math
from collections.abc import Callable, Mapping
from typing import Any

from theory import parameters, probs
from theory.failure import growth
from theory.failure.derivations import derive
from theory.failure.search import Found, search, search_at
from theory.failure.suprema import QUANTITIES, SEARCHED, Pair, Suprema, Supremum, UnderivedError, Worst, nothing, row
from theory.failure.targets import derive_for
from theory.probs import Array, RowsLike
from theory.verifiers import TokenVerifier, resolve
from theory.verifiers.checks import is_believed

SEARCHED_TOKENS = 3
"""Tokens of the pairs from which a search over all vocabularies starts, to go to twice and four times as many."""

ROOM = 1e-6
"""How far a value in floats may be above a supremum, relative to it."""


def worst(verifier: TokenVerifier | str, vocabulary: int | None = None) -> Worst:
    """Give the suprema of a rule over all pairs of rows: TV, KL, overshoot, and mass where p is 0.

    Parameters
    ----------
    verifier : TokenVerifier or str
        The rule or its name; any will do, one of your own too.
    vocabulary : int, optional
        V, at least 1; over all vocabularies if not given.

    Returns
    -------
    Worst
        A `Supremum` for each of `QUANTITIES`; ``witness`` gives a pair that attains or approaches it. For a rule without a
        derivation (see `derive`) they are searched: lower bounds, whose ``trend`` says whether a larger search finds more. Over
        all vocabularies these are the largest values on 3, 6 and 12 tokens; `search_sizes` goes on.

    Raises
    ------
    ValueError
        For a rule that does not exist or is none, and where a derivation of somebody else's is beaten by a short search.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> from theory.verifiers import Cactus, Lenience
    >>> found = worst(Lenience(F(2, 5)))
    >>> [f"{name} {found[name].value} {found[name].status}" for name in ("total_variation", "max_overshoot")]
    ['total_variation 3/5 attained', 'max_overshoot 5/2 attained']
    >>> [round(worst(Cactus(0.02), vocabulary)["total_variation"].value, 3) for vocabulary in (2, 10, 1000)]
    [0.1, 0.436, 0.976]
    >>> from dataclasses import dataclass
    >>> from theory.verifiers.base import ExcessResidual
    >>> @dataclass(frozen=True)
    ... class KeepHalf(ExcessResidual):
    ...     def acceptance(self, p, q):
    ...         return (1 + Lenience(1).acceptance(p, q)) / 2
    >>> one = worst(KeepHalf())["total_variation"]
    >>> round(one.value, 6), one.status, one.trend
    (0.5, 'searched', 'settled')
    """
    if vocabulary is not None:
        parameters.check_count("vocabulary", vocabulary)
    rule = resolve(verifier)
    size = vocabulary or math.inf
    found = _derived(derive, rule, size, vocabulary == 1, lambda: row(size))
    tokens = vocabulary or SEARCHED_TOKENS
    if found is None:
        return Worst(rule, vocabulary, {name: _searched(rule, name, tokens, vocabulary is None) for name in QUANTITIES})
    if not is_believed(rule):
        _hold(rule, found, lambda name: search_at(rule, name, tokens, generations=CHECKED))
    return Worst(rule, vocabulary, found)


def worst_for(verifier: TokenVerifier | str, p: RowsLike) -> Worst:
    """Give the suprema of a rule over all drafts for one target.

    Parameters
    ----------
    verifier : TokenVerifier or str
        The rule or its name; any will do, one of your own too.
    p : array_like, shape (V,)
        The target's row. Fractions are kept where values are derived and rational.

    Returns
    -------
    Worst
        As `worst` gives; the witness has this p, in floats where the rule's law is irrational, or searched.

    Raises
    ------
    ValueError
        Where ``p`` is not one row, and as for `worst`.

    Notes
    -----
    For rules with a ceiling, the worst TV is a problem of subset sums; with more than `theory.failure.targets.FEW` tokens in
    the support TV and KL are bounds. So are those of the overshoot ceiling, and those of rules by a distance, where a sure
    draft is too far.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> from theory.verifiers import Lenience, SpecCascade
    >>> p = [F(5, 10), F(3, 10), F(2, 10)]
    >>> [str(worst_for(rule, p)["total_variation"].value) for rule in (Lenience(F(2, 5)), SpecCascade(F(1, 2)))]
    ['1/2', '7/10']
    """
    rule = resolve(verifier)
    target = probs.check_rows(p)
    if target.ndim != 1:
        raise ValueError(f"p has shape {target.shape}: one row is wanted, of shape (V,)")
    found = _derived(derive_for, rule, target, target.size == 1, lambda: target)
    if found is None:
        each = {name: search(rule, name, target=target) for name in QUANTITIES}
        return Worst(rule, target.size, {name: _supremum(one, one.value) for name, one in each.items()})
    if not is_believed(rule):
        _hold(rule, found, lambda name: search(rule, name, target=target, generations=CHECKED))
    return Worst(rule, target.size, found)


# --- what is derived ----------------------------------------------------------------------------------------------------------

CHECKED = 12
"""Generations of the search against which derivations of somebody else's are held."""


def _derived(table: Any, rule: TokenVerifier, over: Any, single: bool, target: Callable[[], Array]) -> Suprema | None:
    """Give what a table has for the very class of a rule, or None; ``single`` is whether there is but one token."""
    if type(rule) not in table.registry:
        return None
    if rule.lossless or single:
        return nothing(lambda _: _same(rule, target()))
    try:
        found: Suprema = table(rule, over)
    except UnderivedError:
        return None
    return found


def _same(verifier: TokenVerifier, p: Array) -> Pair:
    """Give the draft that is the target; in floats for a rule that is lossless on one token only, and may be irrational."""
    rows = p if verifier.lossless else probs.as_float(p)
    return rows, rows


def _hold(rule: TokenVerifier, claimed: Mapping[str, Supremum], look: Callable[[str], Found]) -> None:
    """Raise where a search beats what a derivation claims."""
    for name, one in claimed.items():
        found = look(name)
        if found.value > float(one.value) * (1 + ROOM) + 1e-9:
            rows = ", ".join(f"{what} = {values.tolist()}" for what, values in (("p", found.p), ("q", found.q)))
            raise ValueError(f"{rule}: {name} = {found.value:.6g} at {rows}: its derivation says at most {float(one.value):.6g}")


# --- what is searched ---------------------------------------------------------------------------------------------------------


def _searched(rule: TokenVerifier, name: str, tokens: int, more: bool) -> Supremum:
    """Give a searched supremum, on so many tokens, or on more too."""
    found = search(rule, name, tokens) if more else search_at(rule, name, tokens)
    return _supremum(found, max([found.value, *found.by_size.values()]))


def _supremum(found: Found, value: float) -> Supremum:
    pair = found.p, found.q
    trend = found.size_trend if found.trend == growth.SETTLED and found.size_trend else found.trend
    return Supremum(value, SEARCHED, lambda _: pair, trend, found.said)
