"""A lexer for shell text: from any string to its simple commands, in linear time.

It is a tolerant reader, not a validator: unterminated quotes, stray parentheses, cut-off heredocs and
NUL bytes all yield the commands that can be made out. Nesting lives on an explicit stack, so depth costs
memory and never recursion. Words keep ``$NAME`` as written; command substitutions are read as commands
of their own and leave ``$()`` in the word that held them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from trajlab.behavior.lexer_tables import (
    ARITHMETIC,
    ASSIGNMENT,
    BODY_WORDS,
    CLOSING_WORDS,
    DELIMITER,
    ESCAPED_LETTERS,
    OPENING_WORDS,
    PIECE,
    QUOTED,
    RESERVED,
    SUBSTITUTION,
    TOKEN,
    WORD,
    WORDS,
)

NORMAL, HEADER, PATTERN, CONDITION, SUBJECT, NAME = range(6)
"""What the words of the moment are: a command, a ``for`` list, ``case`` patterns, ``[[ … ]]``,
the subject of ``case``, the name after ``function``."""

MAX_DEPTH = 500
"""Parentheses nested deeper than this are read as if they stood side by side."""

TOP, GROUP, SUBSTITUTED, BACKQUOTED, ARRAY = range(5)


class RawCommand(msgspec.Struct, gc=False):
    """One simple command as written: words with quotes removed, redirections, and its place."""

    depth: int
    pipeline: int
    piped_in: bool
    words: list[str] = []
    assignments: list[tuple[str, str]] = []
    redirects: list[tuple[str, str]] = []
    heredoc: str | None = None
    here_string: str | None = None
    stdin_file: str | None = None
    piped_out: bool = False
    group_start: int | None = None
    """Number of the first command of the group (``{ … }``, ``( … )``, a loop) that ends here."""


class _Frame:
    """What is put aside while the inside of a parenthesis or a substitution is read."""

    __slots__ = ("case_depth", "command", "groups", "kind", "mode", "parts", "quoted", "redirect", "start")

    def __init__(self, lexer: Lexer, kind: int) -> None:
        self.kind = kind
        self.command = lexer.command
        self.mode = lexer.mode
        self.parts = lexer.parts
        self.quoted = lexer.quoted
        self.redirect = lexer.redirect
        self.groups = lexer.groups
        self.case_depth = lexer.case_depth
        self.start = len(lexer.commands)


class Lexer:
    """Reads one shell text; ``commands`` holds the simple commands in the order they end."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.commands: list[RawCommand] = []
        self.frames: list[_Frame] = []
        self.pipelines = 1
        self.command = RawCommand(0, 0, False)
        self.mode = NORMAL
        self.parts: list[str] | None = None
        self.quoted = False
        self.redirect: str | None = None
        self.groups: list[int] = []
        self.case_depth = 0
        self.pending: list[tuple[RawCommand, str, bool]] = []

    def run(self) -> list[RawCommand]:
        """Read the whole text."""
        text, position, end = self.text, 0, len(self.text)
        match_token, match_words, handlers = TOKEN.match, WORDS.match, HANDLERS
        while position < end:
            if self.parts is not None:
                position = self._quoted(position) if self.quoted else self._pieces(position)
                continue
            if self.redirect is None and self.mode == NORMAL:
                found = match_words(text, position)
                if found is not None and self._take(found[0]):
                    position = found.end()
                    continue
            match = match_token(text, position)
            if match is None:  # only blanks are left
                break
            position = handlers[match.lastindex or 0](self, match)
        while self.frames:
            self._end_word()
            self._finish()
            self._pop()
        self._end_word()
        self._finish()
        return self.commands

    def _take(self, run: str) -> bool:
        """Take words that stand together; ``False`` where the first may be a reserved word or an assignment."""
        if "'" in run or '"' in run:
            words = [word[1:-1] if word[0] in "'\"" else word for word in WORD.findall(run)]
        else:
            words = run.split() if run.isascii() else WORD.findall(run)
        command = self.command
        if command.words:
            command.words.extend(words)
            return True
        first = words[0] if words else ""
        if first in RESERVED or "=" in first or not words:
            return False
        command.words = words
        return True

    # Words

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

    # Redirections and heredocs

    def _redirect(self, match: re.Match[str]) -> int:
        operator = match[5]
        position = match.end()
        if self.mode == CONDITION:
            return position
        if operator.endswith(("<<", "<<-")) and not operator.endswith("<<<"):
            delimiter = DELIMITER.match(self.text, position)
            if delimiter:
                word = re.sub(r"[\\'\"]", "", delimiter[1])
                self.pending.append((self.command, word, operator.endswith("-")))
                return delimiter.end()
            return position
        self.redirect = operator
        return position

    def _attach(self, operator: str, word: str) -> None:
        command = self.command
        if operator.endswith("<<<"):
            command.here_string = word
        elif operator in ("<", "0<", "<>"):
            command.stdin_file = word
        elif ">" in operator and operator[0] in ">&1":
            if operator.endswith(">&") and (word.isdigit() or word == "-"):
                return
            command.redirects.append((word, "append" if ">>" in operator else "write"))

    def _read_heredocs(self, position: int) -> int:
        text = self.text
        for command, delimiter, strip_tabs in self.pending:
            stop, after = _find_delimiter(text, delimiter, position, strip_tabs)
            command.heredoc = text[position:stop]
            position = after
        self.pending.clear()
        return position

    # Structure

    def _newline(self, match: re.Match[str]) -> int:
        position = match.end()
        if self.pending:
            position = self._read_heredocs(position)
        command = self.command
        if command.words or command.redirects or command.assignments or command.group_start is not None:
            self._finish()
        return position

    def _separator(self, match: re.Match[str]) -> int:
        operator = match[6]
        if self.mode == CONDITION:
            return match.end()
        if operator[0] == "|" and operator != "||":
            if self.mode != PATTERN:
                self.command.piped_out = True
                self._finish(piped=True)
            return match.end()
        self._finish()
        if operator[0] == ";" and len(operator) > 1 and self.case_depth > 0:
            self.mode = PATTERN
        return match.end()

    def _comment(self, match: re.Match[str]) -> int:
        return match.end()

    def _finish(self, piped: bool = False) -> None:
        """End the simple command of the moment."""
        command = self.command
        depth = len(self.frames)
        if self.mode == HEADER:
            words = command.words
            if len(words) > 3 and words[2] == "in":  # the loop's first value stands for its variable
                command.assignments.append((words[1], words[3]))
            command.words = []
        if self.mode in (HEADER, NAME, CONDITION):
            self.mode = NORMAL
        if self.redirect is not None:
            self.redirect = None
        held = command.words or command.redirects or command.assignments or command.heredoc is not None
        if held or (piped and command.group_start is not None):
            self.commands.append(command)
        if piped:
            self.command = RawCommand(depth, command.pipeline, True)
        else:
            self.command = RawCommand(depth, self.pipelines, False)
            self.pipelines += 1

    def _open_parenthesis(self, match: re.Match[str]) -> int:
        position, start = match.end(), match.start(8)
        if self.mode in (PATTERN, CONDITION):
            return position
        arithmetic = ARITHMETIC.match(self.text, start)
        if arithmetic:
            return arithmetic.end()
        if len(match[8]) > 1:  # name(): a function; what it holds is read as commands
            self.command.words.clear()
            return position
        if self.text[start - 1 : start] == "=" and self.command.assignments and not self.command.words:
            self._push(ARRAY)
            self.mode = HEADER
            return position
        if self.command.words:
            self._finish()
        self._push(GROUP)
        return position

    def _close_parenthesis(self, match: re.Match[str]) -> int:
        position = match.end()
        if self.mode == PATTERN:
            self.mode = NORMAL
            return position
        if self.mode == CONDITION:
            return position
        if self.frames and self.frames[-1].kind != BACKQUOTED:
            self._finish()
            self._pop()
        return position

    def _process_substitution(self, match: re.Match[str]) -> int:
        self.parts = []
        self._push(SUBSTITUTED)
        return match.end()

    def _push(self, kind: int) -> None:
        if len(self.frames) >= MAX_DEPTH:
            self._end_word()
            self._finish()
            return
        self.frames.append(_Frame(self, kind))
        piped = self.command.piped_in if kind == GROUP else False
        self.command = RawCommand(len(self.frames), self.pipelines, piped)
        self.pipelines += 1
        self.mode = NORMAL
        self.parts = None
        self.quoted = False
        self.redirect = None
        self.groups = []
        self.case_depth = 0

    def _pop(self) -> None:
        frame = self.frames.pop()
        self.command = frame.command
        self.mode = frame.mode
        self.parts = frame.parts
        self.quoted = frame.quoted
        self.redirect = frame.redirect
        self.groups = frame.groups
        self.case_depth = frame.case_depth
        if frame.kind == ARRAY:
            del self.commands[frame.start :]
        elif frame.kind == GROUP:
            self.command.group_start = frame.start
        elif self.parts is not None:
            self.parts.append(self._substituted(frame.start))

    def _substituted(self, start: int) -> str:
        """Text that a substitution leaves: the program for ``$(which x)``, else a mark."""
        inner = self.commands[start:] if len(self.commands) == start + 1 else []
        if inner and len(inner[0].words) > 1 and inner[0].words[0] in ("which", "command"):
            return inner[0].words[-1]
        return SUBSTITUTION


