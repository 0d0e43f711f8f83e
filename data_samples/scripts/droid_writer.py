"""Write sessions in Droid's layouts. Usage: python droid_writer.py OUT

The keys are those of fixtures of others; Droid needs its provider and did not run. The words are `scaffold_plans.py`'s.
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
START = 1_767_225_600_000
REMINDER = "<system-reminder>\nBe concise.\n</system-reminder>\n\n"


def native(turn: Turn) -> tuple[str, Json]:
    if turn.kind == "shell":
        return "Execute", {"command": turn.command, "riskLevel": "low"}
    if turn.kind == "read":
        return "Read", {"file_path": turn.path}
    return "Edit", {"file_path": turn.path, "old_str": BEFORE, "new_str": AFTER}


def session() -> list[Json]:
    rows: list[Json] = [{"type": "session_start", "id": SESSION, "title": "Leap years", "cwd": "/work", "owner": "user", "version": "0.81.0"}]

    def say(role: str, *content: Json) -> None:
        number = len(rows)
        rows.append({"type": "message", "id": f"m{number}", "parentId": f"m{number - 1}", "timestamp": f"2026-01-01T00:00:{5 * number:02d}.000Z",
                     "message": {"role": role, "content": list(content)}})

    say("user", {"type": "text", "text": REMINDER + ISSUE})
    for number, turn in enumerate((LOOK, REPRODUCE, REPAIR, CHECK), 1):
        name, arguments = native(turn)
        failed = turn.exit_code != 0
        output = f"Error: Command failed (exit code: {turn.exit_code})\n{turn.output}" if failed else turn.output
        say("assistant", {"type": "thinking", "thinking": f"Turn {number}."}, {"type": "text", "text": turn.thought},
            {"type": "tool_use", "id": f"tu{number}", "name": name, "input": arguments})
        say("user", {"type": "tool_result", "tool_use_id": f"tu{number}", "content": output, "is_error": failed})
    rows.append({"type": "todo_state", "id": "t", "todos": {"todos": "1. [completed] repair"}})
    rows.append({"type": "critique", "content": "A kind that came later."})
    say("assistant", {"type": "text", "text": "Leap years are read."})
    return rows


def stream(*, newer: bool) -> list[Json]:
    """The older spelling ends with a text that is told only there, the newer one with one that is told twice, and usage."""
    rows: list[Json] = []

    def add(kind: str, **more: Any) -> None:
        number = len(rows)
        when: Json = {"timestamp": START + 5000 * number} if newer else {"timestamp": f"2026-01-01T00:00:{5 * number:02d}.000Z"}
        rows.append({"type": kind, "sessionId" if newer else "session_id": SESSION, **when, **more})

    add("system", subtype="init", model=MODEL, cwd="/work", tools=["Execute", "Read", "Edit"])
    add("message", role="user", text=REMINDER + ISSUE, id="m1")
    for number, turn in enumerate((LOOK, REPRODUCE, REPAIR, CHECK), 1):
        name, arguments = native(turn)
        call: Json = {"id": f"c{number}", "messageId": "m1", "toolId": name} if newer else {"id": f"tc{number}", "toolCallId": f"c{number}"}
        add("message", role="assistant", text=turn.thought, id=f"a{number}")
        add("tool_call", toolName=name, parameters=arguments, **call)
        given: Json = {"value": turn.output, "isError": turn.exit_code != 0} if newer else {"value": {"stdout": turn.output, "stderr": "", "exitCode": turn.exit_code}}
        add("tool_result", **call, **given)
    if newer:
        add("message", role="assistant", text="Leap years are read.", id="a9")
        usage = {"input_tokens": 300, "output_tokens": 200, "cache_read_input_tokens": 3000, "cache_creation_input_tokens": 1200}
        add("completion", finalText="Leap years are read.", usage=usage)
    else:
        add("thought", text="A kind that came later.")
        add("completion", finalText="Leap years are read.", id="end")
    return rows


def failed() -> list[Json]:
    rows = stream(newer=True)[:5]
    return [*rows, {"type": "error", "source": "cli", "message": "Authentication failed.", "timestamp": START + 30_000, "sessionId": SESSION}]


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    write_lines(out / "sessions" / "-work" / f"{SESSION}.jsonl", session())
    write_lines(out / "stream_json" / "older.jsonl", stream(newer=False))
    write_lines(out / "stream_json" / "newer.jsonl", stream(newer=True))
    write_lines(out / "stream_json" / "failed.jsonl", failed())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
