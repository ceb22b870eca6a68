"""The tools for other people's tests: what they draw, and that they shrink to one smallest case and print it as a test."""

from dataclasses import dataclass
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings

import theory
from tests import cases, faults
from theory import probs, testing
from theory.models import Markov, Pair, Table, iid
from theory.testing import report

UNSHRUNK = settings(max_examples=1000, phases=[Phase.generate], derandomize=True, database=None)
"""That a case is found is the point, not how small it is."""


@given(testing.pairs())
def test_rational_pairs_are_pairs(pair):
    p, q = probs.check_pair(*pair)
    assert p.dtype == q.dtype == object


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_float_pairs_are_pairs_of_their_type(dtype):
    @given(testing.pairs(rows=lambda size: testing.float_rows(size, dtype)))
    def check(pair):
        p, q = probs.check_pair(*pair)
        assert p.dtype == q.dtype == dtype

    check()


@pytest.mark.parametrize("rows", [testing.rational_rows, testing.float_rows])
@pytest.mark.parametrize(
    "wanted",
    [
        lambda p, q: p.size == 1,
        lambda p, q: p.size > 2 and list(p) == list(q),
        lambda p, q: p.size > 2 and not any((p > 0) & (q > 0)),
        lambda p, q: p.size > 2 and q.max() == 1 and p.max() < 1,
        lambda p, q: p.size > 2 and p.max() == 1 and q.max() < 1,
        lambda p, q: p.size > 2 and len(set(p)) < p.size and min(p) > 0,
        lambda p, q: any((p == 0) & (q == 0)),
        lambda p, q: p.size > 2 and sorted(p) == sorted(q) and list(p) != list(q),
    ],
)
def test_the_widest_domain_is_drawn(rows, wanted):
    assert find(testing.pairs(rows=rows), lambda pair: bool(wanted(*pair)), settings=UNSHRUNK) is not None


def test_float_rows_reach_subnormal_masses():
    assert find(testing.float_rows(3), lambda row: bool((row < 1e-308).any() and (row[row < 1e-308] > 0).any())) is not None


# --- lossless, and other laws ------------------------------------------------------------------------------------------------


def shown(error):
    """The rows that a message shows."""
    said = str(error.value).partition(report.AS_A_TEST)[0]
    return dict(line.strip().split(" = ", 1) for line in said.splitlines() if " = [" in line)


def printed(error):
    """The test at the end of a message."""
    _, found, code = str(error.value).partition(f"{report.AS_A_TEST}\n\n")
    assert found
    return code


def run(code, **names):
    """Run a printed test, as pytest would."""
    namespace = dict(names)
    exec(code, namespace)
    (test,) = (thing for name, thing in namespace.items() if name.startswith("test_") and callable(thing))
    test()


def test_the_falsifying_pair_is_small():
    with pytest.raises(AssertionError) as caught:
        testing.assert_lossless(cases.TwiceLenient())
    lines = shown(caught)
    assert set(lines) == {"p", "q", "induced", "wanted"}
    assert (lines["p"], lines["q"]) == ("[1/2, 1/2]", "[1, 0]")


def test_it_stops_at_one_case_and_says_no_more():
    with pytest.raises(AssertionError) as caught:
        testing.assert_lossless(Faulty("two things"))
    assert not hasattr(caught.value, "__notes__")
    assert not isinstance(caught.value, BaseExceptionGroup)
    assert str(caught.value).count(report.AS_A_TEST) == 1


@dataclass(frozen=True)
class Broken(theory.TokenVerifier):
    a: F = F(1)
    scale: F = F(1)

    def acceptance(self, p, q):
        return self.a * q**0

    def residual(self, p, q):
        return self.scale * p


def test_laws_that_are_none_are_named():
    with pytest.raises(AssertionError, match=r"is no rule: .* acceptance\[0\] = 2: must be a probability, in \[0, 1\]"):
        testing.assert_law(Broken(a=F(2)), lambda p, q: q)
    with pytest.raises(AssertionError, match=r"is no rule: .* residual sums to 1/2"):
        testing.assert_law(Broken(scale=F(1, 2)), lambda p, q: q)


