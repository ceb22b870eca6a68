"""Logs on disk: one line a step, as comma-separated values or JSON lines."""

import csv
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from theory.counts.steps import LONGEST, Counts

COLUMNS = {
    "accepted": "drafted tokens that the verifier kept, a whole number; needed, unless there are flags",
    "flags": "verdicts instead of accepted, 0 or 1 each: in CSV a word such as 101, in JSON a list such as [1, 0, 1]",
    "drafted": "tokens proposed, a whole number; needed, unless one number is given for all steps, or there are flags",
    "emitted": "tokens that came out, a whole number; accepted + 1 if the column is missing",
    "censored": "whether the text ended before the next verdict: true, false, 1 or 0; false if the column is missing",
    "request": "label of the request; not known if the column is missing",
}
"""Column of a log to what it holds, one line a step. No other is taken."""

SUFFIXES = {".csv": "csv", ".jsonl": "json", ".ndjson": "json", ".json": "json"}
"""Suffix of a log's name to its format."""


def read(path: str | os.PathLike[str], *, drafted: int | None = None, longest: int = LONGEST) -> Counts:
    r"""Read a log of steps.

    Parameters
    ----------
    path : path
        ``.csv`` with the names of the columns in the first line, or ``.jsonl`` (``.ndjson``, ``.json``) with an object a line, in
        UTF-8. The columns are those of `COLUMNS`, in any order; every step has the same ones.
    drafted : int, optional
        Drafted tokens of each step, where the log has no such column.
    longest : int
        As in `Counts`.

    Returns
    -------
    Counts
        One entry a step. Labels of requests are strings in CSV; where there are none, requests are not known.

    Raises
    ------
    ValueError
        For a column that is not known, missing or there twice, a value that is none, a line that is damaged: with file and line;
        and as `Counts.of` does, with the file.
    OSError
        Where the file cannot be read.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp(), "steps.csv")
    >>> _ = path.write_text("request,drafted,accepted\na,4,3\nb,4,0\n")
    >>> read(path).accepted
    array([3, 0])
    """
    if not isinstance(path, str | os.PathLike):
        raise ValueError(f"path = {path!r}: must be the path of a file")
    place = Path(path)
    form = SUFFIXES.get(place.suffix.lower())
    if form is None:
        raise ValueError(f"{place}: has the suffix {place.suffix!r}, and logs have one of {', '.join(SUFFIXES)}")
    columns: dict[str, list[Any]] = {}
    line = 1
    try:
        for line, row in (_csv_rows if form == "csv" else _json_rows)(place):
            _append(columns, row, form, f"{place}, line {line}")
    except UnicodeDecodeError as error:
        raise ValueError(f"{place}, after line {line}: is not UTF-8 ({error.reason} at byte {error.start})") from error
    if not columns or not next(iter(columns.values())):
        raise ValueError(f"{place}: holds no step")
    return _counts(columns, place, drafted, longest)


def _csv_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        rows = csv.reader(file, strict=True)
        try:
            names = [name.strip() for name in next(rows, [])]
            for i, name in enumerate(names):
                if name in names[:i]:
                    raise ValueError(f"{path}, line 1: column {name!r} is there twice")
            _check_names(names, f"{path}, line 1")
            for row in rows:
                if not row:
                    continue  # an empty line, as at the end of a file
                if len(row) != len(names):
                    raise ValueError(f"{path}, line {rows.line_num}: has {len(row)} entries, and the first line {len(names)}")
                yield rows.line_num, {name: entry.strip() for name, entry in zip(names, row, strict=True)}
        except csv.Error as error:
            raise ValueError(f"{path}, line {rows.line_num}: {error}") from error


def _json_rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with path.open(encoding="utf-8-sig") as file:
        for number, line in enumerate(file, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line, object_pairs_hook=_once)
            except (ValueError, RecursionError) as error:
                raise ValueError(
                    f"{path}, line {number}: {error}; a line is one step, as {{'drafted': 4, 'accepted': 3}}"
                ) from error
            if not isinstance(row, dict):
                raise ValueError(f"{path}, line {number}: is {line.strip()[:40]}, and must be an object, as {{'accepted': 3}}")
            _check_names(list(row), f"{path}, line {number}")
            yield number, row


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    for i, name in enumerate(names):
        if name in names[:i]:
            raise ValueError(f"column {name!r} is there twice")
    return dict(pairs)


