"""Planning: which reader claims which file, and which files are read together as one unit."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from copy import copy
from pathlib import Path

import msgspec

from trajlab import __version__
from trajlab.behavior.derive import RULES_VERSION
from trajlab.corpus.parts import Unit, UnitBundle
from trajlab.corpus.rows import digest, failed
from trajlab.formats import (
    COMPANIONS,
    FALLBACK_LOGS,
    LOGS,
    LogFormat,
    companion_format,
    log_format,
    mapped,
)
from trajlab.metric_logs import METRIC_LOGS, metric_format
from trajlab.records import Problem
from trajlab.schema import PART_TABLES
from trajlab.sources.field_mapping import FieldMapping
from trajlab.sources.files import Bundle, SourceFile, parts_of
from trajlab.sources.probe import Probe
from trajlab.sources.reading import cut


class UnitSizes(msgspec.Struct, frozen=True):
    """How large a unit may grow."""

    bytes: int = 64 << 20
    """Aim for a slice, limit for a group of files."""
    files: int = 250
    slice_from: int = 96 << 20
    """Line files larger than this are cut into slices."""


# Folders that say what is inside, not which run it is.
_DUMP_FOLDERS = frozenset(
    {
        "train", "val", "valid", "validation", "eval", "evaluation", "test", "rollout", "rollouts", "rollout_data",
        "validation_data", "dumps", "logs", "trajectories", "trajs", "completions", "llm_completions", "generations",
    }
)  # fmt: skip
# Files that stand in a folder named for their task.
_IN_OWN_FOLDER = frozenset({"report.json", "trajectory.json", "result.json"})
_CLOSED = frozenset({"unreadable", "truncated_archive", "expansion_limit"})
_ATTEMPT = re.compile(r"(?:attempt|trial|sample|repeat)[-_]?(\d{1,6})")


def attempt_of(relpath: str) -> int | None:
    """Number of the attempt, where a folder is named for it (``attempt_2``)."""
    for folder in reversed(parts_of(relpath)[:-1]):
        if found := _ATTEMPT.fullmatch(folder.lower()):
            return int(found[1])
    return None


class Claim(msgspec.Struct):
    """What one file was found to be."""

    file: SourceFile
    run: str
    role: str
    """``log``, ``companion``, ``metrics``, ``unclaimed`` or ``unreadable``."""
    format: str | None = None
    variant: str | None = None
    sliceable: bool = False
    group: str = ""
    """Path below the root of what the file is a part of, where several files are one conversation."""
    place: str = ""
    """Path that identifies its trajectories: below the root, with the root's name where two roots share it."""
    problem: Problem | None = None
    mapping: FieldMapping | None = None


def claim(file: SourceFile, run: str | None, mapping: FieldMapping | None = None) -> Claim:
    """Ask every format; exactly one may claim a file, chat rows only where no other does.

    Args:
        file: The file.
        run: Name of the run, where the user gives it.
        mapping: The user's own mapping: what it claims, no format is asked for.
    """
    return claim_of(Probe(file), run, mapping)


def claim_of(probe: Probe, run: str | None, mapping: FieldMapping | None = None) -> Claim:
    """:func:`claim` for a file that is being looked at."""
    file = probe.file
    own_run = run if run is not None else run_of(file)
    try:
        if mapping is not None and (variant := mapped.recognise_mapped(probe, mapping)):
            return Claim(file, own_run, "log", mapped.NAME, variant, _sliceable(probe), mapping=mapping)
        claims = _claims_of(probe)
        if len(claims) > 1 and probe.shape == "lines":
            claims = _by_first_record(file, claims)
    except OSError as error:
        problem = Problem("unreadable", f"{error.strerror or error}; expected a readable file")
        return Claim(file, own_run, "unreadable", problem=problem)
    except MemoryError:
        raise
    except Exception as error:  # a defect of ours, met in one file, must not cost the others
        return Claim(file, own_run, "unreadable", problem=failed(error, "the file is not read"))
    if probe.error is not None:
        problem = Problem("unreadable", f"{probe.error}; expected a readable file")
        return Claim(file, own_run, "unreadable", problem=problem)
    if len(claims) > 1:
        names = ", ".join(sorted(name for name, _, _ in claims))
        return Claim(
            file, own_run, "unclaimed", problem=Problem("ambiguous_format", f"several readers claim it: {names}")
        )
    if not claims:
        return Claim(file, own_run, "unclaimed", problem=_cut_off(probe) or _closed(probe))
    name, role, variant = claims[0]
    if role != "log":
        return Claim(file, own_run, role, name, variant)
    module = log_format(name)
    sliceable = _sliceable(probe) and not module.VARIANTS[variant].whole
    group = group_of(module, file.relpath, variant)
    own_run = run if run is not None else run_of(file, group)
    return Claim(file, own_run, role, name, variant, sliceable, group)


