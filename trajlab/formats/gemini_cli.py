"""Gemini CLI: chats as one document, (from 0.40 on) as lines with changes to them, and as contents of the API.

Source: @google/gemini-cli-core 0.61.0, ``services/chatRecordingService``; of contents a fixture of others and the types
of the API. There is no outcome and no cost.
"""

from __future__ import annotations

import re
from typing import Any

from trajlab.formats import Variant
from trajlab.formats._branches import Left
from trajlab.formats._sessions import UnknownKinds
from trajlab.formats._turns import Turns, span, sum_tokens, task_of_prompt, tool_call
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
    "json": Variant("`chats/session-*.json`", _CARRIES | {"gradable"}, whole=True),
    "jsonl": Variant(
        "`chats/session-*.jsonl`: header, messages, `$set`, `$rewindTo`", _CARRIES | {"gradable"}, whole=True
    ),
    "history": Variant(
        "a document with `history`: contents of `role` and `parts`",
        frozenset({"task_id", "agent", "model", "seconds", "started_at"}),
        whole=True,
    ),
}

_EXIT_CODE = re.compile(r"Exit Code: (-?\d{1,5})\b")
_AGENT = ("gemini", "model", "assistant")
_NOTES = ("info", "error", "warning", "system")
_CHANGES = ("$set", "$rewindTo")


def recognise(probe: Probe) -> str | None:
    """``sessionId`` and ``projectHash`` in the document or the first line."""
    if probe.shape not in ("object", "lines"):
        return None
    if probe.shape == "object" and probe.keys.isdisjoint({"projectHash", "history"}):
        return None
    if b'"projectHash"' not in probe.head:
        return "history" if _is_history(probe) else None
    if not {"sessionId", "projectHash"} <= probe.keys:
        return None
    if probe.shape == "object" and "messages" in probe.keys:
        return "json"
    return "jsonl" if probe.shape == "lines" or probe.name.endswith(".jsonl") else None


def _is_history(probe: Probe) -> bool:
    if probe.shape != "object" or b'"parts"' not in probe.head or "history" not in probe.keys:
        return False
    contents = [content for record in probe.records for content in mappings(mapping(record).get("history"))[:1]]
    return any({"role", "parts"} <= set(content) for content in contents)


def read(bundle: Bundle) -> Records:
    """One trajectory a chat."""
    if bundle.variant != "jsonl":
        make = _of_history if bundle.variant == "history" else _trajectory
        yield from read_document(bundle, lambda value: iter([make(value, bundle)]), "a chat of Gemini CLI")
        return
    problems: list[Problem] = []
    rows = [row for _, row in json_lines(bundle, problems) if isinstance(row, dict)]
    yield from problems
    try:
        yield _of_lines(rows, bundle)
    except RecursionError:
        yield Problem("unreadable_record", "a value is nested too deeply to be read")


def _of_lines(rows: list[dict[str, Any]], bundle: Bundle) -> Trajectory:
    left = Left()
    trajectory = _trajectory(_replayed(rows, left), bundle)
    unknown = [name for row in rows for name in row if name.startswith("$") and name not in _CHANGES]
    if unknown:
        names = ", ".join(sorted(set(unknown))[:5])
        message = f"{len(unknown)} changes to the chat that the reader does not know were passed over: {names}"
        trajectory.problems.append(Problem("unknown_kind", message))
    if (found := left.problem()) is not None:
        trajectory.problems.append(found)
    return trajectory


def _replayed(rows: list[dict[str, Any]], left: Left) -> dict[str, Any]:
    """The chat after all changes: a message with a known id replaces it, a rewind drops what came after it."""
    chat: dict[str, Any] = {}
    messages: dict[str, dict[str, Any]] = {}
    for number_of, row in enumerate(rows):
        if isinstance(row.get("$set"), dict):
            chat |= row["$set"]
        elif "$rewindTo" in row:
            to = row["$rewindTo"]
            while isinstance(to, str) and to in messages and next(reversed(messages)) != to:
                _leave(messages.popitem()[1], left)
        elif "projectHash" in row:
            chat |= row
        elif not any(name.startswith("$") for name in row):
            key = word(row.get("id")) or f"#{number_of}"
            messages[key] = {**messages.get(key, {}), **row} if row.get("type") == "message_update" else row
    return {**chat, "messages": list(messages.values())}


