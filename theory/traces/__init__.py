"""Rows recorded from real models: one file format, the rows of a target p and a draft q at many positions.

`example` gives the bundled trace, `read` and `write` the files, `Trace.from_rows` and `Trace.from_logs` make a trace of
rows that you have.
"""

from theory.traces.format import EXACT, Trace, example, read, write
from theory.traces.rows import RaggedRows, TraceError

__all__ = ["EXACT", "RaggedRows", "Trace", "TraceError", "example", "read", "write"]
