"""Which fields of a log are read: each is changed in a copy, and what the reader then yields is compared.

No list says what a reader knows; its own answer does. A field that changes nothing, wherever it was tried, is unread.
"""

from __future__ import annotations

import json
import math
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from trajlab.corpus.plan import Claim, claim, gathered
from trajlab.formats import companion_format, facts_of, log_format, outcomes_of
from trajlab.formats.ignored import IGNORED
from trajlab.formats.known import joins_records, known_fields
from trajlab.metric_logs import metric_format
from trajlab.records import Problem, Trajectory
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
"""Places of a field that are changed, each by itself, before it counts as unread."""
AT_ONCE = 100
"""Places of a field that are then changed together: of a list of tokens, masks may hide some."""
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
    joins: tuple[str, ...]
    """Ids and the like that join records; the order of these tells it without them."""
    silent: tuple[str, ...]
    """Read in other records; in these, whatever stood in their place would tell nothing."""
    ignored: tuple[str, ...]
    """Passed over on purpose."""
    unknown: tuple[str, ...]
    """Passed over because the reader does not know them."""
    untried: int
    """Fields beyond the first 500, and those of which no changed copy can be written."""
    records: int
    """Records looked at."""


def fields_of(
    file: SourceFile, mapping: FieldMapping | None = None, known: frozenset[str] = frozenset()
) -> Fields | None:
    """Tell the fields that the reader of a file reads from those that it passes over.

    Args:
        file: The file.
        mapping: The user's own mapping.
        known: Fields of which it is known that the reader reads them; they are not tried.

    Returns:
        ``None`` where no reader claims it, or where it is no JSON and no Parquet, or a document of over 20 MB.
    """
    return fields_of_claim(claim(file, None, mapping), Probe(file).shape, known)


def fields_of_claim(said: Claim, shape: str, known: frozenset[str] = frozenset()) -> Fields | None:
    """:func:`fields_of` for a file that was claimed and looked at before."""
    records = [record for _, record in _records(said.file, shape, RECORDS)]
    if said.format is None or not records:
        return None
    with tempfile.TemporaryDirectory(prefix="trajlab-fields-") as folder:
        reader = _Reader(said, shape, Path(folder), _members(said))
        read, tried, untried = _compare(reader, records, None, PLACES, known)
    unread = sorted(tried - read)
    joins = tuple(name for name in unread if joins_records(said.format, name))
    ignored = tuple(name for name in unread if name not in joins and ignored_on_purpose(said.format, name))
    rest = [name for name in unread if name not in joins and name not in ignored]
    elsewhere = known_fields().get(said.format, frozenset())
    silent = tuple(name for name in rest if name in elsewhere)
    unknown = tuple(name for name in rest if name not in elsewhere)
    return Fields(tuple(sorted(read)), joins, silent, ignored, unknown, untried, len(records))


def first_records(file: SourceFile, most: int, longest: int) -> list[Any]:
    """The first records of a file, decoded as far as they can be.

    Args:
        file: A JSON, JSON lines or Parquet file; of any other kind there are none.
        most: Records at the most.
        longest: Bytes of records at the most. A first record that is longer leaves nothing.
    """
    shape = Probe(file).shape
    if shape in ("object", "list") and file.size > longest and (shape == "object" or most <= 2):
        return []
    found: list[Any] = []
    size = 0
    for length, record in _records(file, shape, most):
        size += length
        if size > longest and (found or length > longest):
            break
        found.append(record)
    return found


def _records(file: SourceFile, shape: str, most: int) -> Iterator[tuple[int, Any]]:
    """The first records with their length, as far as they can be decoded."""
    bundle = Bundle("", "", (file,))
    if shape == "parquet":
        yield from ((0, row) for row in islice(parquet_rows(bundle, []), most))
        return
    if shape == "object" and file.size <= LARGEST_DOCUMENT:
        data: Iterable[bytes] = [document(file, [])]
    elif shape in ("list", "lines"):
        source = elements(bundle, []) if shape == "list" else lines(bundle, [])
        data = (line.data for line in islice(source, most))
    else:
        return
    for one in data:
        try:
            yield len(one), loads(one).value
        except (ValueError, RecursionError):
            continue  # a record that cannot be read is a problem of the ingest; here it only tells no fields


def field_names(records: list[Any]) -> list[str]:
    """Names of all fields of records, sorted; list positions are ``*``."""
    return sorted({_name(place) for place, _ in _leaves(records, ())})


def _name(place: Place) -> str:
    return ".".join("*" if isinstance(part, int) else part for part in place[1:])


def ignored_on_purpose(format_name: str, field: str) -> bool:
    """Whether a reader passes a field over on purpose."""
    return any(fnmatchcase(field, pattern) for pattern in IGNORED.get(format_name, ()))


def read_among(said: Claim, members: list[SourceFile], records: list[Any], names: frozenset[str]) -> set[str]:
    """Those of the named fields that the reader of a source reads; each is changed in one place."""
    with tempfile.TemporaryDirectory(prefix="trajlab-fields-") as folder:
        reader = _Reader(said, Probe(said.file).shape, Path(folder), members)
        return {name for record in records for name in _compare(reader, [record], names, places=1)[0]}


