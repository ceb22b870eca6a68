"""Statistics that people argue about: acceptance and tokens per call from observed counts, each under one convention.

A *step* is one target call: ``drafted`` tokens were proposed, the first ``accepted`` of them kept, and ``emitted`` tokens
came out.

The conventions, decided here once
----------------------------------
* **Accepted** is a prefix: flags (1, 0, 1) count 1, since a token after a rejection is thrown away whatever its flag says.
* **The bonus or replacement token** of a step was not proposed. It counts in ``emitted``, never in ``accepted``.
* **Proposed** is all that was drafted, also what lies behind a rejection and was never judged.
* **A stop** (end token, length limit) inside a block truncates ``emitted``. The verifier's ``accepted`` stays as it was.
* **Censored** is a step that ended because the text did, with the verdict at position ``accepted + 1`` unseen. That is not a
  rejection: the step leaves the denominator of the conditional rate there. A step that kept all its drafts has no next verdict,
  so that the flag changes no rate.
* **Pooled** weighs steps equally, hence long requests more; `per_request_mean` weighs requests equally.

All results are ratios of whole numbers, so they come as `fractions.Fraction`, exact; ``float(...)`` rounds, and
``table.astype({"conditional": float})`` a column.
"""

from theory.counts.convert import (
    conditional_from_unconditional,
    tokens_per_call_from_conditional,
    tokens_per_call_from_unconditional,
    tokens_per_call_over_contexts,
    unconditional_from_conditional,
)
from theory.counts.lengths import constant_rate, possible_rates
from theory.counts.positions import conditional_rates, position_rates, unconditional_rates
from theory.counts.predict import MODELS, predict
from theory.counts.rates import (
    acceptance_rate,
    block_efficiency,
    conditional_acceptance_rate,
    mean_accepted,
    per_request_mean,
    summary,
)
from theory.counts.steps import Counts
from theory.counts.totals import MeanLength, Totals
from theory.counts.uncertain import estimates, interval, position_intervals

__all__ = [
    "MODELS",
    "Counts",
    "MeanLength",
    "Totals",
    "acceptance_rate",
    "block_efficiency",
    "conditional_acceptance_rate",
    "conditional_from_unconditional",
    "conditional_rates",
    "constant_rate",
    "estimates",
    "interval",
    "mean_accepted",
    "per_request_mean",
    "position_intervals",
    "position_rates",
    "possible_rates",
    "predict",
    "summary",
    "tokens_per_call_from_conditional",
    "tokens_per_call_from_unconditional",
    "tokens_per_call_over_contexts",
    "unconditional_from_conditional",
    "unconditional_rates",
]
