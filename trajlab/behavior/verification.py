"""Edits and what was run after them: verification, its ladder, read-back, and edits that went wrong.

A *project edit* is a call that is not known to have failed and that creates, changes or deletes a file of the class
``project`` (``path_rules``); by ``git checkout FILE`` of a file that the agent changed, and by a script of the agent's
own that is known to write there, too. Such a script is an edit, no verification. Deleting what the agent itself made is
no project edit. ``git stash`` is not followed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from trajlab.behavior.files import FileLog
from trajlab.behavior.quick_files import quick_touches
from trajlab.behavior.results import Counts, count_tests, outcome
from trajlab.behavior.shapes import Reading
from trajlab.behavior.shell import CACHED_TEXTS, Known
from trajlab.behavior.shell_files import analysed_touches
from trajlab.behavior.tool_files import tool_touches
from trajlab.behavior.tools import decoded_arguments, kind_of_tool
from trajlab.behavior.touches import Touch
from trajlab.records import ToolCall
from trajlab.schema import LABELS, RUNGS

Row = tuple[Any, ...]
Place = tuple[int, int, int]
"""Number of a call, of its step, and its place among the agent's calls."""

_BITS = {label: 1 << place for place, label in enumerate(LABELS)}
TEST = _BITS["test:all"] | _BITS["test:part"] | _BITS["test:file"] | _BITS["test:case"]
SUITE = _BITS["test:all"] | _BITS["test:part"]
EDIT, INLINE, SCRIPT, STATIC, SUBMIT = (_BITS[name] for name in ("edit", "inline", "script", "static", "submit"))
RUNS = TEST | INLINE | SCRIPT | STATIC
FILES = EDIT | SCRIPT | _BITS["read"] | _BITS["fileop"] | _BITS["vcs"]
"""Labels of calls that may do something to files."""
WORKS = FILES | RUNS | SUBMIT
"""Labels of calls that matter here."""
_TELLS_OF_EDIT = ~(TEST | SCRIPT | STATIC | SUBMIT | _BITS["search"] | _BITS["install"])
"""A failed call with other labels than these does not tell whether its edit failed."""

_EDITOR_FAILED = re.compile(
    r"\s{0,20}(?:<tool_use_error>|ERROR\b|Error\b|error:|No replacement was performed|Failed\b|Invalid `"
    r"|The edit was not applied|Your proposed edit has introduced new syntax error"
    r"|String to replace not found|File has not been read yet|Found [0-9]+ matches)"
)
"""How an editor tool begins its answer when it did nothing (SWE-agent, OpenHands, Claude Code, Anthropic's editor)."""


LONGEST_REPEATED = 200
"""Characters of a shell text that may well come again."""


def rung_of(mask: int) -> int:
    """Number of the rung (``RUNGS``) of what a call runs; 0 where it runs and checks nothing."""
    if mask & TEST:
        return 5 if mask & SUITE else 4
    if mask & SCRIPT:
        return 3
    if mask & INLINE and not mask & EDIT:
        return 2
    return 1 if mask & STATIC else 0


def edit_failed(call: ToolCall, mask: int) -> bool:
    """Whether the edit of a call is known to have failed; unknown is no."""
    if call.exit_code is not None:
        return call.exit_code != 0 and not mask & ~_TELLS_OF_EDIT
    if call.is_error:
        return not mask & ~_TELLS_OF_EDIT
    return call.command is None and call.output is not None and _EDITOR_FAILED.match(call.output) is not None


@lru_cache(maxsize=512)
def runs_of(known: Known, without_scripts: bool) -> tuple[int, int]:
    """Position of the last simple command of a shell text that runs or checks something, and the highest rung.

    Args:
        known: What is known of the text.
        without_scripts: Source files run in it are known to be edits.
    """
    last, highest = -1, 0
    for position, (_, mask, _, _) in enumerate(known.rows):
        rung = rung_of(mask & ~SCRIPT if without_scripts else mask)
        if rung:
            last, highest = position, max(highest, rung)
    return last, highest


