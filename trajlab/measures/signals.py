"""Signals of a run: one number a training step, of the trainer's metric log or of the rollouts of the step."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from trajlab.corpus.corpus import Corpus
from trajlab.measures.catalogue import BY_NAME
from trajlab.measures.frame import Trajectories
from trajlab.measures.onsets import step_series

BESIDE = ("one_step_rate", "reward_zero_rate")
"""Measures that are followed beside those of `trajlab.measures.step_signals`."""


class Signal(msgspec.Struct, frozen=True):
    """One number a training step, in the order of the steps; steps without a number are left out."""

    name: str
    steps: npt.NDArray[np.int64]
    values: npt.NDArray[np.float64]
    source: str
    """``metrics`` or ``rollouts``."""
    broken: list[int] = []
    """Steps at which something was logged that is no finite number."""

    @property
    def mean(self) -> float:
        """Mean over the steps."""
        return float(self.values.mean())

    @property
    def first(self) -> float:
        """Value at the first step."""
        return float(self.values[0])

    @property
    def last(self) -> float:
        """Value at the last step."""
        return float(self.values[-1])

    @property
    def highest(self) -> tuple[float, int]:
        """Highest value and its step."""
        place = int(self.values.argmax())
        return float(self.values[place]), int(self.steps[place])

    @property
    def lowest(self) -> tuple[float, int]:
        """Lowest value and its step."""
        place = int(self.values.argmin())
        return float(self.values[place]), int(self.steps[place])

    @property
    def ends(self) -> tuple[float, float]:
        """Medians of the first and of the last twentieth of the steps, at least three: one odd step decides nothing."""
        count = min(len(self.values), max(3, len(self.values) // 20))
        return float(np.median(self.values[:count])), float(np.median(self.values[-count:]))

    @property
    def change(self) -> float | None:
        """Relative change between the `ends`; ``None`` for a start at zero or fewer than two steps."""
        start, end = self.ends
        return None if start == 0 or len(self.values) < 2 else end / start - 1

    def at(self, step: int) -> float | None:
        """Value at a step; ``None`` where there is none."""
        place = int(np.searchsorted(self.steps, step))
        return float(self.values[place]) if place < len(self.steps) and self.steps[place] == step else None


def run_signals(corpus: Corpus, run: str, trajectories: Trajectories | None, told: pl.DataFrame) -> dict[str, Signal]:
    """All signals of a run by name: metrics by their common names, and what `told` has by its own.

    A metric whose every value is no finite number has no steps, only ``broken`` ones.

    Args:
        corpus: Where the metrics are.
        run: The run.
        trajectories: Its trajectories; ``None``: it has only a metric log.
        told: The run's frame of `trajlab.measures.step_signals.step_signals`.
    """
    found = logged_signals(corpus, run)
    for (name, source), own in told.partition_by("signal", "source", as_dict=True).items():
        known = own.filter(pl.col("value").is_finite()).sort("step")
        if name not in found and known.height:
            found[str(name)] = Signal(str(name), known["step"].to_numpy(), known["value"].to_numpy(), str(source))
    if trajectories is None:
        return found
    for name in BESIDE:
        steps, values = step_series(trajectories, BY_NAME[name])
        if steps:
            found[name] = Signal(name, np.asarray(steps), np.asarray(values), "rollouts")
    return found


def logged_signals(corpus: Corpus, run: str) -> dict[str, Signal]:
    """Signals of the metric log; of a step that was logged several times what counts."""
    rows = corpus.metrics.filter((pl.col("run") == run) & pl.col("name").is_not_null() & pl.col("counts"))
    table = rows.select("name", "step", "value").sort("name", "step").collect()
    found = {}
    for (name,), own in table.group_by(["name"], maintain_order=True):
        known = own.filter(pl.col("value").is_not_null())
        broken = own.filter(pl.col("value").is_null())["step"].to_list()
        found[str(name)] = Signal(str(name), known["step"].to_numpy(), known["value"].to_numpy(), "metrics", broken)
    return found


def first_of(signals: Mapping[str, Signal], *names: str) -> Signal | None:
    """The first signal of these names that has a number at all."""
    return next((found for name in names if (found := signals.get(name)) is not None and len(found.values)), None)
