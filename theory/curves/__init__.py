"""Whole trade-off curves: what a rule does as a function of its parameter, from one sort and cumulative sums for each pair.

Any rule with a parameter has a curve. One that offers a form of its own (`offer`) has it at once; all others value by value, from
their laws. The column ``route`` says which.

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

from theory.curves import ceilings, gates
from theory.curves.evaluation import CLOSED_FORM, ONE_BY_ONE, breakpoints, curve, evaluate
from theory.curves.offers import Fast, intervals, offer

__all__ = ["CLOSED_FORM", "ONE_BY_ONE", "PARAMETERS", "Fast", "breakpoints", "ceilings", "curve", "evaluate", "gates", "offer"]

PARAMETERS = intervals()
"""Rules of the package that offer a curve, by short name, and the range of their parameter."""
