"""The ways in which a run's training steps can be cut into epochs, and its figures by each of them.

Rollouts, the trainer's metric log and the configuration may each tell epochs, and need not agree. A figure by epoch
means nothing without its cut.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
import polars as pl

from trajlab.corpus.corpus import Corpus
from trajlab.measures.catalogue import BY_NAME
from trajlab.measures.compute import estimate
from trajlab.measures.configuration import Configuration
from trajlab.measures.frame import Trajectories, trainer_epochs
from trajlab.measures.score_series import ScoreSeries
from trajlab.stats import Estimate, mean

Source = Literal["given", "rollouts", "counted", "score", "metrics", "configured"]
FIGURES = ("correct_rate", "tool_use_rate", "mean_steps")
"""Shown by each cut beside the score."""
EPOCHS_OPTION = ("trainer.total_epochs", "num_train_epochs")
LONGEST = 20
"""Epochs of a cut whose figures are shown."""


class Partition(msgspec.Struct, frozen=True):
    """One way to cut a run into epochs."""

    source: str
    """``given``, ``rollouts`` or ``counted`` (steps per epoch): that of the rollouts; ``score``: given for the scores;
    ``metrics``: of the trainer's metric log; ``configured``: as many equal parts as epochs are configured."""
    starts: list[int]
    """First training step of each epoch."""
    sizes: list[int]
    """Training steps seen in each epoch."""


class CutFigures(msgspec.Struct, frozen=True):
    """Figures of a run by the epochs of one cut."""

    partition: Partition
    figures: dict[str, list[Estimate]]
    """By measure, an estimate for each epoch; ``score`` is the mean of the batch means."""


def partitions(
    corpus: Corpus, trajectories: Trajectories, settings: Configuration, score_boundaries: Sequence[int] = ()
) -> list[Partition]:
    """Every cut of a run that is told; first that of its rollouts where they are divided by epoch.

    Equal parts are what `configured` assumes: all steps over the configured epochs, the remainder in the last.
    """
    steps = sorted(trajectories.frame["train_step"].drop_nulls().unique().to_list())
    if not steps or trajectories.population.is_one_period:
        return []
    starts: dict[str, list[int]] = {}
    if trajectories.periods_by == "epoch" and trajectories.epochs_from is not None:
        starts[trajectories.epochs_from] = _starts_of_periods(trajectories)
    if score_boundaries:
        starts["score"] = [steps[0], *sorted(score_boundaries)]
    logged = metric_starts(corpus, trajectories)
    if logged:
        starts["metrics"] = logged
    epochs = configured_epochs(settings)
    if epochs is not None and steps[-1] - steps[0] + 1 >= epochs:
        size = (steps[-1] - steps[0] + 1) // epochs
        starts["configured"] = [steps[0] + size * epoch for epoch in range(epochs)]
    return [Partition(source, own, _sizes(own, steps)) for source, own in starts.items() if own]


def _starts_of_periods(trajectories: Trajectories) -> list[int]:
    placed = trajectories.frame.filter(pl.col("period_order").is_not_null() & pl.col("train_step").is_not_null())
    starts = placed.group_by("period_order").agg(pl.col("train_step").min()).sort("period_order")
    return [int(step) for step in starts["train_step"]]


def metric_starts(corpus: Corpus, trajectories: Trajectories) -> list[int]:
    """First step of each epoch in the trainer's metric log; empty where it tells none for a step of the rollouts."""
    run = trajectories.population.run
    told = trainer_epochs(corpus)
    told = told.filter(pl.col("run") == run) if run is not None else told
    steps = trajectories.frame.select(step="train_step").drop_nulls().unique()
    if run is None and told["run"].n_unique() > 1:
        return []
    known = steps.join(told, on="step", how="inner")
    if known.height < steps.height:
        return []
    firsts = known.group_by("value").agg(pl.col("step").min()).sort("value")
    starts = [int(step) for step in firsts["step"]]
    return starts if starts == sorted(starts) else []


def configured_epochs(settings: Configuration) -> int | None:
    """Epochs the run was configured for; ``None`` where that is not observed."""
    found = next((settings.settings[name] for name in EPOCHS_OPTION if name in settings.settings), "")
    return int(found) if found.isascii() and found.isdigit() and 0 < int(found) < 10**6 else None


def _sizes(starts: Sequence[int], steps: Sequence[int]) -> list[int]:
    ends = [*starts[1:], steps[-1] + 1]
    return [sum(start <= step < end for step in steps) for start, end in zip(starts, ends, strict=True)]


def disagreeing(found: Sequence[Partition]) -> bool:
    """Two of the cuts start their epochs at different steps."""
    return len({tuple(item.starts) for item in found}) > 1


def figures_by_cut(
    trajectories: Trajectories, score: ScoreSeries | None, found: Sequence[Partition]
) -> list[CutFigures]:
    """Figures by each cut that is told, every set of starts once; empty where all cuts agree."""
    if not disagreeing(found):
        return []
    cuts: dict[tuple[int, ...], Partition] = {}
    for item in found:
        cuts.setdefault(tuple(item.starts), item)
    return [_figures(trajectories, score, item) for item in cuts.values() if len(item.starts) <= LONGEST]


def _figures(trajectories: Trajectories, score: ScoreSeries | None, cut: Partition) -> CutFigures:
    step = pl.col("train_step")
    epoch = pl.sum_horizontal([(step >= start).cast(pl.Int64) for start in cut.starts])
    frame = trajectories.frame.filter(step.is_not_null()).with_columns(cut=epoch)
    parts = [frame.filter(pl.col("cut") == place) for place in range(1, len(cut.starts) + 1)]
    errors = trajectories.population.include_errors
    figures: dict[str, list[Estimate]] = {}
    if score is not None:
        means = pl.DataFrame({"train_step": score.steps, "mean": score.means}).with_columns(cut=epoch)
        own = [means.filter(pl.col("cut") == place)["mean"].to_numpy() for place in range(1, len(cut.starts) + 1)]
        figures["score"] = [mean(values) for values in own]
    for name in FIGURES:
        figures[name] = [estimate(part, BY_NAME[name], include_errors=errors) for part in parts]
    return CutFigures(cut, figures)
