"""Rules over the steps of one series: k in a row over a line, and what became of a value that crossed its line."""

from __future__ import annotations

import math
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from trajlab.errors import UsageError
from trajlab.stats._clusters import FloatArray, as_floats
from trajlab.stats.estimate import Estimate, not_observed
from trajlab.stats.intervals import proportion
from trajlab.stats.sequential import autoregressive

CrossingKind = Literal["spring", "excursion", "runaway"]
RISING = 4
"""Fewest steps over the line by which it can be told whether a value rises on."""
RISING_LEVEL = 0.05


class Crossing(msgspec.Struct, frozen=True):
    """A stretch of steps over the line."""

    kind: CrossingKind
    """``spring``: back within one step; ``runaway``: risen on, told from ``told_at``; else ``excursion``."""
    first: int
    """Place of the first value over the line."""
    last: int
    """Place of the last one."""
    peak: float
    told_at: int
    """Place at which the kind could be told: for a runaway the first at which it had risen on."""
    open: bool
    """The series ends over the line: what becomes of it is not known yet."""


def runs_over(values: npt.ArrayLike, line: float, count: int, *, high: bool = True) -> list[tuple[int, int]]:
    """Stretches of at least ``count`` values in a row beyond a line: places of the first and the last value.

    Args:
        values: shape (steps,), in order; NaN = not observed: neither breaks a stretch nor adds to it.
        line: values strictly beyond it count.
        count: how many in a row.
        high: beyond is above; else below.

    Raises:
        UsageError: for a count below 1.
    """
    if count < 1:
        raise UsageError("count", str(count), "at least 1")
    series = as_floats(values, "values")
    places = np.flatnonzero(~np.isnan(series))
    beyond = series[places] > line if high else series[places] < line
    edges = np.flatnonzero(np.diff(np.concatenate(([0], beyond.astype(np.int8), [0]))))
    return [
        (int(places[start]), int(places[end - 1]))
        for start, end in zip(edges[::2].tolist(), edges[1::2].tolist(), strict=True)
        if end - start >= count
    ]


def run_probability(share: float, count: int, steps: int) -> float:
    """Probability of at least one run of ``count`` in ``steps`` independent steps, each beyond the line with ``share``.

    References:
        Feller 1968, An Introduction to Probability Theory I, XIII.7 (success runs), by its recursion.
    """
    if not 0 <= share <= 1 or count < 1 or steps < 0:
        raise UsageError("run_probability", f"{share}, {count}, {steps}", "a share of 0 to 1, a count of at least 1")
    state = np.zeros(count + 1)
    state[0] = 1.0
    for _ in range(steps):
        moved = np.zeros(count + 1)
        moved[0] = (1 - share) * state[:count].sum()
        moved[1:] = share * state[:count]
        moved[count] += state[count]
        state = moved
    return float(state[count])


def runs_rule_rate(
    share: float, count: int, steps: int, correlation: float, rng: np.random.Generator, runs: int = 2000
) -> Estimate:
    """Share of healthy runs in which the runs rule speaks although each step is beyond the line by chance only.

    Args:
        share: Probability of a step to be beyond the line.
        count: How many in a row raise the alarm.
        steps: Training steps of a run.
        correlation: Lag-1 autocorrelation of the series behind it (Gaussian AR(1)).
        rng: Source of the simulated series.
        runs: Runs simulated.
    """
    if share in (0.0, 1.0):
        return proportion(np.full(runs, share))
    series = autoregressive(runs, steps, correlation, rng)
    beyond = series > _normal_quantile(1 - share)
    if steps < count:
        return proportion(np.zeros(runs))
    windows = np.lib.stride_tricks.sliding_window_view(beyond, count, axis=1)
    return proportion(np.any(np.all(windows, axis=2), axis=1))


def observed_run_rate(values: npt.ArrayLike, line: float, count: int, *, high: bool = True) -> Estimate:
    """Probability of a run of ``count`` by chance in this series: its own share beyond the line, as if independent."""
    series = as_floats(values, "values")
    seen = series[~np.isnan(series)]
    if not len(seen):
        return not_observed(len(series))
    share = float((seen > line).mean() if high else (seen < line).mean())
    value = run_probability(share, count, len(seen))
    return Estimate(value, None, None, None, float(len(seen)), "runs of independent steps")


def crossings(values: npt.ArrayLike, line: float, *, high: bool = True, grown: float = 1.25) -> list[Crossing]:
    """What became of every crossing of a line: spring, excursion or runaway.

    A spring is back within one step. A stretch that lasts is a runaway from the first step at which it has risen on: at
    least four values over the line, the newest the highest and ``grown`` times the line, and rising by an exact
    Mann–Kendall test (one-sided, 0.05). Everything else is an excursion, and so is what was over the line from the
    first step. A stretch is tested anew as it grows: one of exchangeable values is called a runaway with probability
    1/24 at its fourth step.

    Args:
        values: shape (steps,), in order; NaN = not observed, left out.
        line: values strictly beyond it are over.
        high: over is above; else below.
        grown: how far beyond the line a runaway must be, as a multiple of it.

    References:
        Kendall 1938, doi:10.1093/biomet/30.1-2.81.
    """
    series = as_floats(values, "values")
    sign = 1.0 if high else -1.0
    places = np.flatnonzero(~np.isnan(series))
    found = []
    for first, last in runs_over(series, line, 1, high=high):
        inside = places[(places >= first) & (places <= last)]
        rising = None
        if first > places[0]:  # what was over the line from the start has not crossed it
            rising = _rising_at(sign * series[inside], sign * line * grown if line > 0 else sign * line)
        kind: CrossingKind = "spring" if len(inside) == 1 else "excursion"
        told = inside[min(1, len(inside) - 1)]
        if rising is not None:
            kind, told = "runaway", inside[rising]
        peak = float(sign * (sign * series[inside]).max())
        found.append(Crossing(kind, first, last, peak, int(told), bool(last == places[-1])))
    return found


def _rising_at(values: FloatArray, least: float) -> int | None:
    """First place at which the values so far rise: the newest is the highest and beyond ``least``, the trend shown."""
    score = 0
    for place in range(1, len(values)):
        score += int(np.sign(values[place] - values[:place]).sum())
        if place + 1 < RISING or values[place] < values[:place].max() or values[place] < least:
            continue
        if mann_kendall_tail(score, place + 1) <= RISING_LEVEL:
            return place
    return None


def mann_kendall_tail(score: int, n: int) -> float:
    """P(S ≥ score) for n exchangeable values without ties: exact to n = 30, normal beyond."""
    if n < 2:
        return 1.0
    if n > 30:
        return 0.5 * math.erfc((score - 1) / math.sqrt(n * (n - 1) * (2 * n + 5) / 18) / math.sqrt(2))
    counts = np.ones(1)
    for size in range(2, n + 1):
        counts = np.convolve(counts, np.ones(size)) / size
    # counts[i]: probability of i discordant pairs; S = n (n − 1) / 2 − 2 i.
    pairs = n * (n - 1) // 2
    return float(counts[: max(0, (pairs - score) // 2 + 1)].sum())


def _normal_quantile(share: float) -> float:
    from statistics import NormalDist

    return NormalDist().inv_cdf(share)
