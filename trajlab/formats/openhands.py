"""OpenHands V0: event folders, event lists, ``output.jsonl`` of its benchmarks (events or pairs), resolver output.

Logged calls of the model are those of V1, too: their keys are the same.

Source: OpenHands 0.x, ``openhands/events/serialization``, ``evaluation/utils/shared.py``, ``openhands/resolver``,
``openhands/llm/llm.py``; openhands-sdk 1.x, ``openhands/sdk/llm/utils/telemetry.py``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from trajlab.formats import Variant
from trajlab.formats._openhands_completions import is_call, read_calls
from trajlab.formats._openhands_events import fill
from trajlab.formats._turns import task_of_prompt
from trajlab.formats._values import (
    Records,
    count,
    first,
    flag,
    items,
    load,
    mapping,
    mappings,
    number,
    objects_of,
    reconcile,
    rows_with,
    settings,
    text,
    total,
    word,
)
from trajlab.records import Problem, RewardPart, Trajectory
from trajlab.sources.files import Bundle, joined_path, parts_of
from trajlab.sources.probe import Probe

_EVENTS = frozenset(
    {
        "task_id", "agent", "agent_version", "model", "logged_termination", "stop_reason", "prompt_tokens",
        "completion_tokens", "cached_tokens", "seconds", "started_at", "tools_offered",
    }
)  # fmt: skip
_ROWS = (_EVENTS - {"tools_offered"}) | {
    "cost", "submission_chars", "steps_allowed", "logged_correct", "logged_outcome", "gradable", "logged_steps",
}  # fmt: skip

VARIANTS = {
    "folder": Variant("`sessions/<id>/events/<n>.json`, one event a file", _EVENTS | {"native_id"}),
    "list": Variant("one JSON list of events (`save_trajectory_path`)", _EVENTS, whole=True),
    "output": Variant("`output.jsonl` of benchmarks: `instance_id`, `test_result`, `history` of events",
                      _ROWS | {"tools_offered"}),
    "pairs": Variant("older `output.jsonl`: `history` of action and observation pairs",
                     _ROWS - {"agent_version", "cached_tokens", "prompt_tokens", "completion_tokens", "logged_steps"}),
    "resolver": Variant("`output.jsonl` of the issue resolver: `issue`, `git_patch`, flat `history`",
                        frozenset({"task_id", "agent", "logged_termination", "stop_reason", "cost", "submission_chars",
                                   "gradable", "logged_correct", "logged_steps"})),
    "completions": Variant("`llm_completions/<task>/<model>-<time>.json`, one call of the model a file, of V0 and V1; "
                           "copies where an `output.jsonl` beside the folder tells the task",
                           (_EVENTS - {"agent_version"}) | {"native_id", "cost", "reasoning_tokens"}),
}  # fmt: skip

_EVENT_FILE = re.compile(r"\d{1,9}\.json")


def group(relpath: str, variant: str) -> str | None:
    """The conversation's folder, which holds ``events``; that of the calls."""
    if variant not in ("folder", "completions"):
        return None
    folders = parts_of(relpath)[:-1]
    return joined_path(folders[:-1] if folders[-1:] == ["events"] else folders)


def recognise(probe: Probe) -> str | None:
    """Events have ``source`` and ``action`` or ``observation``; rows have them in ``history``."""
    if probe.shape == "list":
        return "list" if b'"source"' in probe.head and _is_event(first(*probe.records[:1])) else None
    if probe.shape == "object" and probe.parent_name == "events":
        is_event = _EVENT_FILE.fullmatch(probe.name) is not None and _is_event(first(*probe.records[:1]))
        return "folder" if is_event else None
    if probe.shape == "object":
        return "completions" if is_call(frozenset(probe.keys)) else None
    if probe.shape != "lines" or not probe.records:
        return None
    return next(filter(None, map(_row_variant, probe.records)), None)


def _row_variant(row: Any) -> str | None:
    if not isinstance(row, dict) or not isinstance(row.get("history"), list):
        return None
    head = first(*row["history"][:1])
    if {"issue", "git_patch"} <= set(row):
        return "resolver"
    if not {"instance_id", "test_result"} <= set(row):
        return None
    if isinstance(head, list):
        return "pairs"
    return "output" if head is None or _is_event(head) else None


