"""Turns the rule tables into look-up structures, once, at import."""

from __future__ import annotations

import re

from trajlab.behavior import program_rules as programs
from trajlab.behavior import subcommand_rules as subcommands
from trajlab.behavior import test_rules as tests
from trajlab.behavior import wrapper_rules as wrappers

RULES_VERSION = "5"
"""Changes whenever any label of any command may change."""


def words(text: str) -> frozenset[str]:
    """Split a table's list of words."""
    return frozenset(text.split())


def _pairs(table: dict[str, str]) -> dict[str, str]:
    return {word: label for label, listed in table.items() for word in listed.split()}


def flag_kinds(text: str) -> dict[str, str]:
    """Read ``kind: flags; kind: flags`` into flag to kind."""
    kinds: dict[str, str] = {}
    for part in text.split(";"):
        kind, _, flags = part.partition(":")
        for flag in flags.split():
            kinds[flag] = kind.strip()
    return kinds


def _flag_labels(text: str) -> tuple[str, dict[str, str]]:
    default, _, rest = text.partition(";")
    return default.strip(), flag_kinds(rest)


class Framework:
    """How one test framework reads its arguments."""

    __slots__ = (
        "after",
        "bare",
        "clusters",
        "colon",
        "flags",
        "info_words",
        "line",
        "modules",
        "name",
        "skip",
        "style",
    )

    def __init__(self, name: str, table: dict[str, str]) -> None:
        self.name = name
        self.style = table["style"]
        self.flags = flag_kinds(table.get("flags", ""))
        self.clusters = bool(table.get("clusters"))
        self.skip = words(table.get("skip", ""))
        self.info_words = words(table.get("info_words", ""))
        self.line = bool(table.get("line"))
        self.colon = bool(table.get("colon"))
        self.modules = bool(table.get("modules"))
        self.bare = table.get("bare", "part")
        self.after = table.get("after")


class Wrapper:
    """How one wrapper's own arguments are told from the command it runs."""

    __slots__ = (
        "assignments",
        "flags",
        "info",
        "lenient",
        "mode",
        "module_flags",
        "name",
        "needs",
        "shell_flags",
        "skip",
        "stop",
        "subcommand",
    )

    def __init__(self, name: str, table: dict[str, str | int]) -> None:
        self.name = name
        self.flags = words(str(table.get("flags", "")))
        self.skip = int(table.get("skip", 0))
        self.mode = str(table.get("as", "command"))
        self.assignments = bool(table.get("assignments"))
        self.shell_flags = words(str(table.get("shell_flags", "")))
        self.module_flags = words(str(table.get("module_flags", "")))
        self.info = words(str(table.get("info", "")))
        self.needs = words(str(table.get("needs", "")))
        self.subcommand = words(str(table.get("subcommand", "")))
        self.lenient = bool(table.get("lenient"))
        self.stop = str(table.get("stop", ""))


class Interpreter:
    """Flags of one language interpreter."""

    __slots__ = ("check", "code", "name", "test", "values")

    def __init__(self, name: str, table: dict[str, str]) -> None:
        self.name = name
        self.code = words(table.get("code", ""))
        self.values = words(table.get("values", ""))
        self.check = words(table.get("check", ""))
        self.test = words(table.get("test", ""))


CONSTANT = _pairs(programs.CONSTANT)
FLAG_LABELS = {name: _flag_labels(text) for name, text in programs.FLAGS.items()}
SUBCOMMAND_VALUE_FLAGS = {name: words(text) for name, text in subcommands.SUBCOMMAND_VALUE_FLAGS.items()}
FILTERS = {name: (count, words(flags)) for name, (count, flags) in programs.FILTERS.items()}
for _alias, _name in programs.FILTER_ALIASES.items():
    FILTERS[_alias] = FILTERS[_name]
AUTHORS = words(programs.AUTHORS)
REWRITERS = words(programs.REWRITERS)
NAMED_WHEREVER = words(programs.NAMED_WHEREVER)
REPAIR_FLAGS = words(programs.REPAIR_FLAGS)
SOURCE_SUFFIXES = words(programs.SOURCE_SUFFIXES)
HELP_FLAGS = words(programs.HELP_FLAGS)
RUNS_NO_ARGUMENT = words(programs.RUNS_NO_ARGUMENT)
SHORT_HELP = {name: words(text) for name, text in programs.SHORT_HELP.items()}
YARN_COMMANDS = _pairs(subcommands.YARN_COMMANDS)
TEST_TARGETS = words(subcommands.TEST_TARGETS)
TARGET_WORDS = _pairs(subcommands.TARGET_WORDS)
TARGET_VALUE_FLAGS = words(subcommands.TARGET_VALUE_FLAGS)
ENVIRONMENTS = _pairs(subcommands.ENVIRONMENTS)
ACTIVATIONS = words(programs.ACTIVATIONS)

FRAMEWORKS = {name: Framework(name, table) for name, table in tests.FRAMEWORKS.items()}
TEST_PROGRAMS = _pairs(tests.TEST_PROGRAMS)
TEST_MODULES = _pairs(tests.TEST_MODULES)
RUNNER_FILES = _pairs(tests.RUNNER_FILES)
TEST_ROOTS = words(tests.TEST_ROOTS)
REPOSITORY_ROOT = re.compile(tests.REPOSITORY_ROOTS + r"(?=/|\Z)")
MAVEN_TEST_GOALS = words(tests.MAVEN_TEST_GOALS)

WRAPPERS = {name: Wrapper(name, table) for name, table in wrappers.WRAPPERS.items()}
WRAPPER_HEADS = frozenset(name.split()[0] for name in WRAPPERS)
INTERPRETERS = {name: Interpreter(name, table) for name, table in wrappers.INTERPRETERS.items()}
PYTHON_NAME = re.compile(wrappers.PYTHON["names"])
PYTHON_VALUES = words(wrappers.PYTHON["values"])
TOOL_MODULES = words(wrappers.TOOL_MODULES)
RUN_MODULES = words(wrappers.RUN_MODULES)
INLINE_MODULES = words(wrappers.INLINE_MODULES)
JAVA_TEST_CLASSES = words(wrappers.JAVA_TEST_CLASSES)
SHELLS = words(wrappers.SHELLS)
SHELL_VALUE_FLAGS = words(wrappers.SHELL_VALUE_FLAGS)
SCRIPT_SUFFIXES = tuple(wrappers.SCRIPT_SUFFIXES.split())
