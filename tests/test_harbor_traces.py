"""Harbor's trace export: a trial is one trajectory, however its rows lie."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from corpora_in_tests import SAMPLES

import trajlab

TRACES = SAMPLES / "harbor_traces"
FACTS = ("native_id", "parent_native_id", "task_id", "n_steps", "n_calls", "n_executed", "reward", "termination",
         "gradable", "started_at")  # fmt: skip


def sample_rows() -> list[dict[str, Any]]:
    return [json.loads(line) for line in (TRACES / "rows" / "traces.jsonl").read_text("utf-8").splitlines()]


def written(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def facts(folder: Path) -> list[tuple[Any, ...]]:
    return trajlab.read(folder).current.select(FACTS).sort("native_id").collect().rows()


def row(episode: int, *texts: str, **more: Any) -> dict[str, Any]:
    """A row of texts that the user and the agent say in turn."""
    said = [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]
    names = {"agent": "a", "model": "m", "task": "t", "run_id": "job", "trial_name": "t__1", "result": "1.0"}
    return {"conversations": said, "episode": f"episode-{episode}", "date": "", **names, **more}


CALL = '<tool_call>\n{"name": "bash_command", "arguments": {"keystrokes": "ls\\n"}}\n</tool_call>'


def test_a_trial_is_one_trajectory_whatever_was_exported() -> None:
    found = facts(TRACES / "rows")
    name = "datekit__leap-102"
    assert [(*one[:2], *one[3:9]) for one in found] == [
        (f"{name}__continued", None, 5, 5, 4, 0.0, "task_failure", True),
        (f"{name}__continued/summarization-1-summary", f"{name}__continued", 1, 0, 0, None, None, False),
        (f"{name}__outage", None, 5, 5, 4, None, "infrastructure_error", False),
        (f"{name}__solved", None, 5, 5, 4, 1.0, "success", True),
        (f"{name}__timeout", None, 5, 5, 4, None, "timeout", None),
    ]
    assert {one[2] for one in found} == {name}
    assert {one[-1] for one in found} == {1_767_225_600.0}
    assert facts(TRACES / "parquet") == facts(TRACES / "last") == found


def test_the_calls_are_those_of_the_trials_own_log() -> None:
    calls = ("tool", "output_chars", "n_commands")
    export = trajlab.read(TRACES / "rows")
    solved = export.trajectories.filter(pl.col("native_id").str.ends_with("solved")).collect()["trajectory_id"]
    found = export.tool_calls.filter(pl.col("trajectory_id") == solved[0]).sort("call").select(calls[:2]).collect()
    own = (
        trajlab.read(SAMPLES / "harbor" / "demo" / "datekit__leap-102__solved")
        .tool_calls.filter(pl.col("step").is_not_null())
        .sort("call")
        .select(calls[:2])
        .collect()
    )
    assert found[:4].rows() == own[:4].rows()
    assert found["tool"].to_list() == own["tool"].to_list()


def test_steps_of_one_trial_are_told_apart() -> None:
    rows = trajlab.read(TRACES / "steps").current.sort("native_id").collect()
    assert rows.select("native_id", "task_id", "n_steps").rows() == [
        ("datekit__leap-102__steps", "datekit__leap-102", 2), ("datekit__leap-102__steps/2", "datekit__leap-102/2", 2),
    ]  # fmt: skip


@pytest.mark.parametrize("files", [1, 3])
def test_rows_that_do_not_stand_together_count_once(files: int, tmp_path: Path) -> None:
    rows = sample_rows()
    random.Random(7).shuffle(rows)
    for number in range(files):
        written(tmp_path / f"part-{number}.jsonl", rows[number::files])
    assert facts(tmp_path) == facts(TRACES / "rows")
    assert trajlab.read(tmp_path).trajectories.collect()["duplicate"].any()


def test_turns_before_a_summary_stay_and_are_counted_once(tmp_path: Path) -> None:
    rows = [
        row(0, "do it", "one"), row(1, "do it", "one", "out", "two"),
        row(2, "do it", "summary of one and two", "go on", "three"),
        row(3, "do it", "summary of one and two", "go on", "three", "out", "four"),
    ]  # fmt: skip
    written(tmp_path / "rows.jsonl", rows)
    corpus = trajlab.read(tmp_path)
    assert corpus.trajectories.select("n_steps", "logged_steps", "correct").collect().rows() == [(4, 4, True)]
    assert corpus.problems.select("code", "message").collect().rows() == [
        ("earlier_episodes", "3 rows are earlier episodes of a trial whose later one is read: passed over")
    ]
    written(tmp_path / "rows.jsonl", rows[-1:])
    assert trajlab.read(tmp_path).problems.select("code").collect()["code"].to_list() == ["not_reconciled"]


def test_all_calls_of_a_turn_ran_and_the_last_has_what_came_back(tmp_path: Path) -> None:
    written(tmp_path / "rows.jsonl", [row(1, "do it", f"{CALL}\n{CALL}", "out", CALL)])
    calls = trajlab.read(tmp_path).tool_calls.sort("call").collect()
    assert calls.select("executed", "output_chars").rows() == [(True, None), (True, 3), (None, None)]


def test_trials_without_a_name_are_told_apart_by_what_was_said(tmp_path: Path) -> None:
    unnamed = {"trial_name": "unknown-trial", "task": "unknown-task", "model": "unknown-model"}
    rows = [row(0, "a", "one", **unnamed), row(1, "a", "one", "out", "two", **unnamed), row(2, "b", "one", **unnamed)]
    written(tmp_path / "rows.jsonl", rows)
    found = trajlab.read(tmp_path).current.sort("source_line").select("native_id", "model", "n_steps").collect()
    assert found.rows() == [(None, None, 2), (None, None, 1)]


def test_a_broken_row_costs_itself_alone(tmp_path: Path) -> None:
    rows = [row(0, "a", "one"), row(1, "a", "one") | {"conversations": None}, row(2, "a", "one", "out", "two")]
    written(tmp_path / "rows.jsonl", rows)
    with (tmp_path / "rows.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"conversations": [')
    corpus = trajlab.read(tmp_path)
    assert corpus.trajectories.select("n_steps").collect().rows() == [(2,)]
    codes = corpus.problems.sort("line", nulls_last=True).select("line", "code").collect().rows()
    assert codes == [(2, "no_messages"), (3, "not_reconciled"), (4, "truncated"), (None, "earlier_episodes")]
