"""SWE-agent ``.traj``: 0.x, 1.0, 1.1 and later, runs of several attempts, demonstrations.

Source: SWE-agent 0.x to 1.1, ``sweagent/agent/agents.py`` (``get_trajectory_data``, ``add_step_to_trajectory``).
Exit codes, times and the task are not in the file; the task is its name.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from trajlab.behavior.termination import classify_swe_agent
from trajlab.formats import Variant
from trajlab.formats._values import (
    Records,
    content_text,
    count,
    joined,
    json_text,
    mapping,
    mappings,
    number,
    read_document,
    settings,
    text,
    word,
)
from trajlab.records import Message, RunSetting, Step, ToolCall, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

_CARRIES = frozenset(
    {
        "task_id", "agent", "logged_termination", "stop_reason", "gradable", "logged_steps", "prompt_tokens",
        "completion_tokens", "cost", "submission_chars",
    }
)  # fmt: skip
_CONFIGURED = _CARRIES | {"agent_version", "model", "steps_allowed"}

VARIANTS = {
    "0.x": Variant("releases 0.x: `state` of a step is text", _CARRIES),
    "1.0": Variant("releases 1.0.x: `state` is an object, steps with or without `messages`", _CONFIGURED),
    "1.1": Variant("releases from 1.1: steps hold their `query`", _CONFIGURED),
    "retry": Variant("several attempts in one file (`attempts`), the last or the chosen one repeated beside them",
                     _CONFIGURED | {"attempt"}),
    "demo": Variant("a demonstration: `history` alone", frozenset({"task_id", "agent"})),
}  # fmt: skip

_EXITS = ("exit_format", "exit_cost", "exit_context", "exit_api", "exit_environment_error", "exit_error")
_CANCELLED = "was cancelled because it took more than"


def recognise(probe: Probe) -> str | None:
    """``history`` with ``info`` and ``trajectory``, ``attempts`` of such documents, or an agent's history alone."""
    if probe.shape != "object":
        return None
    keys = probe.keys
    if not ({"history", "info", "trajectory"} <= keys or "attempts" in keys or keys == {"history"}):
        return None
    document = mapping(probe.records[0]) if probe.records else {}
    if _is_attempt(document) or mappings(document.get("attempts")):
        attempts = mappings(document.get("attempts"))
        if "attempts" in document:
            return "retry" if attempts and all(map(_is_attempt, attempts)) else None
        return _version(document)
    history = mappings(document.get("history"))
    return "demo" if keys == {"history"} and history and {"role", "agent"} <= set(history[0]) else None


def _is_attempt(document: dict[str, Any]) -> bool:
    if not isinstance(document.get("history"), list) or not isinstance(document.get("info"), dict):
        return False
    steps = document.get("trajectory")
    return isinstance(steps, list) and all(isinstance(s, dict) and "action" in s for s in steps[:1])


def _version(document: dict[str, Any]) -> str:
    step = next(iter(mappings(document.get("trajectory"))), {})
    if "query" in step:
        return "1.1"
    if isinstance(step.get("state"), str):
        return "0.x"
    if step:
        return "1.0"
    release = word(mapping(document.get("info")).get("swe_agent_version"))
    if release is None:
        return "0.x"
    return "1.0" if release.startswith("1.0") else "1.1"


def read(bundle: Bundle) -> Records:
    """One trajectory a file; of a run with several attempts one for each."""
    yield from read_document(bundle, lambda value: _trajectories(value, bundle), "a SWE-agent trajectory")


def _trajectories(value: Any, bundle: Bundle) -> Iterator[Trajectory]:
    if not isinstance(value, dict):
        raise ValueError(f"found {type(value).__name__}")
    attempts = mappings(value.get("attempts"))
    if not attempts:
        yield _trajectory(value, bundle)
        return
    chosen = count(mapping(value.get("info")).get("best_attempt_idx"))
    for index, attempt in enumerate(attempts):
        # Each attempt has its own totals; those of the whole also hold what the reviewer spent.
        trajectory = _trajectory(attempt, bundle)
        trajectory.ordinal, trajectory.attempt = str(index), index + 1
        if chosen is not None and index != chosen:
            # Only the chosen attempt's patch was handed in: a verdict on the task is not about this one.
            trajectory.gradable = False
        yield trajectory


def _trajectory(document: dict[str, Any], bundle: Bundle) -> Trajectory:
    info, stats = mapping(document.get("info")), mapping(mapping(document.get("info")).get("model_stats"))
    configured = _settings(document.get("replay_config"))
    sent, received = count(stats.get("tokens_sent")), count(stats.get("tokens_received"))
    counted = bool(sent or received)  # replayed and human models count nothing, and write zeros
    status, submission = text(info.get("exit_status")), text(info.get("submission"))
    trajectory = Trajectory(
        variant=bundle.variant,
        ordinal="0",
        task_id=PurePosixPath(bundle.file.relpath).name.split(".traj")[0],
        agent="SWE-agent",
        agent_version=word(info.get("swe_agent_version")),
        model=_plain(configured, "agent.model.name"),
        stop_reason=status,
        termination=_unfinished(document) if status is None else classify_swe_agent(status),
        gradable=True if submission else None,
        steps_allowed=count(_plain(configured, "agent.model.per_instance_call_limit")) or None,
        logged_steps=count(stats.get("api_calls")) or None,
        prompt_tokens=sent if counted else None,
        completion_tokens=received if counted else None,
        cost=number(stats.get("instance_cost")) if counted else None,
        submission=submission,
        settings=configured,
    )
    _Turns(trajectory, mappings(document.get("history"))).fill(document.get("trajectory"))
    return trajectory


