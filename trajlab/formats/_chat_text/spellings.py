"""One tool call in each spelling: the text between its markers -> ToolCall.

A call that cannot be taken apart keeps its text as ``arguments`` and is ``unparsable``.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from typing import Any

import msgspec

from trajlab.records import ToolCall

_MAX_PYTHONIC_CHARS = 100_000
"""The Python parser needs far more memory than text; longer calls stay text."""
_NAME_IN_JSON = re.compile(r'"name"\s{0,20}:\s{0,20}"([^"\\]{1,200})"')
_IDENTIFIER = re.compile(r"[\w.:/-]{1,200}")
_GEMMA_KEY = re.compile(r"([{,])\s*+([\w.$-]++)\s*+:")
_PYTHON_TAG_CALL = re.compile(r"([A-Za-z_]\w{0,100})\.call\(")


class JsonCall(msgspec.Struct):
    """The usual call: a name and an object of arguments."""

    name: str
    arguments: dict[str, Any]


decode_json_call = msgspec.json.Decoder(JsonCall).decode
_json_value = msgspec.json.Decoder().decode


def decode_json(text: str) -> Any:
    """A JSON value, as ``json.loads`` reads it (so ``NaN`` too); faster where the text is strict JSON.

    Raises:
        ValueError: The text is no JSON, or nested too deeply.
    """
    try:
        return _json_value(text)
    except (ValueError, RecursionError):
        try:
            return _without_surrogates(json.loads(text), text)
        except RecursionError:
            raise ValueError("JSON is nested too deeply") from None


def _without_surrogates(value: Any, text: str) -> Any:
    """Refuse strings that could not be written as UTF-8: the call stays text."""
    if "\\u" in text or not text.isascii():
        json.dumps(value, ensure_ascii=False).encode()  # UnicodeEncodeError is a ValueError
    return value


def unparsable(text: str) -> ToolCall:
    """A call too broken to take apart."""
    found = _NAME_IN_JSON.search(text)
    return ToolCall(found[1] if found else None, text.strip(), invalid="unparsable")


def json_call(text: str) -> ToolCall:
    """``{"name": …, "arguments": {…}}`` (Hermes, Qwen); ``parameters`` is Llama's word."""
    try:
        call = decode_json_call(text)
    except (ValueError, RecursionError):
        return _json_call_slowly(text)
    return ToolCall(call.name, call.arguments)


def _json_call_slowly(text: str) -> ToolCall:
    try:
        value = decode_json(text)
    except ValueError:
        return unparsable(text)
    return _call_of(value) or unparsable(text)


def _call_of(value: object) -> ToolCall | None:
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return None
    for key in ("arguments", "parameters"):
        if key in value:
            arguments = value[key]
            if isinstance(arguments, str):
                return ToolCall(value["name"], json_object(arguments) or arguments)
            if isinstance(arguments, dict):
                return ToolCall(value["name"], arguments)
    return None


def bare_json_call(text: str) -> ToolCall | None:
    """A whole message that is one JSON call and nothing else (Llama 3); ``None`` for any other text."""
    if not text.startswith("{") or '"name"' not in text:
        return None
    try:
        return _call_of(decode_json(text))
    except ValueError:
        return None


def json_object(text: str) -> dict[str, Any] | None:
    """The JSON object in ``text``, or ``None``."""
    try:
        value = decode_json(text)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def named_json_call(name: str, text: str, call_id: str | None = None) -> ToolCall:
    """A call whose name stands outside its JSON arguments."""
    arguments = json_object(text)
    if arguments is None:
        return ToolCall(name or None, text.strip(), call_id=call_id, invalid="unparsable")
    return ToolCall(name or None, arguments, call_id=call_id)


def plain_value(text: str) -> Any:
    """A value from a spelling that writes text bare and anything else as JSON."""
    try:
        return decode_json(text)
    except ValueError:
        return text


