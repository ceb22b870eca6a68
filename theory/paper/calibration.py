"""Block efficiency of the paper's settings from few numbers: the strict one, or a profile of where the draft is wrong.

Three models, each with more to say than the one before:

``one number``
    Acceptance is i.i.d. at 1 - T, with T = TV(p, q) read off the strict block efficiency. CoS at draft weight λ then accepts
    1 - (1 - λ) T. Nothing else follows from T alone.
``profile``
    *How* wrong the draft is. A position is of one of three kinds: **severe** (the target is sure of one token and the draft of
    another), **hesitant** (the target hesitates between two tokens, and the draft has its log-odds with normal noise), or both
    models agree. Two shares a benchmark, fitted on its strict row and four lenience rows, and one noise for all. Every verifier
    then has an acceptance rate, computed by the verifier itself on the rows of each kind.
``off-track``
    *What becomes of the text.* A token x throws the text off track with probability 1 - p(x)/max p, which is 0 for the target's
    favourite and 1 for what it would never say; off track a further share δ of positions is severe, until the text recovers,
    with probability r at each token. A chain of two states; block efficiency is its long run. Strict and lenience rows hardly
    leave the track, so that δ and r cannot be read off them. Two constants stand in: δ, and k in
    1/r = max(1, k (1 - accuracy of CoS at λ = 0.2 / accuracy of strict)), the tokens that a derailment lasts, longer where it
    costs more answers. For each benchmark both are fitted on the CoS rows of the *other three*, never on its own.

What the profile is like is a hypothesis, made for having few parameters: see `agreement` for where it fails.

The off-track model is *not* a blind prediction. Its constants have not seen a benchmark's CoS block efficiencies, but its form,
and λ = 0.2 as the row whose accuracy is read, were chosen with all rows in view. With another row (`by_probe`) it does worse on
all but MATH. Mean absolute error on CoS, tokens per target call, where one number has 0.20, 0.18, 0.34, 0.51:

===== ===== ===== ======= =====
probe MATH  MBPP+ INCLUDE BFCL
===== ===== ===== ======= =====
0.2   0.05  0.21  0.05    0.18
0.4   0.06  0.30  0.15    0.42
0.6   0.05  0.25  0.15    0.42
0.8   0.08  0.30  0.16    0.42
===== ===== ===== ======= =====
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np

from theory import parameters, probs
from theory.paper import tables
from theory.paper.tables import BENCHMARKS, GAMMA, SWEEP, Setting
from theory.probs import Array
from theory.verifiers import TokenVerifier

if TYPE_CHECKING:
    import pandas as pd

MODELS = ("one number", "profile", "off-track", "off-track, own rows seen")
"""From the least to the most that is assumed; the last is the third with δ and k fitted on all CoS rows, for comparison."""

ODDS, NOISES = 24, 15
"""Points of the midpoint rule over the target's odds, and of the quantile rule over the draft's noise, at hesitant positions."""

PROBE = 0.2
"""Draft weight of the one CoS row of each benchmark whose *accuracy* the off-track model reads."""


DRAWS = 1000
"""Second runs over which `replicate` averages."""


def block_efficiency(rate: float, gamma: int = GAMMA) -> float:
    """Give the block efficiency of i.i.d. acceptance, 1 + α + ... + α^γ.

    Examples
    --------
    >>> block_efficiency(0.5, gamma=2)
    1.75
    """
    parameters.check("rate", rate, "[0, 1]")
    parameters.check_count("gamma", gamma)
    return float(np.sum(float(rate) ** np.arange(gamma + 1)))


def rate(efficiency: float, gamma: int = GAMMA) -> float:
    """Give the acceptance rate behind a block efficiency, if acceptance is i.i.d.: the inverse of `block_efficiency`.

    Raises
    ------
    ValueError
        Where it is not in [1, γ + 1].

    Examples
    --------
    >>> round(rate(7.98), 4)  # MATH
    0.9334
    """
    from scipy.optimize import brentq

    parameters.check("efficiency", efficiency, f"[1, {gamma + 1}]")
    if efficiency == gamma + 1:  # the sum of powers is flat in floats only beside this end
        return 1.0
    return float(brentq(lambda alpha: block_efficiency(alpha, gamma) - efficiency, 0.0, 1.0, xtol=1e-14))


# --- rows of each kind ----------------------------------------------------------------------------------------------


class Kinds(NamedTuple):
    """A value for each kind of position."""

    agree: Any
    severe: Any
    hesitant: Any


@cache
def rows(noise: float) -> Kinds:
    """Give the rows (p, q) of each kind, over three tokens: the target's favourite, its second choice, and neither.

    Hesitant positions: p = (s, 1 - s, 0) with s uniform on (1/2, 1), and logit q = logit s + noise · z with z standard normal,
    on a grid of equally likely cells.
    """
    from scipy.special import expit, logit
    from scipy.stats import norm

    parameters.check("noise", noise, "[0, inf)")
    odds = 0.5 + 0.5 * (np.arange(ODDS) + 0.5) / ODDS
    shift = noise * norm.ppf((np.arange(NOISES) + 0.5) / NOISES)
    top_q = expit(logit(odds)[:, None] + shift).ravel()
    top_p = np.repeat(odds, NOISES)
    target, draft = (np.stack([top, 1 - top, 0 * top], axis=-1) for top in (top_p, top_q))
    sure, other = np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 0.0, 1.0]])
    return Kinds((sure, sure), (sure, other), (target, draft))


class Step(NamedTuple):
    """What one drafted token comes to: probabilities, which add to 1. *Off* means that the token threw the text off track."""

    kept_on: Any
    kept_off: Any
    replaced_on: Any
    replaced_off: Any


@cache
def steps(verifiers: tuple[TokenVerifier, ...], noise: float) -> Array:
    """Give the `Step` of each verifier at each kind of position, the mean over its rows; shape (verifiers, 3, 4)."""
    return np.array([[_step(verifier, *pair) for pair in rows(noise)] for verifier in verifiers])


def _step(verifier: TokenVerifier, p: Array, q: Array) -> Array:
    off = 1 - p / p.max(axis=-1, keepdims=True)
    kept = verifier.accepted(*probs.check_pair(p, q))
    replaced = verifier.induced(p, q) - kept
    return np.array([float((law * weight).sum(axis=-1).mean()) for law in (kept, replaced) for weight in (1 - off, off)])


@final
@dataclass(frozen=True)
class Profile:
    """A pair of models in a few numbers: shares of positions on track, and what happens off it.

    Parameters
    ----------
    severe : float
        Share of positions where the target is sure of one token and the draft of another, in [0, 1].
    hesitant : float
        Share where the target hesitates between two tokens and the draft has its odds with noise, in [0, 1 - severe].
    noise : float
        Standard deviation of that noise, of log-odds.
    derailment : float
        δ, the further share of positions that is severe off track; 0 for a text that never minds.
    recovery : float
        r, the probability that a token off track leads back, in (0, 1].

    Examples
    --------
    >>> from theory.verifiers import CoS
    >>> pair = Profile(severe=0.1, hesitant=0, noise=1)
    >>> round(pair.block_efficiency(CoS(0.5)), 6) == round(block_efficiency(0.95), 6)
    True
    """

    severe: float
    hesitant: float
    noise: float
    derailment: float = 0.0
    recovery: float = 1.0

    def __post_init__(self) -> None:
        for name, allowed in (("severe", "[0, 1]"), ("noise", "[0, inf)"), ("derailment", "[0, 1]"), ("recovery", "(0, 1]")):
            parameters.check(name, getattr(self, name), allowed)
        parameters.check("hesitant", self.hesitant, f"[0, {1 - self.severe}]")

    def shares(self, off: bool = False) -> Kinds:
        """Give the share of positions of each kind, on track or off it."""
        severe = self.severe + self.derailment * (1 - self.severe) if off else self.severe
        hesitant = self.hesitant * (1 - self.derailment) if off else self.hesitant
        return Kinds(1 - severe - hesitant, severe, hesitant)

    def steps(self, verifiers: Iterable[TokenVerifier], off: bool = False) -> Array:
        """Give what one drafted token comes to under each verifier, on track or off it: the numbers of a `Step`, shape (n, 4)."""
        at = np.array(self.shares(off)) @ steps(tuple(verifiers), self.noise)
        if off:
            at[:, 1::2] += (1 - self.recovery) * at[:, ::2]
            at[:, ::2] *= self.recovery
        return at

    def acceptance_rate(self, verifier: TokenVerifier) -> float:
        """Give the acceptance rate on track, a probability."""
        return float(self.steps([verifier])[0, :2].sum())

    def block_efficiency(self, verifier: TokenVerifier, gamma: int = GAMMA) -> float:
        """Give the block efficiency of one verifier: see `block_efficiencies`."""
        return float(self.block_efficiencies([verifier], gamma)[0])

    def block_efficiencies(self, verifiers: Iterable[TokenVerifier], gamma: int = GAMMA) -> Array:
        """Give the block efficiency of each verifier in the long run, tokens per target call; shape (verifiers,).

        Notes
        -----
        With K and R the 2 × 2 matrices of a kept and of a replaced token from state to state, and B that of the bonus token,
        which is drawn from p: a block takes the states at its start by Σ_{k<γ} K^k R + K^γ B to those at its end, and keeps
        Σ_{k=1..γ} K^k 1 tokens. The first matrix has a stationary law; the result is the mean under it, plus 1.
        """
        parameters.check_count("gamma", gamma)
        verifiers = tuple(verifiers)
        at = np.stack([self.steps(verifiers), self.steps(verifiers, off=True)], axis=1)
        kept, replaced = at[..., :2], at[..., 2:]
        power = np.broadcast_to(np.eye(2), kept.shape)
        before, lengths = np.zeros(kept.shape), np.zeros(kept.shape[:-1])
        for _ in range(gamma):
            before = before + power
            power = power @ kept
            lengths = lengths + power.sum(axis=-1)
        block = before @ replaced + power @ self.bonus()
        out, back = block[:, 0, 1], block[:, 1, 0]
        on = np.divide(back, out + back, out=np.ones_like(out), where=out > 0)  # started on track, and never off it where out = 0
        return np.asarray(1 + on * lengths[:, 0] + (1 - on) * lengths[:, 1])

    def bonus(self) -> Array:
        """Give the matrix of a token drawn from p, from state (on, off) to state; shape (2, 2)."""
        on = np.array([np.dot(self.shares(off), likelihoods(self.noise)) for off in (False, True)])
        on[1] *= self.recovery
        return np.stack([on, 1 - on], axis=1)


@cache
def likelihoods(noise: float) -> Kinds:
    """Give the probability that a token drawn from p leaves the text on track, Σ p²/max p, at each kind of position."""
    return Kinds(*(float((p * p / p.max(axis=-1, keepdims=True)).sum(axis=-1).mean()) for p, _ in rows(noise)))


# --- fits -----------------------------------------------------------------------------------------------------------


@cache
def reported(benchmark: str) -> dict[Setting, tuple[float, float, float]]:
    """Give Table 4 of one benchmark: (method, parameter) to block efficiency, its standard deviation, and accuracy in percent."""
    if benchmark not in BENCHMARKS:
        raise ValueError(f"benchmark = {benchmark!r}: must be one of {', '.join(BENCHMARKS)}")
    table = tables.table_4()
    own = table[table["benchmark"] == benchmark]
    columns = ["method", "parameter", "block_efficiency", "block_efficiency_std", "accuracy_percent"]
    return {
        (method, None if parameter != parameter else parameter): (mean, std, accuracy)
        for method, parameter, mean, std, accuracy in own[columns].itertuples(index=False)
    }


STRICT: Setting = ("strict", None)
FITTED: tuple[Setting, ...] = (STRICT, *(("lenience", value) for value in SWEEP))
"""The settings that a profile is fitted on."""


def _shares(benchmark: str, noise: float, derailment: float, recovery: float, settings: Iterable[Setting] = FITTED) -> Any:
    """Fit the two shares of a benchmark, by least squares of block efficiencies."""
    from scipy.optimize import least_squares

    settings = list(settings)
    wanted = [reported(benchmark)[setting][0] for setting in settings]
    rules = [tables.verifier(*setting) for setting in settings]

    def off(shares: Array) -> Array:
        profile = Profile(shares[0], shares[1] * (1 - shares[0]), noise, derailment, recovery)
        return np.asarray(profile.block_efficiencies(rules) - wanted)

    start = [1 - rate(wanted[0])] * 2
    return least_squares(off, start, bounds=([0, 0], [1, 1]), xtol=1e-10, ftol=1e-10)


@cache
def noise() -> float:
    """Give the noise of the draft's log-odds: one for all benchmarks, fitted on their strict and lenience rows."""
    from scipy.optimize import minimize_scalar

    def loss(value: float) -> float:
        return float(sum(2 * _shares(benchmark, value, 0.0, 1.0).cost for benchmark in BENCHMARKS))

    return round(float(minimize_scalar(loss, bounds=(0.5, 8), method="bounded", options={"xatol": 1e-2}).x), 2)


