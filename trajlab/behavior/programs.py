"""Rules for programs whose flags or arguments decide what they do."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from itertools import pairwise

from trajlab.behavior.program_rules import MARKERS
from trajlab.behavior.rules import (
    ACTIVATIONS,
    FLAG_LABELS,
    FRAMEWORKS,
    MAVEN_TEST_GOALS,
    REPAIR_FLAGS,
    TARGET_VALUE_FLAGS,
    TARGET_WORDS,
    TEST_PROGRAMS,
    TEST_TARGETS,
    YARN_COMMANDS,
)
from trajlab.behavior.scopes import scope_of_run
from trajlab.behavior.subcommand_rules import BARE, PACKAGE_MANAGERS, SUBCOMMANDS, TARGETS
from trajlab.behavior.unwrap import subcommand_place
from trajlab.behavior.verdicts import (
    Context,
    Inner,
    Nested,
    Outcome,
    Rewrite,
    framework_run,
    other,
    run_of_everything,
    several,
    verdict,
)

SED_IN_PLACE = re.compile(r"-(?:[nErsuz]*i|-in-place)")
_PERL_IN_PLACE = re.compile(r"-[pnlaw0-9]*i")
_PERL_LOOP = re.compile(r"-[lawsF0-9:,]*[np]")
_AWK_WRITES = re.compile(r"print[^;}\n\"']*(?:\"[^\"\n]*\"[^;}\n\"']*)*>>?[ ]*\"")
_TARGET_PARTS = re.compile(r"[-_:./]")


def sed(arguments: Sequence[str], context: Context) -> Outcome:
    """``-i`` edits; anything else shows."""
    for word in arguments:
        if word[:1] == "-" and SED_IN_PLACE.match(word):
            return verdict("edit", "flag/sed -i")
    return verdict("read", "program/sed")


def perl(arguments: Sequence[str], context: Context) -> Outcome | None:
    """``-i`` edits, ``-n`` and ``-p`` print a file; anything else is an interpreter (``None``)."""
    loops = False
    for word in arguments:
        if word[:1] != "-" or len(word) < 2:
            break
        if word[:2] in ("-M", "-I", "-m"):
            continue
        if _PERL_IN_PLACE.match(word):
            return verdict("edit", "flag/perl -i")
        loops = loops or _PERL_LOOP.match(word) is not None
    return verdict("read", "flag/perl -n") if loops else None


def awk(arguments: Sequence[str], context: Context) -> Outcome:
    """Shows lines, unless the program writes a file."""
    if "inplace" in arguments:
        return verdict("edit", "flag/awk -i inplace")
    if any(">" in word and _AWK_WRITES.search(word) for word in arguments):
        return verdict("edit", "program/awk writes a file")
    return verdict("read", "program/awk")


def find(arguments: Sequence[str], context: Context) -> Outcome:
    """Searches, and does what ``-exec`` and ``-delete`` say."""
    pairs = [("search", "program/find")]
    commands: list[list[str]] = []
    index, count = 0, len(arguments)
    while index < count:
        word = arguments[index]
        index += 1
        if word == "-delete":
            pairs.append(("fileop", "flag/find -delete"))
        elif word in ("-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"):
            command: list[str] = []
            while index < count and arguments[index] not in (";", "+", "\\;"):
                command.append(arguments[index])
                index += 1
            commands.append(command)
        elif word in ("-fprint", "-fprintf"):
            index += 1
    judged = several(pairs)
    return Inner(commands, "find -exec", judged) if commands else judged


def tar(arguments: Sequence[str], context: Context) -> Outcome:
    """Packs and unpacks; ``-t`` lists."""
    for place, word in enumerate(arguments):
        if word in ("--list", "-t"):
            return verdict("search", "flag/tar -t")
        letters = word[1:] if word[:1] == "-" and word[1:2] != "-" else word if place == 0 else ""
        if "t" in letters and letters.isalpha() and not set(letters) & set("xcru"):
            return verdict("search", "flag/tar -t")
    return verdict("fileop", "program/tar")


def author(arguments: Sequence[str], context: Context) -> Outcome:
    """Judge echo and printf: they print, and may end the task."""
    for word in arguments:
        if len(word) > 20 and word.strip().removesuffix("\\n") in MARKERS:
            return verdict("submit", "marker")
    return other("program/echo")


def make(name: str, arguments: Sequence[str], table: str) -> Outcome:
    """Judge a runner of named targets; the first label of each target counts."""
    tests: list[str] = []
    index, count = 0, len(arguments)
    targets: list[str] = []
    while index < count:
        word = arguments[index]
        index += 1
        if word in ("-n", "--dry-run", "-h", "--list", "-l", "-p") and name != "ninja":
            return other(f"information/{name}")
        if word in TARGET_VALUE_FLAGS:
            index += 1 if index < count and (word != "-j" or arguments[index].isdigit()) else 0
        elif word[:1] == "-":
            continue
        elif "=" in word:
            variable, _, value = word.partition("=")
            if variable.upper().startswith(("TEST", "SPEC")) and not variable.upper().endswith(
                ("OPTS", "FLAGS", "ARGS")
            ):
                tests.extend(value.split())
        else:
            targets.append(word)
            if table == "tasks":
                tests.extend(arguments[index:])
                break
    pairs = [(target_label(target, table), f"target/{name} {target or 'default'}") for target in targets or [""]]
    return _scoped(pairs, tests)


def _scoped(pairs: list[tuple[str, str]], tests: Sequence[str]) -> Outcome:
    if any(label == "test:all" for label, _ in pairs):
        scope = scope_of_run(FRAMEWORKS["vitest"], tests)
        scope = scope if scope in ("part", "file", "case") else "all"
        pairs = [(f"test:{scope}" if label == "test:all" else label, rule) for label, rule in pairs]
        return several(pairs, scope)
    return several(pairs)


def target_label(target: str, table: str) -> str:
    """Label of a target or a package's script, by the words of its name."""
    names = TARGETS[table]
    if target in names:
        return names[target]
    parts = _TARGET_PARTS.split(target.lower())
    if any(part in TEST_TARGETS for part in parts):
        return "test:all"
    for part in parts:
        label = TARGET_WORDS.get(part)
        if label:
            return "static" if label == "edit" and "check" in parts else label
    return names.get(parts[0]) or names[""]


