"""One trajectory in, its derived rows out: commands, and the behaviour row."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec

from trajlab.behavior.hack_rules import BY_ID as HACK_RULES
from trajlab.behavior.hack_rules import RULES_VERSION as HACK_RULES_VERSION
from trajlab.behavior.hacking import Hit, hack_candidates
from trajlab.behavior.masks import mask_of
from trajlab.behavior.path_rules import PATHS_VERSION
from trajlab.behavior.patterns import action_pattern
from trajlab.behavior.repetition import repetition_facts
from trajlab.behavior.results import RESULTS_VERSION
from trajlab.behavior.rules import RULES_VERSION as SHELL_RULES
from trajlab.behavior.shell import Row, understood
from trajlab.behavior.termination import ENDED
from trajlab.behavior.think import think_facts
from trajlab.behavior.tools import decoded_arguments, kind_of_tool, labels_of_tool
from trajlab.behavior.verification import WORKS, Work
from trajlab.records import ToolCall, Trajectory
from trajlab.schema import BEHAVIOUR, LABELS

RULES_VERSION = f"behaviour-5+{SHELL_RULES}+{HACK_RULES_VERSION}+paths-{PATHS_VERSION}+results-{RESULTS_VERSION}"
"""Written to every behaviour row: a corpus of another version is stale."""


class Derived(msgspec.Struct):
    """Derived rows of one trajectory, without its id."""

    commands: list[Row]
    behaviour: Row
    file_events: list[Row]
    call_results: list[Row]
    hits: list[Row]


_NOTHING_RECORDED: Row = (*[None] * (len(BEHAVIOUR.names) - 2), RULES_VERSION)
"""Of one that ended and holds not one message nothing is known of what the agent did: not that it did nothing."""
_HAS_ACTED = frozenset({ENDED, "success", "task_failure", "invalid_action", "truncated_budget"})
"""Ends that only a trajectory with a turn comes to; before any other there may have been nothing to record."""
_TEST_MASK = mask_of(frozenset(label for label in LABELS if label.startswith("test:")))
_SUITE_MASK = mask_of(frozenset({"test:all", "test:part"}))
_EDIT_MASK = mask_of(frozenset({"edit"}))
_EXECUTES_MASK = _TEST_MASK | mask_of(frozenset({"script", "inline"}))
_EXECUTES_EDITING_MASK = _TEST_MASK | mask_of(frozenset({"script"}))


def is_think_tool(tool: str | None) -> bool:
    """Whether a tool only records a thought."""
    return kind_of_tool(tool) == "think"


def _tool_mask(call: ToolCall) -> int:
    """Labels of a call of a tool that is no shell; none for a tool no scaffold is known to use."""
    kind = kind_of_tool(call.tool)
    if kind is None or kind == "think":
        return 0
    arguments = decoded_arguments(call)
    return mask_of(labels_of_tool(call.tool, arguments if isinstance(arguments, dict) else None))


def derive(
    trajectory: Trajectory, requests: Sequence[int], *, agent_chars: int, tail_repetitive: bool | None
) -> Derived:
    """Derive what the agent did.

    Args:
        trajectory: The trajectory as read.
        requests: Digests of the agent's own calls (not a simulated user's), in order.
        agent_chars: Characters the agent wrote, reasoning included.
        tail_repetitive: Whether the end of its text is repetitive.

    Returns:
        Rows in the column order of the derived tables, without the id; those of ``commands`` are one for each call,
        with the facts of all its simple commands.
    """
    if not trajectory.steps and not trajectory.messages and trajectory.termination in _HAS_ACTED:
        return Derived([], _NOTHING_RECORDED, [], [], [])
    work = Work()
    commands, calls, masks = _label_calls(trajectory, work)
    hits = hack_candidates(calls, masks, trajectory.task_id)
    labelled = _labelled(calls, masks, wrote=agent_chars > 0)
    row = (
        *_counts(trajectory, calls, agent_chars),
        *_think(trajectory, calls),
        *_repetition(calls, requests, tail_repetitive),
        *_labels(masks, labelled=labelled),
        *work.row(observed=labelled),
        action_pattern(calls, masks),
        *_tiers(hits, labelled=labelled),
        RULES_VERSION,
    )
    return Derived(commands, row, work.files.rows, work.results, _hit_rows(trajectory, hits) if hits else [])


def _label_calls(trajectory: Trajectory, work: Work) -> tuple[list[Row], list[ToolCall], list[int]]:
    """Rows of ``commands``, the agent's own calls and the labels of each; ``work`` takes those that bear on files."""
    commands: list[Row] = []
    masks: list[int] = []
    calls: list[ToolCall] = []
    number = 0
    for step_number, step in enumerate(trajectory.steps, 1):
        for call in step.calls:
            number += 1
            if call.requestor != "agent":
                continue
            calls.append(call)
            if call.executed is False:
                masks.append(0)
            elif call.command is not None:
                known, reading = understood(call.command)
                masks.append(known.mask)
                if known.mask & WORKS or call.exit_code:
                    work.add_shell((number, step_number, len(calls)), call, call.command, known, reading)
                if known.rows:
                    commands.append((number, step_number, known.rows))
            else:
                masks.append(mask := _tool_mask(call))
                if mask:
                    work.add_tool((number, step_number, len(calls)), call, mask)
                    commands.append((number, step_number, ((call.tool, mask, None, "tool"),)))
    return commands, calls, masks


