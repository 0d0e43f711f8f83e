"""Estimates from sums over tokens: they depend on the tasks through sums only, and tasks are what is drawn."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import polars as pl

from trajlab.stats import Estimate, bootstrap_of_sums, not_observed

FloatArray = npt.NDArray[np.float64]

UNITS = 500
"""Tasks are drawn in so many lots at the most."""
_DRAWS = 400


def of_sums(
    parts: FloatArray, statistic: Callable[[FloatArray], FloatArray], total: float, missing: int, seed: int
) -> Estimate:
    """An estimate from sums of shape (units, parts); its denominator ``total`` counts tokens."""
    value = float(statistic(parts.sum(axis=0)))
    if not np.isfinite(value):
        return not_observed(missing)
    low, high, words = bootstrap_of_sums(parts, statistic, np.random.default_rng(seed), _DRAWS)
    words += ", clustered by task" if low is not None else ""
    return Estimate(value, low, high, None, total, words, len(parts), missing)


def by_unit(frame: pl.DataFrame, names: list[str]) -> FloatArray:
    """Sums of columns over each ``unit``: shape (units, names)."""
    summed = frame.group_by("unit").agg(pl.col(name).cast(pl.Float64).sum() for name in names).sort("unit")
    return summed.select(names).to_numpy()


def over(above: FloatArray, below: FloatArray) -> FloatArray:
    """A ratio, NaN where it divides by zero."""
    with np.errstate(invalid="ignore", divide="ignore"):
        share: FloatArray = np.where(below != 0, np.divide(above, below), np.nan)
    return share
