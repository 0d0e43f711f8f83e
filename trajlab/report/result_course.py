"""The course of a run in ``result.json``: collapse, onsets, flows, and how many comparisons were made."""

from __future__ import annotations

from typing import Literal

import msgspec

Moved = Literal["rose", "fell"]
Judged = Literal["rose", "fell", "not_shown"]
CourseStatus = Literal["collapsed", "not_shown", "not_collapsed", "one_period", "not_observed", "not_judged"]


class Collapsed(msgspec.Struct, kw_only=True):
    """A behaviour that fell to less than half of its best earlier period and stayed there."""

    measure: str
    best: str
    """Period of the best value before."""
    onset: str
    """First period below the line."""
    value: float | None
    """Onset less best."""
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    """Bonferroni-adjusted for every pair of periods of every behaviour that was watched."""
    method: str


class OnsetRow(msgspec.Struct, kw_only=True):
    """First period in which a measure is shown to differ from the first period, its baseline, in one direction."""

    measure: str
    baseline: str
    period: str
    direction: Moved
    value: float | None
    """That period less the baseline."""
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    """Adjusted within the family; of an exploratory measure the plain one."""
    method: str
    paired: bool
    """The difference is within the tasks that both periods have."""
    stays: bool
    """Every later period is shown to differ in the same direction."""
    family: Literal["primary", "exploratory"]
    step: float | None = None
    """Training step of the first jump of level in this direction; null: none is shown."""
    step_low: float | None = None
    step_high: float | None = None


class Move(msgspec.Struct, kw_only=True):
    """Share of a flow from one quadrant to another, or of a net flow."""

    source: str
    target: str
    value: float | None
    low: float | None = None
    high: float | None = None
    method: str


class FlowRow(msgspec.Struct, kw_only=True):
    """Transitions between the quadrants of a table, over the tasks in both periods."""

    table: str
    before: str
    after: str
    tasks: int
    stay: float | None
    """Share that stays in its quadrant."""
    alike: float | None
    """Share of two attempts at a task in the same period that stand in the same quadrant; null: none has two."""
    moves: list[Move]
    net: list[Move]
    """From source to target less from target to source."""


class CourseResult(msgspec.Struct, kw_only=True):
    """What is said of change over the periods, or of one epoch against the one before."""

    status: CourseStatus
    """``not_shown``: below half, but perhaps by chance; ``not_judged``: one epoch against the one before."""
    periods: list[str]
    periods_by: str
    against_previous: bool
    watched: list[str]
    """Behaviours that could have been seen to collapse."""
    collapses: list[Collapsed]
    crowding_onset: str | None = None
    """First period of the last stretch in which think calls crowd out the others; null: they do not."""
    onsets: list[OnsetRow]
    flows: list[FlowRow]
    """Empty where too few tasks are in both of two periods: then only shares are known."""
    family: list[str]
    """The declared family."""
    family_tests: int
    """Comparisons adjusted together (Holm)."""
    exploratory_measures: int
    exploratory_tests: int
    paired_tests: int
    """Of all comparisons, those within task."""
