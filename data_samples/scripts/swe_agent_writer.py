"""Write trajectories in SWE-agent's layouts. Usage: python swe_agent_writer.py OUT

SWE-agent itself is not in the package index (what is there under its name is a placeholder of 2024), so the keys are those that
`get_trajectory_data` and `add_step_to_trajectory` of 1.1 and the 0.x logs in its repository have. The words are `scaffold_plans.py`'s.
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from scaffold_plans import (CHECK, INSTANCE, ISSUE, LOOK, MODEL, PATCH, REPAIR, REPRODUCE, SUBMIT, SYSTEM, TURNS, Turn,
                            report, write_json)

sys.dont_write_bytecode = True
Json = dict[str, Any]


def action(turn: Turn) -> str:
    """The turn as SWE-agent's text."""
    if turn.kind == "shell":
        return turn.command
    if turn.kind == "read":
        return f"str_replace_editor view {turn.path}"
    if turn.kind == "replace":
        return (f"str_replace_editor str_replace {turn.path} --old_str 'DAYS = (31, 28' --new_str 'DAYS = (31, 29'")
    return "submit"


def native(turn: Turn, number: int) -> Json:
    """The turn as a call with arguments."""
    arguments: Json = {"shell": {"command": turn.command}, "read": {"command": "view", "path": turn.path},
                       "replace": {"command": "str_replace", "path": turn.path, "old_str": "DAYS = (31, 28",
                                   "new_str": "DAYS = (31, 29"}, "submit": {}}[turn.kind]
    name = {"shell": "bash", "submit": "submit"}.get(turn.kind, "str_replace_editor")
    return {"index": 0, "function": {"arguments": json.dumps(arguments), "name": name},
            "id": f"call_{number}", "type": "function"}


def message(role: str, content: Any, kind: str, **more: Any) -> Json:
    return {"role": role, "content": content, "agent": "main", "message_type": kind, **more}


def opening() -> list[Json]:
    return [message("system", SYSTEM, "system_prompt"),
            message("user", [{"type": "text", "text": ISSUE}], "observation")]


def stats(calls: int) -> Json:
    return {"instance_cost": round(0.004 * calls, 6), "tokens_sent": 900 * calls, "tokens_received": 40 * calls,
            "api_calls": calls}


def info(status: str | None, submission: str | None, calls: int, version: str) -> Json:
    said: Json = {"swe_agent_hash": "unavailable", "swe_agent_version": version, "swe_rex_version": "1.4.0",
                  "swe_rex_hash": "unavailable"}
    if calls:
        said |= {"submission": submission, "exit_status": status, "edited_files30": "", "edited_files50": "",
                 "edited_files70": "", "model_stats": stats(calls)}
    return said


def replay_config(limit: int) -> str:
    model = {"name": MODEL, "per_instance_cost_limit": 3.0, "total_cost_limit": 0.0, "per_instance_call_limit": limit,
             "temperature": 0.0}
    return json.dumps({"agent": {"name": "main", "type": "default", "model": model,
                                 "templates": {"system_template": SYSTEM}}, "problem_statement": {"id": INSTANCE}})


def version_0() -> Json:
    """0.x: commands in the text, ``state`` a text, a demonstration in the history, total_cost."""
    history = [message("system", SYSTEM, "system_prompt"),
               {"agent": "primary", "content": "Here is a demonstration.", "is_demo": True, "role": "user"},
               {"agent": "primary", "content": ISSUE, "role": "user"}]
    steps: list[Json] = []
    turns = [Turn("I open the file.", "shell", "open datekit/parse.py 1", output="[File: parse.py (1 lines total)]"),
             REPRODUCE,
             Turn("I change the line.", "shell", "edit 1:1\nDAYS = (31, 29, 31, 30)\nend_of_edit", output="File updated."),
             CHECK, SUBMIT]
    for turn in turns:
        done = action(turn) + "\n"
        response = f"{turn.thought}\n\n```\n{done}```"
        steps.append({"action": done, "observation": turn.output, "response": response,
                      "state": '{"open_file": "n/a", "working_dir": "/testbed"}\n', "thought": f"{turn.thought}\n\n"})
        history += [{"role": "assistant", "content": response, "thought": f"{turn.thought}\n\n", "action": done,
                     "agent": "primary"}]
        if turn is not SUBMIT:
            history.append({"role": "user", "content": f"{turn.output}\n(Open file: n/a)\nbash-$", "agent": "primary"})
    return {"environment": "swe_main", "trajectory": steps, "history": history,
            "info": {"exit_status": "submitted", "submission": PATCH,
                     "model_stats": {"total_cost": 0.5, **stats(len(turns))}}}


