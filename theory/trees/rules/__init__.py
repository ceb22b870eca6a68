"""The rules for the children of one node, one family a file."""

from theory.trees.rules.cascade import TreeCascade
from theory.trees.rules.summed_threshold import SummedThreshold
from theory.trees.rules.truncate_first import TruncateFirst
from theory.trees.rules.typical import TreeTypical
from theory.trees.rules.zero_and_renormalise import ZeroAndRenormalise

__all__ = ["SummedThreshold", "TreeCascade", "TreeTypical", "TruncateFirst", "ZeroAndRenormalise"]
