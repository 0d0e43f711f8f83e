"""Copilot CLI: ``events.jsonl`` of a session.

Source: the event types that github/copilot-sdk generates from the session's schema, and fixtures of others. A resumed
session goes on in its file. Tokens are those that the last shutdown states for all models; whether prompt tokens hold
the cached ones is not documented, they are taken as stated. Premium requests are no cost.
"""

from __future__ import annotations

from typing import Any

from trajlab.formats import Variant
from trajlab.formats._copilot_cli_events import Conversation, fill
from trajlab.formats._sessions import UnknownKinds, rows_of
from trajlab.formats._turns import span, sum_tokens, task_of_prompt
from trajlab.formats._values import Records, count, first, mapping, reconcile, total, word
from trajlab.records import Problem, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

VARIANTS = {
    "events": Variant(
        "`session-state/<id>/events.jsonl`: lines of `type`, `data`, `id`, `parentId`",
        frozenset(
            {
                "native_id", "task_id", "agent", "agent_version", "model", "logged_termination", "stop_reason",
                "prompt_tokens", "completion_tokens", "cached_tokens", "reasoning_tokens", "seconds", "started_at",
                "gradable", "parent_native_id",
            }
        ),
        whole=True,
    ),
}  # fmt: skip

_ENVELOPE = frozenset({"type", "data", "id", "timestamp", "parentId"})
_TALK = ("assistant.", "user.", "tool.", "system.message")
_MODELS = {"session.start": "selectedModel", "session.model_change": "newModel",
           "session.auto_mode_resolved": "chosenModel", "session.shutdown": "currentModel"}  # fmt: skip


def recognise(probe: Probe) -> str | None:
    """Every line has the envelope, with ``type`` such as ``session.start``."""
    if probe.shape != "lines" or b'"parentId"' not in probe.head:
        return None
    rows = [record for record in probe.records if isinstance(record, dict)]
    return "events" if any(map(_is_event, rows)) else None


def _is_event(row: dict[str, Any]) -> bool:
    kind = row.get("type")
    return set(row) >= _ENVELOPE and isinstance(kind, str) and "." in kind and isinstance(row["data"], dict)


def read(bundle: Bundle) -> Records:
    """The session's trajectory and one for each subagent, about which no verdict is."""
    problems: list[Problem] = []
    rows = rows_of(bundle, problems)
    yield from problems
    unknown = UnknownKinds()
    parts = _parts(rows)
    for number, (key, lines) in enumerate(parts.items()):
        trajectory = Trajectory(bundle.variant, str(number), native_id=key or None, agent="Copilot CLI")
        try:
            conversation = fill(trajectory, lines, unknown)
            _facts(trajectory, rows, conversation, subagent=key)
        except RecursionError:
            trajectory.problems.append(Problem("unreadable_record", "a value is nested too deeply to be read"))
        task_of_prompt(trajectory)
        if not key and (found := unknown.problem()) is not None:
            trajectory.problems.append(found)
        yield trajectory


def _parts(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Lines by conversation; the main one has an empty key."""
    parts: dict[str, list[dict[str, Any]]] = {"": []}
    for row in rows:
        parts.setdefault(_subagent(row) or "", []).append(row)
    return parts


def _subagent(row: dict[str, Any]) -> str | None:
    """Older versions name the call that started it, newer ones the agent."""
    kind = row.get("type")
    if not isinstance(kind, str) or not kind.startswith(_TALK):
        return None
    return word(mapping(row.get("data")).get("parentToolCallId")) or word(row.get("agentId"))


def _facts(trajectory: Trajectory, rows: list[dict[str, Any]], conversation: Conversation, subagent: str) -> None:
    span(trajectory, conversation.times)
    if subagent:
        trajectory.parent_native_id = _session(rows)
        _name_subagent(trajectory, rows, subagent)
        sum_tokens(trajectory)
        return
    trajectory.native_id = _session(rows)
    shutdowns: list[dict[str, Any]] = []
    for row in rows:
        data, kind = mapping(row.get("data")), row.get("type")
        if kind == "session.start":
            trajectory.agent_version = first(trajectory.agent_version, word(data.get("copilotVersion")))
        if isinstance(kind, str) and kind in _MODELS and not conversation.model_told:
            trajectory.model = first(word(data.get(_MODELS[kind])), trajectory.model)
        if kind == "session.shutdown":
            shutdowns.append(data)
    alone = len(shutdowns) == 1 and not any(map(_subagent, rows))
    if shutdowns:
        _totals(trajectory, shutdowns[-1], alone=alone)
    sum_tokens(trajectory)


def _session(rows: list[dict[str, Any]]) -> str | None:
    starts = (mapping(row.get("data")) for row in rows if row.get("type") == "session.start")
    return next((name for data in starts if (name := word(data.get("sessionId")))), None)


def _name_subagent(trajectory: Trajectory, rows: list[dict[str, Any]], key: str) -> None:
    trajectory.gradable = False
    trajectory.agent = "Copilot CLI subagent"
    for row in rows:
        data = mapping(row.get("data"))
        if row.get("type") == "subagent.started" and key in (data.get("toolCallId"), row.get("agentId")):
            trajectory.agent = f"Copilot CLI {word(data.get('agentName')) or 'subagent'}"


def _totals(trajectory: Trajectory, shutdown: dict[str, Any], *, alone: bool) -> None:
    """What the session states for all its models, subagents included."""
    used = [mapping(mapping(model).get("usage")) for model in mapping(shutdown.get("modelMetrics")).values()]
    trajectory.prompt_tokens = total(count(usage.get("inputTokens")) for usage in used)
    trajectory.cached_tokens = total(count(usage.get("cacheReadTokens")) for usage in used)
    trajectory.reasoning_tokens = total(count(usage.get("reasoningTokens")) for usage in used)
    stated = total(count(usage.get("outputTokens")) for usage in used)
    counted = [step.completion_tokens for step in trajectory.steps]
    if alone and None not in counted:
        reconcile(trajectory, "completion tokens", stated, total(counted))
    trajectory.completion_tokens = stated
