"""Block verifiers: token-wise, block verification, hierarchical, greedy."""

from theory.blocks.base import BlockVerified, BlockVerifier, Draft, Outcome
from theory.blocks.catalogue import BLOCK_RULES, GROUP, parse, registered, resolve, resolve_all
from theory.blocks.greedy import GreedyBlock
from theory.blocks.joint import BlockVerification, HierarchicalVerification
from theory.blocks.tokenwise import Tokenwise

__all__ = [
    "BLOCK_RULES",
    "GROUP",
    "BlockVerification",
    "BlockVerified",
    "BlockVerifier",
    "Draft",
    "GreedyBlock",
    "HierarchicalVerification",
    "Outcome",
    "Tokenwise",
    "parse",
    "registered",
    "resolve",
    "resolve_all",
]
