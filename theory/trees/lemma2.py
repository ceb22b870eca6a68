"""The paper's Lemma 2: how far what is sampled is from the truncated target, for one drafted token and for a fixed candidate."""

from typing import Any

from theory import divergences, parameters, probs
from theory.probs import Array, RowsLike
from theory.truncation import Truncation


def kl_single_draft(p: RowsLike, q: RowsLike, truncation: Truncation) -> Any:
    """KL from what single-draft truncation verification samples to the truncated target: KL(q_A || p_A) (the paper's Lemma 2).

    Fractions are taken to float64.

    Parameters
    ----------
    p, q : array_like, shape (..., V)
        Rows of the target and of the draft; they broadcast.
    truncation : Truncation
        Gives A, from p.

    Returns
    -------
    float or ndarray, shape (...)
        Nats, at least 0.

    Notes
    -----
    With q_A = q 1_A / q(A) and p_A likewise; q_A is p_A where the draft has nothing on A, as in
    `theory.verifiers.TruncationVerifier`. It goes to 0 as q goes to p (Proposition 1).

    Examples
    --------
    >>> from theory.truncation import MinP
    >>> round(float(kl_single_draft([0.4, 0.3, 0.2, 0.1], [0.2, 0.25, 0.25, 0.3], MinP(0.6))), 6)
    0.032478
    """
    target, draft = _on_allowed(p, q, truncation)
    return divergences.kl_divergence(draft, target)


def kl_deterministic(p: RowsLike, q: RowsLike, truncation: Truncation) -> Any:
    """Mean KL from a fixed accepted candidate x ~ q_A to the truncated target: E ln(1/p_A(x)) (the paper's Lemma 2, EAGLE).

    Fractions are taken to float64.

    Parameters
    ----------
    p, q, truncation
        As for `kl_single_draft`.

    Returns
    -------
    float or ndarray, shape (...)
        Nats, at least 0.

    Notes
    -----
    A candidate in A is accepted surely, so given the tree the law is a point mass, and KL(δ_x || p_A) = ln(p(A)/p(x)). The mean
    is `kl_single_draft` + H(q_A): at q = p it is H(p_A), positive wherever A has two tokens (Proposition 1).

    Examples
    --------
    >>> from theory.truncation import MinP
    >>> round(float(kl_deterministic([0.5, 0.25, 0.25], [0.5, 0.25, 0.25], MinP(0.5))), 6)
    1.039721
    """
    target, draft = (probs.as_float(rows) for rows in _on_allowed(p, q, truncation))
    return probs.total(-draft * probs.log_positive(target))  # q_A is 0 wherever p_A is


def _on_allowed(p: RowsLike, q: RowsLike, truncation: Truncation) -> tuple[Array, Array]:
    parameters.check_kind("truncation", truncation, Truncation, "MinP(0.1)")
    target, draft = probs.check_pair(p, q)
    kept = draft * probs.indicator(truncation.allowed(target), target)
    truncated = truncation.truncate(target)
    return truncated, probs.share_out(kept, truncated)
