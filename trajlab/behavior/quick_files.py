"""The short way to the files of a shell text, for the plain commands that most are.

It gives up (``None``) at the first thing it does not know; where it answers, it answers as
:mod:`trajlab.behavior.shell_files` would (a test compares them).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from trajlab.behavior.lexer_tables import QUICK_HEREDOC
from trajlab.behavior.masks import mask_of
from trajlab.behavior.paths import changed_folder, clean_path
from trajlab.behavior.shell import Row
from trajlab.behavior.touches import CHANGED, DELETED, EVERYTHING, RUN, SHOWN, WRITTEN, Touch
from trajlab.behavior.written_paths import paths_of_code

_SCRIPT = mask_of(frozenset({"script"}))

_BLANK = r"[ \t]++"
_PATH = r"(?!-)[\w./+@-]++(?=[ \t\n|;&]|\Z)"
_QUOTED = r"(?:'[^'\n]*+'|\"[^\"\\$`\n]*+\")"
_WORD = rf"(?:{_QUOTED}|[^\s'\"\\$`|&;<>(){{}}]++)++"
_WORDS = rf"(?:{_BLANK}{_WORD})*+"
_COUNT = rf"(?:{_BLANK}-(?:n[ \t]*+)?\+?[0-9]++)?+"

_COMMANDS = re.compile(
    rf"(?:(?:\A|&&|[;\n])[ \t\n]*+(?:"
    rf"(?:cat|nl(?:{_BLANK}-ba)?+|sed{_BLANK}-n{_BLANK}(?:{_QUOTED}|[0-9,$p]++)|(?:head|tail){_COUNT})"
    rf"{_BLANK}(?P<shown>{_PATH})"
    rf"|cd{_BLANK}(?P<folder>{_PATH})"
    rf"|python3?{_BLANK}(?P<run>(?!-)[\w./+-]++(?<=\.py)(?=[ \t\n|;&]|\Z)){_WORDS}"
    rf"|sed{_BLANK}-i{_BLANK}(?P<script>{_QUOTED}){_BLANK}(?P<changed>{_PATH})"
    rf"|git{_BLANK}diff(?:{_BLANK}(?P<diffed>(?!-)[\w./+-]++(?<=\.py)(?=[ \t\n|;&]|\Z))"
    rf"|(?P<everything>)(?=[ \t]*+(?:[;&|\n]|\Z)))"
    rf"|rm(?:{_BLANK}-[rf]++)?+{_BLANK}(?P<deleted>{_PATH}(?:{_BLANK}{_PATH})*+)"
    rf"|(?P<nothing>(?:grep|egrep|ls|pwd|pytest|python3?{_BLANK}-m{_BLANK}(?:pytest|unittest)"
    rf"|git{_BLANK}(?:status|log|add|commit|stash|branch|diff{_BLANK}--stat)){_WORDS})"
    rf")|\|[ \t\n]*+(?:(?P<part>(?:head|tail){_COUNT}|sed{_BLANK}-n{_BLANK}{_QUOTED})"
    rf"|(?P<filter>(?:grep|wc|sort|uniq){_WORDS}))"
    rf")(?:{_BLANK}2>(?:&1|[ \t]?/dev/null))*+[ \t]*+(?=[|;\n]|&&|\Z)|(?s:(?P<odd>.).*+)",
    re.ASCII,
)
_FOLDER = r"(?:cd[ \t]++([\w./-]++)[ \t]*+&&[ \t]*+)?"
_PYTHON_HEREDOC = re.compile(
    rf"{_FOLDER}python3?(?:[ \t]++-)?[ \t]*+<<[ \t]*+(['\"]?)(\w++)\2[ \t]*+\n", re.ASCII
)
_CAT_HEREDOC = re.compile(rf"{_FOLDER}cat(?=[ \t<>])", re.ASCII)


def quick_touches(text: str, rows: Sequence[Row], *, edits: bool) -> list[Touch] | None:
    """Return what a plain shell text does to files, or ``None`` where it is not plain enough.

    Args:
        text: The shell text.
        rows: Its simple commands, as ``shell.command_facts`` tells them.
        edits: It is known to author file content.
    """
    found: list[Touch] = []
    position, folder, start = 0, "", 0
    if "<<" in text:
        opened = _heredoc(text, found, edits=edits)
        if opened is None:
            return None
        position, folder, start = opened
    end = len(text.rstrip())
    shows = False
    for match in _COMMANDS.finditer(text, start, end) if start < end else ():
        kind = match.lastgroup
        path = match[kind] if kind else ""
        how = _HOW.get(kind or "")
        if kind == "run" and position < len(rows) and not rows[position][1] & _SCRIPT:
            how = None  # a runner of tests
        if how is not None:
            for word in path.split() if kind == "deleted" else (path,):
                clean = clean_path(word, folder)
                if clean is not None:
                    found.append((position, clean, how, match["script"][1:-1] if kind == "changed" else None, None))
        elif kind == "folder":
            folder = changed_folder(path, folder)
        elif kind == "everything":
            found.append((position, EVERYTHING, SHOWN, None, None))
        elif kind == "odd" or (kind == "filter" and shows):
            return None
        shows = kind == "shown" or (shows and kind == "part")
        position += 1
    return found if position == len(rows) else None


_HOW = {"shown": SHOWN, "diffed": SHOWN, "changed": CHANGED, "run": RUN, "deleted": DELETED}


def _heredoc(text: str, found: list[Touch], *, edits: bool) -> tuple[int, str, int] | None:
    """Read ``cat <<EOF > file`` or ``python - <<EOF``; commands read, folder, and where it ends."""
    python = _PYTHON_HEREDOC.match(text)
    if python is not None:
        start, delimiter, path = python.end(), python[3], ""
    else:
        cat = _CAT_HEREDOC.match(text)
        written = QUICK_HEREDOC.match(text, cat.end()) if cat is not None else None
        if cat is None or written is None:
            return None
        start, delimiter, path = written.end(), written[1] or written[4], written[2] or written[3]
    inside = (python or cat)[1]  # type: ignore[index]
    folder = changed_folder(inside, "") if inside else ""
    position = 1 if inside else 0
    stop = text.find("\n" + delimiter, start - 1)
    end = stop + 1 + len(delimiter)
    if stop < 0 or (end < len(text) and text[end] != "\n"):
        return None
    body = text[start : stop + 1]
    pairs = [(path, WRITTEN)] if python is None else paths_of_code(body) if edits else ()
    for word, how in pairs:
        clean = clean_path(word, folder)
        if clean is not None:
            found.append((position, clean, how, None, body if python is None else None))
    return position + 1, folder, end
