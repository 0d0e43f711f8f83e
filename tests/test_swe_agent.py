"""SWE-agent: ends, turns that were refused, attempts that were not chosen, real logs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from corpora_in_tests import SAMPLES

import trajlab
from trajlab.behavior.termination import classify_swe_agent


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (None, None), ("submitted", "ended"), ("submitted (exit_cost)", "truncated_budget"), ("", "incomplete"),
        ("submitted (exit_format)", "invalid_action"), ("exit_command_timeout", "timeout"), ("exit_api",
        "infrastructure_error"), ("exit_environment_error", "environment_error"), ("exit_forfeit", "task_failure"),
        ("skipped (exit_cost)", "incomplete"), ("early_exit", "incomplete"), ("something new", "unknown"),
    ],
)  # fmt: skip
def test_ends(status: str | None, expected: str | None) -> None:
    assert classify_swe_agent(status) == expected


def test_a_verdict_is_about_the_chosen_attempt_alone() -> None:
    rows = trajlab.read(SAMPLES / "swe_agent" / "retry").trajectories.sort("attempt").collect()
    assert rows["attempt"].to_list() == [1, 2]
    assert rows["gradable"].to_list() == [False, True]
    assert rows["correct"].to_list() == [None, True]
    assert rows["termination"].to_list() == ["unknown", "success"]
    assert rows["cost"].to_list() == [0.008, 0.02], "each attempt's own, not the totals with the reviewer's"


def test_a_refused_turn_was_not_executed_and_takes_no_result_from_the_next() -> None:
    corpus = trajlab.read(SAMPLES / "swe_agent" / "refused")
    calls = corpus.tool_calls.sort("call").collect()
    assert calls["executed"].to_list() == [True, False, True, True, True, True]
    assert calls["command"].to_list()[1] == "vim datekit/parse.py"
    assert calls["invalid"].to_list()[1] == "refused"
    assert calls["call_id"].to_list() == ["call_1", None, "call_2", "call_3", "call_4", "call_5"]
    assert corpus.steps.sort("step").collect()["invalid_action"].to_list()[:3] == [None, "refused", None]


def test_the_scaffolds_last_words_are_no_step() -> None:
    corpus = trajlab.read(SAMPLES / "swe_agent" / "cost_limit")
    row = corpus.trajectories.collect().row(0, named=True)
    assert (row["n_steps"], row["logged_steps"], row["gradable"]) == (3, 3, True)
    assert row["termination"] == "truncated_budget"
    assert corpus.texts.filter(pl.col("text") == "Exit due to cost limit").collect()["kind"].to_list() == ["prompt"]


def test_a_run_that_goes_on_is_incomplete(tmp_path: Path) -> None:
    path = SAMPLES / "swe_agent/version_1.0/datekit__leap-102/datekit__leap-102.traj"
    document = json.loads(path.read_text("utf-8"))
    document["info"] = {"swe_agent_version": "1.1.0"}
    document["trajectory"] = []
    (tmp_path / "a.traj").write_text(json.dumps(document), encoding="utf-8")
    row = trajlab.read(tmp_path).trajectories.collect().row(0, named=True)
    assert (row["variant"], row["termination"], row["n_steps"]) == ("1.1", "incomplete", 0)


def test_a_status_of_null_is_no_end(tmp_path: Path) -> None:
    path = SAMPLES / "swe_agent/version_1.0/datekit__leap-102/datekit__leap-102.traj"
    document = json.loads(path.read_text("utf-8"))
    document["info"]["exit_status"] = None
    (tmp_path / "a.traj").write_text(json.dumps(document), encoding="utf-8")
    row = trajlab.read(tmp_path).trajectories.collect().row(0, named=True)
    assert (row["termination"], row["stop_reason"], row["n_calls"]) == ("incomplete", None, 5)


def real_logs(folder: Path) -> list[tuple[str, dict[str, Any]]]:
    found = sorted((folder / "samples" / "public").glob("SWE-*/**/*.traj"))
    return [(path.name, json.loads(path.read_text("utf-8"))) for path in found]


def test_real_logs_read_as_they_say(shared: Path) -> None:
    corpus = trajlab.read(shared / "samples" / "public" / "SWE-agent+SWE-agent")
    rows = corpus.trajectories.sort("source").collect()
    documents = [doc for name, doc in real_logs(shared) if not name.startswith("pydantic")]
    assert rows.height == len(documents) == 15
    assert corpus.problems.collect().is_empty()
    assert sorted(rows["n_steps"]) == sorted(len(d.get("trajectory") or d["history"][2::2]) for d in documents)
    assert rows["n_executed"].to_list() == rows["n_calls"].to_list() == rows["n_steps"].to_list()
