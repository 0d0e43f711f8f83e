"""What a call writes into files, piece by piece: the path, the new text and its place, the text it replaces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

import msgspec

from trajlab.behavior.verdicts import SimpleCommand

How = Literal["write", "append", "replace", "insert", "patch", "program", "script"]

PATHS = (
    "path", "file_path", "filepath", "filename", "file", "target_file", "absolute_path", "notebook_path", "TargetFile",
    "AbsolutePath",
)  # fmt: skip
OLD = ("old_str", "old_string", "old", "search", "oldText", "TargetContent")
NEW = ("new_str", "new_string", "new", "replace", "newText", "ReplacementContent")
WHOLE = ("file_text", "content", "contents", "text", "new_source", "CodeContent")
PATCHES = ("patch", "diff", "input")

_PATH_IN_CODE = re.compile(r"""['"]([\w./~+-]{1,200}\.\w{1,6})['"]""")
_LONGEST_CODE = 200_000


class Piece(msgspec.Struct):
    """One text that a call writes into one file."""

    path: str
    """Empty where it cannot be told."""
    new: str
    old: str = ""
    how: How = "replace"
    start: int | None = 0
    """Place of ``new`` in the command or argument; ``None`` where it does not stand there as it is."""
    argument: str | None = None
    """Argument it stands in; ``None``: the command, or the arguments as one text."""


def pieces_of_command(command: SimpleCommand, text: str) -> Iterator[Piece]:
    """Pieces that one simple command of a shell text writes."""
    if "edit" not in command.labels:
        return
    program, arguments, body = command.program, command.arguments, command.heredoc
    if program in ("sed", "gsed", "perl"):
        yield from _stream_edit(command, text)
    elif program in ("patch", "git", "apply_patch", "applypatch"):
        if body is None and arguments and "\n" in arguments[-1]:
            body = arguments[-1]
        yield from pieces_of_patch(body or "", _place(text, body or ""), None)
    elif "inline" in command.labels or program in ("python", "node", "ruby", "perl", "php"):
        yield from _program(command, text)
    else:
        said = body if body is not None else " ".join(arguments)
        for path, mode in _targets(command):
            yield Piece(path, said, "", "append" if mode == "append" else "write", _place(text, said))


def _place(text: str, part: str) -> int | None:
    found = text.find(part) if part else -1
    return None if found < 0 else found


def _targets(command: SimpleCommand) -> list[tuple[str, str]]:
    targets = [(path, mode) for path, mode in command.redirects if not path.startswith("/dev/")]
    if command.program == "tee":
        mode = "append" if "-a" in command.arguments else "write"
        targets += [(word, mode) for word in command.arguments if word[:1] != "-" and not word.startswith("/dev/")]
    return targets or [("", "replace")]


def _stream_edit(command: SimpleCommand, text: str) -> Iterator[Piece]:
    """``sed -i SCRIPT FILE…``, ``perl -pi -e SCRIPT FILE…``: the script is what is known of the new text."""
    scripts: list[str] = []
    files: list[str] = []
    words = iter(command.arguments)
    for word in words:
        if word == "--expression" or (word[:1] == "-" and word[1:2] != "-" and word.endswith("e")):
            scripts.append(next(words, ""))
        elif word[:1] != "-":
            files.append(word)
    if not scripts and files:
        scripts.append(files.pop(0))
    script = scripts[0] if len(scripts) == 1 else "\n".join(scripts)
    for path in files:
        yield Piece(path, script, "", "script", _place(text, script))


def _program(command: SimpleCommand, text: str) -> Iterator[Piece]:
    """Inline code that writes files: every path it names may be the one."""
    code = command.heredoc if command.heredoc is not None else max(command.arguments, key=len, default="")
    for path in paths_in_code(code) or [""]:
        yield Piece(path, code, "", "program", _place(text, code))


def paths_in_code(code: str) -> list[str]:
    """Return the literals of a program that look like paths of files, each once."""
    return list(dict.fromkeys(_PATH_IN_CODE.findall(code[:_LONGEST_CODE])))


def pieces_of_patch(patch: str, start: int | None, argument: str | None) -> Iterator[Piece]:
    """Pieces of a unified diff or of ``*** Update File`` sections, one per file.

    Lines of the other side are blanked, so that places in ``new`` are places in the patch.
    """
    path, made, begin, place = "", False, 0, 0
    lines = patch.splitlines(keepends=True)
    section: list[str] = []
    for line in [*lines, "+++ "]:
        opened = line.startswith(("+++ ", "*** Update File:", "*** Add File:", "*** Delete File:"))
        if opened:
            if path:
                yield _section(section, path, made, None if start is None else start + begin, argument)
            made = line.startswith("*** Add File:") or bool(section and section[-1].startswith("--- /dev/null"))
            path = _patched_path(line)
            section, begin = [], place
        section.append(line)
        place += len(line)


def _patched_path(line: str) -> str:
    words = line.split(None, 1) if line.startswith("+++") else line.split(":", 1)
    path = words[1].split("\t")[0].strip() if len(words) > 1 else ""
    return path[2:] if path.startswith(("a/", "b/")) else path


def _section(lines: list[str], path: str, made: bool, start: int | None, argument: str | None) -> Piece:
    kept = lines[:-1] if len(lines) > 1 and lines[-1].startswith("--- ") else lines
    new = "".join([_blank(line) if line[:1] == "-" or i == 0 else " " + line[1:] for i, line in enumerate(kept)])
    old = "".join([" " + line[1:] for i, line in enumerate(kept) if line[:1] != "+" and i > 0])
    return Piece(path, new, old, "write" if made else "patch", start, argument)


def _blank(line: str) -> str:
    return " " * (len(line) - 1) + "\n" if line.endswith("\n") else " " * len(line)


def _first(arguments: Mapping[str, Any], names: tuple[str, ...]) -> tuple[str | None, str]:
    for name in names:
        value = arguments.get(name)
        if isinstance(value, str):
            return name, value
        if isinstance(value, list) and value and all(isinstance(line, str) for line in value):
            return name, "\n".join(value)
    return None, ""


def pieces_of_tool(arguments: Mapping[str, Any]) -> Iterator[Piece]:
    """Pieces that an editing tool writes, told by the names of its arguments."""
    _, path = _first(arguments, PATHS)
    edits = arguments.get("edits")
    if isinstance(edits, list):
        for edit in edits:
            if isinstance(edit, dict):
                yield Piece(path, _first(edit, NEW)[1], _first(edit, OLD)[1], "replace", None, "edits")
        return
    name, patch = _first(arguments, PATCHES)
    if name is not None and ("\n+++ " in patch or "*** " in patch or patch.startswith(("--- ", "+++ "))):
        yield from pieces_of_patch(patch, 0, name)
        return
    old_name, old = _first(arguments, OLD)
    name, new = _first(arguments, NEW)
    if old_name is not None or name is not None:
        how: How = "insert" if old_name is None else "replace"
        yield Piece(path, new, old, how, 0, name)
        return
    name, whole = _first(arguments, WHOLE)
    if name is not None:
        yield Piece(path, whole, "", "write", 0, name)
