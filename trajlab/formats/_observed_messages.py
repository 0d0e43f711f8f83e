"""What an instrumented call of a model was given and gave back, in whichever spelling: OpenAI, Anthropic, LangChain."""

from __future__ import annotations

from typing import Any

import msgspec

from trajlab.formats._values import content_text, first, items, joined, json_text, mapping, mappings, text, word

_ROLES = {
    "human": "user", "ai": "assistant", "AIMessageChunk": "assistant", "model": "assistant", "developer": "system",
    "HumanMessage": "user", "AIMessage": "assistant", "SystemMessage": "system", "ToolMessage": "tool",
}  # fmt: skip
_CALL_BLOCKS = ("tool_use", "tool_call", "function_call")
_THOUGHTS = ("thinking", "reasoning", "redacted_thinking")
_LISTS = ("messages", "input", "prompt", "contents", "prompts")
"""Keys under which the arguments of a call hold its conversation."""
_PLAIN = frozenset({"role", "content", "name", "tool_calls", "tool_call_id", "finish_reason"})
"""What nearly all messages have, and nothing else."""
_DEEPEST = 8

Call = tuple[Any, Any, Any]
"""Name, arguments, id."""


class Said(msgspec.Struct):
    """One message."""

    role: str
    text: str = ""
    reasoning: str | None = None
    calls: list[Call] = []
    unparsable: list[Call] = []
    results: list[tuple[Any, str, bool | None]] = []
    """Id or name of the call, what came back, whether it is an error."""
    finish_reason: str | None = None
    usage: dict[str, Any] = {}
    model: str | None = None


Heard = list[tuple[dict[str, Any], Said]]
"""Messages as logged, and as read."""


def given_messages(value: Any, heard: Heard | None = None) -> list[Said]:
    """The conversation that a model was given; a plain text is the user's.

    Args:
        value: What it was called with, :func:`opened`.
        heard: The messages of the call before, which are not read again where they stand here, too; gets these.
    """
    if isinstance(value, str):
        return [Said("user", value)] if value else []
    system = content_text(mapping(value).get("system")) if isinstance(value, dict) else ""
    messages = _listed(value, 0)
    same = 0
    for (before, _), message in zip(heard or (), messages, strict=False):
        if before != message:
            break
        same += 1
    found = [*(said for _, said in (heard or [])[:same]), *map(_said, messages[same:])]
    if heard is not None:
        heard[:] = zip(messages, found, strict=True)
    return [Said("system", system), *found] if system else found


def given_tools(value: Any) -> list[str] | None:
    """Names of the tools that were offered with it, :func:`opened`."""
    tools = mappings(mapping(value).get("tools"))
    names = (word(first(tool.get("name"), mapping(tool.get("function")).get("name"))) for tool in tools)
    return [name for name in names if name] or None


def answer(value: Any) -> Said:
    """What the model gave back, several messages as one turn."""
    value = opened(value)
    if isinstance(value, str):
        return Said("assistant", value)
    turn = Said("assistant", calls=[], unparsable=[])
    for message in _answers(value):
        one = _said(message)
        turn.text = joined([turn.text, one.text]) or ""
        turn.reasoning = joined([turn.reasoning, one.reasoning])
        turn.calls += one.calls
        turn.unparsable += one.unparsable
        turn.finish_reason = first(turn.finish_reason, one.finish_reason)
        turn.usage, turn.model = turn.usage or one.usage, first(turn.model, one.model)
    if isinstance(value, dict):
        turn.usage = turn.usage or mapping(first(value.get("usage"), value.get("usage_metadata")))
        turn.model = first(turn.model, word(value.get("model")))
    return turn


def opened(value: Any) -> Any:
    """What an export holds: an object, where it holds the JSON text of one."""
    if isinstance(value, str) and value.lstrip()[:1] in ("{", "["):
        return first(json_text(value), value)
    return value


