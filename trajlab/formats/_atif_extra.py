"""What ``trajlab convert`` puts into the ``extra`` objects of ATIF, put back: task, verdict, rewards, exit codes."""

from __future__ import annotations

from typing import Any, TypeVar

import msgspec

from trajlab.formats._values import mapping, mappings, text
from trajlab.records import RewardPart, RunSetting, Step, TokenFacts, ToolCall, Trajectory
from trajlab.sources.field_mapping import COLUMNS, Kind, fitted

NOBODY = "none"
"""Role of the step that stands in a trajectory without any: ATIF wants one."""
EXTRA = "trajlab"
"""Key of the ``extra`` objects that holds what is ours."""

_T = TypeVar("_T")

_STEP: dict[str, Kind] = {"invalid_action": str, "finish_reason": str}
_CALL: dict[str, Kind] = {
    "exit_code": int, "is_error": bool, "executed": bool, "invalid": str, "seconds": float, "call_id": str, "tool": str,
}  # fmt: skip


def ours(record: dict[str, Any]) -> dict[str, Any]:
    """What is ours in the ``extra`` of a document, step or call."""
    return mapping(mapping(record.get("extra")).get(EXTRA))


def restore_trajectory(document: dict[str, Any], trajectory: Trajectory) -> None:
    """Fields that ATIF has no place for, rewards and settings."""
    said = ours(document)
    _restore(said, trajectory, COLUMNS)
    parts = [_made(value, RewardPart) for value in mappings(said.get("rewards"))]
    configured = [_made(value, RunSetting) for value in mappings(said.get("settings"))]
    if "token_facts" in said:
        trajectory.token_facts = _made(mapping(said["token_facts"]), TokenFacts)
    if said.get("tools_offered") == []:
        trajectory.tools_offered = []
    trajectory.rewards += [part for part in parts if part is not None]
    trajectory.settings += [setting for setting in configured if setting is not None]


def restore_step(record: dict[str, Any], step: Step) -> None:
    """What became of the turn, and of each of its calls."""
    _restore(ours(record), step, _STEP)
    for value, call in zip(mappings(record.get("tool_calls")), step.calls, strict=False):
        _restore_call(ours(value), call)


def _restore_call(said: dict[str, Any], call: ToolCall) -> None:
    _restore(said, call, _CALL)
    call.requestor = text(said.get("requestor")) or call.requestor
    raw = text(said.get("raw_arguments"))
    if raw is not None:
        call.command = text(mapping(call.arguments).get("command"))  # of a shell whose arguments are plain text
        call.arguments = raw


def _restore(said: dict[str, Any], target: Any, kinds: dict[str, Kind]) -> None:
    for name, kind in kinds.items():
        if name in said:
            setattr(target, name, fitted(said[name], kind))


def _made(value: dict[str, Any], kind: type[_T]) -> _T | None:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        return None
