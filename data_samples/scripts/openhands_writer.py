"""Write trajectories in the layouts of OpenHands V0. Usage: python openhands_writer.py OUT

The keys are those of `openhands/events/serialization`, `evaluation/utils/shared.py`, `openhands/resolver` and `openhands/llm/llm.py` of
0.x, for logged calls of V1 those of `openhands/sdk/llm/utils/telemetry.py`; nothing of OpenHands ran (it needs a container). The words
are `scaffold_plans.py`'s.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from scaffold_plans import (AFTER, BEFORE, CHECK, CLOCK, INSTANCE, ISSUE, LOOK, MODEL, PATCH, REPAIR, REPRODUCE, SUBMIT, SYSTEM,
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


TOOLS = [{"type": "function", "function": {"name": name, "description": name, "parameters": {"type": "object"}}}
         for name in ("execute_bash", "think", "finish", "str_replace_editor")]


def part(said: str, marked: bool = False) -> list[Json]:
    """Content as it is sent to a model with a prompt cache: the mark moves on with every call."""
    return [{"type": "text", "text": said, **({"cache_control": {"type": "ephemeral"}} if marked else {})}]


def seen(turn: Turn) -> str:
    """A result as the model reads it."""
    if turn.kind != "shell":
        return str(observation(turn)["content"])
    return f"{turn.output}[The command completed with exit code {turn.exit_code}.]\n[Command finished with exit code {turn.exit_code}]"


def said_by(response: Json) -> Json:
    message: Json = response["choices"][0]["message"]
    return message


class Calls:
    """Calls of the model, a file each, with the context that the turns before have made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.log = Log()
        self.clock = float(CLOCK)
        self.context: list[Json] = [{"role": "system", "content": part(SYSTEM)}, {"role": "user", "content": part(ISSUE)}]

    def write(self, messages: list[Json], response: Json, model: str = MODEL, tools: list[Json] | None = None, **more: Any) -> None:
        self.clock += 3.25
        options = {"extra_body": {"metadata": {"session_id": "5a1f"}}, **({"tools": tools} if tools else {})}
        write_json(self.folder / f"{model.replace('/', '__')}-{self.clock}.json",
                   {"messages": messages, "response": response, "args": [], "kwargs": options, "timestamp": self.clock + 0.001,
                    "cost": 0.004, **more}, indent=None)

    def turn(self, turn: Turn) -> None:
        response = self.log.response([turn])
        *before, last = self.context
        text = last["content"][0]["text"]
        self.write([*before, {**last, "content": part(text, marked=True)}], response, tools=TOOLS)
        self.follow(turn, response)

    def follow(self, turn: Turn, response: Json) -> None:
        """What the next context holds, too."""
        call = said_by(response)["tool_calls"][0]
        self.context += [{"role": "assistant", "content": part(turn.thought), "tool_calls": [call]},
                         {"role": "tool", "content": part(seen(turn)), "tool_call_id": call["id"], "name": call["function"]["name"]}]

    def condense(self) -> None:
        """A condenser of another model sums up the oldest turn, which then leaves the context."""
        summary = "The tests in tests/test_parse.py fail."
        response = {"id": "gen-s1", "created": CLOCK, "model": "scripted-small", "object": "chat.completion",
                    "choices": [{"finish_reason": "stop", "index": 0, "message": {"content": summary, "role": "assistant"}}],
                    "usage": {"completion_tokens": 12, "prompt_tokens": 300, "total_tokens": 312}}
        self.write([{"role": "user", "content": part(f"Sum up what was done.\n{seen(LOOK)}")}], response, "scripted-small")
        self.context[2:4] = [{"role": "user", "content": part(summary)}]

    def in_words(self, turn: Turn) -> None:
        """A model that has no tools: it is sent and answers words, and both are logged as calls, too."""
        response = self.log.response([turn])
        name, arguments = native(turn)
        told = "".join(f"<parameter={key}>{value}</parameter>\n" for key, value in arguments.items())
        words = {"content": f"{turn.thought}\n<function={name}>\n{told}</function>", "role": "assistant"}
        plain = {**response, "choices": [{"finish_reason": "stop", "index": 0, "message": words}]}
        messages = [{**message, "tool_calls": None} if message["role"] == "assistant" else message for message in self.context]
        self.write(messages, plain, fncall_messages=self.context, fncall_response=response)
        self.follow(turn, response)


def responses_calls(folder: Path) -> None:
    """V1 with the Responses API: the provider fails once, is asked again, and answers twice."""
    request = {"context_window": 128000, "instructions": SYSTEM, "tools": [{"type": "function", "name": "terminal"},
               {"type": "function", "name": "finish"}], "kwargs": {"temperature": 0.0, "store": False}}
    items: list[Json] = [{"role": "user", "content": [{"type": "input_text", "text": ISSUE}]}]

    def write(name: str, seconds: int, more: Json) -> None:
        write_json(folder / f"{MODEL}-{CLOCK + seconds}.000-{name}.json", {
            **request, "input": items, **more, "cost": 0.0, "timestamp": CLOCK + seconds + 0.5, "latency_sec": 1.5}, indent=None)

    def answer(number: int, output: list[Json]) -> Json:
        usage = {"input_tokens": 900, "output_tokens": 40, "total_tokens": 940, "input_tokens_details": {"cached_tokens": 300},
                 "output_tokens_details": {"reasoning_tokens": 16}}
        return {"response": {"id": f"resp_{number}", "created_at": CLOCK, "model": MODEL, "object": "response", "output": output,
                             "status": "completed", "usage": usage}}

    write("0a1b-error", 2, {"error": {"type": "RateLimitError", "message": "slow down", "repr": "RateLimitError()", "traceback": ""}})
    called = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "terminal", "status": "completed",
              "arguments": json.dumps({"command": CHECK.command})}
    thought = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": REPRODUCE.thought}]}
    write("1a1b", 6, answer(1, [thought, called]))
    items += [thought, called, {"type": "function_call_output", "call_id": "call_1", "output": seen(CHECK)}]
    done = {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed",
            "content": [{"type": "output_text", "text": SUBMIT.thought, "annotations": []}]}
    write("2a1b", 9, answer(2, [done]))


def completions(out: Path) -> None:
    native_calls = Calls(out / "llm_completions" / INSTANCE)
    for turn in (LOOK, REPRODUCE):
        native_calls.turn(turn)
    native_calls.condense()
    for turn in (REPAIR, CHECK, SUBMIT):
        native_calls.turn(turn)
    worded = Calls(out / "llm_completions" / "datekit__zone-9")
    for turn in (REPRODUCE, HANGS):
        worded.in_words(turn)
    responses_calls(out / "logs" / "completions")


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
    completions(out / "completions")
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
