"""Where and how verifiers fail.

What one does to a pair of rows (`explain`), how that moves (`sensitivity`), and how bad it can get: `worst` over all pairs,
`worst_for` a target, derived; and `search`, which derives nothing and so can tell whether a derivation is wrong, and stands in
where there is none. `search_sizes` follows a supremum that is reached only as tokens become more.
"""

from theory.failure.atlas import plot as plot_atlas
from theory.failure.atlas import same_tv, worst_pairs
from theory.failure.derivations import derive
from theory.failure.explaining import (
    CEILING,
    REGIONS,
    TAIL,
    Explanation,
    Support,
    check_quantity,
    explain,
    explain_position,
    explain_positions,
    read_texts,
)
from theory.failure.search import Found, search, search_sizes
from theory.failure.sensitivity import PATHS, along, sensitivity
from theory.failure.suprema import QUANTITIES, Supremum, UnderivedError, Worst
from theory.failure.targets import derive_for
from theory.failure.worst import worst, worst_for

__all__ = [
    "CEILING",
    "PATHS",
    "QUANTITIES",
    "REGIONS",
    "TAIL",
    "Explanation",
    "Found",
    "Support",
    "Supremum",
    "UnderivedError",
    "Worst",
    "along",
    "check_quantity",
    "derive",
    "derive_for",
    "explain",
    "explain_position",
    "explain_positions",
    "plot_atlas",
    "read_texts",
    "same_tv",
    "search",
    "search_sizes",
    "sensitivity",
    "worst",
    "worst_for",
    "worst_pairs",
]
