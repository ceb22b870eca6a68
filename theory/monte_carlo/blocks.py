"""Blocks and whole decodes by running `BlockVerifier.verify`, for any gamma and vocabulary, in parallel if asked.

The draws are cut into tasks of `PATHS` paths whatever the number of workers, and each task has a generator of its own, spawned
from the caller's: the result depends on the seed alone.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from theory import models, parameters, probs
from theory.blocks import BlockVerifier, resolve
from theory.blocks.tokenwise import groups
from theory.counts import Counts
from theory.counts.steps import LONGEST
from theory.decode.enumeration import CONTINUE, AnyBlock
from theory.decode.walk import Walk
from theory.models import Context, Pair
from theory.monte_carlo.estimate import Estimate, binomial, progress
from theory.probs import Array

PATHS = 1 << 16
"""Paths of a task."""

LONG = 1 << 21
"""Paths from which on a run shows its progress."""


class Decoded(NamedTuple):
    """Texts that a decoder wrote, and what its target calls did."""

    tokens: Array
    """The texts, shape (n, length)."""
    counts: Counts
    """Drafted, accepted and emitted tokens of each target call; a request is a text, whose last emission is cut at its length."""


def length_pmf(
    block: AnyBlock,
    pair: Pair,
    gamma: int,
    n: int,
    rng: np.random.Generator,
    context: Context = (),
    workers: int = 1,
) -> Estimate:
    """Estimate the law of the accepted length of one block.

    Fractions are taken to float64.

    Parameters
    ----------
    block : BlockVerifier, TokenVerifier or str
        The rule or its name (see `theory.blocks.parse`); its `verify` is run.
    pair : Pair
        Target and draft model.
    gamma : int
        Drafted tokens.
    n : int
        Blocks.
    rng : numpy.random.Generator
        The source of randomness.
    context : tuple of int
        Tokens so far.
    workers : int
        Processes; they do not change the result.

    Returns
    -------
    Estimate
        Probabilities, shape (gamma + 1,); the error of each is binomial.

    Examples
    --------
    >>> from theory.blocks import BlockVerification
    >>> from theory.models import iid
    >>> pair = iid([1 / 3, 2 / 3], [2 / 3, 1 / 3])
    >>> estimate = length_pmf(BlockVerification(), pair, 2, 100_000, np.random.default_rng(0))
    >>> bool((abs(estimate.value - [1 / 3, 1 / 9, 5 / 9]) < 6 * estimate.stderr).all())
    True
    """
    counts = sum(_run(_lengths, (block, pair, gamma, context), n, rng, workers, "blocks"))
    return Estimate(*binomial(counts, n), n)


def accepted_length(
    block: AnyBlock,
    pair: Pair,
    gamma: int,
    n: int,
    rng: np.random.Generator,
    context: Context = (),
    workers: int = 1,
) -> Estimate:
    """Estimate E[τ], the mean accepted length of one block, in tokens; parameters as for `length_pmf`.

    Fractions are taken to float64.

    Examples
    --------
    >>> from theory.blocks import GreedyBlock
    >>> from theory.models import iid
    >>> accepted_length(GreedyBlock(), iid([0.0, 1.0], [0.0, 1.0]), 3, 10, np.random.default_rng(0)).value
    np.float64(3.0)
    """
    counts = sum(_run(_lengths, (block, pair, gamma, context), n, rng, workers, "blocks"))
    return _mean(counts)


def block_efficiency(
    block: AnyBlock,
    pair: Pair,
    gamma: int,
    n: int,
    rng: np.random.Generator,
    context: Context = (),
    workers: int = 1,
) -> Estimate:
    """Estimate the tokens that one target call emits; parameters as for `length_pmf`.

    Fractions are taken to float64.

    Examples
    --------
    >>> from theory.blocks import GreedyBlock
    >>> from theory.models import iid
    >>> block_efficiency(GreedyBlock(), iid([0.0, 1.0], [0.0, 1.0]), 3, 10, np.random.default_rng(0)).value
    np.float64(4.0)
    """
    counts = sum(_run(_emissions, (block, pair, gamma, context), n, rng, workers, "blocks"))
    return _mean(counts)


def induced_sequence(
    block: AnyBlock,
    pair: Pair,
    gamma: int,
    n: int,
    rng: np.random.Generator,
    length: int | None = None,
    context: Context = (),
    continue_with: str = "target",
    workers: int = 1,
) -> Estimate:
    """Estimate the joint law of the first ``length`` tokens emitted, gamma + 1 where it is not given.

    Fractions are taken to float64.

    ``continue_with`` is ``"target"`` (one block, completed by the target) or ``"decoder"`` (block after block); the other
    parameters are those of `length_pmf`.

    Returns
    -------
    Estimate
        Probabilities, shape (V,) * length.

    Examples
    --------
    >>> from theory.blocks import GreedyBlock
    >>> from theory.models import iid
    >>> induced_sequence(GreedyBlock(), iid([0.0, 1.0], [0.5, 0.5]), 1, 10, np.random.default_rng(0)).value
    array([[0., 0.],
           [0., 1.]])
    """
    parameters.check_count("gamma", gamma)
    length = gamma + 1 if length is None else length
    parameters.check_count("length", length)
    parameters.check_choice("continue_with", continue_with, CONTINUE)
    parameters.check_count("gamma", gamma)
    models.check(pair, context)
    if pair.size**length > 1 << 24:
        raise ValueError(f"length = {length}: a law over {pair.size}^{length} texts does not fit; use theory.monte_carlo.decode")
    task = (block, pair, gamma, context, length, continue_with)
    counts = sum(_run(_texts, task, n, rng, workers, "texts"))
    return Estimate(*binomial(counts, n), n)


def decode(
    block: AnyBlock,
    pair: Pair,
    gamma: int,
    length: int,
    n: int,
    rng: np.random.Generator,
    context: Context = (),
    workers: int = 1,
) -> Decoded:
    """Decode ``n`` texts of ``length`` tokens from end to end, block after block.

    Fractions are taken to float64.

    Parameters
    ----------
    block, pair, gamma, rng, context, workers
        As for `length_pmf`.
    length : int
        Tokens of each text.
    n : int
        Texts.

    Returns
    -------
    Decoded
        The texts, and the counts of each target call.

    Examples
    --------
    >>> from theory.blocks import Tokenwise
    >>> from theory.models import iid
    >>> from theory.verifiers import Strict
    >>> decoded = decode(Tokenwise(Strict()), iid([0.5, 0.5], [0.5, 0.5]), 3, 10, 2, np.random.default_rng(0))
    >>> decoded.tokens.shape, decoded.counts.emitted.tolist()
    ((2, 10), [4, 4, 2, 4, 4, 2])
    """
    parameters.check_count("length", length)
    parts = _run(_decoded, (block, pair, gamma, context, length), n, rng, workers, "texts")
    sizes = np.cumsum([0, *(len(tokens) for tokens, _ in parts)])
    steps = [np.column_stack([calls[:, :2], calls[:, 2] + start]) for (_, calls), start in zip(parts, sizes, strict=False)]
    kept, emitted, request = np.concatenate(steps).T
    order = np.argsort(request, kind="stable")
    counts = Counts.of(kept[order], drafted=gamma, emitted=emitted[order], request=request[order], longest=max(gamma, LONGEST))
    return Decoded(np.concatenate([tokens for tokens, _ in parts]), counts)


# --- tasks: module-level functions, so that processes can be sent them -------------------------------------------------


def _lengths(block: BlockVerifier, pair: Pair, gamma: int, context: Context, n: int, rng: np.random.Generator) -> Array:
    verified = block.checked_verify(Walk(pair, context).draft(np.zeros(n, dtype=np.intp), gamma, rng), rng)
    return np.bincount(verified.kept, minlength=gamma + 1)


def _emissions(block: BlockVerifier, pair: Pair, gamma: int, context: Context, n: int, rng: np.random.Generator) -> Array:
    verified = block.checked_verify(Walk(pair, context).draft(np.zeros(n, dtype=np.intp), gamma, rng), rng)
    return np.bincount(verified.kept + (verified.token >= 0), minlength=gamma + 2)


def _texts(
    block: BlockVerifier,
    pair: Pair,
    gamma: int,
    context: Context,
    length: int,
    continue_with: str,
    n: int,
    rng: np.random.Generator,
) -> Array:
    tokens, _ = _write(block, Walk(pair, context), gamma, length, n, rng, one_block=continue_with == "target")
    flat = np.ravel_multi_index(tuple(tokens.T), (pair.size,) * length)
    return np.bincount(flat, minlength=pair.size**length).reshape((pair.size,) * length)


def _decoded(
    block: BlockVerifier, pair: Pair, gamma: int, context: Context, length: int, n: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    return _write(block, Walk(pair, context), gamma, length, n, rng)


def _write(
    block: BlockVerifier, walk: Walk, gamma: int, length: int, n: int, rng: np.random.Generator, one_block: bool = False
) -> tuple[Array, Array]:
    """Write texts; give them and, for each call, (accepted, emitted, text)."""
    tokens = np.full((n, length), -1, dtype=np.intp)
    state, written = np.zeros(n, dtype=np.intp), np.zeros(n, dtype=np.intp)
    calls, open_ = [], np.arange(n)
    while open_.size:
        draft = walk.draft(state[open_], gamma, rng)
        verified = block.checked_verify(draft, rng)
        before = written[open_].copy()
        for position in range(gamma + 1):
            # At its own length a block emits the token drawn after it, before that the drafted one.
            drafted = draft.tokens[:, min(position, gamma - 1)]
            token = np.where(position < verified.kept, drafted, np.where(position == verified.kept, verified.token, -1))
            here = np.flatnonzero((token >= 0) & (written[open_] < length))
            _append(walk, tokens, state, written, open_[here], token[here])
        calls.append(np.column_stack([verified.kept, written[open_] - before, open_]))
        if one_block:
            break
        open_ = open_[written[open_] < length]
    while (short := np.flatnonzero(written < length)).size:  # one block only: the target completes the text
        p = walk.rows()[0]
        _append(walk, tokens, state, written, short, _draw_each(p, state[short], rng))
    return tokens, np.concatenate(calls)


def _append(walk: Walk, tokens: Array, state: Array, written: Array, texts: Array, token: Array) -> None:
    tokens[texts, written[texts]] = token
    written[texts] += 1
    state[texts] = walk.step(state[texts], token)


def _draw_each(p: Array, state: Array, rng: np.random.Generator) -> Array:
    token = np.empty_like(state)
    for current, here in groups(state):
        token[here] = probs.InverseCDF(p[current]).draw(rng, here.size)
    return token


def _mean(counts: Array) -> Estimate:
    n, values = int(counts.sum()), np.arange(len(counts))
    mean = (counts * values).sum() / n
    variance = (counts * (values - mean) ** 2).sum() / max(n - 1, 1)
    return Estimate(mean, np.sqrt(variance / n), n)


def _run(
    task: Callable[..., Any], arguments: tuple[Any, ...], n: int, rng: np.random.Generator, workers: int, unit: str
) -> list[Any]:
    """Cut n draws into tasks, give each its own generator, and run them in order or in parallel."""
    import joblib

    parameters.check_count("n", n)
    parameters.check_generator("rng", rng)
    parameters.check_count("gamma", arguments[2])
    parameters.check_count("workers", workers)
    given, pair, gamma, context, *others = arguments
    block = resolve(given)
    arguments = (block, pair, gamma, models.check(pair, context), *others)
    sizes = [min(PATHS, n - start) for start in range(0, n, PATHS)]
    calls = [joblib.delayed(task)(*arguments, size, own) for size, own in zip(sizes, rng.spawn(len(sizes)), strict=True)]
    with progress(hidden=n < LONG) as bar:
        shown = bar.add_task(f"{block}: {n:,} {unit}", total=n)
        results = []
        for size, result in zip(sizes, joblib.Parallel(n_jobs=workers, return_as="generator")(calls), strict=True):
            results.append(result)
            bar.advance(shown, size)
    return results
