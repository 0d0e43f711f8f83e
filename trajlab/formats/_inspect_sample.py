"""One sample of an Inspect log to a trajectory."""

from __future__ import annotations

import re
from typing import Any

from trajlab.behavior.termination import classify_inspect
from trajlab.formats._inspect_events import Events
from trajlab.formats._turns import Turns, tool_call
from trajlab.formats._values import (
    between,
    content_text,
    count,
    first,
    flag,
    items,
    joined,
    mapping,
    mappings,
    moment,
    number,
    reconcile,
    text,
    total,
    word,
)
from trajlab.records import RewardPart, RunSetting, Step, ToolCall, Trajectory

_ATTACHMENT = re.compile(r"attachment://([0-9a-f]{1,64})")
_VALUES = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
_VERDICTS = {"C": True, "I": False, "N": False}
_EXCEPTION = re.compile(r"([A-Za-z_]\w{0,80})\(")
_NOT_RUN = {"parsing": "refused", "approval": "refused"}


class Log:
    """What a log says of all its samples."""

    def __init__(self, header: dict[str, Any], settings: list[RunSetting]) -> None:
        spec = mapping(header.get("eval"))
        self.status = text(header.get("status"))
        self.run = word(spec.get("run_id"))
        self.task = word(spec.get("task"))
        self.model = word(spec.get("model"))
        steps = mappings(mapping(header.get("plan")).get("steps"))
        names = [word(step.get("solver")) for step in steps]
        self.agent = first(word(spec.get("solver")), next((name for name in reversed(names) if name), None))
        self.version = word(mapping(spec.get("packages")).get("inspect_ai"))
        self.turns = count(mapping(spec.get("config")).get("turn_limit"))
        self.headline = word(mapping(mapping(header.get("results")).get("headline")).get("score"))
        self.settings = settings


def trajectory_of(sample: dict[str, Any], log: Log, variant: str, ordinal: str) -> Trajectory:
    """The trajectory of a sample whose chunks, if any, are put together."""
    identity, epoch = word(sample.get("id")), count(sample.get("epoch"))
    failed, limit = mapping(sample.get("error")), mapping(sample.get("limit"))
    trajectory = Trajectory(
        variant,
        ordinal,
        native_id=first(word(sample.get("uuid")), f"{identity}_epoch_{epoch}"),
        run=log.run,
        task_id=f"{log.task}/{identity}" if log.task and identity else identity,
        attempt=epoch,
        agent=log.agent,
        agent_version=log.version,
        model=log.model,
        steps_allowed=log.turns,
        logged_steps=count(sample.get("turn_count")),
        started_at=moment(sample.get("started_at")),
        seconds=first(
            number(sample.get("total_time")),
            between(moment(sample.get("started_at")), moment(sample.get("completed_at"))),
        ),
        settings=log.settings,
    )
    _score(trajectory, sample, log.headline)
    error = None
    if failed:
        named = _EXCEPTION.match(text(failed.get("message")) or "")
        error = named[1] if named else "error"
    kind = word(limit.get("type"))
    trajectory.stop_reason = first(error, kind)
    trajectory.termination = classify_inspect(
        error=bool(failed), limit=kind, status=log.status, scored=bool(mapping(sample.get("scores")))
    )
    events = Events(mappings(sample.get("events")))
    _Reader(trajectory, events, sample.get("attachments")).fill(mappings(sample.get("messages")))
    trajectory.tools_offered = events.tools
    _tokens(trajectory, mapping(sample.get("model_usage")), events)
    return trajectory


def _score(trajectory: Trajectory, sample: dict[str, Any], headline: str | None) -> None:
    """The headline score, else the first; all of them are parts of the reward."""
    scores = mapping(sample.get("scores"))
    for name, score in scores.items():
        trajectory.rewards.append(RewardPart(str(name), _value(mapping(score).get("value"))))
    chosen = headline if headline in scores else next(iter(scores), None)
    if chosen is not None:
        score = mapping(scores[chosen])
        value = score.get("value")
        trajectory.reward = _value(value)
        trajectory.correct = first(_VERDICTS.get(value) if isinstance(value, str) else None, flag(value))
        if trajectory.correct is None and trajectory.reward in (0.0, 1.0):
            trajectory.correct = trajectory.reward == 1.0
        trajectory.outcome = trajectory.correct
        trajectory.submission = text(score.get("answer"))
    if scores or sample.get("error"):
        trajectory.gradable = bool(scores)


def _value(value: Any) -> float | None:
    if isinstance(value, bool):
        return float(value)
    return _VALUES.get(value, number(value)) if isinstance(value, str) else number(value)


def prompt_tokens(usage: dict[str, Any]) -> int | None:
    """Prompt tokens, cached ones included: providers differ in whether ``input_tokens`` counts those."""
    everything, output = count(usage.get("total_tokens")), count(usage.get("output_tokens"))
    given = count(usage.get("input_tokens"))
    if everything is not None and output is not None and everything - output >= (given or 0):
        return everything - output
    return given