def package_manager(name: str, arguments: Sequence[str], context: Context) -> Outcome:
    """Judge npm, yarn, pnpm and bun, where no wrapper rule took them."""
    words = [name, *arguments]
    place = subcommand_place(name, words)
    if place >= len(words):
        return verdict("install", f"program/{name}") if PACKAGE_MANAGERS[name] == "yarn" else other(f"program/{name}")
    command, rest = words[place], words[place + 1 :]
    if PACKAGE_MANAGERS[name] == "npm":
        label = SUBCOMMANDS["npm"].get(command, SUBCOMMANDS["npm"][""])
        if label != "target":
            return verdict(label, f"subcommand/npm {command}")
    elif name == "bun" and command == "test":
        return framework_run("jest", rest, "framework/bun test")
    elif command in YARN_COMMANDS:
        return verdict(YARN_COMMANDS[command], f"subcommand/{name} {command}")
    if command in ("run", "run-script", "workspace", "workspaces", "-r"):
        rest = [word for word in rest if word not in ("-s", "--silent", "-w", "--workspaces", "--if-present")]
        if command.startswith("workspace"):
            rest = rest[1:]
        if not rest:
            return other(f"subcommand/{name} run")
        command, rest = rest[0], rest[1:]
    return _package_script(name, command, rest)


def _package_script(name: str, command: str, rest: list[str]) -> Outcome:
    """A script of the package by its name, else the binary of that name (not for npm)."""
    label = target_label(command, "tasks")
    if label == "script" and PACKAGE_MANAGERS[name] == "yarn":
        return Rewrite([command, *rest], name)
    if command in TEST_PROGRAMS and PACKAGE_MANAGERS[name] == "yarn":
        return framework_run(TEST_PROGRAMS[command], rest)
    if command in FLAG_LABELS and PACKAGE_MANAGERS[name] == "yarn":
        return Rewrite([command, *rest], name)
    if label == "static" and REPAIR_FLAGS.intersection(rest):
        return verdict("edit", f"target/{name} {command} repairs")
    return _scoped([(label, f"target/{name} {command}")], rest)


