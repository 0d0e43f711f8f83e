"""Totals that companions state, held against what was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

import msgspec
import polars as pl

from trajlab.formats import Total

COUNTED: dict[str, pl.Expr] = {
    "trajectories": pl.len(),
    "files": pl.col("source").n_unique(),
    "files.correct": pl.col("source").filter("correct").n_unique(),
    "attempts": pl.struct("group_id", "attempt").n_unique(),
    "reward.mean": pl.when(pl.col("reward").null_count() == 0).then(pl.col("reward").mean()),
}
"""What a total may count, over the trajectories that it is about; null where they do not record it."""

_UNRECORDED = {"files.correct": "correct", "attempts": "attempt", "reward.mean": "reward"}
"""What must be recorded of all of them for a count to mean anything."""
_TOLERANCE = 1e-5
"""Relative: trainers take means in single precision."""


class TotalRow(msgspec.Struct):
    """A row of ``totals``, and the problem it makes."""

    values: tuple[object, ...]
    problem: tuple[str, str] | None = None
    """Code and message."""


def hold_against(source: str, run: str | None, totals: Sequence[Total], reached: pl.DataFrame) -> Iterator[TotalRow]:
    """One row for each total of a companion."""
    for total in totals if reached.height else ():
        named, about = _about(source, total, reached)
        missing = _UNRECORDED.get(total.name)
        why = _not_comparable(total, about, missing)
        counted = float(about.select(COUNTED[total.name]).item()) if why is None else None
        agrees = None if counted is None else _agree(total, counted)
        if counted is not None and agrees is None:
            why = "planned: some left no record, or are not finished"
        row = TotalRow((run, source, total.name, named, float(total.value), counted, agrees, why))
        if counted is not None and agrees is not True:
            code = "not_reconciled" if agrees is False else "attempts_missing"
            row.problem = code, _message(total, named, counted)
        yield row


def _about(source: str, total: Total, reached: pl.DataFrame) -> tuple[str | None, pl.DataFrame]:
    """What a total is about, in words, and those trajectories."""
    words, about = [], reached
    if total.files:
        folder = PurePosixPath(source).parent
        about = about.filter(pl.col("source").is_in([str(folder / name) for name in total.files]))
        words.append(" and ".join(total.files))
    if total.train_step is not None:
        about = about.filter(pl.col("train_step") == total.train_step)
        words.append(f"step {total.train_step}")
    if total.agent is not None:
        about = about.filter(pl.col("agent") == total.agent)
        words.append(f"agent {total.agent}")
    return ", ".join(words) or None, about


def _not_comparable(total: Total, about: pl.DataFrame, column: str | None) -> str | None:
    """Why nothing can be counted; ``None`` where it can."""
    if about.is_empty():
        return "no trajectory of it was read"
    if column is not None and about[column].null_count():
        return f"not all of its trajectories record {column}"
    if total.train_step is not None and about["source"].n_unique() > 1:
        return "several files hold this step: it cannot be told which of them is meant"
    return None


def _agree(total: Total, counted: float) -> bool | None:
    if abs(counted - total.value) <= _TOLERANCE * max(1.0, abs(total.value)):
        return True
    return None if total.planned and counted < total.value else False


def _message(total: Total, named: str | None, counted: float) -> str:
    where = f" ({named})" if named else ""
    if total.planned:
        return f"{total.value:g} {total.name} were planned{where}, {counted:g} have a record: killed ones leave none"
    return f"it states {total.value:g} as {total.name}{where}, {counted:g} were read"
