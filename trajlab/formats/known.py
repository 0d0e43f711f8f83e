"""What is known of a format's fields: those its reader reads, and those of them that join one record to another.

A result's id, a turn's parent: readers go by them where order alone does not tell what belongs together. Where it does,
a changed one changes nothing that is read.
"""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from functools import cache
from importlib.resources import files

_KEYS = frozenset(
    {
        "call_id", "messageId", "parentID", "parentId", "parentUuid", "parent_id", "parent_observation_id",
        "span_id", "tool_call_id", "tool_use_id", "traceId", "trace_id", "uuid",
    }
)  # fmt: skip
_CALLS = ("tool_calls.*.id", "toolCalls.*.id")
# Where no sample needs them: a result is given to the call of that id, or of that tool, if several wait for one.
_RESULTS: dict[str, tuple[str, ...]] = {
    "art": ("trajectories.*.messages_and_choices.*.name", "trajectories.*.messages_and_choices.*.tool_call_id"),
    "chat": (
        *(f"{messages}.*.{key}" for messages in ("messages", "conversations", "trajectory", "conversation", "items")
          for key in ("name", "tool_call_id", "call_id")),
        "*.content.*.tool_use_id",
    ),
    "mini_swe_agent": ("messages.*.call_id", "messages.*.tool_call_id"),
    "trl": ("completion.*.name", "completion.*.tool_call_id"),
    "verifiers": ("completion.*.name", "completion.*.tool_call_id"),
}  # fmt: skip


@cache
def known_fields() -> dict[str, frozenset[str]]:
    """By format, the fields of trajlab's own samples that are read; written by ``tests/read_fields.py``."""
    text = files("trajlab.formats").joinpath("known_fields.json").read_text("utf-8")
    return {name: frozenset(fields) for name, fields in json.loads(text).items()}


def joins_records(format_name: str, field: str) -> bool:
    """Whether a reader goes by a field where order does not tell what belongs together.

    Args:
        format_name: Name of the format.
        field: Name of the field; list positions are ``*``.
    """
    key = field.rpartition(".")[2] in _KEYS or field.endswith(_CALLS)
    if key and field in known_fields().get(format_name, ()):
        return True
    return any(fnmatchcase(field, pattern) for pattern in _RESULTS.get(format_name, ()))
