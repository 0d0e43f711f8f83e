"""Spans of one trace to turns, by the conventions of GenAI and of OpenInference."""

from __future__ import annotations

from collections import deque
from typing import Any

from trajlab.formats._otel_spans import Span, ordered, unflattened
from trajlab.formats._turns import Turns, tool_call
from trajlab.formats._values import (
    between,
    content_text,
    count,
    dumped,
    first,
    items,
    joined,
    json_text,
    mapping,
    mappings,
    number,
    word,
)
from trajlab.records import RewardPart, Step, ToolCall, Trajectory

_MODEL = ("chat", "generate_content", "text_completion")
_KINDS = {"LLM": "model", "TOOL": "tool", "AGENT": "agent"}
_TRACELOOP = ("llm.request.type", "gen_ai.request.type")
_SPAN_KINDS = ("traceloop.span.kind", "agentops.span.kind")
_OLDER = {
    "chat": "model", "completion": "model", "acompletion": "model", "llm": "model", "tool": "tool", "agent": "agent",
}  # fmt: skip
"""Kinds as OpenLLMetry, AgentOps and LiteLLM spell them."""
_OPERATIONS = {**dict.fromkeys(_MODEL, "model"), "execute_tool": "tool", "invoke_agent": "agent"}

Said = tuple[str, str, list[tuple[Any, str]]]
"""Role, text, and results with the ids of their calls."""


def kind_of_span(span: Span) -> str | None:
    """``model``, ``tool`` or ``agent``; null for any other."""
    told = span.attributes
    operation, kind = word(told.get("gen_ai.operation.name")), word(told.get("openinference.span.kind"))
    known = _OPERATIONS.get(operation or "") or _KINDS.get(kind or "")
    older = (_OLDER.get(word(told.get(name)) or "") for name in (*_TRACELOOP, *_SPAN_KINDS))
    return known or next((found for found in older if found), None)


