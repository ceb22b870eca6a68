"""`theory explain`: where a verifier moves mass, by region and by token."""

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from theory import failure, parameters, verifiers
from theory.cli import inputs, outputs
from theory.cli.console import fit_columns, new_console, number_text

if TYPE_CHECKING:
    import pandas as pd

EXAMPLES = """
theory explain lenience:0.4
theory explain spec-cascade:0.5 --trace my-trace.safetensors --position 0
theory explain typical-acceptance:0.25 --worst 5 --by kl_divergence --plot worst.png --csv worst.csv
theory explain mine.py:Mine:0.4
theory explain lenience:1/2 --p 4/10,3/10,2/10,1/10 --q 1/5,1/4,1/4,3/10
"""


def run(
    verifier: inputs.Verifier,
    trace: Annotated[Path | None, typer.Option(help="A recorded trace; the bundled one where none is given.")] = None,
    position: Annotated[int | None, typer.Option(help="The position of the trace to explain, from 0.")] = None,
    worst: Annotated[
        int | None,
        typer.Option(help="Explain so many positions, where the verifier distorts most. Default: 1.", show_default=False),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="What makes a position bad. Default: total_variation.", show_default=False)
    ] = None,
    p: Annotated[str | None, typer.Option(help="A row of the target instead of a trace, as for show.")] = None,
    q: Annotated[str | None, typer.Option(help="The draft's row.")] = None,
    ceiling: Annotated[
        float | None,
        typer.Option(help="Factor of p above which overshoot is severe. Default: the rule's own, or 2.", show_default=False),
    ] = None,
    share: Annotated[float, typer.Option(help="Of the total variation that the tokens shown carry.")] = 0.9,
    tokens: Annotated[int, typer.Option(help="Tokens shown, at most; --csv writes all that carry the share.")] = 10,
    tokenizer: Annotated[
        Path | None, typer.Option(help="A tokenizer.json, or a vocab.json of token to id, to show what tokens say.")
    ] = None,
    tail_tokens: inputs.TailTokens = None,
    csv: Annotated[Path | None, typer.Option(help="Write the tokens that carry the share to this file.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw the regions and the tokens to this file (.png, .pdf, .svg).")] = None,
) -> None:
    """Show where a verifier moves mass: by region, by token, and away from which baseline; on a trace or one pair of rows."""
    rule = verifiers.parse(verifier)
    if ceiling is not None:
        parameters.check("--ceiling", ceiling, "[1, inf]")
    parameters.check("--share", share, "(0, 1]")
    parameters.check_count("--tokens", tokens)
    csv, plot = outputs.table_path(csv), outputs.figure_path(plot)
    given = {"--trace": trace, "--position": position, "--worst": worst, "--by": by, "--tail-tokens": tail_tokens}
    named = [name for name, value in given.items() if value is not None]
    texts = None if tokenizer is None else failure.read_texts(tokenizer)
    options: dict[str, Any] = {"ceiling": ceiling, "share": Fraction(str(share)), "texts": texts}
    console = new_console()
    if p is not None or q is not None:
        if p is None or q is None or named:
            raise ValueError("give --p and --q, both and without a trace" + (f" ({', '.join(named)})" if named else ""))
        found = [failure.explain(rule, *inputs.read_pair(p, q), **options)]
    else:
        if position is not None and (worst is not None or by is not None):
            raise ValueError("give --position, or --worst and --by, not both")
        if position is not None:
            parameters.check_count("--position", position, least=0)
        worst = 1 if worst is None else worst
        parameters.check_count("--worst", worst)
        by = "total_variation" if by is None else by
        failure.check_quantity(by)
        if tail_tokens is not None:
            parameters.check_count("--tail-tokens", tail_tokens)
        recorded = inputs.read_trace(trace, tail_tokens)
        console.print(recorded.describe())
        if position is not None:
            found = [failure.explain_position(rule, recorded, position, **options)]
        else:
            found = failure.explain_positions(rule, recorded, worst, by, **options)
    for explanation in found:
        _print(explanation, tokens, console)
    if csv is not None:
        import pandas as pd

        tables = [one.tokens.assign(position=one.position) for one in found]
        table = pd.concat(tables) if len(tables) > 1 else tables[0]
        outputs.save_table(table[["position", *(name for name in table if name != "position")]], csv, console)
    if plot is not None:
        import matplotlib.pyplot as plt

        from theory.plotting import plot_explained

        _, axes = plt.subplots(len(found), 1, figsize=(10, 4 * len(found)), layout="constrained", squeeze=False)
        for explanation, ax in zip(found, axes[:, 0], strict=True):
            plot_explained(explanation, ax=ax)
            if explanation.position is not None:
                ax.set_title(f"position {explanation.position}: {ax.get_title()}")
        outputs.save_figure(axes[0, 0], plot, console)


def _print(found: failure.Explanation, tokens: int, console: Console) -> None:
    console.print(f"\n{found}")
    kept, baseline = (["set"], ["baseline"]) if (found.regions["set"] != "all").any() else ([], [])
    names = ["region", *kept, "p", "q", "induced", "gained", "lost", "tokens", *baseline]
    _print_fitting(found.regions, names, "Mass by region", console)
    if len(found.tokens):
        shown = found.tokens.head(tokens)
        carried = f"{len(found.tokens)} carry {float(found.tokens['cumulative'].iloc[-1]):.1%} of the total variation"
        fewer = "" if len(shown) == len(found.tokens) else f"; {len(shown)} shown"
        known = (~shown["text"].isin(["", failure.TAIL])).any()
        names = ["token", *(["text"] if known else []), "region", *kept, "p", "q", "induced", "change", "cumulative"]
        _print_fitting(shown, names, f"Tokens that move most ({carried}{fewer})", console)


def _print_fitting(table: "pd.DataFrame", names: Sequence[str], title: str, console: Console) -> None:
    """Print the columns of a table that the console holds, from the first."""

    def make(names: Sequence[str]) -> Table:
        grid = Table(title=title, title_justify="left", show_edge=False, pad_edge=False)
        for name in names:
            grid.add_column(name, justify="left" if name in ("region", "set", "text") else "right", overflow="fold")
        for _, row in table.iterrows():
            grid.add_row(*(_entry(name, row[name]) for name in names))
        return grid

    grid, fit = fit_columns(make, names, [""], console)
    console.print(grid)
    if len(fit) < len(names):
        console.print(f"Not shown in so narrow a console: {', '.join(names[len(fit) :])}.")


def _entry(name: str, value: Any) -> str:
    if name in ("region", "set"):
        return str(value)
    if name == "text":  # with what cannot be seen, such as spaces
        return repr(value) if value not in ("", failure.TAIL) else ""
    if name in ("token", "tokens"):
        return failure.TAIL if value < 0 else str(value)
    return number_text(value) if isinstance(value, Fraction) else f"{float(value):.4g}"
