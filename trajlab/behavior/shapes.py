"""The shape of a shell text: what is left when all is dropped that changes nothing of what is known of it.

``sed -n '5,9p' a.py | head -n 20`` and ``sed -n '1p' b.c | head -n 7`` are of one shape. Texts of one shape have
the same facts (programs, labels, scopes, rules), which need to be worked out for the first of them only; a shape
says nothing of what they are. Only texts made of the commonest commands have a shape, and reading it takes a
fraction of the time of reading the text (a test compares the facts over many texts).
"""

from __future__ import annotations

import re

from trajlab.behavior.inline_code import writes_in_plain_sight
from trajlab.behavior.plain import PLAIN
from trajlab.behavior.rules import RUNNER_FILES, words

MAX_COMMANDS_LENGTH = 4_096
"""Longer texts (but for the inside of heredocs and inline Python) have no shape."""
MAX_COMMANDS = 16

Shape = tuple[object, ...]

_BARE = r"[^\x00-\x20\x7f'\"\\$`|&;<>()]"
_END = r"(?=[ \t\n|;&]|\Z)"
_DOUBLE_QUOTED = r"(?:[^\"\\$`]++|\\[^\r\n]|\$(?![({]))*+"
_PIECES = rf"(?:{_BARE}++|'[^']*+'|\"{_DOUBLE_QUOTED}\"|\\[^\r\n])++{_END}"
_WORDS = rf"(?:[ \t]++(?!\#|--[hv]|--?['\"\\]|''|\"\"|['\"\\]-){_PIECES})*+"
"""Any words but a comment, ``--help``, ``--version``, and those that cannot be told from them at their start."""
_OPERAND = rf"(?!['\"\\]?[-#]|''|\"\"){_PIECES}"
_FLAGS = rf"(?:[ \t]++-[A-Za-z]++{_END})*+"

_FILTER = (
    rf"\|(?:[ \t\n]|\\\n)*+(?P<filter>head|tail|grep|egrep|sed|sort|uniq|wc|cut|tr|nl|cat){_END}"
    rf"(?:[ \t]++-[nABCm]?[0-9]++{_END})?+({_FLAGS})(?:([ \t]++-[nABCm])[0-9]++{_END})?"
    rf"(?:(?P<operand>[ \t])[ \t]*+{_OPERAND})?(?:([ \t])[ \t]*+{_OPERAND})?"
    rf"(?:([ \t]++-[nABCm])[ \t]++[0-9]++{_END})?"
)
"""A program that may read the pipe: its flags, and how many operands it has, tell whether it does."""

_PYTEST = (
    r"(?:[ \t]++(?:-[qvxsl]++|-r[A-Za-z]++|-p[ \t]++no:\w++|-W[ \t]++\w++|--(?:tb|color|maxfail|durations|capture)=\w++"
    r"|--no-header|--disable-warnings|--doctest-modules"
    r"|(-k)[ \t]++(?:'[A-Za-z_][^']*+'|\"[A-Za-z_][^\"\\$`]*+\"|[A-Za-z_]\w*+)"
    rf"|[\w.][\w./-]*+(::){_BARE}*+|[\w.][\w./-]*(\.py)"
    rf"|[A-Za-z]\w*+(/)[A-Za-z]\w*+(?:/[A-Za-z]\w*+)*+/?){_END})*"
    rf"(?:[ \t]++([a-z]\w*+/?|\.){_END})?"
)
"""What selects tests leaves a mark: ``-k``, ``::``, a file, a folder in a folder; one folder stays as written."""

