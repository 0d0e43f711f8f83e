"""Write sessions in Claude Code's layouts. Usage: python claude_code_writer.py OUT

The keys are those of the types of @anthropic-ai/claude-agent-sdk 0.3.332 and of the fixtures of readers of such sessions; Claude Code needs
its provider and did not run. The words are `scaffold_plans.py`'s.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from scaffold_plans import (AFTER, BEFORE, CHECK, ISSUE, LOOK, MODEL, REPAIR, REPRODUCE, Turn, write_json, write_lines)

sys.dont_write_bytecode = True
Json = dict[str, Any]
SESSION = "00000000-0000-4000-8000-000000000102"


class Log:
    """Lines with a made-up clock; ``stream`` writes those of `--output-format stream-json`."""

    def __init__(self, session: str, *, stream: bool = False, side: bool = False) -> None:
        self.rows: list[Json] = []
        self.session, self.stream, self.side = session, stream, side
        self.answers = 0
        self.parent: str | None = None

    def add(self, kind: str, **more: Any) -> None:
        if self.stream:
            self.rows.append({"type": kind, "session_id": self.session, "parent_tool_use_id": self.parent, **more})
            return
        number = len(self.rows)
        self.rows.append({
            "parentUuid": f"{self.session[-3:]}-{number - 1}" if number else None, "isSidechain": self.side,
            "userType": "external", "cwd": "/work", "sessionId": self.session, "version": "2.1.80", "gitBranch": "main",
            "type": kind, "uuid": f"{self.session[-3:]}-{number}",
            "timestamp": f"2026-01-01T00:{number // 12:02d}:{5 * (number % 12):02d}.000Z", **more})

    def user(self, text: str, **more: Any) -> None:
        self.add("user", message={"role": "user", "content": text}, **more)

    def agent(self, *blocks: Json, error: bool = False) -> None:
        """One answer, a line for each of its blocks, each with the usage so far."""
        self.answers += 1
        for place, block in enumerate(blocks, 1):
            usage = {"input_tokens": 100, "cache_creation_input_tokens": 200, "cache_read_input_tokens": 600,
                     "output_tokens": 40 * place // len(blocks)}
            message = {"id": f"msg_{self.session[-3:]}_{self.answers}", "type": "message", "role": "assistant", "model": MODEL,
                       "content": [block], "stop_reason": None, "stop_sequence": None, "usage": usage}
            if error:
                message |= {"model": "<synthetic>"}
            more: Json = {"isApiErrorMessage": True} if error else {}
            self.add("assistant", message=message, **({} if self.stream else {"requestId": "req_1"}), **more)

    def turn(self, turn: Turn, number: int) -> None:
        name, arguments = native(turn)
        self.agent({"type": "thinking", "thinking": f"Turn {number}.", "signature": ""},
                   {"type": "text", "text": turn.thought},
                   {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments})
        failed = turn.exit_code != 0
        self.result(number, f"Exit code {turn.exit_code}\n{turn.output}" if failed else turn.output, failed)

    def result(self, number: int, output: str, failed: bool, detail: Any = None) -> None:
        block = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": output, "is_error": failed}
        more = {"toolUseResult": detail or {"stdout": output, "stderr": "", "interrupted": False}}
        self.add("user", message={"role": "user", "content": [block]}, **({} if self.stream else more))


def native(turn: Turn) -> tuple[str, Json]:
    if turn.kind == "shell":
        return "Bash", {"command": turn.command, "description": turn.thought}
    if turn.kind == "read":
        return "Read", {"file_path": f"/work/{turn.path}"}
    return "Edit", {"file_path": f"/work/{turn.path}", "old_string": BEFORE, "new_string": AFTER}


def session() -> list[Json]:
    log = Log(SESSION)
    log.rows.append({"type": "file-history-snapshot", "messageId": "m0", "snapshot": {}})
    log.user("<local-command-caveat>", isMeta=True)
    log.user(ISSUE)
    for number, turn in enumerate((LOOK, REPRODUCE), 1):
        log.turn(turn, number)
    log.agent({"type": "tool_use", "id": "toolu_3", "name": "Task",
               "input": {"description": "find uses", "prompt": "Where is DAYS used?", "subagent_type": "Explore"}})
    log.result(3, "Nowhere else.", False, {"status": "completed"})
    log.agent({"type": "tool_use", "id": "toolu_4", "name": "Edit", "input": {"file_path": "/work/x.py"}})
    log.result(4, "<tool_use_error>InputValidationError: old_string is missing</tool_use_error>", True, "Error")
    log.agent({"type": "tool_use", "id": "toolu_5", "name": "Paint", "input": {}})
    log.result(5, "<tool_use_error>Error: No such tool available: Paint</tool_use_error>", True, "Error")
    log.turn(REPAIR, 6)
    log.turn(CHECK, 7)
    log.agent({"type": "text", "text": "Leap years are read."})
    return log.rows


def helper() -> list[Json]:
    log = Log(SESSION, side=True)
    log.user("Where is DAYS used?")
    log.agent({"type": "tool_use", "id": "toolu_1", "name": "Grep", "input": {"pattern": "DAYS", "path": "/work"}})
    log.result(1, "datekit/parse.py", False)
    log.agent({"type": "text", "text": "Nowhere else."})
    return [row | {"agentId": "a102"} for row in log.rows]


def failed() -> list[Json]:
    """The provider fails; then the user stops it."""
    log = Log(SESSION.replace("102", "103"))
    log.user(ISSUE)
    log.turn(LOOK, 1)
    log.agent({"type": "text", "text": "API Error: 529 overloaded"}, error=True)
    return log.rows


def interrupted() -> list[Json]:
    log = Log(SESSION.replace("102", "104"))
    log.user(ISSUE)
    log.agent({"type": "tool_use", "id": "toolu_1", "name": "Bash", "input": {"command": "sleep 99"}})
    log.result(1, "The user doesn't want to proceed with this tool use. The tool use was rejected.", True, "User rejected")
    log.user("[Request interrupted by user for tool use]")
    return log.rows


def rewound() -> list[Json]:
    """Two calls in one answer, whose results are side branches; a question that was taken back; a kind that came later."""
    log = Log(SESSION.replace("102", "105"))
    log.user(ISSUE)
    for number, turn in enumerate((LOOK, REPRODUCE), 1):
        log.turn(turn, number)
    log.agent({"type": "tool_use", "id": "toolu_3", "name": "Read", "input": {"file_path": "/work/datekit/parse.py"}},
              {"type": "tool_use", "id": "toolu_4", "name": "Glob", "input": {"pattern": "*.py"}})
    first = log.rows[-2]["uuid"]
    log.result(3, BEFORE, False)
    log.rows[-1]["parentUuid"] = first
    log.result(4, "datekit/parse.py", False)
    log.rows[-1]["parentUuid"] = log.rows[-3]["uuid"]
    fork = log.rows[-1]["uuid"]
    log.user("Delete the test instead.")
    log.agent({"type": "tool_use", "id": "toolu_5", "name": "Bash", "input": {"command": "rm tests/test_parse.py"}})
    log.result(5, "", False)
    log.agent({"type": "text", "text": "The test is gone."})
    log.user("Repair the parser.")
    log.rows[-1]["parentUuid"] = fork
    log.turn(REPAIR, 6)
    log.agent({"type": "text", "text": "Leap years are read."})
    log.rows.append({"type": "debate", "sessionId": log.session, "message": {"content": "A kind that came later."}})
    return log.rows


def stream(subtype: str, reason: str) -> list[Json]:
    log = Log(SESSION, stream=True)
    log.add("system", subtype="init", cwd="/work", tools=["Bash", "Edit", "Read", "Task"], model=MODEL,
            permissionMode="bypassPermissions", claude_code_version="2.1.80")
    for number, turn in enumerate((LOOK, REPRODUCE, REPAIR, CHECK), 1):
        log.turn(turn, number)
    log.agent({"type": "tool_use", "id": "toolu_5", "name": "Task", "input": {"prompt": "Look once more."}})
    log.parent = "toolu_5"
    log.user("Look once more.")
    log.agent({"type": "text", "text": "All is well."})
    log.parent = None
    log.result(5, "All is well.", False)
    log.agent({"type": "text", "text": "Leap years are read."})
    log.add("result", subtype=subtype, is_error=subtype != "success", duration_ms=61_000, num_turns=6,
            total_cost_usd=0.024, terminal_reason=reason, usage={"input_tokens": 700, "output_tokens": 280})
    return log.rows


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    folder = out / "session" / "-work"
    write_lines(folder / f"{SESSION}.jsonl", session())
    write_lines(folder / SESSION / "subagents" / "agent-a102.jsonl", helper())
    write_json(folder / SESSION / "subagents" / "agent-a102.meta.json", {"agentType": "Explore", "spawnDepth": 1})
    write_lines(out / "failed" / f"{SESSION.replace('102', '103')}.jsonl", failed())
    write_lines(out / "interrupted" / f"{SESSION.replace('102', '104')}.jsonl", interrupted())
    write_lines(out / "rewound" / f"{SESSION.replace('102', '105')}.jsonl", rewound())
    write_lines(out / "stream_json" / "success.jsonl", stream("success", "completed"))
    write_lines(out / "stream_json" / "max_turns.jsonl", stream("error_max_turns", "max_turns"))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
