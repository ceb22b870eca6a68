"""Joint verification of a path: block verification and hierarchical speculative decoding, which are one rule twice.

Both walk along the path with a weight w in [0, 1], the joint ratio of target to draft, capped, and keep the longest prefix
whose coin falls below h. They are written here each from its own paper's formulas; the tests assert that all branches agree.
"""

import abc
from dataclasses import dataclass
from typing import Any, ClassVar, final

import numpy as np

from theory import probs
from theory.blocks.base import BlockVerified, BlockVerifier, Draft, Outcome, possible
from theory.blocks.excess import ScaledExcess
from theory.blocks.tokenwise import groups
from theory.probs import Array


class _Joint(BlockVerifier):
    """Coins h at each prefix, the longest accepted prefix wins; replacement from norm((w p - q)+), bonus from p."""

    claim: ClassVar[str] = "always"

    @property
    def lossless(self) -> bool:
        """Always."""
        return True

    @abc.abstractmethod
    def weights(self, ratios: Array) -> Array:
        """Give the capped joint ratio w after 0..gamma tokens from the ratios p/q of single tokens, shape (..., gamma)."""

    @abc.abstractmethod
    def coin(self, weight: Any, gain: Any, loss: Any) -> Any:
        """Give h after a prefix from w, Σ (w p - q)+ and Σ (q - w p)+."""

    def outcomes(self, draft: Draft) -> tuple[Outcome, ...]:
        """Give P(τ = k) = h_k Π_{i > k} (1 - h_i) and norm((w_k p - q)+)."""
        rows, drafts, tokens = draft.path()
        pairs = zip(rows, drafts, tokens, strict=False)
        ratios = np.array([p[x] / q[x] if q[x] > 0 else p[x] ** 0 for p, q, x in pairs], dtype=rows[0].dtype)
        weight = self.weights(ratios)
        coins, laws = [weight[0] ** 0], []
        for k in range(draft.gamma):
            scaled = weight[k] * rows[k]
            gain, loss = probs.excess(scaled, drafts[k]), probs.excess(drafts[k], scaled)
            if k:
                coins.append(self.coin(weight[k], gain.sum(), loss.sum()))
            laws.append(probs.share_out(gain, rows[k]))
        coins.append(weight[-1])
        laws.append(rows[-1])
        branches, later = [], weight[0] ** 0
        for k in range(draft.gamma, -1, -1):
            branches.append(Outcome(later * coins[k], k, laws[k]))
            later = later * (1 - coins[k])
        return possible(branches[::-1])

    def verify(self, draft: Draft, rng: np.random.Generator) -> BlockVerified:
        """Toss a coin at each prefix of each path; keep the longest that succeeds; resample, or draw the bonus."""
        p, q = probs.as_float(np.asarray(draft.p)), probs.as_float(np.asarray(draft.q))
        gamma = draft.gamma
        paths, at = draft.tokens.reshape(-1, gamma), draft.at.reshape(-1, gamma + 1)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = p[at[:, :-1], paths] / q[at[:, :-1], paths]
        weight = self.weights(np.where(np.isnan(ratios), 1, ratios))
        excess = {context: ScaledExcess(p[context], q[context]) for context in np.unique(at[:, :-1]).tolist()}
        kept = np.zeros(len(paths), dtype=np.intp)
        for k in range(1, gamma + 1):
            h = weight[:, k].copy()
            if k < gamma:
                for context, here in groups(at[:, k]):
                    w = weight[here, k]
                    gain = excess[context].mass(w)
                    h[here] = self.coin(w, gain, gain + 1 - w)
            kept[rng.random(len(paths)) < h] = k
        token = np.empty(len(paths), dtype=np.intp)
        for k in range(gamma + 1):
            stopped = np.flatnonzero(kept == k)
            for context, here in groups(at[stopped, k]):
                ended = stopped[here]
                if k == gamma:
                    token[ended] = probs.InverseCDF(p[context]).draw(rng, ended.size)
                else:
                    token[ended] = excess[context].draw(weight[ended, k], rng)
        return BlockVerified(kept.reshape(draft.tokens.shape[:-1]), token.reshape(draft.tokens.shape[:-1]))


