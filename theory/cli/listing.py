"""`theory list`: the names that commands take, with their formulas, claims and sources."""

import dataclasses

from rich.table import Table

from theory import blocks, synthetic, truncation, verifiers
from theory.cli.console import new_console

EXAMPLES = """
theory list
"""


def run() -> None:
    """List every verifier with formula, family, when it is lossless, and source; truncations and synthetic rows too."""
    grid = Table(title="Verifiers", title_justify="left", show_lines=True)
    for heading in ("name:arguments", "family", "rule", "lossless", "source"):
        grid.add_column(heading, overflow="fold")
    for rule in verifiers.RULES.values():
        grid.add_row(_signature(rule.name, rule), rule.family, rule.formula, rule.claim, rule.source)
    console = new_console()
    console.print(grid)
    if registered := verifiers.registered() | blocks.registered():
        grid = Table(title="Verifiers of installed packages", title_justify="left")
        for heading in ("package", "name:arguments", "family", "rule", "source"):
            grid.add_column(heading, overflow="fold")
        for name, (package, own) in registered.items():
            grid.add_row(package, _signature(name, own), getattr(own, "family", "block"), own.formula, own.source)
        console.print(grid)
    grid = Table(title="Truncations, for truncation: and truncation-sampling:", title_justify="left")
    grid.add_column("name:arguments")
    grid.add_column("allowed set A")
    for cut in truncation.TRUNCATIONS.values():
        grid.add_row(_signature(cut.name, cut, ":"), cut.formula)
    console.print(grid)
    grid = Table(title="Block verifiers; a token verifier's name stands for it token by token", title_justify="left")
    for heading in ("name", "rule", "lossless", "source"):
        grid.add_column(heading, overflow="fold")
    for block in blocks.BLOCK_RULES.values():
        grid.add_row(block.name, block.formula, block.claim, block.source)
    console.print(grid)
    console.print(
        "A verifier of your own: file.py:Class or package.module:Class, arguments behind it, as in mine.py:Mine:0.3. "
        "The file is executed."
    )
    console.print(f"Synthetic rows: {', '.join(synthetic.FAMILIES)}. Fallbacks: {', '.join(verifiers.FALLBACKS)}.")


def _signature(name: str, rule: type, separator: str = ",") -> str:
    if not dataclasses.is_dataclass(rule):
        return name
    fields = [
        field.name if field.default is dataclasses.MISSING else f"{field.name}={field.default}"
        for field in dataclasses.fields(rule)
    ]
    return f"{name}:{separator.join(fields)}" if fields else name