def _check_names(names: list[str], where: str) -> None:
    for name in names:
        if name not in COLUMNS:
            raise ValueError(f"{where}: column {name!r} is not known; there are: {', '.join(COLUMNS)}")
    if ("accepted" in names) == ("flags" in names):
        raise ValueError(
            f"{where}: must have a column 'accepted' or one 'flags', one of the two; it has {', '.join(names) or 'none'}"
        )


def _append(columns: dict[str, list[Any]], row: dict[str, Any], form: str, where: str) -> None:
    if not columns:
        columns |= {name: [] for name in row}
    elif set(row) != set(columns):
        odd = ", ".join(sorted(set(row) ^ set(columns)))
        raise ValueError(f"{where}: differs from the lines before it in the columns {odd}; every step must have the same")
    for name, value in row.items():
        parse = _FROM_TEXT[name] if form == "csv" else _FROM_JSON[name]
        try:
            columns[name].append(parse(value))
        except ValueError as error:
            raise ValueError(f"{where}: {name} = {value!r}: {error}") from None


def _counts(columns: dict[str, list[Any]], path: Path, drafted: int | None, longest: int) -> Counts:
    if drafted is not None and "drafted" in columns:
        raise ValueError(f"drafted = {drafted}: {path} has a column of that name; give it once")
    proposed = columns.get("drafted", drafted)
    optional: dict[str, Any] = {name: columns.get(name) for name in ("emitted", "censored", "request")}
    try:
        if "flags" in columns:
            found = Counts.from_flags(columns["flags"], drafted=proposed, **optional)
        elif proposed is None:
            raise ValueError("has no column 'drafted': give the drafted tokens of each step, or one number for all of them")
        else:
            found = Counts.of(columns["accepted"], drafted=proposed, longest=longest, **optional)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    if "request" in columns:
        return found
    return Counts(found.drafted, found.accepted, found.emitted, found.censored, None, max(longest, int(found.drafted.max())))


# --- one entry --------------------------------------------------------------------------------------------------------


def _whole_from_text(text: str) -> int:
    if not text.isascii() or not text.isdigit():
        raise ValueError("must be a whole number of at least 0")
    return int(text)


def _truth_from_text(text: str) -> bool:
    if text.lower() not in ("true", "false", "1", "0"):
        raise ValueError("must be true, false, 1 or 0")
    return text.lower() in ("true", "1")


def _flags_from_text(text: str) -> list[int]:
    if set(text) - {"0", "1"}:
        raise ValueError("must be a word of 0 and 1, such as 101")
    return [int(letter) for letter in text]


def _label_from_text(text: str) -> str:
    if not text:
        raise ValueError("must be a label")
    return text


def _whole_from_json(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise ValueError("must be a whole number of at least 0")
    return value


def _truth_from_json(value: Any) -> bool:
    if not isinstance(value, bool | int) or value not in (0, 1):
        raise ValueError("must be true, false, 1 or 0")
    return bool(value)


def _flags_from_json(value: Any) -> list[int]:
    if not isinstance(value, list):
        raise ValueError("must be a list of 0 and 1, such as [1, 0, 1]")
    return [int(_truth_from_json(flag)) for flag in value]


def _label_from_json(value: Any) -> str:
    if type(value) not in (int, str):
        raise ValueError("must be a label, a whole number or a string")
    return str(value)


_WHOLE = ("accepted", "drafted", "emitted")

_FROM_TEXT: dict[str, Callable[[str], Any]] = dict.fromkeys(_WHOLE, _whole_from_text) | {
    "censored": _truth_from_text,
    "flags": _flags_from_text,
    "request": _label_from_text,
}

_FROM_JSON: dict[str, Callable[[Any], Any]] = dict.fromkeys(_WHOLE, _whole_from_json) | {
    "censored": _truth_from_json,
    "flags": _flags_from_json,
    "request": _label_from_json,
}
