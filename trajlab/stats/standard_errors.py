"""Standard errors of a mean with and without clustering, and the design effect, as evaluations print them."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from trajlab.stats._clusters import as_floats, observe, sums


def standard_error(values: npt.ArrayLike) -> float | None:
    """Naive standard error of the mean, s / √n with n − 1 in s.

    Args:
        values: shape (rows,); NaN = not observed.

    Returns:
        ``None`` for fewer than two observed rows.
    """
    rows = observe(as_floats(values, "values"), None)
    n = len(rows.values)
    return None if n < 2 else float(rows.values.std(ddof=1)) / math.sqrt(n)


def clustered_standard_error(values: npt.ArrayLike, clusters: npt.ArrayLike, corrected: bool = True) -> float | None:
    """Cluster-robust standard error of the mean.

    Args:
        values: shape (rows,); NaN = not observed.
        clusters: shape (rows,), task of each row.
        corrected: with the factor √(G / (G − 1)) for G clusters, as all intervals here have it; without it
            the value agrees with the plain sandwich estimate of Miller's equation 4.

    Returns:
        ``None`` for fewer than two clusters.

    References:
        Liang and Zeger 1986, doi:10.1093/biomet/73.1.13; Miller 2024, arXiv:2411.00640.
    """
    rows = observe(as_floats(values, "values"), clusters)
    if rows.groups < 2:
        return None
    residuals = sums(rows.values - rows.values.mean(), rows.codes, rows.groups)
    factor = rows.groups / (rows.groups - 1) if corrected else 1.0
    return math.sqrt(factor * float(np.dot(residuals, residuals))) / len(rows.values)


def design_effect(values: npt.ArrayLike, clusters: npt.ArrayLike, corrected: bool = True) -> float | None:
    """Squared clustered standard error over the squared naive one: how far n overstates what is known.

    Returns:
        ``None`` for fewer than two clusters and where the values do not vary.

    References:
        Kish 1965, Survey Sampling, §8.2; Miller 2024, arXiv:2411.00640.
    """
    naive, clustered = standard_error(values), clustered_standard_error(values, clusters, corrected)
    return None if not naive or clustered is None else (clustered / naive) ** 2