def lasting(benchmark: str, scale: float, probe: float = PROBE) -> float:
    """Give the recovery r of a benchmark: 1/r = max(1, k · relative accuracy lost by CoS at draft weight ``probe``)."""
    own = reported(benchmark)
    lost = 1 - own["cos_draft_weight", probe][2] / own[STRICT][2]
    return 1 / max(1.0, scale * lost)


def unexplained(derailment: float, scale: float, benchmarks: Iterable[str], probe: float = PROBE) -> float:
    """Give the sum of squared errors of the block efficiencies of CoS on some benchmarks, at δ and k; (tokens per call)²."""
    squares = 0.0
    for benchmark in benchmarks:
        pair = fit(benchmark, derailment, lasting(benchmark, scale, probe))
        own = {setting: values[0] for setting, values in reported(benchmark).items() if setting[0] == "cos_draft_weight"}
        off = pair.block_efficiencies(tables.verifier(*setting) for setting in own) - np.array([*own.values()])
        squares += float((off**2).sum())
    return squares


@cache
def constants(left_out: str | None = None, probe: float = PROBE) -> tuple[float, float]:
    """Fit δ and k on the CoS rows of all benchmarks but one, with the accuracy read at draft weight ``probe``.

    Returns
    -------
    derailment, scale : float
        δ, a probability, and k, tokens.
    """
    from scipy.optimize import minimize

    others = [benchmark for benchmark in BENCHMARKS if benchmark != left_out]

    def loss(point: Array) -> float:
        return unexplained(float(np.clip(point[0], 0, 1)), float(np.exp(point[1])), others, probe)

    found = minimize(loss, [0.3, np.log(20.0)], method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-4})
    return round(float(np.clip(found.x[0], 0, 1)), 4), round(float(np.exp(found.x[1])), 2)


