"""What the agent itself wrote before a call: files it made, texts it put into files. Read only when a rule asks."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator, Sequence

from trajlab.behavior.authored import Piece, pieces_of_command, pieces_of_tool
from trajlab.behavior.shell import analyse
from trajlab.behavior.test_paths import name_of, short
from trajlab.behavior.tools import decoded_arguments
from trajlab.behavior.verdicts import SimpleCommand
from trajlab.records import ToolCall

WHOLE = ("write", "program")
"""Pieces of these kinds make their file, or may make it."""
_MAKERS = ("touch", "mkdir", "cp")
_MISSING = "No such file"


def argument_text(value: object) -> str:
    """An argument as the text that places count in: lines joined, anything else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(line, str) for line in value):
        return "\n".join(value)
    # The standard library's encoder: a log may hold lone surrogates.
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


def text_of(call: ToolCall) -> str:
    """Shell text of a call, or its arguments as one text."""
    if call.command is not None:
        return call.command
    if isinstance(call.arguments, str):
        return call.arguments
    return "\n".join([argument_text(value) for value in (call.arguments or {}).values()])


def pieces_of_call(call: ToolCall) -> Iterator[Piece]:
    """Pieces that a call writes into files."""
    if call.command is not None:
        for command in analyse(call.command):
            yield from pieces_of_command(command, call.command)
        return
    arguments = decoded_arguments(call)
    if isinstance(arguments, dict):
        yield from pieces_of_tool(arguments)


class OwnWork:
    """The agent's own files and texts, as far as its calls up to a place tell.

    Args:
        calls: The agent's calls, in order.
        changing: Places of those that may change files, in order.
    """

    __slots__ = ("_calls", "_made", "_unread", "place", "written")

    def __init__(self, calls: Sequence[ToolCall], changing: Sequence[int]) -> None:
        self._calls = calls
        self._unread = deque(changing)
        self._made: dict[str, int] = {}
        self.written: list[str] = []
        self.place = 0
        """The call that is looked at: what it does itself is told by whom looks."""

    def remember(self, path: str, place: int) -> None:
        """A call makes a file, or writes it whole."""
        if path:
            for name in (short(path), name_of(path)):
                self._made[name] = min(place, self._made.get(name, place))

    def made_by(self, command: SimpleCommand, place: int) -> None:
        """A simple command may make files that it does not write."""
        if command.program in _MAKERS and "fileop" in command.labels:
            words = [word for word in command.arguments if word[:1] != "-"]
            for word in words[1:] if command.program == "cp" else words:
                self.remember(word, place)

    def is_own(self, path: str) -> bool:
        """Whether the agent itself made the file: it wrote it whole before any call named it."""
        self._read()
        place = self._made.get(short(path), self._made.get(name_of(path)))
        return place is not None and not self.named_before(path, place)

    def made(self, path: str) -> bool:
        """The same, for a path that may be a pattern: one such file was made."""
        if self.is_own(path):
            return True
        stem, star, _ = name_of(path).partition("*")
        return star != "" and any(made.startswith(stem) for made in self._made)

    def wrote(self, text: str) -> bool:
        """Whether a piece before the one that is looked at holds the text."""
        self._read()
        return any(text in written for written in self.written)

    def named_before(self, path: str, place: int) -> bool:
        """Whether a call before that place names the file: then it was there, and the agent knew."""
        name = short(path)
        return any(
            name in text_of(call) and not (call.output and _MISSING in call.output) for call in self._calls[:place]
        )

    def _read(self) -> None:
        """Take in the calls before the one that is looked at."""
        while self._unread and self._unread[0] < self.place:
            place = self._unread.popleft()
            call = self._calls[place]
            for piece in pieces_of_call(call):
                if piece.how in WHOLE:
                    self.remember(piece.path, place)
                self.written.append(piece.new)
            if call.command is not None:
                for command in analyse(call.command):
                    self.made_by(command, place)
