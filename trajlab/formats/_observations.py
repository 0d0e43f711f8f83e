"""Trees of observed operations (calls of models and tools, agents) to trajectories, whatever platform recorded them.

A trace is a trajectory, the operations of all its agents together. Each call of a model repeats the conversation so
far: what is new in it was said since. Time and memory grow with the trace, not with its depth.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from trajlab.behavior.termination import ENDED
from trajlab.formats._observed_messages import Heard, Said, answer, given_messages, given_tools, opened
from trajlab.formats._turns import Turns, exit_code_in, span, sum_tokens, task_of_prompt, tool_call
from trajlab.formats._values import between, count, dumped, first, mapping, number, text, total, word
from trajlab.records import Problem, Step, ToolCall, Trajectory

TRACES = {
    "OK": ENDED,
    "success": ENDED,
    "ERROR": "infrastructure_error",
    "error": "infrastructure_error",
    "GraphRecursionError": "truncated_budget",
    "IN_PROGRESS": "incomplete",
    "pending": "incomplete",
    "STATE_UNSPECIFIED": "unknown",
}
"""States of traces (MLflow, LangSmith, Langfuse): an error left the root of the program, which is no verdict."""


class Observation(msgspec.Struct):
    """One operation of a trace.

    Attributes:
        kind: ``model``, ``tool`` or ``agent``; null for any other.
        given: What it was called with, as logged: objects, or their JSON text.
        gave: What it returned.
        error: What went wrong, in the log's words, empty where it has none; null where nothing did.
        usage: ``prompt``, ``completion``, ``cached`` and ``reasoning`` tokens, as far as told apart from the answer.
    """

    key: str | None
    parent: str | None = None
    kind: str | None = None
    name: str | None = None
    start: float | None = None
    end: float | None = None
    given: Any = None
    gave: Any = None
    error: str | None = None
    model: str | None = None
    usage: dict[str, int | None] = {}
    cost: float | None = None
    call_id: str | None = None
    finish_reason: str | None = None


class _Place(msgspec.Struct, frozen=True):
    agent: str
    """Key of the agent around it; empty where there is none."""
    in_model: bool
    """It stands inside a call of a model."""


_TOP = _Place("", False)


def fill(trajectory: Trajectory, observations: Iterable[Observation]) -> None:
    """Turns, messages, tokens, cost, times and task of one trace."""
    ordered = sorted(observations, key=lambda one: one.start if one.start is not None else 0.0)
    places = _places(ordered)
    reader = _Reader(trajectory)
    root = next((one for one in ordered if one.parent is None), ordered[0] if ordered else None)
    if root is not None and not any(one.kind == "model" for one in ordered):
        reader.prompt(root)
    for one in ordered:
        reader.take(one, places.get(one.key or "", _TOP))
    reader.turns.close()
    if reader.nested:
        said = f"calls of a model inside another, told twice and counted once: {reader.nested:,}"
        trajectory.problems.append(Problem("nested_call", said))
    span(trajectory, [moment for one in ordered for moment in (one.start, one.end)])
    sum_tokens(trajectory)
    trajectory.cached_tokens = first(trajectory.cached_tokens, total(reader.cached))
    trajectory.reasoning_tokens = first(trajectory.reasoning_tokens, total(reader.reasoned))
    trajectory.cost = first(trajectory.cost, total(step.cost for step in trajectory.steps))
    task_of_prompt(trajectory)


def _places(observations: Sequence[Observation]) -> dict[str, _Place]:
    """What is around each operation. Each is looked at once; a cycle of parents ends where it began."""
    by_key = {one.key: one for one in observations if one.key is not None}
    places: dict[str, _Place] = {}
    for one in observations:
        way: list[Observation] = []
        walked: set[str] = set()
        at: Observation | None = one if one.key is not None else None
        while at is not None and at.key is not None and at.key not in places and at.key not in walked:
            way.append(at)
            walked.add(at.key)
            at = by_key.get(at.parent) if at.parent is not None else None
        for inner in reversed(way):
            around = places.get(inner.parent or "", _TOP)
            above = by_key[inner.parent] if inner.parent in places and inner.parent is not None else None
            agent = inner.key if inner.kind == "agent" else around.agent
            in_model = inner.kind != "agent" and (around.in_model or (above is not None and above.kind == "model"))
            places[inner.key or ""] = _Place(agent or "", in_model)
    return places


class _Conversation(msgspec.Struct):
    """State of one agent's conversation."""

    told: list[Said] = []
    heard: Heard = []
    waiting: dict[str | None, deque[ToolCall]] = {}
    """Calls of its last turn that no tool has answered yet, by name."""
    step: Step | None = None


