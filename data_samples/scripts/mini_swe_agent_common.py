"""What the writers for every mini-swe-agent version share: a repository, its hidden tests, and clean output."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from mini_swe_agent_tasks import Task

CLOCK_START = 1_760_000_000.0
PYTEST_SECONDS = re.compile(r"\bin \d+\.\d\ds\b")
PYTHON_VERSION = re.compile(r"Python \d+\.\d+\.\d+, pytest-[\d.]+, pluggy-[\d.]+")


def quiet_environment(home: Path) -> None:
    """Give the commands a small environment of their own: nothing of the caller's is seen, nothing is written at home."""
    keep = {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}
    os.environ.clear()
    os.environ.update(keep, HOME=str(home), LANG="C.UTF-8", LC_ALL="C.UTF-8", PYTHONHASHSEED="0", TZ="UTC",
                      PYTHONDONTWRITEBYTECODE="1", PYTEST_ADDOPTS="-p no:cacheprovider", NO_COLOR="1", COLUMNS="80",
                      PYTEST_DISABLE_PLUGIN_AUTOLOAD="1", GIT_CONFIG_GLOBAL=os.devnull, GIT_CONFIG_SYSTEM=os.devnull,
                      MSWEA_SILENT_STARTUP="1", MSWEA_GLOBAL_CONFIG_DIR=str(home / "mini"), MSWEA_CONFIGURED="1",
                      LITELLM_LOCAL_MODEL_COST_MAP="True")
    for name in ("AUTHOR", "COMMITTER"):
        os.environ.update({f"GIT_{name}_NAME": "sample", f"GIT_{name}_EMAIL": "sample@example.org",
                           f"GIT_{name}_DATE": "2025-10-01T00:00:00+0000"})


def make_repository(task: Task, folder: Path) -> None:
    for name, text in task.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "conftest.py").write_text("", encoding="utf-8")
    for command in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "initial"]):
        subprocess.run(["git", *command], cwd=folder, check=True)


def run_hidden_tests(folder: Path, task: Task) -> dict[str, bool]:
    """Run the hidden tests once and say for each whether it passed."""
    hidden = folder / "test_hidden.py"
    hidden.write_text(task.hidden, encoding="utf-8")
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-rA", hidden.name], cwd=folder, timeout=60,
                          capture_output=True, text=True, check=False)
    passed = set(re.findall(r"^PASSED test_hidden\.py::(\w+)", done.stdout, re.MULTILINE))
    return {name: name in passed for name in (*task.fail_to_pass, *task.pass_to_pass)}


def evaluate(task: Task, patch: str) -> dict[str, Any]:
    """Apply the submitted patch to a fresh repository, run the hidden tests, and report as SWE-bench does."""
    report: dict[str, Any] = {"patch_is_None": False, "patch_exists": bool(patch.strip()),
                              "patch_successfully_applied": False, "resolved": False}
    if not report["patch_exists"]:
        return report
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_repository(task, folder)
        patch += "" if patch.endswith("\n") else "\n"  # 1.3.0 drops the last line end of what is submitted
        applied = subprocess.run(["git", "apply", "-"], cwd=folder, input=patch, text=True, check=False)
        report["patch_successfully_applied"] = applied.returncode == 0
        if applied.returncode:
            return report
        result = run_hidden_tests(folder, task)
    report["resolved"] = all(result.values())
    status = {kind: {"success": [n for n in names if result[n]], "failure": [n for n in names if not result[n]]}
              for kind, names in (("FAIL_TO_PASS", task.fail_to_pass), ("PASS_TO_PASS", task.pass_to_pass))}
    none: dict[str, list[str]] = {"success": [], "failure": []}
    report["tests_status"] = {**status, "FAIL_TO_FAIL": none, "PASS_TO_FAIL": none}
    return report


def cleaned_text(text: str, replacements: dict[str, str]) -> str:
    for found, wanted in replacements.items():
        text = text.replace(found, wanted)
    text = PYTHON_VERSION.sub("Python 3.11.0, pytest-9.0.0, pluggy-1.6.0", text)
    return PYTEST_SECONDS.sub("in 0.02s", text)


def cleaned(value: Any, replacements: dict[str, str]) -> Any:
    """The same value with temporary paths, test durations and versions replaced."""
    if isinstance(value, str):
        return cleaned_text(value, replacements)
    if isinstance(value, list):
        return [cleaned(item, replacements) for item in value]
    if isinstance(value, dict):
        return {key: cleaned(item, replacements) for key, item in value.items()}
    return value


def set_clock(messages: list[dict[str, Any]], start: float) -> None:
    """Replace the recorded times by a made-up clock that moves with the length of what was said."""
    now = start
    for message in messages:
        extra = message.get("extra")
        if isinstance(extra, dict) and "timestamp" in extra:
            extra["timestamp"] = 0.0
            now += 0.5 + len(json.dumps(message)) / 400
            extra["timestamp"] = round(now, 3)


def rewrite(path: Path, replacements: dict[str, str], start: float) -> None:
    """Clean one trajectory file in place. The script of the model is taken out: a real model has none."""
    document = cleaned(json.loads(path.read_text(encoding="utf-8")), replacements)
    model = document["info"].get("config", {}).get("model", {})
    if "outputs" in model:
        model["outputs"] = []
    set_clock(document["messages"], start)
    path.write_text(json.dumps(document, indent=2), encoding="utf-8")