HANDLERS: tuple[Callable[[Lexer, re.Match[str]], int], ...] = (
    Lexer._open_complex,
    Lexer._bare,
    Lexer._plain_quoted,
    Lexer._plain_quoted,
    Lexer._newline,
    Lexer._redirect,
    Lexer._separator,
    Lexer._comment,
    Lexer._open_parenthesis,
    Lexer._close_parenthesis,
    Lexer._process_substitution,
)
"""What each group of ``TOKEN`` calls."""


def _unescape(body: str) -> str:
    if "\\" not in body:
        return body
    return re.sub(r"(?s)\\(.)", lambda found: ESCAPED_LETTERS.get(found[1], found[1]), body)


def _find_delimiter(text: str, delimiter: str, position: int, strip_tabs: bool) -> tuple[int, int]:
    """Return where a heredoc's body ends and where reading goes on."""
    end, size = len(text), len(delimiter)
    found = text.find(delimiter, position) if delimiter else -1
    while found != -1:
        after = found + size
        start = found
        if strip_tabs:
            while start > position and text[start - 1] == "\t":
                start -= 1
        if (start == position or text[start - 1] == "\n") and text[after : after + 1] in ("", "\n", "\r"):
            return start, min(after + 1, end) if text[after : after + 1] != "\r" else min(after + 2, end)
        found = text.find(delimiter, after)
    return end, end
