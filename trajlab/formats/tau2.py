"""tau2-bench: simulations in one document with their results, or in files of their own beside ``results.json``.

Source: tau2-bench at a2c02472, ``data_model/simulation.py``, ``data_model/message.py``. The simulated user calls tools,
too: such calls stand in the turn of the agent they follow, with ``requestor`` ``user``, and are not the agent's. Of
simulations in ticks (voice) the text and calls of the chunks are read, where there are any.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from trajlab.behavior.termination import TAU2
from trajlab.formats import Variant
from trajlab.formats._turns import Turns, sum_tokens, tool_call
from trajlab.formats._values import (
    Records,
    content_text,
    count,
    flag,
    items,
    mapping,
    mappings,
    moment,
    number,
    objects_of,
    reconcile,
    settings,
    text,
    total,
    whole,
    word,
)
from trajlab.records import Problem, RewardPart, Step, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

_CARRIES = frozenset(
    {
        "native_id", "task_id", "attempt", "agent", "model", "reward", "logged_correct", "logged_outcome",
        "logged_termination", "stop_reason", "gradable", "prompt_tokens", "completion_tokens", "seconds", "started_at",
        "cost",
    }
)  # fmt: skip

VARIANTS = {
    "document": Variant("one document: `info`, `tasks`, `simulations`", _CARRIES),
    "folder": Variant("`results.json` and `simulations/<id>.json`", _CARRIES),
}


def group(relpath: str, variant: str) -> str | None:
    """The results' file; simulations of their own stand in a folder beside it."""
    path = PurePosixPath(relpath)
    if variant != "folder":
        return None
    return str(path.parent.parent / "results.json") if path.parent.name == "simulations" else relpath


def recognise(probe: Probe) -> str | None:
    """``info``, ``tasks`` and ``simulations`` (or an index of them); a simulation has a reason for its end."""
    if probe.shape != "object":
        return None
    keys = probe.keys
    if {"termination_reason", "task_id"} <= keys and {"messages", "ticks"} & keys and "info" not in keys:
        return "folder" if probe.parent_name == "simulations" or "duration" in keys else None
    if not {"info", "tasks"} <= keys:
        return None
    if "simulations" in keys:
        return "document"
    info = mapping(mapping(probe.records[0]).get("info")) if probe.records else {}
    return "folder" if "simulation_index" in keys or {"agent_info", "user_info"} <= set(info) else None


def read(bundle: Bundle) -> Records:
    """One trajectory a simulation."""
    problems: list[Problem] = []
    info: dict[str, Any] = {}
    found: list[tuple[str, Any]] = []
    for name, value in objects_of(bundle, problems):
        if "info" in value:
            info = mapping(value.get("info"))
            found += [(f"simulation {n}", simulation) for n, simulation in enumerate(items(value.get("simulations")))]
        else:
            found.append((name, value))
    yield from problems
    for number_of, (name, simulation) in enumerate(found):
        yield from _one(simulation, info, bundle, number_of, name)
    if not found and not problems:
        yield Problem("no_samples", "no simulation; expected a list `simulations` or a folder of that name")


def _one(simulation: Any, info: dict[str, Any], bundle: Bundle, ordinal: int, name: str) -> Records:
    if not isinstance(simulation, dict):
        yield Problem("unreadable_record", f"{name}: found {type(simulation).__name__}, expected a simulation")
        return
    try:
        yield _trajectory(simulation, info, bundle, ordinal)
    except RecursionError:
        yield Problem("unreadable_record", f"{name}: a value is nested too deeply to be read")


