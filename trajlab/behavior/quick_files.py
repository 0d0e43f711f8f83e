"""The short way to the files of a shell text, for the plain commands that most are.

For a text of a known shape it is known which of its commands bear on files; only these are looked at. It gives up
(``None``) at the first thing it does not know; where it answers, it answers as :mod:`trajlab.behavior.shell_files`
would (a test compares them).
"""

from __future__ import annotations

import re
from functools import lru_cache

from trajlab.behavior.masks import mask_of
from trajlab.behavior.paths import changed_folder, clean_path
from trajlab.behavior.shapes import FILTER, GIT, Opened, Reading, Shape, starts_of
from trajlab.behavior.shell import Known, Row
from trajlab.behavior.touches import CHANGED, DELETED, EVERYTHING, RUN, SHOWN, WRITTEN, Touch
from trajlab.behavior.written_paths import paths_of_code

_EDIT, _VCS, _FILEOP, _SCRIPT, _READ, _SEARCH = (
    mask_of(frozenset({label})) for label in ("edit", "vcs", "fileop", "script", "read", "search")
)
_GIT_TOUCHES = frozenset({"show", "blame", "checkout", "restore", "reset", "rm", "mv", "apply"})

_BLANK = r"[ \t]++"
_PATH = r"((?!-)[\w./+@-]++)(?=[ \t\n|;&]|\Z)"
_QUOTED = r"(?:'[^'\n]*+'|\"[^\"\\$`\n]*+\")"
_COUNT = rf"(?:{_BLANK}-(?:n[ \t]*+)?\+?[0-9]++)?+"
_END = rf"(?:{_BLANK}2>(?:&1|[ \t]?/dev/null))*+[ \t]*+(?=[|;\n]|&&|\Z)"

_GO, _DIFF, _OPEN = "go", "diff", "open"
"""Ways that are no touch by themselves: ``cd``, ``git diff``, what stands in a heredoc."""
_PATTERNS = {
    how: re.compile(rf"[;&|\s]*+(?:[A-Z][A-Z_]*+=[\w./:-]*+[ \t]++)*+{pattern}", re.ASCII)
    for how, pattern in {
        SHOWN: rf"(?:cat|nl(?:{_BLANK}-ba)?+|sed{_BLANK}-n{_BLANK}(?:{_QUOTED}|[0-9,$p]++)|(?:head|tail){_COUNT})"
        rf"{_BLANK}{_PATH}{_END}",
        _GO: rf"cd(?:{_BLANK}([\w./-]++))?{_END}",
        RUN: rf"(?:/usr/bin/)?python3?{_BLANK}(?:-u{_BLANK})?([\w./-]++(?<=\.py))(?=[ \t\n|;&]|\Z)",
        CHANGED: rf"sed{_BLANK}-i{_BLANK}({_QUOTED}){_BLANK}{_PATH}{_END}",
        _DIFF: rf"git(?:{_BLANK}--no-pager)?{_BLANK}diff"
        rf"(?:{_BLANK}(?:((?!-)[\w./+-]++(?<=\.py))(?=[ \t\n|;&]|\Z)|(--stat)))?{_END}",
        DELETED: rf"rm(?:{_BLANK}-[rf]++)?+((?:{_BLANK}(?!-)[\w./+@-]++)++){_END}",
    }.items()
}
"""One command with what stands before it; the first groups are the path (of ``sed -i``: the second)."""

Step = tuple[int, int, str, re.Pattern[str]]
"""Position of a simple command, its place among those told one by one, what it does, and what tells its files."""
_NOTHING = re.compile(r"(?!)")


def quick_touches(text: str, known: Known, reading: Reading | None) -> tuple[Touch, ...] | None:
    """Return what a plain shell text does to files, or ``None`` where it is not plain enough.

    Args:
        text: The shell text.
        known: What is known of its shape.
        reading: The text by its shape.
    """
    plan = plan_of(known)
    if plan is None or reading is None:
        return None
    folder, steps = plan
    if not steps:
        return ()
    found: list[Touch] = []
    start, opened = reading
    at, following = start, 0
    for position, place, how, pattern in steps:
        if how is _OPEN:
            _opened(opened, position, folder, found)  # type: ignore[arg-type]
            continue
        match = pattern.match(text, at if place == following else starts_of(text, start)[place])
        if match is None:
            return None
        at, following = match.end(), place + 1
        path = match[1]
        before = None
        if how is CHANGED:
            before, path = path[1:-1], match[2]
        elif how is _GO:
            folder = changed_folder(path, folder) if path else folder
            continue
        elif how is _DIFF:
            how = SHOWN
            if path is None:
                if match[2] is None:
                    found.append((position, EVERYTHING, SHOWN, None, None))
                continue
        for word in (path,) if how is not DELETED else path.split():
            clean = clean_path(word, folder)
            if clean is not None:
                found.append((position, clean, how, before, None))
    return tuple(found)


