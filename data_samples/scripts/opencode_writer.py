"""Write storages in opencode's layout. Usage: python opencode_writer.py OUT

The keys are those of `packages/opencode/src/session/message-v2.ts` of opencode 1.x and of fixtures of others; opencode needs its provider
and did not run. The words are `scaffold_plans.py`'s.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from scaffold_plans import AFTER, BEFORE, CHECK, ISSUE, LOOK, MODEL, REPAIR, REPRODUCE, Turn, write_json

sys.dont_write_bytecode = True
Json = dict[str, Any]
START = 1_767_225_600_000
TOKENS = {"input": 100, "output": 40, "reasoning": 10, "cache": {"read": 600, "write": 200}}


def native(turn: Turn) -> tuple[str, Json]:
    if turn.kind == "shell":
        return "bash", {"command": turn.command, "description": turn.thought}
    if turn.kind == "read":
        return "read", {"filePath": turn.path}
    return "edit", {"filePath": turn.path, "oldString": BEFORE, "newString": AFTER}


class Session:
    """Files of a session; messages are five seconds apart."""

    def __init__(self, root: Path, name: str, parent: str | None = None, *, flat: bool = False) -> None:
        self.root, self.name, self.flat = root, name, flat
        self.messages = self.parts = 0
        head = {"id": name, "version": "1.3.17", "projectID": "project", "directory": "/work", "title": "Leap years",
                "time": {"created": START} if flat else {"created": START, "updated": START + 90_000}}
        write_json(root / "session" / "project" / f"{name}.json", head | ({"parentID": parent} if parent else {}))

    def message(self, role: str, parts: list[Json], **more: Any) -> None:
        self.messages += 1
        key, when = f"msg_{self.name}_{self.messages:02d}", START + 5000 * self.messages
        row = {"id": key, "sessionID": self.name, "role": role, "time": {"created": when}, "agent": "build"}
        if role == "assistant":
            row |= {"providerID": "scripted", "modelID": MODEL, "mode": "build", "path": {"cwd": "/work", "root": "/work"}, **more}
            row["time"] = {"created": when, "completed": when + 4000}
        else:
            row |= {"model": {"providerID": "scripted", "modelID": MODEL}, **more}
        write_json(self.root / "message" / self.name / f"{key}.json", row)
        for part in parts:
            self.parts += 1
            name = f"prt_{self.name}_{self.parts:03d}"
            place = self.root / "part" if self.flat else self.root / "part" / key
            write_json(place / f"{name}.json", {"id": name, "sessionID": self.name, "messageID": key, **part})

    def user(self, said: str, *more: Json) -> None:
        self.message("user", [{"type": "text", "text": said}, *more])

    def tool(self, name: str, arguments: Json, state: Json) -> Json:
        when = START + 5000 * self.messages + 6000
        return {"type": "tool", "callID": f"call_{self.parts}", "tool": name,
                "state": {"input": arguments, "title": name, "time": {"start": when, "end": when + 400}, **state}}

    def turn(self, turn: Turn) -> Json:
        name, arguments = native(turn)
        metadata = {"exit": turn.exit_code, "output": turn.output} if turn.kind == "shell" else {}
        return self.tool(name, arguments, {"status": "completed", "output": turn.output, "metadata": metadata})

    def answer(self, parts: list[Json], finish: str, **more: Any) -> None:
        """One call of the model a message."""
        last: Json = {"type": "step-finish", "reason": finish, "cost": 0.004, "tokens": TOKENS}
        self.message("assistant", [{"type": "step-start"}, *parts, last], finish=finish, cost=0.004, tokens=TOKENS, **more)


def text(said: str) -> Json:
    return {"type": "text", "text": said}


def repair(root: Path) -> None:
    """A failed and a refused call, one that could not be read, two calls of the model in one message."""
    log = Session(root, "ses_102")
    log.user(ISSUE, {"type": "text", "text": "The file is open.", "synthetic": True}, {"type": "file", "mime": "text/plain", "url": "file:///work"})
    log.answer([{"type": "reasoning", "text": "Turn 1."}, text(LOOK.thought), log.turn(LOOK)], "tool-calls")
    log.answer([text(REPRODUCE.thought), log.turn(REPRODUCE)], "tool-calls")
    failed = log.tool("edit", {"filePath": "datekit/pars.py"}, {"status": "error", "error": "File not found"})
    first: list[Json] = [text("I edit it."), failed, {"type": "step-finish", "reason": "tool-calls", "cost": 0.004, "tokens": TOKENS}]
    log.answer([*first, {"type": "step-start"}, text(REPAIR.thought), log.turn(REPAIR)], "tool-calls")
    log.answer([log.tool("bash", {"command": "git push"}, {"status": "error", "error": "The user rejected permission to use this tool."}),
                log.tool("invalid", {"tool": "paint", "error": "no JSON"}, {"status": "completed", "output": "The arguments are invalid"})],
               "tool-calls")
    log.answer([log.turn(CHECK), {"type": "patch", "hash": "0", "files": []}], "tool-calls")
    log.answer([text("Leap years are read.")], "stop")


def subagent(root: Path) -> None:
    log = Session(root, "ses_103", "ses_102")
    log.user("Where are dates read?")
    log.answer([log.tool("grep", {"pattern": "DAYS"}, {"status": "completed", "output": "datekit/parse.py"})], "tool-calls")
    log.answer([log.tool("bash", {"command": "sleep 99"}, {"status": "running"})], "tool-calls",
               error={"name": "MessageAbortedError", "data": {"message": "aborted"}})


def older(root: Path) -> None:
    """Parts beside each other, as fixtures of version 0 have them; tokens with the message alone; one part whose message is lost."""
    log = Session(root, "ses_104", flat=True)
    log.message("user", [], summary={"title": "Leap years", "body": ISSUE})
    log.message("assistant", [text(LOOK.thought), log.turn(LOOK)], finish="length", cost=0.004, tokens=TOKENS)
    write_json(root / "part" / "prt_lost.json", {"id": "prt_lost", "messageID": "msg_lost", "type": "reasoning", "text": "Where was I?"})


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    repair(out / "storage")
    subagent(out / "storage")
    older(out / "older")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
