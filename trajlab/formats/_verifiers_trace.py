"""One trace of verifiers: a graph of messages, the calls that sampled some of them, rewards and the end."""

from __future__ import annotations

from typing import Any

import msgspec

from trajlab.formats._chat_messages import ChatMessage
from trajlab.formats._trainer_rows import Fields, Row, reward_parts, run_settings
from trajlab.formats._trainer_turns import RESTATED, chat_messages, fill_from_messages, tool_names
from trajlab.formats._verifiers_tokens import add_node_tokens
from trajlab.records import Problem, RewardPart, Step, Trajectory
from trajlab.sources.safe_json import clean_text, to_bool, to_float

_TRUNCATED = frozenset({"max_turns", "max_input_tokens", "max_output_tokens", "max_total_tokens", "compaction_failed"})
_ERRORS = {"sandbox_error": "environment_error", "task_error": "environment_error"}
"""Boundaries of the environment; any other ``…_error`` is the infrastructure's."""
_VERDICTS = ("acc", "is_correct", "correct", "resolved")


def verdict(values: dict[str, Any]) -> bool | None:
    """A recorded verdict among metrics, by its name."""
    name = next((name for name in _VERDICTS if values.get(name) is not None), None)
    return None if name is None else to_bool(values[name])


def read_trace(trace: Fields, row: Row, ordinal: str, variant: str) -> Trajectory:
    """What one trace holds; fields of the wrong type become problems of the trajectory."""
    problems: list[Problem] = []
    trace = Fields(trace.value, row, problems)
    agent = trace.inner("agent")
    config = agent.inner("config")
    name, harness = agent.text("name"), config.inner("harness").text("id")
    trajectory = Trajectory(variant, ordinal, native_id=trace.text("id"), line=row.line)
    task = trace.inner("task")
    trajectory.task_id = task.word("key") or task.word("hash")
    trajectory.agent = harness if name in (None, "agent") and harness else name
    trajectory.agent_version = trace.inner("verifiers").text("version")
    trajectory.model = config.text("model")
    trajectory.steps_allowed = config.whole("max_turns")
    trajectory.settings = run_settings(config.value)
    sampled = _add_turns(trajectory, trace, row, problems)
    _add_calls(trajectory, trace, sampled, row)
    _add_rewards(trajectory, trace)
    _add_end(trajectory, trace)
    add_node_tokens(trajectory, trace.objects("nodes"), row, trained=agent.truth("trainable") is not False)
    timing = trace.inner("timing")
    trajectory.started_at = timing.number("start")
    span = timing.inner("agent")
    start, end = span.number("start"), span.number("end")
    trajectory.seconds = end - start if start and end else None
    trajectory.problems += problems
    return trajectory


def _add_turns(trajectory: Trajectory, trace: Fields, row: Row, problems: list[Problem]) -> list[int]:
    """Every sampled message is a step, in the order of the graph; returns their nodes.

    A message that stands in two branches is one node. Assistant messages that no call sampled, and results
    given once more to another branch, are words before a turn, not turns.
    """
    nodes = trace.objects("nodes")
    found = chat_messages([node.value.get("message") or {} for node in nodes], row, problems)
    if len(found) != len(nodes):  # a message that is no object was told and left out
        nodes = [node for node in nodes if isinstance(node.value.get("message") or {}, dict)]
    sampled = [number for number, node in enumerate(nodes) if node.truth("sampled")]
    is_sampled = set(sampled)
    answered: set[str] = set()
    messages: list[ChatMessage] = []
    for number, message in enumerate(found):
        call_id = message.tool_call_id
        again = message.role == "tool" and call_id is not None and call_id in answered
        if again or (message.role == "assistant" and number not in is_sampled):
            message = msgspec.structs.replace(message, role=f"{RESTATED}{message.role}", tool_calls=None)
        elif message.role != "assistant" and number in is_sampled:
            message = msgspec.structs.replace(message, role="assistant")
        elif message.role == "tool" and call_id is not None:
            answered.add(call_id)
        messages.append(message)
    fill_from_messages(trajectory, [], messages, told=False, cut=False)
    root = next((node for node in nodes if node.items("tools")), None)
    offered = trace.items("tools") or (root.items("tools") if root is not None else [])
    trajectory.tools_offered = tool_names(offered) if offered or "tools" in trace else None
    for step, number in zip(trajectory.steps, sampled, strict=False):
        step.timestamp = nodes[number].number("timestamp")
        mask = nodes[number].value.get("mask")
        if isinstance(mask, list) and mask:
            step.completion_tokens = sum(1 for trained in mask if trained is True)
    return sampled


