"""Calibration of the critic: values V against returns G of the tokens trained on, in groups of them.

The explained variance does not see an offset, and an offset of one kind of trajectory is what the policy is paid or
punished for. A group's bias is the mean of V − G over its tokens; its interval comes from drawing tasks.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from trajlab.corpus.corpus import Corpus
from trajlab.measures.compute import Measured
from trajlab.measures.groups import TOO_EASY, TOO_HARD
from trajlab.measures.token_sums import by_unit, of_sums, over

CALIBRATION = {
    "critic.value_mean": "mean value V",
    "critic.return_mean": "mean return G",
    "critic.bias": "bias, mean of V − G",
}
QUARTERS = {1: "first quarter", 2: "second quarter", 3: "third quarter", 4: "last quarter, nearest the end"}
DIMENSIONS = ("horizon", "difficulty", "termination", "reward", "policy version")
"""What the groups are cut by; a group's name is ``dimension: group``."""
_FEW = 5
"""So many distinct values stand for themselves; more are cut into quarters of the trajectories."""
_SUMS = ["value_tokens", "value_sum", "return_sum"]


def calibration(corpus: Corpus, frame: pl.DataFrame, seed: int) -> Iterator[Measured]:
    """Mean V, mean G and bias, over all tokens (group null) and in the groups of each dimension.

    Args:
        corpus: Where quarters of the trajectories are.
        frame: Training trajectories with their ``token_moments`` and ``unit``.
        seed: Seed of the bootstrap.
    """
    solved = pl.when(pl.col("group_id").is_not_null()).then(pl.col("correct").mean().over("run", "group_id"))
    known = frame.with_columns(pass_rate=solved).filter(pl.col("value_tokens") > 0)
    if known.is_empty():
        return
    yield from _of(known, None, frame.height - known.height, seed)
    quarters = (
        corpus.token_values.collect()
        .join(known.select("trajectory_id", "unit"), on="trajectory_id")
        .rename({"tokens": "value_tokens"})
    )
    for number, title in QUARTERS.items():
        yield from _of(quarters.filter(pl.col("quarter") == number), f"horizon: {title}", 0, seed)
    for dimension, groups in _dimensions(known):
        placed = sum(known.filter(inside).height for inside in groups.values())
        for name, inside in groups.items():
            yield from _of(known.filter(inside), f"{dimension}: {name}", known.height - placed, seed)


def _of(rows: pl.DataFrame, group: str | None, missing: int, seed: int) -> Iterator[Measured]:
    if rows.is_empty():
        return
    sums = by_unit(rows, _SUMS)
    total = float(sums[:, 0].sum())
    statistics = {
        "critic.value_mean": lambda s: over(s[..., 1], s[..., 0]),
        "critic.return_mean": lambda s: over(s[..., 2], s[..., 0]),
        "critic.bias": lambda s: over(s[..., 1] - s[..., 2], s[..., 0]),
    }
    for name, statistic in statistics.items():
        yield Measured(name, group, of_sums(sums, statistic, total, missing, seed))


def _dimensions(known: pl.DataFrame) -> Iterator[tuple[str, dict[str, pl.Expr]]]:
    """Groups of trajectories by dimension; what is not recorded is in none of them."""
    rate = pl.col("pass_rate")
    yield (
        "difficulty",
        {
            f"too hard, at most {TOO_HARD:.0%} solved": rate <= TOO_HARD,
            "mixed": (rate > TOO_HARD) & (rate < TOO_EASY),
            f"too easy, at least {TOO_EASY:.0%} solved": rate >= TOO_EASY,
        },
    )
    ends = known["termination"].drop_nulls().unique().sort().to_list()
    yield "termination", {end: pl.col("termination") == end for end in ends}
    yield "reward", _buckets(known, pl.col("reward"))
    yield "policy version", _buckets(known, pl.col("version"))


def _buckets(known: pl.DataFrame, value: pl.Expr) -> dict[str, pl.Expr]:
    """Each value where there are few, else quarters of the trajectories; equal values stay together."""
    seen = known.select(value.alias("value")).to_series().drop_nulls().sort()
    distinct = seen.unique().sort().to_list()
    if len(distinct) <= _FEW:
        return {f"{one:g}": value == one for one in distinct}
    edges = sorted({float(seen[len(seen) * n // 4]) for n in range(4)})
    found = {}
    for low, high in zip(edges, [*edges[1:], None], strict=True):
        inside = (value >= low) & (value < high) if high is not None else value >= low
        last = (seen.filter(seen < high) if high is not None else seen)[-1]  # in rising order
        found[f"{low:g} to {last:g}"] = inside
    return found
