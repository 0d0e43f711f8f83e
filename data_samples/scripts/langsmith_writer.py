"""Write runs as LangSmith's client gives them. Usage: python langsmith_writer.py OUT   (needs langsmith==0.15.1)

Runs are made with `RunTree` and written through the client's own model `Run`; what only the server adds (status, token counts and
costs of a run and of all below it, feedback) is set here by the model's fields. The words are `scaffold_plans.py`'s; no model spoke.
"""

from __future__ import annotations

import json
import shutil
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

from langsmith.run_trees import RunTree
from langsmith.schemas import Run
from scaffold_plans import CHECK, CLOCK, ISSUE, LOOK, MODEL, REPRODUCE, SYSTEM, Turn, write_json, write_lines

sys.dont_write_bytecode = True
Json = dict[str, Any]
SESSION = UUID(int=1)


def native(turn: Turn) -> tuple[str, Json]:
    return ("bash", {"command": turn.command}) if turn.kind == "shell" else ("read_file", {"path": turn.path})


def message(kind: str, content: Any, **more: Any) -> Json:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", f"{kind}Message"],
            "kwargs": {"content": content, "type": {"Human": "human", "AI": "ai"}.get(kind, kind.lower()), **more}}


class Recorder:
    """Runs one after another, two seconds each, below a root."""

    def __init__(self, first: int, name: str, given: Json) -> None:
        self.number, self.now = first, datetime.fromtimestamp(CLOCK, UTC)
        self.root = RunTree(id=UUID(int=first << 32), name=name, run_type="chain", inputs=given, start_time=self.now, session_id=SESSION)
        self.rows: list[tuple[RunTree, Json]] = [(self.root, {})]

    def run(self, name: str, kind: str, given: Json, gave: Json | None, *, parent: RunTree | None = None, error: str | None = None,
            **of_server: Any) -> RunTree:
        self.now += timedelta(seconds=1)
        self.number += 1
        run = (parent or self.root).create_child(name, kind, run_id=UUID(int=(self.root.id.int) + self.number), inputs=given,
                                                 start_time=self.now)
        self.now += timedelta(seconds=2)
        run.end(outputs=gave, error=error, end_time=self.now)
        self.rows.append((run, of_server))
        return run

    def model(self, told: list[Json], gave: Json, *, within: Json | None = None) -> None:
        run = self.run("ChatModel", "llm", {"messages": [told]}, gave, prompt_tokens=900, completion_tokens=40, total_tokens=940,
                       total_cost="0.004", prompt_token_details={"cache_read": 600}, completion_token_details={"reasoning": 10})
        run.add_metadata({"ls_model_name": MODEL, "ls_model_type": "chat"})
        run.extra["invocation_params"] = within or {}

    def end(self, gave: Json | None, calls: int, error: str | None = None, **of_server: Any) -> list[Json]:
        self.root.end(outputs=gave, error=error, end_time=self.now + timedelta(seconds=1))
        self.rows[0] = (self.root, {"prompt_tokens": 900 * calls, "completion_tokens": 40 * calls, "total_tokens": 940 * calls,
                                    "total_cost": str(0.004 * calls), **of_server})
        return [self.row(run, told) for run, told in self.rows]

    @staticmethod
    def row(run: RunTree, told: Json) -> Json:
        held = {name: value for name, value in run.model_dump(exclude={"child_runs", "parent_run", "ls_client", "client"}).items()
                if name in Run.model_fields}
        status = {"status": "error" if run.error else "success"}
        row = json.loads(Run(**{**held, "parent_run_id": run.parent_run and run.parent_run.id, **status, **told}).model_dump_json())
        row["extra"].pop("runtime", None)
        return row


def langgraph() -> list[Json]:
    """Messages as LangChain serialises them; the tools of the second and third turn are told in the next prompt only."""
    log = Recorder(1, "coder", {"messages": [{"role": "user", "content": ISSUE}]})
    told = [message("System", SYSTEM), message("Human", ISSUE)]
    tools = [{"type": "function", "function": {"name": name}} for name in ("bash", "read_file")]
    for number, turn in enumerate((LOOK, REPRODUCE, CHECK, None), 1):
        calls = [{"name": native(turn)[0], "args": native(turn)[1], "id": f"c{number}", "type": "tool_call"}] if turn else []
        blocks = [{"type": "thinking", "thinking": f"Turn {number}."}, {"type": "text", "text": turn.thought if turn else "Leap years are read."}]
        answer = message("AI", blocks, tool_calls=calls, response_metadata={"finish_reason": "tool_calls" if turn else "stop"})
        log.model(told, {"generations": [[{"text": "", "message": answer, "generation_info": None}]], "llm_output": None}, within={"tools": tools})
        if turn is None:
            break
        result = message("Tool", turn.output, tool_call_id=f"c{number}", status="error" if turn.exit_code else "success")
        if turn is LOOK:
            log.run(native(turn)[0], "tool", {"input": json.dumps(native(turn)[1])}, {"output": result})
        told = [*told, answer, result]
    return log.end({"messages": ["Leap years are read."]}, 4, feedback_stats={"style": {"n": 1, "avg": 0.5}})


def endless() -> list[Json]:
    """Messages of OpenAI; a tool breaks, and the graph stops at its limit."""
    log = Recorder(2, "coder", {"question": ISSUE})
    call = {"id": "d1", "type": "function", "function": {"name": "bash", "arguments": json.dumps({"command": REPRODUCE.command})}}
    answer = {"role": "assistant", "content": None, "tool_calls": [call]}
    log.model([{"role": "user", "content": ISSUE}], {"choices": [{"message": answer, "finish_reason": "tool_calls"}]})
    log.run("bash", "tool", {"command": REPRODUCE.command}, None, error="TimeoutError('2 s')")
    log.run("route", "chain", {"step": 1}, {"step": 2})
    return log.end(None, 1, error="GraphRecursionError('Recursion limit of 25 reached')Traceback …")


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    solved, stopped = langgraph(), endless()
    mixed = [row for pair in zip(solved, stopped, strict=False) for row in pair]
    mixed += [row for row in (*solved, *stopped) if row not in mixed]
    write_lines(out / "list_runs" / "runs.jsonl", mixed)
    running = [dict(row) for row in stopped[:2]]
    running[0] |= {"end_time": None, "error": None, "outputs": None, "status": "pending"}
    write_json(out / "running" / "runs.json", running)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
