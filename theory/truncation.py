"""Allowed sets of truncation samplers: min-p, eta, epsilon, top-k, top-p, typical.

Each rule is a frozen dataclass with two methods: ``allowed(p)``, the mask of the set A, and ``truncate(p)``, the target
that the sampler really uses, p 1_A / p(A). One truth holds for all: A is never empty, and lies inside the support of p.

Ties. A token whose probability *equals* the threshold in exact arithmetic is in A. In floating point both sides are
rounded, so that a plain ``>=`` drops about half of such tokens; the comparison therefore leaves room for the rounding
of its two sides (a few units in the last place) and no more. On Fractions, thresholds that are rational are compared
exactly; those with an entropy in them are compared in float64.
"""

import abc
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from theory import parameters, probs, shortnames
from theory.parameters import Number
from theory.probs import Array, RowsLike

__all__ = [
    "TRUNCATIONS",
    "Epsilon",
    "Eta",
    "MinP",
    "TopK",
    "TopP",
    "Truncation",
    "Typical",
    "parse",
]


class Truncation(abc.ABC):
    """A rule p -> A. Write `name`, `formula` and `keep`; `allowed` and `truncate` follow."""

    name: ClassVar[str]
    formula: ClassVar[str]

    @abc.abstractmethod
    def keep(self, p: Array) -> Array:
        """Give the rule's own mask for checked rows; `allowed` adds the two rules that hold for all."""

    def allowed(self, p: RowsLike) -> Array:
        """Give the allowed set A as a mask.

        Parameters
        ----------
        p : array_like, shape (..., V)
            Rows of the target.

        Returns
        -------
        ndarray of bool, shape (..., V)
            True on A; never all False, never True where p(x) = 0. Where the rule itself keeps nothing, the most
            probable token (the first of equals) is kept.
        """
        rows = probs.check_rows(p)
        if type(self) not in TRUNCATIONS.values():  # somebody's own class, which may be mutable or unhashable
            return self._allowed(rows)
        mask: Array = probs.once(rows, self, self._allowed)
        return mask

    def _allowed(self, rows: Array) -> Array:
        mask = self.keep(rows)
        if not probs.smallest(rows) > 0:
            mask = mask & (rows > 0)
        empty = ~mask.any(axis=-1)
        if empty.any():
            first = np.asarray(rows.argmax(axis=-1))[..., None]
            mask = mask | (np.asarray(empty)[..., None] & (np.arange(rows.shape[-1]) == first))
        mask.flags.writeable = False
        return mask

    def truncate(self, p: RowsLike) -> Array:
        """Give the truncated target p(x) 1_A(x) / p(A), the paper's Eq. 4.

        Parameters
        ----------
        p : array_like, shape (..., V)
            Rows of the target.

        Returns
        -------
        ndarray, shape (..., V)
            Rows of probabilities, in the arithmetic of ``p``.
        """
        rows = probs.check_rows(p)
        kept = probs.indicator(self.allowed(rows), rows)
        kept *= rows
        return probs.share_out(kept, rows)  # A is never empty

    def __str__(self) -> str:
        return shortnames.write(self, self.name, ":")


ROOM = 4
"""Units of rounding, relative to the threshold, within which a probability reaches it."""


def _reaches(value: Array, threshold: Any, slack: Any = ROOM) -> Array:
    """Compare value >= threshold with room for ``slack`` units of rounding, relative to the threshold."""
    return np.asarray(value >= limit(threshold, value, slack), dtype=bool)


def limit(threshold: Any, rows: Array, slack: Any = ROOM) -> Any:
    """Give the least value that counts as reaching a threshold, in the arithmetic of ``rows``."""
    if rows.dtype == object:
        return threshold
    return probs.in_dtype(np.asarray(threshold * (1 - slack * float(np.finfo(rows.dtype).eps))), rows)


def eta_threshold(epsilon: Any, delta: Any, nats: Any) -> tuple[Any, Any]:
    """Give min(ε, δ exp(-H)) and the units of rounding that it is worth, from the entropy in nats; √ε for a δ of None."""
    delta = epsilon**0.5 if delta is None else delta
    return np.minimum(epsilon, delta * np.exp(-nats)), 16 * (1 + nats)


