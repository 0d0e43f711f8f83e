"""Shell understanding: from the text of a shell call to its simple commands and their labels.

The labels are those of the codebook (``test:all`` … ``other``); they say what executing the command does,
not what its text mentions. Nothing is executed, any text is accepted, and the time is linear in its length.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from trajlab.behavior.caching import LONGEST_CACHED, cached_by_text
from trajlab.behavior.classify import classify
from trajlab.behavior.lexer import Lexer
from trajlab.behavior.masks import labels_in, mask_of
from trajlab.behavior.pipelines import group_redirected, redirected, settle
from trajlab.behavior.plain import classify_plain
from trajlab.behavior.quick import quick_commands
from trajlab.behavior.raw_command import RawCommand
from trajlab.behavior.rules import RULES_VERSION
from trajlab.behavior.shapes import WHOLE, Reading, Shape, holds, read_shape
from trajlab.behavior.verdicts import Context, SimpleCommand, other, verdict

__all__ = [
    "RULES_VERSION",
    "SimpleCommand",
    "analyse",
    "command_facts",
    "explain_command",
    "label_command",
    "labels_of",
]

CACHED_COMMANDS = 1024
CACHED_TEXTS = 512
MAX_SHAPES = 8192
MAX_EXPANDED = 65_536
OTHER = frozenset({"other"})

Row = tuple[Any, ...]
Facts = tuple[int, tuple[Row, ...]]

_EDIT_VERB = re.compile(r"[ \t\r\n]*edit(?:[ \t]+[0-9]+:[0-9]+[^\n'\"]*+|[ \t]*+)\n")
_VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*+)\}|([A-Za-z_][A-Za-z0-9_]*+))")


def label_command(text: str) -> frozenset[str]:
    """Return the labels of a shell command.

    Args:
        text: Shell text as logged, of any length and any degree of brokenness.

    Returns:
        Labels of the codebook; never empty (``other`` where nothing else fits).
    """
    return labels_in(command_facts(text)[0])


class Known:
    """What is known of all texts of one shape; of a text without one, of that text alone.

    Attributes:
        shape: ``None`` where the text has none.
        mask: Labels as one integer (see :func:`trajlab.behavior.masks.mask_of`).
        rows: Program, labels, scope and rules of each simple command.
    """

    __slots__ = ("mask", "rows", "shape")

    def __init__(self, shape: Shape | None, facts: Facts) -> None:
        self.shape = shape
        self.mask, self.rows = facts


KNOWN: dict[Shape, tuple[Known, Reading]] = {}
"""What is known of the shapes met so far, with the commonest reading: a cache, emptied when it is full."""


def command_facts(text: str) -> Facts:
    """Return what the tables keep of a shell text (cached).

    Returns:
        Its labels as one integer (see :func:`trajlab.behavior.masks.mask_of`), and for each simple command its
        program, labels, scope and rules. The same as :func:`analyse` tells, in a fraction of the time where the
        text is of a known shape.
    """
    known, _ = understood(text)
    return known.mask, known.rows


Understood = tuple[Known, Reading | None]

SEEN: dict[str, Understood] = {}
"""The texts met last: a cache, emptied when it is full, which costs less than to forget the oldest each time."""


def understood(text: str) -> Understood:
    """Return what is known of a shell text, and the text by its shape, where it has one (cached)."""
    seen = SEEN.get(text)
    if seen is None:
        seen = _understood(text)
        if len(text) <= LONGEST_CACHED:
            if len(SEEN) >= CACHED_TEXTS:
                SEEN.clear()
            SEEN[text] = seen
    return seen


def _understood(text: str) -> Understood:
    found = read_shape(text)
    if found is None:
        return Known(None, facts_of(analyse(text))), None
    shape, reading = found
    pair = KNOWN.get(shape)
    if pair is None:
        pair = Known(shape, facts_of(analyse(text))), WHOLE
        if holds(shape):
            if len(KNOWN) >= MAX_SHAPES:
                KNOWN.clear()
            KNOWN[shape] = pair
    return pair if reading is WHOLE else (pair[0], reading)


def facts_of(commands: Sequence[SimpleCommand]) -> Facts:
    """Facts of simple commands."""
    rows = tuple([_row(command.program, command.labels, command.scope, command.rules) for command in commands])
    return mask_of(labels_of(commands)), rows


@lru_cache(maxsize=4096)
def _row(program: str, labels: frozenset[str], scope: str | None, rules: tuple[tuple[str, str], ...]) -> Row:
    return program, mask_of(labels), scope, " ".join([f"{label}={rule}" for label, rule in rules])


def labels_of(commands: Sequence[SimpleCommand]) -> frozenset[str]:
    """Return the union of the commands' labels, ``other`` only when it stands alone."""
    if len(commands) == 1:
        return commands[0].labels or OTHER
    labels: frozenset[str] = frozenset().union(*[command.labels for command in commands])
    if len(labels) > 1:
        return labels - OTHER
    return labels or OTHER


