"""The frontier: the greatest acceptance that a single-draft verifier can have at a given divergence from the target.

1. Acceptance is an overlap
---------------------------
A rule accepts the mass q a of its draft. Since q a <= q, and q a <= π because what replaces a rejection only adds to it,

    Σ q a <= Σ min(q, π) = 1 - TV(π, q),

with equality iff q a = min(q, π), as when π is verified strictly: a = min(1, π/q), r = norm((π - q)+). So the frontier of a
divergence D is that of laws: the most of Σ min(q, π) over all π with D(π, p) <= budget.

2. The form of the best law
---------------------------
Let D = Σ p f(π/p) with a convex f. The objective is concave and the constraint convex, so that, by Karush, Kuhn and Tucker, a
law within a budget above 0 is best iff there are μ >= 0 and ν with s(x) ∈ μ ∂f(π/p) + ν at every token, where s(x) is a
supergradient of min(q, π): 1 where π < q, 0 where π > q, anything in between where π = q. While the budget binds, μ > 0, all
tokens with π < q so share one slope of f, and all with π > q another, lower one: for a strictly convex f, π = p/a on the first
and π = b p on the second,

    π = clip(q, b p, p/a),     Σ (q - p/a)+ = Σ (b p - q)+ = R,     b <= 1 <= 1/a,

the form of mentored decoding, with R the rejection rate. It has one parameter, whatever f is: the map from budget to R is all
that differs.

3. One family is best for every divergence at once
--------------------------------------------------
Neither strictness nor smoothness is needed. **Theorem.** Among all laws π with TV(π, q) <= R, where 0 <= R <= TV(p, q), the clip
with rejection rate R minimises every f-divergence from p at once. *Proof.* An f-divergence is not changed by a multiple of
t - 1 in f, so let f'(1) = 0, or 0 ∈ ∂f(1). Then f(t) is a mixture over c, with the weights df'(c), of (t - c)+ for c >= 1 and of
(c - t)+ for c < 1, and Σ p f(π/p), with f'(∞) π where p is 0, the same mixture of the excesses Σ (π - c p)+ and the deficits
Σ (c p - π)+. Now (q - c p)+ - (min(q, π) - c p)+ <= (q - π)+, and Σ (q - π)+ <= R; likewise from above. So for any such π

    Σ (π - c p)+ >= Σ (min(q, π) - c p)+ >= Σ (q - c p)+ - R,     Σ (c p - π)+ >= Σ (c p - max(q, π))+ >= Σ (c p - q)+ - R,

and neither is below 0. The clip has, for every c, the larger of the two: its excess is Σ (q - c p)+ - Σ (q - p/a)+ up to
c = 1/a and 0 beyond; its deficit Σ (c p - q)+ - Σ (b p - q)+ down to c = b and 0 below; and both sums that are taken off are R.
(While R is below z = q(p = 0) there is no ceiling: the part of z that does not pass, again R, is what is taken off the excess.) ∎

So KL in both directions, chi-square, Hellinger, Jensen-Shannon, TV and Renyi divergences of all orders, which are monotone in
f-divergences or limits of such, have the same best verifiers.

* Where f is strictly convex the best law is unique on the target's support. TV is not: every law between p and q with the right
  R is best, which is the line TV + R = TV(p, q) of `on_the_line`. Nor is the largest overshoot max π/p, whose frontier is
  Σ min(q, c p) under π <= c p: lenience with l = 1/c attains it, and so does the clip with a = l.
* Draft off the target's support, of mass z = q(p = 0), has an infinite ratio q/p and is accepted last, after all else, each
  unit of it at the cost f'(∞). That is infinite for KL(π || p) and chi-square: no finite budget buys more acceptance than
  1 - z. For KL(p || π), Hellinger, Jensen-Shannon and TV it is finite, and a share of that draft passes, any part of it as good
  as any other.
* Where the draft lacks tokens of the target, KL(p || π) is infinite at π = q: acceptance then tends to 1, but no finite budget
  reaches it.
"""

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from theory import clipping, divergences, probs, sources
from theory.clipping import DIVERGENCES
from theory.probs import Array, RowsLike
from theory.sources import Brought, RowSource
from theory.verifiers import Optimal, TokenVerifier, resolve, resolve_all

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["DIVERGENCES", "EXAMPLES", "Best", "Line", "acceptance_rate", "best", "line", "on_the_line", "shortfall"]


