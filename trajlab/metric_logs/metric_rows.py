"""Metrics as rows of named numbers: what prime-rl, ART, tinker-cookbook and loops of one's own write, and exports."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from trajlab.metric_logs import Metric, Variant
from trajlab.metric_logs._rows import are_metrics, decoded, read_rows, step_key
from trajlab.metric_logs._values import STEP_KEYS
from trajlab.records import Problem
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.reading import elements, lines, parquet_rows

VARIANTS = {
    "lines": Variant(
        "JSON lines `{step, metric: number, …}`: `metrics.jsonl` of prime-rl and tinker-cookbook, `history.jsonl` of "
        "ART, wandb histories, loops of one's own; the step is `step`, `global_step`, `training_step`, `_step` …",
        frozenset(),
    ),
    "list": Variant("the same rows as a JSON list", frozenset()),
    "parquet": Variant("the same rows as Parquet", frozenset()),
}

_LOOKED_AT = 50
"""Rows that tell which key is the step."""


def recognise(probe: Probe) -> str | None:
    """By rows with a step and little else than numbers, at least one of them by a name that a trainer uses."""
    if probe.shape == "parquet":
        wanted = any(key in probe.columns for key in STEP_KEYS)
        return "parquet" if wanted and are_metrics(probe.records) else None
    if probe.shape == "object" and b"\n" in probe.head.strip():
        return None
    if probe.shape not in ("lines", "list", "object") or not any(key.encode() in probe.head for key in STEP_KEYS):
        return None
    # A document of one line may be the first line of a log that is being written.
    variant = "list" if probe.shape == "list" else "lines"
    return variant if probe.records and are_metrics(probe.records) else None


def read_metrics(bundle: Bundle) -> Iterator[Metric | Problem]:
    """One row for each number of each row."""
    problems: list[Problem] = []
    key = step_key([row for _, row in islice(_rows(bundle, []), _LOOKED_AT)])
    if key is not None:
        yield from read_rows(_rows(bundle, problems), key)
    yield from problems


def _rows(bundle: Bundle, problems: list[Problem]) -> Iterator[tuple[int, Any]]:
    if bundle.variant == "parquet":
        yield from enumerate(parquet_rows(bundle, problems), 1)
        return
    source = elements(bundle, problems) if bundle.variant == "list" else lines(bundle, problems)
    for number, line in enumerate(source, 1):
        row = decoded(line)
        if isinstance(row, Problem):
            problems.append(row)
        else:
            yield (number if bundle.variant == "list" else line.number), row
