"""The metric log of verl's file logger: one line a training step, ``{"step": N, "data": {metric: value}}``."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from trajlab.formats import Metric, Variant
from trajlab.records import Problem
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.reading import lines
from trajlab.sources.safe_json import loads

VARIANTS = {
    "file_logger": Variant(
        "`<project>/<experiment>.jsonl`: `{step, data: {metric: value}}`; a `timestamp` beside them is passed over",
        frozenset(),
    )
}

NAMES = {
    "training/epoch": "epoch",
    "critic/score/mean": "score.mean",
    "actor/lr": "actor.lr",
    "critic/lr": "critic.lr",
    "response_length/mean": "response_tokens.mean",
    "timing_s/step": "step.seconds",
}
"""verl's names of the metrics that are used here -> their common names."""
VALIDATION = ("val-core/", "val/")
"""What validation scores begin with, newest version first."""
_KEYS = {"step", "data"}
_BEYOND_INT64 = 1 << 63


def recognise(probe: Probe) -> str | None:
    """By lines that hold a step, its metrics, and at most a time."""
    if probe.shape != "lines" or b'"data"' not in probe.head:
        return None
    first = probe.records[0] if probe.records else None
    if not isinstance(first, dict) or not _KEYS <= set(first) <= _KEYS | {"timestamp"}:
        return None
    return "file_logger" if isinstance(first["data"], dict) and _step(first["step"]) is not None else None


def read_metrics(bundle: Bundle) -> Iterator[Metric | Problem]:
    """One row for each number of each line; what is no number is passed over."""
    problems: list[Problem] = []
    for line in lines(bundle, problems):
        try:
            record = loads(line.data).value
        except ValueError as error:
            yield Problem("unreadable_record", f"no metrics: {error}", line.number, line.offset)
            continue
        step = _step(record.get("step")) if isinstance(record, dict) else None
        data = record.get("data") if isinstance(record, dict) else None
        if step is None or not isinstance(data, dict):
            message = "a line without step or data; expected {step, data}"
            yield Problem("unreadable_record", message, line.number, line.offset)
            continue
        for raw_name, found in data.items():
            if isinstance(found, (int, float)) or found is None:
                yield Metric(step, common_name(raw_name), raw_name, _finite(found), line.number)
    yield from problems


def common_name(raw_name: str) -> str | None:
    """The name shared by all trainers; validation scores keep what they were measured on and how."""
    for start in VALIDATION:
        if raw_name.startswith(start):
            return f"val.{raw_name.removeprefix(start)}"
    return NAMES.get(raw_name)


def _step(value: Any) -> int | None:
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < _BEYOND_INT64
    return value if whole else None


def _finite(value: float | None) -> float | None:
    """NaN and the infinities are no measurement; verl itself writes them as null."""
    try:
        number = None if value is None else float(value)
    except OverflowError:
        return None
    return number if number is not None and math.isfinite(number) else None
