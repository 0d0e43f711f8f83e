"""Write transcripts in Cursor's layout. Usage: python cursor_writer.py OUT

The keys are those of fixtures and readers of others; Cursor needs an editor and did not run. The words are `scaffold_plans.py`'s.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from scaffold_plans import AFTER, BEFORE, CHECK, ISSUE, LOOK, MODEL, REPAIR, REPRODUCE, Turn, write_lines

sys.dont_write_bytecode = True
Json = dict[str, Any]
SESSION = "00000000-0000-4000-8000-000000000102"


def message(role: str, *content: Json, **beside: Any) -> Json:
    return {"role": role, "message": {"content": list(content)}, **beside}


def words(said: str) -> Json:
    return {"type": "text", "text": said}


def native(turn: Turn) -> tuple[str, Json]:
    if turn.kind == "shell":
        return "Shell", {"command": turn.command, "description": turn.thought}
    if turn.kind == "read":
        return "Read", {"path": turn.path}
    return "StrReplace", {"path": turn.path, "old_string": BEFORE, "new_string": AFTER}


def opening(said: str) -> Json:
    return message("user", words(f"<timestamp>Thursday</timestamp>\n<user_query>\n{said}\n</user_query>"))


def transcript() -> list[Json]:
    """As most are: calls without their results."""
    rows = [opening(ISSUE)]
    for turn in (LOOK, REPRODUCE, REPAIR, CHECK):
        name, arguments = native(turn)
        rows.append(message("assistant", words(turn.thought), {"type": "tool_use", "name": name, "input": arguments}))
    task = {"type": "tool_use", "name": "Task", "input": {"prompt": "Find other calendars"}}
    return [*rows, message("assistant", words("I ask."), task), message("assistant", words("Leap years are read.")),
            {"type": "turn_ended", "status": "success"}]


def subagent() -> list[Json]:
    return [message("user", words("Find other calendars")),
            message("assistant", {"type": "tool_use", "name": "Grep", "input": {"pattern": "DAYS"}}),
            message("assistant", words("There are none."))]


def with_results() -> list[Json]:
    """Results by id and in order; blocks and records of kinds that came later."""
    rows = [message("user", words(ISSUE), metadata={"workspaceId": "w"})]
    for number, turn in enumerate((LOOK, REPRODUCE), 1):
        name, arguments = native(turn)
        call = {"type": "tool_call" if number == 1 else "tool_use", "name": name, "input": arguments}
        result: Json = {"type": "tool-result", "name": name, "content": [words(turn.output)]}
        if number == 2:
            call |= {"id": "t2"}
            result = {"type": "tool_result", "tool_use_id": "t2", "content": f"Exit code: {turn.exit_code}\n{turn.output}", "is_error": True}
        rows += [message("assistant", {"type": "thinking", "thinking": f"Turn {number}."}, call, model=MODEL), message("user", result)]
    return [*rows, {"type": "annotation", "content": "A kind that came later."},
            message("assistant", {"type": "custom_block", "text": "A test fails."})]


def ended(status: str, error: str) -> list[Json]:
    name, arguments = native(REPRODUCE)
    return [opening(ISSUE), message("assistant", words(REPRODUCE.thought), {"type": "tool_use", "name": name, "input": arguments}),
            {"type": "turn_ended", "status": status, "error": error}]


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    folder = out / "transcripts" / "agent-transcripts" / SESSION
    write_lines(folder / f"{SESSION}.jsonl", transcript())
    write_lines(folder / "subagents" / f"{SESSION.replace('102', '103')}.jsonl", subagent())
    write_lines(out / "results" / f"{SESSION.replace('102', '104')}.jsonl", with_results())
    write_lines(out / "ended" / f"{SESSION.replace('102', '105')}.jsonl", ended("error", "User aborted request"))
    write_lines(out / "ended" / f"{SESSION.replace('102', '106')}.jsonl", ended("error", "The provider is overloaded"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
