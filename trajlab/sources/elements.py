"""Elements of one huge top-level JSON list, one by one, in bounded memory.

What stands between separators at depth 1 of the structural index is an element; nothing is decoded.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path

from trajlab.records import Problem
from trajlab.sources.files import Bundle
from trajlab.sources.safe_json import loads
from trajlab.sources.streams import MAX_RECORD_BYTES, Line, chunks, compression_at_start, unreadable
from trajlab.sources.structure import COMMA, WINDOW_BYTES, Scan, structure

CHUNK_BYTES = 4 << 20
_MAX_LISTED = 1000
"""Bound on problems named one by one per document: ``[,,,,`` must not fill the memory."""
_MAX_RESTARTS = 100
"""Bound on lists behind the first: each scans its window once more."""
_MAX_REPLAY = 8
"""Bound on bytes scanned again after elements that do not close, per byte of the document."""
_INDENTATION_CHECKS = 16
_UNINDENTED = 2  # a newline and a bracket
_OPEN_LIST = 0x5B
_BRACKET_DISTANCE = 2  # from "[" to "]" and from "{" to "}"
_WHITESPACE = b" \t\r\n"
_PREAMBLE = _WHITESPACE + b"\xef\xbb\xbf"


def elements(
    bundle: Bundle,
    problems: list[Problem],
    chunk_bytes: int = CHUNK_BYTES,
    max_record_bytes: int = MAX_RECORD_BYTES,
) -> Iterator[Line]:
    """Elements of the file's top-level list: ``number`` is 1-based, ``offset`` of its first byte.

    Holds one chunk and the largest element. What is no value between two separators gives a problem
    ``not_json`` and is passed over; a document cut short gives ``truncated`` for its last element. Where
    an element's brackets do not close, the next line that starts as the first element's line did starts
    anew (JSON strings hold no raw newline).
    """
    return _split(bundle, _Splitter(problems, max_record_bytes), chunk_bytes)


def concatenated(
    bundle: Bundle,
    problems: list[Problem],
    chunk_bytes: int = CHUNK_BYTES,
    max_record_bytes: int = MAX_RECORD_BYTES,
) -> Iterator[Line]:
    """Objects and lists that follow each other without a list around them, over any number of lines.

    As :func:`elements` otherwise; text between them is named and passed over.
    """
    return _split(bundle, _Splitter(problems, max_record_bytes, bare=True), chunk_bytes)


def _split(bundle: Bundle, splitter: _Splitter, chunk_bytes: int) -> Iterator[Line]:
    try:
        with Path(bundle.file.path).open("rb", buffering=0) as file:
            compression = compression_at_start(file)
            for piece in chunks(file, compression, splitter.problems, chunk_bytes):
                yield from splitter.feed(piece)
                if splitter.stopped:
                    break
        yield from splitter.finish()
    except OSError as error:
        splitter.problems.append(unreadable(error))


class _Splitter:
    """Cuts a list into elements, chunk by chunk; all offsets count from the document's start."""

    def __init__(self, problems: list[Problem], max_record_bytes: int, *, bare: bool = False) -> None:
        self.stopped = False
        self.problems = problems
        self._listed = self._unlisted = 0
        self._max_record_bytes = max_record_bytes
        self._bare = bare
        self._scan = Scan(depth=1 if bare else 0)
        self._chunk = b""
        self._chunk_offset = 0
        self._held = bytearray()  # what of earlier chunks is still needed: up to the chunk's start
        self._held_offset = 0
        self._dropped = False  # the current element is too long to be held
        self._mark = 0  # where the text after the last separator or container starts
        self._container: int | None = None  # where the open container starts
        self._slot_values = 0  # containers since the last separator
        self._empty = True  # the list has shown no separator yet
        self._number = 0
        self._started = bare
        self._line_start = b""  # newline, indentation and bracket that start the first element
        self._restarts = self._replayed = 0
        self._broken = False  # the current element is known to be: go on within it
        self._salvaging = False  # the document is known to be broken

    def feed(self, chunk: bytes) -> Iterator[Line]:
        """Elements that end in ``chunk``, which follows what was fed before."""
        pending = [chunk]
        while pending and not self.stopped:
            piece = pending.pop()
            yield from self._take(piece)
            rest = b""
            too_long = len(self._held) > self._max_record_bytes
            if self._salvaging or self._broken or too_long:
                unseen = len(self._held) - len(piece) - len(self._line_start)
                rest = self._restart(unseen if self._salvaging and not self._broken else 1)
                self._broken = False
                pending.extend(rest[at : at + CHUNK_BYTES] for at in range(0, len(rest), CHUNK_BYTES)[::-1])
            if too_long and not rest:
                self._drop()

    def _take(self, chunk: bytes) -> Iterator[Line]:
        self._chunk = chunk
        position = 0
        while position < len(chunk) and not self.stopped:
            if self._scan.depth == 0:
                position = self._outside(position)
            else:
                position = yield from self._inside(position)
        self._hold()

    def finish(self) -> Iterator[Line]:
        """What the end of the document leaves over."""
        while rest := self._restart(1):
            yield from self.feed(rest)
        if self._bare and self._container is None and not self._scan.in_string and not self.stopped:
            line = self._separate(self._chunk_offset, last=True)
            if line is not None:
                yield line
        elif self._scan.depth > 0 and not self.stopped:
            message = f"the document ends inside its list, after {self._number} elements"
            self._stop("truncated", message, self._kept_from())
        elif not self._started and not self.stopped:
            self._stop("not_json", "no list starts here", 0)
        if self._unlisted:
            self.problems.append(Problem("not_json", f"{self._unlisted} more of these"))

    def _outside(self, position: int) -> int:
        """Skip what is before, between and after lists; returns where the list's inside starts."""
        piece = self._chunk[position : position + 64]
        rest = piece.lstrip(_WHITESPACE if self._started else _PREAMBLE)
        if not rest:
            return position + len(piece)
        position += len(piece) - len(rest)
        offset = self._chunk_offset + position
        if self._started:
            self._restarts += 1
            if rest[0] not in (COMMA, _OPEN_LIST) or self._restarts > _MAX_RESTARTS:
                self._stop("not_json", "text behind the end of the list; not read", offset)
                return len(self._chunk)
            self._problem("not_json", "the list goes on behind its end", offset)
        elif rest[0] != _OPEN_LIST:
            self._stop("not_json", "no list starts here", offset)
            return len(self._chunk)
        self._started = self._empty = True
        self._scan = Scan(depth=1)
        self._mark = offset + 1
        self._slot_values = 0
        return position + 1

    def _inside(self, position: int) -> Generator[Line, None, int]:
        """Take elements of one window, up to the list's end; returns where it ended."""
        window = self._chunk[position : position + WINDOW_BYTES]
        places, kinds, depths = structure(window, self._scan)
        base = self._chunk_offset + position
        for place, kind, depth in zip(places.tolist(), kinds.tolist(), depths.tolist(), strict=True):
            line = None
            if kind == COMMA:
                line = self._separate(base + place, last=False)
            elif depth == 2:
                self._open(base + place)
            elif depth == 1:
                line = self._close(base + place, kind)
                if self._broken:
                    return len(self._chunk)
            else:
                line = self._separate(base + place, last=True)
            if line is not None:
                yield line
            if depth == 0:
                self._scan = Scan()
                return int(position + place + 1)
        return position + len(window)

    def _open(self, offset: int) -> None:
        if self._dropped:
            self._dropped = False
        else:
            loose = self._text(self._mark, offset)
            if loose.strip(_WHITESPACE):
                self._problem("not_json", "text between elements that is no value; passed over", self._mark)
            if self._number == 0 and b"\n" in loose:
                self._line_start = loose[loose.rindex(b"\n") :] + self._text(offset, offset + 1)
        self._container = offset

    def _close(self, offset: int, kind: int) -> Line | None:
        start = self._mark if self._container is None else self._container
        if self._swallowed_others(start, offset, kind):
            self._broken = True
            return None
        self._container = None
        self._mark = offset + 1
        self._slot_values += 1
        if self._over_limit(start, offset + 1):
            return None
        self._number += 1
        data = self._text(start, offset + 1)
        if self._line_start and self._number < _INDENTATION_CHECKS and self._line_start in data:
            self._line_start = b""  # inner values start like elements: no mark to restart at
        return Line(data, start, self._number)

    def _separate(self, offset: int, *, last: bool) -> Line | None:
        """End a slot at a comma or the list's end; a scalar in it is an element."""
        start, values = self._mark, self._slot_values
        self._mark, self._slot_values = offset + 1, 0
        empty, self._empty = self._empty, False
        if self._over_limit(start, offset):
            return None
        text = self._text(start, offset)
        data = text.strip(_WHITESPACE)
        if data and not values and _is_value(data):
            self._number += 1
            return Line(data, start + text.index(data), self._number)
        if data:
            self._problem("not_json", "text between elements that is no value; passed over", start)
        elif not values and not (last and empty):
            self._problem("not_json", "nothing between two separators", start)
        return None

    def _text(self, start: int, end: int) -> bytes:
        """Bytes between two offsets, the first not before what is held."""
        here = self._chunk_offset
        if start >= here:
            return self._chunk[start - here : end - here]
        with memoryview(self._held) as held:
            first = held[start - self._held_offset : min(end, here) - self._held_offset]
            text = b"".join((first, self._chunk[: max(end - here, 0)]))
            first.release()
        return text

    def _kept_from(self) -> int:
        return self._mark if self._container is None else self._container

    def _hold(self) -> None:
        """Move on to the next chunk; keep what an unfinished element needs of this one."""
        end = self._chunk_offset + len(self._chunk)
        keep = end if self._dropped or self.stopped or self._scan.depth == 0 else self._kept_from()
        if keep >= self._chunk_offset:
            self._held = bytearray(self._chunk[keep - self._chunk_offset :])
        else:
            del self._held[: keep - self._held_offset]
            self._held += self._chunk
        self._held_offset, self._chunk_offset, self._chunk = keep, end, b""

    def _drop(self) -> None:
        """Hold no more of the current element."""
        self._too_large(self._kept_from())
        self._dropped = True
        self._held = bytearray()
        self._held_offset = self._chunk_offset

    def _over_limit(self, start: int, end: int) -> bool:
        """Whether the element that ends now was too long, and is counted and passed over."""
        dropped, self._dropped = self._dropped, False
        if not dropped and end - start <= self._max_record_bytes:
            return False
        if not dropped:
            self._too_large(start)
        self._number += 1
        return True

    def _too_large(self, offset: int) -> None:
        message = f"longer than {self._max_record_bytes} bytes; skipped"
        self._problem("record_too_large", message, offset)

    def _restart(self, start: int) -> bytes:
        """Give up an element that does not close: what is held from the next element's line on.

        Looks for that line from ``start`` in what is held.
        """
        found = self._held.find(self._line_start, max(start, 1)) if self._may_restart() else -1
        if found < 0:
            return b""
        self._salvaging = True
        self._problem("not_json", "it does not close; reading goes on at the next one", self._held_offset)
        self._number += 1
        rest = bytes(self._held[found:])
        self._replayed += len(rest)
        self._chunk_offset = self._held_offset = self._mark = self._held_offset + found
        self._held = bytearray()
        self._scan = Scan(depth=1)
        self._container, self._slot_values = None, 0
        return rest

    def _may_restart(self) -> bool:
        if self._container is None or not self._line_start or self._dropped or self.stopped:
            return False
        if not self._salvaging and self._number == 0 and len(self._line_start) == _UNINDENTED:
            return False  # nothing shows yet that inner values do not start so, too
        return self._replayed <= _MAX_REPLAY * self._chunk_offset + CHUNK_BYTES

    def _swallowed_others(self, start: int, end: int, kind: int) -> bool:
        """Whether what ends here as ``[`` or ``{`` did not start holds the start of a further element."""
        if self._dropped or self._text(start, start + 1)[0] + _BRACKET_DISTANCE == kind:
            return False
        return self._may_restart() and self._text(start, end).find(self._line_start, 1) > 0

    def _problem(self, code: str, message: str, offset: int) -> None:
        if self._listed >= _MAX_LISTED:
            self._unlisted += 1
            return
        self._listed += 1
        self.problems.append(Problem(code, f"element {self._number + 1}: {message}", offset=offset))

    def _stop(self, code: str, message: str, offset: int) -> None:
        self.problems.append(Problem(code, message, offset=offset))
        self.stopped = True


def _is_value(data: bytes) -> bool:
    try:
        loads(data)
    except ValueError:
        return False
    return True