_UNITTEST = rf"(?:[ \t]++-v)?[ \t]++(?:[a-z]\w*+\.)*(?:([A-Z])\w*+(?:\.(?!py\b)\w++)*+|(test_)\w*+){_END}"
_DJANGO = (
    r"(?:[ \t]++(?:--(?:verbosity|settings|parallel)=[\w.]++|(?:-v|--verbosity|--parallel)[ \t]++[0-9]++"
    r"|--settings[ \t]++[a-z][\w.]*+|-v[0-9]|--failfast|--noinput|--keepdb"
    rf"|(?!(?:tests?|testing|specs?|t){_END})(?:(?<=([ \t]))(?:[a-z]\w*+\.)*[A-Z]\w*+(?:\.\w++)*+"
    r"|(?<=([ \t]))(?:[a-z]\w*+\.)*(?:test_\w*+|(?<=\.)tests?)|(?<=([ \t]))[a-z]\w*+(?:\.[a-z]\w*+)*+)(?<!\.py)"
    rf"){_END})*"
)
"""A dotted name leaves a mark: it holds a class, ends in a module of tests, or names a package."""
_OWN_FILES = "|".join(
    re.escape(name)
    for name in sorted({*RUNNER_FILES, "manage.py", "setup.py", "pytest.py"})
    if name.endswith(".py") and "/" not in name
)
"""Source files that do more than run: the project's runners of tests, and ``manage.py``."""
_PYTHON = r"(?:/usr/bin/)?python3?"
_PYTHON_AFTER_P = r"(?:(?<=p)|(?<=/)usr/bin/p)ython3?"
_SCRIPT = rf"(?:-u[ \t]++)?(?!-)/?(?:[\w.-]++/)*+(?!(?:{_OWN_FILES}){_END})\w[\w-]*+\.py{_END}{_WORDS}"
_RUNNERS = (
    rf"((?:{_PYTHON}[ \t]++)?(?:\.?[a-z]*/)*+(?:runtests\.py|manage\.py[ \t]++test(?=[ \t]))){_DJANGO}"
    rf"|((?:{_PYTHON}[ \t]++)?(?:\./)?bin/test)(?:[ \t]++[a-z][\w/]*+\.py{_END})++"
)
_FIND = rf"f(ind)(?:[ \t]++(?:-(?:i?name|type|i?path|maxdepth|mindepth|not|o|a|print|i?regex){_END}|{_OPERAND}))*+"
_ECHO = (
    rf"e(cho)(?:[ \t]++(?:(?:(?![_#]){_BARE}|_(?!F))++|'(?:[^'_]++|_(?!F))*+'"
    rf"|\"(?:[^\"\\$`_]++|_(?!F))*+\"){_END})*+"
)
"""The words of ``echo`` must not hold the marker that ends a task (``…_FINAL_OUTPUT``)."""

_SILENT = rf"(?:[ \t]++2>(?:&1|[ \t]?/dev/null){_END})*+[ \t]*+"
_COMMAND = (  # a branch whose first letter stands before its group is passed over sooner
    rf"s(ed{_FLAGS})(?:[ \t]++{_OPERAND})*+"
    rf"|c(d(?:[ \t]++[\w./-]++{_END})?)"
    rf"|[p/](?:({_PYTHON_AFTER_P})[ \t]++(?:{_SCRIPT}|(-m[ \t]++unittest){_UNITTEST})"
    rf"|((?:{_PYTHON_AFTER_P}[ \t]++-m[ \t]++p|(?<=p))ytest){_PYTEST})"
    rf"|g(?P<git>it(?:[ \t]++--no-pager)?[ \t]++[a-z-]++){_WORDS}"
    rf"(?:[ \t]++(>)[ \t]*+[\w./-]++(?<=\.txt|\.log){_END})?"
    rf"|{_FIND}|{_ECHO}|p(wd){_END}"
    rf"|(?!pyt)(?P<name>[a-z]++){_WORDS}"
    rf"|{_RUNNERS}"
    r"|(?<=\n)\Z"
)
_COMMANDS = re.compile(
    rf"(?:{_FILTER}|(?:\A|&&|\|\||[;\n])(?:[ \t\n]|\\\n)*+(?:[A-Z][A-Z_]*+=[\w./:-]*+[ \t]++)*+(?:{_COMMAND}))"
    rf"{_SILENT}(?=[|;\n]|&&|\Z)|(?s:(.).*+)",
    re.ASCII,
)
"""One command and what stands before it; the last group: nothing we know, and the rest of the text with it.

The groups hold all that may change the facts.
"""
GIT, NAME, FILTER, OPERAND = (_COMMANDS.groupindex[name] - 1 for name in ("git", "name", "filter", "operand"))
"""Places in the part of a shape that is one command's."""

_FOLDER = r"(?:(cd[ \t]++[\w./-]++)[ \t]*+&&[ \t]*+)?"
_FEWER = rf"\|[ \t]*+(sort|uniq)(?:[ \t]++-[cdnruf]++{_END})*+[ \t]*+"
_ENDS = r"\|[ \t]*+(head|tail)(?:[ \t]++-(?:n[ \t]*+)?[0-9]++)?+[ \t]*+"
_SIMPLE = re.compile(
    rf"(){_FOLDER}(?:(?:(sed[ \t]++-n)[ \t]++(?:'[^'\n]*+'|\"[^\"\\$`\n]*+\"|[0-9,$p]++)|(cat|nl(?:[ \t]++-ba)?+))"
    rf"[ \t]++(?P<path>(?!-)[\w./+@-]++){_END}|(grep|egrep|ls){_WORDS}){_SILENT}"
    rf"(?:{_FEWER})?+(?:{_ENDS})?+\Z",
    re.ASCII,
)
"""The commonest texts of all: a file or a search, with a folder before and simple filters behind it.

They would have a shape without this, too; here it takes half the time. The first group is always empty, which tells
these shapes from others.
"""
_BUT_PATH = tuple(sorted(set(range(1, _SIMPLE.groups + 1)) - {_SIMPLE.groupindex["path"]}))
_INLINE = re.compile(
    rf"{_FOLDER}({_PYTHON})[ \t]++-c[ \t]++(?:'([^']*+)'|\"({_DOUBLE_QUOTED})\"){_END}{_SILENT}", re.ASCII
)
_ESCAPED = re.compile(r"\\([\"\\$`])")
_DOCUMENT = re.compile(
    rf"{_FOLDER}(?:({_PYTHON})(?:[ \t]++-)?[ \t]*+<<[ \t]*+(['\"]?)(\w++)\3"
    r"|cat[ \t]*+(?:<<[ \t]*+(['\"]?)(\w++)\5[ \t]*+(>{1,2})[ \t]*+(?!/dev/)([\w./-]++)"
    r"|(>{1,2})[ \t]*+(?!/dev/)([\w./-]++)[ \t]*+<<[ \t]*+(['\"]?)(\w++)\11))[ \t]*+\n",
    re.ASCII,
)

