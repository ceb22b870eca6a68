"""Monte Carlo estimates of what `theory.exact` computes, by running the procedures and never their closed forms.

Each function takes the number of draws and a generator, and returns an `Estimate`.
"""

from theory.monte_carlo.blocks import Decoded, accepted_length, block_efficiency, decode, induced_sequence, length_pmf
from theory.monte_carlo.estimate import Estimate
from theory.monte_carlo.tokens import acceptance_rate, induced, total_variation

__all__ = [
    "Decoded",
    "Estimate",
    "acceptance_rate",
    "accepted_length",
    "block_efficiency",
    "decode",
    "induced",
    "induced_sequence",
    "length_pmf",
    "total_variation",
]
