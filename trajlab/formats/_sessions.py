"""What sessions of command-line agents share: their lines, blocks in Anthropic's spelling, kinds that nobody knows."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any, Protocol

from trajlab.behavior.tools import kind_of_tool
from trajlab.formats._turns import Turns, exit_code_in, span, task_of_prompt, tool_call
from trajlab.formats._values import content_text, first, flag, joined, json_lines, mappings, moment, text, word
from trajlab.records import Problem, Step, ToolCall, Trajectory
from trajlab.sources.files import Bundle

CALLS = frozenset({"tool_use", "tool_call", "tool-call", "toolCall"})
RESULTS = frozenset({"tool_result", "tool-result", "toolResult"})
_TURN = frozenset(
    {"content", "message", "text", "parts", "arguments", "input", "output", "result", "toolRequests", "toolCalls"}
)
"""Keys of which a record that tells a part of a conversation has one."""
_MOST_KINDS = 5
_EXIT_CODE = re.compile(r"exit code: (-?\d{1,5})\)")


class UnknownKinds:
    """Counts records of kinds that a reader does not know, where they seem to carry a turn."""

    def __init__(self) -> None:
        self._seen: Counter[str] = Counter()

    def saw(self, kind: Any, record: dict[str, Any]) -> None:
        """One record that was passed over."""
        if any(record.get(key) for key in _TURN & set(record)):
            self._seen[(word(kind) or "without a type")[:60]] += 1

    def problem(self) -> Problem | None:
        """What was passed over; null where nothing was."""
        if not self._seen:
            return None
        names = [f"{kind} ({number})" for kind, number in self._seen.most_common(_MOST_KINDS)]
        more = len(self._seen) - len(names)
        listed = ", ".join(names) + (f" and {more} more" if more else "")
        message = f"{self._seen.total()} records of kinds that the reader does not know were passed over: {listed}"
        return Problem("unknown_kind", message)


def kind_of(record: dict[str, Any]) -> str:
    """What ``type`` names; empty where it is no text."""
    return text(record.get("type")) or ""


def rows_of(bundle: Bundle, problems: list[Problem]) -> list[dict[str, Any]]:
    """The objects among the lines of a file."""
    return [row for _, row in json_lines(bundle, problems) if isinstance(row, dict)]


class SessionReader(Protocol):
    """Takes the lines of one session, in order."""

    trajectory: Trajectory
    turns: Turns
    unknown: UnknownKinds

    def take(self, row: dict[str, Any]) -> None:
        """One line."""


def fill_session(reader: SessionReader, rows: list[dict[str, Any]]) -> None:
    """Let a reader take all lines; times, task and kinds it does not know are told of them."""
    trajectory = reader.trajectory
    try:
        for row in rows:
            reader.take(row)
        reader.turns.close()
    except RecursionError:
        trajectory.problems.append(Problem("unreadable_record", "a value is nested too deeply to be read"))
    span(trajectory, [moment(row.get("timestamp")) for row in rows])
    if (found := reader.unknown.problem()) is not None:
        trajectory.problems.append(found)
    task_of_prompt(trajectory)


def agent_blocks(turns: Turns, step: Step, content: Any) -> None:
    """An answer of the model: text, thinking, calls; of blocks of any other kind their text."""
    if not isinstance(content, list):
        step.text = joined([step.text, content_text(content)]) or ""
    for block in mappings(content):
        kind = kind_of(block)
        if kind in CALLS:
            arguments = first(block.get("input"), block.get("arguments"))
            turns.call(step, tool_call(block.get("name"), arguments, block.get("id")))
        elif kind in ("thinking", "redacted_thinking", "reasoning"):
            said = first(text(block.get("thinking")), text(block.get("text")))
            step.reasoning = joined([step.reasoning, said])
        else:
            step.text = joined([step.text, content_text(block)]) or ""


def take_results(turns: Turns, content: Any, *, in_order: bool = False) -> Any:
    """Give results to their calls; what else the message holds is returned.

    Args:
        turns: The conversation so far.
        content: Of a message that is not the agent's.
        in_order: A result whose id no call has belongs to the first call that waits.
    """
    blocks = mappings(content)
    if not blocks:
        return content
    for block in blocks:
        if kind_of(block) in RESULTS:
            call_id = first(block.get("tool_use_id"), block.get("toolCallId"))
            if in_order and turns.find(call_id) is None:
                call_id = None
            call = turns.answer(call_id, content_text(block.get("content")))
            if call is not None:
                settle(call, flag(first(block.get("is_error"), block.get("isError"))))
    return [block for block in blocks if kind_of(block) not in RESULTS]


def settle(call: ToolCall, is_error: bool | None) -> None:
    """What came back says how a shell ended."""
    call.is_error = is_error
    if call.exit_code is None and call.output is not None and kind_of_tool(call.tool) == "shell":
        found = _EXIT_CODE.search(call.output[:300])
        call.exit_code = int(found[1]) if found else exit_code_in(call.output)


def apart(said: str, tag: str) -> tuple[str | None, str]:
    """Text inside the tags of that name, and text around them; null where there is no such tag."""
    start, end = said.find(f"<{tag}>"), said.rfind(f"</{tag}>")
    if not 0 <= start < end:
        return None, said
    inside = said[start + len(tag) + 2 : end].strip()
    return inside, (said[:start] + said[end + len(tag) + 3 :]).strip()
