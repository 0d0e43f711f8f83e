"""Chat messages of every spelling to steps: OpenAI, Anthropic blocks, Responses items, ShareGPT, calls in text."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from trajlab.behavior.tools import kind_of_tool, shell_text
from trajlab.formats._chat_text import AgentText, read_agent_text
from trajlab.records import Message, Step, ToolCall

AGENT_ROLES = frozenset({"assistant", "ai", "gpt", "model", "agent", "bot"})
TOOL_ROLES = frozenset({"tool", "function", "observation", "function_response", "ipython", "tool_response"})
_ROLES = {"human": "user", "developer": "system"}
_CALL_ITEMS = frozenset({"function_call", "custom_tool_call", "local_shell_call", "tool_call"})
_RESULT_ITEMS = frozenset({"function_call_output", "custom_tool_call_output", "local_shell_call_output"})
# The words scaffolds put before a tool's answer when they pass it as a user turn (SWE-agent, SWE-smith, OpenHands).
_RESULT_PREFIXES = (
    "OBSERVATION:",
    "Observation:",
    "EXECUTION RESULT of",
    "<tool_response>",
    "<function_results>",
)
_decode = msgspec.json.Decoder().decode


class _Shell(msgspec.Struct, gc=False):
    """Arguments of a shell."""

    command: str | None = None


_decode_shell = msgspec.json.Decoder(_Shell).decode
_UNDECODABLE = (msgspec.MsgspecError, UnicodeEncodeError, RecursionError)
_EXIT_CODE = re.compile(r"exit code:? (-?\d{1,5})\b", re.IGNORECASE)


class Function(msgspec.Struct, gc=False):
    """The function of an OpenAI tool call."""

    name: str | None = None
    arguments: str | dict[str, Any] | None = None


class NativeCall(msgspec.Struct, gc=False):
    """A tool call beside the content: OpenAI's, or LangChain's flat one."""

    id: str | None = None
    function: Function | None = None
    name: str | None = None
    arguments: str | dict[str, Any] | None = None
    args: dict[str, Any] | None = None


class Block(msgspec.Struct, gc=False):
    """One content part: text, thinking, tool_use, tool_result, input_text and the like."""

    type: str | None = None
    text: str | None = None
    thinking: str | None = None
    id: str | None = None
    name: str | None = None
    input: Any = None
    tool_use_id: str | None = None
    content: Any = None
    is_error: bool | None = None


class ChatMessage(msgspec.Struct, gc=False):
    """One message or Responses item, every spelling at once."""

    role: str | None = None
    content: str | list[Block] | None = None
    tool_calls: list[NativeCall] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    reasoning_content: str | None = None
    reasoning: str | None = None
    type: str | None = None
    call_id: str | None = None
    arguments: str | dict[str, Any] | None = None
    input: Any = None
    output: Any = None
    summary: Any = None
    sender: str | None = msgspec.field(name="from", default=None)
    value: str | None = None
    text: str | None = None
    system_prompt: str | None = None
    function_call: Function | None = None
    tool_call_ids: list[str] | None = None


def plain_text(content: Any) -> str:
    """Text of a content value of any form: string, blocks, objects, null."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "\n".join(filter(None, map(plain_text, content)))
    if isinstance(content, Block):
        return content.text or plain_text(content.content)
    if isinstance(content, dict):
        for key in ("text", "content", "output"):
            if key in content:
                return plain_text(content[key])
    return msgspec.json.encode(content).decode()


