"""Whole numbers that add up: printed figures to counts, and counts shared out by largest remainder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajlab.errors import UsageError
from trajlab.simulate.description import bounds

Whole = NDArray[np.int64]
Real = NDArray[np.float64]

_EDGE = 1e-9  # a count exactly on the edge of a printed figure may round either way: keep off it


def apportion(total: int, weights: ArrayLike, lower: ArrayLike = 0, upper: ArrayLike | None = None) -> Whole:
    """Share out a total in proportion to weights, within bounds, by largest remainder.

    Args:
        total: What the shares add up to.
        weights: Not negative, shape (n,); all zero means equal.
        lower: Least shares, scalar or shape (n,).
        upper: Greatest shares, scalar or shape (n,); ``None`` for no limit.

    Returns:
        Shares, shape (n,), summing to ``total``.

    Raises:
        UsageError: The bounds do not admit the total.
    """
    weight = np.asarray(weights, dtype=np.float64)
    low = np.broadcast_to(np.asarray(lower, dtype=np.int64), weight.shape)
    high = np.broadcast_to(np.asarray(total if upper is None else upper, dtype=np.int64), weight.shape)
    high = np.maximum(high, low) if upper is None else high
    if np.any(low > high) or not int(low.sum()) <= total <= int(high.sum()):
        raise UsageError("apportion", f"{total} does not fit between {int(low.sum())} and {int(high.sum())}")
    if not weight.sum() > 0:
        weight = np.ones_like(weight)
    # A weight of zero still takes its turn when the others are full.
    weight = np.maximum(weight, weight.max() * 1e-9)
    shares = _clipped_shares(total, weight, low, high)
    counts: Whole = np.clip(np.floor(shares + _EDGE).astype(np.int64), low, high)
    left = total - int(counts.sum())
    order = np.argsort(-(shares - counts), kind="stable")
    while left:
        change = 1 if left > 0 else -1
        for i in order if change > 0 else order[::-1]:
            if left and low[i] <= counts[i] + change <= high[i]:
                counts[i] += change
                left -= change
    return counts


def _clipped_shares(total: int, weight: Real, low: Whole, high: Whole) -> Real:
    """Scale of the weights at which the clipped shares sum to the total, by bisection."""
    under, over = 0.0, (float(high.max()) + 1.0) / float(weight.min())
    for _ in range(200):
        middle = (under + over) / 2
        if np.clip(middle * weight, low, high).sum() < total:
            under = middle
        else:
            over = middle
    return np.clip(over * weight, low, high)


def count_window(share_pct: Decimal, size: int) -> tuple[int, int]:
    """Counts of ``size`` whose percentage prints as the figure; the nearest count where there is none."""
    return window_of(share_pct, size / 100)


def window_of(figure: Decimal, scale: float) -> tuple[int, int]:
    """Whole numbers k for which k / ``scale`` prints as the figure; the nearest one, twice, where there is none."""
    low, high = bounds(figure)
    first, last = math.ceil(low * scale + _EDGE), math.floor(high * scale - _EDGE)
    if first > last:
        first = last = round(float(figure) * scale)
    return max(first, 0), max(last, 0)


def windowed(ideal: Sequence[float], windows: Sequence[tuple[int, int]], total: tuple[int, int]) -> Whole:
    """Whole numbers near the ideal, each in its window, their sum in the window of the total where that can be.

    The parts come first: where both cannot be, the sum is as near as the parts allow.
    """
    low = np.array([window[0] for window in windows], dtype=np.int64)
    high = np.array([window[1] for window in windows], dtype=np.int64)
    start = np.clip(np.rint(np.asarray(ideal)).astype(np.int64), low, high)
    wanted = min(max(int(start.sum()), total[0]), total[1])
    wanted = min(max(wanted, int(low.sum())), int(high.sum()))
    missing = wanted - int(start.sum())
    room = high - start if missing > 0 else start - low
    step = apportion(abs(missing), room, 0, room)
    return np.asarray(start + step if missing > 0 else start - step, dtype=np.int64)