def fit(benchmark: str, derailment: float = 0.0, recovery: float = 1.0, settings: Iterable[Setting] = FITTED) -> Profile:
    """Fit the shares of a benchmark on its strict and lenience rows, everything else given."""
    shares = _shares(benchmark, noise(), derailment, recovery, settings).x
    return Profile(float(shares[0]), float(shares[1] * (1 - shares[0])), noise(), derailment, recovery)


@cache
def profile(benchmark: str, model: str = "off-track", probe: float = PROBE) -> Profile:
    """Give the profile of a benchmark under a model of `MODELS` that has one, with an accuracy read at draft weight ``probe``.

    Examples
    --------
    >>> pair = profile("MATH", "profile")
    >>> round(pair.severe, 3), round(pair.hesitant, 3), pair.derailment
    (0.052, 0.041, 0.0)
    """
    if model == "profile":
        return fit(benchmark)
    if model not in MODELS[2:]:
        raise ValueError(f"model = {model!r}: must be one of {', '.join(MODELS[1:])}")
    derailment, scale = constants(benchmark if model == "off-track" else None, probe)
    return fit(benchmark, derailment, lasting(benchmark, scale, probe))


# --- predictions ----------------------------------------------------------------------------------------------------


@cache
def _predictions(probe: float) -> "pd.DataFrame":
    import pandas as pd

    rows = []
    for model in MODELS:
        for benchmark in BENCHMARKS:
            alpha = rate(reported(benchmark)[STRICT][0])
            for setting, (mean, std, _) in reported(benchmark).items():
                method, parameter = setting
                if model != "one number":
                    value = profile(benchmark, model, probe).block_efficiency(tables.verifier(*setting))
                elif method in ("strict", "cos_draft_weight"):
                    value = block_efficiency(1 - (1 - (parameter or 0)) * (1 - alpha))
                else:
                    continue
                seen = setting in FITTED[: 1 if model == "one number" else None]
                seen = seen or (model == MODELS[-1] and method == "cos_draft_weight")
                rows.append((model, benchmark, method, parameter, mean, std, value, seen))
    columns = ["model", "benchmark", "method", "parameter", "reported", "reported_std", "predicted", "fitted"]
    return pd.DataFrame(rows, columns=columns).astype({"parameter": float})


