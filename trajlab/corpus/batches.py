"""Rows to columns: a table's rows are turned into frames some thousands at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from trajlab.schema import COMMANDS, LABELS, PART_TABLES, TABLES, label_column

Row = tuple[Any, ...]

BATCH_ROWS = 4096
_ID = "trajectory_id"
LABEL_BITS = {label_column(label): 1 << position for position, label in enumerate(LABELS)}
"""A command carries its labels as one integer; the columns are made of it a batch at a time."""

_SCHEMAS = {table.name: list(table.polars().items()) for table in PART_TABLES}


class TableRows:
    """Rows of one table: those waiting, and the frames made of those before.

    Rows of tables that begin with the trajectory's id leave it out; :meth:`mark` says whose the last ones are.
    Those of ``commands`` are one for each call, with the facts of all its simple commands (see
    :func:`trajlab.behavior.shell.command_facts`), which many calls share.
    """

    __slots__ = ("_counts", "_frames", "_ids", "marked", "name", "of_trajectory", "rows", "settled")

    def __init__(self, name: str) -> None:
        self.name = name
        self.of_trajectory = TABLES[name].names[0] == _ID
        self.rows: list[Row] = []
        self._ids: list[str] = []
        self._counts: list[int] = []
        self.marked = 0
        self._frames: list[pl.DataFrame] = []
        self.settled = 0
        """Rows in the frames made so far."""

    def mark(self, trajectory_id: str) -> None:
        """The rows since the last mark belong to this trajectory; enough rows are turned into a frame."""
        rows = len(self.rows)
        self._ids.append(trajectory_id)
        self._counts.append(rows - self.marked)
        self.marked = rows
        if rows >= BATCH_ROWS:
            self._settle()

    def settle_many(self) -> None:
        """Turn the rows of a table without ids into a frame, where they are enough."""
        if len(self.rows) >= BATCH_ROWS:
            self._settle()

    def _settle(self) -> None:
        self.settled += len(self.rows)
        make = _commands if self.name == COMMANDS.name else _frame
        ids = pl.Series(_ID, self._ids, dtype=pl.String).gather(np.repeat(np.arange(len(self._ids)), self._counts))
        self._frames.append(make(self.name, self.rows, ids if self.of_trajectory else None))
        self.rows.clear()
        self._ids, self._counts, self.marked = [], [], 0

    def take(self) -> pl.DataFrame | None:
        """All rows so far as one frame, leaving none; ``None`` where there are none."""
        if self.rows:
            self._settle()
        if not self._frames:
            return None
        frames, self._frames = self._frames, []
        self.settled = 0
        return pl.concat(frames, rechunk=False)


def _frame(name: str, rows: list[Row], ids: pl.Series | None) -> pl.DataFrame:
    columns: list[Any] = list(zip(*rows, strict=True))
    if ids is not None:
        columns.insert(0, ids)
    return pl.DataFrame(
        [_series(name, title, column, kind) for (title, kind), column in zip(_SCHEMAS[name], columns, strict=True)]
    )


def _commands(name: str, rows: list[Row], ids: pl.Series | None) -> pl.DataFrame:
    """Simple commands of calls, each with its place; equal facts are turned into columns once."""
    calls, steps, facts = zip(*rows, strict=True)
    distinct = dict(zip(map(id, facts), facts, strict=True))
    numbers = dict(zip(distinct, range(len(distinct)), strict=True))
    sizes = np.array([len(commands) for commands in distinct.values()])
    starts = np.cumsum(sizes) - sizes
    which = np.array([numbers[key] for key in map(id, facts)])
    counts = sizes[which]
    row = np.repeat(np.arange(len(rows)), counts)
    position = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    program, masks, scope, rule = zip(*[one for commands in distinct.values() for one in commands], strict=True)
    mask = pl.Series(masks, dtype=pl.Int64)
    told = pl.DataFrame(
        [
            _series(name, "program", program, pl.String),
            *[((mask & bit) != 0).alias(title) for title, bit in LABEL_BITS.items()],
            _series(name, "test_scope", scope, pl.String),
            _series(name, "rule", rule, pl.String),
        ]
    )[np.repeat(starts[which], counts) + position]
    places = [("call", np.array(calls)[row]), ("step", np.array(steps)[row]), ("position", position)]
    whose = [] if ids is None else [ids.gather(row)]
    return pl.DataFrame([*whose, *[pl.Series(title, values) for title, values in places], *told.get_columns()])


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
