"""How much of the logs was understood, as the section on provenance shows it."""

from __future__ import annotations

from trajlab.checks.facts import Reading
from trajlab.corpus.field_sample import RECORDS, SOURCES
from trajlab.report.tables import details, plain_table
from trajlab.report.text import Html
from trajlab.stats import per_cent


def understood(reading: Reading) -> list[Html]:
    """How much of the logs was understood, and the fields that are not read."""
    rows = [
        {
            "of": name,
            "understood": f"{share.understood:,} of {share.seen:,}" if share.seen else "none there",
            "share": "–" if share.share is None else f"{per_cent(share.share, 2)} %",
        }
        for name, share in reading.understood.items()
    ]
    note = f"names in the first {RECORDS} records of {reading.sampled:,} sources, at most {SOURCES} of a variant"
    parts = [plain_table(rows, caption=f"coverage (fields: {note})")]
    names = [
        {"format": name, "the reader does not know": ", ".join(own.unknown) or "–",
         "passed over on purpose": ", ".join(own.ignored) or "–"}
        for name, own in reading.fields.items()
    ]  # fmt: skip
    return [*parts, details("fields that are not read", plain_table(names))] if names else parts
