"""Write conversations by running the OpenHands V1 SDK with its scripted test model in a real shell.

Usage: python openhands_sdk_writer.py OUT   (needs Python 3.12, openhands-sdk==1.58.2, openhands-tools==1.58.2)
The SDK writes `base_state.json` and `events/`. Changed after writing: ids, times, paths, host and user names; the system prompt and the
tools' descriptions are shortened, spans of time that differ from run to run are dropped. `lines` and `output` hold the same events:
one a line, and in the row that OpenHands/benchmarks writes (`models.py`), put together here.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from scaffold_plans import AFTER, BEFORE, CLOCK, INSTANCE, ISSUE, MODEL, PATCH, SYSTEM, write_json, write_lines

sys.dont_write_bytecode = True

from openhands.sdk import Agent, Conversation, Tool  # noqa: E402
from openhands.sdk.llm import Message, MessageToolCall, TextContent  # noqa: E402
from openhands.sdk.testing import TestLLM  # noqa: E402
from openhands.tools.file_editor import FileEditorTool  # noqa: E402
from openhands.tools.terminal import TerminalTool  # noqa: E402

Json = dict[str, Any]
Said = tuple[str, list[tuple[str, Json | str]]]
VIEW = ("file_editor", {"command": "view", "path": "WORK/parse.py"})
REPLACE = ("file_editor", {"command": "str_replace", "path": "WORK/parse.py", "old_str": BEFORE, "new_str": AFTER})
TEST = ("terminal", {"command": "python3 -m unittest -q"})
FINISH = ("finish", {"message": "All tests pass."})
PLANS: dict[str, tuple[list[Said], int]] = {
    "finished": ([("I look at the parser first.", [VIEW]), ("I reproduce the error.", [TEST]),
                  ("", [("think", {"thought": "February has 29 days in a leap year."})]),
                  ("I repair it and look at it again.", [REPLACE, VIEW]), ("I run the tests again.", [TEST]),
                  ("", [FINISH])], 30),
    "bad_calls": ([("", [("no_such_tool", {"x": 1})]), ("", [("terminal", {"cmd": "ls"})]),
                   ("", [("terminal", "{not json")]),
                   ("", [("file_editor", {"command": "str_replace", "path": "WORK/parse.py", "old_str": "NOPE",
                                          "new_str": "x"})]), ("", [FINISH])], 30),
    "max_iterations": ([("", [("terminal", {"command": f"echo {n}"})]) for n in range(5)], 3),
    "stuck": ([("", [("terminal", {"command": "ls"})])] * 8, 30),
    "provider_error": ([("", [("terminal", {"command": "ls"})])], 30),
}


def messages(plan: list[Said], work: str) -> list[Any]:
    out: list[Any] = []
    number = 0
    for thought, calls in plan:
        native = []
        for name, arguments in calls:
            number += 1
            said = arguments if isinstance(arguments, str) else json.dumps(arguments)
            native.append(MessageToolCall(id=f"call_{number}", name=name, arguments=said.replace("WORK", work),
                                          origin="completion"))
        out.append(Message(role="assistant", content=[TextContent(text=thought)] if thought else [], tool_calls=native,
                           reasoning_content="I was asked for a repair." if thought else None))
    return out


def run(name: str, plan: list[Said], limit: int, home: Path) -> Path:
    work = home / "work"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    (work / "parse.py").write_text(BEFORE, encoding="utf-8")
    (work / "test_parse.py").write_text("import unittest\nfrom parse import DAYS\n\n\nclass Leap(unittest.TestCase):\n"
                                        "    def test_leap(self):\n        self.assertEqual(DAYS[1], 29)\n", "utf-8")
    said = messages(plan, str(work))
    if name == "provider_error":
        said.append(RuntimeError("simulated outage of the provider"))
    llm = TestLLM.from_messages(said, model=MODEL)
    agent = Agent(llm=llm, tools=[Tool(name=TerminalTool.name), Tool(name=FileEditorTool.name)])
    conversation = Conversation(agent=agent, workspace=str(work), persistence_dir=str(home / name),
                                max_iteration_per_run=limit, visualizer=None)
    conversation.send_message(ISSUE)
    try:
        conversation.run()
    except Exception as error:  # the run's own errors are what some plans are about
        print(name, type(error).__name__)
    conversation.close()
    return next((home / name).iterdir())


class Cleaner:
    """Made-up ids and a made-up clock in place of those of the run."""

    def __init__(self, home: Path) -> None:
        self.home = str(home)
        self.ids: dict[str, str] = {}
        self.clock = 0

    def text(self, data: str) -> str:
        data = data.replace(self.home, "/testbed")
        data = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", self._id, data)
        data = re.sub(r"[0-9a-f]{32}", lambda m: self._id(m).replace("-", ""), data)
        data = re.sub(r"Ran (\d+) tests? in [0-9.]+s", r"Ran \1 test in 0.001s", data)
        return re.sub(r'"(py_interpreter_path|hostname|username)": ?"[^"]*"', r'"\1": "x"', data)

    def _id(self, match: re.Match[str]) -> str:
        key = match[0].replace("-", "")
        digits = self.ids.setdefault(key, f"{len(self.ids) + 1:032x}")
        return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"

    def event(self, event: Json) -> Json:
        self.clock += 2
        minutes, seconds = divmod(self.clock, 60)
        event["timestamp"] = f"2026-01-01T00:{minutes:02d}:{seconds:02d}.000000"
        if event.get("kind") == "SystemPromptEvent":
            event["system_prompt"]["text"] = SYSTEM
            event.pop("dynamic_context", None)
            for tool in event["tools"]:
                tool["description"] = tool["description"].split("\n")[0]
        return event


def shortened(state: Json) -> Json:
    """The state without the many settings that no reader looks at."""
    llm = {"model": state["agent"]["llm"]["model"], "temperature": 0.0, "usage_id": "default"}
    state["agent"] = {"llm": llm, "tools": state["agent"]["tools"], "kind": "Agent"}
    metrics = {"model_name": MODEL, "accumulated_cost": 0.012, "token_usages": [],
               "accumulated_token_usage": {"model": MODEL, "prompt_tokens": 4200, "completion_tokens": 310,
                                           "cache_read_tokens": 900, "cache_write_tokens": 0, "reasoning_tokens": 60}}
    if state["execution_status"] == "finished":
        state["stats"] = {"usage_to_metrics": {"default": metrics}}  # the test model counts nothing
    return state


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    assert CLOCK == 1_767_225_600
    for name, (plan, limit) in PLANS.items():
        with tempfile.TemporaryDirectory(prefix="sdk-") as folder:
            home = Path(folder).resolve()
            made = run(name, plan, limit, home)
            cleaner = Cleaner(home)
            files = sorted((made / "events").glob("event-*.json"))
            events = [cleaner.event(json.loads(cleaner.text(path.read_text("utf-8")))) for path in files]
            state = json.loads(cleaner.text((made / "base_state.json").read_text("utf-8")))
            target = out / name / cleaner.text(made.name)
            write_json(target / "base_state.json", shortened(state))
            for number, event in enumerate(events):
                write_json(target / "events" / f"event-{number:05d}-{event['id']}.json", event, indent=None)
        if name == "finished":
            stats = {"kind": "ConversationStateUpdateEvent", "source": "environment", "key": "stats",
                     "value": state["stats"], "id": "0", "timestamp": "2026-01-01T00:01:00.000000"}
            write_lines(out / "lines" / "events.jsonl", [*events, stats])
            row = {"instance_id": INSTANCE, "attempt": 1, "test_result": {"git_patch": PATCH, "resolved": True},
                   "instruction": ISSUE, "metadata": {"llm": state["agent"]["llm"], "max_iterations": limit},
                   "history": events, "metrics": state["stats"]["usage_to_metrics"]["default"], "error": None,
                   "instance": None, "runtime_runs": None}
            failed = {**row, "instance_id": "datekit__week-7", "attempt": 2, "test_result": {}, "history": events[:4],
                      "error": "Remote conversation ended with error", "metrics": None}
            write_lines(out / "output" / "output.jsonl", [row, failed])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
