"""Verification, its ladder, read-back, and edits that went wrong: small trajectories worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajlab.behavior.derive import derive
from trajlab.records import Step, ToolCall, Trajectory
from trajlab.schema import BEHAVIOUR

EDIT = "sed -i 's/a/b/' pkg/a.py"
SUITE, FILE, SCRIPT, INLINE, STATIC = (
    "pytest",
    "pytest tests/test_a.py",
    "python repro.py",
    "python -c 'f()'",
    "mypy pkg",
)
SHOW = "cat pkg/a.py"
SUBMIT = "submit"


def facts(*calls: str | tuple[str, dict[str, Any]] | ToolCall) -> dict[str, Any]:
    """Behaviour of a trajectory of these calls, one a step."""
    made = [
        call
        if isinstance(call, ToolCall)
        else ToolCall("bash", command=call, output="", exit_code=0, executed=True)
        if isinstance(call, str)
        else ToolCall(
            "bash", command=call[0], output=call[1].get("output", ""), exit_code=call[1]["exit"], executed=True
        )
        for call in calls
    ]
    trajectory = Trajectory(variant="", ordinal="0", steps=[Step(calls=[call]) for call in made])
    derived = derive(trajectory, list(range(len(made))), agent_chars=10, tail_repetitive=None)
    return dict(zip(BEHAVIOUR.names[1:], derived.behaviour, strict=True))


def failing(text: str, output: str = "") -> tuple[str, dict[str, Any]]:
    return text, {"exit": 1, "output": output}


@pytest.mark.parametrize(
    ("calls", "first", "last", "stale", "verifications", "before"),
    [
        ([SUITE, EDIT], "none", "none", None, 0, 1),
        ([EDIT, FILE], "targeted", "targeted", False, 1, 0),
        ([EDIT, FILE, SCRIPT], "targeted", "targeted", False, 2, 0),
        ([EDIT, SUITE, EDIT], "suite", "none", True, 1, 0),
        ([EDIT, SUITE, EDIT, INLINE], "suite", "inline", False, 2, 0),
        ([EDIT, STATIC], "static", "static", None, 0, 0),
        ([EDIT, SUITE, EDIT, STATIC], "suite", "static", True, 1, 0),
        ([f"{EDIT} && {FILE}"], "targeted", "targeted", False, 1, 0),
        ([f"{SCRIPT} && {EDIT}"], "none", "none", None, 0, 1),
        ([EDIT, f"{SUITE}; {EDIT}"], "suite", "none", True, 1, 0),
        ([SHOW, SCRIPT], None, None, None, None, 1),
        (["cat > repro.py <<'E'\nx\nE\npython repro.py", EDIT, SCRIPT], "script", "script", False, 1, 1),
        ([EDIT, FILE, "rm repro.py"], "targeted", "targeted", False, 1, 0),
        ([EDIT, FILE, "git checkout pkg/a.py"], "targeted", "none", True, 1, 0),
        ([EDIT, FILE, "git checkout setup.py"], "targeted", "targeted", False, 1, 0),
        ([EDIT, FILE, "sed -i 's/x/y/' tests/test_a.py"], "targeted", "targeted", False, 1, 0),
        (
            ["cat > fix.py <<'E'\nopen('pkg/a.py', 'r+')\nopen('pkg/a.py', 'w').write('')\nE", "python fix.py"],
            "none",
            "none",
            None,
            0,
            0,
        ),
        ([failing(EDIT), FILE], None, None, None, None, 1),
    ],
)
def test_ladder(calls, first, last, stale, verifications, before):
    found = facts(*calls)
    assert (found["ladder_first"], found["ladder_last"], found["stale"]) == (first, last, stale)
    assert (found["n_verifications"], found["n_executes_before"]) == (verifications, before)


def test_first_and_last_project_edit_are_calls():
    found = facts(SHOW, EDIT, "cat > tests/test_b.py <<'E'\nE", EDIT, SHOW)
    assert (found["first_project_edit"], found["last_project_edit"], found["n_project_edits"]) == (2, 4, 2)
    assert facts(SHOW)["n_project_edits"] == 0
    assert facts(ToolCall("calculator", {"x": 1}, executed=True))["n_project_edits"] is None


@pytest.mark.parametrize(
    ("calls", "edits", "read_back"),
    [
        ([EDIT, SHOW], 1, 1),
        ([f"{EDIT} && {SHOW}"], 1, 1),
        ([f"{SHOW} && {EDIT}"], 1, 0),
        ([EDIT, "ls", "ls", SHOW], 1, 1),
        ([EDIT, "ls", "ls", "ls", SHOW], 1, 0),
        ([EDIT, EDIT, SHOW], 2, 1),
        ([EDIT, "git diff"], 1, 1),
        ([EDIT, "git diff --stat"], 1, 0),
        ([EDIT, "cat pkg/b.py"], 1, 0),
        ([f"{EDIT} && {EDIT}", SHOW], 1, 1),
        (["cat > repro.py <<'E'\nE", "cat repro.py"], 0, None),
        ([EDIT, "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && git add -A && git diff --cached"], 1, 0),
    ],
)
def test_read_back(calls, edits, read_back):
    found = facts(*calls)
    assert (found["n_edits_with_path"], found["n_readback"]) == (edits, read_back)


@pytest.mark.parametrize(
    ("calls", "unverified", "failing_tests"),
    [
        ([EDIT, SUBMIT], True, None),
        ([EDIT, FILE, SUBMIT], False, False),
        ([EDIT, failing(FILE, "1 failed in 0.1s"), SUBMIT], False, True),
        (
            [EDIT, failing(FILE, "1 failed in 0.1s"), (FILE, {"exit": 0, "output": "1 passed in 0.1s"}), SUBMIT],
            False,
            False,
        ),
        ([EDIT, (f"{FILE} | tail -3", {"exit": 0, "output": "1 failed in 0.1s"}), SUBMIT], False, True),
        ([EDIT, f"{FILE} | tail -1", SUBMIT], False, None),
        ([EDIT, (FILE, {"exit": 127}), SUBMIT], False, None),
        ([EDIT, FILE], None, None),
        ([SHOW, SUBMIT], None, None),
    ],
)
def test_submitted(calls, unverified, failing_tests):
    found = facts(*calls)
    assert (found["submitted_unverified"], found["submitted_with_failing_tests"]) == (unverified, failing_tests)


def edit_tool(old: str, new: str, output: str = "The file has been edited.") -> ToolCall:
    arguments = {"command": "str_replace", "path": "/testbed/pkg/a.py", "old_str": old, "new_str": new}
    return ToolCall("str_replace_editor", arguments, output=output, executed=True)


MISSED = "No replacement was performed, old_str `x` did not appear verbatim in pkg/a.py."


@pytest.mark.parametrize(
    ("calls", "flip_flop"),
    [
        ([EDIT, EDIT], False),
        ([EDIT, "sed -i 's/b/a/' pkg/a.py"], True),
        ([EDIT, "sed -i 's/b/a/' pkg/b.py"], False),
        ([edit_tool("x", "y"), edit_tool("y", "z")], False),
        ([edit_tool("x", "y"), edit_tool("y", "x")], True),
        ([edit_tool("x", "y", MISSED), edit_tool("y", "x")], False),
        ([EDIT, "git checkout pkg/a.py"], True),
        ([EDIT, "git checkout pkg/b.py"], False),
        (["echo a > pkg/a.py", "echo b > pkg/a.py", "echo a > pkg/a.py"], True),
        (["echo a > pkg/a.py", "echo a > pkg/a.py"], False),
        ([SHOW], None),
    ],
)
def test_flip_flop(calls, flip_flop):
    assert facts(*calls)["edit_flip_flop"] == flip_flop


@pytest.mark.parametrize(
    ("calls", "failed", "streak", "repeated"),
    [
        ([EDIT], 0, 0, False),
        ([failing(EDIT)], 1, 1, False),
        ([failing(EDIT), SHOW, failing(EDIT)], 2, 2, True),
        ([failing(EDIT), EDIT, failing("sed -i 's/c/d/' pkg/a.py")], 2, 1, False),
        ([edit_tool("x", "y", MISSED), edit_tool("x", "y", MISSED), edit_tool("x", "z")], 2, 2, True),
        ([failing(f"{EDIT} && {FILE}")], 0, 0, False),
        ([SHOW], None, None, None),
    ],
)
def test_failed_edits(calls, failed, streak, repeated):
    found = facts(*calls)
    assert (found["n_failed_edits"], found["failed_edit_streak"], found["repeated_failed_edit"]) == (
        failed,
        streak,
        repeated,
    )


def test_abandoned_files():
    assert facts(EDIT, "git checkout pkg/a.py")["n_abandoned_files"] == 1
    assert facts(EDIT, "git checkout pkg/a.py", EDIT)["n_abandoned_files"] == 0
    assert facts("cat > pkg/new.py <<'E'\nE", "rm pkg/new.py")["n_abandoned_files"] == 1
    assert facts("cat > repro.py <<'E'\nE", "rm repro.py", EDIT)["n_abandoned_files"] == 0
    assert facts(SHOW)["n_abandoned_files"] is None


COMMANDS = st.sampled_from(
    [
        EDIT,
        SUITE,
        FILE,
        SCRIPT,
        INLINE,
        STATIC,
        SHOW,
        SUBMIT,
        "ls",
        "git diff",
        "git checkout .",
        "rm repro.py",
        "cat > repro.py <<'E'\nx\nE",
        "git checkout pkg/a.py",
    ]
)
ANY_CALL = st.one_of(
    st.builds(lambda text, code: (text, {"exit": code, "output": "x"}), COMMANDS, st.sampled_from([0, 1, 127, None])),
    st.builds(lambda text: ToolCall("str_replace_editor", text, output=text), st.text(max_size=50)),
    st.builds(lambda text: ToolCall("bash", command=text, output=text), st.text(max_size=50)),
)


@settings(max_examples=200, deadline=None)
@given(st.lists(ANY_CALL, max_size=12))
def test_what_holds_for_any_trajectory(calls):
    found = facts(*calls)
    edited = found["first_project_edit"] is not None
    assert edited == bool(found["n_project_edits"])
    assert (found["ladder_first"] is None, found["n_verifications"] is None) == (not edited, not edited)
    if edited:
        assert found["first_project_edit"] <= found["last_project_edit"]
        assert (found["stale"] is None) == (found["n_verifications"] == 0)
    if found["n_edits_with_path"]:
        assert 0 <= found["n_readback"] <= found["n_edits_with_path"]
    if found["n_failed_edits"] is not None:
        assert found["failed_edit_streak"] <= found["n_failed_edits"] <= found["n_edit"]


def test_real_runs_have_plausible_counts(shared):
    import polars as pl

    import trajlab

    corpus = trajlab.read(shared / "samples" / "corpora")
    frame = corpus.trajectories.collect()
    assert frame.height == 108
    assert (frame["n_project_edits"] > 0).all()
    assert (frame["ladder_first"] != "none").mean() > 0.9
    edits = corpus.commands.filter("edit").collect()
    made = corpus.file_events.filter(pl.col("action") != "shown").collect()
    without = edits.join(made, on=["trajectory_id", "call", "position"], how="anti")
    assert without.height <= 0.01 * edits.height
    tests = (
        corpus.commands.filter(pl.col("test_scope").is_not_null()).select("trajectory_id", "call").unique().collect()
    )
    counted = corpus.call_results.filter(pl.col("tests_failed").is_not_null()).collect()
    assert counted.height > 0.8 * tests.height
    assert counted.join(tests, on=["trajectory_id", "call"], how="anti").is_empty()