def tagged_calls(body: str) -> list[ToolCall]:
    """What stands in ``<tool_call>…</tool_call>``: JSON, XML or GLM."""
    if "<function=" in body:
        return function_calls(body)
    if "<arg_key>" in body:
        return [_glm_call(body)]
    text = body.strip()
    if text and _IDENTIFIER.fullmatch(text):
        return [ToolCall(text, text, invalid="unparsable")]
    return [json_call(body)]


def is_unfinished(body: str) -> bool:
    """Whether the text behind an open ``<tool_call>`` is the beginning of a call, but no whole one."""
    text = body.strip()
    if "<function=" in text:
        return not text.endswith("</function>")
    if "<arg_key>" in text:
        return not text.endswith("</arg_value>")
    if not text or _IDENTIFIER.fullmatch(text):
        return True
    try:
        decode_json_call(text)
    except (ValueError, RecursionError) as error:
        return "truncated" in str(error)  # msgspec's word for valid so far
    return False


def _glm_call(body: str) -> ToolCall:
    name, *pairs = body.split("<arg_key>")
    arguments: dict[str, Any] = {}
    for pair in pairs:
        key, _, rest = pair.partition("</arg_key>")
        before, opened, value = rest.partition("<arg_value>")
        value, closed, after = value.rpartition("</arg_value>")
        if not opened or not closed or before.strip() or after.strip():
            return ToolCall(name.strip() or None, body.strip(), invalid="unparsable")
        arguments[key.strip()] = plain_value(value.strip())
    if len(arguments) != len(pairs):  # a key stands twice
        return ToolCall(name.strip() or None, body.strip(), invalid="unparsable")
    return ToolCall(name.strip() or None, arguments)


def function_calls(body: str) -> list[ToolCall]:
    """``<function=N><parameter=K>V</parameter></function>``, one or several.

    Values stay text: the spelling does not say their types.
    """
    calls: list[ToolCall] = []
    position = 0
    while (start := body.find("<function=", position)) >= 0:
        if body[position:start].strip():
            return [_unparsable_function(body)]
        end = function_end(body, start)
        calls.append(_function_call(body[start:] if end < 0 else body[start : end - len("</function>")]))
        position = len(body) if end < 0 else end
    if body[position:].strip():
        return [_unparsable_function(body)]
    return calls


def function_end(text: str, start: int) -> int:
    """End of the ``<function=…`` block at ``start``, or -1; a closing tag inside a parameter ends nothing."""
    position = start
    end = text.find("</function>", start)
    while end >= 0:
        opened = text.find("<parameter=", position, end)
        if opened < 0:
            return end + len("</function>")
        closed = text.find("</parameter>", opened)
        if closed < 0:
            return end + len("</function>")
        position = closed
        if closed > end:
            end = text.find("</function>", closed)
    return -1


def _unparsable_function(body: str) -> ToolCall:
    name = body.partition("<function=")[2].partition(">")[0].strip()
    return ToolCall(name[:200] or None, body.strip(), invalid="unparsable")


def _function_call(block: str) -> ToolCall:
    head, *pieces = block.split("<parameter=")
    name, closed, between = head.removeprefix("<function=").partition(">")
    arguments: dict[str, Any] = {}
    for piece in pieces:
        key, _, value = piece.partition(">")
        inside, ended, after = value.rpartition("</parameter>")
        between += after if ended else ""
        arguments[key.strip()] = without_edge_newlines(inside if ended else value)
    if not closed or not name.strip() or between.strip() or len(arguments) != len(pieces):
        return _unparsable_function(block)
    return ToolCall(name.strip(), arguments)


def without_edge_newlines(text: str) -> str:
    """Without the one newline that templates put before and after a value."""
    return text.removeprefix("\n").removesuffix("\n")


def invoke_calls(body: str, prefix: str) -> list[ToolCall]:
    """``<invoke name="N"><parameter name="K">V</parameter></invoke>`` with the tags' ``prefix``."""
    before, *blocks = body.split(f"<{prefix}invoke name=")
    calls = [_invoke_call(block, prefix) for block in blocks]
    if before.strip() or not calls or None in calls:
        return [unparsable(body)]
    return [call for call in calls if call is not None]


