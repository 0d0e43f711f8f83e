"""Items and events of Codex to turns."""

from __future__ import annotations

import re
from typing import Any

from trajlab.behavior.tools import shell_text
from trajlab.formats._sessions import UnknownKinds
from trajlab.formats._turns import Turns, tool_call
from trajlab.formats._values import (
    content_text,
    count,
    first,
    flag,
    joined,
    json_text,
    mapping,
    mappings,
    number,
    text,
    whole,
    word,
)
from trajlab.records import Step, ToolCall, Trajectory

_CALLS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_call", "web_search_call",
                    "tool_search_call", "image_generation_call"})  # fmt: skip
_OUTPUTS = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output", "tool_result",
                      "function_result", "tool_search_output"})  # fmt: skip
_OWN_NAMES = {"local_shell_call": "local_shell", "web_search_call": "web_search", "tool_search_call": "tool_search",
              "image_generation_call": "image_generation"}  # fmt: skip
_INJECTED = ("<environment_context>", "<user_instructions>", "# AGENTS.md instructions", "<permissions")
_EXIT_CODE = re.compile(r"(?:Exit code|Process exited with code):? (-?\d{1,5})\b")


class Rollout:
    """Reads ``response_item`` and ``event_msg``.

    Attributes:
        totals: The last stated total of tokens.
        usages: What each answer of the model used.
        unknown: Items of kinds that are passed over.
    """

    def __init__(self, trajectory: Trajectory) -> None:
        self.turns = Turns(trajectory)
        self.totals: dict[str, Any] = {}
        self.usages: list[dict[str, Any]] = []
        self.unknown = UnknownKinds()
        self._open: Step | None = None

    def _turn(self, timestamp: float | None) -> Step:
        """Items of the agent between two results are one turn."""
        if self._open is None:
            self._open = self.turns.step()
            self._open.timestamp = timestamp
        return self._open

    def item(self, item: dict[str, Any], timestamp: float | None) -> None:
        """One item of the conversation; of a kind that is not known, it is counted."""
        kind = text(item.get("type")) or ("message" if "role" in item else "")
        if kind == "message":
            self._message(item, timestamp)
        elif kind == "agent_message":  # of another agent
            self._open = None
            self.turns.say("system", content_text(item.get("content")))
        elif kind == "reasoning":
            step = self._turn(timestamp)
            said = content_text(item.get("summary")) or content_text(item.get("content"))
            step.reasoning = joined([step.reasoning, said]) or step.reasoning
        elif kind in _CALLS:
            self._call(item, kind, timestamp)
        elif kind in _OUTPUTS:
            self._open = None
            self._output(item)
        else:
            self.unknown.saw(kind, item)

    def _message(self, item: dict[str, Any], timestamp: float | None) -> None:
        said = content_text(first(item.get("content"), item.get("message")))
        if item.get("role") == "assistant":
            step = self._turn(timestamp)
            step.text = joined([step.text, said]) or ""
            return
        self._open = None
        injected = item.get("role") != "user" or said.lstrip().startswith(_INJECTED)
        self.turns.say("system" if injected else "user", said)

    def _call(self, item: dict[str, Any], kind: str, timestamp: float | None) -> None:
        function = mapping(item.get("function"))
        name = first(word(item.get("name")), word(function.get("name")), _OWN_NAMES.get(kind))
        arguments = first(item.get("arguments"), item.get("input"), item.get("action"), function.get("arguments"))
        call_id = first(word(item.get("call_id")), word(item.get("id")))
        # The text of a custom tool is a patch mostly; the oldest sessions hold that of a shell as it is.
        free = kind == "custom_tool_call" or (kind == "tool_call" and not isinstance(json_text(arguments), dict))
        call = ToolCall(name, text(arguments), call_id=call_id) if free else tool_call(name, arguments, call_id)
        if free:
            call.command = shell_text(name, call.arguments if kind == "tool_call" else mapping(json_text(arguments)))
        self.turns.call(self._turn(timestamp), call)
        if kind in ("web_search_call", "image_generation_call"):  # done by the provider: no result is logged
            call.executed = True if item.get("status") in (None, "completed") else None
            self.turns.settle(call)

    def _output(self, item: dict[str, Any]) -> None:
        output = first(item.get("output"), item.get("result"))
        held = json_text(output) if isinstance(output, str) and output.lstrip().startswith("{") else output
        facts = mapping(held)
        said = content_text(first(facts.get("output"), facts.get("stdout"), facts.get("content"), output))
        call = self.turns.answer(first(word(item.get("call_id")), word(item.get("id"))), said)
        if call is None:
            return
        metadata = mapping(facts.get("metadata"))
        code = whole(first(metadata.get("exit_code"), facts.get("exitCode"), facts.get("exit_code")))
        found = _EXIT_CODE.match(said.lstrip()) or _EXIT_CODE.search(said[:300])
        call.exit_code = first(call.exit_code, code, int(found[1]) if found else None)
        call.seconds = first(call.seconds, number(metadata.get("duration_seconds")))
        success = flag(facts.get("success"))
        call.is_error = first(call.is_error, None if success is None else not success)

    def event(self, event: dict[str, Any]) -> None:
        """Exit codes, outcomes of patches and tokens."""
        kind = event.get("type")
        call = self.turns.find(event.get("call_id"))
        if kind == "token_count":
            self._tokens(mapping(event.get("info")))
        elif kind == "exec_command_end" and call is not None:
            call.exit_code = first(whole(event.get("exit_code")), call.exit_code)
            call.seconds = first(_duration(event.get("duration")), call.seconds)
        elif kind == "patch_apply_end" and call is not None:
            success = flag(event.get("success"))
            call.is_error = None if success is None else not success

    def _tokens(self, info: dict[str, Any]) -> None:
        """A total that did not change is told again, and counts once."""
        stated, used = mapping(info.get("total_token_usage")), mapping(info.get("last_token_usage"))
        if not stated or stated == self.totals:
            return
        self.totals = stated
        self.usages.append(used)
        steps = self.turns.steps
        if steps and steps[-1].prompt_tokens is None:
            steps[-1].prompt_tokens = count(used.get("input_tokens"))
            steps[-1].completion_tokens = count(used.get("output_tokens"))


