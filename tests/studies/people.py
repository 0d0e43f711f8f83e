"""Labels of calls against steps that people labelled, printed with intervals and every wrong one.

Usage: PYTHONPATH=. python tests/studies/people.py ../shared/gold/human_step_labels_dev.jsonl
The file holds steps of public agent runs labelled by people (arXiv:2506.18824); its *Run tests* means that something
is executed to check: tests, scripts and inline code. *Generate Fix*, *Refactor* and *Reproduce* write files. Clusters
are tasks.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from trajlab.behavior.tools import labels_of_tool
from trajlab.stats import Estimate, proportion

WRITES = ("Generate Fix", "Refactor", "Reproduce")


def executes(labels: frozenset[str]) -> bool:
    """Runs tests, a script or inline code."""
    return any(label.startswith("test:") for label in labels) or bool(labels & {"script", "inline"})


def agreement(steps: Sequence[dict]) -> tuple[dict[str, Estimate], list[dict]]:
    """Precision and recall of *executes* against *Run tests*, recall of ``edit``; and the steps that disagree."""
    found = [labels_of_tool(step["tool"], step["args"]) for step in steps]
    ran = [executes(labels) for labels in found]
    tests = [step["label"] == "Run tests" for step in steps]
    tasks = [step["instance_id"] for step in steps]

    def share(of: Sequence[bool], among: Sequence[bool]) -> Estimate:
        kept = [place for place, there in enumerate(among) if there]
        return proportion([float(of[place]) for place in kept], [tasks[place] for place in kept])

    estimates = {
        "executes, precision": share(tests, ran),
        "executes, recall": share(ran, tests),
        "edit, recall": share(["edit" in labels for labels in found], [step["label"] in WRITES for step in steps]),
    }
    wrong = [
        step | {"found": sorted(labels)}
        for step, labels, run, test in zip(steps, found, ran, tests, strict=True)
        if run != test or (step["label"] in WRITES and "edit" not in labels)
    ]
    return estimates, wrong


def main(path: Path) -> None:
    steps = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    estimates, wrong = agreement(steps)
    for name, estimate in estimates.items():
        print(f"{name:20} {estimate}")
    for step in wrong:
        said = f"people {step['label']}, rules {', '.join(step['found'])}"
        print(f"{step['instance_id']} step {step['iteration']}: {said}: {json.dumps(step['args'])[:200]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
