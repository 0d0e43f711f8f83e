"""Common names of trainers' metrics: which there are, and how each trainer spells them.

Both are data: ``names.toml`` and ``spellings.toml`` beside this module.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from importlib.resources import files

import msgspec

LONGEST_NAME = 300
"""Characters of a raw name that is looked up; a longer one has no common name."""
_SPACED_SLASH = re.compile(r" ?/ ?")


class Name(msgspec.Struct, frozen=True):
    """One common name."""

    name: str
    """With ``*`` where a part is kept as the trainer spells it."""
    layer: int
    """Layer of the run diagnosis that reads it, 1 to 15; 0: it dates or describes the others."""
    unit: str
    """Empty: none, or as the trainer's reward has it."""
    doc: str


class Named(msgspec.Struct, frozen=True):
    """The raw names of one log, named."""

    trainer: str | None
    """Whose spellings fit best; ``None``: nobody's fit at all."""
    names: dict[str, str | None]
    """Raw name -> common name, ``None`` where there is none for it."""
    shared: dict[str, str]
    """Raw names left without a common name because another one of the log has it -> that common name."""


@cache
def common_names() -> dict[str, Name]:
    """All common names, in the order of the diagnosis."""
    found = _toml("names.toml")
    return {name: Name(name, int(said["layer"]), said["unit"], said["doc"]) for name, said in found.items()}


@cache
def spellings() -> dict[str, dict[str, str]]:
    """Trainer -> raw name -> common name, each with ``*`` for any text."""
    found = _toml("spellings.toml")
    return {trainer: names for trainer, names in found.items() if trainer != "prefixes"}


def about(name: str) -> Name | None:
    """What a common name means; of a name such as ``val.gpqa`` what ``val.*`` means."""
    known = common_names()
    if name in known:
        return known[name]
    fits = (known[family] for family, pattern in _families() if pattern.fullmatch(name))
    return next(fits, None)


def common_name(raw_name: str, trainer: str) -> str | None:
    """The common name of one raw name; ``None``: there is none for it."""
    found = _lookup(raw_name, trainer)
    return None if found is None else found[1]


def named(raw_names: Iterable[str], trainer: str | None = None) -> Named:
    """Common names for all raw names of one log.

    Args:
        raw_names: In the order of the log.
        trainer: Whose they are, where the log tells; else the one most of whose spellings are met.
    """
    raws = list(dict.fromkeys(raw_names))
    if trainer is None:
        trainer = _trainer_of(raws)
    if trainer is None:
        return Named(None, dict.fromkeys(raws), {})
    found = {raw: _lookup(raw, trainer) for raw in raws}
    first: dict[str, str] = {}
    for raw, (_, name) in sorted(((r, f) for r, f in found.items() if f is not None), key=lambda item: item[1][0]):
        first.setdefault(name, raw)
    names = {raw: f[1] if f is not None and first[f[1]] == raw else None for raw, f in found.items()}
    shared = {raw: f[1] for raw, f in found.items() if f is not None and first[f[1]] != raw}
    return Named(trainer, names, shared)


def _trainer_of(raws: Sequence[str]) -> str | None:
    counts = {trainer: len({f[1] for raw in raws if (f := _lookup(raw, trainer))}) for trainer in spellings()}
    best = max(counts, key=lambda trainer: counts[trainer])
    return best if counts[best] else None


@lru_cache(maxsize=1 << 14)
def _lookup(raw_name: str, trainer: str) -> tuple[int, str] | None:
    """(place of the spelling in the trainer's list, common name)."""
    if len(raw_name) > LONGEST_NAME:
        return None
    raw = _SPACED_SLASH.sub("/", raw_name)
    for prefix in _toml("spellings.toml")["prefixes"][trainer]:
        raw = raw.removeprefix(prefix)
    for place, pattern, template in _compiled(trainer):
        if (match := pattern.fullmatch(raw)) is None:
            continue
        if not template:
            return None
        name = template
        for kept in match.groups():
            name = name.replace("*", kept, 1)
        if about(name) is not None:
            return place, name
    return None


@cache
def _compiled(trainer: str) -> list[tuple[int, re.Pattern[str], str]]:
    return [(place, _pattern(raw), name) for place, (raw, name) in enumerate(spellings()[trainer].items())]


@cache
def _families() -> list[tuple[str, re.Pattern[str]]]:
    """Common names with a free part, the longest first: the most that is said counts."""
    return [(name, _pattern(name)) for name in sorted(common_names(), key=len, reverse=True) if "*" in name]


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile("(.+)".join(re.escape(part) for part in text.split("*")))


@cache
def _toml(name: str) -> dict[str, dict[str, str]]:
    return tomllib.loads(files("trajlab.metric_logs").joinpath(name).read_text("utf-8"))
