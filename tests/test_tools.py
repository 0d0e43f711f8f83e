"""Scaffold tools: which are shells, where their text is, what the others do."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajlab.behavior.derive import is_think_tool
from trajlab.behavior.tools import KINDS, kind_of_tool, labels_of_tool, shell_text

TEXT = st.text(alphabet=st.characters(codec=None), max_size=200)


@settings(max_examples=100, deadline=None)
@given(st.one_of(st.none(), TEXT), st.one_of(st.none(), TEXT, st.dictionaries(TEXT, TEXT, max_size=3)))
def test_any_tool_call_gives_labels(tool, arguments):
    assert isinstance(labels_of_tool(tool, arguments), frozenset)


@pytest.mark.parametrize(
    ("tool", "arguments", "text"),
    [
        ("bash", {"command": "ls"}, "ls"),
        ("shell", {"command": ["bash", "-lc", "pytest -q"], "timeout_ms": 1}, "pytest -q"),
        ("shell", {"command": ["ls", "-la", "a b"]}, "ls -la 'a b'"),
        ("container.exec", {"cmd": ["/bin/bash", "-c", "ls"]}, "ls"),
        ("exec_command", {"cmd": "ls"}, "ls"),
        ("bash_command", {"keystrokes": "ls\n", "duration": 1}, "ls\n"),
        ("run_command", {"CommandLine": "ls"}, "ls"),
        ("run_shell_command", {"command": "ls"}, "ls"),
        ("local_shell", {"action": {"command": ["bash", "-lc", "ls"]}}, "ls"),
        ("mcp__box__execute_bash", {"command": "ls"}, "ls"),
        ("bash", "ls", "ls"),
        ("bash", None, None),
        ("Read", {"file_path": "a"}, None),
        (None, {"command": "ls"}, None),
    ],
)
def test_shell_text(tool, arguments, text):
    assert shell_text(tool, arguments) == text


@pytest.mark.parametrize(
    ("tool", "arguments", "labels"),
    [
        ("str_replace_editor", {"command": "view", "path": "a"}, {"read"}),
        ("str_replace_editor", {"command": "create", "path": "a"}, {"edit"}),
        ("file_editor", {"command": "undo_edit"}, {"edit"}),
        ("Read", {"file_path": "a"}, {"read"}),
        ("Edit", {}, {"edit"}),
        ("MultiEdit", {}, {"edit"}),
        ("Write", None, {"edit"}),
        ("Grep", {"pattern": "x"}, {"search"}),
        ("Glob", {"pattern": "x"}, {"search"}),
        ("goto", {"line_number": 3}, {"read"}),
        ("search_dir", {"search_term": "x"}, {"search"}),
        ("apply_patch", "*** Begin Patch", {"edit"}),
        ("think", {"thought": "pytest"}, set()),
        ("TodoWrite", {}, set()),
        ("update_plan", {"plan": []}, set()),
        ("task_tracker", {"command": "view"}, set()),
        ("save_memory", {"fact": "x"}, set()),
        ("mcp__sequential-thinking__sequentialthinking", {"thought": "x"}, set()),
        ("submit", None, {"submit"}),
        ("finish", {"message": "x"}, {"submit"}),
        ("attempt_completion", {"result": "x"}, {"submit"}),
        ("execute_ipython_cell", {"code": "open('a', 'w')"}, {"inline", "edit"}),
        ("execute_ipython_cell", {"code": "!pytest -q"}, {"test:all"}),
        ("python", {"code": "print(1)"}, {"inline"}),
        ("execute_bash", {"command": "pytest a.py::b"}, {"test:case"}),
        ("shell", {"command": ["bash", "-lc", "cat a | grep b"]}, {"search"}),
        ("WebSearch", {"query": "x"}, {"other"}),
        ("no_such_tool", {}, {"other"}),
    ],
)
def test_labels_of_tool(tool, arguments, labels):
    assert set(labels_of_tool(tool, arguments)) == labels


def test_kind_of_tool():
    assert kind_of_tool("Bash") == "shell"
    assert kind_of_tool("functions.shell") == "shell"
    assert kind_of_tool("nothing_known") is None


@pytest.mark.parametrize("tool", ["think", "Think", "sequentialthinking", "mcp__thought__think", "scratchpad"])
def test_think_tools_record_a_thought(tool):
    assert kind_of_tool(tool) == "think"
    assert is_think_tool(tool)


@pytest.mark.parametrize(
    "tool", ["TodoWrite", "functions.update_plan", "write_todos", "task_tracker", "save_memory", "ExitPlanMode"]
)
def test_plans_are_no_thoughts(tool):
    assert kind_of_tool(tool) == "plan"
    assert not is_think_tool(tool)


def test_every_name_has_one_kind():
    names = [name for names in KINDS.values() for name in names.split()]
    assert len(names) == len(set(names))
    assert all(name == name.lower() for name in names if "." not in name)
