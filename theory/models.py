"""Models: a context (a tuple of tokens) to a row. Small enough to enumerate, exact on Fractions.

A `Pair` is a target model and a draft model over one vocabulary; decoding, exact or by Monte Carlo, asks it for rows.
"""

import abc
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, final

import numpy as np

from theory import parameters, probs
from theory.probs import Array, RowsLike

__all__ = [
    "IID",
    "Disagreeing",
    "Markov",
    "Model",
    "Pair",
    "Random",
    "Table",
    "check",
    "iid",
    "markov",
    "random",
]


Context = tuple[int, ...]
"""Tokens so far, the prompt's included."""


class Model(abc.ABC):
    """A next-token law for each context."""

    @property
    @abc.abstractmethod
    def size(self) -> int:
        """Tokens in the vocabulary, V."""

    @abc.abstractmethod
    def row(self, context: Context) -> Array:
        """Give the law of the next token after ``context``, a row of shape (V,)."""

    def state(self, context: Context) -> Context:
        """Give what of the context the next row depends on; two contexts with one state have one future."""
        return context


@final
@dataclass(frozen=True, eq=False)
class IID(Model):
    """The same row after every context.

    Parameters
    ----------
    probabilities : array_like, shape (V,)
        The row, floats or Fractions.

    Examples
    --------
    >>> IID([0.5, 0.5]).row((0, 1, 1))
    array([0.5, 0.5])
    """

    probabilities: RowsLike

    def __post_init__(self) -> None:
        row = probs.own(self.probabilities, "probabilities")
        if row.ndim != 1:
            raise ValueError(f"probabilities has shape {row.shape}: an i.i.d. model has one row")
        object.__setattr__(self, "probabilities", row)

    @property
    def size(self) -> int:
        """Tokens in the vocabulary."""
        return int(np.shape(self.probabilities)[0])

    def row(self, context: Context) -> Array:
        """Give the row."""
        return np.asarray(self.probabilities)

    def state(self, context: Context) -> Context:
        """Give the empty context: nothing matters."""
        return ()


@final
@dataclass(frozen=True, eq=False)
class Markov(Model):
    """A row for each of the last k tokens.

    Parameters
    ----------
    rows : array_like, shape (V, ..., V)
        k + 1 axes of length V: ``rows[x1, ..., xk]`` is the row after the tokens x1, ..., xk, the last one latest.
    start : tuple of int, optional
        The k tokens that stand before the first one; zeros where it is not given.

    Examples
    --------
    >>> model = Markov([[0.5, 0.5], [0.25, 0.75]], start=(1,))
    >>> model.row(()), model.row((1, 0))
    (array([0.25, 0.75]), array([0.5, 0.5]))
    """

    rows: RowsLike
    start: Context | None = None

    def __post_init__(self) -> None:
        rows = probs.own(self.rows, "rows")
        if rows.ndim < 2 or len(set(rows.shape)) != 1:
            raise ValueError(f"rows has shape {rows.shape}: a Markov model has k + 1 >= 2 axes, all of length V")
        start = (0,) * (rows.ndim - 1) if self.start is None else self.start
        if not isinstance(start, tuple | list) or len(start) != rows.ndim - 1 or not all(_is_token(x, len(rows)) for x in start):
            raise ValueError(f"start = {start!r}: must be {rows.ndim - 1} tokens in 0..{len(rows) - 1}")
        object.__setattr__(self, "rows", rows)
        object.__setattr__(self, "start", tuple(start))

    @property
    def order(self) -> int:
        """How many tokens matter, k."""
        return np.ndim(self.rows) - 1

    @property
    def size(self) -> int:
        """Tokens in the vocabulary."""
        return int(np.shape(self.rows)[-1])

    def row(self, context: Context) -> Array:
        """Give the row after the last k tokens."""
        row: Array = np.asarray(self.rows)[self.state(context)]
        return row

    def state(self, context: Context) -> Context:
        """Give the last k tokens."""
        assert self.start is not None
        return (*self.start, *context)[len(context) :][-self.order :]


