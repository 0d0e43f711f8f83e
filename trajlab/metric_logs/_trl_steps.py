"""Steps of rows that name none: transformers prints the epoch, and a progress bar that may lag behind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trajlab.metric_logs._console_lines import Row
from trajlab.metric_logs._values import number
from trajlab.records import Problem

_EXACT_TO = 500
"""Epochs are printed with four digits: by the epoch, steps up to here can be told to the unit."""
_MOST_STEPS = 2**53
"""Beyond, floats are no whole numbers any more: the epoch is none."""
_NEAR = 0.01
"""Bars whose steps an epoch lie this near to the highest are up to date; a lagging one gives fewer."""


def with_steps(rows: Iterable[Row | Problem]) -> Iterator[Row | Problem]:
    """The rows with their steps, evaluations and the summary at the step that they follow."""
    found = list(rows)
    kept = [row for row in found if isinstance(row, Row)]
    rate = _steps_per_epoch(kept)
    before = (-1.0, 0)
    counted = 0
    for row in found:
        if isinstance(row, Row):
            epoch = _epoch(row)
            row.step = _step(row, epoch, rate, before)
            counted += rate is None
            if epoch is not None:
                before = (epoch, row.step)
        yield row
    if counted:
        yield Problem("metrics_steps", f"no progress bar tells the step of {counted:,} rows; they are counted")


def _epoch(row: Row) -> float | None:
    said = next((value for name, value in reversed(row.pairs) if name == "epoch"), None)
    found = number(said)
    return None if found is None else found[0]


def _steps_per_epoch(rows: list[Row]) -> float | None:
    """By the bars that are up to date; the furthest of them is the most exact."""
    pairs = [
        (row.bar[0], row.bar[0] / epoch)
        for row in rows
        if row.bar is not None and row.bar[0] and _is_training(row) and (epoch := _epoch(row))
    ]
    if not pairs:
        return None
    highest = max(rate for _, rate in pairs)
    return max((done, rate) for done, rate in pairs if rate >= highest * (1 - _NEAR))[1]


def _is_training(row: Row) -> bool:
    return not row.pairs[0][0].startswith(("eval_", "train_runtime"))


def _step(row: Row, epoch: float | None, rate: float | None, before: tuple[float, int]) -> int:
    last_epoch, last = before
    if epoch is None:
        return last
    if epoch == last_epoch and not _is_training(row):
        return last
    if rate is None:
        return last + _is_training(row)
    exact = epoch * rate
    if abs(exact) > _MOST_STEPS:
        return last
    by_epoch = round(exact)
    if not _is_training(row) or by_epoch < _EXACT_TO or row.bar is None:
        return by_epoch
    near = max(1.0, by_epoch * 2e-3)
    return row.bar[0] if last < row.bar[0] and abs(row.bar[0] - by_epoch) <= near else max(by_epoch, last + 1)
