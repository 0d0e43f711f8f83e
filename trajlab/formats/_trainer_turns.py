"""Turns of trainers' logs: chat messages of any quality, or flat text, to what a trajectory holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from trajlab.formats._chat_messages import AGENT_ROLES, ChatMessage, Conversation, Function, NativeCall, plain_text
from trajlab.formats._chat_text import (
    AgentText,
    parse_conversation,
    parse_prompt,
    parse_response,
    tools_in_prompt,
)
from trajlab.formats._chat_text.results import answer
from trajlab.formats._trainer_rows import Row, prompt_task
from trajlab.records import Message, Problem, Trajectory
from trajlab.sources.safe_json import clean_text, loads

RESTATED = "restated "
"""Before the role of an agent's or tool's message that a later context says once more: no turn, no result."""
_FIELDS = {field.encode_name: field.type for field in msgspec.structs.fields(ChatMessage)}


def chat_messages(values: Sequence[Any], row: Row, problems: list[Problem]) -> list[ChatMessage]:
    """Foreign messages, one by one; what has the wrong type is told, and the rest of the message stays."""
    try:
        return msgspec.convert(values, list[ChatMessage], strict=False)
    except (msgspec.ValidationError, RecursionError):
        pass
    found = []
    for number, value in enumerate(values):
        if not isinstance(value, dict):
            message = f"message {number} is no object but {type(value).__name__}; left out"
            problems.append(row.problem("wrong_type", message))
            continue
        try:
            found.append(msgspec.convert(value, ChatMessage, strict=False))
        except (msgspec.ValidationError, RecursionError) as error:
            problems.append(row.problem("wrong_type", f"message {number}: {error}; the rest of it is read"))
            found.append(_mended(value))
    return found


def _mended(value: dict[str, Any]) -> ChatMessage:
    message = ChatMessage()
    for name, inner in value.items():
        kind = _FIELDS.get(name)
        if kind is None:
            continue
        if name == "content":
            inner = _content(inner)
        elif name == "tool_calls" and isinstance(inner, list):
            message.tool_calls = [_call(item) for item in inner]
            continue
        try:
            setattr(message, "sender" if name == "from" else name, msgspec.convert(inner, kind, strict=False))
        except (msgspec.ValidationError, RecursionError):
            continue
    return message


def _content(value: object) -> object:
    """Content of any form as text, where it is not text or a list of parts."""
    if isinstance(value, list):
        parts = [item if isinstance(item, dict) else {"type": "text", "text": _text(item)} for item in value]
        try:
            msgspec.convert(parts, _FIELDS["content"], strict=False)
        except (msgspec.ValidationError, RecursionError):
            return _text(value)
        return parts
    return value if value is None else _text(value)


def _text(value: object) -> str:
    try:
        return plain_text(value)
    except (TypeError, ValueError, RecursionError):
        return str(type(value).__name__)


def _call(value: object) -> NativeCall:
    """A call of which something is readable; of the rest it stays known that there was one."""
    if not isinstance(value, dict):
        return NativeCall(arguments=_text(value))
    function = value.get("function")
    source = function if isinstance(function, dict) else value
    name, arguments = source.get("name"), source.get("arguments")
    if arguments is not None and not isinstance(arguments, (str, dict)):
        arguments = _text(arguments)
    call_id = value.get("id")
    known = Function(name if isinstance(name, str) else None, arguments)
    return NativeCall(call_id if isinstance(call_id, str) else None, known)


def prompt_messages(messages: Sequence[ChatMessage]) -> list[Message]:
    """Messages before the rollout; earlier turns of an agent or a tool are no steps of it."""
    roles = {"human": "user", "developer": "system"}
    found = []
    for message in messages:
        role = message.role or message.sender or "user"
        text = plain_text(message.content if message.content is not None else message.value or message.text)
        found.append(Message("assistant" if role in AGENT_ROLES else roles.get(role, role), text))
    return found


def fill_from_messages(
    trajectory: Trajectory,
    prompt: Sequence[ChatMessage],
    completion: Sequence[ChatMessage],
    *,
    told: bool = True,
    cut: bool = True,
    parsed: dict[str, AgentText] | None = None,
) -> None:
    """Take the turns of a rollout.

    Args:
        trajectory: Gets messages, steps, and ``truncated_budget`` where the last turn breaks off inside a tag.
        prompt: What stood before the rollout.
        completion: The rollout.
        told: How results begin tells errors and unknown tools, as in the flat text of trainers.
        cut: Whether to tell the end by the last turn's text.
        parsed: Texts of the agent that the reader has parsed already.
    """
    conversation = Conversation(parsed)
    conversation.fill(list(completion))
    for said in conversation.messages:
        said.role = said.role.removeprefix(RESTATED)
    trajectory.messages = prompt_messages(prompt) + conversation.messages
    trajectory.steps = conversation.steps
    if told:
        for step in trajectory.steps:
            for call in step.calls:
                if call.output is not None:
                    answer(call, call.output)
    last = completion[-1] if completion else None
    if cut and last is not None and last.role in AGENT_ROLES and isinstance(last.content, str):
        add_cut(trajectory, conversation.unclosed(last.content))


def add_cut(trajectory: Trajectory, tag: str | None) -> None:
    """The rollout breaks off inside a tag: its budget ended."""
    if tag is not None:
        trajectory.termination = "truncated_budget"
        trajectory.stop_reason = f"cut off inside {tag}"


def fill_from_text(trajectory: Trajectory, response: str, prompt: str | None) -> None:
    """Take the turns of a flat rollout; the prompt names the task where nothing else does."""
    conversation = parse_response(response, prompt)
    trajectory.messages = conversation.messages
    trajectory.steps = conversation.steps
    if prompt is not None:
        trajectory.messages = parse_prompt(prompt) + conversation.messages
        trajectory.task_id = trajectory.task_id or prompt_task(prompt)
        trajectory.tools_offered = tools_in_prompt(prompt)
    add_cut(trajectory, conversation.cut_off)


def fill_from_conversation(trajectory: Trajectory, text: str, prompt: str) -> None:
    """Take the turns of prompt and rollout in one text, special tokens kept; ``prompt`` is where tools are offered."""
    conversation = parse_conversation(text)
    trajectory.messages, trajectory.steps = conversation.messages, conversation.steps
    trajectory.tools_offered = tools_in_prompt(prompt)
    add_cut(trajectory, conversation.cut_off)
    if not trajectory.messages:  # the text starts inside a turn
        trajectory.messages = parse_prompt(prompt)


def tool_names(tools: Sequence[Any]) -> list[str]:
    """Names of the tools offered: OpenAI's form, flat ones, or JSON text of either."""
    names = []
    for tool in tools:
        if isinstance(tool, str):
            try:
                tool = loads(tool.encode("utf-8", "replace")).value
            except ValueError:
                continue
        if isinstance(tool, dict):
            function = tool.get("function")
            name = function.get("name") if isinstance(function, dict) else tool.get("name")
            if isinstance(name, str):
                names.append(clean_text(name))
    return names


def prompt_text(messages: Sequence[Message]) -> str:
    """The prompt as one text: what tells one task from another."""
    return "\0".join(message.text for message in messages if message.after_step is None)
