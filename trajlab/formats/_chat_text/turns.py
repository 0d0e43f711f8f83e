"""Turns in text whose special tokens were kept: role markers are there, so nothing is guessed."""

from __future__ import annotations

import re

import msgspec


class Turn(msgspec.Struct, gc=False):
    """One stretch of text by one speaker.

    Attributes:
        role: ``assistant``, ``user``, ``system``, ``tool`` or what else the header says.
        body: Text without header and end markers.
        channel: gpt-oss: ``analysis``, ``commentary`` or ``final``.
        name: Recipient of an assistant's turn (``functions.N``), or the tool that answers.
        joined: Belongs to the agent's turn before it, where that is one (gpt-oss writes one turn as
            several messages).
    """

    role: str
    body: str
    channel: str | None = None
    name: str | None = None
    joined: bool = False


class _Family(msgspec.Struct, frozen=True):
    opening: re.Pattern[str]
    header_end: str


_MARKED: tuple[tuple[str, _Family], ...] = (
    ("<|im_start|>", _Family(re.compile(r"<\|im_start\|>"), "\n")),
    ("<|start_header_id|>", _Family(re.compile(r"<\|start_header_id\|>"), "<|end_header_id|>")),
    ("<|message|>", _Family(re.compile(r"<\|start\|>"), "<|message|>")),
    ("<|turn>", _Family(re.compile(r"<\|turn>"), "\n")),
    ("<start_of_turn>", _Family(re.compile(r"<start_of_turn>"), "\n")),
    ("<|im_middle|>", _Family(re.compile(r"<\|im_(?:system|user|assistant)\|>"), "<|im_middle|>")),
    ("]~b]", _Family(re.compile(r"\]~b\]"), "\n")),
    ("<seed:bos>", _Family(re.compile(r"<seed:bos>"), "\n")),
)
_ROLE_TAGS = re.compile(
    r"<(?:\|(system|user|assistant|observation|tool)\||｜(User|Assistant)｜|｜(tool▁outputs▁begin)｜)>"
)
_ROLE_TAG_HINTS = (
    "<|user|>", "<|assistant|>", "<|observation|>", "<｜User｜>", "<｜Assistant｜>",
    "<｜tool▁outputs▁begin｜>",
)  # fmt: skip
_HINTS = tuple(hint for hint, _ in _MARKED) + _ROLE_TAG_HINTS

_HINT_STARTS = ("<|", "<｜", "<start_of_turn>", "]~b]", "<seed:")

_ENDS = (
    "<|im_end|>", "<|endoftext|>", "<|eot_id|>", "<|eom_id|>", "<|end_of_text|>", "<|end|>", "<|call|>",
    "<|return|>", "<|eot|>", "<|eom|>", "<turn|>", "<end_of_turn>", "<｜end▁of▁sentence｜>", "[e~[",
    "<seed:eos>",
)  # fmt: skip
_STARTS = (
    "<BOS>", "<bos>", "<s>", "<|begin_of_text|>", "<|startoftext|>", "<｜begin▁of▁sentence｜>",
    "[gMASK]<sop>", "]~!b[",
)  # fmt: skip
_ROLES = {
    "model": "assistant",
    "ai": "assistant",
    "Assistant": "assistant",
    "User": "user",
    "ipython": "tool",
    "observation": "tool",
    "function": "tool",
    "tool▁outputs▁begin": "tool",
}


def is_marked(text: str) -> bool:
    """Whether role markers stand in the text."""
    return any(start in text for start in _HINT_STARTS) and any(hint in text for hint in _HINTS)


def without_end_markers(text: str) -> str:
    """The text without end-of-turn and end-of-text tokens."""
    for end in _ENDS:
        if end in text:
            text = text.replace(end, "")
    return text


def split_marked(text: str, first_role: str) -> list[Turn]:
    """Turns of a text with role markers.

    Args:
        text: The text, special tokens kept.
        first_role: Speaker of what stands before the first marker: ``assistant`` in a response, whose
            own header closes the prompt.
    """
    tagged = _ROLE_TAGS.search(text)
    places = [(text.find(hint), number) for number, (hint, _) in enumerate(_MARKED)]
    at, number = min((place for place in places if place[0] >= 0), default=(len(text), -1))
    if number < 0 or (tagged is not None and tagged.start() < at):
        return _split_role_tags(text, first_role)
    family = _MARKED[number][1]
    if family.header_end == "<|message|>":
        return _split_channels(text, first_role)
    before, *pieces = family.opening.split(text)
    turns = _leading(before, first_role)
    for piece in pieces:
        header, _, body = piece.partition(family.header_end)
        role = header.strip()
        turns.append(Turn(_ROLES.get(role, role), without_end_markers(body)))
    return turns


def _leading(before: str, role: str) -> list[Turn]:
    for start in _STARTS:
        before = before.removeprefix(start)
    before = without_end_markers(before)
    return [Turn(role, before)] if before.strip() else []


def _split_role_tags(text: str, first_role: str) -> list[Turn]:
    """GLM and Phi (``<|user|>``), DeepSeek (``<｜User｜>``)."""
    position = 0
    role = first_role
    turns: list[Turn] = []
    for found in _ROLE_TAGS.finditer(text):
        _add_tagged(turns, role, text[position : found.start()], position == 0)
        word = found[1] or found[2] or found[3]
        role = _ROLES.get(word, word)
        position = found.end()
    _add_tagged(turns, role, text[position:], position == 0)
    return turns


def _add_tagged(turns: list[Turn], role: str, body: str, first: bool) -> None:
    if first:
        turns += _leading(body, role)
        return
    inside, closed, after = body.partition("<｜tool▁outputs▁end｜>")
    turns.append(Turn(role, without_end_markers(inside)))
    if closed and after.strip():  # DeepSeek goes on without a header
        turns.append(Turn("assistant", without_end_markers(after)))


def _split_channels(text: str, first_role: str) -> list[Turn]:
    """gpt-oss and its relatives: ``<|start|>HEADER<|message|>BODY<|end|>``."""
    before, *pieces = text.split("<|start|>")
    turns: list[Turn] = []
    if "<|message|>" in before:
        pieces.insert(0, first_role + before)
    else:
        turns = _leading(before, first_role)
    for piece in pieces:
        header, _, body = piece.partition("<|message|>")
        turns.append(channel_turn(header, without_end_markers(body)))
    return turns


_HEADER_MARKERS = re.compile(r"<\|(?:channel|constrain)\|>")
_CHANNELS = {"analysis", "commentary", "final"}
_NO_TOOL = {"user", "self", "all", "assistant"}


def channel_turn(header: str, body: str) -> Turn:
    """A turn from a gpt-oss header, in whichever order its words come."""
    words = _HEADER_MARKERS.sub(" ", header).split()
    role = words[0] if words else "assistant"
    recipient = next((word[3:] for word in words[1:] if word.startswith("to=")), None)
    channel = next((word for word in words[1:] if word in _CHANNELS), None)
    if role == "tool":
        return Turn("tool", body, name=words[1] if len(words) > 1 else None)
    if recipient == "assistant":
        return Turn("tool", body, name=role.removeprefix("functions."))
    if role != "assistant":
        return Turn(_ROLES.get(role, role), body)
    if recipient == "self":
        channel = "analysis"
    name = None if recipient is None or recipient in _NO_TOOL else recipient
    return Turn("assistant", body, channel, name, joined=True)
