"""What came of a call: its outcome, and the counts of the tests it ran, read from the end of its output."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from trajlab.records import ToolCall

RESULTS_VERSION = "1"
"""Changes whenever the outcome or the counts of any call may change."""

TAIL = 2_000
"""Characters at the end of an output in which a summary of tests is looked for."""
PYTEST_TAIL = 500
"""The same for pytest, whose summary is its last line."""
ERROR_TAIL = 400
"""Characters at the end of an output in which an error of the shell is looked for."""

TIMEOUT_CODES = frozenset({124})
"""``timeout`` of the GNU coreutils."""
NOT_FOUND_CODES = frozenset({127})
"""POSIX shells: command not found."""

TIMEOUT_TEXTS = ("timed out", "Timed out", "TimeoutExpired", "timeout expired", "<timeout>")
KILLED = "timed out and has been killed"
"""mini-swe-agent, before the output so far."""
NO_FRAMEWORK_TEXTS = ("No module named pytest", "No module named nose", "No module named 'pytest'")
"""The command itself was found, the framework it was to start was not."""
NOT_FOUND_TEXTS = (
    ": command not found", ": not found", "is not recognized as an internal or external command", *NO_FRAMEWORK_TEXTS,
)  # fmt: skip
TRACEBACK = "Traceback (most recent call last):"


class Counts(msgspec.Struct, frozen=True):
    """Counts of a test run; ``None`` where the summary does not say."""

    passed: int | None = None
    failed: int | None = None
    errors: int | None = None
    skipped: int | None = None

    @property
    def bad(self) -> bool | None:
        """Whether any failed or erred; ``None`` where neither is said."""
        if self.failed is None and self.errors is None:
            return None
        return bool(self.failed) or bool(self.errors)


_ANSI = re.compile(r"\x1b\[[0-9;]*m")
_PYTEST = re.compile(r"[= ]{0,200}((?:[0-9]+ [a-z]+(?:, )?){1,9}|no tests ran) in [0-9.:]+ ?(?:s\b|seconds)")
_COUNT = re.compile(r"([0-9]+) ([a-z]+)")
_RAN = re.compile(r"Ran ([0-9]+) tests? in [0-9.]+s?\s{1,4}(OK|FAILED|NO TESTS RAN)(?: \(([^()\n]{1,200})\))?")
_NAMED = re.compile(r"([a-z ]{4,30})=([0-9]+)")
_SYMPY = re.compile(r"tests? finished: ([^\n]{1,200}?),?\s{1,3}in [0-9.]+ seconds")
_JEST = re.compile(r"^Tests: +([^\n]{1,200}) total", re.MULTILINE)
_VITEST = re.compile(r"^ *Tests +((?:[0-9]+ [a-z]+(?: \| )?){1,5}) \([0-9]+\)", re.MULTILINE)
_MOCHA = re.compile(r"^ *([0-9]+) (passing|failing|pending)\b", re.MULTILINE)
_CARGO = re.compile(r"test result: \w+\. ([0-9]{1,15}) passed; ([0-9]{1,15}) failed; ([0-9]{1,15}) ignored")
_MAVEN = re.compile(r"Tests run: ([0-9]+), Failures: ([0-9]+), Errors: ([0-9]+)(?:, Skipped: ([0-9]+))?")
_GRADLE = re.compile(r"^([0-9]+) tests? completed(?:, ([0-9]+) failed)?(?:, ([0-9]+) skipped)?", re.MULTILINE)
_RSPEC = re.compile(r"^([0-9]+) examples?, ([0-9]+) failures?(?:, ([0-9]+) pending)?", re.MULTILINE)
_MINITEST = re.compile(
    r"([0-9]+) (?:runs|tests), [0-9]+ assertions, ([0-9]+) failures, ([0-9]+) errors(?:, ([0-9]+) skips)?"
)
_PHPUNIT = re.compile(r"^Tests: ([0-9]+), Assertions: [0-9]+([^\n]{0,200})", re.MULTILINE)
_PHPUNIT_OK = re.compile(r"^OK \(([0-9]+) tests?, [0-9]+ assertions?\)", re.MULTILINE)
_PHPUNIT_COUNT = re.compile(r"(Errors|Failures|Skipped|Incomplete): ([0-9]+)")
_DOTNET = re.compile(r"Failed: +([0-9]+), Passed: +([0-9]+), Skipped: +([0-9]+)")
_CTEST = re.compile(r"[0-9]+% tests passed, ([0-9]+) tests? failed out of ([0-9]+)")


def _words(text: str) -> dict[str, int]:
    counts: dict[str, int] = {}
    for match in _COUNT.finditer(text):
        counts[match[2]] = counts.get(match[2], 0) + int(match[1])
    return counts


def _last(pattern: re.Pattern[str], text: str) -> re.Match[str] | None:
    found = None
    for found in pattern.finditer(text):  # noqa: B007 - the last one is wanted
        pass
    return found


def _pytest(tail: str, output: str) -> Counts | None:
    first = max(len(tail) - PYTEST_TAIL, 0)
    place = tail.rfind(" in ", first)
    while place > 0:
        if tail[place + 4 : place + 5].isdigit():
            found = _PYTEST.match(tail, tail.rfind("\n", 0, place) + 1)
            if found is not None:
                n = _words(found[1])
                errors = n.get("error", 0) + n.get("errors", 0)
                return Counts(n.get("passed", 0) + n.get("xpassed", 0), n.get("failed", 0), errors,
                              n.get("skipped", 0) + n.get("xfailed", 0))  # fmt: skip
        place = tail.rfind(" in ", first, place)
    return None


def _unittest(tail: str, output: str) -> Counts | None:
    found = _last(_RAN, tail) if "Ran " in tail else None
    if found is None:
        return None
    named = {match[1].strip(): int(match[2]) for match in _NAMED.finditer(found[3] or "")}
    failed = named.get("failures", 0) + named.get("unexpected successes", 0)
    errors, skipped = named.get("errors", 0), named.get("skipped", 0) + named.get("expected failures", 0)
    return Counts(max(int(found[1]) - failed - errors - skipped, 0), failed, errors, skipped)


def _sympy(tail: str, output: str) -> Counts | None:
    found = _last(_SYMPY, tail) if "finished:" in tail else None
    if found is None:
        return None
    n = _words(found[1])
    return Counts(n.get("passed", 0), n.get("failed", 0), n.get("exceptions", 0),
                 n.get("skipped", 0) + n.get("expected", 0))  # fmt: skip


def _javascript(tail: str, output: str) -> Counts | None:
    found = (_last(_JEST, tail) or _last(_VITEST, tail)) if "Tests" in tail else None
    if found is not None:
        n = _words(found[1])
        return Counts(n.get("passed", 0), n.get("failed", 0), 0, n.get("skipped", 0) + n.get("todo", 0))
    if "passing" not in tail and "failing" not in tail:
        return None
    n = {match[2]: int(match[1]) for match in _MOCHA.finditer(tail)}
    return Counts(n.get("passing", 0), n.get("failing", 0), 0, n.get("pending", 0)) if n else None


def _go(tail: str, output: str) -> Counts | None:
    """``go test`` counts packages; tests are counted where it lists them (all with ``-v``, else the failed)."""
    if not ("\nok  \t" in "\n" + tail or "\nFAIL" in "\n" + tail or "\nPASS\n" in "\n" + tail + "\n"):
        return None
    text = "\n" + output
    failed, passed, skipped = (text.count(f"\n--- {word}: ") for word in ("FAIL", "PASS", "SKIP"))
    listed = passed or skipped or "\n=== RUN " in text
    errors = text.count(" [build failed]") + text.count(" [setup failed]")
    if not failed and not errors and "\nFAIL" in text:
        return None
    return Counts(passed if listed else None, failed, errors, skipped if listed else None)


def _cargo(tail: str, output: str) -> Counts | None:
    results = []
    place = output.find("test result: ")
    while place >= 0:
        if found := _CARGO.match(output, place):
            results.append([int(number) for number in found.groups()])
        place = output.find("test result: ", place + 1)
    if not results:
        return None
    passed, failed, ignored = (sum(column) for column in zip(*results, strict=True))
    return Counts(passed, failed, 0, ignored)


def _maven(tail: str, output: str) -> Counts | None:
    found = _last(_MAVEN, tail) if "Tests run: " in tail else None
    if found is not None:
        run, failed, errors, skipped = (int(number or 0) for number in found.groups())
        return Counts(max(run - failed - errors - skipped, 0), failed, errors, skipped)
    found = _last(_GRADLE, tail) if " completed" in tail else None
    if found is None:
        return None
    run, failed, skipped = (int(number or 0) for number in found.groups())
    return Counts(max(run - failed - skipped, 0), failed, 0, skipped)


def _ruby(tail: str, output: str) -> Counts | None:
    found = _last(_RSPEC, tail) if " example" in tail else None
    if found is not None:
        run, failed, pending = (int(number or 0) for number in found.groups())
        return Counts(max(run - failed - pending, 0), failed, 0, pending)
    found = _last(_MINITEST, tail) if " assertions, " in tail else None
    if found is None:
        return None
    run, failed, errors, skipped = (int(number or 0) for number in found.groups())
    return Counts(max(run - failed - errors - skipped, 0), failed, errors, skipped)


def _phpunit(tail: str, output: str) -> Counts | None:
    if "ssertion" not in tail:
        return None
    if found := _last(_PHPUNIT_OK, tail):
        return Counts(int(found[1]), 0, 0, 0)
    found = _last(_PHPUNIT, tail)
    if found is None:
        return None
    n = {match[1]: int(match[2]) for match in _PHPUNIT_COUNT.finditer(found[2])}
    failed, errors = n.get("Failures", 0), n.get("Errors", 0)
    skipped = n.get("Skipped", 0) + n.get("Incomplete", 0)
    return Counts(max(int(found[1]) - failed - errors - skipped, 0), failed, errors, skipped)


def _dotnet(tail: str, output: str) -> Counts | None:
    if "assed" not in tail:
        return None
    if found := _last(_DOTNET, tail):
        return Counts(int(found[2]), int(found[1]), 0, int(found[3]))
    if found := _last(_CTEST, tail):
        return Counts(int(found[2]) - int(found[1]), int(found[1]), 0, None)
    return None


ALL_READERS = (_pytest, _unittest, _sympy, _javascript, _cargo, _maven, _go, _ruby, _phpunit, _dotnet)
"""What reads the summary of each framework, for runs whose framework is not told (``make test``, ``tox``)."""

READERS: dict[str, tuple[Callable[[str, str], Counts | None], ...]] = {
    "pytest": (_pytest,),
    "unittest": (_unittest,),
    "django": (_unittest,),
    "nose": (_unittest,),
    "sympy": (_sympy,),
    "jest": (_javascript,),
    "vitest": (_javascript,),
    "mocha": (_javascript,),
    "cargo test": (_cargo,),
    "go test": (_go,),
    "maven": (_maven,),
    "gradle": (_maven,),
    "rspec": (_ruby,),
    "minitest": (_ruby,),
    "phpunit": (_phpunit,),
    "dotnet test": (_dotnet,),
    "ctest": (_dotnet,),
}
"""What reads the summary of a framework, by the last part of the id of the rule that found the test run."""


def count_tests(output: str, framework: str | None = None) -> Counts | None:
    """Counts of the last test run in an output.

    Args:
        output: What a call that runs tests printed.
        framework: A name of ``READERS``; any other, or ``None``: not told.

    Returns:
        ``None`` where no summary stands in the last 2,000 characters (that of cargo may stand anywhere).
    """
    if framework == "pytest" and output.rfind(" in ", -PYTEST_TAIL) < 0:
        return None
    tail = output[-TAIL:]
    if "\x1b" in tail:
        tail = _ANSI.sub("", tail)
    for read in READERS.get(framework, ALL_READERS) if framework is not None else ALL_READERS:
        found = read(tail, output)
        if found is not None:
            return found
    return None


def outcome(call: ToolCall) -> str:
    """What came of an executed call: the exit code decides, then the log's mark, then what the output ends with.

    Returns:
        ``ok``, ``failed``, ``timeout``, ``not_found``, ``traceback`` (failed, and a Python traceback is shown)
        or ``unknown``.
    """
    code, output = call.exit_code, call.output or ""
    if code is None:
        told = _told(output, ended=False)
        if told is None and call.is_error and KILLED in output:
            told = "timeout"
        if told is not None:
            return told
    elif code == 0:
        return "ok"
    elif code in NOT_FOUND_CODES:
        return "not_found"
    elif code in TIMEOUT_CODES:
        return "timeout"
    elif code < 0 or len(output) < ERROR_TAIL:
        told = _told(output, ended=code >= 0)
        if told is not None:
            return told
    if output.find(TRACEBACK, -TAIL) >= 0:
        return "traceback"
    if code is not None or call.is_error:
        return "failed"
    return "unknown" if call.is_error is None else "ok"


def _told(output: str, *, ended: bool) -> str | None:
    """A timeout or a missing program, where the output says so in so many words."""
    if not ended:
        tail = output[-ERROR_TAIL:]
        if "ime" in tail:
            for text in TIMEOUT_TEXTS:
                if text in tail:
                    return "timeout"
    if len(output) < ERROR_TAIL:
        for text in NO_FRAMEWORK_TEXTS if ended else NOT_FOUND_TEXTS:
            if text in output:
                return "not_found"
    return None
