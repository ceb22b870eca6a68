"""A curve of any rule: the offer of its class where there is one, else the law at each value."""

import dataclasses
from collections.abc import Iterable
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from theory import exact, loading, parameters, probs, sources
from theory.curves.offers import Fast, Quantities, check_values, offered
from theory.probs import Array, RowsLike
from theory.sources import Brought, RowSource
from theory.verifiers import FALLBACKS, TokenVerifier, checks, find, parse

if TYPE_CHECKING:
    import pandas as pd

CLOSED_FORM, ONE_BY_ONE = ROUTES = ("closed form", "one by one")
"""How the values of a curve came about: from the rule's own offer, or from its law at each value."""

QUANTITIES = ("acceptance_rate", "total_variation", "max_overshoot", "kl_divergence")
"""What a curve has of a rule without an offer."""

ROOM = 1e-6
"""How far a curve that somebody offers may be from the law, in a probability, or relative to a larger number."""


def curve(
    rule: TokenVerifier | type[TokenVerifier] | str,
    p: Brought,
    q: RowsLike | RowSource | None = None,
    values: Iterable[Any] = (),
    fallback: str | None = None,
    parameter: str | None = None,
) -> "pd.DataFrame":
    """Give what a rule does at each value of its parameter, averaged over positions.

    Parameters
    ----------
    rule : TokenVerifier, type or str
        The class of the rule, or its name, such as ``"lenience"`` or ``"mine.py:Mine"``; or a rule, or the name of one with its
        arguments, whose other parameters are kept.
    p : array_like or rows of a Trace, shape (positions, V) or (V,); or a Trace, the path of one, or a list of these
        Rows of the target; a trace has the draft's rows as well. They are read a few at a time. Fractions are kept.
    q : array_like or rows of a Trace, shape (positions, V) or (V,), optional
        Rows of the draft; not given beside a trace.
    values : iterable of float or Fraction
        Of the parameter, in any order.
    fallback : str, optional
        A key of `theory.verifiers.FALLBACKS`, for the rules that have one; their own where it is not given.
    parameter : str, optional
        The field of the rule that varies; the first where it is not given.

    Returns
    -------
    pandas.DataFrame
        One row a value. Columns ``verifier`` (short name), ``family``, ``parameter`` and ``route`` (`CLOSED_FORM` or
        `ONE_BY_ONE`), then the means over positions of what `theory.exact.QUANTITIES` calls ``acceptance_rate``,
        ``total_variation``, ``max_overshoot`` and ``kl_divergence``; of an offer, those that it has.
        `theory.plotting.plot_tradeoff` draws it.

    Raises
    ------
    ValueError
        For a rule, parameter or fallback that does not exist, a value that the rule does not take, no values or rows, where ``p``
        or ``q`` are not rows or do not have one length, and for a rule that is none.

    Examples
    --------
    >>> table = curve("lenience", [0.4, 0.3, 0.2, 0.1], [0.2, 0.25, 0.25, 0.3], [1, 0.5])
    >>> table[["verifier", "route", "acceptance_rate", "total_variation"]]
           verifier        route  acceptance_rate  total_variation
    0    lenience:1  closed form             0.75             0.00
    1  lenience:0.5  closed form             0.90             0.15
    >>> table = curve("hybrid-ceiling:0.5,0.4", [0.4, 0.6], [0.7, 0.3], [0.2, 1], parameter="lenience")
    >>> table[["verifier", "route"]]
                     verifier       route
    0  hybrid-ceiling:0.5,0.2  one by one
    1    hybrid-ceiling:0.5,1  one by one
    """
    import pandas as pd

    family = _family(rule, parameter, fallback)
    given = _values(values)
    target, draft = sources.rows(p, q)
    rules = [family.at(value) for value in given]
    first = probs.check_pair(target[0:1], draft[0:1])
    fast = _fast(family, first[0][0], first[1][0])
    if fast is not None:
        family.check(given)
        _hold(family, fast, rules, *(row[0] for row in first))
    sums: Quantities = {}
    for part in probs.chunks(len(target), int(target[0:1].shape[-1])):
        rows = probs.check_pair(target[part], draft[part], part.start)
        found = _laws(rules, *rows, part.start) if fast is None else _closed(family, given, *rows)
        sums = {name: sums.get(name, 0) + value for name, value in found.items()}
    return pd.DataFrame(
        {
            "verifier": [str(one) for one in rules],
            "family": family.cls.family,
            "parameter": given,
            "route": ONE_BY_ONE if fast is None else CLOSED_FORM,
            **{name: value / len(target) for name, value in sums.items()},
        }
    )