class Conversation:
    """Walks messages in order; ``messages`` and ``steps`` are what a trajectory needs.

    Args:
        parsed: Texts of the agent that a reader has parsed already; each is used up once.
    """

    def __init__(self, parsed: dict[str, AgentText] | None = None) -> None:
        self.messages: list[Message] = []
        self.steps: list[Step] = []
        self._open: dict[int, ToolCall] = {}
        self._by_id: dict[str, ToolCall] = {}
        self._item_step = False
        self._fenced = False  # the last call stood in a fence: the next user turn is what came back
        self._parsed = parsed or {}
        self._last_parsed: tuple[str, str | None] = ("", None)

    def fill(self, messages: list[ChatMessage]) -> None:
        """Take all messages; calls that nothing answered were not executed, in the last turn that is not known.

        What nobody could parse was executed in no turn.
        """
        by_id, waiting = self._by_id, self._open
        for message in messages:
            if message.type is None and message.content.__class__ is str:
                # What nearly all messages are: a role and a text, with or without tool calls.
                role = message.role
                if role == "tool" and (call := by_id.pop(message.tool_call_id, None)) is not None:  # type: ignore[arg-type]
                    waiting.pop(id(call), None)
                    _answer(call, message.content)
                    self._item_step = False
                    continue
                if role == "assistant" and message.tool_calls and message.reasoning is None:
                    self._plain_turn(message, message.tool_calls)
                    continue
            self._take(message)
        last = self.steps[-1].calls if self.steps else []
        for call in waiting.values():
            may_have_run = call.invalid is None and any(call is other for other in last)
            call.executed = None if may_have_run else False

    def unclosed(self, text: str) -> str | None:
        """The tag that is open when a text of the agent ends; that of the last turn is known already."""
        last, tag = self._last_parsed
        return tag if text and text == last else read_agent_text(text).unclosed

    def _take(self, message: ChatMessage) -> None:
        kind = message.type
        if kind in _CALL_ITEMS or kind == "reasoning":
            self._item(message)
            return
        if kind in _RESULT_ITEMS:
            self._result(plain_text(message.output), message.call_id)
            return
        role = message.role or message.sender or "user"
        if role in AGENT_ROLES:
            self._agent(message, merge=kind == "message")
            self._item_step = self._item_step or message.sender is not None
        elif role in TOOL_ROLES:
            call_id = message.tool_call_id or next(iter(message.tool_call_ids or ()), None)
            self._result(plain_text(_content(message)), call_id, name=message.name)
        elif role == "function_call":
            self._sharegpt_call(message.value or "")
        else:
            self._other(_ROLES.get(role, role), message)

    def _plain_turn(self, message: ChatMessage, calls: list[NativeCall]) -> None:
        step = Step(message.content, message.reasoning_content)  # type: ignore[arg-type]
        self.steps.append(step)
        self._item_step = False
        for native in calls:
            function = native.function
            if function is None:
                self._call(step, native.name, native.args or native.arguments, native.id)
            else:
                self._call(step, function.name, function.arguments, native.id)

    def _step(self, *, merge: bool) -> Step:
        """The turn an agent's message belongs to; Responses items between two answers are one turn."""
        if not (merge and self._item_step):
            self.steps.append(Step())
        self._item_step = merge
        return self.steps[-1]

    def _item(self, item: ChatMessage) -> None:
        step = self._step(merge=True)
        if item.type == "reasoning":
            thought = plain_text(item.summary) or plain_text(item.content)
            step.reasoning = f"{step.reasoning}\n{thought}" if step.reasoning else thought
            return
        arguments = item.arguments if item.arguments is not None else item.input
        self._call(step, item.name, arguments, item.call_id)

    def _agent(self, message: ChatMessage, *, merge: bool) -> None:
        step = self._step(merge=merge)
        content = _content(message)
        reasoning = message.reasoning_content or message.reasoning
        if isinstance(content, str):
            text = content
        else:
            text, thoughts = self._blocks(step, content or [])
            reasoning = reasoning or thoughts
        for native in message.tool_calls or ():
            function = native.function or Function(native.name, native.args or native.arguments)
            self._call(step, function.name, function.arguments, native.id)
        if message.function_call is not None:
            self._call(step, message.function_call.name, message.function_call.arguments, None)
        if not step.calls and ("<function=" in text or "<tool_call>" in text or "<think>" in text):
            parts = self._parsed.pop(text, None) or read_agent_text(text)
            self._last_parsed = text, parts.unclosed
            text, reasoning = parts.text, reasoning or parts.reasoning
            for call in parts.calls:
                self._add(step, call)
        elif not step.calls and message.role == "ai" and (action := _last_fenced(message.text)):
            # SWE-agent's turns in the data sets of nebius: the action is the last fenced block.
            self._add(step, ToolCall("bash", command=action))
            self._fenced = True
        step.text = f"{step.text}\n{text}" if step.text else text
        if reasoning:
            step.reasoning = f"{step.reasoning}\n{reasoning}" if step.reasoning else reasoning

    def _blocks(self, step: Step, blocks: list[Block]) -> tuple[str, str | None]:
        texts: list[str] = []
        thoughts: list[str] = []
        for block in blocks:
            if block.type == "tool_use":
                self._call(step, block.name, block.input, block.id)
            elif block.type in ("thinking", "reasoning"):
                thoughts.append(block.thinking or block.text or "")
            elif block.text:
                texts.append(block.text)
        return "\n".join(texts), "\n".join(thoughts) if thoughts else None

    def _call(self, step: Step, tool: str | None, arguments: Any, call_id: str | None) -> None:
        known, invalid, command = arguments, None, None
        if arguments.__class__ is str:
            if kind_of_tool(tool) == "shell":
                try:
                    command = _decode_shell(arguments).command
                except _UNDECODABLE:
                    command = None  # not as usual: they are looked at in full
            if command is None:
                try:
                    known = _decode(arguments)
                except _UNDECODABLE:
                    known, invalid = None, "unparsable"
        elif arguments is not None and arguments.__class__ is not dict:
            arguments, invalid = msgspec.json.encode(arguments).decode(), "unparsable"
        if tool and known.__class__ is dict:
            command = shell_text(tool, known)
        call = ToolCall(tool, arguments, command, call_id, None, None, None, None, invalid)
        step.calls.append(call)
        self._open[id(call)] = call
        if call_id is not None:
            self._by_id[call_id] = call

    def _add(self, step: Step, call: ToolCall) -> None:
        step.calls.append(call)
        self._open[id(call)] = call
        if call.call_id is not None:
            self._by_id[call.call_id] = call

    def _sharegpt_call(self, value: str) -> None:
        step = self._step(merge=True)
        try:
            call = msgspec.json.decode(value)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            call = None
        if isinstance(call, dict) and isinstance(call.get("name"), str):
            self._call(step, call["name"], call.get("arguments"), None)
        else:
            self._add(step, ToolCall(None, value, invalid="unparsable"))

    def _result(self, text: str, call_id: str | None, *, name: str | None = None, error: bool | None = None) -> None:
        self._item_step = False
        call = self._by_id.pop(call_id, None) if call_id is not None else None
        if call is None:
            waiting = self._open.values()
            call = next((c for c in waiting if name is None or c.tool == name), next(iter(waiting), None))
        if call is None:
            self.messages.append(Message("tool", text, len(self.steps) or None))
            return
        self._open.pop(id(call), None)
        _answer(call, text)
        call.is_error = error

    def _other(self, role: str, message: ChatMessage) -> None:
        content = _content(message)
        self._item_step = False
        if isinstance(content, list):
            results = [block for block in content if block.type == "tool_result"]
            for block in results:
                self._result(plain_text(block.content), block.tool_use_id, error=block.is_error)
            content = plain_text([block for block in content if block.type != "tool_result"])
            if results and not content:
                return
        text = content or message.system_prompt or ""
        if role == "user" and self._open and self._fenced:
            self._fenced = False
            self._result(text, None)
            return
        if role == "user" and self._open and text.lstrip().startswith(_RESULT_PREFIXES):
            self._result(text.lstrip().removeprefix("OBSERVATION:").lstrip("\n"), None)
            return
        self.messages.append(Message(role, text, len(self.steps) or None))


def _last_fenced(text: str | None) -> str | None:
    """What stands in the last pair of code fences."""
    if text is None:
        return None
    found: str | None = None
    start: int | None = None
    lines = text.split("\n")
    for at, line in enumerate(lines):
        if not line.startswith("```"):
            continue
        if start is None:
            start = at + 1
        elif not line[3:].strip():
            found, start = "\n".join(lines[start:at]).strip("\n"), None
    return found


def _answer(call: ToolCall, text: str) -> None:
    """Give a call what came back."""
    call.output, call.executed = text, True
    if call.command is not None and text.rfind("xit", -300) >= 0:
        call.exit_code = _exit_code(text)


def _exit_code(text: str) -> int | None:
    """The exit code some scaffolds write at the end of what came back."""
    tail = text[-300:]
    if "exit code" not in tail and "Exit" not in tail:
        return None
    found = _EXIT_CODE.search(tail)
    return int(found[1]) if found else None


def _content(message: ChatMessage) -> str | list[Block] | None:
    if message.content is not None:
        return message.content
    return message.value if message.value is not None else message.text
