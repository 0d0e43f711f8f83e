"""Is the schedule alive? The last audit of each run, audits that died half-way, and silence."""

from __future__ import annotations

import datetime
import re
import sys
from pathlib import Path

import msgspec

from trajlab.errors import ExitCode, UsageError
from trajlab.report.index import Listed, list_runs
from trajlab.report.record import WIP_PREFIX, RunRecord

_HOURS = {"m": 1 / 60, "h": 1.0, "d": 24.0}


class Last(msgspec.Struct):
    """The newest audit of one run."""

    run: str
    period: str | None
    status: str
    hours: float
    """Since it ended."""
    folder: str


class ScheduleStatus(msgspec.Struct):
    """What a folder of audits says of the schedule that fills it."""

    out: Path
    runs: list[Last]
    """By name."""
    died: list[str]
    """Audits that began and never ended, and are not running: what they were, and since when."""
    running: list[str]
    unreadable: list[str]
    max_age: float | None
    """Hours after which the newest audit is too old; ``None``: it was not asked."""

    @property
    def newest(self) -> float | None:
        """Hours since the newest audit of any run ended; ``None``: none has."""
        return min((last.hours for last in self.runs), default=None)

    @property
    def silent(self) -> bool:
        """No audit ended within the hours asked for."""
        return self.max_age is not None and (self.newest is None or self.newest > self.max_age)

    @property
    def exit_code(self) -> ExitCode:
        """1 on silence, on an audit that died half-way and on a record that cannot be read."""
        bad = self.silent or self.died or self.unreadable or not (self.runs or self.running)
        return ExitCode.GATE_FAILED if bad else ExitCode.PASSED

    def __str__(self) -> str:
        lines = [f"{one.run}: {one.status}, {one.period or 'whole run'}, {_ago(one.hours)}" for one in self.runs]
        lines += [f"running: {what}" for what in self.running]
        lines += [f"died half-way: {what}" for what in self.died]
        lines += [f"unreadable: {what}" for what in self.unreadable]
        if self.silent:
            since = "no audit has ended" if self.newest is None else f"the newest audit ended {_ago(self.newest)}"
            lines.append(f"silent: {since}; expected one within {self.max_age:g} hours")
        return "\n".join(lines) or f"no audit in {self.out}"


def schedule_status(out: str | Path, max_age: str | None = None) -> ScheduleStatus:
    """Look at a folder of audits.

    Args:
        out: The folder that ``trajlab audit`` writes to.
        max_age: ``26h``, ``90m`` or ``2d``: how old the newest audit may be; ``None``: any age.

    Raises:
        UsageError: No such folder, or no such age.
    """
    folder = Path(out)
    if not folder.is_dir():
        raise UsageError(str(out), "no such folder", "the folder that audits are written to")
    hours = None if max_age is None else _hours(max_age)
    found = ScheduleStatus(folder, [], [], [], [], hours)
    ended: dict[str, RunRecord] = {}
    for listed in list_runs(folder):
        _place(folder, listed, found, ended)
    found.runs = [
        Last(run, record.period, record.status, _since(record.ended or record.started), record.folder)
        for run, record in sorted(ended.items())
    ]
    return found


def _place(folder: Path, listed: Listed, found: ScheduleStatus, ended: dict[str, RunRecord]) -> None:
    record = listed.record
    if record is None:
        found.unreadable.append(f"{listed.folder}: {listed.problem}")
    elif listed.folder.startswith(WIP_PREFIX):
        what = f"{record.title}, begun {record.started}"
        (found.running if held(folder / f"{listed.folder}.lock") else found.died).append(what)
    elif record.ended is not None:
        run = record.run or record.notebook
        if run not in ended or (ended[run].ended or "") <= record.ended:
            ended[run] = record


def held(lock: Path) -> bool:
    """Whether a living process holds a lock file; on Windows, whether the file is there."""
    if not lock.exists():
        return False
    if sys.platform == "win32":
        return True
    import fcntl

    with lock.open("rb") as file:
        try:
            fcntl.flock(file.fileno(), fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def _hours(age: str) -> float:
    matched = re.fullmatch(r"(\d+(?:\.\d+)?)([mhd])", age.strip())
    if matched is None:
        raise UsageError("--max-age", repr(age), "a number and m, h or d, such as 26h")
    return float(matched[1]) * _HOURS[matched[2]]


def _since(moment: str) -> float:
    then = datetime.datetime.fromisoformat(moment)
    return max(0.0, (datetime.datetime.now(datetime.UTC) - then).total_seconds() / 3600)


def _ago(hours: float) -> str:
    if hours < 1:
        return f"{60 * hours:.0f} minutes ago"
    return f"{hours:.1f} hours ago" if hours < 48 else f"{hours / 24:.1f} days ago"
