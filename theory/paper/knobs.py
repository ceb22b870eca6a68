"""The knobs of a figure: the arguments of its ``compute``, with their defaults and what they mean, and how text is read as them.

A knob is an argument of ``compute`` but ``quick``. Its domain stands in the docstring of ``compute``, and there alone; its
annotation says how text is read (`READERS`):

=================  ==================================================================================================
annotation         text
=================  ==================================================================================================
int, float, str    as it stands; a float may be a fraction, ``1/3``
list of numbers    separated by commas; ``0.1:0.9:5`` stands for 5 numbers in equal steps from 0.1 to 0.9
list of words      separated by commas
`Rule`             a rule's name, as `theory.parse` takes it
`Rules`            names separated by commas, see `split_rules`
`Cut`              a truncation's name, ``min-p:0.5``
`real.Rows`        the path of a trace, several of them separated by commas, or the name of synthetic rows
`Values`           ``name=number`` separated by commas
=================  ==================================================================================================
"""

import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from functools import wraps
from numbers import Real
from typing import TYPE_CHECKING, Any, NamedTuple, ParamSpec, TypeAlias

import numpy as np

from theory import parameters, synthetic, traces, truncation, verifiers
from theory.paper.real import PAIR, Rows
from theory.truncation import Truncation
from theory.verifiers import TokenVerifier

if TYPE_CHECKING:
    import pandas as pd

Rule: TypeAlias = TokenVerifier | str
Rules: TypeAlias = TokenVerifier | str | Sequence[TokenVerifier | str]
Cut: TypeAlias = Truncation | str
Values: TypeAlias = Mapping[str, float]

Inputs = ParamSpec("Inputs")


class Knob(NamedTuple):
    """One argument of a figure."""

    name: str
    annotation: Any
    default: Any
    about: str
    """What it is: domain and unit, and the default where that is not a value."""

    @property
    def several(self) -> bool:
        """Whether it is a list, so that it may be set piece by piece."""
        return READERS[self.annotation].several

    def __str__(self) -> str:
        return self.name if self.default is None else f"{self.name} ({write(self.default)})"


def of(compute: Callable[..., Any]) -> dict[str, Knob]:
    """Give the knobs of a figure by name, from the signature and the docstring of its ``compute``.

    Examples
    --------
    >>> from theory.paper import fig2
    >>> print(of(fig2.compute)["lenience"])
    lenience (0.5)
    """
    about = _described(inspect.getdoc(compute) or "")
    return {
        one.name: Knob(one.name, one.annotation, one.default, about.get(one.name, ""))
        for one in inspect.signature(compute).parameters.values()
        if one.name != "quick"
    }


def _described(docstring: str) -> dict[str, str]:
    """Give what the section Parameters of a docstring says of each."""
    section = docstring.partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    found: dict[str, str] = {}
    name = ""
    for line in section.splitlines():
        if not line.startswith(" "):
            name = line.partition(" :")[0]
        found[name] = " ".join([*found[name].split(), line.strip()]) if name in found else ""
    return found


# --- reading text -----------------------------------------------------------------------------------------------------


def split_rules(text: str) -> list[str]:
    """Split a list of rules at the commas where a new rule begins; other commas stand between arguments of a rule.

    A new rule begins where a rule's name stands behind the comma (`theory.verifiers.known_names`), or a word with a colon and no
    equals sign before it, such as ``file.py:Class``. An argument that is itself a rule's name, such as ``strict``, needs its
    keyword.

    Examples
    --------
    >>> split_rules("strict,spec-cascade:0.5,fallback=target,mine.py:Mine:0.3,2,lenience:0.4")
    ['strict', 'spec-cascade:0.5,fallback=target', 'mine.py:Mine:0.3,2', 'lenience:0.4']
    """
    known, found = verifiers.known_names(), list[str]()
    for piece in text.split(","):
        begins = piece.strip() in known or re.match(r"[^=:]+:", piece)
        if begins or not found:
            found.append(piece)
        else:
            found[-1] += f",{piece}"
    return found


def _number(text: str) -> float:
    return float(Fraction(text) if "/" in text else text)


