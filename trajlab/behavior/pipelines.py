"""What only shows when the commands of a pipeline are seen together, and where their output goes."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trajlab.behavior.rules import AUTHORS, CONSTANT, REWRITERS, SOURCE_SUFFIXES
from trajlab.behavior.verdicts import NOTHING, SimpleCommand, Verdict, verdict

READ = frozenset({"read"})
SEARCH = frozenset({"search"})
HARMLESS = frozenset({"read", "search", "other", "edit", "fileop"})
AUTHORED = verdict("edit", "redirect/authored")
NULL_FILES = ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty")


def _with(command: SimpleCommand, label: str | None, rule: str) -> SimpleCommand:
    """The command with this label alone (none where ``label`` is ``None``)."""
    return _judged(command, verdict(label, rule) if label else NOTHING)


def _judged(command: SimpleCommand, judged: Verdict) -> SimpleCommand:
    return msgspec.structs.replace(command, labels=judged[0], rules=judged[1], scope=judged[2])


def settle(commands: list[SimpleCommand], group: Sequence[SimpleCommand] = ()) -> None:
    """Adjust the commands of one pipeline in place; ``group`` feeds it if it starts with ``}`` or ``)``."""
    if len(commands) > 1:
        _join(commands)
    authored, fed = all(map(_authors, group)), bool(group)
    for place, command in enumerate(commands):
        if command.redirects:
            commands[place] = redirected(command, authored, fed)
        elif command.program == "tee" and fed and not authored:
            commands[place] = _with(command, "other", "pipe/tee keeps a log")
        authored = authored and _authors(command)
        fed = True


def _join(commands: list[SimpleCommand]) -> None:
    """``cat f | grep x`` searches; ``cat f | python x.py`` shows no file."""
    first = commands[0]
    if first.labels != READ:
        return
    for place, command in enumerate(commands[1:], 1):
        if command.is_filter:
            if CONSTANT.get(command.program) == "search":
                commands[0] = _with(first, None, "pipe/read feeds search")
                commands[place] = _with(command, "search", "pipe/search in what was read")
                return
            continue
        commands[0] = _with(first, None, "pipe/read feeds a program")
        return


def _authors(command: SimpleCommand) -> bool:
    """What it sends down the pipe was written or copied, not produced by a program that ran."""
    return command.labels <= HARMLESS and (
        command.program in AUTHORS or command.program in REWRITERS or command.is_filter
    )


def redirected(command: SimpleCommand, authored: bool = True, fed: bool = False) -> SimpleCommand:
    """Judge where a command's standard output goes.

    Args:
        command: It, with redirections.
        authored: All that feeds it through a pipe is authored or copied text.
        fed: Something feeds it.
    """
    program = command.program
    if program == "cat" and command.heredoc is not None and not fed and command.redirects[0][0][:5] != "/dev/":
        return _judged(command, AUTHORED)
    targets = [path for path, _ in command.redirects if path not in NULL_FILES]
    if not targets:
        return command
    if program in (":", "true", "") or (program == "cat" and command.arguments == ("/dev/null",)):
        return _with(command, "fileop", "redirect/empty file")
    source = any(path.rpartition(".")[2] in SOURCE_SUFFIXES and "." in path for path in targets)
    if program in AUTHORS or program in REWRITERS:
        if "edit" in command.labels or "submit" in command.labels:
            return command
        if authored or source:
            return _with(command, "edit", "redirect/authored" if program in AUTHORS else "redirect/rewritten")
        return _with(command, None if command.is_filter else "other", "redirect/log of a program")
    if source and "inline" in command.labels and "edit" not in command.labels:
        return _add(command, "edit", "redirect/inline code writes a source file")
    if source and command.labels <= SEARCH and CONSTANT.get(program) == "search" and program not in ("find", "ls"):
        return _with(command, "edit", "redirect/rewritten")
    return command


def _add(command: SimpleCommand, label: str, rule: str) -> SimpleCommand:
    return _judged(command, (command.labels | {label}, (*command.rules, (label, rule)), command.scope))


def group_redirected(command: SimpleCommand, group: list[SimpleCommand]) -> SimpleCommand:
    """Judge ``{ …; } > file``: authored where all of the group prints or copies; then it shows nothing."""
    targets = [path for path, _ in command.redirects if path not in NULL_FILES]
    if not targets:
        return _with(command, None, "redirect/group")
    if group and all(map(_authors, group)):
        group[:] = [_with(part, None, "redirect/group") if part.labels == READ else part for part in group]
        return _with(command, "edit", "redirect/group authored")
    return _with(command, None, "redirect/log of a group")
