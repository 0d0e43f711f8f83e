"""Lines of one conversation of Claude Code to turns."""

from __future__ import annotations

import re
from typing import Any

from trajlab.behavior.termination import CLAUDE_CODE
from trajlab.formats._turns import Turns, span, sum_tokens, tool_call
from trajlab.formats._values import (
    content_text,
    count,
    first,
    flag,
    joined,
    mapping,
    mappings,
    moment,
    text,
    total,
    word,
)
from trajlab.records import Step, Trajectory

_EXIT_CODE = re.compile(r"(?:Error: )?Exit code (\d{1,5})\b")
_ERROR_TAG = "<tool_use_error>"
_REJECTED = "The user doesn't want to proceed with this tool use"
_INTERRUPTED = "[Request interrupted by user"
_NO_TOOL = "No such tool available"
_SYNTHETIC = "<synthetic>"


def fill(trajectory: Trajectory, rows: list[dict[str, Any]]) -> None:
    """Turns, messages, tokens, and how it ended as far as the lines tell."""
    reader = _Reader(trajectory)
    for row in rows:
        reader.take(row)
    reader.turns.close()
    span(trajectory, reader.times)
    trajectory.cached_tokens = total(reader.cached.values())
    sum_tokens(trajectory)
    if reader.end is not None:
        trajectory.stop_reason, trajectory.termination = reader.end, CLAUDE_CODE[reader.end]


class _Reader:
    def __init__(self, trajectory: Trajectory) -> None:
        self.trajectory = trajectory
        self.turns = Turns(trajectory)
        self.times: list[float | None] = []
        self.cached: dict[int, int | None] = {}
        self.end: str | None = None
        self._steps: dict[str, Step] = {}

    def take(self, row: dict[str, Any]) -> None:
        kind = row.get("type")
        if kind in ("user", "assistant"):
            self.times.append(moment(row.get("timestamp")))
            message = mapping(row.get("message"))
            if kind == "assistant":
                self._agent(row, message)
            else:
                self._user(row, message)
        elif kind == "tool_use":
            step = self.turns.step()
            self.turns.call(step, tool_call(row.get("name"), row.get("input"), row.get("uuid")))
        elif kind == "tool_result":
            self.turns.answer(None, content_text(first(row.get("output"), row.get("content"))))

    def _agent(self, row: dict[str, Any], message: dict[str, Any]) -> None:
        content = message.get("content")
        if row.get("isApiErrorMessage") is True or message.get("model") == _SYNTHETIC:
            self.turns.say("system", content_text(content))
            self.end = "api_error" if row.get("isApiErrorMessage") is True else self.end
            return
        self.end = None
        step = self._step(row, message)
        if not isinstance(content, list):
            step.text = joined([step.text, content_text(content)]) or ""
        for block in mappings(content):
            kind = block.get("type")
            if kind == "tool_use":
                self.turns.call(step, tool_call(block.get("name"), block.get("input"), block.get("id")))
            elif kind in ("thinking", "redacted_thinking"):
                step.reasoning = joined([step.reasoning, text(block.get("thinking"))]) or step.reasoning
            elif kind != "server_tool_use":
                step.text = joined([step.text, content_text(block)]) or ""

    def _step(self, row: dict[str, Any], message: dict[str, Any]) -> Step:
        """The turn of this answer; usage and stop reason of its last line count."""
        key = word(message.get("id"))
        step = self._steps.get(key) if key is not None else None
        if step is None:
            step = self.turns.step()
            if key is not None:
                self._steps[key] = step
            step.timestamp = moment(row.get("timestamp"))
        usage = mapping(message.get("usage"))
        given = [count(usage.get(name)) for name in ("input_tokens", "cache_read_input_tokens",
                                                     "cache_creation_input_tokens")]  # fmt: skip
        if given[0] is not None:
            step.prompt_tokens = total(given)
            self.cached[id(step)] = given[1]
        step.completion_tokens = first(count(usage.get("output_tokens")), step.completion_tokens)
        step.finish_reason = first(word(message.get("stop_reason")), step.finish_reason)
        if self.trajectory.model is None:
            self.trajectory.model = word(message.get("model"))
        return step

    def _user(self, row: dict[str, Any], message: dict[str, Any]) -> None:
        content = message.get("content")
        blocks = mappings(content)
        for block in blocks:
            if block.get("type") == "tool_result":
                self._result(row, block)
        rest = [block for block in blocks if block.get("type") != "tool_result"] if blocks else content
        said = content_text(rest)
        if said:
            injected = row.get("isMeta") is True or row.get("isCompactSummary") is True
            self.turns.say("system" if injected else "user", said)
            self.end = "interrupted" if said.startswith(_INTERRUPTED) else None

    def _result(self, row: dict[str, Any], block: dict[str, Any]) -> None:
        output, call_id = content_text(block.get("content")), block.get("tool_use_id")
        start = output[:2000]
        if _ERROR_TAG in start or start.startswith(_REJECTED):
            reason = "unknown_tool" if _NO_TOOL in start else "refused"
            self.turns.refuse(call_id, reason, output)
            return
        call = self.turns.answer(call_id, output)
        if call is None:
            return
        call.is_error = flag(block.get("is_error"))
        found = _EXIT_CODE.match(output)
        if found:
            call.exit_code = int(found[1])
        if mapping(row.get("toolUseResult")).get("interrupted") is True:
            call.is_error = True
