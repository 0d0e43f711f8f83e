"""Judges one simple command after another: wrappers off, then the rule of its program."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence

import msgspec

from trajlab.behavior.filters import printed, prints_heredoc, reads_stdin
from trajlab.behavior.interpreters import language, python, shell, source_file
from trajlab.behavior.names import program_of
from trajlab.behavior.programs import HANDLERS, by_flags, make, package_manager, perl, subcommand
from trajlab.behavior.raw_command import RawCommand
from trajlab.behavior.rules import (
    CONSTANT,
    FILTERS,
    FLAG_LABELS,
    HELP_FLAGS,
    INTERPRETERS,
    RUNNER_FILES,
    RUNS_NO_ARGUMENT,
    SCRIPT_SUFFIXES,
    SHELLS,
    SHORT_HELP,
    TEST_PROGRAMS,
    TEST_TARGETS,
    WRAPPER_HEADS,
)
from trajlab.behavior.subcommand_rules import PACKAGE_MANAGERS, SUBCOMMANDS, TARGET_RUNNERS
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
    framework_run,
    judged_command,
    other,
    verdict,
)

MAX_REWRITES = 40
MAX_DEPTH = 6

CONFIGURE = frozenset({"configure", "autogen.sh", "bootstrap.sh", "config", "Configure"})


def classify(raw: RawCommand, words: list[str], context: Context) -> list[SimpleCommand]:
    """Judge one simple command; what it runs inside (``bash -c``, ``find -exec``) comes with it."""
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
            below.operands_on_stdin = outcome.adds_operands
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
        msgspec.structs.replace(
            command,
            redirects=command.redirects + tuple(raw.redirects),
            wrappers=around + command.wrappers,
            pipeline=raw.pipeline,
        )
        for command in commands
    ]
    return commands or [_command(raw, name, words, other("empty shell text"), context)]


def _command(raw: RawCommand, name: str, words: list[str], judged: Verdict, context: Context) -> SimpleCommand:
    is_filter = context.piped_in and name in FILTERS and reads_stdin(name, words)
    if judged[0] <= {"read", "search", "other"}:
        if is_filter:
            judged = NOTHING
        elif prints_heredoc(raw, name, words) and not context.operands_on_stdin:
            judged = printed(raw)
    return judged_command(raw, name, words, judged, is_filter, context.depth, tuple(context.wrappers))


def judge(words: list[str], context: Context) -> tuple[str, Outcome]:
    """Return the program's name and what its rule says."""
    head = words[0]
    name, local = program_of(head)
    if local:
        return name, _local(head, name, words)
    if context.tasks:
        context.tasks = False
        if (head in TEST_TARGETS and head not in TEST_PROGRAMS) or head in (
            "lint",
            "fmt",
            "format",
            "typecheck",
            "typing",
        ):
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
    if arguments and name not in RUNS_NO_ARGUMENT:
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


def _local(head: str, name: str, words: list[str]) -> Outcome:
    """Judge a file of the project started by its path."""
    if name in CONFIGURE:
        return verdict("install", "program/configure")
    if any(word.startswith("--gtest_filter") for word in words):
        return framework_run("files", ["--filter=case"], "framework/googletest")
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
    return framework_run(TEST_PROGRAMS[name], words[1:] + more)


def _table_rules() -> tuple[tuple[Container[str], Callable[[str, list[str], Context], Outcome]], ...]:
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