@final
@dataclass(frozen=True)
class MinP(Truncation):
    """Min-p: A = {x : p(x) >= p_base · max p} (Nguyen et al. 2024, arXiv 2407.01082; the paper's Eq. 5).

    Parameters
    ----------
    p_base : float or Fraction
        In [0, 1]; 0 keeps the support, 1 the most probable tokens.

    Examples
    --------
    >>> from fractions import Fraction
    >>> MinP(0.5).allowed([0.4, 0.3, 0.2, 0.1])
    array([ True,  True,  True, False])
    >>> MinP(Fraction(3, 5)).truncate([Fraction(2, 5), Fraction(3, 5)])
    array([Fraction(2, 5), Fraction(3, 5)], dtype=object)
    """

    p_base: Number
    name: ClassVar[str] = "min-p"
    formula: ClassVar[str] = "p >= p_base max p"

    def __post_init__(self) -> None:
        parameters.check("p_base", self.p_base, "[0, 1]")

    def keep(self, p: Array) -> Array:
        """Compare with p_base max p."""
        return _reaches(p, parameters.carry(self.p_base, p) * p.max(axis=-1, keepdims=True))


@final
@dataclass(frozen=True)
class Eta(Truncation):
    """Eta: A = {x : p(x) >= min(ε, δ exp(-H(p)))} (Hewitt et al. 2022, arXiv 2210.15191; the paper's Eq. 6).

    Parameters
    ----------
    epsilon : float or Fraction
        In (0, 1].
    delta : float or Fraction, optional
        Positive; √ε where it is not given. For δ <= 1 the most probable token is always in A, since exp(-H) <= max p.

    Notes
    -----
    The entropy is in nats. Rounding of the probabilities moves it by up to (H + 1)/2 units of their precision, rounding of
    the sum by a few times H, and the threshold by the same factor; ties get 16 (H + 1) units of room.

    Examples
    --------
    >>> Eta(0.25).allowed([0.4, 0.3, 0.2, 0.1])
    array([ True,  True,  True, False])
    >>> Eta(0.09).allowed([0.4, 0.3, 0.2, 0.1])
    array([ True,  True,  True,  True])
    """

    epsilon: Number
    delta: Number | None = None
    name: ClassVar[str] = "eta"
    formula: ClassVar[str] = "p >= min(epsilon, delta exp(-H(p)))"

    def __post_init__(self) -> None:
        parameters.check("epsilon", self.epsilon, "(0, 1]")
        if self.delta is not None:
            parameters.check("delta", self.delta, "(0, inf)")

    def keep(self, p: Array) -> Array:
        """Compare with min(ε, δ exp(-H))."""
        rows = probs.as_float(p)
        nats = np.asarray(probs.nats(rows) if rows is p else probs.entropy(rows))[..., None]
        delta = None if self.delta is None else float(self.delta)
        return _reaches(rows, *eta_threshold(float(self.epsilon), delta, nats))


@final
@dataclass(frozen=True)
class Epsilon(Truncation):
    """Epsilon: A = {x : p(x) >= ε}, or the most probable token if there is none (Hewitt et al. 2022).

    Parameters
    ----------
    epsilon : float or Fraction
        In (0, 1].

    Examples
    --------
    >>> Epsilon(0.15).allowed([0.4, 0.3, 0.2, 0.1])
    array([ True,  True,  True, False])
    """

    epsilon: Number
    name: ClassVar[str] = "epsilon"
    formula: ClassVar[str] = "p >= epsilon"

    def __post_init__(self) -> None:
        parameters.check("epsilon", self.epsilon, "(0, 1]")

    def keep(self, p: Array) -> Array:
        """Compare with ε."""
        return _reaches(p, parameters.carry(self.epsilon, p))


@final
@dataclass(frozen=True)
class TopK(Truncation):
    """Top-k: the k most probable tokens, and all that tie with the k-th.

    Parameters
    ----------
    k : int
        At least 1; a k above the size of the support keeps the support.

    Examples
    --------
    >>> TopK(2).allowed([0.4, 0.2, 0.2, 0.2])
    array([ True,  True,  True,  True])
    """

    k: int
    name: ClassVar[str] = "top-k"
    formula: ClassVar[str] = "p >= k-th largest p"

    def __post_init__(self) -> None:
        parameters.check_count("k", self.k)

    def keep(self, p: Array) -> Array:
        """Compare with the k-th largest probability."""
        place = max(0, p.shape[-1] - int(self.k))
        return np.asarray(p >= np.partition(p, place, axis=-1)[..., place, None], dtype=bool)  # both sides are entries of p


