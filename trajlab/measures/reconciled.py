"""The trainer's own figures held against those of the rollouts: how many steps agree, by figure."""

from __future__ import annotations

import polars as pl

from trajlab.corpus.corpus import Corpus
from trajlab.corpus.reconcile import acted, compare


def reconciled(corpus: Corpus, run: str | None = None) -> pl.DataFrame:
    """One row for each run and figure that both logs give.

    Args:
        corpus: Where rollouts and metrics are.
        run: Only this run; ``None``: all of them.

    Returns:
        ``run``, ``name`` (common name), ``steps`` that have both, how many ``agree``, and of the step with the largest
        difference its number (``step``), what is ``logged``, and what the rollouts give (``found``). No row: the figure
        is in one of the two only.
    """
    trajectories = acted(corpus.table(name) for name in ("trajectories", "behaviour", "tool_calls"))
    kept = corpus.current.select("trajectory_id").collect()
    metrics = corpus.metrics.collect()
    if run is not None:
        trajectories, metrics = (table.filter(pl.col("run") == run) for table in (trajectories, metrics))
    both = compare(trajectories.join(kept, on="trajectory_id", how="semi"), metrics)
    far = (pl.col("logged") - pl.col("found")).abs().arg_max()
    return both.group_by("run", "name", maintain_order=True).agg(
        pl.len().alias("steps"), pl.col("agrees").sum().alias("agree"), pl.col("step", "logged", "found").get(far)
    )
