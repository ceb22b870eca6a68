"""That a rule which contradicts itself is told so, whatever it contradicts itself in, and that the package's rules do not.

Procedures are judged at a failure probability of 1e-9 a call, so that fewer than a hundred calls fail with less than 1e-7; the
random numbers are a function of the rows, so that what passes passes again.
"""

import math
import os
from dataclasses import dataclass
from fractions import Fraction as F

import numpy as np
import pytest
from scipy import stats

import theory
from tests import cases, faults
from tests.test_blocks import LOSSLESS, LOSSY
from tests.test_testing import printed, run, shown
from theory import testing
from theory.blocks import BlockVerified, BlockVerifier, Outcome
from theory.models import iid
from theory.testing.procedures import Trial
from theory.verifiers import TokenVerifier, Verified
from theory.verifiers.base import Law, replace

EXAMPLES = 30 if os.environ.get("CI") else 8
FEW = 12 if os.environ.get("CI") else 4
IRRATIONAL = [case for case in cases.FLOATS if case not in cases.RATIONAL]

# --- the rules of the package -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rule", cases.ONE_EACH, ids=str)
def test_token_rules_are_consistent_in_fractions(rule):
    testing.assert_consistent(rule, examples=EXAMPLES)


@pytest.mark.parametrize("rule", [*cases.ONE_EACH, *IRRATIONAL], ids=str)
def test_token_rules_are_consistent_in_floats(rule):
    testing.assert_consistent(rule, examples=FEW, dtype=float)


@pytest.mark.parametrize("rule", [*LOSSLESS, *LOSSY], ids=str)
def test_block_rules_are_consistent(rule):
    testing.assert_consistent(rule, examples=FEW)
    testing.assert_consistent(rule, examples=FEW, dtype=float)


@pytest.mark.parametrize("rule", [*cases.CONTROLS, *faults.FAULTS], ids=str)
def test_what_is_lossy_may_still_agree_with_itself(rule):
    testing.assert_consistent(rule, examples=FEW)


@pytest.mark.parametrize("dtype", [float, np.float32])
def test_the_hierarchical_coin_is_no_more_than_1_in_floats(dtype):
    thirds = np.full(3, 1 / 3, dtype)
    testing.assert_consistent("hierarchical", pair=iid(np.array([1, 0, 0], dtype), thirds / thirds.sum()), gamma=2)


# --- token rules that contradict themselves -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Contradictory(TokenVerifier):
    """Strict verification, with what ``how`` names wrong, and all beside it right."""

    how: str = ""

    @property
    def residual_depends_on_draft(self):
        return self.how in ("average", "no law")

    def acceptance(self, p, q):
        if self.how == "writes":
            p[...] = q
        return 2 * q**0 if self.how == "outside" else theory.Strict().acceptance(p, q)

    def residual(self, p, q):
        if self.how == "stacked" and p.ndim > 1:
            return p[..., ::-1] + 0 * q
        if self.how == "broadcast" and p.ndim > q.ndim:
            return p
        return theory.Strict().residual(p, q)

    def residual_given(self, p, q, drafted):
        if self.how == "average":
            return np.broadcast_to(p, (*np.shape(drafted), p.shape[-1]))
        return super().residual_given(p, q, drafted) * (2 if self.how == "no law" else 1)

    def accepted(self, p, q):
        return q * p if self.how == "accepted" else super().accepted(p, q)

    def replaced(self, p, q, accepted, rejected):
        return rejected * p if self.how == "replaced" else super().replaced(p, q, accepted, rejected)

    def law(self, p, q):
        rate, rejected, induced = super().law(p, q)
        if self.how == "rates":
            return Law(rejected, rate, induced)
        return Law(rate, rejected, induced[..., ::-1] if self.how == "law" else induced)

    def acceptance_rate(self, p, q):
        rate = super().acceptance_rate(p, q)
        return rate**2 if self.how == "rate" else rate

    def induced(self, p, q):
        return q + 0 * p if self.how == "induced" else super().induced(p, q)


