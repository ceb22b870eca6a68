"""From rates to other rates, and to tokens per target call."""

from collections.abc import Iterable
from fractions import Fraction
from typing import TypeAlias

from theory import parameters
from theory.counts import checks
from theory.parameters import Number

Rates: TypeAlias = Iterable[Number | None]
"""Rates of positions 1, 2, ...; a conditional rate is None where no verdict was observed."""


def unconditional_from_conditional(conditional: Rates) -> tuple[Number, ...]:
    """Products of conditional rates: u_i = c_1 c_2 ... c_i, the probability that the first i drafts are all accepted.

    Parameters
    ----------
    conditional : iterable of float or Fraction
        c_1, ..., c_γ in [0, 1]. None, a rate never observed, is allowed behind a 0 only.

    Returns
    -------
    tuple of float or Fraction
        u_1, ..., u_γ in [0, 1], not increasing; exact for Fractions and whole numbers.

    Raises
    ------
    ValueError
        For no rates, a rate outside [0, 1], or a None that can be reached.

    Notes
    -----
    Equal to `unconditional_rates` of the same counts if none is censored and all draft γ tokens; if not, these products are the
    Kaplan-Meier estimate.

    Examples
    --------
    >>> unconditional_from_conditional([Fraction(4, 5), Fraction(3, 5), Fraction(3, 10)])
    (Fraction(4, 5), Fraction(12, 25), Fraction(18, 125))
    """
    product: Number = Fraction(1)
    products = []
    for i, value in enumerate(checks.listed(conditional, "conditional")):
        if value is not None:
            product = product * checks.rate(f"conditional[{i}]", value)
        elif product != 0:
            raise ValueError(f"conditional[{i}] = None: a position that is reached with probability {product} must have a rate")
        products.append(product)
    return tuple(products)


def conditional_from_unconditional(unconditional: Rates) -> tuple[Number | None, ...]:
    """Ratios of unconditional rates: c_i = u_i / u_(i-1), with u_0 = 1.

    Parameters
    ----------
    unconditional : iterable of float or Fraction
        u_1, ..., u_γ in [0, 1], not increasing.

    Returns
    -------
    tuple of float, Fraction or None
        c_1, ..., c_γ in [0, 1]; None where u_(i-1) = 0, a position that is never reached.

    Raises
    ------
    ValueError
        For no rates, a rate outside [0, 1], or one that exceeds the rate before it.

    Notes
    -----
    A prefix cannot be accepted more often than a shorter one. Where rates rise, they are conditional, or they come from
    drafts of unequal lengths, where each u_i is over other steps and the ratio means nothing: count `conditional_rates`.

    Examples
    --------
    >>> conditional_from_unconditional([Fraction(4, 5), Fraction(12, 25), Fraction(18, 125)])
    (Fraction(4, 5), Fraction(3, 5), Fraction(3, 10))
    """
    rates = _falling(unconditional)
    return tuple(rate / before if before else None for before, rate in zip((Fraction(1), *rates), rates, strict=False))


def tokens_per_call_from_conditional(conditional: Rates) -> Number:
    """Tokens per target call from conditional rates: 1 + c_1 + c_1 c_2 + ... + c_1 ... c_γ.

    Parameters
    ----------
    conditional : iterable of float or Fraction
        c_1, ..., c_γ in [0, 1]. None, a rate never observed, is allowed behind a 0 only.

    Returns
    -------
    float or Fraction
        In [1, γ + 1], if all steps draft γ tokens and no text ends.

    Raises
    ------
    ValueError
        For no rates, a rate outside [0, 1], or a None that can be reached.

    Notes
    -----
    The same table read as unconditional rates gives more, (0.8, 0.6, 0.3) 2.7 instead of 2.424, which is why a table of rates by
    position must say what it holds.

    Examples
    --------
    >>> float(tokens_per_call_from_conditional([Fraction("0.8"), Fraction("0.6"), Fraction("0.3")]))
    2.424
    """
    return 1 + sum(unconditional_from_conditional(conditional), Fraction(0))


def tokens_per_call_from_unconditional(unconditional: Rates) -> Number:
    """Tokens per target call from unconditional rates: 1 + u_1 + u_2 + ... + u_γ.

    Parameters
    ----------
    unconditional : iterable of float or Fraction
        u_1, ..., u_γ in [0, 1], not increasing.

    Returns
    -------
    float or Fraction
        In [1, γ + 1], if all steps draft γ tokens and no text ends.

    Raises
    ------
    ValueError
        For no rates, a rate outside [0, 1], or one that exceeds the rate before it.

    Notes
    -----
    E[τ] = sum_i P(τ >= i), for any dependence between positions. See `conditional_from_unconditional` on rates that rise.

    Examples
    --------
    >>> float(tokens_per_call_from_unconditional([Fraction("0.8"), Fraction("0.6"), Fraction("0.3")]))
    2.7
    """
    return 1 + sum(_falling(unconditional), Fraction(0))


def tokens_per_call_over_contexts(acceptance_rates: Iterable[Number], gamma: int) -> Number:
    """Tokens per target call over contexts that differ: the mean over contexts of 1 + α + ... + α^γ.

    Parameters
    ----------
    acceptance_rates : iterable of float or Fraction
        α of each context, in [0, 1], constant through its block; contexts weigh equally.
    gamma : int
        Drafted tokens in a block, at least 1.

    Returns
    -------
    float or Fraction
        In [1, γ + 1], exact for Fractions and whole numbers.

    Raises
    ------
    ValueError
        For no contexts, a rate outside [0, 1], or a ``gamma`` below 1.

    Notes
    -----
    The sum is convex in α, so this is never less than the sum at the mean α (Jensen), and a mean rate understates what a decoder
    gets from contexts that differ. The mean is over contexts at which blocks *start*; over tokens, easy contexts count more.

    Examples
    --------
    >>> contexts = [Fraction(1), Fraction("0.3")]
    >>> float(tokens_per_call_over_contexts(contexts, 5))
    3.713765
    >>> round(float(tokens_per_call_over_contexts([sum(contexts) / 2], 5)), 5)
    2.64166
    """
    parameters.check_count("gamma", gamma)
    rates = [
        checks.rate(f"acceptance_rates[{i}]", value)
        for i, value in enumerate(checks.listed(acceptance_rates, "acceptance_rates"))
    ]
    return sum((rate**k for rate in rates for k in range(gamma + 1)), Fraction(0)) / len(rates)


def _falling(unconditional: Rates) -> list[Number]:
    """Check unconditional rates: each in [0, 1] and none above the one before it."""
    rates = [checks.rate(f"unconditional[{i}]", value) for i, value in enumerate(checks.listed(unconditional, "unconditional"))]
    for i in range(1, len(rates)):
        if rates[i] > rates[i - 1]:
            raise ValueError(
                f"unconditional[{i}] = {rates[i]}: must be at most {rates[i - 1]}, the rate of the position before it; "
                "rates that rise are conditional, or come from drafts of unequal lengths"
            )
    return rates
