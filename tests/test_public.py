"""What holds for every public function: rules are looked at and go by name, rows keep their type, wrong types are told.

The functions are found by walking the public names (`tests.public`), so that one added later is tested too.
"""

import contextlib
from dataclasses import dataclass
from fractions import Fraction as F

import numpy as np
import pandas as pd
import pytest

import theory
from tests import public
from theory import blocks, monte_carlo, probs
from theory.blocks import BlockVerified, BlockVerifier, Outcome, Tokenwise

FUNCTIONS = public.functions()
FRACTIONS = np.array([F(1, 2), F(3, 10), F(1, 5)]), np.array([F(1, 5), F(1, 5), F(3, 5)])

ROWS = ("p", "q", "first", "second", "rows", "pair")
"""Parameters that are rows, or made of them."""

ONLY_ASKS = ("resolve", "resolve_all", "believe", "find", "is_trace", "check")
"""Functions of rules that look at no law, and of rows that look at no row."""

SMALL = {"generations": 3, "population": 5, "resamples": 2, "examples": 5, "gammas": [1, 2]}
"""Options that make a call cheap; what they are of no matter here."""


def takes(*names):
    """Give the functions that have one of these parameters."""
    return {
        key: call
        for key, call in FUNCTIONS.items()
        if not (key.startswith("theory.testing") and set(names) == set(ROWS))  # which draw rows, and take none
        and {one.name for one in public.parameters_of(call)} & set(names)
        and call.__name__ not in ONLY_ASKS
    }


def call_with(call, known, **given):
    cheap = {name: value for name, value in SMALL.items() if name in {one.name for one in public.parameters_of(call)}}
    made = public.arguments(call, known, **(cheap | given))
    return call(*made.values()) if hasattr(call, "dispatch") else call(**made)


def test_every_module_of_the_package_that_is_public_is_walked():
    modules = {thing for name in theory.__all__ if type(thing := getattr(theory, name)) is type(theory)}
    assert modules <= set(public.MODULES)
    assert len(FUNCTIONS) > 120
    assert theory.compare in FUNCTIONS.values()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_arguments_of_every_public_function_are_known(name):
    public.arguments(FUNCTIONS[name], public.values())


# --- rules that are none ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Bad(theory.TokenVerifier):
    """Strict verification with one thing wrong; says in ``asked`` whether that was asked for."""

    how: str
    asked: list

    def acceptance(self, p, q):
        good = theory.Strict().acceptance(p, q)
        wrong = {"acceptance above 1": good + 1, "acceptance below 0": good - 1, "no acceptance": good[..., 0]}
        wrong["acceptance that is NaN"] = good * (np.nan if good.dtype != object else -1)
        return self._tell(wrong, good)

    def residual(self, p, q):
        good = theory.Strict().residual(p, q)
        wrong = {"residual below 0": 2 * good - good[..., ::-1] - p**0 / 8, "residual of another sum": good * 2}
        return self._tell(wrong, good)

    def procedure(self, p, q, drafted, rng):
        kept, token = theory.Strict().procedure(p, q, drafted, rng)
        wrong = {
            "a token beyond the vocabulary": (kept, token + p.size),
            "another token accepted": (np.ones_like(kept), (token + 1) % p.size),
            "no verdicts": (kept[:1], token),
        }
        return self._tell(wrong, (kept, token))

    def _tell(self, wrong, good):
        if self.how in wrong:
            self.asked.append(self.how)
        return wrong.get(self.how, good)


BAD = (
    "acceptance above 1",
    "acceptance below 0",
    "acceptance that is NaN",
    "no acceptance",
    "residual below 0",
    "residual of another sum",
    "a token beyond the vocabulary",
    "another token accepted",
    "no verdicts",
)


@dataclass(frozen=True)
class BadBlock(BlockVerifier):
    """Token-wise strict verification with one thing wrong."""

    how: str
    asked: list

    def outcomes(self, draft):
        first, *others = Tokenwise(theory.Strict()).outcomes(draft)
        chance, kept, law = first
        wrong = {
            "probabilities of another sum": Outcome(chance / 2, kept, law),
            "a probability below 0": Outcome(-chance, kept, law),
            "more kept than drafted": Outcome(chance, draft.gamma + 5, law),
            "a part of a token kept": Outcome(chance, 0.5, law),
            "a law of another sum": Outcome(chance, kept, law * 2),
            "a law of other tokens": Outcome(chance, kept, law[1:]),
        }
        if self.how in wrong:
            self.asked.append(self.how)
        return (wrong.get(self.how, first), *others)

    def verify(self, draft, rng):
        kept, token = Tokenwise(theory.Strict()).verify(draft, rng)
        wrong = {
            "five more kept": BlockVerified(kept + draft.gamma + 5, token),
            "a token that there is not": BlockVerified(kept, token + draft.size),
            "one path only": BlockVerified(kept[:1], token[:1]),
        }
        if self.how not in wrong:
            return super().verify(draft, rng)
        self.asked.append(self.how)
        return wrong[self.how]


