"""Rows to clusters: which rows were observed, and sums within a task."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri, stdtrit

from trajlab.errors import UsageError

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]


class Observed(NamedTuple):
    """Observed rows of one variable and the cluster of each."""

    values: FloatArray
    codes: IntArray | None
    """Cluster of each row as 0 … count − 1; ``None`` where every row stands alone."""
    groups: int
    """Number of clusters (rows, where every row stands alone)."""
    missing: int


def as_floats(values: npt.ArrayLike, name: str) -> FloatArray:
    """One-dimensional floats; ``None`` becomes NaN.

    Raises:
        UsageError: for another shape, for values that are no numbers and for infinities.
    """
    try:
        array = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(name, f"values that are no numbers ({error})", "numbers, NaN = not observed") from error
    if array.ndim != 1:
        raise UsageError(name, f"array of shape {array.shape}", "one dimension, a value per row")
    if np.isinf(array).any():
        raise UsageError(name, "infinite values", "finite numbers, NaN = not observed")
    return array


def encode(clusters: npt.ArrayLike, size: int) -> tuple[IntArray, int]:
    """Labels to codes 0 … count − 1; a row without label (``None`` or NaN) is a cluster of its own.

    Raises:
        UsageError: where there is not one label per row.
    """
    labels: npt.NDArray[Any] = np.asarray(clusters)
    if labels.shape != (size,):
        raise UsageError("clusters", f"array of shape {labels.shape}", f"one label for each of {size} rows")
    if size == 0:
        return np.zeros(0, np.int64), 0
    if labels.dtype.kind in "iub":
        return _encode_integers(labels)
    if labels.dtype.kind == "O":
        unlabelled = np.array([label is None or label != label for label in labels])
        labels = np.where(unlabelled, "", labels).astype(str)
    elif labels.dtype.kind == "f":
        unlabelled = np.isnan(labels)
    else:
        unlabelled = np.zeros(size, bool)
    codes = np.empty(size, np.int64)
    known, codes[~unlabelled] = np.unique(labels[~unlabelled], return_inverse=True)
    alone = int(unlabelled.sum())
    codes[unlabelled] = len(known) + np.arange(alone)
    return codes, len(known) + alone


def _encode_integers(labels: npt.NDArray[Any]) -> tuple[IntArray, int]:
    labels = labels.astype(np.int64, copy=False)
    first, last = int(labels.min()), int(labels.max())
    if last - first > 4 * len(labels) + 1000:  # sparse labels: sorting is cheaper than counting
        known, codes = np.unique(labels, return_inverse=True)
        return codes.astype(np.int64, copy=False), len(known)
    shifted = labels - first
    present = np.bincount(shifted) > 0
    return (np.cumsum(present) - 1)[shifted], int(present.sum())


def observe(values: FloatArray, clusters: npt.ArrayLike | None) -> Observed:
    """Drop rows that were not observed (NaN) and encode the clusters of the rest."""
    seen = ~np.isnan(values)
    kept = values[seen]
    missing = len(values) - len(kept)
    if clusters is None:
        return Observed(kept, None, len(kept), missing)
    labels: npt.NDArray[Any] = np.asarray(clusters)
    if labels.shape != values.shape:
        raise UsageError("clusters", f"array of shape {labels.shape}", f"one label for each of {len(values)} rows")
    codes, count = encode(labels[seen], len(kept))
    return Observed(kept, codes if count < len(kept) else None, count, missing)


def sums(values: FloatArray, codes: IntArray | None, count: int) -> FloatArray:
    """Sum of the values in each cluster, shape (count,)."""
    if codes is None:
        return values
    return np.bincount(codes, weights=values, minlength=count).astype(np.float64, copy=False)


def rounding(values: FloatArray) -> float:
    """How far apart two equal values may lie: the same terms added up in another order differ in their last bits."""
    return 1e-12 * float(np.abs(values).max(initial=0.0))


def levels(values: FloatArray) -> FloatArray:
    """The rank of each value among the distinct ones; those that differ by rounding only share one."""
    order = np.argsort(values, kind="stable")
    ranks = np.zeros(len(values))
    ranks[order[1:]] = np.cumsum(np.diff(values[order]) > rounding(values))
    return ranks


def degrees_of_freedom(weights: FloatArray) -> float:
    """Effective number of clusters less one, at least 1.

    The effective number (Σw)²/Σw² is the number of clusters where they weigh the same and falls with
    unequal sizes (Kish 1965; Carter, Schnepel and Steigerwald 2017, doi:10.1162/REST_a_00639).
    """
    squares = float(np.dot(weights, weights))
    return max(1.0, float(weights.sum()) ** 2 / squares - 1.0) if squares > 0 else 1.0


def normal_quantile(confidence: float) -> float:
    """Two-sided critical value of the normal distribution.

    Raises:
        UsageError: unless 0 < confidence < 1.
    """
    check_confidence(confidence)
    return float(ndtri(0.5 + confidence / 2))


def t_quantile(confidence: float, df: float) -> float:
    """Two-sided critical value of Student's t.

    Raises:
        UsageError: unless 0 < confidence < 1.
    """
    check_confidence(confidence)
    return float(stdtrit(df, 0.5 + confidence / 2))


def check_confidence(confidence: float) -> None:
    """Refuse a confidence that is no probability.

    Raises:
        UsageError: unless 0 < confidence < 1.
    """
    if not 0.0 < confidence < 1.0:
        raise UsageError("confidence", f"{confidence}", "a number between 0 and 1, such as 0.95")