def evaluate(
    rule: TokenVerifier | type[TokenVerifier] | str,
    p: RowsLike,
    q: RowsLike,
    values: Iterable[Any],
    fallback: str | None = None,
    parameter: str | None = None,
) -> Quantities:
    """Give what a rule does on one pair of rows at each value of its parameter.

    Parameters
    ----------
    rule : TokenVerifier, type or str
        A class of rules, a rule whose other parameters are kept, or the name of either, as for `curve`.
    p, q : array_like, shape (V,)
        Rows of the target and of the draft. Fractions are kept.
    values : iterable of float or Fraction
        Of the parameter, in any order.
    fallback : str, optional
        A key of `theory.verifiers.FALLBACKS`, for the rules that have one; their own where it is not given.
    parameter : str, optional
        The field of the rule that varies; the first where it is not given.

    Returns
    -------
    dict of str to ndarray, shape (values,)
        The quantities of `curve`; Fractions on Fractions, but for KL.

    Raises
    ------
    ValueError
        As for `curve`.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> p, q = [F(4, 10), F(3, 10), F(2, 10), F(1, 10)], [F(4, 20), F(5, 20), F(5, 20), F(6, 20)]
    >>> [str(x) for x in evaluate("lenience", p, q, [1, F(1, 2), F(2, 5)])["acceptance_rate"]]
    ['3/4', '9/10', '19/20']
    """
    family = _family(rule, parameter, fallback)
    given = _values(values)
    target, draft = _one_pair(p, q)
    fast = _fast(family, target, draft)
    if fast is None:
        return _each([family.at(value) for value in given], target, draft)
    checked = family.check(given)
    if not family.believed:
        _hold(family, fast, [family.at(value) for value in given], target, draft)
    return _read(family, fast, _carried(checked, target))


def breakpoints(
    rule: TokenVerifier | type[TokenVerifier] | str,
    p: RowsLike,
    q: RowsLike,
    fallback: str | None = None,
    parameter: str | None = None,
) -> Array:
    """Give the values of the parameter at which a curve has a kink or jumps, in rising order, for one pair of rows.

    Parameters
    ----------
    rule : TokenVerifier, type or str
        A class of rules, a rule whose other parameters are kept, or the name of either, as for `curve`.
    p, q : array_like, shape (V,)
        Rows of the target and of the draft. Fractions are kept.
    fallback : str, optional
        A key of `theory.verifiers.FALLBACKS`; the breakpoints do not depend on it.
    parameter : str, optional
        The field of the rule that varies; the first where it is not given.

    Returns
    -------
    ndarray
        For lenience, mentored decoding and the overshoot ceiling the ratios p/q below 1, and for the KL divergence of mentored
        decoding those α at which the floor passes a token; p / max p for ``"spec-cascade"``; the ε whose threshold is a p for
        ``"typical-acceptance"``, rounded; none for CoS, which is a straight line. For other rules, what they offer (`offer`).

    Raises
    ------
    ValueError
        For a rule that offers none, and as for `curve`.

    Examples
    --------
    >>> breakpoints("lenience", [0.5, 0.25, 0.25], [0.25, 0.25, 0.5])
    array([0.5])
    """
    family = _family(rule, parameter, fallback)
    fast = _fast(family, *_one_pair(p, q))
    if fast is None or fast.breakpoints is None:
        raise ValueError(f"{family}: offers no breakpoints over {family.parameter}; theory.curves.offer says how a rule does")
    return np.asarray(fast.breakpoints())


# --- a rule whose parameter varies ------------------------------------------------------------------------------------------


class _Family(NamedTuple):
    """Rules of one class that differ in one field."""

    cls: type[TokenVerifier]
    parameter: str
    others: dict[str, Any]

    def __str__(self) -> str:
        return self.cls.name or loading.spelled(self.cls)

    @property
    def believed(self) -> bool:
        return checks.is_believed_class(self.cls)

    def at(self, value: Any) -> TokenVerifier:
        """Give the rule at a value of the parameter."""
        parameters.check("values", value, "[-inf, inf]")
        try:
            return self.cls(**self.others, **{self.parameter: value})
        except TypeError as error:
            raise ValueError(f"{self}: {error}; give a rule, whose other parameters are kept") from error

    def check(self, values: list[Any]) -> list[Any] | Array:
        """Raise unless the offer of the class takes these values; give them back, as an array if all are floats."""
        offer = offered(self.cls, self.parameter)
        assert offer is not None
        return check_values(values, offer.interval)


