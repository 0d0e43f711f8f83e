"""Write trace exports with Harbor's own exporter. Usage: python harbor_traces_writer.py JOBS OUT

Needs Python 3.12, harbor==0.26.0 and datasets; JOBS is `data_samples/harbor`. `export_traces` reads copies of its trials, which get
what a run leaves beside them: the job's id, its statistics, a summary by a second agent, a log that goes on in a second file, which
begins with a copied context. Lines and Parquet are written by `datasets`, as a push to the hub writes Parquet.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.dont_write_bytecode = True

from datasets import concatenate_datasets  # noqa: E402
from harbor.utils.traces_utils import export_traces  # noqa: E402
from scaffold_plans import write_json  # noqa: E402

Json = dict[str, Any]
JOB = "00000000-0000-4000-8000-0000000000aa"
TASK = "datekit__leap-102"


def edit(path: Path, **more: Any) -> None:
    write_json(path, json.loads(path.read_text(encoding="utf-8")) | more)


def trial(jobs: Path, root: Path, name: str) -> Path:
    """A copy of one trial of the job, with the job's id in its settings."""
    folder = root / name
    shutil.copytree(jobs / "demo" / name, folder)
    said = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    edit(folder / "result.json", config=said["config"] | {"job_id": JOB, "agent": {"name": "terminus-2"}})
    for path in folder.rglob("trajectory*.json"):
        plain(path)
    return folder


def plain(path: Path) -> None:
    """The exporter stops at messages in parts, which Terminus 2 does not write."""
    log = json.loads(path.read_text(encoding="utf-8"))
    for step in log["steps"]:
        if isinstance(step["message"], list):
            step["message"] = "".join(part["text"] for part in step["message"])
    write_json(path, log)


def tools(folder: Path) -> None:
    """The exporter takes the tools that were offered from the log; tests left what they printed."""
    path = folder / "agent" / "trajectory.json"
    log = json.loads(path.read_text(encoding="utf-8"))
    offered = [{"type": "function", "function": {"name": name, "description": f"Runs {name}.",
                                                 "parameters": {"type": "object"}}}
               for name in ("bash_command", "read_file", "str_replace_editor")]
    edit(path, agent=log["agent"] | {"tool_definitions": offered})
    (folder / "verifier" / "test-stdout.txt").write_text("2 passed\n", encoding="utf-8")


def continued(root: Path, atif: Path) -> None:
    """A log in two files and the summary between them, as in the samples of ATIF."""
    folder = root / f"{TASK}__continued"
    shutil.copytree(root / f"{TASK}__solved", folder)
    shutil.rmtree(folder / "agent")
    shutil.copytree(atif / "continued", folder / "agent")
    for path in folder.rglob("trajectory*.json"):
        plain(path)
    edit(folder / "result.json", trial_name=folder.name, verifier_result={"rewards": {"reward": 0.0}})


def statistics(root: Path) -> None:
    """The job's own result, which the exporter asks before the trials'."""
    rewards = {"1.0": [f"{TASK}__solved"], "0.0": [f"{TASK}__timeout", f"{TASK}__outage"]}
    errors = {"AgentTimeoutError": [f"{TASK}__timeout"], "RateLimitError": [f"{TASK}__outage"]}
    stats = {"evals": {"terminus-2__demo": {"reward_stats": {"reward": rewards}, "exception_stats": errors}}}
    write_json(root / "result.json", {"id": JOB, "stats": stats})


def exported(root: Path, **options: Any) -> Any:
    """In the order of the trials' names: the exporter's is that of the file system."""
    return export_traces(root, use_rich_progress=False, **options).sort(["trial_name", "trace_source"])


def of_steps(root: Path) -> Any:
    """A trial of two steps, each with its own instruction: the exporter names the rows of both alike."""
    path = root / f"{TASK}__steps" / "steps" / "repair" / "agent" / "trajectory.json"
    log = json.loads(path.read_text(encoding="utf-8"))
    log["steps"][1]["message"] = "Now repair what you found."
    write_json(path, log)
    folders = (root / f"{TASK}__steps" / "steps" / step for step in ("find", "repair"))
    return concatenate_datasets([export_traces(folder, use_rich_progress=False) for folder in folders])


def save(rows: Any, path: Path) -> None:
    path.parent.mkdir(parents=True)
    if path.suffix == ".parquet":
        rows.to_parquet(path)
    else:
        rows.to_json(path, force_ascii=False)


def main(jobs: Path, out: Path) -> None:
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as place:
        root = Path(place) / "demo"
        for name in ("solved", "timeout", "outage"):
            trial(jobs, root, f"{TASK}__{name}")
        tools(root / f"{TASK}__solved")
        continued(root, jobs.parent / "atif")
        statistics(root)
        rows = exported(root, include_instruction=True, include_verifier_output=True)
        save(rows, out / "rows" / "traces.jsonl")
        save(exported(root, to_sharegpt=True), out / "parquet" / "train-00000-of-00001.parquet")
        save(exported(root, episodes="last"), out / "last" / "traces.jsonl")
        trial(jobs, root, f"{TASK}__steps")
        save(of_steps(root), out / "steps" / "traces.jsonl")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
