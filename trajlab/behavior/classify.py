"""Judges one simple command after another: wrappers off, then the rule of its program."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache

from trajlab.behavior.interpreters import language, python, shell, source_file
from trajlab.behavior.lexer import RawCommand
from trajlab.behavior.program_rules import (
    ALIASES,
    ENVIRONMENT_FOLDERS,
    PACKAGE_MANAGERS,
    SUBCOMMANDS,
    SYSTEM_FOLDERS,
    TARGET_RUNNERS,
)
from trajlab.behavior.programs import HANDLERS, SED_IN_PLACE, by_flags, make, package_manager, perl, subcommand, target_label
from trajlab.behavior.rules import (
    CONSTANT,
    FILTERS,
    FLAG_LABELS,
    HELP_FLAGS,
    INTERPRETERS,
    PYTHON_NAME,
    RUNNER_FILES,
    SCRIPT_SUFFIXES,
    SHELLS,
    SHORT_HELP,
    TEST_PROGRAMS,
    TEST_TARGETS,
    WRAPPER_HEADS,
)
from trajlab.behavior.unwrap import unwrap
from trajlab.behavior.verdicts import (
    NOTHING,
    Context,
    Inner,
    Nested,
    Outcome,
    Rewrite,
    SimpleCommand,
    Verdict,
    other,
    test_run,
    verdict,
)

MAX_REWRITES = 40
MAX_DEPTH = 6

_VERSIONED = re.compile(r"([A-Za-z][A-Za-z+_-]*?)-?[0-9]+(?:\.[0-9]+)*\Z")
LOCAL_TOOLS = frozenset({"gradlew", "mvnw", "sbt", "bazel", "bazelisk", "rebar3", "waf", "artisan", "scons"})
CONFIGURE = frozenset({"configure", "autogen.sh", "bootstrap.sh", "config", "Configure"})
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
        in_environment = folder.endswith(ENVIRONMENT_FOLDERS) and folder.count("/") > 1 or folder in ("bin/", "./bin/")
        runner = base in RUNNER_FILES or f"{folder.rstrip('/').rpartition('/')[2]}/{base}" in RUNNER_FILES
        if (in_environment or base in LOCAL_TOOLS or name in TEST_PROGRAMS or name == "python") and not runner:
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


def classify(raw: RawCommand, words: list[str], context: Context) -> list[SimpleCommand]:
    """Judge one simple command; what it runs inside (``bash -c``, ``find -exec``) comes in its place or after it."""
    name = ""
    for _ in range(MAX_REWRITES):
        name, outcome = judge(words, context)
        if not isinstance(outcome, Rewrite):
            break
        words = outcome.words
        if outcome.wrapper:
            context.wrappers.append(outcome.wrapper)
        if not words:
            outcome = other("empty")
            break
    else:
        outcome = other("wrapped too deep")
    if isinstance(outcome, tuple):
        return [_command(raw, name, words, outcome, context)]
    if isinstance(outcome, Nested):
        return _nested(raw, name, words, outcome, context)
    assert isinstance(outcome, Inner)
    commands = [_command(raw, name, words, outcome.verdict, context)]
    for inner in outcome.commands:
        if inner and context.depth < MAX_DEPTH:
            below = Context(raw, context.depth + 1, None, context.analyse)
            below.operands_on_stdin = True
            below.piped_in = False
            below.wrappers = [*context.wrappers, outcome.wrapper]
            commands.extend(classify(raw, inner, below))
    return commands


def _nested(raw: RawCommand, name: str, words: list[str], outcome: Nested, context: Context) -> list[SimpleCommand]:
    commands: list[SimpleCommand] = []
    if context.depth < MAX_DEPTH:
        for text in outcome.texts:
            commands.extend(context.analyse(text, context.depth + 1))
    around = (*context.wrappers, outcome.wrapper)
    commands = [
        SimpleCommand(
            program=command.program,
            arguments=command.arguments,
            labels=command.labels,
            rules=command.rules,
            scope=command.scope,
            is_filter=command.is_filter,
            redirects=command.redirects + tuple(raw.redirects),
            heredoc=command.heredoc,
            wrappers=around + command.wrappers,
            depth=command.depth,
            pipeline=raw.pipeline,
            stdin_file=command.stdin_file,
        )
        for command in commands
    ]
    return commands or [_command(raw, name, words, other("empty shell text"), context)]


def _command(raw: RawCommand, name: str, words: list[str], judged: Verdict, context: Context) -> SimpleCommand:
    is_filter = context.piped_in and name in FILTERS and reads_stdin(name, words)
    if judged[0] <= {"read", "search", "other"}:
        if is_filter:
            judged = NOTHING
        elif _prints_heredoc(raw, name, words) and not context.operands_on_stdin:
            judged = PRINTS
    return SimpleCommand(
        name,
        tuple(words[1:]),
        judged[0],
        judged[1],
        judged[2],
        is_filter,
        tuple(raw.redirects),
        raw.heredoc if raw.heredoc is not None else raw.here_string,
        tuple(context.wrappers),
        context.depth + raw.depth,
        raw.pipeline,
        raw.stdin_file,
    )


def _prints_heredoc(raw: RawCommand, name: str, words: list[str]) -> bool:
    """A filter that works on text given in the command shows no file."""
    return (raw.heredoc is not None or raw.here_string is not None) and name in FILTERS and reads_stdin(name, words)


PRINTS = other("program/prints its heredoc")


def reads_stdin(name: str, words: Sequence[str]) -> bool:
    """Whether a filter names no file, so that it works on standard input."""
    scripts, values = FILTERS[name]
    if scripts == 9:
        return True
    index, count, operands = 1, len(words), 0
    while index < count:
        word = words[index]
        index += 1
        if word[:1] == "-" and len(word) > 1:
            if word in values:
                index += 1
                if scripts and word in ("-e", "-f", "--expression", "--regexp", "--file"):
                    scripts = 0
            elif name in ("grep", "rg", "ag", "ack") and word[1:2] != "-" and ("r" in word or "R" in word) and name == "grep":
                return False
            elif scripts and word[1:2] != "-" and word[-1] in "eE" and name in ("sed", "perl", "grep"):
                index += 1
                scripts = 0
        elif word != "-":
            operands += 1
    return operands <= scripts


def judge(words: list[str], context: Context) -> tuple[str, Outcome]:
    """Return the program's name and what its rule says."""
    head = words[0]
    name, local = program_of(head)
    if local:
        return name, _local(head, name, words)
    if context.tasks:
        context.tasks = False
        if head in TEST_TARGETS and head not in TEST_PROGRAMS or head in ("lint", "fmt", "format", "typecheck", "typing"):
            return name, make(name, words, "tasks")
    constant = CONSTANT.get(name)
    if constant is not None and name not in FLAG_LABELS and name not in SUBCOMMANDS and name not in HANDLERS:
        if len(words) > 1 and _informs(name, words):
            return name, other(f"information/{name}")
        return name, verdict(constant, f"program/{name}")
    if name in WRAPPER_HEADS:
        outcome = unwrap(name, words, context)
        if outcome is not None:
            return name, outcome
    if _informs(name, words):
        return name, other(f"information/{name}")
    return name, _by_table(name, head, words, context)


