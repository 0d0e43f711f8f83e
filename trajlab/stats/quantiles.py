"""Quantiles with order-statistic intervals, clustered by task where attempts share a task."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.special import bdtr, bdtrik

from trajlab.errors import UsageError
from trajlab.stats._clusters import (
    FloatArray,
    Observed,
    as_floats,
    degrees_of_freedom,
    observe,
    sums,
    t_quantile,
)
from trajlab.stats.estimate import Estimate, not_observed
from trajlab.stats.intervals import effective_size


def quantile(
    values: npt.ArrayLike, q: float, clusters: npt.ArrayLike | None = None, confidence: float = 0.95
) -> Estimate:
    """The q-quantile (linear interpolation) with an order-statistic interval.

    Without clusters the ranks come from the binomial distribution (coverage at least ``confidence`` for
    any distribution); with clusters from the clustered interval of the share below (Woodruff). An end
    that so few values cannot bound is ``None``.

    Args:
        values: shape (rows,); NaN or ``None`` = not observed: left out and counted in ``missing``.
        q: between 0 and 1, both excluded.
        clusters: shape (rows,): task of each row; ``None`` entries stand alone.
        confidence: coverage aimed at.

    Returns:
        ``numerator`` is ``None``, ``denominator`` the rows observed.

    Raises:
        UsageError: for q outside (0, 1) or arrays that do not fit each other.

    References:
        Conover 1999, Practical Nonparametric Statistics, §3.2; Woodruff 1952, Journal of
        the American Statistical Association 47, 635–646.
    """
    if not 0.0 < q < 1.0:
        raise UsageError("q", f"{q}", "a number between 0 and 1, such as 0.5 for the median")
    rows = observe(as_floats(values, "values"), clusters)
    n = len(rows.values)
    if n == 0:
        return not_observed(rows.missing, None if clusters is None else 0)
    value = float(np.quantile(rows.values, q))
    ordered = np.sort(rows.values)
    if rows.codes is None:
        lower, upper = _binomial_ranks(n, q, confidence)
        method = "order statistics"
    elif rows.groups == 1:
        lower, upper, method = 0, n + 1, "one task only: no interval"
    else:
        lower, upper = _clustered_ranks(rows, value, q, confidence)
        method = "order statistics, clustered by task"
    low = float(ordered[lower - 1]) if lower >= 1 else None
    high = float(ordered[upper - 1]) if upper <= n else None
    if (low is None or high is None) and rows.groups > 1:
        method += ": too few values to bound it"
    count = None if rows.codes is None else rows.groups
    return Estimate(value, low, high, None, float(n), method, count, rows.missing)


def median(values: npt.ArrayLike, clusters: npt.ArrayLike | None = None, confidence: float = 0.95) -> Estimate:
    """The median with an order-statistic interval: `quantile` at 0.5."""
    return quantile(values, 0.5, clusters, confidence)


def _binomial_ranks(n: int, q: float, confidence: float) -> tuple[int, int]:
    """Ranks (1-based) of the two order statistics; 0 or n + 1 where none is far enough out."""
    tail = (1 - confidence) / 2
    return _largest_rank(n, q, tail), n + 1 - _largest_rank(n, 1 - q, tail)


def _largest_rank(n: int, q: float, tail: float) -> int:
    """Largest r with P(fewer than r of n values lie below the q-quantile) ≤ tail; 0 where none is."""
    rank = math.ceil(float(bdtrik(tail, n, q))) if bdtr(0, n, q) < tail else 0
    while rank > 0 and bdtr(rank - 1, n, q) > tail:
        rank -= 1
    return rank


def _clustered_ranks(rows: Observed, value: float, q: float, confidence: float) -> tuple[int, int]:
    n = len(rows.values)
    below: FloatArray = (rows.values <= value).astype(np.float64)
    sizes = sums(np.ones(n), rows.codes, rows.groups)
    share = float(below.mean())
    inside = sums(below, rows.codes, rows.groups)
    size = effective_size(share, inside, sizes)
    half = t_quantile(confidence, degrees_of_freedom(sizes)) * math.sqrt(q * (1 - q) / size)
    return max(0, math.floor(n * (q - half))), min(n + 1, math.ceil(n * (q + half)) + 1)