def _duration(value: Any) -> float | None:
    if isinstance(value, dict):
        seconds, nanoseconds = number(value.get("secs")), number(value.get("nanos"))
        return None if seconds is None else seconds + (nanoseconds or 0.0) / 1e9
    return number(value)


class Exec:
    """Reads the items of ``codex exec --json``, each with its result."""

    def __init__(self, trajectory: Trajectory) -> None:
        self.turns = Turns(trajectory)
        self._seen: dict[str, ToolCall] = {}
        self._open: Step | None = None

    def item(self, item: dict[str, Any], *, finished: bool) -> None:
        """One item; calls are taken when they start, and completed later."""
        kind, key = item.get("type"), word(item.get("id")) or ""
        if kind in ("agent_message", "reasoning"):
            if finished:
                self._said(str(kind), content_text(item.get("text")))
            return
        call = self._seen.get(key) or self._call(item, str(kind))
        if call is None:
            return
        if key:
            self._seen[key] = call
        if finished:
            self._settle(call, item)

    def _said(self, kind: str, said: str) -> None:
        step = self._turn(fresh=kind == "reasoning" or (self._open is not None and bool(self._open.calls)))
        if kind == "reasoning":
            step.reasoning = joined([step.reasoning, said])
        else:
            step.text = joined([step.text, said]) or ""

    def _turn(self, *, fresh: bool) -> Step:
        if self._open is None or (fresh and (self._open.calls or self._open.text)):
            self._open = self.turns.step()
        return self._open

    def _call(self, item: dict[str, Any], kind: str) -> ToolCall | None:
        if kind == "command_execution":
            call = ToolCall("shell", {"command": text(item.get("command"))}, text(item.get("command")))
        elif kind == "file_change":
            changes = mappings(item.get("changes"))
            call = ToolCall("apply_patch", {"files": [{"path": word(change.get("path"))} for change in changes]})
        elif kind == "mcp_tool_call":
            call = tool_call(f"mcp__{word(item.get('server'))}__{word(item.get('tool'))}", item.get("arguments"))
        elif kind == "web_search":
            call = ToolCall("web_search", {"query": text(item.get("query"))})
        elif kind == "todo_list":
            call = ToolCall("update_plan", {"plan": mappings(item.get("items"))})
        else:
            return None
        return self.turns.call(self._turn(fresh=False), call)

    def _settle(self, call: ToolCall, item: dict[str, Any]) -> None:
        status = item.get("status")
        call.executed = status != "declined"
        if call.executed:
            call.output = content_text(first(item.get("aggregated_output"), item.get("result"), item.get("error"), ""))
        else:
            call.invalid = "refused"
        call.exit_code = whole(item.get("exit_code"))
        call.is_error = True if status == "failed" else None
        self.turns.settle(call)
