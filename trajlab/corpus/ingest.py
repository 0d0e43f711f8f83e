"""Ingest: logs in, a corpus out; incremental, atomic, resumable."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path, PurePosixPath

import msgspec

from trajlab import __version__
from trajlab.behavior.derive import RULES_VERSION
from trajlab.corpus.assemble import ASSEMBLED, assemble, assembled_whole, assembly_key
from trajlab.corpus.field_sample import sample_fields
from trajlab.corpus.left_out import HIDDEN, left_out
from trajlab.corpus.manifest import FoundProblem, Manifest, load_manifest, locked, save_manifest
from trajlab.corpus.parts import (
    Unit,
    UnitBundle,
    UnitTask,
    file_sizes,
    read_unit,
    slice_digest,
    sweep,
    whole_part,
)
from trajlab.corpus.plan import (
    Claim,
    UnitSizes,
    bundle_place,
    claim,
    gathered,
    pack,
    place_claims,
    run_of,
    unit_key,
)
from trajlab.engines import Engine, choose_jobs, map_units
from trajlab.errors import UsageError, not_written
from trajlab.progress import progress
from trajlab.records import Problem
from trajlab.sources.discover import discover
from trajlab.sources.field_mapping import FieldMapping
from trajlab.sources.files import Bundle, SourceFile

_DATA_SUFFIXES = (
    ".json", ".jsonl", ".ndjson", ".parquet", ".traj", ".eval", ".pt", ".pkl", ".gz", ".zst", ".xz", ".zip",
)  # fmt: skip
_EVENT_FILE = "events.out.tfevents."


def ingest_into(
    folder: Path,
    sources: Sequence[str | Path],
    *,
    run: str | None = None,
    jobs: int | None = None,
    keep_texts: bool = True,
    engine: Engine | None = None,
    leave_out: Path | None = None,
    sizes: UnitSizes | None = None,
    mapping: FieldMapping | None = None,
) -> Manifest:
    """Make the corpus in ``folder`` hold what ``sources`` hold now.

    Args:
        folder: Corpus folder; made if missing.
        sources: Folders, globs and files.
        run: Name of the run for all of them; ``None``: as the logs or the folders say.
        jobs: Processes; ``None``: as many as pay.
        keep_texts: Whether to keep messages, arguments and outputs.
        engine: Where units are read; ``None``: in local processes.
        leave_out: A folder below the sources that holds our own output.
        sizes: How large a unit may grow; ``None``: as shipped.
        mapping: Where fields stand in files that no reader knows.

    Raises:
        UsageError: Nothing to read.
        InfrastructureError: A full disk, a killed worker, a corpus in use.
    """
    _refuse_wrong_names(folder, sources, run)
    files, problems = _find(sources, leave_out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder):
            options = Options(tuple(map(str, sources)), run, jobs, keep_texts, engine, sizes or UnitSizes(), mapping)
            return _ingest(folder, files, problems, options)
    except OSError as error:
        raise not_written(folder, error) from error


class Options(msgspec.Struct, frozen=True):
    """How an ingest was asked for."""

    sources: tuple[str, ...]
    run: str | None
    jobs: int | None
    keep_texts: bool
    engine: Engine | None
    sizes: UnitSizes
    mapping: FieldMapping | None = None


def _refuse_wrong_names(folder: Path, sources: Sequence[str | Path], run: str | None) -> None:
    """What cannot be a name, or would put the corpus where the logs are."""
    if run is not None and not run.strip():
        raise UsageError("run", "an empty name", "", "Name the run, or leave it out")
    for place, name in (("run", run or ""), ("out", str(folder)), *(("sources", str(source)) for source in sources)):
        if not _is_text(name) or "\0" in name:
            raise UsageError(place, f"{name!r} is no valid UTF-8", "a name that is text", "Rename it")
    for source in sources:
        if not str(source):
            raise UsageError("sources", "an empty path", "", "Write . for the current folder")
        if Path(source).is_dir() and Path(source).resolve() == folder.resolve():
            raise UsageError(str(folder), "the folder of the logs", "another folder for the corpus", "Choose another")


def _find(sources: Sequence[str | Path], leave_out: Path | None) -> tuple[list[SourceFile], list[tuple[str, Problem]]]:
    found = discover(sources)
    own = None if leave_out is None else leave_out.resolve()
    files = [file for file in found.files if own is None or not Path(file.path).resolve().is_relative_to(own)]
    skipped = [item for item in found.skipped if own is None or not Path(item.path).resolve().is_relative_to(own)]
    passed_over = left_out(skipped, found.seen)
    if not files:
        place = ", ".join(map(str, sources))
        if found.problems:
            raise UsageError(place, found.problems[0][1].message, "", "Check the path and its permissions")
        hidden = [relpath for relpath, problem in passed_over if problem.code == HIDDEN]
        if hidden:
            raise UsageError(place, f"no files but in the hidden folder {hidden[0]}", "a folder with logs", "Name it")
        raise UsageError(place, "no files", "a folder with logs", "Check the path")
    named = [file for file in files if _is_text(file.path)]
    odd = [
        (file.relpath, Problem("file_name", "the name is no valid UTF-8; rename the file to have it read"))
        for file in files
        if not _is_text(file.path)
    ]
    return named, [*found.problems, *odd, *passed_over]


def _is_text(path: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in path)


def _ingest(
    folder: Path, files: Sequence[SourceFile], problems: Sequence[tuple[str, Problem]], options: Options
) -> Manifest:
    before = load_manifest(folder)
    claims = _claims(files, before, options)
    logs = [item for item in claims if item.role == "log"]
    if not any(item.role in ("log", "metrics") for item in claims):
        raise _nothing_to_read(options.sources, claims)
    units = _plan(logs, before, folder, options)
    fields, unseen = sample_fields(logs, before.fields if before is not None and before.trajlab == __version__ else ())
    found = [*_found_problems(problems, claims), *(FoundProblem(c.file.relpath, p, c.run) for c, p in unseen)]
    manifest = Manifest(
        claims=claims, units=units, problems=found, fields=fields, rules=RULES_VERSION, mapping=options.mapping
    )
    key = assembly_key(manifest)
    pending = [unit for unit in units if whole_part(folder, unit) is None]
    if before is not None and not pending and _unchanged(before, key, units) and assembled_whole(folder, before):
        return before
    save_manifest(folder, manifest)
    _read_pending(folder, pending, options)
    assemble(folder, manifest)
    sweep(folder, {unit.key for unit in units})
    manifest.assembled, manifest.assembled_from, manifest.complete = file_sizes(folder / ASSEMBLED), key, True
    save_manifest(folder, manifest)
    return manifest


def _unchanged(before: Manifest, key: str, units: Sequence[Unit]) -> bool:
    return before.complete and before.assembled_from == key and before.units == units


def _claims(files: Sequence[SourceFile], before: Manifest | None, options: Options) -> list[Claim]:
    """Claims of all files; those of unchanged files are kept."""
    run, mapping = options.run, options.mapping
    still_holds = before is not None and before.trajlab == Manifest().trajlab and before.mapping == mapping
    known = {item.file: item for item in before.claims} if before is not None and still_holds else {}
    claims = []
    for file in progress(files, total=len(files), unit="file", description="looking"):
        item = known.get(file)
        if item is None or item.role == "unreadable":
            item = claim(file, run, mapping)
        item.run = run_of(file, item.group) if run is None else run
        claims.append(item)
    place_claims(claims)
    return claims


def _nothing_to_read(sources: Sequence[str | Path], claims: Sequence[Claim]) -> UsageError:
    place = ", ".join(map(str, sources))
    unreadable = [item for item in claims if item.problem is not None and item.role == "unreadable"]
    if unreadable and len(unreadable) == len(claims):
        reason = unreadable[0].problem.message if unreadable[0].problem else ""
        return UsageError(unreadable[0].file.path, reason, "", "Check its permissions")
    return UsageError(
        place,
        f"{len(claims)} files, none of a known log format",
        "a log that a reader knows",
        "See trajlab formats for the formats read",
    )


def _is_named_as_data(relpath: str) -> bool:
    return relpath.lower().endswith(_DATA_SUFFIXES) or _EVENT_FILE in PurePosixPath(relpath).name


def _found_problems(found: Sequence[tuple[str, Problem]], claims: Sequence[Claim]) -> list[FoundProblem]:
    problems = [FoundProblem(source, problem) for source, problem in found]
    for item in claims:
        if item.problem is not None:
            problems.append(FoundProblem(item.file.relpath, item.problem, item.run))
        elif item.role == "unclaimed" and _is_named_as_data(item.file.relpath):
            code, words = ("empty_file", "0 bytes") if item.file.size == 0 else ("unrecognised", "no reader claims it")
            problem = Problem(code, f"{words}; see trajlab formats")
            problems.append(FoundProblem(item.file.relpath, problem, item.run))
    return problems


def _plan(logs: Sequence[Claim], before: Manifest | None, folder: Path, options: Options) -> list[Unit]:
    """Units that still hold are kept, so that their parts are; the rest is packed anew."""
    kept = _kept_units(logs, before, folder, options)
    covered = {file for unit in kept for item in unit.bundles for file in item.bundle.files if item.bundle.end is None}
    sliced: dict[tuple[str, str], int] = {}
    for unit in kept:
        bundle = unit.bundles[0].bundle
        if bundle.end is not None:
            place = (bundle.file.root, bundle.file.relpath)
            sliced[place] = max(sliced.get(place, 0), bundle.end)
    left = [item for item in logs if item.file not in covered]
    return kept + pack(
        left,
        forced_run=options.run is not None,
        keep_texts=options.keep_texts,
        read_to=sliced,
        sizes=options.sizes,
    )


def _kept_units(logs: Sequence[Claim], before: Manifest | None, folder: Path, options: Options) -> list[Unit]:
    if before is None:
        return []
    groups = gathered(logs)
    current = {(members[0].file.root, members[0].file.relpath): members for members in groups}
    kept: list[Unit] = []
    reach: dict[tuple[str, str], int] = {}
    for unit in before.units:
        if unit.keep_texts != options.keep_texts or unit.key != unit_key(unit.bundles, options.keep_texts):
            continue
        if all(item.forced_run == (options.run is not None) for item in unit.bundles) and all(
            _holds(item, current, unit, folder, reach, options.sizes) for item in unit.bundles
        ):
            kept.append(unit)
            bundle = unit.bundles[0].bundle
            if bundle.end is not None:
                reach[(bundle.file.root, bundle.file.relpath)] = bundle.end
    return kept


def _holds(
    item: UnitBundle,
    current: dict[tuple[str, str], list[Claim]],
    unit: Unit,
    folder: Path,
    reach: dict[tuple[str, str], int],
    sizes: UnitSizes,
) -> bool:
    """Whether a bundle of an earlier plan would be planned, and read, the same again."""
    bundle: Bundle = item.bundle
    place = (bundle.file.root, bundle.file.relpath)
    members = current.get(place)
    if members is None:
        return False
    now = members[0]
    said = (bundle.format, bundle.variant, item.run, item.place, bundle.mapping)
    if (now.format, now.variant, now.run, bundle_place(now), now.mapping) != said:
        return False
    is_cut = now.sliceable and now.file.size > sizes.slice_from
    if bundle.end is None:
        return tuple(member.file for member in members) == bundle.files and not is_cut
    if not is_cut or reach.get(place, 0) != bundle.start:
        return False
    if now.file == bundle.file:
        return True
    # Cuts do not move when a file grows; where it ended, the last record may have been unfinished.
    ends_at_cut = bundle.end < bundle.file.size and now.file.size > bundle.end
    return ends_at_cut and _slice_unchanged(unit, folder)


def _slice_unchanged(unit: Unit, folder: Path) -> bool:
    summary = whole_part(folder, unit)
    return summary is not None and summary.slice_digest is not None and summary.slice_digest == slice_digest(unit)


def _read_pending(folder: Path, pending: Sequence[Unit], options: Options) -> None:
    if not pending:
        return
    total = sum(unit.bytes for unit in pending)
    tasks = [UnitTask(unit, str(folder)) for unit in sorted(pending, key=lambda u: (-u.bytes, u.key))]
    if options.engine is not None:
        done = options.engine(read_unit, tasks)
    else:
        done = map_units(read_unit, tasks, choose_jobs(options.jobs, total, len(tasks)))
    for _ in progress(done, total=len(tasks), unit="unit", description="reading"):
        pass
