"""The document mini-swe-agent writes, as far as we read it: unknown keys are skipped."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from trajlab.records import Problem
from trajlab.sources.safe_json import loads

FENCE = re.compile(r"```(?:mswea_bash_command|bash)[ \t]*\n(.*?)\n```", re.DOTALL)
"""A command in an agent's text."""
RETURN_CODE = re.compile(
    r"\A\s*(?:<exception>.*?</exception>\s*)?<returncode>\s*(-?\d{1,18})\s*</returncode>", re.DOTALL
)
"""How the scaffold's answer begins."""


class PromptDetails(msgspec.Struct):
    cached_tokens: int | None = None


class CompletionDetails(msgspec.Struct):
    reasoning_tokens: int | None = None


class Usage(msgspec.Struct):
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    prompt_tokens_details: PromptDetails | None = None
    completion_tokens_details: CompletionDetails | None = None
    cost: float | None = None


class ChoiceMessage(msgspec.Struct):
    reasoning: str | None = None
    reasoning_content: str | None = None


class Choice(msgspec.Struct):
    message: ChoiceMessage | None = None
    finish_reason: str | None = None


class Response(msgspec.Struct):
    usage: Usage | None = None
    created: float | None = None
    choices: list[Choice] | None = None


class Action(msgspec.Struct):
    command: str = ""
    tool_call_id: str | None = None


class Extra(msgspec.Struct):
    response: Response | None = None
    actions: list[Action] | None = None
    cost: float | None = None
    timestamp: float | None = None
    returncode: int | None = None
    raw_output: str | None = None
    exception_info: str | None = None
    exception_type: str | None = None
    interrupt_type: str | None = None
    model_response: Any = None
    exit_status: str | None = None
    submission: str | None = None


class Part(msgspec.Struct):
    type: str | None = None
    text: str | None = None
    content: Any = None
    summary: Any = None


class Function(msgspec.Struct):
    name: str | None = None
    arguments: Any = None


class NativeCall(msgspec.Struct):
    id: str | None = None
    function: Function | None = None


class Message(msgspec.Struct):
    role: str | None = None
    content: str | list[Part] | None = None
    extra: Extra | None = None
    type: str | None = None
    object: str | None = None
    output: str | list[Part] | None = None
    call_id: str | None = None
    tool_call_id: str | None = None
    tool_calls: list[NativeCall] | None = None
    reasoning_content: str | None = None
    timestamp: float | None = None


class Stats(msgspec.Struct):
    instance_cost: float | None = None
    api_calls: int | None = None


class Info(msgspec.Struct):
    exit_status: str | None = None
    submission: str | None = None
    model_stats: Stats | None = None
    mini_version: str | None = None
    config: msgspec.Raw | None = None
    traceback: str | None = None


class Document(msgspec.Struct):
    messages: list[Message]
    info: Info | None = None
    trajectory_format: str | None = None
    instance_id: str | None = None


_decode_document = msgspec.json.Decoder(Document).decode
_decode_list = msgspec.json.Decoder(list[Message]).decode


def parse(data: bytes, variant: str, problems: list[Problem]) -> Document:
    """Decode a document; what had to be cleaned is added to ``problems``; raises where nothing can be done."""
    try:
        if variant == "list":
            return Document(_decode_list(data))
        return _decode_document(data)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        loaded = loads(data)
    if loaded.fixes:
        problems.append(Problem("cleaned", ", ".join(loaded.fixes)))
    if variant == "list":
        return Document(msgspec.convert(loaded.value, list[Message], strict=False))
    value = loaded.value
    info = value.get("info") if isinstance(value, dict) else None
    config = info.pop("config", None) if isinstance(info, dict) else None
    parsed = msgspec.convert(value, Document, strict=False)
    if parsed.info is not None and config is not None:
        parsed.info.config = msgspec.Raw(msgspec.json.encode(config))
    return parsed


def output_of(text: str) -> str:
    """What stands between the scaffold's ``<output>`` tags, or all of it where a template has none."""
    start = text.find("<output>")
    if start < 0:
        return text.strip("\n")
    end = text.rfind("</output>")
    return text[start + len("<output>") : end if end > start else len(text)].strip("\n")
