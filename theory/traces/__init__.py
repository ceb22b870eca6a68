"""Rows recorded from real models: one file format, the rows of a target p and a draft q at many positions.

`example` gives the bundled trace, `read` and `write` the files, `Trace.from_rows` and `Trace.from_logs` make a trace of
rows that you have.
"""

from theory.traces.bundled import example
from theory.traces.format import EXACT
from theory.traces.reading import read
from theory.traces.rows import RaggedRows, TraceError
from theory.traces.trace import Trace
from theory.traces.writing import write

__all__ = ["EXACT", "RaggedRows", "Trace", "TraceError", "example", "read", "write"]
