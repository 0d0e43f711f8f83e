"""Broken copies of tables and event files: Parquet, CSV, TensorBoard."""

from __future__ import annotations

import csv
import io
import json
import struct
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from chance import Chance
from mutants import HOSTILE_LITERALS, HOSTILE_TEXTS, SURROGATES, change_bytes, change_value

from trajlab.sources.event_files import masked_crc

_HEADER = struct.Struct("<QI")
_CRC = struct.Struct("<I")


def rows_of_lines(data: bytes) -> list[Any]:
    """Records of a line file; none where they are no objects."""
    try:
        rows = [json.loads(line) for line in data.splitlines() if line.strip()]
    except (ValueError, RecursionError):
        return []
    return rows if all(isinstance(row, dict) for row in rows) else []


def rows_of_parquet(data: bytes) -> list[Any]:
    """Rows of a Parquet file."""
    return list(pq.read_table(io.BytesIO(data)).to_pylist())


def as_parquet(rows: list[Any], rng: Chance) -> bytes | None:
    """Rows as Parquet, some columns retyped; ``None`` where Arrow cannot hold them."""
    if not rows:
        return None
    try:
        table = pa.Table.from_pylist([change_value(row, rng) if rng.random() < 0.3 else row for row in rows])
        if rng.random() < 0.8:
            table = _odd_columns(table, rng)
        sink = io.BytesIO()
        packing = "zstd" if "bomb" in rng.kinds else rng.choice(("snappy", "gzip", "zstd", "none"))
        pq.write_table(table, sink, row_group_size=rng.choice((1, 3, 1000)), compression=packing)
    except (ValueError, TypeError, OverflowError, RecursionError, pa.ArrowException):
        return None
    return sink.getvalue() if rng.random() < 0.6 else change_bytes(sink.getvalue(), rng)


def _nested_column(rows: int, depth: int) -> pa.Array:
    column = pa.array(["bottom"] * rows)
    for level in range(depth):
        if level % 2:
            column = pa.StructArray.from_arrays([column], ["content"])
        else:
            column = pa.ListArray.from_arrays(pa.array(range(rows + 1), pa.int32()), column)
    return column


def _odd_column(what: str, rows: int, rng: Chance) -> pa.Array:
    pairs = pa.map_(pa.string(), pa.int64())
    if what == "bomb":  # one text in a dictionary page, however many rows have it
        return pa.array(["a" * (16 << 20)] * min(rows, 6) + [""] * max(rows - 6, 0))
    if what == "deep nesting":
        return _nested_column(rows, rng.choice((10, 50, 90)))
    if what == "huge number":
        times = (pa.array([2**62] * rows, pa.timestamp("ns")), pa.array([253402300800] * rows, pa.timestamp("s")))
        spans = (pa.array([2**63 - 1] * rows, pa.duration("us")), pa.array([2**64 - 1] * rows, pa.uint64()))
        return rng.choice((*times, *spans, pa.array([float("inf")] * rows)))
    return rng.choice(
        (
            pa.nulls(rows),
            pa.array(["a"] * rows).dictionary_encode(),
            pa.array([b"\xff\x00"] * rows),
            pa.array([[("k", 1)]] * rows, pairs),
            pa.array([[("k", 1), ("k", 2)]] * rows, pairs),
            pa.array([[]] * rows, pa.list_(pa.null())),
            pa.array([{"a": None}] * rows),
        )
    )


def _odd_columns(table: pa.Table, rng: Chance) -> pa.Table:
    what = "bomb" if rng.random() < 0.05 else rng.choice(("wrong type", "huge number", "deep nesting"))
    column = rng.told(what, _odd_column(what, table.num_rows, rng))
    if rng.random() < 0.5:
        place = rng.randrange(table.num_columns)
        return table.set_column(place, table.column_names[place], column)
    return table.append_column(rng.choice((table.column_names[0], "reward", "odd")), column)


