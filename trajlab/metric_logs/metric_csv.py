"""Metrics as CSV: exports of wandb, and the table that a notebook shows while it trains."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator

from trajlab.metric_logs import Metric, Variant
from trajlab.metric_logs._values import CLOCKS, STEP_KEYS, metric, number, whole
from trajlab.metric_logs.naming import named
from trajlab.records import Problem
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.reading import lines

VARIANTS = {
    "table": Variant(
        "a column for the step (`Step`, `step`, `_step` …), one for each metric; commas or tabs", frozenset()
    ),
    "wandb_panel": Variant(
        "export of a wandb panel: columns `RUN - METRIC`, several runs side by side; `__MIN`, `__MAX` are passed over",
        frozenset(),
    ),
}
MOST_COLUMNS = 5_000
_PANEL = re.compile(r"(.+) - ([^\s].*)")
_PANEL_RANGE = ("__MIN", "__MAX")


def recognise(probe: Probe) -> str | None:
    """By a header that names a step and a metric that a trainer logs, and by numbers below it."""
    if probe.shape != "text":
        return None
    head = probe.head.decode("utf-8", "replace").removeprefix("\ufeff")
    first, newline, rest = head.partition("\n")
    columns = _cells(first)
    if not newline or not 2 <= len(columns) <= MOST_COLUMNS or _step_column(columns) is None:
        return None
    panel = _panel(columns)
    names = [metric_name for _, metric_name in panel.values()] if panel else columns
    values = _cells(rest.partition("\n")[0])
    if named(names).trainer is None or (rest.strip() and not _numbers(values)):
        return None
    return "wandb_panel" if panel else "table"


def _cells(line: str) -> list[str]:
    line = line.rstrip("\r\n")
    delimiter = "\t" if line.count("\t") > line.count(",") else ","
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _step_column(columns: list[str]) -> int | None:
    found = [columns.index(key) for key in STEP_KEYS if key in columns]
    return found[0] if found else None


def _panel(columns: list[str]) -> dict[int, tuple[str, str]]:
    """Place of a column -> (run, metric), where all but the step are of the form ``RUN - METRIC``."""
    own = {place: name for place, name in enumerate(columns) if name not in STEP_KEYS and name not in CLOCKS}
    found = {place: _PANEL.fullmatch(name) for place, name in own.items()}
    if not found or any(match is None for match in found.values()):
        return {}
    pairs = {place: (match[1], match[2]) for place, match in found.items() if match is not None}
    kept = {place: pair for place, pair in pairs.items() if not pair[1].endswith(_PANEL_RANGE)}
    # wandb writes the step of its own counter beside each run, too.
    return {place: pair for place, pair in kept.items() if pair[1] not in STEP_KEYS}


def _numbers(values: list[str]) -> bool:
    filled = [value for value in values if value.strip()]
    return bool(filled) and sum(number(value) is not None for value in filled) >= 0.6 * len(filled)


def read_metrics(bundle: Bundle) -> Iterator[Metric | Problem]:
    """One row for each number; an empty cell is not logged."""
    problems: list[Problem] = []
    columns: list[str] = []
    panel: dict[int, tuple[str, str]] = {}
    at = 0
    for line in lines(bundle, problems):
        cells = _cells(line.data.decode("utf-8", "replace"))
        if not columns:
            columns, at = cells, _step_column(cells) or 0
            panel = _panel(cells) if bundle.variant == "wandb_panel" else {}
            continue
        step = whole(cells[at]) if at < len(cells) else None
        if step is None or len(cells) != len(columns):
            yield _odd(cells, columns, step, line.number, line.finished)
            if step is None or not line.finished:
                continue
        for place, value in enumerate(cells[: len(columns)]):
            if columns[place] in STEP_KEYS or columns[place] in CLOCKS or not value.strip():
                continue
            run, name = panel.get(place, (None, columns[place]))
            if panel and run is None:
                continue
            if (found := metric(step, name, value, line.number)) is not None:
                yield found if run is None else Metric(step, name, found.value, found.line, found.logged_as, run)
    yield from problems


def _odd(cells: list[str], columns: list[str], step: int | None, line: int, finished: bool) -> Problem:
    if not finished:
        return Problem("truncated", "the last line is not whole; it is read once it is", line)
    if step is None:
        return Problem("unreadable_record", "a row without a whole number for the step; not read", line)
    return Problem("wrong_type", f"{len(cells)} cells; expected {len(columns)}; those that are there are read", line)
