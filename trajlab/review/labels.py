"""Verdicts of people: one JSONL file per reviewer, appended to and never rewritten; merged, the last word wins."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from trajlab.errors import UsageError, read_named, writing

SCHEMA = "trajlab-label-1"

LABELS_SCHEMA = {
    "sample": pl.String, "item": pl.String, "step": pl.Int64, "question": pl.String, "reviewer": pl.String,
    "value": pl.String, "note": pl.String, "start": pl.Int64, "end": pl.Int64, "at": pl.String, "source": pl.String,
}  # fmt: skip
"""Columns of merged labels; ``value`` is JSON text, so that a choice, a number and a list keep their kind."""

Value = str | int | float | bool | list[str] | None


class Label(msgspec.Struct, frozen=True, kw_only=True):
    """One answer of one reviewer to one question about a trajectory or a step of it."""

    schema: str = SCHEMA
    reviewer: str
    sample: str
    """Id of the sample; empty: read outside of one."""
    item: str
    """The trajectory's id."""
    step: int | None = None
    """Step it is about; null: the whole trajectory."""
    span: tuple[int, int] | None = None
    """Characters of the step's text it points at."""
    question: str
    value: Value
    """The answer; null: taken back."""
    note: str | None = None
    at: str
    """When, ISO 8601 in UTC."""


class Labels(msgspec.Struct):
    """Merged labels, and the lines that are none."""

    frame: pl.DataFrame
    """The last label of each reviewer on each item, step and question, those taken back left out."""
    superseded: int
    """Labels that a later one of the same reviewer replaced."""
    problems: list[str]
    """Lines not read: file, line, reason."""

    def write(self, path: str | Path) -> Path:
        """Write the merged labels as Parquet; a folder that is missing is made."""
        with writing(Path(path)) as target:
            self.frame.write_parquet(target)
        return target


def now() -> str:
    """The time as labels carry it."""
    return datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def append(path: str | Path, labels: Iterable[Label]) -> int:
    """Add labels to a file and have them on the disk before returning.

    A line that a crash cut short is closed first, so it cannot swallow the next one.

    Returns:
        How many were written.

    Raises:
        InfrastructureError: They cannot be written.
    """
    target = Path(path)
    lines = [msgspec.json.encode(label) + b"\n" for label in labels]
    if not lines:
        return 0
    with writing(target), target.open("a+b") as file:
        if _open_line(file):
            lines.insert(0, b"\n")
        file.write(b"".join(lines))
        file.flush()
        os.fsync(file.fileno())
    return sum(line != b"\n" for line in lines)


def _open_line(file: Any) -> bool:
    if file.seek(0, os.SEEK_END) == 0:
        return False
    file.seek(-1, os.SEEK_END)
    return bool(file.read(1) != b"\n")


def read_labels(*paths: str | Path) -> Labels:
    """Read and merge label files; of a folder every ``.jsonl`` in it.

    The last line wins for each reviewer, item, step and question: by its time, then by its place in the file, so that
    a page's export may be read beside what was labelled later. Lines that are no label are told, not lost.

    Raises:
        UsageError: A file does not exist, or no file was named.
    """
    files = [file for path in paths for file in _files(Path(path))]
    if not files:
        raise UsageError("labels", "no label file", "JSONL files, or a folder of them")
    rows: list[tuple[object, ...]] = []
    problems: list[str] = []
    for file in files:
        try:
            lines = read_named(file).split(b"\n")
        except OSError as error:
            raise UsageError(str(file), error.strerror or str(error), "a file of labels", "Check the path") from error
        for number, line in enumerate(lines, 1):
            if line.strip():
                _read_line(file, number, line, rows, problems)
    frame = pl.DataFrame(rows, schema=LABELS_SCHEMA, orient="row")
    key = ["sample", "item", "step", "question", "reviewer"]
    kept = frame.sort("at", maintain_order=True).unique(key, keep="last", maintain_order=True)
    # The same label in two files (an import, an export) is one label.
    superseded = frame.drop("source").unique(maintain_order=True).height - kept.height
    live = kept.filter(pl.col("value") != "null").sort("item", "step", "question", "reviewer", nulls_last=False)
    return Labels(live, superseded, problems)


def _files(path: Path) -> Sequence[Path]:
    if path.is_dir():
        return sorted(path.glob("*.jsonl"))
    if not path.exists():
        raise UsageError(str(path), "no such file", "a file of labels, or a folder of them")
    return [path]


def _read_line(file: Path, number: int, line: bytes, rows: list[tuple[object, ...]], problems: list[str]) -> None:
    try:
        label = msgspec.json.decode(line, type=Label)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        problems.append(f"{file.name}:{number}: no label: {error}")
        return
    if label.schema != SCHEMA:
        problems.append(f"{file.name}:{number}: schema {label.schema!r}; expected {SCHEMA}")
        return
    start, end = label.span or (None, None)
    value = msgspec.json.encode(label.value).decode()
    rows.append(
        (label.sample, label.item, label.step, label.question, label.reviewer, value, label.note, start, end,
         label.at, file.name)
    )  # fmt: skip


def values_of(labels: Labels, question: str, *, step_level: bool = False) -> pl.DataFrame:
    """Answers to one question: ``item``, ``step``, ``reviewer``, ``value`` (JSON text), ``note``, in a stable order.

    Who answered under two samples counts once, with the last word.

    Args:
        labels: Merged labels.
        question: Its id.
        step_level: Answers about steps; else those about whole trajectories.
    """
    place = pl.col("step").is_not_null() if step_level else pl.col("step").is_null()
    said = labels.frame.filter((pl.col("question") == question) & place)
    last = said.sort("at", maintain_order=True).unique(["item", "step", "reviewer"], keep="last", maintain_order=True)
    return last.sort("item", "step", "reviewer").select("item", "step", "reviewer", "value", "note")
