"""What a column and a table are, as data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

Kind = Literal["str", "int", "float", "bool"]


class Column(msgspec.Struct, frozen=True):
    """One column of a table."""

    name: str
    kind: Kind
    doc: str
    null: str = "not recorded"
    """What a null means; empty where the column is never null."""
    unit: str = ""


class Table(msgspec.Struct, frozen=True):
    """One table: a name, what a row is, where it comes from, its columns in order."""

    name: str
    row: str
    origin: Literal["source", "text", "derived", "assembled", "view"]
    columns: tuple[Column, ...]

    @property
    def names(self) -> list[str]:
        """Column names in order."""
        return [column.name for column in self.columns]

    def polars(self) -> dict[str, type[pl.DataType]]:
        """Schema for polars."""
        import polars as pl

        kinds = {"str": pl.String, "int": pl.Int64, "float": pl.Float64, "bool": pl.Boolean}
        return {column.name: kinds[column.kind] for column in self.columns}

    def arrow(self) -> pa.Schema:
        """Schema for pyarrow."""
        import pyarrow as pa

        kinds = {"str": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
        return pa.schema([pa.field(column.name, kinds[column.kind]) for column in self.columns])


def column(name: str, kind: Kind, doc: str, null: str = "not recorded", unit: str = "") -> Column:
    """Return a column."""
    return Column(name, kind, doc, null, unit)


ID = column("trajectory_id", "str", "hash of run, format, path below the root and native id or ordinal", "")
