"""The course of a run as rows of ``result.json``."""

from __future__ import annotations

from trajlab.measures.changes import FAMILY, Collapse
from trajlab.measures.course import Course
from trajlab.measures.onsets import Onset
from trajlab.measures.quadrant_flow import Flow, QuadrantFlow
from trajlab.report.result import Change, Measure
from trajlab.report.result_course import (
    Collapsed,
    CourseResult,
    CourseStatus,
    FlowRow,
    Judged,
    Move,
    Moved,
    OnsetRow,
)
from trajlab.report.result_rows import change_of, measure_of
from trajlab.stats import Estimate

_JUDGED: dict[int, Judged] = {1: "rose", -1: "fell", 0: "not_shown"}
_MOVED: dict[int, Moved] = {1: "rose", -1: "fell"}


def course_result(course: Course, periods_by: str) -> CourseResult:
    """All of a course but its differences and shares, which stand among the changes and the measures."""
    changes = course.changes
    compared = [*changes.family, *course.exploratory]
    return CourseResult(
        status=status_of(course),
        periods=course.periods,
        periods_by=periods_by,
        against_previous=course.against_previous,
        watched=changes.watched,
        collapses=[] if course.against_previous else [_collapsed(item) for item in changes.collapses],
        crowding_onset=None if changes.crowding is None else changes.crowding.onset,
        onsets=[_onset(item) for item in course.onsets],
        flows=[_flow(table.name, flow) for table in course.flows for flow in table.flows],
        family=list(FAMILY),
        family_tests=len(changes.family),
        exploratory_measures=len({item.name for item in course.exploratory}),
        exploratory_tests=len(course.exploratory),
        paired_tests=sum(item.within.value is not None for item in compared),
    )


def status_of(course: Course) -> CourseStatus:
    """Whether behaviour collapsed, or why that is not said."""
    if len(course.periods) < 2:
        return "one_period"
    if course.against_previous:
        return "not_judged"
    if not course.changes.watched:
        return "not_observed"
    if course.changes.collapses:
        return "collapsed"
    return "not_shown" if course.changes.suspected else "not_collapsed"


def change_rows(course: Course) -> list[Change]:
    """Every difference: of the family, of exploratory measures, and of the quadrants' shares."""
    found = [change_of(item, primary=True) for item in course.changes.family]
    found += [change_of(item, primary=False) for item in course.exploratory]
    for table in course.flows:
        for item in table.changes:
            e = item.change
            found.append(
                Change(name=f"quadrant.{table.name}.{item.cell}", before=item.before, after=item.after, value=e.value,
                       low=e.low, high=e.high, denominator=e.denominator, method=e.method, paired=False)
            )  # fmt: skip
    return found


def share_rows(tables: list[QuadrantFlow]) -> list[Measure]:
    """Shares of the quadrants by period."""
    return [
        measure_of(f"quadrant.{table.name}.{cell}", period, share)
        for table in tables
        for cell, shares in table.shares.items()
        for period, share in shares.items()
    ]


def _collapsed(item: Collapse) -> Collapsed:
    told = item.fall.told
    return Collapsed(
        measure=item.measure, best=item.best, onset=item.onset, value=told.value, low=told.low, high=told.high,
        p_value=item.fall.adjusted, method=told.method,
    )  # fmt: skip


def _onset(item: Onset) -> OnsetRow:
    told, place = item.change.told, item.place
    return OnsetRow(
        measure=item.measure,
        baseline=item.change.before,
        period=item.period,
        direction=_MOVED[item.direction],
        value=told.value,
        low=told.low,
        high=told.high,
        p_value=item.change.adjusted if item.declared else item.change.p_value,
        method=told.method,
        paired=item.change.within.value is not None,
        stays=item.stays,
        family="primary" if item.declared else "exploratory",
        step=None if place is None else place.step,
        step_low=None if place is None else place.low,
        step_high=None if place is None else place.high,
    )


def _flow(table: str, flow: Flow) -> FlowRow:
    return FlowRow(
        table=table,
        before=flow.before,
        after=flow.after,
        tasks=flow.tasks,
        stay=flow.stay.value,
        alike=flow.alike.value,
        moves=_moves(flow.moves),
        net=_moves(flow.net),
    )


def _moves(cells: dict[str, dict[str, Estimate]]) -> list[Move]:
    return [
        Move(source=source, target=target, value=e.value, low=e.low, high=e.high, method=e.method)
        for source, row in cells.items()
        for target, e in row.items()
    ]
