"""How each quantity moves: when the draft improves, with temperature, with the size of the vocabulary.

Where a perfect draft leads
---------------------------
As q -> p, every rule of the package but one kind has a limit, what it does at q = p. It is the target for some rules only:

========================================== =================================== ============================ =============
rules                                      law as q -> p                       acceptance                   TV to p
========================================== =================================== ============================ =============
strict, lenience, CoS, overshoot ceiling,  p; on the way, TV(π, p) <= TV(p, q) 1                            0
adaptive interpolation, hybrid ceiling,
Cactus, static ensemble, mentored,
optimal, cascades by position, fuzzy
geometric ensemble                         p                                   1                            0
exact match                                p, for every q                      Σ p²                         0
EAGLE and SGLang, a = a(p)                 p (a + Σ w - w), w = p (1-a)/(1-p)  Σ p a                        >= 0
contrastive CoS, μ                         norm(p^(1-μ))                       Σ min(p, norm(p^(1-μ)))      >= 0
cascades by token, A of the rule           p 1_A + p(off A) p                  p(A) + p(off A)²             p(A) p(off A)
truncation sampling                        p_A, its baseline, for every q      p(A)                         p(off A)
gates, fallback redraft or truncated       p_A, their true baseline            p(A)                         p(off A)
gates, fallback target                     p 1_A + p(off A) p                  p(A)                         p(A) p(off A)
gates, fallback argmax                     p 1_A + p(off A) on one token       p(A)                         <= p(off A)
gates, fallback optimal                    p                                   p(A)                         0
gates, fallback residual                   none, see below                     p(A)                         <= p(off A)
greedy match                               its own choice, for every q         max p                        1 - max p
========================================== =================================== ============================ =============

So a better draft does not make EAGLE's lenience, contrastive CoS, cascades by token or gates less lossy: their TV may rise.

Jumps at q = p:

* The residual of strict verification as a gate's fallback, norm((p - q)+), keeps the direction from which q came, so that the law
  has no limit: along the mixture it is p 1_A + p(off A) norm((p - q)+), and at q = p itself p 1_A + p(off A) p.
* Fuzzy acceptance keeps everything at q = p. Near it, it does so only if D(p, q) <= T, which fails for T = 0 and, where the draft
  has tokens that the target lacks, for the divergences ``kl`` and ``coded-js``, which are then infinite. With ``target`` as
  failure acceptance is then 0 on the way and 1 at its end; the law is p all along.
* The set A of token cascade V1 is one of the draft, {q >= max p - α}, and jumps where some p(x) is max p - α exactly.
* A draft that lacks a token of the target, as on the path ``geometric`` it may, is not near the target.

Low temperature
---------------
As T -> 0 at equal temperatures, rows go to the point masses on their most probable tokens. If these are the same token, the law
of every rule goes there too, and its acceptance to 1; but contrastive CoS goes to argmax p / q^μ, and fuzzy acceptance with T = 0
accepts nothing of a draft that is not the target. If they differ, strict verification, rules with a ceiling (lenience, the
overshoot ceiling, mentored by α) and gates with a set A around the mode (min-p with p_base > 0, eta) go to the target's choice
and stop accepting. CoS stays a mixture of the two choices, and a gate with a set of fixed size, top-k, may go to the draft's.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from theory import clipping, divergences, exact, parameters, probs, sources, synthetic
from theory.parameters import Number
from theory.probs import Array, RowsLike
from theory.sources import Brought, RowSource
from theory.verifiers import TokenVerifier, resolve_all
from theory.verifiers.collaborative import mix, powers

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PATHS", "Path", "along", "sensitivity"]

VOCABULARY = "vocabulary"
"""The path whose rows are synthetic, and whose value is their size."""


class Path(NamedTuple):
    """A way for a pair of rows to change with one number."""

    meaning: str
    """In a line."""
    interval: str
    """Of the number."""
    usual: tuple[Number, ...]
    """Where it is looked at, if nothing else is said."""
    rows: Callable[[Array, Array, Number], tuple[Array, Array]]
    """Checked rows p and q, and the number, to rows."""


# --- paths -----------------------------------------------------------------------------------------------------------------


def _mixture(p: Array, q: Array, t: Number) -> tuple[Array, Array]:
    return p, mix(p, q, t)


def _geometric(p: Array, q: Array, t: Number) -> tuple[Array, Array]:
    if t in (0, 1):
        return p, probs.spread(p, q) if t == 1 else q
    if probs.is_exact(p, q):
        raise ValueError(f"value = {t!r}: on Fractions q^(1-t) p^t is rational for t = 0 and t = 1 only")
    return p, probs.share_out(powers(p, q, float(t), 1 - float(t)), p)


def _worst_first(p: Array, q: Array, t: Number) -> tuple[Array, Array]:
    if t in (0, 1):
        return p, probs.spread(p, q) if t == 1 else q
    rows = (p, q) if probs.is_exact(p, q) else tuple(probs.trust(row.astype(np.float64, copy=False)) for row in (p, q))
    distance = np.asarray(divergences.total_variation(*rows))
    moved = parameters.carry(t, rows[0]) * distance
    law = clipping.SortedPair(*rows).rejecting(moved).law(*rows)
    return p, law.astype(np.result_type(p, q), copy=False)


def _temperature(p: Array, q: Array, t: Number) -> tuple[Array, Array]:
    return _tempered(p, t), _tempered(q, t)


def _draft_temperature(p: Array, q: Array, t: Number) -> tuple[Array, Array]:
    return p, _tempered(q, t)


def _tempered(rows: Array, t: Number) -> Array:
    """Give norm(rows^(1/t)), at 0 and inf its limits: uniform on the most probable tokens, and on the support."""
    if t == 1:
        return rows
    if t in (0, np.inf):
        mask = rows == rows.max(axis=-1, keepdims=True) if t == 0 else rows > 0
        return probs.share_out(probs.indicator(np.asarray(mask, dtype=bool), rows), rows)
    if probs.is_exact(rows):
        power = 1 / Fraction(t)
        if power.denominator != 1:
            raise ValueError(f"value = {t!r}: on Fractions p^(1/T) is rational for T = 1/n only")
        return probs.share_out(rows**power.numerator, rows)
    scores = np.full(rows.shape, -np.inf)
    with np.errstate(over="ignore"):
        np.log(rows, out=scores, where=rows > 0, casting="unsafe")
        weights = np.exp((scores - scores.max(axis=-1, keepdims=True)) / float(t))
    return probs.share_out(weights, rows).astype(rows.dtype, copy=False)


STEPS = tuple(k / 10 for k in range(11))
TEMPERATURES = (0.25, 0.5, 0.7, 1.0, 1.4, 2.0)

PATHS: dict[str, Path] = {
    "mixture": Path("q_t = (1-t) q + t p", "[0, 1]", STEPS, _mixture),
    "geometric": Path("q_t ∝ q^(1-t) p^t", "[0, 1]", STEPS, _geometric),
    "worst-first": Path("the share t of TV(p, q) is moved, where q/p is farthest from 1 first", "[0, 1]", STEPS, _worst_first),
    "temperature": Path("p^(1/T) and q^(1/T)", "[0, inf]", TEMPERATURES, _temperature),
    "draft-temperature": Path("q^(1/T)", "[0, inf]", TEMPERATURES, _draft_temperature),
}
"""Name to what it does to a pair of rows; ``vocabulary`` is the sixth, for rows that are made.

