"""Rows of probabilities: check, normalise, positive part, ratio, sample. Every 0/0 is decided here, once.

A *row* is a categorical distribution: a vector over the vocabulary that sums to 1. Rows are arrays of shape
``(..., V)``, the last axis the vocabulary. They hold ``float64``, ``float32`` (kept as it is; sums over the
vocabulary accumulate in ``float64``), or `fractions.Fraction` (dtype ``object``), on which the same code is exact.
``float16`` and ``bfloat16`` become ``float32``, whose sums may be as far from 1 as their own rounding takes them.
Logits have a door of their own, `from_logits`; nothing is ever guessed to be logits.

The conventions
---------------
* a token with q(x) = 0 is never drafted: its acceptance is 1;
* where no mass is left to share out, the replacement is drawn from the target: 0/0 gives p;
* 0 log 0 = 0, and log(x/0) = inf for x > 0.
"""

import weakref
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from numbers import Rational
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from theory import parameters

__all__ = [
    "TOLERANCE",
    "InverseCDF",
    "check_pair",
    "check_rows",
    "entropy",
    "from_logits",
    "normalise",
    "sample",
]


Array = npt.NDArray[Any]
RowsLike = npt.ArrayLike | Sequence[Any]
"""What becomes rows: arrays, and lists of numbers or Fractions."""

TOLERANCE = {"float64": 1e-8, "float32": 1e-4, "float16": 2e-3, "bfloat16": 8e-3, "object": 0.0}
"""How far the sum of a row may be from 1. A float32 softmax over 128 000 tokens is off by 1.6e-5; rounding each entry to
``float16`` moves a sum by at most 2^-11 of it and what falls below 2^-25, to ``bfloat16`` by at most 2^-8."""

CHUNK = 3 << 17
"""Entries worked on at a time (one row at least): temporaries of this size stay in the cache, and calls are few."""

_LANES = 64
_MOST_CELL_BITS = 19  # 2 MiB of table
_ARENA = 30 << 20  # below 32 MiB, above which glibc leaves its thresholds alone
_checked: WeakValueDictionary[int, Array] = WeakValueDictionary()
_known: dict[int, dict[Any, Any]] = {}
_halves: dict[int, str] = {}


# --- checking -------------------------------------------------------------------------------------------------------


def check_rows(rows: RowsLike, name: str = "p", start: int = 0) -> Array:
    """Check that ``rows`` are probability rows, and return them as a read-only array.

    Fractions are kept.

    Parameters
    ----------
    rows : array_like, shape (..., V)
        Probabilities. ``float16`` and ``bfloat16`` become ``float32``, other float and integer types ``float64``; objects become
        `Fraction`.
    name : str
        What error messages call it.
    start : int
        Where ``rows`` begins in what the caller was given, for the place in error messages.

    Returns
    -------
    ndarray, shape (..., V)
        A read-only view (or a converted copy) of dtype ``float64``, ``float32`` or ``object``.

    Raises
    ------
    ValueError
        Naming the argument, the value, its place and what is allowed: no vocabulary axis, an empty vocabulary,
        a NaN, a negative entry, or a row whose sum is off by more than `TOLERANCE` of its dtype.

    Notes
    -----
    The views returned are remembered while they live, so that a chain of library calls checks a row once.
    Nothing is rescaled here: `normalise` does that, on purpose.

    Examples
    --------
    >>> check_rows([0.5, 0.5])
    array([0.5, 0.5])
    >>> check_rows([0.5, 0.4], name="q")
    Traceback (most recent call last):
    ValueError: q sums to 0.9: a float64 row must sum to 1 within 1e-08; theory.normalise rescales on purpose
    """
    if isinstance(rows, np.ndarray) and _checked.get(id(rows)) is rows:
        return rows
    array = _as_rows(rows, name)
    if not array.size:
        return trust(array)
    least = _check_entries(array, name, start)
    _check_sums(array, name, start)
    checked = trust(array)
    once(checked, "smallest", lambda _: least)
    return checked


