"""The program `theory`: its commands, in the order of its help, and its errors."""

import sys
from types import ModuleType
from typing import Annotated

import typer

from theory import __version__, loading
from theory.cli import atlas, blocks, compare, counts, explain, figures, listing, show, worst

COMMANDS: dict[str, ModuleType] = {
    "compare": compare,
    "blocks": blocks,
    "counts": counts,
    "show": show,
    "worst": worst,
    "atlas": atlas,
    "explain": explain,
    "list": listing,
    "figures": figures,
}
"""Command, in the order of the help, to its file: `run` takes its arguments, and `EXAMPLES` has one call a line."""

app = typer.Typer(
    help="Which law does a speculative decoder really sample from, and what does it pay for speed?",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
)


def _say_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"theory {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_say_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


for _name, _command in COMMANDS.items():
    # A blank line between examples keeps each on a line of its own in the help.
    _epilog = "\n\n".join(["Examples:", *_command.EXAMPLES.strip().splitlines()])
    app.command(_name, epilog=_epilog)(_command.run)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; bad input, or more of it than fits, ends in one line on standard error and exit code 2.

    So does an error that a rule of the user's own raises out of its file, with file and line.
    """
    try:
        app(args=arguments, prog_name="theory")
    except Exception as error:
        said = loading.told(error)
        if said is None:
            if not isinstance(error, ValueError | OSError | MemoryError | OverflowError):
                raise
            said = " ".join(str(error).splitlines()) or "out of memory"
        typer.echo(f"theory: {said}", err=True)
        sys.exit(2)
