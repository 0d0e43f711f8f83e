"""OpenHands V0 and V1: ends, calls that were refused, conversations of several files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from corpora_in_tests import SAMPLES, Counting, contents

import trajlab
from trajlab.behavior.termination import classify_openhands, classify_openhands_sdk

V1 = SAMPLES / "openhands_sdk"
CALLS = SAMPLES / "openhands" / "completions"


@pytest.mark.parametrize(
    ("error", "state", "expected"),
    [
        (None, None, None), (None, "finished", "ended"), (None, "rejected", "task_failure"),
        (None, "paused", "incomplete"), (None, "odd", "unknown"),
        ("RuntimeError: Agent reached maximum iteration. Current iteration: 50", "error", "truncated_budget"),
        ("AgentStuckInLoopError: Agent got stuck in a loop", None, "task_failure"),
        ("STATUS$ERROR_LLM_AUTHENTICATION", "error", "infrastructure_error"),
        ("AgentRuntimeDisconnectedError: gone", "error", "environment_error"),
        ("Timeout after 3600 seconds", None, "timeout"), ("Maximum retries (5) reached: x", None,
        "infrastructure_error"), ("something new", None, "infrastructure_error"),
    ],
)  # fmt: skip
def test_ends_of_v0(error: str | None, state: str | None, expected: str | None) -> None:
    assert classify_openhands(error, state) == expected


@pytest.mark.parametrize(
    ("code", "status", "expected"),
    [
        (None, None, None), (None, "finished", "ended"), (None, "stuck", "task_failure"), (None, "idle", "incomplete"),
        ("MaxIterationsReached", "error", "truncated_budget"), ("LLMAuthenticationError", "error",
        "infrastructure_error"), (None, "odd", "unknown"),
    ],
)  # fmt: skip
def test_ends_of_v1(code: str | None, status: str | None, expected: str | None) -> None:
    assert classify_openhands_sdk(code, status) == expected


def test_an_answer_that_is_no_call_is_an_invalid_turn_and_a_failed_tool_is_none() -> None:
    corpus = trajlab.read(SAMPLES / "openhands" / "folder")
    steps = corpus.steps.sort("step").collect()
    assert steps["invalid_action"].to_list() == [
        None, 'Missing required argument "command" in tool call execute_bash', None, None,
    ]  # fmt: skip
    calls = corpus.tool_calls.sort("call").collect()
    assert calls.select("tool", "executed", "is_error", "exit_code").rows() == [
        ("execute_bash", True, True, None),
        ("read", True, True, None),
    ]


def test_two_calls_of_one_answer_are_one_turn() -> None:
    for folder in ("openhands/list", "openhands_sdk/finished"):
        steps = trajlab.read(SAMPLES / folder).steps.collect()
        assert sorted(steps["calls"].to_list())[-2:] == [1, 2], folder


def test_calls_that_v1_did_not_run() -> None:
    calls = trajlab.read(V1 / "bad_calls").tool_calls.sort("call").collect()
    assert calls["invalid"].to_list() == ["unknown_tool", "refused", "unparsable", None, None]
    assert calls["executed"].to_list() == [False, False, False, True, True]
    assert calls["is_error"].to_list()[3:] == [True, False]


def test_logged_calls_are_one_conversation_with_the_last_answer() -> None:
    corpus = trajlab.read(CALLS / "llm_completions" / "datekit__leap-102")
    events = trajlab.read(SAMPLES / "openhands" / "folder").trajectories.collect()
    assert corpus.trajectories.collect().select("task_id", "n_steps", "n_messages", "cost").rows() == [
        ("datekit__leap-102", 5, 12, 0.02)  # system, task, summary, five turns and four results
    ]
    assert corpus.trajectories.collect()["agent"].to_list() == events["agent"].to_list()
    calls = corpus.tool_calls.sort("step").collect()
    assert calls["tool"].to_list()[-1] == "finish"
    assert calls["exit_code"].to_list() == [None, 1, None, 0, None]
    (message,) = corpus.problems.collect()["message"]
    assert message.endswith("in no count: 1, prompt tokens 300, generated tokens 12")


def test_a_single_logged_call_is_its_context_and_its_answer(tmp_path: Path) -> None:
    source = sorted((CALLS / "llm_completions" / "datekit__leap-102").glob("scripted-model-*"))[-1]
    shutil.copy(source, tmp_path)
    corpus = trajlab.read(tmp_path)
    assert corpus.tool_calls.sort("step").collect()["executed"].to_list() == [True, True, True, True]
    assert corpus.steps.sort("step").collect()["prompt_tokens"].to_list() == [None, None, None, 900]


def test_a_second_attempt_in_the_same_folder_of_calls_is_a_trajectory_of_its_own(tmp_path: Path) -> None:
    for file in (CALLS / "llm_completions" / "datekit__zone-9").iterdir():
        shutil.copy(file, tmp_path)
        shutil.copy(file, tmp_path / file.name.replace("-17672256", "-17672257"))
    corpus = trajlab.read(tmp_path)
    assert corpus.trajectories.sort("ordinal").collect().select("ordinal", "n_steps").rows() == [("0", 2), ("1", 2)]


def test_a_failed_last_call_is_the_end(tmp_path: Path) -> None:
    (source,) = (CALLS / "logs" / "completions").glob("*-error.json")
    shutil.copy(source, tmp_path)
    (found,) = trajlab.read(tmp_path).trajectories.collect().rows(named=True)
    assert (found["termination"], found["stop_reason"]) == ("infrastructure_error", "RateLimitError: slow down")
    assert found["n_steps"] == 0


def test_lines_rows_and_folders_of_the_same_events_read_the_same() -> None:
    kept = ["n_steps", "n_calls", "n_executed", "agent_chars", "reasoning_chars", "content_digest", "cost"]
    read = [
        trajlab.read(V1 / name).trajectories.filter(pl.col("stop_reason") == "finished").select(kept).collect()
        for name in ("finished", "lines", "output")
    ]
    assert read[0].equals(read[1]) and read[0].equals(read[2])


def conversation(source: str, target: Path) -> Path:
    folder = next((V1 / source).iterdir())
    shutil.copytree(folder, target / folder.name)
    return target / folder.name


def test_a_conversation_is_read_again_when_one_of_its_files_changes_and_its_neighbour_is_not(tmp_path: Path) -> None:
    logs, out = tmp_path / "logs", tmp_path / "corpus"
    grown, other = conversation("finished", logs), conversation("stuck", logs)
    files = sorted((grown / "events").iterdir())
    late = [(path, path.read_bytes()) for path in files[6:]] + [
        (grown / "base_state.json", (grown / "base_state.json").read_bytes())
    ]
    for path, _ in late:
        path.unlink()
    first = trajlab.ingest(logs, out=out)
    assert sorted(first.trajectories.select("n_steps").collect()["n_steps"]) == [2, 4]
    before = dict(first.trajectories.select("native_id", "trajectory_id").collect().iter_rows())
    for path, data in late:
        path.write_bytes(data)
    counting = Counting()
    second = trajlab.ingest(logs, out=out, engine=counting)
    assert counting.read
    after = second.trajectories.sort("native_id").collect()
    assert dict(after.select("native_id", "trajectory_id").iter_rows()) == before, "the id is the folder's"
    assert dict(after.select("native_id", "n_steps").iter_rows()) == {grown.name: 6, other.name: 4}
    counting = Counting()
    trajlab.ingest(logs, out=out, engine=counting)
    assert counting.read == []
    trajlab.ingest(logs, out=tmp_path / "fresh")
    fresh = trajlab.open_corpus(tmp_path / "fresh").trajectories.sort("native_id").collect()
    assert fresh.drop("root").equals(after.drop("root"))


def test_a_broken_event_costs_only_itself(tmp_path: Path) -> None:
    folder = conversation("finished", tmp_path)
    broken = sorted((folder / "events").iterdir())[3]
    broken.write_text('{"kind": "ObservationEvent", "source": "x", "timestamp": "y", ', encoding="utf-8")
    corpus = trajlab.read(tmp_path)
    assert corpus.trajectories.select("n_steps", "n_calls").collect().rows() == [(6, 7)]
    assert len(corpus.problems.collect()) == 1


def test_logged_calls_beside_the_rollouts_are_counted_once(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "openhands" / "output", tmp_path / "run")
    shutil.copytree(CALLS / "llm_completions", tmp_path / "run" / "llm_completions")
    alone = tmp_path / "run" / "llm_completions" / "datekit__alone-1"
    shutil.copytree(CALLS / "llm_completions" / "datekit__zone-9", alone)
    rows = trajlab.read(tmp_path / "run").trajectories.select("variant", "task_id", "duplicate").collect().rows()
    assert sorted(row for row in rows if row[0] == "completions") == [
        ("completions", "datekit__alone-1", False),
        ("completions", "datekit__leap-102", True),
        ("completions", "datekit__zone-9", True),
    ]
    assert not any(again for variant, _, again in rows if variant == "output")


def test_reading_twice_gives_the_same_parts(tmp_path: Path) -> None:
    trajlab.ingest(V1, out=tmp_path / "one")
    trajlab.ingest(V1, out=tmp_path / "two", jobs=2)
    assert contents(tmp_path / "one" / "parts") == contents(tmp_path / "two" / "parts")


def test_real_rows_reconcile(shared: Path) -> None:
    corpus = trajlab.read(shared / "samples" / "public" / "All-Hands-AI+OpenHands")
    assert corpus.problems.collect().is_empty()
    row = corpus.trajectories.filter(pl.col("variant") == "output").collect().row(0, named=True)
    path = shared / "samples/public/All-Hands-AI+OpenHands/evaluation/benchmarks/multi_swe_bench/examples/output.jsonl"
    stated = json.loads(path.read_text("utf-8").split("\n")[0])["metrics"]
    assert row["n_steps"] == row["logged_steps"] == len(stated["token_usages"]) == 23
    steps = corpus.steps.filter(pl.col("trajectory_id") == row["trajectory_id"]).collect()
    assert steps["prompt_tokens"].sum() == row["prompt_tokens"] == 565158


def test_real_conversations_end_as_they_were_made_to(shared: Path) -> None:
    folder = shared / "samples" / "written" / "openhands_sdk_1.58.2"
    rows = trajlab.read(folder).trajectories.select("run", "termination", "n_steps").collect().rows()
    assert sorted(rows) == [
        ("bad_calls", "unknown", 5),
        ("finish", "unknown", 7),
        ("llm_error", "infrastructure_error", 1),
        ("max_iter", "truncated_budget", 4),
        ("stuck", "task_failure", 4),
    ]