def _by_table(name: str, head: str, words: list[str], context: Context) -> Outcome:
    arguments = words[1:]
    if name == "python":
        return python(arguments, context)
    handler = HANDLERS.get(name)
    if handler is not None:
        return handler(arguments, context)
    for table, rule in TABLES:
        if name in table:
            return rule(name, words, context)
    if name == "bun-script":
        return package_manager("bun", arguments, context)
    return _unknown(head, name, arguments, context)


def _unknown(head: str, name: str, arguments: Sequence[str], context: Context) -> Outcome:
    if name in RUNNER_FILES or name in ("manage.py", "setup.py"):
        return source_file("path", head, arguments)
    if name in ("django-admin", "rebar3"):
        if name == "django-admin":
            return source_file("path", "manage.py", arguments)
        return verdict("install", "program/rebar3")
    if head.endswith(SCRIPT_SUFFIXES) and len(head) > 4:
        return verdict("script", "source file/PATH")
    if any(word.startswith("--gtest_filter") for word in arguments):
        return verdict("test:case", "framework/googletest")
    if context.wrappers and context.wrappers[-1] in ("yarn", "pnpm", "bun", "yarn run"):
        return verdict("script", f"target/{context.wrappers[-1]} {name}")
    if arguments:
        inner = program_of(arguments[0])[0]
        if inner == "python" or inner in TEST_PROGRAMS or inner in INTERPRETERS or inner in SHELLS:
            return Rewrite(list(arguments), name)
    return other("program/unknown")


def _perl(name: str, words: list[str], context: Context) -> Outcome:
    outcome = perl(words[1:], context) if name == "perl" else None
    if outcome is not None:
        return outcome
    if name == "bun":
        place = words[1] if len(words) > 1 else ""
        if place[:1] not in ("-", "") and not place.endswith((".js", ".ts", ".tsx", ".mjs")):
            return package_manager(name, words[1:], context)
    return language(name, words[1:], context)


