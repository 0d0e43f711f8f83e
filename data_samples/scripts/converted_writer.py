"""Write a trajectory in which everything is recorded as ``trajlab convert --to atif`` does, and one of a failed start.

Usage: python converted_writer.py FOLDER
"""

from __future__ import annotations

import sys
from pathlib import Path

from trajlab.conversion.atif import encode
from trajlab.records import Message, RewardPart, RunSetting, Step, ToolCall, Trajectory


def full() -> Trajectory:
    return Trajectory(
        "v", "0", native_id="run-7-a", parent_native_id="run-7", run="converted-demo", task_id="datekit__leap-102",
        group_id="leap-102", attempt=1, split="train", train_step=7, epoch=0, policy_version_first="6", policy_version_last="7",
        agent="demo-agent", agent_version="1.2", model="scripted-model", reward=0.75, correct=True, outcome=True,
        termination="success", stop_reason="submitted", gradable=True, steps_allowed=30, logged_steps=2,
        prompt_tokens=2_000, completion_tokens=150, cached_tokens=900, reasoning_tokens=40, seconds=12.5, cost=0.02,
        started_at=1_767_225_600.0, tools_offered=["bash", "think"], submission="diff --git a/leap.py b/leap.py\n",
        messages=[Message("system", "You repair code."), Message("user", "2100 is no leap year."),
                  Message("customer", "Hurry.", 1)],
        steps=[
            Step("I run the tests.", "Where are they?", [
                ToolCall("bash", {"command": "python -m pytest -q tests/test_leap.py", "timeout": 60},
                         "python -m pytest -q tests/test_leap.py", "c1", "1 failed in 0.11s\n", 1, True, True, None,
                         "agent", 0.4),
                ToolCall("think", '{"thought": ', None, "c2", invalid="unparsable", executed=False),
            ], None, "tool_calls", 800, 60, 0.01, 1_767_225_600.0),
            Step("Done.", None, [
                ToolCall("bash", {"command": "sed -i 's/4/400/' datekit/leap.py"},
                         "sed -i 's/4/400/' datekit/leap.py", "c3", "", 0, False, True, None, "agent", 0.1),
            ], None, "stop", 1_200, 90, 0.01, 1_767_225_605.0),
        ],
        rewards=[RewardPart("tests", 1.0, 0.5), RewardPart("style", 0.5, 0.5)],
        settings=[RunSetting("temperature", "1.0")],
    )  # fmt: skip


def failed() -> Trajectory:
    return Trajectory("v", "0", run="converted-demo", task_id="datekit__leap-102", attempt=2, agent="demo-agent",
                      termination="infrastructure_error", stop_reason="EnvironmentStartTimeoutError")  # fmt: skip


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name, trajectory in (("full", full()), ("failed_start", failed())):
        (folder / f"{name}.trajectory.json").write_bytes(encode(trajectory))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
