"""Cursor: transcripts of its agent, one file a session or subagent.

Source: fixtures and readers of others. Transcripts hold neither times nor tokens; most hold no results, and then it is
not known which calls were run. What the user wrote may stand in ``<user_query>``, with what the editor added around it.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

from trajlab.behavior.termination import CURSOR
from trajlab.formats import Variant
from trajlab.formats._sessions import RESULTS, UnknownKinds, agent_blocks, apart, kind_of, rows_of, take_results
from trajlab.formats._turns import Turns, task_of_prompt
from trajlab.formats._values import Records, content_text, first, mapping, mappings, text, word
from trajlab.records import Problem, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

VARIANTS = {
    "transcript": Variant(
        "`agent-transcripts/<id>/<id>.jsonl` and `subagents/<id>.jsonl`: lines of `role`, `message`",
        frozenset(
            {
                "native_id", "task_id", "agent", "model", "logged_termination", "stop_reason", "gradable",
                "parent_native_id",
            }
        ),
        whole=True,
    ),
}  # fmt: skip

_QUERY = "user_query"
_ABORTED = "abort"


def recognise(probe: Probe) -> str | None:
    """Lines of ``role`` and ``message`` with its content, without ids or a ``type``."""
    if probe.shape != "lines":
        return None
    return "transcript" if any(map(_is_message, probe.records)) else None


def _is_message(row: Any) -> bool:
    if not isinstance(row, dict) or {"type", "uuid", "sessionId", "content"} & set(row):
        return False
    return row.get("role") in ("user", "assistant") and "content" in mapping(row.get("message"))


def read(bundle: Bundle) -> Records:
    """One trajectory a file."""
    problems: list[Problem] = []
    rows = rows_of(bundle, problems)
    yield from problems
    path = PurePosixPath(bundle.file.path)
    trajectory = Trajectory(bundle.variant, "0", native_id=path.stem, agent="Cursor")
    if path.parent.name == "subagents":
        trajectory.agent, trajectory.gradable = "Cursor subagent", False
        trajectory.parent_native_id = path.parent.parent.name or None
    try:
        _fill(trajectory, rows)
    except RecursionError:
        trajectory.problems.append(Problem("unreadable_record", "a value is nested too deeply to be read"))
    task_of_prompt(trajectory)
    yield trajectory


def _fill(trajectory: Trajectory, rows: list[dict[str, Any]]) -> None:
    turns, unknown = Turns(trajectory), UnknownKinds()
    answered = False
    for row in rows:
        content = mapping(row.get("message")).get("content")
        if row.get("role") == "assistant":
            trajectory.model = first(trajectory.model, word(row.get("model")))
            agent_blocks(turns, turns.step(), content)
        elif row.get("role") == "user":
            answered = answered or any(kind_of(block) in RESULTS for block in mappings(content))
            _user(turns, take_results(turns, content, in_order=True))
        elif row.get("type") == "turn_ended":
            _end(trajectory, row)
            continue
        else:
            unknown.saw(first(row.get("type"), row.get("role")), row)
            continue
        trajectory.stop_reason = trajectory.termination = None
    if answered:
        turns.close()
    if (found := unknown.problem()) is not None:
        trajectory.problems.append(found)


def _user(turns: Turns, content: Any) -> None:
    asked, around = apart(content_text(content), _QUERY)
    if asked is None:
        asked, around = around, ""
    for role, said in (("system", around), ("user", asked)):
        if said:
            turns.say(role, said)


def _end(trajectory: Trajectory, row: dict[str, Any]) -> None:
    status = word(row.get("status"))
    if status == "error" and _ABORTED in (text(row.get("error")) or "").lower():
        status = "aborted"
    trajectory.stop_reason = status
    trajectory.termination = CURSOR.get(status or "", "unknown")
