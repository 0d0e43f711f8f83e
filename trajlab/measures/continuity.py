"""Whether policy version, epoch and data cursor go on from one training step to the next, across a resume, too."""

from __future__ import annotations

import msgspec
import polars as pl

from trajlab.corpus.corpus import Corpus
from trajlab.measures.frame import Trajectories
from trajlab.measures.policy import with_lag


class Break(msgspec.Struct, frozen=True):
    """One place where something does not go on."""

    step: int
    """Training step at which it shows."""
    text: str


class Continuity(msgspec.Struct):
    """What goes on over the training steps of a run, and where it does not."""

    steps: int
    """Training steps with rollouts."""
    told: list[str]
    """What the logs tell: ``policy version``, ``epoch``, ``sample index``."""
    rerun: list[int]
    """Steps that were run again: a resume went back over them."""
    breaks: list[Break]
    samples: int
    """Distinct sample indices."""
    repeated: int
    """Of these, indices that stand in two steps."""


def continuity(corpus: Corpus, trajectories: Trajectories) -> Continuity:
    """Look for falls of version and epoch, samples trained on twice, and steps without rollouts.

    Rollouts that a re-run replaced, evaluations and unfinished samples (they are taken up again later) are left out.
    """
    train = (pl.col("split") == "train") | pl.col("split").is_null()
    frame = trajectories.frame.filter(train & pl.col("train_step").is_not_null())
    frame = with_lag(frame.filter(pl.col("termination").fill_null("") != "incomplete"))
    steps = (
        frame.group_by("run", "train_step")
        .agg(pl.max_horizontal("version", "newest").max().alias("version"), pl.col("epoch").max())
        .sort("run", "train_step")
    )
    breaks = [*_falls(steps, "version", "policy version"), *_falls(steps, "epoch", "epoch"), *_gaps(steps)]
    seen = frame.filter(pl.col("sample_index").is_not_null()).group_by("run", "sample_index")
    samples = seen.agg(pl.col("train_step").n_unique().alias("steps"), pl.col("train_step").max().alias("again"))
    repeated = samples.filter(pl.col("steps") > 1)
    if repeated.height:
        first = repeated.sort("again", "sample_index").row(0, named=True)
        text = f"{repeated.height:,} of {samples.height:,} sample indices stand in two steps, the first in step"
        breaks.append(Break(first["again"], f"{text} {first['again']} (index {first['sample_index']})"))
    columns = {"policy version": "newest", "epoch": "epoch", "sample index": "sample_index"}
    told = [name for name, column in columns.items() if frame[column].count()]
    rerun = _rerun(corpus, trajectories)
    return Continuity(
        steps.height, told, rerun, sorted(breaks, key=lambda one: one.step), samples.height, repeated.height
    )


def _falls(steps: pl.DataFrame, column: str, name: str) -> list[Break]:
    known = steps.filter(pl.col(column).is_not_null())
    before = pl.col(column).shift(1).over("run")
    fallen = known.with_columns(before=before).filter(pl.col(column) < pl.col("before"))
    return [
        Break(row["train_step"], f"{name} falls from {row['before']} to {row[column]} in step {row['train_step']}")
        for row in fallen.iter_rows(named=True)
    ]


def _gaps(steps: pl.DataFrame) -> list[Break]:
    """Steps left out, where nearly all others follow each other at one distance."""
    distance = pl.col("train_step").diff().over("run")
    apart = steps.with_columns(distance=distance).filter(pl.col("distance").is_not_null())
    usual = apart["distance"].mode().sort()
    if not len(usual) or (apart["distance"] == usual[0]).mean() < 0.5:
        return []
    return [
        Break(row["train_step"], f"no rollouts between step {row['train_step'] - row['distance']} and "
                                 f"{row['train_step']}, others are {usual[0]} apart")
        for row in apart.filter(pl.col("distance") > usual[0]).iter_rows(named=True)
    ]  # fmt: skip


def _rerun(corpus: Corpus, trajectories: Trajectories) -> list[int]:
    rows = corpus.trajectories.filter(pl.col("superseded")).select("run", "train_step").collect()
    run = trajectories.population.run
    if run is not None:
        rows = rows.filter(pl.col("run") == run)
    return rows["train_step"].drop_nulls().unique().sort().to_list()
