"""Spans of the LightningStore of agent-lightning 0.3, as its model writes them: one JSON object a span.

Source: agentlightning 0.3.0, ``types/tracer.py``, ``semconv.py``. All spans of one attempt at a rollout are a
trajectory, whichever traces they came from. How rollout and attempt ended stands in other records of the store.
"""

from __future__ import annotations

from typing import Any

from trajlab.formats._otel_spans import Span, unflattened
from trajlab.formats._otel_turns import Trace, kind_of_span
from trajlab.formats._table_rows import rows_of_table
from trajlab.formats._turns import span as time_span
from trajlab.formats._turns import sum_tokens, task_of_prompt
from trajlab.formats._values import Records, count, mapping, mappings, moment, number, total, word
from trajlab.records import Problem, RewardPart, Trajectory
from trajlab.sources.files import Bundle

KEYS = frozenset({"rollout_id", "attempt_id", "sequence_id", "span_id", "attributes"})
_REWARD = "agentlightning.reward"


def read_spans(bundle: Bundle) -> Records:
    """One trajectory an attempt that has spans of a model, a tool or a reward."""
    problems: list[Problem] = []
    attempts: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in rows_of_table(bundle, problems):
        key = word(row.value.get("rollout_id")) or "", word(row.value.get("attempt_id")) or ""
        attempts.setdefault(key, []).append(row.value)
    yield from problems
    number_of = 0
    for (rollout, attempt), rows in attempts.items():
        trajectory = Trajectory(bundle.variant, str(number_of), native_id=f"{rollout}/{attempt}")
        if _fill(trajectory, rows):
            yield trajectory
            number_of += 1
    if not number_of:
        yield Problem("no_messages", "no span of a model, a tool or a reward; expected attempts at rollouts")


def _fill(trajectory: Trajectory, rows: list[dict[str, Any]]) -> bool:
    rows.sort(key=lambda row: (count(row.get("sequence_id")) or 0, moment(row.get("start_time")) or 0.0))
    spans = [_span(row) for row in rows]
    trace = Trace(trajectory)
    told = False
    try:
        for one in spans:
            told = told or kind_of_span(one) in ("model", "tool")
            trace.take(one)
            told = _reward(trajectory, one.attributes) or told
        trace.turns.close()
    except RecursionError:
        trajectory.problems.append(Problem("unreadable_record", "a value is nested too deeply to be read"))
    trajectory.agent = trajectory.agent or "agent_lightning"
    time_span(trajectory, [at for one in spans for at in (one.start, one.end)])
    sum_tokens(trajectory)
    trajectory.cached_tokens = total(trace.cached)
    task_of_prompt(trajectory)
    return told


def _span(row: dict[str, Any]) -> Span:
    events = [(word(one.get("name")) or "", mapping(one.get("attributes"))) for one in mappings(row.get("events"))]
    return Span(
        word(row.get("trace_id")) or "",
        word(row.get("span_id")),
        word(row.get("parent_id")),
        moment(row.get("start_time")),
        moment(row.get("end_time")),
        mapping(row.get("status")).get("status_code") == "ERROR",
        mapping(row.get("attributes")),
        events,
    )


def _reward(trajectory: Trajectory, attributes: dict[str, Any]) -> bool:
    """Dimensions of a reward; the first of the last span that has any is the trajectory's."""
    if not any(name.startswith(_REWARD) for name in attributes):
        return False
    parts = unflattened(attributes, _REWARD)
    for part in parts:
        trajectory.rewards.append(RewardPart(word(part.get("name")) or "reward", number(part.get("value"))))
    if parts and (value := number(parts[0].get("value"))) is not None:
        trajectory.reward = value
    return bool(parts)
