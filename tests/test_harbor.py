"""ATIF, Harbor trials and terminal-bench: ends, grades apart, continuations, one run in two formats."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from corpora_in_tests import SAMPLES

import trajlab
from trajlab.behavior.termination import HARBOR, HARBOR_VALID, classify_harbor

ATIF = SAMPLES / "atif"


@pytest.mark.parametrize(
    ("exception", "finished", "expected"),
    [
        (None, True, "ended"), (None, False, "incomplete"), ("AgentTimeoutError", True, "timeout"),
        ("EnvironmentStartTimeoutError", True, "environment_error"), ("RateLimitError", True, "infrastructure_error"),
        ("VerifierTimeoutError", True, "verifier_error"), ("ContextLengthExceededError", True, "truncated_budget"),
        ("CancelledError", True, "incomplete"), ("SomethingNewError", True, "ended"),
    ],
)  # fmt: skip
def test_ends_of_trials(exception: str | None, finished: bool, expected: str | None) -> None:
    assert classify_harbor(exception, finished=finished) == expected


def test_every_exception_with_a_valid_reward_has_a_class() -> None:
    assert set(HARBOR) >= HARBOR_VALID


def test_why_it_ended_whether_it_was_graded_and_the_grade_stay_apart() -> None:
    rows = trajlab.read(SAMPLES / "harbor").trajectories.collect()
    facts = rows.select("native_id", "termination", "gradable", "correct", "reward").rows()
    name = "datekit__leap-102"
    assert sorted(facts, key=str) == sorted(
        [
            (f"{name}__solved", "success", True, True, 1.0),
            ("helper-1", None, False, None, None),
            (f"{name}__timeout", "timeout", True, False, 0.0),
            (f"{name}__outage", "infrastructure_error", False, None, None),
            (f"{name}__nostart", "environment_error", False, None, None),
            (f"{name}__steps/find", "success", True, True, 1.0),
            (f"{name}__steps/repair", "task_failure", True, False, 0.0),
        ],
        key=str,
    )
    graded = rows.filter(pl.col("gradable"))
    assert graded["n_calls"].to_list() and graded["n_calls"].min() == 2


def test_copied_context_counts_once_and_segments_are_one_trajectory() -> None:
    rows = trajlab.read(ATIF / "continued").trajectories.collect()
    whole = rows.filter(pl.col("agent") == "terminus-2").row(0, named=True)
    assert (whole["n_steps"], whole["n_calls"], whole["prompt_tokens"]) == (5, 5, 4500)
    assert rows.filter(pl.col("agent") != "terminus-2")["gradable"].to_list() == [False]


def test_a_segment_that_is_missing_is_said(tmp_path: Path) -> None:
    shutil.copy(ATIF / "continued" / "trajectory.json", tmp_path)
    corpus = trajlab.read(tmp_path)
    assert corpus.problems.select("code").collect()["code"].to_list() == ["continuation_missing"]
    assert corpus.trajectories.select("n_steps").collect().item() == 3


def test_a_result_without_a_call_stands_at_the_last_of_its_calls() -> None:
    calls = trajlab.read(ATIF / "batched").tool_calls.sort("call").collect()
    assert calls["executed"].to_list() == [True, True, True]
    assert calls["output_chars"].is_null().to_list() == [True, False, False]


def test_a_trial_prefers_the_scaffolds_own_log_and_reads_one_run_once(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "harbor", tmp_path / "jobs")
    trial = tmp_path / "jobs" / "demo" / "datekit__leap-102__solved"
    native = SAMPLES / "swe_agent" / "version_1.0" / "datekit__leap-102" / "datekit__leap-102.traj"
    shutil.copy(native, trial / "agent" / "swe-agent.trajectory.json")
    rows = trajlab.read(tmp_path / "jobs").trajectories.filter(pl.col("native_id").str.ends_with("solved")).collect()
    assert rows.select("format", "correct", "n_steps", "agent").rows() == [("harbor", True, 5, "terminus-2")]


def test_terminal_bench_commands_get_what_the_terminal_shows_next() -> None:
    corpus = trajlab.read(SAMPLES / "terminal_bench")
    rows = corpus.trajectories.sort("native_id").collect()
    assert rows["termination"].to_list() == ["success", "timeout", "environment_error"]
    assert rows["attempt"].to_list() == [1, 2, 3]
    first = corpus.tool_calls.filter(pl.col("trajectory_id") == rows["trajectory_id"][0]).sort("call").collect()
    assert first["tool"].to_list() == ["bash_command"] * 4 + ["mark_task_complete"]
    assert first["output_chars"].is_null().to_list() == [True, False, False, False, True]
    assert first["executed"].to_list() == [True, True, True, True, None]
    steps = corpus.steps.filter(pl.col("trajectory_id") == rows["trajectory_id"][1]).sort("step").collect()
    assert steps["invalid_action"].to_list() == [None, "no commands", None]


def test_the_same_run_natively_and_as_atif_has_the_same_calls(shared: Path) -> None:
    written = shared / "samples" / "written"
    atif = trajlab.read(written / "harbor_0.26.0_atif")
    native = trajlab.read(written / "mini_swe_agent_2.4.6")
    for name in ("text_submitted", "toolcall_submitted", "toolcall_step_limit", "responses_submitted"):
        commands = []
        for corpus, source in ((atif, f"mini__{name}.trajectory.json"), (native, f"{name}.traj.json")):
            ids = corpus.trajectories.filter(pl.col("source") == source).select("trajectory_id").collect()
            calls = corpus.tool_calls.filter(pl.col("trajectory_id").is_in(ids["trajectory_id"].to_list()))
            commands.append(calls.sort("call").select("command", "step").collect())
        assert commands[0].equals(commands[1]), name
        assert commands[0].height > 0


def test_real_documents_state_what_was_read(shared: Path) -> None:
    folder = shared / "samples" / "written" / "harbor_0.26.0_atif"
    corpus = trajlab.read(folder)
    assert corpus.problems.select("source").collect()["source"].to_list() == ["atif-v1.8.schema.json"]
    for row in corpus.trajectories.collect().iter_rows(named=True):
        document = json.loads((folder / row["source"]).read_text("utf-8"))
        assert row["n_steps"] == sum(step["source"] == "agent" for step in document["steps"])
        stated = (document.get("final_metrics") or {}).get("total_prompt_tokens")
        assert row["prompt_tokens"] == (stated or None)
