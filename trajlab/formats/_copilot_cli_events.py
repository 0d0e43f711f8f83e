"""Events of one conversation of Copilot CLI to turns."""

from __future__ import annotations

from typing import Any

from trajlab.behavior.termination import COPILOT_CLI
from trajlab.formats._sessions import UnknownKinds, settle
from trajlab.formats._turns import Turns, tool_call
from trajlab.formats._values import content_text, count, first, flag, joined, mapping, mappings, moment, text, word
from trajlab.records import Trajectory

_BESIDE = ("session.", "hook.", "permission.", "subagent.", "skill.", "assistant.turn_", "assistant.usage",
           "system.notification", "tool.execution_partial", "tool.execution_progress", "assistant.message_",
           "assistant.reasoning_", "assistant.streaming_", "assistant.intent", "command.")  # fmt: skip
"""Beginnings of kinds that tell no turn: settings, hooks, clocks, pieces of what a later event tells whole."""
_REFUSED = frozenset({"rejected", "denied"})


def fill(trajectory: Trajectory, rows: list[dict[str, Any]], unknown: UnknownKinds) -> Conversation:
    """Turns, messages, and how it ended as far as the events tell."""
    conversation = Conversation(trajectory)
    for row in rows:
        if not conversation.take(word(row.get("type")) or "", mapping(row.get("data")), row):
            unknown.saw(row.get("type"), mapping(row.get("data")))
    conversation.close()
    return conversation


class Conversation:
    """Takes events in order.

    Attributes:
        times: Time stamps of what was said and done.
        model_told: An answer named its model.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.turns = Turns(trajectory)
        self.times: list[float | None] = []
        self.model_told = False
        self._end: str | None = None
        self._reasoning: str | None = None
        self._started: dict[str, dict[str, Any]] = {}
        self._by_user: set[str] = set()

    def take(self, kind: str, data: dict[str, Any], row: dict[str, Any]) -> bool:
        """One event; whether its kind is known."""
        self.times.append(moment(row.get("timestamp")))
        if kind == "assistant.message":
            self._answer(data, moment(row.get("timestamp")))
        elif kind == "assistant.reasoning":
            self._reasoning = joined([self._reasoning, content_text(data.get("content"))])
        elif kind in ("user.message", "system.message"):
            self._flush()
            by_user = kind == "user.message" and data.get("source") in (None, "user")
            self.turns.say("user" if by_user else "system", content_text(data.get("content")))
            self._end = None
        elif kind == "tool.user_requested":
            self._by_user.add(word(data.get("toolCallId")) or "")
        elif kind == "tool.execution_start":
            self._start(data)
        elif kind == "tool.execution_complete":
            self._complete(data)
        elif not self._ends(kind, data):
            return kind.startswith(_BESIDE)
        return True

    def _ends(self, kind: str, data: dict[str, Any]) -> bool:
        """An abort or an error before a shutdown is the end; an answer after it takes it back."""
        if kind == "session.error":
            self._end = word(data.get("errorType")) or "error"
        elif kind == "abort":
            self._end = "abort"
        elif kind == "session.task_complete":
            self._end = "task_complete"
        elif kind == "session.shutdown":
            shutdown = word(data.get("shutdownType"))
            self._end = shutdown if shutdown == "error" else first(self._end, shutdown)
        else:
            return False
        return True

    def _answer(self, data: dict[str, Any], timestamp: float | None) -> None:
        """Pieces of one answer of the model share the call of the provider."""
        self._end = None
        step = self.turns.step(first(word(data.get("apiCallId")), word(data.get("messageId"))))
        step.timestamp = first(step.timestamp, timestamp)
        step.text = joined([step.text, content_text(data.get("content"))]) or ""
        step.reasoning = joined([step.reasoning, first(text(data.get("reasoningText")), self._reasoning)])
        self._reasoning = None
        step.completion_tokens = first(count(data.get("outputTokens")), step.completion_tokens)
        if not self.model_told and (model := word(data.get("model"))):
            self.trajectory.model, self.model_told = model, True
        for request in mappings(data.get("toolRequests")):
            call = tool_call(request.get("name"), request.get("arguments"), request.get("toolCallId"))
            self._started.pop(call.call_id or "", None)
            self.turns.call(step, call)

    def _start(self, data: dict[str, Any]) -> None:
        """A call that no answer has requested yet: the request may follow."""
        key = word(data.get("toolCallId")) or ""
        if self.turns.find(key) is None and key not in self._by_user:
            self._started[key] = data

    def _flush(self, key: str | None = None) -> None:
        """Calls that were started and that no answer requested make a turn of their own."""
        for name in [name for name in self._started if key is None or name == key]:
            data = self._started.pop(name)
            self.turns.call(self.turns.step(), tool_call(data.get("toolName"), data.get("arguments"), name or None))

    def _complete(self, data: dict[str, Any]) -> None:
        key = word(data.get("toolCallId")) or ""
        error = mapping(data.get("error"))
        output = content_text(first(mapping(data.get("result")).get("content"), error.get("message"), ""))
        if key in self._by_user:
            self.turns.say("tool", output)
            return
        self._flush(key)
        if text(error.get("code")) in _REFUSED:
            self.turns.refuse(key, "refused", output)
            return
        call = self.turns.answer(key, output)
        success = flag(data.get("success"))
        if call is not None:
            settle(call, None if success is None else not success)

    def close(self) -> None:
        """Nothing follows."""
        self._flush()
        self.turns.close()
        if self._end is not None:
            self.trajectory.stop_reason = self._end
            self.trajectory.termination = COPILOT_CLI.get(self._end, "infrastructure_error")
