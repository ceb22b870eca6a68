"""Accepted lengths of one block by the cheapest exact route: closed forms of i.i.d. pairs, else the walk over all paths."""

from typing import Any

import numpy as np

from theory import models, parameters
from theory.blocks import BlockVerifier, resolve
from theory.decode import enumeration, iid
from theory.decode.enumeration import AnyBlock
from theory.models import IID, Context, Pair
from theory.probs import Array


def length_pmf(block: AnyBlock, pair: Pair, gamma: int, context: Context = ()) -> Array:
    """Law of the accepted length τ of one block after ``context``; Fractions stay exact.

    Fractions are kept.

    Parameters
    ----------
    block : BlockVerifier, TokenVerifier or str
        The rule or its name (see `theory.blocks.parse`).
    pair : Pair
        Target and draft model.
    gamma : int
        Drafted tokens.
    context : tuple of int
        Tokens so far.

    Returns
    -------
    ndarray, shape (gamma + 1,)
        P(τ = 0), ..., P(τ = gamma).

    Raises
    ------
    ValueError
        Where neither route reaches: a pair that is not i.i.d., or a rule without a closed form, whose enumeration exceeds
        `theory.decode.enumeration.BUDGET`; the message names the Monte Carlo twin.

    Examples
    --------
    >>> from fractions import Fraction as F
    >>> from theory import models, parameters
    >>> pair = models.iid([F(1, 3), F(2, 3)], [F(2, 3), F(1, 3)])
    >>> [str(x) for x in length_pmf("block", pair, 2)]
    ['1/3', '1/9', '5/9']
    >>> len(length_pmf("lenience:0.5", models.iid([0.5, 0.5], [0.25, 0.75]), 200))
    201
    """
    rule = resolve(block)
    pmf = _closed_form(rule, pair, gamma, context)
    return enumeration.length_pmf(rule, pair, gamma, context) if pmf is None else pmf


def accepted_length(block: AnyBlock, pair: Pair, gamma: int, context: Context = ()) -> Any:
    """Compute the expected accepted length E[τ] of one block after ``context``, in tokens; parameters as for `length_pmf`.

    Fractions are kept.

    Examples
    --------
    >>> from theory import models, parameters
    >>> round(float(accepted_length("strict", models.iid([1 / 3, 2 / 3], [2 / 3, 1 / 3]), 200)), 6)
    2.0
    """
    rule = resolve(block)
    pmf = _closed_form(rule, pair, gamma, context)
    if pmf is None:
        return enumeration.accepted_length(rule, pair, gamma, context)
    return (pmf * np.arange(len(pmf))).sum()


def block_efficiency(block: AnyBlock, pair: Pair, gamma: int, context: Context = ()) -> Any:
    """Compute the expected tokens that one target call emits after ``context``: E[τ] + 1 for rules that always draw one more.

    Fractions are kept.

    Parameters are those of `length_pmf`.

    Examples
    --------
    >>> from theory import models, parameters
    >>> round(float(block_efficiency("strict", models.iid([1 / 3, 2 / 3], [2 / 3, 1 / 3]), 2)), 6)
    2.111111
    """
    rule = resolve(block)
    pmf = _closed_form(rule, pair, gamma, context)
    if pmf is None:
        return enumeration.block_efficiency(rule, pair, gamma, context)
    return 1 + (pmf * np.arange(len(pmf))).sum()


def _closed_form(rule: BlockVerifier, pair: Pair, gamma: int, context: Context) -> Array | None:
    """Give the law of the accepted length where a closed form has it; None where paths must be walked."""
    parameters.check_count("gamma", gamma)
    start = models.check(pair, context)
    if not (isinstance(pair.target, IID) and isinstance(pair.draft, IID) and iid.has_law(rule)):
        return None
    rows = pair.rows(start)
    try:
        return iid.length_pmf(rule, *rows, gamma)
    except iid.TooManyWeightsError:  # of joint verification, on a wide vocabulary
        if rows[0].size ** gamma > enumeration.BUDGET:
            raise
        return None
