"""Tables of behaviour: derived from the others alone, by rules that have a version."""

from __future__ import annotations

from trajlab.schema.columns import ID as _ID
from trajlab.schema.columns import Table
from trajlab.schema.columns import column as _c

LABELS = (
    "test:all", "test:part", "test:file", "test:case", "inline", "script", "static", "read",
    "search", "edit", "fileop", "vcs", "install", "submit", "other",
)  # fmt: skip
"""The labels of the command codebook, in its order."""


def label_column(label: str) -> str:
    """Column name of a command label: ``test:all`` -> ``test_all``."""
    return label.replace(":", "_")


RUNGS = ("none", "static", "inline", "script", "targeted", "suite")
"""The ladder of verification, lowest first."""

COMMANDS = Table(
    "commands",
    "one simple command inside a call, or one call of a tool that is no shell",
    "derived",
    (
        _ID,
        _c("call", "int", "call it stands in", ""),
        _c("step", "int", "step it stands in", ""),
        _c("position", "int", "order inside the call, from 0", ""),
        _c("program", "str", "program without path and wrappers, or the tool", "could not be made out"),
        *(_c(label_column(label), "bool", f"label `{label}`", "") for label in LABELS),
        _c("test_scope", "str", "all, part, file or case", "runs no test"),
        _c("rule", "str", "rule that gave the labels", ""),
    ),
)

FILE_EVENTS = Table(
    "file_events",
    "one file that a call showed, created, changed or deleted, as far as its words tell",
    "derived",
    (
        _ID,
        _c("call", "int", "call it stands in", ""),
        _c("step", "int", "step it stands in", ""),
        _c("position", "int", "simple command of the call, as in `commands`", ""),
        _c("path", "str", "path below the repository, or absolute outside of it", ""),
        _c("action", "str", "shown, created, changed or deleted", ""),
        _c("path_class", "str", "test, project, or scratch (outside the work tree, or the agent's own helper)", ""),
        _c("failed", "bool", "the call is known to have failed in it", ""),
    ),
)

CALL_RESULTS = Table(
    "call_results",
    "one call of which more is known than its exit code tells",
    "derived",
    (
        _ID,
        _c("call", "int", "call", ""),
        _c("outcome", "str", "ok, failed, timeout, not_found, traceback or unknown; the exit code decides first", ""),
        _c("tests_passed", "int", "tests passed, by the last summary shown", "no summary, or not said", "tests"),
        _c("tests_failed", "int", "tests failed", "as tests_passed", "tests"),
        _c("tests_errors", "int", "tests with errors, and modules not collected", "as tests_passed", "tests"),
        _c("tests_skipped", "int", "tests skipped, or expected to fail", "as tests_passed", "tests"),
    ),
)

_NO_MESSAGE = "it ended as only one with a turn does, and not one message is logged"
_NO_LABEL = "calls, some executed, none of which could be labelled; or neither calls nor text"
_NO_EDIT = "no project edit whose path is known"
_NO_EDIT_CALL = "no edit call"
_UNKNOWN_LABELS = _NO_LABEL

