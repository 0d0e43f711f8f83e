"""Metric logs of trainers: read, named, and of what is given several times the row that counts."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
import polars as pl

from trajlab.corpus.metric_repeats import mark_counting
from trajlab.corpus.metric_runs import runs_of
from trajlab.corpus.plan import Claim
from trajlab.corpus.rows import guarded
from trajlab.formats import metrics_within
from trajlab.metric_logs import METRIC_LOGS, metric_format
from trajlab.metric_logs.naming import named
from trajlab.records import Problem
from trajlab.schema import METRICS
from trajlab.sources.files import Bundle

ProblemRow = tuple[object, ...]
_DIGITS = re.compile(r"(\d+)")
_READ = {
    "run": pl.String, "source": pl.String, "line": pl.Int64, "step": pl.Int64, "raw_name": pl.String,
    "value": pl.Float64, "logged_as": pl.String,
}  # fmt: skip
DAMAGE = frozenset({"unreadable", "unreadable_record", "truncated", "record_too_large"})
"""What every reader of a file finds broken in it."""
NOT_FINITE = 10
"""Metrics of one log that are named for values that are no numbers; the others are counted."""


def read_metric_logs(claims: Sequence[Claim], trajectories: pl.DataFrame) -> tuple[pl.DataFrame, list[ProblemRow]]:
    """The table ``metrics``, and rows of ``problems``.

    Args:
        claims: What every file was found to be.
        trajectories: ``run``, ``root`` and ``source`` of all trajectories.
    """
    logs = [log for item in claims if (log := _metric_log(item)) is not None]
    within = {(item.file.root, item.file.relpath) for item in claims if item.role == "log"}
    runs = runs_of(logs, trajectories)
    logs.sort(key=lambda item: (_natural(item.file.relpath), item.file.root))
    frames: list[pl.DataFrame] = []
    problems: list[ProblemRow] = []
    for item in logs:
        whose, source = runs[item.file.root, item.file.relpath], item.file.relpath
        run = whose.name
        if not whose.told:
            message = "several runs lie as near; taken for one of its own: name its file or its folder like its run"
            problems.append(problem_row(run, source, Problem("metrics_without_run", message)))
        frame, told = _table(item, run, beside_rollouts=(item.file.root, source) in within)
        problems += [problem_row(run, source, problem) for problem in told]
        frames.append(frame)
    if not frames:
        return pl.DataFrame(schema=METRICS.polars()), problems
    marked, repeated = mark_counting(pl.concat(_in_order(logs, frames)))
    problems += [problem_row(run, source, problem) for run, source, problem in repeated]
    return marked.select(METRICS.names), problems


def _metric_log(item: Claim) -> Claim | None:
    """A claim as that of a metric log: as it is, or by the reader that its format names for the metrics within."""
    if item.format is None or item.role not in ("log", "metrics"):
        return None
    if item.role == "metrics":
        return item
    reader = metrics_within(item.format)
    return None if reader is None else msgspec.structs.replace(
        item, role="metrics", format=reader[0], variant=reader[1]
    )  # fmt: skip


def problem_row(run: str | None, source: str, problem: Problem) -> ProblemRow:
    """A row of ``problems`` about a whole log."""
    return (run, source, problem.line, problem.offset, None, problem.code, problem.message)


def _in_order(logs: list[Claim], frames: list[pl.DataFrame]) -> list[pl.DataFrame]:
    """Logs of one kind after each other, the most exact kind first; of states of one trainer the furthest last."""
    ranks = [list(METRIC_LOGS).index(item.format or "") for item in logs]
    reach = [
        frame["step"].max() or 0 if item.format == "trainer_state" else 0
        for item, frame in zip(logs, frames, strict=True)
    ]
    order = sorted(range(len(logs)), key=lambda number: (ranks[number], reach[number], number))
    return [
        frames[number].with_columns(format=pl.lit(ranks[number]), place=pl.lit(place))
        for place, number in enumerate(order)
    ]


def _natural(path: str) -> list[tuple[int, str]]:
    """Numbers in a path by their value: ``checkpoint-9`` before ``checkpoint-10``."""
    return [(int(part) if part.isdecimal() else -1, part) for part in _DIGITS.split(path)]


def _table(item: Claim, run: str, *, beside_rollouts: bool) -> tuple[pl.DataFrame, list[Problem]]:
    """Metrics of a log, named, and what is told of it; of a log with rollouts their reader told what is damaged."""
    columns: dict[str, list[object]] = {name: [] for name in _READ}
    problems: list[Problem] = []
    bundle = Bundle(item.format or "", item.variant or "", (item.file,))
    for found in guarded(lambda: metric_format(item.format or "").read_metrics(bundle)):
        if isinstance(found, Problem):
            if not beside_rollouts or found.code not in DAMAGE:
                problems.append(found)
            continue
        own = run if found.run is None else found.run
        row = (own, item.file.relpath, found.line, found.step, found.raw_name, found.value, found.logged_as)
        for values, value in zip(columns.values(), row, strict=True):
            values.append(value)
    frame = pl.DataFrame(columns, schema=_READ)
    raw_names = frame["raw_name"].unique(maintain_order=True).to_list()
    said = named(raw_names)
    names = pl.DataFrame(
        {"raw_name": raw_names, "name": [said.names[raw] for raw in raw_names]},
        schema={"raw_name": pl.String, "name": pl.String},
    )
    problems += _not_finite(frame)
    damaged = any(problem.code in ("unreadable", "unreadable_record") for problem in problems)
    if not frame.height and not damaged and not beside_rollouts:
        problems.append(Problem("no_metrics", "the log holds no metric yet"))
    return frame.join(names, on="raw_name", how="left", maintain_order="left"), problems


def _not_finite(frame: pl.DataFrame) -> Iterator[Problem]:
    """What is no number stays visible: NaN in a gradient's norm is often the first sign of a broken run."""
    odd = frame.filter(pl.col("logged_as").is_in(["nan", "inf", "-inf"]))
    if odd.is_empty():
        return
    counts = odd.group_by("raw_name", "logged_as", maintain_order=True).agg(
        pl.len().alias("times"), pl.col("step").min(), pl.col("line").first()
    )
    totals = frame.group_by("raw_name").len("of")
    told = counts.join(totals, on="raw_name", how="left", maintain_order="left")
    for row in told.head(NOT_FINITE).iter_rows(named=True):
        times = f"{row['times']:,} of {row['of']:,}"
        message = f"{row['raw_name']} is {row['logged_as']} at {times} (first: step {row['step']})"
        yield Problem("not_finite", message, row["line"])
    if told.height > NOT_FINITE:
        yield Problem("not_finite", f"and {told.height - NOT_FINITE:,} further metrics that are no finite number")
