"""Which fields of a log are read: each is changed in a copy, and what the reader then yields is compared.

No list says what a reader knows; its own answer does. A field that changes nothing, wherever it was tried, is unread.
"""

from __future__ import annotations

import json
import math
import shutil
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from trajlab.corpus.plan import Claim, claim, gathered
from trajlab.formats import companion_format, log_format
from trajlab.formats.ignored import IGNORED
from trajlab.metric_logs import metric_format
from trajlab.sources.discover import discover
from trajlab.sources.elements import elements
from trajlab.sources.field_mapping import FieldMapping
from trajlab.sources.files import Bundle, SourceFile
from trajlab.sources.probe import Probe
from trajlab.sources.reading import document, lines, parquet_rows
from trajlab.sources.safe_json import loads

RECORDS = 40
"""First records of a file that are looked at."""
LONGEST = 2_000_000
"""Bytes of records that are looked at; the first is looked at whatever its length."""
PLACES = 3
"""Places of a field that are changed before it counts as unread."""
MOST = 500
"""Fields that are tried; a document with names of its own as keys may hold any number."""
LARGEST_DOCUMENT = 20_000_000
"""A larger object document is not looked at."""
SIBLINGS = 50
"""Files beside it that are copied, since a reader may look at them."""

Place = tuple[str | int, ...]


class Fields(msgspec.Struct, frozen=True):
    """Fields of the first records of a file; list positions are ``*``."""

    read: tuple[str, ...]
    ignored: tuple[str, ...]
    """Passed over on purpose."""
    unknown: tuple[str, ...]
    """Passed over because the reader does not know them."""
    untried: int
    """Fields beyond the first 500, not looked at."""
    records: int
    """Records looked at."""


def fields_of(file: SourceFile, mapping: FieldMapping | None = None) -> Fields | None:
    """Tell the fields that the reader of a file reads from those that it passes over.

    Args:
        file: The file.
        mapping: The user's own mapping.

    Returns:
        ``None`` where no reader claims it, or where it is no JSON and no Parquet, or a document of over 20 MB.
    """
    return fields_of_claim(claim(file, None, mapping), Probe(file).shape)


def fields_of_claim(said: Claim, shape: str) -> Fields | None:
    """:func:`fields_of` for a file that was claimed and looked at before."""
    if said.format is None or not (records := list(_records(said.file, shape))):
        return None
    with tempfile.TemporaryDirectory(prefix="trajlab-fields-") as folder:
        return _compare(_Reader(said, shape, Path(folder)), records)


def _records(file: SourceFile, shape: str) -> Iterator[Any]:
    """The first records, as far as they can be decoded."""
    bundle = Bundle("", "", (file,))
    if shape == "parquet":
        yield from islice(parquet_rows(bundle, []), RECORDS)
        return
    if shape == "object" and file.size > LARGEST_DOCUMENT:
        return
    if shape == "object":
        data = [document(file, [])]
    elif shape in ("list", "lines"):
        source = elements(bundle, []) if shape == "list" else lines(bundle, [])
        data = [line.data for line in islice(source, RECORDS)]
    else:
        return
    size = 0
    for one in data:
        size += len(one)
        if size > LONGEST and size > len(one):
            return
        try:
            yield loads(one).value
        except ValueError:
            continue  # a record that cannot be read is a problem of the ingest; here it only tells no fields


