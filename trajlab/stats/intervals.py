"""Proportions, ratios and means with intervals, clustered by task where attempts share a task."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from trajlab.errors import UsageError
from trajlab.stats._clusters import (
    FloatArray,
    Observed,
    as_floats,
    check_confidence,
    degrees_of_freedom,
    normal_quantile,
    observe,
    sums,
    t_quantile,
)
from trajlab.stats.estimate import Estimate, not_observed

PRIOR_CORRELATION = 0.7
"""Intraclass correlation assumed where the data cannot show one; the cautious end of what is usual."""
PRIOR_CORRELATION_OF_CALLS = 0.2
"""The same for ratios, whose units are many calls, steps or tokens of a trajectory."""
PRIOR_CLUSTERS = 0.5
"""Weight of that assumption, in clusters that show both outcomes."""


def wilson(successes: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a proportion; (0, 1) where n is 0.

    Args:
        successes: number of successes, 0 to n; may be fractional (effective counts).
        n: number of trials; may be fractional.
        confidence: coverage aimed at.

    Raises:
        UsageError: for a count outside 0 to n or a confidence outside (0, 1).

    References:
        Wilson 1927, doi:10.1080/01621459.1927.10502953; Brown, Cai and DasGupta 2001,
        doi:10.1214/ss/1009213286.
    """
    if not 0 <= successes <= n:
        raise UsageError("wilson", f"{successes} successes of {n}", "0 <= successes <= n")
    quantile = normal_quantile(confidence)
    return (0.0, 1.0) if n == 0 else score_interval(successes / n, n, quantile)


def score_interval(share: float, n: float, quantile: float) -> tuple[float, float]:
    """Interval of all p with |share − p| ≤ quantile · √(p (1 − p) / n), inside [0, 1]."""
    squared = quantile * quantile / n
    centre = (share + squared / 2) / (1 + squared)
    half = math.sqrt(squared * (share * (1 - share) + squared / 4)) / (1 + squared)
    low = 0.0 if share <= 0 else max(0.0, centre - half)
    high = 1.0 if share >= 1 else min(1.0, centre + half)
    return min(low, share), max(high, share)


class ShareEvidence(NamedTuple):
    """What Wilson's interval of a share rests on, at any confidence."""

    share: float
    size: float
    """Independent observations that would tell as much."""
    freedoms: float | None
    """Degrees of freedom of Student's t; ``None``: the normal quantile."""

    def interval(self, confidence: float) -> tuple[float, float]:
        """The score interval."""
        freedoms = self.freedoms
        quantile = normal_quantile(confidence) if freedoms is None else t_quantile(confidence, freedoms)
        return score_interval(self.share, self.size, quantile)


def share_evidence(rows: Observed) -> ShareEvidence:
    """Evidence of rows that were observed, of which there is at least one; one cluster counts as one observation."""
    n = float(len(rows.values))
    share = float(rows.values.sum()) / n
    if rows.codes is None or rows.groups == 1:
        return ShareEvidence(share, n if rows.codes is None else 1.0, None)
    sizes = np.bincount(rows.codes, minlength=rows.groups).astype(np.float64)
    size = effective_size(share, sums(rows.values, rows.codes, rows.groups), sizes)
    return ShareEvidence(share, size, 2 * degrees_of_freedom(sizes))


def proportion(success: npt.ArrayLike, clusters: npt.ArrayLike | None = None, confidence: float = 0.95) -> Estimate:
    """Share of successes, with Wilson's interval; clustered where clusters have several members.

    With clusters the interval is Wilson's with the effective sample size n / design effect and a
    quantile of Student's t (`clustered_score_interval`). It stays inside [0, 1] and has width at 0 % and
    100 % too. With one cluster only it counts as a single observation.

    Args:
        success: shape (rows,): 0/1 or booleans (shares between are allowed); NaN or ``None`` = not
            observed: left out and counted in ``missing``.
        clusters: shape (rows,): task of each row, integers or strings; ``None`` entries stand alone.
        confidence: coverage aimed at.

    Raises:
        UsageError: for values outside [0, 1] or arrays that do not fit each other.

    References:
        Saha, Miller and Wang 2015 (Wilson for clusters), doi:10.1515/ijb-2015-0024; Franco et al. 2019
        (effective sample size, and that its estimate needs a model), PMC6690503.
    """
    values = as_floats(success, "success")
    check_confidence(confidence)
    rows = observe(values, clusters)
    if len(rows.values) == 0:
        return not_observed(rows.missing, None if clusters is None else 0)
    if rows.values.min() < 0 or rows.values.max() > 1:
        raise UsageError("success", "values outside 0 to 1", "0/1 or booleans", "use mean() for other values")
    numerator, n = float(rows.values.sum()), float(len(rows.values))
    evidence = share_evidence(rows)
    low, high = evidence.interval(confidence)
    if rows.codes is None:
        return Estimate(evidence.share, low, high, numerator, n, "Wilson", None, rows.missing)
    method = f"Wilson, clustered by task (n eff {evidence.size:.1f})"
    if rows.groups == 1:
        method = "Wilson, one task only: counted as one observation"
    return Estimate(evidence.share, low, high, numerator, n, method, rows.groups, rows.missing)