@final
@dataclass(frozen=True, eq=False)
class Table(Model):
    """Explicit rows for some contexts, and one row for all others.

    Parameters
    ----------
    rows : mapping of tuple of int to array_like, shape (V,)
        Context to row.
    default : array_like, shape (V,)
        The row elsewhere.

    Examples
    --------
    >>> model = Table({(): [0.5, 0.5], (0,): [0.25, 0.75]}, default=[1.0, 0.0])
    >>> model.row((0,)), model.row((1,))
    (array([0.25, 0.75]), array([1., 0.]))
    """

    rows: Mapping[Context, RowsLike]
    default: RowsLike

    def __post_init__(self) -> None:
        default = probs.own(self.default, "default")
        rows = {tuple(context): probs.own(row, f"rows[{context}]") for context, row in self.rows.items()}
        for context, row in [((), default), *rows.items()]:
            if row.ndim != 1 or row.shape != default.shape:
                raise ValueError(f"rows[{context}] has shape {row.shape}: one row of the default's shape {default.shape}")
        object.__setattr__(self, "default", default)
        object.__setattr__(self, "rows", rows)

    @property
    def size(self) -> int:
        """Tokens in the vocabulary."""
        return int(np.shape(self.default)[0])

    def row(self, context: Context) -> Array:
        """Give the context's own row, or the default."""
        return np.asarray(self.rows.get(tuple(context), self.default))


@final
@dataclass(frozen=True, eq=False)
class Random(Model):
    """A row of its own for each context, drawn when it is first asked for and kept; the same for the same seed.

    Parameters
    ----------
    vocabulary : int
        Tokens in the vocabulary.
    seed : int
        Which model.
    exact : bool
        Fractions with zeros and ties (small whole weights), or Dirichlet rows of floats.
    concentration : float
        Of the Dirichlet law, positive.

    Examples
    --------
    >>> model = Random(3, seed=1, exact=True)
    >>> sum(model.row((0, 2))), model.row((0, 2)) is model.row((0, 2))
    (Fraction(1, 1), True)
    """

    vocabulary: int
    seed: int
    exact: bool = False
    concentration: float = 1.0

    def __post_init__(self) -> None:
        parameters.check_count("vocabulary", self.vocabulary)
        parameters.check_count("seed", self.seed, 0)
        parameters.check("concentration", self.concentration, "(0, inf)")

    @property
    def size(self) -> int:
        """Tokens in the vocabulary."""
        return self.vocabulary

    @cached_property
    def _kept(self) -> dict[Context, Array]:
        return {}

    def row(self, context: Context) -> Array:
        """Give the context's row."""
        if context not in self._kept:
            rng = np.random.default_rng([self.seed, len(context), *context])
            if self.exact:
                weights = rng.integers(0, 5, self.size)
                weights[rng.integers(self.size)] += 1
                row = probs.normalise([Fraction(int(weight)) for weight in weights])
            else:
                row = rng.dirichlet(np.full(self.size, self.concentration))
            self._kept[context] = probs.check_rows(row)
        return self._kept[context]


@final
@dataclass(frozen=True, eq=False)
class Disagreeing(Model):
    """A draft at a given distance from its target: the target's row moved towards another model's, TV(p, q) the same everywhere.

    Parameters
    ----------
    target, other : Model
        Over one vocabulary.
    total_variation : float or Fraction
        TV(p, q) at every context, in [0, TV(p, other)].

    Raises
    ------
    ValueError
        When a row is asked for at which the other model is nearer than that.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> draft = Disagreeing(IID([F(1, 2), F(1, 2)]), IID([F(0), F(1)]), F(1, 4))
    >>> draft.row(())
    array([Fraction(1, 4), Fraction(3, 4)], dtype=object)
    """

    target: Model
    other: Model
    total_variation: parameters.Number

    def __post_init__(self) -> None:
        parameters.check("total_variation", self.total_variation, "[0, 1]")
        if self.target.size != self.other.size:
            raise ValueError(f"target has {self.target.size} tokens and other {self.other.size}: they must have the same")

    @property
    def size(self) -> int:
        """Tokens in the vocabulary."""
        return self.target.size

    def row(self, context: Context) -> Array:
        """Give p + (wanted / TV(p, other)) (other - p)."""
        p, other = probs.check_pair(self.target.row(context), self.other.row(context))
        distance = probs.total(np.abs(p - other)) / 2
        wanted = parameters.carry(self.total_variation, p)
        if wanted > distance:
            raise ValueError(f"total_variation = {wanted}: at context {context} the other model is only {distance} away")
        return p if wanted == 0 else np.asarray(p + wanted / distance * (other - p))

    def state(self, context: Context) -> Context:
        """Give what either model depends on: the longer of the two states, of which the other is a part."""
        return max(self.target.state(context), self.other.state(context), key=len)


