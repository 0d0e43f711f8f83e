"""Rows of Parquet files, a few at a time, whatever the columns expand to.

A dictionary holds a text once however many rows have it, so a few kilobytes may stand for gigabytes. Columns that could
are read as Arrow's dictionaries, which stay small, and what their rows come to is summed up before any is made.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from trajlab.records import Problem
from trajlab.sources.files import Bundle
from trajlab.sources.parquet_footer import ColumnChunk, column_chunks
from trajlab.sources.streams import MAX_EXPANSION, MAX_RECORD_BYTES

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

MOST_ROWS = 64
"""Rows that are made at once, …"""
AT_ONCE_BYTES = 64 << 20
"""… unless they come to more than this."""
ALWAYS_ALLOWED = 256 << 20
"""A file may expand to this, whatever its size; beyond, 300 times its size."""
_VALUE_BYTES = 8


def parquet_rows(bundle: Bundle, problems: list[Problem]) -> Iterator[dict[str, Any]]:
    """Rows of a Parquet file, in order, a few at a time.

    Inside structs, keys whose value is null are dropped: Arrow gives every struct all keys that any of
    them has, so a null there mostly means "has no such key". A value that cannot be converted is left out, with a
    problem; a row that is too long comes as ``{}``, so that ``enumerate`` gives row numbers. What expands beyond
    measure is not read to its end, with a problem ``expansion_limit``.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(bundle.file.path) as table:
            chunks = column_chunks(bundle.file.path)
            repeating = _repeating(chunks)
            rows = _Rows(table.schema_arrow, max(ALWAYS_ALLOWED, MAX_EXPANSION * bundle.file.size), problems)
            if _plain_bytes(chunks) > rows.allowed:
                problems.append(rows.too_large())
            elif not repeating:
                yield from rows.of(table, exact=False)
            else:
                with pq.ParquetFile(bundle.file.path, read_dictionary=repeating) as same:
                    yield from rows.of(same, exact=True)
    except (OSError, ValueError, pa.ArrowException) as error:
        problems.append(Problem("unreadable", f"Parquet cannot be read: {error}"))


def _repeating(chunks: Sequence[ColumnChunk]) -> list[str]:
    """Paths of columns of text whose values, were each as long as its whole dictionary, would come to too much."""
    found = {
        chunk.path: None
        for chunk in chunks
        if chunk.is_binary and chunk.has_dictionary and chunk.uncompressed_bytes * chunk.values > AT_ONCE_BYTES
    }
    return list(found)


def _plain_bytes(chunks: Sequence[ColumnChunk]) -> int:
    """Bytes that the values take at least, runs of equal ones written out."""
    return sum(max(chunk.uncompressed_bytes, _VALUE_BYTES * chunk.values) for chunk in chunks)


class _Rows:
    """Makes rows of batches, and keeps account of what they come to."""

    def __init__(self, schema: pa.Schema, allowed: int, problems: list[Problem]) -> None:
        self.allowed = allowed
        self._schema = schema
        self._problems = problems
        self._bytes = 0
        self._number = 0

    def too_large(self) -> Problem:
        return Problem("expansion_limit", f"it expands to more than {self.allowed:,} bytes; the rest is not read")

    def of(self, table: pq.ParquetFile, *, exact: bool) -> Iterator[dict[str, Any]]:
        """All rows of a file; ``exact``: what they come to is summed up before they are made."""
        for batch in table.iter_batches(batch_size=MOST_ROWS):
            size = sum(map(_expanded, batch.columns)) if exact else 0
            whole = size <= AT_ONCE_BYTES
            for piece in (batch,) if whole else (batch.slice(at, 1) for at in range(batch.num_rows)):
                own = size if whole else sum(map(_expanded, piece.columns))
                self._bytes += own
                if self._bytes > self.allowed:
                    self._problems.append(self.too_large())
                    return
                yield from self._made(piece, own, exact)

    def _made(self, batch: pa.RecordBatch, size: int, exact: bool) -> Iterator[dict[str, Any]]:
        if size > MAX_RECORD_BYTES:
            self._number += 1
            message = f"a row of {size:,} bytes is longer than {MAX_RECORD_BYTES}; skipped"
            self._problems.append(Problem("record_too_large", message, line=self._number))
            yield {}
            return
        plain = self._without_dictionaries(batch) if exact else batch
        try:
            rows = plain.to_pylist()
        except (ValueError, OverflowError):
            rows = [self._single(plain, index) for index in range(plain.num_rows)]
        self._number += plain.num_rows
        for row in rows:
            yield {name: _without_padding(value) for name, value in row.items()}

    def _without_dictionaries(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The same values, where Arrow can write them out; to make rows of dictionaries is only slower."""
        import pyarrow as pa

        try:
            return batch.cast(self._schema)
        except pa.ArrowException:
            return batch

    def _single(self, batch: pa.RecordBatch, index: int) -> dict[str, Any]:
        """One row, without the values that Python cannot hold: dates beyond the year 9999, text that is none."""
        row: dict[str, Any] = {}
        number = self._number + index + 1
        for name, column in zip(batch.schema.names, batch.columns, strict=True):
            try:
                row[name] = column[index].as_py()
            except (ValueError, OverflowError) as error:
                self._problems.append(Problem("invalid_value", f"{name}: {error}; read as not recorded", line=number))
        return row


def _expanded(array: pa.Array) -> int:
    """Bytes of an array with every text of a dictionary written out as often as it is used."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    if pa.types.is_dictionary(kind):
        if not (pa.types.is_string(kind.value_type) or pa.types.is_binary(kind.value_type)):
            return int(array.nbytes)
        return int(pc.sum(pc.take(pc.binary_length(array.dictionary).cast(pa.int64()), array.indices)).as_py() or 0)
    if pa.types.is_struct(kind):
        return sum(map(_expanded, array.flatten()))
    if pa.types.is_map(kind):
        first, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
        return sum(_expanded(part.slice(first, end - first)) for part in (array.keys, array.items))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _expanded(array.flatten())
    return int(array.nbytes)


def _without_padding(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_padding(inner) for key, inner in value.items() if inner is not None}
    if isinstance(value, list) and value and isinstance(value[0], (dict, list, datetime, timedelta)):
        return [_without_padding(inner) for inner in value]
    # Of nanoseconds Arrow makes values of pandas, which nothing else here knows.
    if isinstance(value, datetime) and type(value) is not datetime:
        return value.to_pydatetime(warn=False)  # type: ignore[attr-defined]
    if isinstance(value, timedelta) and type(value) is not timedelta:
        return value.to_pytimedelta()  # type: ignore[attr-defined]
    return value
