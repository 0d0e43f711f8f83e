"""Reading one unit into one part: a folder of Parquet files, written aside and put in place whole."""

from __future__ import annotations

import gc
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import xxhash

from trajlab.corpus.batches import TableRows
from trajlab.corpus.lost import LOST, BundleCoverage, bundle_coverage
from trajlab.corpus.parquet import write_frame
from trajlab.corpus.rows import PartRows, Place, failed
from trajlab.errors import TrajlabError
from trajlab.formats import log_format
from trajlab.records import Problem, Trajectory
from trajlab.sources.files import Bundle

PARTS = "parts"
SUMMARY = "unit.json"
_OURS = re.compile(r"(?:\.wip-)?[0-9a-f]{16}")


class UnitBundle(msgspec.Struct, frozen=True):
    """A bundle and the run it falls under where the log names none."""

    bundle: Bundle
    run: str
    place: str
    """Path that identifies its trajectories."""
    attempt: int | None = None
    """Number of the attempt, where a folder is named for it."""
    forced_run: bool = False
    """The user named the run: the log's own name is not asked."""

    @property
    def bytes(self) -> int:
        """Bytes on disk that the bundle covers."""
        bundle = self.bundle
        return bundle.end - bundle.start if bundle.end is not None else sum(file.size for file in bundle.files)


class Unit(msgspec.Struct, frozen=True):
    """A planned piece of work: bundles read together into one part."""

    key: str
    bundles: tuple[UnitBundle, ...]
    keep_texts: bool = True

    @property
    def bytes(self) -> int:
        """Bytes on disk that the unit covers."""
        return sum(bundle.bytes for bundle in self.bundles)


class UnitSummary(msgspec.Struct):
    """What came of a unit, per bundle."""

    key: str
    trajectories: list[int]
    problems: list[int]
    slice_digest: str | None = None
    """Digest of the bytes, for a slice: the slice of a grown file need not be read again."""
    coverage: list[BundleCoverage] = []
    """What of each bundle was not read."""
    files: dict[str, int] = {}
    """Bytes of every table file: a part in which one is missing or cut short is read again."""


class UnitTask(msgspec.Struct, frozen=True):
    """A unit and the corpus folder its part goes to."""

    unit: Unit
    folder: str


def whole_part(folder: Path, unit: Unit) -> UnitSummary | None:
    """Summary of a unit's part; ``None`` where a file of it is missing, cut short or too many."""
    part = folder / PARTS / unit.key
    try:
        summary = msgspec.json.decode((part / SUMMARY).read_bytes(), type=UnitSummary)
        found = file_sizes(part)
    except (OSError, ValueError, msgspec.MsgspecError, RecursionError):
        return None
    del found[SUMMARY]
    whole = found == summary.files and len(summary.trajectories) == len(summary.coverage) == len(unit.bundles)
    return summary if whole else None


def file_sizes(folder: Path) -> dict[str, int]:
    """Names and bytes of what is in a folder, by name."""
    with os.scandir(folder) as scan:
        return dict(sorted((entry.name, entry.stat().st_size) for entry in scan))


def sweep(folder: Path, keep: set[str]) -> None:
    """Remove parts that no unit needs any more and leftovers of killed runs, and nothing that is not ours."""
    (folder / PARTS).mkdir(exist_ok=True)  # metric logs alone make no parts
    for entry in (folder / PARTS).iterdir():
        if entry.name not in keep and _OURS.fullmatch(entry.name) and entry.is_dir() and not entry.is_symlink():
            shutil.rmtree(entry)


