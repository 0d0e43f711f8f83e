"""tau2-bench: the simulated user's calls are not the agent's; both layouts read the same."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
from corpora_in_tests import SAMPLES

import trajlab
from trajlab.behavior.termination import CLASSES, TAU2
from trajlab.corpus.rebuild import stored_trajectories

FACTS = ["native_id", "task_id", "attempt", "n_steps", "n_calls", "reward", "termination", "cost", "content_digest"]


def test_ends_are_classes() -> None:
    assert set(TAU2.values()) <= {*CLASSES, "ended"}
    assert TAU2["user_error"] == "environment_error"


def test_the_simulated_users_calls_are_not_the_agents() -> None:
    corpus = trajlab.read(SAMPLES / "tau2" / "document")
    solved = corpus.trajectories.filter(pl.col("native_id") == "s-1").collect().row(0, named=True)
    calls = corpus.tool_calls.filter(pl.col("trajectory_id") == solved["trajectory_id"]).sort("call").collect()
    made = [("get_customer_by_phone", "agent"), ("toggle_airplane_mode", "user")]
    assert calls.select("tool", "requestor").rows() == made
    assert (solved["n_calls"], solved["n_steps"], solved["correct"]) == (1, 3, True)


def test_both_layouts_read_the_same() -> None:
    document = trajlab.read(SAMPLES / "tau2" / "document").trajectories.select(FACTS).sort("native_id").collect()
    folder = trajlab.read(SAMPLES / "tau2" / "folder").trajectories.select(FACTS).sort("native_id").collect()
    assert folder.filter(pl.col("native_id") != "s-voice").equals(document)


def test_a_conversation_that_ended_and_holds_no_word_is_not_one_of_no_steps(tmp_path: Path) -> None:
    """Ticks whose text and calls are left out: what the agent did is not known, also where it is derived anew."""
    tick = {"tick_id": 0, "agent_chunk": {"role": "assistant", "contains_speech": True}}
    ends = {"spoke": "user_stop", "failed": "infrastructure_error"}
    (tmp_path / "logs" / "simulations").mkdir(parents=True)
    (tmp_path / "logs" / "results.json").write_text(
        json.dumps({"info": {"agent_info": {}, "user_info": {}}, "tasks": []})
    )
    for name, reason in ends.items():
        told = {"id": name, "task_id": name, "termination_reason": reason, "duration": 3.0, "ticks": [tick]}
        (tmp_path / "logs" / "simulations" / f"{name}.json").write_text(json.dumps(told))
    corpus = trajlab.ingest(tmp_path / "logs", out=tmp_path / "corpus")
    rows = {row["native_id"]: row for row in corpus.trajectories.collect().to_dicts()}
    columns = ("n_steps", "n_calls", "tool_used", "hollow", "any_test", "stuck")
    assert [rows["spoke"][name] for name in columns] == [None] * 6
    assert [rows["failed"][name] for name in columns[:4]] == [0, 0, False, True]
    stored = [
        trajectory
        for part in (tmp_path / "corpus" / "parts").iterdir()
        for _, trajectory, _ in stored_trajectories(part)
    ]
    assert {trajectory.task_id: trajectory.termination for trajectory in stored} == {
        name: row["termination"] if name == "failed" else "ended" for name, row in rows.items()
    }


def test_chunks_of_speech_that_follow_each_other_are_one_turn() -> None:
    corpus = trajlab.read(SAMPLES / "tau2" / "folder")
    row = corpus.trajectories.filter(pl.col("native_id") == "s-voice").collect().row(0, named=True)
    steps = corpus.steps.filter(pl.col("trajectory_id") == row["trajectory_id"]).sort("step").collect()
    assert steps.select("calls", "text_chars").rows() == [(1, len("I look into it.")), (0, len("Your line is active."))]
    assert (row["termination"], row["gradable"], row["correct"]) == ("timeout", False, None)


def test_costs_that_the_simulation_states_are_reconciled() -> None:
    assert trajlab.read(SAMPLES / "tau2").problems.collect().is_empty()
