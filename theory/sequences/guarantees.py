"""What holds for every pair of models."""

from typing import Any, NamedTuple

import numpy as np

from theory import parameters
from theory.parameters import Number


class Guarantee(NamedTuple):
    """Upper bounds that hold for every pair of models."""

    kl: float
    """On KL(Π || P), nats."""
    tv: Any
    """On TV(Π, P), a probability."""


def lenience_guarantee(lenience: Number, length: int) -> Guarantee:
    """Bound what lenience l does to T tokens of any pair: Π <= P / l^T, so TV <= 1 - l^T and KL <= T ln(1/l).

    Parameters
    ----------
    lenience : float or Fraction
        l in (0, 1].
    length : int
        T, at least 0.

    Returns
    -------
    Guarantee
        ``kl`` in nats; ``tv`` a probability, exact on a Fraction.

    Notes
    -----
    Proof. The rule's law is min(q, p/l) + R (p - q)+ / TV(p, q), with R = Σ (q - p/l)+ <= Σ (q - p)+ = TV(p, q). Where q > p the
    second part is 0 and the first at most p/l; where q <= p the sum is at most q + (p - q) = p. A bonus from p is at most p/l
    too, and a relaxed one has the rule's law. So in every hidden state the law is at most p_s/l; then so is its mean over the
    hidden states given any text, π_t <= p_t/l, and Π = Π_t π_t <= P/l^T. Hence TV = E_Π (1 - P/Π)+ <= 1 - l^T, and
    KL = E_Π ln(Π/P) <= T ln(1/l).

    Examples
    --------
    >>> from fractions import Fraction
    >>> lenience_guarantee(Fraction(1, 2), 3).tv
    Fraction(7, 8)
    >>> round(lenience_guarantee(0.5, 3).kl, 6)
    2.079442
    """
    parameters.check("lenience", lenience, "(0, 1]")
    parameters.check_count("length", length, 0)
    return Guarantee(abs(length * float(np.log(float(lenience)))), 1 - lenience ** int(length))
