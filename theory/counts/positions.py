"""Rates position by position: conditional on what came before, and unconditional."""

from fractions import Fraction
from typing import TYPE_CHECKING

from theory.counts import tally
from theory.counts.tally import Logged

if TYPE_CHECKING:
    import pandas as pd


def conditional_rates(counts: Logged) -> tuple[Fraction | None, ...]:
    """P(position i accepted | i proposed and judged, all before it accepted), for i = 1..max drafted.

    Parameters
    ----------
    counts : Counts
        Steps, pooled.

    Returns
    -------
    tuple of Fraction or None
        In [0, 1]; None where no verdict was seen.

    Raises
    ------
    ValueError
        Where nothing was drafted; for totals and a mean length, which have no positions.

    Notes
    -----
    Numerator: steps with accepted >= i. Denominator: these and the steps rejected at i. This is the hazard estimate of
    Kaplan and Meier, in which short drafts and ended texts are both censored: consistent if what ended the step does not depend
    on the verdict that it hid. Counting censored steps as rejections is biased downwards.

    Examples
    --------
    >>> from theory.counts import Counts
    >>> conditional_rates(Counts.of([0, 1, 2], drafted=2))
    (Fraction(2, 3), Fraction(1, 2))
    >>> conditional_rates(Counts.of([0, 1, 2], drafted=2, censored=[False, True, False]))
    (Fraction(2, 3), Fraction(1, 1))
    """
    _, observed, accepted = tally.by_position(counts)
    return tuple(Fraction(kept, seen) if seen else None for kept, seen in zip(accepted, observed, strict=True))


def unconditional_rates(counts: Logged) -> tuple[Fraction, ...]:
    """P(position i accepted | i proposed), for i = 1..max drafted: steps with accepted >= i over steps with drafted >= i.

    Parameters
    ----------
    counts : Counts
        Steps, pooled.

    Returns
    -------
    tuple of Fraction
        In [0, 1], one a position.

    Raises
    ------
    ValueError
        Where nothing was drafted; for totals and a mean length, which have no positions.

    Notes
    -----
    A plot of "acceptance by position" may show these, which fall by construction, or `conditional_rates`, which often rise: the
    contexts that survive are the easy ones. If all steps draft γ tokens, these add up to `mean_accepted`. Censored steps
    stay in the denominator, which makes each a lower bound; the products of conditional rates are the remedy,
    ``unconditional_from_conditional(conditional_rates(counts))``.

    Examples
    --------
    >>> from theory.counts import Counts
    >>> unconditional_rates(Counts.of([0, 1, 2], drafted=2))
    (Fraction(2, 3), Fraction(1, 3))
    """
    proposed, _, accepted = tally.by_position(counts)
    return tuple(Fraction(kept, tried) for kept, tried in zip(accepted, proposed, strict=True))


def position_rates(counts: Logged) -> "pd.DataFrame":
    """Give the counts and both rates of each position as a table.

    Parameters
    ----------
    counts : Counts
        Steps, pooled.

    Returns
    -------
    pandas.DataFrame
        One row a position. Columns:

        ============= ====================================================================================
        position      1..max drafted
        proposed      steps with drafted >= position
        observed      steps in which the verdict at this position was seen
        accepted      steps with accepted >= position
        conditional   accepted / observed, a Fraction; None where observed = 0. See `conditional_rates`
        unconditional accepted / proposed, a Fraction. See `unconditional_rates`
        ============= ====================================================================================

    Raises
    ------
    ValueError
        Where nothing was drafted; for totals and a mean length, which have no positions.

    Notes
    -----
    proposed - observed are the steps that never came to this position: rejected before it, or censored.

    Examples
    --------
    >>> from theory.counts import Counts
    >>> position_rates(Counts.of([0, 1, 2], drafted=2, censored=[False, True, False]))
       position  proposed  observed  accepted conditional unconditional
    0         1         3         3         2         2/3           2/3
    1         2         3         1         1           1           1/3
    """
    import pandas as pd

    proposed, observed, accepted = tally.by_position(counts)
    return pd.DataFrame(
        {
            "position": range(1, len(proposed) + 1),
            "proposed": proposed,
            "observed": observed,
            "accepted": accepted,
            "conditional": pd.Series(conditional_rates(counts), dtype=object),
            "unconditional": pd.Series(unconditional_rates(counts), dtype=object),
        }
    )