def _numbers(text: str) -> list[float]:
    found: list[float] = []
    for piece in text.split(","):
        ends = piece.split(":")
        if len(ends) == 3:
            found += np.linspace(_number(ends[0]), _number(ends[1]), int(ends[2])).round(12).tolist()
        else:
            found.append(_number(piece))
    return found


def _words(text: str) -> list[str]:
    return [piece.strip() for piece in text.split(",")]


def _rows(text: str) -> Any:
    return text if text.partition(":")[0] in synthetic.FAMILIES or "," not in text else _words(text)


def _values(text: str) -> dict[str, float]:
    pairs = (piece.partition("=") for piece in text.split(","))
    return {name.strip(): _number(value) for name, _, value in pairs}


class Reader(NamedTuple):
    """How the text of a kind of knob is read."""

    read: Callable[[str], Any]
    wanted: str
    several: bool = False


READERS: dict[Any, Reader] = {
    int: Reader(int, "a whole number"),
    float: Reader(_number, "a number"),
    str: Reader(str.strip, "a word"),
    Sequence[int]: Reader(lambda text: [int(piece) for piece in text.split(",")], "whole numbers separated by commas", True),
    Sequence[float]: Reader(_numbers, "numbers separated by commas, or from:to:count", True),
    Sequence[str]: Reader(_words, "words separated by commas", True),
    Rule: Reader(verifiers.parse, "the name of a rule"),
    Rules: Reader(lambda text: [verifiers.parse(name) for name in split_rules(text)], "names of rules separated by commas", True),
    Cut: Reader(truncation.parse, "the name of a truncation"),
    Rows: Reader(_rows, "paths of traces separated by commas, or the name of synthetic rows"),
    Values: Reader(_values, "name=number separated by commas"),
}
"""Annotation to how text is read."""

READERS |= {annotation | None: reader for annotation, reader in READERS.items()}


def read(knob: Knob, texts: Sequence[str]) -> Any:
    """Read the value of a knob from text; a list may come in several pieces.

    Raises
    ------
    ValueError
        For text that is not of the knob's kind, and for several pieces of what is no list.

    Examples
    --------
    >>> knob = Knob("grid", Sequence[float], (0.5,), "")
    >>> read(knob, ["0.1:0.3:3", "1/2"])
    [0.1, 0.2, 0.3, 0.5]
    """
    reader = READERS[knob.annotation]
    if len(texts) > 1 and not reader.several:
        raise ValueError(f"--set {knob.name}: is set {len(texts)} times, and takes one value: {reader.wanted}")
    found = []
    for text in texts:
        try:
            found.append(reader.read(text))
        except (ValueError, ZeroDivisionError) as error:
            if reader.read in (int, _number, _numbers, _values) or knob.annotation in (Sequence[int], Sequence[int] | None):
                raise ValueError(f"--set {knob.name}={text}: {knob.name} takes {reader.wanted}") from None
            raise ValueError(f"--set {knob.name}={text}: {error}") from error
    return [value for part in found for value in part] if reader.several else found[0]


def write(value: Any, most: int | None = 6) -> str:
    """Write a value as text, a long list by its ends.

    Parameters
    ----------
    value : object
        Of a knob.
    most : int, optional
        Entries of a list that is written whole; any number where it is None.

    Examples
    --------
    >>> write(0.1), write(["strict", "lenience:0.4"]), write([1, 2, 3, 4], most=3)
    ('0.1', 'strict, lenience:0.4', '1, 2, ..., 4')
    """
    if isinstance(value, float):
        return f"{value:.6g}" if most else repr(value)
    if isinstance(value, traces.Trace):
        return value.where
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={write(own, most)}" for key, own in value.items())
    if isinstance(value, tuple) and value and all(np.ndim(part) > 0 for part in value):
        return f"rows of shape {' and '.join(str(np.shape(part)) for part in value)}"
    if isinstance(value, list | tuple | np.ndarray):
        texts = [write(part, most) for part in value]
        return ", ".join(texts if most is None or len(texts) <= most else [*texts[:2], "...", texts[-1]])
    return " ".join(str(value).split())


# --- checking values --------------------------------------------------------------------------------------------------