def _trajectory(simulation: dict[str, Any], info: dict[str, Any], bundle: Bundle, ordinal: int) -> Trajectory:
    agent, result = mapping(info.get("agent_info")), mapping(simulation.get("reward_info"))
    reason, reward = word(simulation.get("termination_reason")), number(result.get("reward"))
    solved = None if reward is None else abs(reward - 1.0) < 1e-6
    trajectory = Trajectory(
        bundle.variant,
        str(ordinal),
        native_id=word(simulation.get("id")),
        task_id=word(simulation.get("task_id")),
        attempt=whole(simulation.get("trial")),
        agent=word(agent.get("implementation")),
        model=word(agent.get("llm")),
        reward=reward,
        correct=solved,
        outcome=solved,
        stop_reason=reason,
        termination=TAU2.get(reason, "unknown") if reason is not None else None,
        gradable=reward is not None,
        started_at=moment(simulation.get("start_time")),
        seconds=number(simulation.get("duration")),
        cost=number(simulation.get("agent_cost")),
        settings=list(settings(info)),
    )
    parts = mapping(result.get("reward_breakdown"))
    trajectory.rewards += [RewardPart(str(name), number(value)) for name, value in parts.items()]
    reader = _Reader(trajectory)
    for message in mappings(simulation.get("messages")):
        reader.take(message)
    for tick in mappings(simulation.get("ticks")):
        reader.tick(tick)
    reader.turns.close()
    if simulation.get("messages"):
        reconcile(trajectory, "USD of the agent", trajectory.cost, total(step.cost for step in trajectory.steps))
    sum_tokens(trajectory)
    return trajectory


class _Reader:
    def __init__(self, trajectory: Trajectory) -> None:
        self.turns = Turns(trajectory)
        self._speaking: Step | None = None

    def take(self, message: dict[str, Any]) -> None:
        """A message of the text mode."""
        role, said = text(message.get("role")) or "user", content_text(message.get("content"))
        if role == "assistant":
            step = self.turns.step()
            step.text, step.timestamp = said, moment(message.get("timestamp"))
            usage = mapping(message.get("usage"))
            step.prompt_tokens = count(usage.get("prompt_tokens"))
            step.completion_tokens = count(usage.get("completion_tokens"))
            step.cost = number(message.get("cost"))
            self._calls(step, mappings(message.get("tool_calls")), "assistant")
        elif role == "tool":
            for result in mappings(message.get("tool_messages")) or [message]:
                self._result(result)
        else:
            if said:
                self.turns.say(role, said)
            if self.turns.steps:
                self._calls(self.turns.steps[-1], mappings(message.get("tool_calls")), role)

    def tick(self, tick: dict[str, Any]) -> None:
        """A moment of the voice mode; chunks of the agent's speech that follow each other are one turn."""
        heard = content_text(mapping(tick.get("user_chunk")).get("content"))
        if heard:
            self._speaking = None
            self.turns.say("user", heard)
        chunk = mapping(tick.get("agent_chunk"))
        said = content_text(chunk.get("content"))
        calls = mappings(chunk.get("tool_calls")) + mappings(tick.get("agent_tool_calls"))
        if said or calls:
            if self._speaking is None:
                self._speaking = self.turns.step()
                self._speaking.timestamp = moment(tick.get("timestamp"))
            self._speaking.text += said
            self._calls(self._speaking, calls, "assistant")
        for result in mappings(tick.get("agent_tool_results")):
            self._speaking = None
            self._result(result)

    def _calls(self, step: Step, calls: list[dict[str, Any]], role: str) -> None:
        for native in calls:
            call = self.turns.call(step, tool_call(native.get("name"), native.get("arguments"), native.get("id")))
            by = text(native.get("requestor")) or role
            call.requestor = "agent" if by == "assistant" else by

    def _result(self, result: dict[str, Any]) -> None:
        said = content_text(result.get("content"))
        call = self.turns.find(result.get("id"))
        if call is not None and call.requestor != "agent":
            # What the simulated user saw of its own call is no result of the agent's: a message of a tool.
            self.turns.settle(call)
            call.executed = True
            self.turns.say("tool", said)
        else:
            call = self.turns.answer(result.get("id"), said)
        if call is not None:
            call.is_error = flag(result.get("error"))
