"""Which run a metric log is of: the one whose trajectories lie nearest, else the one its folders and name tell."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

import msgspec
import polars as pl

from trajlab.corpus.plan import Claim, run_of

_PLACES = frozenset(
    {
        "checkpoints", "ckpt", "console", "derived", "events", "exports", "file", "file_logger", "lightning_logs",
        "log", "logs", "metrics", "monitors", "output", "outputs", "results", "runs", "scalars", "tb", "tensorboard",
        "tensorboard_log", "train", "training", "wandb",
    }
)  # fmt: skip
"""Folders that say what is inside, not which run it is."""
_STAMPED = re.compile(r"[A-Z][a-z]{2}\d{2}_\d{2}-\d{2}-\d{2}_.+|(?:checkpoint|global_step|version)[-_]?\d+")
"""TensorBoard's own folder of transformers (date and host), checkpoints."""
_PLAIN_NAME = re.compile(
    r"(?:metrics?|history|trainer_state|console|main|merged|train(?:ing|er)?|log|logs|out(?:put)?|stdout|stderr|run|progress|scalars"
    r"|results?|wandb[-_]?\w*|events\.out\.tfevents\b.*)(?:[-_.]\d+)?"
)
"""Names of files that say nothing of the run."""
_SUFFIXES = (
    ".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".log", ".txt", ".out", ".err", ".gz", ".zst", ".xz",
)  # fmt: skip


class MetricRun(msgspec.Struct, frozen=True):
    """The run of one metric log."""

    name: str
    told: bool = True
    """Whether that is sure; else several runs lie as near, and it is taken for one of its own."""


def runs_of(claims: Iterable[Claim], trajectories: pl.DataFrame) -> dict[tuple[str, str], MetricRun]:
    """(root, source) of each metric log -> its run.

    Args:
        claims: What every file was found to be.
        trajectories: ``run``, ``root`` and ``source`` of all trajectories.
    """
    logs = [item for item in claims if item.role == "metrics"]
    below = _runs_below(trajectories) if logs else {}
    return {(item.file.root, item.file.relpath): _run(item, below) for item in logs}


def _runs_below(trajectories: pl.DataFrame) -> dict[tuple[str, str], set[str]]:
    """Runs of the trajectories in each folder and below it."""
    found: dict[tuple[str, str], set[str]] = {}
    for root, source, run in trajectories.select("root", "source", "run").unique().iter_rows():
        for folder in PurePosixPath(source).parents:
            found.setdefault((root, str(folder)), set()).add(run)
    return found


def _run(item: Claim, below: dict[tuple[str, str], set[str]]) -> MetricRun:
    """The only run of the nearest folder that has any; of several the one that the log is named for."""
    own = item.run if item.run != run_of(item.file, item.group) else named_for(item)
    path = PurePosixPath(item.file.relpath)
    if (item.file.root, ".") not in below:
        return MetricRun(own)
    for folder in path.parents:
        runs = below.get((item.file.root, str(folder)))
        if not runs:
            continue
        if len(runs) == 1:
            return MetricRun(next(iter(runs)))
        names = (item.run, path.name.partition(".")[0], *(part for part in reversed(path.parts[:-1])))
        named = next((name for name in names if name in runs), None)
        return MetricRun(own, told=False) if named is None else MetricRun(named)
    return MetricRun(own)


def named_for(item: Claim) -> str:
    """A name for a run of which there are no trajectories: its folders below the root, and a file's own name.

    The name does not depend on which other logs there are, so it stays when some come.
    """
    path = PurePosixPath(item.file.relpath)
    parts = [part for part in path.parts[:-1] if part.lower() not in _PLACES and not _STAMPED.fullmatch(part)]
    name = path.name
    while name.lower().endswith(_SUFFIXES):
        name = name[: name.rindex(".")]
    if not _PLAIN_NAME.fullmatch(name.lower()):
        parts.append(name)
    return "/".join(parts) or Path(item.file.root).name or "run"
