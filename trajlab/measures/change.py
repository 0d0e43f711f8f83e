"""What changed between the first and the last period of a run."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np
import polars as pl

from trajlab.measures.catalogue import BY_NAME
from trajlab.measures.frame import Trajectories, column
from trajlab.stats import Estimate, difference

FOLLOWED = (
    "correct_rate", "mean_reward", "mean_steps", "tool_use_rate", "one_step_rate", "any_test_rate", "suite_run_rate",
    "inline_rate", "reward_zero_rate", "stuck_rate",
)  # fmt: skip
"""Measures whose change is said first."""


class PeriodChange(msgspec.Struct, frozen=True):
    """One measure, last period less first."""

    name: str
    before: str
    after: str
    estimate: Estimate

    @property
    def is_clear(self) -> bool:
        """The interval leaves out no change."""
        low, high = self.estimate.low, self.estimate.high
        return low is not None and high is not None and (low > 0 or high < 0)


def first_to_last(trajectories: Trajectories) -> list[PeriodChange]:
    """Changes of the followed measures, last period less first; pooled, clustered by task (exploratory)."""
    if len(trajectories.periods) < 2:
        return []
    before, after = trajectories.periods[0], trajectories.periods[-1]
    frame = trajectories.frame
    if not trajectories.population.include_errors:
        frame = frame.filter(~pl.col("is_error"))
    first, last = (frame.filter(pl.col("period") == period) for period in (before, after))
    changes = []
    for name in FOLLOWED:
        measure = BY_NAME[name]
        kind: Literal["proportion", "mean"] = "proportion" if measure.kind == "share" else "mean"
        late, early = column(last, measure.value()), column(first, measure.value())
        if not np.isfinite(late).any() or not np.isfinite(early).any():
            continue
        tasks = last["cluster"].to_numpy(), first["cluster"].to_numpy()
        found = difference(late, early, tasks[0], tasks[1], kind=kind, shared_clusters=True)
        changes.append(PeriodChange(name, before, after, found))
    return changes