def predictions(probe: float = PROBE) -> "pd.DataFrame":
    """Predict the block efficiency of every row of Table 4 under every model.

    Parameters
    ----------
    probe : float
        Draft weight of the CoS row whose accuracy the off-track models read, of `theory.paper.tables.SWEEP`.

    Returns
    -------
    pandas.DataFrame
        ``model``, ``benchmark``, ``method``, ``parameter``; ``reported``, ``reported_std`` and ``predicted`` block efficiency, in
        tokens per target call; ``fitted``, whether this row's block efficiency was used to fit the model that predicts it.
    """
    return _predictions(probe).copy()


def agreement(probe: float = PROBE, draws: int = DRAWS, seed: int = 1) -> "pd.DataFrame":
    """Say how well each model predicts the rows that it has not seen, and those that it has.

    Parameters
    ----------
    probe
        As for `predictions`.
    draws, seed
        As for `replicate`.

    Returns
    -------
    pandas.DataFrame
        One row a model, benchmark and method, and one with method ``all``: ``rows``; ``fitted`` (whether they were seen; of
        ``all``, some were); ``mean_absolute_error`` and ``bias`` (predicted - reported), tokens per target call; ``spearman``,
        the rank correlation of predicted and reported values; ``replicate_spearman`` (of ``all``), what `replicate` gives.
    """
    import pandas as pd
    from scipy.stats import spearmanr

    table = predictions(probe).assign(error=lambda rows: rows["predicted"] - rows["reported"])
    found = []
    for (model, benchmark), part in table.groupby(["model", "benchmark"], sort=False):
        for method, own in [*part.groupby("method", sort=False), ("all", part)]:
            ranked = len(own) > 2
            found.append(
                {
                    "model": model,
                    "benchmark": benchmark,
                    "method": method,
                    "rows": len(own),
                    "fitted": bool(own["fitted"].any()),
                    "mean_absolute_error": float(own["error"].abs().mean()),
                    "bias": float(own["error"].mean()),
                    "spearman": float(spearmanr(own["predicted"], own["reported"]).statistic) if ranked else np.nan,
                    "replicate_spearman": replicate(str(benchmark), draws, seed) if method == "all" and len(own) > 5 else np.nan,
                }
            )
    return pd.DataFrame(found)


