"""Verification over a deterministic candidate tree, as EAGLE and SGLang do: one rule at a node, its laws over a tree.

The children of a node are fixed tokens c₁, c₂, ... (in the language of drafts: q is a point mass on each in turn), tried in
their order. A rule accepts one of them, and the walk goes on below it, or none, and then emits one last token. At a leaf there is
nothing to try, and the last token is the *bonus*. The accepted length L counts accepted nodes; the last token is not in it.

========================== =========================================== ============================= ====================
rule                       chance of child c once it is tried          last token                    who
========================== =========================================== ============================= ====================
`ZeroAndRenormalise`       min(1, p̃(c)/ℓ)                              p̃                             EAGLE; lossless at ℓ = 1
`TreeCascade`              1 on A                                      p_Θ                           the paper, Eq. 27
... ``coded=True``         1 on A                                      p̃                             its code
`TreeTypical`              min(1, p_Θ(c)/τ(p_Θ))                       p_Θ                           the paper, Eq. 28
... ``coded=True``         min(1, p̃(c)/τ(p̃))                           p̃                             its code
`SummedThreshold`          one coin u for all: u < Σ p(c_i)/τ_acc,     p̃                             SGLang; lossless at 1
                           or p(c) >= τ_single
`TruncateFirst`            any of the above with p_Θ in the place of p, the true baseline                 the paper, Eq. 26
========================== =========================================== ============================= ====================

Here p̃ is p with the children rejected so far set to 0, renormalised, and p_Θ = p 1_A / p(A) the truncated target.
"""

import abc
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, final

import numpy as np

from theory import divergences, parameters, probs
from theory.parameters import Number
from theory.probs import Array, RowsLike
from theory.truncation import Eta, MinP, Truncation

__all__ = [
    "BUDGET",
    "CandidateRule",
    "Chosen",
    "NodeLaw",
    "SummedThreshold",
    "Tree",
    "TreeCascade",
    "TreeTypical",
    "TruncateFirst",
    "Walks",
    "ZeroAndRenormalise",
    "block_efficiency",
    "emitted_law",
    "kl_deterministic",
    "kl_single_draft",
    "length_law",
    "verify",
]

Path = tuple[int, ...]
RowOf = Callable[[Path], RowsLike]

BUDGET = 1 << 20
"""Most sequences that `emitted_law` holds at once."""


class NodeLaw(NamedTuple):
    """What a rule does at one node, exactly."""

    acceptance: Array
    """P(child j is the one accepted); shape (K,), their sum at most 1."""
    replacement: Array
    """The law of the token emitted given that no child is accepted; shape (V,)."""
    rejected: Any
    """P(no child is accepted): a product of rejections, not 1 - Σ acceptance, so that it keeps its relative precision."""


class Chosen(NamedTuple):
    """What the literal procedure did at one node, draw by draw."""

    accepted: Array
    """Whether a child was accepted; bool, shape (size,)."""
    token: Array
    """The token emitted: the accepted child, or the replacement; int, shape (size,)."""


class Walks(NamedTuple):
    """What the literal procedure did on a tree, draw by draw."""

    length: Array
    """Accepted nodes; int, shape (size,)."""
    tokens: Array
    """Accepted tokens and the last one, then -1; int, shape (size, depth + 1)."""


# --- the contract ---------------------------------------------------------------------------------------------------


class CandidateRule(abc.ABC):
    """A verification rule for fixed candidates at one node.

    Subclasses are frozen dataclasses whose fields are the hyper-parameters. They write `law_at` and `coins`; what takes unchecked
    input follows.
    """

    name: ClassVar[str]
    """A short name."""
    formula: ClassVar[str]
    """Acceptance and replacement in a line."""
    claim: ClassVar[str]
    """For which parameters the rule is lossless, or what it reproduces instead."""
    source: ClassVar[str]
    """Paper and equation, or code."""

    @abc.abstractmethod
    def law_at(self, p: Array, tokens: Array) -> NodeLaw:
        """Give the law for a checked row and checked candidates; `outcomes` is the public form."""

    @abc.abstractmethod
    def coins(self, p: Array, tokens: Array, rng: np.random.Generator, size: int) -> Chosen:
        """Run the published procedure for a checked row of floats; `procedure` is the public form."""

    @property
    def lossless(self) -> bool:
        """Whether these parameters make `induced` equal to p for every p and all candidates."""
        return False

    def baseline(self, p: RowsLike) -> Array | None:
        """Give the true baseline: what the rule is meant to sample where that is not p, else None."""
        _check_row(p)
        return None

    def outcomes(self, p: RowsLike, candidates: RowsLike) -> NodeLaw:
        """Give the law of what happens at one node.

        Parameters
        ----------
        p : array_like, shape (V,)
            The target's row.
        candidates : array_like of int, shape (K,)
            The children, distinct, in the order in which they are tried. None (K = 0) at a leaf.

        Returns
        -------
        NodeLaw
            Acceptance of each child, replacement law, and the probability that no child is accepted. Where that is 0 the
            replacement is never used; it is then p by convention, or p_Θ for the rules that replace from it.

        Raises
        ------
        ValueError
            Where ``p`` is not one row, or the candidates are not distinct tokens of its vocabulary.
        """
        row = _check_row(p)
        return self.law_at(row, _check_candidates(candidates, row.size))

    def induced(self, p: RowsLike, candidates: RowsLike) -> Array:
        """Give π(x) = P(child x accepted) + P(none) r(x), the law of the one token emitted here.

        Parameters
        ----------
        p, candidates
            As for `outcomes`.

        Returns
        -------
        ndarray, shape (V,)
            Probabilities that sum to 1.
        """
        row = _check_row(p)
        tokens = _check_candidates(candidates, row.size)
        law = self.law_at(row, tokens)
        replaced: Array = (law.rejected * law.replacement).astype(row.dtype, copy=False)
        replaced[tokens] += law.acceptance
        return replaced

    def acceptance_rate(self, p: RowsLike, candidates: RowsLike) -> Any:
        """Give the probability that some child is accepted.

        Parameters
        ----------
        p, candidates
            As for `outcomes`.

        Returns
        -------
        float or Fraction
            A probability.
        """
        return probs.total(self.outcomes(p, candidates).acceptance)

    def procedure(self, p: RowsLike, candidates: RowsLike, rng: np.random.Generator, size: int) -> Chosen:
        """Run the published procedure at one node, coin by coin: a second route, not derived from `outcomes`.

        Parameters
        ----------
        p, candidates
            As for `outcomes`; Fractions are converted to float64.
        rng : numpy.random.Generator
            The source of randomness.
        size : int
            Independent runs.

        Returns
        -------
        Chosen
            ``accepted`` and ``token``, each of shape (size,).
        """
        row = probs.as_float(_check_row(p))
        parameters.check_count("size", size)
        return self.coins(row, _check_candidates(candidates, row.size), rng, size)