@final
@dataclass(frozen=True, eq=False)
class Pair:
    """A target model and a draft model over one vocabulary.

    Parameters
    ----------
    target, draft : Model
        Both of floats, or both of Fractions.

    Examples
    --------
    >>> pair = Pair(IID([0.5, 0.5]), Markov([[0.5, 0.5], [0.25, 0.75]]))
    >>> pair.rows((1,))
    (array([0.5, 0.5]), array([0.25, 0.75]))
    """

    target: Model
    draft: Model

    def __post_init__(self) -> None:
        for name in ("target", "draft"):
            if not isinstance(getattr(self, name), Model):
                raise ValueError(f"{name} = {getattr(self, name)!r}: must be a Model, such as IID([0.5, 0.5])")
        if self.target.size != self.draft.size:
            raise ValueError(f"target has {self.target.size} tokens and draft {self.draft.size}: they must have the same")

    @property
    def size(self) -> int:
        """Tokens in the vocabulary."""
        return self.target.size

    def rows(self, context: Context) -> tuple[Array, Array]:
        """Give p and q after ``context``."""
        return probs.check_pair(self.target.row(context), self.draft.row(context))

    def state(self, context: Context) -> tuple[Context, Context]:
        """Give what both models depend on."""
        return self.target.state(context), self.draft.state(context)


def _is_token(value: Any, size: int) -> bool:
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(0 <= value < size)


def check(pair: Any, context: Any) -> Context:
    """Raise unless this is a pair and a context of its tokens; give the context as a tuple.

    Examples
    --------
    >>> check(iid([0.5, 0.5], [0.25, 0.75]), [0, 1])
    (0, 1)
    >>> check(iid([0.5, 0.5], [0.25, 0.75]), [2])
    Traceback (most recent call last):
    ValueError: context[0] = 2: tokens are in 0..1
    """
    if not isinstance(pair, Pair):
        raise ValueError(f"pair = {pair!r}: must be a Pair of models, such as theory.models.iid(p, q)")
    if isinstance(context, str) or not isinstance(context, Iterable):
        raise ValueError(f"context = {context!r}: must be a tuple of tokens, whole numbers in 0..{pair.size - 1}")
    tokens = tuple(context)
    for place, token in enumerate(tokens):
        if not _is_token(token, pair.size):
            raise ValueError(f"context[{place}] = {token!r}: tokens are in 0..{pair.size - 1}")
    return tuple(int(token) for token in tokens)


def iid(p: RowsLike, q: RowsLike) -> Pair:
    """Make the pair of i.i.d. models with rows p and q.

    Fractions are kept.

    Examples
    --------
    >>> iid([0.5, 0.5], [0.25, 0.75]).size
    2
    """
    return Pair(IID(p), IID(q))


def markov(p: RowsLike, q: RowsLike, start: Context | None = None) -> Pair:
    """Make the pair of Markov models with rows p and q, of one order, after one start.

    Fractions are kept.

    Examples
    --------
    >>> markov([[0.5, 0.5], [0.25, 0.75]], [[0.5, 0.5], [0.5, 0.5]]).size
    2
    """
    return Pair(Markov(p, start), Markov(q, start))


def random(size: int, seed: int, total_variation: parameters.Number | None = None, exact: bool = False) -> Pair:
    """Make a pair of random models; with ``total_variation`` the draft disagrees by that much at every context.

    Examples
    --------
    >>> pair = random(4, seed=0, total_variation=0.1)
    >>> p, q = pair.rows((1, 2))
    >>> round(float(abs(p - q).sum() / 2), 12)
    0.1
    """
    parameters.check_count("seed", seed, 0)
    target, other = Random(size, 2 * seed, exact), Random(size, 2 * seed + 1, exact)
    return Pair(target, other if total_variation is None else Disagreeing(target, other, total_variation))
