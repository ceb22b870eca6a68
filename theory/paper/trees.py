"""Accepted length on EAGLE-like trees from one number a benchmark, or two, and what a rule distorts at a node.

The model. Every node of the tree has its own target row p = softmax(β g) over `TOKENS` tokens, g normal: β is the target's
*sharpness* (an inverse temperature). The draft has the same logits with noise, q = softmax(β (g + σ z)), z normal: σ is the
draft's *error*. The children of a node are the `CHILDREN` most probable tokens of q, most probable first. Nodes are
independent, so that a rule that accepts at a node with mean probability α has E[L] = α + α² + ... + α^`DEPTH`, whichever of the
children it accepts.

Two calibrations, both on Table 5, whose other rows they do not see:

``one number``
    σ of each benchmark from its strict accepted length. β is shared by all, and fitted on the 16 lenience rows.
``two numbers``
    σ and β of each benchmark from its strict row and its lenience row at 0.2.

What is simple in it: real trees are narrower further down, and neighbouring tokens are not independent. Whether the draft misses
a token depends little on how sure the target is of it, so that truncating the target hardly changes how often it is met. The
figures change little with 4 children, 7 levels or 1000 tokens.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import NamedTuple, final

import numpy as np

from theory import divergences, parameters, probs
from theory.blocks import speed
from theory.paper import real, tables
from theory.probs import Array
from theory.trees import CandidateRule, TreeCascade, TreeTypical, TruncateFirst, ZeroAndRenormalise
from theory.truncation import Eta, MinP, Truncation

CHILDREN = 10
"""Tokens tried at a node: the ``top_k`` of EAGLE's code."""

BLOCK = 7
"""The paper's block size for Tables 3 and 5."""

DEPTH = BLOCK - 1
"""Most tokens a walk can accept: the code counts the root in its block, and drafts six levels below it (``depth`` 5, and one)."""

TOKENS = 64
"""Vocabulary of the model."""

COUNT, QUICK_COUNT = 200, 40
"""Nodes over which acceptance is averaged; others in their place move the mean errors of Figure 6 by about 0.02 tokens."""

SEED = 20260729


class Shape(NamedTuple):
    """What nodes are drawn: the vocabulary, the children tried at each, and the seed."""

    tokens: int = TOKENS
    children: int = CHILDREN
    seed: int = SEED


SHAPE = Shape()

CALIBRATIONS = ("one number", "two numbers")
"""By what they take from Table 5 for each benchmark."""

SHARPNESS = (6.0, 3000.0)
"""Range of β that is searched; at the upper end p is all but certain at every node."""

ERROR = (0.0, 20.0)
"""Range of σ that is searched; at the upper end the children are random tokens."""


@final
@dataclass(frozen=True, eq=False)
class Nodes:
    """Rows at independent nodes, and the children tried there.

    Parameters
    ----------
    p, q : ndarray, shape (count, V)
        Rows of the target and of the draft.
    candidates : ndarray of int, shape (count, K)
        Tokens in the order in which they are tried.
    """

    p: Array
    q: Array
    candidates: Array

    def strict_acceptance(self) -> Array:
        """Give p(C), with which lossless verification accepts at each node (the paper's Lemma 3); shape (count,)."""
        return np.asarray(np.take_along_axis(self.p, self.candidates, axis=-1).sum(axis=-1))

    def laws(self, rule: CandidateRule) -> tuple[Array, Array]:
        """Give what a rule does at each node: P(a child is accepted), and the law of the one token emitted, given the children.

        Returns
        -------
        acceptance : ndarray, shape (count,)
            Probabilities.
        induced : ndarray, shape (count, V)
            Rows.
        """
        acceptance, induced = np.empty(len(self.p)), np.empty_like(self.p)
        for node, (p, children) in enumerate(zip(self.p, self.candidates, strict=True)):
            law = rule.law_at(p, children)
            acceptance[node] = probs.total(law.acceptance)
            induced[node] = law.rejected * law.replacement
            induced[node, children] += law.acceptance
        return acceptance, induced


def most_probable(q: Array, count: int = CHILDREN) -> Array:
    """Give the ``count`` most probable tokens of each row, most probable first; of equals the lower index.

    Examples
    --------
    >>> most_probable(np.array([[0.2, 0.5, 0.3]]), 2)
    array([[1, 2]])
    """
    return np.argsort(-q, axis=-1, kind="stable")[..., :count]


