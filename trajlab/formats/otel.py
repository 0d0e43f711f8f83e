"""OpenTelemetry traces of agents, by the conventions of GenAI or of OpenInference: OTLP as JSON, and the SDK's console.

Source: opentelemetry-semantic-conventions 0.66b2, openinference-semantic-conventions 0.1.42. A trace is a trajectory,
the spans of all its agents together; messages are there only where the instrumentation records content. How a run ended
no convention tells.
"""

from __future__ import annotations

from trajlab.formats import Variant
from trajlab.formats._otel_spans import Span, spans_of
from trajlab.formats._otel_turns import Trace, kind_of_span
from trajlab.formats._turns import span as time_span
from trajlab.formats._turns import sum_tokens, task_of_prompt
from trajlab.formats._values import Records, mapping, total
from trajlab.records import Problem, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe

_CARRIES = frozenset(
    {
        "native_id", "task_id", "agent", "model", "prompt_tokens", "completion_tokens", "cached_tokens", "seconds",
        "started_at",
    }
)  # fmt: skip

VARIANTS = {
    "otlp": Variant("OTLP as JSON: `resourceSpans`, one document or lines", _CARRIES | {"cost"}, whole=True),
    "console": Variant("what `ConsoleSpanExporter` prints: objects with `context.trace_id`", _CARRIES | {"cost"},
                       whole=True),
}  # fmt: skip

_CONVENTIONS = (b'"gen_ai.', b'"openinference.span.kind"')


def recognise(probe: Probe) -> str | None:
    """By the container, with a name of one of the conventions in the first bytes."""
    if probe.shape == "object" and probe.keys.isdisjoint({"resourceSpans", "context"}):
        return None
    if probe.shape not in ("object", "lines") or not any(name in probe.head for name in _CONVENTIONS):
        return None
    if "resourceSpans" in probe.keys:
        return "otlp"
    head = mapping(next(iter(probe.records), None))
    if "sequence_id" in head:
        return None  # of agent-lightning
    return "console" if {"trace_id", "span_id"} <= set(mapping(head.get("context"))) and "attributes" in head else None


def read(bundle: Bundle) -> Records:
    """One trajectory a trace that has spans of a model or a tool."""
    problems: list[Problem] = []
    traces: dict[str, list[Span]] = {}
    try:
        for span in spans_of(bundle, problems):
            traces.setdefault(span.trace, []).append(span)
    except RecursionError:
        problems.append(Problem("unreadable_record", "a value is nested too deeply to be read"))
    yield from problems
    number = 0
    for name, spans in traces.items():
        if any(kind_of_span(span) in ("model", "tool") for span in spans):
            yield _trajectory(bundle, number, name, spans)
            number += 1
    if not number:
        yield Problem("no_messages", "no span of a model or a tool; expected traces of an agent")


def _trajectory(bundle: Bundle, number: int, name: str, spans: list[Span]) -> Trajectory:
    trajectory = Trajectory(bundle.variant, str(number), native_id=name or None)
    trace = Trace(trajectory)
    try:
        for one in sorted(spans, key=lambda one: one.start or 0.0):
            trace.take(one)
        trace.turns.close()
    except RecursionError:
        trajectory.problems.append(Problem("unreadable_record", "a value is nested too deeply to be read"))
    time_span(trajectory, [moment for one in spans for moment in (one.start, one.end)])
    sum_tokens(trajectory)
    trajectory.cached_tokens = total(trace.cached)
    trajectory.cost = total(step.cost for step in trajectory.steps)
    task_of_prompt(trajectory)
    return trajectory
