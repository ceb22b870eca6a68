"""Where the mass went: what one verifier does to one pair of rows, by region, by token, and against which baseline.

The paper sorts tokens by how far the draft overshoots the target, with a ceiling c, 1/l for lenience:

============== ================ ====================================================
region         tokens           what happens there
============== ================ ====================================================
underestimated q <= p           strict verification accepts all drafts, and replaces
moderate       p < q <= c p     what a lossy rule with a ceiling lets through
severe         q > c p          what the ceiling cuts off; all tokens with p = 0 < q
============== ================ ====================================================

Rules that are measured against another law than the target, the truncation-based ones and greedy matching, split each region
into what that law *keeps* (its support, the allowed set A) and *discards*.

Mass gained, Σ (π - p)+, and lost, Σ (p - π)+, each sum to TV(π, p) over the regions, on Fractions exactly.
"""

from theory.failure.explaining.explanation import Explanation, Support
from theory.failure.explaining.pair import CEILING, REGIONS, SHARE, explain
from theory.failure.explaining.positions import DECIMALS, check_quantity, explain_position, explain_positions
from theory.failure.explaining.texts import TAIL, Texts, read_texts

__all__ = [
    "CEILING",
    "DECIMALS",
    "REGIONS",
    "SHARE",
    "TAIL",
    "Explanation",
    "Support",
    "Texts",
    "check_quantity",
    "explain",
    "explain_position",
    "explain_positions",
    "read_texts",
]
