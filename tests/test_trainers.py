"""Readers of trainers' logs beyond what every reader promises: odd values, and really written runs where present."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trajlab
from trajlab.corpus.plan import claim
from trajlab.formats import log_format
from trajlab.records import Problem, Trajectory
from trajlab.sources.discover import discover
from trajlab.sources.files import Bundle


def read(path: Path) -> tuple[list[Trajectory], list[Problem]]:
    """What the one reader that claims the file makes of it, without the corpus."""
    found = claim(discover([path]).files[0], None)
    assert found.role == "log", path
    assert found.format is not None and found.variant is not None
    records = list(log_format(found.format).read(Bundle(found.format, found.variant, (found.file,))))
    trajectories = [record for record in records if isinstance(record, Trajectory)]
    problems = [record for record in records if isinstance(record, Problem)]
    return trajectories, problems + [problem for t in trajectories for problem in t.problems]


def write_parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path


TRL_ROW = {"step": 4, "prompt": "Say a.", "completion": "a", "good": 1.0, "short": None, "length": 9, "advantage": 0.5}


def test_trl_sums_the_reward_functions_that_the_advantages_confirm(tmp_path: Path) -> None:
    other = TRL_ROW | {"good": 0.0, "short": 0.25, "advantage": -0.5}
    (first, second), problems = read(write_parquet(tmp_path / "a.parquet", [TRL_ROW, other]))
    assert problems == []
    assert (first.reward, second.reward, first.group_id == second.group_id) == (1.0, 0.25, True)
    assert [(part.name, part.value) for part in second.rewards] == [("good", 0.0), ("short", 0.25), ("length", 9.0)]
    assert first.split is None and first.correct is None and first.termination is None
    turned = [TRL_ROW | {"advantage": -0.5}, other | {"advantage": 0.5}]
    (first, _), (problem,) = read(write_parquet(tmp_path / "b.parquet", turned))
    assert first.reward is None and problem.code == "not_reconciled"


def test_trl_samples_of_a_prompt_that_comes_again_are_another_group(tmp_path: Path) -> None:
    rows = [TRL_ROW, TRL_ROW | {"prompt": "Say b."}, TRL_ROW, TRL_ROW | {"step": None}]
    trajectories, _ = read(write_parquet(tmp_path / "a.parquet", rows))
    assert len({t.group_id for t in trajectories}) == 4
    assert [t.task_id == trajectories[0].task_id for t in trajectories] == [True, False, True, True]


def test_trl_real_run_agrees_with_its_own_log(shared: Path) -> None:
    folder = shared / "samples/written/trainers/trl_1.16.0"
    frame = trajlab.read(folder / "run1").trajectories.collect()
    history = _history(folder / "run1/trainer_state.json")
    evaluated = {row["step"] for row in history if "eval_reward" in row}
    logged = {row["step"]: row["reward"] for row in history if "reward" in row and row["step"] not in evaluated}
    ours = dict(frame.group_by("train_step").agg(pl.col("reward").mean()).iter_rows())
    assert len(logged) == 31  # the files of the other four steps hold the last batch of an evaluation
    assert {step: pytest.approx(value, abs=1e-6) for step, value in logged.items()} == {s: ours[s] for s in logged}
    assert frame.group_by("group_id").len()["len"].unique().to_list() == [4]


def _history(path: Path) -> list[dict[str, Any]]:
    history: list[dict[str, Any]] = json.loads(path.read_bytes())["log_history"]
    return history