def _check_row(p: RowsLike, name: str = "p") -> Array:
    row = probs.check_rows(p, name)
    if row.ndim != 1:
        raise ValueError(f"{name} has shape {row.shape}: one node has one row, of shape (V,)")
    return row


def _check_candidates(candidates: RowsLike, size: int, name: str = "candidates") -> Array:
    tokens = np.asarray(candidates)
    if tokens.shape == (0,):
        return np.empty(0, dtype=np.intp)
    if tokens.dtype.kind not in "iu" or tokens.ndim != 1:
        raise ValueError(
            f"{name} has dtype {tokens.dtype} and shape {tokens.shape}: must be a list of whole numbers in 0..{size - 1}"
        )
    for place, token in enumerate(tokens):
        if not 0 <= token < size:
            raise ValueError(f"{name}[{place}] = {token}: tokens are in 0..{size - 1}")
        if token in tokens[:place]:
            raise ValueError(f"{name}[{place}] = {token} stands there twice: the children of a node are distinct tokens")
    return tokens.astype(np.intp, copy=False)


def _without(p: Array, tokens: Array) -> Array:
    """Give p(x) off the tokens, 0 on them; not normalised."""
    rest = p.copy()
    rest[tokens] = 0 * p[:1]
    return rest


def _one(p: Array) -> Any:
    return 1 + 0 * p[0]


def _finish(accepted: Array, token: Array, law: Array, rng: np.random.Generator) -> Chosen:
    """Draw a token from ``law`` for each run that has accepted none."""
    left = ~accepted
    if left.any():
        token[left] = probs.InverseCDF(law).draw(rng, int(left.sum()))
    return Chosen(accepted, token)


def _zero_and_renormalise(
    p: Array, tokens: Array, chance: Callable[[Array, int], Any], rng: np.random.Generator, size: int
) -> Chosen:
    """Run EAGLE's loop: accept c with ``chance(p̃, c)``, else set p̃(c) to 0 and renormalise; draw from p̃ at the end."""
    accepted, token = np.zeros(size, dtype=bool), np.empty(size, dtype=np.intp)
    residual = p / p.sum(dtype=np.float64)
    for c in tokens:
        accepts = ~accepted & (rng.random(size) < chance(residual, c))
        token[accepts] = c
        accepted |= accepts
        if accepted.all():
            break
        residual[c] = 0
        residual /= residual.sum()
    return _finish(accepted, token, residual, rng)


