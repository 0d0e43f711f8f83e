"""Write trajectories in the layouts of OpenHands V0. Usage: python openhands_writer.py OUT

The keys are those of `openhands/events/serialization`, `evaluation/utils/shared.py` and `openhands/resolver` of 0.x; nothing of OpenHands
ran (it needs a container). The words are `scaffold_plans.py`'s.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from scaffold_plans import (AFTER, BEFORE, CHECK, INSTANCE, ISSUE, LOOK, MODEL, PATCH, REPAIR, REPRODUCE, SUBMIT, SYSTEM,
                            TURNS, Turn, write_json, write_lines)

sys.dont_write_bytecode = True
Json = dict[str, Any]
THINK = Turn("February has 29 days in a leap year.", "think")
HANGS = Turn("I start a server.", "shell", "python -m http.server", output="Serving HTTP on 0.0.0.0", exit_code=-1)


class Log:
    """Events with a made-up clock and ids in order."""

    def __init__(self) -> None:
        self.events: list[Json] = []
        self.calls = 0

    def add(self, source: str, **said: Any) -> Json:
        number = len(self.events)
        minutes, seconds = divmod(2 * number, 60)
        event = {"id": number, "timestamp": f"2026-01-01T00:{minutes:02d}:{seconds:02d}.000000", "source": source, **said}
        self.events.append(event)
        return event

    def opening(self) -> None:
        tools = [{"type": "function", "function": {"name": name}} for name in
                 ("execute_bash", "think", "finish", "str_replace_editor")]
        self.add("agent", message=SYSTEM, action="system", args={
            "content": SYSTEM, "tools": tools, "openhands_version": "0.62.0", "agent_class": "CodeActAgent"})
        self.add("user", message=ISSUE, action="message", args={
            "content": ISSUE, "file_urls": None, "image_urls": [], "wait_for_response": False})
        recall = self.add("user", message="Retrieving content", action="recall", args={"query": ISSUE, "thought": ""})
        self.add("environment", message="Added workspace context", cause=recall["id"], observation="recall",
                 content="Added workspace context", extras={"recall_type": "workspace_context"})

    def response(self, turns: list[Turn]) -> Json:
        """One answer of the model, with a call for each turn."""
        calls = []
        for turn in turns:
            self.calls += 1
            name, arguments = native(turn)
            calls.append({"index": 0, "function": {"arguments": json.dumps(arguments), "name": name},
                          "id": f"toolu_{self.calls:02d}", "type": "function"})
        message = {"content": turns[0].thought, "role": "assistant", "tool_calls": calls, "function_call": None}
        return {"id": f"gen-{self.calls}", "created": 1_767_225_600, "model": MODEL, "object": "chat.completion",
                "choices": [{"finish_reason": "tool_calls", "index": 0, "message": message}],
                "usage": {"completion_tokens": 40, "prompt_tokens": 900, "total_tokens": 940,
                          "prompt_tokens_details": {"cached_tokens": 300}}}

    def prompted(self, turn: Turn) -> None:
        """A turn of a model that calls tools in words: nothing but the action is kept."""
        kind, args = action(turn)
        made = self.add("agent", message=turn.thought, action=kind, args=args)
        if kind != "finish":
            self.add("agent", cause=made["id"], **observation(turn))

    def turn(self, *turns: Turn) -> None:
        response = self.response(list(turns))
        for turn, call in zip(turns, response["choices"][0]["message"]["tool_calls"], strict=True):
            metadata = {"function_name": call["function"]["name"], "tool_call_id": call["id"],
                        "model_response": response, "total_calls_in_response": len(turns)}
            kind, args = action(turn)
            made = self.add("agent", message=turn.thought, action=kind, tool_call_metadata=metadata, args=args)
            if kind != "finish":
                self.add("agent", cause=made["id"], tool_call_metadata=metadata, **observation(turn))


def native(turn: Turn) -> tuple[str, Json]:
    """The call as the model writes it."""
    if turn.kind == "shell":
        return "execute_bash", {"command": turn.command, "is_input": "false"}
    if turn.kind == "think":
        return "think", {"thought": turn.thought}
    if turn.kind == "submit":
        return "finish", {"message": turn.thought, "task_completed": "true"}
    if turn.kind == "read":
        return "str_replace_editor", {"command": "view", "path": turn.path}
    return "str_replace_editor", {"command": "str_replace", "path": turn.path, "old_str": BEFORE, "new_str": AFTER}


def action(turn: Turn) -> tuple[str, Json]:
    """Kind and arguments of the action."""
    if turn.kind == "shell":
        return "run", {"command": turn.command, "is_input": False, "thought": turn.thought, "blocking": False,
                       "hidden": False, "confirmation_state": "confirmed"}
    if turn.kind == "think":
        return "think", {"thought": turn.thought}
    if turn.kind == "submit":
        return "finish", {"final_thought": turn.thought, "task_completed": "true", "outputs": {}, "thought": ""}
    if turn.kind == "read":
        return "read", {"path": turn.path, "start": 0, "end": -1, "thought": turn.thought, "impl_source": "oh_aci"}
    return "edit", {"path": turn.path, "command": "str_replace", "old_str": BEFORE, "new_str": AFTER,
                    "content": "", "start": 1, "end": -1, "thought": turn.thought, "impl_source": "oh_aci"}


def observation(turn: Turn) -> Json:
    if turn.kind == "shell":
        metadata = {"exit_code": turn.exit_code, "pid": -1, "username": "openhands", "working_dir": "/workspace"}
        return {"message": f"executed with exit code {turn.exit_code}.", "observation": "run", "content": turn.output,
                "extras": {"command": turn.command, "metadata": metadata, "hidden": False},
                "success": turn.exit_code == 0}
    if turn.kind == "think":
        return {"message": "logged", "observation": "think", "content": "Your thought has been logged.", "extras": {}}
    kind = "read" if turn.kind == "read" else "edit"
    return {"message": f"{kind} done", "observation": kind, "content": turn.output, "extras": {"path": turn.path}}


def metrics(calls: int) -> Json:
    usage = {"model": MODEL, "prompt_tokens": 900, "completion_tokens": 40, "cache_read_tokens": 300,
             "cache_write_tokens": 0}
    total = {"model": MODEL, "prompt_tokens": 900 * calls, "completion_tokens": 40 * calls,
             "cache_read_tokens": 300 * calls, "cache_write_tokens": 0, "response_id": ""}
    return {"accumulated_cost": round(0.004 * calls, 6), "accumulated_token_usage": total,
            "costs": [{"model": MODEL, "cost": 0.004, "timestamp": 0.0}] * calls,
            "response_latencies": [{"model": MODEL, "latency": 1.5, "response_id": f"gen-{n}"} for n in range(calls)],
            "token_usages": [{**usage, "response_id": f"gen-{n}"} for n in range(calls)]}


def row(instance: str, history: list[Any], calls: int, error: str | None = None, **result: Any) -> Json:
    metadata = {"agent_class": "CodeActAgent", "max_iterations": 50, "eval_output_dir": "outputs", "git_commit": "b5338c6",
                "start_time": "2026-01-01 00:00:00", "dataset": "datekit", "details": {"mode": "swe"},
                "llm_config": {"model": MODEL, "api_key": "**********", "temperature": 0.0}}
    return {"instance_id": instance, "test_result": result, "instruction": ISSUE, "metadata": metadata,
            "history": history, "metrics": metrics(calls), "error": error, "instance": {"repo": "datekit"}}


def solved() -> Log:
    log = Log()
    log.opening()
    log.turn(LOOK, REPRODUCE)
    for turn in (THINK, REPAIR, CHECK, SUBMIT):
        log.turn(turn)
    return log


def session() -> Log:
    """A chat: a command that hangs, an answer that is no call, an error of a tool, a question at the end."""
    log = Log()
    log.opening()
    log.add("environment", message="", observation="agent_state_changed", content="", extras={"agent_state": "running"})
    log.turn(HANGS)
    log.add("agent", message="Missing required argument", observation="error",
            content="Missing required argument \"command\" in tool call execute_bash", extras={"error_id": ""})
    made = log.add("agent", message="", action="read", args={"path": "missing.py", "thought": "Where is it?"})
    log.add("environment", message="", cause=made["id"], observation="error", content="File not found: missing.py",
            extras={"error_id": ""})
    log.add("agent", message="Which file?", action="message", args={"content": "Which file do you mean?",
                                                                    "wait_for_response": True})
    log.add("environment", message="", observation="agent_state_changed", content="",
            extras={"agent_state": "awaiting_user_input"})
    return log


def stuck() -> Log:
    log = Log()
    log.opening()
    for _ in range(4):
        log.turn(REPRODUCE)
    return log


def prompted() -> Log:
    log = Log()
    log.opening()
    for turn in (LOOK, REPAIR, CHECK, SUBMIT):
        log.prompted(turn)
    return log


def pairs() -> list[list[Json]]:
    """The oldest rows: what was done and what came of it, two by two, without ids."""
    out = []
    for turn in TURNS:
        kind, args = action(turn)
        done = {"action": kind, "args": args, "message": turn.thought, "source": "agent",
                "timestamp": f"2026-01-01T00:0{len(out)}:00"}
        seen = {"observation": "null", "content": "", "extras": {}} if kind == "finish" else observation(turn)
        if "metadata" in seen["extras"]:
            seen["extras"] = {"command": turn.command, "command_id": 1, "exit_code": turn.exit_code}
        out.append([done, {"source": "agent", **seen}])
    return out


def flat() -> list[Json]:
    """The resolver's history: arguments beside the action, no source."""
    out: list[Json] = [{"content": ISSUE, "image_urls": None, "wait_for_response": False, "action": "message"}]
    for turn in (REPRODUCE, CHECK):
        out.append({"command": turn.command, "thought": turn.thought, "keep_prompt": True, "action": "run",
                    "is_confirmed": "confirmed", "action_risk": None})
        out.append({"content": turn.output, "command_id": -1, "command": turn.command, "exit_code": turn.exit_code,
                    "observation": "run"})
    out.append({"outputs": {}, "thought": "All tests pass.", "action": "finish"})
    return out


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    for event in session().events:
        write_json(out / "folder" / "sessions" / "5a1f" / "events" / f"{event['id']}.json", event, indent=None)
    write_json(out / "list" / "trajectory.json", solved().events)
    write_lines(out / "output" / "output.jsonl", [
        row(INSTANCE, solved().events, 5, git_patch=PATCH, report={"resolved": True}),
        row("datekit__week-7", stuck().events, 4, "AgentStuckInLoopError: Agent got stuck in a loop", git_patch=""),
        row("datekit__zone-9", [], 0, "STATUS$ERROR_LLM_INTERNAL_SERVER_ERROR", git_patch=""),
        row("datekit__year-4", prompted().events, 4, git_patch=PATCH, report={"resolved": False}),
    ])
    old = row(INSTANCE, pairs(), 5, git_patch=PATCH, report={"resolved": False})
    old["metrics"] = {"accumulated_cost": 0.02, "costs": []}
    write_lines(out / "pairs" / "output.jsonl", [old])
    issue = {"owner": "datekit", "repo": "datekit", "number": 102, "title": "Leap years", "body": ISSUE}
    write_lines(out / "resolver" / "output.jsonl", [{
        "issue": issue, "issue_type": "issue", "instruction": ISSUE, "base_commit": "0", "git_patch": PATCH,
        "history": flat(), "metrics": {"accumulated_cost": 0.012, "costs": [0.004, 0.004, 0.004]}, "success": True,
        "comment_success": None, "result_explanation": "Leap years are read.", "error": None}])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