class Trace:
    """Takes spans in the order they started.

    Attributes:
        cached: Cached prompt tokens, answer by answer.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.turns = Turns(trajectory)
        self.cached: list[int | None] = []
        self._told: list[Said] = []
        self._open: dict[str | None, deque[ToolCall]] = {}

    def take(self, span: Span) -> None:
        """One span."""
        kind = kind_of_span(span)
        if kind == "model":
            self._answer(span)
        elif kind == "tool":
            self._tool(span)
        elif kind == "agent" and self.trajectory.agent is None:
            self.trajectory.agent = word(_any(span.attributes, "gen_ai.agent.name", "agent.name"))
        for name, told in span.events:
            if name == "gen_ai.evaluation.result":
                score = number(told.get("gen_ai.evaluation.score.value"))
                named = word(told.get("gen_ai.evaluation.name")) or "evaluation"
                self.trajectory.rewards.append(RewardPart(named, score))

    def _answer(self, span: Span) -> None:
        """Each call of a model tells the conversation so far: what is new in it was said since."""
        told = span.attributes
        given = [_said(message) for message in _messages(told, "input")]
        system = content_text(_parts_of(_decoded(told.get("gen_ai.system_instructions"))))
        if system and not self._told:
            self.turns.say("system", system)
        same = len(self._told) if given[: len(self._told)] == self._told else 0
        self._told = given
        for role, said, results in given[same:]:
            for call_id, output in results:
                self._result(call_id, output)
            if said and role not in ("assistant", "model", "tool"):
                self.turns.say(role, said)
        self._step(span)

    def _step(self, span: Span) -> None:
        told = span.attributes
        step = self.turns.step()
        self._open = {}
        step.timestamp = span.start
        step.prompt_tokens = count(_any(told, "gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens",
                                        "llm.token_count.prompt"))  # fmt: skip
        step.completion_tokens = count(_any(told, "gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens",
                                            "llm.token_count.completion"))  # fmt: skip
        self.cached.append(count(_any(told, "gen_ai.usage.cache_read.input_tokens",
                                      "llm.token_count.prompt_details.cache_read")))  # fmt: skip
        step.cost = number(told.get("llm.cost.total"))
        reasons = told.get("gen_ai.response.finish_reasons")
        step.finish_reason = word(items(reasons)[0]) if items(reasons) else word(reasons)
        for message in _messages(told, "output"):
            self._message(step, message)
        model = _any(told, "gen_ai.response.model", "gen_ai.request.model", "llm.model_name")
        self.trajectory.model = first(self.trajectory.model, word(model))

    def _message(self, step: Step, message: dict[str, Any]) -> None:
        parts = mappings(message.get("parts"))
        step.text = joined([step.text, content_text(_parts_of(parts)), content_text(message.get("content"))]) or ""
        thoughts = (content_text(part.get("content")) for part in parts if part.get("type") == "reasoning")
        step.reasoning = joined([step.reasoning, *thoughts])
        step.finish_reason = first(step.finish_reason, word(message.get("finish_reason")))
        for part in parts:
            if part.get("type") == "tool_call":
                self._call(step, tool_call(part.get("name"), part.get("arguments"), part.get("id")))
        calls = message.get("tool_calls")
        for call in mappings(calls) if isinstance(calls, list) else ordered(calls):
            made = mapping(first(call.get("tool_call"), call))
            function = mapping(made.get("function"))
            name, arguments = (first(function.get(key), made.get(key)) for key in ("name", "arguments"))
            self._call(step, tool_call(name, arguments, made.get("id")))

    def _call(self, step: Step, call: ToolCall) -> None:
        self.turns.call(step, call)
        self._open.setdefault(call.tool, deque()).append(call)

    def _result(self, call_id: Any, output: str) -> None:
        """A result in the next prompt repeats that of the tool's own span, unless the span does not hold it."""
        call = self.turns.find(call_id)
        if call is None or call.output is None:
            self.turns.answer(call_id, output)

    def _tool(self, span: Span) -> None:
        told = span.attributes
        name = word(_any(told, "gen_ai.tool.name", "tool.name", "traceloop.entity.name", "agentops.entity.name"))
        call_id = word(_any(told, "gen_ai.tool.call.id", "tool_call.id"))
        arguments = _any(told, "gen_ai.tool.call.arguments", "tool.parameters", "input.value", "traceloop.entity.input",
                         "agentops.entity.input")  # fmt: skip
        call = self.turns.find(call_id) or self._waiting(name)
        if call is None:
            step = self.turns.steps[-1] if self.turns.steps else self.turns.step()
            call = self.turns.call(step, tool_call(name, arguments, call_id))
        result = _any(told, "gen_ai.tool.call.result", "output.value", "tool.result", "traceloop.entity.output",
                      "agentops.entity.output")  # fmt: skip
        call.executed = True
        call.output = result if result is None or isinstance(result, str) else dumped(result)
        call.is_error = True if span.failed or told.get("error.type") is not None else None
        call.seconds = between(span.start, span.end)
        self.turns.settle(call)

    def _waiting(self, name: str | None) -> ToolCall | None:
        """The first call of the last turn that nothing answered yet, by its name."""
        waiting = self._open.get(name)
        while waiting:
            if (call := waiting.popleft()).executed is None:
                return call
        return None


def _any(told: dict[str, Any], *names: str) -> Any:
    return first(*(told.get(name) for name in names))


def _decoded(value: Any) -> Any:
    """Structured attributes are JSON text where the container holds no objects."""
    return first(json_text(value), value)


def _messages(told: dict[str, Any], side: str) -> list[dict[str, Any]]:
    """Messages of the model's input or output, in whichever spelling."""
    older = {"input": "gen_ai.prompt", "output": "gen_ai.completion"}[side]
    for name in (f"gen_ai.{side}.messages", older):
        if messages := mappings(_decoded(told.get(name))):
            return messages
    flat = unflattened(told, f"llm.{side}_messages")
    return [mapping(message.get("message")) for message in flat] or unflattened(told, older)


def _parts_of(value: Any) -> list[Any]:
    return [part.get("content") for part in mappings(value) if part.get("type") in (None, "text")]


def _said(message: dict[str, Any]) -> Said:
    role = word(message.get("role")) or "unknown"
    parts = mappings(message.get("parts"))
    said = joined([content_text(_parts_of(parts)), content_text(message.get("content"))]) or ""
    results = [(part.get("id"), content_text(first(part.get("response"), part.get("result"))))
               for part in parts if part.get("type") == "tool_call_response"]  # fmt: skip
    if role == "tool" and not parts:
        results.append((message.get("tool_call_id"), said))
    return role, said, results
