"""What `theory counts` prints and writes."""

from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.table import Table

from theory import counts
from theory.counts import Counts, MeanLength, Totals
from theory.counts.tally import Logged

if TYPE_CHECKING:
    import pandas as pd

STATISTICS = {
    "acceptance_rate": "acceptance rate: accepted / drafted",
    "conditional_acceptance_rate": "conditional rate: accepted / judged",
    "mean_accepted": "E[τ]: drafted tokens kept a call",
    "block_efficiency": "block efficiency: tokens a call",
}
"""Statistic to its heading, with the unit."""

LOW = {"statistics": "low", "rates by position": "unconditional_low", "predictions": "mean_accepted_low"}
"""Part of what is shown to its column of lower ends, NaN where there is no interval."""


def show(logged: Logged, parts: "dict[str, pd.DataFrame]", console: Console) -> None:
    """Print the parts, named as in `LOW`, and what their intervals are."""
    console.print(_title(logged), soft_wrap=True)
    _print_statistics(parts["statistics"], console)
    if "rates by position" in parts:
        _print_positions(parts["rates by position"], console)
    elif isinstance(logged, MeanLength) or (isinstance(logged, Totals) and logged.each is not None):
        _print_possible(counts.possible_rates(logged), console)
    if "predictions" in parts:
        _print_predictions(parts["predictions"], console)
    _print_notes(parts, console)


def show_backtest(table: "pd.DataFrame", fitted: int, console: Console) -> None:
    """Print predictions beside the truth."""
    console.print(f"E[τ] along the texts of the bundled trace, known at γ = {fitted} and predicted at others")
    grid = _grid("verifier", "γ", "model", "predicted", "true", "error", "possible")
    for row in table.to_dict("records"):
        numbers = (_number(row["predicted"]), _number(row["true"]), f"{row['error']:+.4f}")
        possible = _range(row["possible_low"], row["possible_high"])
        grid.add_row(row["verifier"], str(row["gamma"]), row["model"].replace("_", " "), *numbers, possible)
    console.print(grid)
    _print_models(table, console)


def one_a_line(parts: "dict[str, pd.DataFrame]") -> "pd.DataFrame":
    """Put all numbers of the parts below each other as floats, each with what it is of.

    Examples
    --------
    >>> logged = counts.Counts.from_histogram([1, 2, 1])
    >>> table = one_a_line({"statistics": counts.estimates(logged), "predictions": counts.predict(logged, 1)})
    >>> table[["quantity", "gamma", "value"]]
                          quantity  gamma     value
    0              acceptance_rate   <NA>  0.500000
    1  conditional_acceptance_rate   <NA>  0.571429
    2                mean_accepted   <NA>  1.000000
    3             block_efficiency   <NA>  2.000000
    4                mean_accepted      1  0.750000
    """
    import pandas as pd

    lines: list[dict[Any, Any]] = []
    for row in parts["statistics"].to_dict("records"):
        lines.append(row | {"quantity": row["statistic"]})
    for row in parts["rates by position"].to_dict("records") if "rates by position" in parts else ():
        for name in ("conditional", "unconditional"):
            ends = {"value": row[name], "low": row[f"{name}_low"], "high": row[f"{name}_high"]}
            lines.append({"quantity": f"{name}_rate", "position": row["position"], "how": row["how"]} | ends)
    for row in parts["predictions"].to_dict("records") if "predictions" in parts else ():
        ends = {"value": row["mean_accepted"], "low": row["mean_accepted_low"], "high": row["mean_accepted_high"]}
        lines.append(row | {"quantity": "mean_accepted"} | ends)
    names = ("quantity", "average", "position", "gamma", "model", "value", "low", "high", "possible_low", "possible_high", "how")
    table = pd.DataFrame(lines).reindex(columns=names)
    floats = ("value", "low", "high", "possible_low", "possible_high")
    return table.astype(dict.fromkeys(floats, "float64") | dict.fromkeys(("position", "gamma"), "Int64"))


