"""Rows to columns: a table's rows are turned into frames a thousand at a time, while they are warm in the cache."""

from __future__ import annotations

from typing import Any

import polars as pl

from trajlab.schema import COMMANDS, LABELS, PART_TABLES, TABLES, label_column

Row = tuple[Any, ...]

BATCH_ROWS = 1024
_ID = "trajectory_id"
_FIRST_LABEL = COMMANDS.names.index(label_column(LABELS[0]))
LABEL_BITS = {label: 1 << position for position, label in enumerate(LABELS)}
"""A command row carries its labels as one integer; the columns are made of it a batch at a time."""

_SCHEMAS = {table.name: list(table.polars().items()) for table in PART_TABLES}


class TableRows:
    """Rows of one table: those waiting, and the frames made of those before.

    Rows of tables that begin with the trajectory's id leave it out; :meth:`mark` says whose the last ones are.
    """

    __slots__ = ("_frames", "_ids", "marked", "name", "of_trajectory", "rows", "settled")

    def __init__(self, name: str) -> None:
        self.name = name
        self.of_trajectory = TABLES[name].names[0] == _ID
        self.rows: list[Row] = []
        self._ids: list[str] = []
        self.marked = 0
        self._frames: list[pl.DataFrame] = []
        self.settled = 0
        """Rows in the frames made so far."""

    def mark(self, trajectory_id: str) -> None:
        """The rows since the last mark belong to this trajectory; enough rows are turned into a frame."""
        rows = len(self.rows)
        self._ids += [trajectory_id] * (rows - self.marked)
        self.marked = rows
        if rows >= BATCH_ROWS:
            self._settle()

    def settle_many(self) -> None:
        """Turn the rows of a table without ids into a frame, where they are enough."""
        if len(self.rows) >= BATCH_ROWS:
            self._settle()

    def _settle(self) -> None:
        self.settled += len(self.rows)
        self._frames.append(_frame(self.name, self.rows, self._ids if self.of_trajectory else None))
        self.rows.clear()
        self._ids, self.marked = [], 0

    def take(self) -> pl.DataFrame | None:
        """All rows so far as one frame, leaving none; ``None`` where there are none."""
        if self.rows:
            self._settle()
        if not self._frames:
            return None
        frames, self._frames = self._frames, []
        self.settled = 0
        return pl.concat(frames, rechunk=False)


def _frame(name: str, rows: list[Row], ids: list[str] | None) -> pl.DataFrame:
    columns: list[Any] = list(zip(*rows, strict=True))
    if ids is not None:
        columns.insert(0, ids)
    if name == COMMANDS.name:
        mask = pl.Series(columns[_FIRST_LABEL], dtype=pl.Int64)
        columns[_FIRST_LABEL : _FIRST_LABEL + 1] = [(mask & bit) != 0 for bit in LABEL_BITS.values()]
    return pl.DataFrame(
        [_series(name, title, column, kind) for (title, kind), column in zip(_SCHEMAS[name], columns, strict=True)]
    )


def _series(table: str, title: str, column: Any, dtype: type[pl.DataType]) -> pl.Series:
    if isinstance(column, pl.Series):
        return column.alias(title)
    try:
        return pl.Series(title, column, dtype=dtype, strict=True)
    except (TypeError, UnicodeEncodeError, OverflowError):
        kind = next(column.kind for column in TABLES[table].columns if column.name == title)
        return pl.Series(title, [_fit(value, kind) for value in column], dtype=dtype, strict=True)


def _fit(value: Any, kind: str) -> Any:
    """A foreign value that the column's type cannot hold: text without lone surrogates, numbers in range."""
    if value is None:
        return None
    if kind == "str":
        return str(value).encode("utf-8", "replace").decode("utf-8")
    if kind == "bool":
        return value if isinstance(value, bool) else None
    try:
        if kind == "float":
            return float(value)
        return int(value) if -(2**63) <= int(value) < 2**63 else None
    except (TypeError, ValueError, OverflowError):
        return None
