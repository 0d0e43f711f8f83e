"""What a program given on the command line or standard input does: writes files, drives a test framework.

Python is read with ``ast``; other languages, and Python that does not parse, by their tell-tale calls.
Nothing is executed or imported.
"""

from __future__ import annotations

import ast
import re
import warnings

from trajlab.behavior.inline_tables import (
    HARMLESS,
    IN_NOT_PLAIN,
    MODULE_TEST_CALLS,
    NOT_PLAIN,
    OTHER_WRITES,
    PYTHON_TEST_TOKENS,
    PYTHON_WRITE_TOKENS,
    SUSPECT,
    TELLTALES,
    TEMPORARY,
    WRITE_CALLS,
    WRITE_METHODS,
)
from trajlab.behavior.rules import FRAMEWORKS
from trajlab.behavior.scopes import BREADTH, scope_of_run

MAX_PARSED = 200_000
"""Longer inline programs are read by tokens: parsing them would take seconds."""

_STRINGS = re.compile(  # one set of first characters, which is passed over quickly
    r"['\"#](?:(?<=')(?:''(?:[^'\\]++|\\.|'(?!''))*+'''|(?!'')(?:[^'\\\n]++|\\.)*+')"
    r'|(?<=")(?:""(?:[^"\\]++|\\.|"(?!""))*+"""|(?!"")(?:[^"\\\n]++|\\.)*+")'
    r"|(?<=\#)[^\n]*+|(?<=(['\"])).*+)",
    re.DOTALL,
)
"""Strings and comments of Python; the group: the quote of a string without an end, with which all that follows goes."""
_CUT_FIELD = re.compile(r"[fF][rR]?['\"](?:[^'\"\n{]*+\{[^}'\"\n]*+\})*+[^'\"\n{]*+\{[^}'\"\n]*+['\"\n]")
"""An f-string with a quote or the line's end inside its braces: how it is read depends on Python's version."""

_WRITE_MODE = re.compile(r"[rbtU]*[wax+][rbt+]*\Z")


def inspect_python(code: str) -> tuple[bool, str | None, list[str]]:
    """Tell what inline Python does.

    Returns:
        Whether it explicitly writes a file of the work tree; the scope of the tests it drives (``None``
        where it drives none); command lines it hands to a shell or a process, as shell text.
    """
    writes = writes_in_plain_sight(code)
    if writes is not None:
        return writes, None, []
    if len(code) <= MAX_PARSED and code.count("(") < 5_000:
        tree = _parsed(code)
        if tree is not None:
            return _Inspection(tree).result()
    return bool(PYTHON_WRITE_TOKENS.search(code)), "all" if PYTHON_TEST_TOKENS.search(code) else None, []


def writes_in_plain_sight(code: str) -> bool | None:
    """Whether inline Python writes a file, where it does nothing else that matters and that shows without parsing.

    Most programs are of this kind, and parsing them costs ten times as much. ``None``: it does not show.
    """
    if ".write_text(" in code:
        return True if _plainly_writes(code) else None
    if (not code.isascii() or _has_any(code, TELLTALES)) and SUSPECT.search(code):
        rest = HARMLESS.sub(" ", code)
        return None if "makeSuite" in rest or "discover" in rest or SUSPECT.search(rest) else False
    return False


def _has_any(code: str, words: tuple[str, ...]) -> bool:
    for word in words:  # noqa: SIM110 - any() takes twice the time
        if word in code:
            return True
    return False


def _plainly_writes(code: str) -> bool:
    """A call of ``.write_text`` in plain sight, and nothing that could make it less or more than an edit."""
    if _has_any(code, IN_NOT_PLAIN) and _has_any(code, NOT_PLAIN):
        return _writes_outside_strings(code)
    at = code.find(".write_text(")
    line = code[code.rfind("\n", 0, at) + 1 : at]
    if (
        "#" not in line
        and line.count("'") % 2 == line.count('"') % 2 == 0
        and code.count('"""', 0, at) % 2 == code.count("'''", 0, at) % 2 == 0
    ):
        return True
    return _writes_outside_strings(code)