def attempt(turns: list[Turn], status: str, submission: str | None, *, key: str | None, version: str,
            refused: Turn | None = None, said_at_end: str | None = None, limit: int = 0) -> Json:
    """1.x with native calls; ``refused`` is a turn that is asked again: it stands in the trajectory alone."""
    history, steps = opening(), []
    for number, turn in enumerate(turns, 1):
        if refused is not None and number == 2:
            steps.append(step({"action": refused.command, "observation": "", "response": refused.thought,
                               "thought": refused.thought, "execution_time": 0.0}, history, key))
        steps.append(step({"action": action(turn), "observation": turn.output, "response": turn.thought,
                           "thought": turn.thought, "execution_time": 0.25 * number}, history, key))
        call = native(turn, number)
        history += [message("assistant", turn.thought, "action", thought=turn.thought, action=action(turn),
                            tool_calls=[call], thinking_blocks=[{"type": "thinking", "thinking": f"Turn {number}."}]),
                    message("tool", [{"type": "text", "text": f"OBSERVATION:\n{turn.output}"}], "observation",
                            tool_call_ids=[call["id"]])]
    if said_at_end is not None:
        steps.append(step({"action": "", "observation": "Exited (autosubmitted)", "response": said_at_end,
                           "thought": said_at_end, "execution_time": 0.0}, history, key))
        history += [message("assistant", said_at_end, "action", thought=said_at_end, action="", tool_calls=None,
                            thinking_blocks=None), message("user", "Exited (autosubmitted)", "observation")]
    calls = len(turns) + (refused is not None)
    return {"trajectory": steps, "history": history, "info": info(status, submission, calls, version),
            "replay_config": replay_config(limit), "environment": "main"}


def step(said: Json, history: list[Json], key: str | None) -> Json:
    done = said | {"state": {"working_dir": "/testbed"}}
    if key is not None:
        done |= {key: [dict(entry) for entry in history[:2]], "extra_info": {}}
    return done


def retry() -> Json:
    """Two attempts; the second was chosen, and stands at the top again, with the totals of all."""
    first = attempt([LOOK, SUBMIT], "submitted", PATCH.replace("29", "30"), key="query", version="1.1.0")
    first["info"]["review"] = {"accept": 0.2, "outputs": [], "messages": []}
    second = attempt(list(TURNS), "submitted", PATCH, key="query", version="1.1.0", limit=50)
    second["info"]["review"] = {"accept": 0.9, "outputs": [], "messages": []}
    top = json.loads(json.dumps(second))
    top["info"] |= {"best_attempt_idx": 1, "rloop_model_stats": stats(2), "model_stats": stats(9)}
    return {"attempts": [first, second], **top}


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    broken = Turn("I will fix it.", "shell", "")
    blocked = Turn("I open an editor.", "shell", "vim datekit/parse.py")
    documents = {
        "version_0.x": version_0(),
        "version_1.0": attempt(list(TURNS), "submitted", PATCH, key="messages", version="1.0.1", limit=30),
        "refused": attempt(list(TURNS), "submitted", PATCH, key="query", version="1.1.0", refused=blocked, limit=40),
        "cost_limit": attempt([LOOK, REPAIR], "submitted (exit_cost)", PATCH, key="query", version="1.1.0",
                              refused=broken, said_at_end="Exit due to cost limit"),
        "retry": retry(),
        "demo": {"history": attempt(list(TURNS), "submitted", PATCH, key=None, version="1.0.1")["history"]},
    }
    for name, document in documents.items():
        write_json(out / name / INSTANCE / f"{INSTANCE}.traj", document, indent=2)
    write_json(out / "retry" / INSTANCE / "report.json", {INSTANCE: report(True)})
    write_json(out / "refused" / INSTANCE / "report.json", {INSTANCE: report(True)})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
