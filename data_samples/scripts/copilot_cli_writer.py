"""Write sessions in Copilot CLI's layout. Usage: python copilot_cli_writer.py OUT

The keys are those of the event types that github/copilot-sdk generates, and of fixtures of others; Copilot CLI needs its provider and
did not run. The words are `scaffold_plans.py`'s.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from scaffold_plans import AFTER, BEFORE, CHECK, ISSUE, LOOK, MODEL, REPAIR, REPRODUCE, SYSTEM, Turn, write_lines

sys.dont_write_bytecode = True
Json = dict[str, Any]
SESSION = "00000000-0000-4000-8000-000000000102"


def native(turn: Turn) -> tuple[str, Json]:
    if turn.kind == "shell":
        return "bash", {"command": turn.command, "description": turn.thought}
    if turn.kind == "read":
        return "view", {"path": turn.path}
    return "edit", {"path": turn.path, "old_str": BEFORE, "new_str": AFTER}


class Session:
    """Events in a chain, five seconds apart."""

    def __init__(self, session: str = SESSION, *, changes_model: bool = True) -> None:
        self.rows: list[Json] = []
        self.add("session.start", sessionId=session, version=1, producer="copilot-agent", copilotVersion="1.0.77",
                 startTime="2026-01-01T00:00:00.000Z", selectedModel="auto", context={"cwd": "/work"})
        if changes_model:
            self.add("session.model_change", newModel="auto-chosen", previousModel="auto")
        self.add("system.message", content=SYSTEM, role="system")

    def add(self, kind: str, agent: str | None = None, **data: Any) -> None:
        number = len(self.rows)
        row = {"type": kind, "data": data, "id": f"e{number}", "parentId": f"e{number - 1}" if number else None,
               "timestamp": f"2026-01-01T00:{number // 12:02d}:{5 * (number % 12):02d}.000Z"}
        self.rows.append(row | ({"agentId": agent} if agent else {}))

    def user(self, said: str, **more: Any) -> None:
        self.add("user.message", content=said, transformedContent=f"{said}\n\n<reminder/>", attachments=[], **more)

    def answer(self, said: str, requests: list[Json], agent: str | None = None, **more: Any) -> None:
        number = len(self.rows)
        self.add("assistant.message", agent, messageId=f"m{number}", content=said, toolRequests=requests, outputTokens=40, **more)

    def turn(self, turn: Turn, *, text_arguments: bool = False, **more: Any) -> None:
        """A request, the start of its call, what came back."""
        name, arguments = native(turn)
        call = f"call_{len(self.rows)}"
        self.add("assistant.turn_start", turnId="0")
        given = json.dumps(arguments) if text_arguments else arguments
        self.answer(turn.thought, [{"type": "function", "toolCallId": call, "name": name, "arguments": given}], model=MODEL, **more)
        self.add("tool.execution_start", toolCallId=call, toolName=name, arguments=arguments)
        output = turn.output
        if turn.kind == "shell":
            output += f"<exited with exit code {turn.exit_code}>"
        self.done(call, output, success=True)
        self.add("assistant.turn_end", turnId="0")

    def done(self, call: str, output: str, *, success: bool, agent: str | None = None, code: str | None = None) -> None:
        if code is None:
            self.add("tool.execution_complete", agent, toolCallId=call, success=success, result={"content": output})
        else:
            self.add("tool.execution_complete", agent, toolCallId=call, success=success, error={"message": output, "code": code})

    def shutdown(self, kind: str, answers: int) -> None:
        usage = {"inputTokens": 900 * answers, "outputTokens": 40 * answers, "cacheReadTokens": 600 * answers,
                 "cacheWriteTokens": 0, "reasoningTokens": 10 * answers}
        self.add("session.shutdown", shutdownType=kind, totalPremiumRequests=1, currentModel=MODEL,
                 modelMetrics={MODEL: {"requests": {"count": answers, "cost": 1}, "usage": usage}})


def repair() -> list[Json]:
    """With a call that the user denies, one that no answer requested, one of the user's own; hooks between."""
    log = Session()
    log.user(ISSUE)
    log.turn(LOOK, reasoningText="Turn 1.")
    log.add("assistant.reasoning", reasoningId="r1", content="Turn 2.")
    log.turn(REPRODUCE, text_arguments=True)
    log.add("hook.start", hookInvocationId="h1", hookType="preToolUse", input={"toolName": "edit"})
    log.turn(REPAIR)
    log.answer("I push it.", [{"toolCallId": "call_push", "name": "bash", "arguments": {"command": "git push"}}], model=MODEL)
    log.done("call_push", "The user denied it.", success=False, code="denied")
    log.add("tool.user_requested", toolCallId="call_user", toolName="bash", arguments={"command": "git status"})
    log.add("tool.execution_start", toolCallId="call_user", toolName="bash", arguments={"command": "git status"})
    log.done("call_user", "nothing to commit", success=True)
    log.user("A skill's text.", source="skill-review")
    log.turn(CHECK)
    log.answer("Leap years are read.", [], model=MODEL)
    log.shutdown("routine", 6)
    return log.rows


def with_subagents() -> list[Json]:
    """One as older versions mark it, one as newer ones do; an event of a kind that is not known yet."""
    log = Session(SESSION.replace("102", "103"))
    log.user("Where are dates read?")
    for key, prompt in (("call_task", {"parentToolCallId": "call_task"}), ("agent-1", {})):
        agent = None if prompt else key
        log.answer("I ask.", [{"toolCallId": f"{key}_task" if agent else key, "name": "task", "arguments": {"prompt": "Find it"}}])
        log.add("subagent.started", agent, toolCallId=key, agentName="explore")
        log.answer("I search.", [{"toolCallId": f"{key}_grep", "name": "grep", "arguments": {"pattern": "DAYS"}}], agent, **prompt)
        log.done(f"{key}_grep", "datekit/parse.py", success=True, agent=agent)
        log.rows[-1]["data"] |= prompt
        log.add("subagent.completed", agent, toolCallId=key, agentName="explore", totalToolCalls=1)
        log.done(f"{key}_task" if agent else key, "In datekit/parse.py.", success=True)
    log.add("assistant.debate", content="A kind that came later.")
    log.add("tool.execution_start", toolCallId="call_lost", toolName="bash", arguments={"command": "ls"})
    log.shutdown("routine", 4)
    return log.rows


def stopped(kind: str) -> list[Json]:
    """Of some, only the session's settings tell the model."""
    number = {"abort": "104", "context_limit": "105", "query": "106", "done": "107", "error": "108"}[kind]
    log = Session(SESSION.replace("102", number), changes_model=kind != "query")
    log.user(ISSUE)
    log.turn(REPRODUCE)
    if kind in ("query", "done"):
        for row in log.rows:
            if row["type"] == "assistant.message":
                del row["data"]["model"]
    if kind == "abort":
        log.add("abort", reason="user_initiated")
    elif kind == "done":
        log.add("session.task_complete", summary="Leap years are read.", success=True)
    elif kind == "error":
        log.shutdown("error", 1)
        return log.rows
    else:
        log.add("session.error", errorType=kind, message="The model did not answer.", statusCode=400)
    log.add("session.shutdown", shutdownType="routine")
    return log.rows


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    write_lines(out / "repair" / SESSION / "events.jsonl", repair())
    write_lines(out / "subagents" / SESSION.replace("102", "103") / "events.jsonl", with_subagents())
    for kind in ("abort", "context_limit", "query", "done", "error"):
        write_lines(out / "stopped" / kind / "events.jsonl", stopped(kind))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
