"""What the rules say of one simple command, and what they may know of its surroundings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache

import msgspec

from trajlab.behavior.raw_command import RawCommand
from trajlab.behavior.rules import FRAMEWORKS
from trajlab.behavior.scopes import BREADTH, scope_of_run


class SimpleCommand(msgspec.Struct, frozen=True, gc=False):
    """One simple command of a shell text, as it would be executed, and what it does."""

    program: str
    """Basename without version and wrappers: ``python`` for ``/opt/venv/bin/python3.11``."""
    arguments: tuple[str, ...]
    """Words after the program, quotes removed; ``$NAME`` and ``$()`` stand where the value is unknown."""
    labels: frozenset[str]
    """Labels of the codebook; empty for a filter on another command's output."""
    rules: tuple[tuple[str, str], ...] = ()
    """``(label, rule id)`` for every label, in the order given."""
    scope: str | None = None
    """``all``, ``part``, ``file`` or ``case`` where it runs tests (the narrowest selection)."""
    is_filter: bool = False
    """Works on another command's output (in a pipe, no file named)."""
    redirects: tuple[tuple[str, str], ...] = ()
    """Files that standard output goes to: ``(path, "write" | "append")``."""
    heredoc: str | None = None
    """Body of its heredoc or here-string."""
    wrappers: tuple[str, ...] = ()
    """What stood around it: ``timeout``, ``uv run``, ``bash -c``, ``xargs``, ``find -exec`` …"""
    depth: int = 0
    """How many parentheses, substitutions and nested shells it stands in."""
    pipeline: int = 0
    """Commands of one pipeline share a number."""
    stdin_file: str | None = None
    """File read as standard input."""


Verdict = tuple[frozenset[str], tuple[tuple[str, str], ...], str | None]
"""Labels, ``(label, rule id)`` pairs, and scope of a test run."""


def judged_command(
    raw: RawCommand,
    name: str,
    words: Sequence[str],
    judged: Verdict,
    is_filter: bool,
    depth: int,
    wrappers: tuple[str, ...] = (),
) -> SimpleCommand:
    """Return a command as the shell text has it, with its verdict; ``depth`` is that of the text it stands in."""
    return SimpleCommand(
        name,
        tuple(words[1:]),
        judged[0],
        judged[1],
        judged[2],
        is_filter,
        tuple(raw.redirects),
        raw.heredoc if raw.heredoc is not None else raw.here_string,
        wrappers,
        depth + raw.depth,
        raw.pipeline,
        raw.stdin_file,
    )


class Rewrite:
    """The command is really this one."""

    __slots__ = ("words", "wrapper")

    def __init__(self, words: list[str], wrapper: str | None = None) -> None:
        self.words = words
        self.wrapper = wrapper


class Nested:
    """The command runs shell text: its commands stand in its place (or after it, with a verdict)."""

    __slots__ = ("texts", "verdict", "wrapper")

    def __init__(self, texts: list[str], wrapper: str, verdict: Verdict | None = None) -> None:
        self.texts = texts
        self.wrapper = wrapper
        self.verdict = verdict


class Inner:
    """The command runs other commands, given as words (``find -exec``), with operands it adds or as they are."""

    __slots__ = ("adds_operands", "commands", "verdict", "wrapper")

    def __init__(
        self, commands: list[list[str]], wrapper: str, verdict: Verdict, *, adds_operands: bool = True
    ) -> None:
        self.commands = commands
        self.wrapper = wrapper
        self.verdict = verdict
        self.adds_operands = adds_operands


Outcome = Verdict | Rewrite | Nested | Inner


class Context:
    """Surroundings of the command that is being judged."""

    __slots__ = ("analyse", "depth", "operands_on_stdin", "piped_in", "raw", "stdin", "tasks", "wrappers")

    def __init__(
        self,
        raw: RawCommand,
        depth: int,
        stdin: str | None,
        analyse: Callable[[str, int], list[SimpleCommand]],
    ) -> None:
        self.raw = raw
        self.depth = depth
        self.stdin = stdin
        self.piped_in = raw.piped_in
        self.analyse = analyse
        self.operands_on_stdin = False
        self.tasks = False
        self.wrappers: list[str] = []

    @property
    def has_stdin(self) -> bool:
        """Something other than a terminal is on standard input."""
        return self.piped_in or self.stdin is not None or self.raw.stdin_file is not None


@lru_cache(maxsize=4096)
def verdict(label: str, rule: str) -> Verdict:
    """Return the verdict of a single label."""
    return frozenset((label,)), ((label, rule),), None


NOTHING: Verdict = (frozenset(), (), None)


def other(rule: str) -> Verdict:
    """Return the verdict of a command that does nothing the codebook names."""
    return verdict("other", rule)


def several(pairs: Sequence[tuple[str, str]], scope: str | None = None) -> Verdict:
    """Return the verdict of several labels; ``other`` is dropped beside others."""
    kept = [pair for pair in pairs if pair[0] != "other"] or list(pairs[:1])
    return frozenset(label for label, _ in kept), tuple(kept), scope


@lru_cache(maxsize=512)
def _test(scope: str, rule: str) -> Verdict:
    label = f"test:{scope}"
    return frozenset((label,)), ((label, rule),), scope


def framework_run(framework: str, arguments: Sequence[str], rule: str | None = None) -> Verdict:
    """Return the verdict of a framework started with these arguments."""
    scope = scope_of_run(FRAMEWORKS[framework], arguments)
    rule = rule or f"framework/{framework}"
    if scope in BREADTH:
        return _test(scope, rule)
    if scope == "info":
        return other(f"{rule} information")
    if scope == "build":
        return verdict("install", f"{rule} build")
    return verdict(scope, f"{rule} environment")


def run_of_everything(rule: str) -> Verdict:
    """Return the verdict of a test run without selection."""
    return _test("all", rule)