def _invoke_call(block: str, prefix: str) -> ToolCall | None:
    block, _, after = block.partition(f"</{prefix}invoke>")
    head, *pieces = block.split(f"<{prefix}parameter name=")
    name, closed, between = head.partition(">")
    between += after
    arguments: dict[str, Any] = {}
    for piece in pieces:
        attributes, _, value = piece.partition(">")
        key, _, kind = attributes.lstrip('"').partition('"')
        inside, ended, rest = value.rpartition(f"</{prefix}parameter>")
        value = inside if ended else value
        between += rest if ended else ""
        literal = 'string="true"' in kind
        arguments[key] = value if literal else plain_value(value)
    if not closed or between.strip() or len(arguments) != len(pieces):
        return None
    return ToolCall(name.strip('" '), arguments)


def deepseek_calls(body: str) -> list[ToolCall]:
    """V3: ``function<｜tool▁sep｜>NAME``, then fenced JSON; V3.1: ``NAME<｜tool▁sep｜>{…}``."""
    head, _, rest = body.partition("<｜tool▁sep｜>")
    if "```" not in rest:
        return [named_json_call(head.strip(), rest)]
    name, _, fenced = rest.partition("\n")
    text = fenced.strip().removeprefix("```json").removeprefix("```").removesuffix("```")
    return [named_json_call(name.strip(), text)]


def kimi_calls(body: str) -> list[ToolCall]:
    """``functions.NAME:INDEX<|tool_call_argument_begin|>{…}``."""
    identity, _, text = body.partition("<|tool_call_argument_begin|>")
    identity = identity.strip()
    name = identity.removeprefix("functions.").rpartition(":")[0] or identity
    return [named_json_call(name, text, identity or None)]


def gemma_calls(body: str) -> list[ToolCall]:
    """Gemma 4: ``call:NAME{key:<|"|>text<|"|>,key:2}``."""
    name, brace, rest = body.strip().removeprefix("call:").partition("{")
    arguments = gemma_object(brace + rest)
    if arguments is None:
        return [ToolCall(name.strip()[:200] or None, brace + rest, invalid="unparsable")]
    return [ToolCall(name.strip() or None, arguments)]


def gemma_object(text: str) -> dict[str, Any] | None:
    """An object in Gemma's own notation: bare keys, strings between ``<|"|>``."""
    pieces = text.split('<|"|>')
    for index, piece in enumerate(pieces):
        pieces[index] = json.dumps(piece) if index % 2 else _GEMMA_KEY.sub(r'\1"\2":', piece)
    return json_object("".join(pieces))


def pythonic_calls(body: str) -> list[ToolCall]:
    """LFM2: ``[f(a='x', b=2), g()]``; parsed as Python, never run."""
    text = body.strip()
    if len(text) <= _MAX_PYTHONIC_CHARS:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # "\d" in foreign text is not ours to complain about
                tree = ast.parse(text, mode="eval").body
            nodes = tree.elts if isinstance(tree, ast.List) else [tree]
            return [_pythonic_call(node) for node in nodes]
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            pass  # not Python: the call stays text
    return [unparsable(text)]


def _pythonic_call(node: ast.expr) -> ToolCall:
    if not isinstance(node, ast.Call) or node.args or any(word.arg is None for word in node.keywords):
        raise ValueError("not a call with keyword arguments only")
    arguments = {word.arg or "": ast.literal_eval(word.value) for word in node.keywords}
    json.dumps(arguments, ensure_ascii=False).encode()  # bytes, sets: TypeError below; surrogates
    return ToolCall(ast.unparse(node.func), arguments)


def python_tag_calls(body: str) -> list[ToolCall]:
    """Llama 3 behind ``<|python_tag|>``: a JSON call, ``TOOL.call(…)``, or code for the interpreter."""
    text = body.strip()
    call = bare_json_call(text)
    if call is None:
        found = _PYTHON_TAG_CALL.match(text)
        call = ToolCall(found[1] if found else "python", text)
    return [call]
