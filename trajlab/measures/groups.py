"""Groups: attempts sampled together at one task by one policy; and pass@k, pass^k over tasks."""

from __future__ import annotations

import msgspec
import numpy as np
import polars as pl

from trajlab.measures.frame import Trajectories
from trajlab.stats import Estimate, pass_at_k, pass_hat_k, proportion

TOO_EASY = 0.85
TOO_HARD = 0.15


class Groups(msgspec.Struct):
    """Facts over groups of at least two attempts."""

    n: int
    singles: int
    """Groups of one attempt, which say nothing about contrast."""
    sizes: dict[int, int]
    shares: dict[str, Estimate]
    """Of groups with verdicts: all_correct, all_wrong, mixed, too_easy, too_hard; of scored ones: zero_reward_std."""


class PassRates(msgspec.Struct):
    """pass@k and pass^k by k; all attempts at a task together, whatever their period."""

    tasks: int
    attempts: dict[int, int]
    at_k: dict[int, Estimate]
    hat_k: dict[int, Estimate]


def group_facts(trajectories: Trajectories) -> Groups | None:
    """Group facts; ``None`` where no group is recorded."""
    known = trajectories.frame.filter(pl.col("group_id").is_not_null())
    if known.is_empty():
        return None
    groups = (
        known.group_by("run", "group_id", maintain_order=True)
        .agg(
            pl.len().alias("size"),
            pl.col("cluster").first(),
            pl.col("correct").count().alias("judged"),
            pl.col("correct").sum().alias("right"),
            pl.col("reward").count().alias("scored"),
            pl.col("reward").std(ddof=0).alias("std"),
            pl.col("correct").mean().alias("rate"),
        )
        .sort("run", "group_id")
    )
    sizes = groups.group_by("size").len().sort("size")
    several = groups.filter(pl.col("size") > 1)
    judged = several.filter(pl.col("judged") == pl.col("size"))
    scored = several.filter(pl.col("scored") == pl.col("size"))
    flat = pl.col("std") < 1e-9
    shares = {
        "all_correct": _share(judged, pl.col("right") == pl.col("size"), several.height),
        "all_wrong": _share(judged, pl.col("right") == 0, several.height),
        "mixed": _share(judged, pl.col("right").is_between(1, pl.col("size") - 1), several.height),
        "zero_reward_std": _share(scored, flat, several.height),
        "too_easy": _share(judged, pl.col("rate") >= TOO_EASY, several.height),
        "too_hard": _share(judged, pl.col("rate") <= TOO_HARD, several.height),
    }
    size_counts = dict(zip(sizes["size"].to_list(), sizes["len"].to_list(), strict=True))
    return Groups(several.height, groups.height - several.height, size_counts, shares)


def _share(groups: pl.DataFrame, condition: pl.Expr, total: int) -> Estimate:
    flags = groups.select(condition.cast(pl.Float64)).to_series().to_numpy()
    unknown = np.full(total - groups.height, np.nan)
    clusters = np.concatenate([groups["cluster"].to_numpy(), -1 - np.arange(len(unknown))])
    return proportion(np.concatenate([flags, unknown]), clusters)


def pass_rates(trajectories: Trajectories) -> PassRates | None:
    """pass@k and pass^k for k = 1, 2, 4, 8 … and the most attempts; ``None`` where no task has two judged ones."""
    judged = trajectories.frame.filter(pl.col("correct").is_not_null() & pl.col("task_id").is_not_null())
    tasks = judged.group_by("task_id", maintain_order=True).agg(pl.len().alias("n"), pl.col("correct").sum().alias("c"))
    most = tasks["n"].max() if tasks.height else None
    if not isinstance(most, int) or most < 2:
        return None
    n, c = tasks["n"].to_numpy(), tasks["c"].to_numpy()
    ks = [k for k in (1, 2, 4, 8, 16, 32, 64, 128) if k <= most]
    if most not in ks:
        ks.append(most)
    sizes = tasks.group_by("n").len().sort("n")
    return PassRates(
        tasks.height,
        dict(zip(sizes["n"].to_list(), sizes["len"].to_list(), strict=True)),
        {k: pass_at_k(c, n, k) for k in ks},
        {k: pass_hat_k(c, n, k) for k in ks},
    )
