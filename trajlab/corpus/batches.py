"""Rows to Arrow: a table's rows are turned into columns a thousand at a time, while they are warm in the cache."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from trajlab.schema import COMMANDS, LABELS, PART_TABLES, TABLES, label_column

Row = tuple[Any, ...]

BATCH_ROWS = 1024
_ID = "trajectory_id"
_ID_TYPE = pa.dictionary(pa.int32(), pa.string())
_FIRST_LABEL = COMMANDS.names.index(label_column(LABELS[0])) - 1
LABEL_BITS = {label: 1 << position for position, label in enumerate(LABELS)}
"""A command row carries its labels as one integer; the columns are made of it a batch at a time."""


def _schema(name: str) -> pa.Schema:
    """As stored, except that a leading trajectory id is a dictionary: it is the same over runs of rows."""
    schema = TABLES[name].arrow()
    return schema.set(0, pa.field(_ID, _ID_TYPE)) if schema.names[0] == _ID else schema


_SCHEMAS = {table.name: _schema(table.name) for table in PART_TABLES}


class TableRows:
    """Rows of one table: those waiting, and the batches made of those before.

    Rows of tables that begin with the trajectory's id leave it out; :meth:`mark` says whose the last ones are.
    """

    __slots__ = ("_batches", "_counts", "_ids", "_marked", "name", "of_trajectory", "rows")

    def __init__(self, name: str) -> None:
        self.name = name
        self.of_trajectory = TABLES[name].names[0] == _ID
        self.rows: list[Row] = []
        self._ids: list[str] = []
        self._counts: list[int] = []
        self._marked = 0
        self._batches: list[pa.RecordBatch] = []

    def mark(self, trajectory_id: str) -> None:
        """The rows since the last mark belong to this trajectory; enough rows are turned into a batch."""
        new = len(self.rows) - self._marked
        if new:
            self._ids.append(trajectory_id)
            self._counts.append(new)
            self._marked += new
            if self._marked >= BATCH_ROWS:
                self._settle()

    def _settle(self) -> None:
        ids = (self._ids, self._counts) if self.of_trajectory else None
        self._batches.append(_batch(self.name, self.rows, ids))
        self.rows.clear()
        self._ids, self._counts, self._marked = [], [], 0

    def take(self) -> pa.Table | None:
        """All rows so far as one table, leaving none; ``None`` where there are none."""
        if self.rows:
            self._settle()
        if not self._batches:
            return None
        table = pa.Table.from_batches(self._batches, schema=_SCHEMAS[self.name])
        self._batches = []
        return table.unify_dictionaries()


def _batch(name: str, rows: list[Row], ids: tuple[list[str], list[int]] | None) -> pa.RecordBatch:
    columns: list[Any] = list(zip(*rows, strict=True))
    if name == COMMANDS.name:
        mask = np.array(columns[_FIRST_LABEL], dtype=np.int64)
        columns[_FIRST_LABEL : _FIRST_LABEL + 1] = [(mask & bit) != 0 for bit in LABEL_BITS.values()]
    schema = _SCHEMAS[name]
    fields = list(schema)[1:] if ids is not None else list(schema)
    try:
        arrays = [pa.array(column, field.type) for column, field in zip(columns, fields, strict=True)]
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError, OverflowError):
        kinds = [TABLES[name].columns[schema.names.index(field.name)].kind for field in fields]
        cleaned = [[_fit(value, kind) for value in column] for column, kind in zip(columns, kinds, strict=True)]
        arrays = [pa.array(column, field.type) for column, field in zip(cleaned, fields, strict=True)]
    if ids is not None:
        codes = np.repeat(np.arange(len(ids[0]), dtype=np.int32), ids[1])
        arrays.insert(0, pa.DictionaryArray.from_arrays(codes, pa.array(ids[0], pa.string())))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _fit(value: Any, kind: str) -> Any:
    """A foreign value that the column's type cannot hold: text without lone surrogates, numbers in range."""
    if value is None:
        return None
    if kind == "str":
        return str(value).encode("utf-8", "replace").decode("utf-8")
    if kind == "bool":
        return bool(value) if isinstance(value, bool | np.bool_) else None
    try:
        if kind == "float":
            return float(value)
        return int(value) if -(2**63) <= int(value) < 2**63 else None
    except (TypeError, ValueError, OverflowError):
        return None
