"""How a rule offers a curve of its own: one way for the rules of the package and for anybody else's."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from theory import parameters
from theory.probs import Array
from theory.verifiers import TokenVerifier

Quantities = dict[str, Any]
"""Name in `theory.exact.QUANTITIES` to values, one a value of the parameter."""


class Fast(NamedTuple):
    """What a rule offers on one pair of rows."""

    evaluate: Callable[[Array], Quantities]
    """Values of the parameter, shape (n,), to the rule's quantities at each; as many of `theory.exact.QUANTITIES` as it has."""
    breakpoints: Callable[[], Array] | None = None
    """The values at which a quantity has a kink or jumps, in rising order; not needed."""


Make = Callable[..., Fast | None]


class Offer(NamedTuple):
    """An offer that was made."""

    make: Make
    interval: str


_offers: dict[tuple[type[TokenVerifier], str], Offer] = {}


def offer(rule: type[TokenVerifier], parameter: str, interval: str) -> Callable[[Make], Make]:
    """Offer a fast curve of a rule over one of its parameters; the decorated function makes it for a pair of rows.

    Parameters
    ----------
    rule : type
        The rule's class. The offer is one for this very class: a subclass may do anything, and is evaluated value by value.
    parameter : str
        The field that varies.
    interval : str
        The values that it may have, as for `theory.parameters.check`.

    Returns
    -------
    callable
        A decorator of functions of ``p`` and ``q``, one pair of checked rows, and the rule's other fields as keywords, which give
        a `Fast`; or None where the offer does not hold for these fields.

    Notes
    -----
    An offer of the package is believed, since its tests hold it against the rule's own law. Anybody else's is compared with the
    law at the least and the largest value each time, and refused where they differ.

    Examples
    --------
    In the file of the rule:

    >>> from dataclasses import dataclass
    >>> from theory import curves, probs
    >>> from theory.verifiers.base import ExcessResidual
    >>> @dataclass(frozen=True)
    ... class KeepSome(ExcessResidual):
    ...     share: float
    ...     def acceptance(self, p, q):
    ...         return self.share + (1 - self.share) * probs.acceptance_ratio(*probs.check_pair(p, q))
    >>> @curves.offer(KeepSome, "share", "[0, 1]")
    ... def _(p, q):
    ...     distance = probs.total(probs.excess(q, p))
    ...     return curves.Fast(lambda share: {"total_variation": share * distance})
    >>> curves.evaluate(KeepSome, [0.5, 0.5], [0.25, 0.75], [0, 0.5, 1])["total_variation"]
    array([0.   , 0.125, 0.25 ])
    """

    def add(make: Make) -> Make:
        _offers[rule, parameter] = Offer(make, interval)
        return make

    return add


def offered(rule: type[TokenVerifier], parameter: str) -> Offer | None:
    """Give what the very class offers over a parameter."""
    return _offers.get((rule, parameter))


def intervals() -> dict[str, str]:
    """Give the short names of all rules that have made an offer, and the values that their parameters may have."""
    return {rule.name: offer.interval for (rule, _), offer in _offers.items()}


def check_values(values: list[Any], interval: str) -> list[Any] | Array:
    """Raise unless all values are numbers in an interval; give them back, as an array if all are floats."""
    if set(map(type, values)) <= {float, np.float64}:  # a thousand of them are checked at once
        array = np.array(values)
        bad = array[~np.isfinite(array)]
        for value in (bad[:1] if bad.size else np.array([array.min(), array.max()])).tolist():
            parameters.check("values", value, interval)
        return array
    for value in values:
        parameters.check("values", value, interval)
    return values
