"""tau2-bench: the simulated user's calls are not the agent's; both layouts read the same."""

from __future__ import annotations

import polars as pl
from corpora_in_tests import SAMPLES

import trajlab
from trajlab.behavior.termination import CLASSES, TAU2

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


def test_chunks_of_speech_that_follow_each_other_are_one_turn() -> None:
    corpus = trajlab.read(SAMPLES / "tau2" / "folder")
    row = corpus.trajectories.filter(pl.col("native_id") == "s-voice").collect().row(0, named=True)
    steps = corpus.steps.filter(pl.col("trajectory_id") == row["trajectory_id"]).sort("step").collect()
    assert steps.select("calls", "text_chars").rows() == [(1, len("I look into it.")), (0, len("Your line is active."))]
    assert (row["termination"], row["gradable"], row["correct"]) == ("timeout", False, None)


def test_costs_that_the_simulation_states_are_reconciled() -> None:
    assert trajlab.read(SAMPLES / "tau2").problems.collect().is_empty()
