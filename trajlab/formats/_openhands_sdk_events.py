"""Events of OpenHands V1 to turns."""

from __future__ import annotations

from typing import Any

from trajlab.behavior.termination import classify_openhands_sdk
from trajlab.formats._turns import Turns, span, sum_tokens, tool_call
from trajlab.formats._values import (
    content_text,
    count,
    first,
    flag,
    joined,
    mapping,
    mappings,
    moment,
    number,
    reconcile,
    text,
    total,
    whole,
    word,
)
from trajlab.records import Step, ToolCall, Trajectory

_MALFORMED = "_openhands_malformed_tool_call"


def fill(trajectory: Trajectory, events: list[dict[str, Any]], state: dict[str, Any]) -> None:
    """Turns, end and totals from the events and the last state (or what the events say of it)."""
    reader = _Reader(trajectory)
    for event in events:
        reader.take(event)
    status = first(text(state.get("execution_status")), reader.status)
    if status is None:
        status = "finished" if reader.finished else "running"
    reader.turns.close(ran=True if reader.finished else None)
    code = None if reader.finished else reader.code
    trajectory.stop_reason = first(code, status)
    trajectory.termination = classify_openhands_sdk(code, status)
    span(trajectory, reader.times)
    _totals(trajectory, first(state.get("stats"), reader.stats), reader.answers)


def _totals(trajectory: Trajectory, stats: Any, answers: dict[str, Step]) -> None:
    """Costs and tokens over all uses of a model, the condenser's included; those of a turn by its answer's id."""
    used = [mapping(metrics) for metrics in mapping(mapping(stats).get("usage_to_metrics")).values()]
    tokens = [mapping(metrics.get("accumulated_token_usage")) for metrics in used]
    trajectory.cost = total(number(metrics.get("accumulated_cost")) for metrics in used)
    trajectory.prompt_tokens = total(count(usage.get("prompt_tokens")) for usage in tokens)
    trajectory.completion_tokens = total(count(usage.get("completion_tokens")) for usage in tokens)
    trajectory.cached_tokens = total(count(usage.get("cache_read_tokens")) for usage in tokens)
    trajectory.reasoning_tokens = total(count(usage.get("reasoning_tokens")) for usage in tokens)
    entries = [entry for metrics in used for entry in mappings(metrics.get("token_usages"))]
    for entry in entries:
        step = answers.get(word(entry.get("response_id")) or "")
        if step is not None:
            step.prompt_tokens = count(entry.get("prompt_tokens"))
            step.completion_tokens = count(entry.get("completion_tokens"))
    if entries:
        reconcile(trajectory, "prompt tokens", trajectory.prompt_tokens, total(count(e.get("prompt_tokens"))
                                                                                for e in entries))  # fmt: skip
    sum_tokens(trajectory)
    if trajectory.model is None:
        trajectory.model = next((name for metrics in used if (name := word(metrics.get("model_name")))), None)


class _Reader:
    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.turns = Turns(trajectory)
        self.times: list[float | None] = []
        self.answers: dict[str, Step] = {}
        self.stats: Any = None
        self.status: str | None = None
        self.code: str | None = None
        self.finished = False

    def take(self, event: dict[str, Any]) -> None:
        self.times.append(moment(event.get("timestamp")))
        kind = text(event.get("kind")) or ""
        if kind == "ActionEvent":
            self._action(event)
        elif kind == "ObservationEvent":
            self._observation(event)
        elif kind == "MessageEvent":
            self._message(event)
        elif kind == "AgentErrorEvent":
            self._refused(event, content_text(event.get("error")))
        elif kind == "UserRejectObservation":
            self.turns.refuse(event.get("tool_call_id"), "refused", content_text(event.get("rejection_reason")))
        elif kind == "SystemPromptEvent":
            self._system(event)
        elif kind == "ConversationErrorEvent":
            self.code = word(event.get("code")) or "unknown"
        elif kind == "ConversationStateUpdateEvent":
            self._state(event)

    def _system(self, event: dict[str, Any]) -> None:
        self.turns.say("system", content_text(event.get("system_prompt")))
        tools = mappings(event.get("tools"))
        names = [first(word(tool.get("title")), word(mapping(tool.get("function")).get("name")), word(tool.get("name")))
                 for tool in tools]  # fmt: skip
        if names:
            self.trajectory.tools_offered = [name for name in names if name]

    def _message(self, event: dict[str, Any]) -> None:
        message = mapping(event.get("llm_message"))
        said = content_text(message.get("content"))
        if event.get("source") != "agent":
            self.turns.say(text(message.get("role")) or "user", said)
            return
        step = self._step(event)
        step.text = said
        step.reasoning = first(text(message.get("reasoning_content")), _thinking(message))

    def _step(self, event: dict[str, Any]) -> Step:
        answer = word(event.get("llm_response_id"))
        step = self.turns.step(answer)
        step.timestamp = first(step.timestamp, moment(event.get("timestamp")))
        if answer is not None:
            self.answers[answer] = step
        self.finished = False
        return step

    def _action(self, event: dict[str, Any]) -> None:
        step = self._step(event)
        thought = content_text(event.get("thought"))
        step.text = joined([step.text, thought]) or ""
        step.reasoning = joined([step.reasoning, first(text(event.get("reasoning_content")), _thinking(event))])
        native, action = mapping(event.get("tool_call")), mapping(event.get("action"))
        name = first(word(event.get("tool_name")), word(native.get("name")))
        arguments = native.get("arguments")
        if arguments is None:
            arguments = {key: value for key, value in action.items() if key != "kind"}
        call = self.turns.call(step, tool_call(name, arguments, event.get("tool_call_id")))
        if isinstance(call.arguments, dict) and _MALFORMED in call.arguments:
            call.arguments, call.invalid = text(call.arguments.get("raw_arguments")), "unparsable"
        elif not action:
            call.invalid = call.invalid or "refused"
        self.finished = name == "finish" and bool(action)

    def _refused(self, event: dict[str, Any], said: str) -> None:
        call = self.turns.find(event.get("tool_call_id"))
        if call is not None and call.invalid is None:
            self._finish(call, said, error=True)  # a well-formed call that failed while it ran
            return
        if call is not None and call.invalid == "refused" and "not found" in said[:500]:
            call.invalid = "unknown_tool"
        self.turns.refuse(event.get("tool_call_id"), "refused", said)

    def _observation(self, event: dict[str, Any]) -> None:
        seen = mapping(event.get("observation"))
        output = content_text(first(seen.get("content"), seen.get("output")))
        call = self.turns.answer(event.get("tool_call_id"), output)
        if call is None:
            return
        code = whole(first(seen.get("exit_code"), mapping(seen.get("metadata")).get("exit_code")))
        call.exit_code = None if code == -1 else code
        call.is_error = True if code == -1 or seen.get("timeout") is True else flag(seen.get("is_error"))
        if call.tool == "finish":
            self.finished = True

    def _finish(self, call: ToolCall, said: str, *, error: bool) -> None:
        call.output, call.executed, call.is_error = said, True, error
        self.turns.settle(call)

    def _state(self, event: dict[str, Any]) -> None:
        key, value = event.get("key"), event.get("value")
        if key == "stats":
            self.stats = value
        elif key == "execution_status":
            self.status = text(value)
        elif key == "full_state":
            full = mapping(value)
            self.stats = first(full.get("stats"), self.stats)
            self.status = first(text(full.get("execution_status")), self.status)


def _thinking(event: dict[str, Any]) -> str | None:
    return joined(text(block.get("thinking")) for block in mappings(event.get("thinking_blocks")))
