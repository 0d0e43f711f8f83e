"""Members of a zip archive, stored, deflated or compressed by zstd (method 93), which Python reads from 3.14 on.

Nothing is written to disk, so names need not be trusted; what a member expands to is bounded.
"""

from __future__ import annotations

import os
import struct
import zipfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import IO

import zstandard

from trajlab.sources.streams import MAX_EXPANSION, MAX_RECORD_BYTES

_STORED, _DEFLATED, _ZSTD = 0, 8, 93
_LOCAL_HEADER = struct.Struct("<4sHHHHHIIIHH")
_ENCRYPTED = 0x1
_STEP_BYTES = 1 << 20
_ALWAYS_ALLOWED = 16 << 20
"""A member may expand to this, whatever its ratio."""
_ZSTD_WINDOW_BYTES = 256 << 20


class ZipMembers:
    """An open archive.

    Attributes:
        names: Names of the members, in the order of the directory; of equal names the last counts.
    """

    def __init__(self, path: str) -> None:
        """Open it.

        Raises:
            ValueError: It is no zip archive, or its directory is damaged.
            OSError: It cannot be read.
        """
        try:
            with zipfile.ZipFile(path) as archive:
                self._members = {info.filename: info for info in archive.infolist()}
        except (zipfile.BadZipFile, ValueError, NotImplementedError, struct.error, EOFError) as error:
            raise ValueError(f"the archive's directory is damaged: {error}") from None
        self._file: IO[bytes] = Path(path).open("rb")  # noqa: SIM115 - closed by close
        self._size = os.fstat(self._file.fileno()).st_size
        self._zstd = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES)
        self.names = tuple(self._members)

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __enter__(self) -> ZipMembers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def read(self, name: str, limit: int = MAX_RECORD_BYTES) -> bytes:
        """The member's bytes.

        Raises:
            ValueError: It is damaged, encrypted, longer than ``limit``, or compressed in another way.
        """
        info = self._members[name]
        if info.flag_bits & _ENCRYPTED:
            raise ValueError("the member is encrypted")
        allowed = min(limit, max(_ALWAYS_ALLOWED, MAX_EXPANSION * info.compress_size))
        raw = self._raw(info)
        try:
            data = self._expanded(raw, info.compress_type, allowed)
        except (zlib.error, zstandard.ZstdError) as error:
            raise ValueError(f"the member is damaged: {error}") from None
        if zlib.crc32(data) != info.CRC:
            raise ValueError("the member is damaged: its checksum differs")
        return data

    def _raw(self, info: zipfile.ZipInfo) -> bytes:
        self._file.seek(info.header_offset)
        header = self._file.read(_LOCAL_HEADER.size)
        if len(header) < _LOCAL_HEADER.size or not header.startswith(b"PK\x03\x04"):
            raise ValueError("the member is damaged: it does not begin where the directory says")
        names, extra = _LOCAL_HEADER.unpack(header)[-2:]
        begin = self._file.seek(names + extra, 1)
        if info.compress_size > self._size - begin:
            raise ValueError("the member is cut short")
        return self._file.read(info.compress_size)

    def _expanded(self, raw: bytes, method: int, allowed: int) -> bytes:
        if method == _STORED:
            return _within(raw, allowed)
        if method == _DEFLATED:
            return _within(zlib.decompressobj(-zlib.MAX_WBITS).decompress(raw, allowed + 1), allowed)
        if method != _ZSTD:
            raise ValueError(f"the member is compressed by method {method}, which is not read")
        pieces: list[bytes] = []
        size = 0
        with self._zstd.stream_reader(raw, read_across_frames=True) as stream:
            while piece := stream.read(_STEP_BYTES):
                size += len(piece)
                pieces.append(piece)
                if size > allowed:
                    break
        return _within(b"".join(pieces), allowed)


def _within(data: bytes, allowed: int) -> bytes:
    if len(data) > allowed:
        raise ValueError(f"the member expands to more than {allowed:,} bytes")
    return data
