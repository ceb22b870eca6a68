"""What a rule says about checked rows, looked at before it is believed.

`TokenVerifier` asks every rule through its ``checked_...`` methods, which come here. A rule of the package is believed as it is,
because its tests look at it; anybody else's is looked at each time, unless its class is given to `believe`.
"""

from numbers import Rational
from typing import Any

import numpy as np

from theory import probs
from theory.probs import Array

ROUNDING = 8
"""Units of rounding by which an acceptance in floats may exceed 1: such as (0.3 q + 0.7 q) / q."""

_EXACTLY = "on Fractions a rule answers in Fractions or whole numbers; give float rows to one whose formula is irrational"

_believed: set[type] = set()


class RuleError(ValueError):
    """A rule that is none: on these rows it gives no probabilities, or no law.

    Parameters
    ----------
    rule : object
        The rule, for its name.
    what : str
        What it gave, such as ``"acceptance"``.
    where : tuple of int
        The place in what it gave.
    said : str
        The value that stands there, and what must stand there.
    """

    def __init__(self, rule: Any, what: str, where: tuple[int, ...], said: str) -> None:
        super().__init__(f"{rule}: {probs.place(what, where)} {said}")
        self._parts = rule, what, where, said

    def further(self, start: int) -> "RuleError":
        """Give the same error for rows that begin at ``start`` of what the caller was given."""
        rule, what, where, said = self._parts
        moved = (where[0] + start, *where[1:]) if len(where) > 1 else where
        return RuleError(rule, what, moved, said)


def believe(*rules: type) -> None:
    """Look no more at what rules of these very classes say; for rules whose own tests do, such as `assert_consistent`.

    Parameters
    ----------
    *rules : type
        Classes of rules. Their subclasses are looked at as before.
    """
    _believed.update(rules)


def is_believed(rule: Any) -> bool:
    """Whether a rule is taken at its word."""
    return is_believed_class(type(rule))


def is_believed_class(cls: type) -> bool:
    """Whether the rules of this very class are taken at their word."""
    return cls in _believed


# --- acceptance and replacement ---------------------------------------------------------------------------------------------


def acceptance(rule: Any, said: Any, p: Array, q: Array) -> Array:
    """Give acceptance probabilities back; raise where one is outside [0, 1], or there is not one for each token."""
    values = _numbers(rule, "acceptance", said, p, q)
    most = 1 if values.dtype == object else 1 + ROUNDING * _rounding(values, p, q)
    if not (values.min(initial=1) >= 0 and values.max(initial=0) <= most):  # NaN fails this too
        where = _first(~((values >= 0) & (values <= most)))
        raise RuleError(rule, "acceptance", where, f"= {values[where]}: must be a probability, in [0, 1]")
    return values


def residual(rule: Any, said: Any, p: Array, q: Array, what: str = "residual", lead: tuple[int, ...] = ()) -> Array:
    """Give replacement laws back; raise where an entry is negative, a row does not sum to 1, or one is missing.

    ``lead`` is the shape that stands before that of the rows, where there are several laws for each pair.
    """
    values = _numbers(rule, what, said, p, q, lead)
    _check_least(rule, what, values)
    off = np.asarray(abs(probs.total(values) - 1) > _tolerance(values, p, q), dtype=bool)
    if off.any():
        where = _first(off)
        raise RuleError(rule, what, where, f"sums to {values[where].sum()}: a law of the replacement sums to 1")
    return values


def accepted(rule: Any, said: Any, p: Array, q: Array) -> Array:
    """Give q a back, which a rule wrote in a form of its own; raise where it is not in [0, q]."""
    values = _numbers(rule, "accepted", said, p, q)
    _check_least(rule, "accepted", values)
    room = 0 if values.dtype == object else ROUNDING * _rounding(values, p, q)
    above = np.asarray(values > q * (1 + room), dtype=bool)
    if above.any():
        where = _first(above)
        drafted = np.broadcast_to(q, values.shape)[where]
        raise RuleError(rule, "accepted", where, f"= {values[where]}: must be at most {drafted}, what is drafted")
    return values


def replaced(rule: Any, said: Any, p: Array, q: Array, rejected: Array) -> Array:
    """Give R r back, which a rule wrote in a form of its own; raise where it is negative, or does not sum to R."""
    values = _numbers(rule, "replaced", said, p, q)
    _check_least(rule, "replaced", values)
    off = np.asarray(abs(probs.total(values) - rejected[..., 0]) > _tolerance(values, p, q), dtype=bool)
    if off.any():
        where = _first(off)
        mass = np.broadcast_to(rejected[..., 0], off.shape)[where]
        raise RuleError(rule, "replaced", where, f"sums to {values[where].sum()}: must sum to {mass}, what is rejected")
    return values


