"""What to look at beside an alarm: what moved with it, and rollouts of its step to read."""

from __future__ import annotations

import random
from collections.abc import Sequence

import msgspec
import numpy as np
import polars as pl

from trajlab.checks.alarms import Alarm, Series, series_of
from trajlab.corpus.corpus import Corpus
from trajlab.measures.step_signals import BY_SIGNAL
from trajlab.stats.sequential import WINDOW, long_run_noise

MOVED = 2.0
"""A signal has moved where its median is so many long-run standard deviations from that of the steps before."""
MATERIAL = 0.05
"""And by so much of the larger of the two."""
_FEWEST = 3


class Moved(msgspec.Struct, frozen=True):
    """A signal that changed where an alarm's stretch began."""

    signal: str
    title: str
    before: float
    """Median of up to ten steps before the onset."""
    after: float
    """Median of the steps from the onset to the alarm."""
    noise: float
    """Long-run standard deviation of a batch before the onset."""

    def __str__(self) -> str:
        return f"{self.title} {self.before:.4g} → {self.after:.4g}"


class AlarmContext(msgspec.Struct, frozen=True):
    """An alarm with what a person reads next."""

    alarm: Alarm
    moved: list[Moved]
    """Other signals that moved with it, the strongest first."""
    sample: list[str]
    """Trajectories of the alarm's step, drawn at random with a seed of its own; empty: none are logged."""
    of: int
    """Trajectories that the step has."""


def context(alarm: Alarm, corpus: Corpus, signals: pl.DataFrame, n: int = 5, seed: int = 0) -> AlarmContext:
    """What moved with an alarm, and a sample of rollouts from its step.

    Args:
        alarm: One that was told.
        corpus: Where the rollouts are.
        signals: Of all runs, as the alarms were made from.
        n: Trajectories drawn at most.
        seed: Of the draw; with the run, the code and the step it decides which.
    """
    own = series_of(signals.filter(pl.col("run").eq_missing(pl.lit(alarm.run, pl.String))))
    drawn, there = _sample(alarm, corpus, n, seed)
    return AlarmContext(alarm, moved_with(alarm, own), drawn, there)


def moved_with(alarm: Alarm, series: dict[str, Series]) -> list[Moved]:
    """Other signals whose level from the onset to the alarm is beyond the noise of the steps before."""
    if alarm.first_step is None or alarm.onset_step is None:
        return []
    found: list[tuple[float, Moved]] = []
    for name, one in series.items():
        if name == alarm.signal or name not in BY_SIGNAL:
            continue
        steps = np.asarray(one.steps)
        start, end = np.searchsorted(steps, (alarm.onset_step, alarm.first_step + 1))
        before, after = one.values[max(0, start - WINDOW) : start], one.values[start:end]
        if len(before) < _FEWEST or len(after) == 0:
            continue
        noise = _noise(one.values[:start])
        was, now = float(np.median(before)), float(np.median(after))
        gap = abs(now - was)
        if gap > max(MOVED * noise, MATERIAL * max(abs(was), abs(now)), 1e-12):
            moved = Moved(name, BY_SIGNAL[name].title, was, now, noise)
            found.append((gap / max(noise, 1e-12), moved))
    return [moved for _, moved in sorted(found, key=lambda item: (-item[0], item[1].signal))]


def _noise(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    if len(values) > WINDOW:
        return float(long_run_noise(values[None, :])[0, -1])
    return float(np.std(values))


def _sample(alarm: Alarm, corpus: Corpus, n: int, seed: int) -> tuple[list[str], int]:
    if alarm.run is None or alarm.first_step is None:
        return [], 0
    of_step = (pl.col("run") == alarm.run) & (pl.col("train_step") == alarm.first_step)
    ids: Sequence[str] = corpus.current.filter(of_step).select("trajectory_id").collect()["trajectory_id"].to_list()
    rng = random.Random(f"{alarm.run}/{alarm.finding.code}/{alarm.first_step}/{seed}")
    return sorted(rng.sample(sorted(ids), min(n, len(ids)))), len(ids)