# --- the rules ------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class ZeroAndRenormalise(CandidateRule):
    """EAGLE's rule: accept c with min(1, p̃(c)/ℓ), else p̃(c) <- 0 and renormalise; if none is accepted, draw from p̃.

    Parameters
    ----------
    lenience : float or Fraction
        ℓ in (0, 1]. At 1 the rule is lossless, with acceptance p(C).

    Notes
    -----
    ``evaluate_posterior`` of EAGLE (Li et al., arXiv 2401.15077), with the lenience of the paper's code (there ``qx``). The law
    is written with p(c) over the mass left, the procedure with p̃. For one candidate, π(c) = min(1, p(c)/ℓ) and
    π(y) = (1 - π(c)) p(y)/(1 - p(c)) elsewhere. For any number of them π <= p/ℓ, the bound of single-draft lenience. Cost O(K V).

    Examples
    --------
    >>> ZeroAndRenormalise().induced([0.5, 0.25, 0.25], [1, 2])
    array([0.5 , 0.25, 0.25])
    >>> from fractions import Fraction
    >>> golden = [Fraction(5, 10), Fraction(3, 10), Fraction(2, 10)]
    >>> print(*ZeroAndRenormalise(Fraction(1, 2)).induced(golden, [1]))
    2/7 3/5 4/35
    """

    lenience: Number = 1
    name: ClassVar[str] = "zero-and-renormalise"
    formula: ClassVar[str] = "a = min(1, p̃/ℓ), p̃ <- norm(p̃ off c); r = p̃"
    claim: ClassVar[str] = "iff lenience = 1"
    source: ClassVar[str] = "EAGLE, evaluate_posterior; the paper, App. H.1"

    def __post_init__(self) -> None:
        parameters.check("lenience", self.lenience, "(0, 1]")

    @property
    def lossless(self) -> bool:
        """Where ℓ = 1."""
        return self.lenience == 1

    def law_at(self, p: Array, tokens: Array) -> NodeLaw:
        """Give Π_{i<j} (1 - a_i) a_j with a_j = min(1, p(c_j)/(ℓ p(off c_1..c_{j-1})))."""
        lenience = parameters.carry(self.lenience, p)
        acceptance, rejected, rest = 0 * p[tokens], _one(p), p.copy()
        for j, c in enumerate(tokens):
            bar = lenience * probs.total(rest)
            if rest[c] >= bar:
                acceptance[j] = rejected
                return NodeLaw(acceptance, p, 0 * rejected)
            chance = rest[c] / bar
            acceptance[j] = rejected * chance
            rejected = rejected * (1 - chance)
            rest[c] = 0 * rest[c]
        return NodeLaw(acceptance, probs.share_out(rest, p), rejected)

    def coins(self, p: Array, tokens: Array, rng: np.random.Generator, size: int) -> Chosen:
        """Run the loop of ``evaluate_posterior``."""
        lenience = float(self.lenience)
        return _zero_and_renormalise(p, tokens, lambda residual, c: min(1.0, residual[c] / lenience), rng, size)


@final
@dataclass(frozen=True)
class TreeCascade(CandidateRule):
    """SpecCascade on a tree: accept the first candidate in A = {p >= p_base max p} (the paper's Eq. 27).

    Parameters
    ----------
    p_base : float or Fraction
        In [0, 1].
    coded : bool
        False, as printed: the last token comes from p_Θ = p 1_A / p(A), at a leaf as after rejections. True, as the paper's
        ``evaluate_posterior``: indicator on p̃ with A taken from p̃, last token from p̃, which reaches outside A.

    Notes
    -----
    The two accept alike: the most probable token is never rejected, so p_base max p̃ scales as p̃ does. Both accept with
    1[C meets A] >= p_Θ(C), which is what lossless verification of p_Θ accepts (the paper's Lemma 3). As in
    `theory.truncation`, a token at the threshold is in A and one outside the support is not, not even for p_base = 0.

    Examples
    --------
    >>> TreeCascade(0.5).induced([0.5, 0.25, 0.125, 0.125], [2, 1])
    array([0., 1., 0., 0.])
    >>> TreeCascade(1).induced([0.5, 0.25, 0.125, 0.125], [1])
    array([1., 0., 0., 0.])
    >>> TreeCascade(1, coded=True).induced([0.5, 0.25, 0.125, 0.125], [2, 3])
    array([0.66666667, 0.33333333, 0.        , 0.        ])
    """

    p_base: Number
    coded: bool = False
    name: ClassVar[str] = "tree-cascade"
    formula: ClassVar[str] = "a = 1 on {p >= p_base max p}, 0 off it; r = p_Θ (coded: p̃)"
    claim: ClassVar[str] = "never; measured against the truncated target"
    source: ClassVar[str] = "the paper, Eq. 27; its code, evaluate_posterior with min_p"

    def __post_init__(self) -> None:
        parameters.check("p_base", self.p_base, "[0, 1]")
        _check_flag("coded", self.coded)

    def gate(self) -> MinP:
        """Give min-p, whose allowed set is A."""
        return MinP(self.p_base)

    def baseline(self, p: RowsLike) -> Array | None:
        """Give the truncated target."""
        return self.gate().truncate(_check_row(p))

    def law_at(self, p: Array, tokens: Array) -> NodeLaw:
        """Accept the first candidate in A."""
        kept = np.flatnonzero(self.gate().allowed(p)[tokens])
        acceptance, rejected = 0 * p[tokens], _one(p)
        if kept.size:
            acceptance[kept[0]], rejected = rejected, 0 * rejected
        if not self.coded:
            return NodeLaw(acceptance, self.gate().truncate(p), rejected)
        return NodeLaw(acceptance, p if kept.size else probs.share_out(_without(p, tokens), p), rejected)

    def coins(self, p: Array, tokens: Array, rng: np.random.Generator, size: int) -> Chosen:
        """Look the candidates up one by one."""
        if self.coded:
            return _zero_and_renormalise(p, tokens, lambda residual, c: self.gate().allowed(residual)[c], rng, size)
        mask = self.gate().allowed(p)
        for c in tokens:
            if mask[c]:
                return Chosen(np.ones(size, dtype=bool), np.full(size, c, dtype=np.intp))
        return _finish(np.zeros(size, dtype=bool), np.empty(size, dtype=np.intp), np.where(mask, p, 0), rng)


