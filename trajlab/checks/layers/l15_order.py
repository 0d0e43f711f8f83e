"""L15: where to look first: what stands in the way of trust, then causes before symptoms."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from trajlab.checks.finding import Finding, Status
from trajlab.checks.layers.base import SEVERITY, LayerReport, RunFacts
from trajlab.checks.layers.onset import OnsetRow, began

_DATA = frozenset({"P002", "P003", "D001", "D002", "D003", "D004", "D106"})
"""Findings about the data itself: nothing else is to be trusted before them."""
_SYSTEM = frozenset({"T002", "T003", "T004", "A020", "A021", "D703", "D1104", "D1203"})
"""Failures of the system around the policy."""
_CONFIGURATION = frozenset({"D407", "D506"})


class OrderRow(msgspec.Struct, frozen=True, kw_only=True):
    """One thing to look at, in this place of the order."""

    place: int
    layer: str
    code: str
    status: Status
    step: int | None
    why: str
    message: str


def order_rows(facts: RunFacts, reports: Sequence[LayerReport]) -> list[OrderRow]:
    """Every alarm and warning: data, then the system, then what was configured, then by the step where it began.

    What cannot be dated comes after what can; of two at one step the alarm first.
    """
    starts = {alarm.finding.code: began(alarm) for alarm in facts.alarms}
    loud = [finding for report in reports for finding in report.findings if finding.status in ("alarm", "warn")]
    ranked = sorted(loud, key=lambda item: _key(item, starts.get(item.code, item.step)))
    return [
        OrderRow(
            place=place, layer=item.layer, code=item.code, status=item.status, step=starts.get(item.code, item.step),
            why=_why(item, starts.get(item.code, item.step)), message=item.message,
        )
        for place, item in enumerate(ranked, 1)
    ]  # fmt: skip


def _rank(finding: Finding) -> int:
    return 0 if finding.code in _DATA else 1 if finding.code in _SYSTEM else 2 if finding.code in _CONFIGURATION else 3


def _key(finding: Finding, step: int | None) -> tuple[int, bool, int, bool, str]:
    return _rank(finding), step is None, step or 0, finding.status != "alarm", finding.code


def _why(finding: Finding, step: int | None) -> str:
    reasons = ("is the data whole", "did the system fail", "ran what was configured")
    rank = _rank(finding)
    if rank < len(reasons):
        return reasons[rank]
    return f"began at step {step}" if step is not None else "of the whole run"


def report(rows: Sequence[OrderRow], onsets: Sequence[OnsetRow], reports: Sequence[LayerReport]) -> LayerReport:
    """The layer as a whole: the first places, and which signal moved first."""
    seen = [item for item in reports if item.status in ("ok", "warn", "alarm")]
    worst: Status = min((row.status for row in rows), key=lambda item: SEVERITY[item], default="ok")
    status: Status = worst if seen else "unobserved"
    places = list(dict.fromkeys(row.layer for row in rows))[:4]
    message = (
        f"look at {', then '.join(places)}" if places else "nothing to investigate" if seen else "nothing is observed"
    )
    bad = [row for row in onsets if row.bad]
    if bad:
        message += f"; {bad[0].title} moved first, from step {bad[0].step}"
    finding = Finding(
        code="D1501",
        layer="L15",
        status=status,
        step=bad[0].step if bad else None,
        message=message,
        advice="Log what the layers ask for."
        if status == "unobserved"
        else "Go by the order below: what began first is nearer to the cause."
        if rows
        else "",
    )
    return LayerReport(
        code="L15", title="Order of investigation", question="Where to look first?", status=status, message=message,
        step=finding.step, advice=finding.advice, findings=[finding],
    )  # fmt: skip
