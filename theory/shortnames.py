"""Short names: ``"lenience:0.4"`` for ``Lenience(0.4)``, read against a table and written back.

The grammar is ``name[:argument[,argument]...]``, an argument ``value`` or ``keyword=value``. A value is a whole number,
a fraction (``1/2``, kept exact), a decimal, or a word. A name inside a name separates its arguments with colons and has no
keywords, which are those of the outer name: ``truncation:eta:0.25:0.5,fallback=target``.
"""

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from theory import parameters

Converters = Mapping[str, Callable[[str], Any]]


def build(
    text: str, table: Mapping[str, Callable[..., Any]], kind: str, convert: Converters | None = None, separator: str = ","
) -> Any:
    """Make the object that ``text`` names.

    Parameters
    ----------
    text : str
        The short name.
    table : mapping of str to callable
        What exists.
    kind : str
        What error messages call the things in the table.
    convert : mapping of str to callable, optional
        For arguments that are short names themselves: parameter name to parser.
    separator : str
        What stands between arguments.

    Raises
    ------
    ValueError
        For a name that is not in the table (the message lists the table), an argument that is empty or that the callable
        does not take (the message lists those that it takes), or a value that it refuses.

    Examples
    --------
    >>> build("complex:1,imag=2", {"complex": complex}, "number")
    (1+2j)
    """
    parameters.check_kind("text", text, str, "'name:0.5'")
    name, colon, rest = text.strip().partition(":")
    if name not in table:
        raise ValueError(f"no {kind} is called {name!r}; there are: {', '.join(sorted(table))}")
    return call(text, table[name], name, colon + rest, convert, separator)


def call(
    text: str, make: Callable[..., Any], name: str, behind: str, convert: Converters | None = None, separator: str = ","
) -> Any:
    """Call what a name stands for with the arguments ``behind`` it, which begin with their colon; ``text`` is for messages.

    Raises
    ------
    ValueError
        For an argument that is empty or not taken (the message lists those that are), or a value that is refused.

    Examples
    --------
    >>> call("complex:1", complex, "complex", ":1")
    (1+0j)
    """
    known = [p.name for p in inspect.signature(make).parameters.values()]
    arguments: dict[str, Any] = dict(_arguments(text, behind[1:].split(separator) if behind else [], known))
    for key, value in arguments.items():
        arguments[key] = (convert or {}).get(key, _value)(value)
    try:
        inspect.signature(make).bind(**arguments)
    except TypeError as error:
        raise ValueError(f"{text!r}: {name} takes the arguments {', '.join(known) or '(none)'}; {error}") from None
    try:
        return make(**arguments)
    except TypeError as error:  # of a rule of somebody's own, which compares a number with a word
        raise ValueError(f"{text!r}: {name} refuses its arguments: {error}") from error


def build_nested(text: str, table: Mapping[str, Callable[..., Any]], kind: str) -> Any:
    """Make the object that a name inside a name stands for: colons separate its arguments too."""
    return build(text, table, kind, separator=":")


def write(thing: Any, name: str, separator: str = ",") -> str:
    """Write a dataclass as a short name: its fields in order, those at their default left out.

    Behind commas, what comes after a default is written with its keyword. Behind colons, where a keyword would be the outer
    name's, all fields up to the last that is not at its default are written by position.

    Examples
    --------
    >>> @dataclasses.dataclass
    ... class Scale:
    ...     factor: float
    ...     shift: float = 0
    >>> write(Scale(2.5), "scale"), write(Scale(2.5, 1), "scale"), write(Scale(2.5, 1), "scale", ":")
    ('scale:2.5', 'scale:2.5,shift=1', 'scale:2.5:1')
    """
    fields = [(field, getattr(thing, field.name)) for field in dataclasses.fields(thing)]
    needed = [field.default is dataclasses.MISSING or value != field.default for field, value in fields]
    if separator == ":":
        last = max((place for place, need in enumerate(needed) if need), default=-1)
        parts = [str(value) for _, value in fields[: last + 1]]
    else:
        parts = [
            str(value) if field.default is dataclasses.MISSING else f"{field.name}={value}"
            for (field, value), need in zip(fields, needed, strict=True)
            if need
        ]
    return ":".join([name, separator.join(parts)]) if parts else name


def _arguments(text: str, parts: list[str], known: list[str]) -> dict[str, str]:
    arguments: dict[str, str] = {}
    positional = iter(known)
    for part in parts:
        if not part.strip():
            raise ValueError(f"{text!r}: an argument is empty; the arguments are {', '.join(known) or '(none)'}")
        key, equals, value = part.partition("=")
        if not equals:
            key, value = next(positional, ""), part
        if key not in known or key in arguments:
            raise ValueError(f"{text!r}: cannot place {part!r}; the arguments are {', '.join(known) or '(none)'}")
        arguments[key] = value
    return arguments


def _value(text: str) -> Any:
    for read in (int, Fraction if "/" in text else float, str):
        try:
            return read(text)
        except (ValueError, ZeroDivisionError):
            continue
    return text
