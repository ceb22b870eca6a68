"""One pair of rows: the mass that a verifier moves, by region, by token, and away from which baseline."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from theory import divergences, parameters, probs
from theory.failure.explaining.explanation import Explanation, Support
from theory.failure.explaining.texts import Texts, text_of
from theory.parameters import Number
from theory.probs import Array, RowsLike
from theory.verifiers import GreedyMatch, TokenVerifier, TruncationSampling, resolve
from theory.verifiers.collaborative import under
from theory.verifiers.truncating import Gate

if TYPE_CHECKING:
    import pandas as pd

REGIONS = {"underestimated": "q <= p", "moderate": "p < q <= c p", "severe": "q > c p"}
"""Name of each region to the tokens in it."""

CEILING = 2
"""The ceiling c for rules that have none of their own; that of ``overshoot_mass``."""

SHARE = Fraction(9, 10)
"""How much of the total variation the tokens of the table carry together."""


def explain(
    verifier: TokenVerifier | str,
    p: RowsLike,
    q: RowsLike,
    *,
    ceiling: Number | None = None,
    share: Number = SHARE,
    ids: npt.ArrayLike | None = None,
    texts: Texts | None = None,
) -> Explanation:
    """Say where a verifier moves mass on one pair of rows: by region, by token, and away from which baseline.

    Fractions are kept.

    Parameters
    ----------
    verifier : TokenVerifier or str
        The rule or its name.
    p, q : array_like, shape (V,)
        Rows of the target and of the draft.
    ceiling : float or Fraction, optional
        c in [1, inf], between moderate and severe overshoot. Where it is not given, the rule's own ceiling, or `CEILING`.
    share : float or Fraction
        Of the total variation that the table of tokens carries, in (0, 1].
    ids : array_like of int, shape (V,), optional
        The token of each column; -1 for the tail of a truncated row, whose columns are shown as one. Columns are tokens
        where it is not given.
    texts : mapping of int to str, or sequence of str, optional
        What each token says; see `read_texts`.

    Returns
    -------
    Explanation

    Raises
    ------
    ValueError
        Where ``p`` or ``q`` is not one row, ``ids`` do not fit them, an option is out of range, or the verifier is none or
        gives no law.

    Notes
    -----
    O(V log V). Exact on Fractions, where the rule is; KL is in float64. A draft at the ceiling up to rounding is under it.

    Examples
    --------
    >>> from theory.verifiers import Lenience
    >>> found = explain(Lenience(0.5), [0.4, 0.3, 0.2, 0.1], [0.2, 0.25, 0.25, 0.3])
    >>> print(found.regions[["region", "tokens", "p", "q", "induced", "gained", "lost"]].round(3).to_string(index=False))
            region  tokens   p    q  induced  gained  lost
    underestimated       2 0.7 0.45     0.55    0.00  0.15
          moderate       1 0.2 0.25     0.25    0.05  0.00
            severe       1 0.1 0.30     0.20    0.10  0.00
    >>> found.tokens[["token", "region", "change"]].round(3).values.tolist()
    [[0, 'underestimated', -0.12], [3, 'severe', 0.1], [2, 'moderate', 0.05]]
    """
    target, draft = probs.check_pair(p, q)
    if target.ndim != 1 or draft.ndim != 1:
        raise ValueError(f"p and q have shapes {target.shape} and {draft.shape}: explain takes one row each")
    rule = check(verifier, ceiling, share, texts)
    columns = _columns(ids, target.shape)
    return explain_checked(rule, target, draft, ceiling, share, columns, texts)


def check(verifier: Any, ceiling: Any, share: Any, texts: Any) -> TokenVerifier:
    """Check the arguments that all explanations take, and give the rule."""
    rule = resolve(verifier)
    if ceiling is not None:
        parameters.check("ceiling", ceiling, "[1, inf]")
    parameters.check("share", share, "(0, 1]")
    if texts is not None and not isinstance(texts, Mapping | Sequence):
        raise ValueError(f"texts = {texts!r}: must be a mapping from token to text, or the texts of all tokens in order")
    return rule


def _columns(ids: npt.ArrayLike | None, shape: tuple[int, ...]) -> Array:
    if ids is None:
        return np.arange(shape[-1])
    columns = np.asarray(ids)
    if columns.dtype.kind not in "iu" or columns.shape != shape:
        raise ValueError(f"ids has dtype {columns.dtype} and shape {columns.shape}: one whole number a column, {shape}")
    if columns.min() < -1:
        raise ValueError(f"ids[{int(columns.argmin())}] = {columns.min()}: a token is at least 0, and -1 the tail")
    return columns


def explain_checked(
    verifier: TokenVerifier,
    p: Array,
    q: Array,
    ceiling: Number | None,
    share: Number,
    ids: Array,
    texts: Texts | None,
    position: int | None = None,
    context: str = "",
) -> Explanation:
    """Explain a checked pair; `explain` and `explain_position` are the public forms."""
    import pandas as pd

    law = verifier.checked_law(p, q)
    induced = probs.trust(law.induced)
    whose = "argument" if ceiling is not None else "default" if verifier.ceiling is None else "rule"
    top = ceiling if ceiling is not None else verifier.ceiling if verifier.ceiling is not None else CEILING
    truth = verifier.baseline(p)
    reference = p if truth is None else probs.check_rows(truth, f"the baseline of {verifier}")
    names = _regions(p, q, top)
    sets = np.where(reference > 0, "kept", "discarded") if truth is not None else np.full(p.shape, "all")
    gained, lost = probs.excess(induced, p), probs.excess(p, induced)
    masses = {"p": p, "q": q, "induced": induced, "baseline": reference, "gained": gained, "lost": lost}
    present = np.asarray((p > 0) | (q > 0) | (induced > 0), dtype=bool)
    regions = []
    for region in REGIONS:
        for part in ("all",) if truth is None else ("kept", "discarded"):
            inside = (names == region) & (sets == part)
            sums = {name: probs.total(values * probs.indicator(inside, values)) for name, values in masses.items()}
            regions.append({"region": region, "set": part, "tokens": int((inside & present).sum()), **sums})
    baselines = [("the target", p, truth is None)]
    if truth is not None:
        baselines.append((_baseline_name(verifier), reference, True))
    missing, new = (p > 0) & (induced == 0), (p == 0) & (induced > 0)
    return Explanation(
        verifier=verifier,
        p=p,
        q=q,
        induced=induced,
        acceptance_rate=law.acceptance_rate,
        total_variation=divergences.total_variation(induced, p),
        ceiling=top,
        ceiling_from=whose,
        regions=pd.DataFrame(regions),
        tokens=_tokens(p, q, induced, names, sets, share, ids, texts),
        share=share,
        lost=_support(missing, p),
        invented=_support(new, induced),
        baseline=baselines[-1][0],
        baselines=pd.DataFrame(
            {
                "law": [name for name, _, _ in baselines],
                "true_baseline": [true for _, _, true in baselines],
                "total_variation": [divergences.total_variation(induced, rows) for _, rows, _ in baselines],
                "kl_divergence": [float(divergences.kl_divergence(induced, rows)) for _, rows, _ in baselines],
            }
        ),
        position=position,
        context=context,
    )


def _regions(p: Array, q: Array, ceiling: Number) -> Array:
    """Name the region of each token."""
    if ceiling == np.inf:
        severe = (p == 0) & (q > 0)
    else:
        factor = parameters.carry(ceiling, p)
        if not probs.is_exact(p):
            factor = min(factor, float(np.finfo(p.dtype).max) / 2)
        severe = ~under(q, np.asarray(p * factor))
    return np.where(severe, "severe", np.where(np.asarray(q > p, dtype=bool), "moderate", "underestimated"))


def _support(mask: Array, rows: Array) -> Support:
    inside = np.asarray(mask, dtype=bool)
    return Support(int(inside.sum()), probs.total(rows * probs.indicator(inside, rows)))


def _tokens(
    p: Array, q: Array, induced: Array, names: Array, sets: Array, share: Number, ids: Array, texts: Texts | None
) -> "pd.DataFrame":
    """Make the table of the fewest tokens that carry a share of the total variation."""
    import pandas as pd

    contribution = probs.excess(induced, p) + probs.excess(p, induced)
    columns = {"p": p, "q": q, "induced": induced, "contribution": contribution}
    tail = ids < 0
    if tail.any():  # its pieces have one ratio, so one region; of the pieces, the first that has any mass speaks for all
        first = int(np.flatnonzero(tail)[0]) + int(np.argmax(np.asarray(p + q)[tail] > 0))
        columns = {name: np.append(values[~tail], probs.total(values[tail])) for name, values in columns.items()}
        ids, names, sets = (np.append(values[~tail], values[first]) for values in (ids, names, sets))
    columns = {name: values if values.dtype == object else values.astype(np.float64) for name, values in columns.items()}
    weight = columns["contribution"] / 2
    order = np.argsort(-weight, kind="stable")
    through = np.cumsum(weight[order])
    whole = through[-1]
    few = int(np.argmax(np.asarray(through >= parameters.carry(share, through) * whole, dtype=bool))) + 1 if whole > 0 else 0
    order = order[:few]
    return pd.DataFrame(
        {
            "token": ids[order],
            "text": np.array([text_of(int(token), texts) for token in ids[order]], dtype=object),
            "region": names[order],
            "set": sets[order],
            **{name: columns[name][order] for name in ("p", "q", "induced")},
            "change": (columns["induced"] - columns["p"])[order],
            "contribution": weight[order],
            "cumulative": through[:few] / whole if few else through[:0],
        }
    )


def _baseline_name(verifier: TokenVerifier) -> str:
    if isinstance(verifier, Gate | TruncationSampling):
        return f"the target truncated to {verifier.gate() if isinstance(verifier, Gate) else verifier.truncation}"
    return "the target's most probable token" if isinstance(verifier, GreedyMatch) else f"the baseline of {verifier}"
