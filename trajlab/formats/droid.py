"""Droid (Factory): files of its session store, and ``droid exec --output-format stream-json``.

Source: fixtures of others; keys of the stream changed between versions (``session_id`` and ``sessionId``,
``toolCallId`` and ``id``). The session store holds neither tokens nor an end; what may stand in files beside it, no
fixture shows.
"""

from __future__ import annotations

from typing import Any

from trajlab.behavior.termination import DROID
from trajlab.formats import Variant
from trajlab.formats._sessions import (
    UnknownKinds,
    agent_blocks,
    apart,
    fill_session,
    kind_of,
    rows_of,
    settle,
    take_results,
)
from trajlab.formats._turns import Turns, tool_call
from trajlab.formats._values import (
    Records,
    content_text,
    count,
    first,
    flag,
    items,
    joined,
    mapping,
    moment,
    text,
    total,
    whole,
    word,
)
from trajlab.records import Problem, Step, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

_CARRIES = frozenset({"native_id", "task_id", "agent", "seconds", "started_at"})

VARIANTS = {
    "session": Variant("`sessions/**/<id>.jsonl`: `session_start`, then lines of `message`",
                       _CARRIES | {"agent_version"}, whole=True),
    "stream": Variant("`--output-format stream-json`: `message`, `tool_call`, `tool_result`, `completion`",
                      _CARRIES | {"model", "tools_offered", "logged_termination", "stop_reason", "prompt_tokens",
                                  "completion_tokens", "cached_tokens"}, whole=True),
}  # fmt: skip

_STREAM = {"message": {"role", "text"}, "tool_call": {"toolName", "parameters"}, "tool_result": {"value"},
           "completion": {"finalText"}}  # fmt: skip
_BESIDE = frozenset({"session_start", "session_end", "todo_state", "compaction_state"})
_REMINDER = "system-reminder"


def recognise(probe: Probe) -> str | None:
    """A line ``session_start``; or lines of the stream's kinds, with the session's id."""
    if probe.shape != "lines":
        return None
    rows = [record for record in probe.records if isinstance(record, dict)]
    if any(row.get("type") == "session_start" and "id" in row and "payload" not in row for row in rows):
        return "session"
    return "stream" if any(map(_is_stream_line, rows)) else None


def _is_stream_line(row: dict[str, Any]) -> bool:
    kind = row.get("type")
    if not isinstance(kind, str) or not {"session_id", "sessionId"} & set(row):
        return False
    return kind in _STREAM and _STREAM[kind] <= set(row)


def read(bundle: Bundle) -> Records:
    """One trajectory a file."""
    problems: list[Problem] = []
    rows = rows_of(bundle, problems)
    yield from problems
    trajectory = Trajectory(bundle.variant, "0", agent="Droid")
    reader = _Session(trajectory) if bundle.variant == "session" else _Stream(trajectory)
    fill_session(reader, rows)
    yield trajectory


class _Session:
    """Messages in Anthropic's spelling."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.turns = Turns(trajectory)
        self.unknown = UnknownKinds()

    def take(self, row: dict[str, Any]) -> None:
        kind, message = kind_of(row), mapping(row.get("message"))
        if kind == "session_start":
            self.trajectory.native_id = first(self.trajectory.native_id, word(row.get("id")))
            self.trajectory.agent_version = first(self.trajectory.agent_version, word(row.get("version")))
        elif message.get("role") == "assistant":
            step = self.turns.step()
            step.timestamp = moment(row.get("timestamp"))
            agent_blocks(self.turns, step, message.get("content"))
        elif message.get("role") == "user":
            self.user(content_text(take_results(self.turns, message.get("content"))))
        elif kind not in _BESIDE:
            self.unknown.saw(kind, row)

    def user(self, said: str) -> None:
        """What the user wrote, apart from what Droid reminds the model of."""
        reminder, rest = apart(said, _REMINDER)
        for role, part in (("system", reminder), ("user", rest)):
            if part:
                self.turns.say(role, part)


class _Stream(_Session):
    """Events of ``droid exec``; what the agent does between two results is one turn."""

    def __init__(self, trajectory: Trajectory) -> None:
        super().__init__(trajectory)
        self._open: Step | None = None

    def take(self, row: dict[str, Any]) -> None:
        kind, trajectory = kind_of(row), self.trajectory
        trajectory.native_id = first(trajectory.native_id, word(row.get("session_id")), word(row.get("sessionId")))
        if kind == "system":
            trajectory.model = first(trajectory.model, word(row.get("model")))
            names = [name for tool in items(row.get("tools")) if (name := word(tool))]
            trajectory.tools_offered = names or trajectory.tools_offered
        elif kind == "message" and row.get("role") == "assistant":
            step = self._turn(row)
            step.text = joined([step.text, content_text(row.get("text"))]) or ""
        elif kind == "message":
            self._open = None
            self.user(content_text(row.get("text")))
        elif kind == "tool_call":
            name = first(word(row.get("toolName")), word(row.get("toolId")))
            self.turns.call(self._turn(row), tool_call(name, row.get("parameters"), _call_id(row)))
        elif kind == "tool_result":
            self._result(row)
        elif kind in DROID:
            self._end(kind, row)
        else:
            self.unknown.saw(kind, row)

    def _turn(self, row: dict[str, Any]) -> Step:
        if self._open is None:
            self._open = self.turns.step()
            self._open.timestamp = moment(row.get("timestamp"))
        return self._open

    def _result(self, row: dict[str, Any]) -> None:
        self._open = None
        value = mapping(row.get("value"))
        output = joined([text(value.get("stdout")), text(value.get("stderr"))]) if value else None
        call = self.turns.answer(_call_id(row), first(output, content_text(first(row.get("value"), row.get("error")))))
        if call is not None:
            call.exit_code = whole(value.get("exitCode"))
            settle(call, flag(row.get("isError")))

    def _end(self, kind: str, row: dict[str, Any]) -> None:
        """The final text is told again, unless the stream has no message of it."""
        self.trajectory.stop_reason, self.trajectory.termination = kind, DROID[kind]
        said = text(row.get("finalText")) or ""
        steps = self.trajectory.steps
        if said and not (steps and steps[-1].text.endswith(said)):
            self._open = None
            self._turn(row).text = said
        self._open = None
        usage = mapping(row.get("usage"))
        if usage:
            keys = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
            self.trajectory.prompt_tokens = total(count(usage.get(key)) for key in keys)
            self.trajectory.cached_tokens = count(usage.get("cache_read_input_tokens"))
            self.trajectory.completion_tokens = count(usage.get("output_tokens"))


def _call_id(row: dict[str, Any]) -> str | None:
    return word(row.get("toolCallId")) or word(row.get("id"))