def trust(array: Array) -> Array:
    """Let ``array`` pass as checked rows, for rows that are laws by construction."""
    view = array.view()
    view.flags.writeable = False
    _checked[id(view)] = view
    return view


def once(rows: Array, key: Any, compute: Callable[[Array], Any]) -> Any:
    """Give ``compute(rows)``, remembered under ``key`` for as long as these checked rows live.

    An entropy or an allowed set is wanted by the acceptance, the residual and the baseline of a rule, and by every rule
    that is compared on the same rows. What is remembered is read-only. Rows that `check_rows` has not returned are not
    remembered, nor is anything of stacks larger than a chunk, whose facts would take as much memory as they do.
    """
    if _checked.get(id(rows)) is not rows or rows.size > CHUNK:
        return compute(rows)
    known = _known.setdefault(id(rows), {})
    if not known:
        weakref.finalize(rows, _known.pop, id(rows), None)
    if key not in known:
        known[key] = compute(rows)
        if isinstance(known[key], np.ndarray):
            known[key].flags.writeable = False
    return known[key]


def own(rows: RowsLike, name: str) -> Array:
    """Check rows that are to be kept, as `check_rows` does, and copy them where their owner could still change them."""
    owner: Any = rows
    while isinstance(owner, np.ndarray):
        if owner.flags.writeable:
            return check_rows(np.array(rows), name)
        owner = owner.base
    return check_rows(rows, name)


def smallest(rows: Array) -> Any:
    """Smallest entry, remembered for checked rows; most rows of real models have no 0, and need no care for it."""
    return once(rows, "smallest", lambda values: values.min(initial=1))


def check_pair(p: RowsLike, q: RowsLike, start: int = 0) -> tuple[Array, Array]:
    """Check a target ``p`` and a draft ``q`` as `check_rows` does, and that they broadcast.

    Fractions are kept.

    Examples
    --------
    >>> check_pair([0.5, 0.5], [0.2, 0.3, 0.5])
    Traceback (most recent call last):
    ValueError: p has 2 tokens and q has 3 (shapes (2,) and (3,)): the vocabularies must be the same
    """
    return check_two(p, q, "p", "q", start)


def check_two(first: RowsLike, second: RowsLike, name: str, other: str, start: int = 0) -> tuple[Array, Array]:
    """Check two stacks of rows under the names they have in the caller's signature; see `check_pair`."""
    a, b = check_rows(first, name, start), check_rows(second, other, start)
    if a.shape == b.shape and a.dtype == b.dtype:
        return a, b
    if a.shape[-1] != b.shape[-1]:
        raise ValueError(
            f"{name} has {a.shape[-1]} tokens and {other} has {b.shape[-1]} (shapes {a.shape} and {b.shape}): "
            "the vocabularies must be the same"
        )
    try:
        np.broadcast_shapes(a.shape, b.shape)
    except ValueError:
        raise ValueError(f"{name} has shape {a.shape} and {other} {b.shape}: they do not broadcast") from None
    if (a.dtype == object) != (b.dtype == object):
        exact, rounded = (name, other) if a.dtype == object else (other, name)
        raise ValueError(f"{exact} holds Fractions and {rounded} holds floats: convert one to the other's type")
    return a, b


