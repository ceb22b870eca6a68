"""Accuracy of the paper's settings from the exact reasoning chain, fitted on two accuracies a benchmark.

A benchmark is an `Exam`: problems of one `theory.ReasoningChain`, texts of some hundred tokens, most of them routine and a few
decisive. Each of its numbers comes from one place:

================================  ======================================================================================
how often the draft is wrong      Table 4's block efficiency of the strict row, as i.i.d. acceptance
how much of that is mild          what lenience 0.2 wins back of it: a fifth on MATH, 5 to 7 % elsewhere; the rest is severe
difficulty, a benchmark's         its strict accuracy
harm, a benchmark's               its accuracy under CoS at draft weight `PROBE`: how much of what the draft gets severely
                                  wrong matters to the answer
overconfidence, shared            Figure 1's row for MATH: what SpecCascade loses to the target truncated by min-p; the target's
                                  noise, which that row gives too, stays in Figure 1 (`calibrate` says why)
everything else                   set by hand, below; CoS and lenience hardly notice (a test says how little)
================================  ======================================================================================

Where the target may fail it is torn: at a decisive step between three wordings, one of them wrong; after a slip whether to notice
it. All are equally likely, so that no truncation of the target helps: by construction min-p and eta sampling keep the strict
accuracy. That is what Table 4 finds; a wrong answer is what the model believes, not an accident of sampling.

The rest is predicted. In short: CoS lets the draft's slips through in proportion to its weight, so that the logarithm of accuracy
falls in a straight line with it; lenience lets through what is mild, which hardly matters. See `agreement`.

Where that fails: three benchmarks lose less at draft weight 0.2 than a straight line has it, as if the first slips were forgiven;
MBPP+ and BFCL level off at the other end and INCLUDE does not; and nothing depends on the hyper-parameter of a gate.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, final

import numpy as np

from theory import parameters
from theory.blocks import Tokenwise
from theory.paper import calibration, tables
from theory.paper.tables import BENCHMARKS, GAMMA, SWEEP, Setting
from theory.reasoning import ReasoningChain
from theory.sequences import Decoder, Plain, Source
from theory.truncation import MinP
from theory.verifiers import SpecCascade, TokenVerifier, TruncationSampling

if TYPE_CHECKING:
    import pandas as pd

PROBE = 0.4
"""Draft weight of the one CoS row of each benchmark that is fitted: the first at which the loss is many times its noise. At 0.2
it is two or three standard deviations of a run; beyond 0.4 MBPP+ and BFCL fall less and less. `sensitivity` tries the others."""

FITTED: tuple[Setting, ...] = (("strict", None), ("cos_draft_weight", PROBE))
"""Rows of Table 4 whose accuracy is fitted, for each benchmark."""

OPENING, ROUTINE = 80, 10
"""Routine steps before all, and before each decisive one. The long opening gives an easy problem as many chances of a slip as a
hard one has, so that what min-p saves there outweighs what SpecCascade loses, as on Figure 1's GSM8K: chosen for that sign, which
openings from 20 to 160 steps all give."""

TORN = {"skill": 2 / 3, "temptation": 1 / 3, "overconfidence": 1 / 3, "recovery": 1 / 2}
"""Where the target may fail. Overconfidence is where it begins, at none."""

MILD = 3
"""Draft over target at a mild disagreement: below the ceiling 1/l of lenience 0.2, which accepts all of it; above the others."""

HARDEST = 100
"""Decisive steps at most, in the search for a difficulty."""

PROBLEMS = {"MATH": 500, "MBPP+": 378, "INCLUDE": 220, "BFCL": 200}
"""Problems of each benchmark."""

RUNS = 3
"""Runs over them, whose mean Table 4 gives."""


@final
@dataclass(frozen=True)
class Exam:
    """Problems of which a share has one decisive step more than the others: a difficulty between two whole numbers.

    Parameters
    ----------
    chain : ReasoningChain
        An easier problem.
    harder : float or Fraction
        The share of problems with one decisive step more, in [0, 1].

    Examples
    --------
    >>> exam = Exam(ReasoningChain(3), harder=0.25)
    >>> exam.difficulty, round(float(exam.pass_1(Plain())), 4)
    (3.25, 0.7005)
    """

    chain: ReasoningChain
    harder: parameters.Number

    def __post_init__(self) -> None:
        parameters.check("harder", self.harder, "[0, 1]")

    @classmethod
    def of(cls, chain: ReasoningChain, goal: float, source: Source, k: int = 1) -> "Exam":
        """Find the exam at which a source has a given Pass@k, by the chain's difficulty; its own does not matter.

        Raises
        ------
        ValueError
            For a goal that no difficulty up to `HARDEST` brings.
        """
        easier = replace(chain, difficulty=0)
        above = float(easier.pass_at_k(source, k))
        for difficulty in range(1, HARDEST + 1):
            harder = replace(chain, difficulty=difficulty)
            below = float(harder.pass_at_k(source, k))
            if below <= goal <= above:
                return cls(easier, float((above - goal) / (above - below)))
            easier, above = harder, below
        raise ValueError(f"goal = {goal}: no difficulty up to {HARDEST} brings that Pass@{k}")

    @property
    def difficulty(self) -> Any:
        """Decisive steps in the mean."""
        return self.chain.difficulty + self.harder

    def change(self, **numbers: float) -> "Exam":
        """Give the exam with other numbers of its chain."""
        return replace(self, chain=replace(self.chain, **numbers))  # type: ignore[arg-type]  # numbers, not counts or flags

    def mean(self, of: Callable[[ReasoningChain], Any]) -> Any:
        """Give the mean over problems of what a problem's chain gives."""
        harder = replace(self.chain, difficulty=self.chain.difficulty + 1)
        return (1 - self.harder) * of(self.chain) + self.harder * of(harder)

    def pass_1(self, source: Source) -> Any:
        """Pass@1, a probability."""
        return self.mean(lambda chain: chain.pass_1(source))

    def pass_at_k(self, source: Source, k: int) -> Any:
        """Pass@k, a probability: the mean over problems."""
        return self.mean(lambda chain: chain.pass_at_k(source, k))

    def block_efficiency(self, decoder: Decoder) -> Any:
        """Tokens per target call in the long run, the problems sorted by difficulty."""
        tokens, calls = self.mean(lambda chain: np.array(chain.effort(decoder)))
        return tokens / calls

    def percent(self, verifier: TokenVerifier, gamma: int = GAMMA) -> float:
        """Pass@1 in percent under a rule as the paper runs it, in blocks of ``gamma``."""
        return 100 * float(self.pass_1(as_run(verifier, gamma)))