@dataclass(frozen=True)
class Match(TokenVerifier):
    """Exact match, whose replacement depends on the draft, whatever the rule says."""

    says: bool

    @property
    def residual_depends_on_draft(self):
        return self.says

    def acceptance(self, p, q):
        return theory.ExactMatch().acceptance(p, q)

    def residual(self, p, q):
        return theory.ExactMatch().residual(p, q)

    def residual_given(self, p, q, drafted):
        return theory.ExactMatch().residual_given(p, q, drafted)


@dataclass(frozen=True)
class Procedure(TokenVerifier):
    """Strict verification with a procedure of its own, right or wrong."""

    how: str = ""

    def acceptance(self, p, q):
        return theory.Strict().acceptance(p, q)

    def residual(self, p, q):
        return theory.Strict().residual(p, q)

    def procedure(self, p, q, drafted, rng):
        if self.how == "another rule's":
            return theory.ExactMatch().procedure(p, q, drafted, rng)
        accepted = rng.random(drafted.shape) * q[drafted] < (1.25 if self.how == "accepts" else 1) * p[drafted]
        if self.how == "raises" and not accepted.all():
            raise IndexError("of the procedure")
        if self.how == "writes":
            drafted[~accepted] = 0
        if self.how == "changes":
            return Verified(accepted, np.zeros_like(drafted))
        return replace(drafted, accepted, p if self.how == "replaces" else np.maximum(p - q, 0), p, rng)


PROCEDURE = "contradicts itself: its procedure has not the law of acceptance and residual: of"
READ_ONLY = "raises ValueError: assignment destination is read-only: rows and tokens belong to the caller"

CONTRADICTIONS = [
    (Contradictory("outside"), r"is no rule: .* acceptance\[0\] = 2: must be a probability"),
    (Contradictory("no law"), r"is no rule: .* residual_given\[0\] sums to 2"),
    (Contradictory("average"), "residual is not the average of residual_given over the rejected tokens"),
    (Contradictory("accepted"), "contradicts itself: accepted is not q times its acceptance"),
    (Contradictory("replaced"), "contradicts itself: replaced is not the rejected mass times its residual"),
    (Contradictory("law"), r"contradicts itself: law\.induced is not q a \+ R r"),
    (Contradictory("rates"), r"contradicts itself: law\.acceptance_rate is not Σ q a"),
    (Contradictory("rate"), "contradicts itself: acceptance_rate is not Σ q a"),
    (Contradictory("induced"), r"contradicts itself: induced is not q a \+ R r"),
    (Contradictory("stacked"), r"has another residual on stacked rows, of shapes \(2, \d\) and \(2, \d\), than row by row"),
    (Contradictory("broadcast"), r"has another residual on stacked rows, of shapes \(2, \d\) and \(\d,\), than row by row"),
    (Contradictory("writes"), READ_ONLY),
    (Match(says=False), r"residual_depends_on_draft is False, but residual_given of \d is not residual"),
    (
        Procedure("accepts"),
        rf"{PROCEDURE} \d+ drafted tokens \d it \D+.* \d+, where \S+ are expected; so far off has .* \S+e-\d+",
    ),
    (Procedure("replaces"), rf"{PROCEDURE} \d+ drafted tokens \d it replaced by \d \d+, where"),
    (Procedure("another rule's"), PROCEDURE),
    (Procedure("writes"), READ_ONLY),
    (Procedure("changes"), r"is no rule: .* token\[\d+\] = 0: must be 1, which was drafted and accepted"),
    (Procedure("raises"), "raises IndexError: of the procedure"),
]


@pytest.mark.parametrize(("rule", "message"), CONTRADICTIONS, ids=[str(rule) for rule, _ in CONTRADICTIONS])
def test_token_rules_that_contradict_themselves_are_told_so(rule, message):
    with pytest.raises(AssertionError, match=message) as caught:
        testing.assert_consistent(rule, max_size=3, examples=40)
    code = printed(caught)
    with pytest.raises(AssertionError) as again:
        run(code)
    assert str(again.value) == str(caught.value)
    right = code.replace("says=False", "says=True") if isinstance(rule, Match) else code.replace(f"how={rule.how!r}", "how=''")
    assert right != code
    run(right)


