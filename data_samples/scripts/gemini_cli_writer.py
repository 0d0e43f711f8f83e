"""Write chats in Gemini CLI's layouts. Usage: python gemini_cli_writer.py OUT

The keys are those of @google/gemini-cli-core 0.61.0; Gemini CLI needs its provider and did not run. The words are `scaffold_plans.py`'s.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from scaffold_plans import AFTER, BEFORE, CHECK, ISSUE, LOOK, MODEL, REPAIR, REPRODUCE, Turn, write_json, write_lines

sys.dont_write_bytecode = True
Json = dict[str, Any]
HEADER = {"sessionId": "00000000-0000-4000-8000-000000000102", "projectHash": "0" * 64, "kind": "main",
          "startTime": "2026-01-01T00:00:00.000Z", "lastUpdated": "2026-01-01T00:02:00.000Z"}


def when(number: int) -> str:
    return f"2026-01-01T00:{number // 6:02d}:{10 * (number % 6):02d}.000Z"


def native(turn: Turn) -> tuple[str, Json]:
    if turn.kind == "shell":
        return "run_shell_command", {"command": turn.command, "description": turn.thought}
    if turn.kind == "read":
        return "read_file", {"file_path": turn.path}
    return "replace", {"file_path": turn.path, "old_string": BEFORE, "new_string": AFTER, "instruction": turn.thought}


def said(turn: Turn, number: int, status: str = "success") -> Json:
    name, arguments = native(turn)
    output = turn.output
    if turn.kind == "shell":
        output = f"Output: {output}Error: (none)\nExit Code: {turn.exit_code}\nSignal: 0\nProcess Group PGID: 1"
    response = {"output": output} if status == "success" else {"error": "cancelled or failed"}
    call = {"id": f"{name}-{number}", "name": name, "args": arguments, "status": status, "timestamp": when(number),
            "displayName": name, "resultDisplay": output,
            "result": [{"functionResponse": {"id": f"{name}-{number}", "name": name, "response": response}}]}
    return {"id": f"m{number}", "timestamp": when(number), "type": "gemini", "content": turn.thought, "model": MODEL,
            "thoughts": [{"subject": "Repair", "description": f"Turn {number}.", "timestamp": when(number)}],
            "tokens": {"input": 900, "output": 40, "cached": 600, "thoughts": 10, "tool": 0, "total": 950},
            "toolCalls": [call]}


def messages() -> list[Json]:
    turns = [said(turn, number) for number, turn in enumerate((LOOK, REPRODUCE, REPAIR, CHECK), 1)]
    turns[2]["toolCalls"].append(said(LOOK, 9, "error")["toolCalls"][0])
    turns[3]["toolCalls"].append(said(LOOK, 10, "cancelled")["toolCalls"][0])
    last = {"id": "m7", "timestamp": when(7), "type": "gemini", "content": "Leap years are read.", "model": MODEL,
            "thoughts": [], "tokens": {"input": 900, "output": 40, "cached": 600, "thoughts": 0, "tool": 0, "total": 940}}
    return [{"id": "m0", "timestamp": when(0), "type": "user", "content": [{"text": ISSUE}]}, *turns,
            {"id": "m6", "timestamp": when(6), "type": "info", "content": "Request cancelled."}, last]


def history() -> Json:
    """Contents as the API takes them: results come from the user, one of them without an id."""
    contents: list[Json] = [{"role": "user", "parts": [{"text": ISSUE}, {"inlineData": {"mimeType": "image/png", "data": "AAAA"}}]}]
    for number, turn in enumerate((LOOK, REPRODUCE, CHECK), 1):
        told = said(turn, number, "error" if turn is LOOK else "success")["toolCalls"][0]
        key = {} if turn is CHECK else {"id": told["id"]}
        response = told["result"][0]["functionResponse"]["response"]
        contents += [{"role": "model", "parts": [{"text": f"Turn {number}.", "thought": True}, {"text": turn.thought},
                                                 {"functionCall": {"name": told["name"], "args": told["args"], **key}}]},
                     {"role": "user", "parts": [{"functionResponse": {"name": told["name"], "response": response, **key}}]}]
    contents.append({"role": "gemini", "parts": [{"text": "Leap years are read."}]})
    clock = [{**content, "ts": 1_767_225_600 + 10 * number} for number, content in enumerate(contents)]
    return {"history": clock, "meta": {"model": MODEL}, "start_time": "2026-01-01T00:00:00.000Z", "summary": "Leap years",
            "lastUpdated": "2026-01-01T00:02:00.000Z"}


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    write_json(out / "json" / "chats" / "session-2026-01-01T00-00-102.json", {**HEADER, "messages": messages()})
    write_json(out / "history" / "checkpoint.json", history())
    helper = {**HEADER, "sessionId": "104", "kind": "subagent", "messages": messages()[:2]}
    later = {"id": "m8", "timestamp": when(8), "type": "debate", "content": "A kind that came later."}
    write_json(out / "subagent" / "chats" / "session-2026-01-01T00-00-104.json", {**helper, "messages": [*helper["messages"], later]})
    write_lines(out / "subagent" / "chats" / "session-2026-01-01T00-00-105.jsonl",
                [{**HEADER, "sessionId": "105", "kind": "subagent"}, *messages()[:2]])
    user, *rest = messages()
    rows: list[Json] = [dict(HEADER), user, {"$set": {"lastUpdated": when(1)}}, said(REPAIR, 20), {"$rewindTo": "m0"}]
    rows += [{**rest[0], "toolCalls": []}, rest[0], *rest[1:], {"$set": {"lastUpdated": HEADER["lastUpdated"]}}, {"$pin": "m0"}]
    write_lines(out / "jsonl" / "chats" / "session-2026-01-01T00-00-102.jsonl", rows)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
