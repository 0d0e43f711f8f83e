"""Cline: calls as tags and natively, what the interface alone tells, sessions of the command line."""

from __future__ import annotations

import pytest
from corpora_in_tests import SAMPLES

import trajlab
from trajlab.behavior.termination import CLASSES, CLINE
from trajlab.formats._cline_turns import call_in_text


@pytest.mark.parametrize(
    ("said", "tool", "arguments"),
    [
        ("I look.\n<read_file>\n<path>a.py</path>\n</read_file>", "read_file", {"path": "a.py"}),
        (
            "<execute_command><command>echo '<path>x</path>'</command></execute_command>",
            "execute_command",
            {"command": "echo '<path>x</path>'"},
        ),
        ("<write_to_file><path>a</path><content>never closed", "write_to_file", {"path": "a"}),
    ],
)
def test_calls_in_text(said: str, tool: str, arguments: dict[str, str]) -> None:
    call = call_in_text(said)
    assert call is not None
    assert (call.tool, call.arguments) == (tool, arguments)


def test_other_tags_are_no_calls() -> None:
    assert call_in_text("<b>bold</b> and <thinking>words</thinking>") is None


def test_a_task_with_tags() -> None:
    corpus = trajlab.read(SAMPLES / "cline" / "tags")
    row = corpus.trajectories.collect().row(0, named=True)
    assert (row["n_steps"], row["n_calls"], row["n_executed"], row["n_invalid"]) == (7, 6, 4, 2)
    assert (row["stop_reason"], row["termination"], row["cost"]) == ("completion_result", "unknown", 0.028)
    calls = corpus.tool_calls.sort("call").collect()
    assert calls["exit_code"].to_list() == [None, 1, None, 0, None, None]
    assert calls["invalid"].to_list() == [None, None, None, None, "refused", None]
    steps = corpus.steps.sort("step").collect()
    assert steps["invalid_action"].to_list()[4] == "no tool"
    assert steps["prompt_tokens"].to_list() == [900] * 7


def test_tasks_and_sessions_of_one_prompt_are_one_task() -> None:
    rows = trajlab.read(SAMPLES / "cline").trajectories.collect()
    assert rows.height == 3
    assert rows["task_id"].n_unique() == 1
    assert set(rows["termination"]) == {"unknown", "infrastructure_error", None}
    assert set(CLINE.values()) <= {*CLASSES, "ended"}