class Best(NamedTuple):
    """The greatest acceptance within a budget, and a verifier that has it."""

    acceptance_rate: Any
    """Σ min(q, π), probability; shape (...)."""
    divergence: Any
    """D(π, p) of the law; shape (...)."""
    law: Array
    """π(x), shape (..., V)."""
    a: Any
    """In [0, 1]: no token of the target's support above p/a; 0 is no ceiling. Shape (...)."""
    b: Any
    """In [0, 1]: no token below b p. Shape (...)."""
    share: Any
    """In [0, 1]: how much of the draft passes where the target has nothing. Shape (...)."""
    verifier: Optimal
    """Has this acceptance rate and this induced law."""


def best(p: RowsLike, q: RowsLike, budget: float, divergence: str = "kl_divergence") -> Best:
    """Give the greatest acceptance rate that a single-draft rule can have within a budget, and a rule that attains it.

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Rows of the target and of the draft; they broadcast.
    budget : float or Fraction
        In [0, inf], in the units of the divergence; in [1, inf] for ``"max_overshoot"``. It holds on each pair.
    divergence : str
        A key of `theory.clipping.DIVERGENCES`: ``"kl_divergence"`` (π || p), ``"reverse_kl"`` (p || π), ``"chi_square"``,
        ``"hellinger"``, ``"jensen_shannon"``, ``"total_variation"`` or ``"max_overshoot"``.

    Returns
    -------
    Best

    Raises
    ------
    ValueError
        For a budget below the least, or NaN, a divergence that does not exist, and where ``p`` or ``q`` are not rows.

    Notes
    -----
    O(V log V). On Fractions exact for ``"total_variation"``, min(1, 1 - TV(p, q) + budget) (Yin et al., arXiv 2411.00841, Thm 5),
    and for ``"max_overshoot"``, Σ min(q, budget · p); the others are taken to float64.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> p, q = [F(4, 10), F(3, 10), F(2, 10), F(1, 10)], [F(4, 20), F(5, 20), F(5, 20), F(6, 20)]
    >>> best(p, q, F(1, 10), "total_variation").acceptance_rate, best(p, q, 2, "max_overshoot").acceptance_rate
    (Fraction(17, 20), Fraction(9, 10))
    >>> found = best(p, q, 0.05)
    >>> round(float(found.acceptance_rate), 4), found.verifier
    (0.8864, Optimal(budget=0.05, divergence='kl_divergence'))
    """
    verifier = Optimal(budget, divergence)
    target, draft = _arithmetic(p, q, divergence)
    clip = clipping.best_clip(clipping.SortedPair(target, draft), budget, divergence)
    law = probs.trust(clip.law(target, draft))
    rate = probs.total(np.minimum(law, draft))
    return Best(rate, DIVERGENCES[divergence].measure(law, target), law, clip.a, clip.b, clip.share, verifier)


def acceptance_rate(p: RowsLike, q: RowsLike, budget: Any, divergence: str = "kl_divergence") -> Any:
    """Give the frontier itself: the greatest acceptance rate for each budget.

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Rows of the target and of the draft; they broadcast.
    budget : array_like, shape (...)
        Budgets, as for `best`; they broadcast against the rows. ``budgets[:, None]`` gives a curve for each pair of a stack.
    divergence : str
        A key of `theory.clipping.DIVERGENCES`.

    Returns
    -------
    float, Fraction or ndarray, shape (...)
        Probabilities.

    Raises
    ------
    ValueError
        As for `best`.

    Examples
    --------
    >>> acceptance_rate([0.5, 0.5], [0.25, 0.75], [0, 0.125, 0.25, 1], "total_variation")
    array([0.75 , 0.875, 1.   , 1.   ])
    """
    clipping.check_budget(budget, divergence)
    target, draft = _arithmetic(p, q, divergence)
    clip = clipping.best_clip(clipping.SortedPair(target, draft), budget, divergence)
    return probs.total(draft) - clip.rejection_rate


