"""Write logs by running Inspect with its scripted model in a local sandbox. Usage: python inspect_writer.py OUT

Needs inspect-ai==0.3.285 (`pip install inspect-ai==0.3.285`); one run gives other ids and times than the next. Changed after writing:
temporary paths. `deflated` holds the same members compressed as before zstd became the default; `chunked` is Inspect's own conversion;
`running` lacks `header.json`, as a log does while it is written.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from scaffold_plans import AFTER, BEFORE, ISSUE

sys.dont_write_bytecode = True
HOME = Path(tempfile.mkdtemp(prefix="inspect-")).resolve()
os.environ |= {"HOME": str(HOME), "XDG_DATA_HOME": str(HOME), "XDG_CACHE_HOME": str(HOME), "INSPECT_DISPLAY": "none"}
os.chdir(HOME)

from inspect_ai import Task, eval as run_eval  # noqa: E402
from inspect_ai._util.zipfile import zipfile_compress_kwargs  # noqa: E402
from inspect_ai.agent import react  # noqa: E402
from inspect_ai.dataset import Sample  # noqa: E402
from inspect_ai.log._recorders.chunked import convert_eval_logs_to_chunked  # noqa: E402
from inspect_ai.model import (ChatMessageAssistant, ContentReasoning, ContentText, ModelOutput, ModelUsage,  # noqa: E402
                              get_model)
from inspect_ai.model._model_output import ChatCompletionChoice  # noqa: E402
from inspect_ai.scorer import includes  # noqa: E402
from inspect_ai.tool import ToolCall, bash, python, think  # noqa: E402

Calls = list[tuple[str, dict[str, Any]]]
WRITE = f"cat > parse.py <<'END'\n{AFTER}END"
GOOD: list[tuple[str, Calls]] = [
    ("I look at the parser first.", [("bash", {"command": "cat parse.py"})]),
    ("", [("think", {"thought": "February has 29 days in a leap year."})]),
    ("I repair it and look at it.", [("bash", {"command": WRITE}), ("bash", {"command": "cat parse.py"})]),
    ("I run the tests.", [("bash", {"command": "python3 -m unittest -q"}), ("python", {"code": "print(1/0)"})]),
    ("", [("submit", {"answer": "repaired"})]),
]
BAD: list[tuple[str, Calls]] = [
    ("", [("nosuchtool", {"x": 1})]), ("", [("bash", {"cmd": "ls"})]), ("", [("bash", {"command": "sleep 9"})]),
    ("", [("submit", {"answer": "gave up"})]),
]
LOOP: list[tuple[str, Calls]] = [("Again.", [("bash", {"command": "ls; exit 3"})])] * 9


def outputs(plan: list[tuple[str, Calls]]) -> list[ModelOutput]:
    made, number = [], 0
    for thought, calls in plan:
        native = []
        for name, arguments in calls:
            number += 1
            native.append(ToolCall(id=f"call_{number}", function=name, arguments=arguments, type="function"))
        content: Any = [ContentReasoning(reasoning="A repair is asked for."), ContentText(text=thought)] if thought else ""
        message = ChatMessageAssistant(content=content, tool_calls=native, source="generate", model="mockllm/model")
        made.append(ModelOutput(
            model="mockllm/model", choices=[ChatCompletionChoice(message=message, stop_reason="tool_calls")],
            usage=ModelUsage(input_tokens=600, output_tokens=40, total_tokens=940, input_tokens_cache_read=300,
                             reasoning_tokens=10, total_cost=0.004)))
    return made


def run(name: str, plan: list[tuple[str, Calls]], kind: str, *, epochs: int = 1, crash: bool = False,
        **limits: Any) -> Path:
    said: Any = [*outputs(plan * epochs)]
    if crash:
        def said(*_: Any) -> ModelOutput:  # noqa: F811
            raise RuntimeError("simulated outage of the provider")
    tests = "import unittest\nfrom parse import DAYS\n\n\nclass Leap(unittest.TestCase):\n    def test_leap(self):\n        self.assertEqual(DAYS[1], 29)\n"
    files = {"parse.py": BEFORE, "test_parse.py": tests}
    task = Task(name=name, dataset=[Sample(id="leap-102", input=ISSUE, target="repaired", files=files)],
                solver=react(tools=[bash(timeout=3), python(timeout=3), think()]), scorer=includes(), sandbox="local",
                epochs=epochs, **limits)
    logs = HOME / f"{name}-{kind}"
    run_eval(task, model=get_model("mockllm/model", custom_outputs=said), log_format=kind, log_dir=str(logs),
             fail_on_error=False, max_samples=1, display="none")
    return next(logs.iterdir())


def cleaned(data: bytes) -> bytes:
    data = data.replace(str(HOME).encode(), b"/work")
    data = re.sub(rb'(File \\?")[^"\\]*/(site-packages|lib/python3\.\d+)/', rb"\1/\2/", data)
    return re.sub(rb"/(?:root|home|opt|tmp)/[\w./-]*", b"/x", data)


def repacked(source: Path, target: Path, *, deflated: bool = False, leave_out: tuple[str, ...] = ()) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    how: Any = {"compression": zipfile.ZIP_DEFLATED} if deflated else zipfile_compress_kwargs
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", **how) as new:
        for name in old.namelist():
            if name not in leave_out:
                new.writestr(name, cleaned(old.read(name)))


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    good = run("repair", GOOD, "eval", epochs=2)
    repacked(good, out / "zstd" / "repair.eval")
    repacked(good, out / "deflated" / "repair.eval", deflated=True)
    repacked(good, out / "running" / "repair.eval",
             leave_out=("header.json", "summaries.json", "reductions.json", "samples/leap-102_epoch_2.json"))
    limited = run("limited", LOOP, "eval", message_limit=9)
    for name, log in (("repair", good), ("limited", limited)):
        convert_eval_logs_to_chunked(str(log), str(HOME / "chunked" / name), overwrite=True)
        repacked(next((HOME / "chunked" / name).rglob("*.eval")), out / "chunked" / f"{name}.eval")
    repacked(run("bad_tools", BAD, "eval"), out / "bad_tools" / "bad_tools.eval")
    repacked(limited, out / "limited" / "limited.eval")
    repacked(run("crashed", GOOD, "eval", crash=True), out / "crashed" / "crashed.eval")
    for name, plan, limits in (("repair", GOOD, {}), ("limited", LOOP, {"message_limit": 9})):
        target = out / "json" / f"{name}.json"
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(cleaned(run(name, plan, "json", **limits).read_bytes()))


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve())
