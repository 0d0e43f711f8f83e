"""Reading files safely and at disk speed: lines, whole documents.

What all of it needs is in :mod:`trajlab.sources.streams`, the cutting of huge JSON lists in
:mod:`trajlab.sources.elements`, rows of Parquet in :mod:`trajlab.sources.parquet_rows`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator
from io import BufferedReader, FileIO
from pathlib import Path
from typing import IO

from trajlab.records import Problem
from trajlab.sources.elements import concatenated, elements
from trajlab.sources.files import Bundle, SourceFile
from trajlab.sources.parquet_rows import parquet_rows
from trajlab.sources.streams import (
    MAX_RECORD_BYTES,
    Line,
    chunks,
    compression_at_start,
    compression_of,
    unreadable,
)

__all__ = [
    "Line", "concatenated", "cut", "document", "elements", "line_length", "line_views", "lines", "parquet_rows",
    "unreadable",
]  # fmt: skip

MAX_DOCUMENT_BYTES = 2 << 30
BUFFER_BYTES = 1 << 20
SMALL_BYTES = 64 << 10
_OPEN_FLAGS = os.O_RDONLY | getattr(os, "O_BINARY", 0)
_WINDOW_BYTES = 1 << 20
_NEWLINE = 10
_SPACES = b" \t\r\n\v\f"
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_LONG_LINE_BYTES = 16 << 20
"""Up to here a line is just read; beyond, its end is looked for first."""
_BLANK_LINES = re.compile(rb"[ \t\r\n]*\n")


def lines(
    bundle: Bundle, problems: list[Problem], max_record_bytes: int = MAX_RECORD_BYTES, *, blank: bool = False
) -> Iterator[Line]:
    r"""Lines of the bundle's file that start in ``[bundle.start, bundle.end)``.

    Split on ``\n`` only: text in JSON lines may hold U+0085 and U+2028 unescaped. Offsets, and the
    bundle's ends, are those of the decompressed file. A line longer than ``max_record_bytes`` is passed
    over with a problem ``record_too_large``.

    Args:
        bundle: Of one file.
        problems: Gets what could not be read.
        max_record_bytes: Of a line.
        blank: Whether blank lines come, too. Of an archive several that follow each other come as one, with the
            number of the last.
    """
    try:
        buffer = BUFFER_BYTES if bundle.file.size > SMALL_BYTES else SMALL_BYTES
        with BufferedReader(FileIO(bundle.file.path), buffer) as file:
            compression = compression_at_start(file)
            if compression is None:
                yield from _plain_lines(file, bundle.start, 0, bundle.end, problems, max_record_bytes, blank)
            else:
                pieces = chunks(file, compression, problems, BUFFER_BYTES)
                yield from _split_lines(pieces, bundle, problems, max_record_bytes, blank)
    except OSError as error:
        problems.append(unreadable(error))


def line_length(file: SourceFile, offset: int) -> int:
    """Bytes of the line of a plain file that starts at ``offset``, its newline included; 0 where none does."""
    try:
        with Path(file.path).open("rb") as stream:
            stream.seek(offset)
            return len(stream.readline(MAX_RECORD_BYTES))
    except OSError:
        return 0


def line_views(bundle: Bundle, problems: list[Problem], window_bytes: int = _WINDOW_BYTES) -> Iterator[Line]:
    """:func:`lines` for decoders: the data of a line may be a view of memory that the next line overwrites."""
    place: tuple[int, int] | None = None
    try:
        with Path(bundle.file.path).open("rb", buffering=0) as file:
            is_plain = compression_at_start(file) is None
            if is_plain:
                place = yield from _viewed_lines(file, bundle, window_bytes)
        if place is not None:
            with Path(bundle.file.path).open("rb", buffering=BUFFER_BYTES) as whole:
                yield from _plain_lines(whole, *place, bundle.end, problems, MAX_RECORD_BYTES)
    except OSError as error:
        problems.append(unreadable(error))
        return
    if not is_plain:
        yield from lines(bundle, problems)


def _viewed_lines(file: FileIO, bundle: Bundle, window_bytes: int) -> Generator[Line, None, tuple[int, int] | None]:
    """Lines up to one that is longer than the window: its offset, and the number of lines before it."""
    offset, number = bundle.start, 0
    window = _Window(file, offset, window_bytes)
    while bundle.end is None or offset < bundle.end:
        data = window.line()
        if data is None:
            return offset, number
        size = len(data)
        if not size:
            return None
        number += 1
        finished = data[-1] == _NEWLINE
        if not offset and data[:3] == _BYTE_ORDER_MARK:
            data = data[3:]
        if data and not (data[0] in _SPACES and bytes(data).isspace()):
            yield Line(data, offset, number, finished)  # type: ignore[arg-type]
        offset += size
    return None


class _Window:
    """A piece of memory that slides over a file."""

    def __init__(self, file: FileIO, offset: int, size: int) -> None:
        file.seek(offset)
        self._read_into = file.readinto
        self._data = bytearray(size)
        self._view = memoryview(self._data)
        self._start = self._end = 0

    def line(self) -> memoryview | None:
        """The next line with its newline; empty at the file's end; ``None`` where it is longer than the window."""
        start, end, view = self._start, self._end, self._view
        newline = self._data.find(_NEWLINE, start, end)
        if newline < 0:
            looked = end - start
            view[:looked] = view[start:end]
            start, end = 0, looked
            while newline < 0:
                if end == len(view):
                    return None
                read = self._read_into(view[end:])
                if not read:
                    newline = end - 1
                    break
                newline = self._data.find(_NEWLINE, end, end + read)
                end += read
        self._start, self._end = newline + 1, end
        return view[start : newline + 1]


