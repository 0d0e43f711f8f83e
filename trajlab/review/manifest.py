"""A sample as a file: who is in it, with which probability, drawn from what and how. The same call writes the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import polars as pl
import xxhash

from trajlab.errors import UsageError, read_named, writing

SCHEMA = "trajlab-sample-1"
_EXPECTED = "the manifest of a sample"
_NEXT = "trajlab sample writes one"


class Stratum(msgspec.Struct, frozen=True):
    """One part of the frame."""

    name: str
    size: int
    """Members in the frame."""
    drawn: int


class Item(msgspec.Struct, frozen=True):
    """One trajectory to read."""

    trajectory_id: str
    run: str
    task_id: str | None
    stratum: str
    probability: float
    """Of being in the sample, before it was drawn."""
    pair: int | None = None
    """Number of the pair it belongs to; null: the design draws no pairs."""


class Sample(msgspec.Struct, frozen=True):
    """Trajectories drawn from a frame, in the order to be read."""

    schema: str
    id: str
    """Digest of everything below: labels are kept under it."""
    design: str
    """In words."""
    by: list[str]
    allocation: str
    """``proportional``, ``equal``, ``neyman``, ``first`` or ``pairs``."""
    seed: int
    frame: int
    """Trajectories that could have been drawn."""
    population: dict[str, Any]
    """Which trajectories those were: the parameters of a population that are not at their default."""
    corpus: str
    """Fingerprint of what the corpus was assembled from."""
    strata: list[Stratum]
    items: list[Item]

    @property
    def ids(self) -> list[str]:
        """Ids of the trajectories in reading order."""
        return [item.trajectory_id for item in self.items]

    def to_polars(self) -> pl.DataFrame:
        """A row for each item: trajectory_id, run, task_id, stratum, probability, pair."""
        rows = [msgspec.structs.astuple(item) for item in self.items]
        schema = {
            "trajectory_id": pl.String, "run": pl.String, "task_id": pl.String, "stratum": pl.String,
            "probability": pl.Float64, "pair": pl.Int64,
        }  # fmt: skip
        return pl.DataFrame(rows, schema=schema, orient="row")

    def to_json(self) -> bytes:
        """The file: readable JSON, the same bytes for the same sample."""
        return msgspec.json.format(msgspec.json.encode(self), indent=1) + b"\n"

    def write(self, path: str | Path) -> Path:
        """Write the manifest; a folder that is missing is made."""
        with writing(Path(path)) as target:
            target.write_bytes(self.to_json())
        return target

    def __str__(self) -> str:
        lines = [f"{len(self.items):,} of {self.frame:,} trajectories: {self.design} (seed {self.seed})"]
        lines += [f"  {one.drawn:>5,} of {one.size:>7,}  {one.name}" for one in self.strata]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from html import escape

        rows = "".join(
            f"<tr><td>{escape(one.name)}</td><td>{one.drawn:,}</td><td>{one.size:,}</td></tr>" for one in self.strata
        )
        head = escape(f"{len(self.items):,} of {self.frame:,} trajectories: {self.design} (seed {self.seed})")
        return (
            f"<table><caption>{head}</caption><thead><tr><th>stratum</th><th>drawn</th><th>in the frame</th></tr>"
            f"</thead><tbody>{rows}</tbody></table>"
        )


def with_id(sample: Sample) -> Sample:
    """The sample under the digest of its content."""
    blank = msgspec.structs.replace(sample, id="")
    return msgspec.structs.replace(sample, id=xxhash.xxh3_64_hexdigest(msgspec.json.encode(blank)))


def read_sample(path: str | Path) -> Sample:
    """Read a manifest.

    Raises:
        UsageError: The file is missing, or is none.
    """
    try:
        found = msgspec.json.decode(read_named(Path(path)), type=Sample)
    except OSError as error:
        raise UsageError(str(path), error.strerror or str(error), _EXPECTED, _NEXT) from error
    except msgspec.DecodeError as error:
        raise UsageError(str(path), f"not one ({error})", _EXPECTED, _NEXT) from error
    if found.schema != SCHEMA:
        raise UsageError(str(path), f"a manifest of schema {found.schema!r}", SCHEMA)
    return found
