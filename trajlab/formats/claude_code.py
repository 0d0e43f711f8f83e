"""Claude Code: session files with the files of their subagents, and ``--output-format stream-json``.

Source: types of @anthropic-ai/claude-agent-sdk 0.3.332. A line holds one block of an answer; lines of one answer share
its id and repeat its usage. Lines form a tree: the branch that leads to the last one is the conversation, those that
were rewound are counted apart. A line that names no parent, as the first after a compaction or a resumption, follows
the one before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from trajlab.behavior.termination import classify_claude_code
from trajlab.formats import Variant
from trajlab.formats._claude_code_tree import without_rewound
from trajlab.formats._claude_code_turns import fill
from trajlab.formats._sessions import UnknownKinds, kind_of
from trajlab.formats._turns import task_of_prompt
from trajlab.formats._values import Records, count, first, items, json_lines, load, mapping, number, word
from trajlab.records import Problem, Trajectory
from trajlab.sources.files import Bundle, SourceFile
from trajlab.sources.probe import Probe

_CARRIES = frozenset(
    {
        "native_id", "task_id", "agent", "agent_version", "model", "logged_termination", "stop_reason",
        "prompt_tokens", "completion_tokens", "cached_tokens", "gradable", "parent_native_id",
    }
)  # fmt: skip

VARIANTS = {
    "session": Variant("`<session>.jsonl` and `<session>/subagents/agent-<id>.jsonl`",
                       _CARRIES | {"seconds", "started_at"}, whole=True),
    "stream": Variant("`--output-format stream-json`: from `system` `init` to `result`",
                      _CARRIES | {"tools_offered", "cost", "seconds"}, whole=True),
}  # fmt: skip

_SPEAKERS = frozenset({"user", "assistant", "system"})
_BESIDE = frozenset({"file-history-snapshot", "queue-operation"})
_TALK = frozenset({"user", "assistant", "tool_use", "tool_result"})
_KNOWN = _TALK | _BESIDE | {
    "system", "summary", "attachment", "progress", "last-prompt", "custom-title", "ai-title", "agent-name", "mode",
    "permission-mode", "pr-link", "worktree-state", "bridge-session", "started", "result", "frame-link", "relocated",
    "atis-latch", "stream_event", "tool_progress", "auth_status", "rate_limit_event", "control_request",
    "control_response", "control_cancel_request", "keep_alive",
}  # fmt: skip
"""Kinds of lines that are read, or passed over on purpose."""
_NOT_OURS = ("message", "tool_call", "completion")
"""Kinds of the stream of Droid, which begins with the same line."""
_SUBAGENT = re.compile(r"agent-([\w-]{1,64})(\.meta\.json|\.jsonl)")


def group(relpath: str, variant: str) -> str | None:
    """The session's file; its subagents' files stand in a folder named for it."""
    path = PurePosixPath(relpath)
    if path.parent.name == "subagents" and _SUBAGENT.fullmatch(path.name) and len(path.parts) > 2:
        return f"{path.parent.parent}.jsonl"
    return relpath


def recognise(probe: Probe) -> str | None:
    """Lines with ``sessionId`` and ``uuid``; a stream begins with ``init``."""
    named = _SUBAGENT.fullmatch(probe.name)
    if probe.shape == "object" and named and named[2] == ".meta.json" and probe.parent_name == "subagents":
        return "session" if "agentType" in probe.keys else None
    if probe.shape != "lines":
        return None
    rows = [record for record in probe.records if isinstance(record, dict)]
    if any(row.get("type") in _NOT_OURS for row in rows):
        return None
    if any(map(_is_stream_line, rows)):
        return "stream"
    return "session" if any(map(_is_session_line, rows)) else None


def _is_session_line(row: dict[str, Any]) -> bool:
    kind = row.get("type")
    if not isinstance(kind, str):
        return False
    if kind in _SPEAKERS:
        return {"sessionId", "uuid"} <= set(row)
    beside = kind in _BESIDE and bool({"sessionId", "messageId"} & set(row))
    return beside or (kind == "summary" and "leafUuid" in row)


def _is_stream_line(row: dict[str, Any]) -> bool:
    if "session_id" not in row:
        return False
    return (row.get("type"), row.get("subtype")) == ("system", "init") or (
        row.get("type") == "result" and "num_turns" in row
    )


def read(bundle: Bundle) -> Records:
    """The session's trajectory and one for each subagent, about which no verdict is."""
    problems: list[Problem] = []
    kinds: dict[str, str | None] = {}
    number_of = 0
    for file in bundle.files:
        found = _SUBAGENT.fullmatch(PurePosixPath(file.relpath).name)
        if found and found[2] == ".meta.json":
            kinds[found[1]] = _agent_type(file, problems)
    for file in bundle.files:
        if not file.relpath.endswith(".meta.json"):
            rows = _rows(bundle, file, problems)
            yield from problems
            problems.clear()
            for trajectory in _conversations(rows, bundle, file, kinds):
                trajectory.ordinal = str(number_of)
                number_of += 1
                yield trajectory
    if not number_of:
        yield from problems
        yield Problem("no_messages", "no message of a user or an agent; expected lines of a session")


