"""For tests, other people's and our own: hypothesis strategies for rows, pairs and models, and assertions about rules.

`assert_lossless`, `assert_law` and `assert_consistent` search for a case on which a rule is not what it claims to be. They
compare exactly, in rational arithmetic, or within a tolerance, for rules that compute in floats; they stop at the smallest case
that they can find, and print it as a test that can be pasted into a file.

Needs the extra ``test`` (hypothesis); nothing else in the package imports this package.

Examples
--------
>>> import theory
>>> assert_lossless(theory.Strict(), examples=50)
>>> assert_lossless(theory.Lenience(0.5))  # doctest: +IGNORE_EXCEPTION_DETAIL +ELLIPSIS
Traceback (most recent call last):
AssertionError: Lenience(lenience=0.5) does not induce the target.
...
"""

from theory.testing.assertions import assert_consistent, assert_law, assert_lossless
from theory.testing.strategies import float_rows, model_pairs, pairs, rational_rows

__all__ = ["assert_consistent", "assert_law", "assert_lossless", "float_rows", "model_pairs", "pairs", "rational_rows"]
