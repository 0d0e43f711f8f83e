"""YAML as trainers dump it, read without surprises: plain values only, bounded depth, size and expansion."""

from __future__ import annotations

import re
from typing import Any

import yaml

from trajlab.sources.dumped_yaml import UnusualError, read_dump
from trajlab.sources.expansion import check_expansion
from trajlab.sources.yaml_values import Loader

MAX_BYTES = 64 << 20
"""A larger document is not read: YAML is slow."""
_DEEP = re.compile(rb"(?:\A|\n)[ ?\-]{1000}")
"""Block collections nest by column: a line that starts this far in may nest as deep."""


def load_yaml(data: bytes) -> Any:
    """The value of one YAML document, as JSON would have it: whatever a key looks like, it is its text.

    Raises:
        ValueError: The text is no YAML document of plain values, or is too large, too deep, or expands too far.
    """
    if len(data) > MAX_BYTES:
        raise ValueError(f"YAML of {len(data)} bytes; at most {MAX_BYTES} are read")
    text = data.decode("utf-8", "replace")
    try:
        try:
            value, shared = read_dump(text)
        except UnusualError:
            if _DEEP.search(data):
                raise ValueError("YAML is nested too deeply") from None
            value = shared = yaml.load(text, Loader=Loader)
        check_expansion(shared)
    except yaml.YAMLError as error:
        raise ValueError(f"YAML is malformed: {' '.join(str(error).split())[:300]}") from None
    except RecursionError:
        raise ValueError("YAML is nested too deeply") from None
    return value
