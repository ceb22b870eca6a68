"""The page of the command line, made from the program itself."""

from pathlib import Path
from types import ModuleType
from typing import Any

import generated
import typer
from sphinx.application import Sphinx

from theory.cli.program import COMMANDS, app


def parameter(given: Any) -> list[object]:
    """Give name, default and meaning of an argument or option."""
    metavar = f" {given.metavar}" if given.metavar and not given.opts[0].startswith(given.metavar) else ""
    is_option = given.opts[0].startswith("-")
    shown = ", ".join([*given.opts, *given.secondary_opts]) + metavar if is_option else (given.metavar or given.name.upper())
    default = "required" if given.required else "" if given.default in (None, False, (), []) else f"`{given.default}`"
    return [f"`{shown}`", default, generated.cell(given.help or "")]


def section(name: str, command: Any, module: ModuleType) -> str:
    """Describe a command: what it does, what it takes, examples."""
    what = " ".join((module.run.__doc__ or "").strip().split("\n\n")[0].split())
    further = [" ".join(part.split()) for part in (module.run.__doc__ or "").strip().split("\n\n")[1:]]
    table = generated.table(
        ["argument", "default", "meaning"], [parameter(given) for given in command.params if given.name != "help"]
    )
    examples = "\n".join(f"$ {line}" for line in module.EXAMPLES.strip().splitlines())
    return "\n\n".join([f"## theory {name}", what, *further, table if command.params else "", f"```console\n{examples}\n```"])


def write(app_: Sphinx) -> None:
    """Write the page."""
    program: Any = typer.main.get_command(app)
    head = f"""% {generated.NOTE}

# The command line

```console
$ theory --help
$ theory COMMAND --help
```

Rules are named as everywhere: `lenience:0.4`, or `file.py:Class:0.4` for one of your own; the file is executed. Bad input ends in
one line on standard error and exit code 2. A table too wide for the terminal says what it leaves out; `--csv` writes all columns.
The examples of every command are run by the tests ({{test}}`test_every_example_of_the_help_runs`), `mine.py` and
`my-trace.safetensors` beside them.
"""
    sections = [section(name, program.commands[name], module) for name, module in COMMANDS.items()]
    generated.write(Path(app_.srcdir) / "reference" / "command-line.md", "\n\n".join([head, *sections]) + "\n")


def setup(app: Sphinx) -> dict[str, bool]:
    """Write the page before Sphinx looks for it."""
    app.connect("builder-inited", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