@dataclass(frozen=True)
class Faulty(theory.TokenVerifier):
    """Strict verification with one thing wrong in how its replacement is given."""

    how: str
    residual_depends_on_draft = True

    def acceptance(self, p, q):
        return theory.Strict().acceptance(p, q) if self.how != "negative" else q**0 / 2

    def residual(self, p, q):
        if self.how == "negative":
            return 2 * p - q
        if self.how == "axis":
            excess = np.maximum(p - q, 0)
            return excess / excess.sum() if excess.sum() else p
        if self.how == "first row":
            return np.broadcast_to(theory.Strict().residual(p, q).reshape(-1, p.shape[-1])[0], np.broadcast(p, q).shape)
        if self.how == "two things":
            return q if p.shape[-1] > 2 else p
        if self.how == "error":
            return p / (p - q).max() if p.shape[-1] == 2 else theory.Strict().residual(p, q)
        return theory.Strict().residual(p, q)

    def residual_given(self, p, q, drafted):
        if self.how == "contradiction":
            return np.broadcast_to(p, (*np.shape(drafted), p.shape[-1]))
        return np.broadcast_to(self.residual(p, q), (*np.shape(drafted), p.shape[-1]))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("negative", r"is no rule: .* residual\[\d\] = -\S+: must be a probability, at least 0"),
        ("contradiction", "residual is not the average of residual_given"),
        ("axis", r"is no rule on stacked rows: .* residual\[0\] sums to"),
        ("first row", "induces another law on stacked rows"),
        ("error", "raises ZeroDivisionError: .*; rows are Fractions here"),
    ],
)
def test_rules_that_only_look_lossless_are_caught(how, message):
    with pytest.raises(AssertionError, match=message) as caught:
        testing.assert_lossless(Faulty(how))
    with pytest.raises(AssertionError) as again:
        run(printed(caught))
    assert str(again.value) == str(caught.value)
    run(printed(caught).replace(f"Faulty(how='{how}')", "Faulty(how='none')"))


@pytest.mark.parametrize("truncation", [theory.TopK(4), theory.Epsilon(F(1, 20))], ids=str)
def test_rules_that_differ_on_few_rows_only_are_caught(truncation):
    with pytest.raises(AssertionError, match="does not induce the target"):
        testing.assert_lossless(theory.TruncationSampling(truncation), examples=600)


def test_assert_law_takes_any_law_and_fails_on_a_wrong_one():
    testing.assert_law(Broken(), lambda p, q: q)
    with pytest.raises(AssertionError, match="does not induce the law"):
        testing.assert_law(Broken(), lambda p, q: p)


def test_a_law_of_another_length_is_no_law():
    with pytest.raises(AssertionError, match="does not induce the law"):
        testing.assert_law(Broken(), lambda p, q: [*q, 0])


def test_an_error_of_the_law_itself_is_no_fault_of_the_rule():
    with pytest.raises(ZeroDivisionError):
        testing.assert_law(Broken(), lambda p, q: p / 0)


# --- floats ---------------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class InFloats(theory.TokenVerifier):
    """Strict verification as an engine has it: in logarithms, right but for rounding; or replaced from p itself."""

    wrong: bool = False

    def acceptance(self, p, q):
        p, q = np.asarray(p, float), np.asarray(q, float)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(q > 0, np.exp(np.minimum(np.log(p) - np.log(q), 0)), 1.0)

    def residual(self, p, q):
        p, q = np.asarray(p, float), np.asarray(q, float)
        excess = np.maximum(p - q, 0)
        mass = excess.sum(axis=-1, keepdims=True)
        if self.wrong:
            return np.broadcast_to(p, excess.shape)
        return np.where(mass > 0, excess / np.where(mass > 0, mass, 1), p)


@pytest.mark.parametrize("dtype", [float, np.float32])
def test_an_implementation_in_floats_is_compared_within_a_tolerance(dtype):
    testing.assert_lossless(InFloats(), dtype=dtype, examples=100)
    testing.assert_law(InFloats(), lambda p, q: p, dtype=dtype, examples=20)
    testing.assert_consistent(InFloats(), dtype=dtype, examples=20)
    with pytest.raises(AssertionError, match="does not induce the target") as caught:
        testing.assert_lossless(InFloats(wrong=True), dtype=dtype)
    assert ("dtype=np.float32" in printed(caught)) == (dtype == np.float32)
    with pytest.raises(AssertionError) as again:
        run(printed(caught))
    assert str(again.value) == str(caught.value)
    run(printed(caught).replace("wrong=True", "wrong=False"))


@pytest.mark.parametrize("check", [testing.assert_lossless, testing.assert_consistent])
def test_floats_for_fractions_are_told_from_a_wrong_law(check):
    with pytest.raises(AssertionError, match="answers rows of Fractions with floats, in acceptance: with dtype=float"):
        check(InFloats())
    with pytest.raises(AssertionError, match=r"raises ValueError: mu = 0\.5: on Fractions .* and dtype=float is for rules"):
        check(theory.ContrastiveCoS(0.5))


