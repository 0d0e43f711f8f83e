"""Scope of a test run: what its arguments select, from all tests down to single ones."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from trajlab.behavior.rules import ENVIRONMENTS, FRAMEWORKS, REPOSITORY_ROOT, TEST_ROOTS, Framework

BREADTH = {"all": 0, "part": 1, "file": 2, "case": 3}

_SUFFIX = re.compile(r"\.[A-Za-z][A-Za-z0-9]{0,7}\Z")
_LINE = re.compile(r":[0-9]+(?::[0-9]+)?\Z")
_VARIABLE = re.compile(r"\$\{?[A-Za-z_@*0-9]")
_CAPITAL = re.compile(r"_*[A-Z]")
_TEST_CLASS = re.compile(r"(?:Tests?|TestCase|Specs?|Fixture|IT)\Z")


def scope_of_run(framework: Framework, arguments: Sequence[str]) -> str:
    """Return ``all``, ``part``, ``file`` or ``case``; ``info`` if no test runs, ``build`` if only built.

    The narrowest selection of a run wins. A label of :data:`ENVIRONMENTS` (``static``, ``install``) comes
    back for tox and nox where every environment asked for runs no tests.
    """
    reader = _Reader(framework)
    reader.read(arguments)
    return reader.result()


class _Reader:
    __slots__ = ("environments", "found", "framework", "positional", "scope_of")

    def __init__(self, framework: Framework) -> None:
        self.framework = framework
        self.found: set[str] = set()
        self.environments: list[str] = []
        self.positional = 0
        self.scope_of = STYLES[framework.style]

    def result(self) -> str:
        found = self.found
        if "info" in found:
            return "info"
        if "build" in found:
            return "build"
        if self.environments and not found - {"all"}:
            labels = {_environment_label(name) for name in self.environments}
            if len(labels) == 1:
                return labels.pop()
        return max(found & BREADTH.keys(), key=BREADTH.__getitem__, default="all")

    def read(self, arguments: Sequence[str]) -> None:
        framework = self.framework
        index, count = 0, len(arguments)
        while index < count:
            word = arguments[index]
            index += 1
            if word == "--":
                self._after_dashes(arguments[index:])
                return
            if len(word) > 1 and word[0] in "-:" and word != "--":
                index = self._flag(word, arguments, index)
            elif word[:1] == "+" and word[1:].isalpha():
                continue
            else:
                self.positional += 1
                if self.positional == 1 and word in framework.skip:
                    self.positional = 0
                elif self.positional == 1 and word in framework.info_words:
                    self.found.add("info")
                else:
                    self.found.add(self.scope_of(framework, word))

    def _after_dashes(self, rest: Sequence[str]) -> None:
        framework = self.framework
        if framework.after:
            inner = _Reader(FRAMEWORKS[framework.after])
            if rest and rest[0] in ("pytest", "python"):
                rest = rest[1:]
            inner.read(rest)
            self.found |= inner.found
            return
        if framework.style == "whole":
            return
        self.read([word for word in rest if word != "--"])

    def _flag(self, word: str, arguments: Sequence[str], index: int) -> int:
        name, equals, value = word.partition("=")
        kinds = self.framework.flags
        kind = kinds.get(name)
        if kind is None and not equals and len(word) > 2 and word[1] != "-":
            kind, value = self._short(word)
            if kind is not None and value:
                equals = "="
        if kind is None:
            if name.startswith("--gtest_filter"):
                self.found.add("case")
            return index
        if kind in ("info", "build"):
            self.found.add(kind)
        elif kind == "number":
            following = arguments[index] if index < len(arguments) else ""
            return index + 1 if not equals and (following.isdigit() or following == "auto") else index
        elif kind == "select":
            self.found.add("case")
        elif kind.endswith("!"):
            self.found.add(kind[:-1])
        else:
            if not equals:
                value = arguments[index] if index < len(arguments) else ""
                if kind == "optional" and (value.startswith("-") or "/" in value or value.endswith(".py")):
                    return index
                index += 1
            self._value(kind, value)
        return index

    def _short(self, word: str) -> tuple[str | None, str]:
        """Flag letters written together, or a short flag with its value attached."""
        kinds = self.framework.flags
        if not self.framework.clusters:
            kind = kinds.get(word[:2])
            attached = kind if kind not in (None, "info", "build") and self.framework.style == "path" else None
            return attached, word[2:]
        for place in range(1, len(word)):
            kind = kinds.get("-" + word[place])
            if kind is not None:
                return kind, word[place + 1 :]
            if not word[place].isalpha():
                break
        return None, ""

    def _value(self, kind: str, value: str) -> None:
        if kind in ("case", "part", "file"):
            if value.strip() and not (kind == "case" and value in (".", ".*", "^$")):
                self.found.add(kind)
        elif kind == "scope":
            self.found.add(self.scope_of(self.framework, value))
        elif kind == "class":
            self.found.add(max((_class(part) for part in value.split(",")), key=BREADTH.__getitem__))
        elif kind == "filter":
            self.found.add(_dotnet_filter(value))
        elif kind == "pattern":
            self.found.add("all" if value.startswith(("test*", "*test")) or value in ("*.py", "*") else "file")
        elif kind == "environments":
            self.environments.extend(value.split(","))
        elif kind == "nested":
            inner = _Reader(FRAMEWORKS["pytest"])
            inner.read(value.split())
            self.found |= inner.found


def _environment_label(name: str) -> str:
    for word in re.split(r"[-_:.()]", name):
        label = ENVIRONMENTS.get(word)
        if label:
            return label
    return "all"


def _relative(path: str) -> str:
    """Path from the repository's root, without ``./`` and trailing slashes."""
    found = REPOSITORY_ROOT.match(path)
    if found:
        path = path[found.end() :].lstrip("/")
        if not path:
            return "."
    while path.startswith("./"):
        path = path[2:]
    return path.rstrip("/") or "."


