"""What readers of trainers' files share: rows decoded or told as a problem, odd fields told and passed over."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
import xxhash

from trajlab.records import Problem, RewardPart, RunSetting, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.reading import Line, document, elements, lines, parquet_rows
from trajlab.sources.safe_json import clean_text, is_non_finite, loads, to_bool, to_float, to_int

_LARGEST_INTEGER = 2**63 - 1
_MAX_SETTINGS = 64
_decode = msgspec.json.Decoder().decode


class Row(msgspec.Struct, gc=False):
    """One record of a file, decoded.

    Attributes:
        value: The record.
        ordinal: Its place in the file.
        line: 1-based, where the file has lines or rows.
        offset: Byte offset, where the file is text.
        fixes: Repairs its JSON needed.
    """

    value: dict[str, Any]
    ordinal: str
    line: int | None = None
    offset: int | None = None
    fixes: tuple[str, ...] = ()

    def problem(self, code: str, message: str, native_id: str | None = None) -> Problem:
        """A problem at this row's place."""
        return Problem(code, clean_text(message), self.line, self.offset, native_id)


def first_object(probe: Probe, *shapes: str, keys: tuple[str, ...] = ()) -> dict[str, Any] | None:
    """The first record that is an object, where the file has one of the shapes.

    Every reader of lines asks this one: a foreign record further down does not make two of them claim a file.
    A document without any of the ``keys`` is not decoded: there may be thousands, each of another format.
    """
    if probe.shape not in shapes or (probe.shape == "object" and probe.keys.isdisjoint(keys)):
        return None
    return next((record for record in probe.records if isinstance(record, dict)), None)


def rows(bundle: Bundle) -> Iterator[Row | Problem]:
    """Records of JSON lines, a JSON list, one JSON object, or Parquet; what is none comes as a problem."""
    problems: list[Problem] = []
    shape = Probe(bundle.file).shape
    if shape == "parquet":
        for number, value in enumerate(parquet_rows(bundle, problems)):
            yield from _drained(problems)
            if value:
                yield Row(value, str(number), number + 1)
    elif shape == "object":
        data = document(bundle, problems)
        yield from _drained(problems)
        yield decoded_row(Line(data, 0, 1, finished=True), "0", by_line=False)
    else:
        by_line = shape == "lines"
        for line in lines(bundle, problems) if by_line else elements(bundle, problems):
            yield from _drained(problems)
            yield decoded_row(line, str(line.offset if by_line else line.number - 1), by_line=by_line)
    yield from problems


def _drained(problems: list[Problem]) -> Iterator[Problem]:
    while problems:
        yield problems.pop(0)


def decoded_row(line: Line, ordinal: str, *, by_line: bool) -> Row | Problem:
    """One record's bytes as a row, repaired where that is possible."""
    number = line.number if by_line else None
    fixes: tuple[str, ...] = ()
    try:
        value = _decode(line.data)
    except (ValueError, RecursionError):
        try:
            loaded = loads(line.data)
        except ValueError as error:
            if not line.finished:
                return Problem("truncated", f"the last record is cut: {error}", number, line.offset)
            return Problem("unreadable_record", str(error), number, line.offset)
        value, fixes = loaded.value, loaded.fixes
    if not isinstance(value, dict):
        found = type(value).__name__
        return Problem("unreadable_record", f"found {found}, expected an object", number, line.offset)
    return Row(value, ordinal, number, line.offset, fixes)


