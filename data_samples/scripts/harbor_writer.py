"""Write ATIF documents and Harbor trials with Harbor's own models. Usage: python harbor_writer.py OUT_ATIF OUT_HARBOR

Needs Python 3.12 and harbor==0.26.0: its classes validate and write every document (`Trajectory`, `TrialResult`). No trial ran (that
needs a container): what is in the documents is `scaffold_plans.py`'s. Trial and job settings are short, in the layout of `models/`.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from scaffold_plans import (AFTER, BEFORE, CHECK, INSTANCE, ISSUE, LOOK, MODEL, REPAIR, REPRODUCE, SYSTEM, Turn,
                            write_json)

sys.dont_write_bytecode = True

from harbor.models.trajectories import Trajectory  # noqa: E402
from harbor.models.trial.result import TrialResult  # noqa: E402

Json = dict[str, Any]


def when(seconds: int) -> str:
    return f"2026-01-01T00:{seconds // 60:02d}:{seconds % 60:02d}Z"


def steps(turns: list[Turn], version: int, first: int = 1) -> list[Json]:
    out: list[Json] = [{"step_id": 1, "timestamp": when(0), "source": "system", "message": SYSTEM},
                       {"step_id": 2, "timestamp": when(1), "source": "user", "message": ISSUE}]
    for number, turn in enumerate(turns, first):
        call = f"call_{number}"
        name, arguments = native(turn)
        said: Json = {"step_id": len(out) + 1, "timestamp": when(10 * number), "source": "agent", "model_name": MODEL,
                      "message": turn.thought, "reasoning_content": f"Thinking about turn {number}.",
                      "tool_calls": [{"tool_call_id": call, "function_name": name, "arguments": arguments}],
                      "observation": {"results": [{"source_call_id": call, "content": turn.output}]},
                      "metrics": {"prompt_tokens": 900, "completion_tokens": 40, "cached_tokens": 300,
                                  "cost_usd": 0.004}}
        if version >= 6:
            said["message"] = [{"type": "text", "text": turn.thought}]
        if version >= 7:
            said["llm_call_count"] = 1
        out.append(said)
    return out


def native(turn: Turn) -> tuple[str, Json]:
    if turn.kind == "shell":
        return "bash_command", {"keystrokes": turn.command + "\n", "duration": 5}
    if turn.kind == "read":
        return "read_file", {"path": turn.path}
    if turn.kind == "replace":
        return "str_replace_editor", {"command": "str_replace", "path": turn.path, "old_str": BEFORE, "new_str": AFTER}
    return "mark_task_complete", {}


def totals(agent_steps: int, all_steps: int) -> Json:
    return {"total_prompt_tokens": 900 * agent_steps, "total_completion_tokens": 40 * agent_steps,
            "total_cached_tokens": 300 * agent_steps, "total_cost_usd": round(0.004 * agent_steps, 6),
            "total_steps": all_steps}


DONE = Turn("The tests pass.", "submit", output="")
TURNS = [LOOK, REPRODUCE, REPAIR, CHECK, DONE]


def document(version: int, turns: list[Turn] = TURNS, **more: Any) -> Json:
    made = steps(turns, version)
    said: Json = {"schema_version": f"ATIF-v1.{version}", "session_id": f"session-1.{version}",
                  "agent": {"name": "terminus-2", "version": "2.0.0", "model_name": MODEL, "extra": {"parser": "json"}},
                  "steps": made, "final_metrics": totals(len(turns), len(made)), **more}
    if version >= 5:
        said["agent"]["tool_definitions"] = [{"type": "function", "function": {"name": name, "parameters": {}}}
                                             for name in ("bash_command", "read_file", "str_replace_editor")]
    if version >= 7:
        said["trajectory_id"] = f"trajectory-1.{version}"
        said["subagent_trajectories"] = [helper(version)]
        made[3]["observation"]["results"][0]["subagent_trajectory_ref"] = [{"trajectory_id": "helper-1"}]
    return said


def helper(version: int) -> Json:
    made = [{"step_id": 1, "source": "user", "message": "Which file holds the days?"},
            {"step_id": 2, "source": "agent", "message": "datekit/parse.py"}]
    return {"schema_version": f"ATIF-v1.{version}", "trajectory_id": "helper-1",
            "agent": {"name": "helper", "version": "1"}, "steps": made}


def write(path: Path, said: Json) -> None:
    write_json(path, Trajectory.model_validate(said).to_json_dict())


def continued(folder: Path) -> None:
    """Terminus 2 with linear history: the context is copied into the next segment, totals go on."""
    first = document(6, TURNS[:3], continued_trajectory_ref="trajectory.cont-1.json")
    write(folder / "trajectory.json", first)
    second = document(6, TURNS[3:])
    copied = [{**step, "step_id": number, "is_copied_context": True} for number, step in
              enumerate(first["steps"], 1)]
    fresh = [{**step, "step_id": len(copied) + number} for number, step in enumerate(second["steps"][2:], 1)]
    second |= {"session_id": "session-1.6-cont-1", "steps": copied + fresh,
               "final_metrics": totals(5, len(copied) + len(fresh))}
    write(folder / "trajectory.cont-1.json", second)
    summary(folder, 6)


def summary(folder: Path, version: int) -> None:
    said = helper(version)
    said.pop("trajectory_id")
    said |= {"session_id": f"session-1.{version}-summarization-1-summary"}
    said["agent"]["name"] = "terminus-2-summarization-summary"
    write(folder / "trajectory.summarization-1-summary.json", said)


def batched(folder: Path) -> None:
    """Several commands, one result without a call's id; a system step with a result."""
    said = document(5, [REPRODUCE, CHECK])
    agent = said["steps"][2]
    agent["tool_calls"].append({"tool_call_id": "call_9", "function_name": "bash_command",
                                "arguments": {"keystrokes": "ls\n", "duration": 1}})
    agent["observation"]["results"] = [{"source_call_id": None, "content": "F\n1 failed in 0.03s\n$ ls\ndatekit tests"}]
    said["steps"][0]["observation"] = {"results": [{"content": "environment ready"}]}
    write(folder / "trajectory.json", said)
    summary(folder, 5)