================= ================================================================================= ===================
path              rows at the value                                                                 on Fractions
================= ================================================================================= ===================
mixture           q_t = (1-t) q + t p, so that TV(p, q_t) = (1-t) TV(p, q)                          exact
geometric         q_t ∝ q^(1-t) p^t; p where their supports do not meet                             t = 0, t = 1
worst-first       q_t = clip(q, b p, p/a), the law of `theory.clipping` with R = t TV(p, q): off    exact
..                the support, then the highest overshoot and the deepest undershoot first; here
..                too TV(p, q_t) = (1-t) TV(p, q)
temperature       p^(1/T) and q^(1/T), normalised; T is relative to that of the rows                T = 1/n, 0, inf
draft-temperature q^(1/T) alone                                                                     T = 1/n, 0, inf
vocabulary        synthetic rows of V tokens                                                        floats
================= ================================================================================= ===================

At T = 0 stands the limit, uniform on the most probable tokens, and at T = inf uniform on the support.
"""

SIZES = (10, 100, 1000, 10_000, 100_000)


def along(path: str, p: RowsLike, q: RowsLike, value: Number) -> tuple[Array, Array]:
    """Give the rows at one value of a path.

    Parameters
    ----------
    path : str
        A key of `PATHS`.
    p, q : array_like, shape (..., V)
        Rows of the target and of the draft; they broadcast.
    value : float or Fraction
        In the interval of the path.

    Returns
    -------
    p, q : ndarray, shape (..., V)
        Rows of the target and of the draft, in their arithmetic.

    Raises
    ------
    ValueError
        For a path that does not exist, a value out of its interval or irrational on Fractions, and where ``p`` or ``q`` are not
        rows.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> p, q = [F(4, 10), F(3, 10), F(2, 10), F(1, 10)], [F(4, 20), F(5, 20), F(5, 20), F(6, 20)]
    >>> print(*along("mixture", p, q, F(1, 2))[1])
    3/10 11/40 9/40 1/5
    >>> print(*along("worst-first", p, q, F(1, 2))[1])
    13/40 1/4 1/4 7/40
    """
    _check_path(path, (value,))
    target, draft = probs.check_pair(p, q)
    return _along(path, target, draft, value)


def _along(path: str, p: Array, q: Array, value: Number) -> tuple[Array, Array]:
    target, draft = PATHS[path].rows(p, q, value)
    return probs.trust(target), probs.trust(draft)


def _check_path(path: Any, values: Iterable[Any]) -> None:
    if path == VOCABULARY:
        for value in values:
            parameters.check_count("value", value)
        return
    if path not in PATHS:
        raise ValueError(f"path = {path!r}: must be one of {', '.join((*PATHS, VOCABULARY))}")
    for value in values:
        parameters.check("value", value, PATHS[path].interval)


# --- the table -------------------------------------------------------------------------------------------------------------


def sensitivity(
    verifiers: TokenVerifier | str | Iterable[TokenVerifier | str],
    p: Brought | None = None,
    q: RowsLike | RowSource | None = None,
    paths: str | Iterable[str] = ("mixture",),
    values: Sequence[Number] | Mapping[str, Sequence[Number]] | None = None,
    quantities: Iterable[str] = tuple(exact.QUANTITIES),
    synthetic_rows: str = "zipf:{size}",
) -> "pd.DataFrame":
    """Follow each quantity of each verifier as the draft improves, as the temperature or the vocabulary changes.

    Parameters
    ----------
    verifiers : TokenVerifier or str, or iterable of them
        The rules or their names; any will do, one of your own too.
    p : array_like or rows of a Trace, shape (positions, V) or (V,); or a Trace, the path of one, or a list of these, optional
        Rows of the target; needed by all paths but ``"vocabulary"``. A trace has the draft's rows as well.
    q : array_like or rows of a Trace, shape (positions, V) or (V,), optional
        Rows of the draft; not given beside a trace.
    paths : str or iterable of str
        Keys of `PATHS`, or ``"vocabulary"``.
    values : sequence of numbers, or mapping of path to sequence of numbers, optional
        Where to look along the paths, in this order; those of `PATHS`, and `SIZES`, where they are not given.
    quantities : iterable of str
        Keys of `theory.exact.QUANTITIES`.
    synthetic_rows : str
        A short name of `theory.synthetic` with ``{size}`` in it, for ``"vocabulary"``.

    Returns
    -------
    pandas.DataFrame
        One row a path, value and verifier, in this order. Columns ``path``, ``value``, ``verifier`` (short name), ``family``,
        ``draft_total_variation``, TV(p, q) of the rows there, and the quantities; means over the positions.

    Raises
    ------
    ValueError
        For a rule that does not exist or is none, a path, value or quantity that does not exist, rows that are missing, are none
        or do not have one length, nothing to follow, and a temperature of truncated rows, whose tail cannot be brought to it.

    Notes
    -----
    Streams over the positions. On truncated rows the other paths are those of the rows as they are, the tail one token or
    several: a mixture of them is what truncation makes of the mixture, and the rest are drafts that are as good a way as any.

    Examples
    --------
    >>> from theory.verifiers import Lenience, SpecCascade
    >>> table = sensitivity([Lenience(0.5), SpecCascade(0.6)], [0.4, 0.3, 0.2, 0.1], [0.2, 0.25, 0.25, 0.3], values=[0, 1])
    >>> table[["value", "verifier", "acceptance_rate", "total_variation"]].round(4)
       value          verifier  acceptance_rate  total_variation
    0    0.0      lenience:0.5             0.90             0.15
    1    0.0  spec-cascade:0.6             0.45             0.30
    2    1.0      lenience:0.5             1.00             0.00
    3    1.0  spec-cascade:0.6             0.70             0.30
    """
    import pandas as pd

    rules = resolve_all(verifiers)
    names = list(quantities)
    for name in names:
        if name not in exact.QUANTITIES:
            raise ValueError(f"quantities: no {name!r}; there are: {', '.join(exact.QUANTITIES)}")
    places = _places([paths] if isinstance(paths, str) else list(paths), values)
    ours = [(path, value) for path, value in places if path != VOCABULARY]
    means = dict(zip(ours, _means(rules, p, q, ours, names), strict=True)) if ours else {}
    table = []
    for path, value in places:
        made = path == VOCABULARY
        own = _mean_quantities(rules, *_made(synthetic_rows, int(value)), names) if made else means[path, value]
        for rule, row in zip(rules, own, strict=True):
            columns = dict(zip(("draft_total_variation", *names), row.tolist(), strict=True))
            table.append({"path": path, "value": float(value), "verifier": str(rule), "family": rule.family, **columns})
    return pd.DataFrame(table)


def _places(paths: list[str], values: Any) -> list[tuple[str, Number]]:
    """Give each path with each of its values."""
    places: list[tuple[str, Number]] = []
    for path in paths:
        usual = SIZES if path == VOCABULARY else PATHS[path].usual if path in PATHS else ()
        own = values.get(path, usual) if isinstance(values, Mapping) else usual if values is None else values
        own = list(own)
        _check_path(path, own)
        if not own:
            raise ValueError(f"values of {path!r} are empty: there is nothing to follow")
        places += [(path, value) for value in own]
    if not places:
        raise ValueError("paths is empty: there is nothing to follow")
    unknown = [path for path in values if path not in paths] if isinstance(values, Mapping) else []
    if unknown:
        raise ValueError(f"values: {unknown[0]!r} is none of the paths {', '.join(paths)}")
    return places


def _means(
    rules: list[TokenVerifier],
    p: Brought | None,
    q: RowsLike | RowSource | None,
    places: list[tuple[str, Number]],
    names: list[str],
) -> Array:
    """Give the mean quantities over positions, shape (places, rules, columns)."""
    if p is None or (q is None and not sources.is_trace(p)):
        raise ValueError(f"p and q: the path {places[0][0]!r} needs both")
    target, draft = sources.rows(p, q)
    heated = [path for path, _ in places if "temperature" in path]
    if heated and (sources.is_truncated(target) or sources.is_truncated(draft)):
        raise ValueError(
            f"path = {heated[0]!r}: truncated rows have no exact law at another temperature, since that of their tail is lost; "
            "np.asarray(rows) takes the tail for tokens of its own, on purpose"
        )
    sums = np.zeros((len(places), len(rules), len(names) + 1))
    for part in probs.chunks(len(target), int(target[0:1].shape[-1])):
        rows = probs.check_pair(target[part], draft[part], part.start)
        for number, (path, value) in enumerate(places):
            sums[number] += _mean_quantities(rules, *_along(path, *rows, value), names) * len(rows[0])
    return sums / len(target)


def _mean_quantities(rules: list[TokenVerifier], p: Array, q: Array, names: list[str]) -> Array:
    """Give TV(p, q) and the quantities, means over positions, shape (rules, columns)."""
    distance = np.asarray(divergences.total_variation(p, q), dtype=np.float64).mean()
    means = []
    for rule in rules:
        values = exact.summarise(rule, p, q, names)
        means.append([distance, *(np.asarray(values[name], dtype=np.float64).mean() for name in names)])
    return np.array(means)


def _made(text: str, size: int) -> tuple[Array, Array]:
    if "{size}" not in text:
        raise ValueError(f"synthetic_rows = {text!r}: must have {{size}} where the vocabulary's size goes, as zipf:{{size}}")
    return synthetic.parse(text.replace("{size}", str(size)))
