"""Codex: rollout files, rollouts before the envelope (two layouts), and ``codex exec --json``.

Source: types of @openai/codex-sdk 0.163.0 for ``exec --json``; for rollouts fixtures and converters of others, as the
source was not at hand. Messages stand twice in a rollout; turns are built from ``response_item``, exit codes and tokens
come from ``event_msg``.
"""

from __future__ import annotations

from typing import Any

from trajlab.behavior.termination import CODEX
from trajlab.formats import Variant
from trajlab.formats._codex_items import Exec, Rollout
from trajlab.formats._turns import span, sum_tokens, task_of_prompt
from trajlab.formats._values import Records, count, first, json_lines, mapping, moment, reconcile, total, word
from trajlab.records import Problem, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

_CARRIES = frozenset(
    {
        "native_id", "task_id", "agent", "logged_termination", "stop_reason", "prompt_tokens", "completion_tokens",
        "cached_tokens",
    }
)  # fmt: skip

VARIANTS = {
    "rollout": Variant("`rollout-*.jsonl`: lines of `timestamp`, `type`, `payload`",
                       _CARRIES | {"agent_version", "model", "reasoning_tokens", "seconds", "started_at", "gradable",
                                   "parent_native_id"}, whole=True),
    "bare": Variant("older rollouts: a line about the session, then Responses items",
                    frozenset({"native_id", "task_id", "agent", "started_at", "seconds"}), whole=True),
    "flat": Variant("oldest sessions: lines of `timestamp` or `created_at` with `role`, or `type` of a call or result",
                    frozenset({"task_id", "agent", "model", "logged_termination", "stop_reason", "started_at",
                               "seconds"}), whole=True),
    "exec": Variant("`codex exec --json`: `thread.started`, `item.completed`, `turn.completed`",
                    _CARRIES - {"task_id"}, whole=True),
}  # fmt: skip

_FLAT = ("tool_call", "function_call", "tool_result", "function_result")
_CLOCKS = frozenset({"timestamp", "created_at"})


def recognise(probe: Probe) -> str | None:
    """By the envelope of the first lines, or by the first line."""
    if probe.shape != "lines" or not probe.records:
        return None
    rows = probe.records
    if all(isinstance(row, dict) and {"timestamp", "type", "payload"} <= set(row) for row in rows):
        return "rollout" if isinstance(rows[0]["payload"], dict) else None
    head = rows[0]
    if not isinstance(head, dict):
        return None
    if head.get("type") == "thread.started" and "thread_id" in head:
        return "exec"
    if {"id", "timestamp", "instructions"} <= set(head) and "payload" not in head:
        return "bare"
    return "flat" if "role" in head and any(map(_is_flat_call, rows)) else None


def _is_flat_call(row: Any) -> bool:
    if not isinstance(row, dict) or row.get("type") not in _FLAT:
        return False
    return bool(_CLOCKS & set(row)) and bool({"function", "result"} & set(row))


def read(bundle: Bundle) -> Records:
    """One trajectory a file."""
    problems: list[Problem] = []
    rows = [row for _, row in json_lines(bundle, problems) if isinstance(row, dict)]
    yield from problems
    trajectory = Trajectory(bundle.variant, "0", agent="Codex")
    try:
        if bundle.variant == "exec":
            _exec(trajectory, rows)
        elif bundle.variant == "bare":
            _bare(trajectory, rows)
        elif bundle.variant == "flat":
            _flat(trajectory, rows)
        else:
            _rollout(trajectory, rows)
    except RecursionError:
        trajectory.problems.append(Problem("unreadable_record", "a value is nested too deeply to be read"))
    task_of_prompt(trajectory)
    yield trajectory


