"""What of a bundle was lost: the problems that mean so, and the bytes they stand for."""

from __future__ import annotations

import msgspec

from trajlab.records import Problem
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.reading import line_length

LOST = frozenset(
    {
        "unreadable", "unreadable_record", "reader_failed", "no_messages", "wrong_type", "truncated",
        "truncated_archive", "not_json", "record_too_large", "expansion_limit", "document_too_large",
        "ambiguous_format", "empty_file", "file_name",
    }
)  # fmt: skip
"""Problem codes that mean a record or a file was lost; the others were read, cleaned or only not reconciled."""
_MEASURED = 200
"""Lost records whose length is looked up; the others count as long as these on average."""


class BundleCoverage(msgspec.Struct):
    """What of one bundle was not read."""

    lost: int
    """Problems that mean a record was lost."""
    lost_bytes: int
    """Bytes on disk of those records."""


def bundle_coverage(bundle: Bundle, size: int, trajectories: int, lost: list[Problem]) -> BundleCoverage:
    """What of a bundle was not read.

    Lines that are not compressed are measured; elsewhere a lost record counts as long as the average one.

    Args:
        bundle: What was read.
        size: Its bytes on disk.
        trajectories: Trajectories that came of it.
        lost: Problems that mean a record was lost.
    """
    if not lost:
        return BundleCoverage(0, 0)
    if not trajectories:
        return BundleCoverage(len(lost), size)
    offsets = [problem.offset for problem in lost if problem.offset is not None]
    probe = Probe(bundle.file)
    if offsets and probe.shape == "lines" and probe.compression is None:
        measured = [line_length(bundle.file, offset) for offset in offsets[:_MEASURED]]
        missing = round(sum(measured) / len(measured) * len(lost))
    else:
        missing = round(size * len(lost) / (len(lost) + trajectories))
    return BundleCoverage(len(lost), min(missing, size))
