"""MLflow traces: the artifact ``traces.json``, ``Trace.to_json``, and rows of ``mlflow.search_traces``.

Source: mlflow-skinny 3.17.2, ``entities/span.py``, ``entities/trace.py``; spans of 2.x by their keys. Values of
attributes are JSON text. MLflow's prompt tokens include cached ones whatever the provider. The artifact knows neither
the state of the trace nor its assessments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trajlab.formats import Variant
from trajlab.formats._observations import TRACES, Observation, fill, truth, usage_of
from trajlab.formats._otel_spans import identity
from trajlab.formats._table_rows import Row, rows_of_table
from trajlab.formats._values import (
    Records,
    count,
    first,
    json_text,
    mapping,
    mappings,
    number,
    reconcile,
    word,
)
from trajlab.records import Problem, RewardPart, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

_CARRIES = frozenset(
    {
        "native_id", "task_id", "agent", "model", "prompt_tokens", "completion_tokens", "cached_tokens", "cost",
        "seconds", "started_at", "tools_offered",
    }
)  # fmt: skip
_WITH_STATE = _CARRIES | {"logged_termination", "stop_reason"}

VARIANTS = {
    "artifact": Variant("artifact `traces.json`: `spans`", _CARRIES),
    "trace": Variant("`Trace.to_json`: `info` and `data.spans`, a document or lines", _WITH_STATE),
    "table": Variant("rows of `mlflow.search_traces` as JSON lines, list or Parquet", _WITH_STATE),
}

_KINDS = {"LLM": "model", "CHAT_MODEL": "model", "TOOL": "tool", "AGENT": "agent"}
_MARK = b"mlflow."
_NAMES = ("trace_id", "request_id")


def recognise(probe: Probe) -> str | None:
    """By the keys of the first record, with an attribute of MLflow in the first bytes."""
    if probe.shape == "parquet":
        return "table" if _is_table(set(probe.columns)) else None
    if probe.shape not in ("object", "lines", "list") or _MARK not in probe.head:
        return None
    head = mapping(next(iter(probe.records), None))
    if _is_table(set(head)):
        return "table"
    if isinstance(mapping(head.get("data")).get("spans"), list) and isinstance(head.get("info"), dict):
        return "trace"
    spans = mappings(head.get("spans"))
    return "artifact" if spans and "attributes" in spans[0] and probe.shape == "object" else None


def _is_table(keys: set[str]) -> bool:
    wanted = ({"trace_metadata", "request_metadata"}, set(_NAMES), {"spans", "trace"})
    return all(keys & names for names in wanted)


def read(bundle: Bundle) -> Records:
    """One trajectory a trace."""
    problems: list[Problem] = []
    for row in rows_of_table(bundle, problems):
        while problems:
            yield problems.pop(0)
        try:
            yield from _trace(row, bundle.variant)
        except RecursionError:
            yield Problem("unreadable_record", "a value is nested too deeply to be read", row.line)
    yield from problems


def _trace(row: Row, variant: str) -> Iterator[Trajectory | Problem]:
    record = row.value
    inner = mapping(json_text(record.get("trace")))
    document = {**inner, **record} if variant == "table" else record
    spans = mappings(first(document.get("spans"), mapping(document.get("data")).get("spans")))
    info = mapping(document.get("info"))
    stated = {**info, **{name: value for name, value in record.items() if name != "info"}}
    name = first(*(word(stated.get(key)) for key in _NAMES), _named_by(spans))
    if not any(_kind(span) in ("model", "tool") for span in spans):
        said = f"trace {name}: no span of a model or a tool; expected a trace of an agent"
        yield Problem("no_messages", said, row.line, native_id=name)
        return
    trajectory = Trajectory(variant, row.ordinal, native_id=name, line=row.line)
    fill(trajectory, map(_observation, spans))
    if variant != "artifact":
        _facts(trajectory, stated, len(spans))
    yield trajectory


def _named_by(spans: list[dict[str, Any]]) -> str | None:
    return word(_attribute(spans[0], "mlflow.traceRequestId")) if spans else None


def _attribute(span: dict[str, Any], name: str) -> Any:
    value = mapping(span.get("attributes")).get(name)
    return None if value == "null" else first(json_text(value), value)


def _kind(span: dict[str, Any]) -> str | None:
    return _KINDS.get(word(first(_attribute(span, "mlflow.spanType"), span.get("span_type"))) or "")


def _observation(span: dict[str, Any]) -> Observation:
    context, status = mapping(span.get("context")), span.get("status")
    code = first(mapping(status).get("code"), span.get("status_code"))
    message = word(first(mapping(status).get("message"), span.get("status_message")))
    usage = mapping(_attribute(span, "mlflow.chat.tokenUsage"))
    return Observation(
        identity(first(span.get("span_id"), context.get("span_id"))),
        identity(first(span.get("parent_span_id"), span.get("parent_id"))),
        _kind(span),
        word(span.get("name")),
        _seconds(first(span.get("start_time_unix_nano"), span.get("start_time"))),
        _seconds(first(span.get("end_time_unix_nano"), span.get("end_time"))),
        _attribute(span, "mlflow.spanInputs"),
        _attribute(span, "mlflow.spanOutputs"),
        message or "" if code in ("STATUS_CODE_ERROR", "ERROR") else None,
        word(_attribute(span, "mlflow.llm.model")),
        usage_of(usage),
        number(mapping(_attribute(span, "mlflow.llm.cost")).get("total_cost")),
    )


def _seconds(value: Any) -> float | None:
    nanoseconds = number(value)
    return None if nanoseconds is None else nanoseconds / 1e9


def _facts(trajectory: Trajectory, stated: dict[str, Any], spans: int) -> None:
    """State, assessments, and the totals that the trace states of itself."""
    state = word(first(stated.get("state"), stated.get("status")))
    trajectory.stop_reason = state
    trajectory.termination = TRACES.get(state or "") if state else None
    said = mapping(first(stated.get("trace_metadata"), stated.get("request_metadata")))
    for one in mappings(json_text(stated.get("assessments"))):
        feedback = one.get("feedback")
        if isinstance(feedback, dict) and (value := truth(json_text(feedback.get("value")))) is not None:
            trajectory.rewards.append(RewardPart(word(first(one.get("assessment_name"), one.get("name"))) or "", value))
    usage = mapping(json_text(said.get("mlflow.trace.tokenUsage")))
    reconcile(trajectory, "prompt tokens", count(usage.get("input_tokens")), trajectory.prompt_tokens)
    reconcile(trajectory, "completion tokens", count(usage.get("output_tokens")), trajectory.completion_tokens)
    sizes = mapping(json_text(said.get("mlflow.trace.sizeStats")))
    reconcile(trajectory, "spans", count(sizes.get("num_spans")), spans)
