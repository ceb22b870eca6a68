"""Block verifiers: token-wise, block verification, hierarchical, greedy; and the statistics of accept counts."""

from theory.blocks import statistics
from theory.blocks.base import BlockVerified, BlockVerifier, Draft, Outcome
from theory.blocks.catalogue import BLOCK_RULES, parse, resolve, resolve_all
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
    "resolve",
    "resolve_all",
    "statistics",
]