def _too_large(number: int, offset: int, size: int, limit: int) -> Problem:
    message = f"a line of {size} bytes is longer than {limit}; skipped"
    return Problem("record_too_large", message, line=number, offset=offset)


def _plain_lines(
    file: IO[bytes],
    offset: int,
    number: int,
    end: int | None,
    problems: list[Problem],
    limit: int,
    blank: bool = False,
) -> Iterator[Line]:
    """Lines from ``offset`` on, before which ``number`` lines were read."""
    file.seek(offset)
    readline = file.readline
    first_look = min(_LONG_LINE_BYTES, limit)
    while end is None or offset < end:
        data = readline(first_look)
        if not data:
            return
        number += 1
        size = len(data)
        finished = data[-1] == _NEWLINE
        if size == first_look and not finished:
            size, finished = _line_extent(file, size)
            if size - finished > limit:
                problems.append(_too_large(number, offset, size, limit))
                offset += size
                continue
            file.seek(offset)
            data = readline(size)
        line = _line(data, offset, number, finished, blank)
        if line is not None:
            yield line
        offset += size


def _line_extent(file: IO[bytes], size: int) -> tuple[int, bool]:
    """(bytes of the line whose first ``size`` were read, whether a newline ends it); moves to its end."""
    while piece := file.readline(BUFFER_BYTES):
        size += len(piece)
        if piece[-1] == _NEWLINE:
            return size, True
    return size, False


def _line(data: bytes, offset: int, number: int, finished: bool, blank: bool) -> Line | None:
    """A line; ``None`` for a blank one that is not wanted. The newline stays: cutting it off would copy the line."""
    if not offset:
        data = data.removeprefix(_BYTE_ORDER_MARK)
    if not data or (not blank and data.isspace()):
        return None
    return Line(data, offset, number, finished)


def _split_lines(
    pieces: Iterator[bytes], bundle: Bundle, problems: list[Problem], limit: int, blank: bool = False
) -> Iterator[Line]:
    """Lines of a stream that cannot seek."""
    number = 0
    for offset, data, size, finished, count in _assembled(pieces, limit):
        if bundle.end is not None and offset >= bundle.end:
            return
        if offset < bundle.start:
            continue
        number += count
        if count > 1 and not blank:
            continue
        if count == 1 and size - finished > limit:
            problems.append(_too_large(number, offset, size, limit))
            continue
        line = _line(data, offset, number, finished, blank)
        if line is not None:
            yield line