def change_csv(data: bytes, rng: Chance) -> bytes:
    """Cells changed, dropped or added, columns repeated or very many, quotes left open, lines torn."""
    text = data.decode("utf-8", "replace")
    rows = list(csv.reader(io.StringIO(text)))
    number = rng.randrange(len(rows))
    row = rows[number]
    place = rng.randrange(len(row)) if row else 0
    kind = rng.randrange(9)
    if kind < 3:
        row[place : place + 1] = [_cell(rng)]
    elif kind == 3:
        del row[place:]
        rng.told("cut", None)
    elif kind == 4:
        row += rng.told("repeated", row[:] * rng.choice((1, 3000)))
    elif kind == 5:
        for other in rows:
            other += rng.told("repeated", [str(cell) for cell in other[:1] * 6000])
    elif kind == 6:
        rows.insert(number, rng.told("repeated", rows[0]))
    lines = [",".join(_quoted(cell) for cell in other) for other in rows]
    if kind == 7:
        lines[number] = rng.told("put in", rng.choice(('"' + lines[number], lines[number] + '"', "\0" + lines[number])))
    elif kind == 8:
        lines[number] = rng.told("bomb", lines[number] + "," + "9" * (8 << 20))
    return "\n".join([*lines, ""]).encode("utf-8", "surrogatepass")


def _cell(rng: Chance) -> str:
    kind = rng.randrange(4)
    if kind == 0:
        return rng.told("hostile text", rng.choice(HOSTILE_TEXTS))
    if kind == 1:
        return rng.told("lone surrogate", rng.choice(SURROGATES))
    if kind == 2:
        return rng.told(
            "huge number", rng.choice(("9" * 400, "-1e999", "1e308", str(2**64), "0x7fffffffffffffff", "1_000"))
        )
    return rng.told("wrong type", rng.choice(HOSTILE_LITERALS))


def _quoted(cell: str) -> str:
    return '"' + cell.replace('"', '""') + '"' if any(mark in cell for mark in ',"\n\r') else cell


def change_events(data: bytes, rng: Chance) -> bytes:
    """Records of an event file broken, repeated, or written anew with checksums that fit what no writer writes."""
    records = _records(data)
    number = rng.randrange(1, len(records)) if len(records) > 1 else 0
    kind = rng.randrange(7)
    if kind == 0:
        records[number] = change_bytes(records[number], rng)
    elif kind == 1:
        records.insert(number, rng.told("repeated", records[rng.randrange(len(records))]))
    elif kind == 2:
        del records[number]
        rng.told("removed", None)
    elif kind == 3:
        records[number] = (
            _varint_field(2, rng.told("huge number", rng.choice((2**63 - 1, 2**63, 2**64 - 1)))) + records[number]
        )
    elif kind == 4:
        records[number] = _odd_event(rng)
    else:
        whole = [_record(one) for one in records]
        length = rng.told("huge number", rng.choice((1 << 20, 1 << 40, (1 << 63) - 1, (1 << 64) - 1)))
        lying = struct.pack("<Q", length)
        whole[number] = lying + _CRC.pack(masked_crc(lying)) + records[number]
        return b"".join(whole)
    return b"".join(_record(one) for one in records)


def _records(data: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(data):
        length = _HEADER.unpack_from(data, at)[0]
        found.append(data[at + _HEADER.size : at + _HEADER.size + length])
        at += _HEADER.size + length + _CRC.size
    return found


def _record(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    return length + _CRC.pack(masked_crc(length)) + data + _CRC.pack(masked_crc(data))


def _varint(value: int) -> bytes:
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*out, value))


def _varint_field(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _field(number: int, value: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(value)) + value


def _odd_event(rng: Chance) -> bytes:
    """An event with one value: its tag, its number or its text is odd, or it is nested where nothing nests."""
    tag = rng.choice(HOSTILE_TEXTS).encode("utf-8", "surrogatepass")
    scalar = _varint(2 << 3 | 5) + struct.pack("<f", rng.choice((float("nan"), float("inf"), -3.4e38, 1e-45)))
    text = _field(
        8,
        _varint_field(1, 7)
        + _field(8, rng.told("hostile text", rng.choice(HOSTILE_TEXTS)).encode("utf-8", "surrogatepass")),
    )
    inner = rng.choice(
        (
            _field(1, tag) + scalar,
            _field(1, tag) + text,
            _field(1, rng.told("lone surrogate", b"\xed\xa0\x80")) + scalar,
        )
    )
    if rng.random() < 0.3:
        for _ in range(rng.told("deep nesting", 3000)):
            inner = _field(1, inner)
    if rng.random() < 0.2:
        return _varint_field(2, 5) + _varint(5 << 3 | 2) + rng.told("huge number", b"\xff" * 2000)
    return _varint_field(2, rng.randrange(9)) + _field(5, _field(1, inner))