def listed(name: str, values: Iterable[Any]) -> list[Any]:
    """Give the entries of a list, and refuse what is none, is empty, or has one entry twice.

    Examples
    --------
    >>> listed("benchmarks", ["MATH", "MATH"])
    Traceback (most recent call last):
    ValueError: benchmarks = MATH, MATH: each may stand there once
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise ValueError(f"{name} = {values!r}: must be a list")
    found = list(values)
    if not found:
        raise ValueError(f"{name} is empty: at least one is wanted")
    if len(set(found)) < len(found):
        raise ValueError(f"{name} = {write(found)}: each may stand there once")
    return found


def numbers(name: str, values: Iterable[float], interval: str) -> list[float]:
    """Give the numbers of a list, each in an interval as `theory.parameters.check` takes it.

    Examples
    --------
    >>> numbers("p_bases", (0.5, 1.5), "(0, 1]")
    Traceback (most recent call last):
    ValueError: p_bases[1] = 1.5: must be a number in (0, 1]
    """
    if isinstance(values, Iterable) and not isinstance(values, str):
        values = [float(value) if isinstance(value, np.floating) else value for value in values]
    for place, value in enumerate(found := listed(name, values)):
        parameters.check(f"{name}[{place}]", value, interval)
    return [float(value) for value in found]


def counts(name: str, values: Iterable[int], least: int = 1) -> list[int]:
    """Give the whole numbers of a list, each at least so large."""
    for place, value in enumerate(found := listed(name, values)):
        parameters.check_count(f"{name}[{place}]", value, least)
    return [int(value) for value in found]


def choice(name: str, value: Any, allowed: Iterable[Any]) -> None:
    """Refuse what is none of the allowed values.

    Examples
    --------
    >>> choice("benchmark", "GSM8K", ("MATH", "BFCL"))
    Traceback (most recent call last):
    ValueError: benchmark = 'GSM8K': must be one of MATH, BFCL
    """
    allowed = list(allowed)
    if value not in allowed:
        raise ValueError(f"{name} = {value!r}: must be one of {', '.join(map(str, allowed))}")


def choices(name: str, values: Iterable[Any], allowed: Iterable[Any]) -> list[Any]:
    """Give the entries of a list, in the order of the allowed values."""
    allowed = list(allowed)
    for place, value in enumerate(found := listed(name, values)):
        choice(f"{name}[{place}]", value, allowed)
    return [value for value in allowed if value in found]


# --- what the inputs were ---------------------------------------------------------------------------------------------


def recorded(compute: "Callable[Inputs, pd.DataFrame]") -> "Callable[Inputs, pd.DataFrame]":
    """Let the table of ``compute`` remember in ``attrs["inputs"]`` which inputs are not the paper's, as text."""
    signature = inspect.signature(compute)

    @wraps(compute)
    def computed(*args: Inputs.args, **kwargs: Inputs.kwargs) -> "pd.DataFrame":
        table = compute(*args, **kwargs)
        defaults = {name: one.default for name, one in signature.parameters.items()}
        given = signature.bind(*args, **kwargs).arguments
        varied = {name: write(value) for name, value in given.items() if name != "quick" and not _same(value, defaults[name])}
        if varied:
            table.attrs["inputs"] = varied
        return table

    return computed


def _same(value: Any, default: Any) -> bool:
    """Whether a knob stands where the paper has it; lists and tuples are alike, and so are 5 and 5.0."""
    if isinstance(value, Real) and isinstance(default, Real):
        return value == default
    return write(value, None) == write(default, None)


def weighed(headline: "Callable[[pd.DataFrame], str]") -> "Callable[[pd.DataFrame], str]":
    """Let ``headline`` compare with the paper only where the inputs are the paper's, and else name those that are not."""

    @wraps(headline)
    def said(table: "pd.DataFrame") -> str:
        inputs = varied(table)
        if not inputs:
            return headline(table)
        named = ", ".join(f"{name} = {value}" for name, value in inputs.items())
        return f"Not the paper's inputs, so that its claims are not weighed: {named}."

    return said


def pair(table: "pd.DataFrame") -> str:
    """Name the rows of the trace in a title."""
    return "the given rows" if "trace" in varied(table) else f"{PAIR}, a real pair"


def varied(table: "pd.DataFrame") -> dict[str, str]:
    """Give the inputs of a table that are not the paper's, as text."""
    return dict(table.attrs.get("inputs", {}))