def _arithmetic(p: RowsLike, q: RowsLike, divergence: str) -> tuple[Array, Array]:
    """Give rows as Fractions where the divergence is rational, in float64 elsewhere."""
    rows = probs.check_pair(p, q)
    if probs.is_exact(*rows) and DIVERGENCES[divergence].rational:
        return rows
    target, draft = (probs.trust(probs.as_float(row).astype(np.float64, copy=False)) for row in rows)
    return target, draft


# --- who falls short ------------------------------------------------------------------------------------------------------


def shortfall(
    verifiers: TokenVerifier | str | Iterable[TokenVerifier | str],
    p: Brought,
    q: RowsLike | RowSource | None = None,
    divergence: str = "kl_divergence",
) -> "pd.DataFrame":
    """Say how far each verifier falls short of the frontier at equal divergence.

    Parameters
    ----------
    verifiers : TokenVerifier or str, or iterable of them
        The rules or their names, one row of the table each, in this order.
    p : array_like or rows of a Trace, shape (positions, V) or (V,); or a Trace, the path of one, or a list of these
        Rows of the target; a trace has the draft's rows as well.
    q : array_like or rows of a Trace, shape (positions, V) or (V,), optional
        Rows of the draft; not given beside a trace.
    divergence : str
        A key of `theory.clipping.DIVERGENCES`.

    Returns
    -------
    pandas.DataFrame
        One row a verifier. Columns ``verifier`` (short name), ``family``, then over positions:

        ===================== =============================================================================================
        divergence            mean of D(π, p), in its units
        acceptance_rate       mean of Σ q a, probability
        best_acceptance_rate  mean of the greatest acceptance rate within the verifier's own D(π, p) *at each position*
        shortfall             the difference of the two
        largest_shortfall     the largest difference at one position
        ===================== =============================================================================================

    Raises
    ------
    ValueError
        For a divergence that does not exist, nothing to compare, and where ``p`` or ``q`` are not rows or do not have one length.

    Notes
    -----
    Streams over the positions. Rounding in D counts: near the target acceptance grows as the root of D, so that 1e-16 of it
    are worth 1e-8 of acceptance.

    On the bundled trace, its tails spread over 1 024 tokens, the mean shortfall in acceptance at equal divergence (and the
    largest):

    =============== ========== =============== =============== =============== =============
    verifier        acceptance KL(π || p)      KL(p || π)      chi-square      max π/p
    =============== ========== =============== =============== =============== =============
    lenience:0.8    0.670      0.0010 (0.009)  0.0013 (0.011)  0.0008 (0.007)  0
    lenience:0.4    0.771      0.0020 (0.010)  0.0037 (0.021)  0.0010 (0.005)  0
    lenience:0.2    0.835      0.0019 (0.009)  0.0047 (0.022)  0.0005 (0.003)  0
    cos:0.5         0.810      0.0394 (0.186)  0.0159 (0.042)  0.1133 (0.490)  0.187 (0.497)
    cactus:0.01     0.791      0.0261 (0.187)  0.0123 (0.075)  0.0702 (0.577)  0.198 (0.962)
    cactus:0.1      0.880      0.0118 (0.134)  0.0051 (0.024)  0.0474 (0.531)  0.114 (0.930)
    cactus:1.0      0.946      0.0034 (0.081)  0.0014 (0.024)  0.0216 (0.717)  0.051 (0.847)
    mentored:0.4    0.771      0               0               0               0
    =============== ========== =============== =============== =============== =============

    All of these are on the frontier of total variation. Lenience gives up little, because only its replacement, (p - q)+ in
    proportion and not down to a floor, is not best. Cactus and CoS let the draft overshoot without a ceiling, far above p where
    p is small.

    Examples
    --------
    >>> from theory.verifiers import CoS, Lenience
    >>> table = shortfall([Lenience(0.5), CoS(0.5)], [0.4, 0.3, 0.2, 0.1], [0.2, 0.25, 0.25, 0.3])
    >>> table[["verifier", "acceptance_rate", "best_acceptance_rate"]].round(4)
           verifier  acceptance_rate  best_acceptance_rate
    0  lenience:0.5            0.900                0.9036
    1       cos:0.5            0.875                0.8919
    """
    import pandas as pd

    rules = resolve_all(verifiers)
    clipping.check_budget(1, divergence)
    target, draft = sources.rows(p, q)
    known = DIVERGENCES[divergence]
    sums, largest = np.zeros((len(rules), 3)), np.full(len(rules), -np.inf)
    for part in probs.chunks(len(target), int(target[0:1].shape[-1])):
        rows = probs.check_pair(target[part], draft[part], part.start)
        pair = clipping.SortedPair(*_arithmetic(*rows, divergence))
        for place, rule in enumerate(rules):
            law = rule.checked_law(*rows, part.start)
            distance = np.maximum(known.measure(probs.trust(law.induced), rows[0]), known.least)
            limit = probs.total(rows[1]) - clipping.best_clip(pair, distance, divergence).rejection_rate
            columns = np.stack([np.asarray(column, dtype=np.float64) for column in (distance, law.acceptance_rate, limit)])
            sums[place] += columns.sum(axis=-1)
            largest[place] = max(largest[place], (columns[2] - columns[1]).max())
    means = sums / len(target)
    return pd.DataFrame(
        {
            "verifier": [str(rule) for rule in rules],
            "family": [rule.family for rule in rules],
            "divergence": means[:, 0],
            "acceptance_rate": means[:, 1],
            "best_acceptance_rate": means[:, 2],
            "shortfall": means[:, 2] - means[:, 1],
            "largest_shortfall": largest,
        }
    )


