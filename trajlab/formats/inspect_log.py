"""Inspect logs: ``.eval`` (zip with deflated or zstd members, whole or chunked samples) and ``.json``.

Source: inspect_ai 0.3.285, ``inspect_ai/log``. Inputs of model events are not read: they repeat the messages.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from trajlab.formats import Variant
from trajlab.formats._inspect_json import loads_read
from trajlab.formats._inspect_sample import Log, trajectory_of
from trajlab.formats._values import Records, count, items, load, mapping, mappings, settings
from trajlab.records import Problem, Trajectory
from trajlab.sources.files import Bundle
from trajlab.sources.probe import Probe
from trajlab.sources.zip_members import ZipMembers

_CARRIES = frozenset(
    {
        "native_id", "task_id", "attempt", "agent", "agent_version", "model", "reward", "logged_correct",
        "logged_outcome", "logged_termination", "stop_reason", "gradable", "logged_steps", "prompt_tokens",
        "completion_tokens", "seconds", "started_at", "tools_offered", "submission_chars", "cached_tokens",
        "reasoning_tokens", "cost",
    }
)  # fmt: skip

VARIANTS = {
    "eval": Variant("`.eval` archive, a member for each sample", _CARRIES),
    "chunked": Variant("`.eval` archive, several members for each sample", _CARRIES),
    "json": Variant("`.json` document", _CARRIES),
}

_HEADERS = ("header.json", "_journal/start.json")
_SAMPLE = re.compile(r"samples/([^/]+)\.json")
_CHUNK = re.compile(r"samples/([^/]+)/(.+)\.json")
_LISTS = ("messages", "events", "attachments")


def recognise(probe: Probe) -> str | None:
    """An archive with a header or a journal; a document with ``eval``, ``plan`` and ``status``."""
    if probe.shape == "zip":
        try:
            with ZipMembers(probe.file.path) as archive:
                names = archive.names
        except (ValueError, OSError):
            return None
        if not set(_HEADERS) & set(names):
            return None
        return "chunked" if any(map(_CHUNK.fullmatch, names)) else "eval"
    if probe.shape != "object" or b'"eval"' not in probe.head:
        return None
    if not {"version", "status", "eval", "plan"} <= probe.keys:
        return None
    spec = mapping(probe.records[0]).get("eval") if probe.records else None
    return "json" if isinstance(spec, dict) and "task" in spec else None


def read(bundle: Bundle) -> Records:
    """One trajectory a sample."""
    if bundle.variant == "json":
        yield from _document(bundle)
        return
    try:
        with ZipMembers(bundle.file.path) as archive:
            yield from _archive(archive, bundle)
    except ValueError as error:
        yield Problem("unreadable_record", str(error))


def _log(header: dict[str, Any]) -> Log:
    spec = mapping(header.get("eval"))
    kept = {name: spec.get(name) for name in ("task", "config", "model_generate_config", "model_args", "task_args")}
    return Log(header, list(settings(kept)))


def _document(bundle: Bundle) -> Records:
    problems: list[Problem] = []
    try:
        header = mapping(load(bundle, problems))
    except (ValueError, RecursionError) as error:
        yield from problems
        yield Problem("unreadable_record", f"{error}; expected an Inspect log")
        return
    yield from problems
    log = _log(header)
    read = 0
    for number, sample in enumerate(items(header.get("samples"))):
        for record in _one(sample, log, bundle, str(number), f"sample {number}"):
            read += isinstance(record, Trajectory)
            yield record
    yield from _whole(header, read)


def _one(sample: Any, log: Log, bundle: Bundle, ordinal: str, name: str) -> Records:
    if not isinstance(sample, dict):
        yield Problem("unreadable_record", f"{name}: found {type(sample).__name__}, expected an object")
        return
    try:
        yield trajectory_of(sample, log, bundle.variant, ordinal)
    except RecursionError:
        yield Problem("unreadable_record", f"{name}: a value is nested too deeply to be read")


def _whole(header: dict[str, Any], read: int) -> Iterator[Problem]:
    """The log's own count of samples against what was read."""
    stated = count(mapping(header.get("results")).get("total_samples"))
    if stated is not None and stated != read:
        yield Problem("not_reconciled", f"the log states {stated} samples, {read} were read")
    elif read == 0:
        yield Problem("no_samples", f"no sample is logged; the log's status is {header.get('status')!r}")


def _archive(archive: ZipMembers, bundle: Bundle) -> Records:
    problems: list[Problem] = []
    started, header = (mapping(_member(archive, name, problems)) for name in reversed(_HEADERS))
    header = header or {"status": "started", **started}
    log = _log(header)
    read = 0
    for name, parts in _samples(archive.names).items():
        sample = _put_together(archive, name, parts, problems)
        yield from problems
        problems.clear()
        for record in _one(sample, log, bundle, name, name) if sample is not None else ():
            read += isinstance(record, Trajectory)
            yield record
    yield from problems
    yield from _whole(header, read)


def _samples(names: tuple[str, ...]) -> dict[str, list[str]]:
    """Members of each sample, in the archive's order."""
    found: dict[str, list[str]] = {}
    for name in names:
        match = _SAMPLE.fullmatch(name) or _CHUNK.fullmatch(name)
        if match:
            found.setdefault(match[1], []).append(name)
    return found


def _member(archive: ZipMembers, name: str, problems: list[Problem], kind: str = "") -> Any:
    if name not in archive:
        return None
    try:
        loaded = loads_read(archive.read(name), kind)
    except (ValueError, RecursionError) as error:
        problems.append(Problem("unreadable_record", f"{name}: {error}"))
        return None
    if loaded.fixes:
        problems.append(Problem("cleaned", f"{name}: {', '.join(loaded.fixes)}"))
    return loaded.value


def _put_together(archive: ZipMembers, name: str, parts: list[str], problems: list[Problem]) -> Any:
    """The sample; of a chunked one the chunks of messages, events and attachments in order."""
    whole = f"samples/{name}.json"
    if whole in parts:
        return _member(archive, whole, problems, "sample")
    sample = _member(archive, f"samples/{name}/sample.json", problems, "sample")
    if not isinstance(sample, dict):
        if sample is None and not problems:
            problems.append(Problem("unreadable_record", f"{name}: chunks without sample.json"))
        return sample
    for kind in _LISTS:
        chunks = [part for part in parts if _chunk_number(part, name, kind) is not None]
        chunks.sort(key=lambda part: _chunk_number(part, name, kind) or 0)
        if chunks:
            sample[kind] = [item for part in chunks for item in items(_member(archive, part, problems, kind))]
    if not mappings(sample.get("messages")):
        sample["messages"] = []
    return sample


def _chunk_number(part: str, name: str, kind: str) -> int | None:
    stem = part.removeprefix(f"samples/{name}/{kind}/").removesuffix(".json")
    return int(stem) if stem.isdecimal() and len(stem) < 16 else None
