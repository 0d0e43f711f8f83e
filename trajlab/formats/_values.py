"""Values of foreign documents, whatever their type: what fits is taken, what does not is as if it were not there."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

import msgspec

from trajlab.records import Problem, RunSetting, Trajectory
from trajlab.sources.files import Bundle, SourceFile, parts_of
from trajlab.sources.reading import document, lines
from trajlab.sources.safe_json import loads, to_float, to_int
from trajlab.sources.streams import Line

Records = Iterator[Trajectory | Problem]

_LARGEST = 2**63 - 1
_SECRETS = ("api_key", "apikey", "secret", "password", "credential", "access_key", "auth_token", "access_token")
_LONGEST_SETTING = 2000
_EPOCH = datetime(1970, 1, 1)
_MILLISECONDS_FROM = 1e11
"""A larger number of seconds lies beyond the year 5000: it counts milliseconds."""


def mapping(value: Any) -> dict[str, Any]:
    """``value`` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def items(value: Any) -> list[Any]:
    """``value`` if it is a list, else an empty one."""
    return value if isinstance(value, list) else []


def mappings(value: Any) -> list[dict[str, Any]]:
    """The objects in a list; anything else is passed over."""
    return [item for item in items(value) if isinstance(item, dict)]


def text(value: Any) -> str | None:
    """``value`` if it is text."""
    return value if isinstance(value, str) else None


def word(value: Any) -> str | None:
    """A name: text that is not empty, or a number as text."""
    if isinstance(value, str):
        return value or None
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return str(value)
    return None


def whole(value: Any) -> int | None:
    """A whole number that a column can hold."""
    number = to_int(value)
    return number if number is not None and -_LARGEST <= number <= _LARGEST else None


def count(value: Any) -> int | None:
    """A whole number that is not negative."""
    number = whole(value)
    return number if number is not None and number >= 0 else None


def number(value: Any) -> float | None:
    """A finite number; booleans are none."""
    return None if isinstance(value, bool) else to_float(value)


def flag(value: Any) -> bool | None:
    """``value`` if it is a truth value."""
    return value if isinstance(value, bool) else None


def first(*values: Any) -> Any:
    """The first value that is not null."""
    for value in values:
        if value is not None:
            return value
    return None


def total(values: Iterable[Any]) -> Any:
    """Sum of the values that are recorded; null where none is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def moment(value: Any) -> float | None:
    """Seconds since 1970 of an ISO 8601 text (without a zone: UTC) or of a number of seconds or milliseconds."""
    if isinstance(value, str):
        try:
            when = datetime.fromisoformat(value.strip())
        except ValueError:
            return moment(number(value))
        try:
            return when.timestamp() if when.tzinfo else (when - _EPOCH).total_seconds()
        except (OverflowError, ValueError):
            return None
    seconds = number(value)
    return seconds / 1000 if seconds is not None and abs(seconds) > _MILLISECONDS_FROM else seconds


def between(start: float | None, end: float | None) -> float | None:
    """Seconds from start to end; null where either is not recorded."""
    return end - start if start is not None and end is not None and end >= start else None


def dumped(value: Any) -> str:
    """JSON text of a decoded value."""
    try:
        return msgspec.json.encode(value).decode()
    except (OverflowError, UnicodeEncodeError, TypeError):
        return json.dumps(value, ensure_ascii=True, default=str)


def content_text(content: Any) -> str:
    """Text of a message's content: a text, a list of parts with their text, null."""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        given = [part.get("text") if isinstance(part, dict) else part for part in content]
        texts = [text for text in given if text and isinstance(text, str)]
        if len(texts) == len(given):  # as nearly all are
            return "\n".join(texts)
    pieces: list[str] = []
    waiting = [content]
    while waiting:  # not by calls of its own: a log may nest deeper than those reach
        here = waiting.pop()
        if isinstance(here, str):
            pieces.append(here)
        elif isinstance(here, list):
            waiting.extend(reversed(here))
        elif isinstance(here, dict):
            waiting.extend([here[key] for key in ("text", "content", "output") if here.get(key)][:1])
        elif here is not None:
            pieces.append(dumped(here))
    return "\n".join(filter(None, pieces))