def explain_command(text: str) -> list[SimpleCommand]:
    """Return the simple commands inside a shell text, in the order they run, with the rule of every label."""
    return list(analyse(text))


@cached_by_text(maxsize=CACHED_COMMANDS)
def analyse(text: str) -> tuple[SimpleCommand, ...]:
    """Return the simple commands of a shell text (cached)."""
    return tuple(_analyse(text, 0))


def _analyse(text: str, depth: int) -> list[SimpleCommand]:
    if depth == 0 and "edit" in text and (verb := _EDIT_VERB.match(text)):
        return _edit_verb(text, verb.end())
    raws = quick_commands(text)
    return _Reading(depth).read(Lexer(text).run()) if raws is None else _plain(raws, depth)


def _plain(raws: list[RawCommand], depth: int) -> list[SimpleCommand]:
    """Judge commands that hold no variables, assignments or groups."""
    commands: list[SimpleCommand] = []
    pipeline: list[SimpleCommand] = []
    printed: str | None = None
    for raw in raws:
        plain = classify_plain(raw, raw.words, depth)
        if plain is not None and not raw.piped_in and not raw.piped_out:
            commands.append(redirected(plain) if raw.redirects else plain)
            continue
        if plain is not None:
            pipeline.append(plain)
        else:
            stdin = printed if raw.piped_in else raw.heredoc
            pipeline.extend(classify(raw, raw.words, Context(raw, depth, stdin, _analyse)))
        if raw.piped_out:
            printed = _printed(raw, raw.words)
        else:
            settle(pipeline)
            commands.extend(pipeline)
            pipeline = []
    return commands


def _edit_verb(text: str, start: int) -> list[SimpleCommand]:
    """SWE-agent's ``edit 1:5`` with the new lines below it, up to ``end_of_edit``."""
    stop = text.find("\nend_of_edit", start - 1)
    body = text[start:stop] if stop >= start else text[start:] if stop == -1 else ""
    judged = verdict("edit", "program/edit")
    arguments = tuple(text[:start].split()[1:])
    first = SimpleCommand("edit", arguments, judged[0], judged[1], heredoc=body)
    rest = text[stop + len("\nend_of_edit") :] if stop != -1 else ""
    return [first, *_analyse(rest, 1)] if rest.strip() else [first]