def _writes_outside_strings(code: str) -> bool:
    """The same, with strings and comments taken out; what holds a string without an end does not parse."""
    if "\r" in code or ("{" in code and _CUT_FIELD.search(code)):
        return False
    if _has_any(code, ("main(", "run(", "run_tests(")) and PYTHON_TEST_TOKENS.search(code):
        return False
    pieces = _STRINGS.split(code)
    if len(pieces) > 1 and pieces[-2]:
        return True
    if "/tmp" in code or "/dev/" in code:
        return False
    outside = " ".join(pieces[::2])
    return ".write_text(" in outside and not _has_any(outside, NOT_PLAIN)


def _parsed(code: str) -> ast.Module | None:
    try:
        with warnings.catch_warnings():  # an escape that Python does not know is a warning, and so is ``1if``
            warnings.simplefilter("ignore")
            return ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def writes_files(code: str, language: str) -> bool:
    """Whether inline code of another language explicitly writes a file."""
    pattern = OTHER_WRITES.get(language)
    return bool(pattern and pattern.search(code))


class _Inspection:
    """One walk over the tree (``ast.walk`` is iterative, so depth is no matter)."""

    def __init__(self, tree: ast.AST) -> None:
        self.writes = False
        self.scopes: set[str] = set()
        self.commands: list[str] = []
        self.temporary: set[str] = set()
        self.constants: dict[str, str] = {}
        self.modules: set[str] = set()
        self.aliases: dict[str, str] = {}
        calls: list[ast.Call] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Call):
                calls.append(node)
            elif isinstance(node, ast.Assign):
                self._assign(node.targets, node.value)
            elif isinstance(node, ast.withitem) and node.optional_vars is not None:
                self._assign([node.optional_vars], node.context_expr)
            elif isinstance(node, ast.Import | ast.ImportFrom):
                self._import(node)
        for call in calls:
            self._call(call)

    def result(self) -> tuple[bool, str | None, list[str]]:
        scope = max(self.scopes, key=BREADTH.__getitem__) if self.scopes else None
        return self.writes, scope, self.commands

    def _import(self, node: ast.Import | ast.ImportFrom) -> None:
        if isinstance(node, ast.Import):
            for name in node.names:
                self.modules.update((name.asname or name.name.split(".")[0], name.name.split(".")[0]))
                if name.asname:
                    self.aliases[name.asname] = name.name
        elif node.module:
            for name in node.names:
                self.aliases[name.asname or name.name] = f"{node.module}.{name.name}"

    def _assign(self, targets: list[ast.expr], value: ast.expr) -> None:
        names = [target.id for target in targets if isinstance(target, ast.Name)]
        if not names:
            return
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            self.constants.update(dict.fromkeys(names, value.value))
        elif self._is_temporary(value):
            self.temporary.update(names)

    def _is_temporary(self, node: ast.expr) -> bool:
        """The path is a temporary one (or the null device), not of the work tree."""
        for child in ast.walk(node):
            if isinstance(child, ast.Constant) and isinstance(child.value, str):
                return child.value.startswith(("/tmp/", "/dev/", "/var/tmp/"))
            if isinstance(child, ast.Name) and child.id in self.temporary:
                return True
            if isinstance(child, ast.Name) and child.id in self.constants:
                return self.constants[child.id].startswith(("/tmp/", "/dev/", "/var/tmp/"))
            if isinstance(child, ast.Attribute | ast.Name) and TEMPORARY.search(_dotted_name(child)):
                return True
        return False

    def _call(self, call: ast.Call) -> None:
        name = _dotted_name(call.func)
        head, _, rest = name.partition(".")
        if head in self.aliases:
            name = self.aliases[head] + ("." + rest if rest else "")
        last = name.rpartition(".")[2]
        if last in ("open", "fdopen"):
            if self._opens_for_writing(call, name):
                self.writes = True
        elif last in WRITE_METHODS:
            target = call.func.value if isinstance(call.func, ast.Attribute) else call.func
            if not self._is_temporary(target):
                self.writes = True
        elif name in WRITE_CALLS:
            if not (call.args and self._is_temporary(call.args[-1])):
                self.writes = True
        elif last == "input" and name.startswith("fileinput"):
            if any(word.arg == "inplace" for word in call.keywords):
                self.writes = True
        else:
            self._runs(call, name, last)

    def _opens_for_writing(self, call: ast.Call, name: str) -> bool:
        method = isinstance(call.func, ast.Attribute) and name.partition(".")[0] not in (
            "io",
            "codecs",
            "os",
            "gzip",
        )
        place = 0 if method else 1
        mode = call.args[place] if len(call.args) > place else None
        for word in call.keywords:
            if word.arg == "mode":
                mode = word.value
        if not (isinstance(mode, ast.Constant) and isinstance(mode.value, str) and _WRITE_MODE.match(mode.value)):
            return False
        target = call.func.value if method and isinstance(call.func, ast.Attribute) else (call.args or [call.func])[0]
        return not self._is_temporary(target)

    def _runs(self, call: ast.Call, name: str, last: str) -> None:
        first = call.args[0] if call.args else None
        if name in (
            "pytest.main",
            "pytest.cmdline.main",
            "_pytest.config.main",
            "nose.main",
            "nose.run",
            "pytest.console_main",
        ):
            self._drive("pytest", _strings(first))
        elif name in ("unittest.main", "unittest.TestProgram"):
            self._unittest_main(call)
        elif name in ("os.system", "os.popen", "subprocess.getoutput", "subprocess.getstatusoutput"):
            self.commands.extend(_strings(first))
        elif name.startswith("subprocess.") and last in (
            "run",
            "call",
            "check_call",
            "check_output",
            "Popen",
        ):
            listed = _strings(first)
            if isinstance(first, ast.List | ast.Tuple):
                self.commands.append(" ".join(_quote(word) for word in listed))
            else:
                self.commands.extend(listed)
        elif last == "execute_from_command_line":
            words = _strings(first)
            if "test" in words:
                self._drive("django", words[words.index("test") + 1 :])
        elif last == "call_command":
            words = [word for argument in call.args for word in _strings(argument)]
            if words[:1] == ["test"]:
                self._drive("django", words[1:])
        else:
            self._runner_methods(call, name, last)

    def _runner_methods(self, call: ast.Call, name: str, last: str) -> None:
        first = call.args[0] if call.args else None
        words = _strings(first)
        if last == "run_tests":
            self._drive("django", words)
        elif last in ("loadTestsFromName", "loadTestsFromNames"):
            self._drive("unittest", words)
        elif last in ("loadTestsFromTestCase", "makeSuite"):
            self.scopes.add("case")
        elif last == "loadTestsFromModule":
            self.scopes.add("file")
        elif last == "discover" and "oader" in name:
            self._drive("unittest", ["-s", *words[:1]] if words else [])
        elif name in ("doctest.testmod", "doctest.testfile", "doctest.run_docstring_examples"):
            self.scopes.add("file")
        elif last in MODULE_TEST_CALLS and isinstance(call.func, ast.Attribute | ast.Name):
            head = name.partition(".")[0]
            imported = head in self.modules or name in self.aliases.values()
            if imported and head not in ("self", "re"):
                listed = [word for argument in call.args for word in _strings(argument)]
                self._drive("sympy", listed)

    def _unittest_main(self, call: ast.Call) -> None:
        named = {word.arg: word.value for word in call.keywords}
        words = _strings(call.args[0]) if call.args else _strings(named.get("module"))
        words += _strings(named.get("argv"))[1:]
        if words and words != ["__main__"]:
            self._drive("unittest", words)
        else:
            self.scopes.add("file")

    def _drive(self, framework: str, arguments: list[str]) -> None:
        scope = scope_of_run(FRAMEWORKS[framework], arguments)
        if scope in BREADTH:
            self.scopes.add(scope)


def _dotted_name(node: ast.AST) -> str:
    """Name of a chain; calls in it count as the name they call: ``Path(x).open`` is ``Path.open``."""
    parts: list[str] = []
    while True:
        if isinstance(node, ast.Attribute):
            parts.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Call):
            node = node.func
        else:
            break
    if isinstance(node, ast.Name):
        parts.append(node.id)
    return ".".join(reversed(parts))


def _strings(node: ast.AST | None) -> list[str]:
    """Constant strings of an argument: itself, or the elements of a list or tuple."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.List | ast.Tuple):
        return [word for element in node.elts for word in _element(element)]
    if isinstance(node, ast.JoinedStr):
        return ["".join(part.value if isinstance(part, ast.Constant) else "$x" for part in node.values)]  # type: ignore[misc]
    return []


def _element(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant):
        return [str(node.value)]
    name = _dotted_name(node)
    return ["python"] if name == "sys.executable" else ["$x"]


def _quote(word: str) -> str:
    return "'" + word.replace("'", "'\\''") + "'"
