"""Sequential alarm over the training steps of a run: a robust, bounded CUSUM over a line, valid under repeated looks.

Batch means are neither independent nor stationary, and a run may get better without harm. So the noise is measured by
differences, which a drift hardly touches; a line is material (a share of what was) and never nearer to what was than
the noise reaches; and what one step can add is bounded, so that a single spike never acts.

Arrays have shape (runs, steps), in the order of the steps.
"""

from __future__ import annotations

import itertools
import math

import msgspec
import numpy as np
import numpy.typing as npt

from trajlab.errors import UsageError
from trajlab.stats._clusters import FloatArray
from trajlab.stats.estimate import Estimate
from trajlab.stats.intervals import proportion

WINDOW = 10
"""Steps of the baseline; none of them is judged."""
SLACK = 2.5
"""A line is at least so many long-run standard deviations away from the baseline."""
SLACK_OF_BEST = 3.0
"""The same for the best so far, which is the largest of many medians and so lies higher."""
LIMIT = 3.0
"""The sum at which an alarm is raised; a step adds at most 1, so that it takes at least three steps."""
UNIT = 0.5
"""A step counts in full from so many long-run standard deviations beyond the line."""
_LATELY = 30
_PRIOR_AUTOCORRELATION = 0.3
_PRIOR_WEIGHT = 20.0
_MOST_AUTOCORRELATION = 0.8
_SMALL_SAMPLE = 3.0


class Watch(msgspec.Struct, frozen=True):
    """What a CUSUM saw of one or several series, shape (runs, steps) each; NaN where a step is not judged."""

    line: FloatArray
    """The line that a step was held against."""
    reference: FloatArray
    """What was: the baseline, or the best so far."""
    noise: FloatArray
    """Long-run standard deviation of the batch means as known before the step."""
    statistic: FloatArray
    first: npt.NDArray[np.int64]
    """Shape (runs,): place of the first alarm, -1 for none."""


def long_run_noise(values: npt.ArrayLike, window: int = WINDOW, floor: npt.ArrayLike = 0.0) -> FloatArray:
    """Long-run standard deviation of a series at each step, from the steps before it; a drift hardly adds to it.

    With d1 and d2 the medians of |x(t+1) − x(t)| and |x(t+2) − x(t)|, an AR(1) series has ρ = d2²/d1² − 1 and a
    long-run standard deviation of 1.4826 d1 √((1 + ρ)/2) / (1 − ρ). ρ is kept within 0 and 0.8 and shrunk to 0.3 with
    the weight of 20 steps; the result is enlarged by 1 + 3/steps while it rests on few, and renewed every fifth step,
    later every tenth. The larger of the estimates from all steps and from the last 30 counts, for noise may grow with
    the level.

    Args:
        values: shape (runs, steps), finite.
        window: steps before anything is said.
        floor: the least it may be, broadcast to (runs, steps).

    Returns:
        Shape (runs, steps); NaN for the first ``window`` steps.

    References:
        Chakar, Lebarbier, Lévy-Leduc and Robin 2017 (ρ from medians of differences), doi:10.3150/15-BEJ782.
    """
    series = _as_runs(values)
    runs, steps = series.shape
    noise = np.full((runs, steps), np.nan)
    one, two = np.abs(np.diff(series, axis=1)), np.abs(series[:, 2:] - series[:, :-2])
    renewed = (*range(window, min(50, steps), 5), *range(max(window, 50), steps, 10), steps)
    for known, until in itertools.pairwise(renewed):
        scale = _scale(one[:, : known - 1], two[:, : known - 2])
        if known > _LATELY:
            scale = np.maximum(scale, _scale(one[:, known - _LATELY : known - 1], two[:, known - _LATELY : known - 2]))
        noise[:, known:until] = scale[:, None]
    return np.asarray(np.maximum(noise, np.broadcast_to(np.asarray(floor, dtype=np.float64), noise.shape)))


def _scale(one: FloatArray, two: FloatArray) -> FloatArray:
    """Long-run standard deviation from the absolute differences over one step and over two, shape (runs, places)."""
    known = one.shape[1] + 1
    d1, d2 = np.median(one, axis=1), np.median(two, axis=1)
    ratio = np.divide(d2, d1, out=np.ones(len(d1)), where=d1 > 0)
    rho = np.clip(ratio * ratio - 1.0, 0.0, _MOST_AUTOCORRELATION)
    rho = (known * rho + _PRIOR_WEIGHT * _PRIOR_AUTOCORRELATION) / (known + _PRIOR_WEIGHT)
    return np.asarray(1.4826 * d1 * np.sqrt((1 + rho) / 2) / (1 - rho) * (1 + _SMALL_SAMPLE / known))


def baseline(values: npt.ArrayLike, window: int = WINDOW) -> FloatArray:
    """Median of the first ``window`` steps, held from then on; shape (runs, steps), NaN before."""
    series = _as_runs(values)
    level = np.full(series.shape, np.nan)
    if series.shape[1] > window:
        level[:, window:] = np.median(series[:, :window], axis=1)[:, None]
    return level


def best_so_far(values: npt.ArrayLike, window: int = WINDOW, *, high: bool = True) -> FloatArray:
    """The best median of ``window`` steps in a row before each step; shape (runs, steps), NaN for the first steps."""
    series = _as_runs(values)
    level = np.full(series.shape, np.nan)
    if series.shape[1] > window:
        medians = np.median(np.lib.stride_tricks.sliding_window_view(series, window, axis=1), axis=2)
        best = np.maximum.accumulate(medians, axis=1) if high else np.minimum.accumulate(medians, axis=1)
        level[:, window:] = best[:, :-1]
    return level