class _Reading:
    """State that one command leaves to the next: variables and the pipeline of the moment."""

    __slots__ = ("budget", "commands", "depth", "printed", "settled", "starts", "variables")

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.commands: list[SimpleCommand] = []
        self.variables: dict[str, str] = {}
        self.budget = MAX_EXPANDED
        self.printed: dict[int, str] = {}
        self.starts: list[int] = []

    def read(self, raws: list[RawCommand]) -> list[SimpleCommand]:
        commands = self.commands
        place, count = 0, len(raws)
        while place < count:
            raw = raws[place]
            pipeline: list[SimpleCommand] = []
            group: list[SimpleCommand] = []
            printed: str | None = None
            while True:
                self.starts.append(len(commands) + len(pipeline))
                if raw.assignments and not raw.words:
                    self._remember(raw)
                if raw.words:
                    words = self._expanded(raw.words) if self.variables else raw.words
                    if words[0] in ("export", "declare", "local", "readonly"):
                        self._declared(words)
                    pipeline.extend(self._command(raw, words, printed))
                    printed = _printed(raw, words)
                elif raw.redirects or raw.heredoc is not None:
                    pipeline.append(self._redirect_only(raw))
                    printed = raw.heredoc
                elif raw.group_start is not None and raw.group_start < len(self.starts):
                    group = commands[self.starts[raw.group_start] :]
                following = raws[place + 1] if place + 1 < count else None
                if (
                    following is None
                    or not raw.piped_out
                    or not following.piped_in
                    or following.pipeline != raw.pipeline
                ):
                    break
                place += 1
                raw = following
            if len(pipeline) > 1 or group or (pipeline and pipeline[0].redirects and pipeline[0].program):
                settle(pipeline, group)
            commands.extend(pipeline)
            place += 1
        return commands

    def _command(self, raw: RawCommand, words: list[str], printed: str | None) -> list[SimpleCommand]:
        plain = classify_plain(raw, words, self.depth) if raw.words else None
        if plain is not None:
            return [plain]
        stdin = raw.heredoc if raw.heredoc is not None else raw.here_string
        if stdin is None and raw.piped_in:
            stdin = printed
        return classify(raw, words, Context(raw, self.depth, stdin, _analyse))

    def _redirect_only(self, raw: RawCommand) -> SimpleCommand:
        targets = any(not path.startswith("/dev/") for path, _ in raw.redirects)
        judged = verdict("fileop", "redirect/empty file") if targets else other("empty")
        command = SimpleCommand(
            "",
            (),
            judged[0],
            judged[1],
            redirects=tuple(raw.redirects),
            heredoc=raw.heredoc,
            pipeline=raw.pipeline,
            depth=self.depth + raw.depth,
        )
        if raw.group_start is not None:
            start = self.starts[raw.group_start] if raw.group_start < len(self.starts) else len(self.commands)
            group = self.commands[start:]
            command = group_redirected(command, group)
            self.commands[start:] = group
        return command

    def _remember(self, raw: RawCommand) -> None:
        for name, value in raw.assignments:
            if len(value) <= 4096 and "$()" not in value:
                self.variables[name] = self._substitute(value) if "$" in value else value

    def _declared(self, words: list[str]) -> None:
        for word in words[1:]:
            name, equals, value = word.partition("=")
            if equals and len(value) <= 4096 and name.isidentifier():
                self.variables[name] = value

    def _expanded(self, words: list[str]) -> list[str]:
        """Words with the simple variables set before put in; a program's name may hold arguments."""
        expanded: list[str] = []
        for word in words:
            if "$" not in word or self.budget <= 0:
                expanded.append(word)
                continue
            value = self._substitute(word)
            if value != word and _VARIABLE.fullmatch(word) and " " in value:
                expanded.extend(value.split())
            else:
                expanded.append(value)
        return expanded or [""]

    def _substitute(self, word: str) -> str:
        def value_of(found: re.Match[str]) -> str:
            value = self.variables.get(found[1] or found[2])
            if value is None or self.budget <= 0:
                return found[0]
            self.budget -= len(value) + 1
            return value

        return _VARIABLE.sub(value_of, word)


def _printed(raw: RawCommand, words: list[str]) -> str | None:
    """Text that a command is known to print, for what reads it through a pipe."""
    program = words[0]
    if program == "cat" and len(words) == 1:
        return raw.heredoc if raw.heredoc is not None else raw.here_string
    if program in ("echo", "printf"):
        return " ".join(word for word in words[1:] if word not in ("-e", "-n", "-en", "-ne"))
    return None
