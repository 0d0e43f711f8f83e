"""Figures that both the rollouts and the trainer's metric log give, held against each other step by step."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import polars as pl

from trajlab.corpus.metric_repeats import ABSOLUTE, RELATIVE, Told
from trajlab.records import Problem

COMPARED = pl.Schema(
    {
        "run": pl.String, "name": pl.String, "step": pl.Int64, "logged": pl.Float64, "found": pl.Float64,
        "trajectories": pl.UInt32, "format": pl.String, "agrees": pl.Boolean, "source": pl.String, "line": pl.Int64,
    }
)  # fmt: skip
_KEY = ["run", "step"]
_OF = {
    "score": "reward",
    "turns": "turns",
    "tool_calls": "calls",
    "response_tokens": "completion_tokens",
}
"""Common name without its last part -> column of the trajectories."""
_VERL_TURNS = r"^(?:training/)?num_turns/"
"""verl counts the turns of the user, those of the assistant, and one: ``agent_loop/tool_agent_loop.py``."""
SAMPLED = ("openrlhf",)
"""Formats that hold one sample of each step's batch: no mean, no extreme of the batch follows from it."""
EVALUATION = "val.reward"
"""What TRL logs of an evaluation, beside the step's own ``score.mean``."""


def acted(tables: Iterable[pl.LazyFrame]) -> pl.DataFrame:
    """What :func:`compare` needs of each trajectory, from ``trajectories``, ``behaviour`` and ``tool_calls``."""
    trajectories, behaviour, calls = tables
    own = calls.filter(pl.col("requestor") == "agent").group_by("trajectory_id")
    # Of a call that may have run the trainer knows whether it did: such a trajectory's number is not known here.
    told = own.agg(
        answered=pl.col("step").filter(pl.col("executed")).n_unique(), unknown=pl.col("executed").has_nulls()
    )
    return (
        trajectories.select(
            "trajectory_id", "run", "format", "split", "reward", "completion_tokens", step="train_step"
        )
        .filter(pl.col("step").is_not_null())
        .join(behaviour.select("trajectory_id", steps="n_steps", calls="n_executed"), on="trajectory_id", how="left")
        .join(told, on="trajectory_id", how="left")
        .with_columns(pl.col("answered").fill_null(0), pl.col("unknown").fill_null(value=False))
        .with_columns(calls=pl.when(~pl.col("unknown")).then("calls"))
        .collect()
    )  # fmt: skip


def compare(trajectories: pl.DataFrame, metrics: pl.DataFrame) -> pl.DataFrame:
    """Logged and found figures of each run and step that has both; columns as in ``COMPARED``.

    Tool calls are those that were executed: trainers count what they ran.

    Args:
        trajectories: what :func:`acted` gives, without what is superseded or a copy.
        metrics: The table of metrics.
    """
    logged = metrics.filter(pl.col("counts") & pl.col("value").is_not_null())
    names = [f"{start}.{what}" for start in _OF for what in ("mean", "max", "min")]
    logged = logged.filter(pl.col("name").is_in(names)).select(*_KEY, "name", "raw_name", "value", "source", "line")
    whole = pl.col("step").is_not_null() & ~pl.col("format").is_in(SAMPLED)
    trained = trajectories.filter(whole & pl.col("split").fill_null("train").eq("train"))
    if logged.is_empty() or trained.is_empty():
        return pl.DataFrame(schema=COMPARED)
    found = pl.concat([_found(trained, start, column) for start, column in _columns().items()])
    verl = pl.col("raw_name").str.contains(_VERL_TURNS)
    logged = logged.with_columns(key=pl.when(verl).then("verl " + pl.col("name")).otherwise(pl.col("name")))
    both = logged.join(found, on=[*_KEY, "key"], how="inner")
    scale = pl.max_horizontal(pl.col("value").abs(), pl.col("found").abs())
    agrees = (pl.col("value") - pl.col("found")).abs() <= RELATIVE * scale + ABSOLUTE
    both = both.with_columns(agrees=agrees).rename({"value": "logged"})
    return both.select(COMPARED.names()).sort("run", "name", "step")


def _columns() -> dict[str, str]:
    return {**_OF, "verl turns": "verl_turns"}


def _found(trajectories: pl.DataFrame, start: str, column: str) -> pl.DataFrame:
    """Mean, highest and lowest of a column by step, where every trajectory of the step has it."""
    values = {
        "turns": pl.col("steps"), "verl_turns": pl.col("steps") + pl.col("answered") + 1,
    }.get(column, pl.col(column)).cast(pl.Float64)  # fmt: skip
    by_step = (
        trajectories.select(*_KEY, "format", value=values)
        .group_by(_KEY)
        .agg(
            pl.col("value").mean().alias("mean"), pl.col("value").max().alias("max"),
            pl.col("value").min().alias("min"),
            pl.col("value").null_count().alias("missing"), pl.len().alias("trajectories"),
            pl.col("format").first(),
        )
        .filter(pl.col("missing") == 0)
    )  # fmt: skip
    long = by_step.unpivot(
        ["mean", "max", "min"], index=[*_KEY, "trajectories", "format"], variable_name="what", value_name="found"
    )
    return long.select(*_KEY, (pl.lit(f"{start}.") + pl.col("what")).alias("key"), "found", "trajectories", "format")


def differences(compared: pl.DataFrame, metrics: pl.DataFrame) -> Iterator[Told]:
    """What is told of the figures that do not agree: one problem for each run and figure.

    TRL's evaluation writes over the training file of its step: of such steps that is told in place of a difference.
    """
    odd = compared.filter(~pl.col("agrees"))
    if odd.is_empty():
        return
    evaluated = metrics.filter(pl.col("counts") & (pl.col("name") == EVALUATION)).select(_KEY)
    over = odd.filter((pl.col("format") == "trl") & (pl.col("name") == "score.mean")).join(
        evaluated, on=_KEY, how="semi", maintain_order="left"
    )
    for group in over.partition_by("run", maintain_order=True):
        steps = ", ".join(map(str, group["step"].head(20).to_list())) + (" …" if group.height > 20 else "")
        message = (
            f"step {steps}: the rollouts do not give the score of the training; TRL's evaluation writes over their file"
        )
        yield group["run"][0], group["source"][0], Problem("eval_over_train", message)
    odd = odd.join(over.select(_KEY), on=_KEY, how="anti", maintain_order="left")
    totals = {(run, name): count for run, name, count in compared.group_by("run", "name").len().iter_rows()}
    for group in odd.partition_by("run", "name", maintain_order=True):
        worst = group.sort((pl.col("logged") - pl.col("found")).abs(), descending=True).row(0, named=True)
        message = (
            f"{worst['name']}: {group.height:,} of {totals[worst['run'], worst['name']]:,} steps are not what the "
            f"rollouts give; at step {worst['step']:,} {worst['logged']:.6g} is logged, {worst['trajectories']:,} "
            f"rollouts give {worst['found']:.6g} (tolerance {RELATIVE:g} of it + {ABSOLUTE:g})"
        )
        yield worst["run"], worst["source"], Problem("not_reconciled", message, worst["line"])
