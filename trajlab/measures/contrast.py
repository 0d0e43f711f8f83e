"""Two arms of trajectories on one measure: their difference pooled, and within the tasks that both have."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from trajlab.measures.catalogue import Measure
from trajlab.measures.compute import FloatArray
from trajlab.measures.compute import estimate as estimate_of
from trajlab.measures.frame import column
from trajlab.stats import (
    Estimate,
    Test,
    difference,
    holm,
    inverted_difference_test,
    not_observed,
    paired_difference,
    paired_t_test,
    sign_test,
    two_sample_test,
)

SHARED_TASKS = 0.5
"""Arms are compared task by task where at least this share of the smaller arm's tasks is in both."""
LEVEL = 0.05
"""Level of the tests, after adjustment within a declared family."""


class Arm(msgspec.Struct, frozen=True):
    """Trajectories under one name; ``frame`` is that of `select`, with ``arm_task``: the task as a number."""

    name: str
    frame: pl.DataFrame


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    """One measure in two arms; differences are ``after`` minus ``before``."""

    name: str
    before: str
    after: str
    first: Estimate
    """The measure in the arm before."""
    second: Estimate
    """The measure in the arm after."""
    pooled: Estimate
    """Difference over all trajectories, clustered by task."""
    within: Estimate
    """Mean over the tasks in both arms of the difference at that task; not observed where too few are shared."""
    p_value: float | None
    """Of the test beside the difference told (`told`); ``None`` where the data allow none."""
    test: str
    adjusted: float | None = None
    """The p-value after Holm's adjustment within the declared family; ``None`` outside of one."""

    @property
    def told(self) -> Estimate:
        """The difference to rely on: within task where tasks repeat, else pooled."""
        return self.within if self.within.value is not None else self.pooled

    @property
    def opposite(self) -> bool:
        """Pooled and within-task differences have opposite signs: the mix of tasks differs."""
        one, other = self.pooled.value, self.within.value
        return one is not None and other is not None and one * other < 0

    @property
    def direction(self) -> int:
        """1 risen, -1 fallen, 0 not shown: the interval excludes zero, and in a family the adjusted test agrees."""
        told = self.told
        if told.low is None or told.high is None or (self.adjusted is not None and self.adjusted > LEVEL):
            return 0
        return 1 if told.low > 0 else -1 if told.high < 0 else 0


def arms(named: Sequence[tuple[str, pl.DataFrame]]) -> list[Arm]:
    """Arms that number their tasks alike; a trajectory without task is a task of its own."""
    frames = [frame.with_columns(arm=pl.lit(place, pl.Int64)) for place, (_, frame) in enumerate(named)]
    keys = pl.concat([frame.select("arm", pl.coalesce("task_id", "trajectory_id").alias("key")) for frame in frames])
    alone = pl.concat([frame.select(pl.col("task_id").is_null()) for frame in frames]).to_series()
    # A trajectory that stands alone must not meet its namesake in another arm.
    label = pl.when(alone).then(pl.format("{}/{}", "arm", "key")).otherwise(pl.format("task/{}", "key"))
    codes = keys.select(label.rank("dense").cast(pl.Int64).alias("arm_task")).to_series()
    placed, start = [], 0
    for (name, _), frame in zip(named, frames, strict=True):
        placed.append(Arm(name, frame.drop("arm").with_columns(codes[start : start + frame.height])))
        start += frame.height
    return placed


def contrast(measure: Measure, before: Arm, after: Arm, *, include_errors: bool = False) -> Contrast:
    """Compare two arms on one measure.

    A ratio is compared through its linearised values (see `_values`), so that its difference has the interval of
    the two ratios.

    Args:
        measure: What to compare.
        before: The arm that is subtracted.
        after: The arm it is subtracted from.
        include_errors: Keep trajectories of the error classes in behaviour measures.
    """
    frames = [_kept(arm.frame, measure, include_errors) for arm in (before, after)]
    estimates = [estimate_of(frame, measure, include_errors=True) for frame in frames]
    values = [_values(frame, measure) for frame in frames]
    tasks = [frame["arm_task"].to_numpy() for frame in frames]
    if any(e.value is None for e in estimates):
        missing = sum(e.missing for e in estimates)
        pooled, within, test = not_observed(missing), not_observed(), Test(None, None, 0, "not observed")
    else:
        kind = "proportion" if measure.kind == "share" else "mean"
        pooled = difference(values[1], values[0], tasks[1], tasks[0], kind=kind, shared_clusters=True)  # type: ignore[arg-type]
        within, test = _within(measure, frames, values, tasks)
        if test.p_value is None and within.value is None and measure.kind == "share":
            test = inverted_difference_test(values[1], values[0], tasks[1], tasks[0])
    return Contrast(
        name=measure.name,
        before=before.name,
        after=after.name,
        first=estimates[0],
        second=estimates[1],
        pooled=pooled,
        within=within,
        p_value=test.p_value,
        test=test.method,
    )