def _add_calls(trajectory: Trajectory, trace: Fields, sampled: list[int], row: Row) -> None:
    """Why each turn ended and what it cost, and the sums; a call that failed is no turn."""
    steps = dict(zip(sampled, trajectory.steps, strict=False))
    calls = trace.objects("calls")
    for call in calls:
        trajectory.model = call.text("model") or trajectory.model
        node = call.whole("node")
        step = steps.get(node) if node is not None else None
        if step is not None:
            _add_call(step, call)
    usages = [call.inner("usage") for call in calls if "usage" in call]
    if usages:
        cached = [count for usage in usages if (count := usage.whole("cached_input_tokens")) is not None]
        reasoning = [count for usage in usages if (count := usage.whole("reasoning_tokens")) is not None]
        costs = [cost for usage in usages if (cost := usage.number("cost")) is not None]
        trajectory.prompt_tokens = sum(usage.whole("prompt_tokens") or 0 for usage in usages) + sum(cached)
        trajectory.completion_tokens = sum(usage.whole("completion_tokens") or 0 for usage in usages)
        trajectory.cached_tokens = sum(cached) if cached else None
        trajectory.reasoning_tokens = sum(reasoning) if reasoning else None
        trajectory.cost = sum(costs) if costs else None
        _reconcile(trajectory, trace, row)
    else:
        counted = [step.completion_tokens for step in trajectory.steps if step.completion_tokens is not None]
        trajectory.completion_tokens = sum(counted) if counted else None


def _add_call(step: Step, call: Fields) -> None:
    step.finish_reason = call.text("finish_reason")
    if "usage" in call:
        usage = call.inner("usage")
        prompt = usage.whole("prompt_tokens")
        step.prompt_tokens = None if prompt is None else prompt + (usage.whole("cached_input_tokens") or 0)
        step.completion_tokens = usage.whole("completion_tokens")
        step.cost = usage.number("cost")


def _reconcile(trajectory: Trajectory, trace: Fields, row: Row) -> None:
    """The trace states its tokens; new input and what was generated must be all."""
    total, entered = trace.whole("num_total_tokens"), trace.whole("num_input_tokens")
    if total is None or entered is None or total - entered == trajectory.completion_tokens:
        return
    message = f"the trace states {total - entered} generated tokens, its calls sum to {trajectory.completion_tokens}"
    trajectory.problems.append(row.problem("not_reconciled", message, trajectory.native_id))


def _add_rewards(trajectory: Trajectory, trace: Fields) -> None:
    """Reward: the weighted sum of what was scored; metrics stand beside it with weight 0."""
    rewards, values = trace.inner("rewards"), []
    for name, part in rewards.value.items():
        if part is None:
            continue
        fields = rewards.inner(name)
        score, weight = fields.number("score"), fields.number("weight")
        trajectory.rewards.append(RewardPart(clean_text(name), score, weight))
        if score is not None:
            values.append(score * (1.0 if weight is None else weight))
    trajectory.reward = sum(values) if values else None
    metrics = trace.inner("metrics").value
    for part in reward_parts(metrics):
        part.weight = 0.0
        trajectory.rewards.append(part)
    trajectory.correct = verdict(metrics)
    if trajectory.correct is None:
        scores = {name: part.get("score") for name, part in rewards.value.items() if isinstance(part, dict)}
        trajectory.correct = verdict({name: to_float(score) for name, score in scores.items()})


def _add_end(trajectory: Trajectory, trace: Fields) -> None:
    stop = trace.text("stop_condition")
    errors = trace.objects("errors")
    trajectory.stop_reason = stop
    last = next((call for call in reversed(trace.objects("calls")) if "error" not in call), None)
    if stop is not None and (stop in _ERRORS or stop == "error" or stop.endswith("_error")):
        trajectory.termination = _ERRORS.get(stop, "infrastructure_error")
    elif trace.truth("is_timeout") or (stop is not None and stop.endswith("_timeout")):
        trajectory.termination = "timeout"
    elif stop in _TRUNCATED or (last is not None and last.text("finish_reason") == "length"):
        trajectory.termination = "truncated_budget"
    elif stop is not None:
        trajectory.termination = "ended"
    elif errors:
        trajectory.termination = "infrastructure_error"
        trajectory.stop_reason = errors[-1].text("type")
    elif trace.truth("is_completed") is False:
        trajectory.termination = "incomplete"
