"""How tests run a command, and read the tables that it prints."""

import re

import pytest

from theory import cli


def run(capsys, *arguments):
    """Run the command in this process; give its exit code, output and error output."""
    with pytest.raises(SystemExit) as left:
        cli.main([str(argument) for argument in arguments])
    out, err = capsys.readouterr()
    return left.value.code, out, err


def cells(out, name):
    """Give the numbers that a table prints beside a name."""
    (line,) = (line for line in out.splitlines() if re.match(rf"[│ ]*{re.escape(name)} +│", line))
    return re.sub(r"^[│ ]*\S+", "", line).replace("│", " ").split()


def headings(out):
    """Give the words of a table's heading."""
    lines = out.splitlines()
    (end,) = (number for number, line in enumerate(lines) if re.match("[┡━╇┩]+$", line))
    start = max(number for number, line in enumerate(lines[:end]) if "┃" not in line) + 1
    return " ".join(lines[start:end]).replace("┃", " ").split()
