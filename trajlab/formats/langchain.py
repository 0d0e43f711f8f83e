"""LangChain messages: ``dumpd``, ``messages_to_dict`` and ``model_dump``, as a list or under ``messages`` of a state.

Source: langchain-core 1.8.4, ``langchain_core/messages``, ``load/dump.py``. Input tokens include cached ones there. A
checkpoint of LangGraph is a database of serialised blobs and is not read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trajlab.formats import Variant
from trajlab.formats._turns import Turns, exit_code_in, sum_tokens, task_of_prompt, tool_call
from trajlab.formats._values import (
    Records,
    content_text,
    count,
    first,
    items,
    joined,
    mapping,
    mappings,
    read_document,
    text,
    total,
    word,
)
from trajlab.records import Step, ToolCall, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

_CARRIES = frozenset(
    {"task_id", "model", "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens"}
)  # fmt: skip

VARIANTS = {
    "dumpd": Variant("`dumpd`: `lc`, `type: constructor`, `kwargs`", _CARRIES, whole=True),
    "dict": Variant("`messages_to_dict`: `type`, `data`", _CARRIES, whole=True),
    "model_dump": Variant("`model_dump`: messages with `type` human, ai, tool", _CARRIES, whole=True),
}

_KINDS = frozenset({"system", "human", "ai", "tool", "function", "chat", "remove", "AIMessageChunk"})
_MARKS = (b'"human"', b'"constructor"')
_REASONING = frozenset({"thinking", "reasoning", "reasoning_content"})
_CALL_BLOCKS = frozenset({"tool_use", "tool_call", "server_tool_use", "function_call"})


def recognise(probe: Probe) -> str | None:
    """The spelling of the first message of a list, or of the ``messages`` of a state."""
    if probe.shape == "list":
        return _spelling(probe.records)
    if probe.shape == "object" and any(mark in probe.head for mark in _MARKS) and probe.records:
        messages = mapping(probe.records[0]).get("messages")
        return _spelling(messages[:5]) if isinstance(messages, list) else None
    return None


def _spelling(records: Sequence[Any]) -> str | None:
    if not records or not all(isinstance(record, dict) for record in records):
        return None
    head = records[0]
    if head.get("lc") == 1 and head.get("type") == "constructor" and isinstance(head.get("kwargs"), dict):
        return "dumpd" if "messages" in items(head.get("id")) else None
    if text(head.get("type")) not in _KINDS:
        return None
    if isinstance(head.get("data"), dict) and "content" in head["data"]:
        return "dict"
    return "model_dump" if "content" in head and "role" not in head else None


def read(bundle: Bundle) -> Records:
    """One trajectory a file."""
    yield from read_document(bundle, lambda value: iter([_trajectory(value, bundle)]), "messages of LangChain")


def _trajectory(value: Any, bundle: Bundle) -> Trajectory:
    messages = value.get("messages") if isinstance(value, dict) else value
    if not isinstance(messages, list):
        raise ValueError(f"found {type(messages).__name__}")
    trajectory = Trajectory(bundle.variant, "0")
    reader = _Reader(trajectory)
    for message in mappings(messages):
        reader.take(*_plain(message))
    reader.turns.close()
    sum_tokens(trajectory)
    trajectory.cached_tokens, trajectory.reasoning_tokens = total(reader.cached), total(reader.reasoned)
    task_of_prompt(trajectory)
    return trajectory


def _plain(message: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Kind and fields of a message in any spelling."""
    if message.get("lc") == 1:
        fields = mapping(message.get("kwargs"))
        names = items(message.get("id")) or [""]
        named = str(names[-1]).removesuffix("Chunk").removesuffix("Message").lower()
        return text(fields.get("type")) or named, fields
    if isinstance(message.get("data"), dict):
        return text(message.get("type")) or "", message["data"]
    return text(message.get("type")) or "", message


class _Reader:
    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.turns = Turns(trajectory)
        self.cached: list[int | None] = []
        self.reasoned: list[int | None] = []

    def take(self, kind: str, fields: dict[str, Any]) -> None:
        if kind in ("ai", "AIMessageChunk"):
            self._agent(fields)
        elif kind in ("tool", "function"):
            self._result(fields)
        elif kind != "remove":
            role = {"human": "user", "chat": text(fields.get("role")) or "user"}.get(kind, kind or "user")
            self.turns.say(role, content_text(fields.get("content")))

    def _agent(self, fields: dict[str, Any]) -> None:
        step = self.turns.step()
        content = fields.get("content")
        blocks = mappings(content)
        spoken = [block for block in blocks if text(block.get("type")) not in _REASONING | _CALL_BLOCKS]
        step.text = content_text(spoken if blocks else content)
        thought = [first(text(b.get("thinking")), text(b.get("reasoning")), text(b.get("text")))
                   for b in blocks if text(b.get("type")) in _REASONING]  # fmt: skip
        extra = mapping(fields.get("additional_kwargs"))
        step.reasoning = first(joined(thought), text(extra.get("reasoning_content")))
        for call in mappings(fields.get("tool_calls")):
            self.turns.call(step, tool_call(call.get("name"), call.get("args"), call.get("id")))
        for call in mappings(fields.get("invalid_tool_calls")):
            made = ToolCall(word(call.get("name")), text(call.get("args")), call_id=word(call.get("id")))
            made.invalid, made.executed = "unparsable", False
            step.calls.append(made)
        self._usage(step, fields)

    def _usage(self, step: Step, fields: dict[str, Any]) -> None:
        usage, answer = mapping(fields.get("usage_metadata")), mapping(fields.get("response_metadata"))
        step.prompt_tokens = count(usage.get("input_tokens"))
        step.completion_tokens = count(usage.get("output_tokens"))
        step.finish_reason = first(word(answer.get("finish_reason")), word(answer.get("stop_reason")))
        self.cached.append(count(mapping(usage.get("input_token_details")).get("cache_read")))
        self.reasoned.append(count(mapping(usage.get("output_token_details")).get("reasoning")))
        if self.trajectory.model is None:
            self.trajectory.model = first(word(answer.get("model_name")), word(answer.get("model")))

    def _result(self, fields: dict[str, Any]) -> None:
        output = content_text(fields.get("content"))
        call = self.turns.answer(first(word(fields.get("tool_call_id")), word(fields.get("name"))), output)
        if call is not None:
            call.exit_code = exit_code_in(output)
            call.is_error = True if fields.get("status") == "error" else None
