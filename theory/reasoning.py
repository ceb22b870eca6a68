"""A synthetic reasoning task whose Pass@1 is an exact number, under any source of text.

A problem is a fixed plan of steps, one token each if all goes well. Most steps are *routine*: two wordings will do. Some are
*decisive*: right in two wordings, or wrong in a tempting way, or wrong in a way that nobody would pick but a sampler sometimes
does. A wrong token is a *slip*: the next token either notices it, and the text goes on with the next step, or does not, and the
problem is lost. See `ReasoningChain`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple, final

import numpy as np

from theory import linear, parameters, probs, sequences
from theory.decode.chain import hidden_chain
from theory.models import Context, Model, Pair, iid
from theory.parameters import Number
from theory.probs import Array
from theory.sequences import Decoder, PairState, Source


class Token(IntEnum):
    """The vocabulary. What a token means depends on the step."""

    USUAL = 0
    """The usual wording; right at a decisive step; after a slip, the correction."""
    VARIANT = 1
    """Another wording, as good; after a slip, no correction."""
    TEMPTING = 2
    """At a decisive step the wrong turn that looks right; at a routine one an odd wording, which does no harm; after a slip,
    going on as if nothing had happened."""
    ABSURD = 3
    """What neither model would defend: a slip wherever it stands."""


def slips(decisive: bool) -> tuple[Token, ...]:
    """Give the tokens that are a slip at a step of that kind."""
    return (Token.TEMPTING, Token.ABSURD) if decisive else (Token.ABSURD,)


class Track(IntEnum):
    """How the text stands to the plan."""

    ON = 0
    """Every slip so far was noticed. With no step left: solved."""
    SLIPPED = 1
    """The last token was a slip."""
    LOST = 2
    """A slip went unnoticed: never solved."""


@final
@dataclass(frozen=True, eq=False)
class Reasoner(Model):
    """A model that works on one problem: a row for each kind of step. Contexts are read by a small automaton.

    Parameters
    ----------
    plan : sequence of bool
        The steps in order, whether each is decisive.
    routine, decisive, slipped : ndarray, shape (4,)
        Rows on track at a step of that kind, and after a slip. When the problem is over the text goes on with ``USUAL``.
    """

    plan: Sequence[bool]
    routine: Array
    decisive: Array
    slipped: Array

    @property
    def size(self) -> int:
        """Tokens in the vocabulary."""
        return len(Token)

    def state(self, context: Context) -> Context:
        """Give (steps done, track), reading at most as many tokens as the problem has."""
        done, track = 0, Track.ON
        for token in context:
            if track is Track.SLIPPED:
                track = Track.ON if token == Token.USUAL else Track.LOST
            elif done == len(self.plan):
                break
            else:
                wrong = token in slips(self.plan[done])
                done, track = done + 1, Track.SLIPPED if wrong else Track.ON
            if track is Track.LOST:
                done = len(self.plan)
                break
        return done, int(track)

    def row(self, context: Context) -> Array:
        """Give the row of the step that comes next."""
        done, track = self.state(context)
        if track == Track.SLIPPED:
            return self.slipped
        if done == len(self.plan):
            return self._over
        return self.decisive if self.plan[done] else self.routine

    @cached_property
    def _over(self) -> Array:
        return probs.check_rows(probs.indicator(np.arange(self.size) == Token.USUAL, self.routine))


_NUMBERS = ("skill", "temptation", "variety", "noise", "recovery", "routine_tv", "overconfidence", "severe_tv", "harm")


class Effort(NamedTuple):
    """What a problem takes, in the mean."""

    tokens: Any
    """Written, up to where the problem is solved or lost."""
    calls: Any
    """Of the target: blocks begun."""


class _Moves(NamedTuple):
    """How a token moves what a block has accepted so far, at one kind of step: matrices of shape (gamma + 1, gamma + 1)."""

    right: Array
    """Weights of the tokens that are no slip; after a slip, of the correction."""
    wrong: Array
    """Weights of the others."""


@final
@dataclass(frozen=True)
class ReasoningChain:
    """A problem: ``opening`` routine steps, then ``difficulty`` times ``routine`` routine steps and a decisive one.

    Parameters
    ----------
    difficulty : int
        Decisive steps, at least 0.
    opening : int
        Routine steps before everything else: the problem is restated.
    routine : int
        Routine steps before each decisive one.
    skill : float or Fraction
        The target's probability of a right token at a decisive step, half of it on each of two wordings.
    temptation : float or Fraction
        The target's probability of the tempting wrong token there. The rest, 1 - skill - temptation, is on the absurd one.
        With p_base skill/2 <= temptation, min-p keeps the tempting token; with an absurd one rarer than that it removes that.
    variety : float or Fraction
        The target's probability of the other wording at a routine step, which does no harm.
    noise : float or Fraction
        The target's probability of the absurd token at a routine step.
    recovery : float or Fraction
        Either model's probability that a slip is noticed by the next token; if not, the problem is lost.
    routine_tv : float or Fraction
        The draft's mild disagreement at a routine step: it takes that much from the usual wording to the other one.
    overconfidence : float or Fraction
        The *draft's* probability of the tempting token at a decisive step; above ``temptation``, it is bolder than the target.
        Its absurd token is as rare as the target's, the rest is split between the right wordings, so that TV(p, q) there is
        |overconfidence - temptation|.
    severe_tv : float or Fraction
        The draft's severe disagreement at a routine step: it takes that much from the usual wording to what the target hardly
        ever says, so that TV(p, q) there is routine_tv + severe_tv.
    harm : float or Fraction
        The share of ``severe_tv`` that is on the absurd token, a slip; the rest is on an odd wording, which does no harm.
    exact : bool
        Whether rows hold Fractions, so that every result does, or floats. A float beside exact rows stands for the binary number
        that it is: write ``Fraction(9, 10)``.

    Raises
    ------
    ValueError
        For a parameter out of its range, with the range.

    Notes
    -----
    Plain sampling has a closed form: with n = difficulty, m = opening + n routine, s_r and s_d the chances of a slip at a routine
    and at a decisive step, and r the recovery, Pass@1 = (1 - s_r (1 - r))^m (1 - s_d (1 - r))^n. The target has s_r = noise and
    s_d = 1 - skill; the draft noise + harm severe_tv and 1 - skill - temptation + overconfidence; the target without its absurd
    token 0 and temptation/(skill + temptation). A decoder whose bonus comes from p has no such form: it mixes laws by place in
    the block. There the factors are matrices on that place, one for each kind of step.

    Why a truncation-based verifier loses more on hard problems: it cuts noise, at every step, as the truncated target does; but
    at a decisive step it takes the draft's odds of the tempting token, which is allowed, for the target's. With few decisive
    steps the first outweighs the second in a comparison with the full target, and hides it. With very many, all fail.

    Examples
    --------
    >>> from theory.blocks import Tokenwise
    >>> from theory.sequences import Decoder, Plain
    >>> from theory.truncation import MinP
    >>> from theory.verifiers import SpecCascade
    >>> problem, half = ReasoningChain(difficulty=4), Fraction(1, 2)
    >>> cascade = Decoder(Tokenwise(SpecCascade(half)), gamma=4)
    >>> sources = Plain(truncation=MinP(half)), Plain(), cascade, Plain("draft")
    >>> [round(float(problem.pass_1(source)), 4) for source in sources]
    [0.6864, 0.6468, 0.6396, 0.6022]
    """

    difficulty: int
    opening: int = 8
    routine: int = 2
    skill: Number = Fraction(38, 50)
    temptation: Number = Fraction(11, 50)
    variety: Number = Fraction(2, 5)
    noise: Number = Fraction(1, 200)
    recovery: Number = Fraction(3, 5)
    routine_tv: Number = Fraction(1, 20)
    overconfidence: Number = Fraction(13, 50)
    severe_tv: Number = Fraction(0)
    harm: Number = Fraction(0)
    exact: bool = True

    def __post_init__(self) -> None:
        for name in ("difficulty", "opening", "routine"):
            parameters.check_count(name, getattr(self, name), 0)
        for name in _NUMBERS:
            parameters.check(name, getattr(self, name), "[0, 1]")
        number = self._numbers
        for names, most, allowed in (
            (("skill", "temptation"), 1, "1"),
            (("variety", "noise", "routine_tv"), 1, "1"),
            (("variety", "noise", "routine_tv", "severe_tv"), 1, "1"),
            (("overconfidence",), number["skill"] + number["temptation"], "skill + temptation"),
        ):
            together = sum(number[name] for name in names)
            if together > most:
                more = "" if allowed == "1" else f" = {most}"
                raise ValueError(f"{' + '.join(names)} = {together}: must be at most {allowed}{more}")
        if not self.steps:
            raise ValueError(f"opening = {self.opening} and difficulty = {self.difficulty}: a problem has at least one step")

    @property
    def steps(self) -> int:
        """Steps of the problem, tokens of a text without slips."""
        return self.opening + self.difficulty * (self.routine + 1)

    @property
    def longest(self) -> int:
        """Tokens after which every text has solved the problem or lost it: a slip and its correction at each step."""
        return 2 * self.steps

    @property
    def plan(self) -> tuple[bool, ...]:
        """The steps, whether each is decisive."""
        return (False,) * self.opening + ((False,) * self.routine + (True,)) * self.difficulty

    @cached_property
    def pair(self) -> Pair:
        """The target and the draft."""
        n = self._numbers
        known = n["skill"] + n["temptation"]
        usual, right = 1 - (n["variety"] + n["noise"]), known - n["overconfidence"]
        drafted = 1 - (n["variety"] + n["noise"] + n["routine_tv"] + n["severe_tv"])
        odd, absurd = n["severe_tv"] * (1 - n["harm"]), n["severe_tv"] * n["harm"]
        slipped = [n["recovery"], 0, 1 - n["recovery"], 0]
        target = (
            [usual, n["variety"], 0, n["noise"]],
            [n["skill"] / 2, n["skill"] / 2, n["temptation"], 1 - known],
            slipped,
        )
        draft = (
            [drafted, n["variety"] + n["routine_tv"], odd, n["noise"] + absurd],
            [right / 2, right / 2, n["overconfidence"], 1 - known],
            slipped,
        )
        return Pair(*(Reasoner(self.plan, *map(self._row, rows)) for rows in (target, draft)))

    @cached_property
    def _numbers(self) -> dict[str, Any]:
        """The parameters in the arithmetic of the rows."""
        return {name: parameters.carry(getattr(self, name), self._one) for name in _NUMBERS}

    @property
    def _one(self) -> Array:
        return np.array([Fraction(1) if self.exact else 1.0])

    def _row(self, row: list[Any]) -> Array:
        return probs.check_rows(np.array([entry * self._one[0] for entry in row], dtype=self._one.dtype), "row")

    def solved(self, state: PairState) -> bool:
        """Whether a state of the pair is that of a solved problem."""
        return state[0] == (self.steps, Track.ON)

    def pass_1(self, source: Source) -> Any:
        """Pass@1: the probability that a source of text solves the problem.

        Parameters
        ----------
        source : Plain or Decoder
            Such as ``Plain()``, ``Plain("draft")``, ``Plain(truncation=MinP(0.5))`` or ``Decoder(Tokenwise(Lenience(0.4)), 10)``.

        Returns
        -------
        float or Fraction
            A probability, without sampling or rounding on Fractions.

        Notes
        -----
        What `theory.sequences.reach_probability` gives for `solved` within `longest` tokens, as a product of matrices: a step
        leads on without a slip or with one that is noticed, A + S C, with A, S and C how the tokens accepted so far move by a
        token that is right, by a slip, and by a correction. The steps of one kind share a matrix, so that cost grows with the
        logarithm of their number.

        Examples
        --------
        >>> from theory.sequences import Plain
        >>> ReasoningChain(difficulty=1, opening=0, routine=0, recovery=0).pass_1(Plain())
        Fraction(19, 25)
        """
        step, slipped = self._moves(source)
        routine, decisive = (step[kind].right + step[kind].wrong @ slipped.right for kind in (False, True))
        power = np.linalg.matrix_power
        stage = power(routine, self.routine) @ decisive
        return (power(routine, self.opening) @ power(stage, self.difficulty))[0].sum() * self._one[0]

    def pass_at_k(self, source: Source, k: int) -> Any:
        """Pass@k of this one problem, 1 - (1 - Pass@1)^k; for many problems give their Pass@1 to `theory.sequences.pass_at_k`."""
        return sequences.pass_at_k(self.pass_1(source), k)

    def effort(self, decoder: Decoder) -> Effort:
        """Tokens and target calls that a problem takes in the long run, one after another; a lost problem is given up at once.

        Parameters
        ----------
        decoder : Decoder
            Token-wise.

        Returns
        -------
        Effort
            Their means, floats or Fractions.

        Notes
        -----
        Blocks run on from a problem into the next, so that a problem begins with some tokens of a block accepted; those have a
        stationary law. A target call is made at each place where none is.

        Examples
        --------
        >>> from theory.blocks import Tokenwise
        >>> from theory.verifiers import Strict
        >>> found = ReasoningChain(difficulty=1, recovery=1).effort(Decoder(Tokenwise(Strict()), 4))
        >>> found.tokens, round(float(found.calls), 4)  # 11 steps, 10 with noise 1/200, and a correction after each slip
        (Fraction(1129, 100), 2.4849)
        """
        step, slipped = self._moves(decoder)
        here = np.eye(decoder.gamma + 1, dtype=int) * self._one[0]
        tokens, calls, then = 0 * here[0], 0 * here[0], 0 * here
        for decisive in self.plan:
            right, wrong = step[decisive]
            slip = here @ wrong
            tokens, calls = tokens + (here + slip).sum(axis=1), calls + (here + slip)[:, 0]
            here, then = here @ right + slip @ slipped.right, then + slip @ slipped.wrong
        start = linear.stationary(then + here)
        return Effort(start @ tokens, start @ calls)

    def block_efficiency(self, decoder: Decoder) -> Any:
        """Tokens per target call in the long run, in [1, gamma + 1]; see `effort`.

        Examples
        --------
        >>> from theory.blocks import Tokenwise
        >>> from theory.verifiers import CoS, Strict
        >>> problem = ReasoningChain(difficulty=1, severe_tv=Fraction(1, 5), harm=Fraction(1, 2))
        >>> [round(float(problem.block_efficiency(Decoder(Tokenwise(rule), 4))), 3) for rule in (Strict(), CoS(Fraction(1, 2)))]
        [3.197, 4.01]
        """
        tokens, calls = self.effort(decoder)
        return tokens / calls

    def _moves(self, source: Source) -> tuple[dict[bool, _Moves], _Moves]:
        """Give the moves of a source at a step that is routine (False) or decisive (True), and after a slip."""
        p, q = self.pair.target, self.pair.draft
        assert isinstance(p, Reasoner)
        assert isinstance(q, Reasoner)
        step = {
            False: _moves(source, p.routine, q.routine, slips(decisive=False)),
            True: _moves(source, p.decisive, q.decisive, slips(decisive=True)),
        }
        return step, _moves(source, p.slipped, q.slipped, tuple(token for token in Token if token != Token.USUAL))


def _moves(source: Source, p: Array, q: Array, wrong: tuple[Token, ...]) -> _Moves:
    """Give the moves of a source at a step with these rows, of which some tokens are wrong."""
    here = iid(p, q)
    # Not a decoder's own chain, which is shorter where a step is verified without loss: factors of a product must fit each other.
    chain = hidden_chain(source.block, here, source.gamma) if isinstance(source, Decoder) else source.chain(here)  # type: ignore[arg-type]
    kept, ended = chain.accepted[0], chain.ended[0]
    matrices = []
    for slip in (False, True):
        tokens = [token for token in Token if (token in wrong) == slip]
        matrix = np.diag(kept[:-1, tokens].sum(axis=1), 1)
        matrix[:, 0] = matrix[:, 0] + ended[:, tokens].sum(axis=1)
        matrices.append(matrix)
    return _Moves(*matrices)
