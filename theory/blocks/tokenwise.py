"""Token-wise block verification: a token rule at each position, until the first rejection."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from theory import parameters, probs
from theory.blocks.base import BlockVerified, BlockVerifier, Draft, Outcome, possible
from theory.verifiers import TokenVerifier, resolve

BONUS = ("target", "relaxed")
"""Where the token after a fully accepted block comes from."""


@final
@dataclass(frozen=True)
class Tokenwise(BlockVerifier):
    """Verify token by token with a single-draft rule; stop at the first rejection, or draw a bonus after the last.

    Parameters
    ----------
    verifier : TokenVerifier or str
        The rule, or its name, of which the rule is made.
    bonus : str
        ``"target"``: the bonus comes from p, as nearly all code has it; ``"relaxed"``: one more token is drafted and
        verified, so that the bonus has the rule's own induced law (Xia et al., arXiv 2607.08690).

    Notes
    -----
    A rejection at position k keeps k tokens and emits one more from the rule's replacement law. With the fallback
    ``"redraft"`` of truncation-based rules that means: the draft model draws again at the *same* position until a token is
    accepted, which costs draft steps but no target call, since the target's row there is known; then the block ends. So a
    block always emits one token more than it keeps, and the redrafted token has the law q 1_A / q(A).

    With the bonus from p, a lossy rule does not have one law a position: after γ accepted tokens the next one follows p. A
    lossless rule is lossless either way.

    Examples
    --------
    >>> from theory.verifiers import Strict
    >>> draft = Draft(p=[[0.25, 0.75]] * 2, q=[[0.5, 0.5]], tokens=[0])
    >>> [(float(o.probability), o.kept, o.next_probs.tolist()) for o in Tokenwise(Strict()).outcomes(draft)]
    [(0.5, 0, [0.0, 1.0]), (0.5, 1, [0.25, 0.75])]
    """

    verifier: TokenVerifier
    bonus: str = "target"
    name: ClassVar[str] = "tokenwise"
    formula: ClassVar[str] = "stop at the first rejection"
    claim: ClassVar[str] = "iff the token rule is"
    source: ClassVar[str] = "Leviathan et al. 2023, Alg. 1"

    def __post_init__(self) -> None:
        object.__setattr__(self, "verifier", resolve(self.verifier))
        parameters.check_choice("bonus", self.bonus, BONUS)

    @property
    def lossless(self) -> bool:
        """Where the token rule is."""
        return self.verifier.lossless

    def outcomes(self, draft: Draft) -> tuple[Outcome, ...]:
        """Give Π a (1 - a) for each first rejection, and Π a for none."""
        rows, drafts, tokens = draft.path()
        self._check_bonus(draft)
        reached, branches = rows[0].sum() ** 0, []
        for position, token in enumerate(tokens):
            p, q = rows[position], drafts[position]
            accepted = self.verifier.checked_acceptance(p, q)[token]
            replacement = self.verifier.checked_residual_given(p, q, token)
            branches.append(Outcome(reached * (1 - accepted), position, replacement))
            reached = reached * accepted
        last = rows[-1] if self.bonus == "target" else self.verifier.induced(rows[-1], drafts[-1])
        return possible([*branches, Outcome(reached, draft.gamma, last)])

    def verify(self, draft: Draft, rng: np.random.Generator) -> BlockVerified:
        """Run the token rule's procedure position by position on all paths that are still alive."""
        self._check_bonus(draft)
        p, q = probs.as_float(np.asarray(draft.p)), probs.as_float(np.asarray(draft.q))
        paths, at = draft.tokens.reshape(-1, draft.gamma), draft.at.reshape(-1, draft.gamma + 1)
        kept, token = np.zeros(len(paths), dtype=np.intp), np.empty(len(paths), dtype=np.intp)
        alive = np.arange(len(paths))
        for position in range(draft.gamma):
            accepted = np.empty(alive.size, dtype=bool)
            for context, here in groups(at[alive, position]):
                drafted = paths[alive[here], position]
                accepted[here], token[alive[here]] = self.verifier.checked_procedure(
                    probs.trust(p[context]), probs.trust(q[context]), drafted, rng
                )
            alive = alive[accepted]
            kept[alive] += 1
        for context, here in groups(at[alive, -1]):
            size = int(here.size)
            if self.bonus == "target":
                token[alive[here]] = probs.InverseCDF(p[context]).draw(rng, size)
            else:
                drafted = probs.InverseCDF(q[context]).draw(rng, size)
                token[alive[here]] = self.verifier.checked_procedure(
                    probs.trust(p[context]), probs.trust(q[context]), drafted, rng
                ).token
        return BlockVerified(kept.reshape(draft.tokens.shape[:-1]), token.reshape(draft.tokens.shape[:-1]))

    def _check_bonus(self, draft: Draft) -> None:
        if self.bonus == "relaxed" and len(np.asarray(draft.q)) <= int(np.max(draft.at)):
            raise ValueError(f"q has {len(np.asarray(draft.q))} rows: a relaxed bonus needs the draft's row after the last token")


def groups(labels: np.ndarray) -> list[tuple[int, np.ndarray]]:
    """Give each label that occurs with the places where it does.

    Examples
    --------
    >>> [(label, places.tolist()) for label, places in groups(np.array([1, 0, 1]))]
    [(0, [1]), (1, [0, 2])]
    """
    if labels.size == 0:
        return []
    order = np.argsort(labels, kind="stable")
    found, starts = np.unique(labels[order], return_index=True)
    return list(zip(found.tolist(), np.split(order, starts[1:]), strict=True))
