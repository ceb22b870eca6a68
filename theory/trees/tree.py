"""The tree of candidates: which tokens hang below which, and what stands at a node once the rows are known."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, final

import numpy as np

from theory import parameters
from theory.probs import Array, RowsLike
from theory.trees.base import CandidateRule, check_candidates, check_row

Path = tuple[int, ...]
"""Tokens from the context down to and with a node."""

RowOf = Callable[[Path], RowsLike]
"""The target's row below a path."""


@final
@dataclass(frozen=True)
class Tree:
    """A deterministic candidate tree: node i holds ``tokens[i]`` and hangs below node ``parents[i]``, or below the context (-1).

    Parameters
    ----------
    parents : sequence of int
        -1, or an earlier node: a parent stands before its children, so that there are no cycles.
    tokens : sequence of int
        At least 0; siblings are distinct and are tried in the order in which they stand. That they are below V is checked against
        the rows on which the tree is walked.

    Raises
    ------
    ValueError
        Naming the node, its value and what is allowed.

    Examples
    --------
    >>> tree = Tree(parents=[-1, -1, 0], tokens=[5, 7, 5])
    >>> tree.children(), tree.children(0), tree.path(2), tree.depth, len(tree)
    ((0, 1), (2,), (5, 5), 2, 3)
    >>> Tree(parents=[1, 0], tokens=[5, 7])
    Traceback (most recent call last):
    ValueError: parents[0] = 1: must be -1, for the context, or an earlier node, in -1..-1
    """

    parents: Sequence[int]
    tokens: Sequence[int]

    def __post_init__(self) -> None:
        for name in ("parents", "tokens"):
            object.__setattr__(self, name, _whole_numbers(name, getattr(self, name)))
        if len(self.parents) != len(self.tokens):
            raise ValueError(f"parents has {len(self.parents)} nodes and tokens {len(self.tokens)}: must be one of each a node")
        seen: dict[tuple[int, int], int] = {}
        for node, (parent, token) in enumerate(zip(self.parents, self.tokens, strict=True)):
            if not -1 <= parent < node:
                raise ValueError(
                    f"parents[{node}] = {parent}: must be -1, for the context, or an earlier node, in -1..{node - 1}"
                )
            if token < 0:
                raise ValueError(f"tokens[{node}] = {token}: tokens are whole numbers of at least 0")
            if (parent, token) in seen:
                raise ValueError(
                    f"tokens[{node}] = {token}, as tokens[{seen[parent, token]}] below the same parent: siblings must be distinct"
                )
            seen[parent, token] = node

    @classmethod
    def from_nested(cls, nested: Mapping[int, Any]) -> "Tree":
        """Make a tree from nested dicts, token to subtree, in their order.

        Examples
        --------
        >>> Tree.from_nested({5: {5: {}}, 7: {}})
        Tree(parents=(-1, -1, 0), tokens=(5, 7, 5))
        """
        parents: list[int] = []
        tokens: list[int] = []
        level: list[tuple[int, Mapping[int, Any]]] = [(-1, nested)]
        for parent, below in level:  # grows while it is read: breadth first
            if not isinstance(below, Mapping):
                raise ValueError(
                    f"the children of node {parent} are {below!r}: must be a dict from token to subtree, {{}} for none"
                )
            for token, subtree in below.items():
                level.append((len(tokens), subtree))
                parents.append(parent)
                tokens.append(token)
        return cls(parents, tokens)

    @classmethod
    def from_paths(cls, paths: Iterable[Sequence[int]]) -> "Tree":
        """Make the tree of all prefixes of candidate paths, siblings in order of first appearance; one path makes a chain.

        Examples
        --------
        >>> Tree.from_paths([[5, 5], [7], [5, 6]])
        Tree(parents=(-1, -1, 0, 0), tokens=(5, 7, 5, 6))
        """
        nested: dict[int, Any] = {}
        for path in paths:
            below = nested
            for token in path:
                below = below.setdefault(token, {})
        return cls.from_nested(nested)

    @cached_property
    def _children(self) -> dict[int, tuple[int, ...]]:
        below: dict[int, list[int]] = {node: [] for node in range(-1, len(self))}
        for node, parent in enumerate(self.parents):
            below[parent].append(node)
        return {node: tuple(nodes) for node, nodes in below.items()}

    @cached_property
    def _paths(self) -> dict[int, Path]:
        paths: dict[int, Path] = {-1: ()}
        for node, (parent, token) in enumerate(zip(self.parents, self.tokens, strict=True)):
            paths[node] = (*paths[parent], token)
        return paths

    def children(self, node: int = -1) -> tuple[int, ...]:
        """Give the nodes below a node, or below the context, in the order in which they are tried."""
        return self._children[node]

    def path(self, node: int = -1) -> Path:
        """Give the tokens from the context down to and with a node."""
        return self._paths[node]

    @property
    def depth(self) -> int:
        """Most nodes on a path, the most that can be accepted."""
        return max(map(len, self._paths.values()))

    def __len__(self) -> int:
        return len(self.tokens)


def _whole_numbers(name: str, values: Any) -> tuple[int, ...]:
    for place, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ValueError(f"{name}[{place}] = {value!r}: must be a whole number")
    return tuple(int(value) for value in values)


def arrive(tree: Tree, node: int, row_of: RowOf) -> tuple[Path, Array, tuple[int, ...], Array]:
    """Give what stands at a node: its path, its row, its children and their tokens, row and tokens checked."""
    path, children = tree.path(node), tree.children(node)
    row = check_row(row_of(path), f"row_of({path})")
    return path, row, children, check_candidates([tree.tokens[child] for child in children], row.size, f"the children of {path}")


def check_walk(rule: Any, tree: Any, row_of: Any) -> None:
    """Raise unless these are a rule for candidates, a tree of them, and a function from paths to rows."""
    parameters.check_kind("rule", rule, CandidateRule, "ZeroAndRenormalise()")
    parameters.check_kind("tree", tree, Tree, "Tree.from_paths([(0, 1), (2,)])")
    if not callable(row_of):
        raise ValueError(f"row_of = {row_of!r}: must be a function from a path, a tuple of tokens, to the target's row there")