def _hit_rows(trajectory: Trajectory, hits: Sequence[Hit]) -> list[Row]:
    calls = [call for step in trajectory.steps for call in step.calls]
    steps = [number for number, step in enumerate(trajectory.steps, 1) for _ in step.calls]
    places = [(number, steps[number - 1]) for number, call in enumerate(calls, 1) if call.requestor == "agent"]
    return [(*places[h.call], h.rule, HACK_RULES[h.rule].tier, h.argument, h.start, h.end, h.timed_out) for h in hits]


def _tiers(hits: Sequence[Hit], *, labelled: bool) -> Row:
    """Candidates by tier; null where what the agent did could not be known."""
    if not labelled:
        return (None, None, None)
    if not hits:
        return (0, 0, 0)
    tiers = Counter([HACK_RULES[hit.rule].tier for hit in hits if not hit.timed_out])
    return (tiers[1], tiers[2], tiers[3])


def _counts(trajectory: Trajectory, calls: Sequence[ToolCall], agent_chars: int) -> Row:
    states = [call.executed for call in calls]
    executed, unknown = states.count(True), states.count(None)
    outputs = len([call for call in calls if call.output is not None])
    invalid = len([call for call in calls if call.invalid is not None])
    shell = len([call for call in calls if call.command is not None])
    steps = trajectory.steps
    refused = sum([step.invalid_action is not None and not step.calls for step in steps])
    used = True if executed else None if unknown else False
    return (
        len(steps),
        len(trajectory.messages) + len(steps) + outputs,
        len(calls),
        None if calls and unknown == len(calls) else executed,
        invalid + refused,
        shell,
        used,
        None if used is None else not used and agent_chars == 0,
    )


def _think(trajectory: Trajectory, calls: Sequence[ToolCall]) -> Row:
    called = any(map(is_think_tool, {call.tool for call in calls}))
    offered = trajectory.tools_offered
    if not called and not any(map(is_think_tool, offered or ())):
        return (None if offered is None else False, None, None, None, None, None)
    is_think = [is_think_tool(call.tool) for call in calls]
    steps = [
        msgspec.structs.replace(step, calls=[c for c in step.calls if c.requestor == "agent"])
        for step in trajectory.steps
    ]
    facts = think_facts(steps, is_think)
    return (True, facts.calls, facts.longest_run, facts.most_in_step, facts.hollow, facts.spam)


def _repetition(calls: Sequence[ToolCall], requests: Sequence[int], tail_repetitive: bool | None) -> Row:
    facts = repetition_facts(requests, calls)
    if facts is None:
        return (0, False, False, tail_repetitive)
    return (facts.longest_run, facts.stuck, facts.stuck_openhands, tail_repetitive)


def _labelled(calls: Sequence[ToolCall], masks: Sequence[int], *, wrote: bool) -> bool:
    """What the calls do could be known of at least one, or none of them was executed: then they did nothing.

    An agent that wrote and made no call did nothing, too. A trajectory without calls and without text is empty and
    tells nothing.
    """
    if not calls:
        return wrote
    known = any(masks) or any(call.command is not None for call in calls)
    return known or all(call.executed is False for call in calls)


class _ToldBy(dict[int, tuple[list[int], bool, bool, bool]]):
    """Labels of a mask by their places, and whether tests, a suite, or anything is run; worked out once."""

    def __missing__(self, mask: int) -> tuple[list[int], bool, bool, bool]:
        runs = mask & (_EXECUTES_EDITING_MASK if mask & _EDIT_MASK else _EXECUTES_MASK)
        bits = [place for place in range(len(LABELS)) if mask >> place & 1]
        told = self[mask] = (bits, mask & _TEST_MASK != 0, mask & _SUITE_MASK != 0, runs != 0)
        return told


_told_by = _ToldBy()


def _labels(masks: Sequence[int], *, labelled: bool) -> Row:
    tests = executes = suites = 0
    edits = False
    counts = [0] * len(LABELS)
    kinds: dict[int, int] = {}
    for mask in masks:
        kinds[mask] = kinds.get(mask, 0) + 1
    for mask, count in kinds.items():
        bits, is_test, is_suite, is_run = _told_by[mask]
        for bit in bits:
            counts[bit] += count
        tests += count if is_test else 0
        suites += count if is_suite else 0
        executes += count if is_run else 0
        edits = edits or mask & _EDIT_MASK != 0
    first_edit = last_edit = None
    if edits:
        places = [number for number, mask in enumerate(masks, 1) if mask & _EDIT_MASK]
        first_edit, last_edit = places[0], places[-1]
    any_test, suite = (tests > 0, suites > 0) if labelled else (None, None)
    return (*counts, tests, executes, any_test, suite, first_edit, last_edit)