@final
@dataclass(frozen=True)
class TreeTypical(CandidateRule):
    """Typical acceptance on a tree: accept c with min(1, p_Θ(c)/τ), τ = min(ε, δ exp(-H(p_Θ))) (the paper's Eq. 28).

    Parameters
    ----------
    epsilon : float or Fraction
        ε in (0, 1].
    delta : float or Fraction, optional
        δ > 0; √ε where it is not given.
    coded : bool
        False, as printed: p_Θ is p on the eta set A = {p >= min(ε, δ exp(-H(p)))}, the chances are read from p_Θ once, and the
        last token comes from p_Θ, candidates rejected by their coins included. True, as the paper's ``evaluate_posterior``:
        min(1, p̃(c)/τ(p̃)), τ computed again on each p̃, last token from p̃.

    Raises
    ------
    ValueError
        On Fractions, for a chance p(c)/τ with an irrational τ. Chances of 0 and 1, and those with τ = ε, are exact; which of them
        holds is decided in float64.

    Notes
    -----
    The paper calls Eq. 28 equal to the indicator 1_A. It is not: p_Θ has the lower entropy, hence τ(p_Θ) can exceed τ(p), and
    p_Θ(c) can lie below it for c in A. This takes a token with δ exp(-H(p)) <= p(c) < p(A) τ(p_Θ), that is, a flat tail outside
    A. Where every p_Θ(c) on A reaches τ(p_Θ), and nowhere else, it is the indicator. The coded form is not one even there, unless
    p is truncated first. EAGLE's code guards H by clamping p at 1e-10 and takes a chance of 1 where τ <= 1e-9; here 0 ln 0 = 0.

    Examples
    --------
    A row on whose allowed set {0, 1} Eq. 28 is not an indicator:

    >>> row = [0.5, 0.14, 0.09, 0.09, 0.09, 0.09]
    >>> TreeTypical(0.25).gate().allowed(row)
    array([ True,  True, False, False, False, False])
    >>> round(float(TreeTypical(0.25).acceptance_rate(row, [1])), 9)
    0.875
    """

    epsilon: Number
    delta: Number | None = None
    coded: bool = False
    name: ClassVar[str] = "tree-typical"
    formula: ClassVar[str] = "a = min(1, p_Θ/τ(p_Θ)), r = p_Θ (coded: p̃ for p_Θ); τ = min(ε, δ exp(-H))"
    claim: ClassVar[str] = "never; measured against the truncated target"
    source: ClassVar[str] = "the paper, Eq. 28; its code, evaluate_posterior with eta"

    def __post_init__(self) -> None:
        self.gate()  # checks epsilon and delta
        _check_flag("coded", self.coded)

    def gate(self) -> Eta:
        """Give eta, whose allowed set is A."""
        return Eta(self.epsilon, self.delta)

    def baseline(self, p: RowsLike) -> Array | None:
        """Give the truncated target."""
        return self.gate().truncate(_check_row(p))

    def law_at(self, p: Array, tokens: Array) -> NodeLaw:
        """Give Π_{i<j} (1 - a_i) a_j."""
        row = p if self.coded else self.gate().truncate(p)
        acceptance, rejected = 0 * p[tokens], _one(p)
        for j, c in enumerate(tokens):
            chance = self._chance(row, int(c))
            acceptance[j] = rejected * chance
            rejected = rejected * (1 - chance)
            if rejected == 0:
                return NodeLaw(acceptance, p if self.coded else row, rejected)
            if self.coded:
                row = probs.share_out(_without(p, tokens[: j + 1]), p)
        return NodeLaw(acceptance, row, rejected)

    def _chance(self, row: Array, token: int) -> Any:
        """Give min(1, row(c)/τ(row)), 1 for a token that reaches τ up to rounding."""
        if self.gate().keep(row)[token]:
            return _one(row)
        cap, moving = float(self.epsilon), self._delta() * float(np.exp(-probs.entropy(row)))
        if not probs.is_exact(row):
            return row[token] / min(cap, moving)
        if row[token] == 0:
            return 0 * row[token]
        if cap <= moving:
            return row[token] / parameters.carry(self.epsilon, row)
        raise ValueError(
            f"candidate {token} has p = {row[token]} below τ = δ exp(-H) = {moving:.6g}, an irrational threshold: "
            "its acceptance is not a Fraction, so p must hold floats"
        )

    def _delta(self) -> float:
        return float(self.epsilon) ** 0.5 if self.delta is None else float(self.delta)

    def coins(self, p: Array, tokens: Array, rng: np.random.Generator, size: int) -> Chosen:
        """Flip a coin for each candidate in turn."""

        def chance(row: Array, c: int) -> float:
            support = row[row > 0].astype(np.float64)
            threshold = min(float(self.epsilon), self._delta() * float(np.exp((support * np.log(support)).sum())))
            return min(1.0, float(row[c]) / threshold)

        if self.coded:
            return _zero_and_renormalise(p, tokens, chance, rng, size)
        kept = np.where(self.gate().allowed(p), p, 0)
        truncated = kept / kept.sum()
        accepted, token = np.zeros(size, dtype=bool), np.empty(size, dtype=np.intp)
        for c in tokens:
            accepts = ~accepted & (rng.random(size) < chance(truncated, c))
            token[accepts] = c
            accepted |= accepts
        return _finish(accepted, token, truncated, rng)


