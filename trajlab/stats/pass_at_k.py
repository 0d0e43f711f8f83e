"""pass@k and pass^k over tasks with several attempts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from trajlab.errors import UsageError
from trajlab.stats._clusters import FloatArray, as_floats, encode, normal_quantile, sums
from trajlab.stats.estimate import NOT_OBSERVED, Estimate
from trajlab.stats.intervals import clustered_score_interval, score_interval


def pass_at_k(successes: npt.ArrayLike, attempts: npt.ArrayLike, k: int, confidence: float = 0.95) -> Estimate:
    """Chance that at least one of k attempts succeeds: mean over tasks of 1 − C(n − c, k) / C(n, k).

    The interval is over tasks: Wilson's on the effective sample size that the spread between tasks gives
    (`clustered_score_interval`), each task weighing the same. For k = 1 and equal attempts it is that of
    `proportion` clustered by task.

    Args:
        successes: shape (tasks,), successful attempts c of each task.
        attempts: shape (tasks,), attempts n of each task.
        k: attempts drawn, at least 1.
        confidence: coverage aimed at.

    Returns:
        ``denominator`` and ``clusters`` count the tasks with n ≥ k; the others (n < k, or NaN) are left
        out and counted in ``missing``. Where none is left the value is ``None`` and the method says so.

    Raises:
        UsageError: for k < 1, counts that are no whole numbers or more successes than attempts.

    References:
        Chen et al. 2021, arXiv:2107.03374.
    """
    solved, tried, missing = _counts(successes, attempts, k)
    return _over_tasks(1.0 - _choose_ratio(tried - solved, tried, k), tried, k, missing, confidence)


def pass_hat_k(successes: npt.ArrayLike, attempts: npt.ArrayLike, k: int, confidence: float = 0.95) -> Estimate:
    """Chance that all of k attempts succeed (pass^k): mean over tasks of C(c, k) / C(n, k).

    Interval, arguments, missing tasks and errors as for `pass_at_k`.

    References:
        Yao et al. 2024 (tau-bench), arXiv:2406.12045.
    """
    solved, tried, missing = _counts(successes, attempts, k)
    return _over_tasks(_choose_ratio(solved, tried, k), tried, k, missing, confidence)


def attempts_per_task(success: npt.ArrayLike, tasks: npt.ArrayLike) -> tuple[FloatArray, FloatArray, int]:
    """Successes and attempts of each task, for `pass_at_k`.

    Args:
        success: shape (rows,), 0/1 or booleans; NaN = not observed: no attempt.
        tasks: shape (rows,), task of each row.

    Returns:
        Successes and attempts, each of shape (tasks with an observed attempt,) in the order of the labels,
        and the number of rows that were not observed.
    """
    values, labels = as_floats(success, "success"), np.asarray(tasks)
    if labels.shape != values.shape:
        raise UsageError("tasks", f"shape {labels.shape}", f"one label for each of {len(values)} rows")
    seen = ~np.isnan(values)
    codes, count = encode(labels[seen], int(seen.sum()))
    return sums(values[seen], codes, count), sums(np.ones(len(codes)), codes, count), int((~seen).sum())


def _counts(successes: npt.ArrayLike, attempts: npt.ArrayLike, k: int) -> tuple[FloatArray, FloatArray, int]:
    if k < 1:
        raise UsageError("k", f"{k}", "at least 1")
    solved, tried = as_floats(successes, "successes"), as_floats(attempts, "attempts")
    if solved.shape != tried.shape:
        raise UsageError("attempts", f"{len(tried)} for {len(solved)} tasks", "one number for each task")
    kept = ~np.isnan(solved) & (np.nan_to_num(tried, nan=0.0) >= k)
    missing = int(len(kept) - kept.sum())
    solved, tried = solved[kept], tried[kept]
    if ((solved < 0) | (solved > tried) | (solved % 1 != 0) | (tried % 1 != 0)).any():
        raise UsageError("successes", "counts that do not fit", "whole numbers, 0 <= successes <= attempts")
    return solved, tried, missing


def _choose_ratio(some: FloatArray, of: FloatArray, k: int) -> FloatArray:
    """C(some, k) / C(of, k), 0 where some < k."""
    possible = some >= k
    top = np.where(possible, some, k)
    logs = gammaln(top + 1) - gammaln(top - k + 1) - gammaln(of + 1) + gammaln(of - k + 1)
    ratios: FloatArray = np.where(possible, np.where(some == of, 1.0, np.exp(logs)), 0.0)
    return ratios


def _over_tasks(chances: FloatArray, tried: FloatArray, k: int, missing: int, confidence: float) -> Estimate:
    count = len(chances)
    if count == 0:
        method = f"not observed: no task has {k} attempts" if missing else NOT_OBSERVED
        return Estimate(None, None, None, None, 0.0, method, 0, missing)
    total = float(chances.sum())
    value = min(1.0, total / count)
    if count == 1:
        low, high = score_interval(value, 1.0, normal_quantile(confidence))
        method = "Wilson, one task only: counted as one observation"
    else:
        weights = np.full(count, float(tried.mean()))
        low, high, size = clustered_score_interval(value, chances * weights, weights, confidence)
        method = f"Wilson over tasks (n eff {size:.1f})"
    return Estimate(value, low, high, total, float(count), method, count, missing)
