r"""Turns in text whose special tokens were dropped (``skip_special_tokens=True``): what verl dumps.

The markers are gone and only role words remain, so a turn needs evidence. In this order:

1. A ``<tool_response>`` right after a line ``user`` or ``tool``, or right after a call's closing tag, opens a
   tool turn; it lasts to the line ``assistant`` behind its last ``</tool_response>``.
2. A line ``tool`` or ``user`` right after a call's closing tag opens a turn (old SGLang rollouts).
3. Any other line ``user`` or ``tool`` opens a turn only if a line ``assistant`` follows later, both stand
   outside ``<think>``, ``<tool_call>`` and fenced code, and the prompt itself has role lines.

A line that is just ``user`` in an answer is therefore text. Llama 3 glues the role word to the text
before it (``…}ipython\n\n"4"assistant\n\n``), gpt-oss glues channel names too.
"""

from __future__ import annotations

import re
from bisect import bisect_right

from trajlab.formats._chat_text.turns import Turn, channel_turn

_OPEN = "<tool_response>"
_CLOSE = "</tool_response>"
_ASSISTANT = "\nassistant\n"
_CALL_ENDS = ("</tool_call>", "<|tool_call_end|>", "<tool_call|>", "</seed:tool_call>", "</function>")
_ROLE_LINE = re.compile(r"\n(user|tool|assistant)(?=\n)")
_PROTECTION = re.compile(r"<tool_call>|</tool_call>|<think>|</think>|```")
_PROTECTED_BY = {"<tool_call>": "</tool_call>", "<think>": "</think>", "```": "```"}


def split_role_lines(text: str, *, weak: bool = True) -> list[Turn]:
    """Turns of a response; the first is the assistant's.

    Args:
        text: The response.
        weak: Accept evidence of the third kind.
    """
    start = len("assistant\n") if text.startswith("assistant\n") else 0  # old SGLang repeats the header
    turns: list[Turn] = []
    doubtful = "\ntool\n" in text or (weak and _ASSISTANT in text)
    position = start
    while (found := text.find(_OPEN, position)) >= 0:
        end, headed = _tool_head(text, start, found)
        if end < 0:
            position = found + 1
            continue
        _add_assistant(turns, text[start:end], doubtful, weak)
        body_end, start = _tool_end(text, found, headed)
        turns.append(Turn("tool", text[found:body_end]))
        position = start
    if start < len(text) or not turns:
        _add_assistant(turns, text[start:] if start else text, doubtful, weak)
    return turns


def _tool_head(text: str, start: int, found: int) -> tuple[int, bool]:
    """(end of the assistant's text, whether a role line stands between); -1 where it is no tool turn."""
    if found - 6 >= start and text.startswith(("\nuser\n", "\ntool\n"), found - 6):
        return found - 6, True
    if text[max(start, found - 40) : found].rstrip().endswith(_CALL_ENDS):
        return found, False
    return -1, False


def _tool_end(text: str, found: int, headed: bool) -> tuple[int, int]:
    """(end of the tool turn, start of the next assistant turn) for the block at ``found``."""
    end = found
    while True:
        closed = text.find(_CLOSE, end)
        if closed < 0:
            return len(text), len(text)
        end = closed + len(_CLOSE)
        if text.startswith(_ASSISTANT, end):
            return end, end + len(_ASSISTANT)
        if text.startswith("\n" + _OPEN, end):
            end += 1
        elif not text.startswith(_OPEN, end):
            break
    if not headed:
        return end, end
    following = text.find(_ASSISTANT, end)
    return (following, following + len(_ASSISTANT)) if following >= 0 else (len(text), len(text))


def _add_assistant(turns: list[Turn], body: str, doubtful: bool, weak: bool) -> None:
    if doubtful and ("\ntool\n" in body or _ASSISTANT in body):
        turns += _split_doubtful(body, weak)
    else:
        if body.endswith(("</tool_call>\nuser", "</tool_call>\nuser\n")):  # cut before the tool's answer
            body = body[: body.rindex("\nuser")]
        turns.append(Turn("assistant", body))