def as_run(verifier: TokenVerifier, gamma: int = GAMMA) -> Decoder:
    """Give the decoder of a rule as the paper runs it, in blocks of ``gamma``.

    The bonus comes from the target; for truncation sampling from the truncated target, which is its own law.
    """
    return Decoder(Tokenwise(verifier, "relaxed" if isinstance(verifier, TruncationSampling) else "target"), gamma)


# --- fits -----------------------------------------------------------------------------------------------------------


def _solve(name: str, low: float, high: float, off: Callable[[float], float]) -> float:
    """Find where ``off`` is 0, for a number that must lie in [low, high]."""
    from scipy.optimize import brentq

    if off(low) * off(high) > 0:
        raise ValueError(f"{name}: no value in [{low}, {high}] gives what the paper reports")
    return float(brentq(off, low, high, xtol=1e-14))


def draft(benchmark: str) -> dict[str, float]:
    """Give how the draft disagrees at a routine step: ``routine_tv``, ``severe_tv``, and the ``variety`` under the first.

    Notes
    -----
    TV(p, q) is 1 - α of the strict row, α that acceptance rate whose block efficiency is reported; lenience 0.2 accepts all
    mild disagreement and nothing else, so that its α is larger by ``routine_tv``.

    Examples
    --------
    >>> found = draft("MATH")
    >>> round(found["routine_tv"] + found["severe_tv"], 4), round(found["routine_tv"], 4)
    (0.0666, 0.0133)
    """
    own = calibration.reported(benchmark)
    strict, lenient = (calibration.rate(own[setting][0]) for setting in (("strict", None), ("lenience", 0.2)))
    mild = lenient - strict
    return {"routine_tv": mild, "severe_tv": 1 - lenient, "variety": mild / (MILD - 1)}


