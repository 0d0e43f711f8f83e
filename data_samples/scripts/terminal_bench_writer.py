"""Write runs in the layout of terminal-bench 1. Usage: python terminal_bench_writer.py OUT

The keys are those of `harness/models.py` of 0.2.18 and the files those of its Terminus agents; no run was made (that needs a container).
"""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path
from typing import Any

from scaffold_plans import BEFORE, CHECK, INSTANCE, ISSUE, REPAIR, REPRODUCE, write_json

sys.dont_write_bytecode = True
Json = dict[str, Any]
SED = "sed -i 's/31, 28/31, 29/' datekit/parse.py"


def terminus_1(thought: str, *commands: str, done: bool = False) -> str:
    return json.dumps({"state_analysis": thought, "explanation": "I go on.", "is_task_complete": done, "commands": [
        {"keystrokes": command + "\n", "is_blocking": True, "timeout_sec": 30} for command in commands]})


def terminus_2(thought: str, *commands: str, done: bool = False) -> str:
    said = json.dumps({"analysis": thought, "plan": "I go on.", "task_complete": done, "commands": [
        {"keystrokes": command + "\n", "duration": 1.0} for command in commands]})
    return f"Here it is:\n{said}\n"


def trial(run: Path, name: str, episodes: list[tuple[str, str]], suffix: str, **result: Any) -> None:
    folder = run / INSTANCE / name
    for number, (prompt, response) in enumerate(episodes):
        episode = folder / "agent-logs" / f"episode-{number}"
        episode.mkdir(parents=True)
        (episode / "prompt.txt").write_text(prompt, encoding="utf-8")
        (episode / f"response.{suffix}").write_text(response, encoding="utf-8")
        write_json(episode / "debug.json", {"model": "scripted-model"})
    facts: Json = {"id": "00000000-0000-4000-8000-000000000001", "trial_name": name, "task_id": INSTANCE,
                   "instruction": ISSUE, "is_resolved": None, "failure_mode": "unset", "parser_results": None,
                   "recording_path": f"{INSTANCE}/{name}/sessions/agent.cast", "total_input_tokens": 3600,
                   "total_output_tokens": 160, "trial_started_at": "2026-01-01T00:00:00+00:00",
                   "trial_ended_at": "2026-01-01T00:02:00+00:00", "agent_started_at": "2026-01-01T00:00:10+00:00",
                   "agent_ended_at": "2026-01-01T00:01:10+00:00", "test_started_at": None, "test_ended_at": None}
    write_json(folder / "results.json", facts | result)


def main(out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    run = out / "2026-01-01__00-00-00"
    look = f"$ cat datekit/parse.py\n{BEFORE}"
    trial(run, f"{INSTANCE}.1-of-3.demo", [
        (ISSUE, terminus_1("I look and reproduce.", "cat datekit/parse.py", REPRODUCE.command)),
        (look + REPRODUCE.output, terminus_1(REPAIR.thought, SED)),
        ("$ ", terminus_1(CHECK.thought, CHECK.command)),
        (CHECK.output, terminus_1("All tests pass.", done=True)),
    ], "json", is_resolved=True, parser_results={"test_leap": "passed", "test_days": "passed"})
    trial(run, f"{INSTANCE}.2-of-3.demo", [
        (ISSUE, terminus_2("I look.", "cat datekit/parse.py")),
        (look, "I am not sure how to answer."),
        ("Your answer was no JSON.", terminus_2(REPRODUCE.thought, REPRODUCE.command)),
    ], "txt", is_resolved=False, failure_mode="agent_timeout", parser_results={"test_leap": "failed"})
    trial(run, f"{INSTANCE}.3-of-3.demo", [], "txt", failure_mode="agent_installation_failed",
          total_input_tokens=None, total_output_tokens=None)
    write_json(run / "run_metadata.json", {"run_id": run.name, "agent_name": "terminus", "n_attempts": 3})
    write_json(run / "results.json", {"results": [], "accuracy": 1 / 3, "n_resolved": 1, "n_unresolved": 2})


if __name__ == "__main__":
    main(Path(sys.argv[1]))
