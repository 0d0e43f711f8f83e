"""Writing Parquet so that a full disk is an error, and never taken for an unreadable log."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from trajlab.errors import not_written


def write_frame(frame: pl.DataFrame, path: Path, *, level: int | None = None) -> None:
    """Write a frame as zstd-compressed Parquet without statistics.

    The bytes are made in memory and written by Python: where the disk is full, polars 1.x raises ``ComputeError``
    with or without the system's reason, or leaves a file cut short without a word.

    Args:
        frame: The frame.
        path: The file, replaced where it exists.
        level: Compression level; ``None``: as polars chooses.

    Raises:
        InfrastructureError: The system refused the write.
    """
    content = io.BytesIO()
    frame.write_parquet(content, compression="zstd", compression_level=level, statistics=False)
    try:
        path.write_bytes(content.getbuffer())
    except OSError as error:
        raise not_written(path.parent, error) from error
