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
    try:
        if bundle.variant == "lines":
            values = [loads(line.data).value for line in lines(bundle, problems)]
        else:
            value = loads(document(bundle, problems)).value
            values = list(value.values()) if isinstance(value, dict) else value
    except ValueError as error:
        yield Problem("unreadable_record", f"no predictions: {error}")
        return
    yield from problems
    for value in values if isinstance(values, list) else []:
        if isinstance(value, dict) and "instance_id" in value:
            yield Outcome(str(value["instance_id"]), None, None if value.get("model_patch") else "no patch")
        else:
            yield Problem("unreadable_record", "a prediction without instance_id")
