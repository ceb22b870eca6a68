"""Greedy decoding, block by block: what every engine runs at temperature 0."""

from dataclasses import dataclass
from typing import ClassVar, final

import numpy as np

from theory import probs
from theory.blocks.base import BlockVerified, BlockVerifier, Draft, Outcome


@final
@dataclass(frozen=True)
class GreedyBlock(BlockVerifier):
    """Keep the longest prefix of most probable tokens, then emit the most probable one.

    Notes
    -----
    Deterministic given the path: lossless with respect to greedy decoding of the target, not to its law. Of equally probable
    tokens the first counts.

    Examples
    --------
    >>> draft = Draft(p=[[0.25, 0.75]] * 3, q=[[0.5, 0.5]] * 2, tokens=[1, 0])
    >>> GreedyBlock().outcomes(draft)[0].kept
    1
    """

    name: ClassVar[str] = "greedy-block"
    formula: ClassVar[str] = "keep while x = argmax p, then argmax p"
    claim: ClassVar[str] = "toward greedy decoding, always"
    source: ClassVar[str] = "Leviathan et al. 2023, Sec. 2.2 at temperature 0"

    def outcomes(self, draft: Draft) -> tuple[Outcome, ...]:
        """Give the one branch there is."""
        rows, _, tokens = draft.path()
        kept = 0
        while kept < draft.gamma and tokens[kept] == rows[kept].argmax():
            kept += 1
        row = rows[kept]
        return (Outcome(row.sum() ** 0, kept, probs.most_probable(row)),)

    def verify(self, draft: Draft, rng: np.random.Generator) -> BlockVerified:
        """Count matches; no coin is tossed."""
        best = probs.as_float(np.asarray(draft.p)).argmax(axis=-1)[draft.at]
        matches = np.cumprod(draft.tokens == best[..., :-1], axis=-1)
        kept = matches.sum(axis=-1)
        return BlockVerified(kept, np.take_along_axis(best, kept[..., None], axis=-1)[..., 0])