def _assembled(pieces: Iterator[bytes], limit: int) -> Iterator[tuple[int, bytes, int, bool, int]]:
    """(offset, bytes, size, whether a newline ends it, 1) of each line; no bytes for one that is too long.

    Blank lines that follow each other come as one, with how many: a small archive may hold millions.
    """
    offset = size = 0
    held: list[bytes] = []
    for piece in pieces:
        at = 0
        while (newline := piece.find(b"\n", at)) >= 0:
            if not size and newline - at < 2 and (blank := _BLANK_LINES.match(piece, at)):
                lines_in_it = piece.count(b"\n", at, blank.end())
                if lines_in_it > 1:
                    yield offset, piece[at : blank.end()], blank.end() - at, True, lines_in_it
                    offset += blank.end() - at
                    at = blank.end()
                    continue
            held.append(piece[at : newline + 1])
            size += newline + 1 - at
            at = newline + 1
            yield offset, b"".join(held) if size <= limit + 1 else b"", size, True, 1
            held.clear()
            offset += size
            size = 0
        size += len(piece) - at
        if size <= limit:
            held.append(piece[at:])
        else:
            held.clear()
    if size:
        yield offset, b"".join(held), size, False, 1


def document(source: Bundle | SourceFile, problems: list[Problem]) -> bytes:
    """The whole decompressed file without a byte order mark; ``b""`` and a problem where it cannot be had.

    A damaged archive gives what can be read. The limit is :data:`MAX_DOCUMENT_BYTES`.
    """
    file = source.file if isinstance(source, Bundle) else source
    try:
        data = _small_document(file.path, file.size)
        if data is None:
            data = _long_document(file.path, problems)
    except OSError as error:
        problems.append(unreadable(error))
        return b""
    return data.removeprefix(_BYTE_ORDER_MARK)


def _small_document(path: str, size: int) -> bytes | None:
    """The bytes of a small plain file, as long as it was found or not; ``None`` for any other.

    Trees of logs hold thousands of them: nothing is asked of the system that need not be.
    """
    descriptor = os.open(path, _OPEN_FLAGS)
    try:
        data = os.read(descriptor, SMALL_BYTES)
        whole = len(data) < SMALL_BYTES and (len(data) == size or not os.read(descriptor, 1))
    finally:
        os.close(descriptor)
    return data if whole and compression_of(data) is None else None


def _long_document(path: str, problems: list[Problem]) -> bytes:
    pieces: list[bytes] = []
    size = 0
    with Path(path).open("rb", buffering=0) as stream:
        compression = compression_at_start(stream)
        step = MAX_DOCUMENT_BYTES + 1 if compression is None else BUFFER_BYTES
        step = min(step, max(os.fstat(stream.fileno()).st_size, 1))
        for piece in chunks(stream, compression, problems, step):
            size += len(piece)
            if size > MAX_DOCUMENT_BYTES:
                problems.append(Problem("record_too_large", f"longer than {MAX_DOCUMENT_BYTES} bytes; not read"))
                return b""
            pieces.append(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def cut(file: SourceFile, target: int = 64 << 20) -> list[tuple[int, int]]:
    """Byte ranges of an uncompressed file of lines, each of about ``target`` bytes.

    Cuts stand just after the first newline at or behind each multiple of ``target``: they do not move
    when the file grows at its end, so only the last range changes.
    """
    if file.size == 0:
        return []
    cuts = [0]
    try:
        with Path(file.path).open("rb", buffering=0) as stream:
            multiple = target
            while multiple < file.size:
                boundary = _after_newline(stream, multiple - 1, file.size)
                if boundary is None or boundary >= file.size:
                    break
                cuts.append(boundary)
                multiple = (boundary // target + 1) * target
    except OSError:
        return [(0, file.size)]  # reading it will report the same error
    return list(zip(cuts, [*cuts[1:], file.size], strict=True))


def _after_newline(stream: IO[bytes], position: int, size: int) -> int | None:
    stream.seek(position)
    while position < size:
        piece = stream.read(1 << 16)
        if not piece:
            return None
        newline = piece.find(b"\n")
        if newline >= 0:
            return position + newline + 1
        position += len(piece)
    return None
