"""Bounds on the distortion of a text that need no beliefs: from the hidden law alone, at any length."""

import math
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from theory.decode.chain import HiddenChain
from theory.probs import Array
from theory.sequences.hidden import start, step

BOUNDS = ("tv_states", "tv_sum", "tv_product", "tv_coupling", "tv_ceiling", "kl_ceiling")
"""The columns that `bounds_of_texts` gives."""


def bounds_of_texts(chain: HiddenChain, rows: Array, length: int) -> Iterator[tuple[Any, ...]]:
    """Give the columns `BOUNDS` for each number of tokens."""
    laws = chain.tokens
    beside = np.broadcast_to(rows[:, None], laws.shape)
    apart = np.abs(laws - beside).sum(axis=-1) / 2
    over = _ratio(laws, beside, np.inf).max(axis=-1)
    shared = _ratio(np.minimum(laws, beside), laws, 0)
    coupled = replace(chain, accepted=chain.accepted * shared, ended=chain.ended * shared)
    target = HiddenChain(chain.states, 0, 0 * rows[:, None], rows[:, None])
    law, together, other = start(chain), start(chain), start(target)
    one = law[0, 0]
    drift, added, kept, under, ceiling = 0 * one, 0 * one, one, one, 0.0
    for _ in range(length):
        some = law > 0
        added = added + (law * apart).sum()
        kept = kept * (1 - apart[some].max())
        most = max(over[some].max(), one)
        under, ceiling = (0 * one if most == np.inf else under / most), ceiling + _log(most)
        law, together, other = step(chain, law), step(coupled, together), step(target, other)
        drift = max(drift, np.abs(law.sum(axis=1) - other[:, 0]).sum() / 2)
        yield drift, added, 1 - kept, 1 - together.sum(), 1 - under, ceiling


def _log(value: Any) -> float:
    """Natural logarithm, of a Fraction also where it or its parts are beyond the range of floats."""
    if isinstance(value, Fraction):
        return math.log(value.numerator) - math.log(value.denominator)
    return float(np.log(value))


def _ratio(above: Array, below: Array, otherwise: Any) -> Array:
    """Give above/below; 0/0 is 0, and what is above 0 without anything below it is ``otherwise``."""
    some = below > 0
    with np.errstate(over="ignore"):
        return np.asarray(np.where(some, above / np.where(some, below, 1), np.where(above > 0, otherwise, 0 * above)))
