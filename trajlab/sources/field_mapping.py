"""A user's own mapping: where the fields of a record stand that no reader knows."""

from __future__ import annotations

import tomllib
from difflib import get_close_matches
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import msgspec

from trajlab.errors import UsageError, read_named
from trajlab.sources.safe_json import to_bool, to_float, to_int

Kind = type[str] | type[int] | type[float] | type[bool]

COLUMNS: dict[str, Kind] = {
    "native_id": str, "parent_native_id": str, "run": str, "task_id": str, "group_id": str, "attempt": int,
    "split": str, "train_step": int, "sample_index": int, "epoch": int,
    "policy_version_first": str, "policy_version_last": str,
    "agent": str, "agent_version": str, "model": str, "reward": float, "correct": bool, "outcome": bool,
    "termination": str, "stop_reason": str, "gradable": bool, "steps_allowed": int, "logged_steps": int,
    "prompt_tokens": int, "completion_tokens": int, "cached_tokens": int, "reasoning_tokens": int, "seconds": float,
    "cost": float, "started_at": float, "submission": str,
}  # fmt: skip
"""What a mapping may fill: fields of a trajectory, and their types."""

_MISSING = object()


class FieldMapping(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the fields of a record stand.

    A place is a key, or keys and list positions joined by dots (``meta.task``, ``scores.0``); a key that itself holds
    dots is found, too.
    """

    name: str = "mapping"
    """Shown as the variant."""
    files: tuple[str, ...] = ("*",)
    """Patterns of paths below the ingested folder; others go the usual way."""
    messages: tuple[str, ...] | str = ()
    """Lists of chat messages, or JSON text of one; several are joined."""
    prompt: str | None = None
    """Flat text before the agent's first turn."""
    response: str | None = None
    """Flat text of the agent's turns, with what tools answered between them."""
    columns: dict[str, str] = {}
    """Field of a trajectory -> place."""
    constants: dict[str, str | int | float | bool] = {}
    """Field of a trajectory -> value for all records."""
    values: dict[str, dict[str, str | int | float | bool]] = {}
    """Field of a trajectory -> the log's word -> value."""
    rewards: dict[str, str] = {}
    """Component of the reward -> place."""

    @property
    def conversation(self) -> tuple[str, ...]:
        """Places of the conversation."""
        if self.response is not None:
            return (self.response,)
        return (self.messages,) if isinstance(self.messages, str) else self.messages

    @property
    def places(self) -> dict[str, str]:
        """Every mapped name and its place."""
        whole = {f"messages[{n}]": place for n, place in enumerate(self.conversation)} if not self.response else {}
        texts = {"prompt": self.prompt, "response": self.response}
        named = {name: place for name, place in texts.items() if place is not None}
        return {**whole, **named, **self.columns, **{f"rewards.{name}": place for name, place in self.rewards.items()}}

    def speaks_of(self, relpath: str) -> bool:
        """Whether a file is one that the mapping is for."""
        name = relpath.rpartition("/")[2]
        return any(fnmatch(relpath, pattern) or fnmatch(name, pattern) for pattern in self.files)


def look_up(record: Any, place: str) -> Any:
    """The value at a place; ``None`` where there is none."""
    found = _find(record, place)
    return None if found is _MISSING else found


def is_there(record: Any, place: str) -> bool:
    """Whether a record has the place, be its value null."""
    return _find(record, place) is not _MISSING


def _find(record: Any, place: str) -> Any:
    if isinstance(record, dict):
        if place in record:
            return record[place]
        for end in (at for at, letter in enumerate(place) if letter == "."):
            inner = record.get(place[:end], _MISSING)
            if isinstance(inner, (dict, list)):
                found = _find(inner, place[end + 1 :])
                if found is not _MISSING:
                    return found
        return _MISSING
    if isinstance(record, list):
        head, dot, rest = place.partition(".")
        number = int(head) if head.removeprefix("-").isdecimal() and len(head) < 10 else None
        if number is None or not -len(record) <= number < len(record):
            return _MISSING
        return _find(record[number], rest) if dot else record[number]
    return _MISSING


def fitted(value: Any, kind: Kind) -> Any:
    """A foreign value as a type; ``None`` where it is none."""
    if value is None:
        return None
    if kind is bool:
        return to_bool(value)
    if kind is int:
        return to_int(value)
    if kind is float:
        return to_float(value)
    return value if isinstance(value, str) else str(value) if isinstance(value, (bool, int, float)) else None


def load_mapping(path: str | Path) -> FieldMapping:
    """Read a mapping from a TOML file.

    Raises:
        UsageError: It cannot be read, names what is not known, or names no conversation.
    """
    place = str(path)
    try:
        table = tomllib.loads(read_named(Path(path)).decode())
        mapping = msgspec.convert(table, FieldMapping)
    except OSError as error:
        raise UsageError(place, error.strerror or str(error), "a TOML file", "Check the path") from error
    except (ValueError, msgspec.ValidationError, RecursionError) as error:
        raise UsageError(place, f"no mapping: {error}", f"TOML with {_KEYS}", "See README, Other formats") from error
    _refuse(mapping, place)
    return mapping


_KEYS = ", ".join(FieldMapping.__struct_fields__)


def _refuse(mapping: FieldMapping, place: str) -> None:
    for name in (*mapping.columns, *mapping.constants, *mapping.values):
        if name not in COLUMNS:
            near = get_close_matches(name, COLUMNS, n=1)
            hint = f"Did you mean {near[0]}?" if near else ""
            raise UsageError(place, f"no field {name!r}", f"one of {', '.join(COLUMNS)}", hint)
    for name, value in mapping.constants.items():
        if fitted(value, COLUMNS[name]) is None:
            raise UsageError(place, f"constants.{name} = {value!r}", f"a {COLUMNS[name].__name__}", "Correct the value")
    for name, words in mapping.values.items():
        for word, value in words.items():
            if fitted(value, COLUMNS[name]) is None:
                said = f"values.{name}.{word} = {value!r}"
                raise UsageError(place, said, f"a {COLUMNS[name].__name__}", "Correct the value")
    if bool(mapping.response) == bool(mapping.messages):
        found = "messages and response" if mapping.response else "neither messages nor response"
        raise UsageError(place, found, "one of them: the place of the conversation", "Name one of them")