def _path(framework: Framework, word: str) -> str:
    if "::" in word:
        return "case"
    if (framework.line and _LINE.search(word)) or (framework.colon and ":" in word):
        return "case"
    if word.startswith("$"):
        return "all" if word in ("$@", "$*") else "file"
    if word == "{}":  # find -exec and xargs put files there
        return "file"
    path = _relative(word)
    if path in (".", "...", "*", "**") or path in TEST_ROOTS:
        return "all"
    last = path.rpartition("/")[2]
    if _SUFFIX.search(last):
        dotted = framework.modules and "/" not in path and not last.endswith((".py", ".txt", ".rst"))
        return dotted_label(path, framework.modules) if dotted else "file"
    if last.startswith("test_") and ("/" not in path or "*" in last):
        return "file"
    return "part" if "/" in word or framework.bare == "part" else framework.bare


def dotted_label(label: str, modules: bool) -> str:
    """Scope of a dotted test label: a class or method, a module, or a package."""
    if label in TEST_ROOTS or label in (".", "discover"):
        return "all"
    parts = label.split(".")
    if any(_CAPITAL.match(part) for part in parts):
        return "case"
    last = parts[-1]
    return "file" if modules or last in ("tests", "test") or last.startswith("test_") else "part"


def _dotted(framework: Framework, word: str) -> str:
    if "/" in word or word.endswith(".py") or word in (".", "..") or word.startswith("$"):
        return _path(framework, word)
    return dotted_label(word, framework.modules)


def _go(framework: Framework, word: str) -> str:
    if word in (".", "./", "./...", "...", "all"):
        return "all"
    if word.endswith(".go"):
        return "file"
    return "part"


def _class(value: str) -> str:
    """Java: a class is a file, a method a case, a package pattern a part."""
    if "#" in value:
        return "case"
    last = value.rstrip("*").rstrip(".").rpartition(".")[2]
    if value.endswith(".*") and last[:1].islower():
        return "part"
    if last[:1].islower() and "." in value and not value.endswith("*"):
        return "case"
    return "file"


def _java_class(framework: Framework, word: str) -> str:
    return _class(word)


def _dotnet_filter(value: str) -> str:
    """A filter by class selects a file, any other expression cases."""
    if re.search(r"[&|(]", value):
        return "case"
    name, _, wanted = value.partition("=" if "=" in value and "~" not in value else "~")
    if not wanted:
        name, wanted = "FullyQualifiedName", value
    if name.startswith("ClassName"):
        return "file"
    if name.startswith("FullyQualifiedName") and _TEST_CLASS.search(wanted.rstrip(".").rpartition(".")[2]):
        return "file"
    return "case"


def _project(framework: Framework, word: str) -> str:
    return "all" if word.endswith((".sln", ".slnx")) or word in (".", "./") else "part"


def _bazel(framework: Framework, word: str) -> str:
    if word in ("//...", "...", "//..."):
        return "all"
    return "part" if word.endswith(("...", ":all", ":*")) or ":" not in word else "file"


def _environments(framework: Framework, word: str) -> str:
    return _path(FRAMEWORKS["pytest"], word)


def _constant(scope: str) -> Callable[[Framework, str], str]:
    def scope_of(framework: Framework, word: str) -> str:
        return scope

    return scope_of


STYLES: dict[str, Callable[[Framework, str], str]] = {
    "path": _path,
    "dotted": _dotted,
    "go": _go,
    "class": _java_class,
    "project": _project,
    "bazel": _bazel,
    "environments": _environments,
    "names-case": _constant("case"),
    "names-file": _constant("file"),
    "names-part": _constant("part"),
    "none": _constant("all"),
    "whole": _constant("all"),
}
