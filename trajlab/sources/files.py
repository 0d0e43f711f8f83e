"""What the planner hands to a reader: files found below a root, whole or as a slice cut at newlines."""

from __future__ import annotations

import os
from collections.abc import Sequence

import msgspec

from trajlab.sources.field_mapping import FieldMapping


class SourceFile(msgspec.Struct, frozen=True):
    """One file found below an ingested root."""

    root: str
    """The root as resolved, absolute."""
    relpath: str
    """Path below the root, with forward slashes: part of every trajectory's identity."""
    path: str
    """Absolute path, for opening."""
    size: int
    """Bytes on disk."""
    mtime_ns: int


class Bundle(msgspec.Struct, frozen=True):
    """What one ``read`` call gets: the files of one conversation, or one file, or a slice of it."""

    format: str
    variant: str
    files: tuple[SourceFile, ...]
    start: int = 0
    """First byte of the slice; always just after a newline, or 0."""
    end: int | None = None
    """Byte after the slice; ``None``: to the end of the file."""
    mapping: FieldMapping | None = None
    """Where the fields stand, for files that the user's own mapping claims."""

    @property
    def file(self) -> SourceFile:
        """The first (mostly the only) file."""
        return self.files[0]


def parts_of(path: str) -> list[str]:
    """Names of a path's folders and of the file, in order: for trees of small files :mod:`pathlib` is too slow."""
    return (path if os.sep == "/" else path.replace(os.sep, "/")).split("/")


def joined_path(parts: Sequence[str]) -> str:
    """The path of these names, with forward slashes; ``.`` where there are none."""
    return "/".join(parts) or "."
