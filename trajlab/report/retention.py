"""What old audits leave: pages and notebooks go, records and results stay."""

from __future__ import annotations

import datetime
import shutil
from pathlib import Path

import msgspec

from trajlab.errors import UsageError
from trajlab.report.index import list_runs, rebuild_index
from trajlab.report.record import RECORD_FILE, WIP_PREFIX, RunRecord
from trajlab.report.result import RESULT_FILE
from trajlab.report.status import held

PIN_FILE = "PINNED"
"""An audit with a file of this name is kept whole."""
_KEPT = {RECORD_FILE, RESULT_FILE, PIN_FILE}


class Pruned(msgspec.Struct):
    """What was taken away."""

    reports: list[str]
    """Folders that keep their record and result only."""
    unfinished: list[str]
    """Folders of audits that died half-way."""
    bytes: int


def prune(out: str | Path, *, keep: int, dry_run: bool = False) -> Pruned:
    """Take pages and notebooks from all but the newest audits of each run.

    Records and results stay, so the index and the course of the figures do. The last audit that passed, the last
    that did not, and pinned ones keep their pages. Audits that died half-way go after a day.

    Args:
        out: The folder that audits are written to.
        keep: Newest audits of each run that keep their pages.
        dry_run: Only say what would go.

    Raises:
        UsageError: No such folder, or a number below 1.
    """
    folder = Path(out)
    if not folder.is_dir():
        raise UsageError(str(out), "no such folder", "the folder that audits are written to")
    if keep < 1:
        raise UsageError("keep", str(keep), "at least 1")
    by_run: dict[str, list[RunRecord]] = {}
    pruned = Pruned([], [], 0)
    for listed in list_runs(folder):
        if listed.record is None:
            continue
        if listed.folder.startswith(WIP_PREFIX):
            if _is_dead(folder / listed.folder, listed.record):
                pruned.unfinished.append(listed.folder)
        else:
            by_run.setdefault(listed.record.run or listed.record.notebook, []).append(listed.record)
    for records in by_run.values():
        pruned.reports += [name for name in _old(records, keep) if not (folder / name / PIN_FILE).exists()]
    pruned.reports = [name for name in sorted(pruned.reports) if _pages(folder / name)]
    _take(folder, pruned, dry_run=dry_run)
    return pruned


def _old(records: list[RunRecord], keep: int) -> list[str]:
    newest_first = sorted(records, key=lambda record: (record.started, record.folder), reverse=True)
    spared = {record.folder for record in newest_first[:keep]}
    for wanted in (True, False):
        spared |= {record.folder for record in [r for r in newest_first if (r.status == "passed") is wanted][:1]}
    return [record.folder for record in newest_first if record.folder not in spared]


def _pages(folder: Path) -> list[Path]:
    return [path for path in folder.iterdir() if path.name not in _KEPT]


def _is_dead(folder: Path, record: RunRecord) -> bool:
    then = datetime.datetime.fromisoformat(record.started)
    old = datetime.datetime.now(datetime.UTC) - then > datetime.timedelta(days=1)
    return old and not held(folder.with_name(f"{folder.name}.lock"))


def _take(folder: Path, pruned: Pruned, *, dry_run: bool) -> None:
    going = [path for name in pruned.reports for path in _pages(folder / name)]
    going += [folder / name for name in pruned.unfinished]
    for path in going:
        inside = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
        pruned.bytes += sum(file.stat().st_size for file in inside)
        if dry_run:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    if going and not dry_run:
        rebuild_index(folder)