def _claims_of(probe: Probe) -> list[tuple[str, str, str]]:
    """(format, role, variant) of every format that claims a file."""
    claims = [(n, "log", v) for n in LOGS if (v := log_format(n).recognise(probe))]
    claims = [c for c in claims if getattr(log_format(c[0]), "HOLDS_LOGS", False)] or claims
    claims += [(n, "companion", v) for n in COMPANIONS if (v := companion_format(n).recognise(probe))]
    claims += [(n, "metrics", v) for n in METRIC_LOGS if (v := metric_format(n).recognise(probe))]
    if len(claims) == 1 and claims[0][1] == "log" and probe.shape == "lines" and len(probe.records) > 1:
        return _of_first_record(probe, claims)
    return claims or [(n, "log", v) for n in FALLBACK_LOGS if (v := log_format(n).recognise(probe))]


def _of_first_record(probe: Probe, claims: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Lines whose first record a fallback reader knows, and the one that claims them does not: they are its own."""
    alone = copy(probe)
    alone.__dict__["records"] = probe.records[:1]
    if log_format(claims[0][0]).recognise(alone) is not None:
        return claims
    known = [log_format(n).recognise(alone) is not None and log_format(n).recognise(probe) for n in FALLBACK_LOGS]
    return [(n, "log", v) for n, v in zip(FALLBACK_LOGS, known, strict=True) if v] or claims


def _sliceable(probe: Probe) -> bool:
    return probe.shape == "lines" and probe.compression is None


def _by_first_record(file: SourceFile, claims: list[tuple[str, str, str]]) -> list[tuple[str, str, str]]:
    """Of lines that belong to several formats (files run together) the first decides, where it belongs to one alone."""
    probe = Probe(file, most_records=1)
    first = [c for c in claims if c[1] == "log" and log_format(c[0]).recognise(probe) is not None]
    return first if len(first) == 1 else claims


def group_of(module: LogFormat, relpath: str, variant: str) -> str:
    """Path of what a file is a part of, where the format says so; empty: the file stands for itself."""
    group = getattr(module, "group", None)
    return str(group(relpath, variant) or "") if group is not None else ""


def _cut_off(probe: Probe) -> Problem | None:
    """A document that no reader claims because it ends early: still being written, or cut."""
    if probe.shape not in ("object", "list") or not probe.tail:
        return None
    if probe.tail.rstrip()[-1:] in (b"}", b"]"):
        return None
    message = f"the document ends in the middle, at byte {probe.file.size:,}; it is read once it is complete"
    return Problem("truncated", message)


def _closed(probe: Probe) -> Problem | None:
    """What kept a Parquet file or an archive that no reader claims from being looked into."""
    told = [problem.message for problem in probe.problems if problem.code in _CLOSED]
    return Problem("unrecognised", f"no reader claims it: {told[0]}") if told else None


def run_of(file: SourceFile, group: str = "") -> str:
    """The first folder below the root that is neither the trajectory's own nor a kind of dump, else the root's name."""
    *folders, name = parts_of(group or file.relpath)
    if folders and (name.startswith(folders[-1]) or name in _IN_OWN_FOLDER):
        folders.pop()
    while folders and (folders[-1].lower() in _DUMP_FOLDERS or _ATTEMPT.fullmatch(folders[-1].lower())):
        folders.pop()
    return folders[0] if folders else Path(file.root).name or "run"


def gathered(claims: Iterable[Claim]) -> list[list[Claim]]:
    """Claims whose files are read together: the one that is named as the group, then by depth and path."""
    groups: dict[tuple[str, ...], list[Claim]] = {}
    for item in sorted(claims, key=lambda c: (c.format or "", c.file.root, c.file.relpath)):
        whole = ("group", item.group) if item.group else ("file", item.file.relpath)
        groups.setdefault((item.format or "", item.file.root, *whole), []).append(item)
    for members in groups.values():
        members.sort(key=lambda c: (c.file.relpath != c.group, c.file.relpath.count("/")))
    return list(groups.values())


def place_claims(claims: Sequence[Claim]) -> None:
    """Give every claim its identifying path; files of several roots that share run and path get the root's name too."""
    shared = Counter((item.run, item.file.relpath) for item in claims)
    for item in claims:
        item.place = item.file.relpath
        if shared[item.run, item.file.relpath] > 1:
            item.place = f"{Path(item.file.root).name}/{item.file.relpath}"
    again = Counter((item.run, item.place) for item in claims)
    for item in claims:
        if again[item.run, item.place] > 1:
            item.place = f"{item.file.root}/{item.file.relpath}"


def pack(
    claims: Iterable[Claim],
    *,
    forced_run: bool,
    keep_texts: bool,
    read_to: dict[tuple[str, str], int],
    sizes: UnitSizes,
) -> list[Unit]:
    """Units for log files: slices of large line files, and groups of small files, in path order.

    Args:
        claims: The log files to read.
        forced_run: Whether the user named the run.
        keep_texts: Whether texts are kept.
        read_to: For files some of whose slices are kept: the byte up to which they are.
        sizes: How large a unit may grow.
    """
    units: list[Unit] = []
    waiting: list[UnitBundle] = []
    size = files = 0
    for members in gathered(claims):
        item = members[0]
        if item.sliceable and item.file.size > sizes.slice_from:
            done = read_to.get((item.file.root, item.file.relpath), 0)
            units.extend(
                _unit([_bundle(members, forced_run, start, end)], keep_texts)
                for start, end in cut(item.file, sizes.bytes)
                if start >= done
            )
            continue
        more = sum(member.file.size for member in members)
        if waiting and (size + more > sizes.bytes or files >= sizes.files):
            units.append(_unit(waiting, keep_texts))
            waiting, size, files = [], 0, 0
        waiting.append(_bundle(members, forced_run))
        size, files = size + more, files + len(members)
    if waiting:
        units.append(_unit(waiting, keep_texts))
    return units


def _bundle(members: Sequence[Claim], forced_run: bool, start: int = 0, end: int | None = None) -> UnitBundle:
    item = members[0]
    files = tuple(member.file for member in members)
    bundle = Bundle(item.format or "", item.variant or "", files, start, end, item.mapping)
    return UnitBundle(bundle, item.run, bundle_place(item), attempt_of(item.file.relpath), forced_run)


def bundle_place(item: Claim) -> str:
    """Path that identifies the trajectories of a bundle, by its first file: which file comes first may change."""
    place = item.place or item.file.relpath
    return place.removesuffix(item.file.relpath) + item.group if item.group else place


def _unit(bundles: Sequence[UnitBundle], keep_texts: bool) -> Unit:
    return Unit(unit_key(bundles, keep_texts), tuple(bundles), keep_texts)


def unit_key(bundles: Sequence[UnitBundle], keep_texts: bool) -> str:
    """Digest of all that a unit's part depends on: files, readers, rules, columns and options."""
    facts = [
        (b.run, b.place, b.forced_run, b.bundle.format, b.bundle.variant, b.bundle.start, b.bundle.end,
         b.bundle.mapping, [(f.root, f.relpath, f.size, f.mtime_ns) for f in b.bundle.files])
        for b in bundles
    ]  # fmt: skip
    columns = [table.names for table in PART_TABLES]
    return digest(msgspec.json.encode((__version__, RULES_VERSION, columns, keep_texts, facts)))
