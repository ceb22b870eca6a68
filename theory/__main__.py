"""``python -m theory`` is the command line."""

from theory.cli import main

main()
