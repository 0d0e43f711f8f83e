"""Which files a simple command deletes, moves away or writes over without showing what it writes."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec

from trajlab.behavior.hack_commands import git_words
from trajlab.behavior.test_paths import name_of
from trajlab.behavior.verdicts import SimpleCommand

DELETES_IN_CODE = ("remove(", "unlink(", "rmtree(", "rmSync(", "unlinkSync(")
"""One of these stands in inline code that deletes files."""

_DELETING = frozenset({"rm", "unlink", "mv", "shred", "truncate"})
_COPYING = frozenset({"cp", "ln", "install", "mv", "rsync"})
_EMPTYING = frozenset({"", ":", "true"})
_TARGET_FLAGS = ("-t", "--target-directory")
_NAMES = frozenset({"-name", "-iname", "-path", "-wholename"})
_LONGEST_CODE = 200_000
_DELETED_IN_CODE = re.compile(
    r"""(?:\bremove|\bunlink|\brmtree|Sync)\([ \t]{0,9}[rf]?['"]([^'"\n]{1,400})['"]"""
    r"""|\bPath\([ \t]{0,9}[rf]?['"]([^'"\n]{1,400})['"][ \t]{0,9}\)\.(?:unlink|rmdir)\("""
)


class Gone(msgspec.Struct, frozen=True):
    """A file, or a pattern of files, that is not where it was."""

    path: str
    moved: bool = False
    everywhere: bool = False
    """A pattern that is looked for in a whole tree."""


def gone_by(command: SimpleCommand, commands: Sequence[SimpleCommand]) -> Iterator[Gone]:
    """What a command deletes or moves away.

    Args:
        command: One of ``commands``.
        commands: All of one call.
    """
    program = command.program
    if program == "git":
        verb, words = git_words(command.arguments)
        if verb in ("rm", "mv") and "--cached" not in words:
            yield from _gone(words, moved=verb == "mv")
    elif program == "find":
        yield from _found(command, commands)
    elif "fileop" not in command.labels:
        return
    elif program in _DELETING:
        yield from _gone(command.arguments, moved=program == "mv")
    elif program in _EMPTYING or (program == "cat" and command.arguments == ("/dev/null",)):
        yield from (Gone(path) for path, mode in command.redirects if mode == "write")


def _gone(arguments: Sequence[str], *, moved: bool) -> Iterator[Gone]:
    words, folder = _operands(arguments)
    for word in words[:-1] if moved and folder is None else words:
        yield Gone(word, moved)


def _operands(arguments: Sequence[str]) -> tuple[list[str], str | None]:
    """Words that are no flags, and the folder of a flag that names the target."""
    words, folder = [], None
    rest = iter(arguments)
    for word in rest:
        if word in _TARGET_FLAGS:
            folder = next(rest, None)
        elif word[:1] != "-":
            words.append(word)
    return words, folder


def _found(command: SimpleCommand, commands: Sequence[SimpleCommand]) -> Iterator[Gone]:
    """What ``find`` finds, where that is deleted."""
    words = command.arguments
    deleted = "-delete" in words or any(
        flag in ("-exec", "-execdir", "-ok") and program.rpartition("/")[2] in ("rm", "unlink", "shred")
        for flag, program in pairwise(words)
    )
    if not deleted:
        piped = [other for other in commands if other.pipeline == command.pipeline and "xargs" in other.wrappers]
        deleted = any(other.program in ("rm", "unlink", "shred") for other in piped)
    if not deleted:
        return
    end = next((place for place, word in enumerate(words) if word[:1] in ("-", "(", "!")), len(words))
    roots = list(words[:end]) or ["."]
    names = [value for flag, value in pairwise(words) if flag in _NAMES]
    for root in roots:
        if not names:
            yield Gone(root)
        for name in names:
            yield Gone(f"{root.rstrip('/')}/{name.removeprefix('./')}", everywhere="-maxdepth" not in words)


def gone_in_code(code: str) -> Iterator[Gone]:
    """Files that inline code deletes, where their paths are literals."""
    for found in _DELETED_IN_CODE.finditer(code[:_LONGEST_CODE]):
        yield Gone(found[1] or found[2])


def written_over(command: SimpleCommand) -> Iterator[str]:
    """Files in whose place a command puts another file; a backup that is put back counts for nothing."""
    if "fileop" not in command.labels:
        return
    if command.program == "dd":
        yield from (word[3:] for word in command.arguments if word.startswith("of="))
    if command.program not in _COPYING:
        return
    words, folder = _operands(command.arguments)
    sources, target = (words, folder) if folder is not None else (words[:-1], words[-1] if words else "")
    for source in sources:
        name = name_of(source)
        path = target if "." in name_of(target) and folder is None else f"{target.rstrip('/')}/{name}"
        if target and not name.startswith((name_of(path) + ".", name_of(path) + "~")):
            yield path
