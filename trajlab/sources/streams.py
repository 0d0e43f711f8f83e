"""Bytes of a file, decompressed on the way: gzip, zstd and xz, told by content and not by name."""

from __future__ import annotations

import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import IO, Protocol

import msgspec
import zstandard

from trajlab.records import Problem

MAX_RECORD_BYTES = 256 << 20
"""A longer record is skipped, with a problem."""
MAX_UNCHECKED_BYTES = 16 << 20
"""Output up to here is let through whatever its ratio."""
MAX_EXPANSION = 300
"""Beyond it, output per input byte: real logs reach 5 to 40, a bomb thousands."""
_STEP_BYTES = 64 << 10
"""Input and output of one step: what comes before damage within a step is lost."""
_ZSTD_FEED_BYTES = 4096
"""zstd has no output bound; a block of 128 KiB needs 4 bytes, so this much input gives at most 128 MiB."""
_ZSTD_WINDOW_BYTES = 256 << 20
"""Twice what the zstd tool takes without being told."""
_XZ_MEMORY_BYTES = 512 << 20

_ZSTD_SKIPPABLE = b"\x2a\x4d\x18"
_MAGIC = {b"\x1f\x8b\x08": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\x00": "xz"}


class Line(msgspec.Struct, gc=False):
    """One record's bytes.

    Attributes:
        data: A newline may end it; on the first line without a byte order mark.
        offset: Of its first byte in the (decompressed) file.
        number: 1-based, counted from the start of the slice, blank lines included.
        finished: A newline (an element: a separator) follows; a last line without one may still be
            complete, which only the JSON decoder can tell.
    """

    data: bytes
    offset: int
    number: int
    finished: bool = True


def unreadable(error: OSError) -> Problem:
    """The problem of a file that cannot be opened or read."""
    return Problem("unreadable", f"cannot be read: {error.strerror or error}")


def compression_of(head: bytes) -> str | None:
    """``gzip``, ``zstd``, ``xz`` or ``None``, by a file's first bytes."""
    for magic, name in _MAGIC.items():
        if head.startswith(magic):
            return name
    if head[1:4] == _ZSTD_SKIPPABLE and 0x50 <= head[0] <= 0x5F:
        return "zstd"
    return None


class _Decoder(Protocol):
    """One compressed member (gzip) or frame (zstd, xz)."""

    @property
    def eof(self) -> bool:
        """The member's end was seen."""

    @property
    def unused_data(self) -> bytes:
        """Input behind the member's end."""

    @property
    def hungry(self) -> bool:
        """Nothing comes without more input."""

    def decompress(self, data: bytes, /) -> bytes:
        """Decode what this input, and input kept back before, gives."""


class _Gzip:
    def __init__(self) -> None:
        self._inner = zlib.decompressobj(wbits=31)
        self._full = False

    def decompress(self, data: bytes) -> bytes:
        piece = self._inner.decompress(self._inner.unconsumed_tail + data, _STEP_BYTES)
        self._full = len(piece) == _STEP_BYTES
        return piece

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    @property
    def hungry(self) -> bool:
        return not self._full and not self._inner.unconsumed_tail


class _Xz:
    def __init__(self) -> None:
        self._inner = lzma.LZMADecompressor(memlimit=_XZ_MEMORY_BYTES)

    def decompress(self, data: bytes) -> bytes:
        return self._inner.decompress(data, _STEP_BYTES)

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    @property
    def hungry(self) -> bool:
        return self._inner.needs_input


class _Zstd:
    def __init__(self) -> None:
        self._inner = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW_BYTES).decompressobj()

    def decompress(self, data: bytes) -> bytes:
        return self._inner.decompress(data) if data else b""

    @property
    def eof(self) -> bool:
        return self._inner.eof

    @property
    def unused_data(self) -> bytes:
        return self._inner.unused_data

    @property
    def hungry(self) -> bool:
        return True


_DECODERS: dict[str, Callable[[], _Decoder]] = {"gzip": _Gzip, "xz": _Xz, "zstd": _Zstd}
_ERRORS = (zlib.error, lzma.LZMAError, zstandard.ZstdError, EOFError)


def compression_at_start(file: IO[bytes]) -> str | None:
    """:func:`compression_of` an open file; leaves it at its start."""
    head = file.read(8)
    file.seek(0)
    return compression_of(head)


def chunks(file: IO[bytes], compression: str | None, problems: list[Problem], size: int) -> Iterator[bytes]:
    """Decompressed pieces of ``file``; about ``size`` bytes each where it is not compressed.

    Damaged input gives what can be read and then a problem ``truncated_archive``; one that expands
    more than :data:`MAX_EXPANSION` times beyond :data:`MAX_UNCHECKED_BYTES` stops with
    ``expansion_limit``.
    """
    if compression is None:
        while piece := file.read(size):
            yield piece
        return
    taken = given = 0
    for read, piece in _decoded(file, compression, problems):
        taken += read
        given += len(piece)
        if given > MAX_UNCHECKED_BYTES and given > MAX_EXPANSION * taken:
            message = f"{compression} data expands more than {MAX_EXPANSION} times; the rest is not read"
            problems.append(Problem("expansion_limit", message, offset=given))
            return
        if piece:
            yield piece


def _decoded(file: IO[bytes], compression: str, problems: list[Problem]) -> Iterator[tuple[int, bytes]]:
    """(input bytes newly read, output) for every step of the decoder."""
    feed = _ZSTD_FEED_BYTES if compression == "zstd" else _STEP_BYTES
    new_decoder = _DECODERS[compression]
    decoder = new_decoder()
    fresh = True  # nothing of the current member was seen
    given = 0
    rest = b""
    while True:
        data, read = rest, 0
        if not data and decoder.hungry:
            data = file.read(feed)
            read = len(data)
            if not data:
                break
        rest = b""
        if fresh and not (data := data.lstrip(b"\x00")):
            continue  # padding between or after members
        try:
            piece = decoder.decompress(data)
        except _ERRORS as error:
            message = f"{compression} data is damaged: {error}"
            problems.append(Problem("truncated_archive", message, offset=given))
            return
        fresh = False
        given += len(piece)
        yield read, piece
        if decoder.eof:
            rest = decoder.unused_data
            decoder, fresh = new_decoder(), True
    if not fresh:
        problems.append(Problem("truncated_archive", f"{compression} data ends early", offset=given))
