"""The score of a run over its training steps: the series of per-step batch means of the reward."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec
import numpy as np
import polars as pl

from trajlab.measures.frame import Trajectories
from trajlab.stats import Estimate, Test, mann_kendall, mean, theil_sen

TREND_LEVEL = 0.05
SAME_SCORE = 0.001
"""Rollouts and metric log state the same score where they differ by no more."""


class ScoreSeries(msgspec.Struct):
    """Batch means by training step and what follows from them; not from the single trajectories."""

    steps: list[int]
    means: list[float]
    mean: Estimate
    """Mean of the batch means; its interval takes the steps as independent."""
    maximum: float
    std: float
    """Population standard deviation of the batch means."""
    slope: Estimate
    """Theil–Sen slope a step."""
    trend: Test
    """Mann–Kendall."""
    epochs: list[Estimate]
    """Mean of the batch means by epoch, or by another period of the trajectories."""
    epoch_names: list[str]
    epoch_starts: list[int]
    """First training step of each epoch of ``epochs``."""
    own_partition: bool
    """The epochs of the scores are others' than the rollouts': given apart, or the trainer's."""
    source: str = "rollouts"
    """``rollouts``: means of their rewards; ``metrics``: as the trainer's metric log states it."""
    compared: int = 0
    """Training steps at which the metric log states a score beside the rollouts."""
    largest_gap: float | None = None
    """Largest difference between the two; ``None``: nothing to compare."""
    gap_steps: list[int] = []
    """Training steps at which the two differ by more than `SAME_SCORE`."""

    @property
    def direction(self) -> int:
        """1 up, -1 down, 0 not shown: the sign of the slope where Mann–Kendall's p is at most 0.05."""
        slope, p = self.slope.value, self.trend.p_value
        return 0 if slope is None or p is None or p > TREND_LEVEL else int(np.sign(slope))

    @property
    def monotone(self) -> bool | None:
        """Each epoch above the one before; ``None`` for fewer than two epochs."""
        values = [e.value for e in self.epochs if e.value is not None]
        return None if len(values) < 2 else all(a < b for a, b in itertools.pairwise(values))


def score_series(
    trajectories: Trajectories, boundaries: Sequence[int] = (), logged: pl.DataFrame | None = None
) -> ScoreSeries | None:
    """The series of a run; ``None`` where neither rollouts nor a metric log tell a score by training step.

    Args:
        trajectories: One run.
        boundaries: First training step of each epoch after the first, for the scores alone; empty: the periods of
            the trajectories.
        logged: ``step`` and ``value``: the score as the trainer's metric log states it. It serves where the rollouts
            have no reward, and is compared with them where they have.
    """
    known = trajectories.frame.filter(pl.col("reward").is_not_null() & pl.col("train_step").is_not_null())
    placed = trajectories.frame.filter(pl.col("train_step").is_not_null()).sort("period_order")
    periods = placed.group_by("train_step").agg(pl.col("period_order").min(), pl.col("period").first())
    batches = known.group_by("train_step").agg(pl.col("reward").mean())
    gaps = _gaps(batches, logged)
    source = "rollouts"
    if batches.is_empty():
        if logged is None or logged.is_empty():
            return None
        batches, source = logged.select(train_step="step", reward="value"), "metrics"
    batches = batches.join(periods, on="train_step", how="left").sort("train_step")
    steps, values = batches["train_step"].to_list(), batches["reward"].to_numpy()
    if boundaries:
        epochs = np.searchsorted(np.sort(np.asarray(boundaries)), steps, side="right")
    else:
        epochs = batches["period_order"].fill_null(-1).to_numpy()
    kept = sorted({int(epoch) for epoch in epochs} - ({-1} if not boundaries else set()))
    names = {} if boundaries else dict(batches.select("period_order", "period").drop_nulls().iter_rows())
    return ScoreSeries(
        steps=steps,
        means=values.tolist(),
        mean=mean(values),
        maximum=float(values.max()),
        std=float(values.std()),
        slope=theil_sen(values, steps),
        trend=mann_kendall(values, steps),
        epochs=[mean(values[epochs == epoch]) for epoch in kept],
        epoch_names=[names.get(epoch, f"epoch {epoch}") for epoch in kept],
        epoch_starts=[int(np.asarray(steps)[epochs == epoch].min()) for epoch in kept],
        own_partition=bool(boundaries),
        source=source,
        compared=gaps.height,
        largest_gap=gaps["gap"].max() if gaps.height else None,  # type: ignore[arg-type]
        gap_steps=gaps.filter(pl.col("gap") > SAME_SCORE)["train_step"].to_list(),
    )


def _gaps(batches: pl.DataFrame, logged: pl.DataFrame | None) -> pl.DataFrame:
    """How far mean reward of the rollouts and logged score are apart, at every step that has both."""
    told = pl.DataFrame(schema={"step": pl.Int64, "value": pl.Float64}) if logged is None else logged
    both = batches.join(told.select(train_step="step", value="value"), on="train_step", how="inner").sort("train_step")
    return both.select("train_step", gap=(pl.col("reward") - pl.col("value")).abs())


def rollout_epoch_starts(trajectories: Trajectories) -> list[int]:
    """First training step of each period of the rollouts; empty where there is none."""
    placed = trajectories.frame.filter(pl.col("period_order").is_not_null() & pl.col("train_step").is_not_null())
    starts = placed.group_by("period_order").agg(pl.col("train_step").min()).sort("period_order")
    return [int(step) for step in starts["train_step"]]