def _tokens(trajectory: Trajectory, usage: dict[str, Any], events: Events) -> None:
    """Totals of the model under evaluation; of all models where it is not among them."""
    chosen = [mapping(usage[trajectory.model])] if trajectory.model in usage else [mapping(u) for u in usage.values()]
    trajectory.prompt_tokens = total(map(prompt_tokens, chosen))
    trajectory.completion_tokens = total(count(u.get("output_tokens")) for u in chosen)
    trajectory.cached_tokens = total(count(u.get("input_tokens_cache_read")) for u in chosen)
    trajectory.reasoning_tokens = total(count(u.get("reasoning_tokens")) for u in chosen)
    trajectory.cost = total(number(u.get("total_cost")) for u in chosen)
    counted = events.usage_of(trajectory.model)
    if counted:
        reconcile(trajectory, "prompt tokens", trajectory.prompt_tokens, total(map(prompt_tokens, counted)))
        output = total(count(u.get("output_tokens")) for u in counted)
        reconcile(trajectory, "completion tokens", trajectory.completion_tokens, output)


class _Reader:
    def __init__(self, trajectory: Trajectory, events: Events, attachments: Any) -> None:
        self.turns = Turns(trajectory)
        self.events = events
        self.attachments = attachments

    def fill(self, messages: list[dict[str, Any]]) -> None:
        agents = [message for message in messages if message.get("role") == "assistant"]
        self.events.match(agents)
        for message in messages:
            role = text(message.get("role"))
            if role == "assistant":
                self._agent(message)
            elif role == "tool":
                self._result(message)
            else:
                self.turns.say(role or "user", self.said(message.get("content")))
        self.turns.close()

    def said(self, content: Any) -> str:
        """Text of a content value; attachments in place of their references."""
        if isinstance(content, list):
            kept = [p for p in content if not (isinstance(p, dict) and p.get("type") == "reasoning")]
            return "\n".join(filter(None, map(self.said, kept)))
        said = content_text(content)
        return _ATTACHMENT.sub(self._attached, said) if "attachment://" in said else said

    def _attached(self, match: re.Match[str]) -> str:
        key = match[1]
        if isinstance(self.attachments, dict):
            return text(self.attachments.get(key)) or match[0]
        held = items(self.attachments)
        index = int(key) if key.isdecimal() and len(key) < 9 else -1
        return (text(held[index]) or match[0]) if 0 <= index < len(held) else match[0]

    def _agent(self, message: dict[str, Any]) -> None:
        step = self.turns.step()
        content = message.get("content")
        step.text = self.said(content)
        step.reasoning = joined(first(text(part.get("reasoning")) or None, text(part.get("summary")))
                                for part in mappings(content) if part.get("type") == "reasoning")  # fmt: skip
        generated = self.events.generated(message)
        if generated is not None:
            self._usage(step, generated)
        known = mappings(message.get("tool_calls"))
        for native in known:
            self._call(step, native)
        # react() takes the call of submit out of the message; the model's own answer still has it.
        made = mappings(mapping(self.events.answer(generated)).get("tool_calls"))
        there = {native.get("id") for native in known if isinstance(native.get("id"), str)}
        for native in made:
            if isinstance(native.get("id"), str) and native["id"] not in there:
                call = self._call(step, native)
                event = self.events.tool(native["id"])
                if event is not None:
                    self._settle(call, self.said(event.get("result")), mapping(event.get("error")))

    def _usage(self, step: Step, generated: dict[str, Any]) -> None:
        output = mapping(generated.get("output"))
        usage = mapping(output.get("usage"))
        step.prompt_tokens, step.completion_tokens = prompt_tokens(usage), count(usage.get("output_tokens"))
        step.cost = number(usage.get("total_cost"))
        step.timestamp = moment(generated.get("timestamp"))
        step.finish_reason = word(next(iter(mappings(output.get("choices"))), {}).get("stop_reason"))

    def _call(self, step: Step, native: dict[str, Any]) -> ToolCall:
        function = native.get("function")
        name = mapping(function).get("name") if isinstance(function, dict) else function
        call = tool_call(name, native.get("arguments"), native.get("id"))
        if native.get("parse_error"):
            call.invalid = "unparsable"
        return self.turns.call(step, call)

    def _result(self, message: dict[str, Any]) -> None:
        call = self.turns.find(message.get("tool_call_id"))
        output = self.said(message.get("content"))
        if call is None:
            self.turns.say("tool", output)
        else:
            self._settle(call, output, mapping(message.get("error")))

    def _settle(self, call: ToolCall, output: str, error: dict[str, Any]) -> None:
        kind, said = word(error.get("type")), text(error.get("message")) or ""
        event = self.events.tool(call.call_id)
        if event is not None:
            call.seconds = number(event.get("working_time"))
            call.exit_code = self.events.exit_code(event)
        if kind in _NOT_RUN:
            reason = "unknown_tool" if said.startswith("Tool ") and "not found" in said[:300] else _NOT_RUN[kind]
            self.turns.refuse(call.call_id, reason, joined([output, said]) or "")
            call.exit_code = call.seconds = None
            return
        call.output, call.executed = joined([output, said]) or "", True
        call.is_error = bool(kind)
        self.turns.settle(call)
