"""What a frame can be divided by: columns of the trajectories, quadrants, periods, clusters, rules that are met."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

from trajlab.behavior.hack_rules import RULES
from trajlab.checks.alarms import alarms
from trajlab.corpus.corpus import Corpus
from trajlab.errors import UsageError
from trajlab.measures.clusters import cluster_patterns
from trajlab.measures.frame import Trajectories
from trajlab.measures.quadrants import (
    ANSWER_AND_TOOL,
    REWARD_AND_OUTCOME,
    component_sides,
    verdict_sides,
)
from trajlab.measures.step_signals import step_signals

NOT_RECORDED = "not recorded"
"""Stratum of the trajectories of which the thing is not known."""
MOST_STRATA = 200
"""More values than this make no strata: an id or a count was named."""

Names = pl.DataFrame
"""``trajectory_id`` and ``stratum``."""


def divide(corpus: Corpus, trajectories: Trajectories, by: Sequence[str], *, seed: int = 0) -> pl.DataFrame:
    """Say of every trajectory which stratum it is in.

    Args:
        corpus: Where rewards and hits are looked up.
        trajectories: The frame to divide.
        by: Names of ``STRATA``, ``rule:ID`` for a rule of the hack screen, or columns of ``corpus.trajectories``; of
            several the combinations are the strata. None: one stratum, ``all``.
        seed: Seed of the clusters.

    Returns:
        ``trajectory_id`` and ``stratum``, in the order of ids.

    Raises:
        UsageError: A name is unknown, or divides nothing.
    """
    frame = trajectories.frame.select("trajectory_id").sort("trajectory_id")
    parts = []
    for place, name in enumerate(by):
        told = _named(corpus, trajectories, name, seed).rename({"stratum": str(place)})
        frame = frame.join(told, on="trajectory_id", how="left", maintain_order="left")
        parts.append(pl.concat_str(pl.lit(f"{name}: "), pl.col(str(place)).fill_null(NOT_RECORDED)))
    joined = pl.concat_str(parts, separator=" · ") if parts else pl.lit("all")
    divided = frame.select("trajectory_id", stratum=joined)
    if divided["stratum"].n_unique() > MOST_STRATA:
        found = f"{divided['stratum'].n_unique():,} different values"
        raise UsageError("by", found, f"at most {MOST_STRATA} strata", "Name something with fewer values")
    return divided


def _named(corpus: Corpus, trajectories: Trajectories, name: str, seed: int) -> Names:
    if name in STRATA:
        return STRATA[name](corpus, trajectories, seed)
    if name.startswith("rule:"):
        return _rule(corpus, trajectories, name.removeprefix("rule:"))
    frame = trajectories.frame
    if name not in frame.columns:
        known = ", ".join([*STRATA, "rule:ID"])
        raise UsageError("by", f"nothing called {name!r}", f"{known}, or a column of the trajectories")
    value = pl.col(name)
    if frame.schema[name] == pl.Boolean:
        value = pl.when(value).then(pl.lit("yes")).when(~value).then(pl.lit("no"))
    return frame.select("trajectory_id", stratum=value.cast(pl.String))


def _quadrant(corpus: Corpus, trajectories: Trajectories, _: int) -> Names:
    """By reward components where the log has them, else correct by tool used."""
    sides = component_sides(corpus, trajectories) or verdict_sides(trajectories)
    return _cells(sides.frame, sides.first, sides.second, ANSWER_AND_TOOL)


def _reward_outcome(_: Corpus, trajectories: Trajectories, __: int) -> Names:
    threshold = trajectories.population.reward_threshold
    if threshold is None:
        found = "no threshold that a high reward is above"
        raise UsageError("reward_outcome", found, "reward_threshold", "Give it: --set reward_threshold=0.5")
    high = pl.col("reward") > threshold
    return _cells(trajectories.frame, high, pl.col("outcome"), REWARD_AND_OUTCOME)


def _cells(frame: pl.DataFrame, first: pl.Expr, second: pl.Expr, cells: tuple[str, ...]) -> Names:
    both, only_first, only_second, neither = (pl.lit(cell) for cell in cells)
    told = (
        pl.when(first & second).then(both).when(first & ~second).then(only_first)
        .when(~first & second).then(only_second).when(~first & ~second).then(neither)
    )  # fmt: skip
    return frame.select("trajectory_id", stratum=told)


def _cluster(_: Corpus, trajectories: Trajectories, seed: int) -> Names:
    found = cluster_patterns(trajectories, seed=seed)
    if found.why_not:
        raise UsageError("cluster", f"no clusters: {found.why_not}", "", "Divide by something else")
    rows = [(member, f"{number}. {one.name}") for number, one in enumerate(found.clusters, 1) for member in one.members]
    return pl.DataFrame(rows, schema=["trajectory_id", "stratum"], orient="row")


def _hit(_: Corpus, trajectories: Trajectories, __: int) -> Names:
    """The strongest tier of the hack screen that is met."""
    tier: pl.Expr = pl.when(pl.col("n_hack_1").is_not_null()).then(pl.lit("none"))
    for number in (3, 2, 1):
        tier = pl.when(pl.col(f"n_hack_{number}") > 0).then(pl.lit(f"tier {number}")).otherwise(tier)
    return trajectories.frame.select("trajectory_id", stratum=tier)


def _rule(corpus: Corpus, trajectories: Trajectories, rule: str) -> Names:
    known = [one.id for one in RULES]
    if rule not in known:
        raise UsageError("by", f"no rule {rule!r} of the hack screen", "one of " + ", ".join(known))
    met = corpus.hits.filter((pl.col("rule") == rule) & ~pl.col("timed_out")).select("trajectory_id").unique()
    ids = met.collect()["trajectory_id"].to_list()
    told = pl.when(pl.col("trajectory_id").is_in(ids)).then(pl.lit("met")).otherwise(pl.lit("not met"))
    return trajectories.frame.select("trajectory_id", stratum=pl.when(pl.col("n_hack_1").is_not_null()).then(told))


def _alarm(corpus: Corpus, trajectories: Trajectories, _: int) -> Names:
    """The alarm within whose stretch, from its onset to where it was told, the training step lies."""
    stratum = pl.when(pl.col("train_step").is_not_null()).then(pl.lit("no alarm"))
    told: pl.Expr = stratum
    runs = trajectories.frame["run"].unique().sort().to_list()
    for run in runs:
        for one in reversed(alarms(step_signals(corpus, run))):
            if one.status != "alarm" or one.first_step is None:
                continue
            start = one.first_step if one.onset_step is None else one.onset_step
            inside = (pl.col("run") == run) & pl.col("train_step").is_between(start, one.first_step)
            told = pl.when(inside).then(pl.lit(one.finding.code)).otherwise(told)
    return trajectories.frame.select("trajectory_id", stratum=told)


STRATA: dict[str, Callable[[Corpus, Trajectories, int], Names]] = {
    "quadrant": _quadrant,
    "reward_outcome": _reward_outcome,
    "cluster": _cluster,
    "hit": _hit,
    "alarm": _alarm,
}
"""Divisions that are no column: name -> who tells them. ``period`` and ``termination`` are columns."""
