"""How large a value really is: parts of it may be shared, and a short text can stand for a great many values."""

from __future__ import annotations

from typing import Any

MAX_VALUES = 50_000_000


def check_expansion(value: Any, limit: int = MAX_VALUES) -> None:
    """Refuse a value that holds itself, or more than ``limit`` values once all that is shared is written out.

    Raises:
        ValueError: It does.
        RecursionError: It is nested too deeply.
    """
    _expanded(value, limit, {}, set())


def _expanded(value: Any, limit: int, known: dict[int, int], open_values: set[int]) -> int:
    """How many values there are; shared ones are counted once and multiplied."""
    if not isinstance(value, (dict, list, tuple)):
        return 1
    identity = id(value)
    if identity in open_values:
        raise ValueError("a value that holds itself")
    count = known.get(identity)
    if count is None:
        open_values.add(identity)
        inner = value.values() if isinstance(value, dict) else value
        count = 1
        for item in inner:
            count += _expanded(item, limit, known, open_values) if isinstance(item, (dict, list, tuple)) else 1
        open_values.discard(identity)
        if count > limit:
            raise ValueError(f"it expands to more than {limit} values")
        known[identity] = count
    return count