def _agent_type(file: SourceFile, problems: list[Problem]) -> str | None:
    try:
        return word(mapping(load(file, problems)).get("agentType"))
    except (ValueError, RecursionError) as error:
        problems.append(Problem("unreadable_record", f"{PurePosixPath(file.relpath).name}: {error}"))
        return None


def _rows(bundle: Bundle, file: SourceFile, problems: list[Problem]) -> list[dict[str, Any]]:
    own = Bundle(bundle.format, bundle.variant, (file,))
    return [row for _, row in json_lines(own, problems) if isinstance(row, dict)]


def _conversations(
    rows: list[dict[str, Any]], bundle: Bundle, file: SourceFile, kinds: dict[str, str | None]
) -> Iterator[Trajectory]:
    """The main conversation and those of subagents: files of their own, or lines marked as such among the main ones."""
    found = _SUBAGENT.fullmatch(PurePosixPath(file.relpath).name)
    if not any(kind_of(row) in _TALK for row in rows):
        return
    for key, lines in _parts(rows).items():
        trajectory = _trajectory(lines, bundle)
        try:
            kept, left = without_rewound(lines)
            fill(trajectory, kept)
            trajectory.problems += [one for one in (left.problem(), _unknown(lines)) if one is not None]
        except RecursionError:
            trajectory.problems.append(Problem("unreadable_record", "a value is nested too deeply to be read"))
        task_of_prompt(trajectory)
        if key or found:
            name = kinds.get(found[1]) if found else None
            trajectory.agent = f"Claude Code {name or 'subagent'}"
            trajectory.parent_native_id = trajectory.native_id
            trajectory.native_id = found[1] if found else key
            trajectory.gradable = False
        else:
            _result(trajectory, rows)
        yield trajectory


def _unknown(rows: list[dict[str, Any]]) -> Problem | None:
    unknown = UnknownKinds()
    for row in rows:
        if kind_of(row) not in _KNOWN:
            unknown.saw(row.get("type"), row)
    return unknown.problem()


def _parts(rows: list[dict[str, Any]]) -> dict[str, list[dict[str, Any]]]:
    """Lines by conversation; the main one has an empty key. A file of sidechain lines alone is one conversation."""
    talking = [row for row in rows if row.get("type") in ("user", "assistant")]
    mixed = any(row.get("isSidechain") is True for row in talking) and not all(
        row.get("isSidechain") is True for row in talking
    )
    parts: dict[str, list[dict[str, Any]]] = {"": []}
    roots: dict[str, str] = {}
    for row in rows:
        key = word(row.get("parent_tool_use_id")) or ""
        uuid = word(row.get("uuid")) or ""
        if mixed and row.get("isSidechain") is True:
            parent = word(row.get("parentUuid"))
            key = first(word(row.get("agentId")), roots.get(parent) if parent else None, uuid) or "sidechain"
            roots[uuid] = key
        parts.setdefault(key, []).append(row)
    return parts


def _trajectory(rows: list[dict[str, Any]], bundle: Bundle) -> Trajectory:
    def any_of(*names: str) -> str | None:
        return next((value for row in rows for name in names if (value := word(row.get(name)))), None)

    return Trajectory(
        bundle.variant,
        "0",
        native_id=any_of("sessionId", "session_id"),
        agent="Claude Code",
        agent_version=any_of("version", "claude_code_version"),
    )


def _result(trajectory: Trajectory, rows: list[dict[str, Any]]) -> None:
    """What a stream says at its beginning and end; its totals include the subagents."""
    for row in rows:
        if (row.get("type"), row.get("subtype")) == ("system", "init"):
            names = [name for tool in items(row.get("tools")) if (name := word(tool))]
            trajectory.tools_offered = names or None
            trajectory.model = first(word(row.get("model")), trajectory.model)
    results = [row for row in rows if row.get("type") == "result" and "num_turns" in row]
    if not results:
        return
    last = results[-1]
    trajectory.stop_reason = first(word(last.get("terminal_reason")), word(last.get("subtype")))
    trajectory.termination = classify_claude_code(trajectory.stop_reason)
    trajectory.cost = number(last.get("total_cost_usd"))
    milliseconds = count(last.get("duration_ms"))
    trajectory.seconds = None if milliseconds is None else milliseconds / 1000
