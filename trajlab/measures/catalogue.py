"""The measures of an audit as data: name, what it means, and the expression that gives a trajectory's value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import msgspec
import polars as pl

from trajlab.behavior.hack_rules import TIERS
from trajlab.behavior.termination import CLASSES
from trajlab.schema import LABELS, RUNGS, label_column

Kind = Literal["share", "mean", "ratio"]


class Measure(msgspec.Struct, frozen=True):
    """One measure over trajectories.

    A *share* is the part of trajectories for which ``value`` is true; a *mean* averages ``value``; a *ratio* is the
    sum of ``value`` over the sum of ``over``. Null values are *not observed*: in neither part, counted apart.
    """

    name: str
    title: str
    section: str
    kind: Kind
    value: Callable[[], pl.Expr]
    over: Callable[[], pl.Expr] | None = None
    behaviour: bool = True
    """A behaviour rate: trajectories of the three error classes are left out unless asked for."""
    unit: str = ""
    bounded: bool = False
    """A ratio whose parts count among the whole, so that it lies between 0 and 1."""

    @property
    def label(self) -> str:
        """Title and unit, as a table names it."""
        return f"{self.title} ({self.unit})" if self.unit and self.unit not in self.title else self.title


def _col(name: str) -> Callable[[], pl.Expr]:
    return lambda: pl.col(name)


def _is(name: str, value: str) -> Callable[[], pl.Expr]:
    return lambda: pl.col(name) == value


def _steps_are(low: int, high: int | None) -> Callable[[], pl.Expr]:
    steps = pl.col("n_steps")
    return lambda: steps >= low if high is None else steps.is_between(low, high)


def _used_share() -> pl.Expr:
    return pl.col("n_steps") / pl.col("steps_allowed")


def _positive(name: str) -> Callable[[], pl.Expr]:
    return lambda: pl.col(name) > 0


def _in_observed(name: str) -> Callable[[], pl.Expr]:
    return lambda: pl.when(pl.col("any_test").is_not_null()).then(pl.col(name) > 0)


def _count_observed(name: str) -> Callable[[], pl.Expr]:
    return lambda: pl.when(pl.col("any_test").is_not_null()).then(pl.col(name))


_TITLES = {
    "test:all": "runs the whole suite",
    "test:part": "runs part of the suite",
    "test:file": "runs test files",
    "test:case": "runs single tests",
    "inline": "quick checks (python -c, heredoc)",
    "script": "runs scripts",
    "static": "static checks",
    "read": "reads files",
    "search": "searches",
    "edit": "edits files",
    "fileop": "moves, deletes, creates files",
    "vcs": "version control",
    "install": "installs or builds",
    "submit": "submits",
    "other": "anything else",
}

MEASURES: tuple[Measure, ...] = (
    Measure("correct_rate", "correct", "outcome", "share", _col("correct"), behaviour=False),
    Measure("outcome_rate", "independent outcome good", "outcome", "share", _col("outcome"), behaviour=False),
    *(
        Measure(
            f"termination.{name}", name.replace("_", " "), "termination", "share", _is("termination", name), behaviour=False
        )
        for name in CLASSES
    ),
    Measure("mean_steps", "steps", "steps", "mean", _col("n_steps"), unit="steps"),
    Measure("one_step_rate", "one step", "steps", "share", _steps_are(1, 1)),
    Measure("two_step_rate", "two steps", "steps", "share", _steps_are(2, 2)),
    Measure("three_plus_step_rate", "three or more steps", "steps", "share", _steps_are(3, None)),
    Measure("steps_used", "steps used of those allowed", "steps", "mean", _used_share),
    Measure("tool_use_rate", "uses a tool (an executed call)", "tools", "share", _col("tool_used")),
    Measure("mean_calls", "tool calls", "tools", "mean", _col("n_calls"), unit="calls"),
    Measure("calls_per_step", "tool calls per step", "tools", "ratio", _col("n_calls"), _col("n_steps")),
    Measure("invalid_rate", "invalid calls and refused turns per step", "tools", "ratio", _col("n_invalid"), _col("n_steps")),
    Measure("invalid_any_rate", "any invalid call or refused turn", "tools", "share", _positive("n_invalid")),
    Measure("hollow_rate", "hollow: no executed call, no text", "tools", "share", _col("hollow"), behaviour=False),
    Measure("think_fraction", "think calls of all calls", "think", "ratio", _col("n_think"), _col("n_calls"), bounded=True),
    Measure("think_any_rate", "any think call", "think", "share", _positive("n_think")),
    Measure("think_spam_rate", "think spam", "think", "share", _col("think_spam")),
    Measure("think_hollow_share", "hollow thoughts of all thoughts", "think", "ratio", _col("n_think_hollow"),
            _col("n_think"), bounded=True),
    Measure("reasoning_chars", "reasoning text", "think", "mean", _col("reasoning_chars"), unit="characters"),
    Measure("any_test_rate", "runs any test", "commands", "share", _col("any_test")),
    Measure("suite_run_rate", "runs a test suite (all or part)", "commands", "share", _col("suite_run")),
    *(
        Measure(f"{label_column(label)}_rate", _TITLES[label], "commands", "share", _in_observed(f"n_{label_column(label)}"))
        for label in LABELS
    ),
    Measure("executions_per_step", "executions (tests, quick checks, scripts) per step", "commands", "ratio",
            _count_observed("n_executes"), _col("n_steps")),
    Measure("edits_per_step", "edits per step", "commands", "ratio", _count_observed("n_edit"), _col("n_steps")),
    Measure("project_edit_rate", "edits project code", "verification", "share", _positive("n_project_edits")),
    Measure("executes_before_rate", "executes before the first project edit", "verification", "share",
            _positive("n_executes_before")),
    Measure("verified_rate", "executes after the first project edit", "verification", "share", _positive("n_verifications")),
    Measure("verifications_per_edit", "verifications per project edit", "verification", "ratio", _col("n_verifications"),
            _col("n_project_edits")),
    Measure("stale_rate", "stale: a project edit after the last verification", "verification", "share", _col("stale")),
    Measure("submitted_unverified_rate", "submitted unverified", "verification", "share", _col("submitted_unverified")),
    Measure("submitted_failing_rate", "submitted with failing tests", "verification", "share",
            _col("submitted_with_failing_tests")),
    Measure("read_back_rate", "read-back of edits of project and tests", "verification", "ratio", _col("n_readback"),
            _col("n_edits_with_path"), bounded=True),
    Measure("failed_edit_rate", "failed edits of all edits", "verification", "ratio", _col("n_failed_edits"),
            _col("n_edit"), bounded=True),
    Measure("repeated_failed_edit_rate", "repeats a failed edit", "verification", "share", _col("repeated_failed_edit")),
    Measure("edit_flip_flop_rate", "puts a file back into an earlier state", "verification", "share",
            _col("edit_flip_flop")),
    Measure("abandoned_file_rate", "abandons an edited file", "verification", "share", _positive("n_abandoned_files")),
    *(
        Measure(f"ladder_{when}.{rung}", f"{rung} after the {when} project edit", "ladder", "share",
                _is(f"ladder_{when}", rung))
        for when in ("first", "last")
        for rung in RUNGS
    ),
    Measure("stuck_rate", "stuck: three identical calls in a row", "repetition", "share", _col("stuck")),
    Measure("stuck_openhands_rate", "stuck by OpenHands' rules", "repetition", "share", _col("stuck_openhands")),
    Measure("text_repetition_rate", "repetitive text at the end", "repetition", "share", _col("text_repetition")),
    Measure("mean_repeat_run", "longest run of identical calls", "repetition", "mean", _col("repeat_run"), unit="calls"),
    *(
        Measure(f"hack_tier_{tier}_rate", f"any hack candidate of tier {tier} ({word})", "hacks", "share",
                _positive(f"n_hack_{tier}"))
        for tier, word in TIERS.items()
    ),
    Measure("mean_reward", "reward", "reward", "mean", _col("reward"), behaviour=False),
    Measure("reward_positive_rate", "reward above zero", "reward", "share", _positive("reward"), behaviour=False),
    Measure("reward_zero_rate", "reward zero", "reward", "share", lambda: pl.col("reward") == 0, behaviour=False),
    Measure("reward_negative_rate", "reward below zero", "reward", "share", lambda: pl.col("reward") < 0, behaviour=False),
    Measure("completion_tokens", "generated tokens", "budget", "mean", _col("completion_tokens"), behaviour=False, unit="tokens"),
    Measure("prompt_tokens", "prompt tokens", "budget", "mean", _col("prompt_tokens"), behaviour=False, unit="tokens"),
    Measure("cost", "cost", "budget", "mean", _col("cost"), behaviour=False, unit="USD"),
    Measure("seconds", "duration", "budget", "mean", _col("seconds"), behaviour=False, unit="s"),
)  # fmt: skip

BY_NAME = {measure.name: measure for measure in MEASURES}
"""Measures by name."""

HOW_TO_LOG = {
    "outcome": "a verdict per trajectory (`acc`, `resolved`), a companion report, or state correct_threshold",
    "termination": "the reason a trajectory ended (stop reason, exit status)",
    "steps": "the agent's turns",
    "tools": "tool calls and their results",
    "think": "the tools offered, or a think tool's calls",
    "commands": "the commands that the agent ran",
    "verification": "commands and editor calls with their paths, and their exit codes",
    "ladder": "commands and editor calls with their paths",
    "repetition": "tool calls with arguments and results",
    "hacks": "the commands and edits of the agent, with their arguments",
    "reward": "the training reward per trajectory",
    "budget": "token counts, cost and duration per trajectory",
}
"""What to log where a section has no data."""
