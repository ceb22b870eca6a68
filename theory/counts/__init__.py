"""Logged counts: what engines write down of acceptance, and the statistics that people argue about, each under one convention.

A *step* is one target call: ``drafted`` tokens were proposed, the first ``accepted`` of them kept, and ``emitted`` tokens
came out.

Which constructor for which log
-------------------------------
=================================================================== =============================== =================
what the log holds                                                  constructor                     gives
=================================================================== =============================== =================
a line a step: accepted, drafted, and perhaps the request            `Counts.of`, `read` for a file  all
verdicts: rows of 0 and 1, one a step                                `Counts.from_flags`, `read`     all
how many steps kept 0, 1, ..., γ tokens                              `Counts.from_histogram`         all but requests
how many steps accepted position 1, ..., γ, and how many there were  `Counts.from_positions`         all but requests
totals: drafts, drafted tokens, accepted tokens                      `Counts.from_totals`            no positions
one mean length, with or without the bonus token                     `Counts.from_mean_length`       no positions
=================================================================== =============================== =================

In vLLM's metrics ``num_drafts``, ``num_draft_tokens`` and ``num_accepted_tokens`` are totals, and
``num_accepted_tokens_per_pos`` with ``num_drafts`` is for `Counts.from_positions`. What is given to the wrong one is
refused: 289 tokens drafted in one step are a total, counts by position that rise are those of conditional rates, and where
more tokens are accepted than drafted there are bonus tokens among them.

Where to go from there: `estimates`, `position_intervals` and `interval` for numbers with confidence intervals; `summary` and
`position_rates` for exact ones without; `constant_rate` and `possible_rates` for what a mean says about rates; `predict` for
another γ, and `backtest` for how far such predictions are off.

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
* **Independent** are requests, not the steps of one: an interval over requests is right where there are many, and one over steps
  is too narrow where requests differ. Each interval says in ``how`` which it is.

What is a ratio of whole numbers comes as a `fractions.Fraction`, exact; ``float(...)`` rounds, and
``table.astype({"conditional": float})`` a column. Ends of intervals, and what solves an equation, are floats.
"""

from theory.counts.backtesting import backtest
from theory.counts.convert import (
    conditional_from_unconditional,
    tokens_per_call_from_conditional,
    tokens_per_call_from_unconditional,
    tokens_per_call_over_contexts,
    unconditional_from_conditional,
)
from theory.counts.lengths import constant_rate, possible_rates
from theory.counts.positions import conditional_rates, position_rates, unconditional_rates
from theory.counts.prediction import MODELS, predict
from theory.counts.rates import (
    acceptance_rate,
    block_efficiency,
    conditional_acceptance_rate,
    mean_accepted,
    per_request_mean,
    summary,
)
from theory.counts.reading import COLUMNS, read
from theory.counts.steps import Counts
from theory.counts.totals import MeanLength, NotKnownError, Totals
from theory.counts.uncertain import estimates, interval, position_intervals

__all__ = [
    "COLUMNS",
    "MODELS",
    "Counts",
    "MeanLength",
    "NotKnownError",
    "Totals",
    "acceptance_rate",
    "backtest",
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
    "read",
    "summary",
    "tokens_per_call_from_conditional",
    "tokens_per_call_from_unconditional",
    "tokens_per_call_over_contexts",
    "unconditional_from_conditional",
    "unconditional_rates",
]
