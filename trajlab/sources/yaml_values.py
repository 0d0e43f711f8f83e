"""What YAML stands for here: JSON's values, as PyYAML's safe loader finds them, without tags, merges and dates."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import yaml
from yaml.constructor import ConstructorError

_SHORT = 60
"""Scalars up to here are remembered: names, numbers, short words."""
_TAG = "tag:yaml.org,2002:"
_AS = {"timestamp": "str", "binary": "str", "set": "map", "omap": "seq", "pairs": "seq"}
"""What no reader expects is built as the plain value that stands there."""
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


class Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
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


_RESEMBLES = {
    first: [pattern.match for _, pattern in resolvers] for first, resolvers in Loader.yaml_implicit_resolvers.items()
}
"""By the first character, what a scalar must match that is no text."""


def plain_value(text: str) -> Any:
    """What a scalar without quotes stands for.

    Raises:
        yaml.YAMLError: It looks like a value that it is not.
    """
    for resembles in _RESEMBLES.get(text[:1], ()):
        if resembles(text):
            return _known_value(text) if len(text) <= _SHORT else _constructed(text)
    return text


def _constructed(text: str) -> Any:
    loader = Loader("")
    try:
        return loader.construct_object(yaml.ScalarNode(loader.resolve(yaml.ScalarNode, text, (True, False)), text))
    finally:
        loader.dispose()


_known_value = lru_cache(maxsize=4096)(_constructed)
