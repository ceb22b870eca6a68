"""What writes text: plain sampling from one model of a pair, or a decoder with a block rule."""

from dataclasses import dataclass
from typing import Any, final

import numpy as np

from theory import models, parameters, probs
from theory.blocks import BlockVerifier, resolve
from theory.decode.chain import HiddenChain, hidden_chain, states
from theory.models import Context, Pair
from theory.truncation import Truncation

SAME = 1e-12
"""Float laws that differ by no more than this are one law."""


@final
@dataclass(frozen=True)
class Plain:
    """Sample every token from one model of the pair.

    Parameters
    ----------
    model : str
        ``"target"`` or ``"draft"``.
    truncation : Truncation, optional
        Truncates each row first: with the target this is the true baseline of a truncation-based rule.

    Examples
    --------
    >>> from theory.models import iid
    >>> Plain("draft").chain(iid([0.5, 0.5], [0.25, 0.75])).tokens.tolist()
    [[[0.25, 0.75]]]
    """

    model: str = "target"
    truncation: Truncation | None = None

    def __post_init__(self) -> None:
        if self.model not in ("target", "draft"):
            raise ValueError(f"model = {self.model!r}: must be one of target, draft")
        if self.truncation is not None and not isinstance(self.truncation, Truncation):
            raise ValueError(f"truncation = {self.truncation!r}: must be a Truncation, such as MinP(0.1), or None")

    def chain(self, pair: Pair, context: Context = ()) -> HiddenChain:
        """Give the chain on the states of the pair, as a hidden chain without accepted tokens."""
        found = states(pair, context)
        rows = np.stack([pair.rows(current)[self.model == "draft"] for current in found.contexts])
        if self.truncation is not None:
            rows = self.truncation.truncate(rows)
        return HiddenChain(found, 0, 0 * rows[:, None], rows[:, None])


@final
@dataclass(frozen=True)
class Decoder:
    """Run a block rule, block after block.

    Parameters
    ----------
    block : BlockVerifier, TokenVerifier or str
        The rule or its name. `Tokenwise` is a hidden chain; others are enumerated, so that texts must be short.
    gamma : int
        Drafted tokens in a block.

    Examples
    --------
    >>> from theory.blocks import Tokenwise
    >>> from theory.models import iid
    >>> from theory.verifiers import Lenience
    >>> Decoder(Tokenwise(Lenience(0.5)), 2).chain(iid([0.5, 0.5], [0.25, 0.75])).gamma
    2
    >>> Decoder(Tokenwise(Lenience(0.5), bonus="relaxed"), 2).chain(iid([0.5, 0.5], [0.25, 0.75])).gamma
    0
    """

    block: BlockVerifier
    gamma: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "block", resolve(self.block))
        parameters.check_count("gamma", self.gamma)

    def chain(self, pair: Pair, context: Context = ()) -> HiddenChain:
        """Give the hidden chain, without accepted tokens (γ = 0) where the law of the next token depends on the state alone."""
        chain = hidden_chain(self.block, pair, self.gamma, context)  # type: ignore[arg-type]  # refuses other rules itself
        laws = chain.tokens
        last = laws[:, -1:]
        if not np.all(np.abs(laws - last) <= (0 if probs.is_exact(laws) else SAME)):
            return chain
        return HiddenChain(chain.states, 0, 0 * last, last)


Source = Plain | Decoder
"""What writes text."""


def check_source(source: Any, pair: Any, context: Any, name: str = "source") -> Context:
    """Raise unless this is what writes text, a pair, and a context of its tokens; give the context as a tuple.

    Examples
    --------
    >>> from theory.models import iid
    >>> check_source("strict", iid([0.5, 0.5], [0.5, 0.5]), ())
    Traceback (most recent call last):
    ValueError: source = 'strict': must be Plain() or a Decoder, such as Decoder("strict", 4)
    """
    if not isinstance(source, Plain | Decoder):
        raise ValueError(f'{name} = {source!r}: must be Plain() or a Decoder, such as Decoder("strict", 4)')
    return models.check(pair, context)