class PartWriter:
    """Writes the tables of one part; texts, which are many, in several files."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, int] = {}

    def write(self, rows: TableRows) -> None:
        """Write the rows of a table so far; nothing where there are none."""
        frame = rows.take()
        if frame is None:
            return
        number = self._files[rows.name] = self._files.get(rows.name, 0) + 1
        write_frame(frame, self._folder / f"{rows.name}.{number}.parquet", level=1)


def slice_digest(unit: Unit) -> str | None:
    """Digest of the bytes of a unit that is one slice of a line file; ``None`` for others, and where it is gone."""
    bundle = unit.bundles[0].bundle
    if bundle.end is None:
        return None
    hasher = xxhash.xxh3_64()
    try:
        with Path(bundle.file.path).open("rb") as file:
            file.seek(bundle.start)
            left = bundle.end - bundle.start
            while left > 0 and (chunk := file.read(min(left, 1 << 20))):
                hasher.update(chunk)
                left -= len(chunk)
    except OSError:  # a row of `problems` tells, if anything was left to be read
        return None
    return None if left else hasher.hexdigest()


def read_unit(task: UnitTask) -> UnitSummary:
    """Read, classify and write one unit; a pure function of its bytes.

    Returns:
        Counts per file of the unit, also written beside the tables.
    """
    unit = task.unit
    parts = Path(task.folder) / PARTS
    final, aside = parts / unit.key, parts / f".wip-{unit.key}"
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    writer = PartWriter(aside)
    rows = PartRows(keep_texts=unit.keep_texts, flush=writer.write)
    summary = UnitSummary(unit.key, [], [])
    collecting = gc.isenabled()
    gc.disable()  # records are trees without cycles: the collector only costs time here
    try:
        for item in unit.bundles:
            before, problems = rows.trajectories, rows.problems
            lost = _read_bundle(item, rows)
            made = rows.trajectories - before
            summary.trajectories.append(made)
            summary.coverage.append(bundle_coverage(item.bundle, item.bytes, made, lost))
            summary.problems.append(rows.problems - problems)
        for table in rows.tables.values():
            writer.write(table)
    finally:
        if collecting:
            gc.enable()
    summary.slice_digest = slice_digest(unit)
    summary.files = file_sizes(aside)
    (aside / SUMMARY).write_bytes(msgspec.json.encode(summary))
    shutil.rmtree(final, ignore_errors=True)
    if not final.is_dir():
        final.unlink(missing_ok=True)
    aside.rename(final)
    return summary


def _read_bundle(item: UnitBundle, rows: PartRows) -> list[Problem]:
    """Read a bundle into rows; returns the problems that mean a record was lost."""
    bundle = item.bundle
    place = Place(item.run, bundle.format, bundle.file.root, bundle.file.relpath, item.place)
    lost: list[Problem] = []
    before = rows.trajectories, rows.problems
    try:
        for key, record in identified(item):
            if isinstance(record, Problem):
                rows.note(place, record)
                if record.code in LOST:
                    lost.append(record)
                continue
            own = place if record.run in (None, item.run) else msgspec.structs.replace(place, run=record.run)
            rows.add(own, key, record)
    except (TrajlabError, MemoryError):
        raise
    except Exception as error:  # a defect of ours, met in one file, must not cost the others
        lost.append(rest_not_read(error))
        rows.note(place, lost[-1])
    if bundle.end is None and (rows.trajectories, rows.problems) == before:
        rows.note(place, Problem("no_records", "it holds nothing that is a trajectory"))
    if not lost and (shorter := _shorter(bundle)) is not None:
        lost.append(shorter)
        rows.note(place, shorter)
    return lost


def _shorter(bundle: Bundle) -> Problem | None:
    """The problem of a slice whose file was cut after it was planned."""
    if bundle.end is None:
        return None
    try:
        size = Path(bundle.file.path).stat().st_size
    except OSError:  # gone, but nothing of it was missed
        return None
    if size >= bundle.end:
        return None
    message = f"the file became shorter while it was read: {size:,} bytes, expected {bundle.end:,} or more"
    return Problem("truncated", f"{message}; the next ingest reads it again", offset=bundle.start)


def identified(item: UnitBundle) -> Iterator[tuple[str, Trajectory | Problem]]:
    """Records of a bundle, each with what identifies it in its file; run and attempt as the plan has them."""
    seen: dict[str, int] = {}
    by_line = item.bundle.file.relpath.endswith((".jsonl", ".jsonl.gz", ".jsonl.zst", ".jsonl.xz"))
    for record in log_format(item.bundle.format).read(item.bundle):
        if isinstance(record, Problem):
            yield "", record
            continue
        if record.attempt is None:
            record.attempt = item.attempt
        if item.forced_run or not record.run:
            record.run = item.run
        yield _key(record, seen, by_line=by_line), record


def rest_not_read(error: Exception) -> Problem:
    """The problem of a file whose reading ended early."""
    if isinstance(error, OSError):
        return Problem("unreadable", f"{error.strerror or error}; the rest of the file is not read")
    if isinstance(error, RecursionError):
        return Problem("unreadable_record", "a value is nested too deeply; the rest of the file is not read")
    return failed(error, "the rest of the file is not read")


def _key(record: Trajectory, seen: dict[str, int], *, by_line: bool) -> str:
    """Identity in the file: in line files the place keeps slices apart; elsewhere the native id, counted on repeat."""
    if by_line:
        return f"{record.native_id or ''}@{record.ordinal}"
    key = record.native_id or f"@{record.ordinal}"
    seen[key] = seen.get(key, 0) + 1
    return key if seen[key] == 1 else f"{key}#{seen[key]}"
