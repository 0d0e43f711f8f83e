"""YAML as trainers dump it, read without surprises: plain values only, bounded depth, size and expansion."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import yaml
from yaml.constructor import ConstructorError
from yaml.events import (
    AliasEvent,
    DocumentStartEvent,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from trajlab.sources.expansion import check_expansion

MAX_BYTES = 64 << 20
"""A larger document is not read: YAML is slow."""
_DEEP = re.compile(rb"(?:\A|\n)[ ?\-]{1000}")
"""Block collections nest by column: a line that starts this far in may nest as deep."""
_QUICK_DEPTH = 100
_SHORT = 60
"""Scalars up to here are remembered: names, numbers, short words."""
_TAG = "tag:yaml.org,2002:"
_TEXT = f"{_TAG}str"
_AS = {"timestamp": "str", "binary": "str", "set": "map", "omap": "seq", "pairs": "seq"}
"""What no reader expects is built as the plain value that stands there."""
_NO_KEY = object()
_Constructor = Callable[[Any, Any], Any]


def _told(construct: _Constructor) -> _Constructor:
    """A constructor of PyYAML that says what it cannot make, in YAML's own error, whatever it fails with.

    A plain scalar that only looks like a number (``0x_``, thousands of digits) stays text.
    """

    def constructed(loader: Any, node: Any) -> Any:
        try:
            return construct(loader, node)
        except (yaml.YAMLError, RecursionError, MemoryError):
            raise
        except Exception:  # they index, look up and convert whatever text stands there
            is_scalar = isinstance(node, yaml.ScalarNode)
            if is_scalar and not node.style and node.tag == loader.resolve(yaml.ScalarNode, node.value, (True, False)):
                return node.value
            shown = repr(node.value[:_SHORT]) if is_scalar else "this"
            kind = node.tag.rpartition(":")[2]
            raise ConstructorError(None, None, f"{shown} is no {kind}", node.start_mark) from None

    return constructed


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Builds what JSON has: keys are text, merge keys stay keys, for they can multiply, and dates stay text."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - a table of the base class
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":merge"))]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }
    yaml_constructors = {  # noqa: RUF012 - a table of the base class
        tag: _told(yaml.SafeLoader.yaml_constructors[_TAG + _AS[kind] if kind in _AS else tag])
        for tag in yaml.SafeLoader.yaml_constructors
        for kind in [(tag or "").removeprefix(_TAG)]
    }

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """The mapping, with the text of each key for the key; nothing is merged."""
        if not isinstance(node, yaml.MappingNode):
            raise ConstructorError(None, None, f"expected a mapping node, but found {node.id}", node.start_mark)
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise ConstructorError(None, None, "a key that is no text", key.start_mark)
        return {key.value: self.construct_object(value, deep=deep) for key, value in node.value}


class _UnusualError(Exception):
    """The document holds what :class:`_Builder` leaves to PyYAML: tags, great depth, anything in error."""


def load_yaml(data: bytes) -> Any:
    """The value of one YAML document, as JSON would have it: whatever a key looks like, it is its text.

    Raises:
        ValueError: The text is no YAML document of plain values, or is too large, too deep, or expands too far.
    """
    if len(data) > MAX_BYTES:
        raise ValueError(f"YAML of {len(data)} bytes; at most {MAX_BYTES} are read")
    if _DEEP.search(data):
        raise ValueError("YAML is nested too deeply")
    text = data.decode("utf-8", "replace")
    try:
        return _Builder(text).value()
    except (_UnusualError, yaml.YAMLError, ValueError, TypeError, OverflowError, RecursionError):
        pass  # PyYAML says what is wrong with it, if anything is
    try:
        value = yaml.load(text, Loader=_Loader)
        check_expansion(value)
    except yaml.YAMLError as error:
        raise ValueError(f"YAML is malformed: {' '.join(str(error).split())[:300]}") from None
    except RecursionError:
        raise ValueError("YAML is nested too deeply") from None
    return value


class _Builder:
    """Builds what ``_Loader`` builds, from the parser's events and without its tree of nodes.

    What a plain scalar stands for is decided by PyYAML, once for all that are spelled alike.
    """

    def __init__(self, text: str) -> None:
        self._loader = _Loader(text)
        self._anchors: dict[str, Any] = {}
        self._has_aliases = False

    def value(self) -> Any:
        """The only document's value; null where there is none."""
        try:
            value = self._document()
        finally:
            self._loader.dispose()
        if self._has_aliases:
            check_expansion(value)
        return value

    def _document(self) -> Any:
        next_event = self._loader.get_event
        root: list[Any] = []
        around: list[tuple[Any, Any]] = []  # each collection around the innermost, and the key in it
        held: Any = root
        key: Any = _NO_KEY
        while (event := next_event()) is not None:
            kind = type(event)
            if kind is ScalarEvent:
                text = event.value
                value = text if not event.implicit[0] else _resolved(text) if len(text) <= _SHORT else _decided(text)
            elif kind is MappingStartEvent or kind is SequenceStartEvent:
                value = {} if kind is MappingStartEvent else []
            elif kind is MappingEndEvent or kind is SequenceEndEvent:
                held, key = around.pop()
                continue
            elif kind is AliasEvent:
                value = self._alias(event)
            elif kind is DocumentStartEvent and root:
                raise _UnusualError
            else:
                continue
            if kind is not AliasEvent and (event.anchor is not None or event.tag is not None):
                self._anchor(event, value)
            if type(held) is list:
                held.append(value)
            elif key is not _NO_KEY:
                held[key], key = value, _NO_KEY
            elif kind is ScalarEvent:
                key = text
            else:
                raise _UnusualError  # a key that is no scalar
            if kind is MappingStartEvent or kind is SequenceStartEvent:
                if len(around) == _QUICK_DEPTH:
                    raise _UnusualError
                around.append((held, key))
                held, key = value, _NO_KEY
        return root[0] if root else None

    def _anchor(self, event: Any, value: Any) -> None:
        if event.tag is not None or event.anchor in self._anchors:
            raise _UnusualError
        if event.anchor is not None:
            self._anchors[event.anchor] = value

    def _alias(self, event: Any) -> Any:
        if event.anchor not in self._anchors:
            raise _UnusualError
        self._has_aliases = True
        return self._anchors[event.anchor]


def _decided(text: str) -> Any:
    """What a plain scalar stands for."""
    loader = _Loader("")
    try:
        tag = loader.resolve(yaml.ScalarNode, text, (True, False))
        return text if tag == _TEXT else loader.construct_object(yaml.ScalarNode(tag, text))
    finally:
        loader.dispose()


_resolved = lru_cache(maxsize=4096)(_decided)
