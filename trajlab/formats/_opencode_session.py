"""Messages of one session of opencode to turns."""

from __future__ import annotations

from typing import Any

from trajlab.behavior.termination import OPENCODE
from trajlab.formats._sessions import UnknownKinds, kind_of, settle
from trajlab.formats._turns import Turns, span, sum_tokens, tool_call
from trajlab.formats._values import (
    between,
    content_text,
    count,
    first,
    joined,
    mapping,
    moment,
    number,
    text,
    total,
    whole,
    word,
)
from trajlab.records import Step, Trajectory

Parts = tuple[dict[str, Any], list[dict[str, Any]]]
"""A message with its parts."""

_BESIDE = frozenset({"file", "step-start", "snapshot", "patch", "agent", "retry", "compaction", "subtask"})
_OF_AGENT = frozenset({"tool", "reasoning", "step-start", "step-finish"})
_DONE = frozenset({"completed", "success"})
_MALFORMED = "invalid"
"""The tool that opencode puts in the place of a call it could not read."""
_REFUSED = ("The user rejected permission", "The user has specified a rule which prevents")


def fill(trajectory: Trajectory, messages: list[Parts], clock: dict[str, Any]) -> None:
    """Turns, messages, tokens, and how it ended."""
    reader = _Reader(trajectory)
    for message, parts in messages:
        reader.take(message, parts)
    reader.turns.close()
    times = [*reader.times, moment(clock.get("created")), moment(clock.get("updated"))]
    span(trajectory, times)
    sum_tokens(trajectory)
    trajectory.cached_tokens = total(count(mapping(used.get("cache")).get("read")) for used in reader.used)
    trajectory.reasoning_tokens = total(count(used.get("reasoning")) for used in reader.used)
    trajectory.cost = total(step.cost for step in trajectory.steps)
    if (found := reader.unknown.problem()) is not None:
        trajectory.problems.append(found)


class _Reader:
    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.turns = Turns(trajectory)
        self.unknown = UnknownKinds()
        self.times: list[float | None] = []
        self.used: list[dict[str, Any]] = []

    def take(self, message: dict[str, Any], parts: list[dict[str, Any]]) -> None:
        clock = mapping(message.get("time"))
        self.times += [moment(clock.get("created")), moment(clock.get("completed"))]
        role = word(message.get("role")) or "unknown"
        if role == "assistant" or (role == "unknown" and any(kind_of(part) in _OF_AGENT for part in parts)):
            self._agent(message, parts)
        else:
            self._other(role, message, parts)

    def _other(self, role: str, message: dict[str, Any], parts: list[dict[str, Any]]) -> None:
        """What the user wrote; without parts, what the summary tells of it."""
        for part in parts:
            if part.get("type") == "text":
                synthetic = part.get("synthetic") is True or part.get("ignored") is True
                self.turns.say("system" if synthetic else role, content_text(part.get("text")))
            elif kind_of(part) not in _BESIDE:
                self.unknown.saw(part.get("type"), part)
        if not parts and (said := content_text(mapping(message.get("summary")).get("body"))):
            self.turns.say(role, said)
        self._end(None)

    def _agent(self, message: dict[str, Any], parts: list[dict[str, Any]]) -> None:
        step = self._step(message)
        before = len(self.turns.steps)
        fresh, finished = False, 0
        for part in parts:
            kind = kind_of(part)
            if kind == "step-start":
                fresh = bool(step.text or step.reasoning or step.calls)
            elif kind == "step-finish":
                self._usage(step, part)
                step.finish_reason = word(part.get("reason"))
                finished += 1
            elif kind in ("text", "reasoning", "tool"):
                step = self._step(message) if fresh else step
                fresh = False
                self._part(step, part)
            elif kind not in _BESIDE:
                self.unknown.saw(kind, part)
        if not finished and len(self.turns.steps) == before:
            self._usage(step, message)
            step.finish_reason = word(message.get("finish"))
        model = mapping(message.get("model"))
        self.trajectory.model = first(self.trajectory.model, word(message.get("modelID")), word(model.get("modelID")))
        self._end(first(word(mapping(message.get("error")).get("name")), word(message.get("finish"))))

    def _step(self, message: dict[str, Any]) -> Step:
        step = self.turns.step()
        step.timestamp = moment(mapping(message.get("time")).get("created"))
        return step

    def _end(self, reason: str | None) -> None:
        known = reason in OPENCODE
        self.trajectory.stop_reason = reason if known else None
        self.trajectory.termination = OPENCODE[str(reason)] if known else None

    def _usage(self, step: Step, record: dict[str, Any]) -> None:
        used = mapping(record.get("tokens"))
        cache = mapping(used.get("cache"))
        step.prompt_tokens = total([count(used.get("input")), count(cache.get("read")), count(cache.get("write"))])
        step.completion_tokens = count(used.get("output"))
        step.cost = number(record.get("cost"))
        self.used.append(used)

    def _part(self, step: Step, part: dict[str, Any]) -> None:
        kind = kind_of(part)
        if kind == "text":
            step.text = joined([step.text, content_text(part.get("text"))]) or ""
        elif kind == "reasoning":
            step.reasoning = joined([step.reasoning, text(part.get("text"))])
        else:
            self._tool(step, part)

    def _tool(self, step: Step, part: dict[str, Any]) -> None:
        state, given = mapping(part.get("state")), mapping(mapping(part.get("state")).get("input"))
        call = self.turns.call(step, tool_call(part.get("tool"), state.get("input"), part.get("callID")))
        status, clock = text(state.get("status")), mapping(state.get("time"))
        error = text(state.get("error")) or ""
        self.times += [moment(clock.get("start")), moment(clock.get("end"))]
        if part.get("tool") == _MALFORMED:
            call.tool, call.invalid = word(given.get("tool")), "unparsable"
        if part.get("tool") == _MALFORMED or error.startswith(_REFUSED):
            call.executed, call.invalid = False, call.invalid or "refused"
            self.turns.settle(call)
            self.turns.say("tool", error or content_text(state.get("output")))
        elif status in _DONE or status == "error":
            call.executed, call.output = True, error if status == "error" else content_text(state.get("output"))
            call.exit_code = whole(mapping(state.get("metadata")).get("exit"))
            call.seconds = between(moment(clock.get("start")), moment(clock.get("end")))
            settle(call, True if status == "error" else None)
            self.turns.settle(call)
