"""A lexer for shell text: from any string to its simple commands, in linear time.

It is a tolerant reader, not a validator: unterminated quotes, stray parentheses, cut-off heredocs and
NUL bytes all yield the commands that can be made out. Nesting lives on an explicit stack, so depth costs
memory and never recursion. Words keep ``$NAME`` as written; command substitutions are read as commands
of their own and leave ``$()`` in the word that held them.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from trajlab.behavior.lexer_tables import (
    ARITHMETIC,
    DELIMITER,
    PARENTHESES,
    SUBSTITUTION,
    TOKEN,
    WORDS,
)
from trajlab.behavior.raw_command import RawCommand
from trajlab.behavior.words import (
    ARRAY,
    BACKQUOTED,
    CONDITION,
    GROUP,
    HEADER,
    MAX_DEPTH,
    NAME,
    NORMAL,
    PATTERN,
    SUBSTITUTED,
    Frame,
    WordReader,
    split_words,
)


class Lexer(WordReader):
    """Reads one shell text; ``commands`` holds the simple commands in the order they end."""

    def run(self) -> list[RawCommand]:
        """Read the whole text."""
        text, position, end = self.text, 0, len(self.text)
        match_token, match_words, handlers = TOKEN.match, WORDS.match, HANDLERS
        while position < end:
            if self.parts is not None:
                position = self._quoted(position) if self.quoted else self._pieces(position)
                continue
            if self.command.words and self.redirect is None and self.mode == NORMAL:
                found = match_words(text, position)
                if found is not None:
                    self.command.words.extend(split_words(found[0]))
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
        if len(self.frames) >= MAX_DEPTH:  # side by side from here on: take the whole run at once
            position = PARENTHESES.match(self.text, start).end()  # type: ignore[union-attr]
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
        self.frames.append(Frame(self, kind))
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
