"""Rows of an export, whatever its container: JSON lines, JSON list, Parquet, CSV, or a document that holds a list."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

import msgspec

from trajlab.formats._values import json_lines, load
from trajlab.records import Problem
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.reading import elements, lines, parquet_rows
from trajlab.sources.safe_json import loads

LONGEST_CELL = 64 << 20
"""Characters of a cell that is read; Python's own limit is 128 KiB, which a prompt may exceed."""


class Row(msgspec.Struct, frozen=True):
    """One row, with its place."""

    ordinal: str
    line: int | None
    value: dict[str, Any]


def rows_of_table(bundle: Bundle, problems: list[Problem], held_in: str | None = None) -> Iterator[Row]:
    """Rows one by one; what is no object is a problem.

    Args:
        bundle: Of one file.
        problems: Gets what could not be read.
        held_in: Key of a document under which the rows stand; ``None``: the document itself is the row.
    """
    for ordinal, line, value in _values(bundle, problems, held_in):
        if isinstance(value, dict):
            yield Row(ordinal, line, value)
        else:
            problems.append(Problem("unreadable_record", f"found {type(value).__name__}, expected an object", line))


def _values(bundle: Bundle, problems: list[Problem], held_in: str | None) -> Iterator[tuple[str, int | None, Any]]:
    shape = Probe(bundle.file).shape
    if shape == "lines":
        for line, value in json_lines(bundle, problems):
            yield str(line.offset), line.number, value
    elif shape == "parquet":
        for number, value in enumerate(parquet_rows(bundle, problems)):
            yield str(number), None, value
    elif shape == "list":
        for line in elements(bundle, problems):
            try:
                yield str(line.number - 1), None, loads(line.data).value
            except (ValueError, RecursionError) as error:
                problems.append(Problem("unreadable_record", f"no JSON: {error}", None, line.offset))
    elif shape == "text":
        yield from _of_csv(bundle, problems)
    else:
        yield from _of_document(bundle, problems, held_in)


def csv_header(head: bytes) -> tuple[str, ...]:
    """Names of the columns, where a text begins as CSV does; empty for anything else."""
    first, newline, _ = head.decode("utf-8", "replace").removeprefix("\ufeff").partition("\n")
    try:
        cells = tuple(next(csv.reader([first]), []))
    except csv.Error:
        return ()
    return cells if newline and len(cells) > 1 else ()


class _CsvLines:
    """Lines of a CSV file, blank ones too: a cell may hold them."""

    def __init__(self, bundle: Bundle, problems: list[Problem]) -> None:
        self.number = 0
        """Of the last line."""
        self.record: list[str] = []
        """Lines since it was emptied."""
        self._lines = lines(bundle, problems, blank=True)

    def __iter__(self) -> Iterator[str]:
        for line in self._lines:
            self.number = line.number
            text = line.data.decode("utf-8", "replace")
            self.record.append(text)
            if text.isspace():  # those of archives may come as one
                yield from text.splitlines(keepends=True)
            else:
                yield text


def _of_csv(bundle: Bundle, problems: list[Problem]) -> Iterator[tuple[str, int | None, Any]]:
    """Rows as objects of texts: an empty cell is no value."""
    csv.field_size_limit(max(csv.field_size_limit(), LONGEST_CELL))
    source = _CsvLines(bundle, problems)
    reader = csv.reader(source)
    header: list[str] | None = None
    number = 0
    while True:
        line, last, source.record = source.number + 1, source.record, []
        try:
            cells = next(reader)
        except StopIteration:
            if sum(text.count('"') for text in last) % 2:
                problems.append(Problem("truncated", "the last row ends inside a quoted cell", source.number))
            return
        except csv.Error as error:
            problems.append(Problem("unreadable_record", f"no CSV: {error}", line))
            continue
        if len(cells) < 2 and not "".join(cells).strip():
            continue  # a blank line between rows
        if header is None:
            header = [name.removeprefix("\ufeff") for name in cells]
        elif len(cells) != len(header):
            message = f"{len(cells)} cells; expected {len(header)}; not read"
            problems.append(Problem("unreadable_record", message, line))
        else:
            yield str(number), line, {name: cell for name, cell in zip(header, cells, strict=True) if cell}
            number += 1


def _of_document(bundle: Bundle, problems: list[Problem], held_in: str | None) -> Iterator[tuple[str, int | None, Any]]:
    try:
        value = load(bundle, problems)
    except (ValueError, RecursionError) as error:
        problems.append(Problem("unreadable_record", f"{error}; expected a document"))
        return
    held = value.get(held_in) if held_in is not None and isinstance(value, dict) else [value]
    if not isinstance(held, list):
        problems.append(Problem("unreadable_record", f"`{held_in}` is no list"))
        return
    for number, one in enumerate(held):
        yield str(number), None, one