@cache
def reference() -> Exam:
    """Give the exam of Figure 1's MATH row, from its three accuracies; without harm, of which they say nothing.

    Notes
    -----
    One number after another: difficulty from the true baseline, which has no noise; ``noise`` from the full target;
    ``overconfidence`` from SpecCascade, run as coded.

    Examples
    --------
    >>> [round(100 * float(reference().pass_1(source)), 2) for source in (Plain(truncation=MinP(0.5)), Plain())]
    [75.7, 75.4]
    """
    row = {str(row["benchmark"]): row for row in tables.figure_1().to_dict("records")}["MATH"]
    columns = ("true_baseline_min_p", "wrong_baseline_full_target", "spec_cascade")
    truncated, full, verified = (float(row[name]) / 100 for name in columns)
    chain = ReasoningChain(1, OPENING, ROUTINE, **TORN, **draft("MATH"), noise=0.0, exact=False)
    exam = Exam.of(chain, truncated, Plain(truncation=MinP(0.5)))
    for name, high, source, goal in (
        ("noise", 0.1, Plain(), full),
        ("overconfidence", 0.9, as_run(SpecCascade(0.5, "target")), verified),
    ):
        low = getattr(exam.chain, name)
        exam = exam.change(**{name: _solve(name, low, high, _distance(exam, name, source, goal))})
    return exam


def _distance(exam: Exam, name: str, source: Source, goal: float) -> Callable[[float], float]:
    """Give how far Pass@1 is from a goal, as a function of one number of the chain."""
    return lambda value: float(exam.change(**{name: value}).pass_1(source)) - goal


@cache
def calibrate(benchmark: str, draft_weight: float = PROBE) -> Exam:
    """Give the exam of a benchmark, fitted on its strict accuracy and its accuracy under CoS at one draft weight.

    Parameters
    ----------
    benchmark : str
        Of `BENCHMARKS`.
    draft_weight : float
        Of `theory.paper.tables.SWEEP`.

    Raises
    ------
    ValueError
        For what Table 4 has no row of.

    Examples
    --------
    >>> exam = calibrate("MATH")
    >>> round(exam.percent(tables.verifier("strict")), 2), round(exam.percent(tables.verifier("cos_draft_weight", 0.4)), 2)
    (76.47, 60.4)
    """
    own = calibration.reported(benchmark)
    probe = ("cos_draft_weight", draft_weight)
    if probe not in own:
        raise ValueError(f"draft_weight = {draft_weight!r}: must be one of {', '.join(map(str, SWEEP))}")
    # No noise: Table 4 shows no gain by truncation, and with four tokens the draft's slips would fall on the target's noise, of
    # which lenience would then let 1/l times as much through.
    chain = reference().change(**draft(benchmark), noise=0.0).chain
    exam = Exam.of(chain, own["strict", None][2] / 100, Plain())
    found = _solve("harm", 0.0, 1.0, _distance(exam, "harm", as_run(tables.verifier(*probe)), own[probe][2] / 100))
    return exam.change(harm=found)


# --- predictions ----------------------------------------------------------------------------------------------------


def lost(benchmark: str, draft_weight: float) -> float:
    """Share of the strict accuracy that CoS at a draft weight loses, as the exam of `calibrate` has it.

    Parameters
    ----------
    benchmark : str
        Of `BENCHMARKS`.
    draft_weight : float
        In [0, 1]; any, not only the paper's.

    Returns
    -------
    float
        In [0, 1], no unit.

    Examples
    --------
    >>> [round(lost("BFCL", weight), 2) for weight in (0, 0.2, 0.4)]
    [0.0, 0.19, 0.34]
    """
    parameters.check("draft_weight", draft_weight, "[0, 1]")
    exam = calibrate(benchmark)
    return 1 - exam.percent(tables.verifier("cos_draft_weight", draft_weight)) / exam.percent(tables.verifier("strict"))