@final
@dataclass(frozen=True)
class TopP(Truncation):
    """Top-p (nucleus): the fewest most probable tokens whose mass reaches ``mass`` (Holtzman et al. 2019).

    Parameters
    ----------
    mass : float or Fraction
        In (0, 1]. Of equally probable tokens, those with the lower index come first.

    Examples
    --------
    >>> TopP(0.8).allowed([0.4, 0.3, 0.2, 0.1])
    array([ True,  True,  True, False])
    """

    mass: Number
    name: ClassVar[str] = "top-p"
    formula: ClassVar[str] = "fewest most probable tokens of mass >= P"

    def __post_init__(self) -> None:
        parameters.check("mass", self.mass, "(0, 1]")

    def keep(self, p: Array) -> Array:
        """Take the shortest prefix in falling p."""
        return _shortest_prefix(p, -p, self.mass)


@final
@dataclass(frozen=True)
class Typical(Truncation):
    """Locally typical: the fewest tokens nearest to the entropy, |-ln p(x) - H|, whose mass reaches ``mass``.

    Parameters
    ----------
    mass : float or Fraction
        In (0, 1]. The most probable token may be left out. Of equally typical tokens, the lower index comes first.

    Notes
    -----
    Meister et al. 2022 (arXiv 2202.00666). Not the typical *acceptance* of Medusa, whose set is `Eta`'s.

    Examples
    --------
    >>> Typical(0.4).allowed([0.4, 0.3, 0.2, 0.1])
    array([False,  True,  True, False])
    """

    mass: Number
    name: ClassVar[str] = "typical"
    formula: ClassVar[str] = "fewest tokens nearest to H(p) of mass >= P"

    def __post_init__(self) -> None:
        parameters.check("mass", self.mass, "(0, 1]")

    def keep(self, p: Array) -> Array:
        """Take the shortest prefix in rising |-ln p - H|."""
        rows = probs.as_float(p).astype(np.float64)
        with np.errstate(divide="ignore"):
            surprise = -np.log(rows)
        distance = np.abs(surprise - np.asarray(probs.entropy(p))[..., None])
        # Tokens that tie in exact arithmetic differ by rounding here; on this grid they tie again.
        return _shortest_prefix(p, np.round(distance, 12 if p.dtype != np.float32 else 5), self.mass)


def _shortest_prefix(p: Array, score: Array, mass: Number) -> Array:
    """Mask of the fewest tokens, in rising ``score``, whose mass reaches ``mass``; a mass met exactly ends it."""
    order = np.argsort(score, axis=-1, kind="stable")
    ordered = np.take_along_axis(p, order, axis=-1)
    exact = p.dtype == object
    through = np.cumsum(ordered if exact else ordered.astype(np.float64), axis=-1)
    before = through - ordered
    goal = parameters.carry(mass, p)
    if not exact:
        goal = float(goal) * (1 - 4 * float(np.finfo(p.dtype).eps) - p.shape[-1] * float(np.finfo(np.float64).eps))
    mask = np.empty(p.shape, dtype=bool)
    np.put_along_axis(mask, order, np.asarray(before < goal, dtype=bool), axis=-1)
    return mask


TRUNCATIONS: dict[str, type[Truncation]] = {rule.name: rule for rule in (MinP, Eta, Epsilon, TopK, TopP, Typical)}
"""Short name to rule."""


def parse(text: str) -> Truncation:
    """Make a truncation from its short name.

    Examples
    --------
    >>> parse("min-p:0.1"), parse("eta:0.25:1/2")
    (MinP(p_base=0.1), Eta(epsilon=0.25, delta=Fraction(1, 2)))
    """
    rule = shortnames.build_nested(text, TRUNCATIONS, "truncation")
    assert isinstance(rule, Truncation)
    return rule