class _Reader:
    """Reads changed copies of a file, in a folder that looks like its own."""

    def __init__(self, said: Claim, shape: str, folder: Path) -> None:
        self.said, self.shape = said, shape
        self.root = folder
        self.path = folder / said.file.relpath
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.members = _members(said)
        source = Path(said.file.path)
        beside = [one for one in sorted(source.parent.iterdir()) if one.is_file()][:SIBLINGS]
        for other in {*beside, *(Path(member.path) for member in self.members)} - {source}:
            copy = folder / other.relative_to(said.file.root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(other, copy)

    def read(self, records: list[Any]) -> list[Any] | None:
        """What the reader yields; ``None`` where the records cannot be written as the file's kind."""
        try:
            self._write(records)
        except (pa.ArrowException, OverflowError, UnicodeEncodeError):
            return None
        said = self.said
        files = tuple(self._copy(member) for member in self.members)
        bundle = Bundle(said.format or "", said.variant or "", files, mapping=said.mapping)
        if said.role == "companion":
            module = companion_format(bundle.format)
            settings = getattr(module, "read_settings", None)
            return [*module.read_outcomes(bundle), *(settings(bundle) if settings is not None else ())]
        if said.role == "metrics":
            return list(metric_format(bundle.format).read_metrics(bundle))
        return list(log_format(bundle.format).read(bundle))

    def _copy(self, file: SourceFile) -> SourceFile:
        path = self.root / file.relpath
        return SourceFile(str(self.root), file.relpath, str(path), path.stat().st_size, 0)

    def _write(self, records: list[Any]) -> None:
        if self.shape == "parquet":
            pq.write_table(pa.Table.from_pylist(records), self.path)
        elif self.shape == "lines":
            self.path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
        else:
            whole = records[0] if self.shape == "object" else records
            self.path.write_text(json.dumps(whole), encoding="utf-8")


def _members(said: Claim) -> list[SourceFile]:
    """The file, or all files of the conversation that it is a part of, in the order of their bundle."""
    if not said.group:
        return [said.file]
    place = Path(said.file.root, said.group)
    folder = place if place.is_dir() else place.parent
    found = [file for file in discover([folder]).files if Path(file.path).is_relative_to(folder)]
    below = [_below(file, said.file.root) for file in found]
    claims = [claim(file, None) for file in below]
    own = gathered(one for one in claims if (one.format, one.group) == (said.format, said.group))
    return [one.file for one in own[0]]


def _below(file: SourceFile, root: str) -> SourceFile:
    relpath = Path(file.path).relative_to(root).as_posix()
    return SourceFile(root, relpath, file.path, file.size, file.mtime_ns)


def _compare(reader: _Reader, records: list[Any]) -> Fields:
    before = reader.read(records)
    tried: dict[str, int] = {}
    read: set[str] = set()
    untried: set[str] = set()
    for place, value in _leaves(records, ()):
        name = ".".join("*" if isinstance(part, int) else part for part in place[1:])
        if name in read or tried.get(name, 0) >= PLACES:
            continue
        if name not in tried and len(tried) >= MOST:
            untried.add(name)
            continue
        tried[name] = tried.get(name, 0) + 1
        if any(reader.read(_with(records, place, other)) != before for other in _others(value)):
            read.add(name)
    unread = sorted(tried.keys() - read)
    patterns = IGNORED.get(reader.said.format or "", ())
    ignored = tuple(name for name in unread if any(fnmatchcase(name, pattern) for pattern in patterns))
    unknown = tuple(name for name in unread if name not in ignored)
    return Fields(tuple(sorted(read)), ignored, unknown, len(untried), len(records))


def _leaves(value: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    """Places of values that hold no others, in order; what is empty is a leaf."""
    waiting: list[tuple[Place, Any]] = [(place, value)]
    while waiting:
        here, held = waiting.pop()
        if isinstance(held, dict) and held:
            waiting.extend(((*here, str(name)), inner) for name, inner in reversed(held.items()))
        elif isinstance(held, list) and held:
            waiting.extend(((*here, number), held[number]) for number in reversed(range(len(held))))
        else:
            yield here, held


def _others(value: Any) -> list[Any]:
    """Values to put in its place."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, (int, float)):
        return [value + 1 if math.isfinite(value) else 1.0]
    if isinstance(value, str):
        return [value + "x", "other"]
    return ["other", 7, True, ["other"], {"other": 1}]


def _with(records: list[Any], place: Place, value: Any) -> list[Any]:
    """The records with another value at a place."""
    changed = list(records)
    first = place[0]
    if not isinstance(first, int):
        raise TypeError(f"a record's number was expected, found {first!r}")
    if len(place) == 1:
        changed[first] = value
        return changed
    changed[first] = deepcopy(records[first])
    inner = changed[first]
    for part in place[1:-1]:
        inner = inner[part]
    inner[place[-1]] = value
    return changed
