"""Static ensembles of draft and target, verified strictly: a mixture of their probabilities, or of their logits (DIVERSED)."""

from dataclasses import dataclass
from typing import ClassVar, final

from theory import parameters, probs
from theory.parameters import Number
from theory.probs import Array
from theory.verifiers.collaborative import mix, powers
from theory.verifiers.strict import Toward


@final
@dataclass(frozen=True)
class StaticEnsemble(Toward):
    """Mixture of probabilities: induced law w q + (1 - w) p, with the weight on the *draft*.

    Parameters
    ----------
    draft_weight : float or Fraction
        w in [0, 1]; 0 is strict.

    Notes
    -----
    The static form of DIVERSED (arXiv 2604.07622), whose learnt form takes w from the hidden states of both models. It is
    ``CoS(1 - w)`` under the convention of its own paper; see there for what else is known of it.

    Examples
    --------
    >>> StaticEnsemble(0.25).induced([0.5, 0.5], [1.0, 0.0])
    array([0.625, 0.375])
    """

    draft_weight: Number
    name: ClassVar[str] = "static-ensemble"
    family: ClassVar[str] = "collaborative"
    formula: ClassVar[str] = "v = w q + (1-w) p, w on the draft; a = min(1, v/q); r = norm((v - q)+)"
    claim: ClassVar[str] = "iff draft_weight = 0"
    source: ClassVar[str] = "DIVERSED 2026, static weights"

    def __post_init__(self) -> None:
        parameters.check("draft_weight", self.draft_weight, "[0, 1]")

    @property
    def lossless(self) -> bool:
        """Where the draft has no weight."""
        return self.draft_weight == 0

    def toward(self, p: Array, q: Array) -> Array:
        """Give w q + (1 - w) p."""
        return mix(q, p, self.draft_weight)


@final
@dataclass(frozen=True)
class GeometricEnsemble(Toward):
    """Mixture of logits: induced law v ∝ q^w p^(1-w), the geometric mixture, with the weight on the *draft*.

    Parameters
    ----------
    draft_weight : float or Fraction
        w in [0, 1]; 0 is strict, 1 the draft. On Fractions only these two, where the powers are rational.

    Notes
    -----
    What the code of DIVERSED (arXiv 2604.07622, ``train/models.py``) mixes, where its paper writes the mixture of
    probabilities. v minimises w KL(v || q) + (1 - w) KL(v || p). In general it is off the best trade-off. Between the two ends
    its support is that of both models, so that a token that one of them excludes is lost however small the weight; where
    the supports do not meet, v is p.

    Examples
    --------
    >>> GeometricEnsemble(0.5).induced([0.8, 0.2], [0.2, 0.8])
    array([0.5, 0.5])
    """

    draft_weight: Number
    name: ClassVar[str] = "geometric-ensemble"
    family: ClassVar[str] = "collaborative"
    formula: ClassVar[str] = "v ∝ q^w p^(1-w), w on the draft; a = min(1, v/q); r = norm((v - q)+)"
    claim: ClassVar[str] = "iff draft_weight = 0"
    source: ClassVar[str] = "DIVERSED 2026, code: mixed logits"

    def __post_init__(self) -> None:
        parameters.check("draft_weight", self.draft_weight, "[0, 1]")

    @property
    def lossless(self) -> bool:
        """Where the draft has no weight."""
        return self.draft_weight == 0

    def toward(self, p: Array, q: Array) -> Array:
        """Give v ∝ q^w p^(1-w)."""
        weight = self.draft_weight
        if weight == 0:
            return probs.spread(p, q)
        if weight == 1:
            return probs.spread(q, p)
        if probs.is_exact(p, q):
            raise ValueError(f"draft_weight = {weight!r}: on Fractions q^w p^(1-w) is rational for w = 0 and w = 1 only")
        return probs.share_out(powers(p, q, 1 - float(weight), float(weight)), p)