class _Reader:
    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.turns = Turns(trajectory)
        self.cached: list[int | None] = []
        self.reasoned: list[int | None] = []
        self.nested = 0
        self._of: dict[str, _Conversation] = {}
        self._by_error: dict[int, ToolCall] = {}
        """Calls of which only the error is known, not what the model was told of it."""

    def prompt(self, root: Observation) -> None:
        """No call of a model was recorded: what the root was given is all that is known of the task."""
        for said in given_messages(opened(root.given)):
            if said.role not in ("assistant", "tool") and said.text:
                self.turns.say(said.role, said.text)

    def take(self, one: Observation, place: _Place) -> None:
        """One operation, in the order they started."""
        talk = self._of.setdefault(place.agent, _Conversation())
        if one.kind == "model" and place.in_model:
            self.nested += 1
        elif one.kind == "model":
            self._model(one, talk)
        elif one.kind == "tool":
            self._tool(one, talk)
        elif one.kind == "agent":
            self.trajectory.agent = first(self.trajectory.agent, one.name)

    def _model(self, one: Observation, talk: _Conversation) -> None:
        context = opened(one.given)
        given = given_messages(context, talk.heard)
        same = _common(talk.told, given)
        talk.told = given
        for said in given[same:]:
            for call_id, output, failed in said.results:
                self._result(call_id, output, failed)
            if said.text and said.role not in ("assistant", "tool", "function"):
                self.turns.say(said.role, said.text)
        if self.trajectory.tools_offered is None:
            self.trajectory.tools_offered = given_tools(context)
        self._step(one, talk, answer(one.gave))

    def _step(self, one: Observation, talk: _Conversation, said: Said) -> None:
        step = self.turns.step()
        step.text, step.reasoning, step.timestamp = said.text, said.reasoning, one.start
        step.finish_reason = first(one.finish_reason, said.finish_reason)
        used = usage_of(said.usage) | {name: value for name, value in one.usage.items() if value is not None}
        step.prompt_tokens, step.completion_tokens = used.get("prompt"), used.get("completion")
        self.cached.append(used.get("cached"))
        self.reasoned.append(used.get("reasoning"))
        step.cost = one.cost
        talk.step, talk.waiting = step, {}
        for name, arguments, call_id in said.calls:
            call = self.turns.call(step, tool_call(name, arguments, call_id))
            talk.waiting.setdefault(call.tool, deque()).append(call)
        for name, arguments, call_id in said.unparsable:
            made = ToolCall(word(name), text(arguments), call_id=word(call_id), invalid="unparsable", executed=False)
            step.calls.append(made)
        self.trajectory.model = first(self.trajectory.model, one.model, said.model)

    def _result(self, call_id: Any, output: str, failed: bool | None) -> None:
        """A result in the next prompt repeats that of the tool's own operation, unless that does not hold it."""
        call = self.turns.find(call_id)
        if call is None or call.output is None or self._by_error.pop(id(call), None) is not None:
            call = self.turns.answer(word(call_id), output)
            if call is not None:
                call.is_error, call.exit_code = first(call.is_error, failed), exit_code_in(output)

    def _tool(self, one: Observation, talk: _Conversation) -> None:
        """The call that the model asked for, by id or by name; or one that the program made itself."""
        call = self.turns.find(one.call_id)
        waiting = talk.waiting.get(one.name, deque())
        while call is None and waiting:
            candidate = waiting.popleft()
            call = candidate if candidate.executed is None else None
        if call is None:
            talk.step = talk.step or self.turns.step()
            call = self.turns.call(talk.step, tool_call(one.name, _arguments(one.given), one.call_id))
        call.executed = True
        call.output = _output(one.gave) if one.gave else one.error or None
        if not one.gave and one.error is not None:
            self._by_error[id(call)] = call
        call.exit_code = exit_code_in(call.output) if call.output is not None else None
        call.is_error = True if one.error is not None else None
        call.seconds = between(one.start, one.end)
        self.turns.settle(call)


def _common(told: list[Said], given: list[Said]) -> int:
    """Number of messages at the start of both."""
    same = 0
    for before, now in zip(told, given, strict=False):
        if before != now:
            break
        same += 1
    return same


def _arguments(given: Any) -> Any:
    """LangChain wraps the text of the arguments."""
    inner = mapping(given).get("input")
    if isinstance(given, dict) and set(given) == {"input"} and isinstance(inner, (str, dict)):
        return inner
    return given


def _output(gave: Any) -> str:
    """Text of a result; of an object that holds nothing else, what is in it."""
    if isinstance(gave, str):
        return gave
    inner = mapping(gave).get("output") if isinstance(gave, dict) and set(gave) == {"output"} else None
    if isinstance(inner, dict):
        inner = first(mapping(inner.get("kwargs")).get("content"), inner.get("content"))
    return inner if isinstance(inner, str) else dumped(gave)


def usage_of(usage: dict[str, Any]) -> dict[str, int | None]:
    """Token counts as the providers spell them; prompt tokens include cached ones."""
    given, made = mapping(usage.get("input_token_details")), mapping(usage.get("output_token_details"))
    older = mapping(usage.get("prompt_tokens_details")), mapping(usage.get("completion_tokens_details"))
    return {
        "prompt": count(first(usage.get("input_tokens"), usage.get("prompt_tokens"))),
        "completion": count(first(usage.get("output_tokens"), usage.get("completion_tokens"))),
        "cached": count(first(given.get("cache_read"), older[0].get("cached_tokens"),
                              usage.get("cache_read_input_tokens"))),
        "reasoning": count(first(made.get("reasoning"), older[1].get("reasoning_tokens"))),
    }  # fmt: skip


def truth(value: Any) -> float | None:
    """A score: a number, or a truth value as 1 or 0."""
    return float(value) if isinstance(value, bool) else number(value)
