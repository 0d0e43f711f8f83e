"""Betting against the mean of bounded values: evidence that is valid whenever one looks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from trajlab.errors import UsageError
from trajlab.stats._clusters import FloatArray

_BETS = np.linspace(0.05, 0.95, 19)


def capital(values: npt.ArrayLike, mean: float, *, high: bool = True) -> FloatArray:
    """Capital of a mixture of constant bets against "the mean is at most ``mean``" (at least, for ``high=False``).

    Starts at 1. As long as each value's mean, given those before it, lies on the harmless side, the probability that
    the capital ever reaches 1/α is at most α (Ville's inequality): looking at every step costs nothing.

    Args:
        values: shape (..., steps), each within [0, 1]; NaN = not observed: no bet.
        mean: the line, within (0, 1).
        high: a mean above the line is what is looked for.

    Returns:
        Shape (..., steps): capital after each step.

    References:
        Waudby-Smith and Ramdas 2024 (betting, bounded means), doi:10.1093/jrsssb/qkad009; Ville 1939.
    """
    series = np.asarray(values, dtype=np.float64)
    seen = ~np.isnan(series)
    if not 0 < mean < 1 or ((series[seen] < 0) | (series[seen] > 1)).any():
        raise UsageError("capital", f"mean {mean}", "values within [0, 1] and a mean within (0, 1)")
    if not high:
        series, mean = 1.0 - series, 1.0 - mean
    # A bet of λ/mean loses at most the share λ of the capital.
    gains = np.where(seen, series - mean, 0.0)[..., None] * (_BETS / mean)
    logs = np.cumsum(np.log1p(gains), axis=-2)
    return np.asarray(np.exp(logs).mean(axis=-1))


def flag_cusum(flags: npt.ArrayLike, share: npt.ArrayLike, alternative: float = 0.95) -> FloatArray:
    """Log-likelihood CUSUM for 0/1 values: has their share risen from at most ``share`` to ``alternative``?

    S(t) = max(0, S(t−1) + log of the likelihood ratio). Stopping at S ≥ log A takes at least A steps on average while
    the share is at most ``share``, whenever the run began.

    Args:
        flags: shape (runs, steps), 0 or 1; values between count as a mixture of both.
        share: greatest harmless share, broadcast to (runs, steps), below ``alternative``; NaN: the step is not judged.
        alternative: the share that is looked for.

    References:
        Lorden 1971 (average run length), doi:10.1214/aoms/1177693055.
    """
    series = np.asarray(flags, dtype=np.float64)
    null = np.broadcast_to(np.asarray(share, dtype=np.float64), series.shape)
    if series.ndim != 2 or (null >= alternative).any() or (null <= 0).any():
        raise UsageError("flag_cusum", f"shape {series.shape}", "shape (runs, steps), shares within (0, alternative)")
    scores = series * np.log(alternative / null) + (1 - series) * np.log((1 - alternative) / (1 - null))
    scores = np.where(np.isnan(scores), -np.inf, scores)
    statistic = np.empty(series.shape)
    total = np.zeros(len(series))
    for place in range(series.shape[1]):
        total = np.maximum(0.0, total + scores[:, place])
        statistic[:, place] = total
    return statistic
