"""The exact laws of a walk over a tree: of the accepted length, and of the tokens that one verification emits."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from theory import parameters, probs
from theory.probs import Array
from theory.trees.base import CandidateRule, check_row
from theory.trees.tree import Path, RowOf, Tree, arrive, check_walk

BUDGET = 1 << 20
"""Most sequences that `emitted_law` holds at once."""


def length_law(rule: CandidateRule, tree: Tree, row_of: RowOf) -> Array:
    """Give the exact law of the accepted length L: accepted nodes, without the last token.

    Parameters
    ----------
    rule : CandidateRule
        What verifies at each node.
    tree : Tree
        The candidates.
    row_of : callable
        Maps a path of tokens after the context, a tuple, to the target's row there, shape (V,). Asked only for paths that have
        positive probability.

    Returns
    -------
    ndarray, shape (depth + 1,)
        P(L = 0), ..., P(L = depth), in the arithmetic of the rows.

    Notes
    -----
    For a lossless rule, P(the walk passes node v) is the target's probability of the path to v, so that E[L] sums the target's
    probabilities of all nodes (the paper's Corollary 1; Sequoia, arXiv 2402.12374, Prop. 3.4). Cost: one row a node.

    Examples
    --------
    >>> from theory.trees import ZeroAndRenormalise
    >>> tree = Tree.from_nested({0: {0: {}}, 1: {}})
    >>> length_law(ZeroAndRenormalise(), tree, lambda path: [0.5, 0.25, 0.25])
    array([0.25, 0.5 , 0.25])
    """
    check_walk(rule, tree, row_of)
    law: list[Any] = [0] * (tree.depth + 1)
    for stop in _stops(rule, tree, row_of):
        law[len(stop.path)] += stop.mass
    return _as_array(law, row_of)


def _as_array(law: list[Any], row_of: RowOf) -> Array:
    zero = 0 * probs.check_rows(row_of(()))[:1]
    return np.array([zero[0] + mass for mass in law], dtype=zero.dtype)


def block_efficiency(rule: CandidateRule, tree: Tree, row_of: RowOf) -> Any:
    """Give E[L] + 1, the expected tokens a call of the target, the last token with them.

    Parameters
    ----------
    rule, tree, row_of
        As for `length_law`.

    Returns
    -------
    float or Fraction
        Tokens per target call, in [1, depth + 1]. The paper's EAGLE tables leave the last token out.

    Notes
    -----
    The paper's Proposition 2, that the lossy rule's is at least the baseline's, follows from Lemma 3 along chains, and where rows
    and candidates depend on the depth only. On trees in general it fails: `TreeCascade` always takes the first child in A, even
    where a later one leads further. The baseline then has the longer walk:

    Examples
    --------
    >>> from theory.trees import TreeCascade, TruncateFirst
    >>> from theory.truncation import MinP
    >>> row_of = lambda path: [0.5, 0.5] if len(path) == 0 else [0.0, 1.0]
    >>> tree = Tree.from_nested({0: {}, 1: {1: {1: {}}}})
    >>> block_efficiency(TruncateFirst(MinP(0.5)), tree, row_of), block_efficiency(TreeCascade(0.5), tree, row_of)
    (np.float64(3.0), np.float64(2.0))
    """
    law = length_law(rule, tree, row_of)
    return (law * np.arange(law.size)).sum() + 1


class _Stop(NamedTuple):
    path: Path
    mass: Any
    replacement: Array


def _stops(rule: CandidateRule, tree: Tree, row_of: RowOf) -> Iterator[_Stop]:
    """Walk the tree: where the walk can end, with which probability, and the law of the last token there."""
    check_walk(rule, tree, row_of)
    waiting: list[tuple[int, Any]] = [(-1, 1)]
    while waiting:
        node, mass = waiting.pop()
        path, row, children, tokens = arrive(tree, node, row_of)
        law = rule.checked_law_at(row, tokens)
        if mass * law.rejected:
            yield _Stop(path, mass * law.rejected, law.replacement)
        waiting += [(child, mass * chance) for child, chance in zip(children, law.acceptance, strict=True) if mass * chance]


def emitted_law(rule: CandidateRule, tree: Tree, row_of: RowOf, n: int) -> dict[Path, Any]:
    """Give the exact law of the first n tokens: what one verification emits, completed by the target where that is shorter.

    Parameters
    ----------
    rule, tree
        As for `length_law`.
    row_of : callable
        As for `length_law`; also asked for the paths by which outputs are completed, up to n - 1 tokens long.
    n : int
        At least 1. Of longer outputs the first n tokens count.

    Returns
    -------
    dict of tuple to probability
        In rising order of the tuples; those of probability 0 are left out.

    Raises
    ------
    ValueError
        Where more than `BUDGET` sequences would be held; `verify` draws them instead.

    Notes
    -----
    A lossless rule gives the target's joint law of n tokens. That of the truncated target comes from truncated rows in ``row_of``
    and the rule alone, since `TruncateFirst` leaves the completion to the full rows.

    Examples
    --------
    >>> from theory.trees import ZeroAndRenormalise
    >>> tree = Tree.from_nested({0: {0: {}}, 1: {}})
    >>> emitted_law(ZeroAndRenormalise(), tree, lambda path: [0.5, 0.5], 2)
    {(0, 0): np.float64(0.25), (0, 1): np.float64(0.25), (1, 0): np.float64(0.25), (1, 1): np.float64(0.25)}
    """
    parameters.check_count("n", n)
    by_length: list[dict[Path, Any]] = [{} for _ in range(n + 1)]
    for stop in _stops(rule, tree, row_of):
        _spread(by_length, n, stop.path, stop.mass, stop.replacement)
    for short in by_length[1:n]:
        for path, mass in short.items():
            _spread(by_length, n, path, mass, check_row(row_of(path), f"row_of({path})"))
    return dict(sorted(by_length[n].items()))


def _spread(by_length: list[dict[Path, Any]], n: int, path: Path, mass: Any, row: Array) -> None:
    """Add one token by ``row`` to ``path``, and file the first n tokens of the results by their length."""
    if len(path) >= n:
        known = by_length[n]
        known[path[:n]] = known.get(path[:n], 0) + mass
        return
    known = by_length[len(path) + 1]
    for token in np.flatnonzero(row):
        longer = (*path, int(token))
        known[longer] = known.get(longer, 0) + mass * row[token]
    if len(known) > BUDGET:
        raise ValueError(f"n = {n}: more than {BUDGET} sequences of {len(path) + 1} tokens; theory.trees.verify draws them")