def _rollout(trajectory: Trajectory, rows: list[dict[str, Any]]) -> None:
    reader = Rollout(trajectory)
    ends: list[str] = []
    for row in rows:
        payload, kind = mapping(row.get("payload")), row.get("type")
        if kind == "session_meta" and trajectory.native_id is None:
            trajectory.native_id = word(payload.get("id"))
            trajectory.agent_version = word(payload.get("cli_version"))
            _subagent(trajectory, payload.get("source"))
        elif kind == "turn_context":
            trajectory.model = first(trajectory.model, word(payload.get("model")))
        elif kind == "response_item":
            reader.item(payload, moment(row.get("timestamp")))
        elif kind == "event_msg":
            reader.event(payload)
            name = word(payload.get("type")) or ""
            if name in CODEX:
                ends.append(name)
    reader.turns.close(ran=None)
    _passed_over(trajectory, reader)
    span(trajectory, [moment(row.get("timestamp")) for row in rows])
    _end(trajectory, ends)
    _totals(trajectory, reader.totals, [usage for usage in reader.usages if usage])


def _subagent(trajectory: Trajectory, source: Any) -> None:
    """A rollout that another started: as a thread of its own, or for a review."""
    if not isinstance(source, dict) or "subagent" not in source:
        return
    trajectory.agent, trajectory.gradable = "Codex subagent", False
    spawned = mapping(mapping(source["subagent"]).get("thread_spawn"))
    trajectory.parent_native_id = word(spawned.get("parent_thread_id"))


def _passed_over(trajectory: Trajectory, reader: Rollout) -> None:
    if (found := reader.unknown.problem()) is not None:
        trajectory.problems.append(found)


def _end(trajectory: Trajectory, ends: list[str]) -> None:
    if ends:
        trajectory.stop_reason, trajectory.termination = ends[-1], CODEX[ends[-1]]


def _totals(trajectory: Trajectory, stated: dict[str, Any], usages: list[dict[str, Any]]) -> None:
    """The last stated total, against the sum of what each answer used."""
    for name, key in (("prompt", "input_tokens"), ("completion", "output_tokens")):
        value = count(stated.get(key))
        reconcile(trajectory, f"{name} tokens", value, total(count(usage.get(key)) for usage in usages))
        setattr(trajectory, f"{name}_tokens", value)
    trajectory.cached_tokens = count(stated.get("cached_input_tokens"))
    trajectory.reasoning_tokens = count(stated.get("reasoning_output_tokens"))
    sum_tokens(trajectory)


def _bare(trajectory: Trajectory, rows: list[dict[str, Any]]) -> None:
    reader = Rollout(trajectory)
    trajectory.native_id = word(rows[0].get("id")) if rows else None
    if rows and word(rows[0].get("instructions")):
        reader.turns.say("system", str(rows[0]["instructions"]))
    for row in rows[1:]:
        reader.item(row, moment(row.get("timestamp")))
    reader.turns.close()
    _passed_over(trajectory, reader)
    span(trajectory, [moment(row.get("timestamp")) for row in rows])


def _flat(trajectory: Trajectory, rows: list[dict[str, Any]]) -> None:
    """Calls and results have no ids: results come in the order of the calls."""
    reader = Rollout(trajectory)
    times = [moment(first(row.get("timestamp"), row.get("created_at"))) for row in rows]
    ends: list[str] = []
    for row, timestamp in zip(rows, times, strict=True):
        trajectory.model = first(trajectory.model, word(row.get("model")))
        if row.get("type") == "error":
            ends.append("error")
        elif "payload" not in row:
            reader.item(row, timestamp)
    reader.turns.close()
    _passed_over(trajectory, reader)
    _end(trajectory, ends)
    span(trajectory, times)


def _exec(trajectory: Trajectory, rows: list[dict[str, Any]]) -> None:
    reader = Exec(trajectory)
    ends: list[str] = []
    usages: list[dict[str, Any]] = []
    for row in rows:
        kind = word(row.get("type")) or ""
        if kind == "thread.started":
            trajectory.native_id = word(row.get("thread_id"))
        elif kind.startswith("item."):
            reader.item(mapping(row.get("item")), finished=kind == "item.completed")
        elif kind == "turn.completed":
            usages.append(mapping(row.get("usage")))
        if kind in CODEX:
            ends.append(kind)
    reader.turns.close()
    _end(trajectory, ends)
    for name, key in (("prompt", "input_tokens"), ("completion", "output_tokens"), ("cached", "cached_input_tokens")):
        setattr(trajectory, f"{name}_tokens", total(count(usage.get(key)) for usage in usages))
