r"""YAML as PyYAML's ``dump`` lays it out, read line by line in a fraction of libyaml's time.

Blocks of ``key: value`` and ``- item``, scalars plain or quoted and folded at the margin, anchors of collections:
whatever is laid out in another way is left to PyYAML (:class:`UnusualError`), and so is all that may be in error.
Folding and escapes are those of YAML 1.1, https://yaml.org/spec/1.1/, sections 5.6, 9.1 and 9.2.
"""

from __future__ import annotations

import re
from typing import Any, cast

import yaml

from trajlab.sources.yaml_values import plain_value


class UnusualError(Exception):
    """The document holds what ``dump`` does not write by itself, or is no YAML at all."""


_PLAIN, _DONE, _BELOW, _ANCHOR, _ALIAS, _EMPTY, _SINGLE_OPEN, _DOUBLE_OPEN, _LOOSE = range(9)
"""What stands on a line behind its dashes and its key: a scalar that may go on, one that does not, nothing or an
anchor (the value stands below), an alias, an empty collection, a quoted scalar that goes on, or anything else."""
_Line = tuple[int, bool, int, str | None, int, Any, str]
"""Column, whether there are dashes, how many, key, what follows, its value, its text (of an anchor the name)."""
_Open = tuple[Any, int, bool]
"""A collection that may go on, its column, whether it is a list."""

_STRANGE = re.compile("[^\n -~\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")
"""Tabs, other breaks of lines, marks of byte order, and what YAML takes for unprintable."""
_ORDINARY = bytes([10, *range(32, 127)])
_LINE = re.compile(r"( *+)((?:- )*+)(?:(?:([\w/][\w./@-]*+(?: [\w./@-]++)*+)|'([^']++)'):(?: |\Z))?+(.*)", re.ASCII)
_LONGEST_KEY = 100
_INDICATORS = frozenset("-?:,[]{}#&*!|>'\"%@` ")
_ANCHORED = re.compile(r"[&*](\w{1,64})", re.ASCII)
_IN_SINGLE = re.compile(r"((?:[^']++|'')*+)('?)")
_IN_DOUBLE = re.compile(r'((?:[^"\\]++|\\.)*+\\?)("?)')
_DOCUMENT_MARKS = ("---", "...")

_ONLY_BREAK = re.compile(r"\n(?<!\n\n)(?!\n)")
_FIRST_BREAK = re.compile(r"\n(?<!\n\n)(?=\n)")
_ESCAPED = re.compile(
    r"\\(?:(\n *+(?!\n))|(x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|.))|\n(?: *+\n)*+ *+", re.DOTALL
)
_ESCAPES = {
    "0": "\0", "a": "\a", "b": "\b", "t": "\t", "n": "\n", "v": "\v", "f": "\f", "r": "\r", "e": "\x1b", " ": " ",
    '"': '"', "\\": "\\", "N": "\x85", "_": "\xa0", "L": "\u2028", "P": "\u2029",
}  # fmt: skip
_LAST_CHARACTER = 0x10FFFF
_DEEPEST = 100

_OTHER = (_LOOSE, None, "")
_LONGEST_SEEN, _MOST_SEEN = 100, 4096
_seen: dict[str, _Line] = {}
"""Lines already looked at: the bones of a dump come again and again, and so do the prompts of a group."""


def read_dump(text: str) -> tuple[Any, list[Any]]:
    """The document's value, and what stands in it once more for each alias.

    Raises:
        UnusualError: It is laid out in another way, or may be in error.
    """
    strange = text.encode().translate(None, _ORDINARY) if text.isascii() else _STRANGE.search(text)
    if strange:
        raise UnusualError
    reader = _Reader(text.removesuffix("\n").split("\n"))
    try:
        return reader.value(), reader.shared
    except yaml.YAMLError:
        raise UnusualError from None


