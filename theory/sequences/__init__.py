"""Whole texts: how far a decode of T tokens is from the target's, and how often it reaches what it should.

A *source* writes text: `Plain` samples from one model of a pair, possibly truncated; `Decoder` runs a block rule. A token-wise
decoder is a hidden chain on (state of the pair, tokens accepted so far in the block), since its bonus token comes from p and not
from the rule's law. Everything here is linear algebra on that chain, or a walk over what a reader of the text knows of it:

* KL by the chain rule, Σ_t E KL(π_t(· | text) || p_t), where π_t mixes over the *belief* on the accepted tokens given the text;
* TV from the law of (state, belief, P/Π), where that stays small;
* beyond a budget, bounds that hold with certainty, up to rounding: see `distortions`.

Where the law of the next token depends on the state alone (a lossless rule, a relaxed bonus, plain sampling) there is nothing to
believe, and KL is exact at any length. On Fractions TV, state laws and reach probabilities are exact; KL is a float.
"""

from theory.sequences.beliefs import BUDGET, DIGITS
from theory.sequences.distances import Distortion, distortion, distortions
from theory.sequences.guarantees import Guarantee, lenience_guarantee
from theory.sequences.laws import sequence_law, state_drift, state_laws
from theory.sequences.reaching import Goal, PairState, pass_at_k, reach_probability
from theory.sequences.sources import SAME, Decoder, Plain, Source

__all__ = [
    "BUDGET",
    "DIGITS",
    "SAME",
    "Decoder",
    "Distortion",
    "Goal",
    "Guarantee",
    "PairState",
    "Plain",
    "Source",
    "distortion",
    "distortions",
    "lenience_guarantee",
    "pass_at_k",
    "reach_probability",
    "sequence_law",
    "state_drift",
    "state_laws",
]