@pytest.mark.parametrize("rule", [Contradictory(), Procedure(), Match(says=True)], ids=str)
def test_the_same_rules_pass_where_nothing_is_wrong(rule):
    testing.assert_consistent(rule, examples=10)


class Moody(TokenVerifier):
    """Answers wrongly once."""

    def __init__(self):
        self.asked = 0

    def acceptance(self, p, q):
        self.asked += 1
        return (2 if self.asked == 30 else 1) * q**0

    def residual(self, p, q):
        return p


def test_an_answer_that_is_not_repeated_is_told_as_such():
    with pytest.raises(AssertionError, match=r"acceptance\[0\] = 2: .* \(not each time: asked again it answered otherwise\)"):
        testing.assert_consistent(Moody())


# --- block rules that contradict themselves -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Block(BlockVerifier):
    """Block verification with one thing wrong."""

    how: str = ""

    def outcomes(self, draft):
        right = theory.BlockVerification().outcomes(draft)
        first = right[0]
        if self.how == "sum":
            return (first._replace(probability=first.probability / 2), *right[1:])
        if self.how == "kept":
            return (first._replace(kept=first.kept + draft.gamma + 1), *right[1:])
        if self.how == "next_probs":
            return (first._replace(next_probs=first.next_probs / 2), *right[1:])
        if self.how == "floats":
            return tuple(Outcome(float(o.probability), o.kept, o.next_probs) for o in right)
        if self.how == "writes":
            draft.tokens[...] = 0
        return right

    def verify(self, draft, rng):
        rule = theory.Tokenwise(theory.Strict()) if self.how == "another rule's" else theory.BlockVerification()
        kept, token = rule.verify(draft, rng)
        if self.how == "beyond":
            return BlockVerified(kept + draft.gamma + 1, token)
        if self.how == "no token":
            return BlockVerified(kept, np.where(kept == draft.gamma, -1, token))
        if self.how == "mixed up" and draft.tokens.ndim > 1:
            return BlockVerified(kept[::-1], token[::-1])
        if self.how == "overwrites":
            draft.tokens[..., 0] = 0
        return BlockVerified(kept, token)


VERIFY = r"contradicts itself: its verify has not the law of outcomes at gamma = \d: of \d+ paths \[.*\] it kept"

BLOCK_CONTRADICTIONS = [
    ("sum", "is no rule: .* have probabilities that sum to"),
    ("kept", r"is no rule: .* outcomes\[0\]\.kept = \d: must be in 0\.\.\d"),
    ("next_probs", r"is no rule: .* outcomes\[0\]\.next_probs sums to 1/2"),
    ("floats", r"answers rows of Fractions with floats, in outcomes of \[.*\]: with dtype=float"),
    ("writes", READ_ONLY),
    ("beyond", r"is no rule: .* kept = \d+: must be in 0\.\."),
    ("another rule's", VERIFY),
    ("no token", rf"{VERIFY} \d tokens and drew (no token|token \d) for \d+, where \S+ are expected"),
    ("mixed up", VERIFY),
    ("overwrites", READ_ONLY),
]


@pytest.mark.parametrize(("how", "message"), BLOCK_CONTRADICTIONS)
def test_block_rules_that_contradict_themselves_are_told_so(how, message):
    with pytest.raises(AssertionError, match=message) as caught:
        testing.assert_consistent(Block(how), examples=30)
    code = printed(caught)
    with pytest.raises(AssertionError) as again:
        run(code)
    assert str(again.value) == str(caught.value)
    right = code.replace(f"how={how!r}", "how=''")
    assert right != code
    run(right)


def test_the_same_block_rule_passes_where_nothing_is_wrong():
    testing.assert_consistent(Block(), examples=FEW)


