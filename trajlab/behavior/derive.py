"""One trajectory in, its derived rows out: commands, and the behaviour row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import msgspec

from trajlab.behavior.repetition import repetition_facts
from trajlab.behavior.rules import RULES_VERSION as SHELL_RULES
from trajlab.behavior.shell import analyse, labels_of
from trajlab.behavior.think import think_facts
from trajlab.behavior.tools import kind_of_tool, labels_of_tool
from trajlab.records import ToolCall, Trajectory
from trajlab.schema import LABELS

RULES_VERSION = f"behaviour-1+{SHELL_RULES}"
"""Written to every behaviour row: a corpus of another version is stale."""

_TESTS = frozenset(label for label in LABELS if label.startswith("test:"))
_SUITE = frozenset({"test:all", "test:part"})
_EXECUTES = _TESTS | {"script", "inline"}

Row = tuple[Any, ...]


class Derived(msgspec.Struct):
    """Derived rows of one trajectory, without its id."""

    commands: list[Row]
    behaviour: Row


class CallDigests(msgspec.Struct):
    """Digests of the agent's calls, in order, as the tool_calls table holds them."""

    arguments: list[str]
    outputs: list[str | None]


@lru_cache(maxsize=4096)
def _mask(labels: frozenset[str]) -> int:
    return sum(1 << position for position, label in enumerate(LABELS) if label in labels)


def _command_rows(call: ToolCall, number: int, step: int) -> tuple[frozenset[str], list[Row]]:
    """Labels of a call, and a row for each simple command in it."""
    if call.command is None:
        arguments = call.arguments if isinstance(call.arguments, dict) else _decoded(call.arguments)
        labels = labels_of_tool(call.tool or "", arguments)
        if not labels:
            return labels, []
        return labels, [(number, step, 0, call.tool, _mask(labels), None, "tool")]
    simple = analyse(call.command)
    rows: list[Row] = [
        (number, step, i, command.program, _mask(command.labels), command.scope, _rule_ids(command.rules))
        for i, command in enumerate(simple)
    ]
    return labels_of(simple), rows


@lru_cache(maxsize=4096)
def _rule_ids(rules: tuple[tuple[str, str], ...]) -> str:
    return " ".join(f"{label}={rule}" for label, rule in rules)


def is_think_tool(tool: str | None) -> bool:
    """Whether a tool only records a thought."""
    return kind_of_tool(tool) == "think"


def _decoded(arguments: str | None) -> dict[str, Any] | None:
    if not arguments:
        return None
    try:
        value = msgspec.json.decode(arguments)
    except (msgspec.DecodeError, UnicodeEncodeError):
        return None
    return value if isinstance(value, dict) else None


def derive(
    trajectory: Trajectory, digests: CallDigests, *, agent_chars: int, tail_repetitive: bool | None
) -> Derived:
    """Derive what the agent did.

    Args:
        trajectory: The trajectory as read.
        digests: Digests of the agent's own calls (not a simulated user's), in order.
        agent_chars: Characters the agent wrote, reasoning included.
        tail_repetitive: Whether the end of its text is repetitive.

    Returns:
        Rows in the column order of the tables ``commands`` and ``behaviour``, without the id.
    """
    commands: list[Row] = []
    labels_by_call: list[frozenset[str]] = []
    calls: list[ToolCall] = []
    number = 0
    for step_number, step in enumerate(trajectory.steps, 1):
        for call in step.calls:
            number += 1
            if call.requestor != "agent":
                continue
            calls.append(call)
            if call.executed is False:
                labels_by_call.append(frozenset())
                continue
            labels, rows = _command_rows(call, number, step_number)
            labels_by_call.append(labels)
            commands.extend(rows)
    row = (
        *_counts(trajectory, calls, agent_chars),
        *_think(trajectory, calls),
        *_repetition(calls, digests, tail_repetitive),
        *_labels(calls, labels_by_call),
        RULES_VERSION,
    )
    return Derived(commands, row)


def _counts(trajectory: Trajectory, calls: Sequence[ToolCall], agent_chars: int) -> Row:
    executed = [call.executed for call in calls]
    known = not executed or any(state is not None for state in executed)
    used = True if True in executed else None if None in executed else False
    refused = sum(step.invalid_action is not None and not step.calls for step in trajectory.steps)
    outputs = sum(call.output is not None for call in calls)
    return (
        len(trajectory.steps),
        len(trajectory.messages) + len(trajectory.steps) + outputs,
        len(calls),
        executed.count(True) if known else None,
        sum(call.invalid is not None for call in calls) + refused,
        sum(call.command is not None for call in calls),
        used,
        None if used is None else not used and agent_chars == 0,
    )


def _think(trajectory: Trajectory, calls: Sequence[ToolCall]) -> Row:
    is_think = [is_think_tool(call.tool) for call in calls]
    called = True in is_think
    offered = trajectory.tools_offered
    if not called and not any(map(is_think_tool, offered or ())):
        return (None if offered is None else False, None, None, None, None, None)
    steps = [
        msgspec.structs.replace(step, calls=[c for c in step.calls if c.requestor == "agent"])
        for step in trajectory.steps
    ]
    facts = think_facts(steps, is_think)
    return (True, facts.calls, facts.longest_run, facts.most_in_step, facts.hollow, facts.spam)


def _repetition(calls: Sequence[ToolCall], digests: CallDigests, tail_repetitive: bool | None) -> Row:
    errors = [call.is_error if call.exit_code is None else call.exit_code != 0 for call in calls]
    facts = repetition_facts(digests.arguments, digests.outputs, errors)
    if facts is None:
        return (None, None, None, tail_repetitive)
    return (facts.longest_run, facts.stuck, facts.stuck_openhands, tail_repetitive)


def _labels(calls: Sequence[ToolCall], labels_by_call: Sequence[frozenset[str]]) -> Row:
    counts = Counter(label for labels in labels_by_call for label in labels)
    tests = executes = 0
    first_edit = last_edit = None
    for i, labels in enumerate(labels_by_call, 1):
        tests += not _TESTS.isdisjoint(labels)
        executes += not (_EXECUTES - {"inline"} if "edit" in labels else _EXECUTES).isdisjoint(labels)
        if "edit" in labels:
            first_edit = first_edit or i
            last_edit = i
    observed = any(labels_by_call) or any(call.command is not None for call in calls)
    any_test = tests > 0 if observed else None
    suite = bool(counts["test:all"] or counts["test:part"]) if observed else None
    return (*(counts[label] for label in LABELS), tests, executes, any_test, suite, first_edit, last_edit)
