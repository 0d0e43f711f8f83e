"""ATIF (Agent Trajectory Interchange Format) 1.0 to 1.8: one file, continuations, embedded subagents.

Source: harbor 0.26.0, ``harbor/models/trajectories``, ``agents/terminus_2``. Exit status, verdict and task are not in
the format; they stand in the result of the trial around it (:mod:`trajlab.formats.harbor`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from trajlab.formats import Variant
from trajlab.formats._atif import subagent, trajectories
from trajlab.formats._atif_extra import ours
from trajlab.formats._values import Records, load, mapping
from trajlab.records import Problem
from trajlab.sources.files import Bundle, joined_path, parts_of
from trajlab.sources.probe import Probe

_CARRIES = frozenset(
    {
        "native_id", "task_id", "agent", "agent_version", "model", "prompt_tokens", "completion_tokens",
        "cached_tokens", "cost", "seconds", "started_at",
    }
)  # fmt: skip
_SINCE_1_5 = _CARRIES | {"tools_offered", "gradable"}
_SINCE_1_7 = _SINCE_1_5 | {"parent_native_id"}

_CONVERTED = _SINCE_1_5 | {
    "group_id", "attempt", "split", "train_step", "logged_epoch", "policy_version_first", "policy_version_last",
    "reward", "logged_correct", "logged_outcome", "logged_termination", "stop_reason", "steps_allowed",
    "logged_steps", "reasoning_tokens", "submission_chars", "parent_native_id",
}  # fmt: skip

VARIANTS = {
    **{f"1.{n}": Variant(f"`schema_version` ATIF-v1.{n}", _CARRIES) for n in range(5)},
    **{f"1.{n}": Variant(f"`schema_version` ATIF-v1.{n}", _SINCE_1_5) for n in (5, 6)},
    **{f"1.{n}": Variant(f"`schema_version` ATIF-v1.{n}, embedded subagents", _SINCE_1_7) for n in (7, 8)},
    "converted": Variant("written by `trajlab convert`: ATIF-v1.7, task, verdict and rewards in `extra`", _CONVERTED),
}

_CONTINUED = re.compile(r"(.+)\.cont-(\d{1,4})(\.json)")
_SUMMARY = re.compile(r".+\.summarization-\d{1,4}-\w{1,20}\.json")


def group(relpath: str, variant: str) -> str:
    """The first segment; ``x.cont-2.json`` continues ``x.json``."""
    *folders, name = parts_of(relpath)
    found = _CONTINUED.fullmatch(name)
    return joined_path([*folders, found[1] + found[3]]) if found else relpath


def recognise(probe: Probe) -> str | None:
    """The version that the document names."""
    if probe.shape != "object" or not any(b"ATIF-v" in end for end in (probe.head, probe.tail)):
        return None
    if not {"schema_version", "agent", "steps"} <= probe.keys:
        return None
    document = mapping(probe.records[0]) if probe.records else {}
    version = str(document.get("schema_version")).removeprefix("ATIF-v")
    if version == "1.7" and ours(document):
        return "converted" if isinstance(document.get("steps"), list) else None
    return version if version in VARIANTS and isinstance(document.get("steps"), list) else None


def read(bundle: Bundle) -> Records:
    """One trajectory for the segments in the bundle, and one for each subagent."""
    problems: list[Problem] = []
    segments: list[dict[str, Any]] = []
    for file in sorted(bundle.files, key=lambda f: segment_number(f.relpath)):
        name = parts_of(file.relpath)[-1]
        try:
            value = load(file, problems)
            if not isinstance(value, dict):
                raise ValueError(f"found {type(value).__name__}")
            segments.append(value)
        except (ValueError, RecursionError) as error:
            problems.append(Problem("unreadable_record", f"{name}: {error}; expected an ATIF document"))
    yield from problems
    if segments:
        yield from _made(segments, bundle)


def _made(segments: list[dict[str, Any]], bundle: Bundle) -> Iterator[Any]:
    name = parts_of(bundle.file.relpath)[-1]
    try:
        if _SUMMARY.fullmatch(name):
            yield subagent(segments[0], bundle.variant)
            return
        for number, trajectory in enumerate(trajectories(segments, bundle.variant)):
            trajectory.ordinal = str(number)
            if number == 0 and not _is_whole(segments[-1], bundle):
                said = f"it is continued in {segments[-1].get('continued_trajectory_ref')!r}, which is not beside it"
                trajectory.problems.append(Problem("continuation_missing", said))
            yield trajectory
    except RecursionError:
        yield Problem("unreadable_record", "a value is nested too deeply to be read")


def segment_number(relpath: str) -> int:
    """0 for the first segment."""
    found = _CONTINUED.fullmatch(parts_of(relpath)[-1])
    return int(found[2]) if found else 0


def _is_whole(last: dict[str, Any], bundle: Bundle) -> bool:
    ref = last.get("continued_trajectory_ref")
    return not isinstance(ref, str) or any(parts_of(f.relpath)[-1] == PurePosixPath(ref).name
                                           for f in bundle.files)  # fmt: skip