@final
@dataclass(frozen=True)
class SummedThreshold(CandidateRule):
    """SGLang's rule: one coin u for all siblings; accept the first c_j with u < Σ_{i<=j} p(c_i)/τ_acc or p(c_j) >= τ_single.

    Parameters
    ----------
    threshold_acc : float or Fraction
        τ_acc in (0, 1].
    threshold_single : float or Fraction
        τ_single in [0, 1]; at 1 only a token that is certain passes by it.

    Notes
    -----
    ``TreeSpeculativeSamplingTargetOnly`` of SGLang (sgl-kernel, speculative_sampling.cuh), with the options
    ``--speculative-accept-threshold-acc`` and ``-single``. With S_j the sum, π(c_j) = min(1, S_j/τ_acc) - min(1, S_{j-1}/τ_acc),
    up to the first c_j that reaches τ_single, which takes all that is left; the rest is p off C, renormalised. Lossless where
    both thresholds are 1, and then the same law as `ZeroAndRenormalise`. With τ_single = 1, π <= p/τ_acc. Cost O(K + V).

    Examples
    --------
    >>> SummedThreshold().induced([0.5, 0.25, 0.25], [1, 2])
    array([0.5 , 0.25, 0.25])
    >>> SummedThreshold(0.5).induced([0.5, 0.25, 0.25], [1])
    array([0.33333333, 0.5       , 0.16666667])
    >>> SummedThreshold(1, 0.25).induced([0.5, 0.25, 0.25], [1, 2])
    array([0., 1., 0.])
    """

    threshold_acc: Number = 1
    threshold_single: Number = 1
    name: ClassVar[str] = "summed-threshold"
    formula: ClassVar[str] = "accept c_j iff u < Σ_{i<=j} p(c_i)/τ_acc or p(c_j) >= τ_single, one u a node; r = norm(p off C)"
    claim: ClassVar[str] = "iff both thresholds are 1"
    source: ClassVar[str] = "SGLang, TreeSpeculativeSamplingTargetOnly"

    def __post_init__(self) -> None:
        parameters.check("threshold_acc", self.threshold_acc, "(0, 1]")
        parameters.check("threshold_single", self.threshold_single, "[0, 1]")

    @property
    def lossless(self) -> bool:
        """Where both thresholds are 1."""
        return self.threshold_acc == self.threshold_single == 1

    def law_at(self, p: Array, tokens: Array) -> NodeLaw:
        """Give the differences of min(1, S_j/τ_acc)."""
        if not tokens.size:
            return NodeLaw(0 * p[tokens], p, _one(p))
        bar: Any = parameters.carry(self.threshold_acc, p)
        through = np.minimum(np.cumsum(p[tokens]), bar) / bar  # never above 1, nor an overflow
        sure = np.flatnonzero(p[tokens] >= parameters.carry(self.threshold_single, p))
        if sure.size:
            through[sure[0] :] = _one(p)
        acceptance = through.copy()
        acceptance[1:] -= through[:-1]
        rejected = 1 - through[-1]
        return NodeLaw(acceptance, probs.share_out(_without(p, tokens), p) if rejected else p, rejected)

    def coins(self, p: Array, tokens: Array, rng: np.random.Generator, size: int) -> Chosen:
        """Run the kernel's loop over siblings."""
        accepted, token = np.zeros(size, dtype=bool), np.empty(size, dtype=np.intp)
        coin, so_far, rejected = rng.random(size), 0.0, np.zeros_like(p)
        for c in tokens:
            so_far += float(p[c])
            accepts = ~accepted & ((coin < so_far / float(self.threshold_acc)) | (p[c] >= float(self.threshold_single)))
            token[accepts] = c
            accepted |= accepts
            rejected[c] = p[c]
        left = np.maximum(p - rejected, 0)
        return _finish(accepted, token, left if left.any() else p, rng)


@final
@dataclass(frozen=True)
class TruncateFirst(CandidateRule):
    """The true baseline: any rule with the truncated target p_Θ = p 1_A / p(A) in the place of p (the paper's Eq. 26).

    Parameters
    ----------
    truncation : Truncation
        Gives A.
    rule : CandidateRule
        What then verifies. With the lossless default the induced law is p_Θ and the acceptance p_Θ(C).

    Notes
    -----
    EAGLE's ``logits_processor`` composes so: it warps the row before ``evaluate_posterior`` sees it. Eq. 26 has h = p_Θ(x), since
    the draft is a point mass; the bonus at a leaf comes from p_Θ too.

    Examples
    --------
    >>> TruncateFirst(MinP(0.5)).induced([0.5, 0.25, 0.125, 0.125], [2, 1])
    array([0.66666667, 0.33333333, 0.        , 0.        ])
    >>> round(float(TruncateFirst(MinP(0.5)).acceptance_rate([0.5, 0.25, 0.125, 0.125], [2, 1])), 6)
    0.333333
    """

    truncation: Truncation
    rule: CandidateRule = ZeroAndRenormalise()
    name: ClassVar[str] = "truncate-first"
    formula: ClassVar[str] = "p_Θ = p 1_A / p(A) for p"
    claim: ClassVar[str] = "toward the truncated target, where the rule is lossless"
    source: ClassVar[str] = "the paper, Eq. 26"

    def __post_init__(self) -> None:
        if not isinstance(self.truncation, Truncation):
            raise ValueError(f"truncation = {self.truncation!r}: must be a Truncation, such as MinP(0.1)")
        if not isinstance(self.rule, CandidateRule):
            raise ValueError(f"rule = {self.rule!r}: must be a CandidateRule, such as ZeroAndRenormalise()")

    def baseline(self, p: RowsLike) -> Array | None:
        """Give the truncated target."""
        return self.truncation.truncate(_check_row(p))

    def law_at(self, p: Array, tokens: Array) -> NodeLaw:
        """Truncate, then give the law of the rule."""
        return self.rule.law_at(self.truncation.truncate(p), tokens)

    def coins(self, p: Array, tokens: Array, rng: np.random.Generator, size: int) -> Chosen:
        """Truncate, then run the rule."""
        kept = np.where(self.truncation.allowed(p), p, 0)
        return self.rule.coins(kept / kept.sum(), tokens, rng, size)


