"""Contrasts and estimates as rows of ``result.json``."""

from __future__ import annotations

from trajlab.measures.contrast import Contrast
from trajlab.report.result import Change, Measure
from trajlab.report.result_course import Judged
from trajlab.stats import Estimate

_JUDGED: dict[int, Judged] = {1: "rose", -1: "fell", 0: "not_shown"}


def change_of(item: Contrast, *, primary: bool, name: str = "", group: str | None = None) -> Change:
    """A contrast: the difference told; in the declared family the adjusted p-value."""
    told = item.told
    return Change(
        name=name or item.name,
        group=group,
        before=item.before,
        after=item.after,
        value=told.value,
        low=told.low,
        high=told.high,
        denominator=told.denominator,
        p_value=item.adjusted if primary else item.p_value,
        method=told.method,
        family="primary" if primary else "exploratory",
        paired=item.within.value is not None,
        shown=_JUDGED[item.direction],
    )


def measure_of(name: str, group: str | None, found: Estimate) -> Measure:
    """An estimate."""
    return Measure(
        name=name, group=group, value=found.value, low=found.low, high=found.high, numerator=found.numerator,
        denominator=found.denominator, method=found.method, missing=found.missing,
    )  # fmt: skip