@dataclass(frozen=True)
class Ends(BlockVerifier):
    """Keeps everything, and ends without a token, as its outcomes say."""

    def outcomes(self, draft):
        rows, _, _ = draft.path()
        return (Outcome(rows[0].sum() ** 0, draft.gamma, None),)

    def verify(self, draft, rng):
        return BlockVerified(np.full(draft.tokens.shape[:-1], draft.gamma), np.full(draft.tokens.shape[:-1], -1))


def test_blocks_that_end_without_a_token_are_consistent():
    testing.assert_consistent(Ends(), examples=FEW)


# --- the judgement --------------------------------------------------------------------------------------------------------------


def test_right_counts_are_accused_no_more_often_than_is_said():
    """At error = 0.1, in 4000 trials; a binomial count above its bound has probability 1e-9."""
    rng = np.random.default_rng(50)
    law, drafted = np.array([[0.5, 0.3, 0.2], [0.0, 0.001, 0.999]]), np.array([200, 50])
    trial = Trial(draws=250, error=0.1, slack=0.0)
    accused = 0
    for _ in range(4000):
        counts = np.stack([rng.multinomial(n, row) for n, row in zip(drafted, law, strict=True)])
        accused += trial.most_improbable(counts, drafted, law, np.array([0.8, 0.2])) is not None
    assert 0 < accused <= stats.binom.isf(1e-9, 4000, 0.1)


def test_tails_are_those_of_the_binomial_law():
    law, counts, drafted = np.array([[F(1, 4), F(3, 4)]], dtype=float), np.array([[9, 1]]), np.array([10])
    trial = Trial(draws=10, error=0.5, slack=0.0)
    where, tail = trial.most_improbable(counts, drafted, law, np.array([1.0]))
    exact = sum(F(math.comb(10, k)) * F(1, 4) ** k * F(3, 4) ** (10 - k) for k in (9, 10))
    assert where in ((0, 0), (0, 1))
    assert tail == pytest.approx(float(exact), rel=1e-6)
    assert Trial(10, error=4 * tail * 0.999, slack=0.0).most_improbable(counts, drafted, law, np.array([1.0])) is None
    assert Trial(10, error=4 * tail * 1.001, slack=0.0).most_improbable(counts, drafted, law, np.array([1.0])) is not None


def test_what_cannot_happen_accuses_at_once_unless_rounding_explains_it():
    law, drafted = np.array([[0.0, 1.0]]), np.array([20_000])
    for count, slack, wrong in ((3, 0.0, True), (3, 1e-3, False), (0, 0.0, False)):
        counts = np.array([[count, 20_000 - count]])
        assert (Trial(20_000, 1e-11, slack).most_improbable(counts, drafted, law, np.array([1.0])) is not None) is wrong


def test_no_more_cases_are_tried_than_the_level_allows_for():
    seen = []

    @dataclass(frozen=True)
    class Seen(TokenVerifier):
        def acceptance(self, p, q):
            return theory.Strict().acceptance(p, q)

        def residual(self, p, q):
            return theory.Strict().residual(p, q)

        def verify(self, p, q, drafted, rng):
            seen.append((tuple(p), tuple(q), rng.bit_generator.state["state"]["state"]))
            return super().verify(p, q, drafted, rng)

    testing.assert_consistent(Seen(), examples=25)
    assert 0 < len(seen) <= 25
    before = list(seen)
    testing.assert_consistent(Seen(), examples=25)
    assert seen == 2 * before, "the same pairs, and the same random numbers for each"


def test_draws_and_error_are_repeated_in_the_printed_test():
    with pytest.raises(AssertionError, match=PROCEDURE) as caught:
        testing.assert_consistent(Procedure("replaces"), max_size=3, draws=5000, error=1e-6)
    assert shown(caught) == {"p": "[1/2, 1/2]", "q": "[1, 0]"}, "the smallest pair"
    assert "pair=(p, q), draws=5000, error=1e-06)" in printed(caught)
    with pytest.raises(AssertionError, match=r"of 5000 drafted"):
        run(printed(caught))