def recent(values: npt.ArrayLike, window: int) -> FloatArray:
    """Median of the last ``window`` steps, the step itself included; of fewer where there are fewer."""
    series = _as_runs(values)
    level = np.empty(series.shape)
    head = min(window - 1, series.shape[1])
    for place in range(head):
        level[:, place] = np.median(series[:, : place + 1], axis=1)
    if series.shape[1] >= window:
        level[:, window - 1 :] = np.median(np.lib.stride_tricks.sliding_window_view(series, window, axis=1), axis=2)
    return level


def watch(
    values: npt.ArrayLike,
    reference: FloatArray,
    material: FloatArray,
    noise: FloatArray,
    *,
    high: bool,
    slack: float | None = None,
    limit: float = LIMIT,
    guard: float | None = None,
    within: npt.NDArray[np.bool_] | None = None,
) -> Watch:
    """One-sided CUSUM over a line, each step counting at most 1.

    The line is the material one, or the reference moved by ``slack`` times the noise, whichever is further away. The
    statistic is S(t) = max(0, S(t−1) + clip(±(x(t) − line(t)) / (0.5 noise(t)), −1, 1)); an alarm is S ≥ ``limit``. A
    series that stays where it was is alarmed with the rate of `false_alarm_rate`, however often one looks.

    Args:
        values: shape (runs, steps), finite.
        reference: what was, shape (runs, steps); NaN where a step is not judged. −∞ (+∞ for ``high=False``): none.
        material: the line by its meaning, shape (runs, steps).
        noise: long-run standard deviation, shape (runs, steps).
        high: above the line is bad; else below it.
        slack: least distance of line and reference, in units of the noise; ``None``: `SLACK`.
        limit: sum that raises the alarm; the sum grows to no more than twice as much.
        guard: the noise counts for no more than moves the line by this share of the reference; ``None``: in full.
        within: steps at which the sum may grow; elsewhere it falls by 1.

    References:
        Page 1954 (CUSUM), doi:10.1093/biomet/41.1-2.100; Lucas and Crosier 1982 (bounded scores against outliers),
        doi:10.1080/03610928208828414.
    """
    series = _as_runs(values)
    sign = 1.0 if high else -1.0
    slack = SLACK if slack is None else slack
    if guard is not None:
        noise = np.minimum(noise, guard * np.abs(reference) / slack)
    apart = reference + sign * slack * noise
    line = np.where(np.isfinite(apart), np.maximum(sign * material, sign * apart) * sign, material)
    line = np.where(np.isnan(reference) | np.isnan(noise), np.nan, line)
    gap = sign * (series - line)
    scores = np.clip(np.divide(gap, UNIT * noise, out=np.sign(gap), where=noise > 0), -1.0, 1.0)
    scores = np.where(np.isnan(scores), -1.0, scores)
    if within is not None:
        scores = np.where(within, scores, -1.0)
    statistic = np.empty(series.shape)
    total = np.zeros(len(series))
    for place in range(series.shape[1]):
        total = np.clip(total + scores[:, place], 0.0, 2 * limit)
        statistic[:, place] = total
    over = statistic >= limit - 1e-9
    first = np.where(over.any(axis=1), over.argmax(axis=1), -1).astype(np.int64)
    return Watch(line, reference, noise, statistic, first)


def autoregressive(runs: int, steps: int, correlation: float, rng: np.random.Generator) -> FloatArray:
    """Stationary Gaussian AR(1) series of mean 0 and standard deviation 1, shape (runs, steps)."""
    if not -1 < correlation < 1:
        raise UsageError("correlation", str(correlation), "between -1 and 1")
    shocks = rng.standard_normal((runs, steps))
    series = np.empty((runs, steps))
    left = math.sqrt(1 - correlation * correlation)
    for place in range(steps):
        series[:, place] = shocks[:, 0] if place == 0 else correlation * series[:, place - 1] + left * shocks[:, place]
    return series


def false_alarm_rate(
    rng: np.random.Generator,
    *,
    best: bool = False,
    correlation: float = 0.5,
    steps: int = 200,
    runs: int = 2000,
    slack: float | None = None,
    limit: float = LIMIT,
) -> Estimate:
    """Share of stationary AR(1) series that `watch` alarms although nothing changed, in the worst case.

    The worst case: noise so large that it alone sets the line. Where the material line is further away, the rate is
    lower; the hard healthy runs of ``tests/studies/alarms.py`` say how much.

    Args:
        rng: Source of the simulated series.
        best: The reference is the best so far, not the baseline.
        correlation: Lag-1 autocorrelation of the batch means.
        steps: Training steps of a run.
        runs: Runs simulated.
        slack: As for `watch`; ``None``: `SLACK`, or `SLACK_OF_BEST`.
        limit: As for `watch`.
    """
    slack = (SLACK_OF_BEST if best else SLACK) if slack is None else slack
    series = autoregressive(runs, steps, correlation, rng)
    noise = long_run_noise(series)
    reference = best_so_far(series) if best else baseline(series)
    material = np.full(series.shape, np.inf if best else -np.inf)
    found = watch(series, reference, material, noise, high=not best, slack=slack, limit=limit)
    return proportion(found.first >= 0)


def _as_runs(values: npt.ArrayLike) -> FloatArray:
    series = np.asarray(values, dtype=np.float64)
    if series.ndim != 2 or not np.isfinite(series).all():
        raise UsageError("values", f"shape {series.shape}", "finite values of shape (runs, steps)")
    return series
