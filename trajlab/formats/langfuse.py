"""Langfuse: traces downloaded from the interface, and observations as API, interface and blob storage export them.

Source: langfuse 5.0.4, ``api/commons/types/observation_v2.py``; the field reference of the blob storage export. The API
spells names in camel case, the blob storage with underscores. The details of usage do not overlap: keys with ``input``
add up to the prompt. Scores stand with a trace only; exports of traces without observations hold no turn.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Any

from trajlab.formats import Variant
from trajlab.formats._observations import TRACES, Observation, fill, truth
from trajlab.formats._table_rows import csv_header, rows_of_table
from trajlab.formats._values import (
    Records,
    count,
    first,
    json_text,
    mapping,
    mappings,
    moment,
    number,
    reconcile,
    word,
)
from trajlab.records import Problem, RewardPart, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

_CARRIES = frozenset(
    {
        "native_id", "task_id", "agent", "model", "logged_termination", "stop_reason", "prompt_tokens",
        "completion_tokens", "cached_tokens", "reasoning_tokens", "cost", "seconds", "started_at",
    }
)  # fmt: skip

VARIANTS = {
    "trace": Variant("`trace-<id>.json`: a trace with `observations` and `scores`, also under `trace`", _CARRIES),
    "csv": Variant("observations as CSV of the blob storage export; objects as JSON text", _CARRIES, whole=True),
    "observations": Variant("observations of many traces: JSON lines, list, Parquet, or a page with `data`",
                            _CARRIES, whole=True),
}  # fmt: skip

_CSV = {"id", "trace_id", "type", "parent_observation_id", "start_time"}
"""Columns that the export of the blob storage always has; those of the interface's CSV are not documented."""
_KINDS = {"GENERATION": "model", "TOOL": "tool", "AGENT": "agent"}
_TYPES = frozenset(
    {"SPAN", "EVENT", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL", *_KINDS}
)  # fmt: skip
_CAPITAL = re.compile(r"(?<=[a-z0-9])([A-Z])")
_TOLD_BY = frozenset({"traceId", "trace_id", "data", "observations"})
_MARKS = (b"raceId", b"race_id", b"bservations")


def recognise(probe: Probe) -> str | None:
    """A trace with observations, or rows with a type of observation and their trace."""
    if probe.shape == "parquet":
        return "observations" if {"type", "trace_id", "parent_observation_id"} <= set(probe.columns) else None
    if probe.shape == "text":
        return "csv" if set(csv_header(probe.head)) >= _CSV else None
    if probe.shape == "object" and probe.keys.isdisjoint(_TOLD_BY):
        return None
    if probe.shape not in ("object", "lines", "list") or not any(mark in probe.head for mark in _MARKS):
        return None
    head = mapping(next(iter(probe.records), None))
    if _is_observation(head):
        return "observations"
    if _is_observation(mapping(next(iter(mappings(head.get("data"))), None))):
        return "observations"
    inner = mappings(head.get("observations"))
    whole = isinstance(head.get("trace"), dict) or "timestamp" in head
    return "trace" if whole and inner and _is_observation(inner[0], within=True) else None


def _is_observation(row: dict[str, Any], *, within: bool = False) -> bool:
    if word(row.get("type")) not in _TYPES or not {"startTime", "start_time"} & set(row):
        return False
    return within or bool({"traceId", "trace_id"} & set(row))


def read(bundle: Bundle) -> Records:
    """One trajectory a trace that has a generation or a tool."""
    problems: list[Problem] = []
    if bundle.variant == "trace":
        for row in rows_of_table(bundle, problems):
            trace = {**mapping(row.value.get("trace")), **row.value}
            yield _trajectory(bundle, row.ordinal, trace, mappings(row.value.get("observations")))
        yield from problems
        return
    traces: dict[str, list[dict[str, Any]]] = {}
    for row in rows_of_table(bundle, problems, "data"):
        traces.setdefault(word(_any(row.value, "traceId")) or "", []).append(row.value)
    yield from problems
    number_of = 0
    for name, rows in traces.items():
        if any(_KINDS.get(word(row.get("type")) or "") in ("model", "tool") for row in rows):
            yield _trajectory(bundle, str(number_of), {"id": name}, rows)
            number_of += 1
    if not number_of:
        yield Problem("no_messages", "no generation and no tool; expected observations of an agent")


def _any(row: dict[str, Any], name: str) -> Any:
    """A field in either spelling."""
    value = row.get(name)
    return row.get(_underscored(name)) if value is None else value


@cache
def _underscored(name: str) -> str:
    return _CAPITAL.sub(r"_\1", name).lower()


def _trajectory(bundle: Bundle, ordinal: str, trace: dict[str, Any], rows: list[dict[str, Any]]) -> Trajectory:
    trajectory = Trajectory(bundle.variant, ordinal, native_id=word(trace.get("id")))
    try:
        observations = [_observation(row) for row in rows]
        fill(trajectory, observations)
        _facts(trajectory, trace, rows)
    except RecursionError:
        trajectory.problems.append(Problem("unreadable_record", "a value is nested too deeply to be read"))
    return trajectory


def _observation(row: dict[str, Any]) -> Observation:
    kind = _KINDS.get(word(row.get("type")) or "")
    cost = first(number(_details(row, "costDetails").get("total")), number(_any(row, "totalCost")),
                 number(row.get("calculatedTotalCost")))  # fmt: skip
    return Observation(
        word(row.get("id")),
        word(_any(row, "parentObservationId")),
        kind,
        word(row.get("name")),
        moment(_any(row, "startTime")),
        moment(_any(row, "endTime")),
        row.get("input"),
        row.get("output"),
        word(_any(row, "statusMessage")) or "" if row.get("level") == "ERROR" else None,
        first(word(row.get("model")), word(_any(row, "providedModelName"))) if kind == "model" else None,
        _usage(row),
        cost if kind == "model" else None,
    )


def _details(row: dict[str, Any], name: str) -> dict[str, Any]:
    return mapping(json_text(_any(row, name)))


def _usage(row: dict[str, Any]) -> dict[str, int | None]:
    used: dict[str, int | None] = dict.fromkeys(("prompt", "completion", "cached", "reasoning"))
    for name, value in _details(row, "usageDetails").items():
        tokens = count(value)
        if tokens is not None:
            for total in _totals(name):
                used[total] = (used[total] or 0) + tokens
    if used["prompt"] is None:
        used["prompt"] = count(row.get("promptTokens"))
    if used["completion"] is None:
        used["completion"] = count(row.get("completionTokens"))
    return used


@lru_cache(maxsize=256)
def _totals(name: str) -> tuple[str, ...]:
    """What a detail of the usage adds to; cached is what was read from a cache, not what was written to it."""
    totals = []
    if "input" in name:
        totals.append("prompt")
        if "cache" in name and "creation" not in name and "write" not in name:
            totals.append("cached")
    if "output" in name:
        totals.append("completion")
        if "reasoning" in name:
            totals.append("reasoning")
    return tuple(totals)


def _facts(trajectory: Trajectory, trace: dict[str, Any], rows: list[dict[str, Any]]) -> None:
    """How the root ended, scores, and the cost that the trace states."""
    keys = {word(row.get("id")) for row in rows}
    roots = [row for row in rows if word(_any(row, "parentObservationId")) not in keys]
    if roots:
        root = min(roots, key=lambda row: moment(_any(row, "startTime")) or 0.0) if len(roots) > 1 else roots[0]
        failed, over = root.get("level") == "ERROR", _any(root, "endTime") is not None
        trajectory.stop_reason = "ERROR" if failed else None
        trajectory.termination = TRACES["ERROR" if failed else "OK" if over else "IN_PROGRESS"]
    for score in mappings(trace.get("scores")):
        if (value := truth(score.get("value"))) is not None:
            trajectory.rewards.append(RewardPart(word(score.get("name")) or "score", value))
    reconcile(trajectory, "USD", number(trace.get("totalCost")), trajectory.cost)