# --- the line of total variation --------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """Where a rule stands on each pair of rows relative to the line TV(π, p) + R = TV(p, q); shapes (...)."""

    gap: Any
    """TV(π, p) + R - TV(p, q) >= 0 (Yin et al., Thm 5)."""
    accepts_enough: Any
    """Whether q a >= min(p, q) at every token."""
    replaces_within: Any
    """Whether R r <= (p - q)+ at every token, r averaged over the rejected tokens."""


def line(verifier: TokenVerifier | str, p: RowsLike, q: RowsLike) -> Line:
    """Say where a rule stands relative to the line TV(π, p) + R = TV(p, q), and why.

    The gap is 0 **iff** the rule accepts enough and replaces within, which on Fractions is tested with ``==`` in the tests: with
    A = q a, TV(π, p) >= Σ (A - p)+, equal iff R r <= (p - A)+; Σ (A - p)+ >= Σ (q - p)+ - Σ (q - A) = TV(p, q) - R, equal iff
    A >= min(p, q); and where this holds, (p - A)+ is (p - q)+ wherever A < p.

    Parameters
    ----------
    verifier : TokenVerifier or str
        The rule or its name.
    p, q : array_like, shape (..., V)
        Rows of the target and of the draft; they broadcast.

    Returns
    -------
    Line
        The conditions are exact on Fractions, and leave room for rounding on floats.

    Examples
    --------
    >>> line("lenience:0.5", [0.5, 0.5], [0.2, 0.8])
    Line(gap=np.float64(0.0), accepts_enough=np.True_, replaces_within=np.True_)
    """
    p, q = probs.check_pair(p, q)
    rule = resolve(verifier)
    accepted, _, replaced = rule.parts(p, q)
    law = rule.checked_law(p, q)
    room = 0 if probs.is_exact(p, q) else 64 * float(np.finfo(np.result_type(p, q)).eps)
    gap = divergences.total_variation(probs.trust(law.induced), p) + law.rejection_rate - divergences.total_variation(p, q)
    enough = np.asarray(accepted >= np.minimum(p, q) - room, dtype=bool)
    within = np.asarray(replaced <= probs.excess(p, q) + room, dtype=bool)
    return Line(gap, enough.all(axis=-1), within.all(axis=-1))