def _title(logged: Logged) -> str:
    if isinstance(logged, Counts):
        drafted = sorted({int(logged.drafted.min()), int(logged.drafted.max())})
        requests = "" if logged.request is None else f" of {len(np.unique(logged.request))} requests"
        return f"{len(logged)} steps{requests}, each with {'..'.join(map(str, drafted))} drafted tokens"
    if isinstance(logged, Totals):
        return f"Totals: {logged.drafts} steps, {logged.drafted} drafted and {logged.accepted} accepted tokens"
    return f"A mean length: {float(logged.mean_accepted):.6g} of {logged.gamma} drafted tokens accepted a step"


def _print_statistics(table: "pd.DataFrame", console: Console) -> None:
    several = bool((table["average"] != "pooled").any())
    grid = _grid("statistic", *(["mean over"] if several else []), "value", "low", "high")
    for row in table.to_dict("records"):
        over = [{"pooled": "steps", "per_request": "requests"}[row["average"]]] if several else []
        grid.add_row(STATISTICS[row["statistic"]], *over, *(_number(row[name]) for name in ("value", "low", "high")))
    console.print(grid)


def _print_positions(table: "pd.DataFrame", console: Console) -> None:
    grid = _grid("pos.", "kept", "judged", "condi-\ntional", "low", "high", "uncondi-\ntional", "low", "high")
    for row in table.to_dict("records"):
        rates = (row[f"{name}{end}"] for name in ("conditional", "unconditional") for end in ("", "_low", "_high"))
        grid.add_row(*(str(row[name]) for name in ("position", "accepted", "observed")), *map(_number, rates))
    console.print(grid)
    console.print("Rates by position: conditional, kept / judged; unconditional, kept / proposed.")


def _print_possible(table: "pd.DataFrame", console: Console) -> None:
    models = ("constant", "least_variance", "greatest_variance")
    headings = (*(model.replace("_", "\n") for model in models), "possible", "unconditional,\npossible")
    grid = _grid("pos.", *headings)
    for row in table.to_dict("records"):
        ranges = (_range(row[f"{name}_low"], row[f"{name}_high"]) for name in ("conditional", "unconditional"))
        grid.add_row(str(row["position"]), *(_number(row[model]) for model in models), *ranges)
    console.print(grid)
    console.print("Conditional rates by position that have this mean, under three models, and what is possible.")


def _print_predictions(table: "pd.DataFrame", console: Console) -> None:
    grid = _grid("γ", "model", "E[τ]", "low", "high", "block\nefficiency", "possible E[τ]")
    for row in table.to_dict("records"):
        numbers = (row["mean_accepted"], row["mean_accepted_low"], row["mean_accepted_high"], row["block_efficiency"])
        possible = _range(row["possible_low"], row["possible_high"])
        grid.add_row(str(row["gamma"]), row["model"].replace("_", " "), *map(_number, numbers), possible)
    console.print(grid)
    _print_models(table, console)


def _print_models(table: "pd.DataFrame", console: Console) -> None:
    for model in dict.fromkeys(table["model"]):
        console.print(f"{model.replace('_', ' ')}: {counts.MODELS[model]}.")


def _print_notes(parts: "dict[str, pd.DataFrame]", console: Console) -> None:
    notes: dict[str, None] = {}  # in order, each once
    for part, table in parts.items():
        for how, missing in zip(table["how"], table[LOW[part]].isna(), strict=True):
            notes[f"{how[0].upper()}{how[1:]}." if missing else f"Low, high of the {part}: {how}."] = None
    for note in notes:
        console.print(note)
    if any("as if independent" in note for note in notes):
        console.print("Steps of one request are not independent: where requests differ, intervals over steps are too narrow.")


def _grid(*headings: str) -> Table:
    grid = Table(show_edge=False, pad_edge=False)
    for place, heading in enumerate(headings):
        grid.add_column(heading, justify="right" if place else "left", overflow="fold")
    return grid


def _range(low: Any, high: Any) -> str:
    return "-" if low is None else f"{_number(low)} .. {_number(high)}"


def _number(value: Any) -> str:
    return "-" if value is None or np.isnan(float(value)) else f"{float(value):.4f}"
