"""TensorBoard event files: TFRecords of ``Event`` messages, read by their wire format, without TensorFlow.

Layouts: ``tensorflow/core/lib/io/record_writer.h`` (length, its masked CRC-32C, data, its masked CRC-32C),
``tensorflow/core/util/event.proto``, ``framework/summary.proto`` and ``framework/tensor.proto``. Only scalars and texts
are taken; everything else is passed over by its length.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import IO

import msgspec

from trajlab.records import Problem
from trajlab.sources.files import SourceFile
from trajlab.sources.streams import unreadable

LONGEST_EVENT = 64 << 20
"""Bytes of an event that is read; images and graphs may be longer, and are not wanted."""
CHECKED_BYTES = 64 << 10
"""Up to here the data of an event are checked against their checksum; scalars are far shorter."""
VERSION = b"brain.Event:"
_HEADER = struct.Struct("<QI")
_CRC = struct.Struct("<I")
_MASK_DELTA = 0xA282EAD8
_FLOAT, _DOUBLE, _INT32, _STRING, _INT64 = 1, 2, 3, 7, 9
_POLYNOMIAL = 0x82F63B78
_SIXTY_FOUR_BITS = (1 << 64) - 1

Field = tuple[int, int, int | bytes]
"""(number, wire type, value) of a field; bytes for lengths and fixed widths."""


class Scalar(msgspec.Struct, frozen=True):
    """One number of one step."""

    step: int
    tag: str
    value: float
    record: int
    """Number of the record in the file."""
    is_single: bool
    """Whether it was stored as a 32-bit float: seven digits hold."""


class Text(msgspec.Struct, frozen=True):
    """One text of one step."""

    step: int
    tag: str
    text: str
    record: int


def is_event_file(head: bytes) -> bool:
    """Whether a file begins as an event file does: a record with the right checksum that names the version."""
    if len(head) < _HEADER.size or VERSION not in head[:256]:
        return False
    length, checksum = _HEADER.unpack_from(head)
    return bool(length < LONGEST_EVENT and masked_crc(head[:8]) == checksum)


def read_events(file: SourceFile, problems: list[Problem]) -> Iterator[Scalar | Text]:
    """Scalars and texts in the order of the file.

    A damaged record is a problem and passed over, as long as its length can be trusted; from a damaged length on the
    rest cannot be read. A file that is still written ends in a part of a record: told, too.
    """
    try:
        with Path(file.path).open("rb") as stream:
            yield from _records(stream, problems)
    except OSError as error:
        problems.append(unreadable(error))


def _records(stream: IO[bytes], problems: list[Problem]) -> Iterator[Scalar | Text]:
    offset = number = 0
    size = os.fstat(stream.fileno()).st_size
    while header := stream.read(_HEADER.size):
        number += 1
        if len(header) < _HEADER.size:
            problems.append(_cut(number, offset))
            return
        length, checksum = _HEADER.unpack(header)
        if masked_crc(header[:8]) != checksum:
            message = "the length of a record does not fit its checksum; the rest of the file cannot be read"
            problems.append(Problem("unreadable_record", message, number, offset))
            return
        behind = offset + _HEADER.size + length + _CRC.size
        if behind > size:
            problems.append(_cut(number, offset))
            return
        if length > LONGEST_EVENT:
            problems.append(Problem("record_too_large", f"a record of {length} bytes; passed over", number, offset))
            stream.seek(behind)
        else:
            data, checksum_of_data = stream.read(length), stream.read(_CRC.size)
            if len(checksum_of_data) < _CRC.size:
                problems.append(_cut(number, offset))
                return
            yield from _checked(data, checksum_of_data, number, offset, problems)
        offset = behind


def _cut(number: int, offset: int) -> Problem:
    return Problem("truncated", "the file ends within a record; it is read once it is whole", number, offset)


def _checked(
    data: bytes, checksum: bytes, number: int, offset: int, problems: list[Problem]
) -> Iterator[Scalar | Text]:
    if len(data) <= CHECKED_BYTES and masked_crc(data) != _CRC.unpack(checksum)[0]:
        problems.append(Problem("unreadable_record", "a record does not fit its checksum; not read", number, offset))
        return
    try:
        yield from list(_of_event(data, number))
    except (ValueError, IndexError, struct.error) as error:
        problems.append(Problem("unreadable_record", f"no event: {error}", number, offset))


def _of_event(data: bytes, number: int) -> Iterator[Scalar | Text]:
    step = 0
    summaries: list[bytes] = []
    for field, _, value in _fields(data):
        if field == 2 and isinstance(value, int):
            step = value - (1 << 64) if value >> 63 else value
        elif field == 5 and isinstance(value, bytes):
            summaries.append(value)
    for summary in summaries:
        for field, _, value in _fields(summary):
            if field == 1 and isinstance(value, bytes):
                yield from _of_value(value, step, number)


def _of_value(data: bytes, step: int, number: int) -> Iterator[Scalar | Text]:
    tag, plugin = "", b""
    for field, wire, value in _fields(data):
        if field == 1 and isinstance(value, bytes):
            tag = value.decode("utf-8", "replace")
        elif field == 9 and isinstance(value, bytes):
            plugin = _plugin(value)
        elif field == 2 and wire == 5 and isinstance(value, bytes):
            yield Scalar(step, tag, struct.unpack("<f", value)[0], number, is_single=True)
        elif field == 8 and isinstance(value, bytes):
            yield from _of_tensor(value, step, tag, number, plugin)


def _plugin(metadata: bytes) -> bytes:
    data = next((value for field, _, value in _fields(metadata) if field == 1), b"")
    name = next((v for field, _, v in _fields(data) if field == 1), b"") if isinstance(data, bytes) else b""
    return name if isinstance(name, bytes) else b""


def _of_tensor(data: bytes, step: int, tag: str, number: int, plugin: bytes) -> Iterator[Scalar | Text]:
    kind, content, held = 0, b"", b""
    texts: list[bytes] = []
    for field, _, value in _fields(data):
        if field == 1 and isinstance(value, int):
            kind = value
        elif field == 4 and isinstance(value, bytes):
            content = value
        elif field in (5, 6) and isinstance(value, bytes):
            held = value
        elif field == 8 and isinstance(value, bytes):
            texts.append(value)
    if kind == _STRING:
        for text in texts:
            yield Text(step, tag, text.decode("utf-8", "replace"), number)
        return
    width = {_FLOAT: "f", _DOUBLE: "d", _INT32: "i", _INT64: "q"}.get(kind)
    packed = content or (held if kind in (_FLOAT, _DOUBLE) else b"")
    if width is not None and plugin in (b"scalars", b"") and len(packed) == struct.calcsize(width):
        value = struct.unpack("<" + width, packed)[0]
        yield Scalar(step, tag, float(value), number, is_single=kind == _FLOAT)


def _fields(data: bytes) -> Iterator[Field]:
    at, end = 0, len(data)
    while at < end:
        key, at = _varint(data, at)
        number, wire = key >> 3, key & 7
        value: int | bytes
        if wire == 0:
            value, at = _varint(data, at)
        else:
            if wire == 2:
                size, at = _varint(data, at)
            else:
                size = {1: 8, 5: 4}.get(wire, -1)
            if size < 0 or at + size > end:
                raise ValueError(f"field {number} of wire type {wire} does not fit")
            value, at = data[at : at + size], at + size
        yield number, wire, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value & _SIXTY_FOUR_BITS, at  # as protobuf does: ten bytes hold seventy
        shift += 7
        if shift > 63:
            raise ValueError("a number of more than ten bytes")


def masked_crc(data: bytes) -> int:
    """CRC-32C (Castagnoli), rotated and shifted as TFRecords have it."""
    table = _crc_table()
    crc = 0xFFFFFFFF
    for byte in data:
        crc = table[(crc ^ byte) & 0xFF] ^ (crc >> 8)
    crc ^= 0xFFFFFFFF
    return (((crc >> 15) | (crc << 17)) + _MASK_DELTA) & 0xFFFFFFFF


@cache
def _crc_table() -> tuple[int, ...]:
    def entry(byte: int) -> int:
        for _ in range(8):
            byte = (byte >> 1) ^ (_POLYNOMIAL if byte & 1 else 0)
        return byte

    return tuple(entry(byte) for byte in range(256))
