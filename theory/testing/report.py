"""How a falsified rule is told: what is wrong, the rows that show it, and a test that can be pasted into a file."""

import dataclasses
import re
import sys
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any

import numpy as np

from theory import probs
from theory.testing.search import Falsified

AS_A_TEST = "As a test:"
"""The line of a message after which the test stands."""


def message(rule: Any, wrong: Falsified, rows: Mapping[str, Any], assertion: str, setup: Mapping[str, Any], call: str) -> str:
    """Write what is wrong with a rule, and the test that fails for the same reason.

    Parameters
    ----------
    rule : object
        The rule.
    wrong : Falsified
        What is wrong with it.
    rows : mapping of str to array_like
        The rows on which it is, by name.
    assertion : str
        The name of the assertion, one of this package's.
    setup : mapping of str to object
        What the test defines, by name.
    call : str
        What the test gives to the assertion behind the rule.
    """
    shown = [f"  {name} = [{', '.join(map(str, np.ravel(row)))}]" for name, row in {**rows, **wrong.shown}.items()]
    return "\n".join([f"{rule!r} {wrong.said}.", *shown, "", AS_A_TEST, "", test_of(rule, assertion, setup, call)])


def test_of(rule: Any, assertion: str, setup: Mapping[str, Any], call: str) -> str:
    """Write a test of a rule as Python code: imports, definitions, the assertion."""
    code = Code()
    code.name("theory", "testing")
    named = code.rule(rule)
    lines = [f"    {name} = {code.of(value)}" for name, value in setup.items()]
    name = f"test_{_snake(type(rule).__name__)}_{assertion.removeprefix('assert_')}"
    return "\n".join([*code.header(), "", "", f"def {name}():", *lines, f"    testing.{assertion}({named}, {call})"])


test_of.__test__ = False  # type: ignore[attr-defined]  # no test itself, though pytest would read it so from its name


class Code:
    """Python code of values, and the imports that it takes."""

    def __init__(self) -> None:
        self.imports: dict[str, set[str]] = {}
        self.lost: set[str] = set()

    def header(self) -> list[str]:
        """Give the import lines, in the order in which files have them, and name the classes that cannot be imported."""
        groups: list[list[str]] = [[], [], []]
        for module in sorted(self.imports):
            names = ", ".join(sorted(self.imports[module]))
            where = 0 if module == "fractions" else 1 if module == "numpy" else 2
            groups[where].append(f"import {module} as {names}" if module == "numpy" else f"from {module} import {names}")
        lines: list[str] = []
        for group in groups:
            lines += [*([""] if lines and group else []), *group]
        return [*lines, *(f"# {name} cannot be imported from where it is: put this beside it" for name in sorted(self.lost))]

    def name(self, module: str, name: str) -> None:
        """Import a name from a module."""
        self.imports.setdefault(module, set()).add(name)

    def rule(self, rule: Any) -> str:
        """Write a rule: made of its class, or by its name where its class was loaded from a file."""
        made = Code()
        code = made.of(rule)
        if made.lost and ".py:" in str(rule):
            return repr(str(rule))
        for module, names in made.imports.items():
            self.imports.setdefault(module, set()).update(names)
        self.lost |= made.lost
        return code

    def of(self, value: Any) -> str:
        """Write a value: numbers, rows, and dataclasses of them."""
        if isinstance(value, np.ndarray):
            if value.dtype != np.float32:
                return self.of(value.tolist())
            self.name("numpy", "np")
            return f"np.array({self._rounded(value)}, dtype=np.float32)"
        if isinstance(value, np.generic):
            return self.of(value.item())
        if isinstance(value, Fraction):
            self.name("fractions", "Fraction as F")
            return f"F({value.numerator}, {value.denominator})" if value.denominator > 1 else f"F({value.numerator})"
        if isinstance(value, list):
            return f"[{self._listed(value)}]"
        if isinstance(value, tuple):
            return f"({self._listed(value)}{',' if len(value) == 1 else ''})"
        if isinstance(value, Mapping):
            return f"{{{', '.join(f'{self.of(key)}: {self.of(entry)}' for key, entry in value.items())}}}"
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            fields = [field.name for field in dataclasses.fields(value) if field.init]
            return f"{self._class(type(value))}({', '.join(f'{name}={self.of(getattr(value, name))}' for name in fields)})"
        if value is None or isinstance(value, bool | int | float | str):
            return repr(value)
        return f"{self._class(type(value))}({'...' if getattr(value, '__dict__', None) else ''})"

    def _listed(self, values: Iterable[Any]) -> str:
        return ", ".join(map(self.of, values))

    def _rounded(self, row: Any) -> str:
        """Write float32 numbers with the digits that they need."""
        return str(row) if row.ndim == 0 else f"[{', '.join(map(self._rounded, row))}]"

    def _class(self, cls: type) -> str:
        outer = cls.__qualname__.partition(".")[0]
        found: Any = sys.modules.get(cls.__module__) if cls.__module__ != "__main__" else None
        for part in cls.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is cls:
            self.name(cls.__module__, outer)
            return str(cls.__qualname__)
        self.lost.add(cls.__name__)
        return cls.__name__


def _snake(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def first_rows(pair: Any) -> dict[str, Any]:
    """Give the first rows of two models, for a message; the whole models stand in the test."""
    p, q = pair.rows(())
    return {"p after ()": probs.check_rows(p), "q after ()": probs.check_rows(q)}
