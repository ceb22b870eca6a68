"""Rules of candidate trees in plain Python, coins flipped and trees walked by hand; and the rules and cases on which they run."""

import itertools
import math
import random
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import strategies as st

import theory
from tests import oracles
from theory import testing
from theory.trees import SummedThreshold, TreeCascade, TreeTypical, TruncateFirst, ZeroAndRenormalise
from theory.truncation import Eta, MinP, TopK

RATIONAL = [
    ZeroAndRenormalise(),
    ZeroAndRenormalise(F(1, 2)),
    ZeroAndRenormalise(F(1, 100)),
    TreeCascade(F(1, 2)),
    TreeCascade(F(1, 2), coded=True),
    TreeCascade(F(9, 10), coded=True),
    TreeCascade(1),
    TreeCascade(0),
    SummedThreshold(),
    SummedThreshold(F(1, 2)),
    SummedThreshold(F(3, 4), F(3, 10)),
    SummedThreshold(1, F(1, 5)),
    SummedThreshold(1, 0),
    TruncateFirst(MinP(F(1, 2))),
    TruncateFirst(TopK(2), ZeroAndRenormalise(F(3, 5))),
    TruncateFirst(Eta(F(1, 4)), SummedThreshold()),
]
"""Rational on every row."""

TYPICAL = [
    TreeTypical(F(1, 4)),
    TreeTypical(F(1, 4), coded=True),
    TreeTypical(F(9, 10), 1),
    TreeTypical(F(9, 10), 1, coded=True),
    TreeTypical(F(1, 2), F(3, 2)),
    TreeTypical(F(1, 2), F(3, 2), coded=True),
    TruncateFirst(Eta(F(1, 4)), TreeTypical(F(1, 4), coded=True)),
]
"""Rational on some."""

ALL = [*RATIONAL, *TYPICAL]
exactly = pytest.mark.parametrize("rule", RATIONAL, ids=repr)
everywhere = pytest.mark.parametrize("rule", ALL, ids=repr)


def nodes(max_size=5, rows=testing.rational_rows):
    """A row and distinct candidates, from none to the whole vocabulary, in any order."""
    return st.integers(1, max_size).flatmap(
        lambda size: st.tuples(
            rows(size),
            st.tuples(st.permutations(range(size)), st.integers(0, size)).map(lambda drawn: list(drawn[0][: drawn[1]])),
        )
    )


def exact(*values):
    return np.array([F(value) for value in values], dtype=object)


def entropy(row):
    return -sum(float(x) * math.log(x) for x in row if x > 0)


def truncated(row, truncation):
    return oracles.renormalised([x if a else 0 * x for x, a in zip(row, truncation.allowed(row), strict=True)])


def typical_chance(rule):
    delta = math.sqrt(rule.epsilon) if rule.delta is None else float(rule.delta)

    def chance(row, c):
        threshold = min(float(rule.epsilon), delta * math.exp(-entropy(row)))
        return min(1.0, float(row[c]) / threshold) if float(row[c]) < threshold * (1 - 1e-12) else 1

    return chance


def min_p_chance(rule):
    return lambda row, c: int(row[c] > 0 and row[c] >= rule.p_base * max(row))


def coins(row, candidates, chance, zero, last):
    """EAGLE's loop, both sides of each coin: law of (accepted, token)."""
    row, alive, law = list(row), 1, {}
    for c in candidates:
        accept = chance(row, c)
        law[True, c] = alive * accept
        alive *= 1 - accept
        if alive == 0:
            return law
        if zero:
            row[c] = 0
            row = oracles.renormalised(row)
    for token, mass in enumerate(row if last is None else last):
        law[False, token] = alive * mass
    return law


def one_coin(row, candidates, rule):
    """SGLang's loop: run it for one coin out of each interval on which nothing changes."""
    sums = list(itertools.accumulate((row[c] for c in candidates), initial=0 * row[0]))
    cuts = sorted({0, 1, *(min(1, s / rule.threshold_acc) for s in sums)})
    law = {}
    for low, high in itertools.pairwise(cuts):
        coin, accepted = (low + high) / 2, None
        for c, s in zip(candidates, sums[1:], strict=True):
            if coin < s / rule.threshold_acc or row[c] >= rule.threshold_single:
                accepted = c
                break
        if accepted is not None:
            law[True, accepted] = law.get((True, accepted), 0) + high - low
            continue
        for token, mass in enumerate(oracles.renormalised([0 if t in candidates else x for t, x in enumerate(row)])):
            law[False, token] = law.get((False, token), 0) + (high - low) * mass
    return law


def flipped(rule, row, candidates):
    """Law of (accepted, token) at one node, by hand."""
    match rule:
        case TruncateFirst():
            return flipped(rule.rule, truncated(row, rule.truncation), candidates)
        case ZeroAndRenormalise():
            return coins(row, candidates, lambda rest, c: min(1, rest[c] / rule.lenience), True, None)
        case SummedThreshold():
            return one_coin(row, candidates, rule)
        case TreeCascade(coded=True):
            return coins(row, candidates, min_p_chance(rule), True, None)
        case TreeCascade():
            return coins(row, candidates, min_p_chance(rule), False, truncated(row, rule.gate()))
        case TreeTypical(coded=True):
            return coins(row, candidates, typical_chance(rule), True, None)
        case TreeTypical():
            return coins(truncated(row, rule.gate()), candidates, typical_chance(rule), False, None)


def branches(rule, row, candidates):
    """The same from the rule."""
    law = rule.outcomes(row, candidates)
    taken = {(True, c): a for c, a in zip(candidates, law.acceptance, strict=True)}
    return taken | {(False, token): law.rejected * r for token, r in enumerate(law.replacement)}


def nonzero(law):
    return {key: mass for key, mass in law.items() if mass}


def outputs(rule, nested, row_of, path=()):
    """Law of what one verification of a nested tree emits, by hand."""
    law = {}
    for (accepted, token), mass in nonzero(flipped(rule, row_of(path), list(nested))).items():
        if not accepted:
            law[*path, token] = mass
            continue
        for output, below in outputs(rule, nested[token], row_of, (*path, token)).items():
            law[output] = mass * below
    return law


def completed(law, row_of, n):
    """The first n tokens of outputs, short ones completed by the target."""
    result = {}
    for output, mass in law.items():
        for rest in itertools.product(range(len(row_of(()))), repeat=max(0, n - len(output))):
            sequence, chance = output, mass
            for token in rest:
                chance *= row_of(sequence)[token]
                sequence = (*sequence, token)
            result[sequence[:n]] = result.get(sequence[:n], 0) + chance
    return nonzero(result)


def random_case(seed):
    """A nested tree of depth at most 2 and rows with zeros and ties for each path, two or three tokens; all from the seed."""
    dice = random.Random(seed)
    size = dice.choice([2, 3])

    def grow(depth):
        return {c: grow(depth - 1) for c in dice.sample(range(size), dice.randint(0, size))} if depth else {}

    def row_of(path):
        weights = random.Random(repr((seed, path))).choices([0, 1, 1, 2, 3], k=size)
        return theory.normalise(exact(*(weights if any(weights) else [1] * size)))

    return grow(2), row_of


cases_of_seeds = st.integers(0, 10**6).map(random_case)
