"""SWE-bench predictions (``preds.json``): which instances have a patch; no verdict in them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trajlab.formats import Outcome, Variant
from trajlab.records import Problem
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.reading import document, lines
from trajlab.sources.safe_json import loads

VARIANTS = {
    "by_instance": Variant("`{instance_id: {model_name_or_path, instance_id, model_patch}}`", frozenset()),
    "list": Variant("list of `{model_name_or_path, instance_id, model_patch}`", frozenset()),
    "lines": Variant("the same, one a line", frozenset()),
}

_MARK = {"instance_id", "model_patch"}
_ALL = _MARK | {"model_name_or_path", "full_output", "model_stats", "cost"}


def recognise(probe: Probe) -> str | None:
    """By records that hold an instance and its patch, and little else."""
    if b'"model_patch"' not in probe.head:
        return None
    first = probe.records[0] if probe.records else None
    if not isinstance(first, dict):
        return None
    if probe.shape == "object" and first and all(_is_prediction(value) for value in first.values()):
        return "by_instance"
    if not _is_prediction(first):
        return None
    return {"list": "list", "lines": "lines"}.get(probe.shape)


def _is_prediction(value: Any) -> bool:
    return isinstance(value, dict) and _MARK <= set(value) <= _ALL


def read_outcomes(bundle: Bundle) -> Iterator[Outcome | Problem]:
    """One row per prediction, without verdict."""
    problems: list[Problem] = []
    if bundle.variant == "lines":
        values, unread = _of_lines(bundle, problems)
        problems += unread
    else:
        try:
            value = loads(document(bundle, problems)).value
        except ValueError as error:
            yield Problem("unreadable_record", f"no predictions: {error}")
            return
        values = list(value.values()) if isinstance(value, dict) else value
    yield from problems
    if not isinstance(values, list):
        yield Problem("unreadable_record", f"found {type(values).__name__}, expected an object or a list")
        return
    for value in values:
        if isinstance(value, dict) and "instance_id" in value:
            yield Outcome(str(value["instance_id"]), None, None if value.get("model_patch") else "no patch")
        else:
            yield Problem("unreadable_record", "a prediction without instance_id")


def _of_lines(bundle: Bundle, problems: list[Problem]) -> tuple[list[Any], list[Problem]]:
    """The values of all lines that can be read, and the problems of the others."""
    values, unread = [], []
    for line in lines(bundle, problems):
        try:
            values.append(loads(line.data).value)
        except ValueError as error:
            unread.append(Problem("unreadable_record", f"no prediction: {error}", line.number, line.offset))
    return values, unread