class Fields:
    """Values of one object by name; one of the wrong type is told and read as not recorded."""

    def __init__(self, value: object, row: Row, problems: list[Problem], prefix: str = "") -> None:
        self.value: dict[str, Any] = value if isinstance(value, dict) else {}
        self._row = row
        self._problems = problems
        self._prefix = prefix

    def __contains__(self, name: str) -> bool:
        return self.value.get(name) is not None

    def wrong(self, name: str, expected: str) -> None:
        """Tell that a value is not what was expected."""
        found = type(self.value[name]).__name__
        message = f"`{self._prefix}{name}` is no {expected} but {found}; read as not recorded"
        self._problems.append(self._row.problem("wrong_type", message))

    def text(self, name: str) -> str | None:
        """Text."""
        value = self.value.get(name)
        if value is None or isinstance(value, str):
            return value
        self.wrong(name, "text")
        return None

    def word(self, name: str) -> str | None:
        """An identity or a name: text, or a number as text."""
        value = self.value.get(name)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return str(value)
        return self.text(name)

    def whole(self, name: str) -> int | None:
        """A whole number that a column can hold."""
        value = self.value.get(name)
        if value is None:
            return None
        number = to_int(value)
        if number is None or abs(number) > _LARGEST_INTEGER:
            self.wrong(name, "whole number")
            return None
        return number

    def number(self, name: str) -> float | None:
        """A number; NaN and infinities are none."""
        value = self.value.get(name)
        number = to_float(value)
        if number is None and value is not None and not is_non_finite(value):
            self.wrong(name, "number")
        return number

    def truth(self, name: str) -> bool | None:
        """A truth value."""
        value = self.value.get(name)
        if value is None:
            return None
        truth = to_bool(value)
        if truth is None:
            self.wrong(name, "truth value")
        return truth

    def inner(self, name: str) -> Fields:
        """The fields of an object; none where there is no object."""
        value = self.value.get(name)
        if value is not None and not isinstance(value, dict):
            self.wrong(name, "object")
        return Fields(value, self._row, self._problems, f"{self._prefix}{name}.")

    def items(self, name: str) -> list[Any]:
        """A list; an empty one where there is none."""
        value = self.value.get(name)
        if value is None or isinstance(value, list):
            return value or []
        self.wrong(name, "list")
        return []

    def objects(self, name: str) -> list[Fields]:
        """The objects of a list; other elements are told."""
        found = []
        for number, item in enumerate(self.items(name)):
            if isinstance(item, dict):
                found.append(Fields(item, self._row, self._problems, f"{self._prefix}{name}[{number}]."))
            else:
                message = f"`{self._prefix}{name}[{number}]` is no object but {type(item).__name__}; left out"
                self._problems.append(self._row.problem("wrong_type", message))
        return found


def reward_parts(values: dict[str, Any]) -> list[RewardPart]:
    """The numbers among named values; NaN has no value."""
    return [
        RewardPart(clean_text(name), to_float(value))
        for name, value in values.items()
        if (isinstance(value, (bool, int, float)) and not isinstance(value, str)) or is_non_finite(value)
    ]


_settings: dict[bytes, list[RunSetting]] = {}


def run_settings(config: dict[str, Any]) -> list[RunSetting]:
    """Scalars of a configuration by dotted name; records of one run share the list."""
    if not config:
        return []
    try:
        key = msgspec.json.encode(config)
    except (TypeError, ValueError, RecursionError, UnicodeEncodeError):
        return []
    known = _settings.get(key)
    if known is None:
        if len(_settings) >= _MAX_SETTINGS:
            _settings.clear()
        known = _settings[key] = list(_flattened(config, ""))
    return known


def _flattened(value: Any, name: str) -> Iterator[RunSetting]:
    if isinstance(value, dict):
        for inner, part in value.items():
            yield from _flattened(part, f"{name}.{inner}" if name else str(inner))
    elif not isinstance(value, list):
        yield RunSetting(clean_text(name), msgspec.json.encode(value).decode())


def prompt_task(text: str) -> str | None:
    """Equal prompts are one task, where nothing names it."""
    return f"prompt:{digest(text)}" if text else None


def digest(text: str) -> str:
    """Sixteen hexadecimal digits that tell one text from another."""
    return xxhash.xxh3_64_hexdigest(text.encode("utf-8", "replace"))


_FIXES = {
    "control_characters": "raw control characters accepted",
    "invalid_utf8": "invalid UTF-8 replaced",
    "lone_surrogate": "lone surrogates replaced",
    "non_finite": "numbers that are not finite, read as null",
    "python_literal": "Python literals read as JSON",
}


def add_cleaning(trajectory: Trajectory, row: Row) -> None:
    """Tell what the row's JSON needed."""
    if row.fixes:
        said = "; ".join(_FIXES.get(fix, fix) for fix in row.fixes)
        trajectory.problems.append(row.problem("cleaned", said, trajectory.native_id))