def _is_message(value: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if value.get("lc") == 1 and isinstance(value.get("kwargs"), dict):
        return True
    if isinstance(value.get("role"), str) or isinstance(value.get("data"), dict):
        return True
    return isinstance(value.get("type"), str) and bool({"content", "call_id", "summary"} & set(value))


def _listed(value: Any, depth: int) -> list[dict[str, Any]]:
    if _is_message(value):
        return [value]
    if depth > _DEEPEST:
        return []
    if isinstance(value, list):
        return [message for inner in value for message in _listed(opened(inner), depth + 1)]
    if isinstance(value, str):
        return [{"role": "user", "content": value}] if value else []
    for name in _LISTS:
        if isinstance(value, dict) and name in value and (found := _listed(opened(value[name]), depth + 1)):
            return found
    return []


def _answers(value: Any) -> list[dict[str, Any]]:
    """Messages of an answer: choices, generations, output items, or the message itself."""
    if isinstance(value, list):
        return [message for inner in value for message in _answers(opened(inner))]
    if not isinstance(value, dict):
        return [] if value is None else [{"role": "assistant", "content": value}]
    if choices := mappings(value.get("choices")):
        message = first(choices[0].get("message"), choices[0].get("delta"), choices[0].get("text"))
        said = message if isinstance(message, dict) else {"content": message}
        return [{**said, "finish_reason": choices[0].get("finish_reason")}]
    if generations := items(value.get("generations")):
        one = mapping(items(generations[0])[0] if items(generations[0]) else generations[0])
        info = mapping(one.get("generation_info"))
        said = mapping(one.get("message")) or {"role": "assistant", "content": one.get("text")}
        return [{**said, "finish_reason": info.get("finish_reason")}]
    if _is_message(value):
        return [value]
    for name in ("output", "message", "messages", "text", "content", "answer"):
        if value.get(name) is not None:
            return _answers(opened(value[name]))
    return [{"role": "assistant", "content": content_text(value)}] if value else []


def _said(message: dict[str, Any]) -> Said:
    content, role = message.get("content"), message.get("role")
    if isinstance(content, str) and isinstance(role, str) and role != "reasoning" and message.keys() <= _PLAIN:
        said = Said(_ROLES.get(role, role) or "user", content, calls=[], unparsable=[], results=[])
        if "tool_calls" in message:
            _calls(said, message)
        if said.role in ("tool", "function"):
            said.results.append((first(message.get("tool_call_id"), message.get("name")), content, None))
        said.finish_reason = word(message.get("finish_reason"))
        return said
    return _said_at_length(message)


def _said_at_length(message: dict[str, Any]) -> Said:
    fields, role = _plain(message)
    said = Said(_ROLES.get(role, role) or "user", calls=[], unparsable=[], results=[])
    content = fields.get("content")
    blocks = mappings(content)
    if text(fields.get("type")) in _CALL_BLOCKS or fields.get("type") == "function_call_output":
        blocks = [fields]
    for block in blocks:
        _block(said, block)
    if not blocks:
        said.text = content_text(first(content, fields.get("summary")))
    _calls(said, fields)
    extra, answered = mapping(fields.get("additional_kwargs")), mapping(fields.get("response_metadata"))
    said.reasoning = first(said.reasoning, text(fields.get("reasoning_content")), text(extra.get("reasoning_content")))
    if fields.get("type") == "reasoning" or role == "reasoning":
        said.role, said.reasoning, said.text = "assistant", said.text, ""
    if said.role in ("tool", "function"):
        failed = True if fields.get("status") == "error" else None
        said.results.append((first(fields.get("tool_call_id"), fields.get("name")), said.text, failed))
    finish = (fields.get("finish_reason"), message.get("finish_reason"), fields.get("stop_reason"),
              answered.get("finish_reason"), answered.get("stop_reason"))  # fmt: skip
    said.finish_reason = first(*map(word, finish))
    said.usage = mapping(fields.get("usage_metadata"))
    said.model = first(word(answered.get("model_name")), word(answered.get("model")))
    return said


def _plain(message: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """Fields and role of a message in any spelling."""
    if message.get("lc") == 1 and isinstance(message.get("kwargs"), dict):
        fields = message["kwargs"]
        named = str((items(message.get("id")) or [""])[-1])
        return fields, first(text(fields.get("role")), text(fields.get("type")), named)
    if isinstance(message.get("data"), dict):
        return message["data"], first(text(message.get("type")), text(message["data"].get("type"))) or ""
    kind = text(message.get("type")) or ""
    role = text(message.get("role"))
    if role is None and kind in (*_CALL_BLOCKS, "message", "output_text"):
        role = "assistant"
    if role is None and kind == "function_call_output":
        role = "user"
    return message, role or kind


def _block(said: Said, block: dict[str, Any]) -> None:
    kind = text(block.get("type")) or ""
    if kind in _CALL_BLOCKS:
        arguments = first(block.get("input"), block.get("arguments"), block.get("args"))
        said.calls.append((block.get("name"), arguments, first(block.get("call_id"), block.get("id"))))
    elif kind in ("tool_result", "function_call_output"):
        output = content_text(first(block.get("content"), block.get("output")))
        failed = True if block.get("is_error") is True else None
        said.results.append((first(block.get("tool_use_id"), block.get("call_id")), output, failed))
    elif kind in _THOUGHTS:
        thought = first(text(block.get("thinking")), text(block.get("reasoning")), text(block.get("text")))
        said.reasoning = joined([said.reasoning, thought])
    else:
        said.text = joined([said.text, content_text(block)]) or ""


def _calls(said: Said, fields: dict[str, Any]) -> None:
    """Calls beside the content; LangChain repeats those of the blocks there."""
    known = {word(call[2]) for call in said.calls}
    made = mappings(fields.get("tool_calls")) or mappings(mapping(fields.get("additional_kwargs")).get("tool_calls"))
    for call in made:
        function = mapping(call.get("function"))
        arguments = first(function.get("arguments"), call.get("args"), call.get("arguments"))
        one = (first(function.get("name"), call.get("name")), arguments, call.get("id"))
        if one[2] is None or word(one[2]) not in known:
            said.calls.append(one)
    if isinstance(old := fields.get("function_call"), dict):
        said.calls.append((old.get("name"), old.get("arguments"), None))
    for call in mappings(fields.get("invalid_tool_calls")):
        said.unparsable.append((call.get("name"), call.get("args"), call.get("id")))
