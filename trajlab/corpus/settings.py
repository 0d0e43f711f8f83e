"""Settings of runs that stand in a file of their own beside the logs, for the table ``run_config``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

import polars as pl

from trajlab.corpus.metric_runs import MetricRun
from trajlab.corpus.metrics import ProblemRow, problem_row
from trajlab.corpus.plan import Claim
from trajlab.corpus.rows import failed
from trajlab.formats import companion_format
from trajlab.records import Problem, RunSetting
from trajlab.schema import RUN_CONFIG
from trajlab.sources.files import Bundle


def stated_settings(
    claims: Iterable[Claim], runs: Mapping[tuple[str, str], MetricRun]
) -> tuple[pl.DataFrame, list[ProblemRow]]:
    """Rows of ``run_config`` from companions that hold settings, and rows of ``problems``.

    The run of a companion is that of the metric logs in its folder, where they are of one; else that of its own path.

    Args:
        claims: What every file was found to be.
        runs: Run of each metric log, by root and path below it.
    """
    beside: dict[tuple[str, PurePosixPath], set[str]] = {}
    for (root, source), run in runs.items():
        beside.setdefault((root, PurePosixPath(source).parent), set()).add(run.name)
    rows: list[tuple[object, ...]] = []
    problems: list[ProblemRow] = []
    for item in claims:
        if item.role != "companion":
            continue
        place = item.file.relpath
        near = beside.get((item.file.root, PurePosixPath(place).parent), set())
        run = next(iter(near)) if len(near) == 1 else item.run
        for found in _read(item):
            if isinstance(found, Problem):
                problems.append(problem_row(run, place, found))
            else:
                rows.append((run, place, found.name, found.configured, found.applied))
    return pl.DataFrame(rows, schema=RUN_CONFIG.polars(), orient="row"), problems


def _read(item: Claim) -> Iterator[RunSetting | Problem]:
    read_settings = getattr(companion_format(item.format or ""), "read_settings", None)
    if read_settings is None:
        return
    try:
        yield from read_settings(Bundle(item.format or "", item.variant or "", (item.file,)))
    except OSError as error:
        yield Problem("unreadable", f"{error.strerror or error}; expected a readable file")
    except MemoryError:
        raise
    except Exception as error:  # a defect of ours, met in one file, must not cost the others
        yield failed(error, "the rest of the file is not read")
