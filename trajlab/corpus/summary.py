"""What a corpus holds, and what its logs did not record."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import polars as pl

from trajlab.corpus.coverage import MORE
from trajlab.schema import TABLES, TRAJECTORIES

if TYPE_CHECKING:
    from trajlab.corpus.corpus import Corpus


class Summary(msgspec.Struct):
    """Counts of a corpus; printed, it reads as text."""

    runs: pl.DataFrame
    """One row per run and format: trajectories, those that a parent started, tasks, steps, calls, verdicts."""
    rows: dict[str, int]
    """Rows per table."""
    observed: pl.DataFrame
    """Per trajectory column: rows recorded, share recorded."""
    coverage: pl.DataFrame
    """Per run and format: shares understood of bytes, records, turns, calls and, in a sample, fields; unknown ones."""
    problems: pl.DataFrame
    """Problems by code."""
    files: pl.DataFrame
    """Files by role and format."""
    metrics: pl.DataFrame
    """One row per run with metrics: how many by a common name, how many by the trainer's alone, steps."""

    @property
    def not_observed(self) -> list[str]:
        """Columns that no trajectory records."""
        return self.observed.filter(pl.col("recorded") == 0)["column"].to_list()

    def __str__(self) -> str:
        with pl.Config(
            tbl_rows=50, tbl_cols=-1, tbl_width_chars=200, tbl_hide_dataframe_shape=True,
            tbl_hide_column_data_types=True, fmt_str_lengths=60,
        ):  # fmt: skip
            problems = "none" if self.problems.is_empty() else f"\n{self.problems}"
            said = [] if self.runs.is_empty() else [str(self.runs)]
            said += [] if self.metrics.is_empty() else [f"metrics:\n{self.metrics}"]
            said += [] if self.coverage.is_empty() else [f"understood, as shares:\n{self.coverage}"]
            said += [f"files:\n{self.files}", f"problems: {problems}"]
            if not self.runs.is_empty():
                said.append(f"not recorded by any log: {', '.join(self.not_observed) or 'none'}")
            return "\n".join(said)


def summarise(corpus: Corpus) -> Summary:
    """Count what a corpus holds."""
    trajectories = corpus.trajectories.collect()
    runs = (
        trajectories.group_by("run", "format", "variant")
        .agg(
            pl.len().alias("trajectories"),
            pl.col("parent_native_id").count().alias("of a parent"),
            pl.col("task_id").n_unique().alias("tasks"),
            pl.col("n_steps").sum().alias("steps"),
            pl.col("n_calls").sum().alias("calls"),
            pl.when(pl.col("correct").count() > 0).then(pl.col("correct").sum()).alias("correct"),
            pl.col("correct").is_null().sum().alias("without verdict"),
            (pl.col("superseded") | pl.col("duplicate")).sum().alias("set aside"),
        )
        .sort("run", "format", "variant")
    )
    problems = corpus.problems.group_by("code").agg(pl.len().alias("n")).sort("n", "code", descending=True).collect()
    files = (
        corpus.sources.group_by("role", "format")
        .agg(pl.len().alias("files"), pl.col("bytes").sum())
        .sort("role", "format")
        .collect()
    )
    columns = [c for c in trajectories.columns if c not in TRAJECTORIES.names[:6]]
    recorded = [trajectories[c].is_not_null().sum() for c in columns]
    observed = pl.DataFrame({"column": columns, "recorded": recorded}).with_columns(
        share=pl.col("recorded") / max(trajectories.height, 1)
    )
    rows = {name: corpus.table(name).select(pl.len()).collect().item() for name in TABLES}
    return Summary(runs, rows, observed, _coverage(corpus), problems, files, _metrics(corpus))


def _coverage(corpus: Corpus) -> pl.DataFrame:
    """Shares of sums; null where there was nothing."""
    kinds = ("bytes", "records", "turns", "calls", "fields")
    seen = [pl.col(name).sum().alias(f"{name}_seen") for name in kinds]
    understood = [pl.col(f"{name}_understood").sum() for name in kinds]
    unknown = pl.col("fields_unknown").str.split(", ").explode().drop_nulls().unique().sort()
    return (
        corpus.coverage.group_by("run", "format")
        .agg(
            pl.len().alias("sources"),
            *seen,
            *understood,
            pl.col("fields").count().alias("sources with fields"),
            unknown.filter(~unknown.is_in(["", MORE])).str.join(", ").alias("unknown fields"),
        )
        .with_columns(
            pl.when(pl.col(f"{name}_seen") > 0).then(pl.col(f"{name}_understood") / pl.col(f"{name}_seen")).alias(name)
            for name in kinds
        )
        .select("run", "format", "sources", *kinds, "sources with fields", "unknown fields")
        .sort("run", "format", nulls_last=True)
        .collect()
    )


def _metrics(corpus: Corpus) -> pl.DataFrame:
    return (
        corpus.metrics.group_by("run")
        .agg(
            pl.col("source").n_unique().alias("logs"),
            pl.col("name").drop_nulls().n_unique().alias("metrics by common name"),
            pl.col("raw_name").filter(pl.col("name").is_null()).n_unique().alias("by the trainer's name only"),
            pl.col("step").min().alias("first step"),
            pl.col("step").max().alias("last step"),
        )
        .sort("run")
        .collect()
    )
