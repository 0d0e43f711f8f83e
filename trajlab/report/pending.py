"""Which periods of which runs are finished and not audited yet: what a schedule has to do."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import xxhash

from trajlab.corpus.corpus import Corpus
from trajlab.errors import UsageError
from trajlab.measures.frame import WHOLE, population_of, select
from trajlab.report.index import list_runs
from trajlab.report.record import WIP_PREFIX

SETTLE_HOURS = 6.0
"""A run of which no file changed for so long has ended, as far as can be told."""
_VERDICTS = ("passed", "failed", "inconclusive")
_JUDGED_BY = ["trajectory_id", "content_digest", "train_step", "epoch", "reward", "correct", "outcome", "termination"]


class Period(msgspec.Struct, frozen=True):
    """One period of one run."""

    run: str
    name: str
    trajectories: int
    fingerprint: str
    """Digest of its trajectories and their verdicts."""
    finished: bool
    why: str
    """Why it is finished, or what it waits for."""


def periods(
    corpus: Corpus,
    runs: Sequence[str],
    parameters: Mapping[str, Any],
    *,
    settle_hours: float = SETTLE_HOURS,
    now: float | None = None,
) -> list[Period]:
    """Every period of the runs, in order.

    A period is finished when a later one has begun; the last one, and a run that is not divided, when no file of the
    run has changed for ``settle_hours``.

    Args:
        corpus: Where the runs are.
        runs: Their names.
        parameters: Effective parameters of the audit.
        settle_hours: Hours of quiet after which a run counts as ended.
        now: The time, in seconds since 1970; ``None``: the clock.

    Raises:
        UsageError: Quarters, which move as a run grows.
    """
    if parameters["by"] == "quarter":
        found = "quarters, whose ends move as a run grows"
        raise UsageError("--pending", found, "--by epoch or --by steps:N", "For example --by steps:20")
    clock = time.time() if now is None else now
    changed = _last_changes(corpus)
    found_periods: list[Period] = []
    for run in runs:
        trajectories = select(corpus, population_of(run, dict(parameters)))
        quiet = (clock - changed.get(run, 0.0)) / 3600
        for name in trajectories.periods:
            own = trajectories.frame.filter(pl.col("period") == name)
            later = name != trajectories.periods[-1]
            why = "a later period has begun" if later else f"no file changed for {quiet:.1f} hours"
            finished = later or quiet >= settle_hours
            if not finished:
                why += f"; finished after {settle_hours:g}, or when a later period begins"
            found_periods.append(Period(run, name, own.height, _fingerprint(own), finished, why))
    return found_periods


def pending(out: Path, found: Sequence[Period], parameters: Mapping[str, Any]) -> list[Period]:
    """Finished periods of which ``out`` holds no verdict on the same data by the same parameters."""
    done = set()
    for listed in list_runs(out):
        record = listed.record
        if record is not None and record.status in _VERDICTS and not listed.folder.startswith(WIP_PREFIX):
            done.add((record.run, record.period or WHOLE, record.data_fingerprint, _compared(record.parameters)))
    key = _compared(parameters)
    return [one for one in found if one.finished and (one.run, one.name, one.fingerprint, key) not in done]


def _compared(parameters: Mapping[str, Any]) -> bytes:
    """Parameters without those that say where and what, which is compared by name and by data."""
    kept = {name: value for name, value in parameters.items() if name not in ("corpus", "run", "period", "epoch")}
    return msgspec.json.encode(kept, order="deterministic")


def _fingerprint(frame: pl.DataFrame) -> str:
    text = frame.select(_JUDGED_BY).sort("trajectory_id").write_csv()
    return xxhash.xxh3_64_hexdigest(text.encode("utf-8", "backslashreplace"))


def _last_changes(corpus: Corpus) -> dict[str, float]:
    """When a file of each run last changed, in seconds since 1970, as it was when it was ingested."""
    times = {(claim.file.root, claim.file.relpath): claim.file.mtime_ns / 1e9 for claim in corpus.manifest.claims}
    latest: dict[str, float] = {}
    sources = corpus.trajectories.select("root", "source", "run").unique().collect()
    for root, source, run in sources.iter_rows():
        latest[run] = max(latest.get(run, 0.0), times.get((root, source), 0.0))
    return latest
