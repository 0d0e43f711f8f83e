"""OpenHands V1 (software-agent-sdk): event folders with ``base_state.json``, lines of events, benchmark rows.

Source: openhands-sdk 1.58.2, ``openhands/sdk/event``, ``conversation/state.py``; OpenHands/benchmarks ``models.py``.
Rewound branches (``parent_id``) are not left out: events count in the order they were written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from trajlab.formats import Variant
from trajlab.formats._openhands_sdk_events import fill
from trajlab.formats._turns import task_of_prompt
from trajlab.formats._values import (
    Records,
    count,
    first,
    flag,
    json_lines,
    mapping,
    mappings,
    objects_of,
    rows_with,
    settings,
    text,
    whole,
    word,
)
from trajlab.records import Problem, Trajectory
from trajlab.sources.files import Bundle, joined_path, parts_of
from trajlab.sources.probe import Probe

_EVENTS = frozenset(
    {
        "task_id", "agent", "model", "logged_termination", "stop_reason", "prompt_tokens", "completion_tokens",
        "cached_tokens", "reasoning_tokens", "seconds", "started_at", "tools_offered", "cost",
    }
)  # fmt: skip

VARIANTS = {
    "folder": Variant("`<id>/base_state.json` and `<id>/events/event-<n>-<id>.json`",
                      _EVENTS | {"native_id", "steps_allowed"}),
    "lines": Variant("JSON lines, an event each", _EVENTS, whole=True),
    "output": Variant("`output.jsonl` of benchmarks: rows with `history` of events that have a `kind`",
                      _EVENTS | {"steps_allowed", "submission_chars", "gradable", "attempt", "logged_correct",
                                 "logged_outcome"}),
}  # fmt: skip

_EVENT_FILE = re.compile(r"event-\d{5,12}-[0-9a-fA-F-]{8,64}\.json")


def group(relpath: str, variant: str) -> str | None:
    """The conversation's folder: that of ``base_state.json``, which holds ``events``."""
    if variant != "folder":
        return None
    folders = parts_of(relpath)[:-1]
    return joined_path(folders[:-1] if folders[-1:] == ["events"] else folders)


def recognise(probe: Probe) -> str | None:
    """Events have ``kind`` and ``source``; a state ``execution_status``; rows such events in ``history``."""
    if probe.shape == "object":
        if probe.name == "base_state.json" and {"execution_status", "agent", "workspace"} <= probe.keys:
            return "folder"
        named = _EVENT_FILE.fullmatch(probe.name) is not None and b'"kind"' in probe.head + probe.tail
        return "folder" if named and {"kind", "source", "timestamp"} <= probe.keys else None
    if probe.shape != "lines" or not probe.records:
        return None
    if all(_is_event(record) for record in probe.records):
        return "lines"
    return "output" if any(map(_is_row, probe.records)) else None


def _is_event(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("kind"), str) and {"source", "timestamp"} <= set(value)


def _is_row(row: Any) -> bool:
    if not isinstance(row, dict) or not {"instance_id", "test_result"} <= set(row):
        return False
    history = row.get("history")
    return isinstance(history, list) and bool(history) and _is_event(history[0])


def read(bundle: Bundle) -> Records:
    """One trajectory a conversation: a folder, a file of event lines, or a row."""
    problems: list[Problem] = []
    if bundle.variant == "folder":
        yield from _folder(bundle, problems)
    elif bundle.variant == "lines":
        events = [event for _, event in json_lines(bundle, problems) if isinstance(event, dict)]
        trajectory = _trajectory(bundle, None)
        fill(trajectory, events, {})
        task_of_prompt(trajectory)
        yield trajectory
    else:
        yield from rows_with(bundle, "history", _row)
    yield from problems


def _trajectory(bundle: Bundle, task: str | None) -> Trajectory:
    return Trajectory(bundle.variant, "0", task_id=task, agent="OpenHands")


def _folder(bundle: Bundle, problems: list[Problem]) -> Iterator[Trajectory]:
    state: dict[str, Any] = {}
    events: list[dict[str, Any]] = []
    for name, value in objects_of(bundle, problems):
        if name == "base_state.json":
            state = value
        else:
            events.append(value)
    if not events:
        problems.append(Problem("no_events", "base_state.json without events; expected a folder events beside it"))
        return
    path = PurePosixPath(bundle.file.path)
    folder = path.parent if path.name == "base_state.json" else path.parent.parent
    agent = mapping(state.get("agent"))
    trajectory = _trajectory(bundle, None)
    trajectory.native_id = folder.name  # the id, which the state that may come later holds, too
    trajectory.model = word(mapping(agent.get("llm")).get("model"))
    trajectory.steps_allowed = count(state.get("max_iterations"))
    trajectory.settings = list(settings(agent))
    fill(trajectory, events, state)
    task_of_prompt(trajectory)
    yield trajectory


def _row(row: dict[str, Any], bundle: Bundle) -> Trajectory:
    metadata, result = mapping(row.get("metadata")), mapping(row.get("test_result"))
    verdict = flag(first(mapping(result.get("report")).get("resolved"), result.get("resolved")))
    patch = text(result.get("git_patch"))
    trajectory = _trajectory(bundle, word(row.get("instance_id")))
    trajectory.attempt = whole(row.get("attempt"))
    trajectory.model = word(mapping(metadata.get("llm")).get("model"))
    trajectory.correct = trajectory.outcome = verdict
    trajectory.submission, trajectory.gradable = patch, True if patch else None
    trajectory.steps_allowed = count(metadata.get("max_iterations"))
    trajectory.settings = list(settings(metadata))
    fill(trajectory, mappings(row["history"]), {"stats": {"usage_to_metrics": {"": row.get("metrics")}}})
    error = text(row.get("error"))
    if error:
        trajectory.stop_reason, trajectory.termination = error.strip().split("\n")[0][:200], "infrastructure_error"
    return trajectory
