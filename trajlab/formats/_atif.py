"""Documents of ATIF (Agent Trajectory Interchange Format) to trajectories: segments stitched, subagents apart."""

from __future__ import annotations

from collections import deque
from typing import Any

from trajlab.formats._atif_extra import NOBODY, ours, restore_step, restore_trajectory
from trajlab.formats._mini_swe_agent_document import FENCE, RETURN_CODE, output_of
from trajlab.formats._turns import Turns, exit_code_in, span, sum_tokens, task_of_prompt, tool_call
from trajlab.formats._values import (
    content_text,
    count,
    first,
    mapping,
    mappings,
    moment,
    number,
    reconcile,
    settings,
    text,
    total,
    word,
)
from trajlab.records import Step, ToolCall, Trajectory

_NOT_KNOWN = frozenset({"unknown", ""})
_ROLES = {"user": "user", "system": "system"}


def trajectories(segments: list[dict[str, Any]], variant: str) -> list[Trajectory]:
    """The trajectory that the segments make up, in order, and those of the subagents embedded in them."""
    made = [_trajectory(segments, variant)]
    pending = deque((sub, made[0]) for segment in segments for sub in mappings(segment.get("subagent_trajectories")))
    while pending:
        document, parent = pending.popleft()
        made.append(subagent(document, variant, parent.native_id))
        pending.extend((sub, made[-1]) for sub in mappings(document.get("subagent_trajectories")))
    return made


def subagent(document: dict[str, Any], variant: str, parent: str | None = None) -> Trajectory:
    """A subagent's own trajectory: no attempt at the task, so no verdict is about it."""
    made = _trajectory([document], variant)
    made.gradable, made.parent_native_id = False, first(made.parent_native_id, parent)
    return made


def _trajectory(segments: list[dict[str, Any]], variant: str) -> Trajectory:
    head, last = segments[0], segments[-1]
    agent = mapping(head.get("agent"))
    trajectory = Trajectory(
        variant,
        "0",
        native_id=first(word(head.get("trajectory_id")), word(head.get("session_id"))),
        agent=_known(agent.get("name")),
        agent_version=_known(agent.get("version")),
        model=_known(agent.get("model_name")),
        settings=list(settings(mapping(agent.get("extra")))),
    )
    names = [word(first(tool.get("name"), mapping(tool.get("function")).get("name")))
             for tool in mappings(agent.get("tool_definitions"))]  # fmt: skip
    if names:
        trajectory.tools_offered = [name for name in names if name]
    records = [step for segment in segments for step in mappings(segment.get("steps"))]
    converted_here = bool(ours(head))
    reader = _Reader(trajectory, as_shown=not converted_here)
    for record in records:
        reader.take(record)
    reader.turns.close()
    for record, made in reader.read:
        restore_step(record, made)
    converted = (text(head.get("notes")) or "").startswith("Converted from")
    if converted:  # the times are those of the conversion
        for step in trajectory.steps:
            step.timestamp = None
    elif not converted_here:  # start and duration stand in what is ours, or the log did not record them
        span(trajectory, reader.times)
    # Totals that were converted were held against the turns where the log was read.
    alone = len(segments) == 1 and not converted_here
    _totals(trajectory, mapping(last.get("final_metrics")), reader, alone=alone)
    if len(segments) == 1:
        stated = count(mapping(head.get("final_metrics")).get("total_steps"))
        reconcile(trajectory, "steps of all sources", stated, len(records))
    restore_trajectory(head, trajectory)
    task_of_prompt(trajectory)
    return trajectory


def _known(value: Any) -> str | None:
    name = word(value)
    return None if name is None or name.lower() in _NOT_KNOWN else name


def _totals(trajectory: Trajectory, stated: dict[str, Any], reader: _Reader, *, alone: bool) -> None:
    """Stated totals, which in a continuation are those of the whole; zeros of writers that count nothing are null."""
    prompt, completion = count(stated.get("total_prompt_tokens")), count(stated.get("total_completion_tokens"))
    if alone and not reader.delegated:
        counted = [(step.prompt_tokens, step.completion_tokens) for step in trajectory.steps]
        if all(tokens[0] is not None for tokens in counted):
            reconcile(trajectory, "prompt tokens", prompt, total(tokens[0] for tokens in counted))
        if all(tokens[1] is not None for tokens in counted):
            reconcile(trajectory, "completion tokens", completion, total(tokens[1] for tokens in counted))
    if prompt or completion or not reader.as_shown:
        trajectory.prompt_tokens, trajectory.completion_tokens = prompt, completion
        trajectory.cached_tokens = count(stated.get("total_cached_tokens"))
    sum_tokens(trajectory)
    if trajectory.cached_tokens is None:
        trajectory.cached_tokens = total(reader.cached)
    cost = number(stated.get("total_cost_usd"))
    trajectory.cost = first(cost, total(step.cost for step in trajectory.steps))
    trajectory.reasoning_tokens = count(mapping(stated.get("extra")).get("total_reasoning_tokens"))