def _check_flag(name: str, value: Any) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{name} = {value!r}: must be True or False")


# --- trees ----------------------------------------------------------------------------------------------------------


@final
@dataclass(frozen=True)
class Tree:
    """A deterministic candidate tree: node i holds ``tokens[i]`` and hangs below node ``parents[i]``, or below the context (-1).

    Parameters
    ----------
    parents : sequence of int
        -1, or an earlier node: a parent stands before its children, so that there are no cycles.
    tokens : sequence of int
        At least 0; siblings are distinct and are tried in the order in which they stand. That they are below V is checked against
        the rows on which the tree is walked.

    Raises
    ------
    ValueError
        Naming the node, its value and what is allowed.

    Examples
    --------
    >>> tree = Tree(parents=[-1, -1, 0], tokens=[5, 7, 5])
    >>> tree.children(), tree.children(0), tree.path(2), tree.depth, len(tree)
    ((0, 1), (2,), (5, 5), 2, 3)
    >>> Tree(parents=[1, 0], tokens=[5, 7])
    Traceback (most recent call last):
    ValueError: parents[0] = 1: must be -1, for the context, or an earlier node, in -1..-1
    """

    parents: Sequence[int]
    tokens: Sequence[int]

    def __post_init__(self) -> None:
        for name in ("parents", "tokens"):
            object.__setattr__(self, name, _whole_numbers(name, getattr(self, name)))
        if len(self.parents) != len(self.tokens):
            raise ValueError(f"parents has {len(self.parents)} nodes and tokens {len(self.tokens)}: must be one of each a node")
        seen: dict[tuple[int, int], int] = {}
        for node, (parent, token) in enumerate(zip(self.parents, self.tokens, strict=True)):
            if not -1 <= parent < node:
                raise ValueError(
                    f"parents[{node}] = {parent}: must be -1, for the context, or an earlier node, in -1..{node - 1}"
                )
            if token < 0:
                raise ValueError(f"tokens[{node}] = {token}: tokens are whole numbers of at least 0")
            if (parent, token) in seen:
                raise ValueError(
                    f"tokens[{node}] = {token}, as tokens[{seen[parent, token]}] below the same parent: siblings must be distinct"
                )
            seen[parent, token] = node

    @classmethod
    def from_nested(cls, nested: Mapping[int, Any]) -> "Tree":
        """Make a tree from nested dicts, token to subtree, in their order.

        Examples
        --------
        >>> Tree.from_nested({5: {5: {}}, 7: {}})
        Tree(parents=(-1, -1, 0), tokens=(5, 7, 5))
        """
        parents: list[int] = []
        tokens: list[int] = []
        level: list[tuple[int, Mapping[int, Any]]] = [(-1, nested)]
        for parent, below in level:  # grows while it is read: breadth first
            if not isinstance(below, Mapping):
                raise ValueError(
                    f"the children of node {parent} are {below!r}: must be a dict from token to subtree, {{}} for none"
                )
            for token, subtree in below.items():
                level.append((len(tokens), subtree))
                parents.append(parent)
                tokens.append(token)
        return cls(parents, tokens)

    @classmethod
    def from_paths(cls, paths: Iterable[Sequence[int]]) -> "Tree":
        """Make the tree of all prefixes of candidate paths, siblings in order of first appearance; one path makes a chain.

        Examples
        --------
        >>> Tree.from_paths([[5, 5], [7], [5, 6]])
        Tree(parents=(-1, -1, 0, 0), tokens=(5, 7, 5, 6))
        """
        nested: dict[int, Any] = {}
        for path in paths:
            below = nested
            for token in path:
                below = below.setdefault(token, {})
        return cls.from_nested(nested)

    @cached_property
    def _children(self) -> dict[int, tuple[int, ...]]:
        below: dict[int, list[int]] = {node: [] for node in range(-1, len(self))}
        for node, parent in enumerate(self.parents):
            below[parent].append(node)
        return {node: tuple(nodes) for node, nodes in below.items()}

    @cached_property
    def _paths(self) -> dict[int, Path]:
        paths: dict[int, Path] = {-1: ()}
        for node, (parent, token) in enumerate(zip(self.parents, self.tokens, strict=True)):
            paths[node] = (*paths[parent], token)
        return paths

    def children(self, node: int = -1) -> tuple[int, ...]:
        """Give the nodes below a node, or below the context, in the order in which they are tried."""
        return self._children[node]

    def path(self, node: int = -1) -> Path:
        """Give the tokens from the context down to and with a node."""
        return self._paths[node]

    @property
    def depth(self) -> int:
        """Most nodes on a path, the most that can be accepted."""
        return max(map(len, self._paths.values()))

    def __len__(self) -> int:
        return len(self.tokens)


