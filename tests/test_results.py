"""Outcomes of calls, and test counts from the summaries of the frameworks."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trajlab.behavior.results import count_tests, outcome
from trajlab.records import ToolCall

SUMMARIES = [
    ("pytest", "===== 3 failed, 2 passed, 1 skipped, 4 warnings in 0.12s =====", (2, 3, 0, 1)),
    ("pytest", "2 passed in 0.01s", (2, 0, 0, 0)),
    ("pytest", "== 7 passed, 1 warning, 2 errors in 0.61s (0:00:01) ==\n</output_tail>", (7, 0, 2, 0)),
    ("pytest", "no tests ran in 0.01s", (0, 0, 0, 0)),
    (
        "pytest",
        "\x1b[33m==== \x1b[32m1 passed\x1b[0m, \x1b[33m\x1b[1m215 deselected\x1b[0m\x1b[33m in 1.52s\x1b[0m ===",
        (1, 0, 0, 0),
    ),
    ("pytest", "1 passed, 2 xfailed, 3 xpassed in 0.10 seconds", (4, 0, 0, 2)),
    ("pytest", "found in 3 files", None),
    (
        "django",
        "Ran 5 tests in 0.300s\n\nOK (skipped=2)\n" + "Destroying test database for alias 'default'...\n" * 9,
        (3, 0, 0, 2),
    ),
    ("unittest", "Ran 4 tests in 0.001s\n\nFAILED (failures=1, errors=2)", (1, 1, 2, 0)),
    ("unittest", "Ran 1 test in 0s\n\nOK", (1, 0, 0, 0)),
    ("sympy", "=== tests finished: 95 passed, 4 expected to fail, in 2.87 seconds ===", (95, 0, 0, 4)),
    (
        "sympy",
        " tests finished: 216 passed, 3 skipped, 14 exceptions, \nin 7.55 seconds \nDO *NOT* COMMIT!",
        (216, 0, 14, 3),
    ),
    ("jest", "Test Suites: 1 failed, 1 total\nTests:       1 failed, 2 skipped, 3 passed, 6 total\n", (3, 1, 0, 2)),
    ("vitest", " Test Files  1 failed (1)\n      Tests  1 failed | 3 passed (4)\n", (3, 1, 0, 0)),
    ("mocha", "\n  3 passing (12ms)\n  1 pending\n  2 failing\n", (3, 2, 0, 1)),
    (
        "cargo test",
        "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured\n\n"
        "test result: FAILED. 1 passed; 2 failed; 0 ignored",
        (6, 2, 0, 1),
    ),
    ("cargo test", f"test result: ok. {'9' * 5000} passed; 0 failed; 0 ignored", None),
    ("go test", "--- FAIL: TestA (0.00s)\nFAIL\nFAIL\tpkg\t0.01s\n", (None, 1, 0, None)),
    ("go test", "=== RUN   TestA\n--- PASS: TestA (0.00s)\nPASS\nok  \tpkg\t0.01s\n", (1, 0, 0, 0)),
    ("go test", "ok  \tpkg\t0.01s\n", (None, 0, 0, None)),
    ("go test", "FAIL\tpkg [build failed]\nFAIL\n", (None, 0, 1, None)),
    ("maven", "[INFO] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1\n", (2, 1, 1, 1)),
    ("gradle", "5 tests completed, 1 failed, 1 skipped\n", (3, 1, 0, 1)),
    ("rspec", "10 examples, 1 failure, 2 pending\n", (7, 1, 0, 2)),
    ("minitest", "10 runs, 20 assertions, 1 failures, 2 errors, 0 skips", (7, 1, 2, 0)),
    ("phpunit", "OK (5 tests, 10 assertions)\n", (5, 0, 0, 0)),
    ("phpunit", "FAILURES!\nTests: 5, Assertions: 10, Errors: 1, Failures: 2, Skipped: 1.\n", (1, 2, 1, 1)),
    ("dotnet test", "Failed!  - Failed:     1, Passed:     5, Skipped:     0, Total:     6", (5, 1, 0, 0)),
    ("ctest", "90% tests passed, 1 tests failed out of 10\n", (9, 1, 0, None)),
    ("make test", "x\n3 passed in 0.1s", (3, 0, 0, 0)),
    ("make test", "nothing to be done", None),
]


@pytest.mark.parametrize(("framework", "output", "counts"), SUMMARIES)
def test_counts_of_a_summary(framework, output, counts):
    for told in (framework, None):
        found = count_tests("earlier output\n" + output, told)
        assert (found and (found.passed, found.failed, found.errors, found.skipped)) == counts


OUTCOMES = [
    (0, None, "Traceback (most recent call last):", "ok"),
    (1, None, "no", "failed"),
    (1, None, "Traceback (most recent call last):\n  File\nValueError: x", "traceback"),
    (127, None, "", "not_found"),
    (124, None, "", "timeout"),
    (-1, None, "command timed out after 30 seconds", "timeout"),
    (1, None, "/usr/bin/python3: No module named pytest", "not_found"),
    (None, None, "bash: foo: command not found", "not_found"),
    (None, None, "The command timed out.", "timeout"),
    (None, True, "The last command timed out and has been killed.\nThe output was:\n" + "x" * 900, "timeout"),
    (None, True, "x", "failed"),
    (None, False, "x", "ok"),
    (None, None, "x", "unknown"),
    (None, None, None, "unknown"),
]


@pytest.mark.parametrize(("exit_code", "is_error", "output", "came"), OUTCOMES)
def test_outcome_of_a_call(exit_code, is_error, output, came):
    assert outcome(ToolCall("bash", exit_code=exit_code, is_error=is_error, output=output)) == came


PIECES = st.sampled_from(
    [text for _, text, _ in SUMMARIES] + ["\n", " in 3", "Tests: ", "1 passed", "\x1b[", "9" * 50, "é"]
)


@settings(max_examples=300, deadline=None)
@given(st.one_of(st.text(alphabet=st.characters(codec=None), max_size=300), st.lists(PIECES, max_size=8).map("".join)))
def test_any_output_has_counts_or_none(output):
    found = count_tests(output)
    if found is not None:
        assert all(n is None or n >= 0 for n in (found.passed, found.failed, found.errors, found.skipped))
    assert outcome(ToolCall("bash", output=output)) in ("ok", "failed", "timeout", "not_found", "traceback", "unknown")
