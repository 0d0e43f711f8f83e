"""Onsets: the first period in which a measure left its baseline, and the training step at which its level changed."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import polars as pl

from trajlab.measures.catalogue import BY_NAME, MEASURES, Measure
from trajlab.measures.changes import FAMILY, period_arms, varying
from trajlab.measures.contrast import Contrast, contrast
from trajlab.measures.frame import Trajectories
from trajlab.stats import ChangePoint, change_points

MOST_PERIODS = 12
"""Beyond so many periods only the declared family is compared: a hundred measures of a hundred periods say nothing."""


class Onset(msgspec.Struct, frozen=True, kw_only=True):
    """A measure that left its baseline, the first period, in one direction."""

    measure: str
    period: str
    """First period in which it is shown to differ from the baseline in this direction."""
    direction: int
    """1 above the baseline, -1 below it."""
    change: Contrast
    """That period less the baseline."""
    stays: bool
    """Every later period is shown to differ in the same direction."""
    declared: bool
    """Of the declared family, adjusted; else exploratory: by its interval alone."""
    place: ChangePoint | None
    """First change of level in this direction in the series of batches by training step; ``None``: none is shown."""


def exploratory_changes(trajectories: Trajectories) -> list[Contrast]:
    """Measures outside the declared family, each later period against the first; not adjusted.

    Empty for one period and for more than `MOST_PERIODS`.
    """
    if not 2 <= len(trajectories.periods) <= MOST_PERIODS:
        return []
    baseline, *later = period_arms(trajectories)
    errors = trajectories.population.include_errors
    others = [measure for measure in MEASURES if measure.name not in FAMILY]
    return varying([contrast(one, baseline, arm, include_errors=errors) for one in others for arm in later])


def onsets(since_first: Sequence[Contrast], trajectories: Trajectories, *, declared: bool) -> list[Onset]:
    """Onsets in the order of the periods; a measure that left its baseline both ways has two.

    Args:
        since_first: Each later period against the first.
        trajectories: The run, for the series by training step.
        declared: The contrasts are the declared family's.
    """
    order = {period: place for place, period in enumerate(trajectories.periods)}
    found = []
    for name in dict.fromkeys(item.name for item in since_first):
        own = sorted((item for item in since_first if item.name == name), key=lambda item: order[item.after])
        for sign in (1, -1):
            shown = next((place for place, item in enumerate(own) if item.direction == sign), None)
            if shown is None:
                continue
            onset = Onset(
                measure=name,
                period=own[shown].after,
                direction=sign,
                change=own[shown],
                stays=all(item.direction == sign for item in own[shown:]),
                declared=declared,
                place=_place(trajectories, BY_NAME[name], sign),
            )
            found.append(onset)
    return sorted(found, key=lambda onset: order[onset.period])


def step_series(trajectories: Trajectories, measure: Measure) -> tuple[list[int], list[float]]:
    """A measure batch by batch: training steps and values; steps where it is not observed are left out."""
    frame = trajectories.frame.filter(pl.col("train_step").is_not_null())
    if measure.behaviour and not trajectories.population.include_errors:
        frame = frame.filter(~pl.col("is_error"))
    rows = frame.select("train_step", top=measure.value().cast(pl.Float64))
    if measure.kind == "ratio" and measure.over is not None:
        rows = rows.with_columns(frame.select(below=measure.over().cast(pl.Float64))["below"])
    else:
        rows = rows.with_columns(below=pl.lit(1.0))
    sums = (
        rows.drop_nulls().group_by("train_step").agg(pl.col("top", "below").sum()).filter(pl.col("below") > 0)
    ).sort("train_step")
    return sums["train_step"].to_list(), (sums["top"] / sums["below"]).to_list()


def _place(trajectories: Trajectories, measure: Measure, sign: int) -> ChangePoint | None:
    steps, values = step_series(trajectories, measure)
    points = change_points(values, steps)
    return next((point for point in points if np.sign(point.mean_after - point.mean_before) == sign), None)