def _whole_numbers(name: str, values: Any) -> tuple[int, ...]:
    for place, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise ValueError(f"{name}[{place}] = {value!r}: must be a whole number")
    return tuple(int(value) for value in values)


# --- laws over a tree -----------------------------------------------------------------------------------------------


def length_law(rule: CandidateRule, tree: Tree, row_of: RowOf) -> Array:
    """Give the exact law of the accepted length L: accepted nodes, without the last token.

    Parameters
    ----------
    rule : CandidateRule
        What verifies at each node.
    tree : Tree
        The candidates.
    row_of : callable
        Maps a path of tokens after the context, a tuple, to the target's row there, shape (V,). Asked only for paths that have
        positive probability.

    Returns
    -------
    ndarray, shape (depth + 1,)
        P(L = 0), ..., P(L = depth), in the arithmetic of the rows.

    Notes
    -----
    For a lossless rule, P(the walk passes node v) is the target's probability of the path to v, so that E[L] sums the target's
    probabilities of all nodes (the paper's Corollary 1; Sequoia, arXiv 2402.12374, Prop. 3.4). Cost: one row a node.

    Examples
    --------
    >>> tree = Tree.from_nested({0: {0: {}}, 1: {}})
    >>> length_law(ZeroAndRenormalise(), tree, lambda path: [0.5, 0.25, 0.25])
    array([0.25, 0.5 , 0.25])
    """
    law: list[Any] = [0] * (tree.depth + 1)
    for stop in _stops(rule, tree, row_of):
        law[len(stop.path)] += stop.mass
    return _as_array(law, row_of)


def _as_array(law: list[Any], row_of: RowOf) -> Array:
    zero = 0 * probs.check_rows(row_of(()))[:1]
    return np.array([zero[0] + mass for mass in law], dtype=zero.dtype)


def block_efficiency(rule: CandidateRule, tree: Tree, row_of: RowOf) -> Any:
    """Give E[L] + 1, the expected tokens a call of the target, the last token with them.

    Parameters
    ----------
    rule, tree, row_of
        As for `length_law`.

    Returns
    -------
    float or Fraction
        Tokens per target call, in [1, depth + 1]. The paper's EAGLE tables leave the last token out.

    Notes
    -----
    The paper's Proposition 2, that the lossy rule's is at least the baseline's, follows from Lemma 3 along chains, and where rows
    and candidates depend on the depth only. On trees in general it fails: `TreeCascade` always takes the first child in A, even
    where a later one leads further. The baseline then has the longer walk:

    Examples
    --------
    >>> row_of = lambda path: [0.5, 0.5] if len(path) == 0 else [0.0, 1.0]
    >>> tree = Tree.from_nested({0: {}, 1: {1: {1: {}}}})
    >>> block_efficiency(TruncateFirst(MinP(0.5)), tree, row_of), block_efficiency(TreeCascade(0.5), tree, row_of)
    (np.float64(3.0), np.float64(2.0))
    """
    law = length_law(rule, tree, row_of)
    return (law * np.arange(law.size)).sum() + 1


class _Stop(NamedTuple):
    path: Path
    mass: Any
    replacement: Array


def _stops(rule: CandidateRule, tree: Tree, row_of: RowOf) -> Iterator[_Stop]:
    """Walk the tree: where the walk can end, with which probability, and the law of the last token there."""
    waiting: list[tuple[int, Any]] = [(-1, 1)]
    while waiting:
        node, mass = waiting.pop()
        path, row, children, tokens = _at(tree, node, row_of)
        law = rule.law_at(row, tokens)
        if mass * law.rejected:
            yield _Stop(path, mass * law.rejected, law.replacement)
        waiting += [(child, mass * chance) for child, chance in zip(children, law.acceptance, strict=True) if mass * chance]


def _at(tree: Tree, node: int, row_of: RowOf) -> tuple[Path, Array, tuple[int, ...], Array]:
    path, children = tree.path(node), tree.children(node)
    row = _check_row(row_of(path), f"row_of({path})")
    return path, row, children, _check_candidates([tree.tokens[child] for child in children], row.size, f"the children of {path}")


def emitted_law(rule: CandidateRule, tree: Tree, row_of: RowOf, n: int) -> dict[Path, Any]:
    """Give the exact law of the first n tokens: what one verification emits, completed by the target where that is shorter.

    Parameters
    ----------
    rule, tree
        As for `length_law`.
    row_of : callable
        As for `length_law`; also asked for the paths by which outputs are completed, up to n - 1 tokens long.
    n : int
        At least 1. Of longer outputs the first n tokens count.

    Returns
    -------
    dict of tuple to probability
        In rising order of the tuples; those of probability 0 are left out.

    Raises
    ------
    ValueError
        Where more than `BUDGET` sequences would be held; `verify` draws them instead.

    Notes
    -----
    A lossless rule gives the target's joint law of n tokens. That of the truncated target comes from truncated rows in ``row_of``
    and the rule alone, since `TruncateFirst` leaves the completion to the full rows.

    Examples
    --------
    >>> tree = Tree.from_nested({0: {0: {}}, 1: {}})
    >>> emitted_law(ZeroAndRenormalise(), tree, lambda path: [0.5, 0.5], 2)
    {(0, 0): np.float64(0.25), (0, 1): np.float64(0.25), (1, 0): np.float64(0.25), (1, 1): np.float64(0.25)}
    """
    parameters.check_count("n", n)
    by_length: list[dict[Path, Any]] = [{} for _ in range(n + 1)]
    for stop in _stops(rule, tree, row_of):
        _spread(by_length, n, stop.path, stop.mass, stop.replacement)
    for short in by_length[1:n]:
        for path, mass in short.items():
            _spread(by_length, n, path, mass, _check_row(row_of(path), f"row_of({path})"))
    return dict(sorted(by_length[n].items()))


