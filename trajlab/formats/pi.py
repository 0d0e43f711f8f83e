"""Pi: session files of its coding agent.

Source: ``packages/coding-agent/docs/session.md`` of pi-mono (versions 1 to 3), and a fixture of others. Entries form a
tree; all of them count in the order they were written: branches that were left are not left out. Commands that the user
ran are messages, not calls.
"""

from __future__ import annotations

from typing import Any

from trajlab.behavior.termination import PI
from trajlab.formats import Variant
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
    fill_session(reader, rows)
    sum_tokens(trajectory)
    trajectory.cached_tokens = total(reader.cached)
    trajectory.cost = total(step.cost for step in trajectory.steps)
    yield trajectory


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
        step.prompt_tokens = total(count(usage.get(key)) for key in ("input", "cacheRead", "cacheWrite"))
        step.completion_tokens = count(usage.get("output"))
        step.cost = number(mapping(usage.get("cost")).get("total"))
        self.cached.append(count(usage.get("cacheRead")))
        step.finish_reason = word(message.get("stopReason"))
        if not self._model_told and (model := word(message.get("model"))):
            self.trajectory.model, self._model_told = model, True
        ends = step.finish_reason in PI
        self.trajectory.stop_reason = step.finish_reason if ends else None
        self.trajectory.termination = PI[str(step.finish_reason)] if ends else None
