"""What a block rule does with drafted paths: its joint law against the target's, and its procedure against its outcomes."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from theory import probs
from theory.blocks import BlockVerifier, Draft, Outcome
from theory.blocks.base import look_at_outcomes, look_at_verified
from theory.decode import enumeration
from theory.models import Pair
from theory.probs import Array
from theory.testing.arithmetic import Arithmetic
from theory.testing.procedures import Trial, stream
from theory.testing.search import Falsified

Case = tuple[int, Pair]
"""Drafted tokens in a block, and the models."""


def check_lossless(rule: BlockVerifier, arithmetic: Arithmetic, case: Case) -> None:
    """Raise unless a block, completed by the target, has the target's joint law over gamma + 1 tokens."""
    gamma, pair = case
    for _ in outcomes(rule, arithmetic, case):
        pass
    induced, wanted = enumeration.induced_sequence(rule, pair, gamma), enumeration.target_sequence(pair, gamma + 1)
    if arithmetic.differ(induced, wanted):
        apart = np.abs(induced - wanted)
        worst = tuple(int(i) for i in np.argwhere(~(apart <= arithmetic.tolerance))[0])
        raise Falsified(
            f"is not lossless at gamma = {gamma}: it emits the tokens {worst} with probability {induced[worst]}, "
            f"the target with {wanted[worst]}"
        )


def outcomes(rule: BlockVerifier, arithmetic: Arithmetic, case: Case) -> Iterator[tuple[Any, Draft, tuple[Outcome, ...]]]:
    """Walk the drafted paths: probability, draft, and the outcomes that a rule gives, looked at.

    Raises
    ------
    Falsified
        Where they are in floats though the rows are Fractions.
    RuleError
        Where they are no law.
    """
    gamma, pair = case
    for probability, draft in enumeration.paths(pair, gamma):
        draft.tokens.flags.writeable = False
        said = rule.outcomes(draft)
        for branch in said if isinstance(said, tuple | list) else ():
            for number in branch[::2] if isinstance(branch, tuple) else ():
                arithmetic.fits(number, f"outcomes of {draft.tokens.tolist()}")
        yield probability, draft, tuple(look_at_outcomes(rule, said, draft))


def check_procedure(rule: BlockVerifier, trial: Trial, case: Case) -> None:
    """Raise unless `verify` keeps and draws as `outcomes` say on each path, of all paths mixed in one call, in floats."""
    gamma, pair = case
    if type(rule).verify is BlockVerifier.verify:
        return  # it draws from the outcomes
    walked = [(float(chance), draft) for chance, draft in enumeration.paths(pair, gamma)]
    chances, paths = np.array([chance for chance, _ in walked]), np.array([draft.tokens for _, draft in walked])
    prefixes: dict[tuple[int, ...], tuple[Array, Array]] = {}
    for path in paths.tolist():
        for position in range(gamma + 1):
            context = tuple(path[:position])
            prefixes.setdefault(context, tuple(map(probs.as_float, pair.rows(context))))  # type: ignore[arg-type]
    number = {context: place for place, context in enumerate(prefixes)}
    p, q = (np.stack([rows[side] for rows in prefixes.values()]) for side in (0, 1))
    at = np.array([[number[tuple(path[:position])] for position in range(gamma + 1)] for path in paths.tolist()])

    law = np.zeros((len(paths), gamma + 1, pair.size + 1))  # the last column: no token
    for place, tokens in enumerate(paths):
        alone = Draft(p[at[place]], q[at[place]], tokens)
        for probability, length, next_probs in look_at_outcomes(rule, rule.outcomes(alone), alone):
            row = np.zeros(pair.size + 1)
            row[: pair.size], row[-1] = (0, 1) if next_probs is None else (next_probs, 0)
            law[place, length] += probability * row

    rng = stream(p, q)
    one = Draft(p[at[0]], q[at[0]], paths[0])
    look_at_verified(rule, rule.verify(one, rng), one)
    which = np.arange(max(trial.draws, len(paths))) % len(paths)
    draft = Draft(p, q, paths[which], at[which])
    draft.tokens.flags.writeable = False
    kept, token = look_at_verified(rule, rule.verify(draft, rng), draft)
    counts = np.zeros(law.shape, dtype=np.int64)
    np.add.at(counts, (which, kept, token), 1)  # -1, no token, is the last column
    drafted = np.bincount(which, minlength=len(paths))
    found = trial.most_improbable(counts.reshape(len(paths), -1), drafted, law.reshape(len(paths), -1), chances)
    if found is not None:
        (path, cell), tail = found
        k, y = divmod(cell, pair.size + 1)
        then = "no token" if y == pair.size else f"token {y}"
        seen, expected = counts[path, k, y], drafted[path] * law[path, k, y]
        raise Falsified(
            f"contradicts itself: its verify has not the law of outcomes at gamma = {gamma}: of {drafted[path]} paths "
            f"{paths[path].tolist()} it kept {k} tokens and drew {then} for {seen}, where {expected:.1f} are expected; "
            f"so far off has probability {tail:.1g}"
        )
