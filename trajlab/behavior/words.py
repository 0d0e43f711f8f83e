"""The words of the shell lexer: bare, quoted, escaped, and made of several pieces."""

from __future__ import annotations

import re

from trajlab.behavior.lexer_tables import (
    ASSIGNMENT,
    BODY_WORDS,
    CLOSING_WORDS,
    ESCAPED_LETTERS,
    OPENING_WORDS,
    PIECE,
    QUOTED,
    RESERVED,
    WORD,
)
from trajlab.behavior.raw_command import RawCommand

NORMAL, HEADER, PATTERN, CONDITION, SUBJECT, NAME = range(6)
"""What the words of the moment are: a command, a ``for`` list, ``case`` patterns, ``[[ … ]]``,
the subject of ``case``, the name after ``function``."""

MAX_DEPTH = 500
"""Parentheses nested deeper than this are read as if they stood side by side."""

TOP, GROUP, SUBSTITUTED, BACKQUOTED, ARRAY = range(5)


def split_words(run: str) -> list[str]:
    """Split words that stand together, each bare or quoted as a whole, and take the quotes off."""
    if "'" in run or '"' in run:
        return [word[1:-1] if word[0] in "'\"" else word for word in WORD.findall(run)]
    return run.split() if run.isascii() else WORD.findall(run)


class WordReader:
    """State of a reading, and what happens with each word of it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.commands: list[RawCommand] = []
        self.frames: list[Frame] = []
        self.pipelines = 1
        self.command = RawCommand(0, 0, False)
        self.mode = NORMAL
        self.parts: list[str] | None = None
        self.quoted = False
        self.redirect: str | None = None
        self.groups: list[int] = []
        self.case_depth = 0
        self.pending: list[tuple[RawCommand, str, bool]] = []

    def _bare(self, match: re.Match[str]) -> int:
        word = match[1]
        command = self.command
        if self.redirect is not None or self.mode:
            self._add(word)
        elif command.words:
            command.words.append(word)
        elif word in RESERVED:
            self._reserved(word)
        elif "=" in word and (found := ASSIGNMENT.match(word)):
            command.assignments.append((found[1], word[found.end() :]))
        else:
            command.words.append(word)
        return match.end()

    def _plain_quoted(self, match: re.Match[str]) -> int:
        self._add(match[match.lastindex or 0])
        return match.end()

    def _add(self, word: str) -> None:
        """Take a finished word that is no reserved word, by what is expected of it."""
        if self.redirect is not None:
            self._attach(self.redirect, word)
            self.redirect = None
        elif self.mode == NORMAL:
            self.command.words.append(word)
        elif self.mode == PATTERN:
            if word == "esac":
                self.case_depth -= 1
                self.mode = NORMAL
                self._close_group()
        elif self.mode == SUBJECT:
            if word == "in":
                self.mode = PATTERN
        elif self.mode == HEADER:
            self.command.words.append(word)
        elif self.mode == CONDITION:
            self.command.words.append(word)
            if word == "]]":
                self.mode = NORMAL
        else:
            self.mode = NORMAL

    def _reserved(self, word: str) -> None:
        if word in OPENING_WORDS:
            self.groups.append(len(self.commands))
            if word in ("for", "select"):
                self.mode = HEADER
                self.command.words.append(word)
            elif word == "case":
                self.mode = SUBJECT
                self.case_depth += 1
        elif word in CLOSING_WORDS:
            if word == "esac":
                self.case_depth -= 1
            self._close_group()
        elif word == "[[":
            self.mode = CONDITION
            self.command.words.append(word)
        elif word == "function":
            self.mode = NAME
        elif word not in BODY_WORDS:  # pragma: no cover - the tables hold no other word
            self.command.words.append(word)

    def _close_group(self) -> None:
        start = self.groups.pop() if self.groups else len(self.commands)
        self.command.group_start = start

    def _open_complex(self, match: re.Match[str]) -> int:
        self.parts = []
        return match.end()

    def _pieces(self, position: int) -> int:
        """Read on in a word made of several pieces, until it ends or something nested opens."""
        text, parts = self.text, self.parts
        assert parts is not None
        match_piece = PIECE.match
        while match := match_piece(text, position):
            kind = match.lastindex or 0
            position = match.end()
            if kind <= 4:  # literal, '…', "…", $NAME, ${…}, $((…))
                parts.append(match[kind])
            elif kind == 5:  # backslash
                if match[5] != "\n":
                    parts.append(match[5])
            elif kind == 6:  # $'…'
                parts.append(_unescape(match[6]))
            elif kind == 7:  # double quote that holds more than text
                self.quoted = True
                return position
            elif kind == 8:  # quote without an end: the rest is the word
                parts.append(text[position:])
                position = len(text)
            elif kind == 9:  # $( or <( or >(
                self._push(SUBSTITUTED)
                return position
            elif kind == 10:
                return self._backquote(position)
            else:
                parts.append(match[0])
        self._end_word()
        return position

    def _quoted(self, position: int) -> int:
        """Read on inside double quotes."""
        text, parts = self.text, self.parts
        assert parts is not None
        while match := QUOTED.match(text, position):
            kind = match.lastindex or 0
            position = match.end()
            if kind == 1:
                parts.append(match[1])
            elif kind == 2:
                character = match[2]
                if character in '$`"\\':
                    parts.append(character)
                elif character != "\n":
                    parts.append("\\" + character)
            elif kind == 3:
                self.quoted = False
                return position
            elif kind == 4:
                self._push(SUBSTITUTED)
                return position
            elif kind == 5:
                return self._backquote(position)
            else:
                parts.append(match[0])
        return len(text)

    def _backquote(self, position: int) -> int:
        if self.frames and self.frames[-1].kind == BACKQUOTED:
            self._end_word()
            self._finish()
            self._pop()
        else:
            self._push(BACKQUOTED)
        return position

    def _end_word(self) -> None:
        parts = self.parts
        self.parts = None
        self.quoted = False
        if parts is None:
            return
        word = parts[0] if len(parts) == 1 else "".join(parts)
        if self.redirect is None and not self.mode and not self.command.words and "=" in word:
            found = ASSIGNMENT.match(word)
            if found:
                self.command.assignments.append((found[1], word[found.end() :]))
                return
        self._add(word)

    def _attach(self, operator: str, word: str) -> None:
        raise NotImplementedError

    def _push(self, kind: int) -> None:
        raise NotImplementedError

    def _pop(self) -> None:
        raise NotImplementedError

    def _finish(self, piped: bool = False) -> None:
        raise NotImplementedError


class Frame:
    """What is put aside while the inside of a parenthesis or a substitution is read."""

    __slots__ = ("case_depth", "command", "groups", "kind", "mode", "parts", "quoted", "redirect", "start")

    def __init__(self, reader: WordReader, kind: int) -> None:
        self.kind = kind
        self.command = reader.command
        self.mode = reader.mode
        self.parts = reader.parts
        self.quoted = reader.quoted
        self.redirect = reader.redirect
        self.groups = reader.groups
        self.case_depth = reader.case_depth
        self.start = len(reader.commands)


def _unescape(body: str) -> str:
    if "\\" not in body:
        return body
    return re.sub(r"(?s)\\(.)", lambda found: ESCAPED_LETTERS.get(found[1], found[1]), body)
