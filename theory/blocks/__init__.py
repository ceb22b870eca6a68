"""Block verifiers: token-wise, block verification, hierarchical, greedy; and trees."""

from theory import shortnames, verifiers
from theory.blocks import tree
from theory.blocks.base import BlockVerified, BlockVerifier, Draft, Outcome
from theory.blocks.greedy import GreedyBlock
from theory.blocks.joint import BlockVerification, HierarchicalVerification
from theory.blocks.tokenwise import Tokenwise

__all__ = [
    "BLOCK_RULES",
    "BlockVerification",
    "BlockVerified",
    "BlockVerifier",
    "Draft",
    "GreedyBlock",
    "HierarchicalVerification",
    "Outcome",
    "Tokenwise",
    "parse",
    "tree",
]

BLOCK_RULES: dict[str, type[BlockVerifier]] = {
    rule.name: rule for rule in (Tokenwise, BlockVerification, HierarchicalVerification, GreedyBlock)
}
"""Short name to block rule, in the order in which they are listed."""


def parse(text: str) -> BlockVerifier:
    """Make a block verifier from its short name; a token rule's name stands for that rule token by token.

    Parameters
    ----------
    text : str
        ``block``, ``hierarchical``, ``greedy-block``, or a token rule such as ``lenience:0.4``, with or without
        ``tokenwise:`` before it; ``,bonus=relaxed`` behind it draws the bonus from the rule's own law.

    Raises
    ------
    ValueError
        For a name that does not exist; the message lists those that do.

    Examples
    --------
    >>> parse("block"), parse("lenience:0.4,bonus=relaxed")
    (BlockVerification(), Tokenwise(verifier=Lenience(lenience=0.4), bonus='relaxed'))
    """
    name = text.strip().partition(":")[0]
    if name in BLOCK_RULES and name != Tokenwise.name:
        return shortnames.build(text, BLOCK_RULES, "block verifier")  # type: ignore[no-any-return]
    inner, bonus, which = text.strip().removeprefix(f"{Tokenwise.name}:").partition(",bonus=")
    if inner.partition(":")[0] not in verifiers.RULES:
        known = ", ".join(sorted([*BLOCK_RULES, *verifiers.RULES]))
        raise ValueError(f"no block verifier or token verifier is called {name!r}; there are: {known}")
    return Tokenwise(verifiers.parse(inner), which if bonus else "target")
