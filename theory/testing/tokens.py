"""What a token rule says about one pair of rows, and whether it agrees with itself."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from theory import probs
from theory.probs import Array, RowsLike
from theory.testing.arithmetic import Arithmetic
from theory.testing.search import Falsified, on
from theory.verifiers import TokenVerifier, checks

STACKED = "on stacked rows"


class Said(NamedTuple):
    """What a rule says about rows that broadcast to a leading shape L, each number times the chance that it matters.

    Where nothing is drafted or rejected a rule may say what it likes. These are what it does.
    """

    rejected: Array
    """R = Σ q (1 - a), shape (*L, 1)."""
    accepted: Array
    """q a, shape (*L, V)."""
    replaced: Array
    """R r, shape (*L, V)."""
    given: Array
    """q(x) (1 - a(x)) r(· | x), shape (V, *L, V), the drafted token first."""

    @property
    def induced(self) -> Array:
        """The law q a + R r."""
        return np.asarray(self.accepted + self.replaced)


def check_law(
    rule: TokenVerifier, law: Callable[[Array, Array], RowsLike], name: str, arithmetic: Arithmetic, pair: tuple[Array, Array]
) -> None:
    """Raise unless a rule gives laws on this pair, each row of a stack its own, and induces ``law(p, q)``."""
    p, q = pair
    _agree_on_average(ask(rule, p, q, arithmetic), arithmetic)
    induced, wanted = rule.induced(p, q), np.asarray(law(p, q))
    arithmetic.fits(induced, "induced")
    with on(STACKED):
        stacked = rule.induced(np.stack([q, p]), np.stack([p, q]))[1]
    if arithmetic.differ(stacked, induced):
        raise Falsified(f"induces another law {STACKED}", stacked=stacked, alone=induced)
    if arithmetic.differ(induced, wanted):
        raise Falsified(f"does not induce {name}", induced=induced, wanted=wanted)


def check_agreement(rule: TokenVerifier, arithmetic: Arithmetic, pair: tuple[Array, Array]) -> None:
    """Raise unless all that a rule says about this pair agrees with its acceptance and residual."""
    p, q = pair
    said = ask(rule, p, q, arithmetic)
    _agree_on_average(said, arithmetic)
    if not rule.residual_depends_on_draft:
        residual = np.asarray(rule.residual(p, q))
        for token, weight in enumerate(said.given.sum(axis=-1, keepdims=True)):
            if arithmetic.differ(said.given[token], weight * residual):
                raise Falsified(
                    f"contradicts itself: residual_depends_on_draft is False, but residual_given of {token} is not residual",
                    residual=residual,
                    residual_given=rule.residual_given(p, q, np.arange(p.size))[token],
                )
    for what, found, wanted, means in _short_forms(rule, p, q, said):
        arithmetic.fits(found, what)
        if arithmetic.differ(found, wanted):
            raise Falsified(f"contradicts itself: {what} is not {means}", **{what: found, "wanted": wanted})
    _agree_in_stacks(rule, p, q, arithmetic)


def ask(rule: TokenVerifier, p: Array, q: Array, arithmetic: Arithmetic) -> Said:
    """Ask a rule for its acceptance and replacement, and look at them, at those of the package's own rules too.

    Raises
    ------
    Falsified
        Where it answers Fractions with floats.
    RuleError
        Where an answer is no probability or no law.
    """
    p, q = probs.check_pair(p, q)
    shape = np.broadcast_shapes(p.shape, q.shape)
    drafted = np.broadcast_to(np.arange(shape[-1]).reshape(-1, *[1] * (len(shape) - 1)), (shape[-1], *shape[:-1]))

    def answer(what: str, *arguments: Array) -> Any:
        said = getattr(rule, what)(*arguments)
        arithmetic.fits(said, what)
        return said

    acceptance = np.broadcast_to(checks.acceptance(rule, answer("acceptance", p, q), p, q), shape)
    residual = np.broadcast_to(checks.residual(rule, answer("residual", p, q), p, q), shape)
    said = answer("residual_given", p, q, drafted)
    given = np.broadcast_to(checks.residual(rule, said, p, q, "residual_given", drafted.shape[:1]), (shape[-1], *shape))
    accepted = q * acceptance
    each = np.moveaxis(q - accepted, -1, 0)[..., None]
    rejected = np.asarray(probs.total(q - accepted, keepdims=True))
    return Said(rejected, accepted, rejected * residual, each * given)


def _agree_on_average(said: Said, arithmetic: Arithmetic) -> None:
    averaged = said.given.sum(axis=0)
    if arithmetic.differ(averaged, said.replaced):
        raise Falsified(
            "contradicts itself: residual is not the average of residual_given over the rejected tokens",
            **{"R residual": said.replaced, "Σ q (1 - a) residual_given": averaged},
        )


def _short_forms(rule: TokenVerifier, p: Array, q: Array, said: Said) -> Iterator[tuple[str, Any, Any, str]]:
    """Walk what a rule may write in fewer passes over the rows, beside what it must be."""
    p, q = probs.check_pair(p, q)
    yield "accepted", rule.accepted(p, q), said.accepted, "q times its acceptance"
    replaced = rule.replaced(p, q, np.array(said.accepted), probs.in_dtype(np.array(said.rejected), q))
    yield "replaced", replaced, said.replaced, "the rejected mass times its residual"
    law = rule.law(p, q)
    rate = said.accepted.sum(axis=-1)
    yield "law.acceptance_rate", law.acceptance_rate, rate, "Σ q a"
    yield "law.rejection_rate", law.rejection_rate, said.rejected[..., 0], "Σ q (1 - a)"
    yield "law.induced", law.induced, said.induced, "q a + R r"
    yield "acceptance_rate", rule.acceptance_rate(p, q), rate, "Σ q a"
    yield "induced", rule.induced(p, q), said.induced, "q a + R r"


def _agree_in_stacks(rule: TokenVerifier, p: Array, q: Array, arithmetic: Arithmetic) -> None:
    """Raise unless rows in a stack, and one row against a stack, are answered as each pair is alone."""
    alone: dict[tuple[bool, bool], tuple[Said, Array]] = {}
    for exchanged in ((False, False), (False, True), (True, False), (True, True)):
        with on("with p and q in other places"):
            rows = (q if exchanged[0] else p), (p if exchanged[1] else q)
            alone[exchanged] = ask(rule, *rows, arithmetic), rule.induced(*rows)
    p_and_q, q_and_p = np.stack([p, q]), np.stack([q, p])
    for rows, places in (
        ((p_and_q, q_and_p), ((False, False), (True, True))),
        ((p_and_q, q), ((False, False), (True, False))),
        ((p, q_and_p), ((False, False), (False, True))),
    ):
        where = f"{STACKED}, of shapes {rows[0].shape} and {rows[1].shape}"
        with on(where):
            stacked, law = ask(rule, *rows, arithmetic), np.broadcast_to(rule.induced(*rows), (2, p.size))
        for i, place in enumerate(places):
            single, induced = alone[place]
            for what, in_stack, by_itself in (
                ("acceptance", stacked.accepted[i], single.accepted),
                ("residual", stacked.replaced[i], single.replaced),
                ("residual_given", stacked.given[:, i], single.given),
                ("induced law", law[i], induced),
            ):
                if arithmetic.differ(in_stack, by_itself):
                    raise Falsified(f"has another {what} {where}, than row by row")
