"""A small sample of the fuzzing study: broken logs never crash a read and never cost a neighbour."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent
FORMATS = 58
"""Formats of the samples, and layouts of their metric logs: each is hit once."""
FAMILIES = 10
"""JSON lines, JSON, archives, torch files, Parquet, YAML, CSV, event files, texts, compressed files."""


def test_broken_logs_cost_no_neighbour_and_no_crash() -> None:
    # A process of its own, since the study bounds the memory of the whole process.
    paths = os.pathsep.join(map(str, (TESTS.parent, TESTS, TESTS / "studies")))
    call = [sys.executable, str(TESTS / "studies" / "fuzz.py"), "--mutants", str(FORMATS), "--seed", "2003", "--own"]
    done = subprocess.run(
        call, capture_output=True, text=True, timeout=300, check=False, env={**os.environ, "PYTHONPATH": paths}
    )
    assert done.returncode == 0, done.stdout + done.stderr
    outcome = json.loads(done.stdout.splitlines()[-1])
    assert outcome["failures"] == {}
    assert set(outcome["groups"].values()) == {1} and len(outcome["groups"]) == FORMATS
    assert len(outcome["changes"]) == FAMILIES
    assert outcome["neighbours"] > 50 and outcome["problems"] > 40