def effective_size(
    share: float,
    numerators: FloatArray,
    denominators: FloatArray,
    correlation: float = PRIOR_CORRELATION,
) -> float:
    """Independent observations that would tell as much as these clusters: n / design effect.

    The design effect is the cluster-robust variance over the binomial one, kept between the effects of
    intraclass correlation 0 and 1. Where few clusters show both outcomes it cannot be estimated (it comes
    out too small), so it is shrunk towards that of a prior correlation with the weight of half such a
    cluster: at 0 % and 100 % only the prior is left. Both were set by ``tests/studies/coverage.py``.

    Args:
        share: Σ numerators / Σ denominators, in [0, 1].
        numerators: shape (clusters,), successes in each.
        denominators: shape (clusters,), rows in each, in counts.
        correlation: prior intraclass correlation.

    References:
        Kish 1965, Survey Sampling, §5.4 (design effect); Korn and Graubard 1998 (effective sample size).
    """
    n = float(denominators.sum())
    fewest = n * n / float(np.dot(denominators, denominators))
    most = max(n, fewest)
    prior = (1 - correlation) / most + correlation / fewest
    telling = int(min(np.count_nonzero(numerators > 0), np.count_nonzero(numerators < denominators)))
    if telling == 0:
        return 1 / prior
    measured = linearised_variance(share, numerators, denominators) / (share * (1 - share))
    weight = PRIOR_CLUSTERS / (PRIOR_CLUSTERS + telling)
    return 1 / ((1 - weight) * min(max(measured, 1 / most), 1 / fewest) + weight * prior)


def clustered_score_interval(
    share: float,
    numerators: FloatArray,
    denominators: FloatArray,
    confidence: float,
    correlation: float = PRIOR_CORRELATION,
) -> tuple[float, float, float]:
    """Score interval on the effective sample size, and that size.

    Student's t has twice the effective clusters less one as degrees of freedom: between the normal
    quantile, which covers too little with few tasks, and df = clusters − 1, which covers too much because
    the size is shrunk already (``tests/studies/coverage.py``).
    """
    size = effective_size(share, numerators, denominators, correlation)
    quantile = t_quantile(confidence, 2 * degrees_of_freedom(denominators))
    low, high = score_interval(share, size, quantile)
    return low, high, size


def linearised_variance(ratio: float, numerators: FloatArray, denominators: FloatArray) -> float:
    """Cluster-robust variance of Σ numerators / Σ denominators, with the factor G / (G − 1).

    References:
        Cochran 1977, Sampling Techniques, §11; Liang and Zeger 1986, doi:10.1093/biomet/73.1.13.
    """
    count = len(numerators)
    residuals = numerators - ratio * denominators
    squares = float(np.dot(residuals, residuals))
    if squares <= 1e-24 * float(np.dot(numerators, numerators)):  # rounding, no variation
        return 0.0
    return count / (count - 1) * squares / float(denominators.sum()) ** 2


def ratio(
    numerator: npt.ArrayLike,
    denominator: npt.ArrayLike,
    clusters: npt.ArrayLike | None = None,
    bounded: bool = False,
    confidence: float = 0.95,
) -> Estimate:
    """Σ numerator / Σ denominator, with a linearised cluster-robust interval.

    Args:
        numerator: shape (rows,); NaN = not observed.
        denominator: shape (rows,), not negative; NaN = not observed. A row with either missing is left
            out and counted in ``missing``. Rows with denominator 0 weigh nothing.
        clusters: shape (rows,): task of each row; ``None``: each row is its own cluster.
        bounded: the ratio is a share, 0 ≤ numerator ≤ denominator: score interval inside [0, 1].
        confidence: coverage aimed at.

    Raises:
        UsageError: for negative denominators, for a numerator outside its bounds where ``bounded``, or
            arrays that do not fit each other.

    References:
        Cochran 1977, Sampling Techniques, §6 and §11; Franz 2007, arXiv:0710.2024.
    """
    tops, bottoms = as_floats(numerator, "numerator"), as_floats(denominator, "denominator")
    if tops.shape != bottoms.shape:
        raise UsageError("ratio", f"{len(tops)} numerators, {len(bottoms)} denominators", "one of each per row")
    rows = observe(np.where(np.isnan(bottoms), np.nan, tops), clusters)
    bottoms = bottoms[~(np.isnan(tops) | np.isnan(bottoms))]
    if len(bottoms) and bottoms.min() < 0:
        raise UsageError("denominator", "negative values", "values of at least 0")
    if bounded and len(bottoms) and (rows.values.min() < 0 or (rows.values > bottoms).any()):
        raise UsageError("numerator", "values outside 0 to the denominator", "a share, as bounded=True says")
    if bottoms.sum() <= 0:
        return not_observed(rows.missing, None if clusters is None else rows.groups)
    return _ratio_of_clusters(rows, bottoms, clusters is not None, bounded, confidence)


