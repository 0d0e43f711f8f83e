"""Alarms and their error rates as text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from trajlab.checks.alarm_context import AlarmContext
from trajlab.checks.selftest import LEAST_DETECTED, LONGEST_DELAY, MOST_FALSE, Matrix, Row
from trajlab.report.watch import Watched

_MOVED = 6


def watched_text(watched: Watched) -> str:
    """What a pass found: new alarms in full, the others in a line each."""
    lines = [f"runs: {', '.join(watched.runs) or 'none'}"]
    for item in watched.new:
        lines += ["", *_new(item)]
    for alarm in watched.known:
        lines.append(f"known  {alarm.run}  {alarm.finding.code} since step {alarm.first_step}: {alarm.finding.message}")
    for gone in watched.gone:
        lines.append(f"gone   {gone.run}  {gone.code} of step {gone.step}: the logs no longer show it")
    for alarm in watched.warnings:
        lines.append(f"warn   {alarm.run}  {alarm.finding.code}: {alarm.finding.message}")
    lines.append(f"{len(watched.new)} new, {len(watched.known)} known; {_unobserved(watched)}")
    return "\n".join(lines)


def _new(item: AlarmContext) -> list[str]:
    finding = item.alarm.finding
    kind = "collapse" if item.alarm.collapse else "alarm"
    lines = [f"{kind.upper()}  {item.alarm.run}  {finding.code} ({finding.layer}): {finding.message}"]
    lines += [f"    {evidence.text}" for evidence in finding.evidence]
    if item.moved:
        lines.append(f"    moved with it: {'; '.join(map(str, item.moved[:_MOVED]))}")
    lines.append(f"    {finding.advice}")
    if item.sample:
        lines.append(f"    read, of {item.of} trajectories of step {finding.step}: {' '.join(item.sample)}")
    else:
        lines.append(f"    no trajectory of step {finding.step} is logged")
    return lines


def _unobserved(watched: Watched) -> str:
    codes = sorted({item.finding.code for item in watched.unobserved})
    return f"unobserved: {', '.join(codes)}" if codes else "every alarm is observed"


def matrix_text(found: Matrix) -> str:
    """Detection and false alarms as a table of plain text."""
    delays = ("from its line", "90 %", "from onset", "first sign")
    head = ("kind of run", "alarms", "told", "before onset", *delays, "verdict")
    rows = [head, *(_cells(row) for row in found.rows)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(head))]
    lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    said = ", ".join(f"{code} {100 * share:.2g} %" for code, share in found.false_by_code.items()) or "none"
    heads = (
        "from its line: median delay in steps from where the planted level, without noise, passes the line of the "
        "definition, and nine of ten; from onset: median delay of the alarm from the first step of the change; first "
        "sign: the same for the first warning or alarm"
    )
    bounds = (
        f"bounds: false collapse alarms at most {100 * MOST_FALSE:g} % of healthy runs of {found.steps} steps, "
        f"{100 * LEAST_DETECTED:g} % detected, median delay at most {LONGEST_DELAY:g} steps"
    )
    return "\n".join([*lines, heads, f"false alarms by code: {said}", f"seed {found.seed}; {bounds}"])


def _cells(row: Row) -> Sequence[str]:
    codes = " ".join(row.codes) if not row.healthy else f"{len(row.codes)} of them"
    all_delays = (row.delay, row.delay_90, row.delay_from_onset, row.sign_from_onset)
    delays = ("" if value is None else f"{value:.3g}" for value in all_delays)
    verdict = ("ok" if row.within else "OUT OF BOUNDS") if row.bounded else "(not bounded)"
    early = "" if row.healthy else f"{100 * row.early:.2g} %"
    return (row.title, codes, str(row.told), early, *delays, verdict)
