"""Rows about files, for one run: a log may name its run otherwise than the folder it lies in."""

from __future__ import annotations

import polars as pl

from trajlab.corpus.corpus import Corpus


def rows_of_run(corpus: Corpus, rows: pl.LazyFrame, run: str) -> pl.DataFrame:
    """Those rows of ``sources``, ``coverage`` or ``problems`` that speak of a run.

    A file speaks of the runs that its trajectories name. A file without trajectories speaks of the run it was planned
    for or, where no trajectory names that, of every run that files planned for it hold. Rows without a run speak of
    all runs.

    Args:
        corpus: What the rows are of.
        rows: With ``source`` and ``run``: as planned, or null.
        run: Name of the run.
    """
    told = corpus.table("trajectories").select("root", "source", named="run").unique()
    planned = corpus.sources.select("root", "source", "run").unique()
    files = planned.join(told, on=["root", "source"]).select("run", "source", "named").collect()
    own = files.filter(pl.col("named") == run)
    unnamed = own.filter(~pl.col("run").is_in(files["named"].unique().implode()))["run"].unique()
    marks = [
        files.select("run", "source").unique().with_columns(holds=pl.lit(value=True)),
        own.select("run", "source").unique().with_columns(is_own=pl.lit(value=True)),
    ]
    marked = rows.collect()
    for mark in marks:
        marked = marked.join(mark, on=["run", "source"], how="left", maintain_order="left")
    elsewhere = (pl.col("run") == run) | pl.col("run").is_in(unnamed.implode())
    speaks = pl.col("run").is_null() | pl.col("is_own") | (pl.col("holds").is_null() & elsewhere)
    return marked.filter(speaks).drop("holds", "is_own")
