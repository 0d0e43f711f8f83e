"""Checks and gates over the reading itself: identities, reconciliation, coverage, what is missing."""

from __future__ import annotations

from trajlab.checks.facts import JUDGED, Facts
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
        return Gate(name="reconciled", status="not_applicable", message="no log and no companion states totals")
    return Gate(
        name="reconciled",
        status="passed" if reading.reconciled == reading.reconcilable else "failed",
        value=float(reading.reconciled),
        n=reading.reconcilable,
        limit=float(reading.reconcilable),
        direction="equal",
        message=f"{reading.reconciled} of {reading.reconcilable} totals that logs and companions state agree",
        severity="alarm",
    )


def _coverage(facts: Facts) -> Gate:
    """The lowest share of what was there: a log whose calls are not understood is not covered by its bytes."""
    limit = facts.line("coverage", "at_least")
    value = facts.reading.coverage
    if value is None:
        return Gate(
            name="coverage", status="inconclusive", limit=limit, direction="at_least", message="nothing was read"
        )
    shares = {name: facts.reading.understood[name] for name in JUDGED}
    least = min((name for name in JUDGED if shares[name].seen), key=lambda name: shares[name].share or 0.0)
    said = [f"{share.understood:,} of {share.seen:,} {name}" for name, share in shares.items() if share.seen]
    return Gate(
        name="coverage",
        status="passed" if limit is None or value >= limit else "failed",
        value=value,
        n=shares[least].seen,
        limit=limit,
        direction="at_least",
        message=f"understood: {', '.join(said)}",
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
        (disagree, "P003",
         f"{disagree} of {reading.reconcilable} totals that logs and companions state differ from what was read",
         "See not_reconciled in the table of problems; a crash inside a model call leaves no message."),
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