BEHAVIOUR = Table(
    "behaviour",
    "one trajectory: what the agent did",
    "derived",
    (
        _ID,
        _c("n_steps", "int", "steps", _NO_MESSAGE, "steps"),
        _c("n_messages", "int", "messages", _NO_MESSAGE, "messages"),
        _c("n_calls", "int", "tool calls of the agent, well formed or not", _NO_MESSAGE, "calls"),
        _c("n_executed", "int", "calls that got a result", "the log cannot tell", "calls"),
        _c("n_invalid", "int", "calls unparsable, unknown or refused, and refused turns", _NO_MESSAGE, "calls"),
        _c("n_shell", "int", "shell calls", _NO_MESSAGE, "calls"),
        _c("tool_used", "bool", "at least one executed call", "the log cannot tell"),
        _c("hollow", "bool", "no executed call and no agent text", "the log cannot tell"),
        _c("think_offered", "bool", "a think tool is offered or was called", "tools offered are not recorded"),
        _c("n_think", "int", "think calls", "no think tool offered, or not recorded", "calls"),
        _c("think_run", "int", "longest run of consecutive think calls", "as n_think", "calls"),
        _c("think_most_in_step", "int", "most think calls in one step", "as n_think", "calls"),
        _c(
            "n_think_hollow",
            "int",
            "think calls under 20 characters or near a former thought",
            "as n_think",
            "calls",
        ),
        _c(
            "think_spam",
            "bool",
            "run of 3, or 2 in one step with a hollow one, or over half of 5 or more calls",
            "as n_think",
        ),
        _c("repeat_run", "int", "longest run of identical calls", "no calls", "calls"),
        _c("stuck", "bool", "three identical calls in a row", "no calls"),
        _c(
            "stuck_openhands",
            "bool",
            "4 same call and result, or 3 same call and error, or 6 alternating",
            "no calls",
        ),
        _c(
            "text_repetition",
            "bool",
            "compression of the last 10,000 characters over 10",
            "fewer than 1,000 characters",
        ),
        *(
            _c(f"n_{label_column(label)}", "int", f"calls with the label `{label}`", _NO_MESSAGE, "calls")
            for label in LABELS
        ),
        _c("n_test", "int", "calls that run tests in any scope", _NO_MESSAGE, "calls"),
        _c("n_executes", "int", "calls that execute tests, inline code (no edit) or scripts", _NO_MESSAGE, "calls"),
        _c("any_test", "bool", "runs any test", _NO_LABEL),
        _c("suite_run", "bool", "runs a test suite (all or part)", _NO_LABEL),
        _c("first_edit_call", "int", "call of the first edit", "no edit"),
        _c("last_edit_call", "int", "call of the last edit", "no edit"),
        _c("first_project_edit", "int", "call of the first edit of project code", _NO_EDIT),
        _c("last_project_edit", "int", "call of the last edit of project code", _NO_EDIT),
        _c("n_project_edits", "int", "calls that edit project code", _UNKNOWN_LABELS, "calls"),
        _c("n_executes_before", "int", "calls that execute before the first project edit", _UNKNOWN_LABELS, "calls"),
        _c("n_verifications", "int", "calls that execute after the first project edit", _NO_EDIT, "calls"),
        _c("ladder_first", "str", "highest rung after it: none, static, inline, script, targeted or suite", _NO_EDIT),
        _c("ladder_last", "str", "highest rung after the last project edit", _NO_EDIT),
        _c("stale", "bool", "a project edit came after the last verification", "no project edit, or no verification"),
        _c("n_edits_with_path", "int", "edits of project and test files, by call and file", _UNKNOWN_LABELS, "edits"),
        _c("n_readback", "int", "of these, shown within 3 calls, before the next edit", "no such edit", "edits"),
        _c("submitted_unverified", "bool", "submitted without any verification", "no project edit, or not submitted"),
        _c(
            "submitted_with_failing_tests",
            "bool",
            "the last test run before the end failed",
            "not submitted, no test run, or its result not known",
        ),
        _c(
            "edit_flip_flop",
            "bool",
            "an edit puts a file of the project or its tests back into an earlier state",
            "no such edit",
        ),
        _c("n_failed_edits", "int", "edit calls known to have failed", _NO_EDIT_CALL, "calls"),
        _c("failed_edit_streak", "int", "longest run of failed edit calls", _NO_EDIT_CALL, "calls"),
        _c("repeated_failed_edit", "bool", "a failed edit is made again, word by word, and fails", _NO_EDIT_CALL),
        _c(
            "n_abandoned_files",
            "int",
            "project and test files edited, then put back or deleted for good",
            "no edit of such a file",
            "files",
        ),
        _c("pattern", "str", "action pattern: a letter for each call of the agent, in order", "no calls"),
        *(
            _c(f"n_hack_{tier}", "int", f"hack candidates of tier {tier}", _UNKNOWN_LABELS, "hits")
            for tier in (1, 2, 3)
        ),
        _c("rules", "str", "version of the behaviour rules", ""),
    ),
)

HITS = Table(
    "hits",
    "one candidate of the hack screen: a rule that a call meets",
    "derived",
    (
        _ID,
        _c("call", "int", "call it stands in", ""),
        _c("step", "int", "step it stands in", ""),
        _c("rule", "str", "rule id", ""),
        _c("tier", "int", "1 strong, 2 suspicious, 3 weak", ""),
        _c("argument", "str", "argument that start and end count in", "the command, or the arguments as one text"),
        _c("start", "int", "first character", "the search ran out of time", "characters"),
        _c("end", "int", "character after the last", "the search ran out of time", "characters"),
        _c("timed_out", "bool", "the search ran out of time: whether the rule is met is not known", ""),
    ),
)
