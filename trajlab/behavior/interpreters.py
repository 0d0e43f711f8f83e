"""Rules for language interpreters: code given inline, source files, modules."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trajlab.behavior.inline_code import inspect_python, writes_files
from trajlab.behavior.inline_tables import FILE_TESTS, OTHER_TESTS
from trajlab.behavior.rules import (
    CONSTANT,
    INLINE_MODULES,
    INTERPRETERS,
    JAVA_TEST_CLASSES,
    PYTHON_VALUES,
    RUN_MODULES,
    RUNNER_FILES,
    SHELL_VALUE_FLAGS,
    TEST_MODULES,
    TEST_PROGRAMS,
    TOOL_MODULES,
)
from trajlab.behavior.scopes import BREADTH
from trajlab.behavior.verdicts import (
    NOTHING,
    Context,
    Nested,
    Outcome,
    Rewrite,
    Verdict,
    framework_run,
    other,
    several,
    verdict,
)
from trajlab.behavior.wrapper_rules import MODULE_PROGRAMS, WRAPPER_MODULES


def python(arguments: Sequence[str], context: Context) -> Outcome:
    """Judge ``python …``."""
    index, count = 0, len(arguments)
    while index < count:
        word = arguments[index]
        rest = arguments[index + 1 :]
        if word == "-":
            return inline_python(context.stdin or "", context, "inline/python stdin")
        if word[:1] != "-":
            return source_file("python", word, rest)
        if word in ("--version", "--help", "-V", "-VV", "-h", "-?"):
            return other("information/python")
        if word == "--":
            return source_file("python", rest[0], rest[1:]) if rest else other("program/python")
        if word.startswith("--"):
            index += 2 if word in PYTHON_VALUES else 1
            continue
        letter, value = _python_letter(word)
        if letter in ("c", "m"):
            value, rest = (value, rest) if value else (rest[0] if rest else "", rest[1:])
            if letter == "c":
                return inline_python(value, context, "inline/python -c")
            return python_module(value, rest, context)
        index += 2 if letter and not value else 1
    if context.has_stdin:
        return inline_python(context.stdin or "", context, "inline/python stdin")
    return other("program/python")


def _python_letter(word: str) -> tuple[str, str]:
    """The letter of a cluster of short flags that takes a value, and the value written onto it."""
    for place in range(1, len(word)):
        if word[place] in "cmWXQ":
            return word[place], word[place + 1 :]
        if not word[place].isalpha():
            break
    return "", ""


def inline_python(code: str, context: Context, rule: str) -> Verdict:
    """Judge a Python program given in the command."""
    writes, scope, commands = inspect_python(code)
    if not writes and scope is None and not commands:
        return verdict("inline", rule)
    pairs = [("inline", rule)]
    if writes:
        pairs.append(("edit", "inline/python writes a file"))
    scopes = {scope} if scope else set()
    if commands and context.depth < 4:
        for command in commands:
            scopes |= {inner.scope for inner in context.analyse(command, context.depth + 2) if inner.scope}
    pairs.extend((f"test:{found}", "inline/python drives tests") for found in sorted(scopes))
    return several(pairs, max(scopes, key=BREADTH.__getitem__, default=None))


def python_module(module: str, arguments: Sequence[str], context: Context) -> Outcome:
    """Judge ``python -m module …``."""
    framework = TEST_MODULES.get(module)
    if framework:
        return framework_run(framework, arguments, f"framework/{framework}")
    if module in WRAPPER_MODULES:
        return Rewrite([WRAPPER_MODULES[module], *arguments], "python -m")
    if module in MODULE_PROGRAMS or module in TOOL_MODULES:
        return Rewrite([MODULE_PROGRAMS.get(module, module), *arguments], "python -m")
    if module in INLINE_MODULES:
        return verdict("inline", f"module/{module}")
    if module in RUN_MODULES:
        return _run_module(module, arguments)
    if "--help" in arguments or "--version" in arguments:
        return other("information/python -m")
    return verdict("script", "module/any")


def _run_module(module: str, arguments: Sequence[str]) -> Outcome:
    index = 0
    while index < len(arguments) and arguments[index].startswith("-") and arguments[index] != "-m":
        index += 2 if arguments[index] in ("-c", "-o", "-s", "-f") else 1
    if index >= len(arguments):
        return verdict("script", f"module/{module}")
    return Rewrite(["python", *arguments[index:]], f"python -m {module}")


def source_file(interpreter: str, path: str, arguments: Sequence[str]) -> Outcome:
    """Judge a source file that an interpreter, or the shell, starts."""
    folder, _, base = path.rpartition("/")
    place = f"{folder.rpartition('/')[2]}/{base}"
    framework = RUNNER_FILES.get(base) or RUNNER_FILES.get(place)
    if framework:
        return framework_run(framework, arguments)
    if base == "manage.py":
        return _manage(arguments)
    if base == "setup.py":
        return setup(arguments)
    if folder and "." not in base and (base in TEST_PROGRAMS or CONSTANT.get(base) == "static"):
        return Rewrite([base, *arguments], interpreter)
    if base == "py.test" or (base == "pytest.py" and not folder):
        return framework_run("pytest", arguments)
    return verdict("script", f"source file/{interpreter}")


def _manage(arguments: Sequence[str]) -> Verdict:
    place = next((index for index, word in enumerate(arguments) if word[:1] != "-"), len(arguments))
    if place < len(arguments) and arguments[place] == "test":
        return framework_run("django", [*arguments[:place], *arguments[place + 1 :]])
    if place == len(arguments):
        return other("subcommand/manage.py")
    return verdict("script", "subcommand/manage.py")


SETUP_INSTALLS = (
    "install",
    "develop",
    "build",
    "sdist",
    "bdist",
    "egg_info",
    "upload",
    "easy_install",
    "dist_info",
)


def setup(arguments: Sequence[str]) -> Verdict:
    """Judge ``python setup.py …``."""
    commands = [word for word in arguments if not word.startswith("-")]
    if not commands:
        return other("subcommand/setup.py")
    for test in ("test", "pytest", "nosetests", "ptr"):
        if test in commands:
            place = list(arguments).index(test)
            return framework_run("nose" if test == "nosetests" else "setup.py", arguments[place + 1 :])
    if commands[0].startswith(SETUP_INSTALLS):
        return verdict("install", "subcommand/setup.py")
    return verdict("static" if commands[0] in ("check", "lint", "flake8") else "script", "subcommand/setup.py")


def language(name: str, arguments: Sequence[str], context: Context) -> Outcome:
    """Judge an interpreter of another language than Python or the shell."""
    table = INTERPRETERS[name]
    index, count = 0, len(arguments)
    while index < count:
        word = arguments[index]
        rest = arguments[index + 1 :]
        index += 1
        if word in table.check:
            return verdict("static", f"flag/{name} {word}")
        if word in table.test:
            return framework_run("node-test", [*arguments[: index - 1], *rest])
        if word in table.code or _attached_code(name, word):
            code = "\n".join(rest[:1]) if word in table.code else word
            return inline_code(name, code, context)
        if word == "-":
            return inline_code(name, context.stdin or "", context)
        if word == "-jar":
            return verdict("script", f"source file/{name}")
        if word in table.values:
            index += 1
        elif word[:1] != "-" and word[:1] != "+":
            return _operand(name, word, rest)
    if context.has_stdin:
        return inline_code(name, context.stdin or "", context)
    return other(f"program/{name}")


def _operand(name: str, word: str, rest: Sequence[str]) -> Outcome:
    if name == "R":
        if word == "CMD" and rest[:1] in (["check"], ("check",)):
            return framework_run("whole", [])
        return verdict("install", "subcommand/R CMD") if word == "CMD" else verdict("script", "source file/R")
    if name == "java" and word in JAVA_TEST_CLASSES:
        return framework_run("junit", rest)
    if name == "php" and word.endswith("artisan"):
        return Rewrite(["artisan", *rest], "php")
    if name == "bun":
        return Rewrite(["bun-script", word, *rest])
    base = word.rpartition("/")[2]
    if (
        base in TEST_PROGRAMS
        or base in RUNNER_FILES
        or (base.partition(".")[0] in TEST_PROGRAMS and "node_modules" in word)
    ):
        return Rewrite([base if base in TEST_PROGRAMS else base.partition(".")[0], *rest], name)
    return source_file(name, word, rest)


def _attached_code(name: str, word: str) -> bool:
    """Perl and ruby take ``-ne``, ``-le``, ``-MList::Util=sum -e`` …: letters that end in ``e``."""
    return name in ("perl", "ruby") and re.fullmatch(r"-[pnlaws0-9F:,]*[eE]", word) is not None


def inline_code(name: str, code: str, context: Context) -> Verdict:
    """Judge code of another language given in the command."""
    pairs = [("inline", f"inline/{name}")]
    if writes_files(code, name):
        pairs.append(("edit", f"inline/{name} writes a file"))
    tests = OTHER_TESTS.get(name)
    if tests and tests.search(code):
        scope = "file" if FILE_TESTS.search(code) else "all"
        pairs.append((f"test:{scope}", f"inline/{name} drives tests"))
        return several(pairs, scope)
    return several(pairs)


def shell(name: str, arguments: Sequence[str], context: Context) -> Outcome:
    """Judge ``bash …``: a script, text after ``-c``, or text on standard input."""
    index, count, check = 0, len(arguments), False
    while index < count:
        word = arguments[index]
        index += 1
        if word in ("--version", "--help"):
            return other(f"information/{name}")
        if word in SHELL_VALUE_FLAGS:
            index += 1
        elif word[:1] == "-" and len(word) > 1 and word[1] != "-":
            if "c" in word:
                while index < count and arguments[index][:1] == "-" and len(arguments[index]) > 1:
                    index += 1
                return Nested([arguments[index] if index < count else ""], f"{name} -c")
            check = check or "n" in word
            if "s" in word:
                break
        elif word == "-" or word[:2] == "--":
            continue
        else:
            if check:
                return verdict("static", f"flag/{name} -n")
            return source_file(name, word, arguments[index:])
    if check:
        return verdict("static", f"flag/{name} -n")
    if context.stdin is not None:
        return Nested([context.stdin], f"{name} stdin", NOTHING)
    if context.has_stdin:
        return verdict("script", f"source file/{name} stdin")
    return other(f"program/{name}")
