"""Differences of two proportions or means: independent arms, arms that share tasks, pairs by task."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from trajlab.errors import UsageError
from trajlab.stats._clusters import FloatArray, as_floats, degrees_of_freedom, encode, observe, sums, t_quantile
from trajlab.stats.estimate import Estimate, Test, not_observed
from trajlab.stats.intervals import linearised_variance, mean, proportion, share_evidence, wilson

FEW_DIFFERING = 10
"""Below so many differing tasks a t interval of differences of shares covers too little."""


def difference(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    clusters_a: npt.ArrayLike | None = None,
    clusters_b: npt.ArrayLike | None = None,
    kind: Literal["proportion", "mean"] = "proportion",
    shared_clusters: bool = False,
    confidence: float = 0.95,
) -> Estimate:
    """Pooled a − b of two sets of rows, unpaired.

    Proportions: Newcombe's interval from the two (clustered) Wilson intervals. Means: t interval with
    the smaller of the two degrees of freedom (conservative).

    Args:
        a: shape (rows of a,); NaN = not observed.
        b: shape (rows of b,); NaN = not observed.
        clusters_a: shape (rows of a,), task of each row; ``None``: rows stand alone.
        clusters_b: shape (rows of b,), likewise.
        kind: ``proportion`` for values in [0, 1], ``mean`` for any.
        shared_clusters: a label means the same task in both arms, so the covariance between the arms
            counts; otherwise the arms are taken as independent.
        confidence: coverage aimed at.

    Returns:
        value = a − b; ``numerator`` is ``None``, ``denominator`` the observed rows of both arms; null
        value where an arm has no observed row.

    Raises:
        UsageError: for an unknown kind, or ``shared_clusters`` without both clusters.

    References:
        Newcombe 1998, doi:10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I; Zou and
        Donner 2008 (intervals from intervals, with correlation), doi:10.1002/sim.3095.
    """
    if kind not in ("proportion", "mean"):
        raise UsageError("kind", repr(kind), "'proportion' or 'mean'")
    estimator = proportion if kind == "proportion" else mean
    one, other = estimator(a, clusters_a, confidence), estimator(b, clusters_b, confidence)
    missing = one.missing + other.missing
    if one.value is None or other.value is None:
        return not_observed(missing)
    correlation = _arm_correlation(a, b, clusters_a, clusters_b) if shared_clusters else 0.0
    value = one.value - other.value
    low, high = _combined(one, other, correlation)
    if kind == "proportion":
        low, high = None if low is None else max(-1.0, low), None if high is None else min(1.0, high)
        method = "Newcombe"
    else:
        low, high, method = _mean_interval(a, b, clusters_a, clusters_b, correlation, confidence)
    clusters = _clusters_of_arms(one, other)
    if clusters is not None and low is not None:
        method += ", clustered by task" + (" shared by the arms" if shared_clusters else "")
    return Estimate(value, low, high, None, _sum(one.denominator, other.denominator), method, clusters, missing)


def _sum(one: float | None, other: float | None) -> float:
    return (one or 0.0) + (other or 0.0)


def _clusters_of_arms(one: Estimate, other: Estimate) -> int | None:
    if one.clusters is None and other.clusters is None:
        return None
    return int(sum(arm.clusters if arm.clusters is not None else arm.denominator or 0 for arm in (one, other)))


def _combined(one: Estimate, other: Estimate, correlation: float) -> tuple[float | None, float | None]:
    """Interval of one − other from the interval of each; none where either has none."""
    if one.value is None or one.low is None or one.high is None:
        return None, None
    if other.value is None or other.low is None or other.high is None:
        return None, None
    return _recovered(one.value, (one.low, one.high), other.value, (other.low, other.high), correlation)


def _recovered(
    one: float, around_one: tuple[float, float], other: float, around_other: tuple[float, float], correlation: float
) -> tuple[float, float]:
    """Interval of one − other by the variances recovered from the interval of each."""

    def half(first: float, second: float) -> float:
        return math.sqrt(max(0.0, first**2 + second**2 - 2 * correlation * first * second))

    value = one - other
    return (
        value - half(one - around_one[0], around_other[1] - other),
        value + half(around_one[1] - one, other - around_other[0]),
    )


def inverted_difference_test(
    a: npt.ArrayLike, b: npt.ArrayLike, clusters_a: npt.ArrayLike, clusters_b: npt.ArrayLike
) -> Test:
    """Test of two shares by the interval of :func:`difference`: the level at which it just holds zero.

    For arms of which neither varies, where no other test can say anything; clusters are shared by the arms.

    Args:
        a: shape (rows of a,), 0/1; NaN = not observed. At least one row is.
        b: shape (rows of b,), likewise.
        clusters_a: shape (rows of a,), task of each row.
        clusters_b: shape (rows of b,), likewise.

    Returns:
        ``n`` counts the observed rows of both arms.
    """
    rows = [observe(as_floats(values, "values"), labels) for values, labels in ((a, clusters_a), (b, clusters_b))]
    one, other = (share_evidence(arm) for arm in rows)
    correlation = _arm_correlation(a, b, clusters_a, clusters_b)
    p_low, p_high = 0.0, 1.0
    for _ in range(40):
        level = (p_low + p_high) / 2
        around_one, around_other = one.interval(1 - level), other.interval(1 - level)
        low, high = _recovered(one.share, around_one, other.share, around_other, correlation)
        p_low, p_high = (level, p_high) if low <= 0 <= high else (p_low, level)
    return Test(None, p_high, sum(len(arm.values) for arm in rows), "Newcombe's interval, inverted")


def _arm(values: npt.ArrayLike, clusters: npt.ArrayLike | None) -> tuple[FloatArray, npt.NDArray[Any]]:
    array = as_floats(values, "values")
    labels: npt.NDArray[Any] = np.arange(len(array)) if clusters is None else np.asarray(clusters)
    if labels.shape != array.shape:
        raise UsageError("clusters", f"array of shape {labels.shape}", f"one label for each of {len(array)} rows")
    seen = ~np.isnan(array)
    return array[seen], labels[seen]


def _arm_correlation(
    a: npt.ArrayLike, b: npt.ArrayLike, clusters_a: npt.ArrayLike | None, clusters_b: npt.ArrayLike | None
) -> float:
    """Correlation of the two pooled means through the tasks they share (linearised)."""
    if clusters_a is None or clusters_b is None:
        raise UsageError("shared_clusters", "clusters of only one arm or none", "clusters_a and clusters_b")
    (first, labels_a), (second, labels_b) = _arm(a, clusters_a), _arm(b, clusters_b)
    codes, count = encode(np.concatenate([labels_a, labels_b]), len(first) + len(second))
    residual_a = np.bincount(codes[: len(first)], first - first.mean(), count)
    residual_b = np.bincount(codes[len(first) :], second - second.mean(), count)
    scale = math.sqrt(float(np.dot(residual_a, residual_a) * np.dot(residual_b, residual_b)))
    return float(np.dot(residual_a, residual_b)) / scale if scale > 0 else 0.0


def _mean_interval(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    clusters_a: npt.ArrayLike | None,
    clusters_b: npt.ArrayLike | None,
    correlation: float,
    confidence: float,
) -> tuple[float | None, float | None, str]:
    value, variances, freedoms = 0.0, [], []
    for sign, values, clusters in ((1, a, clusters_a), (-1, b, clusters_b)):
        kept, labels = _arm(values, clusters)
        codes, count = encode(labels, len(kept))
        if count < 2:
            return None, None, "one task or value only in an arm: no interval"
        sizes = np.bincount(codes, minlength=count).astype(np.float64)
        value += sign * float(kept.mean())
        variances.append(linearised_variance(float(kept.mean()), sums(kept, codes, count), sizes))
        freedoms.append(degrees_of_freedom(sizes))
    variance = sum(variances) - 2 * correlation * math.sqrt(variances[0] * variances[1])
    if variance <= 0:
        return None, None, "no variation in either arm: no interval"
    half = t_quantile(confidence, min(freedoms)) * math.sqrt(variance)
    return value - half, value + half, "t, difference of means"


def paired_difference(
    values_a: npt.ArrayLike,
    values_b: npt.ArrayLike,
    tasks_a: npt.ArrayLike,
    tasks_b: npt.ArrayLike | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """Mean over tasks of (mean of a − mean of b), over the tasks observed in both arms.

    A t interval over tasks. Where all values lie in [0, 1] and fewer than 10 tasks differ, the interval
    of Bonett and Price: one task with +s and one with −s added, s the root mean square of the differences
    that are not 0 (1 for one attempt each, as published); where no task differs, plus or minus
    Wilson's upper bound of the share of tasks that differ.

    Args:
        values_a: shape (rows of a,); NaN = not observed.
        values_b: shape (rows of b,); NaN = not observed.
        tasks_a: shape (rows of a,), task of each row.
        tasks_b: shape (rows of b,); ``None``: the rows of b have the tasks of a.
        confidence: coverage aimed at.

    Returns:
        ``numerator`` is the sum of the tasks' differences, ``denominator`` and ``clusters`` the tasks
        observed in both, ``missing`` the tasks observed in only one arm or in none.

    Raises:
        UsageError: for arrays that do not fit each other.

    References:
        Miller 2024, arXiv:2411.00640; Bonett and Price 2012, doi:10.3102/1076998611411915.
    """
    differences, missing = task_differences(values_a, values_b, tasks_a, tasks_b)
    count = len(differences)
    if count == 0:
        return not_observed(missing, 0)
    value, total = float(differences.mean()), float(differences.sum())
    differing = int(np.count_nonzero(np.abs(differences) > 1e-12))
    both = (as_floats(values_a, "values_a"), as_floats(values_b, "values_b"))
    shares = all(not (np.nanmin(arm) < 0 or np.nanmax(arm) > 1) for arm in both)
    low: float | None
    high: float | None
    if shares and differing == 0:
        high = wilson(0.0, count, confidence)[1]
        low, method = -high, "no task differs: Wilson bound of the share that differs"
    elif shares and differing < FEW_DIFFERING:
        low, high = _bonett_price(differences, confidence)
        method = "Bonett-Price, paired by task"
    else:
        estimate = mean(differences, confidence=confidence)
        low, high = estimate.low, estimate.high
        method = "t, paired by task" if low is not None else estimate.method
    return Estimate(value, low, high, total, float(count), method, count, missing)


def task_differences(
    values_a: npt.ArrayLike,
    values_b: npt.ArrayLike,
    tasks_a: npt.ArrayLike,
    tasks_b: npt.ArrayLike | None = None,
) -> tuple[FloatArray, int]:
    """Difference of the means of each task observed in both arms, and how many other tasks there are.

    Args:
        values_a: shape (rows of a,); NaN = not observed.
        values_b: shape (rows of b,); NaN = not observed.
        tasks_a: shape (rows of a,), task of each row; a row without task (``None``) pairs with nothing.
        tasks_b: shape (rows of b,); ``None``: the rows of b have the tasks of a.
    """
    first, second = as_floats(values_a, "values_a"), as_floats(values_b, "values_b")
    labels_a = np.asarray(tasks_a)
    labels_b = labels_a if tasks_b is None else np.asarray(tasks_b)
    if labels_a.shape != first.shape or labels_b.shape != second.shape:
        raise UsageError("tasks", f"shapes {labels_a.shape} and {labels_b.shape}", "one task for each row")
    codes, count = encode(np.concatenate([labels_a, labels_b]), len(first) + len(second))
    means = []
    for values, arm in ((first, codes[: len(first)]), (second, codes[len(first) :])):
        seen = ~np.isnan(values)
        sizes = np.bincount(arm[seen], minlength=count)
        totals = np.bincount(arm[seen], weights=values[seen], minlength=count)
        means.append(np.divide(totals, sizes, out=np.full(count, np.nan), where=sizes > 0))
    gaps = means[0] - means[1]
    paired = ~np.isnan(gaps)
    return gaps[paired], count - int(paired.sum())


def _bonett_price(differences: FloatArray, confidence: float) -> tuple[float, float]:
    differing = differences[differences != 0]
    size = math.sqrt(float(np.dot(differing, differing)) / len(differing))
    padded = np.append(differences, (size, -size))
    centre, error = float(padded.mean()), float(padded.std()) / math.sqrt(len(padded))
    half = t_quantile(confidence, len(differences) - 1 or 1) * error
    value = float(differences.mean())
    return max(-1.0, min(value, centre - half)), min(1.0, max(value, centre + half))