def _ratio_of_clusters(
    rows: Observed, bottoms: FloatArray, clustered: bool, bounded: bool, confidence: float
) -> Estimate:
    numerators = sums(rows.values, rows.codes, rows.groups)
    denominators = sums(bottoms, rows.codes, rows.groups)
    total, n, count = float(numerators.sum()), float(denominators.sum()), np.count_nonzero(denominators > 0)
    value = total / n
    kept = (denominators > 0) | (numerators != 0)
    numerators, denominators = numerators[kept], denominators[kept]
    by_task = ", clustered by task" if clustered else ""
    low: float | None
    high: float | None
    if count == 1:
        low, high = score_interval(value, 1.0, normal_quantile(confidence)) if bounded else (None, None)
        method = "one unit only: counted as one observation" if bounded else "one unit only: no interval"
    elif bounded:
        prior = PRIOR_CORRELATION_OF_CALLS
        low, high, size = clustered_score_interval(value, numerators, denominators, confidence, prior)
        method = f"Wilson for a ratio{by_task} (n eff {size:.1f})"
    else:
        variance = linearised_variance(value, numerators, denominators)
        low, high = t_interval(value, variance, degrees_of_freedom(denominators), confidence)
        method = (
            f"t, linearised ratio{by_task}"
            if variance > 0
            else f"no variation among {count} {'tasks' if clustered else 'units'}: no interval"
        )
    return Estimate(value, low, high, total, n, method, rows.groups if clustered else None, rows.missing)


def t_interval(value: float, variance: float, df: float, confidence: float) -> tuple[float, float] | tuple[None, None]:
    """Value ± t · √variance; no interval where the variance is 0, for a width of 0 would claim too much."""
    if variance <= 0:
        return None, None
    half = t_quantile(confidence, df) * math.sqrt(variance)
    return value - half, value + half


def mean(values: npt.ArrayLike, clusters: npt.ArrayLike | None = None, confidence: float = 0.95) -> Estimate:
    """Mean with Student's t interval, cluster-robust where clusters have several members.

    With few tasks and a long right tail (tokens, seconds) the interval covers too little: about 88 % for
    10 and 92 % for 30 tasks of strongly skewed values in ``tests/studies/coverage.py``. Print the median
    beside such a mean.

    Args:
        values: shape (rows,); NaN or ``None`` = not observed: left out and counted in ``missing``.
        clusters: shape (rows,): task of each row; ``None`` entries stand alone.
        confidence: coverage aimed at.

    Raises:
        UsageError: for arrays that do not fit each other or values that are no numbers.

    References:
        Miller 2024, arXiv:2411.00640; Liang and Zeger 1986, doi:10.1093/biomet/73.1.13.
    """
    rows = observe(as_floats(values, "values"), clusters)
    n = len(rows.values)
    if n == 0:
        return not_observed(rows.missing, None if clusters is None else 0)
    with np.errstate(over="ignore"):
        total = float(rows.values.sum())
    sizes = sums(np.ones(n), rows.codes, rows.groups)
    value = total / n
    by_task = "" if rows.codes is None else ", clustered by task"
    low: float | None = None
    high: float | None = None
    if rows.groups == 1:
        method = "one value only: no interval" if n == 1 else "one task only: no interval"
    else:
        variance = linearised_variance(value, sums(rows.values, rows.codes, rows.groups), sizes)
        low, high = t_interval(value, variance, degrees_of_freedom(sizes), confidence)
        among = f"{n} values" if rows.codes is None else f"{rows.groups} tasks"
        method = f"t{by_task}" if variance > 0 else f"no variation among {among}: no interval"
    return Estimate(value, low, high, total, float(n), method, rows.groups if by_task else None, rows.missing)
