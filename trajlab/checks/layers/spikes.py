"""Single spikes of a norm, and the batches that explain them."""

from __future__ import annotations

import numpy as np

from trajlab.checks.layers.base import RunFacts, number, percent
from trajlab.measures.signals import Signal


def spikes(signal: Signal, times: float, line: float | None = None) -> list[int]:
    """Steps at which a norm is ``times`` its median (or over a line)."""
    limit = times * float(np.median(signal.values)) if line is None else line
    return [int(step) for step in signal.steps[signal.values > limit]] if limit > 0 else []


def attributed(facts: RunFacts, signal: Signal, steps: list[int], most: int = 8) -> list[tuple[str, int | None]]:
    """Each spike, the highest first, with the share of hollow trajectories of its batch where that explains it."""
    hollow = facts.hollow
    found: list[tuple[str, int | None]] = []
    for step in sorted(steps, key=lambda step: -(signal.at(step) or 0.0))[:most]:
        share = None if hollow is None else hollow.at(step)
        cause = "; whether its batch was hollow is not observed"
        if share is not None and share >= facts.line("hollow_batch", "share"):
            cause = f"; a hollow batch: {percent(share, 0)} of its trajectories are empty"
        elif share is not None:
            cause = f"; not explained by hollow trajectories ({percent(share, 0)} of the batch)"
        found.append((f"{number(signal.at(step))} at step {step}{cause}", step))
    return found
