"""Rows to Arrow: a table's rows are turned into columns a thousand at a time, while they are warm in the cache."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from trajlab.schema import COMMANDS, LABELS, PART_TABLES, TABLES, label_column

Row = tuple[Any, ...]

BATCH_ROWS = 1024
_ARROW = {table.name: table.arrow() for table in PART_TABLES}
_MASK_AT = COMMANDS.names.index(label_column(LABELS[0]))
LABEL_BITS = {label: 1 << position for position, label in enumerate(LABELS)}
"""A command row carries its labels as one integer; the columns are made of it a batch at a time."""


class TableRows:
    """Rows of one table: those waiting, and the batches made of those before."""

    __slots__ = ("batches", "name", "rows")

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows: list[Row] = []
        self.batches: list[pa.RecordBatch] = []

    def settle(self, least: int = BATCH_ROWS) -> None:
        """Make a batch of the waiting rows once there are enough of them."""
        if len(self.rows) >= least:
            self.batches.append(_batch(self.name, self.rows))
            self.rows.clear()

    def take(self) -> pa.Table | None:
        """All rows so far as one table, leaving none; ``None`` where there are none."""
        self.settle(1)
        if not self.batches:
            return None
        table = pa.Table.from_batches(self.batches, schema=_ARROW[self.name])
        self.batches = []
        return table


def _batch(name: str, rows: list[Row]) -> pa.RecordBatch:
    columns: list[Any] = list(zip(*rows, strict=True))
    if name == COMMANDS.name:
        mask = np.array(columns[_MASK_AT], dtype=np.int64)
        columns[_MASK_AT : _MASK_AT + 1] = [(mask & bit) != 0 for bit in LABEL_BITS.values()]
    schema = _ARROW[name]
    try:
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeEncodeError, OverflowError):
        kinds = [column.kind for column in TABLES[name].columns]
        cleaned = [[_fit(value, kind) for value in column] for column, kind in zip(columns, kinds, strict=True)]
        arrays = [pa.array(column, field.type) for column, field in zip(cleaned, schema, strict=True)]
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