@final
@dataclass(frozen=True)
class BlockVerification(_Joint):
    """Block verification: the optimal lossless rule that sees only the drafted path (Sun et al., arXiv 2403.10444).

    Notes
    -----
    w_0 = 1, w_i = min(1, w_{i-1} p(x_i)/q(x_i)); with S_i = Σ (w_i p - q)+ at the row after i tokens,
    h_i = S_i / (S_i + 1 - w_i) for i < γ (0/0 is 1) and h_γ = w_γ; τ is the largest i whose uniform is below h_i. Then
    P(τ >= i | x_1..x_i) = w_i, so that E[τ] = Σ E[w_i], never less than token-wise.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> rows = [[F(1, 3), F(2, 3)]] * 3, [[F(2, 3), F(1, 3)]] * 2
    >>> [(str(o.probability), o.kept) for o in BlockVerification().outcomes(Draft(*rows, tokens=[0, 0]))]
    [('3/4', 0), ('1/4', 2)]
    """

    name: ClassVar[str] = "block"
    formula: ClassVar[str] = "w = min(1, w p/q); h = S/(S + 1 - w), S = Σ (w p - q)+; longest prefix with u < h"
    source: ClassVar[str] = "Sun et al. 2025, Alg. 2"

    def weights(self, ratios: Array) -> Array:
        """Cap the running product at 1 after each token."""
        one = np.ones_like(ratios[..., 0]) if ratios.dtype != object else ratios[..., 0] ** 0
        weight = [one]
        for i in range(ratios.shape[-1]):
            weight.append(np.minimum(weight[-1] * ratios[..., i], one))
        return np.stack(weight, axis=-1)

    def coin(self, weight: Any, gain: Any, loss: Any) -> Any:
        """Give S / (S + 1 - w)."""
        return _quotient(gain, gain + (1 - weight))


@final
@dataclass(frozen=True)
class HierarchicalVerification(_Joint):
    """Hierarchical speculative decoding, capped form (HSD, arXiv 2601.05724, Alg. 2, Eqs. 16-20).

    Notes
    -----
    With r the joint ratio P/Q of a prefix and r* = r / max(1, max of r over the shorter prefixes), h_γ = min(r*, 1) and
    h_t = D*(p, q) / D*(q, p), the masses Q (r* - 1)+ and Q (1 - r*)+ over the branch of prefixes one token longer; the
    replacement is drawn from Q (r* - 1)+. Inside that branch r* = w p/q with w = r / max(1, r), both maxima over the prefix
    and its shorter ones. Algebraically this is block verification, branch by branch, though the paper claims more accepted
    tokens than that; its *naive* form resamples several positions with further target calls, and is no single round.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> rows = [[F(1, 3), F(2, 3)]] * 3, [[F(2, 3), F(1, 3)]] * 2
    >>> [(str(o.probability), o.kept) for o in HierarchicalVerification().outcomes(Draft(*rows, tokens=[1, 0]))]
    [('1/2', 1), ('1/2', 2)]
    """

    name: ClassVar[str] = "hierarchical"
    formula: ClassVar[str] = "r* = r/max(1, earlier r); h = Σ Q (r* - 1)+ / Σ Q (1 - r*)+; longest prefix with u < h"
    source: ClassVar[str] = "HSD 2026, Alg. 2, Eqs. 16-20"

    def weights(self, ratios: Array) -> Array:
        """Divide the joint ratio by its running maximum, which is at least 1."""
        one = np.ones_like(ratios[..., 0]) if ratios.dtype != object else ratios[..., 0] ** 0
        joint, largest, weight = one, one, [one]
        for i in range(ratios.shape[-1]):
            joint = joint * ratios[..., i]
            largest = np.maximum(largest, joint)
            weight.append(joint / largest)
        return np.stack(weight, axis=-1)

    def coin(self, weight: Any, gain: Any, loss: Any) -> Any:
        """Give the ratio of the branch's two masses, of which the first is the smaller one."""
        return _quotient(np.minimum(gain, loss), loss)  # rounding may say otherwise


def _quotient(part: Any, whole: Any) -> Any:
    """Give part / whole with 0/0 = 1."""
    if np.ndim(whole) == 0:
        return part / whole if whole != 0 else whole**0
    return np.divide(part, whole, out=np.ones_like(whole), where=whole > 0)
