"""Answers of several reviewers to one question, brought to one value an item."""

from __future__ import annotations

import msgspec
import numpy as np
import numpy.typing as npt
import polars as pl

from trajlab.review.labels import Labels, values_of
from trajlab.stats import Estimate, cohen_kappa, krippendorff_alpha


class Agreement(msgspec.Struct):
    """How far reviewers agree on one question."""

    question: str
    reviewers: list[str]
    both: int
    """Items, or steps, that at least two of them answered."""
    alpha: Estimate
    """Krippendorff's alpha over all of them."""
    kappas: dict[tuple[str, str], Estimate]
    """Cohen's kappa of each pair."""
    disagreed: list[str]
    """Items with different answers: what to talk about first."""
    disputes: pl.DataFrame
    """Each answer to what they disagree on: ``item``, ``step`` (null: the whole), ``reviewer``, ``value``, ``note``."""


def consensus(labels: Labels, question: str) -> pl.DataFrame:
    """One value for each item: what most of its reviewers said.

    Returns:
        ``item``, ``value`` (JSON text; null where the reviewers are tied), ``reviewers``, ``agreed``.
    """
    votes = values_of(labels, question).group_by("item", "value").agg(pl.len().alias("votes"))
    most = pl.col("votes").max().over("item")
    leading = votes.with_columns(
        reviewers=pl.col("votes").sum().over("item"), answers=pl.len().over("item"), leads=pl.col("votes") == most
    )
    return (
        leading.filter("leads")
        .group_by("item")
        .agg(
            value=pl.when(pl.len() == 1).then(pl.col("value").first()),
            reviewers=pl.col("reviewers").first(),
            agreed=pl.col("answers").first() == 1,
        )
        .sort("item")
    )


def agreement(labels: Labels, question: str, *, rng: np.random.Generator, step_level: bool = False) -> Agreement:
    """Agreement of all reviewers, and of each pair of them.

    Args:
        labels: Merged labels.
        question: Its id.
        rng: Randomness of the bootstrap intervals.
        step_level: Answers about steps; else those about whole trajectories. Steps of a trajectory are drawn together.
    """
    told = values_of(labels, question, step_level=step_level)
    wide = told.drop("note").pivot("reviewer", index=["item", "step"], values="value", sort_columns=True)
    table = wide.sort("item", "step")
    reviewers = table.columns[2:]
    ratings = table.select(reviewers).to_numpy()
    tasks: npt.NDArray[np.object_] | None = table["item"].to_numpy() if step_level else None
    pairs = [(a, b) for place, a in enumerate(reviewers) for b in reviewers[place + 1 :]]
    count = pl.sum_horizontal([pl.col(name).is_not_null() for name in reviewers] or [pl.lit(0)])
    different = pl.concat_list(reviewers).list.drop_nulls().list.n_unique() > 1 if reviewers else pl.lit(False)
    disputed = table.filter(different).select("item", "step")
    return Agreement(
        question=question,
        reviewers=reviewers,
        both=table.filter(count >= 2).height,
        alpha=krippendorff_alpha(ratings.reshape(table.height, len(reviewers)), rng=rng, clusters=tasks),
        kappas={
            (a, b): cohen_kappa(table[a].to_numpy(), table[b].to_numpy(), rng=rng, clusters=tasks) for a, b in pairs
        },
        disagreed=disputed["item"].unique(maintain_order=True).to_list(),
        disputes=disputed.join(told, on=["item", "step"], nulls_equal=True, maintain_order="left_right"),
    )
