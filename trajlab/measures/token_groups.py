"""Tokens by prompt and by batch: the tail of the KL over prompts, and batches of negative advantages only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from trajlab.measures.compute import Measured
from trajlab.measures.frame import Trajectories
from trajlab.stats import Estimate, mean, not_observed, quantile

PRACTICAL = 0.95
"""A batch is negative in practice where so many of its tokens are (DEFINITIONS, Critic)."""
PROMPT_KL = {
    "prompt_kl.sampler": "KL of sampler and trainer by prompt",
    "prompt_kl.reference": "KL to the reference by prompt",
}
"""Of each prompt (a group) the mean over its tokens trained on of r − 1 − log r, which is never negative. ``sampler``:
r = π / μ, the KL of the sampling policy to the trained one; ``reference``: r = π_ref / π."""
TAIL = {"p95": (0.95, 20), "p99": (0.99, 100)}
"""Quantiles over the prompts, and how many prompts there must be to tell them from the largest."""
_WORST = 5
_WHITE = 0.05
"""Whitened advantages of a batch have mean 0 and deviation 1, within this."""


class Prompt(msgspec.Struct, frozen=True):
    """One group of attempts."""

    task_id: str | None
    step: int | None
    kl: float
    tokens: int
    attempts: int
    trajectory_id: str
    """One of its attempts."""


class Negatives(msgspec.Struct, frozen=True):
    """Advantages of the tokens, batch by batch, as logged."""

    steps: npt.NDArray[np.int64]
    share: npt.NDArray[np.float64]
    """Of the tokens with an advantage, those below zero."""
    largest: npt.NDArray[np.float64]
    tokens: npt.NDArray[np.int64]
    missing: int
    """Trajectories of training steps without advantages."""
    whitened: bool
    """Every batch has mean 0 and deviation 1: none can be all negative."""


def negatives(trajectories: Trajectories, moments: pl.DataFrame) -> Negatives | None:
    """Batches by the advantages of their tokens; ``None`` where none is logged.

    A trajectory whose log gives one advantage for the whole of it has that at every token trained on.

    Args:
        trajectories: A population; evaluation and validation are left out.
        moments: ``token_moments``.
    """
    frame = trajectories.frame.filter((pl.col("split") == "train") | pl.col("split").is_null())
    frame = frame.filter(pl.col("train_step").is_not_null()).select("trajectory_id", "train_step", "advantage")
    frame = frame.join(moments, on="trajectory_id")
    of_all, trained = pl.col("advantage"), pl.col("trained_tokens").cast(pl.Float64)
    told = frame.select(
        "train_step",
        n=pl.coalesce(pl.col("advantage_tokens").cast(pl.Float64), pl.when(of_all.is_not_null()).then(trained)),
        negative=pl.coalesce(
            pl.col("advantage_negative").cast(pl.Float64), pl.when(of_all < 0).then(trained).otherwise(0.0)
        ),
        total=pl.coalesce("advantage_sum", of_all * trained),
        squares=pl.coalesce("advantage_squares", of_all**2 * trained),
        largest=pl.coalesce("advantage_largest", "advantage"),
    )
    known = told.filter(pl.col("n") > 0)
    if known.is_empty():
        return None
    sums = pl.col("n", "negative", "total", "squares").sum()
    steps = known.group_by("train_step").agg(sums, pl.col("largest").max()).sort("train_step")
    steps = steps.with_columns(centre=pl.col("total") / pl.col("n"))
    spread = (pl.col("squares") / pl.col("n") - pl.col("centre") ** 2).sqrt()
    white = (pl.col("centre").abs() < _WHITE) & ((spread - 1).abs() < _WHITE)
    return Negatives(
        steps=steps["train_step"].to_numpy(),
        share=(steps["negative"] / steps["n"]).to_numpy(),
        largest=steps["largest"].to_numpy(),
        tokens=steps["n"].cast(pl.Int64).to_numpy(),
        missing=told.height - known.height,
        whitened=bool(steps.select(white.all()).item()),
    )


def prompts(frame: pl.DataFrame, kind: str) -> pl.DataFrame:
    """Prompts with their KL, the largest first.

    Args:
        frame: Training trajectories with their ``token_moments``.
        kind: A key of `PROMPT_KL`.

    Returns:
        Columns ``run``, ``train_step``, ``group``, ``task_id``, ``cluster``, ``kl``, ``tokens``, ``attempts``,
        ``trajectory_id``.
    """
    of_sampler = kind == "prompt_kl.sampler"
    n = pl.col("ratio_tokens" if of_sampler else "reference_tokens")
    total = pl.col("ratio_sum") - n - pl.col("log_ratio_sum") if of_sampler else pl.col("reference_kl")
    known = frame.filter((n > 0) & total.is_not_null()).with_columns(n.alias("n"), total.alias("total"))
    return (
        known.with_columns(group=pl.coalesce("group_id", "task_id", "trajectory_id"))
        .group_by("run", "train_step", "group")
        .agg(
            pl.col("task_id", "cluster").first(),
            kl=(pl.col("total").sum() / pl.col("n").sum()).clip(lower_bound=0),  # rounding may leave less than zero
            tokens=pl.col("n").sum(),
            attempts=pl.len(),
            trajectory_id=pl.col("trajectory_id").min(),
        )
        .sort("kl", "run", "train_step", "group", descending=[True, False, False, False])
    )


def prompt_kl(by_kind: Mapping[str, pl.DataFrame]) -> Iterator[Measured]:
    """Mean over the prompts, the tail beside it, and the largest; prompts count alike.

    Args:
        by_kind: `prompts` of each key of `PROMPT_KL`.
    """
    for kind, found in by_kind.items():
        if found.is_empty():
            continue
        kl, clusters = found["kl"].to_numpy(), found["cluster"].to_numpy()
        average = mean(kl, clusters)
        if average.low is not None:
            average = msgspec.structs.replace(average, low=max(average.low, 0.0))
        yield Measured(kind, "mean", average)
        for name, (q, fewest) in TAIL.items():
            yield Measured(kind, name, quantile(kl, q, clusters) if len(kl) >= fewest else not_observed(len(kl)))
        top = Estimate(float(kl[0]), None, None, None, float(len(kl)), "largest seen: no interval")
        yield Measured(kind, "largest", top)


def worst_prompts(found: pl.DataFrame) -> list[Prompt]:
    """The first of `prompts`, those with the largest KL, by name."""
    return [
        Prompt(row["task_id"], row["train_step"], row["kl"], row["tokens"], row["attempts"], row["trajectory_id"])
        for row in found.head(_WORST).iter_rows(named=True)
    ]
