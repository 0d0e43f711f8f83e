"""How much of each source was understood: bytes, records, turns, calls, and fields by name.

Bytes and records are told when a unit is read (:mod:`.lost`), turns and calls by the tables, fields by a sample
(:mod:`.field_sample`).
"""

from __future__ import annotations

import msgspec
import polars as pl

from trajlab.corpus.field_sample import SampledFields
from trajlab.schema import COVERAGE

NAMES = 200
"""Field names that a row of ``coverage`` tells, of each kind; an ellipsis stands for the others."""
MORE = "…"


class Source(msgspec.Struct):
    """One source as the units have it: a file, or the files of one conversation."""

    root: str
    source: str
    run: str
    format: str | None
    bytes: int
    lost: int
    lost_bytes: int


def coverage_table(
    sources: list[Source],
    trajectories: pl.LazyFrame,
    calls: pl.LazyFrame,
    commands: pl.LazyFrame,
    fields: list[SampledFields],
) -> pl.DataFrame:
    """The table ``coverage``: one row for each source that a reader claims or that cannot be read.

    Args:
        sources: The sources; slices of one file are added up.
        trajectories: ``trajectory_id``, ``root``, ``source``, ``n_steps``, ``logged_steps``, ``termination``.
        calls: The table ``tool_calls``.
        commands: The table ``commands``.
        fields: What a sample of the sources tells of their fields.
    """
    schema = {"root": pl.String, "source": pl.String, "run": pl.String, "format": pl.String, "bytes": pl.Int64,
              "lost": pl.Int64, "lost_bytes": pl.Int64}  # fmt: skip
    place = ["root", "source"]
    rows = pl.DataFrame([msgspec.structs.astuple(one) for one in sources], schema=schema, orient="row")
    told = rows.group_by(place, maintain_order=True).agg(
        pl.col("run", "format").first(), pl.col("bytes", "lost", "lost_bytes").sum()
    )
    counted = _counted(trajectories, calls, commands)
    sampled = pl.DataFrame(
        [(f.root, f.source, f.records, f.read + len(f.ignored) + len(f.unknown), f.read + len(f.ignored),
          _names(f.ignored), _names(f.unknown)) for f in fields],
        schema={"root": pl.String, "source": pl.String, "field_records": pl.Int64, "fields": pl.Int64,
                "fields_understood": pl.Int64, "fields_ignored": pl.String, "fields_unknown": pl.String},
        orient="row",
    )  # fmt: skip
    joined = told.join(counted, on=place, how="left", maintain_order="left")
    joined = joined.join(sampled, on=place, how="left", maintain_order="left")
    numbers = ("trajectories", "turns", "turns_understood", "calls", "calls_understood")
    return (
        joined.with_columns(pl.col(name).fill_null(0) for name in numbers)
        .with_columns(
            bytes_understood=pl.col("bytes") - pl.col("lost_bytes"),
            records=pl.col("trajectories") + pl.col("lost"),
            records_understood=pl.col("trajectories"),
        )
        .select(COVERAGE.names)
    )


def _counted(trajectories: pl.LazyFrame, calls: pl.LazyFrame, commands: pl.LazyFrame) -> pl.DataFrame:
    """Turns and calls of each source, and how many of them were understood."""
    # Commands whose program could not be made out: their call is only partly understood.
    obscure = commands.filter(pl.col("program").is_null()).select("trajectory_id", "call").unique()
    per_trajectory = (
        calls.select("trajectory_id", "call", named=pl.col("tool").is_not_null() | pl.col("invalid").is_not_null())
        .join(obscure.with_columns(obscure=pl.lit(value=True)), on=["trajectory_id", "call"], how="left")
        .group_by("trajectory_id")
        .agg(
            calls=pl.len().cast(pl.Int64),
            calls_understood=(pl.col("named") & pl.col("obscure").is_null()).sum().cast(pl.Int64),
        )
    )
    # The call that a failing provider did not answer left no turn to read.
    unanswered = (pl.col("termination") == "infrastructure_error").fill_null(value=False).cast(pl.Int64)
    missing = (pl.col("logged_steps") - pl.col("n_steps") - unanswered).fill_null(0).clip(lower_bound=0)
    return (
        trajectories.join(per_trajectory, on="trajectory_id", how="left")
        .group_by("root", "source")
        .agg(
            trajectories=pl.len().cast(pl.Int64),
            turns=(pl.col("n_steps") + missing).sum(),
            turns_understood=pl.col("n_steps").sum(),
            calls=pl.col("calls").sum(),
            calls_understood=pl.col("calls_understood").sum(),
        )
        .collect()
    )


def _names(names: tuple[str, ...]) -> str:
    return ", ".join([*names[:NAMES], *([MORE] if len(names) > NAMES else [])])
