"""The command line: arguments in, tables and files out."""

from theory.cli.program import app, main

__all__ = ["app", "main"]