def maven(arguments: Sequence[str], context: Context) -> Outcome:
    """Goals that run tests, else what the first goal is for."""
    goals = [word for word in arguments if word[:1] != "-"]
    skips = any(
        word.startswith(("-DskipTests", "-Dmaven.test.skip")) and not word.endswith("=false") for word in arguments
    )
    if not skips and any(goal in MAVEN_TEST_GOALS for goal in goals):
        return framework_run("maven", arguments)
    if not skips and any(word.startswith("-Dtest=") for word in arguments):
        return framework_run("maven", arguments)
    for goal in goals:
        if goal.startswith(("exec:", "spring-boot:run")):
            return verdict("script", f"target/mvn {goal}")
        if goal.startswith(("dependency:tree", "help:")):
            return other(f"target/mvn {goal}")
        if goal.startswith(("checkstyle:", "spotbugs:", "pmd:", "spotless:check")):
            return verdict("static", f"target/mvn {goal}")
        if goal.startswith(("spotless:apply", "formatter:")):
            return verdict("edit", f"target/mvn {goal}")
    return verdict("install", "program/mvn") if goals else other("program/mvn")


def gradle(arguments: Sequence[str], context: Context) -> Outcome:
    """Tasks that run tests, else what the last task is for."""
    tasks = [word for word in arguments if word[:1] != "-"]
    if any("test" in word.rpartition(":")[2].lower() and "testclasses" not in word.lower() for word in tasks):
        judged = framework_run("gradle", arguments)
        in_module = any(word.lstrip(":").count(":") and "test" in word.rpartition(":")[2].lower() for word in tasks)
        return framework_run("files", ["part/"], "framework/gradle") if in_module and judged[2] == "all" else judged
    last = [word.rpartition(":")[2] for word in tasks]
    if "check" in last:
        return run_of_everything("framework/gradle")
    if any(word in ("run", "bootRun") for word in last):
        return verdict("script", "target/gradle run")
    if any(word.startswith(("lint", "checkstyle", "spotlessCheck", "detekt")) for word in last):
        return verdict("static", "target/gradle lint")
    if last and last[0] in ("tasks", "dependencies", "projects", "properties", "help"):
        return other("target/gradle tasks")
    return verdict("install", "program/gradle") if last else other("program/gradle")


def sbt(arguments: Sequence[str], context: Context) -> Outcome:
    """``test`` and ``testOnly``, else building or running."""
    text = " ".join(arguments)
    if "testOnly" in text:
        words = text.partition("testOnly")[2].split()
        return framework_run("junit", [word.strip("\"'") for word in words[:1]], "framework/sbt")
    if re.search(r"(?:^|[ /:])test\b", text):
        return run_of_everything("framework/sbt")
    return verdict("script" if text.startswith("run") else "install", "program/sbt")


def tee(arguments: Sequence[str], context: Context) -> Outcome:
    """Writes what it reads to files."""
    if any(word[:1] != "-" and not word.startswith("/dev/") for word in arguments):
        return verdict("edit", "program/tee")
    return other("program/tee")


def source(arguments: Sequence[str], context: Context) -> Outcome:
    """Judge ``source x`` and ``. x``: setting up the shell, or running a file."""
    if not arguments:
        return other("program/source")
    base = arguments[0].rpartition("/")[2]
    if base in ACTIVATIONS or base.startswith("activate") or base.endswith((".env", "rc")) or "$()" in base:
        return other("program/source activates")
    return verdict("script", "source file/source")


