"""Claude Code, Codex and Gemini CLI: answers told in pieces, calls that were not run, ends, subagents."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from corpora_in_tests import SAMPLES

import trajlab
from trajlab.behavior.termination import CLASSES, CLAUDE_CODE, CODEX, classify_claude_code


def test_ends_are_classes() -> None:
    for table in (CLAUDE_CODE, CODEX):
        assert set(table.values()) <= {*CLASSES, "ended"}
    assert CLAUDE_CODE["error_max_budget_usd"] == "truncated_budget"
    assert CODEX["turn_aborted"] == "incomplete"


@pytest.mark.parametrize(
    ("reason", "expected"),
    [("aborted_tools", "incomplete"), ("aborted_by_a_later_version", "incomplete"),
     ("prompt_too_long", "truncated_budget"), ("completed", "ended"), ("something_new", "unknown"), (None, "unknown")],
)  # fmt: skip
def test_reasons_of_a_stream(reason: str | None, expected: str) -> None:
    assert classify_claude_code(reason) == expected


def test_a_shell_that_is_called_as_a_custom_tool_has_a_command(tmp_path: Path) -> None:
    call = {"type": "custom_tool_call", "call_id": "c", "name": "shell", "input": '{"command": ["ls", "src"]}'}
    patch = {"type": "custom_tool_call", "call_id": "p", "name": "apply_patch", "input": "*** Begin Patch"}
    rows = [{"timestamp": "2026-01-01T00:00:00Z", "type": "response_item", "payload": made} for made in (call, patch)]
    (tmp_path / "rollout-a.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    made = trajlab.read(tmp_path).tool_calls.sort("call").collect()
    assert made.select("tool", "command").rows() == [("shell", "ls src"), ("apply_patch", None)]


def test_blocks_of_one_answer_are_one_turn_and_its_usage_counts_once() -> None:
    corpus = trajlab.read(SAMPLES / "claude_code" / "session")
    main = corpus.trajectories.filter(pl.col("gradable").is_null()).collect().row(0, named=True)
    assert (main["n_steps"], main["n_calls"], main["prompt_tokens"], main["completion_tokens"]) == (8, 7, 7200, 320)
    assert main["cached_tokens"] == 8 * 600
    steps = corpus.steps.filter(pl.col("trajectory_id") == main["trajectory_id"]).sort("step").collect()
    first = steps.row(0, named=True)
    assert (first["prompt_tokens"], first["completion_tokens"], first["calls"]) == (900, 40, 1)
    assert first["reasoning_chars"] == len("Turn 1.")


def test_a_subagent_is_a_trajectory_of_its_own_and_ungraded() -> None:
    for place in ("session", "stream_json/success.jsonl"):
        rows = trajlab.read(SAMPLES / "claude_code" / place).trajectories.filter(~pl.col("gradable")).collect()
        assert rows.height == 1
        assert rows["termination"].to_list() == [None]
    named = trajlab.read(SAMPLES / "claude_code" / "session").trajectories.select("agent").collect()["agent"]
    assert sorted(named) == ["Claude Code", "Claude Code Explore"]


def test_refused_calls_of_claude_code() -> None:
    corpus = trajlab.read(SAMPLES / "claude_code" / "session")
    calls = corpus.tool_calls.filter(pl.col("invalid").is_not_null()).collect()
    assert sorted(calls.select("tool", "invalid", "executed").rows()) == [
        ("Edit", "refused", False),
        ("Paint", "unknown_tool", False),
    ]


@pytest.mark.parametrize(
    ("place", "ends"),
    [
        ("claude_code/failed", {("api_error", "infrastructure_error")}),
        ("claude_code/interrupted", {("interrupted", "incomplete")}),
        ("claude_code/session", {(None, None)}),
        ("claude_code/stream_json/max_turns.jsonl", {("max_turns", "truncated_budget"), (None, None)}),
        ("codex/rollout", {("task_complete", "unknown")}),
        ("codex/aborted", {("turn_aborted", "incomplete")}),
        ("codex/exec", {("turn.completed", "unknown"), ("turn.failed", "infrastructure_error")}),
        ("codex/bare", {(None, None)}),
        ("codex/flat", {("error", "infrastructure_error"), (None, None)}),
        ("gemini_cli/json", {(None, None)}),
    ],
)
def test_how_it_ended(place: str, ends: set[tuple[str | None, str | None]]) -> None:
    rows = trajlab.read(SAMPLES / place).trajectories.select("stop_reason", "termination").collect()
    assert set(rows.rows()) == ends


def test_totals_of_codex_that_are_told_twice_count_once() -> None:
    corpus = trajlab.read(SAMPLES / "codex" / "rollout")
    assert corpus.problems.collect().is_empty()
    assert corpus.steps.collect()["prompt_tokens"].sum() == 4500
    calls = corpus.tool_calls.sort("call").collect()
    assert calls["exit_code"].to_list() == [0, 1, 0, 0]
    bare = trajlab.read(SAMPLES / "codex" / "bare").tool_calls.sort("call").collect()
    assert bare["exit_code"].to_list() == [0, 1, 0, 0]


def test_the_oldest_sessions_of_codex_are_read_whatever_their_keys_are_called() -> None:
    corpus = trajlab.read(SAMPLES / "codex" / "flat")
    rows = corpus.trajectories.select("n_steps", "n_calls", "n_executed", "model", "seconds", "task_id").collect()
    assert rows["task_id"].n_unique() == 1
    assert sorted(rows.drop("task_id").rows()) == [(3, 2, 2, "scripted-model", 30.0), (3, 2, 2, "scripted-model", 60.0)]
    assert sorted(corpus.tool_calls.collect()["exit_code"].to_list()) == [0, 0, 1, 1]
    assert [*corpus.problems.collect()["message"]] == [
        "1 records of kinds that the reader does not know were passed over: debate (1)"
    ]


def test_contents_of_the_api_are_read() -> None:
    corpus = trajlab.read(SAMPLES / "gemini_cli" / "history")
    calls = corpus.tool_calls.sort("step").collect()
    assert calls.select("tool", "executed", "exit_code", "is_error").rows() == [
        ("read_file", True, None, True),
        ("run_shell_command", True, 1, None),
        ("run_shell_command", True, 0, None),
    ]
    assert corpus.steps.sort("step").collect()["reasoning_chars"].to_list() == [7, 7, 7, None]


def test_lines_of_gemini_replay_to_the_document() -> None:
    kept = ["n_steps", "n_calls", "prompt_tokens", "completion_tokens", "reasoning_tokens", "content_digest"]
    folder = SAMPLES / "gemini_cli"
    frames = [trajlab.read(folder / name).trajectories.select(kept).collect() for name in ("json", "jsonl")]
    assert frames[0].equals(frames[1])
    calls = trajlab.read(SAMPLES / "gemini_cli" / "json").tool_calls.sort("call").collect()
    assert calls["exit_code"].to_list() == [None, 1, None, None, 0, None]
    assert calls["executed"].to_list() == [True, True, True, True, True, False]


def test_a_bad_line_costs_only_itself(tmp_path: Path) -> None:
    rows = next((SAMPLES / "codex" / "aborted").iterdir()).read_text("utf-8").split("\n")
    (tmp_path / "rollout.jsonl").write_text("\n".join([*rows[:8], '{"broken', *rows[8:]]), encoding="utf-8")
    corpus = trajlab.read(tmp_path)
    assert corpus.trajectories.collect()["n_calls"].to_list() == [1]
    assert corpus.problems.collect()["code"].to_list() == ["unreadable_record"]


def test_fixtures_of_others_are_read(shared: Path) -> None:
    folder = shared / "samples" / "public"
    corpus = trajlab.read(folder / "daaain+claude-code-log", folder / "jazzyalex+agent-sessions")
    rows = corpus.trajectories.group_by("format").len().sort("format").collect().rows()
    assert dict(rows) == {
        "chat": 1, "claude_code": 10, "codex": 9, "copilot_cli": 5, "cursor": 5, "droid": 6, "gemini_cli": 4,
        "opencode": 3, "pi": 1,
    }  # fmt: skip