def _spread(by_length: list[dict[Path, Any]], n: int, path: Path, mass: Any, row: Array) -> None:
    """Add one token by ``row`` to ``path``, and file the first n tokens of the results by their length."""
    if len(path) >= n:
        known = by_length[n]
        known[path[:n]] = known.get(path[:n], 0) + mass
        return
    known = by_length[len(path) + 1]
    for token in np.flatnonzero(row):
        longer = (*path, int(token))
        known[longer] = known.get(longer, 0) + mass * row[token]
    if len(known) > BUDGET:
        raise ValueError(f"n = {n}: more than {BUDGET} sequences of {len(path) + 1} tokens; theory.blocks.tree.verify draws them")


def verify(rule: CandidateRule, tree: Tree, row_of: RowOf, rng: np.random.Generator, size: int) -> Walks:
    """Walk the tree by the rule's literal procedure: Monte Carlo for `length_law` and `emitted_law`.

    Parameters
    ----------
    rule, tree, row_of
        As for `length_law`; ``row_of`` is asked for the paths on which a walk arrives.
    rng : numpy.random.Generator
        The source of randomness.
    size : int
        Independent walks.

    Returns
    -------
    Walks
        ``length``, shape (size,), and ``tokens``, shape (size, depth + 1): accepted tokens, the last one, then -1.

    Examples
    --------
    >>> tree = Tree.from_nested({1: {}})
    >>> verify(TreeCascade(0.5), tree, lambda path: [0.0, 1.0, 0.0], np.random.default_rng(0), 2)
    Walks(length=array([1, 1]), tokens=array([[1, 1],
           [1, 1]]))
    """
    parameters.check_count("size", size)
    length, tokens = np.zeros(size, dtype=np.intp), np.full((size, tree.depth + 1), -1, dtype=np.intp)
    waiting: list[tuple[int, Array]] = [(-1, np.arange(size))]
    while waiting:
        node, here = waiting.pop()
        path, row, children, candidates = _at(tree, node, row_of)
        chosen = rule.coins(probs.as_float(row), candidates, rng, here.size)
        tokens[here, len(path)] = chosen.token
        length[here[chosen.accepted]] += 1
        for child, token in zip(children, candidates, strict=True):
            below = here[chosen.accepted & (chosen.token == token)]
            if below.size:
                waiting.append((child, below))
    return Walks(length, tokens)


# --- Lemma 2 --------------------------------------------------------------------------------------------------------


def kl_single_draft(p: RowsLike, q: RowsLike, truncation: Truncation) -> Any:
    """KL from what single-draft truncation verification samples to the truncated target: KL(q_A || p_A) (the paper's Lemma 2).

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Rows of the target and of the draft; they broadcast.
    truncation : Truncation
        Gives A, from p.

    Returns
    -------
    float or ndarray, shape (...)
        Nats, at least 0.

    Notes
    -----
    With q_A = q 1_A / q(A) and p_A likewise; q_A is p_A where the draft has nothing on A, as in
    `theory.verifiers.TruncationVerifier`. It goes to 0 as q goes to p (Proposition 1).

    Examples
    --------
    >>> round(float(kl_single_draft([0.4, 0.3, 0.2, 0.1], [0.2, 0.25, 0.25, 0.3], MinP(0.6))), 6)
    0.032478
    """
    target, draft = _on_allowed(p, q, truncation)
    return divergences.kl_divergence(draft, target)


def kl_deterministic(p: RowsLike, q: RowsLike, truncation: Truncation) -> Any:
    """Mean KL from a fixed accepted candidate x ~ q_A to the truncated target: E ln(1/p_A(x)) (the paper's Lemma 2, EAGLE).

    Parameters
    ----------
    p, q, truncation
        As for `kl_single_draft`.

    Returns
    -------
    float or ndarray, shape (...)
        Nats, at least 0.

    Notes
    -----
    A candidate in A is accepted surely, so given the tree the law is a point mass, and KL(δ_x || p_A) = ln(p(A)/p(x)). The mean
    is `kl_single_draft` + H(q_A): at q = p it is H(p_A), positive wherever A has two tokens (Proposition 1).

    Examples
    --------
    >>> round(float(kl_deterministic([0.5, 0.25, 0.25], [0.5, 0.25, 0.25], MinP(0.5))), 6)
    1.039721
    """
    target, draft = (probs.as_float(rows) for rows in _on_allowed(p, q, truncation))
    return probs.total(-draft * probs.log_positive(target))  # q_A is 0 wherever p_A is


def _on_allowed(p: RowsLike, q: RowsLike, truncation: Truncation) -> tuple[Array, Array]:
    target, draft = probs.check_pair(p, q)
    kept = draft * probs.indicator(truncation.allowed(target), target)
    truncated = truncation.truncate(target)
    return truncated, probs.share_out(kept, truncated)
