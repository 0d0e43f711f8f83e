"""Spans out of the containers of OpenTelemetry: OTLP as JSON, and what the SDK prints on the console."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from typing import Any

import msgspec

from trajlab.formats._values import first, items, mapping, mappings, moment, number, text, whole, word
from trajlab.records import Problem
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.reading import concatenated, lines
from trajlab.sources.safe_json import loads

_HEX = re.compile(r"(?:0x)?([0-9a-fA-F]{16}|[0-9a-fA-F]{32})")
_MOST_PARTS = 10_000


class Span(msgspec.Struct):
    """One span, whatever its container."""

    trace: str
    key: str | None
    parent: str | None
    start: float | None
    end: float | None
    failed: bool
    attributes: dict[str, Any]
    """Those of its events of details stand among them."""
    events: list[tuple[str, dict[str, Any]]]


def spans_of(bundle: Bundle, problems: list[Problem]) -> Iterator[Span]:
    """Spans of documents or lines that follow each other; one that is no JSON is a problem."""
    by_line = Probe(bundle.file).shape == "lines"
    for line in lines(bundle, problems) if by_line else concatenated(bundle, problems):
        try:
            record = mapping(loads(line.data).value)
        except (ValueError, RecursionError) as error:
            code = "unreadable_record" if line.finished else "truncated"
            problems.append(Problem(code, f"no JSON: {error}", line.number, line.offset))
            continue
        if bundle.variant == "console":
            yield _console(record)
            continue
        for resource in mappings(record.get("resourceSpans")):
            for scope in mappings(first(resource.get("scopeSpans"), resource.get("instrumentationLibrarySpans"))):
                yield from map(_otlp, mappings(scope.get("spans")))


def _console(record: dict[str, Any]) -> Span:
    context = mapping(record.get("context"))
    events = [(word(e.get("name")) or "", mapping(e.get("attributes"))) for e in mappings(record.get("events"))]
    return Span(
        identity(context.get("trace_id")) or "",
        identity(context.get("span_id")),
        identity(record.get("parent_id")),
        moment(record.get("start_time")),
        moment(record.get("end_time")),
        mapping(record.get("status")).get("status_code") == "ERROR",
        _with_details(mapping(record.get("attributes")), events),
        events,
    )


def _otlp(record: dict[str, Any]) -> Span:
    events = [(word(e.get("name")) or "", _attributes(e.get("attributes"))) for e in mappings(record.get("events"))]
    return Span(
        identity(record.get("traceId")) or "",
        identity(record.get("spanId")),
        identity(record.get("parentSpanId")),
        _nanoseconds(record.get("startTimeUnixNano")),
        _nanoseconds(record.get("endTimeUnixNano")),
        mapping(record.get("status")).get("code") in (2, "STATUS_CODE_ERROR"),
        _with_details(_attributes(record.get("attributes")), events),
        events,
    )


def _with_details(attributes: dict[str, Any], events: list[tuple[str, dict[str, Any]]]) -> dict[str, Any]:
    """Messages may stand in an event of the span."""
    for name, told in events:
        if name == "gen_ai.client.inference.operation.details":
            attributes = told | attributes
    return attributes


def identity(value: Any) -> str | None:
    """Ids in hexadecimal digits; protobuf's JSON has them in base64."""
    said = text(value) or ""
    if found := _HEX.fullmatch(said):
        return found[1].lower()
    try:
        return base64.b64decode(said, validate=True).hex() or None
    except (binascii.Error, ValueError):
        return said or None


def _nanoseconds(value: Any) -> float | None:
    nanoseconds = number(value)
    return None if nanoseconds is None else nanoseconds / 1e9


def _attributes(pairs: Any) -> dict[str, Any]:
    return {key: _value(mapping(pair.get("value"))) for pair in mappings(pairs) if (key := text(pair.get("key")))}


def _value(value: dict[str, Any]) -> Any:
    if "intValue" in value:
        return whole(value["intValue"])
    if "arrayValue" in value:
        return [_value(mapping(inner)) for inner in items(mapping(value["arrayValue"]).get("values"))]
    if "kvlistValue" in value:
        return _attributes(mapping(value["kvlistValue"]).get("values"))
    return first(value.get("stringValue"), value.get("doubleValue"), value.get("boolValue"))


def unflattened(attributes: dict[str, Any], prefix: str) -> list[dict[str, Any]]:
    """Objects of a list whose leaves stand apart: ``prefix.0.role``, ``prefix.0.parts.1.text``."""
    tree: dict[str, Any] = {}
    for name in list(attributes)[:_MOST_PARTS]:
        if name.startswith(f"{prefix}."):
            inner = tree
            *above, last = name[len(prefix) + 1 :].split(".")[:20]
            for part in above:
                below = inner.setdefault(part, {})
                inner = below if isinstance(below, dict) else {}
            inner[last] = attributes[name]
    return ordered(tree)


def ordered(tree: Any) -> list[dict[str, Any]]:
    """Values of numbered keys in order of their numbers."""
    numbered = [(int(key), value) for key, value in mapping(tree).items() if key.isdecimal() and len(key) < 9]
    return [mapping(value) for _, value in sorted(numbered, key=lambda pair: pair[0])]
