"""Checks and gates over the reading itself: identities, reconciliation, coverage, what is missing."""

from __future__ import annotations

from trajlab.checks.facts import Facts
from trajlab.checks.finding import Finding, Gate


def gates(facts: Facts) -> list[Gate]:
    """Identities hold, totals are reconciled, coverage is high enough; alarms are judged beside them."""
    return [_identities(facts), _reconciled(facts), _coverage(facts)]


def _identities(facts: Facts) -> Gate:
    checks = [identity for table in facts.quadrants for identity in table.identities]
    broken = [text for text, left, right in checks if left != right]
    if not checks:
        return Gate(
            name="identities", status="not_applicable", message="no quadrant table could be made: nothing to check"
        )
    return Gate(
        name="identities",
        status="failed" if broken else "passed",
        value=float(len(checks) - len(broken)),
        n=len(checks),
        limit=float(len(checks)),
        direction="equal",
        message="; ".join(broken) or f"{len(checks)} identities of the quadrant tables hold",
    )


def _reconciled(facts: Facts) -> Gate:
    reading = facts.reading
    if not reading.reconcilable:
        return Gate(name="reconciled", status="not_applicable", message="no log states totals of its own")
    return Gate(
        name="reconciled",
        status="passed" if reading.reconciled == reading.reconcilable else "failed",
        value=float(reading.reconciled),
        n=reading.reconcilable,
        limit=float(reading.reconcilable),
        direction="equal",
        message=f"{reading.reconciled} of {reading.reconcilable} logs that state their steps agree",
        severity="alarm",
    )


def _coverage(facts: Facts) -> Gate:
    limit = facts.line("coverage", "at_least") or 0.99
    value = facts.reading.coverage
    seen = facts.reading.trajectories + facts.reading.lost
    if value is None:
        return Gate(
            name="coverage", status="inconclusive", limit=limit, direction="at_least", message="nothing was read"
        )
    return Gate(
        name="coverage",
        status="passed" if value >= limit else "failed",
        value=value,
        n=seen,
        limit=limit,
        direction="at_least",
        message=f"{facts.reading.trajectories} of {seen} records were read",
    )


def findings(facts: Facts) -> list[Finding]:
    """What the reading leaves to be said: files no reader claims, records lost, no verdict, steps not reconciled."""
    reading, unplaced = facts.reading, facts.trajectories.unplaced
    disagree = reading.reconcilable - reading.reconciled
    said = [
        (reading.unrecognised, "P001",
         f"{reading.unrecognised} data files were claimed by no reader and are in no number here",
         "See the table of problems; trajlab formats lists what is read."),
        (reading.lost, "P002", f"{reading.lost} records or files could not be read and are in no number here",
         "See the table of problems: each has its source and line."),
        (disagree, "P003", f"{disagree} of {reading.reconcilable} logs state another number of steps than was read",
         "Look at them before trusting step counts; a crash inside a model call leaves no message."),
        (unplaced, "P004", f"{unplaced} trajectories have no training step or epoch and are in no period",
         "They count in the whole-run numbers only."),
    ]  # fmt: skip
    found = [
        Finding(code=code, layer="L15", status="warn", message=message, advice=advice)
        for count, code, message, advice in said
        if count > 0
    ]
    correct = facts.measured.get("correct_rate")
    if correct is None or correct.value is None:
        found.append(_no_verdict())
    return found


def _no_verdict() -> Finding:
    return Finding(
        code="V001",
        layer="L11",
        status="unobserved",
        message="no verdict: correctness is not observed",
        advice="Log a verdict per trajectory, put evaluation reports beside the logs, or state correct_threshold.",
    )