def _family(rule: Any, parameter: str | None, fallback: str | None) -> _Family:
    """Find the class that a rule, or its name, is of, and the field that varies."""
    if isinstance(rule, str):
        found = find(rule)
        rule = parse(rule) if found is None or found[2] else found[0]
    cls = rule if isinstance(rule, type) else type(rule)
    if not issubclass(cls, TokenVerifier):
        raise ValueError(f"rule = {rule!r}: must be a TokenVerifier or a class of them, such as Lenience, or the name of one")
    if fallback is not None and fallback not in FALLBACKS:
        raise ValueError(f"fallback = {fallback!r}: must be one of {', '.join(FALLBACKS)}")
    fields: list[str] = [field.name for field in dataclasses.fields(cls) if field.init] if dataclasses.is_dataclass(cls) else []
    if not fields:
        raise ValueError(f"{_Family(cls, '', {})}: has no parameter that could vary")
    if parameter is not None and parameter not in fields:
        raise ValueError(f"parameter = {parameter!r}: {_Family(cls, '', {})} has {', '.join(fields)}")
    varied = parameter or fields[0]
    others = {} if isinstance(rule, type) else {name: getattr(rule, name) for name in fields if name != varied}
    now = None if isinstance(rule, type) else getattr(rule, varied)
    if now is not None and not isinstance(now, Real):
        raise ValueError(f"{rule}: its {varied} is no number; say with parameter= which of {', '.join(fields)} varies")
    if fallback is not None and "fallback" in fields:
        others["fallback"] = fallback
    return _Family(cls, varied, others)


def _values(values: Any) -> list[Any]:
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"values = {values!r}: must be several numbers")
    given = list(values)
    if not given:
        raise ValueError("values is empty: a curve needs a value of the parameter")
    return given


def _carried(values: list[Any] | Array, rows: Array) -> Array:
    if not probs.is_exact(rows):
        return np.asarray(values, dtype=np.float64)
    return np.array([parameters.carry(value, rows) for value in values], dtype=object)


def _one_pair(p: RowsLike, q: RowsLike) -> tuple[Array, Array]:
    target, draft = probs.check_pair(p, q)
    if target.ndim != 1 or draft.ndim != 1:
        raise ValueError(f"p and q have shapes {target.shape} and {draft.shape}: one pair of rows is evaluated at a time")
    return target, draft


# --- by the offer -------------------------------------------------------------------------------------------------------------


def _fast(family: _Family, p: Array, q: Array) -> Fast | None:
    """Give what the class offers on a pair of rows, or None."""
    offer = offered(family.cls, family.parameter)
    return None if offer is None else offer.make(p, q, **family.others)


def _read(family: _Family, fast: Fast, values: Array) -> Quantities:
    """Evaluate an offer; raise where somebody else's gives what is no curve."""
    found = fast.evaluate(values)
    if not family.believed:
        for name, column in found.items():
            if name not in exact.QUANTITIES:
                raise ValueError(f"{family}: offers a curve of {name!r}; there are: {', '.join(exact.QUANTITIES)}")
            if np.shape(column) != values.shape:
                raise ValueError(f"{family}: {name} of the curve that it offers has shape {np.shape(column)}, of {values.shape}")
    return found


def _closed(family: _Family, values: list[Any], p: Array, q: Array) -> Quantities:
    """Give the sums over positions of what the class offers."""
    sums: Quantities = {}
    carried = _carried(family.check(values), p)
    for pair in zip(p, q, strict=True):
        fast = _fast(family, *pair)
        assert fast is not None  # whether there is an offer depends on the rule alone
        sums = {name: sums.get(name, 0) + value for name, value in _read(family, fast, carried).items()}
    return sums


def _hold(family: _Family, fast: Fast, rules: list[TokenVerifier], p: Array, q: Array) -> None:
    """Raise where a curve that somebody else's rule offers is not that of its laws at the least or the largest value."""
    if family.believed:
        return
    values = [getattr(rule, family.parameter) for rule in rules]
    for place in {int(np.argmin(values)), int(np.argmax(values))}:
        law = exact.summarise(rules[place], p, q, exact.QUANTITIES)
        for name, column in _read(family, fast, _carried(values[place : place + 1], p)).items():
            if not np.isclose(float(column[0]), float(law[name]), rtol=ROOM, atol=ROOM, equal_nan=True):
                said = f"{name} is {float(law[name]):.6g} by its law and {float(column[0]):.6g} by the curve that it offers"
                raise ValueError(f"{rules[place]}: {said}")


# --- value by value -----------------------------------------------------------------------------------------------------------


def _each(rules: list[TokenVerifier], p: Array, q: Array) -> Quantities:
    """Give the quantities of several rules on one pair of rows."""
    laws = [exact.summarise(rule, p, q, QUANTITIES) for rule in rules]
    return {name: np.array([law[name] for law in laws]) for name in QUANTITIES}


def _laws(rules: list[TokenVerifier], p: Array, q: Array, start: int) -> Quantities:
    """Give the sums over positions of the quantities of several rules."""
    laws = [exact.summarise(rule, p, q, QUANTITIES, start) for rule in rules]
    return {name: np.array([np.sum(law[name], axis=0) for law in laws]) for name in QUANTITIES}
