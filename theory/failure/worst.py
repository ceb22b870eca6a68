"""Worst cases: how far from the target a rule can take the law, over all pairs of rows, or over all drafts for one target.

Four quantities of the induced law π: TV(π, p), KL(π || p), the largest overshoot max π/p, and the mass that it has where p is
0. For each rule their suprema are derived, in `theory.failure.derivations` over all pairs and in `theory.failure.targets` for
a target, with the pair that attains or approaches each. Where only a bound is known, that is what the status says.
`theory.failure.search` looks for bad pairs without knowing any of it.

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

from theory import parameters, probs
from theory.failure.derivations import derive
from theory.failure.suprema import Pair, Worst, nothing, row
from theory.failure.targets import derive_for
from theory.probs import Array, RowsLike
from theory.verifiers import TokenVerifier


def worst(verifier: TokenVerifier, vocabulary: int | None = None) -> Worst:
    """Give the suprema of a rule over all pairs of rows: TV, KL, overshoot, and mass where p is 0.

    Parameters
    ----------
    verifier : TokenVerifier
        The rule.
    vocabulary : int, optional
        V, at least 1; over all vocabularies if not given.

    Returns
    -------
    Worst
        A `Supremum` for each of `QUANTITIES`; ``witness`` gives a pair that attains or approaches it.

    Raises
    ------
    ValueError
        For a rule, or a truncation, without a derivation: register one with `derive`, or use `search`.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> from theory.verifiers import Cactus, Lenience
    >>> found = worst(Lenience(F(2, 5)))
    >>> [f"{name} {found[name].value} {found[name].status}" for name in ("total_variation", "max_overshoot")]
    ['total_variation 3/5 attained', 'max_overshoot 5/2 attained']
    >>> [round(worst(Cactus(0.02), vocabulary)["total_variation"].value, 3) for vocabulary in (2, 10, 1000)]
    [0.1, 0.436, 0.976]
    """
    if vocabulary is not None:
        parameters.check_count("vocabulary", vocabulary)
    _check(verifier)
    derived = derive.dispatch(type(verifier)) is not derive.dispatch(object)
    if derived and (verifier.lossless or vocabulary == 1):
        return Worst(verifier, vocabulary, nothing(lambda _: _same(verifier, row(vocabulary or math.inf))))
    return Worst(verifier, vocabulary, derive(verifier, vocabulary or math.inf))


def worst_for(verifier: TokenVerifier, p: RowsLike) -> Worst:
    """Give the suprema of a rule over all drafts for one target.

    Parameters
    ----------
    verifier : TokenVerifier
        The rule.
    p : array_like, shape (V,)
        The target's row; on Fractions, values are exact where they are rational.

    Returns
    -------
    Worst
        As `worst` gives; the witness has this p, in floats where the rule's law is irrational.

    Raises
    ------
    ValueError
        Where ``p`` is not one row, and for a rule without a derivation.

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
    _check(verifier)
    target = probs.check_rows(p)
    if target.ndim != 1:
        raise ValueError(f"p has shape {target.shape}: one row is wanted, of shape (V,)")
    derived = derive_for.dispatch(type(verifier)) is not derive_for.dispatch(object)
    if derived and (verifier.lossless or target.size == 1):
        return Worst(verifier, target.size, nothing(lambda _: _same(verifier, target)))
    return Worst(verifier, target.size, derive_for(verifier, target))


def _same(verifier: TokenVerifier, p: Array) -> Pair:
    """Give the draft that is the target; in floats for a rule that is lossless on one token only, and may be irrational."""
    rows = p if verifier.lossless else probs.as_float(p)
    return rows, rows


def _check(verifier: TokenVerifier) -> None:
    if not isinstance(verifier, TokenVerifier):
        raise ValueError(f"verifier = {verifier!r}: must be a TokenVerifier, such as Lenience(0.4)")
