"""What a recogniser may ask about a file: names, first bytes, shape, keys, first records."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import cached_property, lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

from trajlab.records import Problem
from trajlab.sources.files import Bundle, SourceFile
from trajlab.sources.object_keys import object_keys
from trajlab.sources.reading import concatenated, document, elements, lines, parquet_rows, unreadable
from trajlab.sources.safe_json import loads
from trajlab.sources.streams import chunks, compression_of

HEAD_BYTES = 64 << 10
TAIL_BYTES = 4 << 10
RECORDS = 5
_LINE_SUFFIXES = (".jsonl", ".ndjson")
_COMPRESSION_SUFFIXES = (".gz", ".zst", ".zstd", ".xz")
_FIRST_SCALAR_BYTES = 1024
_LONGEST_FIRST_LINE = 16 << 20
_SCANNED_BYTES = 64 << 20
"""A larger object is scanned for its keys, not read."""
_PROBE_CHUNK_BYTES = 256 << 10
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class Probe:
    """A look at one file, as lazy as possible; never raises for what the file holds.

    Attributes:
        file: What is looked at.
        name: The file's name.
        relpath: Its path below the root.
        problems: What went wrong while looking.
    """

    def __init__(self, file: SourceFile, most_records: int = RECORDS) -> None:
        self.file = file
        self._most_records = most_records
        self.relpath = file.relpath
        self.name = file.relpath.rpartition("/")[2]
        self.problems: list[Problem] = []
        self._error: OSError | None = None

    @property
    def parent_name(self) -> str:
        """Name of the folder the file is in."""
        return os.path.basename(os.path.dirname(self.file.path))  # noqa: PTH119, PTH120 - asked for every file

    @cached_property
    def siblings(self) -> frozenset[str]:
        """Names in the file's folder, its own included; empty where it cannot be listed."""
        folder = os.path.dirname(self.file.path)  # noqa: PTH120 - asked for every file
        try:
            return _names_in(folder, os.stat(folder).st_mtime_ns)  # noqa: PTH116
        except OSError:
            return frozenset()

    @property
    def error(self) -> OSError | None:
        """Why the file could not be opened or read."""
        _ = self._ends
        return self._error

    @property
    def compression(self) -> str | None:
        """``gzip``, ``zstd``, ``xz`` or ``None``, by content."""
        return self._ends[2]

    @property
    def head(self) -> bytes:
        """The first 64 KiB, decompressed."""
        return self._ends[0]

    @property
    def tail(self) -> bytes:
        """The last 4 KiB; empty where the file is compressed."""
        return self._ends[1]

    @cached_property
    def _ends(self) -> tuple[bytes, bytes, str | None]:
        try:
            descriptor = os.open(self.file.path, os.O_RDONLY | getattr(os, "O_BINARY", 0))
            try:
                return self._read_ends(descriptor)
            finally:
                os.close(descriptor)
        except OSError as error:
            self._error = error
            return b"", b"", None

    def _read_ends(self, descriptor: int) -> tuple[bytes, bytes, str | None]:
        head = os.read(descriptor, HEAD_BYTES)
        compression = compression_of(head)
        if compression is not None:
            return self._decompressed_head(compression), b"", compression
        if len(head) < HEAD_BYTES:
            return head, head[-TAIL_BYTES:], None
        size = os.lseek(descriptor, 0, os.SEEK_END)
        os.lseek(descriptor, max(size - TAIL_BYTES, 0), os.SEEK_SET)
        return head, os.read(descriptor, TAIL_BYTES), None

    def _decompressed_head(self, compression: str) -> bytes:
        head = bytearray()
        with Path(self.file.path).open("rb", buffering=0) as stream:
            for piece in chunks(stream, compression, self.problems, HEAD_BYTES):
                head += piece
                if len(head) >= HEAD_BYTES:
                    break
        return bytes(head[:HEAD_BYTES])

    @cached_property
    def shape(self) -> str:
        """How the content is built.

        ``object`` or ``list`` (one JSON document), ``lines`` (JSON lines), ``parquet``, ``zip``, ``empty``
        (nothing but whitespace), ``text`` (anything else) or ``unreadable``.
        """
        if self.error is not None:
            return "unreadable"
        head = self.head
        if head.startswith(b"PAR1"):
            return "parquet"
        if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
            return "zip"
        text = head.removeprefix(_BYTE_ORDER_MARK).lstrip()
        if not text and len(head) < HEAD_BYTES:
            return "empty"
        if self._named_as_lines():
            return "lines"
        if text.startswith(b"["):
            return "list" if _starts_list(text) else "text"
        if not text.startswith(b"{"):
            return "text"
        return "lines" if self._second_line_is_object(text) else "object"

    def _named_as_lines(self) -> bool:
        name, suffix = os.path.splitext(self.name.lower())  # noqa: PTH122 - asked for every file
        if suffix in _COMPRESSION_SUFFIXES:
            suffix = os.path.splitext(name)[1]  # noqa: PTH122
        return suffix in _LINE_SUFFIXES

    def _second_line_is_object(self, text: bytes) -> bool:
        """Whether the first line is a whole object and a further one starts; ``text`` starts with it."""
        first, newline, rest = text.partition(b"\n")
        if not newline and len(self.head) >= HEAD_BYTES and self.compression is None:
            first, rest = self._long_first_line()
        if not first.rstrip().endswith(b"}") or not rest.lstrip().startswith(b"{"):
            return False
        try:
            return isinstance(loads(first).value, dict)
        except ValueError:
            return False

    def _long_first_line(self) -> tuple[bytes, bytes]:
        try:
            with Path(self.file.path).open("rb", buffering=1 << 20) as stream:
                first = stream.readline(_LONGEST_FIRST_LINE)
                return first.removeprefix(_BYTE_ORDER_MARK), stream.read(64)
        except OSError as error:
            self.problems.append(unreadable(error))
            return b"", b""

    @cached_property
    def keys(self) -> frozenset[str]:
        """Top-level keys of an object document, or of the first of its lines; empty for anything else.

        All of them, wherever they stand; of a damaged document those that can be told.
        """
        if self.shape == "lines":
            first = self.records[0] if self.records else None
            return frozenset(first) if isinstance(first, dict) else frozenset()
        if self.shape != "object":
            return frozenset()
        if (found := self._small_object) is not None:
            return frozenset(found)
        if self.file.size <= _SCANNED_BYTES and self.compression is None:
            try:
                data = document(self.file, self.problems)
                return frozenset(msgspec.json.decode(data, type=dict[str, msgspec.Raw]))
            except (ValueError, RecursionError):
                pass  # the scan below reads what strict JSON is not
        return frozenset(object_keys(self.file, self.problems))

    @cached_property
    def _small_object(self) -> dict[str, Any] | None:
        """The object of a document of strict JSON that the head holds whole: read and decoded once."""
        if len(self.head) >= HEAD_BYTES or self.compression is not None:
            return None
        try:
            found = msgspec.json.decode(self.head.removeprefix(_BYTE_ORDER_MARK))
        except (ValueError, RecursionError):
            return None
        return found if isinstance(found, dict) else None

    @cached_property
    def records(self) -> tuple[Any, ...]:
        """The first records decoded, at most five.

        Of lines, list elements and Parquet rows those that can be read; of an object document the
        object, or, where several follow each other, the first of them.
        """
        if self.shape == "object":
            return self._objects()
        return tuple(islice(self._decoded(), self._most_records))

    def _objects(self) -> tuple[Any, ...]:
        if (small := self._small_object) is not None:
            return (small,)
        try:
            return (loads(document(self.file, self.problems)).value,)
        except ValueError as error:
            raw = concatenated(Bundle("", "", (self.file,)), [], _PROBE_CHUNK_BYTES)
            found = tuple(self._loaded(line.data) for line in islice(raw, RECORDS))
            if not found:
                self.problems.append(Problem("not_json", str(error)))
            return tuple(value for value in found if value is not None)

    def _decoded(self) -> Iterator[Any]:
        bundle = Bundle("", "", (self.file,))
        if self.shape == "parquet":
            yield from parquet_rows(bundle, self.problems)
        if self.shape not in ("lines", "list"):
            return
        if self.shape == "lines":
            raw = lines(bundle, self.problems)
        else:
            raw = elements(bundle, self.problems, _PROBE_CHUNK_BYTES)
        for line in islice(raw, 4 * RECORDS):
            value = self._loaded(line.data)
            if value is not None:
                yield value

    def _loaded(self, data: bytes) -> Any:
        try:
            return loads(data).value
        except ValueError as error:
            self.problems.append(Problem("not_json", str(error)))
            return None

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Parquet column names; empty for anything else, and for a damaged file."""
        if self.shape != "parquet":
            return ()
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            return tuple(pq.read_schema(self.file.path).names)
        except (OSError, ValueError, pa.ArrowException) as error:  # ValueError: names that are no UTF-8
            self.problems.append(Problem("unreadable", f"Parquet cannot be read: {error}"))
            return ()


def _starts_list(text: bytes) -> bool:
    """Tell a JSON list from a log line such as ``[INFO] …`` or ``[2025-01-01 10:00:00] …``."""
    inside = text[1 : 1 + _FIRST_SCALAR_BYTES].lstrip()
    if not inside:
        return len(text) > _FIRST_SCALAR_BYTES
    if inside.startswith((b"{", b"[", b"]", b'"')):
        return True
    try:
        loads(inside.partition(b",")[0].partition(b"]")[0])
    except ValueError:
        return False
    return True


@lru_cache(maxsize=64)
def _names_in(folder: str, mtime_ns: int) -> frozenset[str]:
    """Names in a folder; ``mtime_ns`` is part of the key, so that a changed folder is listed anew."""
    return frozenset(entry.name for entry in os.scandir(folder))