def law(rule: Any, rates: tuple[Any, Any], induced: Any, p: Array, q: Array) -> None:
    """Raise where a whole law that a rule wrote in a form of its own is none."""
    tolerance = _tolerance(np.asarray(induced), p, q)
    for what, rate in zip(("acceptance_rate", "rejection_rate"), map(np.asarray, rates), strict=True):
        outside = np.asarray(~((rate >= -tolerance) & (rate <= 1 + tolerance)), dtype=bool)
        if outside.any():
            where = _first(outside)
            raise RuleError(rule, what, where, f"= {rate[where]}: must be a probability, in [0, 1]")
    residual(rule, induced, p, q, "induced")


# --- procedures ---------------------------------------------------------------------------------------------------------------


def verified(rule: Any, accepted: Any, token: Any, shape: tuple[int, ...], size: int) -> tuple[Array, Array]:
    """Give what a procedure did back; raise where it is not a verdict and a token of the vocabulary for each draft."""
    kept, emitted = np.asarray(accepted), np.asarray(token)
    for what, array, kinds in (("accepted", kept, "b"), ("token", emitted, "iu")):
        if array.shape != shape or array.dtype.kind not in kinds:
            kind = "bool" if kinds == "b" else "int"
            raise RuleError(
                rule, what, (), f"has shape {array.shape} and dtype {array.dtype}: its procedure gives {kind}, {shape}"
            )
    outside = (emitted < 0) | (emitted >= size)
    if outside.any():
        where = _first(outside)
        raise RuleError(rule, "token", where, f"= {emitted[where]}: tokens are in 0..{size - 1}")
    return kept, emitted


def unchanged(rule: Any, accepted: Array, token: Array, drafted: Array) -> None:
    """Raise where another token than the drafted one was emitted, though that was accepted."""
    changed = accepted & (token != drafted)
    if changed.any():
        where = _first(changed)
        raise RuleError(rule, "token", where, f"= {token[where]}: must be {drafted[where]}, which was drafted and accepted")


# --- the parts ------------------------------------------------------------------------------------------------------------------


def _numbers(rule: Any, what: str, said: Any, p: Array, q: Array, lead: tuple[int, ...] = ()) -> Array:
    """Give what a rule said as an array that fits the rows, in their arithmetic."""
    values = np.asarray(said)
    shape = (*lead, *np.broadcast_shapes(p.shape, q.shape))
    if not _fits(values.shape, shape):
        raise RuleError(rule, what, (), f"has shape {values.shape}: must fit the rows, {shape}")
    exact = probs.is_exact(p, q)
    if values.dtype == object:
        for where, value in np.ndenumerate(values):
            if not exact or isinstance(value, bool) or not isinstance(value, Rational):
                raise RuleError(rule, what, where, f"= {value!r}: {_EXACTLY if exact else 'must be a float, as the rows are'}")
    elif values.dtype.kind not in ("biu" if exact else "biuf"):
        raise RuleError(rule, what, (), f"has dtype {values.dtype}: {_EXACTLY if exact else 'must be real numbers'}")
    return values


def _fits(shape: tuple[int, ...], rows: tuple[int, ...]) -> bool:
    try:
        return shape[-1:] == rows[-1:] and np.broadcast_shapes(shape, rows) == rows
    except ValueError:
        return False


def _check_least(rule: Any, what: str, values: Array) -> None:
    if not values.min(initial=0) >= 0:  # NaN fails this too
        where = _first(~(values >= 0))
        raise RuleError(rule, what, where, f"= {values[where]}: must be a probability, at least 0")


def _rounding(values: Array, p: Array, q: Array) -> float:
    """Give the coarsest unit of rounding of these numbers, 0 for those that have none."""
    return max((float(np.finfo(array.dtype).eps) for array in (values, p, q) if array.dtype.kind == "f"), default=0.0)


def _tolerance(values: Array, p: Array, q: Array) -> float:
    """Give how far a sum may be from 1: as far as that of the rows may be."""
    return max(probs.tolerance(array) for array in (values, p, q))


def _first(bad: Array) -> tuple[int, ...]:
    return tuple(int(i) for i in np.argwhere(np.asarray(bad, dtype=bool))[0])
