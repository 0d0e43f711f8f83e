"""Trends over steps: Theil–Sen slope with Mann–Kendall's test."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from trajlab.errors import UsageError
from trajlab.stats._clusters import FloatArray, IntArray, as_floats, levels, normal_quantile
from trajlab.stats.estimate import Estimate, Test, not_observed

MOST_POINTS = 2000
"""All pairs are looked at; of a longer series the means of as many blocks are taken, and said so."""


def theil_sen(values: npt.ArrayLike, steps: npt.ArrayLike | None = None, confidence: float = 0.95) -> Estimate:
    """Median of the slopes between all pairs of points, with Sen's rank interval.

    Args:
        values: shape (points,); NaN = not observed: left out and counted in ``missing``.
        steps: shape (points,), place of each value; ``None``: 0, 1, 2 …
        confidence: coverage aimed at (for independent errors; a series with autocorrelation has a wider
            interval than this one).

    Returns:
        Slope in units of value per unit of step; ``denominator`` counts the points. ``None`` where fewer
        than two different steps were observed; no interval where the pairs are too few to bound it.

    Raises:
        UsageError: for arrays of different length.

    References:
        Theil 1950; Sen 1968, doi:10.1080/01621459.1968.10480934 (interval, tie-corrected variance).
    """
    series, places, missing = _observed(values, steps)
    count = len(series)
    series, places = _blocks(series, places)
    slopes = np.sort(_slopes(series, places))
    if len(slopes) == 0:
        return not_observed(missing)
    value = float(np.median(slopes))
    half = normal_quantile(confidence) * math.sqrt(_variance(series, places))
    lower = round((len(slopes) - half) / 2) - 1
    upper = round((len(slopes) + half) / 2)
    low = float(slopes[lower]) if lower >= 0 else None
    high = float(slopes[upper]) if upper < len(slopes) else None
    method = "Theil-Sen" if len(series) == count else f"Theil-Sen, means of {len(series):,} blocks"
    if low is None or high is None:
        method += ": too few points to bound it"
    return Estimate(value, low, high, None, float(count), method, None, missing)


def mann_kendall(values: npt.ArrayLike, steps: npt.ArrayLike | None = None) -> Test:
    """Mann–Kendall test of a monotone trend, with tie correction and continuity correction.

    Args:
        values: shape (points,); NaN = not observed.
        steps: shape (points,), place of each value; ``None``: 0, 1, 2 …

    Returns:
        ``statistic`` is Kendall's S: rising pairs less falling pairs; ``n`` the points (blocks of them
        beyond 2,000); ``p_value`` is ``None`` for fewer than
        three points and 1 for a constant series.

    Raises:
        UsageError: for arrays of different length.

    References:
        Mann 1945, doi:10.2307/1907187; Kendall 1975, Rank Correlation Methods; Gilbert 1987, §16.4.
    """
    series, places, _ = _observed(values, steps)
    series, places = _blocks(series, places)
    count = len(series)
    if count < 3:
        return Test(None, None, count, "fewer than three points: no test")
    first, second = _pair_indices(count)
    series = levels(series)
    score = float((np.sign(series[second] - series[first]) * np.sign(places[second] - places[first])).sum())
    variance = _variance(series, places)
    if variance <= 0:
        return Test(score, 1.0, count, "Mann-Kendall: constant series")
    z = (abs(score) - 1) / math.sqrt(variance) if score else 0.0
    return Test(score, min(1.0, 2 * float(ndtr(-z))), count, "Mann-Kendall, tie-corrected")


def _observed(values: npt.ArrayLike, steps: npt.ArrayLike | None) -> tuple[FloatArray, FloatArray, int]:
    series = as_floats(values, "values")
    places = np.arange(len(series), dtype=np.float64) if steps is None else as_floats(steps, "steps")
    if series.shape != places.shape:
        raise UsageError("steps", f"{len(places)} for {len(series)} values", "one step for each value")
    seen = ~(np.isnan(series) | np.isnan(places))
    return series[seen], places[seen], int(len(seen) - seen.sum())


def _blocks(series: FloatArray, places: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Means of neighbouring points, where there are more than can be compared pair by pair."""
    count = len(series)
    if count <= MOST_POINTS:
        return series, places
    order = np.argsort(places, kind="stable")
    starts = np.arange(MOST_POINTS) * count // MOST_POINTS
    sizes = np.diff(np.append(starts, count))
    return np.add.reduceat(series[order], starts) / sizes, np.add.reduceat(places[order], starts) / sizes


def _pair_indices(count: int) -> tuple[IntArray, IntArray]:
    first, second = np.triu_indices(count, 1)
    return first.astype(np.int64), second.astype(np.int64)


def _slopes(series: FloatArray, places: FloatArray) -> FloatArray:
    first, second = _pair_indices(len(series))
    run = places[second] - places[first]
    apart = run != 0
    slopes: FloatArray = (series[second] - series[first])[apart] / run[apart]
    return slopes


def _variance(series: FloatArray, places: FloatArray) -> float:
    """Variance of Kendall's S under no trend, with ties in values and in steps."""
    n = len(series)
    if n < 2:
        return 0.0

    def ties(array: FloatArray) -> FloatArray:
        return np.unique(array, return_counts=True)[1].astype(np.float64)

    t, u = ties(levels(series)), ties(places)
    total = float(n * (n - 1) * (2 * n + 5))
    total -= float((t * (t - 1) * (2 * t + 5)).sum() + (u * (u - 1) * (2 * u + 5)).sum())
    variance = total / 18
    variance += float((t * (t - 1)).sum()) * float((u * (u - 1)).sum()) / (2 * n * (n - 1))
    if n > 2:
        triples = float((t * (t - 1) * (t - 2)).sum()) * float((u * (u - 1) * (u - 2)).sum())
        variance += triples / (9 * n * (n - 1) * (n - 2))
    return max(0.0, variance)
