"""Assembly: what only other files or other trajectories can tell, as small overlay tables.

Recomputed whenever an input changes; the parts stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path, PurePosixPath

import msgspec
import polars as pl

from trajlab.behavior.termination import BY_VERDICT, ENDED
from trajlab.corpus.companions import join_companions
from trajlab.corpus.coverage import Source, coverage_table
from trajlab.corpus.lost import LOST
from trajlab.corpus.manifest import Manifest
from trajlab.corpus.metric_runs import MetricRun, runs_of
from trajlab.corpus.metrics import problem_row, read_metric_logs
from trajlab.corpus.overlay import overlay_of
from trajlab.corpus.parquet import write_frame
from trajlab.corpus.parts import PARTS, UnitSummary, file_sizes, whole_part
from trajlab.corpus.plan import Claim
from trajlab.corpus.reconcile import acted, compare, differences
from trajlab.corpus.rows import digest, guarded
from trajlab.errors import InfrastructureError
from trajlab.formats import Outcome, companion_format, outcomes_of
from trajlab.records import Problem
from trajlab.schema import OUTCOMES, OVERLAY, PROBLEMS, SOURCES, TABLES
from trajlab.sources.files import Bundle

ASSEMBLED = "assembled"


def assembly_key(manifest: Manifest) -> str:
    """Digest of all that the assembled tables depend on."""
    columns = [table.names for table in TABLES.values() if table.origin == "assembled"]
    facts = (manifest.trajlab, columns, [unit.key for unit in manifest.units], manifest.claims, manifest.problems)
    return digest(msgspec.json.encode(facts))


def require_whole(folder: Path, manifest: Manifest) -> None:
    """Refuse a corpus some of whose files are missing or cut short: its numbers would be wrong in silence.

    Raises:
        InfrastructureError: Naming the first of them.
    """
    for unit in manifest.units:
        if whole_part(folder, unit) is None:
            raise damaged(folder, f"{PARTS}/{unit.key}")
    if not assembled_whole(folder, manifest):
        raise damaged(folder, ASSEMBLED)


def assembled_whole(folder: Path, manifest: Manifest) -> bool:
    """Whether the assembled tables are as they were written."""
    target = folder / ASSEMBLED
    # A corpus of an earlier version may lack a table that there was none of.
    expected = {f"{table.name}.parquet" for table in TABLES.values() if table.origin == "assembled"}
    return target.is_dir() and expected <= manifest.assembled.keys() and file_sizes(target) == manifest.assembled


def damaged(folder: Path, what: str) -> InfrastructureError:
    """The error for a corpus that is not as it was written."""
    found = f"the corpus is damaged: files of {what} are missing or cut short"
    return InfrastructureError(str(folder), found, "", "Run the same ingest again: it reads what is missing")


def part_files(folder: Path, manifest: Manifest, table: str) -> list[Path]:
    """Files of a table, over all parts, in the order of the units."""
    found: list[Path] = []
    for unit in manifest.units:
        numbered = (folder / PARTS / unit.key).glob(f"{table}.*.parquet")
        found += sorted(numbered, key=lambda path: int(path.name.split(".")[1]))
    return found


def scan_parts(folder: Path, manifest: Manifest, table: str) -> pl.LazyFrame:
    """A part table as one lazy frame; empty with the right columns where no part has rows."""
    files = part_files(folder, manifest, table)
    if not files:
        return pl.LazyFrame(schema=TABLES[table].polars())
    return pl.scan_parquet(files)


def assemble(folder: Path, manifest: Manifest) -> None:
    """Write the assembled tables: overlay, what companions say, metrics, sources and the problems found on the way."""
    target = folder / ASSEMBLED
    target.mkdir(exist_ok=True)
    for leftover in target.glob(".wip-*.parquet"):
        leftover.unlink()
    trajectories = (
        scan_parts(folder, manifest, "trajectories")
        .select(
            "trajectory_id", "run", "format", "variant", "root", "source", "task_id", "native_id", "split",
            "train_step", "logged_correct", "logged_outcome", "logged_termination", "gradable", "content_digest",
            "logged_epoch", "group_id", "attempt", "agent", "reward", "stop_reason", "logged_steps",
        )
        .collect()
    )  # fmt: skip
    outcomes, problems = _outcomes(manifest.claims)
    metrics, unread = read_metric_logs(manifest.claims, trajectories)
    problems += unread
    problems += [_problem_row(found.run, found.source, found.problem) for found in manifest.problems]
    trajectories, conflicts = _with_verdicts(trajectories, outcomes)
    problems += conflicts
    metric_runs = runs_of(manifest.claims, trajectories)
    companions = join_companions(manifest.claims, trajectories, metric_runs)
    problems += companions.problems
    overlay = overlay_of(trajectories, companions.overlay, manifest.claims)
    del trajectories  # of a long run there are millions
    problems += _unlike_the_metrics(folder, manifest, overlay, metrics)
    _write(target, "overlay", overlay.select(OVERLAY.names))
    _write(target, "outcomes", outcomes.select(OUTCOMES.names))
    _write(target, "facts", companions.facts)
    _write(target, "totals", companions.totals)
    _write(target, "run_config", companions.run_config)
    _write(target, "metrics", metrics)
    summaries = _summaries(folder, manifest)
    _write(target, "sources", _sources(manifest, summaries, companions.notes, metric_runs))
    _write(target, "coverage", _coverage(folder, manifest, summaries, overlay))
    _write(target, "problems", pl.DataFrame(problems, schema=PROBLEMS.polars(), orient="row"))


def _unlike_the_metrics(
    folder: Path, manifest: Manifest, overlay: pl.DataFrame, metrics: pl.DataFrame
) -> list[tuple[object, ...]]:
    """Problems for figures of a metric log that the trajectories of its steps do not bear out."""
    if metrics.is_empty():
        return []
    facts = acted(scan_parts(folder, manifest, name) for name in ("trajectories", "behaviour", "tool_calls"))
    kept = overlay.filter(~pl.col("superseded") & ~pl.col("duplicate")).select("trajectory_id")
    told = differences(compare(facts.join(kept, on="trajectory_id", how="semi"), metrics), metrics)
    return [problem_row(run, source, found) for run, source, found in told]


def _write(folder: Path, name: str, frame: pl.DataFrame) -> None:
    aside = folder / f".wip-{name}.parquet"
    write_frame(frame, aside)
    aside.replace(folder / f"{name}.parquet")


def _problem_row(run: str | None, source: str, problem: Problem) -> tuple[object, ...]:
    return (run, source, problem.line, problem.offset, None, problem.code, problem.message)


def _outcomes_of(name: str, bundle: Bundle) -> Iterator[Outcome | Problem]:
    yield from outcomes_of(companion_format(name), bundle)


def _outcomes(claims: Iterable[Claim]) -> tuple[pl.DataFrame, list[tuple[object, ...]]]:
    rows: list[tuple[object, ...]] = []
    problems: list[tuple[object, ...]] = []
    for item in claims:
        if item.role != "companion" or item.format is None:
            continue
        bundle = Bundle(item.format, item.variant or "", (item.file,))
        path = PurePosixPath(item.file.relpath)
        folder = "" if path.parent == PurePosixPath() else str(path.parent)
        for found in guarded(partial(_outcomes_of, item.format, bundle)):
            if isinstance(found, Problem):
                problems.append(_problem_row(item.run, item.file.relpath, found))
            else:
                rows.append(
                    (item.run, item.file.relpath, folder, found.instance_id, found.resolved, item.format,
                     found.note, item.file.root)
                )  # fmt: skip
    schema: dict[str, type[pl.DataType]] = {**OUTCOMES.polars(), "root": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row"), problems


def _with_verdicts(trajectories: pl.DataFrame, outcomes: pl.DataFrame) -> tuple[pl.DataFrame, list[tuple[object, ...]]]:
    """The trajectories with their verdict, whose it is and how they ended; and the verdicts that contradict the log."""
    verdicts = _verdicts(trajectories, outcomes)
    joined = trajectories.join(verdicts, on="trajectory_id", how="left", maintain_order="left")
    joined = joined.with_columns(
        correct=pl.coalesce("logged_correct", "resolved"), outcome=pl.coalesce("resolved", "logged_outcome")
    ).with_columns(
        verdict_source=pl.when(pl.col("logged_correct").is_not_null())
        .then(pl.lit("log"))
        .when(pl.col("resolved").is_not_null())
        .then(pl.col("verdict_file")),
        verdict=pl.coalesce("correct", "outcome"),
    )
    ended = pl.col("logged_termination") == ENDED
    joined = joined.with_columns(
        termination=pl.when(ended)
        .then(
            pl.when(pl.col("verdict").is_null())
            .then(pl.lit("unknown"))
            .when("verdict")
            .then(pl.lit(BY_VERDICT[0]))
            .otherwise(pl.lit(BY_VERDICT[1]))
        )
        .otherwise(pl.col("logged_termination"))
    )
    disagree = joined.filter(pl.col("logged_correct") != pl.col("resolved"))
    conflicts: list[tuple[object, ...]] = [
        (row["run"], row["source"], None, None, row["trajectory_id"], "verdict_conflict",
         f"the log says correct={row['logged_correct']}, {row['verdict_file']} says {row['resolved']}")
        for row in disagree.iter_rows(named=True)
    ]  # fmt: skip
    return joined, conflicts


def _verdicts(trajectories: pl.DataFrame, outcomes: pl.DataFrame) -> pl.DataFrame:
    """One verdict per trajectory at the most: of the nearest folder above it, else of its task in the same run.

    Evaluation harnesses write beside the trajectories or into a tree of their own, so a verdict from elsewhere below
    the root counts where this is the only attempt at the task, in its run or at all. A trajectory whose log says that
    it was not graded (an attempt that was not handed in) has none.
    """
    trajectories = trajectories.filter(pl.col("gradable").fill_null(value=True))
    columns = [
        "root", "folder", "instance_id", "resolved",
        pl.col("source").alias("verdict_file"), pl.col("run").alias("verdict_run"),
    ]  # fmt: skip
    known = outcomes.filter(pl.col("resolved").is_not_null()).select(columns)
    if known.is_empty():
        kinds: dict[str, type[pl.DataType]] = {
            "trajectory_id": pl.String, "resolved": pl.Boolean, "verdict_file": pl.String,
        }  # fmt: skip
        return pl.DataFrame(schema=kinds)
    folder = pl.col("source").str.replace(r"/?[^/]*$", "")
    here = trajectories.select("trajectory_id", "run", "root", "task_id", "source", here=folder)
    alone = here.join(
        known.filter(pl.col("instance_id").is_null()), left_on=["root", "here"], right_on=["root", "folder"]
    ).with_columns(depth=pl.lit(1_000_000))
    named = known.filter(pl.col("instance_id").is_not_null()).unique(maintain_order=True)
    by_task = here.join(named, left_on=["root", "task_id"], right_on=["root", "instance_id"])
    below = (
        (pl.col("folder") == "")
        | (pl.col("here") == pl.col("folder"))
        | pl.col("here").str.starts_with(pl.col("folder") + "/")
    )
    # A report in another folder does not say which of several attempts it judged.
    attempts = pl.col("trajectory_id").n_unique()
    in_run = (pl.col("verdict_run") == pl.col("run")) & (attempts.over("root", "run", "task_id") == 1)
    only = in_run | (attempts.over("root", "task_id") == 1)
    agreed = only & (pl.col("resolved").n_unique().over("trajectory_id") == 1)
    by_task = by_task.with_columns(
        depth=pl.when(below).then(pl.col("folder").str.len_chars().cast(pl.Int32)).otherwise(pl.lit(-1))
    ).filter(below | agreed)
    wanted = ["trajectory_id", "resolved", "verdict_file", "depth"]
    both = pl.concat([alone.select(wanted), by_task.select(wanted)])
    return (
        both.sort("trajectory_id", "depth", "verdict_file", descending=[False, True, False])
        .unique("trajectory_id", keep="first", maintain_order=True)
        .drop("depth")
    )


def _summaries(folder: Path, manifest: Manifest) -> list[UnitSummary]:
    """What came of each unit.

    Raises:
        InfrastructureError: A part is missing or cut short.
    """
    found = []
    for unit in manifest.units:
        summary = whole_part(folder, unit)
        if summary is None:
            raise damaged(folder, f"{PARTS}/{unit.key}")
        found.append(summary)
    return found


def _sources(
    manifest: Manifest,
    summaries: list[UnitSummary],
    notes: dict[tuple[str, str], str],
    metric_runs: dict[tuple[str, str], MetricRun],
) -> pl.DataFrame:
    made: dict[tuple[str, str], int] = {}
    for unit, summary in zip(manifest.units, summaries, strict=True):
        for item, count in zip(unit.bundles, summary.trajectories, strict=True):
            place = (item.bundle.file.root, item.bundle.file.relpath)
            made[place] = made.get(place, 0) + count
    rows = [
        (c.file.root, c.file.relpath, of.name if (of := metric_runs.get((c.file.root, c.file.relpath))) else c.run,
         c.format, c.role, c.file.size, None, made.get((c.file.root, c.file.relpath), 0),
         notes.get((c.file.root, c.file.relpath)))
        for c in manifest.claims
    ]  # fmt: skip
    return pl.DataFrame(rows, schema=SOURCES.polars(), orient="row")


def _coverage(folder: Path, manifest: Manifest, summaries: list[UnitSummary], overlay: pl.DataFrame) -> pl.DataFrame:
    sources = [
        Source(item.bundle.file.root, item.bundle.file.relpath, item.run, item.bundle.format, item.bytes, own.lost,
               own.lost_bytes)
        for unit, summary in zip(manifest.units, summaries, strict=True)
        for item, own in zip(unit.bundles, summary.coverage, strict=True)
    ]  # fmt: skip
    unread = {found.source for found in manifest.problems if found.problem.code in LOST}
    sources += [
        Source(item.file.root, item.file.relpath, item.run, None, item.file.size, 1, item.file.size)
        for item in manifest.claims
        if item.role in ("unclaimed", "unreadable") and item.file.relpath in unread
    ]
    steps = scan_parts(folder, manifest, "behaviour").select("trajectory_id", pl.col("n_steps").fill_null(0))
    own = overlay.lazy().select("trajectory_id", "root", "source", "termination", "logged_steps")
    trajectories = own.join(steps, on="trajectory_id", how="left")
    calls, commands = (scan_parts(folder, manifest, name) for name in ("tool_calls", "commands"))
    return coverage_table(sources, trajectories, calls, commands, manifest.fields)
