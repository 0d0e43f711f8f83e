"""What the written formats share: reading order, values without nulls and without lone surrogates."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trajlab.records import Message, Step, Trajectory
from trajlab.sources.safe_json import clean_text


def in_order(trajectory: Trajectory) -> Iterator[Message | Step]:
    """Prompts and turns in reading order."""
    after: dict[int, list[Message]] = {}
    for message in trajectory.messages:
        after.setdefault(message.after_step or 0, []).append(message)
    yield from after.pop(0, [])
    for number, step in enumerate(trajectory.steps, 1):
        yield step
        yield from after.pop(number, [])
    for messages in after.values():
        yield from messages


def without_none(values: dict[str, Any]) -> dict[str, Any]:
    """The values that are recorded."""
    return {name: value for name, value in values.items() if value is not None}


def tool_definitions(names: list[str]) -> list[dict[str, Any]]:
    """Tools offered, of which no more than the name is known."""
    return [{"type": "function", "function": {"name": name}} for name in names]


def cleaned(value: Any) -> Any:
    """A value without lone surrogates, which JSON in UTF-8 cannot hold."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(str(name)): cleaned(item) for name, item in value.items()}
    return value