@cache
def _normals(count: int, tokens: int, seed: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    return rng.standard_normal((count, tokens)), rng.standard_normal((count, tokens))


def synthetic(sharpness: float, error: float, count: int = COUNT, shape: Shape = SHAPE) -> Nodes:
    """Draw nodes of the model; the same normal numbers at each call, so that lengths move smoothly with β and σ.

    Parameters
    ----------
    sharpness : float
        β, at least 0.
    error : float
        σ, at least 0.
    count : int
        Nodes.
    shape : Shape
        Vocabulary, children and seed.

    Examples
    --------
    >>> bool((synthetic(20, 0).candidates[:, 0] == synthetic(20, 0).p.argmax(axis=-1)).all())
    True
    """
    parameters.check("sharpness", sharpness, "[0, inf)")
    parameters.check("error", error, "[0, inf)")
    parameters.check_count("count", count)
    parameters.check_count("tokens", shape.tokens, 2)
    parameters.check_count("children", shape.children)
    parameters.check("children", shape.children, f"[1, {shape.tokens}]")
    parameters.check_count("seed", shape.seed, 0)
    logits, noise = _normals(count, shape.tokens, shape.seed)
    q = _softmax(sharpness * (logits + error * noise))
    # ranked by logits: at high sharpness probabilities underflow, and would tie
    return Nodes(*probs.check_pair(_softmax(sharpness * logits), q), most_probable(logits + error * noise, shape.children))


def _softmax(logits: Array) -> Array:
    weights = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def recorded(number: int | None = None, texts: real.Texts | None = None, children: int = CHILDREN) -> Nodes:
    """Give the nodes of a trace, with the tokens that its draft finds most probable.

    Parameters
    ----------
    number : int, optional
        Of the first so many texts; all of them where it is not given.
    texts : Texts, optional
        The bundled ones where it is not given.
    children : int
        Tokens tried at a node.
    """
    texts = real.bundled() if texts is None else texts
    p, q = (np.concatenate(texts.each(rows)[:number]) for rows in (texts.p, texts.q))
    return Nodes(p, q, most_probable(q, children))


# --- accepted length ------------------------------------------------------------------------------------------------


def accepted_length(rate: float, depth: int = DEPTH) -> float:
    """Give E[L] = α + ... + α^depth, tokens without the extra one, where each level accepts independently with α.

    Examples
    --------
    >>> accepted_length(0.5, depth=2)
    0.75
    """
    return float(speed.block_efficiency(rate, depth)) - 1


def rule(method: str, parameter: float | None = None, coded: bool = True) -> CandidateRule:
    """Give the tree rule of a row of Table 5.

    Parameters
    ----------
    method : str
        ``"strict"`` or one of Table 5's.
    parameter : float, optional
        Its hyper-parameter; none for strict.
    coded : bool
        Whether lossy truncation runs as the paper's code has it, or as its Eq. 27 and 28 print it.

    Raises
    ------
    ValueError
        For a method that Table 5 does not have, or a parameter that is missing.

    Examples
    --------
    >>> rule("lenience", 0.2)
    ZeroAndRenormalise(lenience=0.2)
    """
    if method == "strict":
        return ZeroAndRenormalise()
    if parameter is None:
        raise ValueError(f"method = {method!r}: needs its parameter")
    match method:
        case "lenience":
            return ZeroAndRenormalise(parameter)
        case "spec_cascade":
            return TreeCascade(parameter, coded)
        case "typical_acceptance":
            return TreeTypical(parameter, coded=coded)
        case "min_p_sampling" | "eta_sampling":
            return TruncateFirst(gate(method, parameter))
    raise ValueError(f"method = {method!r}: Table 5 has strict, lenience, {', '.join(_GATES)}")


_GATES: dict[str, Callable[[float], Truncation]] = {
    "spec_cascade": MinP,
    "min_p_sampling": MinP,
    "eta_sampling": Eta,
    "typical_acceptance": Eta,
}


def gate(method: str, parameter: float) -> Truncation:
    """Give the allowed set of a method that truncates."""
    return _GATES[method](parameter)


def baseline(method: str, parameter: float | None, p: Array) -> Array:
    """Give what a method is meant to sample: the truncated target, or the target for strict and lenience; shape of ``p``."""
    return gate(method, parameter).truncate(p) if method in _GATES and parameter is not None else p


class Measured(NamedTuple):
    """What a rule does at nodes."""

    acceptance: Array
    """P(a child is accepted) at each node."""
    total_variation: float
    """TV between the law of the emitted token, given the children, and its true baseline; mean over nodes, a probability."""
    kl_to_target: float
    """KL from that law to the full target; mean over nodes, nats."""


def measure(nodes: Nodes, method: str, parameter: float | None = None, coded: bool = True) -> Measured:
    """Run a method of Table 5 at nodes.

    Parameters
    ----------
    nodes : Nodes
        Rows and children.
    method, parameter, coded
        As for `rule`.

    Examples
    --------
    >>> measure(synthetic(20, 1, count=10), "strict").total_variation
    0.0
    """
    acceptance, induced = nodes.laws(rule(method, parameter, coded))
    away = divergences.total_variation(induced, baseline(method, parameter, nodes.p))
    return Measured(acceptance, _mean(away), _mean(divergences.kl_divergence(induced, nodes.p)))


def _mean(values: Array) -> float:
    """Average over nodes, and set what is rounding of a lossless rule to 0, so that no digit of it is shown."""
    mean = float(values.mean())
    return mean if mean > 1e-12 else 0.0


# --- calibration ----------------------------------------------------------------------------------------------------


def printed_length(benchmark: str, method: str = "eagle3", parameter: float | None = None) -> float:
    """Give an accepted length of Table 5.

    Examples
    --------
    >>> printed_length("MATH"), printed_length("MATH", "lenience", 0.2)
    (3.76, 4.49)
    """
    table = tables.table_5()
    chosen = table[(table["benchmark"] == benchmark) & (table["method"] == method)]
    if parameter is not None:
        chosen = chosen[chosen["parameter"] == parameter]
    return float(chosen["accepted_length"].item())


@final
@dataclass(frozen=True)
class Model:
    """The model at one sharpness, with the draft's error that gives the strict accepted length.

    Parameters
    ----------
    sharpness : float
        β.
    strict_length : float
        Tokens, without the extra one, that strict verification accepts.
    count : int
        Nodes.
    shape : Shape
        Vocabulary, children and seed.
    """

    sharpness: float
    strict_length: float
    count: int = COUNT
    shape: Shape = SHAPE

    @property
    def error(self) -> float:
        """The draft's error σ."""
        return _error(self.sharpness, self.strict_length, self.count, self.shape)

    @property
    def nodes(self) -> Nodes:
        """Its nodes."""
        return synthetic(self.sharpness, self.error, self.count, self.shape)

    def length(self, acceptance: Array, depth: int = DEPTH) -> float:
        """Give E[L] of the rule that accepts so at `nodes`, tokens without the extra one, on trees of some depth.

        Notes
        -----
        The rate is the strict one, known from the length, plus the mean of a(rule) - p(C) over nodes. Strict verification is so
        a control variate: finitely many nodes meet its rate only up to one node's worth.
        """
        gain = float((acceptance - self.nodes.strict_acceptance()).mean())
        return accepted_length(min(1.0, max(0.0, strict_rate(self.strict_length) + gain)), depth)

    def length_of(self, rule: CandidateRule) -> float:
        """Give E[L] of a rule, tokens without the extra one."""
        return self.length(self.nodes.laws(rule)[0])


def strict_rate(length: float, depth: int = DEPTH) -> float:
    """Give the α at which `accepted_length` is ``length``.

    Raises
    ------
    ValueError
        For a length outside [0, depth].

    Examples
    --------
    >>> round(strict_rate(0.75, depth=2), 9)
    0.5
    """
    from scipy.optimize import brentq

    parameters.check("length", length, f"[0, {depth}]")
    return float(brentq(lambda rate: accepted_length(rate, depth) - length, 0.0, 1.0, xtol=1e-12))


HALVINGS = 14
"""Of the range of σ, on whose fixed grid it is searched: p(C) jumps where children change, where a root finder would stop."""


@cache
def _error(sharpness: float, length: float, count: int, shape: Shape) -> float:
    def rate(error: float) -> float:
        return float(synthetic(sharpness, error, count, shape).strict_acceptance().mean())

    wanted, (low, high) = strict_rate(length), ERROR
    if not rate(low) >= wanted >= rate(high):
        raise ValueError(
            f"strict_length = {length}: no draft error in [{low:g}, {high:g}] gives it at sharpness {sharpness:g} with "
            f"{_nodes(count, shape)}"
        )
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if rate(middle) >= wanted else (low, middle)
    return low


@cache
def shared_sharpness(count: int = COUNT, shape: Shape = SHAPE) -> float:
    """Fit the one β of all benchmarks: least mean absolute error over the 16 lenience rows of Table 5, σ from the strict ones."""
    from scipy.optimize import minimize_scalar

    table = tables.table_5()
    strict = {benchmark: printed_length(benchmark) for benchmark in tables.BENCHMARKS}
    rows = table[table["method"] == "lenience"]

    def error(log_sharpness: float) -> float:
        beta = float(np.exp(log_sharpness))
        lengths = [
            Model(beta, strict[benchmark], count, shape).length_of(ZeroAndRenormalise(lenience))
            for benchmark, lenience in zip(rows["benchmark"], rows["parameter"], strict=True)
        ]
        return float(np.abs(np.array(lengths) - rows["accepted_length"].to_numpy()).mean())

    found = minimize_scalar(error, bounds=tuple(np.log(SHARPNESS)), method="bounded", options={"xatol": 0.05})
    return float(np.exp(found.x))


@cache
def own_sharpness(benchmark: str, count: int = COUNT, shape: Shape = SHAPE) -> float:
    """Find the β of one benchmark at which lenience 0.2 accepts the length that Table 5 has, σ from its strict row."""
    from scipy.optimize import brentq

    strict, lenient = printed_length(benchmark), printed_length(benchmark, "lenience", 0.2)

    def excess(log_sharpness: float) -> float:
        return Model(float(np.exp(log_sharpness)), strict, count, shape).length_of(ZeroAndRenormalise(0.2)) - lenient

    low, high = (float(np.log(end)) for end in SHARPNESS)
    if excess(low) * excess(high) > 0:
        raise ValueError(
            f"benchmark = {benchmark!r}: no sharpness in [{SHARPNESS[0]:g}, {SHARPNESS[1]:g}] gives its row of lenience 0.2 with "
            f"{_nodes(count, shape)}"
        )
    return float(np.exp(brentq(excess, low, high, xtol=0.02)))


def _nodes(count: int, shape: Shape) -> str:
    return (
        f"count = {count} nodes of tokens = {shape.tokens}, children = {shape.children}, seed = {shape.seed}; more nodes may do"
    )


def calibrated(calibration: str, benchmark: str, count: int = COUNT, shape: Shape = SHAPE) -> Model:
    """Give the model of a benchmark.

    Parameters
    ----------
    calibration : str
        Of `CALIBRATIONS`.
    benchmark : str
        Of `theory.paper.tables.BENCHMARKS`.
    count : int
        Nodes.
    shape : Shape
        Vocabulary, children and seed.

    Raises
    ------
    ValueError
        For a calibration or a benchmark that does not exist.
    """
    if benchmark not in tables.BENCHMARKS:
        raise ValueError(f"no benchmark {benchmark!r}; there are: {', '.join(tables.BENCHMARKS)}")
    if calibration not in CALIBRATIONS:
        raise ValueError(f"no calibration {calibration!r}; there are: {', '.join(CALIBRATIONS)}")
    beta = shared_sharpness(count, shape) if calibration == "one number" else own_sharpness(benchmark, count, shape)
    return Model(beta, printed_length(benchmark), count, shape)


@cache
def predict(
    calibration: str,
    benchmark: str,
    method: str,
    parameter: float | None = None,
    coded: bool = True,
    count: int = COUNT,
    shape: Shape = SHAPE,
    depth: int = DEPTH,
) -> tuple[float, float, float]:
    """Give what the model of a benchmark says of a method.

    Parameters
    ----------
    calibration, benchmark, count, shape
        As for `calibrated`.
    method, parameter, coded
        As for `rule`.
    depth : int
        Levels of the tree; the model is calibrated at `DEPTH`.

    Returns
    -------
    accepted_length : float
        Tokens, without the extra one.
    total_variation, kl_to_target : float
        As in `Measured`.
    """
    model = calibrated(calibration, benchmark, count, shape)
    acceptance, away, kl = measure(model.nodes, method, parameter, coded)
    return model.length(acceptance, depth), away, kl
