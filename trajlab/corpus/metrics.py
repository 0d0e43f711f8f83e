"""Metric logs of trainers, each with the run whose trajectories lie nearest to it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

import polars as pl

from trajlab.corpus.plan import Claim
from trajlab.corpus.rows import failed
from trajlab.formats import Metric, metric_format
from trajlab.records import Problem
from trajlab.schema import METRICS
from trajlab.sources.files import Bundle

_Row = tuple[object, ...]


def read_metric_logs(claims: Iterable[Claim], trajectories: pl.DataFrame) -> tuple[pl.DataFrame, list[_Row]]:
    """The table ``metrics``, and rows of ``problems``.

    Args:
        claims: What every file was found to be.
        trajectories: ``run``, ``root`` and ``source`` of all trajectories.
    """
    logs = [item for item in claims if item.role == "metrics" and item.format is not None]
    columns: dict[str, list[object]] = {name: [] for name in METRICS.names}
    problems: list[_Row] = []
    below = _runs_below(trajectories) if logs else {}
    for item in logs:
        source = item.file.relpath
        run = _run(item, below)
        if run is None:
            message = "a metric log beside several runs; name its file or its folder like the run it belongs to"
            problems.append((None, source, None, None, None, "metrics_without_run", message))
        for found in _read(item):
            if isinstance(found, Problem):
                problems.append((run, source, found.line, found.offset, None, found.code, found.message))
                continue
            row = (run, source, found.line, found.step, found.name, found.raw_name, found.value)
            for values, value in zip(columns.values(), row, strict=True):
                values.append(value)
    return pl.DataFrame(columns, schema=METRICS.polars()), problems


def _read(item: Claim) -> Iterator[Metric | Problem]:
    try:
        yield from metric_format(item.format or "").read_metrics(
            Bundle(item.format or "", item.variant or "", (item.file,))
        )
    except OSError as error:
        yield Problem("unreadable", f"{error.strerror or error}; expected a readable file")
    except MemoryError:
        raise
    except Exception as error:  # a defect of ours, met in one file, must not cost the others
        yield failed(error, "the rest of the file is not read")


def _runs_below(trajectories: pl.DataFrame) -> dict[tuple[str, str], set[str]]:
    """Runs of the trajectories in each folder and below it."""
    found: dict[tuple[str, str], set[str]] = {}
    for root, source, run in trajectories.select("root", "source", "run").unique().iter_rows():
        for folder in PurePosixPath(source).parents:
            found.setdefault((root, str(folder)), set()).add(run)
    return found


def _run(item: Claim, below: dict[tuple[str, str], set[str]]) -> str | None:
    """The only run of the nearest folder that has any; of several the one that the log is named for."""
    path = PurePosixPath(item.file.relpath)
    for folder in path.parents:
        runs = below.get((item.file.root, str(folder)))
        if not runs:
            continue
        if len(runs) == 1:
            return next(iter(runs))
        names = (item.run, path.name.partition(".")[0], *(part for part in reversed(path.parts[:-1])))
        return next((name for name in names if name in runs), None)
    return None