def docker(arguments: Sequence[str], context: Context) -> Outcome:
    """Building images; what runs inside is taken off by the wrapper rules."""
    words = [word for word in arguments if word[:1] != "-"]
    if words[:1] in (["build"], ["buildx"]) or words[:2] == ["compose", "build"]:
        return verdict("install", "subcommand/docker build")
    return other("program/docker")


def bracket(arguments: Sequence[str], context: Context) -> Outcome:
    """``[`` and ``[[`` only compare."""
    return other("program/test")


def trap(arguments: Sequence[str], context: Context) -> Outcome:
    """The command it keeps for later is read as if run."""
    return Nested(list(arguments[:1]), "trap") if len(arguments) > 1 else other("program/trap")


def git(arguments: Sequence[str], context: Context) -> Outcome:
    """Judge git by its subcommand; ``bisect run``, ``submodule foreach`` and ``rebase -x`` run commands."""
    words = ["git", *arguments]
    place = subcommand_place("git", words)
    command, rest = " ".join(words[place : place + 1]), words[place + 1 :]
    inner: list[list[str]] = []
    if command == "bisect" and rest[:1] == ["run"]:
        command, inner = "bisect run", [rest[1:]]
    elif command == "submodule" and "foreach" in rest:
        text = [word for word in rest[rest.index("foreach") + 1 :] if word not in ("--recursive", "--quiet", "-q")]
        command, inner = "submodule foreach", [["sh", "-c", " ".join(text)]]
    elif command == "rebase":
        texts = [after for word, after in pairwise(rest) if word in ("-x", "--exec")]
        texts += [word.partition("=")[2] for word in rest if word.startswith("--exec=")]
        command, inner = "rebase --exec" if texts else command, [["sh", "-c", text] for text in texts]
    if not inner:
        return subcommand("git", words)
    judged = verdict("vcs", f"subcommand/git {command}")
    return Inner(inner, f"git {command}", judged, adds_operands=False)


HANDLERS: dict[str, Callable[[Sequence[str], Context], Outcome]] = {
    "sed": sed,
    "awk": awk,
    "find": find,
    "fd": find,
    "fdfind": find,
    "tar": tar,
    "bsdtar": tar,
    "echo": author,
    "printf": author,
    "print": author,
    "mvn": maven,
    "gradle": gradle,
    "sbt": sbt,
    "tee": tee,
    "source": source,
    ".": source,
    "[": bracket,
    "[[": bracket,
    "docker": docker,
    "git": git,
    "trap": trap,
}


def subcommand(name: str, words: Sequence[str]) -> Outcome:
    """Judge a program by its first argument that is no flag."""
    table = SUBCOMMANDS[name]
    place = subcommand_place(name, words)
    if place >= len(words):
        return verdict(BARE.get(name, table[""]), f"program/{name}")
    command, rest = words[place], words[place + 1 :]
    if f"{name} {command}" in FLAG_LABELS:
        return by_flags(f"{name} {command}", rest)
    label = table.get(command, table[""])
    rule = f"subcommand/{name} {command if command in table else '*'}"
    if label == "target":
        if name in ("composer", "nx", "turbo", "lerna", "deno") and command in (
            "run",
            "run-script",
            "run-many",
            "task",
        ):
            rest = [word for word in rest if not word.startswith("-")]
            command, rest = (rest[0], rest[1:]) if rest else ("", [])
        return _scoped([(target_label(command, "tasks"), rule)], rest)
    if label.startswith("test:"):
        before = list(words[1:place]) if name in ("cargo", "go") else []
        return framework_run(label[5:], [*before, *rest], rule)
    return verdict(label, rule)


def by_flags(name: str, arguments: Sequence[str]) -> Outcome:
    """Judge a program that does one thing unless a flag says otherwise."""
    first = next((word for word in arguments if word[:1] != "-"), "")
    default, labels = FLAG_LABELS.get(f"{name} {first}") or FLAG_LABELS[name]
    for word in arguments:
        if word[:1] == "-":
            label = labels.get(word) or labels.get(word.partition("=")[0])
            if label:
                return verdict(label, f"flag/{name} {word.partition('=')[0]}")
    return verdict(default, f"program/{name}")
