"""SWE-bench evaluation reports: one instance flat, instances by id, or a run's lists of ids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trajlab.formats import Outcome, Variant
from trajlab.records import Problem
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.reading import document
from trajlab.sources.safe_json import loads, to_bool

_CARRIES = frozenset({"correct", "outcome", "verdict_source"})

VARIANTS = {
    "flat": Variant(
        "one instance: `patch_successfully_applied`, `resolved`; its task is the folder's only one",
        _CARRIES,
    ),
    "by_instance": Variant("`{instance_id: {patch_successfully_applied, resolved, …}}`", _CARRIES),
    "run_lists": Variant("a run's `resolved_ids`, `unresolved_ids`, `error_ids` …", _CARRIES),
}

_MARK = {"patch_successfully_applied", "resolved"}


def recognise(probe: Probe) -> str | None:
    """By the keys an evaluation writes, at the top or one level below."""
    if probe.shape != "object" or not (b"resolved" in probe.head or b"resolved" in probe.tail):
        return None
    keys = probe.keys
    if keys >= _MARK:
        return "flat"
    if keys >= {"resolved_ids", "unresolved_ids"}:
        return "run_lists"
    first = probe.records[0] if probe.records else None
    if isinstance(first, dict) and first and all(_is_report(value) for value in first.values()):
        return "by_instance"
    return None


def _is_report(value: Any) -> bool:
    return isinstance(value, dict) and set(value) >= _MARK


def read_outcomes(bundle: Bundle) -> Iterator[Outcome | Problem]:
    """One verdict per instance."""
    problems: list[Problem] = []
    data = document(bundle, problems)
    yield from problems
    try:
        value = loads(data).value
    except ValueError as error:
        yield Problem("unreadable_record", f"no SWE-bench report: {error}")
        return
    if not isinstance(value, dict):
        yield Problem("unreadable_record", f"found {type(value).__name__}, expected an object")
    elif bundle.variant == "flat":
        yield _outcome(None, value)
    elif bundle.variant == "run_lists":
        yield from _from_lists(value)
    else:
        for instance_id, report in value.items():
            if isinstance(report, dict):
                yield _outcome(str(instance_id), report)
            else:
                yield Problem("unreadable_record", f"report of {instance_id}: expected an object")


def _outcome(instance_id: str | None, report: dict[str, Any]) -> Outcome:
    note = None
    if report.get("patch_is_None") is True or report.get("patch_exists") is False:
        note = "no patch"
    elif report.get("patch_successfully_applied") is False:
        note = "patch did not apply"
    return Outcome(instance_id, to_bool(report.get("resolved")), note)


def _from_lists(value: dict[str, Any]) -> Iterator[Outcome]:
    for key, resolved, note in (
        ("resolved_ids", True, None),
        ("unresolved_ids", False, None),
        ("empty_patch_ids", False, "no patch"),
        ("error_ids", None, "evaluation error"),
    ):
        ids = value.get(key)
        for instance_id in ids if isinstance(ids, list) else ():
            yield Outcome(str(instance_id), resolved, note)