def _leave(message: dict[str, Any], left: Left) -> None:
    left.records += 1
    if message.get("type") in _AGENT:
        prompt, completion = _used(mapping(message.get("tokens")))
        left.answers += 1
        left.prompt_tokens += prompt or 0
        left.completion_tokens += completion or 0


def _used(tokens: dict[str, Any]) -> tuple[int | None, int | None]:
    """Prompt and generated tokens: the API counts thoughts apart from the output, and both are generated."""
    return count(tokens.get("input")), total([count(tokens.get("output")), count(tokens.get("thoughts"))])


def _trajectory(chat: Any, bundle: Bundle) -> Trajectory:
    if not isinstance(chat, dict):
        raise ValueError(f"found {type(chat).__name__}")
    trajectory = Trajectory(bundle.variant, "0", native_id=word(chat.get("sessionId")), agent="Gemini CLI")
    reader = _Reader(trajectory)
    for message in mappings(chat.get("messages")):
        reader.take(message)
    reader.turns.close()
    if chat.get("kind") == "subagent":
        trajectory.agent, trajectory.gradable = "Gemini CLI subagent", False
    if (found := reader.unknown.problem()) is not None:
        trajectory.problems.append(found)
    span(trajectory, [moment(chat.get("startTime")), moment(chat.get("lastUpdated")), *reader.times])
    sum_tokens(trajectory)
    trajectory.cached_tokens = total(count(used.get("cached")) for used in reader.tokens)
    trajectory.reasoning_tokens = total(count(used.get("thoughts")) for used in reader.tokens)
    task_of_prompt(trajectory)
    return trajectory


def _of_history(chat: Any, bundle: Bundle) -> Trajectory:
    if not isinstance(chat, dict):
        raise ValueError(f"found {type(chat).__name__}")
    model = word(mapping(chat.get("meta")).get("model"))
    trajectory = Trajectory(bundle.variant, "0", agent="Gemini CLI", model=model)
    turns = Turns(trajectory)
    contents = mappings(chat.get("history"))
    for content in contents:
        _content(turns, content)
    turns.close()
    times = [moment(content.get("ts")) for content in contents]
    stated = [moment(chat.get("start_time")), moment(chat.get("lastUpdated"))]
    span(trajectory, times if total(times) is not None else stated)
    task_of_prompt(trajectory)
    return trajectory


def _content(turns: Turns, content: dict[str, Any]) -> None:
    """Parts of one side: text, thoughts, calls; or results, which name their call or come in order."""
    parts = mappings(content.get("parts"))
    said = joined(text(part.get("text")) for part in parts if part.get("thought") is not True) or ""
    if content.get("role") not in _AGENT:
        for response in (mapping(part["functionResponse"]) for part in parts if "functionResponse" in part):
            told = mapping(response.get("response"))
            call = turns.answer(word(response.get("id")), content_text(first(told.get("output"), told.get("error"))))
            if call is not None:
                call.is_error = True if "error" in told else None
                call.exit_code = _exit_code(call.output)
        if said:
            turns.say("user" if content.get("role") == "user" else "system", said)
        return
    step = turns.step()
    step.text, step.timestamp = said, moment(content.get("ts"))
    step.reasoning = joined(text(part.get("text")) for part in parts if part.get("thought") is True)
    for made in (mapping(part["functionCall"]) for part in parts if "functionCall" in part):
        turns.call(step, tool_call(made.get("name"), made.get("args"), made.get("id")))


def _exit_code(output: str | None) -> int | None:
    found = _EXIT_CODE.search((output or "")[-500:])
    return int(found[1]) if found else None


class _Reader:
    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.turns = Turns(trajectory)
        self.unknown = UnknownKinds()
        self.times: list[float | None] = []
        self.tokens: list[dict[str, Any]] = []

    def take(self, message: dict[str, Any]) -> None:
        kind = text(message.get("type")) or ""
        if kind not in ("user", *_AGENT, *_NOTES) and not message.get("toolCalls"):
            self.unknown.saw(kind, message)
            return
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
        self.tokens.append(used)
        step.prompt_tokens, step.completion_tokens = _used(used)

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
            made.exit_code = _exit_code(output)
            made.seconds = number(call.get("durationMs"))
        if made.seconds is not None:
            made.seconds /= 1000
        if made.executed is not None:
            self.turns.settle(made)
