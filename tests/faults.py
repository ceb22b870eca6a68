"""Block rules that were published or are easily written, and are not lossless: what every test of losslessness must catch."""

from dataclasses import dataclass

import numpy as np

from theory import probs
from theory.blocks import BlockVerifier, Draft, Outcome


def ratios(draft: Draft):
    rows, drafts, tokens = draft.path()
    return rows, drafts, [p[x] / q[x] if q[x] > 0 else p[x] ** 0 for p, q, x in zip(rows, drafts, tokens, strict=False)]


def scan(rows, drafts, weights, last, residual_weights=None):
    """Keep the longest prefix whose coin succeeds: h = gain / max(gain, loss), Σ (w p - q)+ and Σ (q - w p)+; then ``last``."""
    gamma, one = len(weights), rows[0].sum() ** 0
    coins, laws = [one], []
    for k in range(gamma):
        gain, loss = probs.excess(weights[k] * rows[k], drafts[k]), probs.excess(drafts[k], weights[k] * rows[k])
        if k:
            whole = max(gain.sum(), loss.sum())
            coins.append(gain.sum() / whole if whole else one)
        scale = weights[k] if residual_weights is None else residual_weights[k]
        laws.append(probs.share_out(probs.excess(scale * rows[k], drafts[k]), rows[k]))
    coins.append(last)
    laws.append(rows[-1])
    branches, later = [], one
    for k in range(gamma, -1, -1):
        branches.append(Outcome(later * coins[k], k, laws[k]))
        later = later * (1 - coins[k])
    return tuple(branches)


def capped(factors):
    """Weights of block verification: the running product, capped at 1 after each token."""
    weights = [factors[0] ** 0]
    for factor in factors:
        weights.append(min(weights[-1] * factor, weights[0]))
    return weights


@dataclass(frozen=True)
class UncappedLast(BlockVerifier):
    """HSD's Listing 2: the joint ratio is capped on the way, but not where the whole path is judged."""

    def outcomes(self, draft):
        rows, drafts, factors = ratios(draft)
        return scan(rows, drafts, capped(factors)[:-1], min(np.prod(factors), factors[0] ** 0))


@dataclass(frozen=True)
class OwnRatioCap(BlockVerifier):
    """HSD's "fast" cap: each prefix is capped by its own joint ratio only, not by the largest so far."""

    def outcomes(self, draft):
        rows, drafts, factors = ratios(draft)
        one = factors[0] ** 0
        joint = [one]
        for factor in factors:
            joint.append(joint[-1] * factor)
        weights = [min(ratio, one) for ratio in joint]
        return scan(rows, drafts, weights[:-1], min(weights[-2] * factors[-1], one))


@dataclass(frozen=True)
class CapOnlyWhenExceeded(BlockVerifier):
    """A released script of HSD: the capped joint probability is assigned under the ``if``, so that it stays 1 elsewhere."""

    def outcomes(self, draft):
        rows, drafts, factors = ratios(draft)
        one = factors[0] ** 0
        joint, drafted, largest, weights = one, one, one, []
        for factor, q, token in zip(factors, drafts, draft.tokens, strict=False):
            capped_joint = one
            if joint > largest:
                largest = joint
                capped_joint = joint * drafted / largest
            weights.append(capped_joint / drafted)
            joint, drafted = joint * factor, drafted * q[token]
        return scan(rows, drafts, weights, min(joint, one))


@dataclass(frozen=True)
class TokenwiseResidual(BlockVerifier):
    """Block verification's coins, but the replacement from norm((p - q)+): every first-token test passes."""

    def outcomes(self, draft):
        rows, drafts, factors = ratios(draft)
        weights = capped(factors)
        return scan(rows, drafts, weights[:-1], weights[-1], [factors[0] ** 0] * draft.gamma)


@dataclass(frozen=True)
class LongestPrefix(BlockVerifier):
    """Keep the longest prefix with u <= w_i, the joint ratio itself as the coin; replace from norm((p - q)+)."""

    def outcomes(self, draft):
        rows, drafts, factors = ratios(draft)
        weights = capped(factors)
        laws = [probs.share_out(probs.excess(p, q), p) for p, q in zip(rows, drafts, strict=False)][: draft.gamma]
        laws.append(rows[-1])
        branches, later = [], weights[0]
        for k in range(draft.gamma, -1, -1):
            branches.append(Outcome(later * weights[k], k, laws[k]))
            later = later * (1 - weights[k])
        return tuple(branches)


@dataclass(frozen=True)
class AnyAccepted(BlockVerifier):
    """Token-wise coins, but tokens after a rejection count too: flags (1, 0, 1) taken for two accepted tokens."""

    def outcomes(self, draft):
        rows, drafts, factors = ratios(draft)
        one = factors[0] ** 0
        chances = [min(factor, one) for factor in factors]
        law = [one]
        for chance in chances:
            law = [a + b for a, b in zip([x * (1 - chance) for x in law] + [0], [0] + [x * chance for x in law], strict=True)]
        ends = [probs.share_out(probs.excess(rows[k], drafts[k]), rows[k]) for k in range(draft.gamma)] + [rows[-1]]
        return tuple(Outcome(probability, kept, ends[kept]) for kept, probability in enumerate(law))


FAULTS = [UncappedLast(), OwnRatioCap(), CapOnlyWhenExceeded(), TokenwiseResidual(), LongestPrefix(), AnyAccepted()]
