"""Agreement of raters on nominal labels: Cohen's kappa and Krippendorff's alpha."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trajlab.errors import UsageError
from trajlab.stats._clusters import FloatArray, IntArray, encode
from trajlab.stats.bootstrap import bootstrap_of_sums
from trajlab.stats.estimate import Estimate, not_observed


def cohen_kappa(
    rater_a: npt.ArrayLike,
    rater_b: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    clusters: npt.ArrayLike | None = None,
    draws: int = 2000,
    confidence: float = 0.95,
) -> Estimate:
    """Cohen's kappa of two raters: (observed − chance agreement) / (1 − chance agreement).

    Args:
        rater_a: shape (units,), label of each unit (strings, integers, booleans); ``None`` or NaN = no label.
        rater_b: shape (units,), likewise.
        rng: randomness of the bootstrap interval.
        clusters: shape (units,), drawn whole by the bootstrap; ``None``: each unit by itself.
        draws: bootstrap samples.
        confidence: coverage aimed at.

    Returns:
        ``denominator`` counts the units both labelled, ``numerator`` those labelled alike, ``missing`` the
        others. Value ``None`` where both used one and the same label throughout: kappa is 0/0 there.

    Raises:
        UsageError: for arrays of different length.

    References:
        Cohen 1960, doi:10.1177/001316446002000104.
    """
    codes, labels = _label_codes(np.column_stack(_same_length(rater_a, rater_b)))
    both = np.asarray((codes >= 0).all(axis=1))
    missing = int(len(both) - both.sum())
    pairs = codes[both]
    if len(pairs) == 0:
        return not_observed(missing)
    cells = np.zeros((len(pairs), labels * labels))
    cells[np.arange(len(pairs)), pairs[:, 0] * labels + pairs[:, 1]] = 1.0
    cells, count = _per_cluster(cells, clusters, both)
    alike = float((pairs[:, 0] == pairs[:, 1]).sum())
    return _estimate(cells, _kappa, alike, float(len(pairs)), missing, count, rng, draws, confidence)


def krippendorff_alpha(
    ratings: npt.ArrayLike,
    *,
    rng: np.random.Generator,
    clusters: npt.ArrayLike | None = None,
    draws: int = 2000,
    confidence: float = 0.95,
) -> Estimate:
    """Krippendorff's alpha for nominal labels: 1 − observed / expected disagreement.

    Args:
        ratings: shape (units, raters), labels; ``None`` or NaN = that rater did not label the unit. Units
            with fewer than two labels pair with nothing and are counted in ``missing``.
        rng: randomness of the bootstrap interval (over units).
        clusters: shape (units,), drawn whole by the bootstrap; ``None``: each unit by itself.
        draws: bootstrap samples.
        confidence: coverage aimed at.

    Returns:
        ``numerator`` is ``None``, ``denominator`` counts the units with at least two labels. Value ``None``
        where only one label was ever used: alpha is 0/0 there.

    Raises:
        UsageError: for another shape.

    References:
        Krippendorff 2011, https://repository.upenn.edu/asc_papers/43; Hayes and Krippendorff 2007,
        doi:10.1080/19312450709336664.
    """
    table: npt.NDArray[Any] = np.asarray(ratings, dtype=object)
    if table.ndim != 2:
        raise UsageError("ratings", f"shape {table.shape}", "(units, raters)")
    codes, labels = _label_codes(table)
    paired = (codes >= 0).sum(axis=1) >= 2
    missing = int(len(paired) - paired.sum())
    codes = codes[paired]
    if len(codes) == 0:
        return not_observed(missing)
    counts = np.stack([(codes == label).sum(axis=1) for label in range(labels)], axis=1).astype(np.float64)
    weights = 1.0 / (counts.sum(axis=1) - 1.0)
    cells = (counts[:, :, None] * counts[:, None, :] - counts[:, :, None] * np.eye(labels)) * weights[:, None, None]
    flat, count = _per_cluster(cells.reshape(len(codes), -1), clusters, paired)
    return _estimate(flat, _alpha, None, float(len(codes)), missing, count, rng, draws, confidence)


def _estimate(
    cells: FloatArray,
    statistic: Any,
    numerator: float | None,
    denominator: float,
    missing: int,
    clusters: int | None,
    rng: np.random.Generator,
    draws: int,
    confidence: float,
) -> Estimate:
    value = float(statistic(cells.sum(axis=0)))
    if np.isnan(value):
        method = "one label only: agreement beyond chance is not defined"
        return Estimate(None, None, None, numerator, denominator, method, clusters, missing)
    low, high, method = bootstrap_of_sums(cells, statistic, rng, draws, confidence)
    return Estimate(value, low, high, numerator, denominator, method, clusters, missing)


def _kappa(cells: FloatArray) -> FloatArray:
    """Kappa of confusion tables, shape (..., labels²)."""
    labels = round(cells.shape[-1] ** 0.5)
    tables = cells.reshape(*cells.shape[:-1], labels, labels)
    total = tables.sum(axis=(-1, -2))
    observed = np.trace(tables, axis1=-2, axis2=-1)
    chance = (tables.sum(axis=-1) * tables.sum(axis=-2)).sum(axis=-1)
    return _divide(observed * total - chance, total * total - chance)


def _alpha(cells: FloatArray) -> FloatArray:
    """Alpha of coincidence tables, shape (..., labels²)."""
    labels = round(cells.shape[-1] ** 0.5)
    tables = cells.reshape(*cells.shape[:-1], labels, labels)
    total = tables.sum(axis=(-1, -2))
    margins = tables.sum(axis=-1)
    disagreeing = total - np.trace(tables, axis1=-2, axis2=-1)
    expected = total * total - (margins * margins).sum(axis=-1)
    return 1.0 - _divide((total - 1.0) * disagreeing, expected)


def _divide(top: FloatArray, bottom: FloatArray) -> FloatArray:
    top, bottom = np.asarray(top, np.float64), np.asarray(bottom, np.float64)
    quotient = np.full(top.shape, np.nan)
    np.divide(top, bottom, out=quotient, where=bottom > 1e-9)
    return quotient


def _same_length(a: npt.ArrayLike, b: npt.ArrayLike) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    first, second = np.asarray(a, dtype=object), np.asarray(b, dtype=object)
    if first.ndim != 1 or first.shape != second.shape:
        raise UsageError("raters", f"shapes {first.shape} and {second.shape}", "one label per unit in both")
    return first, second


def _label_codes(table: npt.NDArray[Any]) -> tuple[IntArray, int]:
    """Labels as codes from 0 in the order of their first appearance, −1 where there is none."""
    known: dict[Any, int] = {}
    codes = np.full(table.shape, -1, np.int64)
    for place, label in np.ndenumerate(table):
        if label is not None and label == label:
            codes[place] = known.setdefault(label, len(known))
    return codes, len(known)


def _per_cluster(
    cells: FloatArray, clusters: npt.ArrayLike | None, kept: npt.NDArray[np.bool_]
) -> tuple[FloatArray, int | None]:
    if clusters is None:
        return cells, None
    labels: npt.NDArray[Any] = np.asarray(clusters)
    if labels.shape != kept.shape:
        raise UsageError("clusters", f"shape {labels.shape}", f"one label for each of {len(kept)} units")
    codes, count = encode(labels[kept], len(cells))
    summed = np.zeros((count, cells.shape[1]))
    np.add.at(summed, codes, cells)
    return summed, count
