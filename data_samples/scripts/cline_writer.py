"""Write tasks and sessions in Cline's layouts. Usage: python cline_writer.py OUT

The keys are those of Cline's `ExtensionMessage.ts` and of a converter of its sessions; Cline needs an editor and a provider and did not
run. The words are `scaffold_plans.py`'s.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from scaffold_plans import CHECK, ISSUE, LOOK, MODEL, REPAIR, REPRODUCE, Turn, write_json

sys.dont_write_bytecode = True
Json = dict[str, Any]
START = 1_767_225_600_000
DIFF = "------- SEARCH\nDAYS = (31, 28\n=======\nDAYS = (31, 29\n+++++++ REPLACE"


def native(turn: Turn) -> tuple[str, dict[str, str]]:
    if turn.kind == "shell":
        return "execute_command", {"command": turn.command, "requires_approval": "false"}
    if turn.kind == "read":
        return "read_file", {"path": turn.path}
    return "replace_in_file", {"path": turn.path, "diff": DIFF}


def result(turn: Turn) -> str:
    if turn.kind != "shell":
        return turn.output
    return f"Command executed.\nOutput:\n{turn.output}\nExit code: {turn.exit_code}"


def opening() -> Json:
    details = "<environment_details>\n# Current Time\n1/1/2026\n</environment_details>"
    return {"role": "user", "content": [{"type": "text", "text": f"<task>\n{ISSUE}\n</task>"}, {"type": "text", "text": details}]}


def tagged(turns: list[Turn]) -> list[Json]:
    """Calls as tags in the text; one turn without any, one call that the user denies."""
    history = [opening()]
    for turn in turns:
        name, arguments = native(turn)
        tags = "".join(f"<{key}>{value}</{key}>\n" for key, value in arguments.items())
        history += [{"role": "assistant", "content": [{"type": "text", "text": f"{turn.thought}\n<{name}>\n{tags}</{name}>"}]},
                    {"role": "user", "content": [{"type": "text", "text": f"[{name}] Result:"}, {"type": "text", "text": result(turn)}]}]
    return history + [
        {"role": "assistant", "content": [{"type": "text", "text": "I think it is done."}]},
        {"role": "user", "content": [{"type": "text", "text": "[ERROR] You did not use a tool in your previous response!"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "<execute_command><command>git push</command></execute_command>"}]},
        {"role": "user", "content": [{"type": "text", "text": "[execute_command] Result:"}, {"type": "text", "text": "The user denied this operation."}]},
        {"role": "assistant", "content": [{"type": "text", "text": "<attempt_completion>\n<result>Leap years are read.</result>\n</attempt_completion>"}]},
    ]


def with_calls(turns: list[Turn], *, session: bool) -> list[Json]:
    history = [opening()]
    for number, turn in enumerate(turns, 1):
        name, arguments = native(turn)
        history += [{"role": "assistant", "content": [{"type": "thinking", "thinking": f"Turn {number}.", "signature": ""},
                                                      {"type": "text", "text": turn.thought},
                                                      {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": result(turn)}]}]
    if session:
        for number, message in enumerate(history):
            message |= {"id": f"m{number}", "ts": START + 5000 * number}
            if message["role"] == "assistant":
                message |= {"modelInfo": {"id": MODEL, "provider": "scripted"},
                            "metrics": {"inputTokens": 100, "outputTokens": 40, "cacheReadTokens": 600, "cacheWriteTokens": 200,
                                        "cost": 0.004}}
    return history


def interface(answers: int, end: Json) -> list[Json]:
    used = json.dumps({"request": "x", "tokensIn": 100, "tokensOut": 40, "cacheWrites": 200, "cacheReads": 600, "cost": 0.004})
    rows: list[Json] = [{"type": "say", "say": "text", "text": ISSUE}]
    rows += [{"type": "say", "say": "api_req_started", "text": used} for _ in range(answers)]
    return [{"ts": START + 5000 * number, **row} for number, row in enumerate([*rows, end])]


def task(folder: Path, history: list[Json], end: Json) -> None:
    answers = sum(message["role"] == "assistant" for message in history)
    write_json(folder / "api_conversation_history.json", history)
    write_json(folder / "ui_messages.json", interface(answers, end))
    write_json(folder / "task_metadata.json", {"files_in_context": [], "model_usage": [{"ts": START, "model_id": MODEL}]})


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    turns = [LOOK, REPRODUCE, REPAIR, CHECK]
    task(out / "tags" / "tasks" / str(START), tagged(turns), {"type": "ask", "ask": "completion_result", "text": ""})
    task(out / "native" / "tasks" / str(START + 1), with_calls(turns[:2], session=False),
         {"type": "ask", "ask": "api_req_failed", "text": "overloaded"})
    write_json(out / "cli" / "sessions" / "102" / "102.messages.json",
               {"sessionId": "102", "messages": with_calls(turns, session=True)})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
