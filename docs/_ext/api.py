"""A page for each public module: its docstring, a table of its names, and each name in full."""

import importlib
import inspect
import pkgutil
import re
import typing
from pathlib import Path
from types import ModuleType
from typing import Any

import generated
from sphinx.application import Sphinx

import theory

GROUPS = {
    "Rules": ("verifiers", "truncation", "blocks", "trees"),
    "Numbers": ("exact", "monte_carlo", "compare", "compare_blocks", "curves", "frontier", "failure", "divergences"),
    "Texts and models": ("models", "decode", "sequences", "reasoning"),
    "What you bring": ("counts", "traces", "sources", "synthetic", "testing", "plotting"),
    "The paper": ("paper",),
}
"""Heading to the modules below it; what stands in none of them comes last."""

ALSO = ("theory.verifiers.base", "theory.verifiers.strict", "theory.failure.derivations", "theory.failure.suprema")
"""Modules of packages that export what is public, which writers of rules need all the same."""


def modules() -> dict[str, ModuleType]:
    """Give the public modules by name, but for the command line, which has a page of its own."""
    found = {"theory": theory}
    for info in pkgutil.walk_packages(theory.__path__, "theory."):
        private = any(part.startswith("_") for part in info.name.split("."))
        if not private and info.name.split(".")[1] != "cli":
            found[info.name] = importlib.import_module(info.name)
    exporting = {name for name, module in found.items() if hasattr(module, "__all__") and name != "theory"}
    return {
        name: module
        for name, module in found.items()
        if name in ALSO or not any(name.startswith(f"{package}.") for package in exporting)
    }


def names(module: ModuleType) -> list[str]:
    """Give what a module exports, or else the public classes and functions that it defines."""
    if hasattr(module, "__all__"):
        exported = ((name, getattr(module, name)) for name in module.__all__)
        return [name for name, value in exported if not inspect.ismodule(value) and typing.get_origin(value) is None]
    own = [
        name
        for name, value in vars(module).items()
        if not name.startswith("_")
        and getattr(value, "__module__", None) == module.__name__
        and (inspect.isclass(value) or inspect.isroutine(value))
    ]
    return own + [name for name in documented_data(module) if name not in own]


def documented_data(module: ModuleType) -> list[str]:
    """Give the public constants below which there stands a docstring."""
    from sphinx.pycode import ModuleAnalyzer

    analyzer = ModuleAnalyzer.for_module(module.__name__)
    analyzer.analyze()
    public = [name for scope, name in analyzer.attr_docs if not scope and not name.startswith("_")]
    return [name for name in public if typing.get_origin(getattr(module, name)) is None]  # no aliases of types


def directive(value: Any) -> str:
    """Name the directive that shows an object."""
    if inspect.isclass(value):
        return "autoexception" if issubclass(value, Exception) else "autoclass"
    return "autofunction" if inspect.isroutine(value) or hasattr(value, "registry") else "autodata"


def page(name: str, module: ModuleType, places: dict[int, str]) -> str:
    """Write the page of a module; on that of ``theory`` names link to where they are described."""
    listed = names(module)
    kinds = {each: directive(getattr(module, each)) for each in listed}
    lines = [f".. {generated.NOTE}", "", name, "=" * len(name), "", f".. automodule:: {name}", ""]
    described = [each for each in listed if kinds[each] != "autodata"]
    if described:
        lines += [".. rubric:: Names", "", ".. autosummary::", ""]
        links = (places.get(id(getattr(module, each)), f"{name}.{each}") for each in described)
        lines += [f"   ~{link.removeprefix(f'{name}.')}" for link in links]
        lines += [""]
    constants = [f"`{each}`" for each in listed if kinds[each] == "autodata"]
    if constants:
        lines += [f"Constants: {', '.join(constants)}.", ""]
    for each in listed if name != "theory" else ():
        lines += [f".. {kinds[each]}:: {name}.{each}"]
        if kinds[each] == "autoclass":
            lines += ["   :members:", "   :show-inheritance:"]
        if kinds[each] == "autodata":
            lines += ["   :no-value:"]
        lines += [""]
    return "\n".join(lines) + "\n"


def first_line(module: ModuleType) -> str:
    """Give the sentence that a module begins with."""
    return (module.__doc__ or "").strip().split("\n")[0]


def write(app: Sphinx) -> None:
    """Write all pages and their list."""
    folder = Path(app.srcdir) / "reference" / "api"
    found = modules()
    places: dict[int, str] = {}
    for name, module in found.items():
        for each in names(module) if name != "theory" else ():
            places.setdefault(id(getattr(module, each)), f"{name}.{each}")
    for name, module in found.items():
        generated.write(folder / f"{name}.rst", page(name, module, places))
    grouped = {part for group in GROUPS.values() for part in group}
    lines = [f".. {generated.NOTE}", "", "API", "===", "", "The names that most programs need are those of :doc:`theory`.", ""]
    rest = sorted({name.split(".")[1] for name in found if name != "theory"} - grouped)
    lines += [".. toctree::", "   :hidden:", "", "   theory", ""]
    for heading, parts in {**GROUPS, "What these are built on": tuple(rest)}.items():
        inside = [name for part in parts for name in found if name == f"theory.{part}" or name.startswith(f"theory.{part}.")]
        lines += [heading, "-" * len(heading), "", ".. toctree::", "   :hidden:", ""]
        lines += [f"   {name}" for name in inside]
        lines += ["", ".. list-table::", "   :widths: 30 70", ""]
        for name in inside:
            lines += [f"   * - :doc:`{name}`", f"     - {first_line(found[name])}"]
        lines += [""]
    generated.write(folder / "index.rst", "\n".join(lines))
    generated.keep_only(folder, {"index.rst", *(f"{name}.rst" for name in found)})


MATHEMATICS = re.compile(r"``.*?``|\|(?=[^\s|])[^|]*[^\s|]\| {0,2}|(?<=[( ])\*(?=\w)")


def escape(app: Sphinx, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Keep the bars of |p - q| and the star of (..., *L, V), which docstrings have for `help`, from being markup."""
    for place, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            lines[place] = MATHEMATICS.sub(_escaped, line)


def _escaped(found: re.Match[str]) -> str:
    text = found[0]
    if text.startswith("`"):
        return text
    longer = text.rstrip().replace("|", r"\|").replace("*", r"\*")
    return (
        longer.ljust(len(text)) if text.endswith("  ") else longer + " " * (len(text) - len(text.rstrip()))
    )  # tables keep their width


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the pages before Sphinx looks for them."""
    app.connect("builder-inited", write)
    app.connect("autodoc-process-docstring", escape, priority=400)  # before numpydoc
    return {"parallel_read_safe": True, "parallel_write_safe": True}