def _kept(frame: pl.DataFrame, measure: Measure, include_errors: bool) -> pl.DataFrame:
    return frame.filter(~pl.col("is_error")) if measure.behaviour and not include_errors else frame


def _values(frame: pl.DataFrame, measure: Measure) -> FloatArray:
    """One value a trajectory whose mean is the measure.

    For a ratio R of sums it is R + (top − R · bottom) / mean bottom: the mean of these is R, and their variance the
    linearised variance of the ratio (Cochran 1977, Sampling Techniques, §6).
    """
    top = column(frame, measure.value())
    if measure.kind != "ratio" or measure.over is None:
        return top
    bottom = column(frame, measure.over())
    seen = ~(np.isnan(top) | np.isnan(bottom))
    if not seen.any() or bottom[seen].sum() <= 0:
        return np.full(len(top), np.nan)
    rate, size = top[seen].sum() / bottom[seen].sum(), bottom[seen].mean()
    return np.where(seen, rate + (top - rate * bottom) / size, np.nan)


def _within(
    measure: Measure, frames: list[pl.DataFrame], values: list[FloatArray], tasks: list[npt.NDArray[np.int64]]
) -> tuple[Estimate, Test]:
    """Difference within shared tasks with its test, or no difference and the test of independent arms."""
    seen = [np.unique(codes[~np.isnan(own)]) for codes, own in zip(tasks, values, strict=True)]
    shared = len(np.intersect1d(seen[0], seen[1], assume_unique=True))
    if shared < max(2.0, SHARED_TASKS * min(len(codes) for codes in seen)):
        return not_observed(), two_sample_test(values[1], values[0], tasks[1], tasks[0])
    if measure.kind == "ratio":
        pairs = [_by_task(frame, measure) for frame in frames]
        values, tasks = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    within = paired_difference(values[1], values[0], tasks[1], tasks[0])
    test = paired_t_test(values[1], values[0], tasks[1], tasks[0])
    if test.p_value is None and test.n > 1:  # all tasks differ by the same, which t cannot judge
        test = sign_test(np.ones(test.n), np.zeros(test.n))
    return within, test


def _by_task(frame: pl.DataFrame, measure: Measure) -> tuple[FloatArray, npt.NDArray[np.int64]]:
    """The ratio at each task; tasks where its denominator is 0 or nothing was observed are left out."""
    if measure.over is None:
        raise ValueError(f"{measure.name} is no ratio")
    top, bottom = measure.value().cast(pl.Float64), measure.over().cast(pl.Float64)
    whole = frame.select("arm_task", top=top, bottom=bottom).drop_nulls()
    sums = whole.group_by("arm_task", maintain_order=True).agg(pl.col("top").sum(), pl.col("bottom").sum())
    sums = sums.filter(pl.col("bottom") > 0)
    return (sums["top"] / sums["bottom"]).to_numpy(), sums["arm_task"].to_numpy()


def adjust(contrasts: Sequence[Contrast], family: Sequence[str]) -> list[Contrast]:
    """The contrasts, those of the declared family with Holm's adjusted p-values."""
    own = [place for place, item in enumerate(contrasts) if item.name in family]
    adjusted = holm([np.nan if (p := contrasts[place].p_value) is None else p for place in own])
    found = list(contrasts)
    for place, value in zip(own, adjusted, strict=True):
        known = None if np.isnan(value) else float(value)
        found[place] = msgspec.structs.replace(found[place], adjusted=known)
    return found
