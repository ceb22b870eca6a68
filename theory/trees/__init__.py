"""Verification over a deterministic candidate tree, as EAGLE and SGLang do: one rule at a node, its laws over a tree.

The children of a node are fixed tokens c₁, c₂, ... (in the language of drafts: q is a point mass on each in turn), tried in
their order. A rule accepts one of them, and the walk goes on below it, or none, and then emits one last token. At a leaf there is
nothing to try, and the last token is the *bonus*. The accepted length L counts accepted nodes; the last token is not in it.

========================== =========================================== ============================= ====================
rule                       chance of child c once it is tried          last token                    who
========================== =========================================== ============================= ====================
`ZeroAndRenormalise`       min(1, p̃(c)/ℓ)                              p̃                             EAGLE; lossless at ℓ = 1
`TreeCascade`              1 on A                                      p_Θ                           the paper, Eq. 27
... ``coded=True``         1 on A                                      p̃                             its code
`TreeTypical`              min(1, p_Θ(c)/τ(p_Θ))                       p_Θ                           the paper, Eq. 28
... ``coded=True``         min(1, p̃(c)/τ(p̃))                           p̃                             its code
`SummedThreshold`          one coin u for all: u < Σ p(c_i)/τ_acc,     p̃                             SGLang; lossless at 1
                           or p(c) >= τ_single
`TruncateFirst`            of any of these, with p_Θ in the place of p likewise                      the paper, Eq. 26
========================== =========================================== ============================= ====================

Here p̃ is p with the children rejected so far set to 0, renormalised, and p_Θ = p 1_A / p(A) the truncated target.
"""

from theory.trees.base import CandidateRule, Chosen, NodeLaw
from theory.trees.laws import BUDGET, block_efficiency, emitted_law, length_law
from theory.trees.lemma2 import kl_deterministic, kl_single_draft
from theory.trees.rules import SummedThreshold, TreeCascade, TreeTypical, TruncateFirst, ZeroAndRenormalise
from theory.trees.tree import Tree
from theory.trees.walk import Walks, verify
from theory.verifiers.checks import believe

__all__ = [
    "BUDGET",
    "CandidateRule",
    "Chosen",
    "NodeLaw",
    "SummedThreshold",
    "Tree",
    "TreeCascade",
    "TreeTypical",
    "TruncateFirst",
    "Walks",
    "ZeroAndRenormalise",
    "block_efficiency",
    "emitted_law",
    "kl_deterministic",
    "kl_single_draft",
    "length_law",
    "verify",
]

believe(SummedThreshold, TreeCascade, TreeTypical, TruncateFirst, ZeroAndRenormalise)  # the tests look at them
