"""Messages of Cline to turns: native calls, or tags in the text."""

from __future__ import annotations

import re
from typing import Any

from trajlab.formats._turns import Turns, exit_code_in, tool_call
from trajlab.formats._values import content_text, flag, joined, mappings, text
from trajlab.records import Step, ToolCall, Trajectory

_TOOLS = (
    "execute_command", "read_file", "write_to_file", "replace_in_file", "search_files", "list_files",
    "list_code_definition_names", "browser_action", "use_mcp_tool", "access_mcp_resource", "ask_followup_question",
    "plan_mode_respond", "attempt_completion", "new_task", "load_mcp_documentation", "web_fetch", "apply_patch",
)  # fmt: skip
_OPENING = re.compile(f"<({'|'.join(_TOOLS)})>")
_PARAMETER = re.compile(r"<([a-z_]{1,40})>")
_REFUSED = ("[ERROR] You did not use a tool", "[ERROR] ")
_NO_TOOL = "did not use a tool"
_DENIED = "The user denied this operation"


def fill(trajectory: Trajectory, messages: list[dict[str, Any]]) -> None:
    """Turns and messages of a conversation in Anthropic's spelling."""
    turns = Turns(trajectory)
    for message in messages:
        if message.get("role") == "assistant":
            _agent(turns, message)
        else:
            _user(turns, message)
    turns.close()


def _agent(turns: Turns, message: dict[str, Any]) -> None:
    step = turns.step()
    content = message.get("content")
    if not isinstance(content, list):
        step.text = content_text(content)
    for block in mappings(content):
        kind = block.get("type")
        if kind == "tool_use":
            turns.call(step, tool_call(block.get("name"), block.get("input"), block.get("id")))
        elif kind == "thinking":
            step.reasoning = joined([step.reasoning, text(block.get("thinking"))])
        else:
            step.text = joined([step.text, content_text(block)]) or ""
    if not step.calls:
        call = call_in_text(step.text)
        if call is not None:
            turns.call(step, call)


def call_in_text(said: str) -> ToolCall | None:
    """The first tag of a known tool, with the tags inside as its arguments."""
    found = _OPENING.search(said)
    if found is None:
        return None
    end = said.rfind(f"</{found[1]}>")
    inside = said[found.end() : end if end > found.end() else len(said)]
    arguments: dict[str, Any] = {}
    at = 0
    while (tag := _PARAMETER.search(inside, at)) is not None:
        close = inside.find(f"</{tag[1]}>", tag.end())
        if close < 0:
            break
        arguments[tag[1]] = inside[tag.end() : close].strip("\n")
        at = close + len(tag[1]) + 3
    return ToolCall(found[1], arguments)


def _user(turns: Turns, message: dict[str, Any]) -> None:
    blocks = mappings(message.get("content"))
    results = [block for block in blocks if block.get("type") == "tool_result"]
    for block in results:
        _result(turns, block.get("tool_use_id"), content_text(block.get("content")), flag(block.get("is_error")))
    rest = [block for block in blocks if block.get("type") != "tool_result"]
    said = content_text(rest if blocks else message.get("content"))
    if not said:
        return
    waiting: list[ToolCall] = [] if results or not turns.steps else _waiting(turns.steps[-1])
    if waiting:
        _result(turns, None, said, None)
    elif turns.steps and _NO_TOOL in said[:200] and said.startswith(_REFUSED):
        turns.steps[-1].invalid_action = "no tool"
        turns.say("user", said)
    else:
        _say(turns, said)


def _waiting(step: Step) -> list[ToolCall]:
    return [call for call in step.calls if call.executed is None and call.call_id is None]


def _result(turns: Turns, call_id: Any, output: str, error: bool | None) -> None:
    if _DENIED in output[:300]:
        known = turns.find(call_id) or next(iter(_waiting(turns.steps[-1])), None) if turns.steps else None
        if known is not None:
            known.executed, known.invalid = False, "refused"
            turns.settle(known)
        turns.say("tool", output)
        return
    call = turns.answer(call_id, output)
    if call is not None:
        call.is_error = error
        call.exit_code = exit_code_in(output)


def _say(turns: Turns, said: str) -> None:
    """The task without the details of the environment, which change from run to run."""
    start, end = said.find("<task>"), said.find("</task>")
    if not turns.steps and 0 <= start < end:
        turns.say("user", said[start + len("<task>") : end].strip())
        turns.say("system", said[end + len("</task>") :].strip())
    else:
        turns.say("user", said)
