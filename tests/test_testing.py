"""The tools for other people's tests: what they draw, and that they shrink to the smallest falsifying pair."""

from dataclasses import dataclass
from fractions import Fraction as F

import numpy as np
import pytest
from hypothesis import Phase, find, given, settings

import theory
from tests import cases
from theory import probs, testing

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


def test_the_falsifying_pair_is_small():
    with pytest.raises(AssertionError) as caught:
        testing.assert_lossless(cases.TwiceLenient())
    lines = dict(line.strip().split(" = ") for line in str(caught.value).splitlines() if " = [" in line)
    assert set(lines) >= {"p", "q", "induced", "wanted"}
    assert lines["p"].count(",") == 1, "two tokens suffice"


@dataclass(frozen=True)
class Broken(theory.TokenVerifier):
    a: F = F(1)
    scale: F = F(1)

    def acceptance(self, p, q):
        return self.a * q**0

    def residual(self, p, q):
        return self.scale * p


def test_laws_that_are_none_are_named():
    with pytest.raises(AssertionError, match=r"has acceptance\[0\] = 2, outside \[0, 1\]"):
        testing.assert_law(Broken(a=F(2)), lambda p, q: q)
    with pytest.raises(AssertionError, match="has a residual that sums to 1/2"):
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
        return theory.Strict().residual(p, q)

    def residual_given(self, p, q, drafted):
        if self.how == "contradiction":
            return np.broadcast_to(p, (*np.shape(drafted), p.shape[-1]))
        return np.broadcast_to(self.residual(p, q), (*np.shape(drafted), p.shape[-1]))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("negative", "below 0"),
        ("contradiction", "not the average of residual_given"),
        ("axis", "induces another law on stacked rows"),
    ],
)
def test_rules_that_only_look_lossless_are_caught(how, message):
    with pytest.raises(AssertionError, match=message):
        testing.assert_lossless(Faulty(how))


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
