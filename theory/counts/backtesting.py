"""Predictions at another gamma held against what is true there: rules along the texts of a trace."""

import itertools
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from theory import parameters, traces, verifiers
from theory.counts import prediction
from theory.probs import Array
from theory.verifiers import TokenVerifier

if TYPE_CHECKING:
    import pandas as pd

Starts: TypeAlias = Literal["decoded", "every"]
"""Where blocks start: where a decoder would start them at that gamma, or at every position that has a whole block behind it."""

TAIL_TOKENS = 1024
"""Tokens over which the tail of the bundled trace is spread."""

FROM_MEAN = ("constant", "least_variance", "greatest_variance")
"""Models that know only the mean length."""


def backtest(
    rules: "TokenVerifier | str | Iterable[TokenVerifier | str]",
    trace: traces.Trace | None = None,
    *,
    fitted: int = 3,
    gammas: Iterable[int] = (5, 10),
    starts: Starts = "decoded",
) -> "pd.DataFrame":
    """Predict E[τ] at other gammas from the exact law of τ at one, along recorded texts, and give the error of each model.

    Parameters
    ----------
    rules : TokenVerifier or str, or iterable of these
        Run token by token.
    trace : Trace, optional
        Rows of consecutive positions; each ``prompt_id`` is a text, all one where there is none. If omitted the bundled trace,
        with its tail over `TAIL_TOKENS`.
    fitted : int
        Drafted tokens at which the law is known.
    gammas : iterable of int
        Drafted tokens to predict for, each in 1..the positions of the longest text.
    starts : {"decoded", "every"}
        Where the blocks start that are averaged over. "decoded": where a decoder starts them that writes the recorded text at
        this gamma, behind the accepted tokens and one more; a block at the end of a text drafts what is left. Starts then shift
        with gamma, as they do in use. "every": all positions with the longest block behind them, the same ones at every gamma;
        this leaves the error of the model alone.

    Returns
    -------
    pandas.DataFrame
        One row a rule, gamma and model. Columns:

        =========================== ==================================================================================
        verifier                    short name
        gamma                       drafted tokens
        model                       of `MODELS`; those of `FROM_MEAN` use E[τ] at ``fitted`` only, the others its law
        predicted, true             E[τ], drafted tokens per target call
        error                       predicted - true
        possible_low, possible_high between what E[τ] had to be, by what the model knows, on the same starts
        =========================== ==================================================================================

        All floats; ``true`` is exact up to rounding, under the assumption below.

    Raises
    ------
    ValueError
        For a rule, gamma or ``starts`` that is none, and texts shorter than a block.

    Notes
    -----
    The recorded text is taken as what is written whatever is accepted, so that position t is accepted with the probability
    that the rule has on its rows, and S_i of a block that starts at t is the product of i of them. With ``starts="decoded"`` the
    expected number of visits to each start is summed exactly, and the S are those of `conditional_rates` on all steps expected.

    Examples
    --------
    >>> table = backtest("strict", gammas=[10])
    >>> table[["model", "predicted", "true", "error", "possible_low", "possible_high"]].round(2)
                   model  predicted  true  error  possible_low  possible_high
    0          last_rate       1.65  1.62   0.03          1.22           2.92
    1        pooled_rate       1.60  1.62  -0.02          1.22           2.92
    2           constant       1.57  1.62  -0.05          1.22           4.06
    3     least_variance       1.22  1.62  -0.40          1.22           4.06
    4  greatest_variance       4.06  1.62   2.45          1.22           4.06
    """
    import pandas as pd

    parameters.check_count("fitted", fitted)
    wanted = parameters.listed("gammas", gammas)
    for i, gamma in enumerate(wanted):
        parameters.check_count(f"gammas[{i}]", gamma)
    parameters.check_choice("starts", starts, ("decoded", "every"))
    if trace is not None:
        parameters.check_kind("trace", trace, traces.Trace, "traces.example()")
    recorded = traces.example().with_tail_tokens(TAIL_TOKENS) if trace is None else trace
    ends = [0, len(recorded.p)]
    if recorded.prompt_id is not None:
        ends[1:1] = (np.flatnonzero(np.diff(recorded.prompt_id)) + 1).tolist()
    longest, room = max(fitted, *wanted), int(np.diff(ends).max())
    if longest > room:
        raise ValueError(f"gamma = {longest}: must be at most {room}, the positions of the longest text")
    p, q = np.asarray(recorded.p), np.asarray(recorded.q)
    records: list[dict[str, Any]] = []
    for rule in verifiers.resolve_all(rules, "rules"):
        rates = np.minimum(np.asarray(rule.acceptance_rate(p, q), dtype=np.float64), 1.0)
        texts = [rates[start:stop] for start, stop in itertools.pairwise(ends)]
        known = survival(texts, fitted, starts, longest)
        mean = float(known.sum())
        for gamma in wanted:
            true = float(survival(texts, gamma, starts, longest).sum())
            about = {"verifier": str(rule), "gamma": gamma}
            for model in prediction.models_from(fitted, gamma):
                if model not in FROM_MEAN:
                    possible = prediction.possible_from_survival(known.tolist(), gamma)
                    records.append(about | _row(model, prediction.from_survival(model, known, gamma), true, possible))
            for model in FROM_MEAN:
                possible = prediction.possible_from_mean(Fraction(mean), fitted, gamma)
                records.append(about | _row(model, prediction.from_mean(model, mean, fitted, gamma), true, possible))
    return pd.DataFrame(records)


def _row(model: str, predicted: Any, true: float, possible: tuple[Any, Any]) -> dict[str, Any]:
    row = {"model": model, "predicted": float(predicted), "true": true, "error": float(predicted) - true}
    return row | {"possible_low": float(possible[0]), "possible_high": float(possible[1])}


def survival(texts: Sequence[Array], gamma: int, starts: Starts, longest: int) -> Array:
    """Give S_1, ..., S_γ over all blocks that are expected along some texts; see `backtest`.

    Parameters
    ----------
    texts : sequence of ndarray, shape (positions,)
        Acceptance rate at each position.
    gamma : int
        Drafted tokens, at most the positions of some text.
    starts : {"decoded", "every"}
        Where blocks start.
    longest : int
        Positions behind each start under "every", at least ``gamma``.

    Examples
    --------
    >>> survival([np.array([0.5, 0.5, 1.0])], 2, "every", 2)  # starts at the first and second position
    array([0.5  , 0.375])
    >>> survival([np.array([0.5, 0.5, 1.0])], 2, "decoded", 2).round(4)  # at the second and the third with 1/2 each
    array([0.625 , 0.4167])
    """
    observed, accepted = np.zeros(gamma), np.zeros(gamma)
    for rates in texts:
        visits = np.zeros(len(rates) + 2)
        if starts == "decoded":
            visits[0] = 1
        else:
            visits[: max(0, len(rates) - longest + 1)] = 1
        for start in range(len(rates)):
            kept = np.cumprod(rates[start : start + gamma])
            reached = np.concatenate(([1.0], kept[:-1]))
            observed[: len(kept)] += visits[start] * reached
            accepted[: len(kept)] += visits[start] * kept
            if starts == "decoded":
                visits[start + 1 : start + len(kept) + 2] += visits[start] * np.append(reached - kept, kept[-1])
    # A position that is never reached follows one that is never accepted.
    return np.cumprod(np.divide(accepted, observed, out=np.zeros(gamma), where=observed > 0))
