"""Rows to columns: a table's rows are turned into frames some thousands at a time."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import polars as pl

from trajlab.schema import COMMANDS, LABELS, PART_TABLES, TABLES, label_column

Row = tuple[Any, ...]

BATCH_ROWS = 8192
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

    def waiting(self) -> int:
        """Rows since the last frame."""
        return len(self.rows)

    def drop_unmarked(self) -> None:
        """Forget the rows since the last mark."""
        del self.rows[self.marked :]

    def mark(self, trajectory_id: str) -> None:
        """The rows since the last mark belong to this trajectory; enough rows are turned into a frame."""
        rows = self.waiting()
        if rows == self.marked:
            return
        self._ids.append(trajectory_id)
        self._counts.append(rows - self.marked)
        self.marked = rows
        if rows >= BATCH_ROWS:
            self._settle()

    def settle_many(self) -> None:
        """Turn the rows of a table without ids into a frame, where they are enough."""
        if len(self.rows) >= BATCH_ROWS:
            self._settle()

    def take(self) -> pl.DataFrame | None:
        """All rows so far as one frame, leaving none; ``None`` where there are none."""
        if self.waiting():
            self._settle()
        if not self._frames:
            return None
        frames, self._frames = self._frames, []
        self.settled = 0
        return pl.concat(frames, rechunk=False) if len(frames) > 1 else frames[0]

    def _settle(self) -> None:
        self.settled += self.waiting()
        self._frames.append(self._frame())
        self._ids, self._counts, self.marked = [], [], 0

    def _frame(self) -> pl.DataFrame:
        rows, self.rows = self.rows, []
        if self.name == COMMANDS.name:
            return _commands(rows, self._ids, self._counts)
        return self._of_columns(list(zip(*rows, strict=True)))

    def _of_columns(self, columns: list[Any]) -> pl.DataFrame:
        schema = _SCHEMAS[self.name][self.of_trajectory :]
        told = zip(schema, columns, strict=True)
        series = [_series(self.name, title, column, kind) for (title, kind), column in told]
        return pl.DataFrame([_repeated(self._ids, self._counts), *series] if self.of_trajectory else series)


class TableColumns(TableRows):
    """The same for a table that is filled column by column, many rows at a time."""

    __slots__ = ("_columns",)

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._columns = self._no_rows()

    def _no_rows(self) -> list[list[Any]]:
        return [[] for _ in range(len(_SCHEMAS[self.name]) - self.of_trajectory)]

    def add(self, *values: Iterable[Any]) -> None:
        """Add rows: the values of each column."""
        for column, more in zip(self._columns, values, strict=True):
            column += more

    def waiting(self) -> int:
        """Rows since the last frame."""
        return len(self._columns[0])

    def drop_unmarked(self) -> None:
        """Forget the rows since the last mark."""
        for column in self._columns:
            del column[self.marked :]

    def _frame(self) -> pl.DataFrame:
        columns, self._columns = self._columns, self._no_rows()
        return self._of_columns(columns)


def _repeated(ids: Sequence[str], counts: Sequence[int] | np.ndarray[Any, Any]) -> pl.Series:
    """Each id as often as its count says."""
    return pl.Series(_ID, ids, dtype=pl.String)[np.repeat(np.arange(len(ids)), counts)]


def _commands(rows: Sequence[Row], ids: Sequence[str], calls_of_ids: Sequence[int]) -> pl.DataFrame:
    """Simple commands of calls, each with its place; the facts of a text are looked at once."""
    calls, steps, facts = zip(*rows, strict=True)
    distinct = dict(zip(map(id, facts), facts, strict=True))
    numbers = dict(zip(distinct, range(len(distinct)), strict=True))
    sizes = np.array([len(commands) for commands in distinct.values()])
    which = np.array([numbers[key] for key in map(id, facts)])
    counts = sizes[which]
    first = np.cumsum(counts) - counts
    call = np.repeat(np.arange(len(rows)), counts)
    position = np.arange(len(call)) - first[call]
    place = (np.cumsum(sizes) - sizes)[which][call] + position
    program, masks, scope, rule = zip(*[one for commands in distinct.values() for one in commands], strict=True)
    words = [("program", program), ("test_scope", scope), ("rule", rule)]
    told = pl.DataFrame([_series(COMMANDS.name, title, column, pl.String) for title, column in words])[place]
    mask = np.array(masks)[place]
    last_calls = np.cumsum(calls_of_ids) - 1
    whose = _repeated(ids, np.diff(first[last_calls] + counts[last_calls], prepend=0))
    columns = {_ID: whose} | {column.name: column for column in told}
    columns |= {title: pl.Series(title, (mask & bit) != 0) for title, bit in LABEL_BITS.items()}
    for title, values in (("call", np.array(calls)[call]), ("step", np.array(steps)[call]), ("position", position)):
        columns[title] = pl.Series(title, values)
    return pl.DataFrame([columns[title] for title in COMMANDS.names])


def _series(table: str, title: str, column: Sequence[Any], dtype: type[pl.DataType]) -> pl.Series:
    if column[0] is None and column.count(None) == len(column):
        return pl.Series(title, [None], dtype=dtype).new_from_index(0, len(column))
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