def _is_event(value: Any) -> bool:
    return isinstance(value, dict) and "source" in value and bool({"action", "observation"} & set(value))


def read(bundle: Bundle) -> Records:
    """One trajectory a conversation: a folder, a list, or a row."""
    if bundle.variant == "folder":
        yield from _folder(bundle)
        return
    if bundle.variant == "completions":
        yield from read_calls(bundle)
        return
    problems: list[Problem] = []
    try:
        if bundle.variant == "list":
            yield from _list(bundle, problems)
        else:
            yield from rows_with(bundle, "history", _row)
    except (ValueError, RecursionError) as error:
        problems.append(Problem("unreadable_record", f"{error}; expected events of OpenHands"))
    yield from problems


def _folder(bundle: Bundle) -> Records:
    problems: list[Problem] = []
    events: list[tuple[int, dict[str, Any]]] = []
    for name, event in objects_of(bundle, problems, "an event"):
        stem = name.removesuffix(".json")
        events.append((int(stem) if stem.isdecimal() and len(stem) < 19 else 0, event))
    yield from problems
    if events:
        session = PurePosixPath(bundle.file.path).parent.parent.name
        yield _conversation([event for _, event in sorted(events, key=lambda pair: pair[0])], bundle, session)


def _list(bundle: Bundle, problems: list[Problem]) -> Iterator[Trajectory]:
    value = load(bundle, problems)
    if not isinstance(value, list):
        raise ValueError(f"found {type(value).__name__}")
    yield _conversation(mappings(value), bundle, None)


def _conversation(events: list[dict[str, Any]], bundle: Bundle, session: str | None) -> Trajectory:
    trajectory = Trajectory(bundle.variant, "0", native_id=session, agent="OpenHands")
    end = fill(trajectory, events)
    end.settle(trajectory, None, running=True)
    task_of_prompt(trajectory)
    return trajectory


def _row(row: dict[str, Any], bundle: Bundle) -> Trajectory:
    metadata, metrics = mapping(row.get("metadata")), mapping(row.get("metrics"))
    tokens = mapping(metrics.get("accumulated_token_usage"))
    result, error = mapping(row.get("test_result")), text(row.get("error"))
    verdict = flag(mapping(result.get("report")).get("resolved"))
    judged = flag(row.get("success"))
    patch = text(first(row.get("git_patch"), result.get("git_patch"), result.get("model_patch")))
    trajectory = Trajectory(
        bundle.variant,
        "",
        task_id=_task(row),
        agent="OpenHands",
        model=word(mapping(metadata.get("llm_config")).get("model")),
        correct=first(verdict, judged),
        outcome=verdict,
        gradable=True if patch else None,
        steps_allowed=count(metadata.get("max_iterations")),
        # One entry for every answer of the model.
        logged_steps=len(items(first(metrics.get("token_usages"), metrics.get("costs")))) or None,
        cost=number(metrics.get("accumulated_cost")),
        submission=patch,
        settings=list(settings(metadata)),
    )
    if judged is not None:
        trajectory.rewards.append(RewardPart("success", float(judged)))
    end = fill(trajectory, _events(row["history"]))
    end.settle(trajectory, error, running=False)
    steps = trajectory.steps
    for name, stated in (("prompt", tokens.get("prompt_tokens")), ("completion", tokens.get("completion_tokens"))):
        counted = [getattr(step, f"{name}_tokens") for step in steps if step.calls or step.finish_reason is not None]
        if None not in counted:
            reconcile(trajectory, f"{name} tokens", count(stated), total(counted))
        if count(stated) is not None:
            setattr(trajectory, f"{name}_tokens", count(stated))
    trajectory.cached_tokens = first(count(tokens.get("cache_read_tokens")), trajectory.cached_tokens)
    return trajectory


def _task(row: dict[str, Any]) -> str | None:
    issue = mapping(row.get("issue"))
    if issue:
        return f"{word(issue.get('owner'))}/{word(issue.get('repo'))}#{word(issue.get('number'))}"
    return word(row.get("instance_id"))


def _events(history: list[Any]) -> list[dict[str, Any]]:
    """Events in order; pairs are taken apart, and an observation is tied to the action before it."""
    flat = [event for item in history for event in (item if isinstance(item, list) else (item,))]
    return mappings(flat)