@dataclass(frozen=True)
class Off(theory.TokenVerifier):
    """Accepts all but ``by`` of the drafts, and replaces those by token 0."""

    by: float

    def acceptance(self, p, q):
        return np.full(np.shape(q), 1 - self.by)

    def residual(self, p, q):
        return probs.indicator(np.arange(q.shape[-1]) == 0, np.broadcast_to(p, np.broadcast(p, q).shape))


def test_the_tolerance_is_what_it_says():
    testing.assert_law(Off(1e-9), lambda p, q: q, dtype=float, examples=50)
    testing.assert_law(Off(1e-5), lambda p, q: q, dtype=float, tolerance=1e-5, examples=50)
    with pytest.raises(AssertionError, match="does not induce the law"):
        testing.assert_law(Off(3e-9), lambda p, q: q, dtype=float)
    with pytest.raises(AssertionError, match="does not induce the law") as caught:
        testing.assert_law(Off(1e-4), lambda p, q: q, dtype=float, tolerance=1e-5)
    assert "tolerance=1e-05)" in printed(caught)
    testing.assert_lossless(theory.BlockVerification(), dtype=float, examples=10)
    testing.assert_lossless(theory.BlockVerification(), dtype=np.float32, examples=10)
    with pytest.raises(AssertionError, match="is not lossless at gamma ="):
        testing.assert_lossless(theory.GreedyBlock(), dtype=float)


# --- ready-made tests ---------------------------------------------------------------------------------------------------------


def test_the_printed_test_fails_for_the_same_reason_and_passes_for_a_right_rule():
    with pytest.raises(AssertionError) as caught:
        testing.assert_lossless(cases.TwiceLenient())
    assert printed(caught) == (
        "from fractions import Fraction as F\n"
        "\n"
        "from tests.cases import TwiceLenient\n"
        "from theory import testing\n"
        "\n"
        "\n"
        "def test_twice_lenient_lossless():\n"
        "    p = [F(1, 2), F(1, 2)]\n"
        "    q = [F(1), F(0)]\n"
        "    testing.assert_lossless(TwiceLenient(), pair=(p, q))"
    )
    with pytest.raises(AssertionError) as again:
        run(printed(caught))
    assert str(again.value) == str(caught.value)
    run(printed(caught).replace("tests.cases", "theory").replace("TwiceLenient", "Strict"))


def test_the_printed_test_of_another_law():
    with pytest.raises(AssertionError) as caught:
        testing.assert_law(theory.CoS(F(1, 2)), lambda p, q: p)
    with pytest.raises(AssertionError) as again:
        run(printed(caught))
    assert str(again.value) == str(caught.value)
    run(printed(caught).replace("CoS(lam=F(1, 2))", "CoS(lam=1)"))


@pytest.mark.parametrize("fault", [faults.UncappedLast(), faults.AnyAccepted()], ids=str)
def test_the_printed_test_of_a_block_rule(fault):
    with pytest.raises(AssertionError) as caught:
        testing.assert_lossless(fault)
    with pytest.raises(AssertionError) as again:
        run(printed(caught))
    assert str(again.value) == str(caught.value)
    name = type(fault).__name__
    run(printed(caught).replace("tests.faults", "theory.blocks").replace(name, "BlockVerification"))


def test_models_of_every_kind_are_written():
    pair = Pair(Table({(): [F(1, 2), F(1, 2)], (0,): [F(1), F(0)]}, [F(0), F(1)]), Markov([[F(1), F(0)], [F(1, 3), F(2, 3)]]))
    code = report.test_of(theory.BlockVerification(), "assert_lossless", {"pair": pair}, "pair=pair, gamma=2")
    assert "from theory.models import Markov, Pair, Table\n" in code
    run(code)
    run(code.replace("Pair(", "check(").replace("theory.models import Markov, check(", "theory.models import"), check=Pair)


def test_a_rule_in_a_file_is_named_there(tmp_path):
    file = tmp_path / "mine.py"
    body = (
        "from dataclasses import dataclass\nimport theory\n\n"
        "@dataclass(frozen=True)\nclass Mine(theory.TokenVerifier):\n    by: float\n"
        "    def acceptance(self, p, q):\n        return theory.Strict().acceptance(p, q)\n"
        "    def residual(self, p, q):\n        return {}\n"
    )
    file.write_text(body.format("p"))
    with pytest.raises(AssertionError, match="does not induce the target") as caught:
        testing.assert_lossless(f"{file}:Mine:0.3")
    assert f"testing.assert_lossless('{file}:Mine:0.3', pair=(p, q))" in printed(caught)
    with pytest.raises(AssertionError, match="does not induce the target"):
        run(printed(caught))
    file.write_text(body.format("theory.Strict().residual(p, q)  # right"))
    run(printed(caught))