def _unfinished(document: dict[str, Any]) -> str | None:
    """A file that is written after every step, without an exit status yet; a demonstration records no end."""
    return "incomplete" if "trajectory" in document else None


def _settings(replay_config: Any) -> list[RunSetting]:
    decoded = json_text(replay_config)
    return list(settings(decoded)) if isinstance(decoded, dict) else []


def _plain(configured: list[RunSetting], name: str) -> str | None:
    value = next((s.configured for s in configured if s.name == name), None)
    return None if value in (None, "null") else value.strip('"')


class _Turns:
    """Joins ``trajectory`` (what was done) with ``history`` (calls as the model made them, prompts).

    Turns that were refused and asked again stand in ``trajectory`` alone, so both are walked in step.
    """

    def __init__(self, trajectory: Trajectory, history: list[dict[str, Any]]) -> None:
        self.trajectory = trajectory
        self.history = history
        self.at = 0

    def fill(self, steps: Any) -> None:
        self._prompts()
        if not isinstance(steps, list):
            while self.at < len(self.history):
                self._from_history()
            return
        for step in mappings(steps):
            self._take(step)
        self._prompts()

    def _prompts(self) -> None:
        """Messages up to the agent's next turn: system, task, demonstrations."""
        while self.at < len(self.history) and not _is_turn(self.history[self.at]):
            message = self.history[self.at]
            role = "demonstration" if message.get("is_demo") else word(message.get("role")) or "user"
            self._say(role, content_text(message.get("content")))
            self.at += 1

    def _say(self, role: str, said: str) -> None:
        self.trajectory.messages.append(Message(role, said, len(self.trajectory.steps) or None))

    def _take(self, step: dict[str, Any]) -> None:
        turn = self._turn(step)
        response, action = content_text(step.get("response")), content_text(step.get("action"))
        if _is_exit(response or content_text(step.get("thought")), action):
            self._say("system", response or content_text(step.get("thought")))
            return
        made = Step(text=response, reasoning=_reasoning(step, turn or {}))
        observation = content_text(step.get("observation"))
        call = _call(action, turn or {}) if action.strip() or turn else None
        if call is not None:
            call.seconds = number(step.get("execution_time"))
            made.calls = [call]
        if turn is None and not observation:
            # Refused before it ran: no action found, a blocked one, or one that bash cannot parse.
            made.invalid_action = "refused" if call is not None else "no action"
            if call is not None:
                call.executed, call.invalid, call.seconds = False, "refused", None
        elif call is not None:
            call.executed, call.output = True, observation
            call.is_error = True if _CANCELLED in observation[:4000] else None
        self.trajectory.steps.append(made)

    def _turn(self, step: dict[str, Any]) -> dict[str, Any] | None:
        """The agent's message of this step, and past its result; null where the history has none."""
        if self.at >= len(self.history) or not _is_turn(self.history[self.at]):
            return None
        turn = self.history[self.at]
        if "action" in turn and turn["action"] != step.get("action"):
            return None
        self.at += 1
        if self.at < len(self.history) and not _is_turn(self.history[self.at]):
            self.at += 1  # the same result, with the prompt around it
        self._prompts()
        return turn

    def _from_history(self) -> None:
        turn = self.history[self.at]
        self.at += 1
        action = content_text(turn.get("action"))
        made = Step(text=content_text(turn.get("content")), reasoning=_reasoning({}, turn))
        call = _call(action, turn) if action.strip() or mappings(turn.get("tool_calls")) else None
        self.trajectory.steps.append(made)
        if call is not None:
            made.calls = [call]
            if self.at < len(self.history) and not _is_turn(self.history[self.at]):
                call.executed, call.output = True, content_text(self.history[self.at].get("content"))
                self.at += 1
        self._prompts()


def _is_turn(message: dict[str, Any]) -> bool:
    return message.get("role") == "assistant" and not message.get("is_demo")


def _is_exit(said: str, action: str) -> bool:
    """The scaffold's own words at the end, written as if they were a turn."""
    return said.startswith(("Exit due to", "Exiting due to")) and (not action.strip() or action.strip() in _EXITS)


def _reasoning(step: dict[str, Any], turn: dict[str, Any]) -> str | None:
    blocks = [text(block.get("thinking")) for block in mappings(turn.get("thinking_blocks"))]
    return text(step.get("reasoning_content")) or joined(blocks)


def _call(action: str, turn: dict[str, Any]) -> ToolCall | None:
    """The call as the model made it, else the action as shell text, which is what the parser gave to the shell."""
    native = next(iter(mappings(turn.get("tool_calls"))), None)
    if native is None:
        return ToolCall("bash", command=action.strip("\n")) if action.strip() else None
    function = mapping(native.get("function"))
    arguments = function.get("arguments")
    decoded = json_text(arguments)
    if isinstance(decoded, dict):
        return ToolCall(text(function.get("name")), decoded, call_id=word(native.get("id")))
    return ToolCall(text(function.get("name")), text(arguments), call_id=word(native.get("id")), invalid="unparsable")
