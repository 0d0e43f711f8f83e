"""Column chunks of a Parquet file, as its footer tells them.

Arrow aborts the whole process where it is asked about a column chunk whose description contradicts itself (pyarrow
26.0.1, ``RowGroupMetaData.column``), so the footer is read here: Thrift's compact protocol, of which only the fields
named below are looked at (``parquet.thrift`` of the format, 2.11).
"""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path
from typing import Any

import msgspec

_MAGIC = b"PAR1"
_TAIL_BYTES = 8
_LONGEST_FOOTER = 64 << 20
_MOST_DEPTH = 32
_BYTE_ARRAY = 6
_ROW_GROUPS, _COLUMNS, _COLUMN = 4, 1, 3  # of FileMetaData, RowGroup, ColumnChunk
_TYPE, _PATH, _VALUES, _UNCOMPRESSED, _DICTIONARY = 1, 3, 5, 6, 11  # of ColumnMetaData
_Wanted = dict[int, "_Wanted"]
_WANTED: _Wanted = {
    _ROW_GROUPS: {_COLUMNS: {_COLUMN: {_TYPE: {}, _PATH: {}, _VALUES: {}, _UNCOMPRESSED: {}, _DICTIONARY: {}}}}
}
_TRUE, _FALSE, _BYTE, _INTEGERS, _DOUBLE, _BINARY, _LISTS, _MAP, _STRUCT, _UUID = (
    1, 2, 3, (4, 5, 6), 7, 8, (9, 10), 11, 12, 13,
)  # fmt: skip


class ColumnChunk(msgspec.Struct, frozen=True):
    """The values of one column in one row group."""

    path: str
    """Names from the root of the schema on, joined by dots."""
    is_binary: bool
    """Texts or bytes of any length."""
    has_dictionary: bool
    values: int
    """Nulls included."""
    uncompressed_bytes: int


def column_chunks(path: str) -> list[ColumnChunk]:
    """All column chunks, in the order of the footer.

    Raises:
        ValueError: The footer is damaged.
        OSError: The file cannot be read.
    """
    with Path(path).open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _TAIL_BYTES, 0))
        tail = file.read()
        length = int.from_bytes(tail[:4], "little")
        if len(tail) < _TAIL_BYTES or not tail.endswith(_MAGIC) or length > size - _TAIL_BYTES:
            raise ValueError("the footer is cut")
        if length > _LONGEST_FOOTER:
            raise ValueError(f"a footer of {length:,} bytes; at most {_LONGEST_FOOTER:,} are read")
        file.seek(size - _TAIL_BYTES - length)
        data = file.read(length)
    try:
        groups = _Thrift(data).struct(_WANTED, 0)[_ROW_GROUPS]
        return [_chunk(column) for group in groups for column in group[_COLUMNS]]
    except (IndexError, KeyError, TypeError, AttributeError):
        raise ValueError("the footer is damaged") from None


def _chunk(column: dict[int, Any]) -> ColumnChunk:
    said = column[_COLUMN]
    name = b".".join(said[_PATH]).decode("utf-8", "replace")
    return ColumnChunk(name, said[_TYPE] == _BYTE_ARRAY, _DICTIONARY in said, said[_VALUES], said[_UNCOMPRESSED])


class _Thrift:
    """A reader of Thrift's compact protocol: structs as dictionaries by field number; what is not wanted is skipped."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def struct(self, wanted: _Wanted, depth: int) -> dict[int, Any]:
        if depth > _MOST_DEPTH:
            raise ValueError("the footer is nested too deeply")
        found: dict[int, Any] = {}
        number = 0
        while header := self._byte():
            number = number + (header >> 4) if header >> 4 else self._integer()
            kind = header & 15
            inner = wanted.get(number)
            value = None if kind in (_TRUE, _FALSE) else self._value(kind, inner, depth)
            if inner is not None:
                found[number] = value
        return found

    def _value(self, kind: int, wanted: _Wanted | None, depth: int) -> Any:
        if kind in _INTEGERS:
            return self._integer()
        if kind == _BINARY:
            return self._take(self._unsigned())
        if kind == _STRUCT:
            return self.struct(wanted or {}, depth + 1)
        if kind in _LISTS:
            header = self._byte()
            size = header >> 4 if header >> 4 < 15 else self._unsigned()
            values = (self._value(header & 15, wanted, depth + 1) for _ in range(self._fits(size)))
            return list(values) if wanted is not None else deque(values, maxlen=0)
        if kind == _MAP:
            size = self._fits(self._unsigned())
            kinds = self._byte() if size else 0
            for _ in range(size):
                self._value(kinds >> 4, None, depth + 1)
                self._value(kinds & 15, None, depth + 1)
            return None
        if kind in (_TRUE, _FALSE, _BYTE):
            return self._byte()
        if kind in (_DOUBLE, _UUID):
            return self._take(8 if kind == _DOUBLE else 16)
        raise ValueError(f"the footer holds a value of kind {kind}")

    def _fits(self, size: int) -> int:
        if size > len(self._data) - self._at:
            raise ValueError("the footer is cut")
        return size

    def _byte(self) -> int:
        value = self._data[self._at]
        self._at += 1
        return value

    def _take(self, size: int) -> bytes:
        start = self._at
        self._at += self._fits(size)
        return self._data[start : self._at]

    def _unsigned(self) -> int:
        value = shift = 0
        while True:
            byte = self._byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise ValueError("the footer holds a number of more than ten bytes")

    def _integer(self) -> int:
        value = self._unsigned()
        return (value >> 1) ^ -(value & 1)
