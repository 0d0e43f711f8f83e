"""YAML as trainers dump it, read without surprises: plain values only, bounded depth, size and expansion."""

from __future__ import annotations

import re
from typing import Any

import yaml

from trajlab.sources.expansion import check_expansion

MAX_BYTES = 64 << 20
"""A larger document is not read: YAML is slow."""
_DEEP = re.compile(rb"(?:\A|\n)[ ?\-]{1000}")
"""Block collections nest by column: a line that starts this far in may nest as deep."""


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """Builds plain values; merge keys stay keys, for they can multiply, and dates stay text."""

    yaml_implicit_resolvers = {  # noqa: RUF012 - a table of the base class
        first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith((":timestamp", ":merge"))]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def flatten_mapping(self, node: Any) -> None:
        """Merge nothing."""


def load_yaml(data: bytes) -> Any:
    """The value of one YAML document.

    Raises:
        ValueError: The text is no YAML document of plain values, or is too large, too deep, or expands too far.
    """
    if len(data) > MAX_BYTES:
        raise ValueError(f"YAML of {len(data)} bytes; at most {MAX_BYTES} are read")
    if _DEEP.search(data):
        raise ValueError("YAML is nested too deeply")
    try:
        value = yaml.load(data.decode("utf-8", "replace"), Loader=_Loader)
        check_expansion(value)
    except yaml.YAMLError as error:
        raise ValueError(f"YAML is malformed: {' '.join(str(error).split())[:300]}") from None
    except (RecursionError, TypeError, OverflowError) as error:
        raise ValueError(f"YAML cannot be read: {str(error)[:200] or 'nested too deeply'}") from None
    return value