def trial(folder: Path, name: str, *, reward: float | None, exception: str | None = None,
          log: Json | None = None, step_results: list[Json] | None = None) -> None:
    result: Json = {
        "id": "00000000-0000-4000-8000-000000000001", "task_name": INSTANCE, "trial_name": name,
        "trial_uri": f"file:///jobs/demo/{name}", "task_id": {"path": f"tasks/{INSTANCE}"}, "source": "datekit",
        "task_checksum": "0" * 8, "config": {"task": {"path": f"tasks/{INSTANCE}"}, "trial_name": name},
        "agent_info": {"name": "terminus-2", "version": "2.0.0", "model_info": {"name": MODEL, "provider": "scripted"}},
        "started_at": when(0), "finished_at": when(120), "step_results": step_results,
        "agent_execution": {"started_at": when(10), "finished_at": when(70)}}
    if log is not None and step_results is None:
        result["agent_result"] = {"n_input_tokens": 4500, "n_cache_tokens": 1500, "n_output_tokens": 200,
                                  "cost_usd": 0.02}
        write(folder / name / "agent" / "trajectory.json", log)
    if reward is not None:
        result["verifier_result"] = {"rewards": {"reward": reward}}
        write_json(folder / name / "verifier" / "reward.json", {"reward": reward})
    if exception is not None:
        result["exception_info"] = {"exception_type": exception, "exception_message": "planted",
                                    "exception_traceback": "", "occurred_at": when(100)}
    made = json.loads(TrialResult.model_validate(result).model_dump_json(exclude_none=True))
    write_json(folder / name / "result.json", made)
    write_json(folder / name / "config.json", {"trial_name": name, "trials_dir": "jobs/demo", "task": {}})


def two_steps(folder: Path) -> None:
    """A trial of two steps, each with its own log and reward."""
    name = f"{INSTANCE}__steps"
    used = {"n_input_tokens": 1800, "n_cache_tokens": 600, "n_output_tokens": 80, "cost_usd": 0.008}
    results = [{"step_name": step, "agent_result": used, "verifier_result": {"rewards": {"reward": reward}},
                "agent_execution": {"started_at": when(10), "finished_at": when(30)}}
               for step, reward in (("find", 1.0), ("repair", 0.0))]
    trial(folder, name, reward=None, step_results=results)
    for step, turns in (("find", TURNS[:2]), ("repair", TURNS[2:4])):
        write(folder / name / "steps" / step / "agent" / "trajectory.json", document(6, turns))


def main(atif: Path, jobs: Path) -> None:
    for out in (atif, jobs):
        shutil.rmtree(out, ignore_errors=True)
    for version in range(9):
        write(atif / f"version_1.{version}" / "trajectory.json", document(version))
    continued(atif / "continued")
    batched(atif / "batched")
    folder = jobs / "demo"
    trial(folder, f"{INSTANCE}__solved", reward=1.0, log=document(7))
    trial(folder, f"{INSTANCE}__timeout", reward=0.0, exception="AgentTimeoutError", log=document(6))
    trial(folder, f"{INSTANCE}__outage", reward=0.0, exception="RateLimitError", log=document(6))
    trial(folder, f"{INSTANCE}__nostart", reward=None, exception="EnvironmentStartTimeoutError")
    two_steps(folder)
    write_json(folder / "result.json", {"id": "0", "started_at": when(0), "n_total_trials": 5, "stats": {"n_trials": 5, "n_errors": 3}})
    write_json(folder / "config.json", {"job_name": "demo", "jobs_dir": "jobs"})


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
