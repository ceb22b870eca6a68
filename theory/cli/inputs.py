"""What commands work on: a trace, synthetic rows, or a pair of rows that is typed in."""

from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from rich.console import Console

from theory import parameters, probs, synthetic, traces
from theory.probs import Array

TAIL_TOKENS = 1024
"""Tokens over which the mass outside truncated rows is spread, where the vocabulary has as many."""

Trace = Annotated[Path | None, typer.Argument(help="A recorded trace; the bundled one where none is given.")]

SyntheticRows = Annotated[str | None, typer.Option("--synthetic", metavar="NAME:ARGS", help="Synthetic rows instead of a trace.")]

Verifier = Annotated[
    str, typer.Argument(metavar="VERIFIER", help="A verifier, such as lenience:0.4, or one of your own, file.py:Class:0.4.")
]

TailTokens = Annotated[
    int | None,
    typer.Option(
        help="Equal tokens over which a truncated trace spreads the mass that it did not record. "
        f"Default: {TAIL_TOKENS}, or as many as the vocabulary leaves.",
        show_default=False,
    ),
]


def read_rows(trace: Path | None, synthetic_rows: str | None, tail_tokens: int | None, console: Console) -> tuple[Any, Any]:
    """Give the rows p and q of a trace or of synthetic rows, each of shape (..., V), and say what they are.

    Raises
    ------
    ValueError
        If both are given, or tail tokens for rows that are whole; whatever `traces.read` and `synthetic.parse` refuse.
    """
    if trace is not None and synthetic_rows is not None:
        raise ValueError("give a trace or --synthetic, not both")
    if tail_tokens is not None:
        parameters.check_count("--tail-tokens", tail_tokens)
    if synthetic_rows is not None:
        if tail_tokens is not None:
            raise ValueError(f"--tail-tokens {tail_tokens}: synthetic rows are whole, and have no tail to spread")
        p, q = synthetic.parse(synthetic_rows)
        count = np.atleast_2d(p).shape[0]
        pairs = "1 pair" if count == 1 else f"{count} pairs"
        console.print(f"{synthetic_rows}: {pairs} of rows over {p.shape[-1]} tokens", soft_wrap=True)
        return p, q
    recorded = read_trace(trace, tail_tokens)
    console.print(recorded.describe())
    if "overlap" in recorded.exact:
        console.print(
            f"Over the full vocabulary strict verification accepts {recorded.exact['overlap'].mean():.4f}, stored exactly "
            "at record time; the table below is computed from the recorded rows."
        )
    return recorded.p, recorded.q


def read_trace(trace: Path | None, tail_tokens: int | None) -> traces.Trace:
    """Give a trace, the bundled one where none is named, with its tail spread over tokens.

    Raises
    ------
    ValueError
        If tail tokens are given for a trace of whole rows; whatever `traces.read` refuses.
    """
    recorded = traces.example() if trace is None else traces.read(trace)
    if isinstance(recorded.p, traces.RaggedRows):
        most = max(1, recorded.vocabulary - recorded.p.longest)
        return recorded.with_tail_tokens(min(TAIL_TOKENS, most) if tail_tokens is None else tail_tokens)
    if tail_tokens is not None:
        raise ValueError(f"--tail-tokens {tail_tokens}: the rows of {recorded.where} are whole, and have no tail to spread")
    return recorded


def read_pair(p: str, q: str) -> tuple[Array, Array]:
    """Read two rows, comma-separated: as Fractions if any entry is written with a slash, else as floats.

    Raises
    ------
    ValueError
        If an entry is no number, or `probs.check_pair` refuses the rows.

    Examples
    --------
    >>> p, q = read_pair("1/2,0.5", "1/4,3/4")
    >>> p[1], q[1]
    (Fraction(1, 2), Fraction(3, 4))
    """
    texts = {name: [entry.strip() for entry in text.split(",")] for name, text in (("p", p), ("q", q))}
    fractions = any("/" in entry for entries in texts.values() for entry in entries)
    rows = []
    for name, entries in texts.items():
        try:
            values = [Fraction(entry) if fractions else float(entry) for entry in entries]
        except (ValueError, ZeroDivisionError):
            raise ValueError(f"--{name} {','.join(entries)}: a row is numbers separated by commas, as 1/2,1/4,0.25") from None
        rows.append(np.array(values, dtype=object if fractions else np.float64))
    return probs.check_pair(rows[0], rows[1])
