"""Write sessions in Codex's layouts. Usage: python codex_writer.py OUT

The keys of `exec` are those of the types of @openai/codex-sdk 0.163.0, the keys of rollouts those of fixtures and converters of others;
Codex needs its provider and did not run. The words are `scaffold_plans.py`'s.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from scaffold_plans import CHECK, ISSUE, LOOK, MODEL, REPAIR, REPRODUCE, SYSTEM, write_lines

sys.dont_write_bytecode = True
Json = dict[str, Any]
SESSION = "00000000-0000-7000-8000-000000000102"
DIFF = "*** Begin Patch\n*** Update File: datekit/parse.py\n@@\n-DAYS = (31, 28)\n+DAYS = (31, 29)\n*** End Patch"


def usage(answers: int) -> Json:
    return {"input_tokens": 900 * answers, "cached_input_tokens": 600 * answers, "output_tokens": 40 * answers,
            "reasoning_output_tokens": 10 * answers, "total_tokens": 940 * answers}


class Rollout:
    """Lines of an envelope around each record."""

    def __init__(self) -> None:
        self.rows: list[Json] = []
        self.answers = 0
        self.add("session_meta", id=SESSION, timestamp="2026-01-01T00:00:00.000Z", cwd="/work", originator="codex_cli_rs",
                 cli_version="0.106.0", source="cli", model_provider="scripted", instructions=None)
        self.event("task_started")
        self.add("turn_context", cwd="/work", approval_policy="never", model=MODEL, effort="high")
        self.item(type="message", role="developer", content=[{"type": "input_text", "text": SYSTEM}])
        self.item(type="message", role="user", content=[{"type": "input_text", "text": "<environment_context>x</environment_context>"}])
        self.item(type="message", role="user", content=[{"type": "input_text", "text": ISSUE}])
        self.event("user_message", message=ISSUE)

    def add(self, kind: str, **payload: Any) -> None:
        number = len(self.rows)
        self.rows.append({"timestamp": f"2026-01-01T00:{number // 30:02d}:{2 * (number % 30):02d}.000Z", "type": kind,
                          "payload": payload})

    def item(self, **payload: Any) -> None:
        self.add("response_item", **payload)

    def event(self, kind: str, **payload: Any) -> None:
        self.add("event_msg", type=kind, **payload)

    def answered(self) -> None:
        """Told twice, as Codex does when limits are told anew."""
        self.answers += 1
        for _ in range(2):
            self.event("token_count", info={"total_token_usage": usage(self.answers), "last_token_usage": usage(1),
                                            "model_context_window": 258400})

    def shell(self, thought: str, command: str, output: str, code: int, *, old: bool = False) -> None:
        call = f"call_{self.answers + 1}"
        self.item(type="reasoning", summary=[{"type": "summary_text", "text": thought}], encrypted_content="x")
        self.event("agent_reasoning", text=thought)
        self.item(type="message", role="assistant", content=[{"type": "output_text", "text": thought}])
        self.event("agent_message", message=thought)
        arguments = {"command": ["bash", "-lc", command], "workdir": "/work"}
        self.item(type="function_call", name="shell", arguments=json.dumps(arguments), call_id=call)
        self.answered()
        if old:
            said = json.dumps({"output": output, "metadata": {"exit_code": code, "duration_seconds": 0.4}})
        else:
            self.event("exec_command_end", call_id=call, exit_code=code, stdout=output, stderr="",
                       duration={"secs": 0, "nanos": 400_000_000})
            said = f"Exit code: {code}\nWall time: 0.4 seconds\nOutput:\n{output}"
        self.item(type="function_call_output", call_id=call, output=said)

    def patch(self) -> None:
        self.item(type="custom_tool_call", name="apply_patch", input=DIFF, call_id="call_patch", status="completed")
        self.answered()
        self.event("patch_apply_end", call_id="call_patch", success=True, changes={"datekit/parse.py": {}})
        self.item(type="custom_tool_call_output", call_id="call_patch", output='{"output": "Success.", "metadata": {"exit_code": 0}}')

    def last(self) -> None:
        self.item(type="message", role="assistant", content=[{"type": "output_text", "text": "Leap years are read."}])
        self.answered()


def rollout() -> list[Json]:
    log = Rollout()
    log.shell(LOOK.thought, f"cat {LOOK.path}", LOOK.output, 0, old=True)
    log.shell(REPRODUCE.thought, REPRODUCE.command, REPRODUCE.output, 1)
    log.patch()
    log.shell(CHECK.thought, CHECK.command, CHECK.output, 0)
    log.item(type="agent_message", author="explorer", recipient="main", content=[{"type": "input_text", "text": "There are no other calendars."}])
    log.last()
    log.event("task_complete", last_agent_message="Leap years are read.")
    return log.rows


def aborted() -> list[Json]:
    log = Rollout()
    log.shell(LOOK.thought, f"cat {LOOK.path}", LOOK.output, 0)
    log.event("turn_aborted", reason="interrupted")
    return log.rows


def spawned() -> list[Json]:
    """A thread that another one started."""
    log = Rollout()
    log.rows[0]["payload"] |= {"id": SESSION.replace("102", "103"), "source": {"subagent": {"thread_spawn": {
        "parent_thread_id": SESSION, "depth": 1, "agent_nickname": "explorer"}}}}
    log.shell(LOOK.thought, f"cat {LOOK.path}", LOOK.output, 0)
    log.last()
    log.event("task_complete", last_agent_message="Leap years are read.")
    return log.rows


def bare() -> list[Json]:
    head = {"id": SESSION, "timestamp": "2025-06-01T00:00:00Z", "instructions": SYSTEM, "git": {}}
    items = [row["payload"] for row in rollout() if row["type"] == "response_item" and row["payload"].get("role") != "developer"]
    return [head, {"record_type": "state"}, *items, {"timestamp": "2025-06-01T00:01:00Z", "record_type": "state"}]


def flat(*, drifted: bool = False) -> list[Json]:
    """The oldest layout, and the same with other names of its keys and an item of a kind that came later."""
    clock = "created_at" if drifted else "timestamp"
    call, result = ("function_call", "function_result") if drifted else ("tool_call", "tool_result")
    rows: list[Json] = [{"role": "user", "message" if drifted else "content": ISSUE, "model": MODEL}]
    for turn, arguments in ((REPRODUCE, {"command": REPRODUCE.command}), (CHECK, CHECK.command)):
        given = arguments if drifted or isinstance(arguments, str) else json.dumps(arguments)
        if drifted and isinstance(given, str):
            given = {"command": given}
        output = f"Exit code: {turn.exit_code}\n{turn.output}"
        rows += [{"type": call, "function": {"name": "shell"}, "arguments": given}, {"type": result, "name": "shell", "result": output}]
    rows.append({"role": "assistant", "content": "Leap years are read."})
    rows.append({"type": "debate", "text": "A kind that came later."} if drifted else {"type": "error", "text": "stream disconnected"})
    rows = [{clock: f"2025-06-01T00:00:{5 * number:02d}Z", **row} for number, row in enumerate(rows)]
    return [*rows, {"timestamp": "2025-06-01T00:01:00Z", "type": "world_state", "payload": {"full": True}}] if drifted else rows


def executed(*, failed: bool = False) -> list[Json]:
    def item(number: int, kind: str, **more: Any) -> Json:
        return {"type": "item.completed", "item": {"id": f"item_{number}", "type": kind, **more}}

    rows = [{"type": "thread.started", "thread_id": SESSION}, {"type": "turn.started"},
            item(0, "reasoning", text=REPRODUCE.thought),
            {"type": "item.started", "item": {"id": "item_1", "type": "command_execution", "status": "in_progress",
                                              "command": f"bash -lc '{REPRODUCE.command}'", "aggregated_output": ""}},
            item(1, "command_execution", command=f"bash -lc '{REPRODUCE.command}'", aggregated_output=REPRODUCE.output,
                 exit_code=1, status="failed"),
            item(2, "agent_message", text=REPAIR.thought),
            item(3, "file_change", changes=[{"path": "datekit/parse.py", "kind": "update"}], status="completed"),
            item(4, "todo_list", items=[{"text": "run the tests", "completed": False}])]
    if failed:
        return [*rows, {"type": "turn.failed", "error": {"message": "stream disconnected"}}]
    return [*rows, item(5, "agent_message", text="Leap years are read."),
            {"type": "turn.completed", "usage": {"input_tokens": 2700, "cached_input_tokens": 1800, "output_tokens": 120}}]


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    name = f"rollout-2026-01-01T00-00-00-{SESSION}.jsonl"
    write_lines(out / "rollout" / "2026" / "01" / "01" / name, rollout())
    write_lines(out / "aborted" / name, aborted())
    write_lines(out / "spawned" / name.replace("102", "103"), spawned())
    write_lines(out / "bare" / name, bare())
    write_lines(out / "flat" / "session.jsonl", flat())
    write_lines(out / "flat" / "drifted.jsonl", flat(drifted=True))
    write_lines(out / "exec" / "completed.jsonl", executed())
    write_lines(out / "exec" / "failed.jsonl", executed(failed=True))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