BAD_BLOCKS = (
    "probabilities of another sum",
    "a probability below 0",
    "more kept than drafted",
    "a part of a token kept",
    "a law of another sum",
    "a law of other tokens",
    "five more kept",
    "a token that there is not",
    "one path only",
)


def refusal(call):
    """Give what a call says where it refuses, else nothing."""
    try:
        call()
    except (ValueError, AssertionError) as error:
        return str(error)
    return ""


def check_refusal(call, rule):
    """Check that a call refuses a rule by its name if it has asked for what is wrong with it."""
    said = refusal(call)
    assert type(rule).__name__ in said or not (said or rule.asked), f"{rule.how}, asked for {len(rule.asked)} times: {said!r}"


def mostly_slow(kinds):
    """Give the kinds, all but the first and the last of which only CI tries on every function."""
    return [pytest.param(kind, marks=[] if kind in (kinds[0], kinds[-1]) else pytest.mark.slow) for kind in kinds]


@pytest.mark.parametrize("how", mostly_slow(BAD))
@pytest.mark.parametrize("name", takes(*public.RULES))
def test_no_public_function_believes_a_rule_that_is_none(name, how):
    rule = Bad(how, [])
    check_refusal(lambda: call_with(FUNCTIONS[name], public.values(rule)), rule)


@pytest.mark.parametrize("how", mostly_slow(BAD_BLOCKS))
@pytest.mark.parametrize("name", takes("block", "rules", "source"))
def test_no_public_function_believes_a_block_rule_that_is_none(name, how):
    rule = BadBlock(how, [])
    check_refusal(lambda: call_with(FUNCTIONS[name], public.values(rule)), rule)


@pytest.mark.parametrize("how", BAD)
def test_the_methods_of_a_rule_that_is_none_refuse_it(how):
    rng, refused = np.random.default_rng(0), []
    for method, arguments in (("law", ()), ("induced", ()), ("acceptance_rate", ()), ("verify", ([0, 1, 2, 2], rng))):
        rule = Bad(how, [])
        said = refusal(lambda rule=rule, method=method, rest=arguments: getattr(rule, method)(public.P, public.Q, *rest))
        assert "Bad" in said or not rule.asked, f"{method} believes {how}"
        refused.append(bool(said))
    assert any(refused)


@pytest.mark.parametrize("how", BAD_BLOCKS)
def test_each_wrong_thing_of_a_block_rule_is_refused(how):
    pair, rng = theory.models.iid(public.P, public.Q), np.random.default_rng(0)
    with pytest.raises(ValueError, match="BadBlock"):
        monte_carlo.block_efficiency(BadBlock(how, []), pair, 1, 100, rng)


def test_the_place_of_a_wrong_answer_is_that_in_the_caller_s_rows():
    @dataclass(frozen=True)
    class Late(theory.TokenVerifier):
        def acceptance(self, p, q):
            return np.where(p[..., :1] > 0.9, 1.5, 1) * np.ones_like(p)

        def residual(self, p, q):
            return p

    p = np.full((500, 2000), 1 / 2000)
    p[444] = [0.95, *[0.05 / 1999] * 1999]
    with pytest.raises(ValueError, match=r"Late: acceptance\[444, 0\] = 1.5: must be a probability"):
        theory.compare(Late(), p, p[::-1], resamples=2)
    with pytest.raises(theory.verifiers.RuleError, match=r"acceptance\[444, 0\]"):
        theory.exact.acceptance_rate(Late(), p, p[::-1])


def test_the_package_s_own_rules_pass_the_look_that_they_are_spared(monkeypatch):
    from tests import cases
    from theory.verifiers import checks

    monkeypatch.setattr(checks, "_believed", set())
    for rule in cases.FLOATS:
        assert not checks.is_believed(rule)
        for dtype in (np.float64, np.float32):
            p, q = (np.stack([row, row[::-1]]).astype(dtype) for row in (public.P, public.Q))
            law = rule.checked_law(p, q)
            np.testing.assert_allclose(law.induced.sum(axis=-1), 1, atol=1e-5)
            rule.verify(p[0], q[0], np.arange(3), np.random.default_rng(0))
    for rule in map(blocks.parse, ("strict", "lenience:0.4", "block", "hierarchical", "greedy-block")):
        monte_carlo.block_efficiency(rule, theory.models.iid(public.P, public.Q), 2, 100, np.random.default_rng(0))
        theory.exact.block_efficiency(rule, theory.models.random(3, seed=0), 2)


def test_a_believed_rule_is_looked_at_no_more():
    @dataclass(frozen=True)
    class Trusted(Bad):
        pass

    rule = Trusted("residual of another sum", [])
    with pytest.raises(ValueError, match="residual"):
        rule.induced(public.P, public.Q)
    theory.verifiers.believe(Trusted)
    assert rule.induced(public.P, public.Q).sum() > 1


