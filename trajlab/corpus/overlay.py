"""The overlay of the trajectories: what only other files or other trajectories tell; copies and re-runs marked."""

from __future__ import annotations

import polars as pl

from trajlab.corpus.plan import Claim
from trajlab.schema import FACT_COLUMNS, OVERLAY

STEPS_IN_ONE_FILE = frozenset({"openrlhf"})
"""Formats whose files hold a run's steps up to a crash; the run that is resumed goes on in a second one."""
SAME_TASKS = 0.5
"""Share of a step's tasks that a dump must share with a later one to be replaced by it."""


def overlay_of(joined: pl.DataFrame, told: pl.DataFrame, claims: list[Claim]) -> pl.DataFrame:
    """The overlay: what the log says first, then what companions tell; re-runs and copies marked.

    Args:
        joined: The trajectories with their verdicts.
        told: Facts of companions by ``trajectory_id``.
        claims: What every file was found to be.

    Returns:
        The columns of the table ``overlay``, and ``root``, ``source`` and ``logged_steps``.
    """
    logged = {"split": "split", "epoch": "logged_epoch"}
    joined = _mark_superseded(joined, claims)
    joined = _mark_retried(joined)
    joined = _mark_earlier_episodes(_mark_told_twice(_mark_duplicates(joined)))
    facts = told.rename({name: f"told_{name}" for name in told.columns if name != "trajectory_id"})
    joined = joined.join(facts, on="trajectory_id", how="left", maintain_order="left")
    return joined.with_columns(
        pl.coalesce(*([logged[name]] if name in logged else []), f"told_{name}").alias(name) for name in FACT_COLUMNS
    ).select(*OVERLAY.names, "root", "source", "logged_steps")


def _mark_superseded(joined: pl.DataFrame, claims: list[Claim]) -> pl.DataFrame:
    """A step dumped again, under another folder of the same run or by the run resumed, replaces the earlier dump."""
    times = pl.DataFrame(
        [(item.file.root, item.file.relpath, item.file.mtime_ns) for item in claims],
        schema={"root": pl.String, "source": pl.String, "mtime": pl.Int64},
        orient="row",
    )
    stem = pl.col("source").str.extract(r"([^/]*?)\.[^/]*$", 1)
    key = ["run", "format", "variant", "split", "train_step"]
    dumps = (
        joined.filter((stem == pl.col("train_step").cast(pl.String)) | pl.col("format").is_in(STEPS_IN_ONE_FILE))
        .select(*key, "root", "source")
        .unique()
        .join(times, on=["root", "source"], how="left")
        .sort("mtime", "root", "source")
    )
    latest = dumps.group_by(key, maintain_order=True).agg(pl.len().alias("dumps"), pl.col("source", "root").last())
    if not (latest["dumps"] > 1).any():
        return joined.with_columns(superseded=pl.lit(value=False))
    rerun = latest.filter(pl.col("dumps") > 1).rename({"source": "last_source", "root": "last_root"}).drop("dumps")
    joined = joined.join(rerun, on=key, how="left", nulls_equal=True, maintain_order="left")
    again = (pl.col("last_source") != pl.col("source")) | (pl.col("last_root") != pl.col("root"))
    joined = joined.with_columns(again=again.fill_null(value=False))
    # A step run again has the tasks of the first time; dumps that only share a name for run and step do not.
    last = joined.join(rerun, left_on=[*key, "source", "root"], right_on=[*key, "last_source", "last_root"], how="semi")
    known = last.select(*key, "task_id", same_task=pl.lit(value=True)).unique()
    joined = joined.join(known, on=[*key, "task_id"], how="left", nulls_equal=True, maintain_order="left")
    same = pl.col("same_task").fill_null(value=False).mean().over(*key, "root", "source") >= SAME_TASKS
    return joined.with_columns(superseded=pl.col("again") & same)


def _mark_retried(joined: pl.DataFrame) -> pl.DataFrame:
    """A failed attempt of NeMo-Gym's sidecar is replaced by the attempt of the same number that came after it."""
    sidecar = (pl.col("format") == "nemo_gym") & (pl.col("variant") == "failures")
    if joined.filter(sidecar).is_empty():
        return joined
    key = ["root", "rollouts", "group_id", "attempt"]
    joined = joined.with_columns(rollouts=pl.col("source").str.replace(r"_failures(\.[^/]*)$", "$1"))
    done = joined.filter((pl.col("format") == "nemo_gym") & ~sidecar, pl.col("attempt").is_not_null())
    failures = joined.filter(sidecar, pl.col("attempt").is_not_null())
    last = failures.unique(key, keep="last", maintain_order=True).select("trajectory_id")
    replaced = pl.concat(
        [
            failures.join(done.select(key), on=key, how="semi").select("trajectory_id"),
            failures.join(last, on="trajectory_id", how="anti").select("trajectory_id"),
        ]
    ).unique()
    again = pl.col("trajectory_id").is_in(replaced["trajectory_id"].implode())
    return joined.with_columns(superseded=pl.col("superseded") | again)


def _mark_duplicates(joined: pl.DataFrame) -> pl.DataFrame:
    """The same record in a second file: equal content and identity, another source (equal samples are no copies)."""
    key = ["run", "format", "content_digest", "task_id", "native_id", "train_step"]
    place = pl.struct("root", "source")
    # Few rows share their content with another: only those are looked at, in a run of millions.
    alike = joined.filter(~pl.col("superseded"), pl.col("content_digest").is_duplicated())
    copies = alike.filter(place != place.first().over(key))["trajectory_id"]
    return joined.with_columns(duplicate=pl.col("trajectory_id").is_in(copies.implode()))


def _mark_told_twice(joined: pl.DataFrame) -> pl.DataFrame:
    """Logged calls of OpenHands' model tell once more what the evaluation's own file beside their folder tells."""
    openhands = pl.col("format").is_in(["openhands", "openhands_sdk"])
    calls = joined.filter(openhands & (pl.col("variant") == "completions"))
    if calls.is_empty():
        return joined
    base = pl.col("source").str.extract(r"^(?:(.*)/)?llm_completions/[^/]*/[^/]*$", 1).fill_null("")
    beside = joined.filter(openhands & (pl.col("variant") != "completions") & ~pl.col("superseded"))
    rollouts = beside.select("root", "task_id", base=pl.col("source").str.replace(r"/?[^/]*$", ""))
    again = calls.with_columns(base=base).join(rollouts, on=["root", "base", "task_id"], how="semi")
    told = pl.col("trajectory_id").is_in(again["trajectory_id"].implode())
    return joined.with_columns(duplicate=pl.col("duplicate") | told)


def _mark_earlier_episodes(joined: pl.DataFrame) -> pl.DataFrame:
    """Rows of Harbor's trace export hold a trial up to an episode each: where they were read apart, the last counts."""
    rows = joined.filter(
        pl.col("format") == "harbor_traces",
        pl.col("native_id").is_not_null() & pl.col("logged_steps").is_not_null(),
        ~pl.col("superseded") & ~pl.col("duplicate"),
    )
    if rows.is_empty():
        return joined
    last = rows.sort("logged_steps", descending=True, maintain_order=True).unique(
        ["run", "native_id"], keep="first", maintain_order=True
    )
    earlier = rows.join(last, on="trajectory_id", how="anti")["trajectory_id"]
    return joined.with_columns(duplicate=pl.col("duplicate") | pl.col("trajectory_id").is_in(earlier.implode()))
