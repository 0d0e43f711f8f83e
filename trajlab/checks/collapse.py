"""The finding on collapse: a behaviour that fell to less than half of its best and did not come back."""

from __future__ import annotations

from trajlab.checks.facts import Facts
from trajlab.checks.finding import Finding, Status
from trajlab.measures.changes import COLLAPSED, Collapse

CODE = "B007"
TITLE = "behaviour collapsed"
_ADVICE = "Read trajectories from before and after the onset; what moved first (onset table) is nearer to the cause."


def collapse_finding(facts: Facts) -> Finding:
    """Alarm for a collapse, a warning for one that may be chance.

    Not judged for one period, one epoch, or where no behaviour could be followed.
    """
    changes = facts.changes
    if changes is None or len(changes.periods) < 2:
        return _finding("not_applicable", f"{TITLE}: one period only, or one epoch by itself")
    if not changes.watched:
        message = f"{TITLE}: not observed in every period"
        return _finding("unobserved", message, "Log tool calls with their results, and training steps.")
    if not changes.collapses and changes.suspected:
        return _finding("warn", f"{TITLE}: not shown, perhaps chance: {_said(changes.suspected)}", _ADVICE)
    if not changes.collapses:
        watched = ", ".join(changes.watched)
        return _finding("ok", f"{TITLE}: no; {watched} not below {COLLAPSED:.0%} of an earlier period to the end")
    return _finding("alarm", f"{TITLE}: {_said(changes.collapses)}", _ADVICE)


def _said(falls: list[Collapse]) -> str:
    return "; ".join(
        f"{item.measure} from {item.fall.first} in {item.best} to {item.fall.second} in {item.onset}, the onset"
        for item in falls
    )


def _finding(status: Status, message: str, advice: str = "") -> Finding:
    return Finding(code=CODE, layer="L12", status=status, message=message, advice=advice)
