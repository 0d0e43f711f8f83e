"""Cline: task folders of the editor's extension, and sessions of its command line.

Source: cline at 0014234a and 0a3eba34 (``ExtensionMessage.ts``, ``tools.ts``) and a converter of its sessions; no log
of it was at hand. Where the model has no native calls, the call is the first tag of a known tool in its text.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from trajlab.behavior.termination import CLINE
from trajlab.formats import Variant
from trajlab.formats._cline_turns import fill
from trajlab.formats._turns import span, sum_tokens, task_of_prompt
from trajlab.formats._values import (
    Records,
    count,
    items,
    json_text,
    load,
    mapping,
    mappings,
    moment,
    number,
    total,
    word,
)
from trajlab.records import Problem, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

_CARRIES = frozenset(
    {
        "native_id", "task_id", "agent", "model", "prompt_tokens", "completion_tokens", "cached_tokens", "cost",
        "seconds", "started_at",
    }
)  # fmt: skip

VARIANTS = {
    "task": Variant("`tasks/<id>/api_conversation_history.json` with `ui_messages.json`",
                    _CARRIES | {"logged_termination", "stop_reason"}),
    "session": Variant("`sessions/<id>/<id>.messages.json`", _CARRIES, whole=True),
}  # fmt: skip

_HISTORY, _INTERFACE, _METADATA = "api_conversation_history.json", "ui_messages.json", "task_metadata.json"


def group(relpath: str, variant: str) -> str | None:
    """The task's folder."""
    return str(PurePosixPath(relpath).parent) if variant == "task" else None


def recognise(probe: Probe) -> str | None:
    """By name, with the shape that the file of that name has."""
    if probe.name in (_HISTORY, _INTERFACE):
        return "task" if probe.shape == "list" else None
    if probe.name == _METADATA:
        return "task" if probe.shape == "object" and _HISTORY in probe.siblings else None
    if probe.name.endswith(".messages.json") and probe.shape == "object":
        return "session" if {"sessionId", "messages"} <= probe.keys else None
    return None


def read(bundle: Bundle) -> Records:
    """One trajectory a task or session."""
    problems: list[Problem] = []
    held: dict[str, Any] = {}
    for file in bundle.files:
        name = PurePosixPath(file.relpath).name
        try:
            held[name if bundle.variant == "task" else "session"] = load(file, problems)
        except (ValueError, RecursionError) as error:
            problems.append(Problem("unreadable_record", f"{name}: {error}; expected a file of Cline"))
    yield from problems
    if not held:
        return
    try:
        yield from _made(held, bundle)
    except RecursionError:
        yield Problem("unreadable_record", "a value is nested too deeply to be read")


def _made(held: dict[str, Any], bundle: Bundle) -> Iterator[Trajectory]:
    trajectory = Trajectory(bundle.variant, "0", agent="Cline")
    if bundle.variant == "session":
        _session(trajectory, mapping(held["session"]))
    else:
        trajectory.native_id = PurePosixPath(bundle.file.path).parent.name
        fill(trajectory, mappings(held.get(_HISTORY)))
        used = [mapping(entry) for entry in items(mapping(held.get(_METADATA)).get("model_usage"))]
        trajectory.model = next((name for entry in used if (name := word(entry.get("model_id")))), None)
        _interface(trajectory, mappings(held.get(_INTERFACE)))
    task_of_prompt(trajectory)
    yield trajectory


def _interface(trajectory: Trajectory, messages: list[dict[str, Any]]) -> None:
    """Times, tokens and the end, which only the interface's messages hold."""
    requests = [mapping(json_text(m.get("text"))) for m in messages if m.get("say") == "api_req_started"]
    prompts = [total(count(r.get(key)) for key in ("tokensIn", "cacheWrites", "cacheReads")) for r in requests]
    completions = [count(request.get("tokensOut")) for request in requests]
    if len(requests) == len(trajectory.steps):
        for step, prompt, completion, request in zip(trajectory.steps, prompts, completions, requests, strict=True):
            step.prompt_tokens, step.completion_tokens, step.cost = prompt, completion, number(request.get("cost"))
    trajectory.prompt_tokens, trajectory.completion_tokens = total(prompts), total(completions)
    trajectory.cached_tokens = total(count(request.get("cacheReads")) for request in requests)
    trajectory.cost = total(number(request.get("cost")) for request in requests)
    span(trajectory, [moment(message.get("ts")) for message in messages])
    ends = [name for m in messages for key in ("ask", "say") if (name := word(m.get(key))) in CLINE]
    if messages:
        trajectory.stop_reason = ends[-1] if ends else None
        trajectory.termination = CLINE[str(ends[-1])] if ends else "incomplete"


def _session(trajectory: Trajectory, session: dict[str, Any]) -> None:
    messages = mappings(session.get("messages"))
    trajectory.native_id = word(session.get("sessionId"))
    fill(trajectory, messages)
    agents = [message for message in messages if message.get("role") == "assistant"]
    used = [mapping(message.get("metrics")) for message in agents]
    for step, metrics, message in zip(trajectory.steps, used, agents, strict=False):
        keys = ("inputTokens", "cacheReadTokens", "cacheWriteTokens")
        step.prompt_tokens = total(count(metrics.get(key)) for key in keys)
        step.completion_tokens = count(metrics.get("outputTokens"))
        step.cost, step.timestamp = number(metrics.get("cost")), moment(message.get("ts"))
    models = (word(mapping(message.get("modelInfo")).get("id")) for message in agents)
    trajectory.model = next((name for name in models if name), None)
    trajectory.cached_tokens = total(count(metrics.get("cacheReadTokens")) for metrics in used)
    trajectory.cost = total(step.cost for step in trajectory.steps)
    sum_tokens(trajectory)
    span(trajectory, [moment(message.get("ts")) for message in messages])
