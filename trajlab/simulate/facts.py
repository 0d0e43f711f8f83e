"""What each simulated trajectory of a maths run is, before it has words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from trajlab.simulate.description import Description

Whole = NDArray[np.int64]
Flags = NDArray[np.bool_]


@dataclass
class Facts:
    """One entry a trajectory, in the order of the dumps; all arrays have the same length."""

    step: Whole
    """1-based."""
    task: Whole
    attempt: Whole
    correct: Flags
    tool: Flags
    turns: Whole
    cents: Whole
    """Reward in hundredths."""

    def rows_of(self, step: int) -> slice:
        """The rows of a step."""
        first, last = np.searchsorted(self.step, [step, step + 1])
        return slice(int(first), int(last))

    def score_by_step(self, steps: int) -> NDArray[np.float64]:
        """Mean reward of each step."""
        sums = np.bincount(self.step - 1, weights=self.cents, minlength=steps)
        return np.asarray(sums / 100 / np.bincount(self.step - 1, minlength=steps))


def generator(run: Description, seed: int, purpose: str) -> np.random.Generator:
    """An own stream of randomness for each run, seed and purpose."""
    return np.random.default_rng([seed, *f"{run.name}/{purpose}".encode()])


def prompts_per_step(run: Description, scale: float) -> int:
    """Prompts of a step at a scale, at least one."""
    return max(1, round(run.config.batch_size * scale))


def tasks_by_step(run: Description, count: int, rng: np.random.Generator) -> list[Whole]:
    """Prompts of each step: a new order in each epoch of the trainer, none twice within a step."""
    tasks: list[Whole] = []
    for steps in run.epochs.score_steps:
        order = rng.permutation(run.prompts)
        places = np.arange(steps * count).reshape(steps, count)
        tasks.extend(np.take(order, places, mode="wrap"))
    return tasks


def empty_facts(run: Description, scale: float, rng: np.random.Generator) -> Facts:
    """Steps, tasks and attempts, with everything else still zero."""
    count, attempts = prompts_per_step(run, scale), run.config.generations
    tasks = np.concatenate([np.repeat(step, attempts) for step in tasks_by_step(run, count, rng)])
    size = len(tasks)
    step = np.repeat(np.arange(1, run.steps + 1), count * attempts)
    attempt = np.tile(np.arange(attempts), size // attempts)
    zeros: Any = np.zeros(size, dtype=np.int64)
    return Facts(step, tasks, attempt, zeros > 0, zeros > 0, zeros + 1, zeros.copy())