@cache
def replicate(benchmark: str, draws: int = DRAWS, seed: int = 1) -> float:
    """Rank correlation that the paper's own numbers would have with a second run of themselves.

    Notes
    -----
    The mean over draws of the Spearman correlation between the reported block efficiencies and the same with normal noise of
    their standard deviations (of 3 runs, over √3). No model can be expected to do better; where most settings differ by less
    than their noise, as on BFCL, it is well below 1.
    """
    from scipy.stats import spearmanr

    means, stds, _ = (np.array(column) for column in zip(*reported(benchmark).values(), strict=True))
    rng = np.random.default_rng(seed)
    again = rng.normal(means, stds / np.sqrt(3), size=(draws, means.size))
    return float(np.mean([spearmanr(means, one).statistic for one in again]))


def by_probe(probes: Iterable[float] = (0.2, 0.4, 0.6, 0.8)) -> "pd.DataFrame":
    """Say what the off-track model's error on CoS would be, had the accuracy been read at another row than `PROBE`.

    Parameters
    ----------
    probes : iterable of float
        Draft weights of Table 4.

    Returns
    -------
    pandas.DataFrame
        ``probe``, ``benchmark``, and ``mean_absolute_error`` on its CoS rows, tokens per target call; the constants are fitted on
        the other three benchmarks, as everywhere.
    """
    import pandas as pd

    rows = []
    for probe in probes:
        for benchmark in BENCHMARKS:
            derailment, scale = constants(benchmark, probe)
            pair = fit(benchmark, derailment, lasting(benchmark, scale, probe))
            own = {setting: values[0] for setting, values in reported(benchmark).items() if setting[0] == "cos_draft_weight"}
            off = pair.block_efficiencies(tables.verifier(*setting) for setting in own) - np.array([*own.values()])
            rows.append((probe, benchmark, float(np.abs(off).mean())))
    return pd.DataFrame(rows, columns=["probe", "benchmark", "mean_absolute_error"])


@cache
def _cross_validated() -> "pd.DataFrame":
    import pandas as pd

    rows = []
    for benchmark in BENCHMARKS:
        for left_out in FITTED[1:]:
            others = [setting for setting in FITTED if setting != left_out]
            predicted = fit(benchmark, settings=others).block_efficiency(tables.verifier(*left_out))
            rows.append((benchmark, left_out[1], *reported(benchmark)[left_out][:2], predicted))
    return pd.DataFrame(rows, columns=["benchmark", "lenience", "reported", "reported_std", "predicted"])


def cross_validated() -> "pd.DataFrame":
    """Predict each lenience row from the strict row and the other three, with the profile fitted on these.

    Returns
    -------
    pandas.DataFrame
        ``benchmark``, ``lenience``; ``reported``, ``reported_std``, ``predicted`` block efficiency, tokens per target call.
    """
    return _cross_validated().copy()
