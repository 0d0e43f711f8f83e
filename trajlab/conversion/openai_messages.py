"""Trajectories as rows of OpenAI chat messages, one a line, with the columns that datasets put beside them."""

from __future__ import annotations

from typing import Any

import msgspec

from trajlab.conversion.common import cleaned, in_order, tool_definitions, without_none
from trajlab.records import Message, Step, ToolCall, Trajectory

DOC = "OpenAI chat messages: one trajectory a line, one file a run"

_COLUMNS = {
    "instance_id": "task_id", "traj_id": "native_id", "run": "run", "group_id": "group_id", "attempt": "attempt",
    "split": "split", "train_step": "train_step", "epoch": "epoch", "agent": "agent", "model": "model",
    "reward": "reward", "correct": "correct", "resolved": "outcome", "exit_status": "stop_reason",
    "submission": "submission",
}  # fmt: skip
"""Column -> field of a trajectory."""

HOLDS = frozenset(
    {
        *_COLUMNS.values(), "tools_offered", "step.reasoning", "call.tool", "call.arguments", "call.command",
        "call.call_id", "call.output",
    }
)  # fmt: skip


def encode(trajectory: Trajectory) -> bytes:
    """One line."""
    row: dict[str, Any] = {"messages": _messages(trajectory)}
    row |= without_none({column: getattr(trajectory, field) for column, field in _COLUMNS.items()})
    if trajectory.tools_offered is not None:
        row["tools"] = tool_definitions(trajectory.tools_offered)
    return msgspec.json.encode(cleaned(row)) + b"\n"


def _messages(trajectory: Trajectory) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []
    calls = 0
    for item in in_order(trajectory):
        if isinstance(item, Message):
            told.append({"role": item.role, "content": item.text})
        else:
            told += _turn(item, calls)
            calls += len(item.calls)
    return told


def _turn(step: Step, before: int) -> list[dict[str, Any]]:
    """The agent's message and what came back; calls without an id of their own are numbered."""
    message = without_none({"role": "assistant", "content": step.text, "reasoning_content": step.reasoning})
    calls, results = [], []
    for number, call in enumerate(step.calls, before + 1):
        call_id = call.call_id if call.call_id is not None else f"call_{number}"
        function = {"name": call.tool or "", "arguments": _arguments(call)}
        calls.append({"id": call_id, "type": "function", "function": function})
        if call.output is not None:
            results.append({"role": "tool", "tool_call_id": call_id, "content": call.output})
    if calls:
        message["tool_calls"] = calls
    return [message, *results]


def _arguments(call: ToolCall) -> str:
    if isinstance(call.arguments, str):
        return call.arguments
    arguments = call.arguments
    if not arguments and call.command is not None:
        arguments = {"command": call.command}
    return msgspec.json.encode(cleaned(arguments or {})).decode()
