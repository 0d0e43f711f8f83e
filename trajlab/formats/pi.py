"""Pi: session files of its coding agent.

Source: ``packages/coding-agent/docs/session.md`` of pi-mono (versions 1 to 3), and a fixture of others. Entries form a
tree: the branch that leads to the last entry is the conversation, those that were left are counted apart. Commands that
the user ran are messages, not calls.
"""

from __future__ import annotations

from typing import Any

from trajlab.behavior.termination import PI
from trajlab.formats import Variant
from trajlab.formats._branches import Left, Node, last_branch
from trajlab.formats._sessions import UnknownKinds, agent_blocks, fill_session, kind_of, rows_of, settle
from trajlab.formats._turns import Turns, sum_tokens
from trajlab.formats._values import (
    Records,
    content_text,
    count,
    first,
    flag,
    joined,
    mapping,
    moment,
    number,
    text,
    total,
    word,
)
from trajlab.records import Problem, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

VARIANTS = {
    "session": Variant(
        "`sessions/**/<time>_<id>.jsonl`: a line `session`, then entries with `id` and `parentId`",
        frozenset(
            {
                "native_id", "task_id", "agent", "model", "logged_termination", "stop_reason", "prompt_tokens",
                "completion_tokens", "cached_tokens", "cost", "seconds", "started_at",
            }
        ),
        whole=True,
    ),
}  # fmt: skip

_BESIDE = frozenset({"session", "thinking_level_change", "label", "session_info", "custom"})
_SUMMARIES = frozenset({"compaction", "branch_summary"})
_INJECTED = frozenset({"custom", "hookMessage", "branchSummary", "compactionSummary"})


def recognise(probe: Probe) -> str | None:
    """A line ``session`` with its id and folder."""
    if probe.shape != "lines" or not probe.records:
        return None
    rows = [record for record in probe.records if isinstance(record, dict)]
    return "session" if any(map(_is_header, rows)) else None


def _is_header(row: dict[str, Any]) -> bool:
    return row.get("type") == "session" and {"id", "cwd", "timestamp"} <= set(row)


def read(bundle: Bundle) -> Records:
    """One trajectory a file."""
    problems: list[Problem] = []
    rows = rows_of(bundle, problems)
    yield from problems
    reader = _Reader(Trajectory(bundle.variant, "0", agent="Pi"))
    trajectory = reader.trajectory
    kept, left = _on_branch(rows)
    fill_session(reader, kept)
    if (found := left.problem()) is not None:
        trajectory.problems.append(found)
    sum_tokens(trajectory)
    trajectory.cached_tokens = total(reader.cached)
    trajectory.cost = total(step.cost for step in trajectory.steps)
    yield trajectory


def _on_branch(rows: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], Left]:
    """Entries on the way to the last one, and what stands elsewhere; entries of version 1 form a list."""
    nodes = [Node(word(row.get("id")), word(row.get("parentId")), _is_root(row)) for row in rows]
    kept, left = last_branch(nodes), Left()
    for at, row in enumerate(rows):
        message = mapping(row.get("message"))
        if at not in kept and not _is_header(row):
            left.records += 1
            if message.get("role") == "assistant":
                prompt, completion = _used(mapping(message.get("usage")))
                left.answers += 1
                left.prompt_tokens += prompt or 0
                left.completion_tokens += completion or 0
    return [row for at, row in enumerate(rows) if at in kept or _is_header(row)], left


def _is_root(row: dict[str, Any]) -> bool:
    return "parentId" in row and row["parentId"] is None


def _used(usage: dict[str, Any]) -> tuple[int | None, int | None]:
    """Prompt tokens, cached ones included, and generated ones."""
    return total(count(usage.get(key)) for key in ("input", "cacheRead", "cacheWrite")), count(usage.get("output"))


class _Reader:
    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.turns = Turns(trajectory)
        self.unknown = UnknownKinds()
        self.cached: list[int | None] = []
        self._model_told = False

    def take(self, row: dict[str, Any]) -> None:
        kind, message = kind_of(row), mapping(row.get("message"))
        if kind == "message":
            self._message(message, row)
        elif kind in _SUMMARIES:
            self.turns.say("system", text(row.get("summary")) or "")
        elif kind == "custom_message":
            self.turns.say("system", content_text(row.get("content")))
        elif kind in ("session", "model_change"):
            if kind == "session":
                self.trajectory.native_id = first(self.trajectory.native_id, word(row.get("id")))
            if not self._model_told:
                self.trajectory.model = first(word(row.get("modelId")), self.trajectory.model)
        elif kind not in _BESIDE:
            self.unknown.saw(kind, row)

    def _message(self, message: dict[str, Any], row: dict[str, Any]) -> None:
        role = text(message.get("role")) or ""
        if role == "assistant":
            self._answer(message, row)
        elif role == "user":
            self._say("user", content_text(message.get("content")))
        elif role == "toolResult":
            call = self.turns.answer(message.get("toolCallId"), content_text(message.get("content")))
            if call is not None:
                settle(call, flag(message.get("isError")))
        elif role == "bashExecution":
            self._say("user", joined([f"! {text(message.get('command')) or ''}", text(message.get("output"))]) or "")
        elif role in _INJECTED:
            self._say("system", content_text(first(message.get("content"), message.get("summary"))))
        else:
            self.unknown.saw(role, message)

    def _say(self, role: str, said: str) -> None:
        self.turns.say(role, said)
        if role == "user":
            self.trajectory.stop_reason = self.trajectory.termination = None

    def _answer(self, message: dict[str, Any], row: dict[str, Any]) -> None:
        step = self.turns.step()
        step.timestamp = first(moment(message.get("timestamp")), moment(row.get("timestamp")))
        agent_blocks(self.turns, step, message.get("content"))
        usage = mapping(message.get("usage"))
        step.prompt_tokens, step.completion_tokens = _used(usage)
        step.cost = number(mapping(usage.get("cost")).get("total"))
        self.cached.append(count(usage.get("cacheRead")))
        step.finish_reason = word(message.get("stopReason"))
        if not self._model_told and (model := word(message.get("model"))):
            self.trajectory.model, self._model_told = model, True
        ends = step.finish_reason in PI
        self.trajectory.stop_reason = step.finish_reason if ends else None
        self.trajectory.termination = PI[str(step.finish_reason)] if ends else None
