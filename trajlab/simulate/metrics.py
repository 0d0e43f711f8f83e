"""The metric log of a simulated run: planned series beside what follows from its rollouts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from trajlab.errors import UsageError
from trajlab.simulate.description import Description
from trajlab.simulate.facts import generator
from trajlab.simulate.series import plant_series

Real = NDArray[np.float64]

_GEN_SHARE = "gen_share"
_OTHER_TIMES = {
    "math": {"old_log_prob": 0.17, "ref": 0.17, "adv": 0.01, "reward": 0.0, "update_actor": 0.6},
    "swe": {
        "old_log_prob": 0.12,
        "values": 0.1,
        "adv": 0.02,
        "reward": 0.01,
        "update_critic": 0.3,
        "update_actor": 0.4,
    },
}
"""Shares of what generation leaves of a step, by verl's names; a few percent stay unaccounted for."""


@dataclass
class Batch:
    """What the metrics of a step need to know of its rollouts; advantages are per trajectory."""

    score: Real
    advantage: Real
    turns: Real
    """As verl counts them: user turns + assistant turns + 1."""
    length: Real
    """Response tokens, estimated from characters."""


def group_advantage(rewards: ArrayLike, attempts: int) -> Real:
    """GRPO: (r - mean) / (sample std + 1e-6) within each prompt's attempts; 0 where they are all alike.

    Source: verl ``core_algos.compute_grpo_outcome_advantage``, after arXiv:2402.03300.
    """
    grouped = np.asarray(rewards, dtype=np.float64).reshape(-1, attempts)
    centred = grouped - grouped.mean(axis=1, keepdims=True)
    if attempts == 1:
        return np.asarray(centred.ravel())
    return np.asarray((centred / (grouped.std(axis=1, ddof=1, keepdims=True) + 1e-6)).ravel())


def extremes(name: str, values: ArrayLike) -> dict[str, float]:
    """``name/mean``, ``name/max`` and ``name/min``."""
    array = np.asarray(values, dtype=np.float64)
    return {f"{name}/mean": float(array.mean()), f"{name}/max": float(array.max()), f"{name}/min": float(array.min())}


def metric_lines(run: Description, batches: Iterable[Batch], seed: int) -> list[dict[str, Any]]:
    """Lines for verl's file logger, in step order.

    verl's own logger writes ``step`` and ``data`` only; ``timestamp`` beside them is ours (RFC 3339, the end of the
    step), because the wall-clock of a run cannot be told without it.
    """
    series = {
        name: plant_series(plan, run.steps, generator(run, seed, name), name, run.epochs.score_steps)
        for name, plan in run.series.items()
    }
    epoch = np.repeat(np.arange(len(run.epochs.score_steps)), run.epochs.score_steps)
    ends = _ends(run, series.get("timing_s/step"))
    lines = []
    for i, batch in enumerate(batches):
        data: dict[str, Any] = {"training/global_step": i + 1, "training/epoch": int(epoch[i])}
        # As verl does: samples without a response count as aborted and are left out of score and reward.
        kept = batch.score[batch.length > 0] if (batch.length > 0).any() else batch.score
        data |= extremes("critic/score", kept) | extremes("critic/rewards", kept)
        data |= extremes("critic/advantages", batch.advantage)
        data |= extremes("response_length", batch.length) | extremes("num_turns", batch.turns)
        data["response/aborted_ratio"] = float((batch.length == 0).mean())
        for name, values in series.items():
            if name != _GEN_SHARE and (i + 1) % run.series[name].every == 0:
                data[name] = float(values[i])
        data |= _times(run, series, i)
        lines.append({"step": i + 1, "data": data, "timestamp": ends[i]})
    return lines


def _times(run: Description, series: dict[str, Real], i: int) -> dict[str, float]:
    if "timing_s/step" not in series or _GEN_SHARE not in series:
        return {}
    whole, share = float(series["timing_s/step"][i]), float(series[_GEN_SHARE][i])
    rest = whole * (1 - share)
    times = {f"timing_s/{name}": rest * part for name, part in _OTHER_TIMES[run.kind].items()}
    return {"timing_s/gen": whole * share, **times, "perf/time_per_step": whole}


def _ends(run: Description, seconds: Real | None) -> Sequence[str | None]:
    """When each step ended. What the run took above its steps lies between them (checkpoints, loading)."""
    if seconds is None:
        return [None] * run.steps
    try:
        start = datetime.fromisoformat(run.started_at)
    except ValueError as error:
        raise UsageError("started_at", run.started_at, "an RFC 3339 time") from error
    pause = 0.0
    if run.total_h is not None and run.steps > 1:
        pause = max(float(run.total_h) * 3600 - float(seconds.sum()), 0.0) / (run.steps - 1)
    after = np.cumsum(seconds) + pause * np.arange(run.steps)
    return [
        (start + timedelta(seconds=float(s))).isoformat(timespec="milliseconds").replace("+00:00", "Z") for s in after
    ]
