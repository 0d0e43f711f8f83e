"""One message of the agent: what it said, what it thought, which tools it called."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import msgspec

from trajlab.formats._chat_text import spellings
from trajlab.records import ToolCall


class AgentText(msgspec.Struct, gc=False):
    """One message of the agent taken apart.

    Attributes:
        text: Visible text: without reasoning and calls, stripped.
        reasoning: Reasoning; ``""`` where its tags stand empty, ``None`` where there are none.
        calls: In the order of the text.
        unclosed: The tag that is open when the message ends, if one is and the text in it is unfinished: a
            whole call, or words, behind a forgotten closing tag prove no cut.
    """

    text: str
    reasoning: str | None = None
    calls: list[ToolCall] = msgspec.field(default_factory=list)
    unclosed: str | None = None


_Reader = Callable[[str], list[ToolCall]]
_BLOCKS: dict[str, tuple[str, _Reader]] = {
    "<tool_call>": ("</tool_call>", spellings.tagged_calls),
    "<function=": ("</function>", spellings.function_calls),
    "<seed:tool_call>": ("</seed:tool_call>", spellings.function_calls),
    "<minimax:tool_call>": ("</minimax:tool_call>", partial(spellings.invoke_calls, prefix="")),
    "<function_calls>": ("</function_calls>", partial(spellings.invoke_calls, prefix="")),
    "<atem:function_calls>": ("</atem:function_calls>", partial(spellings.invoke_calls, prefix="atem:")),
    "<｜DSML｜function_calls>": (
        "</｜DSML｜function_calls>",
        partial(spellings.invoke_calls, prefix="｜DSML｜"),
    ),
    "<｜DSML｜tool_calls>": ("</｜DSML｜tool_calls>", partial(spellings.invoke_calls, prefix="｜DSML｜")),
    "<｜tool▁call▁begin｜>": ("<｜tool▁call▁end｜>", spellings.deepseek_calls),
    "<|tool_call_begin|>": ("<|tool_call_end|>", spellings.kimi_calls),
    "<|tool_call>": ("<tool_call|>", spellings.gemma_calls),
    "<|tool_call_start|>": ("<|tool_call_end|>", spellings.pythonic_calls),
    "<|python_tag|>": ("", spellings.python_tag_calls),
}
"""Opening marker -> closing marker, reader of what stands between."""

_TO_THE_END = "<|python_tag|>"
"""This marker has no closing one: the call ends with the message."""
_OPENING = re.compile("|".join(re.escape(opening) for opening in _BLOCKS))
_WRAPPERS = (
    "<｜tool▁calls▁begin｜>",
    "<｜tool▁calls▁end｜>",
    "<|tool_calls_section_begin|>",
    "<|tool_calls_section_end|>",
)


def calls_in_text(text: str) -> tuple[str, str | None, list[ToolCall]]:
    """(visible text, reasoning, calls) of one message of the agent, in any spelling.

    Whether a call was executed stays ``None``: other messages tell.
    """
    parts = read_agent_text(text)
    return parts.text, parts.reasoning, parts.calls


def read_agent_text(text: str, *, in_reasoning: bool = False) -> AgentText:
    """Take one message of the agent apart.

    Args:
        text: The message, without its role header.
        in_reasoning: The prompt ended inside ``<think>``, so the text starts there.
    """
    reasoning = unclosed = None
    if in_reasoning or "think>" in text:
        text, reasoning, unclosed = _first_reasoning(text, in_reasoning)
    visible, calls, open_block = _visible_and_calls(text)
    if "think>" in visible:
        visible, thoughts, open_thought = _further_reasoning(visible)
        if thoughts:
            reasoning = "\n".join(filter(None, (reasoning, *thoughts)))
        if open_thought and not calls:
            unclosed = "<think>"
    return AgentText(visible, reasoning, calls, open_block or unclosed)


def _first_reasoning(text: str, in_reasoning: bool) -> tuple[str, str | None, str | None]:
    """(the rest, reasoning, tag left open) for reasoning that begins before any call.

    A closing tag without an opening one ends reasoning that the prompt began. Reasoning that nobody
    closed ends at the next call: models go on to call from inside their thoughts.
    """
    opened = text.find("<think>")
    closed = text.find("</think>")
    begun = in_reasoning or opened < 0 or 0 <= closed < opened
    if begun and in_reasoning and opened >= 0 and not text[:opened].strip():
        begun = False  # the template's own tag, repeated by the model
    first = closed if begun else opened
    if not in_reasoning and (first < 0 or _OPENING.search(text, 0, first)):
        return text, None, None
    before, start = ("", 0) if begun else (text[:opened], opened + len("<think>"))
    closed = text.find("</think>", start)
    if closed >= 0:
        return before + text[closed + len("</think>") :], text[start:closed].strip(), None
    found = _OPENING.search(text, start)
    if found is None:
        return before, text[start:].strip(), "<think>"
    return before + text[found.start() :], text[start : found.start()].strip(), None


def _further_reasoning(text: str) -> tuple[str, list[str], bool]:
    """(the rest, thoughts, whether the last is open) for reasoning outside calls, behind the first."""
    before, *pieces = text.split("<think>")
    visible = [before]
    thoughts = []
    is_open = False
    for piece in pieces:
        thought, closed, after = piece.partition("</think>")
        thoughts.append(thought.strip())
        visible.append(after)
        is_open = not closed
    return "".join(visible).strip(), thoughts, is_open


def _visible_and_calls(text: str) -> tuple[str, list[ToolCall], str | None]:
    """(visible text, calls, marker left open) of a message whose reasoning was taken out."""
    opening = text.find("<tool_call>")
    if opening >= 0:
        return _blocks(text, opening, "<tool_call>")
    if "<" in text:
        found = _OPENING.search(text)
        if found:
            visible, calls, open_block = _blocks(text, found.start(), found[0])
            for wrapper in _WRAPPERS:
                visible = visible.replace(wrapper, "")
            return visible.strip(), calls, open_block
        if "</tool_call>" in text:
            pieces: list[str] = []
            calls = []
            _stray_close(text, pieces, calls)
            return "".join(pieces).strip(), calls, None
    text = text.strip()
    call = spellings.bare_json_call(text)
    return (text, [], None) if call is None else ("", [call], None)


def _blocks(text: str, start: int, opening: str) -> tuple[str, list[ToolCall], str | None]:
    """(visible text, calls, marker left open): all blocks of one spelling, the first at ``start``.

    A block ends at the first closing marker even if another opens before: so do the trainers' parsers.
    """
    closing, read = _BLOCKS[opening]
    pieces: list[str] = []
    calls: list[ToolCall] = []
    position = 0
    while start >= 0:
        before = text[position:start]
        if before and "</tool_call>" in before:
            _stray_close(before, pieces, calls)
        else:
            pieces.append(before)
        inside = start if opening == "<function=" else start + len(opening)
        end = _block_end(text, inside, opening, closing)
        if end < 0:
            if opening == _TO_THE_END:
                calls += read(text[inside:])
                return "".join(pieces).strip(), calls, None
            for call in read(text[inside:]):  # cut short, unless a result shows otherwise
                call.invalid = "unparsable"
                calls.append(call)
            cut = opening != "<tool_call>" or spellings.is_unfinished(text[inside:])
            return "".join(pieces).strip(), calls, opening if cut else None
        position = end + len(closing)
        calls += read(text[inside : position if opening == "<function=" else end])
        start = text.find(opening, position)
    _stray_close(text[position:], pieces, calls)
    return "".join(pieces).strip(), calls, None


def _block_end(text: str, inside: int, opening: str, closing: str) -> int:
    """Where the closing marker of the block stands, or -1."""
    if opening == _TO_THE_END:
        return -1
    if opening == "<function=":
        end = spellings.function_end(text, inside)
        return end if end < 0 else end - len(closing)
    end = text.find(closing, inside)
    if "<function=" in text[inside : inside + 20]:
        function = spellings.function_end(text, text.find("<function=", inside))
        if function > end >= 0:  # the marker stands inside a parameter's value
            return text.find(closing, function)
    return end


def _stray_close(text: str, pieces: list[str], calls: list[ToolCall]) -> None:
    """Text outside blocks; ``{"name": …}</tool_call>`` in it is a call that lacks its opening tag."""
    position = 0
    while (closed := text.find("</tool_call>", position)) >= 0:
        opened = text.find('{"name"', position, closed)
        if opened >= 0:
            pieces.append(text[position:opened])
            calls.append(spellings.unparsable(text[opened:closed]))
            position = closed + len("</tool_call>")
        else:
            pieces.append(text[position : closed + len("</tool_call>")])
            position = closed + len("</tool_call>")
    pieces.append(text[position:])
