"""Trajectories as ATIF 1.7, Harbor's Agent Trajectory Interchange Format.

What the format has no field for (task, reward, verdict, end, exit codes …) stands in its ``extra`` objects under
``trajlab``, so that reading it again gives it back.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import msgspec

from trajlab.conversion.common import cleaned, in_order, tool_definitions, without_none
from trajlab.formats._atif_extra import EXTRA, NOBODY
from trajlab.records import Message, Step, ToolCall, Trajectory

DOC = "ATIF 1.7: one trajectory a file"
VERSION = "ATIF-v1.7"

_ROOT = (
    "task_id", "group_id", "attempt", "split", "train_step", "epoch", "policy_version_first", "policy_version_last",
    "reward", "correct", "outcome", "termination", "stop_reason", "gradable", "steps_allowed", "logged_steps",
    "reasoning_tokens", "seconds", "started_at", "submission", "run", "native_id",
    "parent_native_id", "sample_index",
)  # fmt: skip
_STEP = ("invalid_action", "finish_reason")
_CALL = ("exit_code", "is_error", "executed", "invalid", "seconds")

HOLDS = frozenset(
    {
        *_ROOT, "rewards", "settings", "token_facts",
        "agent", "agent_version", "model", "tools_offered", "prompt_tokens",
        "completion_tokens", "cached_tokens", "cost", "step.reasoning", "step.prompt_tokens", "step.completion_tokens",
        "step.cost", "step.timestamp", "call.tool", "call.arguments", "call.command", "call.call_id", "call.output",
        *(f"step.{name}" for name in _STEP), *(f"call.{name}" for name in _CALL),
    }
)  # fmt: skip


def encode(trajectory: Trajectory) -> bytes:
    """One ATIF document."""
    document = {
        "schema_version": VERSION,
        "trajectory_id": trajectory.native_id,
        "agent": _agent(trajectory),
        "steps": _steps(trajectory),
        "final_metrics": without_none(
            {
                "total_prompt_tokens": trajectory.prompt_tokens,
                "total_completion_tokens": trajectory.completion_tokens,
                "total_cached_tokens": trajectory.cached_tokens,
                "total_cost_usd": trajectory.cost,
            }
        )
        or None,
        "extra": _ours(trajectory),
    }
    return msgspec.json.format(msgspec.json.encode(cleaned(without_none(document))), indent=1) + b"\n"


def _agent(trajectory: Trajectory) -> dict[str, Any]:
    tools = trajectory.tools_offered
    definitions = None if tools is None else tool_definitions(tools)
    return without_none(
        {
            "name": trajectory.agent or "unknown",
            "version": trajectory.agent_version or "unknown",
            "model_name": trajectory.model,
            "tool_definitions": definitions,
        }
    )


def _ours(trajectory: Trajectory) -> dict[str, Any]:
    values = without_none({name: getattr(trajectory, name) for name in _ROOT})
    if trajectory.rewards:
        values["rewards"] = [without_none(msgspec.structs.asdict(part)) for part in trajectory.rewards]
    if trajectory.settings:
        values["settings"] = [without_none(msgspec.structs.asdict(setting)) for setting in trajectory.settings]
    if trajectory.token_facts is not None:
        values["token_facts"] = without_none(msgspec.structs.asdict(trajectory.token_facts))
    if trajectory.tools_offered == []:
        values["tools_offered"] = []
    return {EXTRA: values}


def _steps(trajectory: Trajectory) -> list[dict[str, Any]]:
    """Prompts and turns in reading order, numbered from 1; an empty one where there are none, since ATIF wants one."""
    told = [_prompt(item) if isinstance(item, Message) else _turn(item) for item in in_order(trajectory)]
    told = told or [{"source": "system", "message": "", "extra": {EXTRA: {"role": NOBODY}}}]
    return [{"step_id": number, **step} for number, step in enumerate(told, 1)]


def _prompt(message: Message) -> dict[str, Any]:
    if message.role in ("system", "user"):
        return {"source": message.role, "message": message.text}
    if message.role == "tool":
        observation = {"results": [{"content": message.text}]}
        return {"source": "system", "message": "", "observation": observation, "extra": {EXTRA: {"role": "tool"}}}
    return {"source": "user", "message": message.text, "extra": {EXTRA: {"role": message.role}}}


def _turn(step: Step) -> dict[str, Any]:
    calls = [(_call_id(call, place, step.calls), call) for place, call in enumerate(step.calls)]
    results = [
        {"source_call_id": call_id, "content": call.output} for call_id, call in calls if call.output is not None
    ]
    metrics = {
        "prompt_tokens": step.prompt_tokens, "completion_tokens": step.completion_tokens, "cost_usd": step.cost,
    }  # fmt: skip
    extra = without_none({name: getattr(step, name) for name in _STEP})
    return without_none(
        {
            "timestamp": None if step.timestamp is None else _iso(step.timestamp),
            "source": "agent",
            "message": step.text,
            "reasoning_content": step.reasoning,
            "tool_calls": [_call(call_id, call) for call_id, call in calls] or None,
            "observation": {"results": results} if results else None,
            "metrics": without_none(metrics) or None,
            "extra": {EXTRA: extra} if extra else None,
        }
    )


def _iso(seconds: float) -> str | None:
    try:
        return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
    except (OverflowError, OSError, ValueError):
        return None


def _call_id(call: ToolCall, place: int, calls: list[ToolCall]) -> str:
    """The log's own id where it is the only one of its turn: results are told by it."""
    same = [other for other in calls if other.call_id == call.call_id]
    return call.call_id if call.call_id is not None and len(same) == 1 else f"{call.call_id or 'call'}_{place + 1}"


def _call(call_id: str, call: ToolCall) -> dict[str, Any]:
    extra = without_none({name: getattr(call, name) for name in _CALL})
    if call.executed is None and call.output is None:
        extra["executed"] = None  # else a call without a result reads as one that was not run
    if call.requestor != "agent":
        extra["requestor"] = call.requestor
    if call.call_id != call_id:
        extra["call_id"] = call.call_id
    arguments = call.arguments
    if isinstance(arguments, str):
        decoded = _object(arguments)
        if decoded is None:
            extra["raw_arguments"] = arguments
        arguments = decoded
    if not call.tool:
        extra["tool"] = call.tool
    if call.command is not None and not arguments:
        arguments = {"command": call.command}
    known = {"tool_call_id": call_id, "function_name": call.tool or "unknown", "arguments": arguments or {}}
    return {**known, "extra": {EXTRA: extra}} if extra else known


def _object(text: str) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
