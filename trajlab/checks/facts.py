"""What checks look at: measured estimates and the state of the reading, gathered once."""

from __future__ import annotations

import tomllib
from functools import lru_cache
from importlib.resources import files
from typing import Any

import msgspec
import polars as pl

from trajlab.corpus.corpus import Corpus
from trajlab.corpus.coverage import MORE
from trajlab.corpus.lost import LOST
from trajlab.corpus.of_run import rows_of_run
from trajlab.errors import UsageError
from trajlab.measures.changes import Changes
from trajlab.measures.compute import Measured
from trajlab.measures.continuity import Continuity
from trajlab.measures.frame import Trajectories
from trajlab.measures.groups import Groups
from trajlab.measures.hacks import HackCandidates
from trajlab.measures.policy import Policy
from trajlab.measures.quadrants import Quadrants
from trajlab.stats import Estimate

JUDGED = ("bytes", "records", "turns", "calls")
"""What the gate looks at; unknown fields are named, and judged by nobody but the reader."""


class Share(msgspec.Struct, frozen=True):
    """How much was there, and how much of it was understood."""

    seen: int
    understood: int

    @property
    def share(self) -> float | None:
        """``None`` where nothing was there."""
        return self.understood / self.seen if self.seen else None


class FieldNames(msgspec.Struct, frozen=True):
    """Fields that are not read, by name."""

    ignored: list[str]
    """Passed over on purpose."""
    unknown: list[str]
    """The reader does not know them."""


class Reading(msgspec.Struct):
    """How the reading went, for one run or all."""

    trajectories: int
    """Read, those set aside included."""
    lost: int
    """Problem rows that mean something was lost."""
    problems: dict[str, int]
    reconcilable: int
    """Totals that can be held against what was read: steps that logs state, and totals of companions."""
    reconciled: int
    unrecognised: int
    """Data files that no reader claims."""
    files: dict[str, int]
    """Files read, by format."""
    bytes: int
    understood: dict[str, Share] = {}
    """Of bytes, records, turns, calls and (in a sample) fields how many were there, and how many were understood."""
    fields: dict[str, FieldNames] = {}
    """By format, names of the fields in the sample that are not read."""
    sampled: int = 0
    """Sources whose fields were looked at."""

    @property
    def coverage(self) -> float | None:
        """The lowest share understood of bytes, records, turns and calls; ``None`` where nothing was seen."""
        shares = [self.understood[name].share for name in JUDGED if name in self.understood]
        known = [share for share in shares if share is not None]
        return min(known) if known else None


class Facts(msgspec.Struct):
    """All that the checks of an audit may look at."""

    trajectories: Trajectories
    measured: dict[str, Estimate]
    """Whole-population estimates by measure."""
    groups: Groups | None
    quadrants: list[Quadrants]
    reading: Reading
    thresholds: dict[str, dict[str, Any]]
    hacks: HackCandidates | None = None
    """``None`` where no call's labels could be known, or where the caller did not look."""
    changes: Changes | None = None
    """Over the periods of the run; ``None`` where one epoch is judged, or where the caller did not look."""

    policy: Policy | None = None
    """What the tokens tell; ``None`` where the caller did not look."""
    continuity: Continuity | None = None
    """From step to step; ``None`` where the caller did not look."""

    def line(self, name: str, kind: str) -> float | None:
        """A threshold; ``None`` where there is none of that kind."""
        value = self.thresholds[name].get(kind)
        return float(value) if value is not None else None


def whole(measured: list[Measured]) -> dict[str, Estimate]:
    """Whole-population estimates by name."""
    return {item.name: item.estimate for item in measured if item.group is None}


def read_state(corpus: Corpus, run: str | None) -> Reading:
    """State of the reading; problems before a run was known count for every run."""
    problems, sources, coverage = (
        rows.collect() if run is None else rows_of_run(corpus, rows, run)
        for rows in (corpus.problems, corpus.sources, corpus.coverage)
    )
    trajectories = corpus.trajectories.select("run", "logged_steps", "n_steps").collect()
    totals = corpus.totals.filter(pl.col("agrees").is_not_null()).collect()
    if run is not None:
        sources, coverage = (rows.filter(pl.col("run").is_not_null()) for rows in (sources, coverage))
        trajectories, totals = (rows.filter(pl.col("run") == run) for rows in (trajectories, totals))
    codes = problems.group_by("code").len().sort("code")
    counts = dict(zip(codes["code"].to_list(), codes["len"].to_list(), strict=True))
    stated = trajectories.filter(pl.col("logged_steps").is_not_null()).with_columns(pl.col("n_steps").fill_null(0))
    read = sources.filter(pl.col("role").is_in(["log", "companion", "metrics"]))
    formats = read.group_by("format").len().sort("format")
    return Reading(
        trajectories=trajectories.height,
        lost=sum(n for code, n in counts.items() if code in LOST),
        problems=counts,
        reconcilable=stated.height + totals.height,
        reconciled=stated.filter(pl.col("logged_steps") == pl.col("n_steps")).height + int(totals["agrees"].sum()),
        unrecognised=counts.get("unrecognised", 0),
        files=dict(zip(formats["format"].to_list(), formats["len"].to_list(), strict=True)),
        bytes=int(read["bytes"].sum()),
        understood=_understood(coverage),
        fields=_field_names(coverage),
        sampled=coverage["fields"].count(),
    )


def _understood(coverage: pl.DataFrame) -> dict[str, Share]:
    names = (*JUDGED, "fields")
    return {name: Share(int(coverage[name].sum()), int(coverage[f"{name}_understood"].sum())) for name in names}


def _field_names(coverage: pl.DataFrame) -> dict[str, FieldNames]:
    """Names that any source of a format has."""
    found: dict[str, tuple[set[str], set[str]]] = {}
    told = coverage.filter(pl.col("fields").is_not_null()).select("format", "fields_ignored", "fields_unknown")
    for name, *lists in told.iter_rows():
        own = found.setdefault(name, (set(), set()))
        for names, text in zip(own, lists, strict=True):
            names.update(filter(None, text.removesuffix(MORE).split(", ")))
    return {name: FieldNames(sorted(own[0]), sorted(own[1])) for name, own in sorted(found.items()) if own[0] or own[1]}


@lru_cache(maxsize=1)
def _shipped_thresholds() -> dict[str, dict[str, Any]]:
    return tomllib.loads(files("trajlab.checks").joinpath("thresholds.toml").read_text("utf-8"))


def thresholds(overrides: dict[str, float] | None = None) -> dict[str, dict[str, Any]]:
    """Shipped thresholds, with overrides such as ``{"truncation.warn": 0.1}``.

    Raises:
        UsageError: An override names no threshold.
    """
    lines = {name: dict(values) for name, values in _shipped_thresholds().items()}
    for key, value in (overrides or {}).items():
        name, _, kind = key.rpartition(".")
        if kind not in lines.get(name, {}) or kind == "source":
            known = ", ".join(f"{n}.{k}" for n, v in lines.items() for k in v if k != "source")
            raise UsageError("thresholds", repr(key), f"one of {known}", "Correct the name")
        lines[name][kind] = float(value)
    return lines
