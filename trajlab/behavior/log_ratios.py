"""Log-ratios of tokens as a histogram with fixed edges: histograms add up, quantiles do not.

The log-ratio of a token is log π − log μ: the policy that is trained against the one that sampled. Bins are fine near
zero, where fresh rollouts lie, and an edge stands exactly at a ratio of 1/2 and of 2.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

BINS_OF_AN_OCTAVE = 8
OCTAVES_BELOW = 12
OCTAVES_ABOVE = 4
LAST_BIN = BINS_OF_AN_OCTAVE * (OCTAVES_BELOW + OCTAVES_ABOVE) + 1
"""Number of the bin that has no upper edge; its mirror image has no lower one."""
BINS = 2 * LAST_BIN + 1
_TWOFOLD = BINS_OF_AN_OCTAVE * OCTAVES_BELOW + 1


def log_ratio_edges() -> FloatArray:
    """Upper edges of bins 0 to 128, in nats: ln 2 · 2^(−12 + bin / 8).

    Bin 0 holds log-ratios from −edge 0 to edge 0; bin k > 0 those above edge k − 1, edge k included; bin −k is its
    mirror image; bin 129 is all beyond 16 ln 2 (about 11.1). Inside a bin log-ratios differ by 9 % at the most.
    """
    exponents = np.arange(LAST_BIN) / BINS_OF_AN_OCTAVE - OCTAVES_BELOW
    edges: FloatArray = np.log(2.0) * np.exp2(exponents)
    return edges


_EDGES = log_ratio_edges()
_ABOVE = np.concatenate([np.nextafter(-_EDGES[::-1], -np.inf), _EDGES])
"""The greatest value of each bin, from −129 to 128: in the mirror image it is the edge that is left out."""


def log_ratio_bins(log_ratios: FloatArray) -> tuple[list[int], list[int]]:
    """Numbers of the bins that hold any of the values, in rising order, and how many each holds; NaN counts nowhere."""
    counts = np.bincount(_ABOVE.searchsorted(log_ratios), minlength=BINS)
    if counts[-1]:  # NaN sorts behind everything
        counts[-1] -= np.count_nonzero(np.isnan(log_ratios))
    held = counts.nonzero()[0]
    return (held - LAST_BIN).tolist(), counts[held].tolist()


def quantile_of_bins(counts: npt.ArrayLike, q: float, smallest: float, largest: float) -> FloatArray:
    """The q-quantile of log-ratios, interpolated inside its bin; within 9 % of the log-ratio.

    Args:
        counts: shape (..., 259), tokens in each bin, from −129 to 129.
        q: between 0 and 1.
        smallest: smallest log-ratio: no quantile lies below it.
        largest: largest log-ratio.

    Returns:
        Shape (...), NaN where nothing is counted.
    """
    held = np.asarray(counts, dtype=np.float64)
    below = np.cumsum(held, axis=-1)
    total = below[..., -1]
    wanted = q * total
    number = np.minimum((below < wanted[..., None]).sum(axis=-1), BINS - 1)
    before = np.take_along_axis(below, number[..., None], -1)[..., 0]
    inside = np.take_along_axis(held, number[..., None], -1)[..., 0]
    lower, upper = _bounds(smallest, largest)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.clip(1 - (before - wanted) / inside, 0, 1)
    found = lower[number] + share * (upper[number] - lower[number])
    # Log-ratios in the central bin are rounding: what lies there is zero.
    found = np.where(number == LAST_BIN, 0.0, found)
    quantile: FloatArray = np.where(total > 0, np.clip(found, min(smallest, largest), largest), np.nan)
    return quantile


def _bounds(smallest: float, largest: float) -> tuple[FloatArray, FloatArray]:
    upper = np.concatenate([-_EDGES[::-1], _EDGES, [max(largest, _EDGES[-1])]])
    lower = np.concatenate([[min(smallest, -_EDGES[-1])], -_EDGES[::-1], _EDGES])
    return lower, upper


def outside_twofold(counts: npt.ArrayLike) -> FloatArray:
    """Tokens whose ratio lies outside of 1/2 to 2; counts of shape (..., 259), the result of shape (...)."""
    held = np.asarray(counts, dtype=np.float64)
    middle = held[..., LAST_BIN - _TWOFOLD + 1 : LAST_BIN + _TWOFOLD].sum(axis=-1)
    outside: FloatArray = held.sum(axis=-1) - middle
    return outside
