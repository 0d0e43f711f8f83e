"""Statistics as small pure functions: arrays in, an estimate with its interval and denominator out."""

from __future__ import annotations

from trajlab.stats.differences import difference, paired_difference, task_differences
from trajlab.stats.estimate import NOT_OBSERVED, Estimate, Test, not_observed
from trajlab.stats.intervals import mean, proportion, ratio, wilson
from trajlab.stats.quantiles import median, quantile

__all__ = [
    "NOT_OBSERVED",
    "Estimate",
    "Test",
    "difference",
    "mean",
    "median",
    "not_observed",
    "paired_difference",
    "proportion",
    "quantile",
    "ratio",
    "task_differences",
    "wilson",
]
