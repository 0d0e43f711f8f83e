"""prime-rl's files beside the traces: what was learned of a trace later, and indexes. Known by name, not joined.

Annotations name a trace and say whether it was trained on, with which credit and at which step; an index
says where in a stream a record stands. Neither holds a verdict.
"""

from __future__ import annotations

from collections.abc import Iterator

from trajlab.formats import Outcome, Variant
from trajlab.records import Problem
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

VARIANTS = {
    "annotations": Variant("`annotations/<producer>`: facts about traces by `trace_id`; not joined", frozenset()),
    "index": Variant("`*.index.jsonl`: where records stand in a stream", frozenset()),
}


def recognise(probe: Probe) -> str | None:
    """By the first record: a trace's id with facts, or a place in a stream."""
    if probe.shape != "lines":
        return None
    first = next((record for record in probe.records if isinstance(record, dict)), None)
    if first is None or "nodes" in first or "traces" in first:
        return None
    if "offset" in first and ".index.jsonl" in probe.name:
        return "index"
    return "annotations" if "trace_id" in first and ("info" in first or "branches" in first) else None


def read_outcomes(bundle: Bundle) -> Iterator[Outcome | Problem]:
    """No verdict stands in them."""
    del bundle
    yield from ()