def _split_doubtful(text: str, weak: bool) -> list[Turn]:
    lines = list(_ROLE_LINE.finditer(text))
    if weak:
        spans = _protected_spans(text)
        lines = [found for found in lines if not _inside(spans, found.start())]
    last_assistant = max((found.start() for found in lines if found[1] == "assistant"), default=-1)
    turns: list[Turn] = []
    role, start = "assistant", 0
    for found in lines:
        at, word = found.start(), found[1]
        if role == "assistant":
            after_call = text[max(start, at - 40) : at].rstrip().endswith(_CALL_ENDS)
            accepted = word != "assistant" and (after_call or (weak and at < last_assistant))
        else:
            accepted = word == "assistant" or word == role == "tool"
        if accepted:
            turns.append(Turn(role, text[start:at]))
            role, start = word, found.end() + 1
    turns.append(Turn(role, text[start:]))
    return turns


def _protected_spans(text: str) -> list[tuple[int, int]]:
    """Closed ``<think>``, ``<tool_call>`` and fenced stretches."""
    spans: list[tuple[int, int]] = []
    start, closing = 0, None
    for found in _PROTECTION.finditer(text):
        if closing is None:
            closing = _PROTECTED_BY.get(found[0])
            start = found.start()
        elif found[0] == closing:
            spans.append((start, found.end()))
            closing = None
    return spans


def _inside(spans: list[tuple[int, int]], position: int) -> bool:
    index = bisect_right(spans, (position, 1 << 62)) - 1
    return index >= 0 and position < spans[index][1]


_GLUED_ROLE = re.compile(r"(ipython|tool|user|assistant)\n\n")


def is_glued(text: str) -> bool:
    """Whether a response is Llama 3's with the special tokens dropped: a call, then ``ipython``."""
    return "}ipython\n\n" in text or ")ipython\n\n" in text


def split_glued(text: str) -> list[Turn]:
    """Turns of a Llama 3 response; the first is the assistant's.

    ``user`` opens a turn only behind something that is neither letter nor white space, with an
    ``assistant`` after it.
    """
    text = text.removeprefix("assistant\n\n")
    last_assistant = text.rfind("assistant\n\n")
    turns: list[Turn] = []
    role, start = "assistant", 0
    for found in _GLUED_ROLE.finditer(text):
        at, word = found.start(), found[1]
        before = text[at - 1 : at] if at > start else ""
        if role == "assistant":
            called = before in ("}", ")") and word in ("ipython", "tool")
            spoken = word == "user" and at < last_assistant and not (before.isalpha() or before.isspace())
            accepted = called or spoken
        else:
            accepted = word == "assistant" or (role == "tool" and word in ("ipython", "tool"))
        if accepted:
            turns.append(Turn(role, text[start:at]))
            role, start = "tool" if word == "ipython" else word, found.end()
    turns.append(Turn(role, text[start:]))
    return turns


_CHANNEL_HEADER = re.compile(
    r"assistant(?P<channel>analysis|commentary|final)(?: to=(?P<late>[\w.-]{1,64}) (?:json|code)?)?"
    r"|assistant to=(?P<early>[\w.-]{1,64}?)commentary(?: ?json)?"
    r"|(?P<tool>functions\.[\w.-]{1,64}) to=assistant(?:commentary)?"
)
_FIRST_CHANNEL = re.compile(r"(?:analysis|commentary|final)(?! )")


def is_channelled(text: str, prompt: str | None) -> bool:
    """Whether a response is gpt-oss' with the special tokens dropped."""
    if not text.startswith(("analysis", "commentary", "final", " to=functions.")):
        return False
    if prompt is not None and prompt.startswith("system") and prompt.endswith("assistant"):
        return True
    return _CHANNEL_HEADER.search(text) is not None


def split_channelled(text: str) -> list[Turn]:
    """Turns of a gpt-oss response with the special tokens dropped."""
    text = "assistant" + text
    headers = list(_CHANNEL_HEADER.finditer(text))
    turns: list[Turn] = []
    if not headers or headers[0].start() > 0:
        end = headers[0].start() if headers else len(text)
        turns.append(Turn("assistant", text[len("assistant") : end]))
    for found, following in zip(headers, [*headers[1:], None], strict=False):
        body = text[found.end() : following.start() if following else len(text)]
        recipient = found["late"] or found["early"]
        header = f"assistant {found['channel'] or 'commentary'}"
        if found["tool"]:
            header = f"{found['tool']} to=assistant"
        elif recipient:
            header += f" to={recipient}"
        turns.append(channel_turn(header, body))
    return turns
