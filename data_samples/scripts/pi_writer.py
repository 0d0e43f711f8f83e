"""Write sessions in Pi's layout. Usage: python pi_writer.py OUT

The keys are those of `packages/coding-agent/docs/session.md` of pi-mono; Pi needs its provider and did not run. The words are
`scaffold_plans.py`'s.
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


def native(turn: Turn) -> tuple[str, Json]:
    if turn.kind == "shell":
        return "bash", {"command": turn.command}
    if turn.kind == "read":
        return "read", {"path": turn.path}
    return "edit", {"path": turn.path, "oldText": BEFORE, "newText": AFTER}


def text(said: str) -> list[Json]:
    return [{"type": "text", "text": said}]


class Session:
    """Entries in a chain, five seconds apart."""

    def __init__(self, session: str) -> None:
        self.rows: list[Json] = [{"type": "session", "version": 3, "id": session, "timestamp": "2026-01-01T00:00:00.000Z", "cwd": "/work"}]

    def add(self, kind: str, **more: Any) -> None:
        number = len(self.rows)
        self.rows.append({"type": kind, "id": f"e{number}", "parentId": f"e{number - 1}" if number > 1 else None,
                          "timestamp": f"2026-01-01T00:{number // 12:02d}:{5 * (number % 12):02d}.000Z", **more})

    def say(self, role: str, **message: Any) -> None:
        self.add("message", message={"role": role, **message, "timestamp": START + 5000 * len(self.rows)})

    def answer(self, content: list[Json], stop: str, **more: Any) -> None:
        usage = {"input": 100, "output": 40, "cacheRead": 600, "cacheWrite": 200, "totalTokens": 940,
                 "cost": {"input": 0.001, "output": 0.002, "cacheRead": 0.0005, "cacheWrite": 0.0005, "total": 0.004}}
        self.say("assistant", content=content, api="scripted-api", provider="scripted", model=MODEL, usage=usage, stopReason=stop, **more)

    def turn(self, turn: Turn) -> None:
        name, arguments = native(turn)
        call = f"call_{len(self.rows)}"
        self.answer([{"type": "thinking", "thinking": f"Turn {call}."}, *text(turn.thought),
                     {"type": "toolCall", "id": call, "name": name, "arguments": arguments}], "toolUse")
        failed = turn.exit_code != 0
        output = f"{turn.output}\n\nCommand exited with code {turn.exit_code}" if failed else turn.output
        self.say("toolResult", toolCallId=call, toolName=name, content=text(output), isError=failed)


def repair() -> list[Json]:
    log = Session(SESSION)
    log.add("model_change", provider="scripted", modelId="chosen-first")
    log.add("thinking_level_change", thinkingLevel="high")
    log.say("user", content=text(ISSUE))
    for turn in (LOOK, REPRODUCE):
        log.turn(turn)
    log.say("bashExecution", command="git status", output="nothing to commit", exitCode=0, cancelled=False, truncated=False)
    log.add("compaction", summary="A test fails for leap years.", firstKeptEntryId="e3", tokensBefore=940)
    log.add("custom_message", customType="rules", content="Keep it short.", display=True)
    log.say("custom", customType="rules", content="Run the tests.", display=False)
    log.say("branchSummary", summary="Another way was tried.", fromId="e5")
    for turn in (REPAIR, CHECK):
        log.turn(turn)
    log.add("label", targetId="e3", label="start")
    log.answer(text("Leap years are read."), "stop")
    return log.rows


def stopped(session: str, stop: str, **more: Any) -> list[Json]:
    """After a kind of entry and a role that came later."""
    log = Session(session)
    log.add("model_change", provider="scripted", modelId="chosen-first")
    log.say("user", content=ISSUE)
    log.add("debate", content="A kind that came later.")
    log.say("critic", content="A role that came later.")
    log.answer(text("I look at"), stop, **more)
    return log.rows


def branched() -> list[Json]:
    """The user goes back to the first question and asks otherwise."""
    log = Session(SESSION.replace("102", "106"))
    log.say("user", content=text(ISSUE))
    log.turn(LOOK)
    log.say("user", content=text("Delete the test instead."))
    log.answer(text("The test is gone."), "stop")
    log.say("user", content=text("Repair the parser."))
    log.rows[-1]["parentId"] = "e3"
    log.turn(CHECK)
    log.answer(text("Leap years are read."), "stop")
    return log.rows


def unanswered() -> list[Json]:
    log = Session(SESSION.replace("102", "105"))
    log.add("model_change", provider="scripted", modelId="chosen-first")
    log.say("user", content=ISSUE)
    return log.rows


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    folder = out / "repair" / "sessions" / "--work--"
    write_lines(folder / f"2026-01-01T00-00-00-000Z_{SESSION}.jsonl", repair())
    write_lines(out / "branched" / "session.jsonl", branched())
    write_lines(out / "stopped" / "length.jsonl", stopped(SESSION.replace("102", "103"), "length"))
    write_lines(out / "stopped" / "error.jsonl", stopped(SESSION.replace("102", "104"), "error", errorMessage="overloaded"))
    write_lines(out / "stopped" / "unanswered.jsonl", unanswered())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
