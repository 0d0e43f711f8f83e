"""Top-level keys of a JSON object of any size, whole or damaged, without holding or decoding it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from trajlab.records import Problem
from trajlab.sources.files import SourceFile
from trajlab.sources.safe_json import loads
from trajlab.sources.streams import chunks, compression_at_start, unreadable
from trajlab.sources.structure import COMMA, WINDOW_BYTES, Scan, structure

_KEY = re.compile(rb'\s*+("(?:[^"\\]++|\\.)*+")\s*+:', re.DOTALL)
_OPEN_OBJECT, _OPEN_LIST = 0x7B, 0x5B
_LONGEST_KEY = 64 << 10
"""Of the text between two containers no more is held."""


def object_keys(file: SourceFile, problems: list[Problem]) -> Iterator[str]:
    """Keys of the top-level object, in order, as far as the document goes; none where it is no object."""
    try:
        with Path(file.path).open("rb", buffering=0) as stream:
            compression = compression_at_start(stream)
            pieces = chunks(stream, compression, problems, WINDOW_BYTES)
            yield from _keys(pieces)
    except OSError as error:
        problems.append(unreadable(error))


def _keys(pieces: Iterator[bytes]) -> Iterator[str]:
    scan = Scan()
    text = bytearray()  # what stands at depth 1 since the last separator, while a key may follow
    listening = False
    for piece in pieces:
        last = 0
        for place, kind, depth in zip(*(array.tolist() for array in structure(piece, scan)), strict=True):
            if listening:
                text += piece[last : min(place, last + _LONGEST_KEY)]
                if kind == COMMA or depth != 1:
                    yield from _key(text)
            last = place + 1
            text.clear()
            listening = depth == 1 and kind in (COMMA, _OPEN_OBJECT)
            if depth <= 0 or (depth == 1 and kind == _OPEN_LIST):
                return
        if listening and len(text) < _LONGEST_KEY:
            text += piece[last : last + _LONGEST_KEY]
    yield from _key(text)


def _key(text: bytearray) -> Iterator[str]:
    match = _KEY.match(text)
    if match is None:
        return
    try:
        key = loads(match[1]).value
    except ValueError:
        return
    if isinstance(key, str):
        yield key