class _Reader:
    """Reads changed copies of a file, in a folder that looks like its own."""

    def __init__(self, said: Claim, shape: str, folder: Path, members: list[SourceFile]) -> None:
        self.said, self.shape = said, shape
        self.root = folder
        self.path = folder / said.file.relpath
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.members = members
        self._written: dict[int, tuple[Any, bytes]] = {}
        self._encode: Callable[[Any], bytes] | None = None
        source = Path(said.file.path)
        beside = [one for one in sorted(source.parent.iterdir()) if one.is_file()][:SIBLINGS]
        for other in {*beside, *(Path(member.path) for member in self.members)} - {source}:
            copy = folder / other.relative_to(said.file.root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.symlink_to(other.resolve())

    def read(self, records: list[Any]) -> list[Any] | None:
        """What the reader yields; ``None`` where the records cannot be written as the file's kind."""
        if self.shape == "parquet" and not all(isinstance(record, dict) for record in records):
            return None
        try:
            self._write(records)
        except (pa.ArrowException, OverflowError, ValueError, RecursionError):  # 4,300 digits are too many for JSON
            return None
        return list(map(_anywhere, self._yielded()))

    def _yielded(self) -> Iterator[Any]:
        said = self.said
        files = tuple(self._copy(member) for member in self.members)
        bundle = Bundle(said.format or "", said.variant or "", files, mapping=said.mapping)
        if said.role == "companion":
            module = companion_format(bundle.format)
            yield from outcomes_of(module, bundle)
            yield from facts_of(module, bundle)
        elif said.role == "metrics":
            metrics = metric_format(bundle.format)
            yield from metrics.read_metrics(bundle)
            yield from facts_of(metrics, bundle)
        else:
            yield from log_format(bundle.format).read(bundle)

    def _copy(self, file: SourceFile) -> SourceFile:
        path = self.root / file.relpath
        return SourceFile(str(self.root), file.relpath, str(path), path.stat().st_size, 0)

    def _write(self, records: list[Any]) -> None:
        if self.shape == "parquet":
            pq.write_table(pa.Table.from_pylist(records), self.path)
            return
        if self._encode is None:
            self._encode = msgspec.json.encode if _is_plain(records) else _encoded
        if self.shape == "lines":
            data = b"".join(self._line(record, self._encode) for record in records)
        else:
            data = self._encode(records[0] if self.shape == "object" else records)
        # Written over the copy before it: to cut that to nothing first costs ten times the writing.
        with os.fdopen(os.open(self.path, os.O_WRONLY | os.O_CREAT), "wb") as file:
            file.write(data)
            file.truncate()

    def _line(self, record: Any, encode: Callable[[Any], bytes]) -> bytes:
        """A record as a line; of those written before, which a changed copy shares, it is known."""
        known = self._written.get(id(record))
        if known is not None:
            return known[1]
        line = encode(record) + b"\n"
        if len(self._written) < RECORDS:
            self._written[id(record)] = record, line  # held, so that no other gets its id
        return line


def _is_plain(records: list[Any]) -> bool:
    """Whether the faster encoder keeps every value: it knows no NaN, no lone surrogate, no very large number."""
    try:
        return bool(msgspec.json.decode(msgspec.json.encode(records)) == records)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError):
        return False


def _encoded(value: Any) -> bytes:
    return json.dumps(value).encode()


def _anywhere(record: Any) -> Any:
    """What was yielded without its place in the file: a longer value moves all that stand behind it."""
    if isinstance(record, Trajectory):
        record.ordinal = ""
        for problem in record.problems:
            problem.offset = None
    elif isinstance(record, Problem):
        record.offset = None
    return record


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


def _compare(
    reader: _Reader,
    records: list[Any],
    names: frozenset[str] | None,
    places: int,
    known: frozenset[str] = frozenset(),
) -> tuple[set[str], set[str], int]:
    """Fields that are read, fields that were changed, and the number of those that were not.

    Args:
        reader: Reads changed copies.
        records: The records.
        names: Fields to change; ``None``: all.
        places: Places of a field that are changed before it counts as unread.
        known: Fields that count as read untried.
    """
    before = reader.read(records)
    held: dict[str, list[tuple[Place, Any]]] = {}
    for place, value in _leaves(records, ()):
        name = _name(place)
        if names is None or name in names:
            held.setdefault(name, []).append((place, value))
    tried = list(held)[:MOST]
    read = {name for name in tried if name in known}
    changed = set(read)
    for name in [name for name in tried if name not in read]:
        answers = (reader.read(copy) for copy in _copies(records, held[name], places))
        differs = (after != before for after in answers if after is not None)
        first = next(differs, None)
        if first is not None:
            changed.add(name)
        if first or any(differs):
            read.add(name)
    return read, changed, len(held) - len(changed)


def _copies(records: list[Any], found: list[tuple[Place, Any]], places: int) -> Iterator[list[Any]]:
    """The records with a field changed: in one place after another, then in many at once."""
    for number, (place, value) in enumerate(_spread(found, places)):
        for other in _others(value)[: None if number == 0 else 1]:
            yield _with(records, place, other)
    for kind in {0, len(_others(found[0][1])) - 1} if len(found) > 1 else ():
        together = records
        for place, value in _spread(found, AT_ONCE):
            others = _others(value)
            together = _with(together, place, others[min(kind, len(others) - 1)])
        yield together


def _spread(found: list[tuple[Place, Any]], most: int) -> list[tuple[Place, Any]]:
    """The first, the last and what lies evenly between: a list of tokens may begin with those that are masked."""
    if len(found) <= most or most == 1:
        return found[:most]
    return [found[round(number * (len(found) - 1) / (most - 1))] for number in range(most)]


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
        return [value + 1 if isinstance(value, int) or math.isfinite(value) else 1.0]
    if isinstance(value, str):
        return [value + "x", "other"]
    return ["other", 7, True, ["other"], {"other": 1}]


def _with(records: list[Any], place: Place, value: Any) -> list[Any]:
    """The records with another value at a place; what does not lie on the way to it is shared."""
    changed = list(records)
    inner: Any = changed
    for part in place[:-1]:
        held = inner[part]
        inner[part] = held = list(held) if isinstance(held, list) else dict(held)
        inner = held
    inner[place[-1]] = value
    return changed
