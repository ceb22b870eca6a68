"""What a supremum is: a number, whether a pair of rows attains it, and the pairs that do or come near.

The derivations of `theory.failure.derivations` and `theory.failure.targets` are put together from the few shapes here. A size
V of the vocabulary is a whole number, or ``math.inf`` for the supremum over all vocabularies, in which a formula is its own
limit.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from numbers import Rational
from typing import Any, final

import numpy as np

from theory import divergences, parameters, probs
from theory.parameters import Number
from theory.probs import Array
from theory.verifiers import TokenVerifier

Pair = tuple[Array, Array]
"""Rows (p, q)."""

Approach = Callable[[Number], Pair]
"""Closeness c in (0, 1] to a pair that is the nearer to the supremum the smaller c; one that attains it ignores c."""

ATTAINED, APPROACHED, BOUND, SEARCHED = STATUSES = ("attained", "approached", "bound", "searched")
"""Whether some pair has the value; or no pair, but some have nearly; or all that is known is that none has more; or that some has
it, which a search has met, and nothing is known of others."""


class UnderivedError(ValueError):
    """Nothing has been derived for a rule, or for a part of it; `worst` and `worst_for` then search."""


def _off_support(induced: Array, p: Array) -> Any:
    return probs.total(np.where(p > 0, 0 * induced, induced))


QUANTITIES: dict[str, Callable[[Array, Array], Any]] = {
    "total_variation": divergences.total_variation,
    "kl_divergence": divergences.kl_divergence,
    "max_overshoot": divergences.max_overshoot,
    "mass_off_support": _off_support,
}
"""Name to function of an induced law π and the target p.

================ ==================================================
total_variation  TV(π, p), probability
kl_divergence    KL(π || p), nats
max_overshoot    max π/p, at least 1
mass_off_support π(p = 0), the induced mass where p is 0, probability
================ ==================================================
"""

MOST = {"total_variation": 1.0, "kl_divergence": math.inf, "max_overshoot": math.inf, "mass_off_support": 1.0}
"""What each of them can be at most."""


@final
@dataclass(frozen=True)
class Supremum:
    """The largest that a quantity can get.

    Attributes
    ----------
    value : float or Fraction
        The supremum; for ``"bound"`` a number that it does not exceed, and for ``"searched"`` one that it is not below. A
        Fraction where the parameters are, and it is rational.
    status : str
        ``"attained"``, ``"approached"`` or ``"bound"``, which are derived, or ``"searched"``.
    trend : str
        Of what is searched: ``"settled"``, or, where a larger search finds more, ``"rising"``, ``"unbounded"`` or ``"infinite"``;
        see `theory.failure.Found`. Empty for what is derived.
    said : str
        The same in words, with numbers.
    """

    value: Number
    status: str
    pair: Approach
    trend: str = ""
    said: str = ""

    @property
    def exact(self) -> bool:
        """Whether the value is the supremum itself, not a bound on it."""
        return self.status in (ATTAINED, APPROACHED)


Suprema = dict[str, Supremum]
"""One for each of `QUANTITIES`, in their order."""


@final
@dataclass(frozen=True, eq=False)
class Worst:
    """The suprema of one rule. Made by `worst` and `worst_for`; an item for each of `QUANTITIES`.

    Attributes
    ----------
    verifier : TokenVerifier
        The rule.
    vocabulary : int or None
        V; None for the suprema over all vocabularies.
    suprema : mapping of str to Supremum
        By quantity.
    """

    verifier: TokenVerifier
    vocabulary: int | None
    suprema: Mapping[str, Supremum]

    def __getitem__(self, quantity: str) -> Supremum:
        return self.suprema[check_quantity(quantity)]

    def __iter__(self) -> Iterator[str]:
        return iter(self.suprema)

    def witness(self, quantity: str, closeness: Number = Fraction(1, 1000)) -> Pair:
        """Give the pair of rows that attains a supremum, or comes near it; under a bound, the worst pair known.

        Parameters
        ----------
        quantity : str
            A key of `QUANTITIES`.
        closeness : float or Fraction
            In (0, 1]: the smaller, the nearer, for what is approached and not attained. On a Fraction, and where the rule's
            parameters are Fractions, the rows are Fractions if the rule has an exact law on such rows.

        Returns
        -------
        p, q : ndarray, shape (V,)
            Rows.

        Raises
        ------
        ValueError
            For the suprema over all vocabularies, which no one pair need have: ask for those of one.

        Examples
        --------
        >>> from theory.failure import worst
        >>> from theory.verifiers import Lenience
        >>> print(*worst(Lenience(0.25), vocabulary=3).witness("total_variation"))
        [0.25  0.375 0.375] [1. 0. 0.]
        """
        check_quantity(quantity)
        parameters.check("closeness", closeness, "(0, 1]")
        if self.vocabulary is None:
            raise ValueError(
                f"vocabulary = None: over all vocabularies no one pair need be the worst; worst({self.verifier}, 3) has a witness"
            )
        return self.suprema[quantity].pair(closeness)


def check_quantity(quantity: str) -> str:
    """Raise unless this is a key of `QUANTITIES`; give it back."""
    if not isinstance(quantity, str) or quantity not in QUANTITIES:
        raise ValueError(f"quantity = {quantity!r}: must be one of {', '.join(QUANTITIES)}")
    return quantity


# --- shapes that suprema have ---------------------------------------------------------------------------------------------


def suprema(*values: tuple[Number, str, Approach]) -> Suprema:
    """Give one supremum a quantity, in the order of `QUANTITIES`."""
    return {name: Supremum(*value) for name, value in zip(QUANTITIES, values, strict=True)}


def nothing(pair: Approach) -> Suprema:
    """Give the suprema where the law is always p: 0, 0, 1, 0."""
    return suprema((0, ATTAINED, pair), (0, ATTAINED, pair), (1, ATTAINED, pair), (0, ATTAINED, pair))


def reduced(least: Number, pair: Approach, status: str = ATTAINED) -> Suprema:
    """Give the suprema where at worst the law is p on one set, renormalised, and *least* is the smallest mass of that set.

    Such a law has TV = 1 - m, KL = ln 1/m and max π/p = 1/m, m the set's mass. When nothing has π > p/m, no law is worse:
    Σ (π - p)+ <= Σ π (1 - m), and KL <= ln max π/p. Off the support there is nothing. An m that may come near 0 is approached.
    """
    if least == 0:
        return suprema((1, APPROACHED, pair), (math.inf, APPROACHED, pair), (math.inf, APPROACHED, pair), (0, ATTAINED, pair))
    overshoot = parameters.inverse(least)
    log = -math.log(least)
    return suprema((1 - least, status, pair), (log + 0.0, status, pair), (overshoot, status, pair), (0, ATTAINED, pair))


def moved(mass: Number, pair: Approach) -> Suprema:
    """Give the suprema where at worst the law has this mass where p is 0, and p's own for the rest."""
    return suprema((mass, ATTAINED, pair), (math.inf, ATTAINED, pair), (math.inf, ATTAINED, pair), (mass, ATTAINED, pair))


