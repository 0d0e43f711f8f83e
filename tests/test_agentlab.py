"""AgentLab: what a summary says of an episode whose steps are not read."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
from corpora_in_tests import SAMPLES

import trajlab
from trajlab.behavior.termination import AGENTLAB, CLASSES


def test_how_episodes_ended() -> None:
    assert set(AGENTLAB.values()) <= {*CLASSES, "ended"}
    kept = ["logged_steps", "reward", "outcome", "termination", "stop_reason", "gradable"]
    rows = trajlab.read(SAMPLES / "agentlab").trajectories.sort("logged_steps", "termination").select(kept).collect()
    assert rows.rows() == [
        (2, 0.0, None, "incomplete", None, False),
        (2, 0.0, None, "infrastructure_error", "err_msg", False),
        (3, 1.0, True, "success", "terminated", True),
        (4, 0.0, False, "task_failure", "terminated", True),
        (10, 0.0, False, "truncated_budget", "truncated", True),
    ]


def test_agent_and_task_are_those_of_the_folder() -> None:
    corpus = trajlab.read(SAMPLES / "agentlab")
    rows = corpus.trajectories.select("agent", "task_id", "prompt_tokens", "seconds").collect()
    assert rows["agent"].unique().to_list() == ["GenericAgent-scripted-model"]
    assert sorted(rows["task_id"].unique()) == ["miniwob.click-menu", "miniwob.click-test"]
    solved = corpus.trajectories.filter(pl.col("outcome").fill_null(False)).collect().row(0, named=True)
    assert (solved["prompt_tokens"], solved["completion_tokens"], solved["seconds"]) == (2700, 120, 6.5)


def test_episodes_without_steps_are_no_duplicates_of_each_other() -> None:
    assert not trajlab.read(SAMPLES / "agentlab").trajectories.collect()["duplicate"].any()


def test_a_folder_of_another_name_costs_only_what_it_would_tell(tmp_path: Path) -> None:
    summary = {"n_steps": 1, "cum_reward": 0.5, "cum_raw_reward": 0.5, "err_msg": None, "terminated": True}
    (tmp_path / "summary_info.json").write_text(json.dumps(summary))
    row = trajlab.read(tmp_path).trajectories.collect().row(0, named=True)
    assert (row["task_id"], row["agent"], row["reward"], row["termination"]) == (None, None, 0.5, "success")