def predictions(draft_weight: float = PROBE, methods: Iterable[str] = tuple(tables.FAMILIES)) -> "pd.DataFrame":
    """Predict every accuracy of Table 4.

    Parameters
    ----------
    draft_weight : float
        Of the CoS row that each benchmark is fitted on.
    methods : iterable of str
        Of Table 4.

    Returns
    -------
    pandas.DataFrame, a row for each of Table 4's of these methods
        ``benchmark``, ``method``, ``parameter`` (NaN for strict); ``reported_percent`` and ``reported_std``, mean and standard
        deviation over 3 runs; ``predicted_percent``; ``error_points``, predicted - reported; ``sampling_points``, how far a
        mean of 3 runs is from its expectation if problems and runs are independent, 100 sqrt(c (1 - c)/(3 N)), c the
        prediction; ``used_for_fit``.
    """
    import pandas as pd

    table = tables.table_4()
    table = table[table["method"].isin(list(methods))]
    rows = []
    for benchmark in BENCHMARKS:
        exam = calibrate(benchmark, draft_weight)
        own = table[table["benchmark"] == benchmark]
        for row in own.to_dict("records"):
            method, parameter = str(row["method"]), float(row["parameter"])
            setting = None if parameter != parameter else parameter
            predicted = exam.percent(tables.verifier(method, setting))
            rows.append(
                {
                    "benchmark": benchmark,
                    "method": method,
                    "parameter": parameter,
                    "reported_percent": row["accuracy_percent"],
                    "reported_std": row["accuracy_std"],
                    "predicted_percent": predicted,
                    "error_points": predicted - row["accuracy_percent"],
                    "sampling_points": sampling_points(benchmark, predicted),
                    "used_for_fit": (method, setting) in (FITTED[0], ("cos_draft_weight", draft_weight)),
                }
            )
    return pd.DataFrame(rows)


def sampling_points(benchmark: str, accuracy: float, runs: int = RUNS) -> float:
    """Give the standard deviation of a mean of some runs, points, for an accuracy in percent, problems and runs independent.

    At most that: problems that are always or never solved scatter less, and Table 4's own deviations are mostly smaller.

    Examples
    --------
    >>> round(sampling_points("BFCL", 50.0), 2)
    2.04
    """
    return float((accuracy * (100 - accuracy) / (runs * PROBLEMS[benchmark])) ** 0.5)


def agreement(table: "pd.DataFrame | None" = None) -> "pd.DataFrame":
    """Say how far off the predictions are, for each benchmark and method, and for all benchmarks together.

    Parameters
    ----------
    table : pandas.DataFrame, optional
        As `predictions` gives it.

    Returns
    -------
    pandas.DataFrame
        ``benchmark`` (or ``all``), ``method``, ``points`` (rows that were not fitted); ``mean_absolute_error``,
        ``mean_error``, ``largest_error`` and ``sampling_points``, all in points of accuracy; and ``error_of_no_loss``, the mean
        absolute error of the prediction that nothing is ever lost: the strict accuracy as reported.
    """
    import pandas as pd

    table = predictions() if table is None else table
    strict = table[table["method"] == "strict"].set_index("benchmark")["reported_percent"]
    free = table[~table["used_for_fit"]]
    free = free.assign(no_loss=(free["benchmark"].map(strict) - free["reported_percent"]).abs())
    rows: list[dict[str, Any]] = []
    for method in dict.fromkeys(free["method"]):
        for benchmark in (*BENCHMARKS, "all"):
            own = free[(free["method"] == method) & ((free["benchmark"] == benchmark) | (benchmark == "all"))]
            errors = own["error_points"]
            rows.append(
                {
                    "benchmark": benchmark,
                    "method": method,
                    "points": len(own),
                    "mean_absolute_error": errors.abs().mean(),
                    "mean_error": errors.mean(),
                    "largest_error": errors.abs().max(),
                    "sampling_points": own["sampling_points"].mean(),
                    "error_of_no_loss": own["no_loss"].mean(),
                }
            )
    return pd.DataFrame(rows)


def sensitivity() -> "pd.DataFrame":
    """Say what the choice of the fitted CoS row does: mean absolute error on the other three CoS rows, points of accuracy.

    Returns
    -------
    pandas.DataFrame, index ``draft_weight``
        A column for each benchmark, and ``all``.
    """
    import pandas as pd

    found = {}
    for weight in SWEEP:
        off = agreement(predictions(weight, ("strict", "cos_draft_weight")))
        found[weight] = off[off["method"] == "cos_draft_weight"].set_index("benchmark")["mean_absolute_error"]
    return pd.DataFrame(found).T.rename_axis(index="draft_weight", columns=None)