def test_a_rule_that_cannot_be_imported_says_so():
    @dataclass(frozen=True)
    class Local(theory.TokenVerifier):
        def acceptance(self, p, q):
            return q**0

        def residual(self, p, q):
            return p

    with pytest.raises(AssertionError) as caught:
        testing.assert_lossless(theory.Tokenwise(Local()))
    assert "# Local cannot be imported from where it is: put this beside it" in printed(caught)
    with pytest.raises(AssertionError, match="is not lossless"):
        run(printed(caught), Local=Local)
    assert report.Code().of(NoDataclass()) == "NoDataclass()"
    assert report.Code().of(NoDataclass(1)) == "NoDataclass(...)"


class NoDataclass:
    def __init__(self, state=None):
        if state is not None:
            self.state = state


# --- rules by name, and arguments that are none --------------------------------------------------------------------------------


def test_rules_are_taken_by_name():
    for name in ("strict", "tokenwise:strict", "strict,bonus=relaxed", "theory.blocks:HierarchicalVerification"):
        testing.assert_lossless(name, examples=5)
        testing.assert_consistent(name, examples=2, draws=1000)
    testing.assert_law("cos:1/3", lambda p, q: (p + 2 * q) / 3, examples=20)
    with pytest.raises(AssertionError, match=r"^Lenience\(lenience=0\.5\) does not induce the target"):
        testing.assert_lossless("lenience:0.5")
    with pytest.raises(AssertionError, match=r"^Tokenwise\(verifier=Lenience\(lenience=0\.5\), .* is not lossless at gamma = 1"):
        testing.assert_lossless("tokenwise:lenience:0.5")


HALF = [F(1, 2), F(1, 2)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: testing.assert_lossless("nothing"), "no block verifier or token verifier is called 'nothing'"),
        (lambda: testing.assert_law("block", lambda p, q: p), "no verifier is called 'block'"),
        (lambda: testing.assert_lossless(theory.Strict), "verifier = Strict: is a class"),
        (lambda: testing.assert_consistent(theory.BlockVerification), "verifier = BlockVerification: is a class"),
        (lambda: testing.assert_consistent(3), "verifier = 3: must be a TokenVerifier"),
        (lambda: testing.assert_lossless("strict", dtype=int), "dtype = <class 'int'>: must be Fraction, float"),
        (lambda: testing.assert_lossless("strict", tolerance=1e-9), "tolerance = 1e-09: Fractions are compared exactly"),
        (lambda: testing.assert_lossless("strict", dtype=float, tolerance=-1), "tolerance = -1: must be a number in"),
        (lambda: testing.assert_lossless("strict", max_size=0), "max_size = 0: must be a whole number"),
        (lambda: testing.assert_lossless("block", max_size=1), "max_size = 1: must be a whole number of at least 2"),
        (lambda: testing.assert_lossless("block", max_size=30), "30 tokens and gamma = 3 make 810,000 texts"),
        (lambda: testing.assert_lossless("strict", examples=0), "examples = 0: must be a whole number"),
        (lambda: testing.assert_lossless("strict", gamma=2), "gamma = 2: strict is a token rule"),
        (lambda: testing.assert_lossless("block", gamma=0), "gamma = 0: must be a whole number"),
        (lambda: testing.assert_lossless("strict", pair=iid(HALF, HALF)), r"pair = Pair\(.*must be rows \(p, q\)"),
        (lambda: testing.assert_lossless("strict", pair=(HALF, [HALF])), r"pair has rows of shapes \(2,\) and \(1, 2\)"),
        (lambda: testing.assert_lossless("strict", pair=(HALF, [F(1)])), "p has 2 tokens and q has 1"),
        (lambda: testing.assert_lossless("block", pair=(HALF, HALF)), "pair = .*must be a Pair of models, since block is"),
        (lambda: testing.assert_consistent("strict", draws=0), "draws = 0: must be a whole number"),
        (lambda: testing.assert_consistent("strict", error=0), r"error = 0: must be a number in \(0, 1\)"),
    ],
)
def test_arguments_that_are_none_are_refused(call, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        call()


def test_one_pair_is_looked_at_in_its_own_type():
    for half in (HALF, [0.5, 0.5], np.array([0.5, 0.5], np.float32)):
        testing.assert_lossless("lenience:0.5", pair=(half, half))
        testing.assert_lossless("lenience:0.5,bonus=relaxed", pair=iid(half, half))
        testing.assert_consistent("lenience:0.5", pair=(half, half))
