"""Sessions that are trees: the branch of the last record is the conversation, and what was left is counted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
from corpora_in_tests import SAMPLES
from hypothesis import given
from hypothesis import strategies as st

import trajlab
from trajlab.formats._branches import Left, Node, last_branch

PARENTS = st.lists(st.integers(-2, 12), min_size=1, max_size=12)


def by_hand(parents: list[int]) -> set[int]:
    """The obvious slow way: step by step up from the last record."""
    way: set[int] = set()
    at = len(parents) - 1
    while at >= 0:
        way.add(at)
        parent = parents[at]
        if parent == -1:
            break
        at = parent if 0 <= parent < at else at - 1
    return way


@given(PARENTS)
def test_the_last_branch_is_what_walking_up_finds(parents: list[int]) -> None:
    """A parent may be absent (-2), later than its child, or the record itself; -1 begins the tree anew."""
    nodes = [Node(str(n), None if p == -2 else str(p), root=p == -1) for n, p in enumerate(parents)]
    assert last_branch(nodes) == by_hand(parents)


def test_nothing_left_is_no_problem() -> None:
    assert Left().problem() is None
    assert last_branch([]) == set()


def test_what_claude_code_rewound() -> None:
    corpus = trajlab.read(SAMPLES / "claude_code" / "rewound")
    row = corpus.trajectories.collect().row(0, named=True)
    assert (row["n_steps"], row["prompt_tokens"], row["completion_tokens"]) == (5, 4500, 200)
    # Results of two calls of one answer hang from different lines of it: none of them was rewound.
    assert corpus.tool_calls.sort("call").collect()["tool"].to_list() == ["Read", "Bash", "Read", "Glob", "Edit"]
    assert corpus.tool_calls.filter(~pl.col("executed")).collect().is_empty()
    said = dict(corpus.problems.select("code", "message").collect().rows())
    assert said["rewound"] == (
        "on branches that were left, and in no count: records 4, answers 2, prompt tokens 1,800, generated tokens 80"
    )
    assert "debate (1)" in said["unknown_kind"]


def test_a_lost_line_takes_nothing_along(tmp_path: Path) -> None:
    name = "00000000-0000-4000-8000-000000000102.jsonl"
    lines = (SAMPLES / "claude_code" / "session" / "-work" / name).read_text().splitlines()
    (tmp_path / "whole.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "broken.jsonl").write_text("\n".join(["{" if n == 6 else line for n, line in enumerate(lines)]) + "\n")
    corpus = trajlab.read(tmp_path)
    steps = dict(corpus.trajectories.select("source", "n_steps").collect().rows())
    assert steps["whole.jsonl"] - steps["broken.jsonl"] <= 1
    assert "rewound" not in corpus.problems.collect()["code"].to_list()


def test_what_the_user_of_pi_left() -> None:
    corpus = trajlab.read(SAMPLES / "pi" / "branched")
    row = corpus.trajectories.collect().row(0, named=True)
    assert (row["n_steps"], row["n_calls"], row["prompt_tokens"], row["stop_reason"]) == (3, 2, 2700, "stop")
    assert corpus.problems.collect()["message"].to_list() == [
        "on branches that were left, and in no count: records 2, answers 1, prompt tokens 900, generated tokens 40"
    ]


def test_changes_of_gemini_cli_that_nobody_knows_are_counted(tmp_path: Path) -> None:
    place = SAMPLES / "gemini_cli" / "jsonl" / "chats" / "session-2026-01-01T00-00-102.jsonl"
    rows: list[dict[str, Any]] = [json.loads(line) for line in place.read_text().splitlines()]
    rows += [{"$rewindTo": "nowhere"}, {"$fold": {"from": "m1"}}, {"$fold": 1}]
    (tmp_path / "session.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    before, after = trajlab.read(place), trajlab.read(tmp_path)
    assert after.trajectories.collect()["n_steps"].to_list() == before.trajectories.collect()["n_steps"].to_list()
    said = after.problems.filter(pl.col("code") == "unknown_kind").collect()["message"].to_list()
    assert said == ["3 changes to the chat that the reader does not know were passed over: $fold, $pin"]


PARENT_OF = {
    "claude_code/session": "00000000-0000-4000-8000-000000000102",
    "claude_code/stream_json": "00000000-0000-4000-8000-000000000102",
    "codex/spawned": "00000000-0000-7000-8000-000000000102",
    "copilot_cli/subagents": "00000000-0000-4000-8000-000000000103",
    "cursor/transcripts": "00000000-0000-4000-8000-000000000102",
    "opencode/storage": "ses_102",
    "atif/version_1.8": "trajectory-1.8",
    "harbor/demo": "datekit__leap-102__solved",
}


def test_subagents_name_their_parents() -> None:
    for place, parent in PARENT_OF.items():
        rows = trajlab.read(SAMPLES / place).trajectories.filter(pl.col("parent_native_id").is_not_null()).collect()
        assert set(rows["parent_native_id"]) == {parent}, place
        assert not rows["gradable"].any(), place


def test_the_summary_counts_those_with_a_parent() -> None:
    summary = trajlab.read(SAMPLES / "claude_code" / "session").summary()
    assert summary.runs["of a parent"].to_list() == [1]
    assert "of a parent" in str(summary)
