"""The walk itself, coin by coin: a second route to the laws of a tree, not derived from them."""

from typing import NamedTuple

import numpy as np

from theory import parameters, probs
from theory.probs import Array
from theory.trees.base import CandidateRule
from theory.trees.tree import RowOf, Tree, arrive, check_walk


class Walks(NamedTuple):
    """What the literal procedure did on a tree, draw by draw."""

    length: Array
    """Accepted nodes; int, shape (size,)."""
    tokens: Array
    """Accepted tokens and the last one, then -1; int, shape (size, depth + 1)."""


def verify(rule: CandidateRule, tree: Tree, row_of: RowOf, rng: np.random.Generator, size: int) -> Walks:
    """Walk the tree by the rule's literal procedure: Monte Carlo for `length_law` and `emitted_law`.

    Parameters
    ----------
    rule, tree, row_of
        As for `length_law`; ``row_of`` is asked for the paths on which a walk arrives.
    rng : numpy.random.Generator
        The source of randomness.
    size : int
        Independent walks.

    Returns
    -------
    Walks
        ``length``, shape (size,), and ``tokens``, shape (size, depth + 1): accepted tokens, the last one, then -1.

    Examples
    --------
    >>> from theory.trees import TreeCascade
    >>> tree = Tree.from_nested({1: {}})
    >>> verify(TreeCascade(0.5), tree, lambda path: [0.0, 1.0, 0.0], np.random.default_rng(0), 2)
    Walks(length=array([1, 1]), tokens=array([[1, 1],
           [1, 1]]))
    """
    parameters.check_count("size", size)
    check_walk(rule, tree, row_of)
    parameters.check_count("size", size)
    parameters.check_generator("rng", rng)
    length, tokens = np.zeros(size, dtype=np.intp), np.full((size, tree.depth + 1), -1, dtype=np.intp)
    waiting: list[tuple[int, Array]] = [(-1, np.arange(size))]
    while waiting:
        node, here = waiting.pop()
        path, row, children, candidates = arrive(tree, node, row_of)
        chosen = rule.checked_coins(probs.as_float(row), candidates, rng, here.size)
        tokens[here, len(path)] = chosen.token
        length[here[chosen.accepted]] += 1
        for child, token in zip(children, candidates, strict=True):
            below = here[chosen.accepted & (chosen.token == token)]
            if below.size:
                waiting.append((child, below))
    return Walks(length, tokens)
