"""Paths that code and patches write, read from their text; nothing is executed, and what is unsure is left out."""

from __future__ import annotations

import re
from collections.abc import Iterator

from trajlab.behavior.caching import cached_by_text

Written = tuple[str, str]
"""A path and what is done to it: ``written`` (made or changed), ``created``, ``changed`` or ``deleted``."""

MAX_CODE = 200_000
MAX_NAMES = 20
"""Variables that are looked up: each costs a pass over the code."""

_LITERAL = r"(['\"])([^'\"\n]{1,300})\1"
_OPEN = re.compile(
    r"open\([ \n]{0,20}(?:[rbu]?" + _LITERAL + r"|([A-Za-z_]\w{0,80}))[ \n]{0,20},[ \n]{0,20}(?:mode ?= ?)?"
    r"['\"][rbtU]{0,3}[wax+]"
)
_METHODS = (".write_text(", ".write_bytes(")
_BEFORE_METHOD = re.compile(r"(?:Path\([ ]?" + _LITERAL + r"[ ]?\)|\b([A-Za-z_]\w{0,80}))\Z")
_READS = ("readFileSync(", "r+'", 'r+"', ", 'a'", ', "a"')
"""A program that reads before it writes changes files that are there."""
_COPY = re.compile(r"(?:copy|copy2|copyfile|move|rename|replace)\([^,()\n]{1,200},[ ]?" + _LITERAL + r"\)")
_REMOVE = re.compile(r"os\.(?:remove|unlink)\([ ]?" + _LITERAL)
_OTHER = re.compile(
    r"(?:writeFile|writeFileSync|appendFile|appendFileSync|createWriteStream|Bun\.write|Deno\.writeTextFile|"
    r"Deno\.writeTextFileSync|File\.write|IO\.write|file_put_contents|fopen|File\.open|io\.open)\([ ]?" + _LITERAL
)
_QUOTED = re.compile(_LITERAL)
_FILE_NAME = re.compile(r"[\w@.+~-]*(?:/[\w@.+~ -]+)*\.\w{1,8}\Z")

_PATCH = re.compile(r"^--- ([^\t\n]{1,400})[^\n]*\n\+\+\+ ([^\t\n]{1,400})", re.MULTILINE)
_APPLY_PATCH = re.compile(r"^[ \t]{0,8}\*\*\* (?:(Update|Add|Delete) File|Move to): ([^\n]{1,400})$", re.MULTILINE)
_NULL = "/dev/null"


@cached_by_text(maxsize=256)
def paths_of_code(code: str, program: str = "python") -> tuple[Written, ...]:
    """Files that a program explicitly writes or removes.

    A path counts where it is a literal in the writing call, or a variable to which a literal is given in the same
    text: by assignment, as the value of a loop, or as the argument of a function whose first parameter it is.

    Args:
        code: The program.
        program: Its interpreter.
    """
    if len(code) > MAX_CODE:
        return ()
    found: dict[Written, None] = {}
    names: dict[str, None] = {}
    for method in _METHODS if ".write_" in code else ():
        place = code.find(method)
        while place >= 0:
            line = code[max(code.rfind("\n", 0, place) + 1, place - 320) : place]
            if before := _BEFORE_METHOD.search(line):
                _add(found, names, before)
            place = code.find(method, place + 1)
    if "open(" in code:
        for match in _OPEN.finditer(code):
            _add(found, names, match)
    for name in list(names)[:MAX_NAMES]:
        for path in _values(code, name):
            found[(path, "written")] = None
    if program != "python":
        for match in _OTHER.finditer(code):
            found[(match[2], "written")] = None
    if found and (".read" in code or any(word in code for word in _READS)):
        found = {(path, "changed"): None for path, _ in found}
    if "shutil" in code or "os.re" in code:
        for match in _COPY.finditer(code):
            found[(match[2], "written")] = None
        for match in _REMOVE.finditer(code):
            found[(match[2], "deleted")] = None
    return tuple(found)


def _add(found: dict[Written, None], names: dict[str, None], match: re.Match[str]) -> None:
    """The literal of a writing call, or the name that holds the path."""
    if match[2] is not None:
        found[(match[2], "written")] = None
    elif match[3] is not None:
        names[match[3]] = None


def _values(code: str, name: str) -> list[str]:
    """File names given to a variable in the same text."""
    lines = _lines_with(code, name + " = ") or _lines_with(code, name + "=") or _lines_with(code, f"for {name} in ")
    if lines:
        return [path for line in lines for path in _file_names(line)]
    found: list[str] = []
    for line in _lines_with(code, f"({name}"):
        if line.startswith("def ") and line[line.find("(") + 1 :].startswith(name):
            found.extend(_arguments(code, line[4 : line.find("(")].strip()))
    return found


def _lines_with(code: str, words: str) -> list[str]:
    """Lines that begin with these words, indentation aside; for ``(name``, lines that hold them."""
    found: list[str] = []
    place = code.find(words)
    while place >= 0 and len(found) < 50:
        start = code.rfind("\n", 0, place) + 1
        if words[0] == "(" or code[start:place].isspace() or start == place:
            stop = code.find("\n", place)
            found.append(code[start : len(code) if stop < 0 else stop][:600].strip())
        place = code.find(words, place + len(words))
    return found


def _file_names(text: str) -> Iterator[str]:
    literals = [match[2] for match in _QUOTED.finditer(text)]
    joined = "/".join(part.strip("/") for part in literals) if "join(" in text or "' /" in text else ""
    for literal in [joined] if joined and len(literals) > 1 else literals:
        if _FILE_NAME.match(literal):
            yield literal


def _arguments(code: str, function: str) -> Iterator[str]:
    if not function.isidentifier():
        return
    for match in re.finditer(rf"(?<!def )\b{function}\([ \n]{{0,20}}{_LITERAL}", code):
        if _FILE_NAME.match(match[2]):
            yield match[2]


@cached_by_text(maxsize=256)
def paths_of_patch(text: str) -> tuple[Written, ...]:
    """Files of a unified diff or of an ``apply_patch`` text (``*** Update File: …``)."""
    found: list[Written] = []
    if "*** " in text:
        for match in _APPLY_PATCH.finditer(text):
            action = {"Update": "changed", "Add": "created", "Delete": "deleted", None: "created"}[match[1]]
            if match[1] is None and found:
                found[-1] = (found[-1][0], "deleted")
            found.append((match[2].strip(), action))
    if "\n+++ " in text:
        for match in _PATCH.finditer(text):
            old, new = match[1].strip(), match[2].strip()
            if new == _NULL:
                found.append((_without_prefix(old, "a/"), "deleted"))
            else:
                found.append((_without_prefix(new, "b/"), "created" if old == _NULL else "changed"))
    return tuple(found)


def _without_prefix(path: str, prefix: str) -> str:
    return path[2:] if path.startswith(prefix) else path
