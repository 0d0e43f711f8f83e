"""Program names: from the word as written to the name the rule tables know."""

from __future__ import annotations

import re
from functools import lru_cache

from trajlab.behavior.program_rules import ALIASES, ENVIRONMENT_FOLDERS, SYSTEM_FOLDERS
from trajlab.behavior.programs import HANDLERS
from trajlab.behavior.rules import (
    CONSTANT,
    FLAG_LABELS,
    INTERPRETERS,
    NAMED_WHEREVER,
    PYTHON_NAME,
    RUNNER_FILES,
    SHELLS,
    TEST_PROGRAMS,
    WRAPPER_HEADS,
)
from trajlab.behavior.subcommand_rules import PACKAGE_MANAGERS, SUBCOMMANDS, TARGET_RUNNERS

_VERSIONED = re.compile(r"([A-Za-z][A-Za-z+_-]*?)-?[0-9]+(?:\.[0-9]+)*\Z")
LOCAL_TOOLS = frozenset({"gradlew", "mvnw", "sbt", "bazel", "bazelisk", "rebar3", "waf", "artisan", "scons"})
TRANSPARENT_SUFFIX = (".exe", ".cmd", ".bat")


@lru_cache(maxsize=8192)
def program_of(word: str) -> tuple[str, bool]:
    """Return the normalised program name, and whether it is a file of the project started by its path."""
    folder, slash, base = word.rpartition("/")
    name = _known(base)
    if not slash:
        return (name or base), False
    folder += "/"
    if folder.startswith(SYSTEM_FOLDERS):
        return (name or base), False
    if name is not None:
        in_environment = (folder.endswith(ENVIRONMENT_FOLDERS) and folder.count("/") > 1) or folder in (
            "bin/",
            "./bin/",
        )
        runner = base in RUNNER_FILES or f"{folder.rstrip('/').rpartition('/')[2]}/{base}" in RUNNER_FILES
        known = name == "python" or name in TEST_PROGRAMS or base in LOCAL_TOOLS or name in NAMED_WHEREVER
        if (in_environment or known) and not runner:
            return name, False
    return base, True


def _known(base: str) -> str | None:
    """Name under which the tables know a program, without version; ``None`` if they do not."""
    if base.endswith(TRANSPARENT_SUFFIX):
        base = base.rpartition(".")[0]
    if PYTHON_NAME.fullmatch(base):
        return "python"
    base = ALIASES.get(base, base)
    if _in_tables(base):
        return base
    found = _VERSIONED.match(base)
    if found:
        shorter = ALIASES.get(found[1], found[1])
        if _in_tables(shorter):
            return shorter
    return None


def _in_tables(name: str) -> bool:
    return (
        name in CONSTANT
        or name in HANDLERS
        or name in SUBCOMMANDS
        or name in FLAG_LABELS
        or name in TEST_PROGRAMS
        or name in INTERPRETERS
        or name in SHELLS
        or name in WRAPPER_HEADS
        or name in TARGET_RUNNERS
        or name in PACKAGE_MANAGERS
    )