# --- rules by name --------------------------------------------------------------------------------------------------------


def same(left, right):
    if isinstance(left, pd.DataFrame):
        pd.testing.assert_frame_equal(left, right)
    elif isinstance(left, tuple | list):
        assert len(left) == len(right)
        for one, other in zip(left, right, strict=True):
            same(one, other)
    elif isinstance(left, dict):
        same(list(left.items()), list(right.items()))
    elif hasattr(left, "__dataclass_fields__"):
        for field in left.__dataclass_fields__:
            if not callable(getattr(left, field)):
                same(getattr(left, field), getattr(right, field))
    else:
        np.testing.assert_array_equal(left, right)


REGISTERS = ("theory.failure.derive", "theory.failure.derive_for")
"""Tables by class, which have nothing for a rule that has not registered."""


@pytest.mark.parametrize("name", sorted(takes("verifier", "verifiers", "block", "rules").keys() - REGISTERS))
def test_a_rule_of_one_s_own_goes_everywhere_by_its_name_too(name, request):
    text = f"{public.MINE}:Mine:0.5"
    results = []
    for rule in (text, theory.parse(text)):
        try:
            results.append(call_with(FUNCTIONS[name], public.values(rule)))
        except AssertionError as found:  # of those that assert, and are right: the rule is not lossless
            results.append(np.array(str(found)))
    same(*results)


# --- rows -----------------------------------------------------------------------------------------------------------------

SAID = {"Fractions are kept": True, "Fractions are taken to float64": False}
"""What a docstring says of Fractions, and whether the result then has some."""


def has_fractions(found):
    if isinstance(found, F):
        return True
    if isinstance(found, np.ndarray):
        return found.dtype == object and any(isinstance(value, F) for value in found.ravel())
    if isinstance(found, pd.DataFrame | pd.Series):
        return any(has_fractions(np.asarray(column)) for _, column in pd.DataFrame(found).items())
    if isinstance(found, tuple | list):
        return any(map(has_fractions, found))
    if isinstance(found, dict):
        return any(map(has_fractions, found.values()))
    if hasattr(found, "__dataclass_fields__"):
        return any(has_fractions(getattr(found, field)) for field in found.__dataclass_fields__)
    return False


@pytest.mark.parametrize("name", takes(*ROWS))
def test_what_becomes_of_fractions_is_what_the_docstring_says(name):
    call = FUNCTIONS[name]
    said = [kept for words, kept in SAID.items() if words in " ".join(call.__doc__.split())]
    assert len(said) == 1, f"{name}: its docstring must say one of: {'; '.join(SAID)}"
    found = call_with(call, public.values("lenience:1/2", FRACTIONS))
    if found is not None:
        assert has_fractions(found) == said[0]


@pytest.mark.parametrize("name", takes(*ROWS))
def test_16_bit_rows_are_taken_within_their_tolerance(name):
    rounded = tuple(np.array(row, dtype=np.float16) / np.float16(40) for row in ([1, 2, 37], [37, 1, 2]))
    assert all(abs(row.astype(float).sum() - 1) > 1e-4 for row in rounded), "as float32 rows they would be refused"
    call_with(FUNCTIONS[name], public.values("lenience:0.5", rounded))
    bad = tuple(1.01 * row for row in rounded)
    if name not in ("theory.sources.is_trace", "theory.sources.rows"):  # which read nothing yet
        with pytest.raises(
            ValueError, match=r"sums? .*float16 row must sum to 1 within 0.002; theory.normalise rescales on purpose"
        ):
            call_with(FUNCTIONS[name], public.values("lenience:0.5", bad))


# --- wrong types ----------------------------------------------------------------------------------------------------------

WRONG = [None, 3, -1, 2.5, float("nan"), "no such thing", object(), [], {}, lambda: 0, np.zeros((2, 2)), True]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_value_of_a_wrong_type_is_refused_as_a_value(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where a function that writes a file may
    call = FUNCTIONS[name]
    for parameter in public.parameters_of(call):
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD) or parameter.name == "workers":
            continue
        for wrong in WRONG:
            if callable(wrong) and parameter.name in ("goal", "row_of", "law"):
                continue  # that is a function, whatever it does when it is called
            with contextlib.suppress(ValueError, OSError, AssertionError):
                try:
                    call_with(call, public.values("lenience:0.5"), **{parameter.name: wrong})
                except (TypeError, AttributeError, LookupError, ArithmeticError) as error:
                    pytest.fail(f"{parameter.name} = {wrong!r}: {type(error).__name__}: {error}")


def test_what_is_no_row_of_probabilities_is_never_guessed():
    with pytest.raises(ValueError, match=r"p\[1\] = -1.0: a number of at least 0 must stand here"):
        theory.compare("strict", [2.0, -1.0], [0.5, 0.5])
    np.testing.assert_allclose(probs.from_logits([2.0, -1.0]), np.exp([2, -1]) / np.exp([2, -1]).sum())
