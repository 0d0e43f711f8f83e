"""What the groups of a run give to learn from: signal, what is spent without it, length bias, weight of the prompts."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl

from trajlab.measures.frame import Trajectories
from trajlab.stats import Estimate, effective_sample_size, group_relative_advantage, not_observed, ratio

LENGTHS = ("completion_tokens", "agent_chars")
"""What tells the length of a trajectory, the best first; one of them serves for all."""
TOP = 0.1


class GroupSignal(msgspec.Struct, frozen=True):
    """Groups of at least two scored attempts."""

    groups: int
    flat: int
    """Groups whose rewards are all equal."""
    spent: Estimate
    """Share of what was generated that went into flat groups, clustered by task."""
    length: str | None
    """Column of `LENGTHS` that length is told by; ``None``: none is recorded."""
    length_advantage: float | None
    """Spearman's correlation of length and advantage, each within its group; ``None``: not observed."""
    attempts: int
    """Attempts in groups with signal."""
    prompts_that_count: float | None
    """Effective number of groups by their weight Σ|A| over all groups, 1 at the best; ``None`` without any signal."""
    top_share: float | None
    """Share of the weight that the heaviest tenth of the groups has."""


def group_signal(trajectories: Trajectories) -> GroupSignal | None:
    """What the groups of a population give; ``None`` where no group of two scored attempts is recorded."""
    frame = trajectories.frame.filter(pl.col("group_id").is_not_null() & pl.col("reward").is_not_null())
    frame = frame.filter(pl.len().over("run", "group_id") > 1)
    if frame.is_empty():
        return None
    frame = frame.with_columns(group=pl.struct("run", "group_id").rank("dense").cast(pl.Int64) - 1)
    groups = frame["group"].to_numpy()
    advantage = group_relative_advantage(frame["reward"].to_numpy(), groups)
    weight = np.bincount(groups, np.abs(advantage))
    signal = weight[groups] > 0
    length = next((name for name in LENGTHS if frame[name].null_count() == 0 and frame[name].sum()), None)
    heaviest = np.sort(weight)[::-1]
    return GroupSignal(
        groups=len(weight),
        flat=int((weight == 0).sum()),
        spent=_spent(frame, ~signal, length),
        length=length,
        length_advantage=None if length is None else _correlation(frame, length, advantage, groups, signal),
        attempts=int(signal.sum()),
        prompts_that_count=effective_sample_size(weight) if weight.any() else None,
        top_share=float(heaviest[: max(1, round(TOP * len(weight)))].sum() / weight.sum()) if weight.any() else None,
    )


def _spent(frame: pl.DataFrame, flat: np.ndarray[tuple[int], np.dtype[np.bool_]], length: str | None) -> Estimate:
    if length is None:
        return not_observed(frame.height)
    written = frame[length].cast(pl.Float64).to_numpy()
    return ratio(np.where(flat, written, 0.0), written, frame["cluster"].to_numpy(), bounded=True)


def _correlation(
    frame: pl.DataFrame,
    length: str,
    advantage: np.ndarray[tuple[int], np.dtype[np.float64]],
    groups: np.ndarray[tuple[int], np.dtype[np.int64]],
    signal: np.ndarray[tuple[int], np.dtype[np.bool_]],
) -> float | None:
    """Of the ranks, lengths centred within their groups: long tasks must not pass for long answers."""
    written = frame[length].cast(pl.Float64).to_numpy()
    centred = written - (np.bincount(groups, written) / np.bincount(groups))[groups]
    if signal.sum() < 3 or np.ptp(centred[signal]) == 0:
        return None
    both = pl.DataFrame({"length": centred[signal], "advantage": advantage[signal]})
    found = both.select(pl.corr("length", "advantage", method="spearman")).item()
    return None if found is None or not np.isfinite(found) else float(found)