TABLES: tuple[tuple[object, Callable[[str, list[str], Context], Outcome]], ...] = ()


def _local(head: str, name: str, words: list[str]) -> Outcome:
    """Judge a file of the project started by its path."""
    if name in CONFIGURE:
        return verdict("install", "program/configure")
    if any(word.startswith("--gtest_filter") for word in words):
        return test_run("files", ["--filter=case"], "framework/googletest")
    if name == "activate":
        return other("program/source activates")
    return source_file("path", head, words[1:])


def _informs(name: str, words: Sequence[str]) -> bool:
    """Asks a tool only about itself."""
    if len(words) < 2 or name in ("echo", "printf", "find"):
        return False
    short = SHORT_HELP.get(name)
    if short and words[1] in short:
        return True
    for word in words:
        if word in HELP_FLAGS:
            place = words.index(word)
            interpreter = name == "python" or name in INTERPRETERS or name in SHELLS
            if interpreter and place > 1:
                return False
            return "--" not in words[:place] and words[place - 1] not in ("-e", "-k", "-c")
    return False


def _framework(name: str, words: list[str], context: Context) -> Outcome:
    more = ["{}"] if context.operands_on_stdin and "{}" not in words else []
    return test_run(TEST_PROGRAMS[name], words[1:] + more)


def _table_rules() -> tuple[tuple[object, Callable[[str, list[str], Context], Outcome]], ...]:
    return (
        (TEST_PROGRAMS, _framework),
        (INTERPRETERS, _perl),
        (SHELLS, lambda name, words, context: shell(name, words[1:], context)),
        (TARGET_RUNNERS, lambda name, words, context: make(name, words[1:], TARGET_RUNNERS[name])),
        (PACKAGE_MANAGERS, lambda name, words, context: package_manager(name, words[1:], context)),
        (SUBCOMMANDS, lambda name, words, context: subcommand(name, words)),
        (FLAG_LABELS, lambda name, words, context: by_flags(name, words[1:])),
        (CONSTANT, lambda name, words, context: verdict(CONSTANT[name], f"program/{name}")),
    )


TABLES = _table_rules()

PLAIN = {
    name: verdict(label, f"program/{name}")
    for name, label in CONSTANT.items()
    if name not in FLAG_LABELS
    and name not in SUBCOMMANDS
    and name not in HANDLERS
    and name not in WRAPPER_HEADS
    and name not in PACKAGE_MANAGERS
    and name not in TARGET_RUNNERS
    and program_of(name) == (name, False)
}
"""Programs whose name alone says everything: the short way for most commands."""


def _sed_edits(words: list[str]) -> Verdict:
    for word in words:
        if word[0:1] == "-" and SED_IN_PLACE.match(word):
            return SED_EDITS
    return SED_READS


SED_EDITS = verdict("edit", "flag/sed -i")
SED_READS = verdict("read", "program/sed")


def classify_plain(raw: RawCommand, words: list[str], depth: int) -> SimpleCommand | None:
    """Judge a command the short way; ``None`` where its name alone does not tell."""
    name = words[0]
    judged = PLAIN.get(name)
    if judged is None:
        if name == "sed":
            judged = _sed_edits(words)
        elif (name == "python" or name == "python3") and len(words) == 2 and words[1].endswith(".py"):
            name = "python"
            script = source_file(name, words[1], ())
            judged = script if isinstance(script, tuple) and words[1][0] != "-" else None
        if judged is None:
            return None
    if len(words) > 1 and ("--help" in words or "--version" in words):
        return None
    is_filter = False
    if raw.piped_in and name in FILTERS and reads_stdin(name, words):
        is_filter = True
        if "edit" not in judged[0]:
            judged = NOTHING
    elif (raw.heredoc is not None or raw.here_string is not None) and _prints_heredoc(raw, name, words):
        judged = PRINTS if "edit" not in judged[0] else judged
    return SimpleCommand(
        name,
        tuple(words[1:]),
        judged[0],
        judged[1],
        judged[2],
        is_filter,
        tuple(raw.redirects),
        raw.heredoc if raw.heredoc is not None else raw.here_string,
        (),
        depth + raw.depth,
        raw.pipeline,
        raw.stdin_file,
    )

__all__ = ["classify", "judge", "program_of", "reads_stdin", "target_label"]
