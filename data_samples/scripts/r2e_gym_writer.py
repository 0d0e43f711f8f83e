"""Write trajectories with R2E-Gym's keys. Usage: python r2e_gym_writer.py OUT

The keys are those that `agenthub/run/edit.py` and `agent.py` of R2E-Gym fill; nothing ran. The words are `scaffold_plans.py`'s.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from scaffold_plans import AFTER, BEFORE, CHECK, INSTANCE, ISSUE, LOOK, MODEL, PATCH, REPAIR, REPRODUCE, Turn, write_lines

sys.dont_write_bytecode = True
Json = dict[str, Any]


def xml(name: str, **parameters: str) -> str:
    inside = "".join(f"  <parameter={key}>{value}</parameter>\n" for key, value in parameters.items())
    return f"<function={name}>\n{inside}</function>"


def action(turn: Turn) -> str:
    if turn.kind == "shell":
        return xml("execute_bash", cmd=turn.command)
    if turn.kind == "read":
        return xml("file_editor", command="view", path=turn.path)
    return xml("file_editor", command="str_replace", path=turn.path, old_str=BEFORE, new_str=AFTER)


def steps(turns: list[Turn]) -> list[Json]:
    made = []
    for number, turn in enumerate(turns):
        output = f"Exit code: {turn.exit_code}\n{turn.output}" if turn.kind == "shell" else turn.output
        thought = f"<think>{turn.thought}</think>" if number == 0 else turn.thought
        made.append({"step_idx": number, "thought": thought, "action": action(turn), "observation": output, "done": False,
                     "info": {}, "token_usage_prompt": 900, "token_usage_completion": 40, "token_usage_total": 940,
                     "llm_exec_time": 1.5, "env_exec_time": 0.4, "total_step_time": 2.0, "total_time_traj": 2.0 * number,
                     "step_count": number + 1})
    return made


def row(name: str, done: list[Json], reason: str, reward: float | None, patch: str) -> Json:
    return {"trajectory_steps": done, "problem_statement": ISSUE, "docker_image": f"image:{name}", "exp_name": "demo",
            "agent_args": {"system_prompt": "", "llm_name": MODEL}, "env_args": {}, "ds": {"instance_id": name},
            "max_steps": 40, "max_steps_absolute": 50, "max_token_limit": 65536, "exit_reason": reason,
            "output_patch": patch, "reward": reward, "reward_calc_time": 3.0, "test_output": ""}


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    good = steps([LOOK, REPRODUCE, REPAIR, CHECK])
    good.append({**good[-1], "step_idx": 4, "thought": "All tests pass.", "action": xml("finish", command="submit"),
                 "observation": "<<< Finished >>>", "done": True})
    empty = steps([LOOK])
    empty.append({**empty[0], "step_idx": 1, "thought": "I do not know.", "action": "", "observation": ""})
    write_lines(out / "lines" / "demo.jsonl", [
        row(INSTANCE, good, "agent", 1.0, PATCH), row("datekit__week-7", empty, "max_step_limit", 0.0, ""),
        row("datekit__zone-9", [], "env_exception", 0.0, "")])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
