"""The metric log of verl's file logger: one line a training step, ``{"step": N, "data": {metric: value}}``."""

from __future__ import annotations

from collections.abc import Iterator

from trajlab.metric_logs import Metric, Variant
from trajlab.metric_logs._rows import decoded
from trajlab.metric_logs._values import metric, whole
from trajlab.records import Problem
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.reading import lines

VARIANTS = {
    "file_logger": Variant(
        "`<project>/<experiment>.jsonl`: `{step, data: {metric: value}}`; a `timestamp` beside them is passed over",
        frozenset(),
    )
}

_KEYS = {"step", "data"}


def recognise(probe: Probe) -> str | None:
    """By lines that hold a step, its metrics, and at most a time."""
    if probe.shape not in ("lines", "object") or b'"data"' not in probe.head:
        return None
    if not _KEYS <= probe.keys <= _KEYS | {"timestamp"}:
        return None
    first = probe.records[0] if probe.records else None
    known = isinstance(first, dict) and isinstance(first.get("data"), dict) and whole(first.get("step")) is not None
    return "file_logger" if known else None


def read_metrics(bundle: Bundle) -> Iterator[Metric | Problem]:
    """One row for each number of each line; what is no number is passed over."""
    problems: list[Problem] = []
    first_step: int | None = None
    for line in lines(bundle, problems):
        record = decoded(line)
        if isinstance(record, Problem):
            yield record
            continue
        step = whole(record.get("step")) if isinstance(record, dict) else None
        data = record.get("data") if isinstance(record, dict) else None
        if step is None or not isinstance(data, dict):
            message = "a line without step or data; expected {step, data}"
            yield Problem("unreadable_record", message, line.number, line.offset)
            continue
        if first_step is None:
            first_step = step
        for raw_name, value in data.items():
            # The file logger writes numbers, and NaN as null; a text is none of them.
            if not isinstance(value, str) and (found := metric(step, raw_name, value, line.number)) is not None:
                yield found
    if first_step is not None and first_step > 1:
        yield Problem(
            "metrics_begin_late",
            f"begins at step {first_step}: verl's file logger empties its file when a run is resumed",
        )
    yield from problems
