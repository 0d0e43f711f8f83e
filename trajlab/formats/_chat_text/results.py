"""What tools gave back: the text of a tool turn -> outputs, and outputs -> the calls they answer."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trajlab.formats._chat_text.calls import read_agent_text
from trajlab.formats._chat_text.spellings import decode_json, gemma_object, without_edge_newlines
from trajlab.records import Step, ToolCall


class Results(msgspec.Struct, gc=False):
    """Outputs of one tool turn.

    Attributes:
        outputs: One text per answered call, in order.
        names: The tool each comes from, where the text names it.
        remainder: Text of the turn outside the outputs (words of a user, mostly).
        unclosed: The tag left open at the end, if one is.
    """

    outputs: list[str]
    names: list[str | None]
    remainder: str = ""
    unclosed: str | None = None


_PAIRS = (
    ("<tool_response>", "</tool_response>"),
    ("<|tool_response>", "<tool_response|>"),
    ("<｜tool▁output▁begin｜>", "<｜tool▁output▁end｜>"),
    ("<|tool_response_start|>", "<|tool_response_end|>"),
    ("<tool_output", "</tool_output>"),
    ("<response>", "</response>"),
)
_PARALLEL = "\n</tool_response>\n<tool_response>\n"


def read_results(body: str, name: str | None = None) -> Results:
    """Outputs in the text of a tool turn, in any spelling."""
    if body.startswith("<tool_response>\n") and body.endswith("\n</tool_response>"):
        inside = body[16:-17]
        outputs = inside.split(_PARALLEL)
        return Results(outputs, [name] * len(outputs))
    for opening, closing in _PAIRS:
        if opening in body:
            return _tagged(body, opening, closing, name)
    return Results([_unquoted(body.strip("\n"))], [name])


def _unquoted(text: str) -> str:
    """Llama 3 and gpt-oss write text results as JSON strings."""
    if len(text) > 1 and text[0] == '"' == text[-1]:
        try:
            value = decode_json(text)
        except ValueError:
            return text
        if isinstance(value, str):
            return value
    return text


def _tagged(body: str, opening: str, closing: str, name: str | None) -> Results:
    before, *pieces = body.split(opening)
    outside = [before]
    results = Results([], [])
    for piece in pieces:
        output, closed, after = piece.partition(closing)
        if opening == "<tool_output":
            attributes, _, output = output.partition(">")
            name = attributes.partition('"')[2].partition('"')[0] or name
        elif opening == "<|tool_response>":
            output, name = _gemma_output(output)
        results.names.append(name)
        results.outputs.append(without_edge_newlines(output))
        results.unclosed = None if closed else opening
        outside.append(after)
    results.remainder = "".join(outside).strip()
    return results


def _gemma_output(text: str) -> tuple[str, str | None]:
    """``response:NAME{value:<|"|>…<|"|>}``: the value, or the object as it stands."""
    name, brace, rest = text.removeprefix("response:").partition("{")
    value = gemma_object(brace + rest)
    if value is not None and len(value) == 1 and isinstance(value.get("value"), str):
        return value["value"], name
    return (brace + rest, name) if brace else (text, None)


_ERRORS = (
    "{'error':",
    '{"error":',
    "Error when executing tool",
    "Error executing tool",
    "Tool call failure",
    "Error:",
    "ERROR:",
    "Traceback (most recent call last)",
)
"""How outputs that are errors begin (TRL, verl and its forks, Python)."""
_UNKNOWN_WORDS = ("unknown function", "unknown tool", "no such tool", "no tool named", "tool does not exist")
_SUSPECT = (*_ERRORS, "Tool ")


def answer(call: ToolCall, output: str) -> None:
    """Record what came back for a call.

    ``executed`` says that a result came, whatever it says. A call that this reader could not take apart
    but that got a proper result is not invalid: the scaffold understood it.
    """
    call.output = output
    call.executed = True
    if not output.startswith(_SUSPECT):
        call.invalid = None
    elif output.startswith(_ERRORS):
        call.is_error = True
        if call.tool is not None and _unknown_tool(call.tool, output[:400]):
            call.invalid = "unknown_tool"
    elif call.tool is not None and output.startswith(f"Tool {call.tool} not found"):
        call.is_error = True
        call.invalid = "unknown_tool"
    else:
        call.invalid = None


def _unknown_tool(tool: str, output: str) -> bool:
    """TRL: ``Tool X not found``; verl looks the name up in a dict, so its error is the bare name; others say it."""
    bare_key = f"Error when executing tool: '{tool}'"
    if f"Tool {tool} not found" in output or output.rstrip().endswith(bare_key):
        return True
    said = output.lower()
    return tool.lower() in said and any(words in said for words in _UNKNOWN_WORDS)


def attach(step: Step, outputs: list[str], names: Sequence[str | None] = (), first: int = 0) -> None:
    """Give a step's results to its calls from number ``first`` on, in order.

    More outputs than calls: calls inside the reasoning were executed too (verl's parsers look there), else
    an output proves a call whose text the template dropped. Fewer: scaffolds skip calls they cannot parse,
    then those beyond their limit.
    """
    calls = step.calls[first:] if first else step.calls
    if len(outputs) > len(calls) and step.reasoning and not first:
        thought = read_agent_text(step.reasoning)
        if thought.calls:
            calls = step.calls = thought.calls + calls
            step.reasoning = thought.text
    for index in range(len(calls), len(outputs)):
        step.calls.append(ToolCall(names[index] if index < len(names) else None))
    calls = step.calls[first:]
    if len(outputs) < len(calls):
        valid = [call for call in calls if call.invalid is None]
        calls = valid if len(valid) >= len(outputs) else calls
    for call, output in zip(calls, outputs, strict=False):
        answer(call, output)
