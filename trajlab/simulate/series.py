"""Metric series that show given figures: drawn around a path, then moved into every constraint."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from trajlab.errors import UsageError
from trajlab.simulate.description import Knots, Series, bounds, half_unit

Real = NDArray[np.float64]
Steps = NDArray[np.int64]

_ROUNDS = 2500
_INSIDE = 0.9  # share of a printed figure's window that is aimed at


@dataclass
class Interval:
    """Bounds on the mean of some members of a series."""

    members: Steps
    low: float
    high: float


@dataclass
class Frame:
    """Where a series may lie: bounds of each value, and of means over members."""

    low: Real
    high: Real
    intervals: list[Interval] = field(default_factory=list)
    groups: list[Steps] = field(default_factory=list)
    std: tuple[float, float] | None = None


def along(path: Knots, steps: int) -> Real:
    """A path of knots (1-based step, value) at every step, linear between knots and flat outside; zeros if empty."""
    if not path:
        return np.zeros(steps)
    at, values = zip(*((float(step), float(value)) for step, value in sorted(path)), strict=True)
    return np.asarray(np.interp(np.arange(1, steps + 1, dtype=np.float64), at, values), dtype=np.float64)


def partition(sizes: list[int]) -> list[Steps]:
    """Indices of the steps of each epoch."""
    ends = np.cumsum(sizes)
    return [np.arange(end - size, end) for size, end in zip(sizes, ends, strict=True)]


def plant_series(plan: Series, steps: int, rng: np.random.Generator, name: str, score_steps: list[int]) -> Real:
    """A series of a metric with the planned figures.

    Args:
        plan: Figures and shape.
        steps: Length of the series.
        rng: Source of the noise.
        name: Of the metric, for errors.
        score_steps: Partition that ``epoch_mean`` speaks of.

    Raises:
        UsageError: The figures contradict each other.
    """
    start = drawn(plan, steps, rng)
    frame = frame_of(plan, start, score_steps)
    return settle(start, frame, name)


def drawn(plan: Series, steps: int, rng: np.random.Generator) -> Real:
    """The path with multiplicative, slightly autocorrelated noise."""
    level = along(plan.path, steps)
    if not plan.path and plan.mean is not None:
        level = np.full(steps, float(plan.mean))
    shocks = rng.standard_normal(steps)
    noise = np.empty(steps)
    for i in range(steps):
        noise[i] = shocks[i] if i == 0 else 0.3 * noise[i - 1] + 0.95 * shocks[i]
    return level * (1.0 + float(plan.noise) * noise)


def frame_of(plan: Series, start: Real, score_steps: list[int]) -> Frame:
    """The constraints of a plan, with extremes given a step."""
    steps = len(start)
    low, high = _box(plan, start)
    named = {step - 1: float(value) for step, value in plan.at.items()}
    first, last = _ends(plan)
    named |= {} if first is None else {0: first}
    named |= {} if last is None else {steps - 1: last}
    if any(not 0 <= step < steps for step in named):
        raise UsageError("at", f"a step outside 1 to {steps}")
    for extreme, best in ((plan.max, np.argmax), (plan.min, np.argmin)):
        if extreme is None:
            continue
        holder = next((i for i, value in named.items() if _prints_as(value, extreme)), None)
        if holder is None:
            free = np.array([i for i in range(1, steps - 1) if not {i - 1, i, i + 1} & named.keys()])
            holder = int(free[best(start[free])])
        named[holder] = float(extreme)
    for i, value in named.items():
        low[i] = high[i] = value
    frame = Frame(low, high, groups=partition(score_steps))
    frame.intervals = _intervals(plan, frame.groups, steps)
    if plan.std is not None:
        frame.std = _aim(plan.std, 0.5)
    return frame


def _box(plan: Series, start: Real) -> tuple[Real, Real]:
    """Bounds of the values that are not named; clear of the extremes, so that these stay the only ones."""
    spread = float(np.ptp(start)) or 1.0
    least, most = (
        (float(start.min()) - spread, float(start.max()) + spread)
        if plan.between is None
        else (float(plan.between[0]), float(plan.between[1]))
    )
    if not float(plan.noise) and plan.mean is None and plan.between is None:
        return start.copy(), start.copy()
    if plan.max is not None:
        most = min(most, float(plan.max) - 4 * half_unit(plan.max))
    if plan.min is not None:
        least = max(least, float(plan.min) + 4 * half_unit(plan.min))
    return np.full(len(start), least), np.full(len(start), most)


def _prints_as(value: float, figure: Decimal) -> bool:
    """Whether one of two figures of different precision may stand for the other."""
    return abs(value - float(figure)) <= max(half_unit(figure), 0.5e-3) and value > 0


def _ends(plan: Series) -> tuple[float | None, float | None]:
    """First and last value; with a change, the pair that prints as all three figures."""
    if plan.first is None or plan.last is None or plan.change_pct is None:
        ends = (plan.first, plan.last)
        return (None if ends[0] is None else float(ends[0]), None if ends[1] is None else float(ends[1]))
    low, high = bounds(plan.last)
    first_low, first_high = bounds(plan.first)
    pairs = [
        (first, first * (1 + float(plan.change_pct) / 100))
        for first in np.linspace(first_low, first_high, 41)[1:-1].tolist()
    ]
    fitting = [pair for pair in pairs if low < pair[1] < high]
    if not fitting:
        raise UsageError("change_pct", f"{plan.change_pct} % does not lead from {plan.first} to {plan.last}")
    return min(fitting, key=lambda pair: abs(pair[0] - float(plan.first or 0)) + abs(pair[1] - float(plan.last or 0)))


def _aim(figure: Decimal, inside: float = _INSIDE) -> tuple[float, float]:
    margin = half_unit(figure) * inside
    return float(figure) - margin, float(figure) + margin


def _intervals(plan: Series, groups: list[Steps], steps: int) -> list[Interval]:
    intervals = (
        [Interval(group, *_aim(mean)) for group, mean in zip(groups, plan.epoch_mean, strict=bool(plan.epoch_mean))]
        if plan.epoch_mean
        else []
    )
    for window in plan.windows:
        members = np.arange(window.steps[0] - 1, window.steps[1])
        intervals.append(Interval(members, *_aim(window.mean)))
    if plan.mean is not None:
        intervals.append(Interval(np.arange(steps), *_aim(plan.mean)))
    return intervals


def settle(start: Real, frame: Frame, name: str, *, strict: bool = True) -> Real:
    """Move a series into its frame: each constraint in turn, until all hold (or, if not ``strict``, nearly).

    Means are moved by a share of the room each value has, so that no bound is broken; the standard deviation by
    widening deviations from the group means.

    Raises:
        UsageError: It does not converge; the figures contradict each other.
    """
    x = np.clip(start, frame.low, frame.high)
    for _ in range(_ROUNDS if strict else _ROUNDS // 10):
        moved = _stretch(x, frame)
        np.clip(x, frame.low, frame.high, out=x)
        for interval in frame.intervals:
            moved |= _shift(x, interval, frame)
        if not moved:
            return x
    if not strict:
        return x
    raise UsageError(name, "figures that contradict each other", next_step="Check its means, extremes and bounds")


def _shift(x: Real, interval: Interval, frame: Frame) -> bool:
    members = interval.members
    mean = float(x[members].mean())
    if interval.low <= mean <= interval.high:
        return False
    # A hair inside, or rounding keeps the search alive for ever.
    hair = (interval.high - interval.low) * 0.05
    gap = (interval.low + hair - mean if mean < interval.low else interval.high - hair - mean) * len(members)
    room = (frame.high if gap > 0 else frame.low)[members] - x[members]
    total = float(room.sum())
    if total * gap > 0:
        x[members] += room * min(gap / total, 1.0)
    return True


def _stretch(x: Real, frame: Frame) -> bool:
    if frame.std is None:
        return False
    low, high = frame.std
    current = float(x.std())
    if low <= current <= high:
        return False
    factor = 1.0 + 0.5 * ((low + high) / 2 / current - 1.0)
    for group in frame.groups:
        free = group[frame.low[group] < frame.high[group]]
        if len(free):
            centre = x[free].mean()
            x[free] = centre + (x[free] - centre) * factor
    return True
