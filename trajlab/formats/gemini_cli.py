"""Gemini CLI: chats as one document, and (from 0.40 on) as lines with changes to them.

Source: @google/gemini-cli-core 0.61.0, ``services/chatRecordingService``. There is no outcome and no cost.
"""

from __future__ import annotations

import re
from typing import Any

from trajlab.formats import Variant
from trajlab.formats._turns import Turns, span, sum_tokens, task_of_prompt
from trajlab.formats._values import (
    Records,
    content_text,
    count,
    first,
    items,
    joined,
    json_lines,
    mapping,
    mappings,
    moment,
    number,
    read_document,
    text,
    total,
    word,
)
from trajlab.records import Problem, Step, ToolCall, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

_CARRIES = frozenset(
    {
        "native_id", "task_id", "agent", "model", "prompt_tokens", "completion_tokens", "cached_tokens",
        "reasoning_tokens", "seconds", "started_at",
    }
)  # fmt: skip

VARIANTS = {
    "json": Variant("`chats/session-*.json`", _CARRIES, whole=True),
    "jsonl": Variant("`chats/session-*.jsonl`: header, messages, `$set`, `$rewindTo`", _CARRIES, whole=True),
}

_EXIT_CODE = re.compile(r"Exit Code: (-?\d{1,5})\b")
_AGENT = frozenset({"gemini", "model", "assistant"})


def recognise(probe: Probe) -> str | None:
    """``sessionId`` and ``projectHash`` in the document or the first line."""
    if probe.shape not in ("object", "lines") or b'"projectHash"' not in probe.head:
        return None
    if not {"sessionId", "projectHash"} <= probe.keys:
        return None
    if probe.shape == "object" and "messages" in probe.keys:
        return "json"
    return "jsonl" if probe.shape == "lines" or probe.name.endswith(".jsonl") else None


def read(bundle: Bundle) -> Records:
    """One trajectory a chat."""
    if bundle.variant == "json":
        yield from read_document(bundle, lambda value: iter([_trajectory(value, bundle)]), "a chat of Gemini CLI")
        return
    problems: list[Problem] = []
    chat = _replayed([row for _, row in json_lines(bundle, problems) if isinstance(row, dict)])
    yield from problems
    try:
        yield _trajectory(chat, bundle)
    except RecursionError:
        yield Problem("unreadable_record", "a value is nested too deeply to be read")


def _replayed(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The chat after all changes: a message with a known id replaces it, a rewind drops what came after it."""
    chat: dict[str, Any] = {}
    messages: dict[str, dict[str, Any]] = {}
    for number_of, row in enumerate(rows):
        if isinstance(row.get("$set"), dict):
            chat |= row["$set"]
        elif "$rewindTo" in row:
            names = list(messages)
            at = names.index(row["$rewindTo"]) if row["$rewindTo"] in names else len(names) - 1
            messages = {name: messages[name] for name in names[: at + 1]}
        elif "projectHash" in row:
            chat |= row
        else:
            key = word(row.get("id")) or f"#{number_of}"
            messages[key] = {**messages.get(key, {}), **row} if row.get("type") == "message_update" else row
    return {**chat, "messages": list(messages.values())}


def _trajectory(chat: Any, bundle: Bundle) -> Trajectory:
    if not isinstance(chat, dict):
        raise ValueError(f"found {type(chat).__name__}")
    trajectory = Trajectory(bundle.variant, "0", native_id=word(chat.get("sessionId")), agent="Gemini CLI")
    reader = _Reader(trajectory)
    for message in mappings(chat.get("messages")):
        reader.take(message)
    reader.turns.close()
    span(trajectory, [moment(chat.get("startTime")), moment(chat.get("lastUpdated")), *reader.times])
    sum_tokens(trajectory)
    trajectory.cached_tokens = total(count(used.get("cached")) for used in reader.tokens)
    trajectory.reasoning_tokens = total(count(used.get("thoughts")) for used in reader.tokens)
    task_of_prompt(trajectory)
    return trajectory


class _Reader:
    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.turns = Turns(trajectory)
        self.times: list[float | None] = []
        self.tokens: list[dict[str, Any]] = []

    def take(self, message: dict[str, Any]) -> None:
        kind = text(message.get("type")) or ""
        self.times.append(moment(message.get("timestamp")))
        said = content_text(first(message.get("content"), message.get("parts")))
        if kind not in _AGENT and not message.get("toolCalls"):
            self.turns.say("user" if kind == "user" else "system", said)
            return
        step = self.turns.step()
        step.text, step.timestamp = said, moment(message.get("timestamp"))
        step.reasoning = joined(
            joined([text(thought.get("subject")), text(thought.get("description"))])
            for thought in mappings(message.get("thoughts"))
        )
        self._tokens(step, mapping(message.get("tokens")))
        if self.trajectory.model is None:
            self.trajectory.model = word(message.get("model"))
        for call in mappings(message.get("toolCalls")):
            self._call(step, call)

    def _tokens(self, step: Step, used: dict[str, Any]) -> None:
        """The API counts thoughts apart from the output; both are generated."""
        self.tokens.append(used)
        step.prompt_tokens = count(used.get("input"))
        step.completion_tokens = total([count(used.get("output")), count(used.get("thoughts"))])

    def _call(self, step: Step, call: dict[str, Any]) -> None:
        arguments = call.get("args")
        made = ToolCall(word(call.get("name")), arguments if isinstance(arguments, dict) else text(arguments))
        made.call_id = word(call.get("id"))
        self.turns.call(step, made)
        responses = [
            mapping(mapping(part.get("functionResponse")).get("response")) for part in mappings(call.get("result"))
        ]
        output = joined(content_text(first(r.get("output"), r.get("error"))) for r in responses)
        status = call.get("status")
        if status == "cancelled":
            made.executed, made.invalid = False, "refused"
            if output:
                self.turns.say("tool", output)
        elif output is not None or status in ("success", "error") or items(call.get("result")):
            made.executed, made.output = True, output or ""
            made.is_error = True if status == "error" else None
            found = _EXIT_CODE.search((output or "")[-500:])
            made.exit_code = int(found[1]) if found else None
            made.seconds = number(call.get("durationMs"))
        if made.seconds is not None:
            made.seconds /= 1000
        if made.executed is not None:
            self.turns.settle(made)