EXAMPLES = (
    "strict",
    "lenience:0.4",
    "cos:0.5",
    "contrastive-cos:0.5",
    "overshoot-ceiling:0.4",
    "adaptive-interpolation:0.5",
    "hybrid-ceiling:0.5,0.4",
    "static-ensemble:0.5",
    "geometric-ensemble:0.5",
    "cactus:0.1",
    "mentored:alpha=0.4",
    "optimal:0.1",
    "chow-cascade:0.4",
    "diff-cascade:0.1",
    "opt-cascade:0.5",
    "token-cascade-v1:0.1",
    "token-cascade-v2:0.1",
    "token-cascade-v3:0.5",
    "fuzzy-acceptance:0.1",
    "spec-cascade:0.5",
    "typical-acceptance:0.25",
    "truncation:top-k:2",
    "truncation-sampling:min-p:0.5",
    "exact-match",
    "eagle-acceptance:0.4",
    "threshold-acceptance:0.5",
    "greedy-match",
)
"""One verifier of each rule."""


def on_the_line(
    verifiers: TokenVerifier | str | Iterable[TokenVerifier | str] | None = None,
    p: RowsLike | None = None,
    q: RowsLike | None = None,
) -> "pd.DataFrame":
    """Say which verifiers lie on the line TV(π, p) + R = TV(p, q), the frontier of total variation, and what keeps others off it.

    Parameters
    ----------
    verifiers : TokenVerifier or str, or iterable of them, optional
        The rules or their names; one of each rule of the package, `EXAMPLES`, where they are not given.
    p, q : array_like, shape (..., V), optional
        Pairs to look at; all 225 pairs of rows of three tokens in quarters where they are not given.

    Returns
    -------
    pandas.DataFrame
        One row a verifier. Columns ``verifier`` (short name) and ``family``; ``on_the_line``, whether the gap is 0 on every
        pair, but for rounding; ``largest_gap``, of TV(π, p) + R - TV(p, q), a probability; ``pairs_off``, the fraction of pairs
        with a gap; ``accepts_enough`` and ``replaces_within``, whether q a >= min(p, q) and R r <= (p - q)+ on every pair.

    Raises
    ------
    ValueError
        Where only one of ``p`` and ``q`` is given, or they are not rows.

    Notes
    -----
    A search, not a proof: being on the line on all these pairs is not a theorem about all pairs.

    Examples
    --------
    >>> table = on_the_line(["lenience:0.4", "contrastive-cos:0.5", "exact-match"])
    >>> table[["verifier", "on_the_line", "accepts_enough", "replaces_within"]]
                  verifier  on_the_line  accepts_enough  replaces_within
    0         lenience:0.4         True            True             True
    1  contrastive-cos:0.5        False           False            False
    2          exact-match        False           False            False
    """
    import pandas as pd

    if (p is None) != (q is None):
        raise ValueError("p and q: give both, or none for all pairs of rows of three tokens in quarters")
    if p is None or q is None:
        rows = np.array([weights for weights in itertools.product(range(5), repeat=3) if sum(weights) == 4]) / 4
        p, q = np.repeat(rows, len(rows), axis=0), np.tile(rows, (len(rows), 1))
    rules = resolve_all(EXAMPLES if verifiers is None else verifiers)
    target, draft = probs.check_pair(p, q)
    room = 0 if probs.is_exact(target, draft) else 64 * float(np.finfo(np.result_type(target, draft)).eps)
    table = []
    for rule in rules:
        gap, enough, within = (np.asarray(values) for values in line(rule, target, draft))
        off = np.asarray(gap > room, dtype=bool)
        table.append(
            {
                "verifier": str(rule),
                "family": rule.family,
                "on_the_line": not off.any(),
                "largest_gap": float(gap.max()),
                "pairs_off": float(off.mean()),
                "accepts_enough": bool(enough.all()),
                "replaces_within": bool(within.all()),
            }
        )
    return pd.DataFrame(table)