# --- rows -----------------------------------------------------------------------------------------------------------------


def number(value: Number) -> Number:
    """Give a hyper-parameter as a Fraction if it is rational, else as a float.

    Examples
    --------
    >>> number(1), number(0.5)
    (Fraction(1, 1), 0.5)
    """
    return Fraction(value) if isinstance(value, Rational) else float(value)


def row(size: float, *head: Number) -> Array:
    """Give a row that begins with these masses and shares out the rest equally; exact if all of them are rational.

    Examples
    --------
    >>> row(3, 0.5)
    array([0.5 , 0.25, 0.25])
    >>> row(2)
    array([Fraction(1, 2), Fraction(1, 2)], dtype=object)
    """
    rest = int(size) - len(head)
    masses = [number(mass) for mass in head]
    left = 1 - sum(masses, Fraction(0))
    masses += [left / rest for _ in range(rest)]
    exact = all(isinstance(mass, Fraction) for mass in masses)
    return np.array(masses, dtype=object if exact else np.float64)


def padded(size: float, *masses: Number) -> Array:
    """Give a row of these masses and zeros behind them.

    Examples
    --------
    >>> padded(3, 0.5, 0.5)
    array([0.5, 0.5, 0. ])
    """
    short = row(len(masses), *masses)
    return np.concatenate([short, np.resize(0 * short, int(size) - len(masses))])


def hot(size: float, token: int = 0) -> Array:
    """Give the point mass on a token, exact.

    Examples
    --------
    >>> hot(2, 1)
    array([Fraction(0, 1), Fraction(1, 1)], dtype=object)
    """
    return probs.indicator(np.arange(int(size)) == token, row(size))


def together(p: Array, q: Array) -> Pair:
    """Give two rows in one arithmetic: exact if both are."""
    return (p, q) if p.dtype == q.dtype else (probs.as_float(p), probs.as_float(q))


def rounded(approach: Approach) -> Approach:
    """Give the same pairs in floats, for rules whose law on Fractions is irrational."""

    def pair(closeness: Number) -> Pair:
        p, q = approach(closeness)
        return probs.as_float(p), probs.as_float(q)

    return pair


def one_hot_draft(target: Callable[[Number], Array]) -> Approach:
    """Give the pairs of a target, made for a closeness, and the draft that is sure of token 0."""

    def pair(closeness: Number) -> Pair:
        p = target(closeness)
        return together(p, hot(p.size))

    return pair
