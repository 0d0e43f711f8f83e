"""Records that no reader knows, read as the user's own mapping says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec

from trajlab.behavior.termination import classify_generic
from trajlab.formats import Variant
from trajlab.formats._chat_messages import ChatMessage, Conversation
from trajlab.formats._chat_text import parse_prompt, parse_response, tools_in_prompt
from trajlab.formats._turns import task_of_prompt
from trajlab.records import Message, Problem, RewardPart, Step, Trajectory
from trajlab.sources.elements import elements
from trajlab.sources.field_mapping import COLUMNS, FieldMapping, Kind, fitted, is_there, look_up
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.reading import document, lines, parquet_rows
from trajlab.sources.safe_json import loads, to_float
from trajlab.sources.streams import Line

NAME = "mapped"
VARIANTS: dict[str, Variant] = {}
"""None of its own: the mapping's name stands in their place."""

_SHAPES = ("lines", "list", "object", "parquet")


def recognise(probe: Probe) -> str | None:
    """Nothing is claimed without a mapping."""
    return None


def recognise_mapped(probe: Probe, mapping: FieldMapping) -> str | None:
    """The mapping's name, where it is for this file and a record has a place of the conversation."""
    if not mapping.speaks_of(probe.relpath) or probe.shape not in _SHAPES:
        return None
    found = any(is_there(record, place) for record in probe.records for place in mapping.conversation)
    return mapping.name if found else None


def read(bundle: Bundle) -> Iterator[Trajectory | Problem]:
    """One trajectory a record."""
    mapping = bundle.mapping
    if mapping is None:
        raise ValueError("a mapped bundle without its mapping")
    problems: list[Problem] = []
    seen: Counter[str] = Counter()
    count = 0
    for ordinal, number, record, fixes in _records(bundle, problems):
        yield from _drain(problems)
        if isinstance(record, Problem):
            yield record
            continue
        count += 1
        seen.update(name for name, place in mapping.places.items() if is_there(record, place))
        result = _trajectory(record, mapping, ordinal, number)
        if fixes and isinstance(result, Trajectory):
            result.problems.append(Problem("cleaned", ", ".join(fixes), number))
        yield result
    yield from problems
    for name, place in mapping.places.items():
        if count and not seen[name]:
            yield Problem("unmapped", f"`{place}` ({name}) stands in none of {count} records")


def _drain(problems: list[Problem]) -> Iterator[Problem]:
    while problems:
        yield problems.pop(0)


_Record = tuple[str, int | None, Any, tuple[str, ...]]
"""Ordinal, line, the record or the problem in its place, and what was cleaned."""


def _records(bundle: Bundle, problems: list[Problem]) -> Iterator[_Record]:
    shape = Probe(bundle.file).shape
    if shape == "parquet":
        for number, row in enumerate(parquet_rows(bundle, problems)):
            yield str(number), number + 1, row, ()
        return
    source: Iterator[Line]
    if shape == "object":
        source = iter([Line(document(bundle, problems), 0, 1)])
    else:
        source = elements(bundle, problems) if shape == "list" else lines(bundle, problems)
    by_line = shape == "lines"
    for line in source:
        place = line.number if by_line else None
        ordinal = str(line.offset) if by_line else str(line.number - 1)
        try:
            loaded = loads(line.data)
        except ValueError as error:
            code = "truncated" if by_line and not line.finished else "unreadable_record"
            yield ordinal, place, Problem(code, str(error), place, line.offset), ()
            continue
        yield ordinal, place, loaded.value, loaded.fixes


def _wrong(place: str, name: str, kind: Kind, value: Any, number: int | None) -> Problem:
    return Problem("wrong_type", f"`{place}` ({name}) is no {kind.__name__} but {_shown(value)}", number)


def _trajectory(record: Any, mapping: FieldMapping, ordinal: str, number: int | None) -> Trajectory | Problem:
    trajectory = Trajectory(mapping.name, ordinal, line=number)
    try:
        trajectory.messages, trajectory.steps = _conversation(record, mapping, trajectory)
    except (ValueError, msgspec.MsgspecError, RecursionError) as error:
        return Problem("unreadable_record", f"the conversation: {error}", number)
    for name, value in mapping.constants.items():
        setattr(trajectory, name, fitted(value, COLUMNS[name]))
    for name, place in mapping.columns.items():
        value = look_up(record, place)
        words = mapping.values.get(name)
        said = words.get(_word(value), value) if words else value
        fit = fitted(said, COLUMNS[name])
        if fit is None and value is not None:
            trajectory.problems.append(_wrong(place, name, COLUMNS[name], value, number))
        setattr(trajectory, name, fit)
    for name, place in mapping.rewards.items():
        value = look_up(record, place)
        component = to_float(value)
        if component is None and value is not None:
            trajectory.problems.append(_wrong(place, f"reward {name}", float, value, number))
        trajectory.rewards.append(RewardPart(name, component))
    if trajectory.termination is None:
        trajectory.termination = classify_generic(trajectory.stop_reason)
    task_of_prompt(trajectory)
    return trajectory


def _word(value: Any) -> str:
    """A value as it stands in the log: ``true`` rather than ``True``."""
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


def _shown(value: Any) -> str:
    return repr(value)[:80] if isinstance(value, (str, int, float, bool)) else type(value).__name__


def _conversation(record: Any, mapping: FieldMapping, trajectory: Trajectory) -> tuple[list[Message], list[Step]]:
    if mapping.response is not None:
        return _flat(record, mapping, trajectory)
    messages: list[ChatMessage] = []
    for place in mapping.conversation:
        value = look_up(record, place)
        if isinstance(value, str):
            value = loads(value.encode("utf-8", "replace")).value
        if isinstance(value, dict):
            value = [value]
        if not isinstance(value, list):
            raise ValueError(f"`{place}` is {type(value).__name__}; expected a list of messages")
        messages += msgspec.convert(value, list[ChatMessage], strict=False)
    conversation = Conversation()
    conversation.fill(messages)
    return conversation.messages, conversation.steps


def _flat(record: Any, mapping: FieldMapping, trajectory: Trajectory) -> tuple[list[Message], list[Step]]:
    response = look_up(record, mapping.response or "")
    if not isinstance(response, str):
        raise ValueError(f"`{mapping.response}` is {type(response).__name__}; expected text")
    prompt = look_up(record, mapping.prompt) if mapping.prompt else None
    prompt = prompt if isinstance(prompt, str) else None
    conversation = parse_response(response, prompt)
    if conversation.cut_off is not None:
        trajectory.termination = "truncated_budget"
        trajectory.stop_reason = f"cut off inside {conversation.cut_off}"
    if prompt is None:
        return conversation.messages, conversation.steps
    trajectory.tools_offered = tools_in_prompt(prompt)
    return parse_prompt(prompt) + conversation.messages, conversation.steps
