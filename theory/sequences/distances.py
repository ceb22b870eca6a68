"""How far a text is from the reference's: KL and TV for each number of tokens, exactly or between bounds."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, final

import numpy as np

from theory import divergences, parameters
from theory.blocks import Tokenwise
from theory.models import Context, Pair
from theory.sequences.beliefs import BUDGET, kl_of_texts, tv_of_texts
from theory.sequences.bounds import BOUNDS, bounds_of_texts
from theory.sequences.hidden import clip
from theory.sequences.laws import sequence_law
from theory.sequences.sources import Decoder, Plain, Source, check_source

if TYPE_CHECKING:
    import pandas as pd


@final
@dataclass(frozen=True)
class Distortion:
    """How far the law of a text is from the reference's, exactly where known, and between bounds.

    Attributes
    ----------
    tokens : int
        Length of the text, T.
    kl, kl_low, kl_high : float
        KL(Π || P) in nats: exact, or NaN beyond the budget; bounds.
    tv, tv_low, tv_high : float or Fraction
        TV(Π, P), a probability: exact, or NaN beyond the budget; bounds.
    """

    tokens: int
    kl: float
    kl_low: float
    kl_high: float
    tv: Any
    tv_low: Any
    tv_high: Any


def distortion(
    source: Source, pair: Pair, length: int, reference: Plain | None = None, context: Context = (), budget: int = BUDGET
) -> Distortion:
    """KL and TV between the first ``length`` tokens of a source and of the reference; the last row of `distortions`.

    Fractions are kept.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> from theory.models import iid
    >>> from theory.verifiers import Lenience
    >>> golden = iid([F(4, 10), F(3, 10), F(2, 10), F(1, 10)], [F(4, 20), F(5, 20), F(5, 20), F(6, 20)])
    >>> found = distortion(Decoder(Tokenwise(Lenience(F(1, 2))), gamma=2), golden, length=3)
    >>> found.tv, round(found.kl, 6)
    (Fraction(419, 2000), 0.13644)
    """
    last = distortions(source, pair, length, reference, context, budget).iloc[-1]
    kl, kl_low, kl_high = (float(last[name]) for name in ("kl", "kl_low", "kl_high"))
    return Distortion(int(length), kl, kl_low, kl_high, last["tv"], last["tv_low"], last["tv_high"])


def distortions(
    source: Source, pair: Pair, length: int, reference: Plain | None = None, context: Context = (), budget: int = BUDGET
) -> "pd.DataFrame":
    """KL and TV between the first t tokens of a source and of the reference, t = 1..T, with their bounds.

    Fractions are kept.

    Parameters
    ----------
    source : Plain or Decoder
        Writes with the law Π.
    pair : Pair
        Target and draft model.
    length : int
        T.
    reference : Plain, optional
        Writes with the law P; the target where it is not given. ``Plain(truncation=...)`` is the true baseline.
    context : tuple of int
        Tokens so far.
    budget : int
        Beliefs, and likelihood ratios, that are told apart at most.

    Returns
    -------
    DataFrame, one row for each t
        ``tokens``; ``kl``, ``kl_low``, ``kl_high`` in nats; ``tv``, ``tv_low``, ``tv_high``, probabilities; ``kl`` and ``tv`` are
        NaN where the budget was exceeded, and equal to their bounds where it was not. Then what the bounds are made of:
        ``tv_states`` (lower), ``tv_sum``, ``tv_product``, ``tv_coupling``, ``tv_ceiling``, ``tv_pinsker``,
        ``tv_bretagnolle_huber`` and ``kl_ceiling`` (upper). For rules that are not token-wise these are NaN, and all is exact,
        by enumeration.

    Notes
    -----
    With law_{s,j} the law of the next token in the hidden state (s, j), p_s the reference's, and μ_t the hidden law at t:

    * KL is Σ_t E KL(π_t || p_t), π_t = Σ_j b(j) law_{s,j} for the belief b given the text; equal (s, b) are merged. Over
      budget, the reader is made to forget (all beliefs in a state averaged) or is told j: by convexity of KL, conditioning on
      less of the past gives a lower bound and on more of it an upper one. Both go on from there, so they keep close.
    * TV is E_Π (1 - P/Π)+ over (s, b, P/Π). Over budget, ratios that are near are merged: the TV between laws of a function of
      the text, a lower bound. So is ``tv_states``, the greatest `state_drift` from the reference so far.
    * ``tv_sum``: Σ_t E TV(law_{s,j}, p_s). ``tv_product``: 1 - Π_t (1 - δ_t), δ_t the largest TV(law_{s,j}, p_s) that can occur
      at t: both texts are coupled token by token. ``tv_coupling``: 1 - P(that coupling holds for t tokens), where a token x
      counts with min(law_{s,j}, p_s)(x); at most the two before. Beyond the budget ``tv_high`` also takes the last exact TV
      plus the terms of ``tv_sum`` since then.
    * ``tv_ceiling``: 1 - 1/C and ``kl_ceiling`` ln C, C = Π_t c_t, where law_{s,j} <= c_t p_s; see `lenience_guarantee`.
    * ``tv_pinsker``: √(KL/2); ``tv_bretagnolle_huber``: √(1 - exp(-KL)), both of the upper bound on KL. The latter also gives
      KL >= -ln(1 - TV²) from the lower bound on TV.

    Cost: O(T budget γ V). Rounded beliefs are merged to `DIGITS` decimals.

    Examples
    --------
    >>> from theory.models import iid
    >>> from theory.verifiers import Lenience
    >>> decoder = Decoder(Tokenwise(Lenience(0.5)), gamma=2)
    >>> table = distortions(decoder, iid([0.4, 0.3, 0.2, 0.1], [0.2, 0.25, 0.25, 0.3]), length=30, budget=64)
    >>> table[["kl", "kl_low", "kl_high"]].iloc[[1, 29]].round(4).to_numpy().tolist()
    [[0.1322, 0.1322, 0.1322], [nan, 1.104, 1.3579]]
    """
    import pandas as pd

    parameters.check_count("length", length)
    parameters.check_count("budget", budget)
    reference = Plain() if reference is None else reference
    if not isinstance(reference, Plain):
        raise ValueError(f"reference = {reference!r}: must be Plain, since its next token must depend on the state alone")
    context = check_source(source, pair, context)
    if isinstance(source, Decoder) and not isinstance(source.block, Tokenwise):
        return _by_enumeration(source, pair, length, reference, context)
    clipped = clip(pair, length, context)
    chain = source.chain(clipped, context)
    rows = reference.chain(clipped, context).ended[:, 0]
    table = pd.DataFrame(bounds_of_texts(chain, rows, length), columns=[*BOUNDS], index=range(length))
    table["kl"], table["kl_low"], table["kl_high"] = np.array([*kl_of_texts(chain, rows, length, budget)]).T
    tv, tv_low = zip(*tv_of_texts(chain, rows, length, budget), strict=True)
    low = [now if now == now else max(few) for now, *few in zip(tv, tv_low, table["tv_states"], strict=True)]
    with np.errstate(divide="ignore"):
        least = -np.log1p(-np.minimum(np.array(low, dtype=float) ** 2, 1))
    unknown = table["kl"].isna()
    table["kl_high"] = np.where(unknown, np.minimum(table["kl_high"], table["kl_ceiling"]), table["kl"])
    table["kl_low"] = np.where(unknown, np.maximum(table["kl_low"], least), table["kl"])
    table["tv_pinsker"] = np.sqrt(table["kl_high"] / 2)
    table["tv_bretagnolle_huber"] = np.sqrt(-np.expm1(-table["kl_high"]))
    table["tv"], table["tv_low"], table["tv_high"] = pd.Series(tv), pd.Series(low), pd.Series(_highest(tv, table))
    table["tokens"] = range(1, length + 1)
    return table[[*_COLUMNS]]


_COLUMNS = (*(field.name for field in fields(Distortion)), *BOUNDS[:5], "tv_pinsker", "tv_bretagnolle_huber", "kl_ceiling")


def _highest(tv: tuple[Any, ...], table: "pd.DataFrame") -> Iterator[Any]:
    """Give the exact TV while it is known; then the least upper bound, one of which adds to the last exact value."""
    last, behind = 0, 0
    names = ("tv_coupling", "tv_ceiling", "tv_pinsker", "tv_bretagnolle_huber")
    for place, exact in enumerate(tv):
        if exact == exact:  # not NaN
            last, behind = exact, table["tv_sum"].iloc[place]
            yield exact
        else:
            onward = last + (table["tv_sum"].iloc[place] - behind)
            yield min(onward, *(table[name].iloc[place] for name in names))


def _by_enumeration(source: Decoder, pair: Pair, length: int, reference: Plain, context: Context) -> "pd.DataFrame":
    """Compare the joint laws; shorter texts are their margins."""
    import pandas as pd

    laws = [sequence_law(who, pair, length, context) for who in (source, reference)]
    found = []
    for tokens in range(1, length + 1):
        law, other = (each.reshape(pair.size**tokens, -1).sum(axis=1) for each in laws)
        kl, tv = float(divergences.kl_divergence(law, other)), np.abs(law - other).sum() / 2
        found.append(Distortion(tokens, kl, kl, kl, tv, tv, tv))
    return pd.DataFrame(found).reindex(columns=[*_COLUMNS])
