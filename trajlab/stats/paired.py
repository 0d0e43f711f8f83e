"""Two-sided tests: paired by task, and between independent arms."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, stdtr

from trajlab.errors import UsageError
from trajlab.stats._clusters import FloatArray, as_floats, degrees_of_freedom, observe, rounding, sums
from trajlab.stats.differences import task_differences
from trajlab.stats.estimate import Test
from trajlab.stats.intervals import linearised_variance


def paired_t_test(
    values_a: npt.ArrayLike,
    values_b: npt.ArrayLike,
    tasks_a: npt.ArrayLike,
    tasks_b: npt.ArrayLike | None = None,
) -> Test:
    """Student's t on the differences of the tasks observed in both arms.

    Args:
        values_a: shape (rows of a,); NaN = not observed.
        values_b: shape (rows of b,); NaN = not observed.
        tasks_a: shape (rows of a,), task of each row.
        tasks_b: shape (rows of b,); ``None``: the rows of b have the tasks of a.

    Returns:
        ``n`` counts the paired tasks; ``p_value`` is ``None`` with fewer than two, and where the
        differences do not vary (1 where all are 0).

    References:
        Miller 2024, arXiv:2411.00640.
    """
    gaps, _ = task_differences(values_a, values_b, tasks_a, tasks_b)
    count = len(gaps)
    if count < 2:
        return Test(None, None, count, "fewer than two paired tasks: no test")
    if not np.abs(gaps).max() > 1e-12:
        return Test(0.0, 1.0, count, "t, paired by task: no task differs")
    error = float(gaps.std(ddof=1)) / math.sqrt(count)
    if error <= 1e-12 * abs(float(gaps.mean())):
        return Test(None, None, count, "all tasks differ by the same: no t test")
    statistic = float(gaps.mean()) / error
    return Test(statistic, _t_p_value(statistic, count - 1), count, "t, paired by task")


def two_sample_test(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    clusters_a: npt.ArrayLike | None = None,
    clusters_b: npt.ArrayLike | None = None,
) -> Test:
    """Cluster-robust t test of equal means (or shares) of two independent arms.

    Args:
        a: shape (rows of a,); NaN = not observed.
        b: shape (rows of b,); NaN = not observed.
        clusters_a: shape (rows of a,), task of each row; ``None``: rows stand alone.
        clusters_b: shape (rows of b,), likewise.

    Returns:
        ``n`` counts the rows of both arms. ``p_value`` is ``None`` where an arm has fewer than two tasks
        and where neither varies. An arm has as many degrees of freedom as effective tasks (fewer than its
        tasks, where their sizes differ) less one; the smaller of the two are used (conservative).

    References:
        Liang and Zeger 1986, doi:10.1093/biomet/73.1.13; Carter, Schnepel and Steigerwald 2017,
        doi:10.1162/REST_a_00639 (effective number of clusters).
    """
    means, variances, freedoms, rows = [], [], [], 0
    for values, clusters in ((a, clusters_a), (b, clusters_b)):
        seen = observe(as_floats(values, "values"), clusters)
        rows += len(seen.values)
        if seen.groups < 2:
            continue
        sizes = sums(np.ones(len(seen.values)), seen.codes, seen.groups)
        means.append(float(seen.values.mean()))
        totals = sums(seen.values, seen.codes, seen.groups)
        variances.append(linearised_variance(means[-1], totals, sizes))
        freedoms.append(degrees_of_freedom(sizes))
    if len(means) < 2:
        return Test(None, None, rows, "an arm has fewer than two tasks: no test")
    if sum(variances) <= 0:
        return Test(None, None, rows, "no variation in either arm: no test")
    statistic = (means[0] - means[1]) / math.sqrt(sum(variances))
    method = "t" if clusters_a is None and clusters_b is None else "t, clustered by task"
    return Test(statistic, _t_p_value(statistic, min(freedoms)), rows, method)


def _t_p_value(statistic: float, df: float) -> float:
    return min(1.0, 2 * float(stdtr(df, -abs(statistic))))


def mcnemar(a: npt.ArrayLike, b: npt.ArrayLike) -> Test:
    """Exact McNemar test of paired yes/no results.

    Args:
        a: shape (pairs,), 0/1 or booleans; NaN = not observed.
        b: shape (pairs,), likewise. Pairs with either missing are left out.

    Returns:
        ``statistic`` is the pairs won by a alone, ``n`` the discordant pairs; p is 1 where there are none.

    Raises:
        UsageError: for other values or arrays of different length.

    References:
        McNemar 1947, doi:10.1007/BF02295996 (exact binomial form).
    """
    first, second = _pairs(a, b)
    for values in (first, second):
        if not np.isin(values, (0.0, 1.0)).all():
            raise UsageError("mcnemar", "values other than 0 and 1", "yes/no results")
    return mcnemar_counts(int((first > second).sum()), int((first < second).sum()))


def mcnemar_counts(only_a: int, only_b: int) -> Test:
    """Exact McNemar test from the two discordant counts.

    Args:
        only_a: pairs that succeed in a alone.
        only_b: pairs that succeed in b alone.

    Raises:
        UsageError: for negative counts.
    """
    if min(only_a, only_b) < 0:
        raise UsageError("mcnemar", f"counts {only_a} and {only_b}", "counts of at least 0")
    discordant = only_a + only_b
    return Test(float(only_a), _binomial_half(only_a, discordant), discordant, "McNemar, exact")


def sign_test(values_a: npt.ArrayLike, values_b: npt.ArrayLike) -> Test:
    """Exact sign test: how many pairs rise, how many fall; ties are left out.

    Args:
        values_a: shape (pairs,); NaN = not observed.
        values_b: shape (pairs,), likewise.

    Returns:
        ``statistic`` is the number of pairs with a > b, ``n`` the pairs that differ.

    References:
        Conover 1999, Practical Nonparametric Statistics, §3.4.
    """
    first, second = _pairs(values_a, values_b)
    least = rounding(np.concatenate([first, second]))
    more, less = int((first - second > least).sum()), int((second - first > least).sum())
    return Test(float(more), _binomial_half(more, more + less), more + less, "sign test, exact")


def permutation_test(
    values_a: npt.ArrayLike,
    values_b: npt.ArrayLike,
    tasks_a: npt.ArrayLike,
    tasks_b: npt.ArrayLike | None = None,
    *,
    rng: np.random.Generator,
    draws: int = 10_000,
) -> Test:
    """Sign-flip permutation test of the mean difference over paired tasks.

    All flips are tried for up to 13 tasks that differ (8,192), random ones beyond; the observed arrangement
    counts, so p is never 0.

    Args:
        values_a: shape (rows of a,); NaN = not observed.
        values_b: shape (rows of b,); NaN = not observed.
        tasks_a: shape (rows of a,), task of each row.
        tasks_b: shape (rows of b,); ``None``: the rows of b have the tasks of a.
        rng: source of all randomness.
        draws: random flips, where not all are tried.

    References:
        Phipson and Smyth 2010, doi:10.2202/1544-6115.1585 (p-values that are never zero).
    """
    gaps, _ = task_differences(values_a, values_b, tasks_a, tasks_b)
    count = len(gaps)
    if count == 0:
        return Test(None, None, 0, "no paired task: no test")
    differing = gaps[np.abs(gaps) > 1e-12]
    observed = abs(float(differing.sum())) * (1 - 1e-9) - 1e-12
    if len(differing) <= 13:
        flips = 1 - 2 * (np.arange(2 ** len(differing))[:, None] >> np.arange(len(differing)) & 1)
        p_value, kind = float((np.abs(flips @ differing) >= observed).mean()), "exact"
    else:
        extreme = sum(_extreme_flips(differing, observed, size, rng) for size in _batches(draws, 500))
        p_value, kind = (extreme + 1) / (draws + 1), f"{draws:,} draws"
    return Test(float(gaps.mean()), p_value, count, f"sign-flip permutation over tasks, {kind}")


def _batches(total: int, size: int) -> list[int]:
    return [size] * (total // size) + ([total % size] if total % size else [])


def _extreme_flips(gaps: FloatArray, observed: float, size: int, rng: np.random.Generator) -> int:
    flips = rng.integers(0, 2, (size, len(gaps))) * 2 - 1
    return int(np.count_nonzero(np.abs(flips @ gaps) >= observed))


def _pairs(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
    first, second = as_floats(a, "a"), as_floats(b, "b")
    if first.shape != second.shape:
        raise UsageError("pairs", f"{len(first)} and {len(second)} values", "as many of each")
    seen = ~(np.isnan(first) | np.isnan(second))
    return first[seen], second[seen]


def _binomial_half(successes: int, n: int) -> float:
    """Two-sided exact p-value of a fair coin."""
    return 1.0 if n == 0 else min(1.0, 2 * float(bdtr(min(successes, n - successes), n, 0.5)))