def _opened(opened: Opened | str, position: int, folder: str, found: list[Touch]) -> None:
    """Add what the program or file in a heredoc does, or the file that the text is about."""
    if isinstance(opened, str):
        clean = clean_path(opened, folder)
        if clean is not None:
            found.append((position, clean, SHOWN, None, None))
        return
    path, adds, body = opened
    for word, how in paths_of_code(body) if path is None else ((path, CHANGED if adds else WRITTEN),):
        clean = clean_path(word, folder)
        if clean is not None:
            found.append((position, clean, how, None, None if path is None or adds else body))


@lru_cache(maxsize=512)
def plan_of(known: Known) -> tuple[str, tuple[Step, ...]] | None:
    """The folder that texts of a shape begin in, and which of their commands bear on files, and how.

    ``None`` where the short way does not know.
    """
    shape, rows = known.shape or (), known.rows
    if shape and shape[0] == "":
        return _plan_of_simple(shape, rows)
    opened = [part for part in shape if not isinstance(part, tuple)]
    commands = [part for part in shape[len(opened) :] if isinstance(part, tuple) and any(part)]
    first = 2 if opened and opened[0] else 1 if opened else 0
    if not shape or len(rows) != first + len(commands):
        return None
    steps: list[Step] = []
    if opened:
        if not _is_told(opened, rows[first - 1]):
            return None
        if rows[first - 1][1] & _EDIT:
            steps.append((first - 1, -1, _OPEN, _NOTHING))
    for place, (command, row) in enumerate(zip(commands, rows[first:], strict=True)):
        how = _way(command, row)
        if how is None:
            return None
        if how:
            steps.append((first + place, place, how, _PATTERNS[how]))
    while steps and steps[-1][2] is _GO:
        steps.pop()
    return changed_folder(str(opened[0])[2:].strip(), "") if opened and opened[0] else "", tuple(steps)


def _plan_of_simple(shape: Shape, rows: tuple[Row, ...]) -> tuple[str, tuple[Step, ...]] | None:
    """The same for a file or a search, with a folder before it and simple filters behind it."""
    _, folder, *commands = shape
    first = 0 if folder is None else 1
    mask = rows[first][1]
    told = len(rows) == first + 3 - commands[3:].count(None) and not any(row[1] for row in rows[first + 1 :])
    is_file = commands[2] is None
    if not told or mask not in ((_READ,) if is_file else (0, _SEARCH)):
        return None
    start = changed_folder(str(folder)[2:].strip(), "") if folder else ""
    return start, ((first, -1, _OPEN, _NOTHING),) if is_file else ()


def _is_told(opened: list[object], row: Row) -> bool:
    """Whether the short way knows what inline Python, or the file in a heredoc, does to files."""
    program, mask, _, _ = row
    if opened[1] == "cat":
        return program == "cat" and bool(mask & _EDIT)
    if mask & _EDIT:
        return program == "python" and not opened[3]
    return not mask & (_VCS | _FILEOP | _SCRIPT | _READ)


def _way(command: tuple[str, ...], row: Row) -> str | None:
    """What a simple command does to files, by what is known of it; empty: nothing."""
    program, mask, _, _ = row
    if program == "cd":
        return _GO if mask else ""
    if not mask or mask == _SEARCH:
        return ""
    if mask == _READ:
        return None if command[FILTER] else SHOWN
    if mask & _EDIT:
        return CHANGED if program == "sed" and not command[FILTER] else None
    if mask & _VCS:
        return _way_of_git(command[GIT]) if program == "git" else ""
    if mask & _FILEOP:
        return DELETED if program == "rm" else None
    return RUN if mask & _SCRIPT and program == "python" else ""


def _way_of_git(words: str) -> str | None:
    verb = words.split()[-1] if words else "-"
    if verb == "diff":
        return _DIFF
    return None if verb[0] == "-" or verb in _GIT_TOUCHES else ""