def joined(texts: Iterable[str | None]) -> str | None:
    """Texts line by line; null where there is none."""
    known = [piece for piece in texts if piece]
    return "\n".join(known) if known else None


def settings(value: Any, prefix: str = "") -> Iterator[RunSetting]:
    """Scalar settings by dotted name; prompts (long texts), lists and whatever names a secret are left out."""
    if isinstance(value, dict):
        for name, inner in value.items():
            if not str(name).endswith("_template") and not any(piece in str(name).lower() for piece in _SECRETS):
                yield from settings(inner, f"{prefix}.{name}" if prefix else str(name))
    elif not isinstance(value, list) and not (isinstance(value, str) and len(value) > _LONGEST_SETTING):
        yield RunSetting(prefix, dumped(value))


def json_text(value: Any) -> Any:
    """What a text holds as JSON; null where it is no JSON. Any other value stays as it is."""
    if not isinstance(value, str):
        return value
    try:
        return loads(value.encode("utf-8", "replace")).value
    except (ValueError, RecursionError):
        return None


def read_document(bundle: Bundle, build: Callable[[Any], Records], expected: str) -> Records:
    """What ``build`` makes of the file's JSON document; a problem where there is none."""
    problems: list[Problem] = []
    try:
        value = load(bundle, problems)
        yield from problems
        yield from build(value)
    except (ValueError, RecursionError) as error:
        yield from problems
        yield Problem("unreadable_record", f"{error}; expected {expected}")


def load(source: Bundle | SourceFile, problems: list[Problem]) -> Any:
    """The file's JSON document decoded; what had to be mended is added to ``problems``.

    Raises:
        ValueError: It is no JSON, even mended.
    """
    loaded = loads(document(source, problems))
    if loaded.fixes:
        problems.append(Problem("cleaned", ", ".join(loaded.fixes)))
    return loaded.value


def json_lines(bundle: Bundle, problems: list[Problem]) -> Iterator[tuple[Line, Any]]:
    """Lines of the file decoded, one by one; a line that is no JSON is a problem, the last one ``truncated``."""
    for line in lines(bundle, problems):
        try:
            loaded = loads(line.data)
        except (ValueError, RecursionError) as error:
            code = "unreadable_record" if line.finished else "truncated"
            problems.append(Problem(code, f"no JSON: {error}", line.number, line.offset))
            continue
        if loaded.fixes:
            problems.append(Problem("cleaned", ", ".join(loaded.fixes), line.number, line.offset))
        yield line, loaded.value


def rows_with(bundle: Bundle, key: str, build: Callable[[dict[str, Any], Bundle], Trajectory]) -> Records:
    """One trajectory for each line that is an object with a list under a key; any other line is a problem."""
    problems: list[Problem] = []
    for line, row in json_lines(bundle, problems):
        while problems:
            yield problems.pop(0)
        if not isinstance(row, dict) or not isinstance(row.get(key), list):
            yield Problem("unreadable_record", f"no row with a list `{key}`", line.number, line.offset)
            continue
        try:
            trajectory = build(row, bundle)
        except RecursionError:
            yield Problem("unreadable_record", "a value is nested too deeply", line.number, line.offset)
            continue
        trajectory.ordinal, trajectory.line = str(line.offset), line.number
        yield trajectory
    yield from problems


def objects_of(
    bundle: Bundle, problems: list[Problem], expected: str = "an object"
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Names and documents of the bundle's files; one that is no object is a problem."""
    for file in bundle.files:
        name = parts_of(file.relpath)[-1]
        try:
            value = load(file, problems)
            if not isinstance(value, dict):
                raise ValueError(f"found {type(value).__name__}")
        except (ValueError, RecursionError) as error:
            problems.append(Problem("unreadable_record", f"{name}: {error}; expected {expected}"))
            continue
        yield name, value


def reconcile(trajectory: Trajectory, what: str, stated: float | None, counted: float | None) -> None:
    """A problem row where the log's own total differs from what was read, by more than rounding."""
    if stated is None or counted is None:
        return
    if abs(stated - counted) > 1e-6 * max(1.0, abs(stated)):
        message = f"the log states {stated:g} {what}, {counted:g} were read"
        trajectory.problems.append(Problem("not_reconciled", message, trajectory.line))
