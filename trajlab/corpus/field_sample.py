"""Which fields of the sources their readers know: looked at in a few records of a few sources.

What is read of the samples that come with trajlab was found by changing each of their fields (:mod:`.fields`) and
stands in ``formats/known_fields.json``. A field that is not there is changed in a copy here and now, as far as a budget
reaches.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from trajlab.corpus.fields import field_names, first_records, ignored_on_purpose, read_among
from trajlab.corpus.plan import Claim, gathered
from trajlab.corpus.rows import failed
from trajlab.formats.known import known_fields
from trajlab.records import Problem
from trajlab.sources.files import SourceFile

SOURCES = 3
"""Sources looked at, of each run, format and variant: spread over their paths."""
RECORDS = 2
"""First records of a source that are looked at."""
LONGEST = 400_000
"""Bytes of a source that are looked at; of a longer first record nothing is."""
TRIED = 8
"""Fields of a variant that are changed in a copy, where nothing is known of them; the others count as unknown."""
TRIED_OF_MAPPING = 40
"""The same, of a source that the user's own mapping reads: no sample tells what is read there."""
LARGEST_TRIED = 200_000
"""Bytes of the records and of the other files of their conversation up to which a field is changed in a copy."""


class SampledFields(msgspec.Struct, frozen=True):
    """Fields of the first records of one source."""

    file: SourceFile
    format: str
    records: int
    read: int
    """Fields that are read."""
    ignored: tuple[str, ...]
    """Fields that are passed over on purpose."""
    unknown: tuple[str, ...]
    """Fields that the reader does not know."""

    @property
    def root(self) -> str:
        """Root of the file."""
        return self.file.root

    @property
    def source(self) -> str:
        """Path of the file below its root."""
        return self.file.relpath


def sample_fields(
    claims: Iterable[Claim], before: Sequence[SampledFields]
) -> tuple[list[SampledFields], list[tuple[Claim, Problem]]]:
    """Look at the fields of a sample of the logs; what is known of unchanged files is kept.

    Returns:
        The fields, and what could not be looked at.
    """
    known = {(one.file, one.format): one for one in before}
    groups: dict[tuple[str, str, str], list[list[Claim]]] = {}
    for members in gathered(claims):
        first = members[0]
        groups.setdefault((first.run, first.format or "", first.variant or ""), []).append(members)
    tried: dict[tuple[str, str], dict[str, bool]] = {}
    found: list[SampledFields] = []
    problems: list[tuple[Claim, Problem]] = []
    for members in [one for sources in groups.values() for one in _spread(sources)]:
        said = members[0]
        try:
            own = known.get((said.file, said.format or "")) or _sampled(members, tried)
        except (OSError, RecursionError):
            continue  # the reading of the file itself says so
        except MemoryError:
            raise
        except Exception as error:  # a defect of ours, met in one file, must not cost the others
            problems.append((said, failed(error, "its fields are not looked at")))
            continue
        if own is not None:
            found.append(own)
    return found, problems


def _spread(sources: list[list[Claim]]) -> list[list[Claim]]:
    """The first, the last and those between, at equal distances."""
    if len(sources) <= SOURCES:
        return sources
    return [sources[number * (len(sources) - 1) // (SOURCES - 1)] for number in range(SOURCES)]


def _sampled(members: list[Claim], tried: dict[tuple[str, str], dict[str, bool]]) -> SampledFields | None:
    said = members[0]
    name = said.format or ""
    records = first_records(said.file, RECORDS, LONGEST)
    if not records:
        return None
    if said.mapping is not None:
        return _by_mapping(said, records)
    own = known_fields().get(name, frozenset())
    names = field_names(records)
    unlisted = [field for field in names if field not in own and not ignored_on_purpose(name, field)]
    verdicts = tried.setdefault((name, said.variant or ""), {})
    asked = [field for field in unlisted if field not in verdicts][: max(TRIED - len(verdicts), 0)]
    if asked and sum(member.file.size for member in members[1:]) <= LARGEST_TRIED:
        read = read_among(said, [member.file for member in members], records, frozenset(asked))
        verdicts.update({field: field in read for field in asked})
    unknown = tuple(field for field in unlisted if not verdicts.get(field, False))
    ignored = tuple(field for field in names if field not in own and ignored_on_purpose(name, field))
    return SampledFields(said.file, name, len(records), len(names) - len(unknown) - len(ignored), ignored, unknown)


def _by_mapping(said: Claim, records: list[Any]) -> SampledFields:
    """What a mapping does not name is passed over; it may name a place within a field, so each is tried."""
    names = field_names(records)
    asked, untried = names[:TRIED_OF_MAPPING], names[TRIED_OF_MAPPING:]
    read = read_among(said, [said.file], records, frozenset(asked))
    ignored = tuple(name for name in asked if name not in read)
    return SampledFields(said.file, said.format or "", len(records), len(asked) - len(ignored), ignored, tuple(untried))
