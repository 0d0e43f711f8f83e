"""A small sample of the fuzzing study: broken logs never crash a read and never cost a neighbour."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parent / "studies")]

from fuzz import fuzz  # noqa: E402


def test_broken_logs_cost_no_neighbour_and_no_crash() -> None:
    outcome = fuzz(70, seed=2026, shared=False)
    assert outcome.failures == {}
    assert outcome.mutants == 70
    assert outcome.neighbours > 10 and outcome.problems > 50