class _Reader:
    def __init__(self, lines: list[str]) -> None:
        self._lines = iter(lines)
        self._around: list[_Open] = []
        self._anchors: dict[str, Any] = {}
        self.shared: list[Any] = []

    def value(self) -> Any:
        """The value that all lines together stand for."""
        root: Any = [None]
        held, depth, listed = root, -1, True  # the innermost collection
        slot: Any = 0  # where the value of the line before stands in it
        before, said, more = _BELOW, "", cast("list[str]", [])
        around, seen = self._around, _seen.get
        for line in self._lines:
            column, is_item, dashes, key, kind, value, text = seen(line) or _look(line)
            if column > depth and before == _PLAIN:
                more.append(line)
                continue
            if more:
                held[slot], more = _folded(said, more), []
            if column == depth and is_item is listed:
                pass  # a sibling of the line before, or what follows the collection that it began
            elif before >= _BELOW and (column > depth or (column == depth and is_item)):
                around.append((held, depth, listed))
                inner: Any = [] if is_item else {}
                held[slot] = inner
                if said or column > _DEEPEST:
                    self._anchor(said, inner, column)
                held, depth, listed = inner, column, is_item
            else:
                held, depth, listed = self._left(column, is_item, (held, depth, listed))
            if is_item and (key is not None or dashes > 1):
                held, depth, listed = self._nested(held, depth, dashes, key)
            if kind > _BELOW:
                value = self._unfinished(kind, text)
                kind = kind if kind == _ANCHOR else _DONE
            if listed:
                held.append(value)
            else:
                held[key] = value
            slot, before, said = -1 if listed else key, kind, text
        if more:
            held[slot] = _folded(said, more)
        return root[0]

    def _anchor(self, name: str, collection: Any, column: int) -> None:
        if column > _DEEPEST:
            raise UnusualError
        self._anchors[name] = collection

    def _left(self, column: int, is_item: bool, innermost: _Open) -> _Open:
        """The collection that a line goes on with, those inside it closed."""
        held, depth, listed = innermost
        while column < depth or (column == depth and listed and not is_item):
            held, depth, listed = self._around.pop()
        if column != depth or is_item is not listed:
            raise UnusualError
        return held, depth, listed

    def _nested(self, held: Any, depth: int, dashes: int, key: str | None) -> _Open:
        """The collections that begin behind the first dash of a line: lists for further ones, a mapping for a key."""
        if dashes > _DEEPEST:
            raise UnusualError
        while dashes > 1 or key is not None:
            inner: Any = [] if dashes > 1 else {}
            self._around.append((held, depth, True))
            held.append(inner)
            held, depth = inner, depth + 2
            if dashes == 1:
                return held, depth, False
            dashes -= 1
        return held, depth, True

    def _unfinished(self, kind: int, text: str) -> Any:
        """What is not known from the line alone."""
        if kind == _EMPTY:
            return [] if text == "[]" else {}
        if kind == _SINGLE_OPEN:
            return _single(self._quoted(text, "'", _IN_SINGLE))
        if kind == _DOUBLE_OPEN:
            *lines, last = self._quoted(text, '"', _IN_DOUBLE)
            return _double("\n".join([*map(_trimmed, lines), last]))
        if kind == _ALIAS and text in self._anchors:
            self.shared.append(self._anchors[text])
            return self.shared[-1]
        if kind != _ANCHOR or text in self._anchors:
            raise UnusualError
        self._anchors[text] = None  # until something stands below
        return None

    def _quoted(self, first: str, quote: str, inside: re.Pattern[str]) -> list[str]:
        """The lines between quotes that do not close on their first one."""
        lines = [first]
        for line in self._lines:
            if line.startswith(_DOCUMENT_MARKS):
                break
            if quote in line:
                found = inside.fullmatch(line)
                if found is None:
                    break
                lines.append(found[1])
                if found[2]:
                    return lines
            else:
                lines.append(line)
        raise UnusualError


def _look(line: str) -> _Line:
    found = _LINE.fullmatch(line)
    if found is None:
        raise UnusualError
    margin, dashes, key, quoted_key, rest = found.groups()
    key = key or quoted_key
    try:
        kind, value, text = _content(rest) if rest else (_BELOW, None, "")
    except (UnusualError, yaml.YAMLError):
        kind, value, text = _OTHER
    if (key is None and (not rest or not dashes)) or (key is not None and len(key) > _LONGEST_KEY):
        kind = _LOOSE
    looked = (len(margin), bool(dashes), len(dashes) // 2, key, kind, value, text)
    if len(line) <= _LONGEST_SEEN:
        if len(_seen) >= _MOST_SEEN:
            _seen.clear()
        _seen[line] = looked
    return looked


def _content(rest: str) -> tuple[int, Any, str]:
    first = rest[0]
    if first == "'" and (found := _IN_SINGLE.fullmatch(rest, 1)):
        return (_DONE, found[1].replace("''", "'"), "") if found[2] else (_SINGLE_OPEN, None, found[1])
    if first == '"' and (found := _IN_DOUBLE.fullmatch(rest, 1)):
        return (_DONE, _double(found[1]), "") if found[2] else (_DOUBLE_OPEN, None, found[1])
    if first in "&*" and (found := _ANCHORED.fullmatch(rest)):
        return _ANCHOR if first == "&" else _ALIAS, None, found[1]
    if rest in ("[]", "{}"):
        return _EMPTY, None, rest
    if first in _INDICATORS and (first != "-" or rest[1:2] in ("", " ")):
        return _OTHER
    return (_PLAIN, plain_value(rest), rest) if _is_plain(rest) else _OTHER


def _is_plain(text: str) -> bool:
    return ": " not in text and " #" not in text and text[-1] not in ": "


def _folded(first: str, more: list[str]) -> Any:
    """The value of a plain scalar that goes on over further lines."""
    lines = [first, *[line.strip(" ") for line in more]]
    text = " ".join(lines)
    if "" in lines or not _is_plain(text):
        raise UnusualError
    return plain_value(text)


def _single(lines: list[str]) -> str:
    """The text of lines in single quotes: one break stands for a space, each further one for itself."""
    first, *between, last = lines
    stripped = [first.rstrip(" "), *[line.strip(" ") for line in between], last.lstrip(" ")]
    has_breaks = "" in stripped
    text = _FIRST_BREAK.sub("", _ONLY_BREAK.sub(" ", "\n".join(stripped))) if has_breaks else " ".join(stripped)
    return text.replace("''", "'")


def _trimmed(line: str) -> str:
    """A line without the spaces at its end, but for one that is escaped."""
    bare = line.rstrip(" ")
    is_escaped = len(bare) < len(line) and (len(bare) - len(bare.rstrip("\\"))) % 2
    return bare + " " if is_escaped else bare


def _double(text: str) -> str:
    return _ESCAPED.sub(_unescaped, text) if "\\" in text or "\n" in text else text


def _unescaped(found: re.Match[str]) -> str:
    is_break, escape = found.groups()
    if is_break is not None:
        return ""
    if escape is None:
        return "\n" * (found[0].count("\n") - 1) or " "
    if len(escape) > 1:
        code = int(escape[1:], 16)
        if code <= _LAST_CHARACTER and not 0xD800 <= code < 0xE000:
            return chr(code)
    elif escape in _ESCAPES:
        return _ESCAPES[escape]
    raise UnusualError
