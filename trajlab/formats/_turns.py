"""Building a trajectory from a log of messages or events: turns, their calls, and the results that come later."""

from __future__ import annotations

import re
from typing import Any

import xxhash

from trajlab.formats._values import json_text, text, total, word
from trajlab.records import Message, Step, ToolCall, Trajectory

_EXIT_CODE = re.compile(r"exit(?:ed with)? code:? (-?\d{1,5})\b", re.IGNORECASE)


def tool_call(tool: Any, arguments: Any, call_id: Any = None) -> ToolCall:
    """A call whose arguments may be an object or JSON text; ``unparsable`` where they are neither."""
    decoded = json_text(arguments)
    if isinstance(decoded, dict):
        return ToolCall(word(tool), decoded, call_id=word(call_id))
    if arguments is None or arguments == "":
        return ToolCall(word(tool), call_id=word(call_id))
    return ToolCall(word(tool), text(arguments), call_id=word(call_id), invalid="unparsable")


def exit_code_in(output: str) -> int | None:
    """The exit code that some scaffolds write at the end of what came back."""
    found = _EXIT_CODE.search(output[-300:])
    return int(found[1]) if found else None


class Turns:
    """Takes what happened in order; calls wait for their results by id, or else in the order they were made."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.steps = trajectory.steps
        self._waiting: dict[int, ToolCall] = {}
        self._by_id: dict[str, ToolCall] = {}
        self._key: str | None = None

    def say(self, role: str, said: str) -> None:
        """A message that is neither the agent's nor a result."""
        self.trajectory.messages.append(Message(role, said, len(self.steps) or None))

    def step(self, key: str | None = None) -> Step:
        """A new turn; the current one where it has the same ``key`` (several records of one answer of the model)."""
        if key is None or key != self._key or not self.steps:
            self.steps.append(Step())
        self._key = key
        return self.steps[-1]

    def call(self, step: Step, call: ToolCall) -> ToolCall:
        """Add a call to a turn; it waits for its result."""
        step.calls.append(call)
        self._waiting[id(call)] = call
        if call.call_id is not None:
            self._by_id[call.call_id] = call
        return call

    def find(self, call_id: Any) -> ToolCall | None:
        """The call of that id, answered or not."""
        return self._by_id.get(call_id) if isinstance(call_id, str) else None

    def answer(self, call_id: Any, output: str, *, in_order: bool = True) -> ToolCall | None:
        """Give a call its result; null, and a message, where no call waits for one."""
        call = self.find(call_id)
        if call is None and in_order and call_id is None:
            call = next(iter(self._waiting.values()), None)
        if call is None:
            self.say("tool", output)
            return None
        self._waiting.pop(id(call), None)
        call.output, call.executed = output, True
        return call

    def settle(self, call: ToolCall) -> None:
        """The call waits no longer: its result was given to it directly."""
        self._waiting.pop(id(call), None)

    def refuse(self, call_id: Any, reason: str, said: str) -> ToolCall | None:
        """A call that the scaffold did not run, and what it said about it."""
        call = self.find(call_id)
        if call is not None:
            self._waiting.pop(id(call), None)
            call.executed, call.invalid = False, call.invalid or reason
        self.say("tool", said)
        return call

    def close(self, *, ran: bool | None = None) -> None:
        """Calls that nothing answered were not run; of the last turn it is not known, unless ``ran`` tells."""
        last = self.steps[-1].calls if self.steps else []
        for call in self._waiting.values():
            call.executed = ran if any(call is other for other in last) else False
        self._waiting.clear()


def task_of_prompt(trajectory: Trajectory) -> None:
    """Equal prompts are one task, where the log names none."""
    if trajectory.task_id is not None:
        return
    prompt = "\0".join(m.text for m in trajectory.messages if m.role == "user" and m.after_step is None)
    if prompt:
        trajectory.task_id = f"prompt:{xxhash.xxh3_64_hexdigest(prompt.encode('utf-8', 'replace'))}"


def sum_tokens(trajectory: Trajectory) -> None:
    """Totals of the turns, where the log states none of its own."""
    if trajectory.prompt_tokens is None:
        trajectory.prompt_tokens = total(step.prompt_tokens for step in trajectory.steps)
    if trajectory.completion_tokens is None:
        trajectory.completion_tokens = total(step.completion_tokens for step in trajectory.steps)


def span(trajectory: Trajectory, times: list[float | None]) -> None:
    """Start and duration from the first and last time stamps."""
    known = [moment for moment in times if moment is not None]
    if known:
        trajectory.started_at = min(known)
        trajectory.seconds = max(known) - min(known)
