"""One small repair as every scaffold would log it: what the writers of the scaffolds' samples share.

Written by hand: no model spoke and no command was run. Each turn is a thought, a call and what came back.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

INSTANCE = "datekit__leap-102"
MODEL = "scripted-model"
CLOCK = 1_767_225_600
"""2026-01-01 00:00:00 UTC: where all made-up clocks begin."""
ISSUE = "month('29 Feb 2024') raises ValueError. Dates in a leap year should be read. Fix datekit/parse.py."
SYSTEM = "You repair Python code. Call one tool at a time."
BEFORE = "DAYS = (31, 28, 31, 30)\n"
AFTER = "DAYS = (31, 29, 31, 30)\n"
PATCH = ("diff --git a/datekit/parse.py b/datekit/parse.py\n--- a/datekit/parse.py\n+++ b/datekit/parse.py\n"
         "@@ -1 +1 @@\n-DAYS = (31, 28, 31, 30)\n+DAYS = (31, 29, 31, 30)\n")


@dataclass(frozen=True)
class Turn:
    """One turn: what the model thought, the call it made, what came back."""

    thought: str
    kind: str
    """``shell``, ``read``, ``replace`` or ``submit``."""
    command: str = ""
    """Of a shell call."""
    path: str = ""
    output: str = ""
    exit_code: int = 0


LOOK = Turn("I look at the parser first.", "read", path="datekit/parse.py", output=BEFORE)
REPRODUCE = Turn("I reproduce the error.", "shell", "python -m pytest -q tests/test_parse.py",
                 output="F\n1 failed in 0.03s\n", exit_code=1)
REPAIR = Turn("February has 29 days in a leap year.", "replace", path="datekit/parse.py", output="edited")
CHECK = Turn("I run the tests again.", "shell", "python -m pytest -q tests", output="..\n2 passed in 0.02s\n")
SUBMIT = Turn("All tests pass, I submit.", "submit", output=PATCH)
TURNS = (LOOK, REPRODUCE, REPAIR, CHECK, SUBMIT)


def write_json(path: Path, value: Any, indent: int | None = 1) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=indent) + "\n", encoding="utf-8")


def write_lines(path: Path, rows: list[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def report(resolved: bool, patch_exists: bool = True) -> dict[str, Any]:
    """SWE-bench's report of one instance, flat."""
    return {"patch_is_None": False, "patch_exists": patch_exists, "patch_successfully_applied": patch_exists,
            "resolved": resolved, "tests_status": {}}
