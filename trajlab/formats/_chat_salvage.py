"""Chat rows in which a value has a wrong type: the value is passed over and named, the rest of the row stays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from trajlab.formats._chat_messages import ChatMessage

_NAMED = 5
"""Values named in a problem; of more, how many."""


def without_wrong_types(record: dict[str, Any], lists: Sequence[str]) -> tuple[dict[str, Any], list[str]]:
    """A row whose messages hold only values that can be read, and the places of the others.

    Args:
        record: The decoded row.
        lists: Keys under which messages may stand.
    """
    mended, dropped = dict(record), []
    for name in lists:
        value = record.get(name)
        if isinstance(value, list):
            mended[name], places = fitting_messages(value)
            dropped += [f"{name}.{place}" for place in places]
    return mended, dropped


def fitting_messages(values: list[Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """Messages without values of a wrong type; what is no object is left out."""
    kept: list[dict[str, Any]] = []
    dropped: list[str] = []
    for number, message in enumerate(values):
        if not isinstance(message, dict):
            dropped.append(f"{number} ({type(message).__name__})")
            continue
        fit = {key: value for key, value in message.items() if _fits(key, value)}
        dropped += [f"{number}.{key} ({type(message[key]).__name__})" for key in message.keys() - fit.keys()]
        kept.append(fit)
    return kept, dropped


def _fits(key: str, value: Any) -> bool:
    try:
        msgspec.convert({key: value}, ChatMessage, strict=False)
    except (msgspec.ValidationError, RecursionError):
        return False
    return True


def said_of(dropped: list[str]) -> str:
    """The places in a sentence."""
    more = f" and {len(dropped) - _NAMED} more" if len(dropped) > _NAMED else ""
    return f"passed over, of a wrong type: {', '.join(sorted(dropped)[:_NAMED])}{more}"
