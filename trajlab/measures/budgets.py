"""What each run spent, beside every comparison: episodes, tokens, seconds, cost."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import polars as pl

from trajlab.corpus.corpus import Corpus
from trajlab.measures.frame import logged_series

SPENT = ("prompt_tokens", "completion_tokens", "seconds", "cost")
TOLERANCE = 0.05
"""Budgets further apart than this share of the larger one differ."""


class Budget(msgspec.Struct):
    """What one run spent, as far as its logs record it."""

    run: str
    episodes: int
    training_steps: int | None
    tasks: int
    sums: dict[str, float | None]
    """Sum by column of `SPENT`; ``None`` where no trajectory records it."""
    recorded: dict[str, int]
    """Trajectories that record it."""
    from_metrics: dict[str, float] = {}
    """Budgets that the trainer's metric log tells for every training step."""

    def amount(self, kind: str) -> float | None:
        """One budget by name; a sum that not every trajectory records is no total, so ``None``."""
        if kind == "episodes":
            return float(self.episodes)
        if kind == "training_steps":
            return None if self.training_steps is None else float(self.training_steps)
        if kind in self.sums and self.recorded[kind] == self.episodes:
            return self.sums[kind]
        return self.from_metrics.get(kind)


KINDS = ("episodes", "training_steps", *SPENT, "training_seconds")


def budget(run: str, frame: pl.DataFrame, from_metrics: dict[str, float] | None = None) -> Budget:
    """The budget of the trajectories of one run.

    Args:
        run: Its name.
        frame: Its trajectories.
        from_metrics: What `spent_by_metrics` tells.
    """
    steps = frame["train_step"].drop_nulls().n_unique()
    recorded = {name: frame[name].count() for name in SPENT}
    return Budget(
        run=run,
        episodes=frame.height,
        training_steps=steps or None,
        tasks=frame["task_id"].drop_nulls().n_unique(),
        sums={name: float(frame[name].sum()) if recorded[name] else None for name in SPENT},
        recorded=recorded,
        from_metrics=from_metrics or {},
    )


def spent_by_metrics(corpus: Corpus, run: str, frame: pl.DataFrame) -> dict[str, float]:
    """Generated tokens and seconds of training, each where the metric log has it for every step of the trajectories.

    Tokens are the logged mean length of a response times the trajectories of its step.
    """
    steps = frame.filter(pl.col("train_step").is_not_null()).group_by(pl.col("train_step").alias("step")).len()
    found = {}
    for kind, name, factor in (
        ("completion_tokens", "response_tokens.mean", pl.col("len")),
        ("training_seconds", "step.seconds", pl.lit(1)),
    ):
        logged = logged_series(corpus, name).filter(pl.col("run") == run)
        both = steps.join(logged, on="step", how="inner")
        if both.height and both.height == steps.height and steps["len"].sum() == frame.height:
            found[kind] = float(both.select((pl.col("value") * factor).sum()).item())
    return found


def differing(budgets: Sequence[Budget]) -> list[str]:
    """Budgets that all runs record and in which they differ by more than `TOLERANCE`."""
    found = []
    for kind in KINDS:
        known = [amount for item in budgets if (amount := item.amount(kind)) is not None]
        if len(known) == len(budgets) and max(known) > 0 and min(known) < (1 - TOLERANCE) * max(known):
            found.append(kind)
    return found


def unknown(budgets: Sequence[Budget]) -> list[str]:
    """Budgets that some run does not record for all its trajectories."""
    return [kind for kind in KINDS if any(item.amount(kind) is None for item in budgets)]
