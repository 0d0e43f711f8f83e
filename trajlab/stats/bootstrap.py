"""Bootstrap that draws whole clusters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from trajlab.errors import UsageError
from trajlab.stats._clusters import FloatArray, IntArray, check_confidence, encode, rounding
from trajlab.stats.estimate import Estimate, not_observed

Statistic = Callable[..., float]


def cluster_bootstrap(
    statistic: Statistic,
    *columns: npt.ArrayLike,
    rng: np.random.Generator,
    clusters: npt.ArrayLike | None = None,
    draws: int = 2000,
    method: Literal["bca", "percentile"] = "bca",
    confidence: float = 0.95,
) -> Estimate:
    """Bootstrap interval of any statistic of rows; clusters are drawn whole, with replacement.

    Args:
        statistic: called with one array per column, rows of the drawn clusters; returns a number, NaN where
            it is not defined.
        *columns: each of shape (rows,); NaN is left to the statistic.
        rng: source of all randomness.
        clusters: shape (rows,), task of each row; ``None``: each row is its own cluster.
        draws: bootstrap samples.
        method: ``bca`` (bias-corrected, accelerated over clusters) or ``percentile``.
        confidence: coverage aimed at.

    Returns:
        ``numerator`` is ``None`` and ``denominator`` counts rows. With fewer than two clusters, or where the
        statistic is not defined in a fifth of the draws or more, there is no interval and ``method`` says so.

    Raises:
        UsageError: for columns of different length, an unknown method or fewer than 100 draws.

    References:
        Efron 1987 (BCa), doi:10.1080/01621459.1987.10478410; Davison and Hinkley 1997, §3.8,
        doi:10.1017/CBO9780511802843 (resampling whole groups).
    """
    arrays = [np.asarray(column) for column in columns]
    _check(arrays, draws, method)
    check_confidence(confidence)
    rows = len(arrays[0])
    codes, count = encode(np.arange(rows) if clusters is None else clusters, rows)
    by_task = count if clusters is not None else None
    if rows == 0:
        return not_observed(0, by_task)
    value = float(statistic(*arrays))
    if np.isnan(value):
        return not_observed(0, by_task)
    order = np.argsort(codes, kind="stable")
    members = np.split(order, np.cumsum(np.bincount(codes, minlength=count))[:-1])
    if count < 2:
        return Estimate(value, None, None, None, float(rows), "one unit only: no interval", by_task)
    found = np.array([_redraw(statistic, arrays, members, rng) for _ in range(draws)])
    left = _jackknife(statistic, arrays, members) if method == "bca" else None
    low, high, words = bootstrap_interval(value, found, left, confidence)
    if clusters is not None and low is not None:
        words += ", clustered by task"
    return Estimate(value, low, high, None, float(rows), words, by_task)


def bootstrap_of_sums(
    contributions: FloatArray,
    statistic: Callable[[FloatArray], FloatArray],
    rng: np.random.Generator,
    draws: int = 2000,
    confidence: float = 0.95,
) -> tuple[float | None, float | None, str]:
    """BCa interval of a statistic that depends on the units through sums only: fast, for many units.

    Args:
        contributions: shape (units, parts), what each unit adds to the sums.
        statistic: shape (..., parts) to shape (...), NaN where not defined.
        rng: source of all randomness.
        draws: bootstrap samples.
        confidence: coverage aimed at.

    Returns:
        Low, high and method; the ends are ``None`` where there is no interval, and the method says why.
    """
    check_confidence(confidence)
    count = len(contributions)
    if count < 2:
        return None, None, "one unit only: no interval"
    totals = contributions.sum(axis=0)
    batch = max(1, 4_000_000 // count)
    found = []
    for start in range(0, draws, batch):
        weights = rng.multinomial(count, np.full(count, 1 / count), min(batch, draws - start))
        found.append(statistic(weights @ contributions))
    value = float(statistic(totals))
    return bootstrap_interval(value, np.concatenate(found), statistic(totals - contributions), confidence)


def bootstrap_interval(
    value: float, found: FloatArray, left: FloatArray | None, confidence: float
) -> tuple[float | None, float | None, str]:
    """Interval from bootstrap values, BCa where jackknife values are given, and its name.

    Args:
        value: the statistic of the data.
        found: shape (draws,), NaN where the statistic was not defined.
        left: shape (units,), the statistic without each unit; ``None``: percentile interval.
        confidence: coverage aimed at.
    """
    kept = np.sort(found[~np.isnan(found)])
    if len(kept) <= 0.8 * len(found):
        return None, None, "statistic undefined in too many draws: no interval"
    if kept[-1] - kept[0] <= rounding(kept):
        return None, None, "no variation: no interval"
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    if left is not None:
        tails = _bca_tails(value, kept, left[~np.isnan(left)], tails)
    low, high = (float(end) for end in np.quantile(kept, tails))
    return min(low, value), max(high, value), f"{'percentile' if left is None else 'BCa'} bootstrap"


def _check(arrays: list[npt.NDArray[Any]], draws: int, method: str) -> None:
    if not arrays or any(array.shape[:1] != arrays[0].shape[:1] or array.ndim == 0 for array in arrays):
        shapes = ", ".join(str(array.shape) for array in arrays)
        raise UsageError("columns", f"shapes {shapes or 'none'}", "columns with one row count")
    if method not in ("bca", "percentile"):
        raise UsageError("method", repr(method), "'bca' or 'percentile'")
    if draws < 100:
        raise UsageError("draws", f"{draws}", "at least 100")


def _redraw(
    statistic: Statistic,
    arrays: list[npt.NDArray[Any]],
    members: list[IntArray],
    rng: np.random.Generator,
) -> float:
    drawn = rng.integers(0, len(members), len(members))
    chosen = np.concatenate([members[cluster] for cluster in drawn])
    return float(statistic(*(array[chosen] for array in arrays)))


def _jackknife(statistic: Statistic, arrays: list[npt.NDArray[Any]], members: list[IntArray]) -> FloatArray:
    """The statistic without each cluster in turn."""
    keep = np.ones(len(arrays[0]), bool)
    left = np.empty(len(members))
    for cluster, chosen in enumerate(members):
        keep[chosen] = False
        left[cluster] = statistic(*(array[keep] for array in arrays))
        keep[chosen] = True
    return left


def _bca_tails(value: float, found: FloatArray, left: FloatArray, tails: FloatArray) -> FloatArray:
    """Tail probabilities corrected for bias and acceleration; ties count half."""
    equal = np.abs(found - value) <= rounding(found)
    below = (np.count_nonzero((found < value) & ~equal) + 0.5 * np.count_nonzero(equal)) / len(found)
    bias = float(ndtri(np.clip(below, 0.5 / len(found), 1 - 0.5 / len(found))))
    pulls = left.mean() - left
    scale = float(np.dot(pulls, pulls)) ** 1.5
    acceleration = float((pulls**3).sum()) / (6 * scale) if scale > 0 else 0.0
    shifted = bias + ndtri(tails)
    corrected: FloatArray = ndtr(bias + shifted / (1 - acceleration * shifted))
    return corrected
