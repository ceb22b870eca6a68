"""Logs on disk: CSV and JSON lines hold the same steps, and what is damaged is named with file and line."""

import csv
import json

import pytest
from hypothesis import given

from tests.logged import steps
from theory import counts
from theory.counts import Counts

FIELDS = ("drafted", "accepted", "emitted", "censored", "request")


def columns(counted):
    return {name: getattr(counted, name).tolist() for name in FIELDS}


def written(path, text):
    path.write_text(text, encoding="utf-8")
    return path


@given(steps())
def test_what_is_written_is_read(tmp_path_factory, counted):
    folder = tmp_path_factory.mktemp("logs")
    rows = [dict(zip(FIELDS, row, strict=True)) for row in zip(*columns(counted).values(), strict=True)]
    with (folder / "steps.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, FIELDS)
        table.writeheader()
        table.writerows(rows)
    (folder / "steps.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    wanted = columns(counted) | {"request": [str(label) for label in counted.request.tolist()]}
    assert columns(counts.read(folder / "steps.csv")) == wanted
    assert columns(counts.read(folder / "steps.jsonl")) == wanted


def test_what_is_usual_is_filled_in(tmp_path):
    for name, text in (
        ("a.csv", "\ufeff accepted ,drafted\r\n3, 4\r\n0,4\r\n\r\n"),
        ("a.JSONL", '\n{"drafted": 4, "accepted": 3}\n{"accepted": 0, "drafted": 4}\n'),
        ("a.ndjson", '{"drafted": 4, "flags": [1, true, 1, 0]}\n{"drafted": 4, "flags": [0, 1]}'),
        ("b.csv", "flags,drafted\n1110,4\n0,4\n"),
    ):
        found = counts.read(written(tmp_path / name, text))
        same = Counts.of([3, 0], drafted=4)
        for field in ("drafted", "accepted", "emitted", "censored"):
            assert getattr(found, field).tolist() == getattr(same, field).tolist(), name
        assert found.request is None
    one = counts.read(written(tmp_path / "c.csv", "accepted,censored\n3,TRUE\n0,0\n"), drafted=4)
    assert one.drafted.tolist() == [4, 4]
    assert one.censored.tolist() == [True, False]
    assert counts.read(str(written(tmp_path / "d.csv", 'flags\n110\n""\n1\n'))).accepted.tolist() == [2, 0, 1]
    assert counts.read(written(tmp_path / "e.csv", "accepted,drafted\n3,300\n"), longest=300).drafted.tolist() == [300]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.txt", "accepted\n3\n", r"a\.txt: has the suffix '\.txt', and logs have one of \.csv, \.jsonl"),
        ("a.csv", "", r"a\.csv, line 1: must have a column 'accepted' or one 'flags', one of the two; it has none"),
        ("a.csv", "accepted,drafted\n", r"a\.csv: holds no step"),
        ("a.jsonl", "\n", r"a\.jsonl: holds no step"),
        ("a.csv", "accepted,draft\n3,4\n", r"a\.csv, line 1: column 'draft' is not known; there are: accepted, flags, drafted"),
        ("a.csv", "accepted,accepted\n3,4\n", r"a\.csv, line 1: column 'accepted' is there twice"),
        ("a.csv", "drafted\n3\n", r"a\.csv, line 1: must have a column 'accepted' or one 'flags'"),
        ("a.csv", "accepted,flags\n1,1\n", r"a\.csv, line 1: must have a column .* one of the two; it has accepted, flags"),
        ("a.csv", "accepted\n3\n", r"a\.csv: has no column 'drafted': give the drafted tokens of each step"),
        ("a.csv", "accepted,drafted\n3,4\n3\n", r"a\.csv, line 3: has 1 entries, and the first line 2"),
        ("a.csv", "accepted,drafted\n3,4\n3.0,4\n", r"a\.csv, line 3: accepted = '3\.0': must be a whole number"),
        ("a.csv", "accepted,drafted\n-1,4\n", r"a\.csv, line 2: accepted = '-1'"),
        ("a.csv", "accepted,drafted\n,4\n", r"a\.csv, line 2: accepted = ''"),
        ("a.csv", "accepted,drafted\n٣,4\n", r"a\.csv, line 2: accepted = '٣'"),
        ("a.csv", "accepted,drafted,censored\n3,4,no\n", r"a\.csv, line 2: censored = 'no': must be true, false, 1 or 0"),
        ("a.csv", "accepted,drafted,request\n3,4,\n", r"a\.csv, line 2: request = '': must be a label"),
        ("a.csv", "flags\n102\n", r"a\.csv, line 2: flags = '102': must be a word of 0 and 1"),
        ("a.csv", 'accepted,drafted\n"3,4\n', r"a\.csv, line 2: unexpected end of data"),
        ("a.csv", "accepted,drafted\n5,4\n", r"a\.csv: accepted\[0\] = 5: must be in 0\.\.4"),
        ("a.csv", "accepted,drafted\n180,289\n", r"a\.csv: drafted\[0\] = 289: .* Counts\.from_totals"),
        ("a.jsonl", "[3, 4]\n", r"a\.jsonl, line 1: is \[3, 4\], and must be an object"),
        ("a.jsonl", "{'accepted': 3}\n", r"a\.jsonl, line 1: Expecting property name .*; a line is one step"),
        ("a.jsonl", '{"accepted": 3, "accepted": 4}\n', r"a\.jsonl, line 1: column 'accepted' is there twice"),
        ("a.jsonl", '{"accepted": 3, "gamma": 4}\n', r"a\.jsonl, line 1: column 'gamma' is not known"),
        (
            "a.jsonl",
            '{"accepted": 3, "drafted": 4}\n{"accepted": 3}\n',
            r"a\.jsonl, line 2: differs from the lines before it in the columns drafted",
        ),
        ("a.jsonl", '{"accepted": 3.0, "drafted": 4}\n', r"a\.jsonl, line 1: accepted = 3\.0: must be a whole number"),
        ("a.jsonl", '{"accepted": true, "drafted": 4}\n', r"a\.jsonl, line 1: accepted = True"),
        ("a.jsonl", '{"flags": "101"}\n', r"a\.jsonl, line 1: flags = '101': must be a list"),
        ("a.jsonl", '{"flags": [2]}\n', r"a\.jsonl, line 1: flags = \[2\]: must be true, false, 1 or 0"),
        ("a.jsonl", '{"accepted": 3, "drafted": 4, "censored": "no"}\n', r"a\.jsonl, line 1: censored = 'no'"),
        ("a.jsonl", '{"accepted": 3, "drafted": 4, "request": null}\n', r"a\.jsonl, line 1: request = None: must be a label"),
        ("a.jsonl", "[" * 100_000, r"a\.jsonl, line 1: "),
    ],
)  # fmt: skip
def test_damaged_logs(tmp_path, name, text, message):
    with pytest.raises(ValueError, match=message):
        counts.read(written(tmp_path / name, text))


def test_what_is_no_text_and_what_is_given_twice(tmp_path):
    for name, first in (("a.csv", b"accepted,drafted\n3,4\n"), ("a.jsonl", b'{"accepted": 3, "drafted": 4}\n')):
        path = tmp_path / name
        path.write_bytes(first + b"\xff\xfe,4\n")
        with pytest.raises(ValueError, match=r"a\.(csv|jsonl), after line \d+: is not UTF-8"):
            counts.read(path)
    path = written(tmp_path / "b.csv", "accepted,drafted\n3,4\n")
    with pytest.raises(ValueError, match=r"^drafted = 5: .*b\.csv has a column of that name"):
        counts.read(path, drafted=5)
    with pytest.raises(FileNotFoundError):
        counts.read(tmp_path / "none.csv")
