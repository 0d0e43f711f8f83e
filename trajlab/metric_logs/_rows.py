"""Rows of metrics, whatever holds them: which key is the step, and what makes a row one of metrics."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from trajlab.metric_logs import Metric
from trajlab.metric_logs._values import CLOCKS, STEP_KEYS, metric, number, whole
from trajlab.metric_logs.naming import named
from trajlab.records import Problem
from trajlab.sources.safe_json import loads
from trajlab.sources.streams import Line

NUMBERS = 0.6
"""Least share of a row's values that are numbers: runs' names, dates and hosts may stand beside them."""
LONGEST_TEXT = 300
"""Characters; a longer text is no label of a row but a rollout."""


def decoded(line: Line) -> Any:
    """The value of a line, or the problem with it."""
    try:
        return loads(line.data).value
    except ValueError as error:
        if not line.finished:
            return unfinished(line, error)
        return Problem("unreadable_record", f"no metrics: {error}", line.number, line.offset)


def unfinished(line: Line, error: ValueError) -> Problem:
    """What is said of a last line that a trainer is still writing."""
    message = f"the last line is not whole; it is read once it is: {error}"
    return Problem("truncated", message, line.number, line.offset)


def step_key(rows: Sequence[Any]) -> str | None:
    """The key of the training step: of those most rows have, the surest."""
    held = [key for key in STEP_KEYS if any(_has(row, key) for row in rows)]
    counts = {key: sum(_has(row, key) for row in rows) for key in held}
    return max(held, key=lambda key: counts[key], default=None)


def _has(row: Any, key: str) -> bool:
    return isinstance(row, Mapping) and whole(row.get(key)) is not None


def are_metrics(rows: Sequence[Any]) -> bool:
    """Whether the first rows of a file are metrics: a step, numbers, no long texts, and a name that a trainer uses.

    The first row, and more than half of them: one broken row is no reason to pass over all others.
    """
    key = step_key(rows)
    if key is None:
        return False
    found = [_numbers(row, key) for row in rows]
    fitting = [names for names in found if names is not None]
    if found[0] is None or 2 * len(fitting) <= len(found):
        return False
    return named(dict.fromkeys(name for names in fitting for name in names)).trainer is not None


def _numbers(row: Any, key: str) -> list[str] | None:
    """Names of the numbers of a row; ``None`` where it is none of metrics."""
    if not isinstance(row, Mapping):
        return None
    values = {name: value for name, value in row.items() if name != key and name not in CLOCKS}
    if any(isinstance(value, str) and len(value) > LONGEST_TEXT for value in values.values()):
        return None
    # Media and histograms are objects of wandb's own; a list of anything else is a rollout's.
    if any(isinstance(value, list) or _is_foreign(value) for value in values.values()):
        return None
    numbers = [name for name, value in values.items() if value is None or number(value) is not None]
    return numbers if len(numbers) >= NUMBERS * len(values) else None


def _is_foreign(value: Any) -> bool:
    return isinstance(value, dict) and "_type" not in value


def read_rows(rows: Iterable[tuple[int, Any]], key: str) -> Iterator[Metric | Problem]:
    """Metrics of (line, row) pairs; rows without a step are counted and told."""
    without: list[int] = []
    for line, row in rows:
        step = whole(row.get(key)) if isinstance(row, Mapping) else None
        if step is None:
            without.append(line)
            continue
        for name, value in row.items():
            if (
                name not in STEP_KEYS
                and name not in CLOCKS
                and (found := metric(step, str(name), value, line)) is not None
            ):
                yield found
    if without:
        message = f"{len(without):,} row{'s' * (len(without) != 1)} without a whole number in {key}; not read"
        yield Problem("unreadable_record", message, without[0])
