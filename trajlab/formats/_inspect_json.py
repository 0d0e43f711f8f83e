"""What is read of an Inspect sample, so that the rest is passed over before it becomes objects.

Most of a sample's bytes are events, and most of an event repeats: the model's input, the raw call of its API, the
schemas of the tools, the answer's text that is a message, too.
"""

from __future__ import annotations

from typing import Any, TypedDict

import msgspec

from trajlab.sources.safe_json import Loaded, loads


class _Named(TypedDict, total=False):
    name: Any


class _Answer(TypedDict, total=False):
    id: Any
    tool_calls: Any


class _Choice(TypedDict, total=False):
    message: _Answer | None
    stop_reason: Any


class _Output(TypedDict, total=False):
    choices: list[_Choice] | None
    usage: Any


class _Inside(TypedDict, total=False):
    action: Any
    result: Any


class _Event(TypedDict, total=False):
    event: Any
    id: Any
    name: Any
    type: Any
    parent_id: Any
    span_id: Any
    function: Any
    action: Any
    model: Any
    timestamp: Any
    working_time: Any
    result: Any
    error: Any
    tools: list[_Named] | None
    output: _Output | str | None
    events: list[_Inside] | None


class _Message(TypedDict, total=False):
    id: Any
    role: Any
    content: Any
    tool_calls: Any
    tool_call_id: Any
    error: Any


class _Sample(TypedDict, total=False):
    id: Any
    uuid: Any
    epoch: Any
    error: Any
    limit: Any
    scores: Any
    turn_count: Any
    model_usage: Any
    total_time: Any
    started_at: Any
    completed_at: Any
    attachments: Any
    messages: list[_Message] | None
    events: list[_Event] | None


_READ: dict[str, msgspec.json.Decoder[Any]] = {
    "sample": msgspec.json.Decoder(_Sample),
    "messages": msgspec.json.Decoder(list[_Message]),
    "events": msgspec.json.Decoder(list[_Event]),
}


def loads_read(data: bytes, kind: str) -> Loaded:
    """Decode a ``sample`` or its ``messages`` or ``events``, without the fields that no one reads.

    What is not laid out as Inspect writes it is decoded whole, as is any other kind.

    Raises:
        ValueError: The text is no JSON value, even with all repairs, or is nested too deeply.
    """
    decoder = _READ.get(kind)
    if decoder is None:
        return loads(data)
    try:
        return Loaded(decoder.decode(data))
    except (ValueError, RecursionError):
        return loads(data)
