"""Have BrowserGym write the summaries of made-up episodes. Usage: python agentlab_writer.py OUT

`ExpArgs.save_summary_info` is browsergym-experiments' own; the steps it sums up are ours, and no browser was opened.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from browsergym.experiments.loop import ExpArgs, StepInfo

sys.dont_write_bytecode = True
EPISODES = {
    "GenericAgent-scripted-model_on_miniwob.click-test_7": (3, 1.0, {"terminated": True}, None),
    "GenericAgent-scripted-model_on_miniwob.click-menu_7": (4, 0.0, {"terminated": True}, None),
    "GenericAgent-scripted-model_on_miniwob.click-menu_8": (10, 0.0, {"truncated": True}, None),
    "GenericAgent-scripted-model_on_miniwob.click-menu_9": (2, 0.0, {}, "ParseError: no action in the answer"),
    "GenericAgent-scripted-model_on_miniwob.click-test_8": (2, 0.0, {}, None),
}


def episode(steps: int, reward: float, end: dict[str, bool], error: str | None) -> list[StepInfo]:
    """A turn of the agent costs 900 and 40 tokens; the last step only observes."""
    made = []
    for number in range(steps + 1):
        last = number == steps
        used = {} if last else {"input_tokens": 900, "output_tokens": 40, "cost": 0.004, "agent_elapsed": 1.5}
        made.append(StepInfo(step=number, reward=reward if last else 0.0, raw_reward=reward if last else 0.0, action=None if last else "click('12')",
                             agent_info={"err_msg": error, "stack_trace": "trace"} if last and error else {}, stats={"step_elapsed": 0.5, **used},
                             **(end if last else {})))
    return made


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    for name, (steps, reward, end, error) in EPISODES.items():
        folder = out / "study" / f"2026-01-01_00-00-00_{name}"
        folder.mkdir(parents=True)
        ExpArgs.save_summary_info(None, episode(steps, reward, end, error), folder, None, None)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
