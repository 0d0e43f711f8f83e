"""Why a file is claimed by a reader, or by none: what each expects, what of it is there, what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from trajlab.corpus.fields import Fields, fields_of_claim
from trajlab.corpus.plan import claim_of
from trajlab.formats import COMPANIONS, FALLBACK_LOGS, LOGS, companion_format, log_format
from trajlab.formats.expected import EXPECTED
from trajlab.metric_logs import METRIC_LOGS, metric_format
from trajlab.sources.field_mapping import FieldMapping, is_there
from trajlab.sources.files import SourceFile
from trajlab.sources.probe import Probe

_KINDS: tuple[tuple[dict[str, str], Callable[[str], Any]], ...] = (
    ({**LOGS, **FALLBACK_LOGS}, log_format),
    (COMPANIONS, companion_format),
    (METRIC_LOGS, metric_format),
)
NEAR = 0.5
"""A variant is near where at least this share of what it expects is there."""


class Match(msgspec.Struct, frozen=True):
    """One variant of a format, held against a file."""

    format: str
    variant: str
    found: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def share(self) -> float:
        """Share of what the variant expects that is there."""
        expected = len(self.found) + len(self.missing)
        return len(self.found) / expected if expected else 0.0


class Reasons(msgspec.Struct, frozen=True):
    """What was seen of a file, and how near each format is."""

    shape: str
    keys: tuple[str, ...]
    """Keys of the document or its first record, columns of a Parquet file."""
    claimed_by: str | None
    variant: str | None
    problem: str | None
    """Why it is not claimed or not readable, where that is known."""
    matches: tuple[Match, ...]
    """Nearest first."""
    fields: Fields | None
    """Fields read and passed over; ``None``: not asked, claimed by no reader, or neither JSON nor Parquet."""

    def lines(self) -> list[str]:
        """The same in words."""
        said = [f"looks like: {self.shape}", f"keys: {', '.join(self.keys) or 'none'}"]
        said.append(f"claimed by: {self.claimed_by} ({self.variant})" if self.claimed_by else "claimed by: no reader")
        if self.problem:
            said.append(f"problem: {self.problem}")
        near = _by_format(match for match in self.matches if match.share >= NEAR)
        for (name, found, missing), variants in near.items():
            words = [f"has {', '.join(found)}"] if found else []
            words += [f"lacks {', '.join(missing)}"] if missing else []
            if not missing and name != self.claimed_by:
                words.append("another reader tells more" if self.claimed_by else "but its values are not as expected")
            said.append(f"{name} ({', '.join(variants)}): {'; '.join(words)}")
        if self.claimed_by is None and not near:
            said.append("no reader is near; a mapping can name where its fields stand (--mapping)")
        return said + (_told_of(self.fields) if self.fields is not None else [])


def _told_of(fields: Fields) -> list[str]:
    total = len(fields.read) + len(fields.joins) + len(fields.silent) + len(fields.ignored) + len(fields.unknown)
    records = f"{fields.records:,} record{'s' * (fields.records != 1)}"
    said = [f"fields of the first {records}: {len(fields.read)} of {total} are read"]
    if fields.joins:
        said.append(f"read only where the order does not tell what belongs together: {', '.join(fields.joins)}")
    if fields.silent:
        said.append(f"read, but telling nothing here: {', '.join(fields.silent)}")
    if fields.ignored:
        said.append(f"passed over on purpose: {', '.join(fields.ignored)}")
    if fields.unknown:
        said.append(f"not known to the reader: {', '.join(fields.unknown)}")
    if fields.untried:
        said.append(f"{fields.untried:,} further fields were not looked at")
    return said


_Told = tuple[str, tuple[str, ...], tuple[str, ...]]


def _by_format(matches: Iterable[Match]) -> dict[_Told, list[str]]:
    """Variants of one format of which the same is told, together."""
    told: dict[_Told, list[str]] = {}
    for match in matches:
        told.setdefault((match.format, match.found, match.missing), []).append(match.variant)
    return told


def why(file: SourceFile, mapping: FieldMapping | None = None, *, fields: bool = True) -> Reasons:
    """Hold a file against every format.

    Args:
        file: The file.
        mapping: The user's own mapping.
        fields: Also tell which fields are read; each is changed and read again.

    Returns:
        What was seen; variants that declare nothing to expect are left out.
    """
    probe = Probe(file)
    said = claim_of(probe, None, mapping)
    record = next((one for one in probe.records if isinstance(one, dict)), None)
    keys = probe.columns or tuple(sorted(probe.keys)) or tuple(sorted(record or ()))
    matches = [
        _match(name, variant, EXPECTED[name, variant], keys)
        for name, variant in _variants()
        if (name, variant) in EXPECTED
    ]
    if mapping is not None:
        matches.append(_mapped(mapping, record))
    matches.sort(key=lambda match: (-match.share, match.format, match.variant))
    problem = None if said.problem is None else said.problem.message
    told = fields_of_claim(said, probe.shape) if fields else None
    return Reasons(probe.shape, keys, said.format, said.variant, problem, tuple(matches), told)


def _variants() -> Iterable[tuple[str, str]]:
    for names, module_of in _KINDS:
        for name in names:
            for variant in module_of(name).VARIANTS:
                yield name, variant


def _match(name: str, variant: str, expects: Iterable[str], keys: Iterable[str]) -> Match:
    there = set(keys)
    found, missing = [], []
    for expected in expects:
        held = [key for key in expected.split("|") if key in there]
        if held:
            found.append(held[0])
        else:
            missing.append(expected.replace("|", " or "))
    return Match(name, variant, tuple(found), tuple(missing))


def _mapped(mapping: FieldMapping, record: Any) -> Match:
    places = mapping.places.values()
    found = tuple(place for place in places if is_there(record, place))
    return Match("mapped", mapping.name, found, tuple(place for place in places if place not in found))