_TELLING = frozenset(PLAIN) - {"edit"}
"""Programs whose name says everything, so that their words are dropped (``edit`` may be SWE-agent's)."""
_TELLING_OF_GIT = words(
    "add blame branch checkout clean commit config diff fetch grep log merge mv pull remote reset restore"
    " rev-parse rm show stash status tag"
)


Opened = tuple[str | None, bool, str]
"""What a text gives in a heredoc: the file (``None``: a program), whether it is added to the file, and the body."""

Reading = tuple[int, Opened | str | None]
"""Where the commands of a text begin that its shape tells one by one, and what stands before them.

A text instead: the one file that the whole text is about.
"""


def shape_of(text: str) -> Shape | None:
    """Return the shape of a text, or ``None`` where it has none."""
    found = read_shape(text)
    return None if found is None else found[0]


def read_shape(text: str) -> tuple[Shape, Reading] | None:
    """Return the shape of a text and what it drops, or ``None`` where the text has none."""
    if "<<" in text:
        document = _document(text)
        if document is not None:
            return document
    elif " -c " in text and (found := _INLINE.match(text)):
        code = found[3]
        if code is None:
            code = found[4]
            if "\\" in code:
                code = _ESCAPED.sub(r"\1", code)
        writes = writes_in_plain_sight(code)
        return None if writes is None else _followed((found[1], found[2], writes, True), text, (found.end(), None))
    elif found := _SIMPLE.match(text):
        path = found["path"]
        return found.group(*_BUT_PATH), WHOLE if path is None else (0, path)
    return _followed((), text, WHOLE)


WHOLE: Reading = (0, None)
"""The shape tells all commands one by one."""


def _followed(shape: Shape, text: str, reading: Reading) -> tuple[Shape, Reading] | None:
    """The shape with the commands that follow."""
    end = reading[0]
    rest = len(text) - end
    if not rest:
        return (shape, reading) if shape else None
    if rest > MAX_COMMANDS_LENGTH:
        return None
    commands = _COMMANDS.findall(text, end)
    if commands[-1][-1] or len(commands) > MAX_COMMANDS:
        return None
    return (*shape, *commands), reading


def starts_of(text: str, end: int) -> list[int]:
    """Return where the commands begin, those from ``end`` on, that a shape tells one by one."""
    return [found.start() for found in _COMMANDS.finditer(text, end)]


def _document(text: str) -> tuple[Shape, Reading] | None:
    """Shape of a Python program or a new file given in a heredoc, and of what follows it."""
    found = _DOCUMENT.match(text)
    if found is None:
        return None
    folder, python, _, program_end, _, end_before, how_before, path_before, how, path, _, end_after = found.groups()
    start = found.end()
    delimiter = program_end or end_before or end_after
    stop = text.find("\n" + delimiter, start - 1)
    if stop < 0:
        return None
    end = stop + 1 + len(delimiter)
    if end < len(text) and text[end] != "\n":
        return None
    body = text[start : stop + 1]
    if python is None:
        adds = how_before == ">>" or how == ">>"
        return _followed((folder, "cat"), text, (end, (path_before or path, adds, body)))
    writes = writes_in_plain_sight(body)
    if writes is None:
        return None
    return _followed((folder, python, writes, False), text, (end, (None, False, body)))


def holds(shape: Shape) -> bool:
    """Whether all texts of this shape have the same facts."""
    for command in shape:
        if isinstance(command, tuple):
            if command[NAME] and command[NAME] not in _TELLING:
                return False
            if command[FILTER] == "wc" and command[OPERAND]:
                return False
            if command[GIT] and command[GIT].split()[-1] not in _TELLING_OF_GIT:
                return False
    return True
