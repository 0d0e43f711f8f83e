"""Metrics given several times: by a restarted run, by several logs of one run. Which row counts, and what is told."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from trajlab.records import Problem

Told = tuple[str, str, Problem]
"""Run, source, problem."""

MOST_RESTARTS = 10
"""Restarts of one log that are told one by one."""
RELATIVE, ABSOLUTE = 1e-3, 5.1e-4
"""Two logs of one run agree up to here: consoles print three decimals, or four digits."""
_NEVER = (1 << 63) - 1
_LINE = ["run", "format", "line"]
_LOG = ["run", "format", "raw_name"]
"""Logs of one kind are one log in the order of their names: a resumed run begins a new file."""


def mark_counting(rows: pl.DataFrame) -> tuple[pl.DataFrame, list[Told]]:
    """The rows with ``counts``: whether this is the value for its run, step and name.

    Where a step goes back to one logged before, what was logged from that step on is of an earlier attempt and does
    not count. Of a step logged twice the later row counts, of several kinds of logs the most exact.

    Args:
        rows: ``run``, ``source``, ``line``, ``step``, ``raw_name``, ``name``, ``value``, ``logged_as``, the rank of its
            ``format`` and the ``place`` of its log among all logs; in the order of the logs.
    """
    marked = _with_attempts(rows.with_row_index("row"))
    last = marked.filter(~pl.col("abandoned")).group_by(*_LOG, "step").agg(pl.col("row").max()).select("row")
    kept = marked.join(last, on="row", how="semi", maintain_order="left")
    what = pl.coalesce("name", "raw_name")
    kept = kept.with_columns(what=what).sort("format", "row")
    best = kept.unique(["run", "step", "what"], keep="first", maintain_order=True)
    marked = marked.with_columns(counts=pl.col("row").is_in(best["row"].implode()))
    told = [*_restarts(marked), *_out_of_order(marked), *_disagreements(kept, best)]
    return marked, told


def _with_attempts(rows: pl.DataFrame) -> pl.DataFrame:
    before = pl.col("step").shift(1).over(_LOG)
    again = pl.col("row") > pl.col("row").min().over([*_LOG, "step"])
    rows = rows.with_columns(before=before, again=again)
    rows = rows.with_columns(
        back=(pl.col("step") < pl.col("before")).fill_null(value=False),
        earlier=pl.col("value").shift(1).over([*_LOG, "step"]),
    ).with_columns(begins=pl.col("back") & pl.col("again"))
    start = pl.when("begins").then("step").otherwise(_NEVER)
    after = start.shift(-1).fill_null(_NEVER).cum_min(reverse=True).over(_LOG)
    rows = rows.join(_begun_anew(rows), on=[*_LINE, "place"], how="left", nulls_equal=True, maintain_order="left")
    return rows.with_columns(abandoned=pl.min_horizontal(after, "anew") <= pl.col("step"))


def _begun_anew(rows: pl.DataFrame) -> pl.DataFrame:
    """For each line the lowest step from which the whole log is begun anew below it.

    That is so where the metric that is logged most often goes back. One that is logged alone, as the evaluation of an
    old checkpoint is, takes nothing but itself back.
    """
    clocks = rows.join(_clock(rows), on=_LOG, how="semi", nulls_equal=True, maintain_order="left")
    begins = clocks.filter("begins")
    lines = rows.select(*_LINE, "place").unique(maintain_order=True)
    starts = begins.group_by(*_LINE, "place").agg(pl.col("step").min().alias("start"))
    lines = lines.join(starts, on=[*_LINE, "place"], how="left", nulls_equal=True, maintain_order="left")
    below = pl.col("start").fill_null(_NEVER).shift(-1).fill_null(_NEVER).cum_min(reverse=True).over("run", "format")
    return lines.with_columns(anew=below).drop("start")


def _clock(rows: pl.DataFrame) -> pl.DataFrame:
    """The metric that each log has most often."""
    often = rows.group_by(_LOG, maintain_order=True).len().sort("len", descending=True, maintain_order=True)
    return often.unique(["run", "format"], keep="first", maintain_order=True)


def _restarts(marked: pl.DataFrame) -> Iterator[Told]:
    """Places where the step goes back to one logged before; a copy of what was logged, as in checkpoints, is none."""
    keys = ["run", "format", "place", "source"]
    changed = pl.col("again") & ~pl.col("value").eq_missing(pl.col("earlier"))
    differing = marked.filter(changed).select(keys).unique()
    points = (
        marked.join(_clock(marked), on=_LOG, how="semi", nulls_equal=True, maintain_order="left")
        .filter("begins")
        .join(differing, on=keys, how="semi", nulls_equal=True, maintain_order="left")
    )
    for group in points.partition_by(keys, maintain_order=True):
        for row in group.head(MOST_RESTARTS).iter_rows(named=True):
            message = (
                f"the step goes back from {row['before']:,} to {row['step']:,}: resumed, restarted, or another run in "
                f"one place; what was logged before from step {row['step']:,} on does not count"
            )
            yield row["run"], row["source"], Problem("metrics_restarted", message, row["line"])
        if group.height > MOST_RESTARTS:
            first = group.row(0, named=True)
            message = f"and {group.height - MOST_RESTARTS:,} further times"
            yield first["run"], first["source"], Problem("metrics_restarted", message)
    twice = marked.filter(changed & (pl.col("step") == pl.col("before")))
    counted = twice.group_by(*keys, maintain_order=True).agg(pl.col("step").n_unique(), pl.col("line").first())
    for row in counted.iter_rows(named=True):
        message = f"{row['step']:,} step{'s' * (row['step'] != 1)} logged twice in a row; the later counts"
        yield row["run"], row["source"], Problem("metrics_repeated", message, row["line"])


def _out_of_order(marked: pl.DataFrame) -> Iterator[Told]:
    odd = marked.filter(pl.col("back") & ~pl.col("again"))
    counted = odd.group_by("run", "source", maintain_order=True).agg(
        pl.col("line").n_unique().alias("n"), pl.col("line").min()
    )
    for row in counted.iter_rows(named=True):
        message = f"{row['n']:,} line{'s' * (row['n'] != 1)} out of the order of the steps; all of them count"
        yield row["run"], row["source"], Problem("metrics_out_of_order", message, row["line"])


def _disagreements(kept: pl.DataFrame, best: pl.DataFrame) -> Iterator[Told]:
    """Logs of one run that give other values than the one that counts."""
    named = kept.filter(pl.col("name").is_not_null() & pl.col("value").is_not_null())
    counting = best.select("run", "step", "name", counted="value", by="source", first="format")
    both = named.join(counting, on=["run", "step", "name"], how="inner").filter(pl.col("format") != pl.col("first"))
    scale = pl.max_horizontal(pl.col("value").abs(), pl.col("counted").abs())
    differs = (pl.col("value") - pl.col("counted")).abs() > RELATIVE * scale + ABSOLUTE
    pairs = (
        both.sort("place", "row")
        .group_by("run", "source", "by", maintain_order=True)
        .agg(
            pl.len().alias("of"), differs.sum().alias("n"),
            pl.col("name", "step", "value", "counted", "line").filter(differs).first(),
        )
        .filter(pl.col("n") > 0)
    )  # fmt: skip
    for row in pairs.iter_rows(named=True):
        message = (
            f"{row['n']:,} of {row['of']:,} values are not those of {row['by']}, which count: {row['name']} at "
            f"step {row['step']:,} is {row['value']:g}, there {row['counted']:g}; are these two runs?"
        )
        yield row["run"], row["source"], Problem("metrics_disagree", message, row["line"])