def _as_rows(rows: RowsLike, name: str) -> Array:
    if isinstance(rows, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array: fill or drop the masked entries first")
    try:
        array = np.asarray(rows)
    except ValueError:
        raise ValueError(f"{name}: the rows do not have one length") from None
    if array.dtype == object:
        array = _as_fractions(array, name)
    elif is_half(array):
        array = _widened(array)
    elif array.dtype not in (np.float64, np.float32):
        if array.dtype.kind not in "iuf":
            allowed = "rows hold float64, float32, float16, bfloat16, integers or Fractions"
            raise ValueError(f"{name} has dtype {array.dtype}: {allowed}; convert, and theory.normalise on purpose")
        array = array.astype(np.float32 if array.dtype.kind == "f" and array.dtype.itemsize == 4 else np.float64)
    if array.ndim == 0 or array.shape[-1] == 0:
        raise ValueError(f"{name} has shape {array.shape}: the last axis is the vocabulary, of at least one token")
    return array


def is_half(array: Array) -> bool:
    """Whether numbers are of 16 bits: ``float16``, or the ``bfloat16`` that other libraries add to numpy."""
    return array.dtype.name in ("float16", "bfloat16")


def _widened(array: Array) -> Array:
    """Give 16-bit rows as float32 rows of which it is known, while they live, that they were rounded to 16 bits."""
    wide = array.astype(np.float32)
    wide.flags.writeable = False
    _halves[id(wide)] = array.dtype.name
    weakref.finalize(wide, _halves.pop, id(wide), None)
    return wide


def _origin(array: Array) -> str:
    """Give the type in which rows were rounded: their own, or that of the 16-bit rows of which they are a view."""
    owner: Any = array
    while isinstance(owner, np.ndarray) and _halves:
        if id(owner) in _halves:
            return _halves[id(owner)]
        owner = owner.base
    return str(array.dtype)


def tolerance(array: Array) -> float:
    """Give how far the sums of these rows may be from 1; 0 for whole numbers and Fractions.

    Examples
    --------
    >>> tolerance(np.array([0.5, 0.5]))
    1e-08
    """
    return TOLERANCE.get(_origin(array), 0.0)


def _as_fractions(array: Array, name: str) -> Array:
    exact = np.empty_like(array)
    for where, value in np.ndenumerate(array):
        if isinstance(value, bool) or not isinstance(value, Rational):
            raise ValueError(f"{place(name, where)} = {value!r}: a row of objects holds Fractions or integers only")
        exact[where] = Fraction(value)
    return exact


def _check_entries(array: Array, name: str, start: int = 0) -> Any:
    least = array.min()
    if not least >= 0:  # NaN fails this too
        where = tuple(int(i) for i in np.argwhere(~(array >= 0))[0])
        raise ValueError(f"{place(name, where, start)} = {array[where]}: a number of at least 0 must stand here")
    return least


def _check_sums(array: Array, name: str, start: int) -> None:
    kind = _origin(array)
    allowed_error = TOLERANCE[kind]
    sums = np.asarray(total(array))
    bad = np.asarray(np.abs(sums - 1) > allowed_error, dtype=bool)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        kind = "Fraction" if array.dtype == object else kind
        allowed = "must sum to 1" if allowed_error == 0 else f"must sum to 1 within {allowed_error:g}"
        raise ValueError(
            f"{place(name, where, start)} sums to {sums[where]}: a {kind} row {allowed}; theory.normalise rescales on purpose"
        )


def place(name: str, where: tuple[int, ...], start: int = 0) -> str:
    """Give the name of an entry, or of a row, for an error message.

    Examples
    --------
    >>> place("q", (0, 2), start=100)
    'q[100, 2]'
    """
    where = (where[0] + start, *where[1:]) if where else where
    return f"{name}[{', '.join(map(str, where))}]" if where else name


# --- sums and shares ------------------------------------------------------------------------------------------------


def total(rows: Array, keepdims: bool = False) -> Any:
    """Sum over the vocabulary, Σ_x rows(x), accumulated in float64 (exactly for Fractions).

    Notes
    -----
    For long float32 rows, numpy's cast of each entry to float64 costs four times the sum itself. Partial sums of float32 over
    one part in `_LANES` of the row, added up in float64, are as good as the entries' own rounding.
    """
    if rows.dtype != np.float32 or rows.shape[-1] < _LANES**2:
        return rows.sum(axis=-1, keepdims=keepdims, dtype=None if rows.dtype == object else np.float64)
    even = rows.shape[-1] - rows.shape[-1] % _LANES
    parts = np.vecdot(_lanes(rows[..., :even]), np.ones(even // _LANES, dtype=np.float32))  # twice as fast as a sum
    sums = parts.sum(axis=-1, keepdims=keepdims, dtype=np.float64)
    return sums if even == rows.shape[-1] else sums + total(rows[..., even:], keepdims)


def _lanes(rows: Array) -> Array:
    return rows.reshape(*rows.shape[:-1], _LANES, -1)


def inner(rows: Array, other: Array) -> Any:
    """Sum of products over the vocabulary, Σ_x rows(x) other(x), accumulated as `total` does, without the products' array.

    Examples
    --------
    >>> inner(np.array([0.5, 0.5]), np.array([1.0, 3.0]))
    np.float64(2.0)
    """
    size = rows.shape[-1]
    if not rows.dtype == other.dtype == np.float32 or rows.shape != other.shape or size % _LANES or size < _LANES**2:
        return total(rows * other)
    return np.vecdot(_lanes(rows), _lanes(other)).sum(axis=-1, dtype=np.float64)


def normalise(weights: RowsLike) -> Array:
    """Rescale non-negative weights to rows that sum to 1: w(x) / Σ w.

    Parameters
    ----------
    weights : array_like, shape (..., V)
        Non-negative and finite; each row has a positive one.

    Returns
    -------
    ndarray, shape (..., V)
        Rows of probabilities, in the arithmetic of the weights.

    Raises
    ------
    ValueError
        For a negative, infinite or NaN weight, and for a row without any mass.

    Examples
    --------
    >>> normalise([1, 1, 2])
    array([0.25, 0.25, 0.5 ])
    >>> normalise([Fraction(1), Fraction(2)])
    array([Fraction(1, 3), Fraction(2, 3)], dtype=object)
    """
    half = isinstance(weights, np.ndarray) and is_half(weights)
    array = _as_rows(weights.astype(np.float64) if half else weights, "weights")  # type: ignore[union-attr]
    if array.size == 0:
        return array
    _check_entries(array, "weights")
    sums = np.asarray(total(array, keepdims=True))
    bad = ~((sums > 0) & (sums < np.inf))
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0][:-1])
        raise ValueError(f"{place('weights', where)} sums to {sums[(*where, 0)]}: a row needs a positive, finite sum")
    return array / in_dtype(sums, array)


def from_logits(logits: npt.ArrayLike, temperature: float = 1.0) -> Array:
    """Give the rows of probabilities that logits stand for: exp(z(x)/T) / Σ exp(z/T), computed in float64.

    Parameters
    ----------
    logits : array_like, shape (..., V)
        Real numbers of any float type (16 bits too) or whole numbers, in nats, known up to a constant a row; -inf is a token
        that cannot be drawn. Torch tensors go in as ``tensor.float().numpy()``.
    temperature : float
        T, in [0, inf). At 0 all mass is on the largest logit, the first of equals.

    Returns
    -------
    ndarray, shape (..., V)
        Rows in float64; in float32 for logits of 32 bits or fewer. Logarithms of probabilities at T = 1 come back as they were.

    Raises
    ------
    ValueError
        For logits that are NaN or +inf, a row without a finite one, or a temperature out of range; Fractions are refused, since
        the exponential is irrational.

    Examples
    --------
    >>> from_logits([0.0, np.log(3.0)]).round(12).tolist()
    [0.25, 0.75]
    >>> from_logits([[0.0, 1.0], [2.0, 2.0]], temperature=0).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    parameters.check("temperature", temperature, "[0, inf)")
    try:
        given = np.asarray(logits)
    except (ValueError, TypeError):
        raise ValueError("logits: must be an array of real numbers, shape (..., V), rows of one length") from None
    if given.ndim == 0 or given.shape[-1] == 0:
        raise ValueError(f"logits has shape {given.shape}: the last axis is the vocabulary, of at least one token")
    if given.dtype.kind not in "iuf" and not is_half(given):
        raise ValueError(f"logits has dtype {given.dtype}: must be real numbers; Fractions have no exact exponential")
    narrow = given.dtype.itemsize <= 4 and given.dtype.kind not in "iu"
    values = given.astype(np.float64)
    bad = np.isnan(values) | (values == np.inf)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        raise ValueError(f"{place('logits', where)} = {values[where]}: must be a real number, or -inf")
    peak = values.max(axis=-1, keepdims=True, initial=-np.inf)
    empty = ~np.isfinite(peak[..., 0])
    if empty.any():
        where = tuple(int(i) for i in np.argwhere(empty)[0])
        raise ValueError(f"{place('logits', where)} has no finite logit: a row needs a token that can be drawn")
    if temperature == 0:
        rows = most_probable(values)
    else:
        with np.errstate(over="ignore"):  # far below the peak, at a small temperature: -inf
            weights = np.exp((values - peak) / float(temperature))
        rows = weights / total(weights, keepdims=True)
    return rows.astype(np.float32) if narrow else rows


def share_out(mass: Array, otherwise: Array | Callable[[], Array], amount: Any = 1) -> Array:
    """Give mass(x) / Σ mass, and ``otherwise`` for a row that has no mass: the 0/0 of every replacement law.

    Parameters
    ----------
    mass : ndarray, shape (..., V)
        Non-negative; not checked, and overwritten.
    otherwise : ndarray or function
        Rows that broadcast against ``mass``, or how to make them if they are wanted.
    amount : ndarray, shape (..., 1), optional
        How much each row is to share out, 1 if not given.

    Examples
    --------
    >>> share_out(np.array([0.0, 0.2]), np.array([0.5, 0.5]))
    array([0., 1.])
    >>> share_out(np.array([0.0, 0.0]), np.array([0.5, 0.5]))
    array([0.5, 0.5])
    """
    sums = np.asarray(total(mass, keepdims=True))
    empty = sums == 0
    if not empty.any() and np.all(amount):
        with np.errstate(over="ignore"):  # an amount so small leaves nothing to anyone
            mass /= in_dtype(sums / amount, mass)
        return mass
    rows = otherwise() if callable(otherwise) else otherwise
    return in_dtype(amount * np.where(empty, rows, mass / in_dtype(np.where(empty, 1, sums), mass)), mass)


def is_exact(*rows: Array) -> bool:
    """Whether the arithmetic of these rows together is that of Fractions."""
    return np.result_type(*rows) == np.dtype(object)


def in_dtype(sums: Array, rows: Array) -> Array:
    """Give sums, which accumulate in float64, in the type of the rows that they go back to."""
    return sums if rows.dtype == object else sums.astype(rows.dtype, copy=False)


def excess(p: Array, q: Array) -> Array:
    """Positive part (p(x) - q(x))+ = p(x) - min(p(x), q(x)).

    Examples
    --------
    >>> excess(np.array([0.75, 0.25]), np.array([0.5, 0.5]))
    array([0.25, 0.  ])
    """
    smaller = np.minimum(p, q)  # p - min(p, q) is the same number as a maximum with 0, in half the time
    return np.asarray(np.subtract(p, smaller, out=smaller))


def spread(rows: Array, other: Array) -> Array:
    """Give a view of ``rows`` with the shape that it and ``other`` broadcast to."""
    return np.broadcast_to(rows, np.broadcast_shapes(rows.shape, other.shape))


def indicator(mask: Array, rows: Array) -> Array:
    """Give 1_A(x) in the arithmetic of ``rows``, 1 where the mask holds and 0 elsewhere."""
    if is_exact(rows):
        return np.array([Fraction(0), Fraction(1)])[mask.astype(np.intp)]
    return mask.astype(rows.dtype)


def acceptance_ratio(p: Array, q: Array) -> Array:
    """Give min(1, p(x)/q(x)), and 1 where q(x) = 0: such a token is never drafted.

    Examples
    --------
    >>> acceptance_ratio(np.array([0.25, 0.75, 0.0]), np.array([0.5, 0.5, 0.0]))
    array([0.5, 1. , 1. ])
    """
    if smallest(q) > 0:
        smaller = np.minimum(p, q)
        return np.divide(smaller, q, out=smaller)
    drafted = q > 0
    return np.where(drafted, np.minimum(p, q) / np.where(drafted, q, 1), 1).astype(np.result_type(p, q), copy=False)


def most_probable(p: Array) -> Array:
    """Give the point mass on the most probable token, the first of equals."""
    first = np.asarray(p.argmax(axis=-1))[..., None]
    return indicator(np.arange(p.shape[-1]) == first, p)


def if_drafted(acceptance: Array, q: Array) -> Array:
    """Give ``acceptance`` where q(x) > 0, and 1 where it is 0, for the rules whose acceptance is not a ratio to q."""
    if smallest(q) > 0:
        return spread(acceptance, q)
    return np.where(q > 0, acceptance, indicator(q == 0, acceptance))


# --- entropy --------------------------------------------------------------------------------------------------------


def entropy(p: RowsLike) -> Any:
    """Shannon entropy H(p) = -Σ p(x) ln p(x), in nats, with 0 ln 0 = 0.

    Fractions are taken to float64.

    Parameters
    ----------
    p : array_like, shape (..., V)
        Rows; Fractions are converted to float64.

    Returns
    -------
    float or ndarray, shape (...)
        In [0, ln V].

    Raises
    ------
    ValueError
        Where ``p`` is not made of rows (see `check_rows`).

    Examples
    --------
    >>> round(float(entropy([0.4, 0.3, 0.2, 0.1])), 6)
    1.279854
    >>> float(entropy([1.0, 0.0]))
    0.0
    """
    return np.array(nats(check_rows(p)))[()]


def nats(p: Array) -> Any:
    """Entropy of checked rows, remembered with them."""
    return once(p, "entropy", _entropy)


def _entropy(p: Array) -> Any:
    rows = as_float(p)
    return np.abs(inner(log_positive(rows), rows))


def log_positive(values: Array) -> Array:
    """Natural logarithm with ln 0 replaced by a finite number, for use where a factor 0 multiplies it."""
    return np.log(values) if smallest(values) > 0 else np.log(np.clip(values, np.finfo(values.dtype).tiny, np.inf))


def as_float(rows: Array) -> Array:
    """Rows of Fractions as float64; float rows as they are."""
    return rows.astype(np.float64) if is_exact(rows) else rows


# --- sampling -------------------------------------------------------------------------------------------------------


class InverseCDF:
    """Sampler of one row by inversion: the first token whose cumulative probability exceeds a uniform.

    Set up once in O(V); each draw then costs O(1) expected, whatever the vocabulary, by a table that gives the
    first candidate for each of many equal cells of [0, 1) (Chen and Asau, 1974), at least two cells a token.

    Parameters
    ----------
    weights : array_like, shape (V,)
        Non-negative, at least one positive; they need not sum to 1.

    Notes
    -----
    A token of weight 0 is never returned, nor an index past the end: the cumulative sum runs over the support
    only and is divided by its last entry, so that it ends at exactly 1, above every uniform in [0, 1); a uniform
    of exactly 0 takes the first token of the support.

    Examples
    --------
    >>> sampler = InverseCDF([0.0, 0.5, 0.5, 0.0])
    >>> sampler.invert(np.array([0.0, 0.25, 0.5, 1 - 2**-53]))
    array([1, 1, 2, 2])
    """

    def __init__(self, weights: RowsLike) -> None:
        array = np.asarray(weights).astype(np.float64)
        if array.ndim != 1 or not array.size or not array.min() >= 0 or not 0 < array.sum() < np.inf:
            raise ValueError("weights: a sampler needs one row of non-negative weights with a positive, finite sum")
        self._tokens = np.flatnonzero(array)
        self._full = self._tokens.size == array.size
        cumulative = np.cumsum(array[self._tokens])
        self._cumulative = cumulative / cumulative[-1]
        self._first: Array | None = None

    def draw(self, rng: np.random.Generator, size: int | tuple[int, ...] = ()) -> Array:
        """Draw tokens; ``size`` is the shape of the result."""
        return self.invert(rng.random(size))

    def invert(self, uniforms: Array) -> Array:
        """Map uniforms in [0, 1) to tokens."""
        index = self._index(np.asarray(uniforms))
        return index if self._full else self._tokens[index]

    def _index(self, u: Array) -> Array:
        if u.size < self._cumulative.size:  # too few draws to pay for the table
            return np.searchsorted(self._cumulative, u, side="right")
        if self._first is None:
            self._first = self._table()
        index = self._first[(u * self._first.size).astype(np.intp)]
        index = index + (self._cumulative[index] <= u)
        late = self._cumulative[index] <= u
        if late.any():
            index[late] = np.searchsorted(self._cumulative, u[late], side="right")
        return np.asarray(index, dtype=np.intp)

    def _table(self) -> Array:
        cells = 1 << min(_MOST_CELL_BITS, max(4, (2 * self._tokens.size - 1).bit_length()))
        steps = np.bincount(np.ceil(self._cumulative * cells).astype(np.intp), minlength=cells)
        return np.cumsum(steps[:cells]).astype(np.int32)  # cell k: how many cumulative sums are at most k / cells


def sample(rows: RowsLike, rng: np.random.Generator, size: int | tuple[int, ...] = ()) -> Array:
    """Draw tokens from rows by inverse CDF.

    Fractions are taken to float64.

    Parameters
    ----------
    rows : array_like, shape (..., V)
        Rows of probabilities.
    rng : numpy.random.Generator
        The source of randomness.
    size : int or tuple of int
        Draws for each row.

    Returns
    -------
    ndarray of int, shape (*size, ...)
        Tokens in 0..V-1, none of probability 0.

    Raises
    ------
    ValueError
        Where ``rows`` are not rows (see `check_rows`).

    Examples
    --------
    >>> sample([[0.0, 1.0], [1.0, 0.0]], np.random.default_rng(0), size=3)
    array([[1, 0],
           [1, 0],
           [1, 0]])
    """
    array = check_rows(rows, "rows")
    parameters.check_generator("rng", rng)
    shape = tuple(size) if isinstance(size, tuple | list) else (size,)
    for length in shape:
        parameters.check_count("size", length, 0)
    lead = array.shape[:-1]
    tokens = np.empty(shape + lead, dtype=np.intp)
    for where in np.ndindex(lead):
        tokens[(..., *where)] = InverseCDF(array[where]).draw(rng, shape)
    return tokens


# --- streaming ------------------------------------------------------------------------------------------------------


def chunks(count: int, size: int) -> Iterator[slice]:
    """Cut ``count`` rows of ``size`` tokens into slices of about `CHUNK` entries, at least one row each.

    Notes
    -----
    Temporaries of this size fall to glibc's ``mmap`` or are trimmed off the heap at each ``free``, and come back one page
    fault at a time: 15 times slower than the arithmetic. Its thresholds rise to the size of the largest block freed so
    far, so one block, allocated and never touched, is freed first.
    """
    np.empty(_ARENA, dtype=np.uint8)
    step = max(1, CHUNK // max(1, size))
    for start in range(0, count, step):
        yield slice(start, min(count, start + step))