class _Reader:
    def __init__(self, trajectory: Trajectory, *, as_shown: bool) -> None:
        self.as_shown = as_shown  # results are as the agent was shown them: exit codes stand in their text
        self.trajectory = trajectory
        self.turns = Turns(trajectory)
        self.times: list[float | None] = []
        self.cached: list[int | None] = []
        self.delegated = False
        self.read: list[tuple[dict[str, Any], Step]] = []

    def take(self, record: dict[str, Any]) -> None:
        if record.get("is_copied_context") is True:
            return  # already counted in the segment before
        self.times.append(moment(record.get("timestamp")))
        source = text(record.get("source")) or "user"
        results = mappings(mapping(record.get("observation")).get("results"))
        self.delegated = self.delegated or any(result.get("subagent_trajectory_ref") for result in results)
        if source != "agent":
            role = text(ours(record).get("role")) or _ROLES.get(source, source)
            if role == NOBODY:
                return
            if role != "tool" or record.get("message"):
                self.turns.say(role, content_text(record.get("message")))
            for result in results:
                if result.get("content"):
                    self.turns.say("tool", content_text(result["content"]))
            return
        step = self._step(record)
        self.read.append((record, step))
        for call in mappings(record.get("tool_calls")):
            made = tool_call(call.get("function_name"), call.get("arguments"), call.get("tool_call_id"))
            if made.tool == "swe_agent_action" and isinstance(made.arguments, dict):
                made.command = (text(made.arguments.get("raw_action")) or "").strip("\n")
            self.turns.call(step, made)
        if self.as_shown and not step.calls and self.trajectory.agent == "mini-swe-agent":
            fenced = FENCE.findall(step.text)
            if len(fenced) == 1:
                self.turns.call(step, ToolCall("bash", command=fenced[0].strip()))
        self._results(step, results)

    def _step(self, record: dict[str, Any]) -> Step:
        step = self.turns.step()
        step.text = content_text(record.get("message"))
        reasoning = text(record.get("reasoning_content"))
        # Converters of scaffolds without reasoning repeat the message there.
        repeated = self.as_shown and reasoning is not None and step.text.strip().startswith(reasoning.strip())
        step.reasoning = None if repeated else reasoning
        metrics = mapping(record.get("metrics"))
        step.prompt_tokens = count(metrics.get("prompt_tokens"))
        step.completion_tokens = count(metrics.get("completion_tokens"))
        step.cost = number(metrics.get("cost_usd"))
        step.timestamp = moment(record.get("timestamp"))
        self.cached.append(count(metrics.get("cached_tokens")))
        if self.trajectory.model is None:
            self.trajectory.model = _known(record.get("model_name"))
        return step

    def _results(self, step: Step, results: list[dict[str, Any]]) -> None:
        """By id; results without one in order, or, where there is one for several calls, at the last of them."""
        unnamed = [result for result in results if result.get("source_call_id") is None]
        for result in results:
            if result.get("source_call_id") is not None:
                self._result(self.turns.find(result["source_call_id"]), content_text(result.get("content")))
        waiting = [call for call in step.calls if call.executed is None]
        if len(unnamed) < len(waiting):
            for call in waiting[: len(waiting) - len(unnamed)] if unnamed else ():
                call.executed = True
                self.turns.settle(call)
            waiting = waiting[len(waiting) - len(unnamed) :]
        for at, result in enumerate(unnamed):
            self._result(waiting[at] if at < len(waiting) else None, content_text(result.get("content")))

    def _result(self, call: ToolCall | None, output: str) -> None:
        if call is None:
            if output:
                self.turns.say("tool", output)
            return
        call.output, call.executed = output, True
        self.turns.settle(call)
        if not self.as_shown:
            return
        found = RETURN_CODE.match(output)
        if found:
            call.exit_code, call.output = int(found[1]), output_of(output[found.end() :])
        else:
            call.exit_code = exit_code_in(output)