@lru_cache(maxsize=512)
def framework_of(known: Known) -> str | None:
    """The framework whose tests a shell text runs, by the rule that found them; ``None`` for none or several."""
    found = {rule.rpartition("/")[2] for _, mask, scope, rule in known.rows if scope is not None}
    return found.pop() if len(found) == 1 else None


TOUCHES: dict[str, Sequence[Touch]] = {}
"""What the texts met last do to files: a cache, emptied when it is full (see :data:`trajlab.behavior.shell.SEEN`)."""


def _touches_of(text: str, known: Known, reading: Reading | None) -> Sequence[Touch]:
    touches = TOUCHES.get(text)
    if touches is None:
        touches = quick_touches(text, known, reading)
        if touches is None:
            touches = analysed_touches(text)
        if len(text) <= LONGEST_REPEATED:
            if len(TOUCHES) >= CACHED_TEXTS:
                TOUCHES.clear()
            TOUCHES[text] = touches
    return touches


class _Rungs(dict[int, int]):
    """Rung of a mask, worked out once."""

    def __missing__(self, mask: int) -> int:
        rung = self[mask] = rung_of(mask)
        return rung


_RUNGS = _Rungs()


class Work:
    """What the calls of one trajectory did to files and how they checked it, call after call.

    Attributes:
        files: File events so far.
        results: Rows of the table ``call_results`` without the trajectory's id.
    """

    __slots__ = (
        "executes_before", "failed_edits", "failed_requests", "failed_streak", "files", "first_edit",
        "first_rung", "last_edit", "last_rung", "last_tests_bad", "last_verified", "longest_streak", "n_project_edits",
        "repeated_failure", "results", "streak_calls", "submitted", "verifications",
    )  # fmt: skip

    def __init__(self) -> None:
        self.files = FileLog()
        self.results: list[Row] = []
        self.first_edit: int | None = None
        self.last_edit: int | None = None
        self.n_project_edits = 0
        self.first_rung = self.last_rung = 0
        self.executes_before = self.verifications = 0
        self.last_verified = False
        self.last_tests_bad: bool | None = None
        self.submitted = self.repeated_failure = False
        self.failed_edits = self.failed_streak = self.longest_streak = self.streak_calls = 0
        self.failed_requests: set[tuple[str | None, str]] = set()

    def add_shell(self, place: Place, call: ToolCall, text: str, known: Known, reading: Reading | None) -> None:
        """Add a shell call that does something to files, runs something, submits, or went wrong.

        Args:
            place: Number of the call, of its step, and its place among the agent's calls.
            call: The call.
            text: Its shell text.
            known: What is known of the text.
            reading: The text by its shape.
        """
        mask = known.mask
        edited, by_script = -1, False
        if mask & FILES:
            edited, by_script = self._touch(place, call, mask, _touches_of(text, known, reading))
        if mask & RUNS:
            last_run, rung = -1, _RUNGS[mask]
            if by_script or edited >= 0 or mask & EDIT:
                last_run, rung = runs_of(known, by_script)
            if rung or edited >= 0:
                self._climb(rung, edited, last_run, place[0])
            self._result(call, mask, place[0], known)
        else:
            if edited >= 0:
                self._climb(0, edited, -1, place[0])
            if call.exit_code:
                self._result(call, mask, place[0], known)
        if mask & SUBMIT:
            self.submitted = True

    def add_tool(self, place: Place, call: ToolCall, mask: int) -> None:
        """Add a call of another tool; ``mask`` holds its labels."""
        edited = -1
        if mask & FILES:
            kind = kind_of_tool(call.tool)
            touches = () if kind is None else tool_touches(call.tool, kind, decoded_arguments(call))
            edited, _ = self._touch(place, call, mask, touches)
        rung = rung_of(mask) if mask & RUNS else 0
        if rung or edited >= 0:
            self._climb(rung, edited, -1, place[0])
        if mask & RUNS or call.exit_code:
            self._result(call, mask, place[0], None)
        if mask & SUBMIT:
            self.submitted = True

    def _touch(self, place: Place, call: ToolCall, mask: int, touches: Sequence[Touch]) -> tuple[int, bool]:
        failed = False
        if mask & EDIT:
            failed = edit_failed(call, mask)
            self._count_edit(call, failed=failed)
        elif call.exit_code and len(touches) == 1:
            failed = not mask & ~_TELLS_OF_EDIT
        return self.files.add(place, touches, failed=failed, sees=not mask & SUBMIT) if touches else (-1, False)

    def _count_edit(self, call: ToolCall, *, failed: bool) -> None:
        self.streak_calls += 1
        if not failed:
            self.failed_streak = 0
            return
        self.failed_edits += 1
        self.failed_streak += 1
        self.longest_streak = max(self.longest_streak, self.failed_streak)
        request = (call.tool, call.command if call.command is not None else repr(call.arguments))
        self.repeated_failure = self.repeated_failure or request in self.failed_requests
        self.failed_requests.add(request)

    def _climb(self, rung: int, edited: int, last_run: int, number: int) -> None:
        if edited < 0:
            if self.first_edit is None:
                self.executes_before += rung > 1
                return
            if rung > 1:
                self.verifications += 1
                self.last_verified = True
            if rung > self.last_rung:
                self.last_rung = rung
                self.first_rung = max(self.first_rung, rung)
            return
        if self.first_edit is None:
            self.first_edit = number
            self.executes_before += rung > 1 and last_run < edited
        else:
            self.verifications += rung > 1 and last_run < edited
            self.first_rung = max(self.first_rung, rung)
        self.last_edit = number
        self.n_project_edits += 1
        self.last_rung, self.last_verified = 0, False
        if rung and last_run > edited:
            self.verifications += rung > 1
            self.first_rung = max(self.first_rung, rung)
            self.last_rung, self.last_verified = rung, rung > 1

    def _result(self, call: ToolCall, mask: int, number: int, known: Known | None) -> None:
        tests: Counts | None = None
        if mask & TEST and call.output:
            tests = count_tests(call.output, None if known is None else framework_of(known))
        came = outcome(call) if call.executed is not False else "unknown"
        if mask & TEST:
            self.last_tests_bad = _bad(call, tests, came)
        if tests is not None:
            counts = (tests.passed, tests.failed, tests.errors, tests.skipped)
            self.results.append((number, came, *counts))
        elif came not in ("ok", "unknown") and not (came == "failed" and call.exit_code is not None):
            self.results.append((number, came, None, None, None, None))

    def row(self, *, observed: bool) -> Row:
        """The columns of ``behaviour`` about edits and verification, in their order."""
        edited = self.first_edit is not None
        known = self.files.n_edits > 0 or edited
        verified = self.verifications > 0
        return (
            self.first_edit,
            self.last_edit,
            self.n_project_edits if observed else None,
            self.executes_before if observed else None,
            self.verifications if edited else None,
            RUNGS[self.first_rung] if edited else None,
            RUNGS[self.last_rung] if edited else None,
            not self.last_verified if edited and verified else None,
            self.files.n_edits if observed else None,
            self.files.n_read_back if self.files.n_edits else None,
            not verified if edited and self.submitted else None,
            self.last_tests_bad if self.submitted else None,
            self.files.flip_flop if known else None,
            self.failed_edits if self.streak_calls else None,
            self.longest_streak if self.streak_calls else None,
            self.repeated_failure if self.streak_calls else None,
            len(self.files.abandoned) if known else None,
        )


def _bad(call: ToolCall, tests: Counts | None, came: str) -> bool | None:
    """Whether a test run failed: its counts decide, then the exit code where no pipe hides it."""
    if tests is not None and tests.bad is not None:
        return tests.bad
    if came in ("timeout", "not_found", "unknown"):
        return None
    if came == "ok" and call.command is not None and "|" in call.command:
        return None
    return came != "ok"
